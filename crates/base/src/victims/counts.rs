//! The acknowledged transactions of workers, and the judge of what is found after a kill.

use super::report::Report;
use super::witness::Hear;
use std::collections::BTreeMap;
use thiserror::Error;

/// A count that no kill may leave.
#[derive(Clone, PartialEq, Eq, Error, Debug)]
#[error(
    "{acknowledged} transactions of worker {worker} were acknowledged, at most {open} more were under way, and {found} were found"
)]
pub struct Lost {
    /// The worker's number.
    pub worker: u64,
    /// Its acknowledged transactions.
    pub acknowledged: u64,
    /// Its transactions that may have been under way.
    pub open: u64,
    /// The found ones.
    pub found: u64,
}

/// The number of acknowledged transactions of each worker.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    counts: BTreeMap<u64, u64>,
    is_each: bool,
}

impl Counts {
    /// Counts of workers that report every transaction: a report that skips one is an error.
    pub fn of_each() -> Counts {
        let is_each = true;
        Counts {
            is_each,
            ..Counts::default()
        }
    }

    /// The number of acknowledged transactions of a worker; 0 if it reported none.
    pub fn of(&self, worker: u64) -> u64 {
        self.counts.get(&worker).copied().unwrap_or_default()
    }

    /// The counts of the first so many workers.
    pub fn first(&self, workers: u64) -> Vec<u64> {
        (0..workers).map(|worker| self.of(worker)).collect()
    }

    /// The sum over some workers.
    pub fn sum(&self, workers: impl IntoIterator<Item = u64>) -> u64 {
        workers.into_iter().map(|worker| self.of(worker)).sum()
    }

    /// The sum over all workers.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The next database: nothing is acknowledged.
    pub fn clear(&mut self) {
        self.counts.clear();
    }

    /// Judges the transactions of a worker that are found, of which `open` may have been under way. The found ones count
    /// from then on: the worker continues after them.
    ///
    /// # Errors
    /// An acknowledged one is missing, or there are more than it can have begun.
    pub fn settle(&mut self, worker: u64, found: u64, open: u64) -> Result<(), Lost> {
        let acknowledged = self.of(worker);
        if !(acknowledged..=acknowledged + open).contains(&found) {
            return Err(Lost {
                worker,
                acknowledged,
                open,
                found,
            });
        }
        self.counts.insert(worker, found);
        Ok(())
    }
}

impl Hear for Counts {
    fn hear(&mut self, report: Report) -> Result<(), String> {
        match report {
            Report::Acknowledged { worker, count } => {
                let before = self.of(worker);
                if count <= before || self.is_each && count > before + 1 {
                    return Err(format!(
                        "worker {worker} acknowledged {count} transactions, and {before} before"
                    ));
                }
                self.counts.insert(worker, count);
                Ok(())
            }
            Report::Begins { worker, count } => {
                let settled = self.settle(worker, count, 1);
                settled.map_err(|lost| format!("when it began again: {lost}"))
            }
            Report::Line(_) => Ok(()),
        }
    }
}
