//! Words of dates and times: months, days, units, eras, abbreviations of zones.

use crate::values::abbreviations::FIXED;

/// The unit that a word announces for the number behind it: `y2001m02d04`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
    /// The time behind a `T`.
    Time,
    /// One that no input has.
    Other,
}

/// The meaning of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    Ignored,
    Month(i32),
    Weekday,
    /// True for the afternoon.
    Noon(bool),
    /// True before Christ.
    Era(bool),
    Unit(Unit),
    /// Midnight UTC.
    AllBalls,
    Epoch,
    /// A moment of the clock: the present, or the beginning of a day at a distance from today.
    Present,
    Day(i64),
    Infinity,
    /// Seconds east of UTC, and true for daylight saving.
    Zone(i32, bool),
    /// An hour more for the zone before it.
    Daylight,
    Unknown,
}

const WORDS: &[(&str, Word)] = &[
    ("ad", Word::Era(false)),
    ("allballs", Word::AllBalls),
    ("am", Word::Noon(false)),
    ("at", Word::Ignored),
    ("bc", Word::Era(true)),
    ("d", Word::Unit(Unit::Day)),
    ("dow", Word::Unit(Unit::Other)),
    ("doy", Word::Unit(Unit::Other)),
    ("dst", Word::Daylight),
    ("epoch", Word::Epoch),
    ("h", Word::Unit(Unit::Hour)),
    ("infinity", Word::Infinity),
    ("isodow", Word::Unit(Unit::Other)),
    ("isoyear", Word::Unit(Unit::Other)),
    ("j", Word::Unit(Unit::Julian)),
    ("jd", Word::Unit(Unit::Julian)),
    ("julian", Word::Unit(Unit::Julian)),
    ("m", Word::Unit(Unit::Month)),
    ("mm", Word::Unit(Unit::Minute)),
    ("now", Word::Present),
    ("on", Word::Ignored),
    ("pm", Word::Noon(true)),
    ("s", Word::Unit(Unit::Second)),
    ("sept", Word::Month(9)),
    ("t", Word::Unit(Unit::Time)),
    ("thur", Word::Weekday),
    ("thurs", Word::Weekday),
    ("today", Word::Day(0)),
    ("tomorrow", Word::Day(1)),
    ("tues", Word::Weekday),
    ("weds", Word::Weekday),
    ("y", Word::Unit(Unit::Year)),
    ("yesterday", Word::Day(-1)),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const DAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// The meaning of a word in a date or a time. The abbreviation of a zone goes first.
pub(crate) fn word(text: &str) -> Word {
    let is_it = |(name, ..): &&(&str, i32, bool)| name.eq_ignore_ascii_case(text);
    match FIXED.iter().find(is_it) {
        Some(&(_, seconds, saved)) => Word::Zone(seconds, saved),
        None => special(text),
    }
}

/// The meaning of a word that is no zone.
pub(super) fn special(text: &str) -> Word {
    let is = |name: &str| name.eq_ignore_ascii_case(text);
    // A name, or its first three letters.
    let begins = |name: &&str| is(name) || name.get(..3).is_some_and(is);
    if let Some(month) = MONTHS.iter().position(&begins) {
        return Word::Month(month as i32 + 1);
    }
    if DAYS.iter().any(begins) {
        return Word::Weekday;
    }
    let found = WORDS.iter().find(|(name, _)| is(name));
    found.map_or(Word::Unknown, |(_, word)| *word)
}
