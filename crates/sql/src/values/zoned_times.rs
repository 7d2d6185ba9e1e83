//! Times of the day with a zone, `timetz`, as PostgreSQL writes, sends and converts them. Columns store the bytes of
//! [`ZonedTime`], and expressions compute with these bytes.
//!
//! A column of the engine refuses all other bytes, so a value read from one is a time.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/date.c`.

use super::arithmetic::DAY;
use super::zones::SessionZone;
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::{Limit, Value, ValueRef};
use sardonyx_rows::zoned_times::ZonedTime;

/// The distance from UTC, in seconds, at which PostgreSQL's binary format ends.
const FAR: i32 = 16 * 3600;

/// The time of a value; none if it has another type.
pub(crate) fn time(value: ValueRef<'_>) -> Option<ZonedTime> {
    match value {
        ValueRef::Bytes(bytes) => ZonedTime::decode(bytes),
        _ => None,
    }
}

pub(crate) fn value(time: ZonedTime) -> Value {
    Value::Bytes(time.encode())
}

/// Bytes in the order of times, of one that is so much later or earlier: it does not begin again at midnight.
pub(crate) fn beyond_midnight(time: ZonedTime, micros: i64) -> Value {
    Value::Bytes(time.order_after(micros))
}

/// The value of a time of the day, in microseconds since midnight, and a distance in seconds west of UTC.
///
/// # Errors
/// `22008` if no day has the time.
pub(crate) fn made(micros: i64, west: i32) -> Result<Value, SqlError> {
    let time = ZonedTime::new(micros, west);
    let beyond = || SqlError::new(code::DATETIME_OVERFLOW, "time out of range");
    time.map(value).ok_or_else(beyond)
}

/// A value rounded to the digits of its type.
pub(crate) fn rounded(value: Value, to: TypeSpec) -> Value {
    let Some(time) = time(value.as_ref()) else {
        return value;
    };
    let limit = Limit::of(SqlType::Time.oid(), to.modifier);
    match limit.fit(ValueRef::Time(time.micros())) {
        Some(ValueRef::Time(micros)) => {
            let rounded = ZonedTime::new(micros, time.west());
            rounded.map_or(value, self::value)
        }
        _ => value,
    }
}

/// The time of a day at a moment in a session's time zone, which is UTC if there is none.
///
/// # Errors
/// `22008` if the moment is too far.
pub(crate) fn at_moment(moment: i64, zone: Option<&SessionZone>) -> Result<Value, SqlError> {
    let east = zone.map_or(0, |zone| zone.zone().east_at(moment));
    let local = moment.checked_add(east * 1_000_000);
    let beyond = || SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range");
    made(local.ok_or_else(beyond)?.rem_euclid(DAY), -(east as i32))
}

/// A time of the day in a session's time zone, at its distance from UTC today.
///
/// # Errors
/// `0A000` if that changes and there is no clock.
pub(crate) fn of_today(micros: i64, zone: Option<&SessionZone>) -> Result<Value, SqlError> {
    let west = match zone {
        None => 0,
        Some(zone) => zone.west_today(micros).ok_or_else(without_clock)?,
    };
    made(micros, west)
}

/// The refusal of a time without a zone where no clock says which distance the session's zone has.
#[cold]
fn without_clock() -> SqlError {
    SqlError::unsupported("a time without a time zone cannot be read here as one with a zone")
        .hint("Write its distance from UTC, such as +02:00.")
}

/// Appends a time in PostgreSQL's binary format: microseconds, and seconds west of UTC.
pub(crate) fn send(bytes: &[u8], out: &mut Vec<u8>) {
    if let Some(time) = ZonedTime::decode(bytes) {
        out.extend(time.micros().to_be_bytes());
        out.extend(time.west().to_be_bytes());
    }
}

/// Reads a time from PostgreSQL's binary format.
///
/// # Errors
/// `22008` for a time that no day has, `22009` for a zone too far from UTC.
pub(crate) fn receive(bytes: [u8; 12]) -> Result<Value, SqlError> {
    let [a, b, c, d, e, f, g, h, west @ ..] = bytes;
    let west = i32::from_be_bytes(west);
    let value = made(i64::from_be_bytes([a, b, c, d, e, f, g, h]), west)?;
    match -FAR < west && west < FAR {
        true => Ok(value),
        false => Err(SqlError::new(
            code::INVALID_TIME_ZONE,
            "time zone displacement out of range",
        )),
    }
}
