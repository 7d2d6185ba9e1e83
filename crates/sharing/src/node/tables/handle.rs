//! Handles of tables, by name or by an earlier handle: made if absent, or as it is. A table's number is never
//! another's, so a handle is its number and which database it is of.

use super::super::NodeError;
use super::super::running::{self, Runs};
use super::catalogue::TableInfo;
use super::known::Tables;
use super::store::NodeTables;
use sardonyx_rows::Table;
use sardonyx_rows::schema::IntoSchema;
use std::sync::Arc;

/// The table of a name as it is, made where absent.
pub(super) fn open_or_make(
    node: &dyn Runs,
    name: &str,
    schema: impl IntoSchema,
) -> Result<Arc<TableInfo>, NodeError> {
    running::run(node, |tx| {
        let tables = Tables::of(tx)?;
        if let Some(info) = tables.named(name) {
            return Ok(info.clone());
        }
        let mut tables = NodeTables::of(tx)?;
        let number = tables.create_table(name, schema.clone())?;
        Ok::<_, NodeError>(tables.info(number)?.clone())
    })
}

pub(super) fn handle_of<R>(info: &TableInfo) -> Table<R> {
    Table::of(info.number, origin(info.database))
}

/// A part of a database's identity, which is random: enough to distinguish databases.
pub(super) fn origin(database: u64) -> u32 {
    (database ^ (database >> 32)) as u32
}
