//! Records as rows of their own, and back.

use super::RowFormat;
use crate::error::TableError;
use crate::fields::KeyOf;
use crate::record::{Found, Record};
use crate::row::{RowWriter, check_declared};
use sardonyx_storage::page::Address;

impl RowFormat {
    /// The row of a record, whose columns are the table's ([`RowFormat::check_record`]).
    ///
    /// # Errors
    /// [`TableError::Row`]: a condition that is not met.
    #[inline]
    pub fn record_row(&self, record: &[u8]) -> Result<Vec<u8>, TableError> {
        let row = self.regenerated(record.to_vec())?;
        self.check_record_row(&row)?;
        Ok(row)
    }

    /// Checks the row of a record, whose columns are the table's.
    ///
    /// # Errors
    /// As [`RowFormat::record_row`].
    #[inline]
    pub fn check_record_row(&self, record: &[u8]) -> Result<(), TableError> {
        check_declared(&self.schema, &self.table, record)?;
        self.check_conditions(record)
    }

    /// A new row that begins with a record. Added columns have the values that are set, or their defaults. Conditions
    /// are not evaluated.
    ///
    /// # Errors
    /// The errors of [`RowFormat::new_row`].
    #[inline]
    pub fn row_beginning_with(
        &self,
        record: &[u8],
        added: &RowWriter<'_>,
    ) -> Result<Vec<u8>, TableError> {
        if self.schema.earlier_shapes.is_empty() {
            let row = self.regenerated(record.to_vec())?;
            check_declared(&self.schema, &self.table, &row)?;
            return Ok(row);
        }
        let mut added = added.clone();
        added.complete_added(&self.schema, &self.table)?;
        let mut fixed = record.to_vec();
        fixed.resize(self.schema.row_bytes, 0);
        let row = self.regenerated(self.fill(fixed, &added)?)?;
        check_declared(&self.schema, &self.table, &row)?;
        Ok(row)
    }

    /// A row that begins with a changed record and is otherwise as it was, whether it meets the conditions or not.
    ///
    /// # Errors
    /// [`RowError::Declared`](crate::RowError::Declared); [`TableError::KeyChanged`].
    #[inline]
    pub fn row_beginning_otherwise(
        &self,
        before: &[u8],
        record: &[u8],
    ) -> Result<Vec<u8>, TableError> {
        let mut row = before.to_vec();
        match row.get_mut(..record.len()) {
            Some(place) => place.copy_from_slice(record),
            None => {
                return Err(self.damaged(before.len(), "a row that is shorter than its columns"));
            }
        }
        let row = self.regenerated(row)?;
        check_declared(&self.schema, &self.table, &row)?;
        match self.key_of(&row)? == self.key_of(before)? {
            true => Ok(row),
            false => Err(self.key_changed()),
        }
    }

    /// The key of a record with this key, as bytes.
    ///
    /// # Errors
    /// None for records of the table ([`RowFormat::check_record`]).
    pub fn record_key<R: Record>(&self, key: &R::Key<'_>) -> Result<Vec<u8>, TableError> {
        let Some(plain) = R::PLAIN else {
            return self.key(&KeyOf::<R>(key));
        };
        let mut row = vec![0; self.schema.row_bytes];
        if let Some(place) = row.get_mut(plain.key()) {
            place.copy_from_slice(R::plain_key(key));
        }
        self.key_of_checked(&row)
    }

    /// The key of a plain record, as bytes.
    ///
    /// # Errors
    /// The errors of [`RowFormat::record_key`].
    pub fn key_of_record(&self, record: &[u8]) -> Result<Vec<u8>, TableError> {
        let mut row = vec![0; self.schema.row_bytes];
        if let Some(place) = row.get_mut(..record.len()) {
            place.copy_from_slice(record);
        }
        self.key_of(&row)
    }

    /// The record of a row.
    ///
    /// # Errors
    /// That the row is damaged, or a value none of its field's type; if the handle is of another table.
    pub fn record_of<R: Record>(&self, bytes: &[u8]) -> Result<R, TableError> {
        let columns = R::columns_in(&self.schema, &self.table)?;
        match R::PLAIN {
            Some(plain) if bytes.len() >= plain.bytes => {
                let found = Found {
                    pages: bytes,
                    schema: &self.schema,
                    table: &self.table,
                    at: Address(0),
                };
                R::copy_row(found, &columns)
            }
            _ => R::read_row(&columns, &self.row(bytes)?),
        }
    }

    /// Checks that records of this type are the table's rows.
    ///
    /// # Errors
    /// [`TableError::SchemaDiffers`], with both sides.
    pub fn check_record<R: Record>(&self) -> Result<(), TableError> {
        crate::compare::check_record::<R>(&self.table, &self.schema)
    }
}
