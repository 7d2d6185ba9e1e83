//! The options of operations, and their openings.

use super::*;
use crate::Operations;
use crate::operations::{PageLog, Recorded, Release, RestartDelay, Strategy, VictimRule};

impl Options {
    /// The way in which transactions lock pages and write the log.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.operations.strategy = strategy;
        self
    }

    /// The part of a changed page that is logged.
    pub fn page_log(mut self, page_log: PageLog) -> Self {
        self.operations.page_log = page_log;
        self
    }

    /// The moment at which a committing transaction releases its locks.
    pub fn release(mut self, release: Release) -> Self {
        self.operations.release = release;
        self
    }

    /// The rule that chooses the transaction aborted to end a deadlock. Only with the default, the youngest, does a
    /// transaction that [`Operations::run`] repeats eventually commit.
    pub fn victims(mut self, rule: VictimRule) -> Self {
        self.operations.victims = rule;
        self
    }

    /// The time for which [`Operations::run`] waits before it repeats a transaction that was aborted to end a
    /// deadlock. By default none.
    pub fn restart_delay(mut self, delay: RestartDelay) -> Self {
        self.operations.restart_delay = delay;
        self
    }

    /// Registers an operation, so that it can be an inverse. Register every operation that is an inverse in this
    /// program, or was one in the program that had the database before. Those of the ready types are registered.
    pub fn register<O: Recorded>(mut self) -> Self {
        self.operations
            .registered
            .push(|options| options.register::<O>());
        self
    }

    /// Opens the database in this directory as operations, or makes it. Unfinished transactions are undone before
    /// this returns.
    ///
    /// # Errors
    /// As [`Operations::open`]; [`Error::Refused`] for an option that cannot work, or if a transaction
    /// is to be undone by an operation that is not registered; [`Error::NotFound`].
    pub fn open_operations(self, path: impl AsRef<Path>) -> Result<Operations, Error> {
        let path = path.as_ref();
        self.storage.refuse_snapshots("of operations")?;
        self.check_there(path)?;
        self.open_operations_on(Arc::new(RealDisk::open(path)?))
    }

    /// Opens the database on a disk of your own, such as the simulated one, as operations.
    ///
    /// # Errors
    /// As [`Options::open_operations`].
    pub fn open_operations_on(mut self, disk: Arc<dyn Disk>) -> Result<Operations, Error> {
        self.check_on(&*disk)?;
        self.storage.threaded = self.shape.is_threaded();
        self.operations.snapshot_bytes_max = self.snapshot_bytes_max;
        Operations::open_with(disk, self.operations.over(self.storage))
    }
}
