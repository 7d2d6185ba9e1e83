//! Records of a program's types in an open transaction: the store's side of their verbs.

use super::changed::{Key, Own};
use super::{Known, OpenEntries, OpenRows, OpenScan};
use sardonyx_base::error::Error;
use sardonyx_rows::fields::values_of;
use sardonyx_rows::key::KeyBytes;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::{
    Index, PlainLayout, RecordMut, RecordRows, RowWriter, Rows, TableError, WriteRows, constraints,
    records,
};
use sardonyx_storage::page::Address;
use std::sync::Arc;

impl OpenRows {
    /// The rows of the table with this name, to read and change by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`], [`Error::Closed`] and [`Error::Forked`] if it was
    /// ended by a bound, a close or a fork ([`TransactionEnded`](sardonyx_rows::TransactionEnded)), as for all its verbs.
    #[inline]
    pub fn rows(&mut self, table: &str) -> Result<Rows<&mut OpenRows>, Error> {
        self.check()?;
        Rows::named(self, table)
    }

    /// The handle of a record type's table, if it was declared when the transaction began.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was declared with another layout.
    pub fn table<R: Record>(&self) -> Result<Option<Table<R>>, Error> {
        Ok(self.snapshot.table()?)
    }

    /// The record with this key.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's, or its table had other columns; [`Error::Limit`] if the
    /// transaction keeps too much, or its snapshot was ended; [`Error::Damaged`] if a value is not of its field's
    /// type.
    pub fn get<R: Record>(&self, table: Table<R>, key: R::Key<'_>) -> Result<Option<R>, Error> {
        let known = self.known_of(table)?;
        let bytes = known.record_key::<R>(&key)?;
        Ok(match self.own(table.number(), &bytes) {
            Some(own) => known.own_record(own)?,
            None => match self.place_of_frozen(table, &key, &bytes)? {
                Some(at) => Some(self.frozen_record(table, known, at)?),
                None => None,
            },
        })
    }

