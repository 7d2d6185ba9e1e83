//! An ordered index of bytes on pages: a B+-tree, for users that have pages and lock them ([`TreePages`]).
//! Multi-level transactions lock them to the end of an operation and have locks on keys beside. Nodes that share
//! a database lock them to the end of a transaction.
//!
//! - `node`: a page and its bytes; `change`: changes of one page;
//! - `descent`: from the root to a leaf and to its neighbours;
//! - `split`: splits and joins; `check`: whether all is sound.
//!
//! Damaged pages are a [`Damage`], with page and offset, never a panic and never an endless loop. Every offset
//! is checked at its use, and levels go down by one at each step.
//!
//! Source: DASDBS paper, section 2 (operations on an index that change several pages).

mod change;
mod check;
mod descent;
mod node;
mod pages;
mod path;
mod split;

pub use change::Built;
pub use check::{Claim, Shape, check};
pub use descent::{Intent, KeyAndValue, Place, Step, find, find_end};
pub use node::Node;
pub use pages::{Damage, Page, TreePages, damaged};
pub use split::{insert, pages_to_come_back, remove, replace};

/// The longest key, in bytes. At least four keys of that length fit into an inner node.
pub const KEY_BYTES_MAX: usize = 1_000;

/// The longest value, in bytes. At least two of the longest entries fit into a leaf, without which
/// it could not always be split.
pub const VALUE_BYTES_MAX: usize = 1_000;
