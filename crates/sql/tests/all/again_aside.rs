//! A transaction whose reads others have changed runs again at its commit. If it is long, it does so aside, so that others
//! need not wait for it (I15).

use crate::common::{Fresh, flight, run, session, wait};
use crate::linear::{again, all, answer};
use sardonyx::rows::RecordRows;
use sardonyx_sql::{
    Database, Outcome, Procedure, Session, SqlError, TransactionStatus, Value, code,
};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};

const ROWS: usize = 3000;

/// A database with a table of many rows, and one of few.
fn tables() -> Fresh {
    let fresh = Fresh::new();
    let big = format!(
        "create table big (id int primary key, k int, v int);
        insert into big select g, g, 1 from generate_series(1, {ROWS}) g;
        create index big_k on big (k); create table small (id int primary key)"
    );
    run(&mut fresh.session(), &big).expect("created");
    fresh
}

const READ: &str = "select count(*) from big a where v > 0";
const CHANGE: &str = "update big set v = v + 1 where id = 3000";

/// Begins a transaction that runs aside, with these statements and a change.
fn begun(fresh: &Fresh, statements: &[&str]) -> Session {
    let mut session = fresh.session();
    all(&mut session, &["begin"]);
    all(&mut session, &["select 1"; 9]);
    all(&mut session, statements);
    all(&mut session, &["insert into small values (1)"]);
    assert!(session.bytes_aside() > 0);
    session
}

/// Commits. Returns the outcome, and how many statements ran again, in the stage and at all.
fn committed(fresh: &Fresh, session: &mut Session) -> (Result<(), SqlError>, u64, u64) {
    let in_stage = fresh.database.statements_run_again_in_stage();
    let steps = flight(session, "commit").expect("prepared");
    let (count, mut outcomes) = again(fresh, || wait(session.run(steps)));
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    assert_eq!(session.status(), TransactionStatus::Idle);
    let ended = match outcomes.remove(0) {
        Outcome::Failed(error) => Err(error),
        _ => Ok(()),
    };
    let in_stage = fresh.database.statements_run_again_in_stage() - in_stage;
    (ended, in_stage, count)
}

#[test]
fn i15_a_long_transaction_runs_again_beside_others() {
    let ordered = "select k from big order by k limit 5000";
    for read in [READ, ordered, "select k from big where k > 10"] {
        let fresh = tables();
        let mut session = begun(&fresh, &[read]);
        all(&mut fresh.session(), &[CHANGE]);
        let (ended, in_stage, count) = committed(&fresh, &mut session);
        ended.expect("its answers are the same");
        assert_eq!((in_stage, count), (0, 11), "{read}");
        assert_eq!(answer(&mut fresh.session(), "select * from small"), "1");
    }
}

#[test]
fn a_short_transaction_runs_again_in_the_stage() {
    let fresh = tables();
    let mut session = begun(&fresh, &["select k from big where id = 3000"]);
    all(&mut fresh.session(), &[CHANGE]);
    let (ended, in_stage, count) = committed(&fresh, &mut session);
    ended.expect("its answers are the same");
    assert_eq!((in_stage, count), (11, 11));
}

#[test]
fn another_answer_ends_it_at_its_commit() {
    for (read, change) in [
        ("select sum(v) from big", CHANGE),
        (READ, "delete from big where id = 7"),
    ] {
        let fresh = tables();
        let mut session = begun(&fresh, &[read]);
        all(&mut fresh.session(), &[change]);
        let (ended, in_stage, _) = committed(&fresh, &mut session);
        let error = ended.expect_err("its answer is another");
        assert_eq!(error.code, code::SERIALIZATION_FAILURE);
        assert_eq!(in_stage, 0);
        assert_eq!(answer(&mut session, "select * from small"), "");
    }
}

/// Has another session change a row, some times.
struct Disturbs {
    database: Weak<Database>,
    left: Arc<AtomicI64>,
}

impl Procedure for Disturbs {
    fn call<T: RecordRows>(&self, _: &mut T, _: &[Value]) -> Result<Vec<Value>, SqlError> {
        if self.left.fetch_sub(1, Ordering::Relaxed) > 0
            && let Some(database) = self.database.upgrade()
        {
            run(&mut session(&database), CHANGE)?;
        }
        Ok(Vec::new())
    }
}

/// Begins a transaction with so many reads, which others disturb so often.
fn disturbed(fresh: &Fresh, reads: usize, times: i64) -> Session {
    let disturbs = Disturbs {
        database: Arc::downgrade(&fresh.database),
        left: Arc::new(AtomicI64::new(times)),
    };
    fresh.database.register_on_rows("disturbs", disturbs);
    let mut statements = vec![READ; reads];
    statements.push("call disturbs()");
    begun(fresh, &statements)
}

#[test]
fn one_that_others_disturb_each_time_holds_the_stage_for_few_rows_only() {
    // The first run, and up to three aside.
    for (times, runs) in [(1, 1), (3, 3)] {
        let fresh = tables();
        let mut session = disturbed(&fresh, 1, times);
        let (ended, in_stage, count) = committed(&fresh, &mut session);
        ended.expect("its answers are the same");
        assert_eq!((in_stage, count), (0, 12 * runs));
    }
    let fresh = tables();
    let mut session = disturbed(&fresh, 1, 4);
    let (ended, in_stage, count) = committed(&fresh, &mut session);
    ended.expect("it runs in the stage");
    assert_eq!((in_stage, count), (12, 48));
    // One over more rows.
    let fresh = tables();
    let mut session = disturbed(&fresh, 40, 4);
    let (ended, in_stage, _) = committed(&fresh, &mut session);
    let error = ended.expect_err("it takes too long");
    assert_eq!(error.code, code::SERIALIZATION_FAILURE);
    assert_eq!(in_stage, 0);
    assert_eq!(answer(&mut session, "select * from small"), "");
}

#[test]
fn a_statement_behind_the_commit_does_not_decide_where_the_transaction_runs() {
    let fresh = tables();
    fresh.database.register_procedure("adds", |tx, _| {
        tx.rows("small")?.insert(&[("id", 2.into())])?;
        Ok(Vec::new())
    });
    let mut session = begun(&fresh, &[READ]);
    let in_stage = fresh.database.statements_run_again_in_stage();
    all(&mut session, &["commit; call adds()"]);
    let in_stage = fresh.database.statements_run_again_in_stage() - in_stage;
    assert_eq!(in_stage, 0);
    assert_eq!(
        answer(&mut session, "select id from small order by id"),
        "1; 2"
    );
}

#[test]
fn names_of_several_parts_are_installed() {
    let fresh = tables();
    let mut session = begun(&fresh, &["comment on column big.v is 'a value'"]);
    let (ended, ..) = committed(&fresh, &mut session);
    ended.expect("it commits");
    let found = "select col_description('big'::regclass, 3)";
    assert_eq!(answer(&mut fresh.session(), found), "a value");
}

#[test]
fn i15_a_long_read_is_not_repeated_in_the_stage_when_a_change_follows() {
    for texts in [
        &[
            "insert into small values (1)",
            "insert into small values (2)",
            "commit",
        ][..],
        &["insert into small values (1); insert into small values (2); commit"],
    ] {
        let fresh = tables();
        let mut session = fresh.session();
        all(&mut session, &["begin", READ]);
        let in_stage = fresh.database.statements_run_again_in_stage();
        all(&mut session, texts);
        let in_stage = fresh.database.statements_run_again_in_stage() - in_stage;
        assert_eq!(in_stage, 0, "{texts:?}");
        let found = "select count(*) from small";
        assert_eq!(answer(&mut fresh.session(), found), "2");
    }
}
