//! Layout of records in a page: from offset 0 at a stride of the record's size. The page's end has an occupancy bitmap
//! and a trailer, which names the page's table and use. Cells of long values have the same layout.
//!
//! ```text
//! 0                stride           2·stride                4096−8−words·8         4088     4096
//! ├ record 0 ──────┼ record 1 ──────┼ … ─────── (unused) ───┼ occupancy (words) ───┼ table ─┤
//! ```
//!
//! Bit `i % 64` of word `i / 64` of the bitmap is set if record `i` is present. The table's word holds the table's
//! number plus one, so that a page of zeroes belongs to no table. Above it is the use of the page ([`PageUse`]).

use sardonyx_storage::catalogue::{CatalogueError, RECORD_BYTES_MAX, check_record_bytes};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};

/// Bytes of the word at a table page's end.
const TABLE_WORD_BYTES: usize = 8;

const _: () = assert!(RECORD_BYTES_MAX == PAGE_SIZE - 8 - TABLE_WORD_BYTES);

/// The place of records in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLayout {
    /// Bytes from one record to the next.
    pub stride: usize,
    /// As many as the page has room for, with a bit for each in the bitmap.
    pub records: usize,
    /// In bytes from the page's begin; the records are before it.
    pub bitmap_offset: usize,
}

impl PageLayout {
    /// The layout for records of so many bytes.
    ///
    /// # Errors
    /// [`CatalogueError::RecordSize`] unless the size is a multiple of 8 from 8 to
    /// [`RECORD_BYTES_MAX`].
    pub fn new(name: &str, size: usize) -> Result<Self, CatalogueError> {
        check_record_bytes(name, size)?;
        Ok(Self::of(size))
    }

    /// The layout for a size that is known to be good.
    #[inline]
    pub const fn of(size: usize) -> Self {
        let mut records = (PAGE_SIZE - TABLE_WORD_BYTES) / size;
        while records * size + records.div_ceil(64) * 8 + TABLE_WORD_BYTES > PAGE_SIZE {
            records -= 1;
        }
        PageLayout {
            stride: size,
            records,
            bitmap_offset: PAGE_SIZE - TABLE_WORD_BYTES - records.div_ceil(64) * 8,
        }
    }

    /// Its first byte in the store.
    #[inline]
    pub fn record(&self, page: PageId, slot: usize) -> Address {
        Address(page.address().0 + (slot * self.stride) as u64)
    }

    /// Its place among the records of the page.
    #[inline]
    pub fn slot(&self, record: Address) -> usize {
        record.offset_in_page() / self.stride
    }

    /// The address of the bitmap's word for a slot, and the slot's bit in it.
    #[inline]
    pub fn occupancy(&self, page: PageId, slot: usize) -> (Address, u64) {
        let word = page.address().0 + (self.bitmap_offset + slot / 64 * 8) as u64;
        (Address(word), 1 << (slot % 64))
    }

    /// Returns true if a slot of a page has a record, given the page's bytes.
    #[inline]
    pub fn is_occupied(&self, page: &[u8], slot: usize) -> bool {
        word_at(page, self.bitmap_offset + slot / 64 * 8) >> (slot % 64) & 1 == 1
    }

