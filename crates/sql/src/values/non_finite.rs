//! NaN and the infinities of `numeric`: operators and functions of them, by the rules of PostgreSQL 15 (`numeric.c`).
//!
//! Sums and products compute numbers as pairs of units and a scale, in which these values are the units that columns store
//! for them, with the scale 0. Everywhere else they are [`ValueRef::NonFinite`].

use super::arithmetic::{Arithmetic, decimal_of, division_by_zero, without_zeros};
use crate::error::{SqlError, code};
use crate::types::SqlType;
use sardonyx::schema::NonFinite::{Infinity, NaN, NegativeInfinity};
use sardonyx::schema::{NonFinite, Value, ValueRef};

/// A value as PostgreSQL computes with it: the sign of an infinity or a number, or NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    NaN,
    /// -1 or 1.
    Infinite(i8),
    /// -1, 0 or 1.
    Finite(i8),
}

impl Sign {
    fn of(value: ValueRef<'_>) -> Sign {
        match value {
            ValueRef::NonFinite(NaN) => Sign::NaN,
            ValueRef::NonFinite(Infinity) => Sign::Infinite(1),
            ValueRef::NonFinite(NegativeInfinity) => Sign::Infinite(-1),
            other => Sign::Finite(decimal_of(other).map_or(0, |(units, _)| units.signum() as i8)),
        }
    }

    fn number(self) -> i8 {
        match self {
            Sign::NaN => 0,
            Sign::Infinite(sign) | Sign::Finite(sign) => sign,
        }
    }
}

/// True if a value is NaN or infinite.
#[inline]
pub(crate) fn is_non_finite(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::NonFinite(_))
}

fn infinite(sign: i8) -> NonFinite {
    if sign < 0 { NegativeInfinity } else { Infinity }
}

fn other_sign(value: NonFinite) -> NonFinite {
    match value {
        NaN => NaN,
        Infinity => NegativeInfinity,
        NegativeInfinity => Infinity,
    }
}

/// The value with the other sign.
pub(crate) fn negated(value: NonFinite) -> Value {
    Value::NonFinite(other_sign(value))
}

/// The value without its sign.
pub(crate) fn absolute(value: NonFinite) -> Value {
    Value::NonFinite(match value {
        NaN => NaN,
        _ => Infinity,
    })
}

fn sum(left: Sign, right: Sign) -> NonFinite {
    match (left, right) {
        (Sign::NaN, _) | (_, Sign::NaN) => NaN,
        (Sign::Infinite(a), Sign::Infinite(b)) if a != b => NaN,
        (Sign::Infinite(sign), _) | (_, Sign::Infinite(sign)) => infinite(sign),
        _ => NaN,
    }
}

fn product(left: Sign, right: Sign) -> NonFinite {
    match (left, right) {
        (Sign::NaN, _) | (_, Sign::NaN) => NaN,
        _ => match left.number() * right.number() {
            0 => NaN,
            sign => infinite(sign),
        },
    }
}

/// The sum, the difference or the product of two pairs; `None` if both are numbers.
#[inline]
pub(crate) fn of_pairs(
    operation: Arithmetic,
    left: (i128, u8),
    right: (i128, u8),
) -> Option<(i128, u8)> {
    let (a, b) = (NonFinite::of_units(left.0), NonFinite::of_units(right.0));
    match (a, b) {
        (None, None) => None,
        _ => {
            let value = |(units, scale)| ValueRef::decimal(units, scale);
            Some((computed(operation, value(left), value(right)).units(), 0))
        }
    }
}

/// The sum, the difference or the product of values of which one is no number.
#[cold]
fn computed(operation: Arithmetic, left: ValueRef<'_>, right: ValueRef<'_>) -> NonFinite {
    let (left, right) = (Sign::of(left), Sign::of(right));
    match (operation, right) {
        (Arithmetic::Multiply, _) => product(left, right),
        (Arithmetic::Subtract, Sign::Infinite(sign)) => sum(left, Sign::Infinite(-sign)),
        _ => sum(left, right),
    }
}

/// An operation on two values of which one is no number.
///
/// # Errors
/// `22012` if an infinity is divided by zero, `2201F` for a power that is no real number.
#[cold]
pub(crate) fn calculated(
    operation: Arithmetic,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
) -> Result<Value, SqlError> {
    match operation {
        Arithmetic::Divide => quotient(left, right),
        Arithmetic::Modulo => match (Sign::of(left), Sign::of(right)) {
            (Sign::NaN, _) | (_, Sign::NaN) => Ok(Value::NonFinite(NaN)),
            (Sign::Infinite(_), Sign::Finite(0)) => Err(division_by_zero()),
            (Sign::Infinite(_), _) => Ok(Value::NonFinite(NaN)),
            _ => Ok(left.to_value()),
        },
        Arithmetic::Power => power(left, right),
        _ => Ok(Value::NonFinite(computed(operation, left, right))),
    }
}

/// The quotient of values of which one is no number; also its whole part.
///
/// # Errors
/// `22012` if an infinity is divided by zero.
pub(crate) fn quotient(left: ValueRef<'_>, right: ValueRef<'_>) -> Result<Value, SqlError> {
    Ok(match (Sign::of(left), Sign::of(right)) {
        (Sign::NaN, _) | (_, Sign::NaN) | (Sign::Infinite(_), Sign::Infinite(_)) => {
            Value::NonFinite(NaN)
        }
        (Sign::Infinite(_), Sign::Finite(0)) => return Err(division_by_zero()),
        (Sign::Infinite(a), Sign::Finite(b)) => Value::NonFinite(infinite(a * b)),
        _ => Value::Decimal(0, 0),
    })
}

