//! A disk at which a test looks before each change: it may count, wait, fail or panic there.

use sardonyx_storage::disk::{Access, Create, Disk, DiskError, DiskFile, DiskLock};
use std::fmt;
use std::sync::Arc;

/// The change that is about to be done. A durable write is [`Change::WriteDurable`], then a [`Change::Sync`] behind
/// its bytes, which are not stable before that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Open,
    Rename,
    Remove,
    SyncDirectory,
    Write,
    WriteDurable,
    Sync,
    Preallocate,
    Allocate,
    /// No change, and shown only by [`WatchedDisk::with_reads`]: a read at this offset.
    Read(u64),
}

type Look = dyn Fn(&str, Change) -> Result<(), DiskError> + Send + Sync;

/// Another disk, looked at.
#[derive(Clone)]
pub struct WatchedDisk {
    inner: Arc<dyn Disk>,
    look: Arc<Look>,
    reads: bool,
}

impl fmt::Debug for WatchedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedDisk").field(&self.inner).finish()
    }
}

impl WatchedDisk {
    /// Calls `look` before each change, with the name of the file or directory; if it returns an error, the change is
    /// not done.
    pub fn new(
        inner: impl Disk + 'static,
        look: impl Fn(&str, Change) -> Result<(), DiskError> + Send + Sync + 'static,
    ) -> WatchedDisk {
        WatchedDisk {
            inner: Arc::new(inner),
            look: Arc::new(look),
            reads: false,
        }
    }

    /// The same, and `look` is called before each read, too.
    #[allow(dead_code, reason = "not all tests that have this file read by it")]
    pub fn with_reads(mut self) -> WatchedDisk {
        self.reads = true;
        self
    }
}

impl Disk for WatchedDisk {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        (self.look)(name, Change::Open)?;
        let (file, look) = (self.inner.open(name, access, create)?, self.look.clone());
        let reads = self.reads;
        Ok(Box::new(WatchedFile { file, look, reads }))
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        (self.look)(from, Change::Rename)?;
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> Result<(), DiskError> {
        (self.look)(name, Change::Remove)?;
        self.inner.remove(name)
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.inner.list(directory)
    }
    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.inner.create_directory(directory)
    }
    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        (self.look)(directory, Change::SyncDirectory)?;
        self.inner.sync_directory(directory)
    }
    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.inner.lock(name)
    }
    fn display_name(&self, name: &str) -> String {
        self.inner.display_name(name)
    }
}

struct WatchedFile {
    file: Box<dyn DiskFile>,
    look: Arc<Look>,
    reads: bool,
}

impl fmt::Debug for WatchedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedFile").field(&self.file).finish()
    }
}

impl WatchedFile {
    fn look(&self, change: Change) -> Result<(), DiskError> {
        (self.look)(&self.file.display_name(), change)
    }
}

impl DiskFile for WatchedFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        if self.reads {
            self.look(Change::Read(offset))?;
        }
        self.file.read_at(offset, into)
    }
    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.look(Change::Write)?;
        self.file.write_at(offset, from)
    }
    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.look(Change::WriteDurable)?;
        self.file.write_at(offset, from)?;
        self.sync()
    }
    fn sync(&self) -> Result<(), DiskError> {
        self.look(Change::Sync)?;
        self.file.sync()
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }
    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        self.look(Change::Preallocate)?;
        self.file.preallocate(length)
    }
    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        self.look(Change::Allocate)?;
        self.file.allocate(length)
    }
    fn display_name(&self) -> String {
        self.file.display_name()
    }
}
