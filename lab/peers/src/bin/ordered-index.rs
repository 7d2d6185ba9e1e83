//! Runs the ordered index of multi-level transactions and other engines', and prints the table.

use anyhow::ensure;
use clap::{Parser, ValueEnum};
use sardonyx_benchmark::floor::Face;
use sardonyx_peers::command::{Faces, chosen};
use sardonyx_peers::ordered_index::{Options, Order, Work, findings, registry, run};
use std::path::PathBuf;
use std::time::Duration;

/// Durable inserts, gets and scans in ordered indexes with keys of 16 bytes and values of 100.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The directory for the indexes, which are removed; its disk is the one that is measured.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// The time of each engine with each load and number of threads.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// The number of transactions of each thread, instead of a time.
    #[arg(long, conflicts_with = "seconds")]
    transactions: Option<u64>,
    /// The number of initial entries of the index.
    #[arg(long, default_value_t = 100_000)]
    preload: u64,
    /// The numbers of concurrent threads, 1 to 64.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 8])]
    threads: Vec<usize>,
    /// The loads; all if none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    work: Vec<WorkChoice>,
    /// The engines; all if none is named.
    #[arg(long, value_delimiter = ';')]
    engines: Vec<String>,
    /// The state of the disk: busy has a thread of the lowest priority that keeps a core busy, so that the disk answers
    /// fast.
    #[arg(long, value_enum, default_value_t = Faces::Busy)]
    face: Faces,
    /// The seed of keys.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON for programs: a list with one report for each face.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum WorkChoice {
    Sorted,
    Random,
    Get,
    Scan,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    sardonyx_command::ending::watch()?;
    let seconds = arguments.seconds;
    ensure!(
        (0.0..=3_600.0).contains(&seconds),
        "--seconds {seconds}: choose 0 to 3600"
    );
    for &threads in &arguments.threads {
        ensure!(
            (1..=64).contains(&threads),
            "--threads {threads}: choose 1 to 64"
        );
    }
    arguments.face.print(arguments.json, |face| {
        let options = options(&arguments, face)?;
        let report = run(&options, |what| eprintln!("{face}: {what}"))?;
        Ok(findings(&report)?)
    })
}

fn options(arguments: &Arguments, face: Face) -> anyhow::Result<Options> {
    let wanted = |work: &Work| {
        let choice = match work {
            Work::Insert { order, .. } if *order == Order::Sorted => WorkChoice::Sorted,
            Work::Insert { .. } => WorkChoice::Random,
            Work::Get { .. } => WorkChoice::Get,
            Work::Scan => WorkChoice::Scan,
        };
        arguments.work.is_empty() || arguments.work.contains(&choice)
    };
    Ok(Options {
        engines: chosen(registry(), |engine| engine.name, &arguments.engines)?,
        works: Work::ALL.into_iter().filter(wanted).collect(),
        threads: arguments.threads.clone(),
        time: Duration::from_secs_f64(arguments.seconds),
        transactions: arguments.transactions,
        preload: arguments.preload,
        face,
        directory: match &arguments.directory {
            Some(directory) => directory.clone(),
            None => std::env::temp_dir(),
        },
        seed: arguments.seed,
    })
}
