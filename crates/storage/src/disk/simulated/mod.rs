//! The simulated disk: a directory tree in memory that separates the state that the running process sees from the
//! state after a crash.
//!
//! It fails as its [`Faults`] determine. [`SimulatedDisk::restart`] returns the disk that the machine finds when it
//! comes up again. Of everything unsynced some is lost, some is torn between sectors, some has overtaken earlier
//! writes, as the seed decides (I11: same seed and same operations, same bytes).
//! [`SimulatedDisk::next_process`] gives the disk that the next process finds when only this one was
//! killed: the system's cache with all that is not stable yet. It promises no more than [`super::Disk`]
//! does, so a program that holds only by luck of a real file system fails here.
//!
//! Directories elsewhere ([`Disk::elsewhere`]) are other directories of the same machine. A sync in one does not cover
//! another, a power cut hits all at once, and each may be full by itself ([`Faults::full_below`]).
//!
//! - [`bytes`]: bytes that copies share;
//! - [`content`]: one file's bytes, live and durable;
//! - [`names`]: the directory tree, live and durable;
//! - [`state`]: the disk as a whole, its counters and its faults.

mod bytes;
mod content;
mod names;
mod state;

use super::{Access, Create, Disk, DiskError, DiskFile, DiskLock, check};
use bytes::Bytes;
use names::FileNumber;
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::Mutex;
use state::{Holders, State};
use std::fmt;
use std::io;
use std::sync::Arc;

/// The faults of a [`SimulatedDisk`], and their times. All counts start at 1, and start anew with each
/// [`SimulatedDisk::restart`] and [`SimulatedDisk::next_process`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// The machine crashes at this mutating operation (see [`SimulatedDisk::steps`]): it fails,
    /// done in part or wholly or not at all, and every later operation fails too.
    pub crash_at_step: Option<u64>,
    /// The process is killed at this mutating operation: it fails, done in part or wholly or not at
    /// all, but synced in no case, and every later operation fails too.
    /// [`SimulatedDisk::next_process`] goes on.
    pub kill_at_step: Option<u64>,
    /// Of the operations that promise stability (`sync`, `write_durable_at`, `preallocate`, `sync_directory`) this one
    /// fails with an I/O error. Some unsynced data is then stable. No later sync makes the rest so, although it
    /// succeeds, and although every process still reads it, the next one too. Systems behave so that take unwritten
    /// pages for clean. Only writing it again helps. (Of names the rest stays unsynced.)
    pub fail_sync_at: Option<u64>,
    /// This `write_at` fails with an I/O error; a part of its bytes may have been written.
    pub fail_write_at: Option<u64>,
    /// This `read_at` fails with an I/O error.
    pub fail_read_at: Option<u64>,
    /// Once the lengths of all files together would exceed so many bytes, writes fail for want of space, after writing
    /// the bytes that fit.
    pub capacity_bytes: Option<u64>,
    /// From the first of these steps on, and before the second one, the disk is full: an operation that
    /// would create a file or a directory, or lengthen a file, fails for want of space and does nothing.
    /// Attempts are steps, too, so a process that continues to try comes to the end of it.
    pub full_steps: Option<(u64, u64)>,
    /// Only this directory (by its whole name, such as `/fast`) and its content is full then: it is a disk by itself.
    pub full_below: Option<&'static str>,
}

/// A disk in memory that can crash and fail. Clones are the same disk.
///
/// ```
/// # use sardonyx_storage as sardonyx;
/// # use sardonyx::disk::{Access, Create};
/// use sardonyx::disk::{Disk, Faults, SimulatedDisk};
/// let disk = SimulatedDisk::new(42, Faults::default());
/// let file = disk.open("greeting", Access::Buffered, Create::New)?;
/// file.write_at(0, b"hello")?;
/// file.sync()?;
/// disk.sync_directory("")?;
/// file.write_at(0, b"HELLO")?; // unsynced: there after a crash, or not
///
/// let after = disk.restart(Faults::default());
/// assert!(file.sync().is_err(), "the machine is gone");
/// let bytes = after.read_all("greeting").unwrap();
/// assert!(bytes == b"hello" || bytes == b"HELLO");
/// # Ok::<(), sardonyx_storage::disk::DiskError>(())
/// ```
#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
    /// Its place on the machine, with a `/` at the end; nothing for its root. Names in [`Disk`]'s
    /// operations are below it; those of the methods here are whole.
    root: String,
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the bytes: a failed assertion that shows a disk should be readable.
        self.state.lock().fmt(f)
    }
}