    /// The slots of a page that have records, given the page's bytes; a word of the bitmap at a
    /// time.
    #[inline]
    pub fn occupied<'a>(&self, page: &'a [u8]) -> impl Iterator<Item = usize> + use<'a> {
        self.slots(page, 0)
    }

    /// The bits of 64 slots of a page, from slot `first` on, a multiple of 64. They are set for slots with records.
    #[inline]
    pub fn occupied_word(&self, page: &[u8], first: usize) -> u64 {
        let used = u64::MAX >> (64 - (self.records - first).min(64));
        word_at(page, self.bitmap_offset + first / 8) & used
    }

    /// The first slot of a page from `from` on that has a record, given the page's bytes.
    #[inline]
    pub fn occupied_from(&self, page: &[u8], from: usize) -> Option<usize> {
        let mut skipped = from % 64;
        for first in (from - skipped..self.records).step_by(64) {
            let word = self.occupied_word(page, first) & (u64::MAX << skipped);
            if word != 0 {
                return Some(first + word.trailing_zeros() as usize);
            }
            skipped = 0;
        }
        None
    }

    /// The slots of a page that have none.
    #[inline]
    pub fn vacant<'a>(&self, page: &'a [u8]) -> impl Iterator<Item = usize> + use<'a> {
        self.slots(page, u64::MAX)
    }

    /// The first slot of a page that has no record, and if there is another one behind it.
    #[inline]
    pub fn first_vacant(&self, page: &[u8]) -> Option<(usize, bool)> {
        let mut found = None;
        for first in (0..self.records).step_by(64) {
            let used = u64::MAX >> (64 - (self.records - first).min(64));
            let vacant = !word_at(page, self.bitmap_offset + first / 8) & used;
            if vacant == 0 {
                continue;
            }
            if let Some(slot) = found {
                return Some((slot, true));
            }
            let slot = first + vacant.trailing_zeros() as usize;
            if vacant & (vacant - 1) != 0 {
                return Some((slot, true));
            }
            found = Some(slot);
        }
        found.map(|slot| (slot, false))
    }

    /// The slots whose bits are set after they were flipped by `flip`. Bits that belong to no slot
    /// are ignored.
    #[inline]
    fn slots<'a>(&self, page: &'a [u8], flip: u64) -> impl Iterator<Item = usize> + use<'a> {
        let PageLayout {
            records,
            bitmap_offset,
            ..
        } = *self;
        (0..records).step_by(64).flat_map(move |first| {
            let used = u64::MAX >> (64 - (records - first).min(64));
            let word = word_at(page, bitmap_offset + first / 8) ^ flip;
            Bits(word & used).map(move |bit| first + bit)
        })
    }

    /// The address of a page's table word.
    #[inline]
    pub fn table_word(page: PageId) -> Address {
        Address(page.address().0 + (PAGE_SIZE - TABLE_WORD_BYTES) as u64)
    }

    /// Returns true if a page is of records, given its bytes: not of cells of values, nor free.
    #[inline]
    pub fn has_rows(page: &[u8]) -> bool {
        Self::is_of_rows(word_at(page, PAGE_SIZE - TABLE_WORD_BYTES))
    }

    /// The same, given the page's table word.
    #[inline]
    pub fn is_of_rows(word: u64) -> bool {
        word >> KIND_SHIFT & 0xff == KIND_ROWS && word != 0
    }
}

/// The table and use of a page, from its last word: the table's number plus one (bits 0 to 15), the page's kind (bits
/// 16 to 23: 0 rows, 1 values), and the shape of its rows or the size class of its cells (bits 24 to 31). Then follow
/// the table's [life](sardonyx_storage::catalogue::Catalogue::life) (bits 32 to 54), a flag that there is a sum (bit
/// 55), and the sum (bits 56 to 63): the exclusive or of the other bytes. Without a sum the life is 0. The word of an
/// unused page is 0, or its word from when the page was another table's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageUse {
    /// The table's number.
    pub table: u16,
    /// The table's life.
    pub life: u32,
    /// The content of the page.
    pub kind: PageKind,
}

/// The content of a page of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// Rows of a shape.
    Rows {
        /// The shape's number; 0 is the first.
        shape: u8,
    },
    /// Cells of long values.
    Values {
        /// Their size class.
        class: u8,
    },
}

const KIND_SHIFT: u32 = 16;
const DETAIL_SHIFT: u32 = 24;
const LIFE_SHIFT: u32 = 32;
const LIFE_BITS: u64 = (1 << 23) - 1;
const HAS_SUM: u64 = 1 << 55;
const SUM_SHIFT: u32 = 56;
const KIND_ROWS: u64 = 0;
const KIND_VALUES: u64 = 1;

impl PageUse {
    /// A page with rows of the first shape.
    #[inline]
    pub fn rows(table: u16, life: u32) -> Self {
        PageUse {
            table,
            life,
            kind: PageKind::Rows { shape: 0 },
        }
    }

    /// The word that encodes it; with a sum if the place may hold other tables' words.
    #[inline]
    pub fn word(self, with_sum: bool) -> u64 {
        let (kind, detail) = match self.kind {
            PageKind::Rows { shape } => (KIND_ROWS, shape),
            PageKind::Values { class } => (KIND_VALUES, class),
        };
        let word = (u64::from(self.table) + 1)
            | (kind << KIND_SHIFT)
            | (u64::from(detail) << DETAIL_SHIFT);
        if !with_sum {
            debug_assert_eq!(self.life, 0, "a life has a sum");
            return word;
        }
        let word = word | (u64::from(self.life) << LIFE_SHIFT) | HAS_SUM;
        word | (sum(word) << SUM_SHIFT)
    }

    /// Returns true if a word has a sum, and the sum is right.
    #[inline]
    pub fn has_sum(word: u64) -> bool {
        word & HAS_SUM != 0 && word >> SUM_SHIFT == sum(word)
    }

