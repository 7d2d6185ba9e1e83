//! A log in a directory that is away for a while, and one whose sync failed.

use super::*;

#[test]
fn a_directory_that_is_not_there_is_asked_again_and_says_nothing_of_what_is_in_it() {
    let home = tempfile::tempdir().unwrap();
    let (here, away) = (home.path().join("store"), home.path().join("away"));
    let log = DirectoryLog::open(&here, &RemoteOptions::default()).unwrap();
    assert_eq!(log.append_at(1, b"one").unwrap(), Appended::Ok);
    let first = Register::Primary;
    assert_eq!(log.swap_register(first, None, b"a").unwrap(), Swapped::Ok);
    let stored = log.read_register(first).unwrap().unwrap();
    let used = RemoteOptions {
        make: false,
        ..RemoteOptions::default()
    };
    fs::rename(&here, &away).unwrap();
    let errors = [
        log.append_at(2, b"two").map(drop),
        log.list(1).map(drop),
        log.read_register(first).map(drop),
        log.swap_register(first, Some(&stored.version), b"b")
            .map(drop),
        log.create_object("x/y", b"z").map(drop),
        log.read(1).map(drop),
        log.read_object("x/y").map(drop),
        log.list_objects("x").map(drop),
        log.probe(),
        DirectoryLog::open(&here, &used).map(drop),
    ];
    for error in errors {
        let error = error.unwrap_err();
        assert!(
            error.is_unclear() && error.to_string().contains("now"),
            "{error}"
        );
    }
    assert!(!here.exists(), "an empty store was made in its place");
    fs::rename(&away, &here).unwrap();
    DirectoryLog::open(&here, &used).unwrap();
    assert_eq!(log.read(2).unwrap(), None);
    assert_eq!(log.read_object("x/y").unwrap(), None);
    assert_eq!(log.list_objects("x").unwrap(), []);
    assert_eq!(log.append_at(2, b"two").unwrap(), Appended::Ok);
    let swapped = log.swap_register(first, Some(&stored.version), b"b");
    assert_eq!(swapped.unwrap(), Swapped::Ok);
    assert_eq!(log.read(1).unwrap(), Some(b"one".to_vec()));
}

/// A host that starts probes its store. If the directory is moved away between the link of a file and the sync of its folder,
/// the file is stable all the same; a register's outcome is not known then, and is asked for again.
#[test]
fn a_directory_that_is_moved_while_a_file_gets_its_place_refuses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (here, away) = (home.path().join("store"), home.path().join("away"));
    let log = DirectoryLog::open(&here, &RemoteOptions::default()).unwrap();
    let linked = log.link(&log.entries(), &name_of(1), b"one").unwrap();
    let folder = log.register(Register::Primary);
    assert!(log.create(&folder, &name_of(1), b"a").unwrap());
    fs::rename(&here, &away).unwrap();
    assert!(linked.make_stable().unwrap());
    let settled = log.settle(&folder, 1).map_err(NotCreated::Stable);
    let error = log.not_created("replace a register", &settled.unwrap_err());
    assert!(error.is_unclear(), "{error}");
    fs::rename(&away, &here).unwrap();
    assert_eq!(log.read(1).unwrap().unwrap(), b"one");
    assert_eq!(log.append_at(1, b"other").unwrap(), Appended::Conflict);
    let stored = log.read_register(Register::Primary).unwrap().unwrap();
    assert_eq!(stored.bytes, b"a");
    assert_eq!(log.failure(), None);
}

#[test]
fn i7_what_is_there_by_a_sync_that_failed_is_neither_read_nor_a_conflict() {
    let home = tempfile::tempdir().unwrap();
    let log = DirectoryLog::open(home.path(), &RemoteOptions::default()).unwrap();
    assert_eq!(log.append_at(1, b"one").unwrap(), Appended::Ok);
    assert_eq!(log.append_at(2, b"two").unwrap(), Appended::Ok);
    let register = Register::Boundary;
    assert_eq!(
        log.swap_register(register, None, b"a").unwrap(),
        Swapped::Ok
    );
    assert_eq!(log.create_object("x/y", b"z").unwrap(), Appended::Ok);
    assert_eq!(log.failure(), None);
    let (entry, state) = (name_of(2), name_of(1));
    log.fail_sync_of("object/x/y");
    let failure = log.failure().expect("its server is to end");
    assert!(failure.contains("object/x/y has failed"), "{failure}");
    log.fail_sync_of(&format!("entry/{entry}"));
    log.fail_sync_of(&format!("boundary/{state}"));
    let errors = [
        log.read(2).map(drop),
        log.append_at(2, b"two").map(drop),
        log.read_register(register).map(drop),
        log.swap_register(register, None, b"b").map(drop),
        log.read_object("x/y").map(drop),
        log.create_object("x/y", b"z").map(drop),
    ];
    for error in errors {
        let error = error.unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    }
    assert_eq!(log.read(1).unwrap(), Some(b"one".to_vec()));
    // Opened again, it has been synced.
    let log = DirectoryLog::open(home.path(), &RemoteOptions::default()).unwrap();
    assert_eq!(log.read(2).unwrap(), Some(b"two".to_vec()));
    assert_eq!(log.failure(), None);
}

#[test]
fn a_directory_that_begins_to_be_served_while_it_is_opened_as_files_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let options = RemoteOptions::default();
    let served = std::cell::OnceCell::new();
    let serve = || {
        let log = crate::ServedLog::open(home.path(), &options);
        served.set(log.unwrap()).unwrap();
    };
    let error = DirectoryLog::open_after(home.path(), &options, &serve).unwrap_err();
    assert!(matches!(error, StoreError::Setup { .. }), "{error}");
    assert!(error.to_string().contains("store serve"), "{error}");
    assert!(!home.path().join(ENTRIES).exists());
    let log = served.into_inner().unwrap();
    assert_eq!(log.append_at(1, b"one").unwrap(), Appended::Ok);
}
