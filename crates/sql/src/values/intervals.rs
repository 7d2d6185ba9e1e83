//! Intervals: months, days and microseconds, read and written as PostgreSQL does.
//!
//! An expression has an interval as its text in the style `postgres`, which is the same for equal parts. Intervals of one length are equal even
//! with different parts: [`Interval::length`] compares them.
//!
//! Source: PostgreSQL 15, `DecodeInterval` and `EncodeInterval` in `datetime.c`, `interval_*` in `timestamp.c`.

mod fields;
mod styles;
mod words;

pub(crate) use styles::IntervalStyle;

use super::arithmetic::DAY;
use crate::error::{SqlError, code};
use sardonyx::schema::Value;
use std::fmt;
use words::{has_large_part, with_near_signs};

const DAYS_OF_MONTH: i64 = 30;
const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
const MINUTE: i64 = 60 * SECOND;

/// A span of time: months, days and microseconds, which are independent of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

/// The parts of an interval while it is computed, which may be out of range.
#[derive(Clone, Copy, Default)]
struct Sum {
    months: i128,
    days: i128,
    micros: i128,
}

impl Sum {
    /// Reads parts, and true if all are negated.
    fn parse(text: &str) -> Option<(Sum, bool)> {
        if let Some(parts) = text.strip_prefix('P') {
            return iso(parts);
        }
        let text = with_near_signs(text);
        let mut sum = Sum::default();
        let mut words = text.split_whitespace().peekable();
        let mut is_any = false;
        let mut negated = false;
        while let Some(word) = words.next() {
            let word = word.trim_end_matches(',');
            if word == "@" && !is_any {
                continue;
            }
            if word.eq_ignore_ascii_case("ago") && is_any && words.peek().is_none() {
                negated = true;
                break;
            }
            is_any = true;
            if word.contains(':') {
                sum.micros += clock(word)?;
                continue;
            }
            if let Some((years, months)) = years_and_months(word) {
                sum.months += years * 12 + months;
                continue;
            }
            let mut rest = word;
            while !rest.is_empty() {
                let (number, behind) = split(rest, |c| !c.is_ascii_alphabetic());
                let (unit, behind) = split(behind, |c| c.is_ascii_alphabetic());
                rest = behind;
                let number = Number::read(number)?;
                let unit = match (unit, words.peek()) {
                    // Days before a time.
                    ("", Some(next)) if next.contains(':') => "day",
                    ("", Some(next)) if next.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                        words.next().unwrap_or_default().trim_end_matches(',')
                    }
                    ("", Some(_)) => return None,
                    (unit, _) => unit,
                };
                match unit.eq_ignore_ascii_case("ago") {
                    true if words.peek().is_none() => {
                        sum.add(number, "")?;
                        negated = true;
                    }
                    _ => sum.add(number, unit)?,
                }
            }
        }
        match is_any {
            true => Some((sum, negated)),
            false => None,
        }
    }

    /// Adds a number of units with a fraction, which goes to the smaller parts.
    fn add(&mut self, number: Number, unit: &str) -> Option<()> {
        let unit = unit.to_ascii_lowercase();
        let months = match &*unit {
            "millennium" | "millennia" | "mil" | "mils" => 12_000,
            "century" | "centuries" | "cent" | "c" => 1200,
            "decade" | "decades" | "dec" | "decs" => 120,
            "year" | "years" | "yr" | "yrs" | "y" => 12,
            "month" | "months" | "mon" | "mons" => 1,
            _ => 0,
        };
        if months > 1 {
            self.months +=
                number.whole * months + (number.fraction * months as f64).round_ties_even() as i128;
            return Some(());
        }
        if months == 1 {
            self.months += number.whole;
            self.add_days(number.fraction * DAYS_OF_MONTH as f64);
            return Some(());
        }
        match &*unit {
            "week" | "weeks" | "w" => {
                self.days += number.whole * 7;
                self.add_days(number.fraction * 7.0);
                return Some(());
            }
            "day" | "days" | "d" => {
                self.days += number.whole;
                self.micros += (number.fraction * DAY as f64).round_ties_even() as i128;
                return Some(());
            }
            _ => {}
        }
        let micros = match &*unit {
            "hour" | "hours" | "hr" | "hrs" | "h" => HOUR,
            "minute" | "minutes" | "min" | "mins" | "m" => MINUTE,
            "second" | "seconds" | "sec" | "secs" | "s" | "" => SECOND,
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => 1000,
            "microsecond" | "microseconds" | "usec" | "usecs" | "us" => 1,
            _ => return None,
        };
        self.micros += number.whole * i128::from(micros);
        self.micros += (number.fraction * micros as f64).round_ties_even() as i128;
        Some(())
    }

    fn add_days(&mut self, days: f64) {
        self.days += days.trunc() as i128;
        self.micros += ((days - days.trunc()) * DAY as f64).round_ties_even() as i128;
    }

    fn interval(self, negated: bool) -> Option<Interval> {
        let sign = if negated { -1 } else { 1 };
        Some(Interval {
            months: i32::try_from(self.months * sign).ok()?,
            days: i32::try_from(self.days * sign).ok()?,
            micros: i64::try_from(self.micros * sign).ok()?,
        })
    }
}

