//! Values as text, in one form for all readers and writers: conditions, the command's tables, CSV.
//!
//! | type | text |
//! | --- | --- |
//! | bool | `true`, `false` |
//! | integers | digits, with `-` if negative |
//! | floats | the shortest digits that read as the same number; `inf`, `-inf`, `NaN` |
//! | decimal | all digits behind the point that the scale has: `12.50`; `NaN`, `Infinity`, `-Infinity` |
//! | bytes, plain data | hexadecimal digits |
//! | date, time, timestamp | `2026-01-31`, `23:59:59.000001`, `2026-01-31T23:59:59Z` |
//! | UUID | `67e55044-10b1-426f-9247-bb680e5fe0c8` |
//!
//! [`parse_value`] reads the output of [`ValueRef`] as the same value of the column's type. A null has no text of its
//! own: it prints as nothing, and the format around it distinguishes it from an empty text.

mod calendar;

pub(crate) use calendar::DAY;
pub use calendar::{add_months, date_of, days_of};
pub(crate) use calendar::{parse_date, parse_time, parse_timestamp};

use crate::schema::{NonFinite, Type, VALUE_BYTES_MAX, Value, ValueRef};
use sardonyx_base::error::{CrateError, Error, Kind};
use std::fmt;

/// The reason why a text is no value of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a value of type {kind}: {reason}")]
pub struct ValueTextError {
    /// The type that the text was read as.
    pub kind: Type,
    /// A half sentence that ends the message.
    pub reason: &'static str,
}

/// So `"2026-11-29".parse::<Date>()?` works in a transaction's closure.
impl CrateError for ValueTextError {
    fn kind(&self) -> Kind {
        Error::Refused
    }
}

impl ValueTextError {
    pub(crate) fn of_another_type(kind: Type) -> Self {
        let reason = "it is one of another type";
        ValueTextError { kind, reason }
    }
}

/// Reads a value of a type.
///
/// # Errors
/// [`ValueTextError`] if the text is no value of the type, or is out of its range.
pub fn parse_value(text: &str, kind: Type) -> Result<Value, ValueTextError> {
    let wrong = |reason| ValueTextError { kind, reason };
    let integer = || signed(text).ok_or(wrong("an integer is expected"));
    let within = |value| match kind.integer_range() {
        Some((low, high)) if (low..=high).contains(&value) => Ok(Value::Int(value)),
        _ => Err(wrong("out of range")),
    };
    match kind {
        Type::Bool => match text {
            "true" | "TRUE" | "True" | "t" | "1" => Ok(Value::Bool(true)),
            "false" | "FALSE" | "False" | "f" | "0" => Ok(Value::Bool(false)),
            _ => Err(wrong("true or false is expected")),
        },
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::I128 => within(integer()?),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => within(integer()?),
        Type::U128 => match text.parse() {
            Ok(value) => Ok(Value::U128(value)),
            Err(_) => Err(wrong("an integer from 0 to 2^128 - 1 is expected")),
        },
        Type::F32 => match text.parse::<f32>() {
            Ok(value) => Ok(Value::Float(value.into())),
            Err(_) => Err(wrong("a number is expected")),
        },
        Type::F64 => match text.parse() {
            Ok(value) => Ok(Value::Float(value)),
            Err(_) => Err(wrong("a number is expected")),
        },
        Type::Decimal { scale } => {
            if let Some(value) = NonFinite::parse(text) {
                return Ok(Value::NonFinite(value));
            }
            let (units, digits) =
                parse_decimal(text).ok_or(wrong("a number of at most 38 digits is expected"))?;
            let units = rescale(units, digits, scale).map_err(wrong)?;
            if NonFinite::of_units(units).is_some() {
                return Err(wrong("too many digits"));
            }
            Ok(Value::Decimal(units, scale))
        }
        Type::Text if text.len() <= VALUE_BYTES_MAX => Ok(Value::Text(text.to_string())),
        Type::Text => Err(wrong("longer than a row's text may be")),
        Type::Bytes => {
            let bytes =
                parse_hexadecimal(text).ok_or(wrong("pairs of hexadecimal digits are expected"))?;
            match bytes.len() <= VALUE_BYTES_MAX {
                true => Ok(Value::Bytes(bytes)),
                false => Err(wrong("longer than a row's bytes may be")),
            }
        }
        Type::Date => match parse_date(text) {
            Some(days) => Ok(Value::Date(days)),
            None => Err(wrong("a date such as 2026-01-31 is expected")),
        },
        Type::Time => match parse_time(text) {
            Some(time) => Ok(Value::Time(time)),
            None => Err(wrong("a time such as 23:59:59.5 is expected")),
        },
        Type::Timestamp => match parse_timestamp(text) {
            Some(time) => Ok(Value::Timestamp(time)),
            None => Err(wrong(
                "a timestamp such as 2026-01-31T23:59:59Z is expected",
            )),
        },
        Type::Uuid => match parse_uuid(text) {
            Some(bytes) => Ok(Value::Uuid(bytes)),
            None => Err(wrong("32 hexadecimal digits are expected, as in a UUID")),
        },
        Type::Plain { bytes, .. } => match parse_hexadecimal(text) {
            Some(value) if value.len() == bytes as usize => Ok(Value::Bytes(value)),
            _ => Err(wrong(
                "as many pairs of hexadecimal digits as it has bytes are expected",
            )),
        },
    }
}

impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ValueRef::Null => Ok(()),
            ValueRef::Bool(value) => f.write_str(if value { "true" } else { "false" }),
            // Much faster than the 128 bits, and nearly always.
            ValueRef::Int(value) => match i64::try_from(value) {
                Ok(value) => write!(f, "{value}"),
                Err(_) => write!(f, "{value}"),
            },
            ValueRef::U128(value) => write!(f, "{value}"),
            ValueRef::Float(value) => write!(f, "{value}"),
            ValueRef::Decimal(units, scale) => write_decimal(f, units, scale),
            ValueRef::NonFinite(value) => f.write_str(value.name()),
            ValueRef::Text(text) => f.write_str(text),
            ValueRef::Bytes(bytes) => write_hexadecimal(f, bytes),
            ValueRef::Date(days) => calendar::write_date(f, days.into()),
            ValueRef::Time(time) => calendar::write_time(f, time),
            ValueRef::Timestamp(time) => calendar::write_timestamp(f, time),
            ValueRef::Uuid(bytes) => {
                for (part, range) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
                    f.write_str(if part == 0 { "" } else { "-" })?;
                    write_hexadecimal(f, bytes.get(range).unwrap_or_default())?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// An integer; the usual ones without arithmetic of 128 bits.
fn signed(text: &str) -> Option<i128> {
    if text.len() < 19 {
        return text.parse::<i64>().ok().map(i128::from);
    }
    text.parse().ok()
}

fn write_decimal(f: &mut fmt::Formatter<'_>, units: i128, scale: u8) -> fmt::Result {
    let sign = if units < 0 { "-" } else { "" };
    let units = units.unsigned_abs();
    let width = usize::from(scale);
    if scale == 0 {
        return write!(f, "{sign}{units}");
    }
    let split = |power: u32| {
        10_u128
            .checked_pow(power)
            .map(|power| (units / power, units % power))
    };
    match split(scale.into()) {
        Some((whole, fraction)) => match (u64::try_from(whole), u64::try_from(fraction)) {
            (Ok(whole), Ok(fraction)) => write!(f, "{sign}{whole}.{fraction:0width$}"),
            _ => write!(f, "{sign}{whole}.{fraction:0width$}"),
        },
        // Beyond the digits that a decimal can have: all of them are behind the point.
        None => write!(f, "{sign}0.{units:0width$}"),
    }
}

/// The units and the digits behind the point.
pub(crate) fn parse_decimal(text: &str) -> Option<(i128, u8)> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let negative = text.starts_with('-');
    let (mut units, mut scale, mut point, mut digits) = (0_i128, 0_u8, false, 0);
    for byte in unsigned.bytes() {
        match byte {
            b'0'..=b'9' => {
                let digit = i128::from(byte - b'0');
                let digit = if negative { -digit } else { digit };
                units = units.checked_mul(10)?.checked_add(digit)?;
                digits += 1;
                scale = scale.checked_add(u8::from(point))?;
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    (digits > 0 && scale <= 38).then_some((units, scale))
}

/// Units of one scale as units of another.
///
/// # Errors
/// The reason, if they cannot be: digits would be lost, or there are too many.
pub fn rescale(units: i128, from: u8, to: u8) -> Result<i128, &'static str> {
    if from == to {
        return Ok(units);
    }
    if let (Ok(short), Some(power)) = (i64::try_from(units), short_power(to.wrapping_sub(from))) {
        // No product of two such is too large.
        return Ok(i128::from(short) * i128::from(power));
    }
    let power = |digits: u8| 10_i128.checked_pow(digits.into()).ok_or("too many digits");
    if to >= from {
        return units
            .checked_mul(power(to - from)?)
            .ok_or("too many digits");
    }
    let divisor = power(from - to)?;
    match units % divisor {
        0 => Ok(units / divisor),
        _ => Err("more digits behind the point than the column has"),
    }
}

/// A power of ten that has no more than 64 bits.
pub(crate) fn short_power(digits: u8) -> Option<i64> {
    const POWERS: [i64; 19] = {
        let mut powers = [1; 19];
        let mut digits = 1;
        while digits < powers.len() {
            powers[digits] = powers[digits - 1] * 10;
            digits += 1;
        }
        powers
    };
    POWERS.get(usize::from(digits)).copied()
}

fn write_hexadecimal(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for byte in bytes {
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

/// The bytes of pairs of hexadecimal digits.
pub(crate) fn parse_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match *pair {
            [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
            _ => None,
        })
        .collect()
}

/// 32 hexadecimal digits, with a hyphen wherever a UUID has one, or without any.
pub(crate) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let hyphens = [8, 13, 18, 23];
    let plain = text.len() == 32;
    if !plain
        && (text.len() != 36
            || hyphens
                .iter()
                .any(|&at| text.as_bytes().get(at) != Some(&b'-')))
    {
        return None;
    }
    let digits: String = text.chars().filter(|&digit| digit != '-').collect();
    parse_hexadecimal(&digits)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = (Type, Value)> {
        let uuid = any::<[u8; 16]>().prop_map(|uuid| (Type::Uuid, Value::Uuid(uuid)));
        prop_oneof![
            any::<i64>().prop_map(|int| (Type::I64, Value::Int(int.into()))),
            any::<i128>().prop_map(|int| (Type::I128, Value::Int(int))),
            any::<u128>().prop_map(|int| (Type::U128, Value::U128(int))),
            any::<f64>().prop_map(|float| (Type::F64, Value::Float(float))),
            any::<f32>().prop_map(|float| (Type::F32, Value::Float(float.into()))),
            (any::<i128>(), 0..=38_u8)
                .prop_map(|(units, scale)| (Type::Decimal { scale }, Value::Decimal(units, scale))),
            prop::sample::select(vec![
                NonFinite::NaN,
                NonFinite::Infinity,
                NonFinite::NegativeInfinity
            ])
            .prop_map(|value| (Type::Decimal { scale: 5 }, Value::NonFinite(value))),
            any::<String>().prop_map(|text| (Type::Text, Value::Text(text))),
            any::<Vec<u8>>().prop_map(|bytes| (Type::Bytes, Value::Bytes(bytes))),
            any::<i32>().prop_map(|days| (Type::Date, Value::Date(days))),
            (0..calendar::DAY).prop_map(|time| (Type::Time, Value::Time(time))),
            any::<i64>().prop_map(|time| (Type::Timestamp, Value::Timestamp(time))),
            uuid,
        ]
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_as_the_same_value((kind, value) in values()) {
            let text = value.to_string();
            let read = parse_value(&text, kind);
            match (&value, &read) {
                (Value::Float(a), Ok(Value::Float(b))) if a.is_nan() => prop_assert!(b.is_nan()),
                _ => prop_assert_eq!(read.as_ref(), Ok(&value), "{} of {}", text, kind),
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text: String, scale in 0..=38_u8) {
            for kind in [Type::I8, Type::U64, Type::F32, Type::Decimal { scale }, Type::Bytes, Type::Date,
                Type::Time, Type::Timestamp, Type::Uuid] {
                let _ = parse_value(&text, kind);
            }
        }
    }

    #[test]
    fn known_days() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("1969-12-31", -1),
            ("0000-03-01", -719_468),
        ] {
            assert_eq!(parse_date(text), Some(days), "{text}");
            assert_eq!(Value::Date(days).to_string(), text);
        }
        for text in [
            "2026-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-1-1",
            "26-01-01",
            "2026-01-01x",
            "",
            "12345-01-01",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        assert_eq!(
            parse_timestamp("1970-01-01T02:00:00.5+02:00"),
            Some(500_000)
        );
        assert_eq!(parse_timestamp("1970-01-01 00:00"), Some(0));
        assert_eq!(parse_time("24:00:00"), None);
    }
}
