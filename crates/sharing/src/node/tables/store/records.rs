//! Records of a program's types: what their verbs, which all stores have, ask of nodes' tables.

use super::super::super::NodeError;
use super::super::catalogue::TableInfo;
use super::super::change::checked_key;
use super::super::handle::origin;
use super::NodeTables;
use super::write::Key;
use sardonyx_rows::constraints::{ConstrainedRows, computed_defaults};
use sardonyx_rows::fields::values_of;
use sardonyx_rows::{Record, RecordRows, RowWriter, Table, TableError, WriteRows};
use sardonyx_storage::tree::Intent;
use std::sync::Arc;

impl NodeTables<'_> {
    /// The table of a handle, which may be another node's.
    pub(in super::super) fn info_of<R: Record>(
        &self,
        table: Table<R>,
    ) -> Result<&Arc<TableInfo>, NodeError> {
        let number = table.number();
        if table.origin() != origin(self.access.borrow().database()) {
            return Err(TableError::UnknownHandle { number }.into());
        }
        let info = self.tables.info(number).ok_or(NodeError::Dropped)?;
        info.check::<R>()?;
        Ok(info)
    }

    /// The record with a key.
    pub(in super::super) fn record<R: Record>(
        &self,
        table: Table<R>,
        key: &R::Key<'_>,
        intent: Intent,
    ) -> Result<Option<R>, NodeError> {
        let info = self.info_of(table)?;
        let key = checked_key(info, info.format.record_key::<R>(key)?)?;
        let found = self.row_with_key(info, &key, intent)?;
        let record = found.map(|row| info.format.record_of(&row.bytes));
        Ok(record.transpose()?)
    }

    /// The place of the row with a key, which is locked for writing: a caller that asks for it is about to change it.
    fn place(&self, info: &Arc<TableInfo>, key: Key) -> Result<Option<Key>, TableError> {
        let key = checked_key(info, key)?;
        let found = self.row_with_key(info, &key, Intent::Write)?;
        Ok(found.map(|_| key))
    }

    /// The new row of a plain record, with the defaults that are computed.
    fn plain_row(&mut self, info: &TableInfo, record: &[u8]) -> Result<Vec<u8>, TableError> {
        let schema = info.format.schema();
        let mut added = RowWriter::new(schema.columns.len());
        if schema.earlier_shapes.is_empty() {
            return info.format.row_beginning_with(record, &added);
        }
        let is_added = |column: usize| schema.columns[column].since_shape > 0;
        let name = info.format.table();
        let computed = computed_defaults(self, info.number, schema, name, is_added)?;
        for (column, value) in &computed {
            added.set(*column, value.as_ref());
        }
        info.format.row_beginning_with(record, &added)
    }
}

impl RecordRows for NodeTables<'_> {
    fn check_handle<R: Record>(&self, table: Table<R>) -> Result<(), TableError> {
        self.info_of(table)?;
        Ok(())
    }

    fn place_of_record<R: Record>(
        &self,
        table: Table<R>,
        key: &R::Key<'_>,
    ) -> Result<Option<Key>, TableError> {
        let info = self.info_of(table)?;
        self.place(info, info.format.record_key::<R>(key)?)
    }

    fn place_like<R: Record>(
        &self,
        table: Table<R>,
        record: &R,
    ) -> Result<Option<Key>, TableError> {
        let info = self.info_of(table)?;
        self.place(info, info.format.key_of_record(record.plain_bytes())?)
    }

    fn record_at<R: Record>(&self, table: Table<R>, at: &Key) -> Result<R, TableError> {
        self.info_of(table)?;
        let row = self.row_there(table.number(), at.clone())?;
        row.info.format.record_of(&row.bytes)
    }

    /// Pages are had, and locked, when the record is stored.
    fn room_to_change<R: Record>(&mut self) -> Result<(), TableError> {
        Ok(())
    }

    fn insert_record<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), TableError> {
        let info = self.info_of(table)?.clone();
        if R::PLAIN.is_none() {
            let columns = R::columns_in(info.format.schema(), info.format.table())?;
            return self.insert_row(info.number, values_of(&columns, record)?);
        }
        self.as_one(&info, |this| {
            let row = this.plain_row(&info, record.plain_bytes())?;
            this.add(&info, &row)
        })
    }

    fn store_record<R: Record>(
        &mut self,
        table: Table<R>,
        at: Key,
        record: &R,
    ) -> Result<(), TableError> {
        let info = self.info_of(table)?.clone();
        if R::PLAIN.is_none() {
            let columns = R::columns_in(info.format.schema(), info.format.table())?;
            return self.update_row(info.number, at, &values_of(&columns, record)?);
        }
        self.as_one(&info, |this| {
            let before = this.row_to_change(&info, &at)?;
            let bytes = record.plain_bytes();
            let after = (info.format).row_beginning_otherwise(&before.bytes, bytes)?;
            this.replace(&info, &at, &before.bytes, &after)
        })
    }

    fn delete_record<R: Record>(&mut self, table: Table<R>, at: Key) -> Result<(), TableError> {
        self.delete_row(table.number(), at)
    }
}
