//! How a table is found, by its name or a handle: made where absent, or as it is. A table's number is never another's, so
//! a handle is its number and which database it is of.

use super::super::NodeError;
use super::super::running::{self, Runs};
use super::super::transaction::Transaction;
use super::catalogue::{self, Definition, TableInfo, differs, unknown};
use super::view::View;
use sardonyx_rows::schema::{Schema, SchemaError};
use sardonyx_rows::{Record, RowFormat, Table, TableError};
use sardonyx_storage::tree::TreePages;
use std::sync::Arc;

/// The table of a name, made where absent.
pub(super) fn open_or_make(
    node: &dyn Runs,
    name: &str,
    schema: impl FnOnce(&str) -> Result<Schema, SchemaError>,
) -> Result<Arc<TableInfo>, NodeError> {
    if let Some(info) = node.known().get(name) {
        match running::run(node, |tx| View::new(tx).root(info.root).map(drop)) {
            Ok(()) => return Ok(info),
            Err(NodeError::Dropped) => node.known().forget(name),
            Err(error) => return Err(error),
        }
    }
    let schema = refused(name, schema(name))?;
    let format = RowFormat::new(name, schema)?;
    let info = running::run(node, |tx| {
        let database = tx.database();
        let mut view = View::new(tx);
        let found = match catalogue::find(&view, name, database)? {
            Some(Definition::Table(info)) => info,
            Some(_) => return Err(differs(name, "there is a journal of this name")),
            None => catalogue::make_table(&mut view, format.clone(), database)?,
        };
        view.finish().map(|()| found)
    })?;
    let info = Arc::new(info);
    node.known().note(&info);
    Ok(info)
}

pub(super) fn refused(
    name: &str,
    schema: Result<Schema, SchemaError>,
) -> Result<Schema, NodeError> {
    schema.map_err(|source| {
        let table = name.to_string();
        let source = Box::new(source);
        TableError::Schema { table, source }.into()
    })
}

/// The handle of a table.
pub(super) fn handle_of<R>(info: &TableInfo) -> Table<R> {
    Table::of(info.number, origin(info.database))
}

/// Of a database's identity, which is random, enough to tell databases apart.
fn origin(database: u64) -> u32 {
    (database ^ (database >> 32)) as u32
}

impl Transaction<'_> {
    /// The table of a handle, which may be another node's: then it is found by its name. What uses it is told if it was
    /// dropped.
    pub(super) fn table_of<R: Record>(
        &mut self,
        table: Table<R>,
    ) -> Result<Arc<TableInfo>, NodeError> {
        let (number, database) = (table.number(), self.database());
        if table.origin() != origin(database) {
            return Err(TableError::UnknownHandle { number }.into());
        }
        let member = self.member;
        let known = member.known().get(R::TABLE);
        if let Some(info) = known.filter(|info| info.number == number) {
            return Ok(info);
        }
        match catalogue::find(&View::new(self), R::TABLE, database)? {
            Some(Definition::Table(info)) if info.number == number => {
                let info = Arc::new(info);
                member.known().note(&info);
                Ok(info)
            }
            _ => Err(NodeError::Dropped),
        }
    }

    /// The table of this name. Nobody makes one and is not committed when it is found.
    pub(super) fn table_named(&mut self, name: &str) -> Result<Arc<TableInfo>, NodeError> {
        let member = self.member;
        if let Some(info) = member.known().get(name) {
            match View::new(self).root(info.root) {
                Ok(_) => return Ok(info),
                Err(NodeError::Dropped) => member.known().forget(name),
                Err(error) => return Err(error),
            }
        }
        let database = self.database();
        match catalogue::find(&View::new(self), name, database)? {
            Some(Definition::Table(info)) => {
                let info = Arc::new(info);
                member.known().note(&info);
                Ok(info)
            }
            _ => Err(unknown(name)),
        }
    }
}
