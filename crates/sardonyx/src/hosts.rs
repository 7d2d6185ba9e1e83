//! Several hosts for one database whose log is in a store: one serves, the others follow. When that one fails another
//! continues with everything that was acknowledged.
//!
//! ```
//! use sardonyx::hosts::{Host, HostOptions, MemoryStore, RemoteLog, StopHost};
//! use sardonyx::{Error, Options, record};
//! use std::sync::Arc;
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
//!     // The crate `sardonyx-remote` has stores that outlive a process.
//!     let store = RemoteLog::new(Arc::new(MemoryStore::new()));
//!     let options = Options::new().store(store);
//!     let mut host = Host::new(&path, options, HostOptions::new("host-1"))?;
//!     let stop = StopHost::default();
//!     while let Some(term) = host.next_term(&stop)? { // follows until this host is to serve
//!         let bank = term.options().open_tables(&path)?;
//!         let accounts = bank.table::<Account>()?;
//!         while !term.is_over() { // until another host has taken over, or is wanted
//!             bank.run(|tx| tx.insert(accounts, &Account { id: 1, balance: 100 }).map(|_| ()))?;
//! #           stop.stop();
//! #           break;
//!         }
//!         term.close(&bank)?; // the next host need not wait for all of it
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Guarantees
//!
//! Transactions for which [`run`](crate::Tables::run) returned are in the store ([`DurableAt::Both`]), so the next host
//! has them. Two hosts never both acknowledge. The one that takes over first appends a fence to the log; later appends
//! by the other are rejected, after any pause and with any clock. A register in the store names the host that is to
//! serve; it only keeps hosts from taking the log from each other in turn.
//!
//! Reads ask no other host: one that was just superseded can for a moment show an earlier state. A program that must
//! not show that calls [`Term::has_lease`] after it has read, or asks a [`TermLease`].
//!
//! While the store is away transactions wait, and the lease runs out after half of [`HostOptions::wait`]. A program may
//! close the database then, or keep it open and answer nothing. When the store is back, and no other host has taken
//! over, the same term continues ([`Term::state`]).
//!
//! A host that comes back follows. Log that the store lacks goes there in its next term. It is cut off if another host
//! continued without it, and until either the host does not follow. Groups that are cut off are kept in the directory,
//! in a file whose name begins with `fork-`.

mod alone;
mod followed;
mod register;
mod reports;
#[cfg(test)]
mod silent;
mod term;

use crate::{Error, Options, clock};
use register::{clear, is_damage, put};
use reports::Reports;
use sardonyx_base::events;
use sardonyx_base::random::system_random;
use sardonyx_base::seldom::Seldom;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::disk::{Disk, DiskLock, RealDisk};
use sardonyx_storage::engine::{OpenError, Replica, follow_store, stored_manifest, take_lock};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::Entry;
use sardonyx_storage::remote_log::primary::{
    Act, Candidate, Replacement, Term as TermRecord, Turn, is_host_name,
};
use sardonyx_storage::remote_log::shell::Follower;
use sardonyx_storage::remote_log::store::Register;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use followed::{CaughtUp, Followed};
pub use register::{may_pass, primary, promote};
pub use term::{Term, TermLease, TermState};

pub use crate::host_error::{HostError, WAIT_MIN};
pub use sardonyx_storage::engine::{DurableAt, RemoteLog};
pub use sardonyx_storage::remote_log::memory::MemoryStore;
pub use sardonyx_storage::remote_log::objects::RemotePlace;
pub use sardonyx_storage::remote_log::primary::ANY_OTHER;
pub use sardonyx_storage::remote_log::primary::Primary;
pub use sardonyx_storage::remote_log::shell::Patience;

/// So often a register whose text is damaged is read again.
const DOUBTS_MAX: u32 = 3;
/// So many bytes of entries are applied at once, or one entry.
const ENTRIES_BYTES: usize = 1 << 20;
/// So many times in the wait for a failed host a store without an answer is asked for its database.
const TRIES: u32 = 16;

/// One host's part in a database that several hosts serve in turn.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Its name, another one for each host: 1 to 200 letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// The time without a sign of the serving host after which another takes over: 2 s. The host gives a sign each
    /// eighth of that, and stops serving when it could not for half of it.
    pub wait: Duration,
}

