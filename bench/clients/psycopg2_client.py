"""psycopg2: statements with literals in them, transactions by default."""

import sys

import psycopg2
import psycopg2.errorcodes
import psycopg2.extras


def main(dsn):
    db = psycopg2.connect(dsn)
    with db, db.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS psy2")
        cursor.execute("CREATE TABLE psy2 (id serial PRIMARY KEY, name varchar(20) UNIQUE, n int DEFAULT 5)")
        cursor.execute("INSERT INTO psy2 (name) VALUES (%s) RETURNING id, n", ("it's",))
        assert cursor.fetchone() == (1, 5)
        psycopg2.extras.execute_values(cursor, "INSERT INTO psy2 (name, n) VALUES %s", [(f"n{i}", -i) for i in range(50)])
    with db, db.cursor() as cursor:
        cursor.execute("SELECT name, n FROM psy2 WHERE n < %s ORDER BY n LIMIT 2", (0,))
        assert cursor.fetchall() == [("n49", -49), ("n48", -48)]
    try:
        with db, db.cursor() as cursor:
            cursor.execute("INSERT INTO psy2 (name) VALUES ('n1')")
        raise AssertionError("a second row with one name")
    except psycopg2.Error as error:
        assert error.pgcode == psycopg2.errorcodes.UNIQUE_VIOLATION, error
    with db, db.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM psy2")
        assert cursor.fetchone() == (51,)
    with db, db.cursor("by name") as cursor:
        cursor.itersize = 7
        cursor.execute("SELECT name FROM psy2 WHERE n < %s", (1,))
        assert len({name for name, in cursor}) == 50
    db.close()
    print("psycopg2", psycopg2.__version__.split()[0], "ok")


main(sys.argv[1])
