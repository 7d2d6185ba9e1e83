//! The interface of constraints to an open transaction.

use super::changed::{Key, Own};
use super::planted::{self, Planted};
use super::{OpenRow, OpenRows, OpenScan};
use sardonyx_rows::condition::Check;
use sardonyx_rows::constraints::{
    self, ComputeDefaults, ConstrainedRows, Due, HeldReference, HeldReferences,
};
use sardonyx_rows::key::Span;
use sardonyx_rows::schema::{IndexDefinition, PRIMARY, ValueRef};
use sardonyx_rows::{ReadRows, TableError, WriteRows};
use std::sync::Arc;

#[inline]
fn columns_of(index: &IndexDefinition) -> impl Iterator<Item = usize> + '_ {
    index.key.iter().map(|part| part.column)
}

/// True if the first columns of an index are these, in their order.
#[inline]
fn begins_with(index: &IndexDefinition, columns: &[usize]) -> bool {
    let key = columns_of(index).take(columns.len());
    key.eq(columns.iter().copied())
}

impl OpenRows {
    /// The references with notes.
    #[inline]
    pub fn held_references(&self) -> Vec<HeldReference> {
        self.held.references()
    }

    /// Checks due held references against the present rows.
    ///
    /// # Errors
    /// [`TableError::NoSuchReference`], [`TableError::Referenced`].
    pub fn check_held(&mut self, due: impl Fn(&HeldReference) -> Due) -> Result<(), TableError> {
        constraints::check_held(self, due)
    }
}

/// Rows by the columns of references.
impl OpenRows {
    #[inline]
    fn find_row_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Key>, TableError> {
        let known = self.known(table)?;
        if columns_of(&known.schema.primary).eq(columns.iter().copied()) {
            // No row has a value that the columns cannot have.
            return match known.format.key(values) {
                Ok(_) => WriteRows::find_row(self, table, values),
                Err(_) => Ok(None),
            };
        }
        let mut indexes = known.schema.indexes.iter();
        let index = indexes.find(|index| columns_of(index).eq(columns.iter().copied()));
        let Some(index) = index else {
            return Ok(None);
        };
        let entries = self.entries_named(table, &index.name)?;
        let Ok(mut range) = entries.rows_beginning(values) else {
            return Ok(None);
        };
        Ok(range.step(false)?.map(|(key, _)| key.into()))
    }

    #[inline]
    fn find_rows_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Vec<Key>>, TableError> {
        let known = self.known(table)?;
        let mut indexes = known.schema.indexes.iter();
        let Some(index) = indexes.find(|index| begins_with(index, columns)) else {
            return Ok(None);
        };
        let entries = self.entries_named(table, &index.name)?;
        let Ok(mut range) = entries.rows_beginning(values) else {
            return Ok(Some(Vec::new()));
        };
        let mut found = Vec::new();
        while let Some((key, _)) = range.step(false)? {
            found.push(key.into());
        }
        Ok(Some(found))
    }
}

impl ConstrainedRows for OpenRows {
    #[inline]
    fn row_there(&self, table: u16, at: Key) -> Result<OpenRow<'_>, TableError> {
        let row = self.row_with_key(table, &at)?;
        match row {
            Some(row) => Ok(row),
            None => Err(TableError::StaleRow {
                table: self.known(table)?.name.to_string(),
            }),
        }
    }

    #[inline]
    fn conditions(&mut self, table: u16) -> Result<Arc<[Check]>, TableError> {
        Ok(Arc::clone(&self.known(table)?.conditions))
    }

    #[inline]
    fn row_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Key>, TableError> {
        if !planted::is(Planted::ReferencesBelieved) {
            return self.find_row_with(table, columns, values);
        }
        let mut found = Ok(None);
        self.unnoted(&mut || found = self.find_row_with(table, columns, values));
        found
    }

    #[inline]
    fn has_index_of(&self, table: u16, columns: &[usize]) -> bool {
        let schema = self.snapshot.schema_of(table);
        let mut indexes = schema.iter().flat_map(|schema| &schema.indexes);
        indexes.any(|index| begins_with(index, columns))
    }

    #[inline]
    fn rows_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Vec<Key>>, TableError> {
        if !planted::is(Planted::ReferencesBelieved) {
            return self.find_rows_with(table, columns, values);
        }
        let mut found = Ok(None);
        self.unnoted(&mut || found = self.find_rows_with(table, columns, values));
        found
    }

    #[inline]
    fn last_by_key(&self, table: u16) -> Result<Option<Key>, TableError> {
        let mut range = self
            .entries_named(table, PRIMARY)?
            .rows_of(&Span::default())?;
        Ok(range.step(true)?.map(|(key, _)| key.into()))
    }

    #[inline]
    fn computes_defaults(&self) -> Option<Arc<dyn ComputeDefaults>> {
        self.snapshot.computes_defaults.clone()
    }

    #[inline]
    fn places(&self, table: u16) -> impl Iterator<Item = Result<Key, TableError>> {
        let mut scan = Some(OpenScan::of(self, table));
        std::iter::from_fn(move || {
            let next = match scan.as_mut()? {
                Ok(rows) => rows
                    .step(true)
                    .map(|found| found.map(|(key, _)| key.into())),
                Err(_) => scan.take()?.map(|_| None),
            };
            if next.is_err() {
                scan = None;
            }
            next.transpose()
        })
    }

    #[inline]
    fn delete_alone(&mut self, table: u16, at: Key) -> Result<(), TableError> {
        let known = Arc::clone(self.known(table)?);
        self.put_own(table, &known, at, Own::Gone, -1)
    }

    fn whole<T>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        let before = self.undo.len();
        self.depth += 1;
        let result = steps(self);
        self.depth -= 1;
        if result.is_err() {
            self.undo_to(before);
        }
        self.forget_undo();
        result
    }

    #[inline]
    fn held(&self) -> &HeldReferences {
        &self.held
    }

    #[inline]
    fn held_mut(&mut self) -> &mut HeldReferences {
        &mut self.held
    }
}
