//! The state that the commands of all sessions share: the tables' numbers, the functions, hints and counts of a keyspace.

use crate::blocking::Blocked;
use crate::channels::posting;
use crate::clients::Clients;
use crate::cursors::Cursors;
use crate::data::databases::Databases;
use crate::data::{Layouts, Numbers, Places};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::settings::Settings;
use crate::slow::SlowLog;
use crate::statistics::Statistics;
use sardonyx::{Tables, Transaction};
use sardonyx_base::channels::Posting;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// The body of a registered function: a transaction, the keys and the arguments that the client gave.
pub type Body =
    dyn Fn(&mut Transaction<'_>, &[&[u8]], &[&[u8]]) -> Result<Reply, Failure> + Send + Sync;

/// A function that clients call by name.
#[derive(Clone)]
pub(crate) struct Function {
    pub body: Arc<Body>,
    pub only_reads: bool,
}

/// The state that the commands of all sessions share.
pub(crate) struct Shared {
    pub numbers: Numbers,
    /// The tables of each database.
    pub databases: Databases,
    /// The id of the newest key.
    pub ids: AtomicU64,
    pub functions: RwLock<HashMap<Vec<u8>, Function>>,
    pub cursors: Mutex<Cursors>,
    pub hashes: RandomState,
    pub places: Places,
    pub layouts: Layouts,
    /// The connected clients.
    pub clients: Arc<Clients>,
    /// Commands that took long.
    pub slow: SlowLog,
    /// Counts of commands, and times of flights.
    pub statistics: Statistics,
    pub settings: Settings,
    /// The clients that wait for elements.
    pub blocked: Arc<Blocked>,
    /// The hub to which messages are posted, and its listeners.
    pub posting: Arc<Posting>,
    #[cfg(feature = "lua")]
    pub scripts: crate::scripts::Scripts,
    pub sessions: AtomicU64,
    pub checkpointing: AtomicBool,
    /// Milliseconds since 1970; when it was opened, before the first.
    pub checkpointed: AtomicI64,
}

impl Shared {
    /// With these tables, and nothing done yet. Those that another program has open are none of ours.
    pub(crate) fn new(numbers: Numbers, tables: Weak<Tables>) -> Shared {
        let posting = posting(tables);
        Shared {
            databases: Databases::new(numbers.are_older),
            numbers,
            ids: AtomicU64::new(0),
            functions: RwLock::default(),
            cursors: Mutex::default(),
            hashes: RandomState::new(),
            places: Places::new(),
            layouts: Layouts::new(),
            clients: Arc::default(),
            slow: SlowLog::default(),
            statistics: Statistics::default(),
            settings: Settings::default(),
            blocked: Arc::new(Blocked::new(posting.clone())),
            posting,
            #[cfg(feature = "lua")]
            scripts: crate::scripts::Scripts::default(),
            sessions: AtomicU64::new(0),
            checkpointing: AtomicBool::new(false),
            checkpointed: AtomicI64::new(crate::session::system_time()),
        }
    }

    /// An id that no row has.
    pub fn next_id(&self) -> u64 {
        // Only the transaction that holds the tables takes one.
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
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

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("ids", &self.ids)
            .finish_non_exhaustive()
    }
}
