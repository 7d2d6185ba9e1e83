//! Functions of numbers, by the rules of their types: floats stay floats, all others are exact.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::types::{SqlType, TypeSpec};
use crate::values::arithmetic::{
    Arithmetic, calculate, decimal_of, float_of, float_out_of_range, float_power, within,
    without_zeros,
};
use crate::values::cast::cast;
use crate::values::exact;
use crate::values::non_finite::{self, is_non_finite};
use crate::values::order_keys::order_key_of;
use sardonyx::schema::{NonFinite, Value, ValueRef};
use sardonyx_rows::condition::compare;
use sardonyx_rows::decimals::{divide_rounded, rounded};
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

pub(super) static TABLE: &[Definition] = functions! {
    abs(INT2) -> INT2, |a, _| within(a.int(0).unsigned_abs().into(), SqlType::Int2), "without its sign";
    abs(INT4) -> INT4, |a, _| within(a.int(0).unsigned_abs().into(), SqlType::Int4), "without its sign";
    abs(INT8) -> INT8, |a, _| within(a.int(0).unsigned_abs().into(), SqlType::Int8), "without its sign";
    abs(NUMERIC) -> NUMERIC, |a, _| absolute(a.value(0)), "without its sign";
    abs(FLOAT4) -> FLOAT4, |a, _| float(a, f64::abs), "without its sign";
    abs(FLOAT8) -> FLOAT8, |a, _| float(a, f64::abs), "without its sign";
    ceil(NUMERIC) -> NUMERIC, |a, _| whole(a, ceil), "least whole number that is not below it";
    ceil(FLOAT8) -> FLOAT8, |a, _| float(a, f64::ceil), "least whole number that is not below it";
    ceiling(NUMERIC) -> NUMERIC, |a, _| whole(a, ceil), "least whole number that is not below it";
    ceiling(FLOAT8) -> FLOAT8, |a, _| float(a, f64::ceil), "least whole number that is not below it";
    div(NUMERIC, NUMERIC) -> NUMERIC, |a, _| of_two(a, exact::whole_quotient, non_finite::quotient), "whole part of the quotient";
    exp(NUMERIC) -> NUMERIC, |a, _| of_one(a, exact::exponential, |value| Ok(non_finite::exponential(value))), "e to its power";
    exp(FLOAT8) -> FLOAT8, |a, _| exponential(float_of(a.value(0))), "e to its power";
    floor(NUMERIC) -> NUMERIC, |a, _| whole(a, i128::div_euclid), "greatest whole number that is not above it";
    floor(FLOAT8) -> FLOAT8, |a, _| float(a, f64::floor), "greatest whole number that is not above it";
    gcd(INT4, INT4) -> INT4, |a, _| within(divisor(a), SqlType::Int4), "greatest common divisor";
    gcd(INT8, INT8) -> INT8, |a, _| within(divisor(a), SqlType::Int8), "greatest common divisor";
    lcm(INT4, INT4) -> INT4, |a, _| within(multiple(a), SqlType::Int4), "least common multiple";
    lcm(INT8, INT8) -> INT8, |a, _| within(multiple(a), SqlType::Int8), "least common multiple";
    ln(NUMERIC) -> NUMERIC, |a, _| of_one(a, exact::natural_logarithm, common_logarithm), "natural logarithm";
    ln(FLOAT8) -> FLOAT8, |a, _| logarithm(float_of(a.value(0)), f64::ln), "natural logarithm";
    log(NUMERIC) -> NUMERIC, |a, _| of_one(a, |number| exact::logarithm((10, 0), number), common_logarithm), "logarithm to base 10";
    log(FLOAT8) -> FLOAT8, |a, _| logarithm(float_of(a.value(0)), f64::log10), "logarithm to base 10";
    log(NUMERIC, NUMERIC) -> NUMERIC, |a, _| of_two(a, exact::logarithm, non_finite::logarithm), "logarithm of the second to the base of the first";
    log10(NUMERIC) -> NUMERIC, |a, _| of_one(a, |number| exact::logarithm((10, 0), number), common_logarithm), "logarithm to base 10";
    log10(FLOAT8) -> FLOAT8, |a, _| logarithm(float_of(a.value(0)), f64::log10), "logarithm to base 10";
    factorial(INT8) -> NUMERIC, |a, _| factorial(a.int(0)), "product of the whole numbers up to it";
    gcd(NUMERIC, NUMERIC) -> NUMERIC, |a, _| common(a, false), "greatest common divisor";
    lcm(NUMERIC, NUMERIC) -> NUMERIC, |a, _| common(a, true), "least common multiple";
    min_scale(NUMERIC) -> INT4, |a, _| digits_behind(a, |(units, scale)| without_zeros(units, scale).1), "digits behind the point that it needs";
    mod(INT2, INT2) -> INT2, |a, _| rest(a, SqlType::Int2), "rest of the division";
    mod(INT4, INT4) -> INT4, |a, _| rest(a, SqlType::Int4), "rest of the division";
    mod(INT8, INT8) -> INT8, |a, _| rest(a, SqlType::Int8), "rest of the division";
    mod(NUMERIC, NUMERIC) -> NUMERIC, |a, _| rest(a, SqlType::Numeric), "rest of the division";
    num_nonnulls(ANY) -> INT4, |a, _| int(a.typed(0).filter(|(_, value)| *value != ValueRef::Null).count()), "number of arguments that are not null", variadic, on_null;
    num_nulls(ANY) -> INT4, |a, _| int(a.typed(0).filter(|(_, value)| *value == ValueRef::Null).count()), "number of arguments that are null", variadic, on_null;
    pow(NUMERIC, NUMERIC) -> NUMERIC, |a, _| numeric_power(a), "first to the power of the second";
    pow(FLOAT8, FLOAT8) -> FLOAT8, |a, _| power(a), "first to the power of the second";
    power(NUMERIC, NUMERIC) -> NUMERIC, |a, _| numeric_power(a), "first to the power of the second";
    power(FLOAT8, FLOAT8) -> FLOAT8, |a, _| power(a), "first to the power of the second";
    random() -> FLOAT8, random, "number from 0 up to, but not, 1", volatile, session;
    round(NUMERIC) -> NUMERIC, |a, _| to_digits(a, true), "nearest whole number, halves away from zero";
    round(FLOAT8) -> FLOAT8, |a, _| float(a, f64::round_ties_even), "nearest whole number, halves to the even one";
    round(NUMERIC, INT4) -> NUMERIC, |a, _| to_digits(a, true), "rounded to so many digits behind the point";
    round(FLOAT8, INT4) -> NUMERIC, |a, _| to_digits(a, true), "as of `numeric`", old;
    scale(NUMERIC) -> INT4, |a, _| digits_behind(a, |(_, scale)| scale), "digits behind the point";
    sign(NUMERIC) -> NUMERIC, |a, _| of_one(a, |(units, _)| Ok(Value::Decimal(units.signum(), 0)), |value| Ok(non_finite::sign(value))), "-1, 0 or 1";
    sign(FLOAT8) -> FLOAT8, |a, _| float(a, sign), "-1, 0 or 1";
    sqrt(NUMERIC) -> NUMERIC, |a, _| of_one(a, exact::root, non_finite::root), "square root";
    sqrt(FLOAT8) -> FLOAT8, |a, _| root(float_of(a.value(0))), "square root";
    trim_scale(NUMERIC) -> NUMERIC, |a, _| of_one(a, short, unchanged), "without zeros at its end";
    trunc(NUMERIC) -> NUMERIC, |a, _| to_digits(a, false), "without what is behind the point";
    trunc(FLOAT8) -> FLOAT8, |a, _| float(a, f64::trunc), "without what is behind the point";
    trunc(NUMERIC, INT4) -> NUMERIC, |a, _| to_digits(a, false), "cut to so many digits behind the point";
    trunc(FLOAT8, INT4) -> NUMERIC, |a, _| to_digits(a, false), "as of `numeric`", old;
    width_bucket(FLOAT8, FLOAT8, FLOAT8, INT4) -> INT4, |a, _| float_bucket(a), "number of the part of a range, of so many equal ones, in which it is";
    width_bucket(NUMERIC, NUMERIC, NUMERIC, INT4) -> INT4, |a, _| bucket(a), "number of the part of a range, of so many equal ones, in which it is";
};