    /// All records of a table, in no particular order.
    ///
    /// # Errors
    /// As [`OpenRows::get`]; of each record, those of reading it.
    pub fn scan<R: Record>(&self, table: Table<R>) -> Result<OpenScan<'_, R>, Error> {
        let columns = self.known_of(table)?.columns::<R>()?;
        Ok(OpenScan::in_form(self, table.number(), columns)?)
    }

    /// The number of records in a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's.
    pub fn count<R: Record>(&self, table: Table<R>) -> Result<u64, Error> {
        use sardonyx_rows::ReadRows;
        self.known_of(table)?;
        self.count_rows(table.number())
    }

    /// An ordered index of a table: one of its schema's, or that of its primary key if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(
        &self,
        table: Table<R>,
        name: &str,
    ) -> Result<Index<OpenEntries<'_>, R>, Error> {
        self.known_of(table)?;
        Ok(Index::new(self.entries_named(table.number(), name)?)?)
    }

    /// Inserts a record.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if there is one with this key, or with one of a unique index; [`Error::Refused`] if a condition
    /// is not met, the handle is another database's, or its table had other columns; [`Error::Limit`] if the transaction
    /// keeps too much, or its snapshot was ended.
    pub fn insert<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), Error> {
        Ok(self.insert_record(table, record)?)
    }

    /// Puts a record into a table: in the place of the one with its key, if there is one. Then columns that are no fields
    /// get their defaults, or stay as they are beside a plain record. Returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`OpenRows::insert`], but for a duplicate of its key.
    pub fn put<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<bool, Error> {
        records::put(self, table, record)
    }

    /// Changes a record in a copy of its own; columns that are no fields keep their values. Returns the result of
    /// `change`, or `None` if there is no such record.
    ///
    /// # Errors
    /// [`Error::Refused`] also if the key was changed; otherwise the errors of [`OpenRows::insert`]. The record is
    /// then as before. So it is if `change` panics.
    pub fn update<R: Record, T>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, Error> {
        let change = |record: &mut R| Ok::<_, Error>(change(record));
        self.try_update(table, key, change)
    }

    /// As [`OpenRows::update`], with a change that may fail.
    ///
    /// # Errors
    /// The error of `change`, and the errors of [`OpenRows::update`]. The record is then as before.
    pub fn try_update<R: Record, T, E: From<Error>>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
        change: impl FnOnce(&mut R) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        records::try_update(self, table, &key, change)
    }

    /// A copy of a record, to change and [save](RecordMut::save); `None` if there is no such record.
    ///
    /// # Errors
    /// The errors of [`OpenRows::get`].
    pub fn get_mut<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<RecordMut<'_, OpenRows, R>>, Error> {
        records::take_out(self, table, &key)
    }

    /// Deletes a record. Returns false if there is no such record.
    ///
    /// # Errors
    /// [`Error::Refused`] if rows refer to it, otherwise those of [`OpenRows::get`].
    pub fn delete<R: Record>(&mut self, table: Table<R>, key: R::Key<'_>) -> Result<bool, Error> {
        records::delete(self, table, &key)
    }

    /// Deletes a record and returns it.
    ///
    /// # Errors
    /// The errors of [`OpenRows::delete`].
    pub fn remove<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R>, Error> {
        records::remove(self, table, &key)
    }

    /// Deletes the records of a table for which `keep` returns false. Returns their number.
    ///
    /// # Errors
    /// The errors of [`OpenRows::delete`]: some records are deleted then, and the transaction should be given up.
    pub fn retain<R: Record>(
        &mut self,
        table: Table<R>,
        keep: impl FnMut(&R) -> bool,
    ) -> Result<u64, Error> {
        records::retain(self, table, keep)
    }

    /// Deletes all records of a table. Returns their number.
    ///
    /// # Errors
    /// The errors of [`OpenRows::retain`].
    pub fn clear<R: Record>(&mut self, table: Table<R>) -> Result<u64, Error> {
        self.retain(table, |_| false)
    }

    fn known_of<R: Record>(&self, table: Table<R>) -> Result<&Arc<Known>, TableError> {
        self.snapshot.state_of(table)?;
        self.known(table.number())
    }

    /// The place of the snapshot's record with this key, which is noted as read: plain data is found by its key as in the
    /// record.
    fn place_of_frozen<R: Record>(
        &self,
        table: Table<R>,
        key: &R::Key<'_>,
        bytes: &[u8],
    ) -> Result<Option<Address>, TableError> {
        let number = table.number();
        if R::PLAIN.is_none() {
            return self.frozen_place(number, bytes);
        }
        let frozen = self.snapshot.frozen(number)?;
        let find = || frozen.place_of_plain(R::plain_key(key));
        self.frozen_place_by(number, bytes, find)
    }

    /// The record at a place of the snapshot.
    fn frozen_record<R: Record>(
        &self,
        table: Table<R>,
        known: &Known,
        at: Address,
    ) -> Result<R, TableError> {
        let found = self.snapshot.frozen(table.number())?.found(at);
        R::copy_row(found, &known.columns::<R>()?)
    }

    fn record_with_key<R: Record>(
        &self,
        table: Table<R>,
        known: &Known,
        key: &[u8],
    ) -> Result<Option<R>, TableError> {
        let number = table.number();
        match self.own(number, key) {
            Some(own) => known.own_record(own),
            None => {
                let Some(at) = self.frozen_place(number, key)? else {
                    return Ok(None);
                };
                self.frozen_record(table, known, at).map(Some)
            }
        }
    }
}

/// Rows up to this length are put together without memory of their own.
const SHORT_ROW_BYTES_MAX: usize = 512;

impl Known {
    /// The key of a record with this key, as bytes in the order of the values.
    fn record_key<R: Record>(&self, key: &R::Key<'_>) -> Result<KeyBytes, TableError> {
        let mut bytes = KeyBytes::default();
        let mut row = [0; SHORT_ROW_BYTES_MAX];
        match (R::PLAIN, row.get_mut(..self.schema.row_bytes)) {
            (Some(plain), Some(row)) if plain.bytes <= row.len() => {
                row[plain.key()].copy_from_slice(R::plain_key(key));
                self.primary.of_row(&*row, Address(0), &mut bytes)?;
            }
            _ => bytes.extend(&self.format.record_key::<R>(key)?),
        }
        Ok(bytes)
    }

