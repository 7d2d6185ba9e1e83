//! The rows of a table by the names of its columns, in any store.

use crate::error::TableError;
use crate::index::Index;
use crate::read::{ReadRow, ReadRows, ScanPlace};
use crate::row::{RowError, RowWriter, has_zero_byte};
use crate::schema::{Schema, Value, ValueRef};
use crate::write::WriteRows;
use sardonyx_base::error::Error;
use std::sync::Arc;

/// The rows of a table: to read in a state of the tables, to read and change in a transaction.
///
/// A key is the values of the primary key's columns, in its order. Integers are good for every column of
/// numbers that has them; other values are of the column's type.
#[derive(Clone, Copy, Debug)]
pub struct Rows<S> {
    store: S,
    number: u16,
}

impl<S: ReadRows> Rows<S> {
    /// The rows of the table with this name.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn named(store: S, table: &str) -> Result<Self, Error> {
        match store.definitions().named(table) {
            Some(number) if store.row_schema(number).is_some() => Ok(Rows { store, number }),
            _ => Err(unknown_table(table)),
        }
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn numbered(store: S, number: u16) -> Result<Self, Error> {
        match store.row_schema(number) {
            Some(_) => Ok(Rows { store, number }),
            None => Err(TableError::UnknownHandle { number }.into()),
        }
    }

    /// As the transaction or the snapshot sees it.
    pub fn schema(&self) -> &Arc<Schema> {
        let schema = self.store.row_schema(self.number);
        schema.expect("it was found")
    }

    /// The table's number in the catalogue.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The store that has them.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`Error::Refused`] if these are no values of the key's columns; [`Error::Limit`] if the snapshot was ended;
    /// [`Error::Damaged`].
    pub fn get(&self, key: &[Value]) -> Result<Option<S::Row<'_>>, Error> {
        self.store.get_row(self.number, key)
    }

    /// All rows, in no particular order. The first error ends the scan.
    pub fn scan(&self) -> S::Scan<'_> {
        self.scan_from(ScanPlace::default())
    }

    /// The rows of a snapshot from a place on, to which a scan had come:
    /// [`ScanRows::place`](crate::read::ScanRows::place).
    pub fn scan_from(&self, place: ScanPlace) -> S::Scan<'_> {
        let scan = self.store.scan_rows(self.number, place);
        scan.expect("it was found")
    }

    /// The number of rows. A store that does not know it reads all rows.
    ///
    /// # Errors
    /// The errors of reading them.
    pub fn count(&self) -> Result<u64, Error> {
        self.store.count_rows(self.number)
    }

    /// An ordered index of the table: one of its schema's, or that of its primary key, `primary`, if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index.
    pub fn index(&self, name: &str) -> Result<Index<S::Entries<'_>>, Error> {
        self.store.row_index(self.number, name)
    }
}

