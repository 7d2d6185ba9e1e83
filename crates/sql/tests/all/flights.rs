//! Flights: several statements at once, with ends between them; failed statements, and the answers of the others.

use crate::common::{Fresh, execute, lines, query, run, wait};
use sardonyx_sql::{
    Outcome, Prepared, Session, SqlError, SqlType, Step, TransactionStatus, Value, code,
};
use std::sync::Arc;

fn step(statement: &Arc<Prepared>, parameters: &[Value]) -> Step {
    Step::Execute {
        statement: statement.clone(),
        parameters: parameters.to_vec(),
        rows_max: 0,
    }
}

fn prepared(session: &mut Session, text: &str) -> Arc<Prepared> {
    session.prepare(text, &[]).expect(text).remove(0)
}

/// The outcomes, in short.
fn told(outcomes: &[Outcome]) -> Vec<String> {
    let outcomes = outcomes.iter().map(|outcome| match outcome {
        Outcome::Done(complete) => complete.tag.to_string(),
        Outcome::Failed(error) => error.code.to_string(),
        Outcome::Skipped => "skipped".to_string(),
        Outcome::Synced(status) => char::from(status.letter()).to_string(),
    });
    outcomes.collect()
}

fn table() -> (Fresh, Session) {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key, x bigint not null)",
    )
    .expect("created");
    (fresh, session)
}

#[test]
fn each_end_ends_a_transaction() {
    let (_fresh, mut session) = table();
    let insert = prepared(&mut session, "insert into t values ($1, $2)");
    assert_eq!(insert.parameters(), [SqlType::Int4, SqlType::Int8]);
    let row = |id: i64| step(&insert, &[id.into(), 0.into()]);
    let flight = vec![
        row(1),
        Step::Sync,
        row(2),
        row(1),
        row(3),
        Step::Sync,
        row(4),
        Step::Sync,
    ];
    let outcomes = wait(session.run(flight));
    let expected = [
        "INSERT 0 1",
        "I",
        "INSERT 0 1",
        "23505",
        "skipped",
        "I",
        "INSERT 0 1",
        "I",
    ];
    assert_eq!(told(&outcomes), expected);
    // The second flight changed nothing: its first answer was sent before it failed.
    let found = query(&mut session, "select id from t order by id").expect("it is read");
    assert_eq!(found, ["1", "4"]);
}

#[test]
fn a_transaction_goes_on_over_ends() {
    let (fresh, mut session) = table();
    let [begin, commit] = ["begin", "commit"].map(|text| prepared(&mut session, text));
    let insert = prepared(&mut session, "insert into t values ($1, 0)");
    let flight = vec![
        step(&begin, &[]),
        Step::Sync,
        step(&insert, &[1.into()]),
        Step::Sync,
        step(&insert, &[2.into()]),
    ];
    let outcomes = wait(session.run(flight));
    assert_eq!(
        told(&outcomes),
        ["BEGIN", "T", "INSERT 0 1", "T", "INSERT 0 1"]
    );
    assert_eq!(
        query(&mut fresh.session(), "select count(*) from t").expect("read"),
        ["0"]
    );
    let outcomes = wait(session.run(vec![
        step(&insert, &[1.into()]),
        step(&insert, &[3.into()]),
        Step::Sync,
        step(&insert, &[4.into()]),
        Step::Sync,
        step(&commit, &[]),
        Step::Sync,
    ]));
    let expected = ["23505", "skipped", "E", "25P02", "E", "ROLLBACK", "I"];
    assert_eq!(told(&outcomes), expected);
    assert_eq!(
        query(&mut session, "select count(*) from t").expect("read"),
        ["0"]
    );
    // All at once, and one more behind it.
    let outcomes = wait(session.run(vec![
        step(&begin, &[]),
        step(&insert, &[1.into()]),
        step(&commit, &[]),
        step(&insert, &[2.into()]),
        Step::Sync,
    ]));
    assert_eq!(
        told(&outcomes),
        ["BEGIN", "INSERT 0 1", "COMMIT", "INSERT 0 1", "I"]
    );
}

#[test]
fn what_is_sent_ahead_is_answered_in_order() {
    let (_fresh, mut session) = table();
    run(&mut session, "insert into t values (1, 0)").expect("stored");
    let add = prepared(
        &mut session,
        "update t set x = x + $1 where id = 1 returning x",
    );
    let look = prepared(&mut session, "select x from t where id = $1");
    let mut flight = Vec::new();
    for number in 1..=50_i64 {
        flight.extend([step(&add, &[number.into()]), Step::Sync]);
        flight.extend([step(&look, &[1.into()]), Step::Sync]);
    }
    let outcomes = wait(session.run(flight));
    let done = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Done(complete) => Some(lines(complete).join(",")),
        _ => None,
    });
    let sums = (1..=50_i64)
        .flat_map(|n| [n * (n + 1) / 2; 2])
        .map(|sum| sum.to_string());
    assert_eq!(done.collect::<Vec<_>>(), sums.collect::<Vec<_>>());
}

