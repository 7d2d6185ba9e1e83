//! Who is connected: those that have not greeted yet, of whom nobody knows what they want, and those that have.
//!
//! Anybody can connect and say nothing, so that costs others nothing: of many that have not greeted the oldest
//! is sent away when one more comes. But not before it had a moment to greet, since a primary that has just
//! connected is among them: until then no more are let in, and wait in the system's queue.
//!
//! Those that have greeted, with the right token, are few: one is served, and a newer one ends it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The most connections that have not greeted.
pub(crate) const SILENT_MAX: usize = 32;

/// The most that have greeted: the one that is served, and those that wait for it to end.
const GREETED_MAX: usize = 32;

/// How long a connection may be silent, however many others come.
const SILENCE_MIN: Duration = Duration::from_millis(200);

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    number: u64,
    /// Ends it.
    pub end: CancellationToken,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Visitors {
    next: u64,
    /// Oldest first, with the time at which each came.
    silent: VecDeque<(Instant, Visitor)>,
    greeted: Vec<u64>,
}

impl Visitors {
    /// How long nobody may be let in; zero if one may.
    pub fn pause(&self, now: Instant) -> Duration {
        match self.silent.front() {
            Some((came, _)) if self.silent.len() >= SILENT_MAX => {
                SILENCE_MIN.saturating_sub(now.saturating_duration_since(*came))
            }
            _ => Duration::ZERO,
        }
    }

    /// One more comes, that `end` ends. Returns it, and whether another one was sent away for it.
    pub fn enter(&mut self, now: Instant, end: CancellationToken) -> (Visitor, bool) {
        let oldest = match self.silent.len() {
            SILENT_MAX.. => self.silent.pop_front(),
            _ => None,
        };
        if let Some((_, oldest)) = &oldest {
            oldest.end.cancel();
        }
        let visitor = Visitor {
            number: self.next,
            end,
        };
        self.next += 1;
        self.silent.push_back((now, visitor.clone()));
        (visitor, oldest.is_some())
    }

    /// It has greeted as a primary does. Returns whether it may be served.
    pub fn greeted(&mut self, visitor: &Visitor) -> bool {
        self.silent.retain(|(_, one)| one.number != visitor.number);
        let room = self.greeted.len() < GREETED_MAX;
        if room {
            self.greeted.push(visitor.number);
        }
        room
    }

    /// It is gone.
    pub fn leave(&mut self, visitor: &Visitor) {
        self.silent.retain(|(_, one)| one.number != visitor.number);
        self.greeted.retain(|number| *number != visitor.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_has_not_greeted_goes_and_none_before_its_time() {
        let began = Instant::now();
        let mut visitors = Visitors::default();
        let enter = |visitors: &mut Visitors, at| visitors.enter(at, CancellationToken::new());
        let (primary, _) = enter(&mut visitors, began);
        assert!(visitors.greeted(&primary));
        let mut all = Vec::new();
        for _ in 0..SILENT_MAX {
            assert_eq!(visitors.pause(began), Duration::ZERO);
            all.push(enter(&mut visitors, began).0);
        }
        assert_eq!(visitors.pause(began), SILENCE_MIN);
        let later = began + SILENCE_MIN;
        assert_eq!(visitors.pause(later), Duration::ZERO);
        let (newest, sent_away) = enter(&mut visitors, later);
        assert!(sent_away && all[0].end.is_cancelled());
        assert!(!primary.end.is_cancelled() && !newest.end.is_cancelled());
        assert!(all[1..].iter().all(|one| !one.end.is_cancelled()));
        visitors.leave(&all[0]);
        visitors.leave(&all[5]);
        assert_eq!(visitors.pause(began), Duration::ZERO, "there is room");
    }

    #[test]
    fn those_that_have_greeted_are_bounded_too() {
        let mut visitors = Visitors::default();
        let mut greeted = Vec::new();
        for n in 0..=GREETED_MAX {
            let (visitor, _) = visitors.enter(Instant::now(), CancellationToken::new());
            assert_eq!(visitors.greeted(&visitor), n < GREETED_MAX);
            greeted.push(visitor);
        }
        visitors.leave(&greeted[0]);
        let (visitor, _) = visitors.enter(Instant::now(), CancellationToken::new());
        assert!(visitors.greeted(&visitor));
    }
}
