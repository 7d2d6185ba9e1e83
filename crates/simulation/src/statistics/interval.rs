//! Confidence intervals of a mean over independent replications.

use super::Tally;

/// The quantile of the normal distribution for a two-sided interval of 95%.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// From this many degrees of freedom on, the expansion around the normal distribution is exact to
/// ten digits, and the series would only take longer.
const MANY_DEGREES: u64 = 400;

/// The 95% confidence interval of a mean: `mean ± half_width`.
///
/// ```
/// use sardonyx_simulation::statistics::Interval;
///
/// let interval = Interval::of([9.0, 10.0, 11.0]);
/// assert_eq!(interval.mean, 10.0);
/// assert!((interval.half_width - 2.484).abs() < 1e-3);
/// assert!(interval.contains(12.0) && !interval.contains(13.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean over the replications; zero without replications.
    pub mean: f64,
    /// Half the width of the interval; infinite below two replications, which do not show how much a third would
    /// differ.
    pub half_width: f64,
    /// Values from which it was computed.
    pub replications: u32,
}

impl Interval {
    /// The interval of one figure's values, one from each replication.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Interval {
        Interval::from_tally(&values.into_iter().collect())
    }

    /// The interval of values that were tallied, one from each replication.
    pub fn from_tally(tally: &Tally) -> Interval {
        let count = tally.count();
        let half_width = match count {
            0 | 1 => f64::INFINITY,
            _ => student_t_95(count - 1) * (tally.variance() / count as f64).sqrt(),
        };
        Interval {
            mean: tally.mean(),
            half_width,
            replications: u32::try_from(count).unwrap_or(u32::MAX),
        }
    }

    /// The half width relative to the mean: 0.02 for ±2%.
    ///
    /// Zero if all values were zero, infinite if only their mean is.
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 {
            return 0.0;
        }
        self.half_width / self.mean.abs()
    }

    /// True if `value` lies in the interval.
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

/// The quantile of Student's t distribution for a two-sided interval of 95%.
///
/// For few degrees of freedom it is from the exact finite series for whole degrees, solved by bisection (Abramowitz and
/// Stegun 26.7.3, 26.7.4). For many it is from the expansion around the normal distribution (26.7.5).
///
/// # Panics
/// If `degrees` is zero: there is no such distribution.
pub fn student_t_95(degrees: u64) -> f64 {
    assert!(
        degrees > 0,
        "Student's t has at least one degree of freedom"
    );
    if degrees >= MANY_DEGREES {
        return expansion(degrees as f64);
    }
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    // Each step gains a bit; after 60 the ends are neighbours.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if within(middle, degrees) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::tan(low) * (degrees as f64).sqrt()
}

/// The probability that a value of Student's distribution lies within ± `tan(angle)` times the root
/// of `degrees`.
fn within(angle: f64, degrees: u64) -> f64 {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let odd = degrees % 2 == 1;
    // The series 1 + 1/2 cos² + 1·3/2·4 cos⁴ + …, or cos + 2/3 cos³ + 2·4/3·5 cos⁵ + …
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut exponent = if odd { 1 } else { 0 };
    while exponent + 2 <= degrees {
        sum += term;
        exponent += 2;
        term *= cosine * cosine * (exponent - 1) as f64 / exponent as f64;
    }
    if odd {
        (angle + sine * sum) * std::f64::consts::FRAC_2_PI
    } else {
        sine * sum
    }
}

fn expansion(degrees: f64) -> f64 {
    let z = NORMAL_95;
    let square = z * z;
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z + (first + (second + third / degrees) / degrees) / degrees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_is_that_of_the_tables() {
        // Two-sided 95%, as printed in every textbook's table.
        let table = [
            (1, 12.706_205),
            (2, 4.302_653),
            (3, 3.182_446),
            (4, 2.776_445),
            (5, 2.570_582),
            (9, 2.262_157),
            (10, 2.228_139),
            (19, 2.093_024),
            (20, 2.085_963),
            (29, 2.045_230),
            (30, 2.042_272),
            (39, 2.022_691),
            (60, 2.000_298),
            (120, 1.979_930),
            (1_000, 1.962_339),
        ];
        for (degrees, expected) in table {
            let found = student_t_95(degrees);
            assert!(
                (found - expected).abs() < 1e-6,
                "{degrees}: {found} for {expected}"
            );
        }
        assert!((student_t_95(1 << 50) - NORMAL_95).abs() < 1e-12);
    }

    #[test]
    fn series_and_expansion_meet() {
        let exact = student_t_95(MANY_DEGREES - 1);
        assert!(
            (exact - expansion((MANY_DEGREES - 1) as f64)).abs() < 1e-9,
            "{exact}"
        );
        let mut last = f64::INFINITY;
        for degrees in 1..2 * MANY_DEGREES {
            let found = student_t_95(degrees);
            assert!(found < last, "falls with the degrees, also at {degrees}");
            last = found;
        }
    }

    #[test]
    fn too_few_replications_tell_nothing() {
        assert_eq!(Interval::of([]).half_width, f64::INFINITY);
        assert_eq!(Interval::of([5.0]).half_width, f64::INFINITY);
        assert_eq!(Interval::of([5.0, 5.0]).relative(), 0.0);
        assert_eq!(Interval::of([0.0, 0.0]).relative(), 0.0);
        assert_eq!(Interval::of([-1.0, 1.0]).relative(), f64::INFINITY);
    }

    #[test]
    fn the_interval_covers_the_mean_95_times_in_100() {
        let mut random = sardonyx_workload::random::Random::new(31);
        let mut covered = 0;
        for _ in 0..10_000 {
            let sample = || -> f64 { (0..12).map(|_| random.fraction()).sum::<f64>() - 6.0 };
            // Sums of twelve uniform numbers are normal but for their far tails.
            let interval = Interval::of(std::iter::repeat_with(sample).take(5));
            covered += u32::from(interval.contains(0.0));
        }
        // Three standard deviations of the count are 65.
        assert!((9_435..9_565).contains(&covered), "{covered} of 10,000");
    }
}
