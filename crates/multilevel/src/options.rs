//! The options of opening a database for multi-level transactions.

use crate::database::Database;
use crate::error::DatabaseError;
use crate::operation::Recorded;
use crate::registry::Registry;
use crate::restart_delay::RestartDelay;
use crate::strategy::{PageLog, Release, Strategy};
use sardonyx_lock::VictimRule;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::StorageOptions;
use std::path::Path;
use std::sync::Arc;

/// The options of opening a database.
#[derive(Debug, Default)]
pub struct Options {
    pub(crate) storage: StorageOptions,
    pub(crate) strategy: Strategy,
    pub(crate) page_log: PageLog,
    pub(crate) release: Release,
    pub(crate) victims: VictimRule,
    pub(crate) restart_delay: RestartDelay,
    pub(crate) registry: Registry,
    pub(crate) snapshot_bytes_max: Option<u64>,
    /// The first error of the given options.
    error: Option<DatabaseError>,
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The strategy by which transactions lock pages and write the log.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The part of a changed page that goes to the log.
    pub fn page_log(mut self, page_log: PageLog) -> Self {
        self.page_log = page_log;
        self
    }

    /// The time when a committing transaction releases its locks.
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// The transaction to abort to end a deadlock. Only the default, the youngest, promises that one
    /// that [`Database::run`] runs again commits some day.
    pub fn victims(mut self, rule: VictimRule) -> Self {
        self.victims = rule;
        self
    }

    /// The pause of [`Database::run`] before it runs a transaction again that was aborted to end a
    /// deadlock. By default not at all.
    pub fn restart_delay(mut self, delay: RestartDelay) -> Self {
        self.restart_delay = delay;
        self
    }

    /// Makes an operation known, so that it can be an inverse. Everything that is an inverse in this
    /// program, or was in the one that had the database before, has to be; those of the ready types
    /// are.
    pub fn register<O: Recorded>(mut self) -> Self {
        if let Err(error) = self.registry.register::<O>() {
            self.error.get_or_insert(error);
        }
        self
    }

    /// The bound on memory for pages that snapshots keep, in bytes (default 1 GiB, or a quarter of the
    /// store's limit if that is less). At the bound the oldest snapshot is ended.
    pub fn snapshot_bytes_max(mut self, bytes: u64) -> Self {
        self.snapshot_bytes_max = Some(bytes);
        self
    }

    /// The storage's options.
    pub fn storage(mut self, storage: StorageOptions) -> Self {
        self.storage = storage;
        self
    }

    /// Opens the database in this directory, or makes it. Transactions that had not ended are undone
    /// before this returns.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database, DatabaseError> {
        let disk =
            RealDisk::open(path.as_ref()).map_err(|error| DatabaseError::Open(error.into()))?;
        self.open_on(Arc::new(disk))
    }

    /// Opens the database on a disk, or makes it.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn open_on(mut self, disk: Arc<dyn Disk>) -> Result<Database, DatabaseError> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Database::open_with(disk, self),
        }
    }
}
