//! Keys that an open transaction has looked up, with the places of their rows.
//!
//! They are a list in the order of the lookups, whose bytes lie in one buffer: most transactions look up few keys, and
//! note each without memory of its own. Few are searched one after the other by their hashes, more in a table. Users
//! choose keys, so the hash is that of a secret.

use sardonyx_base::hash::{IntegerMap, SecretState};
use sardonyx_storage::page::Address;
use std::hash::{BuildHasher, Hasher};

/// Up to so many keys are searched one after the other.
const FEW: usize = 16;

/// Keys as bytes, and the places of their rows in the snapshot; without one if there is no row.
#[derive(Debug, Default)]
pub(super) struct Keys {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// The newest entry of each hash, once they are more than a few.
    newest: IntegerMap<u64, usize>,
    hasher: SecretState,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    /// Its bytes end where those of the next begin.
    start: usize,
    at: Option<Address>,
}

impl Keys {
    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        match <[u8; 8]>::try_from(key) {
            Ok(word) => hasher.write_u64(u64::from_le_bytes(word)),
            Err(_) => hasher.write(key),
        }
        hasher.finish()
    }

    #[inline]
    fn key(&self, number: usize) -> &[u8] {
        let end = self.entries.get(number + 1);
        let end = end.map_or(self.bytes.len(), |next| next.start);
        &self.bytes[self.entries[number].start..end]
    }

    /// The place of a key's row, if the key was looked up.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<Option<Address>> {
        #[cfg(test)]
        looked_up::KEYS.set(looked_up::KEYS.get() + 1);
        self.get_hashed(self.hash(key), key)
    }

    #[inline]
    fn get_hashed(&self, hash: u64, key: &[u8]) -> Option<Option<Address>> {
        let is_it = |number: &usize| self.entries[*number].hash == hash && self.key(*number) == key;
        let newest = match self.newest.is_empty() {
            true => None,
            false => Some(*self.newest.get(&hash)?).filter(is_it),
        };
        // Few keys, or another key has the same hash of 64 bits.
        let number = newest.or_else(|| (0..self.entries.len()).find(is_it))?;
        Some(self.entries[number].at)
    }

    /// Notes a key that was not looked up before.
    #[inline]
    pub fn insert(&mut self, key: &[u8], at: Option<Address>) {
        self.insert_hashed(self.hash(key), key, at);
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, key: &[u8], at: Option<Address>) {
        let (number, start) = (self.entries.len(), self.bytes.len());
        self.bytes.extend_from_slice(key);
        self.entries.push(Entry { hash, start, at });
        let first = match number {
            ..FEW => return,
            FEW => 0,
            number => number,
        };
        for number in first..=number {
            self.newest.insert(self.entries[number].hash, number);
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// All of them, in the order in which they were looked up.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<Address>)> {
        let entries = self.entries.iter().enumerate();
        entries.map(|(number, entry)| (self.key(number), entry.at))
    }
}

/// The number of keys that a test's transactions have looked up.
#[cfg(test)]
pub(super) mod looked_up {
    std::thread_local! {
        pub static KEYS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_base::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn keys_are_found_with_their_places_and_others_are_not() {
        for count in [0, 1, FEW, FEW + 1, FEW + 2, 1000] {
            let mut random = Random::new(count as u64);
            let (mut keys, mut model) = (Keys::default(), BTreeMap::new());
            let mut order = Vec::new();
            while model.len() < count {
                let length = random.below(12) as usize;
                let key: Vec<u8> = (0..length).map(|_| random.below(3) as u8).collect();
                let at = (random.below(4) > 0).then(|| Address(random.next()));
                assert_eq!(keys.get(&key), model.get(&key).copied());
                if !model.contains_key(&key) {
                    keys.insert(&key, at);
                    model.insert(key.clone(), at);
                    order.push((key, at));
                }
            }
            assert_eq!(keys.len(), count);
            for (key, at) in &model {
                assert_eq!(keys.get(key), Some(*at));
                let other = [&key[..], &[9]].concat();
                assert_eq!(keys.get(&other), None);
            }
            assert!(
                keys.iter()
                    .eq(order.iter().map(|(key, at)| (&key[..], *at)))
            );
        }
    }
    #[test]
    fn keys_with_equal_hashes_are_distinguished() {
        let mut keys = Keys::default();
        let key = |number: u64| number.to_le_bytes();
        for number in 0..3 * FEW as u64 {
            // Three hashes, each of many keys.
            let hash = number % 3;
            assert_eq!(keys.get_hashed(hash, &key(number)), None, "{number}");
            keys.insert_hashed(hash, &key(number), Some(Address(number)));
            for earlier in 0..=number {
                let found = keys.get_hashed(earlier % 3, &key(earlier));
                assert_eq!(found, Some(Some(Address(earlier))), "{earlier} of {number}");
            }
        }
    }
}
