//! Keys of rows of their own, as bytes: of rows, of values, of ranges.

use super::{OneRow, RowFormat};
use crate::error::TableError;
use crate::index::Indexed;
use crate::key::{KeyBytes, KeyShape, KeyValues, Span};
use crate::row::{KeyRange, RowError, set_column};
use crate::schema::PRIMARY;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;

impl RowFormat {
    /// The key of a row, as bytes.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are no row.
    #[inline]
    pub fn key_of(&self, bytes: &[u8]) -> Result<Vec<u8>, TableError> {
        self.row(bytes)?;
        self.key_of_checked(&self.newest(bytes)?)
    }

    #[inline]
    pub(super) fn key_of_checked(&self, bytes: &[u8]) -> Result<Vec<u8>, TableError> {
        let mut key = KeyBytes::default();
        self.key.of_row(OneRow::of(bytes), Address(0), &mut key)?;
        Ok(key.to_vec())
    }

    /// Appends the key of a row in pages, in the newest shape.
    ///
    /// # Errors
    /// The errors of reading the row.
    pub fn key_at<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        key: &mut KeyBytes,
    ) -> Result<(), TableError>
    where
        TableError: From<P::Error>,
    {
        self.key.of_row(pages, row, key).map(drop)
    }

    /// Checks that a key that was encoded is not longer than keys may be.
    ///
    /// # Errors
    /// [`TableError::KeyTooLong`].
    #[inline]
    pub fn check_key_length(&self, key: &[u8]) -> Result<(), TableError> {
        let checked = self.key.check_length(key);
        checked.map_err(|bad| bad.into_error(&self.table, PRIMARY, self.key.width(), None))
    }

    /// The key with these values as a row has it in a table whose rows are found by that
    /// ([`Schema::plain_key`](crate::schema::Schema::plain_key)); of any other, as [`RowFormat::key`] has it.
    ///
    /// # Errors
    /// The errors of [`RowFormat::key`].
    pub fn standing_key(&self, values: &(impl KeyValues + ?Sized)) -> Result<Vec<u8>, TableError> {
        let encoded = self.key(values)?;
        let Some(place) = self.schema.plain_key() else {
            return Ok(encoded);
        };
        let mut fixed = vec![0; self.schema.row_bytes];
        let mut parts = self.schema.primary.key.iter();
        let mut stored = Ok(());
        values.each(&mut |value| {
            let Some(part) = parts.next() else {
                return;
            };
            let column = &self.schema.columns[part.column];
            let there = set_column(&mut fixed, &self.table, column, value, |there, _| Ok(there));
            if stored.is_ok() {
                stored = there;
            }
        });
        stored.map(|()| fixed[place].to_vec())
    }

    /// The number of the index of this name; `None`: that of the primary key.
    ///
    /// # Errors
    /// [`TableError::UnknownIndex`].
    #[inline]
    pub fn index(&self, name: &str) -> Result<Option<usize>, TableError> {
        if name == PRIMARY {
            return Ok(None);
        }
        let mut indexes = self.schema.indexes.iter();
        match indexes.position(|index| index.name == name) {
            Some(number) => Ok(Some(number)),
            None => Err(TableError::UnknownIndex {
                table: self.table.to_string(),
                index: name.to_string(),
            }),
        }
    }

    /// A row's entries in each of the schema's other indexes, in their order. No other row has the same entry, and no
    /// other row may have it if the index is unique. An entry begins with the index's key, and entries of other keys
    /// do not.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are no row.
    #[inline]
    pub fn index_keys(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TableError> {
        self.row(bytes)?;
        if self.indexes.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = &*self.newest(bytes)?;
        let indexes = self.indexes.iter().zip(&self.schema.indexes);
        let keys = indexes.map(|(shape, definition)| self.key_in(shape, definition.unique, bytes));
        keys.collect()
    }

    /// The same of one index, by its number.
    ///
    /// # Errors
    /// The errors of [`RowFormat::index_keys`]; [`TableError::UnknownIndex`].
    #[inline]
    pub fn index_key(&self, index: usize, bytes: &[u8]) -> Result<Vec<u8>, TableError> {
        self.row(bytes)?;
        let bytes = &*self.newest(bytes)?;
        match self.indexes.get(index).zip(self.schema.indexes.get(index)) {
            Some((shape, definition)) => self.key_in(shape, definition.unique, bytes),
            None => Err(TableError::UnknownIndex {
                table: self.table.to_string(),
                index: format!("number {index}"),
            }),
        }
    }

    /// The key of a row of the newest shape in an index.
    #[inline]
    fn key_in(&self, shape: &KeyShape, unique: bool, row: &[u8]) -> Result<Vec<u8>, TableError> {
        let mut key = KeyBytes::default();
        let has_null = shape.of_row(OneRow::of(row), Address(0), &mut key)?;
        let mut key = key.to_vec();
        // Rows with a null are never equal.
        if !unique || has_null {
            key.extend(self.key_of_checked(row)?);
        }
        Ok(key)
    }

    /// Checks that indexes in main memory take a row's keys. Other stores have limits of their own.
    ///
    /// # Errors
    /// [`TableError::KeyTooLong`]; [`TableError::DamagedTable`] if the bytes are no row.
    #[inline]
    pub fn check_index_keys(&self, bytes: &[u8]) -> Result<(), TableError> {
        self.row(bytes)?;
        if self.indexes.is_empty() {
            return Ok(());
        }
        let bytes = &*self.newest(bytes)?;
        for (shape, definition) in self.indexes.iter().zip(&self.schema.indexes) {
            let mut key = KeyBytes::default();
            shape.of_row(OneRow::of(bytes), Address(0), &mut key)?;
            let (name, width) = (&definition.name, shape.width());
            shape
                .check_length(&key)
                .map_err(|bad| bad.into_error(&self.table, name, width, None))?;
        }
        Ok(())
    }

    /// The error of a row whose key exists in a unique index already.
    #[cold]
    #[inline]
    pub fn duplicate_value(&self, index: usize, bytes: &[u8]) -> TableError {
        let newest = self.newest(bytes);
        let bytes = newest.as_deref().unwrap_or(bytes);
        let mut key = KeyBytes::default();
        let shape = &self.indexes[index];
        let found = shape.of_row(OneRow::of(bytes), Address(0), &mut key);
        TableError::DuplicateValue {
            table: self.table.to_string(),
            index: self.schema.indexes[index].name.clone(),
            values: shape.values_of(&key).into(),
            key: found.map_or_else(|error| error.to_string(), |_| shape.text_of(&key)),
        }
    }

    /// The key with these values, as bytes.
    ///
    /// # Errors
    /// [`TableError::KeyValue`], [`TableError::KeyColumns`], [`TableError::KeyTooLong`], [`RowError::Count`].
    pub fn key(&self, values: &(impl KeyValues + ?Sized)) -> Result<Vec<u8>, TableError> {
        let key = self.indexed(None).key(values, false)?;
        if !key.is_whole {
            let mut given = 0;
            values.each(&mut |_| given += 1);
            let error = RowError::Count {
                table: self.table.to_string(),
                what: "key columns",
                wanted: self.key.width(),
                given,
            };
            return Err(error.into());
        }
        Ok(key.bytes.to_vec())
    }

    fn shape_and_name(&self, index: Option<usize>) -> (&KeyShape, &str) {
        match index {
            None => (&self.key, PRIMARY),
            Some(number) => (&self.indexes[number], &*self.schema.indexes[number].name),
        }
    }

    /// An index of the schema, or that of the primary key (`None`), with what its keys and errors need.
    ///
    /// # Panics
    /// If there is no such index.
    #[inline]
    pub fn indexed(&self, index: Option<usize>) -> Indexed<'_> {
        let (shape, index) = self.shape_and_name(index);
        Indexed {
            shape,
            index,
            table: &self.table,
            schema: &self.schema,
        }
    }

    /// The keys of an index that begin with these values; if it `goes_on`, the last of them, a text or bytes, may be longer.
    ///
    /// # Errors
    /// As [`RowFormat::key`].
    ///
    /// # Panics
    /// If there is no such index.
    pub fn keys_beginning(
        &self,
        index: Option<usize>,
        values: &(impl KeyValues + ?Sized),
        goes_on: bool,
    ) -> Result<KeyRange, TableError> {
        let key = self.indexed(index).key(values, goes_on)?;
        Ok(Span::of_beginning(&key.bytes).into_range())
    }
}
