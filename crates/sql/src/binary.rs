//! Values in PostgreSQL's binary format, as its `send` and `recv` functions write and read them.
//!
//! Numbers have the most significant byte first. Dates and times are counted from 2000-01-01. `numeric` has digits to
//! the base of 10,000. Arrays have a header, and a length before each element. A client may send any bytes: a decoder
//! here returns a value or an error.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/` (`date.c`, `timestamp.c`, `numeric.c`, `arrayfuncs.c`).

mod arrays;
mod numerics;
mod ranges;

pub use crate::error::as_text;
use crate::error::{SqlError, code, malformed};
use crate::text::{decode_text, encode_text};
use crate::types::SqlType;
use crate::values::hstore::Hstore;
use crate::values::infinity::is_infinite;
use crate::values::intervals::Interval;
use crate::values::search::{Query, Vector};
use crate::values::{bits, composites, networks, objects, records, zoned_times};
use sardonyx::schema::{Value, ValueRef};

/// The byte before the text of a `jsonb` in the binary format.
const JSONB_VERSION: u8 = 1;
/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// Microseconds between the two.
const EPOCH_MICROSECONDS: i64 = EPOCH_DAYS as i64 * DAY;
/// The days of PostgreSQL's dates, from 1970-01-01: 4714-11-24 BC to 5874897-12-31.
const DAYS: std::ops::Range<i32> = -2_440_588..2_145_042_906;
/// The first microsecond of PostgreSQL's timestamps, from 1970-01-01.
const FIRST_MICROSECOND: i64 = DAYS.start as i64 * DAY;

/// Appends a value in its type's binary format. A null appends nothing: the caller's format marks it. `scratch` is a
/// buffer that the caller reuses.
///
/// # Errors
/// `22P02` if an array has an element that is no value of its type.
pub fn encode_binary(
    kind: SqlType,
    value: &ValueRef<'_>,
    scratch: &mut String,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    match (kind, *value) {
        (_, ValueRef::Null) => {}
        (SqlType::Bool, ValueRef::Bool(value)) => out.push(value.into()),
        (SqlType::Int2, ValueRef::Int(value)) => out.extend((value as i16).to_be_bytes()),
        (SqlType::Int4, ValueRef::Int(value)) => out.extend((value as i32).to_be_bytes()),
        (kind, ValueRef::Int(value)) if kind == SqlType::Oid || kind.is_object() => {
            out.extend((value as u32).to_be_bytes());
        }
        (kind, ValueRef::Bytes(bytes)) if kind.is_object() => {
            out.extend(objects::parts(bytes).0);
        }
        (SqlType::Int8, ValueRef::Int(value)) => out.extend((value as i64).to_be_bytes()),
        (SqlType::Float4, ValueRef::Float(value)) => out.extend((value as f32).to_be_bytes()),
        (SqlType::Float8, ValueRef::Float(value)) => out.extend(value.to_be_bytes()),
        (SqlType::Numeric, ValueRef::Decimal(units, scale)) => numerics::write(units, scale, out),
        (SqlType::Numeric, ValueRef::Int(value)) => numerics::write(value, 0, out),
        (SqlType::Numeric, ValueRef::NonFinite(value)) => numerics::write_non_finite(value, out),
        (SqlType::Bytea, ValueRef::Bytes(bytes)) => out.extend(bytes),
        (SqlType::Date, ValueRef::Date(days)) => {
            let days = match is_infinite(*value) {
                true => days,
                false => days.saturating_sub(EPOCH_DAYS),
            };
            out.extend(days.to_be_bytes());
        }
        (SqlType::Time, ValueRef::Time(time)) => out.extend(time.to_be_bytes()),
        (SqlType::Timestamp | SqlType::Timestamptz, ValueRef::Timestamp(time)) => {
            let time = match is_infinite(*value) {
                true => time,
                false => time.saturating_sub(EPOCH_MICROSECONDS),
            };
            out.extend(time.to_be_bytes());
        }
        (SqlType::Uuid, ValueRef::Uuid(bytes)) => out.extend(bytes),
        (SqlType::Timetz, ValueRef::Bytes(bytes)) => zoned_times::send(bytes, out),
        (SqlType::Bit | SqlType::Varbit, ValueRef::Text(text)) => bits::send(text, out),
        (SqlType::Inet | SqlType::Cidr, ValueRef::Bytes(bytes)) => networks::send(kind, bytes, out),
        (SqlType::Record, ValueRef::Bytes(bytes)) => send_record(bytes, scratch, out)?,
        (kind, ValueRef::Bytes(bytes)) if kind.is_range() => {
            ranges::write(kind, bytes, scratch, out)?;
        }
        (SqlType::Jsonb | SqlType::Jsonpath, ValueRef::Text(text)) => {
            out.push(JSONB_VERSION);
            out.extend(text.as_bytes());
        }
        (SqlType::Tsvector, ValueRef::Text(text)) => Vector::known(text)?.send(out),
        (SqlType::Tsquery, ValueRef::Text(text)) => Query::known(text)?.send(out),
        (SqlType::Hstore, ValueRef::Text(text)) => Hstore::known(text)?.send(out),
        (SqlType::Interval, ValueRef::Text(text)) => {
            let Interval {
                months,
                days,
                micros,
            } = Interval::known(text);
            out.extend(micros.to_be_bytes());
            out.extend(days.to_be_bytes());
            out.extend(months.to_be_bytes());
        }
        // The empty text is the character 0.
        (SqlType::OneChar, ValueRef::Text("")) => out.push(0),
        (SqlType::Composite(of), ValueRef::Text(text)) => match composites::to_record(of, text)? {
            Value::Bytes(record) => send_record(&record, scratch, out)?,
            _ => return Err(malformed("a row without fields")),
        },
        (kind, ValueRef::Text(text)) => match kind.element() {
            Some(element) => arrays::write(kind, element, text, scratch, out)?,
            None => out.extend(text.as_bytes()),
        },
        _ => {
            scratch.clear();
            encode_text(kind, value, scratch);
            out.extend(scratch.as_bytes());
        }
    }
    Ok(())
}

