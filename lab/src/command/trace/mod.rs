//! `trace`: makes, records, describes, converts and routes traces of transactions, for the simulation.
//!
//! A trace is read as a stream if that suffices, and a file that is being written takes its name only when it is whole.

mod convert;
mod file;
mod generate;
mod record;
mod route;
mod stats;

use clap::Subcommand;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;

/// Make, record and convert traces of transactions.
///
/// A trace has transactions with their types and page references; `docs/trace-format.md` describes its binary and its
/// text form. A damaged file ends in an error that names byte or line.
///
/// Exit code 1: a file is damaged.
///
/// Examples:
///   sardonyx-lab trace generate -o paper.trace
///   sardonyx-lab trace record --nodes 4 --routing random -o recorded.trace
///   sardonyx-lab trace stats paper.trace
///   sardonyx-lab trace convert paper.trace paper.txt
///   sardonyx-lab trace route paper.trace --nodes 8 -o routing.toml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Generate(generate::Arguments),
    Stats(stats::Arguments),
    Convert(convert::Arguments),
    Route(route::Arguments),
    Record(Box<record::Arguments>),
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        match &self.action {
            Action::Generate(action) => action.run(output),
            Action::Stats(action) => action.run(output),
            Action::Convert(action) => action.run(output),
            Action::Route(action) => action.run(output),
            Action::Record(action) => action.run(output),
        }
    }
}
