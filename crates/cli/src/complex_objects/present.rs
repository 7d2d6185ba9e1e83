//! Prints the measures, and how the strategies compare with S1.

use crate::output::Output;
use crate::output::table::Table;
use crate::output::units::{bytes, count, percent, rate, time};
use crate::page_touch::present::sync;
use sardonyx_lab::complex_objects::{Parameter, Report, Row};
use std::io::Write;

/// The strategy that others are compared with.
const SINGLE_LEVEL: &str = "S1";

/// Prints a report for people.
pub fn print(report: &Report, output: &mut Output) -> anyhow::Result<()> {
    let scale = report.scale;
    writeln!(
        output,
        "{} complex objects, {} own subobjects and {} references each, {} pages; changes {}; {} in \
         the log",
        count(scale.complex_objects().into()),
        count(scale.subobjects().into()),
        scale.references(),
        count(scale.all_pages()),
        if report.semantic {
            "commute"
        } else {
            "lock exclusively"
        },
        report.page_log,
    )?;
    let simulated = time(report.access_microseconds / 1e6);
    writeln!(
        output,
        "{} simulated processors, {simulated} an access",
        report.processors
    )?;
    writeln!(output, "{}", sync(&report.sync_latency, report.face))?;
    for over in parameters(report) {
        let rows: Vec<&Row> = of_sweep(report, over).collect();
        writeln!(output, "\n{}", heading(over, &rows))?;
        write!(output, "{}", measures(over, &rows))?;
        if rows.iter().any(|row| row.strategy == SINGLE_LEVEL) {
            writeln!(output, "\nCompared with S1")?;
            write!(output, "{}", compared(over, &rows))?;
        }
    }
    let verified = count(report.values_verified);
    writeln!(
        output,
        "\n{verified} values compared with what was committed: all right"
    )?;
    Ok(())
}

/// What was varied, in the order in which it was.
pub fn parameters(report: &Report) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = report.rows.iter().map(|row| row.over).collect();
    parameters.dedup();
    parameters
}

/// The rows of a sweep.
pub fn of_sweep(report: &Report, over: Parameter) -> impl Iterator<Item = &Row> {
    report.rows.iter().filter(move |row| row.over == over)
}

fn heading(over: Parameter, rows: &[&Row]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let mix = first.point.mix;
    let accesses = mix.accesses();
    let (c, o, f, u) = (
        mix.operations,
        mix.own_accesses,
        mix.foreign_accesses,
        mix.update_percent,
    );
    let dmp = format!("DMP {}", first.point.multiprogramming);
    match over {
        Parameter::Multiprogramming => format!("c={c} o={o} f={f} u={u}%"),
        Parameter::UpdatePercent => format!("c={c} o={o} f={f}, {dmp}"),
        Parameter::OwnAccesses => format!("c={c} f={f} u={u}%, {dmp}"),
        Parameter::Operations => format!("o={o} f={f} u={u}%, {dmp}"),
        Parameter::ForeignOfAll => format!("c={c} o+f={accesses} u={u}%, {dmp}"),
    }
}

fn measures(over: Parameter, rows: &[&Row]) -> Table {
    let value = format!("#{}", over.name());
    let mut table = Table::new([
        "strategy",
        &value,
        "#tx/s",
        "#response",
        "#p95",
        "#lock wait",
        "#conflicts",
        "#restarts",
        "#aborts",
        "#forces/tx",
        "#log I/O",
        "#pages/force",
        "#sphere",
        "#largest",
        "#log/tx",
        "#access",
    ]);
    for row in rows {
        table.row([
            row.strategy.into(),
            row.value.to_string(),
            format!("{:.1}", row.per_second),
            time(row.response.average_microseconds / 1e6),
            time(row.response.p95_microseconds / 1e6),
            time(row.lock_wait_microseconds / 1e6),
            percent(row.conflict_rate),
            count(row.restarts),
            count(row.aborts),
            format!("{:.2}", row.forces),
            rate(row.forces_per_second),
            format!("{:.1}", row.pages_per_force),
            format!("{:.1}", row.sphere_pages),
            count(row.sphere_pages_max),
            bytes(row.log_bytes.round() as u64),
            time(row.access_microseconds / 1e6),
        ]);
    }
    table
}

/// The paper's ratios.
fn compared(over: Parameter, rows: &[&Row]) -> Table {
    let value = format!("#{}", over.name());
    let mut table = Table::new([
        "strategy",
        &value,
        "#throughput",
        "#response",
        "#lock wait of response",
        "#lock wait",
        "#forces/tx",
        "#pages/force",
    ]);
    let times = |part: f64, whole: f64| {
        if whole > 0.0 {
            format!("{:.2} x", part / whole)
        } else {
            "-".into()
        }
    };
    for row in rows {
        let single = |one: &&&Row| one.strategy == SINGLE_LEVEL && one.value == row.value;
        let Some(single) = rows.iter().find(single) else {
            continue;
        };
        let response = row.response.average_microseconds;
        table.row([
            row.strategy.into(),
            row.value.to_string(),
            times(row.per_second, single.per_second),
            times(response, single.response.average_microseconds),
            percent(row.lock_wait_microseconds / response),
            times(row.lock_wait_microseconds, single.lock_wait_microseconds),
            times(row.forces, single.forces),
            times(row.pages_per_force, single.pages_per_force),
        ]);
    }
    table
}
