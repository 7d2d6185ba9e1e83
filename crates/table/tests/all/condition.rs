//! Conditions: their meaning, their errors with places, and texts with another name for a column, which mean the same.

use proptest::prelude::*;
use sardonyx_rows::condition::{CONDITION_BYTES_MAX, Condition, ConditionError};
use sardonyx_rows::schema::{Column, NullBit, Schema, Type, Value};

const COLUMNS: [(&str, Type); 14] = [
    ("id", Type::I64),
    ("owner", Type::Text),
    ("balance", Type::Decimal { scale: 2 }),
    ("active", Type::Bool),
    ("born", Type::Date),
    ("at", Type::Time),
    ("seen", Type::Timestamp),
    ("uuid", Type::Uuid),
    ("photo", Type::Bytes),
    ("rate", Type::F64),
    ("narrow", Type::F32),
    ("big", Type::U128),
    ("address.street", Type::Text),
    ("a \"strange\" name", Type::I32),
];

fn schema() -> Schema {
    let mut schema = Schema::default();
    schema.columns = (COLUMNS.into_iter().enumerate())
        .map(|(number, (name, kind))| Column {
            name: name.to_string(),
            kind,
            default: Value::Null,
            offset: number * 16,
            null: Some(NullBit { byte: 300, bit: 0 }),
            dropped: false,
            since_shape: 0,
        })
        .collect();
    schema
}

/// A row with these values; the others are null.
fn row(values: &[(&str, Value)]) -> Vec<Value> {
    let schema = schema();
    let mut row = vec![Value::Null; COLUMNS.len()];
    for (name, value) in values {
        row[schema.column(name).expect(name)] = value.clone();
    }
    row
}

fn evaluate(text: &str, row: &[Value]) -> Option<bool> {
    let condition =
        Condition::parse(text, &schema()).unwrap_or_else(|error| panic!("{text}: {error}"));
    condition.evaluate(|column| row[column].as_ref())
}

#[test]
fn conditions_mean_what_sql_says() {
    let row = row(&[
        ("id", 7.into()),
        ("owner", "Ada".into()),
        ("balance", Value::Decimal(1250, 2)),
        ("active", true.into()),
        ("born", Value::Date(0)),
        ("seen", Value::Timestamp(1_000_000)),
        ("rate", 0.1.into()),
        ("narrow", Value::Float(0.1_f32.into())),
        ("big", Value::U128(u128::MAX)),
        ("photo", vec![10, 255].into()),
        ("a \"strange\" name", (-3).into()),
    ]);
    let (yes, no, unknown) = (Some(true), Some(false), None);
    for (text, expected) in [
        ("id = 7", yes),
        ("id <> 7", no),
        ("7 = id AND active", yes),
        ("balance = 12.5", yes),
        ("balance > 12.499", yes),
        (
            "balance >= 0 and (owner like 'A%' or owner is null) and id in (1, 7)",
            yes,
        ),
        ("rate = 0.1 and narrow = 0.1", yes),
        ("rate = 1e-1", yes),
        ("big = 340282366920938463463374607431768211455", yes),
        ("big > id", yes),
        ("born = date '1970-01-01' and born < '1970-01-02'", yes),
        ("seen = timestamp '1970-01-01 00:00:01'", yes),
        ("photo = x'0aFF'", yes),
        ("\"a \"\"strange\"\" name\" = -3", yes),
        ("id between 7 and 8", yes),
        ("id not between 7 and 8", no),
        ("not active or id = 8", no),
        ("address.street is null", yes),
        ("address.street is not null", no),
        ("address.street = 'x'", unknown),
        ("not address.street = 'x'", unknown),
        ("address.street = 'x' or id = 7", yes),
        ("address.street = 'x' and id = 8", no),
        ("address.street like '%'", unknown),
        ("id in (8, null)", unknown),
        ("id in (7, null)", yes),
        ("id not in (8, null)", unknown),
        ("null", unknown),
        ("true or null", yes),
        ("id = null", unknown),
    ] {
        assert_eq!(evaluate(text, &row), expected, "{text}");
    }
    let condition = Condition::parse("address.street = 'x'", &schema()).expect("sound");
    assert!(!condition.holds(|column| row[column].as_ref()));
    assert!(condition.allows(|column| row[column].as_ref()));
    assert_eq!(condition.columns(), [12]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let error = |text: &str| Condition::parse(text, &schema()).expect_err(text);
    let place = |text: &str| match error(text) {
        ConditionError::Syntax { at, .. } => at,
        other => panic!("{text}: {other}"),
    };
    assert_eq!(place(""), 0);
    assert_eq!(place("id ="), 4);
    assert_eq!(place("id = 7 owner"), 7);
    assert_eq!(place("(id = 7"), 7);
    assert_eq!(place("id = 7 )"), 7);
    assert_eq!(place("id in 7"), 6);
    assert_eq!(place("id in ()"), 7);
    assert_eq!(place("owner like owner"), 11);
    assert_eq!(place("owner = 'x"), 8);
    assert_eq!(place("id is 7"), 6);
    assert_eq!(place("id = ;"), 5);
    assert_eq!(place("id not 7"), 7);
    assert_eq!(place("id = and"), 5);
    assert!(
        matches!(error("id = 1 and nobody = 2"), ConditionError::UnknownColumn { at: 11, column } if column == "nobody")
    );
    assert!(matches!(
        error("id = 'x'"),
        ConditionError::Incomparable { at: 5, .. }
    ));
    assert!(matches!(
        error("active > 1"),
        ConditionError::Incomparable { at: 9, .. }
    ));
    assert!(matches!(
        error("born = seen"),
        ConditionError::Incomparable { at: 7, .. }
    ));
    assert!(matches!(
        error("id in (1, true)"),
        ConditionError::Incomparable { at: 10, .. }
    ));
    assert!(matches!(
        error("id and active"),
        ConditionError::WrongType { at: 0, .. }
    ));
    assert!(matches!(
        error("id like '7'"),
        ConditionError::WrongType { at: 0, .. }
    ));
    assert!(matches!(
        error("born = date '2026-02-30'"),
        ConditionError::Literal { at: 7, .. }
    ));
    assert!(matches!(
        error("born > 'soon'"),
        ConditionError::Literal { at: 7, .. }
    ));
    assert!(matches!(
        error("id = 1a"),
        ConditionError::Literal { at: 5, .. }
    ));
    assert!(matches!(
        error("rate < 1e999"),
        ConditionError::Literal { at: 7, .. }
    ));
    assert!(matches!(
        error(&"(".repeat(1000)),
        ConditionError::Limit { .. }
    ));
    assert!(matches!(
        error(&"not ".repeat(1000)),
        ConditionError::Limit { .. }
    ));
    assert!(matches!(
        error(&" ".repeat(CONDITION_BYTES_MAX + 1)),
        ConditionError::Limit { .. }
    ));
}

#[test]
fn a_renamed_column_is_written_with_its_new_name() {
    let mut schema = schema();
    let text = "id>0 AND  (\"owner\" LIKE 'owner%' or ID_ is null or date '2026-01-31' > date)";
    schema.columns[3].name = "ID_".to_string();
    schema.columns[4].name = "date".to_string();
    let condition = Condition::parse(text, &schema).expect("sound");
    let mut text = text.to_string();
    for (number, new) in [(0, "order"), (1, "like"), (4, "a \"b\"")] {
        let name = std::mem::replace(&mut schema.columns[number].name, new.to_string());
        text = Condition::with_renamed_column(&text, &name, new).expect("sound");
    }
    assert_eq!(
        text,
        "order>0 AND  (\"like\" LIKE 'owner%' or ID_ is null or date '2026-01-31' > \"a \"\"b\"\"\")"
    );
    assert_eq!(Condition::parse(&text, &schema).as_ref(), Ok(&condition));
}

fn literals() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i128>().prop_map(|value| format!("id = {value}")),
        any::<u128>().prop_map(|value| format!("big <> {value}")),
        (any::<i64>(), 1..18_usize).prop_map(|(value, scale)| {
            let digits = format!("{:020}", value.unsigned_abs());
            let (whole, fraction) = digits.split_at(20 - scale);
            format!(
                "balance < {}{whole}.{fraction}",
                if value < 0 { "-" } else { "" }
            )
        }),
        "'[^\u{0}]{0,5}'".prop_map(|text| {
            let inner = text[1..text.len() - 1].replace('\'', "''");
            format!("owner >= '{inner}'")
        }),
        "[a%_\\\\']{0,5}"
            .prop_map(|pattern| format!("owner like '{}'", pattern.replace('\'', "''"))),
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| format!("rate > {value:e}")),
        any::<f32>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| format!("narrow > {value:e} or narrow = 0.3")),
        any::<i32>().prop_map(|value| format!("born = date '{}'", Value::Date(value))),
        any::<i64>().prop_map(|value| format!("seen = '{}'", Value::Timestamp(value))),
        any::<[u8; 16]>().prop_map(|value| format!("uuid in ('{}', null)", Value::Uuid(value))),
        Just("active".to_string()),
        Just("born is not null".to_string()),
        Just("id not between -1 and 1".to_string()),
    ]
}

