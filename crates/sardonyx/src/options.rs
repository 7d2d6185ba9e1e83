//! Options for opening a database. The defaults suit most; opening checks every value.

mod checks;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "operations")]
mod operations;

#[cfg(feature = "hosts")]
use crate::host_error::HostError;
use crate::tables::OPEN_TRANSACTIONS_MAX;
use crate::{Error, Tables};
use sardonyx_serial::Shape;
#[cfg(feature = "hosts")]
use sardonyx_storage::checkpoint::CheckpointPlace;
use sardonyx_storage::checkpoint::Checkpoints;
use sardonyx_storage::disk::{Disk, RealDisk};
#[cfg(feature = "hosts")]
use sardonyx_storage::engine::RemoteLog;
use sardonyx_storage::engine::{self, OpenError, StorageOptions};
use sardonyx_storage::journal::Retention;
use sardonyx_storage::log::policy::{GroupLimits, GroupPolicy};
use sardonyx_storage::manifest::MANIFEST_FILE;
use sardonyx_storage::places::Directories;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Options for opening a database: first those common to all ways, then those of one way.
///
/// A database is one directory. Open it as tables, as memory or as operations, one way at a time. Tables and operations
/// belong to the process that opened them; processes that open memory share it. An opening in another way meanwhile is
/// refused ([`Error::Locked`]).
///
/// ```
/// use sardonyx::{Options, Shape};
/// # let directory = tempfile::tempdir().unwrap();
/// let bank = Options::new()
///     .shape(Shape::Coalesced)
///     .log_bytes_max(512 << 20)
///     .open_tables(directory.path().join("bank.sdx"))?;
/// # bank.close()?;
/// # Ok::<_, sardonyx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) storage: StorageOptions,
    pub(crate) shape: Shape,
    pub(crate) hash_seed: Option<u64>,
    pub(crate) stored_bytes_min: Option<u64>,
    pub(crate) snapshot_bytes_max: Option<u64>,
    /// Bounds on their number and on the bytes that they keep.
    pub(crate) open_transactions: [usize; 3],
    create: bool,
    #[cfg(feature = "memory")]
    memory: sardonyx_mapped::Options,
    #[cfg(feature = "operations")]
    operations: crate::operations::Choices,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// Options common to all ways.
impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Options {
            storage: StorageOptions::default(),
            shape: Shape::of_this_machine(),
            hash_seed: None,
            stored_bytes_min: None,
            snapshot_bytes_max: None,
            open_transactions: OPEN_TRANSACTIONS_MAX,
            create: true,
            #[cfg(feature = "memory")]
            memory: sardonyx_mapped::Options::new(),
            #[cfg(feature = "operations")]
            operations: Default::default(),
        }
    }

    /// The layout of the stages on threads; the default follows the number of processors. Operations have no stages for
    /// input and output; for them it decides between threads and no threads for the log and the checkpoints. Memory
    /// always has these threads.
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// The rule by which a commit group is closed; the default adapts to the load and the disk.
    pub fn group_policy(mut self, policy: GroupPolicy) -> Self {
        self.storage.policy = policy;
        self
    }

    /// The bounds of group commit.
    pub fn group_limits(mut self, limits: GroupLimits) -> Self {
        self.storage.limits = limits;
        self
    }

    /// The most bytes of redo records that one transaction on tables or memory may have: the changed bytes, and 8 bytes
    /// for each range of consecutive bytes. By default memory and the log are the bound: the log's largest size less
    /// three segments (on memory, two). At most 4 GiB less a page. On memory, a bound beyond the log's largest size
    /// raises that size for this opening. Operations, and tables with a store, have [`GroupLimits::transaction_bytes`].
    pub fn transaction_bytes(mut self, bytes: u64) -> Self {
        self.storage.transaction_bytes_max = bytes;
        #[cfg(feature = "memory")]
        {
            self.memory = self.memory.transaction_bytes(bytes);
        }
        self
    }

    /// The most bytes of log on disk (default 2 GiB); at least four segments ([`Options::segment_bytes`]).
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

    /// The first size of a new database's log, in bytes (default 256 KiB); it grows with use.
    pub fn log_bytes_first(mut self, bytes: u64) -> Self {
        self.storage.log_bytes_first = bytes;
        self
    }

    /// The bytes of log after which a checkpoint begins (default: four times the stored bytes, at least 64 MiB and at
    /// most three eighths of the log).
    pub fn checkpoint_interval_bytes(mut self, bytes: u64) -> Self {
        self.storage.checkpoint_interval_bytes = Some(bytes);
        self
    }

    /// The transactions after which a checkpoint begins, too (default: only bytes of log count).
    pub fn checkpoint_interval_transactions(mut self, transactions: u64) -> Self {
        self.storage.checkpoint_interval_transactions = Some(transactions);
        self
    }

    /// The time that a close may spend on shortening the next opening (default 10 s; zero for none). It finishes a
    /// checkpoint, or takes one if there is much to redo, and stores large indexes of tables.
    pub fn closing_checkpoint(mut self, time: Duration) -> Self {
        self.storage.closing_checkpoint = time;
        self
    }

    /// The time for which an opening waits while other processes have the database open in a way that excludes this one
    /// (default: none). Then it is refused ([`Error::Locked`]), with the names of these processes.
    pub fn wait_for_lock(mut self, wait: Duration) -> Self {
        self.storage.wait_for_lock = wait;
        self
    }

    /// The most bytes of pages in memory (default 1 TiB of address space; memory is taken as the data grows). The
    /// checkpointer's copy takes as much again, if there is one ([`Options::checkpoints`]).
    pub fn memory_bytes_max(mut self, bytes: u64) -> Self {
        self.storage.memory_bytes_max = bytes;
        self
    }

    /// The most bytes of memory for pages, of rows and of indexes, that change while a [`Snapshot`](crate::Snapshot)
    /// exists. The default is 1 GiB, or a quarter of [`Options::memory_bytes_max`] if that is less. A changed page is
    /// kept once for all snapshots that need it. At the bound, the oldest snapshot is ended; transactions never wait.
    /// For tables and operations.
    pub fn snapshot_bytes_max(mut self, bytes: u64) -> Self {
        self.snapshot_bytes_max = Some(bytes);
        self
    }

    /// The most [open transactions](crate::OpenTransaction) of tables (default 10,000). When one more begins, the oldest
    /// is ended: its verbs and its commit return [`Error::Limit`], by a
    /// [`TransactionEnded`](crate::errors::TransactionEnded). So forgotten transactions do no harm. A committed one whose
    /// [`Ticket`](crate::Ticket) is not yet answered does not count. At least 1.
    pub fn open_transactions_max(mut self, number: usize) -> Self {
        self.open_transactions[0] = number;
        self
    }

    /// The most bytes that the [open transactions](crate::OpenTransaction) of tables keep together (default 1 GiB): their
    /// changes, and notes of their reads. One of them may have a quarter of that. An operation beyond that quarter
    /// returns [`Error::Limit`] and does nothing; earlier changes of the transaction can be committed. At the common
    /// bound, the oldest other transaction is ended, as by [`Options::open_transactions_max`]; its memory is free when
    /// the program drops it. Ended ones that a program holds, and committed ones whose tickets are not answered, keep at most
    /// as much again. Beyond that, an operation that needs more returns [`Error::Limit`] until some are dropped. Old versions of pages have a bound of their own,
    /// [`Options::snapshot_bytes_max`]. At least 64 KiB.
    pub fn open_transactions_bytes_max(mut self, bytes: u64) -> Self {
        self.open_transactions[1] = usize::try_from(bytes).unwrap_or(usize::MAX);
        self
    }

    /// The most rows that one [open transaction](crate::OpenTransaction) of tables changes (default 500,000). Its commit is
    /// one call of the serial stage, of about a microsecond for each row, for which other transactions wait. The call also
    /// compares at most 500,000 rows of those that it read; more are a conflict. A change of
    /// one row more returns [`Error::Limit`], by a [`TableError::TooManyRows`](crate::errors::TableError::TooManyRows), and
    /// does nothing; the transaction can be committed. A closure ([`Tables::run`](crate::Tables::run)), also the last run of
    /// [`Tables::retry`](crate::Tables::retry), has no such bound: others wait for all of it. At least 1.
    pub fn open_transaction_rows_max(mut self, rows: usize) -> Self {
        self.open_transactions[2] = rows;
        self
    }

    /// Leaves the checkpoints to followers of the log in the store ([`Options::store`]). This process has no second
    /// copy of the data, and this directory no backup. When room is needed, the log here is freed up to the store's
    /// place. An opening that needs more than the rest begins anew from the store, as a new directory does. It starts
    /// from the newest base that a follower has put there (`sardonyx store follow --base-every`), or from the log's
    /// beginning.
    ///
    /// So the store and the followers have all of the data, and this process's disk has only the end of the log. Without
    /// a store, or with parts in other directories, the opening is refused. The follower decides the interval between
    /// checkpoints; [`Options::closing_checkpoint`] has no effect here. Feature `hosts`.
    ///
    /// ```
    /// # #[cfg(not(shuttle))] {
    /// use sardonyx::hosts::{MemoryStore, RemoteLog};
    /// use std::sync::Arc;
    ///
    /// # let machine = tempfile::tempdir().unwrap();
    /// let store = RemoteLog::new(Arc::new(MemoryStore::new()));
    /// let options = sardonyx::Options::new().store(store).checkpoints_at_followers();
    /// let bank = options.open_tables(machine.path().join("bank.sdx"))?;
    /// assert_eq!(bank.engine().checkpoint().copy_bytes(), 0);
    /// # bank.close()?;
    /// # }
    /// # Ok::<_, sardonyx::Error>(())
    /// ```
    #[cfg(feature = "hosts")]
    pub fn checkpoints_at_followers(mut self) -> Self {
        self.storage.checkpoint = CheckpointPlace::Followers;
        self
    }

    /// The source of the checkpoints: a second copy of the pages in memory (the default), or snapshots of the pages.
    ///
    /// Without the second copy, the database takes about half of the memory. A checkpoint then needs the serial stage
    /// for about a tenth of a millisecond for each block of the backup. With [`Options::block_bytes`] of more than 1
    /// MiB it is some microseconds. Pages that change while a block is copied are kept as for a
    /// [`Snapshot`](crate::Snapshot).
    ///
    /// A transaction gets [`Error::Full`] if its redo records need room that only a checkpoint can free while it runs. So it
    /// does if there is no memory for a snapshot when the log is at its limit. The checkpoint is taken when the transaction has
    /// ended, so run it again.
    ///
    /// For tables; memory, operations, nodes, and `checkpoints_at_followers` (of the feature `hosts`) refuse it. A
    /// compaction has the second copy all the same. So has a host as long as it follows, and until it has taken over
    /// from that copy: give such a machine the memory for both. The source may differ from one opening to the next,
    /// since the files are the same.
    ///
    /// ```
    /// use sardonyx::{Checkpoints, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// let options = Options::new().checkpoints(Checkpoints::FromSnapshots);
    /// let bank = options.open_tables(directory.path().join("bank.sdx"))?;
    /// bank.checkpoint()?;
    /// assert_eq!(bank.engine().checkpoint().copy_bytes(), 0);
    /// # bank.close()?;
    /// # Ok::<_, sardonyx::Error>(())
    /// ```
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.storage.checkpoints = checkpoints;
        self
    }

    /// Puts the log into a store, too, from which other hosts follow and take over ([`hosts`](crate::hosts)): one of the
    /// crate `sardonyx-remote`, for example. Name the store at every opening; an empty directory gets the database from
    /// it. It needs a shape with threads; memory and nodes have none. Feature `hosts`.
    ///
    /// ```
    /// # #[cfg(not(shuttle))] {
    /// use sardonyx::hosts::{MemoryStore, RemoteLog};
    /// use std::sync::Arc;
    ///
    /// # let machine = tempfile::tempdir().unwrap();
    /// let store = RemoteLog::new(Arc::new(MemoryStore::new()));
    /// let options = sardonyx::Options::new().store(store);
    /// options.clone().open_tables(machine.path().join("here.sdx"))?.close()?;
    /// // Another directory, which gets everything from the store.
    /// options.open_tables(machine.path().join("elsewhere.sdx"))?.close()?;
    /// # }
    /// # Ok::<_, sardonyx::Error>(())
    /// ```
    #[cfg(feature = "hosts")]
    pub fn store(mut self, store: RemoteLog) -> Self {
        self.storage.remote = Some(store);
        self
    }

    /// Stripes of the backup, each with a file and a checkpointing thread. Fixed at creation.
    pub fn stripes(mut self, stripes: u32) -> Self {
        self.storage.stripes = stripes;
        self
    }

    /// The directory of a new database's log, on a disk of its own. It is made, or must be empty (default: in the
    /// database's directory). The database's directory has its path, so the next opening finds it. After a move, give the
    /// option with the new path.
    ///
    /// ```
    /// # let machine = tempfile::tempdir().unwrap();
    /// # let (bank, fast) = (machine.path().join("bank.sdx"), machine.path().join("fast"));
    /// let database = sardonyx::Options::new()
    ///     .log_directory(&fast)
    ///     .open_tables(&bank)?;
    /// database.close()?;
    /// assert!(!bank.join("log").exists() && fast.join("log").exists());
    /// // Found again; and nothing else takes its place.
    /// sardonyx::Tables::open(&bank)?.close()?;
    /// std::fs::rename(&fast, machine.path().join("faster")).unwrap();
    /// assert!(sardonyx::Tables::open(&bank).is_err());
    /// # Ok::<_, sardonyx::Error>(())
    /// ```
    pub fn log_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.storage.directories.log = Some(directory.into());
        self
    }

    /// The directories of the log and the backup, all at once; as [`Options::log_directory`]. A new database has as many
    /// stripes as directories of the backup, if there are several; as [`Options::stripe_directories`].
    pub fn directories(mut self, directories: Directories) -> Self {
        if let Ok(stripes @ 2..) = u32::try_from(directories.backup.len()) {
            self.storage.stripes = stripes;
        }
        self.storage.directories = directories;
        self
    }

    /// The directory of the backup; as [`Options::log_directory`].
    pub fn backup_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.storage.directories.backup = vec![directory.into()];
        self
    }

    /// The directories of the backup's stripes, each on a disk of its own; as [`Options::log_directory`]. A new database
    /// has as many stripes as directories; if [`Options::stripes`], called after this, sets more, stripe `k` is in
    /// directory `k` modulo their count.
    pub fn stripe_directories(
        mut self,
        directories: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        self.storage.directories.backup = directories.into_iter().map(Into::into).collect();
        self.storage.stripes = u32::try_from(self.storage.directories.backup.len())
            .unwrap_or(u32::MAX)
            .max(1);
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

    /// The part of the journals that is kept (default: everything). Fixed at creation.
    pub fn journal_retention(mut self, retention: Retention) -> Self {
        self.storage.journal = retention;
        self
    }

    /// The identity of a new database (default: random), so that a run can be replayed byte for byte.
    pub fn identity(mut self, identity: u64) -> Self {
        self.storage.identity = Some(identity);
        self
    }

    /// If false, a missing database is an error instead of being created (default: true). A database whose log is in a
    /// store (`Options::store`) exists if it is in the store.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Checks, before the directory is made, that there is a database to open, or that one may and can be created.
    pub(crate) fn check_there(&self, path: &Path) -> Result<(), Error> {
        let file = path.join(MANIFEST_FILE);
        if file.exists() {
            return Ok(());
        }
        if !self.create {
            return self.check_stored(|| file.display().to_string());
        }
        if self.storage.remote.is_some() {
            return Ok(());
        }
        engine::new_manifest(&self.storage)?;
        Ok(self.check_shape()?)
    }

    pub(crate) fn check_on(&self, disk: &dyn Disk) -> Result<(), Error> {
        if self.create || engine::exists(disk)? {
            return Ok(());
        }
        self.check_stored(|| disk.display_name(MANIFEST_FILE))
    }

    /// True if the store has the database of this file, which the directory lacks: none may be made there either.
    #[cfg(feature = "hosts")]
    fn check_stored(&self, file: impl Fn() -> String) -> Result<(), Error> {
        let Some(remote) = &self.storage.remote else {
            return Err(OpenError::Absent { file: file() }.into());
        };
        match engine::stored_manifest(remote)? {
            Some(_) => Ok(()),
            None => Err(HostError::NoDatabase {
                place: remote.store.place(),
            }
            .into()),
        }
    }

    /// There is no store that could have it.
    #[cfg(not(feature = "hosts"))]
    fn check_stored(&self, file: impl Fn() -> String) -> Result<(), Error> {
        Err(OpenError::Absent { file: file() }.into())
    }
}

