//! One node's use of the table: entries read and swapped.
//!
//! A swap builds the new entry beside, in cells that the node has. It writes into its slot the entry word that it is
//! about to swap, and then swaps that one word. Before, nothing has changed; after, everything has. The replaced
//! cells are the node's then, so that it does not allocate: it gets back as many as it gives.
//!
//! A node keeps [`RESERVE`] cells that only swaps may use which do not make an entry longer. So a lock can
//! be given back, and an entry recovered, however full the table is.

use super::claims::State;
use super::coding::{self, Coded};
use super::layout::{
    EntryWord, HEAD_HINT, IN_OVERFLOW, INLINE, LIVES, NODES, OVERFLOW_MAX, OWNERS_MAX, RESERVE,
    SLOT_SWAP,
};
use super::table::{Chain, FREE, JOINED, Standing};
use super::{LockTable, LockTableError, Words};
use crate::protocol::{Entry, EntryStore, NodeId, PageId};
use sardonyx_base::sync::atomic::Ordering;
use std::sync::Arc;

/// The number of cells that a node takes at a time.
const BATCH: usize = 64;

/// One node's use of the table. One at a time: a node has one machine, too. If it is dropped without
/// [`TableNode::leave`] the node is taken for dead.
#[derive(Debug)]
pub struct TableNode<W: Words> {
    table: Arc<LockTable<W>>,
    slot: usize,
    node: NodeId,
    /// Cells that it has.
    beside: Vec<u32>,
    /// Cells that it keeps for swaps which do not make an entry longer: [`RESERVE`].
    reserve: usize,
}

/// A new entry that is built and not swapped in.
#[derive(Debug)]
pub(super) struct Built {
    place: usize,
    old: EntryWord,
    new: EntryWord,
    /// The cells of the old entry.
    replaced: Chain,
    /// Cells that the new one has, which are the node's last.
    cells: usize,
}

impl<W: Words> TableNode<W> {
    /// Takes a slot.
    ///
    /// # Errors
    /// [`LockTableError::NoSlot`], [`LockTableError::SlotTaken`] (without the process),
    /// [`LockTableError::SlotUsedUp`].
    pub fn join(table: Arc<LockTable<W>>, slot: usize) -> Result<Self, LockTableError> {
        Self::join_with(table, slot, RESERVE)
    }

    /// As [`TableNode::join`], with another reserve: for models with few cells.
    pub(super) fn join_with(
        table: Arc<LockTable<W>>,
        slot: usize,
        reserve: usize,
    ) -> Result<Self, LockTableError> {
        if slot >= NODES {
            return Err(LockTableError::NoSlot { slot });
        }
        let (life, state) = table.slot_state(slot);
        if life >= LIVES {
            return Err(LockTableError::SlotUsedUp { slot });
        }
        if state != FREE || !table.change_slot(slot, (life, FREE), (life, JOINED)) {
            return Err(LockTableError::SlotTaken { slot, process: 0 });
        }
        let mut node = TableNode {
            node: table.node_of(slot),
            table,
            slot,
            beside: Vec::with_capacity(2 * reserve),
            reserve,
        };
        node.refill(reserve);
        Ok(node)
    }

    /// Its name, under which its machine runs.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Shared by all nodes.
    pub fn table(&self) -> &Arc<LockTable<W>> {
        &self.table
    }

    /// Cells that it has beside.
    pub fn beside(&self) -> usize {
        self.beside.len()
    }

    /// Gives the slot and all cells back.
    ///
    /// # Errors
    /// [`LockTableError::StillNamed`]: an entry names the node. It is taken for dead from now on.
    pub fn leave(self) -> Result<(), LockTableError> {
        self.table.leave(self.node)
    }

    /// Has so many cells, if there are any.
    fn refill(&mut self, wanted: usize) {
        if let Some(missing) = wanted.checked_sub(self.beside.len()).filter(|&n| n > 0) {
            self.table.take_free(
                self.slot,
                missing.max(BATCH.min(self.reserve)),
                &mut self.beside,
            );
        }
    }

    /// Other nodes' releases leave the cells here that their requests took there: gives some back.
    fn give_back(&mut self) {
        if self.beside.len() > 2 * self.reserve + BATCH {
            let hint = self.table.words()[HEAD_HINT].load(Ordering::Relaxed);
            for cell in self.beside.drain(self.reserve + BATCH..) {
                self.table.free(cell);
            }
            let first = self.beside.first().copied().map_or(hint, u64::from);
            self.table.words()[HEAD_HINT].store(hint.min(first), Ordering::Relaxed);
        }
    }

    /// Builds the new entry beside. `None`: the entry has another version.
    pub(super) fn build(
        &mut self,
        page: PageId,
        expected: u64,
        entry: &Entry,
    ) -> Result<Option<Built>, LockTableError> {
        let table = &*self.table;
        let found = table.find(page)?;
        let old = found.map_or(EntryWord(0), |place| table.entry_word(place));
        let version = match old.cell() {
            0 => 0,
            cell if cell as usize > table.shape().cells() => {
                return Err(LockTableError::Corrupt { page });
            }
            cell => table.cell(cell, coding::VERSION).load(Ordering::Acquire),
        };
        if version != expected {
            return Ok(None);
        }
        let replaced = table.chain(old);
        let Some(replaced) = replaced else {
            return match found.is_some_and(|place| table.entry_word(place) == old) {
                true => Err(LockTableError::Corrupt { page }),
                false => Ok(None),
            };
        };
        let standing = Standing {
            word: old,
            chain: replaced,
        };
        self.build_after(page, found, standing, entry)
    }

