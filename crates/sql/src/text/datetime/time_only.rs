//! Times of the day from their fields, with the zone behind them; a date before them says which distance from UTC a place
//! has (`DecodeTimeOnly`).

use super::Bad;
use super::decode::{named_zone, unsupported_word};
use super::fields::{Field, Kind, OF_DATE, fields, whole};
use super::numbers::fraction;
use super::parts::{Parts, mask};
use super::words::{Unit, Word, word};
use crate::values::zones::{Zone, moves_too_far};
use sardonyx_rows::value_text::days_of;

/// The session's zone, and the clock.
pub(super) struct Clock<'z> {
    /// The zone of a time without one; UTC if there is none.
    pub zone: Option<&'z Zone>,
    /// The present, in microseconds since 1970, if a clock gives it.
    pub now: Option<i64>,
    /// The type has a zone.
    pub has_zone: bool,
}

/// Reads a time of the day, in microseconds since midnight, and its distance in seconds west of UTC.
///
/// # Errors
/// If it is none.
pub(super) fn decode(text: &str, clock: &Clock<'_>) -> Result<(i64, i32), Bad> {
    let fields = fields(text, OF_DATE).ok_or(Bad::Format)?;
    let (mut parts, mut found, mut unit, mut place) = (Parts::default(), 0, None, None);
    for at in 0..fields.len() {
        let taken = take(&mut parts, found, (&mut unit, &mut place), &fields, at)?;
        if taken & found != 0 {
            return Err(Bad::Format);
        }
        found |= taken;
    }
    // The word for a unit at the end has no meaning.
    if place.is_some() && found & mask::DAYLIGHT != 0 {
        return Err(Bad::Format);
    }
    parts.check_date(found)?;
    parts.apply_noon()?;
    if parts.is_time_beyond_day() {
        return Err(Bad::Field);
    }
    let has_only_daylight = found & (mask::ZONE | mask::DAYLIGHT) == mask::DAYLIGHT;
    match found & mask::TIME == mask::TIME && !has_only_daylight {
        true => Ok((parts.clock(), west(&parts, found, place.as_ref(), clock)?)),
        false => Err(Bad::Format),
    }
}

/// The distance of a time from UTC: the one that was given, or that of a place or of the session on the time's day, or else
/// today.
///
/// # Errors
/// If the place's distance changes and the time has no day; `0A000` without a clock.
fn west(parts: &Parts, found: u32, place: Option<&Zone>, clock: &Clock<'_>) -> Result<i32, Bad> {
    if found & mask::ZONE == 0 && !matches!(found & mask::DATE, 0 | mask::DATE) {
        return Err(Bad::Format);
    }
    let has_own = found & mask::ZONE != 0 && place.is_none();
    let Some(zone) = place.or(clock.zone).filter(|_| !has_own) else {
        return Ok(parts.zone);
    };
    let day = match found & mask::DATE {
        0 => None,
        mask::DATE => days_of(parts.year, parts.month as u32, parts.day as u32),
        _ => return Err(Bad::Format),
    };
    let is_of_place = place.is_some() && !matches!(zone, Zone::Abbreviation(..));
    match day {
        None if is_of_place && zone.constant().is_none() => Err(Bad::Format),
        _ if !clock.has_zone => Ok(0),
        None => zone
            .west_today(clock.now, parts.clock())
            .ok_or_else(no_clock),
        Some(day) => {
            let midnight = day.checked_mul(super::DAY).ok_or(Bad::Field)?;
            zone.west_of(midnight + parts.clock()).ok_or(Bad::Field)
        }
    }
}

/// The refusal of a time whose zone has another distance from UTC on other days, without a clock.
fn no_clock() -> Bad {
    Bad::Unsupported(
        "a time is not supported here without its distance from UTC, such as +02:00".into(),
    )
}

