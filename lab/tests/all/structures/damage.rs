//! Damaged memory: errors or answers, but no panic and no endless loop.
//!
//! Small trees of both kinds. Every byte of every page is damaged in turn, and then whole pages are overwritten with
//! others, with random bytes and with pieces of nodes. With any damage, every operation must end. If `check` finds
//! nothing, then the damage made another valid structure (with another key, or a count that is less by one; to notice
//! that needs the store's checksums). Then everything must be consistent: the counted entries, in order, each found by
//! its key.

use sardonyx_base::random::stride;
use sardonyx_lab::structures::{BPlusTree, CacheObliviousTree, Error, PAGE_SIZE, Page};

/// The common operations of both structures, for tests of both.
trait Structure: Sized {
    fn open(pages: Vec<Page>) -> Result<Self, Error>;
    fn close(self) -> Vec<Page>;
    fn insert(&mut self, key: u64) -> Result<(), Error>;
    fn remove(&mut self, key: u64) -> Result<(), Error>;
    fn get(&self, key: u64) -> Result<bool, Error>;
    fn forward(&self, from: u64) -> Result<Vec<u64>, Error>;
    fn backward(&self, from: u64) -> Result<Vec<u64>, Error>;
    fn len(&self) -> Result<usize, Error>;
    fn check(&self) -> Result<usize, Error>;
}

type Bound = std::ops::Bound<u64>;

macro_rules! structure {
    ($tree:ty, $open:ident) => {
        impl Structure for $tree {
            fn open(pages: Vec<Page>) -> Result<Self, Error> {
                Self::$open(pages)
            }
            fn close(self) -> Vec<Page> {
                self.into_pages()
            }
            fn insert(&mut self, key: u64) -> Result<(), Error> {
                self.insert(key, &[9; 8]).map(|_| ())
            }
            fn remove(&mut self, key: u64) -> Result<(), Error> {
                self.remove(key).map(|_| ())
            }
            fn get(&self, key: u64) -> Result<bool, Error> {
                Ok(self.get(key)?.is_some())
            }
            fn forward(&self, from: u64) -> Result<Vec<u64>, Error> {
                self.range(from..)
                    .map(|entry| entry.map(|(key, _)| key))
                    .collect()
            }
            fn backward(&self, from: u64) -> Result<Vec<u64>, Error> {
                let range = self.range((Bound::Unbounded, Bound::Included(from)));
                range.rev().map(|entry| entry.map(|(key, _)| key)).collect()
            }
            fn len(&self) -> Result<usize, Error> {
                self.len()
            }
            fn check(&self) -> Result<usize, Error> {
                self.check().map(|figures| figures.entries)
            }
        }
    };
}

type Tree = BPlusTree<Vec<Page>, u64, 8, 6>;
type Array = CacheObliviousTree<Vec<Page>, u64, 8, 4>;
structure!(Tree, open_with_fan_out);
structure!(Array, open_with_segment);

const ENTRIES: u64 = 60;

/// A tree of three levels or more with free pages, and room to grow.
fn pages<T: Structure>(empty: Vec<Page>) -> Vec<Page> {
    let mut tree = T::open(empty).unwrap();
    for key in 0..2 * ENTRIES {
        tree.insert(key * 37 % 251 * 4).unwrap();
    }
    for key in 0..ENTRIES {
        tree.remove(key * 37 % 251 * 4).unwrap();
    }
    assert_eq!(tree.check(), Ok(ENTRIES as usize));
    tree.close()
}

fn tree_pages() -> Vec<Page> {
    let empty = Tree::create_with_fan_out(vec![Page::zeroed(); 50]).unwrap();
    pages::<Tree>(empty.close())
}

fn array_pages() -> Vec<Page> {
    let empty = Array::create_with_segment(vec![Page::zeroed(); 20]).unwrap();
    pages::<Array>(empty.close())
}

