//! The measures for people, with the strategies compared with S1, and as CSV.

use super::{Figures, Parameter, Row, picture, victims};
use crate::experiment::Report;
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::units::{count, time};

/// The name of the file with all measures.
pub const CSV: &str = "complex-objects.csv";

/// The name of the picture.
pub const SVG: &str = "complex-objects.svg";

/// The strategy that others are compared with.
pub(super) const SINGLE_LEVEL: &str = "S1";

/// The findings; `title` is the picture's.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>, title: &str) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let scale = figures.scale;
    let changes = match figures.semantic {
        true => "commute",
        false => "lock exclusively",
    };
    let mut findings = Findings::of(report)?
        .note(format_args!(
            "{} complex objects, {} own subobjects and {} references each, {} pages; changes \
             {changes}; {} in the log",
            count(scale.complex_objects().into()),
            count(scale.subobjects().into()),
            scale.references(),
            count(scale.all_pages()),
            figures.page_log,
        ))
        .note(format_args!(
            "{} simulated processors, {} an access",
            figures.processors,
            time(figures.access_microseconds / 1e6)
        ))
        .note(report.sync_line());
    for over in parameters(figures) {
        let rows: Vec<&Row> = of_sweep(figures, over).collect();
        findings = findings.gap().note(heading(over, &rows));
        if victims::are_compared(&rows) {
            for line in victims::notes(&rows) {
                findings = findings.note(line);
            }
            findings = findings.note(victims::table(over, &rows).table());
            continue;
        }
        findings = findings.note(measures(over, &rows).table());
        if rows.iter().any(|row| row.strategy == SINGLE_LEVEL) {
            findings = findings
                .gap()
                .note("Compared with S1")
                .note(compared(over, &rows).table());
        }
    }
    let verified = count(figures.values_verified);
    Ok(findings
        .gap()
        .note(format_args!(
            "{verified} values compared with what was committed: all right"
        ))
        .data("complex-objects", &all_measures(&figures.rows))
        .charts("complex-objects", &picture::picture(figures, title)))
}

/// The varied parameters, in the order of the sweeps.
pub fn parameters(figures: &Figures) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = figures.rows.iter().map(|row| row.over).collect();
    parameters.dedup();
    parameters
}

/// The rows of a sweep.
pub fn of_sweep(figures: &Figures, over: Parameter) -> impl Iterator<Item = &Row> {
    figures.rows.iter().filter(move |row| row.over == over)
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

/// The table of a sweep for people.
fn measures<'a>(over: Parameter, rows: &[&'a Row]) -> Grid<&'a Row> {
    let us = Unit::Microseconds;
    Grid::of(rows.iter().copied())
        .text("strategy", "", |row| row.strategy)
        .count(over.name(), "", |row| row.value.into())
        .number("tx/s", "", Unit::Decimals(1), |row| row.per_second)
        .number("response", "", us, |row| row.response.average_microseconds)
        .number("p95", "", us, |row| row.response.p95_microseconds)
        .number("lock wait", "", us, |row| row.lock_wait_microseconds)
        .number("conflicts", "", Unit::Share, |row| row.conflict_rate)
        .count("restarts", "", |row| row.restarts)
        .count("aborts", "", |row| row.aborts)
        .number("forces/tx", "", Unit::Decimals(2), |row| row.forces)
        .number("writes/tx", "", Unit::Decimals(2), |row| row.log_writes)
        .number("writes/s", "", Unit::PerSecond, |row| {
            row.log_writes_per_second
        })
        .number("pages/force", "", Unit::Decimals(1), |row| {
            row.pages_per_force
        })
        .number("sphere", "", Unit::Decimals(1), |row| row.sphere_pages)
        .count("largest", "", |row| row.sphere_pages_max)
        .number("log/tx", "", Unit::Bytes, |row| row.log_bytes)
        .number("access", "", us, |row| row.access_microseconds)
}