/// `GREATEST`: the type's number, and values of the type.
pub(crate) static GREATEST: Definition = Definition::new(
    "greatest",
    &[INT4, ELEMENT],
    ELEMENT,
    |a, _| extreme(a, Ordering::Greater),
    "",
)
.variadic()
.on_null();

/// `LEAST`: the type's number, and values of the type.
pub(crate) static LEAST: Definition = Definition::new(
    "least",
    &[INT4, ELEMENT],
    ELEMENT,
    |a, _| extreme(a, Ordering::Less),
    "",
)
.variadic()
.on_null();

fn extreme(a: Arguments<'_>, wanted: Ordering) -> Answer {
    let kind = a.kind(0);
    let mut best = ValueRef::Null;
    let mut best_key = None;
    for value in a.all().skip(1) {
        let key = match kind.has_keys() {
            true => order_key_of(kind, value)?,
            false => None,
        };
        let order = match (&key, &best_key) {
            (Some(key), Some(best)) => compare(key.as_ref(), Value::as_ref(best)),
            _ => compare(value, best),
        };
        let is_better = match order {
            Some(order) => order == wanted,
            None => best == ValueRef::Null,
        };
        if is_better {
            (best, best_key) = (value, key);
        }
    }
    Ok(best.to_value())
}

fn too_large() -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, "numeric out of range")
}

