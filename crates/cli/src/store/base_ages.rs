//! The age of a store's newest base, and the time for which one has been due, for the metrics of the host that makes them.
//!
//! Both come from the entries in the store: an age that began with a term would never be old on hosts that take over each
//! day.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bases of a store, for the metrics of the host that makes them. All times are in microseconds since 1970.
#[derive(Debug, Default)]
pub struct BasesSeen(Mutex<Option<Times>>);

/// The times that a host which makes bases knows.
#[derive(Debug)]
struct Times {
    /// Of the newest base's last entry; before there is one, of the log's first entry. `None`: the store was not asked yet.
    newest: Option<u64>,
    /// The moment since when a base has been due, if one is.
    due: Option<u64>,
}

impl BasesSeen {
    fn times(&self) -> MutexGuard<'_, Option<Times>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) {
        let (newest, due) = (None, None);
        *self.times() = Some(Times { newest, due });
    }

    /// This host makes no bases any more.
    pub fn end(&self) {
        *self.times() = None;
    }

    /// A base of an entry of this time is the newest; or there is none, and the log begins then.
    pub(super) fn has(&self, time: u64) {
        self.times()
            .iter_mut()
            .for_each(|times| times.newest = Some(time));
    }

    pub(super) fn knows_age(&self) -> bool {
        let times = self.times();
        times.as_ref().is_some_and(|times| times.newest.is_some())
    }

    /// A base has been due since this moment, or none is.
    pub(super) fn is_due_since(&self, since: Option<u64>) {
        self.times().iter_mut().for_each(|times| times.due = since);
    }

    /// A base may be due since now: that cannot be seen.
    pub(super) fn may_be_due(&self, now: u64) {
        let mut times = self.times();
        times.iter_mut().for_each(|times| {
            times.due.get_or_insert(now);
        });
    }

    /// The age of the newest base, as far as that is known, and the time for which one has been due, in seconds; `None` if
    /// this host makes none. If the clock was set back, they are 0.
    pub fn ages(&self, now: u64) -> Option<(Option<f64>, f64)> {
        let age = |time: u64| Duration::from_micros(now.saturating_sub(time)).as_secs_f64();
        let times = self.times();
        times
            .as_ref()
            .map(|times| (times.newest.map(age), times.due.map_or(0.0, age)))
    }
}
