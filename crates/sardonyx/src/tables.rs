//! Tables: transactions one at a time, on typed records.

mod journals;
mod open;
mod procedures;
mod turn;
mod underway;

pub(crate) use turn::ASK_EVERY;

pub use journals::JournalRows;
pub(crate) use open::OPEN_TRANSACTIONS_MAX;
pub use open::OpenTransaction;
#[doc(hidden)]
pub use open::{is_to_run_again, is_too_many};
use procedures::Procedures;
pub use turn::Turn;
use underway::Underway;
pub use underway::{Begun, Committed, Reached};

use crate::backup::{self, Backup};
use crate::statistics::Statistics;
use crate::ticket::{BatchTicket, Ticket};
use crate::{Error, Options, RunOptions, Snapshot};
use sardonyx_rows::schema::IntoSchema;
use sardonyx_rows::{Journal, JournalRow, Record, Table};
use sardonyx_serial::{Durability, Exchange, Kernel, Owed, Procedure, ProcedureError, Registered};
use sardonyx_storage::checkpoint::Waiting;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::Engine;
use sardonyx_storage::engine_view::EngineView;
use sardonyx_storage::journal::{JournalReader, Retention};
use sardonyx_storage::recovery::RecoveryReport;
use sardonyx_table::{
    KeyHash, OpenTransactions, RebuildReport, SpaceSnapshot, StoredIndexes, TableSpace,
    Transaction, View,
};
use std::path::Path;
use std::sync::Arc;

/// A database that is open as tables of typed records. Transactions are closures and batched procedures, one at a time,
/// each on stable storage when its call returns. Share it between threads by reference or in an `Arc`.
///
/// | to | call |
/// | --- | --- |
/// | open and close | [`open`](Self::open), [`close`](Self::close); other settings: [`Options`] |
/// | open or make a table, a journal | [`table`](Self::table), [`create_table`](Self::create_table), [`journal`](Self::journal) |
/// | run a transaction | [`run`](Self::run), [`transaction`](Self::transaction) for another durability or error type |
/// | read | [`read`](Self::read) in turn, [`snapshot`](Self::snapshot) beside writers, [`journal_rows`](Self::journal_rows) |
/// | wait inside of a transaction | [`begin`](Self::begin), [`retry`](Self::retry) |
/// | run batches | [`register`](Self::register), [`submit_batch`](Self::submit_batch), [`submit`](Self::submit) |
/// | change the schema | [`migrate`](Self::migrate), [`rename_table`](Self::rename_table), [`drop_table`](Self::drop_table) |
/// | operate | [`backup`](Self::backup), [`checkpoint`](Self::checkpoint), [`statistics`](Self::statistics) |
///
/// It belongs to the process that opened it. In a child made by `fork` every call is refused ([`Error::Forked`]), and
/// closing or dropping it does nothing. The child may open another database, or this one when the parent has closed it.
#[derive(Debug)]
pub struct Tables {
    pub(crate) kernel: Arc<Kernel>,
    /// The transactions that were begun by hand.
    open: Arc<OpenTransactions>,
    recovery: RecoveryReport,
    rebuild: RebuildReport,
    procedures: Procedures,
    underway: Underway,
}

impl Tables {
    /// Opens the database in this directory, or makes it, with the default [`Options`].
    ///
    /// # Errors
    /// [`Error::Locked`] if it is open already, here or in another process, in any way; [`Error::Damaged`], with file and
    /// offset; [`Error::System`].
    pub fn open(path: impl AsRef<Path>) -> Result<Tables, Error> {
        Options::new().open_tables(path)
    }

    #[inline]
    pub(crate) fn open_with(disk: Arc<dyn Disk>, options: Options) -> Result<Tables, Error> {
        let (shape, workers) = (options.shape, options.storage.workers);
        let seeded = options.hash_seed.map(KeyHash::from_seed);
        let opened = Engine::open_to_freeze(disk, options.storage)?;
        let stored = opened.closed.and_then(|closed| {
            let rows_max = TableSpace::rows_max(&opened.store);
            StoredIndexes::take(&**opened.engine.disk(), closed, rows_max, seeded, workers)
        });
        let hash = seeded.unwrap_or_else(KeyHash::random);
        let (mut space, rebuild) = TableSpace::open_stored(opened.store, workers, hash, stored)?;
        if let Some(bytes) = options.stored_bytes_min {
            space.set_stored_bytes_min(bytes);
        }
        space.set_transaction_bytes_max(opened.engine.transaction_bytes_max());
        if let Retention::KeepBytes(bytes) = opened.engine.manifest().journal {
            space.set_journal_bytes_kept(bytes);
        }
        if let Some(bytes) = options.snapshot_bytes_max {
            space.set_snapshot_bytes_max(bytes);
        }
        let kernel = Arc::new(Kernel::start(space, opened.engine, shape));
        let open = open::none(&kernel, options.open_transactions);
        let procedures = Procedures::default();
        Ok(Tables {
            kernel,
            open,
            recovery: opened.report,
            rebuild,
            procedures,
            underway: Underway::default(),
        })
    }