fn number(a: Arguments<'_>, at: usize) -> Result<(i128, u8), SqlError> {
    decimal_of(a.value(at)).ok_or_else(too_large)
}

/// A function of a number, and the same of NaN and infinities.
fn of_one(
    a: Arguments<'_>,
    of: impl Fn((i128, u8)) -> Answer,
    of_non_finite: impl Fn(NonFinite) -> Answer,
) -> Answer {
    match a.value(0) {
        ValueRef::NonFinite(value) => of_non_finite(value),
        _ => of(number(a, 0)?),
    }
}

/// A function of two numbers, and the same if one of them is NaN or infinite.
fn of_two(
    a: Arguments<'_>,
    of: impl Fn((i128, u8), (i128, u8)) -> Answer,
    of_non_finite: impl Fn(ValueRef<'_>, ValueRef<'_>) -> Answer,
) -> Answer {
    match is_non_finite(a.value(0)) || is_non_finite(a.value(1)) {
        true => of_non_finite(a.value(0), a.value(1)),
        false => of(number(a, 0)?, number(a, 1)?),
    }
}

fn unchanged(value: NonFinite) -> Answer {
    Ok(Value::NonFinite(value))
}

fn short((units, scale): (i128, u8)) -> Answer {
    let (units, scale) = without_zeros(units, scale);
    Ok(Value::Decimal(units, scale))
}

/// A number of digits; NaN and infinities have none.
fn digits_behind(a: Arguments<'_>, of: impl Fn((i128, u8)) -> u8) -> Answer {
    of_one(a, |number| int(of(number)), |_| Ok(Value::Null))
}

/// The logarithm to any finite base.
fn common_logarithm(of: NonFinite) -> Answer {
    non_finite::logarithm(ValueRef::Decimal(10, 0), ValueRef::NonFinite(of))
}

fn numeric_power(a: Arguments<'_>) -> Answer {
    let of_non_finite =
        |of: ValueRef<'_>, to: ValueRef<'_>| non_finite::calculated(Arithmetic::Power, of, to);
    of_two(a, exact::power, of_non_finite)
}

fn float(a: Arguments<'_>, of: fn(f64) -> f64) -> Answer {
    Ok(Value::Float(of(float_of(a.value(0)))))
}

/// Computes a whole number from the digits of a number and the power of ten that divides them.
fn whole(a: Arguments<'_>, of: fn(i128, i128) -> i128) -> Answer {
    let of = |(units, scale): (i128, u8)| {
        let power = 10_i128.checked_pow(scale.into()).ok_or_else(too_large)?;
        Ok(Value::Decimal(of(units, power), 0))
    };
    of_one(a, of, unchanged)
}

fn absolute(value: ValueRef<'_>) -> Answer {
    if let ValueRef::NonFinite(value) = value {
        return Ok(non_finite::absolute(value));
    }
    let (units, scale) = decimal_of(value).ok_or_else(too_large)?;
    let units = units.checked_abs().ok_or_else(too_large)?;
    Ok(match value {
        ValueRef::Int(_) => Value::Int(units),
        _ => Value::Decimal(units, scale),
    })
}

fn ceil(units: i128, power: i128) -> i128 {
    units.div_euclid(power) + i128::from(units.rem_euclid(power) != 0)
}

/// PostgreSQL's sign of NaN is 0, too.
fn sign(value: f64) -> f64 {
    match value == 0.0 || value.is_nan() {
        true => 0.0,
        false => value.signum(),
    }
}

