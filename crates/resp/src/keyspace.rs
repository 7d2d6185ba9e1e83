//! The keyspace: a database's tables as keys, shared by all sessions.

use crate::cursors::Cursors;
use crate::data::tables::{NAMES, PRIMARY};
use crate::data::{Data, Numbers, Places, Room};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::request::{Answer, Commands, Request};
use sardonyx::schema::ValueRef;
use sardonyx::{Error, Registered, Tables, Transaction};
use sardonyx_base::random::Random;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The body of a registered function: a transaction, the keys and the arguments that the client gave.
pub type Body =
    dyn Fn(&mut Transaction<'_>, &[&[u8]], &[&[u8]]) -> Result<Reply, Failure> + Send + Sync;

/// A function that clients call by name.
#[derive(Clone)]
pub(crate) struct Function {
    pub body: Arc<Body>,
    pub only_reads: bool,
}

/// A database as Redis' clients see it: strings, hashes, sets, sorted sets and lists under keys, which stand in tables
/// that SQL shows, too. Share it in an `Arc`; each connection has a [`Session`](crate::Session) of it.
///
/// Several parts of a program may open it, each for itself: as long as one is open, the next is the same, with the functions
/// that were registered in either. When all are closed, their functions are forgotten, and it can be opened anew.
#[derive(Debug)]
pub struct Keyspace {
    tables: Arc<Tables>,
    commands: Registered<Commands>,
    shared: Arc<Shared>,
}

/// What the commands of all sessions share.
pub(crate) struct Shared {
    pub numbers: Numbers,
    /// Of the newest key.
    ids: AtomicU64,
    functions: RwLock<HashMap<Vec<u8>, Function>>,
    pub cursors: Mutex<Cursors>,
    pub hashes: RandomState,
    pub places: Places,
    sessions: AtomicU64,
    checkpointing: AtomicBool,
    /// Milliseconds since 1970; when it was opened, before the first.
    checkpointed: AtomicI64,
}

impl Shared {
    fn new(numbers: Numbers) -> Shared {
        Shared {
            numbers,
            ids: AtomicU64::new(0),
            functions: RwLock::default(),
            cursors: Mutex::default(),
            hashes: RandomState::new(),
            places: Places::new(),
            sessions: AtomicU64::new(0),
            checkpointing: AtomicBool::new(false),
            checkpointed: AtomicI64::new(crate::session::system_time()),
        }
    }

    /// An id that no row has.
    pub fn next_id(&self) -> u64 {
        // Only who holds the tables takes one.
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The newest key's id.
    pub fn newest_id(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    /// The functions' names, in their order.
    pub fn function_names(&self) -> Vec<Vec<u8>> {
        let functions = self
            .functions
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<Vec<u8>> = functions.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// The function with this name.
    pub fn function(&self, name: &[u8]) -> Option<Function> {
        let functions = self
            .functions
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        functions.get(name).cloned()
    }
}

impl Keyspace {
    /// The keyspace of a database, whose tables are created where absent; if it is open already, the same once more.
    ///
    /// # Errors
    /// [`Error::Refused`] if the database has a table of such a name with other columns; [`Error::Nested`] inside a
    /// transaction; the engine's.
    pub fn open(tables: Arc<Tables>) -> Result<Arc<Keyspace>, Error> {
        let shared = Arc::new(Shared::new(Numbers::open(&tables)?));
        let commands = tables.register_or_share(Commands::new(shared))?;
        let shared = Arc::clone(commands.procedure().shared());
        // Whoever shares it asks, too: the first may not have come to it.
        tables.run(|tx| {
            let newest = newest_id(tx)?;
            shared.ids.fetch_max(newest, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(Arc::new(Keyspace {
            tables,
            commands,
            shared,
        }))
    }

    /// Lets clients call a function by `FCALL`: a transaction on any tables, undone if it returns an error, whichever, or
    /// panics; within an `EXEC` all of that is. One of the same name is replaced.
    pub fn register_function(
        &self,
        name: &str,
        body: impl Fn(&mut Transaction<'_>, &[&[u8]], &[&[u8]]) -> Result<Reply, Failure>
        + Send
        + Sync
        + 'static,
    ) {
        self.add_function(name, Arc::new(body), false);
    }

    /// The same for one that changes nothing, which `FCALL_RO` calls, too.
    pub fn register_reading_function(
        &self,
        name: &str,
        body: impl Fn(&mut Transaction<'_>, &[&[u8]], &[&[u8]]) -> Result<Reply, Failure>
        + Send
        + Sync
        + 'static,
    ) {
        self.add_function(name, Arc::new(body), true);
    }

    fn add_function(&self, name: &str, body: Arc<Body>, only_reads: bool) {
        let functions = self.shared.functions.write();
        let mut functions = functions.unwrap_or_else(PoisonError::into_inner);
        functions.insert(name.as_bytes().to_vec(), Function { body, only_reads });
    }

    /// Deletes keys whose time has come at `now`, in milliseconds since 1970, and what is left of large keys that were
    /// deleted: at most so many rows, in one transaction. Returns how many; call it again while that is `most`, and
    /// otherwise from time to time. Returns when it has run, not when it is durable: it tells nobody anything.
    ///
    /// # Errors
    /// The engine's.
    pub fn sweep(&self, now: i64, most: usize) -> Result<usize, Error> {
        let body = |tx: &mut Transaction<'_>| {
            let random = Random::new(0);
            // It answers nothing.
            let room = Room::new(0);
            let mut data = Data {
                tx,
                shared: &self.shared,
                now,
                random,
                room: &room,
                caller: None,
                committed: Vec::new(),
            };
            data.sweep(most).map_err(|failure| match failure {
                Failure::Engine(error) => error,
                other => Error::other(other),
            })
        };
        self.tables.run_with(sardonyx::Durability::Deferred, body)
    }

    /// The database.
    pub fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// The names of what [`Keyspace::register_function`] has registered, in their order.
    pub(crate) fn function_names(&self) -> Vec<Vec<u8>> {
        self.shared.function_names()
    }

    pub(crate) fn submit(
        &self,
        requests: Vec<Request>,
        lane: u64,
    ) -> sardonyx::BatchTicket<Answer, Failure> {
        self.tables
            .submit_batch(&self.commands, requests, lane as usize)
    }

    /// A number for a new session.
    pub(crate) fn next_session(&self) -> u64 {
        self.shared.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes a checkpoint on a thread of its own, unless one is being taken.
    pub(crate) fn begin_checkpoint(&self) -> Result<bool, Error> {
        if self.shared.checkpointing.swap(true, Ordering::AcqRel) {
            return Ok(false);
        }
        let (tables, shared) = (Arc::clone(&self.tables), Arc::clone(&self.shared));
        let thread = std::thread::Builder::new().name("checkpoint-asked".into());
        let spawned = thread.spawn(move || {
            // What it says is kept by the engine: `Tables::checkpoint_failure`.
            if tables.checkpoint().is_ok() {
                let now = crate::session::system_time();
                shared.checkpointed.store(now, Ordering::Relaxed);
            }
            shared.checkpointing.store(false, Ordering::Release);
        });
        if let Err(error) = spawned {
            self.shared.checkpointing.store(false, Ordering::Release);
            return Err(Error::other(error));
        }
        Ok(true)
    }

    /// When the last checkpoint was taken that a client asked for, in milliseconds since 1970.
    pub(crate) fn last_checkpoint(&self) -> i64 {
        self.shared.checkpointed.load(Ordering::Relaxed)
    }
}

/// The greatest id that any row has.
fn newest_id(tx: &mut Transaction<'_>) -> Result<u64, Error> {
    let mut newest = 0;
    for table in NAMES {
        let index = match table {
            "kv" => crate::data::tables::BY_ID,
            "kv_expiry" => continue,
            _ => PRIMARY,
        };
        let rows = tx.rows(table)?;
        if let Some(row) = rows.index(index)?.all()?.next_back()
            && let ValueRef::Int(id) = row?.get("id")?
        {
            newest = newest.max(id as u64);
        }
    }
    Ok(newest)
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("ids", &self.ids)
            .finish_non_exhaustive()
    }
}
