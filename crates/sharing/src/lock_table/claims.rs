//! The owner of each cell: the first word of each, the *claim*.
//!
//! A claim has a number, counted up whenever the cell changes hands, a state and a slot:
//!
//! - free: anyone may take it;
//! - held: a node has it and builds in it, or keeps it for later;
//! - first, more: that node has made it the first or an overflow cell of an entry. Only the directory says if
//!   the entry has it *now*. This state is set before the swap, and stays when another node's swap has put
//!   other cells in its place.
//!
//! The node whose swap succeeds owns the replaced cells, and collects them: each by a Compare&Swap of its
//! claim, from the last of the chain to the first. A recovery frees cells in the same way, so each is
//! collected or freed once, however slow a node is. **A node that dies** leaves cells in three places. The
//! cells that it held, and those that it had built beside and not swapped in: its slot is in the claim, and
//! no entry has them. The cells that it swapped out and had not collected: its slot in the table names the
//! entry word that it was about to swap. The first cell of that chain, collected last, still leads to the
//! others.

use super::coding;
use super::layout::{CELLS_MAX, EntryWord, HEAD_HINT, NODES, OVERFLOW_MAX, SLOT_SWAP};
use super::table::Chain;
use super::{LockTable, Words};
use sardonyx_base::sync::atomic::Ordering;

/// A cell of a chain, and its claim when it was looked at.
pub(super) type Chained = (u32, Claim);

/// The first word of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Claim(pub u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Free,
    Held,
    First,
    More,
}

impl Claim {
    pub(super) fn state(self) -> State {
        match self.0 >> 6 & 3 {
            0 => State::Free,
            1 => State::Held,
            2 => State::First,
            _ => State::More,
        }
    }

    pub(super) fn slot(self) -> usize {
        (self.0 & (NODES as u64 - 1)) as usize
    }

    /// The same claim in another state.
    fn as_state(self, state: State) -> Self {
        Claim(self.0 & !0xc0 | (state as u64) << 6)
    }

    fn next(self, state: State, slot: usize) -> Self {
        Claim((self.0 >> 8).wrapping_add(1) << 8 | (state as u64) << 6 | slot as u64)
    }
}

/// The uses of the cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Cells that anyone may take.
    pub free: usize,
    /// Cells of entries.
    pub used: usize,
    /// By slot: cells that its node has beside.
    pub beside: Vec<usize>,
}

impl<W: Words> LockTable<W> {
    pub(super) fn claim(&self, cell: u32) -> Claim {
        Claim(self.cell(cell, 0).load(Ordering::Acquire))
    }

