//! The tables of nodes in a build without them: a database of nodes is refused, and the error names the feature.

use super::missing;
use anyhow::Error;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{OneRow, RowRef};
use sardonyx_storage::catalogue::{CatalogueError, Way};
use sardonyx_storage::store::PageStore;
use std::sync::Arc;

/// The error for a database that was made in another way than tables.
pub fn other_way(way: Way) -> Error {
    match way {
        Way::NodeTables | Way::PageServer => missing("a database of nodes is").into(),
        way => CatalogueError::OtherWay { way }.into(),
    }
}

/// The tables of nodes, which this build cannot read.
#[derive(Debug)]
pub enum FrozenTables {}

/// A journal or a table of nodes.
#[derive(Debug)]
pub enum FrozenDefinition {
    #[expect(dead_code, reason = "no database of nodes is read")]
    Table(Arc<Schema>),
    #[expect(dead_code, reason = "no database of nodes is read")]
    Journal(u32),
}

/// A row of nodes' tables.
#[derive(Debug)]
pub enum OwnedRow {}

impl OwnedRow {
    /// The row.
    pub fn row(&self) -> anyhow::Result<RowRef<'_, OneRow>> {
        match *self {}
    }
}

impl FrozenTables {
    /// The pages: they are not read as nodes' tables.
    pub fn of(store: PageStore) -> Result<Self, PageStore> {
        Err(store)
    }

    /// All tables and journals, by their names.
    pub fn definitions(&mut self) -> anyhow::Result<Vec<(String, FrozenDefinition)>> {
        match *self {}
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
