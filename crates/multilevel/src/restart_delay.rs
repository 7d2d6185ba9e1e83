//! The pause of a transaction that was the victim of a deadlock before it is run again.
//!
//! A victim that begins again at once meets the same transactions in the same places. Under
//! [`VictimRule::Youngest`](sardonyx_lock::VictimRule::Youngest) that does no harm. If the transaction that closes a
//! cycle gives way, transactions may end one another for ever, and a random delay is the cure.
//!
//! The delays are a function of a seed, of the transaction's age and of how often it was a victim: the
//! same transactions wait the same times in every run.

use sardonyx_base::random::Random;
use std::time::Duration;

/// A delay, drawn anew each time: uniform from nothing to `most`. The default is none.
///
/// ```
/// use sardonyx_multilevel::RestartDelay;
/// use std::time::Duration;
///
/// let delay = RestartDelay::up_to(Duration::from_millis(50));
/// assert!(delay.before(7, 1) <= Duration::from_millis(50));
/// assert_eq!(delay.before(7, 1), delay.before(7, 1));
/// assert_eq!(RestartDelay::NONE.before(7, 1), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RestartDelay {
    most: Duration,
    seed: u64,
}

impl RestartDelay {
    /// Victims are run again at once.
    pub const NONE: RestartDelay = RestartDelay {
        most: Duration::ZERO,
        seed: 0,
    };

    /// From nothing to `most`. More than 2^64 nanoseconds (584 years) are as many.
    pub const fn up_to(most: Duration) -> RestartDelay {
        RestartDelay { most, seed: 0 }
    }

    /// The same with other draws.
    pub const fn seeded(self, seed: u64) -> RestartDelay {
        RestartDelay { seed, ..self }
    }

    /// The longest.
    pub const fn most(self) -> Duration {
        self.most
    }

    /// The delay before a transaction of this age ([`crate::Transaction::age`]) begins again after it was a victim for
    /// the nth time. [`crate::Database::run`] waits so long; a caller of [`crate::Database::begin_again`] may.
    pub fn before(self, age: u64, n: u64) -> Duration {
        let most = u64::try_from(self.most.as_nanos()).unwrap_or(u64::MAX);
        if most == 0 {
            return Duration::ZERO;
        }
        let of_transaction = Random::stream(self.seed, age).next();
        let draw = Random::stream(of_transaction, n).below(most.saturating_add(1));
        Duration::from_nanos(draw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_spread_evenly_and_differ_by_age_turn_and_seed() {
        let most = Duration::from_millis(100);
        let delay = RestartDelay::up_to(most);
        let all: Vec<Duration> = (0..100)
            .flat_map(|age| (1..=10).map(move |n| delay.before(age, n)))
            .collect();
        assert!(all.iter().all(|one| *one <= most));
        for quarter in 0..4 {
            let within = most * quarter / 4..most * (quarter + 1) / 4;
            let count = all.iter().filter(|one| within.contains(one)).count();
            assert!((200..300).contains(&count), "{quarter}: {count}");
        }
        let mut different = all.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), all.len());
        assert_ne!(delay.before(1, 1), delay.seeded(1).before(1, 1));
    }

    #[test]
    fn the_shortest_and_the_longest_limits_are_kept() {
        let least = RestartDelay::up_to(Duration::from_nanos(1));
        let drawn: Vec<u128> = (0..50).map(|age| least.before(age, 1).as_nanos()).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1));
        assert!(RestartDelay::up_to(Duration::MAX).before(3, 4) > Duration::ZERO);
    }
}
