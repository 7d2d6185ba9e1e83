//! The arrival rate at which the processors reach a given utilisation (GEM paper, Figure 4.6).
//!
//! The processors limit the number of transactions that a system can process, once the disks
//! suffice. The GEM paper compares the rates at a utilisation of 80%. Utilisation grows almost in
//! proportion to the rate. So a line through the two nearest rates tried (or, after the first,
//! through the origin) finds it in two or three runs. Several searches advance in lock step: each
//! round's points are simulated together, on all cores.
//!
//! The answer is the rate on that line at exactly the target, with an interval that comes from the
//! utilisation's. If something else is saturated before the processors reach the target, that is an
//! error which names it.

use crate::figures::Estimate;
use crate::measurement::Measurement;
use crate::outcome::Outcome;
use crate::parameters::{Parameters, limits};

/// Simulates points: one outcome each, in their order.
pub type Simulate<'a, E> = dyn Fn(&[Parameters]) -> Result<Vec<Outcome>, E> + 'a;

/// So near to the target a rate must have come for the line to be trusted.
const NEAR: f64 = 0.005;

/// Rounds at most. A search that converges needs two to four.
const MOST_ROUNDS: usize = 20;

/// The arrival rate at which the processors reach a utilisation.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputAtCpu {
    /// The utilisation asked for, from 0 to 1.
    pub target: f64,
    /// Transactions per second and node at exactly that utilisation.
    pub rate_per_node: Estimate,
    /// Transactions per second, all nodes together.
    pub throughput: Estimate,
    /// The utilisation of the last point simulated, from 0 to 1.
    pub utilisation: Estimate,
    /// Points simulated.
    pub runs: usize,
    /// The last of them, near the target.
    pub outcome: Outcome,
    /// Utilisation per transaction a second and node, on the line through the target.
    slope: f64,
}

impl ThroughputAtCpu {
    /// The rate per node that each replication of the last point gives, on the line through its own
    /// utilisation: their mean is [`ThroughputAtCpu::rate_per_node`].
    pub fn rates_per_node(&self) -> Vec<f64> {
        let rate = self.outcome.parameters.arrival.rate_per_node;
        let replications = self.outcome.replications.iter();
        let utilisations = replications.map(|one| utilisation_of(&self.outcome.parameters, one));
        utilisations
            .map(|utilisation| rate + (self.target - utilisation) / self.slope)
            .collect()
    }
}

/// The reason why no such rate was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The target is no utilisation.
    #[error(
        "a CPU utilisation of {} % cannot be searched for: choose above 0 and below 100",
        100.0 * target
    )]
    Target {
        /// The requested value.
        target: f64,
    },
    /// Something else limits the throughput.
    #[error(
        "a CPU utilisation of {:.0} % cannot be reached with {nodes} nodes: at {rate:.1} \
         transactions per second and node the system is saturated and the processors are at {:.1} \
         %; the most used server is {bottleneck} at {:.1} %",
        100.0 * target, 100.0 * utilisation, 100.0 * bottleneck_utilisation
    )]
    Saturated {
        /// The utilisation asked for.
        target: f64,
        /// As the parameters say.
        nodes: u32,
        /// The lowest rate per node at which the system was saturated.
        rate: f64,
        /// The processors' utilisation there.
        utilisation: f64,
        /// The kind of server that is used most there, processors aside.
        bottleneck: String,
        /// From 0 to 1, at the same rate.
        bottleneck_utilisation: f64,
    },
    /// The search did not come near enough.
    #[error(
        "no rate was found at which the CPU utilisation is {:.1} %: the nearest of {runs} tried, \
         {rate} per second and node, gives {:.1} %",
        100.0 * target, 100.0 * utilisation
    )]
    NotFound {
        /// The utilisation asked for.
        target: f64,
        /// Points simulated.
        runs: usize,
        /// The nearest rate per node.
        rate: f64,
        /// Of the processors, from 0 to 1.
        utilisation: f64,
    },
}

/// Searches the arrival rate per node at which the mean CPU utilisation is `target` (0 to 1),
/// starting at the rate of `parameters`.
///
/// # Errors
/// The outer error is that of `simulate`; the inner one is the reason why there is no such rate.
pub fn throughput_at_cpu<E>(
    parameters: &Parameters,
    target: f64,
    simulate: &Simulate<'_, E>,
) -> Result<Result<ThroughputAtCpu, SearchError>, E> {
    let mut searches = Searches::new(std::slice::from_ref(parameters), target);
    searches.run(simulate)?;
    Ok(searches.results().remove(0))
}

/// Searches that advance in lock step.
#[derive(Clone, Debug)]
pub struct Searches {
    searches: Vec<Search>,
}

