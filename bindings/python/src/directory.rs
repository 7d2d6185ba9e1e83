//! Arrays by name: roots of the segment's heap, which other programs see as such.
//!
//! Invariant: a transaction that uses arrays has read the count of removals. So one that removes an array
//! conflicts with all concurrent ones, and none writes to memory that has become another array's. A session
//! that finds the count changed looks up all arrays again.

use crate::error::Failure;
use crate::record::{Array, ArrayRecord, DIMENSIONS_MAX, fits};
use sardonyx_base::hash::Fnv1a;
use sardonyx_mapped::heap::{Heap, HeapError};
use sardonyx_mapped::{Memory, MemoryAccess, P};

/// The tag of roots that are arrays.
const ARRAY_TAG: &str = "sardonyx.array.v1";

/// The root of the count of removals, which is on a page of its own.
const REMOVALS: &str = "sardonyx.removals";
const REMOVALS_TAG: &str = "sardonyx.removals.v1";

const PAGE: u64 = 4096;

/// The faults of arrays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// There is no array of this name.
    #[error("there is no array {name:?}; give its shape to make it")]
    NotFound {
        name: String,
    },
    /// The array differs from the requested one.
    #[error("the array {name:?} has {what} {stored}, not {asked}")]
    Mismatch {
        name: String,
        /// `shape` or `type`.
        what: &'static str,
        /// The array's value.
        stored: String,
        /// The requested value.
        asked: String,
    },
    /// No array can have this shape or type.
    #[error(
        "an array of shape {shape:?} of elements of {element_bytes} bytes cannot be made: {what}"
    )]
    Shape {
        shape: Vec<u64>,
        element_bytes: u64,
        /// The part that is too large.
        what: &'static str,
    },
    /// The name is reserved for the package itself.
    #[error("names that begin with \"sardonyx.\" are reserved; choose another than {name:?}")]
    Reserved {
        name: String,
    },
    /// The record is damaged.
    #[error("the record of the array {name:?} at offset {offset} is damaged: {what}")]
    Damaged {
        /// The array's name.
        name: String,
        /// The record's offset in bytes.
        offset: u64,
        /// The fault.
        what: &'static str,
    },
}

