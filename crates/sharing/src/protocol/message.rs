//! The messages of nodes to each other.
//!
//! A message is *short* or carries pages and is *long*; the difference is what it costs (GEM paper,
//! table 4.1). The machines bear any order of delivery, between any nodes and within a pair, but
//! each message must come exactly once. On a network that loses or repeats messages a
//! [`super::channel::Channel`] sees to that.

use super::probe::Probe;
use super::{Epoch, LockMode, NodeId, Outcome, PageId, PageSource, Psn, TransactionId};
use smallvec::SmallVec;

/// Pages with their versions.
pub type Versions = SmallVec<[(PageId, Psn); 2]>;

/// A lock that a transaction of the sender holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Declared {
    /// The holder, of the sender's node.
    pub transaction: TransactionId,
    /// On what.
    pub page: PageId,
    /// The held mode.
    pub mode: LockMode,
    /// The page's newest committed version, as it was granted.
    pub psn: Psn,
}

/// The messages of nodes to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Message {
    /// To the node that may have the newest version in its buffer only: send it, for a transaction
    /// that holds a lock on it. Answered by [`Message::Page`], [`Message::PageInGem`] or
    /// [`Message::PageMissing`].
    PageRequest {
        /// For whom.
        transaction: TransactionId,
        /// The wanted page.
        page: PageId,
    },
    /// Long: the page asked for.
    Page {
        /// For whom.
        transaction: TransactionId,
        /// Its bytes go with the message.
        page: PageId,
        /// The version that is sent.
        psn: Psn,
    },
    /// GEM: the sender has put the page asked for into GEM.
    PageInGem {
        /// For whom.
        transaction: TransactionId,
        /// The page that was put there.
        page: PageId,
        /// The version that is there.
        psn: Psn,
    },
    /// The page asked for is not in the buffer any more, so it is on storage.
    PageMissing {
        /// For whom.
        transaction: TransactionId,
        /// The wanted page.
        page: PageId,
    },
    /// GEM: the sender has granted a waiting lock in the global lock table.
    Wake {
        /// The transaction that holds it now.
        transaction: TransactionId,
        /// On what.
        page: PageId,
        /// The page's newest version.
        psn: Psn,
        /// The node that may have that version in its buffer only.
        owner: Option<NodeId>,
        /// The mode that the transaction holds.
        mode: LockMode,
    },
    /// GEM: the receiver, which waited for it, may try again to write the page to storage.
    WriteTurn {
        /// The page to write.
        page: PageId,
    },
    /// Primary copy: a transaction wants a lock.
    Request {
        /// The transaction that wants it.
        transaction: TransactionId,
        /// On what.
        page: PageId,
        /// The least mode that suffices.
        mode: LockMode,
        /// The version in the sender's buffer.
        cached: Option<Psn>,
        /// True if the transaction reads the page already under the sender's authorisation.
        reads: bool,
        /// True if the sender gives up its read authorisation of the page by this.
        gives_up: bool,
    },
    /// Primary copy: the lock is granted. Long if `source` is [`PageSource::Message`].
    Grant {
        /// To whom.
        transaction: TransactionId,
        /// On what.
        page: PageId,
        /// The page's newest version.
        psn: Psn,
        /// The place at which the receiver finds it.
        source: PageSource,
        /// True if storage has this version.
        stored: bool,
        /// The number of the read authorisation that the receiver is given instead of the lock.
        authorisation: Option<u64>,
    },
    /// Primary copy: a transaction has ended, and gives back its locks. Long if it returns pages.
    Release {
        /// The ended one.
        transaction: TransactionId,
        /// Committed or aborted.
        outcome: Outcome,
        /// NOFORCE: the pages that it modified, with their new versions.
        pages: Versions,
        /// Its requests that had no answer yet.
        pending: SmallVec<[(PageId, LockMode); 1]>,
        /// True if [`Message::Released`] must answer it.
        acknowledge: bool,
    },
    /// Primary copy: a release has been received.
    Released {
        /// The ended one.
        transaction: TransactionId,
    },
    /// Give up the read authorisation for a page.
    Revoke {
        /// The page of the authorisation.
        page: PageId,
        /// Primary copy: the authorisation's number.
        authorisation: u64,
    },
    /// Primary copy: the sender has given up its read authorisation.
    Revoked {
        /// The page of the authorisation.
        page: PageId,
    },
    /// Primary copy: a transaction that read under the receiver's authorisation, and wants to
    /// write, now has its read lock in the sender's lock table.
    Registered {
        /// The one that wants to write.
        transaction: TransactionId,
        /// On what.
        page: PageId,
    },
    /// Primary copy: to a part's new authority, once from each node: all locks that its transactions hold on pages of
    /// that part. Authorisations have ended, and what its transactions await they ask for once more.
    Declare {
        /// The receiver has taken it over.
        part: u16,
        /// The epoch from which on the receiver has the authority.
        since: Epoch,
        /// Of all transactions of the sender.
        locks: Vec<Declared>,
    },
    /// A search for a deadlock, on its way along the waiting.
    Probe(Box<Probe>),
    /// Take back a transaction's waiting request, as a deadlock's victim, if it still waits.
    CancelWait {
        /// The victim.
        transaction: TransactionId,
        /// For what it waits.
        page: PageId,
    },
    /// Primary copy: the receiver's transaction has lost its waiting request as a deadlock's
    /// victim.
    Victim {
        /// The victim.
        transaction: TransactionId,
        /// For what it waited.
        page: PageId,
    },
}

impl Message {
    /// Each page of a long message; none of a short one.
    pub fn carried_pages(&self) -> Versions {
        match *self {
            Message::Page { page, psn, .. }
            | Message::Grant {
                page,
                psn,
                source: PageSource::Message,
                ..
            } => SmallVec::from_iter([(page, psn)]),
            _ => self.returned_pages(),
        }
    }

    /// The modified pages that go with it to their owner, which has to take them into its buffer.
    pub fn returned_pages(&self) -> Versions {
        match self {
            Message::Release { pages, .. } => pages.clone(),
            _ => Versions::new(),
        }
    }

    /// True if it carries pages.
    pub fn is_long(&self) -> bool {
        match self {
            Message::Page { .. } => true,
            Message::Grant { source, .. } => *source == PageSource::Message,
            Message::Release { pages, .. } => !pages.is_empty(),
            _ => false,
        }
    }
}
