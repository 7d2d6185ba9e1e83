//! Texts of moments by a template: `to_timestamp` and `to_date`.
//!
//! Source: `DCH_from_char` and `do_to_timestamp` of PostgreSQL's `formatting.c`, in the locale C.

use super::moments::{DAYS, JULIAN, MONTHS, ROMAN, short_name};
use super::{Modifiers, Ordinal, Part, is_separator, is_space, of_moments};
use crate::error::{SqlError, code};
use sardonyx_rows::value_text::{date_of, days_of};

/// The calendar by which a template counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Calendar {
    Gregorian,
    Weeks,
}

/// Fields that were read; 0 is none.
#[derive(Debug, Default)]
struct Fields {
    calendar: Option<Calendar>,
    is_twelve_hours: bool,
    is_afternoon: i32,
    hour: i32,
    minute: i32,
    second: i32,
    seconds_of_day: i32,
    /// Sunday is 1.
    weekday: i32,
    day: i32,
    day_of_year: i32,
    month: i32,
    milliseconds: i32,
    year: i32,
    year_digits: i32,
    is_before_christ: i32,
    week: i32,
    week_of_month: i32,
    century: i32,
    julian: i32,
    micros: i32,
    fraction_digits: u32,
    zone_sign: i32,
    zone_hours: i32,
    zone_minutes: i32,
}

/// A moment as a text has it by a template.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Days since 1970.
    pub days: i64,
    /// Microseconds of the day.
    pub time: i64,
    /// Seconds east of UTC, if the text has a zone.
    pub east: Option<i64>,
    /// Digits of a second's fraction, if the template says so.
    pub fraction_digits: Option<u32>,
}

fn bad(message: String) -> SqlError {
    SqlError::new(code::INVALID_DATETIME, message)
}

#[cold]
fn out_of_range(text: &str) -> SqlError {
    SqlError::new(
        code::DATETIME_OVERFLOW,
        format!(
            "date/time field value out of range: \"{}\"",
            crate::text::shortened(text)
        ),
    )
}

/// A text, and where it is read.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn before(&self) -> &'t str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn here(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn pass(&mut self) {
        self.at += self.here().map_or(0, char::len_utf8);
    }

    /// Passes over blanks, and returns how many.
    fn blanks(&mut self) -> i32 {
        let from = self.at;
        while self.here().is_some_and(is_space) {
            self.at += 1;
        }
        (self.at - from) as i32
    }

    /// The name at this place, of some; its number.
    fn name(&mut self, names: &[&str], pattern: &str) -> Result<i32, SqlError> {
        let rest = self.rest().as_bytes();
        let found = names.iter().position(|name| {
            let start = rest.get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        });
        let Some(found) = found else {
            let word = self.rest().split(is_space).next().unwrap_or_default();
            return Err(
                bad(format!("invalid value \"{word}\" for \"{pattern}\"")).detail(
                    "The given value did not match any of the allowed values for this field.",
                ),
            );
        };
        self.at += names[found].len();
        Ok(found as i32)
    }

    /// A whole number, of so many characters unless it may be of any number of them; and how many it had.
    fn number(
        &mut self,
        width: usize,
        is_free: bool,
        pattern: &str,
    ) -> Result<(i32, usize), SqlError> {
        let from = self.at;
        self.blanks();
        let copy: String = self.rest().chars().take(width).collect();
        const HINT: &str =
            "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let source = if is_free { self.rest() } else { &copy };
        let used = number_end(source);
        if !is_free {
            let count = copy.chars().count();
            if count < width {
                let text = format!("source string too short for \"{pattern}\" formatting field");
                let detail = format!("Field requires {width} characters, but only {count} remain.");
                return Err(bad(text).detail(detail).hint(HINT));
            }
            if used > 0 && used < copy.len() {
                let text = format!("invalid value \"{copy}\" for \"{pattern}\"");
                let detail =
                    format!("Field requires {width} characters, but only {used} could be parsed.");
                return Err(bad(text).detail(detail).hint(HINT));
            }
        }
        let digits = source.get(..used).unwrap_or_default();
        self.at += used;
        if used == 0 && (is_free || self.at == from) {
            let text = format!("invalid value \"{copy}\" for \"{pattern}\"");
            return Err(bad(text).detail("Value must be an integer."));
        }
        let value = match digits.trim_start_matches(is_space) {
            "" => Ok(0),
            digits => digits.parse::<i32>(),
        };
        let value = value.map_err(|_| {
            SqlError::new(
                code::DATETIME_OVERFLOW,
                format!("value for \"{pattern}\" in source string is out of range"),
            )
            .detail("Value must be in the range -2147483648 to 2147483647.")
        })?;
        Ok((value, self.at - from))
    }
}

