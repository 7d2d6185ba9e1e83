//! The page store: pages in one reserved address range that grows in place, so nobody chooses a map
//! size in advance and no address ever moves.

use crate::page::PAGE_SIZE;

/// Pages in memory. Zero-filled as they are added. Owned by one thread at a time: whoever may change
/// the pages holds the store exclusively, which is all the concurrency control that serial execution
/// needs.
#[derive(Debug)]
pub struct PageStore {
    // replaced by the helper
    pages: Vec<u8>,
    bytes_max: u64,
}

/// Why the store cannot be made or grown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused to reserve or to commit memory.
    #[error("cannot {operation} {bytes} bytes of memory for pages: {source}")]
    Memory {
        /// `reserve` or `commit`.
        operation: &'static str,
        /// How many bytes were asked for.
        bytes: u64,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The configured bound on the store's memory is reached.
    #[error(
        "the page store is full: {asked_bytes} bytes are needed and its limit is {limit_bytes}; \
         raise the memory limit when opening the database"
    )]
    Full {
        /// Bytes that the store would need.
        asked_bytes: u64,
        /// Its limit.
        limit_bytes: u64,
    },
}

impl PageStore {
    /// Reserves address space for `bytes_max` bytes of pages, rounded up; commits none of it.
    pub fn reserve(bytes_max: u64) -> Result<Self, StoreError> {
        Ok(PageStore { pages: Vec::new(), bytes_max })
    }

    /// The number of pages.
    pub fn pages(&self) -> u64 {
        (self.pages.len() / PAGE_SIZE) as u64
    }

    /// Adds zero-filled pages until there are `pages`. No effect if there are that many. After an
    /// error the store is as before.
    pub fn grow_to(&mut self, pages: u64) -> Result<(), StoreError> {
        let bytes = pages * PAGE_SIZE as u64;
        if bytes > self.bytes_max {
            return Err(StoreError::Full { asked_bytes: bytes, limit_bytes: self.bytes_max });
        }
        if bytes as usize > self.pages.len() {
            self.pages.resize(bytes as usize, 0);
        }
        Ok(())
    }

    /// All bytes of all pages.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.pages
    }

    /// All bytes of all pages, to change.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.pages
    }
}