impl HostOptions {
    /// The name is unique among the hosts of a database; other options have their defaults.
    pub fn new(name: impl Into<String>) -> Self {
        HostOptions {
            name: name.into(),
            wait: Duration::from_secs(2),
        }
    }

    /// Checks that a host can take part so.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn check(&self) -> Result<(), Error> {
        if !is_host_name(&self.name) {
            let name = self.name.clone();
            return Err(HostError::Name { name }.into());
        }
        if !(WAIT_MIN..=Duration::from_secs(86_400)).contains(&self.wait) {
            return Err(HostError::Wait { wait: self.wait }.into());
        }
        Ok(())
    }
}

/// Stops a host that follows, from another thread: [`Host::next_term`] returns then. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct StopHost(Arc<Stop>);

#[derive(Debug, Default)]
struct Stop {
    is_asked: StdMutex<bool>,
    asked: Condvar,
}

impl StopHost {
    /// [`Host::next_term`] returns when it has an answer to its present request to the store: at the latest after the
    /// store's patience ([`RemoteLog::patience`]), 30 s unless configured.
    pub fn stop(&self) {
        *self.is_asked() = true;
        self.0.asked.notify_all();
    }

    /// True after the first call of `stop`.
    pub fn is_stopped(&self) -> bool {
        *self.is_asked()
    }

    fn is_asked(&self) -> MutexGuard<'_, bool> {
        let is_asked = self.0.is_asked.lock();
        is_asked.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this moment of the hosts' clock, or until it is to stop.
    fn wait(&self, until: Instant) {
        let left = until.saturating_duration_since(clock::now());
        let waited = self
            .0
            .asked
            .wait_timeout_while(self.is_asked(), left, |is_asked| !*is_asked);
        // A flag is whole at any moment.
        drop(waited);
    }
}

/// A host of a database whose log is in a store.
#[derive(Debug)]
pub struct Host {
    directory: PathBuf,
    options: Options,
    remote: RemoteLog,
    host: HostOptions,
    /// None: no answer of the store has named its database yet.
    turn: Option<Turn>,
    process: u64,
    following: Option<(Replica, Follower)>,
    /// The number of times that it began to follow.
    begun: u64,
    followed: Arc<Mutex<Followed>>,
    serving: Arc<Mutex<Option<String>>>,
    /// The time when the directory was found to be ahead of the store, which is not read again for a while.
    behind: Option<Instant>,
    doubts: u32,
    silent: Seldom,
    reports: Reports,
}

/// The next entries that the store has, up to a bound, or until the time is over after one of them; and the moment at
/// which it had no more, if it had none.
fn next_entries(
    follower: &mut Follower,
    begun: u64,
    is_over: impl Fn() -> bool,
) -> (Vec<Entry>, Result<Option<CaughtUp>, RemoteLogError>) {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    loop {
        // An entry that comes while it is asked is not in the answer.
        let caught_up = CaughtUp::now(begun);
        match follower.look() {
            Ok(Some(entry)) => {
                bytes += entry.bytes().len();
                entries.push(entry);
            }
            Ok(None) => return (entries, Ok(Some(caught_up))),
            Err(error) => return (entries, Err(error)),
        }
        if bytes >= ENTRIES_BYTES || is_over() {
            return (entries, Ok(None));
        }
    }
}

type LockedDirectory = (Arc<dyn Disk>, Box<dyn DiskLock>);

