//! Counts and response times of nodes under load, of one node as its process reports them, and of all
//! together.

use hdrhistogram::Histogram;
use sardonyx_sharing::node::NodeStatistics;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest response time that is distinguished from longer ones.
const LONGEST: u64 = 3_600_000_000_000;

/// Counts of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the names are those of the protocol's counters"
)]
pub struct Counts {
    /// Transactions that changed something and are durable.
    pub committed: u64,
    /// Transactions that were run again after a deadlock.
    pub rerun: u64,
    /// Pages granted that the buffer had.
    pub hits: u64,
    /// Pages granted that had to be fetched.
    pub misses: u64,
    pub lock_requests: u64,
    pub already_held: u64,
    pub authorised: u64,
    pub local: u64,
    pub conflicts: u64,
    pub invalidations: u64,
    pub page_requests: u64,
    pub page_misses: u64,
    pub entry_reads: u64,
    pub entry_swaps: u64,
    pub swap_failures: u64,
    pub short_messages: u64,
    pub long_messages: u64,
    pub probes: u64,
}

impl Counts {
    /// A node's counts so far.
    pub fn of(done: &NodeStatistics) -> Self {
        let protocol = &done.protocol;
        Counts {
            committed: done.committed,
            rerun: done.rerun,
            hits: done.hits,
            misses: done.misses,
            lock_requests: protocol.lock_requests,
            already_held: protocol.already_held,
            authorised: protocol.authorised,
            local: protocol.local,
            conflicts: protocol.conflicts,
            invalidations: protocol.invalidations,
            page_requests: protocol.page_requests,
            page_misses: protocol.page_misses,
            entry_reads: protocol.entry_reads,
            entry_swaps: protocol.entry_swaps,
            swap_failures: protocol.swap_failures,
            short_messages: protocol.short_messages,
            long_messages: protocol.long_messages,
            probes: protocol.probes,
        }
    }

    fn zip(self, other: Counts, of: impl Fn(u64, u64) -> u64) -> Counts {
        Counts {
            committed: of(self.committed, other.committed),
            rerun: of(self.rerun, other.rerun),
            hits: of(self.hits, other.hits),
            misses: of(self.misses, other.misses),
            lock_requests: of(self.lock_requests, other.lock_requests),
            already_held: of(self.already_held, other.already_held),
            authorised: of(self.authorised, other.authorised),
            local: of(self.local, other.local),
            conflicts: of(self.conflicts, other.conflicts),
            invalidations: of(self.invalidations, other.invalidations),
            page_requests: of(self.page_requests, other.page_requests),
            page_misses: of(self.page_misses, other.page_misses),
            entry_reads: of(self.entry_reads, other.entry_reads),
            entry_swaps: of(self.entry_swaps, other.entry_swaps),
            swap_failures: of(self.swap_failures, other.swap_failures),
            short_messages: of(self.short_messages, other.short_messages),
            long_messages: of(self.long_messages, other.long_messages),
            probes: of(self.probes, other.probes),
        }
    }

    /// The counts since then.
    pub fn since(self, before: Counts) -> Counts {
        self.zip(before, u64::saturating_sub)
    }

    /// Both together.
    pub fn and(self, other: Counts) -> Counts {
        self.zip(other, |one, two| one + two)
    }
}

/// Response times, in the form in which they are sent and added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Times in nanoseconds, and the number of each.
    counted: Vec<(u64, u64)>,
    sum_nanoseconds: u64,
    longest_nanoseconds: u64,
}

/// Response times that are being collected.
#[derive(Clone, Debug)]
pub struct Collected {
    histogram: Histogram<u64>,
    sum: Duration,
    longest: Duration,
}

impl Collected {
    /// None yet.
    pub fn new() -> Self {
        Collected {
            histogram: Histogram::new_with_bounds(1, LONGEST, 3)
                .expect("constant bounds with three digits are valid"),
            sum: Duration::ZERO,
            longest: Duration::ZERO,
        }
    }

    /// One more.
    pub fn add(&mut self, time: Duration) {
        let nanoseconds = (time.as_nanos() as u64).clamp(1, LONGEST);
        self.histogram.saturating_record(nanoseconds);
        self.sum += time;
        self.longest = self.longest.max(time);
    }

    /// The form to send.
    pub fn told(&self) -> Times {
        let counted = self.histogram.iter_recorded();
        Times {
            counted: counted
                .map(|one| (one.value_iterated_to(), one.count_at_value()))
                .collect(),
            sum_nanoseconds: self.sum.as_nanos() as u64,
            longest_nanoseconds: self.longest.as_nanos() as u64,
        }
    }

    /// Adds received ones.
    pub fn merge(&mut self, times: &Times) {
        for &(nanoseconds, count) in &times.counted {
            self.histogram.saturating_record_n(nanoseconds, count);
        }
        self.sum += Duration::from_nanos(times.sum_nanoseconds);
        let longest = Duration::from_nanos(times.longest_nanoseconds);
        self.longest = self.longest.max(longest);
    }

    /// Counts the collected times.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The figures.
    pub fn responses(&self) -> Responses {
        let quantile = |share| self.histogram.value_at_quantile(share) as f64 / 1e6;
        Responses {
            mean_milliseconds: 1e3 * self.sum.as_secs_f64() / self.count().max(1) as f64,
            p50_milliseconds: quantile(0.5),
            p95_milliseconds: quantile(0.95),
            p99_milliseconds: quantile(0.99),
            longest_milliseconds: 1e3 * self.longest.as_secs_f64(),
        }
    }
}

