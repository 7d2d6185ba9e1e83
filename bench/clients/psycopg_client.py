"""psycopg 3: everyday calls, pipelines, copies, types in both formats, a conflict of two transactions, notifications."""

import datetime
import decimal
import sys
import uuid

import psycopg


def main(dsn):
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS psy")
        db.execute(
            "CREATE TABLE psy (id bigint PRIMARY KEY, name text NOT NULL, price numeric(12, 2), made timestamptz,"
            " day date, code uuid, data bytea, ok boolean, ratio double precision)"
        )
        row = (
            7,
            "Ada Lovelace: \u00e9\u4e16",
            decimal.Decimal("1234567.89"),
            datetime.datetime(2026, 11, 24, 6, 30, 0, 123456, tzinfo=datetime.timezone.utc),
            datetime.date(1815, 12, 10),
            uuid.UUID("12345678-1234-5678-1234-567812345678"),
            b"\x00\xff\\",
            True,
            0.1,
        )
        insert = "INSERT INTO psy VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
        assert db.execute(insert, row).rowcount == 1
        for binary in (False, True):
            found = db.cursor(binary=binary).execute("SELECT * FROM psy WHERE id = %s", (7,)).fetchone()
            assert found == row, (binary, found)
        try:
            db.execute(insert, row)
            raise AssertionError("a second row with one key")
        except psycopg.errors.UniqueViolation as error:
            assert error.sqlstate == "23505", error

    with psycopg.connect(dsn) as db:
        db.cursor().executemany(
            "INSERT INTO psy (id, name) VALUES (%s, %s)", [(n, f"name {n}") for n in range(100, 400)]
        )
        db.commit()
        db.execute("UPDATE psy SET name = 'changed' WHERE id >= 100 AND id < 110")
        db.rollback()
        assert db.execute("SELECT count(*) FROM psy WHERE name = 'changed'").fetchone() == (0,)
        db.commit()
        with db.transaction():
            db.execute("UPDATE psy SET ok = true WHERE id = 100")
            try:
                with db.transaction():
                    db.execute("UPDATE psy SET ok = false WHERE id = 100")
                    raise psycopg.Rollback()
            except psycopg.Rollback:
                pass
        assert db.execute("SELECT ok FROM psy WHERE id = 100").fetchone() == (True,)
        db.commit()
        with db.pipeline():
            cursors = [db.execute("SELECT name FROM psy WHERE id = %s", (n,)) for n in range(100, 150)]
        assert [c.fetchone()[0] for c in cursors] == [f"name {n}" for n in range(100, 150)]
        db.commit()
        with db.cursor() as cursor:
            with cursor.copy("COPY psy (id, name) FROM STDIN") as copy:
                for n in range(1000, 3000):
                    copy.write_row((n, f"copied\t{n}\\ \n" if n % 7 == 0 else f"copied {n}"))
        db.commit()
        with db.cursor().copy("COPY psy (id, name) TO STDOUT") as copy:
            rows = dict((int(n), name) for n, name in copy.rows())
        assert len(rows) == 2301 and rows[1001] == "copied\t1001\\ \n", len(rows)
        db.commit()

        # Copies and arrays in binary, too.
        types = ["int8", "text", "uuid"]
        with db.cursor().copy("COPY psy (id, name, code) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(types)
            copy.write_row((5000, "binary", row[5]))
            copy.write_row((5001, "", None))
        with db.cursor().copy("COPY (SELECT id, name, code FROM psy WHERE id >= 5000) TO STDOUT (FORMAT BINARY)") as copy:
            copy.set_types(types)
            assert sorted(copy.rows()) == [(5000, "binary", row[5]), (5001, "", None)]
        cursor = db.cursor(binary=True)
        assert cursor.execute("SELECT array[1, 2], array_agg(id) FROM psy WHERE id = ANY(%b)", ([5000, 1],)).fetchone() == (
            [1, 2],
            [5000],
        )
        db.execute("DELETE FROM psy WHERE id >= 5000")
        db.commit()

        # A cursor of the server gives its rows as they are asked for; one that is held, after the transaction, too.
        with db.cursor(name="by name") as cursor:
            cursor.itersize = 100
            cursor.execute("SELECT id, name FROM psy WHERE id >= %s ORDER BY id", (1000,))
            assert [column.name for column in cursor.description] == ["id", "name"]
            assert sum(1 for _ in cursor) == 2000
        db.commit()
        with db.cursor(name="held", withhold=True) as cursor:
            cursor.execute("SELECT id FROM psy WHERE id > %s ORDER BY id", (2900,))
            assert cursor.fetchone() == (2901,)
            db.commit()
            assert len(cursor.fetchmany(10)) == 10 and len(cursor.fetchall()) == 88
        db.commit()

    # Two transactions that each read the row that the other one writes: one of them is refused with 40001.
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as other:
        conflicts = 0
        one.execute("SELECT ratio FROM psy WHERE id = 101").fetchone()
        other.execute("SELECT ratio FROM psy WHERE id = 102").fetchone()
        one.execute("UPDATE psy SET ratio = 1 WHERE id = 102")
        other.execute("UPDATE psy SET ratio = 1 WHERE id = 101")
        for db in (one, other):
            try:
                db.commit()
            except psycopg.errors.SerializationFailure:
                conflicts += 1
        assert conflicts == 1, conflicts

    # Additions do not conflict.
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as other:
        for db in (one, other):
            db.execute("UPDATE psy SET price = coalesce(price, 0) + 1 WHERE id = 103")
        one.commit()
        other.commit()
        assert one.execute("SELECT price FROM psy WHERE id = 103").fetchone() == (2,)
    # Notifications come from another connection when its transaction commits, each once, and the own ones, too.
    with psycopg.connect(dsn, autocommit=True) as one, psycopg.connect(dsn) as other:
        one.execute("LISTEN psy")
        one.execute('LISTEN "Psy 2"')
        assert [row[0] for row in one.execute("SELECT pg_listening_channels()")] == ["psy", "Psy 2"]
        other.execute("NOTIFY psy, 'undone'")
        other.rollback()
        for channel, payload in [("psy", "1"), ("Psy 2", "\u00e9"), ("psy", "1"), ("psy", "x" * 7999)]:
            other.execute("SELECT pg_notify(%s, %s)", (channel, payload))
        other.commit()
        told = [(n.channel, n.payload, n.pid) for n in one.notifies(timeout=30, stop_after=3)]
        pid = other.info.backend_pid
        assert told == [("psy", "1", pid), ("Psy 2", "\u00e9", pid), ("psy", "x" * 7999, pid)], told
        one.execute("NOTIFY psy")
        (own,) = one.notifies(timeout=30, stop_after=1)
        assert (own.channel, own.payload, own.pid) == ("psy", "", one.info.backend_pid), own
        one.execute("UNLISTEN *")
        one.execute("NOTIFY psy")
        assert list(one.notifies(timeout=0)) == []
        try:
            other.execute("SELECT pg_notify('psy', %s)", ("x" * 8000,))
            raise AssertionError("a payload that is too long")
        except psycopg.errors.InvalidParameterValue:
            pass
    print("psycopg", psycopg.__version__, "ok")


main(sys.argv[1])
