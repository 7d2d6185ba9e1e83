//! Structs of a program's own as rows ([`Stored`]): the handle of their table, and the verbs on them.

use crate::space::{TableSpace, View};
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::read::{ReadRows, ScanPlace};
use sardonyx_rows::schema::Value;
use sardonyx_rows::stored::{Stored, columns_of, differs};
use sardonyx_rows::{KeyValues, RowWriter, TableError, check_name};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A handle of a table of structs; valid for the database that gave it.
pub struct StoredTable<T> {
    number: u16,
    columns: Arc<[usize]>,
    of: PhantomData<fn() -> T>,
}

impl<T> StoredTable<T> {
    /// Its number in the catalogue.
    pub fn number(&self) -> u16 {
        self.number
    }
}

impl<T> Clone for StoredTable<T> {
    fn clone(&self) -> Self {
        StoredTable {
            number: self.number,
            columns: self.columns.clone(),
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for StoredTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredTable {}", self.number)
    }
}

impl TableSpace {
    /// The handle of a struct's table, if there is one.
    ///
    /// # Errors
    /// [`TableError::SchemaDiffers`] if its columns are not the struct's fields.
    pub fn stored<T: Stored>(&self) -> Result<Option<StoredTable<T>>, TableError> {
        check_name(T::TABLE)?;
        let mut definitions = self.catalogue.definitions.iter();
        let Some(number) = definitions.position(|d| d.name == T::TABLE) else {
            return Ok(None);
        };
        let number = number as u16;
        let columns = match self.schema(number) {
            Some(schema) => columns_of::<T>(schema)?,
            None => return Err(differs::<T>("there is something else of this name".into())),
        };
        Ok(Some(StoredTable {
            number,
            columns,
            of: PhantomData,
        }))
    }
}

impl Transaction<'_> {
    /// The table of this struct, created where absent.
    ///
    /// # Errors
    /// [`Error::Refused`] if its columns are not the struct's fields; those of
    /// [`create_table`](Transaction::create_table).
    pub fn stored<T: Stored>(&mut self) -> Result<StoredTable<T>, Error> {
        if let Some(table) = self.space.stored::<T>()? {
            return Ok(table);
        }
        self.create_table(T::TABLE, T::schema())?;
        let table = self.space.stored::<T>()?;
        table.ok_or_else(|| differs::<T>("it was not created".into()).into())
    }

    /// Inserts a struct as a row.
    ///
    /// # Errors
    /// Those of [`Rows::insert`](sardonyx_rows::Rows::insert).
    pub fn insert_stored<T: Stored>(&mut self, to: &StoredTable<T>, row: &T) -> Result<(), Error> {
        let values = values_of(to, row);
        self.rows_of(to.number)?.insert_row(&values)
    }

    /// Puts a struct in the place of the row with its key, if there is one; then columns that are no fields get
    /// their defaults. Returns whether there was one.
    ///
    /// # Errors
    /// Those of [`Rows::put`](sardonyx_rows::Rows::put).
    pub fn put_stored<T: Stored>(&mut self, to: &StoredTable<T>, row: &T) -> Result<bool, Error> {
        let values = values_of(to, row);
        self.rows_of(to.number)?.put_row(&values)
    }

    /// The row with this key.
    ///
    /// # Errors
    /// Those of [`Rows::get`](sardonyx_rows::Rows::get), and [`Error::Damaged`] if a value is none of its field's type.
    pub fn get_stored<T: Stored>(
        &self,
        of: &StoredTable<T>,
        key: impl KeyValues,
    ) -> Result<Option<T>, Error> {
        self.view().get_stored(of, key)
    }

    /// Changes the row with this key in a struct of its own; only what differs is written. Columns that are no fields
    /// stay as they are. Returns what `change` does, or `None` if there is no such row.
    ///
    /// # Errors
    /// Those of [`Rows::update`](sardonyx_rows::Rows::update).
    pub fn update_stored<T: Stored, R>(
        &mut self,
        of: &StoredTable<T>,
        key: impl KeyValues,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<Option<R>, Error> {
        let key = key_values(&key);
        let mut rows = self.rows_of(of.number)?;
        let Some(row) = rows.get(&key)? else {
            return Ok(None);
        };
        let mut changed = T::read(&of.columns, &row)?;
        drop(row);
        let result = change(&mut changed);
        rows.update_row(&key, &values_of(of, &changed))?;
        Ok(Some(result))
    }

    /// Deletes the row with this key. Returns false if there is none.
    ///
    /// # Errors
    /// Those of [`Rows::delete`](sardonyx_rows::Rows::delete).
    pub fn delete_stored<T: Stored>(
        &mut self,
        of: &StoredTable<T>,
        key: impl KeyValues,
    ) -> Result<bool, Error> {
        self.rows_of(of.number)?.delete(&key_values(&key))
    }
}

impl<'a> View<'a> {
    /// The row with this key.
    ///
    /// # Errors
    /// Those of [`ReadRows::get_row`], and [`Error::Damaged`] if a value is none of its field's type.
    pub fn get_stored<T: Stored>(
        &self,
        of: &StoredTable<T>,
        key: impl KeyValues,
    ) -> Result<Option<T>, Error> {
        let row = self.get_row(of.number, &key_values(&key))?;
        Ok(row.map(|row| T::read(&of.columns, &row)).transpose()?)
    }

    /// All rows, in no particular order.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's; of each row, those of reading it.
    pub fn scan_stored<T: Stored>(
        &self,
        of: &StoredTable<T>,
    ) -> Result<impl Iterator<Item = Result<T, Error>> + use<'a, T>, Error> {
        let rows = self.scan_rows(of.number, ScanPlace::default())?;
        let columns = of.columns.clone();
        Ok(rows.map(move |row| Ok(T::read(&columns, &row?)?)))
    }
}

fn values_of<'v, T: Stored>(table: &StoredTable<T>, row: &'v T) -> RowWriter<'v> {
    let columns = table.columns.iter().max().map_or(0, |last| last + 1);
    let mut values = RowWriter::new(columns);
    row.write(&table.columns, &mut values);
    values
}

fn key_values(key: &impl KeyValues) -> Vec<Value> {
    let mut values = Vec::new();
    key.each(&mut |value| values.push(value.to_value()));
    values
}
