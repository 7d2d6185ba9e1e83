//! Reading the tables of a database beside the program that has it open, by its log.
//!
//! ```
//! use sardonyx::{Error, Tables, record};
//! use std::time::Duration;
//!
//! record! {
//!     #[table("accounts", key = id)]
//!     struct Account {
//!         id: u64,
//!         balance: i64,
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//! #   let machine = tempfile::tempdir().map_err(Error::other)?;
//! #   let path = machine.path().join("bank.sdx");
//!     // One process writes …
//!     let bank = Tables::open(&path)?;
//!     let accounts = bank.table::<Account>()?;
//!     bank.run(|tx| tx.insert(accounts, &Account { id: 1, balance: 100 }))?;
//!
//!     // … and any number of others, of the same host, read its commits.
//!     let reader = Tables::follow(&path)?;
//!     let then = reader.snapshot()?;
//!     let accounts = then.table::<Account>()?.expect("it is declared");
//!     assert_eq!(then.get(accounts, 1)?.map(|account| account.balance), Some(100));
//!
//!     bank.run(|tx| tx.update(accounts, 1, |account| account.balance = 70))?;
//!     // Usually some milliseconds behind; at least as far as is asked:
//!     reader.wait_for(bank.position()?, Duration::from_secs(10))?;
//!     let now = reader.snapshot()?;
//!     assert_eq!(now.get(accounts, 1)?.map(|account| account.balance), Some(70));
//!     assert_eq!(then.get(accounts, 1)?.map(|account| account.balance), Some(100));
//!     bank.close()
//! }
//! ```
//!
//! A follower has all pages and indexes in its own memory, as the program that writes has. It reads that program's files,
//! takes no lock, is read-only, and needs only the right to read them. The program does not know of it: it publishes the
//! end of its durable log in a small file, which costs it a system call for each commit group.
//!
//! A follower shows only durable commits: no power cut takes them back. If the log was freed before it was read, as after
//! a long stop, the follower begins anew by itself, and atomically for its readers.

mod following;

use crate::{Error, Options, Snapshot, Tables, View};
use following::{Following, State};
use sardonyx_base::process::Process;
use sardonyx_base::sync::thread::{self, JoinHandle};
use sardonyx_base::sync::{Condvar, Mutex, MutexGuard};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::journal::JournalPosition;
use sardonyx_storage::manifest::MANIFEST_FILE;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The time between two reads of the log. With the time for a read and for applying it, it is less than the 10 ms that a
/// follower may be behind.
const LOOK_EVERY: Duration = Duration::from_millis(4);

/// The moment of the next read. All followers of a machine read at the same moments, so only the first one reads the disk
/// ([`RealDisk::sharing_reads`]).
fn next_look() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let every = LOOK_EVERY.as_nanos();
    let into = since.map_or(0, |since| since.as_nanos() % every);
    Duration::from_nanos((every - into) as u64)
}

impl Tables {
    /// Follows the database in this directory: reads its tables beside the program that has it open, usually at most 10
    /// ms behind its commits. See [`follower`](crate::follower). Feature `hosts`.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no database; [`Error::Damaged`], with file and offset; [`Error::Refused`] if it holds
    /// no tables; [`Error::Full`] if it is larger than [`Options::memory_bytes_max`]; [`Error::Unavailable`] if its log is
    /// freed faster than it is read.
    pub fn follow(path: impl AsRef<Path>) -> Result<Follower, Error> {
        Options::new().follow_tables(path)
    }

    /// The end of the durable log now: for [`Follower::wait_for`], or to read [changes](crate::changes) from here on.
    /// Every transaction of which [`Tables::run`] has returned is before it. Feature `hosts`.
    ///
    /// # Errors
    /// [`Error::Closed`]; [`Error::Forked`].
    pub fn position(&self) -> Result<JournalPosition, Error> {
        self.kernel.check()?;
        let group = self.kernel.engine().commit().durable().group;
        Ok(JournalPosition { group, row: 0 })
    }
}

/// Following.
impl Options {
    /// Follows the database in this directory, to read its tables beside the program that has it open. Only the options
    /// for memory take effect. Feature `hosts`.
    ///
    /// # Errors
    /// As [`Tables::follow`].
    pub fn follow_tables(self, path: impl AsRef<Path>) -> Result<Follower, Error> {
        let path = path.as_ref();
        if !path.join(MANIFEST_FILE).exists() {
            let file = path.join(MANIFEST_FILE).display().to_string();
            return Err(OpenError::Absent { file }.into());
        }
        let disk = RealDisk::open_for_reading(path)?.sharing_reads();
        self.follow_tables_on(Arc::new(disk))
    }

