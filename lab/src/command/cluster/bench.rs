//! `cluster bench`: debit-credit on all nodes, and its cost.

use super::place::RunOptions;
use super::show;
use sardonyx_cluster::bank::Sums;
use sardonyx_cluster::figures::{NodeRun, RunFigures};
use sardonyx_cluster::load::Load;
use sardonyx_cluster::loading::{LostRun, Proved};
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::proof::Proof;
use sardonyx_cluster::setting::Setting;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use serde::Serialize;

/// Run debit-credit on all nodes, and measure it.
///
/// A transaction changes a page of ACCOUNT, one of HISTORY and one of BRANCH and TELLER, and is durable when it is
/// counted. At the end the sums over accounts, tellers and branches are compared, and HISTORY's count with the
/// transactions. Without --directory nodes are started in a temporary directory and ended; with it, the running nodes
/// there are used as they are. One load runs at a time. Nodes that are drained, fenced or killed meanwhile are named,
/// and the proof includes their transactions.
///
/// Examples:
///   sardonyx-lab cluster bench --nodes 4 --routing random --update force --clients 8
///   sardonyx-lab cluster bench --nodes 2 --disk-read 16.4ms --log-write 6.4ms --clients 16
///   sardonyx-lab cluster bench --nodes 2 --coupling loose --routing random
///   sardonyx-lab cluster bench --nodes 2 --transactions 100000 --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    run: RunOptions,
}

/// The report of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The setting of the nodes.
    pub setting: Setting,
    pub load: Load,
    /// All together.
    pub all: RunFigures,
    /// Each node that completed the load.
    pub nodes: Vec<NodeRun>,
    /// The nodes that were lost meanwhile.
    pub lost: Vec<LostRun>,
    /// The bank's sums afterwards.
    pub sums: Sums,
    /// True if both proofs hold.
    pub holds: bool,
    /// The two proofs.
    pub proof: Proof,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let load = self.run.load()?;
        let nodes = self.run.nodes(&load)?;
        let report = measure(&nodes.cluster, &load)?;
        nodes.end()?;
        finish(report, output)
    }
}

/// Loads nodes, and proves the outcome.
pub fn measure(cluster: &Cluster, load: &Load) -> anyhow::Result<Report> {
    let Proved { loaded, proof } = cluster.bench_and_prove(load)?;
    Ok(Report {
        setting: cluster.setting().clone(),
        load: load.clone(),
        all: RunFigures::of(&loaded.runs),
        nodes: loaded.runs,
        lost: loaded.lost,
        sums: proof.sums,
        holds: proof.holds(),
        proof,
    })
}

fn finish(report: Report, output: &mut Output) -> anyhow::Result<Exit> {
    match output.is_json() {
        true => output.value(&report)?,
        false => show::bench(&report, output)?,
    }
    Ok(match report.holds {
        true => Exit::Done,
        false => Exit::Found,
    })
}
