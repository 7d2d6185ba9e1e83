//! Durable transactions at memory speed: an embedded engine for data that fits into memory. Each
//! transaction is on disk before it is acknowledged.
//!
//! ```
//! use sardonyx::{Error, Tables, record};
//!
//! record! {
//!     #[table("accounts", key = id)]
//!     struct Account {
//!         id: i64,
//!         balance: i64,
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//! #   let directory = tempfile::tempdir()?;
//! #   std::env::set_current_dir(&directory)?;
//!     let bank = Tables::open("bank.sdx")?;
//!     let accounts = bank.table::<Account>()?;
//!     bank.run(|tx| {
//!         tx.insert(accounts, &Account { id: 1, balance: 100 })?;
//!         tx.insert(accounts, &Account { id: 2, balance: 0 })?;
//!         Ok(())
//!     })?;
//!     bank.run(|tx| {
//!         let from = tx.update(accounts, 1, |account| account.balance -= 30)?; // `None` if it does not exist
//!         let to = tx.update(accounts, 2, |account| account.balance += 30)?;
//!         from.and(to).ok_or_else(|| Error::other("no such account")) // an error undoes the transaction
//!     })?; // on stable storage when this returns
//!     let of_two = bank.read(|view| Ok(view.get(accounts, 2)?.map(|account| account.balance)))?;
//!     assert_eq!(of_two, Some(30));
//!     bank.close()
//! }
//! ```
//!
//! # One database, several ways in
//!
//! A database is a directory. Open it in the way that fits its data, one way at a time:
//!
//! | | you write | feature |
//! | --- | --- | --- |
//! | [`Tables`] | closures, or batched procedures, on typed records; one at a time, the highest rate | |
//! | `Memory` | ordinary loads and stores; several processes share it, without a server | `memory` |
//! | `Operations` | operations with inverses and lock modes; long transactions and hot counters that do not wait | `operations` |
//! | `nodes` | closures on typed records, by several processes at once, of one host or more | `nodes` |
//!
//! The handles have the same verbs: `open`, `run` (a closure is a transaction, which an error or a panic
//! undoes), `transaction` ([`RunOptions`]: a choice of [`Durability`], an error type of your own), `flush`, `checkpoint`,
//! `statistics`, `recovery`, `close`. Tables and memory have `submit` (a [`Ticket`]), all but nodes `begin` (to end
//! by hand: an [`OpenTransaction`] of tables blocks no other transaction). [`Options`] opens all of them.
//!
//! | for | module |
//! | --- | --- |
//! | rows by the names of their columns, and by indexes | [`rows`] |
//! | schemas, migrations; types of columns | [`schema`], [`types`] |
//! | procedures that are submitted in batches | [`procedures`] |
//! | journals, and how long their rows are kept | [`journals`] |
//! | changes of rows, in the order of their commits | [`changes`] |
//! | reading beside the program that has a database open | `follower` |
//! | backups of an open database ([`Tables::backup`]), each a database | [`backup`] |
//! | figures, and the results of recovery | [`reports`] |
//!
//! # Errors
//!
//! There is one [`Error`]. Its variants show the reaction ([`Error::Conflict`]: run it again), its text the cause. An
//! error of a closure undoes its transaction, and `run` returns it:
//!
//! ```
//! # use sardonyx::{Error, Tables, record};
//! # record! { #[table("articles", key = code)] struct Article { code: u64, stock: u64 } }
//! #[derive(Debug)]
//! struct OutOfStock(u64);
//! # impl std::fmt::Display for OutOfStock {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
//! #         write!(f, "article {} is out of stock", self.0)
//! #     }
//! # }
//! impl std::error::Error for OutOfStock {}
//!
//! # fn main() -> Result<(), Error> {
//! # let directory = tempfile::tempdir()?;
//! # let shop = Tables::open(directory.path().join("shop.sdx"))?;
//! # let articles = shop.table::<Article>()?;
//! # shop.run(|tx| tx.insert(articles, &Article { code: 7, stock: 0 }))?;
//! let sold = shop.run(|tx| {
//!     let stock = tx.get(articles, 7)?.map_or(0, |article| article.stock);
//!     let left = stock.checked_sub(1).ok_or_else(|| Error::other(OutOfStock(7)))?;
//!     tx.update(articles, 7, |article| article.stock = left)
//! });
//! match sold {
//!     Err(error) if error.downcast_ref::<OutOfStock>().is_some() => println!("sorry: {error}"),
//!     other => assert!(other?.is_some()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Sharing
//!
//! Share a handle between threads by reference or in an `Arc`. `close` ends the database for all of them, and later calls
//! return [`Error::Closed`]. Inside a transaction, use the transaction: a call of the database would wait for itself, so
//! it returns [`Error::Nested`].
//!
//! # Several hosts
//!
//! With its log in a store (`Options::store`), a database outlives its host: `hosts` follow that log, and one takes over
//! when the primary fails. Feature `hosts`.
//!
//! # Features
//!
//! `memory`, `operations` and `nodes` add the other ways; `hosts` adds logs in a store, hosts that take over, and
//! `Follower`; `harness` tests operations of your own. Without them a program builds the least.
//!
//! Implementation: `docs/architecture.md` in the repository.

