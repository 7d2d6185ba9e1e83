//! An entry of the global lock table in GEM: one page's locks and where its newest version is
//! (GEM paper, sections 2 and 3.2).
//!
//! GEM cannot compute. A node reads an entry into main memory, changes its copy there, and writes
//! it back by Compare&Swap on the entry's version; who finds it changed begins again. So every
//! entry is consistent at any time, and the order of the swaps is the order of events.
//!
//! Invariants: holders go together. The PSN is that of the newest committed version. Without an owner
//! storage has that version; with one, the owner's buffer has it until a write that `writing` announced
//! is done. At most one node writes the page to storage.

use super::mode::writes;
use super::{NodeId, Psn, TransactionId};
use sardonyx_lock::LockQueue;
use smallvec::SmallVec;

/// The holder of a page lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LockOwner {
    Transaction(TransactionId),
    /// A node, for those of its transactions to which it grants read locks itself: a read
    /// authorisation.
    Node(NodeId),
}

/// An entry of the global lock table in GEM.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entry {
    pub(crate) version: u64,
    pub(crate) queue: LockQueue<LockOwner>,
    pub(crate) psn: Psn,
    /// NOFORCE: the node that modified the page last, as long as storage has not got that version.
    pub(crate) owner: Option<NodeId>,
    /// The node that is writing the page to storage.
    pub(crate) writing: Option<NodeId>,
    /// Nodes to be notified, one after the other, when that write is done.
    pub(crate) next_writers: SmallVec<[NodeId; 2]>,
    /// True if the nodes with read authorisations have been asked to give them up.
    pub(crate) revoking: bool,
}

impl LockOwner {
    /// The node, or the transaction's node.
    pub(crate) fn node(self) -> NodeId {
        match self {
            LockOwner::Transaction(transaction) => transaction.node(),
            LockOwner::Node(node) => node,
        }
    }
}

impl Entry {
    /// Changed by every swap; what Compare&Swap compares.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The page's newest committed version.
    pub fn psn(&self) -> Psn {
        self.psn
    }

    /// The node whose buffer has the newest version while storage has not.
    pub fn owner(&self) -> Option<NodeId> {
        self.owner
    }

    /// True if no transaction is known here to hold or await a lock on the page, and no node writes it.
    /// (A node with a read authorisation may have readers of its own.)
    pub fn is_idle(&self) -> bool {
        let mut holders = self.queue.holders().iter();
        holders.all(|holder| matches!(holder.owner, LockOwner::Node(_)))
            && self.queue.waiters().is_empty()
            && self.writing.is_none()
    }

    /// True if `node` or one of its transactions holds or awaits a lock on the page.
    pub fn is_locked_by(&self, node: NodeId) -> bool {
        let holders = self.queue.holders().iter().map(|holder| holder.owner);
        let waiters = self.queue.waiters().iter().map(|waiter| waiter.owner);
        holders.chain(waiters).any(|owner| owner.node() == node)
    }

    /// True if a transaction of `node` may change the page.
    pub fn is_write_locked_by(&self, node: NodeId) -> bool {
        let mut holders = self.queue.holders().iter();
        holders.any(|holder| holder.owner.node() == node && writes(holder.modes))
    }

    /// This entry with the version that follows another's, to be swapped in for that.
    #[must_use]
    pub fn after(mut self, other: &Entry) -> Entry {
        self.version = other.version + 1;
        self
    }

    /// True if it is the same entry. The order of those who hold means nothing, and a store need not keep
    /// it.
    pub fn says_the_same(&self, other: &Entry) -> bool {
        let (held, others) = (self.queue.holders(), other.queue.holders());
        let of_both =
            held.len() == others.len() && held.iter().all(|holder| others.contains(holder));
        let rest = |entry: &Entry| Entry {
            queue: LockQueue::of([], entry.queue.waiters().iter().copied()),
            ..entry.clone()
        };
        of_both && rest(self) == rest(other)
    }

    /// Puts `entry` in this one's place if this one's version is still `expected`; says whether it
    /// did.
    pub fn compare_and_swap(&mut self, expected: u64, entry: Entry) -> bool {
        let equal = self.version == expected;
        if equal {
            *self = entry;
        }
        equal
    }
}
