//! The distribution of a measured time over the repetitions.
//!
//! LIBXAC thesis, section 4.2.1: averages and medians are stable where the maximum is orders of
//! magnitude larger, so a report needs all of them.

/// Nanoseconds: the middle, the average and the tail of one or more measurements.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Distribution {
    /// Half took no longer.
    pub median_nanoseconds: f64,
    /// The average.
    pub mean_nanoseconds: f64,
    /// 99 percent took no longer.
    pub p99_nanoseconds: f64,
    /// The longest.
    pub max_nanoseconds: f64,
}

impl Distribution {
    /// The distribution of `nanoseconds`; percentiles are by nearest rank.
    ///
    /// # Panics
    /// If `nanoseconds` is empty.
    pub fn of(mut nanoseconds: Vec<f64>) -> Self {
        nanoseconds.sort_unstable_by(f64::total_cmp);
        let count = nanoseconds.len();
        let percentile = |percent: usize| nanoseconds[(count * percent).div_ceil(100) - 1];
        Distribution {
            median_nanoseconds: percentile(50),
            mean_nanoseconds: nanoseconds.iter().sum::<f64>() / count as f64,
            p99_nanoseconds: percentile(99),
            max_nanoseconds: nanoseconds[count - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_average_and_tail_are_of_the_sorted_times() {
        let mut times: Vec<_> = (1..=199).rev().map(f64::from).collect();
        times.push(2_100.0);
        let expected = Distribution {
            median_nanoseconds: 100.0,
            mean_nanoseconds: 110.0,
            p99_nanoseconds: 198.0,
            max_nanoseconds: 2_100.0,
        };
        assert_eq!(Distribution::of(times), expected);
        assert_eq!(Distribution::of(vec![5.0]).p99_nanoseconds, 5.0);
    }
}
