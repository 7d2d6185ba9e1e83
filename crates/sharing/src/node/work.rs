//! A node's knowledge of a transaction that runs on it: its request's progress, its locks, and its changes, to
//! be undone or redone.

use super::NodeError;
use super::gem::PageBytes;
use super::ring::Frame;
use crate::protocol::{LockMode, PageId, Psn};
use sardonyx_storage::log::record::{append_journal, append_write, mark_end};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use smallvec::SmallVec;

/// The progress of a transaction's request.
#[derive(Clone, Debug, Default)]
pub(super) enum Progress {
    /// It has what it asked for.
    #[default]
    Ready,
    /// It asks for a lock.
    Locking {
        /// It has been asked to wait.
        waits: bool,
    },
    /// It was chosen to end a deadlock.
    Victim,
    /// It has its lock and cannot have the page.
    Refused(NodeError),
}

/// A lock that a transaction has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub page: PageId,
    pub mode: LockMode,
    /// The version that it was granted.
    pub psn: Psn,
}

/// Bytes that a transaction has changed: their place, and that of the kept bytes before.
#[derive(Clone, Copy, Debug)]
struct Before {
    page: PageId,
    offset: usize,
    at: usize,
    length: usize,
}

/// The extent of a transaction's changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::node) struct WorkPoint {
    before: usize,
    before_images: usize,
    records: usize,
    last_record: usize,
}

/// A transaction that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub progress: Progress,
    /// The page that is pinned: for the request under way, or as it was granted last.
    pub pinned: Option<PageId>,
    /// The page that was granted last came from storage.
    pub fetched: bool,
    pub locks: SmallVec<[Held; 4]>,
    before: Vec<Before>,
    before_images: Vec<u8>,
    records: Vec<u8>,
    /// The beginning of the last record.
    last_record: usize,
}

impl Work {
    /// The lock on a page.
    pub fn held(&self, page: PageId) -> Option<&Held> {
        self.locks.iter().find(|held| held.page == page)
    }

    /// The pages that it may change.
    pub fn written(&self) -> impl Iterator<Item = &Held> {
        let locks = self.locks.iter();
        locks.filter(|held| held.mode == LockMode::Write)
    }

    /// Bytes of redo records.
    pub fn record_bytes(&self) -> usize {
        self.records.len()
    }

    /// Changes bytes of a page, and notes how to undo and to redo that.
    pub fn write(&mut self, page: PageId, copy: &mut PageBytes, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let place = &mut copy[offset..offset + bytes.len()];
        self.before.push(Before {
            page,
            offset,
            at: self.before_images.len(),
            length: bytes.len(),
        });
        self.before_images.extend_from_slice(place);
        place.copy_from_slice(bytes);
        self.last_record = self.records.len();
        let address = Address(page.0 * PAGE_SIZE as u64 + offset as u64);
        append_write(&mut self.records, address, bytes);
    }

    pub fn append(&mut self, journal: u16, row: &[u8]) {
        self.last_record = self.records.len();
        append_journal(&mut self.records, journal, row);
    }

    /// The extent of its changes.
    pub fn point(&self) -> WorkPoint {
        WorkPoint {
            before: self.before.len(),
            before_images: self.before_images.len(),
            records: self.records.len(),
            last_record: self.last_record,
        }
    }

    /// Forgets the changes behind a savepoint, which were undone.
    pub fn forget_behind(&mut self, to: WorkPoint) {
        self.before.truncate(to.before);
        self.before_images.truncate(to.before_images);
        self.records.truncate(to.records);
        self.last_record = to.last_record;
    }

    /// The changes to undo, the last first: page, offset, and the bytes before.
    pub fn undo(&self) -> impl Iterator<Item = (PageId, usize, &[u8])> {
        self.undo_to(WorkPoint::default())
    }

    /// The same of the changes behind a savepoint.
    pub fn undo_to(&self, to: WorkPoint) -> impl Iterator<Item = (PageId, usize, &[u8])> {
        let behind = self.before.iter().skip(to.before).rev();
        behind.map(|before| {
            let bytes = &self.before_images[before.at..before.at + before.length];
            (before.page, before.offset, bytes)
        })
    }

    /// The frame to publish when it commits; `None` if it has changed nothing.
    pub fn frame(&mut self) -> Option<Frame> {
        if self.records.is_empty() {
            return None;
        }
        let mut records = std::mem::take(&mut self.records);
        mark_end(&mut records, self.last_record);
        let written = self.written().map(|held| (held.page, held.psn.next()));
        Some(Frame {
            client: 0,
            pages: written.collect(),
            records,
        })
    }

    /// True if it waits for another transaction.
    pub fn waits(&self) -> bool {
        matches!(self.progress, Progress::Locking { waits: true, .. })
    }
}
