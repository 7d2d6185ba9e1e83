//! Words of dates and times: months, days, units, eras, abbreviations of zones.

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
    /// The present, or infinity.
    Unsupported,
    /// Seconds east of UTC, and whether daylight is saved.
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
    ("infinity", Word::Unsupported),
    ("isodow", Word::Unit(Unit::Other)),
    ("isoyear", Word::Unit(Unit::Other)),
    ("j", Word::Unit(Unit::Julian)),
    ("jd", Word::Unit(Unit::Julian)),
    ("julian", Word::Unit(Unit::Julian)),
    ("m", Word::Unit(Unit::Month)),
    ("mm", Word::Unit(Unit::Minute)),
    ("now", Word::Unsupported),
    ("on", Word::Ignored),
    ("pm", Word::Noon(true)),
    ("s", Word::Unit(Unit::Second)),
    ("sept", Word::Month(9)),
    ("t", Word::Unit(Unit::Time)),
    ("thur", Word::Weekday),
    ("thurs", Word::Weekday),
    ("today", Word::Unsupported),
    ("tomorrow", Word::Unsupported),
    ("tues", Word::Weekday),
    ("weds", Word::Weekday),
    ("y", Word::Unit(Unit::Year)),
    ("yesterday", Word::Unsupported),
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

/// Abbreviations of zones with a fixed distance from UTC, in seconds, and whether daylight is saved.
const ZONES: &[(&str, i32, bool)] = &[
    ("z", 0, false),
    ("utc", 0, false),
    ("gmt", 0, false),
    ("acdt", 37_800, true),
    ("acst", 34_200, false),
    ("adt", -10_800, true),
    ("aedt", 39_600, true),
    ("aest", 36_000, false),
    ("akdt", -28_800, true),
    ("akst", -32_400, false),
    ("ast", -14_400, false),
    ("awst", 28_800, false),
    ("bst", 3600, true),
    ("cdt", -18_000, true),
    ("cest", 7200, true),
    ("cet", 3600, false),
    ("cetdst", 7200, true),
    ("cst", -21_600, false),
    ("edt", -14_400, true),
    ("eest", 10_800, true),
    ("eet", 7200, false),
    ("eetdst", 10_800, true),
    ("est", -18_000, false),
    ("hst", -36_000, false),
    ("idt", 10_800, true),
    ("ist", 7200, false),
    ("jst", 32_400, false),
    ("kst", 32_400, false),
    ("mdt", -21_600, true),
    ("mest", 7200, true),
    ("met", 3600, false),
    ("metdst", 7200, true),
    ("mst", -25_200, false),
    ("ndt", -9000, true),
    ("nst", -12_600, false),
    ("nzdt", 46_800, true),
    ("nzst", 43_200, false),
    ("pdt", -25_200, true),
    ("pst", -28_800, false),
    ("sast", 7200, false),
    ("uct", 0, false),
    ("ut", 0, false),
    ("wet", 0, false),
    ("wetdst", 3600, true),
    ("zulu", 0, false),
];

/// The meaning of a word in a date or a time. The abbreviation of a zone goes first.
pub(crate) fn word(text: &str) -> Word {
    let is_it = |(name, ..): &&(&str, i32, bool)| name.eq_ignore_ascii_case(text);
    match ZONES.iter().find(is_it) {
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
