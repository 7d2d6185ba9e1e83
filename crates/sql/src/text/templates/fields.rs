//! The fields of a moment, read from a text by a template: each pattern reads one, and a field is set once.
//!
//! Source: `DCH_from_char` of PostgreSQL's `formatting.c`, in the locale C.

use super::moments::{DAYS, MONTHS, ROMAN, short_name};
use super::reader::{Reader, bad};
use super::{Modifiers, Ordinal, Part, is_separator, is_space};
use crate::error::SqlError;

/// The calendar by which a template counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Calendar {
    Gregorian,
    Weeks,
}

/// The fields that were read; 0 is none.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub calendar: Option<Calendar>,
    pub is_twelve_hours: bool,
    pub is_afternoon: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub seconds_of_day: i32,
    /// Sunday is 1.
    pub weekday: i32,
    pub day: i32,
    pub day_of_year: i32,
    pub month: i32,
    pub milliseconds: i32,
    pub year: i32,
    pub year_digits: i32,
    pub is_before_christ: i32,
    pub week: i32,
    pub week_of_month: i32,
    pub century: i32,
    pub julian: i32,
    pub micros: i32,
    pub fraction_digits: u32,
    pub zone_sign: i32,
    pub zone_hours: i32,
    pub zone_minutes: i32,
}

fn calendar_of(upper: &str) -> Option<Calendar> {
    match upper {
        "IDDD" | "ID" | "IW" | "IYYY" | "IYY" | "IY" | "I" => Some(Calendar::Weeks),
        "DDD" | "DD" | "D" | "MM" | "MONTH" | "MON" | "RM" | "WW" | "W" | "Y,YYY" | "YYYY"
        | "YYY" | "YY" | "Y" => Some(Calendar::Gregorian),
        _ => None,
    }
}

/// True for a pattern whose text is digits.
fn is_of_digits(upper: &str) -> bool {
    !matches!(
        upper,
        "A.D."
            | "A.M."
            | "AD"
            | "AM"
            | "B.C."
            | "BC"
            | "DAY"
            | "DY"
            | "FX"
            | "MONTH"
            | "MON"
            | "OF"
            | "P.M."
            | "PM"
            | "RM"
            | "TZH"
            | "TZ"
    )
}

/// True if the text after a pattern cannot be one of its digits, so that the pattern takes all digits.
fn ends_number(modifiers: Modifiers, next: Option<&Part>) -> bool {
    if modifiers.ordinal != Ordinal::None {
        return true;
    }
    match next {
        None => true,
        Some(Part::Pattern(next, _)) => !is_of_digits(&next.to_ascii_uppercase()),
        Some(Part::Blank(letter) | Part::Separator(letter) | Part::Character(letter)) => {
            !letter.is_ascii_digit()
        }
    }
}

impl Fields {
    fn set_calendar(&mut self, upper: &str) -> Result<(), SqlError> {
        let Some(calendar) = calendar_of(upper) else {
            return Ok(());
        };
        match *self.calendar.get_or_insert(calendar) == calendar {
            true => Ok(()),
            false => Err(bad("invalid combination of date conventions".into()).hint(
                "Do not mix Gregorian and ISO week date conventions in a formatting template.",
            )),
        }
    }

    /// Reads a text by the parts of a template.
    pub(super) fn read(&mut self, parts: &[Part], text: &str) -> Result<(), SqlError> {
        let mut reader = Reader::new(text);
        let (mut is_exact, mut skipped) = (false, 0);
        for (number, part) in parts.iter().enumerate() {
            if reader.rest().is_empty() {
                break;
            }
            let starts_exact = matches!(part, Part::Pattern("FX" | "fx", _));
            let is_pattern = matches!(part, Part::Pattern(..));
            if !is_exact && !starts_exact && (is_pattern || number == 0) {
                skipped += reader.blanks();
            }
            match part {
                Part::Blank(_) | Part::Separator(_) if is_exact => reader.pass(),
                Part::Blank(_) | Part::Separator(_) => {
                    skipped -= 1;
                    let here = reader.here();
                    if here.is_some_and(|here| is_space(here) || is_separator(here)) {
                        reader.pass();
                        skipped += 1;
                    }
                }
                Part::Character(_) if !is_exact && skipped > 0 => skipped -= 1,
                Part::Character(_) => reader.pass(),
                Part::Pattern(pattern, modifiers) => {
                    let upper = pattern.to_ascii_uppercase();
                    self.set_calendar(&upper)?;
                    let is_free =
                        modifiers.is_bare || ends_number(*modifiers, parts.get(number + 1));
                    if upper == "FX" {
                        is_exact = true;
                    } else {
                        self.pattern(pattern, &upper, is_free, skipped, &mut reader)?;
                        if modifiers.ordinal != Ordinal::None && is_of_digits(&upper) {
                            // The suffix of an ordinal has any two characters.
                            reader.pass();
                            reader.pass();
                        }
                    }
                    if !is_exact {
                        skipped = reader.blanks();
                    }
                }
            }
        }
        Ok(())
    }

