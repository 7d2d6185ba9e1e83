"""Queues of jobs and stores of sessions of Python on PostgreSQL: python3 python_queues.py DSN NAME, as python_libraries.py."""

import asyncio
import datetime

from python_trial import DSN, PLACE, check, fails, run, try_library


def procrastinate():
    """Procrastinate: its schema of functions and triggers, jobs, locks, retries, periodic tasks, listening workers."""
    import procrastinate

    tables = "procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, procrastinate_workers"
    run(f"DROP TABLE IF EXISTS {tables} CASCADE")
    import psycopg

    with psycopg.connect(DSN, autocommit=True) as connection:
        functions = connection.execute("SELECT oid::regprocedure FROM pg_proc WHERE proname LIKE 'procrastinate%'").fetchall()
        for (function,) in functions:
            connection.execute(f"DROP FUNCTION {function} CASCADE")
        for kind in ("job_status", "job_event_type", "job_to_defer_v1", "job_to_defer_v2"):
            connection.execute(f"DROP TYPE IF EXISTS procrastinate_{kind} CASCADE")
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DSN))
    done = []

    @app.task(name="add", retry=procrastinate.RetryStrategy(max_attempts=2, wait=0))
    def add(a, b):
        done.append(a + b)
        if a == 100 and done.count(101) == 1:
            raise ValueError("once")

    @app.task(name="later", queue="other", pass_context=True)
    async def later(context, x):
        done.append((context.job.id > 0, x))

    async def jobs():
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            check(await app.check_connection_async(), True)
            await add.defer_async(a=1, b=2)
            await add.configure(lock="l", queueing_lock="q", priority=5).defer_async(a=3, b=4)
            try:
                await add.configure(queueing_lock="q").defer_async(a=3, b=4)
                raise AssertionError("the lock is taken")
            except procrastinate.exceptions.AlreadyEnqueued:
                pass
            await add.defer_async(a=100, b=1)
            await later.batch_defer_async({"x": 1}, {"x": 2})
            far = await add.configure(schedule_in={"hours": 1}).defer_async(a=0, b=0)
            await app.run_worker_async(wait=False, concurrency=2, install_signal_handlers=False)
            check(sorted(map(str, done)), sorted(map(str, [7, 3, 101, 101, (True, 1), (True, 2)])))
            check(await app.job_manager.cancel_job_by_id_async(far), True)
            queues = {queue["name"]: queue for queue in await app.job_manager.list_queues_async()}
            check((queues["default"]["succeeded"], queues["default"]["cancelled"], queues["other"]["succeeded"]), (3, 1, 2))
            check(len(await app.job_manager.list_jobs_async(task="add")), 4)
            check(len(await app.job_manager.list_tasks_async()), 2)
            check("l" in [lock["name"] for lock in await app.job_manager.list_locks_async()], True)
            await app.job_manager.delete_old_jobs(nb_hours=0, include_failed=True)

    asyncio.run(asyncio.wait_for(jobs(), 60))