    /// Follows the database on a disk of your own, such as the simulated one.
    ///
    /// # Errors
    /// As [`Tables::follow`].
    pub fn follow_tables_on(self, disk: Arc<dyn Disk>) -> Result<Follower, Error> {
        let follower = self.follow_by_hand(disk)?;
        let (shared, following) = (follower.shared.clone(), follower.by_hand.lock().take());
        let body = move || {
            following
                .into_iter()
                .for_each(|following| shared.follow(following))
        };
        let thread = thread::Builder::new().name("follower".into()).spawn(body)?;
        *follower.thread.lock() = Some(thread);
        Ok(follower)
    }

    /// The same without a thread: it follows at each call of [`Follower::step`], so that a run can be replayed.
    ///
    /// # Errors
    /// As [`Tables::follow`].
    #[doc(hidden)]
    pub fn follow_by_hand(self, disk: Arc<dyn Disk>) -> Result<Follower, Error> {
        let (following, state) = Following::begin(disk, &self)?;
        let shared = Arc::new(Shared {
            process: Process::current(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        Ok(Follower {
            shared,
            by_hand: Mutex::new(Some(following)),
            thread: Mutex::new(None),
        })
    }
}

/// The part that a follower's thread and its readers share.
struct Shared {
    process: Process,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// Reads once. True if there was anything; `None` if following has failed.
    fn step(&self, following: &mut Following) -> Option<bool> {
        following.step(&self.state, &self.changed).ok()
    }

    /// Follows until closed, or until that fails.
    fn follow(&self, mut following: Following) {
        while self.step(&mut following).is_some() {
            let until = Instant::now() + next_look();
            let mut state = self.state.lock();
            while !state.closed && Instant::now() < until {
                self.changed.wait_until(&mut state, until);
            }
            if state.closed {
                return;
            }
        }
    }
}

/// The tables of a database that another program has open, to read: [`Tables::follow`]. Share it between threads by
/// reference or in an `Arc`.
///
/// If following fails, such as by damage, every later call returns the error. Follow anew when the cause is removed.
pub struct Follower {
    shared: Arc<Shared>,
    /// Without a thread.
    by_hand: Mutex<Option<Following>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Follower {
    /// Without a thread: reads the log once, and applies everything that is durable. Returns true if there was anything.
    ///
    /// # Errors
    /// As [`Follower::snapshot`].
    #[doc(hidden)]
    pub fn step(&self) -> Result<bool, Error> {
        drop(self.state()?);
        let mut by_hand = self.by_hand.lock();
        let stepped = by_hand
            .as_mut()
            .map(|following| self.shared.step(following));
        drop(by_hand);
        match stepped {
            Some(Some(has_news)) => Ok(has_news),
            Some(None) => self.state().map(|_| false),
            None => Ok(false),
        }
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, Error> {
        self.shared.process.check()?;
        let state = self.shared.state.lock();
        state.check()?;
        Ok(state)
    }

    /// A snapshot of all tables, at the newest commit that this has read. It is read as one of the writing program, and
    /// blocks neither that program nor other readers.
    ///
    /// # Errors
    /// The error that ended following, if one did; [`Error::Closed`]; [`Error::Forked`]; [`Error::Full`] if the process
    /// has no address space for it.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let mut state = self.state()?;
        let space = state.snapshot()?;
        drop(state);
        Ok(Snapshot::new(space, self.shared.process))
    }

    /// The same, if it is at most `lag_max` behind the commits.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it is further behind, or that is not known; the errors of [`Follower::snapshot`].
    pub fn snapshot_within(&self, lag_max: Duration) -> Result<Snapshot, Error> {
        let mut state = self.state()?;
        let lag = state.current.map(|current| current.age());
        if lag.is_none_or(|lag| lag > lag_max) {
            let behind = match lag {
                Some(lag) => Behind::Further { lag, lag_max },
                None => Behind::Unknown,
            };
            return Err(Error::Unavailable(behind.into()));
        }
        let space = state.snapshot()?;
        drop(state);
        Ok(Snapshot::new(space, self.shared.process))
    }

    /// A snapshot, if it has all that was published before this moment.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it may not have all: the next look at the log finds it; the errors of [`Follower::snapshot`].
    #[doc(hidden)]
    pub fn snapshot_as_of(&self, moment: Instant) -> Result<Snapshot, Error> {
        let mut state = self.state()?;
        match state.current {
            Some(current) if current.at >= moment => {
                let space = state.snapshot()?;
                drop(state);
                Ok(Snapshot::new(space, self.shared.process))
            }
            Some(current) => {
                let (lag, lag_max) = (current.age(), moment.elapsed());
                Err(Error::Unavailable(Behind::Further { lag, lag_max }.into()))
            }
            None => Err(Error::Unavailable(Behind::Unknown.into())),
        }
    }

    /// True if a call would wait now: a group is being applied.
    #[doc(hidden)]
    pub fn is_busy(&self) -> bool {
        self.shared.state.try_lock().is_none()
    }

    /// Waits until no group is being applied, but no longer than `at_most`.
    #[doc(hidden)]
    pub fn wait_while_busy(&self, at_most: Duration) {
        drop(self.shared.state.lock_within(at_most));
    }

    /// Waits until the group that is being applied is, or the next look at the log is over, but no longer than `at_most`.
    #[doc(hidden)]
    pub fn wait_for_look(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let was_busy = self.is_busy();
        if let Some(mut state) = self.shared.state.lock_within(at_most)
            && !was_busy
            && state.check().is_ok()
        {
            self.shared.changed.wait_until(&mut state, until);
        }
    }

    /// True if following has failed, or was ended. Waits for nothing.
    #[doc(hidden)]
    pub fn has_ended(&self) -> bool {
        let state = self.shared.state.try_lock();
        state.is_some_and(|state| state.check().is_err())
    }

    /// Gives access to the present tables. No group is applied meanwhile.
    ///
    /// # Errors
    /// As [`Follower::snapshot`].
    #[doc(hidden)]
    pub fn look<R>(&self, look: impl FnOnce(&View<'_>) -> R) -> Result<R, Error> {
        Ok(look(&self.state()?.view()))
    }

    /// The place in the log up to which a snapshot would have everything now.
    ///
    /// # Errors
    /// As [`Follower::snapshot`].
    pub fn position(&self) -> Result<JournalPosition, Error> {
        let group = self.state()?.group;
        Ok(JournalPosition { group, row: 0 })
    }

    /// Waits until a snapshot would have everything before a position: of [`Tables::position`], or
    /// [`Change::next`](crate::changes::Change::next).
    ///
    /// # Errors
    /// [`Error::Unavailable`] if that takes longer than `patience`; the errors of [`Follower::snapshot`], also of a close while
    /// it waits.
    pub fn wait_for(&self, position: JournalPosition, patience: Duration) -> Result<(), Error> {
        let wanted = position.group.saturating_add(u64::from(position.row > 0));
        // None: longer than the clock's range.
        let until = Instant::now().checked_add(patience);
        loop {
            let mut state = self.state()?;
            if state.group >= wanted {
                return Ok(());
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                let at = JournalPosition {
                    group: state.group,
                    row: 0,
                };
                return Err(Error::Unavailable(NotReached { position, at }.into()));
            }
            match until {
                Some(until) => drop(self.shared.changed.wait_until(&mut state, until)),
                None => self.shared.changed.wait(&mut state),
            }
        }
    }

    /// An upper bound of the lag of a snapshot behind the commits: the time since the beginning of the last look at the
    /// log after which this follower had everything. Time during which the machine slept counts. The bound grows
    /// between two looks, and while much is read. It grows without end while the end of the log is not published: the
    /// program that writes cannot publish it, or is of an older version. [`Duration::MAX`] if no end was ever
    /// published, as in a copy that no program has opened. With [`DurableAt::Remote`](crate::hosts::DurableAt::Remote)
    /// a commit counts from the time at which its log is stable on this host.
    ///
    /// # Errors
    /// As [`Follower::snapshot`].
    pub fn lag(&self) -> Result<Duration, Error> {
        let current = self.state()?.current;
        Ok(current.map_or(Duration::MAX, |current| current.age()))
    }

    /// The number of times that the tables were read anew, because the log was freed or the database compacted before this had read on.
    ///
    /// # Errors
    /// As [`Follower::snapshot`].
    pub fn times_begun_anew(&self) -> Result<u64, Error> {
        Ok(self.state()?.anew)
    }

    /// Ends following. Snapshots stay readable, and keep the memory until they are dropped. Dropping does the same.
    pub fn close(&self) {
        if self.shared.process.check().is_err() {
            return;
        }
        self.shared.state.lock().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread was reported by the hook of panics.
            let _ = thread.join();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

/// A follower is further behind than a read allows.
#[derive(Debug, thiserror::Error)]
enum Behind {
    #[error(
        "this reader may be {lag:?} behind the last commit, and at most {lag_max:?} is allowed: read again when it has \
         caught up, or allow more"
    )]
    Further { lag: Duration, lag_max: Duration },
    #[error(
        "it is unknown how far this reader is behind the last commit: the database was not opened since it was \
         copied, or \
         the program that writes cannot write the file DURABLE, or is of an older version; read without a bound"
    )]
    Unknown,
}

/// A position was not reached in time.
#[derive(Debug, thiserror::Error)]
#[error(
    "position {position} was not reached in time: this reader is at {at}; wait longer, or check that the writing \
     program has committed so far"
)]
struct NotReached {
    position: JournalPosition,
    at: JournalPosition,
}
