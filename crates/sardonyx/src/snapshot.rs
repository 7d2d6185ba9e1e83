//! Snapshots of tables: a consistent state to read at leisure, without delaying transactions.

use crate::Error;
use sardonyx_base::process::Process;
use sardonyx_rows::{Index, Record, Rows, Table};
use sardonyx_serial::SerialError;
use sardonyx_storage::catalogue::Definitions;
use sardonyx_storage::store::{PageSnapshot, SnapshotLife};
use sardonyx_table::{OpenRows, SnapshotScan, SpaceSnapshot, TreeEntries};
use std::sync::Arc;

/// The state of all tables at one commit, to read from any thread, for as long as it is kept, while transactions
/// continue: [`Tables::snapshot`](crate::Tables::snapshot). Clones are the same snapshot.
///
/// No transaction waits for it. While it exists, the first change of a page keeps a copy of that page. So it takes as
/// much memory as was changed meanwhile, up to [`Options::snapshot_bytes_max`](crate::Options::snapshot_bytes_max). At
/// that bound, the oldest snapshot is ended, and reads of it return [`Error::Limit`], with a
/// [`SnapshotEnded`](crate::errors::SnapshotEnded) inside: take a new one then. A snapshot stays readable when the
/// database is closed, and then keeps its memory. In a child made by `fork` it is refused ([`Error::Forked`]).
///
/// ```
/// # fn main() -> Result<(), sardonyx::Error> {
/// use sardonyx::{Tables, record};
/// record! {
///     #[table("accounts", key = id)]
///     struct Account { id: u64, balance: i64 }
/// }
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path();
/// let db = Tables::open(path)?;
/// let accounts = db.table::<Account>()?;
/// db.run(|tx| tx.insert(accounts, &Account { id: 1, balance: 10 }))?;
/// let then = db.snapshot()?;
/// db.run(|tx| tx.update(accounts, 1, |account| account.balance = 20))?;
/// assert_eq!(then.get(accounts, 1)?.unwrap().balance, 10);
/// assert_eq!(db.snapshot()?.get(accounts, 1)?.unwrap().balance, 20);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    space: Arc<SpaceSnapshot>,
    process: Process,
}

impl Snapshot {
    #[inline]
    pub(crate) fn new(space: Arc<SpaceSnapshot>, process: Process) -> Self {
        Snapshot { space, process }
    }

    #[inline]
    fn check(&self) -> Result<&SpaceSnapshot, Error> {
        self.process.check().map_err(SerialError::from)?;
        Ok(&self.space)
    }

    /// Shows if the snapshot was ended, also when it is dropped.
    #[doc(hidden)]
    #[inline]
    pub fn life(&self) -> SnapshotLife {
        self.space.pages().life()
    }

    /// The rows of an open transaction that begins in this state.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[doc(hidden)]
    #[inline]
    pub fn open(&self) -> Result<OpenRows, Error> {
        self.check()?;
        Ok(OpenRows::begin(Arc::clone(&self.space)))
    }

    /// The record with this key.
    ///
    /// # Errors
    /// [`Error::Limit`] if the snapshot was ended; [`Error::Refused`] if the handle is another database's, or its table had
    /// other columns; [`Error::Forked`].
    pub fn get<R: Record>(&self, table: Table<R>, key: R::Key<'_>) -> Result<Option<R>, Error> {
        self.check()?.get(table, key)
    }

    /// All records of a table, in no particular order.
    ///
    /// # Errors
    /// [`Error::Forked`]; each record may be [`Error::Limit`] instead, if the snapshot was ended, and is then
    /// the last.
    pub fn scan<R: Record>(&self, table: Table<R>) -> Result<SnapshotScan<'_, R>, Error> {
        self.check()?.scan(table)
    }

    /// The number of records in a table.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn count<R: Record>(&self, table: Table<R>) -> Result<u64, Error> {
        self.check()?.count(table)
    }

    /// The handle of a record type's table, if it was declared.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was declared with another layout; [`Error::Forked`].
    pub fn table<R: Record>(&self) -> Result<Option<Table<R>>, Error> {
        Ok(self.check()?.table()?)
    }

    /// The rows of the table with this name, to read by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Forked`].
    #[inline]
    pub fn rows(&self, table: &str) -> Result<Rows<&SpaceSnapshot>, Error> {
        self.check()?.rows(table)
    }

    /// An ordered index of a table, to find records by it and to walk in its order.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's; [`Error::Forked`].
    pub fn index<R: Record>(
        &self,
        table: Table<R>,
        name: &str,
    ) -> Result<Index<TreeEntries<'_, PageSnapshot>, R>, Error> {
        self.check()?.index(table, name)
    }

    /// The tables, journals and areas.
    #[inline]
    pub fn definitions(&self) -> &Definitions {
        self.space.definitions()
    }

    /// True if it was ended, so that every read fails.
    #[inline]
    pub fn is_ended(&self) -> bool {
        self.space.is_ended()
    }

    /// The storage below, for tools.
    #[doc(hidden)]
    #[inline]
    pub fn space(&self) -> &Arc<SpaceSnapshot> {
        &self.space
    }
}