    fn pattern(
        &mut self,
        pattern: &str,
        upper: &str,
        is_free: bool,
        skipped: i32,
        reader: &mut Reader<'_>,
    ) -> Result<(), SqlError> {
        const HALVES: [&str; 4] = ["am", "pm", "AM", "PM"];
        const LONG_HALVES: [&str; 4] = ["a.m.", "p.m.", "A.M.", "P.M."];
        const ERAS: [&str; 4] = ["ad", "bc", "AD", "BC"];
        const LONG_ERAS: [&str; 4] = ["a.d.", "b.c.", "A.D.", "B.C."];
        let set = |field: &mut i32, value: i32| match *field != 0 && *field != value {
            true => Err(bad(format!(
                "conflicting values for \"{pattern}\" field in formatting string"
            ))
            .detail("This value contradicts a previous setting for the same field type.")),
            false => {
                *field = value;
                Ok(())
            }
        };
        let read = |reader: &mut Reader<'_>, field: &mut i32, width: usize| {
            let (value, length) = reader.number(width, is_free, pattern)?;
            set(field, value)?;
            Ok::<usize, SqlError>(length)
        };
        match upper {
            "A.M." | "P.M." | "AM" | "PM" => {
                let names = if upper.len() == 2 {
                    HALVES
                } else {
                    LONG_HALVES
                };
                set(&mut self.is_afternoon, reader.name(&names, pattern)? % 2)?;
                self.is_twelve_hours = true;
            }
            "A.D." | "B.C." | "AD" | "BC" => {
                let names = if upper.len() == 2 { ERAS } else { LONG_ERAS };
                set(
                    &mut self.is_before_christ,
                    reader.name(&names, pattern)? % 2,
                )?;
            }
            "HH" | "HH12" => {
                read(reader, &mut self.hour, 2)?;
                self.is_twelve_hours = true;
            }
            "HH24" => {
                read(reader, &mut self.hour, 2)?;
            }
            "MI" => {
                read(reader, &mut self.minute, 2)?;
            }
            "SS" => {
                read(reader, &mut self.second, 2)?;
            }
            "MS" => {
                let length = read(reader, &mut self.milliseconds, 3)?;
                let factor = [1, 100, 10].get(length).copied().unwrap_or(1);
                self.milliseconds = self.milliseconds.saturating_mul(factor);
            }
            "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                let digits = upper
                    .strip_prefix("FF")
                    .and_then(|digits| digits.parse().ok());
                self.fraction_digits = digits.unwrap_or(self.fraction_digits);
                let length = read(reader, &mut self.micros, digits.unwrap_or(6) as usize)?;
                let factors = [1, 100_000, 10_000, 1000, 100, 10];
                let factor = factors.get(length).copied().unwrap_or(1);
                self.micros = self.micros.saturating_mul(factor);
            }
            "SSSS" | "SSSSS" => {
                read(reader, &mut self.seconds_of_day, upper.len())?;
            }
            "TZ" | "OF" => {
                return Err(SqlError::unsupported(format!(
                    "formatting field \"{pattern}\" is only supported in to_char"
                )));
            }
            "TZH" => {
                self.zone_sign = match reader.here() {
                    Some(sign @ ('+' | '-' | ' ')) => {
                        reader.pass();
                        if sign == '-' { -1 } else { 1 }
                    }
                    // The minus may have been read as a separator.
                    _ if skipped > 0 && reader.before().ends_with('-') => -1,
                    _ => 1,
                };
                read(reader, &mut self.zone_hours, 2)?;
            }
            "TZM" => {
                if self.zone_sign == 0 {
                    self.zone_sign = 1;
                }
                read(reader, &mut self.zone_minutes, 2)?;
            }
            "MONTH" => set(&mut self.month, reader.name(&MONTHS, pattern)? + 1)?,
            "MON" => {
                let names = MONTHS.map(short_name);
                set(&mut self.month, reader.name(&names, pattern)? + 1)?;
            }
            "MM" => {
                read(reader, &mut self.month, 2)?;
            }
            "DAY" => {
                set(&mut self.weekday, reader.name(&DAYS, pattern)?)?;
                self.weekday += 1;
            }
            "DY" => {
                let names = DAYS.map(short_name);
                set(&mut self.weekday, reader.name(&names, pattern)?)?;
                self.weekday += 1;
            }
            "DDD" | "IDDD" => {
                read(reader, &mut self.day_of_year, 3)?;
            }
            "DD" => {
                read(reader, &mut self.day, 2)?;
            }
            "D" => {
                read(reader, &mut self.weekday, 1)?;
            }
            "ID" => {
                read(reader, &mut self.weekday, 1)?;
                // Sunday is 7 there.
                self.weekday = self.weekday.saturating_add(1);
                if self.weekday > 7 {
                    self.weekday = 1;
                }
            }
            "WW" | "IW" => {
                read(reader, &mut self.week, 2)?;
            }
            // A quarter does not determine the day.
            "Q" => {
                reader.number(1, is_free, pattern)?;
            }
            "CC" => {
                read(reader, &mut self.century, 2)?;
            }
            "Y,YYY" => {
                let year = reader
                    .thousands()
                    .ok_or_else(|| bad("invalid input string for \"Y,YYY\"".into()))?;
                set(&mut self.year, year)?;
                self.year_digits = 4;
            }
            "YYYY" | "IYYY" => {
                read(reader, &mut self.year, 4)?;
                self.year_digits = 4;
            }
            "YYY" | "IYY" | "YY" | "IY" | "Y" | "I" => {
                let width = upper.len();
                let length = read(reader, &mut self.year, width)?;
                if length < 4 {
                    self.year = near_2020(self.year);
                }
                self.year_digits = width as i32;
            }
            "RM" => {
                // The longer of two names with one beginning is first.
                let names: Vec<&str> = ROMAN.iter().rev().copied().collect();
                set(&mut self.month, 12 - reader.name(&names, pattern)?)?;
            }
            "W" => {
                read(reader, &mut self.week_of_month, 1)?;
            }
            "J" => {
                read(reader, &mut self.julian, 1)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// A year of at most three digits: the year nearest to 2020.
fn near_2020(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}
