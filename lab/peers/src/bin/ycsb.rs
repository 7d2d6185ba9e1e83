//! Runs YCSB's workloads on other stores and on ours, and prints the tables.

use clap::Parser;
use sardonyx_benchmark::experiment;
use sardonyx_benchmark::experiment::{About, Conditions, Experiment, check_seconds};
use sardonyx_lab::ycsb::{Options, findings, run};
use sardonyx_peers::command::chosen;
use sardonyx_peers::stores;
use sardonyx_results::Findings;

/// YCSB's core workloads on several stores, with the same operations, durably.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    compared: Compared,
    /// Print JSON for programs.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Compared {
    #[command(flatten)]
    options: Options,
    /// The stores; all if none is named.
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
}

impl Experiment for Compared {
    const ABOUT: About = Options::ABOUT;

    fn conditions(&self) -> &Conditions {
        self.options.conditions()
    }

    fn run(&self) -> anyhow::Result<Findings> {
        check_seconds(self.options.seconds)?;
        let engines = chosen(stores::registry(), |engine| engine.name, &self.engines)?;
        let report = run(&self.options.plan(engines), |what| eprintln!("{what}"))?;
        Ok(findings(&report)?)
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    sardonyx_command::ending::watch()?;
    experiment::run(&arguments.compared, arguments.json, &mut std::io::stdout())?;
    Ok(())
}
