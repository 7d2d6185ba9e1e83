"""Workers of job queues by psycopg 3: each job is run once, in the ways in which libraries take jobs by SKIP LOCKED.

    queue_client.py DSN [--jobs N] [--workers N]

The DSN may be that of PostgreSQL, as a control. It prints the transactions that had to be run again (40001).
"""

import argparse
import random
import threading

import psycopg

TABLES = """
DROP TABLE IF EXISTS queue_jobs, queue_runs;
CREATE TABLE queue_jobs (id bigint PRIMARY KEY, priority int NOT NULL, state text NOT NULL DEFAULT 'new', attempts int NOT NULL DEFAULT 0);
CREATE TABLE queue_runs (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job bigint NOT NULL);
"""
# In an open transaction: GoodJob, Solid Queue, Que, django-tasks, Oban.
SELECT = "SELECT id FROM queue_jobs WHERE state = 'new' ORDER BY priority, id LIMIT %s FOR UPDATE SKIP LOCKED"
# In one statement: graphile-worker, Procrastinate, pg-boss, River.
UPDATE = (
    "UPDATE queue_jobs SET state = 'running' WHERE id = (SELECT id FROM queue_jobs WHERE state = 'new'"
    " ORDER BY priority, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id"
)
NEXT = (
    "WITH next AS (SELECT id FROM queue_jobs WHERE state = 'new' ORDER BY priority, id LIMIT 2 FOR UPDATE SKIP LOCKED)"
    " UPDATE queue_jobs j SET state = 'running' FROM next WHERE j.id = next.id RETURNING j.id"
)
DELETE = (
    "DELETE FROM queue_jobs USING (SELECT id FROM queue_jobs WHERE state = 'new' ORDER BY priority, id LIMIT 1"
    " FOR UPDATE SKIP LOCKED) AS next WHERE queue_jobs.id = next.id RETURNING queue_jobs.id"
)


class GaveUp(Exception):
    """A job that fails: its transaction is rolled back, and another worker takes it."""


def run_jobs(db, jobs):
    for job in jobs:
        db.execute("INSERT INTO queue_runs (job) VALUES (%s)", (job,))


def in_transaction(db, draw):
    with db.transaction():
        jobs = [job for (job,) in db.execute(SELECT, (draw.randint(1, 3),))]
        if draw.random() < 0.2:
            raise GaveUp
        try:
            with db.transaction():
                run_jobs(db, jobs)
                if draw.random() < 0.2:
                    raise GaveUp
        except GaveUp:
            run_jobs(db, jobs)
        for job in jobs:
            db.execute(draw.choice(["DELETE FROM queue_jobs WHERE id = %s", "UPDATE queue_jobs SET state = 'done' WHERE id = %s"]), (job,))
    return jobs


def in_one_statement(db, draw):
    jobs = [job for (job,) in db.execute(draw.choice([UPDATE, NEXT, DELETE]))]
    run_jobs(db, jobs)
    return jobs


def work(dsn, seed, again):
    draw = random.Random(seed)
    with psycopg.connect(dsn, autocommit=True) as db:
        while True:
            way = draw.choice([in_transaction, in_one_statement])
            try:
                if not way(db, draw) and not db.execute("SELECT count(*) FROM queue_jobs WHERE state = 'new'").fetchone()[0]:
                    return
            except GaveUp:
                pass
            except psycopg.errors.SerializationFailure:
                again.append(way.__name__)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dsn")
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--workers", type=int, default=6)
    asked = parser.parse_args()
    with psycopg.connect(asked.dsn, autocommit=True) as db:
        db.execute(TABLES)
        db.execute("INSERT INTO queue_jobs (id, priority) SELECT n, n %% 5 FROM generate_series(1, %s::bigint) n", (asked.jobs,))
        again = []
        workers = [threading.Thread(target=work, args=(asked.dsn, seed, again)) for seed in range(asked.workers)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        runs = db.execute("SELECT count(*), count(DISTINCT job), min(job), max(job) FROM queue_runs").fetchone()
        assert runs == (asked.jobs, asked.jobs, 1, asked.jobs), runs

        # A claim as others see it, and a lock of a table.
        db.execute("INSERT INTO queue_jobs (id, priority) VALUES (1000001, 0), (1000002, 1)")
        with psycopg.connect(asked.dsn) as one, psycopg.connect(asked.dsn) as two:
            assert one.execute(SELECT, (1,)).fetchall() == [(1000001,)]
            assert two.execute(SELECT, (2,)).fetchall() == [(1000002,)]
            try:
                two.execute("SELECT id FROM queue_jobs WHERE id = 1000001 FOR UPDATE NOWAIT")
                raise AssertionError("a row that another has claimed")
            except psycopg.errors.LockNotAvailable:
                two.rollback()
            one.execute("LOCK TABLE queue_runs IN SHARE UPDATE EXCLUSIVE MODE")
            try:
                two.execute("LOCK TABLE queue_runs IN SHARE UPDATE EXCLUSIVE MODE NOWAIT")
                raise AssertionError("a table that another has locked")
            except psycopg.errors.LockNotAvailable:
                two.rollback()
            one.commit()
            two.execute("LOCK TABLE queue_runs IN SHARE UPDATE EXCLUSIVE MODE NOWAIT")
            assert two.execute(SELECT, (2,)).fetchall() == [(1000001,), (1000002,)]
    print(f"psycopg {psycopg.__version__}: {asked.jobs} jobs, {asked.workers} workers, run again: {len(again)}, ok")


main()
