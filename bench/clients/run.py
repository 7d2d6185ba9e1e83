#!/usr/bin/env python3
"""Runs real PostgreSQL and Redis clients against a server of its own, each in a process.

    bench/clients/run.py [--only NAME,NAME] [--require NAME,NAME]

SARDONYX is the command (default: target/release/sardonyx, then target/debug/sardonyx). A client that is not installed is
left out, with a sentence that says what installs it; with --require that is a failure. Ends with 0 if every client that
ran was content. Only loopback addresses are used, and everything is in a temporary directory.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 300
# The exit code of a program whose library is not installed.
SKIPPED = 77


def sardonyx():
    named = os.environ.get("SARDONYX")
    if named:
        return named
    for profile in ("release", "debug"):
        path = ROOT / "target" / profile / "sardonyx"
        if path.exists():
            return str(path)
    sys.exit("build the command first: cargo build --release")


class Server:
    """A server on ports that the system chooses; killed, or ended in order."""

    def __init__(self, directory, *arguments, program=None):
        command = [program or sardonyx(), "--json", "serve", str(directory), "--until-input-ends"]
        for protocol in ("postgres", "redis", "http"):
            if f"--{protocol}" not in arguments:
                command += [f"--{protocol}", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            command + list(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the server did not start")
        self.at = json.loads(line)

    def address(self, protocol):
        host, _, port = self.at[protocol][0].rpartition(":")
        return host, port

    @property
    def dsn(self):
        host, port = self.address("postgres")
        return f"postgresql://tester@{host}:{port}/bank"

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()


def environment(server):
    host, port = server.address("postgres")
    return dict(os.environ, SARDONYX=sardonyx(), PGHOST=host, PGPORT=port, PGUSER="tester", PGDATABASE="bank", PGCONNECT_TIMEOUT="10")


def python_module(module):
    return None if importlib.util.find_spec(module) else f"{module} is not installed: pip install {module}"


def program(name, package):
    return None if shutil.which(name) else f"{name} is not installed: apt-get install {package}"


def node_module(name):
    if not shutil.which("node"):
        return "node is not installed"
    found = subprocess.run(["node", "-e", f"require('{name}')"], capture_output=True, cwd=HERE)
    return None if found.returncode == 0 else f"the package {name} is not installed: npm install {name} (NODE_PATH names where)"


def go_client(name):
    if not shutil.which("go"):
        return "go is not installed"
    # Fetches its modules once; later from the cache of modules.
    built = subprocess.run(["go", "mod", "download"], cwd=HERE / name, capture_output=True, text=True)
    return None if built.returncode == 0 else f"{name} cannot be fetched: {built.stderr.strip()}"


def go(name):
    return lambda: go_client(name), lambda server: ["go", "-C", HERE / name, "run", ".", server.dsn + "?sslmode=disable"]


def cargo(name):
    """A program in Rust, with crates of its own, which are built below `target`."""
    manifest, built = HERE / name / "Cargo.toml", ROOT / "target" / "clients"

    def absent():
        if not shutil.which("cargo"):
            return "cargo is not installed"
        made = subprocess.run(
            ["cargo", "build", "--quiet", "--locked", "--manifest-path", manifest, "--target-dir", built], capture_output=True, text=True
        )
        return None if made.returncode == 0 else f"{name} cannot be built: {made.stderr.strip().splitlines()[-1]}"

    return absent, lambda server: [built / "debug" / f"{name}-client", server.dsn + "?sslmode=disable"]


def ruby_client(file, *libraries):
    def absent():
        if not shutil.which("ruby"):
            return "ruby is not installed: apt-get install ruby-activerecord ruby-pg"
        wanted = "; ".join(f"require '{library}'" for library in ("logger", *libraries))
        found = subprocess.run(["ruby", "-e", wanted], capture_output=True)
        return None if found.returncode == 0 else "not installed: apt-get install ruby-activerecord ruby-pg (RUBYLIB may name others)"

    return absent, lambda server: ["ruby", HERE / file, server.dsn]


def jdbc_driver():
    if not shutil.which("java"):
        return "java is not installed"
    jar = os.environ.get("JDBC_JAR", "")
    return None if os.path.exists(jar) else "JDBC_JAR names no driver: org.postgresql:postgresql of Maven Central"


def python_client(file, module):
    return lambda: python_module(module), lambda server: [sys.executable, HERE / file, server.dsn]


def node_client(file, module):
    return lambda: node_module(module), lambda server: ["node", HERE / file, server.dsn]


def redis_arguments(server):
    host, port = server.address("redis")
    return ["-h", host, "-p", port]


def redis_shell(server):
    return ["bash", "-euo", "pipefail", HERE / "redis_cli_client.sh", *redis_arguments(server)]


def redis_python(server):
    return [sys.executable, HERE / "redis_py.py", *server.address("redis")]


def redis_node(server):
    return ["node", HERE / "ioredis_client.js", *server.address("redis")]


def redis_library(name):
    return lambda server: [sys.executable, HERE / "redis_libraries.py", *server.address("redis"), name]


def library(command, name):
    """One library of a program that tries several: it says itself if the library is not installed."""
    return lambda: None, lambda server: [*command, server.dsn, name]


def java_library(name):
    return java_client("JavaLibraries", name)


def go_library(name):
    absent, command = go("golibs")
    return absent, lambda server: [*command(server), name]


def php(server):
    return ["php", HERE / "eloquent_client.php", server.dsn]


def jdbc(server):
    host, port = server.address("postgres")
    url = f"jdbc:postgresql://{host}:{port}/bank?user=tester"
    return ["java", "-cp", os.environ["JDBC_JAR"], HERE / "JdbcClient.java", url]


def java_client(name, *arguments):
    """A program that needs the jars of pom.xml."""
    jars = os.environ.get("ORM_JARS", "")

    def absent():
        if not shutil.which("javac"):
            return "javac is not installed"
        return None if os.path.isdir(jars) else (
            "ORM_JARS names no directory: mvn -f bench/clients/pom.xml dependency:copy-dependencies -DoutputDirectory=DIRECTORY"
        )

    def command(server):
        host, port = server.address("postgres")
        path, url = f"{jars}/*", f"jdbc:postgresql://{host}:{port}/bank"
        compiled = tempfile.mkdtemp()
        subprocess.run(["javac", "-parameters", "-cp", path, "-d", compiled, HERE / f"{name}.java"], check=True)
        return ["java", "-cp", f"{compiled}:{path}", name, url, *arguments]

    return absent, command


def page(server):
    http, postgres = (":".join(server.address(protocol)) for protocol in ("http", "postgres"))
    return [sys.executable, HERE / "page_client.py", f"http://{http}", "--load", postgres]


def prometheus(server):
    return [sys.executable, ROOT / "observability" / "check.py", "http://" + ":".join(server.address("http"))]


def quickstart(server):
    host, port = server.address("postgres")
    return [sys.executable, HERE / "quickstart.py", host, port, "--redis", ":".join(server.address("redis"))]


def hosts(kind):
    """A client of two hosts, which are started for it."""
    return lambda server: [sys.executable, HERE / "hosts_client.py", kind]


def shell(script):
    return lambda server: ["bash", "-euo", "pipefail", HERE / script]


CLIENTS = {
    "psql": (lambda: program("psql", "postgresql-client"), shell("psql_client.sh")),
    "pgbench": (lambda: program("pgbench", "postgresql-contrib"), shell("pgbench_client.sh")),
    "pg_dump": (lambda: program("pg_dump", "postgresql-client"), lambda server: [sys.executable, HERE / "pg_dump.py"]),
    "psycopg": python_client("psycopg_client.py", "psycopg"),
    "queue": python_client("queue_client.py", "psycopg"),
    "psycopg2": python_client("psycopg2_client.py", "psycopg2"),
    "asyncpg": python_client("asyncpg_client.py", "asyncpg"),
    "pg8000": python_client("pg8000_client.py", "pg8000"),
    "sqlalchemy": python_client("sqlalchemy_client.py", "sqlalchemy"),
    "alembic": python_client("alembic_client.py", "alembic"),
    "pgx": go("pgx"),
    "gorm": go("gorm"),
    "sqlx": cargo("sqlx"),
    "diesel": cargo("diesel"),
    "node-pg": node_client("node_client.js", "pg"),
    "sequelize": node_client("sequelize_client.js", "sequelize"),
    "typeorm": node_client("typeorm_client.js", "typeorm"),
    "knex": node_client("knex_client.js", "knex"),
    "activerecord": ruby_client("activerecord_client.rb", "active_record", "pg"),
    "sequel": ruby_client("sequel_client.rb", "sequel", "pg"),
    "peewee": python_client("peewee_client.py", "peewee"),
    "tortoise": python_client("tortoise_client.py", "tortoise"),
    "eloquent": (lambda: program("php", "php-cli php-pgsql php-illuminate-database php-doctrine-dbal"), php),
    "prisma": node_client("prisma_client.js", "prisma/package.json"),
    "jdbc": (jdbc_driver, jdbc),
    "hibernate": java_client("HibernateClient"),
    "flyway": java_client("FlywayClient", str(HERE / "flyway")),
    "hosts-psql": (lambda: program("psql", "postgresql-client"), hosts("psql")),
    "hosts-jdbc": (jdbc_driver, hosts("jdbc")),
    "hosts-pgx": (lambda: go_client("pgx"), hosts("pgx")),
    "pgbouncer": python_client("pgbouncer_client.py", "psycopg"),
    "quickstart": (lambda: None, quickstart),
    "page": (lambda: program("chromium", "chromium"), page),
    "prometheus": (lambda: program("prometheus", "prometheus"), prometheus),
    "redis-cli": (lambda: program("redis-cli", "redis-tools"), redis_shell),
    "redis-py": (lambda: python_module("redis"), redis_python),
    "ioredis": (lambda: node_module("ioredis"), redis_node),
}

# The programs of python_libraries.py, node_libraries.js, golibs and JavaLibraries.java, by their names.
for file, names in {
    "python_libraries.py": "pony sqlmodel dataset psycopg_pool aiopg pgcli yoyo piccolo django_contrib",
    "python_queues.py": "procrastinate django_q apscheduler flask_session pgqueuer",
}.items():
    CLIENTS |= {name: library([sys.executable, HERE / file], name) for name in names.split()}
CLIENTS |= {name: library(["node", HERE / "node_libraries.js"], name) for name in """
kysely drizzle mikro_orm postgres_js pg_promise slonik objection node_pg_migrate massive pg_boss graphile_worker keyv
connect_pg pg_listen
""".split()}
CLIENTS |= {name: go_library(name) for name in "go_sqlx bun golang_migrate goose river".split()}
CLIENTS |= {name: java_library(name) for name in "jooq mybatis liquibase spring_data".split()}

# The programs of redis_libraries.py, by its names.
LIBRARIES = """
limits redlock pottery redis_locks rq rq_failures streams arq huey dramatiq celery django
bullmq bull bee_queue redlock_node rate_limiter_flexible connect_redis go_redis jedis lettuce flask_redis apscheduler_redis
keyv_redis rate_limit_redis
""".split()
CLIENTS |= {name: (lambda: python_module("redis"), redis_library(name)) for name in LIBRARIES}


# These drop all tables first, or dump the whole schema. Redis' tables are refused, so they have a server without Redis.
DROP_ALL = ("typeorm", "flyway", "prisma", "activerecord", "mikro_orm", "drizzle", "liquibase")

# Clients that pass on PostgreSQL and whose last known failure here is fixed, each with a script of crates/sql/tests/scripts. They
# were not run in full again: run each with --only, and remove it from this list if it passes.
UNTRIED = """
drizzle massive jooq procrastinate
""".split()

# Clients that a control passes, and what stops them here. They run with --only.
STOPPED = {
    "graphile_worker": "errors raised with codes of a program's own",
    "pg_boss": "partitioned tables",
    "node_pg_migrate": "labels of ALTER TYPE ... ADD VALUE that are written between dollars",
    "river": "the system column xmax",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="NAMES")
    parser.add_argument("--require", default="", metavar="NAMES")
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name] or list(CLIENTS)
    required = [name for name in arguments.require.split(",") if name]
    unknown = set(only + required) - set(CLIENTS)
    if unknown:
        parser.error(f"no such client: {', '.join(sorted(unknown))}")
    passed, left_out, failed = [], [], []
    with tempfile.TemporaryDirectory() as directory:
        server = Server(pathlib.Path(directory) / "bank.sdx")
        for name in only:
            if name in STOPPED | dict.fromkeys(UNTRIED) and not arguments.only:
                why = f"not supported: {STOPPED[name]}" if name in STOPPED else "not tried since its last stop: --only"
                print(f"{name:<21}left out  {why}", flush=True)
                left_out.append(name)
                continue
            installed, command = CLIENTS[name]
            absent = installed()
            if absent:
                print(f"{name:<21}left out  {absent}", flush=True)
                (failed if name in required else left_out).append(name)
                continue
            at = server
            if name in DROP_ALL:
                at = Server(pathlib.Path(directory) / f"{name}.sdx", "--redis", "off")
            try:
                ran = subprocess.run(
                    list(map(str, command(at))),
                    env=environment(at),
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                )
                said, good = ran.stdout + ran.stderr, ran.returncode == 0
            except subprocess.TimeoutExpired as error:
                ran, said, good = None, f"did not end within {SECONDS} s\n{error.stdout}", False
            if at is not server:
                at.end()
            last = (said.strip().splitlines() or [""])[-1]
            if ran and ran.returncode == SKIPPED:
                print(f"{name:<21}left out  {last}", flush=True)
                (failed if name in required else left_out).append(name)
                continue
            print(f"{name:<21}{'ok' if good else 'FAILED':<10}{last}", flush=True)
            if not good:
                print("".join(f"    {line}\n" for line in said.strip().splitlines()[-30:]), end="")
                failed.append(name)
            else:
                passed.append(name)
        if server.process.poll() is not None:
            print("FAILED: the server ended")
            failed.append("server")
        elif server.end() != 0:
            print("FAILED: the server did not end in order")
            failed.append("server")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(left_out)} left out")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
