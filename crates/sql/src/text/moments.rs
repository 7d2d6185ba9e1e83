//! Dates and timestamps as PostgreSQL reads and writes them: ISO 8601, a zone, and an era.
//!
//! The engine counts years astronomically, with a sign where a year has not four digits: 1 BC is `0000`, 2 BC is
//! `-0001`. PostgreSQL has no sign and no year 0, and writes `BC` behind the text.
//!
//! Invariant: the whole text is read. A zone or a time that the type ignores must still be one.

use sardonyx::schema::{Type, Value, ValueRef};
use sardonyx_rows::value_text::parse_value;
use std::borrow::Cow;
use std::fmt::Write;

/// The text with at most six digits behind the point, and whether the last of them is to be rounded up.
fn with_microseconds(text: &str) -> (String, bool) {
    let Some((before, fraction)) = text.split_once('.') else {
        return (text.to_string(), false);
    };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = fraction.split_at(digits);
    let (kept, cut) = digits.split_at(digits.len().min(6));
    let is_up = cut.starts_with(['5', '6', '7', '8', '9']);
    (format!("{before}.{kept}{rest}"), is_up)
}

/// Reads a time of the day.
pub(super) fn read_time(text: &str) -> Option<Value> {
    let (text, is_up) = with_microseconds(text);
    match parse_value(&text, Type::Time).ok()? {
        Value::Time(micros) => {
            let micros = micros + i64::from(is_up);
            (micros < crate::values::arithmetic::DAY).then_some(Value::Time(micros))
        }
        _ => None,
    }
}

/// Reads a date. A time and a zone behind it are ignored.
pub(super) fn read_date(text: &str) -> Option<Value> {
    let text = with_engine_year(text)?;
    let day = text.split([' ', 'T', 't']).next()?;
    if day.len() < text.len() {
        read_instant(&text)?;
    }
    parse_value(day, Type::Date)
        .ok()
        .filter(crate::values::arithmetic::is_date)
}

/// Reads a timestamp without a zone. A zone behind it is ignored.
pub(super) fn read_timestamp(text: &str) -> Option<Value> {
    let text = with_engine_year(text)?;
    let local = without_zone(&text);
    if local.len() < text.len() {
        read_instant(&text)?;
    }
    read_rounded(local)
}

/// Reads a timestamp with a zone, without which it is UTC.
pub(super) fn read_timestamptz(text: &str) -> Option<Value> {
    read_instant(&with_engine_year(text)?)
}

fn read_instant(text: &str) -> Option<Value> {
    let text = without_utc(text);
    let zone = text.get(without_zone(text).len()..).unwrap_or_default();
    // No place is 16 hours from UTC.
    let hours = zone.get(1..3).and_then(|hours| hours.parse::<u32>().ok());
    match hours {
        Some(16..) => None,
        _ => read_rounded(text),
    }
}

fn read_rounded(text: &str) -> Option<Value> {
    let (text, is_up) = with_microseconds(text);
    match parse_value(&text, Type::Timestamp).ok()? {
        Value::Timestamp(micros) => Some(Value::Timestamp(micros.checked_add(is_up.into())?)),
        _ => None,
    }
}

fn without_utc(text: &str) -> &str {
    text.strip_suffix(" UTC").unwrap_or(text)
}

fn without_zone(text: &str) -> &str {
    let text = without_utc(text);
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let clock = text.find([' ', 'T', 't']).unwrap_or(text.len());
    let zone = text
        .char_indices()
        .find(|&(at, sign)| at > clock && matches!(sign, '+' | '-'));
    zone.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// The text with the engine's year and without an era; `None` if it has a year 0, or an era and a sign.
fn with_engine_year(text: &str) -> Option<Cow<'_, str>> {
    let (text, is_bc) = match text
        .len()
        .checked_sub(2)
        .and_then(|at| text.split_at_checked(at))
    {
        Some((rest, era)) if era.eq_ignore_ascii_case("bc") => (rest.trim_end(), true),
        Some((rest, era)) if era.eq_ignore_ascii_case("ad") => (rest.trim_end(), false),
        _ => (text, false),
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (!is_bc).then_some(text.into());
    }
    let (year, rest) = text.split_at(digits);
    let year: i64 = year.parse().ok().filter(|&year| year > 0 && digits >= 4)?;
    if !is_bc && digits == 4 {
        return Some(text.into());
    }
    Some(match if is_bc { 1 - year } else { year } {
        year @ 0..=9999 => format!("{year:04}{rest}").into(),
        year => format!("{year:+05}{rest}").into(),
    })
}

/// Appends a date in PostgreSQL's format.
pub(super) fn push_date(date: ValueRef<'_>, out: &mut String) {
    let start = out.len();
    let _ = write!(out, "{date}");
    let era = take_era(start, out);
    out.push_str(era);
}

/// Appends a time of day in PostgreSQL's format.
pub(super) fn push_time(time: ValueRef<'_>, out: &mut String) {
    let start = out.len();
    let _ = write!(out, "{time}");
    drop_zeros(start, out);
}

/// Appends a timestamp in PostgreSQL's format, with a zone in front of the era.
pub(super) fn push_timestamp(timestamp: ValueRef<'_>, zone: &str, out: &mut String) {
    let start = out.len();
    let _ = write!(out, "{timestamp}");
    if out.ends_with('Z') {
        out.pop();
    }
    let clock = out.get(start..).and_then(|text| text.find('T'));
    if let Some(at) = clock.map(|at| start + at) {
        out.replace_range(at..=at, " ");
    }
    drop_zeros(start, out);
    let era = take_era(start, out);
    out.push_str(zone);
    out.push_str(era);
}

/// Removes the zeros at the end of a fraction of a second.
fn drop_zeros(start: usize, out: &mut String) {
    if out.get(start..).is_some_and(|text| text.contains('.')) {
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Replaces the engine's year at a place by PostgreSQL's. Returns the era to be written behind the moment.
fn take_era(start: usize, out: &mut String) -> &'static str {
    let text = out.get(start..).unwrap_or_default();
    if !text.starts_with(['+', '-']) && !text.starts_with("0000") {
        return "";
    }
    let is_part = |byte: &u8| byte.is_ascii_digit();
    let end = 1 + text.bytes().skip(1).take_while(is_part).count();
    let year: i64 = text
        .get(..end)
        .and_then(|year| year.parse().ok())
        .unwrap_or_default();
    let (year, era) = if year > 0 {
        (year, "")
    } else {
        (1 - year, " BC")
    };
    out.replace_range(start..start + end, &format!("{year:04}"));
    era
}
