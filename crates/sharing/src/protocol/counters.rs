//! Counts of a node's machine.

/// Counts since the machine was made. Lock requests divide into those already held, authorised,
/// local, global and remote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Lock requests of this node's transactions.
    pub lock_requests: u64,
    /// Of these: for a lock that the transaction had already.
    pub already_held: u64,
    /// Of these: granted under a read authorisation, without message or access to the global table.
    pub authorised: u64,
    /// Of these: decided in this node's own part of the lock table (primary copy).
    pub local: u64,
    /// Of these: decided in the global lock table (GEM).
    pub global: u64,
    /// Of these: sent to the node that has the authority (primary copy).
    pub remote: u64,
    /// Requests that had to wait for another transaction, counted where that was found.
    pub conflicts: u64,
    /// Deadlocks whose victim was a transaction of this node.
    pub deadlocks: u64,
    /// Grants to this node's transactions that found the node's copy of the page invalidated.
    pub invalidations: u64,
    /// Pages asked for by a message of their own.
    pub page_requests: u64,
    /// Of these: the asked node did not have it any more.
    pub page_misses: u64,
    /// Entries of the global lock table read.
    pub entry_reads: u64,
    /// Compare&Swap operations on the global lock table.
    pub entry_swaps: u64,
    /// Of these: failed because the entry had changed.
    pub swap_failures: u64,
    /// Short messages sent.
    pub short_messages: u64,
    /// Messages sent that carried pages.
    pub long_messages: u64,
    /// Read authorisations that this node was given.
    pub authorisations: u64,
    /// Read authorisations that this node gave up.
    pub revocations: u64,
    /// Messages sent to look for deadlocks, also among the short ones.
    pub probes: u64,
}
