//! Time zones by name: places of the bundled IANA database, abbreviations, and distances from UTC.
//!
//! A local time is read as PostgreSQL reads it: a nonexistent one by the distance before the change of the clock, an
//! ambiguous one by the distance behind it.

use super::abbreviations::OF_PLACES;
use super::arithmetic::DAY;
use super::intervals::IntervalStyle;
use crate::error::{SqlError, code};
use crate::text::datetime::words::{Word, word};
use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

/// The years after which the calendar repeats, with weekdays, in microseconds.
const CYCLE: i64 = 146_097 * DAY;
/// Behind this moment, in the year 9000, rules are looked up some cycles earlier.
const LAST: i64 = 2_567_709 * DAY;
/// Before this moment, in the year 1000, no rule set a clock.
const FIRST: i64 = -354_285 * DAY;
const SECOND: i64 = 1_000_000;
const UTC: &str = "UTC";

/// The order of a date's numeric parts, if their length does not decide it: the parameter `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum DateOrder {
    #[default]
    MonthDayYear,
    DayMonthYear,
    YearMonthDay,
}

impl DateOrder {
    /// The order of a value of the parameter, as it is kept: `ISO, DMY`.
    pub fn of_setting(value: &str) -> DateOrder {
        match value.rsplit(", ").next() {
            Some("DMY") => DateOrder::DayMonthYear,
            Some("YMD") => DateOrder::YearMonthDay,
            _ => DateOrder::MonthDayYear,
        }
    }
}

/// The time zone of a session, the order of its dates and the style of its intervals, if one of these is not the default: UTC,
/// the month first, `postgres`. With a clock, a time of the day has the distance from UTC that it has today.
#[derive(Clone, Debug)]
pub struct SessionZone {
    named: Arc<Named>,
    /// The present, in microseconds since 1970, if a clock gives it.
    now: Option<i64>,
}

#[derive(Debug)]
struct Named {
    name: String,
    zone: Zone,
    order: DateOrder,
    style: IntervalStyle,
}

impl PartialEq for SessionZone {
    fn eq(&self, other: &SessionZone) -> bool {
        let of = |zone: &SessionZone| (zone.named.order, zone.named.style);
        self.named.name == other.named.name && of(self) == of(other)
    }
}

impl Eq for SessionZone {}

impl SessionZone {
    /// The zone of a value of the parameter `TimeZone`: its name as it is shown, and the zone if it is not UTC. None if
    /// there is no such zone.
    pub(crate) fn of_setting(text: &str) -> Option<(String, Option<SessionZone>)> {
        let (name, zone) = match Zone::of_place(text) {
            Some(Zone::Place(place)) => {
                let name = place.iana_name().unwrap_or(text).to_string();
                let is_utc = ["UTC", "GMT", "Etc/UTC", "Zulu", "UCT"].contains(&&*name);
                match is_utc {
                    true => return Some((name, None)),
                    false => (name, Zone::Place(place)),
                }
            }
            Some(Zone::Abbreviation(..)) => return None,
            Some(zone) => (text.to_string(), zone),
            None if text.eq_ignore_ascii_case("z") => return Some(("UTC".into(), None)),
            None => match of_hours(text) {
                Some(east) => (posix_name(east)?, Zone::Fixed(east)),
                None => (text.to_string(), Zone::Fixed(posix(text)?)),
            },
        };
        let (order, style) = Default::default();
        let zone = SessionZone::of(name.clone(), zone, order, style);
        Some((name, Some(zone)))
    }

    /// The same with an order of dates and a style of intervals; UTC with one of them needs a zone.
    pub(crate) fn written(
        zone: Option<SessionZone>,
        order: DateOrder,
        style: IntervalStyle,
    ) -> Option<SessionZone> {
        let there = zone.as_ref().map(|zone| (zone.order(), zone.style()));
        if there.unwrap_or_default() == (order, style) {
            return zone;
        }
        let (name, zone) = match &zone {
            Some(zone) => (zone.name().to_string(), zone.zone().clone()),
            None => (UTC.to_string(), Zone::Fixed(0)),
        };
        Some(SessionZone::of(name, zone, order, style))
    }

