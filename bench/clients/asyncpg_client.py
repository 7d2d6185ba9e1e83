"""asyncpg: named prepared statements, binary values and arrays of every type, binary copies, many connections, notifications."""

import asyncio
import datetime
import decimal
import io
import sys
import uuid

import asyncpg


MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, 6)

VALUES = {
    "bool": True,
    "int2": -1,
    "int4": 2**31 - 1,
    "int8": -(2**63),
    "float4": 1.5,
    "float8": -1e300,
    "numeric": decimal.Decimal("-12.50"),
    "text": 'a,b"\\ {} null',
    "varchar": "",
    "bpchar": "x",
    "name": "n",
    '"char"': b"r",
    "bytea": b"\x00\xff",
    "date": MOMENT.date(),
    "time": MOMENT.time(),
    "timestamp": MOMENT,
    "timestamptz": MOMENT.replace(tzinfo=datetime.timezone.utc),
    "uuid": uuid.UUID(int=7),
    "oid": 2**32 - 1,
}


async def arrays(db):
    for kind, value in VALUES.items():
        assert await db.fetchval(f"SELECT $1::{kind}", value) == value, kind
        for array in ([], [value, None, value]):
            assert await db.fetchval(f"SELECT $1::{kind}[]", array) == array, (kind, array)
        assert await db.fetchval(f"SELECT $1::{kind} = ANY($2::{kind}[])", value, [value]) is True, kind
    found = await db.fetch("SELECT id FROM apg WHERE id = ANY($1) ORDER BY id", [2, 3, 99])
    assert [row["id"] for row in found] == [2, 3]
    assert await db.fetchval("SELECT array_agg(id ORDER BY id) FROM apg WHERE id < 3") == [0, 1, 2]
    assert "pg_catalog" in await db.fetchval("SELECT current_schemas(true)")
    for query, arguments, code in [
        ("SELECT * FROM nowhere", (), "42P01"),
        ("selec 1", (), "42601"),
        ("SELECT $1::int / 0", (1,), "22012"),
    ]:
        try:
            await asyncio.wait_for(db.fetch(query, *arguments), 20)
            raise AssertionError(query)
        except asyncpg.PostgresError as error:
            assert error.sqlstate == code, error


async def copies(db):
    await db.execute("DROP TABLE IF EXISTS apc")
    await db.execute("CREATE TABLE apc (id bigint PRIMARY KEY, u uuid, d date, n numeric(9, 2) DEFAULT 1.5)")
    records = [(1, uuid.UUID(int=1), MOMENT.date()), (2, None, None)]
    assert await db.copy_records_to_table("apc", records=records, columns=["id", "u", "d"]) == "COPY 2"
    before = await db.fetch("SELECT * FROM apc ORDER BY id")
    assert before[1]["n"] == decimal.Decimal("1.50")
    for form in ("binary", "csv", "text"):
        data = io.BytesIO()
        await db.copy_from_query("SELECT * FROM apc ORDER BY id", output=data, format=form)
        await db.execute("DELETE FROM apc")
        data.seek(0)
        assert await db.copy_to_table("apc", source=data, format=form) == "COPY 2"
        assert await db.fetch("SELECT * FROM apc ORDER BY id") == before, form
    try:
        await db.copy_to_table("apc", source=io.BytesIO(b"no copy"), format="binary")
        raise AssertionError("bytes that are no copy")
    except asyncpg.PostgresError as error:
        assert error.sqlstate == "22P04", error


async def notifications(db, dsn):
    other = await asyncpg.connect(dsn)
    told = asyncio.Queue()
    await db.add_listener("apg", lambda _, pid, channel, payload: told.put_nowait((pid, channel, payload)))
    async with other.transaction():
        await other.execute("SELECT pg_notify('apg', $1)", "in a transaction")
        await other.execute("NOTIFY apg, 'second'")
        assert told.empty()
    pid = other.get_server_pid()
    for payload in ("in a transaction", "second"):
        assert await asyncio.wait_for(told.get(), 30) == (pid, "apg", payload)
    # A pool resets a connection that comes back, which ends listening.
    await db.reset()
    assert await db.fetch("SELECT * FROM pg_listening_channels()") == []
    await other.close()


async def main(dsn):
    db = await asyncpg.connect(dsn)
    await db.execute("DROP TABLE IF EXISTS apg")
    await db.execute("CREATE TABLE apg (id int PRIMARY KEY, n bigint NOT NULL, t text)")
    await db.executemany("INSERT INTO apg VALUES ($1, $2, $3)", [(i, 0, f"t{i}") for i in range(10)])
    assert await db.fetchval("SELECT t FROM apg WHERE id = $1", 3) == "t3"
    async with db.transaction():
        await db.execute("UPDATE apg SET t = $2 WHERE id = $1", 3, None)
    assert await db.fetchval("SELECT t FROM apg WHERE id = 3") is None
    await arrays(db)
    await copies(db)
    await notifications(db, dsn)
    pool = await asyncpg.create_pool(dsn, min_size=8, max_size=8)

    async def add(client):
        for _ in range(25):
            await pool.execute("UPDATE apg SET n = n + 1 WHERE id = $1", client % 2)

    await asyncio.gather(*(add(client) for client in range(16)))
    assert await db.fetchval("SELECT sum(n) FROM apg") == 400
    await pool.close()
    await db.close()
    print("asyncpg", asyncpg.__version__, "ok")


asyncio.run(main(sys.argv[1]))
