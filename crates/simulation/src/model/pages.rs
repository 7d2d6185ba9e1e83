//! Hash maps from page numbers and other integers: one multiplication to hash, the same order of
//! everything in every run.
//!
//! The keys are the model's own numbers, never an outsider's, so the usual defence against chosen keys
//! would only cost. These maps are not iterated where the order could show (I11).

use std::hash::{BuildHasherDefault, Hasher};

/// A map from page numbers.
pub type PageMap<V> = hashbrown::HashMap<u64, V, BuildHasherDefault<PageHasher>>;

/// Hashes one integer by multiplying and folding.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 divided by the golden ratio: neighbouring pages end up far apart.
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}
