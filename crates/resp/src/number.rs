//! Numbers as Redis reads and writes them: whole ones of 64 bits in their one spelling, and floats.

use crate::failure::Failure;

/// The longest text of an integer of 64 bits.
pub(crate) const INTEGER_BYTES_MAX: usize = 20;
/// The longest stored text that is a float, as in Redis.
pub(crate) const FLOAT_BYTES_MAX: usize = 5 * 1024 - 1;

#[inline]
pub(crate) fn integer_text(number: i64, buffer: &mut [u8; INTEGER_BYTES_MAX]) -> &[u8] {
    let at = put_integer(number, buffer);
    &buffer[at..]
}

/// The same with a byte before it, as a line.
#[inline]
pub(crate) fn integer_line(
    first: u8,
    number: i64,
    buffer: &mut [u8; INTEGER_BYTES_MAX + 3],
) -> &[u8] {
    let end = INTEGER_BYTES_MAX + 1;
    buffer[end..].copy_from_slice(b"\r\n");
    let at = put_integer(number, &mut buffer[1..end]);
    buffer[at] = first;
    &buffer[at..]
}

/// Writes an integer's text at the buffer's end, which has room for it. Returns its place.
#[inline]
fn put_integer(number: i64, buffer: &mut [u8]) -> usize {
    let mut at = buffer.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    at
}

/// An integer in its one spelling: no plus, no leading zero, no space.
#[inline]
pub(crate) fn parse_integer(text: &[u8]) -> Option<i64> {
    let (digits, negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits == b"0" && !negative {
        return Some(0);
    }
    if digits.len() > 19 || !matches!(digits.first(), Some(b'1'..=b'9')) {
        return None;
    }
    let mut number: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(digit - b'0');
    }
    match negative {
        false => i64::try_from(number).ok(),
        true if number <= i64::MIN.unsigned_abs() => Some(number.wrapping_neg() as i64),
        true => None,
    }
}

/// An integer argument.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Result<i64, Failure> {
    parse_integer(text).ok_or(Failure::NotInteger)
}

/// A float: decimal or hexadecimal are Redis', decimal and the infinities ours. Not "nan".
pub(crate) fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let is_float = |text: &&str| !text.is_empty() && !text.contains(char::is_whitespace);
    let number: f64 = Some(text).filter(is_float)?.parse().ok()?;
    (!number.is_nan()).then_some(number)
}

/// A float argument. Digits that are too large for a float are an error; infinity must be written as such.
pub(crate) fn float(text: &[u8]) -> Result<f64, Failure> {
    let is_meant = |number: &f64| number.is_finite() || !text.iter().any(u8::is_ascii_digit);
    parse_float(text).filter(is_meant).ok_or(Failure::NotFloat)
}

