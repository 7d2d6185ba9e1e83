"""Libraries on Redis, each with its everyday calls: python3 redis_libraries.py [HOST] [PORT] [NAME...].

They are Python's, Node's (with NODE_PATH), Go's (go-redis, fetched once), and Java's (with REDIS_JARS, the directory of Jedis,
Lettuce and what those need). The keyspace is emptied. Says of each library whether it works here; those that are not installed
are skipped. A control is the same with the address of a Redis. Ends with 0 if all of the others work, and with 77 if all are
skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys

try:
    import redis
except ImportError:
    print("skipped: the Python package `redis` is not installed")
    sys.exit(77)

HOST = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 6380
HERE = pathlib.Path(__file__).resolve().parent
URL = f"redis://{HOST}:{PORT}/0"


def client():
    return redis.Redis(host=HOST, port=PORT)


def check(got, expected):
    """Says what is wrong."""
    if got != expected:
        raise AssertionError(f"got {got!r}, expected {expected!r}")


def limits():
    """Limits of rates: scripts."""
    import limits
    from limits import strategies

    store = limits.storage.storage_from_string(URL)
    kinds = ("FixedWindowRateLimiter", "MovingWindowRateLimiter", "SlidingWindowCounterRateLimiter")
    for kind in kinds:
        limiter = getattr(strategies, kind)(store)
        three = limits.parse("3/minute")
        check([limiter.hit(three, "user", kind) for _ in range(5)], [True] * 3 + [False] * 2)


def redlock():
    """Locks: a script releases them."""
    from redlock import Redlock

    locks = Redlock([{"host": HOST, "port": PORT, "db": 0}])
    first = locks.lock("resource", 10_000)
    check((bool(first), locks.lock("resource", 10_000)), (True, False))
    locks.unlock(first)
    second = locks.lock("resource", 10_000)
    check(bool(second), True)
    locks.unlock(second)


def pottery():
    """Locks that are extended."""
    from pottery import Redlock

    lock = Redlock(key="pottery", masters={client()})
    check((lock.acquire(), lock.locked() > 0), (True, True))
    lock.extend()
    lock.release()


def rq():
    """A queue: results are in streams."""
    from rq import Queue, SimpleWorker

    queue = Queue(connection=client())
    job = queue.enqueue("os.path.join", "a", "b")
    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="CRITICAL")
    check(job.return_value(), "a/b")


def rq_failures():
    """The same: a job that fails, and its tries; jobs that depend on others."""
    from rq import Queue, Retry, SimpleWorker
    from rq.job import JobStatus

    queue = Queue("failures", connection=client())
    failing = queue.enqueue("os.path.join", 1, retry=Retry(max=2))
    first = queue.enqueue("os.path.join", "a", "b")
    second = queue.enqueue("os.path.basename", "c/d", depends_on=first)
    SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="CRITICAL")
    check(failing.get_status(), JobStatus.FAILED)
    check(len(failing.results()), 1)
    check((first.return_value(), second.return_value()), ("a/b", "d"))


def streams():
    """Consumers that share a stream, of which one dies."""
    redis_client = client()
    redis_client.xgroup_create("orders", "billing", mkstream=True)
    ids = [redis_client.xadd("orders", {"number": number}, maxlen=1000, approximate=True) for number in range(10)]
    [(_, taken)] = redis_client.xreadgroup("billing", "ann", {"orders": ">"}, count=6)
    redis_client.xack("orders", "billing", *[id for id, _ in taken[:4]])
    [(_, rest)] = redis_client.xreadgroup("billing", "bob", {"orders": ">"}, block=1000)
    redis_client.xack("orders", "billing", *[id for id, _ in rest])
    check(redis_client.xpending("orders", "billing")["pending"], 2)
    _, claimed, _ = redis_client.xautoclaim("orders", "billing", "bob", 0)
    check([id for id, _ in claimed], ids[4:6])
    redis_client.xack("orders", "billing", *ids[4:6])
    check(redis_client.xinfo_groups("orders")[0]["lag"], 0)
    check(redis_client.xreadgroup("billing", "ann", {"orders": ">"}, block=10) or [], [])


def arq():
    """A queue: sorted sets and transactions that watch."""
    import asyncio

    from arq import create_pool
    from arq.connections import RedisSettings
    from arq.worker import Worker, func

    async def add(_, one, other):
        return one + other

    async def work():
        settings = RedisSettings(host=HOST, port=PORT)
        pool = await create_pool(settings)
        jobs = [await pool.enqueue_job("add", number, 1) for number in range(5)]
        worker = Worker([func(add, name="add")], redis_settings=settings, burst=True, poll_delay=0.01, handle_signals=False)
        await worker.main()
        results = [await job.result(timeout=30) for job in jobs]
        await worker.close()
        await pool.aclose()
        return results

    check(asyncio.run(work()), [1, 2, 3, 4, 5])


def run(name, command, **more):
    """Runs a program that says that a library works."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    if (ran.returncode, ran.stdout) != (0, f"{name} ok\n"):
        raise AssertionError(f"{ran.stdout}{ran.stderr}".strip()[-2000:])


