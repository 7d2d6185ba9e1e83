//! Inserts into ordered trees of other people's engines, every insert synced, and prints the table.

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
    /// Where to make the trees (they are removed); its disk is the one that is used.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// How long each engine runs with each number of workers.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How many inserts each engine runs with each number of workers, instead of a time.
    #[arg(long, conflicts_with = "seconds")]
    inserts: Option<u64>,
    /// How many entries the tree holds before.
    #[arg(long, default_value_t = 100_000)]
    preload: u64,
    /// How many bytes a value has.
    #[arg(long, default_value_t = 100)]
    value_bytes: usize,
    /// How many workers at the same time: the numbers to try, 1 to 4.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    workers: Vec<u64>,
    /// Whether workers are threads or processes. Engines of one process only take part with 1.
    #[arg(long, value_enum, default_value_t = By::Threads)]
    by: By,
    /// Which engines; all if none is named.
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Whether a thread of the lowest priority keeps a core busy, so that the disk answers fast.
    #[arg(long, value_enum, default_value_t = Faces::Busy)]
    face: Faces,
    /// The same as `--face busy`.
    #[arg(long, conflicts_with = "face")]
    busy: bool,
    /// Where keys and values come from; the same seed draws the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON for programs: a list with one report for each face.
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
