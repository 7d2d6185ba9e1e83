//! Open transactions whose clients are silent: their memory is of all sessions, and the oldest give it up when others need it.
//! They are run again, or end by `40001`. So do those whose snapshots are ended.

use crate::common::{Fresh, query, run, wait};
use crate::large::with_limits;
use sardonyx::Options;
use sardonyx_base::memory::Budget;
use sardonyx_sql::{Outcome, Session, Step, TransactionStatus, code};
use std::sync::{Arc, Mutex};

const MEMORY: usize = 4 << 20;

/// The memory of all sessions.
fn memory(fresh: &Fresh) -> Arc<Budget> {
    fresh.session().memory().clone()
}

fn tables() -> Fresh {
    let fresh = Fresh::new();
    let text =
        "create table t (id int primary key, x text); create table n (id int primary key, v int);
        insert into n select g, 0 from generate_series(1, 100) as g";
    run(&mut fresh.session(), text).expect("created");
    memory(&fresh).set_bytes_max(MEMORY);
    fresh
}

/// Begins a transaction, and inserts rows of about three quarters of a mebibyte.
fn begun(fresh: &Fresh, number: i64) -> Session {
    let mut session = fresh.session();
    run(&mut session, "begin").expect("it begins");
    fill(&mut session, number).expect("inserted");
    assert!(
        session.bytes_aside() > 512 << 10,
        "{}",
        session.bytes_aside()
    );
    session
}

fn fill(session: &mut Session, number: i64) -> Result<(), sardonyx_sql::SqlError> {
    let from = number * 10_000;
    let text = format!(
        "insert into t select {from} + g, repeat('x', 100) from generate_series(1, 2500) as g"
    );
    run(session, &text).map(drop)
}

#[test]
fn i13_forgotten_transactions_keep_no_memory_from_others() {
    let fresh = tables();
    let mut forgotten: Vec<Session> = (0..4).map(|number| begun(&fresh, number)).collect();
    // There is no room for more.
    assert!(memory(&fresh).left() < 1 << 20);
    for number in 10..16 {
        let mut session = begun(&fresh, number);
        run(&mut session, "commit").expect("it commits");
    }
    let sorted =
        "select count(*) from (select x from t where id >= 150000 order by x desc, id) as s";
    assert_eq!(query(&mut fresh.session(), sorted).expect("read"), ["2500"]);
    // The oldest gave its rows up, and is run again.
    let first = &mut forgotten[0];
    assert_eq!(first.status(), TransactionStatus::Open);
    assert_eq!(first.bytes_aside(), 0);
    let count = "select count(*) from t where id < 10000";
    assert_eq!(query(first, count).expect("it runs again"), ["2500"]);
    run(first, "commit").expect("it commits");
    assert_eq!(query(&mut fresh.session(), count).expect("read"), ["2500"]);
    drop(forgotten);
    assert_eq!(memory(&fresh).taken(), 0);
}

#[test]
fn a_transaction_that_gave_its_rows_up_is_compared_and_goes_back_to_its_savepoints() {
    for changed in [false, true] {
        let fresh = tables();
        let mut old = fresh.session();
        run(&mut old, "begin; select v from n where id = 5").expect("it begins");
        run(&mut old, "update n set v = v + 1 where id = 7").expect("updated");
        run(&mut old, "savepoint s").expect("marked");
        fill(&mut old, 0).expect("inserted");
        let _others: Vec<_> = (1..6).map(|number| begun(&fresh, number)).collect();
        assert_eq!(old.bytes_aside(), 0);
        let other = match changed {
            true => "update n set v = 9 where id = 5",
            false => "update n set v = 9 where id = 7",
        };
        run(&mut fresh.session(), other).expect("updated");
        let gone_back = run(&mut old, "rollback to s");
        gone_back.expect("it goes back");
        let read = query(&mut old, "select count(*) from t where id < 10000");
        match changed {
            false => {
                assert_eq!(read.expect("it runs again"), ["0"]);
                run(&mut old, "commit").expect("it commits");
                let v = "select v from n where id = 7";
                assert_eq!(query(&mut old, v).expect("read"), ["10"]);
            }
            true => {
                assert_eq!(read.expect_err("it read another value").code, "40001");
                run(&mut old, "rollback").expect("it ends");
            }
        }
    }
}