def of_node(name, script="redis_node_libraries.js"):
    """A library of Node's."""
    if not shutil.which("node") or subprocess.run(["node", "-e", f"require('{name}')"], capture_output=True).returncode:
        raise ImportError(f"No module named '{name}' for node")
    named = [] if script == "bullmq_client.js" else [name]
    run(name, ["node", str(HERE / script), *named, HOST, str(PORT)])


def bullmq():
    """A queue of Node's: scripts, and events in a stream."""
    of_node("bullmq", "bullmq_client.js")


def bull():
    of_node("bull")


def bee_queue():
    of_node("bee-queue")


def redlock_node():
    of_node("redlock")


def rate_limiter_flexible():
    of_node("rate-limiter-flexible")


def connect_redis():
    of_node("connect-redis")


def keyv_redis():
    of_node("keyv")


def rate_limit_redis():
    of_node("rate-limit-redis")


def flask_redis():
    """Sessions and limits of requests of Flask."""
    from flask import Flask, session
    from flask_limiter import Limiter
    from flask_session import Session

    app = Flask("tried")
    app.config.update(SECRET_KEY="x", SESSION_TYPE="redis", SESSION_REDIS=client(), SESSION_PERMANENT=True)
    Session(app)
    limiter = Limiter(lambda: "one", app=app, storage_uri=URL, strategy="moving-window")

    @app.get("/set/<value>")
    @limiter.limit("3/minute")
    def keep(value):
        session["value"] = value
        return "kept"

    browser = app.test_client()
    check([browser.get(f"/set/{number}").status_code for number in range(5)], [200] * 3 + [429] * 2)
    with browser.session_transaction() as kept:
        check(kept["value"], "2")


def apscheduler_redis():
    """Jobs of a scheduler: a hash and a sorted set."""
    from apscheduler.jobstores.redis import RedisJobStore
    from apscheduler.schedulers.background import BackgroundScheduler

    def scheduler():
        made = BackgroundScheduler(jobstores={"default": RedisJobStore(host=HOST, port=PORT)}, timezone="UTC")
        made.start(paused=True)
        return made

    first = scheduler()
    first.add_job("os:getpid", "interval", hours=1, id="a")
    first.add_job("os:getcwd", "cron", hour=3, id="b")
    first.pause_job("b")
    first.shutdown()
    second = scheduler()
    check([job.id for job in second.get_jobs()], ["a", "b"])
    second.remove_job("a")
    check([job.id for job in second.get_jobs()], ["b"])
    second.shutdown()


def go_redis():
    """The client of Go."""
    if not shutil.which("go"):
        raise ImportError("go is not installed")
    run("go-redis", ["go", "-C", str(HERE / "goredis"), "run", ".", f"{HOST}:{PORT}"])


