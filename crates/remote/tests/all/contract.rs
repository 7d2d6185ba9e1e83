//! The contract of a log's store, for each store; and a log that is kept in each.

use crate::stores::rules::{keeps_the_contract, own_in_turn};
use crate::stores::{Fault, Wrapped};
use sardonyx_remote::{DirectoryLog, EncryptedLog, Keys, ObjectLog, RemoteOptions, open, probe};
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::{RemoteObjects, RemotePlace};
use sardonyx_storage::remote_log::store::{Appended, Register, RemoteStore, StoreError};
use std::sync::Arc;
use std::time::Duration;

fn on(store: Arc<Wrapped>) -> ObjectLog {
    ObjectLog::new(store, "bank", "test".into(), &RemoteOptions::default()).unwrap()
}

/// In memory: the time of a disk's sync for each of a thousand entries is not the question.
fn directory() -> (tempfile::TempDir, DirectoryLog) {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let log = DirectoryLog::open(&directory.path().join("log"), &RemoteOptions::default()).unwrap();
    (directory, log)
}

fn encrypted(store: Arc<dyn RemotePlace>, key: u8) -> EncryptedLog {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{key:02x}").repeat(32)).unwrap();
    EncryptedLog::new(store, Keys::of_file(file.path()).unwrap())
}

#[test]
fn in_an_encrypted_store_a_log_is_kept_and_nothing_can_be_read_without_the_key() {
    let plain: Arc<dyn RemotePlace> = Arc::new(MemoryStore::new());
    own_in_turn(
        0,
        &(Arc::new(encrypted(plain.clone(), 1)) as Arc<dyn RemoteStore>),
    );
    let log = encrypted(plain.clone(), 1);
    log.create_object("a", b"seed of a secret").unwrap();
    let stored = [plain.read(19).unwrap(), plain.read_object("a").unwrap()];
    for stored in stored.map(Option::unwrap) {
        let shows = |text: &[u8]| stored.windows(text.len()).any(|part| part == text);
        assert!(!shows(b"seed") && !shows(b"SdxE"), "{stored:?}");
    }
    let other = encrypted(plain.clone(), 2);
    for error in [
        other.read(19).map(drop).unwrap_err(),
        other.read_object("a").map(drop).unwrap_err(),
        other
            .read_register(Register::Boundary)
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Encryption { .. }), "{error}");
        assert!(
            error.to_string().contains("not among those given"),
            "{error}"
        );
    }
    // An unencrypted entry is none of it, whichever process put it there; nor is one in another's place.
    plain.append_at(500, b"in the clear").unwrap();
    plain
        .append_at(501, &plain.read(19).unwrap().unwrap())
        .unwrap();
    for number in [500, 501] {
        let error = log.read(number).unwrap_err();
        assert!(matches!(error, StoreError::Encryption { .. }), "{error}");
    }
}

#[test]
fn each_store_keeps_the_contract() {
    keeps_the_contract(&MemoryStore::new());
    keeps_the_contract(&encrypted(Arc::new(MemoryStore::new()), 1));
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
        (Fault::LetsTwoCreate, "more than one got success"),
        (Fault::LetsTwoReplace, "more than one got success"),
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
    assert_eq!(left.len(), 4, "{left:?}");
    let log = on(Wrapped::new(Fault::Nothing));
    let beside = log.for_probe();
    probe::probe(&beside).unwrap();
    beside.clear();
    assert_eq!(beside.list(0).unwrap(), []);
    assert_eq!(beside.read_register(Register::Boundary).unwrap(), None);
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
        ("nats:x", "nats://HOST"),
        ("tls://u:hunter2@h/S", "no credentials"),
        ("etcd://hunter2/x", "etcd keeps registers, and no log"),
        ("copies:etcds:hunter2;file:a;file:b", "etcds://HOST"),
        (
            "copies:etcd://u:hunter2@h/x;file:a;file:b",
            "no credentials",
        ),
        (
            "copies:etcd://other.example.org/x;file:a;file:b",
            "without TLS",
        ),
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

/// The caller may be a task of another runtime, which must not be blocked by one that is within it.
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

#[test]
fn an_answer_about_a_register_has_a_limit_of_its_own() {
    let options = RemoteOptions {
        request_limit: Duration::from_secs(86_400),
        register_limit: Some(Duration::from_millis(1)),
        ..RemoteOptions::default()
    };
    let store = Wrapped::new(Fault::Silent);
    let log = ObjectLog::new(store, "bank", "test".into(), &options).unwrap();
    let read = log.read_register(Register::Primary).unwrap_err();
    let swapped = log.swap_register(Register::Primary, None, b"host");
    for error in [read, swapped.unwrap_err()] {
        assert!(error.is_unclear(), "{error}");
    }
}
