//! A level that changes at instants, averaged over virtual time.

use crate::time::{Span, Time};

/// The mean over virtual time of a whole number: how many transactions are active, how many pages
/// are dirty.
///
/// The integral is kept in picoseconds and is exact.
///
/// ```
/// use sardonyx_simulation::statistics::TimeWeighted;
/// use sardonyx_simulation::time::{Span, Time};
///
/// let second = Span::from_seconds(1.0);
/// let mut active = TimeWeighted::new(Time::ZERO, 0);
/// active.set(Time::ZERO + second, 3);
/// assert_eq!(active.mean(Time::ZERO + second * 4), 2.25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeWeighted {
    start: Time,
    changed: Time,
    level: u64,
    max: u64,
    integral: u128,
}

impl TimeWeighted {
    /// A level that is measured from `now` on.
    pub fn new(now: Time, level: u64) -> TimeWeighted {
        TimeWeighted {
            start: now,
            changed: now,
            level,
            max: level,
            integral: 0,
        }
    }

    /// The level changes.
    ///
    /// # Panics
    /// If `now` is before the last change.
    #[inline]
    pub fn set(&mut self, now: Time, level: u64) {
        self.integral = self.integral(now);
        self.changed = now;
        self.level = level;
        self.max = self.max.max(level);
    }

    /// Measures from `now` on; the level stays.
    pub fn reset(&mut self, now: Time) {
        *self = TimeWeighted::new(now, self.level);
    }

    /// The present level.
    pub fn level(&self) -> u64 {
        self.level
    }

    /// The highest level since the start of the measurement.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The level integrated over time up to `now`, in picoseconds.
    ///
    /// # Panics
    /// If `now` is before the last change.
    #[inline]
    pub fn integral(&self, now: Time) -> u128 {
        self.integral + product(now - self.changed, self.level)
    }

    /// The mean level over time up to `now`; the level itself if no time has passed.
    ///
    /// # Panics
    /// If `now` is before the last change.
    pub fn mean(&self, now: Time) -> f64 {
        if now == self.start {
            return self.level as f64;
        }
        self.integral(now) as f64 / (now - self.start).as_picoseconds() as f64
    }
}

#[inline]
fn product(span: Span, level: u64) -> u128 {
    u128::from(span.as_picoseconds()) * u128::from(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_seconds(seconds)
    }

    #[test]
    fn the_integral_is_the_area_under_the_level() {
        let mut level = TimeWeighted::new(at(1.0), 2);
        level.set(at(3.0), 5);
        level.set(at(3.0), 4);
        level.set(at(4.0), 0);
        assert_eq!(level.integral(at(9.0)), (2 * 2 + 4) * 1_000_000_000_000);
        assert_eq!(level.mean(at(9.0)), 1.0);
        assert_eq!((level.level(), level.max()), (0, 5));
    }

    #[test]
    fn a_reset_forgets_the_past_and_keeps_the_level() {
        let mut level = TimeWeighted::new(at(0.0), 9);
        level.set(at(5.0), 3);
        level.reset(at(6.0));
        assert_eq!((level.mean(at(6.0)), level.max()), (3.0, 3));
        level.set(at(7.0), 1);
        assert_eq!(level.mean(at(8.0)), 2.0);
    }
}
