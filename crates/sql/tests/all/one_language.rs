//! The conditions that every program tests are a part of SQL: each means the same there, and what only SQL has is
//! declared by programs that speak it, and refused by name by others.

use crate::common::{Fresh, run};
use sardonyx::schema::{Schema, Type, Value, ValueRef};
use sardonyx_base::random::{Random, seeds};
use sardonyx_rows::condition::Condition;
use sardonyx_sql::{RowFilter, enforce_checks};

/// Columns, with the literals beside them as every program reads them.
const COLUMNS: [(&str, Type, &[&str]); 15] = [
    ("id", Type::I64, &["7", "-3", "7.5", "1e1"]),
    (
        "owner",
        Type::Text,
        &["'Ada'", "'it''s'", "'ż'", "''", "'a\\%'"],
    ),
    (
        "balance",
        Type::Decimal { scale: 2 },
        &["12.5", "-0.01", "12.50", "12", "1e1"],
    ),
    ("active", Type::Bool, &["true", "false"]),
    (
        "born",
        Type::Date,
        &["date '1970-01-02'", "'1970-01-02'", "'2026-11-29'"],
    ),
    ("at", Type::Time, &["time '00:00:01'", "'23:59:59.5'"]),
    (
        "seen",
        Type::Timestamp,
        &["timestamp '1970-01-01 00:00:01'", "'1970-01-01T00:00:01Z'"],
    ),
    (
        "uuid",
        Type::Uuid,
        &[
            "uuid '00000000-0000-0000-0000-000000000007'",
            "'00000000-0000-0000-0000-000000000007'",
        ],
    ),
    ("photo", Type::Bytes, &["x'0aFF'", "x''"]),
    ("rate", Type::F64, &["0.1", "1e-1", "7", "-2.5"]),
    ("narrow", Type::F32, &["0.5", "7", "-2.5e0"]),
    ("address.street", Type::Text, &["'Ada'", "'x'"]),
    ("Mixed", Type::I32, &["7", "-3"]),
    ("order", Type::I32, &["7", "0"]),
    ("a \"strange\" name", Type::I32, &["7", "-1"]),
];

/// Columns whose names are words without quotes.
const WORDS: usize = 14;

fn schema() -> Schema {
    let mut schema = Schema::new();
    for (name, kind, _) in COLUMNS {
        schema = schema.column(name, kind);
        if name != "id" {
            schema = schema.nullable();
        }
    }
    schema.primary_key(["id"]).build().expect("a schema")
}

/// Some value of each column, near the literals.
fn row(random: &mut Random) -> Vec<Value> {
    let mut row = Vec::new();
    for (name, kind, _) in COLUMNS {
        let is_null = name != "id" && random.below(6) == 0;
        let mut one_of =
            |values: &[Value]| values[random.below(values.len() as u64) as usize].clone();
        let value = match kind {
            Type::Text => one_of(&[
                "Ada".into(),
                "it's".into(),
                "ż".into(),
                "a%".into(),
                "x".into(),
            ]),
            Type::Decimal { .. } => one_of(&[Value::Decimal(1250, 2), Value::Decimal(-1, 2)]),
            Type::Bool => one_of(&[true.into(), false.into()]),
            Type::Date => one_of(&[Value::Date(1), Value::Date(-1)]),
            Type::Time => one_of(&[Value::Time(1_000_000), Value::Time(86_399_500_000)]),
            Type::Timestamp => one_of(&[Value::Timestamp(1_000_000), Value::Timestamp(0)]),
            Type::Uuid => one_of(&[Value::Uuid([0; 16]), Value::Uuid(7_u128.to_be_bytes())]),
            Type::Bytes => one_of(&[vec![10, 255].into(), Vec::new().into(), vec![10].into()]),
            Type::F64 | Type::F32 => {
                one_of(&[0.5.into(), (-2.5).into(), 7.0.into(), f64::NAN.into()])
            }
            _ => one_of(&[7.into(), (-3).into(), 0.into(), 10.into()]),
        };
        row.push(if is_null { Value::Null } else { value });
    }
    row
}

