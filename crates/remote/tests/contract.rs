//! What a log needs of a store, for each there is; and that a log can be kept there.

mod stores;

use sardonyx_remote::{DirectoryLog, ObjectLog, RemoteOptions, open, probe};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::EntryBuilder;
use sardonyx_storage::remote_log::position::EntryPosition;
use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter, trim};
use sardonyx_storage::remote_log::store::{Appended, LIST_MOST, RemoteStore, StoreError, Swapped};
use std::sync::Arc;
use std::time::Duration;
use stores::{Fault, Wrapped};

const IDENTITY: u64 = 3;

fn patience() -> Patience {
    Patience {
        pause: Duration::ZERO,
        pause_most: Duration::ZERO,
        ..Patience::default()
    }
}

fn on(store: Arc<Wrapped>) -> ObjectLog {
    ObjectLog::new(store, "bank", "test".into(), &RemoteOptions::default()).unwrap()
}

fn directory() -> (tempfile::TempDir, DirectoryLog) {
    let directory = tempfile::tempdir().unwrap();
    let log = DirectoryLog::open(&directory.path().join("log"), &RemoteOptions::default()).unwrap();
    (directory, log)
}

fn keeps_the_contract(store: &dyn RemoteStore) {
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

    assert_eq!(store.read_boundary().unwrap(), None);
    assert_eq!(store.swap_boundary(None, b"a").unwrap(), Swapped::Ok);
    assert_eq!(store.swap_boundary(None, b"b").unwrap(), Swapped::Conflict);
    let mut versions = Vec::new();
    for text in 0..40u64 {
        let found = store.read_boundary().unwrap().unwrap();
        assert_eq!(
            found.bytes,
            if text == 0 {
                b"a".to_vec()
            } else {
                (text - 1).to_le_bytes().to_vec()
            }
        );
        let swapped = store.swap_boundary(Some(&found.version), &text.to_le_bytes());
        assert_eq!(swapped.unwrap(), Swapped::Ok);
        versions.push(found.version);
    }
    for old in &versions {
        assert_eq!(
            store.swap_boundary(Some(old), b"x").unwrap(),
            Swapped::Conflict
        );
    }
    assert_eq!(store.swap_boundary(None, b"x").unwrap(), Swapped::Conflict);
    let found = store.read_boundary().unwrap().unwrap();
    assert_eq!(found.bytes, 39u64.to_le_bytes());
}

#[test]
fn each_store_keeps_the_contract() {
    let (_directory, log) = directory();
    keeps_the_contract(&log);
    log.probe().unwrap();
    let log = on(Wrapped::new(Fault::Nothing));
    keeps_the_contract(&log);
    probe::probe(&log.for_probe()).unwrap();
}

#[test]
fn what_cannot_keep_a_log_is_refused_with_a_sentence() {
    for (fault, says) in [
        (Fault::IgnoresConditions, "If-None-Match is ignored"),
        (Fault::IgnoresVersions, "If-Match is ignored"),
        (Fault::LetsTwoCreate, "more than one was told"),
        (Fault::LetsTwoReplace, "more than one was told"),
    ] {
        let log = on(Wrapped::new(fault));
        let error = probe::probe(&log).unwrap_err();
        assert!(
            matches!(error, StoreError::Unsuitable { .. }),
            "{fault:?}: {error}"
        );
        assert!(error.to_string().contains(says), "{fault:?}: {error}");
        assert!(
            error
                .to_string()
                .contains("use a store with conditional writes")
        );
    }
    let error = probe::probe(&on(Wrapped::new(Fault::Refuses))).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}

#[test]
fn a_probe_leaves_nothing() {
    let (directory, log) = directory();
    log.probe().unwrap();
    let left: Vec<_> = std::fs::read_dir(directory.path().join("log"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let log = on(Wrapped::new(Fault::Nothing));
    let beside = log.for_probe();
    probe::probe(&beside).unwrap();
    beside.clear();
    assert_eq!(beside.list(0).unwrap(), []);
    assert_eq!(beside.read_boundary().unwrap(), None);
}

/// Two in turn own the log, and one follows; answers are lost, requests done twice or much later.
fn own_in_turn(seed: u64, store: &Arc<dyn RemoteStore>) {
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
    let fences = store.list(1).unwrap();
    assert_eq!(
        fences.iter().map(|l| l.number).collect::<Vec<_>>(),
        [1, 7, 13, 19]
    );
}

#[test]
fn i12_a_log_is_kept_beside_lost_doubled_and_late_requests() {
    let (_directory, log) = directory();
    own_in_turn(0, &(Arc::new(log) as Arc<dyn RemoteStore>));
    for seed in 0..40 {
        let log = on(Wrapped::flaky(Arc::default(), seed));
        let store: Arc<dyn RemoteStore> = Arc::new(log);
        own_in_turn(seed, &store);
    }
}

#[test]
fn places_are_opened_and_wrong_ones_named() {
    let directory = tempfile::tempdir().unwrap();
    let options = RemoteOptions::default();
    let file = format!("file:{}", directory.path().display());
    for place in [&file[..], "memory:places"] {
        let log = open(place, &options).unwrap();
        assert_eq!(log.place(), place);
        log.append_at(1, b"one").unwrap();
        // The same log again.
        assert_eq!(
            open(place, &options).unwrap().append_at(1, b"x").unwrap(),
            Appended::Conflict
        );
    }
    for (place, says) in [
        ("hunter2", "places are"),
        ("ftp://hunter2", "places are"),
        ("file:", "a directory"),
        ("memory:", "a name"),
        ("s3:x", "s3://BUCKET/PREFIX"),
        ("s3://u:hunter2@b/p", "no credentials"),
    ] {
        let error = open(place, &options).unwrap_err();
        assert!(matches!(error, StoreError::Place { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(says) && !text.contains("hunter2"), "{text}");
    }
    std::fs::write(directory.path().join("file"), b"x").unwrap();
    let error = open(&format!("{file}/file"), &options).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}

/// Who calls may be a task of another runtime, which must not be blocked by one that is within it.
#[test]
fn a_log_can_be_used_and_dropped_within_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(async {
        let log = open("memory:within", &RemoteOptions::default()).unwrap();
        assert_eq!(log.append_at(1, b"one").unwrap(), Appended::Ok);
        drop(log);
    });
}

/// A store that never answers.
#[test]
fn what_takes_too_long_is_unclear() {
    let options = RemoteOptions {
        request_limit: Duration::from_millis(1),
        ..RemoteOptions::default()
    };
    let store = Wrapped::new(Fault::Silent);
    let log = ObjectLog::new(store, "bank", "test".into(), &options).unwrap();
    let error = log.append_at(1, b"one").unwrap_err();
    assert!(error.is_unclear(), "{error}");
}
