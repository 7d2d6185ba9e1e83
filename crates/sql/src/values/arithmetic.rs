//! Operators of numbers and dates, by the rules of PostgreSQL's types: whole numbers are checked against their width, a
//! `numeric` has up to 38 digits.

use super::exact;
use super::infinity::{finite, infinite_moment, is_infinite};
use super::intervals::Interval;
use super::non_finite::{self, is_non_finite};
use super::zones::SessionZone;
use crate::error::{SqlError, code};
use crate::types::SqlType;
use sardonyx::schema::{NonFinite, Value, ValueRef};
use sardonyx_rows::decimals::{divide_rounded, quotient_rounded, rest_of_product};
use sardonyx_rows::value_text::{add_months, rescale};

/// Microseconds of a day.
pub(crate) const DAY: i64 = 86_400_000_000;

/// True for a valid date of PostgreSQL: from 4714-11-24 BC, the first day of the Julian calendar, to 5874897-12-31.
pub(crate) fn is_date(date: &Value) -> bool {
    const FIRST: i32 = -2_440_588;
    const LAST: i32 = 2_145_042_905;
    matches!(date, Value::Date(FIRST..=LAST))
}

/// An operation on two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Concatenate,
    /// The days between two dates, or a date and days.
    DateDifference,
    DateAdd,
    DateSubtract,
}

#[cold]
fn overflow(kind: SqlType) -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, format!("{} out of range", kind.name()))
}

#[cold]
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(code::DIVISION_BY_ZERO, "division by zero")
}

/// A number of any type as a float.
pub(crate) fn float_of(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Int(value) => value as f64,
        ValueRef::U128(value) => value as f64,
        ValueRef::Float(value) => value,
        // The digits are parsed: a quotient of two floats would not be the nearest float.
        ValueRef::Decimal(..) => value.to_string().parse().unwrap_or(f64::NAN),
        ValueRef::NonFinite(value) => value.to_float(),
        _ => f64::NAN,
    }
}

/// A number as units and scale; `None` of NaN and infinities, too.
pub(crate) fn decimal_of(value: ValueRef<'_>) -> Option<(i128, u8)> {
    match value {
        ValueRef::Int(value) => Some((value, 0)),
        ValueRef::U128(value) => Some((i128::try_from(value).ok()?, 0)),
        ValueRef::Decimal(units, scale) => Some((units, scale)),
        _ => None,
    }
}

/// Checks that a whole number is in the range of a type.
pub(crate) fn within(value: i128, kind: SqlType) -> Result<Value, SqlError> {
    match kind.integer_range() {
        Some((low, high)) if !(low..=high).contains(&value) => Err(overflow(kind)),
        _ => Ok(Value::Int(value)),
    }
}

/// Computes an operation; null if one side is.
pub(crate) fn calculate(
    operation: Arithmetic,
    kind: SqlType,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
) -> Result<Value, SqlError> {
    if matches!(left, ValueRef::Null) || matches!(right, ValueRef::Null) {
        return Ok(Value::Null);
    }
    match operation {
        Arithmetic::Concatenate => {
            let (ValueRef::Text(left), ValueRef::Text(right)) = (left, right) else {
                return Err(overflow(kind));
            };
            Ok(Value::Text([left, right].concat()))
        }
        Arithmetic::DateDifference | Arithmetic::DateAdd | Arithmetic::DateSubtract => {
            dates(operation, left, right)
        }
        _ => match kind {
            SqlType::Float4 | SqlType::Float8 => floats(operation, kind, left, right),
            SqlType::Numeric => decimals(operation, left, right),
            _ => match (left, right) {
                (ValueRef::Int(left), ValueRef::Int(right)) => {
                    integers(operation, kind, left, right)
                }
                _ => Err(overflow(kind)),
            },
        },
    }
}