#[cfg(not(target_os = "linux"))]
compile_error!("sardonyx needs Linux");

pub mod backup;
pub mod changes;
#[cfg(feature = "hosts")]
mod clock;
mod compact;
mod error;
#[cfg(all(feature = "hosts", not(shuttle)))]
pub mod follower;
#[cfg(feature = "hosts")]
mod host_error;
#[cfg(all(feature = "hosts", not(shuttle)))]
pub mod hosts;
mod inside;
#[cfg(feature = "memory")]
pub mod memory;
mod migrations;
#[cfg(all(feature = "nodes", not(shuttle)))]
pub mod nodes;
#[cfg(feature = "operations")]
pub mod operations;
mod options;
mod record;
mod run_options;
mod snapshot;
mod statistics;
mod tables;
mod ticket;

pub use error::Error;
#[cfg(all(feature = "hosts", not(shuttle)))]
pub use follower::Follower;
#[cfg(feature = "memory")]
pub use memory::Memory;
#[cfg(feature = "operations")]
pub use operations::Operations;
pub use options::Options;
pub use run_options::RunOptions;
pub use snapshot::Snapshot;
pub use tables::{OpenTransaction, Tables};
pub use ticket::Ticket;

/// Makes a struct with fields of any length a row of a table, an enum a field of one.
pub use sardonyx_derive::Record;
pub use sardonyx_rows::{Field, Journal, Record, Table, field};
pub use sardonyx_serial::{Durability, Shape};
pub use sardonyx_storage::checkpoint::Checkpoints;
pub use sardonyx_table::{Transaction, View};

/// Disks, where a database's files are on them, and the groups in which its log is written. With the feature
/// `simulated-disk` a disk in memory that can be crashed, for tests.
pub mod disk {
    pub use sardonyx_storage::disk::{Disk, RealDisk};
    #[cfg(feature = "simulated-disk")]
    pub use sardonyx_storage::disk::{Faults, SimulatedDisk};
    pub use sardonyx_storage::log::policy::{GroupLimits, GroupPolicy};
    pub use sardonyx_storage::places::Directories;
}

/// Errors of tables that may be the cause of an [`Error`]: [`Error::downcast_ref`] finds them.
pub mod errors {
    pub use crate::migrations::MigrationError;
    pub use sardonyx_rows::{Conflict, ConflictWith, RowError, TableError, TransactionEnded};
    pub use sardonyx_storage::store::SnapshotEnded;
}

/// Journals: types of their rows, positions of rows, and how long they are kept.
pub mod journals {
    pub use crate::tables::JournalRows;
    pub use sardonyx_rows::{JournalRow, PlainJournalRow};
    pub use sardonyx_storage::journal::{InvalidPosition, JournalPosition, Retention};
}

/// Procedures: transactions that are registered once and submitted in batches, and exchanges with clients over them.
///
/// ```
/// use sardonyx::procedures::{Procedure, TableSpace};
/// use sardonyx::{Error, Table, Tables, Transaction, record};
///
/// record! {
///     #[table("accounts", key = id)]
///     struct Account { id: i64, balance: i64 }
/// }
///
/// struct Deposit(Table<Account>);
///
/// impl Procedure for Deposit {
///     type Arguments = (i64, i64);
///     type Output = ();
///     type Error = Error;
///     type Located = (); // rows that `locate` finds for `execute`; none here
///
///     fn name(&self) -> &str {
///         "deposit"
///     }
///     fn locate(&self, _: &(i64, i64), _: &TableSpace) {}
///     fn execute(&self, &(id, amount): &(i64, i64), (): (), tx: &mut Transaction<'_>) -> Result<(), Error> {
///         let found = tx.update(self.0, id, |account| account.balance += amount)?;
///         found.ok_or_else(|| Error::other("no such account")) // an error undoes this request alone
///     }
/// }
///
/// # fn main() -> Result<(), Error> {
/// # let directory = tempfile::tempdir()?;
/// # let bank = Tables::open(directory.path().join("bank.sdx"))?;
/// let accounts = bank.table()?;
/// bank.run(|tx| tx.put(accounts, &Account { id: 1, balance: 100 }))?;
/// let deposit = bank.register(Deposit(accounts))?;
/// let outcomes = bank.submit_batch(&deposit, vec![(1, 30), (2, 70)], 0).wait()?;
/// assert!(outcomes[0].is_ok() && outcomes[1].is_err()); // there is no account 2
/// # Ok(())
/// # }
/// ```
pub mod procedures {
    pub use crate::ticket::BatchTicket;
    pub use sardonyx_serial::{Exchange, Outcomes, Owed, Procedure, ProcedureError, Registered};
    pub use sardonyx_table::{Prefetch, TableSpace};
}

