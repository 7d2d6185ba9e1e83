//! Moments read from a text by a template: `to_timestamp` and `to_date`. This module makes a moment of the [`Fields`].
//!
//! Source: `do_to_timestamp` of PostgreSQL's `formatting.c`, in the locale C.

use super::fields::{Calendar, Fields};
use super::moments::JULIAN;
use super::of_moments;
use super::reader::bad;
use crate::error::{SqlError, code};
use sardonyx_rows::value_text::{date_of, days_of};

/// A moment read from a text by a template.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Days since 1970.
    pub days: i64,
    /// Microseconds of the day.
    pub time: i64,
    /// Seconds east of UTC, if the text has a zone.
    pub east: Option<i64>,
    /// The digits of a second's fraction, if the template gives them.
    pub fraction_digits: Option<u32>,
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
    let time = time(&fields)?;
    let days = day(&mut fields, text)?;
    let time = time.ok_or_else(|| out_of_range(text))?;
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

/// Microseconds of the day; `None` for a field out of its range, which is an error when the day is known.
///
/// # Errors
/// `22007` for an hour that the clock does not have.
fn time(fields: &Fields) -> Result<Option<i64>, SqlError> {
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
    Ok(is_time.then_some(seconds * 1_000_000 + micros))
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
        // Without a year, a day beyond the month is one of the next.
        (true, false) => days_of(year, month as u32, 1).map(|first| first + day - 1),
    };
    days.ok_or_else(|| out_of_range(text))
}
