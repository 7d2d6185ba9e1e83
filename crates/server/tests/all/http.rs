//! HTTP over real sockets: a server of its own, TLS and passwords where other hosts can connect, clients that wait.

use crate::common::Running;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use sardonyx_server::metrics::Protocol;
use sardonyx_server::scram::Verifier;
use sardonyx_server::state::State;
use sardonyx_server::{Options, Right, TlsFiles, User};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

fn http_at(endpoint: &str) -> Options {
    Options {
        postgres: Vec::new(),
        redis: Vec::new(),
        http: vec![endpoint.parse().unwrap()],
        ..Options::default()
    }
}

fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    stream
}

fn get(stream: &mut (impl Read + Write), path: &str, headers: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // Even without a TLS close message, the answer is complete.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_server_tells_what_it_does() {
    let running = Running::start(http_at("127.0.0.1:0"));
    let at = running.address();
    let get = |path: &str| get(&mut connect(at), path, "");
    assert!(get("/readyz").ends_with("\r\n\r\nready\n"));
    let state = get("/api/state");
    let (_, json) = state.split_once("\r\n\r\n").unwrap();
    let state: State = serde_json::from_str(json).unwrap();
    let http = state.clients.iter().find(|one| one.protocol == "http");
    // This connection, and the one before, whose request has been counted.
    let http = http.unwrap();
    assert_eq!((http.opened, http.statements), (2, 1));
    assert!(get("/metrics").contains("\nsardonyx_connections_opened_total{protocol=\"http\"} "));
    assert!(get("/").contains("content-security-policy: default-src 'none'"));
    let served = running.server.as_ref().unwrap().addresses();
    assert_eq!(served[0].0, Protocol::Http);
}

#[test]
fn a_server_stops_in_spite_of_clients_that_wait() {
    let mut options = http_at("127.0.0.1:0");
    options.limits.drain = Duration::from_millis(200);
    let mut running = Running::start(options);
    let mut silent = connect(running.address());
    let mut half = connect(running.address());
    half.write_all(b"GET /livez HTTP/1.1\r\nHost:").unwrap();
    let mut idle = connect(running.address());
    let request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    idle.write_all(request).unwrap();
    idle.read_exact(&mut [0; 12]).unwrap();
    running.server.take().unwrap().stop();
    let mut rest = Vec::new();
    for stream in [&mut silent, &mut half, &mut idle] {
        // Ended or cut off: not waited for.
        let _ = stream.read_to_end(&mut rest);
    }
}

#[test]
fn others_are_served_over_tls_and_with_a_password() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let (certificate, key) = (
        directory.path().join("cert.pem"),
        directory.path().join("key.pem"),
    );
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mut options = http_at("0.0.0.0:0");
    options.tls = Some(TlsFiles { certificate, key });
    let ada = User {
        verifier: Verifier::of_password("pencil").unwrap(),
        tables: Right::Own,
        table: BTreeMap::new(),
        keys: Right::Own,
    };
    options.users.insert("ada".into(), ada);
    let running = Running::start(options);
    let at = SocketAddr::from(([127, 0, 0, 1], running.address().port()));
    let mut trusted = RootCertStore::empty();
    let certificate = CertificateDer::from(made.cert.der().to_vec());
    trusted.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let config = Arc::new(config);
    let get = |headers: &str| {
        let name = ServerName::try_from("localhost").unwrap();
        let tls = ClientConnection::new(config.clone(), name).unwrap();
        get(&mut StreamOwned::new(tls, connect(at)), "/metrics", headers)
    };
    assert!(get("").starts_with("HTTP/1.1 401 "));
    let basic = |both: &str| format!("Authorization: Basic {}\r\n", BASE64_STANDARD.encode(both));
    assert!(get(&basic("ada:pen")).starts_with("HTTP/1.1 401 "));
    let answer = get(&basic("ada:pencil"));
    assert!(answer.contains("\nsardonyx_ready 1\n"), "{answer}");
    // Without TLS the server sends no answer.
    let mut plain = connect(at);
    let said = plain.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut answer = Vec::new();
    let _ = said.and_then(|()| plain.read_to_end(&mut answer));
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[test]
fn what_clients_are_told_is_counted() {
    let mut options = crate::common::postgres_alone();
    options.limits.slow_statement = Duration::ZERO;
    let running = Running::start(options);
    let mut client = running.client();
    let create = "CREATE TABLE seen (id bigint PRIMARY KEY)";
    client.batch_execute(create).unwrap();
    client.batch_execute("SELECT * FROM nowhere").unwrap_err();
    let metrics = running.server.as_ref().unwrap().metrics();
    let told = metrics.errors().into_iter().filter(|(_, count)| *count > 0);
    assert_eq!(told.collect::<Vec<_>>(), [("42", 1)]);
    let (slow, total) = metrics.slow_statements();
    let created = slow.iter().find(|one| one.text == create).unwrap();
    assert_eq!((created.user.as_str(), created.times), ("ada", 1));
    assert!(total >= 1);
}
