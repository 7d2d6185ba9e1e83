//! One table in memory: its layout, extents, free places and index.

use crate::condition::Condition;
use crate::error::TableError;
use crate::hash::KeyHash;
use crate::index::HashIndex;
use crate::index_store::IndexStore;
use crate::layout::PageLayout;
use crate::schema::Schema;
use crate::values::ValueSpace;
use sardonyx_storage::catalogue::{Definition, EXTENT_PAGES_MAX, EXTENT_PAGES_MIN, Extent, Kind};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::prefetch::prefetch;
use sardonyx_storage::store::StoreError;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// A slot of a table: the number of its extent, its page in that, its number in the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Slot {
    pub extent: usize,
    pub page: u64,
    pub slot: usize,
}

/// A table in memory.
#[derive(Debug)]
pub(crate) struct TableState {
    /// Of its definition; handles of other tables have another.
    pub fingerprint: u64,
    pub key_offset: usize,
    pub key_bytes: usize,
    pub hash: KeyHash,
    pub layout: PageLayout,
    pub extents: Vec<Extent>,
    /// Places of deleted records, used again from the end.
    pub free: Vec<Address>,
    pub fresh: Slot,
    /// Its pages name it; see [`PageUse`](crate::layout::PageUse).
    pub life: u32,
    /// Its pages of cells.
    pub values: ValueSpace,
    pub index: HashIndex,
    /// As it is stored, or made of the definition if none is.
    pub schema: Arc<Schema>,
    pub schema_is_stored: bool,
    /// As the catalogue has it.
    pub name: Arc<str>,
    /// The conditions of the schema that is named beside them, once they were needed.
    pub checks: Option<(Arc<Schema>, Arc<[Condition]>)>,
}

/// Where the key stands in a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPlace {
    hash: KeyHash,
    offset: usize,
    length: usize,
}

impl KeyPlace {
    /// The bytes of a record's key.
    #[inline]
    pub fn of(self, bytes: &[u8], at: Address) -> &[u8] {
        &bytes[at.0 as usize + self.offset..][..self.length]
    }

    /// Asks the processor for a record's key.
    #[inline]
    pub fn prefetch(self, bytes: &[u8], at: Address) {
        prefetch(bytes, at.0 as usize + self.offset);
    }

    /// The hash of a record's key.
    #[inline]
    pub fn hash(self, bytes: &[u8], at: Address) -> u64 {
        self.hash.of(self.of(bytes, at))
    }
}

/// Where a record can go.
pub(crate) enum Place {
    /// The place of a deleted record.
    Freed(Address),
    /// A place never used; its page, if it is the page's first.
    Fresh(Address, Option<PageId>),
    /// The extents are used up.
    NeedsExtent,
}

impl TableState {
    /// A table without pages; `None` for a journal or area.
    pub fn new(definition: &Definition, hash: KeyHash) -> Result<Option<Self>, TableError> {
        let Kind::Table {
            key_offset,
            key_bytes,
        } = definition.kind
        else {
            return Ok(None);
        };
        Ok(Some(TableState {
            fingerprint: fingerprint_of(definition),
            key_offset,
            key_bytes,
            hash,
            layout: PageLayout::new(&definition.name, definition.record_bytes)?,
            extents: Vec::new(),
            free: Vec::new(),
            fresh: Slot::default(),
            life: 0,
            values: ValueSpace::default(),
            index: HashIndex::new(),
            schema: Arc::new(Schema::of_definition(definition)),
            schema_is_stored: false,
            name: Arc::from(definition.name.as_str()),
            checks: None,
        }))
    }

    /// The same without pages, in a life.
    pub fn in_life(mut self, life: u32) -> Self {
        self.life = life;
        self.values = ValueSpace::of_life(life);
        self
    }

    /// With what is known of another state of the same table, beside its rows.
    pub fn described_as(mut self, other: &TableState) -> Self {
        self.schema = Arc::clone(&other.schema);
        self.schema_is_stored = other.schema_is_stored;
        self
    }

