//! Both structures and the standard library's B-tree: time per operation, and the bytes that an insert changes.
//!
//! ```text
//! cargo run --release -p sardonyx-lab --example trees -- 1000000
//! ```
//!
//! Keys are different 64-bit numbers in a random order, values have eight bytes. Each page that an insert touches is
//! compared with its image from before, as by an engine that logs only changed bytes. The amortised figures are over
//! all inserts from the first one on, so they include every split and every doubling.

use std::collections::BTreeMap;
use std::error::Error as AnyError;
use std::hint::black_box;
use std::time::Instant;

use sardonyx_lab::structures::{
    BPlusTree, CacheObliviousTree, Error, PAGE_SIZE, Page, Pages, PagesMut,
};

/// An area that keeps the image from before of each page that is requested for a change.
#[derive(Default)]
struct Watched {
    pages: Vec<Page>,
    before: BTreeMap<usize, Page>,
}

impl Pages for Watched {
    fn count(&self) -> usize {
        self.pages.len()
    }

    fn page(&self, number: usize) -> Option<&Page> {
        self.pages.get(number)
    }
}

impl PagesMut for Watched {
    fn page_mut(&mut self, number: usize) -> Option<&mut Page> {
        let page = self.pages.get_mut(number)?;
        self.before.entry(number).or_insert_with(|| *page);
        Some(page)
    }
}

/// The changes of inserts.
#[derive(Default, Clone, Copy)]
struct Changed {
    inserts: usize,
    pages: usize,
    bytes: usize,
    greatest: usize,
}

impl Changed {
    fn note(&mut self, watched: &mut Watched) {
        self.inserts += 1;
        let mut bytes = 0;
        for (number, before) in std::mem::take(&mut watched.before) {
            let now = &watched.pages[number].bytes;
            let changed = (0..PAGE_SIZE)
                .filter(|at| before.bytes[*at] != now[*at])
                .count();
            self.pages += usize::from(changed > 0);
            bytes += changed;
        }
        self.bytes += bytes;
        self.greatest = self.greatest.max(bytes);
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            inserts: self.inserts - earlier.inserts,
            pages: self.pages - earlier.pages,
            bytes: self.bytes - earlier.bytes,
            greatest: self.greatest,
        }
    }

    fn print(self, name: &str, which: &str) {
        let each = |sum: usize| sum as f64 / self.inserts as f64;
        let (bytes, pages) = (each(self.bytes), each(self.pages));
        println!("{name:16} {which:32} {bytes:9.1} bytes {pages:7.3} pages an insert");
    }
}

/// The two structures, for one program.
trait Structure<S: PagesMut>: Sized {
    const NAME: &'static str;
    fn make(area: S) -> Result<Self, Error>;
    fn area(&mut self) -> &mut S;
    fn put(&mut self, key: u64) -> Result<(), Error>;
    fn find(&self, key: u64) -> Result<bool, Error>;
    fn sum(&self) -> Result<u64, Error>;
}

macro_rules! structure {
    ($tree:ident, $name:literal) => {
        impl<S: PagesMut> Structure<S> for $tree<S, u64, 8> {
            const NAME: &'static str = $name;
            fn make(area: S) -> Result<Self, Error> {
                Self::create(area)
            }
            fn area(&mut self) -> &mut S {
                self.pages_mut()
            }
            fn put(&mut self, key: u64) -> Result<(), Error> {
                self.insert(key, &key.to_le_bytes()).map(|_| ())
            }
            fn find(&self, key: u64) -> Result<bool, Error> {
                Ok(self.get(key)?.is_some())
            }
            fn sum(&self) -> Result<u64, Error> {
                let mut sum = 0u64;
                for entry in self.range(..) {
                    sum = sum.wrapping_add(entry?.0);
                }
                Ok(sum)
            }
        }
    };
}
structure!(BPlusTree, "B+-tree");
structure!(CacheObliviousTree, "cache-oblivious");

