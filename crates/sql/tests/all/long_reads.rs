//! Reads of many rows: a thread that awaits one serves others meanwhile, and a client's cancel request ends it.

use crate::common::{Fresh, drain, flight, query, run, wait};
use sardonyx_sql::{Interrupt, Outcome, Session, code};
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Endless statements, each of which walks rows in another part.
const ENDLESS: [&str; 7] = [
    "select count(*) from generate_series(1, 9000000000000000000)",
    "select count(*) from t a, t b, t c, t d, t e where a.id + b.id + c.id + d.id + e.id < 0",
    "select count(*) from t a join (t b cross join t c cross join t d cross join t e) on a.id > b.id + 1000",
    "select a.id from t a where not exists (select from t b, t c, t d, t e, t f where b.id < a.id - 1000)",
    "copy (select 1 from t a, t b, t c, t d, t e where a.id + b.id + c.id + d.id + e.id < 0) to stdout",
    "explain analyze select count(*) from t a, t b, t c, t d, t e",
    // None of these scans has as many rows as there are between two looks.
    "select count(*) from u a where 0 <= (select count(*) from u b where b.x > a.x - 1000 and 0 <=
        (select count(*) from u c where c.x > a.x + b.x - 1000 and 0 <=
        (select count(*) from u d where d.x > a.x + b.x + c.x - 1000 and 0 <=
        (select count(*) from u e where e.x > a.x + b.x + c.x + d.x - 1000))))",
];

fn tables() -> Fresh {
    let fresh = Fresh::new();
    let text = "create table t (id int primary key); insert into t select i from generate_series(1, 1000) as s (i);
        create table u (id int primary key, x int); insert into u select i, i from generate_series(1, 200) as s (i)";
    run(&mut fresh.session(), text).expect("it is there");
    fresh
}

fn interruptible(fresh: &Fresh) -> (Session, Arc<Interrupt>) {
    let interrupt = Arc::new(Interrupt::default());
    let mut session = fresh.session();
    session.set_interrupt(interrupt.clone());
    (session, interrupt)
}

#[test]
fn a_long_read_delays_nobody_and_is_ended() {
    let fresh = tables();
    for text in ENDLESS {
        for begin in ["", "begin; ", "begin read only; "] {
            let (mut session, interrupt) = interruptible(&fresh);
            if !begin.is_empty() {
                run(&mut session, begin).expect("it begins");
            }
            let steps = flight(&mut session, text).expect(text);
            let mut long = Box::pin(session.run(steps));
            let mut context = Context::from_waker(Waker::noop());
            // Both sessions are served by this thread, which is not held up.
            for id in 0..10 {
                assert!(
                    matches!(long.as_mut().poll(&mut context), Poll::Pending),
                    "{text}"
                );
                let found = query(&mut fresh.session(), "select count(*) from t").expect("read");
                assert_eq!(found, ["1000"]);
                let change = format!("update t set id = id where id = {id}");
                run(&mut fresh.session(), &change).expect("changed");
            }
            interrupt.request();
            let outcomes = wait(long);
            let Some(Outcome::Failed(error)) = outcomes.first() else {
                panic!("{text}: {outcomes:?}");
            };
            assert_eq!(error.code, code::QUERY_CANCELED, "{text}: {error}");
            assert_eq!(interrupt.take(), None, "one request ends one statement");
            run(&mut session, "rollback").expect("it goes on");
            assert_eq!(query(&mut session, "select 1").expect("it goes on"), ["1"]);
        }
    }
}

#[test]
fn more_long_reads_than_threads_come_to_their_ends() {
    let fresh = tables();
    let mut sessions: Vec<_> = (0..100).map(|_| fresh.session()).collect();
    let flights: Vec<_> = sessions
        .iter_mut()
        .map(|session| {
            flight(session, "select count(*) from t a, t b where a.id = b.id").expect("read")
        })
        .collect();
    let mut reads: Vec<_> = sessions
        .iter_mut()
        .zip(flights)
        .map(|(session, steps)| Box::pin(session.run(steps)))
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    let begun: Vec<_> = reads
        .iter_mut()
        .map(|read| read.as_mut().poll(&mut context))
        .collect();
    // The last ones were asked for last.
    for (read, begun) in reads.into_iter().zip(begun).rev() {
        let outcomes = match begun {
            Poll::Ready(outcomes) => outcomes,
            Poll::Pending => wait(read),
        };
        assert!(
            matches!(outcomes.first(), Some(Outcome::Done(_))),
            "{outcomes:?}"
        );
    }
}

#[test]
fn the_rest_of_a_stream_is_read_elsewhere_and_ended() {
    let fresh = Fresh::new();
    let text = "create table t (id int primary key); insert into t select i from generate_series(1, 60000) as s (i)";
    run(&mut fresh.session(), text).expect("it is there");
    let (mut session, interrupt) = interruptible(&fresh);
    let text = "select id from t where id > 0";
    let read = |session: &mut Session| run(session, text).expect("read").remove(0);
    // The rows are read in portions, on another thread and on this one.
    let mut complete = read(&mut session);
    let mut values = std::mem::take(&mut complete.rows.as_mut().expect("rows").values);
    let mut more = complete.rows.and_then(|rows| rows.more);
    let mut portion = 0;
    while let Some(stream) = &mut more {
        portion += 1;
        if portion % 3 > 0 {
            wait(stream.ready());
        }
        let (count, goes_on) = stream.next(700, &mut values).expect("read");
        assert!(count <= 700);
        if !goes_on {
            more = None;
        }
    }
    assert_eq!(values, drain(read(&mut session), 1000));
    assert_eq!(values.len(), 60_000);
    let mut more = read(&mut session)
        .rows
        .and_then(|rows| rows.more)
        .expect("more");
    interrupt.request();
    wait(more.ready());
    let error = more.next(700, &mut values).expect_err("it was ended");
    assert_eq!(error.code, code::QUERY_CANCELED);
}