impl SimulatedDisk {
    /// An empty disk. The seed decides which bytes survive crashes and failed syncs.
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self::with_state(State::new(seed, faults))
    }

    fn with_state(state: State) -> Self {
        SimulatedDisk {
            state: Arc::new(Mutex::new(state)),
            root: String::new(),
        }
    }

    /// The mutating operations so far: creating opens, writes, durable writes, preallocations,
    /// syncs, renames, removes, and creations and syncs of directories. Those refused for their
    /// arguments or by the state of the directory do not count.
    pub fn steps(&self) -> u64 {
        self.state.lock().steps()
    }

    /// The faults since it was restarted.
    pub fn faults(&self) -> Faults {
        self.state.lock().faults()
    }

    /// True if the machine has crashed, or the process was killed.
    pub fn has_crashed(&self) -> bool {
        self.state.lock().has_crashed()
    }

    /// Crashes the machine: from now on every operation on this disk and its files fails.
    pub fn crash(&self) {
        self.state.lock().crash();
    }

    /// Crashes the machine if it has not yet. Returns the disk after the machine has come up again, with other faults
    /// from now on. The same crash always gives the same disk.
    pub fn restart(&self, faults: Faults) -> SimulatedDisk {
        let mut state = self.state.lock();
        state.crash();
        self.at_root(state.after_crash(faults))
    }

    /// Kills the process, if it still runs, and gives the disk to the next one while the machine continues.
    /// Everything that could be read is readable, and unstable data is still unstable. The locks of the
    /// killed process are free, and all its later calls fail.
    ///
    /// ```
    /// # use sardonyx_storage as sardonyx;
    /// # use sardonyx::disk::{Access, Create};
    /// use sardonyx::disk::{Disk, Faults, SimulatedDisk};
    /// let disk = SimulatedDisk::new(7, Faults::default());
    /// disk.open("greeting", Access::Buffered, Create::New)?;
    ///
    /// let next = disk.next_process(Faults::default());
    /// assert!(disk.open("greeting", Access::Buffered, Create::No).is_err(), "it was killed");
    /// assert_eq!(next.list("")?, ["greeting"], "but that does not make the name stable");
    /// # Ok::<(), sardonyx_storage::disk::DiskError>(())
    /// ```
    pub fn next_process(&self, faults: Faults) -> SimulatedDisk {
        let mut state = self.state.lock();
        state.crash();
        self.at_root(state.after_kill(faults))
    }

    /// Makes a directory, if it is absent, as [`Disk::create_directory`] does before it makes that
    /// stable.
    ///
    /// # Errors
    /// If the machine has crashed, or the name is not one.
    pub fn make_directory(&self, directory: &str) -> Result<(), DiskError> {
        check::file_name(directory)
            .and_then(|()| self.state.lock().make_directory(directory))
            .map_err(|source| error("make directory", directory, 0, source))
    }

    /// The names of all files, with their directories, sorted.
    pub fn files(&self) -> Vec<String> {
        self.state.lock().names().live().keys().cloned().collect()
    }

    /// A file's bytes as the running process sees (or last saw) them; `None` if there is no such file.
    pub fn read_all(&self, name: &str) -> Option<Vec<u8>> {
        self.state
            .lock()
            .content(name)
            .map(|content| content.live().to_vec())
    }

    /// The bytes that a file would have if everything unsynced were lost now; `None` if there is no such
    /// file for the running process. The stability of the name itself does not matter.
    pub fn durable_bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.state
            .lock()
            .content(name)
            .map(content::Content::surely_durable)
    }

    /// Changes one byte of a file without any operation. All of the file is stable afterwards, so do it to a disk that
    /// has just been restarted, or is about to be.
    ///
    /// # Errors
    /// If there is no such file or no such byte.
    pub fn corrupt(
        &self,
        name: &str,
        offset: u64,
        change: impl FnOnce(u8) -> u8,
    ) -> Result<(), DiskError> {
        self.state.lock().damage("corrupt", name, offset, |bytes| {
            let at = usize::try_from(offset).ok()?;
            let mut byte = [0];
            (bytes.read(at, &mut byte) == 1).then(|| bytes.write(at, &[change(byte[0])]))
        })
    }

    /// Replaces a file's bytes without any operation. All of them are stable afterwards.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn replace(&self, name: &str, with: &[u8]) -> Result<(), DiskError> {
        self.state.lock().damage("replace", name, 0, |bytes| {
            *bytes = Bytes::from(with);
            Some(())
        })
    }

    /// Cuts a file off without any operation. All that remains is stable afterwards.
    ///
    /// # Errors
    /// If there is no such file or it is shorter.
    pub fn truncate(&self, name: &str, length: u64) -> Result<(), DiskError> {
        self.state.lock().damage("truncate", name, length, |bytes| {
            let length = usize::try_from(length)
                .ok()
                .filter(|length| *length <= bytes.len())?;
            bytes.set_length(length);
            Some(())
        })
    }
}

