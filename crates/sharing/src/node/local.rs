//! A node's buffer and the transactions that run on it: their requests to the protocol, the places of their pages, and
//! their changes. The same for closely and for loosely coupled nodes; nothing here knows how pages come from
//! elsewhere.
//!
//! A request pins the copy that it names, until the page is granted. The page that was granted last stays pinned until
//! the transaction requests more or ends: the thread that waited for it reads it a moment later. A page that is granted
//! for writing is at work until the end.
//!
//! Invariants: those that the protocol asks of its shell ([`crate::protocol`]). A copy that a request names stays
//! until that is answered. A page at work stays, and is given to no other node.

use super::NodeError;
use super::buffer::Buffer;
use super::gem::PageBytes;
use super::ring::Frame;
use super::work::{Held, Progress, Work, WorkPoint};
use crate::protocol::{Input, LockMode, NodeId, Outcome, PageId, Psn, TransactionId};
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::page::PAGE_SIZE;

/// Puts a page into a copy, and says which version that is.
pub(super) type Fill<'a> = &'a mut dyn FnMut(&mut PageBytes) -> Result<Psn, NodeError>;

/// A node's buffer and transactions.
#[derive(Debug)]
pub(in crate::node) struct Local {
    pub node: NodeId,
    pub buffer: Buffer,
    pub transactions: IntegerMap<TransactionId, Work>,
    started: u64,
}

impl Local {
    pub fn new(node: NodeId, frames: usize) -> Self {
        Local {
            node,
            buffer: Buffer::new(frames),
            transactions: IntegerMap::default(),
            started: 0,
        }
    }

    pub fn begin(&mut self) -> TransactionId {
        self.started += 1;
        let transaction = TransactionId::new(self.node, self.started);
        self.transactions.insert(transaction, Work::default());
        transaction
    }

    /// The input that the machine needs so that the transaction gets a lock; `None`: it has it.
    pub fn ask(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
    ) -> Option<Input> {
        let work = self.transactions.get_mut(&transaction)?;
        if let Some(copy) = work.pinned.take().and_then(|page| self.buffer.get(page)) {
            copy.pins = copy.pins.saturating_sub(1);
        }
        let cached = self.buffer.used(page).map(|copy| {
            copy.pins += 1;
            copy.psn
        });
        work.pinned = cached.map(|_| page);
        if let Some(held) = work.held(page)
            && held.mode >= mode
            && Some(held.psn) == cached
        {
            return None;
        }
        work.progress = Progress::Locking { waits: false };
        Some(Input::Lock {
            transaction,
            page,
            mode,
            cached,
        })
    }

    /// True if the transaction has the lock that it requested; if not, it waits.
    ///
    /// # Errors
    /// [`NodeError::Deadlock`]: it is a deadlock's victim. Else why it was refused; it may go on without.
    pub fn has_answer(&mut self, transaction: TransactionId) -> Result<bool, NodeError> {
        let work = self.transactions.get_mut(&transaction);
        let progress = &mut work.ok_or(NodeError::Deadlock)?.progress;
        match progress {
            Progress::Ready => Ok(true),
            Progress::Locking { .. } => Ok(false),
            Progress::Victim => Err(NodeError::Deadlock),
            Progress::Refused(_) => match std::mem::replace(progress, Progress::Ready) {
                Progress::Refused(error) => Err(error),
                _ => Ok(true),
            },
        }
    }

    /// True if the page that the transaction was granted last came from storage. Asked once.
    pub fn was_fetched(&mut self, transaction: TransactionId) -> bool {
        let work = self.transactions.get_mut(&transaction);
        work.is_some_and(|work| std::mem::take(&mut work.fetched))
    }

    /// Notes the progress of a transaction's request.
    pub fn note(&mut self, transaction: TransactionId, progress: Progress) {
        if let Some(work) = self.transactions.get_mut(&transaction) {
            work.progress = progress;
        }
    }

    /// The version of a page for a message that carries it, or for a transaction that looks for it. The copy is pinned
    /// until the machine has received it and has performed its outputs. A page at work is requested by no holder of a
    /// lock on it: no such holder exists then.
    pub fn supply(&mut self, page: PageId) -> Option<Psn> {
        let copy = self.buffer.get(page)?;
        let copy = (copy.writer.is_none()).then_some(copy)?;
        copy.pins += 1;
        Some(copy.psn)
    }

    /// The transaction has a lock, and the page is in the buffer, or `fill` puts it into a copy and says which version
    /// that is. Returns whether the transaction has its page now: not if it has ended, or is refused for want of room.
    ///
    /// # Errors
    /// [`NodeError::PageLost`]: the page is in another version than the lock says. The node must stop.
    pub fn placed(
        &mut self,
        transaction: TransactionId,
        held: Held,
        fill: Option<Fill<'_>>,
    ) -> Result<bool, NodeError> {
        let Held { page, mode, psn } = held;
        let Some(work) = self.transactions.get_mut(&transaction) else {
            return Ok(false);
        };
        if let Some(copy) = work.pinned.take().and_then(|page| self.buffer.get(page)) {
            copy.pins = copy.pins.saturating_sub(1);
        }
        let (frames, came) = (self.buffer.frames(), fill.is_some());
        let copy = match fill {
            None => self.buffer.get(page),
            Some(fill) => match self.buffer.make_room(page) {
                Some(copy) => {
                    copy.psn = fill(&mut copy.bytes)?;
                    Some(copy)
                }
                None => {
                    work.progress = Progress::Refused(NodeError::BufferFull { frames });
                    return Ok(false);
                }
            },
        };
        let found = copy.as_ref().map_or(Psn(u64::MAX), |copy| copy.psn);
        let Some(copy) = copy.filter(|copy| copy.psn == psn) else {
            return Err(NodeError::PageLost {
                page: page.0,
                psn: psn.0,
                found: found.0,
            });
        };
        match work.locks.iter_mut().find(|held| held.page == page) {
            Some(before) => (before.mode, before.psn) = (before.mode.max(mode), psn),
            None => work.locks.push(held),
        }
        copy.pins += 1;
        work.pinned = Some(page);
        if mode == LockMode::Write {
            copy.writer = Some(transaction);
        }
        work.progress = Progress::Ready;
        match came {
            false => self.buffer.hits += 1,
            true => self.buffer.misses += 1,
        }
        Ok(true)
    }

