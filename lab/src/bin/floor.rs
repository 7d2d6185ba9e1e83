//! Measures what bare loops reach on this machine and prints it: the figures to set beside others.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use sardonyx_lab::floor::{Floor, Latency, Options, measure};

/// Measures what bare loops reach on this machine.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where to make the files (they are removed); its disk is the one that is measured.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// How many accounts of 128 bytes.
    #[arg(long, default_value_t = 1_000_000)]
    accounts: u64,
    /// How long each loop runs.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Print JSON for programs.
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    ensure!(
        (0.0..=3_600.0).contains(&arguments.seconds),
        "--seconds {}: choose 0 to 3600",
        arguments.seconds
    );
    let defaults = Options::default();
    let options = Options {
        directory: arguments.directory.unwrap_or(defaults.directory),
        accounts: arguments.accounts,
        time: Duration::from_secs_f64(arguments.seconds),
        ..defaults
    };
    let floor = measure(&options)
        .with_context(|| format!("measuring with files in {}", options.directory.display()))?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&floor)?);
    } else {
        print(&floor);
    }
    Ok(())
}

fn print(floor: &Floor) {
    let Floor {
        bare_loop,
        bare_pipeline,
        sync_latency,
        sequential_writes,
    } = floor;
    println!(
        "debit-credit on arrays, {} accounts of 128 bytes",
        bare_loop.accounts
    );
    row(
        "  one at a time, nothing durable",
        bare_loop.single_nanoseconds,
        "ns",
    );
    row(
        "  batches of 64, prefetched, nothing durable",
        bare_loop.batched_nanoseconds,
        "ns",
    );
    let nanoseconds = 1e9 / bare_pipeline.transactions_per_second;
    row(
        "  the same with a durable log, two threads",
        nanoseconds,
        "ns",
    );
    let millions = bare_pipeline.transactions_per_second / 1e6;
    row("  durable transactions", millions, "million/s");
    println!(
        "durable writes{}",
        if sync_latency.direct {
            ""
        } else {
            " (page cache: no O_DIRECT)"
        }
    );
    let percentiles = |face: &str, latency: &Latency| {
        row(
            &format!("  4 KiB, {face}: median"),
            latency.median_microseconds,
            "us",
        );
        row(
            &format!("  4 KiB, {face}: p90"),
            latency.p90_microseconds,
            "us",
        );
        row(
            &format!("  4 KiB, {face}: p99"),
            latency.p99_microseconds,
            "us",
        );
    };
    percentiles("cores as they are", &sync_latency.idle);
    percentiles("a core kept busy", &sync_latency.busy);
    row(
        "  1 MiB, one after the other",
        sequential_writes.gigabytes_per_second,
        "GB/s",
    );
    row(
        "  1 MiB, groups of the durable log",
        bare_pipeline.gigabytes_per_second,
        "GB/s",
    );
}

fn row(what: &str, figure: f64, unit: &str) {
    println!("{what:<46} {figure:>10.2} {unit}");
}
