//! How to open a database. The defaults suit most; every value is checked when opening.

use crate::{Database, Error};
use sardonyx_serial::Shape;
use sardonyx_storage::checkpoint::{CheckpointPlace, RemoteCheckpointer};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{self, OpenError, StorageOptions};
use sardonyx_storage::journal::Retention;
use sardonyx_storage::log::policy::{GroupLimits, GroupPolicy};
use sardonyx_storage::manifest::MANIFEST_FILE;
use std::path::Path;
use std::sync::Arc;

/// Threads of one stage, at most: there are never so many processors for it.
const STAGE_THREADS_MAX: usize = 256;

/// How to open a database.
///
/// ```
/// use sardonyx::{Options, Shape};
/// # let directory = tempfile::tempdir().unwrap();
/// let bank = Options::new()
///     .shape(Shape::Coalesced)
///     .log_bytes_max(512 << 20)
///     .open(directory.path().join("bank.sdx"))?;
/// # bank.close()?;
/// # Ok::<_, sardonyx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) storage: StorageOptions,
    pub(crate) shape: Shape,
    pub(crate) hash_seed: Option<u64>,
    create: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Options {
            storage: StorageOptions::default(),
            shape: Shape::of_this_machine(),
            hash_seed: None,
            create: true,
        }
    }

    /// How the stages are laid out on threads; the default follows the number of processors.
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// When a commit group is closed; the default adapts to the load and the disk.
    pub fn group_policy(mut self, policy: GroupPolicy) -> Self {
        self.storage.policy = policy;
        self
    }

    /// The bounds of group commit.
    pub fn group_limits(mut self, limits: GroupLimits) -> Self {
        self.storage.limits = limits;
        self
    }

    /// The most bytes of log on disk (default 2 GiB).
    pub fn log_bytes_max(mut self, bytes: u64) -> Self {
        self.storage.log_bytes_max = bytes;
        self.storage.log_bytes_prepared = self.storage.log_bytes_prepared.min(bytes);
        self
    }

    /// Bytes of log prepared before opening returns, rounded down to segments (default none: the log of a
    /// new database is small and grows with use).
    pub fn log_bytes_prepared(mut self, bytes: u64) -> Self {
        self.storage.log_bytes_prepared = bytes;
        self
    }

    /// Bytes with which the log of a new database begins (default 256 KiB); it grows from there.
    pub fn log_bytes_first(mut self, bytes: u64) -> Self {
        self.storage.log_bytes_first = bytes;
        self
    }

    /// A checkpoint begins after so many bytes of log (default: three eighths of the log).
    pub fn checkpoint_interval_bytes(mut self, bytes: u64) -> Self {
        self.storage.checkpoint_interval_bytes = Some(bytes);
        self
    }

    /// A checkpoint begins after so many transactions, too (default: bytes of log alone count).
    pub fn checkpoint_interval_transactions(mut self, transactions: u64) -> Self {
        self.storage.checkpoint_interval_transactions = Some(transactions);
        self
    }

    /// The most bytes of pages in memory (default 1 TiB of address space; memory is taken only as
    /// the data grows). The checkpointer's copy takes as much again.
    pub fn memory_bytes_max(mut self, bytes: u64) -> Self {
        self.storage.memory_bytes_max = bytes;
        self
    }

    /// Has the checkpoints taken at a standby, by a process of its own, instead of here: no second
    /// copy of the data in this process, and no backup in this directory. (The crate
    /// `sardonyx-standby` has one that is fed over the network.) The standby is named at every
    /// opening, since recovery may need it; it needs a shape with threads.
    pub fn checkpoint_at(mut self, standby: Arc<dyn RemoteCheckpointer>) -> Self {
        self.storage.checkpoint = CheckpointPlace::Standby(standby);
        self
    }

    /// Stripes of the backup, each with a file and a checkpointing thread. Fixed at creation.
    pub fn stripes(mut self, stripes: u32) -> Self {
        self.storage.stripes = stripes;
        self
    }

    /// Bytes of a log segment (default 64 MiB). Fixed at creation.
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.storage.segment_bytes = bytes;
        self
    }

    /// Bytes of a backup block (default 1 MiB). Fixed at creation.
    pub fn block_bytes(mut self, bytes: u32) -> Self {
        self.storage.block_bytes = bytes;
        self
    }

    /// What is kept of the journals (default: everything). Fixed at creation.
    pub fn journal_retention(mut self, retention: Retention) -> Self {
        self.storage.journal = retention;
        self
    }

    /// The identity of a database that is made now (default: random), so that a run can be replayed
    /// byte for byte.
    pub fn identity(mut self, identity: u64) -> Self {
        self.storage.identity = Some(identity);
        self
    }

    /// The seed of the hash by which the indexes find keys (default: random at every opening, so that
    /// nobody can choose keys that collide). Only for runs that are replayed: the outcome is the same,
    /// the work to find a key may differ.
    pub fn hash_seed(mut self, seed: u64) -> Self {
        self.hash_seed = Some(seed);
        self
    }

    /// Whether a database is made where there is none (default: yes).
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens the database in this directory, or makes it.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database, Error> {
        let path = path.as_ref();
        if !self.create && !path.join(MANIFEST_FILE).exists() {
            // Said before the directory is made.
            let file = path.join(MANIFEST_FILE).display().to_string();
            return Err(OpenError::Absent { file }.into());
        }
        let disk = RealDisk::open(path)?;
        self.open_on(Arc::new(disk))
    }

    /// Opens the database on a disk of your own, such as the simulated one.
    pub fn open_on(mut self, disk: Arc<dyn Disk>) -> Result<Database, Error> {
        if !self.create && !engine::exists(&*disk)? {
            let file = disk.display_name(MANIFEST_FILE);
            return Err(OpenError::Absent { file }.into());
        }
        self.check_shape()?;
        self.storage.threaded = self.shape.is_threaded();
        Database::open_with(disk, self)
    }

    /// A thread that the system cannot start would be noticed in the middle of opening.
    fn check_shape(&self) -> Result<(), OpenError> {
        let Shape::Pipelined {
            input_threads,
            output_threads,
        } = self.shape
        else {
            return Ok(());
        };
        let threads = [
            ("input_threads", input_threads),
            ("output_threads", output_threads),
        ];
        match threads
            .into_iter()
            .find(|(_, threads)| *threads > STAGE_THREADS_MAX)
        {
            None => Ok(()),
            Some((option, threads)) => Err(OpenError::Option {
                option,
                value: threads as u64,
                requirement: "at most 256",
            }),
        }
    }
}
