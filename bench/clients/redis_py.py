"""A session of everyday calls by the Python client of Redis, checked: python3 redis_py.py [HOST] [PORT].

The keyspace is emptied. Ends with 0 if every answer was right, with 77 if the client is not installed.
"""

import sys

try:
    import redis
except ImportError:
    print("skipped: the Python package `redis` is not installed")
    sys.exit(77)

HOST = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 6380


def check(got, expected):
    """Stops at the first wrong answer."""
    if got != expected:
        raise SystemExit(f"got {got!r}, expected {expected!r}")


def session(version):
    """Everyday calls in one version of the protocol."""
    db = redis.Redis(host=HOST, port=PORT, protocol=version, decode_responses=True)
    db.flushall()
    check(db.ping(), True)
    check(db.set("a", "1", ex=100), True)
    check(db.get("a"), "1")
    check(db.ttl("a") in (99, 100), True)
    check(db.set("a", "2", nx=True), None)
    check(db.incr("n", 5), 5)
    check(db.incrbyfloat("f", 1.5), 1.5)
    check(db.mset({"x": "1", "y": "2"}), True)
    check(db.mget("x", "y", "z"), ["1", "2", None])
    check(db.hset("h", mapping={"name": "Ada", "born": 1815}), 2)
    check(db.hgetall("h"), {"name": "Ada", "born": "1815"})
    check(db.sadd("s", "a", "b", "c"), 3)
    check(db.smembers("s"), {"a", "b", "c"})
    check(db.sinter("s", "none"), set())
    check(db.zadd("z", {"a": 1, "b": 2.5}), 2)
    pairs = db.zrange("z", 0, -1, withscores=True)
    check([(member, score) for member, score in pairs], [("a", 1.0), ("b", 2.5)])
    check(db.zscore("z", "b"), 2.5)
    db.zpopmin("z")
    check(db.zrange("z", 0, -1), ["b"])
    check(db.rpush("l", "a", "b", "c"), 3)
    check(db.lrange("l", 0, -1), ["a", "b", "c"])
    check(db.lpop("l"), "a")
    check(sorted(db.scan_iter(match="?")), ["a", "f", "h", "l", "n", "s", "x", "y", "z"])
    check(db.delete("x", "y", "none"), 2)
    check(db.exists("x"), 0)

    with db.pipeline(transaction=True) as pipe:
        check(pipe.set("p", 1).incr("p").get("p").execute(), [True, 2, "2"])

    # Optimistic locking: the first attempt is disturbed.
    other = redis.Redis(host=HOST, port=PORT, decode_responses=True)
    attempts = 0

    def double(pipe):
        nonlocal attempts
        attempts += 1
        value = int(pipe.get("p"))
        if attempts == 1:
            other.set("p", 10)
        pipe.multi()
        pipe.set("p", value * 2)

    db.transaction(double, "p")
    check((attempts, db.get("p")), (2, "20"))

    try:
        db.lpush("a", "x")
    except redis.ResponseError as error:
        check(str(error), "WRONGTYPE Operation against a key holding the wrong kind of value")
    else:
        raise SystemExit("a list was put into a string")
    binary = redis.Redis(host=HOST, port=PORT, protocol=version)
    value = bytes(range(256)) * 4000
    check(binary.set(b"\x00\xff", value), True)
    check(binary.get(b"\x00\xff") == value, True)
    check("redis_version" in db.info(), True)
    check(db.config_get("maxmemory"), {"maxmemory": "0"})
    check(db.client_setname("test"), True)
    check(db.client_getname(), "test")
    check(db.dbsize() > 0, True)


for version in (2, 3):
    session(version)
    print(f"RESP{version}: every answer was right")
