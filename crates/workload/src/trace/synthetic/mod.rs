//! A trace with the published statistics of the real-life workload of the GEM paper, section 4.6.
//!
//! The trace itself was never published. This one has the properties that the GEM paper gives of
//! it. It has more than 17,500 transactions of twelve types, about a million accesses, and as its
//! largest transaction an ad-hoc query of more than 11,000. It has 66,000 distinct pages in 13
//! files of a database of 4 GB, about 20% updates, and 1.6% of the accesses are writes. Accesses
//! are so unevenly spread, also within types, that an affinity-based routing helps but little.
//!
//! It is made of *areas*, sets of pages from which a transaction draws with a skew. Some are pages that every type
//! uses: catalogue and index roots, and a wide common area. Each type has pages scattered among those of the others.
//! There is an area of each of four applications, one of each type, and one for queries to run through. A transaction
//! accesses a page about three times on average. Some pages are drawn again from those that the type, or any type, has
//! used lately: locality in time, on which a buffer depends.
//!
//! The frequency of each area was chosen so that the shares of local lock requests come near the
//! paper's ([`crate::trace::locality`]); only these frequencies are fitted.

mod areas;

use super::{Header, Partition, Trace};
use crate::arrival::exponential;
use crate::random::Random;
use crate::reference::{Access, PageNumber, PageReference, Transaction};
use areas::{Areas, FILES, TEXTS};
use std::collections::VecDeque;

/// The behaviour of a transaction type.
struct Profile {
    name: &'static str,
    transactions: u32,
    /// Mean number of accesses.
    accesses: f64,
    /// Share of updates, in percent.
    update_percent: u32,
    /// Mean number of writes of an update.
    writes: f64,
    /// The application, from 0.
    application: usize,
}

/// The source of a transaction's new page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The pages that all types use.
    Hot,
    /// The wide area that all types share.
    Common,
    /// The type's own pages that lie scattered among those of all other types.
    Scattered,
    /// The application's area.
    Application,
    /// The type's own area.
    Own,
    /// Pages that the type has used lately.
    RecentOfType,
    /// Pages that any type has used lately.
    Recent,
}

/// The frequency of each source of a new page, in percent.
const SOURCES: [(Source, u32); 7] = [
    (Source::Hot, 18),
    (Source::Common, 20),
    (Source::Scattered, 35),
    (Source::Application, 4),
    (Source::Own, 11),
    (Source::RecentOfType, 8),
    (Source::Recent, 4),
];

const fn profile(
    name: &'static str,
    transactions: u32,
    accesses: f64,
    update_percent: u32,
    writes: f64,
    application: usize,
) -> Profile {
    Profile {
        name,
        transactions,
        accesses,
        update_percent,
        writes,
        application,
    }
}

const TYPES: [Profile; 12] = [
    profile("order-inquiry", 4_300, 42.0, 0, 0.0, 0),
    profile("order-entry", 1_900, 62.0, 75, 5.0, 0),
    profile("order-change", 700, 50.0, 80, 4.0, 0),
    profile("stock-inquiry", 3_300, 45.0, 0, 0.0, 1),
    profile("stock-posting", 1_100, 55.0, 70, 5.0, 1),
    profile("stock-check", 900, 85.0, 0, 0.0, 1),
    profile("parts-inquiry", 2_200, 58.0, 0, 0.0, 2),
    profile("parts-explosion", 650, 190.0, 0, 0.0, 2),
    profile("parts-change", 420, 64.0, 75, 5.0, 2),
    profile("account-inquiry", 1_500, 40.0, 0, 0.0, 3),
    profile("account-posting", 600, 60.0, 70, 5.0, 3),
    profile("ad-hoc-query", 12, 0.0, 0, 0.0, 3),
];

/// The number of the type of queries.
const QUERY: usize = 11;

/// Accesses of the queries, largest first: the last one more than 11,000.
const QUERY_ACCESSES: [u32; 12] = [
    11_240, 6_900, 4_300, 2_900, 2_000, 1_500, 1_100, 800, 600, 450, 350, 250,
];

/// Accesses to a page by one transaction, on average.
const ACCESSES_PER_PAGE: f64 = 2.9;

