//! Claims of rows: simulated workers that take jobs by `SKIP LOCKED`, transactions that are run again, and waits of
//! `LOCK TABLE`. Sessions run one after the other in one thread, but for those that wait.

use crate::common::{Fresh, copy_in, query, run, session};
use sardonyx_base::random::{Random, seeds};
use sardonyx_sql::{Database, Session, SqlError, code};
use std::collections::BTreeSet;
use std::sync::Arc;

pub const JOBS: u64 = 30;
const WORKERS: usize = 5;

/// The ways in which programs take a job.
const TAKES: [&str; 6] = [
    "select id from jobs where state = 'new' order by id limit 1 for update skip locked",
    "select id from jobs where state = 'new' order by priority, id limit 2 for update skip locked",
    "select j.id from jobs j join queues q on q.name = j.queue where j.state = 'new' and q.is_open \
     order by q.weight, j.id limit 1 for no key update of j skip locked",
    "with next as (select id from jobs where state = 'new' order by priority desc, id limit 1 \
     for update skip locked) update jobs set attempts = attempts + 1 from next where jobs.id = next.id returning jobs.id",
    "update jobs set attempts = attempts + 1 where id = (select id from jobs where state = 'new' \
     order by priority, id limit 1 for update skip locked) returning id",
    "select id from (select * from jobs where state = 'new') j order by id desc limit 1 for update skip locked",
];

/// A worker: its session, the jobs that it has taken since its savepoint and before, and those that it has finished.
struct Worker {
    session: Session,
    is_open: bool,
    taken: Vec<i64>,
    kept: Option<Vec<i64>>,
    finished: Vec<i64>,
    kept_finished: Vec<i64>,
}

impl Worker {
    fn new(database: &Arc<Database>) -> Worker {
        Worker {
            session: session(database),
            is_open: false,
            taken: Vec::new(),
            kept: None,
            finished: Vec::new(),
            kept_finished: Vec::new(),
        }
    }

    fn say(&mut self, text: &str) -> Vec<String> {
        query(&mut self.session, text)
            .unwrap_or_else(|error| panic!("{text}: {} {error}", error.code))
    }

    fn forget(&mut self) {
        self.is_open = false;
        self.taken.clear();
        self.kept = None;
        self.finished.clear();
    }

    /// Takes jobs. None of them is another worker's.
    fn take(&mut self, way: &str, others: &BTreeSet<i64>) {
        if !self.is_open {
            self.say("begin");
            self.is_open = true;
        }
        for job in self.say(way) {
            let job = job.parse().expect("a number");
            assert!(
                !others.contains(&job),
                "job {job} is another worker's: {way}"
            );
            if !self.taken.contains(&job) {
                self.taken.push(job);
            }
        }
    }

    fn finish(&mut self, random: &mut Random) {
        let Some(job) = self
            .taken
            .iter()
            .find(|job| !self.finished.contains(job))
            .copied()
        else {
            return;
        };
        let way = match random.chance(1, 2) {
            true => format!("delete from jobs where id = {job}"),
            false => format!("update jobs set state = 'done' where id = {job}"),
        };
        self.say(&way);
        self.say(&format!("insert into runs (job) values ({job})"));
        self.finished.push(job);
    }

    fn commit(&mut self, done: &mut BTreeSet<i64>) {
        if self.is_open {
            self.say("commit");
            for job in self.finished.clone() {
                assert!(done.insert(job), "job {job} is done twice");
            }
        }
        self.forget();
    }
}

pub fn filled(fresh: &Fresh) {
    let mut main = fresh.session();
    let made = "create table jobs (id bigint primary key, queue text not null, priority int not null, \
                  state text not null default 'new', attempts int not null default 0); \
                create table queues (name text primary key, weight int not null, is_open boolean not null); \
                create table runs (number serial primary key, job bigint not null); \
                insert into queues values ('a', 1, true), ('b', 2, true)";
    run(&mut main, made).expect("they are made");
    let jobs = format!(
        "insert into jobs select n, case when n % 3 = 0 then 'a' else 'b' end, n % 4 from generate_series(1, {JOBS}) n"
    );
    run(&mut main, &jobs).expect("there are jobs");
}