/// Reports of a database's work: its figures, and the results of recovery, rebuilding and compaction.
pub mod reports {
    pub use crate::compact::Compaction;
    pub use crate::statistics::Statistics;
    pub use sardonyx_serial::StageTimes;
    pub use sardonyx_storage::checkpoint::Waiting as CheckpointWaiting;
    pub use sardonyx_storage::recovery::RecoveryReport;
    pub use sardonyx_table::RebuildReport;
}

/// Rows: by their columns' names, by indexes, and the traits of all states and transactions that have rows.
pub mod rows {
    pub use sardonyx_rows::{
        AnyRow, DefineRows, EachRow, Index, IndexRange, OneRow, ReadRow, ReadRows, RecordMut,
        RecordRow, RecordRows, RowRef, RowWriter, Rows, Savepoint, ScanRows, WriteRows,
    };
    pub use sardonyx_table::{OpenRow, OpenRows, OpenScan, Row, SpaceSnapshot, Walk};
}

/// Schemas of tables, known at run time, and migrations from one to the next.
pub mod schema {
    #[doc(hidden)]
    pub use crate::migrations::Migrating;
    pub use crate::migrations::Migration;
    pub use sardonyx_rows::schema::*;
}

/// Types of fields and keys: dates, times, decimals and UUIDs, and the traits for types of a program's own.
pub mod types {
    pub use sardonyx_rows::types::*;
    pub use sardonyx_rows::{ColumnType, KeyValues, Plain, StoredField};
}

/// Parts for programs that build another front end or a store on this engine: addresses of pages, forms of rows, constraints.
pub mod low_level {
    #[doc(hidden)]
    pub use crate::error::interruption;
    #[doc(hidden)]
    pub use crate::inside::{Driving, Inside};
    #[doc(hidden)]
    pub use crate::tables::{Begun, Committed, Reached, Turn, is_to_run_again, is_too_many};
    // The trait; the derive's name is that of the next line.
    pub use resident::*;
    pub use sardonyx_derive::ResidentOfPrograms as Resident;
    pub use sardonyx_rows::constraints::{Due, HeldReference};
    pub use sardonyx_rows::{FoundRow, IndexEntries, RecordColumn, RecordKey, RowForm};
    #[doc(hidden)]
    pub use sardonyx_serial::Steps;
    #[doc(hidden)]
    pub use sardonyx_storage::log::writer::Gathering;
    pub use sardonyx_storage::page::Address;
    #[doc(hidden)]
    pub use sardonyx_storage::prefetch::prefetch_value;
    pub use sardonyx_storage::store::PageSnapshot;
    #[doc(hidden)]
    pub use sardonyx_table::{
        Beside, FixedRow, IndexBeside, IndexChanges, IndexRun, LeftRows, OpenChanges, OwnRow,
        Redefined, ValuePlaces,
    };
    pub use sardonyx_table::{OpenEntries, TreeEntries};

    /// The path at which the derive of plain data finds the trait; [`record!`](crate::record!) writes the derive.
    #[doc(hidden)]
    pub mod resident {
        pub use sardonyx_base::resident::Resident;
    }
}

/// The names that [`record!`] and the derives write.
#[doc(hidden)]
pub mod declared {
    pub use sardonyx_derive::plain_struct;
    pub use sardonyx_rows::nested_columns;
    pub use sardonyx_rows::{
        FormattedRow, Found, JournalFormat, JournalRow, KeyValues, PlainJournalRow, PlainLayout,
        Record, RowRef, RowWriter, StoredField, TableError, find_columns, no_value_of_field,
        record, schema,
    };
    pub use sardonyx_storage::store::PageRead;
}

/// The programs of README and of the guides are compiled with the tests of the documentation. Each is named after its
/// file, since `Tables` and others are names of this crate.
#[cfg(doctest)]
macro_rules! guides {
    ($($guide:ident: $file:literal,)*) => {
        $(
            #[doc = include_str!($file)]
            struct $guide;
        )*
    };
}

#[cfg(all(
    doctest,
    not(shuttle),
    feature = "memory",
    feature = "operations",
    feature = "nodes"
))]
guides! {
    ReadmeMd: "../../../README.md",
    TablesMd: "../../../docs/tables.md",
    NodesMd: "../../../docs/nodes.md",
    MappedMd: "../../../docs/mapped.md",
    MultilevelMd: "../../../docs/multilevel.md",
}

#[cfg(all(doctest, not(shuttle), feature = "hosts"))]
guides! {
    FollowersMd: "../../../docs/followers.md",
}
