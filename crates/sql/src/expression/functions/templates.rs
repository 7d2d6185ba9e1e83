//! Functions that write and read numbers and moments by templates.

use super::definition::*;
use super::times::local;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::text::templates::moments::Shown;
use crate::text::templates::numbers::{Number, to_char};
use crate::text::templates::reading::read;
use crate::text::templates::to_number::to_number;
use crate::types::SqlType;
use crate::values::arithmetic::{DAY, decimal_of, float_of, is_date};
use crate::values::infinity::is_infinite;
use crate::values::intervals::Interval;
use sardonyx::schema::{Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    to_char(FLOAT4, TEXT) -> TEXT, |a, _| text(to_char(Number::Float(float_of(a.value(0)), FLOAT4_DIGITS), a.text(1))?), "a float by a template", stable;
    to_char(FLOAT8, TEXT) -> TEXT, |a, _| text(to_char(Number::Float(float_of(a.value(0)), FLOAT8_DIGITS), a.text(1))?), "a float by a template", stable;
    to_char(INT4, TEXT) -> TEXT, |a, _| text(to_char(Number::Whole(a.int(0), SqlType::Int4), a.text(1))?), "a whole number by a template", stable;
    to_char(INT8, TEXT) -> TEXT, |a, _| text(to_char(Number::Whole(a.int(0), SqlType::Int8), a.text(1))?), "a whole number by a template", stable;
    to_char(INTERVAL, TEXT) -> TEXT, |a, _| shown(&Shown::of_interval(Interval::known(a.text(0))), a.text(1)), "an interval by a template", stable;
    to_char(NUMERIC, TEXT) -> TEXT, numeric_to_char, "a number by a template", stable;
    to_char(TIMESTAMP, TEXT) -> TEXT, |a, _| timestamp_to_char(a), "a day and time by a template", stable;
    to_char(TIMESTAMPTZ, TEXT) -> TEXT, timestamptz_to_char, "a day and time in the session's time zone by a template", stable;
    to_date(TEXT, TEXT) -> DATE, |a, _| to_date(a.text(0), a.text(1)), "the day that a text has by a template", stable;
    to_number(TEXT, TEXT) -> NUMERIC, |a, _| Ok(to_number(a.text(0), a.text(1))?.unwrap_or(Value::Null)), "the number that a text has by a template", stable;
    to_timestamp(TEXT, TEXT) -> TIMESTAMPTZ, to_timestamp, "the moment that a text has by a template, in the session's time zone", stable;
};

/// The digits of the types of floats.
const FLOAT4_DIGITS: usize = 6;
const FLOAT8_DIGITS: usize = 15;

fn numeric_to_char(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    let number = match a.value(0) {
        ValueRef::NonFinite(value) => Number::NonFinite(value),
        other => {
            let (units, scale) = decimal_of(other).unwrap_or_default();
            Number::Decimal(units, scale)
        }
    };
    text(to_char(number, a.text(1))?)
}

fn shown(of: &Shown, template: &str) -> Answer {
    Ok(of.to_char(template)?.map_or(Value::Null, Value::Text))
}

fn timestamp_to_char(a: Arguments<'_>) -> Answer {
    match a.value(0) {
        value @ ValueRef::Timestamp(local) if !is_infinite(value) => {
            shown(&Shown::of_moment(local, 0, String::new()), a.text(1))
        }
        _ => Ok(Value::Null),
    }
}

fn timestamptz_to_char(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let ValueRef::Timestamp(moment) = a.value(0) else {
        return Ok(Value::Null);
    };
    if is_infinite(a.value(0)) {
        return Ok(Value::Null);
    }
    let (east, name) = match with.context.zone() {
        // The session has a zone only for the order of its dates.
        Some(zone) if zone.name() == "UTC" => (0, "UTC".to_string()),
        Some(zone) => (
            zone.zone().east_at(moment),
            zone.zone().abbreviation_at(moment),
        ),
        None => (0, "UTC".to_string()),
    };
    shown(
        &Shown::of_moment(local(moment, with), east, name),
        a.text(1),
    )
}

fn to_date(of: &str, template: &str) -> Answer {
    let days = read(of, template)?.days;
    let date = i32::try_from(days).ok().map(Value::Date).filter(is_date);
    date.ok_or_else(|| {
        SqlError::new(
            code::DATETIME_OVERFLOW,
            format!("date out of range: \"{of}\""),
        )
    })
}

fn to_timestamp(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let read = read(a.text(0), a.text(1))?;
    let local = read.days.checked_mul(DAY);
    let local = local.and_then(|midnight| midnight.checked_add(read.time));
    let moment = local.and_then(|local| match (read.east, with.context.zone()) {
        (Some(east), _) => local.checked_sub(east * 1_000_000),
        (None, Some(zone)) => zone.zone().moment(local),
        (None, None) => Some(local),
    });
    let moment = moment.map(|moment| match read.fraction_digits {
        Some(digits) => to_digits(moment, digits),
        None => moment,
    });
    moment
        .map(Value::Timestamp)
        .ok_or_else(|| SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range"))
}

/// Rounds to the given digits of a second's fraction.
fn to_digits(moment: i64, digits: u32) -> i64 {
    let unit = 10_i64.pow(6_u32.saturating_sub(digits));
    let below = moment.rem_euclid(unit);
    let up = 2 * below >= unit;
    moment - below + if up { unit } else { 0 }
}
