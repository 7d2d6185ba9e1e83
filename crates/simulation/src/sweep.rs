//! Any one or two parameters over ranges of values: a curve or a heat map of any figure.
//!
//! A range is written as a parameter is set, `KEY=VALUES`:
//!
//! - `node.mips=10,20,40` or `routing=affinity,random`: these values;
//! - `nodes=1..10`: whole numbers; `nodes=2..10+2`: with a step;
//! - `messages.short_instructions=100..12800*2`: each twice the one before.
//!
//! Every point is read like any other parameters, so that errors are reported with key, value and allowed range before
//! anything is simulated.

use crate::figures::Estimate;
use crate::outcome::Outcome;
use crate::parameters::Parameters;
use crate::parameters::read::{Layers, ParameterError};
use crate::report::field;
use sardonyx_results::chart::{Axis, Chart, HeatMap, Mark, Panel, Series};
use std::fmt::Write;

/// Values of one parameter at most.
pub const MOST_VALUES: usize = 1_000;

/// Points of a sweep at most.
pub const MOST_POINTS: usize = 10_000;

/// The fault of a sweep.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A range that cannot be read.
    #[error(
        "{range}: {reason}: write KEY=VALUES as in node.mips=10,20,40 or nodes=1..10 or \
         nodes=2..10+2 or node.mips=10..80*2"
    )]
    Range {
        /// The requested range.
        range: String,
        /// Its fault.
        reason: String,
    },
    /// Neither one parameter nor two.
    #[error("{asked} parameters cannot be swept at once: choose one or two")]
    Dimensions {
        /// The requested number.
        asked: usize,
    },
    /// The same parameter twice.
    #[error("{key} is swept twice: choose two parameters, or one")]
    Twice {
        /// The parameter.
        key: String,
    },
    /// Too many points.
    #[error("the sweep has {points} points: choose ranges with at most {MOST_POINTS}")]
    TooMany {
        /// The product of the lengths of both ranges.
        points: usize,
    },
    /// A point whose parameters are not possible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A figure that outcomes do not have.
    #[error("there is no figure \"{asked}\": choose SECTION/NAME of {known}")]
    Figure {
        /// The requested name.
        asked: String,
        /// The known names.
        known: String,
    },
}

/// Points over the values of one or two parameters.
///
/// ```
/// use sardonyx_simulation::parameters::read::Layers;
/// use sardonyx_simulation::sweep::Sweep;
///
/// let paper = Layers::named("paper")?;
/// let sweep = Sweep::new(&paper, &["nodes=1..4", "node.mips=10..40*2"], None)?;
/// assert_eq!(sweep.points().len(), 4 * 3);
/// let wrong = Sweep::new(&paper, &["nodes=1..2000"], None).unwrap_err();
/// assert!(wrong.to_string().contains("more than 1000 values"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sweep {
    dimensions: Vec<Dimension>,
    figure: FigureName,
    points: Vec<Parameters>,
}

/// A parameter and the values that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The parameter's key.
    pub key: String,
    /// Its values, in the form in which they are set.
    pub values: Vec<String>,
    /// True if each is a multiple of the one before.
    pub geometric: bool,
}

/// A figure of an outcome: section and name.
#[derive(Clone, Debug, PartialEq)]
struct FigureName {
    section: String,
    name: String,
}

impl Sweep {
    /// The points of `ranges` laid over `layers`; `figure`, as SECTION/NAME of [`Outcome::summary`], is drawn: by
    /// default the mean response time. The first parameter goes from left to right, the second from bottom to top.
    ///
    /// # Errors
    /// All of [`SweepError`].
    pub fn new(layers: &Layers, ranges: &[&str], figure: Option<&str>) -> Result<Self, SweepError> {
        if !(1..=2).contains(&ranges.len()) {
            let asked = ranges.len();
            return Err(SweepError::Dimensions { asked });
        }
        let dimensions: Vec<Dimension> = ranges
            .iter()
            .map(|range| Dimension::read(range))
            .collect::<Result<_, _>>()?;
        if let [one, other] = &dimensions[..]
            && one.key == other.key
        {
            return Err(SweepError::Twice {
                key: one.key.clone(),
            });
        }
        let points = dimensions
            .iter()
            .map(|dimension| dimension.values.len())
            .product();
        if points > MOST_POINTS {
            return Err(SweepError::TooMany { points });
        }
        let figure = FigureName::read(figure.unwrap_or("response time/mean"))?;
        let points = grid(layers, &dimensions)?;
        Ok(Sweep {
            dimensions,
            figure,
            points,
        })
    }

    /// The parameters that vary.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The points to simulate: the first parameter varies fastest.
    pub fn points(&self) -> &[Parameters] {
        &self.points
    }

