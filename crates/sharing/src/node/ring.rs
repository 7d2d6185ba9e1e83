//! The redo ring: committed transactions' redo records on their way to the log and to the stored pages, of all
//! nodes in one order.
//!
//! **Storing the tail is the commit point**: everything before it has happened when it is durable, and nothing behind
//! it has, whichever node dies at whichever time (I8, I9). A frame is one transaction. It has the pages that were
//! locked for writing, each with its new PSN, and the redo records in the form of the log. Since a page is locked
//! until its writer is durable, a page's frames follow its PSNs, and the log needs no PSN.
//!
//! ```text
//! applied ≤ durable ≤ tail ≤ applied + the ring's words
//! ```
//!
//! The ring is used again up to `applied`. Positions are in words, and only grow.

use super::NodeError;
use super::gem::{Gem, slot_of, step};
use super::layout::{CLIENTS, Common};
use crate::lock_table::layout::NODES;
use crate::protocol::{NodeId, PageId, Psn};
use std::sync::atomic::Ordering;

/// Words before the pages of a frame.
const HEAD: usize = 2;

/// A transaction's changes, as it publishes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// The node's client of the transaction: the next group waits for the clients of this one.
    pub client: usize,
    /// The pages that it had locked for writing, with their versions after it.
    pub pages: Vec<(PageId, Psn)>,
    /// Its redo records, encoded; a multiple of 8 bytes.
    pub records: Vec<u8>,
}

impl Frame {
    /// Words in the ring.
    pub fn words(&self) -> usize {
        HEAD + 2 * self.pages.len() + self.records.len() / 8
    }
}

impl Gem {
    fn ring_word(&self, position: u64) -> usize {
        self.shape().ring_at() + (position as usize & (self.shape().ring - 1))
    }

    /// The most words that a frame may have, so that others find room beside it.
    pub fn frame_words_max(&self) -> usize {
        self.shape().ring / 2
    }

    /// Appends a frame and so commits its transaction, if there is room. Returns the position behind it.
    /// The caller holds the lock on publishing.
    pub fn publish(&self, node: NodeId, frame: &Frame) -> Option<u64> {
        let tail = self.get(Common::Tail);
        let words = frame.words();
        if tail - self.get(Common::Applied) + words as u64 > self.shape().ring as u64 {
            return None;
        }
        let head = [
            words as u64 | (slot_of(node) as u64) << 32,
            frame.pages.len() as u64 | (frame.client as u64) << 32,
        ];
        let pages = frame.pages.iter().flat_map(|(page, psn)| [page.0, psn.0]);
        let records = frame.records.as_chunks::<8>().0.iter();
        let records = records.map(|bytes| u64::from_le_bytes(*bytes));
        for (n, word) in head.into_iter().chain(pages).chain(records).enumerate() {
            self.word(self.ring_word(tail + n as u64))
                .store(word, Ordering::Relaxed);
        }
        step();
        let end = tail + words as u64;
        self.common(Common::Tail).store(end, Ordering::SeqCst);
        Some(end)
    }

    /// The owner of the frame at a position before the tail, as a number of a client over all nodes, and the
    /// position behind it. That position is further on by at least one, with any content.
    pub fn writer(&self, at: u64) -> (usize, u64) {
        let word = |n: u64| self.word(self.ring_word(at + n)).load(Ordering::Acquire);
        let (head, second) = (word(0), word(1));
        let slot = (head >> 32) as usize % NODES;
        let client = (second >> 32) as usize % CLIENTS;
        let words = (head & u64::from(u32::MAX)).max(1);
        (slot * CLIENTS + client, at + words)
    }

    /// The frame at a position before the tail, and the position behind it. The caller holds the lock by
    /// which it cannot be applied and overwritten meanwhile.
    pub fn frame(&self, at: u64, frame: &mut Frame) -> Result<u64, NodeError> {
        let damaged = || NodeError::Damaged {
            what: "the redo ring",
        };
        let word = |n: usize| {
            self.word(self.ring_word(at + n as u64))
                .load(Ordering::Acquire)
        };
        let words = (word(0) & u64::from(u32::MAX)) as usize;
        let pages = (word(1) & u64::from(u32::MAX)) as usize;
        frame.client = (word(1) >> 32) as usize % CLIENTS;
        let records = pages
            .checked_mul(2)
            .and_then(|pages| words.checked_sub(HEAD + pages))
            .filter(|_| words <= self.frame_words_max())
            .ok_or_else(damaged)?;
        frame.pages.clear();
        frame.records.clear();
        for page in 0..pages {
            let place = HEAD + 2 * page;
            frame
                .pages
                .push((PageId(word(place)), Psn(word(place + 1))));
        }
        for n in words - records..words {
            frame.records.extend_from_slice(&word(n).to_le_bytes());
        }
        Ok(at + words as u64)
    }
}
