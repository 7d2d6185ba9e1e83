//! Moments and intervals as `to_char` writes them, pattern by pattern.
//!
//! Source: `DCH_to_char` of PostgreSQL's `formatting.c`, in the locale C.

use super::{Modifiers, Part, of_moments, ordinal_end};
use crate::error::SqlError;
use crate::values::arithmetic::DAY;
use crate::values::intervals::Interval;
use sardonyx_rows::value_text::{date_of, days_of};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The first three letters of a name.
pub(super) fn short_name(name: &'static str) -> &'static str {
    name.get(..3).unwrap_or(name)
}

pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
pub(super) const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];
/// The Julian day of the first of January 1970.
pub(super) const JULIAN: i64 = 2_440_588;

/// The parts of a moment, or of an interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// 0 is the year 1 BC.
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// Sunday is 0.
    weekday: usize,
    year_day: i64,
    iso_year: i64,
    iso_week: i64,
    iso_day: i64,
    julian: i64,
    /// Seconds east of UTC, and the name of the zone.
    east: i64,
    zone: String,
    is_interval: bool,
}

/// The year and week, both of ISO 8601, and the day of that year.
fn iso(days: i64) -> (i64, i64, i64) {
    let monday = |days: i64| days - (days + 3).rem_euclid(7);
    let (year, _, _) = date_of(monday(days) + 3);
    // The week of the fourth of January is the first one.
    let first = monday(days_of(year, 1, 4).unwrap_or(days));
    (year, (days - first) / 7 + 1, days - first + 1)
}

impl Shown {
    /// The parts of a local time, in microseconds since 1970, in a zone with a name.
    pub(crate) fn of_moment(local: i64, east: i64, zone: String) -> Shown {
        let (days, time) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let (iso_year, iso_week, iso_day) = iso(days);
        Shown {
            year,
            month: month.into(),
            day: day.into(),
            hour: time / 3_600_000_000,
            minute: time / 60_000_000 % 60,
            second: time / 1_000_000 % 60,
            micros: time % 1_000_000,
            weekday: (days + 4).rem_euclid(7) as usize,
            year_day: days - days_of(year, 1, 1).unwrap_or(days) + 1,
            iso_year,
            iso_week,
            iso_day,
            julian: days + JULIAN,
            east,
            zone,
            is_interval: false,
        }
    }

    /// The parts of an interval: its days count from no date.
    pub(crate) fn of_interval(interval: Interval) -> Shown {
        let months = i64::from(interval.months);
        let (year, month, day) = (months / 12, months % 12, i64::from(interval.days));
        let micros = interval.micros;
        // PostgreSQL's computation for a day that may not exist.
        let (julian, iso_of) = {
            let whole = |year: i64, month: i64| {
                let months = year * 12 + month - 1;
                days_of(months.div_euclid(12), months.rem_euclid(12) as u32 + 1, 1).unwrap_or(0)
            };
            let days = whole(year, month) + day - 1;
            (days + JULIAN, iso(days))
        };
        Shown {
            year,
            month,
            day,
            hour: micros / 3_600_000_000,
            minute: micros / 60_000_000 % 60,
            second: micros / 1_000_000 % 60,
            micros: micros % 1_000_000,
            year_day: (year * 12 + month) * 30 + day,
            iso_year: iso_of.0,
            iso_week: iso_of.1,
            iso_day: iso_of.2,
            julian,
            is_interval: true,
            ..Shown::default()
        }
    }

    /// Written by a template; `None` if that is empty.
    ///
    /// # Errors
    /// `22007` for patterns that intervals do not have, `54000` for a template that is too long.
    pub(crate) fn to_char(&self, template: &str) -> Result<Option<String>, SqlError> {
        if template.is_empty() {
            return Ok(None);
        }
        let mut out = String::new();
        for part in of_moments(template)? {
            match part {
                Part::Pattern(pattern, modifiers) => self.pattern(pattern, modifiers, &mut out)?,
                Part::Blank(letter) | Part::Separator(letter) | Part::Character(letter) => {
                    out.push(letter);
                }
            }
        }
        Ok(Some(out))
    }

    /// The year without a year 0.
    fn counted(&self, year: i64) -> i64 {
        match year > 0 || self.is_interval {
            true => year,
            false => 1 - year,
        }
    }

