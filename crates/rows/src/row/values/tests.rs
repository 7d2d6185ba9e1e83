//! A row that is encoded in one pass is the row that the general way makes, and no value is encoded that this way refuses.

use super::*;
use crate::row::{RowWriter, set_column};
use crate::schema::NonFinite;

/// The fixed part that the general way makes of a new row; long values are left out.
fn in_general(schema: &Schema, row: &RowWriter<'_>) -> Option<Vec<u8>> {
    let mut row = row.clone();
    row.complete(schema, "t").ok()?;
    row.check(schema, "t").ok()?;
    let mut fixed = vec![0; schema.row_bytes];
    for (number, value) in row.set_columns() {
        let put = set_column(
            &mut fixed,
            "t",
            &schema.columns[number],
            value,
            |_, bytes| Ok(Reference::inline(bytes).unwrap_or_default()),
        );
        put.ok()?;
    }
    Some(fixed)
}

/// The same in one pass.
fn in_one_pass(schema: &Schema, row: &RowWriter<'_>) -> Option<Vec<u8>> {
    let mut fixed = vec![0; schema.row_bytes];
    row.values().encode_common(schema, &mut fixed)?;
    Some(fixed)
}

#[test]
fn long_values_of_a_row_are_returned_with_the_places_of_their_references() {
    let mut schema = Schema::new().column("key", Type::U64);
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        schema = schema.column(name, Type::Bytes);
    }
    let schema = schema.primary_key(["key"]).build().expect("a schema");
    let long = |fill: u8| [fill; 13];
    let values: Vec<_> = names.iter().map(|name| long(name.as_bytes()[0])).collect();
    // Of many, the general way stores them.
    for count in 0..=names.len() {
        let mut row = vec![Some(ValueRef::Int(1))];
        row.extend(values.iter().enumerate().map(|(number, value)| {
            let short = number >= count;
            Some(ValueRef::Bytes(if short { b"short" } else { value }))
        }));
        let mut fixed = vec![0; schema.row_bytes];
        let found = RowValues::new(&row).encode_common(&schema, &mut fixed);
        let found = found.map(|long| long.iter().collect::<Vec<_>>());
        let expected: Vec<_> = (0..count)
            .map(|number| (schema.columns[number + 1].offset, &values[number][..]))
            .collect();
        assert_eq!(found, (count <= LONG_MAX).then_some(expected), "{count}");
    }
}

#[test]
fn a_row_of_common_values_is_encoded_in_one_pass_as_in_general() {
    let kinds = [
        Type::Bool,
        Type::I16,
        Type::I64,
        Type::U64,
        Type::I128,
        Type::F32,
        Type::F64,
        Type::Decimal { scale: 2 },
        Type::Date,
        Type::Timestamp,
        Type::Text,
        Type::Bytes,
        Type::Plain {
            bytes: 8,
            align: 1,
            fingerprint: 0,
        },
    ];
    let long = vec![b'x'; VALUE_BYTES_MAX + 1];
    let values = [
        ValueRef::Null,
        ValueRef::Bool(true),
        ValueRef::Int(0),
        ValueRef::Int(-1),
        ValueRef::Int(i64::MAX.into()),
        ValueRef::Int(u64::MAX.into()),
        ValueRef::Int(i128::MIN),
        ValueRef::U128(7),
        ValueRef::Float(-0.0),
        ValueRef::Float(f64::NAN),
        ValueRef::Float(1e300),
        ValueRef::Decimal(150, 2),
        ValueRef::NonFinite(NonFinite::Infinity),
        ValueRef::Date(1),
        ValueRef::Timestamp(-1),
        ValueRef::Text(""),
        ValueRef::Text("as a reference"),
        ValueRef::Bytes(b"twelve bytes"),
        ValueRef::Bytes(b"8 bytes."),
        ValueRef::Bytes(&[0xff]),
        ValueRef::Bytes(&long[..VALUE_BYTES_MAX]),
        ValueRef::Bytes(&long),
    ];
    let mut common = 0;
    for kind in kinds {
        for is_nullable in [false, true] {
            let schema = Schema::new().column("key", Type::U64).column("value", kind);
            let schema = match is_nullable {
                true => schema.nullable(),
                false => schema,
            };
            let schema = schema.column("last", Type::I64).primary_key(["key"]);
            let schema = schema.build().expect("a schema");
            for (number, value) in values.into_iter().enumerate() {
                let mut row = RowWriter::new(3);
                row.set(0, ValueRef::Int(1));
                row.set(1, value);
                row.set(2, ValueRef::Int(-3));
                let (encoded, expected) = (in_one_pass(&schema, &row), in_general(&schema, &row));
                let case = format!("{kind}, nullable: {is_nullable}, value {number}");
                assert!(
                    encoded.is_none() || encoded == expected,
                    "{case}: {encoded:?} {expected:?}"
                );
                common += usize::from(encoded.is_some());
            }
        }
    }
    // Of each kind of column a null where one may be; and integers, floats, times, texts, bytes.
    assert_eq!(common, kinds.len() + 2 * (3 + 3 + 2 + 1 + 2 + 4));
}

#[test]
fn rows_that_need_defaults_or_declarations_are_not_encoded_in_one_pass() {
    let schema = || {
        let schema = Schema::new()
            .column("key", Type::U64)
            .column("text", Type::Text);
        schema.primary_key(["key"])
    };
    let mut row = RowWriter::new(2);
    row.set(0, ValueRef::Int(1));
    let built = schema().build().expect("a schema");
    assert_eq!(in_one_pass(&built, &row), None, "a column is missing");
    row.set(1, ValueRef::Text("x"));
    assert!(in_one_pass(&built, &row).is_some());
    row.set(2, ValueRef::Text("x"));
    assert_eq!(in_one_pass(&built, &row), None, "no such column");
}
