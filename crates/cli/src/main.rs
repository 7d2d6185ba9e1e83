//! `sardonyx`: a database's server, shell and tools, and the benchmark that users run first.
//!
//! A module for each verb; the benchmark is the crate `benchmark`'s. [`help`] has the groups of verbs, [`exit`] the exit
//! codes of this program's own errors. The outcome of a verb is a plain value that serialises (`--json`) and that a test
//! can check; printing comes last and decides nothing.

#[cfg(feature = "sql")]
mod allocator;
mod backup;
mod catalogue_figures;
#[cfg(feature = "sql")]
mod changes;
mod checkpoint;
#[cfg(feature = "nodes")]
mod cluster;
mod compact;
mod end_request;
mod exit;
#[cfg(feature = "sql")]
mod export;
mod help;
mod history;
#[cfg(feature = "sql")]
mod http_client;
#[cfg(feature = "sql")]
mod import;
mod inspect;
mod leftovers;
mod moved;
#[cfg_attr(not(feature = "nodes"), path = "without_nodes.rs")]
mod nodes;
#[cfg(feature = "sql")]
mod opened;
#[cfg(feature = "sql")]
mod password;
mod recover;
mod restore;
#[cfg(feature = "sql")]
mod rows;
#[cfg(feature = "sql")]
mod schema;
#[cfg(feature = "sql")]
mod serve;
#[cfg(feature = "sql")]
mod space;
#[cfg(feature = "sql")]
mod sql;
#[cfg_attr(not(feature = "sql"), path = "without_sql.rs")]
mod sql_verbs;
mod store;
mod target;
#[cfg(feature = "sql")]
mod top;
mod verify;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use sardonyx_benchmark::{debit_credit, experiment};
use sardonyx_command::exit::{Classifier, Exit};
use sardonyx_command::help::LAST;
use sardonyx_command::output::Output;
use sardonyx_command::program::{self, Program};
use sardonyx_command::{completions, ending, manual};
use std::process::ExitCode;

#[cfg(feature = "sql")]
#[global_allocator]
static ALLOCATOR: allocator::BySize = allocator::BySize;

/// A main-memory database: serve it, inspect it, move its data, measure it.
///
/// Examples:
///   sardonyx serve bank.sdx
///   sardonyx sql bank.sdx -c "select 1"
///   sardonyx verify bank.sdx
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
#[command(name = "sardonyx", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print JSON for programs; an error is one line of JSON on standard error
    #[arg(long, global = true, display_order = LAST)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Inspect(inspect::Arguments),
    Verify(verify::Arguments),
    Recover(recover::Arguments),
    Checkpoint(checkpoint::Arguments),
    Backup(backup::Arguments),
    Restore(restore::Arguments),
    Compact(compact::Arguments),
    Serve(Box<sql_verbs::Serve>),
    Password(sql_verbs::Password),
    Top(sql_verbs::Top),
    Sql(Box<sql_verbs::Sql>),
    #[command(hide = true, alias = "checkpointer")]
    Standby(moved::Arguments),
    Store(store::Arguments),
    Rows(sql_verbs::Rows),
    Schema(sql_verbs::Schema),
    Changes(sql_verbs::Changes),
    Import(sql_verbs::Import),
    Export(sql_verbs::Export),
    Cluster(nodes::Cluster),
    Node(nodes::Node),
    History(history::Arguments),
    Leftovers(leftovers::Arguments),
    DebitCredit(Box<debit_credit::Options>),
    Completions(completions::Arguments),
    Man(manual::Arguments),
}

impl Program for Arguments {
    const NAME: &'static str = "sardonyx";
    const CLASSIFIERS: &'static [Classifier] = &[
        exit::of,
        sardonyx_benchmark::exit::of,
        nodes::exit::of,
        sql_verbs::exit_of,
        store::exit_of,
    ];

    fn is_json(&self) -> bool {
        self.json
    }

    fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        match &self.command {
            Command::Inspect(verb) => verb.run(output),
            Command::Verify(verb) => verb.run(output),
            Command::Recover(verb) => verb.run(output),
            Command::Checkpoint(verb) => verb.run(output),
            Command::Backup(verb) => verb.run(output),
            Command::Restore(verb) => verb.run(output),
            Command::Compact(verb) => verb.run(output),
            Command::Serve(verb) => verb.run(output),
            Command::Password(verb) => verb.run(output),
            Command::Top(verb) => verb.run(output),
            Command::Sql(verb) => verb.run(output),
            Command::Standby(verb) => verb.run(output),
            Command::Store(verb) => verb.run(output),
            Command::Rows(verb) => verb.run(output),
            Command::Schema(verb) => verb.run(output),
            Command::Changes(verb) => verb.run(output),
            Command::Import(verb) => verb.run(output),
            Command::Export(verb) => verb.run(output),
            Command::Cluster(verb) => verb.run(output),
            Command::Node(verb) => verb.run(),
            Command::History(verb) => verb.run(output),
            Command::Leftovers(verb) => verb.run(output),
            Command::DebitCredit(options) => benchmark(options, self.json, output),
            Command::Completions(verb) => verb.run(help::command(), output),
            Command::Man(verb) => verb.run(Arguments::command(), output),
        }
    }
}

/// Runs the benchmark; a signal that ends the program removes its database.
fn benchmark(
    options: &debit_credit::Options,
    json: bool,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    ending::watch().context("waiting for signals")?;
    let holds = experiment::run(options, json, output)?;
    Ok(if holds { Exit::Done } else { Exit::Found })
}

fn main() -> ExitCode {
    // Every verb that writes rows checks the tables' conditions in SQL.
    sql_verbs::enforce_checks();
    program::main::<Arguments>(help::command())
}
