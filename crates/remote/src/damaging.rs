//! A store in memory whose answers are damaged on their way, as often as a test wants.

use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::sync::atomic::{AtomicU32, Ordering};

/// A store of which the next answers are damaged.
#[derive(Debug, Default)]
pub(crate) struct Damaging {
    inner: MemoryStore,
    pub damaged: AtomicU32,
}

impl Damaging {
    fn on_its_way(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let one_less = |left: u32| left.checked_sub(1);
        let damages = self
            .damaged
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        if damages.is_ok() {
            bytes.truncate(bytes.len() / 2);
        }
        bytes
    }
}

impl RemoteStore for Damaging {
    fn place(&self) -> String {
        self.inner.place()
    }
    fn entry_bytes_max(&self) -> u64 {
        self.inner.entry_bytes_max()
    }
    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.inner.append_at(number, bytes)
    }
    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.inner.read(number)?;
        Ok(found.map(|bytes| self.on_its_way(bytes)))
    }
    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.inner.list(from)
    }
    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.inner.remove(numbers)
    }
    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let found = self.inner.read_register(register)?;
        Ok(found.map(|stored| StoredRegister {
            bytes: self.on_its_way(stored.bytes),
            version: stored.version,
        }))
    }
    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.inner.swap_register(register, expected, bytes)
    }
}

impl RemoteObjects for Damaging {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.inner.create_object(name, bytes)
    }
    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.inner.read_object(name)?;
        Ok(found.map(|bytes| self.on_its_way(bytes)))
    }
    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.inner.list_objects(folder)
    }
    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.inner.remove_objects(names)
    }
}
