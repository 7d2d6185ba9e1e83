//! Processes, nodes and the page server, that are killed at random points, or stopped; acknowledged transactions are
//! [witnessed](crate::node::tests::witnessed) from outside.

use super::proxy::Proxy;
use super::together::join;
use super::{LONG, register};
use crate::node::NodeError;
use crate::node::loose::{LooseNode, LooseOptions, OneHost};
use crate::node::tables::tests::place::serve;
use crate::node::tests::bank;
use crate::node::tests::witnessed::{Workers, work};
use crate::protocol::{Division, UpdateStrategy};
use rustix::process::Signal;
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Victim, acknowledge, begin, say, test_program};
use sardonyx_storage::engine::StorageOptions;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
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
        self,
        node: LooseNode,
        count: u64,
        mut transfer: impl FnMut(&LooseNode, &mut Random) -> u64,
    ) {
        let transfer = |random: &mut Random| transfer(&node, random);
        work(self.worker, count, TRANSACTIONS, transfer);
    }
}

#[test]
fn child() {
    if let Some(database) = std::env::var_os(DATABASE) {
        let server = serve(Path::new(&database), PAGES, storage());
        say(format_args!("at {}", server.address())).unwrap();
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
        return until_stopped(&node, worker, count);
    }
    told.work(node, count, |node, random| {
        bank::transfer(node, worker, random).unwrap()
    });
}

/// Works until the node has stopped, which then acknowledges nothing, neither written nor read.
fn until_stopped(node: &LooseNode, worker: u64, mut count: u64) {
    begin(worker, count).unwrap();
    let mut random = Random::stream(count, worker);
    let stopped = loop {
        match bank::transfer(node, worker, &mut random) {
            Ok(next) => count = next,
            Err(error) => break error,
        }
        acknowledge(worker, count).unwrap();
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
}

/// A page server, which ends with the process that starts it.
fn start_server(database: &Path, proxy: &Proxy) -> Victim {
    let mut command = test_program(&child).unwrap();
    command.env(DATABASE, database).stdin(Stdio::piped());
    let mut server = Victim::start(&mut command).unwrap();
    let address = server.said("at ").expect("a page server");
    proxy.lead_to(Some(address.parse().unwrap()));
    server
}

/// The command of a worker at this page server.
fn worker_at<C>(child: &C, server: SocketAddr, members: &Path, worker: usize) -> Command {
    let mut command = test_program(child).unwrap();
    command.env(MEMBERS, members);
    command.env(SERVER, server.to_string());
    command.env(WORKER, worker.to_string());
    command
}

/// Runs workers, each the test `child`, and kills some of them, and page servers. In the end `check` is called with how
/// many transactions each is known to have committed.
pub fn run<C>(child: &C, seed: u64, kill_servers: bool, check: impl Fn(&LooseNode, &[u64])) {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let proxy = Proxy::start();
    let mut server = start_server(database.path(), &proxy);
    let start = |worker| worker_at(child, proxy.address(), members.path(), worker);
    let mut random = Random::new(seed);
    let mut workers = Workers::start(WORKERS, start);
    for _ in 0..KILLS {
        let worker = random.below(WORKERS as u64) as usize;
        let more = 1 + random.below(TRANSACTIONS / 6);
        workers.goes_on(worker, more);
        if kill_servers && random.below(2) == 0 {
            // Another process may get its port.
            proxy.lead_to(None);
            drop(server);
            server = start_server(database.path(), &proxy);
            continue;
        }
        workers.kill_soon(worker, &mut random);
    }
    let witnessed = workers.hear_out();
    drop(server);
    let server = serve(database.path(), PAGES, storage());
    let register = register(members.path()).unwrap();
    let node = LooseNode::join(register, LooseOptions::new(server.address())).unwrap();
    check(&node, &witnessed);
}

#[test]
fn i9_nodes_killed_at_random_points_lose_nothing_acknowledged() {
    run(&child, 1, false, bank::check);
}

#[test]
fn i9_a_page_server_killed_at_random_points_loses_nothing_acknowledged() {
    run(&child, 2, true, bank::check);
}

#[test]
fn i12_a_stopped_node_is_shut_out_and_acknowledges_nothing_when_it_wakes_up() {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), PAGES, storage());
    let address = server.address();
    let workers = Workers::start(1, |worker| {
        let mut command = worker_at(&child, address, members.path(), worker);
        command.env(STOPS, "");
        command
    });
    assert!(workers.goes_on(0, 5));
    let survivor = join(&server, members.path(), UpdateStrategy::NoForce);
    assert_eq!(survivor.members().len(), 2);
    assert!(workers.goes_on(0, 5));
    workers.victim(0).signal(Signal::STOP).unwrap();
    // It has the authority for half of the pages, and perhaps locks: the survivor waits until it counts as failed.
    let (mut random, mut own) = (Random::new(3), 0);
    while survivor.members().len() > 1 || own < 40 {
        own = bank::transfer(&survivor, 1, &mut random).unwrap();
    }
    workers.victim(0).signal(Signal::CONT).unwrap();
    let witnessed = workers.hear_out()[0];
    let there = bank::count(&survivor, 0);
    assert!((witnessed..=witnessed + 1).contains(&there), "{there}");
    bank::check(&survivor, &[there, own]);
}