impl Host {
    /// A host with this directory; the options name the store.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn new(
        directory: impl AsRef<Path>,
        options: Options,
        host: HostOptions,
    ) -> Result<Host, Error> {
        let remote = options.storage.remote.clone().ok_or(HostError::NoStore)?;
        host.check()?;
        Ok(Host {
            directory: directory.as_ref().into(),
            options,
            remote,
            host,
            turn: None,
            process: system_random(),
            following: None,
            begun: 0,
            followed: Arc::default(),
            serving: Arc::default(),
            behind: None,
            doubts: 0,
            silent: Seldom::default(),
            reports: Reports::default(),
        })
    }

    /// The host that serves, as this one saw it last, for another thread to look at.
    pub fn serving(&self) -> impl Fn() -> Option<String> + Send + Sync + 'static {
        let serving = self.serving.clone();
        move || serving.lock().clone()
    }

    /// Its place, for another thread to look at.
    pub fn followed(&self) -> impl Fn() -> Followed + Send + Sync + 'static {
        let followed = self.followed.clone();
        move || *followed.lock()
    }

    /// Follows the store's log until this host is to serve. `None`: it was stopped before. A store that gives no answer is
    /// asked again.
    ///
    /// # Errors
    /// As opening the database; the fault of the log or the register.
    pub fn next_term(&mut self, stop: &StopHost) -> Result<Option<Term>, Error> {
        while !stop.is_stopped() {
            match self.step(stop) {
                Ok(Some(term)) => return Ok(Some(term)),
                Ok(None) => {}
                Err(error) if may_pass(&error) => {
                    if self.silent.is_due(Instant::now()) {
                        events::warn!(%error, "the store is asked again");
                    }
                    match &mut self.turn {
                        Some(turn) => turn.hindered(clock::now()),
                        None => stop.wait(clock::now() + self.host.wait / TRIES),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if let Some((replica, _)) = self.following.take() {
            replica.close();
        }
        Ok(None)
    }

    /// Does the present act of this host's turn ([`Turn`]).
    fn step(&mut self, stop: &StopHost) -> Result<Option<Term>, Error> {
        let Some(turn) = &mut self.turn else {
            self.find_database()?;
            return Ok(None);
        };
        match turn.act(clock::now()) {
            Act::Look => self.look().map(|_| None),
            Act::Follow { until, to_claim } => {
                // The open copy applies the missing entries. The opening would recover another one for that.
                let has_nothing = to_claim && self.following.is_none();
                let is_at_end = has_nothing || self.follow(until, stop)?;
                if let Some(turn) = &mut self.turn {
                    turn.followed(is_at_end, clock::now());
                }
                Ok(None)
            }
            Act::Claim(replacement) => self.claim(&replacement),
            Act::Rest { until } => {
                stop.wait(until);
                Ok(None)
            }
        }
    }

    /// Begins to take turns when the store has a database. The first host of a store makes it.
    fn find_database(&mut self) -> Result<(), Error> {
        let Some(manifest) = stored_manifest(&self.remote)? else {
            return self.begin_to_follow();
        };
        let (name, wait) = (&self.host.name, self.host.wait);
        let candidate = Candidate::new(manifest.identity, name, self.process, wait);
        let is_near = self.remote.store.is_near();
        self.turn = Some(Turn::new(candidate, is_near, clock::now()));
        self.report(manifest.identity);
        Ok(())
    }

    /// True if the register's text was damaged, and is read again before that is believed.
    fn is_doubted(&mut self, error: &Error) -> bool {
        let is_damage = error.downcast_ref().is_some_and(is_damage);
        let is_doubted = is_damage && self.doubts < DOUBTS_MAX;
        if is_doubted {
            self.doubts += 1;
            events::warn!(%error, "the register is read again");
        }
        is_doubted
    }

    /// Looks which host serves. Returns whether the store answered.
    fn look(&mut self) -> Result<bool, Error> {
        let Some(turn) = &mut self.turn else {
            return Ok(false);
        };
        let before = clock::now();
        let stored = self.remote.store.read_register(Register::Primary);
        let read = match clear(stored, &mut self.silent) {
            Ok(None) => {
                turn.silent(clock::now());
                return Ok(false);
            }
            Ok(Some(stored)) => turn.read(stored.as_ref(), [before, clock::now()]),
            Err(error) => Err(error),
        };
        if let Err(error) = read {
            turn.silent(clock::now());
            let error = Error::from(error);
            return self.is_doubted(&error).then_some(false).ok_or(error);
        }
        self.doubts = 0;
        self.silent.end();
        if let Some(record) = turn.seen() {
            let serving = (!record.released).then(|| record.host.clone());
            let before = std::mem::replace(&mut *self.serving.lock(), serving.clone());
            if before != serving {
                // Another host may have continued without the data here.
                self.behind = None;
            }
        }
        Ok(true)
    }

    /// Becomes the host that serves, unless another one is faster.
    fn claim(&mut self, replacement: &Replacement) -> Result<Option<Term>, Error> {
        let _lock = match self.following {
            // It has the lock.
            Some(_) => None,
            None => Some(self.lock()?),
        };
        let asked = clock::now();
        let outcome = put(&self.remote, replacement, &mut self.silent)?;
        let Some(turn) = &mut self.turn else {
            return Ok(None);
        };
        if !turn.claimed(outcome, clock::now()) {
            return Ok(None);
        }
        events::info!(host = self.host.name, "this host serves");
        *self.serving.lock() = Some(self.host.name.clone());
        let following = self.following.take();
        let kept = following.map(|(replica, _)| Arc::new(replica.close_keeping()));
        *self.followed.lock() = Followed::default();
        let term = TermRecord::new(replacement.record.clone(), asked);
        let mut options = self.options.clone();
        options.storage.kept = kept;
        Ok(Some(Term::begin(self, term, options)?))
    }

    /// The directory, made where absent, and its lock. Its holder may be a process of this host's name, whose term must
    /// not be taken for that of an earlier process.
    fn lock(&self) -> Result<LockedDirectory, Error> {
        std::fs::create_dir_all(&self.directory).map_err(|error| Error::System(error.into()))?;
        let home: Arc<dyn Disk> = Arc::new(RealDisk::open(&self.directory)?);
        let lock = take_lock(&home, self.options.storage.wait_for_lock)?;
        Ok((home, lock))
    }

    /// Opens the directory to follow.
    fn begin_to_follow(&mut self) -> Result<(), Error> {
        let (home, lock) = self.lock()?;
        let mut options = self.options.storage.clone();
        options.threaded = true;
        self.begun += 1;
        // Before anything is cut off.
        self.followed.lock().begun = self.begun;
        match follow_store(&home, &options, lock) {
            Ok((replica, follower)) => {
                let identity = replica.known().identity;
                self.following = Some((replica, follower));
                self.note();
                self.report(identity);
                Ok(())
            }
            // Until this host serves again, or another goes on.
            Err(OpenError::StoreBehind) => {
                self.behind = Some(Instant::now());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Applies new entries, and reads no second one after this moment. Returns true if there are no more. The entries that
    /// were read before, up to [`ENTRIES_BYTES`] and one entry, are all applied.
    fn follow(&mut self, until: Instant, stop: &StopHost) -> Result<bool, Error> {
        // It takes long, and this host has to watch the register meanwhile.
        let is_behind = self
            .behind
            .is_some_and(|since| since.elapsed() < self.host.wait);
        if self.following.is_none() && !is_behind {
            self.behind = None;
            self.begin_to_follow()?;
        }
        // Not before the first one: with a slow store the time may be over when this begins.
        let is_over = || clock::now() >= until || stop.is_stopped();
        while let Some((replica, follower)) = &mut self.following {
            let (entries, after) = next_entries(follower, self.begun, is_over);
            if !entries.is_empty() {
                if let Err(error) = replica.apply_several(&entries) {
                    // Opened again it is compared, and goes on.
                    self.following = None;
                    return Err(error.into());
                }
                self.note();
            }
            match after {
                Ok(None) => {}
                Ok(Some(caught_up)) => {
                    self.followed.lock().caught_up = Some(caught_up);
                    return Ok(true);
                }
                // Until it is restored, or this host begins anew with a newer base.
                Err(error @ RemoteLogError::Hole { .. }) => {
                    events::error!(%error, "this host cannot follow");
                    return Ok(true);
                }
                // This process slept for longer than the store keeps: the directory may begin anew.
                Err(RemoteLogError::BehindBoundary { .. }) => {
                    self.following = None;
                    self.begin_to_follow()?;
                }
                Err(error) => {
                    let error = Error::from(error);
                    if !may_pass(&error) {
                        self.following = None;
                    }
                    return Err(error);
                }
            }
            if is_over() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn note(&self) {
        if let Some((replica, _)) = &self.following {
            let known = replica.known();
            let mut followed = self.followed.lock();
            *followed = Followed {
                next_entry: known.entry.next,
                transactions: known.log.transactions,
                time: known.entry.time,
                begun: self.begun,
                caught_up: followed.caught_up,
            };
        }
    }
}
