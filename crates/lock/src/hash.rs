//! A hash for maps by small integers, such as page and transaction numbers.
//!
//! Lock tables look up millions of numbers that no adversary chooses, so one multiplication per
//! word is enough. The hash has no seed: a run is the same every time (I11). Still, nobody may let
//! the order of such a map be seen.

use core::hash::{BuildHasherDefault, Hasher};

/// A map by integers. Its iteration order means nothing.
pub type IntegerMap<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<IntegerHasher>>;

/// A set of integers. Its iteration order means nothing.
pub type IntegerSet<K> = hashbrown::HashSet<K, BuildHasherDefault<IntegerHasher>>;

/// Mixes each written word by a multiplication whose halves are folded.
#[derive(Clone, Copy, Default, Debug)]
pub struct IntegerHasher(u64);

/// An odd number without pattern: the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for IntegerHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ word ^ MULTIPLIER)
            * u128::from(MULTIPLIER.rotate_left(32) | 1);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::{BuildHasher, Hash};

    fn hash(value: impl Hash) -> u64 {
        BuildHasherDefault::<IntegerHasher>::default().hash_one(value)
    }

    #[test]
    fn numbers_in_a_row_spread_over_low_and_high_bits() {
        // The map takes its bucket from the low bits and its tag from the high seven.
        for bits in [|hash: u64| hash & 1023, |hash: u64| hash >> 54] {
            let mut filled = [0_u32; 1024];
            for number in 0..16 * 1024_u64 {
                filled[bits(hash(number)) as usize] += 1;
            }
            assert!(filled.iter().all(|&count| count < 64), "{filled:?}");
        }
    }

    #[test]
    fn both_numbers_of_a_pair_count() {
        let mut seen = IntegerSet::default();
        for first in 0..256_u64 {
            for second in 0..256_u64 {
                seen.insert(hash((first << 48, second)));
            }
        }
        assert_eq!(seen.len(), 256 * 256);
    }
}