/// Runs workers until all jobs are done. No commit fails: each has the rows that it changes.
fn work(seed: u64, is_aside: bool) {
    let fresh = Fresh::new();
    filled(&fresh);
    fresh
        .database
        .set_aside_from(if is_aside { 0 } else { 1000 });
    let mut random = Random::new(seed);
    let mut workers: Vec<Worker> = (0..WORKERS).map(|_| Worker::new(&fresh.database)).collect();
    let mut done = BTreeSet::new();
    let mut steps = 0;
    while done.len() < JOBS as usize {
        steps += 1;
        assert!(steps < 20_000, "seed {seed}: {} jobs are done", done.len());
        let at = random.below(WORKERS as u64) as usize;
        let others: BTreeSet<i64> = (workers.iter().enumerate())
            .filter(|(other, _)| *other != at)
            .flat_map(|(_, worker)| worker.taken.iter().copied())
            .collect();
        let worker = &mut workers[at];
        match random.below(20) {
            0..6 => worker.take(TAKES[random.below(TAKES.len() as u64) as usize], &others),
            6..11 => worker.finish(&mut random),
            11..14 => worker.commit(&mut done),
            14 if worker.is_open => {
                worker.say("rollback");
                worker.forget();
            }
            15 if worker.is_open && worker.kept.is_none() => {
                worker.say("savepoint s");
                worker.kept = Some(worker.taken.clone());
                worker.kept_finished = worker.finished.clone();
            }
            // The answers since the savepoint are compared at the commit, too. So other workers could end this one, if it
            // had taken jobs that it gave back.
            16 if worker.kept.as_ref() == Some(&worker.taken) => {
                worker.say("rollback to s");
                worker.finished = worker.kept_finished.clone();
            }
            17 if worker.is_open => {
                query(&mut worker.session, "select 1 / 0").expect_err("a division by zero");
                worker.say("rollback");
                worker.forget();
            }
            18 => {
                *worker = Worker::new(&fresh.database);
            }
            19 if !worker.is_open => {
                let way = "delete from jobs where id = (select id from jobs where state = 'new' order by id \
                           limit 1 for update skip locked) returning id";
                for job in worker.say(way) {
                    let job = job.parse().expect("a number");
                    assert!(
                        !others.contains(&job),
                        "seed {seed}: job {job} is another worker's"
                    );
                    assert!(done.insert(job), "seed {seed}: job {job} is done twice");
                    worker.say(&format!("insert into runs (job) values ({job})"));
                }
            }
            _ => {}
        }
    }
    drop(workers);
    let mut main = fresh.session();
    let runs = query(&mut main, "select count(*), count(distinct job) from runs");
    assert_eq!(
        runs.expect("a count"),
        [format!("{JOBS}|{JOBS}")],
        "seed {seed}"
    );
    let left = query(&mut main, "select count(*) from jobs where state = 'new'");
    assert_eq!(left.expect("a count"), ["0"], "seed {seed}");
}

#[test]
fn workers_run_each_job_once() {
    for seed in 0..seeds(3) {
        work(seed, seed % 2 == 1);
    }
}

/// A session that has begun a transaction.
pub fn begun(fresh: &Fresh) -> Session {
    let mut session = fresh.session();
    run(&mut session, "begin").expect("it begins");
    session
}

pub const NEXT: &str =
    "select id from jobs where state = 'new' order by id limit 1 for update skip locked";

#[test]
fn a_job_that_another_gave_back_is_no_conflict() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        fresh.database.set_aside_from(aside_from);
        let (mut first, mut second) = (begun(&fresh), begun(&fresh));
        assert_eq!(query(&mut first, NEXT).expect("a job"), ["1"]);
        assert_eq!(query(&mut second, NEXT).expect("a job"), ["2"]);
        run(&mut second, "update jobs set state = 'done' where id = 2").expect("it is done");
        run(&mut first, "rollback").expect("it is given back");
        let mut main = fresh.session();
        run(&mut main, "insert into jobs values (0, 'a', 0)").expect("a job before all");
        run(&mut second, "commit").expect("the other rows do not matter");
        let left = query(
            &mut main,
            "select min(id), count(*) from jobs where state = 'new'",
        );
        assert_eq!(left.expect("the rest"), [format!("0|{JOBS}")]);
    }
}