    /// The record that a transaction has of its own.
    fn own_record<R: Record>(&self, own: &Own) -> Result<Option<R>, TableError> {
        match own {
            Own::Row(bytes) => self.format.record_of(bytes).map(Some),
            Own::Gone => Ok(None),
        }
    }

    /// The columns that are a record's fields.
    fn columns<R: Record>(&self) -> Result<R::Columns, TableError> {
        R::columns_in(&self.schema, &self.name)
    }
}

impl RecordRows for OpenRows {
    fn check_handle<R: Record>(&self, table: Table<R>) -> Result<(), TableError> {
        self.known_of(table).map(drop)
    }

    fn place_of_record<R: Record>(
        &self,
        table: Table<R>,
        key: &R::Key<'_>,
    ) -> Result<Option<Key>, TableError> {
        let bytes = self.known_of(table)?.record_key::<R>(key)?;
        let is_there = match self.own(table.number(), &bytes) {
            Some(own) => matches!(own, Own::Row(_)),
            None => self.place_of_frozen(table, key, &bytes)?.is_some(),
        };
        Ok(is_there.then(|| Key::from(&*bytes)))
    }

    fn place_like<R: Record>(
        &self,
        table: Table<R>,
        record: &R,
    ) -> Result<Option<Key>, TableError> {
        let known = self.known_of(table)?;
        let key = known.format.key_of_record(record.plain_bytes())?;
        Ok(self.has_key(table.number(), &key)?.then(|| key.into()))
    }

    fn record_at<R: Record>(&self, table: Table<R>, at: &Key) -> Result<R, TableError> {
        let known = self.known_of(table)?;
        let found = self.record_with_key(table, known, at)?;
        found.ok_or_else(|| TableError::StaleRow {
            table: known.name.to_string(),
        })
    }

    /// It is taken when the record is stored.
    fn room_to_change<R: Record>(&mut self) -> Result<(), TableError> {
        Ok(())
    }

    fn insert_record<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), TableError> {
        let known = Arc::clone(self.known_of(table)?);
        let Some(plain) = R::PLAIN else {
            let columns = known.columns::<R>()?;
            return self.insert_row(table.number(), values_of(&columns, record)?);
        };
        if known.is_all(&plain) {
            let row = known.format.record_row(record.plain_bytes())?;
            return constraints::ConstrainedRows::whole(self, |this| {
                this.insert_bytes(table.number(), &known, row)
            });
        }
        let mut bytes = vec![0; known.schema.row_bytes];
        put_plain(&mut bytes, record.plain_bytes());
        let there = known.format.row(&bytes)?;
        let mut row = RowWriter::new(known.schema.columns.len());
        for (number, column) in known.schema.live_columns() {
            // Columns that were added get their defaults.
            if column.since_shape == 0 {
                row.set(number, there.get_at(number)?);
            }
        }
        self.insert_row(table.number(), row)
    }

    fn store_record<R: Record>(
        &mut self,
        table: Table<R>,
        at: Key,
        record: &R,
    ) -> Result<(), TableError> {
        let number = table.number();
        let known = Arc::clone(self.known_of(table)?);
        let Some(plain) = R::PLAIN else {
            let columns = known.columns::<R>()?;
            return self.update_row(number, at, &values_of(&columns, record)?);
        };
        let before = self.bytes_of(number, &known, &at)?;
        let mut after = before.to_vec();
        put_plain(&mut after, record.plain_bytes());
        if after[plain.key()] != before[plain.key()] {
            return Err(known.format.key_changed());
        }
        let after = known.format.regenerated(after)?;
        known.format.check_record_row(&after)?;
        constraints::ConstrainedRows::whole(self, |this| {
            this.change_bytes(number, &known, &at, &before, after)
        })
    }

    fn delete_record<R: Record>(&mut self, table: Table<R>, at: Key) -> Result<(), TableError> {
        self.delete_row(table.number(), at)
    }
}

impl Known {
    /// True if the rows are plain records, and nothing more.
    #[inline]
    fn is_all(&self, plain: &PlainLayout) -> bool {
        plain.bytes == self.schema.row_bytes
    }
}

/// Puts a plain record to the beginning of its row.
#[inline]
fn put_plain(row: &mut [u8], record: &[u8]) {
    let bytes = record.len().min(row.len());
    row[..bytes].copy_from_slice(&record[..bytes]);
}
