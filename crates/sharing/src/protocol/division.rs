//! The division of the pages into *parts*, each of which has one lock authority (primary copy locking; GEM paper,
//! section 3.2). It is by a hash of their numbers, or by places, so that the authority is where transactions are sent.
//!
//! A *place* is where a node runs, life after life: what a routing names. If the pages are divided by places, each
//! place is the *home* of [`PARTS_OF_A_PLACE`] parts. Several others can share these when the place has no node. A part
//! is a set of runs of pages. The [`Assignment`](super::Assignment) has the authority for each part.
//!
//! Invariants: each page has one part; runs ascend, and the first begins with page 0. Bounds (I10): [`PARTS_MAX`],
//! [`RUNS_MAX`].

use super::PageId;
use sardonyx_base::hash::scattered;
use std::ops::Range;
use std::sync::Arc;

/// So many parts there may be at most.
pub const PARTS_MAX: u16 = 4096;

/// Parts whose home is the same place.
pub const PARTS_OF_A_PLACE: u16 = 8;

/// The most runs of pages: every node gets them with every change of the members.
pub const RUNS_MAX: usize = 1 << 15;

/// Why pages cannot be divided so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DivisionError {
    /// The runs do not begin with page 0, or do not ascend.
    #[error(
        "the run of pages from {page} on follows none before it: runs ascend, and the first begins with page 0"
    )]
    Order {
        /// The first page of the run.
        page: u64,
    },
    /// Too many of them.
    #[error(
        "{runs} runs of pages have places of their own, and {RUNS_MAX} may: divide in larger fragments"
    )]
    Runs {
        /// Counts the given runs.
        runs: usize,
    },
    /// A place or a part that cannot be.
    #[error("place {place} has pages, and places are below {most}", most = PARTS_MAX / PARTS_OF_A_PLACE)]
    Place {
        /// A place beyond the last one.
        place: u16,
    },
}

/// The division of the pages into parts. Without parts: not at all, as with GEM locking.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Division {
    parts: u16,
    /// The first page of each run, and its part; empty: pages are spread by a hash.
    runs: Arc<[(PageId, u16)]>,
}

/// The pages of a part, for a receiver that has the pages and not the division.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartPages {
    /// This one of several parts among which all pages are spread.
    Spread {
        /// Pages are spread over so many by a hash.
        parts: u16,
        /// From 0, below `parts`.
        part: u16,
    },
    /// Ascending ranges, each without its end.
    Runs(Vec<Range<u64>>),
}

impl Division {
    /// The pages spread over so many parts (at most [`PARTS_MAX`]), none of which is at home anywhere.
    pub fn spread(parts: u16) -> Self {
        Division {
            parts: parts.min(PARTS_MAX),
            runs: Arc::default(),
        }
    }

    /// So many pages by places: for each run the first page, and whose home it is. A run ends where the next begins.
    ///
    /// # Errors
    /// [`DivisionError`].
    pub fn by_place(pages: u64, runs: &[(PageId, u16)]) -> Result<Self, DivisionError> {
        let mut cut: Vec<(PageId, u16)> = Vec::new();
        let mut turns = [0; (PARTS_MAX / PARTS_OF_A_PLACE) as usize];
        // Each run is shared by its place's parts, unless it is short, or there are too many.
        let pieces_max = match runs.len() <= RUNS_MAX / usize::from(PARTS_OF_A_PLACE) {
            true => u64::from(PARTS_OF_A_PLACE),
            false => 1,
        };
        for (number, &(first, place)) in runs.iter().enumerate() {
            let Some(turn) = turns.get_mut(usize::from(place)) else {
                return Err(DivisionError::Place { place });
            };
            let end = runs.get(number + 1).map_or(pages, |(page, _)| page.0);
            let length = end.saturating_sub(first.0).max(1);
            let piece = length.div_ceil(pieces_max);
            for begin in (first.0..first.0 + length).step_by(piece as usize) {
                cut.push((PageId(begin), place * PARTS_OF_A_PLACE + *turn));
                *turn = (*turn + 1) % PARTS_OF_A_PLACE;
            }
        }
        let places = runs.iter().map(|(_, place)| place + 1).max().unwrap_or(0);
        Division::of_runs(places * PARTS_OF_A_PLACE, cut)
    }

    /// As it was encoded: the number of parts, and the first page and part of each run.
    ///
    /// # Errors
    /// [`DivisionError`].
    pub fn of_runs(parts: u16, runs: Vec<(PageId, u16)>) -> Result<Self, DivisionError> {
        if runs.len() > RUNS_MAX {
            return Err(DivisionError::Runs { runs: runs.len() });
        }
        let all = [parts].into_iter().filter(|parts| *parts > PARTS_MAX);
        let mut too_large = all.chain(
            runs.iter()
                .map(|(_, part)| *part)
                .filter(|part| *part >= parts),
        );
        if let Some(part) = too_large.next() {
            let place = part / PARTS_OF_A_PLACE;
            return Err(DivisionError::Place { place });
        }
        let first = runs.first().filter(|(page, _)| page.0 > 0);
        let others = runs.windows(2).find(|pair| pair[0].0 >= pair[1].0);
        if let Some(&(page, _)) = first.or(others.map(|pair| &pair[1])) {
            return Err(DivisionError::Order { page: page.0 });
        }
        Ok(Division {
            parts,
            runs: runs.into(),
        })
    }

