#!/usr/bin/env python3
"""PgBouncer in front of a server of its own: its three modes, SCRAM, parameters of clients, cancel, and its statistics.

    bench/clients/pgbouncer_client.py

SARDONYX is the command, PGBOUNCER the pooler (default: pgbouncer). Clients are psycopg's. The server has users, so that every
connection authenticates by SCRAM; the pooler knows them by an `auth_file` with the verifiers of the configuration.
"""

import contextlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import psycopg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import Server, sardonyx  # noqa: E402

PASSWORD = "correct horse"
SECONDS = 60
SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def verifier():
    ran = subprocess.run([sardonyx(), "password"], input=PASSWORD + "\n", capture_output=True, text=True, check=True)
    return ran.stdout.strip()


class Pooler:
    """A pooler of two connections to the server, for as many clients as come."""

    def __init__(self, directory, server, mode, secret, **more):
        self.port = free_port()
        host, port = server.address("postgres")
        settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "", "auth_type": "scram-sha-256",
            "auth_file": directory / "users.txt", "pool_mode": mode, "default_pool_size": 2, "admin_users": "app",
            "server_reset_query": "DISCARD ALL", "query_wait_timeout": SECONDS, "server_login_retry": 1,
            "ignore_startup_parameters": "extra_float_digits,search_path,options", **more,
        }
        (directory / "users.txt").write_text(f'"app" "{secret}"\n')
        configuration = directory / f"{mode}.ini"
        configuration.write_text(
            f"[databases]\nbank = host={host} port={port} dbname=bank\n[pgbouncer]\n"
            + "".join(f"{name} = {value}\n" for name, value in settings.items())
        )
        command = [os.environ.get("PGBOUNCER", "pgbouncer"), "-q"]
        if os.getuid() == 0:
            # It refuses to run as root.
            nobody = pwd.getpwnam("nobody")
            for path in (directory, directory / "users.txt", configuration):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
            command += ["-u", "nobody"]
        log = open(directory / f"{mode}.log", "w")
        self.process = subprocess.Popen([*command, configuration], stdout=log, stderr=log)
        self.log = directory / f"{mode}.log"
        until = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    sys.exit(f"the pooler did not start:\n{self.log.read_text()}")
                time.sleep(0.05)

    def connect(self, database="bank", **more):
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="app", password=PASSWORD, dbname=database, autocommit=True,
            prepare_threshold=None, **more,
        )

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=SECONDS)


@contextlib.contextmanager
def pooled(directory, server, mode, secret, **more):
    pooler = Pooler(directory, server, mode, secret, **more)
    try:
        yield pooler
    except BaseException:
        print(pooler.log.read_text(), file=sys.stderr)
        raise
    finally:
        pooler.end()


def one(db, query, *arguments):
    return db.execute(query, arguments or None).fetchone()[0]


