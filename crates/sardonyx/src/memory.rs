//! Memory: transactions by ordinary loads and stores, shared by several processes.

use crate::statistics::Statistics;
use crate::ticket::Ticket;
use crate::{Durability, Error, Options, RunOptions};
use sardonyx_mapped::{RunError, Segment};
use sardonyx_storage::recovery::RecoveryReport;
use std::path::Path;

pub use crate::low_level::Resident;
/// A range of bytes that grows: transactions, snapshots, and [`PlainMemory`].
pub use sardonyx_mapped::Memory as MemoryRange;
pub use sardonyx_mapped::heap::{Heap, Root};
pub use sardonyx_mapped::leftovers;
pub use sardonyx_mapped::mechanism::{Access, MechanismKind};
pub use sardonyx_mapped::memory::PlainMemory;
pub use sardonyx_mapped::place::{P, Slice};
pub use sardonyx_mapped::{
    Begin, Conflicts, MemoryAccess, PageConflicts, Savepoint, Session, SlowReader, Snapshot,
    Spread, Statistics as MemoryStatistics, StoppedProcess, Transaction,
};

/// A database that is open as memory: transactions are ordinary loads and stores, and several processes
/// share it, without a server. Cloning it makes another handle.
///
/// ```
/// use sardonyx::memory::{Heap, MemoryAccess, P, Resident};
/// use sardonyx::Memory;
///
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Account {
///     id: u64,
///     balance: i64,
/// }
///
/// fn main() -> Result<(), sardonyx::Error> {
/// #   let directory = tempfile::tempdir()?;
/// #   let path = directory.path().join("bank.sdx");
///     let bank = Memory::open(&path)?;
///     let account: P<Account> = bank.run(|tx| {
///         let heap = Heap::open_or_format(tx)?;
///         let account = heap.allocate(tx, &Account { id: 1, balance: 100 })?;
///         heap.set_root(tx, "account", account, "Account")?;
///         Ok(account)
///     })?;
///     bank.run(|tx| {
///         tx.get_mut(account)?.balance -= 30;
///         Ok(())
///     })?; // on stable storage when this returns
///     assert_eq!(bank.snapshot()?.get(account)?.balance, 70);
///     bank.close()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    segment: Segment,
}

impl Memory {
    /// Opens the database in this directory, or makes it, with the default [`Options`]. If other processes
    /// have it open as memory, they share it.
    ///
    /// # Errors
    /// [`Error::Locked`] if it is open in another way; [`Error::Damaged`], with file and offset; [`Error::Refused`] if
    /// the shared memory of the others cannot be used; the system's errors.
    pub fn open(path: impl AsRef<Path>) -> Result<Memory, Error> {
        Options::new().open_memory(path)
    }

    pub(crate) fn new(segment: Segment) -> Memory {
        Memory { segment }
    }

