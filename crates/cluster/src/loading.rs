//! A load on all running nodes, from outside: one at a time, with its proof.
//!
//! Invariants: a file of the nodes' directory is locked while a load is run and proved, so no other load changes the
//! bank meanwhile. A node ends its load when the connection that requested it closes. So a load ends with the process
//! that requested it, and with an error of another node.

use crate::bank::Sums;
use crate::conversation::Conversation;
use crate::error::ClusterError;
use crate::figures::NodeRun;
use crate::load::{Load, now_nanoseconds};
use crate::nodes::Cluster;
use crate::proof::{Acknowledged, Look, Proof};
use crate::request::{Reply, Request};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// The time between the announcement of a run's common instant and that instant.
const NOTICE: Duration = Duration::from_millis(20);

/// The time in which nodes whose load was ended early must become idle.
const IDLE_WAIT: Duration = Duration::from_secs(10);

/// The right to load the nodes of a directory, and to prove it. No other process has it meanwhile.
#[derive(Debug)]
pub struct Loading<'a> {
    cluster: &'a Cluster,
    locked: File,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a process that another thread starts at this moment: until it runs its
        // program, it has the file open, too.
        let _ = self.locked.unlock();
    }
}

/// A node that was lost during a load: its process ended, or it stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostRun {
    /// The place of the node.
    pub slot: usize,
    /// For people.
    pub reason: String,
    /// The transactions that it had reported as acknowledged before.
    pub acknowledged: u64,
}

/// The result of a load: of the nodes that completed it, and of the lost ones.
#[derive(Debug)]
pub struct Loaded {
    /// The runs of nodes that completed it.
    pub runs: Vec<NodeRun>,
    /// The runs of lost nodes.
    pub lost: Vec<LostRun>,
}

impl Loaded {
    /// The transactions that each slot acknowledged.
    pub fn acknowledged(&self) -> BTreeMap<usize, Acknowledged> {
        let runs = self.runs.iter().map(|run| {
            let count = Acknowledged::Exactly(run.acknowledged);
            (usize::from(run.slot), count)
        });
        let lost = self.lost.iter();
        let lost = lost.map(|lost| (lost.slot, Acknowledged::AtLeast(lost.acknowledged)));
        runs.chain(lost).collect()
    }
}

/// A load and its proof.
#[derive(Debug)]
pub struct Proved {
    /// Its result.
    pub loaded: Loaded,
    /// The sums agree with the acknowledged transactions.
    pub proof: Proof,
}

impl Cluster {
    /// Takes the right to load the nodes.
    ///
    /// # Errors
    /// [`ClusterError::Loaded`]: another process has it, or a node still runs a load.
    pub fn loading(&self) -> Result<Loading<'_>, ClusterError> {
        let place = self.places().load();
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&place);
        let file = file.map_err(ClusterError::system("make", &place))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(self.loaded_already(None)),
            Err(TryLockError::Error(error)) => {
                return Err(ClusterError::system("lock", &place)(error));
            }
        }
        match self.loaded_slot() {
            None => Ok(Loading {
                cluster: self,
                locked: file,
            }),
            slot => Err(self.loaded_already(slot)),
        }
    }

    fn loaded_already(&self, slot: Option<u16>) -> ClusterError {
        let place = self.places().directory().to_path_buf();
        ClusterError::Loaded { place, slot }
    }

    fn loaded_slot(&self) -> Option<u16> {
        let loaded = self.status().into_iter().flatten().find(|node| node.runs);
        loaded.map(|node| node.slot)
    }

    /// Runs a load on all running nodes, and returns the run of each.
    ///
    /// # Errors
    /// As [`Cluster::loading`] and [`Loading::run`]; [`ClusterError::Lost`]: a node was lost meanwhile.
    pub fn bench(&self, load: &Load) -> Result<Vec<NodeRun>, ClusterError> {
        let loaded = self.loading()?.run(load)?;
        match loaded.lost.into_iter().next() {
            None => Ok(loaded.runs),
            Some(LostRun { slot, reason, .. }) => Err(ClusterError::Lost { slot, reason }),
        }
    }

    /// Runs a load on all running nodes, and proves its outcome.
    ///
    /// # Errors
    /// As [`Cluster::loading`], [`Loading::run`] and [`Cluster::sums`].
    pub fn bench_and_prove(&self, load: &Load) -> Result<Proved, ClusterError> {
        let loading = self.loading()?;
        let before = loading.look()?;
        let loaded = loading.run(load)?;
        let proof = Proof::of(&before, &loading.look()?, &loaded.acknowledged());
        Ok(Proved { loaded, proof })
    }

    /// The bank's sums, by a node of this process.
    ///
    /// # Errors
    /// As [`Cluster::loading`] and [`CoupledNode::join`](crate::coupled::CoupledNode::join).
    pub fn sums(&self) -> Result<Sums, ClusterError> {
        Ok(self.loading()?.look()?.sums)
    }
}

