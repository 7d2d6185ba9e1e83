//! A store over TCP: the contract of stores, connections that break at any byte, and refused clients.

use super::client::check_address;
use super::{PROTOCOL, StoreServer, TcpLog};
use crate::encrypted::{EncryptedLog, Keys};
use crate::options::RemoteOptions;
use crate::rules::{keeps_the_contract, own_in_turn};
use sardonyx_base::greeting::Trust;
use sardonyx_base::random::Random;
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Connection, Plain, Transport, TransportError};
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::store::{Appended, Register, RemoteStore, StoreError, Swapped};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub(super) fn trust(token: Option<&str>) -> Trust {
    Trust {
        transport: Arc::new(Plain),
        token: token.map(|token| Token::new(token).unwrap()),
    }
}

pub(super) fn options(trust: Trust) -> RemoteOptions {
    RemoteOptions {
        trust: Some(trust),
        // Longer than any test: none waits for an answer that does not come.
        request_limit: Duration::from_secs(600),
        ..RemoteOptions::default()
    }
}

pub(super) fn serve(store: &Arc<MemoryStore>, token: Option<&str>) -> (StoreServer, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = StoreServer::start(store.clone(), listener, trust(token)).unwrap();
    let address = server.address().to_string();
    (server, address)
}

#[test]
fn a_log_over_tcp_keeps_the_contract() {
    let (_server, address) = serve(&Arc::default(), Some("secret"));
    let log = TcpLog::open(&address, &options(trust(Some("secret")))).unwrap();
    assert_eq!(log.place(), format!("tcp://{address}"));
    keeps_the_contract(&log);
    let (_server, address) = serve(&Arc::default(), None);
    let log = TcpLog::open(&address, &options(trust(None))).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "07".repeat(32)).unwrap();
    let keys = Keys::of_file(file.path()).unwrap();
    keeps_the_contract(&EncryptedLog::new(Arc::new(log), keys));
}

/// Greets every client, and answers nothing.
fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut greeted = Vec::new();
        while let Ok((socket, _)) = listener.accept() {
            greeted.extend(PROTOCOL.hear(socket, &trust(None), |_| Ok(((), Vec::new()))));
        }
    });
    address
}

#[test]
fn an_answer_about_a_register_has_a_limit_of_its_own() {
    let options = RemoteOptions {
        register_limit: Some(Duration::from_millis(1)),
        ..options(trust(None))
    };
    let log = TcpLog::open(&silent(), &options).unwrap();
    // The first has the connection that was opened; the second one has to connect.
    for _ in 0..2 {
        let read = log.read_register(Register::Primary).unwrap_err();
        let swapped = log.swap_register(Register::Primary, None, b"host");
        for error in [read, swapped.unwrap_err()] {
            assert!(error.is_unclear(), "{error}");
        }
    }
}

#[test]
fn a_connection_that_answered_about_a_register_has_the_limit_of_others_afterwards() {
    let (_server, address) = serve(&Arc::default(), None);
    let options = RemoteOptions {
        register_limit: Some(Duration::from_secs(300)),
        ..options(trust(None))
    };
    let log = TcpLog::open(&address, &options).unwrap();
    assert_eq!(log.read_register(Register::Primary).unwrap(), None);
    assert_eq!(log.kept_limits().unwrap().0, Some(Duration::from_secs(600)));
}

#[test]
fn entries_are_read_as_far_as_an_answer_goes_and_none_is_longer_than_the_store_takes() {
    let store = Arc::new(MemoryStore::named("there".into(), 10 << 20));
    let (_server, address) = serve(&store, None);
    let log = TcpLog::open(&address, &options(trust(None))).unwrap();
    assert_eq!(log.entry_bytes_max(), 10 << 20);
    let long = vec![1; 10 << 20];
    for number in [1, 2, 4] {
        assert_eq!(log.append_at(number, &long).unwrap(), Appended::Ok);
    }
    // 16 MiB at once, but for the first one.
    let found = log.read_several(&[1, 2, 4]).unwrap();
    assert_eq!(found, [Some(long.clone())]);
    assert_eq!(
        log.read_several(&[3, 4]).unwrap(),
        [None, Some(long.clone())]
    );
    assert!(log.read_several(&[]).unwrap().is_empty());
    let error = log.append_at(5, &[&long[..], &[1]].concat()).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert_eq!(store.entries(), 3);
}

/// Connections that break after so many bytes, in both directions together.
#[derive(Debug)]
struct Breaks {
    /// For each new connection; `None`: it does not break.
    after: Mutex<Box<dyn Allowance>>,
}

trait Allowance: Send + std::fmt::Debug {
    fn next(&mut self) -> Option<u64>;
}

#[derive(Debug)]
struct Breaking {
    socket: TcpStream,
    left: Option<u64>,
}