    fn pattern(
        &self,
        pattern: &'static str,
        modifiers: Modifiers,
        out: &mut String,
    ) -> Result<(), SqlError> {
        let upper = pattern.to_ascii_uppercase();
        if self.is_interval && is_of_moments(&upper) {
            return Err(SqlError::new(
                "22007",
                "invalid format specification for an interval value",
            )
            .hint("Intervals are not tied to specific calendar dates."));
        }
        let is_of_week = upper.starts_with('I');
        let year = self.counted(if is_of_week { self.iso_year } else { self.year });
        let is_bare = modifiers.is_bare;
        // The calendar's year decides about the place of the sign, also of a year of weeks.
        let for_sign = usize::from(self.counted(self.year) < 0);
        // A number with a width, in which a negative sign takes one more place.
        let filled = |value: i64, width: usize| match is_bare {
            true => value.to_string(),
            false => {
                let width = width + usize::from(value < 0);
                format!("{value:0width$}")
            }
        };
        let is_afternoon = self.hour % 24 >= 12;
        let number = match upper.as_str() {
            "A.M." | "P.M." | "AM" | "PM" => {
                out.push_str(in_case_of(pattern, if is_afternoon { 'P' } else { 'A' }));
                return Ok(());
            }
            "A.D." | "B.C." | "AD" | "BC" => {
                out.push_str(in_case_of(pattern, if self.year <= 0 { 'B' } else { 'D' }));
                return Ok(());
            }
            "MONTH" | "MON" | "DAY" | "DY" => {
                self.name(pattern, &upper, modifiers, out);
                return Ok(());
            }
            "RM" => {
                self.roman(pattern, is_bare, out);
                return Ok(());
            }
            "TZ" => {
                out.push_str(&match pattern == "tz" {
                    true => self.zone.to_ascii_lowercase(),
                    false => self.zone.clone(),
                });
                return Ok(());
            }
            "TZH" | "TZM" | "OF" => {
                self.distance(&upper, is_bare, out);
                return Ok(());
            }
            "FX" => return Ok(()),
            "HH" | "HH12" => {
                let hour = if self.hour % 12 == 0 {
                    12
                } else {
                    self.hour % 12
                };
                let width = 2 + usize::from(self.hour < 0 && hour > 0);
                filled(hour, width)
            }
            "HH24" => filled(self.hour, 2),
            "MI" => filled(self.minute, 2),
            "SS" => filled(self.second, 2),
            "FF1" => format!("{:01}", self.micros / 100_000),
            "FF2" => fraction(self.micros / 10_000, 2),
            "FF3" | "MS" => fraction(self.micros / 1000, 3),
            "FF4" => fraction(self.micros / 100, 4),
            "FF5" => fraction(self.micros / 10, 5),
            "FF6" | "US" => fraction(self.micros, 6),
            "SSSS" | "SSSSS" => (self.hour * 3600 + self.minute * 60 + self.second).to_string(),
            "MM" => filled(self.month, 2),
            "DDD" => fill(self.year_day, 3, is_bare),
            "IDDD" => fill(self.iso_day, 3, is_bare),
            "DD" => fill(self.day, 2, is_bare),
            "D" => (self.weekday + 1).to_string(),
            "ID" => match self.weekday {
                0 => "7".to_string(),
                day => day.to_string(),
            },
            "WW" => fill((self.year_day - 1) / 7 + 1, 2, is_bare),
            "IW" => fill(self.iso_week, 2, is_bare),
            "Q" if self.month == 0 => return Ok(()),
            "Q" => ((self.month - 1) / 3 + 1).to_string(),
            "CC" => {
                let century = match (self.is_interval, self.year) {
                    (true, year) => year / 100,
                    (false, 1..) => (self.year - 1) / 100 + 1,
                    (false, year) => year / 100 - 1,
                };
                match century.abs() <= 99 {
                    true => filled(century, 2),
                    false => century.to_string(),
                }
            }
            "Y,YYY" => {
                let thousands = year / 1000;
                format!("{thousands},{:03}", year - thousands * 1000)
            }
            "YYYY" | "IYYY" => fill(year, 4 + for_sign, is_bare),
            "YYY" | "IYY" => fill(year % 1000, 3 + for_sign, is_bare),
            "YY" | "IY" => fill(year % 100, 2 + for_sign, is_bare),
            "Y" | "I" => (year % 10).to_string(),
            "W" => ((self.day - 1) / 7 + 1).to_string(),
            "J" => self.julian.to_string(),
            _ => return Ok(()),
        };
        out.push_str(&number);
        out.push_str(ordinal_end(&number, modifiers.ordinal)?);
        Ok(())
    }