impl Loading<'_> {
    /// Reads the bank by a node of this process; no node changes it meanwhile.
    ///
    /// # Errors
    /// As [`CoupledNode::join`](crate::coupled::CoupledNode::join).
    pub fn look(&self) -> Result<Look, ClusterError> {
        let clients = usize::from(self.cluster.setting().clients_max);
        self.cluster.as_node(|bank, node| {
            let sums = bank.sums(node)?;
            let ends = bank.history_counts(node)?;
            let by_slot = ends.chunks(clients).map(|ends| ends.iter().sum());
            let by_slot = by_slot.collect();
            Ok(Look { sums, by_slot })
        })
    }

    /// Runs a load on all running nodes. When this returns they are idle.
    ///
    /// # Errors
    /// [`ClusterError::NotThere`], [`ClusterError::Refused`], [`ClusterError::Ended`], and those of [`Load::check`].
    /// [`ClusterError::Lost`]: all were lost meanwhile.
    pub fn run(&self, load: &Load) -> Result<Loaded, ClusterError> {
        let ran = self.run_load(load);
        if ran.is_err() {
            // Their connections are closed, and with them the loads end.
            self.wait_until_idle();
        }
        ran
    }

    fn run_load(&self, load: &Load) -> Result<Loaded, ClusterError> {
        let mut nodes = self.prepare(load)?;
        let at = now_nanoseconds() + NOTICE.as_nanos() as u64;
        for node in &mut nodes {
            node.say(&Request::Run { at })?;
        }
        let mut loaded = Loaded {
            runs: Vec::new(),
            lost: Vec::new(),
        };
        // A thread each, since every node reports its progress.
        std::thread::scope(|scope| {
            let threads: Vec<_> = (nodes.into_iter())
                .map(|mut node| scope.spawn(move || hear_run(&mut node)))
                .collect();
            for heard in threads.into_iter().filter_map(|thread| thread.join().ok()) {
                match heard {
                    Ok(run) => loaded.runs.push(run),
                    Err(lost) => loaded.lost.push(lost),
                }
            }
        });
        match (loaded.runs.is_empty(), loaded.lost.first()) {
            (true, Some(LostRun { slot, reason, .. })) => Err(ClusterError::Lost {
                slot: *slot,
                reason: reason.clone(),
            }),
            _ => Ok(loaded),
        }
    }

    fn prepare(&self, load: &Load) -> Result<Vec<Conversation>, ClusterError> {
        let cluster = self.cluster;
        load.check(cluster.setting())?;
        let running = cluster.running();
        if running.is_empty() {
            let place = cluster.places().directory().to_path_buf();
            return Err(ClusterError::NotThere { place });
        }
        let mut nodes = Vec::new();
        for (at, &slot) in running.iter().enumerate() {
            let mut load = load.clone();
            // All nodes together run the requested number.
            load.transactions = load.transactions.map(|all| {
                let (count, at) = (running.len() as u64, at as u64);
                (at + 1) * all / count - at * all / count
            });
            let mut node = cluster.conversation(slot)?;
            node.say(&Request::Prepare(Box::new(load)))?;
            nodes.push(node);
        }
        for node in &mut nodes {
            node.hear()?;
        }
        Ok(nodes)
    }

    fn wait_until_idle(&self) {
        let began = Instant::now();
        while self.cluster.loaded_slot().is_some() && began.elapsed() < IDLE_WAIT {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads from a node until it has reported its run's result.
fn hear_run(node: &mut Conversation) -> Result<NodeRun, LostRun> {
    let mut acknowledged = 0;
    let reason = loop {
        match node.hear() {
            Ok(Reply::Progress(count)) => acknowledged = count,
            Ok(Reply::Ran(run)) => return Ok(*run),
            Ok(other) => break format!("it answered {other:?} to a run"),
            Err(ClusterError::Refused { reason, .. }) => break reason,
            Err(ClusterError::Ended { what, .. }) => break format!("its process {what}"),
            Err(error) => break error.to_string(),
        }
    };
    Err(LostRun {
        slot: node.slot,
        reason,
        acknowledged,
    })
}
