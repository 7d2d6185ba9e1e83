//! A served log: the contract of stores, and who may use its directory.

use super::*;
use crate::place::open;
use crate::probe::probe;
use crate::rules::{keeps_the_contract, own_in_turn};
use crate::tcp::{StoreServer, TcpLog};
use sardonyx_base::greeting::Trust;
use sardonyx_base::transport::Plain;
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
    // Opened as files, and nothing is there yet: then it is a served one, and the other one puts nothing there.
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
