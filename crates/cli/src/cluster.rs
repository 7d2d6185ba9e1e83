//! `cluster`: several nodes on one database, as processes of this machine.
//!
//! The verbs are the crate `cluster`'s. The loads of the GEM paper, and the simulation, are those of `sardonyx-lab`.

use sardonyx_cluster::command::NodesVerb;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;

/// Start, show, drain and stop nodes of a database.
///
/// Each node is a process of this machine, with a buffer of its own. Closely coupled nodes share locks, messages and
/// pages in memory, and one log. Loosely coupled nodes (--coupling loose) communicate over TCP. One more process, the
/// page server, in the slot after the last node's, has the pages and the logs; it, too, can be drained and killed, and
/// `up` starts it again. `sardonyx-lab cluster` has these verbs, too, and further ones that load and measure nodes.
///
/// Examples:
///   sardonyx cluster up --nodes 4
///   sardonyx cluster up --nodes 4 --coupling loose --tls /etc/sardonyx --etcd http://127.0.0.1:2379
///   sardonyx cluster kill 2
///   sardonyx cluster status
///   sardonyx cluster down
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(subcommand)]
    verb: NodesVerb,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        self.verb.run(output)
    }
}
