//! Inserts into ordered trees of other engines, every insert synced, and prints the table.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use sardonyx_benchmark::floor::Face;
use sardonyx_peers::command::{Faces, chosen};
use sardonyx_peers::tree_inserts::{
    Budget, Plan, Program, Workers, findings, registry, run, serve,
};

/// Durable random inserts into ordered trees, one transaction each.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// The directory for the trees, which are removed; its disk is the one that is measured.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// The time of each engine with each number of workers.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// The number of inserts of each engine with each number of workers, instead of a time.
    #[arg(long, conflicts_with = "seconds")]
    inserts: Option<u64>,
    /// The number of initial entries of the tree.
    #[arg(long, default_value_t = 100_000)]
    preload: u64,
    /// The number of bytes of a value.
    #[arg(long, default_value_t = 100)]
    value_bytes: usize,
    /// The numbers of concurrent workers, 1 to 4.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    workers: Vec<u64>,
    /// The kind of workers: threads or processes. Engines of one process only take part with 1.
    #[arg(long, value_enum, default_value_t = By::Threads)]
    by: By,
    /// The engines; all if none is named.
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// The state of the disk: busy has a thread of the lowest priority that keeps a core busy, so that the disk answers
    /// fast.
    #[arg(long, value_enum, default_value_t = Faces::Busy)]
    face: Faces,
    /// The same as `--face busy`.
    #[arg(long, conflicts_with = "face")]
    busy: bool,
    /// The seed of keys and values; the same seed draws the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON for programs: a list with one report for each state of the disk.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Role {
    /// One worker of several processes: started by the program itself.
    #[command(hide = true)]
    Worker,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    Threads,
    Processes,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(Role::Worker) = arguments.role {
        sardonyx_command::ending::as_usual();
        return Ok(serve(
            &registry(),
            std::io::stdin().lock(),
            std::io::stdout().lock(),
        )?);
    }
    sardonyx_command::ending::watch()?;
    let seconds = arguments.seconds;
    ensure!(
        (0.0..=3_600.0).contains(&seconds),
        "--seconds {seconds}: choose 0 to 3600"
    );
    for &workers in &arguments.workers {
        ensure!(
            (1..=4).contains(&workers),
            "--workers {workers}: choose 1 to 4"
        );
    }
    arguments.face.print(arguments.json, |face| {
        let options = options(&arguments, face)?;
        let report = run(&options, |what| eprintln!("{face}: {what}"))?;
        Ok(findings(&report)?)
    })
}

fn options(arguments: &Arguments, face: Face) -> anyhow::Result<Plan> {
    Ok(Plan {
        engines: chosen(registry(), |engine| engine.name, &arguments.engines)?,
        workers: match arguments.by {
            By::Threads => Workers::Threads,
            By::Processes => Workers::Processes,
        },
        worker_counts: arguments.workers.clone(),
        budget: match arguments.inserts {
            Some(inserts) => Budget::Inserts(inserts),
            None => Budget::Seconds(arguments.seconds),
        },
        preload: arguments.preload,
        value_bytes: arguments.value_bytes,
        face,
        directory: match &arguments.directory {
            Some(directory) => directory.clone(),
            None => std::env::temp_dir(),
        },
        seed: arguments.seed,
        program: Program {
            path: std::env::current_exe().context("the program's own path, for its workers")?,
            arguments: vec!["worker".into()],
        },
    })
}