fn dates(
    operation: Arithmetic,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
) -> Result<Value, SqlError> {
    let day = |day: i128| match i32::try_from(day).map(Value::Date) {
        Ok(day) if is_date(&day) => Ok(day),
        _ => Err(SqlError::new(code::DATETIME_OVERFLOW, "date out of range")),
    };
    let is_infinite = is_infinite(left) || is_infinite(right);
    match (operation, left, right) {
        (Arithmetic::DateDifference, ..) if is_infinite => Err(SqlError::new(
            code::DATETIME_OVERFLOW,
            "cannot subtract infinite dates",
        )),
        (_, ValueRef::Date(_), _) if is_infinite => Ok(left.to_value()),
        (_, _, ValueRef::Date(_)) if is_infinite => Ok(right.to_value()),
        (Arithmetic::DateDifference, ValueRef::Date(left), ValueRef::Date(right)) => {
            Ok(Value::Int(i128::from(left) - i128::from(right)))
        }
        (Arithmetic::DateAdd, ValueRef::Date(date), ValueRef::Int(days))
        | (Arithmetic::DateAdd, ValueRef::Int(days), ValueRef::Date(date)) => {
            day(i128::from(date).saturating_add(days))
        }
        (Arithmetic::DateSubtract, ValueRef::Date(date), ValueRef::Int(days)) => {
            day(i128::from(date).saturating_sub(days))
        }
        _ => Err(overflow(SqlType::Date)),
    }
}

fn integers(
    operation: Arithmetic,
    kind: SqlType,
    left: i128,
    right: i128,
) -> Result<Value, SqlError> {
    let bits = match kind {
        SqlType::Int2 => 16,
        SqlType::Int8 => 64,
        _ => 32,
    };
    let result = match operation {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Modulo if right == 0 => return Err(division_by_zero()),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Modulo => left.checked_rem(right),
        Arithmetic::And => Some(left & right),
        Arithmetic::Or => Some(left | right),
        Arithmetic::Xor => Some(left ^ right),
        // The count wraps around and the shifted-out bits are lost, as on processors, which shift 32 bits at least.
        Arithmetic::ShiftLeft => {
            let shifted = left << right.rem_euclid(bits.max(32));
            let unused = 128 - bits as u32;
            Some(shifted << unused >> unused)
        }
        Arithmetic::ShiftRight => Some(left >> right.rem_euclid(bits.max(32))),
        _ => None,
    };
    within(result.ok_or_else(|| overflow(kind))?, kind)
}

fn floats(
    operation: Arithmetic,
    kind: SqlType,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
) -> Result<Value, SqlError> {
    let (left, right) = (float_of(left), float_of(right));
    let result = match operation {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide if right == 0.0 && !left.is_nan() => return Err(division_by_zero()),
        Arithmetic::Divide => left / right,
        Arithmetic::Modulo if right == 0.0 => return Err(division_by_zero()),
        Arithmetic::Modulo => left % right,
        _ => return float_power(left, right).map(Value::Float),
    };
    let result = match kind {
        SqlType::Float4 => f64::from(result as f32),
        _ => result,
    };
    if result.is_infinite() && left.is_finite() && right.is_finite() {
        return Err(float_out_of_range("overflow"));
    }
    let is_lost = match operation {
        Arithmetic::Multiply => left != 0.0 && right != 0.0,
        Arithmetic::Divide => left != 0.0 && right.is_finite(),
        _ => false,
    };
    match result == 0.0 && is_lost {
        true => Err(float_out_of_range("underflow")),
        false => Ok(Value::Float(result)),
    }
}

#[cold]
pub(crate) fn float_out_of_range(how: &str) -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, format!("value out of range: {how}"))
}

/// A float to a power.
///
/// # Errors
/// `2201F` if it is not a real number, `22003` if it is too large or too small.
pub(crate) fn float_power(base: f64, exponent: f64) -> Result<f64, SqlError> {
    let undefined = |text| Err(SqlError::new("2201F", text));
    if base == 0.0 && exponent < 0.0 {
        return undefined("zero raised to a negative power is undefined");
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return undefined(
            "a negative number raised to a non-integer power yields a complex result",
        );
    }
    let result = base.powf(exponent);
    if base.is_finite() && exponent.is_finite() {
        if result.is_infinite() {
            return Err(float_out_of_range("overflow"));
        }
        if result == 0.0 && base != 0.0 {
            return Err(float_out_of_range("underflow"));
        }
    }
    Ok(result)
}

