//! The times between arrivals of transactions, of several processes with a given rate.
//!
//! The GEM paper drives its model with an open Poisson stream. The other processes are more regular (deterministic,
//! Erlang) or burstier (hyperexponential, on-off). They show the part of a response time that comes from the arrivals
//! alone. Each has exactly the mean rate asked for.
//!
//! Times are seconds as `f64`. Logarithms are `libm`'s, which give the same bits on every machine,
//! so a seed replays everywhere (invariant I11).

use crate::random::Random;

/// The most stages of an Erlang distribution.
pub const MAX_STAGES: u32 = 1_000;

/// A number from the exponential distribution with this mean: finite and never negative.
///
/// ```
/// use sardonyx_workload::{arrival::exponential, random::Random};
///
/// let mut random = Random::new(1);
/// let sum: f64 = (0..10_000).map(|_| exponential(&mut random, 2.0)).sum();
/// assert!((19_000.0..21_000.0).contains(&sum));
/// ```
#[inline]
pub fn exponential(random: &mut Random, mean: f64) -> f64 {
    // In (0, 1], so that the logarithm is finite.
    let uniform = 1.0 - random.fraction();
    -mean * libm::log(uniform)
}

/// A distribution of the times between arrivals.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Process {
    /// Exponential times: many independent clients. Coefficient of variation 1.
    Poisson,
    /// Equal times. Coefficient of variation 0.
    Deterministic,
    /// Sums of so many exponential times. Coefficient of variation `1 / sqrt(stages)`.
    Erlang {
        /// 1 (which is Poisson) to [`MAX_STAGES`].
        stages: u32,
    },
    /// Exponential times of two rates, drawn independently each time, both kinds with the same
    /// share of the time ("balanced means").
    Hyperexponential {
        /// The coefficient of variation, above 1.
        variation: f64,
    },
    /// Poisson arrivals in bursts, silence between them; bursts and silences have exponential
    /// lengths (a Markov-modulated Poisson process with two states, one of them silent).
    OnOff {
        /// The rate within a burst over the mean rate, above 1: one in so many seconds is in a
        /// burst.
        burst_factor: f64,
        /// The mean length of a burst in seconds, above 0.
        burst_seconds: f64,
    },
}

/// The reason why an arrival process is not possible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrivalError {
    /// A number is outside its limits.
    #[error("{what} of {value} is not possible: it must be {allowed}")]
    Range {
        /// The number's name.
        what: &'static str,
        /// The requested value.
        value: f64,
        /// The possible values.
        allowed: &'static str,
    },
}

/// A stream of arrivals that is wholly determined by its process, rate and seed.
///
/// ```
/// use sardonyx_workload::arrival::{Arrivals, Process};
///
/// let mut arrivals = Arrivals::new(Process::Poisson, 100.0, 42)?;
/// let mut clock_seconds = 0.0;
/// let mut count = 0;
/// while clock_seconds < 100.0 {
///     clock_seconds += arrivals.next_interval();
///     count += 1;
/// }
/// assert!((9_500..10_500).contains(&count));
/// # Ok::<(), sardonyx_workload::arrival::ArrivalError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arrivals {
    shape: Shape,
    random: Random,
}

/// A process with its rate, ready to draw from.
#[derive(Clone, Debug)]
enum Shape {
    Constant {
        interval: f64,
    },
    /// The sum of `stages` exponential times.
    Stages {
        stages: u32,
        mean: f64,
    },
    /// With `probability` the first mean, else the second.
    Mixed {
        probability: f64,
        means: [f64; 2],
    },
    Bursts {
        /// Mean time between arrivals in a burst.
        mean: f64,
        burst: f64,
        silence: f64,
        /// The rest of the current burst.
        left: f64,
    },
}