/// Inserts one by one more rows than a session remembers statements.
fn insert_many(session: &mut Session) {
    let insert = session.prepare("insert into t values ($1, '')", &[]);
    let insert = insert.expect("prepared").remove(0);
    let steps = (100_000..110_001).map(|id: i64| Step::Execute {
        statement: insert.clone(),
        parameters: vec![id.into()],
        rows_max: 0,
    });
    let outcomes = wait(session.run(steps.collect()));
    assert!(
        outcomes
            .iter()
            .all(|outcome| matches!(outcome, Outcome::Done(_)))
    );
}

#[test]
fn one_that_cannot_be_run_again_is_ended_with_the_reason_and_40001() {
    let fresh = tables();
    memory(&fresh).set_bytes_max(16 << 20);
    for ends in ["select 1", "commit"] {
        let mut long = fresh.session();
        run(&mut long, "begin").expect("it begins");
        insert_many(&mut long);
        let others: Vec<_> = (1..40)
            .map_while(|number| {
                let session = begun(&fresh, number);
                (long.bytes_aside() > 0).then_some(session)
            })
            .collect();
        drop(others);
        assert_eq!(long.bytes_aside(), 0);
        let error = run(&mut long, ends).expect_err("it is ended");
        assert_eq!(error.code, code::SERIALIZATION_FAILURE);
        assert!(error.message.contains("memory_max"), "{}", error.message);
        assert!(
            error
                .hint
                .as_deref()
                .is_some_and(|hint| hint.contains("retried"))
        );
        let status = match ends {
            "commit" => TransactionStatus::Idle,
            _ => TransactionStatus::Failed,
        };
        assert_eq!(long.status(), status, "{ends}");
        run(&mut long, "rollback").expect("it ends");
    }
}

/// A transaction with a table of its own, whose rows others have needed.
fn with_a_lost_table(fresh: &Fresh, statements: impl Fn(&mut Session)) -> Session {
    let mut session = fresh.session();
    let text = "begin; create table mine (id int primary key, x text);
        insert into mine select g, repeat('x', 100) from generate_series(1, 2500) as g";
    run(&mut session, text).expect("it begins");
    statements(&mut session);
    let mut others = Vec::new();
    while session.bytes_aside() > 0 {
        assert!(others.len() < 40, "its rows stay");
        others.push(begun(fresh, 1 + others.len() as i64));
    }
    session
}

#[test]
fn own_tables_are_found_again_by_what_names_them_outside_of_a_unit() {
    let fresh = tables();
    let count = "select count(*) from mine";
    let mut session = with_a_lost_table(&fresh, |_| {});
    run(&mut session, &format!("prepare q as {count}")).expect("prepared");
    assert_eq!(query(&mut session, "execute q").expect("read"), ["2500"]);
    drop(session);
    let mut session = with_a_lost_table(&fresh, |_| {});
    let prepared = session.prepare(count, &[]).expect("prepared").remove(0);
    assert_eq!(prepared.columns().map(<[_]>::len), Some(1));
    drop(session);
    let mut session = with_a_lost_table(&fresh, |_| {});
    run(&mut session, "lock table mine").expect("locked");
    assert_eq!(query(&mut session, count).expect("read"), ["2500"]);
    run(&mut session, "commit").expect("it commits");
    assert_eq!(query(&mut fresh.session(), count).expect("read"), ["2500"]);
    // One that is too long to be run again is ended, with the reason.
    memory(&fresh).set_bytes_max(16 << 20);
    run(&mut fresh.session(), "drop table mine").expect("dropped");
    for is_lock in [false, true] {
        let mut session = with_a_lost_table(&fresh, insert_many);
        let failed = match is_lock {
            true => run(&mut session, "lock table mine").map(drop),
            false => session.prepare(count, &[]).map(drop),
        };
        let error = failed.expect_err("it is ended");
        assert_eq!(error.code, code::SERIALIZATION_FAILURE, "{error}");
        assert!(error.message.contains("memory_max"), "{}", error.message);
    }
}