#[test]
fn a_snapshot_from_before_a_commit_gives_no_job_that_was_done_since() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        fresh.database.set_aside_from(aside_from);
        let mut old = begun(&fresh);
        query(&mut old, "select count(*) from queues").expect("a snapshot");
        if aside_from == 0 {
            run(&mut old, "insert into runs (job) values (0)").expect("it goes aside");
        }
        let mut first = begun(&fresh);
        let two = "select id from jobs order by id limit 2 for update skip locked";
        assert_eq!(query(&mut first, two).expect("two jobs"), ["1", "2"]);
        run(&mut first, "delete from jobs where id < 3; commit").expect("they are done");
        for (way, jobs) in [
            (two, ["3", "4"]),
            (
                "select id from jobs order by priority, id limit 2 for update skip locked",
                ["4", "8"],
            ),
        ] {
            assert_eq!(query(&mut old, way).expect("two jobs"), jobs, "{way}");
        }
        run(
            &mut old,
            "update jobs set state = 'done' where id = 3; commit",
        )
        .expect("no conflict");
    }
}

#[test]
fn a_claimed_row_that_another_changed_ends_the_transaction() {
    let fresh = Fresh::new();
    filled(&fresh);
    let (mut worker, mut other) = (begun(&fresh), fresh.session());
    assert_eq!(query(&mut worker, NEXT).expect("a job"), ["1"]);
    run(&mut other, "update jobs set state = 'done' where id = 1").expect("no lock is in its way");
    let ended = run(
        &mut worker,
        "update jobs set attempts = 1 where id = 1; commit",
    );
    assert_eq!(
        ended.expect_err("it was changed").code,
        code::SERIALIZATION_FAILURE
    );
    run(&mut worker, "rollback").expect("it ends");
    assert_eq!(query(&mut other, NEXT).expect("another job"), ["2"]);
}

#[test]
fn a_session_that_ends_gives_its_claims_back() {
    let fresh = Fresh::new();
    filled(&fresh);
    let (mut worker, mut other) = (begun(&fresh), begun(&fresh));
    assert_eq!(query(&mut worker, NEXT).expect("a job"), ["1"]);
    assert_eq!(query(&mut other, NEXT).expect("a job"), ["2"]);
    drop(worker);
    let mut third = begun(&fresh);
    assert_eq!(query(&mut third, NEXT).expect("a job"), ["1"]);
}

#[test]
fn a_refusal_that_was_rolled_back_is_repeated_when_the_transaction_is_run_again() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        fresh.database.set_aside_from(aside_from);
        let (mut first, mut second) = (begun(&fresh), begun(&fresh));
        query(&mut first, NEXT).expect("a job");
        run(
            &mut second,
            "insert into runs (job) values (0); savepoint s",
        )
        .expect("a savepoint");
        let refused = run(
            &mut second,
            "select id from jobs where id = 1 for update nowait",
        );
        assert_eq!(refused.expect_err("it is claimed").code, "55P03");
        run(&mut second, "rollback to s").expect("it goes back");
        run(&mut first, "rollback").expect("it ends");
        run(&mut second, "insert into runs (job) values (1)").expect("it goes on");
        run(&mut second, "commit").expect("no conflict");
    }
}

#[test]
fn lock_table_waits_for_the_others_and_sees_their_changes() {
    let fresh = Fresh::new();
    filled(&fresh);
    let mut first = begun(&fresh);
    run(&mut first, "lock table jobs in share update exclusive mode").expect("it is free");
    let mut second = begun(&fresh);
    let waiting = std::thread::spawn(move || {
        run(
            &mut second,
            "lock table jobs in share update exclusive mode",
        )
        .expect("it waits");
        query(&mut second, "select count(*) from jobs").expect("a count")
    });
    run(&mut first, "delete from jobs where id <= 10; commit").expect("it commits");
    let seen = waiting.join().expect("no panic");
    assert_eq!(seen, [(JOBS - 10).to_string()]);
}

#[test]
fn a_circle_of_locks_of_tables_ends_one_of_its_transactions() {
    let fresh = Fresh::new();
    filled(&fresh);
    let (mut first, mut second) = (begun(&fresh), begun(&fresh));
    run(&mut first, "lock table jobs").expect("it is free");
    run(&mut second, "lock table queues").expect("it is free");
    let end = |mut session: Session, text: &'static str| {
        let ended = run(&mut session, text).map(drop);
        let code = ended.as_ref().err().map(|error| error.code);
        run(&mut session, "rollback").expect("it ends");
        code
    };
    let other = std::thread::spawn(move || end(second, "lock table jobs"));
    let codes = [
        end(first, "lock table queues"),
        other.join().expect("no panic"),
    ];
    let failed: Vec<_> = codes.iter().flatten().collect();
    assert_eq!(failed, [&"40P01"]);
}