/// Appends a float as Redis 7.2 writes scores: the shortest text that is read as the same number. If its digits are
/// far from the point, the text has an exponent.
pub(crate) fn push_float(text: &mut Vec<u8>, number: f64) {
    if number.is_infinite() {
        text.extend_from_slice(if number > 0.0 { b"inf" } else { b"-inf" });
        return;
    }
    // Whole numbers are written as such as long as all of them are there.
    let whole = number as i64;
    if whole as f64 == number && number.abs() < (1_u64 << 52) as f64 {
        let mut buffer = [0; INTEGER_BYTES_MAX];
        // There is no negative zero among integers.
        if whole == 0 && number.is_sign_negative() {
            text.push(b'-');
        }
        text.extend_from_slice(integer_text(whole, &mut buffer));
        return;
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let count = digits.bytes().filter(u8::is_ascii_digit).count() as i64;
    let exponent: i64 = exponent.parse().unwrap_or(0);
    // The place of the last digit.
    let last = exponent - (count - 1);
    let near = match last < 0 {
        true => last > -7 || exponent.abs() < 4,
        false => exponent < count + 7,
    };
    match near {
        true => text.extend_from_slice(format!("{number}").as_bytes()),
        false => text.extend_from_slice(format!("{digits}e{exponent:+}").as_bytes()),
    }
}

pub(crate) fn float_text(number: f64) -> Vec<u8> {
    let mut text = Vec::new();
    push_float(&mut text, number);
    text
}

/// Digits before the point, and behind it, that decimals are added with: the sum of two has room in 127 bits.
const WHOLE_DIGITS: usize = 20;
const DECIMAL_DIGITS: usize = 17;

/// A decimal in units of its last digit, if it is not too long.
pub(crate) fn parse_decimal(text: &[u8]) -> Option<i128> {
    let (digits, negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    let point = digits.iter().position(|byte| *byte == b'.');
    let (whole, part) = digits.split_at(point.unwrap_or(digits.len()));
    let part = part.get(1..).unwrap_or_default();
    let all = || whole.iter().chain(part);
    if whole.len() > WHOLE_DIGITS || part.len() > DECIMAL_DIGITS || !all().all(u8::is_ascii_digit) {
        return None;
    }
    let units = all().fold(0, |units: i128, digit| {
        units * 10 + i128::from(digit - b'0')
    });
    let units = units * 10_i128.pow((DECIMAL_DIGITS - part.len()) as u32);
    Some(if negative { -units } else { units })
}

pub(crate) fn decimal_text(units: i128) -> Vec<u8> {
    let one = 10_u128.pow(DECIMAL_DIGITS as u32);
    let sign = if units < 0 { "-" } else { "" };
    let (whole, part) = (units.unsigned_abs() / one, units.unsigned_abs() % one);
    let text = format!("{sign}{whole}.{part:0width$}", width = DECIMAL_DIGITS);
    text.trim_end_matches('0')
        .trim_end_matches('.')
        .as_bytes()
        .to_vec()
}

/// A float as `INCRBYFLOAT` writes it: never with an exponent.
pub(crate) fn plain_float_text(number: f64) -> Vec<u8> {
    let text = format!("{number}");
    match text.as_str() {
        "-0" => b"0".to_vec(),
        _ => text.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_read_in_its_one_spelling_only() {
        for number in [0, 1, -1, 42, i64::MAX, i64::MIN, -9_000_000_000_000_000_000] {
            let mut buffer = [0; INTEGER_BYTES_MAX];
            let text = integer_text(number, &mut buffer);
            assert_eq!(text, number.to_string().as_bytes());
            assert_eq!(parse_integer(text), Some(number));
        }
        for wrong in [
            "",
            "-",
            "-0",
            "+1",
            "01",
            " 1",
            "1 ",
            "9223372036854775808",
            "-9223372036854775809",
            "1e3",
            "99999999999999999999",
        ] {
            assert_eq!(parse_integer(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn floats_are_written_as_redis_writes_them() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (1e20, "1e+20"),
            (1e-5, "0.00001"),
            (1.5e-7, "1.5e-7"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (1e100, "1e+100"),
            (-2.25, "-2.25"),
        ] {
            assert_eq!(String::from_utf8_lossy(&float_text(number)), text);
        }
        let sum = |one: &[u8], other: &[u8]| {
            let (one, other) = (parse_decimal(one).unwrap(), parse_decimal(other).unwrap());
            String::from_utf8(decimal_text(one + other)).unwrap()
        };
        assert_eq!(sum(b"0.1", b"0.2"), "0.3");
        assert_eq!(sum(b"-1.5", b"1"), "-0.5");
        assert_eq!(sum(b"-1", b"1"), "0");
        assert_eq!(sum(b"10", b"90"), "100");
        assert_eq!(sum(b"123456789012345678", b"1"), "123456789012345679");
        let most = [b'9'; WHOLE_DIGITS];
        assert_eq!(sum(&most, &most), "199999999999999999998");
        assert!(parse_decimal(&[b'9'; WHOLE_DIGITS + 1]).is_none());
        assert!(parse_decimal(b"1e3").is_none() && parse_decimal(b"inf").is_none());
        assert_eq!(plain_float_text(1e21), b"1000000000000000000000");
        assert!(
            parse_float(b"nan").is_none()
                && parse_float(b"").is_none()
                && parse_float(b" 1").is_none()
        );
        assert!(float(b"1e400").is_err() && float(b"-1e400").is_err() && float(b"-inf").is_ok());
        assert_eq!(parse_float(b"-inf"), Some(f64::NEG_INFINITY));
    }
}