def of_java(name):
    """A client of Java."""
    jars = os.environ.get("REDIS_JARS", "")
    if not shutil.which("java") or not os.path.isdir(jars):
        raise ImportError("REDIS_JARS names no directory, or java is not installed")
    # A client that logs would find no configuration here, and reports that elsewhere.
    run(name, ["java", "-cp", f"{jars}/*", str(HERE / "RedisClients.java"), name, HOST, str(PORT)])


def jedis():
    of_java("jedis")


def lettuce():
    of_java("lettuce")


def redis_locks():
    """Locks of the client itself: scripts release and extend them."""
    one, other = client().lock("lock", timeout=10), client().lock("lock", timeout=10)
    check((one.acquire(), other.acquire(blocking=False)), (True, False))
    one.extend(10)
    one.reacquire()
    check(one.owned(), True)
    one.release()
    check(other.acquire(blocking=False), True)
    other.release()


def django():
    """The cache of Django, its own and django-redis'."""
    from django.conf import settings

    own = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": URL}
    other = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": URL, "KEY_PREFIX": "other"}
    settings.configure(CACHES={"default": own, "other": other})
    from django.core.cache import caches

    for name in ("default", "other"):
        cache = caches[name]
        cache.set("a", {"b": [1, 2]}, 60)
        check((cache.get("a"), cache.get("none", 7), cache.add("a", 1)), ({"b": [1, 2]}, 7, False))
        cache.set_many({"x": 1, "y": 2})
        check((cache.get_many(["x", "y", "z"]), cache.incr("x", 4)), ({"x": 1, "y": 2}, 5))
        check((cache.touch("x", 30), cache.delete("x"), "x" in cache), (True, True, False))
    other = caches["other"]
    check(sorted(other.keys("*")), ["a", "y"])
    with other.lock("job", timeout=5):
        pass
    check((other.ttl("a") > 0, other.delete_pattern("*"), other.get("a")), (True, 2, None))


def huey():
    """A queue: blocking pops."""
    from huey import RedisHuey

    queue = RedisHuey("tasks", host=HOST, port=PORT)

    @queue.task()
    def add(one, other):
        return one + other

    result = add(1, 2)
    queue.execute(queue.dequeue())
    check(result.get(), 3)


def dramatiq():
    """A queue: scripts."""
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker

    broker = RedisBroker(host=HOST, port=PORT)
    dramatiq.set_broker(broker)
    done = []

    @dramatiq.actor
    def work(number):
        done.append(number)

    work.send(5)
    worker = dramatiq.Worker(broker, worker_threads=1)
    worker.start()
    broker.join(work.queue_name, timeout=20_000)
    worker.join()
    worker.stop()
    check(done, [5])


def celery():
    """A queue with results: blocking pops and messages."""
    from celery import Celery
    from celery.contrib.testing import tasks, worker  # noqa: F401

    app = Celery("tasks", broker=URL, backend=URL)

    @app.task
    def add(one, other):
        return one + other

    with worker.start_worker(app, perform_ping_check=False, pool="solo", loglevel="CRITICAL"):
        results = [add.delay(number, 1) for number in range(5)]
        check([result.get(timeout=30) for result in results], [1, 2, 3, 4, 5])


PYTHON = (
    limits,
    redlock,
    pottery,
    redis_locks,
    rq,
    rq_failures,
    streams,
    arq,
    huey,
    dramatiq,
    celery,
    django,
    flask_redis,
    apscheduler_redis,
)
NODE = (bullmq, bull, bee_queue, redlock_node, rate_limiter_flexible, connect_redis, keyv_redis, rate_limit_redis)
OTHERS = (go_redis, jedis, lettuce)

client().flushall()
failed = worked = 0
for library in PYTHON + NODE + OTHERS:
    name = library.__name__
    if sys.argv[3:] and name not in sys.argv[3:]:
        continue
    try:
        library()
        worked += 1
        print(f"{name}: works", flush=True)
    except ImportError as error:
        print(f"{name}: skipped, {error}", flush=True)
    except Exception as error:  # noqa: BLE001
        failed += 1
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
sys.exit(1 if failed else 0 if worked else 77)
