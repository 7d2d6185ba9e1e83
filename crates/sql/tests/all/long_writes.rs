//! Statements that hold the serial stage for long: others read beside them, and a cancel request ends a waiting
//! statement or a running one.

use crate::common::{Fresh, flight, query, run, wait};
use sardonyx_sql::{Interrupt, Outcome, Session, SqlError, code};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// Endless statements in the serial stage.
const ENDLESS: [&str; 8] = [
    "update t set v = 1 where id = (select count(*) from t a, t b, t c, t d, t e where a.id + b.id + c.id + d.id + e.id < 0)",
    "update t set v = 2 from t b, t c, t d, t e, t f where t.id + b.id + c.id + d.id + e.id + f.id < 0",
    "delete from t where exists (select from t b, t c, t d, t e, t f where b.id + c.id + d.id + e.id + f.id < t.id - 9000)",
    "insert into t select -1 - a.id from t a, t b, t c, t d, t e where a.id + b.id + c.id + d.id + e.id < 0",
    "insert into t values (-1, (select count(*) from t a, t b, t c, t d, t e))",
    "insert into t select i, 0 from generate_series(2000, 9000000000000) as s (i) where i < 0",
    "with recursive r (n) as (select 1 union all select 1 from r) insert into t select n from r where n > 1",
    "call p()",
];

fn tables() -> Fresh {
    let fresh = Fresh::new();
    let text = "create table t (id int primary key, v bigint default 0);
        insert into t select i from generate_series(1, 1000) as s (i)";
    run(&mut fresh.session(), text).expect("it is there");
    let text = "create procedure p() language sql as $$
        delete from t where id = 7;
        update t set v = 3 where id = (select count(*) from t a, t b, t c, t d, t e) $$";
    run(&mut fresh.session(), text).expect("it is there");
    fresh
}

fn interruptible(fresh: &Fresh) -> (Session, Arc<Interrupt>) {
    let interrupt = Arc::new(Interrupt::default());
    let mut session = fresh.session();
    session.set_interrupt(interrupt.clone());
    (session, interrupt)
}

/// A statement that has the serial stage.
struct Long {
    interrupt: Arc<Interrupt>,
    thread: JoinHandle<Result<(), SqlError>>,
}

impl Long {
    /// Begins it, and waits until it has the stage.
    fn begin(fresh: &Fresh, text: &str) -> Long {
        let (begun, begins): (_, Receiver<()>) = channel();
        fresh.database.register_procedure("begun", move |_, _| {
            let _ = begun.send(());
            Ok(Vec::new())
        });
        let (mut session, interrupt) = interruptible(fresh);
        let text = format!("call begun(); {text}");
        let thread = std::thread::spawn(move || run(&mut session, &text).map(drop));
        begins.recv().expect("it begins");
        Long { interrupt, thread }
    }

    fn end(self) {
        assert!(!self.thread.is_finished());
        self.interrupt.request();
        let ended = self.thread.join().expect("it does not panic");
        let error = ended.expect_err("it was ended");
        assert_eq!(error.code, code::QUERY_CANCELED, "{error}");
    }
}

#[test]
fn others_read_beside_a_long_write_and_wait_no_longer_than_they_want() {
    let fresh = tables();
    let mut open = fresh.session();
    run(&mut open, "begin; select count(*) from t").expect("it reads");
    for text in ENDLESS {
        let long = Long::begin(&fresh, text);
        // Short reads and long ones, statements that were never planned, in transactions and by themselves.
        let mut session = fresh.session();
        for (text, found) in [
            ("select v from t where id = 7", "0"),
            ("select count(*) from t where v = 0", "1000"),
            ("select max(id) from t group by v", "1000"),
            (
                "prepare one (int) as select id from t where id = $1; execute one(9)",
                "9",
            ),
            (
                "deallocate one; begin; select id from t where id = 5; select count(*) from t",
                "1000",
            ),
            ("explain select 1", "Result"),
        ] {
            let found_now = query(&mut session, text).expect(text);
            assert_eq!(found_now.last().map(String::as_str), Some(found), "{text}");
        }
        run(&mut session, "commit").expect("it ends");
        assert_eq!(
            query(&mut open, "select count(*) from t").expect("it reads"),
            ["1000"]
        );
        // A write waits as long as it may.
        run(&mut session, "set statement_timeout = 3").expect("it is set");
        for write in [
            "update t set v = v + 1 where id = 3",
            "begin; delete from t where id = 3; commit",
        ] {
            let error = run(&mut session, write).expect_err("it waits in vain");
            let text = "canceling statement due to statement timeout";
            assert_eq!(
                (error.code, &*error.message),
                (code::QUERY_CANCELED, text),
                "{write}"
            );
            run(&mut session, "rollback").expect("it goes on");
        }
        // Or a cancel request ends it.
        let (mut waiting, interrupt) = interruptible(&fresh);
        let waits = std::thread::spawn(move || run(&mut waiting, "update t set v = 9").map(drop));
        interrupt.request();
        let error = waits.join().expect("no panic").expect_err("it was ended");
        assert_eq!(error.message, "canceling statement due to user request");
        long.end();
        // Nothing of all this has happened.
        assert_eq!(
            query(&mut session, "reset all; select sum(v), count(*) from t").expect("it reads"),
            ["0|1000"]
        );
    }
}

