//! The seeds of an exploration: how many it takes, which one it replays, and how a failure names the seed that shows it.
//!
//! Every exploration takes few seeds in a usual test run. `SARDONYX_SEEDS` asks for another number of them, and
//! `SARDONYX_SEED` for one alone, or for the first of so many. Nothing else of the environment decides (I11): in an
//! explored seed, numbers that are otherwise the operating system's are drawn from the seed.

use crate::random::{asked, of_a_seed};
use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The seeds that an exploration takes.
#[derive(Clone, Debug)]
pub struct Seeds {
    seeds: Range<u64>,
    is_replay: bool,
}

impl Seeds {
    /// So many from the first one on, unless the environment asks for others.
    ///
    /// # Panics
    /// A variable of the environment is no number.
    #[inline]
    pub fn new(first: u64, few: u64) -> Seeds {
        Seeds::chosen(first, few, asked("SARDONYX_SEED"), asked("SARDONYX_SEEDS"))
    }

    fn chosen(first: u64, few: u64, seed: Option<u64>, seeds: Option<u64>) -> Seeds {
        let few = match seed {
            Some(_) => 1,
            None => few,
        };
        let first = seed.unwrap_or(first);
        Seeds {
            seeds: first..first + seeds.unwrap_or(few),
            is_replay: seed.is_some(),
        }
    }

    /// One in a replay; otherwise as the caller or `SARDONYX_SEEDS` says.
    pub fn count(&self) -> u64 {
        self.seeds.end - self.seeds.start
    }

    /// True if the environment asks for one seed: too few to judge how often something happens.
    pub fn is_replay(&self) -> bool {
        self.is_replay
    }

    /// Explores each seed. If one panics, the command's variable that replays it is printed.
    pub fn explore(&self, mut explore: impl FnMut(u64)) {
        for seed in self.seeds.clone() {
            let _replay = Replay(seed);
            of_a_seed(seed, || explore(seed));
        }
    }

    /// The same, and each so many-th seed twice: the same seed gives the same run (I11). A run is compared by its
    /// first part; `add` takes the second part of each seed's first run.
    ///
    /// # Panics
    /// A seed gave two runs that differ.
    pub fn explore_alike<T, S>(
        &self,
        each: u64,
        explore: impl Fn(u64) -> (T, S),
        mut add: impl FnMut(S),
    ) where
        T: PartialEq + Debug,
    {
        self.explore(|seed| {
            let (run, seen) = explore(seed);
            if seed.is_multiple_of(each) {
                let again = of_a_seed(seed, || explore(seed));
                assert_eq!(run, again.0, "the same seed, another run");
            }
            add(seen);
        });
    }
}

/// Prints the seed of a run that panics.
struct Replay(u64);

impl Drop for Replay {
    #[allow(clippy::print_stderr, reason = "only tests explore, and read it there")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with SARDONYX_SEED={}", self.0);
        }
    }
}

/// The first of these seeds whose run panics, and its message: for errors that are planted, which a run must find.
pub fn first_failure(seeds: Range<u64>, run: impl Fn(u64)) -> Option<(u64, String)> {
    first_failure_with(seeds, |_| true, run)
}

/// The same, of those seeds whose message is that of a finding: a run may end otherwise, too.
pub fn first_failure_with(
    mut seeds: Range<u64>,
    is_finding: impl Fn(&str) -> bool,
    run: impl Fn(u64),
) -> Option<(u64, String)> {
    seeds.find_map(|seed| {
        let panic = catch_unwind(AssertUnwindSafe(|| of_a_seed(seed, || run(seed)))).err()?;
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| Some((*panic.downcast_ref::<&str>()?).into()));
        let text = text.unwrap_or_default();
        is_finding(&text).then_some((seed, text))
    })
}

#[cfg(test)]
mod tests {
    use super::{Seeds, first_failure, first_failure_with};
    use crate::random::system_random;
    use std::cell::Cell;

    fn explored(seeds: &Seeds) -> Vec<u64> {
        let mut explored = Vec::new();
        seeds.explore(|seed| explored.push(seed));
        explored
    }

    #[test]
    fn few_seeds_more_of_them_one_alone_and_some_from_one_on() {
        assert_eq!(explored(&Seeds::chosen(5, 2, None, None)), [5, 6]);
        assert_eq!(explored(&Seeds::chosen(5, 2, None, Some(3))), [5, 6, 7]);
        assert_eq!(explored(&Seeds::chosen(5, 2, Some(90), None)), [90]);
        assert_eq!(explored(&Seeds::chosen(5, 2, Some(90), Some(2))), [90, 91]);
        assert!(Seeds::chosen(5, 2, Some(90), None).is_replay());
    }

    #[test]
    fn a_seed_whose_second_run_differs_is_found() {
        let runs = Cell::new(0);
        let found = first_failure(0..1, |_| {
            let run = |_| (runs.replace(runs.get() + 1), ());
            Seeds::chosen(0, 3, None, None).explore_alike(2, run, |()| ());
        });
        let (_, text) = found.expect("two runs differ");
        assert!(text.contains("the same seed, another run"), "{text}");
        assert_eq!(runs.get(), 2);
    }

    #[test]
    fn a_seed_that_runs_twice_is_added_once() {
        let mut added = Vec::new();
        let run = |seed| (seed, seed);
        Seeds::chosen(0, 4, None, None).explore_alike(2, run, |seed| added.push(seed));
        assert_eq!(added, [0, 1, 2, 3]);
    }

    #[test]
    fn numbers_of_the_system_are_drawn_from_the_seed() {
        let drawn = || {
            let mut drawn = Vec::new();
            let run = |_| (system_random(), system_random());
            Seeds::chosen(0, 2, None, None).explore_alike(1, run, |after| drawn.push(after));
            let of_failures = first_failure(0..1, |_| panic!("{}", system_random()));
            (drawn, of_failures)
        };
        assert_eq!(drawn(), drawn());
    }

    #[test]
    fn the_first_failure_is_the_first() {
        assert_eq!(
            first_failure(0..9, |seed| assert!(seed < 4, "{seed}")),
            Some((4, "4".into()))
        );
        assert_eq!(first_failure(0..4, |seed| assert!(seed < 4)), None);
        let of_six = first_failure_with(0..9, |text| text == "6", |seed| panic!("{seed}"));
        assert_eq!(of_six, Some((6, "6".into())));
    }
}
