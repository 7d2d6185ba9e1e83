//! `--throughput-at-cpu`: the arrival rate at which the processors reach a utilisation.

use super::engine::Engine;
use super::{present, remarks};
use sardonyx_command::output::Output;
use sardonyx_results::table::Table;
use sardonyx_simulation::experiment::SimulationError;
use sardonyx_simulation::figures::Estimate;
use sardonyx_simulation::outcome::Outcome;
use sardonyx_simulation::parameters::Parameters;
use sardonyx_simulation::search::{ThroughputAtCpu, throughput_at_cpu};
use serde::Serialize;
use std::io::Write;

/// Reads a utilisation: `80%` or `0.8`.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>();
    let share = share.map_err(|_| "not a share such as 80% or 0.8".to_string())? / unit;
    if share > 0.0 && share < 1.0 {
        Ok(share)
    } else {
        Err("must be above 0% and below 100%".into())
    }
}

/// Searches, starting at the rate of `parameters`, and prints the result.
pub fn run(
    parameters: &Parameters,
    target: f64,
    engine: &Engine,
    output: &mut Output,
) -> anyhow::Result<Outcome> {
    let simulate = |points: &[Parameters]| -> Result<Vec<Outcome>, SimulationError> {
        engine.simulate(points)
    };
    let found = throughput_at_cpu(parameters, target, &simulate)??;
    if output.is_json() {
        output.value(&Found::of(&found))?;
    } else {
        writeln!(output, "{}", text(&found))?;
        present::print(&found.outcome, output)?;
    }
    Ok(found.outcome)
}

fn text(found: &ThroughputAtCpu) -> String {
    let mut table = Table::new(["at this utilisation of the processors", "#found", "#±", ""]);
    let mut row = |what: &str, estimate: Estimate, unit: &str| {
        let shown = |value: f64| format!("{value:.2}");
        let (mean, half_width) = (shown(estimate.mean), shown(estimate.half_width));
        table.row([what.into(), mean, half_width, unit.into()]);
    };
    row("transactions per node", found.rate_per_node, "TPS");
    row("transactions in all", found.throughput, "TPS");
    let used = found.utilisation;
    let percent = Estimate::new(100.0 * used.mean, 100.0 * used.half_width);
    row("utilisation of the last run", percent, "%");
    let target = 100.0 * found.target;
    format!(
        "{target}% found in {} runs\n\n{table}\nThe last run:",
        found.runs
    )
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    target: f64,
    rate_per_node: Interval,
    throughput: Interval,
    utilisation: Interval,
    runs: usize,
    last: &'a Outcome,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Interval {
    mean: f64,
    half_width: f64,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        Interval {
            mean: estimate.mean,
            half_width: estimate.half_width,
        }
    }
}

impl<'a> Found<'a> {
    fn of(found: &'a ThroughputAtCpu) -> Self {
        Found {
            target: found.target,
            rate_per_node: found.rate_per_node.into(),
            throughput: found.throughput.into(),
            utilisation: found.utilisation.into(),
            runs: found.runs,
            last: &found.outcome,
            warnings: remarks::warnings(&found.outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        assert_eq!(parse_share("80%"), Ok(0.8));
        assert_eq!(parse_share("0.625"), Ok(0.625));
        for wrong in ["", "%", "0", "100%", "80", "-5%", "NaN", "most"] {
            assert!(parse_share(wrong).is_err(), "{wrong:?}");
        }
    }
}
