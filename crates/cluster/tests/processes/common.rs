//! Shared parts of the tests of nodes as processes: small clusters, loads, signals.

use sardonyx_cluster::ClusterError;
use sardonyx_cluster::figures::NodeRun;
use sardonyx_cluster::load::Load;
use sardonyx_cluster::nodes::{Cluster, Program};
use sardonyx_cluster::routing::Routing;
use sardonyx_cluster::setting::{Coupling, Scale, Setting, Update};
use std::error::Error;
use std::path::Path;

pub type Outcome = Result<(), Box<dyn Error>>;

pub fn setting(nodes: u16, update: Update, memory: &Path) -> Setting {
    Setting {
        update,
        buffer_pages: 24,
        clients_max: 3,
        history_pages: 4,
        scale: Scale {
            branches_per_unit: 6,
            accounts_per_branch: 100,
            ..Scale::paper(nodes.into())
        },
        stopped_process_wait_milliseconds: 50,
        shared_memory: memory.into(),
        ..Setting::new(nodes)
    }
}

pub fn loose(nodes: u16, update: Update, memory: &Path) -> Setting {
    Setting {
        coupling: Coupling::Loose,
        // Long enough that a busy host does not take a running node for stopped.
        stopped_process_wait_milliseconds: 6000,
        ..setting(nodes, update, memory)
    }
}

/// A setting in which transactions refer to pages of their own branch only.
pub fn own_branch_only(setting: Setting) -> Setting {
    Setting {
        scale: Scale {
            other_branch_percent: 0,
            ..setting.scale
        },
        ..setting
    }
}

/// Loads the nodes that run while those that do not, and the page server, are started again.
pub fn bench_while_starting(cluster: &mut Cluster, transactions: u64) -> Outcome {
    let (told, done) = std::sync::mpsc::channel();
    let other = Cluster::at(cluster.places().directory())?;
    let load = load(Routing::Random, transactions);
    std::thread::spawn(move || told.send(other.bench(&load)));
    cluster.up(&program()?, true)?;
    let runs = done.recv_timeout(std::time::Duration::from_secs(60))??;
    expect(committed(&runs) == transactions, &runs)
}

pub fn load(routing: Routing, transactions: u64) -> Load {
    Load {
        clients: 2,
        routing,
        warm_up_seconds: 0.0,
        seconds: 1.0,
        transactions: Some(transactions),
        rate: None,
        seed: 7,
        record: false,
    }
}

pub fn program() -> Result<Program, ClusterError> {
    Program::this(&["node"])
}

pub fn committed(runs: &[NodeRun]) -> u64 {
    runs.iter().map(|run| run.counts.committed).sum()
}

pub fn expect(holds: bool, what: impl std::fmt::Debug) -> Outcome {
    match holds {
        true => Ok(()),
        false => Err(format!("{what:?}").into()),
    }
}

pub fn process_of(cluster: &Cluster, slot: usize) -> Result<String, Box<dyn Error>> {
    let status = cluster.status().into_iter().nth(slot).flatten();
    Ok(status.ok_or("the node does not run")?.process.to_string())
}

/// As the system says; `None`: there is none.
pub fn state_of(process: &str) -> Option<char> {
    let said = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = said.rfind(')').and_then(|at| said.get(at + 2..));
    after.and_then(|text| text.chars().next())
}

pub fn signal(process: &str, name: &str) -> Outcome {
    let sent = std::process::Command::new("kill")
        .args(["-s", name, process])
        .status()?;
    expect(sent.success(), sent)
}