#[test]
fn a_long_transaction_whose_snapshot_is_ended_gets_40001_and_the_name_of_the_bound() {
    let fresh = Fresh::with(&Options::new().snapshot_bytes_max(8 * 4096));
    let text =
        "create table t (id int primary key, x text); create table n (id int primary key, b text);
        insert into n select g, repeat('b', 500) from generate_series(1, 200) as g";
    run(&mut fresh.session(), text).expect("created");
    for (other, ends) in [
        ("c", "select count(*) from n"),
        ("d", "commit"),
        ("e", "insert into t values (1, '')"),
    ] {
        let mut long = fresh.session();
        run(&mut long, "begin").expect("it begins");
        insert_many(&mut long);
        for id in 1..=200 {
            let text = format!("update n set b = repeat('{other}', 500) where id = {id}");
            run(&mut fresh.session(), &text).expect("changed");
        }
        let error = run(&mut long, ends).expect_err("it is ended");
        assert_eq!(error.code, code::SERIALIZATION_FAILURE, "{ends}: {error}");
        assert!(
            error.message.contains("snapshot_bytes_max"),
            "{}",
            error.message
        );
        run(&mut long, "rollback").expect("it ends");
        assert_eq!(
            query(&mut long, "select count(*) from t").expect("read"),
            ["0"]
        );
    }
}

#[test]
fn i14_a_large_commit_whose_snapshot_is_ended_meanwhile_runs_again() {
    for (few, phase) in [(0, 1), (0, 3), (1000, 1)] {
        let fresh = Fresh::with(&Options::new().snapshot_bytes_max(8 * 4096));
        let text = "create table n (id int primary key, v int, b varchar(600));
            insert into n select g, 0, repeat('b', 500) from generate_series(1, 200) as g;
            create table other as select * from n; alter table other add primary key (id)";
        run(&mut fresh.session(), text).expect("created");
        let mut session = fresh.session();
        run(&mut session, "begin").expect("it begins");
        run(&mut session, "update n set v = v + 1").expect("updated");
        let (times, database) = (Arc::new(Mutex::new(0)), fresh.database.clone());
        let counted = times.clone();
        with_limits(&fresh, few, move || {
            let Ok(mut times) = counted.try_lock() else {
                return;
            };
            *times += 1;
            if *times == phase {
                let mut session = crate::common::session(&database);
                for id in 1..=200 {
                    let text = format!("update other set b = repeat('c', 500) where id = {id}");
                    run(&mut session, &text).expect("it is changed");
                }
            }
        });
        run(&mut session, "commit").expect("it commits");
        fresh.database.set_beside(crate::large::unlimited());
        let times = *times.lock().expect("no panic");
        assert_eq!(times >= phase, few == 0, "{times}");
        let rows = "select sum(v), count(*) from n";
        assert_eq!(query(&mut session, rows).expect("read"), ["200|200"]);
    }
}

#[test]
fn runs_again_after_each_loss_of_rows_have_a_bound() {
    let fresh = tables();
    fresh.database.set_again_max(0);
    let mut old = begun(&fresh, 0);
    let before = fresh.database.statements_run_again();
    let mut refused = None;
    let mut ran = 1;
    while refused.is_none() && ran < 100 {
        let mut others = Vec::new();
        while old.bytes_aside() > 0 {
            assert!(others.len() < 10, "its rows stay");
            others.push(begun(&fresh, 1 + others.len() as i64));
        }
        drop(others);
        let text = format!("update n set v = v + 1 where id = {ran}");
        refused = run(&mut old, &text).err();
        ran += 1;
    }
    let error = refused.expect("it is refused");
    assert_eq!(error.code, code::TOO_COMPLEX, "{error}");
    assert!(error.message.contains("too often"), "{error}");
    let count = fresh.database.statements_run_again() - before;
    assert!(ran > 10 && count <= 16 * ran, "{count} of {ran}");
}
