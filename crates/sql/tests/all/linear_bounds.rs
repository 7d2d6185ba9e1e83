//! Interactive transactions at the bounds: without memory for their rows aside, and with flights whose end is not reached. Their
//! runs again have a bound, and a commit that is possible in the stage is made.

use crate::common::{Fresh, copy_in, flight, run, wait};
use crate::linear::{again, all, answer, until_refused};
use sardonyx_sql::{Outcome, Session, code};

/// A session with a table `t`, and a temporary one for `on_commit`.
fn with_temporary(fresh: &Fresh, on_commit: &str) -> Session {
    let mut session = fresh.session();
    let text = format!("create temp table s (id int primary key, x text) on commit {on_commit}");
    all(
        &mut session,
        &["create table t (id int primary key)", "begin", &text],
    );
    session
}

const MANY: &str = "insert into s select g, repeat('x', 100) from generate_series(1, 2500) g";

#[test]
fn a_commit_without_memory_for_its_temporary_tables_is_made_in_the_stage() {
    let fresh = Fresh::new();
    let mut session = with_temporary(&fresh, "drop");
    all(&mut session, &[MANY, "insert into t select id from s"]);
    assert!(
        session.bytes_aside() > 512 << 10,
        "{}",
        session.bytes_aside()
    );
    let steps = flight(&mut session, "commit").expect("prepared");
    // A transaction has a quarter of the memory of all.
    session.memory().set_bytes_max(2 << 20);
    let (count, outcomes) = again(&fresh, || wait(session.run(steps)));
    assert!(matches!(outcomes[0], Outcome::Done(_)), "{outcomes:?}");
    assert_eq!(count, 3);
    assert_eq!(answer(&mut session, "select count(*) from t"), "2500");
    assert_eq!(answer(&mut session, "select * from s"), code::UNKNOWN_TABLE);
}

#[test]
fn rows_of_temporary_tables_without_memory_aside_are_changed_in_the_stage() {
    for way in ["insert", "copy", "later"] {
        let fresh = Fresh::new();
        fresh.database.set_aside_bytes_max(256 << 10);
        let mut session = with_temporary(&fresh, "delete rows");
        all(
            &mut session,
            &["commit", "begin", "insert into t values (1)", "savepoint a"],
        );
        match way {
            "insert" => all(&mut session, &[MANY]),
            "copy" => {
                let data: String = (1..=2500)
                    .map(|id| format!("{id}\t{:0100}\n", id))
                    .collect();
                let data = data.as_bytes();
                copy_in(&mut session, "copy s from stdin", data).expect("copied");
            }
            _ => {
                let first = MANY.replace("2500", "500");
                all(&mut session, &[&first]);
                assert!(session.bytes_aside() > 0);
                let second = MANY.replace("1, 2500", "501, 2500");
                all(&mut session, &[&second]);
            }
        }
        assert_eq!(session.bytes_aside(), 0, "{way}");
        assert_eq!(
            answer(&mut session, "select count(*), sum(id) from s"),
            "2500|3126250"
        );
        all(
            &mut session,
            &["savepoint b", "insert into t select count(*) from s"],
        );
        assert_eq!(
            answer(&mut session, "insert into t values (1)"),
            code::UNIQUE
        );
        all(
            &mut session,
            &[
                "rollback to b",
                "insert into t select 1 + count(*) from s",
                "commit",
            ],
        );
        assert_eq!(answer(&mut session, "select * from t"), "1; 2501", "{way}");
        assert_eq!(answer(&mut session, "select count(*) from s"), "0");
    }
    // Without such a table, the bound is the transaction's.
    let fresh = Fresh::new();
    fresh.database.set_aside_bytes_max(256 << 10);
    let mut session = fresh.session();
    all(
        &mut session,
        &["create table s (id int primary key, x text)", "begin"],
    );
    assert_eq!(answer(&mut session, MANY), code::PROGRAM_LIMIT);
}

