//! A store for the log of an experiment's database. It imposes a time on each put, so that one machine can measure
//! stores at any distance.

use sardonyx::hosts::{DurableAt, RemoteLog, RemotePlace};
use sardonyx_base::random::system_random;
use sardonyx_command::durable_at::DurableAtChoice;
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_results::units::parse_time;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The store of the log.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StoreOptions {
    /// Put the log into a store, too, in a new part for each run (tcp:// and copies: need new servers for each)
    #[arg(long, value_name = "PLACE", help_heading = "Store")]
    pub store: Option<String>,
    /// The copies that a transaction waits for before it is acknowledged [default: both]
    #[arg(long, value_enum, requires = "store", help_heading = "Store")]
    pub durable_at: Option<DurableAtChoice>,
    /// Have each put take at least this time, such as 10ms
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "store", help_heading = "Store")]
    pub put_time: Option<Duration>,
    /// The part of the store for a run, for programs that read it; `None`: a part that no other run has
    #[arg(skip)]
    pub part: Option<String>,
}

impl StoreOptions {
    /// The places where a transaction is durable, in the users' notation.
    pub fn durable_at(&self) -> &'static str {
        match self.durable_at {
            Some(DurableAtChoice::Local) => "local",
            Some(DurableAtChoice::Both) | None => "both",
            Some(DurableAtChoice::Remote) => "remote",
        }
    }

    /// The store of a new run, if one was given.
    ///
    /// # Errors
    /// It cannot be opened, or cannot keep a log.
    pub fn open(&self) -> Result<Option<RemoteLog>, StoreError> {
        let Some(place) = &self.store else {
            return Ok(None);
        };
        let part = self.part.clone();
        let part = part.unwrap_or_else(|| format!("run-{:016x}", system_random()));
        // A server over TCP keeps one log: each run needs new ones.
        let place = match place.starts_with("tcp:") || place.starts_with("copies:") {
            true => place.clone(),
            false => format!("{}/{part}", place.trim_end_matches('/')),
        };
        let mut store = open(&place, &RemoteOptions::from_environment()?)?;
        if let Some(time) = self.put_time {
            store = Arc::new(Slowed { store, time });
        }
        Ok(Some(RemoteLog {
            durable_at: self.durable_at.map_or(DurableAt::Both, Into::into),
            ..RemoteLog::new(store)
        }))
    }
}

/// A store whose puts take a given time.
#[derive(Debug)]
struct Slowed {
    store: Arc<dyn RemotePlace>,
    time: Duration,
}

impl RemoteStore for Slowed {
    fn place(&self) -> String {
        self.store.place()
    }

    fn entry_bytes_max(&self) -> u64 {
        self.store.entry_bytes_max()
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        let until = Instant::now() + self.time;
        let appended = self.store.append_at(number, bytes);
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        appended
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.read(number)
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.store.list(from)
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.store.remove(numbers)
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.store.read_register(register)
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.store.swap_register(register, expected, bytes)
    }
}

impl RemoteObjects for Slowed {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.store.create_object(name, bytes)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.read_object(name)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.store.list_objects(folder)
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.store.remove_objects(names)
    }
}
