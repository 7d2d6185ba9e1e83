//! The memory that the nodes share beside the global lock table: its words by name.
//!
//! Everything in it is atomic words, and other nodes' writes are checked before use. Pages are copied in and out word
//! by word (GEM paper, section 2: GEM is no main memory; pages are changed outside of it and written back).
//!
//! Locks there are held in the name of a node ([`NamedLock`]). Liveness is that of the slots of the global lock table
//! ([`crate::lock_table::segment`]): a dead node's lock is taken from it, and one that is stopped keeps its locks.
//!
//! [`step`] precedes each act that others could see: tests let nodes die there.

use super::NodeError;
use super::layout::{
    AreaShape, Common, HEAD_WORDS, PAGE_WORDS, SLOT_MAIL, SLOT_TOLD, SLOT_WAITS, SLOT_WAKE,
    WRITER_WORDS,
};
use crate::lock_table::Segment;
use crate::lock_table::layout::NODES;
use crate::protocol::NodeId;
use sardonyx_base::named_lock::NamedLock;
use sardonyx_base::sync::ChangesWord;
use sardonyx_storage::log::LogState;
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

/// A page in a node's own memory.
pub(super) type PageBytes = [u8; PAGE_SIZE];

/// The area behind the global lock table.
#[derive(Debug)]
pub(super) struct Gem {
    segment: Segment,
    shape: AreaShape,
}

impl Gem {
    /// The area of a segment that is being made.
    pub fn make(segment: &Segment, shape: AreaShape) -> Result<Self, NodeError> {
        let gem = Gem {
            segment: segment.clone(),
            shape,
        };
        for (word, said) in gem.words().iter().zip(shape.head()) {
            word.store(said, Ordering::Release);
        }
        Ok(gem)
    }

    /// The area of a segment that others made.
    pub fn join(segment: &Segment) -> Result<Self, NodeError> {
        let head = segment.area().iter().take(HEAD_WORDS);
        let head: Vec<u64> = head.map(|word| word.load(Ordering::Acquire)).collect();
        let shape = AreaShape::read(&head)
            .filter(|shape| shape.words() == segment.area().len())
            .ok_or(NodeError::Damaged {
                what: "the head of the memory that the nodes share",
            })?;
        Ok(Gem {
            segment: segment.clone(),
            shape,
        })
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        self.segment.area()
    }

    #[inline]
    pub fn word(&self, at: usize) -> &AtomicU64 {
        &self.words()[at]
    }

    #[inline]
    pub fn common(&self, word: Common) -> &AtomicU64 {
        self.word(self.shape.common(word))
    }

    /// The word's value.
    #[inline]
    pub fn get(&self, word: Common) -> u64 {
        self.common(word).load(Ordering::SeqCst)
    }

