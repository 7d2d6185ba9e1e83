//! The walk over the ends of a life: one at each step of the disk, or each so many-th, until the end no longer comes.

use sardonyx_base::random::stride;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// After so many failures a walk stops. The number shows whether one step is affected or all are.
const FAILURES_MAX: usize = 10;

/// Steps to be explored in turn.
///
/// ```
/// use sardonyx_storage::crashes::Walk;
/// // A life of 20 steps.
/// let explored = Walk::each(3).at_least(10).explore("an example", |step| step <= 20);
/// assert!(explored == 8 || explored == 21, "all, if SARDONYX_SEEDS is set");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    first: u64,
    stride: u64,
    widening: Option<u64>,
    least: u64,
}

impl Walk {
    /// Each so many-th step, from 1 on; each one if the environment has `SARDONYX_SEEDS`. Take a number that shares no
    /// factor with the period of what is explored.
    pub fn each(few: usize) -> Walk {
        Walk {
            first: 1,
            stride: stride(few) as u64,
            widening: None,
            least: 0,
        }
    }

    /// From this step on.
    #[must_use]
    pub fn from(self, first: u64) -> Walk {
        Walk { first, ..self }
    }

    /// The first step follows from this number, so that several walks take different steps.
    #[must_use]
    pub fn beginning(self, number: u64) -> Walk {
        let first = 1 + number % self.stride;
        self.from(first)
    }

    /// The steps lie further apart the later they are: by this part of the step.
    #[must_use]
    pub fn widening(self, part: u64) -> Walk {
        let widening = Some(part);
        Walk { widening, ..self }
    }

    /// The life has more steps than this, or the walk is about something else than it was made for.
    #[must_use]
    pub fn at_least(self, least: u64) -> Walk {
        Walk { least, ..self }
    }

    fn after(&self, step: u64) -> u64 {
        step + self.stride + self.widening.map_or(0, |part| step / part)
    }

    /// Explores each step until one returns false: the life was over before. Returns the number of explored lives.
    ///
    /// # Panics
    /// Some lives failed; they are named together. Or the life was shorter than it must be.
    pub fn explore(self, what: &str, mut explore: impl FnMut(u64) -> bool) -> u64 {
        let (mut step, mut explored, mut failed) = (self.first, 0, Vec::new());
        while failed.len() < FAILURES_MAX {
            explored += 1;
            match catch_unwind(AssertUnwindSafe(|| explore(step))) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => failed.push(step),
            }
            step = self.after(step);
        }
        assert!(
            failed.is_empty(),
            "{what}: {} of {explored} lives failed, at steps {failed:?}",
            failed.len()
        );
        assert!(step > self.least, "{what}: {step} steps only");
        explored
    }
}

#[cfg(test)]
mod tests {
    use super::Walk;
    use sardonyx_base::seeds::first_failure;

    fn walk(stride: u64) -> Walk {
        Walk {
            stride,
            ..Walk::each(1)
        }
    }

    #[test]
    fn it_takes_each_so_many_th_step_until_the_end_no_longer_comes() {
        let mut steps = Vec::new();
        let explored = walk(3).beginning(7).explore("steps", |step| {
            steps.push(step);
            step < 9
        });
        assert_eq!((steps, explored), (vec![2, 5, 8, 11], 4));
        let mut steps = Vec::new();
        walk(2).widening(3).explore("steps", |step| {
            steps.push(step);
            step < 9
        });
        assert_eq!(steps, [1, 3, 6, 10]);
    }

    #[test]
    fn failures_are_named_together_and_too_short_a_life_is_one() {
        let text = |run: fn()| first_failure(0..1, |_| run()).expect("it fails").1;
        let failing = text(|| {
            walk(1).explore("odd ones", |step| {
                assert!(step.is_multiple_of(2), "planted");
                step < 6
            });
        });
        assert_eq!(failing, "odd ones: 3 of 6 lives failed, at steps [1, 3, 5]");
        let endless = text(|| {
            walk(1).explore("all", |_| panic!("planted"));
        });
        assert!(endless.contains("10 of 10 lives"), "{endless}");
        let short = text(|| {
            walk(1).at_least(20).explore("short", |step| step < 6);
        });
        assert_eq!(short, "short: 6 steps only");
    }
}