fn decimals(
    operation: Arithmetic,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
) -> Result<Value, SqlError> {
    let too_large = || overflow(SqlType::Numeric);
    if is_non_finite(left) || is_non_finite(right) {
        return non_finite::calculated(operation, left, right);
    }
    let (Some((a, x)), Some((b, y))) = (decimal_of(left), decimal_of(right)) else {
        return Err(too_large());
    };
    let result = match operation {
        Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply => {
            Some(sum_or_product(operation, (a, x), (b, y))?)
        }
        Arithmetic::Divide if b == 0 => return Err(division_by_zero()),
        Arithmetic::Divide => divide(a, x, b, y),
        Arithmetic::Modulo if b == 0 => return Err(division_by_zero()),
        Arithmetic::Modulo => rest(a, x, b, y),
        _ => return exact::power((a, x), (b, y)),
    };
    let (units, scale) = result.ok_or_else(too_large)?;
    Ok(Value::Decimal(units, scale))
}

/// A `numeric` as units and scale; `None` if it is null. NaN and infinities are the units that columns store for them.
///
/// # Errors
/// `22003` if it is none.
#[inline]
pub(crate) fn number_of(value: ValueRef<'_>) -> Result<Option<(i128, u8)>, SqlError> {
    match value {
        // A number with the units of another value has too many digits.
        ValueRef::Decimal(units, scale) if NonFinite::of_units(units).is_none() => {
            Ok(Some((units, scale)))
        }
        ValueRef::Decimal(..) => Err(overflow(SqlType::Numeric)),
        ValueRef::NonFinite(value) => Ok(Some((value.units(), 0))),
        ValueRef::Null => Ok(None),
        other => (decimal_of(other).map(Some)).ok_or_else(|| overflow(SqlType::Numeric)),
    }
}

/// The sum, the difference or the product of two numbers, as [`number_of`] gives them.
///
/// # Errors
/// `22003` if it has too many digits.
pub(crate) fn sum_or_product(
    operation: Arithmetic,
    (a, x): (i128, u8),
    (b, y): (i128, u8),
) -> Result<(i128, u8), SqlError> {
    if let Some(result) = non_finite::of_pairs(operation, (a, x), (b, y)) {
        return Ok(result);
    }
    let result = if operation == Arithmetic::Multiply {
        exact::product((a, x), (b, y))
    } else {
        let scale = x.max(y);
        match (rescale(a, x, scale), rescale(b, y, scale)) {
            (Ok(a), Ok(b)) if operation == Arithmetic::Add => a.checked_add(b),
            (Ok(a), Ok(b)) => a.checked_sub(b),
            _ => None,
        }
        .map(|units| (units, scale))
    };
    match result.filter(|(units, _)| NonFinite::of_units(*units).is_none()) {
        Some(result) => Ok(result),
        None => exact::with_fewer_digits(operation, (a, x), (b, y))
            .ok_or_else(|| overflow(SqlType::Numeric)),
    }
}

/// Removes zeros behind the point.
pub(crate) fn without_zeros(mut units: i128, mut scale: u8) -> (i128, u8) {
    if let Ok(mut short) = i64::try_from(units) {
        while scale > 0 && short % 10 == 0 {
            short /= 10;
            scale -= 1;
        }
        return (short.into(), scale);
    }
    while scale > 0 && units % 10 == 0 {
        units /= 10;
        scale -= 1;
    }
    (units, scale)
}

/// The place of a number's first group of four digits, counted from the point, and that group.
fn first_group(units: i128, scale: u8) -> (i32, i128) {
    if units == 0 {
        return (0, 0);
    }
    let digits = units.unsigned_abs().checked_ilog10().unwrap_or(0) as i32 + 1;
    let weight = (digits - i32::from(scale) - 1).div_euclid(4);
    let shift = i32::from(scale) + 4 * weight;
    let power = 10_i128
        .checked_pow(shift.unsigned_abs())
        .unwrap_or(i128::MAX);
    let first = match shift {
        0.. => units.saturating_abs() / power,
        _ => units.saturating_abs().saturating_mul(power),
    };
    (weight, first)
}

/// The scale of a quotient, by the first groups of its parts and the most digits that these show.
pub(crate) fn quotient_scale(of: (i32, i128), by: (i32, i128), shown: i32) -> i32 {
    let weight = of.0 - by.0 - i32::from(of.1 <= by.1);
    (16 - weight * 4).max(shown)
}

