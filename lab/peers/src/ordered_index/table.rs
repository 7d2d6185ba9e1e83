//! The report as an aligned table for a person.

use super::run::{Cell, Report, WorkReport};
use std::fmt::Write;

/// The report as text; the ratio is to the fastest engine with the same number of threads.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("a string takes everything");
    };
    line(format_args!(
        "ordered indexes of {} entries: keys of 16 bytes, values of 100",
        report.preload
    ));
    for latency in report.sync_latency.lines(report.face, "engines") {
        line(format_args!("{latency}"));
    }
    for work in &report.works {
        line(format_args!("\n{}", work.work.name()));
        line(format_args!(
            "{:<26}{:>8}{:>14}{:>8}{:>12}{:>12}{:>12}",
            "engine", "threads", "entries/s", "ratio", "p50 us/tx", "p99 us/tx", "max us/tx"
        ));
        for engine in &work.engines {
            for cell in &engine.cells {
                line(format_args!(
                    "{:<26}{:>8}{:>14.0}{:>8.3}{:>12.1}{:>12.1}{:>12.0}",
                    engine.name,
                    cell.threads,
                    cell.entries_per_second,
                    cell.entries_per_second / fastest(work, cell.threads),
                    cell.responses.p50_microseconds,
                    cell.responses.p99_microseconds,
                    cell.responses.max_microseconds,
                ));
            }
        }
    }
    line(format_args!(""));
    for (name, settings) in &report.settings {
        line(format_args!("{name}: {settings}"));
    }
    text
}

fn fastest(work: &WorkReport, threads: usize) -> f64 {
    let cells = work.engines.iter().flat_map(|engine| &engine.cells);
    let same = cells.filter(|cell| cell.threads == threads);
    same.map(|cell: &Cell| cell.entries_per_second)
        .fold(0.0, f64::max)
}
