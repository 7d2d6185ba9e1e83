//! The measurements beside the servers' own statistics.

use super::accounts::Accounts;
use crate::statistics::{Histogram, TimeWeighted};
use crate::time::{Span, Time};

/// Counts since the start of measuring.
pub struct Tally {
    /// The beginning of the measurement.
    pub since: Time,
    /// Transactions that arrived.
    pub arrivals: u64,
    /// Transactions that completed.
    pub completions: u64,
    /// Their record accesses.
    pub accesses: u64,
    /// Their response times.
    pub responses: Histogram,
    /// The sum of their response times.
    pub response_sum: Span,
    /// The sum of each one's response time per access, in seconds.
    pub per_access_sum: f64,
    /// The parts of their time.
    pub accounts: Accounts,
    pub partitions: Vec<PartitionTally>,
    /// Short messages sent.
    pub short_messages: u64,
    /// Long messages sent.
    pub long_messages: u64,
    /// Page requests that were answered, and how long that took.
    pub page_requests: u64,
    /// The sum of their delays.
    pub page_request_sum: Span,
    /// Transactions aborted for a deadlock.
    pub deadlocks: u64,
    /// Compare&Swap operations that found the entry changed.
    pub swap_failures: u64,
    /// Instructions at both ends of the messages sent.
    pub message_instructions: f64,
    /// Accesses to pages in GEM other than pages of files there: messages, transfers, caches.
    pub gem_pages: u64,
    /// Accesses to entries in GEM beside those of the global lock table: messages, caches.
    pub gem_entries: u64,
    /// I/Os of disks behind a cache in GEM.
    pub behind_gem: u64,
    /// Transactions in the system.
    population: TimeWeighted,
    population_at_start: u64,
}

/// The events of a partition's pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionTally {
    /// Page accesses; several of one transaction to one page, one after the other, count once.
    pub accesses: u64,
    /// Accesses that found the current version in the buffer.
    pub hits: u64,
    /// Accesses that found an old version there.
    pub invalidations: u64,
    /// Valid copies in other nodes' buffers that a commit made old.
    pub made_invalid: u64,
    /// Pages that another node sent.
    pub from_nodes: u64,
    /// Pages read from storage.
    pub reads: u64,
    /// Pages written to storage.
    pub writes: u64,
}

impl Tally {
    /// Nothing counted, an empty system.
    pub fn new(partitions: usize) -> Self {
        Tally {
            since: Time::ZERO,
            arrivals: 0,
            completions: 0,
            accesses: 0,
            responses: Histogram::new(),
            response_sum: Span::ZERO,
            per_access_sum: 0.0,
            accounts: Accounts::default(),
            partitions: vec![PartitionTally::default(); partitions],
            short_messages: 0,
            long_messages: 0,
            page_requests: 0,
            page_request_sum: Span::ZERO,
            deadlocks: 0,
            swap_failures: 0,
            message_instructions: 0.0,
            gem_pages: 0,
            gem_entries: 0,
            behind_gem: 0,
            population: TimeWeighted::new(Time::ZERO, 0),
            population_at_start: 0,
        }
    }

    /// Starts measuring.
    pub fn reset(&mut self, now: Time) {
        *self = Tally {
            since: now,
            population: TimeWeighted::new(now, self.population.level()),
            population_at_start: self.population.level(),
            ..Tally::new(self.partitions.len())
        };
    }

    /// A transaction arrived.
    pub fn arrived(&mut self, now: Time) {
        self.arrivals += 1;
        self.population.set(now, self.population.level() + 1);
    }

    /// A transaction completed that arrived at `arrival` and made so many accesses.
    pub fn completed(&mut self, now: Time, arrival: Time, accesses: usize, accounts: &Accounts) {
        self.completions += 1;
        self.accesses += accesses as u64;
        self.population.set(now, self.population.level() - 1);
        let response = now - arrival;
        self.responses.add(response);
        self.response_sum += response;
        self.per_access_sum += response.as_seconds() / accesses.max(1) as f64;
        self.accounts.add(accounts);
        assert_eq!(accounts.total(), response, "every wait is booked, and once");
    }

    /// Transactions in the system now.
    pub fn in_system(&self) -> u64 {
        self.population.level()
    }

    /// Mean number of transactions in the system until `now`.
    pub fn mean_population(&self, now: Time) -> f64 {
        self.population.mean(now)
    }

    /// True if so many more are in the system than at the start that it cannot be chance; less is enough
    /// if some server was never idle.
    pub fn grows(&self, never_idle: bool) -> bool {
        let growth = self.population.level() as f64 - self.population_at_start as f64;
        let arrivals = self.arrivals as f64;
        let chance = if never_idle { 2.0 } else { 6.0 } * libm::sqrt(arrivals);
        growth > chance && growth > 0.02 * arrivals
    }
}