/// Appends a value with its length before it, which is -1 for a null.
///
/// # Errors
/// As [`encode_binary`].
pub(crate) fn encode_field(
    kind: SqlType,
    value: &ValueRef<'_>,
    scratch: &mut String,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    if *value == ValueRef::Null {
        out.extend((-1_i32).to_be_bytes());
        return Ok(());
    }
    let start = out.len();
    out.extend([0; 4]);
    encode_binary(kind, value, scratch, out)?;
    let length = (out.len() - start - 4) as i32;
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Appends a record: the number of its fields, and of each its type, its length and its bytes.
///
/// # Errors
/// `XX001` if the bytes are no record; those of a field.
fn send_record(record: &[u8], scratch: &mut String, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let fields = records::fields(record)?;
    out.extend((fields.len() as i32).to_be_bytes());
    for field in fields {
        out.extend(field.kind.oid().to_be_bytes());
        encode_field(field.kind, &field.value, scratch, out)?;
    }
    Ok(())
}

/// Reads a value of a type, which is not null, from its binary format.
///
/// # Errors
/// `22P03` if the bytes are no such value, `22021` if a text is not UTF-8. `22003` and `22008` if the value is out of
/// the type's range. `42804` if an array has elements of another type.
pub fn decode_binary(kind: SqlType, bytes: &[u8]) -> Result<Value, SqlError> {
    let wrong = || malformed(format!("{} bytes are no {}", bytes.len(), kind.name()));
    if let Some(element) = kind.element() {
        return arrays::read(kind, element, bytes);
    }
    Ok(match kind {
        SqlType::Composite(of) => return arrays::read_row(of, bytes),
        SqlType::Bool => match bytes {
            [byte] => Value::Bool(*byte != 0),
            _ => return Err(wrong()),
        },
        SqlType::Int2 => Value::Int(i16::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into()),
        SqlType::Int4 => Value::Int(i32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into()),
        kind if kind == SqlType::Oid || kind.is_object() => {
            Value::Int(u32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into())
        }
        SqlType::Int8 => Value::Int(i64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into()),
        SqlType::Float4 => {
            Value::Float(f32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into())
        }
        SqlType::Float8 => Value::Float(f64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?)),
        SqlType::Numeric => return numerics::read(bytes),
        SqlType::Bytea => Value::Bytes(bytes.to_vec()),
        SqlType::Date => {
            let days = i32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?);
            if matches!(days, i32::MAX | i32::MIN) {
                return Ok(Value::Date(days));
            }
            let days = days.checked_add(EPOCH_DAYS);
            let days = days.filter(|days| DAYS.contains(days));
            Value::Date(days.ok_or_else(|| beyond("date"))?)
        }
        SqlType::Time => match i64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?) {
            time @ 0..=DAY => Value::Time(time),
            _ => return Err(beyond("time")),
        },
        SqlType::Timestamp | SqlType::Timestamptz => {
            let time = i64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?);
            if matches!(time, i64::MAX | i64::MIN) {
                return Ok(Value::Timestamp(time));
            }
            let time = time.checked_add(EPOCH_MICROSECONDS);
            let time = time.filter(|time| *time >= FIRST_MICROSECOND);
            Value::Timestamp(time.ok_or_else(|| beyond("timestamp"))?)
        }
        SqlType::Jsonb | SqlType::Jsonpath => match bytes {
            [JSONB_VERSION, text @ ..] => return decode_text(kind, as_text(text)?),
            _ => return Err(malformed(format!("this is no version of {}", kind.name()))),
        },
        SqlType::Hstore => Hstore::receive(bytes)?.value(),
        SqlType::Tsvector => Vector::receive(bytes)?.value(),
        SqlType::Tsquery => Query::receive(bytes)?.value(),
        SqlType::Interval => {
            let parts = i128::from_be_bytes(exactly(bytes).ok_or_else(wrong)?);
            let interval = Interval {
                months: parts as i32,
                days: (parts >> 32) as i32,
                micros: (parts >> 64) as i64,
            };
            interval.value()
        }
        SqlType::Uuid => Value::Uuid(exactly(bytes).ok_or_else(wrong)?),
        SqlType::Timetz => {
            return zoned_times::receive(exactly(bytes).ok_or_else(wrong)?);
        }
        SqlType::Inet | SqlType::Cidr => return networks::receive(kind, bytes),
        SqlType::Bit | SqlType::Varbit => return bits::receive(bytes),
        kind if kind.is_range() => return ranges::read(kind, bytes),
        SqlType::OneChar => match bytes {
            [0] => Value::Text(String::new()),
            [byte] if byte.is_ascii() => Value::Text(char::from(*byte).to_string()),
            _ => return Err(wrong()),
        },
        _ => return decode_text(kind, as_text(bytes)?),
    })
}

