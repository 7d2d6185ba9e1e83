//! One table in memory: its layout, extents, free places and index.

mod fingerprint;
mod hashed_key;

pub(crate) use fingerprint::{fingerprint_of, fingerprint_of_table};
use fingerprint::{fingerprint_of_definition, without_records};
pub(crate) use hashed_key::HashedKey;

use crate::addresses::Addresses;
use crate::changes::Feed;
use crate::hash::KeyHash;
use crate::index::HashIndex;
use crate::index_store::IndexStore;
use crate::made_beside::MadeBeside;
use crate::ordered::{Leaving, Tree};
use crate::secondary::Secondary;
use crate::values::ValueSpace;
use sardonyx_rows::condition::Check;
use sardonyx_rows::constraints::Generated;
use sardonyx_rows::key::KeyShape;
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse};
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{KeyValues, TableError};
use sardonyx_storage::catalogue::{Definition, EXTENT_PAGES_MAX, Extent, Kind};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
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
    /// The fingerprint of its definition; handles of other tables have another.
    pub fingerprint: u64,
    pub key_offset: usize,
    pub key_bytes: usize,
    pub hash: KeyHash,
    /// The layout of pages of the newest shape.
    pub layout: PageLayout,
    /// The layouts of pages of the shapes before; nearly always none.
    pub old_layouts: Vec<PageLayout>,
    pub extents: Vec<Extent>,
    /// Places of deleted records in pages of the newest shape, used again from the end.
    pub free: Vec<Address>,
    pub fresh: Slot,
    /// Its pages name it; see [`PageUse`](sardonyx_rows::layout::PageUse).
    pub life: u32,
    /// Its pages of cells.
    pub values: ValueSpace,
    pub index: HashIndex,
    /// True if rows are in `index`, by their primary key.
    pub is_hashed: bool,
    /// The encoding of the primary key whose bytes are hashed: of texts, bytes, or columns that are no neighbours. `None` if
    /// its bytes in the row are hashed.
    pub hashed_key: Option<Arc<KeyShape>>,
    /// The ordered indexes; none of most tables.
    pub secondary: Vec<Secondary>,
    /// True if a changed row is checked: the rows that it refers to, and the table's conditions.
    pub is_checked: bool,
    /// True if tables have references to it.
    pub is_referenced: bool,
    /// True if columns have declarations beside their types.
    pub is_declared: bool,
    /// True if columns are generated of others.
    pub is_generated: bool,
    /// The stored schema, or one made of the definition if none is stored.
    pub schema: Arc<Schema>,
    pub schema_is_stored: bool,
    /// Its name in the catalogue.
    pub name: Arc<str>,
    /// The conditions of the schema that is named beside them, once they were needed.
    pub checks: Option<(Arc<Schema>, Arc<[Check]>)>,
    /// Its generated columns in the same way.
    pub generated: Option<(Arc<Schema>, Arc<[Generated]>)>,
    /// The next content of a table that is made beside it: see [`Beside`](crate::Beside).
    pub beside: Option<MadeBeside>,
    /// The kept changes of its rows, if they are kept.
    pub feed: Option<Arc<Feed>>,
    /// Rows inserted, changed and deleted since the opening. Not undone with a transaction: it shows which tables are
    /// in use.
    pub changes: u64,
}

/// The former schema of a table, and the state that follows from it.
#[derive(Debug)]
pub(crate) struct SchemaBefore {
    schema: Arc<Schema>,
    is_stored: bool,
    fingerprint: u64,
    feed: Option<Arc<Feed>>,
    /// The former newest shape, if it was another.
    shape: Option<ShapeBefore>,
}

#[derive(Debug)]
struct ShapeBefore {
    layout: PageLayout,
    old_layouts: Vec<PageLayout>,
    free: Vec<Address>,
    fresh: Slot,
}