impl Arrivals {
    /// Arrivals by `process`, `rate` of them per second on average.
    ///
    /// # Errors
    /// [`ArrivalError::Range`] if the rate or a parameter of the process is not possible.
    pub fn new(process: Process, rate: f64, seed: u64) -> Result<Self, ArrivalError> {
        let mut random = Random::new(seed);
        check("the arrival rate", rate, 0.0, "above 0")?;
        let mean = 1.0 / rate;
        check("the mean time between arrivals", mean, 0.0, "above 0")?;
        let shape = match process {
            Process::Poisson => Shape::Stages { stages: 1, mean },
            Process::Deterministic => Shape::Constant { interval: mean },
            Process::Erlang { stages } => {
                if !(1..=MAX_STAGES).contains(&stages) {
                    return Err(ArrivalError::Range {
                        what: "a number of Erlang stages",
                        value: stages.into(),
                        allowed: "between 1 and 1000",
                    });
                }
                let mean = mean / f64::from(stages);
                Shape::Stages { stages, mean }
            }
            Process::Hyperexponential { variation } => {
                check("a coefficient of variation", variation, 1.0, "above 1")?;
                let square = variation * variation;
                check("the square of the coefficient", square, 1.0, "finite")?;
                let probability = 0.5 * (1.0 + ((square - 1.0) / (square + 1.0)).sqrt());
                let means = [probability, 1.0 - probability].map(|share| mean / (2.0 * share));
                Shape::Mixed { probability, means }
            }
            Process::OnOff {
                burst_factor,
                burst_seconds,
            } => {
                check("a burst factor", burst_factor, 1.0, "above 1")?;
                check("a burst length", burst_seconds, 0.0, "above 0")?;
                // The state found at a random moment; an exponential rest has no memory.
                let in_burst = random.fraction() * burst_factor < 1.0;
                let left = if in_burst {
                    exponential(&mut random, burst_seconds)
                } else {
                    0.0
                };
                Shape::Bursts {
                    mean: mean / burst_factor,
                    burst: burst_seconds,
                    silence: burst_seconds * (burst_factor - 1.0),
                    left,
                }
            }
        };
        Ok(Arrivals { shape, random })
    }

    /// Seconds from the last arrival (at first: from the start) to the next.
    #[inline]
    pub fn next_interval(&mut self) -> f64 {
        let random = &mut self.random;
        match &mut self.shape {
            Shape::Constant { interval } => *interval,
            Shape::Stages { stages, mean } => {
                (0..*stages).map(|_| exponential(random, *mean)).sum()
            }
            Shape::Mixed { probability, means } => {
                let [often, seldom] = *means;
                let mean = if random.fraction() < *probability {
                    often
                } else {
                    seldom
                };
                exponential(random, mean)
            }
            Shape::Bursts {
                mean,
                burst,
                silence,
                left,
            } => {
                let mut passed = 0.0;
                loop {
                    let next = exponential(random, *mean);
                    if next < *left {
                        *left -= next;
                        return passed + next;
                    }
                    passed += *left + exponential(random, *silence);
                    *left = exponential(random, *burst);
                }
            }
        }
    }
}