    /// The table of this record type, created where absent.
    ///
    /// ```
    /// use sardonyx::{Record, Tables};
    ///
    /// #[derive(Record, Debug, PartialEq)]
    /// #[record(table = "customers", key = id)]
    /// struct Customer {
    ///     id: u64,
    ///     name: String,
    ///     discount: Option<f64>,
    ///     state: State,
    /// }
    ///
    /// #[derive(Record, Debug, PartialEq)]
    /// enum State {
    ///     Open,
    ///     Closed,
    /// }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let shop = Tables::open(directory.path().join("shop.sdx"))?;
    /// let customers = shop.table::<Customer>()?;
    /// let name = "Ada".to_string();
    /// shop.run(|tx| {
    ///     tx.insert(customers, &Customer { id: 1, name, discount: None, state: State::Open })?;
    ///     tx.update(customers, 1, |customer| customer.state = State::Closed)
    /// })?;
    /// let ada = shop.read(|view| view.get(customers, 1))?;
    /// assert_eq!(ada.map(|customer| customer.state), Some(State::Closed));
    /// # Ok::<(), sardonyx::Error>(())
    /// ```
    ///
    /// The type's fields are compared with the columns that the database has: of `#[derive(Record)]` by name and type,
    /// of [`record!`](crate::record!) by place, too. If it has none yet, as in a database of version 0.1, they are
    /// stored.
    ///
    /// # Errors
    /// [`Error::Refused`] if the database has a table of this name with other columns or another layout (the error says
    /// which differ); [`Error::Limit`] if there is no room for one more; [`Error::Nested`] inside a transaction of this
    /// database, which has its own access.
    pub fn table<R: Record>(&self) -> Result<Table<R>, Error> {
        let found = self.kernel.try_read(|space| {
            let table = space.table::<R>()?;
            // One whose columns are not in the database yet is declared again, which stores them.
            let says_fields = R::PLAIN.is_some_and(|plain| (plain.columns)().is_some());
            let known = |table: &Table<R>| space.has_stored_schema(table.number()) || !says_fields;
            Ok::<_, Error>(table.filter(known))
        })??;
        match found {
            Some(table) => Ok(table),
            None => self.run(|transaction| transaction.declare_table::<R>()),
        }
    }

    /// Creates a table with a schema that is known at run time, where absent, and returns its number.
    ///
    /// ```
    /// use sardonyx::Tables;
    /// use sardonyx::schema::{Schema, Type};
    /// # let directory = tempfile::tempdir()?;
    /// # let shop = Tables::open(directory.path().join("shop.sdx"))?;
    /// let orders = Schema::new()
    ///     .column("id", Type::U64)
    ///     .column("customer", Type::Text)
    ///     .column("paid", Type::Timestamp).nullable()
    ///     .primary_key(["id"])
    ///     .index("by_customer", ["customer", "id desc"]).ordered();
    /// let number = shop.create_table("orders", orders)?;
    /// # assert_eq!(number, 0);
    /// # Ok::<(), sardonyx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if no table can have the schema, or there is something else of this name; [`Error::Limit`];
    /// [`Error::Nested`] inside a transaction of this database, which has its own access.
    pub fn create_table(&self, name: &str, schema: impl IntoSchema) -> Result<u16, Error> {
        self.run(|transaction| transaction.create_table(name, schema))
    }

    /// The journal of this row type, declared where absent.
    ///
    /// # Errors
    /// If the database has a journal of this name with another layout, or no room for one more;
    /// [`Error::Nested`] inside a transaction of this database, which has its own access.
    pub fn journal<J: JournalRow>(&self) -> Result<Journal<J>, Error> {
        match self.kernel.try_read(|space| space.journal::<J>())?? {
            Some(journal) => Ok(journal),
            None => self.run(|transaction| transaction.declare_journal::<J>()),
        }
    }

