//! Functions of floats alone: roots, angles, and what belongs to them. They are those of the system's mathematical library, as
//! PostgreSQL's are.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::values::arithmetic::{float_of, float_out_of_range};
use sardonyx::schema::Value;
use std::f64::consts::PI;

pub(super) static TABLE: &[Definition] = functions! {
    acos(FLOAT8) -> FLOAT8, |a, _| within_one(a, f64::acos), "angle with this cosine, in radians";
    acosh(FLOAT8) -> FLOAT8, |a, _| limited(a, 1.0..=f64::INFINITY, f64::acosh), "inverse of the hyperbolic cosine";
    asin(FLOAT8) -> FLOAT8, |a, _| within_one(a, f64::asin), "angle with this sine, in radians";
    asinh(FLOAT8) -> FLOAT8, |a, _| float(a, f64::asinh), "inverse of the hyperbolic sine";
    atan(FLOAT8) -> FLOAT8, |a, _| float(a, f64::atan), "angle with this tangent, in radians";
    atan2(FLOAT8, FLOAT8) -> FLOAT8, |a, _| two(a, f64::atan2), "angle whose tangent is the first divided by the second, in radians";
    atanh(FLOAT8) -> FLOAT8, |a, _| within_one(a, f64::atanh), "inverse of the hyperbolic tangent";
    cbrt(FLOAT8) -> FLOAT8, |a, _| float(a, f64::cbrt), "cube root";
    cos(FLOAT8) -> FLOAT8, |a, _| angle(a, f64::cos), "cosine of an angle in radians";
    cosh(FLOAT8) -> FLOAT8, |a, _| float(a, f64::cosh), "hyperbolic cosine";
    cot(FLOAT8) -> FLOAT8, |a, _| angle(a, |x| 1.0 / x.tan()), "cotangent of an angle in radians";
    degrees(FLOAT8) -> FLOAT8, |a, _| in_range(a, |x| x / (PI / 180.0)), "radians in degrees";
    pi() -> FLOAT8, |_, _| Ok(Value::Float(PI)), "circumference of a circle divided by its diameter";
    radians(FLOAT8) -> FLOAT8, |a, _| float(a, |x| x * (PI / 180.0)), "degrees in radians";
    sin(FLOAT8) -> FLOAT8, |a, _| angle(a, f64::sin), "sine of an angle in radians";
    sinh(FLOAT8) -> FLOAT8, |a, _| float(a, f64::sinh), "hyperbolic sine";
    tan(FLOAT8) -> FLOAT8, |a, _| angle(a, f64::tan), "tangent of an angle in radians";
    tanh(FLOAT8) -> FLOAT8, |a, _| float(a, f64::tanh), "hyperbolic tangent";
};

fn float(a: Arguments<'_>, of: fn(f64) -> f64) -> Answer {
    Ok(Value::Float(of(float_of(a.value(0)))))
}

fn two(a: Arguments<'_>, of: fn(f64, f64) -> f64) -> Answer {
    Ok(Value::Float(of(float_of(a.value(0)), float_of(a.value(1)))))
}

fn wrong() -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, "input is out of range")
}

/// Of a number between two others, and of NaN.
fn limited(a: Arguments<'_>, range: std::ops::RangeInclusive<f64>, of: fn(f64) -> f64) -> Answer {
    let x = float_of(a.value(0));
    match x.is_nan() || range.contains(&x) {
        true => Ok(Value::Float(of(x))),
        false => Err(wrong()),
    }
}

fn within_one(a: Arguments<'_>, of: fn(f64) -> f64) -> Answer {
    limited(a, -1.0..=1.0, of)
}

/// Infinity is no angle.
fn angle(a: Arguments<'_>, of: fn(f64) -> f64) -> Answer {
    match float_of(a.value(0)).is_infinite() {
        true => Err(wrong()),
        false => float(a, of),
    }
}

/// Of a number whose result may be too large.
fn in_range(a: Arguments<'_>, of: fn(f64) -> f64) -> Answer {
    let x = float_of(a.value(0));
    match of(x) {
        value if value.is_infinite() && x.is_finite() => Err(float_out_of_range("overflow")),
        value => Ok(Value::Float(value)),
    }
}
