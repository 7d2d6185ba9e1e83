//! A running server applies changed options: a renewed certificate, and users whose passwords arrive in plain text.

use crate::common::{Running, Socket, postgres_alone};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use sardonyx_server::scram::Verifier;
use sardonyx_server::{Options, Right, ServerError, TlsFiles, User};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;

/// Makes a certificate and its key.
fn renew(files: &TlsFiles) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    made.cert.der().clone()
}

/// Returns true if the server shows a client this certificate.
fn shows(running: &Running, certificate: &CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut socket = running.socket();
    socket.send(b"\0\0\0\x08\x04\xd2\x16\x2f");
    let mut answer = [0];
    socket.0.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    let name = "localhost".try_into().unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    client.complete_io(&mut socket.0).is_ok()
}

fn users(names: &[&str]) -> BTreeMap<String, User> {
    let user = |name: &&str| {
        let user = User {
            verifier: Verifier::of_password(&format!("{name}-secret")).unwrap(),
            tables: Right::Own,
            table: BTreeMap::new(),
            keys: Right::Own,
        };
        (name.to_string(), user)
    };
    names.iter().map(user).collect()
}

#[test]
fn a_renewed_certificate_is_shown_and_a_bad_one_leaves_the_last() {
    let directory = tempfile::tempdir().unwrap();
    let files = TlsFiles {
        certificate: directory.path().join("cert.pem"),
        key: directory.path().join("key.pem"),
    };
    let first = renew(&files);
    let options = Options {
        tls: Some(files.clone()),
        ..postgres_alone()
    };
    let running = Running::start(options.clone());
    let server = running.server.as_ref().unwrap();
    assert!(shows(&running, &first));
    let second = renew(&files);
    assert!(shows(&running, &first) && !shows(&running, &second));
    assert_eq!(server.reload(options.clone()).unwrap(), [""; 0]);
    assert!(shows(&running, &second) && !shows(&running, &first));
    std::fs::write(&files.key, "no key").unwrap();
    let wrong = Options {
        users: users(&["ada"]),
        ..options
    };
    let error = server.reload(wrong).unwrap_err();
    assert!(matches!(error, ServerError::Tls { .. }), "{error}");
    // Now no users are configured either.
    assert!(shows(&running, &second) && running.try_client("eve", "").is_ok());
    assert_eq!(server.reload(postgres_alone()).unwrap(), ["tls"]);
    assert!(shows(&running, &second));
}

#[test]
fn passwords_of_redis_clients_and_of_postgres_are_those_of_the_last_reload() {
    let options = |names| Options {
        redis: vec!["127.0.0.1:0".parse().unwrap()],
        users: users(names),
        ..postgres_alone()
    };
    let running = Running::start(options(&[]));
    let server = running.server.as_ref().unwrap();
    let redis = server.addresses()[1].1.to_string();
    let ask = |command: &str| {
        let mut socket = Socket(TcpStream::connect(&redis).unwrap());
        socket.send(format!("{command}\r\n").as_bytes());
        let mut answer = [0; 3];
        socket.0.read_exact(&mut answer).unwrap();
        String::from_utf8(answer.to_vec()).unwrap()
    };
    assert_eq!(ask("SET k 1"), "+OK");
    assert_eq!(server.reload(options(&["ada"])).unwrap(), [""; 0]);
    assert_eq!(ask("SET k 1"), "-NO");
    assert_eq!(ask("AUTH ada ada-secret"), "+OK");
    assert_eq!(ask("AUTH eve eve-secret"), "-WR");
    assert!(running.try_client("ada", "ada-secret").is_ok());
    assert_eq!(server.reload(options(&["eve"])).unwrap(), [""; 0]);
    assert_eq!(ask("AUTH ada ada-secret"), "-WR");
    assert_eq!(ask("AUTH eve eve-secret"), "+OK");
    assert!(running.try_client("ada", "ada-secret").is_err());
    // A file without users does not open the server to every client.
    assert_eq!(server.reload(options(&[])).unwrap(), ["users"]);
    assert_eq!(ask("SET k 1"), "-NO");
    assert_eq!(ask("AUTH eve eve-secret"), "+OK");
    // The endpoints stay, and the differences are returned.
    let elsewhere = Options {
        redis: Vec::new(),
        ..options(&["eve"])
    };
    assert_eq!(server.reload(elsewhere).unwrap(), ["redis"]);
    assert_eq!(ask("AUTH eve eve-secret"), "+OK");
}
