//! Draws of pseudo-random numbers: the same seed gives the same ones everywhere.

/// A generator of a world.
#[derive(Clone, Debug)]
pub struct Random(sardonyx_base::random::Random);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(sardonyx_base::random::Random::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of them, if there is any.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
}
