//! Reading pages that may be the live ones, borrowed, or those of a snapshot, copied. Code that finds its way
//! through pages (an index, a chain of values, a scan) is written once for both.

use crate::page::Address;
use std::convert::Infallible;

/// Words of a block within a page, read one by one as they are needed, if copying all of them would cost more.
pub trait Words: Copy {
    /// The little-endian word with this number in the block.
    ///
    /// # Panics
    /// If the block has no such word.
    fn word(self, number: usize) -> u64;
}

/// A store or a snapshot.
pub trait PageRead {
    /// The reason why it may end: a snapshot's pages may be taken away from its reader; live ones never are.
    type Error;

    /// A block's words, for as long as the pages are borrowed.
    type Words<'a>: Words
    where
        Self: 'a;

    /// The result of `look` at the words of a block within one page; address and length are multiples of 8.
    ///
    /// The result for a snapshot is returned only if all words that it read are the snapshot's; else `look` is called
    /// again. So `look` must bear any words, and have no effect but its result.
    ///
    /// # Errors
    /// The snapshot was ended.
    ///
    /// # Panics
    /// If there is no such page, or the block is not within it.
    fn look<'a, T>(
        &'a self,
        at: Address,
        length: usize,
        look: impl FnMut(Self::Words<'a>) -> T,
    ) -> Result<T, Self::Error>;

    /// Copies bytes that lie within one page.
    ///
    /// # Errors
    /// The snapshot was ended; the content of `into` is undefined then.
    ///
    /// # Panics
    /// If there is no such page, or the bytes are not within it.
    fn read_into(&self, at: Address, into: &mut [u8]) -> Result<(), Self::Error>;

    /// The little-endian word at an address, which is a multiple of 8.
    ///
    /// # Errors
    /// That the snapshot was ended.
    ///
    /// # Panics
    /// If there is no such page.
    fn word(&self, at: Address) -> Result<u64, Self::Error>;

    /// Bytes that lie within one page: live ones in place, a snapshot's in `buffer`.
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

    /// True if a value outside of its row is whole at its address, instead of in cells of pages.
    #[inline(always)]
    fn has_whole_values(&self) -> bool {
        false
    }

    /// Asks the processor for the cache line at an address, where that is of use. Any address is harmless.
    #[inline(always)]
    fn prefetch(&self, _at: Address) {}
}

/// Words of pages that are borrowed.
#[derive(Clone, Copy, Debug)]
pub struct LiveWords<'a>(&'a [u8]);

impl Words for LiveWords<'_> {
    #[inline(always)]
    fn word(self, number: usize) -> u64 {
        let bytes = &self.0[number * 8..][..8];
        u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
    }
}

/// Bytes of their own that are read as pages are, and have their values whole: address 0 is the first byte.
#[derive(Debug)]
#[repr(transparent)]
pub struct WholeBytes([u8]);

impl WholeBytes {
    /// Bytes, seen so.
    #[inline(always)]
    pub fn of(bytes: &[u8]) -> &WholeBytes {
        // SAFETY: `repr(transparent)` over the bytes, and borrowed for as long.
        unsafe { &*(std::ptr::from_ref(bytes) as *const WholeBytes) }
    }
}

impl PageRead for WholeBytes {
    type Error = Infallible;
    type Words<'a> = LiveWords<'a>;

    fn look<'a, T>(
        &'a self,
        at: Address,
        length: usize,
        look: impl FnMut(LiveWords<'a>) -> T,
    ) -> Result<T, Infallible> {
        self.0.look(at, length, look)
    }

    fn read_into(&self, at: Address, into: &mut [u8]) -> Result<(), Infallible> {
        self.0.read_into(at, into)
    }

    fn word(&self, at: Address) -> Result<u64, Infallible> {
        self.0.word(at)
    }

    fn read<'a>(
        &'a self,
        at: Address,
        length: usize,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Infallible> {
        self.0.read(at, length, buffer)
    }

    fn borrowed(&self, at: Address, length: usize) -> Option<&[u8]> {
        self.0.borrowed(at, length)
    }

    fn has_whole_values(&self) -> bool {
        true
    }
}

/// All pages of a store, live.
impl PageRead for [u8] {
    type Error = Infallible;
    type Words<'a> = LiveWords<'a>;

    #[inline(always)]
    fn look<'a, T>(
        &'a self,
        at: Address,
        length: usize,
        mut look: impl FnMut(LiveWords<'a>) -> T,
    ) -> Result<T, Infallible> {
        Ok(look(LiveWords(&self[at.0 as usize..][..length])))
    }

    #[inline]
    fn read_into(&self, at: Address, into: &mut [u8]) -> Result<(), Infallible> {
        into.copy_from_slice(&self[at.0 as usize..][..into.len()]);
        Ok(())
    }

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