impl SimulatedDisk {
    /// The same place of the machine in another state.
    fn at_root(&self, state: State) -> SimulatedDisk {
        SimulatedDisk {
            root: self.root.clone(),
            ..Self::with_state(state)
        }
    }

    /// The whole name of a file here.
    fn file(&self, name: &str) -> io::Result<String> {
        check::file_name(name).map(|()| format!("{}{name}", self.root))
    }

    /// The whole name of a directory here.
    fn directory(&self, name: &str) -> io::Result<String> {
        check::directory_name(name)?;
        let whole = format!("{}{name}", self.root);
        Ok(whole.strip_suffix('/').map(str::to_owned).unwrap_or(whole))
    }

    fn shown(&self, name: &str) -> String {
        shown(&format!("{}{name}", self.root))
    }

    fn error(&self, operation: &'static str, name: &str, source: io::Error) -> DiskError {
        DiskError::new(operation, self.shown(name), 0, source)
    }

    /// A directory of the machine, by its absolute path, as [`Disk::elsewhere`] gives it.
    ///
    /// # Errors
    /// If it is not there and not to be made, or the path is not one.
    pub fn below(&self, path: &str, make: bool) -> Result<SimulatedDisk, DiskError> {
        let failed = |source| DiskError::new("open", format!("simulated:{path}"), 0, source);
        let name = path.strip_prefix('/').unwrap_or(path);
        check::file_name(name).map_err(failed)?;
        let mut state = self.state.lock();
        match make {
            true => state.create_directory(name),
            false => state.check_directory(name),
        }
        .map_err(failed)?;
        drop(state);
        Ok(SimulatedDisk {
            state: Arc::clone(&self.state),
            root: format!("{name}/"),
        })
    }

    fn try_lock(
        &self,
        operation: &'static str,
        name: &str,
        how: Holders,
    ) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        let taken = self
            .file(name)
            .and_then(|name| self.state.lock().take_lock(&name, how))
            .map_err(|source| self.error(operation, name, source))?;
        Ok(taken.then(|| self.held(name)))
    }

    /// The handle of a lock that was just taken.
    fn held(&self, name: &str) -> Box<dyn DiskLock> {
        Box::new(SimulatedLock {
            process: Process::current(),
            state: Arc::clone(&self.state),
            name: format!("{}{name}", self.root),
            held: true,
        })
    }
}

fn error(operation: &'static str, name: &str, offset: u64, source: io::Error) -> DiskError {
    DiskError::new(operation, shown(name), offset, source)
}

fn shown(name: &str) -> String {
    format!("simulated:/{name}")
}