#[test]
fn a_plan_is_made_again_when_the_table_changes() {
    let (fresh, mut session) = table();
    let insert = prepared(&mut session, "insert into t values ($1, 1)");
    let select = prepared(&mut session, "select * from t where id = $1");
    let both = prepared(&mut session, "select x, id from t where id = $1");
    let columns = select.columns().expect("it has columns");
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["id", "x"]);
    assert!(columns[0].table > 0 && columns[1].column == 2);
    wait(session.run(vec![step(&insert, &[1.into()]), Step::Sync]));
    let mut other = fresh.session();
    run(&mut other, "alter table t add column note text default 'n'").expect("altered");
    let outcomes = wait(session.run(vec![
        step(&insert, &[2.into()]),
        step(&both, &[2.into()]),
        Step::Sync,
    ]));
    let Outcome::Done(complete) = &outcomes[1] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(lines(complete), ["1|2"]);
    // The client got a description of two columns, and reads the rows by it.
    for _ in 0..2 {
        let outcomes = wait(session.run(vec![step(&select, &[2.into()]), Step::Sync]));
        assert_eq!(told(&outcomes), [code::FEATURE_NOT_SUPPORTED, "I"]);
    }
    let again = prepared(&mut session, "select * from t where id = $1");
    let outcomes = wait(session.run(vec![step(&again, &[2.into()]), Step::Sync]));
    let Outcome::Done(complete) = &outcomes[0] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(lines(complete), ["2|1|n"]);
    // The number of columns is the same, but one has another type.
    run(
        &mut other,
        "alter table t drop column note; alter table t add column f double precision default 1.5",
    )
    .expect("altered");
    for text in [
        "select * from t where id = $1",
        "delete from t where id = $1 returning *",
    ] {
        let of_text = match text.starts_with("select") {
            true => again.clone(),
            false => {
                let made = prepared(&mut session, text);
                run(
                    &mut other,
                    "alter table t drop column f; alter table t add column f int default 7",
                )
                .expect("altered");
                made
            }
        };
        let outcomes = wait(session.run(vec![step(&of_text, &[2.into()]), Step::Sync]));
        assert_eq!(
            told(&outcomes),
            [code::FEATURE_NOT_SUPPORTED, "I"],
            "{text}"
        );
    }
    // The same type again is the same to its client.
    run(
        &mut other,
        "alter table t drop column f; alter table t add column g text default 'g'",
    )
    .expect("altered");
    let outcomes = wait(session.run(vec![step(&again, &[2.into()]), Step::Sync]));
    let Outcome::Done(complete) = &outcomes[0] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(lines(complete), ["2|1|g"]);
    run(&mut other, "drop table t").expect("dropped");
    let outcomes = wait(session.run(vec![step(&select, &[2.into()]), Step::Sync]));
    assert_eq!(told(&outcomes), [code::UNKNOWN_TABLE, "I"]);
}

#[test]
fn parameters_get_their_types() {
    let (_fresh, mut session) = table();
    let error = execute(&mut session, "select $1::int + 1", &[], &[]).expect_err("none is given");
    assert_eq!(error.code, "08P01");
    let text = "select $1, $2 + 1, $3 like 'a%', $4::date";
    let statement = prepared(&mut session, text);
    let expected = [SqlType::Text, SqlType::Int4, SqlType::Text, SqlType::Date];
    assert_eq!(statement.parameters(), expected);
    let given = [Some(SqlType::Int8)];
    let complete = execute(&mut session, "select $1", &given, &[7.into()]).expect("it is run");
    assert_eq!(lines(&complete), ["7"]);
    let rows = complete.rows.expect("it has rows");
    assert_eq!(rows.columns[0].spec.kind, SqlType::Int8);
}

#[test]
fn a_query_that_is_not_supported_is_refused_when_it_is_prepared() {
    let (_fresh, mut session) = table();
    let text = "select id, count(distinct x) over (order by x) from t";
    let refused = session.prepare(text, &[]);
    let error = refused.expect_err("DISTINCT in a window function is not supported");
    assert_eq!(error.code, code::FEATURE_NOT_SUPPORTED);
}

