//! The requests of transactions to their node: locks and pages, changes, and their end.
//!
//! [`Local`] has the work that a node of any coupling does for them. This is the additional work of a closely coupled
//! one: it makes room, and takes pages from storage and from GEM. Invariants: see [`Shell`].

use super::NodeError;
use super::gem::PageBytes;
use super::ring::Frame;
use super::shell::Shell;
use super::work::Held;
use crate::protocol::{
    Input, LockMode, Outcome, PageId, PageSource, Psn, TransactionId, UpdateStrategy,
};

/// So many modified pages are written back at a time when the buffer is full.
pub const WRITE_BACK: usize = 16;

impl Shell {
    /// Begins a transaction.
    pub fn begin(&mut self) -> TransactionId {
        self.local.begin()
    }

    /// Asks for a lock. The result, now or later, is in the transaction's progress.
    pub fn lock(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
    ) -> Result<(), NodeError> {
        // Refused before any other node gets a request.
        self.gem.stored_psn(page)?;
        let Some(input) = self.local.ask(transaction, page, mode) else {
            return Ok(());
        };
        self.local.buffer.shrink();
        if matches!(input, Input::Lock { cached: None, .. }) && !self.local.buffer.has_room() {
            self.write_back(WRITE_BACK)?;
        }
        self.feed(input)
    }

    /// Writes modified pages back, at most so many.
    pub fn write_back(&mut self, pages: usize) -> Result<(), NodeError> {
        for (page, psn) in self.local.buffer.modified(pages) {
            if let Some(copy) = self.local.buffer.get(page) {
                copy.replacing = true;
            }
            self.feed(Input::Replace { page, psn })?;
        }
        Ok(())
    }

    /// The frame that a transaction publishes when it commits; `None` if it has changed nothing.
    pub fn frame(&mut self, transaction: TransactionId) -> Option<Frame> {
        self.local.frame(transaction)
    }

    /// Ends a transaction: committed when its frame is durable (and, with FORCE, applied), else undone. Its
    /// locks are given back.
    pub fn end(&mut self, transaction: TransactionId, outcome: Outcome) -> Result<(), NodeError> {
        let unstored = self.update == UpdateStrategy::NoForce;
        match self.local.end(transaction, outcome, unstored) {
            Some(input) => self.feed(input),
            None => Ok(()),
        }
    }

    /// Versions up to this one of a page are stored, or another node's to store.
    pub(super) fn let_go(&mut self, page: PageId, psn: Psn) {
        if let Some(copy) = self.local.buffer.get(page) {
            copy.replacing = false;
            copy.modified &= copy.psn > psn;
        }
    }

    /// The transaction has its lock: the page comes into the buffer.
    pub(super) fn granted(
        &mut self,
        transaction: TransactionId,
        held: Held,
        source: PageSource,
    ) -> Result<(), NodeError> {
        let (page, node, gem) = (held.page, self.node, self.gem.clone());
        let nowhere = Psn(u64::MAX);
        match source {
            PageSource::Copy => self.local.placed(transaction, held, None)?,
            PageSource::Storage => {
                let mut fill = |bytes: &mut PageBytes| gem.read_stored(page, bytes);
                let placed = self.local.placed(transaction, held, Some(&mut fill))?;
                if let Some(work) = self.local.transactions.get_mut(&transaction) {
                    work.fetched = placed;
                }
                placed
            }
            PageSource::Gem(_) => {
                let mut frame = self.take_arrived(transaction, page).map(|at| at.2);
                let mut fill = |bytes: &mut PageBytes| {
                    let frame = frame.take();
                    let taken = frame.is_some_and(|frame| gem.take_page(frame, node, bytes));
                    Ok(if taken { held.psn } else { nowhere })
                };
                let placed = self.local.placed(transaction, held, Some(&mut fill))?;
                if let Some(frame) = frame {
                    self.gem.free_frame(frame, node);
                }
                placed
            }
            PageSource::Message => {
                let mut fill = |_: &mut PageBytes| Ok(nowhere);
                self.local.placed(transaction, held, Some(&mut fill))?
            }
        };
        Ok(())
    }

    pub(super) fn take_arrived(
        &mut self,
        transaction: TransactionId,
        page: PageId,
    ) -> Option<(TransactionId, PageId, usize)> {
        let arrived = self.arrived.take();
        arrived.filter(|arrived| (arrived.0, arrived.1) == (transaction, page))
    }

    /// Looks for deadlocks among those who wait: to be called again and again.
    pub fn suspect(&mut self) -> Result<(), NodeError> {
        for transaction in self.local.waiting() {
            self.feed(Input::Suspect { transaction })?;
        }
        Ok(())
    }
}
