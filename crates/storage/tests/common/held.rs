//! A disk on which syncs of the log's files wait while they are held back: what is written there meanwhile is not stable.

use sardonyx_storage::disk::{Access, Create, Disk, DiskError, DiskFile, DiskLock, SimulatedDisk};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Debug, Default)]
struct Gate {
    is_held: Mutex<bool>,
    /// What waited, and comes later, is not done.
    fails: AtomicBool,
    changed: Condvar,
}

/// A simulated disk with a gate before the syncs of its log.
#[derive(Clone, Debug)]
pub struct HeldDisk {
    pub inner: SimulatedDisk,
    gate: Arc<Gate>,
}

impl HeldDisk {
    pub fn new(inner: SimulatedDisk) -> HeldDisk {
        HeldDisk {
            inner,
            gate: Arc::default(),
        }
    }

    /// Has syncs of the log wait until what is returned is dropped, also by a test that fails.
    pub fn hold_back(&self) -> Held {
        *self.gate.is_held.lock().unwrap() = true;
        Held(self.gate.clone())
    }
}

/// Syncs wait.
#[must_use]
pub struct Held(Arc<Gate>);

impl Held {
    /// They fail, and make nothing stable.
    pub fn fail(self) {
        self.0.fails.store(true, Ordering::SeqCst);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.is_held.lock().unwrap() = false;
        self.0.changed.notify_all();
    }
}

impl Disk for HeldDisk {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        let file = self.inner.open(name, access, create)?;
        match name.starts_with("log/") {
            true => Ok(Box::new(HeldFile {
                file,
                gate: self.gate.clone(),
            })),
            false => Ok(file),
        }
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> Result<(), DiskError> {
        self.inner.remove(name)
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.inner.list(directory)
    }
    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.inner.create_directory(directory)
    }
    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.inner.sync_directory(directory)
    }
    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.inner.lock(name)
    }
    fn display_name(&self, name: &str) -> String {
        self.inner.display_name(name)
    }
}

#[derive(Debug)]
struct HeldFile {
    file: Box<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl DiskFile for HeldFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_at(offset, into)
    }
    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(offset, from)
    }
    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(offset, from)?;
        self.sync()
    }
    fn sync(&self) -> Result<(), DiskError> {
        let held = self.gate.is_held.lock().unwrap();
        drop(self.gate.changed.wait_while(held, |held| *held).unwrap());
        match self.gate.fails.load(Ordering::SeqCst) {
            true => {
                let error = std::io::Error::other("it is so in this test");
                Err(DiskError::new("sync", self.display_name(), 0, error))
            }
            false => self.file.sync(),
        }
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }
    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        self.file.preallocate(length)
    }
    fn display_name(&self) -> String {
        self.file.display_name()
    }
}
