//! One bit for each page that there may be, in sparse memory, usable in a signal handler.

use crate::error::SegmentError;
use rustix::mm::{MapFlags, ProtFlags};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each page. All bits are 0 at first.
#[derive(Debug)]
pub struct PageBits {
    words: NonNull<AtomicU64>,
    pages: u64,
}

impl PageBits {
    /// Bits for so many pages.
    pub fn new(pages: u64) -> Result<Self, SegmentError> {
        let refused = SegmentError::system("map memory for page bits");
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes(pages), protection, flags) }
                .map_err(&refused)?;
        let words = NonNull::new(start.cast()).ok_or_else(|| refused(rustix::io::Errno::NOMEM))?;
        Ok(PageBits { words, pages })
    }

    #[inline]
    fn word(&self, page: u64) -> (&AtomicU64, u64) {
        assert!(page < self.pages, "page {page} has a bit");
        // SAFETY: within the mapping, which is zeroed and lives as long as `self`.
        let word = unsafe { self.words.add((page / 64) as usize).as_ref() };
        (word, 1 << (page % 64))
    }

    /// True if the page's bit is set.
    #[inline]
    pub fn has(&self, page: u64) -> bool {
        let (word, bit) = self.word(page);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Sets the page's bit; returns whether it was set before.
    #[inline]
    pub fn set(&self, page: u64) -> bool {
        let (word, bit) = self.word(page);
        // The other bits of the word may be changed by the keeper at the same time. A locked instruction
        // is not needed to find that there is nothing to do.
        word.load(Ordering::Relaxed) & bit != 0 || word.fetch_or(bit, Ordering::Relaxed) & bit != 0
    }

    /// Clears the page's bit; returns whether it was set before.
    #[inline]
    pub fn clear(&self, page: u64) -> bool {
        let (word, bit) = self.word(page);
        word.load(Ordering::Relaxed) & bit != 0
            && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// The first pages whose bits are set, in order. Bits set or cleared meanwhile may be seen or not.
    pub fn iter(&self, pages: u64) -> impl Iterator<Item = u64> {
        let pages = pages.min(self.pages);
        (0..pages).step_by(64).flat_map(move |first| {
            let mut bits = self.word(first).0.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let page = first + u64::from(bits.trailing_zeros());
                (bits != 0 && page < pages).then(|| {
                    bits &= bits - 1;
                    page
                })
            })
        })
    }

    pub fn clear_first(&self, pages: u64) {
        for page in (0..pages.min(self.pages)).step_by(64) {
            self.word(page).0.store(0, Ordering::Relaxed);
        }
    }
}

fn bytes(pages: u64) -> usize {
    (pages.div_ceil(64) as usize * 8).max(8)
}

impl Drop for PageBits {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this for us alone.
        let _ = unsafe { rustix::mm::munmap(self.words.as_ptr().cast(), bytes(self.pages)) };
    }
}

// SAFETY: the mapping belongs to no thread, and is only used by atomic accesses.
unsafe impl Send for PageBits {}
// SAFETY: as above.
unsafe impl Sync for PageBits {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_its_pages_alone() {
        let bits = PageBits::new(1 << 26).unwrap();
        for page in [0, 63, 64, 65, (1 << 26) - 1] {
            assert!(!bits.set(page) && bits.set(page) && bits.has(page));
        }
        assert_eq!(
            bits.iter(1 << 26).collect::<Vec<_>>(),
            [0, 63, 64, 65, (1 << 26) - 1]
        );
        assert_eq!(bits.iter(65).collect::<Vec<_>>(), [0, 63, 64]);
        assert!(!bits.has(1) && bits.clear(64) && !bits.clear(64) && bits.has(65));
        bits.clear_first(64);
        assert!(!bits.has(0) && !bits.has(63) && bits.has(65));
    }
}
