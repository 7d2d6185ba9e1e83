//! The inserts as files.

use crate::output::csv::text;
use sardonyx_lab::tree_inserts::{Cell, Report, TreeReport};
use sardonyx_simulation::chart::{Axis, Chart, Mark, Panel, Series};
use sardonyx_simulation::figures::Estimate;

/// The files: names and texts.
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("tree-inserts.csv", csv(report)),
        ("tree-inserts.svg", chart(report).svg()),
    ]
}

fn csv(report: &Report) -> String {
    let rows = report.engines.iter().flat_map(|tree| {
        tree.cells.iter().map(|cell| {
            [
                tree.name.to_string(),
                cell.workers.to_string(),
                report.workers.to_string(),
                report.preload.to_string(),
                report.value_bytes.to_string(),
                cell.inserts.to_string(),
                cell.inserts_per_second.to_string(),
                cell.responses.p50_microseconds.to_string(),
                cell.responses.p99_microseconds.to_string(),
                cell.responses.max_microseconds.to_string(),
            ]
        })
    });
    let names = [
        "tree",
        "workers",
        "by",
        "preload",
        "value_bytes",
        "inserts",
        "inserts_per_second",
        "p50_us",
        "p99_us",
        "max_us",
    ];
    text(names, rows)
}

fn chart(report: &Report) -> Chart {
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
        title: format!("Durable random inserts of {} bytes", report.value_bytes),
        x: Axis::linear(report.workers.to_string()),
        y: Axis::linear("inserts a second"),
        panels: vec![Panel {
            title: String::new(),
            series: report.engines.iter().enumerate().map(series).collect(),
        }],
    }
}
