//! Dates, times and timestamps as PostgreSQL reads them, by its rules of fields, words and numbers (`datetime.c`): with
//! the month first, in a session's zone or else UTC.
//!
//! Invariant: the whole text is read. A date or a zone that the type ignores must still be one.

mod decode;
pub(crate) mod fields;
mod numbers;
mod parts;
mod time_only;
pub(crate) mod words;

use super::shortened;
use crate::error::{SqlError, code};
use crate::types::SqlType;
use crate::values::arithmetic::{DAY, is_date};
use crate::values::infinity::finite;
use crate::values::zones::{DateOrder, SessionZone, Zone};
use parts::{Decoded, Parts};
use sardonyx::schema::Value;
use sardonyx_rows::value_text::days_of;
use sardonyx_rows::zoned_times::ZonedTime;
use time_only::Clock;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;
/// The first moment of a timestamp: day 0 of the Julian calendar.
const FIRST: i64 = -2_440_588 * DAY;

/// The reason for which a text is no moment.
#[derive(Debug)]
enum Bad {
    /// It has another form.
    Format,
    /// One of its fields is out of range.
    Field,
    /// Its month or day is out of range. It may be valid in another order.
    MonthOrDay,
    /// No place has this name.
    Place(String),
    /// Its zone is too far from UTC.
    Zone,
    /// PostgreSQL reads it, and it is not supported.
    Unsupported(String),
}

impl Bad {
    #[cold]
    fn of(self, kind: SqlType, text: &str) -> SqlError {
        let text = shortened(text);
        match self {
            Bad::Format => {
                let name = match kind {
                    SqlType::Time => "time",
                    SqlType::Timestamp => "timestamp",
                    _ => kind.name(),
                };
                SqlError::new(
                    code::INVALID_DATETIME,
                    format!("invalid input syntax for type {name}: \"{text}\""),
                )
            }
            Bad::Field => out_of_range("date/time field value", &text),
            Bad::MonthOrDay => out_of_range("date/time field value", &text)
                .hint("Perhaps you need a different \"datestyle\" setting."),
            Bad::Zone => SqlError::new(
                code::INVALID_TIME_ZONE,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Bad::Place(name) => SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                format!("time zone \"{}\" not recognized", name.to_lowercase()),
            ),
            Bad::Unsupported(message) => SqlError::unsupported(message),
        }
    }
}

fn out_of_range(what: &str, text: &str) -> SqlError {
    SqlError::new(
        code::DATETIME_OVERFLOW,
        format!("{what} out of range: \"{text}\""),
    )
}

fn infinity(kind: SqlType, is_negative: bool) -> Value {
    match (kind, is_negative) {
        (SqlType::Date, false) => Value::Date(i32::MAX),
        (SqlType::Date, true) => Value::Date(i32::MIN),
        (_, false) => Value::Timestamp(i64::MAX),
        (_, true) => Value::Timestamp(i64::MIN),
    }
}

/// True if a text has a word that depends on the clock.
pub(crate) fn asks_clock(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    words.any(|text| {
        matches!(
            words::word(text),
            words::Word::Present | words::Word::Day(_)
        )
    })
}

/// True if a text of a time with a zone has no distance from UTC, and needs a clock for that of the session or of a place.
pub(crate) fn lacks_clock(kind: SqlType, text: &str, zone: Option<&SessionZone>) -> bool {
    kind == SqlType::Timetz
        && read(kind, text, zone).is_err_and(|error| error.code == code::FEATURE_NOT_SUPPORTED)
}

/// The distance of a zone of a sign and numbers, in seconds to the west; none if the text is another one.
///
/// # Errors
/// `22023` if it is out of range.
pub(crate) fn numeric_zone(text: &str) -> Result<Option<i32>, SqlError> {
    let (Some(digits), is_negative) = (text.strip_prefix(['+', '-']), text.starts_with('-')) else {
        return Ok(None);
    };
    let mut parts = Parts::default();
    match parts.take_zone(is_negative, digits) {
        Ok(()) => Ok(Some(parts.zone)),
        Err(Bad::Zone) => Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("numeric time zone \"{text}\" out of range"),
        )),
        Err(_) => Ok(None),
    }
}

/// Reads a date, a time of the day or a timestamp, in the given zone if the text has none.
///
/// # Errors
/// `22007` for a text of another form, `22008` and `22009` for fields out of range, `22023` for unknown zones. `0A000`
/// for words for the present without a clock, and for zones of places in a time without a day.
#[inline(never)]
pub(super) fn read(
    kind: SqlType,
    text: &str,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    read_at(kind, text, zone, None)
}

/// A time of the day, with its zone if the type has one.
fn clock_time(
    kind: SqlType,
    text: &str,
    zone: Option<&Zone>,
    now: Option<i64>,
) -> Result<Value, Bad> {
    let is_now = text.trim().eq_ignore_ascii_case("now");
    let (micros, west) = match now.filter(|_| is_now) {
        Some(now) => {
            let local = zone.map_or(Some(now), |zone| zone.local(now));
            let local = local.ok_or(Bad::Field)?;
            (local.rem_euclid(DAY), ((now - local) / SECOND) as i32)
        }
        None => {
            let clock = Clock {
                zone,
                now,
                has_zone: kind == SqlType::Timetz,
            };
            time_only::decode(text, &clock)?
        }
    };
    let time = ZonedTime::new(micros, west).ok_or(Bad::Field)?;
    Ok(match kind {
        SqlType::Timetz => Value::Bytes(time.encode()),
        _ => Value::Time(time.micros()),
    })
}

/// The same with a clock's present, in microseconds since 1970.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_at(
    kind: SqlType,
    text: &str,
    session: Option<&SessionZone>,
    now: Option<i64>,
) -> Result<Value, SqlError> {
    let zone = session.map(SessionZone::zone);
    let order = session.map_or(DateOrder::default(), SessionZone::order);
    let bad = |bad: Bad| bad.of(kind, text);
    if matches!(kind, SqlType::Time | SqlType::Timetz) {
        let now = now.or(session.and_then(SessionZone::now));
        return clock_time(kind, text, zone, now).map_err(bad);
    }
    let bytes_max = match kind {
        SqlType::Date => fields::OF_DATE,
        _ => fields::OF_TIMESTAMP,
    };
    let (parts, place) = match decode::decode(text, bytes_max, zone, now, order).map_err(bad)? {
        Decoded::Epoch => (Parts::epoch(), None),
        Decoded::Parts(parts, place) => (parts, place),
        Decoded::Infinity { is_negative } => return Ok(infinity(kind, is_negative)),
    };
    let day = || days_of(parts.year, parts.month as u32, parts.day as u32);
    if kind == SqlType::Date {
        let day = day().and_then(|day| i32::try_from(day).ok());
        let day = day.map(Value::Date).filter(is_date);
        return day.ok_or_else(|| out_of_range("date", &shortened(text)));
    }
    let zone = match kind {
        SqlType::Timestamptz => parts.zone,
        _ => 0,
    };
    let micros = day().and_then(|day| {
        let midnight = day.checked_mul(DAY)?;
        let clock = parts.clock() + i64::from(zone) * SECOND;
        let micros = midnight.checked_add(clock)?;
        let micros = match (&place, kind) {
            (Some(place), SqlType::Timestamptz) => place.moment(micros)?,
            _ => micros,
        };
        finite(micros).filter(|&micros| micros >= FIRST)
    });
    let micros = micros.ok_or_else(|| out_of_range("timestamp", &shortened(text)))?;
    Ok(Value::Timestamp(micros))
}
