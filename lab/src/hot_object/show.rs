//! The hot object's figures for people, as CSV and as a picture.

use super::{Cell, Figures, Series};
use crate::experiment::Report;
use sardonyx_results::chart::{self, Axis, Chart, Mark, Panel};
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::{Estimate, Findings};

/// The findings.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let mut findings = Findings::of(report)?
        .note(format_args!(
            "transactions that increment one counter and two of {} cold records, each durable",
            figures.cold_records
        ))
        .note(report.sync_line());
    for series in &figures.series {
        findings = findings
            .gap()
            .note(format_args!(
                "{}, {}",
                series.strategy,
                series.variant.name()
            ))
            .note(grid(std::slice::from_ref(series)).table());
    }
    Ok(findings
        .gap()
        .note(
            "x exclus.: to exclusive locks until durable, the same threads and strategy; waits are \
             for each transaction,\nas is the processor time of the threads that ran them",
        )
        .data("hot-object", &grid(&figures.series))
        .chart("hot-object", &chart(figures)))
}

fn grid(all: &[Series]) -> Grid<(&Series, &Cell)> {
    let rows = all
        .iter()
        .flat_map(|series| series.cells.iter().map(move |cell| (series, cell)));
    Grid::of(rows)
        .text("", "strategy", |(series, _)| series.strategy)
        .text("", "locks", |(series, _)| series.variant.name())
        .count("threads", "threads", |(_, cell)| cell.threads as u64)
        .count("", "transactions", |(_, cell)| cell.transactions)
        .number(
            "tx/s",
            "transactions_per_second",
            Unit::Decimals(0),
            |(_, cell)| cell.transactions_per_second,
        )
        .maybe("x exclus.", "", Unit::Decimals(1), |(_, cell)| {
            cell.times_exclusive
        })
        .number("mean us", "mean_us", Unit::Decimals(0), |(_, cell)| {
            cell.responses.average_microseconds
        })
        .number("p50 us", "p50_us", Unit::Decimals(0), |(_, cell)| {
            cell.responses.p50_microseconds
        })
        .number("p99 us", "p99_us", Unit::Decimals(0), |(_, cell)| {
            cell.responses.p99_microseconds
        })
        .number(
            "tx/write",
            "transactions_per_log_write",
            Unit::Decimals(1),
            |(_, cell)| cell.transactions_per_log_write,
        )
        .number(
            "page waits",
            "page_waits_per_transaction",
            Unit::Decimals(3),
            |(_, cell)| cell.page_waits,
        )
        .number(
            "obj. waits",
            "object_waits_per_transaction",
            Unit::Decimals(3),
            |(_, cell)| cell.object_waits,
        )
        .number(
            "waited us",
            "lock_wait_us_per_transaction",
            Unit::Decimals(1),
            |(_, cell)| cell.lock_wait_microseconds,
        )
        .number(
            "cpu us",
            "processor_us_per_transaction",
            Unit::Decimals(1),
            |(_, cell)| cell.processor_microseconds,
        )
        .count("deadlocks", "deadlocks", |(_, cell)| cell.deadlocks)
}

/// A part for each strategy.
fn chart(figures: &Figures) -> Chart {
    let mark = |cell: &Cell| Mark {
        x: cell.threads as f64,
        y: Some(Estimate::exactly(cell.transactions_per_second)),
    };
    let curve = |series: &Series| chart::Series {
        label: series.variant.name().into(),
        group: series.variant as usize,
        dashed: false,
        points: series.cells.iter().map(mark).collect(),
    };
    let mut panels: Vec<Panel> = Vec::new();
    for series in &figures.series {
        match panels.last_mut() {
            Some(panel) if panel.title == series.strategy => panel.series.push(curve(series)),
            _ => panels.push(Panel {
                title: series.strategy.into(),
                series: vec![curve(series)],
            }),
        }
    }
    Chart {
        title: "A counter that all threads increment, durably".into(),
        x: Axis::linear("threads"),
        y: Axis::linear("transactions a second"),
        panels,
    }
}