#[test]
fn a_long_write_ends_at_its_time_limit() {
    let fresh = tables();
    let mut session = fresh.session();
    run(&mut session, "set statement_timeout = '20ms'").expect("it is set");
    for text in ENDLESS {
        for begin in ["", "begin; ", "begin; update t set v = 5 where id = 1; "] {
            let text = format!("{begin}{text}");
            let error = run(&mut session, &text).expect_err(&text);
            let said = "canceling statement due to statement timeout";
            assert_eq!(
                (error.code, &*error.message),
                (code::QUERY_CANCELED, said),
                "{text}"
            );
            run(&mut session, "rollback").expect("it goes on");
        }
    }
    // The limit is for a statement, not for the flight; it ends with the transaction.
    run(
        &mut session,
        "begin; set local statement_timeout = 0; select 1; commit",
    )
    .expect("it runs");
    let shown = query(&mut session, "show statement_timeout").expect("it is shown");
    assert_eq!(shown, ["20ms"]);
    let rows = query(
        &mut session,
        "set statement_timeout = 0; select sum(v), count(*) from t",
    );
    assert_eq!(rows.expect("it reads"), ["0|1000"]);
}

#[test]
fn what_ran_before_a_long_write_is_answered_while_it_runs() {
    let fresh = tables();
    let (mut session, mut other) = (fresh.session(), fresh.session());
    // It has run, and waits to be durable; its answer is not awaited yet.
    let steps = flight(&mut session, "update t set v = 1 where id = 1").expect("it is there");
    let mut short = Box::pin(session.run(steps));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let begun = short.as_mut().poll(&mut context);
    let long = Long::begin(&fresh, ENDLESS[0]);
    let outcomes = match begun {
        std::task::Poll::Ready(outcomes) => outcomes,
        std::task::Poll::Pending => wait(short),
    };
    assert!(
        matches!(outcomes.first(), Some(Outcome::Done(_))),
        "{outcomes:?}"
    );
    let found = query(&mut other, "select v from t where id = 1").expect("it reads");
    assert_eq!(found, ["1"]);
    long.end();
}

#[test]
fn a_procedure_of_the_program_ends_where_it_asks() {
    let fresh = tables();
    let (mut session, interrupt) = interruptible(&fresh);
    let of_procedure = interrupt.clone();
    fresh.database.register_procedure("asks", move |_, _| {
        sardonyx_sql::check_interrupted()?;
        of_procedure.request();
        sardonyx_sql::check_interrupted()?;
        Ok(Vec::new())
    });
    let text = "delete from t where id = 7; call asks()";
    let error = run(&mut session, text).expect_err("it was cancelled");
    assert_eq!(error.code, code::QUERY_CANCELED);
    // One request ends one statement, and all of it is undone.
    let found = query(&mut session, "select count(*) from t").expect("it reads");
    assert_eq!(found, ["1000"]);
}

#[test]
fn rows_of_more_than_one_run_are_sorted() {
    let fresh = tables();
    for text in [
        "select i from generate_series(1, 100000) as s (i) order by -i",
        "select row_number() over (order by -i) from generate_series(1, 100000) as s (i)",
    ] {
        let mut session = fresh.session();
        let found = query(&mut session, text).expect("it reads");
        assert_eq!(found.len(), 100_000, "{text}");
    }
}