/// Inserts a key, and enlarges the area when it is full.
fn put<S: PagesMut, T: Structure<S>>(
    tree: &mut T,
    key: u64,
    grow: impl Fn(&mut S, usize),
) -> Result<(), Error> {
    loop {
        match tree.put(key) {
            Err(Error::Full { pages_needed }) => grow(tree.area(), pages_needed),
            other => return other,
        }
    }
}

fn print_time(name: &str, what: &str, start: Instant, operations: usize) {
    let each = start.elapsed().as_nanos() as f64 / operations as f64;
    println!("{name:16} {what:32} {each:9.1} ns");
}

fn times<T: Structure<Vec<Page>>>(keys: &[u64], lookups: &[u64]) -> Result<(), Error> {
    let mut tree = T::make(vec![Page::zeroed(); 2])?;
    let start = Instant::now();
    for key in keys {
        put(&mut tree, *key, |pages, needed| {
            pages.resize(needed, Page::zeroed())
        })?;
    }
    print_time(T::NAME, "random insert", start, keys.len());
    let start = Instant::now();
    for key in lookups {
        assert!(tree.find(*key)?);
    }
    print_time(T::NAME, "random get", start, lookups.len());
    let start = Instant::now();
    black_box(tree.sum()?);
    print_time(T::NAME, "entry of a scan", start, keys.len());
    let bytes = tree.area().len() * PAGE_SIZE / keys.len();
    println!("{:16} {:32} {bytes:9} bytes an entry", T::NAME, "memory");
    Ok(())
}

fn changes<T: Structure<Watched>>(order: &str, keys: &[u64]) -> Result<(), Error> {
    let mut tree = T::make(Watched {
        pages: vec![Page::zeroed(); 2],
        ..Watched::default()
    })?;
    tree.area().before.clear();
    let mut changed = Changed::default();
    let mut earlier = changed;
    for (turn, key) in keys.iter().enumerate() {
        put(&mut tree, *key, |area, needed| {
            area.pages.resize(needed, Page::zeroed())
        })?;
        changed.note(tree.area());
        if turn == keys.len() - keys.len() / 10 {
            earlier = changed;
        }
    }
    changed.print(T::NAME, &format!("{order}: amortised over all"));
    changed
        .since(earlier)
        .print(T::NAME, &format!("{order}: the last tenth"));
    println!(
        "{:16} {:32} {:9} bytes",
        T::NAME,
        "the largest insert",
        changed.greatest
    );
    Ok(())
}

fn standard(keys: &[u64], lookups: &[u64]) {
    let name = "std BTreeMap";
    let mut map = BTreeMap::new();
    let start = Instant::now();
    for key in keys {
        map.insert(*key, key.to_le_bytes());
    }
    print_time(name, "random insert", start, keys.len());
    let start = Instant::now();
    for key in lookups {
        assert!(map.contains_key(key));
    }
    print_time(name, "random get", start, lookups.len());
    let start = Instant::now();
    black_box(map.keys().fold(0u64, |sum, key| sum.wrapping_add(*key)));
    print_time(name, "entry of a scan", start, keys.len());
}

fn main() -> Result<(), Box<dyn AnyError>> {
    let count: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |given| given.parse())?;
    // Multiplying by an odd number is a bijection; the shifts remove the remaining regularity.
    let mix = |number: u64| {
        let mixed = (number ^ (number >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
    };
    let keys: Vec<u64> = (1..=count).map(mix).collect();
    let mut lookups = keys.clone();
    lookups.sort_unstable_by_key(|key| mix(*key));
    println!("{count} keys of 8 bytes with values of 8 bytes");
    times::<BPlusTree<_, u64, 8>>(&keys, &lookups)?;
    times::<CacheObliviousTree<_, u64, 8>>(&keys, &lookups)?;
    standard(&keys, &lookups);
    changes::<BPlusTree<_, u64, 8>>("random", &keys)?;
    changes::<CacheObliviousTree<_, u64, 8>>("random", &keys)?;
    let ascending: Vec<u64> = (0..count).collect();
    changes::<BPlusTree<_, u64, 8>>("ascending", &ascending)?;
    changes::<CacheObliviousTree<_, u64, 8>>("ascending", &ascending)?;
    Ok(())
}