    fn change_claim(&self, cell: u32, from: Claim, to: Claim) -> bool {
        self.cell(cell, 0)
            .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes up to so many free cells for a node.
    pub(super) fn take_free(&self, slot: usize, wanted: usize, into: &mut Vec<u32>) {
        let cells = self.shape().cells();
        let hint = &self.words()[HEAD_HINT];
        let first = hint.load(Ordering::Relaxed) as usize;
        let mut taken = 0;
        for n in 0..cells {
            if taken == wanted {
                break;
            }
            let cell = ((first + n) % cells + 1) as u32;
            let claim = self.claim(cell);
            if claim.state() == State::Free
                && self.change_claim(cell, claim, claim.next(State::Held, slot))
            {
                into.push(cell);
                taken += 1;
                hint.store(u64::from(cell), Ordering::Relaxed);
            }
        }
    }

    /// Takes or frees a cell of a chain that was swapped out, unless another has. `to`: the slot of the node that
    /// takes it.
    pub(super) fn collect(&self, (cell, claim): Chained, to: Option<usize>) -> bool {
        let next = match to {
            Some(slot) => claim.next(State::Held, slot),
            None => claim.next(State::Free, 0),
        };
        self.change_claim(cell, claim, next)
    }

    /// Frees a cell that a node holds.
    pub(super) fn free(&self, cell: u32) {
        let claim = self.claim(cell);
        self.change_claim(cell, claim, claim.next(State::Free, 0));
    }

    /// Marks a cell as its node's, in this state, before anything is written to it.
    pub(super) fn make(&self, cell: u32, state: State) {
        // No other node changes the claim of a cell that a living node holds.
        let claim = self.claim(cell).as_state(state);
        self.cell(cell, 0).store(claim.0, Ordering::Release);
    }

    /// The cells of the chain that an entry word names, the first one first, as they are while the directory
    /// has that word. `None`: they are not a chain (any more).
    pub(super) fn chain(&self, word: EntryWord) -> Option<Chain> {
        let mut chain = Chain::new();
        let mut cell = word.cell();
        let mut links = coding::FIELDS;
        while cell != 0 {
            if cell as usize > self.shape().cells() || chain.len() > OVERFLOW_MAX {
                return None;
            }
            chain.push((cell, self.claim(cell)));
            cell = coding::next(self.cell(cell, links).load(Ordering::Acquire));
            links = coding::LINKS;
        }
        Some(chain)
    }

    /// True if an entry has the cell now.
    fn is_used(&self, cell: u32, claim: Claim) -> bool {
        let word = |links: usize| {
            let place = coding::place(self.cell(cell, links).load(Ordering::Acquire));
            (place < self.shape().directory).then(|| self.entry_word(place))
        };
        match claim.state() {
            State::Free | State::Held => false,
            State::First => word(coding::FIELDS).is_some_and(|word| word.cell() == cell),
            State::More => {
                let chain = self.cell(cell, coding::CHAIN).load(Ordering::Acquire);
                word(coding::LINKS).is_some_and(|word| word.0 == chain && chain != 0)
            }
        }
    }

    /// Frees all cells that a node had beside, if it is dead or has left. First are the cells that it had swapped out
    /// and not collected, then the ones that it held. May be repeated, also by another process, if this one dies.
    ///
    /// `during`: the slot's state meanwhile. If another was faster, and the slot has a new node, nothing of that node
    /// is touched. A claim that was read while the slot still had this state is not the new node's; if it is by now,
    /// it has another number.
    pub(super) fn free_cells_of(&self, slot: usize, during: (u64, u64)) {
        self.free_swapped_out(slot, during);
        for cell in 1..=self.shape().cells() as u32 {
            let claim = self.claim(cell);
            if claim.slot() == slot
                && claim.state() != State::Free
                && !self.is_used(cell, claim)
                && self.slot_state(slot) == during
            {
                self.collect((cell, claim), None);
            }
        }
    }

    fn free_swapped_out(&self, slot: usize, during: (u64, u64)) {
        let swapped = EntryWord(self.slot(slot, SLOT_SWAP).load(Ordering::Acquire));
        let first = swapped.cell();
        if first == 0 || first as usize > CELLS_MAX.min(self.shape().cells()) {
            return;
        }
        let claim = self.claim(first);
        if claim.state() != State::First {
            return;
        }
        let version = self.cell(first, coding::VERSION).load(Ordering::Acquire);
        if !swapped.may_be(version) || self.is_used(first, claim) {
            return;
        }
        let Some(chain) = self.chain(swapped) else {
            return;
        };
        // If another node is collecting the chain, its last cells may be in use elsewhere already.
        let whole = chain.iter().skip(1).take_while(|&&(cell, claim)| {
            let of = self.cell(cell, coding::CHAIN).load(Ordering::Acquire);
            of == swapped.0 && claim.state() == State::More
        });
        let rest: Chain = whole.copied().collect();
        // The cells read are that chain's only if no node has collected its first cell meanwhile.
        if self.claim(first) != claim || self.slot_state(slot) != during {
            return;
        }
        for &cell in rest.iter().rev() {
            self.collect(cell, None);
        }
        self.collect((first, claim), None);
    }

    /// Counts the cells. Exact if no node changes anything meanwhile.
    pub fn census(&self) -> Census {
        let mut census = Census {
            beside: vec![0; NODES],
            ..Census::default()
        };
        for cell in 1..=self.shape().cells() as u32 {
            let claim = self.claim(cell);
            if claim.state() == State::Free {
                census.free += 1;
            } else if self.is_used(cell, claim) {
                census.used += 1;
            } else {
                census.beside[claim.slot()] += 1;
            }
        }
        census
    }
}
