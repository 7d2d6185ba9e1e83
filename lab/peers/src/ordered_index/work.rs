//! The loads, and one thread's part in one.

use super::engine::Session;
use super::entry::{Entry, Key, Order, key, value};
use sardonyx_benchmark::responses::Responses;
use sardonyx_lab::Failure;
use sardonyx_workload::random::Random;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub const SCAN_ENTRIES: usize = 100;

/// The transactions of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Work {
    /// Insert entries, durably.
    Insert {
        /// The order of the keys.
        order: Order,
        /// The number in a transaction.
        batch: usize,
    },
    /// Get the values of random existing keys.
    Get {
        /// The number in a transaction.
        batch: usize,
    },
    /// Get [`SCAN_ENTRIES`] entries from a random key on.
    Scan,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 7] = [
        Work::insert(Order::Sorted, 1),
        Work::insert(Order::Sorted, 100),
        Work::insert(Order::Random, 1),
        Work::insert(Order::Random, 100),
        Work::Get { batch: 1 },
        Work::Get { batch: 100 },
        Work::Scan,
    ];

    const fn insert(order: Order, batch: usize) -> Work {
        Work::Insert { order, batch }
    }

    /// In words.
    pub fn name(self) -> String {
        match self {
            Work::Insert { order, batch } => {
                let order = match order {
                    Order::Sorted => "sorted",
                    Order::Random => "random",
                };
                format!("{order} inserts, {batch} in a durable transaction")
            }
            Work::Get { batch } => format!("random gets, {batch} in a transaction"),
            Work::Scan => format!("scans of {SCAN_ENTRIES} entries"),
        }
    }

    /// The order of the initial entries.
    pub(super) fn order(self) -> Order {
        match self {
            Work::Insert { order, .. } => order,
            Work::Get { .. } | Work::Scan => Order::Random,
        }
    }

    /// The number of entries of a transaction.
    pub(super) fn entries(self) -> u64 {
        match self {
            Work::Insert { batch, .. } | Work::Get { batch } => batch as u64,
            Work::Scan => SCAN_ENTRIES as u64,
        }
    }
}

/// The state that the threads of a cell share.
pub(super) struct Task<'a> {
    pub(super) work: Work,
    pub(super) seed: u64,
    /// The number of initial entries.
    pub(super) preload: u64,
    /// The number of the next entry to be inserted.
    pub(super) next: &'a AtomicU64,
    pub(super) time: Duration,
    /// If given, so many transactions instead.
    pub(super) transactions: Option<u64>,
}

/// The outcome of one thread.
pub(super) struct Outcome {
    pub(super) responses: Responses,
    pub(super) elapsed: Duration,
}

impl Task<'_> {
    /// One thread's part.
    pub(super) fn run(&self, thread: u64, session: &mut dyn Session) -> Result<Outcome, Failure> {
        let mut random = Random::new(self.seed ^ (thread + 1) << 32);
        let mut responses = Responses::new();
        let (mut entries, mut keys) = (Vec::new(), Vec::new());
        let start = Instant::now();
        loop {
            let took = match self.work {
                Work::Insert { order, batch } => {
                    let first = self.next.fetch_add(batch as u64, Ordering::Relaxed);
                    let numbers = first..first + batch as u64;
                    entries.clear();
                    entries.extend(numbers.map(|number| entry(self.seed, order, number)));
                    timed(|| session.insert(&entries))?
                }
                Work::Get { batch } => {
                    keys.clear();
                    keys.extend((0..batch).map(|_| self.random_key(&mut random)));
                    timed(|| session.get(&keys, &mut right))?
                }
                Work::Scan => {
                    let from = self.random_key(&mut random);
                    timed(|| scan(session, &from))?
                }
            };
            responses.record_n(took, 1);
            let elapsed = start.elapsed();
            let over = match self.transactions {
                Some(transactions) => responses.count() >= transactions,
                None => elapsed >= self.time,
            };
            if over {
                return Ok(Outcome { responses, elapsed });
            }
        }
    }

    fn random_key(&self, random: &mut Random) -> Key {
        key(self.seed, self.work.order(), random.below(self.preload))
    }
}

pub(super) fn entry(seed: u64, order: Order, number: u64) -> Entry {
    let key = key(seed, order, number);
    (key, value(&key))
}

fn timed(body: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let begun = Instant::now();
    body()?;
    Ok(begun.elapsed())
}

/// Checks that a value is the one of its key.
fn right(of: &Key, found: Option<&[u8]>) -> Result<(), Failure> {
    if found == Some(&value(of)[..]) {
        return Ok(());
    }
    Err(format!("the value of key {of:02x?} is not the one that was inserted").into())
}

/// Gets entries from an existing key on, and checks each key and the first value; all values are compared after
/// inserts.
fn scan(session: &mut dyn Session, from: &Key) -> Result<(), Failure> {
    let mut last: Option<Key> = None;
    session.scan(from, SCAN_ENTRIES, &mut |key, found| {
        let in_order = match last {
            None => key == from && found == value(key),
            Some(last) => key > &last[..],
        };
        if !in_order {
            return Err(format!("a scan from {from:02x?} came to {key:02x?}").into());
        }
        last = Some(key.try_into()?);
        Ok(())
    })
}
