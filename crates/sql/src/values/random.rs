//! The generator of random numbers of a session that has called `setseed`: the same numbers as PostgreSQL 15's.
//!
//! Source: xoroshiro128** by Blackman and Vigna, seeded by splitmix64; PostgreSQL's documentation, 9.3 (`setseed`).

use sardonyx_base::random::Random;

/// The state of a generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Generator([u64; 2]);

impl Generator {
    /// A generator that begins with a number from -1 to 1.
    pub fn seeded(with: f64) -> Generator {
        let state = (((1_u64 << 52) - 1) as f64 * with) as i64 as u64;
        let mut random = Random::new(state);
        Generator([random.next(), random.next()])
    }

    /// The next number, from 0 up to, but not, 1.
    pub fn next(&mut self) -> f64 {
        let [first, second] = self.0;
        let bits = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mixed = first ^ second;
        self.0 = [
            first.rotate_left(24) ^ mixed ^ mixed << 16,
            mixed.rotate_left(37),
        ];
        (bits >> 12) as f64 / (1_u64 << 52) as f64
    }
}
