//! Dates and timestamps from their fields, in any order (`DecodeDateTime`).

use super::Bad;
use super::fields::{Field, Kind, fields, whole};
use super::numbers::fraction;
use super::parts::{Decoded, Parts, mask};
use super::words::{Unit, Word, word};
use crate::values::arithmetic::DAY;
use crate::values::zones::{DateOrder, Zone, moves_too_far};

/// A text while it is read as a moment.
#[derive(Default)]
struct Reading<'z> {
    parts: Parts,
    found: u32,
    has_month: bool,
    /// The unit that the word before announces.
    unit: Option<Unit>,
    /// The place whose zone was named.
    place: Option<Zone>,
    /// The first moment of 1970, unless a later field changes it.
    is_epoch: bool,
    /// The sign of infinity, if the text is that.
    infinity: Option<bool>,
    /// The present, in microseconds since 1970, if a clock gives it.
    now: Option<i64>,
    /// The zone of texts without one.
    zone: Option<&'z Zone>,
}

/// Reads a date with or without a time and a zone, whose fields have so many bytes at most.
///
/// # Errors
/// If it is none.
pub(super) fn decode(
    text: &str,
    bytes_max: usize,
    zone: Option<&Zone>,
    now: Option<i64>,
    order: DateOrder,
) -> Result<Decoded, Bad> {
    let fields = fields(text, bytes_max).ok_or(Bad::Format)?;
    let mut reading = Reading {
        now,
        zone,
        ..Reading::default()
    };
    reading.parts.order = order;
    for (at, field) in fields.iter().enumerate() {
        let next = fields.get(at + 1).map(|field| field.kind);
        let Some(taken) = reading.take(field, next)? else {
            continue;
        };
        if taken & reading.found != 0 {
            return Err(Bad::Format);
        }
        reading.found |= taken;
    }
    if reading.found & (mask::ZONE | mask::DAYLIGHT_ZONE) == 0 && reading.place.is_none() {
        reading.place = zone.cloned();
    }
    reading.end()
}

/// The refusal of a zone whose clock moves too far.
pub(super) fn named_zone(name: &str) -> Bad {
    Bad::Unsupported(format!(
        "the time zone \"{name}\" is not supported: write its distance from UTC, such as +02:00"
    ))
}

/// The refusal of a word for the present, without a clock.
pub(super) fn unsupported_word(word: &str) -> Bad {
    Bad::Unsupported(format!(
        "the date/time value \"{}\" is not supported",
        word.to_ascii_lowercase()
    ))
}

