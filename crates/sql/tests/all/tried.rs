//! Statements that the stage tries, since their last run looked at few rows. One that looks at many runs beside its table, and is
//! as if it had not been tried; so is a transaction whose end is in the same flight.

use crate::common::{Fresh, query, run, wait};
use sardonyx_sql::{
    BesideLimits, Outcome, Prepared, Session, Step, TransactionStatus, Value, code,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A table of 1,000 rows, and a session.
fn table() -> (Fresh, Session) {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create table t (id int primary key, x bigint not null, y int);
        create index t_x on t (x); create sequence few maxvalue 1001; create table n (x bigint);
        insert into t select n, n, 0 from generate_series(0, 999) as g (n)";
    run(&mut session, text).expect("they are there");
    (fresh, session)
}

/// The stage has 300 rows. `between` is called in the pauses of statements that run beside their tables.
fn with_limits(fresh: &Fresh, between: impl Fn() + Send + Sync + 'static) {
    fresh.database.set_beside(BesideLimits {
        from: 300,
        few: 300,
        slice: 50,
        between: Some(Arc::new(between)),
        ..BesideLimits::default()
    });
}

/// Counts the pauses.
fn counted(fresh: &Fresh) -> Arc<AtomicUsize> {
    let pauses = Arc::new(AtomicUsize::new(0));
    let counted = pauses.clone();
    with_limits(fresh, move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    pauses
}

fn prepared(session: &mut Session, text: &str) -> Arc<Prepared> {
    session.prepare(text, &[]).expect(text).remove(0)
}

fn step(statement: &Arc<Prepared>, parameter: i64) -> Step {
    Step::Execute {
        statement: statement.clone(),
        parameters: vec![Value::from(parameter)],
        rows_max: 0,
    }
}

fn told(outcomes: &[Outcome]) -> Vec<String> {
    let told = outcomes.iter().map(|outcome| match outcome {
        Outcome::Done(complete) => complete.tag.to_string(),
        Outcome::Failed(error) => error.code.to_string(),
        Outcome::Skipped => "skipped".to_string(),
        Outcome::Synced(status) => char::from(status.letter()).to_string(),
    });
    told.collect()
}

/// Runs the statement for few rows until the stage tries it.
fn make_usual(session: &mut Session, statement: &Arc<Prepared>) {
    for _ in 0..2 {
        let outcomes = wait(session.run(vec![step(statement, 998), Step::Sync]));
        assert!(matches!(outcomes[0], Outcome::Done(_)), "{outcomes:?}");
    }
}

#[test]
fn a_statement_of_few_rows_runs_aside_when_it_looks_at_many() {
    for change in [
        "update t set y = y + 1 where x > $1",
        "delete from t where x > $1 returning id",
        "update t set y = nextval('few') where x > $1",
        "insert into n select x from t where x > $1",
    ] {
        let (fresh, mut session) = table();
        let pauses = counted(&fresh);
        let statement = prepared(&mut session, change);
        make_usual(&mut session, &statement);
        pauses.store(0, Ordering::Relaxed);
        let outcomes = wait(session.run(vec![step(&statement, 998), Step::Sync]));
        assert_eq!(outcomes.len(), 2, "{change}");
        assert_eq!(
            pauses.load(Ordering::Relaxed),
            0,
            "{change}: it is in the stage"
        );
        // Its rows are many now, and again.
        for round in 0..2 {
            pauses.store(0, Ordering::Relaxed);
            let from = if change.starts_with("insert") {
                3000 * round
            } else {
                1
            };
            let outcomes = wait(session.run(vec![step(&statement, from), Step::Sync]));
            let tag = &told(&outcomes)[0];
            let failed = matches!(outcomes[0], Outcome::Failed(_));
            let may_fail = round == 1 && (change.contains("few") || change.starts_with("insert"));
            assert!(!failed || may_fail, "{change}: {tag}");
            if !change.starts_with("delete") || round == 0 {
                let pauses = pauses.load(Ordering::Relaxed);
                assert!(failed || pauses > 0, "{change}: it held the stage");
            }
        }
        assert_eq!(session.status(), TransactionStatus::Idle);
    }
}

/// The numbers that a tried statement drew from a sequence are those of its run aside: the sequence has no others.
#[test]
fn a_tried_statement_draws_its_numbers_once() {
    let (fresh, mut session) = table();
    counted(&fresh);
    let statement = prepared(
        &mut session,
        "update t set y = nextval('few') where x >= $1",
    );
    make_usual(&mut session, &statement);
    // 4 numbers are drawn; 997 are left.
    let outcomes = wait(session.run(vec![step(&statement, 3), Step::Sync]));
    assert_eq!(told(&outcomes), ["UPDATE 997", "I"]);
    let text = "select min(y), max(y), count(distinct y) from t where x >= 3";
    assert_eq!(query(&mut session, text).expect("read"), ["5|1001|997"]);
}

#[test]
fn rows_that_are_deleted_with_others_count() {
    let (fresh, mut session) = table();
    let text = "create table p (id int primary key);
        create table c (id int primary key, p int references p on delete cascade);
        create index c_p on c (p);
        insert into p select n from generate_series(0, 9) as g (n);
        insert into c select n, 1 from generate_series(1, 2000) as g (n)";
    run(&mut session, text).expect("they are there");
    let pauses = counted(&fresh);
    let statement = prepared(&mut session, "delete from p where id = $1");
    for id in [5, 6, 7] {
        let outcomes = wait(session.run(vec![step(&statement, id), Step::Sync]));
        assert_eq!(told(&outcomes), ["DELETE 1", "I"]);
    }
    pauses.store(0, Ordering::Relaxed);
    let outcomes = wait(session.run(vec![step(&statement, 8), Step::Sync]));
    assert_eq!(told(&outcomes), ["DELETE 1", "I"]);
    assert_eq!(pauses.load(Ordering::Relaxed), 0, "it is in the stage");
    let outcomes = wait(session.run(vec![step(&statement, 1), Step::Sync]));
    assert_eq!(told(&outcomes), ["DELETE 1", "I"]);
    assert!(pauses.load(Ordering::Relaxed) > 0, "it held the stage");
    assert_eq!(
        query(&mut session, "select count(*) from c").expect("read"),
        ["0"]
    );
}

#[test]
fn statements_that_arrive_together_keep_their_order_around_one_that_is_too_long() {
    let (fresh, mut session) = table();
    let pauses = counted(&fresh);
    let change = prepared(&mut session, "update t set y = 2 * y + 1 where x > $1");
    let one = prepared(&mut session, "update t set y = 10 * y where id = $1");
    make_usual(&mut session, &change);
    run(&mut session, "update t set y = 0").expect("updated");
    make_usual(&mut session, &change);
    run(&mut session, "update t set y = 0").expect("updated");
    pauses.store(0, Ordering::Relaxed);
    let flight = vec![
        step(&change, 998),
        Step::Sync,
        step(&one, 999),
        Step::Sync,
        step(&change, 1),
        Step::Sync,
        step(&one, 999),
        Step::Sync,
        step(&one, 500),
        Step::Sync,
    ];
    let outcomes = wait(session.run(flight));
    let expected = [
        "UPDATE 1",
        "I",
        "UPDATE 1",
        "I",
        "UPDATE 998",
        "I",
        "UPDATE 1",
        "I",
        "UPDATE 1",
        "I",
    ];
    assert_eq!(told(&outcomes), expected);
    assert!(pauses.load(Ordering::Relaxed) > 0, "it held the stage");
    let rows = "select id, y from t where id in (1, 2, 500, 999) order by id";
    let rows = query(&mut session, rows).expect("read");
    assert_eq!(rows, ["1|0", "2|1", "500|10", "999|210"]);
}

/// Runs a text while another session changes rows in the first pause.
fn beside(text: &str, other: &'static str) -> (Vec<String>, Result<Vec<String>, String>, usize) {
    let (fresh, mut session) = table();
    let pauses = Arc::new(Mutex::new(0));
    let (counted, database) = (pauses.clone(), fresh.database.clone());
    with_limits(&fresh, move || {
        let Ok(mut counted) = counted.try_lock() else {
            return;
        };
        *counted += 1;
        if *counted == 1 {
            run(&mut crate::common::session(&database), other).expect(other);
        }
    });
    let ran = run(&mut session, text).map_err(|error| error.code.to_string());
    let ran = ran.map(|done| done.iter().map(|one| one.tag.to_string()).collect());
    assert_eq!(session.status(), TransactionStatus::Idle, "{text}: {ran:?}");
    fresh.database.set_beside(crate::large::unlimited());
    let rows = "select sum(x), sum(y), count(*) from t";
    let rows = query(&mut session, rows).expect("read");
    let pauses = *pauses.lock().expect("no panic");
    (rows, ran, pauses)
}

#[test]
fn a_transaction_in_one_flight_with_a_long_statement_runs_aside_and_does_not_conflict() {
    let done = |tags: &[&str]| Ok(tags.iter().map(|tag| tag.to_string()).collect::<Vec<_>>());
    let text = "begin; update t set y = y + 1; commit";
    // Its answer tells the number of rows alone.
    let other = "update t set y = y + 5 where id = 3";
    let (rows, ran, pauses) = beside(text, other);
    assert_eq!(ran, done(&["BEGIN", "UPDATE 1000", "COMMIT"]));
    assert_eq!(rows, ["499500|1005|1000"]);
    assert!(pauses > 0, "it held the stage");
    // A row more is another answer: it is compared with that of the run aside, although the client does not have it yet.
    let (rows, ran, pauses) = beside(text, "insert into t values (5000, 0, 7)");
    assert!(pauses > 0, "it held the stage");
    assert_eq!(ran, Err(code::SERIALIZATION_FAILURE.to_string()));
    assert_eq!(rows, ["499500|7|1001"]);
    // Statements before it, and behind it, are of the same transaction.
    let text = "begin; update t set y = 1 where id = 4; select sum(y) from t; update t set y = y + 1; \
        update t set x = 0 where id = 999; commit";
    let (rows, ran, pauses) = beside(text, "select 1");
    let tags = [
        "BEGIN",
        "UPDATE 1",
        "SELECT 1",
        "UPDATE 1000",
        "UPDATE 1",
        "COMMIT",
    ];
    assert_eq!(ran, done(&tags));
    assert_eq!(rows, ["498501|1001|1000"]);
    assert!(pauses > 0, "it held the stage");
    // Savepoints cannot be tried.
    let text =
        "begin; savepoint a; update t set y = y + 1; rollback to a; update t set y = y + 2; commit";
    let (rows, ran, _) = beside(text, "select 1");
    assert!(ran.is_ok(), "{ran:?}");
    assert_eq!(rows, ["499500|2000|1000"]);
    // A failed one has no effect.
    let text = "begin; update t set y = y + 1; update t set y = 1 / (x - 700); commit";
    let (fresh, mut session) = table();
    counted(&fresh);
    let error = run(&mut session, text).expect_err("it divides by zero");
    assert_eq!(error.code, code::DIVISION_BY_ZERO);
    assert_eq!(session.status(), TransactionStatus::Failed);
    run(&mut session, "rollback").expect("it ends");
    assert_eq!(
        query(&mut session, "select sum(y) from t").expect("read"),
        ["0"]
    );
}

/// Few rows: the stage has it, and no snapshot is taken.
#[test]
fn a_short_transaction_in_one_flight_stays_in_the_stage() {
    let text = "begin; update t set y = y + 1 where x > 990; delete from t where x = 5; commit";
    let (rows, ran, pauses) = beside(text, "select 1");
    assert!(ran.is_ok(), "{ran:?}");
    assert_eq!((rows, pauses), (vec!["499495|9|999".to_string()], 0));
}

/// A transaction that is aside remembers the statements of the flight that commits it: after a conflict they run again.
#[test]
fn statements_that_arrive_with_the_commit_are_not_lost_after_a_conflict() {
    for aside_from in [0, 1, 8] {
        let (fresh, mut session) = table();
        fresh.database.set_aside_from(aside_from);
        run(&mut session, "begin").expect("it begins");
        for id in 10..20 {
            let text = format!("update t set y = 1 where id = {id}");
            run(&mut session, &text).expect("updated");
        }
        let other = "update t set y = y + 5 where id in (3, 12)";
        run(&mut fresh.session(), other).expect("updated");
        let text = "update t set y = y + 1 where id = 3; commit";
        let done = run(&mut session, text).expect("it commits");
        assert_eq!(done[1].tag.to_string(), "COMMIT");
        let rows = "select id, y from t where y > 0 and id < 13 order by id";
        let rows = query(&mut session, rows).expect("read");
        assert_eq!(rows, ["3|6", "10|1", "11|1", "12|1"], "{aside_from}");
    }
}

/// The bound on rows may be reached by the conditions that the commit looks at. The transaction is not lost then.
#[test]
fn a_try_that_is_too_long_at_its_commit_leaves_the_transaction_open() {
    let (fresh, mut session) = table();
    let text = "create table log (id int primary key); create table p (id int primary key);
        create table c (id int primary key, p int references p deferrable initially deferred)";
    run(&mut session, text).expect("they are there");
    counted(&fresh);
    // The last statement looks at more and more rows. Some of these numbers are the bound, or just beyond it.
    for rows in 130..=330 {
        run(&mut session, "begin").expect("it begins");
        let inside = format!("set application_name = 'inside {rows}'");
        run(&mut session, &inside).expect("set");
        let text = format!("insert into log values ({rows})");
        run(&mut session, &text).expect("inserted");
        let text = format!(
            "insert into c values ({rows}, {rows}); insert into p values ({rows});
            update t set y = y + 1 where x < {rows}; commit"
        );
        let done = run(&mut session, &text).expect("it commits");
        assert!(done[3].notices.is_empty(), "{rows}: {:?}", done[3].notices);
        let found = format!(
            "select l.id, c.id, p.id, current_setting('application_name') from log l
            join c using (id) join p using (id) where l.id = {rows}"
        );
        let expected = format!("{rows}|{rows}|{rows}|inside {rows}");
        assert_eq!(query(&mut session, &found).expect("read"), [expected]);
    }
    let updated = query(&mut session, "select sum(y) from t").expect("read");
    assert_eq!(updated, [(130..=330).sum::<i64>().to_string()]);
}

/// A statement by itself finds its session as before its try, also in the answers.
#[test]
fn a_try_in_vain_leaves_the_numbers_of_its_session() {
    let (fresh, mut session) = table();
    let text = "create sequence s; create table m (id int primary key, last bigint, own bigint)";
    run(&mut session, text).expect("they are there");
    counted(&fresh);
    let insert = "insert into m select id, lastval(), nextval('s') from t where x >= $1";
    let statement = prepared(&mut session, insert);
    query(&mut session, "select nextval('s')").expect("drawn");
    for from in [999, 998] {
        let outcomes = wait(session.run(vec![step(&statement, from), Step::Sync]));
        assert_eq!(told(&outcomes)[1], "I");
        run(&mut session, "delete from m").expect("it is empty");
    }
    let last = query(&mut session, "select lastval()").expect("read");
    let seeded = "select setseed(0.5)";
    query(&mut session, seeded).expect("seeded");
    let outcomes = wait(session.run(vec![step(&statement, 1), Step::Sync]));
    assert_eq!(told(&outcomes), ["INSERT 0 999", "I"]);
    let first = "select last from m where id = 1";
    assert_eq!(query(&mut session, first).expect("read"), last);
    let gaps = "select count(*) from m where own <> last + 1";
    assert_eq!(query(&mut session, gaps).expect("read"), ["0"]);
    // The numbers of a seed go on where they were, too.
    let draw = "update t set y = (random() * 1000)::int where x >= $1";
    let statement = prepared(&mut session, draw);
    let mut drawn = Vec::new();
    for is_tried in [true, false] {
        if is_tried {
            make_usual(&mut session, &statement);
        }
        query(&mut session, seeded).expect("seeded");
        let outcomes = wait(session.run(vec![step(&statement, 1), Step::Sync]));
        assert_eq!(told(&outcomes), ["UPDATE 999", "I"]);
        drawn.push(query(&mut session, "select y from t where x > 0 order by id").expect("read"));
    }
    assert_eq!(drawn[0], drawn[1]);
}

/// Locks of sessions are not undone: each call is made once.
#[test]
fn advisory_locks_are_taken_once_by_what_is_tried() {
    let (fresh, mut session) = table();
    let text = "create function inner_one() returns int language plpgsql as
        $$ begin perform pg_try_advisory_lock(1); return 1; end $$;
        create function outer_one() returns int language sql as $$ select inner_one() $$;
        create view locked as select outer_one() as one";
    run(&mut session, text).expect("they are there");
    counted(&fresh);
    let held = |session: &mut Session| {
        let mut held = 0;
        while query(session, "select pg_advisory_unlock(1)").expect("asked") == ["t"] {
            held += 1;
        }
        held
    };
    for text in [
        "select outer_one(); update t set y = y + 1; commit",
        "select one from locked; update t set y = y + 1; commit",
    ] {
        run(&mut session, "begin").expect("it begins");
        run(&mut session, text).expect("it commits");
        assert_eq!(held(&mut session), 1, "{text}");
    }
    // A statement by itself.
    let change = "update t set y = y + outer_one() where x >= $1";
    let statement = prepared(&mut session, change);
    let (few, many) = (998, 0);
    for _ in 0..2 {
        wait(session.run(vec![step(&statement, few), Step::Sync]));
        held(&mut session);
    }
    let outcomes = wait(session.run(vec![step(&statement, many), Step::Sync]));
    assert_eq!(told(&outcomes), ["UPDATE 1000", "I"]);
    assert_eq!(held(&mut session), 1000);
    // One of the transaction is given back with the try, and taken again.
    let text =
        "begin; update t set y = y + 1 where id = 3 and pg_try_advisory_xact_lock(7); commit";
    run(&mut session, text).expect("it commits");
    let free = "select pg_try_advisory_lock(7)";
    assert_eq!(query(&mut fresh.session(), free).expect("asked"), ["t"]);
}
