//! The record of an array in the segment, which a root leads to.
//!
//! The record has a fixed part, then the element type's description in the form of NumPy's file format, in
//! UTF-8. The elements are elsewhere, at a page's start, in C order.

use crate::directory::ArrayError;
use crate::error::Failure;
use sardonyx_mapped::{Memory, MemoryAccess, P, Resident, Slice};

/// The most dimensions that NumPy knows.
pub const DIMENSIONS_MAX: usize = 64;

/// The longest description of an element type: a structure of some thousand fields.
const DESCRIPTION_BYTES_MAX: u32 = 1 << 20;

/// The fixed part of the record.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub struct ArrayRecord {
    /// The first element's offset in the segment.
    data: u64,
    /// Bytes of all elements.
    data_bytes: u64,
    /// Bytes of the description that follows.
    description_bytes: u32,
    dimensions: u32,
    shape: [u64; DIMENSIONS_MAX],
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// The first element's offset in the segment, in bytes.
    pub data: u64,
    /// Bytes of all elements.
    pub data_bytes: u64,
    /// The element type, in the form of NumPy's file format.
    pub description: String,
    /// Its length in each dimension.
    pub shape: Vec<u64>,
}

impl Array {
    /// Returns true if its elements are on this page. Every array begins on a page of its own.
    pub fn is_on(&self, page: u64) -> bool {
        let bytes = page.saturating_mul(4096)..page.saturating_add(1).saturating_mul(4096);
        let end = self.data.saturating_add(self.data_bytes);
        bytes.start < end && self.data < bytes.end
    }

    pub fn record_bytes(&self) -> u64 {
        (size_of::<ArrayRecord>() + self.description.len()) as u64
    }

    /// Writes the record.
    pub fn write<M: Memory + ?Sized>(
        &self,
        memory: &mut M,
        place: P<ArrayRecord>,
    ) -> Result<(), Failure> {
        let mut shape = [0; DIMENSIONS_MAX];
        shape[..self.shape.len()].copy_from_slice(&self.shape);
        let record = ArrayRecord {
            data: self.data,
            data_bytes: self.data_bytes,
            description_bytes: self.description.len() as u32,
            dimensions: self.shape.len() as u32,
            shape,
        };
        memory.write(place, record)?;
        let description = description(place, record.description_bytes);
        let bytes = memory.slice_mut(description)?;
        bytes.copy_from_slice(self.description.as_bytes());
        Ok(())
    }

    /// Reads a record, whose bytes may be anything.
    pub fn read<M: Memory + ?Sized>(
        memory: &M,
        name: &str,
        place: P<ArrayRecord>,
    ) -> Result<Array, Failure> {
        let damaged = |what: &'static str| ArrayError::Damaged {
            name: name.into(),
            offset: place.offset(),
            what,
        };
        let record = memory.read(place)?;
        let dimensions = record.dimensions as usize;
        let shape = record.shape.get(..dimensions);
        let shape = shape.ok_or(damaged("it has more dimensions than there can be"))?;
        if record.description_bytes > DESCRIPTION_BYTES_MAX {
            return Err(damaged("its element type's description is too long").into());
        }
        let end = record.data.checked_add(record.data_bytes);
        if end.is_none_or(|end| end > memory.bytes().len() as u64) {
            return Err(damaged("its elements are not within the segment").into());
        }
        let description = memory.slice(description(place, record.description_bytes))?;
        let description = std::str::from_utf8(description)
            .map_err(|_| damaged("its element type's description is not text"))?;
        Ok(Array {
            data: record.data,
            data_bytes: record.data_bytes,
            description: description.into(),
            shape: shape.to_vec(),
        })
    }
}

fn description(place: P<ArrayRecord>, bytes: u32) -> Slice<u8> {
    Slice {
        start: P::from_offset(
            place
                .offset()
                .saturating_add(size_of::<ArrayRecord>() as u64),
        ),
        length: bytes.into(),
    }
}

/// Returns true if a record has room for the description.
pub fn fits(description: &str) -> bool {
    description.len() <= DESCRIPTION_BYTES_MAX as usize
}