fn exactly<const BYTES: usize>(bytes: &[u8]) -> Option<[u8; BYTES]> {
    bytes.try_into().ok()
}

#[cold]
fn beyond(what: &str) -> SqlError {
    SqlError::new(code::DATETIME_OVERFLOW, format!("{what} out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(kind: SqlType, value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        encode_binary(kind, &value.as_ref(), &mut String::new(), &mut out).expect("it has a form");
        out
    }

    /// A text of each type.
    const TEXTS: &[(SqlType, &str)] = &[
        (SqlType::Bool, "t"),
        (SqlType::Int2, "-32768"),
        (SqlType::Int4, "2147483647"),
        (SqlType::Int8, "-9223372036854775808"),
        (SqlType::Float4, "1.5"),
        (SqlType::Float8, "-1e-300"),
        (SqlType::Numeric, "-12.50"),
        (SqlType::Text, " ä\"\\{},null "),
        (SqlType::Varchar, "NULL"),
        (SqlType::Char, "x"),
        (SqlType::Name, ""),
        (SqlType::OneChar, "r"),
        (SqlType::Bytea, "\\x00ff"),
        (SqlType::Date, "0044-03-15 BC"),
        (SqlType::Time, "23:59:59.5"),
        (SqlType::Time, "24:00:00"),
        (SqlType::Timetz, "23:59:59.5+05:30"),
        (SqlType::Timestamp, "2026-01-31 23:59:59.000001"),
        (SqlType::Timestamptz, "1969-12-31 23:59:59+00"),
        (SqlType::Uuid, "67e55044-10b1-426f-9247-bb680e5fe0c8"),
        (SqlType::Inet, "192.168.1.5/24"),
        (SqlType::Inet, "2001:db8::1"),
        (SqlType::Cidr, "10.1.0.0/16"),
        (SqlType::Bit, "101"),
        (SqlType::Varbit, ""),
        (SqlType::Varbit, "0000000110000000"),
        (SqlType::Int4Range, "[1,2147483647)"),
        (SqlType::Int8Range, "empty"),
        (SqlType::Int8Range, "(,)"),
        (SqlType::NumRange, "(-1.25,1000000]"),
        (SqlType::DateRange, "[2026-01-31,infinity]"),
        (
            SqlType::TsRange,
            "[\"2026-01-31 23:59:59.000001\",\"2026-02-01 00:00:00\")",
        ),
        (SqlType::TstzRange, "(,\"1969-12-31 23:59:59+00\"]"),
        (SqlType::Hstore, ""),
        (SqlType::Hstore, "\"\"=>\"a\\\"\", \"ä\"=>NULL"),
        (SqlType::Tsvector, ""),
        (SqlType::Tsvector, "'a':1A,2 'b'"),
        (SqlType::Tsquery, ""),
        (SqlType::Tsquery, "'a' & !( 'b':*AC | 'c' ) <2> 'd'"),
        (SqlType::Oid, "4294967295"),
        (SqlType::Regclass, "16384"),
    ];

    #[test]
    fn every_type_is_read_as_it_was_written() {
        for &(kind, text) in TEXTS {
            let value = decode_text(kind, text).expect("it is one");
            let bytes = encoded(kind, &value);
            assert_eq!(decode_binary(kind, &bytes).expect(text), value);
            let short = bytes.get(1..).unwrap_or_default();
            if kind.size() > 0 && kind != SqlType::Name {
                let error = decode_binary(kind, short).expect_err("it is short");
                assert_eq!(error.code, code::INVALID_BINARY, "{kind:?}");
            }
        }
    }

    #[test]
    fn an_object_that_a_client_sees_has_its_number_in_binary_and_its_name_as_text() {
        let value = Value::Bytes(objects::named(23, "integer"));
        assert_eq!(encoded(SqlType::Regtype, &value), 23_u32.to_be_bytes());
        let mut text = String::new();
        encode_text(SqlType::Regtype, &value.as_ref(), &mut text);
        assert_eq!(text, "integer");
    }

    #[test]
    fn arrays_of_every_type_are_read_as_they_were_written() {
        for &(kind, text) in TEXTS {
            let array = kind.array();
            if array.element() != Some(kind) {
                assert!(kind.is_object(), "{kind:?} has no arrays");
                continue;
            }
            let value = decode_text(kind, text).expect("it is one");
            let cases = [vec![], vec![value.as_ref(), ValueRef::Null, value.as_ref()]];
            for case in cases {
                let value = crate::values::arrays::array_of(kind, case.into_iter());
                let bytes = encoded(array, &value);
                assert_eq!(decode_binary(array, &bytes).expect(text), value);
                for end in 0..bytes.len() {
                    assert!(
                        decode_binary(array, &bytes[..end]).is_err(),
                        "{array:?} {end}"
                    );
                }
            }
        }
    }

    #[test]
    fn moments_out_of_range_are_refused() {
        for (kind, bytes) in [
            (SqlType::Date, (i32::MAX - 1).to_be_bytes().to_vec()),
            (SqlType::Date, (i32::MIN + 1).to_be_bytes().to_vec()),
            (SqlType::Time, (-1_i64).to_be_bytes().to_vec()),
            (SqlType::Time, (DAY + 1).to_be_bytes().to_vec()),
            (
                SqlType::Timetz,
                [&(-1_i64).to_be_bytes()[..], &[0; 4]].concat(),
            ),
            (
                SqlType::Timetz,
                [&(DAY + 1).to_be_bytes()[..], &[0; 4]].concat(),
            ),
            (SqlType::Timestamp, (i64::MAX - 1).to_be_bytes().to_vec()),
            (SqlType::Timestamptz, (i64::MIN + 1).to_be_bytes().to_vec()),
        ] {
            let error = decode_binary(kind, &bytes).expect_err("it is out of range");
            assert_eq!(error.code, code::DATETIME_OVERFLOW, "{kind:?}");
        }
    }

    #[test]
    fn zones_too_far_from_utc_are_refused() {
        for (west, is_zone) in [
            (57_599, true),
            (-57_599, true),
            (57_600, false),
            (i32::MIN, false),
        ] {
            let bytes = [&[0; 8][..], &i32::to_be_bytes(west)].concat();
            let read = decode_binary(SqlType::Timetz, &bytes);
            assert_eq!(read.is_ok(), is_zone, "{west}");
            if let Err(error) = read {
                assert_eq!(error.code, code::INVALID_TIME_ZONE, "{west}");
            }
        }
    }

    #[test]
    fn texts_are_utf8_without_the_character_0() {
        for bytes in [&b"\xff"[..], b"a\0"] {
            let error = decode_binary(SqlType::Text, bytes).expect_err("it is no text");
            assert_eq!(error.code, code::INVALID_BYTES);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            for kind in SqlType::all() {
                if let Ok(value) = decode_binary(kind, &bytes)
                    && !matches!(kind, SqlType::Bool | SqlType::Float4 | SqlType::Numeric)
                    && kind != SqlType::Char
                    && !kind.is_network()
                    && !kind.is_bits()
                    && !kind.is_range()
                    && kind.element().is_none()
                    && kind != SqlType::Void
                {
                    prop_assert_eq!(&encoded(kind, &value)[..], &bytes[..], "{}", kind.name());
                }
            }
        }
    }
}