impl Default for Collected {
    fn default() -> Self {
        Collected::new()
    }
}

/// Response times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Responses {
    /// The average of all.
    pub mean_milliseconds: f64,
    /// Half took no longer.
    pub p50_milliseconds: f64,
    /// 95% took no longer.
    pub p95_milliseconds: f64,
    /// 99% took no longer.
    pub p99_milliseconds: f64,
    /// The slowest one.
    pub longest_milliseconds: f64,
}

/// The report of a node's process after a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRun {
    /// The place of the node.
    pub slot: u16,
    /// Seconds measured.
    pub seconds: f64,
    /// Transactions that ended in them.
    pub completed: u64,
    /// All transactions of the load that were acknowledged, those before and after the measured time, too.
    pub acknowledged: u64,
    /// Its counts from the first to the last measured transaction.
    pub counts: Counts,
    /// Response times.
    pub times: Times,
    /// Seconds of processor time, of all its threads.
    pub processor_seconds: f64,
}

/// Counts per transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerTransaction {
    /// Messages sent, without those that search for deadlocks.
    pub messages: f64,
    /// Entries of the global lock table read or swapped.
    pub entry_accesses: f64,
    /// Pages asked of their owner.
    pub page_requests: f64,
    /// Lock requests granted on the node itself, as a share of all.
    pub local_share: f64,
    /// Pages found in the buffer, as a share of all granted.
    pub hit_ratio: f64,
    /// Lock requests that waited for another transaction.
    pub conflicts: f64,
    /// Copies in the buffer that were found invalidated.
    pub invalidations: f64,
    /// Transactions that were run again after one.
    pub deadlocks: f64,
    /// Microseconds of processor time.
    pub processor_microseconds: f64,
}

impl PerTransaction {
    fn of(counts: &Counts, processor_seconds: f64) -> Self {
        let transactions = counts.committed.max(1) as f64;
        let each = |count: u64| count as f64 / transactions;
        let share = |part: u64, whole: u64| match whole {
            0 => 0.0,
            _ => part as f64 / whole as f64,
        };
        let requests = counts.lock_requests - counts.already_held;
        PerTransaction {
            messages: each(counts.short_messages + counts.long_messages - counts.probes),
            entry_accesses: each(counts.entry_reads + counts.entry_swaps),
            page_requests: each(counts.page_requests),
            local_share: share(counts.local + counts.authorised, requests),
            hit_ratio: share(counts.hits, counts.hits + counts.misses),
            conflicts: each(counts.conflicts),
            invalidations: each(counts.invalidations),
            deadlocks: each(counts.rerun),
            processor_microseconds: 1e6 * processor_seconds / transactions,
        }
    }
}

/// The figures of one node, or of all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFigures {
    /// Transactions per second.
    pub throughput: f64,
    /// Response times.
    pub responses: Responses,
    /// Divided by the durable transactions.
    pub each: PerTransaction,
    /// As they were counted.
    pub counts: Counts,
}

impl RunFigures {
    /// Of some nodes.
    pub fn of(nodes: &[NodeRun]) -> Self {
        let mut collected = Collected::new();
        let mut counts = Counts::default();
        let (mut throughput, mut processor) = (0.0, 0.0);
        for node in nodes {
            collected.merge(&node.times);
            counts = counts.and(node.counts);
            throughput += node.completed as f64 / node.seconds.max(1e-9);
            processor += node.processor_seconds;
        }
        RunFigures {
            throughput,
            responses: collected.responses(),
            each: PerTransaction::of(&counts, processor),
            counts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_told_and_merged_are_those_that_were_collected() {
        let (mut one, mut other) = (Collected::new(), Collected::new());
        let mut both = Collected::new();
        for n in 1..=1000 {
            let time = Duration::from_micros(n);
            both.add(time);
            if n % 3 == 0 {
                one.add(time)
            } else {
                other.add(time)
            }
        }
        let mut merged = Collected::new();
        merged.merge(&one.told());
        merged.merge(&other.told());
        assert_eq!(merged.count(), 1000);
        let (merged, both) = (merged.responses(), both.responses());
        assert_eq!(merged.longest_milliseconds, 1.0);
        assert!((merged.mean_milliseconds - both.mean_milliseconds).abs() < 1e-9);
        assert!((merged.p95_milliseconds / both.p95_milliseconds - 1.0).abs() < 0.002);
    }

    #[test]
    fn what_happened_per_transaction_is_what_came_over_what_committed() {
        let before = Counts {
            committed: 10,
            entry_reads: 7,
            ..Counts::default()
        };
        let after = Counts {
            committed: 14,
            entry_reads: 15,
            entry_swaps: 8,
            hits: 3,
            misses: 1,
            short_messages: 6,
            probes: 2,
            lock_requests: 4,
            already_held: 2,
            authorised: 1,
            ..Counts::default()
        };
        let each = PerTransaction::of(&after.since(before), 4e-6);
        assert_eq!((each.entry_accesses, each.messages), (4.0, 1.0));
        assert_eq!((each.hit_ratio, each.local_share), (0.75, 0.5));
        assert_eq!(each.processor_microseconds, 1.0);
    }
}
