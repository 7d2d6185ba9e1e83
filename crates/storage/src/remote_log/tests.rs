//! Cases by hand: the result of each fault of a log or a store, and that nothing is changed then.

use super::RemoteLogError;
use super::boundary::Boundary;
use super::entry::{Entry, EntryBuilder};
use super::position::{EntryPosition, Epoch};
use super::shell::{Follower, Patience, RemoteWriter, trim};
use super::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const IDENTITY: u64 = 5;

const AT_ONCE: Patience = Patience {
    time_limit: Duration::from_secs(3600),
    pause: Duration::ZERO,
    pause_most: Duration::ZERO,
};

const NO_PATIENCE: Patience = Patience {
    time_limit: Duration::ZERO,
    pause: Duration::from_secs(1),
    ..AT_ONCE
};

type Entries = BTreeMap<u64, Vec<u8>>;

/// The fates of the next appends, the last one first.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It is not done, and there is no answer.
    Lost,
    /// It is done, and there is no answer.
    AnswerLost,
    /// It is done twice.
    Doubled,
    Refused,
    /// It is done; then others own the log and delete its beginning, and a claim that fails leaves a fence there.
    LongAgo,
}

#[derive(Debug, Default)]
struct Content {
    entries: Entries,
    registers: HashMap<Register, Vec<u8>>,
    faults: Vec<Fault>,
    appends: u64,
}

#[derive(Debug, Default)]
struct Memory(Mutex<Content>);

impl Memory {
    fn faults(&self, faults: &[Fault]) {
        self.0.lock().unwrap().faults = faults.to_vec();
    }

    fn entries(&self) -> Vec<u64> {
        self.0.lock().unwrap().entries.keys().copied().collect()
    }
}

fn unclear(what: &str) -> StoreError {
    StoreError::Unclear {
        what: what.into(),
        place: "memory".into(),
        reason: "it is so in this test".into(),
    }
}

impl RemoteStore for Memory {
    fn place(&self) -> String {
        "memory".into()
    }

    fn entry_bytes_max(&self) -> u64 {
        1000
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        let mut content = self.0.lock().unwrap();
        content.appends += 1;
        let fault = content.faults.pop();
        let mut append = || {
            if content.entries.contains_key(&number) {
                return Appended::Conflict;
            }
            content.entries.insert(number, bytes.to_vec());
            Appended::Ok
        };
        match fault {
            None => Ok(append()),
            Some(Fault::Lost) => Err(unclear("append")),
            Some(Fault::AnswerLost) => {
                append();
                Err(unclear("append"))
            }
            Some(Fault::Doubled) => {
                append();
                Ok(append())
            }
            Some(Fault::LongAgo) => {
                let entry = Entry::decode(bytes.to_vec()).unwrap();
                let head = *entry.head();
                let (counter, by) = (1, 1);
                let position = EntryPosition {
                    next: number + 100,
                    ..head.position_after()
                };
                let boundary = Boundary {
                    identity: IDENTITY,
                    counter,
                    position,
                    by,
                };
                content
                    .registers
                    .insert(Register::Boundary, boundary.encode().to_vec());
                let at = EntryPosition {
                    next: number,
                    epoch: head.epoch,
                    writer: head.writer,
                    checksum: head.checksum_before,
                    time: 0,
                };
                let failed = Entry::fence(IDENTITY, at, Epoch(head.epoch.0 + 1), 99, 0);
                content.entries.insert(number, failed.bytes().to_vec());
                Err(unclear("append"))
            }
            Some(Fault::Refused) => Err(StoreError::Refused {
                what: "append".into(),
                place: "memory".into(),
                reason: "no rights".into(),
            }),
        }
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.lock().unwrap().entries.get(&number).cloned())
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let content = self.0.lock().unwrap();
        let listed = content.entries.range(from..).map(|(number, bytes)| Listed {
            number: *number,
            bytes: bytes.len() as u64,
        });
        Ok(listed.collect())
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let mut content = self.0.lock().unwrap();
        numbers.iter().for_each(|number| {
            content.entries.remove(number);
        });
        Ok(())
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let content = self.0.lock().unwrap();
        Ok(content
            .registers
            .get(&register)
            .cloned()
            .map(|bytes| StoredRegister {
                version: RegisterVersion(format!("{bytes:?}")),
                bytes,
            }))
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let found = self.read_register(register)?.map(|stored| stored.version);
        if found.as_ref() != expected {
            return Ok(Swapped::Conflict);
        }
        let mut content = self.0.lock().unwrap();
        content.registers.insert(register, bytes.to_vec());
        Ok(Swapped::Ok)
    }
}