#[test]
fn a_portal_gives_its_rows_in_portions() {
    let (_fresh, mut session) = table();
    run(
        &mut session,
        "begin; insert into t values (1, 1), (2, 2), (3, 3)",
    )
    .expect("stored");
    let select = prepared(&mut session, "select id from t order by id");
    let outcomes = wait(session.run(vec![Step::Execute {
        statement: select,
        parameters: Vec::new(),
        rows_max: 2,
    }]));
    let Outcome::Done(complete) = outcomes.into_iter().next().expect("one outcome") else {
        panic!("it is done");
    };
    let mut rows = complete.rows.expect("it has rows");
    assert_eq!(rows.values, [Value::Int(1), Value::Int(2)]);
    let mut rest = Vec::new();
    let next = rows
        .more
        .as_mut()
        .map(|more| more.next(5, &mut rest).expect("read"));
    assert_eq!((next, rest), (Some((1, false)), vec![Value::Int(3)]));
    run(&mut session, "commit").expect("what was told is what there is");
}

#[test]
fn a_registered_procedure_is_called() {
    let (fresh, mut session) = table();
    fresh.database.register_procedure("put", |tx, arguments| {
        tx.rows("t")?
            .insert_values(&[arguments[0].clone(), 5.into()])?;
        match arguments[0] {
            Value::Int(9) => Err(SqlError::new("P0001", "nine is refused")),
            _ => Ok(vec![Value::from(5)]),
        }
    });
    assert_eq!(query(&mut session, "call put(1)").expect("called"), ["5"]);
    assert_eq!(
        run(&mut session, "call put(9)").expect_err("refused").code,
        "P0001"
    );
    assert_eq!(
        query(&mut session, "select id from t").expect("read"),
        ["1"]
    );
    assert_eq!(session.status(), TransactionStatus::Idle);
}

#[test]
fn a_transaction_has_any_number_of_statements() {
    let (fresh, mut session) = table();
    run(&mut session, "begin").expect("it begins");
    let insert = prepared(
        &mut session,
        "insert into t values ($1, 0) on conflict do nothing",
    );
    let many = || (0..10_001_i64).map(|id| step(&insert, &[id.into()]));
    let outcomes = wait(session.run(many().collect()));
    assert!(told(&outcomes).iter().all(|tag| tag == "INSERT 0 1"));
    run(&mut session, "commit").expect("it commits");
    let count = |session: &mut Session| query(session, "select count(*) from t").expect("read");
    assert_eq!(count(&mut session), ["10001"]);
    // In the stage, where it would have to be run again, it does not go on.
    run(&mut session, "begin").expect("it begins");
    wait(session.run(many().collect()));
    fresh
        .database
        .register_procedure("stays", |_, _| Ok(Vec::new()));
    let error = run(&mut session, "call stays()").expect_err("too many");
    assert_eq!(error.code, code::TOO_COMPLEX);
    run(&mut session, "rollback").expect("it is rolled back");
    // A transaction too long to be run again gets the reason for which it cannot commit.
    run(&mut session, "begin; select x from t where id = 3").expect("it begins");
    wait(session.run(many().collect()));
    run(&mut session, "update t set x = 1 where id = 4").expect("it changes a row");
    run(&mut fresh.session(), "update t set x = 5 where id = 3").expect("changed meanwhile");
    let error = run(&mut session, "commit").expect_err("something changed");
    assert_eq!(error.code, code::SERIALIZATION_FAILURE);
    assert_eq!(session.status(), TransactionStatus::Idle);
}

#[test]
fn released_savepoints_keep_nothing_to_undo() {
    let (fresh, mut session) = table();
    fresh.database.set_aside_from(1);
    let mut run = |text: &str| {
        run(&mut session, text)
            .map(|_| session.bytes_aside())
            .expect("done")
    };
    run("create unique index t_x on t (x)");
    run("insert into t values (1, 110), (2, 120)");
    run("begin");
    let round = |run: &mut dyn FnMut(&str) -> usize| {
        // Several rows with a unique column: the statement marks, too.
        run("update t set x = 300 - x");
        run("savepoint s");
        run("update t set x = 300 - x");
        run("savepoint inner_one");
        run("update t set x = 300 - x where id = 1");
        run("update t set x = 300 - x where id = 1");
        run("release s")
    };
    round(&mut run);
    // Each change of a row notes its reads of the unique index, and a statement notes its scan. A round adds these, and
    // no earlier forms of rows, which take as much memory again.
    let before = round(&mut run);
    let noted = run("update t set x = 300 - x where id = 1") - before;
    let mut kept = run("update t set x = 300 - x where id = 1");
    for _ in 0..10 {
        let now = round(&mut run);
        assert!(now - kept < 8 * noted, "{} and {noted}", now - kept);
        kept = now;
    }
    run("savepoint s");
    run("update t set x = 300 - x");
    run("rollback to s");
    assert!(run("release s") - kept < 4 * noted);
    run("commit");
}

