//! Observers of the pages that a node's transactions refer to: for traces of a run.

use crate::protocol::LockMode;
use std::fmt::Debug;

/// A transaction that has committed, as it was on the node.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Committed<'a> {
    /// Its type, as its closure said ([`Transaction::set_type`](super::Transaction::set_type)); 0 if it did not.
    pub kind: u16,
    /// Its accesses in their order, each with the lock that it wanted. A page used twice is there twice.
    pub references: &'a [(u64, LockMode)],
}

/// Called for each commit of the node.
pub trait Observer: Debug + Send + Sync {
    /// A transaction has committed and is durable. Called by its thread, before it returns: it must be quick and
    /// must not use the node.
    fn committed(&self, transaction: &Committed<'_>);
}
