//! The values that ranges are of, as bytes in the order of the values.
//!
//! Whole numbers, days and moments have a fixed length, with the most significant byte first and the sign turned. A number
//! has its whole part (rounded down) and what is behind the point: a byte that says how many bytes the whole part has,
//! above 128 of one that is not negative and below of one that is; these bytes, turned of a negative one; pairs of digits,
//! each one more than it is, without zeros at the end; a zero. `-Infinity` is `01 00`, `Infinity` `fe 00`, `NaN` `ff 00`.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::schema::{NonFinite, Value, ValueRef};

/// The numbers of the range types in PostgreSQL's catalogue.
const KINDS: [(u32, RangeOf, &str); 6] = [
    (3904, RangeOf::Int4, "int4range"),
    (3906, RangeOf::Numeric, "numrange"),
    (3908, RangeOf::Timestamp, "tsrange"),
    (3910, RangeOf::Timestamptz, "tstzrange"),
    (3912, RangeOf::Date, "daterange"),
    (3926, RangeOf::Int8, "int8range"),
];

/// The first of the days of PostgreSQL's dates, and the one before which they end.
const DAYS_FIRST: i32 = -2_440_588;
const DAYS_END: i32 = 2_145_042_906;
/// The first microsecond of PostgreSQL's timestamps.
const FIRST_MICROSECOND: i64 = DAYS_FIRST as i64 * 86_400_000_000;
/// The most digits behind the point of a number.
const SCALE_MAX: u32 = 38;
/// The first byte of a number whose whole part is 0.
const ZERO: u8 = 128;

/// The type of the values of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeOf {
    /// `int4range`: whole numbers of 32 bits.
    Int4,
    /// `int8range`: whole numbers of 64 bits.
    Int8,
    /// `numrange`: decimals.
    Numeric,
    /// `daterange`: days.
    Date,
    /// `tsrange`: days with times.
    Timestamp,
    /// `tstzrange`: moments.
    Timestamptz,
}

impl RangeOf {
    /// The values of the range type with a number in PostgreSQL's catalogue.
    pub fn of_kind(kind: u32) -> Option<RangeOf> {
        let found = KINDS.iter().find(|(number, ..)| *number == kind);
        found.map(|(_, of, _)| *of)
    }

    /// True for the number of a type of arrays of ranges: it is one more than the ranges'.
    pub(crate) fn is_of_arrays(kind: u32) -> bool {
        kind.checked_sub(1).and_then(RangeOf::of_kind).is_some()
    }

    /// The name of the range type in SQL.
    pub fn name(self) -> &'static str {
        let found = KINDS.iter().find(|(_, of, _)| *of == self);
        found.map_or("", |(.., name)| name)
    }

    /// True if each value has a next one.
    pub fn is_discrete(self) -> bool {
        matches!(self, RangeOf::Int4 | RangeOf::Int8 | RangeOf::Date)
    }

    /// The bytes of a value; `None` if it is none of the type.
    #[inline]
    pub fn bytes(self, value: ValueRef<'_>) -> Option<Vec<u8>> {
        Some(match (self, value) {
            (RangeOf::Int4, ValueRef::Int(value)) => of_int4(i32::try_from(value).ok()?),
            (RangeOf::Int8, ValueRef::Int(value)) => of_int8(i64::try_from(value).ok()?),
            (RangeOf::Date, ValueRef::Date(days)) => of_int4(days),
            (RangeOf::Timestamp | RangeOf::Timestamptz, ValueRef::Timestamp(micros)) => {
                of_int8(micros)
            }
            (RangeOf::Numeric, ValueRef::Decimal(units, scale)) => of_decimal(units, scale)?,
            (RangeOf::Numeric, ValueRef::Int(units)) => of_decimal(units, 0)?,
            (RangeOf::Numeric, ValueRef::NonFinite(value)) => vec![of_non_finite(value), 0],
            _ => return None,
        })
    }

    /// The value of bytes that [`RangeOf::bytes`] wrote.
    #[inline]
    pub(super) fn read(self, bytes: &[u8]) -> Option<Value> {
        Some(match self {
            RangeOf::Int4 => Value::Int(int4(bytes)?.into()),
            RangeOf::Int8 => Value::Int(int8(bytes)?.into()),
            RangeOf::Date => Value::Date(int4(bytes)?),
            RangeOf::Timestamp | RangeOf::Timestamptz => Value::Timestamp(int8(bytes)?),
            RangeOf::Numeric => {
                if let Some(value) = non_finite(bytes) {
                    return Some(Value::NonFinite(value));
                }
                let (units, scale, _) = decimal(bytes)?;
                Value::Decimal(units, scale)
            }
        })
    }

    /// True of an infinite day.
    pub(super) fn is_infinite(self, bytes: &[u8]) -> bool {
        self == RangeOf::Date && matches!(int4(bytes), Some(i32::MIN | i32::MAX))
    }

    /// The bytes of the next value; `None` if there is none.
    #[inline]
    pub(super) fn next(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            RangeOf::Int4 => Some(of_int4(int4(bytes)?.checked_add(1)?)),
            RangeOf::Int8 => Some(of_int8(int8(bytes)?.checked_add(1)?)),
            RangeOf::Date => {
                let next = int4(bytes)?.checked_add(1)?;
                (next < DAYS_END).then(|| of_int4(next))
            }
            _ => None,
        }
    }

    /// False of days and moments that PostgreSQL has not: they have no text that is read again.
    pub(super) fn is_known(self, bytes: &[u8]) -> bool {
        match self {
            RangeOf::Date => {
                let days = int4(bytes);
                self.is_infinite(bytes)
                    || days.is_some_and(|days| (DAYS_FIRST..DAYS_END).contains(&days))
            }
            RangeOf::Timestamp | RangeOf::Timestamptz => {
                int8(bytes).is_some_and(|micros| micros == i64::MIN || micros >= FIRST_MICROSECOND)
            }
            _ => true,
        }
    }

    /// The bytes of a value, and the byte and the rest behind it; `None` if there is no value, or the byte is no flag.
    pub(super) fn split(self, bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
        let length = match self {
            RangeOf::Int4 | RangeOf::Date => 4,
            RangeOf::Int8 | RangeOf::Timestamp | RangeOf::Timestamptz => 8,
            RangeOf::Numeric if non_finite(bytes).is_some() => 2,
            RangeOf::Numeric => decimal(bytes)?.2,
        };
        let (value, rest) = bytes.split_at_checked(length)?;
        self.is_known(value).then_some(())?;
        match rest {
            [flag @ (0 | 1), rest @ ..] => Some((value, *flag, rest)),
            _ => None,
        }
    }
}

