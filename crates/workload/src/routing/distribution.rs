//! The reference distribution: which transaction type locks pages of which fragment how often.
//!
//! A *fragment* is a contiguous range of pages of one partition, the unit in which lock authority is given
//! away. Ranges are a power of two pages long, as small as gives at most a set number of fragments per
//! partition. So a small hot partition is split to the page, and a page's fragment is found by a shift.

use crate::reference::PageNumber;
use crate::trace::Trace;
use crate::trace::statistics::DistinctPages;

/// The cut of the partitions into fragments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FragmentLayout {
    partitions: Vec<Cut>,
    count: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Cut {
    /// The number of the first fragment.
    first: usize,
    pages: u64,
    /// A fragment has 2^shift pages; the last may have fewer.
    shift: u32,
}

impl FragmentLayout {
    /// Cuts partitions of so many pages into at most `most` fragments each (at least one).
    pub fn new(pages: impl IntoIterator<Item = u64>, most: usize) -> Self {
        let most = most.max(1) as u64;
        let size = |pages: u64| {
            let shift = (0..63).find(|&shift| pages.div_ceil(1 << shift) <= most);
            (pages, 1 << shift.unwrap_or(63))
        };
        FragmentLayout::of_cuts(pages.into_iter().map(size))
    }

    /// Cuts partitions of so many pages into fragments of so many pages, powers of two.
    pub(super) fn of_cuts(sizes: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut count = 0;
        let cut = |(pages, fragment_pages): (u64, u64)| {
            let shift = fragment_pages.trailing_zeros();
            let first = count;
            count += pages.div_ceil(1 << shift) as usize;
            Cut {
                first,
                pages,
                shift,
            }
        };
        let partitions = sizes.into_iter().map(cut).collect();
        FragmentLayout { partitions, count }
    }

    /// Over all partitions.
    pub fn count(&self) -> usize {
        self.count
    }

    /// As in the trace's header.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// The size of a partition in pages, and of its fragments.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn sizes(&self, partition: usize) -> (u64, u64) {
        let cut = &self.partitions[partition];
        (cut.pages, 1 << cut.shift)
    }

    /// The fragments of a partition.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn fragments(&self, partition: usize) -> std::ops::Range<usize> {
        let first = self.partitions[partition].first;
        let next = self.partitions.get(partition + 1);
        first..next.map_or(self.count, |next| next.first)
    }

    /// The fragment of a page; none if there is no such page.
    #[inline]
    pub fn fragment(&self, page: PageNumber) -> Option<usize> {
        let cut = self.partitions.get(usize::from(page.partition))?;
        let number = u64::from(page.page);
        (number < cut.pages).then(|| cut.first + (number >> cut.shift) as usize)
    }
}

/// The work of a transaction beside its accesses, in accesses. Its begin and end take as many instructions as
/// nine of them (GEM paper, Table 4.1: 20,000 and 25,000 to 5,000).
const WORK_OF_A_TRANSACTION: f64 = 9.0;

/// The input of the heuristics: the load of each type, and its lock requests by fragment.
#[derive(Clone, PartialEq, Debug)]
pub struct ReferenceDistribution {
    layout: FragmentLayout,
    /// The work of each type, in record accesses, to which its CPU time is proportional.
    work: Vec<f64>,
    /// For each type the fragments it references, ascending, with the lock requests there.
    locks: Vec<Vec<(usize, f64)>>,
}

impl ReferenceDistribution {
    /// Fragments per partition that suit up to `nodes` nodes: enough to share each partition out.
    pub fn fragments_for(nodes: u16) -> usize {
        (usize::from(nodes) * 4).clamp(1_024, 4_096)
    }

    /// Counts a trace: its work by type, and its lock requests (distinct pages of each
    /// transaction) by type and fragment. At most `fragments` fragments per partition.
    pub fn of_trace(trace: &Trace, fragments: usize) -> Self {
        let header = trace.header();
        let layout =
            FragmentLayout::new(header.partitions().iter().map(|one| one.pages), fragments);
        let types = header.types().len();
        let mut work = vec![0.0; types];
        let mut counts = vec![std::collections::BTreeMap::new(); types];
        let mut distinct = DistinctPages::default();
        for transaction in trace.iter() {
            let kind = usize::from(transaction.kind);
            work[kind] += transaction.references.len() as f64 + WORK_OF_A_TRANSACTION;
            for lock in distinct.of(transaction.references) {
                let page = PageNumber::from_u64(lock.page);
                if let Some(fragment) = page.and_then(|page| layout.fragment(page)) {
                    *counts[kind].entry(fragment).or_insert(0.0) += 1.0;
                }
            }
        }
        ReferenceDistribution {
            layout,
            work,
            locks: counts
                .into_iter()
                .map(|one| one.into_iter().collect())
                .collect(),
        }
    }

    /// The division of the partitions.
    pub fn layout(&self) -> &FragmentLayout {
        &self.layout
    }

    /// As in the trace's header.
    pub fn types(&self) -> usize {
        self.work.len()
    }

    /// The share of the load that each type has; equal shares if there is no load at all.
    pub fn loads(&self) -> Vec<f64> {
        let total: f64 = self.work.iter().sum();
        let share = |work: &f64| {
            if total > 0.0 {
                work / total
            } else {
                1.0 / self.work.len() as f64
            }
        };
        self.work.iter().map(share).collect()
    }

    /// The fragments that a type references, ascending, with its lock requests there.
    pub fn locks(&self, kind: usize) -> &[(usize, f64)] {
        &self.locks[kind]
    }

    /// All lock requests.
    pub fn total_locks(&self) -> f64 {
        self.locks.iter().flatten().map(|(_, locks)| locks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_cover_every_page_once_and_in_order() {
        let layout = FragmentLayout::new([1, 100, 1 << 32], 16);
        assert_eq!(layout.fragments(0), 0..1);
        assert_eq!(layout.sizes(1), (100, 8));
        assert_eq!(layout.fragments(1), 1..14);
        assert_eq!(layout.fragments(2), 14..30);
        assert_eq!(layout.count(), 30);
        let of = |partition, page| layout.fragment(PageNumber::new(partition, page));
        assert_eq!((of(0, 0), of(0, 1)), (Some(0), None));
        assert_eq!(
            (of(1, 7), of(1, 8), of(1, 99), of(1, 100)),
            (Some(1), Some(2), Some(13), None)
        );
        assert_eq!((of(2, u32::MAX), of(3, 0)), (Some(29), None));
    }

    #[test]
    fn a_distribution_counts_accesses_and_distinct_pages() {
        let text = "sardonyx-trace 1\npage-bytes 4096\ntype a\ntype b\npartition p 10\n\
            transaction a\nr p 1 1 9\ntransaction a\nr p 1\ntransaction b\nr p 0 0 0 0\nend\n";
        let trace = Trace::read(text.as_bytes(), "small").unwrap();
        let distribution = ReferenceDistribution::of_trace(&trace, 5);
        // Two transactions with four accesses together, and one with four.
        assert_eq!(distribution.loads(), [22.0 / 35.0, 13.0 / 35.0]);
        assert_eq!(distribution.locks(0), [(0, 2.0), (4, 1.0)]);
        assert_eq!(distribution.locks(1), [(0, 1.0)]);
        assert_eq!(distribution.total_locks(), 4.0);
    }
}