/// Written so that a NaN fails, too.
fn check(
    what: &'static str,
    value: f64,
    above: f64,
    allowed: &'static str,
) -> Result<(), ArrivalError> {
    if value > above && value.is_finite() {
        Ok(())
    } else {
        Err(ArrivalError::Range {
            what,
            value,
            allowed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and coefficient of variation of so many intervals.
    fn moments(process: Process, rate: f64, seed: u64, count: u32) -> (f64, f64) {
        let mut arrivals = Arrivals::new(process, rate, seed).unwrap();
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            let interval = arrivals.next_interval();
            assert!(interval >= 0.0 && interval.is_finite(), "{process:?}");
            sum += interval;
            squares += interval * interval;
        }
        let mean = sum / f64::from(count);
        let variance = squares / f64::from(count) - mean * mean;
        (mean, variance.max(0.0).sqrt() / mean)
    }

    #[test]
    fn means_and_variations_are_those_of_the_formulas() {
        // For on-off, an interrupted Poisson process: 1 + 2 rate ω1 / (ω1 + ω2)², with the rate in
        // a burst, ω1 = 1 / burst and ω2 = 1 / silence.
        let (factor, burst) = (4.0, 0.05);
        let (leave, enter) = (1.0 / burst, 1.0 / (burst * (factor - 1.0)));
        let on_off = 1.0 + 2.0 * (factor * 100.0) * leave / ((leave + enter) * (leave + enter));
        for (process, variation) in [
            (Process::Poisson, 1.0),
            (Process::Deterministic, 0.0),
            (Process::Erlang { stages: 1 }, 1.0),
            (Process::Erlang { stages: 4 }, 0.5),
            (Process::Hyperexponential { variation: 2.0 }, 2.0),
            (
                Process::OnOff {
                    burst_factor: factor,
                    burst_seconds: burst,
                },
                on_off.sqrt(),
            ),
        ] {
            let (mean, found) = moments(process, 100.0, 11, 400_000);
            assert!((mean / 0.01 - 1.0).abs() < 0.03, "{process:?}: mean {mean}");
            assert!(
                (found - variation).abs() < 0.02 * variation.max(1.0),
                "{process:?}: variation {found}, expected {variation}"
            );
        }
    }

    #[test]
    fn bursts_of_less_than_an_arrival_keep_the_mean() {
        // 400 arrivals a second in bursts of 1 ms: most bursts see none.
        let process = Process::OnOff {
            burst_factor: 4.0,
            burst_seconds: 0.001,
        };
        let (mean, _) = moments(process, 100.0, 5, 400_000);
        assert!((mean / 0.01 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn bursts_are_as_long_and_as_dense_as_asked() {
        // Within a burst 1,000 arrivals per second; a gap of 50 ms is all but surely a silence.
        let process = Process::OnOff {
            burst_factor: 10.0,
            burst_seconds: 1.0,
        };
        let mut arrivals = Arrivals::new(process, 100.0, 3).unwrap();
        let (mut silences, mut dense, mut dense_time) = (0u32, 0u32, 0.0);
        for _ in 0..500_000 {
            let interval = arrivals.next_interval();
            if interval > 0.05 {
                silences += 1;
            } else {
                dense += 1;
                dense_time += interval;
            }
        }
        let rate = f64::from(dense) / dense_time;
        assert!((rate / 1_000.0 - 1.0).abs() < 0.02, "{rate}");
        // 5,000 seconds in all, a burst and a silence of 9 s every 10 s.
        assert!((450..550).contains(&silences), "{silences}");
    }

    #[test]
    fn a_seed_replays_and_another_does_not() {
        for process in [
            Process::Poisson,
            Process::Erlang { stages: 3 },
            Process::Hyperexponential { variation: 1.5 },
            Process::OnOff {
                burst_factor: 2.0,
                burst_seconds: 0.1,
            },
        ] {
            let draw = |seed| {
                let mut arrivals = Arrivals::new(process, 7.0, seed).unwrap();
                let intervals = (0..100).map(|_| arrivals.next_interval().to_bits());
                intervals.collect::<Vec<_>>()
            };
            assert_eq!(draw(1), draw(1), "{process:?}");
            assert_ne!(draw(1), draw(2), "{process:?}");
        }
    }

    #[test]
    fn the_first_times_of_a_seed_never_change() {
        let mut random = Random::new(42);
        let bits = [(); 3].map(|()| exponential(&mut random, 1.0).to_bits());
        let pinned = [
            4_610_261_307_016_542_143,
            4_600_587_891_854_552_799,
            4_616_334_379_337_769_610,
        ];
        assert_eq!(bits, pinned);
    }

    #[test]
    fn what_is_not_possible_is_refused() {
        let refused = |process, rate| Arrivals::new(process, rate, 0).unwrap_err().to_string();
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
            assert!(
                refused(Process::Poisson, rate).contains("must be above 0"),
                "{rate}"
            );
        }
        for stages in [0, MAX_STAGES + 1] {
            assert!(refused(Process::Erlang { stages }, 1.0).contains("between 1 and 1000"));
        }
        for variation in [1.0, 0.5, f64::NAN, 1e200] {
            refused(Process::Hyperexponential { variation }, 1.0);
        }
        for (burst_factor, burst_seconds) in [(1.0, 1.0), (2.0, 0.0), (f64::NAN, 1.0)] {
            let process = Process::OnOff {
                burst_factor,
                burst_seconds,
            };
            refused(process, 1.0);
        }
    }
}
