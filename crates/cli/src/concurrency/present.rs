//! Prints the tests' times, and makes files of them.

use crate::output::Output;
use crate::output::csv::text;
use crate::output::table::Table;
use crate::output::units::{count, rate};
use crate::page_touch::present::sync;
use sardonyx_lab::concurrency::{Mechanism, Report, Row, Test};
use sardonyx_simulation::chart::{Axis, Chart, Mark, Panel, Series};
use sardonyx_simulation::figures::Estimate;
use std::io::Write;

/// Prints a report for people.
pub fn print(report: &Report, output: &mut Output) -> anyhow::Result<()> {
    let (durable, table) = match report.durable {
        true => ("durable", "4.10"),
        false => ("nothing durable", "4.9"),
    };
    let advice = if report.advice {
        "pages announced"
    } else {
        "pages not announced"
    };
    let (runs, transactions) = report.rows.first().map_or((0, 0), |row| {
        (row.runs_nanoseconds.len() as u64, row.transactions)
    });
    writeln!(
        output,
        "Tests of Table {table}, {durable}, {advice}, {}: {} transactions, median of {} runs",
        report.face,
        count(transactions),
        count(runs),
    )?;
    if let Some(latency) = &report.sync_latency {
        writeln!(output, "{}", sync(latency, report.face))?;
    }
    let mut table = Table::new([
        "mechanism",
        "test",
        "#processes",
        "#us a transaction",
        "#all together",
        "#speedup",
        "#fastest run",
        "#slowest run",
        "#conflicts",
    ]);
    for row in &report.rows {
        let runs = row.runs_nanoseconds.iter().copied();
        let [fastest, slowest] = [
            runs.clone().fold(f64::INFINITY, f64::min),
            runs.fold(0.0, f64::max),
        ];
        table.row([
            row.mechanism.name().into(),
            row.test.name().into(),
            row.processes.to_string(),
            microseconds(row.nanoseconds),
            rate(row.per_second),
            format!("{:.2}", row.speedup),
            microseconds(fastest),
            microseconds(slowest),
            count(row.conflicts),
        ]);
    }
    Ok(write!(output, "\n{table}")?)
}

fn microseconds(nanoseconds: f64) -> String {
    format!("{:.3}", nanoseconds / 1e3)
}

/// The files: names and texts.
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("concurrency.csv", csv(report)),
        ("concurrency.svg", chart(report).svg()),
    ]
}

fn csv(report: &Report) -> String {
    let rows = report.rows.iter().flat_map(|row| {
        let runs = row.runs_nanoseconds.iter().enumerate();
        runs.map(|(run, nanoseconds)| {
            [
                row.mechanism.name().into(),
                row.test.name().into(),
                report.durable.to_string(),
                row.processes.to_string(),
                row.transactions.to_string(),
                run.to_string(),
                nanoseconds.to_string(),
            ]
        })
    });
    let names = [
        "mechanism",
        "test",
        "durable",
        "processes",
        "transactions",
        "run",
        "ns_a_transaction",
    ];
    text(names, rows)
}

/// Speedup over processes: a panel for each mechanism, a curve for each test.
fn chart(report: &Report) -> Chart {
    let mut mechanisms: Vec<Mechanism> = report.rows.iter().map(|row| row.mechanism).collect();
    mechanisms.dedup();
    Chart {
        title: "Speedup of independent transactions".into(),
        x: Axis::linear("processes"),
        y: Axis::linear("speedup"),
        panels: mechanisms
            .into_iter()
            .map(|mechanism| panel(report, mechanism))
            .collect(),
    }
}

fn panel(report: &Report, mechanism: Mechanism) -> Panel {
    let of = |test: Test| {
        let rows = report.rows.iter();
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
