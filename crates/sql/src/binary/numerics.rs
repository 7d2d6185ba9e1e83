//! `numeric` in binary: digits to the base of 10,000, the weight of the first, a sign, and the digits behind the point.

use crate::error::{SqlError, code, malformed};
use sardonyx::schema::{NonFinite, Value};

/// The most digits of a numeric: as many as 128 bits hold.
const DIGITS_MAX: u16 = 38;
const NEGATIVE: u16 = 0x4000;
const NOT_A_NUMBER: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// Appends units of a scale, four decimal digits at a time, the first at its weight.
pub(super) fn write(units: i128, scale: u8, out: &mut Vec<u8>) {
    let fraction = usize::from(scale);
    // Shifted so that the point is between two digits to the base of 10,000.
    let padding = (4 - fraction % 4) % 4;
    let digits = units.unsigned_abs().to_string();
    let digits = format!("{digits}{}", "0".repeat(padding));
    let lead = (4 - digits.len() % 4) % 4;
    let digits = format!("{}{digits}", "0".repeat(lead));
    let behind = (fraction + padding) / 4;
    let of_group = |group: &[u8]| {
        let digits = group.iter();
        digits.fold(0, |sum, digit| sum * 10 + i16::from(digit - b'0'))
    };
    let mut groups: Vec<i16> = digits.as_bytes().chunks(4).map(of_group).collect();
    let mut weight = groups.len() as i16 - behind as i16 - 1;
    let zeroes = groups.iter().take_while(|group| **group == 0).count();
    groups.drain(..zeroes);
    weight -= zeroes as i16;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    out.extend((groups.len() as i16).to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.extend(if units < 0 { NEGATIVE } else { 0 }.to_be_bytes());
    out.extend(u16::from(scale).to_be_bytes());
    out.extend(groups.iter().flat_map(|group| group.to_be_bytes()));
}

/// Appends NaN or an infinity: a sign without digits.
pub(super) fn write_non_finite(value: NonFinite, out: &mut Vec<u8>) {
    // PostgreSQL sends infinities with 32 digits behind the point.
    let (sign, scale) = match value {
        NonFinite::NaN => (NOT_A_NUMBER, 0),
        NonFinite::Infinity => (INFINITY, 32),
        NonFinite::NegativeInfinity => (NEGATIVE_INFINITY, 32),
    };
    let words: [u16; 4] = [0, 0, sign, scale];
    out.extend(words.iter().flat_map(|word| word.to_be_bytes()));
}

/// Reads one.
///
/// # Errors
/// `22P03` if it is none, `22003` if it has more digits than a number here.
pub(super) fn read(bytes: &[u8]) -> Result<Value, SqlError> {
    let words = |bytes: &[u8]| {
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u16::from_be_bytes(*word))
            .collect::<Vec<_>>()
    };
    let (head, digits) = bytes
        .split_at_checked(8)
        .ok_or_else(|| malformed("a numeric has at least 8 bytes"))?;
    let [count, weight, sign, scale] = words(head)[..] else {
        return Err(malformed("a numeric has at least 8 bytes"));
    };
    if digits.len() != usize::from(count) * 2 {
        return Err(malformed(format!(
            "a numeric of {count} digits has {} bytes",
            bytes.len()
        )));
    }
    let is_negative = match sign {
        0 => false,
        NEGATIVE => true,
        // Their digits do not count.
        NOT_A_NUMBER => return Ok(Value::NonFinite(NonFinite::NaN)),
        INFINITY => return Ok(Value::NonFinite(NonFinite::Infinity)),
        NEGATIVE_INFINITY => return Ok(Value::NonFinite(NonFinite::NegativeInfinity)),
        _ => return Err(malformed("invalid sign in external \"numeric\" value")),
    };
    let groups = words(digits);
    if groups.iter().any(|group| *group >= 10_000) {
        return Err(malformed("invalid digit in external \"numeric\" value"));
    }
    let too_long = || {
        SqlError::new(
            code::OUT_OF_RANGE,
            format!("a number has more than {DIGITS_MAX} digits"),
        )
    };
    if scale > DIGITS_MAX {
        return Err(too_long());
    }
    let units = units(&groups, i32::from(weight as i16), i32::from(scale)).ok_or_else(too_long)?;
    let units = if is_negative { -units } else { units };
    Ok(Value::Decimal(units, scale as u8))
}

