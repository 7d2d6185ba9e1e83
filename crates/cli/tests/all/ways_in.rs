//! Values, defaults and conditions are the same in every way that a row can be inserted: `INSERT`, `COPY` in text and
//! CSV, `import` of CSV, TSV, JSON lines, Arrow and Parquet, and a program that inserts rows without SQL.

use crate::rows::{sardonyx, text};
use sardonyx::Tables;
use sardonyx::schema::{Type, Value};
use sardonyx_rows::value_text::parse_value;
use sardonyx_sql::{Database, SqlError};
use std::fs;
use std::path::Path;
use std::sync::Arc;

const TABLE: &str = "create table other (n int primary key); insert into other values (1);
    create table t (id int, k int, short varchar(3), fixed char(4), money numeric(5,2), small smallint,
        day date, flag boolean, bytes bytea, token uuid, whole double precision,
        made timestamp default '2024-01-01', up text default upper('x'), price int default 7 check (price > 0),
        n int references other, name text not null default 'none', unique (name, short))";

/// A column, the type of a column of the same values in a typed file, a text, and the result: the stored text, or a
/// part of the error.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    Result<&'static str, &'static str>,
);

const CASES: &[Case] = &[
    ("short", "text", "abc", Ok("abc")),
    (
        "short",
        "text",
        "abcd",
        Err("value too long for type character varying(3)"),
    ),
    ("short", "text", "ab   ", Ok("ab ")),
    ("short", "text", "äöü", Ok("äöü")),
    ("fixed", "text", "x", Ok("x   ")),
    (
        "fixed",
        "text",
        "abcde",
        Err("value too long for type character(4)"),
    ),
    ("money", "numeric(20,6)", "1.005", Ok("1.01")),
    ("money", "numeric(20,6)", "999.99", Ok("999.99")),
    (
        "money",
        "numeric(20,6)",
        "999.995",
        Err("numeric field overflow"),
    ),
    ("small", "bigint", "-32768", Ok("-32768")),
    ("small", "bigint", "32768", Err("out of range")),
    (
        "small",
        "",
        "7x",
        Err("invalid input syntax for type smallint"),
    ),
    (
        "small",
        "",
        "1.5",
        Err("invalid input syntax for type smallint"),
    ),
    ("day", "date", "2024-02-29", Ok("2024-02-29")),
    ("day", "", "2023-02-29", Err("out of range")),
    ("flag", "boolean", "t", Ok("t")),
    ("flag", "", "off", Ok("f")),
    (
        "flag",
        "",
        "2",
        Err("invalid input syntax for type boolean"),
    ),
    ("bytes", "bytea", "\\x00ff", Ok("\\x00ff")),
    (
        "token",
        "uuid",
        "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        Ok("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ),
    (
        "token",
        "",
        "a0eebc99",
        Err("invalid input syntax for type uuid"),
    ),
    ("whole", "double precision", "-Infinity", Ok("-Infinity")),
    ("whole", "", "1e400", Err("out of range")),
    ("price", "bigint", "1", Ok("1")),
    ("price", "bigint", "0", Err("\"t_price_check\"")),
    ("n", "bigint", "1", Ok("1")),
    ("n", "bigint", "2", Err("is not present in table \"other\"")),
    ("name", "text", "", Err("null value in column \"name\"")),
];

/// The rows of a statement, or the error.
fn sql(at: &Path, statements: &str) -> Result<String, String> {
    let output = sardonyx(
        at,
        &[
            "sql", "db.sdx", "--create", "--format", "csv", "-c", statements,
        ],
    );
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).replace('\r', "")),
        false => Err(text(&output)),
    }
}

fn copy(at: &Path, statement: &str, data: &str) -> Result<(), String> {
    fs::write(at.join("copy.sql"), format!("{statement}\n{data}\n\\.\n")).expect("written");
    let output = sardonyx(at, &["sql", "db.sdx", "-f", "copy.sql"]);
    output
        .status
        .success()
        .then_some(())
        .ok_or_else(|| text(&output))
}

fn import(at: &Path, file: &str, content: &str) -> Result<(), String> {
    fs::write(at.join(file), content).expect("written");
    import_file(at, file)
}

fn import_file(at: &Path, file: &str) -> Result<(), String> {
    let output = sardonyx(at, &["import", "db.sdx", "t", file]);
    output
        .status
        .success()
        .then_some(())
        .ok_or_else(|| text(&output))
}

/// A file of a format with types.
fn typed(at: &Path, n: usize, format: &str, (column, kind, value, _): &Case) -> Result<(), String> {
    let value = match *value {
        "" => "null".to_string(),
        value => format!("'{value}'"),
    };
    let file = format!("typed.{format}");
    let make = format!(
        "drop table if exists src; create table src (id int primary key, {column} {kind});
         insert into src values ({n}, {value})"
    );
    sql(at, &make).expect("made");
    let output = sardonyx(at, &["export", "db.sdx", "src", &file]);
    assert!(output.status.success(), "{}", text(&output));
    import_file(at, &file)
}