#[test]
fn a_transaction_that_cannot_go_on_aside_loses_nothing() {
    let (fresh, mut session) = table();
    fresh.database.set_aside_from(2);
    run(
        &mut session,
        "insert into t values (1, 10), (2, 20), (3, 30)",
    )
    .expect("stored");
    let other = |text| run(&mut fresh.session(), text).expect("done meanwhile");
    // The move aside finds a change after a part of the replay: that part alone never commits.
    run(&mut session, "begin").expect("it begins");
    run(&mut session, "update t set x = 11 where id = 1").expect("changed");
    run(&mut session, "select x from t where id = 2").expect("read");
    run(&mut session, "savepoint s").expect("marked");
    other("update t set x = 99 where id = 2");
    for _ in 0..2 {
        let error = run(&mut session, "update t set x = 31 where id = 3").expect_err("it changed");
        assert_eq!(error.code, code::SERIALIZATION_FAILURE);
        run(&mut session, "rollback to s").expect("it goes back");
    }
    let error = run(&mut session, "commit").expect_err("it changed");
    assert_eq!(error.code, code::SERIALIZATION_FAILURE);
    let all = |session: &mut Session| query(session, "select x from t order by id").expect("read");
    assert_eq!(all(&mut session), ["10", "99", "30"]);
    // A transaction that continues in the stage has its bound again.
    let insert = prepared(&mut session, "insert into t values ($1, 0)");
    let many = |from: i64| (from..from + 10_001).map(|id| step(&insert, &[id.into()]));
    run(&mut session, "begin; insert into t values (4, 40)").expect("inserted");
    run(&mut session, "insert into t values (5, 50)").expect("inserted");
    run(&mut session, "insert into t values (6, 60)").expect("inserted");
    fresh
        .database
        .register_procedure("stays", |_, _| Ok(Vec::new()));
    let call = "call stays()";
    run(&mut session, call).expect("called");
    let outcomes = wait(session.run(many(100).collect()));
    assert!(told(&outcomes).iter().any(|told| told == code::TOO_COMPLEX));
    run(&mut session, "rollback").expect("it is rolled back");
    // A transaction that cannot be run again refuses statements that need the stage, and continues from a savepoint.
    run(&mut session, "begin").expect("it begins");
    wait(session.run(many(100).collect()));
    run(&mut session, "savepoint s").expect("marked");
    let error = run(&mut session, call).expect_err("too many");
    assert_eq!(error.code, code::TOO_COMPLEX);
    run(&mut session, "rollback to s").expect("it goes back");
    run(&mut session, "insert into t values (7, 70)").expect("inserted");
    run(&mut session, "commit").expect("it commits");
    let count = query(&mut session, "select count(*) from t").expect("read");
    assert_eq!(count, ["10005"]);
    // One that only reads has no bound.
    let read = prepared(&mut session, "select x from t where id = $1");
    run(&mut session, "begin read only").expect("it begins");
    for _ in 0..3 {
        let reads = (0..4_000_i64).map(|id| step(&read, &[id.into()]));
        let outcomes = wait(session.run(reads.collect()));
        assert!(told(&outcomes).iter().all(|tag| tag.starts_with("SELECT")));
    }
    run(&mut session, "commit").expect("it ends");
}

#[test]
fn a_long_read_before_a_flush_belongs_to_what_follows() {
    let (fresh, mut session) = table();
    run(&mut session, "insert into t values (1, 100)").expect("stored");
    let sum = prepared(&mut session, "select sum(x) from t");
    let change = prepared(&mut session, "update t set x = 70 where id = 1");
    // The flight has no end: later steps belong together with it.
    let outcomes = wait(session.run(vec![step(&sum, &[])]));
    assert_eq!(told(&outcomes), ["SELECT 1"]);
    run(&mut fresh.session(), "update t set x = 50").expect("changed meanwhile");
    let outcomes = wait(session.run(vec![step(&change, &[]), Step::Sync]));
    assert_eq!(told(&outcomes), [code::SERIALIZATION_FAILURE, "I"]);
    assert_eq!(
        query(&mut fresh.session(), "select x from t").expect("read"),
        ["50"]
    );
    // A transaction that has only read sees its snapshot, and needs no comparison.
    let outcomes = wait(session.run(vec![step(&sum, &[])]));
    assert_eq!(told(&outcomes), ["SELECT 1"]);
    run(&mut fresh.session(), "update t set x = 51").expect("changed meanwhile");
    let outcomes = wait(session.run(vec![step(&sum, &[]), Step::Sync]));
    assert_eq!(told(&outcomes), ["SELECT 1", "I"]);
    let Outcome::Done(complete) = &outcomes[0] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(lines(complete), ["50"]);
    // Without a change meanwhile it commits.
    let outcomes = wait(session.run(vec![step(&sum, &[])]));
    assert_eq!(told(&outcomes), ["SELECT 1"]);
    let outcomes = wait(session.run(vec![step(&change, &[]), Step::Sync]));
    assert_eq!(told(&outcomes), ["UPDATE 1", "I"]);
}

