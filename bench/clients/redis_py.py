"""A session of everyday calls by the Python client of Redis, checked: python3 redis_py.py [HOST] [PORT].

The keyspace is emptied. Ends with 0 if every answer was right, with 77 if the client is not installed.
"""

import sys
import threading

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


def messages(version):
    """Channels and patterns: what is sent arrives, in its order."""
    db = redis.Redis(host=HOST, port=PORT, protocol=version, decode_responses=True)
    with db.pubsub() as listener:
        listener.subscribe("news")
        listener.psubscribe("n*")
        begun = [listener.get_message(timeout=10)["type"] for _ in range(2)]
        check(begun, ["subscribe", "psubscribe"])
        with db.pipeline(transaction=True) as pipe:
            check(pipe.publish("news", "one").publish("none", "two").execute(), [2, 1])
        told = []
        while len(told) < 3:
            message = listener.get_message(timeout=10)
            if message is not None:
                told.append((message["type"], message["channel"], message["data"]))
        expected = [("message", "news", "one"), ("pmessage", "news", "one"), ("pmessage", "none", "two")]
        check(told, expected)
        check(dict(db.pubsub_numsub("news", "none")), {"news": 1, "none": 0})


def waiting(version):
    """Clients that wait for elements, and give up."""
    db = redis.Redis(host=HOST, port=PORT, protocol=version, decode_responses=True)
    db.delete("jobs", "done", "board")
    check(db.blpop("jobs", timeout=0.01), None)
    found = []
    waiter = threading.Thread(target=lambda: found.append(db.blmove("jobs", "done", 10, "LEFT", "RIGHT")))
    waiter.start()
    db.rpush("jobs", "job")
    waiter.join()
    check((found, db.lrange("done", 0, -1), db.llen("jobs")), (["job"], ["job"], 0))
    db.zadd("board", {"ann": 1.5})
    key, member, score = db.bzpopmin("board", timeout=10)
    check((key, member, float(score)), ("board", "ann", 1.5))


def scripts(version):
    """Scripts, and the locks that are made of them; where there are none that is said."""
    db = redis.Redis(host=HOST, port=PORT, protocol=version, decode_responses=True)
    try:
        check(db.eval("return {KEYS[1], ARGV[1], 1}", 1, "k", "a"), ["k", "a", 1])
    except redis.ResponseError as error:
        print(f"RESP{version}: no scripts: {error}")
        return
    add = db.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    db.script_flush()
    db.delete("sum", "lock")
    # It is not known, sent, and known.
    check([add(keys=["sum"], args=[5]) for _ in range(2)], [5, 10])
    check(db.script_exists(add.sha), [True])
    with db.pipeline() as pipe:
        add(keys=["sum"], args=[1], client=pipe)
        check(pipe.execute(), [11])
    one = db.lock("lock", timeout=10)
    other = db.lock("lock", timeout=10, blocking=False)
    check((one.acquire(), other.acquire()), (True, False))
    check((one.extend(5), one.owned(), one.reacquire()), (True, True, True))
    one.release()
    check(other.acquire(), True)
    other.release()
    counter = 0

    def count():
        nonlocal counter
        for _ in range(20):
            with db.lock("lock", timeout=10, sleep=0.001):
                counter += 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check((counter, db.exists("lock")), (80, 0))


for version in (2, 3):
    session(version)
    messages(version)
    waiting(version)
    scripts(version)
    print(f"RESP{version}: every answer was right")
