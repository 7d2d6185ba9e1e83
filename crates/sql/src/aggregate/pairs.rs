//! Aggregates of two floats: covariance, correlation, and linear regression. Sums of squares of distances from the
//! means are kept, as in PostgreSQL (Youngs and Cramer, `float8_regr_accum`), so that results have its digits. They
//! depend on the order of the rows.

use crate::error::SqlError;
use crate::types::SqlType;
use crate::values::arithmetic::float_out_of_range;
use sardonyx::schema::Value;

/// The statistics of points: `y` is a point's first value, `x` its second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pair {
    Count,
    SquaresX,
    SquaresY,
    Products,
    MeanX,
    MeanY,
    CovariancePopulation,
    CovarianceSample,
    Correlation,
    Determination,
    Slope,
    Intercept,
}

impl Pair {
    pub fn result(self) -> SqlType {
        match self {
            Pair::Count => SqlType::Int8,
            _ => SqlType::Float8,
        }
    }
}

/// The sums of the added points.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Points {
    count: f64,
    sum_x: f64,
    squares_x: f64,
    sum_y: f64,
    squares_y: f64,
    products: f64,
}

impl Points {
    /// Counts a point, whose sums are not asked for and cannot be too large.
    pub fn count(&mut self) {
        self.count += 1.0;
    }

    /// Adds a point.
    ///
    /// # Errors
    /// `22003` if a sum is too large.
    pub fn add(&mut self, y: f64, x: f64) -> Result<(), SqlError> {
        let before = *self;
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if before.count > 0.0 {
            let from_x = x * self.count - self.sum_x;
            let from_y = y * self.count - self.sum_y;
            let scale = 1.0 / (self.count * before.count);
            self.squares_x += from_x * from_x * scale;
            self.squares_y += from_y * from_y * scale;
            self.products += from_x * from_y * scale;
            return self.check(&before, y, x);
        }
        if !x.is_finite() {
            (self.squares_x, self.products) = (f64::NAN, f64::NAN);
        }
        if !y.is_finite() {
            (self.squares_y, self.products) = (f64::NAN, f64::NAN);
        }
        Ok(())
    }

    /// A sum may be infinite for infinite values; otherwise it is too large.
    fn check(&mut self, before: &Points, y: f64, x: f64) -> Result<(), SqlError> {
        let was_x = !before.sum_x.is_infinite() && !x.is_infinite();
        let was_y = !before.sum_y.is_infinite() && !y.is_infinite();
        let is_x = self.sum_x.is_infinite() || self.squares_x.is_infinite();
        let is_y = self.sum_y.is_infinite() || self.squares_y.is_infinite();
        if is_x && was_x || is_y && was_y || self.products.is_infinite() && was_x && was_y {
            return Err(float_out_of_range("overflow"));
        }
        for sum in [&mut self.squares_x, &mut self.squares_y, &mut self.products] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }

    /// The result; null for too few points, and if all are on a line for which it is undefined.
    pub fn finish(&self, of: Pair) -> Value {
        let count = self.count;
        if of == Pair::Count {
            return Value::Int(count as i128);
        }
        let least = if of == Pair::CovarianceSample {
            2.0
        } else {
            1.0
        };
        if count < least {
            return Value::Null;
        }
        let (squares_x, squares_y, products) = (self.squares_x, self.squares_y, self.products);
        let is_upright = squares_x == 0.0;
        Value::Float(match of {
            Pair::Count => count,
            Pair::SquaresX => squares_x,
            Pair::SquaresY => squares_y,
            Pair::Products => products,
            Pair::MeanX => self.sum_x / count,
            Pair::MeanY => self.sum_y / count,
            Pair::CovariancePopulation => products / count,
            Pair::CovarianceSample => products / (count - 1.0),
            Pair::Correlation if is_upright || squares_y == 0.0 => return Value::Null,
            Pair::Correlation => products / (squares_x * squares_y).sqrt(),
            Pair::Determination | Pair::Slope | Pair::Intercept if is_upright => {
                return Value::Null;
            }
            Pair::Determination if squares_y == 0.0 => 1.0,
            Pair::Determination => (products * products) / (squares_x * squares_y),
            Pair::Slope => products / squares_x,
            Pair::Intercept => (self.sum_y - self.sum_x * products / squares_x) / count,
        })
    }
}