/// The units of a scale; `None` if there are too many. Digits behind the scale are dropped.
fn units(groups: &[u16], weight: i32, scale: i32) -> Option<i128> {
    let mut units: i128 = 0;
    for (place, group) in (0..).zip(groups) {
        let exponent: i32 = 4 * (weight - place) + scale;
        let group = i128::from(*group);
        let power = 10_i128.checked_pow(exponent.unsigned_abs());
        let shifted = match (exponent < 0, power) {
            (_, None) if exponent < 0 || group == 0 => 0,
            (true, Some(power)) => group / power,
            (_, power) => group.checked_mul(power?)?,
        };
        units = units.checked_add(shifted)?;
    }
    Some(units)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(units: i128, scale: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(units, scale, &mut bytes);
        bytes
    }

    #[test]
    fn a_numeric_as_postgresql_sends_it() {
        // select numeric_send(12345.678), (-0.5), 0, 10000
        let expected = [
            (12_345_678, 3, "0003000100000003000109291a7c"),
            (-5, 1, "0001ffff400000011388"),
            (0, 2, "0000000000000002"),
            (10_000, 0, "00010001000000000001"),
        ];
        for (units, scale, hex) in expected {
            let bytes = written(units, scale);
            let shown: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(shown, hex, "{units} {scale}");
        }
    }

    #[test]
    fn values_that_are_no_numbers_are_sent_as_postgresql_sends_them() {
        let expected = [
            (NonFinite::NaN, "00000000c0000000"),
            (NonFinite::Infinity, "00000000d0000020"),
            (NonFinite::NegativeInfinity, "00000000f0000020"),
        ];
        for (value, hex) in expected {
            let mut bytes = Vec::new();
            write_non_finite(value, &mut bytes);
            let shown: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(shown, hex, "{value}");
            assert_eq!(read(&bytes).ok(), Some(Value::NonFinite(value)));
        }
    }

    #[test]
    fn other_numbers_are_refused_by_their_codes() {
        let of = |words: [u16; 5]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            read(&bytes).map_err(|error| error.code)
        };
        assert_eq!(of([1, 0, 0, 0, 7]), Ok(Value::Decimal(7, 0)));
        assert_eq!(of([1, 0, 0, 0, 10_000]), Err(code::INVALID_BINARY));
        assert_eq!(of([2, 0, 0, 0, 7]), Err(code::INVALID_BINARY));
        assert_eq!(of([1, 0, 1, 0, 7]), Err(code::INVALID_BINARY));
        let nan = Value::NonFinite(NonFinite::NaN);
        assert_eq!(of([1, 0, 0xc000, 0, 7]), Ok(nan));
        let below = Value::NonFinite(NonFinite::NegativeInfinity);
        assert_eq!(of([1, 0, 0xf000, 0, 7]), Ok(below));
        assert_eq!(of([1, 0, 0xe000, 0, 7]), Err(code::INVALID_BINARY));
        assert_eq!(of([1, 0, 0, 39, 7]), Err(code::OUT_OF_RANGE));
        assert_eq!(of([1, 30, 0, 0, 7]), Err(code::OUT_OF_RANGE));
        assert_eq!(of([1, 30, 0, 0, 0]), Ok(Value::Decimal(0, 0)));
        assert_eq!(of([1, -30_i16 as u16, 0, 2, 7]), Ok(Value::Decimal(0, 2)));
    }

    proptest! {
        #[test]
        fn a_numeric_is_read_as_it_was_written(units in -10i128.pow(30)..10i128.pow(30), scale in 0u8..30) {
            let read = read(&written(units, scale));
            prop_assert_eq!(read.ok(), Some(Value::Decimal(units, scale)));
        }
    }
}
