//! Response times over the offered load, as a table, CSV and SVG.

use crate::open_loop::Point;
use crate::responses::Summary;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series};
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::units::{rate, time};
use sardonyx_results::{Estimate, Findings};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct OpenLoopFigures {
    /// The rate of an earlier closed loop, if the rates are shares of it.
    pub closed_loop_per_second: Option<f64>,
    /// The figures at each arrival rate.
    pub points: Vec<Point>,
}

/// The response time that a curve shows, in microseconds.
type Measure = fn(&Summary) -> f64;

const MEASURES: [(&str, Measure); 3] = [
    ("99% took no longer", |summary| summary.p99_microseconds),
    ("mean", |summary| summary.average_microseconds),
    ("half took no longer", |summary| summary.p50_microseconds),
];

/// Adds the figures at each rate to the findings; the files begin with `name`.
pub(super) fn show(
    findings: Findings,
    name: &str,
    figures: &OpenLoopFigures,
    title: &str,
) -> Findings {
    let closed = match figures.closed_loop_per_second {
        Some(reached) => format!(" A closed loop reached {} before.", rate(reached)),
        None => String::new(),
    };
    let lagged = figures.points.iter().filter(|point| point.generator_lagged);
    let lagged: Vec<String> = lagged
        .map(|point| {
            let late = time(point.generator_late_microseconds / 1e6);
            format!("{} ({late} on average)", rate(point.arrival_rate))
        })
        .collect();
    let lagged = match lagged.is_empty() {
        true => String::new(),
        false => format!(
            "The generator itself was late by more than a tenth of the average response at {}.",
            lagged.join(", ")
        ),
    };
    findings
        .note(format_args!(
            "Open loop: response times from the intended arrival.{closed}"
        ))
        .gap()
        .grid(name, &grid(&figures.points))
        .gap()
        .note(lagged)
        .chart(name, &chart(&figures.points, title))
}

fn grid(points: &[Point]) -> Grid<&Point> {
    let us = Unit::Microseconds;
    let maybe = |of: Measure| move |point: &&Point| point.responses.as_ref().map(of);
    Grid::of(points)
        .number("", "arrival_rate", Unit::PerSecond, |point| {
            point.arrival_rate
        })
        .number("offered", "offered_per_second", Unit::PerSecond, |point| {
            point.offered_per_second
        })
        .number(
            "completed",
            "completed_per_second",
            Unit::PerSecond,
            |point| point.completed_per_second,
        )
        .maybe("mean", "mean_us", us, maybe(|of| of.average_microseconds))
        .maybe("p50", "p50_us", us, maybe(|of| of.p50_microseconds))
        .maybe("p95", "p95_us", us, maybe(|of| of.p95_microseconds))
        .maybe("p99", "p99_us", us, maybe(|of| of.p99_microseconds))
        .maybe("max", "max_us", us, maybe(|of| of.max_microseconds))
        .count("backlog at the end", "backlog", |point| point.backlog)
        .count("given up", "given_up", |point| point.given_up)
        .number("generator late", "generator_late_us", us, |point| {
            point.generator_late_microseconds
        })
        .text("", "generator_lagged", |point| point.generator_lagged)
}

fn chart(points: &[Point], title: &str) -> Chart {
    let curve = |group: usize, (label, measure): (&str, Measure)| Series {
        label: label.into(),
        group,
        dashed: false,
        points: points
            .iter()
            .map(|point| Mark {
                x: point.offered_per_second / 1e3,
                y: point
                    .responses
                    .as_ref()
                    .map(|summary| Estimate::exactly(measure(summary) / 1e3)),
            })
            .collect(),
    };
    let series = MEASURES.into_iter().enumerate();
    Chart {
        title: title.into(),
        x: Axis::linear("offered load, thousand transactions a second"),
        y: Axis::logarithmic("response time from the intended arrival, ms"),
        panels: vec![Panel {
            title: String::new(),
            series: series.map(|(group, one)| curve(group, one)).collect(),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_loop::Offered;
    use crate::open_loop::point::Part;
    use crate::responses::Responses;
    use std::time::Duration;

    #[test]
    fn a_point_is_in_table_file_and_picture_and_a_late_generator_is_named() {
        let recorded = |microseconds| {
            let mut responses = Responses::new();
            responses.record_n(Duration::from_micros(microseconds), 100);
            responses
        };
        let offered = Offered {
            arrivals: 100,
            submitted: 100,
            left: Responses::new(),
            late: recorded(900),
        };
        let part = Part {
            offered,
            responses: recorded(2000),
            answered_in_time: 100,
        };
        let figures = OpenLoopFigures {
            closed_loop_per_second: Some(250.0),
            points: vec![Point::of(100.0, Duration::from_secs(1), &[part])],
        };
        let findings = Findings::of(&figures).unwrap();
        let findings = show(findings, "open-loop", &figures, "A title");
        let text = findings.text();
        assert!(text.contains("A closed loop reached 250/s"), "{text}");
        assert!(text.contains("late by more than a tenth"), "{text}");
        assert!(text.contains("2.00 ms"), "{text}");
        let csv = findings.file("open-loop.csv").unwrap();
        assert!(csv.starts_with("arrival_rate,offered_per_second"), "{csv}");
        let svg = findings.file("open-loop.svg").unwrap();
        assert!(svg.contains("A title") && svg.contains("99% took no longer"));
    }
}
