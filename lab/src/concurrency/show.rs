//! The tests' times for people, as CSV and as a picture.

use super::{Figures, Mechanism, Row, Test};
use crate::experiment::Report;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series};
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::units::count;
use sardonyx_results::{Estimate, Findings};

/// The findings.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let (durable, table) = match figures.durable {
        true => ("durable", "4.10"),
        false => ("nothing durable", "4.9"),
    };
    let advice = match figures.advice {
        true => "pages announced",
        false => "pages not announced",
    };
    let (runs, transactions) = figures.rows.first().map_or((0, 0), |row| {
        (row.runs_nanoseconds.len() as u64, row.transactions)
    });
    let title = format!(
        "Tests of Table {table}, {durable}, {advice}, {}: {} transactions, median of {} runs",
        report.face,
        count(transactions),
        count(runs),
    );
    Ok(Findings::of(report)?
        .note(title)
        .note(report.sync_line())
        .gap()
        .note(medians(&figures.rows).table())
        .data("concurrency", &all_runs(figures))
        .chart("concurrency", &chart(figures)))
}

fn medians(rows: &[Row]) -> Grid<&Row> {
    let us = Unit::NanosecondsAsMicroseconds;
    let runs = |row: &Row| row.runs_nanoseconds.clone().into_iter();
    Grid::of(rows)
        .text("mechanism", "", |row| row.mechanism.name())
        .text("test", "", |row| row.test.name())
        .count("processes", "", |row| row.processes)
        .number("us a transaction", "", us, |row| row.nanoseconds)
        .number("all together", "", Unit::PerSecond, |row| row.per_second)
        .number("speedup", "", Unit::Decimals(2), |row| row.speedup)
        .number("fastest run", "", us, |row| {
            runs(row).fold(f64::INFINITY, f64::min)
        })
        .number("slowest run", "", us, |row| runs(row).fold(0.0, f64::max))
        .count("conflicts", "", |row| row.conflicts)
}

fn all_runs(figures: &Figures) -> Grid<(&Row, usize, f64)> {
    let runs = figures.rows.iter().flat_map(|row| {
        let runs = row.runs_nanoseconds.iter().enumerate();
        runs.map(move |(run, nanoseconds)| (row, run, *nanoseconds))
    });
    Grid::of(runs)
        .text("", "mechanism", |(row, ..)| row.mechanism.name())
        .text("", "test", |(row, ..)| row.test.name())
        .text("", "durable", |_| figures.durable)
        .count("", "processes", |(row, ..)| row.processes)
        .count("", "transactions", |(row, ..)| row.transactions)
        .count("", "run", |(_, run, _)| *run as u64)
        .number("", "ns_a_transaction", Unit::Nanoseconds, |(.., time)| {
            *time
        })
}

/// Speedup over processes: a panel for each mechanism, a curve for each test.
fn chart(figures: &Figures) -> Chart {
    let mut mechanisms: Vec<Mechanism> = figures.rows.iter().map(|row| row.mechanism).collect();
    mechanisms.dedup();
    Chart {
        title: "Speedup of independent transactions".into(),
        x: Axis::linear("processes"),
        y: Axis::linear("speedup"),
        panels: mechanisms
            .into_iter()
            .map(|mechanism| panel(figures, mechanism))
            .collect(),
    }
}

fn panel(figures: &Figures, mechanism: Mechanism) -> Panel {
    let of = |test: Test| {
        let rows = figures.rows.iter();
        rows.filter(move |row| row.mechanism == mechanism && row.test == test)
    };
    let mark = |row: &Row| Mark {
        x: row.processes as f64,
        y: Some(Estimate::exactly(row.speedup)),
    };
    let series = Test::ALL
        .into_iter()
        .enumerate()
        .map(|(group, test)| Series {
            label: format!("test {}", test.name()),
            group,
            dashed: false,
            points: of(test).map(mark).collect(),
        });
    Panel {
        title: mechanism.name().into(),
        series: series.filter(|series| !series.points.is_empty()).collect(),
    }
}
