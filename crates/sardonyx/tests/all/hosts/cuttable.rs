//! A store whose connection a test cuts, that is away in other ways, or gives damaged answers.

use sardonyx::hosts::{MemoryStore, Patience, RemoteLog};
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A call with the text of each register that is about to be written.
pub struct AtSwap(Box<dyn FnMut(&str) + Send>);

impl std::fmt::Debug for AtSwap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtSwap")
    }
}

/// The way in which a store does not do its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outage {
    /// It gives no answer.
    Silent,
    /// It answers that it has too much to do, as an object store does with 503.
    Overloaded,
    /// It has no room: what is there is read, and nothing is written.
    Full,
    /// It has no room for entries alone.
    FullLog,
    /// It appends entries when the outage ends.
    Slow,
}

impl Outage {
    pub const ALL: [Outage; 5] = [
        Outage::Silent,
        Outage::Overloaded,
        Outage::Full,
        Outage::FullLog,
        Outage::Slow,
    ];

    /// The lease runs out: the register cannot be read, or not be replaced.
    pub fn ends_lease(self) -> bool {
        matches!(self, Outage::Silent | Outage::Overloaded | Outage::Full)
    }
}

/// The kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asks {
    Read,
    Write,
    Append,
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
    /// The present outage, and the requests that met it.
    outage: Mutex<(Option<Outage>, u64)>,
    changed: Condvar,
    /// The number of answers to each question, if every first, third, fifth one is damaged.
    asked: Mutex<Option<HashMap<String, u64>>>,
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
            outage: Mutex::default(),
            changed: Condvar::new(),
            asked: Mutex::default(),
        })
    }

    pub fn begin_outage(&self, outage: Outage) {
        *self.outage.lock().unwrap() = (Some(outage), 0);
    }

    pub fn end_outage(&self) {
        self.outage.lock().unwrap().0 = None;
        self.changed.notify_all();
    }

    /// Waits until so many requests have met the outage.
    pub fn wait_until_met(&self, requests: u64) {
        let met = |(_, met): &mut (Option<Outage>, u64)| *met < requests;
        let outage = self.outage.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(outage, Duration::from_secs(120), met);
        assert!(
            !waited.unwrap().1.timed_out(),
            "no request meets the outage"
        );
    }

    /// A request meets the outage, if there is one.
    fn meet(&self, asks: Asks) -> Result<(), StoreError> {
        let mut outage = self.outage.lock().unwrap();
        let error = match outage.0 {
            None => return Ok(()),
            Some(Outage::Silent) => self.no_answer(),
            Some(Outage::Overloaded) => self.not_now("it has too much to do"),
            Some(Outage::Full) if asks != Asks::Read => self.not_now("there is no room"),
            Some(Outage::FullLog) if asks == Asks::Append => self.not_now("there is no room"),
            Some(Outage::Slow) if asks == Asks::Append => {
                outage.1 += 1;
                self.changed.notify_all();
                let lasts = |(outage, _): &mut (Option<Outage>, u64)| outage.is_some();
                drop(self.changed.wait_while(outage, lasts).unwrap());
                return Ok(());
            }
            Some(_) => return Ok(()),
        };
        outage.1 += 1;
        self.changed.notify_all();
        Err(error)
    }

    fn not_now(&self, reason: &str) -> StoreError {
        StoreError::NotNow {
            what: "do something".into(),
            place: self.place(),
            reason: reason.into(),
        }
    }

    /// From now on the first answer to each question is damaged, and the second one whole.
    pub fn damage_first_answers(&self) {
        *self.asked.lock().unwrap() = Some(HashMap::new());
    }

    /// The bytes of an answer, on their way.
    fn on_their_way(&self, question: impl Into<String>, mut bytes: Vec<u8>) -> Vec<u8> {
        if let Some(asked) = &mut *self.asked.lock().unwrap() {
            let times = asked.entry(question.into()).or_default();
            *times += 1;
            if *times % 2 == 1 {
                bytes.truncate(bytes.len() / 2);
            }
        }
        bytes
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
        self.meet(match is_read {
            true => Asks::Read,
            false => Asks::Write,
        })?;
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
        self.meet(Asks::Append)?;
        self.ask(false, Ok(()))?;
        self.inner.append_at(number, bytes)
    }
    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.ask(true, self.inner.read(number))?;
        Ok(found.map(|bytes| self.on_their_way(format!("entry {number}"), bytes)))
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
        Ok(found.map(|stored| StoredRegister {
            bytes: self.on_their_way(register.name(), stored.bytes),
            version: stored.version,
        }))
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
        let found = self.ask(true, self.inner.read_object(name))?;
        Ok(found.map(|bytes| self.on_their_way(name, bytes)))
    }
    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.ask(true, self.inner.list_objects(folder))
    }
    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.ask(false, Ok(()))?;
        self.inner.remove_objects(names)
    }
}
