//! Functions of times of the day with a zone, and of their operators.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::values::arithmetic::{DAY, float_of};
use crate::values::infinity::{infinite_moment, is_infinite};
use crate::values::intervals::Interval;
use crate::values::time_units::{self, Unit, not_of};
use crate::values::zoned_times::{at_moment, made, time, value};
use crate::values::zones::Zone;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::zoned_times::ZonedTime;

pub(super) static TABLE: &[Definition] = functions! {
    current_time() -> TIMETZ, |_, with| at_moment(with.context.transaction.moment, with.context.zone().as_ref()), "time of the day at which the transaction began, with the session's time zone", stable;
    date_part(TEXT, TIMETZ) -> FLOAT8, |a, _| Ok(Value::Float(float_of(extract(a)?.as_ref()))), "part of a time with a zone, as a float";
    datetimetz_pl(DATE, TIMETZ) -> TIMESTAMPTZ, |a, _| moment_of(a), "`date + timetz`";
    extract(TEXT, TIMETZ) -> NUMERIC, |a, _| extract(a), "part of a time with a zone";
    timetz_mi_interval(TIMETZ, INTERVAL) -> TIMETZ, |a, _| moved(a, true), "`timetz - interval`";
    timetz_pl_interval(TIMETZ, INTERVAL) -> TIMETZ, |a, _| moved(a, false), "`timetz + interval`";
    timezone(INTERVAL, TIMETZ) -> TIMETZ, |a, _| at_distance(a), "the same time at a distance from UTC";
    timezone(TEXT, TIMETZ) -> TIMETZ, at_place, "the same time in a time zone, at its distance from UTC when the transaction began", stable;
};

fn of(a: Arguments<'_>, at: usize) -> Result<ZonedTime, SqlError> {
    let no_time = || SqlError::new(code::DATETIME_OVERFLOW, "time out of range");
    time(a.value(at)).ok_or_else(no_time)
}

fn moved(a: Arguments<'_>, back: bool) -> Answer {
    let (time, by) = (of(a, 0)?, Interval::known(a.text(1)));
    let by = match back {
        true => by.negated()?,
        false => by,
    };
    let micros = time.micros().wrapping_add(by.micros).rem_euclid(DAY);
    made(micros, time.west())
}

/// The moment of a time on a day.
fn moment_of(a: Arguments<'_>) -> Answer {
    let ValueRef::Date(day) = a.value(0) else {
        return Ok(Value::Null);
    };
    if is_infinite(a.value(0)) {
        return Ok(infinite_moment(a.value(0)));
    }
    let time = of(a, 1)?;
    let moment = i64::from(day).checked_mul(DAY);
    let moment = moment.and_then(|moment| moment.checked_add(time.in_utc()));
    let beyond = || SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range");
    moment.map(Value::Timestamp).ok_or_else(beyond)
}

fn at_distance(a: Arguments<'_>) -> Answer {
    let by = Interval::known(a.text(0));
    let wrong = |why: &str| {
        SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("interval time zone \"{by}\" {why}"),
        )
    };
    if by.months != 0 || by.days != 0 {
        return Err(wrong("must not include months or days"));
    }
    let west = i32::try_from(-(by.micros / 1_000_000));
    let west = west.map_err(|_| wrong("is too far from UTC"))?;
    Ok(value(of(a, 1)?.at(west)))
}

fn at_place(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let zone = Zone::named(a.text(0))?;
    let east = zone.east_at(with.context.transaction.moment);
    Ok(value(of(a, 1)?.at(-(east as i32))))
}

fn extract(a: Arguments<'_>) -> Answer {
    let (part, time) = (a.text(0), of(a, 1)?);
    let (seconds, east) = (time.micros() / 1_000_000, -i64::from(time.west()));
    let of_minute = time.micros() % 60_000_000;
    let whole = |value: i64| Ok(Value::Decimal(value.into(), 0));
    let refused = || Err(not_of(part, "time with time zone"));
    let Unit::Known(unit) = time_units::part(part) else {
        return refused();
    };
    match unit {
        "timezone" => whole(east),
        "timezone_hour" => whole(east / 3600),
        "timezone_minute" => whole(east / 60 % 60),
        "hour" => whole(seconds / 3600),
        "minute" => whole(seconds / 60 % 60),
        "second" => Ok(Value::Decimal(of_minute.into(), 6)),
        "millisecond" => Ok(Value::Decimal(of_minute.into(), 3)),
        "microsecond" => whole(of_minute),
        "epoch" => Ok(Value::Decimal(time.in_utc().into(), 6)),
        _ => refused(),
    }
}
