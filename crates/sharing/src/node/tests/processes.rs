//! Processes share a database, transfer amounts between its pages, and are killed at random points.
//!
//! A transaction is one of [`bank`](super::bank)'s; acknowledged ones are [witnessed](super::witnessed) from outside.

use super::bank;
use super::witnessed::{Workers, work};
use crate::node::{Node, NodeOptions, Nodes};
use crate::protocol::UpdateStrategy;
use sardonyx_base::random::Random;
use sardonyx_base::victims::test_program;
use sardonyx_storage::engine::StorageOptions;
use std::path::{Path, PathBuf};
use std::process::Command;

const DIRECTORY: &str = "SARDONYX_TEST_NODES";
const MEMORY: &str = "SARDONYX_TEST_NODES_MEMORY";
const WORKER: &str = "SARDONYX_TEST_NODES_WORKER";
const UPDATE: &str = "SARDONYX_TEST_NODES_UPDATE";

pub const WORKERS: usize = 3;
const KILLS: u64 = 9;
/// Transactions of a worker that is not killed.
const TRANSACTIONS: u64 = 120;

fn options(memory: &Path, update: UpdateStrategy) -> NodeOptions {
    NodeOptions {
        pages: 512,
        slots: 8,
        shared_memory: memory.into(),
        update,
        buffer_pages: 16,
        storage: StorageOptions {
            identity: Some(77),
            memory_bytes_max: 1 << 24,
            workers: 1,
            ..StorageOptions::default()
        },
        ..NodeOptions::default()
    }
}

/// The answers that a worker got.
pub struct Told {
    pub directory: PathBuf,
    pub options: NodeOptions,
    pub worker: u64,
}

impl Told {
    /// The role of this process, if it is a worker.
    pub fn here() -> Option<Told> {
        let directory = std::env::var_os(DIRECTORY)?;
        let memory = std::env::var_os(MEMORY).unwrap();
        let update = match std::env::var(UPDATE).unwrap().as_str() {
            "force" => UpdateStrategy::Force,
            _ => UpdateStrategy::NoForce,
        };
        Some(Told {
            directory: directory.into(),
            options: options(Path::new(&memory), update),
            worker: std::env::var(WORKER).unwrap().parse().unwrap(),
        })
    }

    /// Works: `count` returns the present number, `transfer` runs one transaction more.
    pub fn work(self, count: u64, transfer: impl FnMut(&mut Random) -> u64) {
        work(self.worker, count, TRANSACTIONS, transfer);
    }
}

#[test]
fn child() {
    let Some(told) = Told::here() else {
        return;
    };
    let nodes = Nodes::open(&told.directory, told.options.clone()).unwrap();
    let node = nodes.join().unwrap();
    let worker = told.worker;
    told.work(bank::count(&node, worker), |random| {
        bank::transfer(&node, worker, random).unwrap()
    });
    assert!(node.statistics().committed >= TRANSACTIONS);
}

/// Runs workers, each the test `child`, and kills some of them. In the end `check` is called with how many
/// transactions each is known to have committed.
pub fn run<C>(child: &C, update: UpdateStrategy, seed: u64, check: impl Fn(&Node, &[u64])) {
    let directory = tempfile::tempdir().unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let strategy = match update {
        UpdateStrategy::Force => "force",
        UpdateStrategy::NoForce => "noforce",
    };
    let mut workers = Workers::start(WORKERS, |worker| -> Command {
        let mut command = test_program(child).unwrap();
        command.env(DIRECTORY, directory.path());
        command.env(MEMORY, memory.path()).env(UPDATE, strategy);
        command.env(WORKER, worker.to_string());
        command
    });
    let mut random = Random::new(seed);
    for _ in 0..KILLS {
        let worker = random.below(WORKERS as u64) as usize;
        let more = 1 + random.below(TRANSACTIONS / 6);
        workers.goes_on(worker, more);
        workers.kill_soon(worker, &mut random);
    }
    let witnessed = workers.hear_out();
    assert_eq!(std::fs::read_dir(memory.path()).unwrap().count(), 0);
    let nodes = Nodes::open(directory.path(), options(memory.path(), update)).unwrap();
    let node = nodes.join().unwrap();
    check(&node, &witnessed);
}

#[test]
fn i9_processes_killed_at_random_points_lose_nothing_acknowledged_force() {
    run(&child, UpdateStrategy::Force, 1, bank::check);
}

#[test]
fn i9_processes_killed_at_random_points_lose_nothing_acknowledged_noforce() {
    run(&child, UpdateStrategy::NoForce, 2, bank::check);
}
