//! The files of the synthetic database, and the areas in them from which pages are drawn.

use crate::random::Random;
use crate::reference::PageNumber;

/// The files with their sizes in pages; 4 GiB in pages of 4 KiB.
pub const FILES: [(&str, u64); 13] = [
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

/// The number of the file that queries run through.
pub const TEXTS: usize = 12;

/// Pages that are drawn together: of each file in the list, `count` pages, one every so many.
#[derive(Clone, Debug)]
pub struct Area {
    /// File, first page, distance of the pages, number of pages.
    slices: Vec<(u16, u32, u32, u32)>,
    /// The number of pages, over all files.
    pub pages: u32,
    /// 1 is no skew; the higher, the more of the accesses are to few pages.
    skew: u32,
}

impl Area {
    fn new(skew: u32, slices: &[(u16, u32, u32, u32)]) -> Self {
        Area {
            slices: slices.to_vec(),
            pages: slices.iter().map(|slice| slice.3).sum(),
            skew,
        }
    }

    /// Draws a page; low ranks are likelier.
    pub fn draw(&self, random: &mut Random) -> PageNumber {
        let uniform = random.fraction();
        // Multiplied out, since the precision of `powi` may differ between machines.
        let power = (0..self.skew).fold(1.0, |power, _| power * uniform);
        let rank = (f64::from(self.pages) * power) as u32;
        self.page(rank.min(self.pages - 1))
    }

    /// The page of a rank: neighbours in rank lie far from each other.
    pub fn page(&self, rank: u32) -> PageNumber {
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

pub struct Areas {
    /// The area that all types use.
    pub hot: Area,
    /// The area that all share, widely.
    pub common: Area,
    /// The pages of each type that lie among those of the others.
    pub scattered: Vec<Area>,
    pub applications: Vec<Area>,
    /// The own area of each type.
    pub own: Vec<Area>,
}

impl Areas {
    /// The areas, always the same.
    pub fn new() -> Self {
        let hot = [
            (0, 0, 1, 120),
            (1, 0, 8, 50),
            (2, 0, 8, 50),
            (3, 0, 16, 50),
            (4, 0, 8, 50),
        ];
        let common = [
            (5, 0, 15, 10_500),
            (6, 0, 20, 10_500),
            (7, 0, 20, 6_000),
            (8, 0, 20, 6_000),
            (10, 0, 10, 5_500),
        ];
        // A page of each type in turn.
        let scattered = (0..12u32).map(|kind| {
            let slice = |file, distance, count| (file, 3 + 12 * kind, distance, count);
            Area::new(5, &[slice(5, 360, 400), slice(6, 360, 400)])
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
