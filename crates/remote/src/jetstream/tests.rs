//! A log in a stream of servers that lag, lose answers and do requests twice or late; entries in parts.

use super::fake::FakeStream;
use super::log::JetStreamLog;
use super::stream::{Condition, Message, Stream};
use super::subjects::{Form, Kept, Subjects};
use crate::encrypted::{EncryptedLog, Keys};
use crate::rules::{keeps_the_contract, own_in_turn};
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::store::{
    Appended, Register, RemoteStore, StoreError, StoredRegister,
};
use std::sync::Arc;

/// A fence fits into a message, and anything else does not.
const BODY_BYTES: usize = 80;

fn log(seed: Option<u64>) -> JetStreamLog<FakeStream> {
    with(FakeStream::new(BODY_BYTES, seed))
}

fn with(stream: FakeStream) -> JetStreamLog<FakeStream> {
    JetStreamLog::new(stream, subjects(), 1 << 20)
}

fn subjects() -> Subjects {
    Subjects::new("BANK", "test")
}

/// The rest except registers and marks.
fn left(stream: &FakeStream) -> Vec<String> {
    let mut all = stream.all();
    all.retain(|subject| subject.contains(".entry.") || subject.contains(".object."));
    all
}

#[test]
fn a_log_in_a_stream_keeps_the_contract() {
    keeps_the_contract(&log(None));
    keeps_the_contract(&with(FakeStream::new(1 << 20, None)));
}

#[test]
fn i12_a_log_is_kept_in_parts_by_servers_that_lag_and_lose_what_they_say() {
    for seed in 0..sardonyx_base::random::seeds(60) {
        let stream = FakeStream::new(BODY_BYTES, Some(seed));
        let store: Arc<dyn RemoteStore> = Arc::new(with(stream.clone()));
        own_in_turn(seed, &store);
        // The fences, and no parts: neither of deleted entries, nor of unfinished ones.
        let left = left(&stream);
        assert_eq!(left.len(), 4, "seed {seed}: {left:?}");
    }
}

#[test]
fn every_length_is_read_back_and_listed() {
    for bytes in 0..4 * BODY_BYTES {
        let log = log(None);
        let written: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
        assert_eq!(log.append_at(5, &written).unwrap(), Appended::Ok);
        assert_eq!(log.append_at(5, b"other").unwrap(), Appended::Conflict);
        let longer = [0; 4 * BODY_BYTES];
        assert_eq!(log.append_at(5, &longer).unwrap(), Appended::Conflict);
        assert_eq!(log.read(5).unwrap(), Some(written.clone()));
        let listed = log.list(1).unwrap();
        assert_eq!((listed[0].number, listed[0].bytes), (5, bytes as u64));
        log.create_object("a/b", &written).unwrap();
        assert_eq!(log.read_object("a/b").unwrap(), Some(written));
        assert_eq!(log.list_objects("a").unwrap()[0].bytes, bytes as u64);
    }
}

#[test]
fn lists_go_over_gaps_of_any_width() {
    let log = log(None);
    let numbers = [1, 999, 1000, 2500, 7_000_000];
    for number in numbers {
        log.append_at(number, b"x").unwrap();
    }
    let first = |from| log.list(from).unwrap().first().map(|listed| listed.number);
    for (from, expected) in [
        (0, Some(1)),
        (2, Some(999)),
        (1000, Some(1000)),
        (1001, Some(2500)),
        (2501, Some(7_000_000)),
        (7_000_001, None),
    ] {
        assert_eq!(first(from), expected, "from {from}");
    }
}

#[test]
fn what_lost_its_parts_is_no_entry_and_no_object() {
    let stream = FakeStream::new(BODY_BYTES, None);
    let log = with(stream.clone());
    log.append_at(1, &[7; 300]).unwrap();
    log.create_object("a/b", &[7; 300]).unwrap();
    let parts = [Kept::Entry(1), Kept::Object("a/b".into())].map(|kept| subjects().parts_of(&kept));
    stream.purge("", parts.into()).unwrap();
    assert_eq!(log.read(1).unwrap().as_deref(), Some(&b""[..]));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "07".repeat(32)).unwrap();
    let keys = Keys::of_file(file.path()).unwrap();
    let encrypted = EncryptedLog::new(Arc::new(with(stream.clone())), keys);
    assert_eq!(encrypted.read(1).unwrap().as_deref(), Some(&b""[..]));
    let error = log.read_object("a/b").unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    log.remove(&[1]).unwrap();
    log.remove_objects(&["a/b".into()]).unwrap();
    assert_eq!(log.read(1).unwrap(), None);
    assert_eq!(left(&stream), Vec::<String>::new());
}