/// The DASDBS paper's ratios.
fn compared<'a>(over: Parameter, rows: &[&'a Row]) -> Grid<(&'a Row, &'a Row)> {
    let single = |row: &Row| {
        let value = row.value;
        let mut rows = rows.iter();
        rows.find(|one| one.strategy == SINGLE_LEVEL && one.value == value)
    };
    let pairs = rows.iter().filter_map(|row| Some((*row, *single(row)?)));
    let times = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    Grid::of(pairs)
        .text("strategy", "", |(row, _)| row.strategy)
        .count(over.name(), "", |(row, _)| row.value.into())
        .maybe("throughput", "", Unit::Times, |(row, single)| {
            times(row.per_second, single.per_second)
        })
        .maybe("response", "", Unit::Times, |(row, single)| {
            let single = single.response.average_microseconds;
            times(row.response.average_microseconds, single)
        })
        .number("lock wait of response", "", Unit::Share, |(row, _)| {
            row.lock_wait_microseconds / row.response.average_microseconds
        })
        .maybe("lock wait", "", Unit::Times, |(row, single)| {
            times(row.lock_wait_microseconds, single.lock_wait_microseconds)
        })
        .maybe("forces/tx", "", Unit::Times, |(row, single)| {
            times(row.forces, single.forces)
        })
        .maybe("writes/tx", "", Unit::Times, |(row, single)| {
            times(row.log_writes, single.log_writes)
        })
        .maybe("writes/s", "", Unit::Times, |(row, single)| {
            times(row.log_writes_per_second, single.log_writes_per_second)
        })
        .maybe("pages/force", "", Unit::Times, |(row, single)| {
            times(row.pages_per_force, single.pages_per_force)
        })
}

/// All measures of all sweeps, for programs.
fn all_measures(rows: &[Row]) -> Grid<&Row> {
    let number = Unit::Decimals(1);
    let us = Unit::Microseconds;
    Grid::of(rows)
        .text("", "strategy", |row| row.strategy)
        .text("", "over", |row| row.over.name())
        .count("", "value", |row| row.value.into())
        .count("", "dmp", |row| row.point.multiprogramming.into())
        .count("", "c", |row| row.point.mix.operations.into())
        .count("", "o", |row| row.point.mix.own_accesses.into())
        .count("", "f", |row| row.point.mix.foreign_accesses.into())
        .count("", "u_percent", |row| row.point.mix.update_percent.into())
        .text("", "victim", |row| row.handling.name())
        .number("", "restart_delay_max_us", us, |row| {
            row.handling.delay_microseconds()
        })
        .count("", "transactions", |row| row.transactions)
        .number("", "seconds", number, |row| row.seconds)
        .number("", "tx_per_s", Unit::PerSecond, |row| row.per_second)
        .number("", "response_mean_us", us, |row| {
            row.response.average_microseconds
        })
        .number("", "response_p50_us", us, |row| {
            row.response.p50_microseconds
        })
        .number("", "response_p95_us", us, |row| {
            row.response.p95_microseconds
        })
        .number("", "response_max_us", us, |row| {
            row.response.max_microseconds
        })
        .number("", "lock_wait_us", us, |row| row.lock_wait_microseconds)
        .number("", "page_lock_wait_us", us, |row| {
            row.page_lock_wait_microseconds
        })
        .number("", "object_lock_wait_us", us, |row| {
            row.object_lock_wait_microseconds
        })
        .number("", "lock_requests", number, |row| row.lock_requests)
        .number("", "conflict_rate", Unit::Share, |row| row.conflict_rate)
        .count("", "restarts", |row| row.restarts)
        .count("", "aborts", |row| row.aborts)
        .number("", "forces", number, |row| row.forces)
        .number("", "forces_per_s", Unit::PerSecond, |row| {
            row.forces_per_second
        })
        .number("", "log_writes", number, |row| row.log_writes)
        .number("", "log_writes_per_s", Unit::PerSecond, |row| {
            row.log_writes_per_second
        })
        .number("", "pages_per_force", number, |row| row.pages_per_force)
        .number("", "pages_per_write", number, |row| row.pages_per_write)
        .number("", "sphere_pages", number, |row| row.sphere_pages)
        .count("", "sphere_pages_max", |row| row.sphere_pages_max)
        .number("", "log_bytes", Unit::Bytes, |row| row.log_bytes)
        .number("", "access_us", us, |row| row.access_microseconds)
}
