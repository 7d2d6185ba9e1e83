//! The nodes of transactions, and the granting nodes of locks: routing tables and lock authority
//! (GEM paper, sections 3.1 and 3.2).
//!
//! A [`RoutingTable`] gives for every transaction type the nodes of its transactions, and their shares. An
//! `AuthorityTable` gives each fragment of the database to the node that has the global lock authority for it.
//! *Random* routing spreads every type over all nodes. *Affinity-based* routing tries to keep together transactions
//! that reference the same pages and to have the authority there, with the nodes equally loaded. The two depend on
//! each other, so `heuristic` computes them together from the `ReferenceDistribution` and the number of nodes.
//!
//! `Tables` holds both and is kept as TOML. All but [`RoutingTable`] needs the feature `traces`.

#[cfg(feature = "traces")]
mod authority;
#[cfg(feature = "traces")]
mod distribution;
#[cfg(feature = "traces")]
pub mod heuristic;
mod table;
#[cfg(feature = "traces")]
mod tables;

#[cfg(feature = "traces")]
pub use authority::AuthorityTable;
#[cfg(feature = "traces")]
pub use distribution::{FragmentLayout, ReferenceDistribution};
pub use table::RoutingTable;
#[cfg(feature = "traces")]
pub use tables::{Tables, TablesError};

/// The most nodes.
pub const MAX_NODES: u16 = 1_000;
