//! Mean, variance and extremes of observations, in one pass.

/// Observations, summed up by Welford's method, which does not lose the variance of large values
/// that lie close together as a sum of squares would.
///
/// ```
/// use sardonyx_simulation::statistics::Tally;
///
/// let tally: Tally = [2.0, 4.0, 9.0].into_iter().collect();
/// assert_eq!((tally.count(), tally.mean(), tally.variance()), (3, 5.0, 13.0));
/// assert_eq!((tally.min(), tally.max()), (Some(2.0), Some(9.0)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    count: u64,
    mean: f64,
    /// The sum of the squared deviations from the mean.
    squares: f64,
    min: f64,
    max: f64,
}

impl Tally {
    /// No observations.
    pub fn new() -> Tally {
        Tally::default()
    }

    /// Adds an observation.
    #[inline]
    pub fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.min, self.max) = (value, value);
        }
        self.count += 1;
        let deviation = value - self.mean;
        self.mean += deviation / self.count as f64;
        self.squares += deviation * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the observations of `other`, as if they had been added one by one but for rounding.
    pub fn merge(&mut self, other: &Tally) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let distance = other.mean - self.mean;
        let together = ours + theirs;
        self.count += other.count;
        self.mean += distance * theirs / together;
        self.squares += other.squares + distance * distance * ours * theirs / together;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, or zero without observations.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their sample variance (divided by one less than their number), or zero below two.
    pub fn variance(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        self.squares / (self.count - 1) as f64
    }

    /// The smallest, if there is any.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest, if there is any.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }
}

impl FromIterator<f64> for Tally {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Tally {
        let mut tally = Tally::new();
        values.into_iter().for_each(|value| tally.add(value));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_small_variance_of_large_values_survives() {
        let tally: Tally = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]
            .into_iter()
            .collect();
        assert_eq!((tally.mean(), tally.variance()), (1e9 + 10.0, 30.0));
    }

    #[test]
    fn nothing_and_one_have_no_variance() {
        assert_eq!((Tally::new().min(), Tally::new().max()), (None, None));
        let one: Tally = [-3.0].into_iter().collect();
        assert_eq!(
            (one.mean(), one.variance(), one.max()),
            (-3.0, 0.0, Some(-3.0))
        );
    }

    proptest! {
        #[test]
        fn merging_is_adding(values in prop::collection::vec(-1e3..1e3, 0..50), cut in 0usize..50) {
            let cut = cut.min(values.len());
            let whole: Tally = values.iter().copied().collect();
            let mut merged: Tally = values[..cut].iter().copied().collect();
            merged.merge(&values[cut..].iter().copied().collect());
            prop_assert_eq!(merged.count(), whole.count());
            prop_assert!((merged.mean() - whole.mean()).abs() < 1e-9);
            prop_assert!((merged.variance() - whole.variance()).abs() < 1e-6);
            prop_assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
        }
    }
}
