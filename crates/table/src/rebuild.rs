//! Rebuilding the state that is in memory only, free lists and indexes, from the pages, on several threads.
//!
//! It needs no record types: the catalogue has the place of the key. First the bitmaps of all pages are read for the
//! free places. Then the index is built, of a size that is now known. If a clean close stored the indexes
//! ([`crate::stored`]), they are read instead of built. Free places and long values are checked all the same.

use crate::build::{BuildError, build_index};
use crate::hash::KeyHash;
use crate::index_store::IndexStore;
use crate::places::{Damage, find_places};
use crate::schemas::read_schemas;
use crate::space::TableSpace;
use crate::stored::StoredIndexes;
use crate::table::TableState;
use crate::transaction::kept_numbers;
use crate::values::check_values;
use sardonyx_rows::TableError;
use sardonyx_rows::schema::Schema;
use sardonyx_storage::catalogue::{Catalogue, Definition};
use sardonyx_storage::page::{Address, PageId};
use std::sync::Arc;
use std::time::Duration;

/// The report of an opening's work on indexes and free places.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RebuildReport {
    /// Tables.
    pub tables: u64,
    /// Records indexed.
    pub records: u64,
    /// Free places found.
    pub free: u64,
    /// True if the indexes were read as a clean close stored them, and not built.
    pub stored: bool,
    /// The time that it took, ordered indexes and the check of long values included.
    pub time: Duration,
}

/// The state of all tables.
pub(crate) struct Rebuilt {
    /// `None` for journals and areas.
    pub tables: Vec<Option<TableState>>,
    pub indexes: IndexStore,
    pub hash: KeyHash,
    pub report: RebuildReport,
}

/// Rebuilds the state of all tables, without their ordered indexes unless the indexes were stored. `rows_max`: the bound
/// on the bytes of rows.
pub(crate) fn rebuild(
    bytes: &[u8],
    catalogue: &Catalogue,
    rows_max: u64,
    workers: usize,
    hash: KeyHash,
    stored: Option<StoredIndexes>,
) -> Result<Rebuilt, TableError> {
    let mut report = RebuildReport::default();
    let (mut tables, mut records) = (Vec::new(), Vec::new());
    let hash_stored = stored.as_ref().map_or(hash, StoredIndexes::hash);
    // The schemas are needed to read the pages of the other tables.
    let mut schemas = read_schemas(bytes, catalogue)?;
    for number in 0..catalogue.definitions.len() as u16 {
        let schema = schemas.remove(&number).map(Arc::new);
        let placed = place_table(bytes, catalogue, number, schema, hash_stored)?;
        if let Some((state, records)) = &placed {
            report.tables += 1;
            report.records += *records as u64;
            report.free += state.free.len() as u64;
        }
        let (state, count) = placed.unzip();
        tables.push(state);
        records.push(count.unwrap_or(0));
    }
    let adopted = stored.and_then(|stored| stored.adopt(&mut tables, &records));
    report.stored = adopted.is_some();
    let (indexes, hash) = match adopted {
        Some(indexes) => (indexes, hash_stored),
        None => {
            let mut indexes = IndexStore::reserve(rows_max)?;
            for ((state, records), definition) in
                (tables.iter_mut().zip(&records)).zip(&catalogue.definitions)
            {
                if let Some(state) = state {
                    state.hash = hash;
                    hash_plain(bytes, definition, state, &mut indexes, *records, workers)?;
                }
            }
            (indexes, hash)
        }
    };
    Ok(Rebuilt {
        tables,
        indexes,
        hash,
        report,
    })
}

/// Rebuilds the state of a table, whose stored schema is given, if there is one, without its ordered indexes. `None` for a
/// journal or area.
#[cfg(feature = "hosts")]
pub(crate) fn rebuild_table(
    bytes: &[u8],
    catalogue: &Catalogue,
    number: u16,
    schema: Option<Arc<Schema>>,
    indexes: &mut IndexStore,
    workers: usize,
    hash: KeyHash,
) -> Result<Option<TableState>, TableError> {
    let Some((mut state, records)) = place_table(bytes, catalogue, number, schema, hash)? else {
        return Ok(None);
    };
    let definition = &catalogue.definitions[usize::from(number)];
    hash_plain(bytes, definition, &mut state, indexes, records, workers)?;
    Ok(Some(state))
}

