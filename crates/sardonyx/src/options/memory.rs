//! The options of memory, and its openings.

use super::*;
use crate::Memory;
use crate::memory::{MechanismKind, SlowReader, StoppedProcess};

impl Options {
    /// The mechanism that finds the pages that transactions touch.
    pub fn mechanism(mut self, mechanism: MechanismKind) -> Self {
        self.memory = self.memory.mechanism(mechanism);
        self
    }

    /// Lets system calls read from the memory (`write(2)` and `send(2)` from it) in writing transactions without
    /// [`Transaction::touch`](crate::memory::Transaction::touch) before. That costs a copy of each page that others
    /// changed lately. Snapshots and transactions that only read always let them. False by default.
    pub fn ready_for_system_calls(mut self, ready: bool) -> Self {
        self.memory = self.memory.ready_for_system_calls(ready);
        self
    }

    /// Bytes of redo records kept in memory, for snapshots older than the last commit, and for the log. A transaction
    /// whose records would take more than a quarter has memory of its own for them. Rounded up to a power of two; at
    /// most 1 TiB. It takes effect when the shared memory is made.
    pub fn versions_bytes(mut self, bytes: u64) -> Self {
        self.memory = self.memory.versions_bytes(bytes);
        self
    }

    /// The most bytes that the memory can have. Address space only; at most 64 TiB. It takes effect when the shared
    /// memory is made. [`Options::memory_bytes_max`] bounds it, too.
    pub fn address_space_bytes(mut self, bytes: u64) -> Self {
        self.memory = self.memory.address_space_bytes(bytes);
        self
    }

    /// Locks all of the memory in memory, so that it takes its whole length; see
    /// [`sardonyx_mapped::Options::lock_in_memory`]. False by default.
    pub fn lock_in_memory(mut self, lock: bool) -> Self {
        self.memory = self.memory.lock_in_memory(lock);
        self
    }

    /// The directory of the shared memory's file, in a memory file system.
    pub fn shared_memory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.memory = self.memory.shared_memory(directory);
        self
    }

    /// The time for which a writer waits when a snapshot keeps as many versions as there is room for. Then it gets
    /// [`Error::Unavailable`].
    pub fn slow_reader_wait(mut self, wait: Duration) -> Self {
        self.memory = self.memory.slow_reader_wait(wait);
        self
    }

    /// A callback for snapshots that keep many old versions. The writer calls it in its commit: it must be quick and
    /// must not use the memory.
    pub fn on_slow_reader(mut self, told: impl Fn(&SlowReader) + Send + Sync + 'static) -> Self {
        self.memory = self.memory.on_slow_reader(told);
        self
    }

    /// The time for which a thread waits for a stopped process (SIGSTOP, a debugger) that holds something; then it
    /// gets [`Error::Unavailable`]. 10 s by default. For a running process, the wait has no limit.
    pub fn stopped_process_wait(mut self, wait: Duration) -> Self {
        self.memory = self.memory.stopped_process_wait(wait);
        self
    }

    /// A callback for a stopped process that a thread of this one waits for. That thread calls it: it must be quick
    /// and must not use the memory.
    pub fn on_stopped_process(
        mut self,
        told: impl Fn(&StoppedProcess) + Send + Sync + 'static,
    ) -> Self {
        self.memory = self.memory.on_stopped_process(told);
        self
    }

    /// Opens the database in this directory as memory, or makes it. Several processes can have it open
    /// at once; the first one recovers it.
    ///
    /// # Errors
    /// As [`Memory::open`]; [`Error::Refused`] for an option that cannot work; [`Error::NotFound`].
    pub fn open_memory(self, path: impl AsRef<Path>) -> Result<Memory, Error> {
        self.storage.refuse_snapshots("of memory")?;
        self.check_there(path.as_ref())?;
        let options = self.memory.storage(self.storage);
        Ok(Memory::new(options.open(path)?))
    }

    /// Opens memory that only this process has, without a log: transactions without durability.
    ///
    /// # Errors
    /// The system's errors.
    pub fn open_private_memory(self) -> Result<Memory, Error> {
        Ok(Memory::new(self.memory.open_private()?))
    }

    /// Opens memory without a log that processes share by name: it exists as long as one of them has it open.
    ///
    /// # Errors
    /// The system's errors; [`Error::Refused`] if another program made it.
    pub fn open_volatile_memory(self, name: &str) -> Result<Memory, Error> {
        Ok(Memory::new(self.memory.open_volatile(name)?))
    }
}
