//! `cluster`: several nodes on one database as processes of this machine, loaded, measured and compared with the
//! simulation.
//!
//! The verbs are thin: the crate `cluster` starts, loads and compares nodes. [`show`] prints figures.

mod bench;
mod compare;
mod load;
pub mod place;
pub mod show;
mod takeover;

use clap::Subcommand;
use sardonyx_cluster::command::NodesVerb;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;

/// Run and measure nodes that share a database.
///
/// Run several nodes that share a database, on this machine: start, show, drain, kill, measure.
///
/// Each node is a process with a buffer of its own. Closely coupled nodes share locks, messages and pages in memory,
/// and one log. Loosely coupled nodes (--coupling loose) communicate over TCP. One more process, the page server, in
/// the slot after the last node's, has the pages and the logs; it, too, can be drained and killed, and `up` starts it
/// again. `bench` needs no other verb: without --directory it starts nodes, measures them and ends them.
///
/// Examples:
///   sardonyx-lab cluster bench --nodes 4 --routing random --update noforce --seconds 5
///   sardonyx-lab cluster up --nodes 4
///   sardonyx-lab cluster bench --directory sardonyx-cluster --routing affinity
///   sardonyx-lab cluster down
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    #[command(flatten)]
    Nodes(NodesVerb),
    Bench(Box<bench::Arguments>),
    Compare(Box<compare::Arguments>),
    Takeover(Box<takeover::Arguments>),
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        match &self.action {
            Action::Nodes(verb) => verb.run(output),
            Action::Bench(bench) => bench.run(output),
            Action::Compare(compare) => compare.run(output),
            Action::Takeover(takeover) => takeover.run(output),
        }
    }
}
