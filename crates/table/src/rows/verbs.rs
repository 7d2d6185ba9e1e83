//! The rows of a table in a transaction, by the names of their columns.

use super::RowsView;
use crate::table::Slot;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{RowError, RowRef, RowWriter};
use sardonyx_storage::page::Address;
use std::sync::Arc;

/// The rows of a table in a transaction: [`Transaction::rows`].
///
/// A key is the values of the primary key's columns, in its order. Integers are good for every column of
/// numbers that has them; other values are of the column's type.
#[derive(Debug)]
pub struct Rows<'t, 'a> {
    transaction: &'t mut Transaction<'a>,
    number: u16,
}

impl<'a> Transaction<'a> {
    /// The rows of the table with this name, to read and change by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows(&mut self, table: &str) -> Result<Rows<'_, 'a>, Error> {
        let number = self.view().rows(table)?.number();
        self.rows_of(number)
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows_of(&mut self, number: u16) -> Result<Rows<'_, 'a>, Error> {
        self.row_state(number)?;
        Ok(Rows {
            transaction: self,
            number,
        })
    }
}

impl Rows<'_, '_> {
    /// What the rows are.
    pub fn schema(&self) -> &Arc<Schema> {
        self.view().schema()
    }

    /// The table's number in the catalogue.
    pub fn number(&self) -> u16 {
        self.number
    }

