//! Finding a row by the values of its primary key's columns.

use crate::index_store::IndexStore;
use crate::table::TableState;
use sardonyx_rows::TableError;
use sardonyx_rows::key::{BadKey, KeyBytes, KeyShape, KeyValues};
use sardonyx_rows::row::RowError;
use sardonyx_rows::row::fixed::{Unfit, encode, variable_bytes};
use sardonyx_rows::schema::{Column, Schema, ValueRef};
use sardonyx_storage::page::Address;

/// The most bytes of a plain key for which nothing is allocated.
const KEY_BYTES: usize = 64;

/// Checks that these are values of the key's columns.
pub(crate) fn check_key(
    schema: &Schema,
    table: &str,
    key: &(impl KeyValues + ?Sized),
) -> Result<(), TableError> {
    each_column(schema, table, key, |column, value| {
        match column.kind.is_variable() {
            true => variable_bytes(column.kind, value).map(drop),
            false if value == ValueRef::Null => Err(Unfit::Type),
            false => encode(column.kind, value, &mut vec![0; column.kind.bytes()]),
        }
    })
}

/// Calls `each` with the columns of the key and their values, up to the first that does not fit.
#[inline]
fn each_column(
    schema: &Schema,
    table: &str,
    key: &(impl KeyValues + ?Sized),
    mut each: impl FnMut(&Column, ValueRef<'_>) -> Result<(), Unfit>,
) -> Result<(), TableError> {
    let parts = &schema.primary.key;
    let (mut given, mut wrong) = (0, None);
    key.each(&mut |value| {
        if let Some(part) = parts.get(given)
            && wrong.is_none()
        {
            let column = &schema.columns[part.column];
            let fits = each(column, value);
            wrong = fits.err().map(|unfit| unfit.of(table, column, value));
        }
        given += 1;
    });
    if given != parts.len() {
        let error = RowError::Count {
            table: table.to_string(),
            what: "key columns",
            wanted: parts.len(),
            given,
        };
        return Err(error.into());
    }
    match wrong {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// A plain key, encoded as in a row. Nothing is allocated for a short one.
#[derive(Debug)]
pub(crate) struct PlainKey {
    short: [u8; KEY_BYTES],
    long: Vec<u8>,
    length: usize,
}

impl PlainKey {
    /// Encodes the values of its columns; `None` if the key is not plain.
    pub fn encode(
        schema: &Schema,
        table: &str,
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<Self>, TableError> {
        let Some(place) = schema.plain_key() else {
            return Ok(None);
        };
        let mut encoded = PlainKey {
            short: [0; KEY_BYTES],
            long: Vec::new(),
            length: place.len(),
        };
        if place.len() > KEY_BYTES {
            encoded.long.resize(place.len(), 0);
        }
        each_column(schema, table, key, |column, value| {
            let place = column.offset - place.start..;
            let place = &mut encoded.bytes_mut()[place][..column.kind.bytes()];
            encode(column.kind, value, place)
        })?;
        Ok(Some(encoded))
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        match self.length > KEY_BYTES {
            true => &mut self.long,
            false => &mut self.short[..self.length],
        }
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self.length > KEY_BYTES {
            true => &self.long,
            false => &self.short[..self.length],
        }
    }
}

/// The hashed bytes of a key of these values, of a primary key whose bytes are made of its columns.
pub(crate) fn columns_key(
    shape: &KeyShape,
    schema: &Schema,
    table: &str,
    key: &(impl KeyValues + ?Sized),
) -> Result<KeyBytes, TableError> {
    if let Some(encoded) = shape.of_bytes(key) {
        return Ok(encoded);
    }
    check_key(schema, table, key)?;
    let encoded = shape.of_values(key);
    let bad =
        |bad: BadKey| bad.into_error(table, &schema.primary.name, shape.width(), Some(schema));
    Ok(encoded.map_err(bad)?.bytes)
}

/// The row whose primary key is these bytes, of a hash that is known ([`TableSpace::hash_of`](crate::TableSpace::hash_of)).
pub(crate) fn find_hashed(
    indexes: &IndexStore,
    bytes: &[u8],
    state: &TableState,
    hash: u64,
    key: &[u8],
) -> Result<Option<Address>, TableError> {
    let Some(shape) = &state.hashed_key else {
        return find_row(indexes, bytes, state, &state.name, key);
    };
    let is_it = |at| {
        let by_encoding = || {
            let encoded = columns_key(shape, &state.schema, &state.name, key);
            encoded.is_ok_and(|encoded| shape.shares(bytes, at, &encoded).unwrap_or(false))
        };
        shape.is_bytes(bytes, at, key).unwrap_or_else(by_encoding)
    };
    Ok(state.index.find(indexes, hash, is_it))
}

/// The row whose key columns have these values.
pub(crate) fn find_row(
    indexes: &IndexStore,
    bytes: &[u8],
    state: &TableState,
    table: &str,
    key: &(impl KeyValues + ?Sized),
) -> Result<Option<Address>, TableError> {
    if let Some(shape) = &state.hashed_key {
        let encoded = columns_key(shape, &state.schema, table, key)?;
        let hash = state.hash.of(&encoded);
        return Ok(state.find_by_columns(shape, indexes, bytes, hash, (&encoded, key.as_bytes())));
    }
    let Some(plain) = PlainKey::encode(&state.schema, table, key)? else {
        check_key(&state.schema, table, key)?;
        return state.find_ordered(indexes, bytes, key);
    };
    let plain = plain.bytes();
    Ok(state.find(indexes, bytes, state.hash.of(plain), plain))
}
