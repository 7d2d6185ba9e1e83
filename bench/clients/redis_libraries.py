"""Libraries on Redis, each with its everyday calls: python3 redis_libraries.py [HOST] [PORT].

They are Python's, and one of Node's (bullmq, with NODE_PATH). The keyspace is emptied. Says of each library whether it works
here; those that are not installed are skipped. Ends with 0 if all of the others work.
"""

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


def bullmq():
    """A queue of Node's: scripts, and events in a stream."""
    if not shutil.which("node") or subprocess.run(["node", "-e", "require('bullmq')"], capture_output=True).returncode:
        raise ImportError("No module named 'bullmq' for node")
    script = pathlib.Path(__file__).with_name("bullmq_client.js")
    ran = subprocess.run(["node", str(script), HOST, str(PORT)], capture_output=True, text=True, timeout=120)
    check((ran.returncode, ran.stdout), (0, "bullmq ok\n"))


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


client().flushall()
failed = 0
for library in (limits, redlock, pottery, rq, rq_failures, streams, arq, bullmq, huey, dramatiq, celery):
    name = library.__name__
    try:
        library()
        print(f"{name}: works")
    except ImportError as error:
        print(f"{name}: skipped, {error}")
    except Exception as error:  # noqa: BLE001
        failed += 1
        print(f"{name}: {type(error).__name__}: {error}")
sys.exit(min(failed, 1))
