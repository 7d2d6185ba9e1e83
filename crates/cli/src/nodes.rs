//! Verbs, exit codes and tables of several nodes; `without_nodes` stands in its place in a build without the feature `nodes`.

use anyhow::Error;
use sardonyx_storage::catalogue::{CatalogueError, Way};

pub use crate::cluster::Arguments as Cluster;
pub use sardonyx_cluster::command::node::Arguments as Node;
pub use sardonyx_cluster::exit;
pub use sardonyx_sharing::node::{FrozenDefinition, FrozenTables, leftovers};

/// The error for a database that was made in another way than tables.
pub fn other_way(way: Way) -> Error {
    CatalogueError::OtherWay { way }.into()
}