impl Breaking {
    fn allowed(&self, wanted: usize) -> io::Result<usize> {
        match self.left {
            Some(0) => {
                let _ = self.socket.shutdown(std::net::Shutdown::Both);
                Err(io::ErrorKind::BrokenPipe.into())
            }
            Some(left) => Ok(wanted.min(left as usize)),
            None => Ok(wanted),
        }
    }

    fn passed(&mut self, bytes: usize) -> usize {
        self.left = self.left.map(|left| left - bytes as u64);
        bytes
    }
}

impl Read for Breaking {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let allowed = self.allowed(into.len())?;
        let read = self.socket.read(&mut into[..allowed])?;
        Ok(self.passed(read))
    }
}

impl Write for Breaking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let allowed = self.allowed(bytes.len())?;
        let written = self.socket.write(&bytes[..allowed])?;
        Ok(self.passed(written))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Connection for Breaking {
    fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

impl Transport for Breaks {
    fn call(&self, socket: TcpStream, _: Duration) -> Result<Box<dyn Connection>, TransportError> {
        let left = self.after.lock().unwrap().next();
        Ok(Box::new(Breaking { socket, left }))
    }

    fn answer(
        &self,
        socket: TcpStream,
        within: Duration,
    ) -> Result<Box<dyn Connection>, TransportError> {
        Plain.answer(socket, within)
    }
}

fn breaking(address: &str, after: impl Allowance + 'static) -> Result<TcpLog, StoreError> {
    let transport = Arc::new(Breaks {
        after: Mutex::new(Box::new(after)),
    });
    let token = None;
    TcpLog::open(address, &options(Trust { transport, token }))
}

/// The first connection breaks after so many bytes, and the others do not.
#[derive(Debug)]
struct Once(Option<u64>);

impl Allowance for Once {
    fn next(&mut self) -> Option<u64> {
        self.0.take()
    }
}

#[test]
fn a_request_whose_connection_breaks_at_any_byte_is_unclear_and_done_once_when_it_is_asked_again() {
    let mut outcomes = [0; 3];
    for after in 0.. {
        let store: Arc<MemoryStore> = Arc::default();
        let (server, address) = serve(&store, None);
        let Ok(log) = breaking(&address, Once(Some(after))) else {
            outcomes[0] += 1;
            continue;
        };
        let first = log.append_at(1, b"one");
        // Nothing of the first request comes later.
        let is_whole = first.is_ok();
        drop(server);
        match first {
            Ok(appended) => assert_eq!(appended, Appended::Ok),
            Err(error) => assert!(error.is_unclear(), "{error}"),
        }
        let (_server, address) = serve(&store, None);
        let log = TcpLog::open(&address, &options(trust(None))).unwrap();
        let again = match store.entries() {
            0 => Appended::Ok,
            _ => Appended::Conflict,
        };
        outcomes[1 + store.entries()] += u64::from(!is_whole);
        assert_eq!(log.append_at(1, b"one").unwrap(), again);
        assert_eq!(log.read(1).unwrap().as_deref(), Some(&b"one"[..]));
        if is_whole {
            break;
        }
    }
    // In the greeting, in the request, and in its answer.
    assert!(outcomes.iter().all(|count| *count > 5), "{outcomes:?}");
}

/// Connections break by a seed.
#[derive(Debug)]
struct Seeded(Random);

impl Allowance for Seeded {
    fn next(&mut self) -> Option<u64> {
        Some(100 + self.0.below(600))
    }
}

#[test]
fn i12_a_log_is_owned_in_turn_over_connections_that_break() {
    for seed in 0..30 {
        let (_server, address) = serve(&Arc::default(), None);
        let store = breaking(&address, Seeded(Random::new(seed))).unwrap();
        own_in_turn(seed, &(Arc::new(store) as Arc<dyn RemoteStore>));
    }
}

#[test]
fn only_a_host_with_the_token_is_served() {
    let (_server, address) = serve(&Arc::default(), Some("secret"));
    for token in [None, Some("secreT")] {
        let error = TcpLog::open(&address, &options(trust(token))).unwrap_err();
        assert!(matches!(error, StoreError::Setup { .. }), "{error}");
        assert!(error.to_string().contains("another token"), "{error}");
        assert!(error.to_string().contains(&address), "{error}");
    }
}

#[test]
fn another_protocol_is_refused_at_both_ends() {
    // A client of TLS.
    let (_server, address) = serve(&Arc::default(), None);
    let mut socket = TcpStream::connect(&address).unwrap();
    socket.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 0]).unwrap();
    // It gets no answer; the connection is closed, or reset with its bytes unread.
    assert!(!matches!(socket.read(&mut [0; 10]), Ok(1..)));
    // A server of HTTP.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        });
        let error = TcpLog::open(&address, &options(trust(None))).unwrap_err();
        assert!(!error.is_unclear(), "{error}");
        assert!(error.to_string().contains("another protocol"), "{error}");
    });
}