    /// Drops a table with all its records; see [`Transaction::drop_table`].
    ///
    /// # Errors
    /// The errors of [`Tables::run`] and of [`Transaction::drop_table`].
    #[inline]
    pub fn drop_table(&self, name: &str) -> Result<(), Error> {
        self.run(|tx| tx.drop_table(name))
    }

    /// Gives a table another name; see [`Transaction::rename_table`].
    ///
    /// # Errors
    /// The errors of [`Tables::run`] and of [`Transaction::rename_table`].
    #[inline]
    pub fn rename_table(&self, name: &str, to: &str) -> Result<(), Error> {
        self.run(|tx| tx.rename_table(name, to))
    }

    /// Deletes all records of a table at once; see [`Transaction::truncate`].
    ///
    /// # Errors
    /// The errors of [`Tables::run`] and of [`Transaction::truncate`].
    #[inline]
    pub fn truncate(&self, name: &str) -> Result<(), Error> {
        self.run(|tx| tx.truncate(name))
    }

    /// Runs a closure as a transaction and returns when it is on stable storage.
    ///
    /// ```
    /// # use sardonyx::{Error, Tables, record};
    /// # record! { #[table("accounts", key = id)] struct Account { id: u64, balance: i64 } }
    /// # fn main() -> Result<(), Error> {
    /// # let directory = tempfile::tempdir()?;
    /// # let bank = Tables::open(directory.path().join("bank.sdx"))?;
    /// let accounts = bank.table::<Account>()?;
    /// bank.run(|tx| tx.insert(accounts, &Account { id: 1, balance: 100 }))?;
    /// let left = bank.run(|tx| {
    ///     let left = tx.update(accounts, 1, |account| {
    ///         account.balance -= 30;
    ///         account.balance
    ///     })?;
    ///     left.ok_or_else(|| Error::other("no such account")) // an error undoes the transaction
    /// })?;
    /// assert_eq!(left, 70);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The closure's error, after everything it did was undone. An error of its own type is wrapped by [`Error::other`]
    /// and unwrapped by [`Error::downcast`]; [`RunOptions::errors`] keeps its type. Or the engine's: [`Error::Nested`] if
    /// called inside a transaction of this database, [`Error::Closed`], [`Error::Full`], [`Error::Poisoned`],
    /// [`Error::Forked`].
    ///
    /// # Panics
    /// With the closure's panic, after everything it did was undone.
    pub fn run<T>(
        &self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.kernel.run(Durability::Durable, body)
    }

