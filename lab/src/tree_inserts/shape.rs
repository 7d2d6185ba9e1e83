//! The trees for values of any length. A tree's type names one length, so there is a tree for each of a few lengths. A
//! value goes into the smallest one with room. Its first byte is its length.

use crate::structures::{BPlusTree, CacheObliviousTree, Error, Page};

/// The most bytes of a value: with its length it is as long as a stored value may be.
pub const VALUE_BYTES_MAX: usize = 255;

type Insert = fn(&mut [Page], u64, &[u8]) -> Result<bool, Error>;
type Get = fn(&[Page], u64) -> Result<Option<Vec<u8>>, Error>;

/// A tree for values of up to so many bytes.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// The most bytes of a value.
    pub room: usize,
    create: fn(&mut [Page]) -> Result<(), Error>,
    open: fn(&[Page]) -> Result<(), Error>,
    insert: Insert,
    get: Get,
    count: fn(&[Page]) -> Result<u64, Error>,
}

/// The B+-tree's shapes, from the least on.
pub(super) static B_PLUS: [Shape; 7] = [
    Shape::b_plus::<9>(),
    Shape::b_plus::<17>(),
    Shape::b_plus::<33>(),
    Shape::b_plus::<65>(),
    Shape::b_plus::<101>(),
    Shape::b_plus::<129>(),
    Shape::b_plus::<256>(),
];

/// The cache-oblivious B-tree's.
pub(super) static CACHE_OBLIVIOUS: [Shape; 7] = [
    Shape::cache_oblivious::<9>(),
    Shape::cache_oblivious::<17>(),
    Shape::cache_oblivious::<33>(),
    Shape::cache_oblivious::<65>(),
    Shape::cache_oblivious::<101>(),
    Shape::cache_oblivious::<129>(),
    Shape::cache_oblivious::<256>(),
];

impl Shape {
    const fn b_plus<const V: usize>() -> Self {
        Shape {
            room: V - 1,
            create: |pages| BPlusTree::<_, u64, V>::create(pages).map(drop),
            open: |pages| BPlusTree::<_, u64, V>::open(pages).map(drop),
            insert: |pages, key, value| {
                let mut tree = BPlusTree::<_, u64, V>::open(pages)?;
                Ok(tree.insert(key, &stored(value))?.is_none())
            },
            get: |pages, key| {
                let value = BPlusTree::<_, u64, V>::open(pages)?.get(key)?;
                value.map(taken).transpose()
            },
            count: |pages| Ok(BPlusTree::<_, u64, V>::open(pages)?.len()? as u64),
        }
    }

    const fn cache_oblivious<const V: usize>() -> Self {
        Shape {
            room: V - 1,
            create: |pages| CacheObliviousTree::<_, u64, V>::create(pages).map(drop),
            open: |pages| CacheObliviousTree::<_, u64, V>::open(pages).map(drop),
            insert: |pages, key, value| {
                let mut tree = CacheObliviousTree::<_, u64, V>::open(pages)?;
                Ok(tree.insert(key, &stored(value))?.is_none())
            },
            get: |pages, key| {
                let value = CacheObliviousTree::<_, u64, V>::open(pages)?.get(key)?;
                value.map(taken).transpose()
            },
            count: |pages| Ok(CacheObliviousTree::<_, u64, V>::open(pages)?.len()? as u64),
        }
    }

    /// Makes an empty tree.
    pub(super) fn create(&self, pages: &mut [Page]) -> Result<(), Error> {
        (self.create)(pages)
    }

    /// Succeeds if an area holds this tree.
    pub(super) fn open(&self, pages: &[Page]) -> Result<(), Error> {
        (self.open)(pages)
    }

    /// Inserts or replaces; returns whether the key was new.
    pub(super) fn insert(&self, pages: &mut [Page], key: u64, value: &[u8]) -> Result<bool, Error> {
        (self.insert)(pages, key, value)
    }

    /// The value of a key.
    pub(super) fn get(&self, pages: &[Page], key: u64) -> Result<Option<Vec<u8>>, Error> {
        (self.get)(pages, key)
    }

    /// The number of entries.
    pub(super) fn count(&self, pages: &[Page]) -> Result<u64, Error> {
        (self.count)(pages)
    }
}

/// Its length, the value, zeros. The value has room.
fn stored<const V: usize>(value: &[u8]) -> [u8; V] {
    let mut stored = [0; V];
    stored[0] = value.len() as u8;
    stored[1..1 + value.len()].copy_from_slice(value);
    stored
}

fn taken<const V: usize>(stored: [u8; V]) -> Result<Vec<u8>, Error> {
    let value = stored.get(1..1 + usize::from(stored[0]));
    value.map(<[u8]>::to_vec).ok_or(Error::Damaged {
        page: 0,
        reason: "a value is longer than the tree has room for",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_length_come_back() {
        for shapes in [&B_PLUS, &CACHE_OBLIVIOUS] {
            for shape in shapes {
                let mut pages = vec![Page::zeroed(); 64];
                shape.create(&mut pages).unwrap();
                for length in [0, 1, shape.room] {
                    let value = vec![7; length];
                    assert!(shape.insert(&mut pages, length as u64, &value).unwrap());
                    assert!(!shape.insert(&mut pages, length as u64, &value).unwrap());
                    assert_eq!(shape.get(&pages, length as u64).unwrap(), Some(value));
                }
                assert_eq!(shape.count(&pages).unwrap(), 3);
                let opening = shapes.iter().filter(|one| one.open(&pages).is_ok());
                assert_eq!(opening.count(), 1, "only the shape that it was made in");
            }
        }
    }
}
