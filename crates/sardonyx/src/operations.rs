//! Operations: transactions of operations that have inverses; commuting operations run concurrently.

mod snapshot;

pub use snapshot::{Records, Snapshot};

use crate::error::Typed;
use crate::statistics::Statistics;
use crate::{Error, Options, Record, RunOptions, Table};
use sardonyx_multilevel::Database;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::recovery::RecoveryReport;
use std::path::Path;
use std::sync::Arc;

/// Tests of a program's own operations: of their lock modes and inverses.
#[cfg(feature = "harness")]
pub use sardonyx_multilevel::harness;
pub use sardonyx_multilevel::{
    Area, Change, Inverse, LockRequests, LockSpace, Mode, Operation, PAGE_SIZE, PageId, PageLog,
    Pages, PlainPages, Recorded, Release, RestartDelay, Statistics as OperationStatistics, Stop,
    Strategy, Undone, VictimRule,
};
/// Operations on the records of tables: the same tables that [`Tables`](crate::Tables) has.
pub mod records {
    pub use sardonyx_multilevel::records::{
        Delete, Get, Insert, ROW_BYTES_MAX, RecordError, Restore, TableOperations, Update,
    };
}
pub use sardonyx_multilevel::{Values, recorded};
/// Bounded counters whose changes commute (escrow).
pub mod counter {
    pub use sardonyx_multilevel::counter::*;
}
/// An ordered index from bytes to bytes.
pub mod index {
    pub use sardonyx_multilevel::index::*;
}

/// A database that is open as operations: long transactions on hot objects. They run concurrently where their operations
/// commute, and are undone by inverses. Cloning it makes another handle.
///
/// ```
/// use sardonyx::Operations;
/// use sardonyx::operations::counter::{Add, Counter, Get, Set};
///
/// fn main() -> Result<(), sardonyx::Error> {
/// #   let directory = tempfile::tempdir()?;
/// #   let path = directory.path().join("stock.sdx");
///     let shop = Operations::open(&path)?;
///     let stock = Counter::new(shop.area("stock", 1)?, 0);
///     shop.run(|tx| tx.call(&Set::within(stock, 10, 0, 1000)))?;
///     let (one, other) = (shop.begin(), shop.begin());
///     one.call(&Add::to(stock, -3))?;
///     other.call(&Add::to(stock, -7))?; // does not wait: 10 covers both, whether they commit or abort
///     one.commit()?; // on stable storage
///     other.abort()?; // undone by its inverse
///     assert_eq!(shop.run(|tx| tx.call(&Get(stock)))?, 7);
///     shop.close()
/// }
/// ```
///
/// It belongs to the process that opened it, as tables do.
#[derive(Clone, Debug)]
pub struct Operations {
    database: Arc<Database>,
}

/// The options that only operations have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    pub strategy: Strategy,
    pub page_log: PageLog,
    pub release: Release,
    pub victims: VictimRule,
    pub restart_delay: RestartDelay,
    pub snapshot_bytes_max: Option<u64>,
    pub registered: Vec<fn(sardonyx_multilevel::Options) -> sardonyx_multilevel::Options>,
}

impl Choices {
    pub fn over(self, storage: StorageOptions) -> sardonyx_multilevel::Options {
        let options = sardonyx_multilevel::Options::new()
            .storage(storage)
            .strategy(self.strategy)
            .page_log(self.page_log)
            .release(self.release)
            .victims(self.victims)
            .restart_delay(self.restart_delay);
        let options = match self.snapshot_bytes_max {
            Some(bytes) => options.snapshot_bytes_max(bytes),
            None => options,
        };
        self.registered
            .into_iter()
            .fold(options, |options, register| register(options))
    }
}

impl Operations {
    /// Opens the database in this directory, or makes it, with the default [`Options`]: only the operations of the ready
    /// types are registered. Unfinished transactions are undone before this returns.
    ///
    /// # Errors
    /// [`Error::Locked`] if it is open already, here or in another process, in any way; [`Error::Damaged`], with file and
    /// offset; the system's errors.
    pub fn open(path: impl AsRef<Path>) -> Result<Operations, Error> {
        Options::new().open_operations(path)
    }

    pub(crate) fn open_with(
        disk: Arc<dyn Disk>,
        options: sardonyx_multilevel::Options,
    ) -> Result<Operations, Error> {
        let database = Arc::new(options.open_on(disk)?);
        Ok(Operations { database })
    }

    /// The area of this name, declared where absent, with at least `pages` pages. Names that begin with a
    /// dot are the engine's.
    ///
    /// # Errors
    /// If the name is that of a table or the engine's, or there is no more room; [`Error::Closed`].
    pub fn area(&self, name: &str, pages: u64) -> Result<Area, Error> {
        Ok(self.database.area(name, pages)?)
    }

