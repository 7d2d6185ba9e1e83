//! The victim of a deadlock, and the delay before it is run again: all rules side by side.
//!
//! The DASDBS paper's figure 9 has S2/PS at 16 times the throughput of S1, which spends its time in deadlocks there.
//! The paper names neither the rule by which its lock manager chose the victim, nor the delay before the victim was run
//! again. These decide the factor. So a figure shows either the engine's default or the whole table, beside the DASDBS
//! paper's number.

use super::show::SINGLE_LEVEL;
use super::{Parameter, Point, Row};
use crate::complex_objects::workload::Mix;
use sardonyx_multilevel::{RestartDelay, VictimRule};
use sardonyx_results::Estimate;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series, Sheet};
use sardonyx_results::grid::{Grid, Unit};
use std::fmt;
use std::time::Duration;

/// The DASDBS paper's figure that the rule decides.
pub(super) const FIGURE: u32 = 9;

/// The ratio of S2/PS' throughput to S1's in the DASDBS paper, at a degree of multiprogramming of 12.
const THROUGHPUT_OF_PAPER: f64 = 16.0;

/// The ratio of S1's response time to S2/PS'.
const RESPONSE_OF_PAPER: f64 = 10.0;

/// The handling of a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Handling {
    /// The rule that chooses the victim. The seed is the run's.
    rule: VictimRule,
    /// The longest delay before it is run again.
    delay_max: Duration,
}

impl Handling {
    /// Every rule with every delay, in order of the rules.
    pub fn all(delays: &[Duration]) -> Vec<Handling> {
        let with_delays = |rule| {
            let delays = delays.iter();
            delays.map(move |&delay_max| Handling { rule, delay_max })
        };
        VictimRule::all(0)
            .into_iter()
            .flat_map(with_delays)
            .collect()
    }

    /// The rule's name.
    pub fn name(self) -> &'static str {
        self.rule.name()
    }

    /// The longest delay, in microseconds.
    pub fn delay_microseconds(self) -> f64 {
        self.delay_max.as_secs_f64() * 1e6
    }

    pub(super) fn rule(self, seed: u64) -> VictimRule {
        match self.rule {
            VictimRule::Random { .. } => VictimRule::Random { seed },
            rule => rule,
        }
    }

    pub(super) fn delay(self, seed: u64) -> RestartDelay {
        RestartDelay::up_to(self.delay_max).seeded(seed)
    }
}

impl fmt::Display for Handling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.delay_max.is_zero() {
            true => f.write_str(" at once"),
            false => write!(f, " after 0 to {:?}", self.delay_max),
        }
    }
}

impl serde::Serialize for Handling {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Handling", 2)?;
        fields.serialize_field("victim", self.name())?;
        fields.serialize_field("restart_delay_max_microseconds", &self.delay_microseconds())?;
        fields.end()
    }
}

/// Returns true if several ways to end deadlocks were run.
pub(super) fn are_compared(rows: &[&Row]) -> bool {
    rows.windows(2)
        .any(|two| two[0].handling != two[1].handling)
}

/// Returns true if the DASDBS paper has a number for it.
fn is_of_paper(point: Point) -> bool {
    let foreign_only = Mix {
        own_accesses: 0,
        foreign_accesses: 10,
        ..Mix::paper()
    };
    point.multiprogramming == 12 && point.mix == foreign_only
}

/// The notes above the table.
pub(super) fn notes(rows: &[&Row]) -> Vec<String> {
    let mut notes = vec![
        "Every rule for the victim of a deadlock, and every delay before it is run again; beside S1 \
         with the same rule"
            .to_string(),
    ];
    if rows.iter().any(|row| is_of_paper(row.point)) {
        notes.push(format!(
            "DASDBS paper, figure {FIGURE}, DMP 12: {THROUGHPUT_OF_PAPER} x the throughput, responses \
             {RESPONSE_OF_PAPER} x shorter; it does not name its rule"
        ));
    }
    notes
}

/// A row beside that of S1 at the same point with the same rule.
type Beside<'a> = (&'a Row, Option<&'a Row>);

fn beside_single<'a>(rows: &[&'a Row]) -> Vec<Beside<'a>> {
    let single = |row: &Row| {
        let mut rows = rows.iter();
        let same = |one: &&&Row| {
            one.strategy == SINGLE_LEVEL
                && (one.over, one.value, one.handling) == (row.over, row.value, row.handling)
        };
        rows.find(same).copied()
    };
    rows.iter().map(|row| (*row, single(row))).collect()
}

/// A quotient; `None` for a run in which no transaction ended.
fn times(part: f64, whole: f64) -> Option<f64> {
    (part > 0.0 && whole > 0.0).then(|| part / whole)
}

fn throughput((row, single): &Beside<'_>) -> Option<f64> {
    times(row.per_second, (*single)?.per_second)
}

fn response((row, single): &Beside<'_>) -> Option<f64> {
    let single = (*single)?.response.average_microseconds;
    times(single, row.response.average_microseconds)
}

