//! What a reader of an outcome must know beside its figures: warnings, and a check by arithmetic.

use sardonyx_simulation::outcome::Outcome;
use sardonyx_simulation::parameters::{Parameters, Storage, WorkloadKind};

/// Little's law holds up to the edges of the measured time; above this share something is wrong.
const LITTLE: f64 = 0.05;

/// Warnings, in plain words; none if all is well.
pub fn warnings(outcome: &Outcome) -> Vec<String> {
    let mut warnings = Vec::new();
    let replications = outcome.replications.len();
    let saturated = outcome
        .replications
        .iter()
        .filter(|one| one.saturated)
        .count();
    if saturated > 0 {
        warnings.push(format!(
            "saturated: in {saturated} of {replications} replications more transactions arrived than \
             completed, so that means depend on how long was measured; the most used is {}",
            most_used(outcome)
        ));
    }
    let response = outcome.response();
    let (reached, wanted) = (
        response.half_width / response.mean.abs(),
        outcome.parameters.run.precision,
    );
    if reached > wanted {
        warnings.push(format!(
            "precision not reached: after {replications} replications the interval of the mean response \
             time is {:.2}% to either side, not {:.2}%; allow more by --set run.most_replications=N",
            100.0 * reached,
            100.0 * wanted
        ));
    }
    let (population, product) = little(outcome);
    if saturated == 0 && (population - product).abs() > LITTLE * population {
        warnings.push(format!(
            "Little's law is off by more than {:.0}%: {population:.3} transactions in the system, but \
             arrivals x response time give {product:.3}; measure longer by --set run.measured_seconds=N",
            100.0 * LITTLE
        ));
    }
    warnings
}

/// Both sides of Little's law.
pub fn little(outcome: &Outcome) -> (f64, f64) {
    let mean = |name| {
        outcome
            .figure("checks", name)
            .map_or(0.0, |figure| figure.mean)
    };
    (
        mean("Little: number in system"),
        mean("Little: arrivals x response"),
    )
}

fn most_used(outcome: &Outcome) -> String {
    let servers = outcome.replications[0].servers.iter();
    let most = servers.max_by(|a, b| a.most_utilisation.total_cmp(&b.most_utilisation));
    most.map_or("unknown".into(), |station| {
        format!(
            "{} at {:.1}%",
            station.name,
            100.0 * station.most_utilisation
        )
    })
}

/// The processors' utilisation by arithmetic: the instructions of what was counted (accesses, I/Os,
/// messages) and the time that processors wait for GEM, times the throughput, over their capacity.
/// From 0 to 1. Only of debit-credit, whose transactions all have four record accesses.
pub fn cpu_by_arithmetic(outcome: &Outcome) -> Option<f64> {
    let parameters = &outcome.parameters;
    if parameters.workload.kind != WorkloadKind::DebitCredit {
        return None;
    }
    let instructions = path(parameters) + input_output(outcome)? + messages(outcome)?;
    let waiting_seconds = gem_seconds(outcome)?;
    let throughput = outcome.figure("throughput", "transactions")?.mean;
    let rate = throughput / f64::from(parameters.nodes);
    let seconds = instructions / (1e6 * parameters.node.mips) + waiting_seconds;
    Some(rate * seconds / f64::from(parameters.node.processors))
}

fn path(parameters: &Parameters) -> f64 {
    let node = &parameters.node;
    node.begin_instructions + 4.0 * node.access_instructions + node.end_instructions
}

/// Accesses to storage per transaction, of those partitions and the log for which `wanted` holds.
fn transfers(outcome: &Outcome, wanted: impl Fn(Storage) -> bool) -> Option<f64> {
    let parameters = &outcome.parameters;
    let mut sum = if wanted(parameters.log.storage) {
        1.0
    } else {
        0.0
    };
    for partition in &outcome.replications[0].partitions {
        if wanted(parameters.partition(&partition.name).storage) {
            for what in ["reads", "writes"] {
                let name = format!("{}: {what}", partition.name);
                sum += outcome.figure("pages", &name)?.mean;
            }
        }
    }
    Some(sum)
}

