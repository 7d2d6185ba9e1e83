//! Variance and standard deviation: sums of values and of their squares, computed as PostgreSQL does, so that the
//! results have its digits. For exact numbers the sums are exact (`numeric_stddev_internal`). For floats the squares of
//! distances from the mean are summed (Youngs and Cramer, `float8_accum`), and depend on the order of the rows.

use crate::error::SqlError;
use crate::types::SqlType;
use crate::values::arithmetic::{decimal_of, float_of, float_out_of_range, quotient_scale};
use crate::values::big::Big;
use crate::values::exact::given;
use crate::values::non_finite::is_non_finite;
use sardonyx::schema::{NonFinite, Value, ValueRef};

/// Variance or standard deviation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spread {
    /// True if the rows are a sample of all.
    pub of_sample: bool,
    /// True for the standard deviation: the root of the variance.
    pub is_root: bool,
}

/// The sums.
#[derive(Clone, Debug)]
pub(super) enum Moments {
    Exact {
        sum: Big,
        squares: Big,
        scale: u8,
    },
    /// One of the values is NaN or infinite.
    NotANumber,
    Float {
        sum: f64,
        squares: f64,
    },
}

impl Moments {
    /// The sums for values of a type.
    pub fn new(of: SqlType) -> Moments {
        match of {
            SqlType::Float4 | SqlType::Float8 => Moments::Float {
                sum: 0.0,
                squares: 0.0,
            },
            _ => Moments::Exact {
                sum: Big::of(0, 0),
                squares: Big::of(0, 0),
                scale: 0,
            },
        }
    }

    /// Adds a value, which is the `count`th one.
    ///
    /// # Errors
    /// `22003` if the sums of floats are too large.
    pub fn add(&mut self, value: ValueRef<'_>, count: i64) -> Result<(), SqlError> {
        if is_non_finite(value) {
            *self = Moments::NotANumber;
        }
        match self {
            Moments::NotANumber => Ok(()),
            Moments::Exact {
                sum,
                squares,
                scale,
            } => {
                let (units, places) = decimal_of(value).unwrap_or((0, 0));
                let value = Big::of(units, places);
                *sum = sum.plus(&value);
                *squares = squares.plus(&value.times(&value));
                *scale = (*scale).max(places);
                Ok(())
            }
            Moments::Float { sum, squares } => {
                let value = float_of(value);
                let (before, count) = (*sum, count as f64);
                *sum += value;
                if count > 1.0 {
                    let distance = value * count - *sum;
                    *squares += distance * distance / (count * (count - 1.0));
                    if sum.is_infinite() || squares.is_infinite() {
                        if before.is_finite() && value.is_finite() {
                            return Err(float_out_of_range("overflow"));
                        }
                        *squares = f64::NAN;
                    }
                } else if !value.is_finite() {
                    *squares = f64::NAN;
                }
                Ok(())
            }
        }
    }

    /// The average of floats; null of other numbers, whose sums are not of this type.
    pub fn mean(&self, count: i64) -> Value {
        match self {
            Moments::Float { sum, .. } => Value::Float(sum / count as f64),
            Moments::Exact { .. } | Moments::NotANumber => Value::Null,
        }
    }

    /// The result for a number of values; null if they are too few.
    ///
    /// # Errors
    /// `22003` if it is too large.
    pub fn finish(&self, of: Spread, count: i64) -> Result<Value, SqlError> {
        if count <= i64::from(of.of_sample) {
            return Ok(Value::Null);
        }
        let others = count - i64::from(of.of_sample);
        match self {
            Moments::NotANumber => Ok(Value::NonFinite(NonFinite::NaN)),
            Moments::Float { squares, .. } => {
                let variance = squares / others as f64;
                Ok(Value::Float(if of.is_root {
                    variance.sqrt()
                } else {
                    variance
                }))
            }
            Moments::Exact {
                sum,
                squares,
                scale,
            } => {
                let count = Big::of(count.into(), 0);
                let distances = squares.times(&count).minus(&sum.times(sum));
                if distances.is_zero() {
                    return Ok(Value::Decimal(0, 0));
                }
                let divisor = count.times(&Big::of(others.into(), 0));
                let groups = (distances.first_group(), divisor.first_group());
                let scale = quotient_scale(groups.0, groups.1, 2 * i32::from(*scale));
                let variance = distances.over(&divisor).to_scale(scale.unsigned_abs());
                match of.is_root {
                    true => given(&variance.root(), scale),
                    false => given(&variance, scale),
                }
            }
        }
    }
}
