//! The page: the unit in which memory is reserved, grown and shared, and the address of a byte in
//! it. A page is wholly its user's; nothing of the engine is kept inside it.

use std::fmt;

/// Bytes in a page.
pub const PAGE_SIZE: usize = 4096;

/// A page that was never written to.
static ZEROES: [u8; PAGE_SIZE] = [0; PAGE_SIZE];

/// True if any of these bytes, at most a page's, is not zero.
///
/// # Panics
/// If there are more.
#[inline]
pub fn holds_anything(bytes: &[u8]) -> bool {
    // A comparison of memory, which is many times as fast as a look at each byte.
    *bytes != ZEROES[..bytes.len()]
}

/// The number of a page in the store, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub u64);

/// The address of a byte in the store: page number times [`PAGE_SIZE`] plus the offset in the page. It means the same
/// in every process and after every restart; redo records have it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub u64);

impl Address {
    /// The largest address that a redo record can carry (48 bits: 256 TiB).
    pub const MAX: Address = Address((1 << 48) - 1);

    /// The page that holds this byte.
    pub fn page(self) -> PageId {
        PageId(self.0 / PAGE_SIZE as u64)
    }

    /// The byte's offset in its page.
    pub fn offset_in_page(self) -> usize {
        (self.0 % PAGE_SIZE as u64) as usize
    }
}

impl PageId {
    /// The address of the page's first byte.
    pub fn address(self) -> Address {
        Address(self.0 * PAGE_SIZE as u64)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.page().0, self.offset_in_page())
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
