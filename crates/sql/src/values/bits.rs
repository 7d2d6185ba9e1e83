//! Strings of bits, `bit` and `bit varying`, as PostgreSQL reads, writes and casts them. A value is a text of `0` and `1`:
//! its order by bytes is that of PostgreSQL, which compares bits from the left, and then lengths.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/varbit.c`.

use super::arithmetic::within;
use crate::error::{SqlError, code, malformed};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::{VALUE_BYTES_MAX, Value, ValueRef};

/// The error of two strings of other lengths, or of one that its type does not have.
pub(crate) const LENGTH_MISMATCH: &str = "22026";

/// The value of a text of bits.
pub(crate) fn value(bits: String) -> Value {
    Value::Text(bits)
}

/// Reads bits from PostgreSQL's text format: digits of the base 2, perhaps behind `b`, or of 16 behind `x`.
///
/// # Errors
/// `22P02`; `54000` for more bits than a value has.
pub(crate) fn read(text: &str) -> Result<Value, SqlError> {
    let (digits, is_hexadecimal) = match text.as_bytes().first() {
        Some(b'x' | b'X') => (text.get(1..), true),
        Some(b'b' | b'B') => (text.get(1..), false),
        _ => (Some(text), false),
    };
    let digits = digits.unwrap_or_default();
    let count = digits.len() * if is_hexadecimal { 4 } else { 1 };
    if count > VALUE_BYTES_MAX {
        let text = format!("a string of bits has at most {VALUE_BYTES_MAX} bits");
        return Err(SqlError::new(code::PROGRAM_LIMIT, text));
    }
    let mut bits = String::with_capacity(count);
    for digit in digits.chars() {
        match (is_hexadecimal, digit.to_digit(16)) {
            (true, Some(four)) => bits.push_str(&format!("{four:04b}")),
            (false, Some(0 | 1)) => bits.push(digit),
            _ => {
                let kind = if is_hexadecimal {
                    "hexadecimal"
                } else {
                    "binary"
                };
                let text = format!("\"{digit}\" is not a valid {kind} digit");
                return Err(SqlError::new(code::INVALID_TEXT, text));
            }
        }
    }
    Ok(value(bits))
}

/// A value cast to a type of bits. One that is asked for cuts bits, and fills a `bit(n)` with zeros.
///
/// # Errors
/// `22026` and `22001` for another length; `42846` for a value of a type without such a cast.
pub(crate) fn cast(
    given: ValueRef<'_>,
    from: SqlType,
    to: TypeSpec,
    explicit: bool,
) -> Result<Value, SqlError> {
    let bits = match given {
        ValueRef::Text(bits) if from.is_bits() => bits.to_string(),
        ValueRef::Text(text) if from.is_text() => match read(text)? {
            Value::Text(bits) => bits,
            other => return Ok(other),
        },
        ValueRef::Int(number) if to.kind == SqlType::Bit => return of_number(number, to),
        _ => {
            let text = format!("cannot cast type {} to {}", from.name(), to.kind.name());
            return Err(SqlError::new(code::CANNOT_COERCE, text));
        }
    };
    let Some(length) = to.bits() else {
        return Ok(value(bits));
    };
    if bits.len() == length || to.kind == SqlType::Varbit && bits.len() < length {
        return Ok(value(bits));
    }
    if explicit {
        let kept = bits.get(..length).unwrap_or(&bits);
        return Ok(value(match to.kind {
            // The width of a format has a bound that lengths of bits exceed.
            SqlType::Bit => {
                let missing = length.saturating_sub(kept.len());
                [kept, &"0".repeat(missing)].concat()
            }
            _ => kept.to_string(),
        }));
    }
    Err(match to.kind {
        SqlType::Bit => {
            let given = bits.len();
            let text = format!("bit string length {given} does not match type bit({length})");
            SqlError::new(LENGTH_MISMATCH, text)
        }
        _ => {
            let text = format!("bit string too long for type bit varying({length})");
            SqlError::new(code::STRING_TOO_LONG, text)
        }
    })
}