/// Pages that count as used lately: of a type, of all.
const RECENT_OF_TYPE: usize = 150;
const RECENT: usize = 400;

/// Makes the trace. The same seed makes the same one (I11).
///
/// ```
/// use sardonyx_workload::trace::{statistics::Statistics, synthetic};
///
/// let statistics = Statistics::of(&synthetic::generate(1));
/// assert!(statistics.transactions > 17_500);
/// assert!(statistics.largest > 11_000);
/// assert_eq!(statistics.types.len(), 12);
/// ```
pub fn generate(seed: u64) -> Trace {
    Generator::new(seed).run()
}

struct Generator {
    random: Random,
    areas: Areas,
    recent_of_type: Vec<VecDeque<PageNumber>>,
    recent: VecDeque<PageNumber>,
    /// Pages of the transaction in the making, with whether they are of the common area.
    pages: Vec<(PageNumber, bool)>,
}

impl Generator {
    fn new(seed: u64) -> Self {
        Generator {
            random: Random::new(seed),
            areas: Areas::new(),
            recent_of_type: vec![VecDeque::new(); TYPES.len()],
            recent: VecDeque::new(),
            pages: Vec::new(),
        }
    }

    fn run(mut self) -> Trace {
        let types = TYPES.iter().map(|profile| profile.name.to_string());
        let partitions = FILES.map(|(name, pages)| Partition {
            name: name.into(),
            pages,
        });
        let header = Header::new(4_096, types.collect(), partitions.into());
        let mut trace = Trace::new(header.expect("constant names and sizes"));
        let mut transaction = Transaction::default();
        let mut queries = 0;
        for kind in self.order() {
            transaction.clear(kind as u16);
            if kind == QUERY {
                // Not in their order of size.
                let accesses = QUERY_ACCESSES[queries * 5 % QUERY_ACCESSES.len()];
                self.query(accesses, &mut transaction.references);
                queries += 1;
            } else {
                self.transaction(kind, &mut transaction.references);
            }
            trace
                .push(&transaction)
                .expect("pages of the areas exist, as a test shows");
        }
        trace
    }

