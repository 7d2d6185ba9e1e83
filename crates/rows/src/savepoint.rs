//! A savepoint: the same type, and the same verbs, in the transactions of all stores of rows.
//!
//! A transaction gives one with `savepoint`, goes back there with `rollback_to`, and forgets it with `release`.

use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of savepoints, of all transactions of the process: so one of another transaction, of any store, is never
/// taken for its own. 0 is of none.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// A point of a transaction, to which that can go back. Another transaction refuses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint(u64);

impl Savepoint {
    /// One that no transaction has.
    #[doc(hidden)]
    pub const NONE: Savepoint = Savepoint(0);

    /// A new one. Its number is above all that were given before it.
    #[inline]
    pub(crate) fn next() -> Savepoint {
        Savepoint(NUMBERS.fetch_add(1, Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}