impl Reading<'_> {
    /// Takes a field, and returns its parts; `None` if it is ignored.
    fn take(&mut self, field: &Field<'_>, next: Option<Kind>) -> Result<Option<u32>, Bad> {
        let text = field.text;
        match field.kind {
            Kind::Date => self.date(text),
            Kind::Time => {
                if self.unit.take().is_some_and(|unit| unit != Unit::Time) {
                    return Err(Bad::Format);
                }
                let taken = self.parts.take_time(text)?;
                match self.parts.is_time_beyond_day() {
                    true => Err(Bad::Field),
                    false => Ok(taken),
                }
            }
            Kind::Zone => {
                self.parts.take_zone(field.is_negative, text)?;
                Ok(mask::ZONE)
            }
            Kind::Number => match self.unit.take() {
                Some(unit) => self.announced(unit, text),
                None => self.number(text),
            },
            Kind::Special if text.eq_ignore_ascii_case("infinity") => {
                Ok(self.infinite(field.is_negative))
            }
            Kind::Special => Err(Bad::Format),
            Kind::Word => return self.word(text, next),
        }
        .map(Some)
    }

    fn infinite(&mut self, is_negative: bool) -> u32 {
        self.infinity = Some(is_negative);
        mask::DATE | mask::TIME | mask::ZONE
    }

    /// A word for the present, or for a day near today.
    fn of_clock(&mut self, text: &str) -> Result<u32, Bad> {
        let now = self.now.ok_or_else(|| unsupported_word(text))?;
        self.is_epoch = false;
        let local = self.zone.map_or(Some(now), |zone| zone.local(now));
        let local = local.ok_or(Bad::Field)?;
        let (today, clock) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        match word(text) {
            Word::Day(days) => {
                self.parts.set_day(today + days);
                Ok(mask::DATE)
            }
            _ => {
                self.parts.set_day(today);
                self.parts.set_clock(clock);
                self.parts.zone = ((now - local) / super::SECOND) as i32;
                Ok(mask::DATE | mask::TIME | mask::ZONE)
            }
        }
    }

    fn date(&mut self, text: &str) -> Result<u32, Bad> {
        const MONTH_DAY: u32 = mask::MONTH | mask::DAY;
        if self.unit == Some(Unit::Julian) {
            let (day, rest) = whole::<i32>(text)
                .filter(|(day, _)| *day >= 0)
                .ok_or(Bad::Field)?;
            self.unit = None;
            self.parts.set_julian(day);
            let sign = rest.strip_prefix('+').or(rest.strip_prefix('-'));
            let zone = sign.ok_or(Bad::Format)?;
            self.parts.take_zone(rest.starts_with('-'), zone)?;
            return Ok(mask::DATE | mask::TIME | mask::ZONE);
        }
        if self.unit.is_none() && self.found & MONTH_DAY != MONTH_DAY {
            return self.parts.take_date(text, self.found);
        }
        let unit = self.unit.take();
        if unit.is_none() && !text.starts_with(|c: char| c.is_ascii_digit()) {
            let place = Zone::of_text(text);
            self.place = Some(place.ok_or_else(|| match moves_too_far(text) {
                true => named_zone(text),
                false => Bad::Place(text.to_string()),
            })?);
            return Ok(mask::ZONE);
        }
        // A time without colons, and a zone.
        if unit.is_some_and(|unit| unit != Unit::Time) || self.found & mask::TIME == mask::TIME {
            return Err(Bad::Format);
        }
        let (time, zone) = text.split_once('-').ok_or(Bad::Format)?;
        self.parts.take_zone(true, zone)?;
        Ok(self.parts.take_run(time, self.found)? | mask::ZONE)
    }

    /// A number behind the word for its unit.
    fn announced(&mut self, unit: Unit, text: &str) -> Result<u32, Bad> {
        let (value, rest) = whole::<i32>(text).ok_or(Bad::Field)?;
        let may_have_point = matches!(unit, Unit::Julian | Unit::Time | Unit::Second);
        let is_fraction = rest.starts_with('.') && may_have_point;
        if !(rest.is_empty() || is_fraction) {
            return Err(Bad::Format);
        }
        self.is_epoch = false;
        let has_month = self.found & mask::MONTH != 0 && self.found & mask::HOUR != 0;
        let parts = &mut self.parts;
        Ok(match unit {
            Unit::Year => {
                parts.year = value.into();
                mask::YEAR
            }
            // Behind an hour it is the minute.
            Unit::Month if has_month => {
                parts.minute = value;
                mask::MINUTE
            }
            Unit::Month => {
                parts.month = value;
                mask::MONTH
            }
            Unit::Day => {
                parts.day = value;
                mask::DAY
            }
            Unit::Hour => {
                parts.hour = value;
                mask::HOUR
            }
            Unit::Minute => {
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
            Unit::Julian => return parts.take_julian(value, rest),
            Unit::Time => match parts.take_run(text, self.found | mask::DATE)? {
                mask::TIME => mask::TIME,
                _ => return Err(Bad::Format),
            },
            Unit::Other => return Err(Bad::Format),
        })
    }

    fn number(&mut self, text: &str) -> Result<u32, Bad> {
        let point = text.find('.');
        if point.is_some() && self.found & mask::DATE == 0 {
            return self.parts.take_date(text, self.found);
        }
        let is_open = self.found & mask::DATE == 0 || self.found & mask::TIME == 0;
        if point.is_some_and(|at| at > 2) || point.is_none() && text.len() >= 6 && is_open {
            return self.parts.take_run(text, self.found);
        }
        self.parts.take_number(text, self.has_month, self.found)
    }

    fn word(&mut self, text: &str, next: Option<Kind>) -> Result<Option<u32>, Bad> {
        let parts = &mut self.parts;
        Ok(Some(match word(text) {
            Word::Ignored => return Ok(None),
            Word::AllBalls => {
                (parts.hour, parts.minute, parts.second, parts.zone) = (0, 0, 0, 0);
                self.is_epoch = false;
                mask::TIME | mask::ZONE
            }
            Word::Epoch => {
                self.is_epoch = true;
                mask::RESERVED
            }
            Word::Infinity => return Ok(Some(self.infinite(false))),
            Word::Present | Word::Day(_) => return self.of_clock(text).map(Some),
            Word::Month(month) => {
                let is_day = self.found & mask::MONTH != 0
                    && !self.has_month
                    && self.found & mask::DAY == 0
                    && (1..=31).contains(&parts.month);
                let day = std::mem::replace(&mut parts.month, month);
                self.has_month = true;
                if is_day {
                    parts.day = day;
                    return Ok(Some(mask::DAY));
                }
                mask::MONTH
            }
            Word::Weekday => mask::WEEKDAY,
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
            Word::Unit(unit) => {
                let is_time = unit == Unit::Time;
                let may_follow = matches!(next, Some(Kind::Number | Kind::Time | Kind::Date));
                let is_placed = self.found & mask::DATE == mask::DATE && may_follow;
                if self.unit.is_some() || is_time && !is_placed {
                    return Err(Bad::Format);
                }
                self.unit = Some(unit);
                0
            }
            Word::Unknown => {
                self.place = Some(Zone::of_place(text).ok_or(Bad::Format)?);
                mask::ZONE
            }
        }))
    }

    fn end(mut self) -> Result<Decoded, Bad> {
        if self.unit.is_some() {
            return Err(Bad::Format);
        }
        if let Some(is_negative) = self.infinity {
            return Ok(Decoded::Infinity { is_negative });
        }
        self.parts.check_date(self.found)?;
        self.parts.apply_noon()?;
        if self.is_epoch {
            return Ok(Decoded::Epoch);
        }
        let has_only_daylight = self.found & (mask::ZONE | mask::DAYLIGHT) == mask::DAYLIGHT;
        match self.found & mask::DATE == mask::DATE && !has_only_daylight {
            true => Ok(Decoded::Parts(self.parts, self.place)),
            false => Err(Bad::Format),
        }
    }
}
