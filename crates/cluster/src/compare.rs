//! A configuration in virtual time and with processes: the simulation's prediction and the measured figures.
//!
//! Both run the same protocol machines on the same workload with the same arrivals, so the events per transaction must
//! agree. If a real node differs from the GEM paper's model, the simulation gets that as a parameter ([`parameters`]).
//!
//! [`parameters`]: crate::parameters

use crate::error::ClusterError;
use crate::figures::{PerTransaction, RunFigures};
use crate::load::Load;
use crate::nodes::{Cluster, Program};
use crate::parameters::{as_nodes_do, as_processes};
use crate::setting::Setting;
use sardonyx_simulation::experiment::{Options, run};
use sardonyx_simulation::outcome::Outcome;
use sardonyx_simulation::parameters::{Coupling, Parameters};
use serde::Serialize;
use std::path::Path;

/// The greatest difference of a simulated and a measured figure, as a share of the larger.
pub const TOLERANCE: f64 = 0.02;

/// Below this number per transaction, differences do not count.
pub const RARE: f64 = 0.005;

/// Counts of events that occur independently, more or less.
const RANDOM: [&str; 4] = ["messages", "page requests", "conflicts", "invalidations"];

/// The line of the mean response time.
const RESPONSE: &str = "response time, ms";

/// The factor by which a transaction must take longer than simulated before a remark says that conflicts follow from
/// that.
const SLOWER: f64 = 1.1;

/// Messages of loosely coupled nodes come together: request, grant and release.
const MESSAGES_OF_A_REQUEST: f64 = 3.0;

/// A figure of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The first cell of the report's line.
    pub name: &'static str,
    /// In virtual time.
    pub simulated: f64,
    /// Half the width of its 95% interval.
    pub half_width: f64,
    /// With processes.
    pub measured: f64,
    /// Half the width of the 95% interval, of those counts whose events come about independently; else 0.
    pub measured_half_width: f64,
    /// True for a count, which must agree; false for a time.
    pub is_count: bool,
}

impl Line {
    /// The measured figure less the simulated one, as a share of the larger.
    pub fn difference(&self) -> f64 {
        let larger = self.simulated.abs().max(self.measured.abs());
        match larger > 0.0 {
            true => (self.measured - self.simulated) / larger,
            false => 0.0,
        }
    }

    /// True if they agree: within [`TOLERANCE`], or [`RARE`], or by chance.
    pub fn agrees(&self) -> bool {
        let apart = (self.measured - self.simulated).abs();
        let chance = self.half_width.hypot(self.measured_half_width);
        self.difference().abs() <= TOLERANCE || apart <= RARE || apart <= chance
    }
}

/// A configuration, in virtual time and with processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The simulated parameters: calibrated, and as nodes behave.
    pub parameters: Parameters,
    /// The setting of the processes.
    pub setting: Setting,
    /// The configuration of both.
    pub load: Load,
    /// As the processes reported them.
    pub measured: RunFigures,
    /// Figure by figure.
    pub lines: Vec<Line>,
    /// Reasons why some may differ.
    pub remarks: Vec<String>,
    /// True if the bank's sums were equal afterwards.
    pub holds: bool,
}

impl Comparison {
    /// One of the figures.
    pub fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }

    /// True if all counts agree.
    pub fn agrees(&self) -> bool {
        self.lines
            .iter()
            .all(|line| !line.is_count || line.agrees())
    }
}

/// Runs a configuration with processes and in virtual time. Nodes are started in the directory, which must be new, and
/// ended.
///
/// # Errors
/// The figures of [`as_processes`], [`Cluster`] and the simulation.
pub fn compare(
    parameters: &Parameters,
    directory: &Path,
    program: &Program,
    processors: usize,
) -> Result<Comparison, ClusterError> {
    let (setting, load) = as_processes(parameters)?;
    let mut cluster = Cluster::make(directory, &setting)?;
    cluster.up(program, true)?;
    let runs = cluster.bench(&load)?;
    let sums = cluster.sums()?;
    cluster.down()?;
    let measured = RunFigures::of(&runs);
    let simulated = as_nodes_do(parameters, measured.each.processor_microseconds, processors);
    let outcomes = run(
        &[simulated],
        &Options {
            threads: processors,
        },
        &|_| (),
    )?;
    let outcome = outcomes.first().ok_or(ClusterError::Setting {
        what: "a number of points",
        found: "0".into(),
        allowed: "one".into(),
    })?;
    let lines = lines(outcome, &measured);
    Ok(Comparison {
        parameters: outcome.parameters.clone(),
        setting,
        load,
        remarks: remarks(&lines),
        lines,
        holds: sums.are_equal(),
        measured,
    })
}