/// Runs all operations on a damaged structure. Returns true if `check` found the damage.
fn everything<T: Structure>(pages: &[Page], context: &str) -> bool {
    let mut tree = match T::open(pages.to_vec()) {
        Ok(tree) => tree,
        Err(error) => {
            expected(&error, context);
            return true;
        }
    };
    let checked = tree.check();
    let forward = tree.forward(0);
    let backward = tree.backward(u64::MAX);
    let length = tree.len();
    let gets: Vec<_> = (0..260).map(|key| tree.get(key * 4)).collect();
    for error in gets.iter().filter_map(|get| get.as_ref().err()) {
        expected(error, context);
    }
    match &checked {
        Err(error) => expected(error, context),
        Ok(entries) => {
            assert_eq!(length, Ok(*entries), "{context}");
            let forward = forward.expect(context);
            let mut backward = backward.expect(context);
            backward.reverse();
            assert_eq!(forward, backward, "{context}");
            assert!(
                forward.is_sorted() && forward.len() == *entries,
                "{context}"
            );
            assert!(
                forward.iter().all(|key| tree.get(*key) == Ok(true)),
                "{context}"
            );
        }
    }
    for key in [0, 1, 300, 301, 500, 996, 1004, u64::MAX] {
        for result in [tree.insert(key), tree.remove(key), tree.remove(key & !3)] {
            if let Err(error) = result {
                expected(&error, context);
            }
        }
    }
    checked.is_err()
}

fn expected(error: &Error, context: &str) {
    match error {
        Error::Damaged { .. } | Error::LayoutDiffers { .. } | Error::Full { .. } => {}
        other => panic!("{context}: {other}"),
    }
}

/// Damages every used byte of a valid structure, in one way or in each; returns the number of damages that were found,
/// in all ways.
fn every_byte<T: Structure>(sound: &[Page]) -> usize {
    assert!(!everything::<T>(sound, "sound"));
    let bytes = (0..sound.len()).flat_map(|page| (0..PAGE_SIZE).map(move |at| (page, at)));
    // Zeros are damaged too, but not all of the many.
    let is_used =
        |(page, at): &(usize, usize)| sound[*page].bytes[*at] != 0 || (*at <= 64 && page % 4 == 0);
    let ways = |place| [0x04, 0x09, 0x80, 0xFF].map(|flip| (place, flip));
    let mut found = 0;
    // 3 shares no factor with the number of ways: each byte is damaged in one or two.
    for ((page, at), flip) in bytes.filter(is_used).flat_map(ways).step_by(stride(3)) {
        let mut damaged = sound.to_vec();
        damaged[page].bytes[at] ^= flip;
        let context = format!("byte {at} of page {page} xor {flip:#x}");
        found += usize::from(everything::<T>(&damaged, &context));
    }
    found * stride(3)
}

/// Overwrites whole pages and pieces by others and by random bytes.
fn every_exchange<T: Structure>(sound: &[Page]) -> usize {
    let mut found = 0;
    let mut random = crate::structures::common::random(11);
    let mut below = |end: usize| (random.next().unwrap() % end as u64) as usize;
    for turn in 0..1_500 {
        let mut damaged = sound.to_vec();
        for _ in 0..=below(3) {
            let (to, from) = (below(sound.len()), below(sound.len()));
            let (at, length) = (below(PAGE_SIZE), below(64));
            let end = (at + length).min(PAGE_SIZE);
            match below(4) {
                0 => damaged[to] = sound[from],
                1 => damaged[to].bytes[..24].copy_from_slice(&sound[from].bytes[..24]),
                2 => damaged[to].bytes[at..end].fill_with(|| below(256) as u8),
                _ => damaged[to].bytes[16..].fill_with(|| below(sound.len()) as u8),
            }
        }
        found += usize::from(everything::<T>(&damaged, &format!("exchange {turn}")));
    }
    found
}

#[test]
fn every_byte_of_a_b_plus_tree() {
    assert!(every_byte::<Tree>(&tree_pages()) > 1_000);
}

#[test]
fn exchanged_pages_of_a_b_plus_tree() {
    assert!(every_exchange::<Tree>(&tree_pages()) > 500);
}

#[test]
fn every_byte_of_a_cache_oblivious_tree() {
    assert!(every_byte::<Array>(&array_pages()) > 1_000);
}

#[test]
fn exchanged_pages_of_a_cache_oblivious_tree() {
    assert!(every_exchange::<Array>(&array_pages()) > 500);
}