def session_mode(pooler):
    """A session's state is its own, and DISCARD ALL ends all of it before the next client."""
    states = [
        "SET search_path = pg_catalog", "SET statement_timeout = '50s'", "CREATE TEMPORARY TABLE own (x int)", "LISTEN a",
        "PREPARE p AS SELECT 1", "DECLARE c CURSOR WITH HOLD FOR SELECT 1", "SELECT pg_advisory_lock(7)",
        "SELECT set_config('my.name', 'x', false)",
    ]
    before = None
    for _ in range(6):
        with pooler.connect() as db:
            state = (
                one(db, "SHOW search_path"), one(db, "SHOW statement_timeout"),
                one(db, "SELECT count(*) FROM pg_class WHERE relname = 'own'"),
                one(db, "SELECT count(*) FROM pg_prepared_statements WHERE name = 'p'"),
                one(db, "SELECT count(*) FROM pg_cursors"), one(db, "SELECT count(*) FROM pg_listening_channels()"),
                one(db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"),
                one(db, "SELECT current_setting('my.name', true)") or "",
            )
            assert before in (None, state), (before, state)
            before = state
            for text in states:
                db.execute(text)
            assert one(db, "SHOW search_path") == "pg_catalog"
            assert one(db, "SELECT count(*) FROM own") == 0
    # A client that leaves in a transaction, also a failed one, or in a copy.
    db = pooler.connect()
    db.execute("BEGIN")
    db.execute("INSERT INTO pooled VALUES (-1)")
    db.close()
    db = pooler.connect()
    db.execute("BEGIN")
    with contextlib.suppress(psycopg.Error):
        db.execute("SELECT 1 / 0")
    db.close()
    db = pooler.connect()
    copy = db.cursor().copy("COPY pooled FROM STDIN")
    copy.__enter__().write("-2\n")
    socket.socket(fileno=os.dup(db.fileno())).shutdown(socket.SHUT_RDWR)
    db.close()
    with pooler.connect() as db:
        assert one(db, "SELECT count(*) FROM pooled WHERE n < 0") == 0


def prepared(pooler):
    """Statements that a driver prepares by the protocol stay with the session."""
    with pooler.connect() as db:
        db.prepare_threshold = 0
        for number in range(20):
            assert one(db, "SELECT %s::int + 1", number) == number + 1


def parameters(pooler):
    """Clients of one connection have parameters of their own: the pooler sets them again by the server's reports."""
    zones = ["Europe/Vienna", "Asia/Tokyo", "UTC"]
    clients = [pooler.connect(application_name=f"app {zone}") for zone in zones]
    for db, zone in zip(clients, zones):
        db.execute(f"SET TIME ZONE '{zone}'")
        db.execute("SET datestyle = 'ISO, DMY'" if zone == "UTC" else "SET datestyle = 'ISO, MDY'")
    for _ in range(5):
        for db, zone in zip(clients, zones):
            assert one(db, "SHOW TimeZone") == zone
            assert one(db, "SHOW application_name") == f"app {zone}"
            assert one(db, "SELECT '02/11/2026'::date::text") == ("2026-11-02" if zone == "UTC" else "2026-02-11")
    for db in clients:
        db.close()
    # Ignored by the pooler, so the server does not see them.
    with pooler.connect(options="-c extra_float_digits=3") as db:
        assert one(db, "SELECT 0.1::float8::text") == "0.1"


def transaction_mode(pooler):
    """Twenty clients on two connections, each of whose transactions is whole."""
    def work(number):
        with pooler.connect() as db:
            for step in range(20):
                with db.transaction():
                    db.execute("INSERT INTO pooled VALUES (%s)", (1000 * number + step,))
                    assert one(db, "SELECT count(*) FROM pooled WHERE n / 1000 = %s", number) == step + 1
                with contextlib.suppress(psycopg.errors.DivisionByZero), db.transaction():
                    db.execute("DELETE FROM pooled")
                    db.execute("SELECT 1 / 0")
    failures = []

    def tried(number):
        try:
            work(number)
        except psycopg.errors.SerializationFailure:
            tried_again.append(number)
        except BaseException as error:
            failures.append(error)
    tried_again = []
    threads = [threading.Thread(target=tried, args=(number,)) for number in range(1, 21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert not tried_again, tried_again
    with pooler.connect() as db:
        assert one(db, "SELECT count(*) FROM pooled") == 400
        with db.cursor().copy("COPY pooled FROM STDIN") as copy:
            for number in range(100_000, 110_000):
                copy.write_row((number,))
        with db.cursor().copy("COPY (SELECT n FROM pooled WHERE n >= 100000) TO STDOUT") as copy:
            assert len(list(copy.rows())) == 10_000
        with db.transaction():
            db.execute("SET LOCAL search_path = pg_catalog")
        assert one(db, "SHOW search_path") != "pg_catalog"
        with db.transaction(), db.cursor(name="rows") as cursor:
            cursor.execute("SELECT n FROM pooled ORDER BY n LIMIT 2500")
            assert len(cursor.fetchall()) == 2500
        db.execute("DELETE FROM pooled")
    # A client that is lost in a transaction leaves nothing of it.
    db = pooler.connect()
    db.execute("BEGIN")
    db.execute("INSERT INTO pooled VALUES (5)")
    socket.socket(fileno=os.dup(db.fileno())).shutdown(socket.SHUT_RDWR)
    with pooler.connect() as db:
        until = time.monotonic() + SECONDS
        while one(db, "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'") and time.monotonic() < until:
            time.sleep(0.05)
        assert one(db, "SELECT count(*) FROM pooled") == 0


def statement_mode(pooler):
    with pooler.connect() as db:
        assert one(db, "INSERT INTO pooled VALUES (1) RETURNING n") == 1
        try:
            db.execute("BEGIN")
            raise AssertionError("a transaction in statement mode")
        except psycopg.Error as error:
            assert "transaction blocks not allowed" in str(error), error
    with pooler.connect() as db:
        db.execute("DELETE FROM pooled")


def cancels(pooler):
    """A client's cancel request reaches its statement through the pooler; another session ends one by number."""
    with pooler.connect() as db:
        # The statement must have begun.
        def cancel():
            with pooler.connect() as watcher:
                until = time.monotonic() + SECONDS
                while not one(watcher, SLEEPING) and time.monotonic() < until:
                    time.sleep(0.01)
            db.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        try:
            db.execute("SELECT pg_sleep(50)")
            raise AssertionError("it was not cancelled")
        except psycopg.errors.QueryCanceled:
            pass
        canceller.join()
        assert one(db, "SELECT 1") == 1
    with pooler.connect() as db, pooler.connect() as other:
        db.execute("BEGIN")
        other.execute("BEGIN")
        number = one(db, "SELECT pg_backend_pid()")
        assert one(other, "SELECT pg_terminate_backend(%s, 5000)", number) is True
        try:
            db.execute("SELECT 1")
            raise AssertionError("its server connection was not ended")
        except psycopg.OperationalError:
            pass
        other.execute("ROLLBACK")
    with pooler.connect() as db:
        assert one(db, "SELECT 1") == 1


def shows(pooler):
    with psycopg.connect(
        host="127.0.0.1", port=pooler.port, user="app", password=PASSWORD, dbname="pgbouncer", autocommit=True,
        prepare_threshold=None, cursor_factory=psycopg.ClientCursor,
    ) as db:
        for what in ("POOLS", "SERVERS", "CLIENTS", "STATS", "DATABASES", "LISTS", "VERSION"):
            assert db.execute(f"SHOW {what}").fetchall(), what
        return db.execute("SHOW VERSION").fetchone()[0]


def main():
    if not shutil.which(os.environ.get("PGBOUNCER", "pgbouncer")):
        print("pgbouncer is not installed: apt-get install pgbouncer")
        sys.exit(77)
    secret = verifier()
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        directory = pathlib.Path(name)
        pools = directory / "pools"
        pools.mkdir()
        (directory / "bank.toml").write_text(f'[users.app]\npassword = "{secret}"\ntables = "own"\n')
        server = Server(directory / "bank.sdx", "--config", directory / "bank.toml", "--redis", "off", "--http", "off")
        with pooled(pools, server, "session", secret) as pooler:
            with pooler.connect() as db:
                db.execute("CREATE TABLE pooled (n bigint PRIMARY KEY)")
            session_mode(pooler)
            prepared(pooler)
            cancels(pooler)
            version = shows(pooler)
        # A pooler that knows the password itself.
        with pooled(pools, server, "transaction", PASSWORD) as pooler:
            parameters(pooler)
            transaction_mode(pooler)
            cancels(pooler)
            shows(pooler)
        with pooled(pools, server, "statement", secret) as pooler:
            statement_mode(pooler)
        if server.end() != 0:
            sys.exit("the server did not end in order")
    print(f"{version}: session, transaction and statement mode")


if __name__ == "__main__":
    main()
