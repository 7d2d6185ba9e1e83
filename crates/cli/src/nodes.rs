//! Verbs, exit codes and tables of several nodes; `without_nodes` replaces it in a build without the feature `nodes`.

use crate::store::Held;
use anyhow::Error;
use sardonyx_command::exit::UsageError;
use sardonyx_rows::ReadRows;
use sardonyx_sharing::node::{NodeError, NodeOptions, Nodes};
use sardonyx_sql::{Database, Declaration, declarations};
use sardonyx_storage::catalogue::{CatalogueError, Definitions, Way};
use std::path::Path;

pub use crate::cluster::Arguments as Cluster;
pub use crate::opened::Opened;
pub use sardonyx_cluster::command::node::Arguments as Node;
pub use sardonyx_cluster::exit;
pub use sardonyx_sharing::node::{FrozenTables, leftovers};

/// The bytes of redo in flight, of the process that opens a database first: a statement on many rows is one
/// transaction.
const RING_BYTES: usize = 64 << 20;

/// The options of a node. A database that nodes created needs none of these.
#[derive(Debug, clap::Args)]
pub struct NodeOption {
    /// Take part as a closely coupled node of this host; a verb that creates databases creates a database of nodes
    #[arg(long, help_heading = "Nodes")]
    node: bool,
    /// Pages for nodes' tables, of the process that opens the database first [default: 16384]
    #[arg(long, value_name = "N", requires = "node", help_heading = "Nodes")]
    node_pages: Option<u64>,
}

impl NodeOption {
    /// Opens a database: as `tables` does, or as a node if `--node` is given or the database is one of nodes.
    ///
    /// `of_tables`: a given option that does not apply to nodes.
    ///
    /// # Errors
    /// The database cannot be opened; such an option is given for a node.
    pub fn open(
        &self,
        path: &Path,
        of_tables: Option<&'static str>,
        tables: impl FnOnce() -> anyhow::Result<Held>,
    ) -> anyhow::Result<Opened> {
        let check = || match of_tables {
            Some(option) => Err(UsageError::Arguments(format!(
                "{option} is not supported for a database of nodes"
            ))),
            None => Ok(()),
        };
        if self.node {
            check()?;
            return self.close(path);
        }
        let refused = match tables() {
            Ok(tables) => return Opened::of_tables(tables),
            Err(error) => error,
        };
        match way_of(&refused) {
            Some(Way::NodeTables) => {
                check()?;
                self.close(path)
            }
            // Other processes have it open: perhaps as nodes.
            None if is_locked(&refused) && of_tables.is_none() => {
                match Nodes::open(path, self.options()) {
                    Ok(nodes) => of_close(nodes),
                    Err(error @ NodeError::NotHere { .. }) => Err(error.into()),
                    // Tables in main memory have it open.
                    Err(_) => Err(refused),
                }
            }
            _ => Err(refused),
        }
    }

    /// Refuses to be a node with an option that applies only to tables in main memory.
    ///
    /// # Errors
    /// `--node` is given.
    pub fn refuse(&self, option: &'static str) -> Result<(), UsageError> {
        match self.node {
            true => Err(UsageError::Arguments(format!(
                "{option} is not supported for a database of nodes"
            ))),
            false => Ok(()),
        }
    }

    fn options(&self) -> NodeOptions {
        let mut options = NodeOptions {
            ring_bytes: RING_BYTES,
            ..NodeOptions::default()
        };
        options.pages = self.node_pages.unwrap_or(options.pages);
        options
    }

    fn close(&self, path: &Path) -> anyhow::Result<Opened> {
        of_close(Nodes::open(path, self.options())?)
    }
}

fn of_close(nodes: Nodes) -> anyhow::Result<Opened> {
    let node = nodes.join()?;
    let database = Database::of_node(node)?;
    Ok(Opened::of_node(database, Box::new(nodes)))
}

/// The way that the error names, if another way than tables created the database.
fn way_of(error: &Error) -> Option<Way> {
    let found = error.downcast_ref::<sardonyx::Error>()?;
    match found.downcast_ref::<CatalogueError>()? {
        CatalogueError::OtherWay { way } => Some(*way),
        _ => None,
    }
}

fn is_locked(error: &Error) -> bool {
    matches!(
        error.downcast_ref::<sardonyx::Error>(),
        Some(sardonyx::Error::Locked(_))
    )
}

/// The SQL that creates nodes' tables, and `others` for anything else.
pub fn declared(
    tables: &mut FrozenTables,
    others: impl Fn(&Definitions) -> Vec<String>,
) -> anyhow::Result<(Vec<String>, Vec<Declaration>)> {
    let tables = tables.tables()?;
    Ok((others(tables.definitions()), declarations(&tables)?))
}

/// The error for a database that was not created as tables.
pub fn other_way(way: Way) -> Error {
    CatalogueError::OtherWay { way }.into()
}
