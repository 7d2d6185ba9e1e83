//! The generator of random numbers of a session that has called `setseed`: the same numbers as PostgreSQL 15's.
//!
//! Source: xoroshiro128** by Blackman and Vigna, seeded by splitmix64; PostgreSQL's documentation, 9.3 (`setseed`).

/// The state of a generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Generator([u64; 2]);

impl Generator {
    /// A generator that begins with a number from -1 to 1.
    pub fn seeded(with: f64) -> Generator {
        let mut state = (((1_u64 << 52) - 1) as f64 * with) as i64 as u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        Generator([next(), next()])
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
