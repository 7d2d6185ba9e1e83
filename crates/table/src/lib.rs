//! Tables: rows in pages, their indexes, journals, and the transaction that changes them. The catalogue,
//! [`sardonyx_storage::catalogue`], lists the tables; [`sardonyx_rows`] defines rows.
//!
//! - [`hash`]: the hash of a key, by a secret of the opening;
//! - [`index`]: from key to address, in memory, rebuilt at open or read as a clean close stored it;
//! - [`index_store`]: memory for indexes;
//! - `ordered`, `secondary`: B+-trees, and those of a table. `transaction::indexes` maintains all indexes as rows change;
//! - [`TableSpace`]: all of it on one page store. A `TableState` (`table`) is one table in memory;
//! - [`Transaction`]: changes with before-images for undo, and redo records. Every change of bytes is logged in its `write`;
//! - [`SpaceSnapshot`]: all tables at one commit, to read while transactions go on;
//! - [`OpenRows`]: a transaction that stays open beside others, and is compared with the current state at its commit;
//! - `FollowedSpace` (feature `hosts`): the tables of a database that another process writes to, kept by its log;
//! - [`Rows`](sardonyx_rows::Rows): rows by their columns' names.
//!
//! `docs/internals/tables.md` has a map of all modules, and the places of a new verb.
//!
//! Source: TPK paper, section 2, "Transaction Execution" and Figure 2; section 4, Figure 4.

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]

mod addresses;
mod ahead;
mod build;
mod change;
mod changed_rows;
pub mod changes;
mod described;
#[cfg(feature = "hosts")]
mod followed;
pub mod hash;
pub mod index;
mod index_builds;
mod index_run;
pub mod index_store;
mod index_view;
mod made_beside;
mod open;
mod ordered;
mod ordered_build;
mod packed;
mod places;
mod rebuild;
mod row;
mod rows;
mod schemas;
mod secondary;
mod snapshot;
mod space;
mod stored;
mod table;
mod tables;
mod transaction;
mod undo;
mod values;

pub use ahead::ValuePlaces;
#[cfg(feature = "hosts")]
pub use followed::{FollowError, FollowedSpace};
pub use hash::KeyHash;
pub use index_run::IndexRun;
pub use index_view::TreeEntries;
pub use open::{
    LeftRows, OpenChanges, OpenEntries, OpenRow, OpenRows, OpenScan, OpenTransactions, OwnRow,
};
pub use rebuild::{Contents, RebuildReport, read_contents};
pub use row::Row;
pub use rows::{FixedRow, SnapshotScan, ViewScan};
pub use schemas::{SchemaPiece, definition_of_schemas, read_schemas, schema_pieces};
pub use snapshot::SpaceSnapshot;
pub use space::{IndexMemory, Prefetch, TableSpace, View};
pub use stored::StoredIndexes;
pub use transaction::{Beside, IndexBeside, IndexChanges, Redefined, Transaction, Walk};
