//! Several hosts for one database whose log is in a store: one serves, the others follow, and when that one is gone
//! another goes on with everything that was acknowledged.
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
//!         bank.close()?;
//!         term.release();
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # What holds
//!
//! What [`run`](crate::Tables::run) returned is in the store ([`DurableAt::Both`]), so whoever takes over has it. Two
//! hosts never both acknowledge: the one that takes over first puts a fence into the log, behind which the other's entries
//! do not go, however long it was stopped and whatever its clock says. A register in the store says who is to serve; it
//! only keeps hosts from taking the log from each other in turn.
//!
//! Reads ask nobody: a host that was just superseded can for a moment show what was before. Who must not show that asks
//! [`Term::has_lease`] after it has read.
//!
//! A host that comes back follows. What it has that the store has not goes there in its next term; it is cut off if
//! another host went on without it, and until either it does not follow.

use crate::{Error, Options};
use sardonyx_base::events;
use sardonyx_base::random::system_random;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::{OpenError, Replica, follow_store, stored_manifest, take_lock};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::primary::{Candidate, Duty, Look, Replacement, is_host_name};
use sardonyx_storage::remote_log::primary::{Primary as Record, Term as TermRecord};
use sardonyx_storage::remote_log::shell::{Follower, ask};
use sardonyx_storage::remote_log::store::{Register, StoreError, StoredRegister, Swapped};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use crate::host_error::{HostError, WAIT_MIN};
pub use sardonyx_storage::engine::{DurableAt, RemoteLog};
pub use sardonyx_storage::remote_log::memory::MemoryStore;
pub use sardonyx_storage::remote_log::objects::RemotePlace;
pub use sardonyx_storage::remote_log::primary::ANY_OTHER;
pub use sardonyx_storage::remote_log::primary::Primary;
pub use sardonyx_storage::remote_log::shell::Patience;

/// So many looks in the time after which a host counts as gone.
const LOOKS: u32 = 16;

/// How a host takes part.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Its name, another one for each host: 1 to 200 letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// When it serves and has given no sign for so long, another takes over: 2 s. It gives a sign each eighth of that,
    /// and stops serving when it could not for half of it.
    pub wait: Duration,
}

impl HostOptions {
    /// Of this name.
    pub fn new(name: impl Into<String>) -> Self {
        HostOptions {
            name: name.into(),
            wait: Duration::from_secs(2),
        }
    }
}

/// Has a host stop that waits. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct StopHost(Arc<AtomicBool>);

impl StopHost {
    /// [`Host::next_term`] returns when it has an answer to what it asks the store at that moment: at the latest after the
    /// store's patience ([`RemoteLog::patience`]), 30 s if nothing else is said.
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it is to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// How far a host follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Followed {
    /// Entries of the store's log before this number are here.
    pub next_entry: u64,
    /// Transactions that are here.
    pub transactions: u64,
    /// When the last entry was made, in microseconds since 1970, UTC.
    pub time: u64,
}

