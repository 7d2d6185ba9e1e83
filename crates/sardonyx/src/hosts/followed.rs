//! The progress of a host that follows, for other threads to look at.

use crate::clock::Moment;
use std::time::{Duration, Instant};

/// The progress of a host that follows. The default: it has not begun to, or serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Followed {
    /// Entries of the store's log before this number are here.
    pub next_entry: u64,
    /// Transactions that are here.
    pub transactions: u64,
    /// The creation time of the last entry, in microseconds since 1970, UTC.
    pub time: u64,
    /// The number of times that this host began to follow. Each time it may cut off log that another host continued
    /// without: then readers of the directory have to read it anew.
    pub begun: u64,
    /// The last moment at which the store had nothing more. `None`: there was none yet.
    pub caught_up: Option<CaughtUp>,
}

impl Followed {
    /// True if the store has had nothing more since this host began to follow the last time: nothing is cut off any more.
    pub fn has_caught_up(&self) -> bool {
        self.caught_up
            .is_some_and(|caught_up| caught_up.begun == self.begun)
    }
}

/// A moment at which the store had nothing more than a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaughtUp {
    /// The moment; not for its age, since this clock is still while the machine sleeps.
    pub at: Instant,
    moment: Moment,
    /// [`Followed::begun`] at this moment.
    begun: u64,
}

impl CaughtUp {
    /// Now, of a host that has begun to follow so many times.
    pub fn now(begun: u64) -> CaughtUp {
        let moment = Moment::now();
        CaughtUp {
            at: moment.at,
            moment,
            begun,
        }
    }

    /// The time since then, also that during which the machine slept: for so long at most the host is behind.
    pub fn age(&self) -> Duration {
        self.moment.age()
    }
}
