//! The engines' figures for people, and as CSV.

use super::run::{Figures, SCAN_ROWS};
use sardonyx_lab::{Report, ycsb};
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::units::count;

/// The findings: a table for each part, with the ratio to the fastest engine.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let mut findings = Findings::of(report)?.note(report.sync_line());
    if !figures.reads.is_empty() {
        let points = fastest(&figures.reads, |one| one.reads_per_second);
        let ranges = fastest(&figures.reads, |one| one.scanned_per_second);
        let grid = Grid::of(&figures.reads)
            .text("reads", "engine", |one| one.name)
            .number("by key", "reads_per_second", Unit::PerSecond, |one| {
                one.reads_per_second
            })
            .number("ratio", "", Unit::Decimals(3), |one| {
                one.reads_per_second / points
            })
            .maybe(
                "many keys together",
                "together_per_second",
                Unit::PerSecond,
                |one| one.together_per_second,
            )
            .number(
                "rows in ranges",
                "scanned_per_second",
                Unit::PerSecond,
                |one| one.scanned_per_second,
            )
            .number("ratio", "", Unit::Decimals(3), |one| {
                one.scanned_per_second / ranges
            })
            .number("", "load_seconds", Unit::Decimals(2), |one| {
                one.load_seconds
            });
        findings = findings
            .gap()
            .note(format_args!(
                "{} accounts of 100 bytes with an ordered key; one thread in one snapshot; ranges of {SCAN_ROWS}",
                count(figures.rows)
            ))
            .grid("reads", &grid);
    }
    if !figures.inserts.is_empty() {
        let most = fastest(&figures.inserts, |one| one.inserted_per_second);
        let grid = Grid::of(&figures.inserts)
            .text("inserts", "engine", |one| one.name)
            .count("batches on their way", "on_their_way", |one| {
                one.on_their_way as u64
            })
            .number("rows/s", "inserted_per_second", Unit::PerSecond, |one| {
                one.inserted_per_second
            })
            .number("ratio", "", Unit::Decimals(3), |one| {
                one.inserted_per_second / most
            })
            .maybe("p50", "p50_us", Unit::Microseconds, |one| {
                one.responses.map(|one| one.p50_microseconds)
            })
            .maybe("p99", "p99_us", Unit::Microseconds, |one| {
                one.responses.map(|one| one.p99_microseconds)
            })
            .count("", "inserted", |one| one.inserted);
        findings = findings
            .gap()
            .note(format_args!(
                "durable inserts, {} in a batch: an ordered key, two texts, two secondary indexes",
                count(figures.batch)
            ))
            .grid("inserts", &grid);
    }
    if !figures.openings.is_empty() {
        let seconds = |seconds: f64| seconds * 1e6;
        let unit = Unit::Microseconds;
        let grid = Grid::of(&figures.openings)
            .text("opening", "engine", |one| one.name)
            .number("to the first read", "open_us", unit, |one| {
                seconds(one.open_seconds)
            })
            .number("closing", "close_us", unit, |one| {
                seconds(one.close_seconds)
            })
            .number("loading", "load_us", unit, |one| seconds(one.load_seconds));
        findings = findings
            .gap()
            .note(format_args!(
                "{} accounts with an ordered key and one secondary index",
                count(figures.opening_rows)
            ))
            .grid("opening", &grid);
    }
    findings = findings.gap();
    for (name, settings) in &figures.settings {
        findings = findings.note(format_args!("{name}: {settings}"));
    }
    if let Some(ycsb) = &figures.ycsb {
        findings = ycsb::add(findings.gap(), ycsb, "");
    }
    Ok(findings)
}

fn fastest<R>(rows: &[R], rate: impl Fn(&R) -> f64) -> f64 {
    rows.iter().map(rate).fold(0.0, f64::max)
}
