//! A hash for maps by small integers, such as page and transaction numbers.
//!
//! Lock tables look up millions of numbers, so one multiplication per word has to be enough. If no
//! adversary chooses the numbers the hash has no seed: a run is the same every time (I11). A program's
//! users choose objects, and the keys for them. These are hashed by a secret of the process
//! ([`SecretState`]), so that many that share a place in a map, or a lock, cannot be chosen. The order of
//! such a map must not be visible; then it makes no run another one.

use crate::random::system_random;
use core::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::OnceLock;

/// A map by integers. Its iteration order means nothing.
pub type IntegerMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<IntegerHasher>>;

/// A set of integers. Its iteration order means nothing.
pub type IntegerSet<K> = std::collections::HashSet<K, BuildHasherDefault<IntegerHasher>>;

/// A map by numbers that users choose. Its iteration order means nothing.
pub type SecretMap<K, V> = std::collections::HashMap<K, V, SecretState>;

/// Makes hashers with the secret of this process.
#[derive(Clone, Copy)]
pub struct SecretState(IntegerHasher);

impl Default for SecretState {
    fn default() -> Self {
        if cfg!(shuttle) {
            // A schedule is replayed in another process.
            return SecretState(IntegerHasher::default());
        }
        static SECRET: OnceLock<IntegerHasher> = OnceLock::new();
        SecretState(*SECRET.get_or_init(|| IntegerHasher {
            state: system_random(),
            factor: system_random() | 1,
        }))
    }
}

impl BuildHasher for SecretState {
    type Hasher = IntegerHasher;

    #[inline]
    fn build_hasher(&self) -> IntegerHasher {
        self.0
    }
}

impl core::fmt::Debug for SecretState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SecretState")
    }
}

/// Mixes each written word by a multiplication whose halves are folded.
#[derive(Clone, Copy, Debug)]
pub struct IntegerHasher {
    state: u64,
    factor: u64,
}

impl Default for IntegerHasher {
    fn default() -> Self {
        IntegerHasher {
            state: 0,
            factor: MULTIPLIER.rotate_left(32) | 1,
        }
    }
}

/// FNV-1a of 64 bits: of names and small data, where the number is kept or other programs compute it, too.
///
/// ```
/// use sardonyx_base::hash::Fnv1a;
/// const NAME: u64 = Fnv1a::of(b"a");
/// assert_eq!(NAME, 0xaf63_dc4c_8601_ec8c);
/// assert_eq!(Fnv1a::START.with(u64::from(b'a')).0, NAME);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fnv1a(pub u64);

impl Fnv1a {
    /// Of nothing.
    pub const START: Self = Fnv1a(0xcbf2_9ce4_8422_2325);

    /// Of one word more: a byte, as the hash is defined, or any number.
    #[inline]
    pub const fn with(self, word: u64) -> Self {
        Fnv1a((self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3))
    }

    /// The hash of these bytes, as FNV-1a defines it.
    pub const fn of(bytes: &[u8]) -> u64 {
        let (mut state, mut at) = (Self::START, 0);
        while at < bytes.len() {
            state = state.with(bytes[at] as u64);
            at += 1;
        }
        state.0
    }
}

/// An odd number without pattern: the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Another number for each number, whose high bits lie far apart for neighbours (Fibonacci hashing). Files keep such
/// numbers.
#[inline]
pub const fn scattered(number: u64) -> u64 {
    number.wrapping_mul(MULTIPLIER)
}

impl Hasher for IntegerHasher {
    fn finish(&self) -> u64 {
        self.state
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
        let product =
            u128::from(self.state.rotate_left(23) ^ word ^ MULTIPLIER) * u128::from(self.factor);
        self.state = product as u64 ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hash;

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

    /// Numbers that share a place in a map of 4,096 by the known hash.
    fn chosen() -> Vec<u64> {
        let place = |number: &u64| hash(*number) & 4095 == 0;
        (0..).filter(place).take(1000).collect()
    }

    #[test]
    fn numbers_chosen_to_share_a_place_do_not_share_one_by_a_secret() {
        let secret = |seed: u64| {
            let mut random = crate::random::Random::new(seed);
            SecretState(IntegerHasher {
                state: random.next(),
                factor: random.next() | 1,
            })
        };
        let chosen = chosen();
        for seed in 0..20 {
            let state = secret(seed);
            let places: IntegerSet<u64> = chosen.iter().map(|n| state.hash_one(n) & 4095).collect();
            assert!(places.len() > 700, "seed {seed}: {} places", places.len());
        }
        let (one, same) = (SecretState::default(), SecretState::default());
        assert_eq!(
            one.hash_one(7_u64),
            same.hash_one(7_u64),
            "one for a process"
        );
        assert_ne!(one.hash_one(7_u64), hash(7_u64));
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
