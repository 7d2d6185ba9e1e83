//! The hot object's figures as files.

use crate::output::csv::text;
use sardonyx_lab::hot_object::{Cell, Report, Series};
use sardonyx_simulation::chart::{self, Axis, Chart, Mark, Panel};
use sardonyx_simulation::figures::Estimate;

/// The files: names and texts.
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("hot-object.csv", csv(report)),
        ("hot-object.svg", chart(report).svg()),
    ]
}

fn csv(report: &Report) -> String {
    let rows = report.series.iter().flat_map(|series| {
        series.cells.iter().map(|cell| {
            [
                series.strategy.to_string(),
                series.variant.name().to_string(),
                cell.threads.to_string(),
                cell.transactions.to_string(),
                cell.transactions_per_second.to_string(),
                cell.responses.average_microseconds.to_string(),
                cell.responses.p50_microseconds.to_string(),
                cell.responses.p99_microseconds.to_string(),
                cell.transactions_per_log_write.to_string(),
                cell.page_waits.to_string(),
                cell.object_waits.to_string(),
                cell.lock_wait_microseconds.to_string(),
                cell.processor_microseconds.to_string(),
                cell.deadlocks.to_string(),
            ]
        })
    });
    let names = [
        "strategy",
        "locks",
        "threads",
        "transactions",
        "transactions_per_second",
        "mean_us",
        "p50_us",
        "p99_us",
        "transactions_per_log_write",
        "page_waits_per_transaction",
        "object_waits_per_transaction",
        "lock_wait_us_per_transaction",
        "processor_us_per_transaction",
        "deadlocks",
    ];
    text(names, rows)
}

/// A part for each strategy.
fn chart(report: &Report) -> Chart {
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
    for series in &report.series {
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