def django_q():
    """Django-Q: a queue of jobs in the database, by its broker of the ORM."""
    import django
    from django.conf import settings
    from urllib.parse import urlsplit

    at = urlsplit(DSN)
    settings.configure(
        SECRET_KEY="x", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", INSTALLED_APPS=["django.contrib.contenttypes", "django_q"],
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": at.hostname, "PORT": at.port, "USER": at.username, "NAME": at.path[1:]}},
        CACHES={"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "dq_cache"}},
        Q_CLUSTER={"orm": "default", "workers": 1, "timeout": 30, "retry": 60, "poll": 0.1, "name": "sx"},
    )
    django.setup()
    from django.core.cache import cache
    from django.core.management import call_command
    from django_q import tasks
    from django_q.brokers import get_broker
    from django_q.models import OrmQ, Schedule, Success

    run("DROP TABLE IF EXISTS django_q_task, django_q_schedule, django_q_ormq, dq_cache, django_migrations, django_content_type CASCADE")
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    check(cache.get_or_set("k", [1], 60), [1])
    check((cache.add("k", 2), cache.incr("n", 1) if cache.add("n", 1) else None, cache.get_many(["k", "n"])), (False, 2, {"k": [1], "n": 2}))
    broker = get_broker()
    name = tasks.async_task("math.factorial", 5)
    check((broker.queue_size(), OrmQ.objects.count()), (1, 1))
    [(key, package)] = broker.dequeue()
    from django_q.signing import SignedPackage

    check(SignedPackage.loads(package)["args"], (5,))
    check(broker.dequeue() or [], [])
    broker.acknowledge(key)
    check(broker.queue_size(), 0)
    Success.objects.create(id=name, name="x", func="math.factorial", started=datetime.datetime.now(datetime.timezone.utc), stopped=datetime.datetime.now(datetime.timezone.utc), result=120, success=True)
    check(tasks.result(name), 120)
    tasks.schedule("math.sqrt", 4, schedule_type=Schedule.MINUTES, minutes=5, name="s")
    check(Schedule.objects.count(), 1)


def apscheduler():
    """APScheduler: jobs that a table keeps, and their next times."""
    from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
    from apscheduler.schedulers.background import BackgroundScheduler

    run("DROP TABLE IF EXISTS aps_jobs")
    def scheduler():
        made = BackgroundScheduler(jobstores={"default": SQLAlchemyJobStore(url=f"postgresql+psycopg2://{PLACE}", tablename="aps_jobs")}, timezone="UTC")
        made.start(paused=True)
        return made
    first = scheduler()
    first.add_job("os:getpid", "interval", hours=1, id="a")
    first.add_job("os:getcwd", "cron", hour=3, id="b")
    first.add_job("os:getcwd", "date", run_date=datetime.datetime(2099, 1, 1), id="c")
    fails(Exception, first.add_job, "os:getpid", "interval", hours=1, id="a")
    first.reschedule_job("a", trigger="interval", minutes=5)
    first.pause_job("b")
    first.shutdown()
    second = scheduler()
    check(sorted(job.id for job in second.get_jobs()), ["a", "b", "c"])
    check(second.get_job("b").next_run_time, None)
    second.remove_job("a")
    second.remove_all_jobs()
    second.shutdown()
    run("DROP TABLE aps_jobs")


def flask_session():
    """Flask-SQLAlchemy, and sessions of Flask in a table."""
    from flask import Flask, session
    from flask_session import Session
    from flask_sqlalchemy import SQLAlchemy

    run("DROP TABLE IF EXISTS fs_sessions, fs_notes")
    app = Flask("tried")
    app.config.update(SECRET_KEY="x", SQLALCHEMY_DATABASE_URI=f"postgresql+psycopg2://{PLACE}", SESSION_TYPE="sqlalchemy", SESSION_SQLALCHEMY_TABLE="fs_sessions")
    db = SQLAlchemy(app)
    app.config["SESSION_SQLALCHEMY"] = db

    class Note(db.Model):
        __tablename__ = "fs_notes"
        id = db.Column(db.Integer, primary_key=True)
        text = db.Column(db.String(80), nullable=False)

    with app.app_context():
        Session(app)
        db.create_all()

    @app.get("/set/<value>")
    def keep(value):
        session["value"] = value
        db.session.add(Note(text=value))
        db.session.commit()
        return "kept"

    @app.get("/get")
    def give():
        return {"value": session.get("value"), "notes": db.paginate(db.select(Note).order_by(Note.id), page=1, per_page=2).total}

    client = app.test_client()
    client.get("/set/one"), client.get("/set/two")
    check(client.get("/get").json, {"value": "two", "notes": 2})
    check(app.test_client().get("/get").json["value"], None)
    with app.app_context():
        db.drop_all()


def pgqueuer():
    """pgqueuer: its schema with a trigger that notifies, and a worker that takes jobs."""
    import asyncpg
    from pgqueuer import PgQueuer
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries

    async def jobs():
        connection, other = await asyncpg.connect(DSN), await asyncpg.connect(DSN)
        queries = Queries(AsyncpgDriver(other))
        if await queries.schema_queries.has_table("pgqueuer") if hasattr(queries, "schema_queries") else False:
            await queries.uninstall()
        await queries.install()
        worker = PgQueuer(AsyncpgDriver(connection))
        done = []

        @worker.entrypoint("hello")
        async def hello(job):
            done.append(job.payload)
            if len(done) == 3:
                worker.shutdown.set()

        await queries.enqueue(["hello"] * 2, [b"1", b"2"], [0, 1])
        running = asyncio.create_task(worker.run())
        while len(done) < 2:
            await asyncio.sleep(0.02)
        await queries.enqueue("hello", b"3")
        await asyncio.wait_for(running, 30)
        check(sorted(done), [b"1", b"2", b"3"])
        check(await queries.queue_size() if hasattr(queries, "queue_size") else [], [])
        await queries.uninstall()
        await connection.close()
        await other.close()
    asyncio.run(asyncio.wait_for(jobs(), 60))


if __name__ == "__main__":
    try_library(globals())
