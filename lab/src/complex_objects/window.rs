//! The measured part of a run: after the warm-up, for a number of transactions or for a time.
//!
//! The window opens when the first transaction ends after the warm-up. It closes when the first one ends after it has
//! been open for long enough. So its ends are ends of transactions, and a system that completes few is measured neither
//! as slower nor as faster than it is. The engine's counts are read at the same instants. If transactions only end one
//! another in deadlocks, the window closes after a time without an end ([`Window::is_over`]), and shows how little was
//! done.

use sardonyx_base::sync::futex::Mutex;
use std::time::{Duration, Instant};

/// The measured length of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Until {
    /// So many transactions, after so many that warm up.
    Transactions {
        /// Transactions that are not measured.
        warm_up: u64,
        /// Transactions that are, at least 1.
        measured: u64,
    },
    /// A time, after a time for warming up.
    Time {
        /// The time that is not measured.
        warm_up: Duration,
        /// The time that is.
        measured: Duration,
    },
}

/// The phase of a transaction's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// It ended before the window or opened it.
    Before,
    /// It ended within the window.
    Within,
    /// It ended after the window: no other should begin.
    After,
}

/// The counts at the window's opening and closing.
#[derive(Clone, Debug)]
pub(super) struct Seen<C> {
    pub(super) opened: Instant,
    pub(super) closed: Instant,
    pub(super) before: C,
    pub(super) after: C,
}

/// The window of a run.
#[derive(Debug)]
pub(super) struct Window<C> {
    until: Until,
    /// The time without an end after which the run is over.
    patience: Duration,
    began: Instant,
    /// The counts at the opening.
    first: C,
    state: Mutex<State<C>>,
}

#[derive(Debug)]
struct State<C> {
    completed: u64,
    /// The last end of a transaction; the beginning, if none has ended.
    progress: Instant,
    opened: Option<(Instant, C)>,
    seen: Option<Seen<C>>,
}

impl<C: Clone> Window<C> {
    /// A run that begins now; without a warm-up, the window opens now.
    pub(super) fn new(until: Until, patience: Duration, look: impl FnOnce() -> C) -> Self {
        let (began, first) = (Instant::now(), look());
        let at_once = match until {
            Until::Transactions { warm_up, .. } => warm_up == 0,
            Until::Time { warm_up, .. } => warm_up.is_zero(),
        };
        Window {
            until,
            patience,
            began,
            first: first.clone(),
            state: Mutex::new(State {
                completed: 0,
                progress: began,
                opened: at_once.then_some((began, first)),
                seen: None,
            }),
        }
    }

    /// Notes the end of a transaction; `look` is called if the window opens or closes with it.
    pub(super) fn completed(&self, look: impl FnOnce() -> C) -> Phase {
        let mut state = self.state.lock();
        if state.seen.is_some() {
            return Phase::After;
        }
        state.completed += 1;
        let now = Instant::now();
        state.progress = now;
        let Some((opened, before)) = state.opened.clone() else {
            let warm = match self.until {
                Until::Transactions { warm_up, .. } => state.completed >= warm_up,
                Until::Time { warm_up, .. } => now - self.began >= warm_up,
            };
            if warm {
                state.opened = Some((now, look()));
            }
            return Phase::Before;
        };
        let enough = match self.until {
            Until::Transactions { warm_up, measured } => {
                state.completed >= warm_up.saturating_add(measured)
            }
            Until::Time { measured, .. } => now - opened >= measured,
        };
        if enough {
            state.seen = Some(Seen {
                opened,
                closed: now,
                before,
                after: look(),
            });
        }
        Phase::Within
    }

    /// Returns true if it is closed; it closes now, if no transaction has ended for too long. If it was never opened,
    /// it covers the whole run.
    pub(super) fn is_over(&self, look: impl FnOnce() -> C) -> bool {
        let mut state = self.state.lock();
        let now = Instant::now();
        if state.seen.is_none() && now - state.progress >= self.patience {
            let all = || (self.began, self.first.clone());
            let (opened, before) = state.opened.clone().unwrap_or_else(all);
            state.seen = Some(Seen {
                opened,
                closed: now,
                before,
                after: look(),
            });
        }
        state.seen.is_some()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().seen.is_some()
    }

    /// The counts; `None` if the window was never closed.
    pub(super) fn seen(self) -> Option<Seen<C>> {
        self.state.into_inner().seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(until: Until, completions: u64) -> (Vec<Phase>, Option<Seen<u64>>) {
        let window = Window::new(until, Duration::MAX, || 0);
        let phases = (1..=completions).map(|n| window.completed(|| n)).collect();
        (phases, window.seen())
    }

    #[test]
    fn a_number_of_transactions_is_measured_after_the_warm_up() {
        use Phase::{After, Before, Within};
        let until = Until::Transactions {
            warm_up: 2,
            measured: 3,
        };
        let (phases, seen) = phases(until, 7);
        assert_eq!(
            phases,
            [Before, Before, Within, Within, Within, After, After]
        );
        let seen = seen.unwrap();
        assert_eq!((seen.before, seen.after), (2, 5));
        assert!(seen.closed >= seen.opened);
    }

    #[test]
    fn without_a_warm_up_all_are_measured() {
        let until = Until::Transactions {
            warm_up: 0,
            measured: 2,
        };
        let (phases, seen) = phases(until, 3);
        assert_eq!(phases, [Phase::Within, Phase::Within, Phase::After]);
        let seen = seen.unwrap();
        assert_eq!((seen.before, seen.after), (0, 2));
    }

    #[test]
    fn a_window_that_was_not_closed_has_seen_nothing() {
        let until = Until::Transactions {
            warm_up: 1,
            measured: 5,
        };
        assert!(phases(until, 3).1.is_none());
    }

    #[test]
    fn a_window_in_which_nothing_ends_is_closed_and_shows_what_was_counted() {
        for warm_up in [0, 5] {
            let until = Until::Transactions {
                warm_up,
                measured: 5,
            };
            let patient = Window::new(until, Duration::MAX, || 0);
            assert!(!patient.is_over(|| 1) && !patient.is_closed());
            let window = Window::new(until, Duration::ZERO, || 0);
            window.completed(|| 1);
            assert!(window.is_over(|| 2) && window.is_closed());
            // A second look changes nothing.
            assert!(window.is_over(|| 3));
            assert_eq!(window.completed(|| 4), Phase::After);
            let seen = window.seen().unwrap();
            assert_eq!((seen.before, seen.after), (0, 2));
        }
    }

    #[test]
    fn a_time_is_measured_from_one_end_of_a_transaction_to_another() {
        let time = Duration::from_millis(3);
        let until = Until::Time {
            warm_up: time,
            measured: time,
        };
        let window = Window::new(until, Duration::MAX, || ());
        let (mut before, mut within) = (0, 0);
        loop {
            match window.completed(|| ()) {
                Phase::Before => before += 1,
                Phase::Within => within += 1,
                Phase::After => break,
            }
        }
        assert!(window.is_closed() && before > 0 && within > 0);
        let seen = window.seen().unwrap();
        assert!(seen.closed - seen.opened >= time);
    }
}
