//! The points that figures and statements need, simulated: each point once.

use super::{Configuration, TARGET_CPU};
use crate::outcome::Outcome;
use crate::parameters::Parameters;
use crate::search::{SearchError, Searches, Simulate, ThroughputAtCpu};
use std::collections::HashMap;

/// The points that figures and statements need.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    outcomes: Vec<Configuration>,
    throughputs: Vec<Configuration>,
}

impl Needs {
    /// Asks for the outcome of `configuration`.
    pub fn outcome(&mut self, configuration: Configuration) {
        if !self.outcomes.contains(&configuration) {
            self.outcomes.push(configuration);
        }
    }

    /// Asks for the throughput of `configuration` at a CPU utilisation of [`TARGET_CPU`].
    pub fn throughput(&mut self, configuration: Configuration) {
        if !self.throughputs.contains(&configuration) {
            self.throughputs.push(configuration);
        }
    }

    /// Keeps only points that `wanted` accepts.
    pub fn retain(&mut self, wanted: impl Fn(&Configuration) -> bool) {
        self.outcomes.retain(&wanted);
        self.throughputs.retain(&wanted);
    }

    /// The points whose outcomes are needed, in the order in which they were asked for.
    pub fn outcomes(&self) -> &[Configuration] {
        &self.outcomes
    }

    /// The points whose throughputs are needed, in the order in which they were asked for.
    pub fn throughputs(&self) -> &[Configuration] {
        &self.throughputs
    }
}

/// The outcomes of all points that figures and statements need.
#[derive(Clone, Debug)]
pub struct Study {
    base: Parameters,
    outcomes: HashMap<Configuration, Outcome>,
    throughputs: HashMap<Configuration, Result<ThroughputAtCpu, SearchError>>,
}

impl Study {
    /// Simulates the needed points, on the hardware of `base`. Searches begin together with the points, and each of
    /// their rounds is one call of `simulate`.
    ///
    /// # Errors
    /// The error of `simulate`.
    pub fn run<E>(base: &Parameters, needs: &Needs, simulate: &Simulate<'_, E>) -> Result<Self, E> {
        let on_base = |configuration: &Configuration| configuration.parameters(base);
        let mut points: Vec<Parameters> = needs.outcomes.iter().map(on_base).collect();
        let searched: Vec<Parameters> = needs.throughputs.iter().map(on_base).collect();
        let mut searches = Searches::new(&searched, TARGET_CPU);
        points.extend(searches.points());
        let mut outcomes = simulate(&points)?;
        searches.take(outcomes.split_off(needs.outcomes.len()));
        searches.run(simulate)?;
        let named = needs.throughputs.iter().copied();
        Ok(Study {
            base: base.clone(),
            outcomes: needs.outcomes.iter().copied().zip(outcomes).collect(),
            throughputs: named.zip(searches.results()).collect(),
        })
    }

    /// Simulates the points of `needs` again, with `replications` of each point at least: the present ones are among
    /// them, since a replication depends on its number alone.
    ///
    /// # Errors
    /// The error of `simulate`.
    pub fn replicate<E>(
        &mut self,
        needs: &Needs,
        replications: u32,
        simulate: &Simulate<'_, E>,
    ) -> Result<(), E> {
        let mut base = self.base.clone();
        let run = &mut base.run;
        run.least_replications = replications.min(run.most_replications);
        let mut longer = needs.clone();
        let rate = |at: &Configuration| match self.throughputs.get(at) {
            Some(Ok(found)) => Some(found.rate_per_node.mean),
            _ => None,
        };
        longer.throughputs.retain(|at| rate(at).is_some());
        let points = longer.outcomes.iter().map(|at| at.parameters(&base));
        let mut points: Vec<Parameters> = points.collect();
        let searched = longer.throughputs.iter().map(|at| {
            let mut point = at.parameters(&base);
            // The end of the search: it needs one run then.
            point.arrival.rate_per_node = rate(at).unwrap_or(point.arrival.rate_per_node);
            point
        });
        let mut searches = Searches::new(&searched.collect::<Vec<_>>(), TARGET_CPU);
        points.extend(searches.points());
        let mut outcomes = simulate(&points)?;
        searches.take(outcomes.split_off(longer.outcomes.len()));
        searches.run(simulate)?;
        self.outcomes
            .extend(longer.outcomes.iter().copied().zip(outcomes));
        let named = longer.throughputs.iter().copied();
        self.throughputs.extend(named.zip(searches.results()));
        Ok(())
    }

    /// The parameters that the configurations are laid over.
    pub fn base(&self) -> &Parameters {
        &self.base
    }

    /// The outcome of `configuration`, if it was simulated.
    pub fn outcome(&self, configuration: &Configuration) -> Option<&Outcome> {
        self.outcomes.get(configuration)
    }

    /// The throughput of `configuration` at a CPU utilisation of [`TARGET_CPU`], or why there is
    /// none; nothing if it was not searched for.
    pub fn throughput(
        &self,
        configuration: &Configuration,
    ) -> Option<Result<&ThroughputAtCpu, &SearchError>> {
        self.throughputs.get(configuration).map(Result::as_ref)
    }
}