fn store() -> (Arc<Memory>, Arc<dyn RemoteStore>) {
    let memory = Arc::new(Memory::default());
    (memory.clone(), memory)
}

fn groups(text: &str) -> EntryBuilder {
    let mut entry = EntryBuilder::new();
    entry.push(text.as_bytes());
    entry
}

/// Claims, with the entries read before.
fn claim(
    store: &Arc<dyn RemoteStore>,
    at: EntryPosition,
) -> Result<(RemoteWriter, Vec<String>), RemoteLogError> {
    let mut read = Vec::new();
    let apply = |entry: &Entry| {
        read.push(String::from_utf8(entry.payload().to_vec()).expect("text"));
        Ok::<_, RemoteLogError>(())
    };
    let writer = RemoteWriter::claim(store.clone(), IDENTITY, at, AT_ONCE, apply)?;
    Ok((writer, read))
}

fn follower(store: &Arc<dyn RemoteStore>, at: EntryPosition) -> Follower {
    Follower::new(store.clone(), IDENTITY, at, AT_ONCE)
}

#[test]
fn one_appends_another_takes_over_and_the_first_is_fenced() {
    let (memory, store) = store();
    let (mut first, read) = claim(&store, EntryPosition::START).unwrap();
    assert!(read.is_empty());
    first.append(groups("one")).unwrap();
    first.append(groups("two")).unwrap();
    let (mut second, read) = claim(&store, EntryPosition::START).unwrap();
    assert_eq!(read, ["", "one", "two"]);
    assert_eq!(second.position().epoch, Epoch(2));
    let error = first.append(groups("three")).unwrap_err();
    let epoch = Epoch(2);
    assert!(matches!(error, RemoteLogError::Fenced { number: 4, epoch: of } if of == epoch));
    let appends = memory.0.lock().unwrap().appends;
    assert!(first.append(groups("four")).is_err(), "for ever");
    assert_eq!(
        memory.0.lock().unwrap().appends,
        appends,
        "nothing is asked"
    );
    second.append(groups("three")).unwrap();
    assert_eq!(memory.entries(), [1, 2, 3, 4, 5]);
}

#[test]
fn lost_answers_and_doubled_requests_are_read_back() {
    let (memory, store) = store();
    memory.faults(&[Fault::AnswerLost]);
    let (mut writer, _) = claim(&store, EntryPosition::START).unwrap();
    for (faults, text) in [
        (&[Fault::AnswerLost][..], "one"),
        (&[Fault::Lost], "two"),
        (&[Fault::Doubled], "three"),
        (&[Fault::Doubled, Fault::Lost, Fault::AnswerLost], "four"),
    ] {
        memory.faults(faults);
        writer.append(groups(text)).unwrap();
    }
    let (_, read) = claim(&store, EntryPosition::START).unwrap();
    assert_eq!(read, ["", "one", "two", "three", "four"]);
}

