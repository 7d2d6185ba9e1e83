//! Finding a row by the values of its primary key's columns.

use super::RowError;
use super::fixed::{Unfit, encode, variable_bytes};
use crate::error::TableError;
use crate::index_store::IndexStore;
use crate::schema::{Schema, Type, ValueRef};
use crate::table::TableState;
use sardonyx_storage::page::Address;

/// The most bytes of a plain key for which nothing is allocated.
const KEY_BYTES: usize = 64;

/// Checks that these are values of the key's columns.
pub(crate) fn check_key(
    schema: &Schema,
    table: &str,
    key: &[ValueRef<'_>],
) -> Result<(), TableError> {
    check_count(schema, table, key)?;
    for (part, &value) in schema.primary.key.iter().zip(key) {
        let column = &schema.columns[part.column];
        let fits = match column.kind.is_variable() {
            true => variable_bytes(column.kind, value).map(drop),
            false if value == ValueRef::Null => Err(Unfit::Type),
            false => encode(column.kind, value, &mut vec![0; column.kind.bytes()]),
        };
        fits.map_err(|unfit| unfit.of(table, column, value))?;
    }
    Ok(())
}

fn check_count(schema: &Schema, table: &str, key: &[ValueRef<'_>]) -> Result<(), TableError> {
    let (wanted, given) = (schema.primary.key.len(), key.len());
    if wanted != given {
        let error = RowError::Count {
            table: table.to_string(),
            what: "key columns",
            wanted,
            given,
        };
        return Err(error.into());
    }
    Ok(())
}

/// The row whose key columns have these values.
pub(crate) fn find_row(
    indexes: &IndexStore,
    bytes: &[u8],
    state: &TableState,
    table: &str,
    key: &[ValueRef<'_>],
) -> Result<Option<Address>, TableError> {
    let schema = &*state.schema;
    let Some(place) = schema.plain_key() else {
        check_key(schema, table, key)?;
        return state.find_ordered(indexes, bytes, key);
    };
    check_count(schema, table, key)?;
    let (mut short, mut long) = ([0; KEY_BYTES], Vec::new());
    let encoded = match short.get_mut(..place.len()) {
        Some(short) => short,
        None => {
            long.resize(place.len(), 0);
            &mut long[..]
        }
    };
    for (part, &value) in schema.primary.key.iter().zip(key) {
        let column = &schema.columns[part.column];
        let place = &mut encoded[column.offset - place.start..][..column.kind.bytes()];
        encode(column.kind, value, place).map_err(|unfit| unfit.of(table, column, value))?;
    }
    Ok(state.find(indexes, bytes, state.hash.of(encoded), encoded))
}

/// Whether a value in a row is the one given, which may say it in another way.
pub(crate) fn same(kind: Type, there: ValueRef<'_>, given: ValueRef<'_>) -> bool {
    if kind.is_variable() {
        return variable_bytes(kind, there).ok() == variable_bytes(kind, given).ok();
    }
    let encoded = |value| {
        let mut bytes = vec![0; kind.bytes()];
        encode(kind, value, &mut bytes).ok().map(|()| bytes)
    };
    there == given || encoded(there) == encoded(given)
}