fn conditions() -> impl Strategy<Value = String> {
    literals().prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!("({})", parts.join(") and ("))),
            proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.join(" or ")),
            inner.prop_map(|part| format!("not ({part})")),
        ]
    })
}

/// Checks that a condition with another name for a column reads as the same one.
fn check_renamed(text: &str, condition: &Condition, number: usize, new: &str) {
    let mut schema = schema();
    if schema.column(new).is_some() {
        return;
    }
    let name = std::mem::replace(&mut schema.columns[number].name, new.to_string());
    let renamed = Condition::with_renamed_column(text, &name, new).expect("it was read");
    let read = Condition::parse(&renamed, &schema);
    assert_eq!(read.as_ref(), Ok(condition), "{renamed}");
}

proptest! {
    #[test]
    fn what_is_renamed_reads_as_the_same_condition(text in conditions(), number in 0..COLUMNS.len(), new in "[a-z\" .]{1,8}") {
        let schema = schema();
        let condition = Condition::parse(&text, &schema);
        prop_assert!(condition.is_ok(), "{}: {:?}", text, condition);
        let condition = condition.expect("was checked");
        check_renamed(&text, &condition, number, &new);
    }

    #[test]
    fn no_text_makes_it_panic(text: String) {
        let _ = Condition::parse(&text, &schema());
    }

    #[test]
    fn no_words_make_it_panic(words in proptest::collection::vec(proptest::sample::select(vec![
        "id", "owner", "born", "and", "or", "not", "in", "is", "null", "like", "between", "(", ")", ",", "-", "1",
        "1.5", "1e5", "'x'", "date", "x", "=", "<", "true", "\"id\"", "é", ".", "'",
    ]), 0..12)) {
        if let Ok(condition) = Condition::parse(&words.join(" "), &schema()) {
            let values = row(&[("id", 1.into())]);
            let _ = condition.evaluate(|column| values[column].as_ref());
            check_renamed(&words.join(" "), &condition, 0, "date");
        }
    }
}
