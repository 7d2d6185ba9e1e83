//! Conditions on rows, as users write them.

use sardonyx_rows::condition::Condition;
use sardonyx_rows::schema::{Column, Schema, Type, Value};

use crate::Target;

pub(super) const CONDITION: Target = Target {
    name: "condition",
    what: "the text of a condition on rows",
    seeds: || {
        let texts = [
            "int >= 0 and (text like 'A%_\\\\x' or \"text\" is not null) and int in (1, -2, null)",
            "not bool or float between 1e3 and -1.5 or decimal <> 0.125",
            "date = date '2026-01-31' or date > '1969-12-31' or uuid = '67e55044-10b1-426f-9247-bb680e5fe0c8'",
            "timestamp < timestamp '2026-01-31T23:59:59.5+02:00' and time >= '12:00' and bytes = x'0aff'",
        ];
        texts.map(|text| text.as_bytes().to_vec()).into()
    },
    run: condition,
    runs: 20_000,
};

fn schema() -> Schema {
    let kinds = [
        ("int", Type::I64),
        ("text", Type::Text),
        ("bool", Type::Bool),
        ("float", Type::F32),
        ("decimal", Type::Decimal { scale: 2 }),
        ("date", Type::Date),
        ("time", Type::Time),
        ("timestamp", Type::Timestamp),
        ("uuid", Type::Uuid),
        ("bytes", Type::Bytes),
    ];
    let mut schema = Schema::default();
    schema.columns = (kinds.into_iter().enumerate())
        .map(|(number, (name, kind))| Column {
            name: name.to_string(),
            kind,
            default: Value::Null,
            offset: 16 * number,
            null: None,
            dropped: false,
            since_shape: 0,
        })
        .collect();
    schema
}

/// Reads a condition; a valid one is evaluated, and read again with another name for a column.
fn condition(input: &[u8]) {
    let mut schema = schema();
    let text = String::from_utf8_lossy(input);
    let Ok(condition) = Condition::parse(&text, &schema) else {
        return;
    };
    let _ = condition.evaluate(|column| schema.columns[column].default.as_ref());
    let renamed = Condition::with_renamed_column(&text, "text", "null").expect("it was read");
    schema.columns[1].name = "null".to_string();
    let limit = sardonyx_rows::condition::CONDITION_BYTES_MAX;
    if renamed.len() <= limit {
        assert_eq!(
            Condition::parse(&renamed, &schema).as_ref(),
            Ok(&condition),
            "{renamed}"
        );
    }
}
