//! Intervals: months, days and microseconds, read and written as PostgreSQL does.
//!
//! An expression has an interval as its text in the style `postgres`, which is the same for equal parts. Intervals of one
//! length are equal even with different parts: [`Interval::length`] compares them.
//!
//! Source: PostgreSQL 15, `EncodeInterval` in `datetime.c`, `interval_*` in `timestamp.c`.

mod designators;
mod fields;
mod reading;
mod styles;
mod sum;

pub(crate) use styles::IntervalStyle;

use super::arithmetic::DAY;
use crate::error::{SqlError, code};
use crate::types::interval_fields::ALL_FIELDS;
use sardonyx::schema::Value;
use std::fmt;

const DAYS_OF_MONTH: i64 = 30;
const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
const MINUTE: i64 = 60 * SECOND;

/// A span of time: months, days and microseconds, which are independent of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

impl Interval {
    /// Negates all parts.
    ///
    /// # Errors
    /// `22008` if one is the least of its range.
    pub fn negated(self) -> Result<Interval, SqlError> {
        Interval::default().plus(self, -1)
    }

    /// Reads the text of an expression's interval.
    pub fn known(text: &str) -> Interval {
        reading::read(text, ALL_FIELDS, true).unwrap_or_default()
    }

    /// Reads `1 day`, `2 hours 30 minutes ago`, `-1 mon`, `01:30:00`, `1-2`, `P1DT2H`.
    ///
    /// # Errors
    /// `22007` if the text is none, `22015` and `22008` if it is too long.
    pub fn read(text: &str) -> Result<Interval, SqlError> {
        reading::read(text, ALL_FIELDS, false).map_err(|bad| bad.of(text))
    }

    /// An interval of parts that may be too large.
    ///
    /// # Errors
    /// `22008` if they are.
    pub fn of_parts(months: i128, days: i128, micros: i128) -> Result<Interval, SqlError> {
        match (months.try_into(), days.try_into(), micros.try_into()) {
            (Ok(months), Ok(days), Ok(micros)) => Ok(Interval {
                months,
                days,
                micros,
            }),
            _ => Err(out_of_range()),
        }
    }

    /// An interval of parts that were computed as floats.
    ///
    /// # Errors
    /// `22008` if they are too large.
    fn of_floats(months: f64, days: f64, micros: f64) -> Result<Interval, SqlError> {
        let part = |part: f64| match part.is_finite() {
            true => Ok(part as i128),
            false => Err(out_of_range()),
        };
        Interval::of_parts(part(months)?, part(days)?, part(micros)?)
    }

    /// The value for an expression.
    pub fn value(self) -> Value {
        Value::Text(self.to_string())
    }

    /// Microseconds, with months of 30 days: intervals are compared by them.
    pub fn length(self) -> i128 {
        let days = i128::from(self.months) * i128::from(DAYS_OF_MONTH) + i128::from(self.days);
        days * i128::from(DAY) + i128::from(self.micros)
    }

    /// The sum, or with `-1` the difference, of two.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn plus(self, other: Interval, times: i128) -> Result<Interval, SqlError> {
        Interval::of_parts(
            i128::from(self.months) + times * i128::from(other.months),
            i128::from(self.days) + times * i128::from(other.days),
            i128::from(self.micros) + times * i128::from(other.micros),
        )
    }

    /// Multiplies an interval: fractions of months go to days, and of days to the time.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn times(self, factor: f64) -> Result<Interval, SqlError> {
        self.scaled(|part| part * factor)
    }

    /// Divides an interval.
    ///
    /// # Errors
    /// `22012` of none, `22008` if it is out of range.
    pub fn divided(self, by: f64) -> Result<Interval, SqlError> {
        match by == 0.0 {
            true => Err(super::arithmetic::division_by_zero()),
            false => self.scaled(|part| part / by),
        }
    }

    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Interval, SqlError> {
        let rounded = |value: f64| (value * 1e6).round_ties_even() / 1e6;
        let seconds_of_day = (DAY / SECOND) as f64;
        let (months, days) = (scale(self.months.into()), scale(self.days.into()));
        let of_months = rounded((months - months.trunc()) * DAYS_OF_MONTH as f64);
        let left = days - days.trunc() + of_months - of_months.trunc();
        let mut seconds = rounded(left * seconds_of_day);
        let mut whole_days = days.trunc() + of_months.trunc();
        if seconds.abs() >= seconds_of_day {
            let more = (seconds / seconds_of_day).trunc();
            whole_days += more;
            seconds -= more * seconds_of_day;
        }
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        Interval::of_floats(months.trunc(), whole_days, micros)
    }

    /// Moves whole days of its time to its days.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn with_days_of_time(self) -> Result<Interval, SqlError> {
        let mut days = i128::from(self.days) + i128::from(self.micros / DAY);
        let mut micros = self.micros % DAY;
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + DAY);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - DAY);
        }
        Interval::of_parts(self.months.into(), days, micros.into())
    }

    /// Moves each 30 of its days to a month.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn with_months_of_days(self) -> Result<Interval, SqlError> {
        let mut months = i128::from(self.months) + i128::from(i64::from(self.days) / DAYS_OF_MONTH);
        let mut days = i64::from(self.days) % DAYS_OF_MONTH;
        if months > 0 && days < 0 {
            (months, days) = (months - 1, days + DAYS_OF_MONTH);
        } else if months < 0 && days > 0 {
            (months, days) = (months + 1, days - DAYS_OF_MONTH);
        }
        Interval::of_parts(months, days.into(), self.micros.into())
    }

    /// Does both, and gives all parts one sign.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn justified(self) -> Result<Interval, SqlError> {
        let (mut months, mut days) = (i128::from(self.months), i128::from(self.days));
        days += i128::from(self.micros / DAY);
        let mut micros = i128::from(self.micros % DAY);
        let (month, day) = (i128::from(DAYS_OF_MONTH), i128::from(DAY));
        months += days / month;
        days %= month;
        if months > 0 && (days < 0 || days == 0 && micros < 0) {
            (months, days) = (months - 1, days + month);
        } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
            (months, days) = (months + 1, days - month);
        }
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + day);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - day);
        }
        Interval::of_parts(months, days, micros)
    }
}

#[cold]
pub(crate) fn out_of_range() -> SqlError {
    SqlError::new(code::DATETIME_OVERFLOW, "interval out of range")
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut is_first, mut is_negative) = (true, false);
        let parts = [
            (self.months / 12, "year"),
            (self.months % 12, "mon"),
            (self.days, "day"),
        ];
        for (number, unit) in parts {
            if number == 0 {
                continue;
            }
            let blank = if is_first { "" } else { " " };
            let plus = if is_negative && number > 0 { "+" } else { "" };
            let plural = if number == 1 { "" } else { "s" };
            write!(f, "{blank}{plus}{number} {unit}{plural}")?;
            (is_first, is_negative) = (false, number < 0);
        }
        if !is_first && self.micros == 0 {
            return Ok(());
        }
        let blank = if is_first { "" } else { " " };
        let sign = match self.micros < 0 {
            true => "-",
            false if is_negative => "+",
            false => "",
        };
        let micros = self.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(
            f,
            "{blank}{sign}{hours:02}:{minutes:02}:{:02}",
            seconds % 60
        )?;
        match micros % 1_000_000 {
            0 => Ok(()),
            fraction => {
                let digits = format!("{fraction:06}");
                write!(f, ".{}", digits.trim_end_matches('0'))
            }
        }
    }
}
