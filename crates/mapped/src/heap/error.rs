//! Errors of a heap.

use crate::memory::{GrowError, PlaceError};

/// A failed operation on a heap. Unless a variant says otherwise nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeapError {
    /// The memory holds tables, not a heap.
    #[error(
        "this database was made by the serial engine and holds tables; open it with that, or use \
         another directory for a mapped segment"
    )]
    Tables,
    /// The memory holds something else than a heap, or nothing.
    #[error(
        "there is no heap here: the first bytes are {found:02x?}; format the memory if it is new, \
         and give another if it is not"
    )]
    NotAHeap {
        /// The first 8 bytes; fewer are shown as zeroes.
        found: [u8; 8],
    },
    /// The heap is of another version of the format.
    #[error("the heap's format is version {found}, this program knows version {known} only")]
    Version {
        /// The version in the header.
        found: u32,
        /// The version known here.
        known: u32,
    },
    /// Memory that is to become a heap holds something already.
    #[error(
        "the memory cannot be formatted as a heap: byte {offset} is not zero, so it holds \
         something that would be lost"
    )]
    NotBlank {
        /// The first byte that is not zero.
        offset: u64,
    },
    /// The heap's own data is damaged. A change may have been half done when it was found: abort.
    #[error(
        "the heap is damaged at offset {offset} (page {}): {what}; abort, and restore the database \
         from its backup if `check` says so too",
        offset / 4096
    )]
    Damaged {
        /// The place, in bytes from the segment's start.
        offset: u64,
        /// The fault there.
        what: &'static str,
    },
    /// The memory to free is not allocated: freed before, or never allocated.
    #[error("what is freed at offset {offset} was freed before")]
    DoubleFree {
        /// The place's offset in bytes.
        offset: u64,
    },
    /// The memory to free does not start there, or is not of this heap.
    #[error(
        "nothing that this heap has allocated starts at offset {offset}; the place is of another \
         segment, or was freed, or lies inside of something"
    )]
    NotAllocated {
        /// The place's offset in bytes.
        offset: u64,
    },
    /// The memory to free has another size.
    #[error(
        "what is freed at offset {offset} was allocated with room for {allocated_bytes} bytes, but \
         is freed as something with room for {freed_bytes}; give the size and alignment with which \
         it was allocated"
    )]
    WrongSize {
        /// The place's offset in bytes.
        offset: u64,
        /// Bytes of the room that was allocated.
        allocated_bytes: u64,
        /// Bytes of the room that the given size and alignment take.
        freed_bytes: u64,
    },
    /// No heap can hold something of this size or alignment.
    #[error(
        "{bytes} bytes aligned to {align} cannot be allocated: the limits are 16 TiB, and an \
         alignment that is a power of two up to 4096"
    )]
    Impossible {
        /// Bytes asked for.
        bytes: u64,
        /// Their alignment in bytes.
        align: u64,
    },
    /// A root's name is empty or too long.
    #[error("a root's name has 1 to 255 bytes of UTF-8, this one has {bytes}")]
    RootName {
        /// Its length in bytes.
        bytes: usize,
    },
    /// A root is of another type than it is asked for.
    #[error(
        "the root {name:?} is of another type: its tag's hash, size and alignment are \
         {stored:x?}, those asked for are {asked:x?}"
    )]
    RootType {
        /// As the program asked for it.
        name: String,
        /// The stored type: hash of its tag, size and alignment in bytes.
        stored: (u64, u64, u32),
        /// The requested type.
        asked: (u64, u64, u32),
    },
    /// A place that is no place of its type.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The memory cannot grow.
    #[error(transparent)]
    Grow(#[from] GrowError),
}

impl HeapError {
    pub(crate) fn damaged(offset: u64, what: &'static str) -> Self {
        HeapError::Damaged { offset, what }
    }
}