#[test]
fn a_lock_that_is_not_held_is_given_back_with_a_warning() {
    let fresh = crate::common::Fresh::new();
    let mut session = fresh.session();
    let mut warned = |text: &str| {
        let done = crate::common::run(&mut session, text).expect("it runs");
        let notices = done.iter().flat_map(|one| &one.notices);
        let told = notices
            .map(|notice| format!("{} {}: {}", notice.severity, notice.code, notice.message));
        told.collect::<Vec<_>>()
    };
    assert_eq!(warned("select pg_advisory_lock(1)"), [""; 0]);
    assert_eq!(warned("select pg_advisory_unlock(1)"), [""; 0]);
    let exclusive = "WARNING 01000: you don't own a lock of type ExclusiveLock";
    assert_eq!(warned("select pg_advisory_unlock(1)"), [exclusive]);
    let shared = "WARNING 01000: you don't own a lock of type ShareLock";
    let both = "select pg_advisory_unlock_shared(1, 2), pg_advisory_unlock(2)";
    assert_eq!(warned(both), [shared, exclusive]);
    let many = warned("select pg_advisory_unlock(generate_series(1, 1000))");
    assert_eq!(many.len(), 100);
}

/// Numbers that were drawn of a sequence that the transaction made remain drawn when it goes back to a savepoint.
#[test]
fn numbers_of_a_new_sequence_are_not_drawn_again_behind_a_savepoint() {
    for aside_from in [0, usize::MAX] {
        let (fresh, mut session) = table();
        fresh.database.set_aside_from(aside_from);
        let mut next = |text: &str| query(&mut session, text).expect("done");
        next("begin");
        next("create sequence s");
        assert_eq!(next("select nextval('s')"), ["1"]);
        next("savepoint p");
        assert_eq!(next("select nextval('s')"), ["2"]);
        next("insert into t values (nextval('s'), 0)");
        next("rollback to p");
        assert_eq!(next("select nextval('s')"), ["4"]);
        next("savepoint q");
        next("drop sequence s");
        next("create sequence s start 100");
        assert_eq!(next("select nextval('s')"), ["100"]);
        next("rollback to q");
        assert_eq!(next("select nextval('s')"), ["5"]);
        next("commit");
        assert_eq!(next("select nextval('s')"), ["6"]);
    }
}

/// Rows that are read before `BEGIN` in one text are of the transaction's snapshot: later flights do not read them again.
#[test]
fn a_read_before_a_begin_of_the_same_text_is_of_its_snapshot() {
    for begin in [
        "begin read only",
        "begin",
        "start transaction isolation level repeatable read",
    ] {
        let (fresh, mut session) = table();
        run(&mut session, "insert into t values (1, 10), (2, 20)").expect("inserted");
        let text = format!("select x from t where id = 1; {begin}");
        let done = run(&mut session, &text).expect("it begins");
        assert_eq!(lines(&done[0]), ["10"], "{begin}");
        let change = "update t set x = x + 1";
        run(&mut fresh.session(), change).expect("changed");
        for id in [1, 2] {
            let found = query(&mut session, &format!("select x from t where id = {id}"));
            assert_eq!(
                found.expect("it reads"),
                [format!("{}", 10 * id)],
                "{begin}"
            );
        }
        run(&mut session, "commit").expect("it ends");
        // A read that later statements depend on is compared at the commit, as behind `BEGIN`.
        run(&mut session, "select x from t where id = 1; begin").expect("it begins");
        run(&mut fresh.session(), change).expect("changed");
        let written = run(&mut session, "update t set x = 0 where id = 2; commit");
        assert_eq!(
            written.expect_err("it has read another value").code,
            code::SERIALIZATION_FAILURE
        );
        let ended = run(
            &mut session,
            "rollback; select x from t where id = 1; begin; commit",
        );
        assert_eq!(ended.expect("it ends").len(), 4);
        assert_eq!(session.status(), TransactionStatus::Idle);
    }
}