    /// A newer version of a page has come to this node, which has the authority for it. It is kept if there is room.
    pub fn take_back(&mut self, page: PageId, psn: Psn, bytes: &PageBytes) {
        if let Some(copy) = self.buffer.get(page)
            && (copy.psn >= psn || copy.writer.is_some())
        {
            // It is late, and void.
            return;
        }
        if let Some(copy) = self.buffer.make_room(page) {
            copy.psn = psn;
            *copy.bytes = *bytes;
        }
    }

    /// The frame that the transaction publishes when it commits; `None` if it has changed nothing.
    pub fn frame(&mut self, transaction: TransactionId) -> Option<Frame> {
        self.transactions.get_mut(&transaction)?.frame()
    }

    /// Ends a transaction: committed when its frame is durable, else undone. `unstored`: storage has not the versions
    /// that it has made, so that their copies stay. Returns the inputs for the machine.
    pub fn end(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        unstored: bool,
    ) -> Option<Input> {
        let work = self.transactions.remove(&transaction)?;
        if let Some(page) = work.pinned {
            self.unpin(page);
        }
        if outcome == Outcome::Aborted {
            for (page, offset, bytes) in work.undo() {
                if let Some(copy) = self.buffer.get(page) {
                    copy.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
                }
            }
        }
        for held in work.written() {
            let copy = self.buffer.get(held.page);
            let Some(copy) = copy.filter(|copy| copy.writer == Some(transaction)) else {
                continue;
            };
            copy.writer = None;
            if outcome == Outcome::Committed {
                copy.psn = held.psn.next();
                copy.modified = unstored;
            }
        }
        Some(Input::End {
            transaction,
            outcome,
        })
    }

    pub fn unpin(&mut self, page: PageId) {
        if let Some(copy) = self.buffer.get(page) {
            copy.pins = copy.pins.saturating_sub(1);
        }
    }

    /// Reads bytes of a page that the transaction has locked.
    pub fn read(&mut self, page: PageId, offset: usize, bytes: &mut [u8]) -> Result<(), NodeError> {
        let found = self.buffer.get(page);
        let found = found.and_then(|copy| copy.bytes.get(offset..offset + bytes.len()));
        let found = found.ok_or(NodeError::NotInPage {
            offset,
            length: bytes.len(),
        })?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    /// Changes bytes of a page that the transaction has locked for writing.
    pub fn write(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), NodeError> {
        let copy = self.buffer.get(page);
        let copy = copy.filter(|copy| copy.writer == Some(transaction));
        let work = self.transactions.get_mut(&transaction);
        let in_page = offset <= PAGE_SIZE && bytes.len() <= PAGE_SIZE - offset;
        match (copy, work) {
            (Some(copy), Some(work)) if in_page => {
                work.write(page, &mut copy.bytes, offset, bytes);
                Ok(())
            }
            _ => Err(NodeError::NotInPage {
                offset,
                length: bytes.len(),
            }),
        }
    }

    /// The extent of a transaction's changes.
    pub fn point(&self, transaction: TransactionId) -> WorkPoint {
        let work = self.transactions.get(&transaction);
        work.map(Work::point).unwrap_or_default()
    }

    /// Undoes the changes of a transaction behind a savepoint. Its locks stay.
    pub fn roll_back(&mut self, transaction: TransactionId, to: WorkPoint) {
        let Some(work) = self.transactions.get_mut(&transaction) else {
            return;
        };
        for (page, offset, bytes) in work.undo_to(to) {
            if let Some(copy) = self.buffer.get(page) {
                copy.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
        work.forget_behind(to);
    }

    /// True if the transaction may have so many bytes of redo records more.
    ///
    /// # Errors
    /// [`NodeError::TransactionTooLarge`].
    pub fn check_room(
        &self,
        transaction: TransactionId,
        more: usize,
        bytes_max: usize,
    ) -> Result<(), NodeError> {
        let work = self.transactions.get(&transaction);
        let bytes = more + work.map_or(0, Work::record_bytes);
        match bytes <= bytes_max {
            true => Ok(()),
            false => Err(NodeError::TransactionTooLarge { bytes, bytes_max }),
        }
    }

    /// Appends a row to a journal.
    ///
    /// # Errors
    /// [`NodeError::Deadlock`]: the transaction has ended.
    pub fn append(
        &mut self,
        transaction: TransactionId,
        journal: u16,
        row: &[u8],
    ) -> Result<(), NodeError> {
        let work = self.transactions.get_mut(&transaction);
        work.ok_or(NodeError::Deadlock)?.append(journal, row);
        Ok(())
    }

    /// The waiting transactions, to look for deadlocks: by age.
    pub fn waiting(&self) -> Vec<TransactionId> {
        let waiting = self.transactions.iter().filter(|(_, work)| work.waits());
        let mut waiting: Vec<TransactionId> =
            waiting.map(|(&transaction, _)| transaction).collect();
        waiting.sort_unstable();
        waiting
    }
}
