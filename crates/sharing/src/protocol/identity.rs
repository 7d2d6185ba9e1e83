//! The names of things: nodes, transactions, pages and their versions.

use core::fmt;

/// A node of the system, from 0.
///
/// A number names one life of a node: a failed node that comes back needs a new `NodeId` (and a new
/// machine). Its former transactions' numbers, its late messages and the entries that other nodes
/// have read carry the old one. Under the same number they would be taken for the new life's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u16);

/// A transaction: the node on which it runs, and its number there. Later ones of a node have larger
/// numbers. A number is never used again, also after a failure: a node that comes back has a new
/// [`NodeId`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(u64);

impl TransactionId {
    /// The transaction `number` (below 2^48) of `node`.
    pub fn new(node: NodeId, number: u64) -> Self {
        debug_assert!(number < 1 << 48);
        TransactionId(u64::from(node.0) << 48 | number)
    }

    /// The node that began it.
    pub fn node(self) -> NodeId {
        NodeId((self.0 >> 48) as u16)
    }

    /// Its number on its node.
    pub fn number(self) -> u64 {
        self.0 & ((1 << 48) - 1)
    }

    /// Orders transactions of all nodes by age, the oldest first, as far as their numbers tell: by
    /// number, then by node. Every node orders them alike, so that all choose the same victim.
    pub fn age(self) -> (u64, NodeId) {
        (self.number(), self.node())
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "T{}.{}", self.node().0, self.number())
    }
}

/// A page of the shared database. The shell defines the meaning of the number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub u64);

/// Page sequence number: incremented by every committed modification of the page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Psn(pub u64);

impl Psn {
    /// The number of the version after this one.
    pub fn next(self) -> Psn {
        Psn(self.0 + 1)
    }
}
