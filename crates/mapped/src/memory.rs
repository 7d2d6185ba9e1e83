//! The face on which serial code is written: one range of bytes that grows, and checked typed
//! access to places in it.
//!
//! A data structure that is written against [`Memory`] knows nothing of transactions: it runs on [`PlainMemory`], and
//! unchanged in a transaction, whose view of the segment is a `Memory` too. Every access is checked against the
//! memory's bounds and the type's alignment. So a link that was damaged on disk is a [`PlaceError`], never undefined
//! behaviour.

mod plain;

pub use plain::PlainMemory;

use crate::place::{P, Slice};
use sardonyx_base::resident::{self, Resident};
use std::any::type_name;

/// A range of bytes that grows in place. The first byte's address is a multiple of 4096, so that
/// an offset tells the alignment.
pub trait Memory {
    /// The segment from its begin, as this view has it.
    fn bytes(&self) -> &[u8];

    /// All bytes, to change.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Adds zero bytes until there are at least `bytes`; there may then be more. No effect if
    /// there are that many. After an error the memory is as before.
    ///
    /// # Errors
    /// [`GrowError`] if there is no room.
    fn grow_to(&mut self, bytes: u64) -> Result<(), GrowError>;

    /// `length` bytes from `start`, `None` if they are not all within. All typed access goes
    /// through here or through [`range_mut`](Self::range_mut), so that an implementation can
    /// observe reads.
    #[inline]
    fn range(&self, start: u64, length: u64) -> Option<&[u8]> {
        let range = range_of(start, length)?;
        self.bytes().get(range)
    }

    /// As [`range`](Self::range), to change.
    #[inline]
    fn range_mut(&mut self, start: u64, length: u64) -> Option<&mut [u8]> {
        let range = range_of(start, length)?;
        self.bytes_mut().get_mut(range)
    }
}

#[inline]
fn range_of(start: u64, length: u64) -> Option<std::ops::Range<usize>> {
    let end = start.checked_add(length)?;
    Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

/// Memory that cannot grow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrowError {
    /// The bound on the memory is reached.
    #[error(
        "the segment is full: {asked_bytes} bytes are needed and its limit is {limit_bytes}; free \
         something, or raise the limit when opening it"
    )]
    Full {
        /// Bytes that the memory would need.
        asked_bytes: u64,
        /// The most that the segment may grow to, as it was opened.
        limit_bytes: u64,
    },
    /// The system below refused.
    #[error("the segment cannot grow to {asked_bytes} bytes: {source}")]
    Refused {
        /// Bytes that the memory would need.
        asked_bytes: u64,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A place at which there is no value of its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// A null reference was followed.
    #[error("a null place of {type_name} was used; ask `is_null` first where a link may be none")]
    Null {
        /// The type of its value.
        type_name: &'static str,
    },
    /// The place is not a multiple of the type's alignment.
    #[error(
        "offset {offset} is no place of {type_name}, which needs a multiple of {align}; \
         the link is damaged or of another type"
    )]
    Misaligned {
        /// The place's offset in bytes.
        offset: u64,
        /// The type's alignment in bytes.
        align: usize,
        /// The type of its value.
        type_name: &'static str,
    },
    /// The place or its end lies beyond the memory.
    #[error(
        "{bytes} bytes of {type_name} at offset {offset} are not within the segment's {length} \
         bytes; the link is damaged or of another segment"
    )]
    Outside {
        /// The place's offset in bytes.
        offset: u64,
        /// Bytes of the value or values; `u64::MAX` if they are more.
        bytes: u64,
        /// Bytes of the memory.
        length: u64,
        /// The type of its value.
        type_name: &'static str,
    },
    /// Two values that were to be changed at once share bytes.
    #[error(
        "{first_bytes} bytes at offset {first} and {second_bytes} bytes at offset {second} \
         overlap, and so cannot be changed at once"
    )]
    Overlap {
        /// The first place's offset in bytes.
        first: u64,
        /// Bytes of the first value.
        first_bytes: u64,
        /// The second place's offset in bytes.
        second: u64,
        /// Bytes of the second value.
        second_bytes: u64,
    },
}