/// A quotient with at least 16 significant digits, as in PostgreSQL (`select_div_scale`), or with as many as fit.
fn divide(a: i128, x: u8, b: i128, y: u8) -> Option<(i128, u8)> {
    let (of_a, of_b) = (first_group(a, x), first_group(b, y));
    let wanted = quotient_scale(of_a, of_b, x.max(y).into());
    let mut scale = wanted.min(38) as u8;
    loop {
        match quotient(a, b, i32::from(scale) + i32::from(y) - i32::from(x)) {
            Some(units) => return Some((units, scale)),
            None => scale = scale.checked_sub(1)?,
        }
    }
}

/// `a * 10^shift / b`, rounded: `None` if it has too many digits.
fn quotient(a: i128, b: i128, shift: i32) -> Option<i128> {
    let power = |digits: u32| 10_i128.checked_pow(digits);
    match shift {
        39.. => {
            let a = a.checked_mul(power(shift as u32 - 38)?)?;
            quotient_rounded(a, power(38)?, b)
        }
        0..39 => quotient_rounded(a, power(shift as u32)?, b),
        _ => {
            let b = b.checked_mul(power(shift.unsigned_abs())?)?;
            Some(divide_rounded(a, b))
        }
    }
}

/// The remainder of a quotient, at the greater scale.
fn rest(a: i128, x: u8, b: i128, y: u8) -> Option<(i128, u8)> {
    let units = match 10_i128.checked_pow(x.abs_diff(y).into()) {
        Some(power) if x < y => rest_of_product(a, power, b)?,
        // A divisor that is greater than all numbers leaves the number.
        Some(power) => (b.checked_mul(power)).map_or(a, |b| a.checked_rem(b).unwrap_or(0)),
        None => return None,
    };
    Some((units, x.max(y)))
}

/// The decimal with the fewest digits that is this float; `None` if it has too many digits.
pub(crate) fn decimal_of_float(value: f64) -> Option<Value> {
    if let Some(value) = NonFinite::of_float(value) {
        return Some(Value::NonFinite(value));
    }
    // Every float holds 15 digits.
    let text = format!("{value:.14e}");
    let (digits, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    let units: i128 = digits.parse().ok()?;
    let scale = 14 - exponent;
    let (units, scale) = match scale {
        0..=38 => without_zeros(units, scale as u8),
        ..0 => (
            units.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?,
            0,
        ),
        _ => {
            let power = 10_i128.checked_pow((scale - 38) as u32);
            (power.map_or(0, |power| divide_rounded(units, power)), 38)
        }
    };
    Some(Value::Decimal(units, scale))
}

/// The number with the other sign.
pub(crate) fn negate(kind: SqlType, value: ValueRef<'_>) -> Result<Value, SqlError> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Float(value) => Ok(Value::Float(-value)),
        ValueRef::NonFinite(value) => Ok(non_finite::negated(value)),
        ValueRef::Int(value) => within(value.checked_neg().ok_or_else(|| overflow(kind))?, kind),
        ValueRef::Decimal(units, scale) => match units.checked_neg() {
            Some(units) => Ok(Value::Decimal(units, scale)),
            None => Err(overflow(kind)),
        },
        _ => Err(overflow(kind)),
    }
}

/// A date or time with an interval added to it.
pub(crate) fn shift(
    value: ValueRef<'_>,
    interval: &Interval,
    kind: SqlType,
) -> Result<Value, SqlError> {
    let too_far = || SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range");
    let micros = match value {
        ValueRef::Null => return Ok(Value::Null),
        _ if is_infinite(value) => return Ok(infinite_moment(value)),
        ValueRef::Timestamp(micros) => micros,
        ValueRef::Date(days) => i64::from(days).checked_mul(DAY).ok_or_else(too_far)?,
        ValueRef::Time(time) if kind == SqlType::Time => {
            let moved = time.wrapping_add(interval.micros);
            return Ok(Value::Time(moved.rem_euclid(DAY)));
        }
        _ => return Err(too_far()),
    };
    let moved = shift_micros(micros, interval).and_then(finite);
    moved.map(Value::Timestamp).ok_or_else(too_far)
}

