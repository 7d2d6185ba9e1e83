//! The table in shared memory: slots of nodes, the directory, and reading entries.

use super::coding::{self, Coded};
use super::layout::{EntryWord, IN_OVERFLOW, INLINE, LIVES, NODES, SLOT_STATE, Shape};
use super::{LockTableError, Words};
use crate::protocol::{Entry, NodeId, PageId};
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};

/// A slot's state: how often it was given out before, and this.
pub(super) const FREE: u64 = 0;
pub(super) const JOINED: u64 = 1;
pub(super) const FAILED: u64 = 2;

/// The global lock table, in memory that is `W`. It is used by a [`TableNode`](super::TableNode) of each
/// node.
#[derive(Debug)]
pub struct LockTable<W> {
    words: W,
    shape: Shape,
}

impl<W: Words> LockTable<W> {
    /// The table in this memory, which is zero or has been one of the same shape.
    ///
    /// # Panics
    /// If the memory is too small.
    pub fn new(words: W, shape: Shape) -> Self {
        assert!(words.len() >= shape.words(), "the memory is too small");
        LockTable { words, shape }
    }

    /// Its sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn words(&self) -> &W {
        &self.words
    }

    pub(super) fn slot(&self, slot: usize, word: usize) -> &AtomicU64 {
        &self.words[self.shape.slot(slot) + word]
    }

    pub(super) fn cell(&self, cell: u32, word: usize) -> &AtomicU64 {
        &self.words[self.shape.cell(cell as usize) + word]
    }

    pub(super) fn entry(&self, place: usize) -> &AtomicU64 {
        &self.words[self.shape.place(place) + 1]
    }

    pub(super) fn entry_word(&self, place: usize) -> EntryWord {
        EntryWord(self.entry(place).load(Ordering::Acquire))
    }

    /// How often the slot was given out before, and its state.
    pub(super) fn slot_state(&self, slot: usize) -> (u64, u64) {
        let word = self.slot(slot, SLOT_STATE).load(Ordering::Acquire);
        (word >> 8, word & 0xff)
    }

    pub(super) fn change_slot(&self, slot: usize, from: (u64, u64), to: (u64, u64)) -> bool {
        let word = |(life, state): (u64, u64)| life << 8 | state;
        self.slot(slot, SLOT_STATE)
            .compare_exchange(word(from), word(to), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// The node that has the slot now.
    pub(super) fn node_of(&self, slot: usize) -> NodeId {
        let (life, _) = self.slot_state(slot);
        NodeId(((life % LIVES) as u16) * NODES as u16 + slot as u16)
    }

    /// The slot of a node that has joined and is not forgotten.
    ///
    /// # Errors
    /// [`LockTableError::UnknownNode`].
    pub(super) fn slot_of(&self, node: NodeId) -> Result<usize, LockTableError> {
        let slot = usize::from(node.0) % NODES;
        let (_, state) = self.slot_state(slot);
        match state != FREE && self.node_of(slot) == node {
            true => Ok(slot),
            false => Err(LockTableError::UnknownNode { node }),
        }
    }

    /// The nodes that have joined and are not forgotten, living or not.
    pub fn nodes(&self) -> Vec<NodeId> {
        let slots = (0..NODES).filter(|&slot| self.slot_state(slot).1 != FREE);
        slots.map(|slot| self.node_of(slot)).collect()
    }

    fn key(page: PageId) -> Result<u64, LockTableError> {
        page.0.checked_add(1).ok_or(LockTableError::NoPage { page })
    }

    /// The places where a page may be in the directory, the likeliest first.
    fn probe(&self, key: u64) -> impl Iterator<Item = usize> + use<W> {
        let mask = self.shape.directory - 1;
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (mixed ^ mixed >> 32) as usize;
        (0..=mask).map(move |n| first.wrapping_add(n) & mask)
    }

    /// The page's place, if it has one.
    pub(super) fn find(&self, page: PageId) -> Result<Option<usize>, LockTableError> {
        let key = Self::key(page)?;
        for place in self.probe(key) {
            match self.words[self.shape.place(place)].load(Ordering::Acquire) {
                0 => return Ok(None),
                found if found == key => return Ok(Some(place)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// The page's place, which is made if it has none. A place is never given up: a node that dies before
    /// it uses one leaves a page with the default entry.
    pub(super) fn find_or_make(&self, page: PageId) -> Result<usize, LockTableError> {
        let key = Self::key(page)?;
        for place in self.probe(key) {
            let word = &self.words[self.shape.place(place)];
            let found = match word.load(Ordering::Acquire) {
                0 => word
                    .compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire)
                    .map_or_else(|other| other, |_| key),
                found => found,
            };
            if found == key {
                return Ok(place);
            }
        }
        Err(self.full())
    }

    pub(super) fn full(&self) -> LockTableError {
        LockTableError::Full {
            cells: self.shape.cells(),
        }
    }

    /// The pages that have an entry, also a default one. Of those that get one meanwhile it may have some.
    pub fn pages(&self) -> Vec<PageId> {
        self.places().map(|(_, page)| page).collect()
    }

    fn places(&self) -> impl Iterator<Item = (usize, PageId)> + '_ {
        (0..self.shape.directory).filter_map(|place| {
            let key = self.words[self.shape.place(place)].load(Ordering::Acquire);
            Some((place, PageId(key.checked_sub(1)?)))
        })
    }

    /// The page's entry as it is at one moment.
    ///
    /// # Errors
    /// [`LockTableError::NoPage`], [`LockTableError::Corrupt`].
    pub fn read(&self, page: PageId) -> Result<Entry, LockTableError> {
        match self.find(page)? {
            Some(place) => self.look(place, page, |coded| match coded {
                Some(coded) => coding::decode(coded, |slot| self.node_of(slot)),
                None => Some(Entry::default()),
            }),
            None => Ok(Entry::default()),
        }
    }

    /// Gives an entry's words to `of`; again if they were changed meanwhile.
    fn look<R>(
        &self,
        place: usize,
        page: PageId,
        of: impl Fn(Option<&Coded>) -> Option<R>,
    ) -> Result<R, LockTableError> {
        loop {
            let word = self.entry_word(place);
            let found = match word.0 {
                0 => of(None),
                _ => self.copy(word).and_then(|coded| of(Some(&coded))),
            };
            // What was read, all by `Acquire`, is older than this.
            if self.entry_word(place) == word {
                return found.ok_or(LockTableError::Corrupt { page });
            }
            std::hint::spin_loop();
        }
    }

    /// Copies a chain. `None`: it is none, perhaps because it is changed meanwhile.
    fn copy(&self, word: EntryWord) -> Option<Coded> {
        let first = word.cell();
        if first as usize > self.shape.cells() {
            return None;
        }
        let load = |cell: u32, at: usize| self.cell(cell, at).load(Ordering::Acquire);
        let fields = load(first, coding::FIELDS);
        let mut coded = Coded {
            version: load(first, coding::VERSION),
            psn: load(first, coding::PSN),
            authorised: load(first, coding::AUTHORISED),
            fields,
            ..Coded::default()
        };
        let mut add = |cell: u32, from: usize, most: usize| {
            let words = (from..from + most).map(|at| load(cell, at));
            coded.owners.extend(words.take_while(|&word| word != 0));
        };
        add(first, coding::OWNERS, INLINE);
        let mut next = coding::next(fields);
        if next != 0 {
            for &(cell, _) in self.chain(word)?.iter().skip(1) {
                add(cell, coding::MORE_OWNERS, IN_OVERFLOW);
                next = 0;
            }
        }
        (next == 0).then_some(coded)
    }

    /// A page whose entry names the node of a slot, if there is one.
    pub(super) fn naming(&self, slot: usize) -> Result<Option<PageId>, LockTableError> {
        for (place, page) in self.places() {
            let names =
                |coded: Option<&Coded>| Some(coded.is_some_and(|coded| coding::names(coded, slot)));
            if self.look(place, page, names)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Says of a node that it is dead: it takes no part any more, and its slot stays until
    /// [`LockTable::forget`]. Returns whether it was alive so far.
    pub fn fail(&self, node: NodeId) -> bool {
        let slot = usize::from(node.0) % NODES;
        let (life, _) = self.slot_state(slot);
        self.node_of(slot) == node && self.change_slot(slot, (life, JOINED), (life, FAILED))
    }

    /// Frees the slot of a dead node, and the cells that it had beside, when no entry names it any more
    /// ([`Input::NodeRecovered`](crate::protocol::Input::NodeRecovered)). If who does it dies, another does
    /// it again.
    ///
    /// # Errors
    /// [`LockTableError::UnknownNode`]: it has not [failed](LockTable::fail), or is forgotten already;
    /// [`LockTableError::StillNamed`].
    pub fn forget(&self, node: NodeId) -> Result<(), LockTableError> {
        let slot = self.slot_of(node)?;
        let (life, state) = self.slot_state(slot);
        if state != FAILED {
            return Err(LockTableError::UnknownNode { node });
        }
        if let Some(page) = self.naming(slot)? {
            return Err(LockTableError::StillNamed { node, page });
        }
        self.free_cells_of(slot);
        self.change_slot(slot, (life, FAILED), (life + 1, FREE));
        Ok(())
    }
}
