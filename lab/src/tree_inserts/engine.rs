//! The interface of an ordered tree that takes part, and its keys and values.
//!
//! Keys are a bijection of counters. So they are as good as random and never the same twice, whichever worker draws
//! them; values are drawn from their key. So the expected contents of a tree are known without keeping them (invariant
//! I11: the same seed, the same entries).

use std::path::Path;

use crate::error::Failure;
use crate::product::Product;
use sardonyx_base::random::Random;

/// The most streams of keys a run has: the entries made in advance, and one for each worker.
const STREAM_BITS: u32 = 40;

/// The other users of a tree while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// None: one session.
    Alone,
    /// Threads of this process, each with a session.
    Threads,
    /// Other processes may follow; this is the first to open it.
    Processes,
    /// Another process has it open, and has recovered it.
    Joining,
}

/// An open tree of entries: a key of 64 bits and a value of bytes.
pub trait TreePeer: Product + Send + Sync {
    /// Returns true if several processes may have the tree open at once.
    fn processes() -> bool
    where
        Self: Sized;

    /// Opens the tree in `directory`, an existing directory of its own; makes one if there is none.
    ///
    /// # Errors
    /// The engine's error.
    fn open(directory: &Path, sharing: Sharing) -> Result<Self, Failure>
    where
        Self: Sized;

    /// A session for one thread. With [`Sharing::Alone`] there is one at a time.
    ///
    /// # Errors
    /// The engine's error.
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure>;
}

/// The operations of one thread on a tree.
pub trait Session {
    /// Inserts an entry with a new key, in a transaction of its own; returns when it is on stable storage.
    ///
    /// # Errors
    /// The engine's error.
    fn insert(&mut self, key: u64, value: &[u8]) -> Result<(), Failure>;

    /// Inserts an entry for each key, its value drawn by [`value`], in the fastest way; returns when all are on stable
    /// storage.
    ///
    /// # Errors
    /// The engine's error.
    fn load(
        &mut self,
        keys: &mut dyn Iterator<Item = u64>,
        value_bytes: usize,
    ) -> Result<(), Failure>;

    /// The value of a key, which is at most `value_bytes` long.
    ///
    /// # Errors
    /// The engine's error.
    fn get(&mut self, key: u64, value_bytes: usize) -> Result<Option<Vec<u8>>, Failure>;

    /// The number of entries in the tree.
    ///
    /// # Errors
    /// The engine's error.
    fn count(&mut self) -> Result<u64, Failure>;
}

/// Opens or makes a tree in an engine: see [`TreePeer::open`].
pub type OpenTree = fn(&Path, Sharing) -> Result<Box<dyn TreePeer>, Failure>;

/// An engine of the registry.
#[derive(Clone, Copy)]
pub struct TreeEngine {
    /// See [`Product::name`].
    pub name: &'static str,
    /// See [`Product::settings`].
    pub settings: &'static str,
    /// See [`TreePeer::processes`].
    pub processes: bool,
    /// See [`TreePeer::open`].
    pub open: OpenTree,
}

impl TreeEngine {
    /// The engine that `T` adapts.
    pub fn of<T: TreePeer + 'static>() -> Self {
        TreeEngine {
            name: T::name(),
            settings: T::settings(),
            processes: T::processes(),
            open: |directory, sharing| Ok(Box::new(T::open(directory, sharing)?)),
        }
    }
}

/// The `index`-th key of a stream: 0 for the entries made in advance, then one for each worker.
pub fn key(seed: u64, stream: u64, index: u64) -> u64 {
    let counter = (stream << STREAM_BITS) + index;
    mix(mix(seed).wrapping_add(counter))
}

pub fn value(key: u64, bytes: usize) -> Vec<u8> {
    let mut value = vec![0; bytes];
    fill_value(key, &mut value);
    value
}

pub fn fill_value(key: u64, value: &mut [u8]) {
    for (counter, chunk) in (1..).zip(value.chunks_mut(8)) {
        let word = mix(key.wrapping_add(counter)).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// The first number of a seed: its steps can be undone, so no two numbers become one.
fn mix(number: u64) -> u64 {
    Random::new(number).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_streams_share_a_key_and_seeds_differ() {
        let keys =
            |seed| (0..5).flat_map(move |stream| (0..2_000).map(move |i| key(seed, stream, i)));
        let one: HashSet<_> = keys(1).collect();
        assert_eq!(one.len(), 10_000);
        assert!(keys(2).all(|key| !one.contains(&key)));
        let upper = one.iter().filter(|&&key| key >> 63 == 1).count();
        assert!(
            (4_700..5_300).contains(&upper),
            "{upper} of 10000 in the upper half"
        );
    }

    #[test]
    fn values_differ_by_key_and_a_shorter_one_is_a_prefix() {
        assert_ne!(value(1, 100), value(2, 100));
        assert_eq!(value(7, 100)[..13], value(7, 13));
        assert!(value(7, 0).is_empty());
    }
}
