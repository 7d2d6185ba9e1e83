//! Rows that a program inserts without SQL, into tables of SQL: they are stored or refused as by `INSERT`.

use crate::common::{Fresh, run};
use sardonyx::schema::{Declared, DeclaredDefault, Schema, Type, Value};
use sardonyx_sql::SqlError;

const TABLE: &str = "create table t (id int primary key, short varchar(3), fixed char(4), money numeric(5,2),
        at time(1), made timestamp(0), up text default upper('x'), price int default 7 check (price > 0),
        late text, token uuid default gen_random_uuid(), n bigserial, born timestamptz default now());
    alter table t alter column late set not null;
    alter table t alter column late set default 'l' || 'ate';
    alter table t alter column price set default 9";

/// A column, the value that a program gives, the literal of SQL.
fn cases() -> Vec<(&'static str, Value, &'static str)> {
    let text = |text: &str| Value::from(text);
    let second = 1_000_000;
    vec![
        ("short", text("abc"), "'abc'"),
        ("short", text("abcd"), "'abcd'"),
        ("short", text("ab   "), "'ab   '"),
        ("short", text("äöü"), "'äöü'"),
        ("fixed", text("x  "), "'x  '"),
        ("fixed", text("abcde"), "'abcde'"),
        ("money", Value::Decimal(1005, 3), "1.005"),
        ("money", Value::Decimal(-1005, 3), "-1.005"),
        ("money", Value::Decimal(99_999, 2), "999.99"),
        ("money", Value::Decimal(999_995, 3), "999.995"),
        ("money", 1000.into(), "1000"),
        ("at", Value::Time(second + 250_000), "'00:00:01.25'"),
        (
            "made",
            Value::Timestamp(second / 2),
            "'1970-01-01 00:00:00.5'",
        ),
        (
            "made",
            Value::Timestamp(-second / 2),
            "'1969-12-31 23:59:59.5'",
        ),
        ("price", 0.into(), "0"),
        ("price", 1.into(), "1"),
        ("late", Value::Null, "null"),
        ("late", text("now"), "'now'"),
        ("id", Value::Null, "null"),
    ]
}

fn rust(fresh: &Fresh, values: &[(&str, Value)]) -> Result<(), SqlError> {
    let values: Vec<(String, Value)> = values
        .iter()
        .map(|(name, value)| ((*name).to_string(), value.clone()))
        .collect();
    let done = fresh
        .database
        .tables()
        .expect("in main memory")
        .run(move |tx| {
            let values: Vec<(&str, Value)> = values
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone()))
                .collect();
            tx.rows("t")?.insert(&values)
        });
    Ok(done?)
}

/// All that is not drawn.
const SHOWN: &str = "select short, fixed, money, at, made, up, price, late, token is not null, born > '2000-01-01' from t";

#[test]
fn programs_and_insert_store_the_same() {
    let mut fresh = Fresh::new();
    run(&mut fresh.session(), TABLE).expect("it is created");
    for again in [false, true] {
        if again {
            fresh.reopen();
        }
        for (column, value, literal) in cases() {
            let (of, name) = match column {
                "id" => (vec![("id", value)], "id"),
                _ => (vec![("id", 1.into()), (column, value)], "id, "),
            };
            let (columns, values) = match column {
                "id" => (name.to_string(), literal.to_string()),
                _ => (format!("{name}{column}"), format!("1, {literal}")),
            };
            let mut session = fresh.session();
            let insert = format!("insert into t ({columns}) values ({values})");
            let by_sql = run(&mut session, &insert)
                .and_then(|_| run(&mut session, &format!("{SHOWN}; delete from t")));
            let by_rust = rust(&fresh, &of)
                .and_then(|()| run(&mut session, &format!("{SHOWN}; delete from t")));
            match (by_sql, by_rust) {
                (Ok(sql), Ok(rust)) => {
                    assert_eq!(format!("{rust:?}"), format!("{sql:?}"), "{insert}")
                }
                (Err(sql), Err(rust)) => {
                    assert_eq!(rust.code, sql.code, "{insert}: {rust} {sql}");
                    if rust.column.is_some() {
                        assert_eq!(rust.column.as_deref(), Some(column), "{insert}: {rust}");
                    }
                }
                (sql, rust) => panic!("{insert}: {sql:?}, and by a program {rust:?}"),
            }
        }
    }
}

fn numbers(fresh: &Fresh) -> String {
    let shown = run(&mut fresh.session(), "select n from t order by n").expect("read");
    format!("{shown:?}")
}

