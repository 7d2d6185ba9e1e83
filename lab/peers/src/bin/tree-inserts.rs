//! Inserts into ordered trees of other people's engines, every insert synced, and prints the table.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use sardonyx_lab::floor::Face;
use sardonyx_peers::tree_inserts::{
    Budget, Options, Program, TreeEngine, Workers, registry, run, serve, table,
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
    #[arg(long, value_enum, default_value_t = FaceChoice::Busy)]
    face: FaceChoice,
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

#[derive(Clone, Copy, ValueEnum)]
enum FaceChoice {
    Idle,
    Busy,
    Both,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(Role::Worker) = arguments.role {
        return Ok(serve(
            &registry(),
            std::io::stdin().lock(),
            std::io::stdout().lock(),
        )?);
    }
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
    let faces: &[Face] = match arguments.face {
        FaceChoice::Idle => &[Face::Idle],
        FaceChoice::Busy => &[Face::Busy],
        FaceChoice::Both => &[Face::Idle, Face::Busy],
    };
    let mut reports = Vec::new();
    for &face in faces {
        let report = run(&options(&arguments, face)?, |what| {
            eprintln!("{face}: {what}")
        })?;
        if !arguments.json {
            println!("{}", table(&report));
        }
        reports.push(report);
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    }
    Ok(())
}

fn options(arguments: &Arguments, face: Face) -> anyhow::Result<Options> {
    Ok(Options {
        engines: chosen(&arguments.engines)?,
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

/// The engines with the given names, whatever their case.
fn chosen(names: &[String]) -> anyhow::Result<Vec<TreeEngine>> {
    let engines = registry();
    let is = |engine: &TreeEngine, name: &String| engine.name.eq_ignore_ascii_case(name);
    for name in names {
        if !engines.iter().any(|engine| is(engine, name)) {
            let known: Vec<_> = engines.iter().map(|engine| engine.name).collect();
            bail!("--engines {name}: choose among {}", known.join(", "));
        }
    }
    let wanted = |engine: &TreeEngine| names.iter().any(|name| is(engine, name));
    Ok(engines
        .into_iter()
        .filter(|engine| names.is_empty() || wanted(engine))
        .collect())
}
