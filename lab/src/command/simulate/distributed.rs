//! One simulation on many machines: the caller lists the missing parts, workers run them, and the parts are put
//! together.
//!
//! A *part* is one replication of one point: a line of JSON. Its seed comes from the point's parameters and the
//! replication's number, so any worker gives the same result. The number of replications that count is decided as here
//! ([`sardonyx_simulation::replicate`]): the first number, in order, at which the interval is narrow enough; further
//! replications are left out. So the result is that of one machine, byte for byte (invariant I11). `python/` has a
//! script that does this with Dask.

use sardonyx_command::exit::UsageError;
use sardonyx_simulation::experiment::{Options, SimulationError, replications};
use sardonyx_simulation::measurement::Measurement;
use sardonyx_simulation::outcome::Outcome;
use sardonyx_simulation::parameters::Parameters;
use sardonyx_simulation::statistics::Interval;
use sardonyx_simulation::text_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The longest file of parts, in bytes: many thousand replications.
const PARTS_BYTES_MAX: u64 = 256 << 20;

/// Options for running parts and putting them together.
#[derive(Debug, Default, clap::Args)]
pub struct Distribution {
    /// Run only this point of a sweep, counted from 0, and print its replications as lines of JSON
    #[arg(long, value_name = "N", requires = "only_replications")]
    #[arg(help_heading = "On many machines")]
    pub only_point: Option<usize>,
    /// Run only these replications, counted from 0, and print them as lines of JSON
    #[arg(long, value_name = "FIRST..LAST", value_parser = parse_range)]
    #[arg(help_heading = "On many machines", conflicts_with_all = ["gather", "csv", "output"])]
    pub only_replications: Option<RangeInclusive<u32>>,
    /// Run nothing: take the replications from a file of such lines
    #[arg(long, value_name = "FILE", help_heading = "On many machines")]
    pub gather: Option<PathBuf>,
    /// With --gather: print the replications that have still to be run, as lines of JSON; none if all are in the file
    #[arg(long, requires = "gather", help_heading = "On many machines")]
    #[arg(conflicts_with_all = ["csv", "output"])]
    pub missing: bool,
}

fn parse_range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|error| format!("{text:?}: {error}"))
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last || last == u32::MAX {
        return Err("the first must not be above the last, as in 4..7".into());
    }
    Ok(first..=last)
}

/// One replication of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The point's number.
    pub point: usize,
    /// The replication's number.
    pub replication: u32,
    pub measurement: Measurement,
}

/// Replications that have still to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The point's number.
    pub point: usize,
    /// The first of them.
    pub first: u32,
    /// The last of them.
    pub last: u32,
}

/// Runs parts of one point.
pub fn run(
    points: &[Parameters],
    point: usize,
    numbers: &RangeInclusive<u32>,
    threads: usize,
) -> anyhow::Result<Vec<Part>> {
    let parameters = points.get(point).ok_or_else(|| {
        let count = points.len();
        UsageError::Arguments(format!(
            "--only-point {point}: there are {count} points, from 0"
        ))
    })?;
    let range = *numbers.start()..numbers.end() + 1;
    let options = Options { threads };
    let measured: Result<_, SimulationError> = replications(parameters, range.clone(), &options);
    let parts = range.zip(measured?).map(|(replication, measurement)| Part {
        point,
        replication,
        measurement,
    });
    Ok(parts.collect())
}

/// Parts of a simulation, from any workers.
#[derive(Debug, Default)]
pub struct Gathered {
    parts: BTreeMap<(usize, u32), Measurement>,
}

