//! The segment that a program opens.

use crate::conflicts::Conflicts;
use crate::error::{RunError, SegmentError};
use crate::mechanism::MechanismKind;
use crate::options::Options;
use crate::process_state::ProcessState;
use crate::session::{Begin, Session};
use crate::shared::versions::SlowReader;
use crate::ticket::Ticket;
use crate::transaction::{Snapshot, Transaction};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::waiting::back_off;
use sardonyx_storage::recovery::RecoveryReport;
use sardonyx_storage::ticket::DurableLog;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A transaction that conflicts so often gets the right to go first.
const ATTEMPTS_BEFORE_PRIORITY: u32 = 6;

thread_local! {
    /// Segments on which this thread is running a transaction.
    static RUNNING: RefCell<Vec<*const Inner>> = const { RefCell::new(Vec::new()) };
}

/// A segment of memory that is shared, transactional and, if it has a directory, durable. Cloning it
/// makes another handle.
///
/// ```
/// use sardonyx_mapped::{MemoryAccess, Memory, Options, P};
/// let segment = Options::new().open_private()?;
/// let counter: P<u64> = P::from_offset(4096);
/// segment.run(|tx| {
///     tx.grow_to(8192)?;
///     *tx.get_mut(counter)? += 1;
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(segment.snapshot()?.read(counter)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Segment {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    open: Mutex<Open>,
    mechanism: MechanismKind,
    ready: bool,
    totals: Totals,
}

/// The parts of a segment until it is closed.
#[derive(Debug)]
struct Open {
    /// Sessions that are not in use.
    idle: Vec<Session>,
    state: Option<Arc<ProcessState>>,
}

#[derive(Debug, Default)]
struct Totals {
    commits: AtomicU64,
    conflicts: AtomicU64,
    priorities: AtomicU64,
}

/// Counts of this handle's transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Transactions committed by [`Segment::run`] and its kin.
    pub commits: u64,
    /// Times that one was run again.
    pub conflicts: u64,
    /// Times that one got the right to go first.
    pub priorities: u64,
    /// Times that a thread of this process waited for a process that was stopped.
    pub stopped_processes: u64,
}