#[test]
fn a_server_that_is_started_again_is_used_again() {
    let store: Arc<MemoryStore> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let start = || {
        let listener = listener.try_clone().unwrap();
        StoreServer::start(store.clone(), listener, trust(None)).unwrap()
    };
    let server = start();
    let address = server.address().to_string();
    let log = TcpLog::open(&address, &options(trust(None))).unwrap();
    assert_eq!(log.append_at(1, b"one").unwrap(), Appended::Ok);
    drop(server);
    let _server = start();
    // The connection that was kept is closed; the request goes over a new one.
    assert_eq!(log.append_at(2, b"two").unwrap(), Appended::Ok);
    assert_eq!(store.entries(), 2);
}

#[test]
fn a_server_that_closes_connections_is_asked_again_and_nothing_was_done() {
    let store: Arc<MemoryStore> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let again = listener.try_clone().unwrap();
    let server = StoreServer::start(store.clone(), again, trust(None)).unwrap();
    let address = server.address().to_string();
    let log = TcpLog::open(&address, &options(trust(None))).unwrap();
    drop(server);
    std::thread::scope(|scope| {
        // As one that starts, or ends, or has too many.
        scope.spawn(|| {
            for _ in 0..3 {
                drop(listener.accept().unwrap());
            }
        });
        let error = log.append_at(1, b"one").unwrap_err();
        assert!(matches!(error, StoreError::NotNow { .. }), "{error}");
        let error = log
            .swap_register(Register::Primary, None, b"x")
            .unwrap_err();
        assert!(error.is_unclear(), "{error}");
        let error = TcpLog::open(&address, &options(trust(None))).unwrap_err();
        assert!(matches!(error, StoreError::Unclear { .. }), "{error}");
    });
    assert_eq!(store.entries(), 0);
}

#[test]
fn places_are_checked_before_anything_is_sent() {
    for (address, may_leave, wanted) in [
        ("127.0.0.1:7071", false, None),
        ("localhost:7071", false, None),
        ("10.0.0.7:7071", true, None),
        ("10.0.0.7:7071", false, Some("without TLS")),
        ("10.0.0.7", true, Some("a port")),
        ("10.0.0.7:0", true, Some("a port")),
        ("10.0.0.7:70710", true, Some("a port")),
        ("10.0.0.7:7071/bank", true, Some("a port")),
        (":7071", true, Some("a host")),
        ("", false, Some("a port")),
    ] {
        let checked = check_address(address, may_leave);
        match wanted {
            None => checked.unwrap(),
            Some(wanted) => {
                let error = checked.unwrap_err().to_string();
                assert!(error.contains(wanted), "{address}: {error}");
            }
        }
    }
}

#[test]
fn registers_and_objects_of_two_hosts_are_one() {
    let (_server, address) = serve(&Arc::default(), None);
    let hosts = [0, 1].map(|_| TcpLog::open(&address, &options(trust(None))).unwrap());
    let [one, other] = &hosts;
    let swap = |host: &TcpLog, expected| host.swap_register(Register::Primary, expected, b"x");
    assert_eq!(swap(one, None).unwrap(), Swapped::Ok);
    assert_eq!(swap(other, None).unwrap(), Swapped::Conflict);
    let stored = other.read_register(Register::Primary).unwrap().unwrap();
    assert_eq!(swap(other, Some(&stored.version)).unwrap(), Swapped::Ok);
    assert_eq!(swap(one, Some(&stored.version)).unwrap(), Swapped::Conflict);
    assert_eq!(one.create_object("bases/1", b"a").unwrap(), Appended::Ok);
    assert_eq!(
        other.create_object("bases/1", b"b").unwrap(),
        Appended::Conflict
    );
    assert!(other.create_object("../x", b"b").is_err());
    assert_eq!(other.list_objects("bases").unwrap().len(), 1);
}

#[test]
fn a_client_asks_no_other_store_than_the_one_it_was_opened_with() {
    let (kept, empty) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = |store: &Arc<MemoryStore>| {
        let listener = listener.try_clone().unwrap();
        StoreServer::start(store.clone(), listener, trust(None)).unwrap()
    };
    let server = at(&kept);
    let address = server.address().to_string();
    let log = TcpLog::open(&address, &options(trust(None))).unwrap();
    log.append_at(1, b"one").unwrap();
    drop(server);
    let server = at(&empty);
    let error = log.append_at(2, b"two").unwrap_err();
    assert!(error.is_unclear(), "{error}");
    assert!(
        error.to_string().contains("not the store of before"),
        "{error}"
    );
    assert_eq!(empty.entries(), 0);
    drop(server);
    let _server = at(&kept);
    assert_eq!(log.append_at(2, b"two").unwrap(), Appended::Ok);
}