/// The end of an append that died before its last message.
#[test]
fn parts_that_nobody_named_go_with_the_numbers_around_them_and_others_stay() {
    let stream = FakeStream::new(BODY_BYTES, None);
    let log = with(stream.clone());
    let orphan = |kept: Kept| {
        let subject = subjects().part(&kept, "07", 0);
        stream
            .publish_all("", vec![(subject.clone(), [7].as_slice().into())])
            .unwrap();
        subject
    };
    log.append_at(1, &[1; 300]).unwrap();
    log.append_at(2, &[2; 72]).unwrap();
    log.append_at(3, &[3; 300]).unwrap();
    let of_fence = orphan(Kept::Entry(2));
    let of_deleted = orphan(Kept::Entry(1));
    // Another process is storing this one.
    let of_next = orphan(Kept::Entry(4));
    log.remove(&[1]).unwrap();
    let all = left(&stream);
    assert!(!all.contains(&of_fence) && !all.contains(&of_deleted));
    assert!(all.contains(&of_next), "{all:?}");
    assert_eq!(log.read(3).unwrap(), Some(vec![3; 300]));

    log.create_object("a/b", &[1; 300]).unwrap();
    log.create_object("a/c", &[1; 300]).unwrap();
    let of_none = orphan(Kept::Object("a/d".into()));
    let elsewhere = orphan(Kept::Object("e/d".into()));
    log.remove_objects(&["a/b".into()]).unwrap();
    let all = left(&stream);
    assert!(!all.contains(&of_none) && all.contains(&elsewhere));
    assert_eq!(log.read_object("a/c").unwrap(), Some(vec![1; 300]));
}

/// A server cut off from the others, which still believes to lead, shows the earlier state.
#[test]
fn i12_nothing_is_believed_of_an_old_state_but_what_cannot_change() {
    for seed in 0..300 {
        let log = log(Some(seed));
        let again = |request: &dyn Fn() -> Result<(), StoreError>| while request().is_err() {};
        let mut register: Option<StoredRegister> = None;
        for round in 0..8u64 {
            let number = round + 1;
            let read = |into: &mut Option<Option<Vec<u8>>>| loop {
                if let Ok(found) = log.read(number) {
                    *into = Some(found);
                    return;
                }
            };
            let mut found = None;
            read(&mut found);
            assert_eq!(found, Some(None), "seed {seed}, number {number}");
            again(&|| log.append_at(number, &round.to_le_bytes()).map(drop));
            read(&mut found);
            assert_eq!(found, Some(Some(round.to_le_bytes().to_vec())));

            let version = register.as_ref().map(|register| register.version.clone());
            let bytes = round.to_le_bytes();
            // One that is done late finds another version there.
            let swap = || log.swap_register(Register::Boundary, version.as_ref(), &bytes);
            again(&|| swap().map(drop));
            register = loop {
                if let Ok(register) = log.read_register(Register::Boundary) {
                    break register;
                }
            };
            let found = register.as_ref().map(|register| register.bytes.clone());
            assert_eq!(found, Some(bytes.to_vec()), "seed {seed}, round {round}");
        }
    }
}

/// A condition holds for the messages at the time when the message was put, and for no other subject.
#[test]
fn the_fake_stream_decides_conditions_as_servers_do() {
    let stream = FakeStream::new(BODY_BYTES, None);
    let message = |subject: &str, filter: &str, last| Message {
        subject: subject.into(),
        condition: Condition {
            filter: filter.into(),
            last,
        },
        replaces: false,
        body: [].as_slice().into(),
    };
    use super::stream::Published::{Conflict, Ok};
    let publish = |message| stream.publish("", message).unwrap();
    assert_eq!(publish(message("B.a.1", "B.a.*", 0)), Ok);
    assert_eq!(publish(message("B.a.2", "B.a.*", 0)), Conflict);
    assert_eq!(publish(message("B.b", "B.a.*", 1)), Ok);
    assert_eq!(publish(message("B.b", "B.a.>", 2)), Conflict);
    let form = Form { bytes: 1, parts: 0 };
    let subject = subjects().of(&Kept::Entry(1), form);
    assert_eq!(publish(message(&subject, &subject, 0)), Ok);
}