/// The whole number that a value is; infinities are whole to PostgreSQL, and even.
fn whole(value: ValueRef<'_>) -> Option<i128> {
    match value {
        ValueRef::NonFinite(_) => Some(0),
        other => match decimal_of(other).map(|(units, scale)| without_zeros(units, scale)) {
            Some((units, 0)) => Some(units),
            _ => None,
        },
    }
}

/// True if a number is 1 after its sign is removed; with the sign, if that is asked for.
fn is_one(value: ValueRef<'_>, without_sign: bool) -> bool {
    match whole(value) {
        Some(1) => true,
        Some(-1) => without_sign,
        _ => false,
    }
}

/// True if a value is further from zero than 1.
fn is_beyond_one(value: ValueRef<'_>) -> bool {
    let Some((units, scale)) = decimal_of(value) else {
        return true;
    };
    let one = 10_u128.checked_pow(scale.into());
    one.is_some_and(|one| units.unsigned_abs() > one)
}

/// A power of values of which one is no number (`numeric_power`, by the rules of POSIX).
fn power(base: ValueRef<'_>, exponent: ValueRef<'_>) -> Result<Value, SqlError> {
    let (of, to) = (Sign::of(base), Sign::of(exponent));
    let one = || Ok(Value::Decimal(1, 0));
    let zero = || Ok(Value::Decimal(0, 0));
    match (of, to) {
        (Sign::NaN, Sign::Finite(0)) => return one(),
        (Sign::Finite(_), Sign::NaN) if is_one(base, false) => return one(),
        (Sign::NaN, _) | (_, Sign::NaN) => return Ok(Value::NonFinite(NaN)),
        _ => {}
    }
    if of.number() == 0 && to.number() < 0 {
        return Err(undefined("zero raised to a negative power is undefined"));
    }
    if of.number() < 0 && whole(exponent).is_none() {
        return Err(undefined(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    if matches!(of, Sign::Finite(_)) && is_one(base, false) || to.number() == 0 {
        return one();
    }
    if of.number() == 0 {
        return zero();
    }
    if let Sign::Infinite(sign) = to {
        return match (is_one(base, true), is_beyond_one(base) == (sign > 0)) {
            (true, _) if matches!(of, Sign::Finite(_)) => one(),
            (_, true) => Ok(Value::NonFinite(Infinity)),
            (_, false) => zero(),
        };
    }
    let is_odd = whole(exponent).is_some_and(|whole| whole % 2 != 0);
    match (of.number() < 0, to.number() < 0) {
        (_, true) => zero(),
        (true, _) if is_odd => Ok(Value::NonFinite(NegativeInfinity)),
        _ => Ok(Value::NonFinite(Infinity)),
    }
}

fn undefined(message: &str) -> SqlError {
    SqlError::new("2201F", message)
}

/// The square root.
///
/// # Errors
/// `2201F` of the negative infinity.
pub(crate) fn root(value: NonFinite) -> Result<Value, SqlError> {
    match value {
        NegativeInfinity => Err(undefined("cannot take square root of a negative number")),
        other => Ok(Value::NonFinite(other)),
    }
}

/// `e` to a power.
pub(crate) fn exponential(value: NonFinite) -> Value {
    match value {
        NegativeInfinity => Value::Decimal(0, 0),
        other => Value::NonFinite(other),
    }
}

/// The sign of the value as a number; NaN has none.
pub(crate) fn sign(value: NonFinite) -> Value {
    match value {
        NaN => Value::NonFinite(NaN),
        Infinity => Value::Decimal(1, 0),
        NegativeInfinity => Value::Decimal(-1, 0),
    }
}

/// The logarithm to a base of a number, of which one is no number.
///
/// # Errors
/// `2201E` of a number that is not positive.
pub(crate) fn logarithm(base: ValueRef<'_>, number: ValueRef<'_>) -> Result<Value, SqlError> {
    let (of, to) = (Sign::of(base), Sign::of(number));
    if of == Sign::NaN || to == Sign::NaN {
        return Ok(Value::NonFinite(NaN));
    }
    let wrong = |message| Err(SqlError::new("2201E", message));
    if of.number() < 0 || to.number() < 0 {
        return wrong("cannot take logarithm of a negative number");
    }
    if of.number() == 0 || to.number() == 0 {
        return wrong("cannot take logarithm of zero");
    }
    Ok(match (of, to) {
        (Sign::Infinite(_), Sign::Infinite(_)) => Value::NonFinite(NaN),
        (Sign::Infinite(_), _) => Value::Decimal(0, 0),
        _ => Value::NonFinite(Infinity),
    })
}

/// The error of a cast to a type of whole numbers.
#[cold]
pub(crate) fn no_integer(value: NonFinite, to: SqlType) -> SqlError {
    let name = match value {
        NaN => "NaN",
        _ => "infinity",
    };
    SqlError::new(
        code::FEATURE_NOT_SUPPORTED,
        format!("cannot convert {name} to {}", to.name()),
    )
}
