//! The difference of two states of a server: rates, loads and response times of the time between them.
//!
//! A later state with smaller counts is of another server (it was restarted): then there are no rates.

use super::{Histogram, Log, Stages, State};
use serde::Serialize;
use std::collections::HashMap;

/// The work of a server between two states, per second unless another unit is given.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Rates {
    /// The seconds between the states.
    pub seconds: f64,
    /// Commits, of all clients.
    pub transactions: f64,
    /// Writes of the log.
    pub groups: f64,
    /// Transactions in a group, on average; `None` without any group.
    pub transactions_per_group: Option<f64>,
    /// Bytes written to the log.
    pub log_bytes: f64,
    /// Bytes written to the backup.
    pub backup_bytes: f64,
    /// The times of group writes: the quantiles of [`Rates::QUANTILES`], in seconds.
    pub write_seconds: Option<[f64; 3]>,
    /// The busy share of each stage's time.
    pub loads: StageLoads,
    /// Clients, by protocol.
    pub clients: Vec<ClientRates>,
    /// Errors sent to clients.
    pub errors: f64,
    /// The changed tables with the number of rows changed, most first.
    pub table_changes: Vec<(String, f64)>,
}

/// The share of the time that each stage was busy: 1 is all of one thread's.
pub type StageLoads = Stages;

/// The work of the clients of a protocol between two states.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ClientRates {
    /// As the label of the metrics.
    pub protocol: String,
    /// Flights in a second.
    pub flights: f64,
    /// Statements in a second.
    pub statements: f64,
    /// The times of flights: the quantiles of [`Rates::QUANTILES`], in seconds; `None` without any flight.
    pub seconds: Option<[f64; 3]>,
}

impl Rates {
    /// The quantiles that are reported: the median, 95 % and 99 %.
    pub const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

    /// The rates between two states of one server; `None` if they are of two servers, or of one moment.
    pub fn between(before: &State, after: &State) -> Option<Rates> {
        let seconds = after.uptime_seconds - before.uptime_seconds;
        if seconds <= 0.0 || after.transactions < before.transactions {
            return None;
        }
        let more = |count: fn(&State) -> u64| count(after).saturating_sub(count(before)) as f64;
        let (transactions, groups) = (more(|s| s.transactions), more(|s| s.log.groups));
        let share = |stage: fn(&Stages) -> f64| {
            ((stage(&after.stages) - stage(&before.stages)) / seconds).max(0.0)
        };
        let clients = after.clients.iter().map(|clients| {
            let same = |one: &&super::Clients| one.protocol == clients.protocol;
            let before = before
                .clients
                .iter()
                .find(same)
                .cloned()
                .unwrap_or_default();
            let flights = clients.flights.since(&before.flights);
            ClientRates {
                protocol: clients.protocol.clone(),
                flights: flights.count() as f64 / seconds,
                statements: clients.statements.saturating_sub(before.statements) as f64 / seconds,
                seconds: flights.quantiles(),
            }
        });
        let earlier: HashMap<&str, u64> = before
            .tables
            .iter()
            .map(|table| (table.name.as_str(), table.changes))
            .collect();
        let changes = after.tables.iter().filter_map(|table| {
            let changes = table
                .changes
                .saturating_sub(*earlier.get(table.name.as_str())?);
            (changes > 0).then(|| (table.name.clone(), changes as f64 / seconds))
        });
        let mut table_changes: Vec<(String, f64)> = changes.collect();
        table_changes.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let errors = |state: &State| state.errors.iter().map(|errors| errors.count).sum();
        let write = |log: &Log| log.write.clone();
        Some(Rates {
            seconds,
            transactions: transactions / seconds,
            groups: groups / seconds,
            transactions_per_group: (groups > 0.0).then(|| transactions / groups),
            log_bytes: more(|s| s.log.written_bytes) / seconds,
            backup_bytes: more(|s| s.checkpoint.written_bytes) / seconds,
            write_seconds: write(&after.log).since(&write(&before.log)).quantiles(),
            loads: StageLoads {
                input: share(|stages| stages.input),
                execution: share(|stages| stages.execution),
                logging: share(|stages| stages.logging),
                output: share(|stages| stages.output),
                checkpoint: share(|stages| stages.checkpoint),
            },
            clients: clients.collect(),
            errors: more(errors) / seconds,
            table_changes,
        })
    }
}

