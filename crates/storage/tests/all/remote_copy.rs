//! Group commit with a copy of the log in a store. Nothing is durable before the store has it (I1). A successor's
//! fence closes the log here (I7, I12). Transactions that come while an entry is on its way become one entry.

use crate::common::{LogAlone, NoCheckpoints};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::group::GroupHeader;
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::seal::SealedGroup;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::log::writer::LogWriter;
use sardonyx_storage::page::Address;
use sardonyx_storage::pen::Pen;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::position::EntryPosition;
use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

const IDENTITY: u64 = 5;

/// A store in memory, whose entries with groups wait while it is held back.
#[derive(Debug, Default)]
struct Store {
    entries: Mutex<BTreeMap<u64, Vec<u8>>>,
    held_back: Mutex<bool>,
    arrived: Mutex<usize>,
    changed: Condvar,
}

impl Store {
    fn hold_back(&self, is_held: bool) {
        *self.held_back.lock().unwrap() = is_held;
        self.changed.notify_all();
    }

    /// Waits until so many entries have come to it.
    fn wait_for(&self, entries: usize) {
        let arrived = self.arrived.lock().unwrap();
        drop(
            self.changed
                .wait_while(arrived, |arrived| *arrived < entries)
                .unwrap(),
        );
    }

    fn entries(&self) -> usize {
        self.entries.lock().unwrap().len()
    }
}

impl RemoteStore for Store {
    fn place(&self) -> String {
        "memory".into()
    }

    fn entry_bytes_max(&self) -> u64 {
        1 << 20
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        *self.arrived.lock().unwrap() += 1;
        self.changed.notify_all();
        let held = self.held_back.lock().unwrap();
        drop(self.changed.wait_while(held, |held| *held).unwrap());
        let mut entries = self.entries.lock().unwrap();
        if entries.contains_key(&number) {
            return Ok(Appended::Conflict);
        }
        entries.insert(number, bytes.to_vec());
        Ok(Appended::Ok)
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.entries.lock().unwrap().get(&number).cloned())
    }

    fn list(&self, _: u64) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }

    fn remove(&self, _: &[u64]) -> Result<(), StoreError> {
        Ok(())
    }

    fn read_register(&self, _: Register) -> Result<Option<StoredRegister>, StoreError> {
        Ok(None)
    }

    fn swap_register(
        &self,
        _: Register,
        _: Option<&RegisterVersion>,
        _: &[u8],
    ) -> Result<Swapped, StoreError> {
        Ok(Swapped::Conflict)
    }
}

fn claim(store: &Arc<Store>) -> RemoteWriter {
    let read = |_: &_| Ok::<(), RemoteLogError>(());
    let (store, patience) = (store.clone(), Patience::default());
    RemoteWriter::claim(store, IDENTITY, EntryPosition::START, patience, read).unwrap()
}

/// Appends a transaction that writes its number, and returns its group.
fn execute(pen: &Pen<()>, number: u64) -> Result<u64, LogError> {
    let mut held = pen.take()?;
    held.appending().admit(Admission::Whole)?;
    let mut appending = held.appending();
    let bytes = number.to_le_bytes();
    appending.builder().push_write(Address(0), &bytes);
    assert!(appending.builder().end_transaction());
    let group = appending.transaction_ended();
    held.hand_on();
    Ok(group)
}

/// The numbers of the transactions in the store's log.
fn numbers_in(store: &Arc<Store>) -> Vec<u64> {
    let (start, patience) = (EntryPosition::START, Patience::default());
    let mut follower = Follower::new(store.clone(), IDENTITY, start, patience);
    let mut numbers = Vec::new();
    while let Some(entry) = follower.next_entry().unwrap() {
        let mut rest = entry.payload();
        while !rest.is_empty() {
            let header = GroupHeader::decode(rest).expect("a group");
            let (bytes, after) = rest.split_at(header.bytes_on_disk());
            rest = after;
            let mut buffer = sardonyx_storage::disk::AlignedBuffer::with_capacity(bytes.len());
            buffer.extend_from_slice(bytes);
            let group = SealedGroup::from_bytes(buffer).expect("whole");
            for record in Records::new(group.payload()) {
                if let Body::Write { bytes, .. } = record.expect("a record").body {
                    numbers.push(u64::from_le_bytes(bytes.try_into().unwrap()));
                }
            }
        }
    }
    numbers
}

/// Ends the log's threads, also when a test fails.
struct Closing<'a> {
    log: &'a LogWriter,
    store: &'a Store,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.store.hold_back(false);
        self.log.close();
        self.log.room().close();
    }
}

/// A log with its threads, and the store as its copy, while `body` runs.
fn with_log(store: &Arc<Store>, body: impl FnOnce(&Pen<()>)) {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path()).unwrap());
    let log = LogAlone {
        is_copied: true,
        buffers: 6,
        ..LogAlone::default()
    };
    let pen = log.pen(disk, ());
    let mut copy = claim(store);
    let log = pen.log().clone();
    std::thread::scope(|scope| {
        scope.spawn(|| log.run());
        scope.spawn(|| log.room().run(&NoCheckpoints));
        scope.spawn(|| log.run_remote(&mut copy, None));
        let closing = Closing { log: &log, store };
        body(&pen);
        drop(closing);
    });
}

#[test]
fn i1_nothing_is_durable_before_the_store_has_it_and_what_waits_becomes_one_entry() {
    let store = Arc::new(Store::default());
    with_log(&store, |pen| {
        // The fence has come.
        store.hold_back(true);
        let first = execute(pen, 0).unwrap();
        store.wait_for(2);
        // It is on the disk here.
        assert!(!pen.log().is_durable(first));
        let last = (1..100).map(|number| execute(pen, number).unwrap()).last();
        assert_eq!(last, Some(first + 1), "one group fills meanwhile");
        assert_eq!(pen.log().durable().group, first);
        store.hold_back(false);
        pen.wait(first + 1).unwrap();
        assert_eq!(numbers_in(&store), (0..100).collect::<Vec<_>>());
        assert_eq!(store.entries(), 3, "a fence, and two entries");
    });
}

#[test]
fn i12_a_successor_fences_the_log_here_and_what_was_acknowledged_is_in_the_store() {
    let store = Arc::new(Store::default());
    with_log(&store, |pen| {
        for number in 0..20 {
            pen.wait(execute(pen, number).unwrap()).unwrap();
        }
        drop(claim(&store));
        let group = execute(pen, 20).unwrap();
        let fenced = pen.wait(group);
        let said = fenced.map_err(|error| error.to_string()).unwrap_err();
        assert!(said.contains("another owner's"), "{said}");
        assert!(execute(pen, 21).is_err(), "I7");
        assert_eq!(numbers_in(&store), (0..20).collect::<Vec<_>>());
    });
}
