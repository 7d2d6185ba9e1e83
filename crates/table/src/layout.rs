//! How records lie in a page: from offset 0 at a stride of the record's size, with an occupancy
//! bitmap and the table's number in the trailer at the page's end.
//!
//! ```text
//! 0                stride           2·stride                4096−8−words·8         4088     4096
//! ├ record 0 ──────┼ record 1 ──────┼ … ─────── (unused) ───┼ occupancy (words) ───┼ table ─┤
//! ```
//!
//! A bit of the bitmap says that a record is there; bit `i % 64` of word `i / 64`. The table's word
//! holds the table's number plus one, so that a page of zeroes belongs to no table.

use crate::error::TableError;
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};

/// Bytes of the word at a table page's end.
const TABLE_WORD_BYTES: usize = 8;

/// The largest record, in bytes: one record, one word of bitmap, the table's word.
pub const RECORD_BYTES_MAX: usize = PAGE_SIZE - 8 - TABLE_WORD_BYTES;

/// The place of records in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLayout {
    /// Bytes from one record to the next.
    pub stride: usize,
    /// Records in a page.
    pub records: usize,
    /// Where the bitmap starts.
    pub bitmap_offset: usize,
}

impl PageLayout {
    /// The layout for records of so many bytes.
    ///
    /// # Errors
    /// [`TableError::RecordSize`] unless the size is a multiple of 8 from 8 to
    /// [`RECORD_BYTES_MAX`].
    pub fn new(name: &str, size: usize) -> Result<Self, TableError> {
        if size < 8 || !size.is_multiple_of(8) || size > RECORD_BYTES_MAX {
            return Err(TableError::RecordSize {
                name: name.to_string(),
                size,
                requirement: "the size must be a multiple of 8 from 8 to 4080",
            });
        }
        let fits = |records: usize| {
            records * size + records.div_ceil(64) * 8 + TABLE_WORD_BYTES <= PAGE_SIZE
        };
        let mut records = (PAGE_SIZE - TABLE_WORD_BYTES) / size;
        while !fits(records) {
            records -= 1;
        }
        let bitmap_offset = PAGE_SIZE - TABLE_WORD_BYTES - records.div_ceil(64) * 8;
        Ok(PageLayout {
            stride: size,
            records,
            bitmap_offset,
        })
    }

    /// The address of a record in a page.
    #[inline]
    pub fn record(&self, page: PageId, slot: usize) -> Address {
        Address(page.address().0 + (slot * self.stride) as u64)
    }

    /// The slot of a record.
    pub fn slot(&self, record: Address) -> usize {
        record.offset_in_page() / self.stride
    }

    /// The address of the bitmap's word for a slot, and the slot's bit in it.
    pub fn occupancy(&self, page: PageId, slot: usize) -> (Address, u64) {
        let word = page.address().0 + (self.bitmap_offset + slot / 64 * 8) as u64;
        (Address(word), 1 << (slot % 64))
    }

    /// Whether a record is at a slot of a page, given the page's bytes.
    pub fn is_occupied(&self, page: &[u8], slot: usize) -> bool {
        word_at(page, self.bitmap_offset + slot / 64 * 8) & (1 << (slot % 64)) != 0
    }

    /// The address of a page's table word.
    pub fn table_word(page: PageId) -> Address {
        Address(page.address().0 + (PAGE_SIZE - TABLE_WORD_BYTES) as u64)
    }

    /// The table that a page belongs to, given the page's bytes.
    pub fn table_of(page: &[u8]) -> Option<u16> {
        let word = word_at(page, PAGE_SIZE - TABLE_WORD_BYTES);
        u16::try_from(word).ok()?.checked_sub(1)
    }
}

/// The little-endian word at an offset.
#[inline]
pub(crate) fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_bitmap_and_table_word_never_overlap() {
        for size in (8..=RECORD_BYTES_MAX).step_by(8) {
            let layout = PageLayout::new("t", size).expect("a valid size");
            assert!(layout.records >= 1);
            assert!(layout.records * size <= layout.bitmap_offset, "{size}");
            let (word, _) = layout.occupancy(PageId(0), layout.records - 1);
            assert!(
                word.0 as usize + 8 <= PAGE_SIZE - TABLE_WORD_BYTES,
                "{size}"
            );
        }
        assert_eq!(PageLayout::new("t", 128).expect("valid").records, 31);
        for bad in [0, 4, 12, RECORD_BYTES_MAX + 8] {
            assert!(PageLayout::new("t", bad).is_err());
        }
    }
}