impl Segment {
    /// Opens the database in a directory as a segment, or makes one.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, SegmentError> {
        Options::new().open(directory)
    }

    pub(crate) fn assemble(
        state: Arc<ProcessState>,
        mechanism: MechanismKind,
        ready: bool,
    ) -> Self {
        Segment {
            inner: Arc::new(Inner {
                open: Mutex::new(Open {
                    idle: Vec::new(),
                    state: Some(state),
                }),
                mechanism,
                ready,
                totals: Totals::default(),
            }),
        }
    }

    /// Runs a transaction, again and again until it commits, and returns when it is durable.
    ///
    /// The closure must bear being run several times: its effects outside of the segment are not undone.
    ///
    /// # Errors
    /// The closure's error, after its effects were undone; [`SegmentError`].
    pub fn run<R, E>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, RunError<E>> {
        let (result, ticket) = self.run_later(body)?;
        ticket.wait()?;
        Ok(result)
    }

    /// As [`run`](Self::run), but returns when it is visible, with a ticket for its durability.
    pub fn run_later<R, E>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<(R, Ticket), RunError<E>> {
        self.run_as(Begin::default(), body)
    }

    /// As [`run_later`](Self::run_later), as the only writer: no other transaction commits meanwhile, so
    /// it is run once. The contract of LMDB's write transactions.
    pub fn run_alone<R, E>(
        &self,
        body: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<(R, Ticket), RunError<E>> {
        let exclusive = Begin {
            exclusive: true,
            read_only: false,
        };
        self.run_as(exclusive, body)
    }

    fn run_as<R, E>(
        &self,
        begin: Begin,
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<(R, Ticket), RunError<E>> {
        let _inside = Inside::enter(&self.inner)?;
        let mut session = self.session()?;
        let totals = &self.inner.totals;
        let mut attempts = 0;
        loop {
            let priority = attempts >= ATTEMPTS_BEFORE_PRIORITY;
            if priority && !begin.exclusive {
                totals.priorities.fetch_add(1, Ordering::Relaxed);
            }
            let begin = Begin {
                exclusive: begin.exclusive || priority,
                ..begin
            };
            match attempt(&mut session, begin, &mut body)? {
                Some((result, position)) => {
                    totals.commits.fetch_add(1, Ordering::Relaxed);
                    let state = session.state().clone();
                    self.give_back(session);
                    return Ok((result, Ticket::new(Some(state), position)));
                }
                None => {
                    totals.conflicts.fetch_add(1, Ordering::Relaxed);
                    back_off(attempts);
                    attempts += 1;
                }
            }
        }
    }

    /// The segment as it is now, to be read.
    pub fn snapshot(&self) -> Result<Snapshot, SegmentError> {
        Snapshot::new(self.session()?, self.clone())
    }

    /// A new session, for programs that begin and commit by hand.
    pub fn session(&self) -> Result<Session, SegmentError> {
        let mut open = self.inner.open.lock();
        if let Some(session) = open.idle.pop() {
            return Ok(session);
        }
        let state = open.state.clone().ok_or(SegmentError::Closed)?;
        drop(open);
        Session::new(state, self.inner.mechanism, self.inner.ready)
    }

    /// Gives a session back for reuse.
    pub fn give_back(&self, session: Session) {
        let mut open = self.inner.open.lock();
        if !session.is_running() && open.state.is_some() {
            open.idle.push(session);
        } else {
            // The caller may be the last user of the segment: closing is not done under the lock.
            drop(open);
            drop(session);
        }
    }

    fn state(&self) -> Result<Arc<ProcessState>, SegmentError> {
        self.inner
            .open
            .lock()
            .state
            .clone()
            .ok_or(SegmentError::Closed)
    }

    /// Waits until everything that is committed is on stable storage.
    ///
    /// # Errors
    /// As [`Ticket::wait`]; [`SegmentError::Closed`].
    pub fn flush(&self) -> Result<(), SegmentError> {
        let state = self.state()?;
        let tail = state.region.control().tail.load(Ordering::SeqCst);
        state.wait_durable(tail)
    }

    /// Makes commits durable and releases the segment, for all handles. Every later call is refused
    /// ([`SegmentError::Closed`]), except another close, which does nothing. Running work on it continues;
    /// this process has left the segment when the last transaction, snapshot and ticket is dropped.
    ///
    /// # Errors
    /// As [`Ticket::wait`]: the segment is closed nevertheless. [`SegmentError::Forked`] in a child of the
    /// process that opened it.
    pub fn close(&self) -> Result<(), SegmentError> {
        let Ok(state) = self.state() else {
            return Ok(());
        };
        if state.region.was_forked() {
            return Err(SegmentError::Forked);
        }
        let flushed = self.flush();
        let mut open = self.inner.open.lock();
        let idle = std::mem::take(&mut open.idle);
        let closed = open.state.take();
        drop(open);
        drop((idle, closed, state));
        match flushed {
            // Another thread closed it meanwhile.
            Err(SegmentError::Closed) => Ok(()),
            flushed => flushed,
        }
    }

    /// A ticket for the position that a session's commit returned.
    pub fn ticket(&self, position: Option<u64>) -> Ticket {
        Ticket::new(self.state().ok(), position)
    }

    /// The mechanism that detects the pages that transactions touch.
    pub fn mechanism(&self) -> MechanismKind {
        self.inner.mechanism
    }

    /// Bytes of the segment; 0 if it is closed.
    pub fn length(&self) -> u64 {
        let pages = self.state().map_or(0, |state| state.region.pages());
        pages * sardonyx_storage::page::PAGE_SIZE as u64
    }

    /// Takes a checkpoint that has everything committed now, so that less is to be redone when the
    /// database is opened. Checkpoints are also taken as the log grows.
    pub fn checkpoint(&self) -> Result<(), SegmentError> {
        self.state()?.checkpoint()
    }

    /// True if it outlives its processes.
    pub fn is_durable(&self) -> bool {
        self.state().is_ok_and(|state| state.has_log())
    }

    /// The report of recovery, if this process was the first to open the database.
    pub fn recovery(&self) -> Option<RecoveryReport> {
        self.state().ok()?.recovery().cloned()
    }

    /// The reader that keeps most old versions, if one does.
    pub fn slowest_reader(&self) -> Option<SlowReader> {
        self.state().ok()?.slowest_reader()
    }

    /// The pages on which this process' transactions conflicted with others, since it opened the segment, with any
    /// handle; nothing, if it is closed. Transactions conflict by page: data that different threads or processes
    /// change should be on different pages ([`Spread`](crate::Spread)).
    pub fn conflicts(&self) -> Conflicts {
        self.state()
            .map_or_else(|_| Conflicts::default(), |state| state.conflicts.read())
    }

    /// Counts of this handle's transactions.
    pub fn statistics(&self) -> Statistics {
        let totals = &self.inner.totals;
        Statistics {
            commits: totals.commits.load(Ordering::Relaxed),
            conflicts: totals.conflicts.load(Ordering::Relaxed),
            priorities: totals.priorities.load(Ordering::Relaxed),
            stopped_processes: self.state().map_or(0, |state| state.stopped_processes()),
        }
    }
}

/// Runs a transaction once; `None` if it is to be run again.
fn attempt<R, E>(
    session: &mut Session,
    begin: Begin,
    body: &mut impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
) -> Result<Option<(R, Option<u64>)>, RunError<E>> {
    let mut transaction = Transaction::begin(session, begin)?;
    let result = match body(&mut transaction) {
        // A doomed transaction may have failed because it is one.
        Err(_) if transaction.is_doomed() => return Ok(None),
        result => result.map_err(RunError::Refused)?,
    };
    match transaction.commit() {
        Ok(position) => Ok(Some((result, position))),
        Err(SegmentError::Conflict { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Marks this thread as running a transaction on a segment.
struct Inside(*const Inner);

impl Inside {
    fn enter(inner: &Arc<Inner>) -> Result<Self, SegmentError> {
        let this = Arc::as_ptr(inner);
        RUNNING.with_borrow_mut(|running| {
            if running.contains(&this) {
                return Err(SegmentError::InsideTransaction);
            }
            running.push(this);
            Ok(Inside(this))
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.retain(|entry| *entry != self.0));
    }
}
