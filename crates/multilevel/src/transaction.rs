//! A transaction: a series of operations, each a subtransaction, committed or aborted together.
//!
//! Its locks on objects stay until its end (strict two-phase locking at L1). The inverses of its
//! operations undo it, in the reverse order of their ends, each executed as a compensating
//! subtransaction. Operations may be called from several threads at once ([`Transaction::scope`]).
//!
//! Source: DASDBS paper, sections 1 and 2.

mod calling;
mod compensation;

use crate::changes::Mark;
use crate::error::{CallError, CommitError, DatabaseError};
use crate::home::Home;
use crate::nesting::is_executing;
use crate::operation::Operation;
use crate::shared::Shared;
use crate::sphere::SubtransactionNumber;
use crate::strategy::ordered::Ordered;
use crate::strategy::{Protocol, Release};
use crate::subtransaction::{Await, Purpose, Subtransaction, Workspace};
use crate::unit_log::UnitLog;
use sardonyx_base::sync::atomic::{AtomicBool, Ordering};
use sardonyx_base::sync::{Mutex, MutexGuard, thread};
use sardonyx_lock::{Asker, Denied, Granted, Owner, Resource};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A transaction's locks at L1.
#[derive(Debug, Default)]
pub(crate) struct ObjectLocks {
    objects: Mutex<Vec<Resource>>,
    reservations: Mutex<Vec<Resource>>,
}

impl ObjectLocks {
    pub fn objects(&self) -> MutexGuard<'_, Vec<Resource>> {
        self.objects.lock()
    }

    pub fn reservations(&self) -> MutexGuard<'_, Vec<Resource>> {
        self.reservations.lock()
    }
}

/// A completed operation that would have to be compensated.
#[derive(Clone, Debug)]
pub(crate) struct Completed {
    /// Its place in the order of all operations' ends.
    pub sequence: u64,
    /// The number of its inverse's name.
    pub operation: u32,
    /// Its inverse.
    pub bytes: Arc<[u8]>,
    /// Pages that are reserved for undoing it.
    pub pages: u64,
    /// Its place among the spheres (S2/PS).
    pub sphere: Option<SubtransactionNumber>,
}

/// A transaction's progress.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Operations with inverses, in the order of their ends.
    pub completed: Vec<Completed>,
    /// Completed subtransactions that need no compensation, or no more (S2/PS).
    pub settled: Vec<SubtransactionNumber>,
    /// Compensations (S2/PS).
    pub compensations: Vec<SubtransactionNumber>,
    /// Workspaces that no subtransaction uses. With a single level, the transaction's: its pages and
    /// its changes so far.
    pub workspaces: Vec<Workspace>,
    /// Numbers of subtransactions that are not running, and the next new one.
    free_numbers: Vec<u16>,
    next_number: u16,
}

/// A running transaction. Dropping it aborts it.
pub struct Transaction<'d> {
    pub(crate) database: Home<'d, Shared>,
    protocol: Home<'d, dyn Protocol>,
    /// From 1.
    number: u64,
    owner: Owner,
    age: u64,
    locked: ObjectLocks,
    progress: Mutex<Progress>,
    /// With a single level, siblings share the transaction's pages, so they take turns.
    turn: Mutex<()>,
    doomed: AtomicBool,
    finished: bool,
}

impl<'d> Transaction<'d> {
    pub(crate) fn new(
        database: Home<'d, Shared>,
        protocol: Home<'d, dyn Protocol>,
        age: Option<u64>,
    ) -> Self {
        let number = database.next_transaction();
        Transaction {
            database,
            protocol,
            number,
            owner: Owner::transaction(number),
            age: age.unwrap_or(number),
            locked: ObjectLocks::default(),
            progress: Mutex::default(),
            turn: Mutex::default(),
            doomed: AtomicBool::new(false),
            finished: false,
        }
    }