#[derive(Clone, Debug)]
struct Search {
    parameters: Parameters,
    target: f64,
    tried: Vec<Tried>,
    /// The rate to try next, or the result.
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Try(f64),
    Done(Box<Result<ThroughputAtCpu, SearchError>>),
}

#[derive(Clone, Debug)]
struct Tried {
    rate: f64,
    utilisation: Estimate,
    saturated: bool,
    outcome: Outcome,
}

impl Searches {
    /// One search for each of `points`, all for the CPU utilisation `target` (0 to 1).
    pub fn new(points: &[Parameters], target: f64) -> Self {
        let searches = points.iter().map(|parameters| Search {
            parameters: parameters.clone(),
            target,
            tried: Vec::new(),
            state: match target > 0.0 && target < 1.0 {
                true => State::Try(parameters.arrival.rate_per_node),
                false => State::Done(Box::new(Err(SearchError::Target { target }))),
            },
        });
        Searches {
            searches: searches.collect(),
        }
    }

    /// The points that the searches not yet done need next; none if all are done.
    pub fn points(&self) -> Vec<Parameters> {
        let next = self
            .searches
            .iter()
            .filter_map(|search| match search.state {
                State::Try(rate) => {
                    let mut point = search.parameters.clone();
                    point.arrival.rate_per_node = rate;
                    Some(point)
                }
                State::Done(_) => None,
            });
        next.collect()
    }

    /// Takes the outcomes of [`Searches::points`], in their order.
    ///
    /// # Panics
    /// If there are fewer outcomes than points.
    pub fn take(&mut self, outcomes: Vec<Outcome>) {
        let mut outcomes = outcomes.into_iter();
        for search in &mut self.searches {
            if let State::Try(rate) = search.state {
                let outcome = outcomes.next().expect("one outcome for each point");
                search.take(rate, outcome);
            }
        }
    }

    /// Advances all searches until they are done.
    ///
    /// # Errors
    /// That of `simulate`.
    pub fn run<E>(&mut self, simulate: &Simulate<'_, E>) -> Result<(), E> {
        loop {
            let points = self.points();
            if points.is_empty() {
                return Ok(());
            }
            self.take(simulate(&points)?);
        }
    }

    /// The results of the searches, in the order of the points.
    ///
    /// # Panics
    /// If they are not done.
    pub fn results(self) -> Vec<Result<ThroughputAtCpu, SearchError>> {
        let results = self.searches.into_iter().map(|search| match search.state {
            State::Done(result) => *result,
            State::Try(rate) => panic!("the search is still to try {rate} per second"),
        });
        results.collect()
    }
}

impl Search {
    fn take(&mut self, rate: f64, outcome: Outcome) {
        let utilisation = cpu_utilisation(&outcome);
        let saturated = outcome.replications.iter().any(|one| one.saturated);
        self.tried.push(Tried {
            rate,
            utilisation,
            saturated,
            outcome,
        });
        self.tried.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        self.state = self.judge(rate);
    }

    /// The conclusion from the rates tried, `rate` the last.
    fn judge(&self, rate: f64) -> State {
        let done = |result| State::Done(Box::new(result));
        let last = self.tried.iter().find(|tried| tried.rate == rate);
        let last = last.expect("the last rate was tried");
        let away = last.utilisation.mean - self.target;
        if last.saturated && away < NEAR {
            return done(Err(self.saturated(last)));
        }
        if !last.saturated && away.abs() <= NEAR {
            return done(Ok(self.found(last)));
        }
        let next = self.next_rate();
        let tried_before = self.tried.iter().any(|tried| tried.rate == next);
        if tried_before || self.tried.len() >= MOST_ROUNDS {
            return done(Err(self.not_found()));
        }
        State::Try(next)
    }

    fn next_rate(&self) -> f64 {
        let is_above = |tried: &&Tried| tried.saturated || tried.utilisation.mean > self.target;
        let below = self.tried.iter().rfind(|tried| !is_above(tried));
        let above = self.tried.iter().find(is_above);
        let through_origin = |tried: &Tried| {
            // A point with hardly any load shows little of the target's place.
            tried.rate * (self.target / tried.utilisation.mean).clamp(0.25, 16.0)
        };
        let next = match (below, above) {
            (Some(below), Some(above)) if !above.saturated => {
                let slope = slope(below, above);
                below.rate + (self.target - below.utilisation.mean) / slope
            }
            (Some(below), Some(above)) => {
                let bound = 0.5 * (below.rate + above.rate);
                through_origin(below).min(bound)
            }
            (Some(below), None) => through_origin(below),
            (None, Some(above)) if above.saturated => 0.5 * above.rate,
            (None, Some(above)) => through_origin(above),
            (None, None) => self.parameters.arrival.rate_per_node,
        };
        let limit = limits::of("arrival.rate_per_node").expect("a rate has limits");
        next.clamp(limit.least, limit.most)
    }

