//! Claims and advisory locks that statements take once, though they run several times; and those that end with their table
//! or their statement.

use crate::claims::{JOBS, NEXT, begun, filled, repeated, written};
use crate::common::{Fresh, query, run, session};
use crate::large::with_limits;
use std::sync::{Arc, Mutex};

#[test]
fn what_chance_has_chosen_is_given_again() {
    let way = "select id from jobs where random() < 0.9 and state = 'new' order by priority, id limit 5 for update skip locked";
    for aside_from in [0, 1000] {
        for _ in 0..5 {
            let fresh = Fresh::new();
            filled(&fresh);
            assert_eq!(repeated(&fresh, aside_from, way).len(), 5);
        }
    }
}

#[test]
fn advisory_functions_beside_rows_are_called_once() {
    // Their transaction is run again before each later flight, and before its commit.
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        let mut worker = written(&fresh, aside_from);
        for (way, rows) in [
            (
                "select id, pg_try_advisory_lock(id) from jobs where id < 3 order by id",
                "1|t 2|t",
            ),
            (
                "select id from jobs where id < 4 and pg_try_advisory_lock(id) order by id for update skip locked",
                "1 2 3",
            ),
            (
                "update jobs set attempts = 1 where id = 4 and pg_try_advisory_lock(id) returning id",
                "4",
            ),
        ] {
            assert_eq!(query(&mut worker, way).expect(way).join(" "), rows, "{way}");
        }
        run(&mut worker, "insert into runs (job) values (1)").expect("it goes on");
        let mut other = fresh.session();
        // It frees what it has not: the answer of the worker does not follow from it.
        let free = "select count(*) from jobs where pg_try_advisory_lock(id)";
        assert_eq!(
            query(&mut other, free).expect("a count"),
            [(JOBS - 4).to_string()]
        );
        run(&mut worker, "commit").expect("no conflict");
        let held = "select pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock(1), \
                    pg_advisory_unlock(3), pg_advisory_unlock(3), pg_advisory_unlock(4), pg_advisory_unlock(4)";
        assert_eq!(query(&mut worker, held).expect("truths"), ["t|t|f|t|f|t|f"]);
    }
}

#[test]
fn a_later_table_with_the_number_of_a_dropped_one_is_free() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        fresh.database.set_aside_from(aside_from);
        let mut main = fresh.session();
        let number = "select 'jobs'::regclass::oid";
        let before = query(&mut main, number).expect("a number");
        let (mut first, mut second) = (begun(&fresh), begun(&fresh));
        query(&mut second, NEXT).expect("a job");
        run(&mut second, "update jobs set attempts = 1").expect("they are claimed");
        run(&mut first, "lock table jobs in row share mode").expect("it is free");
        let anew = "drop table jobs; create table jobs (id bigint primary key, state text not null); \
                    insert into jobs values (1, 'new')";
        run(&mut main, anew).expect("no lock is in its way");
        assert_eq!(query(&mut main, number).expect("a number"), before);
        let mut third = begun(&fresh);
        assert_eq!(query(&mut third, NEXT).expect("a job"), ["1"]);
        run(&mut third, "lock table jobs nowait").expect("it is free");
        let listed =
            "select count(*), count(distinct pid) from pg_locks where relation = 'jobs'::regclass";
        assert_eq!(query(&mut main, listed).expect("a count"), ["2|1"]);
    }
}

#[test]
fn rows_that_a_large_statement_changes_are_left_out() {
    for large in [
        "update jobs set attempts = attempts + 1 where id <= 20",
        "delete from jobs where id <= 20",
        "update jobs set attempts = q.weight from queues q where q.name = queue and id <= 20",
        "delete from jobs where id <= 20 returning id",
    ] {
        for few in [5, 100] {
            let fresh = Fresh::new();
            filled(&fresh);
            let seen = Arc::new(Mutex::new(Vec::new()));
            let (seen_there, database) = (seen.clone(), fresh.database.clone());
            with_limits(&fresh, few, move || {
                let mut worker = session(&database);
                run(&mut worker, "begin").expect("it begins");
                let way = "select id from jobs order by id limit 2 for update skip locked";
                let jobs = query(&mut worker, way).expect("two jobs");
                seen_there.lock().expect("no panic").push(jobs.join(" "));
            });
            run(&mut fresh.session(), large).expect(large);
            let seen = seen.lock().expect("no panic");
            // All of its rows are claimed when it is about to commit.
            assert_eq!(seen.last().expect("a pause"), "21 22", "{large}, {few}");
            let mut worker = begun(&fresh);
            let free = query(&mut worker, NEXT).expect("a job");
            let first = if large.starts_with("delete") {
                "21"
            } else {
                "1"
            };
            assert_eq!(free, [first], "{large}, {few}");
        }
    }
}

