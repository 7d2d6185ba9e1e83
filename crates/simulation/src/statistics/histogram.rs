//! Percentiles of lengths of time.

use hdrhistogram::Histogram as Counts;

use crate::time::Span;

/// Values are counted in nanoseconds.
const PICOSECONDS: u64 = 1_000;

/// Three decimal digits of every value are kept.
const DIGITS: u8 = 3;

/// Lengths of time, counted so that any percentile is known to one part in a thousand, or to the
/// nanosecond where that is coarser.
///
/// ```
/// use sardonyx_simulation::statistics::Histogram;
/// use sardonyx_simulation::time::Span;
///
/// let mut responses = Histogram::new();
/// for milliseconds in 1..=100 {
///     responses.add(Span::from_milliseconds(f64::from(milliseconds)));
/// }
/// let error = responses.quantile(0.95).as_milliseconds() - 95.0;
/// assert!(error.abs() < 0.1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Counts<u64>,
}

impl Histogram {
    /// No observations.
    pub fn new() -> Histogram {
        Histogram {
            counts: Counts::new(DIGITS).expect("three digits are within the library's bounds"),
        }
    }

    /// Adds an observation.
    pub fn add(&mut self, span: Span) {
        let nanoseconds = span.as_picoseconds() / PICOSECONDS;
        self.counts
            .record(nanoseconds)
            .expect("the histogram grows with its values");
    }

    /// The number of observations.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The length that `share` (0 to 1) of the observations do not exceed; zero without observations.
    pub fn quantile(&self, share: f64) -> Span {
        Span::from_picoseconds(self.counts.value_at_quantile(share) * PICOSECONDS)
    }

    /// The longest observation; zero without observations.
    pub fn max(&self) -> Span {
        Span::from_picoseconds(self.counts.max() * PICOSECONDS)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut histogram = Histogram::new();
        assert_eq!(
            (histogram.quantile(0.5), histogram.max()),
            (Span::ZERO, Span::ZERO)
        );
        for milliseconds in (1..=1_000).rev() {
            histogram.add(Span::from_milliseconds(f64::from(milliseconds)));
        }
        for (share, expected) in [(0.001, 1.0), (0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let found = histogram.quantile(share).as_milliseconds();
            assert!(
                (found / expected - 1.0).abs() <= 1e-3,
                "{share}: {found} for {expected}"
            );
        }
        assert_eq!(histogram.count(), 1_000);
        assert!(histogram.max() >= Span::from_seconds(1.0));
    }

    #[test]
    fn two_days_and_one_nanosecond_fit_together() {
        let mut histogram = Histogram::new();
        histogram.add(Span::from_seconds(200_000.0));
        histogram.add(Span::from_picoseconds(1_000));
        assert_eq!(histogram.quantile(0.5), Span::from_picoseconds(1_000));
        assert!((histogram.quantile(1.0).as_seconds() / 200_000.0 - 1.0).abs() <= 1e-3);
    }
}
