//! What a lock table has done so far.

/// Counts since the table was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests of any outcome.
    pub requests: u64,
    /// Requests for what the owner had already.
    pub held: u64,
    /// Requests that had to wait.
    pub waits: u64,
    /// Requests taken back while they waited.
    pub cancelled: u64,
    /// Deadlocks found by [`crate::LockTable::deadlock`].
    pub deadlocks: u64,
}
