//! Virtual time: instants and lengths of time in whole picoseconds.
//!
//! A model's clock must not drift and must not depend on the machine. Adding floating point seconds
//! rounds differently in a different order, and two events that belong to one instant fall apart.
//! Whole picoseconds add up exactly (invariant I11). They resolve the two-microsecond entry access
//! of the GEM paper (Table 4.1) to one part in two million, and reach 213 days in 64 bits.
//!
//! Overflow is a fault of the model and panics, in release builds too: a clock that wraps around
//! would order events wrongly without an error.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

const PICOSECONDS_PER_SECOND: f64 = 1e12;

/// An instant of virtual time, counted from the start of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of virtual time.
///
/// ```
/// use sardonyx_simulation::time::{Span, Time};
///
/// let disk_access = Span::from_milliseconds(16.4);
/// let end = Time::ZERO + disk_access * 2;
/// assert_eq!((end - Time::ZERO).as_seconds(), 0.0328);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);

    /// The last instant that can be named, 213 days after the start.
    pub const MAX: Time = Time(u64::MAX);

    /// Seconds since the start of the run, rounded to the nearest floating point number.
    pub fn as_seconds(self) -> f64 {
        Span(self.0).as_seconds()
    }

    pub(crate) const fn from_picoseconds(picoseconds: u64) -> Time {
        Time(picoseconds)
    }

    pub(crate) const fn as_picoseconds(self) -> u64 {
        self.0
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A length of `picoseconds`.
    pub const fn from_picoseconds(picoseconds: u64) -> Span {
        Span(picoseconds)
    }

    /// A length of `seconds`, rounded to the nearest picosecond.
    ///
    /// # Panics
    /// If `seconds` is negative, not a number, or above 213 days: parameters are checked where they
    /// are read, so such a length is a fault of the model.
    pub fn from_seconds(seconds: f64) -> Span {
        Span::from_scaled(seconds, PICOSECONDS_PER_SECOND)
    }

    /// A length of `milliseconds`, rounded to the nearest picosecond.
    ///
    /// # Panics
    /// As [`from_seconds`](Span::from_seconds).
    pub fn from_milliseconds(milliseconds: f64) -> Span {
        Span::from_scaled(milliseconds, PICOSECONDS_PER_SECOND / 1e3)
    }

    /// A length of `microseconds`, rounded to the nearest picosecond.
    ///
    /// # Panics
    /// As [`from_seconds`](Span::from_seconds).
    pub fn from_microseconds(microseconds: f64) -> Span {
        Span::from_scaled(microseconds, PICOSECONDS_PER_SECOND / 1e6)
    }

    /// The length in whole picoseconds, exact.
    pub const fn as_picoseconds(self) -> u64 {
        self.0
    }

    /// The length in seconds, rounded to the nearest floating point number.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND
    }

    /// The length in milliseconds, rounded to the nearest floating point number.
    pub fn as_milliseconds(self) -> f64 {
        self.0 as f64 / (PICOSECONDS_PER_SECOND / 1e3)
    }

    fn from_scaled(length: f64, picoseconds_per_unit: f64) -> Span {
        let picoseconds = length * picoseconds_per_unit;
        assert!(
            (0.0..u64::MAX as f64).contains(&picoseconds),
            "a length of time must be between 0 and 213 days, not {length} units of \
             {picoseconds_per_unit} picoseconds"
        );
        Span((picoseconds + 0.5) as u64)
    }
}

impl Add<Span> for Time {
    type Output = Time;

    #[inline]
    fn add(self, span: Span) -> Time {
        Time(
            self.0
                .checked_add(span.0)
                .expect("an instant within the 213 days of a run"),
        )
    }
}

impl Sub for Time {
    type Output = Span;

    /// # Panics
    /// If `earlier` is later than `self`.
    #[inline]
    fn sub(self, earlier: Time) -> Span {
        Span(
            self.0
                .checked_sub(earlier.0)
                .expect("the earlier instant is subtracted"),
        )
    }
}

impl Add for Span {
    type Output = Span;

    #[inline]
    fn add(self, other: Span) -> Span {
        Span(
            self.0
                .checked_add(other.0)
                .expect("a length within 213 days"),
        )
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;

    /// # Panics
    /// If `other` is longer than `self`.
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(
            self.0
                .checked_sub(other.0)
                .expect("the shorter length is subtracted"),
        )
    }
}

impl Mul<u64> for Span {
    type Output = Span;

    #[inline]
    fn mul(self, factor: u64) -> Span {
        Span(
            self.0
                .checked_mul(factor)
                .expect("a length within 213 days"),
        )
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} s", self.as_seconds())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} s", self.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_exact_in_picoseconds() {
        assert_eq!(Span::from_microseconds(2.0).as_picoseconds(), 2_000_000);
        assert_eq!(
            Span::from_milliseconds(16.4).as_picoseconds(),
            16_400_000_000
        );
        assert_eq!(Span::from_seconds(0.1).as_picoseconds(), 100_000_000_000);
        assert_eq!(
            Span::from_seconds(1.6e-12).as_picoseconds(),
            2,
            "rounded, not cut"
        );
        assert_eq!(Span::from_milliseconds(6.4).as_milliseconds(), 6.4);
    }

    #[test]
    fn sums_do_not_drift() {
        let tenth = Span::from_seconds(0.1);
        let sum: Span = std::iter::repeat_n(tenth, 10).sum();
        assert_eq!(sum, Span::from_seconds(1.0));
        assert_eq!(tenth * 10, sum);
        let mut instant = Time::ZERO;
        for _ in 0..10 {
            instant = instant + tenth;
        }
        assert_eq!(instant - Time::ZERO, sum);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            let outcome = std::panic::catch_unwind(|| Span::from_seconds(seconds));
            assert!(outcome.is_err(), "{seconds} seconds");
        }
        assert!(std::panic::catch_unwind(|| Time::MAX + Span(1)).is_err());
        assert!(std::panic::catch_unwind(|| Time::ZERO - Time(1)).is_err());
        assert!(std::panic::catch_unwind(|| Span(u64::MAX) * 2).is_err());
    }
}