    /// Options of one transaction beyond [`Tables::run`] and [`Tables::submit`]: when it returns, and errors of a type of
    /// the program's own.
    #[inline]
    pub fn transaction(&self) -> RunOptions<'_, Tables> {
        RunOptions::new(self)
    }

    /// Submits a closure as a transaction; the ticket can be waited for or awaited.
    ///
    /// ```
    /// # use sardonyx::{Error, Tables, record};
    /// # record! { #[table("accounts", key = id)] struct Account { id: u64, balance: i64 } }
    /// # fn main() -> Result<(), Error> {
    /// # let directory = tempfile::tempdir()?;
    /// # let bank = Tables::open(directory.path().join("bank.sdx"))?;
    /// let accounts = bank.table::<Account>()?;
    /// let ticket = bank.submit(move |tx| tx.insert(accounts, &Account { id: 1, balance: 100 }));
    /// ticket.wait()?; // on stable storage; in an async function: `ticket.await?`
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If code that this database itself runs calls it, nothing is run and the ticket returns [`Error::Nested`]. Such code
    /// is a transaction's, a procedure's, a waker's or a value's drop on one of the engine's threads. The queues are
    /// bounded, and the engine would wait for itself.
    pub fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Ticket<T> {
        Ticket::of_outcome(self.kernel.submit(body))
    }

    /// Registers a procedure, for as long as the program keeps the returned handle, or a call of it is under way.
    ///
    /// # Errors
    /// [`Error::Refused`] if one of that name is registered; [`Error::Closed`]; [`Error::Forked`].
    pub fn register<P: Procedure>(&self, procedure: P) -> Result<Registered<P>, Error> {
        self.kernel.check()?;
        Ok(self.procedures.add(self.kernel.register(procedure))?)
    }

    /// Returns the registered procedure of this one's name and type, or else registers this one. So parts of a program
    /// that each open it can share it.
    ///
    /// # Errors
    /// [`Error::Refused`] if one of that name and of another type is registered; [`Error::Closed`]; [`Error::Forked`].
    pub fn register_or_share<P: Procedure>(&self, procedure: P) -> Result<Registered<P>, Error> {
        self.kernel.check()?;
        let procedure = self.kernel.register(procedure);
        Ok(self.procedures.add_or_share(procedure)?)
    }

    /// Calls a procedure and returns when it is on stable storage.
    ///
    /// # Errors
    /// The engine's error; [`Error::Nested`] inside a transaction of this database. The inner error is the procedure's.
    pub fn call<P: Procedure>(
        &self,
        procedure: &Registered<P>,
        arguments: P::Arguments,
    ) -> Result<Result<P::Output, ProcedureError<P::Error>>, Error> {
        let mut outcomes = self.submit_batch(procedure, vec![arguments], 0).wait()?;
        Ok(outcomes.pop().expect("one outcome for one request"))
    }

    /// Submits a batch of a procedure's requests, each a transaction of its own. `lane` identifies a client: batches
    /// of one lane keep their order. Nested calls: as [`Tables::submit`]. An example: [`procedures`](crate::procedures).
    pub fn submit_batch<P: Procedure>(
        &self,
        procedure: &Registered<P>,
        arguments: Vec<P::Arguments>,
        lane: usize,
    ) -> BatchTicket<P::Output, P::Error> {
        Ticket::of_value(self.kernel.submit_batch(procedure, arguments, lane))
    }

    /// Submits an exchange with a client. Threads of the input stage receive and decode its requests; threads of the
    /// output stage answer them, when they are on stable storage. In shapes without such threads, it is received and
    /// executed here, and the caller owes the answer, also on another thread. `lane` as in [`Tables::submit_batch`]: with
    /// several threads in a stage, all exchanges of a lane pass through the same one. Nested calls are answered with
    /// [`Error::Nested`].
    pub fn submit_exchange<X: Exchange>(
        &self,
        procedure: &Registered<X::Procedure>,
        exchange: X,
        lane: usize,
    ) -> Option<Owed<X>> {
        self.kernel.submit_exchange(procedure, exchange, lane)
    }

    /// Reads a consistent state without changing it. The state may not be on stable storage yet; to be sure of that, read
    /// in [`Tables::run`]. No transaction runs meanwhile: read large amounts in a [snapshot](Tables::snapshot).
    ///
    /// ```
    /// # use sardonyx::{Error, Tables, record};
    /// # record! { #[table("accounts", key = id)] struct Account { id: u64, balance: i64 } }
    /// # fn main() -> Result<(), Error> {
    /// # let directory = tempfile::tempdir()?;
    /// # let bank = Tables::open(directory.path().join("bank.sdx"))?;
    /// let accounts = bank.table::<Account>()?;
    /// bank.run(|tx| tx.insert(accounts, &Account { id: 1, balance: 100 }))?;
    /// let sum: i64 = bank.read(|view| {
    ///     let accounts = view.scan(accounts)?; // in no particular order
    ///     accounts.map(|account| Ok(account?.balance)).sum()
    /// })?;
    /// assert_eq!(sum, 100);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The closure's error; [`Error::Nested`] inside a transaction of this database, which has its own access to the
    /// tables; [`Error::Closed`]; [`Error::Forked`].
    ///
    /// # Panics
    /// With the closure's panic.
    pub fn read<T>(&self, body: impl FnOnce(&View<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let body = |space: &TableSpace| body(&space.view());
        self.kernel.try_read(body)?
    }

    /// A snapshot of all tables, with everything that is committed now, to read from any thread. Transactions continue
    /// and do not wait for it. The state may not be on stable storage yet: call [`Tables::flush`] after taking it, before
    /// you publish what it shows.
    ///
    /// # Errors
    /// As [`Tables::read`]; [`Error::Full`] if the process has no address space for it.
    #[inline]
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.snapshot_of(self.kernel.snapshot()?))
    }

    #[inline]
    fn snapshot_of(&self, space: Arc<SpaceSnapshot>) -> Snapshot {
        Snapshot::new(space, self.kernel.engine().process())
    }

    /// Writes a backup into a directory, which is absent or empty, while transactions continue. It is a separate database
    /// with everything that is committed now, journals included. It has another identity, and positions in its journals
    /// are its own. It is written from a [`Snapshot`], with that bound on memory.
    ///
    /// # Errors
    /// [`Error::Refused`] if the directory is not empty; [`Error::Limit`] if the snapshot was ended; the disk's errors;
    /// those of [`Tables::snapshot`]. Then no backup is made.
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<Backup, Error> {
        self.backup_with(directory, |_, _| {})
    }

    /// The same; calls `progress` from time to time with the pages written, and their total.
    ///
    /// # Errors
    /// The errors of [`Tables::backup`].
    pub fn backup_with(
        &self,
        directory: impl AsRef<Path>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Backup, Error> {
        let (snapshot, group) = self.kernel.snapshot_at_group()?;
        let engine = self.kernel.engine();
        let (disk, manifest) = (engine.disk(), engine.manifest());
        let journals = match manifest.journal {
            Retention::Nothing => None,
            _ => {
                let reader = JournalReader::open(disk, manifest, None, None)?;
                Some(reader.while_written(engine.commit().segments(), group + 1))
            }
        };
        let source = backup::Source {
            pages: snapshot.pages(),
            count: snapshot.pages().pages(),
            journals,
            manifest,
        };
        backup::write(directory.as_ref(), source, progress)
    }

    /// Waits until everything that ran so far is on stable storage.
    #[inline]
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.kernel.flush()?)
    }

    /// Takes a checkpoint and waits for it, so that the next recovery starts from here.
    #[inline]
    pub fn checkpoint(&self) -> Result<(), Error> {
        Ok(self.kernel.checkpoint()?)
    }

    /// Returns true while a checkpoint is being written.
    #[inline]
    pub fn is_checkpointing(&self) -> bool {
        self.kernel.engine().checkpoint().is_writing()
    }

    /// The checkpoint that waits for room on the disk, with its begin and its error. It continues by itself; until
    /// then no log is freed.
    #[inline]
    pub fn checkpoint_waiting(&self) -> Option<Waiting> {
        self.kernel.engine().checkpoint().waiting()
    }

    /// The reason why checkpointing stopped for good, if it did. Transactions continue until the log is full; nothing is
    /// lost. Opening the database again restarts it.
    #[inline]
    pub fn checkpoint_failure(&self) -> Option<Error> {
        self.kernel.engine().checkpoint().failure().map(Error::from)
    }

    /// The report of the recovery when the database was opened.
    #[inline]
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// The report of rebuilding the indexes when the database was opened.
    #[inline]
    pub fn rebuild(&self) -> &RebuildReport {
        &self.rebuild
    }

    /// The engine's statistics since the opening; zero in a forked child.
    #[inline]
    pub fn statistics(&self) -> Statistics {
        let engine = self.kernel.engine();
        // Before any lock is taken: in a forked child some may be taken for ever.
        if engine.process().check().is_err() {
            return Statistics::default();
        }
        let log = engine.commit().statistics();
        Statistics {
            committed: log.transactions,
            log,
            checkpoint: engine.checkpoint().totals(),
            stages: self.kernel.stage_times(),
            ..Statistics::default()
        }
    }

    /// The storage below, for tools.
    #[doc(hidden)]
    #[inline]
    pub fn engine(&self) -> &EngineView {
        self.kernel.engine()
    }

    /// Finishes submitted transactions, makes them durable, and closes the database for all handles. Every later call is
    /// refused ([`Error::Closed`]), except another close, which does nothing. Dropping does the same, but reports no
    /// errors.
    ///
    /// On one of the engine's own threads both return at once, and another thread does the work. A submitted closure
    /// that held the last handle is an example. The database can be opened again when that has ended.
    ///
    /// # Errors
    /// The error that closed the log, if there was one; [`Error::Nested`] if it is closed elsewhere. [`Error::Forked`] in
    /// a child of the process that opened the database: nothing happens there, and the database stays open in the parent.
    #[inline]
    pub fn close(&self) -> Result<(), Error> {
        self.kernel.engine().process().check()?;
        self.open.close();
        Ok(self.kernel.close()?)
    }

    /// As [`Tables::close`]; `ended` is called when another host can continue.
    #[cfg(all(feature = "hosts", not(shuttle)))]
    pub(crate) fn close_then(&self, ended: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.kernel.engine().process().check()?;
        self.open.close();
        Ok(self.kernel.close_then(ended)?)
    }
}

impl Drop for Tables {
    #[inline]
    fn drop(&mut self) {
        // A commit may still have the kernel, so it is closed here and not dropped. `drop` returns no error.
        let _ = self.close();
    }
}