#[test]
fn programs_and_sessions_draw_of_one_sequence() {
    let mut fresh = Fresh::new();
    run(
        &mut fresh.session(),
        "create table t (id int primary key, n bigserial)",
    )
    .expect("it is created");
    // More than are made usable at a time.
    for id in 0..2100_i64 {
        match id % 3 {
            0 => {
                let insert = format!("insert into t (id) values ({id})");
                run(&mut fresh.session(), &insert).expect("inserted");
            }
            _ => rust(&fresh, &[("id", id.into())]).expect("inserted"),
        }
    }
    fresh.reopen();
    rust(&fresh, &[("id", 5000.into())]).expect("inserted");
    let count = "select count(*), count(distinct n), min(n) from t";
    let counted = run(&mut fresh.session(), count).expect("counted");
    let counted = format!("{counted:?}");
    assert_eq!(counted.matches("2101").count(), 2, "{counted}");
    // A transaction that is undone gives no number back, and uses up none that was not stored.
    let undone = fresh.database.tables().expect("in main memory").run(|tx| {
        tx.rows("t")?.insert(&[("id", 6000.into())])?;
        Err::<(), _>(sardonyx::Error::Refused("undone".into()))
    });
    assert!(undone.is_err());
    rust(&fresh, &[("id", 6000.into())]).expect("inserted");
    let before = numbers(&fresh);
    fresh.reopen();
    assert_eq!(numbers(&fresh), before);
    rust(&fresh, &[("id", 6001.into())]).expect("inserted");
}

#[test]
fn rows_without_a_key_are_numbered_for_programs_too() {
    let fresh = Fresh::new();
    run(
        &mut fresh.session(),
        "create table t (a int); insert into t values (1)",
    )
    .expect("made");
    rust(&fresh, &[("a", 2.into())]).expect("inserted");
    run(&mut fresh.session(), "insert into t values (3)").expect("inserted");
    let shown = run(&mut fresh.session(), "select a from t order by a").expect("read");
    let shown = format!("{shown:?}");
    assert!(shown.contains("[Int(1), Int(2), Int(3)]"), "{shown}");
}

#[test]
fn what_a_program_declares_is_shown_and_kept_by_sql() {
    let mut fresh = Fresh::new();
    let made = fresh.database.tables().expect("in main memory").run(|tx| {
        let schema = Schema::new()
            .column("id", Type::I64)
            .column("short", Type::Text)
            .nullable()
            .primary_key(["id"]);
        let number = tx.create_table("t", schema)?;
        let short = Declared {
            kind: 1043,
            modifier: 7,
            not_null: true,
            default: Some(DeclaredDefault::Value("new".into())),
            ..Declared::of(1)
        };
        tx.declare_columns(number, vec![short])
    });
    made.expect("it is created");
    for _ in 0..2 {
        let long = run(&mut fresh.session(), "insert into t values (1, 'toolong')");
        assert_eq!(long.expect_err("it is too long").code, "22001");
        let null = run(&mut fresh.session(), "insert into t values (1, null)");
        assert_eq!(null.expect_err("it is null").code, "23502");
        // The table has notes, but none of the column.
        run(
            &mut fresh.session(),
            "comment on table t is 'a program made it'",
        )
        .expect("noted");
        fresh.reopen();
    }
    let stored = "insert into t values (1); select short from t; delete from t";
    let stored = run(&mut fresh.session(), stored).expect("stored");
    assert!(format!("{stored:?}").contains("\"new\""), "{stored:?}");
    assert!(rust(&fresh, &[("id", 2.into()), ("short", "toolong".into())]).is_err());
}

#[test]
fn a_database_that_was_made_before_is_told_what_its_columns_are_declared() {
    let mut fresh = Fresh::new();
    let made = "create table t (id int primary key, short varchar(3), n serial)";
    run(&mut fresh.session(), made).expect("it is created");
    // Older programs stored such rows, without declared types.
    fresh
        .database
        .tables()
        .expect("in main memory")
        .run(|tx| {
            let number = tx.rows("t")?.number();
            tx.declare_columns(number, Vec::new())?;
            tx.rows("t")?.insert(&[
                ("id", 1.into()),
                ("short", "toolong".into()),
                ("n", 1.into()),
            ])
        })
        .expect("as before");
    fresh.reopen();
    let error = rust(&fresh, &[("id", 2.into()), ("short", "toolong".into())]);
    assert_eq!(error.expect_err("it is too long").code, "22001");
    rust(&fresh, &[("id", 2.into())]).expect("inserted");
    let shown = run(&mut fresh.session(), "select short from t where id = 1").expect("read");
    assert!(format!("{shown:?}").contains("toolong"), "{shown:?}");
}