fn input_output(outcome: &Outcome) -> Option<f64> {
    let disks = transfers(outcome, |storage| storage != Storage::Gem)?;
    let gem = transfers(outcome, |storage| storage == Storage::Gem)?;
    let parameters = &outcome.parameters;
    Some(disks * parameters.disk.instructions + gem * parameters.gem.page_instructions)
}

fn messages(outcome: &Outcome) -> Option<f64> {
    let messages = &outcome.parameters.messages;
    let short = outcome.figure("messages", "short")?.mean * messages.short_instructions;
    let long = outcome.figure("messages", "long")?.mean * messages.long_instructions;
    Some(2.0 * (short + long))
}

fn gem_seconds(outcome: &Outcome) -> Option<f64> {
    let gem = &outcome.parameters.gem;
    let entries = outcome.figure("locks", "GEM entry accesses")?.mean;
    let pages = transfers(outcome, |storage| storage == Storage::Gem)?;
    Some(1e-6 * (entries * gem.entry_microseconds + pages * gem.page_microseconds))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use sardonyx_simulation::measurement::{Measurement, PartitionFigures, Station};

    /// Two replications whose mean response times are 50 -/+ `away` milliseconds.
    pub fn outcome(away: f64, change: impl Fn(&mut Measurement)) -> Outcome {
        let replication = |response: f64| {
            let mut one = Measurement {
                throughput: 100.0,
                ..Measurement::default()
            };
            one.response.mean = response;
            one.response.normalised = response;
            one.little.population = 5.0;
            one.little.arrivals_times_response = 5.01;
            one.servers = vec![
                Station {
                    name: "cpu".into(),
                    most_utilisation: 0.7,
                    ..Station::default()
                },
                Station {
                    name: "log disks".into(),
                    most_utilisation: 0.9,
                    ..Station::default()
                },
            ];
            change(&mut one);
            one
        };
        let replications = vec![replication(50.0 - away), replication(50.0 + away)];
        Outcome::new(Parameters::paper(), replications)
    }

    #[test]
    fn a_sound_outcome_has_no_warning() {
        assert_eq!(warnings(&outcome(0.01, |_| {})), Vec::<String>::new());
    }

    #[test]
    fn saturation_precision_and_littles_law_are_named() {
        let saturated = warnings(&outcome(0.01, |one| one.saturated = true));
        assert_eq!(saturated.len(), 1);
        assert!(saturated[0].contains("in 2 of 2") && saturated[0].contains("log disks at 90.0%"));
        let imprecise = warnings(&outcome(1.0, |_| {}));
        assert_eq!(imprecise.len(), 1);
        assert!(imprecise[0].contains("not 2.00%"), "{imprecise:?}");
        let little = warnings(&outcome(0.01, |one| one.little.population = 6.0));
        assert_eq!(little.len(), 1);
        assert!(little[0].contains("Little's law"), "{little:?}");
    }

    #[test]
    fn arithmetic_adds_path_accesses_messages_and_waiting_for_gem() {
        let outcome = outcome(0.0, |one| {
            one.partitions = vec![PartitionFigures {
                name: "account".into(),
                reads: 1.0,
                writes: 1.0,
                ..PartitionFigures::default()
            }];
            one.locks.short_messages = 1.0;
            one.locks.long_messages = 0.5;
            one.locks.entry_accesses = 10.0;
        });
        // 250,000 + 3 x 3,000 + 2 x 5,000 + 2 x 0.5 x 8,000 = 277,000 instructions of 10 MIPS are
        // 27.7 ms, and 20 us for GEM; 100 a second on four processors.
        let expected = 100.0 * (0.0277 + 0.00002) / 4.0;
        assert!((cpu_by_arithmetic(&outcome).unwrap() - expected).abs() < 1e-12);
    }
}
