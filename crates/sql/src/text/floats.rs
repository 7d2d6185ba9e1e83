//! Floats as texts: the shortest digits that read as the same number, as PostgreSQL chooses and lays them out.
//!
//! Rust's shortest digits differ in two cases. Digits halfway between two floats are not taken by PostgreSQL, whose readers
//! may not round ties to even. Of two texts of equal length and distance PostgreSQL writes the even one.

use std::fmt::Write;

/// The shortest digits that read as the same number, as PostgreSQL lays them out.
pub(super) fn encode_float(value: f64, is_single: bool, out: &mut String) {
    if value.is_nan() {
        out.push_str("NaN");
        return;
    }
    if value.is_infinite() {
        out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
        return;
    }
    let (mut text, digits_max) = match is_single {
        true => (format!("{:e}", value as f32), 6),
        false => (format!("{value:e}"), 15),
    };
    let exponent = text.split_once('e').map_or("0", |(_, exponent)| exponent);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits_of = |text: &str| {
        let digits = text.bytes().take_while(|byte| *byte != b'e');
        digits.filter(u8::is_ascii_digit).count()
    };
    let may_be_tied = may_be_tied(value);
    if (-4..digits_max).contains(&exponent) {
        let _ = match (is_single, may_be_tied) {
            (_, true) => {
                let behind = digits_of(&text) as i32 - 1 - exponent;
                let behind = usize::try_from(behind).unwrap_or(0);
                let even = format!("{value:.behind$}");
                match reads_as(&even, value, is_single) {
                    true => write!(out, "{even}"),
                    false if is_single => write!(out, "{}", value as f32),
                    false => write!(out, "{value}"),
                }
            }
            (true, false) => write!(out, "{}", value as f32),
            (false, false) => write!(out, "{value}"),
        };
        return;
    }
    if may_be_tied {
        let behind = digits_of(&text) - 1;
        let even = format!("{value:.behind$e}");
        if reads_as(&even, value, is_single) {
            text = even;
        }
    }
    // Digits between two floats read as one of them only where ties are rounded to even: PostgreSQL writes more.
    let bits = if is_single { 25 } else { 54 };
    while is_between_floats(&text, bits) {
        let more = digits_of(&text);
        text = format!("{value:.more$e}");
    }
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs());
}

/// True for a number with few binary digits behind the point, which may lie halfway between two texts of equal length:
/// PostgreSQL writes the even one.
fn may_be_tied(value: f64) -> bool {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let exponent = (bits >> FRACTION_BITS & 0x7ff) as i32 - 1023;
    let trailing = (bits | 1 << FRACTION_BITS).trailing_zeros();
    (2..=20).contains(&((FRACTION_BITS - trailing) as i32 - exponent))
}

/// True if a text reads as a float.
fn reads_as(text: &str, value: f64, is_single: bool) -> bool {
    match is_single {
        true => text.parse() == Ok(value as f32),
        false => text.parse() == Ok(value),
    }
}

/// True for the digits of a number halfway between two floats: its binary form has this number of bits, one more than they.
fn is_between_floats(text: &str, bits: u32) -> bool {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = digits.trim_start_matches('-');
    let fraction = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    let whole: String = digits.chars().filter(|digit| *digit != '.').collect();
    let exponent = exponent.parse::<i32>().unwrap_or(0) - fraction as i32;
    let Ok(mut number) = whole.parse::<u128>() else {
        return false;
    };
    // Powers of five decide: those of two only move the point.
    for _ in 0..exponent.unsigned_abs() {
        let next = match exponent > 0 {
            true => number.checked_mul(5).filter(|number| *number < 1 << 100),
            false => (number % 5 == 0).then_some(number / 5),
        };
        let Some(next) = next else {
            return false;
        };
        number = next;
    }
    number != 0 && u128::BITS - number.leading_zeros() - number.trailing_zeros() == bits
}
