//! Processes, nodes and the page server, that are killed at random points, or stopped; acknowledged transactions are
//! [witnessed](crate::node::tests::witnessed) from outside.

use super::proxy::Proxy;
use super::together::join;
use super::{LONG, register};
use crate::node::NodeError;
use crate::node::loose::{LooseNode, LooseOptions, OneHost};
use crate::node::tables::tests::place::serve;
use crate::node::tests::bank;
use crate::node::tests::witnessed::{Witnessed, said, work};
use crate::protocol::{Division, UpdateStrategy};
use rustix::process::Signal;
use sardonyx_base::random::Random;
use sardonyx_storage::engine::StorageOptions;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

const DATABASE: &str = "SARDONYX_TEST_LOOSE";
const MEMBERS: &str = "SARDONYX_TEST_LOOSE_MEMBERS";
const SERVER: &str = "SARDONYX_TEST_LOOSE_SERVER";
const WORKER: &str = "SARDONYX_TEST_LOOSE_WORKER";
const STOPS: &str = "SARDONYX_TEST_LOOSE_STOPS";

/// Long enough that no busy host takes a node that runs for stopped.
const STOPPED_PROCESS_WAIT: Duration = Duration::from_secs(6);

pub const WORKERS: usize = 3;
const KILLS: u64 = 8;
/// Transactions of a worker that is not killed.
const TRANSACTIONS: u64 = 80;
const PAGES: u64 = 512;

fn storage() -> StorageOptions {
    StorageOptions {
        identity: Some(78),
        memory_bytes_max: 1 << 25,
        workers: 1,
        ..StorageOptions::default()
    }
}

/// The answers that a worker got.
pub struct Told {
    members: OsString,
    server: SocketAddr,
    pub worker: u64,
    /// It is stopped until the others have continued without it.
    stops: bool,
    out: File,
}

impl Told {
    /// The role of this process, if it is a worker.
    pub fn here() -> Option<Told> {
        let members = std::env::var_os(MEMBERS)?;
        Some(Told {
            members,
            server: std::env::var(SERVER).unwrap().parse().unwrap(),
            worker: std::env::var(WORKER).unwrap().parse().unwrap(),
            stops: std::env::var_os(STOPS).is_some(),
            out: said(),
        })
    }

    /// Joins. The page server may be away just now.
    pub fn join(&self, buffer_pages: usize) -> LooseNode {
        loop {
            let options = LooseOptions {
                buffer_pages,
                division: Division::spread(16),
                ..LooseOptions::new(self.server)
            };
            let wait = match self.stops {
                true => STOPPED_PROCESS_WAIT,
                false => LONG,
            };
            let register = OneHost::open(&self.members).unwrap();
            let register = register.with_stopped_process_wait(wait);
            if let Ok(node) = LooseNode::join(Box::new(register), options) {
                return node;
            }
        }
    }

    /// Works: `count` returns the present number, `transfer` runs one transaction more.
    pub fn work(
        mut self,
        node: LooseNode,
        count: u64,
        mut transfer: impl FnMut(&LooseNode, &mut Random) -> u64,
    ) {
        let transfer = |random: &mut Random| transfer(&node, random);
        work(&mut self.out, self.worker, count, TRANSACTIONS, transfer);
        drop(node);
        writeln!(self.out, "ends").unwrap();
    }
}

