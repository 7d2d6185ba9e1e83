//! The database: the handle of a program that runs multi-level transactions.

use crate::error::{CommitError, DatabaseError};
use crate::home::Home;
use crate::options::Options;
use crate::pages::Area;
use crate::records::Table;
use crate::recovery::{Undone, open_undo_area, undo_losers};
use crate::restart_delay::RestartDelay;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::statistics::{Counters, Statistics};
use crate::strategy::{Protocol, Strategy};
use crate::transaction::Transaction;
use crate::unit_log::reserve::Growth;
use sardonyx_base::sync::atomic::Ordering;
use sardonyx_base::sync::{Mutex, thread};
use sardonyx_lock::Waiting;
use sardonyx_rows::{Record, declared_rows, definition_of_plain, records_of};
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::Engine;
use sardonyx_storage::engine_view::EngineView;
use sardonyx_storage::log::LogError;
use sardonyx_storage::recovery::RecoveryReport;
use sardonyx_storage::supervisor::Supervisor;
use std::sync::Arc;
use std::time::Duration;

/// A database that is open for multi-level transactions. Share it between threads by reference or in
/// an `Arc`. It belongs to the process that opened it: in a child made by `fork` every call is refused
/// ([`DatabaseError::Forked`]), and closing or dropping it does nothing.
///
/// ```
/// use sardonyx_multilevel::{Area, Inverse, Operation, Options, Pages, Stop, Values, recorded};
///
/// /// Adds to the first number in an area.
/// struct Add(Area, i64);
/// recorded!(Add { 0, 1 }, "add");
///
/// impl Operation for Add {
///     type Output = i64;
///     type Error = Stop;
///
///     fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
///         Values::in_area(self.0).update(pages, 0, |sum: &mut i64| *sum += self.1)
///     }
///
///     fn inverse(&self, _: &i64) -> Option<Inverse> {
///         Some(Inverse::of(&Add(self.0, -self.1)))
///     }
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("counter.sdx");
/// let counter = Options::new().register::<Add>().open(&path)?;
/// let area = counter.area("counter", 1)?;
/// counter.run(|tx| tx.call(&Add(area, 5)))?; // on stable storage when this returns
/// let tx = counter.begin();
/// assert_eq!(tx.call(&Add(area, 2))?, 7);
/// tx.abort()?; // by its inverse: others may have added meanwhile
/// assert_eq!(counter.run(|tx| tx.call(&Add(area, 0)))?, 5);
/// counter.close()?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Database {
    shared: Arc<Shared>,
    engine: EngineView,
    /// Until it is closed. Held while it is being closed, and while a checkpoint is waited for, whose
    /// threads have to be there.
    open: Mutex<Option<Engine>>,
    supervisor: Arc<Supervisor>,
    strategy: Strategy,
    restart_delay: RestartDelay,
    protocol: Arc<dyn Protocol>,
    recovery: RecoveryReport,
    undone: Undone,
}