    /// The figure's value at each of `outcomes`, which are those of [`Sweep::points`]; its unit.
    ///
    /// # Errors
    /// [`SweepError::Figure`] if the outcomes have no such figure.
    pub fn values(
        &self,
        outcomes: &[Outcome],
    ) -> Result<(Vec<Option<Estimate>>, String), SweepError> {
        let FigureName { section, name } = &self.figure;
        let found: Vec<_> = outcomes
            .iter()
            .map(|one| one.figure(section, name))
            .collect();
        // Some figures are of some points only: the disks of a file that is in GEM elsewhere.
        let Some(unit) = found.iter().flatten().map(|summary| summary.unit).next() else {
            return Err(self.figure.unknown(outcomes));
        };
        let estimate = |one: &crate::outcome::Summary| Estimate::new(one.mean, one.half_width);
        let values = found.iter().map(|summary| summary.map(estimate));
        let what = match section.as_str() {
            "response time" if name == "mean" => "mean response time".to_string(),
            _ => format!("{section}: {name}"),
        };
        let label = if unit.is_empty() {
            what
        } else {
            format!("{what} ({unit})")
        };
        Ok((values.collect(), label))
    }

    /// The picture of `outcomes`, which are those of [`Sweep::points`]: a curve over one parameter,
    /// a heat map over two.
    ///
    /// # Errors
    /// [`SweepError::Figure`] if the outcomes have no such figure.
    pub fn svg(&self, outcomes: &[Outcome]) -> Result<String, SweepError> {
        let (values, label) = self.values(outcomes)?;
        Ok(match &self.dimensions[..] {
            [columns, rows] => heat_map(columns, rows, &values, &label),
            [only, ..] => curve(only, &values, &label),
            [] => String::new(),
        })
    }

    /// The same as CSV: the parameters' values, the figure, half the width of its interval, the
    /// number of replications, and whether arrivals outran completions.
    ///
    /// # Errors
    /// [`SweepError::Figure`] if the outcomes have no such figure.
    pub fn csv(&self, outcomes: &[Outcome]) -> Result<String, SweepError> {
        let (values, label) = self.values(outcomes)?;
        let mut text = String::new();
        for dimension in &self.dimensions {
            let _ = write!(text, "{},", field(&dimension.key));
        }
        let _ = writeln!(text, "{},half_width,replications,saturated", field(&label));
        for (at, (value, outcome)) in values.iter().zip(outcomes).enumerate() {
            for key_value in self.settings(at) {
                let _ = write!(text, "{},", field(key_value));
            }
            let (mean, half_width) = match value {
                Some(value) => (value.mean.to_string(), value.half_width.to_string()),
                None => Default::default(),
            };
            let saturated = outcome.replications.iter().any(|one| one.saturated);
            let replications = outcome.replications.len();
            let _ = writeln!(text, "{mean},{half_width},{replications},{saturated}");
        }
        Ok(text)
    }

    /// The values of the parameters at point `at`.
    pub fn settings(&self, at: usize) -> impl Iterator<Item = &str> {
        let mut rest = at;
        self.dimensions.iter().map(move |dimension| {
            let value = &dimension.values[rest % dimension.values.len()];
            rest /= dimension.values.len();
            value.as_str()
        })
    }
}

/// The parameters at every point.
fn grid(layers: &Layers, dimensions: &[Dimension]) -> Result<Vec<Parameters>, SweepError> {
    let mut laid = vec![layers.clone()];
    // The last parameter first, so that the first varies fastest.
    for dimension in dimensions.iter().rev() {
        let mut next = Vec::with_capacity(laid.len() * dimension.values.len());
        for layers in laid {
            for value in &dimension.values {
                let mut layers = layers.clone();
                layers.set(&format!("{}={value}", dimension.key))?;
                next.push(layers);
            }
        }
        laid = next;
    }
    laid.iter().map(|layers| Ok(layers.read()?)).collect()
}

impl Dimension {
    /// Reads `KEY=VALUES`.
    ///
    /// # Errors
    /// [`SweepError::Range`].
    pub fn read(range: &str) -> Result<Self, SweepError> {
        let wrong = |reason: &str| SweepError::Range {
            range: range.to_string(),
            reason: reason.to_string(),
        };
        let (key, values) = range
            .split_once('=')
            .ok_or_else(|| wrong("there is no ="))?;
        let (key, values) = (key.trim(), values.trim());
        if key.is_empty() || values.is_empty() {
            return Err(wrong("the key or the values are missing"));
        }
        let (values, geometric) = match values.split_once("..") {
            Some((first, rest)) => span(first, rest).map_err(wrong)?,
            None => (
                values
                    .split(',')
                    .map(|value| value.trim().to_string())
                    .collect(),
                false,
            ),
        };
        if values.iter().any(String::is_empty) {
            return Err(wrong("a value is missing"));
        }
        if values.len() > MOST_VALUES {
            return Err(wrong(&format!("these are more than {MOST_VALUES} values")));
        }
        for (at, value) in values.iter().enumerate() {
            if values[..at].contains(value) {
                return Err(wrong(&format!("{value} is there twice")));
            }
        }
        Ok(Dimension {
            key: key.to_string(),
            values,
            geometric,
        })
    }

