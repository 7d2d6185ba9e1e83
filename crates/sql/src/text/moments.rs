//! Dates and timestamps as PostgreSQL writes them: ISO 8601, a zone, and an era.
//!
//! The engine counts years astronomically, with a sign where a year has not four digits: 1 BC is `0000`, 2 BC is
//! `-0001`. PostgreSQL has no sign and no year 0, and writes `BC` behind the text.

use crate::values::zones::distance;
use sardonyx::schema::ValueRef;
use sardonyx_rows::zoned_times::ZonedTime;
use std::fmt::Write;

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

/// Appends a time of day with its zone in PostgreSQL's format, from its bytes.
pub(super) fn push_zoned_time(bytes: &[u8], out: &mut String) {
    if let Some(time) = ZonedTime::decode(bytes) {
        push_time(ValueRef::Time(time.micros()), out);
        out.push_str(&distance(-i64::from(time.west())));
    }
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
