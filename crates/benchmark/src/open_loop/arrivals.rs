//! The intended arrivals of requests: a Poisson process, its gaps exponential.

use sardonyx_workload::random::Random;
use std::time::Duration;

/// Intended arrivals since the beginning of a run, ascending, without end. The same rate and seed give the
/// same moments (I11).
///
/// ```
/// use sardonyx_benchmark::open_loop::Arrivals;
///
/// let thousandth = Arrivals::new(1_000.0, 7).nth(999).unwrap();
/// assert!((0.9..1.1).contains(&thousandth.as_secs_f64()));
/// ```
#[derive(Clone, Debug)]
pub struct Arrivals {
    random: Random,
    mean_gap_seconds: f64,
    last_seconds: f64,
}

impl Arrivals {
    /// So many arrivals a second, on average; more than 0.
    pub fn new(per_second: f64, seed: u64) -> Self {
        Arrivals {
            random: Random::new(seed),
            mean_gap_seconds: 1.0 / per_second,
            last_seconds: 0.0,
        }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    #[inline]
    fn next(&mut self) -> Option<Duration> {
        // A fraction is below 1, so there is no logarithm of 0.
        let gap = -libm::log(1.0 - self.random.fraction()) * self.mean_gap_seconds;
        self.last_seconds += gap;
        Some(Duration::from_nanos((self.last_seconds * 1e9) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_an_exponentials_mean_variance_and_tail() {
        for seed in 1..=5 {
            let (count, rate) = (200_000, 10_000.0);
            let mut last = 0.0;
            let gaps: Vec<f64> = Arrivals::new(rate, seed)
                .take(count)
                .map(|at| {
                    let gap = at.as_secs_f64() - last;
                    last = at.as_secs_f64();
                    gap * rate
                })
                .collect();
            let mean = gaps.iter().sum::<f64>() / count as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count as f64;
            // Four standard errors: of the mean 1 / sqrt(n), of the variance sqrt(8 / n).
            assert!((mean - 1.0).abs() < 0.009, "seed {seed}: mean {mean}");
            assert!((variance - 1.0).abs() < 0.026, "seed {seed}: {variance}");
            let tail = gaps.iter().filter(|gap| **gap > 3.0).count() as f64 / count as f64;
            assert!((tail - 0.0498).abs() < 0.002, "seed {seed}: tail {tail}");
        }
    }

    #[test]
    fn i11_a_seed_draws_the_same_arrivals_and_another_others() {
        let first = |seed| Arrivals::new(50.0, seed).take(100).collect::<Vec<_>>();
        assert_eq!(first(3), first(3));
        assert_ne!(first(3), first(4));
        assert!(first(3).is_sorted());
    }
}
