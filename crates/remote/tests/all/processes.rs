//! A store over TCP and the process that keeps it: its threads take none of the program's signals, and a forked child ends
//! neither it nor its connections. Each test runs in a process of its own: others' threads would be taken for the store's.

use crate::alone::alone;
use crate::fork::Fork;
use sardonyx_base::greeting::Trust;
use sardonyx_base::transport::Plain;
use sardonyx_remote::{RemoteOptions, StoreServer, TcpLog};
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::store::{Appended, RemoteStore};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

/// SIGHUP, SIGINT, SIGUSR1, SIGALRM, SIGTERM, SIGCHLD, SIGPROF, as programs receive them.
const SIGNALS: [u32; 7] = [1, 2, 10, 14, 15, 17, 27];

fn trust() -> Trust {
    Trust {
        transport: Arc::new(Plain),
        token: None,
    }
}

fn serve() -> (StoreServer, TcpLog) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let store: Arc<MemoryStore> = Arc::default();
    let server = StoreServer::start(store, listener, trust()).unwrap();
    let options = RemoteOptions {
        trust: Some(trust()),
        ..RemoteOptions::default()
    };
    let log = TcpLog::open(&server.address().to_string(), &options).unwrap();
    (server, log)
}

/// The threads of this process, with their names and the signals that they block.
fn threads() -> BTreeMap<u64, (String, u64)> {
    let mut found = BTreeMap::new();
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = thread.unwrap().path();
        let number = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        // A thread that has just ended has no status any more.
        let Ok(status) = std::fs::read_to_string(path.join("status")) else {
            continue;
        };
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let blocked = u64::from_str_radix(&field("SigBlk:"), 16).unwrap();
        found.insert(number, (field("Name:"), blocked));
    }
    found
}

#[test]
fn no_thread_of_a_store_takes_the_programs_signals() {
    alone(|| {
        let own = threads();
        let (_server, log) = serve();
        assert_eq!(log.append_at(1, b"an entry").unwrap(), Appended::Ok);
        let mut theirs = 0;
        for (number, (name, blocked)) in threads() {
            if own.contains_key(&number) {
                continue;
            }
            theirs += 1;
            for signal in SIGNALS {
                assert!(
                    blocked & 1 << (signal - 1) != 0,
                    "signal {signal} of the thread {name}, which blocks {blocked:#x}"
                );
            }
        }
        // One that listens, and one of the connection.
        assert!(theirs > 1, "{theirs}");
    });
}

#[test]
fn i9_a_forked_child_ends_neither_its_parents_store_nor_a_connection() {
    alone(|| {
        let (server, log) = serve();
        for number in 1..=6 {
            assert_eq!(log.append_at(number, b"before").unwrap(), Appended::Ok);
            let child = Fork::Library.child(|| {
                // SAFETY: nothing else uses them in this child, which ends without dropping them again.
                let both = unsafe {
                    let server = std::ptr::read(&raw const server);
                    (server, std::ptr::read(&raw const log))
                };
                drop(both);
                true
            });
            assert!(child.ends_content());
            // The same connection answers, and a new one, too.
            assert!(log.read(number).unwrap().is_some());
        }
        assert_eq!(log.list(1).unwrap().len(), 6);
        drop(log);
        drop(server);
    });
}
