//! The indexes' figures for people, and as CSV.

use super::run::{Cell, EngineReport, Figures, WorkReport};
use sardonyx_lab::Report;
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};

/// The findings; the ratio is to the fastest engine with the same number of threads.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let mut findings = Findings::of(report)?
        .note(format_args!(
            "ordered indexes of {} entries: keys of 16 bytes, values of 100",
            figures.preload
        ))
        .note(report.sync_line());
    for work in &figures.works {
        findings = findings
            .gap()
            .note(work.work.name())
            .note(grid(std::slice::from_ref(work)).table());
    }
    findings = findings.data("ordered-index", &grid(&figures.works)).gap();
    for (name, settings) in &figures.settings {
        findings = findings.note(format_args!("{name}: {settings}"));
    }
    Ok(findings)
}

type Line<'a> = (&'a WorkReport, &'a EngineReport, &'a Cell);

fn grid(works: &[WorkReport]) -> Grid<Line<'_>> {
    let rows = works.iter().flat_map(|work| {
        let engines = work.engines.iter();
        engines.flat_map(move |engine| engine.cells.iter().map(move |cell| (work, engine, cell)))
    });
    let us = Unit::Decimals(1);
    Grid::of(rows)
        .text("", "work", |(work, ..)| work.work.name())
        .text("engine", "engine", |(_, engine, _)| engine.name)
        .count("threads", "threads", |(.., cell)| cell.threads as u64)
        .number(
            "entries/s",
            "entries_per_second",
            Unit::Decimals(0),
            |(.., cell)| cell.entries_per_second,
        )
        .number("ratio", "", Unit::Decimals(3), |(work, _, cell)| {
            cell.entries_per_second / fastest(work, cell.threads)
        })
        .number("p50 us/tx", "p50_us", us, |(.., cell)| {
            cell.responses.p50_microseconds
        })
        .number("p99 us/tx", "p99_us", us, |(.., cell)| {
            cell.responses.p99_microseconds
        })
        .number("max us/tx", "max_us", Unit::Decimals(0), |(.., cell)| {
            cell.responses.max_microseconds
        })
}

fn fastest(work: &WorkReport, threads: usize) -> f64 {
    let cells = work.engines.iter().flat_map(|engine| &engine.cells);
    let same = cells.filter(|cell| cell.threads == threads);
    same.map(|cell: &Cell| cell.entries_per_second)
        .fold(0.0, f64::max)
}