    /// Gives back the memory of its indexes. It is not used any more.
    pub fn release(&mut self, indexes: &mut IndexStore) {
        self.index.clear(indexes);
    }

    /// Where the key stands in a record.
    #[inline]
    pub fn key_place(&self) -> KeyPlace {
        KeyPlace {
            hash: self.hash,
            offset: self.key_offset,
            length: self.key_bytes,
        }
    }

    /// The hash of a record's key.
    #[inline]
    pub fn hash_at(&self, bytes: &[u8], at: Address) -> u64 {
        self.key_place().hash(bytes, at)
    }

    /// The record with this key.
    #[inline]
    pub fn find(
        &self,
        indexes: &IndexStore,
        bytes: &[u8],
        hash: u64,
        key: &[u8],
    ) -> Option<Address> {
        self.find_in(&self.index, indexes, bytes, hash, key)
    }

    /// The record with this key in an index of this table.
    #[inline]
    pub fn find_in(
        &self,
        index: &HashIndex,
        indexes: &IndexStore,
        bytes: &[u8],
        hash: u64,
        key: &[u8],
    ) -> Option<Address> {
        if let Ok(word) = <[u8; 8]>::try_from(key) {
            // The common key of 8 bytes is compared as one word.
            return index.find(indexes, hash, |at| {
                let start = at.0 as usize + self.key_offset;
                bytes.get(start..start + 8) == Some(&word[..])
            });
        }
        index.find(indexes, hash, |at| self.key_place().of(bytes, at) == key)
    }

    /// Where the next record goes.
    pub fn place(&self) -> Place {
        if let Some(&address) = self.free.last() {
            return Place::Freed(address);
        }
        match self.extents.get(self.fresh.extent) {
            None => Place::NeedsExtent,
            Some(extent) => {
                let page = PageId(extent.first_page.0 + self.fresh.page);
                let first = (self.fresh.slot == 0).then_some(page);
                Place::Fresh(self.layout.record(page, self.fresh.slot), first)
            }
        }
    }

    /// How many records find a place without another extent.
    pub fn places_left(&self) -> usize {
        let extents = self.extents.get(self.fresh.extent..).unwrap_or_default();
        let pages: u64 = extents.iter().map(|extent| extent.pages).sum();
        let pages = (pages - self.fresh.page.min(pages)) as usize;
        self.free.len() + pages * self.layout.records - self.fresh.slot
    }

    /// Moves past the fresh place.
    pub fn take_fresh(&mut self) {
        self.fresh.slot += 1;
        if self.fresh.slot == self.layout.records {
            self.next_fresh_page();
        }
    }

    /// Moves past the page of the fresh place.
    pub fn next_fresh_page(&mut self) {
        self.fresh.slot = 0;
        self.fresh.page += 1;
        if self.fresh.page == self.extents[self.fresh.extent].pages {
            self.fresh = Slot {
                extent: self.fresh.extent + 1,
                page: 0,
                slot: 0,
            };
        }
    }

    /// Pages of the next extent.
    pub fn next_extent_pages(&self) -> u64 {
        let so_far: u64 = self.extents.iter().map(|extent| extent.pages).sum();
        so_far.clamp(EXTENT_PAGES_MIN, EXTENT_PAGES_MAX)
    }

