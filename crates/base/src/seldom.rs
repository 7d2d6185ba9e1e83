//! A bound on how often the same is logged: a wait that lasts for hours is logged when it begins, and seldom afterwards.

use std::time::{Duration, Instant};

/// Between two times that the same is logged.
const EVERY: Duration = Duration::from_secs(30);

/// The last time that something was logged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seldom {
    last: Option<Instant>,
}

impl Seldom {
    /// Returns true if it is to be logged now.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .last
            .is_none_or(|last| now.saturating_duration_since(last) >= EVERY);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }

    /// It is over. Returns true if it was logged at all; the next time is logged at once.
    pub fn end(&mut self) -> bool {
        self.last.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_told_then_seldom_and_again_after_the_end() {
        let (mut seldom, start) = (Seldom::default(), Instant::now());
        assert!(!seldom.end());
        let told = (0..61).filter(|second| seldom.is_due(start + Duration::from_secs(*second)));
        assert_eq!(told.count(), 3);
        assert!(seldom.end() && seldom.is_due(start));
    }
}