#[test]
fn i7_after_an_unknown_fate_nothing_is_appended() {
    for fault in [Fault::AnswerLost, Fault::Lost, Fault::Refused] {
        let (memory, store) = store();
        let mut writer = RemoteWriter::claim(
            store.clone(),
            IDENTITY,
            EntryPosition::START,
            NO_PATIENCE,
            |_| Ok::<_, RemoteLogError>(()),
        )
        .unwrap();
        memory.faults(&[fault]);
        let error = writer.append(groups("one")).unwrap_err();
        assert!(
            matches!(error, RemoteLogError::Unknown { number: 2, .. }),
            "{error}"
        );
        let appends = memory.0.lock().unwrap().appends;
        let error = writer.append(groups("two")).unwrap_err();
        assert!(
            matches!(error, RemoteLogError::Unknown { number: 2, .. }),
            "{error}"
        );
        assert_eq!(memory.0.lock().unwrap().appends, appends);
        // It comes back, and finds the entries.
        let (_, read) = claim(&store, EntryPosition::START).unwrap();
        assert_eq!(
            read.len(),
            if matches!(fault, Fault::AnswerLost) {
                2
            } else {
                1
            }
        );
    }
}

/// Its entry was in the log, and is deleted there; a present fence does not show that it never was.
#[test]
fn i7_who_comes_back_after_the_log_went_on_without_it_does_not_know() {
    let (memory, store) = store();
    let (mut writer, _) = claim(&store, EntryPosition::START).unwrap();
    memory.faults(&[Fault::LongAgo]);
    let error = writer.append(groups("one")).unwrap_err();
    assert!(
        matches!(error, RemoteLogError::Unknown { number: 2, .. }),
        "{error}"
    );
    assert!(matches!(
        writer.ended(),
        Some(RemoteLogError::Unknown { .. })
    ));
}

#[test]
fn what_is_no_entry_changes_nothing() {
    let (memory, store) = store();
    let (mut writer, _) = claim(&store, EntryPosition::START).unwrap();
    let [large, empty] = [groups(&"x".repeat(929)), EntryBuilder::new()];
    let error = writer.append(large).unwrap_err();
    let RemoteLogError::TooLarge {
        bytes: 1001,
        most: 1000,
    } = error
    else {
        panic!("{error}");
    };
    assert!(matches!(writer.append(empty), Err(RemoteLogError::Empty)));
    writer.append(groups(&"x".repeat(928))).unwrap();
    assert_eq!(memory.entries(), [1, 2]);
}

#[test]
fn the_beginning_is_deleted_but_for_fences_and_who_needs_it_is_told() {
    let (memory, store) = store();
    let (mut writer, _) = claim(&store, EntryPosition::START).unwrap();
    writer.append(groups("one")).unwrap();
    let (mut writer, _) = claim(&store, writer.position()).unwrap();
    let between = writer.append(groups("two")).unwrap();
    writer.append(groups("three")).unwrap();
    let mut slow = follower(&store, EntryPosition::START);
    slow.next_entry().unwrap().expect("the fence");

    let trimmed = trim(&*store, IDENTITY, between, &AT_ONCE).unwrap();
    assert_eq!((trimmed.entries, trimmed.bytes), (2, 2 * 72 + 6));
    assert_eq!(memory.entries(), [1, 3, 5]);
    let error = slow.next_entry().unwrap_err();
    let RemoteLogError::BehindBoundary {
        number: 2,
        first: 5,
    } = error
    else {
        panic!("{error}");
    };
    // Fences before the boundary are no log, either.
    let error = claim(&store, EntryPosition::START).unwrap_err();
    assert!(
        matches!(
            error,
            RemoteLogError::BehindBoundary {
                number: 1,
                first: 5
            }
        ),
        "{error}"
    );
    let (_, read) = claim(&store, between).unwrap();
    assert_eq!(read, ["three"]);
    // It does not go back; nothing is before the start.
    let earlier = EntryPosition { next: 2, ..between };
    trim(&*store, IDENTITY, earlier, &AT_ONCE).unwrap();
    trim(&*store, IDENTITY, EntryPosition::START, &AT_ONCE).unwrap();
    let bytes = memory.0.lock().unwrap().registers[&Register::Boundary].clone();
    assert_eq!(Boundary::decode(&bytes).unwrap().position, between);
}

