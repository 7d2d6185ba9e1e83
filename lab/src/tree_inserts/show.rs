//! The inserts' figures for people, as CSV and as a picture.

use super::{Cell, Figures, TreeReport};
use crate::experiment::Report;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series};
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::{Estimate, Findings};

/// The findings; the ratio is to the fastest engine with the same number of workers.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let mut findings = Findings::of(report)?
        .note(format_args!(
            "random inserts of {} bytes into a tree of {} entries, each synced; by {}",
            figures.value_bytes, figures.preload, figures.workers
        ))
        .note(report.sync_line())
        .gap()
        .grid("tree-inserts", &grid(figures))
        .chart("tree-inserts", &chart(figures))
        .gap();
    for engine in &figures.engines {
        findings = findings.note(format_args!("{}: {}", engine.name, engine.settings));
    }
    Ok(findings)
}

fn grid(figures: &Figures) -> Grid<(&TreeReport, &Cell)> {
    let rows = || {
        let engines = figures.engines.iter();
        engines.flat_map(|engine| engine.cells.iter().map(move |cell| (engine, cell)))
    };
    let us = Unit::Decimals(0);
    let fastest = |workers: u64| {
        let same = rows().filter(|(_, cell)| cell.workers == workers);
        same.map(|(_, cell)| cell.inserts_per_second)
            .fold(0.0, f64::max)
    };
    let workers = figures.workers.to_string();
    Grid::of(rows())
        .text("engine", "tree", |(engine, _)| engine.name)
        .count(&workers, "workers", |(_, cell)| cell.workers)
        .text("", "by", |_| figures.workers)
        .count("", "preload", |_| figures.preload)
        .count("", "value_bytes", |_| figures.value_bytes as u64)
        .count("inserts", "inserts", |(_, cell)| cell.inserts)
        .number(
            "inserts/s",
            "inserts_per_second",
            Unit::Decimals(0),
            |(_, cell)| cell.inserts_per_second,
        )
        .number("ratio", "", Unit::Decimals(3), |(_, cell)| {
            cell.inserts_per_second / fastest(cell.workers)
        })
        .number("p50 us", "p50_us", us, |(_, cell)| {
            cell.responses.p50_microseconds
        })
        .number("p95 us", "", us, |(_, cell)| {
            cell.responses.p95_microseconds
        })
        .number("p99 us", "p99_us", us, |(_, cell)| {
            cell.responses.p99_microseconds
        })
        .number("max us", "max_us", us, |(_, cell)| {
            cell.responses.max_microseconds
        })
}

fn chart(figures: &Figures) -> Chart {
    let mark = |cell: &Cell| Mark {
        x: cell.workers as f64,
        y: Some(Estimate::exactly(cell.inserts_per_second)),
    };
    let series = |(group, tree): (usize, &TreeReport)| Series {
        label: tree.name.into(),
        group,
        dashed: false,
        points: tree.cells.iter().map(mark).collect(),
    };
    Chart {
        title: format!("Durable random inserts of {} bytes", figures.value_bytes),
        x: Axis::linear(figures.workers.to_string()),
        y: Axis::linear("inserts a second"),
        panels: vec![Panel {
            title: String::new(),
            series: figures.engines.iter().enumerate().map(series).collect(),
        }],
    }
}
