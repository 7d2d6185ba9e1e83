//! Functions of numbers, by the rules of their types: floats stay floats, all others are exact.

use super::Datum;
use super::arithmetic::{
    decimal_of, divide_rounded, float_of, float_out_of_range, float_power, rounded,
};
use super::datum::int_at;
use super::exact;
use super::function::Function;
use crate::error::{SqlError, code};
use sardonyx::schema::{Value, ValueRef};

pub(super) fn numbers(function: Function, values: &[Datum<'_>]) -> Result<Value, SqlError> {
    let value = values[0].as_ref();
    let digits = values.get(1).map(|_| int_at(values, 1).unwrap_or(0));
    if let ValueRef::Float(value) = value {
        return Ok(Value::Float(match function {
            Function::Abs => value.abs(),
            // PostgreSQL's sign of NaN is 0, too.
            Function::Sign if value == 0.0 || value.is_nan() => 0.0,
            Function::Sign => value.signum(),
            Function::Ceil => value.ceil(),
            Function::Floor => value.floor(),
            Function::Round => value.round_ties_even(),
            _ => value.trunc(),
        }));
    }
    let is_whole = matches!(value, ValueRef::Int(_));
    let too_large = || SqlError::new(code::OUT_OF_RANGE, "numeric out of range");
    let (units, scale) = decimal_of(value).ok_or_else(too_large)?;
    let power = 10_i128.checked_pow(scale.into()).ok_or_else(too_large)?;
    let whole = |units: i128| Ok(Value::Decimal(units, 0));
    match function {
        Function::Abs => {
            let units = units.checked_abs().ok_or_else(too_large)?;
            match is_whole {
                true => Ok(Value::Int(units)),
                false => Ok(Value::Decimal(units, scale)),
            }
        }
        Function::Sign => whole(units.signum()),
        Function::Floor => whole(units.div_euclid(power)),
        Function::Ceil => {
            let up = i128::from(units.rem_euclid(power) != 0);
            whole(units.div_euclid(power) + up)
        }
        Function::Round | Function::Trunc => {
            let to = digits.unwrap_or(0);
            if to >= 0 {
                let to = (to.min(38)) as u8;
                let units = match function {
                    Function::Round => rounded(units, scale, to),
                    _ if to >= scale => rounded(units, scale, to),
                    _ => 10_i128
                        .checked_pow(u32::from(scale - to))
                        .map(|power| units / power),
                };
                return Ok(Value::Decimal(units.ok_or_else(too_large)?, to));
            }
            // Before the point.
            let zeros = u32::try_from(to.unsigned_abs()).unwrap_or(u32::MAX);
            let Some(unit) = 10_i128.checked_pow(zeros) else {
                return whole(0);
            };
            let Some(divisor) = unit.checked_mul(power) else {
                return whole(0);
            };
            let count = match function {
                Function::Round => divide_rounded(units, divisor),
                _ => units / divisor,
            };
            whole(count.checked_mul(unit).ok_or_else(too_large)?)
        }
        _ => Err(too_large()),
    }
}

/// Roots, powers, exponentials and logarithms: of floats, or exact ones of numerics.
///
/// # Errors
/// `2201E`, `2201F`, `22003`, `22012`: where there is no value, or none in the range.
pub(super) fn reals(function: Function, values: &[Datum<'_>]) -> Result<Value, SqlError> {
    let value = values[0].as_ref();
    let second = values.get(1).map(Datum::as_ref);
    if let ValueRef::Float(value) = value {
        let result = match (function, second) {
            (Function::Power, Some(exponent)) => float_power(value, float_of(exponent)),
            _ => float(function, value),
        };
        return result.map(Value::Float);
    }
    let too_large = || SqlError::new(code::OUT_OF_RANGE, "numeric out of range");
    let number = decimal_of(value).ok_or_else(too_large)?;
    let second = second.map(|second| decimal_of(second).ok_or_else(too_large));
    match (function, second.transpose()?) {
        (Function::Power, Some(exponent)) => exact::power(number, exponent),
        (Function::Log, Some(of)) => exact::logarithm(number, of),
        (Function::Div, Some(divisor)) => exact::whole_quotient(number, divisor),
        (Function::Log, None) => exact::logarithm((10, 0), number),
        (Function::Ln, _) => exact::natural_logarithm(number),
        (Function::Exp, _) => exact::exponential(number),
        _ => exact::root(number),
    }
}

fn float(function: Function, x: f64) -> Result<f64, SqlError> {
    let wrong = |code, message: &str| Err(SqlError::new(code, message));
    let result = match function {
        Function::Sqrt if x < 0.0 => {
            return wrong("2201F", "cannot take square root of a negative number");
        }
        Function::Sqrt => x.sqrt(),
        Function::Exp => x.exp(),
        Function::Ln | Function::Log if x == 0.0 => {
            return wrong("2201E", "cannot take logarithm of zero");
        }
        Function::Ln | Function::Log if x < 0.0 => {
            return wrong("2201E", "cannot take logarithm of a negative number");
        }
        Function::Ln => x.ln(),
        _ => x.log10(),
    };
    if result.is_infinite() && x.is_finite() {
        return Err(float_out_of_range("overflow"));
    }
    match function == Function::Exp && result == 0.0 && x.is_finite() {
        true => Err(float_out_of_range("underflow")),
        false => Ok(result),
    }
}
