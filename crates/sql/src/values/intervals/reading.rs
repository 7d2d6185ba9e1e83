//! The text of an interval, read as PostgreSQL reads it: its fields from the last one to the first, so that a unit comes
//! before its number. A text without such fields may have the form of ISO 8601 ([`super::designators`]).
//!
//! Source: PostgreSQL 15, `interval_in` and `DecodeInterval`.

use super::designators::designators;
use super::sum::{Number, Sum, Unit};
use super::{HOUR, Interval, MINUTE, SECOND};
use crate::error::{SqlError, code};
use crate::text::datetime::fields::{Field, Kind, OF_INTERVAL, fields, whole};
use crate::types::interval_fields as types;
use crate::values::time_units;

/// The reason for which a text is no interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bad {
    /// It has another form.
    Format,
    /// One of its fields is out of range.
    Field,
    /// Years and months are too many together.
    Months,
}

impl Bad {
    #[cold]
    pub fn of(self, text: &str) -> SqlError {
        match self {
            Bad::Format => SqlError::new(
                code::INVALID_DATETIME,
                format!("invalid input syntax for type interval: \"{text}\""),
            ),
            Bad::Field => SqlError::new(
                "22015",
                format!("interval field value out of range: \"{text}\""),
            ),
            Bad::Months => super::out_of_range(),
        }
    }
}

/// The units of a text that are set.
mod mask {
    use super::Unit;

    pub(super) const SECONDS: u32 =
        of(Unit::Microsecond) | of(Unit::Millisecond) | of(Unit::Second);
    pub(super) const TIME: u32 = SECONDS | of(Unit::Minute) | of(Unit::Hour);

    pub(super) const fn of(unit: Unit) -> u32 {
        1 << unit as u32
    }
}

/// Reads an interval of a type with some fields. The least number of microseconds is only read if an interval wrote it.
pub(super) fn read(text: &str, range: i32, is_written: bool) -> Result<Interval, Bad> {
    let sum = match of_fields(text, range, is_written) {
        Err(Bad::Format) => designators(text),
        other => other,
    };
    sum?.interval().ok_or(Bad::Months)
}

/// Reads an interval whose units may stand twice: they are added.
pub(super) fn read_sum(text: &str) -> Result<Interval, Bad> {
    let fields = fields(text, OF_INTERVAL).filter(|fields| !fields.is_empty());
    let fields = fields.ok_or(Bad::Format)?;
    let (mut sum, mut clocks, mut unit, mut is_ago) = (Sum::default(), 0_i64, None, false);
    for field in fields.iter().rev() {
        let clock = match field.kind {
            Kind::Time => Some(clock(field.text, types::ALL_FIELDS)?),
            Kind::Zone => signed_clock(field, types::ALL_FIELDS, false),
            _ => None,
        };
        if let Some(micros) = clock {
            clocks = clocks.checked_add(micros).ok_or(Bad::Field)?;
            unit = Some(Unit::Day);
            continue;
        }
        match field.kind {
            Kind::Zone | Kind::Date | Kind::Number => {
                let (number, of) = number(field, unit.unwrap_or(Unit::Second))?;
                sum.add(number, of)?;
            }
            Kind::Word if field.text.eq_ignore_ascii_case("ago") => {
                (is_ago, unit) = (true, Some(Unit::Second));
            }
            Kind::Word => unit = Some(named(field.text).ok_or(Bad::Format)?),
            Kind::Special | Kind::Time => return Err(Bad::Format),
        }
    }
    sum.micros = sum.micros.checked_add(clocks).ok_or(Bad::Field)?;
    if is_ago {
        sum = sum.negated().ok_or(Bad::Field)?;
    }
    sum.interval().ok_or(Bad::Months)
}

fn of_fields(text: &str, range: i32, is_written: bool) -> Result<Sum, Bad> {
    let fields = fields(text, OF_INTERVAL).ok_or(Bad::Format)?;
    let (mut sum, mut unit, mut found, mut is_ago) = (Sum::default(), None, 0, false);
    for field in fields.iter().rev() {
        let clock = match field.kind {
            Kind::Time => Some(clock(field.text, range)?),
            Kind::Zone => signed_clock(field, range, is_written),
            _ => None,
        };
        if let Some(micros) = clock {
            sum.micros = micros;
            // A number before it counts days.
            unit = Some(Unit::Day);
            add_found(&mut found, mask::TIME)?;
            continue;
        }
        match field.kind {
            Kind::Zone | Kind::Date | Kind::Number => {
                let (number, of) = number(field, unit.unwrap_or(unit_of(range)))?;
                sum.add(number, of)?;
                let taken = match of {
                    Unit::Second if number.fraction != 0.0 => mask::SECONDS,
                    of => mask::of(of),
                };
                add_found(&mut found, taken)?;
                unit = Some(if of == Unit::Hour { Unit::Day } else { of });
            }
            Kind::Word if field.text.eq_ignore_ascii_case("ago") => {
                (is_ago, unit) = (true, Some(Unit::None));
            }
            Kind::Word => unit = Some(named(field.text).ok_or(Bad::Format)?),
            Kind::Special | Kind::Time => return Err(Bad::Format),
        }
    }
    match (found, is_ago) {
        (0, _) => Err(Bad::Format),
        (_, true) => sum.negated().ok_or(Bad::Field),
        _ => Ok(sum),
    }
}

