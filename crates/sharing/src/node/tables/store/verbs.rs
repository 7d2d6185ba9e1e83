//! Records of typed tables: their rows, stored by the means of all rows.

use super::super::catalogue::TableInfo;
use super::super::records::checked_key;
use super::NodeTables;
use sardonyx_rows::constraints::computed_defaults;
use sardonyx_rows::fields::values_of;
use sardonyx_rows::{Record, RowWriter, TableError, WriteRows};
use std::sync::Arc;

impl NodeTables<'_> {
    /// The new row of a record, with the defaults that are computed.
    fn row_of<R: Record>(&mut self, info: &TableInfo, record: &R) -> Result<Vec<u8>, TableError> {
        let schema = info.format.schema();
        if R::PLAIN.is_none() {
            let columns = R::columns_in(schema, info.format.table())?;
            return self.new_row(info, &values_of(&columns, record));
        }
        let mut added = RowWriter::new(schema.columns.len());
        if schema.earlier_shapes.is_empty() {
            return info.format.row_beginning_with(record.plain_bytes(), &added);
        }
        let is_added = |column: usize| schema.columns[column].since_shape > 0;
        let name = info.format.table();
        let computed = computed_defaults(self, info.number, schema, name, is_added)?;
        for (column, value) in &computed {
            added.set(*column, value.as_ref());
        }
        info.format.row_beginning_with(record.plain_bytes(), &added)
    }

    pub(in super::super) fn insert_record<R: Record>(
        &mut self,
        info: &TableInfo,
        record: &R,
    ) -> Result<(), TableError> {
        self.as_one(info, |this| {
            let row = this.row_of(info, record)?;
            this.add(info, &row)
        })
    }

    /// Puts a record in the place of the one with its key. Returns whether there was one.
    pub(in super::super) fn put_record<R: Record>(
        &mut self,
        info: &Arc<TableInfo>,
        record: &R,
    ) -> Result<bool, TableError> {
        self.as_one(info, |this| {
            let row = this.row_of(info, record)?;
            let key = checked_key(info, info.format.key_of(&row)?)?;
            match this.row_to_change(info, &key)? {
                Some(before) => this.replace(info, &key, &before.bytes, &row).map(|()| true),
                None => this.add(info, &row).map(|()| false),
            }
        })
    }

    pub(in super::super) fn update_record<R: Record, T>(
        &mut self,
        info: &Arc<TableInfo>,
        key: &[u8],
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, TableError> {
        let Some(before) = self.row_to_change(info, key)? else {
            return Ok(None);
        };
        let mut record: R = info.format.record_of(&before.bytes)?;
        let value = change(&mut record);
        let after = match R::PLAIN {
            Some(_) => {
                (info.format).row_beginning_otherwise(&before.bytes, record.plain_bytes())?
            }
            None => {
                let columns = R::columns_in(info.format.schema(), info.format.table())?;
                let values = values_of(&columns, &record);
                info.format.unconditional_change(&before.bytes, &values)?
            }
        };
        self.as_one(info, |this| this.replace(info, key, &before.bytes, &after))?;
        Ok(Some(value))
    }

    /// Deletes the row with a key, and its dependent rows. Returns the row, if there was one.
    pub(in super::super) fn remove_row(
        &mut self,
        info: &Arc<TableInfo>,
        key: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, TableError> {
        if !self.tables.is_referenced(info.number) {
            return Ok(self.change(|view| info.remove_row(view, &key))?);
        }
        let Some(row) = self.row_to_change(info, &key)? else {
            return Ok(None);
        };
        self.delete_row(info.number, key)?;
        Ok(Some(row.bytes))
    }
}
