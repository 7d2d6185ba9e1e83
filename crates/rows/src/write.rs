//! Changing rows, wherever they are kept.

use crate::error::TableError;
use crate::read::ReadRows;
use crate::row::RowWriter;
use crate::schema::{Schema, Value, ValueRef};
use std::fmt::Debug;
use std::sync::Arc;

/// A transaction on tables. Tables are named by their numbers in the catalogue, rows by their places. An operation
/// that fails has done nothing.
pub trait WriteRows: ReadRows {
    /// The place of a row, valid until the transaction changes the store there.
    type Place: Clone + Ord + Debug;

    /// The schema of a table, and its name.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`].
    fn described(&self, table: u16) -> Result<(Arc<Schema>, Arc<str>), TableError>;

    /// The place of the row with this key.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`]; if these are no values of the key's columns.
    fn find_row(&self, table: u16, key: &[ValueRef<'_>])
    -> Result<Option<Self::Place>, TableError>;

    /// Returns true if the table has a row at a place.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`].
    fn has_row(&self, table: u16, at: Self::Place) -> Result<bool, TableError>;

    /// The row at a place, if the table has any row there now.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`], [`TableError::DamagedTable`].
    fn row_at(&self, table: u16, at: Self::Place) -> Result<Option<Self::Row<'_>>, TableError>;

    /// The values of columns with computed defaults that a new row omits, by the columns' numbers.
    ///
    /// # Errors
    /// [`RowError::Uncomputed`](crate::RowError::Uncomputed).
    fn computed_defaults(
        &mut self,
        table: u16,
        row: &RowWriter<'_>,
    ) -> Result<Vec<(usize, Value)>, TableError>;

    /// Inserts a row. Columns that are not set get their defaults.
    ///
    /// # Errors
    /// [`TableError::DuplicateKey`] and [`TableError::DuplicateValue`]; if a value does not fit its column, or the row
    /// a condition; if there is no room.
    fn insert_row(&mut self, table: u16, row: RowWriter<'_>) -> Result<(), TableError>;

    /// Changes columns of the row at a place, at which there is one.
    ///
    /// # Errors
    /// The errors of [`WriteRows::insert_row`]; [`TableError::KeyChanged`].
    fn update_row(
        &mut self,
        table: u16,
        at: Self::Place,
        row: &RowWriter<'_>,
    ) -> Result<(), TableError>;

    /// Sets columns of the row at a place, at which there is one, by their numbers: as [`WriteRows::update_row`], for few
    /// columns whose numbers the caller knows.
    ///
    /// # Errors
    /// The errors of [`WriteRows::update_row`].
    fn set_columns(
        &mut self,
        table: u16,
        at: Self::Place,
        columns: &[(usize, ValueRef<'_>)],
    ) -> Result<(), TableError> {
        self.update_row(table, at, &RowWriter::of(columns))
    }

    /// Deletes the row at a place, at which there is one.
    ///
    /// # Errors
    /// [`TableError::Referenced`]; that the transaction is too large.
    fn delete_row(&mut self, table: u16, at: Self::Place) -> Result<(), TableError>;

    /// Deletes the row at a place, which comes again, or which another one replaces, before references that are held are
    /// checked: no row is deleted with it.
    ///
    /// # Errors
    /// The errors of [`WriteRows::delete_row`].
    fn take_row(&mut self, table: u16, at: Self::Place) -> Result<(), TableError>;

    /// The first row of a table behind a place, or of all, in the order of the places.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`].
    fn row_behind(
        &self,
        table: u16,
        place: Option<Self::Place>,
    ) -> Result<Option<Self::Place>, TableError>;
}

impl<S: WriteRows + ?Sized> WriteRows for &mut S {
    type Place = S::Place;

    #[inline]
    fn described(&self, table: u16) -> Result<(Arc<Schema>, Arc<str>), TableError> {
        (**self).described(table)
    }

    #[inline]
    fn find_row(
        &self,
        table: u16,
        key: &[ValueRef<'_>],
    ) -> Result<Option<Self::Place>, TableError> {
        (**self).find_row(table, key)
    }

    #[inline]
    fn has_row(&self, table: u16, at: Self::Place) -> Result<bool, TableError> {
        (**self).has_row(table, at)
    }

    #[inline]
    fn row_at(&self, table: u16, at: Self::Place) -> Result<Option<Self::Row<'_>>, TableError> {
        (**self).row_at(table, at)
    }

    #[inline]
    fn computed_defaults(
        &mut self,
        table: u16,
        row: &RowWriter<'_>,
    ) -> Result<Vec<(usize, Value)>, TableError> {
        (**self).computed_defaults(table, row)
    }

    #[inline]
    fn insert_row(&mut self, table: u16, row: RowWriter<'_>) -> Result<(), TableError> {
        (**self).insert_row(table, row)
    }

    #[inline]
    fn update_row(
        &mut self,
        table: u16,
        at: Self::Place,
        row: &RowWriter<'_>,
    ) -> Result<(), TableError> {
        (**self).update_row(table, at, row)
    }

    #[inline]
    fn set_columns(
        &mut self,
        table: u16,
        at: Self::Place,
        columns: &[(usize, ValueRef<'_>)],
    ) -> Result<(), TableError> {
        (**self).set_columns(table, at, columns)
    }

    #[inline]
    fn delete_row(&mut self, table: u16, at: Self::Place) -> Result<(), TableError> {
        (**self).delete_row(table, at)
    }

    #[inline]
    fn take_row(&mut self, table: u16, at: Self::Place) -> Result<(), TableError> {
        (**self).take_row(table, at)
    }

    #[inline]
    fn row_behind(
        &self,
        table: u16,
        place: Option<Self::Place>,
    ) -> Result<Option<Self::Place>, TableError> {
        (**self).row_behind(table, place)
    }
}