    fn name(&self, pattern: &str, upper: &str, modifiers: Modifiers, out: &mut String) {
        let is_month = upper.starts_with('M');
        let name = match is_month {
            true => MONTHS.get((self.month - 1) as usize),
            false => DAYS.get(self.weekday),
        };
        let Some(name) = name else { return };
        let is_short = matches!(upper, "MON" | "DY");
        let name = if is_short { short_name(name) } else { name };
        let name = match pattern {
            _ if pattern == upper => name.to_ascii_uppercase(),
            _ if pattern.starts_with(|letter: char| letter.is_ascii_lowercase()) => {
                name.to_ascii_lowercase()
            }
            _ => name.to_string(),
        };
        match is_short || modifiers.is_bare || modifiers.is_translated {
            true => out.push_str(&name),
            false => out.push_str(&format!("{name:<9}")),
        }
    }

    fn roman(&self, pattern: &str, is_bare: bool, out: &mut String) {
        if self.month == 0 && self.year == 0 {
            return;
        }
        // Months of an interval count back from the end of the year.
        let at = match self.month {
            0 if self.year >= 0 => 11,
            0 => 0,
            month @ ..0 => 12 + month,
            month => month - 1,
        };
        let Some(name) = ROMAN.get(at as usize) else {
            return;
        };
        let name = match pattern == "rm" {
            true => name.to_ascii_lowercase(),
            false => name.to_string(),
        };
        match is_bare {
            true => out.push_str(&name),
            false => out.push_str(&format!("{name:<4}")),
        }
    }

    fn distance(&self, upper: &str, is_bare: bool, out: &mut String) {
        let seconds = self.east.unsigned_abs();
        let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
        let sign = if self.east < 0 { '-' } else { '+' };
        match upper {
            "TZH" => out.push_str(&format!("{sign}{hours:02}")),
            "TZM" => out.push_str(&format!("{minutes:02}")),
            _ => {
                match is_bare {
                    true => out.push_str(&format!("{sign}{hours}")),
                    false => out.push_str(&format!("{sign}{hours:02}")),
                }
                if !seconds.is_multiple_of(3600) {
                    out.push_str(&format!(":{minutes:02}"));
                }
            }
        }
    }
}

/// True for a pattern that no interval has.
fn is_of_moments(upper: &str) -> bool {
    matches!(
        upper,
        "A.D."
            | "B.C."
            | "AD"
            | "BC"
            | "MONTH"
            | "MON"
            | "DAY"
            | "DY"
            | "TZ"
            | "TZH"
            | "TZM"
            | "OF"
            | "D"
            | "ID"
    )
}

/// The word for a half of the day or an era, in the case of its pattern.
fn in_case_of(pattern: &'static str, of: char) -> &'static str {
    const WORDS: [(char, [&str; 4]); 4] = [
        ('A', ["A.M.", "AM", "a.m.", "am"]),
        ('P', ["P.M.", "PM", "p.m.", "pm"]),
        ('D', ["A.D.", "AD", "a.d.", "ad"]),
        ('B', ["B.C.", "BC", "b.c.", "bc"]),
    ];
    let is_lower = pattern.starts_with(|letter: char| letter.is_ascii_lowercase());
    let at = usize::from(pattern.len() == 2) + 2 * usize::from(is_lower);
    let found = WORDS.iter().find(|(letter, _)| *letter == of);
    found.map_or("", |(_, words)| words[at])
}

/// A number of at least the given characters, its sign among them.
fn fill(value: i64, width: usize, is_bare: bool) -> String {
    match is_bare {
        true => value.to_string(),
        false => format!("{value:0width$}"),
    }
}

fn fraction(value: i64, width: usize) -> String {
    format!("{value:0width$}")
}