    fn found(&self, last: &Tried) -> ThroughputAtCpu {
        let others = self.tried.iter();
        let others = others.filter(|tried| tried.rate != last.rate && !tried.saturated);
        let distance = |tried: &Tried| (tried.rate - last.rate).abs();
        let nearest = others.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let through_origin = last.utilisation.mean / last.rate;
        let slope = match nearest {
            // Rates close by differ less than their uncertainty: their slope would be noise.
            Some(other) if distance(other) > 0.05 * last.rate => slope(other, last),
            _ => through_origin,
        };
        // Queues make the line bend, but never so much: such a slope is noise, too.
        let slope = slope.clamp(0.5 * through_origin, 2.0 * through_origin);
        let rate = last.rate + (self.target - last.utilisation.mean) / slope;
        let rate_per_node = Estimate::new(rate, last.utilisation.half_width / slope);
        ThroughputAtCpu {
            target: self.target,
            rate_per_node,
            throughput: rate_per_node * f64::from(self.parameters.nodes),
            utilisation: last.utilisation,
            runs: self.tried.len(),
            outcome: last.outcome.clone(),
            slope,
        }
    }

    fn saturated(&self, last: &Tried) -> SearchError {
        let servers = last.outcome.replications.iter();
        let servers = servers.flat_map(|replication| &replication.servers);
        let most = servers
            .filter(|station| station.name != "cpu")
            .max_by(|a, b| a.most_utilisation.total_cmp(&b.most_utilisation));
        SearchError::Saturated {
            target: self.target,
            nodes: self.parameters.nodes,
            rate: last.rate,
            utilisation: last.utilisation.mean,
            bottleneck: most.map_or("unknown".to_string(), |station| station.name.clone()),
            bottleneck_utilisation: most.map_or(0.0, |station| station.most_utilisation),
        }
    }

    fn not_found(&self) -> SearchError {
        let away = |tried: &Tried| (tried.utilisation.mean - self.target).abs();
        let nearest = self.tried.iter();
        let nearest = nearest.min_by(|a, b| away(a).total_cmp(&away(b)));
        let nearest = nearest.expect("at least one rate was tried");
        SearchError::NotFound {
            target: self.target,
            runs: self.tried.len(),
            rate: nearest.rate,
            utilisation: nearest.utilisation.mean,
        }
    }
}

fn slope(below: &Tried, above: &Tried) -> f64 {
    (above.utilisation.mean - below.utilisation.mean) / (above.rate - below.rate)
}

/// The processors' mean utilisation at the outcome's arrival rate, from 0 to 1.
///
/// In a replication more or fewer transactions arrive than by the rate, and the processors are used as much more or
/// less. A transaction's use scatters far less; so it is measured, and multiplied by the rate. A saturated system does
/// not complete all arrivals: there it is the utilisation as measured.
pub fn cpu_utilisation(outcome: &Outcome) -> Estimate {
    outcome.estimate(|replication| utilisation_of(&outcome.parameters, replication))
}