    /// The values as numbers, if they are all numbers.
    fn numbers(&self) -> Option<Vec<f64>> {
        let numbers = self.values.iter().map(|value| value.parse::<f64>().ok());
        numbers.collect()
    }
}

/// The values from `first` to the last and by the step of `rest`.
fn span(first: &str, rest: &str) -> Result<(Vec<String>, bool), &'static str> {
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok();
        number
            .filter(|number| number.is_finite())
            .ok_or("these are not numbers")
    };
    let whole = ![first, rest]
        .iter()
        .any(|text| text.contains(['.', 'e', 'E']));
    let first = number(first)?;
    let (last, step, geometric) = match (rest.split_once('*'), rest.split_once('+')) {
        (Some((last, factor)), _) => (number(last)?, number(factor)?, true),
        (None, Some((last, step))) => (number(last)?, number(step)?, false),
        (None, None) => (number(rest)?, 1.0, false),
    };
    if last < first {
        return Err("the last value is below the first");
    }
    if geometric && (first <= 0.0 || step <= 1.0) {
        return Err("multiples need a first value above 0 and a factor above 1");
    }
    if !geometric && step <= 0.0 {
        return Err("the step must be above 0");
    }
    let mut values = Vec::new();
    // Each from the first: errors of rounding do not add up. Some room for them at the last.
    let end = last + 1e-9 * last.abs();
    for at in 0..=MOST_VALUES as i32 {
        let value = match geometric {
            true => first * step.powi(at),
            false => first + f64::from(at) * step,
        };
        if value > end {
            break;
        }
        values.push(written(value, whole));
    }
    Ok((values, geometric))
}

/// A number as a parameter's value: whole ones without a point, as most keys want, and without the
/// digits that rounding adds.
fn written(value: f64, whole: bool) -> String {
    if whole && (value - value.round()).abs() < 1e-9 * value.abs().max(1.0) {
        return format!("{}", value.round());
    }
    let twelve: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    match whole {
        true => format!("{twelve}"),
        false => format!("{twelve:?}"),
    }
}

impl FigureName {
    fn read(text: &str) -> Result<Self, SweepError> {
        // "composition of the response time/I/O": names may have a slash, sections have none.
        let (section, name) = text.split_once('/').ok_or_else(|| SweepError::Figure {
            asked: text.to_string(),
            known: "an outcome, as in \"response time/95th percentile\"".to_string(),
        })?;
        Ok(FigureName {
            section: section.trim().to_string(),
            name: name.trim().to_string(),
        })
    }

    fn unknown(&self, outcomes: &[Outcome]) -> SweepError {
        let summaries = outcomes.first().map_or(&[][..], |outcome| &outcome.summary);
        let known: Vec<String> = summaries
            .iter()
            .map(|summary| format!("{}/{}", summary.section, summary.name))
            .collect();
        SweepError::Figure {
            asked: format!("{}/{}", self.section, self.name),
            known: known.join(", "),
        }
    }
}

fn curve(only: &Dimension, values: &[Option<Estimate>], label: &str) -> String {
    let numbers = only.numbers();
    let axis = match (only.geometric, &numbers) {
        (true, _) => Axis::logarithmic(&only.key),
        // Names have no places of their own: they are placed one beside the other.
        (false, None) => Axis::named(&only.key, &only.values),
        (false, Some(_)) => Axis::linear(&only.key),
    };
    let places = numbers.unwrap_or_else(|| (1..=values.len()).map(|at| at as f64).collect());
    let mut points: Vec<Mark> = places
        .into_iter()
        .zip(values)
        .map(|(x, y)| Mark { x, y: *y })
        .collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    let series = Series {
        label: label.to_string(),
        group: 0,
        dashed: false,
        points,
    };
    let chart = Chart {
        title: format!("{label} over {}", only.key),
        x: axis,
        y: Axis::linear(label),
        panels: vec![Panel {
            title: String::new(),
            series: vec![series],
        }],
    };
    chart.svg()
}

fn heat_map(
    columns: &Dimension,
    rows: &Dimension,
    values: &[Option<Estimate>],
    label: &str,
) -> String {
    let map = HeatMap {
        title: format!("{label} over {} and {}", columns.key, rows.key),
        figure: label.to_string(),
        x: columns.key.clone(),
        columns: columns.values.clone(),
        y: rows.key.clone(),
        rows: rows.values.clone(),
        values: values
            .chunks(columns.values.len())
            .map(<[_]>::to_vec)
            .collect(),
    };
    map.svg()
}

#[cfg(test)]
mod tests;
