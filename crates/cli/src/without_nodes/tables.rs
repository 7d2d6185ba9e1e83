//! The tables of nodes in a build without them: a database of nodes is refused, and the error names the feature.

pub use crate::opened::Opened;

use super::missing;
use crate::store::Held;
use anyhow::Error;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{OneRow, RowRef};
use sardonyx_sql::Declaration;
use sardonyx_storage::catalogue::{CatalogueError, Definitions, Way};
use sardonyx_storage::store::PageStore;
use std::path::Path;
use std::sync::Arc;

/// The error for a database that was not created as tables.
pub fn other_way(way: Way) -> Error {
    match way {
        Way::NodeTables | Way::PageServer => missing("a database of nodes is").into(),
        way => CatalogueError::OtherWay { way }.into(),
    }
}

/// The options of a node (not in this build, which lacks the feature `nodes`).
#[derive(Debug, clap::Args)]
pub struct NodeOption {
    /// Not in this build, which lacks the feature `nodes`
    #[arg(long)]
    node: bool,
    /// Not in this build, which lacks the feature `nodes`
    #[arg(long, value_name = "N")]
    node_pages: Option<u64>,
}

impl NodeOption {
    /// Opens a database as `tables` does.
    ///
    /// # Errors
    /// The database cannot be opened; this build has no nodes.
    pub fn open(
        &self,
        _: &Path,
        _: Option<&'static str>,
        tables: impl FnOnce() -> anyhow::Result<Held>,
    ) -> anyhow::Result<Opened> {
        if self.node || self.node_pages.is_some() {
            return Err(missing("nodes are").into());
        }
        let refused = match tables() {
            Ok(tables) => return Opened::of_tables(tables),
            Err(error) => error,
        };
        let found = refused.downcast_ref::<sardonyx::Error>();
        match found.and_then(|found| found.downcast_ref::<CatalogueError>()) {
            Some(CatalogueError::OtherWay { way }) => Err(other_way(*way)),
            _ => Err(refused),
        }
    }
}

impl NodeOption {
    /// Refuses to be a node with an option that applies only to tables in main memory, as it always is.
    ///
    /// # Errors
    /// `--node` is given.
    pub fn refuse(&self, _: &'static str) -> anyhow::Result<()> {
        match self.node || self.node_pages.is_some() {
            true => Err(missing("nodes are").into()),
            false => Ok(()),
        }
    }
}

/// The tables of nodes, which this build cannot read.
#[derive(Debug)]
pub enum FrozenTables {}

/// A row of nodes' tables.
#[derive(Debug)]
pub enum OwnedRow {}

impl OwnedRow {
    pub fn row(&self) -> anyhow::Result<RowRef<'_, OneRow>> {
        match *self {}
    }
}

/// The SQL that creates nodes' tables.
pub fn declared(
    tables: &mut FrozenTables,
    _: impl Fn(&Definitions) -> Vec<String>,
) -> anyhow::Result<(Vec<String>, Vec<Declaration>)> {
    match *tables {}
}

impl FrozenTables {
    /// The pages: they are not read as nodes' tables.
    pub fn of(store: PageStore) -> Result<Self, PageStore> {
        Err(store)
    }

    /// The columns of a table.
    pub fn schema(&mut self, _: &str) -> anyhow::Result<Arc<Schema>> {
        match *self {}
    }

    /// Calls a function with every row of a table.
    pub fn each_row(
        &mut self,
        _: &str,
        _: impl FnMut(&OwnedRow) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_nodes_is_refused_by_the_name_of_the_feature() {
        for way in [Way::NodeTables, Way::PageServer] {
            let error = other_way(way).to_string();
            assert!(error.contains("--features nodes"), "{error}");
        }
        let memory = other_way(Way::Memory).to_string();
        assert!(!memory.contains("--features"), "{memory}");
    }
}
