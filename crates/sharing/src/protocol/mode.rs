//! The modes of locks, the outcomes of transactions, and the sources of pages.

use super::NodeId;
use sardonyx_lock::{Compatibility, EXCLUSIVE, Mode, Modes, SHARED};

/// A transaction's use of a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockMode {
    /// Shared.
    Read,
    /// Exclusive.
    Write,
}

impl LockMode {
    /// The same as a mode of [`PAGE_LOCKS`].
    pub(crate) fn mode(self) -> Mode {
        match self {
            LockMode::Read => SHARED,
            LockMode::Write => EXCLUSIVE,
        }
    }
}

/// True if the exclusive mode is among those held.
pub(crate) fn writes(held: Modes) -> bool {
    held.contains(EXCLUSIVE)
}

pub(crate) static PAGE_LOCKS: Compatibility = Compatibility::SHARED_EXCLUSIVE;

/// When a modified page reaches permanent storage (GEM paper, section 2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UpdateStrategy {
    /// Before the transaction commits: storage always has the newest committed version.
    Force,
    /// Some time later: the newest version may be in a node's buffer only.
    NoForce,
}

/// The outcome of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Its log is on stable storage (and, with FORCE, its pages). Every page that it locked for
    /// [`LockMode::Write`] is taken as modified: its PSN is one higher.
    Committed,
    /// Its changes have been undone in the node's buffer (and, with FORCE, on storage).
    Aborted,
}

/// The source of the page's newest committed version, for a transaction that was granted a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageSource {
    /// The node's own buffered copy is the newest.
    Copy,
    /// Permanent storage has it.
    Storage,
    /// It came from another node with the message that led to this output.
    Message,
    /// It is in GEM, where this node has put it for the transaction ([`super::Output::PutPage`]). The
    /// reader frees its place after reading it.
    Gem(NodeId),
}

/// The way of a page from its owner's buffer to the requesting node (GEM locking, NOFORCE; GEM paper,
/// sections 2 and 6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageTransfer {
    /// In a long message.
    Message,
    /// The owner writes it into GEM and says so by a short message; the other node reads it there.
    Gem,
}