impl Disk for SimulatedDisk {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        let (number, name) = self
            .file(name)
            .and_then(|name| Ok((self.state.lock().open(&name, create)?, name)))
            .map_err(|source| self.error("open", name, source))?;
        let state = Arc::clone(&self.state);
        Ok(Box::new(SimulatedFile {
            state,
            number,
            name,
            access,
        }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let rename = || {
            let (from, to) = (self.file(from)?, self.file(to)?);
            self.state.lock().rename(&from, &to)
        };
        rename().map_err(|source| {
            let both = format!("{} to {}", self.shown(from), self.shown(to));
            DiskError::new("rename", both, 0, source)
        })
    }

    fn remove(&self, name: &str) -> Result<(), DiskError> {
        self.file(name)
            .and_then(|name| self.state.lock().remove(&name))
            .map_err(|source| self.error("remove", name, source))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.directory(directory)
            .and_then(|directory| self.state.lock().list(&directory))
            .map_err(|source| self.error("list", directory, source))
    }

    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.directory(directory)
            .and_then(|directory| self.state.lock().create_directory(&directory))
            .map_err(|source| self.error("create directory", directory, source))
    }

    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.directory(directory)
            .and_then(|directory| self.state.lock().sync_directory(&directory))
            .map_err(|source| self.error("sync directory", directory, source))
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.try_lock("lock", name, Holders::Exclusive)
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.try_lock("lock shared", name, Holders::Shared(1))
    }

    fn lock_waiting(&self, name: &str) -> Result<Box<dyn DiskLock>, DiskError> {
        let failed = |source| self.error("wait for the lock", name, source);
        let whole = self.file(name).map_err(failed)?;
        let mut state = self.state.lock();
        let released = Arc::clone(&state.released);
        while !state
            .take_lock(&whole, Holders::Exclusive)
            .map_err(failed)?
        {
            released.wait(&mut state);
        }
        drop(state);
        Ok(self.held(name))
    }

    fn display_name(&self, name: &str) -> String {
        self.shown(name)
    }

    fn elsewhere(&self, path: &str, make: bool) -> Result<Arc<dyn Disk>, DiskError> {
        Ok(Arc::new(self.below(path, make)?))
    }
}

struct SimulatedLock {
    process: Process,
    state: Arc<Mutex<State>>,
    name: String,
    /// False after an attempt to share it in which it was lost.
    held: bool,
}

impl fmt::Debug for SimulatedLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimulatedLock").field(&self.name).finish()
    }
}

impl DiskLock for SimulatedLock {
    fn share(&mut self) -> Result<bool, DiskError> {
        let mut state = self.state.lock();
        // As with the real one: given back, then taken anew.
        state.release_lock(&self.name);
        self.held = false;
        self.held = state
            .take_lock(&self.name, Holders::Shared(1))
            .map_err(|source| error("share", &self.name, 0, source))?;
        Ok(self.held)
    }
}

impl Drop for SimulatedLock {
    /// A forked child gives nothing back: the lock is its parent's, and another thread of the parent may
    /// have had the disk when it was forked.
    fn drop(&mut self) {
        if self.held && self.process.is_current() {
            self.state.lock().release_lock(&self.name);
        }
    }
}

struct SimulatedFile {
    state: Arc<Mutex<State>>,
    number: FileNumber,
    /// The name at open; a rename does not change it.
    name: String,
    access: Access,
}

impl fmt::Debug for SimulatedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SimulatedFile");
        shown
            .field("name", &self.name)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl SimulatedFile {
    fn check(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        check::alignment(self.access, offset, bytes)
            .and_then(|()| check::range(offset, bytes.len()))
    }
}

impl DiskFile for SimulatedFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.check(offset, into)
            .and_then(|()| self.state.lock().read(self.number, offset, into))
            .map_err(|source| error("read", &self.name, offset, source))
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.check(offset, from)
            .and_then(|()| self.state.lock().write(self.number, offset, from))
            .map_err(|source| error("write", &self.name, offset, source))
    }

    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.check(offset, from)
            .and_then(|()| self.state.lock().write_durable(self.number, offset, from))
            .map_err(|source| error("durable write", &self.name, offset, source))
    }

    fn sync(&self) -> Result<(), DiskError> {
        let synced = self.state.lock().sync(self.number);
        synced.map_err(|source| error("sync", &self.name, 0, source))
    }

    fn len(&self) -> Result<u64, DiskError> {
        let length = self.state.lock().length(self.number);
        length.map_err(|source| error("stat", &self.name, 0, source))
    }

    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        check::aligned_length(self.access, length)
            .and_then(|()| check::range(length, 0))
            .and_then(|()| self.state.lock().preallocate(self.number, length))
            .map_err(|source| error("preallocate", &self.name, length, source))
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        // Unwritten bytes and zeroes read the same, before and after a crash.
        self.preallocate(length)
    }

    fn display_name(&self) -> String {
        shown(&self.name)
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.state.lock().close(self.number);
    }
}
