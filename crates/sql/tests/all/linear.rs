//! The cost of interactive transactions is linear in their statements: a flight repeats no earlier statements, or all of a
//! transaction's runs again have a bound. Statements that ran again are counted.

use crate::common::{Fresh, query, run};
use sardonyx::rows::{ReadRow, RecordRows, Rows};
use sardonyx_base::random::Random;
use sardonyx_sql::{Procedure, Session, SqlError, TransactionStatus, Value, code};

/// The answer of a statement: its tag or rows, or the code of its error.
pub fn answer(session: &mut Session, text: &str) -> String {
    let found = match text.starts_with("select") {
        true => query(session, text).map(|lines| lines.join("; ")),
        false => run(session, text).map(|done| {
            let tags = done.iter().map(|complete| complete.tag.to_string());
            tags.collect::<Vec<_>>().join("; ")
        }),
    };
    found.unwrap_or_else(|error| error.code.to_string())
}

pub fn all(session: &mut Session, texts: &[&str]) {
    for text in texts {
        run(session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// The statements that run again while `act` runs.
pub fn again<R>(fresh: &Fresh, act: impl FnOnce() -> R) -> (u64, R) {
    let before = fresh.database.statements_run_again();
    let done = act();
    (fresh.database.statements_run_again() - before, done)
}

#[test]
fn tables_that_a_commit_empties_or_drops_cost_no_runs_again() {
    let fresh = Fresh::new();
    let (mut session, mut other) = (fresh.session(), fresh.session());
    all(
        &mut session,
        &[
            "create table t (id int primary key, x int)",
            "create temp table emptied (id int primary key, x int) on commit delete rows",
        ],
    );
    for (round, temporary) in ["emptied", "dropped"].into_iter().enumerate() {
        let (count, ()) = again(&fresh, || {
            all(&mut session, &["begin"]);
            if temporary == "dropped" {
                all(
                    &mut session,
                    &["create temp table dropped (id int primary key, x int) on commit drop"],
                );
            }
            for n in 0..500 {
                let id = 1000 * round + n;
                for text in [
                    format!("insert into {temporary} values ({n}, 1)"),
                    format!("update {temporary} set x = x + {n} where id = {n}"),
                    format!("insert into t select {id}, x from {temporary} where id = {n}"),
                    format!("delete from {temporary} where id = {n} - 5"),
                ] {
                    run(&mut session, &text).expect(&text);
                }
            }
            assert!(session.bytes_aside() > 0);
            all(
                &mut other,
                &[
                    "insert into t values (-1, 0)",
                    "delete from t where id = -1",
                ],
            );
            let there = format!("select count(*), sum(x) from {temporary}");
            assert_eq!(answer(&mut session, &there), "5|2490");
            all(&mut session, &["commit"]);
        });
        assert!(count < 20, "{count} of 2000 ran again");
    }
    assert_eq!(
        answer(&mut other, "select count(*), sum(x) from t"),
        "1000|250500"
    );
    assert_eq!(answer(&mut session, "select count(*) from emptied"), "0");
    assert_eq!(
        answer(&mut session, "select * from dropped"),
        code::UNKNOWN_TABLE
    );
    all(&mut session, &["insert into emptied values (1, 1)"]);
    assert_eq!(answer(&mut session, "select count(*) from emptied"), "0");
}

#[test]
fn a_definition_over_many_rows_is_run_again_once() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    all(
        &mut session,
        &[
            "create table large (id int primary key, a int, b text)",
            "insert into large select n, n % 1000, 'b' || n from generate_series(1, 12000) n",
            "create table t (id int primary key)",
        ],
    );
    let (count, ()) = again(&fresh, || {
        all(
            &mut session,
            &[
                "begin",
                "create index large_a on large (a, id)",
                "alter table large add column c int generated always as (a * 2) stored",
            ],
        );
        for id in 0..2000 {
            run(&mut session, &format!("insert into t values ({id})")).expect("inserted");
        }
        assert!(session.bytes_aside() > 0);
        assert_eq!(
            answer(
                &mut session,
                "select count(*), sum(c) from large where a = 7"
            ),
            "12|168"
        );
        all(&mut session, &["commit"]);
    });
    assert!(count < 2020, "{count} of 2003 ran again");
    assert_eq!(
        answer(&mut fresh.session(), "select count(*) from t"),
        "2000"
    );
    assert_eq!(
        answer(
            &mut fresh.session(),
            "select id, c from large where a = 7 and id < 2000 order by id"
        ),
        "7|14; 1007|14"
    );
}

/// Runs statements one by one, until one is refused. Returns their number.
pub fn until_refused(session: &mut Session, statement: impl Fn(u64) -> String) -> u64 {
    for id in 0..100_000 {
        if let Err(error) = run(session, &statement(id)) {
            assert_eq!(error.code, code::TOO_COMPLEX, "{error}");
            assert!(error.message.contains("run again too often"), "{error}");
            assert_eq!(session.status(), TransactionStatus::Failed);
            return id;
        }
    }
    panic!("it has no bound");
}

#[test]
fn a_transaction_behind_a_procedure_of_the_program_has_a_bound() {
    let fresh = Fresh::new();
    fresh.database.set_again_max(1000);
    fresh.database.register_procedure("adds", |tx, _| {
        tx.rows("t")?.insert(&[("id", 1.into())])?;
        Ok(Vec::new())
    });
    let mut session = fresh.session();
    all(
        &mut session,
        &[
            "create table t (id bigint primary key)",
            "create table large (id int)",
            "insert into large select generate_series(1, 12000)",
        ],
    );
    // As many as it may have are committed.
    all(&mut session, &["begin", "call adds()"]);
    for id in 10..40 {
        run(&mut session, &format!("insert into t values ({id})")).expect("inserted");
    }
    all(&mut session, &["commit"]);
    assert_eq!(answer(&mut session, "select count(*) from t"), "31");
    all(&mut session, &["delete from t", "begin", "call adds()"]);
    let insert = |id: u64| format!("insert into t values ({})", id + 10);
    let (count, ran) = again(&fresh, || until_refused(&mut session, insert));
    assert!(ran > 40, "{ran}");
    assert!(
        count <= 1000 + 16 * (ran + 1),
        "{count} runs again of {ran}"
    );
    assert_eq!(answer(&mut session, "commit"), "ROLLBACK");
    assert_eq!(answer(&mut session, "select count(*) from t"), "0");
    // A statement over many rows counts as several.
    all(&mut session, &["begin", "call adds()"]);
    let reads = |_: u64| "select count(*) from large a where id > 0".to_string();
    let of_reads = until_refused(&mut session, reads);
    assert!(of_reads < ran / 2, "{of_reads} of {ran}");
    // The end of a transaction, and what goes back to a savepoint, are not refused.
    all(
        &mut session,
        &["rollback", "begin", "call adds()", "savepoint s"],
    );
    until_refused(&mut session, insert);
    all(&mut session, &["rollback to s", "commit"]);
    assert_eq!(answer(&mut session, "select * from t"), "1");
}

/// Moves an amount from a row to another one, which it makes if there is none. Returns what is left.
struct Moves;

impl Procedure for Moves {
    fn call<T: RecordRows>(&self, tx: &mut T, given: &[Value]) -> Result<Vec<Value>, SqlError> {
        let wrong = |text: String| SqlError::new("P0001", text);
        let [Value::Int(from), Value::Int(to), Value::Int(amount)] = given else {
            return Err(wrong("moves(from, to, amount)".into()));
        };
        let mut rows = Rows::named(tx, "k")?;
        let mut left = Value::Null;
        for (id, more) in [(from, -amount), (to, *amount)] {
            let found = rows.get(&[Value::Int(*id)])?;
            let x = match found.map(|row| row.value_of("x").map(|x| x.to_value())) {
                Some(Ok(Value::Int(x))) => x + more,
                Some(other) => return Err(wrong(format!("{other:?}"))),
                None => more,
            };
            rows.put(&[("id", Value::Int(*id)), ("x", Value::Int(x))])?;
            if id == from {
                left = Value::Int(x);
            }
        }
        Ok(vec![left])
    }
}

#[test]
fn a_procedure_for_any_store_of_rows_costs_no_runs_again() {
    let fresh = Fresh::new();
    fresh.database.register_on_rows("moves", Moves);
    let mut session = fresh.session();
    all(
        &mut session,
        &[
            "create table k (id bigint primary key, x bigint check (x > -100000))",
            "begin",
        ],
    );
    let (count, ()) = again(&fresh, || {
        for n in 0..400 {
            let text = format!("call moves({}, {}, 2)", n % 10, n % 10 + 1);
            run(&mut session, &text).expect("called");
            let one = format!("update k set x = x + 1 where id = {}", n % 10);
            run(&mut session, &one).expect("updated");
        }
        assert!(session.bytes_aside() > 0);
        all(&mut session, &["commit"]);
    });
    // Until it goes aside, each flight repeats the earlier ones.
    assert!(count < 40, "{count} of 800 ran again");
    let found = "select count(*), sum(x), min(x), max(x) from k";
    assert_eq!(answer(&mut session, found), "11|400|-40|80");
    // Its error undoes what it did, and the end of a statement checks the same as in the stage.
    all(&mut session, &["begin", "savepoint s"]);
    for _ in 0..9 {
        all(&mut session, &["select 1"]);
    }
    assert_eq!(answer(&mut session, "call moves(1, 99, 1000000)"), "23514");
    all(&mut session, &["rollback to s", "commit"]);
    assert_eq!(answer(&mut session, found), "11|400|-40|80");
}

#[test]
fn statements_before_a_sync_have_a_bound() {
    let fresh = Fresh::new();
    fresh.database.set_again_max(1000);
    let mut session = fresh.session();
    all(&mut session, &["create table t (id bigint primary key)"]);
    let mut ran = 0;
    let (count, told) = again(&fresh, || {
        loop {
            let text = format!("insert into t values ({ran})");
            let mut steps = crate::common::flight(&mut session, &text).expect("prepared");
            // The client sends Flush.
            steps.pop();
            let outcomes = crate::common::wait(session.run(steps));
            if let Some(sardonyx_sql::Outcome::Failed(error)) = outcomes.into_iter().next() {
                break error;
            }
            ran += 1;
        }
    });
    assert_eq!(told.code, code::TOO_COMPLEX, "{told}");
    assert!(
        ran > 40 && count <= 1000 + 16 * ran,
        "{count} runs again of {ran}"
    );
    all(&mut session, &[""]);
    assert_eq!(answer(&mut session, "select count(*) from t"), "0");
}

#[cfg(feature = "nodes")]
#[test]
fn a_transaction_on_nodes_has_a_bound() {
    let fresh = Fresh::on_nodes();
    fresh.database.set_again_max(500);
    let mut session = fresh.session();
    all(
        &mut session,
        &["create table t (id int primary key)", "begin"],
    );
    let insert = |id: u64| format!("insert into t values ({})", id + 10);
    let (count, ran) = again(&fresh, || until_refused(&mut session, insert));
    assert!(
        ran > 30 && count <= 500 + 16 * ran,
        "{count} runs again of {ran}"
    );
    all(&mut session, &["rollback", "begin"]);
    for id in 0..30 {
        run(&mut session, &insert(id)).expect("inserted");
    }
    all(&mut session, &["commit"]);
    assert_eq!(answer(&mut session, "select count(*) from t"), "30");
}

/// A statement of a transaction with temporary tables.
fn statement(random: &mut Random, savepoints: &mut u64) -> String {
    let table = ["d", "e", "f", "p", "q", "k"][random.below(6) as usize];
    let (id, x) = (random.below(6), random.below(4));
    match random.below(24) {
        0 => "create temp table d (id int primary key, x int) on commit drop".to_string(),
        1 => "create temp table e (id int primary key, x int unique) on commit delete rows".to_string(),
        2 => "create temp table f (id int primary key, x int references e (id) on delete cascade) on commit delete rows".to_string(),
        3 => "create temp table q on commit drop as select * from p".to_string(),
        4 => format!("drop table if exists {table}"),
        5 => format!("truncate {table}"),
        6 if x == 0 => format!("create index on {table} (x)"),
        6 => format!("call moves({id}, {x}, 1)"),
        7 => format!("alter table {table} add column if not exists y int default 3"),
        8..14 => format!("insert into {table} (id, x) values ({id}, {x})"),
        14 => format!("insert into {table} (id, x) select id + 6, x from p on conflict do nothing"),
        15 => format!("update {table} set x = x + 1 where id = {id}"),
        16 => format!("delete from {table} where id = {id}"),
        17 | 18 => format!("select id, x from {table} order by id"),
        19 => "select relname from pg_class where relname in ('d', 'e', 'f', 'q') order by 1".to_string(),
        20 | 21 => {
            *savepoints += 1;
            format!("savepoint p{savepoints}")
        }
        _ => format!("rollback to p{}", 1 + random.below((*savepoints).max(1))),
    }
}

/// Transactions with temporary tables, in the stage or aside, have the same answers and effects.
#[test]
fn tables_that_a_commit_changes_are_those_of_the_stage() {
    let mut aside = 0;
    for seed in 0..sardonyx_base::random::seeds(15) {
        let ways = [usize::MAX, 0].map(|aside_from| {
            let fresh = Fresh::new();
            fresh.database.set_aside_from(aside_from);
            fresh.database.register_on_rows("moves", Moves);
            let mut session = fresh.session();
            all(
                &mut session,
                &[
                    "create table k (id int primary key, x int)",
                    "create temp table p (id int primary key, x int)",
                    "insert into p values (1, 1), (2, 1)",
                ],
            );
            let mut random = Random::new(seed);
            let mut told = Vec::new();
            let mut bytes = 0;
            for _ in 0..4 {
                told.push(answer(&mut session, "begin"));
                let mut savepoints = 0;
                for _ in 0..15 {
                    let text = match session.status() {
                        TransactionStatus::Failed if savepoints == 0 => break,
                        TransactionStatus::Failed => format!("rollback to p{savepoints}"),
                        _ => statement(&mut random, &mut savepoints),
                    };
                    let one = answer(&mut session, &text);
                    told.push(format!("{text}: {one}"));
                    bytes = bytes.max(session.bytes_aside());
                }
                told.push(answer(&mut session, "commit"));
                for table in ["d", "e", "f", "p", "q", "k"] {
                    told.push(answer(
                        &mut session,
                        &format!("select * from {table} order by id"),
                    ));
                }
            }
            (told, bytes)
        });
        let [(stage, in_stage), (open, bytes)] = ways;
        assert_eq!(in_stage, 0);
        aside += usize::from(bytes > 0);
        assert_eq!(open, stage, "seed {seed}");
    }
    assert!(aside > 0);
}