#[test]
fn child() {
    if let Some(database) = std::env::var_os(DATABASE) {
        let server = serve(Path::new(&database), PAGES, storage());
        writeln!(said(), "at {}", server.address()).unwrap();
        // Until it is killed, or its parent ends.
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    let Some(told) = Told::here() else {
        return;
    };
    let worker = told.worker;
    let node = told.join(8);
    let count = bank::count(&node, worker);
    if told.stops {
        return until_stopped(&mut said(), &node, worker, count);
    }
    told.work(node, count, |node, random| {
        bank::transfer(node, worker, random).unwrap()
    });
}

/// Works until the node has stopped, which then acknowledges nothing, neither written nor read.
fn until_stopped(out: &mut File, node: &LooseNode, worker: u64, mut count: u64) {
    writeln!(out, "begins {count}").unwrap();
    let mut random = Random::stream(count, worker);
    let stopped = loop {
        match bank::transfer(node, worker, &mut random) {
            Ok(next) => count = next,
            Err(error) => break error,
        }
        writeln!(out, "count {count}").unwrap();
    };
    let is_stopped = |error: &NodeError| {
        matches!(
            error,
            NodeError::Stopped { .. } | NodeError::ShutOut { .. } | NodeError::Fenced(_)
        )
    };
    for page in 0..PAGES {
        let read = node.run(|tx| tx.read(page, 0..8));
        assert!(read.is_err_and(|error| is_stopped(&error)), "page {page}");
    }
    assert!(is_stopped(&stopped), "{stopped}");
    assert!(node.check().is_err());
    writeln!(out, "stopped").unwrap();
}

const CHILD: &str = concat!(module_path!(), "::child");

/// A page server, and where it is.
fn start_server(database: &Path, proxy: &Proxy) -> Witnessed {
    let mut server = Witnessed::start(CHILD, &[(DATABASE, database.as_os_str())]);
    loop {
        let line = server.line().expect("a page server");
        if let Some(address) = line.strip_prefix("at ") {
            proxy.lead_to(Some(address.parse().unwrap()));
            return server;
        }
    }
}

fn start_worker(child: &str, members: &Path, proxy: &Proxy, worker: usize) -> Witnessed {
    let (server, worker) = (proxy.address().to_string(), worker.to_string());
    let told: [(&str, &OsStr); 3] = [
        (MEMBERS, members.as_os_str()),
        (SERVER, server.as_ref()),
        (WORKER, worker.as_ref()),
    ];
    Witnessed::start(child, &told)
}

/// Runs workers, each the test `child`, and kills some of them, and page servers. In the end `check` is called with how
/// many transactions each is known to have committed.
pub fn run(child: &str, seed: u64, kill_servers: bool, check: impl Fn(&LooseNode, &[u64])) {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let proxy = Proxy::start();
    let mut server = start_server(database.path(), &proxy);
    let start = |worker| start_worker(child, members.path(), &proxy, worker);
    let mut random = Random::new(seed);
    let mut workers: Vec<Witnessed> = (0..WORKERS).map(start).collect();
    let mut witnessed = [0; WORKERS];
    for _ in 0..KILLS {
        let worker = random.below(WORKERS as u64) as usize;
        let more = 1 + random.below(TRANSACTIONS / 6);
        workers[worker].hear(more, &mut witnessed[worker]);
        if kill_servers && random.below(2) == 0 {
            // Another process may get its port.
            proxy.lead_to(None);
            drop(server);
            server = start_server(database.path(), &proxy);
            continue;
        }
        let killed = workers.remove(worker);
        killed.kill_soon(&mut random, &mut witnessed[worker]);
        workers.insert(worker, start(worker));
    }
    for (worker, witnessed) in workers.into_iter().zip(&mut witnessed) {
        worker.hear_out(witnessed);
    }
    drop(server);
    let server = serve(database.path(), PAGES, storage());
    let register = register(members.path()).unwrap();
    let node = LooseNode::join(register, LooseOptions::new(server.address())).unwrap();
    check(&node, &witnessed);
}

#[test]
fn i9_nodes_killed_at_random_points_lose_nothing_acknowledged() {
    run(CHILD, 1, false, bank::check);
}

#[test]
fn i9_a_page_server_killed_at_random_points_loses_nothing_acknowledged() {
    run(CHILD, 2, true, bank::check);
}

#[test]
fn i12_a_stopped_node_is_shut_out_and_acknowledges_nothing_when_it_wakes_up() {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), PAGES, storage());
    let address = server.address().to_string();
    let told: [(&str, &OsStr); 4] = [
        (MEMBERS, members.path().as_os_str()),
        (SERVER, address.as_ref()),
        (WORKER, "0".as_ref()),
        (STOPS, "".as_ref()),
    ];
    let mut worker = Witnessed::start(CHILD, &told);
    let mut witnessed = [0, 0];
    assert!(worker.hear(5, &mut witnessed[0]));
    let survivor = join(&server, members.path(), UpdateStrategy::NoForce);
    assert_eq!(survivor.members().len(), 2);
    assert!(worker.hear(5, &mut witnessed[0]));
    worker.signal(Signal::STOP);
    // It has the authority for half of the pages, and perhaps locks: the survivor waits until it counts as failed.
    let mut random = Random::new(3);
    while survivor.members().len() > 1 || witnessed[1] < 40 {
        witnessed[1] = bank::transfer(&survivor, 1, &mut random).unwrap();
    }
    worker.signal(Signal::CONT);
    worker.hear_out(&mut witnessed[0]);
    let there = bank::count(&survivor, 0);
    assert!(
        (witnessed[0]..=witnessed[0] + 1).contains(&there),
        "{there}"
    );
    bank::check(&survivor, &[there, witnessed[1]]);
}
