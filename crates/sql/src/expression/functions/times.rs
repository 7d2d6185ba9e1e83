//! Functions of days and times. Moments are shown in the session's time zone.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::text::datetime::read_at;
use crate::types::SqlType;
use crate::values::arithmetic::{Arithmetic, DAY, calculate, float_of, shift, shift_in};
use crate::values::infinity::{finite, is_infinite};
use crate::values::intervals::Interval;
use crate::values::time_units::{self, Unit, not_cut_to, not_of};
use crate::values::zoned_times;
use sardonyx::schema::{NonFinite, Value, ValueRef};
use sardonyx_rows::value_text::{date_of, days_of};

pub(super) static TABLE: &[Definition] = functions! {
    clock_timestamp() -> TIMESTAMPTZ, statement_timestamp, "when the statement began: it is the same if it is run again", volatile;
    current_date() -> DATE, current_date, "day on which the transaction began", stable;
    current_timestamp() -> TIMESTAMPTZ, now, "when the transaction began", stable;
    date_part(TEXT, DATE) -> FLOAT8, |a, _| date_part(a), "part of a day, as a float";
    date_part(TEXT, TIME) -> FLOAT8, |a, _| date_part(a), "part of a time, as a float";
    date_part(TEXT, TIMESTAMP) -> FLOAT8, |a, _| date_part(a), "part of a day and time, as a float";
    date_part(TEXT, TIMESTAMPTZ) -> FLOAT8, date_part_zoned, "part of a day and time in the session's time zone, as a float", stable;
    date_trunc(TEXT, TIMESTAMP) -> TIMESTAMP, |a, _| date_trunc(a.text(0), a.value(1)), "beginning of the unit of time in which it is";
    date_trunc(TEXT, TIMESTAMPTZ) -> TIMESTAMPTZ, |a, with| truncated_in(a.text(0), a.value(1), with), "beginning of the unit of time in which it is in the session's time zone", stable;
    extract(TEXT, DATE) -> NUMERIC, |a, _| extract(a.text(0), a.value(1)), "part of a day: `EXTRACT(part FROM value)`";
    extract(TEXT, TIME) -> NUMERIC, |a, _| extract(a.text(0), a.value(1)), "part of a time";
    extract(TEXT, TIMESTAMP) -> NUMERIC, |a, _| extract(a.text(0), a.value(1)), "part of a day and time";
    extract(TEXT, TIMESTAMPTZ) -> NUMERIC, |a, with| extract_zoned(a.text(0), a.value(1), with), "part of a day and time in the session's time zone", stable;
    isfinite(DATE) -> BOOL, |a, _| Ok(Value::Bool(!is_infinite(a.value(0)))), "true if it is a day";
    isfinite(TIMESTAMP) -> BOOL, |a, _| Ok(Value::Bool(!is_infinite(a.value(0)))), "true if it is a day and time";
    isfinite(TIMESTAMPTZ) -> BOOL, |a, _| Ok(Value::Bool(!is_infinite(a.value(0)))), "true if it is a moment";
    localtime() -> TIME, |_, with| Ok(Value::Time(local_now(with).rem_euclid(DAY))), "time of the day at which the transaction began, in the session's time zone", stable;
    localtimestamp() -> TIMESTAMP, |_, with| Ok(Value::Timestamp(local_now(with))), "when the transaction began, in the session's time zone", stable;
    date_bin(INTERVAL, TIMESTAMP, TIMESTAMP) -> TIMESTAMP, |a, _| binned(a), "beginning of the span of a length in which it is, counted from another time";
    date_bin(INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ) -> TIMESTAMPTZ, |a, _| binned(a), "beginning of the span of a length in which it is, counted from another moment";
    make_date(INT4, INT4, INT4) -> DATE, |a, _| make_date(a.int(0), a.int(1), a.int(2)), "of year, month and day";
    make_time(INT4, INT4, FLOAT8) -> TIME, |a, _| make_time(a, 0).map(Value::Time), "of hours, minutes and seconds";
    make_timestamp(INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMP, make_timestamp, "of year, month, day, hours, minutes and seconds";
    now() -> TIMESTAMPTZ, now, "when the transaction began", stable;
    overlaps(TIME, TIME, TIME, TIME) -> BOOL, |a, _| Ok(overlap(a)), "`(begin, end) OVERLAPS (begin, end)`", on_null;
    overlaps(TIMETZ, TIMETZ, TIMETZ, TIMETZ) -> BOOL, |a, _| Ok(overlap(a)), "`(begin, end) OVERLAPS (begin, end)`", on_null;
    overlaps(TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP) -> BOOL, |a, _| Ok(overlap(a)), "`(begin, end) OVERLAPS (begin, end)`", on_null;
    overlaps(TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL, |a, _| Ok(overlap(a)), "`(begin, end) OVERLAPS (begin, end)`", on_null;
    overlaps(TIME, INTERVAL, TIME, TIME) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null;
    overlaps(TIME, INTERVAL, TIME, INTERVAL) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null;
    overlaps(TIME, TIME, TIME, INTERVAL) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null;
    overlaps(TIMESTAMP, INTERVAL, TIMESTAMP, TIMESTAMP) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null;
    overlaps(TIMESTAMP, INTERVAL, TIMESTAMP, INTERVAL) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null;
    overlaps(TIMESTAMP, TIMESTAMP, TIMESTAMP, INTERVAL) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null;
    overlaps(TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null, stable;
    overlaps(TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, INTERVAL) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null, stable;
    overlaps(TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL) -> BOOL, overlap_of_spans, "`(begin, end) OVERLAPS (begin, end)`, where an interval is the time from begin to end", on_null, stable;
    statement_timestamp() -> TIMESTAMPTZ, statement_timestamp, "when the statement began", stable;
    to_timestamp(FLOAT8) -> TIMESTAMPTZ, |a, _| to_timestamp(float_of(a.value(0))), "of seconds since 1970";
    transaction_timestamp() -> TIMESTAMPTZ, now, "when the transaction began", stable;
};

fn now(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    Ok(Value::Timestamp(with.context.transaction.moment))
}

/// The beginning of the transaction, in the session's time zone.
pub(super) fn local_now(with: &Environment<'_>) -> i64 {
    local(with.context.transaction.moment, with)
}

/// The local time at a moment in the session's time zone.
pub(super) fn local(moment: i64, with: &Environment<'_>) -> i64 {
    let zone = with.context.zone();
    let local = zone.and_then(|zone| zone.zone().local(moment));
    local.unwrap_or(moment)
}

fn truncated_in(part: &str, value: ValueRef<'_>, with: &Environment<'_>) -> Answer {
    match with.context.zone() {
        Some(zone) => super::zones::truncated_in(part, value, zone.zone()),
        None => date_trunc(part, value),
    }
}

fn statement_timestamp(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    Ok(Value::Timestamp(with.context.statement_started))
}

fn current_date(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let days = local_now(with).div_euclid(DAY);
    Ok(Value::Date(i32::try_from(days).unwrap_or(i32::MAX)))
}

/// 24 November 4714 BC, the first day.
const FIRST_DAY: i32 = -2_440_588;

fn make_date(year: i64, month: i64, day: i64) -> Answer {
    days_from(year, month, day).map(Value::Date)
}

fn days_from(year: i64, month: i64, day: i64) -> Result<i32, SqlError> {
    let days = match (u32::try_from(month), u32::try_from(day)) {
        // The year before 1 is 1 BC.
        (Ok(month), Ok(day)) => match year {
            0 => None,
            year @ 1.. => days_of(year, month, day),
            year => days_of(year + 1, month, day),
        },
        _ => None,
    };
    let days = days.and_then(|days| i32::try_from(days).ok());
    let days = days.filter(|days| *days >= FIRST_DAY);
    days.ok_or_else(|| SqlError::new(code::DATETIME_OVERFLOW, "date field value out of range"))
}

/// Microseconds since midnight, from the arguments at a place. A minute may have a second more, and a day its end.
fn make_time(a: Arguments<'_>, from: usize) -> Result<i64, SqlError> {
    let (hours, minutes) = (a.int(from), a.int(from + 1));
    let seconds = float_of(a.value(from + 2));
    let micros = (seconds * 1e6).round_ties_even();
    let is_time = (0..=24).contains(&hours)
        && (0..60).contains(&minutes)
        && (0.0..=6e7).contains(&micros)
        && (hours < 24 || minutes == 0 && micros == 0.0);
    if !is_time {
        let message = format!("time field value out of range: {hours}:{minutes:02}:{seconds}");
        return Err(SqlError::new(code::DATETIME_OVERFLOW, message));
    }
    Ok((hours * 60 + minutes) * 60_000_000 + micros as i64)
}

pub(super) fn make_timestamp(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    let days = days_from(a.int(0), a.int(1), a.int(2))?;
    let micros = make_time(a, 3)?;
    let midnight = i64::from(days).checked_mul(DAY);
    let at = midnight.and_then(|midnight| midnight.checked_add(micros));
    at.map(Value::Timestamp)
        .ok_or_else(|| SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range"))
}

/// The beginning of the span that has a moment, counted in spans from the origin.
fn binned(a: Arguments<'_>) -> Answer {
    let (stride, value, origin) = (Interval::known(a.text(0)), a.value(1), a.value(2));
    let beyond = |text| SqlError::new(code::DATETIME_OVERFLOW, text);
    if is_infinite(value) {
        return Ok(value.to_value());
    }
    let (ValueRef::Timestamp(moment), ValueRef::Timestamp(origin)) = (value, origin) else {
        return Ok(Value::Null);
    };
    if is_infinite(a.value(2)) {
        return Err(beyond("origin out of range"));
    }
    if stride.months != 0 {
        return Err(SqlError::unsupported(
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    let days = i64::from(stride.days).checked_mul(DAY);
    let length = days.and_then(|days| days.checked_add(stride.micros));
    let length = length.ok_or_else(|| beyond("interval out of range"))?;
    if length <= 0 {
        return Err(beyond("stride must be greater than zero"));
    }
    let since = moment.checked_sub(origin);
    let since = since.ok_or_else(|| beyond("interval out of range"))?;
    let begin = since.div_euclid(length).checked_mul(length);
    let begin = begin.and_then(|begin| begin.checked_add(origin));
    begin
        .map(Value::Timestamp)
        .ok_or_else(|| beyond("timestamp out of range"))
}

/// A text of a moment with a word that depends on the clock: the text, and the type's number.
pub(crate) static PRESENT: Definition = Definition::new(
    "present_moment",
    &[TEXT, INT4],
    ANY,
    |a, with| {
        let zone = with.context.zone();
        read_at(
            a.kind(1),
            a.text(0),
            zone.as_ref(),
            Some(with.context.transaction.moment),
        )
    },
    "",
)
.stable();

/// True if two spans of time share a moment, without their ends, unless an end is also a beginning. Null if an end that
/// decides is null.
fn overlap(a: Arguments<'_>) -> Value {
    overlap_of([a.value(0), a.value(1), a.value(2), a.value(3)])
}

/// The same where an end, or both, is an interval behind its beginning.
fn overlap_of_spans(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let end = |at: usize| match (a.value(at - 1), a.value(at)) {
        (ValueRef::Null, ValueRef::Text(_)) => Ok(Value::Null),
        (ValueRef::Time(begin), ValueRef::Text(span)) => {
            shift(ValueRef::Time(begin), &Interval::known(span), SqlType::Time)
        }
        (begin, ValueRef::Text(span)) => {
            shift_in(begin, &Interval::known(span), with.context.zone())
        }
        (_, end) => Ok(end.to_value()),
    };
    let (one, other) = (end(1)?, end(3)?);
    let ends = [a.value(0), one.as_ref(), a.value(2), other.as_ref()];
    Ok(overlap_of(ends))
}

fn overlap_of(ends: [ValueRef<'_>; 4]) -> Value {
    let moment = |at: usize| match ends.get(at) {
        Some(ValueRef::Time(moment) | ValueRef::Timestamp(moment)) => Some((*moment, 0)),
        // Times with zones are ordered by the time in UTC, then by the zone.
        Some(value) => zoned_times::time(*value).map(|time| (time.in_utc(), time.west())),
        None => None,
    };
    // The known end, or the earlier one, is the beginning.
    let span = |at| match (moment(at), moment(at + 1)) {
        (Some(one), Some(other)) => Some((one.min(other), Some(one.max(other)))),
        (Some(one), None) | (None, Some(one)) => Some((one, None)),
        (None, None) => None,
    };
    let (Some((begin, end)), Some((other_begin, other_end))) = (span(0), span(2)) else {
        return Value::Null;
    };
    let (later, of_later, of_earlier) = match begin > other_begin {
        true => (begin, end, other_end),
        false => (other_begin, other_end, end),
    };
    match (of_earlier, of_later) {
        _ if begin == other_begin && (end.is_none() || other_end.is_none()) => Value::Null,
        _ if begin == other_begin => Value::Bool(true),
        (None, _) => Value::Null,
        (Some(of_earlier), _) if later < of_earlier => Value::Bool(true),
        (Some(_), None) => Value::Null,
        (Some(_), Some(_)) => Value::Bool(false),
    }
}

fn to_timestamp(seconds: f64) -> Answer {
    if seconds.is_nan() {
        let text = "timestamp cannot be NaN";
        return Err(SqlError::new(code::DATETIME_OVERFLOW, text));
    }
    if seconds.is_infinite() {
        return Ok(Value::Timestamp(match seconds > 0.0 {
            true => i64::MAX,
            false => i64::MIN,
        }));
    }
    // PostgreSQL counts from 2000 on, and rounds what that leaves of a float.
    const YEAR_2000: i64 = 946_684_800;
    let micros = (seconds - YEAR_2000 as f64) * 1e6;
    let moment = (micros.abs() < 9e18).then(|| micros.round_ties_even() as i64);
    let moment = moment.and_then(|since| since.checked_add(YEAR_2000 * 1_000_000));
    let moment = moment.and_then(finite).map(Value::Timestamp);
    moment.ok_or_else(|| SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range"))
}

fn date_part(a: Arguments<'_>) -> Answer {
    // A day is taken as the moment of its beginning.
    let value = match a.value(1) {
        ValueRef::Date(i32::MAX) => ValueRef::Timestamp(i64::MAX),
        ValueRef::Date(i32::MIN) => ValueRef::Timestamp(i64::MIN),
        ValueRef::Date(days) => ValueRef::Timestamp(i64::from(days).saturating_mul(DAY)),
        value => value,
    };
    if is_infinite(value) {
        return Ok(extract_infinite(a.text(0), value)?.map_or(Value::Null, Value::Float));
    }
    if let (ValueRef::Timestamp(micros), Unit::Known("julian")) =
        (value, time_units::part(a.text(0)))
    {
        let (days, time) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let share = time as f64 / 1e6 / (DAY as f64 / 1e6);
        return Ok(Value::Float((days + 2_440_588) as f64 + share));
    }
    let part = extract(a.text(0), value)?;
    Ok(match part {
        Value::Null => Value::Null,
        part => Value::Float(float_of(part.as_ref())),
    })
}

fn date_part_zoned(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    if is_infinite(a.value(1)) {
        return date_part(a);
    }
    let part = extract_zoned(a.text(0), a.value(1), with)?;
    Ok(Value::Float(float_of(part.as_ref())))
}

/// Days and microseconds of the day.
fn moment(value: ValueRef<'_>) -> (i64, i64) {
    match value {
        ValueRef::Timestamp(micros) => (micros.div_euclid(DAY), micros.rem_euclid(DAY)),
        ValueRef::Date(days) => (days.into(), 0),
        ValueRef::Time(time) => (0, time),
        _ => (0, 0),
    }
}

/// Parts that go on for ever with the moment, and those that come again; the first are infinite of infinity.
fn extract_infinite(part: &str, value: ValueRef<'_>) -> Result<Option<f64>, SqlError> {
    const GROWS: [&str; 7] = [
        "year",
        "decade",
        "century",
        "millennium",
        "isoyear",
        "epoch",
        "julian",
    ];
    let is_positive = matches!(
        value,
        ValueRef::Date(i32::MAX) | ValueRef::Timestamp(i64::MAX)
    );
    let name = name_of_value(value);
    let Unit::Known(unit) = time_units::part(part) else {
        return Err(not_of(part, name));
    };
    let is_day = matches!(value, ValueRef::Date(_));
    if is_day && (OF_CLOCK.contains(&unit) || unit.starts_with("timezone")) {
        return Err(not_of(part, name));
    }
    Ok(GROWS.contains(&unit).then_some(match is_positive {
        true => f64::INFINITY,
        false => f64::NEG_INFINITY,
    }))
}

const OF_CLOCK: [&str; 5] = ["hour", "minute", "second", "millisecond", "microsecond"];

fn name_of_value(value: ValueRef<'_>) -> &'static str {
    match value {
        ValueRef::Date(_) => "date",
        ValueRef::Time(_) => "time without time zone",
        _ => "timestamp without time zone",
    }
}

fn extract(part: &str, value: ValueRef<'_>) -> Answer {
    if is_infinite(value) {
        let infinite = extract_infinite(part, value)?.and_then(NonFinite::of_float);
        return Ok(infinite.map_or(Value::Null, Value::NonFinite));
    }
    let (days, time) = moment(value);
    let (year, month, day) = date_of(days);
    // 1970-01-01 was a Thursday; Sunday is 0.
    let weekday = (days + 4).rem_euclid(7);
    let seconds = time / 1_000_000;
    let whole = |value: i64| Ok(Value::Decimal(value.into(), 0));
    // There is no year 0: the one before 1 is 1 BC.
    let shown = |year: i64| if year > 0 { year } else { year - 1 };
    let spans = |length: i64| match year > 0 {
        true => (year + length - 1) / length,
        false => -((length - year) / length),
    };
    let refused = || Err(not_of(part, name_of_value(value)));
    let Unit::Known(unit) = time_units::part(part) else {
        return refused();
    };
    let is_clock = OF_CLOCK.contains(&unit);
    match value {
        ValueRef::Date(_) if is_clock => return refused(),
        ValueRef::Time(_) if !is_clock && unit != "epoch" => return refused(),
        _ => {}
    }
    match unit {
        "julian" if matches!(value, ValueRef::Date(_)) => whole(days + 2_440_588),
        "julian" => {
            let of = |operation, left: Value, right: Value| {
                calculate(operation, SqlType::Numeric, left.as_ref(), right.as_ref())
            };
            let number = |number: i64| Value::Decimal(number.into(), 0);
            let share = of(Arithmetic::Divide, number(time), number(DAY))?;
            of(Arithmetic::Add, number(days + 2_440_588), share)
        }
        "year" => whole(shown(year)),
        "month" => whole(month.into()),
        "day" => whole(day.into()),
        "quarter" => whole(i64::from(month - 1) / 3 + 1),
        "decade" => whole(match year >= 0 {
            true => year / 10,
            false => -((9 - year) / 10),
        }),
        "century" => whole(spans(100)),
        "millennium" => whole(spans(1000)),
        "dow" => whole(weekday),
        "isodow" => whole(if weekday == 0 { 7 } else { weekday }),
        "doy" => whole(days - days_of(year, 1, 1).unwrap_or(days) + 1),
        "week" => whole(iso_week(days).1),
        "isoyear" => whole(shown(iso_week(days).0)),
        "hour" => whole(seconds / 3600),
        "minute" => whole(seconds / 60 % 60),
        "second" => Ok(Value::Decimal(i128::from(time % 60_000_000), 6)),
        "millisecond" => Ok(Value::Decimal(i128::from(time % 60_000_000), 3)),
        "microsecond" => whole(time % 60_000_000),
        "epoch" if matches!(value, ValueRef::Date(_)) => whole(days * (DAY / 1_000_000)),
        "epoch" => Ok(Value::Decimal(
            i128::from(days) * i128::from(DAY) + i128::from(time),
            6,
        )),
        _ => refused(),
    }
}

/// The same for a moment, in the session's time zone.
fn extract_zoned(part: &str, value: ValueRef<'_>, with: &Environment<'_>) -> Answer {
    let ValueRef::Timestamp(moment) = value else {
        return Ok(Value::Null);
    };
    if is_infinite(value) {
        return extract(part, value);
    }
    let local = local(moment, with);
    let east = (local - moment) / 1_000_000;
    let whole = |value: i64| Ok(Value::Decimal(value.into(), 0));
    match time_units::part(part) {
        Unit::Known("timezone") => whole(east),
        Unit::Known("timezone_hour") => whole(east / 3600),
        Unit::Known("timezone_minute") => whole(east / 60 % 60),
        Unit::Known("epoch") => extract(part, value),
        _ => extract(part, ValueRef::Timestamp(local)),
    }
}

/// The year and week of ISO 8601: those of the week's Thursday.
fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    let (year, _, _) = date_of(thursday);
    (
        year,
        (thursday - days_of(year, 1, 1).unwrap_or(thursday)) / 7 + 1,
    )
}

pub(super) fn date_trunc(part: &str, value: ValueRef<'_>) -> Answer {
    if is_infinite(value) {
        return Ok(value.to_value());
    }
    let (days, time) = moment(value);
    let (year, month, _) = date_of(days);
    let start = |year, month| days_of(year, month, 1).unwrap_or(days);
    let refused = || Err(not_cut_to(part, name_of_value(value)));
    let Unit::Known(unit) = time_units::length(part) else {
        return refused();
    };
    let (days, time) = match unit {
        "microsecond" => (days, time),
        "millisecond" => (days, time - time % 1000),
        "second" => (days, time - time % 1_000_000),
        "minute" => (days, time - time % 60_000_000),
        "hour" => (days, time - time % 3_600_000_000),
        "day" => (days, 0),
        "week" => (days - (days + 3).rem_euclid(7), 0),
        "month" => (start(year, month), 0),
        "quarter" => (start(year, (month - 1) / 3 * 3 + 1), 0),
        "year" => (start(year, 1), 0),
        "decade" => (start(year.div_euclid(10) * 10, 1), 0),
        "century" => (start((year - 1).div_euclid(100) * 100 + 1, 1), 0),
        "millennium" => (start((year - 1).div_euclid(1000) * 1000 + 1, 1), 0),
        _ => return refused(),
    };
    let micros = days
        .checked_mul(DAY)
        .and_then(|micros| micros.checked_add(time))
        .and_then(finite);
    micros
        .map(Value::Timestamp)
        .ok_or_else(|| SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range"))
}
