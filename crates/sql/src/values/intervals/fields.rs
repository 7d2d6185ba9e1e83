//! Intervals of a type with fields or digits, read and truncated to them.
//!
//! Source: PostgreSQL 15, `AdjustIntervalForTypmod`.

use super::Interval;
use super::reading::{read, read_sum};
use crate::error::SqlError;
use crate::types::interval_fields::{ALL_DIGITS, ALL_FIELDS, HOUR, MINUTE, MONTH, SECOND, YEAR};

const MICROS_OF_SECOND: i64 = 1_000_000;
const MICROS_OF_MINUTE: i64 = 60 * MICROS_OF_SECOND;
const MICROS_OF_HOUR: i64 = 60 * MICROS_OF_MINUTE;

impl Interval {
    /// Reads an interval of a type with a modifier.
    ///
    /// # Errors
    /// As [`Interval::read`].
    pub(crate) fn read_as(text: &str, modifier: i32) -> Result<Interval, SqlError> {
        let range = match modifier {
            ..0 => ALL_FIELDS,
            _ => modifier >> 16 & ALL_FIELDS,
        };
        let interval = read(text, range, false).map_err(|bad| bad.of(text))?;
        Ok(interval.cut_to(modifier))
    }

    /// The same of a text that the database may keep: earlier versions added a unit that a text has twice.
    ///
    /// # Errors
    /// As [`Interval::read`].
    pub(crate) fn read_in(text: &str, modifier: i32, is_kept: bool) -> Result<Interval, SqlError> {
        match Interval::read_as(text, modifier) {
            Err(error) if is_kept => {
                let read = read_sum(text).map_err(|_| error)?;
                Ok(read.cut_to(modifier))
            }
            read => read,
        }
    }

    /// Removes the fields and digits that a modifier does not have.
    pub(crate) fn cut_to(mut self, modifier: i32) -> Interval {
        if modifier < 0 {
            return self;
        }
        let (range, digits) = (modifier >> 16 & ALL_FIELDS, modifier & ALL_DIGITS);
        if range != ALL_FIELDS {
            let least = match range {
                _ if range & SECOND != 0 => 1,
                _ if range & MINUTE != 0 => MICROS_OF_MINUTE,
                _ if range & HOUR != 0 => MICROS_OF_HOUR,
                _ => i64::MAX,
            };
            self.micros = match least {
                i64::MAX => 0,
                unit => self.micros / unit * unit,
            };
            if range & (YEAR | MONTH) != 0 {
                self.days = 0;
            }
            if range == YEAR {
                self.months = self.months / 12 * 12;
            }
        }
        if digits < 6 {
            let unit = 10_i64.pow(6 - digits as u32);
            let half = unit / 2 * self.micros.signum();
            self.micros = self.micros.saturating_add(half) / unit * unit;
        }
        self
    }
}
