//! Sardonyx: keep your data in memory, get ACID transactions that are durable at memory speed.
//!
//! ```
//! use sardonyx::{Database, Error, record};
//! # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
//!
//! #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
//! #[repr(C)]
//! struct Account {
//!     id: u64,
//!     balance: i64,
//! }
//! record!(Account { table: "accounts", key: id: u64 });
//!
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("bank.sdx");
//! let bank = Database::open(&path)?;
//! let accounts = bank.table::<Account>()?;
//! bank.run(|tx| {
//!     tx.insert(accounts, &Account { id: 1, balance: 100 })?;
//!     tx.insert(accounts, &Account { id: 2, balance: 0 })?;
//!     Ok::<_, Error>(())
//! })?;
//! bank.run(|tx| {
//!     tx.update(accounts, &1, |account| account.balance -= 30)?;
//!     tx.update(accounts, &2, |account| account.balance += 30)?;
//!     Ok::<_, Error>(())
//! })?; // on stable storage when this returns
//! assert_eq!(bank.read(|view| view.get(accounts, &2).map(|a| a.balance)), Some(30));
//! bank.close()?;
//! # Ok::<_, Error>(())
//! ```
//!
//! - **Durable** means on stable storage: a call returns after its commit group, and all earlier
//!   ones, were synced ([`Durability`] chooses per call).
//! - **Serial**: transactions run one at a time, in memory, in nanoseconds; what takes long, the
//!   disk, is shared by all that commit together.
//! - An error or a panic inside a transaction undoes it.
//!
//! Another way to run transactions is [`mapped`]: ordinary loads and stores in memory that several
//! processes share. And for long transactions on hot objects there is [`multilevel`]: operations
//! with inverses, which run side by side where they commute.
//!
//! How it works inside: `docs/architecture.md` in the repository.

mod database;
mod error;
mod options;

pub use database::{Database, Statistics};
pub use error::Error;
pub use options::Options;
/// Transactions by ordinary loads and stores, for several processes at once.
///
/// ```
/// use sardonyx::mapped::{Heap, MemoryAccess, Options, P, Resident};
///
/// #[derive(Clone, Copy, Resident)]
/// #[resident(crate = sardonyx::mapped)]
/// #[repr(C)]
/// struct Account {
///     id: u64,
///     balance: i64,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("bank.sdx");
/// let bank = Options::new().open(&path)?;
/// let account: P<Account> = bank.run(|tx| {
///     let heap = Heap::open_or_format(tx)?;
///     let account = heap.allocate(tx, &Account { id: 1, balance: 100 })?;
///     heap.set_root(tx, "account", account, "Account")?;
///     Ok::<_, sardonyx::mapped::heap::HeapError>(account)
/// })?;
/// bank.run(|tx| {
///     tx.get_mut(account)?.balance -= 30;
///     Ok::<_, sardonyx::mapped::memory::PlaceError>(())
/// })?; // on stable storage when this returns
/// assert_eq!(bank.snapshot()?.get(account)?.balance, 70);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub use sardonyx_mapped as mapped;
/// Transactions of operations that have inverses: what commutes runs side by side.
///
/// ```
/// use sardonyx::multilevel::Options;
/// use sardonyx::multilevel::counter::{Add, Counter, Get, Set};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("stock.sdx");
/// let shop = Options::new().open(&path)?;
/// let stock = Counter::new(shop.area("stock", 1)?, 0);
/// shop.run(|tx| tx.call(&Set::within(stock, 10, 0, 1000)))?;
/// let (one, other) = (shop.begin(), shop.begin());
/// one.call(&Add::to(stock, -3))?;
/// other.call(&Add::to(stock, -7))?; // does not wait: the stock suffices whatever becomes of both
/// one.commit()?; // on stable storage
/// other.abort()?; // undone by its inverse
/// assert_eq!(shop.run(|tx| tx.call(&Get(stock)))?, 7);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub use sardonyx_multilevel as multilevel;
pub use sardonyx_serial::{
    BatchTicket, Durability, Procedure, ProcedureError, Registered, SerialError, Shape, StageTimes,
    Ticket,
};
pub use sardonyx_storage as storage;
pub use sardonyx_storage::journal::Retention;
pub use sardonyx_storage::log::policy::{GroupLimits, GroupPolicy};
pub use sardonyx_storage::recovery::RecoveryReport;
pub use sardonyx_table as table;
pub use sardonyx_table::{
    Field, Journal, JournalRow, Prefetch, Record, RecordKey, Row, Table, TableError, TableSpace,
    Transaction, View, field, record,
};
pub use zerocopy;