    /// The types of all transactions, shuffled.
    fn order(&mut self) -> Vec<usize> {
        let of = |(kind, profile): (usize, &Profile)| vec![kind; profile.transactions as usize];
        let mut order: Vec<usize> = TYPES.iter().enumerate().flat_map(of).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, self.random.below(place as u64 + 1) as usize);
        }
        order
    }

    fn transaction(&mut self, kind: usize, references: &mut Vec<PageReference>) {
        let profile = &TYPES[kind];
        // A third of the mean for all, the rest exponential: many small ones, a few large.
        let least = profile.accesses / 3.0;
        let accesses = least + exponential(&mut self.random, profile.accesses - least) + 0.5;
        self.pages.clear();
        for _ in 0..(accesses as u32).max(1) {
            let page = self.next_page(kind);
            references.push(PageReference::read(page));
        }
        if self.random.chance(profile.update_percent) {
            let writes = 1.0 + exponential(&mut self.random, profile.writes - 1.0);
            self.write(writes.round() as u32, references);
        }
        // A page just written is locked for a while, and not one to which others would come back.
        let written = |page: PageNumber| {
            let writes = |one: &PageReference| one.page == page && one.access == Access::Write;
            references.iter().any(writes)
        };
        let pages = self.pages.iter().map(|(page, _)| *page);
        let pages = pages.filter(|page| !written(*page));
        remember(
            &mut self.recent_of_type[kind],
            RECENT_OF_TYPE,
            pages.clone(),
        );
        remember(&mut self.recent, RECENT, pages);
    }

    /// A page of the transaction again, or a new one.
    fn next_page(&mut self, kind: usize) -> PageNumber {
        let random = &mut self.random;
        let again = !self.pages.is_empty() && random.fraction() * ACCESSES_PER_PAGE >= 1.0;
        if again {
            // Rather one of the last.
            let back = exponential(random, 4.0) as usize;
            return self.pages[self.pages.len() - 1 - back.min(self.pages.len() - 1)].0;
        }
        let (page, is_common) = self.new_page(kind);
        self.pages.push((page, is_common));
        page
    }

    fn new_page(&mut self, kind: usize) -> (PageNumber, bool) {
        let profile = &TYPES[kind];
        let random = &mut self.random;
        let mut point = random.below(100) as u32;
        let mut source = Source::Common;
        for (candidate, percent) in SOURCES {
            if point < percent {
                source = candidate;
                break;
            }
            point -= percent;
        }
        let areas = &self.areas;
        let of_type = &self.recent_of_type[kind];
        let page = match source {
            Source::Hot => areas.hot.draw(random),
            Source::Scattered => areas.scattered[kind].draw(random),
            Source::Application => areas.applications[profile.application].draw(random),
            Source::Own => areas.own[kind].draw(random),
            Source::RecentOfType if !of_type.is_empty() => {
                of_type[random.below(of_type.len() as u64) as usize]
            }
            Source::Recent if !self.recent.is_empty() => {
                self.recent[random.below(self.recent.len() as u64) as usize]
            }
            _ => areas.common.draw(random),
        };
        (page, source == Source::Common)
    }

    /// Makes some accesses writes. These are to pages of the wide common area, which others seldom use at the same
    /// time. They are writes from the first access to the page on, so that no lock is converted. Lock conflicts "had
    /// no significant impact on performance" in the GEM paper's trace.
    fn write(&mut self, writes: u32, references: &mut Vec<PageReference>) {
        let mut candidates: Vec<PageNumber> = self
            .pages
            .iter()
            .filter(|(_, is_common)| *is_common)
            .map(|(page, _)| *page)
            .collect();
        let mut left = writes as usize;
        while left > 0 {
            if candidates.is_empty() {
                let page = self.areas.common.draw(&mut self.random);
                self.pages.push((page, true));
                references.push(PageReference::read(page));
                candidates.push(page);
            }
            let chosen = self.random.below(candidates.len() as u64) as usize;
            let page = candidates.swap_remove(chosen);
            let of_page = references.iter_mut().filter(|one| one.page == page);
            for reference in of_page.take(left) {
                left -= usize::from(reference.access == Access::Read);
                reference.access = Access::Write;
            }
        }
    }

    /// Runs through a part of the texts, page after page.
    fn query(&mut self, accesses: u32, references: &mut Vec<PageReference>) {
        let pages = (f64::from(accesses) / 2.0) as u32;
        let first = self.random.below(FILES[TEXTS].1 - u64::from(pages)) as u32;
        for access in 0..accesses {
            let page = first + access * pages / accesses;
            references.push(PageReference::read(PageNumber::new(TEXTS as u16, page)));
        }
    }
}

