//! A served log: the contract of stores, and the processes that may use its directory.

use super::*;
use crate::place::open;
use crate::probe::probe;
use crate::rules::{keeps_the_contract, own_in_turn};
use crate::tcp::{StoreServer, TcpLog};
use sardonyx_base::greeting::Trust;
use sardonyx_base::transport::Plain;
use sardonyx_storage::disk::DiskError;
use std::net::TcpListener;

fn served(directory: &Path) -> Result<ServedLog, StoreError> {
    ServedLog::open(directory, &RemoteOptions::default())
}

#[test]
fn a_served_log_keeps_the_contract_and_passes_the_probe() {
    let home = tempfile::tempdir().unwrap();
    keeps_the_contract(&served(&home.path().join("contract")).unwrap());
    probe(&served(&home.path().join("probe")).unwrap()).unwrap();
    let store = Arc::new(served(&home.path().join("owned")).unwrap());
    own_in_turn(1, &(store as Arc<dyn RemoteStore>));
}

#[test]
fn a_served_log_keeps_the_contract_over_tcp_and_has_all_when_it_is_served_again() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("store");
    let place = directory.to_str().unwrap();
    let trust = || Trust {
        transport: Arc::new(Plain),
        token: None,
    };
    let serve = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = StoreServer::start(StoreServer::open(place).unwrap(), listener, trust());
        let server = server.unwrap();
        let options = RemoteOptions {
            trust: Some(trust()),
            ..RemoteOptions::default()
        };
        let log = TcpLog::open(&server.address().to_string(), &options).unwrap();
        (server, log)
    };
    let (server, log) = serve();
    keeps_the_contract(&log);
    let before = log.list(0).unwrap();
    let long = vec![7; 20 << 20];
    assert_eq!(log.append_at(9000, &long).unwrap(), Appended::Ok);
    // The first ends before another one has its directory.
    drop((server, log));
    let (_server, log) = serve();
    assert_eq!(log.list(0).unwrap(), before);
    assert_eq!(log.read(9000).unwrap(), Some(long));
    assert_eq!(log.read(1).unwrap().as_deref(), Some(&b"one"[..]));
    let register = log.read_register(Register::Boundary).unwrap().unwrap();
    assert_eq!(register.bytes, 39u64.to_le_bytes());
}

#[test]
fn i7_a_register_or_object_whose_sync_failed_ends_the_server_and_hosts_ask_the_next_one() {
    for file in ["boundary/00000000000000000001", "object/x/y"] {
        let home = tempfile::tempdir().unwrap();
        let store = Arc::new(served(home.path()).unwrap());
        let trust = Trust {
            transport: Arc::new(Plain),
            token: None,
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = StoreServer::start(store.clone(), listener, trust.clone()).unwrap();
        let options = RemoteOptions {
            trust: Some(trust),
            ..RemoteOptions::default()
        };
        let log = TcpLog::open(&server.address().to_string(), &options).unwrap();
        let swap = || log.swap_register(Register::Boundary, None, b"a");
        assert_eq!(swap().unwrap(), Swapped::Ok);
        assert_eq!(log.create_object("x/y", b"z").unwrap(), Appended::Ok);
        assert_eq!(store.failure(), None);
        store.beside.fail_sync_of(file);
        let failure = store.failure().expect("its server is to end");
        assert!(failure.contains(file), "{failure}");
        let error = match file.starts_with("object") {
            true => log.read_object("x/y").map(drop),
            false => log.read_register(Register::Boundary).map(drop),
        };
        let error = error.unwrap_err();
        assert!(error.is_unclear(), "the next server knows it: {error}");
    }
}

#[test]
fn a_directory_is_served_or_used_as_files_and_never_both() {
    let home = tempfile::tempdir().unwrap();
    let (logged, files) = (home.path().join("log"), home.path().join("files"));
    let file = |directory: &Path| {
        let place = format!("file:{}", directory.display());
        open(&place, &RemoteOptions::default())
    };
    let log = served(&logged).unwrap();
    let error = served(&logged).unwrap_err();
    assert!(matches!(error, StoreError::Setup { .. }), "{error}");
    assert!(
        error.to_string().contains("locked by another process"),
        "{error}"
    );
    for _ in 0..2 {
        let error = file(&logged).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Setup { .. }), "{error}");
        assert!(
            error.to_string().contains("tcp://127.0.0.1:PORT"),
            "{error}"
        );
    }
    drop(log);
    file(&logged).map(drop).unwrap_err();
    // Opened as files, and still empty: then it is a served one, and the other one puts nothing there.
    let early = file(&files).unwrap();
    drop(served(&files).unwrap());
    let error = early.append_at(1, b"one").unwrap_err();
    assert!(error.is_unclear(), "{error}");
    let files = home.path().join("more");
    file(&files).unwrap().append_at(1, b"one").unwrap();
    let error = served(&files).unwrap_err();
    assert!(matches!(error, StoreError::Setup { .. }), "{error}");
    assert!(error.to_string().contains("serve it as file:"), "{error}");
    let database = home.path().join("bank.sdx");
    fs::create_dir(&database).unwrap();
    fs::write(database.join("MANIFEST"), "x").unwrap();
    let error = served(&database).unwrap_err();
    assert!(error.to_string().contains("MANIFEST"), "{error}");
}

