//! Inserting rows by their columns inside a transaction: of all columns, or unless a row has the primary key.
//!
//! Values are checked before anything changes. An ordered primary key is searched once: the place that it is found to have
//! is where its entry goes.

use super::generated::with_values;
use super::rows::SHORT_ROW_BYTES_MAX;
use super::{OVERHEAD_BYTES, Transaction};
use crate::rows::{columns_key, find_row};
use crate::secondary::VacantKey;
use crate::table::TableState;
use sardonyx_rows::TableError;
use sardonyx_rows::constraints::computed_defaults;
use sardonyx_rows::key::KeyValues;
use sardonyx_rows::row::{LongValues, RowValues, RowWriter, shown};
use sardonyx_rows::schema::{Schema, ValueRef};
use sardonyx_rows::values::{REFERENCE_BYTES, Reference};
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::Address;
use std::sync::Arc;

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

    /// The same of a row whose columns have these values. If a hash is given, it is that of the primary key, which no row
    /// has.
    #[inline]
    pub(crate) fn insert_columns_of(
        &mut self,
        number: u16,
        values: RowValues<'_, '_>,
        hash: Option<u64>,
    ) -> Result<Address, TableError> {
        match self.insert_common(number, values, hash)? {
            Some(address) => Ok(address),
            None => self.insert_otherwise(number, RowWriter::of_values(values), hash),
        }
    }

    /// Inserts a row whose columns stand in its fixed part as they are stored, but for these texts and bytes. The primary key is
    /// of this hash, and no row has it. [`None`] if the schema is not the table's, or its rows are stored in another way;
    /// nothing has changed then.
    #[doc(hidden)]
    #[inline]
    pub fn insert_fixed(
        &mut self,
        (number, schema): (u16, &Arc<Schema>),
        hash: u64,
        (fixed, long): (&mut [u8], &LongValues<'_>),
    ) -> Option<Result<(), TableError>> {
        let state = self.placed(number, schema)?;
        let is_stored_so = state.hashed_key.is_some()
            && schema.declared.is_empty()
            && fixed.len() == schema.row_bytes;
        if !is_stored_so {
            return None;
        }
        // They name the key of a second row, which there is none of.
        let values = RowValues::new(&[]);
        let inserted = self.insert_into(number, values, (fixed, Some(long)), Some(hash), None);
        Some(inserted.map(|at| {
            debug_assert!(
                self.has_its_key_alone(number, hash, at),
                "no row has the key, whose hash this is"
            );
        }))
    }

    /// True if the primary key of a row is of this hash, and no other row has it.
    fn has_its_key_alone(&self, number: u16, hash: u64, at: Address) -> bool {
        let (state, pages) = (self.state(number), self.space.store.bytes());
        let key = state.key();
        let is_other = |other: Address| other != at && key.is_same(pages, at, other);
        let other = state.index.find(&self.space.indexes, hash, is_other);
        other.is_none() && key.hash(pages, at) == hash
    }

    /// The same of a row whose primary key, of this hash, no row has, if a hash is given.
    #[inline]
    pub(crate) fn insert_new(
        &mut self,
        number: u16,
        row: RowWriter<'_>,
        hash: Option<u64>,
    ) -> Result<Address, TableError> {
        match self.insert_common(number, row.values(), hash)? {
            Some(address) => Ok(address),
            None => self.insert_otherwise(number, row, hash),
        }
    }

    /// Inserts a row of [common values](RowValues::encode_common), which is encoded in one pass. `None` if it is of others;
    /// nothing has changed then.
    #[inline]
    fn insert_common(
        &mut self,
        number: u16,
        values: RowValues<'_, '_>,
        known: Option<u64>,
    ) -> Result<Option<Address>, TableError> {
        let state = self.row_state(number)?;
        let mut encoded = [0; SHORT_ROW_BYTES_MAX];
        let Some(fixed) = encoded.get_mut(..state.schema.row_bytes) else {
            return Ok(None);
        };
        let Some(long) = values.encode_common(&state.schema, fixed) else {
            return Ok(None);
        };
        let hash = self.hash_to_insert(number, values, known)?;
        let inserted = self.insert_into(number, values, (fixed, Some(&long)), hash, None);
        inserted.map(Some)
    }

    /// Inserts a row of any values.
    #[inline(never)]
    fn insert_otherwise(
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
        row.complete(schema, name)?;
        let generated = self.generated_of_new(number, &row)?;
        let row = with_values(row, &generated);
        row.check(schema, name)?;
        let hash = self.hash_to_insert(number, row.values(), known)?;
        self.insert_checked(number, schema, &row, hash, None)
    }

    /// The hash of a new row's primary key: the known one, or that of [`Transaction::hash_of_new`].
    #[inline]
    fn hash_to_insert(
        &self,
        number: u16,
        values: RowValues<'_, '_>,
        known: Option<u64>,
    ) -> Result<Option<u64>, TableError> {
        match known {
            Some(hash) if self.row_state(number)?.hashed_key.is_some() => {
                debug_assert_eq!(
                    self.hash_of_new(number, values).ok().flatten(),
                    Some(hash),
                    "no row has the key, whose hash this is"
                );
                Ok(Some(hash))
            }
            _ => self.hash_of_new(number, values),
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
        if let Some(found) = self.insert_or_find_common(number, row.values())? {
            return Ok(found);
        }
        let (schema, name) = self.row_table(number)?;
        self.whole(|tx| tx.find_or_insert(number, (&schema, &name), row))
    }

    /// The same of a row whose columns have these values.
    #[inline]
    pub(crate) fn insert_or_find_columns_of(
        &mut self,
        number: u16,
        values: RowValues<'_, '_>,
    ) -> Result<(Address, bool), TableError> {
        match self.insert_or_find_common(number, values)? {
            Some(found) => Ok(found),
            None => self.insert_or_find(number, RowWriter::of_values(values)),
        }
    }

    /// The same of a row of common values and an ordered primary key. `None` of another; nothing has changed then.
    #[inline]
    fn insert_or_find_common(
        &mut self,
        number: u16,
        values: RowValues<'_, '_>,
    ) -> Result<Option<(Address, bool)>, TableError> {
        let state = self.row_state(number)?;
        let schema = &state.schema;
        let index = match state.secondary.first() {
            Some(index) if !state.is_hashed && index.what.definition == schema.primary => index,
            _ => return Ok(None),
        };
        let mut encoded = [0; SHORT_ROW_BYTES_MAX];
        let Some(fixed) = encoded.get_mut(..schema.row_bytes) else {
            return Ok(None);
        };
        let Some(long) = values.encode_common(schema, fixed) else {
            return Ok(None);
        };
        let shape = &index.what.shape;
        // Without a key, to insert the row says why there is none.
        let key = shape.of_columns(|column| values.get(column).unwrap_or_default());
        let bytes = self.space.store.bytes();
        let vacant = match key.map(|key| index.vacant(&self.space.indexes, bytes, key)) {
            Some(Err(there)) => return Ok(Some((there, false))),
            Some(Ok(vacant)) => Some(vacant),
            None => None,
        };
        let parts = (fixed, Some(&long));
        let inserted = self.insert_into(number, values, parts, Some(0), vacant.as_ref());
        inserted.map(|address| Some((address, true)))
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
        let hash = self.hash_of_new(number, row.values())?;
        let address = self.insert_checked(number, schema, &row, hash, None)?;
        Ok((address, true))
    }

    /// Inserts a row whose values were checked. `hash` is that of its primary key, unless its bytes in the row are hashed;
    /// `vacant` is the place of its key in the first ordered index, if it was found.
    #[inline]
    fn insert_checked(
        &mut self,
        number: u16,
        schema: &Schema,
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
        self.insert_into(number, row.values(), (fixed, None), hash, vacant)
    }

    /// The same, given the row's fixed part: zeroes, or the [encoded](RowValues::encode_common) row with the values that are
    /// not in it.
    #[inline(never)]
    fn insert_into(
        &mut self,
        number: u16,
        values: RowValues<'_, '_>,
        (fixed, long): (&mut [u8], Option<&LongValues<'_>>),
        hash: Option<u64>,
        vacant: Option<&VacantKey>,
    ) -> Result<Address, TableError> {
        self.check_room(encoded_bytes(fixed.len()) + OVERHEAD_BYTES)?;
        let point = self.undo_point();
        let filled = match long {
            Some(long) => self.put_long_values(number, long, fixed),
            None => self.fill_checked(number, values, fixed),
        };
        let inserted = filled.and_then(|()| {
            let state = self.state(number);
            let of_fixed = || state.hash.of(&fixed[state.key_offset..][..state.key_bytes]);
            let hash = hash.unwrap_or_else(of_fixed);
            self.check_room(encoded_bytes(fixed.len()) + OVERHEAD_BYTES)?;
            self.insert_bytes(number, fixed, hash, vacant)
        });
        inserted.map_err(|error| {
            self.undo_to(point);
            let state = self.state(number);
            match error {
                // An ordered primary key is an index, too.
                TableError::DuplicateValue { index, .. } if index == state.schema.primary.name => {
                    duplicate(state, values)
                }
                error => error,
            }
        })
    }

    /// Stores the values of a row, which were checked, in its fixed part and outside of it.
    #[inline(never)]
    fn fill_checked(
        &mut self,
        number: u16,
        values: RowValues<'_, '_>,
        fixed: &mut [u8],
    ) -> Result<(), TableError> {
        let (schema, name) = self.row_table(number)?;
        self.fill(number, &schema, &name, values, fixed)
    }

    /// Stores the values of an encoded row that are not in its fixed part.
    #[inline]
    fn put_long_values(
        &mut self,
        number: u16,
        long: &LongValues<'_>,
        fixed: &mut [u8],
    ) -> Result<(), TableError> {
        for (offset, bytes) in long.iter() {
            let reference = self.replace_value(number, Reference::default(), bytes)?;
            fixed[offset..][..REFERENCE_BYTES].copy_from_slice(&reference.0);
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
        values: RowValues<'_, '_>,
    ) -> Result<Option<u64>, TableError> {
        let state = self.row_state(number)?;
        if !state.is_hashed {
            return Ok(Some(0));
        }
        let (schema, name) = (&*state.schema, &*state.name);
        let key = NewKey { schema, values };
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
            Some(_) => Err(duplicate(state, values)),
            None => Ok(hash),
        }
    }
}

/// The values of a new row's primary key, in its order, without a copy of them.
struct NewKey<'k, 'v> {
    schema: &'k Schema,
    values: RowValues<'k, 'v>,
}

impl KeyValues for NewKey<'_, '_> {
    #[inline]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        let parts = self.schema.primary.key.iter();
        parts.for_each(|part| each(self.values.get(part.column).unwrap_or_default()));
    }

    #[inline]
    fn as_bytes(&self) -> Option<&[u8]> {
        match &*self.schema.primary.key {
            [part] => match self.values.get(part.column) {
                Some(ValueRef::Bytes(bytes)) => Some(bytes),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cold]
fn duplicate(state: &TableState, values: RowValues<'_, '_>) -> TableError {
    let schema = &*state.schema;
    let key = NewKey { schema, values };
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    key.each(&mut |value| {
        parts.push(shown(value));
        values.push(value.to_value());
    });
    TableError::DuplicateKey {
        table: state.name.to_string(),
        key: parts.join(", "),
        values: values.into(),
    }
}
