//! The place of `nodes` in a build without the feature of that name: each use is refused, and the error names the
//! feature.

use anyhow::Error;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{OneRow, RowRef};
use sardonyx_storage::catalogue::{CatalogueError, Way};
use sardonyx_storage::store::PageStore;
use std::ffi::OsString;
use std::sync::Arc;

/// Run several nodes that share a database (not in this build, which lacks the feature `nodes`).
#[derive(Debug, clap::Args)]
pub struct Cluster {
    /// Not used
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// One node (not in this build, which lacks the feature `nodes`).
#[derive(Debug, clap::Args)]
pub struct Node {
    /// Not used
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

impl Cluster {
    /// Refuses the verb.
    pub fn run(&self, _: &mut Output) -> anyhow::Result<Exit> {
        Err(missing("nodes are").into())
    }
}

impl Node {
    /// Refuses the verb.
    pub fn run(&self) -> anyhow::Result<Exit> {
        Err(missing("nodes are").into())
    }
}

/// The error for a database that was made in another way than tables.
pub fn other_way(way: Way) -> Error {
    match way {
        Way::NodeTables | Way::PageServer => missing("a database of nodes is").into(),
        way => CatalogueError::OtherWay { way }.into(),
    }
}

fn missing(what: &'static str) -> UsageError {
    UsageError::MissingFeature {
        what,
        feature: "nodes",
    }
}

/// The exit codes of nodes' errors, of which there are none.
pub mod exit {
    use sardonyx_command::exit::Exit;

    /// None.
    pub fn of(_: &(dyn std::error::Error + 'static)) -> Option<Exit> {
        None
    }
}

/// Shared memory of nodes, which is not looked for.
pub mod leftovers {
    use sardonyx_base::leftovers::Leftover;
    use std::io;
    use std::path::Path;

    /// None.
    pub fn find(_: &Path) -> io::Result<Vec<Leftover>> {
        Ok(Vec::new())
    }

    /// None.
    pub fn remove(_: &Path) -> io::Result<Vec<Leftover>> {
        Ok(Vec::new())
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
    use clap::Parser;

    #[test]
    fn nodes_are_refused_by_the_name_of_the_feature() {
        let asked = ["cluster up --nodes 4", "cluster status", "node --slot 1"];
        for words in asked {
            let words = ["sardonyx"].into_iter().chain(words.split(' '));
            let parsed = crate::Arguments::try_parse_from(words).unwrap();
            let mut output = Output::to_stdout("sardonyx", false);
            let error = sardonyx_command::program::Program::run(&parsed, &mut output).unwrap_err();
            assert!(error.to_string().contains("--features nodes"), "{error}");
        }
        for way in [Way::NodeTables, Way::PageServer] {
            let error = other_way(way).to_string();
            assert!(error.contains("--features nodes"), "{error}");
        }
        let memory = other_way(Way::Memory).to_string();
        assert!(!memory.contains("--features"), "{memory}");
    }
}
