//! The popularity of many items: equal, by Zipf's law, scattered, or the newest most.
//!
//! Zipf's law here is YCSB's. Item `i` (from 0) is drawn with a probability proportional to `1 / (i + 1)^0.99`, by the
//! method of Gray et al. The method needs one random number and one power. The scattered form draws from ten billion
//! ranks and hashes the rank to an item, so that popular items lie anywhere. The newest-first form counts ranks from
//! the end.
//!
//! Source: B. F. Cooper et al., *Benchmarking Cloud Serving Systems with YCSB* (2010), section 4; J. Gray et
//! al., *Quickly Generating Billion-Record Synthetic Databases* (1994), section 3.

use crate::random::Random;
use sardonyx_base::hash::Fnv1a;

/// The exponent.
const THETA: f64 = 0.99;
/// Ranks of the scattered form.
const SCATTERED_RANKS: u64 = 10_000_000_000;
/// The sum of `1 / i^0.99` over them, as YCSB has it.
const SCATTERED_SUM: f64 = 26.469_028_201_783_02;

/// Ranks by Zipf's law, from 0.
///
/// ```
/// use sardonyx_workload::{popularity::Zipf, random::Random};
///
/// let mut random = Random::new(1);
/// let zipf = Zipf::new(1_000);
/// let first = (0..10_000).filter(|_| zipf.rank(&mut random) == 0).count();
/// assert!((1_200..1_450).contains(&first));
/// ```
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: u64,
    sum: f64,
    /// The sum over the first two.
    sum_of_two: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    /// So many ranks, at least one. Takes time in proportion to their number.
    pub fn new(ranks: u64) -> Self {
        Zipf::with_sum(ranks.max(1), sum(0, ranks.max(1), 0.0))
    }

    fn with_sum(ranks: u64, of_all: f64) -> Self {
        let sum_of_two = sum(0, 2, 0.0);
        let eta = (1.0 - libm::pow(2.0 / ranks as f64, 1.0 - THETA)) / (1.0 - sum_of_two / of_all);
        Zipf {
            ranks,
            sum: of_all,
            sum_of_two,
            alpha: 1.0 / (1.0 - THETA),
            eta,
        }
    }

    /// Adds ranks at the end, in time proportional to how many.
    pub fn grow_to(&mut self, ranks: u64) {
        if ranks > self.ranks {
            *self = Zipf::with_sum(ranks, sum(self.ranks, ranks, self.sum));
        }
    }

    /// Draws a rank, 0 being the most popular.
    pub fn rank(&self, random: &mut Random) -> u64 {
        let fraction = random.fraction();
        let scaled = fraction * self.sum;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.sum_of_two {
            return 1.min(self.ranks - 1);
        }
        let base = self.eta * fraction - self.eta + 1.0;
        let rank = (self.ranks as f64 * libm::pow(base, self.alpha)) as u64;
        rank.min(self.ranks - 1)
    }
}

/// Adds `1 / i^0.99` for the ranks `from..to`, which are numbered from 1 there.
fn sum(from: u64, to: u64, before: f64) -> f64 {
    (from + 1..=to).fold(before, |sum, rank| {
        sum + 1.0 / libm::pow(rank as f64, THETA)
    })
}

/// The popular items.
#[derive(Clone, Debug)]
pub enum Popularity {
    /// All are equally.
    Uniform,
    /// Some, which lie anywhere.
    Scattered(Zipf),
    /// The newest.
    Latest(Zipf),
}

impl Popularity {
    /// Some, which lie anywhere.
    pub fn scattered() -> Self {
        Popularity::Scattered(Zipf::with_sum(SCATTERED_RANKS, SCATTERED_SUM))
    }

    /// The newest of so many.
    pub fn latest(items: u64) -> Self {
        Popularity::Latest(Zipf::new(items))
    }

    /// One of so many items, at least one; there may be more than before.
    #[inline]
    pub fn item(&mut self, items: u64, random: &mut Random) -> u64 {
        match self {
            Popularity::Uniform => random.below(items),
            Popularity::Scattered(zipf) => hash(zipf.rank(random)) % items,
            Popularity::Latest(zipf) => {
                zipf.grow_to(items);
                items - 1 - zipf.rank(random).min(items - 1)
            }
        }
    }
}

/// FNV-1a of a number's eight bytes.
pub fn hash(number: u64) -> u64 {
    Fnv1a::of(&number.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(popularity: &mut Popularity, items: u64, draws: u64) -> Vec<u64> {
        let mut random = Random::new(5);
        let mut counts = vec![0; items as usize];
        (0..draws).for_each(|_| counts[popularity.item(items, &mut random) as usize] += 1);
        counts
    }

    #[test]
    fn ranks_are_as_frequent_as_zipfs_law_says() {
        let mut random = Random::new(1);
        let (zipf, draws) = (Zipf::new(1_000), 1_000_000);
        let mut counts = vec![0_u32; 1_000];
        (0..draws).for_each(|_| counts[zipf.rank(&mut random) as usize] += 1);
        // The method is exact for the first two, and close for sums over the others.
        for rank in [0, 1] {
            let expected = draws as f64 / libm::pow(rank as f64 + 1.0, THETA) / zipf.sum;
            let ratio = f64::from(counts[rank]) / expected;
            assert!((0.98..1.02).contains(&ratio), "rank {rank}: {ratio}");
        }
        let first_hundred: u32 = counts[..100].iter().sum();
        let expected = draws as f64 * sum(0, 100, 0.0) / zipf.sum;
        let ratio = f64::from(first_hundred) / expected;
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
    }

    #[test]
    fn growing_is_as_if_it_had_been_as_large() {
        let mut grown = Zipf::new(10);
        grown.grow_to(1_000);
        assert_eq!(grown.sum, Zipf::new(1_000).sum);
        let (mut one, mut other) = (Random::new(3), Random::new(3));
        let zipf = Zipf::new(1_000);
        assert!((0..1_000).all(|_| zipf.rank(&mut one) == grown.rank(&mut other)));
        let alone = Zipf::new(1);
        assert!((0..1_000).all(|_| alone.rank(&mut one) == 0));
    }

    #[test]
    fn each_form_prefers_what_it_says() {
        let uniform = counted(&mut Popularity::Uniform, 100, 100_000);
        assert!(uniform.iter().all(|count| (800..1_200).contains(count)));
        let latest = counted(&mut Popularity::latest(10), 100, 100_000);
        assert!(latest[99] > latest[98] && latest[98] > latest[50] && latest[50] > latest[0]);
        let mut scattered = counted(&mut Popularity::scattered(), 100, 100_000);
        let most = scattered
            .iter()
            .position(|count| *count == *scattered.iter().max().unwrap());
        assert_eq!(most, Some((hash(0) % 100) as usize), "the first rank's");
        scattered.sort_unstable();
        assert!(scattered[0] > 0 && scattered[99] > 4 * scattered[50]);
    }
}
