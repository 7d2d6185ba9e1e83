//! What nodes and transactions are at a moment.

use super::Machine;
use sardonyx_sharing::protocol::{LockMode, PageId, Psn, TransactionId};
use std::collections::BTreeMap;

/// A committed version of a page. Its content depends on every update before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Version {
    pub psn: Psn,
    pub content: u64,
}

impl Version {
    pub(super) fn after(self, transaction: TransactionId) -> Version {
        let mixed = self.content ^ transaction.number() << 8 ^ u64::from(transaction.node().0);
        Version {
            psn: self.psn.next(),
            content: mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29),
        }
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

/// How far a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Ready,
    /// Has asked for a lock; whether it has been told to wait.
    Locking(PageId, bool),
    Reading(PageId),
    Forcing(u32),
    /// Its end has been told to the machine.
    Ending,
}

/// A transaction of the toy shell.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub steps: Vec<(PageId, LockMode)>,
    pub progress: Progress,
    pub pinned: Option<PageId>,
    pub held: BTreeMap<PageId, LockMode>,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub machine: Machine,
    pub frames: BTreeMap<PageId, Frame>,
    pub transactions: BTreeMap<TransactionId, Transaction>,
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