/// A text has each unit once.
fn add_found(found: &mut u32, taken: u32) -> Result<(), Bad> {
    if *found & taken != 0 {
        return Err(Bad::Format);
    }
    *found |= taken;
    Ok(())
}

fn named(word: &str) -> Option<Unit> {
    let time_units::Unit::Known(unit) = time_units::length(word) else {
        return None;
    };
    Some(match unit {
        "microsecond" => Unit::Microsecond,
        "millisecond" => Unit::Millisecond,
        "second" => Unit::Second,
        "minute" => Unit::Minute,
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "year" => Unit::Year,
        "decade" => Unit::Decade,
        "century" => Unit::Century,
        "millennium" => Unit::Millennium,
        _ => Unit::None,
    })
}

/// The unit of a last number without one, by the fields of the type.
fn unit_of(range: i32) -> Unit {
    match range {
        types::ALL_FIELDS => Unit::Second,
        types::YEAR => Unit::Year,
        types::DAY => Unit::Day,
        range if range & types::MONTH != 0 => Unit::Month,
        range if range & types::SECOND != 0 => Unit::Second,
        range if range & types::MINUTE != 0 => Unit::Minute,
        range if range & types::HOUR != 0 => Unit::Hour,
        _ => Unit::Second,
    }
}

/// A number of units, or of years and months: `1.5`, `-1-2`.
fn number(field: &Field<'_>, unit: Unit) -> Result<(Number, Unit), Bad> {
    let sign: i64 = if field.is_negative { -1 } else { 1 };
    let (digits, rest) = whole::<i128>(field.text).ok_or(Bad::Field)?;
    let whole_units = i64::try_from(digits * i128::from(sign)).map_err(|_| Bad::Field)?;
    let mut number = Number {
        whole: whole_units,
        fraction: 0.0,
    };
    if let Some(behind) = rest.strip_prefix('-') {
        let (months, rest) = whole::<i32>(behind).ok_or(Bad::Field)?;
        if !(0..12).contains(&months) {
            return Err(Bad::Field);
        }
        if !rest.is_empty() {
            return Err(Bad::Format);
        }
        let of_years = number.whole.checked_mul(12);
        let all = of_years.and_then(|whole| whole.checked_add(sign * i64::from(months)));
        number.whole = all.ok_or(Bad::Field)?;
        return Ok((number, Unit::Month));
    }
    if !rest.is_empty() {
        number.fraction = fraction(rest)? * sign as f64;
    }
    Ok((number, unit))
}

/// A point and digits.
fn fraction(text: &str) -> Result<f64, Bad> {
    let digits = text.strip_prefix('.').ok_or(Bad::Format)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    format!("0.{digits}0").parse().map_err(|_| Bad::Format)
}

/// `04:05`, `04:05:06.7`, `05:06.7`: microseconds.
fn clock(text: &str, range: i32) -> Result<i64, Bad> {
    i64::try_from(micros_of(text, range)?).map_err(|_| Bad::Field)
}

/// A time with a sign before it. None if it is no time, since the field may still be a number.
fn signed_clock(field: &Field<'_>, range: i32, is_written: bool) -> Option<i64> {
    if !field.text.contains(':') {
        return None;
    }
    let micros = micros_of(field.text, range).ok()?;
    if micros > i128::from(i64::MAX) && !is_written {
        return None;
    }
    i64::try_from(if field.is_negative { -micros } else { micros }).ok()
}

fn micros_of(text: &str, range: i32) -> Result<i128, Bad> {
    let (mut hours, rest) = whole::<i64>(text).ok_or(Bad::Field)?;
    let rest = rest.strip_prefix(':').ok_or(Bad::Format)?;
    let (mut minutes, mut rest) = whole::<i32>(rest).ok_or(Bad::Field)?;
    let mut seconds = 0;
    let has_seconds = match rest.strip_prefix(':') {
        Some(behind) => {
            (seconds, rest) = whole::<i32>(behind).ok_or(Bad::Field)?;
            true
        }
        None => false,
    };
    let fraction = match rest {
        "" => 0.0,
        rest => fraction(rest)?,
    };
    let of_minutes = types::MINUTE | types::SECOND;
    if !has_seconds && (!rest.is_empty() || range == of_minutes) {
        // Minutes and seconds.
        seconds = minutes;
        minutes = i32::try_from(hours).map_err(|_| Bad::Field)?;
        hours = 0;
    }
    let is_time = hours >= 0 && (0..60).contains(&minutes) && (0..=60).contains(&seconds);
    if !is_time {
        return Err(Bad::Field);
    }
    let parts = [
        (hours, HOUR),
        (minutes.into(), MINUTE),
        (seconds.into(), SECOND),
    ];
    let parts = parts.map(|(count, unit)| i128::from(count) * i128::from(unit));
    let fraction = (fraction * SECOND as f64).round_ties_even() as i128;
    Ok(parts.iter().sum::<i128>() + fraction)
}
