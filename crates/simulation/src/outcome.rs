//! The results of the replications of one point: every figure with its 95% interval.

use crate::measurement::{Measurement, Row};
use crate::parameters::Parameters;
use crate::statistics::Interval;
use sardonyx_results::Estimate;
use serde::Serialize;

/// The replications of one point, and their summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The simulated parameters.
    pub parameters: Parameters,
    /// Every figure over the replications.
    pub summary: Vec<Summary>,
    /// The replications, in order.
    pub replications: Vec<Measurement>,
}

/// One figure over all replications.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Groups figures in the output.
    pub section: &'static str,
    /// Its name, unique within the section.
    pub name: String,
    /// Of mean and width, such as "ms".
    pub unit: &'static str,
    /// Mean over the replications.
    pub mean: f64,
    /// Half the width of the 95% interval of that mean (Student's t).
    pub half_width: f64,
}

impl Outcome {
    /// The summary of `replications`.
    ///
    /// # Panics
    /// If there are fewer than two.
    pub fn new(parameters: Parameters, replications: Vec<Measurement>) -> Self {
        assert!(
            replications.len() >= 2,
            "an interval needs two replications"
        );
        let rows: Vec<Vec<Row>> = replications.iter().map(Measurement::rows).collect();
        let summary = rows[0].iter().enumerate().map(|(at, row)| {
            let interval = Interval::of(rows.iter().map(|rows| rows[at].value));
            Summary {
                section: row.section,
                name: row.name.clone(),
                unit: row.unit,
                mean: interval.mean,
                half_width: interval.half_width,
            }
        });
        Outcome {
            parameters,
            summary: summary.collect(),
            replications,
        }
    }

    /// The mean and 95% interval of the values that `read` finds in the replications.
    pub fn estimate(&self, read: impl Fn(&Measurement) -> f64) -> Estimate {
        let interval = Interval::of(self.replications.iter().map(read));
        Estimate::new(interval.mean, interval.half_width)
    }

    /// Returns `None` if no figure has these names.
    pub fn figure(&self, section: &str, name: &str) -> Option<&Summary> {
        let mut all = self.summary.iter();
        all.find(|summary| summary.section == section && summary.name == name)
    }

    /// The mean response time in milliseconds; of a trace, that of the artificial transaction with the
    /// mean number of accesses.
    pub fn response(&self) -> &Summary {
        self.figure("response time", "of the mean number of accesses")
            .expect("every measurement has it")
    }
}