    pub(super) fn view(&self) -> RowsView<'_> {
        let view = self.transaction.view();
        view.rows_of(self.number).expect("it was found")
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`Error::Refused`] if these are no values of the key's columns; [`Error::Damaged`].
    pub fn get(&self, key: &[Value]) -> Result<Option<RowRef<'_>>, Error> {
        self.view().get(key)
    }

    /// The row at an address, if there is one of this table now, whichever: who has [found](RowRef::address) one there before
    /// looks whether it is the same.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn at(&self, address: Address) -> Result<Option<RowRef<'_>>, Error> {
        match self.transaction.has_row_at(self.number, address)? {
            true => Ok(Some(self.transaction.row_at(self.number, address)?)),
            false => Ok(None),
        }
    }

    /// All rows, in no particular order.
    pub fn scan(&self) -> impl Iterator<Item = Result<RowRef<'_>, Error>> {
        self.view().scan()
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.view().count()
    }

    /// Inserts a row of columns by name. A column that is not named gets its default.
    ///
    /// ```
    /// # use sardonyx_table::Transaction;
    /// # use sardonyx_base::error::Error;
    /// fn order(tx: &mut Transaction<'_>) -> Result<(), Error> {
    ///     let mut orders = tx.rows("orders")?;
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
        let (schema, name) = self.transaction.row_table(self.number)?;
        let row = RowWriter::named(&schema, &name, values).map_err(TableError::from)?;
        self.insert_row(&row)
    }

    /// Inserts a row of all columns that are not dropped, in order.
    ///
    /// # Errors
    /// Those of [`Rows::insert`].
    pub fn insert_values(&mut self, values: &[Value]) -> Result<(), Error> {
        let (schema, name) = self.transaction.row_table(self.number)?;
        let row = RowWriter::in_order(&schema, &name, values).map_err(TableError::from)?;
        self.insert_row(&row)
    }

    /// Inserts a row of columns by number.
    ///
    /// # Errors
    /// Those of [`Rows::insert`].
    pub fn insert_row(&mut self, row: &RowWriter<'_>) -> Result<(), Error> {
        let inserted = self.transaction.insert_row_of(self.number, row.clone());
        Ok(inserted.map(drop)?)
    }

    /// Puts a row of columns by name in the place of the one with its key, if there is one: then of columns
    /// that are not named the defaults, too. Returns whether there was one.
    ///
    /// # Errors
    /// Those of [`Rows::insert`], but for a duplicate.
    pub fn put(&mut self, values: &[(&str, Value)]) -> Result<bool, Error> {
        let (schema, name) = self.transaction.row_table(self.number)?;
        let row = RowWriter::named(&schema, &name, values).map_err(TableError::from)?;
        self.put_row(&row)
    }

    /// Puts a row of columns by number.
    ///
    /// # Errors
    /// Those of [`Rows::put`].
    pub fn put_row(&mut self, row: &RowWriter<'_>) -> Result<bool, Error> {
        let (schema, name) = self.transaction.row_table(self.number)?;
        let mut row = row.clone();
        row.complete(&schema, &name).map_err(TableError::from)?;
        let parts = schema.primary.key.iter();
        let key: Vec<_> = parts
            .map(|part| row.get(part.column).unwrap_or_default())
            .collect();
        match self.transaction.find_row(self.number, &key)? {
            Some(at) => self
                .transaction
                .update_row_at(self.number, at, &row)
                .map(|()| true),
            None => self
                .transaction
                .insert_row_of(self.number, row)
                .map(|_| false),
        }
        .map_err(Error::from)
    }

    /// Changes columns, by name, of the row with this key. Only what differs is written. Returns false if
    /// there is no such row.
    ///
    /// # Errors
    /// [`Error::Refused`] also if the key would change, otherwise those of [`Rows::insert`].
    pub fn update(&mut self, key: &[Value], changes: &[(&str, Value)]) -> Result<bool, Error> {
        let (schema, name) = self.transaction.row_table(self.number)?;
        let row = RowWriter::named(&schema, &name, changes).map_err(TableError::from)?;
        self.update_row(key, &row)
    }

    /// Changes columns, by number, of the row with this key.
    ///
    /// # Errors
    /// Those of [`Rows::update`].
    pub fn update_row(&mut self, key: &[Value], row: &RowWriter<'_>) -> Result<bool, Error> {
        let Some(at) = self.find(key)? else {
            return Ok(false);
        };
        self.transaction.update_row_at(self.number, at, row)?;
        Ok(true)
    }

    /// Changes columns, by number, of the row at an address, where it was [found](RowRef::address): without looking it up
    /// again.
    ///
    /// # Errors
    /// [`Error::Refused`] also if there is no row of the table at the address any more, otherwise those of
    /// [`Rows::update`].
    pub fn update_at(&mut self, at: Address, row: &RowWriter<'_>) -> Result<(), Error> {
        self.transaction.check_row_at(self.number, at)?;
        Ok(self.transaction.update_row_at(self.number, at, row)?)
    }

    /// Deletes the row at an address, where it was [found](RowRef::address).
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no row of the table at the address any more; [`Error::Limit`] if the transaction is
    /// too large.
    pub fn delete_at(&mut self, at: Address) -> Result<(), Error> {
        self.transaction.check_row_at(self.number, at)?;
        Ok(self.transaction.delete_row_at(self.number, at)?)
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
        self.transaction.delete_row_at(self.number, at)?;
        Ok(true)
    }

    /// Deletes the row with this key, which comes again, or which another row replaces, before
    /// [held references](Transaction::hold_references) are checked: no row is deleted with it. Returns false if there is no
    /// such row.
    ///
    /// # Errors
    /// Those of [`Rows::delete`]; [`Error::Refused`] if references are not held, and rows refer to it.
    pub fn take(&mut self, key: &[Value]) -> Result<bool, Error> {
        let Some(at) = self.find(key)? else {
            return Ok(false);
        };
        self.transaction.take_row(self.number, at)?;
        Ok(true)
    }

    /// Deletes the rows that `keep` does not want. Returns how many.
    ///
    /// # Errors
    /// What `keep` returns; [`Error::Limit`] if the transaction is too large: some rows are deleted then, and the
    /// transaction should be given up.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(&RowRef<'_>) -> Result<bool, Error>,
    ) -> Result<u64, Error> {
        let mut at = Slot::default();
        let mut deleted = 0;
        loop {
            let (bytes, state) = self.transaction.parts(self.number);
            let Some((address, behind)) = state.record_from(bytes, at) else {
                return Ok(deleted);
            };
            at = behind;
            let row = RowRef::new(bytes, &state.schema, &state.name, address)?;
            if !keep(&row)? {
                self.transaction.delete_row_at(self.number, address)?;
                deleted += 1;
            }
        }
    }

    fn find(&self, key: &[Value]) -> Result<Option<Address>, TableError> {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        self.transaction.find_row(self.number, &key)
    }
}

/// That there is no such table.
pub(crate) fn unknown_table(table: &str) -> Error {
    let table = table.to_string();
    TableError::from(RowError::UnknownTable { table }).into()
}
