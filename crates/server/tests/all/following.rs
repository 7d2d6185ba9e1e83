//! A host that does not serve sends clients away in their protocol's way; a host whose lease has run out sends no
//! answers.

use crate::common::{Socket, postgres_alone, query, small};
use sardonyx_server::metrics::Protocol;
use sardonyx_server::state::{Host, SeesHost};
use sardonyx_server::{Doors, Endpoint, Following, Lease, Options, Server};
use sardonyx_sql::{Database, Outcome, Session, SessionOptions, Step};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Every protocol, at ports that the system chooses.
fn everywhere() -> Options {
    let here = || vec!["127.0.0.1:0".parse().unwrap()];
    Options {
        redis: here(),
        http: here(),
        ..postgres_alone()
    }
}

fn address(doors: &Doors, wanted: Protocol) -> SocketAddr {
    let mut found = doors
        .addresses()
        .iter()
        .filter(|(protocol, _)| *protocol == wanted);
    match found.next() {
        Some((_, Endpoint::Tcp(address))) => *address,
        other => panic!("{other:?}"),
    }
}

fn connect(doors: &Doors, protocol: Protocol) -> Socket {
    let stream = TcpStream::connect(address(doors, protocol)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    Socket(stream)
}

/// The answers to these bytes until the connection ends.
fn answer(doors: &Doors, protocol: Protocol, request: &str) -> String {
    let mut socket = connect(doors, protocol);
    socket.0.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.0.read_to_string(&mut answer).unwrap();
    answer
}

fn get(doors: &Doors, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    answer(doors, Protocol::Http, &request)
}

fn host() -> SeesHost {
    SeesHost::new(|| Host {
        name: "host-2".into(),
        entry: Some(7),
        behind_seconds: Some(1.5),
        forks: 1,
        ..Host::default()
    })
}

#[test]
fn clients_of_a_host_that_follows_are_sent_away_by_their_own_words() {
    let doors = Doors::open(&everywhere()).unwrap();
    let says = || "host host-1 serves".to_string();
    let following = Following::start(everywhere(), &doors, says, host()).unwrap();
    let mut socket = connect(&doors, Protocol::Postgres);
    socket.start(&[]);
    let [(b'E', body)] = &socket.rest()[..] else {
        panic!("one error is expected");
    };
    let body = String::from_utf8_lossy(body);
    assert!(
        body.contains("C57P03\0") && body.contains("SFATAL\0"),
        "{body}"
    );
    assert!(body.contains("host host-1 serves"), "{body}");
    for request in ["PING\r\n", "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n"] {
        let told = answer(&doors, Protocol::Redis, request);
        assert!(
            told.starts_with("-LOADING ") && told.ends_with("host-1 serves\r\n"),
            "{told}"
        );
    }
    assert!(get(&doors, "/livez").starts_with("HTTP/1.1 200 "));
    let told = get(&doors, "/metrics");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    for line in [
        "sardonyx_ready 0",
        "sardonyx_host_serves{host=\"host-2\"} 0",
        "sardonyx_host_lease_seconds 0",
        "sardonyx_host_entry 7",
        "sardonyx_host_behind_seconds 1.5",
        "sardonyx_host_forks 1",
    ] {
        assert!(told.contains(&format!("\n{line}\n")), "{line}: {told}");
    }
    assert!(!told.contains("base_age"), "{told}");
    for path in ["/readyz", "/api/state", "/"] {
        let told = get(&doors, path);
        assert!(
            told.starts_with("HTTP/1.1 503 ") && told.contains("host-1 serves"),
            "{told}"
        );
    }
    assert!(get(&doors, "/x").starts_with("HTTP/1.1 404 "));
    following.stop();
}

#[test]
fn who_connects_between_two_that_have_the_doors_is_served_by_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Arc::new(small().open_tables(directory.path().join("x.sdx")).unwrap());
    let database = Database::new(tables.clone()).unwrap();
    let doors = Doors::open(&everywhere()).unwrap();
    for _ in 0..2 {
        Following::start(everywhere(), &doors, String::new, host())
            .unwrap()
            .stop();
        // No server has the doors now.
        let mut early = connect(&doors, Protocol::Postgres);
        early.start(&[]);
        let lease = Lease::while_held(|| true).of_host(host());
        let server = Server::start_at(database.clone(), everywhere(), &doors, lease).unwrap();
        early.until(b'Z');
        let told = get(&doors, "/metrics");
        let line = "sardonyx_host_serves{host=\"host-2\"}";
        assert!(
            told.contains(line) && told.contains("sardonyx_uptime"),
            "{told}"
        );
        assert!(get(&doors, "/readyz").starts_with("HTTP/1.1 200 "));
        assert_eq!(answer_of_ping(&doors), "+PONG\r\n");
        server.stop();
        let told = early.rest();
        assert!(String::from_utf8_lossy(&told[0].1).contains("C57P01\0"));
    }
    tables.close().unwrap();
}

fn answer_of_ping(doors: &Doors) -> String {
    let mut socket = connect(doors, Protocol::Redis);
    socket.send(b"PING\r\n");
    let mut answer = [0; 7];
    socket.0.read_exact(&mut answer).unwrap();
    String::from_utf8(answer.to_vec()).unwrap()
}

/// Notifies the channel `a` from a session of the program's own.
fn notify(database: &Arc<Database>) {
    let mut session = Session::new(database.clone(), SessionOptions::default()).unwrap();
    let statement = session.prepare("NOTIFY a", &[]).unwrap().remove(0);
    let execute = Step::Execute {
        statement,
        parameters: Vec::new(),
        rows_max: 0,
    };
    let outcomes = sardonyx_base::parking::wait(session.run(vec![execute, Step::Sync]));
    assert!(matches!(outcomes[0], Outcome::Done(_)), "{outcomes:?}");
}

#[test]
fn without_its_lease_a_server_sends_no_answer_not_even_of_what_it_has_read() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Arc::new(small().open_tables(directory.path().join("x.sdx")).unwrap());
    let database = Database::new(tables.clone()).unwrap();
    let doors = Doors::open(&everywhere()).unwrap();
    let held = Arc::new(AtomicBool::new(true));
    let lease = {
        let held = held.clone();
        Lease::while_held(move || held.load(Ordering::SeqCst))
    };
    let server = Server::start_at(database.clone(), everywhere(), &doors, lease).unwrap();
    let mut socket = connect(&doors, Protocol::Postgres);
    socket.start(&[]);
    socket.until(b'Z');
    socket.send(&query("SELECT 1"));
    assert!(socket.until(b'Z').contains('D'));
    let mut listener = connect(&doors, Protocol::Postgres);
    listener.start(&[]);
    listener.until(b'Z');
    listener.send(&query("LISTEN a"));
    listener.until(b'Z');
    held.store(false, Ordering::SeqCst);
    notify(&database);
    assert_eq!(listener.rest(), []);
    socket.send(&query("SELECT 1"));
    assert_eq!(socket.rest(), []);
    let told = get(&doors, "/readyz");
    assert!(
        told.starts_with("HTTP/1.1 503 ") && told.contains("lease"),
        "{told}"
    );
    assert!(get(&doors, "/livez").starts_with("HTTP/1.1 200 "));
    server.stop_at_once();
    tables.close().unwrap();
}