    fn of(name: String, zone: Zone, order: DateOrder, style: IntervalStyle) -> SessionZone {
        let named = Arc::new(Named {
            name,
            zone,
            order,
            style,
        });
        SessionZone { named, now: None }
    }

    /// The same with a clock's present, in microseconds since 1970.
    pub(crate) fn at(self, now: i64) -> SessionZone {
        let now = Some(now);
        SessionZone { now, ..self }
    }

    /// The present, if there is a clock.
    pub(crate) fn now(&self) -> Option<i64> {
        self.now
    }

    /// The distance from UTC that a time of the day, in microseconds, has today, in seconds to the west. `None` if that
    /// changes and there is no clock.
    pub(crate) fn west_today(&self, micros: i64) -> Option<i32> {
        self.zone().west_today(self.now, micros)
    }

    pub(crate) fn order(&self) -> DateOrder {
        self.named.order
    }

    pub(crate) fn style(&self) -> IntervalStyle {
        self.named.style
    }

    /// The value of the parameter `TimeZone` for a distance from UTC, in microseconds to the east. `None` if it is too
    /// far.
    pub(crate) fn name_of_distance(micros: i64) -> Option<String> {
        posix_name(i32::try_from(micros / SECOND).ok()?)
    }

    /// Its rules.
    pub(crate) fn zone(&self) -> &Zone {
        &self.named.zone
    }

    pub(crate) fn name(&self) -> &str {
        &self.named.name
    }
}

/// Seconds east of UTC of the zone of an abbreviation.
fn abbreviation(name: &str) -> Option<i32> {
    match word(name) {
        Word::Zone(east, _) => Some(east),
        _ => None,
    }
}

/// Seconds east of UTC of hours, perhaps with a fraction.
fn of_hours(text: &str) -> Option<i32> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        && !text.contains(':');
    let hours: f64 = is_number.then(|| text.parse().ok()).flatten()?;
    (hours.abs() < 168.0).then_some((hours * 3600.0) as i32)
}

/// A distance from UTC as written behind a time: `+02`, `-03:30`.
pub(crate) fn distance(east: i64) -> String {
    let seconds = east.unsigned_abs();
    let mut text = format!("{}{:02}", if east < 0 { '-' } else { '+' }, seconds / 3600);
    if !seconds.is_multiple_of(3600) {
        let _ = write!(text, ":{:02}", seconds / 60 % 60);
    }
    if !seconds.is_multiple_of(60) {
        let _ = write!(text, ":{:02}", seconds % 60);
    }
    text
}

/// PostgreSQL's form of a distance from UTC: `<+05:30>-05:30`.
fn posix_name(east: i32) -> Option<String> {
    (east.unsigned_abs() < 168 * 3600).then_some(())?;
    let distance = |sign: char| {
        let seconds = east.unsigned_abs();
        let mut text = format!("{sign}{:02}", seconds / 3600);
        if !seconds.is_multiple_of(3600) {
            text += &format!(":{:02}", seconds / 60 % 60);
        }
        if !seconds.is_multiple_of(60) {
            text += &format!(":{:02}", seconds % 60);
        }
        text
    };
    let (own, posix) = if east < 0 { ('-', '+') } else { ('+', '-') };
    Some(format!("<{}>{}", distance(own), distance(posix)))
}

/// A time zone.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    Place(TimeZone),
    /// Seconds east of UTC of a zone whose clock changes by the rules of another one, which is UTC without them.
    Ruled(i32, TimeZone),
    /// An abbreviation of a place: its distance from UTC is that of its last use there.
    Abbreviation(TimeZone, &'static str),
}

