//! Whoever else connects to a standby's port: silent, slow, without the token, of another version. The primary
//! is served all the same, and is told in words why it is not.

use crate::common::bank::{Bank, is_full, options};
use crate::common::{LONG, at, disk, patience, serve, serve_with};
use sardonyx_base::crc32c;
use sardonyx_standby::{RemoteError, Standby, StandbyError, StandbyOptions};
use sardonyx_standby::{StandbyServer, Token};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::OpenError;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).unwrap()
}

#[test]
fn silent_connections_do_not_keep_a_primary_away() {
    let (here, there) = (disk(200), disk(201));
    let server = serve(&there);
    // Twice as many as there is room for.
    let silent: Vec<_> = (0..64).map(|_| connect(server.address())).collect();
    let standby = at(server.address());
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    bank.transact_patiently(50);
    assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
    drop(silent);
    drop(bank);
    server.stop();
}

#[test]
fn slow_connections_do_not_keep_a_primary_from_opening() {
    let (mut here, there) = (disk(202), disk(203));
    let server = serve(&there);
    let standby = at(server.address());
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    // So that an opening needs the standby's image.
    bank.transact_patiently(1500);
    assert!(standby.wait_until_caught_up(LONG));
    let done = bank.done;
    here.crash();
    drop(bank);
    here = here.restart(Faults::default());
    let slow: Vec<_> = (0..64)
        .map(|n| {
            let mut stream = connect(server.address());
            // The beginning of a frame, whose rest never comes.
            stream
                .write_all(&[0, 0, 0, 60, n][..1 + n as usize % 5])
                .unwrap();
            stream
        })
        .collect();
    let mut bank = Bank::at(&here, at(server.address())).unwrap();
    bank.done = done;
    bank.check_balances();
    drop(slow);
    drop(bank);
    server.stop();
}

fn guarded(disk: &SimulatedDisk, token: &str) -> sardonyx_standby::ListeningStandby {
    serve_with(disk, |options| options.token(Token::new(token).unwrap()))
}

fn with_token(address: SocketAddr, token: &str) -> Arc<Standby> {
    let token = Token::new(token).unwrap();
    Standby::with_token(address.to_string(), token, patience())
}

#[test]
fn only_who_has_the_token_is_served() {
    let there = disk(211);
    let server = guarded(&there, "open sesame");
    for other in [
        at(server.address()),
        with_token(server.address(), "open barley"),
    ] {
        let mut bank = Bank::at(&disk(210), other.clone()).unwrap();
        assert!(other.wait_for(|status| status.trouble.is_some(), LONG));
        let trouble = other.status().trouble.unwrap();
        assert!(
            matches!(trouble, RemoteError::Unwelcome { .. }),
            "{trouble}"
        );
        assert!(trouble.to_string().contains("token"), "{trouble}");
        let refusal = bank.transact_until_full();
        assert!(refusal.to_string().contains("token"), "{refusal}");
    }
    assert!(server.report().is_none(), "nothing was made for them");
    let standby = with_token(server.address(), "open sesame");
    let mut bank = Bank::at(&disk(212), standby.clone()).unwrap();
    bank.transact_patiently(20);
    assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
    // Another one without it does not take over.
    let other = with_token(server.address(), "open rye");
    let stranger = Bank::open(&disk(213), options(7).checkpoint_at(other.clone())).unwrap();
    assert!(other.wait_for(|status| status.trouble.is_some(), LONG));
    bank.transact_patiently(20);
    assert!(standby.wait_until_caught_up(LONG));
    assert_eq!(standby.status().connections, 1);
    drop((bank, stranger));
    server.stop();
}

#[test]
fn a_token_that_the_standby_does_not_know_is_told() {
    let server = serve(&disk(215));
    let standby = with_token(server.address(), "mine");
    let bank = Bank::at(&disk(214), standby.clone()).unwrap();
    assert!(standby.wait_for(|status| status.trouble.is_some(), LONG));
    let trouble = standby.status().trouble.unwrap().to_string();
    assert!(trouble.contains("without a token"), "{trouble}");
    drop(bank);
    server.stop();
}

/// A frame: its length, its checksum, and these bytes.
fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend(crc32c::crc32c(body).to_le_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn peers_of_the_first_version_are_refused_in_its_own_words() {
    // A primary of version 1: what follows the version does not matter.
    let server = serve(&disk(220));
    let mut stream = connect(server.address());
    let hello = [b"\x01SardonyC".as_slice(), &1u32.to_le_bytes(), &[0; 20]].concat();
    stream.write_all(&frame(&hello)).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let version = sardonyx_standby::PROTOCOL_VERSION as u8;
    assert_eq!(answer, frame(&[2, 1, 0, version]));
    server.stop();

    // A standby of version 1.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let standby = at(listener.local_addr().unwrap());
    let bank = Bank::at(&disk(221), standby.clone()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(&frame(&[2, 1, 0, 1])).unwrap();
    assert!(standby.wait_for(|status| status.trouble.is_some(), LONG));
    let trouble = standby.status().trouble.unwrap();
    assert!(
        matches!(trouble, RemoteError::Unwelcome { .. }),
        "{trouble}"
    );
    let text = trouble.to_string();
    assert!(
        text.contains("version 1") && text.contains("same release"),
        "{text}"
    );
    drop(bank);
}

#[test]
fn a_standby_whose_disk_is_full_says_so_and_is_not_taken_for_another_databases() {
    let faults = Faults {
        capacity_bytes: Some(64 << 10),
        ..Faults::default()
    };
    let there = SimulatedDisk::new(231, faults);
    let server = serve(&there);
    let standby = at(server.address());
    let mut bank = Bank::at(&disk(230), standby.clone()).unwrap();
    let refusal = bank.transact_until_full();
    assert!(is_full(&refusal), "{refusal:?}");
    let failed =
        |trouble: &Option<RemoteError>| matches!(trouble, Some(RemoteError::Failed { .. }));
    assert!(
        standby.wait_for(|status| failed(&status.trouble), LONG),
        "{:?}",
        standby.status()
    );
    let text = standby.status().trouble.unwrap().to_string();
    assert!(
        text.contains("cannot go on") && text.contains("No space left"),
        "{text}"
    );
    assert!(!text.contains("belong"), "{text}");
    drop(bank);
    server.stop();
}

#[test]
fn options_that_work_with_no_primary_make_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("standby.sdx");
    for options in [
        StandbyOptions::new().log_bytes_max(0),
        StandbyOptions::new().checkpoint_interval_bytes(0),
    ] {
        let refused = StandbyServer::open(&path, options).unwrap_err();
        assert!(
            matches!(refused, StandbyError::Open(OpenError::Option { .. })),
            "{refused}"
        );
        assert!(!path.exists(), "{refused}");
    }
}
