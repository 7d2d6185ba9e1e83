//! Records of tables as operations: the tables of the serial way, in transactions that run side by
//! side and may change counters, indexes and other objects, too.
//!
//! A table is the same here and there: the same entries of the catalogue, the same pages in the same
//! format. So a database that one way has written is opened by the other, one at a time.
//!
//! - **Locks.** On keys, with a record or without ([`RECORDS`]): shared to read, exclusive to
//!   insert, update and delete, until the transaction ends. With
//!   [`Strategy::SingleLevel`](crate::Strategy) a key is locked as a page is. The page of a record is
//!   locked until the operation ends.
//! - **Undo.** The inverse of all of them is [`Restore`]: the key has the record that it had, or none. The
//!   place of a deleted record is used again at once, so a record that comes back may need another: a page is
//!   reserved for that until the transaction ends.
//! - **The places of keys** are in memory only (`memory`): an index of 19 to 39 bytes for each
//!   record, made anew when the database is opened. That reads all records, on one thread.
//! - **Texts and bytes** are in cells of other pages (`cells`), as in the serial way. A row as bytes of its own
//!   ([`RowFormat`](sardonyx_rows::RowFormat)) has them, too: so an inverse restores them.
//!
//! Not supported: scans in transactions (they would need a lock on the whole table for each change; a
//! [`Snapshot`](crate::Snapshot) has them), and journals.
//!
//! Source: DASDBS paper, section 2 (semantic locks, compensation); Li & Naughton, Figure 4 (tables).

mod allocation;
mod cells;
mod error;
pub(crate) mod growth;
pub(crate) mod memory;
pub(crate) mod opening;
mod operations;
mod reading;
mod room;
mod rows;
mod shape;

pub(crate) use operations::read_record;
pub(crate) use shape::RowsOf;

pub use error::{ROW_BYTES_MAX, RecordError};
pub use operations::{Delete, Get, Insert, Restore, Update};

use sardonyx_lock::{LockSpace, Mode};
use sardonyx_rows::Record;
pub use sardonyx_rows::Table;

/// To read the record of a key, or its absence.
pub const READ: Mode = Mode(0);

/// To change the record of a key.
pub const CHANGE: Mode = Mode(1);

/// The keys of all tables.
pub static RECORDS: LockSpace = LockSpace::new("records", &[&[true, false], &[false, false]]);

/// The operations on a table's records, as methods of a handle ([`Database::table`](crate::Database::table)).
///
/// ```
/// use sardonyx_multilevel::counter::{Add, Counter, Set};
/// use sardonyx_multilevel::records::TableOperations;
/// use sardonyx_multilevel::{Options, record};
/// use sardonyx_base::resident::Resident;
///
/// #[derive(Clone, Copy, PartialEq, Debug, Resident)]
/// #[repr(C)]
/// struct Customer {
///     number: u64,
///     orders: u64,
/// }
/// record!(Customer { table: "customers", key: number: u64 });
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("shop.sdx");
/// let shop = Options::new().open(&path)?;
/// let customers = shop.table::<Customer>()?;
/// let stock = Counter::new(shop.area("stock", 1)?, 0);
/// shop.run(|tx| tx.call(&Set::within(stock, 10, 0, 1000)))?;
/// shop.run(|tx| tx.call(&customers.insert(&Customer { number: 7, orders: 0 })))?;
/// // Both or neither, and other customers buy the same article meanwhile.
/// let sale = shop.begin();
/// sale.call(&Add::to(stock, -3))?;
/// sale.call(&customers.update(7, |customer| customer.orders += 1))?;
/// sale.commit()?;
/// let customer = shop.run(|tx| tx.call(&customers.get(7)))?;
/// assert_eq!(customer, Some(Customer { number: 7, orders: 1 }));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// Records of plain data and those with `#[derive(Record)]`, which may have texts and bytes, have the same.
pub trait TableOperations<R: Record>: Copy {
    /// Gets the record of a key.
    fn get<'k>(self, key: R::Key<'k>) -> Get<'k, R>;

    /// Adds a record whose key is not there.
    fn insert(self, record: &R) -> Insert<'_, R>;

    /// Changes the record of a key, if there is one. `change` may be called again, after its effects were undone.
    fn update<'k, F: Fn(&mut R)>(self, key: R::Key<'k>, change: F) -> Update<'k, R, F>;

    /// The output is `None` if there is none.
    fn delete<'k>(self, key: R::Key<'k>) -> Delete<'k, R>;
}

impl<R: Record> TableOperations<R> for Table<R> {
    fn get<'k>(self, key: R::Key<'k>) -> Get<'k, R> {
        Get {
            table: self,
            key,
            to_change: false,
        }
    }

    fn insert(self, record: &R) -> Insert<'_, R> {
        let table = self;
        Insert { table, record }
    }

    fn update<'k, F: Fn(&mut R)>(self, key: R::Key<'k>, change: F) -> Update<'k, R, F> {
        let table = self;
        Update { table, key, change }
    }

    fn delete<'k>(self, key: R::Key<'k>) -> Delete<'k, R> {
        Delete { table: self, key }
    }
}