    pub fn shape(&self) -> AreaShape {
        self.shape
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The nodes' knowledge of the log.
    pub fn log_state(&self) -> &LogState {
        let words = &self.words()[self.shape.log_state()];
        LogState::of(words).expect("the shape has room for it")
    }

    /// The groups that do not wait for others, and their number when it was last decided.
    pub fn hurried_groups(&self) -> (&AtomicU64, &AtomicU64) {
        let at = self.shape.common(Common::WriteTime);
        (self.word(at + 1), self.word(at + 2))
    }

    /// The clients in the last commit group: a bit for each.
    pub fn last_writers(&self) -> &[AtomicU64] {
        let at = self.shape.common(Common::LastWriters);
        &self.words()[at..at + WRITER_WORDS]
    }

    /// A node's name in locks. A node's number is never used again.
    pub fn name(node: NodeId) -> u32 {
        u32::from(node.0) + 1
    }

    /// True if the node of a name continues, as far as is known.
    pub fn lives_by_name(&self, name: u32) -> bool {
        let node = name
            .checked_sub(1)
            .and_then(|node| u16::try_from(node).ok());
        node.is_some_and(|node| self.lives(NodeId(node)))
    }

    /// Takes a lock for a node, if it is free or a dead node's.
    pub fn try_lock(&self, lock: Common, node: NodeId) -> bool {
        step();
        let lock = NamedLock::of(self.common(lock));
        let got = lock.try_inherit(Gem::name(node), |name| self.lives_by_name(name));
        got.is_some()
    }

    /// Takes a lock for a node; waits for it.
    pub fn lock(&self, lock: Common, node: NodeId) {
        step();
        let (name, lock) = (Gem::name(node), NamedLock::of(self.common(lock)));
        let lives = |name| self.lives_by_name(name);
        if lock.lock_soon(name, lives).is_some() {
            return;
        }
        while lock.lock_within(name, lives).is_none() {
            self.segment().find_dead();
        }
    }

    /// Gives a lock back. The caller holds it.
    pub fn unlock(&self, lock: Common) {
        step();
        NamedLock::of(self.common(lock)).unlock();
    }

    fn slot_word(&self, slot: usize, word: usize) -> &AtomicU64 {
        self.word(self.shape.slot(slot) + word)
    }

    /// The nodes that have written to this one since it asked last: a bit for each slot.
    pub fn take_mail_bits(&self, slot: usize) -> u64 {
        let word = self.slot_word(slot, SLOT_MAIL);
        match word.load(Ordering::SeqCst) {
            0 => 0,
            _ => word.swap(0, Ordering::SeqCst),
        }
    }

    /// True if any node has written to this one.
    pub fn has_mail(&self, slot: usize) -> bool {
        self.slot_word(slot, SLOT_MAIL).load(Ordering::SeqCst) != 0
    }

    /// Says that one node has written to another, and wakes that.
    pub fn announce_mail(&self, from: usize, to: usize) {
        self.slot_word(to, SLOT_MAIL)
            .fetch_or(1 << from, Ordering::SeqCst);
        self.wake(to);
    }

    /// Wakes a node, if it sleeps.
    pub fn wake(&self, slot: usize) {
        // The values that it must see were stored before; it looks after it has noted that it waits.
        fence(Ordering::SeqCst);
        if self.slot_word(slot, SLOT_WAITS).load(Ordering::SeqCst) != 0 {
            ChangesWord::of(self.slot_word(slot, SLOT_WAKE)).change();
        }
    }

    /// Has every node look at the failures.
    pub fn tell_failures(&self) {
        self.common(Common::Failures).fetch_add(1, Ordering::SeqCst);
        (0..self.shape.slots).for_each(|slot| self.wake(slot));
    }

    /// Sleeps until the node is woken, unless `is_awaited` says that there is something to do; at most so
    /// long.
    pub fn sleep(&self, slot: usize, at_most: Duration, is_awaited: impl Fn() -> bool) {
        let wake = ChangesWord::of(self.slot_word(slot, SLOT_WAKE));
        let waits = self.slot_word(slot, SLOT_WAITS);
        let seen = wake.value();
        waits.store(1, Ordering::SeqCst);
        if !self.has_mail(slot) && !is_awaited() {
            wake.wait(seen, at_most);
        }
        waits.store(0, Ordering::SeqCst);
    }

    /// The newest failure of another slot's nodes that the node of a slot knows: the failed node's number plus one.
    pub fn told(&self, slot: usize, failed: usize) -> u64 {
        self.slot_word(slot, SLOT_TOLD + failed)
            .load(Ordering::SeqCst)
    }

    /// Says that the node of a slot knows of a failure.
    pub fn tell(&self, slot: usize, failed: NodeId) {
        step();
        self.slot_word(slot, SLOT_TOLD + slot_of(failed))
            .store(u64::from(failed.0) + 1, Ordering::SeqCst);
    }

    /// The slots of nodes that live, as far as is known.
    pub fn living(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shape.slots).filter(|&slot| self.segment.table().is_joined(slot))
    }

    /// True if that life of a node continues.
    pub fn lives(&self, node: NodeId) -> bool {
        let (table, slot) = (self.segment.table(), slot_of(node));
        slot < self.shape.slots && table.is_joined(slot) && table.node_of(slot) == node
    }

    /// The node that has a slot, or had it last.
    pub fn node_of(&self, slot: usize) -> NodeId {
        self.segment.table().node_of(slot)
    }

    /// Copies a page out, from its first word on.
    pub fn copy_out(&self, at: usize, bytes: &mut PageBytes) {
        let words = &self.words()[at..at + PAGE_WORDS];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.load(Ordering::Relaxed).to_le_bytes();
        }
        fence(Ordering::Acquire);
    }

    /// Copies a page in.
    pub fn copy_in(&self, at: usize, bytes: &PageBytes) {
        fence(Ordering::Release);
        let words = &self.words()[at..at + PAGE_WORDS];
        for (from, word) in bytes.as_chunks::<8>().0.iter().zip(words) {
            word.store(u64::from_le_bytes(*from), Ordering::Relaxed);
        }
    }
}

/// The slot that a node has or had.
pub(super) fn slot_of(node: NodeId) -> usize {
    usize::from(node.0) % NODES
}

/// A place at which a node may die in tests.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn step() {}

#[cfg(test)]
pub(super) use super::tests::mortal::step;
