//! Runs the same debit-credit on other engines and prints the table.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Parser;
use sardonyx_benchmark::debit_credit::requests::Scale;
use sardonyx_peers::command::{Faces, chosen};
use sardonyx_peers::{Options, findings, registry, run};

/// Runs the same debit-credit on other engines, every group synced.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The directory for the banks, which are removed; its disk is the one that is measured.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// The number of accounts of 128 bytes.
    #[arg(long, default_value_t = 1_000_000)]
    accounts: u64,
    /// The time of each engine with each group size.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// The numbers of transactions that share a sync.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100, 1_000, 10_000])]
    groups: Vec<usize>,
    /// The engines; all if none is named.
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// The state of the disk: busy has a thread of the lowest priority that keeps a core busy, so that the disk answers
    /// fast.
    #[arg(long, value_enum, default_value_t = Faces::Busy)]
    face: Faces,
    /// The seed of the requests; the same seed draws the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Show every group size, not only one transaction and the best.
    #[arg(long)]
    sweep: bool,
    /// Print JSON for programs: a list with one report for each state of the disk, with every group size.
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    sardonyx_command::ending::watch()?;
    let seconds = arguments.seconds;
    ensure!(
        (0.0..=3_600.0).contains(&seconds),
        "--seconds {seconds}: choose 0 to 3600"
    );
    arguments.face.print(arguments.json, |face| {
        let options = Options {
            engines: chosen(registry(), |engine| engine.name, &arguments.engines)?,
            scale: Scale::of_accounts(arguments.accounts)?,
            groups: arguments.groups.clone(),
            time: Duration::from_secs_f64(seconds),
            face,
            directory: arguments
                .directory
                .clone()
                .unwrap_or_else(std::env::temp_dir),
            seed: arguments.seed,
        };
        let report = run(&options, |what| eprintln!("{face}: {what}"))?;
        Ok(findings(&report, arguments.sweep)?)
    })
}
