//! The hash of a key, by a secret that is new at every opening that builds the indexes.
//!
//! A client that may choose keys must not be able to choose keys that collide. Otherwise the lookups of a shard would
//! become as slow as it is long. A row's token could not be distinguished from another's by its hash. A clean
//! close stores large indexes with their secret (`stored`), beside the data and as readable as these; the next opening
//! takes both, and removes the file. A run that must replay from a seed (I11) names it: [`KeyHash::from_seed`].
//!
//! A secret is added to the word. One multiplication of 64 by 64 bits by a secret follows, and one to spread the
//! result: as many as without a secret. It is no cryptography: it resists an adversary who chooses keys, not one who
//! measures the time of a great many lookups.

use sardonyx_base::random::{Random, system_random};

/// A hash function of the keys' bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyHash {
    added: u64,
    factor: u64,
}

impl KeyHash {
    /// A hash with a random secret.
    pub fn random() -> Self {
        Self::from_seed(system_random())
    }

    /// The one of a seed: always the same.
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let added = random.next();
        let mut factor = random.next() | 1;
        // A factor of few ones or zeroes in a row mixes badly, and there are hardly any.
        while !(20..=44).contains(&factor.count_ones()) {
            factor = random.next() | 1;
        }
        KeyHash { added, factor }
    }

    /// The secret.
    pub(crate) fn words(self) -> [u64; 2] {
        [self.added, self.factor]
    }

    /// The hash of this secret.
    pub(crate) fn from_words([added, factor]: [u64; 2]) -> Self {
        KeyHash { added, factor }
    }

    /// The hash of a key's bytes.
    #[inline]
    pub fn of(self, key: &[u8]) -> u64 {
        if let Ok(word) = <[u8; 8]>::try_from(key) {
            return self.mix(u64::from_le_bytes(word));
        }
        self.of_long(key)
    }

    /// The hash of these bytes and two zeroes behind them.
    #[inline]
    pub fn of_ended(self, bytes: &[u8]) -> u64 {
        let (words, rest) = bytes.as_chunks();
        let last = short_word(rest);
        if bytes.len() == 6 {
            return self.mix(last);
        }
        let mut state = bytes.len() as u64 + 2;
        for word in words {
            state = self.mix(state ^ u64::from_le_bytes(*word));
        }
        state = self.mix(state ^ last);
        // Seven bytes leave room for one of the zeroes.
        match rest.len() {
            7 => self.mix(state),
            _ => state,
        }
    }

    fn of_long(self, key: &[u8]) -> u64 {
        let mut state = key.len() as u64;
        let (words, rest) = key.as_chunks();
        for word in words {
            state = self.mix(state ^ u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            state = self.mix(state ^ u64::from_le_bytes(word));
        }
        state
    }

    /// Multiplies to 128 bits and folds: every bit of the input reaches every bit of the output.
    #[inline]
    fn mix(self, word: u64) -> u64 {
        let wide = u128::from(word ^ self.added) * u128::from(self.factor);
        let folded = (wide as u64) ^ ((wide >> 64) as u64);
        folded.wrapping_mul(0x9fb2_1c65_1e98_df25) ^ (folded >> 29)
    }
}

/// Up to seven bytes as a little-endian word. They are read as two overlapping numbers, without a loop or a copy.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    let of_four = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    let of_two = |bytes: &[u8; 2]| u64::from(u16::from_le_bytes(*bytes));
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return of_four(first) | of_four(last) << (8 * (bytes.len() - 4));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return of_two(first) | of_two(last) << (8 * (bytes.len() - 2));
    }
    bytes.first().copied().map_or(0, u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Sets of keys: some that are chosen to collide, and ordinary ones.
    fn key_sets() -> Vec<Vec<Vec<u8>>> {
        let words = |make: &dyn Fn(u64) -> u64| -> Vec<Vec<u8>> {
            (0..64_000)
                .map(|n| make(n).to_le_bytes().to_vec())
                .collect()
        };
        let known = KeyHash::from_seed(0);
        let second = |n: u64| known.of(&(n ^ 16).to_le_bytes());
        vec![
            words(&|n| n),
            words(&|n| n.rotate_left(48)),
            words(&|n| n << 32),
            words(&|n| n.reverse_bits()),
            words(&|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            (0..64_000u64)
                .map(|n| [n.to_le_bytes(), second(n).to_le_bytes()].concat())
                .collect(),
        ]
    }

    #[test]
    fn keys_spread_under_every_secret_but_the_one_that_they_were_chosen_for() {
        for (number, keys) in key_sets().iter().enumerate() {
            for seed in 0..6 {
                let hash = KeyHash::from_seed(seed);
                let hashes: Vec<_> = keys.iter().map(|key| hash.of(key)).collect();
                let all: HashSet<_> = hashes.iter().collect();
                if number == 5 && seed == 0 {
                    assert_eq!(all.len(), 1, "they were chosen for it");
                    continue;
                }
                assert_eq!(all.len(), keys.len(), "set {number}, seed {seed}");
                // By the upper bits and the lower, which choose shard and place: as chance has it.
                for bits in [|hash: u64| hash >> 54, |hash: u64| hash & 1023] {
                    let mut filled = [0_u32; 1024];
                    for &hash in &hashes {
                        filled[bits(hash) as usize] += 1;
                    }
                    let most = filled.into_iter().max().unwrap_or(0);
                    assert!(most < 140, "set {number}, seed {seed}: {most} of 62");
                }
            }
        }
    }

    #[test]
    fn bytes_that_end_in_two_zeroes_have_one_hash() {
        let hash = KeyHash::from_seed(3);
        for length in 0..40 {
            let bytes: Vec<u8> = (1..=length).collect();
            let ended = [&bytes[..], &[0, 0][..]].concat();
            assert_eq!(hash.of_ended(&bytes), hash.of(&ended), "{length}");
        }
    }

    #[test]
    fn i11_a_seed_gives_one_hash_and_openings_differ() {
        let of = |hash: KeyHash| hash.of(b"a key of some length");
        assert_eq!(of(KeyHash::from_seed(7)), of(KeyHash::from_seed(7)));
        assert_ne!(of(KeyHash::from_seed(7)), of(KeyHash::from_seed(8)));
        assert_ne!(of(KeyHash::random()), of(KeyHash::random()));
    }
}