/// Checked typed access to any [`Memory`].
///
/// ```
/// use sardonyx_mapped::memory::{Memory, MemoryAccess, PlainMemory};
/// use sardonyx_mapped::P;
/// let mut memory = PlainMemory::new(1 << 30)?;
/// memory.grow_to(8192)?;
/// let counter: P<u64> = P::from_offset(4096);
/// *memory.get_mut(counter)? += 1;
/// assert_eq!(memory.read(counter)?, 1);
/// assert!(memory.get(P::<u64>::from_offset(4097)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// All methods fail with [`PlaceError`]: null, misaligned, outside the memory, or overlapping.
pub trait MemoryAccess: Memory {
    /// The value at a place.
    ///
    /// # Errors
    /// As the trait says.
    #[inline]
    fn get<T: Resident>(&self, place: P<T>) -> Result<&T, PlaceError> {
        let bytes = (!place.is_null()).then(|| self.range(place.offset(), size_of::<T>() as u64));
        match bytes.flatten().and_then(T::ref_from_bytes) {
            Some(value) => Ok(value),
            None => Err(refusal(self, place, 1)),
        }
    }

    /// The value at a place, to change.
    ///
    /// # Errors
    /// As the trait says.
    #[inline]
    fn get_mut<T: Resident>(&mut self, place: P<T>) -> Result<&mut T, PlaceError> {
        // Checked first, so that the error can look at the memory: the borrow of the returned range cannot end in one
        // branch only.
        check(self, place, 1)?;
        self.range_mut(place.offset(), size_of::<T>() as u64)
            .and_then(T::mut_from_bytes)
            .ok_or(PlaceError::Null {
                type_name: type_name::<T>(),
            })
    }

    /// The values of a slice. An empty one has no place, so any start will do.
    ///
    /// # Errors
    /// As the trait says.
    #[inline]
    fn slice<T: Resident>(&self, slice: Slice<T>) -> Result<&[T], PlaceError> {
        if slice.length == 0 {
            return Ok(&[]);
        }
        check(self, slice.start, slice.length)?;
        let bytes = bytes_for::<T>(slice.length);
        self.range(slice.start.offset(), bytes)
            .and_then(|bytes| resident::slice_from_bytes(bytes, slice.length as usize))
            .ok_or_else(|| refusal(self, slice.start, slice.length))
    }

    /// The values of a slice, to change.
    ///
    /// # Errors
    /// As the trait says.
    #[inline]
    fn slice_mut<T: Resident>(&mut self, slice: Slice<T>) -> Result<&mut [T], PlaceError> {
        if slice.length == 0 {
            return Ok(&mut []);
        }
        check(self, slice.start, slice.length)?;
        let bytes = bytes_for::<T>(slice.length);
        self.range_mut(slice.start.offset(), bytes)
            .and_then(|bytes| resident::slice_from_bytes_mut(bytes, slice.length as usize))
            .ok_or(PlaceError::Null {
                type_name: type_name::<T>(),
            })
    }

    /// A copy of the value at a place.
    ///
    /// # Errors
    /// As the trait says.
    #[inline]
    fn read<T: Resident>(&self, place: P<T>) -> Result<T, PlaceError> {
        self.get(place).copied()
    }

    /// Changes the value at a place.
    ///
    /// # Errors
    /// As the trait says.
    #[inline]
    fn write<T: Resident>(&mut self, place: P<T>, value: T) -> Result<(), PlaceError> {
        *self.get_mut(place)? = value;
        Ok(())
    }

    /// Copies the values of a slice to another place, which may overlap it.
    ///
    /// # Errors
    /// As the trait says.
    fn copy<T: Resident>(&mut self, from: Slice<T>, to: P<T>) -> Result<(), PlaceError> {
        // Each is requested by its range, for implementations that observe reads and changes.
        let bytes = size_of_val(self.slice(from)?);
        self.slice_mut(Slice {
            start: to,
            length: from.length,
        })?;
        if bytes > 0 {
            // Both are within the memory, so their ends are offsets.
            let start = from.start.offset() as usize;
            self.bytes_mut()
                .copy_within(start..start + bytes, to.offset() as usize);
        }
        Ok(())
    }

