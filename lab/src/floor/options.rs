//! The floor's options, and the measurement as an experiment.

use super::{Floor, Latency, measure};
use crate::experiment::{About, Conditions, Experiment, check_seconds};
use crate::progress;
use anyhow::Context;
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};
use std::path::PathBuf;
use std::time::Duration;

/// Measure the limits of the machine.
///
/// Measure what bare loops and bare writes reach on this machine, without an engine.
///
/// Example: sardonyx-lab floor --directory .
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// The directory for the files, which are removed; its disk is the one that is measured [default: the system's
    /// temporary directory]
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    #[arg(hide_default_value = true)]
    pub directory: PathBuf,
    /// The number of accounts of 128 bytes
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub accounts: u64,
    /// The time of each loop; the whole takes about five times as long
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    pub seconds: f64,
    /// The number of single writes timed in each state of the disk
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub writes: usize,
    /// The common options of experiments.
    #[command(flatten)]
    pub conditions: Conditions,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "floor",
        source: None,
    };

    fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        check_seconds(self.seconds)?;
        let _face = self.conditions.face().enter()?;
        let bar = progress::spinner("running");
        let floor = measure(self)
            .with_context(|| format!("measuring with files in {}", self.directory.display()));
        bar.finish_and_clear();
        Ok(findings(&floor?)?)
    }
}

impl Options {
    /// The time of each loop.
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

fn findings(floor: &Floor) -> serde_json::Result<Findings> {
    let Floor {
        bare_loop,
        bare_pipeline,
        sync_latency,
        sequential_writes,
    } = floor;
    let loops = [
        (
            "one at a time, nothing durable",
            bare_loop.single_nanoseconds,
            "ns",
        ),
        (
            "batches of 64, prefetched, nothing durable",
            bare_loop.batched_nanoseconds,
            "ns",
        ),
        (
            "the same with a durable log, two threads",
            1e9 / bare_pipeline.transactions_per_second,
            "ns",
        ),
        (
            "durable transactions",
            bare_pipeline.transactions_per_second / 1e6,
            "million/s",
        ),
    ];
    let [idle, busy] = [&sync_latency.idle, &sync_latency.busy].map(percentiles);
    let names = [
        [
            "4 KiB, cores as they are: median",
            "4 KiB, cores as they are: p90",
            "4 KiB, cores as they are: p99",
        ],
        [
            "4 KiB, a core kept busy: median",
            "4 KiB, a core kept busy: p90",
            "4 KiB, a core kept busy: p99",
        ],
    ];
    let mut writes = Vec::new();
    for (names, figures) in names.into_iter().zip([idle, busy]) {
        writes.extend(
            names
                .into_iter()
                .zip(figures)
                .map(|(name, figure)| (name, figure, "us")),
        );
    }
    writes.push((
        "1 MiB, one after the other",
        sequential_writes.gigabytes_per_second,
        "GB/s",
    ));
    writes.push((
        "1 MiB, groups of the durable log",
        bare_pipeline.gigabytes_per_second,
        "GB/s",
    ));
    let direct = match sync_latency.direct {
        true => "",
        false => " (page cache: no O_DIRECT)",
    };
    Ok(Findings::of(floor)?
        .note(format_args!(
            "Debit-credit on arrays, {} accounts of 128 bytes",
            bare_loop.accounts
        ))
        .note(grid(&loops).table())
        .gap()
        .note(format_args!("Durable writes{direct}"))
        .note(grid(&writes).table())
        .data("floor", &grid(&[&loops[..], &writes].concat())))
}

type Line = (&'static str, f64, &'static str);

fn grid(lines: &[Line]) -> Grid<&Line> {
    Grid::of(lines)
        .text("what", "what", |(what, ..)| what)
        .number("figure", "figure", Unit::Decimals(2), |(_, figure, _)| {
            *figure
        })
        .text("unit", "unit", |(.., unit)| unit)
}

fn percentiles(latency: &Latency) -> [f64; 3] {
    [
        latency.median_microseconds,
        latency.p90_microseconds,
        latency.p99_microseconds,
    ]
}
