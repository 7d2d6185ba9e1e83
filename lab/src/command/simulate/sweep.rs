//! `--sweep`: one or two parameters over ranges of values.

use super::csv;
use super::remarks;
use super::write_said;
use sardonyx_command::output::Output;
use sardonyx_results::table::Table;
use sardonyx_simulation::figures::Estimate;
use sardonyx_simulation::outcome::{Outcome, Summary};
use sardonyx_simulation::sweep::{Sweep, SweepError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Warnings printed for people.
const MOST_WARNINGS: usize = 10;

/// Options of a sweep.
#[derive(Debug, Default, clap::Args)]
pub struct Range {
    /// Vary a parameter, such as nodes=1..10, node.mips=10,20,40 or node.mips=10..80*2; given twice,
    /// two parameters
    #[arg(long, value_name = "KEY=VALUES", help_heading = "Several points")]
    pub sweep: Vec<String>,
    /// The figure of a sweep to show and draw, such as "servers/cpu: utilisation" [default: response time/mean]
    #[arg(long, value_name = "SECTION/NAME", requires = "sweep")]
    #[arg(help_heading = "Several points")]
    pub show: Option<String>,
}

/// Prints a sweep's outcomes, and writes its picture and its figures to `directory`.
pub fn present(
    sweep: &Sweep,
    outcomes: &[Outcome],
    directory: Option<&Path>,
    output: &mut Output,
) -> anyhow::Result<()> {
    // Before the directory is made, so that an unknown figure leaves no directory.
    let (picture, figures) = (sweep.svg(outcomes)?, sweep.csv(outcomes)?);
    if output.is_json() {
        output.value(&points(sweep, outcomes))?;
    } else {
        print(sweep, outcomes, output)?;
    }
    let Some(directory) = directory else {
        return Ok(());
    };
    write_said(&directory.join("sweep.svg"), &picture, output)?;
    write_said(&directory.join("sweep.csv"), &figures, output)
}

fn print(sweep: &Sweep, outcomes: &[Outcome], output: &mut Output) -> anyhow::Result<()> {
    write!(output, "{}", text(sweep, outcomes)?)?;
    let each = outcomes.iter().enumerate();
    let warnings: Vec<String> = each
        .flat_map(|(at, outcome)| {
            let setting = setting(sweep, at);
            let warnings = remarks::warnings(outcome).into_iter();
            warnings.map(move |warning| format!("WARNING: {setting}: {warning}"))
        })
        .collect();
    if !warnings.is_empty() {
        writeln!(
            output,
            "\n{}",
            warnings[..warnings.len().min(MOST_WARNINGS)].join("\n")
        )?;
    }
    if warnings.len() > MOST_WARNINGS {
        let more = warnings.len() - MOST_WARNINGS;
        writeln!(output, "{more} more warnings: --json has them all")?;
    }
    Ok(())
}

/// Every figure of every point.
pub fn csv(sweep: &Sweep, outcomes: &[Outcome]) -> String {
    let settings: Vec<Vec<String>> = (0..outcomes.len())
        .map(|at| sweep.settings(at).map(String::from).collect())
        .collect();
    let keys = sweep.dimensions().iter();
    let keys: Vec<String> = keys.map(|dimension| dimension.key.clone()).collect();
    csv::text(&keys, settings.iter().map(Vec::as_slice).zip(outcomes))
}

fn setting(sweep: &Sweep, at: usize) -> String {
    let keys = sweep.dimensions().iter().map(|dimension| &dimension.key);
    let set = keys.zip(sweep.settings(at));
    let set: Vec<String> = set.map(|(key, value)| format!("{key}={value}")).collect();
    set.join(" ")
}

fn text(sweep: &Sweep, outcomes: &[Outcome]) -> Result<String, SweepError> {
    let (values, label) = sweep.values(outcomes)?;
    Ok(match sweep.dimensions() {
        [columns, rows] => {
            let names = columns.values.iter().map(|value| format!("#{value}"));
            let names: Vec<String> = [rows.key.clone()].into_iter().chain(names).collect();
            let mut table = Table::new(names.iter().map(String::as_str));
            for (row, values) in rows.values.iter().zip(values.chunks(columns.values.len())) {
                let cells = values.iter().map(|value| shown(*value, |value| value.mean));
                table.row([row.clone()].into_iter().chain(cells));
            }
            format!("{label}, over {}\n\n{table}", columns.key)
        }
        dimensions => {
            let key = dimensions.first().map_or("", |only| only.key.as_str());
            let label = format!("#{label}");
            let mut table = Table::new([key, label.as_str(), "#±", "#replications"]);
            for (at, (value, outcome)) in values.iter().zip(outcomes).enumerate() {
                table.row([
                    sweep.settings(at).collect(),
                    shown(*value, |value| value.mean),
                    shown(*value, |value| value.half_width),
                    outcome.replications.len().to_string(),
                ]);
            }
            table.to_string()
        }
    })
}

/// About four digits; `-` if there is no such figure.
fn shown(value: Option<Estimate>, of: impl Fn(Estimate) -> f64) -> String {
    let Some(estimate) = value else {
        return "-".into();
    };
    let magnitude = estimate.mean.abs().max(1e-6).log10().floor();
    let decimals = (3.0 - magnitude).clamp(0.0, 6.0) as usize;
    format!("{:.decimals$}", of(estimate))
}

#[derive(Debug, Serialize)]
struct Point<'a> {
    set: BTreeMap<&'a str, &'a str>,
    replications: usize,
    summary: &'a [Summary],
    warnings: Vec<String>,
}

fn points<'a>(sweep: &'a Sweep, outcomes: &'a [Outcome]) -> Vec<Point<'a>> {
    let point = |(at, outcome): (usize, &'a Outcome)| {
        let keys = sweep.dimensions().iter();
        let keys = keys.map(|dimension| dimension.key.as_str());
        Point {
            set: keys.zip(sweep.settings(at)).collect(),
            replications: outcome.replications.len(),
            summary: &outcome.summary,
            warnings: remarks::warnings(outcome),
        }
    };
    outcomes.iter().enumerate().map(point).collect()
}
