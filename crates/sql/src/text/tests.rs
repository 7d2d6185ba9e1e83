//! Texts of values: floats, bytes, numbers and others, as PostgreSQL writes and reads them.

use super::*;

fn encoded(kind: SqlType, value: Value) -> String {
    let mut text = String::new();
    encode_text(kind, &value.as_ref(), &mut text);
    text
}

#[test]
fn floats_look_as_in_postgresql() {
    for (value, text) in [
        (1.0, "1"),
        (0.1, "0.1"),
        (1e15, "1e+15"),
        (1e23, "9.999999999999999e+22"),
        (-2e23, "-1.9999999999999998e+23"),
        (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-0.0, "-0"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
    ] {
        assert_eq!(encoded(SqlType::Float8, Value::Float(value)), text);
    }
    assert_eq!(
        encoded(SqlType::Float4, Value::Float(f64::from(0.1_f32))),
        "0.1"
    );
    assert_eq!(encoded(SqlType::Float4, Value::Float(1e7)), "1e+07");
    assert_eq!(
        encoded(SqlType::Float4, Value::Float(1.5e10_f32.into())),
        "1.5000001e+10"
    );
    for (value, text) in [
        (-1_298_689.25, "-1.2986892e+06"),
        (1_298_689.75, "1.2986898e+06"),
        (131_072.625, "131072.62"),
        (131_072.375, "131072.38"),
        (0.25, "0.25"),
    ] {
        assert_eq!(encoded(SqlType::Float4, Value::Float(value)), text);
    }
}

#[test]
fn what_is_written_is_read() {
    for (kind, text) in [
        (SqlType::Bool, "t"),
        (SqlType::Int2, "-32768"),
        (SqlType::Numeric, "-12.50"),
        (SqlType::Bytea, "\\x00ff"),
        (SqlType::Date, "2026-01-31"),
        (SqlType::Time, "23:59:59.5"),
        (SqlType::Timetz, "24:00:00-03:30"),
        (SqlType::Timestamp, "2026-01-31 23:59:59.000001"),
        (SqlType::Timestamptz, "2026-01-31 23:59:59+00"),
        (SqlType::Uuid, "67e55044-10b1-426f-9247-bb680e5fe0c8"),
        (SqlType::Text, " a b "),
    ] {
        let value = decode_text(kind, text).expect("it is one");
        assert_eq!(encoded(kind, value), text);
    }
}

#[test]
fn zones_shift_or_are_ignored() {
    let read = |kind| decode_text(kind, "2026-01-31 12:00:00+02");
    let at = |value: Result<Value, SqlError>, kind| encoded(kind, value.expect("it is one"));
    let (with, without) = (SqlType::Timestamptz, SqlType::Timestamp);
    assert_eq!(at(read(with), with), "2026-01-31 10:00:00+00");
    assert_eq!(at(read(without), without), "2026-01-31 12:00:00");
}

#[test]
fn the_whole_text_of_a_date_is_read() {
    use SqlType::{Date, Timestamp, Timestamptz};
    for (kind, text, written) in [
        (Date, "2024-01-01 10:00:00+02", "2024-01-01"),
        (Date, "2024-01-01T10:00:00Z", "2024-01-01"),
        (Date, "2024-01-01 AD", "2024-01-01"),
        (Date, "0044-03-15 BC", "0044-03-15 BC"),
        (Date, "0001-02-29 bc", "0001-02-29 BC"),
        (Date, "10000-01-01", "10000-01-01"),
        (
            Timestamp,
            "0044-03-15 10:00:00.5 BC",
            "0044-03-15 10:00:00.5 BC",
        ),
        (
            Timestamp,
            "2024-01-01 10:00:00-05:30",
            "2024-01-01 10:00:00",
        ),
        (
            Timestamptz,
            "0044-03-15 10:00:00+00 BC",
            "0044-03-15 10:00:00+00 BC",
        ),
        (Timestamptz, "12024-01-01 UTC", "12024-01-01 00:00:00+00"),
    ] {
        let value = decode_text(kind, text).expect(text);
        assert_eq!(encoded(kind, value), written, "{text}");
    }
    for text in [
        "2024-01-01 garbage",
        "2024-01-01garbage",
        "2024-01-01 10:00:00 garbage",
        "2024-01-01 10:00:00+garbage",
        "2024-01-01 10:00:00+02garbage",
        "2024-01-01 10:00:00ZZ",
        "2024-01-01 25:00:00",
        "2024-01-01 XX",
        "2024-01-01 BC garbage",
        "2024-01-01 BC BC",
        "0000-01-01",
        "0000-01-01 BC",
        "-0001-01-01 BC",
        "0005-02-29 BC x",
        "BC",
        "",
    ] {
        for kind in [Date, Timestamp, Timestamptz] {
            let error = decode_text(kind, text).expect_err(text);
            let codes = [code::INVALID_DATETIME, code::DATETIME_OVERFLOW];
            assert!(codes.contains(&error.code), "{kind:?} {text:?}: {error:?}");
        }
    }
}

#[test]
fn errors_have_codes() {
    let code_of = |kind, text| decode_text(kind, text).expect_err("it is none").code;
    assert_eq!(code_of(SqlType::Int4, "3000000000"), code::OUT_OF_RANGE);
    assert_eq!(code_of(SqlType::Int4, "x"), code::INVALID_TEXT);
    assert_eq!(
        code_of(SqlType::Date, "2026-02-30"),
        code::DATETIME_OVERFLOW
    );
    assert_eq!(code_of(SqlType::Date, "garbage"), code::INVALID_DATETIME);
    assert_eq!(code_of(SqlType::Bytea, "\\q"), code::INVALID_TEXT);
    for kind in [SqlType::Text, SqlType::Char, SqlType::TextArray] {
        assert_eq!(code_of(kind, "a\0"), code::INVALID_BYTES);
    }
}