impl Histogram {
    /// The times that were added since an earlier histogram.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let before = |class: usize| earlier.classes.get(class).copied().unwrap_or(0);
        let classes = self.classes.iter().enumerate();
        Histogram {
            bounds: self.bounds.clone(),
            classes: classes
                .map(|(class, count)| count.saturating_sub(before(class)))
                .collect(),
            sum: self.sum - earlier.sum,
        }
    }

    fn quantiles(&self) -> Option<[f64; 3]> {
        let [half, most, nearly_all] = Rates::QUANTILES.map(|quantile| self.quantile(quantile));
        Some([half?, most?, nearly_all?])
    }

    /// An estimate of a quantile in seconds, as if the times of a class were spread evenly over it. Above all bounds
    /// the highest bound is returned. `None` if the histogram is empty.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let wanted = quantile.clamp(0.0, 1.0) * self.count() as f64;
        let (mut below, mut from) = (0.0, 0.0);
        for (class, &count) in self.classes.iter().enumerate() {
            let to = self.bounds.get(class).copied();
            if count > 0 && below + count as f64 >= wanted {
                let share = (wanted - below) / count as f64;
                return to.map_or(Some(from), |to| Some(from + (to - from) * share));
            }
            below += count as f64;
            from = to.unwrap_or(from);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Clients, Errors};
    use super::*;

    fn histogram(classes: [u64; 3]) -> Histogram {
        Histogram {
            bounds: vec![0.001, 0.01],
            classes: classes.into(),
            sum: 1.0,
        }
    }

    #[test]
    fn quantiles_are_within_their_class() {
        let times = histogram([50, 50, 0]);
        for (quantile, seconds) in [(0.25, 0.0005), (0.5, 0.001), (0.75, 0.0055), (1.0, 0.01)] {
            let estimate = times.quantile(quantile).unwrap();
            assert!((estimate - seconds).abs() < 1e-12, "{quantile}: {estimate}");
        }
        assert_eq!(histogram([0, 0, 3]).quantile(0.5), Some(0.01));
        assert_eq!(histogram([0, 0, 0]).quantile(0.5), None);
        assert_eq!(histogram([0, 4, 0]).quantile(0.0), Some(0.001));
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let before = State {
            uptime_seconds: 10.0,
            transactions: 1000,
            ..State::default()
        };
        let mut after = before.clone();
        after.uptime_seconds = 12.0;
        after.transactions = 1600;
        after.log.groups = 30;
        after.log.written_bytes = 8192;
        after.stages.execution = 1.5;
        after.errors = vec![Errors {
            class: "40".into(),
            count: 4,
        }];
        after.clients = vec![Clients {
            protocol: "postgres".into(),
            statements: 100,
            flights: histogram([10, 0, 0]),
            ..Clients::default()
        }];
        let rates = Rates::between(&before, &after).unwrap();
        assert_eq!(
            (rates.transactions, rates.groups, rates.log_bytes),
            (300.0, 15.0, 4096.0)
        );
        assert_eq!(rates.transactions_per_group, Some(20.0));
        assert_eq!(
            (rates.loads.execution, rates.loads.input, rates.errors),
            (0.75, 0.0, 2.0)
        );
        assert_eq!(
            (rates.clients[0].flights, rates.clients[0].statements),
            (5.0, 50.0)
        );
        assert_eq!(rates.clients[0].seconds.unwrap()[0], 0.0005);
        // The same moment; another server.
        assert_eq!(Rates::between(&after, &after), None);
        assert_eq!(Rates::between(&after, &before), None);
        let restarted = State {
            uptime_seconds: 20.0,
            ..State::default()
        };
        assert_eq!(Rates::between(&after, &restarted), None);
    }
}
