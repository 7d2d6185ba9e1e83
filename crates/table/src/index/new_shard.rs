//! A shard that is made anew: filled in memory of its own, then put into a block.

use super::tags::Tags;
use super::{Places, entry_of};
use crate::index_store::IndexStore;
use sardonyx_base::resident::bytes_of_slice;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::store::StoreError;

/// A shard that is being filled, before it gets its block.
pub(super) struct NewShard {
    places: Vec<u64>,
    tags: Tags,
    pub taken: usize,
}

impl NewShard {
    pub fn new(places: usize, tags: Tags) -> Self {
        NewShard {
            places: vec![0; places],
            tags,
            taken: 0,
        }
    }

    pub fn insert(&mut self, hash: u64, address: Address) {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        while self.places[place] != 0 {
            place = (place + 1) & mask;
        }
        // As `PageRead::word` reads it.
        self.places[place] = entry_of(self.tags.tag(hash), address).to_le();
        self.taken += 1;
    }

    pub fn put(self, store: &mut IndexStore) -> Result<Places, StoreError> {
        let bytes = bytes_of_slice(&self.places);
        let block = store.allocate(bytes.len())?;
        for (n, part) in bytes.chunks(PAGE_SIZE).enumerate() {
            store.write(Address(block.0 + (n * PAGE_SIZE) as u64), part);
        }
        Ok(Places {
            at: block.0,
            mask: self.places.len() - 1,
            tags: self.tags,
        })
    }
}