#[test]
fn a_fence_right_before_the_boundary_is_read() {
    let (_, store) = store();
    let (mut first, _) = claim(&store, EntryPosition::START).unwrap();
    let at = first.append(groups("one")).unwrap();
    let (mut second, _) = claim(&store, at).unwrap();
    trim(&*store, IDENTITY, second.position(), &AT_ONCE).unwrap();
    second.append(groups("two")).unwrap();
    let mut follower = follower(&store, at);
    assert!(
        follower
            .next_entry()
            .unwrap()
            .expect("a fence")
            .head()
            .is_fence()
    );
    assert_eq!(
        follower.next_entry().unwrap().expect("an entry").payload(),
        b"two"
    );
}

#[test]
fn another_databases_log_damage_and_holes_are_named_and_not_overwritten() {
    let (memory, store) = store();
    let (mut writer, _) = claim(&store, EntryPosition::START).unwrap();
    for text in ["one", "two", "three"] {
        writer.append(groups(text)).unwrap();
    }
    let whole = memory.0.lock().unwrap().entries.clone();
    let claimed = |change: &dyn Fn(&mut Entries)| {
        let mut entries = whole.clone();
        change(&mut entries);
        memory.0.lock().unwrap().entries = entries.clone();
        let error = claim(&store, EntryPosition::START).unwrap_err();
        assert_eq!(
            memory.0.lock().unwrap().entries,
            entries,
            "nothing is overwritten"
        );
        error
    };
    let error = claimed(&|entries| drop(entries.remove(&3)));
    let is_hole = |error: &RemoteLogError| {
        let RemoteLogError::Hole { number, found } = error else {
            return false;
        };
        (*number, *found) == (3, 4)
    };
    assert!(is_hole(&error), "{error}");
    // A reader finds an end there, and a hole if it asks.
    let mut reading = follower(&store, EntryPosition::START);
    while reading.next_entry().unwrap().is_some() {}
    let error = reading.check_end().unwrap_err();
    assert!(is_hole(&error), "{error}");
    let error = claimed(&|entries| entries.get_mut(&3).unwrap()[73] ^= 1);
    assert!(
        matches!(error, RemoteLogError::Entry { number: 3, .. }),
        "{error}"
    );
    let error = claimed(&|entries| drop(entries.insert(3, whole[&2].clone())));
    assert!(
        matches!(error, RemoteLogError::Chain { number: 3, .. }),
        "{error}"
    );
    let at = Entry::decode(whole[&2].clone())
        .unwrap()
        .head()
        .position_after();
    let other = groups("other").seal(IDENTITY + 1, at, 0).unwrap();
    let error = claimed(&|entries| drop(entries.insert(3, other.bytes().to_vec())));
    assert!(
        matches!(
            error,
            RemoteLogError::Identity {
                number: 3,
                found: 6,
                ..
            }
        ),
        "{error}"
    );
    let unclaimed = EntryPosition { writer: 1, ..at };
    let entry = groups("x").seal(IDENTITY, unclaimed, 0).unwrap();
    let error = claimed(&|entries| drop(entries.insert(3, entry.bytes().to_vec())));
    assert!(
        matches!(error, RemoteLogError::Chain { number: 3, .. }),
        "{error}"
    );
    let again = Entry::fence(IDENTITY, at, at.epoch, 9, 0);
    let error = claimed(&|entries| drop(entries.insert(3, again.bytes().to_vec())));
    assert!(
        matches!(error, RemoteLogError::Chain { number: 3, .. }),
        "{error}"
    );

    let put = |bytes: Vec<u8>| {
        let mut content = memory.0.lock().unwrap();
        content.registers.insert(Register::Boundary, bytes);
    };
    put(b"no boundary".to_vec());
    let error = trim(&*store, IDENTITY, at, &AT_ONCE).unwrap_err();
    assert!(matches!(error, RemoteLogError::Boundary { .. }), "{error}");
    let boundary = Boundary {
        identity: 6,
        counter: 1,
        position: at,
        by: 1,
    };
    put(boundary.encode().to_vec());
    let error = trim(&*store, IDENTITY, at, &AT_ONCE).unwrap_err();
    assert!(
        matches!(
            error,
            RemoteLogError::Identity {
                number: 0,
                found: 6,
                ..
            }
        ),
        "{error}"
    );
}
