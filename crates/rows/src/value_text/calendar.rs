//! Days, times and timestamps as text: the proleptic Gregorian calendar, as ISO 8601 writes it.
//!
//! The conversion between days and dates is the usual one in eras of 400 years (H. Hinnant, "chrono-compatible
//! low-level date algorithms"). Years beyond 0 to 9999 have a sign and as many digits as they need.

use std::fmt;

/// Microseconds of a day.
pub(crate) const DAY: i64 = 86_400_000_000;

const SECOND: i64 = 1_000_000;

/// The year, month and day of a number of days since 1970-01-01.
#[inline]
pub fn date_of(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

/// Days since 1970-01-01, if there is such a day.
pub fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) || day == 0 || year.abs() > 10_000_000 {
        return None;
    }
    let (month, day) = (i64::from(month), i64::from(day));
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (date_of(days) == (year, month as u32, day as u32)).then_some(days)
}

/// The same day of the month so many months later, or its last day in a shorter month; if there is such a day.
#[inline]
pub fn add_months(days: i64, months: i64) -> Option<i64> {
    let (year, month, day) = date_of(days);
    let months = (year * 12 + i64::from(month) - 1).checked_add(months)?;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
    (0..4).find_map(|less| days_of(year, month, day.checked_sub(less)?))
}

pub(crate) fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = date_of(days);
    match year {
        0..=9999 => write!(f, "{year:04}-{month:02}-{day:02}"),
        _ => write!(f, "{year:+05}-{month:02}-{day:02}"),
    }
}

/// Writes microseconds since midnight. A value that is no time of a day has a sign, or more than 23 hours.
pub(crate) fn write_time(f: &mut fmt::Formatter<'_>, time: i64) -> fmt::Result {
    let sign = if time < 0 { "-" } else { "" };
    let time = time.unsigned_abs();
    let (seconds, micros) = (time / SECOND as u64, time % SECOND as u64);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(f, "{sign}{hours:02}:{minutes:02}:{seconds:02}")?;
    match micros {
        0 => Ok(()),
        _ => write!(f, ".{micros:06}"),
    }
}

/// Writes microseconds since 1970-01-01 00:00 UTC.
pub(crate) fn write_timestamp(f: &mut fmt::Formatter<'_>, timestamp: i64) -> fmt::Result {
    write_date(f, timestamp.div_euclid(DAY))?;
    f.write_str("T")?;
    write_time(f, timestamp.rem_euclid(DAY))?;
    f.write_str("Z")
}

/// Reads a day.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let (days, rest) = date_at(text.as_bytes())?;
    rest.is_empty().then(|| i32::try_from(days).ok())?
}

/// Reads a time of a day: `HH:MM`, seconds and up to six digits of a fraction if there are any.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let (time, rest) = time_at(text.as_bytes())?;
    rest.is_empty().then_some(time)
}

/// Reads a day, or a day and a time after `T` or a space; then `Z`, an offset such as `+02:00`, or
/// nothing, which is UTC, too.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let (days, rest) = date_at(text.as_bytes())?;
    let midnight = i128::from(days) * i128::from(DAY);
    let Some((b'T' | b't' | b' ', rest)) = rest.split_first() else {
        return rest.is_empty().then(|| i64::try_from(midnight).ok())?;
    };
    let (time, rest) = time_at(rest)?;
    let local = midnight + i128::from(time);
    let universal = match rest.split_first() {
        None | Some((b'Z' | b'z', [])) => local,
        Some((&sign @ (b'+' | b'-'), rest)) => {
            let (hours, rest) = digits(rest, 2)?;
            let rest = rest.strip_prefix(b":").unwrap_or(rest);
            let (minutes, rest) = if rest.is_empty() {
                (0, rest)
            } else {
                digits(rest, 2)?
            };
            if !rest.is_empty() || hours > 23 || minutes > 59 {
                return None;
            }
            let offset = i128::from((hours * 60 + minutes) * 60 * SECOND);
            if sign == b'+' {
                local - offset
            } else {
                local + offset
            }
        }
        Some(_) => return None,
    };
    i64::try_from(universal).ok()
}

/// Reads so many digits; returns their number and the rest.
fn digits(text: &[u8], count: usize) -> Option<(i64, &[u8])> {
    let (number, rest) = text.split_at_checked(count)?;
    let mut value = 0;
    for &digit in number {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    Some((value, rest))
}

fn date_at(text: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, unsigned) = match text.split_first()? {
        (b'-', rest) => (-1, rest),
        (b'+', rest) => (1, rest),
        _ => (0, text),
    };
    let length = unsigned
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(4..=8).contains(&length) || (sign == 0 && length != 4) {
        return None;
    }
    let (year, rest) = digits(unsigned, length)?;
    let (month, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    let (day, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    let year = if sign < 0 { -year } else { year };
    Some((days_of(year, month as u32, day as u32)?, rest))
}

fn time_at(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hours, rest) = digits(text, 2)?;
    let (minutes, rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (seconds, rest) = match rest.strip_prefix(b":") {
        Some(rest) => digits(rest, 2)?,
        None => (0, rest),
    };
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let whole = ((hours * 60 + minutes) * 60 + seconds) * SECOND;
    let Some(fraction) = rest.strip_prefix(b".") else {
        return Some((whole, rest));
    };
    let length = fraction
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if length == 0 || length > 6 {
        return None;
    }
    let (value, rest) = digits(fraction, length)?;
    Some((whole + value * 10_i64.pow(6 - length as u32), rest))
}
