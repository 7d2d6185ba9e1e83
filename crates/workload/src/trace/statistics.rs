//! The properties of a trace: sizes, shares and skew, in total, per transaction type and per
//! partition.
//!
//! The same figures as the GEM paper gives of its real-life workload (section 4.6), and those on
//! which a model of locks and buffers depends. These are the distinct pages per transaction, which
//! are its page locks, and the share of the accesses on the hottest pages.

use super::{Header, Trace, View};
use crate::reference::PageReference;
use serde::Serialize;
use std::collections::HashMap;

/// The figures of a trace. Shares are from 0 to 1; shares of nothing are 0.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Statistics {
    /// Counts all of the trace.
    pub transactions: u64,
    /// Record accesses: references, repeated ones included.
    pub accesses: u64,
    /// Accesses that write.
    pub writes: u64,
    /// Transactions that write.
    pub updates: u64,
    /// Accesses of the largest transaction.
    pub largest: u64,
    /// Distinct pages of every transaction, summed: its page locks.
    pub locks: u64,
    /// Distinct pages of every transaction that it writes, summed.
    pub write_locks: u64,
    /// Distinct pages in the whole trace.
    pub distinct_pages: u64,
    /// The size that the header states.
    pub database_pages: u64,
    /// The same in bytes.
    pub database_bytes: u64,
    /// The transaction types, by number.
    pub types: Vec<TypeStatistics>,
    /// In the order of their numbers.
    pub partitions: Vec<PartitionStatistics>,
}

/// The figures of a transaction type.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TypeStatistics {
    /// As the header has it.
    pub name: String,
    /// Counts those of this type.
    pub transactions: u64,
    /// Record accesses.
    pub accesses: u64,
    /// Accesses that write.
    pub writes: u64,
    /// Transactions that write.
    pub updates: u64,
    /// Accesses of the largest transaction.
    pub largest: u64,
    /// Distinct pages of every transaction, summed.
    pub locks: u64,
}

/// The figures of a partition.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct PartitionStatistics {
    /// As the header has it.
    pub name: String,
    /// Its size in pages.
    pub pages: u64,
    /// Record accesses.
    pub accesses: u64,
    /// Accesses that write.
    pub writes: u64,
    /// Distinct pages that were accessed.
    pub distinct_pages: u64,
    /// Share of the accesses that goes to the hottest 1% of the distinct pages (at least one page).
    pub hottest_1_percent: f64,
    /// Share of the accesses that goes to the hottest 10% of the distinct pages (at least one).
    pub hottest_10_percent: f64,
}

impl Statistics {
    /// The figures of a trace in memory.
    pub fn of(trace: &Trace) -> Self {
        let mut gatherer = Gatherer::new(trace.header());
        trace
            .iter()
            .for_each(|transaction| gatherer.add(transaction));
        gatherer.finish()
    }

    /// Share of the transactions that write.
    pub fn update_share(&self) -> f64 {
        share(self.updates, self.transactions)
    }

    /// Share of the accesses that write.
    pub fn write_share(&self) -> f64 {
        share(self.writes, self.accesses)
    }

    /// Accesses per transaction.
    pub fn mean_accesses(&self) -> f64 {
        share(self.accesses, self.transactions)
    }

    /// Distinct pages per transaction.
    pub fn mean_locks(&self) -> f64 {
        share(self.locks, self.transactions)
    }
}

/// One number over another; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Gathers the figures transaction by transaction.
///
/// Takes memory for every distinct page of the trace (some 20 bytes), not for the trace.
#[derive(Clone, Debug)]
pub struct Gatherer {
    statistics: Statistics,
    /// Accesses of every page.
    pages: HashMap<u64, u64>,
    distinct: DistinctPages,
}

impl Gatherer {
    /// Nothing yet of a trace with this header.
    pub fn new(header: &Header) -> Self {
        let types = header.types().iter().map(|name| TypeStatistics {
            name: name.clone(),
            ..TypeStatistics::default()
        });
        let partitions = header.partitions().iter().map(|one| PartitionStatistics {
            name: one.name.clone(),
            pages: one.pages,
            ..PartitionStatistics::default()
        });
        let statistics = Statistics {
            transactions: 0,
            accesses: 0,
            writes: 0,
            updates: 0,
            largest: 0,
            locks: 0,
            write_locks: 0,
            distinct_pages: 0,
            database_pages: header.pages(),
            database_bytes: header.pages() * u64::from(header.page_bytes()),
            types: types.collect(),
            partitions: partitions.collect(),
        };
        Gatherer {
            statistics,
            pages: HashMap::new(),
            distinct: DistinctPages::default(),
        }
    }

