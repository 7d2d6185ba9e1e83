//! Functions of floats only: roots, angles and similar. They call the system's mathematical library, as PostgreSQL
//! does. Three inverses and the cube root are computed here by the formulas of that library: Rust's have other last digits.
//! The cube root is that of glibc before 2.41, which PostgreSQL 15 is packaged with: not always the nearest float.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::values::arithmetic::{float_of, float_out_of_range};
use sardonyx::schema::Value;
use std::f64::consts::{LN_2, PI};

pub(super) static TABLE: &[Definition] = functions! {
    acos(FLOAT8) -> FLOAT8, |a, _| within_one(a, f64::acos), "angle with this cosine, in radians";
    acosh(FLOAT8) -> FLOAT8, |a, _| limited(a, 1.0..=f64::INFINITY, inverse_cosh), "inverse of the hyperbolic cosine";
    asin(FLOAT8) -> FLOAT8, |a, _| within_one(a, f64::asin), "angle with this sine, in radians";
    asinh(FLOAT8) -> FLOAT8, |a, _| float(a, inverse_sinh), "inverse of the hyperbolic sine";
    atan(FLOAT8) -> FLOAT8, |a, _| float(a, f64::atan), "angle with this tangent, in radians";
    atan2(FLOAT8, FLOAT8) -> FLOAT8, |a, _| two(a, f64::atan2), "angle whose tangent is the first divided by the second, in radians";
    atanh(FLOAT8) -> FLOAT8, |a, _| within_one(a, inverse_tanh), "inverse of the hyperbolic tangent";
    cbrt(FLOAT8) -> FLOAT8, |a, _| float(a, cube_root), "cube root";
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

/// A function of a number within bounds, or of NaN.
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

/// A function whose result may be too large.
fn in_range(a: Arguments<'_>, of: fn(f64) -> f64) -> Answer {
    let x = float_of(a.value(0));
    match of(x) {
        value if value.is_infinite() && x.is_finite() => Err(float_out_of_range("overflow")),
        value => Ok(Value::Float(value)),
    }
}

/// Above, a square plus 1 is the square; below its inverse, the functions are the number itself.
const LARGE: f64 = (1u64 << 28) as f64;

fn inverse_sinh(x: f64) -> f64 {
    let size = x.abs();
    let of_size = match size {
        _ if size < LARGE.recip() => return x,
        _ if size > LARGE => size.ln() + LN_2,
        _ if size > 2.0 => (2.0 * size + 1.0 / ((size * size + 1.0).sqrt() + size)).ln(),
        _ => {
            let square = size * size;
            (size + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
        }
    };
    of_size.copysign(x)
}

/// The function of a number from 1 on.
fn inverse_cosh(x: f64) -> f64 {
    match x {
        _ if x > LARGE => x.ln() + LN_2,
        _ if x > 2.0 => (2.0 * x - 1.0 / (x + (x * x - 1.0).sqrt())).ln(),
        _ => {
            let above = x - 1.0;
            (above + (2.0 * above + above * above).sqrt()).ln_1p()
        }
    }
}

/// The function of a number from -1 to 1.
fn inverse_tanh(x: f64) -> f64 {
    let size = x.abs();
    let double = size + size;
    let quotient = match size {
        _ if size < LARGE.recip() => return x,
        _ if size < 0.5 => double + double * size / (1.0 - size),
        _ => double / (1.0 - size),
    };
    (0.5 * quotient.ln_1p()).copysign(x)
}

/// A number from 0.5 up to 1, and the power of two by which it is multiplied.
fn parts(size: f64) -> (f64, i32) {
    const MANTISSA: u64 = (1 << 52) - 1;
    const HALF: u64 = 1022 << 52;
    // A number without a leading bit gets one.
    let (normal, scale) = match size < f64::MIN_POSITIVE {
        true => (size * LARGE * LARGE, 56),
        false => (size, 0),
    };
    let power = (normal.to_bits() >> 52) as i32 - 1022 - scale;
    (f64::from_bits(normal.to_bits() & MANTISSA | HALF), power)
}

/// A polynomial, one step of Halley's method, and the root of the power of two.
fn cube_root(x: f64) -> f64 {
    const ROOT: f64 = 1.259_921_049_894_873_2;
    const SQUARE: f64 = 1.587_401_051_968_199_6;
    const FACTORS: [f64; 5] = [1.0 / SQUARE, 1.0 / ROOT, 1.0, ROOT, SQUARE];
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let (part, power) = parts(x.abs());
    let coefficients = [
        0.784_932_344_976_639_2,
        1.834_692_774_836_130_8,
        2.446_931_225_635_344_4,
        2.114_994_941_673_713,
        1.508_191_937_815_849,
    ];
    let mut near = 0.145_263_899_385_486_37;
    for coefficient in coefficients {
        near = coefficient - near * part;
    }
    let near = 0.354_895_765_043_919_84 + near * part;
    let cube = near * near * near;
    let factor = FACTORS.get((power % 3 + 2) as usize).copied();
    let root = near * (cube + 2.0 * part) / (2.0 * cube + part) * factor.unwrap_or(1.0);
    root.copysign(x) * 2_f64.powi(power / 3)
}
