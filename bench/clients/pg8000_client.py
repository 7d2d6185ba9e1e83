"""pg8000: a client in Python alone."""

import importlib.metadata
import sys
import urllib.parse

import pg8000.native


def main(dsn):
    url = urllib.parse.urlparse(dsn)
    db = pg8000.native.Connection(url.username, host=url.hostname, port=url.port, database=url.path[1:], password=url.password)
    db.run("DROP TABLE IF EXISTS p8")
    db.run("CREATE TABLE p8 (id int PRIMARY KEY, name text)")
    db.run("BEGIN")
    db.run("INSERT INTO p8 VALUES (:id, :name)", id=1, name="one")
    db.run("ROLLBACK")
    assert db.run("SELECT count(*) FROM p8") == [[0]]
    db.run("INSERT INTO p8 VALUES (:id, :name)", id=2, name="two")
    assert db.run("SELECT * FROM p8 WHERE id = :id", id=2) == [[2, "two"]]
    db.close()
    print("pg8000", importlib.metadata.version("pg8000"), "ok")


main(sys.argv[1])
