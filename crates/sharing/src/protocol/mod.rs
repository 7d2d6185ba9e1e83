//! The protocols by which nodes share one database: concurrency and coherency control as pure state
//! machines (paper 001, sections 2 and 3.2).
//!
//! A machine is fed an [`Input`] and answers with [`Output`]s. It has no clock, socket or thread: the
//! shell around it (the simulation, a test, a real node) carries messages, holds the entries of the
//! global lock table, keeps the page buffer and does the I/O.

/// A node of the system, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u16);

/// A transaction: the node on which it runs, and its number there. Later ones of a node have larger
/// numbers; a number is never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionId(u64);

impl TransactionId {
    /// The transaction `number` (below 2^48) of `node`.
    pub fn new(node: NodeId, number: u64) -> Self {
        debug_assert!(number < 1 << 48);
        TransactionId(u64::from(node.0) << 48 | number)
    }

    /// Where it runs.
    pub fn node(self) -> NodeId {
        NodeId((self.0 >> 48) as u16)
    }

    /// Its number on its node.
    pub fn number(self) -> u64 {
        self.0 & ((1 << 48) - 1)
    }
}

/// A page of the shared database. What the number means is the shell's business.
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

/// How a transaction uses a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockMode {
    /// Shared.
    Read,
    /// Exclusive.
    Write,
}

/// When a modified page reaches permanent storage (paper 001, section 2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UpdateStrategy {
    /// Before the transaction commits: storage always has the newest committed version.
    Force,
    /// Some time later: the newest version may be in a node's buffer only.
    NoForce,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Its log is on stable storage (and, with FORCE, its pages). Every page that it locked for
    /// [`LockMode::Write`] is taken as modified: its PSN is one higher.
    Committed,
    /// Its changes have been undone in the node's buffer.
    Aborted,
}

/// Where the transaction that was granted a lock finds the page's newest committed version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageSource {
    /// The node's own buffered copy is the newest.
    Copy,
    /// Permanent storage has it.
    Storage,
    /// It came from another node with the message that led to this output.
    Message,
}

/// What nodes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {}

/// An entry of the global lock table in GEM.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entry {}

/// What the shell tells a node's machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// A transaction of this node wants a lock; `cached` is the version that the node's buffer has of
    /// the page, if any. A lock already held in a sufficient mode is granted at once, without cost.
    Lock {
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        cached: Option<Psn>,
    },
    /// A transaction has ended: all its locks are to be released.
    End {
        transaction: TransactionId,
        outcome: Outcome,
    },
    /// A message has come.
    Message { from: NodeId, message: Message },
    /// [`Output::ReadEntry`] is done.
    EntryRead { page: PageId, entry: Entry },
    /// [`Output::SwapEntry`] is done: whether the entry was still the expected one and so was replaced.
    EntrySwapped { page: PageId, swapped: bool },
    /// The answer to [`Output::Supply`]: the version that the buffer has (`None`: no copy).
    Supplied {
        page: PageId,
        transaction: TransactionId,
        copy: Option<Psn>,
    },
    /// The buffer wants to write its modified copy to storage (NOFORCE). Answered, possibly later, by
    /// [`Output::WriteBack`] or [`Output::Discard`].
    Replace { page: PageId, psn: Psn },
    /// The write that [`Output::WriteBack`] allowed has reached storage.
    WrittenBack { page: PageId, psn: Psn },
    /// A transaction has waited for a lock for long: look for a deadlock.
    Suspect { transaction: TransactionId },
}

/// What a node's machine asks of the shell.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// Send a message; if [`Message::carries_page`], with the page from the node's buffer.
    Send { to: NodeId, message: Message },
    /// Read an entry of the global lock table (one GEM entry access).
    ReadEntry { page: PageId },
    /// Replace an entry of the global lock table if its version is still `expected` (one GEM entry
    /// access: Compare&Swap).
    SwapEntry {
        page: PageId,
        expected: u64,
        entry: Entry,
    },
    /// The transaction has its lock, and may read version `psn` from `source`.
    Granted {
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        psn: Psn,
        source: PageSource,
    },
    /// The transaction has to wait for a lock (then [`Input::Suspect`] is due after a while).
    Waiting {
        transaction: TransactionId,
        page: PageId,
    },
    /// The transaction is a deadlock's victim: abort it, and end it with [`Outcome::Aborted`]. Its
    /// waiting request is gone.
    Victim { transaction: TransactionId },
    /// All locks of an ended transaction are released as far as this node can see.
    Ended { transaction: TransactionId },
    /// Say by [`Input::Supplied`] which version of the page the buffer has; if it has one, it must
    /// stay there until the message that carries it has been sent.
    Supply {
        page: PageId,
        transaction: TransactionId,
    },
    /// The buffer may write its copy to storage now.
    WriteBack { page: PageId, psn: Psn },
    /// The buffer's copy is not the newest any more: it must not be written.
    Discard { page: PageId, psn: Psn },
}
