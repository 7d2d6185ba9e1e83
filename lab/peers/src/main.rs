//! Runs the same debit-credit on other people's engines and prints the table.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::{Parser, ValueEnum};
use sardonyx_lab::debit_credit::requests::Scale;
use sardonyx_lab::floor::Face;
use sardonyx_peers::{Engine, Options, registry, run, table};

/// Runs the same debit-credit on other people's engines, every group synced.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where to make the banks (they are removed); its disk is the one that is used.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// How many accounts of 128 bytes.
    #[arg(long, default_value_t = 1_000_000)]
    accounts: u64,
    /// How long each engine runs with each group size.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How many transactions share a sync: the sizes to try.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100, 1_000, 10_000])]
    groups: Vec<usize>,
    /// Which engines; all if none is named.
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Whether a thread of the lowest priority keeps a core busy, so that the disk answers fast.
    #[arg(long, value_enum, default_value_t = FaceChoice::Busy)]
    face: FaceChoice,
    /// Where the requests come from; the same seed draws the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Show every group size, not only one transaction and the best.
    #[arg(long)]
    sweep: bool,
    /// Print JSON for programs: a list with one report for each face, every group size in it.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum FaceChoice {
    Idle,
    Busy,
    Both,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let seconds = arguments.seconds;
    ensure!(
        (0.0..=3_600.0).contains(&seconds),
        "--seconds {seconds}: choose 0 to 3600"
    );
    let faces: &[Face] = match arguments.face {
        FaceChoice::Idle => &[Face::Idle],
        FaceChoice::Busy => &[Face::Busy],
        FaceChoice::Both => &[Face::Idle, Face::Busy],
    };
    let mut reports = Vec::new();
    for &face in faces {
        let options = Options {
            engines: chosen(&arguments.engines)?,
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
        if !arguments.json {
            println!("{}", table(&report, arguments.sweep));
        }
        reports.push(report);
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    }
    Ok(())
}

/// The engines with the given names, whatever their case.
fn chosen(names: &[String]) -> anyhow::Result<Vec<Engine>> {
    let engines = registry();
    for name in names {
        if !engines
            .iter()
            .any(|engine| engine.name.eq_ignore_ascii_case(name))
        {
            let known: Vec<_> = engines.iter().map(|engine| engine.name).collect();
            bail!("--engines {name}: choose among {}", known.join(", "));
        }
    }
    let named = |engine: &Engine| {
        names
            .iter()
            .any(|name| engine.name.eq_ignore_ascii_case(name))
    };
    Ok(engines
        .into_iter()
        .filter(|engine| names.is_empty() || named(engine))
        .collect())
}
