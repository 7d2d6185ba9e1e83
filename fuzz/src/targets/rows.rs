//! Rows as bytes of their own, as the trees of nodes have them, and ranges as columns have them.

use sardonyx_rows::RowFormat;
use sardonyx_rows::ranges::{Given, Range, RangeOf};
use sardonyx_rows::schema::{Schema, Type, Value};

use crate::Target;

pub(super) const ROW: Target = Target {
    name: "row",
    what: "a row as bytes of its own",
    seeds: || {
        let format = format();
        let texts = ["", "short", "longer than a reference has room for"];
        let rows = texts.map(|text| {
            let values = [
                ("id", Value::from(7_u64)),
                ("text", text.into()),
                ("bytes", Value::Bytes(text.as_bytes().to_vec())),
            ];
            let row = format.named(&values).expect("there are such columns");
            format
                .new_row(&row)
                .expect("the values are of their columns")
        });
        rows.into()
    },
    run: row,
    runs: 20_000,
};

pub(super) const RANGE: Target = Target {
    name: "range",
    what: "the bytes of a range, behind the number of its type",
    seeds: || {
        let values: [fn(i64) -> Value; 6] = [
            |number| Value::Int(number.into()),
            |number| Value::Int(number.into()),
            |number| Value::Decimal(number.into(), 2),
            |number| Value::Date(number as i32),
            Value::Timestamp,
            Value::Timestamp,
        ];
        let ranges = RANGES.into_iter().zip(values).enumerate();
        let seeds = ranges.flat_map(|(number, (of, value))| {
            let given = |value, is_inclusive| Given {
                value,
                is_inclusive,
            };
            let bounds = [
                (Some(value(-150)), Some(value(1_234))),
                (None, Some(value(7))),
                (Some(value(7)), Some(value(7))),
            ];
            bounds.map(|(lower, upper)| {
                let range = Range::of_bounds(of, given(lower, true), given(upper, true));
                let mut seed = vec![number as u8];
                seed.extend(range.expect("the bounds are in order"));
                seed
            })
        });
        seeds.collect()
    },
    run: range,
    runs: 20_000,
};

const RANGES: [RangeOf; 6] = [
    RangeOf::Int4,
    RangeOf::Int8,
    RangeOf::Numeric,
    RangeOf::Date,
    RangeOf::Timestamp,
    RangeOf::Timestamptz,
];

/// Reads a range; a valid one has one form, also if it is made again of its bounds' values.
fn range(input: &[u8]) {
    let Some((number, bytes)) = input.split_first() else {
        return;
    };
    let of = RANGES[usize::from(*number) % RANGES.len()];
    let Some(range) = Range::decode(of, bytes) else {
        return;
    };
    assert_eq!(range.encode(), bytes);
    let Some((lower, upper)) = range.bounds() else {
        return;
    };
    let [lower, upper] = [lower, upper].map(|bound| Given {
        value: bound.value(of),
        is_inclusive: bound.is_inclusive(),
    });
    assert_eq!(Range::of_bounds(of, lower, upper).as_deref(), Ok(bytes));
}

fn format() -> RowFormat {
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("text", Type::Text)
        .column("bytes", Type::Bytes)
        .nullable()
        .primary_key(["text", "id desc"])
        .ordered()
        .check("positive", "id > 0");
    let schema = schema.build().expect("a table can have it");
    RowFormat::new("rows", schema).expect("rows can have it")
}

/// Reads a row; a valid one has a key, and the same values when it is made again.
fn row(input: &[u8]) {
    let format = format();
    let Ok(row) = format.row(input) else {
        return;
    };
    let Ok(values) = row.to_values() else {
        return;
    };
    let key = format.key_of(input).expect("it is a row");
    let named: Vec<(&str, Value)> = ["id", "text", "bytes"].into_iter().zip(values).collect();
    let writer = format.named(&named).expect("there are such columns");
    // A condition that was not checked when it was written need not hold.
    if let Ok(again) = format.new_row(&writer) {
        let values: Vec<Value> = named.into_iter().map(|(_, value)| value).collect();
        let row = format.row(&again).expect("it was made");
        assert_eq!(row.to_values().expect("it was made"), values);
        assert_eq!(format.key_of(&again).expect("it was made"), key);
    }
}
