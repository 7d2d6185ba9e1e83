//! Snapshots beside operations: a consistent state to read at leisure, without delaying transactions.

use super::Operation;
use crate::{Error, Record, Table};

/// The state of a database at one commit, to read from any thread, for as long as it is kept, while transactions
/// continue: [`Operations::snapshot`](crate::Operations::snapshot). Clones are the same snapshot.
///
/// It has no effects of unfinished transactions: their inverses undo these on pages of the snapshot's own. While it
/// exists, the first change of a page keeps a copy of that page, up to
/// [`Options::snapshot_bytes_max`](crate::Options::snapshot_bytes_max). At that bound, the oldest snapshot is ended,
/// and reads of it return [`Error::Limit`]. It stays readable when the database is closed. In a child made by `fork` it
/// is refused ([`Error::Forked`]).
///
/// ```
/// # fn main() -> Result<(), sardonyx::Error> {
/// use sardonyx::operations::counter::{Add, Counter, Get, Set};
/// use sardonyx::operations::records::TableOperations;
/// use sardonyx::{Operations, record};
/// record! {
///     #[table("customers", key = id)]
///     struct Customer { id: u64, bought: u64 }
/// }
/// # let directory = tempfile::tempdir()?;
/// let shop = Operations::open(directory.path())?;
/// let stock = Counter::new(shop.area("stock", 1)?, 0);
/// let customers = shop.table::<Customer>()?;
/// shop.run(|tx| {
///     tx.call(&Set::within(stock, 10, 0, 1000))?;
///     tx.call(&customers.insert(&Customer { id: 1, bought: 0 }))
/// })?;
/// let visit = shop.begin(); // and thinks
/// visit.call(&Add::to(stock, -3))?;
/// visit.call(&customers.update(1, |customer| customer.bought += 3))?;
/// let report = shop.snapshot()?; // waits for no transaction
/// assert_eq!(report.call(&Get(stock))?, 10);
/// let bought = report.records(customers).map(|customer| Ok(customer?.bought));
/// assert_eq!(bought.sum::<Result<u64, sardonyx::Error>>()?, 0);
/// visit.commit()?;
/// assert_eq!(report.call(&Get(stock))?, 10);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot(sardonyx_multilevel::Snapshot);

impl Snapshot {
    pub(crate) fn new(snapshot: sardonyx_multilevel::Snapshot) -> Self {
        Snapshot(snapshot)
    }

    /// Executes an operation on it, which asks for no locks here. The values read stay in memory until it ends: read long
    /// ranges of an index in pieces, as in a transaction.
    ///
    /// # Errors
    /// The operation's own. [`Error::Refused`] if it changes something, [`Error::Limit`] if the snapshot was
    /// ended, [`Error::Nested`] within an operation; [`Error::Forked`].
    pub fn call<O: Operation>(&self, operation: &O) -> Result<O::Output, Error>
    where
        O::Error: Send + Sync,
    {
        Ok(self.0.call(operation)?)
    }

    /// All records of a table, in no particular order. Each may be an error instead, as of
    /// [`Snapshot::call`], and is then the last.
    pub fn records<R: Record>(&self, table: Table<R>) -> Records<'_, R> {
        Records(self.0.records(table))
    }

    /// True if it was ended, so that reads fail.
    pub fn is_ended(&self) -> bool {
        self.0.is_ended()
    }
}

/// All records of a table in a snapshot: [`Snapshot::records`].
#[derive(Debug)]
pub struct Records<'s, R>(sardonyx_multilevel::Records<'s, R>);

impl<R: Record> Iterator for Records<'_, R> {
    type Item = Result<R, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.0.next()?;
        Some(record.map_err(Error::from))
    }
}