    /// Two values at once, to change: a structure without `Box` needs this to relink two nodes.
    ///
    /// # Errors
    /// As the trait says; [`PlaceError::Overlap`] if they share bytes.
    fn get_pair_mut<A: Resident, B: Resident>(
        &mut self,
        first: P<A>,
        second: P<B>,
    ) -> Result<(&mut A, &mut B), PlaceError> {
        // Each is requested by its range, as by `get_mut`, for implementations that observe them.
        self.get_mut(first)?;
        self.get_mut(second)?;
        // Both are within the memory, so their ends are offsets.
        let (a, b) = (first.offset() as usize, second.offset() as usize);
        let overlap = PlaceError::Overlap {
            first: first.offset(),
            first_bytes: size_of::<A>() as u64,
            second: second.offset(),
            second_bytes: size_of::<B>() as u64,
        };
        let ranges = [a..a + size_of::<A>(), b..b + size_of::<B>()];
        let Ok([a, b]) = self.bytes_mut().get_disjoint_mut(ranges) else {
            return Err(overlap);
        };
        match (A::mut_from_bytes(a), B::mut_from_bytes(b)) {
            (Some(a), Some(b)) => Ok((a, b)),
            _ => Err(overlap),
        }
    }
}

impl<M: Memory + ?Sized> MemoryAccess for M {}

/// Bytes of so many values; `u64::MAX`, which no memory has, if they are more.
#[inline]
fn bytes_for<T>(length: u64) -> u64 {
    length.saturating_mul(size_of::<T>() as u64)
}

/// Checks that a place can have so many values.
#[inline]
fn check<M: Memory + ?Sized, T>(memory: &M, place: P<T>, length: u64) -> Result<(), PlaceError> {
    let memory_bytes = memory.bytes();
    let end = place.offset().checked_add(bytes_for::<T>(length));
    let within = end.is_some_and(|end| end <= memory_bytes.len() as u64);
    let address = memory_bytes.as_ptr().addr() as u64;
    let aligned = address
        .wrapping_add(place.offset())
        .is_multiple_of(align_of::<T>() as u64);
    if within && aligned && !place.is_null() {
        Ok(())
    } else {
        Err(refusal(memory, place, length))
    }
}

