//! A small generator of pseudo-random numbers for simulations (I11: same seed, same run). Its
//! sequence is part of what a printed seed means, so it must not change with a dependency.
//!
//! SplitMix64, from Steele, Lea & Flood, *Fast Splittable Pseudorandom Number Generators* (2014).

use std::cell::RefCell;

/// The number in a variable of the environment: how many seeds an exploration takes (`SARDONYX_SEEDS`), or which one it
/// replays (`SARDONYX_SEED`). For tests, which read it nowhere else.
///
/// # Panics
/// The variable is no number.
#[expect(
    clippy::panic,
    reason = "only tests call it; to ignore a wrong value would try another number of seeds"
)]
#[inline]
pub fn asked(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is no number: {value}")))
}

/// The number of seeds, cases or rounds of an exploration: few, or as many as `SARDONYX_SEEDS` says. So each one has a
/// short version, which every test run takes, and a long one.
///
/// # Panics
/// As [`asked`].
#[inline]
pub fn seeds(few: u64) -> u64 {
    asked("SARDONYX_SEEDS").unwrap_or(few)
}

/// [`seeds`] for property tests, which count their cases so.
///
/// # Panics
/// As [`asked`].
#[inline]
pub fn cases(few: u32) -> u32 {
    u32::try_from(seeds(few.into())).unwrap_or(u32::MAX)
}

/// The distance between the steps at which an exploration plants a fault: this one, or 1 if `SARDONYX_SEEDS` asks for more.
/// Take a number that shares no factor with the period of what is explored.
///
/// # Panics
/// As [`asked`].
#[inline]
pub fn stride(few: usize) -> usize {
    match asked("SARDONYX_SEEDS") {
        Some(_) => 1,
        None => few,
    }
}

thread_local! {
    /// The generator of [`of_a_seed`], where a test runs in it.
    static OF_A_SEED: RefCell<Option<Random>> = const { RefCell::new(None) };
}

/// Calls `run`, and gives [`system_random`]'s callers in this thread the numbers of a seed meanwhile. Names and authors
/// that are drawn decide orders and refusals, so an exploration is the same run only with the same ones (I11). For tests:
/// [`Seeds`](crate::seeds::Seeds) explores each seed so.
pub fn of_a_seed<T>(seed: u64, run: impl FnOnce() -> T) -> T {
    /// Also after a panic, which a search for planted errors catches.
    struct Before(Option<Random>);
    impl Drop for Before {
        fn drop(&mut self) {
            OF_A_SEED.replace(self.0.take());
        }
    }
    let _before = Before(OF_A_SEED.replace(Some(Random::stream(seed, OF_THE_SYSTEM))));
    run()
}

/// The stream of a seed that replaces the operating system's numbers; explorations draw from others.
const OF_THE_SYSTEM: u64 = 0x6F73;

/// An unpredictable number: from the operating system, also in a forked child, which would otherwise continue its
/// parent's.
pub fn system_random() -> u64 {
    let drawn = OF_A_SEED.with_borrow_mut(|random| random.as_mut().map(Random::next));
    drawn.unwrap_or_else(of_the_system)
}

fn of_the_system() -> u64 {
    let mut bytes = [0; 8];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        match rustix::rand::getrandom(&mut bytes[filled..], flags) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return of_the_standard_library(),
        }
    }
    u64::from_ne_bytes(bytes)
}

/// For systems where the call is forbidden or missing: the standard library's hashers have keys, too.
#[cold]
fn of_the_standard_library() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let keys = std::collections::hash_map::RandomState::new();
    let mut hasher = keys.build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

/// A seeded generator; not for secrets.
///
/// ```
/// use sardonyx_base::random::Random;
/// assert_eq!(Random::new(7).next(), Random::new(7).next());
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that gives the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// A generator for one of many streams of a seed; streams do not resemble each other.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mixed = Random::new(stream).next();
        Random::new(Random::new(seed ^ mixed).next())
    }

    /// Each of 2^64 numbers is as likely.
    #[allow(clippy::should_implement_trait)] // It never ends, so it is no good as an iterator.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below 0");
        // The high half of the product; its bias is below 2^-32 for any bound used in a simulation.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// True in `numerator` of `denominator` cases.
    #[inline]
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, of_a_seed, system_random};

    #[test]
    fn numbers_of_the_system_are_those_of_a_seed_only_within_it() {
        let drawn = |seed| of_a_seed(seed, || [system_random(), system_random()]);
        let [first, second] = drawn(3);
        assert_ne!(first, second);
        assert_eq!(drawn(3), [first, second]);
        assert_ne!(drawn(4)[0], first);
        // The inner seed does not move the outer one on, and a panic leaves none behind.
        let nested = of_a_seed(3, || (system_random(), drawn(4), system_random()));
        assert_eq!((nested.0, nested.2), (first, second));
        let panicked = std::panic::catch_unwind(|| of_a_seed(3, || panic!("{}", system_random())));
        assert!(panicked.is_err());
        assert_ne!(system_random(), system_random());
        assert_ne!(system_random(), second);
    }

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = Random::new(1234567);
        assert_eq!(random.next(), 6457827717110365317);
        assert_eq!(random.next(), 3203168211198807973);
    }

    #[test]
    fn numbers_stay_below_the_bound_and_reach_all_of_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 7];
        for _ in 0..1000 {
            seen[random.below(7) as usize] = true;
        }
        assert_eq!(seen, [true; 7]);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        assert_ne!(Random::stream(1, 0).next(), Random::stream(1, 1).next());
        assert_ne!(Random::stream(1, 0).next(), Random::stream(2, 0).next());
    }
}
