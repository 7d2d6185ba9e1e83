//! A log at another host over TLS: a database with its log there, and hosts that are refused.

use crate::common::Authority;
use sardonyx::disk::GroupLimits;
use sardonyx::hosts::{DurableAt, RemoteLog};
use sardonyx::{Options, record};
use sardonyx_base::greeting::Trust;
use sardonyx_base::transport::{Plain, Transport};
use sardonyx_remote::{RemoteOptions, StoreServer, TcpLog};
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::store::StoreError;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

record! {
    #[table("accounts", key = id)]
    struct Account {
        id: u64,
        balance: i64,
    }
}

fn trust(transport: Arc<dyn Transport>) -> Trust {
    let token = None;
    Trust { transport, token }
}

fn serve(transport: Arc<dyn Transport>) -> (StoreServer, Arc<MemoryStore>) {
    let store: Arc<MemoryStore> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = StoreServer::start(store.clone(), listener, trust(transport)).unwrap();
    (server, store)
}

fn open(server: &StoreServer, transport: Arc<dyn Transport>) -> Result<TcpLog, StoreError> {
    let options = RemoteOptions {
        trust: Some(trust(transport)),
        ..RemoteOptions::default()
    };
    TcpLog::open(&server.address().to_string(), &options)
}

#[test]
fn a_database_whose_log_is_at_another_host_is_there_on_a_third() {
    let machine = tempfile::tempdir().unwrap();
    let bank = Authority::new("bank");
    let (server, store) = serve(Arc::new(bank.process()));
    let options = || {
        let log = open(&server, Arc::new(bank.process())).unwrap();
        Options::new().store(RemoteLog::new(Arc::new(log)))
    };
    let tables = options().open_tables(machine.path().join("one")).unwrap();
    let accounts = tables.table::<Account>().unwrap();
    for id in 0..100 {
        let account = Account { id, balance: 1 };
        tables.run(|tx| tx.insert(accounts, &account)).unwrap();
    }
    // Acknowledged transactions are there.
    assert!(store.entries() > 100, "{}", store.entries());
    tables.close().unwrap();
    let tables = options().open_tables(machine.path().join("other")).unwrap();
    let accounts = tables.table::<Account>().unwrap();
    assert_eq!(tables.run(|tx| tx.count(accounts)).unwrap(), 100);
    tables.close().unwrap();
}

#[test]
fn a_database_whose_checkpoints_are_left_to_followers_gets_back_what_its_log_lacks() {
    let machine = tempfile::tempdir().unwrap();
    let bank = Authority::new("bank");
    let (server, _store) = serve(Arc::new(bank.process()));
    // Silent connections keep no host away.
    let silent: Vec<_> = (0..48)
        .map(|_| TcpStream::connect(server.address()).unwrap())
        .collect();
    let log = || RemoteLog {
        durable_at: DurableAt::Local,
        ..RemoteLog::new(Arc::new(open(&server, Arc::new(bank.process())).unwrap()))
    };
    let limits = GroupLimits {
        group_bytes: 64 << 10,
        transaction_bytes: 64 << 10,
        depth: 2,
        buffers: 6,
    };
    let options = || {
        Options::new()
            .segment_bytes(256 << 10)
            .log_bytes_max(2 << 20)
            .log_bytes_prepared(0)
            .group_limits(limits)
            .store(log())
            .checkpoints_at_followers()
    };
    let path = machine.path().join("here");
    let tables = options().open_tables(&path).unwrap();
    let accounts = tables.table::<Account>().unwrap();
    for id in 0..1500 {
        let account = Account { id, balance: 1 };
        tables.run(|tx| tx.insert(accounts, &account)).unwrap();
    }
    tables.checkpoint().unwrap();
    tables.close().unwrap();
    assert!(
        !path.join("log/0000000000000000.log").exists(),
        "it went round"
    );
    let tables = options().open_tables(&path).unwrap();
    let accounts = tables.table::<Account>().unwrap();
    assert_eq!(tables.run(|tx| tx.count(accounts)).unwrap(), 1500);
    drop(silent);
}

#[test]
fn a_host_of_another_ca_or_another_transport_is_refused_by_name() {
    let (bank, other) = (Authority::new("bank"), Authority::new("other"));
    let (secret, _) = serve(Arc::new(bank.process()));
    let (plain, _) = serve(Arc::new(Plain));
    let cases: [(&StoreServer, Arc<dyn Transport>, &str); 3] = [
        (&secret, Arc::new(other.process()), "another CA"),
        (
            &secret,
            Arc::new(Plain),
            "it uses TLS, and this process does not",
        ),
        (&plain, Arc::new(bank.process()), "speaks another protocol"),
    ];
    for (server, transport, reason) in cases {
        let error = open(server, transport).unwrap_err();
        // After a certain error the request is not repeated.
        assert_eq!(error.is_unclear(), reason != "another CA", "{error}");
        let text = error.to_string();
        assert!(text.contains(reason), "{text}");
    }
    open(&secret, Arc::new(bank.process())).unwrap();
}