impl<S: WriteRows> Rows<S> {
    /// The row at a place, if this table has any row there now. A caller that [found](crate::RowRef::address) one
    /// there before checks if it is the same.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn at(&self, at: S::Place) -> Result<Option<S::Row<'_>>, Error> {
        Ok(self.store.row_at(self.number, at)?)
    }

    /// Inserts a row of columns by name. A column that is not named gets its default.
    ///
    /// ```
    /// # use sardonyx_rows::{Rows, WriteRows};
    /// # use sardonyx_base::error::Error;
    /// fn order(tx: &mut impl WriteRows) -> Result<(), Error> {
    ///     let mut orders = Rows::named(tx, "orders")?;
    ///     orders.insert(&[("id", 1.into()), ("customer", "Ada".into())])?;
    ///     orders.update(&[1.into()], &[("customer", "Ada Lovelace".into())])?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Duplicate`] if there is a row with its key; [`Error::Refused`] if a value does not fit its column, or
    /// the row a condition, or a column is missing or unknown ([`RowError`]); [`Error::Limit`] if the transaction or
    /// a value is too large, [`Error::Full`] if there is no memory for more pages. Nothing has changed then.
    pub fn insert(&mut self, values: &[(&str, Value)]) -> Result<(), Error> {
        let (schema, name) = self.store.described(self.number)?;
        let row = RowWriter::named(&schema, &name, values).map_err(TableError::from)?;
        self.insert_row(&row)
    }

    /// Inserts a row of all columns that are not dropped, in order.
    ///
    /// # Errors
    /// The errors of [`Rows::insert`].
    pub fn insert_values(&mut self, values: &[Value]) -> Result<(), Error> {
        let (schema, name) = self.store.described(self.number)?;
        let row = RowWriter::in_order(&schema, &name, values).map_err(TableError::from)?;
        self.insert_row(&row)
    }

    /// Inserts a row of columns by number.
    ///
    /// # Errors
    /// The errors of [`Rows::insert`].
    pub fn insert_row(&mut self, row: &RowWriter<'_>) -> Result<(), Error> {
        self.check_texts(row)?;
        Ok(self.store.insert_row(self.number, row.clone())?)
    }

    /// Checks that no text has a zero byte, so that each row can be read over SQL.
    #[inline]
    fn check_texts(&self, row: &RowWriter<'_>) -> Result<(), TableError> {
        let schema = self.schema();
        for (number, value) in row.set_columns() {
            if let Some(column) = schema.columns.get(number)
                && has_zero_byte(column.kind, value)
            {
                let (_, name) = self.store.described(self.number)?;
                return Err(RowError::zero_byte(&name, &column.name, value).into());
            }
        }
        Ok(())
    }

    /// Puts a row of columns by name in the place of the one with its key, if there is one. Columns that are not named
    /// get their defaults then, too. Returns true if there was one.
    ///
    /// # Errors
    /// The errors of [`Rows::insert`], but for a duplicate.
    pub fn put(&mut self, values: &[(&str, Value)]) -> Result<bool, Error> {
        let (schema, name) = self.store.described(self.number)?;
        let row = RowWriter::named(&schema, &name, values).map_err(TableError::from)?;
        self.put_row(&row)
    }

    /// Puts a row of columns by number.
    ///
    /// # Errors
    /// The errors of [`Rows::put`].
    pub fn put_row(&mut self, row: &RowWriter<'_>) -> Result<bool, Error> {
        self.check_texts(row)?;
        self.put_row_of_any_text(row)
    }

    /// The same, where texts may have zero bytes, as some of the tables that no program reads have.
    ///
    /// # Errors
    /// The errors of [`Rows::put`].
    #[doc(hidden)]
    pub fn put_row_of_any_text(&mut self, row: &RowWriter<'_>) -> Result<bool, Error> {
        let (schema, name) = self.store.described(self.number)?;
        let computed = self.store.computed_defaults(self.number, row)?;
        let mut row = row.clone();
        for (column, value) in &computed {
            row.set(*column, value.as_ref());
        }
        row.complete(&schema, &name).map_err(TableError::from)?;
        let parts = schema.primary.key.iter();
        let key: Vec<_> = parts
            .map(|part| row.get(part.column).unwrap_or_default())
            .collect();
        match self.store.find_row(self.number, &key)? {
            Some(at) => {
                self.store.update_row(self.number, at, &row)?;
                Ok(true)
            }
            None => {
                self.store.insert_row(self.number, row)?;
                Ok(false)
            }
        }
    }

    /// Changes columns, by name, of the row with this key. Only the differing bytes are written. Returns false if
    /// there is no such row.
    ///
    /// # Errors
    /// [`Error::Refused`] also if the key would change; otherwise the errors of [`Rows::insert`].
    pub fn update(&mut self, key: &[Value], changes: &[(&str, Value)]) -> Result<bool, Error> {
        let (schema, name) = self.store.described(self.number)?;
        let row = RowWriter::named(&schema, &name, changes).map_err(TableError::from)?;
        self.update_row(key, &row)
    }

    /// Changes columns, by number, of the row with this key.
    ///
    /// # Errors
    /// The errors of [`Rows::update`].
    pub fn update_row(&mut self, key: &[Value], row: &RowWriter<'_>) -> Result<bool, Error> {
        self.check_texts(row)?;
        let Some(at) = self.find(key)? else {
            return Ok(false);
        };
        self.store.update_row(self.number, at, row)?;
        Ok(true)
    }

    /// Changes columns, by number, of the row at an address, where it was [found](crate::RowRef::address): without looking it up
    /// again.
    ///
    /// # Errors
    /// [`Error::Refused`] also if there is no row of the table at the address any more, otherwise those of
    /// [`Rows::update`].
    pub fn update_at(&mut self, at: S::Place, row: &RowWriter<'_>) -> Result<(), Error> {
        self.check_texts(row)?;
        self.check_at(at.clone())?;
        Ok(self.store.update_row(self.number, at, row)?)
    }

    /// Deletes the row at an address, where it was [found](crate::RowRef::address).
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no row of the table at the address any more; [`Error::Limit`] if the transaction is
    /// too large.
    pub fn delete_at(&mut self, at: S::Place) -> Result<(), Error> {
        self.check_at(at.clone())?;
        Ok(self.store.delete_row(self.number, at)?)
    }

    /// Deletes the row with this key. Returns false if there is no such row.
    ///
    /// # Errors
    /// [`Error::Refused`] if these are no values of the key's columns, [`Error::Limit`] if the transaction is too
    /// large.
    pub fn delete(&mut self, key: &[Value]) -> Result<bool, Error> {
        let Some(at) = self.find(key)? else {
            return Ok(false);
        };
        self.store.delete_row(self.number, at)?;
        Ok(true)
    }

    /// Deletes the row with this key, which comes again, or which another row replaces, before
    /// held references are checked: no row is deleted with it. Returns false if there is no
    /// such row.
    ///
    /// # Errors
    /// The errors of [`Rows::delete`]; [`Error::Refused`] if references are not held, and rows refer to it.
    pub fn take(&mut self, key: &[Value]) -> Result<bool, Error> {
        let Some(at) = self.find(key)? else {
            return Ok(false);
        };
        self.store.take_row(self.number, at)?;
        Ok(true)
    }

    /// Deletes the rows for which `keep` returns false. Returns their number.
    ///
    /// # Errors
    /// The error that `keep` returns; [`Error::Limit`] if the transaction is too large. Some rows are deleted then,
    /// and the transaction should be aborted.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(&dyn ReadRow) -> Result<bool, Error>,
    ) -> Result<u64, Error> {
        let (mut place, mut deleted) = (None, 0);
        while let Some(at) = self.store.row_behind(self.number, place)? {
            place = Some(at.clone());
            let is_kept = match self.store.row_at(self.number, at.clone())? {
                Some(row) => keep(&row)?,
                None => true,
            };
            if !is_kept {
                self.store.delete_row(self.number, at)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    fn find(&self, key: &[Value]) -> Result<Option<S::Place>, TableError> {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        self.store.find_row(self.number, &key)
    }

    fn check_at(&self, at: S::Place) -> Result<(), TableError> {
        match self.store.has_row(self.number, at)? {
            true => Ok(()),
            false => Err(TableError::StaleRow {
                table: self.store.described(self.number)?.1.to_string(),
            }),
        }
    }
}

#[inline]
fn unknown_table(table: &str) -> Error {
    let table = table.to_string();
    TableError::from(RowError::UnknownTable { table }).into()
}
