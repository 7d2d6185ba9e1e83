//! The stored pages (DB') in shared memory: what storage is to the protocol. **Nodes write no pages**: they
//! publish redo, and its durable part is applied here, by any node, in the order of the redo ring.
//!
//! A frame's records on a page apply if and only if the page is at the PSN before. A page at this PSN or a
//! later one already has them. So the applying node may die at any instruction, and the next one begins at the
//! same frame again (I3, I9). Records are after-images, and a page's PSN is stored when all its bytes are. Only
//! durable frames are applied (I2), so what is read here is never taken back.
//!
//! A reader of a stored page holds its lock and knows that storage has that version; then no node applies
//! anything to it.

use super::NodeError;
use super::gem::{Gem, PageBytes, step};
use super::layout::{Common, PAGE_WORDS};
use super::ring::Frame;
use crate::protocol::{NodeId, PageId, Psn};
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::Ordering;

impl Gem {
    fn stored_page(&self, page: PageId) -> Result<usize, NodeError> {
        let pages = self.shape().pages;
        match usize::try_from(page.0) {
            Ok(number) if number < pages => Ok(number),
            _ => Err(NodeError::NoPage {
                page: page.0,
                pages: pages as u64,
            }),
        }
    }

    /// The version of a stored page.
    pub fn stored_psn(&self, page: PageId) -> Result<Psn, NodeError> {
        let page = self.stored_page(page)?;
        let word = self.word(self.shape().psn(page));
        Ok(Psn(word.load(Ordering::SeqCst)))
    }

    /// Reads a stored page, and its version.
    pub fn read_stored(&self, page: PageId, bytes: &mut PageBytes) -> Result<Psn, NodeError> {
        let psn = self.stored_psn(page)?;
        self.copy_out(self.shape().page(page.0 as usize), bytes);
        Ok(psn)
    }

    /// Sets the contents of a page, before another node can have it.
    pub fn fill_stored(&self, page: u64, bytes: &PageBytes) -> Result<(), NodeError> {
        let page = self.stored_page(PageId(page))?;
        self.copy_in(self.shape().page(page), bytes);
        Ok(())
    }

    fn write_stored(&self, page: usize, offset: usize, bytes: &[u8]) {
        let first = self.shape().page(page);
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (word, shift) = (self.word(first + at / 8), at % 8);
            let length = rest.len().min(8 - shift);
            let mut whole = word.load(Ordering::Relaxed).to_le_bytes();
            let (these, others) = rest.split_at(length);
            whole[shift..shift + length].copy_from_slice(these);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
            (at, rest) = (at + length, others);
        }
        debug_assert!(at <= PAGE_WORDS * 8);
    }

    /// Applies durable redo, or so much that everything before `until` is applied. The caller is `node`; it waits
    /// while another one applies.
    pub fn apply(&self, node: NodeId, until: u64) -> Result<(), NodeError> {
        let until = until.min(self.get(Common::Durable));
        if self.get(Common::Applied) >= until {
            return Ok(());
        }
        self.lock(Common::Applying, node);
        let applied = self.apply_locked(until);
        self.unlock(Common::Applying);
        applied
    }

    /// As [`Gem::apply`], with the lock.
    pub fn apply_locked(&self, until: u64) -> Result<(), NodeError> {
        let mut frame = Frame::default();
        let mut at = self.get(Common::Applied);
        while at < until {
            let end = self.frame(at, &mut frame)?;
            self.apply_frame(&frame)?;
            step();
            self.common(Common::Applied).store(end, Ordering::SeqCst);
            at = end;
        }
        Ok(())
    }

    fn apply_frame(&self, frame: &Frame) -> Result<(), NodeError> {
        let mut due = Vec::with_capacity(frame.pages.len());
        for &(page, psn) in &frame.pages {
            let stored = self.stored_psn(page)?;
            if stored >= psn {
                continue;
            }
            if stored.next() != psn {
                return Err(NodeError::VersionMissing {
                    page: page.0,
                    stored: stored.0,
                    redo: psn.0,
                });
            }
            due.push((page, psn));
        }
        for record in Records::new(&frame.records) {
            let damaged = |_| NodeError::Damaged {
                what: "a redo record in the redo ring",
            };
            let Body::Write { address, bytes } = record.map_err(damaged)?.body else {
                continue;
            };
            let page = PageId(address.page().0);
            if due.iter().any(|(other, _)| *other == page) {
                debug_assert!(address.offset_in_page() + bytes.len() <= PAGE_SIZE);
                step();
                self.write_stored(page.0 as usize, address.offset_in_page(), bytes);
            }
        }
        for (page, psn) in due {
            step();
            self.word(self.shape().psn(page.0 as usize))
                .store(psn.0, Ordering::SeqCst);
        }
        Ok(())
    }
}
