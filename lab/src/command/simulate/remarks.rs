//! The remarks on an outcome: warnings, and its checks.
//!
//! The checks compare the model's measurements with laws that hold for any system. A warning reports that an outcome is
//! no answer (saturated, imprecise, measured too shortly), or that the model contradicts itself.

use sardonyx_simulation::outcome::Outcome;

/// Little's law holds up to the edges of the measured time; a larger share is an error of the model.
const LITTLE: f64 = 0.05;

/// Arithmetic and measurement count the transactions at the edges of the measured time differently.
const PROCESSORS: f64 = 0.02;

/// Warnings as sentences; empty if there are none.
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
    let (run, response) = (&outcome.parameters.run, outcome.response());
    let (reached, wanted) = (response.half_width / response.mean.abs(), run.precision);
    // A requested number of replications is run, whatever the precision.
    let may_go_on = run.least_replications < run.most_replications;
    if reached > wanted && may_go_on {
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
    let (used, arithmetic) = processors(outcome);
    if saturated == 0 && (used - arithmetic).abs() > PROCESSORS * used {
        warnings.push(format!(
            "the processors' utilisation, {used:.2}%, is not what arithmetic gives, {arithmetic:.2}%; \
             measure longer by --set run.measured_seconds=N"
        ));
    }
    let servers = mean(outcome, "Little's law at the servers");
    if servers < 100.0 {
        warnings.push(format!(
            "Little's law does not hold at all servers, but at {servers:.1}%: this is an error of the model"
        ));
    }
    warnings
}

/// Both sides of Little's law.
pub fn little(outcome: &Outcome) -> (f64, f64) {
    let number = mean(outcome, "Little: number in system");
    (number, mean(outcome, "Little: arrivals x response"))
}

/// The processors' utilisation in percent: measured, and computed from the counts of events.
pub fn processors(outcome: &Outcome) -> (f64, f64) {
    let used = outcome.figure("servers", "cpu: utilisation");
    let arithmetic = mean(outcome, "CPU utilisation by arithmetic");
    (used.map_or(0.0, |used| used.mean), arithmetic)
}

fn mean(outcome: &Outcome, name: &str) -> f64 {
    let figure = outcome.figure("checks", name);
    figure.map_or(0.0, |figure| figure.mean)
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

#[cfg(test)]
pub mod tests {
    use super::*;
    use sardonyx_simulation::measurement::{Measurement, Station};
    use sardonyx_simulation::parameters::Parameters;

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
            one.cpu_by_arithmetic = 0.6;
            let station = |name: &str, utilisation| Station {
                name: name.into(),
                utilisation,
                most_utilisation: utilisation,
                little_holds: true,
                ..Station::default()
            };
            one.servers = vec![station("cpu", 0.6), station("log disks", 0.9)];
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
    fn a_model_that_contradicts_itself_is_named() {
        let processors = warnings(&outcome(0.01, |one| one.cpu_by_arithmetic = 0.65));
        assert_eq!(processors.len(), 1);
        assert!(processors[0].contains("60.00%") && processors[0].contains("65.00%"));
        let servers = warnings(&outcome(0.01, |one| one.servers[1].little_holds = false));
        assert_eq!(servers.len(), 1);
        assert!(servers[0].contains("at 50.0%"), "{servers:?}");
    }
}