    /// Decodes a word; `None` if no page has such a word.
    #[inline]
    pub fn of_word(word: u64) -> Option<Self> {
        let table = (word as u16).checked_sub(1)?;
        let detail = (word >> DETAIL_SHIFT) as u8;
        let kind = match word >> KIND_SHIFT & 0xff {
            KIND_ROWS => PageKind::Rows { shape: detail },
            KIND_VALUES => PageKind::Values { class: detail },
            _ => return None,
        };
        let life = (word >> LIFE_SHIFT & LIFE_BITS) as u32;
        let is_sound = word >> LIFE_SHIFT == 0 || Self::has_sum(word);
        is_sound.then_some(PageUse { table, life, kind })
    }

    /// The size class of a page's cells, given its word, which was found to be sound: the sum is not computed again. `None` of
    /// a page of rows.
    #[inline]
    pub fn class_of_sound(word: u64) -> Option<u8> {
        let is_of_values = word >> KIND_SHIFT & 0xff == KIND_VALUES;
        is_of_values.then_some((word >> DETAIL_SHIFT) as u8)
    }

    /// The use of a page, given its bytes.
    #[inline]
    pub fn of(page: &[u8]) -> Option<Self> {
        Self::of_word(word_at(page, PAGE_SIZE - TABLE_WORD_BYTES))
    }
}

/// The exclusive or of a word's lower seven bytes.
#[inline]
fn sum(word: u64) -> u64 {
    let bytes = word.to_le_bytes();
    bytes
        .iter()
        .take(7)
        .fold(0, |sum, byte| sum ^ u64::from(*byte))
}

/// The numbers of a word's set bits, from the lowest.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    }
}

/// The little-endian word at an offset.
#[inline]
pub fn word_at(bytes: &[u8], at: usize) -> u64 {
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

    #[test]
    fn what_a_page_is_for_is_one_word_and_back() {
        let rows = (0..=255).map(|shape| PageKind::Rows { shape });
        let values = (0..=255).map(|class| PageKind::Values { class });
        for kind in rows.chain(values) {
            for table in [0, 1, 255] {
                let life = 0;
                let used = PageUse { table, life, kind };
                assert_eq!(PageUse::of_word(used.word(false)), Some(used));
                let life = 0x12_3456;
                let used = PageUse { table, life, kind };
                let word = used.word(true);
                assert_eq!(PageUse::of_word(word), Some(used));
                let class = match kind {
                    PageKind::Values { class } => Some(class),
                    PageKind::Rows { .. } => None,
                };
                assert_eq!(PageUse::class_of_sound(word), class);
                for bit in 0..64_u32 {
                    assert!(!PageUse::has_sum(word ^ 1 << bit), "bit {bit}");
                }
            }
        }
        assert_eq!(PageUse::rows(6, 0).word(false), 7, "as it always was");
        for nothing in [0, 1 << 16, 7 | 2 << 16, 7 | 1 << 32, 7 | 1 << 63] {
            assert_eq!(PageUse::of_word(nothing), None);
        }
    }

    #[test]
    fn every_slot_is_either_occupied_or_vacant() {
        for size in [8, 24, 56, 64, 128, 2040, RECORD_BYTES_MAX] {
            let layout = PageLayout::new("t", size).expect("a valid size");
            // Bits that belong to no slot are set as well.
            let mut page = [0xff; PAGE_SIZE];
            assert!(layout.occupied(&page).eq(0..layout.records), "{size}");
            assert_eq!(layout.vacant(&page).count(), 0, "{size}");
            for slot in (0..layout.records).step_by(3) {
                let (word, bit) = layout.occupancy(PageId(0), slot);
                let cleared = word_at(&page, word.0 as usize) & !bit;
                page[word.0 as usize..][..8].copy_from_slice(&cleared.to_le_bytes());
            }
            let occupied = (0..layout.records).filter(|slot| slot % 3 != 0);
            assert!(layout.occupied(&page).eq(occupied.clone()), "{size}");
            for from in 0..=layout.records {
                let first = occupied.clone().find(|slot| *slot >= from);
                assert_eq!(layout.occupied_from(&page, from), first, "{size} {from}");
            }
            let vacant = (0..layout.records).step_by(3);
            assert!(layout.vacant(&page).eq(vacant.clone()), "{size}");
            // They are taken, the first one first.
            for slot in vacant {
                let more = layout.vacant(&page).nth(1).is_some();
                assert_eq!(layout.first_vacant(&page), Some((slot, more)), "{size}");
                let (word, bit) = layout.occupancy(PageId(0), slot);
                let set = word_at(&page, word.0 as usize) | bit;
                page[word.0 as usize..][..8].copy_from_slice(&set.to_le_bytes());
            }
            assert_eq!(layout.first_vacant(&page), None, "{size}");
        }
    }
}