impl Gathered {
    /// Reads lines of JSON, in any order; the same part may occur more than once.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let wrong = |what: String| UsageError::Arguments(format!("{}{what}", file.display()));
        let text =
            text_file::read(file, PARTS_BYTES_MAX).map_err(|error| wrong(format!(": {error}")))?;
        let mut gathered = Gathered::default();
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
        {
            let part: Part = serde_json::from_str(line)
                .map_err(|error| wrong(format!(" line {}: {error}", number + 1)))?;
            let key = (part.point, part.replication);
            let before = gathered.parts.insert(key, part.measurement.clone());
            if before.is_some_and(|before| before != part.measurement) {
                return Err(wrong(format!(
                    " line {}: replication {} of point {} is there twice and differs: were they run \
                     with the same parameters and the same version?",
                    number + 1,
                    part.replication,
                    part.point
                ))
                .into());
            }
        }
        Ok(gathered)
    }

    /// The replications that have still to be run: for each point as many as its interval so far suggests.
    pub fn missing(&self, points: &[Parameters]) -> Vec<Missing> {
        let each = points.iter().enumerate();
        let missing = each.filter_map(|(point, parameters)| {
            let figures = self.figures(point);
            if decided(&figures, parameters).is_some() {
                return None;
            }
            let (first, run) = (figures.len() as u32, &parameters.run);
            let interval = Interval::of(figures);
            let excess = interval.relative() / run.precision;
            let needed = match interval.half_width.is_finite() {
                true => (f64::from(first) * excess * excess).ceil() as u32,
                false => run.least_replications,
            };
            let count = needed.max(run.least_replications).max(first + 1);
            let last = count.min(run.most_replications) - 1;
            Some(Missing { point, first, last })
        });
        missing.collect()
    }

    pub fn outcomes(&self, points: &[Parameters]) -> Result<Vec<Outcome>, UsageError> {
        let each = points.iter().enumerate();
        let outcome = |(point, parameters): (usize, &Parameters)| {
            let count = decided(&self.figures(point), parameters).ok_or_else(|| {
                let first = self.figures(point).len();
                UsageError::Arguments(format!(
                    "replications of point {point} from {first} on are missing: --missing says which"
                ))
            })?;
            let numbers = 0..count as u32;
            let measured = numbers.map(|number| self.parts[&(point, number)].clone());
            Ok(Outcome::new(parameters.clone(), measured.collect()))
        };
        each.map(outcome).collect()
    }

    /// The figure that decides, of the replications from the first up to a gap.
    fn figures(&self, point: usize) -> Vec<f64> {
        let figure = |number| self.parts.get(&(point, number));
        let figures = (0..).map_while(figure);
        figures
            .map(|measurement| measurement.response.normalised)
            .collect()
    }
}

/// The first number of replications that is enough, if there is one.
fn decided(figures: &[f64], parameters: &Parameters) -> Option<usize> {
    let run = &parameters.run;
    let least = run.least_replications as usize;
    let is_enough = |&count: &usize| {
        let interval = Interval::of(figures[..count].iter().copied());
        count == run.most_replications as usize || interval.relative() <= run.precision
    };
    (least..=figures.len()).find(is_enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_simulation::replicate::{Plan, replicate};
    use std::io::Write;

    /// Figures that scatter, differently for each point.
    fn measurement(point: usize, replication: u32) -> Measurement {
        let scatter = f64::from(replication * 7 % 11) - 5.0;
        let mut one = Measurement::default();
        one.response.normalised = 1.0 / 3.0 + 0.005 * (point + 1) as f64 * scatter;
        one
    }

    fn points() -> Vec<Parameters> {
        vec![Parameters::paper(); 4]
    }

    fn file_of(lines: &[String]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.join("\n").as_bytes()).unwrap();
        file
    }

    fn line(point: usize, replication: u32) -> String {
        let measurement = measurement(point, replication);
        serde_json::to_string(&Part {
            point,
            replication,
            measurement,
        })
        .unwrap()
    }

    #[test]
    fn parts_of_many_machines_are_the_result_of_one() {
        let points = points();
        let mut lines = Vec::new();
        let mut rounds = 0;
        let gathered = loop {
            let gathered = Gathered::read(file_of(&lines).path()).unwrap();
            let missing = gathered.missing(&points);
            if missing.is_empty() {
                break gathered;
            }
            assert!(gathered.outcomes(&points).is_err());
            // The last ones first: the order of lines does not matter.
            for Missing { point, first, last } in missing.into_iter().rev() {
                lines.extend((first..=last).rev().map(|number| line(point, number)));
            }
            rounds += 1;
        };
        assert!(rounds > 1, "more than the least were needed");
        let run = &points[0].run;
        let plan = Plan {
            precision: run.precision,
            least: run.least_replications,
            most: run.most_replications,
            threads: 2,
        };
        let numbers: Vec<usize> = (0..points.len()).collect();
        let one = |&point: &usize, replication| measurement(point, replication);
        let figure = |one: &Measurement| one.response.normalised;
        let here = replicate(&numbers, &plan, one, figure, |_| {});
        let there = gathered.outcomes(&points).unwrap();
        let there: Vec<_> = there
            .into_iter()
            .map(|outcome| outcome.replications)
            .collect();
        assert_eq!(here, there);
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_line() {
        let broken = file_of(&[line(0, 0), "{}".into()]);
        let error = Gathered::read(broken.path()).unwrap_err().to_string();
        assert!(error.contains("line 2: missing field"), "{error}");
        let other = line(0, 0).replace("\"events\":0", "\"events\":1");
        let twice = file_of(&[line(0, 0), line(0, 0), other]);
        let error = Gathered::read(twice.path()).unwrap_err().to_string();
        assert!(
            error.contains("line 3: replication 0 of point 0 is there twice"),
            "{error}"
        );
        assert!(Gathered::read(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn ranges_have_a_first_and_a_last() {
        assert_eq!(parse_range("4..7"), Ok(4..=7));
        assert_eq!(parse_range("4"), Ok(4..=4));
        for wrong in ["7..4", "4..", "..7", "x", "0..4294967295", "-1..3"] {
            assert!(parse_range(wrong).is_err(), "{wrong}");
        }
    }
}
