//! The report as an aligned table for a person.

use std::fmt::Write;

use super::run::Report;

/// The report as text; the ratio is to the fastest engine with the same number of workers.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("a string takes everything");
    };
    line(format_args!(
        "random inserts of {} bytes into a tree of {} entries, each synced; by {}",
        report.value_bytes, report.preload, report.workers
    ));
    for latency in report.sync_latency.lines(report.face, "engines") {
        line(format_args!("{latency}"));
    }
    line(format_args!(
        "\n{:<24}{:>10}{:>12}{:>12}{:>8}{:>10}{:>10}{:>10}{:>10}",
        "engine",
        report.workers.to_string(),
        "inserts",
        "inserts/s",
        "ratio",
        "p50 us",
        "p95 us",
        "p99 us",
        "max us"
    ));
    let cells = || {
        let of = |engine: &'_ super::run::TreeReport| engine.cells.clone();
        report.engines.iter().flat_map(of)
    };
    for engine in &report.engines {
        for cell in &engine.cells {
            let fastest = cells()
                .filter(|other| other.workers == cell.workers)
                .map(|other| other.inserts_per_second)
                .fold(0.0, f64::max);
            line(format_args!(
                "{:<24}{:>10}{:>12}{:>12.0}{:>8.3}{:>10.0}{:>10.0}{:>10.0}{:>10.0}",
                engine.name,
                cell.workers,
                cell.inserts,
                cell.inserts_per_second,
                cell.inserts_per_second / fastest,
                cell.responses.p50_microseconds,
                cell.responses.p95_microseconds,
                cell.responses.p99_microseconds,
                cell.responses.max_microseconds,
            ));
        }
    }
    line(format_args!(""));
    for engine in &report.engines {
        line(format_args!("{}: {}", engine.name, engine.settings));
    }
    text
}