    /// The table of this record type, declared where absent: the same that [`Tables`](crate::Tables) has
    /// under its name.
    ///
    /// ```
    /// use sardonyx::operations::records::TableOperations;
    /// use sardonyx::{Operations, Record};
    ///
    /// #[derive(Debug, PartialEq, Record)]
    /// #[record(table = "articles", key = code)]
    /// struct Article {
    ///     code: String,
    ///     text: String,
    /// }
    /// # let directory = tempfile::tempdir()?;
    /// let shop = Operations::open(directory.path())?;
    /// let articles = shop.table::<Article>()?;
    /// let (code, text) = ("b-7".to_string(), "a bolt".to_string());
    /// shop.run(|tx| tx.call(&articles.insert(&Article { code: code.clone(), text: text.clone() })))?;
    /// let visit = shop.begin();
    /// visit.call(&articles.update("b-7", |article| article.text.push_str(", and its nut")))?;
    /// visit.abort()?; // undone by its inverse
    /// let found = shop.run(|tx| tx.call(&articles.get("b-7")))?;
    /// assert_eq!(found, Some(Article { code, text }));
    /// # Ok::<(), sardonyx::Error>(())
    /// ```
    ///
    /// # Errors
    /// If something else has its name, it has other columns, or more than rows (indexes, references, conditions), or there
    /// is no more room; [`Error::Closed`].
    pub fn table<R: Record>(&self) -> Result<Table<R>, Error> {
        Ok(self.database.table::<R>()?)
    }

    /// A snapshot of everything that is committed, which is on stable storage when this returns. Transactions continue;
    /// neither waits for the other.
    ///
    /// # Errors
    /// [`Error::Nested`] within an operation; [`Error::Closed`]; [`Error::Poisoned`] if the log failed, or an inverse of
    /// an unfinished transaction; [`Error::Limit`] if the memory for it is not enough; [`Error::Forked`].
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(Snapshot::new(self.database.snapshot()?))
    }

    /// Runs a closure as a transaction and returns when it is on stable storage. Whenever it is chosen to end a deadlock,
    /// it is aborted and run again.
    ///
    /// # Errors
    /// The closure's error, after everything it did was undone; or the engine's: [`Error::Closed`], [`Error::Full`],
    /// [`Error::Poisoned`], [`Error::Forked`].
    ///
    /// # Panics
    /// With the closure's panic, after everything it did was undone.
    pub fn run<T>(
        &self,
        mut body: impl FnMut(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.database
            .run(|transaction| body(&Transaction(Its::Lent(transaction))))
    }

    /// Options of one transaction beyond [`Operations::run`]: errors of a type of the program's own. A transaction of
    /// operations is always durable when it returns.
    pub fn transaction(&self) -> RunOptions<'_, Operations> {
        RunOptions::new(self)
    }

    /// Runs a closure with errors of its own type.
    pub(crate) fn run_typed<T, E: From<Error>>(
        &self,
        mut body: impl FnMut(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let outcome = self
            .database
            .run(|transaction| body(&Transaction(Its::Lent(transaction))).map_err(Typed));
        outcome.map_err(|Typed(error)| error)
    }

    /// Begins a transaction. It is an owned value: keep it beside the database, send it to another thread, or hold it in
    /// a task. A session for each visitor needs no thread. Its calls may wait for other transactions. It is aborted when
    /// it is dropped.
    ///
    /// ```
    /// # use sardonyx::Operations;
    /// # use sardonyx::operations::{Transaction, counter::{Add, Counter}};
    /// struct Visitor {
    ///     shop: Operations,
    ///     basket: Transaction<'static>,
    /// }
    /// fn is_send<T: Send + 'static>() {}
    /// is_send::<Visitor>();
    /// ```
    pub fn begin(&self) -> Transaction<'static> {
        Transaction(Its::Own(self.database.begin_owned(None)))
    }

    /// Begins a transaction in place of one that was aborted because it was chosen to end a deadlock
    /// ([`Error::Conflict`]), with that transaction's age ([`Transaction::age`]). So it eventually becomes the oldest,
    /// and is not chosen again.
    pub fn begin_again(&self, age: u64) -> Transaction<'static> {
        Transaction(Its::Own(self.database.begin_owned(Some(age))))
    }

    /// Writes everything that has been appended to the log, and waits for it.
    ///
    /// # Errors
    /// If the log failed; [`Error::Closed`].
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.database.flush()?)
    }

    /// Takes a checkpoint and waits for it, so that the next recovery starts from here.
    ///
    /// # Errors
    /// If the log or the checkpointer failed; [`Error::Closed`].
    pub fn checkpoint(&self) -> Result<(), Error> {
        Ok(self.database.checkpoint()?)
    }

    /// The engine's statistics since the opening; zero in a forked child.
    pub fn statistics(&self) -> Statistics {
        let operations = self.database.statistics();
        Statistics {
            committed: operations.committed,
            run_again: operations.deadlocks,
            log: operations.log,
            checkpoint: operations.checkpoint,
            operations,
            ..Statistics::default()
        }
    }

    /// The report of the recovery at the opening: the redo pass.
    pub fn recovery(&self) -> &RecoveryReport {
        self.database.recovery()
    }

    /// The report of the recovery at the opening: the undo pass.
    pub fn undone(&self) -> Undone {
        self.database.undone()
    }

    /// Makes everything durable, and closes the database for all handles. Every later call is refused
    /// ([`Error::Closed`]), except another close, which does nothing. Running transactions are refused, too, and are
    /// undone at the next opening. Dropping the last handle closes it, too, but reports no errors.
    ///
    /// # Errors
    /// If the log failed. [`Error::Nested`] on one of the engine's own threads: then another thread closes it.
    /// [`Error::Forked`] in a child of the process that opened it, where nothing is done.
    pub fn close(&self) -> Result<(), Error> {
        Ok(self.database.close()?)
    }
}