/// A number with a fraction of the same sign.
#[derive(Clone, Copy)]
struct Number {
    whole: i128,
    fraction: f64,
}

impl Number {
    fn read(text: &str) -> Option<Number> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = !(whole.is_empty() && fraction.is_empty());
        if !is_number || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let whole = bounded(whole);
        let fraction: f64 = format!("0.{fraction}0").parse().ok()?;
        Some(match is_negative {
            true => Number {
                whole: -whole,
                fraction: -fraction,
            },
            false => Number { whole, fraction },
        })
    }
}

/// `04:05`, `-04:05:06.7`: microseconds.
fn clock(text: &str) -> Option<i128> {
    let (is_negative, clock) = match text.strip_prefix('-') {
        Some(clock) => (true, clock),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let whole = |text: &str| {
        let number = Number::read(text)?;
        (number.fraction == 0.0 && !text.starts_with(['+', '-', '.'])).then_some(number.whole)
    };
    let seconds = |text: &str| {
        let number = Number::read(text)?;
        let micros = number.whole * 1_000_000 + (number.fraction * 1e6).round_ties_even() as i128;
        (number.whole < 61).then_some(micros)
    };
    let minutes = |text: &str| whole(text).filter(|minutes| *minutes < 60);
    let (hour, minute) = (i128::from(HOUR), i128::from(MINUTE));
    let micros = match *parts {
        [first, second] if second.contains('.') => minutes(first)? * minute + seconds(second)?,
        [first, second] => whole(first)? * hour + minutes(second)? * minute,
        [first, second, third] => {
            whole(first)? * hour + minutes(second)? * minute + seconds(third)?
        }
        _ => return None,
    };
    Some(if is_negative { -micros } else { micros })
}

impl Interval {
    /// Negates all parts.
    ///
    /// # Errors
    /// `22008` if one is the least of its range.
    pub fn negated(self) -> Result<Interval, SqlError> {
        Interval::default().plus(self, -1)
    }

    /// Reads `1 day`, `2 hours 30 minutes ago`, `-1 mon`, `01:30:00`, `1-2`, `P1DT2H`.
    pub fn parse(text: &str) -> Option<Interval> {
        let (sum, negated) = Sum::parse(text.trim())?;
        sum.interval(negated)
    }

    /// Reads the text of an expression's interval.
    pub fn known(text: &str) -> Interval {
        Interval::parse(text).unwrap_or_default()
    }

    /// Reads one.
    ///
    /// # Errors
    /// `22007` if the text is none, `22015` if it is too long.
    pub fn read(text: &str) -> Result<Interval, SqlError> {
        let beyond = || {
            SqlError::new(
                "22015",
                format!("interval field value out of range: \"{text}\""),
            )
        };
        let (sum, negated) = Sum::parse(text.trim()).ok_or_else(|| match has_large_part(text) {
            true => beyond(),
            false => SqlError::new(
                code::INVALID_DATETIME,
                format!("invalid input syntax for type interval: \"{text}\""),
            ),
        })?;
        sum.interval(negated).ok_or_else(beyond)
    }

    /// An interval of parts that may be too large.
    ///
    /// # Errors
    /// `22008` if they are.
    pub fn of_parts(months: i128, days: i128, micros: i128) -> Result<Interval, SqlError> {
        let sum = Sum {
            months,
            days,
            micros,
        };
        sum.interval(false).ok_or_else(out_of_range)
    }

    /// An interval of parts that were computed as floats.
    ///
    /// # Errors
    /// `22008` if they are too large.
    fn of_floats(months: f64, days: f64, micros: f64) -> Result<Interval, SqlError> {
        let part = |part: f64| match part.is_finite() {
            true => Ok(part as i128),
            false => Err(out_of_range()),
        };
        Interval::of_parts(part(months)?, part(days)?, part(micros)?)
    }

    /// The value for an expression.
    pub fn value(self) -> Value {
        Value::Text(self.to_string())
    }

    /// Microseconds, with months of 30 days: intervals are compared by them.
    pub fn length(self) -> i128 {
        let days = i128::from(self.months) * i128::from(DAYS_OF_MONTH) + i128::from(self.days);
        days * i128::from(DAY) + i128::from(self.micros)
    }

    /// The sum, or with `-1` the difference, of two.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn plus(self, other: Interval, times: i128) -> Result<Interval, SqlError> {
        Interval::of_parts(
            i128::from(self.months) + times * i128::from(other.months),
            i128::from(self.days) + times * i128::from(other.days),
            i128::from(self.micros) + times * i128::from(other.micros),
        )
    }

    /// Multiplies an interval: fractions of months go to days, and of days to the time.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn times(self, factor: f64) -> Result<Interval, SqlError> {
        self.scaled(|part| part * factor)
    }

    /// Divides an interval.
    ///
    /// # Errors
    /// `22012` of none, `22008` if it is out of range.
    pub fn divided(self, by: f64) -> Result<Interval, SqlError> {
        match by == 0.0 {
            true => Err(super::arithmetic::division_by_zero()),
            false => self.scaled(|part| part / by),
        }
    }

    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Interval, SqlError> {
        let rounded = |value: f64| (value * 1e6).round_ties_even() / 1e6;
        let seconds_of_day = (DAY / SECOND) as f64;
        let (months, days) = (scale(self.months.into()), scale(self.days.into()));
        let of_months = rounded((months - months.trunc()) * DAYS_OF_MONTH as f64);
        let left = days - days.trunc() + of_months - of_months.trunc();
        let mut seconds = rounded(left * seconds_of_day);
        let mut whole_days = days.trunc() + of_months.trunc();
        if seconds.abs() >= seconds_of_day {
            let more = (seconds / seconds_of_day).trunc();
            whole_days += more;
            seconds -= more * seconds_of_day;
        }
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        Interval::of_floats(months.trunc(), whole_days, micros)
    }

    /// Moves whole days of its time to its days.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn with_days_of_time(self) -> Result<Interval, SqlError> {
        let mut days = i128::from(self.days) + i128::from(self.micros / DAY);
        let mut micros = self.micros % DAY;
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + DAY);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - DAY);
        }
        Interval::of_parts(self.months.into(), days, micros.into())
    }

    /// Moves each 30 of its days to a month.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn with_months_of_days(self) -> Result<Interval, SqlError> {
        let mut months = i128::from(self.months) + i128::from(i64::from(self.days) / DAYS_OF_MONTH);
        let mut days = i64::from(self.days) % DAYS_OF_MONTH;
        if months > 0 && days < 0 {
            (months, days) = (months - 1, days + DAYS_OF_MONTH);
        } else if months < 0 && days > 0 {
            (months, days) = (months + 1, days - DAYS_OF_MONTH);
        }
        Interval::of_parts(months, days.into(), self.micros.into())
    }

    /// Does both, and gives all parts one sign.
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub fn justified(self) -> Result<Interval, SqlError> {
        let (mut months, mut days) = (i128::from(self.months), i128::from(self.days));
        days += i128::from(self.micros / DAY);
        let mut micros = i128::from(self.micros % DAY);
        let (month, day) = (i128::from(DAYS_OF_MONTH), i128::from(DAY));
        months += days / month;
        days %= month;
        if months > 0 && (days < 0 || days == 0 && micros < 0) {
            (months, days) = (months - 1, days + month);
        } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
            (months, days) = (months + 1, days - month);
        }
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + day);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - day);
        }
        Interval::of_parts(months, days, micros)
    }
}

