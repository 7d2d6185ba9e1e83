//! Memory without transactions.

use super::{GrowError, Memory};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::{PageStore, StoreError};

/// Private memory of this process, page-aligned and growable: for tests, and for the same code
/// without transactions.
#[derive(Debug)]
pub struct PlainMemory {
    store: PageStore,
}

impl PlainMemory {
    /// Empty memory that may grow to `bytes_max`, which is rounded up to whole pages. Only address
    /// space is taken.
    ///
    /// # Errors
    /// [`GrowError::Refused`] if the process cannot have so much address space.
    pub fn new(bytes_max: u64) -> Result<Self, GrowError> {
        let store = PageStore::reserve(bytes_max).map_err(|source| refused(bytes_max, source))?;
        Ok(PlainMemory { store })
    }
}

impl From<PageStore> for PlainMemory {
    /// Pages that are there already, such as those of a database that was recovered.
    fn from(store: PageStore) -> Self {
        PlainMemory { store }
    }
}

impl Memory for PlainMemory {
    fn bytes(&self) -> &[u8] {
        self.store.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.store.bytes_mut()
    }

    fn grow_to(&mut self, bytes: u64) -> Result<(), GrowError> {
        let pages = bytes.div_ceil(PAGE_SIZE as u64);
        self.store
            .grow_to(pages)
            .map_err(|source| refused(bytes, source))
    }
}

fn refused(asked_bytes: u64, source: StoreError) -> GrowError {
    match source {
        StoreError::Full {
            asked_bytes,
            limit_bytes,
        } => GrowError::Full {
            asked_bytes,
            limit_bytes,
        },
        other => GrowError::Refused {
            asked_bytes,
            source: Box::new(other),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_in_whole_pages_and_bounded() {
        let mut memory = PlainMemory::new(8192).unwrap();
        memory.grow_to(1).unwrap();
        assert_eq!(memory.bytes().len(), 4096);
        match memory.grow_to(8193) {
            Err(GrowError::Full {
                asked_bytes: 12288,
                limit_bytes: 8192,
            }) => {}
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            PlainMemory::new(u64::MAX),
            Err(GrowError::Refused { .. })
        ));
    }
}