/// The last bits of a number, with its sign before them.
fn of_number(number: i128, to: TypeSpec) -> Result<Value, SqlError> {
    let length = to.bits().unwrap_or(1);
    let bits = format!("{number:0128b}");
    let sign = if number < 0 { "1" } else { "0" };
    Ok(value(match bits.len().checked_sub(length) {
        Some(before) => bits.get(before..).unwrap_or_default().to_string(),
        None => sign.repeat(length - bits.len()) + &bits,
    }))
}

/// The number whose last bits these are.
///
/// # Errors
/// `22003` for more bits than the type has.
pub(crate) fn to_number(bits: &str, to: SqlType) -> Result<Value, SqlError> {
    let most = if to == SqlType::Int4 { 32 } else { 64 };
    if bits.len() > most {
        return within(i128::MAX, to);
    }
    let digits = bits.bytes();
    let number = digits.fold(0_u64, |before, bit| before << 1 | u64::from(bit == b'1'));
    let number: i128 = match to {
        SqlType::Int4 => (number as u32).cast_signed().into(),
        _ => number.cast_signed().into(),
    };
    Ok(Value::Int(number))
}

/// Two strings of one length, bit by bit.
///
/// # Errors
/// `22026` if their lengths differ.
pub(crate) fn joined(
    one: &str,
    other: &str,
    operator: &str,
    is_set: fn(bool, bool) -> bool,
) -> Result<String, SqlError> {
    if one.len() != other.len() {
        let text = format!("cannot {operator} bit strings of different sizes");
        return Err(SqlError::new(LENGTH_MISMATCH, text));
    }
    let pairs = one.bytes().zip(other.bytes());
    let bits = pairs.map(|(one, other)| match is_set(one == b'1', other == b'1') {
        true => '1',
        false => '0',
    });
    Ok(bits.collect())
}

/// Appends bits in PostgreSQL's binary format: their number, and eight in each byte.
pub(crate) fn send(bits: &str, out: &mut Vec<u8>) {
    out.extend((bits.len() as i32).to_be_bytes());
    for eight in bits.as_bytes().chunks(8) {
        let set = eight.iter().zip((0..8).rev());
        let set = set.map(|(bit, place)| u8::from(*bit == b'1') << place);
        out.push(set.sum());
    }
}

/// Reads bits from PostgreSQL's binary format.
///
/// # Errors
/// `22P03`; `54000` for more bits than a value has.
pub(crate) fn receive(bytes: &[u8]) -> Result<Value, SqlError> {
    let wrong = || malformed("these bytes are no string of bits");
    let (count, bytes) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| wrong())?;
    if bytes.len() != count.div_ceil(8) {
        return Err(wrong());
    }
    if count > VALUE_BYTES_MAX {
        let text = format!("a string of bits has at most {VALUE_BYTES_MAX} bits");
        return Err(SqlError::new(code::PROGRAM_LIMIT, text));
    }
    let mut bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    bits.truncate(count);
    Ok(value(bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_their_last_bits() {
        let of = |number, length| of_number(number, TypeSpec::new(SqlType::Bit, length)).ok();
        assert_eq!(of(44, 10), Some(value("0000101100".into())));
        assert_eq!(of(-2, 3), Some(value("110".into())));
        let minus = "1".repeat(129) + "0";
        assert_eq!(of(-2, 130), Some(value(minus)));
        let back = |bits: &str, kind| to_number(bits, kind).ok();
        assert_eq!(back("101", SqlType::Int4), Some(Value::Int(5)));
        assert_eq!(back(&"1".repeat(32), SqlType::Int4), Some(Value::Int(-1)));
        assert_eq!(back(&"1".repeat(33), SqlType::Int4), None);
        assert_eq!(back(&"1".repeat(64), SqlType::Int8), Some(Value::Int(-1)));
    }

    proptest! {
        #[test]
        fn bits_are_received_as_they_were_sent(bits in "[01]{0,40}") {
            let mut bytes = Vec::new();
            send(&bits, &mut bytes);
            prop_assert_eq!(receive(&bytes).ok(), Some(value(bits)));
        }
    }
}
