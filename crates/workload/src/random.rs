//! Seeded random numbers that never change: xoshiro256++, its state filled by splitmix64.
//!
//! A failing run prints its seed, and that seed must replay the run years later and on another machine (invariant
//! I11). The generators of the usual crates do not promise that across versions. So this one is written out here, and
//! its tests pin it to the published sequences.
//!
//! Not for secrets: the sequence is predictable from a few outputs.

/// A stream of random numbers that is wholly determined by its seed.
///
/// ```
/// use sardonyx_workload::random::Random;
///
/// let mut one = Random::new(7);
/// let mut other = Random::new(7);
/// assert_eq!(one.next_u64(), other.next_u64());
/// assert!(one.below(6) < 6);
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of `seed`. Every seed is good, zero included.
    pub fn new(seed: u64) -> Self {
        let mut words = sardonyx_base::random::Random::new(seed);
        Random {
            state: [(); 4].map(|()| words.next()),
        }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c2 = c ^ a;
        let d2 = d ^ b;
        self.state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        result
    }

    /// A number in `0..bound`, by multiply and shift: one multiplication, no division, no loop.
    ///
    /// The most likely numbers are more likely than the least by at most `bound / 2^64`, which no
    /// run can see at the bounds of a workload. A `bound` of zero gives zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `0.0..1.0`, a multiple of 2^-53.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True `percent` times out of a hundred: never for 0, always for 100 and above.
    #[inline]
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The reference sequence of xoshiro256++ from the state 1, 2, 3, 4.
        let mut random = Random {
            state: [1, 2, 3, 4],
        };
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
            14_011_001_112_246_962_877,
            12_406_186_145_184_390_807,
            15_849_039_046_786_891_736,
            10_450_023_813_501_588_000,
        ];
        for number in expected {
            assert_eq!(random.next_u64(), number);
        }
    }

    #[test]
    fn the_seed_is_spread_as_published() {
        let mut words = sardonyx_base::random::Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for number in expected {
            assert_eq!(words.next(), number);
        }
    }

    #[test]
    fn below_reaches_every_number_about_equally() {
        let mut random = Random::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(
            seen.iter().all(|&count| (9_500..10_500).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn chance_and_fraction_keep_their_bounds() {
        let mut random = Random::new(2);
        let hits = (0..100_000).filter(|_| random.chance(15)).count();
        assert!((14_500..15_500).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| !random.chance(0) && random.chance(100)));
        let mean = (0..100_000).map(|_| random.fraction()).sum::<f64>() / 100_000.0;
        assert!((0.495..0.505).contains(&mean), "{mean}");
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.fraction())));
    }
}
