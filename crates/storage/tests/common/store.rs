//! A database whose log is in a store that loses answers, on simulated disks.

use sardonyx_base::random::Random;
use sardonyx_storage::checkpoint::CheckpointPlace;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{
    DurableAt, Engine, OpenError, Opened, RemoteLog, Replica, StorageOptions, follow_store,
    take_lock,
};
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::page::Address;
use sardonyx_storage::pen::Pen;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::shell::{Follower, Patience};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
    UNKNOWN_REQUEST,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Waits until this is so, which another thread brings about.
///
/// # Panics
/// After a minute, with the awaited condition: a test that fails shows more than one that hangs.
pub fn wait_until(awaited: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        let waited = began.elapsed();
        assert!(
            waited < Duration::from_secs(60),
            "not within {waited:?}: {awaited}"
        );
        std::thread::yield_now();
    }
}

/// An action during the wait for an answer.
pub struct Hook(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hook").finish()
    }
}

/// A store that gives no answer now and then, for requests that it did or not.
#[derive(Debug, Default)]
pub struct Lossy {
    pub inner: MemoryStore,
    /// The chance in 100 that there is none, and the random numbers for it.
    silence: Mutex<Option<(u64, Random)>>,
    /// So many requests reach the store.
    reachable: Mutex<Option<u64>>,
    /// Requests that did not.
    unheard: AtomicU64,
    /// The most bytes of an entry, if not 64 KiB.
    pub entry_most: std::sync::OnceLock<u64>,
    /// The number of answers to each question, if every first, third, fifth one is damaged.
    asked: Mutex<Option<HashMap<String, u64>>>,
    /// The next object is damaged while it is created.
    pub damages_object: AtomicBool,
    /// As the server of an earlier version, which does not know this register.
    pub refuses: std::sync::OnceLock<Register>,
    /// Before the next list.
    at_list: Mutex<Option<Hook>>,
    /// Before the next entry is appended.
    at_append: Mutex<Option<Hook>>,
    /// Before the next head of a base is created.
    at_head: Mutex<Option<Hook>>,
    /// Before the next head of a base is read.
    at_head_read: Mutex<Option<Hook>>,
    /// Before objects are removed the next time.
    at_removal: Mutex<Option<Hook>>,
}

fn happens(hook: &Mutex<Option<Hook>>) {
    let hook = hook.lock().unwrap().take();
    if let Some(Hook(hook)) = hook {
        hook();
    }
}

fn damage(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
}

impl Lossy {
    pub fn with_silence(chance: u64, seed: u64) -> Arc<Lossy> {
        Arc::new(Lossy {
            silence: Mutex::new(Some((chance, Random::new(seed)))),
            ..Lossy::default()
        })
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
                damage(&mut bytes);
            }
        }
        bytes
    }

    pub fn cut_off(&self, is_cut_off: bool) {
        *self.reachable.lock().unwrap() = is_cut_off.then_some(0);
    }

    /// Waits until so many more requests did not reach the store.
    pub fn wait_until_unheard(&self, count: u64) {
        let until = self.unheard.load(Ordering::SeqCst) + count;
        wait_until("requests that do not reach the store", || {
            self.unheard.load(Ordering::SeqCst) >= until
        });
    }

    pub fn cut_off_after(&self, requests: u64) {
        *self.reachable.lock().unwrap() = Some(requests);
    }

    /// Has this happen before the next list is answered.
    pub fn at_list(&self, hook: impl FnOnce() + Send + 'static) {
        *self.at_list.lock().unwrap() = Some(Hook(Box::new(hook)));
    }

    /// Has this happen before the next entry is appended.
    pub fn at_append(&self, hook: impl FnOnce() + Send + 'static) {
        *self.at_append.lock().unwrap() = Some(Hook(Box::new(hook)));
    }

    /// Has this happen before the next head of a base is created.
    pub fn at_head(&self, hook: impl FnOnce() + Send + 'static) {
        *self.at_head.lock().unwrap() = Some(Hook(Box::new(hook)));
    }

    /// Has this happen before the next head of a base is read.
    pub fn at_head_read(&self, hook: impl FnOnce() + Send + 'static) {
        *self.at_head_read.lock().unwrap() = Some(Hook(Box::new(hook)));
    }

    /// Has this happen before objects are removed the next time.
    pub fn at_removal(&self, hook: impl FnOnce() + Send + 'static) {
        *self.at_removal.lock().unwrap() = Some(Hook(Box::new(hook)));
    }

    fn ask<T>(&self, request: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let silent = || StoreError::Unclear {
            what: "something".into(),
            place: "memory".into(),
            reason: "it is so in this test".into(),
        };
        if let Some(left) = &mut *self.reachable.lock().unwrap() {
            if *left == 0 {
                self.unheard.fetch_add(1, Ordering::SeqCst);
                return Err(silent());
            }
            *left -= 1;
        }
        let mut drawn = [false, true];
        if let Some((chance, random)) = &mut *self.silence.lock().unwrap() {
            drawn = [random.chance(*chance, 100), random.chance(1, 2)];
        }
        match drawn {
            [false, _] => request(),
            [true, is_done] => {
                if is_done {
                    drop(request());
                }
                Err(silent())
            }
        }
    }
}

