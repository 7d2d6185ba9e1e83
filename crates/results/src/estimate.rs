//! A figure with its uncertainty, and arithmetic on such figures.
//!
//! The GEM paper's statements compare points: this is higher than that, by so much, and by more at
//! ten nodes than at five. Each point's figure comes with the half width of its 95% interval; what
//! is computed from them keeps one. Widths are combined as of independent figures (the root of the
//! sum of squares, to first order for products and quotients). Points simulated with the same seed
//! resemble each other, which makes differences surer than they are shown here: the error is on the
//! careful side.

use serde::Serialize;
use std::ops::{Add, Div, Mul, Sub};

/// A figure and half the width of its 95% interval.
///
/// ```
/// use sardonyx_results::Estimate;
///
/// let difference = Estimate::new(50.0, 3.0) - Estimate::new(40.0, 4.0);
/// assert_eq!(difference, Estimate::new(10.0, 5.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Over replications, or a figure that is known exactly.
    pub mean: f64,
    /// Half the width of its 95% interval; 0 for what is known exactly.
    pub half_width: f64,
}

impl Estimate {
    /// A figure with its uncertainty.
    pub const fn new(mean: f64, half_width: f64) -> Self {
        Estimate { mean, half_width }
    }

    /// A figure that is known exactly.
    pub const fn exactly(mean: f64) -> Self {
        Estimate::new(mean, 0.0)
    }

    /// The lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
}

impl Add for Estimate {
    type Output = Estimate;

    fn add(self, other: Estimate) -> Estimate {
        let half_width = self.half_width.hypot(other.half_width);
        Estimate::new(self.mean + other.mean, half_width)
    }
}

impl Sub for Estimate {
    type Output = Estimate;

    fn sub(self, other: Estimate) -> Estimate {
        let half_width = self.half_width.hypot(other.half_width);
        Estimate::new(self.mean - other.mean, half_width)
    }
}

impl Mul<f64> for Estimate {
    type Output = Estimate;

    fn mul(self, factor: f64) -> Estimate {
        Estimate::new(self.mean * factor, self.half_width * factor.abs())
    }
}

impl Div for Estimate {
    type Output = Estimate;

    /// To first order. A divisor of 0 gives what floating point gives: nothing is in range then.
    fn div(self, other: Estimate) -> Estimate {
        let mean = self.mean / other.mean;
        let own = self.half_width / other.mean;
        let others = other.half_width * self.mean / (other.mean * other.mean);
        Estimate::new(mean, own.hypot(others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_combine_as_of_independent_figures() {
        let (a, b) = (Estimate::new(10.0, 0.3), Estimate::new(5.0, 0.4));
        assert_eq!(a + b, Estimate::new(15.0, 0.5));
        assert_eq!(a - b, Estimate::new(5.0, 0.5));
        assert_eq!(a * -2.0, Estimate::new(-20.0, 0.6));
        let quotient = a / b;
        assert_eq!(quotient.mean, 2.0);
        // Relative widths of 3% and 8%: the quotient's is their root of the sum of squares.
        assert!((quotient.half_width - 2.0 * 0.03_f64.hypot(0.08)).abs() < 1e-12);
    }

    #[test]
    fn a_divisor_of_zero_is_in_no_range() {
        let quotient = Estimate::exactly(0.0) / Estimate::exactly(0.0);
        assert!(quotient.mean.is_nan() && quotient.low().is_nan());
    }
}
