//! Changing the rows of nodes' tables by their columns' numbers.

use super::super::catalogue::TableInfo;
use super::super::change::checked_key;
use super::super::entries;
use super::super::range::OwnedRow;
use super::NodeTables;
use sardonyx_rows::constraints::{self as rules, check_unreferenced};
use sardonyx_rows::row::same;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{RowWriter, TableError, WriteRows};
use sardonyx_storage::tree::Intent;
use std::sync::Arc;

/// The key of a row, as bytes in the order of the values.
pub(super) type Key = Vec<u8>;

impl NodeTables<'_> {
    /// Runs the steps of an operation on a row, with a savepoint if more than pages may refuse it.
    pub(super) fn as_one<T>(
        &mut self,
        info: &TableInfo,
        steps: impl FnOnce(&mut Self) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        let schema = info.format.schema();
        let may_refuse = info.has_references() || !schema.checks.is_empty();
        match may_refuse || !schema.declared.is_empty() {
            true => self.whole(steps),
            false => steps(self),
        }
    }

    /// Adds a row, whose key is new.
    pub(super) fn add(&mut self, info: &TableInfo, row: &[u8]) -> Result<(), TableError> {
        let key = checked_key(info, info.format.key_of(row)?)?;
        self.change(|view| info.insert_row(view, &key, row))?;
        // Behind keys that are there, as in main memory.
        info.format.check_conditions(row)?;
        self.check_references_of(info, row, |_| true)
    }

    /// Checks the references of a row that is there, as these bytes, of columns for which `concerns` says so.
    fn check_references_of(
        &mut self,
        info: &TableInfo,
        row: &[u8],
        concerns: impl Fn(usize) -> bool,
    ) -> Result<(), TableError> {
        match info.has_references() {
            true => {
                let row = info.format.row(row)?;
                rules::check_references_of(self, info.number, &row, concerns)
            }
            false => Ok(()),
        }
    }

    /// Puts a row into the place of the one with its key.
    pub(super) fn replace(
        &mut self,
        info: &TableInfo,
        key: &[u8],
        before: &[u8],
        after: &[u8],
    ) -> Result<(), TableError> {
        if before == after {
            return Ok(());
        }
        let is_referenced = self.tables.is_referenced(info.number);
        let mut changed = Vec::new();
        if is_referenced || info.has_references() {
            for (number, column) in info.format.schema().live_columns() {
                let old = info.format.value_at(before, number)?;
                if !same(column.kind, old, info.format.value_at(after, number)?) {
                    changed.push(number);
                }
            }
        }
        let changes = |column| changed.contains(&column);
        if is_referenced {
            check_unreferenced(self, info.number, key.to_vec(), &changes)?;
        }
        self.change(|view| info.put_row(view, key, Some(before), after))?;
        info.format.check_conditions(after)?;
        self.check_references_of(info, after, changes)
    }

    /// The row with a key, at which there is one, which will be changed.
    pub(super) fn row_to_change(
        &self,
        info: &Arc<TableInfo>,
        key: &[u8],
    ) -> Result<OwnedRow, TableError> {
        let found = self.row_with_key(info, key, Intent::Write)?;
        found.ok_or_else(|| TableError::StaleRow {
            table: info.format.table().to_string(),
        })
    }

    /// A new row with the defaults that are computed, as bytes.
    pub(super) fn new_row(
        &mut self,
        info: &TableInfo,
        row: &RowWriter<'_>,
    ) -> Result<Vec<u8>, TableError> {
        let schema = info.format.schema();
        if schema.declared.is_empty() {
            return info.format.unconditional_row(row);
        }
        let is_unsaid = |column| row.get(column).is_none();
        let name = info.format.table();
        let computed = rules::computed_defaults(self, info.number, schema, name, is_unsaid)?;
        let mut row = row.clone();
        for (column, value) in &computed {
            row.set(*column, value.as_ref());
        }
        info.format.unconditional_row(&row)
    }
}

impl WriteRows for NodeTables<'_> {
    type Place = Key;

    fn described(&self, table: u16) -> Result<(Arc<Schema>, Arc<str>), TableError> {
        let format = &self.info(table)?.format;
        Ok((format.schema().clone(), format.name().clone()))
    }

    /// The row is locked for writing: a caller that asks for its place is about to change it.
    fn find_row(&self, table: u16, key: &[ValueRef<'_>]) -> Result<Option<Key>, TableError> {
        let info = self.info(table)?;
        let key = info.format.key(key)?;
        let found = self.row_with_key(info, &key, Intent::Write)?;
        Ok(found.map(|_| key))
    }

    fn has_row(&self, table: u16, at: Key) -> Result<bool, TableError> {
        Ok(self.row_at(table, at)?.is_some())
    }

    fn row_at(&self, table: u16, at: Key) -> Result<Option<OwnedRow>, TableError> {
        Ok(self.row_with_key(self.info(table)?, &at, Intent::Read)?)
    }

    fn computed_defaults(
        &mut self,
        table: u16,
        row: &RowWriter<'_>,
    ) -> Result<Vec<(usize, Value)>, TableError> {
        let (schema, name) = self.described(table)?;
        let is_unsaid = |column| row.get(column).is_none();
        rules::computed_defaults(self, table, &schema, &name, is_unsaid)
    }

    fn insert_row(&mut self, table: u16, row: RowWriter<'_>) -> Result<(), TableError> {
        let info = self.info(table)?.clone();
        self.as_one(&info, |this| {
            let row = this.new_row(&info, &row)?;
            this.add(&info, &row)
        })
    }

    fn update_row(&mut self, table: u16, at: Key, row: &RowWriter<'_>) -> Result<(), TableError> {
        let info = self.info(table)?.clone();
        self.as_one(&info, |this| {
            let before = this.row_to_change(&info, &at)?;
            let after = info.format.unconditional_change(&before.bytes, row)?;
            this.replace(&info, &at, &before.bytes, &after)
        })
    }

    fn delete_row(&mut self, table: u16, at: Key) -> Result<(), TableError> {
        match self.tables.is_referenced(table) {
            true => rules::delete_row(self, table, at),
            false => rules::ConstrainedRows::delete_alone(self, table, at),
        }
    }

    fn take_row(&mut self, table: u16, at: Key) -> Result<(), TableError> {
        rules::take_row(self, table, at)
    }

    /// The row is locked for writing, as by `find_row`: two transactions that read rows so, and then change them, would be a
    /// deadlock each time that they meet.
    fn row_behind(&self, table: u16, place: Option<Key>) -> Result<Option<Key>, TableError> {
        let root = self.info(table)?.root;
        Ok(self.look(|view| entries::key_to_change(view, root, place.as_deref()))?)
    }
}
