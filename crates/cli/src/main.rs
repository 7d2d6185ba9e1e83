//! `sardonyx`: a look into any database of the engine, the simulation, and the papers' experiments.
//!
//! A module for each verb of the database and of the simulation; the experiments are the crate
//! `lab`'s. [`output`] is how results are printed, [`help`] how the verbs are grouped, [`exit`] what
//! the exit codes mean. What a verb finds out is a plain value that serialises (`--json`) and that a
//! test can check; printing comes last and decides nothing.

mod backup;
mod catalogue_figures;
mod checkpoint;
mod cluster;
mod compact;
mod end_request;
mod exit;
mod export;
mod help;
mod history;
mod http_agent;
mod import;
mod inspect;
mod leftovers;
mod node;
mod output;
mod password;
mod recover;
mod rows;
mod schema;
mod serve;
mod simulate;
mod space;
mod sql;
mod standby;
mod store;
mod target;
mod top;
mod trace;
mod verify;

use clap::{FromArgMatches, Parser, Subcommand};
use exit::{Exit, Told};
use output::Output;
use sardonyx_lab::Experiments;
use std::process::ExitCode;

/// A main-memory transaction engine: look into its databases, simulate it, benchmark it.
///
/// A database is a directory (`bank.sdx/`). Sizes take KiB, MiB or GiB; times take us, ms or s.
#[derive(Debug, Parser)]
#[command(name = "sardonyx", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print JSON for programs instead of text for people; an error is one line of JSON, too, on standard
    /// error.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Inspect(inspect::Arguments),
    Verify(verify::Arguments),
    Recover(recover::Arguments),
    Checkpoint(checkpoint::Arguments),
    Backup(backup::Arguments),
    Compact(compact::Arguments),
    Serve(Box<serve::Arguments>),
    Password(password::Arguments),
    Top(top::Arguments),
    Sql(Box<sql::Arguments>),
    #[command(alias = "checkpointer")]
    Standby(standby::Arguments),
    Store(store::Arguments),
    Rows(rows::Arguments),
    Schema(schema::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Simulate(Box<simulate::Arguments>),
    Trace(trace::Arguments),
    Cluster(cluster::Arguments),
    Node(node::Arguments),
    History(history::Arguments),
    Leftovers(leftovers::Arguments),
    #[command(flatten)]
    Experiment(Experiments),
}

fn main() -> ExitCode {
    let parsed = help::command().try_get_matches();
    let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && std::env::args_os().any(|one| one == "--json") => {
            tell(true, error.to_string().trim_end().into(), Exit::Usage);
            return Exit::Usage.into();
        }
        Err(error) => error.exit(),
    };
    let mut output = Output::to_stdout(arguments.json);
    if let Command::Trace(_) | Command::Cluster(_) = arguments.command {
        // What it makes goes away again. Without the thread for it, it is left behind under its own name.
        let _ = sardonyx_lab::ending::watch();
    }
    let outcome = match &arguments.command {
        Command::Inspect(verb) => verb.run(&mut output),
        Command::Verify(verb) => verb.run(&mut output),
        Command::Recover(verb) => verb.run(&mut output),
        Command::Checkpoint(verb) => verb.run(&mut output),
        Command::Backup(verb) => verb.run(&mut output),
        Command::Compact(verb) => verb.run(&mut output),
        Command::Serve(verb) => verb.run(&mut output),
        Command::Password(verb) => verb.run(&mut output),
        Command::Top(verb) => verb.run(&mut output),
        Command::Sql(verb) => verb.run(&mut output),
        Command::Standby(verb) => verb.run(&mut output),
        Command::Store(verb) => verb.run(&mut output),
        Command::Rows(verb) => verb.run(&mut output),
        Command::Schema(verb) => verb.run(&mut output),
        Command::Import(verb) => verb.run(&mut output),
        Command::Export(verb) => verb.run(&mut output),
        Command::Simulate(verb) => verb.run(&mut output),
        Command::Trace(verb) => verb.run(&mut output),
        Command::Cluster(verb) => verb.run(&mut output),
        Command::Node(verb) => verb.run(),
        Command::History(verb) => verb.run(&mut output),
        Command::Leftovers(verb) => verb.run(&mut output),
        Command::Experiment(experiment) => experiment
            .run(arguments.json, &mut output)
            .map(|holds| if holds { Exit::Done } else { Exit::Found }),
    };
    let outcome = outcome.and_then(|exit| Ok(output.finish().map(|()| exit)?));
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) if exit::is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let exit = exit::of_error(&error);
            tell(arguments.json, exit::message(&error), exit);
            exit.into()
        }
    }
}

/// Says why the program ends.
fn tell(json: bool, error: String, exit: Exit) {
    if !json {
        eprintln!("sardonyx: {error}");
        return;
    }
    let told = Told::new(error, exit);
    let told = serde_json::to_string(&told).expect("a text and a number are JSON");
    eprintln!("{told}");
}
