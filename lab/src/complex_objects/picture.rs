//! The measures as a picture like the DASDBS paper's figures: a chart a measure.

use super::show::{of_sweep, parameters};
use super::{Figures, Parameter, Row, victims};
use sardonyx_results::Estimate;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series, Sheet};

/// The measure of a run that a chart shows.
type Measure = fn(&Row) -> f64;

/// The measures of the DASDBS paper's figures, a to e, and the conflict rate.
const MEASURES: [(&str, &str, Measure); 5] = [
    ("Throughput", "transactions a second", |row| row.per_second),
    ("Response time", "ms, average", |row| {
        row.response.average_microseconds / 1e3
    }),
    ("Lock wait", "ms a transaction", |row| {
        row.lock_wait_microseconds / 1e3
    }),
    ("Conflicts", "percent of lock requests", |row| {
        row.conflict_rate * 100.0
    }),
    ("Log I/O", "synced writes a second", |row| {
        row.log_writes_per_second
    }),
];

/// The name of the strategy that has persistence spheres.
const SPHERES: &str = "S2/PS";

/// The picture: for each sweep a chart of each measure.
pub fn picture(report: &Figures, title: &str) -> Sheet {
    let rows: Vec<&Row> = report.rows.iter().collect();
    if victims::are_compared(&rows) {
        return victims::picture(&rows, title);
    }
    let charts = parameters(report).into_iter().flat_map(|over| {
        let measures = MEASURES.iter().map(move |&(title, unit, measure)| {
            let series = strategies(report, over)
                .into_iter()
                .map(|strategy| curve(report, over, strategy, (strategy, false), measure));
            chart(over, title, unit, series.collect())
        });
        measures.chain([spheres(report, over)])
    });
    Sheet {
        title: title.into(),
        columns: 2,
        charts: charts.collect(),
    }
}

fn chart(over: Parameter, title: &str, unit: &str, series: Vec<Series>) -> Chart {
    let title_of_panel = String::new();
    Chart {
        title: title.into(),
        x: Axis::linear(over.meaning()),
        y: Axis::linear(unit),
        panels: vec![Panel {
            title: title_of_panel,
            series,
        }],
    }
}

/// The pages that a force writes to the log, and the largest sphere.
fn spheres(report: &Figures, over: Parameter) -> Chart {
    let mut series = Vec::new();
    for strategy in strategies(report, over) {
        series.push(curve(report, over, strategy, (strategy, false), |row| {
            row.pages_per_force
        }));
        if strategy == SPHERES {
            let largest = "S2/PS, the largest sphere";
            series.push(curve(report, over, strategy, (largest, true), |row| {
                row.sphere_pages_max as f64
            }));
        }
    }
    chart(over, "Pages of a force of the log", "pages", series)
}

fn strategies(report: &Figures, over: Parameter) -> Vec<&'static str> {
    let mut strategies = Vec::new();
    for row in of_sweep(report, over) {
        if !strategies.contains(&row.strategy) {
            strategies.push(row.strategy);
        }
    }
    strategies
}

fn curve(
    report: &Figures,
    over: Parameter,
    strategy: &str,
    (label, dashed): (&str, bool),
    measure: Measure,
) -> Series {
    let rows = of_sweep(report, over).filter(|row| row.strategy == strategy);
    let mark = |row: &Row| Mark {
        x: row.value.into(),
        y: Some(Estimate::exactly(measure(row))),
    };
    let all = ["S1", "S2", SPHERES, "ordered log"];
    Series {
        label: label.into(),
        group: all.iter().position(|one| *one == strategy).unwrap_or(0),
        dashed,
        points: rows.map(mark).collect(),
    }
}