    /// A transaction that had not ended when the database was last open.
    pub(crate) fn loser(database: &'d Shared, entries: Vec<(u64, u32, Vec<u8>)>) -> Self {
        let transaction = Transaction::new(database.into(), Home::Borrowed(&Ordered), None);
        let completed = entries
            .into_iter()
            .map(|(sequence, operation, bytes)| Completed {
                sequence,
                operation,
                bytes: bytes.into(),
                pages: 0,
                sphere: None,
            });
        transaction.progress().completed.extend(completed);
        transaction
    }

    /// A number that no other transaction of this opening has, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its age, to run it again with: see [`crate::Database::begin_again`].
    pub fn age(&self) -> u64 {
        self.age
    }

    /// True if it was chosen to end a deadlock, so that it can only be aborted.
    pub fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// Executes an operation as a subtransaction of this transaction.
    ///
    /// # Errors
    /// [`CallError::Failed`] with the operation's own error: the operation is undone, the transaction
    /// can go on, and may call it again. [`CallError::Deadlock`]: the transaction has to be aborted.
    /// [`CallError::Nested`] within an operation.
    ///
    /// # Panics
    /// With the operation's panic, after undoing the operation.
    pub fn call<O: Operation>(&self, operation: &O) -> Result<O::Output, CallError<O::Error>> {
        if is_executing() {
            return Err(CallError::Nested);
        }
        if self.is_doomed() {
            return Err(CallError::Deadlock);
        }
        self.database.check().map_err(DatabaseError::from)?;
        let number = match self.protocol.has_two_levels() {
            true => Some(self.progress().take_number()),
            false => None,
        };
        let waiter = number.map_or(self.owner, |number| self.owner.subtransaction(number));
        let asker = self.asker(waiter, false);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.execute(operation, asker)));
        // The operation may have forked, and this be the child.
        self.database.check_process()?;
        self.progress().free_numbers.extend(number);
        let outcome = outcome.unwrap_or_else(|panic| resume_unwind(panic));
        if matches!(outcome, Err(CallError::Deadlock)) {
            self.database.counters.add(|c| &c.deadlocks, 1);
            self.doomed.store(true, Ordering::Release);
        }
        outcome
    }

    /// Runs operations of this transaction in parallel: like [`std::thread::scope`], whose threads
    /// may call operations. They are isolated from each other by locks on pages only, since they
    /// share the transaction's locks on objects: they must make sense in any order. In
    /// [`crate::Strategy::SingleLevel`] they take turns.
    pub fn scope<'env, F, T>(&'env self, body: F) -> T
    where
        F: for<'scope> FnOnce(&'scope thread::Scope<'scope, 'env>) -> T,
    {
        thread::scope(body)
    }

    fn asker(&self, waiter: Owner, compensation: bool) -> Asker {
        Asker {
            holder: self.owner,
            waiter,
            age: self.age,
            compensation,
        }
    }

    /// Waits for the lock or the change that a subtransaction must have before it is executed again.
    fn wait(&self, asker: Asker, wait: Await) -> Result<(), Denied> {
        let locks = &self.database.locks;
        match wait {
            Await::Nothing => Ok(()),
            Await::Lock(space, object, mode) => {
                if locks.request(asker, space, object, mode)? == Granted::New {
                    let space = space.number();
                    self.locked.objects().push(Resource { space, object });
                }
                Ok(())
            }
            Await::Reservation(space, object, token) => {
                locks.wait_for_reservations(asker, space, object, token)
            }
        }
    }

    fn subtransaction(
        &self,
        purpose: Purpose,
        asker: Asker,
        workspace: Workspace,
    ) -> Subtransaction<'_> {
        let (protocol, locked) = (&*self.protocol, &self.locked);
        let (database, number) = (&*self.database, self.number);
        Subtransaction::new(
            database, protocol, purpose, number, asker, locked, workspace,
        )
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// The log, in its turn.
    pub(crate) fn unit_log(&self) -> Result<UnitLog<'_>, DatabaseError> {
        Ok(self.database.unit_log()?)
    }

    /// Commits: when this returns, the transaction is on stable storage.
    ///
    /// # Errors
    /// [`CommitError`]; the transaction has been aborted then, but for [`CommitError::Unknown`].
    pub fn commit(mut self) -> Result<(), CommitError> {
        if let Err(forked) = self.database.check_process() {
            self.finished = true;
            return Err(forked.into());
        }
        if self.is_doomed() {
            self.abort_now()?;
            return Err(CommitError::Deadlock);
        }
        let database = &*self.database;
        if let Err(error) = database.check() {
            self.abort_now()?;
            return Err(DatabaseError::from(error).into());
        }
        let mut unit_log = self.database.unit_log().map_err(DatabaseError::from)?;
        let ended = self.protocol.end_of_transaction(&self, &mut unit_log, true);
        let (group, wrote) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                drop(unit_log);
                self.abort_now()?;
                return Err(error.into());
            }
        };
        self.finished = true;
        unit_log.reserve.ended(self.number);
        database.counters.add(|c| &c.committed, 1);
        let durable = match database.release {
            Release::Appended => {
                let let_go = unit_log.let_go_to_force();
                self.release();
                database.force_after(let_go, group)
            }
            // The data that it read was durable when it was unlocked.
            Release::Durable if !wrote => {
                drop(unit_log);
                self.release();
                Ok(())
            }
            Release::Durable => {
                let durable = database.force(unit_log, group);
                self.release();
                durable
            }
        };
        durable.map_err(CommitError::Unknown)
    }

    /// Aborts: everything it did is undone when this returns.
    ///
    /// # Errors
    /// If an inverse fails, the transaction stays unfinished, with its locks; if the log does, without
    /// them, for nothing can be committed any more. It is undone when the database is opened again.
    pub fn abort(mut self) -> Result<(), DatabaseError> {
        self.abort_now()
    }

    /// Leaves it unfinished.
    pub(crate) fn forget(mut self) {
        self.finished = true;
    }

    fn abort_now(&mut self) -> Result<(), DatabaseError> {
        self.finished = true;
        // A forked child has nothing to undo: its memory is its parent's.
        self.database.check_process()?;
        self.restore_pages();
        if let Err(error) = self.compensate_all() {
            if self.database.check().is_err() {
                // No transaction should wait for ever; one that sees the remains here cannot commit.
                self.release();
            }
            return Err(error);
        }
        self.release();
        self.database.counters.add(|c| &c.aborted, 1);
        self.database.pen.hand_on();
        Ok(())
    }

    /// Restores the pages that are its own, with a single level.
    fn restore_pages(&self) {
        let mut progress = self.progress();
        for workspace in &mut progress.workspaces {
            workspace
                .changes
                .undo_to(Mark::default(), |page, start, old| {
                    let frames = &self.database.frames;
                    // SAFETY: right of a writer: the changed pages are locked exclusively until the
                    // transaction's end, and no operation of it is running.
                    let bytes = unsafe { frames.bytes_mut(page, start..start + old.len()) };
                    bytes.copy_from_slice(old);
                });
            if !self.protocol.has_two_levels() {
                self.database
                    .frames
                    .forget_befores(workspace.held.written());
            }
        }
    }

    /// Gives back its locks.
    fn release(&self) {
        let locks = &self.database.locks;
        let mut reservations = self.locked.reservations();
        locks.release_reservations(self.owner, reservations.drain(..));
        drop(reservations);
        locks.release(self.owner, self.locked.objects().drain(..));
        if !self.protocol.has_two_levels() {
            for workspace in self.progress().workspaces.drain(..) {
                locks.release(self.owner, workspace.held.resources());
            }
        }
    }
}

impl Progress {
    fn take_number(&mut self) -> u16 {
        self.free_numbers.pop().unwrap_or_else(|| {
            self.next_number = self
                .next_number
                .checked_add(1)
                .expect("fewer than 65,536 threads in a transaction");
            self.next_number
        })
    }
}

impl Drop for Transaction<'_> {
    /// Aborts it. Errors are lost, so call [`Transaction::abort`] to see them.
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = self.abort_now()
            && !self.database.is_forked()
        {
            tracing::error!(%error, "a dropped transaction could not be undone");
        }
    }
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