impl Database {
    /// Opens the database in this directory, or makes it, with the default [`Options`]: without
    /// operations, so without inverses.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Database, DatabaseError> {
        Options::new().open(path)
    }

    pub(crate) fn open_with(
        disk: Arc<dyn Disk>,
        options: Options,
    ) -> Result<Database, DatabaseError> {
        options.storage.refuse_snapshots("of operations")?;
        let mut opened = Engine::open(disk, options.storage)?;
        if let Some(bytes) = options.snapshot_bytes_max {
            opened.store.set_snapshot_bytes_max(bytes);
        }
        let (mut engine, recovery) = (opened.engine, opened.report);
        let commit = engine.commit().clone();
        let counters = Arc::new(Counters::default());
        // Now: if the log is full, only they can make room for the first unit.
        engine.start();
        let ready = open_undo_area(
            opened.store,
            &engine,
            counters.clone(),
            options.page_log,
            &options.registry,
        );
        let mut ready = match ready {
            Ok(ready) => ready,
            Err(error) => {
                // Unsealed records never will be sealed: no caller may wait for them.
                commit.poison(LogError::Closed);
                return Err(error);
            }
        };
        let losers = std::mem::take(&mut ready.losers);
        let (release, victims) = (options.release, options.victims);
        let shared = Shared::new(ready.pen, ready.operations, release, victims)?;
        let shared = Arc::new(shared);
        let undone = undo_losers(&shared, losers);
        let undone = match undone {
            Ok(undone) => undone,
            Err(error) => {
                // Not closed cleanly: compensations are in the log or not.
                engine.stop();
                return Err(error);
            }
        };
        Ok(Database {
            shared,
            engine: EngineView::of(&engine),
            supervisor: engine.supervisor().clone(),
            open: Mutex::new(Some(engine)),
            strategy: options.strategy,
            restart_delay: options.restart_delay,
            protocol: options.strategy.protocol().into(),
            recovery,
            undone,
        })
    }

    /// The area of this name, declared where absent, with at least so many pages. Names that begin
    /// with a dot are the engine's.
    ///
    /// # Errors
    /// If the name is that of a table or the engine's, or there is no more room.
    pub fn area(&self, name: &str, pages: u64) -> Result<Area, DatabaseError> {
        self.shared.check_process()?;
        if name.is_empty() || name.starts_with('.') {
            return Err(DatabaseError::Refused {
                reason: format!("{name:?} is no name for an area: such names are the engine's"),
            });
        }
        let mut unit_log = self.shared.unit_log()?;
        let number = match unit_log.catalogue.area(name)? {
            Some(number) => number,
            None => unit_log.declare(name)?,
        };
        self.shared.publish_areas(&unit_log);
        drop(unit_log);
        let area = Area(number);
        match self.shared.grow(area, pages, Growth::OfWork) {
            Ok(_) => Ok(area),
            Err(stop) => Err(DatabaseError::Refused {
                reason: stop.to_string(),
            }),
        }
    }

    /// The table of this record type, declared where absent: the same that the serial way has under its
    /// name. If the table's columns are stored, the type's fields are compared with them.
    ///
    /// # Errors
    /// Errors: something else has its name, or it has other columns (the error shows both sides). It has more than rows
    /// ([`TableError::BeyondRecords`](sardonyx_rows::TableError::BeyondRecords)): indexes, references, conditions,
    /// declared types, or added columns. Or the database has no more room.
    pub fn table<R: Record>(&self) -> Result<Table<R>, DatabaseError> {
        self.shared.check_process()?;
        let mut unit_log = self.shared.unit_log()?;
        let number = match records_of::<R>(&unit_log.catalogue, &unit_log.schemas)? {
            Some(number) => number,
            None => match R::PLAIN {
                Some(plain) => {
                    unit_log.declare_table(definition_of_plain(R::TABLE, &plain), None)?
                }
                None => {
                    let schema = declared_rows::<R>()?;
                    unit_log.declare_table(schema.definition(R::TABLE), Some(schema))?
                }
            },
        };
        self.shared.publish_areas(&unit_log);
        Ok(Table::new(number))
    }

    /// A snapshot of everything that is committed, which is on stable storage when this returns. Transactions go on
    /// meanwhile: their changes so far are not in it. It is read by operations that change nothing, from any thread,
    /// also when the database is closed.
    ///
    /// It waits for the log and, where an operation is at work on a page that it needs, for the operation;
    /// never for a transaction. While it is open, the first change of each page copies it. At the bound on
    /// memory for that ([`Options::snapshot_bytes_max`]) the oldest snapshot is ended, and its reads return an error.
    ///
    /// ```
    /// use sardonyx_multilevel::Options;
    /// use sardonyx_multilevel::counter::{Add, Counter, Get, Set};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("stock.sdx");
    /// let shop = Options::new().open(&path)?;
    /// let stock = Counter::new(shop.area("stock", 1)?, 0);
    /// shop.run(|tx| tx.call(&Set::within(stock, 10, 0, 1000)))?;
    /// let customer = shop.begin();
    /// customer.call(&Add::to(stock, -3))?;
    /// let report = shop.snapshot()?;
    /// customer.commit()?;
    /// assert_eq!(report.call(&Get(stock))?, 10);
    /// assert_eq!(shop.snapshot()?.call(&Get(stock))?, 7);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DatabaseError::Log`] if the log failed, or the database was closed; [`DatabaseError::Nested`] within
    /// an operation; [`DatabaseError::Compensation`] if an inverse fails; [`DatabaseError::Forked`].
    pub fn snapshot(&self) -> Result<Snapshot, DatabaseError> {
        Snapshot::take(&self.shared, self.protocol.has_two_levels())
    }

    /// Its operations are called on the result, which commits or aborts.
    pub fn begin(&self) -> Transaction<'_> {
        self.begin_as(None)
    }

    /// Begins a transaction in place of one that was aborted to end a deadlock, with the age of that one. So it
    /// eventually becomes the oldest and is not chosen again.
    pub fn begin_again(&self, age: u64) -> Transaction<'_> {
        self.begin_as(Some(age))
    }

    fn begin_as(&self, age: Option<u64>) -> Transaction<'_> {
        Transaction::new((&*self.shared).into(), (&*self.protocol).into(), age)
    }

    /// Begins a transaction that does not borrow the database: it can be kept beside it, sent to another
    /// thread, and held by a task. When the database is closed it can only be aborted or dropped, and is
    /// undone when the database is opened again. With an age it takes the place of one that was aborted
    /// to end a deadlock, as [`Database::begin_again`].
    pub fn begin_owned(&self, age: Option<u64>) -> Transaction<'static> {
        let database = Home::Shared(self.shared.clone());
        Transaction::new(database, Home::Shared(self.protocol.clone()), age)
    }

    /// Runs a transaction and returns when it is on stable storage. It is aborted, and run again, as
    /// often as it is chosen to end a deadlock, each time after the delay of
    /// [`Options::restart_delay`]; it is aborted if the closure fails.
    ///
    /// # Errors
    /// The closure's own; or the engine's, converted.
    pub fn run<T, E>(&self, mut body: impl FnMut(&Transaction<'_>) -> Result<T, E>) -> Result<T, E>
    where
        E: From<CommitError>,
    {
        self.shared.check_process().map_err(CommitError::from)?;
        let (mut age, mut victims) = (None, 0);
        loop {
            let transaction = self.begin_as(age);
            age = Some(transaction.age());
            let outcome = body(&transaction);
            if transaction.is_doomed() {
                transaction.abort().map_err(CommitError::from)?;
                victims += 1;
                self.delay_restart(age, victims);
                continue;
            }
            return match outcome {
                Ok(value) => {
                    transaction.commit()?;
                    Ok(value)
                }
                Err(error) => {
                    transaction.abort().map_err(CommitError::from)?;
                    Err(error)
                }
            };
        }
    }

    /// Waits before a transaction is run again that was a victim for the nth time. It holds nothing.
    fn delay_restart(&self, age: Option<u64>, n: u64) {
        let delay = age.map_or(Duration::ZERO, |age| self.restart_delay.before(age, n));
        if !delay.is_zero() {
            thread::sleep(delay);
        }
    }

    /// Takes a checkpoint of everything that is in the log now, and waits for it.
    ///
    /// # Errors
    /// If the log or the checkpointer failed.
    pub fn checkpoint(&self) -> Result<(), DatabaseError> {
        self.flush()?;
        let open = self.open.lock();
        if open.is_none() {
            return Err(LogError::Closed.into());
        }
        let shared = &self.shared;
        let taken = shared.pen.checkpoint().take(shared.pen.log().durable());
        taken.map_err(|error| DatabaseError::Checkpoint {
            reason: error.to_string(),
        })
    }

    /// Writes everything that has been appended to the log, and waits for it.
    ///
    /// # Errors
    /// If the log failed.
    pub fn flush(&self) -> Result<(), DatabaseError> {
        self.shared.check()?;
        Ok(self.shared.pen.flush()?)
    }

    /// The engine's counts since the database was opened; zeroes, in a forked child.
    pub fn statistics(&self) -> Statistics {
        let shared = &self.shared;
        let Ok(unit_log) = shared.unit_log() else {
            return Statistics::default();
        };
        let spheres = unit_log.unwritten.spheres.statistics();
        drop(unit_log);
        Statistics {
            spheres,
            locks: shared.locks.statistics(),
            log: shared.pen.log().statistics(),
            checkpoint: shared.pen.checkpoint().totals(),
            ..shared.counters.read()
        }
    }

    /// The present waits; none, in a forked child.
    pub fn waiting(&self) -> Vec<Waiting> {
        if self.shared.is_forked() {
            return Vec::new();
        }
        self.shared.locks.waiting()
    }

    /// The redo pass of recovery when the database was opened.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// The undo pass of recovery when the database was opened.
    pub fn undone(&self) -> Undone {
        self.undone
    }

    /// The storage below.
    pub fn engine(&self) -> &EngineView {
        &self.engine
    }

    /// Makes everything durable, marks the log's end as clean, and stops the engine's threads. Every later
    /// call is refused with [`LogError::Closed`], but for another close, which does nothing. Transactions
    /// that run are undone when the database is opened again.
    ///
    /// # Errors
    /// If the log failed. [`DatabaseError::Closing`] on one of the engine's own threads: a thread of its own
    /// closes it then (if another one is closing it, that goes on). [`DatabaseError::Forked`] in a child,
    /// where nothing is done.
    pub fn close(&self) -> Result<(), DatabaseError> {
        self.shared.check_process()?;
        let own = self.supervisor.is_own_thread();
        let mut open = match own {
            // Its holder may wait for this thread.
            true => self.open.try_lock().ok_or(DatabaseError::Closing)?,
            false => self.open.lock(),
        };
        let Some(engine) = open.take() else {
            return Ok(());
        };
        let closing = (self.shared.clone(), engine);
        let closed = self
            .supervisor
            .end(closing, own, |(shared, engine)| close(&shared, engine));
        closed.unwrap_or(Err(DatabaseError::Closing))
    }

    /// The strategy that it was opened with.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }
}

/// Ends a database that has no more handles. The lock is given back with the engine, when its threads have ended.
fn close(shared: &Shared, mut engine: Engine) -> Result<(), DatabaseError> {
    engine.begin_to_close();
    let outcome = mark_end(shared);
    match &outcome {
        Ok(()) => {
            engine.record_end();
        }
        Err(error) => tracing::warn!(%error, "closing the database failed"),
    }
    if shared.check().is_ok() {
        // Remaining transactions get the error; an earlier failure stays.
        shared.closed.store(true, Ordering::Relaxed);
        shared.pen.log().poison(LogError::Closed);
    }
    engine.stop();
    outcome
}

/// Writes the unwritten rest of the spheres, refuses later calls, and marks the log's end.
fn mark_end(shared: &Shared) -> Result<(), DatabaseError> {
    let mut unit_log = shared.unit_log()?;
    let written = unit_log.write_all_spheres();
    // Nothing is appended from now on, so the mark is the log's end.
    unit_log.closed = true;
    drop(unit_log);
    written?;
    Ok(shared.pen.mark_end()?)
}

impl Drop for Database {
    /// Closes cleanly unless it was closed; errors are lost, so call [`Database::close`] to see them.
    fn drop(&mut self) {
        if self.shared.check_process().is_err() {
            // The rest of it here is memory, with locks that may be held for ever.
            std::mem::forget(self.shared.clone());
            drop(self.open.try_lock().and_then(|mut open| open.take()));
            return;
        }
        // It was reported where it was found.
        let _ = self.close();
    }
}
