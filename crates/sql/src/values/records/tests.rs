//! Records as bytes, as texts and in binary.

use super::*;
use crate::binary::encode_binary;
use crate::text::encode_text;
use crate::values::arrays::order::{record_key, record_order};
use proptest::prelude::*;

fn record(fields: &[(&str, SqlType, Value)]) -> Vec<u8> {
    let described = described(fields.iter().map(|(name, kind, _)| (*name, *kind)));
    let values = fields.iter().map(|(.., value)| value.as_ref());
    match made(&described, values).expect("a record") {
        Value::Bytes(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

fn text(record: &[u8]) -> String {
    let mut out = String::new();
    encode_text(SqlType::Record, &ValueRef::Bytes(record), &mut out);
    out
}

fn values() -> Vec<(&'static str, SqlType, Value)> {
    vec![
        ("", SqlType::Bool, Value::Bool(true)),
        ("a", SqlType::Int8, Value::Int(i64::MIN.into())),
        ("b", SqlType::Numeric, Value::Int(i128::MAX)),
        ("c", SqlType::Numeric, Value::U128(u128::MAX)),
        ("d", SqlType::Float8, Value::Float(-0.5)),
        ("e", SqlType::Numeric, Value::Decimal(150, 2)),
        ("f", SqlType::Numeric, Value::NonFinite(NonFinite::NaN)),
        ("ä b", SqlType::Text, Value::Text("x \"y\\".into())),
        ("h", SqlType::Bytea, Value::Bytes(vec![0, 255])),
        ("i", SqlType::Date, Value::Date(1)),
        ("j", SqlType::Time, Value::Time(1)),
        ("k", SqlType::Timestamptz, Value::Timestamp(1)),
        ("l", SqlType::Uuid, Value::Uuid([7; 16])),
        ("m", SqlType::Text, Value::Null),
    ]
}

#[test]
fn fields_are_read_as_they_were_written() {
    let given = values();
    let bytes = record(&given);
    let read = fields(&bytes).expect("fields");
    assert_eq!(read.len(), given.len());
    for (field, (name, kind, value)) in read.iter().zip(&given) {
        assert_eq!((field.name, field.kind), (*name, *kind));
        assert_eq!(field.value.to_value(), *value);
    }
    let element = element_text(&bytes);
    assert_eq!(of_element(&element).expect("a record"), bytes);
    for end in 0..bytes.len() {
        assert!(fields(&bytes[..end]).is_err(), "{end}");
    }
}

#[test]
fn texts_have_quotes_as_in_postgresql() {
    let inner = record(&[
        ("f1", SqlType::Int4, Value::Int(1)),
        ("f2", SqlType::Text, Value::Text("y z".into())),
    ]);
    let outer = record(&[
        ("f1", SqlType::Text, Value::Text(String::new())),
        ("f2", SqlType::Text, Value::Null),
        ("f3", SqlType::Text, Value::Text("q\"u\\".into())),
        ("f4", SqlType::Record, Value::Bytes(inner)),
    ]);
    assert_eq!(text(&outer), r#"("",,"q""u\\","(1,""y z"")")"#);
    assert_eq!(text(&record(&[])), "()");
}

#[test]
fn the_binary_format_has_the_types_of_the_fields() {
    let bytes = record(&[
        ("a", SqlType::Int4, Value::Int(1)),
        ("b", SqlType::Text, Value::Text("x".into())),
        ("c", SqlType::Int8, Value::Null),
    ]);
    let mut out = Vec::new();
    let value = ValueRef::Bytes(&bytes);
    encode_binary(SqlType::Record, &value, &mut String::new(), &mut out).expect("a form");
    let mut expected = vec![0, 0, 0, 3];
    expected.extend([0, 0, 0, 23, 0, 0, 0, 4, 0, 0, 0, 1]);
    expected.extend([0, 0, 0, 25, 0, 0, 0, 1, b'x']);
    expected.extend([0, 0, 0, 20, 255, 255, 255, 255]);
    assert_eq!(out, expected);
}

#[test]
fn records_are_ordered_by_their_fields() {
    let of = |a: Value, b: &str| {
        record(&[
            ("a", SqlType::Int4, a),
            ("b", SqlType::Text, Value::Text(b.into())),
        ])
    };
    let sorted = [
        of(Value::Int(-1), "b"),
        of(Value::Int(2), ""),
        of(Value::Int(2), "a"),
        of(Value::Null, ""),
    ];
    for (at, one) in sorted.iter().enumerate() {
        for (other_at, other) in sorted.iter().enumerate() {
            assert_eq!(record_order(one, other).expect("alike"), at.cmp(&other_at));
        }
    }
    let one = record(&[("a", SqlType::Int4, Value::Int(1))]);
    let wide = record(&[("a", SqlType::Int8, Value::Int(1))]);
    let error = record_order(&one, &wide).expect_err("types differ");
    assert_eq!(error.code, code::DATATYPE_MISMATCH);
    assert_ne!(
        record_key(&one).expect("a key"),
        record_key(&wide).expect("a key")
    );
    let error = record_order(&one, &sorted[0]).expect_err("counts differ");
    assert_eq!(error.code, code::DATATYPE_MISMATCH);
    let json = record(&[("a", SqlType::Json, Value::Text("1".into()))]);
    let error = record_order(&json, &json).expect_err("no order");
    assert_eq!(error.code, code::UNKNOWN_FUNCTION);
}

#[test]
fn records_are_nested_to_a_depth() {
    let described = described([("f1", SqlType::Record)].into_iter());
    let mut value = Value::Null;
    for _ in 0..DEPTH_MAX {
        value = made(&described, [value.as_ref()].into_iter()).expect("a record");
    }
    let error = made(&described, [value.as_ref()].into_iter()).expect_err("too deep");
    assert_eq!(error.code, code::TOO_COMPLEX);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = fields(&bytes);
        let _ = record_key(&bytes);
        let _ = text(&bytes);
    }
}
