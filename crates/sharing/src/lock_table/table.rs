//! The table in shared memory: slots of nodes, the directory, and reading entries.

use super::claims::{Chained, Claim};
use super::coding::{self, Coded};
use super::layout::{CELL_WORDS, EntryWord, IN_OVERFLOW, INLINE, LIVES, NODES, SLOT_STATE, Shape};
use super::{LockTableError, Words};
use crate::protocol::{Entry, NodeId, PageId};
use sardonyx_base::hash::scattered;
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use smallvec::SmallVec;

/// A slot's state: how often it was given out before, and this.
pub(super) const FREE: u64 = 0;
pub(super) const JOINED: u64 = 1;
pub(super) const FAILED: u64 = 2;
pub(super) const LEAVING: u64 = 3;

/// The cells of an entry, with their claims, the first one first.
pub(super) type Chain = SmallVec<[Chained; 2]>;

/// The place of an entry that was read: a swap of that word puts another in its place.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub word: EntryWord,
    pub chain: Chain,
}

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

    /// The words of a cell that is one of the table's.
    #[inline]
    pub(super) fn whole_cell(&self, cell: u32) -> &[AtomicU64] {
        &self.words[self.shape.cell(cell as usize)..][..CELL_WORDS]
    }

    pub(super) fn entry(&self, place: usize) -> &AtomicU64 {
        &self.words[self.shape.place(place) + 1]
    }

    pub(super) fn entry_word(&self, place: usize) -> EntryWord {
        EntryWord(self.entry(place).load(Ordering::Acquire))
    }

    /// The number of times that the slot was given out before, and its state.
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
    pub(crate) fn node_of(&self, slot: usize) -> NodeId {
        let (life, _) = self.slot_state(slot);
        NodeId(((life % LIVES) as u16) * NODES as u16 + slot as u16)
    }

    /// True if a living node has the slot, as far as is known.
    pub(crate) fn is_joined(&self, slot: usize) -> bool {
        self.slot_state(slot).1 == JOINED
    }

    /// True if the node that has the slot is dead and not forgotten.
    pub(crate) fn has_failed(&self, slot: usize) -> bool {
        self.slot_state(slot).1 == FAILED
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
        match page.0 {
            u64::MAX => Err(LockTableError::NoPage { page }),
            number => Ok(number + 1),
        }
    }

    /// The places where a page may be in the directory, the likeliest first.
    fn probe(&self, key: u64) -> impl Iterator<Item = usize> + use<W> {
        let mask = self.shape.directory - 1;
        let mixed = scattered(key);
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
        let mut entry = Entry::default();
        if let Some(place) = self.find(page)? {
            self.read_at(place, page, &mut entry)?;
        }
        Ok(entry)
    }

    /// Reads the entry at a place, and returns where it is.
    #[inline]
    pub(super) fn read_at(
        &self,
        place: usize,
        page: PageId,
        entry: &mut Entry,
    ) -> Result<Standing, LockTableError> {
        let decode = |found: Option<&Coded>| match found {
            Some(coded) => coding::decode(coded, |slot| self.node_of(slot), entry).then_some(()),
            None => {
                *entry = Entry::default();
                Some(())
            }
        };
        self.look(place, page, decode)
            .map(|((), standing)| standing)
    }

    /// Gives an entry's words to `of`; again if they were changed meanwhile.
    #[inline]
    fn look<R>(
        &self,
        place: usize,
        page: PageId,
        mut of: impl FnMut(Option<&Coded>) -> Option<R>,
    ) -> Result<(R, Standing), LockTableError> {
        loop {
            let word = self.entry_word(place);
            let mut chain = Chain::new();
            let found = match word.0 {
                0 => of(None),
                _ => self
                    .copy(word, &mut chain)
                    .and_then(|coded| of(Some(&coded))),
            };
            // The bytes read, all by `Acquire`, are older than this.
            if self.entry_word(place) == word {
                let Some(found) = found else {
                    return Err(LockTableError::Corrupt { page });
                };
                return Ok((found, Standing { word, chain }));
            }
            std::hint::spin_loop();
        }
    }

    /// Copies a chain, and says which cells it has. `None`: it is none, perhaps because it is changed meanwhile.
    #[inline]
    fn copy(&self, word: EntryWord, chain: &mut Chain) -> Option<Coded> {
        let first = word.cell();
        if first as usize > self.shape.cells() {
            return None;
        }
        let cell = self.whole_cell(first);
        let load = |at: usize| cell[at].load(Ordering::Acquire);
        chain.push((first, Claim(load(0))));
        let fields = load(coding::FIELDS);
        let mut coded = Coded {
            version: load(coding::VERSION),
            psn: load(coding::PSN),
            authorised: load(coding::AUTHORISED),
            fields,
            ..Coded::default()
        };
        coded.add_owners(&cell[coding::OWNERS..coding::OWNERS + INLINE]);
        if coding::next(fields) != 0 {
            *chain = self.chain(word)?;
            for &(cell, _) in chain.iter().skip(1) {
                let owners = coding::MORE_OWNERS..coding::MORE_OWNERS + IN_OVERFLOW;
                coded.add_owners(&self.whole_cell(cell)[owners]);
            }
        }
        Some(coded)
    }

    /// A page whose entry names the node of a slot, if there is one.
    pub(super) fn naming(&self, slot: usize) -> Result<Option<PageId>, LockTableError> {
        for (place, page) in self.places() {
            let names =
                |coded: Option<&Coded>| Some(coded.is_some_and(|coded| coding::names(coded, slot)));
            if self.look(place, page, names)?.0 {
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
        let from = |state| self.change_slot(slot, (life, state), (life, FAILED));
        self.node_of(slot) == node && (from(JOINED) || from(LEAVING))
    }

    /// Frees the slot of a dead node, and the cells that it had beside, when no entry names it any more
    /// ([`Input::NodeRecovered`](crate::protocol::Input::NodeRecovered)). If this process dies meanwhile, another
    /// repeats it.
    ///
    /// # Errors
    /// [`LockTableError::UnknownNode`]: it has not [failed](LockTable::fail), or is forgotten already;
    /// [`LockTableError::StillNamed`].
    pub fn forget(&self, node: NodeId) -> Result<(), LockTableError> {
        self.give_slot_up(node, FAILED)
    }

    /// Marks a living node as leaving, and frees its cells.
    pub(super) fn leave(&self, node: NodeId) -> Result<(), LockTableError> {
        let slot = self.slot_of(node)?;
        let (life, _) = self.slot_state(slot);
        self.change_slot(slot, (life, JOINED), (life, LEAVING));
        let left = self.give_slot_up(node, LEAVING);
        if left.is_err() {
            self.fail(node);
        }
        left
    }

    fn give_slot_up(&self, node: NodeId, expected: u64) -> Result<(), LockTableError> {
        let slot = self.slot_of(node)?;
        let (life, state) = self.slot_state(slot);
        if state != expected {
            return Err(LockTableError::UnknownNode { node });
        }
        if let Some(page) = self.naming(slot)? {
            return Err(LockTableError::StillNamed { node, page });
        }
        self.free_cells_of(slot, (life, state));
        self.change_slot(slot, (life, state), (life + 1, FREE));
        Ok(())
    }
}
