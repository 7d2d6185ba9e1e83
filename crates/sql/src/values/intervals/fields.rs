//! Intervals of a type with fields or digits, read and truncated to them.
//!
//! Source: PostgreSQL 15, `AdjustIntervalForTypmod` and `DecodeInterval`.

use super::Interval;
use crate::error::SqlError;
use crate::types::interval_fields::{
    ALL_DIGITS, ALL_FIELDS, DAY, HOUR, MINUTE, MONTH, SECOND, YEAR,
};

const MICROS_OF_SECOND: i64 = 1_000_000;
const MICROS_OF_MINUTE: i64 = 60 * MICROS_OF_SECOND;
const MICROS_OF_HOUR: i64 = 60 * MICROS_OF_MINUTE;

/// A text whose numbers without a unit, or clocks without hours, get the units of a modifier.
fn with_units(text: &str, modifier: i32) -> String {
    let range = modifier >> 16 & ALL_FIELDS;
    if modifier < 0 || range == ALL_FIELDS {
        return text.to_string();
    }
    let text = text.trim_end();
    let (before, last) = match text.rsplit_once(char::is_whitespace) {
        Some((before, last)) => (format!("{before} "), last),
        None => (String::new(), text),
    };
    let digits = last.trim_start_matches(['-', '+']);
    let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    if is_number {
        let unit = match range {
            YEAR => "year",
            MONTH => "month",
            DAY => "day",
            _ if range & SECOND != 0 => "second",
            _ if range & MINUTE != 0 => "minute",
            _ if range & HOUR != 0 => "hour",
            _ => "month",
        };
        return format!("{text} {unit}");
    }
    let is_clock = digits.bytes().filter(|c| *c == b':').count() == 1
        && digits
            .bytes()
            .all(|c| c.is_ascii_digit() || matches!(c, b':' | b'.'));
    match is_clock && range == MINUTE | SECOND {
        true => {
            let sign = last.strip_suffix(digits).unwrap_or_default();
            format!("{before}{sign}00:{digits}")
        }
        false => text.to_string(),
    }
}

impl Interval {
    /// Reads an interval of a type with a modifier.
    ///
    /// # Errors
    /// As [`Interval::read`].
    pub(crate) fn read_as(text: &str, modifier: i32) -> Result<Interval, SqlError> {
        Ok(Interval::read(&with_units(text, modifier))?.cut_to(modifier))
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
