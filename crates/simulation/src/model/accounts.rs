//! The parts of a transaction's time: every wait is booked to one part, and the parts add up to the
//! response time.

use crate::measurement::Composition;
use crate::time::Span;

/// The uses of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    InputQueue,
    /// Served by a processor.
    CpuService,
    /// Waiting for a processor.
    CpuWait,
    /// Disks, controllers, caches.
    Io,
    /// GEM accesses.
    Gem,
    /// Locks that others hold.
    LockWait,
    /// Other nodes' answers.
    Messages,
    /// All of an attempt that ended in a deadlock, and the pause after it.
    Restarts,
}

const PARTS: usize = Part::Restarts as usize + 1;

/// The time spent on each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts([Span; PARTS]);

impl Accounts {
    pub fn book(&mut self, part: Part, span: Span) {
        self.0[part as usize] += span;
    }

    /// All parts together.
    pub fn total(&self) -> Span {
        self.0.iter().fold(Span::ZERO, |total, &span| total + span)
    }

    /// The attempt so far is lost: all times booked since `before` count as a restart.
    pub fn restart(&mut self, before: &Accounts) {
        let lost = self.total() - before.total();
        *self = *before;
        self.book(Part::Restarts, lost);
    }

    /// Adds the other's times to these.
    pub fn add(&mut self, other: &Accounts) {
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }

    /// The mean over `transactions`, in milliseconds.
    pub fn mean(&self, transactions: u64) -> Composition {
        let of = |part: Part| self.0[part as usize].as_milliseconds() / transactions.max(1) as f64;
        Composition {
            input_queue: of(Part::InputQueue),
            cpu_service: of(Part::CpuService),
            cpu_wait: of(Part::CpuWait),
            io: of(Part::Io),
            gem: of(Part::Gem),
            lock_wait: of(Part::LockWait),
            messages: of(Part::Messages),
            restarts: of(Part::Restarts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_attempt_becomes_a_restart_and_the_total_stays() {
        let mut accounts = Accounts::default();
        accounts.book(Part::InputQueue, Span::from_milliseconds(1.0));
        let before = accounts;
        accounts.book(Part::Io, Span::from_milliseconds(16.4));
        accounts.book(Part::LockWait, Span::from_milliseconds(100.0));
        let total = accounts.total();
        accounts.restart(&before);
        assert_eq!(accounts.total(), total);
        let mean = accounts.mean(2);
        assert_eq!((mean.input_queue, mean.io), (0.5, 0.0));
        assert!((mean.restarts - 58.2).abs() < 1e-9);
    }
}