fn utilisation_of(parameters: &Parameters, replication: &Measurement) -> f64 {
    let offered = f64::from(parameters.nodes) * parameters.arrival.rate_per_node;
    let mut servers = replication.servers.iter();
    let cpu = servers.find(|station| station.name == "cpu");
    let measured = cpu.map_or(0.0, |cpu| cpu.utilisation);
    match replication.throughput > 0.0 && !replication.saturated {
        true => measured * offered / replication.throughput,
        false => measured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Station;
    use std::cell::Cell;
    use std::convert::Infallible;

    /// A system whose processors are used by `cpu(rate)` and whose disks are full at `disks_full`.
    fn system(point: &Parameters, cpu: impl Fn(f64) -> f64, disks_full: f64) -> Outcome {
        let rate = point.arrival.rate_per_node;
        let done = rate.min(disks_full);
        let station = |name: &str, utilisation: f64| Station {
            name: name.to_string(),
            utilisation: utilisation.min(1.0),
            most_utilisation: utilisation.min(1.0),
            ..Station::default()
        };
        let replication = |noise: f64| Measurement {
            servers: vec![
                station("cpu", cpu(done) + noise),
                station("disks of account", done / disks_full),
                station("gem", 0.01),
            ],
            saturated: rate >= disks_full || cpu(rate) >= 1.0,
            ..Measurement::default()
        };
        Outcome::new(point.clone(), vec![replication(-0.001), replication(0.001)])
    }

    fn search(
        start: f64,
        cpu: impl Fn(f64) -> f64,
        disks_full: f64,
    ) -> Result<ThroughputAtCpu, SearchError> {
        let mut point = Parameters::paper();
        point.arrival.rate_per_node = start;
        let simulate = |points: &[Parameters]| -> Result<Vec<Outcome>, Infallible> {
            let outcomes = points.iter().map(|point| system(point, &cpu, disks_full));
            Ok(outcomes.collect())
        };
        let Ok(found) = throughput_at_cpu(&point, 0.8, &simulate);
        found
    }

    #[test]
    fn proportional_use_is_found_in_two_runs_from_anywhere() {
        for start in [10.0, 60.0, 100.0, 140.0] {
            let found = search(start, |rate| rate / 150.0, 1e9).unwrap();
            let rate = found.rate_per_node;
            assert!((rate.mean - 120.0).abs() < 0.2, "from {start}: {rate:?}");
            assert!(rate.half_width > 0.0 && rate.half_width < 2.5, "{rate:?}");
            assert!(found.runs <= 3, "from {start}: {} runs", found.runs);
            assert!((found.utilisation.mean - 0.8).abs() <= NEAR);
        }
    }

    #[test]
    fn more_arrivals_than_expected_are_not_more_use_of_processors() {
        let mut point = Parameters::paper();
        point.nodes = 2;
        // 5% more and fewer transactions than the 200 a second, each using 0.3% of the processors.
        let replications = [0.95, 1.05].map(|arrived| {
            let mut one = system(&point, |_| 0.6 * arrived, 1e9).replications[0].clone();
            one.servers[0].utilisation = 0.6 * arrived;
            one.throughput = 200.0 * arrived;
            one
        });
        let mut outcome = Outcome::new(point, replications.to_vec());
        let used = cpu_utilisation(&outcome);
        assert!(
            (used.mean - 0.6).abs() < 1e-9 && used.half_width < 1e-9,
            "{used:?}"
        );
        outcome
            .replications
            .iter_mut()
            .for_each(|one| one.saturated = true);
        assert!(cpu_utilisation(&outcome).half_width > 0.1);
    }

    #[test]
    fn bent_use_is_found_too() {
        // Messages grow with the square of the rate: 0.8 at 118.8.
        let bent = |rate: f64| rate / 200.0 + rate * rate / 68_500.0;
        for start in [20.0, 100.0, 150.0, 2_000.0] {
            let found = search(start, bent, 1e9).unwrap();
            let at = found.rate_per_node.mean;
            assert!((bent(at) - 0.8).abs() < 0.002, "from {start}: {at}");
            assert!(found.runs <= 8, "from {start}: {} runs", found.runs);
        }
    }

    #[test]
    fn a_system_full_of_something_else_is_named() {
        let error = search(100.0, |rate| rate / 150.0, 90.0).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("disks of account at 100.0 %"), "{text}");
        assert!(
            text.contains("CPU utilisation of 80 % cannot be reached with 1 nodes"),
            "{text}"
        );
    }

    #[test]
    fn a_use_that_jumps_over_the_target_is_not_found() {
        let error = search(100.0, |rate| if rate < 110.0 { 0.5 } else { 0.95 }, 1e9).unwrap_err();
        assert!(matches!(error, SearchError::NotFound { .. }), "{error}");
    }

    #[test]
    fn a_target_that_is_no_utilisation_is_refused_without_a_run() {
        for target in [0.0, 1.0, -0.5, f64::NAN] {
            let simulate = |_: &[Parameters]| -> Result<Vec<Outcome>, Infallible> {
                panic!("nothing is to be simulated")
            };
            let Ok(found) = throughput_at_cpu(&Parameters::paper(), target, &simulate);
            assert!(matches!(found, Err(SearchError::Target { .. })), "{target}");
        }
    }

    #[test]
    fn searches_advance_in_lock_step() {
        let points: Vec<Parameters> = [80.0, 120.0, 40.0]
            .map(|rate| {
                let mut point = Parameters::paper();
                point.arrival.rate_per_node = rate;
                point
            })
            .to_vec();
        let rounds = Cell::new(0);
        let simulate = |points: &[Parameters]| -> Result<Vec<Outcome>, Infallible> {
            rounds.set(rounds.get() + 1);
            let systems = points
                .iter()
                .map(|point| system(point, |rate| rate / 150.0, 1e9));
            Ok(systems.collect())
        };
        let mut searches = Searches::new(&points, 0.8);
        let Ok(()) = searches.run(&simulate);
        // The second is known at once, the others one round later.
        assert_eq!(rounds.get(), 2);
        let runs: Vec<_> = searches
            .results()
            .into_iter()
            .map(|found| found.unwrap().runs)
            .collect();
        assert_eq!(runs, [2, 1, 2]);
    }
}