#[cold]
pub(crate) fn out_of_range() -> SqlError {
    SqlError::new(code::DATETIME_OVERFLOW, "interval out of range")
}

/// The beginning of a text with the given characters, and the rest.
fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// The number of these digits. A number that is too large for an interval is bounded, so that sums of it do not
/// overflow.
fn bounded(digits: &str) -> i128 {
    const BEYOND: i128 = 10_i128.pow(20);
    match digits.trim_start_matches('0') {
        "" => 0,
        digits if digits.len() > 20 => BEYOND,
        digits => digits.parse().unwrap_or(BEYOND),
    }
}

/// `1-2`: years and months.
fn years_and_months(word: &str) -> Option<(i128, i128)> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, word.strip_prefix('+').unwrap_or(word)),
    };
    let (years, months) = digits.split_once('-')?;
    let whole = |text: &str| {
        let are_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        are_digits.then(|| bounded(text))
    };
    let months = whole(months).filter(|months| *months < 12)?;
    Some((sign * whole(years)?, sign * months))
}

/// The parts behind the `P` of ISO 8601: `1Y2M3W4DT5H6M7.8S`.
fn iso(parts: &str) -> Option<(Sum, bool)> {
    let mut sum = Sum::default();
    let (mut rest, mut is_time, mut is_any) = (parts, false, false);
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('T').filter(|_| !is_time) {
            (rest, is_time) = (behind, true);
            continue;
        }
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let number = Number::read(rest.get(..end)?)?;
        let unit = match (rest.get(end..=end)?, is_time) {
            ("Y", false) => "year",
            ("M", false) => "month",
            ("W", false) => "week",
            ("D", false) => "day",
            ("H", true) => "hour",
            ("M", true) => "minute",
            ("S", true) => "second",
            _ => return None,
        };
        sum.add(number, unit)?;
        (rest, is_any) = (rest.get(end + 1..)?, true);
    }
    is_any.then_some((sum, false))
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut is_first, mut is_negative) = (true, false);
        let parts = [
            (self.months / 12, "year"),
            (self.months % 12, "mon"),
            (self.days, "day"),
        ];
        for (number, unit) in parts {
            if number == 0 {
                continue;
            }
            let blank = if is_first { "" } else { " " };
            let plus = if is_negative && number > 0 { "+" } else { "" };
            let plural = if number == 1 { "" } else { "s" };
            write!(f, "{blank}{plus}{number} {unit}{plural}")?;
            (is_first, is_negative) = (false, number < 0);
        }
        if !is_first && self.micros == 0 {
            return Ok(());
        }
        let blank = if is_first { "" } else { " " };
        let sign = match self.micros < 0 {
            true => "-",
            false if is_negative => "+",
            false => "",
        };
        let micros = self.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(
            f,
            "{blank}{sign}{hours:02}:{minutes:02}:{:02}",
            seconds % 60
        )?;
        match micros % 1_000_000 {
            0 => Ok(()),
            fraction => {
                let digits = format!("{fraction:06}");
                write!(f, ".{}", digits.trim_end_matches('0'))
            }
        }
    }
}
