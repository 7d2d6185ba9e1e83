//! Functions of `numeric` with rounded results: roots, powers, exponentials and logarithms. They have as many digits
//! behind the point as in PostgreSQL: at least 16 significant ones. If a result needs more than 38 digits in all, it
//! has as many as fit.
//!
//! Source: the scales of results in PostgreSQL 15, `numeric_sqrt`, `numeric_exp`, `numeric_ln`, `log_var`, `power_var`.

use super::arithmetic::{Arithmetic, without_zeros};
use super::big::Big;
use crate::error::{SqlError, code};
use crate::types::FREE_SCALE;
use sardonyx::schema::{NonFinite, Value};
use std::f64::consts::LOG10_E;

/// A decimal: units, and digits behind the point.
pub(crate) type Decimal = (i128, u8);

/// The least significant digits of a result.
const DIGITS_MIN: i32 = 16;
/// The most digits behind the point.
const SCALE_MAX: i32 = 38;
/// Exponents of ten beyond which a result is zero, or too large.
const EXPONENT_MAX: f64 = 60.0;

fn overflow() -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, "value overflows numeric format")
}

fn power_undefined(message: &str) -> SqlError {
    SqlError::new("2201F", message)
}

/// A number with the given digits behind the point, or with as many as fit.
///
/// # Errors
/// `22003` if it is too large.
pub(crate) fn given(value: &Big, scale: i32) -> Result<Value, SqlError> {
    let fitting = fitting(value, scale).ok_or_else(overflow)?;
    Ok(Value::Decimal(fitting.0, fitting.1))
}

fn fitting(value: &Big, scale: i32) -> Option<Decimal> {
    let mut scale = scale.clamp(0, SCALE_MAX) as u8;
    loop {
        match value.rounded(scale) {
            Some(units) if NonFinite::of_units(units).is_none() => return Some((units, scale)),
            _ => scale = scale.checked_sub(1)?,
        }
    }
}

/// The product of two numbers with all their digits; `None` if it has too many. Zeros at the end of a column without a
/// scale are no digits.
pub(crate) fn product(one: Decimal, other: Decimal) -> Option<Decimal> {
    let own = |(units, scale): Decimal| match scale {
        FREE_SCALE => without_zeros(units, scale),
        scale => (units, scale),
    };
    let ((a, x), (b, y)) = (own(one), own(other));
    let product = match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    };
    match product {
        Some(product) if i32::from(x + y) <= SCALE_MAX => Some((product, x + y)),
        // Zeros at the ends take no digits.
        _ => {
            let ((a, x), (b, y)) = (without_zeros(a, x), without_zeros(b, y));
            let product = a.checked_mul(b)?;
            (i32::from(x + y) <= SCALE_MAX).then_some((product, x + y))
        }
    }
}

/// The sum, the difference or the product of two numbers, rounded to as many digits behind the point as fit; `None` if
/// the whole part does not.
#[cold]
pub(crate) fn with_fewer_digits(
    operation: Arithmetic,
    one: Decimal,
    other: Decimal,
) -> Option<Decimal> {
    let (a, b) = (big(one), big(other));
    let (x, y) = (i32::from(one.1), i32::from(other.1));
    match operation {
        Arithmetic::Multiply => fitting(&a.times(&b), x + y),
        Arithmetic::Subtract => fitting(&a.minus(&b), x.max(y)),
        _ => fitting(&a.plus(&b), x.max(y)),
    }
}

/// The digits behind the point for enough significant ones, and for those of the arguments.
fn scale_for(exponent: i32, arguments: &[Decimal]) -> i32 {
    let shown = arguments.iter().map(|(_, scale)| i32::from(*scale));
    (DIGITS_MIN - exponent).max(shown.max().unwrap_or(0)).max(0)
}

/// The first digits of a number, in at most the given groups of four that are counted from the point, and their power
/// of ten.
fn first_digits((units, scale): Decimal, groups: i32) -> (f64, i32) {
    let magnitude = units.unsigned_abs();
    let digits = magnitude.checked_ilog10().unwrap_or(0) as i32 + 1;
    let first = (digits - i32::from(scale) - 1).div_euclid(4);
    let lowest = (first + 1 - groups) * 4;
    let dropped = lowest + i32::from(scale);
    match dropped {
        1.. => {
            let power = 10_u128.checked_pow(dropped.unsigned_abs());
            (power.map_or(0, |power| magnitude / power) as f64, lowest)
        }
        _ => (magnitude as f64, -i32::from(scale)),
    }
}

/// The exponent of ten of a positive number's logarithm, roughly (`estimate_ln_dweight`).
fn logarithm_exponent(number: Decimal) -> i32 {
    let (units, scale) = number;
    let from_one = 10_i128
        .checked_pow(scale.into())
        .and_then(|one| Some((units.checked_sub(one)?.unsigned_abs(), one.unsigned_abs())));
    if let Some((distance, one)) = from_one
        && distance.saturating_mul(10) <= one
    {
        let digits = distance.checked_ilog10();
        return digits.map_or(0, |digits| digits as i32 - i32::from(scale));
    }
    let (digits, exponent) = first_digits(number, 2);
    let logarithm = digits.ln() + f64::from(exponent) * std::f64::consts::LN_10;
    logarithm.abs().log10() as i32
}

fn check_logarithm((units, _): Decimal) -> Result<(), SqlError> {
    match units {
        0 => Err(SqlError::new("2201E", "cannot take logarithm of zero")),
        ..0 => Err(SqlError::new(
            "2201E",
            "cannot take logarithm of a negative number",
        )),
        _ => Ok(()),
    }
}

