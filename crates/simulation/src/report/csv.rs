//! A figure's points as CSV (RFC 4180, with plain line feeds).

use super::outcome;
use crate::figures::{Configuration, Curve, Figure, Panel, Reading, Study};
use crate::outcome::Outcome;
use std::fmt::Write;

/// The outcome's figures that explain a response time: column, section, name.
const COLUMNS: &[(&str, &str, &str)] = &[
    (
        "input_queue_ms",
        "composition of the response time",
        "input queue",
    ),
    (
        "cpu_service_ms",
        "composition of the response time",
        "CPU service",
    ),
    (
        "cpu_queueing_ms",
        "composition of the response time",
        "CPU queueing",
    ),
    ("io_ms", "composition of the response time", "I/O"),
    ("gem_ms", "composition of the response time", "GEM"),
    (
        "lock_waits_ms",
        "composition of the response time",
        "lock waits",
    ),
    (
        "messages_ms",
        "composition of the response time",
        "messages",
    ),
    (
        "restarts_ms",
        "composition of the response time",
        "restarts",
    ),
    ("throughput_per_s", "throughput", "transactions"),
    ("cpu_percent", "servers", "cpu: utilisation"),
    ("gem_percent", "servers", "gem: utilisation"),
    ("lock_requests", "locks", "requests"),
    ("local_locks_percent", "locks", "local share"),
    ("remote_locks", "locks", "remote"),
    ("page_requests", "messages", "page requests"),
    ("short_messages", "messages", "short"),
    ("long_messages", "messages", "long"),
    (
        "branch_teller_hits_percent",
        "pages",
        "branch_teller: buffer hits",
    ),
    (
        "branch_teller_invalidations",
        "pages",
        "branch_teller: invalidations",
    ),
    (
        "branch_teller_copies_made_invalid",
        "pages",
        "branch_teller: copies made invalid",
    ),
];

/// The points of `figure` that the study has, one a line: value, interval and explaining figures. If an outcome has no
/// such figure the field is empty.
pub fn csv(figure: &Figure, study: &Study) -> String {
    let mut text =
        "figure,part,curve,nodes,value,half_width,unit,replications,saturated".to_string();
    for (column, _, _) in COLUMNS {
        text.push(',');
        text.push_str(column);
    }
    text.push('\n');
    for panel in &figure.panels {
        for curve in &panel.curves {
            for point in &curve.points {
                if let Some(outcome) = outcome(figure, study, point) {
                    line(&mut text, (figure, panel, curve), study, point, outcome);
                }
            }
        }
    }
    text
}

fn line(
    text: &mut String,
    (figure, panel, curve): (&Figure, &Panel, &Curve),
    study: &Study,
    point: &Configuration,
    outcome: &Outcome,
) {
    let value = figure.read(study, point).unwrap_or_default();
    let unit = match figure.reading {
        Reading::Response => "ms",
        Reading::Throughput => "/s",
    };
    let _ = write!(
        text,
        "{},{},{},{},{},{},{unit},{},{}",
        figure.id,
        field(&panel.title),
        field(&curve.label),
        point.nodes,
        value.mean,
        value.half_width,
        outcome.replications.len(),
        outcome.replications.iter().any(|one| one.saturated),
    );
    for (_, section, name) in COLUMNS {
        text.push(',');
        if let Some(summary) = outcome.figure(section, name) {
            let _ = write!(text, "{}", summary.mean);
        }
    }
    text.push('\n');
}

/// A text as a field of CSV: quoted if it must be.
pub fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