    /// Runs a closure as a transaction, repeated until it does not conflict with others, and returns when it is on stable
    /// storage. Effects of the closure outside of the memory are not undone.
    ///
    /// # Errors
    /// The closure's error, after everything it did was undone; or the engine's: [`Error::Nested`] inside a transaction
    /// of this thread on this memory, [`Error::Closed`], [`Error::Full`], [`Error::Unavailable`] if a stopped process is
    /// in the way, [`Error::Poisoned`], [`Error::Forked`].
    ///
    /// # Panics
    /// With the closure's panic, after everything it did was undone.
    pub fn run<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.transaction().run(body)
    }

    /// Options of one transaction beyond [`Memory::run`]: when it returns, and errors of a type of the program's own.
    pub fn transaction(&self) -> RunOptions<'_, Memory> {
        RunOptions::new(self)
    }

    /// Runs a closure with errors of its own type.
    pub(crate) fn run_typed<T, E: From<Error>>(
        &self,
        durability: Durability,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (value, ticket) = self.segment.run_later(body).map_err(typed)?;
        if durability == Durability::Durable {
            ticket.wait().map_err(Error::from)?;
        }
        Ok(value)
    }

    /// Like [`Memory::run`], but returns when the transaction is visible to all. Its ticket has the value when it is on
    /// stable storage, and can be awaited.
    ///
    /// # Errors
    /// As [`Memory::run`].
    pub fn submit<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<Ticket<T>, Error> {
        let (value, ticket) = self.segment.run_later(body)?;
        Ok(Ticket::of_memory(ticket, value))
    }

    /// Like [`Memory::submit`], as the only writer: no other transaction commits meanwhile, so it is run once.
    ///
    /// # Errors
    /// As [`Memory::run`].
    pub fn submit_alone<T>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<Ticket<T>, Error> {
        let (value, ticket) = self.segment.run_alone(body)?;
        Ok(Ticket::of_memory(ticket, value))
    }

    /// A session, to begin and end transactions by hand. It is a value that can be kept and sent to another thread, and
    /// begins, commits and aborts one transaction after the other.
    ///
    /// ```
    /// # use sardonyx::memory::{MemoryAccess, MemoryRange, P, Transaction};
    /// # fn main() -> Result<(), sardonyx::Error> {
    /// # let memory = sardonyx::Options::new().open_private_memory()?;
    /// # memory.run(|tx| Ok(tx.grow_to(8192)?))?;
    /// # let counter: P<u64> = P::from_offset(4096);
    /// let mut session = memory.begin()?;
    /// session.with_running(|tx| tx.write(counter, 7))??;
    /// let position = session.commit()?;
    /// memory.ticket(position).wait()?; // on stable storage
    /// # assert_eq!(memory.snapshot()?.read(counter)?, 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Limit`] if there are too many sessions; [`Error::Closed`].
    pub fn begin(&self) -> Result<Session, Error> {
        let mut session = self.segment.session()?;
        session.begin(Begin::default())?;
        Ok(session)
    }

    /// The ticket of a position that [`Session::commit`] returned.
    pub fn ticket(&self, position: Option<u64>) -> Ticket {
        Ticket::of_memory(self.segment.ticket(position), ())
    }

    /// The present memory, readable for as long as the snapshot is kept.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are too many sessions; [`Error::Closed`]; [`Error::Forked`].
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.segment.snapshot()?)
    }

    /// Bytes of the memory; 0 if it is closed.
    pub fn length(&self) -> u64 {
        self.segment.length()
    }

    /// The mechanism that finds the pages that transactions touch.
    pub fn mechanism(&self) -> MechanismKind {
        self.segment.mechanism()
    }

    /// True if it outlives its processes.
    pub fn is_durable(&self) -> bool {
        self.segment.is_durable()
    }

    /// The pages on which this process' transactions conflicted with others. Put data that different threads or processes
    /// change on different pages ([`Spread`]).
    pub fn conflicts(&self) -> Conflicts {
        self.segment.conflicts()
    }

    /// The reader that keeps most old versions, if one does.
    pub fn slowest_reader(&self) -> Option<SlowReader> {
        self.segment.slowest_reader()
    }

    /// Waits until everything that is committed, by any process, is on stable storage.
    ///
    /// # Errors
    /// As [`Ticket::wait`]; [`Error::Closed`].
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.segment.flush()?)
    }

    /// Takes a checkpoint of everything committed now, and waits for it, so that the next recovery starts
    /// from here.
    ///
    /// # Errors
    /// As [`Ticket::wait`]; [`Error::Closed`].
    pub fn checkpoint(&self) -> Result<(), Error> {
        Ok(self.segment.checkpoint()?)
    }

    /// The report of the recovery, if this process was the first to open the database; the others share its result.
    pub fn recovery(&self) -> Option<RecoveryReport> {
        self.segment.recovery()
    }

    /// The statistics of this handle's transactions.
    pub fn statistics(&self) -> Statistics {
        let memory = self.segment.statistics();
        Statistics {
            committed: memory.commits,
            run_again: memory.conflicts,
            memory,
            ..Statistics::default()
        }
    }

    /// Makes committed changes durable and leaves the memory, for all handles in this process. Every later call is
    /// refused ([`Error::Closed`]), but for another close, which does nothing. Running transactions continue; the
    /// process has left when the last transaction, session, snapshot and ticket has been dropped. Dropping the last
    /// handle does the same, but reports no errors.
    ///
    /// # Errors
    /// As [`Ticket::wait`]: it is closed nevertheless. [`Error::Forked`] in a child of the process that
    /// opened it.
    pub fn close(&self) -> Result<(), Error> {
        Ok(self.segment.close()?)
    }
}

/// Returns the closure's own error unchanged, and converts the engine's.
fn typed<E: From<Error>>(error: RunError<E>) -> E {
    match error {
        RunError::Refused(error) => error,
        RunError::Segment(error) => Error::from(error).into(),
    }
}
