//! Sizes of values, and numbers of bytes as texts with units.

use super::definition::*;
use crate::binary::encode_binary;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::text::{decode_text, text_of};
use crate::types::{SqlType, TypeSpec};
use crate::values::arithmetic::decimal_of;
use crate::values::cast::cast;
use sardonyx::schema::ValueRef;

pub(super) static TABLE: &[Definition] = functions! {
    pg_column_size(ANY) -> INT4, column_size, "bytes of a value: those of its binary form, with 4 for the length where it varies", stable;
    pg_size_bytes(TEXT) -> INT8, |a, _| size_bytes(a.text(0)), "number of bytes of a text with a unit: `1.5 GB`";
    pg_size_pretty(INT8) -> TEXT, |a, _| size_pretty(a.int(0).into(), 0), "number of bytes with a unit";
    pg_size_pretty(NUMERIC) -> TEXT, numeric_size, "number of bytes with a unit";
};

/// The digits of a number take the header of a `numeric` from this to that many bytes.
const NUMERIC_HEADERS: (usize, usize) = (8, 2);

fn column_size(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    let kind = a.kind(0);
    if let Ok(fixed @ 1..) = usize::try_from(kind.size()) {
        return int(fixed);
    }
    let mut bytes = Vec::new();
    encode_binary(kind, &a.value(1), &mut String::new(), &mut bytes)?;
    let (sent, kept) = NUMERIC_HEADERS;
    let header = if kind == SqlType::Numeric {
        sent - kept
    } else {
        0
    };
    int(4 + bytes.len().saturating_sub(header))
}

/// The units, each 1024 times the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

fn behind_digits(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit())
}

fn size_bytes(whole: &str) -> Answer {
    let wrong = || {
        let text = format!("invalid size: \"{whole}\"");
        SqlError::new(code::INVALID_PARAMETER_VALUE, text)
    };
    let blanks = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];
    let start = whole.trim_start_matches(blanks);
    let signed = start.strip_prefix(['-', '+']).unwrap_or(start);
    let mut rest = behind_digits(signed);
    let mut has_digits = rest.len() < signed.len();
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = behind_digits(fraction);
        has_digits |= rest.len() < fraction.len();
    }
    if !has_digits {
        return Err(wrong());
    }
    // An exponent needs digits: `1 EB` is a unit.
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        let behind = behind_digits(digits);
        if behind.len() < digits.len() {
            rest = behind;
        }
    }
    let number = start.strip_suffix(rest).unwrap_or(start);
    let number = decode_text(SqlType::Numeric, number)?;
    let unit = rest.trim_matches(blanks);
    let mut units = UNITS.iter();
    let power = match unit {
        "" => Some(0),
        unit => units.position(|known| known.eq_ignore_ascii_case(unit)),
    };
    let power = power.ok_or_else(|| {
        let hint = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
        wrong()
            .detail(format!("Invalid size unit: \"{unit}\"."))
            .hint(hint)
    })?;
    let (digits, scale) = decimal_of(number.as_ref()).ok_or_else(wrong)?;
    let too_large = || SqlError::new(code::OUT_OF_RANGE, "bigint out of range");
    let bytes = digits
        .checked_mul(1 << (10 * power))
        .ok_or_else(too_large)?;
    let to = TypeSpec::plain(SqlType::Int8);
    cast(ValueRef::Decimal(bytes, scale), SqlType::Numeric, to, true)
}

fn numeric_size(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    if let ValueRef::NonFinite(value) = a.value(0) {
        return text(format!("{value} PB"));
    }
    let (units, scale) = decimal_of(a.value(0)).unwrap_or_default();
    size_pretty(units, scale)
}

/// A number of bytes, in units of `10^-scale`, with the unit from which on it is not long. Bytes alone have a fraction.
fn size_pretty(units: i128, scale: u8) -> Answer {
    let one = 10_i128.pow(u32::from(scale));
    if (units / one).unsigned_abs() < 10 * 1024 {
        let shown = text_of(SqlType::Numeric, ValueRef::Decimal(units, scale));
        return text(format!("{} bytes", shown.unwrap_or_default()));
    }
    // Twice the number of each unit, for rounding.
    let mut doubled = units / one / 512;
    let mut names = ["kB", "MB", "GB", "TB", "PB"].into_iter().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() || doubled.unsigned_abs() < 20 * 1024 - 1 {
            let rounded = (doubled + if doubled < 0 { -1 } else { 1 }) / 2;
            return text(format!("{rounded} {name}"));
        }
        doubled /= 1024;
    }
    text("")
}
