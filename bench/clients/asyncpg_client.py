"""asyncpg: named prepared statements, binary values, many connections."""

import asyncio
import sys

import asyncpg


async def main(dsn):
    db = await asyncpg.connect(dsn)
    await db.execute("DROP TABLE IF EXISTS apg")
    await db.execute("CREATE TABLE apg (id int PRIMARY KEY, n bigint NOT NULL, t text)")
    await db.executemany("INSERT INTO apg VALUES ($1, $2, $3)", [(i, 0, f"t{i}") for i in range(10)])
    assert await db.fetchval("SELECT t FROM apg WHERE id = $1", 3) == "t3"
    async with db.transaction():
        await db.execute("UPDATE apg SET t = $2 WHERE id = $1", 3, None)
    assert await db.fetchval("SELECT t FROM apg WHERE id = 3") is None
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
