//! Functions of `information_schema` that read the modifiers of types: lengths, digits and fractions of seconds. Generators of code ask
//! by them. Source: PostgreSQL 15's `information_schema.sql`.

use super::catalogue::type_name;
use super::definition::*;
use crate::expression::Environment;
use crate::types::SqlType;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    _pg_char_max_length(OID, INT4) -> INT4, |a, _| characters(a), "most characters of a type with this modifier";
    _pg_char_octet_length(OID, INT4) -> INT4, |a, _| bytes(a), "most bytes of a text of a type";
    _pg_datetime_precision(OID, INT4) -> INT4, |a, _| fraction(a), "digits behind the seconds of a type";
    _pg_interval_type(OID, INT4) -> TEXT, fields, "fields of a type `interval`";
    _pg_numeric_precision(OID, INT4) -> INT4, |a, _| digits(a), "digits of a number's type, or its bits";
    _pg_numeric_precision_radix(OID, INT4) -> INT4, |a, _| radix(a), "base in which digits of a number's type are counted: 2 or 10";
    _pg_numeric_scale(OID, INT4) -> INT4, |a, _| scale(a), "digits behind the point of a number's type";
};

/// The type and its modifier.
fn given(a: Arguments<'_>) -> (Option<SqlType>, i32) {
    let kind = a.oid(0).and_then(SqlType::from_oid);
    (kind, a.int(1) as i32)
}

fn number(number: i32) -> Answer {
    int(number)
}

fn none() -> Answer {
    Ok(Value::Null)
}

fn characters(a: Arguments<'_>) -> Answer {
    match given(a) {
        (_, -1) => none(),
        (Some(SqlType::Char | SqlType::Varchar), modifier) => number(modifier.saturating_sub(4)),
        (Some(SqlType::Bit | SqlType::Varbit), modifier) => number(modifier),
        _ => none(),
    }
}

fn bytes(a: Arguments<'_>) -> Answer {
    match given(a) {
        (Some(SqlType::Text | SqlType::Char | SqlType::Varchar), -1) => number(1 << 30),
        (Some(SqlType::Char | SqlType::Varchar), modifier) => {
            number(modifier.saturating_sub(4).saturating_mul(4))
        }
        _ => none(),
    }
}

fn fraction(a: Arguments<'_>) -> Answer {
    use SqlType::{Date, Interval, Time, Timestamp, Timestamptz, Timetz};
    match given(a) {
        (Some(Date), _) => number(0),
        (Some(Time | Timetz | Timestamp | Timestamptz), modifier) => {
            number(if modifier < 0 { 6 } else { modifier })
        }
        (Some(Interval), modifier) => match modifier & 0xffff {
            digits if modifier < 0 || digits == 0xffff => number(6),
            digits => number(digits),
        },
        _ => none(),
    }
}

fn fields(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (kind, modifier) = given(a);
    if kind != Some(SqlType::Interval) {
        return none();
    }
    let name = type_name(SqlType::Interval.oid(), modifier, with)?;
    let is_number = |c: char| matches!(c, '(' | ')' | '0'..='9');
    let behind = name.strip_prefix("interval").unwrap_or_default();
    match behind.trim_start_matches(is_number).trim() {
        "" => none(),
        fields => text(fields.to_uppercase()),
    }
}

fn digits(a: Arguments<'_>) -> Answer {
    match given(a) {
        (Some(SqlType::Int2), _) => number(16),
        (Some(SqlType::Int4), _) => number(32),
        (Some(SqlType::Int8), _) => number(64),
        (Some(SqlType::Float4), _) => number(24),
        (Some(SqlType::Float8), _) => number(53),
        (Some(SqlType::Numeric), -1) => none(),
        (Some(SqlType::Numeric), modifier) => number((modifier.wrapping_sub(4) >> 16) & 0xffff),
        _ => none(),
    }
}

fn radix(a: Arguments<'_>) -> Answer {
    use SqlType::{Float4, Float8, Int2, Int4, Int8, Numeric};
    match given(a).0 {
        Some(Int2 | Int4 | Int8 | Float4 | Float8) => number(2),
        Some(Numeric) => number(10),
        _ => none(),
    }
}

fn scale(a: Arguments<'_>) -> Answer {
    match given(a) {
        (Some(SqlType::Int2 | SqlType::Int4 | SqlType::Int8), _) => number(0),
        (Some(SqlType::Numeric), -1) => none(),
        (Some(SqlType::Numeric), modifier) => number(modifier.wrapping_sub(4) & 0xffff),
        _ => none(),
    }
}
