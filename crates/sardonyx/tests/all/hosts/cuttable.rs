//! A store whose connection a test cuts.

use sardonyx::hosts::{MemoryStore, Patience, RemoteLog};
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A call with the text of each register that is about to be written.
pub struct AtSwap(Box<dyn FnMut(&str) + Send>);

impl std::fmt::Debug for AtSwap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtSwap")
    }
}

/// A store that a host does not always reach, or that answers reads alone.
#[derive(Debug)]
pub struct Cuttable {
    pub inner: Arc<MemoryStore>,
    pub is_cut_off: AtomicBool,
    pub only_reads: AtomicBool,
    /// Registers are written, and the answers are lost.
    pub loses_answers: AtomicBool,
    pub is_register_damaged: AtomicBool,
    pub panics_at_register: AtomicBool,
    at_swap: Mutex<Option<AtSwap>>,
}

impl Cuttable {
    pub fn of(inner: &Arc<MemoryStore>) -> Arc<Cuttable> {
        Arc::new(Cuttable {
            inner: inner.clone(),
            is_cut_off: AtomicBool::new(false),
            only_reads: AtomicBool::new(false),
            loses_answers: AtomicBool::new(false),
            is_register_damaged: AtomicBool::new(false),
            panics_at_register: AtomicBool::new(false),
            at_swap: Mutex::default(),
        })
    }

    /// Has this happen before each register is written.
    pub fn at_swap(&self, act: impl FnMut(&str) + Send + 'static) {
        *self.at_swap.lock().unwrap() = Some(AtSwap(Box::new(act)));
    }

    pub fn remote(self: &Arc<Cuttable>) -> RemoteLog {
        let mut remote = RemoteLog::new(self.clone());
        remote.patience = Patience {
            time_limit: Duration::from_millis(20),
            pause: Duration::from_millis(1),
            pause_most: Duration::from_millis(1),
        };
        remote
    }

    pub fn ask<T>(&self, is_read: bool, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let is_silent = self.is_cut_off.load(Ordering::SeqCst)
            || !is_read && self.only_reads.load(Ordering::SeqCst);
        match is_silent {
            false => answer,
            true => Err(self.no_answer()),
        }
    }

    fn no_answer(&self) -> StoreError {
        StoreError::Unclear {
            what: "something".into(),
            place: self.place(),
            reason: "it is so in this test".into(),
        }
    }
}

impl RemoteStore for Cuttable {
    fn place(&self) -> String {
        self.inner.place()
    }
    fn entry_bytes_max(&self) -> u64 {
        self.inner.entry_bytes_max()
    }
    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.ask(false, Ok(()))?;
        self.inner.append_at(number, bytes)
    }
    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask(true, self.inner.read(number))
    }
    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.ask(true, self.inner.list(from))
    }
    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.ask(false, Ok(()))?;
        self.inner.remove(numbers)
    }
    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        assert!(
            !self.panics_at_register.swap(false, Ordering::SeqCst),
            "it is so in this test"
        );
        let mut found = self.ask(true, self.inner.read_register(register))?;
        if self.is_register_damaged.load(Ordering::SeqCst)
            && let Some(found) = &mut found
        {
            found.bytes = b"damaged"[..].into();
        }
        Ok(found)
    }
    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.ask(false, Ok(()))?;
        if let Some(AtSwap(act)) = &mut *self.at_swap.lock().unwrap() {
            act(std::str::from_utf8(bytes).unwrap());
        }
        let swapped = self.inner.swap_register(register, expected, bytes);
        match self.loses_answers.load(Ordering::SeqCst) {
            false => swapped,
            true => Err(self.no_answer()),
        }
    }
}

impl RemoteObjects for Cuttable {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.ask(false, Ok(()))?;
        self.inner.create_object(name, bytes)
    }
    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask(true, self.inner.read_object(name))
    }
    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.ask(true, self.inner.list_objects(folder))
    }
    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.ask(false, Ok(()))?;
        self.inner.remove_objects(names)
    }
}