/// Rounds or truncates to the number of digits behind the point in the second argument; before it if that is negative.
fn to_digits(a: Arguments<'_>, is_rounded: bool) -> Answer {
    let exact = match a.value(0) {
        ValueRef::Float(_) => {
            let to = TypeSpec::plain(SqlType::Numeric);
            cast(a.value(0), SqlType::Float8, to, true)?
        }
        other => other.to_value(),
    };
    if let Value::NonFinite(value) = exact {
        return unchanged(value);
    }
    let (units, scale) = decimal_of(exact.as_ref()).ok_or_else(too_large)?;
    let power = 10_i128.checked_pow(scale.into()).ok_or_else(too_large)?;
    let to = a.int(1);
    if to >= 0 {
        let to = (to.min(38)) as u8;
        let units = match is_rounded || to >= scale {
            true => rounded(units, scale, to),
            false => 10_i128
                .checked_pow(u32::from(scale - to))
                .map(|power| units / power),
        };
        return Ok(Value::Decimal(units.ok_or_else(too_large)?, to));
    }
    let zero = Ok(Value::Decimal(0, 0));
    let zeros = u32::try_from(to.unsigned_abs()).unwrap_or(u32::MAX);
    let Some(unit) = 10_i128.checked_pow(zeros) else {
        return zero;
    };
    let Some(divisor) = unit.checked_mul(power) else {
        return zero;
    };
    let count = match is_rounded {
        true => divide_rounded(units, divisor),
        false => units / divisor,
    };
    let units = count.checked_mul(unit).ok_or_else(too_large)?;
    Ok(Value::Decimal(units, 0))
}

fn divisor(a: Arguments<'_>) -> i128 {
    let (mut x, mut y) = (i128::from(a.int(0)).abs(), i128::from(a.int(1)).abs());
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x
}

fn multiple(a: Arguments<'_>) -> i128 {
    match divisor(a) {
        0 => 0,
        divisor => (i128::from(a.int(0)) / divisor * i128::from(a.int(1))).abs(),
    }
}

/// The factorial of a number: at most 38 digits.
fn factorial(of: i64) -> Answer {
    if of < 0 {
        let text = "factorial of a negative number is undefined";
        return Err(SqlError::new(code::OUT_OF_RANGE, text));
    }
    let overflow = || SqlError::new(code::OUT_OF_RANGE, "value overflows numeric format");
    let mut product = 1_i128;
    for factor in 2..=of {
        product = product.checked_mul(factor.into()).ok_or_else(overflow)?;
    }
    Ok(Value::Decimal(product, 0))
}

/// The greatest common divisor, or the least common multiple, of two decimals.
fn common(a: Arguments<'_>, is_multiple: bool) -> Answer {
    if is_non_finite(a.value(0)) || is_non_finite(a.value(1)) {
        return Ok(Value::NonFinite(NonFinite::NaN));
    }
    let (one, other) = (number(a, 0)?, number(a, 1)?);
    let scale = one.1.max(other.1);
    let units = |of: (i128, u8)| rounded(of.0, of.1, scale).ok_or_else(too_large);
    let (one, other) = (units(one)?, units(other)?);
    let (mut x, mut y) = (one.unsigned_abs(), other.unsigned_abs());
    while y != 0 {
        (x, y) = (y, x % y);
    }
    let result = match (is_multiple, x) {
        (false, divisor) => Some(divisor),
        (true, 0) => Some(0),
        (true, divisor) => (one.unsigned_abs() / divisor).checked_mul(other.unsigned_abs()),
    };
    let result = result.and_then(|result| i128::try_from(result).ok());
    let overflow = || SqlError::new(code::OUT_OF_RANGE, "value overflows numeric format");
    result
        .map(|units| Value::Decimal(units, scale))
        .ok_or_else(overflow)
}

/// The error of invalid arguments of `width_bucket`.
fn wrong_bucket(message: &str) -> SqlError {
    SqlError::new("2201G", message)
}

fn bucket_count(a: Arguments<'_>) -> Result<i64, SqlError> {
    match a.int(3) {
        count @ 1.. => Ok(count),
        _ => Err(wrong_bucket("count must be greater than zero")),
    }
}

/// The number of a part, which may be one above all.
fn bucket_number(number: i64) -> Answer {
    match i32::try_from(number) {
        Ok(number) => int(number),
        Err(_) => Err(SqlError::new(code::OUT_OF_RANGE, "integer out of range")),
    }
}

fn float_bucket(a: Arguments<'_>) -> Answer {
    let count = bucket_count(a)?;
    let (value, low, high) = (
        float_of(a.value(0)),
        float_of(a.value(1)),
        float_of(a.value(2)),
    );
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(wrong_bucket(
            "operand, lower bound, and upper bound cannot be NaN",
        ));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(wrong_bucket("lower and upper bounds must be finite"));
    }
    // If the distance of the bounds is no float, that of their halves is one.
    let part = |above: f64, from: f64, to: f64| match (to - from).is_finite() {
        true => (above - from) / (to - from),
        false => (above / 2.0 - from / 2.0) / (to / 2.0 - from / 2.0),
    };
    let share = match low.partial_cmp(&high) {
        Some(Ordering::Less) if value < low => return int(0),
        Some(Ordering::Less) if value >= high => return bucket_number(count + 1),
        Some(Ordering::Less) => part(value, low, high),
        Some(Ordering::Greater) if value > low => return int(0),
        Some(Ordering::Greater) if value <= high => return bucket_number(count + 1),
        Some(Ordering::Greater) => part(-value, -low, -high),
        _ => return Err(wrong_bucket("lower bound cannot equal upper bound")),
    };
    // A rounded share may reach the end.
    let below = ((share * count as f64) as i64).min(count - 1);
    bucket_number(below + 1)
}

