//! Functions of intervals, and of their operators.

use super::definition::*;
use super::times::{local, local_now};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::types::SqlType;
use crate::values::arithmetic::{DAY, float_of, shift, shift_in};
use crate::values::infinity::{infinite_moment, is_infinite};
use crate::values::intervals::{Interval, out_of_range};
use crate::values::time_units::{self, Unit, not_cut_to, not_of};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::value_text::{date_of, days_of};

pub(super) static TABLE: &[Definition] = functions! {
    age(TIMESTAMP) -> INTERVAL, age_now, "from a time to the beginning of the transaction's day, in years, months and days", stable;
    age(TIMESTAMPTZ) -> INTERVAL, |a, with| age(ValueRef::Timestamp(today(with)), in_session(a, 0, with)), "from a time to the beginning of the transaction's day, in years, months and days", stable;
    age(TIMESTAMP, TIMESTAMP) -> INTERVAL, |a, _| age(a.value(0), a.value(1)), "from the second time to the first, in years, months and days";
    age(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL, |a, with| age(in_session(a, 0, with), in_session(a, 1, with)), "from the second time to the first, in years, months and days of the session's time zone", stable;
    date_mi_interval(DATE, INTERVAL) -> TIMESTAMP, |a, _| moved(a, SqlType::Timestamp, true), "`date - interval`";
    date_part(TEXT, INTERVAL) -> FLOAT8, |a, _| Ok(Value::Float(float_of(extract(a)?.as_ref()))), "part of an interval, as a float";
    date_pl_interval(DATE, INTERVAL) -> TIMESTAMP, |a, _| moved(a, SqlType::Timestamp, false), "`date + interval`";
    date_trunc(TEXT, INTERVAL) -> INTERVAL, |a, _| truncated(a.text(0), of(a, 1)), "without what is smaller than a unit of time";
    datetime_pl(DATE, TIME) -> TIMESTAMP, |a, _| at_time(a), "`date + time`";
    extract(TEXT, INTERVAL) -> NUMERIC, |a, _| extract(a), "part of an interval";
    isfinite(INTERVAL) -> BOOL, |_, _| Ok(Value::Bool(true)), "true: an interval has an end";
    interval_div(INTERVAL, FLOAT8) -> INTERVAL, |a, _| of(a, 0).divided(float_of(a.value(1))).map(Interval::value), "`interval / number`";
    interval_mi(INTERVAL, INTERVAL) -> INTERVAL, |a, _| of(a, 0).plus(of(a, 1), -1).map(Interval::value), "`interval - interval`";
    interval_mul(INTERVAL, FLOAT8) -> INTERVAL, |a, _| of(a, 0).times(float_of(a.value(1))).map(Interval::value), "`interval * number`";
    interval_pl(INTERVAL, INTERVAL) -> INTERVAL, |a, _| of(a, 0).plus(of(a, 1), 1).map(Interval::value), "`interval + interval`";
    interval_um(INTERVAL) -> INTERVAL, |a, _| Interval::default().plus(of(a, 0), -1).map(Interval::value), "`- interval`";
    justify_days(INTERVAL) -> INTERVAL, |a, _| of(a, 0).with_months_of_days().map(Interval::value), "with 30 days as a month";
    justify_hours(INTERVAL) -> INTERVAL, |a, _| of(a, 0).with_days_of_time().map(Interval::value), "with 24 hours as a day";
    justify_interval(INTERVAL) -> INTERVAL, |a, _| of(a, 0).justified().map(Interval::value), "with 24 hours as a day, 30 days as a month, and one sign";
    make_interval() -> INTERVAL, |a, _| made(a), "of nothing";
    make_interval(INT4) -> INTERVAL, |a, _| made(a), "of years; all arguments of it may be given by name: `years`, `months`, `weeks`, `days`, `hours`, `mins`, `secs`";
    make_interval(INT4, INT4) -> INTERVAL, |a, _| made(a), "of years and months";
    make_interval(INT4, INT4, INT4) -> INTERVAL, |a, _| made(a), "of years, months and weeks";
    make_interval(INT4, INT4, INT4, INT4) -> INTERVAL, |a, _| made(a), "of years, months, weeks and days";
    make_interval(INT4, INT4, INT4, INT4, INT4) -> INTERVAL, |a, _| made(a), "of years, months, weeks, days and hours";
    make_interval(INT4, INT4, INT4, INT4, INT4, INT4) -> INTERVAL, |a, _| made(a), "of years, months, weeks, days, hours and minutes";
    make_interval(INT4, INT4, INT4, INT4, INT4, INT4, FLOAT8) -> INTERVAL, |a, _| made(a), "of years, months, weeks, days, hours, minutes and seconds";
    time_mi_interval(TIME, INTERVAL) -> TIME, |a, _| moved(a, SqlType::Time, true), "`time - interval`";
    time_mi_time(TIME, TIME) -> INTERVAL, |a, _| difference(a), "`time - time`";
    time_pl_interval(TIME, INTERVAL) -> TIME, |a, _| moved(a, SqlType::Time, false), "`time + interval`";
    timestamp_mi(TIMESTAMP, TIMESTAMP) -> INTERVAL, |a, _| difference(a), "`timestamp - timestamp`";
    timestamp_mi_interval(TIMESTAMP, INTERVAL) -> TIMESTAMP, |a, _| moved(a, SqlType::Timestamp, true), "`timestamp - interval`";
    timestamp_pl_interval(TIMESTAMP, INTERVAL) -> TIMESTAMP, |a, _| moved(a, SqlType::Timestamp, false), "`timestamp + interval`";
    timestamptz_mi(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL, |a, _| difference(a), "`timestamptz - timestamptz`";
    timestamptz_mi_interval(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ, |a, with| shift_in(a.value(0), &of(a, 1).negated()?, with.context.zone()), "`timestamptz - interval`", stable;
    timestamptz_pl_interval(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ, |a, with| shift_in(a.value(0), &of(a, 1), with.context.zone()), "`timestamptz + interval`", stable;
    timezone(INTERVAL, TIMESTAMP) -> TIMESTAMPTZ, |a, _| zoned(a, false), "moment of a local time, at a distance from UTC";
    timezone(INTERVAL, TIMESTAMPTZ) -> TIMESTAMP, |a, _| zoned(a, true), "local time at a moment, at a distance from UTC";
};

/// The length of an interval, by which intervals are compared.
pub(crate) static LENGTH: Definition = Definition::new(
    "interval_length",
    &[INTERVAL],
    INT8,
    |a, _| Ok(Value::Int(of(a, 0).length())),
    "",
);

fn of(a: Arguments<'_>, at: usize) -> Interval {
    Interval::known(a.text(at))
}

/// A time of a day.
fn at_time(a: Arguments<'_>) -> Answer {
    let (ValueRef::Date(day), ValueRef::Time(micros)) = (a.value(0), a.value(1)) else {
        return Ok(Value::Null);
    };
    if is_infinite(a.value(0)) {
        return Ok(infinite_moment(a.value(0)));
    }
    let moment = i64::from(day).checked_mul(DAY);
    let moment = moment.and_then(|moment| moment.checked_add(micros));
    let moment =
        moment.ok_or_else(|| SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range"))?;
    Ok(Value::Timestamp(moment))
}

fn moved(a: Arguments<'_>, kind: SqlType, back: bool) -> Answer {
    let by = of(a, 1);
    let by = if back { by.negated()? } else { by };
    shift(a.value(0), &by, kind)
}

fn zoned(a: Arguments<'_>, is_east: bool) -> Answer {
    if is_infinite(a.value(1)) {
        return Ok(a.value(1).to_value());
    }
    let by = of(a, 0);
    if by.months != 0 || by.days != 0 {
        return Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("interval time zone \"{by}\" must not include months or days"),
        ));
    }
    // A zone is of whole seconds.
    let by = Interval {
        micros: by.micros / 1_000_000 * 1_000_000,
        ..by
    };
    let by = if is_east { by } else { by.negated()? };
    shift(a.value(1), &by, SqlType::Timestamp)
}

/// The difference of times of a day, or of moments, which have days.
fn difference(a: Arguments<'_>) -> Answer {
    if is_infinite(a.value(0)) || is_infinite(a.value(1)) {
        let text = "cannot subtract infinite timestamps";
        return Err(SqlError::new(code::DATETIME_OVERFLOW, text));
    }
    let micros = |value| match value {
        ValueRef::Timestamp(micros) | ValueRef::Time(micros) => i128::from(micros),
        _ => 0,
    };
    let between = micros(a.value(0)) - micros(a.value(1));
    let interval = Interval::of_parts(0, 0, between)?;
    match a.value(0) {
        // Midnight at a day's end is 24 hours from that at its beginning, and no day.
        ValueRef::Time(_) => Ok(interval.value()),
        _ => interval.with_days_of_time().map(Interval::value),
    }
}

fn age_now(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    age(ValueRef::Timestamp(today(with)), a.value(0))
}

/// The beginning of the transaction's day, in the session's time zone.
fn today(with: &Environment<'_>) -> i64 {
    local_now(with).div_euclid(DAY) * DAY
}

/// An argument that is a moment, as local time in the session's time zone.
fn in_session<'v>(a: Arguments<'v>, at: usize, with: &Environment<'_>) -> ValueRef<'v> {
    match a.value(at) {
        value if is_infinite(value) => value,
        ValueRef::Timestamp(moment) => ValueRef::Timestamp(local(moment, with)),
        other => other,
    }
}

/// The days from 1970 to 2000.
const DAYS_TO_2000: i64 = 10_957;

/// Years, months and days from the second time to the first, by the calendar.
fn age(to: ValueRef<'_>, from: ValueRef<'_>) -> Answer {
    let (ValueRef::Timestamp(to), ValueRef::Timestamp(from)) = (to, from) else {
        return Ok(Value::Null);
    };
    let parts = |micros: i64| {
        // The number of infinity is a moment as others are, counted from 2000 on. Before all others it is none.
        let (days, time) = match micros {
            i64::MIN => {
                let text = "timestamp out of range";
                return Err(SqlError::new(code::DATETIME_OVERFLOW, text));
            }
            i64::MAX => (micros / DAY + DAYS_TO_2000, micros % DAY),
            micros => (micros.div_euclid(DAY), micros.rem_euclid(DAY)),
        };
        let (year, month, day) = date_of(days);
        Ok((year * 12 + i64::from(month) - 1, i64::from(day), time))
    };
    let is_back = to < from;
    let (late, early) = if is_back { (from, to) } else { (to, from) };
    let ((late_month, late_day, late_time), (month, day, time)) = (parts(late)?, parts(early)?);
    let (mut months, mut days, mut micros) = (late_month - month, late_day - day, late_time - time);
    if micros < 0 {
        (micros, days) = (micros + DAY, days - 1);
    }
    if days < 0 {
        // The days of the earlier month.
        let first = |month: i64| days_of(month.div_euclid(12), month.rem_euclid(12) as u32 + 1, 1);
        let of_month = match (first(month), first(month + 1)) {
            (Some(first), Some(next)) => next - first,
            _ => return Err(out_of_range()),
        };
        (days, months) = (days + of_month, months - 1);
    }
    let sign = if is_back { -1 } else { 1 };
    let interval = Interval::of_parts(
        i128::from(months * sign),
        i128::from(days * sign),
        i128::from(micros * sign),
    );
    interval.map(Interval::value)
}

fn made(a: Arguments<'_>) -> Answer {
    // The parts are whole numbers of 32 bits, which wrap around, as PostgreSQL's do.
    let part = |at| a.int(at) as i32;
    let seconds = match a.value(6) {
        ValueRef::Null => 0.0,
        seconds => float_of(seconds) * 1e6,
    };
    if !seconds.is_finite() {
        return Err(out_of_range());
    }
    let minutes = i64::from(part(4)) * 60 + i64::from(part(5));
    let micros = minutes.wrapping_mul(60_000_000);
    Ok(Interval {
        months: part(0).wrapping_mul(12).wrapping_add(part(1)),
        days: part(2).wrapping_mul(7).wrapping_add(part(3)),
        micros: micros.wrapping_add(whole(seconds)),
    }
    .value())
}

/// A float as a whole number; the least one if it is out of range, as of processors.
fn whole(value: f64) -> i64 {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let value = value.round_ties_even();
    match (-BEYOND..BEYOND).contains(&value) {
        true => value as i64,
        false => i64::MIN,
    }
}

fn extract(a: Arguments<'_>) -> Answer {
    let interval = of(a, 1);
    let (months, micros) = (i64::from(interval.months), interval.micros);
    let (years, seconds) = (months / 12, micros % 60_000_000);
    let whole = |value: i64| Ok(Value::Decimal(value.into(), 0));
    let part = a.text(0);
    let refused = || Err(not_of(part, "interval"));
    let Unit::Known(unit) = time_units::part(part) else {
        return refused();
    };
    match unit {
        "millennium" => whole(years / 1000),
        "century" => whole(years / 100),
        "decade" => whole(years / 10),
        "year" => whole(years),
        "quarter" => whole(months % 12 / 3 + 1),
        "month" => whole(months % 12),
        "day" => whole(interval.days.into()),
        "hour" => whole(micros / 3_600_000_000),
        "minute" => whole(micros / 60_000_000 % 60),
        "second" => Ok(Value::Decimal(seconds.into(), 6)),
        "millisecond" => Ok(Value::Decimal(seconds.into(), 3)),
        "microsecond" => whole(seconds),
        // A year has 365.25 days.
        "epoch" => {
            let days = i128::from(years) * 36_525 + i128::from(months % 12) * 3000;
            let days = days + i128::from(interval.days) * 100;
            let whole = days * i128::from(DAY / 100);
            Ok(Value::Decimal(whole + i128::from(micros), 6))
        }
        _ => refused(),
    }
}

fn truncated(part: &str, interval: Interval) -> Answer {
    let Interval {
        months,
        days,
        micros,
    } = interval;
    let of_months = |unit: i32| (months / unit * unit, 0, 0);
    let of_micros = |unit: i64| (months, days, micros / unit * unit);
    let refused = || Err(not_cut_to(part, "interval"));
    let Unit::Known(unit) = time_units::length(part) else {
        return refused();
    };
    let (months, days, micros) = match unit {
        "millennium" => of_months(12_000),
        "century" => of_months(1200),
        "decade" => of_months(120),
        "year" => of_months(12),
        "quarter" => of_months(3),
        "month" => of_months(1),
        "day" => (months, days, 0),
        "hour" => of_micros(3_600_000_000),
        "minute" => of_micros(60_000_000),
        "second" => of_micros(1_000_000),
        "millisecond" => of_micros(1000),
        "microsecond" => of_micros(1),
        _ => return refused(),
    };
    Ok(Interval {
        months,
        days,
        micros,
    }
    .value())
}