    /// Adds a transaction of the trace.
    ///
    /// # Panics
    /// If the header does not have its type or a partition of it; readers have checked that.
    pub fn add(&mut self, transaction: View<'_>) {
        let accesses = transaction.references.len() as u64;
        let mut writes = 0;
        for reference in transaction.references {
            let partition = &mut self.statistics.partitions[usize::from(reference.page.partition)];
            let write = u64::from(reference.access.is_write());
            partition.accesses += 1;
            partition.writes += write;
            writes += write;
            *self.pages.entry(reference.page.to_u64()).or_default() += 1;
        }
        let locks = self.distinct.of(transaction.references);
        let (count, write_locks) = (
            locks.len(),
            locks.iter().filter(|lock| lock.is_write).count(),
        );
        let all = &mut self.statistics;
        all.transactions += 1;
        all.accesses += accesses;
        all.writes += writes;
        all.updates += u64::from(writes > 0);
        all.largest = all.largest.max(accesses);
        all.locks += count as u64;
        all.write_locks += write_locks as u64;
        let kind = &mut all.types[usize::from(transaction.kind)];
        kind.transactions += 1;
        kind.accesses += accesses;
        kind.writes += writes;
        kind.updates += u64::from(writes > 0);
        kind.largest = kind.largest.max(accesses);
        kind.locks += count as u64;
    }

    /// The figures of all that was added.
    pub fn finish(mut self) -> Statistics {
        let mut counts = vec![Vec::new(); self.statistics.partitions.len()];
        for (page, count) in self.pages {
            counts[(page >> 32) as usize].push(count);
        }
        for (partition, mut counts) in self.statistics.partitions.iter_mut().zip(counts) {
            counts.sort_unstable_by(|one, other| other.cmp(one));
            let hottest = |part: usize| {
                let pages = counts.len().div_ceil(part);
                share(counts[..pages].iter().sum(), partition.accesses)
            };
            partition.hottest_1_percent = hottest(100);
            partition.hottest_10_percent = hottest(10);
            partition.distinct_pages = counts.len() as u64;
        }
        let distinct = self
            .statistics
            .partitions
            .iter()
            .map(|one| one.distinct_pages);
        self.statistics.distinct_pages = distinct.sum();
        self.statistics
    }
}

/// A lock that a transaction needs: a page, in the strongest mode in which it is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageLock {
    /// The page, as [`crate::reference::PageNumber::to_u64`].
    pub page: u64,
    pub is_write: bool,
}

/// Finds the distinct pages of transaction after transaction, in the same memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct DistinctPages {
    locks: Vec<PageLock>,
    places: HashMap<u64, usize>,
}

impl DistinctPages {
    /// The locks that these references need, in the order in which their pages come first.
    pub fn of(&mut self, references: &[PageReference]) -> &[PageLock] {
        self.locks.clear();
        self.places.clear();
        for reference in references {
            let page = reference.page.to_u64();
            let is_write = reference.access.is_write();
            let place = *self.places.entry(page).or_insert(self.locks.len());
            match self.locks.get_mut(place) {
                Some(lock) => lock.is_write |= is_write,
                None => self.locks.push(PageLock { page, is_write }),
            }
        }
        &self.locks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "sardonyx-trace 1\npage-bytes 4096\ntype look\ntype change\ntype never\n\
        partition hot 10\npartition cold 1000\n\
        transaction look\nr hot 1 1 1 1\nr cold 7\n\
        transaction change\nr hot 1 2\nw hot 2\nw cold 8 9\n\
        transaction look\nr hot 1\nend\n";

    #[test]
    fn a_small_trace_has_the_figures_counted_by_hand() {
        let trace = Trace::read(SMALL.as_bytes(), "small").unwrap();
        let all = Statistics::of(&trace);
        assert_eq!((all.transactions, all.updates, all.largest), (3, 1, 5));
        assert_eq!((all.accesses, all.writes), (11, 3));
        assert_eq!((all.locks, all.write_locks, all.distinct_pages), (7, 3, 5));
        assert_eq!(
            (all.database_pages, all.database_bytes),
            (1010, 1010 * 4096)
        );
        assert_eq!(all.update_share(), 1.0 / 3.0);
        assert_eq!(all.write_share(), 3.0 / 11.0);
        assert_eq!(all.mean_locks(), 7.0 / 3.0);
        let look = &all.types[0];
        assert_eq!((look.transactions, look.accesses, look.locks), (2, 6, 3));
        assert_eq!((look.updates, look.writes, look.largest), (0, 0, 5));
        assert_eq!(all.types[2].transactions, 0);
        let hot = &all.partitions[0];
        assert_eq!((hot.accesses, hot.writes, hot.distinct_pages), (8, 1, 2));
        assert_eq!(
            (hot.hottest_1_percent, hot.hottest_10_percent),
            (0.75, 0.75)
        );
    }

    #[test]
    fn a_trace_of_nothing_has_no_shares() {
        let empty = "sardonyx-trace 1\npage-bytes 1\ntype t\npartition p 1\nend\n";
        let all = Statistics::of(&Trace::read(empty.as_bytes(), "empty").unwrap());
        assert_eq!((all.update_share(), all.mean_accesses()), (0.0, 0.0));
        assert_eq!(all.partitions[0].hottest_1_percent, 0.0);
    }

    #[test]
    fn a_page_that_is_read_and_written_is_one_write_lock() {
        let trace = Trace::read(SMALL.as_bytes(), "small").unwrap();
        let mut distinct = DistinctPages::default();
        let locks = distinct.of(trace.get(1).unwrap().references).to_vec();
        let modes: Vec<_> = locks
            .iter()
            .map(|lock| (lock.page, lock.is_write))
            .collect();
        let cold = 1 << 32;
        assert_eq!(
            modes,
            [(1, false), (2, true), (cold | 8, true), (cold | 9, true)]
        );
    }
}
