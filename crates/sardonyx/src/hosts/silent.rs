//! A store in memory that gives no answer while a test wants that.

use super::MemoryStore;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::sync::atomic::{AtomicBool, Ordering};

/// It is near.
#[derive(Debug, Default)]
pub(super) struct Silent {
    inner: MemoryStore,
    is_silent: AtomicBool,
}

impl Silent {
    pub fn be_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::SeqCst);
    }

    fn there(&self) -> Result<&MemoryStore, StoreError> {
        match self.is_silent.load(Ordering::SeqCst) {
            false => Ok(&self.inner),
            true => Err(StoreError::Unclear {
                what: "something".into(),
                place: self.place(),
                reason: "it is so in this test".into(),
            }),
        }
    }
}

impl RemoteStore for Silent {
    fn place(&self) -> String {
        self.inner.place()
    }
    fn is_near(&self) -> bool {
        true
    }
    fn entry_bytes_max(&self) -> u64 {
        self.inner.entry_bytes_max()
    }
    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.there()?.append_at(number, bytes)
    }
    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.there()?.read(number)
    }
    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.there()?.list(from)
    }
    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.there()?.remove(numbers)
    }
    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.there()?.read_register(register)
    }
    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.there()?.swap_register(register, expected, bytes)
    }
}

impl RemoteObjects for Silent {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.there()?.create_object(name, bytes)
    }
    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.there()?.read_object(name)
    }
    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.there()?.list_objects(folder)
    }
    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.there()?.remove_objects(names)
    }
}