#[test]
fn definitions_of_others_are_no_conflict_with_tables_that_a_commit_empties() {
    let fresh = Fresh::new();
    let mut session = with_temporary(&fresh, "delete rows");
    all(
        &mut session,
        &[
            "commit",
            "create table other (id int primary key, x int)",
            "begin",
        ],
    );
    let (count, ()) = again(&fresh, || {
        for id in 0..100 {
            run(&mut session, &format!("insert into t values ({id})")).expect("inserted");
        }
        assert!(session.bytes_aside() > 0);
        all(&mut fresh.session(), &["drop table other"]);
        all(&mut session, &["commit"]);
    });
    assert!(count < 40, "{count} of 100 ran again");
    assert_eq!(answer(&mut session, "select count(*) from t"), "100");
}

/// A session whose transaction runs again at each flight, with a savepoint.
fn of_the_stage(fresh: &Fresh) -> Session {
    fresh.database.register_procedure("adds", |tx, _| {
        tx.rows("t")?.insert(&[("id", 1.into())])?;
        Ok(Vec::new())
    });
    let mut session = fresh.session();
    let table = "create table t (id bigint primary key)";
    all(
        &mut session,
        &[table, "begin", "call adds()", "savepoint s"],
    );
    session
}

#[test]
fn an_end_that_is_not_reached_makes_no_exception() {
    let fresh = Fresh::new();
    fresh.database.set_again_max(100);
    let mut session = of_the_stage(&fresh);
    // Each return begins another run.
    let mut text = "insert into t values (2); rollback to s; ".repeat(300);
    text.push_str("commit");
    let (count, told) = again(&fresh, || answer(&mut session, &text));
    assert_eq!(told, code::TOO_COMPLEX);
    assert!(count < 1000, "{count} runs again");
    all(
        &mut session,
        &[
            "rollback",
            "delete from t",
            "begin",
            "call adds()",
            "savepoint s",
        ],
    );
    // One flight with an end is not refused. If it fails before, the next one is.
    let failing = "insert into t values (2); select 1 / 0; commit";
    let (count, refused) = again(&fresh, || {
        for round in 0..300 {
            match answer(&mut session, failing).as_str() {
                code::TOO_COMPLEX => return round,
                told => assert_eq!(told, "22012"),
            }
            all(&mut session, &["rollback to s"]);
        }
        panic!("it has no bound");
    });
    assert!(
        refused > 10 && count < 2000,
        "{count} runs again, {refused}"
    );
    all(&mut session, &["rollback to s", "commit"]);
    assert_eq!(answer(&mut session, "select * from t"), "1");
}

#[test]
fn a_statement_is_prepared_if_the_end_of_its_transaction_follows() {
    let fresh = Fresh::new();
    fresh.database.set_again_max(100);
    let insert = |id: u64| format!("insert into t values ({})", id + 10);
    let mut session = of_the_stage(&fresh);
    all(&mut session, &["create table mine (id int)"]);
    let ran = until_refused(&mut session, insert);
    assert!(ran > 20, "{ran}");
    all(
        &mut session,
        &[
            "rollback",
            "begin",
            "call adds()",
            "savepoint s",
            "create table mine (id int)",
        ],
    );
    for id in 0..ran {
        run(&mut session, &insert(id)).expect("inserted");
    }
    let mut steps = flight(&mut session, &insert(ran)).expect("prepared");
    steps.pop();
    steps.extend(flight(&mut session, "commit").expect("prepared"));
    let outcomes = wait(session.run(steps));
    assert!(
        matches!(outcomes[..2], [Outcome::Done(_), Outcome::Done(_)]),
        "{outcomes:?}"
    );
    let count = format!("{}", ran + 2);
    assert_eq!(answer(&mut session, "select count(*) from t"), count);
    // To prepare without end has a bound, too.
    all(
        &mut session,
        &[
            "begin",
            "delete from t",
            "call adds()",
            "create table more (id int)",
        ],
    );
    let failed = (0..10_000).find_map(|_| session.prepare("select * from more", &[]).err());
    assert_eq!(failed.map(|error| error.code), Some(code::TOO_COMPLEX));
}
