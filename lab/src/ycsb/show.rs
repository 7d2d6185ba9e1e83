//! The stores' figures for people, and as CSV.

use super::run::{Cell, Figures, StoreFigures};
use crate::experiment::Report;
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::units::{count, time};

/// The findings: a part for each workload and size of batches, with the ratio to the fastest store.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let findings = Findings::of(report)?;
    Ok(add(findings, &report.figures, &report.sync_line()))
}

/// Adds the figures to other findings; `conditions` is a line below the first.
pub fn add(findings: Findings, figures: &Figures, conditions: &str) -> Findings {
    let mut findings = findings
        .note(format_args!(
            "YCSB, {} rows of {} x 100 bytes; every batch synced, one client",
            count(figures.rows),
            figures.fields
        ))
        .note(conditions);
    let cells = figures.stores.first().map_or(0, |store| store.cells.len());
    for at in 0..cells {
        let rows = figures.stores.iter();
        let rows: Vec<_> = rows
            .filter_map(|store| Some((store, store.cells.get(at)?)))
            .collect();
        let Some((_, cell)) = rows.first() else {
            continue;
        };
        let (workload, batch) = (cell.workload, cell.batch);
        let together = match batch {
            1 => "one at a time".to_string(),
            _ => format!("{} in a batch", count(batch as u64)),
        };
        findings = findings
            .gap()
            .note(format_args!(
                "{}: {}; {together}",
                workload.name(),
                workload.mix()
            ))
            .note(grid(rows).table());
    }
    let all = figures.stores.iter();
    let all = all.flat_map(|store| store.cells.iter().map(move |cell| (store, cell)));
    findings = findings.data("ycsb", &grid(all.collect())).gap();
    for store in &figures.stores {
        findings = findings.note(format_args!(
            "{}: loaded in {}, opened in {}; {}",
            store.name,
            time(store.load_seconds),
            time(store.open_seconds),
            store.settings
        ));
    }
    findings
}

fn grid<'a>(rows: Vec<(&'a StoreFigures, &'a Cell)>) -> Grid<(&'a StoreFigures, &'a Cell)> {
    let us = Unit::Microseconds;
    let rates = rows.iter().map(|(_, cell)| cell.operations_per_second);
    let fastest = rates.fold(0.0, f64::max);
    Grid::of(rows)
        .text("store", "store", |(store, _)| store.name)
        .text("", "workload", |(_, cell)| cell.workload.name())
        .count("", "batch", |(_, cell)| cell.batch as u64)
        .number(
            "operations/s",
            "operations_per_second",
            Unit::PerSecond,
            |(_, cell)| cell.operations_per_second,
        )
        .number("rows/s", "rows_per_second", Unit::PerSecond, |(_, cell)| {
            cell.rows_per_second
        })
        .number("ratio", "", Unit::Decimals(3), |(_, cell)| {
            cell.operations_per_second / fastest
        })
        .number("p50", "p50_us", us, |(_, cell)| {
            cell.responses.p50_microseconds
        })
        .number("p99", "p99_us", us, |(_, cell)| {
            cell.responses.p99_microseconds
        })
        .number("max", "max_us", us, |(_, cell)| {
            cell.responses.max_microseconds
        })
}