/// A running transaction: a series of operations, committed or aborted together. Dropping it aborts it.
#[derive(Debug)]
pub struct Transaction<'a>(Its<'a>);

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a transaction is begun often: boxing the owned one would allocate each time"
)]
enum Its<'a> {
    /// By [`Operations::run`], which ends it.
    Lent(&'a sardonyx_multilevel::Transaction<'a>),
    Own(sardonyx_multilevel::Transaction<'static>),
}

impl Transaction<'_> {
    fn inner(&self) -> &sardonyx_multilevel::Transaction<'_> {
        match &self.0 {
            Its::Lent(transaction) => transaction,
            Its::Own(transaction) => transaction,
        }
    }

    /// Executes an operation.
    ///
    /// # Errors
    /// The operation's own, as [`Error::downcast_ref`] finds it: the operation is undone, and the transaction can
    /// continue and may call it again. [`Error::Conflict`] if the transaction was chosen to end a deadlock: it has to be
    /// aborted, and may be run again ([`Operations::run`] does both). [`Error::Nested`] within an operation.
    /// [`Error::Closed`].
    ///
    /// # Panics
    /// With the operation's panic, after undoing the operation.
    pub fn call<O: Operation>(&self, operation: &O) -> Result<O::Output, Error>
    where
        O::Error: Send + Sync,
    {
        Ok(self.inner().call(operation)?)
    }

    /// Runs operations of this transaction in parallel: like [`std::thread::scope`], whose threads may call operations.
    /// They are isolated from each other by locks on pages only, since they share the transaction's locks on objects.
    /// Their effects must be right in any order.
    pub fn scope<'env, F, T>(&'env self, body: F) -> T
    where
        F: for<'scope> FnOnce(&'scope std::thread::Scope<'scope, 'env>) -> T,
    {
        std::thread::scope(body)
    }

    /// A number that no other transaction of this opening has, from 1.
    pub fn number(&self) -> u64 {
        self.inner().number()
    }

    /// Its age, to run it again with: [`Operations::begin_again`].
    pub fn age(&self) -> u64 {
        self.inner().age()
    }

    /// True if it was chosen to end a deadlock, so that it can only be aborted.
    pub fn is_doomed(&self) -> bool {
        self.inner().is_doomed()
    }
}

impl Transaction<'static> {
    /// Commits: when this returns, the transaction is on stable storage.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it was chosen to end a deadlock; [`Error::Closed`]; [`Error::Full`]: then it has been
    /// aborted. [`Error::Poisoned`] if the log failed: its outcome is known at the next opening.
    pub fn commit(self) -> Result<(), Error> {
        match self.0 {
            Its::Own(transaction) => Ok(transaction.commit()?),
            // Only lent as a reference.
            Its::Lent(_) => Ok(()),
        }
    }

    /// Aborts: everything it did is undone when this returns.
    ///
    /// # Errors
    /// If an inverse fails, the transaction stays unfinished, with its locks; if the log does, or the
    /// database is closed, without them. It is undone when the database is opened again.
    pub fn abort(self) -> Result<(), Error> {
        match self.0 {
            Its::Own(transaction) => Ok(transaction.abort()?),
            Its::Lent(_) => Ok(()),
        }
    }
}