/// A column as conditions write it.
fn column(number: usize) -> String {
    let name = COLUMNS[number].0;
    match number < WORDS {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A condition on one column.
fn simple(random: &mut Random) -> String {
    let number = random.below(COLUMNS.len() as u64) as usize;
    let (_, kind, literals) = COLUMNS[number];
    let name = column(number);
    let mut literal = || literals[random.below(literals.len() as u64) as usize];
    let [one, other] = [literal(), literal()];
    let not = ["", "not "][random.below(2) as usize];
    match random.below(8) {
        0 => format!("{name} is {not}null"),
        1 => format!("{name} {not}between {one} and {other}"),
        2 => format!("{name} {not}in ({one}, {other})"),
        3 => format!("{name} {not}in ({one}, null)"),
        4 if kind == Type::Text => format!("{name} {not}like 'A%_'"),
        4 if kind == Type::Bool => name,
        5 => {
            let alike = (0..COLUMNS.len()).filter(|other| COLUMNS[*other].1 == kind);
            let alike: Vec<usize> = alike.collect();
            let other = alike[random.below(alike.len() as u64) as usize];
            format!("{name} >= {}", column(other))
        }
        _ => {
            let sign = ["=", "<>", "!=", "<", "<=", ">", ">="][random.below(7) as usize];
            match random.below(4) {
                0 => format!("{one} {sign} {name}"),
                1 => format!("NOT {name} {sign} {one}"),
                _ => format!("{name} {sign} {one}"),
            }
        }
    }
}

fn condition(random: &mut Random, depth: u64) -> String {
    if depth == 0 || random.below(3) == 0 {
        return simple(random);
    }
    let mut part = || condition(random, depth - 1);
    let [one, other] = [part(), part()];
    match random.below(4) {
        0 => format!("{one} and {other}"),
        1 => format!("{one} OR {other}"),
        2 => format!("not ({one} or {other})"),
        _ => format!("({one}) and ({other})"),
    }
}

/// Compares a condition of a seed on some rows. Returns the number of rows for which it holds, or what differs.
fn compared(schema: &Schema, seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let text = condition(&mut random, 3);
    let plain = Condition::parse(&text, schema).map_err(|error| format!("{text}: {error}"))?;
    let quoted = |name: &str| format!("\"{name}\"");
    let sql = Condition::in_sql(&text, quoted).expect("it was read");
    let filter = RowFilter::parse(&sql, schema).map_err(|error| format!("{sql}: {error}"))?;
    if filter.columns() != plain.columns() {
        return Err(format!("{sql}: {:?} are read", filter.columns()));
    }
    let mut holds = 0;
    for _ in 0..20 {
        let row = row(&mut random);
        let values: Vec<ValueRef<'_>> = row.iter().map(Value::as_ref).collect();
        let here = plain.holds(|column| values[column]);
        let there = filter.holds(&values).expect(&sql);
        if here != there {
            return Err(format!("{sql} on {row:?}: {there} in SQL"));
        }
        holds += u64::from(here);
    }
    Ok(holds)
}

#[test]
fn a_condition_of_every_program_means_the_same_in_sql() {
    let schema = schema();
    let (mut holds, mut differ) = (0, Vec::new());
    for seed in 0..seeds(200) {
        match compared(&schema, seed) {
            Ok(rows) => holds += rows,
            Err(text) => differ.push(format!("seed {seed}: {text}")),
        }
    }
    assert!(
        differ.is_empty(),
        "{}",
        differ[..differ.len().min(10)].join("\n")
    );
    assert!(holds > 0);
}

#[test]
fn a_program_that_speaks_sql_declares_any_condition() {
    enforce_checks();
    let fresh = Fresh::new();
    let table = |condition: &str| {
        let columns = Schema::new()
            .column("Id", Type::I64)
            .column("name", Type::Text)
            .primary_key(["Id"]);
        columns.check("some", condition)
    };
    let database = fresh.database.tables().expect("in main memory");
    database
        .create_table("t", table("\"Id\" % 2 = 0 and length(name) > 2"))
        .expect("a condition of SQL");
    database
        .create_table("u", table("Id > 0"))
        .expect("a condition of every program");
    let insert = |table: &'static str, id: i64, name: &'static str| {
        database.run(move |tx| tx.rows(table)?.insert_values(&[id.into(), name.into()]))
    };
    insert("t", 2, "Ada").expect("it meets the condition");
    for (id, name) in [(3, "Ada"), (4, "Ed")] {
        let refused = insert("t", id, name).expect_err("refused").to_string();
        assert!(refused.contains("length(name) > 2"), "{refused}");
    }
    insert("u", 1, "Ada").expect("it meets the condition");
    insert("u", 0, "Ada").expect_err("it does not");
    // The same declaration is the same table.
    database
        .create_table("t", table("\"Id\" % 2 = 0 and length(name) > 2"))
        .expect("the same table");
    for (wrong, reason) in [
        ("\"Id\" < random()", "42P17"),
        ("case when \"Id\" > 0 then nothing end", "42703"),
        ("lower(nothing) = 'a'", "42703"),
        ("Id % 2 = 0", "write \"Id\""),
        ("name = 5 +", "42601"),
        ("Nothing > 0", "there is no column \"Nothing\""),
    ] {
        let refused = database.create_table("v", table(wrong)).expect_err(wrong);
        let refused = format!("{refused:?} {refused}");
        assert!(refused.contains(reason), "{wrong}: {refused}");
    }
    // Shown as SQL reads it.
    let shown =
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'some' ORDER BY 1";
    let shown = run(&mut fresh.session(), shown).expect("it is shown");
    let shown = format!("{shown:?}");
    assert!(shown.contains("\\\"Id\\\" > 0"), "{shown}");
}

#[test]
fn a_condition_that_sql_declares_is_tested_by_every_program_if_it_reads_the_same_there() {
    let fresh = Fresh::new();
    let table = "CREATE TABLE t (id int PRIMARY KEY, \"Id\" int, small smallint, name text, code varchar(5), pad char(3), \
                 price numeric(10,2), day date, seen timestamp, rate float8, active bool)";
    run(&mut fresh.session(), table).expect(table);
    for (condition, of_every_program) in [
        ("id > 0 AND NOT (small = 3 OR small IS NULL)", true),
        ("id IN (1, 2, 3) AND id BETWEEN 0 AND small", true),
        ("price >= 0 AND price < 99.5", true),
        ("name LIKE 'A%' OR code = 'x'", true),
        ("day > '2020-01-31' AND day < DATE '2030-01-31'", true),
        ("active", true),
        ("t.id > 0", true),
        ("\"Id\" > 0", true),
        ("ID > 0", true),
        ("id % 2 = 0", false),
        ("price < 1e3", false),
        ("id < 1E1", false),
        ("name LIKE 'a\\'", false),
        ("pad = 'x'", false),
        ("id = '7'", false),
        ("seen > '2020-01-01 00:00:00+02'", false),
        ("rate < 0.1", false),
        ("day > '01/02/2020'", false),
        ("name IS DISTINCT FROM 'x'", false),
    ] {
        let added = format!("ALTER TABLE t ADD CONSTRAINT added CHECK ({condition})");
        run(&mut fresh.session(), &added).expect(&added);
        let database = fresh.database.tables().expect("in main memory");
        let read = database.read(|view| Ok(view.rows("t")?.schema().checks.clone()));
        let checks = read.expect("it is there");
        let (_, text) = checks.last().expect("it was added");
        assert_eq!(!text.starts_with("$sql "), of_every_program, "{text}");
        run(&mut fresh.session(), "ALTER TABLE t DROP CONSTRAINT added").expect("it is dropped");
    }
}
