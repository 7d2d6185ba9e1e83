//! Bytes of a client that were not answered: unfinished messages, and commands that wait to run.
//!
//! They count among the memory of all clients, as answers do. So many clients that send large messages without
//! finishing them cannot take all memory.

use sardonyx_sql::{Budget, Exhausted, Share};
use std::sync::Arc;

/// The bytes of a client up to which nothing is counted.
const SMALL_BYTES: usize = 64 << 10;

/// Received bytes are counted twice: as they were sent, and as they were parsed.
const COPIES: usize = 2;

/// The bytes of a client that were not answered.
#[derive(Debug)]
pub struct Unanswered {
    bytes: usize,
    budget: Arc<Budget>,
    share: Share,
}

impl Unanswered {
    /// No bytes yet.
    pub fn new(budget: Arc<Budget>) -> Self {
        Unanswered {
            bytes: 0,
            share: Share::of(budget.clone()),
            budget,
        }
    }

    /// The budget against which they are counted.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Counts bytes. Returns true if there is memory for them.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= SMALL_BYTES || self.share.cover(self.bytes.saturating_mul(COPIES)).is_ok()
    }

    /// Marks all but `left` bytes as answered.
    #[inline]
    pub fn answered(&mut self, left: usize) {
        if self.bytes > SMALL_BYTES {
            self.share = Share::of(self.budget.clone());
        }
        self.bytes = 0;
        // If there is no memory for the rest, the next bytes are refused.
        self.add(left);
    }

    /// The error when memory is exhausted.
    pub fn refusal(&self) -> Exhausted {
        self.budget.exhausted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_messages_count_until_they_are_answered() {
        let budget = Arc::new(Budget::default());
        budget.set_bytes_max(4 << 20);
        let mut one = Unanswered::new(budget.clone());
        let mut other = Unanswered::new(budget.clone());
        assert!(one.add(SMALL_BYTES));
        assert_eq!(budget.taken(), 0);
        assert!(one.add(1 << 20));
        assert!(budget.taken() >= 2 << 20);
        assert!(!other.add(3 << 19));
        assert!(other.refusal().to_string().contains("4194304 bytes"));
        // A part of the next message has arrived already.
        one.answered(100 << 10);
        assert!(budget.taken() < 1 << 20);
        assert!(other.add(1));
        drop((one, other));
        assert_eq!(budget.taken(), 0);
    }
}