fn of_int4(value: i32) -> Vec<u8> {
    (value as u32 ^ 1 << 31).to_be_bytes().to_vec()
}

fn of_int8(value: i64) -> Vec<u8> {
    (value as u64 ^ 1 << 63).to_be_bytes().to_vec()
}

fn int4(bytes: &[u8]) -> Option<i32> {
    let bits = u32::from_be_bytes(bytes.try_into().ok()?);
    Some((bits ^ 1 << 31) as i32)
}

fn int8(bytes: &[u8]) -> Option<i64> {
    let bits = u64::from_be_bytes(bytes.try_into().ok()?);
    Some((bits ^ 1 << 63) as i64)
}

/// The first byte of a value that is no number: no whole part has so many bytes.
fn of_non_finite(value: NonFinite) -> u8 {
    match value {
        NonFinite::NegativeInfinity => 1,
        NonFinite::Infinity => 254,
        NonFinite::NaN => 255,
    }
}

/// The value that is no number at the beginning of bytes, two of which it has.
fn non_finite(bytes: &[u8]) -> Option<NonFinite> {
    match bytes {
        [1, 0, ..] => Some(NonFinite::NegativeInfinity),
        [254, 0, ..] => Some(NonFinite::Infinity),
        [255, 0, ..] => Some(NonFinite::NaN),
        _ => None,
    }
}

#[inline]
fn of_decimal(units: i128, scale: u8) -> Option<Vec<u8>> {
    let more = SCALE_MAX.checked_sub(scale.into())?;
    let power = 10_i128.pow(scale.into());
    let (whole, behind) = (units.div_euclid(power), units.rem_euclid(power));
    // Of a negative number its complement, which is not.
    let (magnitude, turn) = match whole < 0 {
        true => (!whole as u128, u8::MAX),
        false => (whole as u128, 0),
    };
    let count = 16 - (magnitude.leading_zeros() / 8) as usize;
    let mut bytes = Vec::with_capacity(count + 4);
    bytes.push((ZERO + count as u8) ^ turn);
    let digits = magnitude.to_be_bytes();
    bytes.extend(digits.iter().skip(16 - count).map(|byte| byte ^ turn));
    let mut behind = behind as u128 * 10_u128.pow(more);
    let mut unit = 10_u128.pow(SCALE_MAX);
    while behind > 0 {
        unit /= 100;
        bytes.push((behind / unit) as u8 + 1);
        behind %= unit;
    }
    bytes.push(0);
    Some(bytes)
}

/// The units and the scale of the number at the beginning of bytes, and its length.
fn decimal(bytes: &[u8]) -> Option<(i128, u8, usize)> {
    let (first, rest) = bytes.split_first()?;
    let turn = if *first < ZERO { u8::MAX } else { 0 };
    let count = usize::from((first ^ turn) - ZERO);
    let (whole, rest) = rest.split_at_checked(count)?;
    if count > 16 || whole.first().is_some_and(|byte| byte ^ turn == 0) {
        return None;
    }
    let whole = whole.iter();
    let magnitude = whole.fold(0_u128, |before, byte| before << 8 | u128::from(byte ^ turn));
    let magnitude = i128::try_from(magnitude).ok()?;
    let whole = if turn == 0 { magnitude } else { !magnitude };
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (pairs, _) = rest.split_at_checked(end)?;
    let is_in_form = pairs.len() <= 19
        && pairs.iter().all(|pair| (1..=100).contains(pair))
        && pairs.last() != Some(&1);
    if !is_in_form {
        return None;
    }
    let behind = pairs.iter();
    let behind = behind.fold(0_i128, |before, pair| before * 100 + i128::from(pair - 1));
    let digits = 2 * pairs.len() as u32;
    let (behind, digits) = match pairs.last() {
        Some(last) if (last - 1).is_multiple_of(10) => (behind / 10, digits - 1),
        _ => (behind, digits),
    };
    let power = 10_i128.checked_pow(digits)?;
    // The whole part may be rounded down to a number below the least, with a fraction that brings it back.
    let units = match whole < 0 && behind > 0 {
        true => (whole + 1)
            .checked_mul(power)?
            .checked_add(behind - power)?,
        false => whole.checked_mul(power)?.checked_add(behind)?,
    };
    Some((units, digits as u8, 1 + count + end + 1))
}