impl RemoteStore for Lossy {
    fn place(&self) -> String {
        "memory".into()
    }
    fn entry_bytes_max(&self) -> u64 {
        *self.entry_most.get().unwrap_or(&(64 << 10))
    }
    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        happens(&self.at_append);
        self.ask(|| self.inner.append_at(number, bytes))
    }
    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.ask(|| self.inner.read(number))?;
        Ok(found.map(|bytes| self.on_their_way(format!("entry {number}"), bytes)))
    }
    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        happens(&self.at_list);
        self.ask(|| self.inner.list(from))
    }
    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.ask(|| self.inner.remove(numbers))
    }
    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        if self.refuses.get() == Some(&register) {
            return Err(StoreError::Refused {
                what: UNKNOWN_REQUEST.into(),
                place: self.place(),
                reason: "it is unknown".into(),
            });
        }
        let found = self.ask(|| self.inner.read_register(register))?;
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
        self.ask(|| self.inner.swap_register(register, expected, bytes))
    }
}

impl RemoteObjects for Lossy {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        if name.ends_with("/head") {
            happens(&self.at_head);
        }
        let mut bytes = bytes.to_vec();
        if self.damages_object.swap(false, Ordering::SeqCst) {
            damage(&mut bytes);
        }
        self.ask(|| self.inner.create_object(name, &bytes))
    }
    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if name.ends_with("/head") {
            happens(&self.at_head_read);
        }
        let found = self.ask(|| self.inner.read_object(name))?;
        Ok(found.map(|bytes| self.on_their_way(name, bytes)))
    }
    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.ask(|| self.inner.list_objects(folder))
    }
    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        happens(&self.at_removal);
        self.ask(|| self.inner.remove_objects(names))
    }
}

pub fn options(store: &Arc<Lossy>, durable_at: DurableAt) -> StorageOptions {
    let patience = Patience {
        time_limit: Duration::from_secs(3600),
        pause: Duration::ZERO,
        pause_most: Duration::ZERO,
    };
    StorageOptions {
        segment_bytes: 64 << 10,
        block_bytes: 4096,
        log_bytes_max: 512 << 10,
        checkpoint_interval_bytes: Some(64 << 10),
        memory_bytes_max: 1 << 20,
        closing_checkpoint: Duration::ZERO,
        workers: 1,
        limits: GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 4 << 10,
            depth: 2,
            buffers: 6,
        },
        remote: Some(RemoteLog {
            store: store.clone(),
            durable_at,
            patience,
        }),
        ..StorageOptions::default()
    }
}

/// The same with the checkpoints left to followers.
pub fn left_to_followers(store: &Arc<Lossy>, durable_at: DurableAt) -> StorageOptions {
    StorageOptions {
        checkpoint: CheckpointPlace::Followers,
        ..options(store, durable_at)
    }
}

/// A database that is open.
pub struct Primary {
    pub engine: Engine,
    pen: Pen<()>,
    /// The changes since it was opened.
    pages: Vec<u8>,
}

