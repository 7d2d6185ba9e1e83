//! `sardonyx`: the debit-credit benchmark, and a look into any database of the engine.
//!
//! A module for each verb, [`output`] for how results are printed, [`exit`] for what the exit codes
//! mean. What a verb finds out is a plain value that serialises (`--json`) and that a test can check;
//! printing comes last and decides nothing.

mod catalogue_figures;
mod checkpoint;
mod checkpointer;
mod complex_objects;
mod concurrency;
mod debit_credit;
mod exit;
mod experiment_worker;
mod history;
mod hot_object;
mod inspect;
mod output;
mod page_touch;
mod recover;
mod recovery_figures;
mod simulate;
mod target;
mod trace;
mod tree_inserts;
mod verify;

use clap::{Parser, Subcommand};
use exit::Exit;
use output::Output;
use std::process::ExitCode;

/// A main-memory transaction engine: benchmark it, and look into its databases.
///
/// A database is a directory (`bank.sdx/`). Sizes take KiB, MiB or GiB; times take us, ms or s.
#[derive(Debug, Parser)]
#[command(name = "sardonyx", version, max_term_width = 100, after_help = exit::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    DebitCredit(debit_credit::Arguments),
    Verify(verify::Arguments),
    Recover(recover::Arguments),
    Inspect(inspect::Arguments),
    History(history::Arguments),
    Checkpoint(checkpoint::Arguments),
    Checkpointer(checkpointer::Arguments),
    Simulate(Box<simulate::Arguments>),
    Trace(trace::Arguments),
    PageTouch(page_touch::Arguments),
    Concurrency(concurrency::Arguments),
    TreeInserts(tree_inserts::Arguments),
    ComplexObjects(complex_objects::Arguments),
    HotObject(hot_object::Arguments),
    #[command(hide = true)]
    ExperimentWorker(experiment_worker::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = Output::to_stdout(arguments.json);
    let outcome = match &arguments.command {
        Command::DebitCredit(verb) => verb.run(&mut output),
        Command::Verify(verb) => verb.run(&mut output),
        Command::Recover(verb) => verb.run(&mut output),
        Command::Inspect(verb) => verb.run(&mut output),
        Command::History(verb) => verb.run(&mut output),
        Command::Checkpoint(verb) => verb.run(&mut output),
        Command::Checkpointer(verb) => verb.run(&mut output),
        Command::Simulate(verb) => verb.run(&mut output),
        Command::Trace(verb) => verb.run(&mut output),
        Command::PageTouch(verb) => verb.run(&mut output),
        Command::Concurrency(verb) => verb.run(&mut output),
        Command::TreeInserts(verb) => verb.run(&mut output),
        Command::ComplexObjects(verb) => verb.run(&mut output),
        Command::HotObject(verb) => verb.run(&mut output),
        Command::ExperimentWorker(verb) => verb.run(),
    };
    let outcome = outcome.and_then(|exit| Ok(output.finish().map(|()| exit)?));
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) if exit::is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            eprintln!("sardonyx: {}", exit::message(&error));
            exit::of_error(&error).into()
        }
    }
}