/// The state of a table without its indexes, and the number of its records; `None` for a journal or area.
fn place_table(
    bytes: &[u8],
    catalogue: &Catalogue,
    number: u16,
    schema: Option<Arc<Schema>>,
    hash: KeyHash,
) -> Result<Option<(TableState, usize)>, TableError> {
    let definition = &catalogue.definitions[usize::from(number)];
    let Some(mut state) = TableState::new(definition, hash)? else {
        return Ok(None);
    };
    state = state.in_life(catalogue.life(number));
    state.extents.extend(catalogue.extents_of(number));
    if let Some(schema) = schema {
        state.take_schema(schema, true);
    }
    let records = find_places(bytes, number, &mut state)
        .map_err(|Damage { at, reason }| damaged(definition, at, reason))?;
    state.note_hashed();
    Ok(Some((state, records)))
}

/// Builds the index of a primary key that is hashed as it is. A key that is made of values is hashed once these are
/// checked.
fn hash_plain(
    bytes: &[u8],
    definition: &Definition,
    state: &mut TableState,
    indexes: &mut IndexStore,
    records: usize,
    workers: usize,
) -> Result<(), TableError> {
    if state.is_hashed && state.hashed_key.is_none() {
        let built = build_index(bytes, state, indexes, records, workers);
        state.index = built.map_err(|error| match error {
            BuildError::SecondRecord(at) => {
                damaged(definition, at, "a second record with the same key")
            }
            BuildError::Store(error) => TableError::Store(error),
        })?;
    }
    Ok(())
}

/// Checks that the long values of all tables' rows and the pages with values fit each other.
#[inline]
pub(crate) fn check_all_values(space: &TableSpace, workers: usize) -> Result<(), TableError> {
    let definitions = space.catalogue.definitions.iter();
    for (number, (definition, state)) in definitions.zip(&space.tables).enumerate() {
        if let Some(state) = state {
            check_values(space.store.bytes(), number as u16, state, workers)
                .map_err(|Damage { at, reason }| damaged(definition, at, reason))?;
        }
    }
    Ok(())
}

fn damaged(definition: &Definition, at: Address, reason: &'static str) -> TableError {
    TableError::DamagedTable {
        table: definition.name.clone(),
        page: at.page().0,
        offset: at.offset_in_page(),
        reason,
    }
}

/// The content of a table's pages, for a way of running transactions that has an index of its own.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The number of its pages, from the first on, that have been used.
    pub pages_used: u64,
    /// The pages with rows, or for rows, that have a free place, in order.
    pub with_room: Vec<PageId>,
    /// The pages with cells of long values that have a free one, with their size class.
    pub cells: Vec<(u8, PageId)>,
    /// The pages for cells that are all free.
    pub empty: Vec<PageId>,
}

/// Reads the pages of a table of rows only (see [`records_of`](sardonyx_rows::records_of)), whose stored `schema` is
/// given, if there is one. Calls `index` with each row's address; it returns true if the key is new.
///
/// # Errors
/// [`TableError::DamagedTable`] if the pages are not sound, or a key is not new; if it is no table.
pub fn read_contents(
    bytes: &[u8],
    catalogue: &Catalogue,
    number: u16,
    schema: Option<&Schema>,
    mut index: impl FnMut(Address) -> Result<bool, TableError>,
) -> Result<Contents, TableError> {
    let definition = &catalogue.definitions[usize::from(number)];
    if kept_numbers(bytes, catalogue)?.contains(&number) {
        return Err(TableError::BeyondRecords {
            table: definition.name.clone(),
            what: "changes that are kept",
        });
    }
    // Its hash is not used.
    let Some(mut state) = TableState::new(definition, KeyHash::from_seed(0))? else {
        return Err(TableError::UnknownHandle { number });
    };
    state = state.in_life(catalogue.life(number));
    state.extents.extend(catalogue.extents_of(number));
    if let Some(schema) = schema {
        state.take_schema(Arc::new(schema.clone()), true);
    }
    find_places(bytes, number, &mut state)
        .and_then(|_| check_values(bytes, number, &state, 1))
        .map_err(|Damage { at, reason }| damaged(definition, at, reason))?;
    for address in state.records(bytes) {
        if !index(address)? {
            let reason = "a second record with the same key";
            return Err(damaged(definition, address, reason));
        }
    }
    let mut with_room: Vec<_> = state.free.iter().rev().map(|place| place.page()).collect();
    with_room.dedup();
    Ok(Contents {
        pages_used: state
            .used_runs()
            .iter()
            .map(|run| run.end - run.start)
            .sum(),
        with_room,
        cells: state.values.all_with_room().collect(),
        empty: state.values.empty_pages().collect(),
    })
}
