//! Handles of tables, and how a table is found by its name: made where absent, or as it is.

use super::super::NodeError;
use super::super::running::{self, Runs};
use super::super::transaction::Transaction;
use super::catalogue::{self, Definition, TableInfo, differs, unknown};
use super::view::View;
use sardonyx_rows::schema::{Schema, SchemaError};
use sardonyx_rows::{RowFormat, TableError};
use sardonyx_storage::tree::TreePages;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A handle of a table of records; valid for the database that gave it.
pub struct NodeTable<R> {
    pub(super) info: Arc<TableInfo>,
    of: PhantomData<fn() -> R>,
}

/// A handle of a table of structs with `#[derive(Record)]`; valid for the database that gave it.
pub struct NodeStoredTable<T> {
    pub(super) info: Arc<TableInfo>,
    pub(super) columns: Arc<[usize]>,
    of: PhantomData<fn() -> T>,
}

impl<R> NodeTable<R> {
    pub(super) fn new(info: Arc<TableInfo>) -> Self {
        NodeTable {
            info,
            of: PhantomData,
        }
    }

    /// Its number in the catalogue.
    pub fn number(&self) -> u16 {
        self.info.number
    }
}

impl<T> NodeStoredTable<T> {
    pub(super) fn new(info: Arc<TableInfo>, columns: Arc<[usize]>) -> Self {
        NodeStoredTable {
            info,
            columns,
            of: PhantomData,
        }
    }

    /// Its number in the catalogue.
    pub fn number(&self) -> u16 {
        self.info.number
    }
}

impl<R> Clone for NodeTable<R> {
    fn clone(&self) -> Self {
        NodeTable::new(self.info.clone())
    }
}

impl<T> Clone for NodeStoredTable<T> {
    fn clone(&self) -> Self {
        NodeStoredTable::new(self.info.clone(), self.columns.clone())
    }
}

impl<R> fmt::Debug for NodeTable<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeTable {}", self.info.number)
    }
}

impl<T> fmt::Debug for NodeStoredTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeStoredTable {}", self.info.number)
    }
}

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

impl Transaction<'_> {
    /// Refuses a handle of another database.
    pub(super) fn check_handle(&self, info: &TableInfo) -> Result<(), NodeError> {
        match info.database == self.database() {
            true => Ok(()),
            false => Err(TableError::UnknownHandle {
                number: info.number,
            }
            .into()),
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