/// The heap, or `None` if the segment is blank.
fn heap<M: Memory + ?Sized>(memory: &M) -> Result<Option<Heap>, HeapError> {
    match Heap::open(memory) {
        Ok(heap) => Ok(Some(heap)),
        Err(HeapError::NotAHeap {
            found: [0, 0, 0, 0, 0, 0, 0, 0],
        }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn place<M: Memory + ?Sized>(
    memory: &M,
    name: &str,
) -> Result<Option<(Heap, P<ArrayRecord>)>, Failure> {
    let Some(heap) = heap(memory)? else {
        return Ok(None);
    };
    let place = heap.root(memory, name, ARRAY_TAG)?;
    Ok(place.map(|place| (heap, place)))
}

pub fn find<M: Memory + ?Sized>(memory: &M, name: &str) -> Result<Option<Array>, Failure> {
    match place(memory, name)? {
        Some((_, place)) => Array::read(memory, name, place).map(Some),
        None => Ok(None),
    }
}

/// The names of all arrays, sorted.
pub fn names<M: Memory + ?Sized>(memory: &M) -> Result<Vec<String>, Failure> {
    let Some(heap) = heap(memory)? else {
        return Ok(Vec::new());
    };
    let tag_hash = tag_hash(ARRAY_TAG);
    let roots = heap.roots(memory)?;
    let arrays = roots.into_iter().filter(|root| root.tag_hash == tag_hash);
    let mut names: Vec<String> = arrays.map(|root| root.name).collect();
    names.sort_unstable();
    Ok(names)
}

/// FNV-1a with 64 bits, as for roots.
fn tag_hash(tag: &str) -> u64 {
    Fnv1a::of(tag.as_bytes())
}

/// The place of the count of removals; `None` if there never was an array.
pub fn removals<M: Memory + ?Sized>(memory: &M) -> Result<Option<P<u64>>, Failure> {
    match heap(memory)? {
        Some(heap) => Ok(heap.root(memory, REMOVALS, REMOVALS_TAG)?),
        None => Ok(None),
    }
}

/// The properties of a new array.
pub struct New<'a> {
    pub name: &'a str,
    pub shape: Vec<u64>,
    pub element_bytes: u64,
    /// The element type's description.
    pub description: String,
    /// True if its elements must be zero; otherwise they are undefined.
    pub zeroed: bool,
}

impl New<'_> {
    fn bytes(&self) -> Result<u64, ArrayError> {
        let shape = |what| ArrayError::Shape {
            shape: self.shape.clone(),
            element_bytes: self.element_bytes,
            what,
        };
        if self.shape.len() > DIMENSIONS_MAX {
            return Err(shape("NumPy has at most 64 dimensions"));
        }
        if !fits(&self.description) {
            return Err(shape("the type's description is too long"));
        }
        // As in NumPy: dimensions of length 0 do not excuse the others.
        let factors = self.shape.iter().filter(|length| **length != 0);
        let bytes = factors
            .copied()
            .try_fold(self.element_bytes, u64::checked_mul);
        let bytes = bytes.filter(|bytes| *bytes <= i64::MAX as u64);
        let bytes = bytes.ok_or(shape("it is larger than memory can be"))?;
        Ok(if self.shape.contains(&0) { 0 } else { bytes })
    }

    /// Makes the array. `arena` is a hint that keeps sessions off each other's pages.
    pub fn make<M: Memory + ?Sized>(self, memory: &mut M, arena: u64) -> Result<Array, Failure> {
        if self.name.starts_with("sardonyx.") {
            return Err(ArrayError::Reserved {
                name: self.name.into(),
            }
            .into());
        }
        let data_bytes = self.bytes()?;
        let heap = match heap(memory)? {
            Some(heap) => heap,
            None => Heap::format(memory)?,
        };
        let heap = heap.in_arena(arena);
        if heap
            .root::<u64, M>(memory, REMOVALS, REMOVALS_TAG)?
            .is_none()
        {
            let count = heap.allocate_bytes(memory, PAGE, PAGE)?.cast::<u64>();
            memory.write(count, 0)?;
            heap.set_root(memory, REMOVALS, count, REMOVALS_TAG)?;
        }
        // Memory beyond was never handed out and holds zeroes.
        let used = heap.usage(memory)?.high_water;
        let data = heap
            .allocate_bytes(memory, data_bytes.max(1), PAGE)?
            .offset();
        if self.zeroed {
            clear(memory, data, used.min(data + data_bytes))?;
        }
        let array = Array {
            data,
            data_bytes,
            description: self.description,
            shape: self.shape,
        };
        let place = heap.allocate_bytes(memory, array.record_bytes(), 8)?.cast();
        array.write(memory, place)?;
        heap.set_root(memory, self.name, place, ARRAY_TAG)?;
        Ok(array)
    }
}

/// Sets the bytes from `start` to `end` to zero; writes only to pages with other bytes.
fn clear<M: Memory + ?Sized>(memory: &mut M, start: u64, end: u64) -> Result<(), Failure> {
    let mut at = start;
    while at < end {
        let length = PAGE.min(end - at);
        let page = memory.range(at, length).unwrap_or_default();
        if page.iter().any(|byte| *byte != 0)
            && let Some(page) = memory.range_mut(at, length)
        {
            page.fill(0);
        }
        at += length;
    }
    Ok(())
}

/// Removes an array and frees its memory. Returns true if it existed.
pub fn remove<M: Memory + ?Sized>(memory: &mut M, name: &str) -> Result<bool, Failure> {
    let Some((heap, place)) = place(memory, name)? else {
        return Ok(false);
    };
    let array = Array::read(memory, name, place)?;
    heap.free_bytes(
        memory,
        P::from_offset(array.data),
        array.data_bytes.max(1),
        PAGE,
    )?;
    heap.free_bytes(memory, place.cast(), array.record_bytes(), 8)?;
    heap.remove_root(memory, name)?;
    if let Some(count) = removals(memory)? {
        *memory.get_mut(count)? += 1;
    }
    Ok(true)
}