#[test]
fn lock_timeout_ends_a_wait() {
    let fresh = Fresh::new();
    filled(&fresh);
    let (mut first, mut second) = (begun(&fresh), begun(&fresh));
    run(&mut first, "lock table jobs").expect("it is free");
    run(&mut second, "set lock_timeout = '1ms'").expect("it is set");
    let waited = run(&mut second, "lock table jobs");
    assert_eq!(waited.expect_err("it is locked").code, "55P03");
}

#[test]
fn lock_table_in_a_flight_is_run_between_its_statements() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        fresh.database.set_aside_from(aside_from);
        let mut session = fresh.session();
        let text = "begin; insert into runs (job) values (1); lock table jobs; \
                    insert into runs (job) values (2); commit";
        run(&mut session, text).expect("it commits");
        assert_eq!(
            query(&mut session, "select count(*) from runs").expect("a count"),
            ["2"]
        );
        let mut other = begun(&fresh);
        run(&mut other, "lock table jobs nowait").expect("the lock was given back");
    }
}

/// A transaction that has written, aside or in the serial stage.
pub fn written(fresh: &Fresh, aside_from: usize) -> Session {
    fresh.database.set_aside_from(aside_from);
    let mut session = begun(fresh);
    run(&mut session, "insert into runs (job) values (0)").expect("it writes");
    session
}

#[test]
fn queries_inside_one_that_skips_rows_are_compared() {
    for way in [
        "select id from jobs where (select is_open from queues where name = 'a') order by id limit 1 for update skip locked",
        "with open as materialized (select name from queues where is_open) \
         select j.id from jobs j join open on open.name = j.queue where j.queue = 'a' order by j.id limit 1 \
         for update of j skip locked",
    ] {
        for aside_from in [0, 1000] {
            let fresh = Fresh::new();
            filled(&fresh);
            let mut worker = written(&fresh, aside_from);
            assert_eq!(query(&mut worker, way).expect("a job").len(), 1, "{way}");
            let mut other = fresh.session();
            run(&mut other, "update queues set is_open = false").expect("no lock is in its way");
            run(&mut worker, "insert into runs (job) values (1)").expect("it goes on");
            let ended = run(&mut worker, "commit").expect_err("the queues are closed");
            assert_eq!(ended.code, code::SERIALIZATION_FAILURE, "{way}");
        }
    }
}

/// A way to change a table.
type Way = dyn Fn(&mut Session) -> Result<(), SqlError>;

#[test]
fn lock_table_waits_for_inserts_copies_and_truncate() {
    let insert =
        |session: &mut Session| run(session, "insert into jobs values (0, 'a', 0)").map(drop);
    let copy = |session: &mut Session| {
        copy_in(
            session,
            "copy jobs (id, queue, priority) from stdin",
            b"0\ta\t0\n",
        )
        .map(drop)
    };
    let truncate = |session: &mut Session| run(session, "truncate jobs").map(drop);
    let ways: [&Way; 3] = [&insert, &copy, &truncate];
    for way in ways {
        for aside_from in [0, 1000] {
            let fresh = Fresh::new();
            filled(&fresh);
            let mut first = written(&fresh, aside_from);
            way(&mut first).expect("it writes");
            let mut second = begun(&fresh);
            let refused = run(&mut second, "lock table jobs in share mode nowait");
            assert_eq!(refused.expect_err("it is changed").code, "55P03");
            run(&mut second, "rollback").expect("it ends");
            run(&mut first, "commit").expect("it commits");
            run(&mut second, "begin; lock table jobs in share mode nowait").expect("it is free");
        }
    }
}

