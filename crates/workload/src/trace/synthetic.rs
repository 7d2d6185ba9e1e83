//! A trace with the published statistics of the real-life workload of paper 001, section 4.6.
//!
//! The trace itself was never published. What the paper says of it is met here: more than 17,500
//! transactions of twelve types, about a million accesses, the largest transaction an ad-hoc query
//! of more than 11,000, 66,000 distinct pages in 13 files of a database of 4 GB, about 20% updates,
//! 1.6% of the accesses writes, and accesses so unevenly spread, also within types, that an
//! affinity-based routing helps but little.
//!
//! It is made of *areas*, sets of pages from which a transaction draws with a skew: pages that every
//! type uses (catalogue and index roots; then a wide common area), an area of each of four
//! applications, one of each type, and one for queries to run through. A transaction accesses a page
//! about three times on average. Some pages are drawn again from those that the type, or anybody,
//! has used lately: locality in time, which is what a buffer lives on.
//!
//! How often each area is used was chosen so that the shares of local lock requests come near the
//! paper's ([`crate::trace::locality`]); nothing but these frequencies is fitted.

use super::{Header, Partition, Trace};
use crate::arrival::exponential;
use crate::random::Random;
use crate::reference::{Access, PageNumber, PageReference, Transaction};
use std::collections::VecDeque;

/// What a transaction type does.
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
    /// How often a new page is drawn from each source, by number of [`Source`].
    sources: [u32; 7],
}

/// Where a transaction gets a new page from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The pages that everybody uses.
    Hot,
    /// The wide area that all types share.
    Common,
    /// The type's own pages that lie scattered among those of all other types.
    Scattered,
    /// The application's area.
    Application,
    /// The type's own area.
    Own,
    /// What the type has used lately.
    RecentOfType,
    /// What anybody has used lately.
    Recent,
}

const SOURCES: [Source; 7] = [
    Source::Hot,
    Source::Common,
    Source::Scattered,
    Source::Application,
    Source::Own,
    Source::RecentOfType,
    Source::Recent,
];

const fn profile(
    name: &'static str,
    transactions: u32,
    accesses: f64,
    update_percent: u32,
    writes: f64,
    application: usize,
    sources: [u32; 7],
) -> Profile {
    Profile {
        name,
        transactions,
        accesses,
        update_percent,
        writes,
        application,
        sources,
    }
}