impl Primary {
    pub fn open<D: Disk + Clone + 'static>(
        disk: &D,
        options: StorageOptions,
    ) -> Result<Primary, OpenError> {
        let opened = Engine::open(Arc::new(disk.clone()), options)?;
        Ok(Primary::start(opened))
    }

    /// Starts a database that was just opened.
    pub fn start(opened: Opened) -> Primary {
        let Opened {
            mut engine, store, ..
        } = opened;
        let pen = engine.pen(());
        engine.start();
        Primary {
            engine,
            pen,
            pages: store.bytes().to_vec(),
        }
    }

    /// A transaction that writes its number at its place. Returns its group.
    pub fn execute(&self, number: u64) -> Result<u64, LogError> {
        let mut held = self.pen.take()?;
        held.appending().admit(Admission::Whole)?;
        let mut appending = held.appending();
        // Long, so that the log is used again and checkpoints are taken.
        let mut bytes = [number as u8; 800];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        let builder = appending.builder();
        builder.push_write(Address(number * 8), &bytes[..8]);
        builder.push_write(Address(512 << 10), &bytes);
        assert!(builder.end_transaction());
        let group = appending.transaction_ended();
        held.hand_on();
        Ok(group)
    }

    /// Waits until a group is durable.
    pub fn wait(&self, group: u64) -> Result<(), LogError> {
        self.pen.wait(group)
    }

    pub fn commit(&self, number: u64) -> Result<(), LogError> {
        self.pen.wait(self.execute(number)?)
    }

    /// A transaction of so many bytes.
    pub fn commit_large(&self, bytes: usize) -> Result<(), LogError> {
        let mut held = self.pen.take()?;
        held.appending().admit(Admission::Measured)?;
        let mut appending = held.appending();
        let builder = appending.builder();
        builder.make_room(bytes + 4096, usize::MAX).unwrap();
        for (nth, piece) in vec![7; bytes].chunks(4096).enumerate() {
            builder.push_write(Address((600 << 10) + 4096 * nth as u64), piece);
        }
        assert!(builder.end_transaction());
        let group = appending.transaction_ended();
        held.hand_on();
        self.pen.wait(group)
    }

    /// The mark of an orderly end, as a group of its own.
    pub fn mark_end(&self) {
        self.pen.mark_end().unwrap();
    }

    pub fn has(&self, number: u64) -> bool {
        let at = (number * 8) as usize;
        self.pages.get(at..at + 8) == Some(&number.to_le_bytes())
    }

    pub fn close(mut self) {
        self.engine.record_end();
        self.engine.stop();
    }
}

/// Returns true if it has the numbers from 1 on.
pub fn has_all(primary: &Primary, last: u64) -> bool {
    (1..=last).all(|number| primary.has(number))
}

/// The same, but requests without an immediate answer are given up.
pub fn impatient(mut options: StorageOptions) -> StorageOptions {
    if let Some(remote) = &mut options.remote {
        remote.patience.time_limit = Duration::ZERO;
    }
    options
}

/// The same without a store.
pub fn without_store(options: &StorageOptions) -> StorageOptions {
    StorageOptions {
        remote: None,
        ..options.clone()
    }
}

pub fn follow<D: Disk + Clone + 'static>(
    disk: &D,
    options: &StorageOptions,
) -> Result<(Replica, Follower), OpenError> {
    let home: Arc<dyn Disk> = Arc::new(disk.clone());
    let lock = take_lock(&home, Duration::ZERO)?;
    follow_store(&home, options, lock)
}

pub fn disk(seed: u64) -> SimulatedDisk {
    SimulatedDisk::new(seed, Faults::default())
}

/// A follower that has all of the store's log.
pub fn caught_up<D: Disk + Clone + 'static>(disk: &D, options: &StorageOptions) -> Replica {
    let (mut replica, mut follower) = follow(disk, options).unwrap();
    while let Some(entry) = follower.next_entry().unwrap() {
        replica.apply(&entry).unwrap();
    }
    replica
}

/// A base of a follower's state.
pub fn put_base(disk: &SimulatedDisk, options: &StorageOptions) -> u64 {
    let remote = options.remote.as_ref().unwrap();
    let (name, head) = caught_up(disk, options).put_base(options, remote).unwrap();
    assert_eq!(name.next_entry, head.known.entry.next);
    name.next_entry
}