/// A moment that is moved by an interval, whose months and days are those of a time zone.
///
/// # Errors
/// As [`shift`].
pub(crate) fn shift_in(
    value: ValueRef<'_>,
    interval: &Interval,
    zone: Option<SessionZone>,
) -> Result<Value, SqlError> {
    let kind = SqlType::Timestamptz;
    let has_days = interval.months != 0 || interval.days != 0;
    let (Some(zone), ValueRef::Timestamp(moment), true) =
        (zone.filter(|_| !is_infinite(value)), value, has_days)
    else {
        return shift(value, interval, kind);
    };
    let too_far = || SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range");
    let local = zone.zone().local(moment).ok_or_else(too_far)?;
    let days = Interval {
        micros: 0,
        ..*interval
    };
    let Value::Timestamp(local) = shift(ValueRef::Timestamp(local), &days, kind)? else {
        return Err(too_far());
    };
    let moment = zone.zone().moment(local).ok_or_else(too_far)?;
    let moved = moment.checked_add(interval.micros).and_then(finite);
    Ok(Value::Timestamp(moved.ok_or_else(too_far)?))
}

fn shift_micros(micros: i64, interval: &Interval) -> Option<i64> {
    let (mut days, time) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    if interval.months != 0 {
        days = add_months(days, interval.months.into())?;
    }
    days.checked_add(interval.days.into())?
        .checked_mul(DAY)?
        .checked_add(time)?
        .checked_add(interval.micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_rows::value_text::days_of;

    fn decimal(operation: Arithmetic, a: (i128, u8), b: (i128, u8)) -> String {
        let (a, b) = (ValueRef::Decimal(a.0, a.1), ValueRef::Decimal(b.0, b.1));
        let value = calculate(operation, SqlType::Numeric, a, b);
        value.expect("it can be computed").to_string()
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(Arithmetic::Add, (150, 2), (25, 1)), "4.00");
        assert_eq!(decimal(Arithmetic::Multiply, (150, 2), (25, 1)), "3.750");
        assert_eq!(
            decimal(Arithmetic::Divide, (1, 0), (3, 0)),
            "0.33333333333333333333"
        );
        assert_eq!(
            decimal(Arithmetic::Divide, (10, 0), (4, 0)),
            "2.5000000000000000"
        );
        assert_eq!(decimal(Arithmetic::Modulo, (-75, 1), (2, 0)), "-1.5");
        // There are more digits in between than in the result.
        let long = (123_456_789_012_345_678_901_234_567_890, 29);
        assert_eq!(
            decimal(Arithmetic::Divide, (1, 0), long),
            "0.81000000729000006633900060369"
        );
        assert_eq!(
            decimal(Arithmetic::Modulo, (10_000_000_000, 0), long),
            "1.11111192011111119202111111920"
        );
        let most = (99_999_999_999_999_999_999, 0);
        assert_eq!(
            decimal(Arithmetic::Divide, most, most),
            "1.00000000000000000000"
        );
        assert_eq!(
            decimal(Arithmetic::Modulo, (5, 38), most),
            format!("0.{:038}", 5)
        );
        assert_eq!(
            decimal(Arithmetic::Divide, (0, 1), (1, 0)),
            "0.00000000000000000000"
        );
    }

    #[test]
    fn whole_numbers_have_widths() {
        let add = |kind, a, b| calculate(Arithmetic::Add, kind, ValueRef::Int(a), ValueRef::Int(b));
        assert_eq!(add(SqlType::Int4, 1, 2).ok(), Some(Value::Int(3)));
        let error = add(SqlType::Int4, i128::from(i32::MAX), 1).expect_err("too large");
        assert_eq!(error.code, code::OUT_OF_RANGE);
        assert!(add(SqlType::Int8, i128::from(i32::MAX), 1).is_ok());
    }

    #[test]
    fn months_end_where_they_end() {
        let month = Interval::known("1 month");
        let day = |year, month, day| days_of(year, month, day).expect("it is one") * DAY;
        assert_eq!(
            shift_micros(day(2024, 1, 31), &month),
            Some(day(2024, 2, 29))
        );
        assert_eq!(
            shift_micros(day(2023, 12, 31), &month),
            Some(day(2024, 1, 31))
        );
        assert_eq!(
            Interval::read("1 day 02:30:00").ok(),
            Some(Interval {
                months: 0,
                days: 1,
                micros: 9_000_000_000
            })
        );
        assert!(Interval::read("soon").is_err());
    }
}
