//! Tables that another program has open and this process follows: sessions read snapshots of that program's commits,
//! and write nothing.
//!
//! This process has no serial stage, and its sessions change no catalogue. Plans depend on the snapshot's definitions.
//! So its version is counted here: it changes if a snapshot has other definitions, or other objects of SQL, than the
//! one before.
//!
//! Invariant: two snapshots with one version have the same definitions and objects.

use crate::database::Database;
use crate::error::{SqlError, code};
use crate::relation::{OBJECTS, kind};
use crate::source::Source;
use crate::store::Store;
use sardonyx::low_level::Committed;
use sardonyx::rows::SpaceSnapshot;
use sardonyx::schema::ValueRef;
use sardonyx::{Error, Follower, Snapshot};
use sardonyx_base::waiting::{self, Interrupt};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The most time to wait for the follower's look at the log.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);

/// The way in which sessions read tables that are followed.
#[derive(Clone, Default)]
pub struct FollowOptions {
    /// A read of an older state is refused (`57P03`); by default any state is read.
    pub bound: Option<AgeBound>,
    /// Returns a sentence about the program in which changes are made, for refused statements.
    pub says_who_writes: Option<SaysWhoWrites>,
}

/// The bound on the age of snapshots of a directory that itself follows another source, such as a store.
#[derive(Clone)]
pub struct AgeBound {
    /// The greatest age.
    pub age_max: Duration,
    /// The last moment at which the directory had all changes of its source, and its age; `None` before the first.
    pub caught_up: CaughtUp,
}

/// Returns the time at which a directory had all changes of its source, and its age. The age counts while the machine
/// sleeps, too: an [`Instant`] has no such age.
pub type CaughtUp = Arc<dyn Fn() -> Option<(Instant, Duration)> + Send + Sync>;

/// Returns a sentence about the program in which changes are made.
pub type SaysWhoWrites = Arc<dyn Fn() -> String + Send + Sync>;

impl fmt::Debug for FollowOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowOptions")
            .field("age_max", &self.bound.as_ref().map(|bound| bound.age_max))
            .finish_non_exhaustive()
    }
}

/// Tables that are followed.
#[derive(Debug)]
pub(crate) struct Followed {
    follower: Arc<Follower>,
    options: FollowOptions,
    newest: Mutex<Newest>,
}

/// The state here is older than is allowed.
#[derive(Debug, thiserror::Error)]
#[error("this host {}, and at most {age_max:?} is allowed: read it from the host that serves", told(.behind))]
struct TooOld {
    behind: Option<Duration>,
    age_max: Duration,
}

fn told(behind: &Option<Duration>) -> String {
    match behind {
        Some(behind) => format!("may be {behind:?} behind what is committed"),
        None => "does not know how far it is behind what is committed".into(),
    }
}

/// The snapshot that was taken last.
#[derive(Debug, Default)]
struct Newest {
    /// No page is copied for it.
    space: Weak<SpaceSnapshot>,
    /// A digest of the catalogue that plans depend on.
    catalogue: u64,
    version: u64,
}

/// The outcome of an attempt to take a snapshot.
enum Attempt {
    Over(Result<Snapshot, Error>),
    /// A group is being applied; afterwards a snapshot can be taken, without another look at the log.
    Busy,
    /// The next look at the log finds the missing groups.
    Behind,
}

impl Followed {
    pub fn new(follower: Arc<Follower>, options: FollowOptions) -> Followed {
        Followed {
            follower,
            options,
            newest: Mutex::default(),
        }
    }

    /// The newest state, which is durable, with the version of its catalogue. `interrupt` ends the wait for it; without
    /// one, that of the thread's waits.
    ///
    /// # Errors
    /// `57P03` if it is further behind than is allowed; the reason for which following failed; `XX001` if it cannot be
    /// read; an interruption of the wait.
    pub fn committed(&self, interrupt: Option<&Arc<Interrupt>>) -> Result<Committed, SqlError> {
        // Not under the lock: this may wait.
        let snapshot = self.snapshot(interrupt)?;
        let space = snapshot.space();
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if !Weak::ptr_eq(&newest.space, &Arc::downgrade(space)) {
            // The catalogue is digested once for each snapshot, for all statements that read it. If an older snapshot
            // comes after a newer one, both get versions of their own.
            let catalogue = digest(&&**space)?;
            if newest.version == 0 || newest.catalogue != catalogue {
                newest.version += 1;
            }
            newest.catalogue = catalogue;
            newest.space = Arc::downgrade(space);
        }
        Ok(Committed {
            version: newest.version,
            // All of it is durable.
            group: 0,
            snapshot,
        })
    }