/// Seconds east of UTC of an abbreviation at a moment: in its last use before, or else in its next one. And true for
/// daylight saving.
pub(super) fn east_of(abbreviation: &str, zone: &TimeZone, at: Timestamp) -> Option<(i64, bool)> {
    let here = zone.to_offset_info(at);
    if here.abbreviation().eq_ignore_ascii_case(abbreviation) {
        return Some((here.offset().seconds().into(), here.dst().is_dst()));
    }
    let is_it = |transition: &jiff::tz::TimeZoneTransition<'_>| {
        transition.abbreviation().eq_ignore_ascii_case(abbreviation)
    };
    // Rules never end, so only some centuries of next uses are searched.
    let found = zone.preceding(at).find(is_it);
    let found = found.or_else(|| zone.following(at).take(1000).find(is_it))?;
    Some((found.offset().seconds().into(), found.dst().is_dst()))
}

/// The places of the IANA database.
pub(super) static PLACES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

impl Zone {
    /// The zone of a name: an abbreviation, a place, or a distance in the manner of POSIX, which counts to the west.
    ///
    /// # Errors
    /// `22023` if there is none.
    pub fn named(name: &str) -> Result<Zone, SqlError> {
        let known = abbreviation(name)
            .map(Zone::Fixed)
            .or_else(|| Zone::of_place(name))
            .or_else(|| posix(name).map(Zone::Fixed))
            .or_else(|| ruled(name));
        known.ok_or_else(|| {
            if moves_too_far(name) {
                return SqlError::unsupported(format!(
                    "the time zone \"{name}\", whose clock moves by more than a day, is not supported"
                ));
            }
            SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                format!("time zone \"{name}\" not recognized"),
            )
        })
    }

    /// The zone of a place: `Europe/Berlin`; or of an abbreviation whose distance from UTC has changed: `MSK`.
    pub fn of_place(name: &str) -> Option<Zone> {
        if let Ok(place) = PLACES.get(name) {
            return Some(Zone::Place(place));
        }
        let is_it = |(known, _): &&(&str, &str)| known.eq_ignore_ascii_case(name);
        let (abbreviation, place) = OF_PLACES.iter().find(is_it)?;
        Some(Zone::Abbreviation(PLACES.get(place).ok()?, abbreviation))
    }

    /// The zone named in a text of a moment: a place, or a distance as in POSIX.
    pub fn of_text(name: &str) -> Option<Zone> {
        Zone::of_place(name)
            .or_else(|| posix(name).map(Zone::Fixed))
            .or_else(|| ruled(name))
    }

    /// The local time at a moment, both in microseconds since 1970.
    pub fn local(&self, moment: i64) -> Option<i64> {
        let east = match self {
            Zone::Fixed(east) => i64::from(*east),
            Zone::Place(zone) => {
                let at = Timestamp::from_microsecond(within_rules(moment)).ok()?;
                zone.to_offset(at).seconds().into()
            }
            Zone::Ruled(east, rules) => {
                let shifted = moment.checked_add(i64::from(*east) * SECOND)?;
                return Zone::Place(rules.clone()).local(shifted);
            }
            Zone::Abbreviation(zone, name) => {
                let at = Timestamp::from_microsecond(within_rules(moment)).ok()?;
                let east = east_of(name, zone, at);
                east.map_or_else(|| zone.to_offset(at).seconds().into(), |(east, _)| east)
            }
        };
        moment.checked_add(east * SECOND)
    }

    /// Seconds east of UTC, if they have always been the same.
    pub fn constant(&self) -> Option<i32> {
        match self {
            Zone::Fixed(east) => Some(*east),
            Zone::Place(zone) => {
                let changes = zone.following(Timestamp::MIN).next();
                let east = || zone.to_offset(Timestamp::UNIX_EPOCH).seconds();
                changes.is_none().then(east)
            }
            Zone::Ruled(..) | Zone::Abbreviation(..) => None,
        }
    }

    /// Seconds west of UTC of a time of the day, in microseconds, on the day that a clock gives. `None` if they change and
    /// there is no clock.
    pub fn west_today(&self, now: Option<i64>, micros: i64) -> Option<i32> {
        if let Some(east) = self.constant() {
            return Some(-east);
        }
        let today = self.local(now?)?.div_euclid(DAY);
        self.west_of(today.checked_mul(DAY)?.checked_add(micros)?)
    }

    /// Seconds west of UTC of a local time, in microseconds since 1970.
    pub fn west_of(&self, local: i64) -> Option<i32> {
        i32::try_from((self.moment(local)? - local) / SECOND).ok()
    }

    /// Seconds east of UTC at a moment.
    pub fn east_at(&self, moment: i64) -> i64 {
        let local = self.local(moment).unwrap_or(moment);
        (local - moment) / SECOND
    }

    /// The abbreviation of the zone at a moment: `CEST`; of a distance from UTC that has none, the distance.
    pub fn abbreviation_at(&self, moment: i64) -> String {
        let east = match self {
            Zone::Fixed(east) => i64::from(*east),
            Zone::Ruled(..) => self.east_at(moment),
            Zone::Place(zone) | Zone::Abbreviation(zone, _) => {
                match Timestamp::from_microsecond(within_rules(moment)) {
                    Ok(at) => return zone.to_offset_info(at).abbreviation().to_string(),
                    Err(_) => 0,
                }
            }
        };
        distance(east)
    }

    /// The moment of a local time, both in microseconds since 1970.
    pub fn moment(&self, local: i64) -> Option<i64> {
        let east = match self {
            Zone::Fixed(east) => i64::from(*east),
            Zone::Place(zone) => {
                let at = Timestamp::from_microsecond(within_rules(local)).ok()?;
                let at = Offset::UTC.to_datetime(at);
                let offset = match zone.to_ambiguous_timestamp(at).offset() {
                    AmbiguousOffset::Unambiguous { offset } => offset,
                    AmbiguousOffset::Gap { before, .. } => before,
                    AmbiguousOffset::Fold { after, .. } => after,
                };
                offset.seconds().into()
            }
            Zone::Ruled(east, rules) => {
                let shifted = Zone::Place(rules.clone()).moment(local)?;
                return shifted.checked_sub(i64::from(*east) * SECOND);
            }
            Zone::Abbreviation(zone, name) => {
                let own = Zone::Place(zone.clone()).moment(local)?;
                let at = Timestamp::from_microsecond(within_rules(own)).ok()?;
                match east_of(name, zone, at) {
                    Some((east, _)) => east,
                    None => return Some(own),
                }
            }
        };
        local.checked_sub(east * SECOND)
    }
}

