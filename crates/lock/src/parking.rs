//! The place at which one thread waits for the result of its request.
//!
//! The result is written once, by the thread that ends the wait, while the wait is removed from the
//! table; then the waiting thread is woken. Parking compares the word in the same step, so no
//! wake-up is lost.

use crate::owner::{Denied, Granted};
use sardonyx_base::sync::ParkingWord;
use sardonyx_base::sync::atomic::{AtomicU32, Ordering};

/// The outcome of a wait.
pub(crate) type Outcome = Result<Granted, Denied>;

/// The number of times that a waiting thread looks for its outcome before it parks: well under a microsecond. Few
/// locks are released sooner, and there may be more threads than processors, so longer spinning would not pay.
const LOOKS: u32 = if cfg!(shuttle) { 0 } else { 20 };

/// All outcomes; the number of one is its place here, from 1.
const OUTCOMES: [Outcome; 5] = [
    Ok(Granted::New),
    Ok(Granted::More),
    Ok(Granted::Held),
    Err(Denied::Restart),
    Err(Denied::Deadlock),
];

/// The place where one thread waits, once.
#[derive(Debug, Default)]
pub(crate) struct Parking {
    /// 0 until there is an outcome.
    outcome: AtomicU32,
    word: ParkingWord,
}

impl Parking {
    /// Sets the outcome; [`Parking::wake`] has to follow.
    pub(crate) fn tell(&self, outcome: Outcome) {
        let place = OUTCOMES.iter().position(|other| *other == outcome);
        let number = place.expect("all outcomes are listed") as u32 + 1;
        self.outcome.store(number, Ordering::Release);
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        self.word.change();
        self.word.wake_all();
    }

    /// Spins for a moment, then parks until another thread has called [`Parking::wake`].
    pub(crate) fn wait(&self) -> Outcome {
        for _ in 0..LOOKS {
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            core::hint::spin_loop();
        }
        loop {
            let seen = self.word.value();
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            self.word.park(seen);
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        let number = self.outcome.load(Ordering::Acquire);
        let place = number.checked_sub(1)?;
        Some(OUTCOMES[place as usize])
    }
}