fn bucket(a: Arguments<'_>) -> Answer {
    let count = bucket_count(a)?;
    let is_nan = |at| a.value(at) == ValueRef::NonFinite(NonFinite::NaN);
    if is_nan(0) || is_nan(1) || is_nan(2) {
        return Err(wrong_bucket(
            "operand, lower bound, and upper bound cannot be NaN",
        ));
    }
    if is_non_finite(a.value(1)) || is_non_finite(a.value(2)) {
        return Err(wrong_bucket("lower and upper bounds must be finite"));
    }
    if let ValueRef::NonFinite(value) = a.value(0) {
        let is_above = value == NonFinite::Infinity;
        return match compare(a.value(1), a.value(2)) {
            Some(Ordering::Less) if is_above => bucket_number(count + 1),
            Some(Ordering::Greater) if !is_above => bucket_number(count + 1),
            Some(Ordering::Less | Ordering::Greater) => int(0),
            _ => Err(wrong_bucket("lower bound cannot equal upper bound")),
        };
    }
    let (value, low, high) = (number(a, 0)?, number(a, 1)?, number(a, 2)?);
    let scale = value.1.max(low.1).max(high.1);
    let units = |of: (i128, u8)| rounded(of.0, of.1, scale).ok_or_else(too_large);
    let (mut value, mut low, mut high) = (units(value)?, units(low)?, units(high)?);
    if low == high {
        return Err(wrong_bucket("lower bound cannot equal upper bound"));
    }
    if low > high {
        (value, low, high) = (-value, -low, -high);
    }
    if value < low {
        return int(0);
    }
    if value >= high {
        return bucket_number(count + 1);
    }
    let above = value.checked_sub(low);
    let width = high.checked_sub(low).ok_or_else(too_large)?;
    let above = above.and_then(|above| above.checked_mul(count.into()));
    let below = above.ok_or_else(too_large)? / width;
    bucket_number(below as i64 + 1)
}

fn rest(a: Arguments<'_>, kind: SqlType) -> Answer {
    calculate(Arithmetic::Modulo, kind, a.value(0), a.value(1))
}

fn power(a: Arguments<'_>) -> Answer {
    float_power(float_of(a.value(0)), float_of(a.value(1))).map(Value::Float)
}

fn root(x: f64) -> Answer {
    match x < 0.0 {
        true => Err(SqlError::new(
            "2201F",
            "cannot take square root of a negative number",
        )),
        false => finite(x, x.sqrt()),
    }
}

fn logarithm(x: f64, of: fn(f64) -> f64) -> Answer {
    let wrong = |message: &str| Err(SqlError::new("2201E", message));
    if x == 0.0 {
        return wrong("cannot take logarithm of zero");
    }
    match x < 0.0 {
        true => wrong("cannot take logarithm of a negative number"),
        false => finite(x, of(x)),
    }
}

fn exponential(x: f64) -> Answer {
    match x.exp() == 0.0 && x.is_finite() {
        true => Err(float_out_of_range("underflow")),
        false => finite(x, x.exp()),
    }
}

/// A function's value, unless it is infinite for a finite number.
fn finite(of: f64, value: f64) -> Answer {
    match value.is_infinite() && of.is_finite() {
        true => Err(float_out_of_range("overflow")),
        false => Ok(Value::Float(value)),
    }
}

fn random(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    if let Some(seeded) = with.context.settings.borrow_mut().next_random() {
        return Ok(Value::Float(seeded));
    }
    let bits = random_bits(with) >> 11;
    Ok(Value::Float(bits as f64 / (1_u64 << 53) as f64))
}

/// Unpredictable bits, which are the same when the statement is run again.
pub(super) fn random_bits(with: &Environment<'_>) -> u64 {
    let context = with.context;
    let number = context.made.get();
    context.made.set(number + 1);
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(context.seed[0]);
    hasher.write_u64(number);
    hasher.write_u64(context.seed[1]);
    hasher.finish()
}