    /// The pages that have been used, in order: consecutive ones together.
    pub fn used_runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let fresh = self.fresh;
        self.extents
            .iter()
            .enumerate()
            .map(move |(number, extent)| {
                let used = match number.cmp(&fresh.extent) {
                    Ordering::Less => extent.pages,
                    Ordering::Equal => fresh.page + u64::from(fresh.slot > 0),
                    Ordering::Greater => 0,
                };
                extent.first_page.0..extent.first_page.0 + used
            })
    }

    /// The first record at a slot or behind it, in the order of the addresses, and the slot behind that.
    pub fn record_from(&self, bytes: &[u8], from: Slot) -> Option<(Address, Slot)> {
        let mut at = from;
        while let Some(in_use) = self.extents.get(at.extent) {
            if at.page == in_use.pages {
                at = Slot {
                    extent: at.extent + 1,
                    ..Slot::default()
                };
                continue;
            }
            let Slot { extent, page, slot } = self.fresh;
            if (at.extent, at.page, 0) >= (extent, page, slot) {
                // Never used, nor is any behind it.
                return None;
            }
            let page = PageId(in_use.first_page.0 + at.page);
            let content = page_bytes(bytes, page);
            if self.has_rows(content)
                && let Some(slot) = self.layout.occupied_from(content, at.slot)
            {
                at.slot = slot + 1;
                return Some((self.layout.record(page, slot), at));
            }
            at.page += 1;
            at.slot = 0;
        }
        None
    }

    /// The records that are there, in the order of their addresses.
    pub fn records<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = Address> + 'a {
        self.used_runs()
            .flatten()
            .map(PageId)
            .filter(move |page| self.has_rows(page_bytes(bytes, *page)))
            .flat_map(move |page| {
                let content = page_bytes(bytes, page);
                let slots = self.layout.occupied(content);
                slots.map(move |slot| self.layout.record(page, slot))
            })
    }

    /// Whether a used page has rows, given its bytes: the others have cells of values.
    #[inline]
    pub fn has_rows(&self, page: &[u8]) -> bool {
        !self.values.is_used() || PageLayout::has_rows(page)
    }
}

/// The bytes of a page.
pub(crate) fn page_bytes(bytes: &[u8], page: PageId) -> &[u8] {
    &bytes[page.address().0 as usize..][..PAGE_SIZE]
}

/// Sees to it that a record with this hash of its key can be indexed.
#[inline]
pub(crate) fn make_index_room(
    state: &mut TableState,
    indexes: &mut IndexStore,
    bytes: &[u8],
    hash: u64,
) -> Result<(), StoreError> {
    let key = state.key_place();
    state
        .index
        .make_room(indexes, hash, |at| key.hash(bytes, at))
}

/// Removes a record, whose bytes are still there, from the index.
pub(crate) fn remove_from_index(
    state: &mut TableState,
    indexes: &mut IndexStore,
    bytes: &[u8],
    address: Address,
) {
    let key = state.key_place();
    let hash = key.hash(bytes, address);
    let removed = state
        .index
        .remove(indexes, hash, address, |at| key.hash(bytes, at));
    debug_assert!(removed, "every record is indexed");
}

/// The fingerprint of a table's definition.
pub(crate) fn fingerprint_of(definition: &Definition) -> u64 {
    let (key_offset, key_bytes) = match definition.kind {
        Kind::Table {
            key_offset,
            key_bytes,
        } => (key_offset, key_bytes),
        Kind::Journal | Kind::Area | Kind::Dropped => (0, 0),
    };
    fingerprint(
        &definition.name,
        definition.record_bytes,
        key_offset,
        key_bytes,
    )
}

/// Tells tables of different names or layouts apart, in one comparison; for record types at compile
/// time (FNV-1a of 64 bits).
pub(crate) const fn fingerprint(
    name: &str,
    record_bytes: usize,
    key_offset: usize,
    key_bytes: usize,
) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut state = 0xcbf2_9ce4_8422_2325;
    let name = name.as_bytes();
    let mut at = 0;
    while at < name.len() {
        state = (state ^ name[at] as u64).wrapping_mul(PRIME);
        at += 1;
    }
    state = (state ^ record_bytes as u64).wrapping_mul(PRIME);
    state = (state ^ key_offset as u64).wrapping_mul(PRIME);
    (state ^ key_bytes as u64).wrapping_mul(PRIME)
}