/// Runs statements in a transaction that is run again before its commit. Another session changes other rows meanwhile.
pub fn repeated(fresh: &Fresh, aside_from: usize, text: &str) -> Vec<String> {
    let mut worker = written(fresh, aside_from);
    let rows = query(&mut worker, text);
    if rows.is_err() {
        run(&mut worker, "rollback").expect("it ends");
        worker = written(fresh, aside_from);
        run(&mut worker, "savepoint s").expect("a savepoint");
        query(&mut worker, text).expect_err("it fails again");
        run(&mut worker, "rollback to s").expect("it goes back");
    }
    let mut other = fresh.session();
    run(&mut other, "insert into runs (job) values (-1)").expect("no lock is in its way");
    run(&mut worker, "insert into runs (job) values (1)").expect("it goes on");
    run(&mut worker, "commit").unwrap_or_else(|error| panic!("{text}: {} {error}", error.code));
    rows.unwrap_or_else(|error| vec![error.code.to_string()])
}

#[test]
fn a_query_that_skips_rows_is_repeated_as_it_ran() {
    let nested = "select id from (select * from jobs order by id limit 3 for update skip locked) j \
                  order by id desc limit 1 for update skip locked";
    let beside = "select id, (select max(weight) from (select weight from queues for update skip locked) q) \
                  from jobs order by id limit 1 for update skip locked";
    let refusing = "select id from jobs where id > (select count(*) from (select 1 from queues for update nowait) q) \
                    order by id limit 1 for update skip locked";
    let drawn = "select id, nextval('drawn'), random() < 2, gen_random_uuid() is null from jobs order by priority, id \
                 offset 1 limit 2 for update skip locked";
    let random = "select count(*) from (select id from jobs order by random() limit 2 for update skip locked) j";
    let clock = "select id from jobs where clock_timestamp() > '2000-01-01' order by id limit 1 for update skip locked";
    let ways: [(&str, &[&str]); 8] = [
        (nested, &["3"]),
        (beside, &["1|2"]),
        (refusing, &["3"]),
        (drawn, &["8|2|t|f", "12|3|t|f"]),
        (random, &["2"]),
        (clock, &["1"]),
        (
            "select 1 / (id - 2) from jobs order by id for update skip locked",
            &["22012"],
        ),
        (
            "select id from jobs where 1 / (id - 3) < 9 order by id for update skip locked",
            &["22012"],
        ),
    ];
    for aside_from in [0, 1000] {
        for (way, rows) in ways {
            let fresh = Fresh::new();
            filled(&fresh);
            let mut main = fresh.session();
            run(&mut main, "create sequence drawn").expect("a sequence");
            assert_eq!(repeated(&fresh, aside_from, way), rows, "{way}");
            if way == drawn {
                let next = query(&mut main, "select nextval('drawn')");
                // The row before OFFSET has drawn one, too.
                assert_eq!(next.expect("a number"), ["4"]);
            }
        }
    }
}

#[test]
fn random_rows_keep_their_order_when_they_are_given_again() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        let way = "select id, random() from jobs order by random() limit 5 for update skip locked";
        assert_eq!(repeated(&fresh, aside_from, way).len(), 5);
        let seeded = "select id from jobs order by random() limit 5 for update skip locked";
        let mut worker = written(&fresh, aside_from);
        run(&mut worker, "select setseed(0.5)").expect("a seed");
        assert_eq!(query(&mut worker, seeded).expect("rows").len(), 5);
        run(&mut worker, "insert into runs (job) values (1); commit").expect("it commits");
    }
}

#[test]
fn volatile_functions_that_decide_about_rows_are_refused() {
    let fresh = Fresh::new();
    filled(&fresh);
    let mut session = begun(&fresh);
    run(&mut session, "create sequence drawn").expect("a sequence");
    for way in [
        "select id from jobs where id = nextval('drawn') for update skip locked",
        "select id from jobs order by nextval('drawn') for update skip locked",
        "select j.id from jobs j join queues q on q.weight > random() for update of j skip locked",
        "select id from jobs where id > (select random()) for update skip locked",
        // The rows would be given again without these tests of their columns.
        "select id from jobs where case when state = 'new' then pg_try_advisory_xact_lock(id) else false end \
         for update skip locked",
        "select id from jobs where state = 'new' or random() < 0 for update skip locked",
        "select id from jobs where random() * 9 < priority for update skip locked",
        "select id from jobs where (state = 'new') = pg_try_advisory_xact_lock(id) for update skip locked",
    ] {
        run(&mut session, "savepoint s").expect("a savepoint");
        let refused = run(&mut session, way).expect_err(way);
        assert_eq!(refused.code, "0A000", "{way}: {refused}");
        run(&mut session, "rollback to s").expect("it goes back");
    }
}
