//! Intervals as ISO 8601 writes them: `P1Y2M3W4DT5H6M7.8S`, and `P0001-02-03T04:05:06`.
//!
//! Source: PostgreSQL 15, `DecodeISO8601Interval`.

use super::reading::Bad;
use super::sum::{Number, Sum, Unit};

/// The largest number: beyond it a float has no exact fraction.
const NUMBER_MAX: f64 = 1e15;

/// A text that is read from its beginning.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    /// A number as C reads floats, and the count of its digits before the point.
    fn number(&mut self) -> Result<(Number, usize), Bad> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let unsigned = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let word = unsigned.get(..3).unwrap_or_default();
        if unsigned != self.rest
            && ["inf", "nan"]
                .iter()
                .any(|it| word.eq_ignore_ascii_case(it))
        {
            return Err(Bad::Field);
        }
        let whole = digits(unsigned);
        let from = |at: usize| unsigned.get(at..).unwrap_or_default();
        let mut end = whole;
        let fraction = from(end).strip_prefix('.').map_or(0, digits);
        if whole + fraction == 0 {
            return Err(Bad::Format);
        }
        if from(end).starts_with('.') {
            end += 1 + fraction;
        }
        if from(end).starts_with(['e', 'E']) {
            let sign = usize::from(from(end + 1).starts_with(['+', '-']));
            let power = digits(from(end + 1 + sign));
            end += if power > 0 { 1 + sign + power } else { 0 };
        }
        end += self.rest.len() - unsigned.len();
        let (text, rest) = self.rest.split_at_checked(end).ok_or(Bad::Format)?;
        let value: f64 = text.parse().map_err(|_| Bad::Format)?;
        if value.is_infinite() {
            return Err(Bad::Format);
        }
        if value.abs() > NUMBER_MAX {
            return Err(Bad::Field);
        }
        self.rest = rest;
        let number = Number {
            whole: value as i64,
            fraction: value - value.trunc(),
        };
        Ok((number, whole))
    }

    /// Passes over a character.
    fn pass(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next();
        self.rest = letters.as_str();
        letter
    }

    /// Adds the number behind a delimiter, and returns the next character without passing over it.
    fn add(&mut self, sum: &mut Sum, unit: Unit) -> Result<Option<char>, Bad> {
        sum.add(self.number()?.0, unit)?;
        Ok(self.rest.chars().next())
    }
}

/// Reads an interval with designators, or in the alternative form with delimiters.
///
/// # Errors
/// If it has another form, or a part is out of range.
pub(super) fn designators(text: &str) -> Result<Sum, Bad> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty());
    let mut reader = Reader {
        rest: rest.ok_or(Bad::Format)?,
    };
    let (mut sum, mut is_date, mut has_field) = (Sum::default(), true, false);
    while !reader.rest.is_empty() {
        if reader.rest.starts_with('T') {
            (is_date, has_field) = (false, false);
            reader.pass();
            continue;
        }
        let (number, width) = reader.number()?;
        let letter = reader.pass();
        let unit = match (letter, is_date) {
            (Some('Y'), true) => Unit::Year,
            (Some('M'), true) => Unit::Month,
            (Some('W'), true) => Unit::Week,
            (Some('D'), true) => Unit::Day,
            (Some('H'), false) => Unit::Hour,
            (Some('M'), false) => Unit::Minute,
            (Some('S'), false) => Unit::Second,
            (None | Some('T' | '-'), true) => {
                let first = (number, width, has_field);
                if date(&mut reader, &mut sum, first, letter)? {
                    return Ok(sum);
                }
                (is_date, has_field) = (false, false);
                continue;
            }
            (None | Some(':'), false) => {
                let first = (number, width, has_field);
                time(&mut reader, &mut sum, first, letter)?;
                return Ok(sum);
            }
            _ => return Err(Bad::Format),
        };
        sum.add(number, unit)?;
        has_field = true;
    }
    Ok(sum)
}

/// A whole number of units.
fn of_whole(whole: i64) -> Number {
    Number {
        whole,
        fraction: 0.0,
    }
}

/// The rest of a date in the alternative form, behind its first number and the character that follows it. True at the end
/// of the text.
fn date(
    reader: &mut Reader<'_>,
    sum: &mut Sum,
    (first, width, has_field): (Number, usize, bool),
    letter: Option<char>,
) -> Result<bool, Bad> {
    if width == 8 && !has_field && letter != Some('-') {
        sum.add(of_whole(first.whole / 10_000), Unit::Year)?;
        sum.add(of_whole(first.whole / 100 % 100), Unit::Month)?;
        let days = Number {
            whole: first.whole % 100,
            ..first
        };
        sum.add(days, Unit::Day)?;
        return Ok(letter.is_none());
    }
    if has_field {
        return Err(Bad::Format);
    }
    sum.add(first, Unit::Year)?;
    if letter != Some('-') {
        return Ok(letter.is_none());
    }
    match reader.add(sum, Unit::Month)? {
        None => return Ok(true),
        Some('T') => return Ok(false),
        Some('-') => reader.pass(),
        Some(_) => return Err(Bad::Format),
    };
    match reader.add(sum, Unit::Day)? {
        None => Ok(true),
        Some('T') => Ok(false),
        Some(_) => Err(Bad::Format),
    }
}

/// The same of a time, which ends the text.
fn time(
    reader: &mut Reader<'_>,
    sum: &mut Sum,
    (first, width, has_field): (Number, usize, bool),
    letter: Option<char>,
) -> Result<(), Bad> {
    if width == 6 && !has_field && letter.is_none() {
        sum.add(of_whole(first.whole / 10_000), Unit::Hour)?;
        sum.add(of_whole(first.whole / 100 % 100), Unit::Minute)?;
        sum.add(of_whole(first.whole % 100), Unit::Second)?;
        let micros = Number { whole: 0, ..first };
        return sum.add(micros, Unit::Microsecond);
    }
    if has_field {
        return Err(Bad::Format);
    }
    sum.add(first, Unit::Hour)?;
    if letter.is_none() {
        return Ok(());
    }
    match reader.add(sum, Unit::Minute)? {
        None => return Ok(()),
        Some(':') => reader.pass(),
        Some(_) => return Err(Bad::Format),
    };
    match reader.add(sum, Unit::Second)? {
        None => Ok(()),
        Some(_) => Err(Bad::Format),
    }
}
