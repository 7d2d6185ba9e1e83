//! A standby and its primary over TLS; and those that do not belong together, each told so in a sentence.

use crate::common::{Authority, LONG, Wish};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sardonyx::disk::GroupLimits;
use sardonyx::{Options, Shape, Tables, record};
use sardonyx_base::transport::{Transport, TransportError};
use sardonyx_standby::{
    ListeningStandby, Patience, RemoteError, Standby, StandbyOptions, StandbyServer,
};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

record! {
    #[table("accounts", key = id)]
    struct Account {
        id: u64,
        balance: i64,
    }
}

fn standby(directory: &Path, transport: Option<Arc<dyn Transport>>) -> ListeningStandby {
    let options = StandbyOptions::new().log_bytes_max(2 << 20);
    let options = match transport {
        Some(transport) => options.transport(transport),
        None => options,
    };
    let server = StandbyServer::open(directory, options).unwrap();
    server.listen("127.0.0.1:0").unwrap()
}

fn primary(address: impl ToString, transport: Option<Arc<dyn Transport>>) -> Arc<Standby> {
    let patience = Patience {
        connect_max: LONG,
        silence_max: LONG,
        ..Patience::default()
    };
    match transport {
        Some(transport) => Standby::over(transport, address.to_string(), None, patience),
        None => Standby::with_patience(address.to_string(), patience),
    }
}

fn options() -> Options {
    Options::new()
        .segment_bytes(256 << 10)
        .log_bytes_max(2 << 20)
        .log_bytes_prepared(0)
        .memory_bytes_max(64 << 20)
        .group_limits(GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 64 << 10,
            depth: 2,
            buffers: 6,
        })
        .shape(Shape::Coalesced)
}

fn insert(bank: &Tables, ids: std::ops::Range<u64>) {
    let accounts = bank.table::<Account>().unwrap();
    for id in ids {
        let account = Account { id, balance: 1 };
        bank.run(|tx| tx.insert(accounts, &account).map(|_| ()))
            .unwrap();
    }
}

fn count(bank: &Tables) -> u64 {
    let accounts = bank.table::<Account>().unwrap();
    bank.run(|tx| tx.count(accounts)).unwrap()
}

#[test]
fn a_standby_over_tls_has_everything_and_gives_the_image_back() {
    let machine = tempfile::tempdir().unwrap();
    let (here, there) = (machine.path().join("bank"), machine.path().join("standby"));
    let authority = Authority::new("bank");
    let server = standby(&there, Some(Arc::new(authority.process())));
    // Who says nothing keeps nobody away.
    let silent: Vec<_> = (0..48)
        .map(|_| TcpStream::connect(server.address()).unwrap())
        .collect();
    let at = primary(server.address(), Some(Arc::new(authority.process())));
    let bank = options()
        .checkpoint_at(at.clone())
        .open_tables(&here)
        .unwrap();
    // Else the log here may be full before it is heard.
    assert!(at.wait_for(|status| status.connected, LONG));
    insert(&bank, 0..2000);
    assert!(at.wait_until_caught_up(LONG), "{:?}", at.status());
    bank.checkpoint().unwrap();
    insert(&bank, 2000..6000);
    bank.checkpoint().unwrap();
    bank.close().unwrap();
    drop(silent);
    // What its own log no longer has comes from the standby.
    let at = primary(server.address(), Some(Arc::new(authority.process())));
    let bank = options()
        .checkpoint_at(at.clone())
        .open_tables(&here)
        .unwrap();
    assert_eq!(count(&bank), 6000);
    assert!(at.wait_for(|status| status.connected, LONG));
    insert(&bank, 6000..6100);
    assert!(at.wait_until_caught_up(LONG), "{:?}", at.status());
    bank.close().unwrap();
    server.stop();
    let bank = options().open_tables(&there).unwrap();
    assert_eq!(count(&bank), 6100);
}

/// What a primary is told that cannot have this standby.
fn trouble(at: &Arc<Standby>) -> RemoteError {
    let machine = tempfile::tempdir().unwrap();
    let options = options().checkpoint_at(at.clone());
    let bank = options.open_tables(machine.path().join("bank")).unwrap();
    // It works on all the same.
    insert(&bank, 0..3);
    assert!(at.wait_for(|status| status.trouble.is_some(), LONG));
    at.status().trouble.unwrap()
}

fn is_told(trouble: &RemoteError, what: &str) {
    assert!(
        matches!(trouble, RemoteError::Transport { .. }),
        "{trouble}"
    );
    let text = trouble.to_string();
    assert!(text.contains(what), "{text}");
}

#[test]
fn those_of_another_ca_or_another_transport_are_told_so() {
    let (bank, other) = (Authority::new("bank"), Authority::new("other"));
    let transport = |authority: &Authority| -> Option<Arc<dyn Transport>> {
        Some(Arc::new(authority.process()))
    };
    let machine = tempfile::tempdir().unwrap();
    let secret = standby(&machine.path().join("secret"), transport(&bank));
    let plain = standby(&machine.path().join("plain"), None);
    let cases = [
        (&secret, transport(&other), "another CA"),
        (&secret, None, "it uses TLS, and this process does not"),
        (&plain, transport(&bank), "speaks another protocol"),
    ];
    for (server, transport, what) in cases {
        is_told(&trouble(&primary(server.address(), transport)), what);
        assert!(server.report().is_none(), "nothing was made for it");
    }
    // And who belongs to it is served.
    let at = primary(secret.address(), transport(&bank));
    let options = options().checkpoint_at(at.clone());
    let open = options.open_tables(machine.path().join("bank")).unwrap();
    insert(&open, 0..10);
    assert!(at.wait_until_caught_up(LONG), "{:?}", at.status());
}

#[test]
fn a_standby_whose_certificate_has_expired_is_not_trusted() {
    let bank = Authority::new("bank");
    let (certificate, key) = bank.sign(&Wish {
        until: Some(2020),
        ..Wish::default()
    });
    let certificates = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificates], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // One of the bank's own standbys refuses to start with such a certificate.
    let expired = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut machine = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        while machine.complete_io(&mut socket).is_ok() {}
    });
    let trouble = trouble(&primary(address, Some(Arc::new(bank.process()))));
    is_told(&trouble, "its certificate has expired");
    let RemoteError::Transport { source, .. } = &trouble else {
        panic!("{trouble}")
    };
    assert!(matches!(source, TransportError::NotTrusted { .. }));
    expired.join().unwrap();
}