pub(super) fn table<'a>(over: Parameter, rows: &[&'a Row]) -> Grid<Beside<'a>> {
    let us = Unit::Microseconds;
    let paper = |(row, _): &Beside<'_>, number| {
        let beside = row.strategy != SINGLE_LEVEL && is_of_paper(row.point);
        beside.then_some(number)
    };
    let each = |count: f64, row: &Row| times(count, row.transactions as f64);
    Grid::of(beside_single(rows))
        .text("victim", "", |(row, _)| row.handling.name())
        .text("run again after", "", |(row, _)| {
            match row.handling.delay_max {
                Duration::ZERO => "at once".to_string(),
                most => format!("0 to {most:?}"),
            }
        })
        .count(over.name(), "", |(row, _)| row.value.into())
        .text("strategy", "", |(row, _)| row.strategy)
        .number("tx/s", "", Unit::Decimals(1), |(row, _)| row.per_second)
        .maybe("response", "", us, |(row, _)| {
            let average = row.response.average_microseconds;
            (row.transactions > 0).then_some(average)
        })
        .maybe("deadlocks/tx", "", Unit::Decimals(2), move |(row, _)| {
            each(row.aborts as f64, row)
        })
        .count("restarts", "", |(row, _)| row.restarts)
        .maybe("waits for log/tx", "", Unit::Decimals(2), |(row, _)| {
            (row.transactions > 0).then_some(row.forces)
        })
        .maybe("log writes/tx", "", Unit::Decimals(2), |(row, _)| {
            (row.transactions > 0).then_some(row.log_writes)
        })
        .maybe("throughput", "", Unit::Times, throughput)
        .maybe("paper", "", Unit::Times, move |row| {
            paper(row, THROUGHPUT_OF_PAPER)
        })
        .maybe("shorter response", "", Unit::Times, response)
        .maybe("paper", "", Unit::Times, move |row| {
            paper(row, RESPONSE_OF_PAPER)
        })
}

/// The measure of a run that a chart shows.
type Measure = fn(&Beside<'_>) -> Option<f64>;

/// The whole table as a picture: over the longest delay a curve for each rule.
pub(super) fn picture(rows: &[&Row], title: &str) -> Sheet {
    let mut strategies: Vec<&str> = rows.iter().map(|row| row.strategy).collect();
    strategies.sort_unstable();
    strategies.dedup();
    let mut charts = Vec::new();
    for strategy in strategies {
        let of_strategy: Vec<Beside<'_>> = beside_single(rows)
            .into_iter()
            .filter(|(row, _)| row.strategy == strategy)
            .collect();
        if strategy != SINGLE_LEVEL {
            let of_paper = rows.iter().any(|row| is_of_paper(row.point));
            let paper = of_paper.then_some(THROUGHPUT_OF_PAPER);
            let what = format!("{strategy} beside S1");
            charts.push(chart(
                &of_strategy,
                what,
                "times the throughput",
                throughput,
                paper,
            ));
        }
        let measures: [(&str, &str, Measure); 2] = [
            ("Throughput", "transactions a second", |(row, _)| {
                Some(row.per_second)
            }),
            ("Deadlocks", "for each transaction", |(row, _)| {
                times(row.aborts as f64, row.transactions as f64)
            }),
        ];
        for (what, unit, measure) in measures {
            let what = format!("{what} of {strategy}");
            charts.push(chart(&of_strategy, what, unit, measure, None));
        }
    }
    Sheet {
        title: title.into(),
        columns: 2,
        charts,
    }
}

fn chart(
    rows: &[Beside<'_>],
    title: String,
    unit: &str,
    measure: Measure,
    paper: Option<f64>,
) -> Chart {
    let mut points: Vec<u32> = rows.iter().map(|(row, _)| row.value).collect();
    points.sort_unstable();
    points.dedup();
    let of_point = |value: u32| {
        let of_rule = |(group, rule): (usize, VictimRule)| {
            let rows = rows.iter();
            let rows = rows.filter(|(row, _)| (row.value, row.handling.rule) == (value, rule));
            Series {
                label: rule.name().into(),
                group,
                dashed: false,
                points: rows.map(|row| mark(row.0.handling, measure(row))).collect(),
            }
        };
        let rules = VictimRule::all(0).into_iter().enumerate();
        let mut series: Vec<Series> = rules.map(of_rule).collect();
        if let (Some(number), Some(first)) = (paper, series.first()) {
            let flat = |mark: &Mark| Mark {
                y: Some(Estimate::exactly(number)),
                ..*mark
            };
            series.push(Series {
                label: "DASDBS paper, rule not named".into(),
                group: series.len(),
                dashed: true,
                points: first.points.iter().map(flat).collect(),
            });
        }
        Panel {
            title: match points.len() {
                1 => String::new(),
                _ => format!("{}={value}", rows[0].0.over.name()),
            },
            series,
        }
    };
    Chart {
        title,
        x: Axis::linear("longest delay before a victim is run again, ms"),
        y: match paper {
            // A livelock is off any linear scale.
            Some(_) => Axis::logarithmic(unit),
            None => Axis::linear(unit),
        },
        panels: points.iter().map(|&value| of_point(value)).collect(),
    }
}

fn mark(handling: Handling, y: Option<f64>) -> Mark {
    Mark {
        x: handling.delay_microseconds() / 1e3,
        y: y.map(Estimate::exactly),
    }
}