/// Tables.
impl Options {
    /// The seed of the hash by which the indexes find keys (default: random at every opening, so that colliding keys
    /// cannot be chosen). Only for runs that are replayed: the outcome is the same, the work to find a key may differ.
    pub fn hash_seed(mut self, seed: u64) -> Self {
        self.hash_seed = Some(seed);
        self
    }

    /// The bytes of indexes from which a clean close stores them (default 4 MiB), so that tests need few rows.
    #[doc(hidden)]
    pub fn stored_bytes_min(mut self, bytes: u64) -> Self {
        self.stored_bytes_min = Some(bytes);
        self
    }

    /// Opens the database in this directory as tables, or makes it.
    ///
    /// # Errors
    /// As [`Tables::open`]; [`Error::Refused`] for an option that cannot work; [`Error::NotFound`].
    pub fn open_tables(self, path: impl AsRef<Path>) -> Result<Tables, Error> {
        let path = path.as_ref();
        self.check_open_transactions()?;
        self.check_there(path)?;
        self.open_tables_on(Arc::new(RealDisk::open(path)?))
    }

    /// Opens the database on a disk of your own, such as the simulated one, as tables.
    ///
    /// # Errors
    /// As [`Options::open_tables`].
    pub fn open_tables_on(mut self, disk: Arc<dyn Disk>) -> Result<Tables, Error> {
        self.check_open_transactions()?;
        self.check_on(&*disk)?;
        self.check_shape()?;
        self.storage.threaded = self.shape.is_threaded();
        Tables::open_with(disk, self)
    }
}
