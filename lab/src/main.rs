//! `sardonyx-lab`: the papers' experiments, the simulation and its traces, as verbs.
//!
//! An experiment is the library's; [`command`] has the other verbs. The program prints, ends and fails by the
//! conventions of [`sardonyx_command`].

mod command;

use clap::{CommandFactory, Parser, Subcommand};
use command::{cluster, simulate, trace};
use sardonyx_cluster::command::node;
use sardonyx_command::exit::{Classifier, Exit};
use sardonyx_command::help::{Group, LAST, grouped};
use sardonyx_command::output::Output;
use sardonyx_command::program::{self, Program};
use sardonyx_command::{completions, ending, manual};
use sardonyx_lab::{Experiments, registry};
use std::process::ExitCode;

/// Repeat the papers' experiments, simulate nodes, work with traces.
///
/// Example: sardonyx-lab floor
#[derive(Debug, Parser)]
#[command(name = "sardonyx-lab", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print JSON for programs; an error is one line of JSON on standard error
    #[arg(long, global = true, display_order = LAST)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(Box<simulate::Arguments>),
    Trace(trace::Arguments),
    Cluster(cluster::Arguments),
    Node(node::Arguments),
    Completions(completions::Arguments),
    Man(manual::Arguments),
    #[command(flatten)]
    Experiment(Experiments),
}

impl Program for Arguments {
    const NAME: &'static str = "sardonyx-lab";
    const CLASSIFIERS: &'static [Classifier] = &[
        sardonyx_lab::exit::of,
        sardonyx_benchmark::exit::of,
        sardonyx_cluster::exit::of,
    ];

    fn is_json(&self) -> bool {
        self.json
    }

    fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        if let Command::Trace(_) | Command::Cluster(_) = self.command {
            // A signal removes temporary files. Without the thread for it, they stay under their own names.
            let _ = ending::watch();
        }
        match &self.command {
            Command::Simulate(verb) => verb.run(output),
            Command::Trace(verb) => verb.run(output),
            Command::Cluster(verb) => verb.run(output),
            Command::Node(verb) => verb.run(),
            Command::Completions(verb) => verb.run(command_line(), output),
            Command::Man(verb) => verb.run(Arguments::command(), output),
            Command::Experiment(experiment) => experiment
                .run(self.json, output)
                .map(|holds| if holds { Exit::Done } else { Exit::Found }),
        }
    }
}

/// The whole command line.
fn command_line() -> clap::Command {
    grouped(Arguments::command(), &groups())
}

fn groups() -> [Group; 4] {
    let experiments = registry::ABOUT.map(|about| about.name);
    [
        Group::new("Experiments", &experiments),
        Group::new("Simulation", &["simulate", "trace"]),
        Group::new("Nodes", &["cluster", "node"]),
        Group::new("Install", &["completions", "man"]),
    ]
}

fn main() -> ExitCode {
    program::main::<Arguments>(command_line())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_command::help::assert_each_verb_is_in_one_group;

    #[test]
    fn every_verb_that_is_shown_is_in_one_group() {
        assert_each_verb_is_in_one_group(Arguments::command(), &groups());
    }
}
