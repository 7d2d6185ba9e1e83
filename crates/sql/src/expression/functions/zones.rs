//! Functions of time zones.

use super::definition::*;
use super::times::{date_trunc, make_timestamp};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::text::datetime::numeric_zone;
use crate::values::infinity::is_infinite;
use crate::values::time_units::{self, Unit};
use crate::values::zones::Zone;
use sardonyx::schema::{Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    date_trunc(TEXT, TIMESTAMPTZ, TEXT) -> TIMESTAMPTZ, truncated, "beginning of the unit of time in which it is in a time zone";
    make_timestamptz(INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMPTZ, made_in_session, "of year, month, day, hours, minutes and seconds in the session's time zone", stable;
    make_timestamptz(INT4, INT4, INT4, INT4, INT4, FLOAT8, TEXT) -> TIMESTAMPTZ, made, "of year, month, day, hours, minutes and seconds in a time zone";
    timezone(TEXT, TIMESTAMP) -> TIMESTAMPTZ, |a, _| to_moment(a.text(0), a.value(1)), "moment of a local time: `time AT TIME ZONE zone`";
    timezone(TEXT, TIMESTAMPTZ) -> TIMESTAMP, |a, _| to_local(a.text(0), a.value(1)), "local time at a moment: `time AT TIME ZONE zone`";
};

#[cold]
fn out_of_range() -> SqlError {
    SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range")
}

fn of(value: ValueRef<'_>, shift: impl Fn(i64) -> Option<i64>) -> Answer {
    match value {
        value if is_infinite(value) => Ok(value.to_value()),
        ValueRef::Timestamp(micros) => {
            let shifted = shift(micros).map(Value::Timestamp);
            shifted.ok_or_else(out_of_range)
        }
        _ => Ok(Value::Null),
    }
}

fn to_moment(zone: &str, local: ValueRef<'_>) -> Answer {
    // The zone is not read: any name is taken.
    if is_infinite(local) {
        return Ok(local.to_value());
    }
    let zone = Zone::named(zone)?;
    of(local, |local| zone.moment(local))
}

fn to_local(zone: &str, moment: ValueRef<'_>) -> Answer {
    if is_infinite(moment) {
        return Ok(moment.to_value());
    }
    let zone = Zone::named(zone)?;
    of(moment, |moment| zone.local(moment))
}

fn made(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let local = make_timestamp(a, with)?;
    let zone = a.text(6);
    if zone.starts_with(|letter: char| letter.is_ascii_digit()) {
        let text = format!("invalid input syntax for type numeric time zone: \"{zone}\"");
        return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text)
            .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
    }
    match numeric_zone(zone)? {
        Some(west) => of(local.as_ref(), |local| {
            local.checked_add(i64::from(west) * 1_000_000)
        }),
        None => to_moment(zone, local.as_ref()),
    }
}

fn made_in_session(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let local = make_timestamp(a, with)?;
    match with.context.zone() {
        Some(zone) => of(local.as_ref(), |local| zone.zone().moment(local)),
        None => Ok(local),
    }
}

fn truncated(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    if is_infinite(a.value(1)) {
        return Ok(a.value(1).to_value());
    }
    truncated_in(a.text(0), a.value(1), &Zone::named(a.text(2))?)
}

/// The beginning of a unit of time in a zone.
pub(super) fn truncated_in(part: &str, value: ValueRef<'_>, zone: &Zone) -> Answer {
    let ValueRef::Timestamp(moment) = value else {
        return Ok(Value::Null);
    };
    if is_infinite(value) {
        return date_trunc(part, value);
    }
    let local = zone.local(moment).ok_or_else(out_of_range)?;
    let begins = date_trunc(part, ValueRef::Timestamp(local))?;
    // Within a day the distance from UTC stays, also where the clock is set back.
    let within_day = ["microsecond", "millisecond", "second", "minute", "hour"];
    of(begins.as_ref(), |begins| {
        match within_day
            .map(Unit::Known)
            .contains(&time_units::length(part))
        {
            true => begins.checked_sub(local - moment),
            false => zone.moment(begins),
        }
    })
}