const TYPES: [Profile; 12] = [
    profile(
        "order-inquiry",
        4_300,
        42.0,
        0,
        0.0,
        0,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "order-entry",
        1_900,
        62.0,
        75,
        5.0,
        0,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "order-change",
        700,
        50.0,
        80,
        4.0,
        0,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "stock-inquiry",
        3_300,
        45.0,
        0,
        0.0,
        1,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "stock-posting",
        1_100,
        55.0,
        70,
        5.0,
        1,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "stock-check",
        900,
        85.0,
        0,
        0.0,
        1,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "parts-inquiry",
        2_200,
        58.0,
        0,
        0.0,
        2,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "parts-explosion",
        650,
        190.0,
        0,
        0.0,
        2,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "parts-change",
        420,
        64.0,
        75,
        5.0,
        2,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "account-inquiry",
        1_500,
        40.0,
        0,
        0.0,
        3,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile(
        "account-posting",
        600,
        60.0,
        70,
        5.0,
        3,
        [14, 26, 26, 8, 18, 4, 4],
    ),
    profile("ad-hoc-query", 12, 0.0, 0, 0.0, 3, [0; 7]),
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

/// The files with their sizes in pages; 4 GiB in pages of 4 KiB.
const FILES: [(&str, u64); 13] = [
    ("catalogue", 256),
    ("index-orders", 4_096),
    ("index-stock", 4_096),
    ("index-parts", 8_192),
    ("index-accounts", 4_096),
    ("orders", 196_608),
    ("order-lines", 262_144),
    ("stock", 131_072),
    ("parts", 131_072),
    ("structures", 98_304),
    ("accounts", 65_536),
    ("postings", 110_848),
    ("texts", 32_256),
];

/// Pages that are drawn together: of each file in the list, `count` pages, one every so many.
#[derive(Clone, Debug)]
struct Area {
    /// File, first page, distance of the pages, number of pages.
    slices: Vec<(u16, u32, u32, u32)>,
    pages: u32,
    /// Above 1: the higher, the more of the accesses go to few pages.
    skew: i32,
}

impl Area {
    fn new(skew: i32, slices: &[(u16, u32, u32, u32)]) -> Self {
        Area {
            slices: slices.to_vec(),
            pages: slices.iter().map(|slice| slice.3).sum(),
            skew,
        }
    }

    /// Draws a page; low ranks are likelier.
    fn draw(&self, random: &mut Random) -> PageNumber {
        let power = random.fraction().powi(self.skew);
        let rank = (f64::from(self.pages) * power) as u32;
        self.page(rank.min(self.pages - 1))
    }

    /// The page of a rank: neighbours in rank lie far from each other.
    fn page(&self, rank: u32) -> PageNumber {
        // The multiplier is prime and larger than any area, so this is a permutation.
        let mut place = (u64::from(rank) * 1_000_003 % u64::from(self.pages)) as u32;
        for &(file, first, distance, count) in &self.slices {
            if place < count {
                return PageNumber::new(file, first + place * distance);
            }
            place -= count;
        }
        unreachable!("the place is below the number of pages")
    }
}

struct Areas {
    hot: Area,
    common: Area,
    scattered: Vec<Area>,
    applications: Vec<Area>,
    own: Vec<Area>,
}

impl Areas {
    fn new() -> Self {
        let hot = [
            (0, 0, 1, 120),
            (1, 0, 8, 50),
            (2, 0, 8, 50),
            (3, 0, 16, 50),
            (4, 0, 8, 50),
        ];
        let common = [
            (5, 0, 15, 13_000),
            (6, 0, 20, 13_000),
            (7, 0, 20, 6_500),
            (8, 0, 20, 6_500),
            (10, 0, 10, 6_000),
        ];
        // A page of each type in turn.
        let scattered = (0..12u32).map(|kind| {
            let slice = |file, distance, count| (file, 3 + 12 * kind, distance, count);
            Area::new(4, &[slice(5, 360, 400), slice(6, 360, 400)])
        });
        let applications = (0..4u32).map(|application| {
            let index = application as u16 + 1;
            let first = application * 24_000;
            Area::new(4, &[(index, 1, 8, 300), (9, first, 10, 1_200)])
        });
        let own = (0..12u32).map(|kind| Area::new(4, &[(11, kind * 9_000, 6, 1_000)]));
        Areas {
            hot: Area::new(3, &hot),
            common: Area::new(1, &common),
            scattered: scattered.collect(),
            applications: applications.collect(),
            own: own.collect(),
        }
    }
}

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
    /// Pages of the transaction in the making, with whether everybody uses them.
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
        let pages = self.pages.iter().map(|(page, _)| *page);
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
        let (page, is_hot) = self.new_page(kind);
        self.pages.push((page, is_hot));
        page
    }

    fn new_page(&mut self, kind: usize) -> (PageNumber, bool) {
        let profile = &TYPES[kind];
        let random = &mut self.random;
        let mut point = random.below(profile.sources.iter().sum::<u32>().into()) as u32;
        let mut source = Source::Common;
        for (candidate, weight) in SOURCES.into_iter().zip(profile.sources) {
            if point < weight {
                source = candidate;
                break;
            }
            point -= weight;
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
        (page, source == Source::Hot)
    }

    /// Makes some accesses writes, none of them to pages that everybody uses.
    fn write(&mut self, writes: u32, references: &mut [PageReference]) {
        for _ in 0..writes {
            let place = self.random.below(references.len() as u64) as usize;
            let page = references[place].page;
            if self
                .pages
                .iter()
                .any(|&(other, is_hot)| other == page && !is_hot)
            {
                references[place].access = Access::Write;
            }
        }
    }

    /// Runs through a part of the text file and of the order lines, page after page.
    fn query(&mut self, accesses: u32, references: &mut Vec<PageReference>) {
        let pages = (f64::from(accesses) / 2.0) as u32;
        let first = self.random.below(u64::from(32_256 - pages)) as u32;
        for access in 0..accesses {
            let page = first + access * pages / accesses;
            references.push(PageReference::read(PageNumber::new(12, page)));
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
