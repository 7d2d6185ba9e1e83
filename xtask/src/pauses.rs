//! The longest time between two signs: acknowledgements of a writer, or wake-ups of a thread.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The last sign, and the longest time between two.
#[derive(Debug)]
pub struct Pauses(Mutex<(Instant, Duration)>);

impl Pauses {
    /// The first sign is now.
    pub fn new() -> Self {
        Pauses(Mutex::new((Instant::now(), Duration::ZERO)))
    }

    fn state(&self) -> MutexGuard<'_, (Instant, Duration)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a sign.
    pub fn sign(&self, now: Instant) {
        let mut state = self.state();
        let (last, longest) = *state;
        *state = (now, longest.max(now.saturating_duration_since(last)));
    }

    /// Discards earlier pauses. A pause that has begun counts from its beginning.
    pub fn watch(&self) {
        self.state().1 = Duration::ZERO;
    }

    /// The longest pause, also the one that has not ended.
    pub fn longest(&self, now: Instant) -> Duration {
        let (last, longest) = *self.state();
        longest.max(now.saturating_duration_since(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pause_is_between_two_signs_or_has_not_ended() {
        let (pauses, began) = (Pauses::new(), Instant::now());
        let at = |milliseconds| began + Duration::from_millis(milliseconds);
        pauses.sign(at(10));
        pauses.watch();
        pauses.sign(at(15));
        pauses.sign(at(40));
        pauses.sign(at(45));
        assert_eq!(pauses.longest(at(50)), Duration::from_millis(25));
        assert_eq!(pauses.longest(at(145)), Duration::from_millis(100));
        pauses.watch();
        pauses.sign(at(47));
        assert_eq!(pauses.longest(at(47)), Duration::from_millis(2));
    }
}