    /// Zero if the pages are not divided.
    pub fn parts(&self) -> u16 {
        self.parts
    }

    /// The first page of each run, and its part; none if the pages are spread.
    pub fn runs(&self) -> &[(PageId, u16)] {
        &self.runs
    }

    /// The number of a page's part.
    #[inline]
    pub fn part_of(&self, page: PageId) -> u16 {
        if !self.runs.is_empty() {
            let after = self.runs.partition_point(|(first, _)| *first <= page);
            return self.runs[after.saturating_sub(1)].1;
        }
        // Fibonacci hashing: neighbours are spread.
        let hash = scattered(page.0) >> 32;
        let parts = u64::from(self.parts.max(1));
        ((hash * parts) >> 32) as u16
    }

    /// The place where a part is at home, if it is anywhere.
    pub fn home(&self, part: u16) -> Option<u16> {
        (!self.runs.is_empty()).then_some(part / PARTS_OF_A_PLACE)
    }

    /// As a value that needs no division to be read.
    pub fn pages_of(&self, part: u16) -> PartPages {
        if self.runs.is_empty() {
            let parts = self.parts;
            return PartPages::Spread { parts, part };
        }
        let ends = self.runs.iter().skip(1).map(|(first, _)| first.0);
        let ends = ends.chain([u64::MAX]);
        let runs = self.runs.iter().zip(ends);
        let of_part = runs.filter(|((_, of), _)| *of == part);
        PartPages::Runs(of_part.map(|((first, _), end)| first.0..end).collect())
    }
}

impl PartPages {
    /// The pages below `pages`, which is their number.
    pub fn below(&self, pages: u64) -> Vec<PageId> {
        match self {
            PartPages::Spread { parts, part } => {
                let spread = Division::spread(*parts);
                let all = (0..pages).map(PageId);
                all.filter(|page| spread.part_of(*page) == *part).collect()
            }
            PartPages::Runs(runs) => {
                let runs = runs.iter().map(|run| run.start..run.end.min(pages));
                runs.flatten().map(PageId).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_spread_over_the_parts() {
        let spread = Division::spread(8);
        let mut pages = [0; 8];
        for page in 0..800 {
            pages[usize::from(spread.part_of(PageId(page)))] += 1;
        }
        assert!(
            pages.iter().all(|&pages| (90..=110).contains(&pages)),
            "{pages:?}"
        );
        assert_eq!(spread.home(3), None);
    }

    #[test]
    fn a_page_is_in_the_parts_of_the_place_of_its_run_and_each_page_in_one() {
        let runs = [(0, 0), (40, 1), (80, 2), (83, 0), (123, 1)]
            .map(|(page, place)| (PageId(page), place));
        let division = Division::by_place(130, &runs).unwrap();
        assert_eq!(division.parts(), 3 * PARTS_OF_A_PLACE);
        let mut seen = vec![0; 130];
        let mut sizes = Vec::new();
        for part in 0..division.parts() {
            let pages = division.pages_of(part).below(130);
            sizes.push(pages.len());
            for page in pages {
                assert_eq!(division.part_of(page), part);
                let run = runs.iter().rev().find(|(first, _)| *first <= page);
                assert_eq!(division.home(part), run.map(|(_, place)| *place));
                seen[page.0 as usize] += 1;
            }
        }
        assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
        assert_eq!(sizes[..8], [10; 8]);
        assert_eq!(sizes[8..16], [6, 6, 6, 6, 6, 6, 6, 5]);
        assert_eq!(sizes[16..], [1, 1, 1, 0, 0, 0, 0, 0]);
        let again = Division::of_runs(division.parts(), division.runs().to_vec());
        assert_eq!(again, Ok(division));
    }

    #[test]
    fn spread_and_run_pages_are_the_same_as_part_of_says() {
        let spread = Division::spread(5);
        let mut all = 0;
        for part in 0..5 {
            let pages = spread.pages_of(part).below(64);
            assert!(pages.iter().all(|page| spread.part_of(*page) == part));
            all += pages.len();
        }
        assert_eq!(all, 64);
    }

    #[test]
    fn what_divides_nothing_or_pages_twice_is_refused() {
        let by_place = |runs: &[(u64, u16)]| {
            let runs: Vec<_> = runs
                .iter()
                .map(|&(page, place)| (PageId(page), place))
                .collect();
            Division::by_place(9, &runs)
        };
        assert_eq!(by_place(&[(1, 0)]), Err(DivisionError::Order { page: 1 }));
        let twice = by_place(&[(0, 0), (5, 1), (5, 0)]);
        assert_eq!(twice, Err(DivisionError::Order { page: 5 }));
        assert_eq!(
            by_place(&[(0, 512)]),
            Err(DivisionError::Place { place: 512 })
        );
        let many = vec![(PageId(0), 0); RUNS_MAX + 1];
        let runs = many.len();
        assert_eq!(
            Division::of_runs(8, many),
            Err(DivisionError::Runs { runs })
        );
        let part = Division::of_runs(8, vec![(PageId(0), 8)]);
        assert_eq!(part, Err(DivisionError::Place { place: 1 }));
        let parts = Division::of_runs(PARTS_MAX + 8, Vec::new());
        assert_eq!(parts, Err(DivisionError::Place { place: 513 }));
    }
}
