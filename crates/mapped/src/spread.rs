//! Values of which only some are on each page.
//!
//! Transactions conflict by page. Rows of 40 bytes, one behind the other, share a page with a hundred
//! others, and transactions that change different ones conflict nevertheless. If that happens too often
//! ([`Segment::conflicts`](crate::Segment::conflicts)), memory can be traded for it: with one row on a
//! page, only transactions that use the same row conflict. (Where the mechanism observes what is read,
//! pages that earlier transactions of the session read count, too, until that led to conflicts:
//! `docs/mapped.md` has the figures.)

use crate::heap::{Heap, HeapError};
use crate::memory::{Memory, MemoryAccess};
use crate::place::{P, Slice};
use sardonyx_base::resident::Resident;
use sardonyx_storage::page::PAGE_SIZE;

const PAGE: u64 = PAGE_SIZE as u64;

/// The places of values that are spread over pages, so many on each. It computes their places and holds nothing: make
/// it again from the same numbers, in any process.
///
/// ```
/// use sardonyx_mapped::{Heap, MemoryAccess, Options, Spread};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let segment = Options::new().open_private()?;
/// // 1,000 counters, each alone on its page: threads that change different ones do not conflict.
/// let counters = segment.run(|tx| {
///     let heap = Heap::open_or_format(tx)?;
///     Spread::<u64>::allocate(heap, tx, 1_000, 1)
/// })?;
/// let place = counters.get(7).expect("there are 1,000");
/// segment.run(|tx| tx.write(place, 42))?;
/// assert_eq!(place.offset() % 4096, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Spread<T> {
    start: P<T>,
    length: u64,
    per_page: u64,
}

impl<T> Clone for Spread<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Spread<T> {}

impl<T: Resident> Spread<T> {
    /// `length` values from `start` on, a page's start, `per_page` on each page: at least one, and at most as many as
    /// fit. A value that is larger than a page has as many pages as it takes.
    pub const fn new(start: P<T>, length: u64, per_page: u64) -> Self {
        let fitting = PAGE / Self::value_bytes();
        let most = if fitting == 0 { 1 } else { fitting };
        let per_page = if per_page > most { most } else { per_page };
        Spread {
            start,
            length,
            per_page: if per_page == 0 { 1 } else { per_page },
        }
    }

    /// Allocates them in the heap, all zero.
    ///
    /// # Errors
    /// [`HeapError::Grow`] if there is no room, [`HeapError::Impossible`] above 16 TiB,
    /// [`HeapError::Damaged`].
    pub fn allocate<M: Memory + ?Sized>(
        heap: Heap,
        memory: &mut M,
        length: u64,
        per_page: u64,
    ) -> Result<Self, HeapError> {
        let spread = Spread::<T>::new(P::null(), length, per_page);
        let bytes = spread.bytes();
        let start = heap.allocate_bytes(memory, bytes, PAGE)?;
        let room = Slice {
            start,
            length: bytes,
        };
        memory.slice_mut(room)?.fill(0);
        Ok(Spread {
            start: start.cast(),
            ..spread
        })
    }

    const fn value_bytes() -> u64 {
        let bytes = size_of::<T>() as u64;
        if bytes == 0 { 1 } else { bytes }
    }

    /// Their bytes, whole pages: the size to free at [`Spread::start`], at a page's alignment.
    pub const fn bytes(&self) -> u64 {
        let groups = self.length.div_ceil(self.per_page);
        groups.saturating_mul(self.group_bytes())
    }

    /// Whole pages with `per_page` values.
    const fn group_bytes(&self) -> u64 {
        (self.per_page * Self::value_bytes()).next_multiple_of(PAGE)
    }

    /// The place of the first page.
    pub const fn start(&self) -> P<T> {
        self.start
    }

    /// Elements, not bytes.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// The place of the nth from 0; `None` if there are not so many.
    pub const fn get(&self, n: u64) -> Option<P<T>> {
        if n >= self.length {
            return None;
        }
        let (group, within) = (n / self.per_page, n % self.per_page);
        let offset = group.saturating_mul(self.group_bytes()) + within * Self::value_bytes();
        Some(self.start.byte_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn values_of_pages<T: Resident>(spread: Spread<T>) -> BTreeMap<u64, u64> {
        let mut pages = BTreeMap::new();
        for n in 0..spread.length() {
            let place = spread.get(n).unwrap();
            let end = place.offset() + size_of::<T>() as u64 - spread.start().offset();
            assert!(end <= spread.bytes());
            *pages.entry(place.offset() / PAGE).or_default() += 1;
        }
        assert!(spread.get(spread.length()).is_none());
        pages
    }

    #[test]
    fn so_many_stand_on_a_page_and_none_on_two() {
        let start = 3 * PAGE;
        for (asked, given) in [(0, 1), (1, 1), (7, 7), (102, 102), (1000, 102)] {
            let spread = Spread::<[u64; 5]>::new(P::from_offset(start), 500, asked);
            let pages = values_of_pages(spread);
            assert_eq!(pages.len() as u64, 500_u64.div_ceil(given), "{asked}");
            assert_eq!(spread.bytes(), pages.len() as u64 * PAGE);
            assert!(pages.values().all(|count| *count <= given));
            for n in 0..500 {
                let offset = spread.get(n).unwrap().offset();
                assert_eq!(offset / PAGE, (offset + 39) / PAGE);
            }
        }
        let large = Spread::<[u64; 513]>::new(P::from_offset(start), 4, 10);
        assert_eq!(large.bytes(), 8 * PAGE);
        assert_eq!(large.get(1).unwrap().offset(), start + 2 * PAGE);
        assert_eq!(Spread::<u64>::new(P::from_offset(start), 0, 1).bytes(), 0);
    }
}
