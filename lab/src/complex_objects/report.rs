//! The measures of one run, as the DASDBS paper's figures show them.

use super::plan::{Parameter, Point};
use super::victims::Handling;
use super::window::Seen;
use super::worker::Found;
use crate::responses::Summary;

/// The measures of one strategy at one point.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// The strategy's name.
    pub strategy: &'static str,
    /// The varied parameter.
    pub over: Parameter,
    pub value: u32,
    /// All parameters.
    #[serde(flatten)]
    pub point: Point,
    /// The handling of deadlocks.
    #[serde(flatten)]
    pub handling: Handling,
    /// Transactions that ended within the window.
    pub transactions: u64,
    /// The time for which the window was open.
    pub seconds: f64,
    /// Throughput: transactions a second.
    pub per_second: f64,
    /// From the first begin of a transaction until its commit is acknowledged as durable, with all restarts. Zeros if
    /// none ended.
    pub response: Summary,
    /// The time that an average transaction waited for locks, in microseconds.
    pub lock_wait_microseconds: f64,
    /// Of it, for locks on pages (L0).
    pub page_lock_wait_microseconds: f64,
    /// Of it, for locks on subobjects (L1).
    pub object_lock_wait_microseconds: f64,
    /// Locks that an average transaction requested, on pages and on subobjects.
    pub lock_requests: f64,
    /// Lock waits over lock requests, from 0 to 1.
    pub conflict_rate: f64,
    /// Subtransactions undone and executed again, in all.
    pub restarts: u64,
    /// Transactions undone to end a deadlock and run again, in all.
    pub aborts: u64,
    /// The number of an average transaction's waits for the log to be on stable storage.
    pub forces: f64,
    /// The same per second.
    pub forces_per_second: f64,
    /// Synced writes of the log for an average transaction: the DASDBS paper's log I/Os. With group commit one may
    /// serve several waiting transactions.
    pub log_writes: f64,
    /// The same per second: the DASDBS paper's log I/O rate.
    pub log_writes_per_second: f64,
    /// Pages of an average force: without group commit, the DASDBS paper's pages per log I/O.
    pub pages_per_force: f64,
    /// Pages of an average write of the log.
    pub pages_per_write: f64,
    /// Pages of an average unit that was written atomically: for S2/PS, of a persistence sphere.
    pub sphere_pages: f64,
    /// The most pages of a unit.
    pub sphere_pages_max: u64,
    /// Bytes of log that an average transaction wrote, headers and padding included.
    pub log_bytes: f64,
    /// The time for which an average access held a processor, in microseconds: the requested time, and the delay of the
    /// wake-up.
    pub access_microseconds: f64,
}

impl Row {
    pub(super) fn new(
        strategy: &'static str,
        (over, value): (Parameter, u32),
        point: Point,
        handling: Handling,
        found: &Found,
    ) -> Row {
        let Seen {
            opened,
            closed,
            before,
            after,
        } = &found.seen;
        let counted = after.0.since(&before.0);
        let (works, worked) = (after.1.0 - before.1.0, after.1.1 - before.1.1);
        let seconds = (*closed - *opened).as_secs_f64();
        let transactions = found.response.count;
        let each = |count: f64| ratio(count, transactions as f64);
        let [pages, objects] = [counted.pages, counted.objects];
        let wait = |time: std::time::Duration| each(time.as_secs_f64() * 1e6);
        let requests = (pages.requests + objects.requests) as f64;
        Row {
            strategy,
            over,
            value,
            point,
            handling,
            transactions,
            seconds,
            per_second: ratio(transactions as f64, seconds),
            response: found.response,
            lock_wait_microseconds: wait(pages.wait_time + objects.wait_time),
            page_lock_wait_microseconds: wait(pages.wait_time),
            object_lock_wait_microseconds: wait(objects.wait_time),
            lock_requests: each(requests),
            conflict_rate: ratio((pages.waits + objects.waits) as f64, requests),
            restarts: counted.restarts,
            aborts: counted.deadlocks,
            forces: each(counted.forces as f64),
            forces_per_second: ratio(counted.forces as f64, seconds),
            log_writes: each(counted.log_writes as f64),
            log_writes_per_second: ratio(counted.log_writes as f64, seconds),
            pages_per_force: ratio(counted.pages_logged as f64, counted.forces as f64),
            pages_per_write: ratio(counted.pages_logged as f64, counted.log_writes as f64),
            sphere_pages: ratio(counted.pages_logged as f64, counted.units as f64),
            sphere_pages_max: counted.unit_pages_max,
            log_bytes: each(counted.log_bytes as f64),
            access_microseconds: ratio(worked as f64 / 1e3, works as f64),
        }
    }
}

/// A quotient; 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
