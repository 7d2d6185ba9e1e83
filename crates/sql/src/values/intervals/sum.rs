//! The parts of an interval while its text is read: each is kept within its range.
//!
//! Source: PostgreSQL 15, `AdjustMicroseconds`, `AdjustFractDays` and their kin in `datetime.c`.

use super::reading::Bad;
use super::{DAYS_OF_MONTH, HOUR, Interval, MINUTE, SECOND};
use crate::values::arithmetic::DAY;

/// A unit of an interval's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
    /// A word that no number may have.
    None,
}

/// A number with a fraction of the same sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub whole: i64,
    pub fraction: f64,
}

/// The parts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    years: i32,
    months: i32,
    days: i32,
    pub micros: i64,
}

impl Sum {
    /// Adds a number of units. Its fraction goes to the smaller parts.
    ///
    /// # Errors
    /// If a part is out of range then, or the unit has no numbers.
    pub fn add(&mut self, number: Number, unit: Unit) -> Result<(), Bad> {
        let added = match unit {
            Unit::Microsecond => self.add_micros(number, 1),
            Unit::Millisecond => self.add_micros(number, 1000),
            Unit::Second => self.add_micros(number, SECOND),
            Unit::Minute => self.add_micros(number, MINUTE),
            Unit::Hour => self.add_micros(number, HOUR),
            Unit::Day => self.add_days(number, 1),
            Unit::Week => self.add_days(number, 7),
            Unit::Month => self.add_months(number),
            Unit::Year => self.add_years(number, 1),
            Unit::Decade => self.add_years(number, 10),
            Unit::Century => self.add_years(number, 100),
            Unit::Millennium => self.add_years(number, 1000),
            Unit::None => return Err(Bad::Format),
        };
        added.ok_or(Bad::Field)
    }

    fn add_micros(&mut self, number: Number, unit: i64) -> Option<()> {
        self.micros = self.micros.checked_add(number.whole.checked_mul(unit)?)?;
        self.add_fraction(number.fraction, unit)
    }

    /// Adds a fraction of a unit. Half a microsecond is rounded to the smaller number.
    fn add_fraction(&mut self, fraction: f64, unit: i64) -> Option<()> {
        let exact = fraction * unit as f64;
        let rest = exact - exact.trunc();
        let more = i64::from(rest > 0.5) - i64::from(rest < -0.5);
        self.micros = self.micros.checked_add(exact as i64 + more)?;
        Some(())
    }

    fn add_days(&mut self, number: Number, days: i32) -> Option<()> {
        let whole = i32::try_from(number.whole).ok()?.checked_mul(days)?;
        self.days = self.days.checked_add(whole)?;
        self.add_fraction_of_days(number.fraction, f64::from(days))
    }

    fn add_fraction_of_days(&mut self, fraction: f64, days: f64) -> Option<()> {
        let exact = fraction * days;
        self.days = self.days.checked_add(exact as i32)?;
        self.add_fraction(exact - exact.trunc(), DAY)
    }

    fn add_months(&mut self, number: Number) -> Option<()> {
        let whole = i32::try_from(number.whole).ok()?;
        self.months = self.months.checked_add(whole)?;
        self.add_fraction_of_days(number.fraction, DAYS_OF_MONTH as f64)
    }

    fn add_years(&mut self, number: Number, years: i32) -> Option<()> {
        let whole = i32::try_from(number.whole).ok()?.checked_mul(years)?;
        self.years = self.years.checked_add(whole)?;
        let months = (number.fraction * f64::from(years) * 12.0).round_ties_even();
        self.months = self.months.checked_add(months as i32)?;
        Some(())
    }

    pub fn negated(self) -> Option<Sum> {
        Some(Sum {
            years: self.years.checked_neg()?,
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }

    /// The interval; none if its months are out of range.
    pub fn interval(self) -> Option<Interval> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        Some(Interval {
            months: i32::try_from(months).ok()?,
            days: self.days,
            micros: self.micros,
        })
    }
}
