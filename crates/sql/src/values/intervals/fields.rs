//! The fields and digits that an interval is cut to: `interval day to minute`, `interval second(3)`.
//!
//! They are in a type's modifier as PostgreSQL has them: a bit for each field in the upper half, the digits of a second's
//! fraction in the lower one.
//!
//! Source: PostgreSQL 15, `AdjustIntervalForTypmod` and `DecodeInterval`.

use super::Interval;
use crate::error::SqlError;

const MONTH: i32 = 1 << 1;
const YEAR: i32 = 1 << 2;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;
/// No fields are said, and no digits.
const ALL_FIELDS: i32 = 0x7FFF;
const ALL_DIGITS: i32 = 0xFFFF;

const MICROS_OF_SECOND: i64 = 1_000_000;
const MICROS_OF_MINUTE: i64 = 60 * MICROS_OF_SECOND;
const MICROS_OF_HOUR: i64 = 60 * MICROS_OF_MINUTE;

/// Fields as SQL writes them.
const NAMES: [(i32, &str); 13] = [
    (YEAR, "year"),
    (MONTH, "month"),
    (DAY, "day"),
    (HOUR, "hour"),
    (MINUTE, "minute"),
    (SECOND, "second"),
    (YEAR | MONTH, "year to month"),
    (DAY | HOUR, "day to hour"),
    (DAY | HOUR | MINUTE, "day to minute"),
    (DAY | HOUR | MINUTE | SECOND, "day to second"),
    (HOUR | MINUTE, "hour to minute"),
    (HOUR | MINUTE | SECOND, "hour to second"),
    (MINUTE | SECOND, "minute to second"),
];

/// The modifier of fields, as SQL writes them, and digits, of which there are six at most. None if there are no such fields.
pub(crate) fn modifier_of(fields: Option<&str>, digits: Option<u64>) -> Option<i32> {
    let range = match fields {
        None => ALL_FIELDS,
        Some(fields) => {
            let fields = fields.to_ascii_lowercase();
            NAMES.iter().find(|(_, name)| *name == fields)?.0
        }
    };
    if digits.is_some() && range != ALL_FIELDS && range & SECOND == 0 {
        return None;
    }
    Some(match (range, digits) {
        (ALL_FIELDS, None) => -1,
        (range, digits) => range << 16 | digits.map_or(ALL_DIGITS, |digits| digits.min(6) as i32),
    })
}

/// As SQL writes a modifier behind `interval`.
pub(crate) fn shown(modifier: i32) -> String {
    if modifier < 0 {
        return String::new();
    }
    let (range, digits) = (modifier >> 16 & ALL_FIELDS, modifier & ALL_DIGITS);
    let fields = NAMES.iter().find(|(known, _)| *known == range);
    let fields = fields.map_or(String::new(), |(_, name)| format!(" {name}"));
    match digits {
        ALL_DIGITS => fields,
        digits => format!("{fields}({digits})"),
    }
}

/// A text in which a number without a unit, or a clock without hours, is of the fields of a modifier.
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
    /// Those of [`Interval::read`].
    pub(crate) fn read_as(text: &str, modifier: i32) -> Result<Interval, SqlError> {
        Ok(Interval::read(&with_units(text, modifier))?.cut_to(modifier))
    }

    /// It without what a modifier leaves out.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_those_of_postgresql() {
        // `select atttypmod` of columns of these types.
        for (fields, digits, modifier, text) in [
            (None, None, -1, ""),
            (None, Some(3), 2_147_418_115, "(3)"),
            (
                Some("DAY TO SECOND"),
                Some(2),
                470_286_338,
                " day to second(2)",
            ),
            (Some("year"), None, 327_679, " year"),
            (Some("hour to minute"), None, 201_392_127, " hour to minute"),
        ] {
            assert_eq!(modifier_of(fields, digits), Some(modifier), "{fields:?}");
            assert_eq!(shown(modifier), text);
        }
        assert_eq!(modifier_of(Some("day"), Some(3)), None);
        assert_eq!(modifier_of(Some("day to year"), None), None);
    }
}
