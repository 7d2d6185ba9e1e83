//! The states of nodes and transactions at a moment.

use super::Machine;
use super::random::Random;
use sardonyx_base::hash::Fnv1a;
use sardonyx_sharing::protocol::{LockMode, PageId, Psn, TransactionId};
use std::collections::BTreeMap;

/// Bytes of a page that the world uses.
pub const PAGE_BYTES: usize = 16;

/// A version of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Version {
    pub psn: Psn,
    pub content: [u8; PAGE_BYTES],
}

impl Version {
    /// The next version: a transaction has changed one or two byte ranges. Their new bytes depend on every byte of
    /// this version; the rest of the page stays, so no version has a change that one before it lacked.
    pub(super) fn after(self, transaction: TransactionId) -> Version {
        let mut seed = self.psn.0 ^ transaction.number() << 8 ^ u64::from(transaction.node().0);
        for byte in self.content {
            seed = Fnv1a(seed).with(byte.into()).0;
        }
        let mut random = Random::new(seed);
        let mut content = self.content;
        for _ in 0..1 + random.below(2) {
            let start = random.below(PAGE_BYTES);
            let end = PAGE_BYTES.min(start + 1 + random.below(5));
            content[start..end].fill_with(|| random.next() as u8);
        }
        let psn = self.psn.next();
        Version { psn, content }
    }

    /// The byte ranges in which a later version is another.
    pub(super) fn changes<'a>(&self, later: &'a Version) -> Vec<(usize, &'a [u8])> {
        let differs = |at: &usize| self.content[*at] != later.content[*at];
        let mut changes = Vec::new();
        let mut at = 0;
        while let Some(start) = (at..PAGE_BYTES).find(differs) {
            at = (start..PAGE_BYTES)
                .find(|at| !differs(at))
                .unwrap_or(PAGE_BYTES);
            changes.push((start, &later.content[start..at]));
        }
        changes
    }
}

/// A page in a node's buffer.
#[derive(Clone, Debug)]
pub struct Frame {
    pub version: Version,
    /// Committed here and not known to be on storage or with the owner.
    pub dirty: bool,
    /// Being changed by a transaction.
    pub working: Option<(TransactionId, Version)>,
    /// The buffer has asked to write this version.
    pub replacing: Option<Psn>,
    /// Locks that count on it.
    pub pins: u32,
}

/// The progress of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Ready,
    /// Has asked for a lock; true once it has been answered that it must wait.
    Locking(PageId, bool),
    Reading(PageId),
    /// Its node writes its redo to the log.
    Logging,
    /// Its redo is durable; so many of its pages are not on storage.
    Forcing(u32),
    /// The machine has received its end.
    Ending,
}

/// A transaction of the toy shell.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub steps: Vec<(PageId, LockMode)>,
    pub progress: Progress,
    pub pinned: Option<PageId>,
    pub held: BTreeMap<PageId, LockMode>,
    /// The versions that it has seen.
    pub read: BTreeMap<PageId, Psn>,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub machine: Machine,
    pub frames: BTreeMap<PageId, Frame>,
    pub transactions: BTreeMap<TransactionId, Transaction>,
    /// Transactions of the commit group that is being written to the log.
    pub committing: Vec<TransactionId>,
    pub(super) started: u64,
}

impl Transaction {
    pub(super) fn written(&self) -> Vec<PageId> {
        let held = self.held.iter();
        let pages = held
            .filter(|(_, mode)| **mode == LockMode::Write)
            .map(|(page, _)| *page);
        pages.collect()
    }
}

impl Node {
    pub(super) fn new(machine: Machine) -> Self {
        Node {
            machine,
            frames: BTreeMap::new(),
            transactions: BTreeMap::new(),
            committing: Vec::new(),
            started: 0,
        }
    }

    /// Puts a version into the buffer.
    pub(super) fn install(&mut self, page: PageId, version: Version) -> &mut Frame {
        let frame = self.frames.entry(page).or_insert(Frame {
            version,
            dirty: false,
            working: None,
            replacing: None,
            pins: 0,
        });
        if frame.version != version {
            assert!(frame.working.is_none(), "a page at work is overwritten");
            frame.version = version;
            frame.dirty = false;
        }
        frame
    }
}