/// A moment with the same rules that is within the calendar of the rules.
fn within_rules(micros: i64) -> i64 {
    match micros > LAST {
        true => micros - (micros - LAST + CYCLE - 1) / CYCLE * CYCLE,
        false => micros.max(FIRST),
    }
}

/// `UTC+2`, `<x>-02:30`, `+01`: seconds east of UTC of a distance to the west, with any name before it.
fn posix(text: &str) -> Option<i32> {
    let rest = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()),
    };
    seconds_east(rest)
}

/// Seconds east of UTC of hours, minutes and seconds to the west.
fn seconds_east(text: &str) -> Option<i32> {
    let (is_west, clock) = match text.strip_prefix('-') {
        Some(clock) => (false, clock),
        None => (true, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut seconds = 0;
    let mut parts = clock.split(':');
    for (unit, most) in [(3600, 167), (60, 59), (1, 59)] {
        let Some(part) = parts.next() else { break };
        let is_number = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let number = part.parse::<i32>().ok().filter(|number| *number <= most)?;
        seconds += is_number.then_some(number * unit)?;
    }
    let is_whole = parts.next().is_none();
    is_whole.then_some(if is_west { -seconds } else { seconds })
}

/// A zone in the manner of POSIX whose clock changes: `CET-1CEST,M3.5.0,M10.5.0/3`. Without rules they are those of the
/// United States, as in PostgreSQL, which takes any name.
fn ruled(text: &str) -> Option<Zone> {
    let (east, ahead, rules) = parts_of_posix(text)?;
    let sign = if ahead < 0 { "" } else { "-" };
    let (hours, minutes, seconds) = (ahead.abs() / 3600, ahead.abs() / 60 % 60, ahead.abs() % 60);
    let zone = format!("AAA0BBB{sign}{hours:02}:{minutes:02}:{seconds:02}{rules}");
    let rules = TimeZone::posix(&zone).ok()?;
    Some(Zone::Ruled(east, rules))
}

/// True for such a zone whose clock moves by more than a day, which is not supported.
pub(crate) fn moves_too_far(text: &str) -> bool {
    parts_of_posix(text).is_some_and(|(_, ahead, _)| ahead.abs() > 86_400)
}

/// Seconds east of UTC, seconds by which the clock moves, and the rules.
fn parts_of_posix(text: &str) -> Option<(i32, i32, String)> {
    let behind_name = |text: &str| {
        let length = match text.strip_prefix('<') {
            Some(quoted) => quoted.find('>')? + 2,
            None => text.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+'))?,
        };
        text.get(length..).map(str::to_string)
    };
    let clock_of = |text: &str| {
        let is_clock = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | ':');
        text.len() - text.trim_start_matches(is_clock).len()
    };
    let rest = behind_name(text)?;
    let (clock, rest) = rest.split_at(clock_of(&rest));
    let east = seconds_east(clock)?;
    if rest.is_empty() || rest.starts_with(',') {
        return None;
    }
    let rest = behind_name(&format!("{rest},"))?;
    let rest = rest.strip_suffix(',').unwrap_or_default();
    let (clock, rules) = rest.split_at(clock_of(rest));
    let ahead = match clock {
        "" => 3600,
        clock => seconds_east(clock)? - east,
    };
    let rules = if rules.is_empty() {
        ",M3.2.0,M11.1.0"
    } else {
        rules
    };
    Some((east, ahead, rules.to_string()))
}

#[cfg(test)]
mod tests {
    use super::{CYCLE, LAST, Zone, posix, ruled, within_rules};
    use crate::values::arithmetic::DAY;

    #[test]
    fn distances_count_to_the_west() {
        for (text, east) in [
            ("UTC+2", Some(-7200)),
            ("UTC-02:30", Some(9000)),
            ("+02:00", Some(-7200)),
            ("<+03>-3", Some(10_800)),
            ("5", Some(-18_000)),
            ("UTC", None),
            ("x+1:60", None),
            ("x+1:2:3:4", None),
            ("<x+1", None),
            ("Nowhere/Else", None),
        ] {
            assert_eq!(posix(text), east, "{text}");
        }
    }

    #[test]
    fn clocks_change_by_rules() {
        for (text, summer, winter) in [
            ("CET-1CEST,M3.5.0,M10.5.0/3", 7200, 3600),
            ("x5y", -14_400, -18_000),
            ("25 hours", -86_400, -90_000),
            ("<a>1<b>2", -7200, -3600),
        ] {
            let zone = ruled(text).expect(text);
            assert_eq!(zone.east_at(1_719_800_000_000_000), summer, "{text}");
            assert_eq!(zone.east_at(1_704_100_000_000_000), winter, "{text}");
            let local = zone.local(1_719_800_000_000_000).expect("a time");
            assert_eq!(zone.moment(local), Some(1_719_800_000_000_000), "{text}");
        }
        for text in [
            "",
            "UTC",
            "x5,M3.2.0,M11.1.0",
            "x5y,",
            "x5y,M99",
            "x200y",
            "<x5y",
        ] {
            assert!(ruled(text).is_none(), "{text}");
        }
    }

    #[test]
    fn rules_go_on_beyond_the_calendar() {
        let zone = Zone::named("europe/berlin").expect("a place");
        for moment in [LAST, LAST + DAY, LAST + CYCLE, i64::MAX / 2, i64::MIN / 2] {
            let local = zone.local(moment).expect("a time");
            assert!((moment - local).abs() <= 2 * DAY / 24, "{moment}");
            assert!(within_rules(moment) <= LAST, "{moment}");
        }
    }
}
