//! The layout of the shared memory, in words of 8 bytes, native to the processor:
//!
//! ```text
//! 0     head: magic, version, database, page size, sizes, check · where free cells were found last
//! 512   64 slots of 8 words: state, process, the swap under way
//! 1024  directory: 2 words for each place: page + 1 (0: unused), entry word (0: the default entry)
//! then  cells of 8 words = 64 bytes, from number 1
//! then  from the next page on: an area for programs that share more than locks, if the table was made with one
//! ```
//!
//! An *entry word* is the number of a cell (24 bits) under the low 40 bits of the entry's version. It alone is changed
//! by Compare&Swap; the cell that it names does not change as long as it does.

use sardonyx_base::hash::scattered;

/// The beginning of the memory, in any version.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"SdxGemLT");
/// The layout's version.
pub(super) const VERSION: u64 = 3;

/// Nodes at once.
pub const NODES: usize = 64;
/// The number of times that a slot can be given out, as a [`NodeId`](crate::protocol::NodeId) has 16 bits.
pub const LIVES: u64 = 1 << 10;
/// Cells at most.
pub const CELLS_MAX: usize = (1 << CELL_BITS) - 1;
/// Cells that every node keeps, so that an entry can always be changed unless it grows.
pub const RESERVE: usize = 1 + OVERFLOW_MAX;
/// Overflow cells of one entry at most.
pub const OVERFLOW_MAX: usize = 255;
/// Owners of an entry in its first cell.
pub const INLINE: usize = 3;
/// Owners in an overflow cell.
pub(super) const IN_OVERFLOW: usize = 5;
/// Owners of one entry at most: transactions that hold or await a lock, and nodes that wait for their turn
/// to write. (Read authorisations are a set, and not counted.)
pub const OWNERS_MAX: usize = INLINE + OVERFLOW_MAX * IN_OVERFLOW;

pub(super) const HEAD_MAGIC: usize = 0;
pub(super) const HEAD_VERSION: usize = 1;
pub(super) const HEAD_IDENTITY: usize = 2;
pub(super) const HEAD_PAGE_BYTES: usize = 3;
pub(super) const HEAD_DIRECTORY: usize = 4;
pub(super) const HEAD_CELLS: usize = 5;
pub(super) const HEAD_AREA: usize = 6;
pub(super) const HEAD_CHECK: usize = 7;
pub(super) const HEAD_HINT: usize = 8;
/// Words of the head that are read before it is mapped.
pub(super) const HEAD_READ: usize = 8;

const SLOTS_AT: usize = 512;
pub(super) const SLOT_STATE: usize = 0;
pub(super) const SLOT_PROCESS: usize = 1;
pub(super) const SLOT_SWAP: usize = 2;
const SLOT_WORDS: usize = 8;
const DIRECTORY_AT: usize = SLOTS_AT + NODES * SLOT_WORDS;

/// Words of a page of memory.
const AREA_ALIGNMENT: usize = 512;

pub(super) const CELL_WORDS: usize = 8;
const CELL_BITS: u32 = 24;
/// Bits of a place in the directory.
pub(super) const PLACE_BITS: u32 = 25;

/// The size of a lock table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Places in the directory, a power of two.
    pub(super) directory: usize,
    pub(super) cells: usize,
}

impl Shape {
    /// Room for so many entries of pages that were ever locked, and for so many overflow cells, beside the nodes'
    /// reserves. `None` if that is more than [`CELLS_MAX`] cells, or nothing.
    pub fn new(entries: usize, overflow: usize) -> Option<Self> {
        let cells = entries
            .checked_add(overflow)?
            .checked_add(NODES * RESERVE)?;
        let directory = entries.checked_mul(2)?.checked_next_power_of_two()?.max(8);
        let fits = entries > 0 && cells <= CELLS_MAX && directory <= 1 << PLACE_BITS;
        fits.then_some(Shape { directory, cells })
    }

    /// The sizes that a head names, if there can be such a table.
    pub(super) fn read(directory: u64, cells: u64) -> Option<Self> {
        let (directory, cells) = (directory as usize, cells as usize);
        let sound = directory.is_power_of_two()
            && (8..=1 << PLACE_BITS).contains(&directory)
            && (1..=CELLS_MAX).contains(&cells);
        sound.then_some(Shape { directory, cells })
    }

    /// Words of the whole memory.
    pub fn words(self) -> usize {
        self.cell(self.cells) + CELL_WORDS
    }

    /// The beginning of an area for other uses, on a page of its own.
    pub(super) fn area(self) -> usize {
        self.words().next_multiple_of(AREA_ALIGNMENT)
    }

    /// Words of the memory with an area of so many words.
    pub(super) fn words_with(self, area: usize) -> usize {
        match area {
            0 => self.words(),
            area => self.area() + area,
        }
    }

    /// Of entries, overflow and the nodes' reserves.
    pub fn cells(self) -> usize {
        self.cells
    }

    /// The first word of a node's slot.
    pub(super) fn slot(self, slot: usize) -> usize {
        SLOTS_AT + slot * SLOT_WORDS
    }

    /// The page's word of a place in the directory; the entry word follows.
    pub(super) fn place(self, place: usize) -> usize {
        DIRECTORY_AT + place * 2
    }

    /// The first word of a cell.
    pub(super) fn cell(self, cell: usize) -> usize {
        DIRECTORY_AT + self.directory * 2 + cell * CELL_WORDS
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct EntryWord(pub u64);

impl EntryWord {
    pub(super) fn new(cell: u32, version: u64) -> Self {
        EntryWord(version << CELL_BITS | u64::from(cell))
    }

    /// The entry's first cell; 0 if it is the default one.
    pub(super) fn cell(self) -> u32 {
        (self.0 & CELLS_MAX as u64) as u32
    }

    /// True if the entry may have this version, as far as the word shows.
    pub(super) fn may_be(self, version: u64) -> bool {
        self.0 >> CELL_BITS == version << CELL_BITS >> CELL_BITS
    }
}

/// The checksum of the words of a head, by which an incomplete one is detected.
pub(crate) fn checksum(first: u64, words: &[u64]) -> u64 {
    let fold = |sum: u64, word: &u64| scattered(sum ^ word).rotate_left(29);
    words.iter().fold(first, fold)
}
