//! Words of units of time in `EXTRACT`, `date_part` and `date_trunc`: each spelling, as one word.
//!
//! Source: PostgreSQL 15, `deltatktbl`, `datetktbl`, `DecodeUnits` and `DecodeSpecial` in `datetime.c`. Words are compared
//! by their first ten characters.

use crate::error::{SqlError, code};

/// Spellings of units of lengths of time, and the word of the unit.
const LENGTHS: [(&[&str], &str); 16] = [
    (
        &["us", "usec", "usecs", "usecond", "useconds", "microsecon"],
        "microsecond",
    ),
    (
        &["ms", "msec", "msecs", "msecond", "mseconds", "millisecon"],
        "millisecond",
    ),
    (&["s", "sec", "secs", "second", "seconds"], "second"),
    (&["m", "min", "mins", "minute", "minutes"], "minute"),
    (&["h", "hr", "hrs", "hour", "hours"], "hour"),
    (&["d", "day", "days"], "day"),
    (&["w", "week", "weeks"], "week"),
    (&["mon", "mons", "month", "months"], "month"),
    (&["qtr", "quarter"], "quarter"),
    (&["y", "yr", "yrs", "year", "years"], "year"),
    (&["dec", "decs", "decade", "decades"], "decade"),
    (&["c", "cent", "century", "centuries"], "century"),
    (&["mil", "mils", "millennia", "millennium"], "millennium"),
    (&["timezone"], "timezone"),
    (&["timezone_h"], "timezone_hour"),
    (&["timezone_m"], "timezone_minute"),
];
/// The same of parts that only moments have.
const PARTS: [(&[&str], &str); 7] = [
    (&["dow"], "dow"),
    (&["isodow"], "isodow"),
    (&["doy"], "doy"),
    (&["isoyear"], "isoyear"),
    (&["j", "jd", "julian"], "julian"),
    (&["epoch"], "epoch"),
    (&["mm"], "minute"),
];
/// Words of moments, which are parts of none.
const MOMENTS: [&str; 7] = [
    "infinity",
    "-infinity",
    "now",
    "today",
    "tomorrow",
    "yesterday",
    "allballs",
];

/// A word that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// A unit or a part, by its one word.
    Known(&'static str),
    /// A word of dates that is no part of any.
    OfNone,
    Unknown,
}

fn token(word: &str) -> &str {
    let end = word.char_indices().nth(10).map_or(word.len(), |(at, _)| at);
    word.get(..end).unwrap_or(word)
}

fn found(table: &[(&[&str], &'static str)], token: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(token));
    let mut table = table.iter();
    table.find_map(|(words, unit)| has(words).then_some(*unit))
}

/// A unit of length, as `date_trunc` knows it.
pub(crate) fn length(word: &str) -> Unit {
    found(&LENGTHS, token(word)).map_or(Unit::Unknown, Unit::Known)
}

/// A part, as `EXTRACT` knows it.
pub(crate) fn part(word: &str) -> Unit {
    let token = token(word);
    let is_moment = |word: &&str| word.eq_ignore_ascii_case(token);
    match found(&LENGTHS, token).or_else(|| found(&PARTS, token)) {
        Some(unit) => Unit::Known(unit),
        None if MOMENTS.iter().any(is_moment) => Unit::OfNone,
        None => Unit::Unknown,
    }
}

/// The refusal of a part that a type does not have.
#[cold]
pub(crate) fn not_of(word: &str, of: &str) -> SqlError {
    let word = word.to_ascii_lowercase();
    match part(&word) {
        Unit::Unknown => SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("unit \"{word}\" not recognized for type {of}"),
        ),
        _ => SqlError::unsupported(format!("unit \"{word}\" not supported for type {of}")),
    }
}

/// The refusal of a unit to which a type is not cut.
#[cold]
pub(crate) fn not_cut_to(word: &str, of: &str) -> SqlError {
    let word = word.to_ascii_lowercase();
    match length(&word) {
        Unit::Unknown => SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("unit \"{word}\" not recognized for type {of}"),
        ),
        _ => SqlError::unsupported(format!("unit \"{word}\" not supported for type {of}")),
    }
}