fn big((units, scale): Decimal) -> Big {
    Big::of(units, scale)
}

/// The square root.
///
/// # Errors
/// `2201F` of a negative number.
pub(crate) fn root(number: Decimal) -> Result<Value, SqlError> {
    let (units, scale) = number;
    if units < 0 {
        let text = "cannot take square root of a negative number";
        return Err(power_undefined(text));
    }
    let digits = units
        .unsigned_abs()
        .checked_ilog10()
        .map_or(0, |d| d as i32 + 1);
    let weight = match units {
        0 => 0,
        _ => (digits - i32::from(scale) - 1).div_euclid(4),
    };
    given(&big(number).root(), scale_for(weight * 2 + 1, &[number]))
}

/// `e` to a power.
///
/// # Errors
/// `22003` if it is too large.
pub(crate) fn exponential(number: Decimal) -> Result<Value, SqlError> {
    let argument = big(number);
    let exponent = argument.to_float() * LOG10_E;
    let scale = scale_for(exponent.clamp(-2000.0, 2000.0) as i32, &[number]);
    match exponent {
        _ if exponent > EXPONENT_MAX => Err(overflow()),
        _ if exponent < -EXPONENT_MAX => given(&Big::of(0, 0), scale),
        _ => given(&argument.exponential(), scale),
    }
}

/// The natural logarithm.
///
/// # Errors
/// `2201E` of a number that is not positive.
pub(crate) fn natural_logarithm(number: Decimal) -> Result<Value, SqlError> {
    check_logarithm(number)?;
    let scale = scale_for(logarithm_exponent(number), &[number]);
    given(&big(number).logarithm(), scale)
}

/// The logarithm to a base.
///
/// # Errors
/// `2201E` of a number that is not positive, `22012` to the base 1.
pub(crate) fn logarithm(base: Decimal, number: Decimal) -> Result<Value, SqlError> {
    check_logarithm(base)?;
    check_logarithm(number)?;
    let exponent = logarithm_exponent(number) - logarithm_exponent(base);
    let below = big(base).logarithm();
    if below.is_zero() {
        return Err(super::arithmetic::division_by_zero());
    }
    let value = big(number).logarithm().over(&below);
    given(&value, scale_for(exponent, &[base, number]))
}

/// A number to a power.
///
/// # Errors
/// `2201F` if it is not a real number, `22003` if it is too large.
pub(crate) fn power(base: Decimal, exponent: Decimal) -> Result<Value, SqlError> {
    if base.0 == 0 && exponent.0 < 0 {
        let text = "zero raised to a negative power is undefined";
        return Err(power_undefined(text));
    }
    let whole = match without_zeros(exponent.0, exponent.1) {
        (whole, 0) => Some(whole),
        _ => None,
    };
    match whole.and_then(|whole| i32::try_from(whole).ok()) {
        Some(times) => whole_power(base, times),
        None => real_power(base, exponent, whole),
    }
}

fn whole_power(base: Decimal, times: i32) -> Result<Value, SqlError> {
    let estimate = match base.0 {
        0 => 0.0,
        _ => {
            let (digits, exponent) = first_digits(base, 4);
            f64::from(times) * (digits.log10() + f64::from(exponent))
        }
    };
    let scale = scale_for(0, &[base]);
    if estimate > EXPONENT_MAX {
        return Err(overflow());
    }
    if estimate < -EXPONENT_MAX {
        return given(&Big::of(0, 0), scale);
    }
    let number = match times {
        ..0 => Big::of(1, 0).over(&big(base)),
        _ => big(base),
    };
    given(&number.to_the(times.unsigned_abs()), scale)
}

/// The whole quotient, truncated.
///
/// # Errors
/// `22012` by zero, `22003` if it is too large.
pub(crate) fn whole_quotient(number: Decimal, divisor: Decimal) -> Result<Value, SqlError> {
    if divisor.0 == 0 {
        return Err(super::arithmetic::division_by_zero());
    }
    // Units of one scale: the quotient needs no digits behind the point.
    let scale = number.1.max(divisor.1);
    let units = |of: Decimal| sardonyx_rows::decimals::rounded(of.0, of.1, scale);
    match (units(number), units(divisor)) {
        (Some(number), Some(divisor)) => Ok(Value::Decimal(number.wrapping_div(divisor), 0)),
        _ => {
            let quotient = big(number).over(&big(divisor));
            quotient
                .truncated()
                .map(|whole| Value::Decimal(whole, 0))
                .ok_or_else(overflow)
        }
    }
}

fn real_power(base: Decimal, exponent: Decimal, whole: Option<i128>) -> Result<Value, SqlError> {
    if base.0 == 0 {
        return given(&Big::of(0, 0), DIGITS_MIN);
    }
    if base.0 < 0 && whole.is_none() {
        let text = "a negative number raised to a non-integer power yields a complex result";
        return Err(power_undefined(text));
    }
    let is_negative = base.0 < 0 && whole.is_some_and(|whole| whole % 2 != 0);
    let magnitude = Big::of(base.0.saturating_abs(), base.1);
    let product = magnitude.logarithm().times(&big(exponent));
    let estimate = product.to_float() * LOG10_E;
    let scale = scale_for(estimate.clamp(-2000.0, 2000.0) as i32, &[base, exponent]);
    let value = match estimate {
        _ if estimate > EXPONENT_MAX => return Err(overflow()),
        _ if estimate < -EXPONENT_MAX => Big::of(0, 0),
        _ => product.exponential(),
    };
    match is_negative {
        true => given(&value.negated(), scale),
        false => given(&value, scale),
    }
}
