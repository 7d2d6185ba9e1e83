//! The parameters: a preset, overridden by a file, by flags, and by `--set`, in this order.
//!
//! A flag is a short name of a key. Its value is handled as by `--set`, so that an error names the key and the allowed
//! range.

use sardonyx_simulation::parameters::Parameters;
use sardonyx_simulation::parameters::read::{Layers, ParameterError};
use std::path::PathBuf;

/// The parameters, as options.
#[derive(Debug, Default, clap::Args)]
pub struct Choice {
    /// Start from a preset (see --list-presets)
    #[arg(
        long,
        value_name = "NAME",
        default_value = "paper",
        help_heading = "Parameters"
    )]
    pub preset: String,
    /// Override it by a file of parameters: TOML, only the keys that differ
    #[arg(long, value_name = "FILE", help_heading = "Parameters")]
    pub parameters: Option<PathBuf>,
    /// Override everything else by one key, such as node.mips=20 or partition.account.storage=gem; repeatable
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Parameters")]
    pub set: Vec<String>,
    /// Number of nodes (nodes)
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub nodes: Option<String>,
    /// The coupling of nodes (coupling): close, by a global lock table in GEM, or loose, by primary copy locking
    #[arg(long, value_name = "close|loose", help_heading = "Parameters")]
    pub coupling: Option<String>,
    /// When modified pages are written (update): force, before commit, or noforce, later
    #[arg(long, value_name = "force|noforce", help_heading = "Parameters")]
    pub update: Option<String>,
    /// The routing of transactions to nodes (routing): affinity or random
    #[arg(long, value_name = "affinity|random", help_heading = "Parameters")]
    pub routing: Option<String>,
    /// Transactions per second and node (arrival.rate_per_node)
    #[arg(long, value_name = "TPS", help_heading = "Parameters")]
    pub rate: Option<String>,
    /// Page frames of a node's buffer (node.buffer_pages)
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub buffer_pages: Option<String>,
    /// Simulate a trace instead of debit-credit (workload.kind and workload.trace); the parameters node.*_instructions
    /// are the cost of its transactions, see the preset paper-trace
    #[arg(long, value_name = "FILE", help_heading = "Parameters")]
    pub trace: Option<PathBuf>,
    /// The same seed gives the same output, byte for byte (run.seed)
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub seed: Option<String>,
    /// Replicate until the 95% interval of the mean response time is at most this share of it to either side: 2% or
    /// 0.02 (run.precision)
    #[arg(long, value_name = "SHARE", help_heading = "Parameters")]
    pub precision: Option<String>,
    /// Exactly so many replications, whatever the precision (run.least_replications, run.most_replications)
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    #[arg(conflicts_with = "precision")]
    pub replications: Option<String>,
}

impl Choice {
    /// The layers; later ones override earlier ones.
    pub fn layers(&self) -> Result<Layers, ParameterError> {
        let mut layers = Layers::named(&self.preset)?;
        if let Some(file) = &self.parameters {
            layers.file(file)?;
        }
        for (key, value) in self.flags() {
            layers.set(&format!("{key}={value}"))?;
        }
        for argument in &self.set {
            layers.set(argument)?;
        }
        Ok(layers)
    }

    /// The parameters, complete and checked.
    pub fn read(&self) -> Result<Parameters, ParameterError> {
        self.layers()?.read()
    }

    /// Returns true if the preset is not overridden.
    pub fn is_the_preset_alone(&self) -> bool {
        self.parameters.is_none() && self.set.is_empty() && self.flags().is_empty()
    }

    fn flags(&self) -> Vec<(&'static str, String)> {
        let precision = self.precision.as_deref().map(as_fraction);
        let named = [
            ("nodes", &self.nodes),
            ("coupling", &self.coupling),
            ("update", &self.update),
            ("routing", &self.routing),
            ("arrival.rate_per_node", &self.rate),
            ("node.buffer_pages", &self.buffer_pages),
            ("run.seed", &self.seed),
            ("run.precision", &precision),
            ("run.least_replications", &self.replications),
            ("run.most_replications", &self.replications),
        ];
        let named = named.into_iter();
        let mut flags: Vec<_> = named
            .filter_map(|(key, value)| value.clone().map(|value| (key, value)))
            .collect();
        if let Some(trace) = &self.trace {
            // Quoted, so that a file named 1994 is not taken for a number.
            let path = serde_json::Value::from(trace.to_string_lossy());
            flags.push(("workload.kind", "trace".into()));
            flags.push(("workload.trace", path.to_string()));
        }
        flags
    }
}

/// `2%` as `0.02`; any other text stays as it is, and is checked with the other parameters.
fn as_fraction(text: &str) -> String {
    let percentage = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok());
    percentage.map_or(text.to_string(), |percentage| {
        (percentage / 100.0).to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_fraction_and_the_rest_is_left_alone() {
        let all = ["2%", "0.5 %", "0.02", "%", "many%"].map(as_fraction);
        assert_eq!(all, ["0.02", "0.005", "0.02", "%", "many%"]);
    }

    fn choice() -> Choice {
        Choice {
            preset: "paper".into(),
            ..Choice::default()
        }
    }

    #[test]
    fn later_layers_win() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mine.toml");
        std::fs::write(&file, "nodes = 2\n[node]\nmips = 20\nprocessors = 2\n").unwrap();
        let choice = Choice {
            parameters: Some(file),
            nodes: Some("3".into()),
            rate: Some("150".into()),
            replications: Some("7".into()),
            set: vec!["nodes=4".into(), "node.mips=30".into()],
            ..choice()
        };
        let read = choice.read().unwrap();
        assert_eq!(
            (read.nodes, read.node.mips, read.node.processors),
            (4, 30.0, 2)
        );
        assert_eq!(read.arrival.rate_per_node, 150.0);
        assert_eq!(
            (read.run.least_replications, read.run.most_replications),
            (7, 7)
        );
        assert!(!choice.is_the_preset_alone());
    }

    #[test]
    fn a_traces_path_stays_a_path() {
        for path in ["1994", "true", "a \"quoted\" name.trace", "back\\slash"] {
            let choice = Choice {
                trace: Some(path.into()),
                ..choice()
            };
            assert_eq!(choice.read().unwrap().workload.trace, path);
        }
    }

    #[test]
    fn nothing_laid_over_is_the_preset_alone() {
        assert!(choice().is_the_preset_alone());
        assert_eq!(choice().read().unwrap(), Parameters::paper());
    }
}