    /// Builds the successor of the entry at a place, or of none yet. `None`: another one is there by now.
    #[inline]
    fn build_after(
        &mut self,
        page: PageId,
        found: Option<usize>,
        standing: Standing,
        entry: &Entry,
    ) -> Result<Option<Built>, LockTableError> {
        let table = &*self.table;
        let Standing {
            word: old,
            chain: replaced,
        } = standing;
        let unchanged = |place| table.entry_word(place) == old;
        let coded = match coding::encode(page, entry, |node| table.slot_of(node)) {
            // A recovery has taken a dead node out of the entry since it was read, and forgotten it.
            Err(_) if found.is_some_and(|place| !unchanged(place)) => return Ok(None),
            coded => coded?,
        };
        if coded.owners.len() > OWNERS_MAX {
            let limit = OWNERS_MAX;
            return Err(LockTableError::TooManyOwners { page, limit });
        }
        let overflow = coded
            .owners
            .len()
            .saturating_sub(INLINE)
            .div_ceil(IN_OVERFLOW);
        let cells = 1 + overflow;
        let kept = if cells > replaced.len() {
            self.reserve
        } else {
            0
        };
        if self.beside.len() < cells + kept {
            self.refill(cells + kept);
            if self.beside.len() < cells + kept {
                return Err(self.table.full());
            }
        }
        let place = match found {
            Some(place) => place,
            None => self.table.find_or_make(page)?,
        };
        debug_assert!(overflow <= OVERFLOW_MAX);
        let new = self.write(&coded, cells, place);
        Ok(Some(Built {
            place,
            old,
            new,
            replaced,
            cells,
        }))
    }

    /// Writes an entry to the last cells that the node has.
    fn write(&self, coded: &Coded, cells: usize, place: usize) -> EntryWord {
        let table = &*self.table;
        let chain = &self.beside[self.beside.len() - cells..];
        let store = |cell: u32, at: usize, word: u64| {
            // By `Release`, since a reader of the entry that had the cell may still look at it. A reader that sees
            // this word sees, too, that the directory has another entry.
            table.cell(cell, at).store(word, Ordering::Release);
        };
        let first = chain[0];
        let new = EntryWord::new(first, coded.version);
        let after = |n: usize| chain.get(n + 1).copied().unwrap_or(0);
        table.make(first, State::First);
        store(first, coding::VERSION, coded.version);
        store(first, coding::PSN, coded.psn);
        store(first, coding::AUTHORISED, coded.authorised);
        let links = coding::links(coded.fields, after(0), place);
        store(first, coding::FIELDS, links);
        let mut owners = coded.owners.iter().copied();
        for at in 0..INLINE {
            store(first, coding::OWNERS + at, owners.next().unwrap_or(0));
        }
        for (n, &cell) in chain.iter().enumerate().skip(1) {
            table.make(cell, State::More);
            // It belongs to no entry while it is written.
            store(cell, coding::CHAIN, 0);
            store(cell, coding::LINKS, coding::links(0, after(n), place));
            for at in 0..IN_OVERFLOW {
                store(cell, coding::MORE_OWNERS + at, owners.next().unwrap_or(0));
            }
            store(cell, coding::CHAIN, new.0);
        }
        new
    }

    /// Swaps in the entry that was built. The new cells are the entry's then, and the old ones this node's to collect.
    pub(super) fn publish(&mut self, built: &Built) -> bool {
        let swap = self.table.slot(self.slot, SLOT_SWAP);
        swap.store(built.old.0, Ordering::Release);
        let swapped = self
            .table
            .entry(built.place)
            .compare_exchange(
                built.old.0,
                built.new.0,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok();
        if swapped {
            self.beside.truncate(self.beside.len() - built.cells);
        }
        swapped
    }

    /// Collects the cells of the entry that was swapped out, the first one last.
    pub(super) fn collect(&mut self, built: &Built) {
        for &cell in built.replaced.iter().rev() {
            if self.table.collect(cell, Some(self.slot)) {
                self.beside.push(cell.0);
            }
        }
        self.give_back();
    }

    /// Collects the last cells of it only, as a node that dies meanwhile.
    #[cfg(test)]
    pub(super) fn collect_some(&mut self, built: &Built, cells: usize) {
        for &cell in built.replaced.iter().rev().take(cells) {
            self.table.collect(cell, Some(self.slot));
        }
    }
}

impl<W: Words> EntryStore for TableNode<W> {
    type Error = LockTableError;

    fn read(&mut self, page: PageId) -> Result<Entry, LockTableError> {
        self.table.read(page)
    }

    fn swap(&mut self, page: PageId, expected: u64, entry: Entry) -> Result<bool, LockTableError> {
        let Some(built) = self.build(page, expected, &entry)? else {
            return Ok(false);
        };
        let swapped = self.publish(&built);
        if swapped {
            self.collect(&built);
        }
        Ok(swapped)
    }

    /// The words that were read are those that are swapped, so nothing is looked for twice.
    fn update(
        &mut self,
        page: PageId,
        entry: &mut Entry,
        mut of: impl FnMut(&mut Entry) -> bool,
    ) -> Result<bool, LockTableError> {
        loop {
            let found = self.table.find(page)?;
            let standing = match found {
                Some(place) => self.table.read_at(place, page, entry)?,
                None => {
                    *entry = Entry::default();
                    Standing::default()
                }
            };
            if !of(entry) {
                return Ok(false);
            }
            let built = self.build_after(page, found, standing, entry)?;
            if let Some(built) = built
                && self.publish(&built)
            {
                self.collect(&built);
                return Ok(true);
            }
        }
    }

    fn pages(&self) -> Vec<PageId> {
        self.table.pages()
    }
}
