//! Inserting rows by their columns inside a transaction: of all columns, or unless a row has the primary key.
//!
//! Values are checked before anything changes. An ordered primary key is searched once: the place that it is found to have
//! is where its entry goes.

use super::generated::with_values;
use super::rows::SHORT_ROW_BYTES_MAX;
use super::{OVERHEAD_BYTES, Transaction};
use crate::rows::{columns_key, find_row};
use crate::secondary::VacantKey;
use sardonyx_rows::TableError;
use sardonyx_rows::constraints::computed_defaults;
use sardonyx_rows::key::KeyValues;
use sardonyx_rows::row::{RowWriter, shown};
use sardonyx_rows::schema::{Schema, ValueRef};
use sardonyx_rows::values::{INLINE_BYTES_MAX, REFERENCE_BYTES, Reference};
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::Address;

impl Transaction<'_> {
    /// Inserts a row: of columns that are not set, their defaults.
    #[inline]
    pub(crate) fn insert_row_of(
        &mut self,
        number: u16,
        row: RowWriter<'_>,
    ) -> Result<Address, TableError> {
        self.insert_new(number, row, None)
    }

    /// The same of a row whose primary key, of this hash, no row has, if a hash is given.
    #[inline]
    pub(crate) fn insert_new(
        &mut self,
        number: u16,
        row: RowWriter<'_>,
        hash: Option<u64>,
    ) -> Result<Address, TableError> {
        let (schema, name) = self.row_table(number)?;
        if schema.declared.is_empty() {
            return self.insert_described(number, &schema, &name, row, hash);
        }
        self.whole(|tx| {
            let is_unsaid = |column| row.get(column).is_none();
            let computed = computed_defaults(tx, number, &schema, &name, is_unsaid)?;
            let mut row = row;
            for (column, value) in &computed {
                row.set(*column, value.as_ref());
            }
            tx.insert_described(number, &schema, &name, row, None)
        })
    }

    /// The same of a table of this schema and name, with the defaults that are computed.
    #[inline]
    fn insert_described<'v>(
        &mut self,
        number: u16,
        schema: &'v Schema,
        name: &str,
        mut row: RowWriter<'v>,
        known: Option<u64>,
    ) -> Result<Address, TableError> {
        let mut encoded = [0; SHORT_ROW_BYTES_MAX];
        let encoded = encoded.get_mut(..schema.row_bytes);
        if let Some(fixed) = encoded
            && row.encode_common(schema, fixed)
        {
            let hash = self.hash_to_insert(number, schema, name, &row, known)?;
            let names = (number, schema, name);
            return self.insert_into(names, &row, (fixed, true), hash, None);
        }
        row.complete(schema, name)?;
        let generated = self.generated_of_new(number, &row)?;
        let row = with_values(row, &generated);
        row.check(schema, name)?;
        let hash = self.hash_to_insert(number, schema, name, &row, known)?;
        self.insert_checked((number, schema, name), &row, hash, None)
    }

    /// The hash of a new row's primary key: the known one, or that of [`Transaction::hash_of_new`].
    #[inline]
    fn hash_to_insert(
        &self,
        number: u16,
        schema: &Schema,
        name: &str,
        row: &RowWriter<'_>,
        known: Option<u64>,
    ) -> Result<Option<u64>, TableError> {
        match known {
            Some(hash) if self.row_state(number)?.hashed_key.is_some() => {
                debug_assert_eq!(
                    self.hash_of_new(number, schema, name, row).ok().flatten(),
                    Some(hash),
                    "no row has the key, whose hash this is"
                );
                Ok(Some(hash))
            }
            _ => self.hash_of_new(number, schema, name, row),
        }
    }

    /// Inserts a row unless a row has its primary key. Returns the address of the one that has it now, and whether that is
    /// the new one.
    #[inline]
    pub(crate) fn insert_or_find(
        &mut self,
        number: u16,
        row: RowWriter<'_>,
    ) -> Result<(Address, bool), TableError> {
        let (schema, name) = self.row_table(number)?;
        let state = self.row_state(number)?;
        let first = state.secondary.first().map(|index| &*index.what);
        let is_primary = first.is_some_and(|first| first.definition == schema.primary);
        if !schema.declared.is_empty() || state.is_hashed || !is_primary {
            return self.whole(|tx| tx.find_or_insert(number, (&schema, &name), row));
        }
        let mut row = row;
        let mut encoded = [0; SHORT_ROW_BYTES_MAX];
        let encoded = match encoded.get_mut(..schema.row_bytes) {
            Some(fixed) => row.encode_common(&schema, fixed).then_some(fixed),
            None => None,
        };
        if encoded.is_none() {
            row.complete(&schema, &name)?;
            row.check(&schema, &name)?;
        }
        let shape = first.map(|first| &first.shape);
        let (schema, row) = (&*schema, &row);
        let key =
            shape.and_then(|shape| shape.of_columns(|column| row.get(column).unwrap_or_default()));
        let state = self.row_state(number)?;
        let bytes = self.space.store.bytes();
        let vacant = match (key, state.secondary.first()) {
            (Some(key), Some(index)) => match index.vacant(&self.space.indexes, bytes, key) {
                Ok(vacant) => Some(vacant),
                Err(there) => return Ok((there, false)),
            },
            // To insert it says why there is no such key.
            _ => None,
        };
        let (names, vacant) = ((number, schema, &*name), vacant.as_ref());
        let inserted = match encoded {
            Some(fixed) => self.insert_into(names, row, (fixed, true), Some(0), vacant),
            None => self.insert_checked(names, row, Some(0), vacant),
        };
        inserted.map(|address| (address, true))
    }

    /// The same of a table whose rows get more values, or whose keys are found by a hash.
    #[inline(never)]
    fn find_or_insert(
        &mut self,
        number: u16,
        (schema, name): (&Schema, &str),
        row: RowWriter<'_>,
    ) -> Result<(Address, bool), TableError> {
        let is_unsaid = |column| row.get(column).is_none();
        let computed = match schema.declared.is_empty() {
            true => Vec::new(),
            false => computed_defaults(self, number, schema, name, is_unsaid)?,
        };
        let mut row = row;
        for (column, value) in &computed {
            row.set(*column, value.as_ref());
        }
        // The key is found as it is stored: with its defaults, and as its column's type has it.
        row.complete(schema, name)?;
        let generated = self.generated_of_new(number, &row)?;
        let row = with_values(row, &generated);
        row.check(schema, name)?;
        let parts = schema.primary.key.iter();
        let key: Vec<ValueRef<'_>> = parts
            .map(|part| row.get(part.column).unwrap_or_default())
            .collect();
        if let Some(there) = self.row_with_key(number, &key)? {
            return Ok((there, false));
        }
        let hash = self.hash_of_new(number, schema, name, &row)?;
        let address = self.insert_checked((number, schema, name), &row, hash, None)?;
        Ok((address, true))
    }

    /// Inserts a row whose values were checked. `hash` is that of its primary key, unless its bytes in the row are hashed;
    /// `vacant` is the place of its key in the first ordered index, if it was found.
    #[inline]
    fn insert_checked(
        &mut self,
        (number, schema, name): (u16, &Schema, &str),
        row: &RowWriter<'_>,
        hash: Option<u64>,
        vacant: Option<&VacantKey>,
    ) -> Result<Address, TableError> {
        let (mut short, mut long);
        // To insert most rows takes no memory for a copy.
        let fixed: &mut [u8] = match schema.row_bytes <= SHORT_ROW_BYTES_MAX {
            true => {
                short = [0; SHORT_ROW_BYTES_MAX];
                &mut short[..schema.row_bytes]
            }
            false => {
                long = vec![0; schema.row_bytes];
                &mut long
            }
        };
        self.insert_into((number, schema, name), row, (fixed, false), hash, vacant)
    }

    /// The same, given the row's fixed part: zeroes, or the [encoded](RowWriter::encode_common) row.
    #[inline(never)]
    fn insert_into(
        &mut self,
        (number, schema, name): (u16, &Schema, &str),
        row: &RowWriter<'_>,
        (fixed, is_encoded): (&mut [u8], bool),
        hash: Option<u64>,
        vacant: Option<&VacantKey>,
    ) -> Result<Address, TableError> {
        self.check_room(encoded_bytes(fixed.len()) + OVERHEAD_BYTES)?;
        let savepoint = self.savepoint();
        let filled = match is_encoded {
            true => self.put_long_values(number, schema, row, fixed),
            false => self.fill(number, schema, name, row, fixed),
        };
        let inserted = filled
            .and_then(|()| {
                let state = self.state(number);
                let of_fixed = || state.hash.of(&fixed[state.key_offset..][..state.key_bytes]);
                let hash = hash.unwrap_or_else(of_fixed);
                self.check_room(encoded_bytes(fixed.len()) + OVERHEAD_BYTES)?;
                self.insert_bytes(number, fixed, hash, vacant)
            })
            .map_err(|error| match error {
                // An ordered primary key is an index, too.
                TableError::DuplicateValue { index, .. } if index == schema.primary.name => {
                    duplicate(name, &NewKey { schema, row })
                }
                error => error,
            });
        inserted.inspect_err(|_| self.roll_back_to(savepoint))
    }

    /// Stores the values of an encoded row that are not in its fixed part.
    #[inline]
    fn put_long_values(
        &mut self,
        number: u16,
        schema: &Schema,
        row: &RowWriter<'_>,
        fixed: &mut [u8],
    ) -> Result<(), TableError> {
        for (column, value) in row.set_columns() {
            let bytes = match value {
                ValueRef::Bytes(bytes) => bytes,
                ValueRef::Text(text) => text.as_bytes(),
                _ => continue,
            };
            if bytes.len() > INLINE_BYTES_MAX {
                let reference = self.replace_value(number, Reference::default(), bytes)?;
                fixed[schema.columns[column].offset..][..REFERENCE_BYTES]
                    .copy_from_slice(&reference.0);
            }
        }
        Ok(())
    }

    /// The hash of the primary key of a new row, of which all columns are set; `None` if its bytes in the row are hashed.
    ///
    /// # Errors
    /// [`TableError::DuplicateKey`] if its hash finds a row. An ordered index finds one when it takes the row's entry.
    #[inline]
    fn hash_of_new(
        &self,
        number: u16,
        schema: &Schema,
        name: &str,
        row: &RowWriter<'_>,
    ) -> Result<Option<u64>, TableError> {
        let state = self.row_state(number)?;
        if !state.is_hashed {
            return Ok(Some(0));
        }
        let key = NewKey { schema, row };
        let (indexes, bytes) = (&self.space.indexes, self.space.store.bytes());
        let (hash, there) = match &state.hashed_key {
            Some(shape) => {
                let encoded = columns_key(shape, schema, name, &key)?;
                let hash = state.hash.of(&encoded);
                let there =
                    state.find_by_columns(shape, indexes, bytes, hash, (&encoded, key.as_bytes()));
                (Some(hash), there)
            }
            None => (None, find_row(indexes, bytes, state, name, &key)?),
        };
        match there {
            Some(_) => Err(duplicate(name, &key)),
            None => Ok(hash),
        }
    }
}

/// The values of a new row's primary key, in its order, without a copy of them.
struct NewKey<'k, 'v> {
    schema: &'k Schema,
    row: &'k RowWriter<'v>,
}

impl KeyValues for NewKey<'_, '_> {
    #[inline]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        let parts = self.schema.primary.key.iter();
        parts.for_each(|part| each(self.row.get(part.column).unwrap_or_default()));
    }

    #[inline]
    fn as_bytes(&self) -> Option<&[u8]> {
        match &*self.schema.primary.key {
            [part] => match self.row.get(part.column) {
                Some(ValueRef::Bytes(bytes)) => Some(bytes),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cold]
fn duplicate(table: &str, key: &NewKey<'_, '_>) -> TableError {
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    key.each(&mut |value| {
        parts.push(shown(value));
        values.push(value.to_value());
    });
    TableError::DuplicateKey {
        table: table.to_string(),
        key: parts.join(", "),
        values: values.into(),
    }
}
