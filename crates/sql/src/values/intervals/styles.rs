//! The styles of intervals beside `postgres`: the parameter `IntervalStyle`.
//!
//! Source: PostgreSQL 15, `EncodeInterval` in `datetime.c`.

use super::{HOUR, Interval, MINUTE, SECOND};
use std::fmt::Write;

/// The style in which a session's intervals are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum IntervalStyle {
    /// `1 day 02:00:00`
    #[default]
    Postgres,
    /// `@ 1 day 2 hours`
    Verbose,
    /// `P1DT2H`
    Iso,
}

impl IntervalStyle {
    /// The style of a value of the parameter.
    pub fn named(name: &str) -> Option<IntervalStyle> {
        Some(match name.to_ascii_lowercase().as_str() {
            "postgres" => IntervalStyle::Postgres,
            "postgres_verbose" => IntervalStyle::Verbose,
            "iso_8601" => IntervalStyle::Iso,
            _ => return None,
        })
    }

    /// The style's name.
    pub fn name(self) -> &'static str {
        match self {
            IntervalStyle::Postgres => "postgres",
            IntervalStyle::Verbose => "postgres_verbose",
            IntervalStyle::Iso => "iso_8601",
        }
    }

    /// Appends an interval, which is given as its text in the first style.
    pub fn push(self, text: &str, out: &mut String) {
        let of = Interval::known(text);
        match self {
            IntervalStyle::Postgres => out.push_str(text),
            IntervalStyle::Verbose => push_verbose(of, out),
            IntervalStyle::Iso => push_iso(of, out),
        }
    }
}

/// The years, months, days, hours and minutes, each with its sign.
fn parts(of: Interval) -> [i64; 5] {
    [
        i64::from(of.months) / 12,
        i64::from(of.months) % 12,
        of.days.into(),
        of.micros / HOUR,
        of.micros % HOUR / MINUTE,
    ]
}

/// Appends seconds without their sign, given in microseconds: `3.5`.
fn push_seconds(micros: i64, out: &mut String) {
    let micros = micros.unsigned_abs();
    let (whole, fraction) = (
        micros / SECOND.unsigned_abs(),
        micros % SECOND.unsigned_abs(),
    );
    let _ = write!(out, "{whole}");
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

fn push_iso(of: Interval, out: &mut String) {
    if of == Interval::default() {
        out.push_str("PT0S");
        return;
    }
    out.push('P');
    for (at, (number, unit)) in parts(of)
        .into_iter()
        .zip(["Y", "M", "D", "H", "M"])
        .enumerate()
    {
        if at == 3 && of.micros != 0 {
            out.push('T');
        }
        if number != 0 {
            let _ = write!(out, "{number}{unit}");
        }
    }
    let seconds = of.micros % MINUTE;
    if seconds != 0 {
        out.push_str(if seconds < 0 { "-" } else { "" });
        push_seconds(seconds, out);
        out.push('S');
    }
}

fn push_verbose(of: Interval, out: &mut String) {
    out.push('@');
    // The sign of the first part is that of the whole: the others are written as they differ from it.
    let mut sign = None;
    for (number, unit) in parts(of)
        .into_iter()
        .zip(["year", "mon", "day", "hour", "min"])
    {
        if number != 0 {
            let number = number * *sign.get_or_insert(number.signum());
            let plural = if number == 1 { "" } else { "s" };
            let _ = write!(out, " {number} {unit}{plural}");
        }
    }
    let seconds = of.micros % MINUTE;
    if seconds != 0 {
        let differs = *sign.get_or_insert(seconds.signum()) != seconds.signum();
        out.push_str(if differs { " -" } else { " " });
        push_seconds(seconds, out);
        out.push_str(if seconds.abs() == SECOND {
            " sec"
        } else {
            " secs"
        });
    }
    match sign {
        None => out.push_str(" 0"),
        Some(-1) => out.push_str(" ago"),
        Some(_) => {}
    }
}