/// The reason that a place cannot have such values.
#[cold]
fn refusal<M: Memory + ?Sized, T>(memory: &M, place: P<T>, length: u64) -> PlaceError {
    let (offset, bytes) = (place.offset(), bytes_for::<T>(length));
    let memory_length = memory.bytes().len() as u64;
    let type_name = type_name::<T>();
    if place.is_null() {
        PlaceError::Null { type_name }
    } else if offset
        .checked_add(bytes)
        .is_none_or(|end| end > memory_length)
    {
        PlaceError::Outside {
            offset,
            bytes,
            length: memory_length,
            type_name,
        }
    } else {
        PlaceError::Misaligned {
            offset,
            align: align_of::<T>(),
            type_name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(pages: u64) -> PlainMemory {
        let mut memory = PlainMemory::new(1 << 20).unwrap();
        memory.grow_to(pages * 4096).unwrap();
        memory
    }

    #[test]
    fn values_slices_and_pairs_are_read_and_changed_in_place() {
        let mut memory = memory(1);
        memory.write(P::from_offset(8), 7u64).unwrap();
        *memory.get_mut(P::<u64>::from_offset(4088)).unwrap() = 8;
        assert_eq!(memory.bytes()[8..16], 7u64.to_le_bytes());
        assert_eq!(memory.read(P::<u64>::from_offset(4088)), Ok(8));
        let slice = Slice::<u32> {
            start: P::from_offset(16),
            length: 4,
        };
        memory
            .slice_mut(slice)
            .unwrap()
            .copy_from_slice(&[1, 2, 3, 4]);
        assert_eq!(memory.slice(slice).unwrap(), [1, 2, 3, 4]);
        let (a, b) = memory
            .get_pair_mut(P::<u64>::from_offset(8), P::<u32>::from_offset(16))
            .unwrap();
        *a += u64::from(*b);
        *b = 0;
        assert_eq!(memory.read(P::<u64>::from_offset(8)), Ok(8));
        assert_eq!(memory.slice(slice).unwrap(), [0, 2, 3, 4]);
    }

    #[test]
    fn places_without_a_value_say_why() {
        let mut memory = memory(1);
        let length = 4096;
        let type_name = "u64";
        for (offset, expected) in [
            (0, PlaceError::Null { type_name }),
            (
                4,
                PlaceError::Misaligned {
                    offset: 4,
                    align: 8,
                    type_name,
                },
            ),
            (
                4096,
                PlaceError::Outside {
                    offset: 4096,
                    bytes: 8,
                    length,
                    type_name,
                },
            ),
            (
                4090,
                PlaceError::Outside {
                    offset: 4090,
                    bytes: 8,
                    length,
                    type_name,
                },
            ),
            (
                u64::MAX,
                PlaceError::Outside {
                    offset: u64::MAX,
                    bytes: 8,
                    length,
                    type_name,
                },
            ),
        ] {
            let place = P::<u64>::from_offset(offset);
            let one = Slice {
                start: place,
                length: 1,
            };
            assert_eq!(memory.get(place), Err(expected));
            assert_eq!(memory.get_mut(place), Err(expected));
            assert_eq!(memory.slice(one), Err(expected));
            assert_eq!(memory.slice_mut(one), Err(expected));
            let none = Slice {
                start: place,
                length: 0,
            };
            assert_eq!(memory.slice(none).unwrap(), [0; 0]);
            assert_eq!(memory.slice_mut(none).unwrap(), [0; 0]);
        }
        let endless = Slice {
            start: P::<u64>::from_offset(8),
            length: u64::MAX / 4,
        };
        assert!(matches!(
            memory.slice(endless),
            Err(PlaceError::Outside {
                bytes: u64::MAX,
                ..
            })
        ));
        assert!(matches!(
            memory.slice_mut(endless),
            Err(PlaceError::Outside { .. })
        ));
    }

    #[test]
    fn slices_are_copied_also_onto_themselves() {
        let mut memory = memory(1);
        let slice = |start, length| Slice::<u16> {
            start: P::from_offset(start),
            length,
        };
        let values = memory.slice_mut(slice(8, 4)).unwrap();
        values.copy_from_slice(&[1, 2, 3, 4]);
        memory.copy(slice(8, 4), P::from_offset(10)).unwrap();
        assert_eq!(memory.slice(slice(8, 5)).unwrap(), [1, 1, 2, 3, 4]);
        memory.copy(slice(0, 0), P::null()).unwrap();
        for (from, to) in [(4090, 8), (8, 4090), (8, 9)] {
            let before = memory.bytes().to_vec();
            assert!(memory.copy(slice(from, 4), P::from_offset(to)).is_err());
            assert!(memory.bytes() == before);
        }
    }

    #[test]
    fn a_pair_that_overlaps_is_refused() {
        let mut memory = memory(1);
        for (a, b) in [(8, 8), (8, 12), (12, 8)] {
            let pair = memory.get_pair_mut(P::<[u32; 2]>::from_offset(a), P::<u32>::from_offset(b));
            let overlaps = !(a == 12 && b == 8);
            assert_eq!(
                matches!(pair, Err(PlaceError::Overlap { .. })),
                overlaps,
                "{a} {b}"
            );
        }
        let null = memory.get_pair_mut(P::<u32>::from_offset(8), P::<u32>::null());
        assert!(matches!(null, Err(PlaceError::Null { .. })));
    }
}