#[test]
fn calls_in_the_lines_of_a_block_are_repeated_in_their_order() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        let mut worker = fresh.session();
        query(&mut worker, "select pg_try_advisory_lock(1)").expect("it is free");
        fresh.database.set_aside_from(aside_from);
        run(&mut worker, "begin").expect("it begins");
        let block = "do $$ begin \
                     if pg_advisory_unlock(1) then insert into runs (job) values (1); end if; \
                     if pg_advisory_unlock(1) then insert into runs (job) values (2); end if; \
                     end $$";
        run(&mut worker, block).expect("it has one lock");
        run(&mut fresh.session(), "insert into runs (job) values (-1)").expect("others go on");
        run(&mut worker, "create table later (id bigint)").expect("a definition");
        run(&mut worker, "commit").expect("no conflict");
        let jobs = query(&mut worker, "select job from runs order by job");
        assert_eq!(jobs.expect("rows"), ["-1", "1"]);
    }
}

#[test]
fn a_query_inside_another_keeps_the_calls_of_that_one() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        let made =
            "create table picks (id bigint primary key); insert into picks select id from jobs";
        run(&mut fresh.session(), made).expect("they are made");
        fresh.database.set_aside_from(aside_from);
        let mut old = begun(&fresh);
        query(&mut old, "select count(*) from queues").expect("a snapshot");
        if aside_from == 0 {
            run(&mut old, "insert into runs (job) values (0)").expect("it goes aside");
        }
        run(&mut fresh.session(), "delete from jobs where id = 4").expect("it is done");
        let way = "select id from jobs where id in (select id from picks for update skip locked) \
                   and pg_try_advisory_lock(id) order by priority, id limit 1 for update skip locked";
        assert_eq!(query(&mut old, way).expect("a job"), ["8"]);
        let held = "select count(*) from generate_series(1, 30) n where pg_advisory_unlock(n)";
        for count in ["30", "0"] {
            assert_eq!(query(&mut old, held).expect("a count"), [count]);
        }
    }
}

#[test]
fn calls_in_a_view_are_made_once() {
    let fresh = Fresh::new();
    filled(&fresh);
    let made = "create view locking as select id, pg_try_advisory_lock(id) as got from jobs; \
                create table got (id bigint primary key, got boolean)";
    run(&mut fresh.session(), made).expect("they are made");
    for large in [
        "insert into got select id, got from locking",
        "create table others as select id, got from locking",
    ] {
        let pauses = Arc::new(Mutex::new(0));
        let counted = pauses.clone();
        with_limits(&fresh, 5, move || *counted.lock().expect("no panic") += 1);
        let mut main = fresh.session();
        run(&mut main, large).expect(large);
        // Aside it would begin again for a row that others have changed.
        assert_eq!(*pauses.lock().expect("no panic"), 0, "{large}");
        let held = "select count(*) from generate_series(1, 30) n where pg_advisory_unlock(n)";
        for count in ["30", "0"] {
            assert_eq!(query(&mut main, held).expect("a count"), [count], "{large}");
        }
    }
}

#[test]
fn listed_locks_are_listed_again() {
    for aside_from in [0, 1000] {
        let fresh = Fresh::new();
        filled(&fresh);
        fresh.database.set_aside_from(aside_from);
        let mut worker = begun(&fresh);
        let listed = "select count(*) from pg_locks where relation = 'jobs'::regclass";
        assert_eq!(query(&mut worker, listed).expect("a count"), ["0"]);
        run(&mut worker, "update jobs set attempts = 1 where id = 1").expect("it writes");
        assert_eq!(query(&mut worker, listed).expect("a count"), ["1"]);
        run(&mut fresh.session(), "insert into runs (job) values (-1)").expect("others go on");
        run(&mut worker, "insert into runs (job) values (1)").expect("it goes on");
        run(&mut worker, "commit").expect("no conflict");
    }
}

#[test]
fn lock_table_looks_its_name_up_again_when_it_has_waited() {
    for (change, code) in [
        (
            "drop table jobs; create table jobs (id bigint primary key); commit",
            None,
        ),
        ("drop table jobs; commit", Some("42P01")),
    ] {
        let fresh = Fresh::new();
        filled(&fresh);
        let (mut first, mut second) = (begun(&fresh), begun(&fresh));
        run(&mut first, "lock table jobs").expect("it is free");
        let waiting = std::thread::spawn(move || {
            let locked = run(&mut second, "lock table jobs").map(drop);
            (second, locked)
        });
        let mut main = fresh.session();
        let waits = "select count(*) from pg_locks where not granted";
        while query(&mut main, waits).expect("a count") != ["1"] {
            std::thread::yield_now();
        }
        run(&mut first, change).expect(change);
        let (_second, locked) = waiting.join().expect("no panic");
        assert_eq!(locked.err().map(|error| error.code), code, "{change}");
        if code.is_none() {
            let refused = run(&mut first, "begin; lock table jobs nowait");
            assert_eq!(refused.expect_err("it is locked").code, "55P03");
        }
    }
}