#[test]
fn a_directory_that_files_come_to_while_it_begins_to_be_served_stays_one_of_files() {
    let options = RemoteOptions::default();
    let boundary = Register::Boundary;
    for with_entry in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let files = open(&format!("file:{}", home.path().display()), &options).unwrap();
        let come = || match with_entry {
            true => assert_eq!(files.append_at(1, b"one").unwrap(), Appended::Ok),
            false => {
                let swapped = files.swap_register(boundary, None, b"b").unwrap();
                assert_eq!(swapped, Swapped::Ok);
            }
        };
        let error = ServedLog::open_after(home.path(), &options, &come).unwrap_err();
        for error in [error, served(home.path()).unwrap_err()] {
            assert!(matches!(error, StoreError::Setup { .. }), "{error}");
            assert!(error.to_string().contains("serve it as file:"), "{error}");
        }
        // Nothing of the log is left that refuses it as files.
        let again = open(&format!("file:{}", home.path().display()), &options).unwrap();
        for files in [&files, &again] {
            let entry = files.read(1).unwrap();
            let register = files.read_register(boundary).unwrap();
            assert_eq!(entry.is_some(), with_entry);
            assert_eq!(register.is_some(), !with_entry);
        }
        files.append_at(2, b"two").unwrap();
    }
}

#[test]
fn a_directory_that_is_refused_keeps_its_empty_folder_and_one_that_is_served_takes_no_register() {
    let home = tempfile::tempdir().unwrap();
    let foreign = home.path().join("foreign");
    fs::create_dir_all(foreign.join(ENTRIES)).unwrap();
    fs::write(foreign.join("MANIFEST"), "x").unwrap();
    served(&foreign).unwrap_err();
    assert!(foreign.join(ENTRIES).is_dir());
    let directory = home.path().join("served");
    let place = format!("file:{}", directory.display());
    let early = open(&place, &RemoteOptions::default()).unwrap();
    let log = served(&directory).unwrap();
    let error = early.swap_register(Register::Boundary, None, b"b");
    let error = error.unwrap_err();
    assert!(error.is_unclear(), "{error}");
    assert_eq!(log.read_register(Register::Boundary).unwrap(), None);
}

#[test]
fn a_read_without_a_descriptor_may_be_asked_again() {
    let home = tempfile::tempdir().unwrap();
    let log = served(home.path()).unwrap();
    let (none, broken) = (24, 5);
    for (code, passes) in [(none, true), (broken, false)] {
        let source = io::Error::from_raw_os_error(code);
        let error = EntryLogError::from(DiskError::new("open", "log", 0, source));
        let error = log.failed("read entry 1".into(), &error);
        assert_eq!(
            matches!(error, StoreError::NotNow { .. }),
            passes,
            "{error}"
        );
    }
}

#[test]
fn damage_is_an_error_that_names_the_file_when_it_is_opened() {
    let home = tempfile::tempdir().unwrap();
    let log = served(home.path()).unwrap();
    for number in 1..20 {
        log.append_at(number, &[number as u8; 5000]).unwrap();
    }
    drop(log);
    let segment = home.path().join("log/0000000000000000.log");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[3 * 4096 + 100] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let error = served(home.path()).unwrap_err().to_string();
    assert!(error.contains("0000000000000000.log"), "{error}");
}