/// Where the number at the beginning of a text ends: behind blanks, a sign and digits; 0 if there is none.
fn number_end(text: &str) -> usize {
    let blanks = text.len() - text.trim_start_matches(is_space).len();
    let rest = text.get(blanks..).unwrap_or_default();
    let sign = usize::from(rest.starts_with(['+', '-']));
    let digits = rest
        .bytes()
        .skip(sign)
        .take_while(u8::is_ascii_digit)
        .count();
    match digits {
        0 => 0,
        digits => blanks + sign + digits,
    }
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

/// True if what follows a pattern cannot be one of its digits, so that the pattern takes all that there are.
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
    fn read(&mut self, parts: &[Part], text: &str) -> Result<(), SqlError> {
        let mut reader = Reader { text, at: 0 };
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
                            // The end of an ordinal has two characters, whichever they are.
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
                    // The minus may have been taken for a separator.
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
            // A quarter says nothing of the day.
            "Q" => {
                reader.number(1, is_free, pattern)?;
            }
            "CC" => {
                read(reader, &mut self.century, 2)?;
            }
            "Y,YYY" => {
                let year = thousands(reader)
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
                // Of two that begin alike the longer one is first.
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

/// A year with a comma behind its thousands.
fn thousands(reader: &mut Reader<'_>) -> Option<i32> {
    let end = number_end(reader.rest());
    let rest = reader.rest();
    let first: i32 = rest.get(..end)?.trim_start_matches(is_space).parse().ok()?;
    let behind = rest.get(end..)?.strip_prefix(',')?;
    let start = behind.get(..behind.len().min(3))?;
    let digits = number_end(start);
    let last: i32 = start
        .get(..digits)?
        .trim_start_matches(is_space)
        .parse()
        .ok()?;
    reader.at += end + 1 + digits;
    first.checked_mul(1000)?.checked_add(last)
}

/// A year of at most three digits: the one that is nearest to 2020.
fn near_2020(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// The first day of the first week of a year of ISO 8601.
fn first_monday(year: i64) -> i64 {
    let fourth = days_of(year, 1, 4).unwrap_or(0);
    fourth - (fourth + 3).rem_euclid(7)
}

/// Reads a text by a template.
///
/// # Errors
/// `22007` for a text of another form, `22008` for fields out of range, `0A000` for patterns that only `to_char` has.
pub(crate) fn read(text: &str, template: &str) -> Result<Read, SqlError> {
    let parts = of_moments(template)?;
    let mut fields = Fields::default();
    fields.read(&parts, text)?;
    let time = time(&fields, text)?;
    let days = day(&mut fields, text)?;
    let east = match fields.zone_sign {
        0 => None,
        sign => {
            let (hours, minutes) = (fields.zone_hours, fields.zone_minutes);
            if !(0..=15).contains(&hours) || !(0..60).contains(&minutes) {
                return Err(SqlError::new(
                    code::INVALID_TIME_ZONE,
                    format!(
                        "time zone displacement out of range: \"{}\"",
                        crate::text::shortened(text)
                    ),
                ));
            }
            Some(i64::from(sign * (hours * 3600 + minutes * 60)))
        }
    };
    Ok(Read {
        days,
        time,
        east,
        fraction_digits: (fields.fraction_digits > 0).then_some(fields.fraction_digits),
    })
}

/// Microseconds of the day.
fn time(fields: &Fields, text: &str) -> Result<i64, SqlError> {
    let of_day = fields.seconds_of_day;
    let or = |field: i32, other: i32| if field != 0 { field } else { other };
    let mut hour = or(fields.hour, of_day / 3600);
    let minute = or(fields.minute, of_day % 3600 / 60);
    let second = or(fields.second, of_day % 60);
    if fields.is_twelve_hours {
        if !(1..=12).contains(&hour) {
            return Err(
                bad(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                    .hint("Use the 24-hour clock, or give an hour between 1 and 12."),
            );
        }
        match (fields.is_afternoon != 0, hour) {
            (true, ..12) => hour += 12,
            (false, 12) => hour = 0,
            _ => {}
        }
    }
    let micros = i64::from(fields.milliseconds) * 1000 + i64::from(fields.micros);
    let is_time = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..1_000_000).contains(&micros);
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    match is_time {
        true => Ok(seconds * 1_000_000 + micros),
        false => Err(out_of_range(text)),
    }
}

/// Days since 1970. Without a year it is 1 BC; without a month and a day, the first.
fn day(fields: &mut Fields, text: &str) -> Result<i64, SqlError> {
    let is_before = fields.is_before_christ != 0;
    let (mut year, mut month, mut day) = (0_i64, 1_i64, 1_i64);
    let (mut has_month, mut has_day) = (false, false);
    let century = i64::from(if is_before {
        -fields.century
    } else {
        fields.century
    });
    if fields.year != 0 {
        if fields.century != 0 && fields.year_digits <= 2 {
            year = i64::from(fields.year % 100);
            year = match (year != 0, century >= 0) {
                (true, true) => year + (century - 1) * 100,
                (true, false) => (century + 1) * 100 - year + 1,
                (false, true) => century * 100,
                (false, false) => century * 100 + 1,
            };
        } else {
            year = i64::from(fields.year);
            year = if is_before { -year } else { year };
            year += i64::from(year < 0);
        }
    } else if fields.century != 0 {
        year = match century >= 0 {
            true => (century - 1) * 100 + 1,
            false => century * 100 + 1,
        };
    }
    let date = |days: i64| {
        let (year, month, day) = date_of(days);
        (year, i64::from(month), i64::from(day))
    };
    if fields.julian != 0 {
        (year, month, day) = date(i64::from(fields.julian) - JULIAN);
        (has_month, has_day) = (true, true);
    }
    let is_of_weeks = fields.calendar == Some(Calendar::Weeks);
    if fields.week != 0 {
        let week = i64::from(fields.week) - 1;
        if is_of_weeks {
            let of_week = match fields.weekday {
                0 => 0,
                // Sunday is the last day.
                1 => 6,
                weekday => i64::from(weekday) - 2,
            };
            (year, month, day) = date(first_monday(year) + week * 7 + of_week);
            (has_month, has_day) = (true, true);
        } else {
            fields.day_of_year = (week * 7 + 1) as i32;
        }
    }
    if fields.week_of_month != 0 {
        fields.day = (fields.week_of_month.saturating_sub(1))
            .saturating_mul(7)
            .saturating_add(1);
    }
    if fields.day != 0 {
        (day, has_day) = (fields.day.into(), true);
    }
    if fields.month != 0 {
        (month, has_month) = (fields.month.into(), true);
    }
    let day_of_year = i64::from(fields.day_of_year);
    if day_of_year != 0 && (month <= 1 || day <= 1) {
        if year == 0 && !is_before {
            let text = "cannot calculate day of year without year information";
            return Err(bad(text.into()));
        }
        if is_of_weeks {
            (year, month, day) = date(first_monday(year) - 1 + day_of_year);
        } else {
            let first = days_of(year, 1, 1).ok_or_else(|| out_of_range(text))?;
            let next = days_of(year + 1, 1, 1).ok_or_else(|| out_of_range(text))?;
            if !(1..=next - first).contains(&day_of_year) {
                return Err(out_of_range(text));
            }
            let (_, of_month, of_day) = date(first + day_of_year - 1);
            month = if month <= 1 { of_month } else { month };
            day = if day <= 1 { of_day } else { day };
        }
        (has_month, has_day) = (true, true);
    }
    let is_date =
        (!has_month || (1..=12).contains(&month)) && (!has_day || (1..=31).contains(&day));
    let has_year = fields.year != 0 || fields.century != 0 || fields.julian != 0;
    let days = match (is_date, has_year) {
        (false, _) => None,
        (true, true) => days_of(year, month as u32, day as u32),
        // Without a year, a day that the month does not have is one of the next.
        (true, false) => days_of(year, month as u32, 1).map(|first| first + day - 1),
    };
    days.ok_or_else(|| out_of_range(text))
}
