//! The rules of every store, in memory and real: tested one after the other, and by a log that is kept there.

use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::EntryBuilder;
use sardonyx_storage::remote_log::objects::{RemoteObjects, RemotePlace};
use sardonyx_storage::remote_log::position::EntryPosition;
use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter, ask, trim};
use sardonyx_storage::remote_log::store::{
    Appended, LIST_MOST, Register, RemoteStore, StoreError, Swapped,
};
use std::sync::Arc;
use std::time::Duration;

const IDENTITY: u64 = 3;

/// Asks again without a pause: nothing here takes time.
pub fn patience() -> Patience {
    Patience {
        pause: Duration::ZERO,
        pause_most: Duration::ZERO,
        ..Patience::default()
    }
}

/// Tests the contract on an empty store.
pub fn keeps_the_contract(store: &dyn RemotePlace) {
    keeps_objects(store);
    assert_eq!(store.read_register(Register::Primary).unwrap(), None);
    assert_eq!(store.read(1).unwrap(), None);
    assert_eq!(store.list(0).unwrap(), []);
    assert_eq!(store.append_at(1, b"one").unwrap(), Appended::Ok);
    assert_eq!(store.append_at(1, b"two").unwrap(), Appended::Conflict);
    assert_eq!(store.read(1).unwrap().as_deref(), Some(&b"one"[..]));
    for number in 2..=LIST_MOST as u64 + 5 {
        store.append_at(number, &number.to_le_bytes()).unwrap();
    }
    let listed = store.list(0).unwrap();
    assert_eq!(listed.len(), LIST_MOST);
    assert_eq!((listed[0].number, listed[0].bytes), (1, 3));
    assert!(listed.is_sorted_by(|a, b| a.number < b.number));
    let rest: Vec<u64> = store
        .list(LIST_MOST as u64)
        .unwrap()
        .iter()
        .map(|l| l.number)
        .collect();
    assert_eq!(
        rest,
        (LIST_MOST as u64..=LIST_MOST as u64 + 5).collect::<Vec<_>>()
    );
    store.remove(&[2, 3, 4_000_000]).unwrap();
    store.remove(&[2]).unwrap();
    assert_eq!(store.read(2).unwrap(), None);
    assert_eq!(store.list(1).unwrap()[1].number, 4);

    assert_eq!(store.read_register(Register::Boundary).unwrap(), None);
    assert_eq!(
        store.swap_register(Register::Boundary, None, b"a").unwrap(),
        Swapped::Ok
    );
    assert_eq!(
        store.swap_register(Register::Boundary, None, b"b").unwrap(),
        Swapped::Conflict
    );
    let mut versions = Vec::new();
    for text in 0..40u64 {
        let found = store.read_register(Register::Boundary).unwrap().unwrap();
        assert_eq!(
            found.bytes,
            if text == 0 {
                b"a".to_vec()
            } else {
                (text - 1).to_le_bytes().to_vec()
            }
        );
        let swapped = store.swap_register(
            Register::Boundary,
            Some(&found.version),
            &text.to_le_bytes(),
        );
        assert_eq!(swapped.unwrap(), Swapped::Ok);
        versions.push(found.version);
    }
    for old in &versions {
        assert_eq!(
            store
                .swap_register(Register::Boundary, Some(old), b"x")
                .unwrap(),
            Swapped::Conflict
        );
    }
    assert_eq!(
        store.swap_register(Register::Boundary, None, b"x").unwrap(),
        Swapped::Conflict
    );
    let found = store.read_register(Register::Boundary).unwrap().unwrap();
    assert_eq!(found.bytes, 39u64.to_le_bytes());
    // The other register is another one.
    assert_eq!(store.read_register(Register::Primary).unwrap(), None);
    let swapped = store.swap_register(Register::Primary, None, b"x").unwrap();
    assert_eq!(swapped, Swapped::Ok);
}

/// The same of objects.
pub fn keeps_objects(store: &dyn RemoteObjects) {
    assert_eq!(store.read_object("a/b/c").unwrap(), None);
    assert_eq!(store.list_objects("a").unwrap(), []);
    for (name, bytes) in [("a/b/c", "one"), ("a/b/d", "three"), ("a/a", "")] {
        assert_eq!(
            store.create_object(name, bytes.as_bytes()).unwrap(),
            Appended::Ok
        );
        assert_eq!(
            store.create_object(name, b"two").unwrap(),
            Appended::Conflict
        );
    }
    assert_eq!(
        store.read_object("a/b/c").unwrap().as_deref(),
        Some(&b"one"[..])
    );
    let listed = |folder| {
        let listed = store.list_objects(folder).unwrap();
        let listed = listed.into_iter().map(|object| (object.name, object.bytes));
        listed.collect::<Vec<_>>()
    };
    assert_eq!(
        listed("a"),
        [("a/a".into(), 0), ("a/b/c".into(), 3), ("a/b/d".into(), 5)]
    );
    assert_eq!(listed("a/b"), [("a/b/c".into(), 3), ("a/b/d".into(), 5)]);
    store.remove_objects(&["a/b/c".into(), "x".into()]).unwrap();
    assert_eq!(store.read_object("a/b/c").unwrap(), None);
    for wrong in ["../a", "a//b", "A", ""] {
        let error = store.create_object(wrong, b"x").unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    }
}

/// Two in turn own the log, and one follows; answers are lost, requests done twice or much later.
pub fn own_in_turn(seed: u64, store: &Arc<dyn RemoteStore>) {
    let mut expected = Vec::new();
    let mut at = EntryPosition::START;
    let mut writers: Vec<RemoteWriter> = Vec::new();
    for turn in 0..4 {
        let apply = |_: &_| Ok::<_, RemoteLogError>(());
        let claimed = RemoteWriter::claim(store.clone(), IDENTITY, at, patience(), apply);
        let mut writer = claimed.unwrap();
        for entry in 0..5 {
            let mut builder = EntryBuilder::new();
            let text = format!("seed {seed}, turn {turn}, entry {entry}");
            builder.push(text.as_bytes());
            at = writer.append(builder).unwrap();
            expected.push(text);
        }
        if let Some(before) = writers.last_mut() {
            let mut builder = EntryBuilder::new();
            builder.push(b"too late");
            let error = before.append(builder).unwrap_err();
            assert!(matches!(error, RemoteLogError::Fenced { .. }), "{error}");
        }
        writers.push(writer);
    }
    let mut follower = Follower::new(store.clone(), IDENTITY, EntryPosition::START, patience());
    let mut read = Vec::new();
    while let Some(entry) = follower.next_entry().unwrap() {
        if !entry.head().is_fence() {
            read.push(String::from_utf8(entry.payload().to_vec()).unwrap());
        }
    }
    assert_eq!(read, expected);
    assert_eq!(follower.position(), at);
    let trimmed = trim(&**store, IDENTITY, at, &patience()).unwrap();
    assert_eq!(trimmed.entries, 20);
    let fences = ask(&patience(), || store.list(1)).unwrap();
    assert_eq!(
        fences.iter().map(|l| l.number).collect::<Vec<_>>(),
        [1, 7, 13, 19]
    );
}