    /// A snapshot. The thread steps aside while the follower applies a group, which may take long.
    fn snapshot(&self, interrupt: Option<&Arc<Interrupt>>) -> Result<Snapshot, SqlError> {
        let began = Instant::now();
        let taken = match self.try_snapshot(began) {
            Attempt::Over(taken) => taken,
            mut attempt => {
                let interrupt = interrupt.cloned().or_else(waiting::current);
                let interrupt = interrupt.unwrap_or_default();
                waiting::aside(|| {
                    loop {
                        // One request ends one statement.
                        if let Some(reason) = interrupt.take() {
                            return Err(SqlError::interrupted(reason));
                        }
                        match attempt {
                            Attempt::Over(taken) => return Ok(taken),
                            Attempt::Busy => self.follower.wait_while_busy(waiting::BETWEEN_LOOKS),
                            Attempt::Behind => self.follower.wait_for_look(waiting::BETWEEN_LOOKS),
                        }
                        attempt = self.try_snapshot(began);
                    }
                })?
            }
        };
        taken.map_err(|error| match error {
            // The follower itself continues.
            Error::Unavailable(_) if !self.follower.has_ended() => {
                SqlError::new(code::CANNOT_CONNECT_NOW, error.to_string()).hint(self.who_writes())
            }
            error => error.into(),
        })
    }

    /// Tries to take a snapshot, for a statement that began then.
    fn try_snapshot(&self, began: Instant) -> Attempt {
        if self.follower.is_busy() {
            return Attempt::Busy;
        }
        let Some(bound) = &self.options.bound else {
            return Attempt::Over(self.follower.snapshot());
        };
        let caught_up = (bound.caught_up)();
        let age_max = bound.age_max;
        let Some((caught_up, _)) = caught_up.filter(|(_, age)| *age <= age_max) else {
            let behind = caught_up.map(|(_, age)| age);
            return Attempt::Over(Err(Error::Unavailable(TooOld { behind, age_max }.into())));
        };
        match self.follower.snapshot_as_of(caught_up) {
            // The changes up to then are published; another look follows in some milliseconds.
            Err(Error::Unavailable(_)) if began.elapsed() < LOOK_PATIENCE => Attempt::Behind,
            taken => Attempt::Over(taken),
        }
    }

    /// The version of the snapshot that was taken last.
    pub fn version(&self) -> u64 {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.version
    }

    /// The error of a statement that is refused since it may change the database.
    pub fn refused(&self, what: &str) -> SqlError {
        let text = format!(
            "cannot execute {what} here: this server follows the database and only reads it"
        );
        SqlError::new(code::READ_ONLY_TRANSACTION, text).hint(self.who_writes())
    }

    fn who_writes(&self) -> String {
        match &self.options.says_who_writes {
            Some(says) => says(),
            None => "Run it at the program, or the server, that has the database open.".into(),
        }
    }
}

impl Database {
    /// Speaks SQL to tables that another program has open, to read them. Every statement reads a snapshot of that
    /// program's commits; a transaction reads one snapshot. Writes are rejected (`25006`).
    pub fn follow(follower: Arc<Follower>, options: FollowOptions) -> Arc<Database> {
        Self::with(Store::Followed(Followed::new(follower, options)))
    }

    /// The version of the catalogue that plans depend on, for tests.
    #[doc(hidden)]
    pub fn plans_version(&self) -> u64 {
        self.version()
    }

    /// The newest state, which is durable, of a database that another program has open.
    ///
    /// # Errors
    /// `57P03` if it is older than is allowed; why following failed; `0A000` if this process has the database.
    pub fn committed_elsewhere(&self) -> Result<Committed, SqlError> {
        match self.followed() {
            Some(followed) => followed.committed(None),
            None => Err(SqlError::unsupported("the database is not followed")),
        }
    }

    /// The follower, if this database is one that another program has open.
    pub fn follower(&self) -> Option<&Arc<Follower>> {
        self.followed().map(|followed| &followed.follower)
    }
}

/// A digest of the catalogue that plans depend on: the tables, and the objects of SQL. It leaves out the numbers that
/// sequences have drawn, which change all the time. A plan compares the schemas of its tables itself.
fn digest(source: &dyn Source) -> Result<u64, SqlError> {
    let mut tables = DefaultHasher::new();
    for definition in source.definitions() {
        definition.name.hash(&mut tables);
        discriminant(&definition.kind).hash(&mut tables);
    }
    let mut digest = tables.finish();
    if let Some(objects) = source.table_named(OBJECTS) {
        source.scan(objects, &mut |row| {
            let mut object = DefaultHasher::new();
            for column in 0..3 {
                if let ValueRef::Text(text) = row.value(column)? {
                    text.hash(&mut object);
                }
                if column == 1 && row.value(0)? == ValueRef::Text(kind::SEQUENCE) {
                    break;
                }
            }
            // Objects are read in no particular order, so their digests are added.
            digest = digest.wrapping_add(object.finish());
            Ok(true)
        })?;
    }
    Ok(digest)
}
