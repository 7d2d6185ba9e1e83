//! A vector in a segment.

use crate::heap::{Heap, HeapError};
use crate::memory::{Memory, MemoryAccess};
use crate::place::{P, Slice};
use crate::resident::Resident;

/// Values in a row, growable at the end. All zero bytes are an empty one.
///
/// ```
/// use sardonyx_mapped::collections::Vector;
/// use sardonyx_mapped::memory::{MemoryAccess, PlainMemory};
/// use sardonyx_mapped::{Heap, P};
///
/// let mut memory = PlainMemory::new(1 << 30)?;
/// let heap = Heap::format(&mut memory)?;
/// let squares: P<Vector<u64>> = heap.allocate(&mut memory, &Vector::new())?;
/// for number in 0..10 {
///     squares.push(heap, &mut memory, number * number)?;
/// }
/// let slice = squares.slice(&memory)?;
/// assert_eq!(memory.slice(slice)?[9], 81);
/// assert_eq!(squares.pop(&mut memory)?, Some(81));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Vector<T> {
    start: P<T>,
    length: u64,
    capacity: u64,
}

// Not derived, so that `T` need not be anything.
impl<T> Clone for Vector<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Vector<T> {}

// SAFETY: `repr(C)` of three `u64`, whatever `T` is: no padding, every bit pattern a value.
unsafe impl<T: 'static> Resident for Vector<T> {}

impl<T> Vector<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Vector {
            start: P::null(),
            length: 0,
            capacity: 0,
        }
    }
}

impl<T> Default for Vector<T> {
    fn default() -> Self {
        Vector::new()
    }
}

impl<T: Resident> P<Vector<T>> {
    /// The values. Valid until the vector grows or is cleared.
    ///
    /// # Errors
    /// [`HeapError::Place`], or [`HeapError::Damaged`] if the vector is longer than its room.
    pub fn slice<M: Memory + ?Sized>(self, memory: &M) -> Result<Slice<T>, HeapError> {
        let vector = self.vector(memory)?;
        Ok(Slice {
            start: vector.start,
            length: vector.length,
        })
    }

    /// Appends a value.
    ///
    /// # Errors
    /// [`HeapError::Grow`] if there is no room; else as [`slice`](Self::slice).
    pub fn push<M: Memory + ?Sized>(
        self,
        heap: Heap,
        memory: &mut M,
        value: T,
    ) -> Result<(), HeapError> {
        self.extend(heap, memory, &[value])
    }

    /// Appends values.
    ///
    /// # Errors
    /// As [`push`](Self::push); all are appended or none.
    pub fn extend<M: Memory + ?Sized>(
        self,
        heap: Heap,
        memory: &mut M,
        values: &[T],
    ) -> Result<(), HeapError> {
        self.reserve(heap, memory, values.len() as u64)?;
        let vector = self.vector(memory)?;
        let room = Slice {
            start: vector.start,
            length: vector.capacity,
        };
        // There is room, as was just made, and the sum is no overflow, as was just found.
        let end = vector.length + values.len() as u64;
        let room = room.part(vector.length..end).unwrap_or_default();
        if room.length > 0 {
            memory.slice_mut(room)?.copy_from_slice(values);
        }
        memory.get_mut(self)?.length = end;
        Ok(())
    }

    /// Takes the last value away.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn pop<M: Memory + ?Sized>(self, memory: &mut M) -> Result<Option<T>, HeapError> {
        let slice = self.slice(memory)?;
        let last = slice.length.checked_sub(1);
        let Some(place) = last.and_then(|last| slice.index(last)) else {
            return Ok(None);
        };
        let value = memory.read(place)?;
        memory.get_mut(self)?.length = slice.length - 1;
        Ok(Some(value))
    }

    /// Takes away all values behind the first `length`; the room stays.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn truncate<M: Memory + ?Sized>(
        self,
        memory: &mut M,
        length: u64,
    ) -> Result<(), HeapError> {
        if length < self.vector(memory)?.length {
            memory.get_mut(self)?.length = length;
        }
        Ok(())
    }

    /// Takes all values away and frees their room.
    ///
    /// # Errors
    /// As [`Heap::free`].
    pub fn clear<M: Memory + ?Sized>(self, heap: Heap, memory: &mut M) -> Result<(), HeapError> {
        let vector = self.vector(memory)?;
        free(heap, memory, vector)?;
        memory.write(self, Vector::new())?;
        Ok(())
    }

    /// Makes room for so many values more: at least twice the room that was, so that appending one
    /// by one copies each value a few times at most.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn reserve<M: Memory + ?Sized>(
        self,
        heap: Heap,
        memory: &mut M,
        more: u64,
    ) -> Result<(), HeapError> {
        let vector = self.vector(memory)?;
        let needed = vector.length.checked_add(more);
        let needed = needed.ok_or(HeapError::Impossible {
            bytes: u64::MAX,
            align: align_of::<T>() as u64,
        })?;
        if needed <= vector.capacity {
            return Ok(());
        }
        let capacity = needed.max(vector.capacity.saturating_mul(2)).max(4);
        let bytes = capacity.saturating_mul(size_of::<T>() as u64);
        let start: P<T> = heap
            .allocate_bytes(memory, bytes, align_of::<T>() as u64)?
            .cast();
        let values = Slice {
            start: vector.start,
            length: vector.length,
        };
        memory.copy(values, start)?;
        free(heap, memory, vector)?;
        let grown = Vector {
            start,
            length: vector.length,
            capacity,
        };
        memory.write(self, grown)?;
        Ok(())
    }

    fn vector<M: Memory + ?Sized>(self, memory: &M) -> Result<Vector<T>, HeapError> {
        let vector = memory.read(self)?;
        if vector.length > vector.capacity {
            let what = "a vector is longer than its room";
            return Err(HeapError::damaged(self.offset(), what));
        }
        Ok(vector)
    }
}

/// Frees a vector's room, if it has any.
fn free<T: Resident, M: Memory + ?Sized>(
    heap: Heap,
    memory: &mut M,
    vector: Vector<T>,
) -> Result<(), HeapError> {
    if vector.start.is_null() {
        return Ok(());
    }
    let room = Slice {
        start: vector.start,
        length: vector.capacity,
    };
    heap.free_slice(memory, room)
}