fn take(
    parts: &mut Parts,
    found: u32,
    (unit, place): (&mut Option<Unit>, &mut Option<Zone>),
    fields: &[Field<'_>],
    at: usize,
) -> Result<u32, Bad> {
    let Some(field) = fields.get(at) else {
        return Err(Bad::Format);
    };
    let text = field.text;
    let is_last_date = fields.last().is_some_and(|last| last.kind == Kind::Date);
    let may_begin = at == 0 && fields.len() >= 2;
    match field.kind {
        Kind::Date => {
            let is_time_next = fields.get(1).is_some_and(|next| next.kind == Kind::Time);
            if may_begin && (is_last_date || is_time_next) {
                return parts.take_date(text, found);
            }
            if !text.starts_with(|c: char| c.is_ascii_digit()) {
                let found = Zone::of_text(text);
                *place = Some(found.ok_or_else(|| match moves_too_far(text) {
                    true => named_zone(text),
                    false => Bad::Place(text.to_string()),
                })?);
                return Ok(mask::ZONE);
            }
            if found & mask::TIME == mask::TIME {
                return Err(Bad::Format);
            }
            let (time, zone) = text.split_once('-').ok_or(Bad::Format)?;
            parts.take_zone(true, zone)?;
            Ok(parts.take_run(time, found | mask::DATE)? | mask::ZONE)
        }
        Kind::Time => parts.take_time(text),
        Kind::Zone => {
            parts.take_zone(field.is_negative, text)?;
            Ok(mask::ZONE)
        }
        Kind::Number => match unit.take() {
            Some(unit) => announced(parts, unit, text, found),
            None => match text.find('.') {
                Some(_) if may_begin && is_last_date => parts.take_date(text, found),
                Some(digits) if digits > 2 => parts.take_run(text, found | mask::DATE),
                Some(_) => Err(Bad::Format),
                None if text.len() > 4 => parts.take_run(text, found | mask::DATE),
                None => parts.take_number(text, false, found | mask::DATE),
            },
        },
        Kind::Special => Err(Bad::Format),
        Kind::Word => {
            let next = fields.get(at + 1).map(|next| next.kind);
            take_word(parts, (unit, place), text, next)
        }
    }
}

/// A number behind the word for its unit.
fn announced(parts: &mut Parts, unit: Unit, text: &str, found: u32) -> Result<u32, Bad> {
    let (value, rest) = whole::<i32>(text).ok_or(Bad::Field)?;
    let may_have_point = matches!(unit, Unit::Time | Unit::Second | Unit::Julian);
    let is_fraction = rest.starts_with('.') && may_have_point;
    if !(rest.is_empty() || is_fraction) {
        return Err(Bad::Format);
    }
    Ok(match unit {
        Unit::Hour => {
            parts.hour = value;
            mask::HOUR
        }
        Unit::Year => {
            parts.year = value.into();
            mask::YEAR
        }
        // Behind a month and an hour it is the minute.
        Unit::Month if found & mask::MONTH == 0 || found & mask::HOUR == 0 => {
            parts.month = value;
            mask::MONTH
        }
        Unit::Day => {
            parts.day = value;
            mask::DAY
        }
        Unit::Julian => return parts.take_julian(value, rest),
        Unit::Minute | Unit::Month => {
            parts.minute = value;
            mask::MINUTE
        }
        Unit::Second => {
            parts.second = value;
            if rest.is_empty() {
                return Ok(mask::SECOND);
            }
            parts.micros = fraction(rest)?;
            mask::SECOND | mask::FRACTION
        }
        Unit::Time => match parts.take_run(text, mask::DATE)? {
            mask::TIME => mask::TIME,
            _ => return Err(Bad::Format),
        },
        Unit::Other => return Err(Bad::Format),
    })
}

fn take_word(
    parts: &mut Parts,
    (unit, place): (&mut Option<Unit>, &mut Option<Zone>),
    text: &str,
    next: Option<Kind>,
) -> Result<u32, Bad> {
    Ok(match word(text) {
        Word::Ignored => 0,
        Word::AllBalls => {
            (parts.hour, parts.minute, parts.second, parts.zone) = (0, 0, 0, 0);
            mask::TIME | mask::ZONE
        }
        Word::Present => return Err(unsupported_word(text)),
        Word::Noon(is_afternoon) => {
            parts.noon = Some(is_afternoon);
            mask::NOON
        }
        Word::Era(is_before_christ) => {
            parts.is_before_christ = is_before_christ;
            mask::ERA
        }
        Word::Zone(east, saved) => {
            parts.zone = -east;
            match saved {
                true => mask::DAYLIGHT_ZONE | mask::ZONE,
                false => mask::ZONE,
            }
        }
        Word::Daylight => {
            parts.zone -= 3600;
            mask::DAYLIGHT | mask::DAYLIGHT_ZONE
        }
        Word::Unit(Unit::Time) if !matches!(next, Some(Kind::Number | Kind::Time | Kind::Date)) => {
            return Err(Bad::Format);
        }
        Word::Unit(Unit::Other) => return Err(Bad::Format),
        Word::Unit(announced) => {
            // The time behind `T` needs no word.
            *unit = match (announced, next) {
                (Unit::Time, Some(Kind::Time | Kind::Date)) => None,
                _ => Some(announced),
            };
            0
        }
        Word::Unknown => {
            *place = Some(Zone::of_place(text).ok_or(Bad::Format)?);
            mask::ZONE
        }
        Word::Month(_) | Word::Weekday | Word::Epoch | Word::Day(_) | Word::Infinity => {
            return Err(Bad::Format);
        }
    })
}
