//! `trace record`: the references of real nodes' transactions, as a trace.

use super::file::NewFile;
use crate::command::cluster::place::RunOptions;
use crate::command::cluster::show;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::units::count;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Record a trace of nodes that run debit-credit, for `trace route` and `simulate`.
///
/// Each node records the references of its transactions, in the order in which they end; a type of transactions is a
/// branch. Without --directory nodes are started in a temporary directory and ended.
///
/// Example:
///   sardonyx-lab trace record --nodes 4 --routing random --transactions 20000 -o recorded.trace
///   sardonyx-lab trace route recorded.trace --nodes 4 -o routing.toml
///   sardonyx-lab cluster bench --nodes 4 --routing routing.toml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    run: RunOptions,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    bytes: u64,
    transactions: u64,
}

impl Arguments {
    /// Runs the action.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let mut load = self.run.load()?;
        load.record = true;
        let nodes = self.run.nodes(&load)?;
        let mut new = NewFile::create(&self.output, self.force)?;
        let title = sardonyx_cluster::command::title(nodes.cluster.setting());
        nodes.cluster.bench(&load)?;
        let file = self.output.display().to_string();
        let transactions = nodes.cluster.trace(&mut new, &file)?;
        let bytes = new.finish()?;
        nodes.end()?;
        let report = Report {
            file,
            bytes,
            transactions,
        };
        if output.is_json() {
            output.value(&report)?;
        } else {
            writeln!(output, "{title}\n{}", show::load_line(&load))?;
            let (transactions, bytes) = (count(report.transactions), count(report.bytes));
            writeln!(
                output,
                "{transactions} transactions in {bytes} bytes written to {}",
                report.file
            )?;
        }
        Ok(Exit::Done)
    }
}