/// The place for a new record.
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
            fingerprint: fingerprint_of_definition(definition),
            key_offset,
            key_bytes,
            hash,
            layout: PageLayout::new(&definition.name, definition.record_bytes)?,
            old_layouts: Vec::new(),
            extents: Vec::new(),
            free: Vec::new(),
            fresh: Slot::default(),
            life: 0,
            values: ValueSpace::default(),
            index: HashIndex::new(),
            is_hashed: true,
            hashed_key: None,
            secondary: Vec::new(),
            is_checked: false,
            is_referenced: false,
            is_declared: false,
            is_generated: false,
            schema: Arc::new(Schema::of_definition(definition)),
            schema_is_stored: false,
            name: Arc::from(definition.name.as_str()),
            checks: None,
            generated: None,
            beside: None,
            feed: None,
            changes: 0,
        }))
    }

    /// The same without pages, in a life.
    pub fn in_life(mut self, life: u32) -> Self {
        self.life = life;
        self.values = ValueSpace::of_life(life);
        self
    }

    /// With the description of another state of the same table, and its own rows.
    #[inline]
    pub fn described_as(mut self, other: &TableState) -> Self {
        self.take_schema(Arc::clone(&other.schema), other.schema_is_stored);
        self.is_hashed = other.is_hashed;
        self.hashed_key = other.hashed_key.clone();
        self.is_checked = other.is_checked;
        self.is_referenced = other.is_referenced;
        self.is_declared = other.is_declared;
        self.is_generated = other.is_generated;
        let empty = |index: &Secondary| Secondary {
            what: Arc::clone(&index.what),
            tree: Tree::default(),
        };
        self.secondary = other.secondary.iter().map(empty).collect();
        self
    }

    /// Gives back the memory of its indexes. It is not used any more.
    pub fn release(&mut self, indexes: &mut IndexStore, leaving: &mut Leaving) {
        self.index.clear(indexes);
        for index in self.secondary.drain(..) {
            leaving.push(index.tree);
        }
    }

    /// The hashing of a record's key.
    #[inline]
    pub fn key(&self) -> HashedKey<'_> {
        HashedKey {
            hash: self.hash,
            offset: self.key_offset,
            length: self.key_bytes,
            shape: self.hashed_key.as_deref(),
        }
    }

    /// The same, and the index, to change it.
    #[inline]
    fn key_and_index(&mut self) -> (HashedKey<'_>, &mut HashIndex) {
        let key = HashedKey {
            hash: self.hash,
            offset: self.key_offset,
            length: self.key_bytes,
            shape: self.hashed_key.as_deref(),
        };
        (key, &mut self.index)
    }

    /// The hash of a record's key.
    #[inline]
    pub fn hash_at(&self, bytes: &[u8], at: Address) -> u64 {
        self.key().hash(bytes, at)
    }

    /// The record with this key.
    #[inline(always)]
    pub fn find(
        &self,
        indexes: &IndexStore,
        bytes: &[u8],
        hash: u64,
        key: &[u8],
    ) -> Option<Address> {
        self.find_in(&self.index, indexes, bytes, hash, key)
    }

    /// The record with this key in an index of this table. Inlined, so that of a record type the length of the key
    /// is known at compile time.
    #[inline(always)]
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
        index.find(indexes, hash, |at| self.key().plain(bytes, at) == key)
    }

    /// The row with this key of this hash, whose bytes are made of its columns. `plain` is the key's value, if that is
    /// bytes and nothing else: these are compared where they stand.
    #[inline]
    pub fn find_by_columns(
        &self,
        shape: &KeyShape,
        indexes: &IndexStore,
        bytes: &[u8],
        hash: u64,
        (key, plain): (&[u8], Option<&[u8]>),
    ) -> Option<Address> {
        let is_it = |at| {
            let is_plain = plain.and_then(|plain| shape.is_bytes(bytes, at, plain));
            is_plain.unwrap_or_else(|| shape.shares(bytes, at, key).unwrap_or(false))
        };
        self.index.find(indexes, hash, is_it)
    }

    /// Returns true if a change of a row is more than a change of its bytes: the table has ordered indexes, references
    /// from or to others, or conditions, or its changes are kept.
    #[inline]
    pub fn is_indexed(&self) -> bool {
        !self.secondary.is_empty()
            || self.is_checked
            || self.is_referenced
            || self.is_declared
            || self.feed.is_some()
    }

    /// The place of the next record.
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

    /// Pages of the next extent, if the first one has so many.
    pub fn next_extent_pages(&self, pages_min: u64) -> u64 {
        let so_far: u64 = self.extents.iter().map(|extent| extent.pages).sum();
        so_far.clamp(pages_min, EXTENT_PAGES_MAX)
    }

    /// The row with this primary key, by its ordered index: for keys that are not found by a hash.
    ///
    /// # Errors
    /// [`TableError::KeyValue`] and others if these are no values of the key.
    pub fn find_ordered(
        &self,
        indexes: &IndexStore,
        rows: &[u8],
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<Address>, TableError> {
        let mut secondary = self.secondary.iter();
        let primary =
            secondary.find(|index| index.what.definition.name == self.schema.primary.name);
        let primary = primary.expect("what is not hashed is ordered");
        let key = primary.what.shape.of_values(key);
        let key = key.map_err(|bad| primary.bad_key(bad, &self.name, Some(&self.schema)))?;
        primary.find(indexes.bytes(), rows, &key.bytes)
    }

    /// Rows.
    pub fn len(&self) -> u64 {
        match self.secondary.first() {
            Some(index) if !self.is_hashed => index.tree.len(),
            _ => self.index.len() as u64,
        }
    }

    /// The pages that have been used, in order: consecutive ones together.
    pub fn used_runs(&self) -> Vec<Range<u64>> {
        used_runs(&self.extents, self.fresh)
    }

    /// The first record at a slot or behind it, in the order of the addresses, and the slot behind that.
    pub fn record_from(&self, bytes: &[u8], from: Slot) -> Option<(Address, Slot)> {
        let (mut behind, mut from) = (from, from.slot);
        while let Some(page) = self.used_page(&mut behind) {
            let content = page_bytes(bytes, page);
            if self.has_rows(content)
                && let layout = self.layout_of(content)
                && let Some(slot) = layout.occupied_from(content, from)
            {
                // Of this page still.
                (behind.page, behind.slot) = (behind.page - 1, slot + 1);
                return Some((layout.record(page, slot), behind));
            }
            from = 0;
        }
        None
    }

    /// The slot behind the one of a record's address; behind all if its page is not this table's.
    pub fn slot_behind(&self, bytes: &[u8], at: Address) -> Slot {
        let page = at.page();
        let mut extents = self.extents.iter();
        let has_it = |extent: &Extent| {
            (extent.first_page.0..extent.first_page.0 + extent.pages).contains(&page.0)
        };
        match extents.position(has_it) {
            Some(extent) => Slot {
                extent,
                page: page.0 - self.extents[extent].first_page.0,
                slot: self.layout_of(page_bytes(bytes, page)).slot(at) + 1,
            },
            None => Slot {
                extent: self.extents.len(),
                ..Slot::default()
            },
        }
    }

    /// The existing records, in the order of their addresses.
    pub fn records<'a>(&'a self, bytes: &'a [u8]) -> Addresses<'a> {
        Addresses::new(self, bytes)
    }

    /// The page of a slot, if it was used, or the first one behind it that was. The slot becomes the first one of the page
    /// behind that.
    pub fn used_page(&self, at: &mut Slot) -> Option<PageId> {
        loop {
            let in_use = self.extents.get(at.extent)?;
            if at.page == in_use.pages {
                *at = Slot {
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
            (at.page, at.slot) = (at.page + 1, 0);
            return Some(page);
        }
    }

    /// The layout of records in a page of rows, given its bytes.
    #[inline]
    pub fn layout_of(&self, page: &[u8]) -> PageLayout {
        match self.old_layouts.is_empty() {
            true => self.layout,
            false => self.layout_of_shape(shape_of(page)).unwrap_or(self.layout),
        }
    }

    /// The layout of records in pages of a shape, if there is such a shape.
    pub fn layout_of_shape(&self, shape: u8) -> Option<PageLayout> {
        let shape = usize::from(shape);
        match shape == self.old_layouts.len() {
            true => Some(self.layout),
            false => self.old_layouts.get(shape).copied(),
        }
    }

    /// Returns true if free places of a page are used again, given its bytes. Those of earlier shapes are not, until
    /// the page is empty.
    #[inline]
    pub fn is_of_newest_shape(&self, page: &[u8]) -> bool {
        self.old_layouts.is_empty() || usize::from(shape_of(page)) == self.old_layouts.len()
    }

    /// The shape of new pages.
    pub fn shape(&self) -> u8 {
        self.old_layouts.len() as u8
    }

    /// Returns true if all its pages of rows are of one shape, in which a record is a whole row.
    #[inline]
    pub fn has_one_shape(&self) -> bool {
        self.old_layouts.is_empty()
    }

    /// Takes another schema. If its newest shape is another, the next record goes into a page never used. Returns the
    /// former state.
    pub fn take_schema(&mut self, schema: Arc<Schema>, is_stored: bool) -> SchemaBefore {
        let mut before = SchemaBefore {
            schema: std::mem::replace(&mut self.schema, schema),
            is_stored: std::mem::replace(&mut self.schema_is_stored, is_stored),
            fingerprint: self.fingerprint,
            feed: self.feed.clone(),
            shape: None,
        };
        if before.schema.begins_with_records() != self.schema.begins_with_records() {
            // Records of a program's type are not these rows.
            self.fingerprint = without_records(self.fingerprint);
        }
        let layouts = self.schema.earlier_shapes.iter();
        let old_layouts: Vec<_> = layouts.map(|bytes| PageLayout::of(*bytes)).collect();
        let layout = PageLayout::of(self.schema.row_bytes);
        if (layout, &old_layouts) != (self.layout, &self.old_layouts) {
            before.shape = Some(ShapeBefore {
                layout: std::mem::replace(&mut self.layout, layout),
                old_layouts: std::mem::replace(&mut self.old_layouts, old_layouts),
                free: std::mem::take(&mut self.free),
                fresh: self.fresh,
            });
            if self.fresh.slot > 0 {
                self.next_fresh_page();
            }
        }
        before
    }

    /// Takes back the schema that was before.
    pub fn restore_schema(&mut self, before: SchemaBefore) {
        self.schema = before.schema;
        self.schema_is_stored = before.is_stored;
        self.fingerprint = before.fingerprint;
        self.feed = before.feed;
        if let Some(shape) = before.shape {
            self.layout = shape.layout;
            self.old_layouts = shape.old_layouts;
            self.free = shape.free;
            self.fresh = shape.fresh;
        }
    }

    /// Returns true if a used page has rows, given its bytes: the others have cells of values.
    #[inline]
    pub fn has_rows(&self, page: &[u8]) -> bool {
        !self.values.is_used() || PageLayout::has_rows(page)
    }
}

/// The shape of a page of rows, given its bytes.
pub(crate) fn shape_of(page: &[u8]) -> u8 {
    match PageUse::of(page).map(|page| page.kind) {
        Some(PageKind::Rows { shape }) => shape,
        _ => 0,
    }
}

/// The pages of a table's extents before the first that was never used, in order.
pub(crate) fn used_runs(extents: &[Extent], fresh: Slot) -> Vec<Range<u64>> {
    let mut runs = Vec::with_capacity(extents.len());
    for (number, extent) in extents.iter().enumerate() {
        let used = match number.cmp(&fresh.extent) {
            Ordering::Less => extent.pages,
            Ordering::Equal => fresh.page + u64::from(fresh.slot > 0),
            Ordering::Greater => 0,
        };
        runs.push(extent.first_page.0..extent.first_page.0 + used);
    }
    runs
}

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
    if !state.is_hashed {
        return Ok(());
    }
    let (key, index) = state.key_and_index();
    make_room(key, index, indexes, bytes, hash)
}

/// Sees to it that an index has room for one more record with this hash of its key. Compiled once for all users.
pub(crate) fn make_room(
    key: HashedKey<'_>,
    index: &mut HashIndex,
    indexes: &mut IndexStore,
    bytes: &[u8],
    hash: u64,
) -> Result<(), StoreError> {
    let (hash_of, ask) = (
        |at| key.hash(bytes, at),
        |at, what| key.ask(bytes, at, what),
    );
    index.make_room(indexes, hash, hash_of, ask)
}

/// Removes a record, whose bytes are still there, from the index.
pub(crate) fn remove_from_index(
    state: &mut TableState,
    indexes: &mut IndexStore,
    bytes: &[u8],
    address: Address,
) {
    if !state.is_hashed {
        return;
    }
    let (key, index) = state.key_and_index();
    let hash = key.hash(bytes, address);
    let removed = index.remove(indexes, hash, address, |at| key.hash(bytes, at));
    debug_assert!(removed, "every record is indexed");
}
