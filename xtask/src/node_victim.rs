//! The processes that torture-nodes kills or stops. A node runs debit-credit on pages from several clients. It reports
//! the number of acknowledged transactions of each client to the witness, over its standard output. The page server of
//! loosely coupled nodes only serves.
//!
//! The last client of a node counts in a place of its own, and notes its acknowledged count in a file that all
//! processes see. Each node reads all counts: every count that any node had acknowledged before the read began must be
//! visible. So a node that wakes up and shows an old state is detected.

use anyhow::Context;
use clap::Args;
use sardonyx_base::victims::acknowledge;
use sardonyx_cluster::ClusterError;
use sardonyx_cluster::bank::Bank;
use sardonyx_cluster::coupled::CoupledNode;
use sardonyx_cluster::places::Places;
use sardonyx_cluster::process;
use sardonyx_cluster::routing::{Routing, Source};
use sardonyx_cluster::setting::Setting;
use sardonyx_sharing::node::NodeError;
use sardonyx_workload::random::Random;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The exit code of a node that has read an older state than the acknowledged one.
pub(crate) const STALE: i32 = 86;

/// The exit code of a node whose lease has run out, or that was shut out.
pub(crate) const SHUT_OUT: i32 = 87;

/// The time of a node's attempts to join: the page server may be dead just then.
const JOIN_WAIT: Duration = Duration::from_secs(60);

/// A file with a word for each slot: the acknowledged count of its node's last client.
pub(crate) fn told_file(directory: &Path) -> PathBuf {
    directory.join("told")
}

/// Options of `node-victim`.
#[derive(Args)]
pub struct NodeVictim {
    directory: PathBuf,
    #[arg(long)]
    slot: u16,
    #[arg(long)]
    seed: u64,
}

impl NodeVictim {
    /// Runs until killed, or until the node stops.
    pub fn run(&self) -> anyhow::Result<()> {
        let places = Places::new(&self.directory);
        let setting = Setting::read(&places)?;
        if setting.page_server_slot() == Some(self.slot.into()) {
            return Ok(process::run(&self.directory, self.slot.into())?);
        }
        let node = self.join(&setting, &places)?;
        let told = told_file(&self.directory);
        let told = File::options().read(true).write(true).open(told)?;
        let done: anyhow::Result<()> = std::thread::scope(|scope| {
            let (setting, node, told) = (&setting, &node, &told);
            let mut clients: Vec<_> = (0..setting.clients_max - 1)
                .map(|client| scope.spawn(move || self.client(setting, node, client)))
                .collect();
            clients.extend(
                (0..setting.nodes)
                    .map(|slot| scope.spawn(move || self.reader(setting, node, slot, told))),
            );
            let mut ended = clients.into_iter().map(|client| client.join());
            ended.try_for_each(|client| client.expect("no client panics"))
        });
        let stopped = node.check();
        if stopped.as_ref().is_err_and(is_of_shut_out) && setting.page_server_slot().is_some() {
            eprintln!("{stopped:?}; {done:?}");
            std::process::exit(SHUT_OUT);
        }
        done.with_context(|| format!("node {}", self.slot))
    }

    fn join(&self, setting: &Setting, places: &Places) -> anyhow::Result<CoupledNode> {
        let began = Instant::now();
        loop {
            match CoupledNode::join(setting, places, self.slot.into(), None) {
                Err(ClusterError::NoPageServer { .. } | ClusterError::Node(_))
                    if setting.page_server_slot().is_some() && began.elapsed() < JOIN_WAIT =>
                {
                    std::thread::sleep(Duration::from_millis(5));
                }
                joined => return Ok(joined?),
            }
        }
    }

    fn client(&self, setting: &Setting, node: &CoupledNode, client: u16) -> anyhow::Result<()> {
        let bank = Bank::new(setting);
        let number = u64::from(self.slot * setting.clients_max + client);
        let mut end = bank.history_end(node, number)?;
        let seed = self.seed.wrapping_mul(1000).wrapping_add(number);
        let routing = match client % 2 {
            0 => Routing::Random,
            _ => Routing::Affinity,
        };
        let mut source = Source::new(setting, &routing, self.slot, seed)?;
        loop {
            if end.records == bank.history_records_max() {
                // The witness begins with a new database before this.
                std::thread::sleep(Duration::from_millis(10));
                node.check()?;
                continue;
            }
            let (transfer, kind) = source.draw(setting, &bank);
            node.transact(kind, |tx| bank.transfer(tx, &transfer, &end))?;
            end.records += 1;
            if let Err(error) = acknowledge(number, end.records) {
                // The process that started it has ended.
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    }

    /// Reads the count of a slot repeatedly, and increments it if it is this node's.
    fn reader(
        &self,
        setting: &Setting,
        node: &CoupledNode,
        slot: u16,
        told: &File,
    ) -> anyhow::Result<()> {
        let bank = Bank::new(setting);
        let end = u64::from(setting.clients_max) * (u64::from(slot) + 1) - 1;
        let (page, offset) = bank.beside_history(end);
        let word = 8 * u64::from(slot);
        let mut random = Random::new(self.seed.wrapping_mul(1000).wrapping_add(end));
        loop {
            let mut before = [0; 8];
            told.read_exact_at(&mut before, word)?;
            let before = u64::from_le_bytes(before);
            let found = node.transact(0, |tx| tx.read(page, offset..offset + 8))?;
            let found = u64::from_le_bytes(found.try_into().unwrap_or_default());
            if found < before {
                eprintln!("{found} is read where {before} had been acknowledged");
                // The process that started it must know at once.
                std::process::exit(STALE);
            }
            if slot == self.slot {
                let next = (found + 1).to_le_bytes();
                node.transact(0, |tx| tx.write(page, offset, &next))?;
                told.write_all_at(&next, word)?;
            }
            // Readers delay writers.
            std::thread::sleep(Duration::from_micros(1000 + random.below(3000)));
        }
    }
}

/// True if the other nodes continue without this one.
pub(crate) fn is_of_shut_out(error: &NodeError) -> bool {
    matches!(
        error,
        NodeError::Stopped { .. } | NodeError::ShutOut { .. } | NodeError::Fenced(_)
    )
}