fn remember(
    recent: &mut VecDeque<PageNumber>,
    most: usize,
    pages: impl Iterator<Item = PageNumber>,
) {
    recent.extend(pages);
    let surplus = recent.len().saturating_sub(most);
    recent.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{ReferenceDistribution, heuristic};
    use crate::trace::locality::Locality;
    use crate::trace::statistics::Statistics;

    #[test]
    fn all_pages_of_all_areas_exist_and_differ_within_an_area() {
        let Areas {
            hot,
            common,
            scattered,
            applications,
            own,
        } = Areas::new();
        let areas = [vec![hot, common], scattered, applications, own].concat();
        for area in areas {
            let pages = (0..area.pages).map(|rank| area.page(rank));
            let distinct: std::collections::BTreeSet<_> = pages.collect();
            assert_eq!(distinct.len() as u32, area.pages, "{area:?}");
            for page in distinct {
                let (name, pages) = FILES[usize::from(page.partition)];
                assert!(u64::from(page.page) < pages, "{page} of {name}: {area:?}");
            }
        }
        assert_eq!(FILES.iter().map(|file| file.1).sum::<u64>(), 1 << 20);
        assert_eq!(SOURCES.iter().map(|source| source.1).sum::<u32>(), 100);
    }

    #[test]
    fn the_published_statistics_are_met() {
        for seed in [1, 2] {
            let all = Statistics::of(&generate(seed));
            let near = |what: &str, found: f64, published: f64, tolerance: f64| {
                let off = (found / published - 1.0).abs();
                assert!(
                    off <= tolerance,
                    "seed {seed}: {what} of {found}, published {published}"
                );
            };
            assert!(all.transactions > 17_500, "{}", all.transactions);
            near("transactions", all.transactions as f64, 17_500.0, 0.01);
            assert_eq!(all.types.len(), 12);
            assert!(all.types.iter().all(|kind| kind.transactions > 0));
            near("accesses", all.accesses as f64, 1e6, 0.04);
            assert!(all.largest > 11_000, "{}", all.largest);
            near("largest", all.largest as f64, 11_000.0, 0.03);
            near("distinct pages", all.distinct_pages as f64, 66_000.0, 0.03);
            assert_eq!(all.partitions.len(), 13);
            assert!(all.partitions.iter().all(|one| one.distinct_pages > 0));
            assert_eq!(all.database_bytes, 4 << 30);
            near("updates", all.update_share(), 0.20, 0.03);
            near("writes", all.write_share(), 0.016, 0.05);
            // From the GEM paper's CPU figures, 15 to 25.
            near("locks of a transaction", all.mean_locks(), 20.0, 0.1);
        }
    }

    #[test]
    fn accesses_are_uneven_within_types_too() {
        let trace = generate(1);
        for (kind, profile) in TYPES.iter().enumerate().take(QUERY) {
            let mut counts = std::collections::HashMap::new();
            for transaction in trace.iter().filter(|one| usize::from(one.kind) == kind) {
                for reference in transaction.references {
                    *counts.entry(reference.page).or_insert(0u64) += 1;
                }
            }
            let mut counts: Vec<u64> = counts.into_values().collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            let hottest: u64 = counts[..counts.len() / 10].iter().sum();
            let share = hottest as f64 / counts.iter().sum::<u64>() as f64;
            assert!(
                share > 0.45,
                "{}: a tenth of the pages has {share}",
                profile.name
            );
        }
    }

    #[test]
    fn the_local_lock_shares_come_near_the_published_ones() {
        let trace = generate(1);
        // Nodes; affinity and random routing: without, with the read optimisation (section 4.6).
        for (nodes, affinity, random) in [
            (2, [0.63, 0.78], [0.50, 0.65]),
            (8, [0.35, 0.65], [0.125, 0.33]),
        ] {
            let distribution = ReferenceDistribution::of_trace(&trace, 1_024);
            let options = heuristic::Options::for_nodes(nodes);
            let tables = [
                heuristic::affinity(&distribution, nodes, &options)
                    .unwrap()
                    .0,
                heuristic::random(&distribution, nodes).unwrap().0,
            ];
            for (tables, published) in tables.iter().zip([affinity, random]) {
                let found = Locality::of(&trace, tables, 1_000, 1);
                let shares = [
                    found.local_share(),
                    found.local_share_with_read_optimisation(),
                ];
                for (share, published) in shares.into_iter().zip(published) {
                    assert!(
                        (share - published).abs() < 0.04,
                        "{nodes} nodes: {share}, published {published}: {shares:?}"
                    );
                }
                assert!(found.load_imbalance() < 1.12, "{nodes} nodes: {found:?}");
            }
        }
    }

    #[test]
    fn affinity_raises_hits_with_more_nodes_and_chance_lowers_them() {
        let trace = generate(1);
        let hits = |nodes| {
            let distribution = ReferenceDistribution::of_trace(&trace, 1_024);
            let options = heuristic::Options::for_nodes(nodes);
            let affinity = heuristic::affinity(&distribution, nodes, &options)
                .unwrap()
                .0;
            let random = heuristic::random(&distribution, nodes).unwrap().0;
            [affinity, random].map(|tables| Locality::of(&trace, &tables, 1_000, 1).recent_share())
        };
        let [central, _] = hits(1);
        let [affinity, random] = hits(8);
        assert!(affinity > central + 0.05, "{affinity} {central}");
        assert!(random < central - 0.03, "{random} {central}");
    }

    #[test]
    fn a_seed_makes_the_same_trace_again() {
        let bytes = |seed| {
            let trace = generate(seed);
            sardonyx_base::crc32c::crc32c(
                &trace
                    .write(crate::trace::Form::Binary, Vec::new(), "-")
                    .unwrap(),
            )
        };
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }
}
