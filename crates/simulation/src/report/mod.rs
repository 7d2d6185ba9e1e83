//! A study as files: pictures, CSV, and one HTML page with everything.
//!
//! All of it is a pure function of the study: the same outcomes give the same bytes (I11). The page
//! needs no network, no script and no file beside it.
//!
//! ```
//! use sardonyx_simulation::figures::{self, Needs, Study};
//! use sardonyx_simulation::outcome::Outcome;
//! use sardonyx_simulation::parameters::Parameters;
//! use sardonyx_simulation::report;
//!
//! // A study of nothing: unsimulated points are left out, not made up.
//! let simulate = |_: &[Parameters]| Ok::<Vec<Outcome>, std::convert::Infallible>(Vec::new());
//! let study = Study::run(&Parameters::paper(), &Needs::default(), &simulate)?;
//! let figure = figures::find("4.1")?;
//! assert!(report::chart(&figure, &study).svg().contains("no points"));
//! assert_eq!(report::csv(&figure, &study).lines().count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod csv;
mod html;

#[cfg(test)]
mod tests;

pub use csv::{csv, field};
pub use html::html;

use crate::figures::{Configuration, Curve, Figure, Reading, Study};
use crate::outcome::Outcome;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series};

/// The picture of `figure`.
pub fn chart(figure: &Figure, study: &Study) -> Chart {
    let series = |curve: &Curve| Series {
        label: curve.label.clone(),
        group: curve.group,
        dashed: curve.dashed,
        points: curve
            .points
            .iter()
            .map(|point| Mark {
                x: f64::from(point.nodes),
                y: figure.read(study, point),
            })
            .collect(),
    };
    let panels = figure.panels.iter().map(|panel| Panel {
        title: panel.title.clone(),
        series: panel.curves.iter().map(series).collect(),
    });
    Chart {
        title: format!("Figure {}: {}", figure.id, figure.title),
        x: Axis::linear("number of nodes"),
        y: Axis::linear(figure.reading.label()),
        panels: panels.collect(),
    }
}

/// Notes on the points of `figure` for its reader: points without a value, and the reason; points
/// where arrivals outran completions.
pub fn notes(figure: &Figure, study: &Study) -> Vec<String> {
    let mut notes = Vec::new();
    for panel in &figure.panels {
        for curve in &panel.curves {
            for point in &curve.points {
                let at = match panel.title.as_str() {
                    "" => format!("{}, {} nodes", curve.label, point.nodes),
                    part => format!("{part}: {}, {} nodes", curve.label, point.nodes),
                };
                notes.extend(note(figure, study, point).map(|text| format!("{at}: {text}.")));
            }
        }
    }
    notes
}

fn note(figure: &Figure, study: &Study, point: &Configuration) -> Option<String> {
    if figure.reading == Reading::Throughput
        && let Some(Err(error)) = study.throughput(point)
    {
        return Some(error.to_string());
    }
    let Some(outcome) = outcome(figure, study, point) else {
        return Some("not simulated".to_string());
    };
    let saturated = outcome.replications.iter().any(|one| one.saturated);
    saturated.then(|| {
        "saturated: arrivals outran completions, so that the means depend on how long was measured"
            .to_string()
    })
}

/// The outcome behind a point of `figure`: of a throughput, that of the last rate tried.
fn outcome<'a>(figure: &Figure, study: &'a Study, point: &Configuration) -> Option<&'a Outcome> {
    match figure.reading {
        Reading::Response => study.outcome(point),
        Reading::Throughput => Some(&study.throughput(point)?.ok()?.outcome),
    }
}