/// Reasons for differences, as far as the figures show them.
fn remarks(lines: &[Line]) -> Vec<String> {
    let response = lines.iter().find(|line| line.name == RESPONSE);
    let slower = response.map_or(1.0, |line| line.measured / line.simulated.max(1e-9));
    let conflicts = lines.iter().find(|line| line.name == "conflicts");
    match conflicts {
        Some(line) if !line.agrees() && slower > SLOWER => vec![format!(
            "a transaction took {slower:.1} times as long as simulated, since processes waited for processors: it \
             kept its locks longer by the same factor, so that conflicts were more frequent"
        )],
        _ => Vec::new(),
    }
}

fn lines(outcome: &Outcome, measured: &RunFigures) -> Vec<Line> {
    let count =
        |name,
         read: &dyn Fn(&PerTransaction) -> f64,
         simulated: &dyn Fn(&sardonyx_simulation::measurement::Measurement) -> f64| {
            let estimate = outcome.estimate(simulated);
            let found = read(&measured.each);
            Line {
                name,
                simulated: estimate.mean,
                half_width: estimate.half_width,
                measured: found,
                measured_half_width: match RANDOM.contains(&name) {
                    true => {
                        let together = match (name, outcome.parameters.coupling) {
                            ("messages", Coupling::Loose) => MESSAGES_OF_A_REQUEST,
                            _ => 1.0,
                        };
                        1.96 * (together * found / measured.counts.committed.max(1) as f64).sqrt()
                    }
                    false => 0.0,
                },
                is_count: true,
            }
        };
    let mut lines = vec![
        count("messages", &|one| one.messages, &|one| {
            one.locks.short_messages + one.locks.long_messages
        }),
        count("entry accesses", &|one| one.entry_accesses, &|one| {
            one.locks.entry_accesses
        }),
        count("page requests", &|one| one.page_requests, &|one| {
            one.locks.page_requests
        }),
        count("local share", &|one| one.local_share, &|one| {
            one.locks.local_share
        }),
        count("hit ratio", &|one| one.hit_ratio, &|one| {
            let (mut hits, mut accesses) = (0.0, 0.0);
            for partition in &one.partitions {
                hits += partition.hit_ratio * partition.accesses;
                accesses += partition.accesses;
            }
            hits / accesses
        }),
        count("conflicts", &|one| one.conflicts, &|one| {
            one.locks.conflicts
        }),
        count("invalidations", &|one| one.invalidations, &|one| {
            one.partitions.iter().map(|one| one.invalidations).sum()
        }),
        count("deadlocks", &|one| one.deadlocks, &|one| {
            one.locks.deadlocks
        }),
    ];
    let responses = &measured.responses;
    let mut time =
        |name,
         measured,
         simulated: &dyn Fn(&sardonyx_simulation::measurement::Measurement) -> f64| {
            let estimate = outcome.estimate(simulated);
            lines.push(Line {
                name,
                simulated: estimate.mean,
                half_width: estimate.half_width,
                measured,
                measured_half_width: 0.0,
                is_count: false,
            });
        };
    time("throughput, TPS", measured.throughput, &|one| {
        one.throughput
    });
    time(RESPONSE, responses.mean_milliseconds, &|one| {
        one.response.mean
    });
    time("  median", responses.p50_milliseconds, &|one| {
        one.response.p50
    });
    time("  95th percentile", responses.p95_milliseconds, &|one| {
        one.response.p95
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &'static str, simulated: f64, measured: f64) -> Line {
        Line {
            name,
            simulated,
            half_width: 0.001,
            measured,
            measured_half_width: 0.002,
            is_count: name != RESPONSE,
        }
    }

    #[test]
    fn conflicts_that_follow_from_slow_processors_are_said_to() {
        let found = |conflicts, response| {
            remarks(&[
                line("conflicts", 0.01, conflicts),
                line(RESPONSE, 8.0, response),
            ])
        };
        assert!(found(0.012, 24.0).is_empty(), "they agree");
        assert!(found(0.05, 8.2).is_empty(), "it is no slower");
        let said = found(0.05, 24.0);
        assert!(
            said[0].starts_with("a transaction took 3.0 times"),
            "{said:?}"
        );
    }

    #[test]
    fn counts_agree_within_two_percent_or_chance_or_if_both_are_rare() {
        assert!(line("hits", 1.0, 1.019).agrees() && !line("hits", 1.0, 1.03).agrees());
        assert!(line("rare", 0.001, 0.005).agrees() && !line("rare", 0.001, 0.007).agrees());
        let mut chance = line("chance", 0.1, 0.11);
        assert!(!chance.agrees());
        chance.measured_half_width = 0.011;
        assert!(chance.agrees());
    }
}