/// A row that a program inserts, of a value of another type than text.
fn program(
    at: &Path,
    n: usize,
    (column, kind, value, expected): &Case,
) -> Option<Result<(), String>> {
    let kind = match *kind {
        "text" => Type::Text,
        "numeric(20,6)" => Type::Decimal { scale: 6 },
        "bigint" => Type::I64,
        "date" => Type::Date,
        "boolean" => Type::Bool,
        "uuid" => Type::Uuid,
        "double precision" => Type::F64,
        _ => return None,
    };
    // SQL has other words for a reference that is violated.
    if *column == "n" && expected.is_err() {
        return None;
    }
    let value = match (*value, kind) {
        ("", _) => Value::Null,
        ("t", Type::Bool) => Value::Bool(true),
        (value, kind) => parse_value(value, kind).expect("a value"),
    };
    let tables = Arc::new(Tables::open(at.join("db.sdx")).expect("it opens"));
    let database = Database::new(Arc::clone(&tables)).expect("it speaks SQL");
    let column = (*column).to_string();
    let inserted = tables.run(move |tx| {
        let values = [("id", Value::from(n as i64)), (&*column, value.clone())];
        tx.rows("t")?.insert(&values)
    });
    tables.close().expect("it closes");
    drop(database);
    Some(inserted.map_err(|error| SqlError::from(error).to_string()))
}

/// True if a typed file can have the value, and this program reads one.
fn has_types(case: &Case) -> bool {
    cfg!(feature = "parquet") && !case.1.is_empty()
}

type Way = fn(&Path, usize, &Case) -> Option<Result<(), String>>;

const WAYS: &[(&str, Way)] = &[
    ("INSERT", |at, n, (column, _, value, _)| {
        let value = match *value {
            "" => "null".to_string(),
            value => format!("'{value}'"),
        };
        Some(
            sql(
                at,
                &format!("insert into t ({column}, id) values ({value}, {n})"),
            )
            .map(drop),
        )
    }),
    ("COPY text", |at, n, (column, _, value, _)| {
        let value = match *value {
            "" => "\\N".to_string(),
            value => value.replace('\\', "\\\\"),
        };
        Some(copy(
            at,
            &format!("copy t (id, {column}) from stdin;"),
            &format!("{n}\t{value}"),
        ))
    }),
    ("COPY csv", |at, n, (column, _, value, _)| {
        Some(copy(
            at,
            &format!("copy t (id, {column}) from stdin (format csv);"),
            &format!("{n},{value}"),
        ))
    }),
    ("csv", |at, n, (column, _, value, _)| {
        // A line of one field that is empty would be blank.
        Some(import(
            at,
            "one.csv",
            &format!("{column},id\n{value},{n}\n"),
        ))
    }),
    ("tsv", |at, n, (column, _, value, _)| {
        Some(import(
            at,
            "one.tsv",
            &format!("{column}\tid\n{value}\t{n}\n"),
        ))
    }),
    ("jsonl", |at, n, (column, _, value, _)| {
        let value = match *value {
            "" => serde_json::Value::Null,
            value => value.into(),
        };
        Some(import(
            at,
            "one.jsonl",
            &format!("{{\"id\":{n},\"{column}\":{value}}}\n"),
        ))
    }),
    ("a program", program),
    ("arrow", |at, n, case| {
        has_types(case).then(|| typed(at, n, "arrow", case))
    }),
    ("parquet", |at, n, case| {
        has_types(case).then(|| typed(at, n, "parquet", case))
    }),
];

#[test]
fn a_row_is_the_same_by_whatever_way_it_comes_in() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(at, TABLE).expect("made");
    for (name, way) in WAYS {
        let (mut query, mut wanted) = (String::new(), String::new());
        for (number, case) in CASES.iter().enumerate() {
            let (column, _, value, expected) = case;
            let what = format!("{name}: {column} = {value:?}");
            match (way(at, number, case), expected) {
                (None, _) => {}
                (Some(Ok(())), Ok(stored)) => {
                    query += &format!(
                        "select id, made, up, coalesce(price, 0) > 0 as p, name, {column} as v from t where id = {number};"
                    );
                    wanted += &format!(
                        "id,made,up,p,name,v\n{number},2024-01-01 00:00:00,X,t,none,{stored}\n"
                    );
                }
                (Some(Err(error)), Err(part)) => assert!(error.contains(part), "{what}: {error}"),
                (Some(outcome), _) => panic!("{what}: {outcome:?}, and not {expected:?}"),
            }
        }
        let rows = wanted.lines().count() / 2;
        let stored = sql(
            at,
            &format!("{query} select count(*) from t; delete from t"),
        );
        let stored = stored.expect("read");
        let wanted = format!("{wanted}count\n{rows}\n");
        assert!(stored.starts_with(&wanted), "{name}: {stored}\n{wanted}");
    }
}