/// A host of a database whose log is in a store.
#[derive(Debug)]
pub struct Host {
    directory: PathBuf,
    options: Options,
    remote: RemoteLog,
    host: HostOptions,
    candidate: Option<Candidate>,
    process: u64,
    following: Option<(Replica, Follower)>,
    followed: Arc<Mutex<Followed>>,
}

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
        if !is_host_name(&host.name) {
            let name = host.name;
            return Err(HostError::Name { name }.into());
        }
        if !(WAIT_MIN..=Duration::from_secs(86_400)).contains(&host.wait) {
            let wait = host.wait;
            return Err(HostError::Wait { wait }.into());
        }
        Ok(Host {
            directory: directory.as_ref().into(),
            options,
            remote,
            host,
            candidate: None,
            process: system_random(),
            following: None,
            followed: Arc::default(),
        })
    }

    /// How far it follows, for another thread to look at.
    pub fn followed(&self) -> impl Fn() -> Followed + Send + Sync + 'static {
        let followed = self.followed.clone();
        move || *followed.lock()
    }

    /// Follows the store's log until this host is to serve. `None`: it was stopped before.
    ///
    /// # Errors
    /// As opening the database; what is wrong with the log or the register.
    pub fn next_term(&mut self, stop: &StopHost) -> Result<Option<Term>, Error> {
        while !stop.is_stopped() {
            if let Some(term) = self.look()? {
                return Ok(Some(term));
            }
            let until = Instant::now() + self.host.wait / LOOKS;
            self.follow(until, stop)?;
            thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        if let Some((replica, _)) = self.following.take() {
            replica.close();
        }
        Ok(None)
    }

    /// Looks who serves; begins a term if nobody does.
    fn look(&mut self) -> Result<Option<Term>, Error> {
        let Some(candidate) = &mut self.candidate else {
            let manifest = stored_manifest(&self.remote)?;
            // A store without a database: its first host makes it.
            if let Some(identity) = manifest.map(|manifest| manifest.identity) {
                let (name, wait) = (&self.host.name, self.host.wait);
                self.candidate = Some(Candidate::new(identity, name, self.process, wait));
            } else {
                self.begin_to_follow()?;
            }
            return Ok(None);
        };
        let before = Instant::now();
        let Some(stored) = clear(self.remote.store.read_register(Register::Primary))? else {
            return Ok(None);
        };
        let replacement = match candidate.look(stored.as_ref(), [before, Instant::now()])? {
            Look::Follow(_) => return Ok(None),
            Look::Claim(replacement) => replacement,
        };
        let asked = Instant::now();
        match put(&self.remote, &replacement)? {
            // It may be there none the less: the next look says so.
            None | Some(Swapped::Conflict) => Ok(None),
            Some(Swapped::Ok) => {
                events::info!(host = self.host.name, "this host serves");
                if let Some((replica, _)) = self.following.take() {
                    replica.close();
                }
                let term = TermRecord::new(replacement.record, asked);
                Ok(Some(Term::begin(self, term)?))
            }
        }
    }

    /// Opens the directory to follow.
    fn begin_to_follow(&mut self) -> Result<(), Error> {
        std::fs::create_dir_all(&self.directory).map_err(|error| Error::System(error.into()))?;
        let home: Arc<dyn sardonyx_storage::disk::Disk> =
            Arc::new(RealDisk::open(&self.directory)?);
        let mut options = self.options.storage.clone();
        options.threaded = true;
        let lock = take_lock(&home, options.wait_for_lock)?;
        match follow_store(&home, &options, lock) {
            Ok((replica, follower)) => {
                self.following = Some((replica, follower));
                self.note();
                Ok(())
            }
            // Until this host serves again, or another goes on.
            Err(OpenError::StoreBehind) => Ok(()),
            Err(OpenError::Store(RemoteLogError::Store(error))) if error.is_unclear() => {
                events::warn!(%error, "the store cannot be followed now");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Applies what has come, and does not begin with another entry after this moment.
    fn follow(&mut self, until: Instant, stop: &StopHost) -> Result<(), Error> {
        if self.following.is_none() {
            self.begin_to_follow()?;
        }
        while Instant::now() < until && !stop.is_stopped() {
            let Some((replica, follower)) = &mut self.following else {
                return Ok(());
            };
            match follower.next_entry() {
                Ok(Some(entry)) => {
                    if let Err(error) = replica.apply(&entry) {
                        // Opened again it is compared, and goes on.
                        self.following = None;
                        return Err(error.into());
                    }
                    self.note();
                }
                Ok(None) => return Ok(()),
                Err(RemoteLogError::Store(error)) if error.is_unclear() => {
                    events::warn!(%error, "the store cannot be followed now");
                    return Ok(());
                }
                // This process slept for longer than the store keeps: the directory may begin anew.
                Err(RemoteLogError::BehindBoundary { .. }) => {
                    self.following = None;
                    self.begin_to_follow()?;
                }
                Err(error) => {
                    self.following = None;
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    fn note(&self) {
        if let Some((replica, _)) = &self.following {
            let known = replica.known();
            *self.followed.lock() = Followed {
                next_entry: known.entry.next,
                transactions: known.log.transactions,
                time: known.entry.time,
            };
        }
    }
}

/// An answer, if there is one; an error, if asking again is of no use.
fn clear<T>(answer: Result<T, StoreError>) -> Result<Option<T>, RemoteLogError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_unclear() => {
            events::warn!(%error, "the register is asked again");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Replaces the register; `None`: there is no answer.
fn put(remote: &RemoteLog, replacement: &Replacement) -> Result<Option<Swapped>, RemoteLogError> {
    let text = replacement.record.encode();
    let expected = replacement.expected.as_ref();
    clear(
        remote
            .store
            .swap_register(Register::Primary, expected, text.as_bytes()),
    )
}

/// The time for which this host serves: it gives signs to the others until it is released or dropped.
#[derive(Debug)]
pub struct Term {
    options: Options,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    remote: RemoteLog,
    record: Mutex<TermRecord>,
    ended: AtomicBool,
}

impl Term {
    fn begin(host: &Host, record: TermRecord) -> Result<Term, Error> {
        let shared = Arc::new(Shared {
            remote: host.remote.clone(),
            record: Mutex::new(record),
            ended: AtomicBool::new(false),
        });
        let (renewing, pause) = (shared.clone(), host.host.wait / LOOKS);
        let thread = thread::Builder::new()
            .name("sardonyx-term".into())
            .spawn(move || renewing.renew(pause))
            .map_err(|error| Error::System(error.into()))?;
        Ok(Term {
            options: host.options.clone(),
            shared,
            thread: Some(thread),
        })
    }

    /// How the database is to be opened.
    pub fn options(&self) -> Options {
        self.options.clone()
    }

    /// Whether the database is to be closed: another host serves or is wanted, or this one could give no sign for too
    /// long.
    pub fn is_over(&self) -> bool {
        let mut record = self.shared.record.lock();
        record.wanted().is_some() || record.duty(Instant::now()) == Duty::Over
    }

    /// Whether no other host serves at this moment. What was read before is what was acknowledged last, on whichever
    /// host.
    pub fn has_lease(&self) -> bool {
        let until = self.shared.record.lock().lease_until();
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Lets another host serve at once. The database should be closed.
    pub fn release(mut self) {
        self.stop();
        if let Err(error) = self.shared.release() {
            events::warn!(%error, "the others wait for the lease to run out");
        }
    }

    fn stop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic; if it did, the lease runs out.
            let _ = thread.join();
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// The body of the thread that gives signs.
    fn renew(&self, pause: Duration) {
        while !self.ended.load(Ordering::SeqCst) {
            let duty = self.record.lock().duty(Instant::now());
            match duty {
                Duty::Nothing => {}
                Duty::Renew => {
                    if let Err(error) = self.sign() {
                        events::warn!(%error, "this host could give no sign");
                    }
                }
                Duty::Over => {
                    events::warn!("this host's term is over");
                    return;
                }
            }
            thread::park_timeout(pause);
        }
    }

    fn stored(&self) -> Result<Option<Option<StoredRegister>>, RemoteLogError> {
        clear(self.remote.store.read_register(Register::Primary))
    }

    fn sign(&self) -> Result<(), RemoteLogError> {
        let asked = Instant::now();
        let Some(stored) = self.stored()? else {
            return Ok(());
        };
        let Some(replacement) = self.record.lock().found(stored.as_ref())? else {
            return Ok(());
        };
        if put(&self.remote, &replacement)? == Some(Swapped::Ok) {
            self.record.lock().renewed(asked);
        }
        Ok(())
    }

    /// Says that the term has ended, unless another host has the register.
    fn release(&self) -> Result<(), Error> {
        replace(&self.remote, |stored| {
            let found = self.record.lock().found(stored)?;
            Ok(found.map(TermRecord::release))
        })
    }
}

/// Replaces the register by what is made of it, if anything is, for as long as the store is asked.
fn replace(
    remote: &RemoteLog,
    mut made_of: impl FnMut(Option<&StoredRegister>) -> Result<Option<Replacement>, Error>,
) -> Result<(), Error> {
    let store = &remote.store;
    let replaced = ask(&remote.patience, || {
        let stored = store.read_register(Register::Primary)?;
        let replacement = match made_of(stored.as_ref()) {
            Ok(Some(replacement)) => replacement,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let (text, expected) = (replacement.record.encode(), replacement.expected.as_ref());
        match store.swap_register(Register::Primary, expected, text.as_bytes())? {
            Swapped::Ok => Ok(Ok(())),
            Swapped::Conflict => Err(StoreError::Unclear {
                what: "the replacement of the register `primary`".into(),
                place: store.place(),
                reason: "another host replaced it meanwhile".into(),
            }),
        }
    });
    replaced.map_err(RemoteLogError::from)?
}

/// The host that serves the database in a store, or did last.
///
/// # Errors
/// The store's; [`Error::NotFound`] if there is no database.
pub fn primary(remote: &RemoteLog) -> Result<Option<Primary>, Error> {
    let identity = stored_identity(remote)?;
    let read = || remote.store.read_register(Register::Primary);
    let stored = ask(&remote.patience, read).map_err(RemoteLogError::from)?;
    Ok(Record::decode(identity, stored.as_ref())?)
}

/// Of the database in a store.
fn stored_identity(remote: &RemoteLog) -> Result<u64, Error> {
    let place = || remote.store.place();
    let manifest = stored_manifest(remote)?;
    let manifest = manifest.ok_or_else(|| HostError::NoDatabase { place: place() })?;
    Ok(manifest.identity)
}

/// Has another host serve: the one of this name, or [`ANY_OTHER`]. The one that serves closes the database when it sees
/// that, and the other takes over; if that does not come, any does.
///
/// # Errors
/// The store's, also when it does not take the wish within its patience ([`RemoteLog::patience`]); [`Error::NotFound`] if
/// no host ever served; [`Error::Refused`] for a name that no host can have.
pub fn promote(remote: &RemoteLog, to: &str) -> Result<(), Error> {
    if to != ANY_OTHER && !is_host_name(to) {
        return Err(HostError::Name { name: to.into() }.into());
    }
    let identity = stored_identity(remote)?;
    replace(remote, |stored| {
        let record = Record::decode(identity, stored)?.ok_or_else(|| HostError::NoHost {
            place: remote.store.place(),
        })?;
        Ok(Some(Replacement {
            expected: stored.map(|stored| stored.version.clone()),
            record: Record {
                wanted: Some(to.into()),
                ..record
            },
        }))
    })
}
