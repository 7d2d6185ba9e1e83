//! Reading pages that may be the live ones, borrowed, or those of a snapshot, copied: what finds its way
//! through pages (an index, a chain of values, a scan) is written once for both.

use crate::page::Address;
use std::convert::Infallible;

/// Pages to read from.
pub trait PageRead {
    /// Why it may end: a snapshot's pages may be taken away from its reader; live ones never are.
    type Error;

    /// The little-endian word at an address, which is a multiple of 8.
    ///
    /// # Errors
    /// That the snapshot was ended.
    ///
    /// # Panics
    /// If there is no such page.
    fn word(&self, at: Address) -> Result<u64, Self::Error>;

    /// Bytes that lie within one page: live ones as they stand there, a snapshot's in `buffer`.
    ///
    /// # Errors
    /// That the snapshot was ended.
    ///
    /// # Panics
    /// If there is no such page.
    fn read<'a>(
        &'a self,
        at: Address,
        length: usize,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Self::Error>;

    /// The same without a copy, for as long as the pages are borrowed: live ones only.
    ///
    /// # Panics
    /// If there is no such page.
    #[inline]
    fn borrowed(&self, _at: Address, _length: usize) -> Option<&[u8]> {
        None
    }

    /// Asks the processor for the cache line at an address, where that is of use. Any address is harmless.
    #[inline(always)]
    fn prefetch(&self, _at: Address) {}
}

/// All pages of a store, live.
impl PageRead for [u8] {
    type Error = Infallible;

    #[inline]
    fn word(&self, at: Address) -> Result<u64, Infallible> {
        debug_assert!(at.0.is_multiple_of(8), "a word at {at}");
        // So the bound is looked at once.
        let (words, _) = self.as_chunks::<8>();
        Ok(u64::from_le_bytes(words[at.0 as usize / 8]))
    }

    #[inline]
    fn read<'a>(
        &'a self,
        at: Address,
        length: usize,
        _: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Infallible> {
        Ok(&self[at.0 as usize..][..length])
    }

    #[inline]
    fn borrowed(&self, at: Address, length: usize) -> Option<&[u8]> {
        Some(&self[at.0 as usize..][..length])
    }

    #[inline(always)]
    fn prefetch(&self, at: Address) {
        crate::prefetch::prefetch(self, at.0 as usize);
    }
}
