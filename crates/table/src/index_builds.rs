//! The indexes of a whole table, built of its rows: when the database is opened, when an index is created, and when a table
//! is taken over from another process.

use crate::build::{BuildError, build_index};
use crate::index::HashIndex;
use crate::index_store::IndexStore;
use crate::ordered_build::{Unfit, build_secondary};
use crate::secondary::wanted;
use crate::table::TableState;
use crate::tables::Tables;
use sardonyx_rows::TableError;
use sardonyx_storage::catalogue::{Definition, Definitions};
use sardonyx_storage::page::Address;

/// Builds the ordered indexes of all tables, whose schemas are known.
pub(crate) fn build_ordered(
    rows: &[u8],
    definitions: &Definitions,
    tables: &mut Tables,
    indexes: &mut IndexStore,
    workers: usize,
) -> Result<(), TableError> {
    for (number, definition) in definitions.iter().enumerate() {
        if let Some(state) = tables.state_mut(number as u16) {
            build_ordered_of(rows, definition, state, indexes, workers)?;
        }
    }
    Ok(())
}

/// The index of a primary key that is hashed. The rows' values were checked.
pub(crate) fn build_hashed(
    rows: &[u8],
    definition: &Definition,
    state: &TableState,
    indexes: &mut IndexStore,
    workers: usize,
) -> Result<HashIndex, TableError> {
    let records = state.records(rows).count();
    build_index(rows, state, indexes, records, workers).map_err(|error| match error {
        BuildError::SecondRecord(at) => TableError::DamagedTable {
            table: definition.name.clone(),
            page: at.page().0,
            offset: at.offset_in_page(),
            reason: "a second row with the same key",
        },
        BuildError::Store(error) => TableError::Store(error),
    })
}

/// Builds the indexes of a table that has none yet, whose schema is known, but for one of plain keys.
pub(crate) fn build_ordered_of(
    rows: &[u8],
    definition: &Definition,
    state: &mut TableState,
    indexes: &mut IndexStore,
    workers: usize,
) -> Result<(), TableError> {
    if state.hashed_key.is_some() {
        state.index = build_hashed(rows, definition, state, indexes, workers)?;
    }
    for what in wanted(&state.schema, state.is_hashed) {
        let built = build_secondary(indexes, rows, state, what, workers);
        let damaged = |at: Address, reason| TableError::DamagedTable {
            table: definition.name.clone(),
            page: at.page().0,
            offset: at.offset_in_page(),
            reason,
        };
        let index = built.map_err(|unfit| match unfit {
            Unfit::Duplicate(row) => {
                damaged(row, "a second row with the same key in a unique index")
            }
            Unfit::Key(_) => damaged(Address(0), "a row with a key that is too long"),
            Unfit::Table(error) => error,
        })?;
        state.secondary.push(index);
    }
    Ok(())
}
