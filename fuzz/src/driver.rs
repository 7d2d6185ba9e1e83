//! Running targets on stable Rust, replayed by target, seed and number.

use sardonyx_base::crc32c;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use sardonyx_base::random::Random;

use crate::{Target, mutation};

/// The extent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Inputs.
    pub runs: u64,
    /// The time that they took.
    pub time: Duration,
}

/// An input at which a target panicked.
#[derive(Debug, thiserror::Error)]
#[error(
    "target {target} panicked at input {number} of seed {seed} ({} bytes): {message}\n\
     replay: cargo xtask fuzz {target} --seed {seed} --first {number} --runs 1",
    input.len()
)]
pub struct Failure {
    /// The target's name.
    pub target: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// The input's number.
    pub number: u64,
    /// The bytes to run again, or to reduce.
    pub input: Vec<u8>,
    /// The panic's message.
    pub message: String,
}

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After so many inputs.
    Runs(u64),
    /// After so long: the number of inputs depends on the machine, the inputs do not.
    Time(Duration),
}

/// Gives the target inputs of `seed`, from number `first` on.
///
/// # Errors
/// The first input at which it panics.
pub fn fuzz(
    target: &'static Target,
    seed: u64,
    first: u64,
    until: Until,
) -> Result<Report, Failure> {
    let seeds = (target.seeds)();
    let name = u64::from(crc32c::crc32c(target.name.as_bytes()));
    let start = Instant::now();
    let mut runs = 0;
    loop {
        let time = start.elapsed();
        let ends = match until {
            Until::Runs(most) => runs >= most,
            Until::Time(longest) => time >= longest,
        };
        if ends {
            return Ok(Report { runs, time });
        }
        let number = first + runs;
        let mut random = Random::stream(seed ^ (name << 32), number);
        let input = mutation::input(&seeds, number, &mut random);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(&input))) {
            return Err(Failure {
                target: target.name,
                seed,
                number,
                input,
                message: message(&*panic),
            });
        }
        runs += 1;
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics if a byte of its second word says so: a planted error.
    const PLANTED: Target = Target {
        name: "planted",
        what: "nothing",
        seeds: || vec![vec![7; 24]],
        run: |bytes| assert!(bytes.get(9) != Some(&0xff), "the planted error"),
        runs: 0,
    };

    #[test]
    fn a_planted_error_is_found_and_replayed() {
        let failure = fuzz(&PLANTED, 1, 0, Until::Runs(10_000)).expect_err("found");
        assert_eq!(failure.message, "the planted error");
        let again = fuzz(&PLANTED, 1, failure.number, Until::Runs(1)).expect_err("found again");
        assert_eq!(again.input, failure.input);
    }

    #[test]
    fn the_first_inputs_are_the_seeds_themselves() {
        const SEEDS_ONLY: Target = Target {
            run: |bytes| assert_eq!(bytes, [7; 24]),
            ..PLANTED
        };
        let report = fuzz(&SEEDS_ONLY, 1, 0, Until::Runs(1)).expect("the seed");
        assert_eq!(report.runs, 1);
    }
}
