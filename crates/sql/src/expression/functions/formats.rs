//! `format`, and texts as literals of SQL.
//!
//! Source: `text_format` of PostgreSQL's `varlena.c`.

use super::definition::*;
use super::texts::check_length;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::names::quoted;
use crate::text::text_of;
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    format(TEXT) -> TEXT, format, "a text without places for values", on_null;
    format(TEXT, ANY) -> TEXT, format, "a text with values at its places: `%s` as they are, `%I` as names and `%L` as literals of SQL", variadic, on_null;
    quote_literal(ANY) -> TEXT, |a, _| text(literal(&shown(a).unwrap_or_default())), "as a literal of SQL";
    unistr(TEXT) -> TEXT, |a, _| text(unescaped(a.text(0))?), "with characters in the place of `\\XXXX`, `\\+XXXXXX`, `\\uXXXX` and `\\UXXXXXXXX`";
    quote_nullable(ANY) -> TEXT, |a, _| text(shown(a).map_or_else(|| "NULL".into(), |text| literal(&text))), "as a literal of SQL, `NULL` of a null", on_null;
};

/// The first value with a type's number before it, cast to a text.
fn shown(a: Arguments<'_>) -> Option<String> {
    match a.typed(0).next()? {
        (_, ValueRef::Bool(value)) => Some(value.to_string()),
        (SqlType::Char, ValueRef::Text(text)) => Some(text.trim_end_matches(' ').to_string()),
        (kind, value) => text_of(kind, value),
    }
}

/// A text as a literal of SQL.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    if text.contains('\\') {
        literal.push('E');
    }
    literal.push('\'');
    for letter in text.chars() {
        if matches!(letter, '\'' | '\\') {
            literal.push(letter);
        }
        literal.push(letter);
    }
    literal.push('\'');
    literal
}

/// A text with its escapes replaced by their characters.
fn unescaped(text: &str) -> Result<String, SqlError> {
    let wrong_pair = || SqlError::syntax("invalid Unicode surrogate pair");
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    let mut first: Option<u32> = None;
    while let Some(letter) = rest.chars().next() {
        let behind = rest.get(letter.len_utf8()..).unwrap_or_default();
        if letter != '\\' || behind.starts_with('\\') {
            if first.is_some() {
                return Err(wrong_pair());
            }
            out.push(letter);
            let skipped = if letter == '\\' { 1 } else { 0 };
            rest = behind.get(skipped..).unwrap_or_default();
            continue;
        }
        let (digits, length) = match behind.chars().next() {
            Some('+') => (behind.get(1..), 6),
            Some('u') => (behind.get(1..), 4),
            Some('U') => (behind.get(1..), 8),
            _ => (Some(behind), 4),
        };
        let digits = digits.unwrap_or_default();
        let number = digits
            .get(..length)
            .filter(|number| number.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let Some(number) = number.and_then(|number| u32::from_str_radix(number, 16).ok()) else {
            return Err(SqlError::syntax("invalid Unicode escape")
                .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX."));
        };
        rest = digits.get(length..).unwrap_or_default();
        if !(1..=0x0010_ffff).contains(&number) {
            return Err(wrong(format!("invalid Unicode code point: {number:04X}")));
        }
        let number = match (first.take(), number) {
            (Some(first), 0xdc00..0xe000) => {
                0x1_0000 + ((first - 0xd800) << 10) + (number - 0xdc00)
            }
            (Some(_), _) | (None, 0xdc00..0xe000) => return Err(wrong_pair()),
            (None, 0xd800..0xdc00) => {
                first = Some(number);
                continue;
            }
            (None, number) => number,
        };
        out.extend(char::from_u32(number));
    }
    match first {
        None => Ok(out),
        Some(_) => Err(wrong_pair()),
    }
}

fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}

/// A place for a value, as the text behind `%` describes it.
#[derive(Default)]
struct Place {
    /// The number of the value, from 1.
    value: Option<usize>,
    /// The number of the value that is the width; 0 for the next one.
    width_value: Option<usize>,
    width: i64,
    is_left: bool,
    kind: char,
}

/// A text of places, and the position in it.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn here(&self) -> Result<char, SqlError> {
        let letter = self.rest.chars().next();
        letter.ok_or_else(|| {
            wrong("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
        })
    }

    fn pass(&mut self) -> Result<char, SqlError> {
        let letter = self.here()?;
        self.rest = self.rest.get(letter.len_utf8()..).unwrap_or_default();
        Ok(letter)
    }

    /// Reads digits, if any follow.
    fn number(&mut self) -> Result<Option<i32>, SqlError> {
        let mut number = None;
        while let Some(digit) = self.here()?.to_digit(10) {
            let more = number.unwrap_or(0_i32).checked_mul(10);
            let more = more.and_then(|more| more.checked_add(digit as i32));
            number = Some(
                more.ok_or_else(|| SqlError::new(code::OUT_OF_RANGE, "number is out of range"))?,
            );
            self.pass()?;
        }
        Ok(number)
    }

    fn position(number: i32) -> Result<usize, SqlError> {
        match number {
            0 => Err(wrong(
                "format specifies argument 0, but arguments are numbered from 1",
            )),
            number => Ok(number as usize),
        }
    }

    /// The place behind a percent sign.
    fn place(&mut self) -> Result<Place, SqlError> {
        let mut place = Place::default();
        if let Some(number) = self.number()? {
            if self.here()? != '$' {
                place.width = number.into();
                place.kind = self.kind()?;
                return Ok(place);
            }
            place.value = Some(Self::position(number)?);
            self.pass()?;
        }
        while self.here()? == '-' {
            place.is_left = true;
            self.pass()?;
        }
        if self.here()? == '*' {
            self.pass()?;
            place.width_value = Some(match self.number()? {
                None => 0,
                Some(_) if self.here()? != '$' => {
                    return Err(wrong("width argument position must be ended by \"$\""));
                }
                Some(number) => {
                    self.pass()?;
                    Self::position(number)?
                }
            });
        } else if let Some(width) = self.number()? {
            place.width = width.into();
        }
        place.kind = self.kind()?;
        Ok(place)
    }

    fn kind(&mut self) -> Result<char, SqlError> {
        match self.pass()? {
            kind @ ('s' | 'I' | 'L') => Ok(kind),
            other => Err(
                wrong(format!("unrecognized format() type specifier \"{other}\""))
                    .hint("For a single \"%\" use \"%%\"."),
            ),
        }
    }
}

fn format(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let Some(template) = a.given_text(0) else {
        return Ok(Value::Null);
    };
    let values: Vec<(SqlType, ValueRef<'_>)> = a.typed(1).collect();
    let mut reader = Reader { rest: template };
    let (mut out, mut next) = (String::new(), 0);
    while !reader.rest.is_empty() {
        let letter = reader.pass()?;
        if letter != '%' {
            out.push(letter);
            continue;
        }
        with.context.look_at_row()?;
        if reader.here()? == '%' {
            reader.pass()?;
            out.push('%');
            continue;
        }
        let mut place = reader.place()?;
        let mut take = |number: Option<usize>| {
            next = number.map_or(next, |number| number - 1);
            let value = values.get(next).copied();
            next += 1;
            value.ok_or_else(|| wrong("too few arguments for format()"))
        };
        if let Some(number) = place.width_value {
            let (kind, value) = take((number > 0).then_some(number))?;
            place.width = width(kind, value)?;
        }
        let (kind, value) = take(place.value)?;
        let shown = text_of(kind, value);
        let shown = match (place.kind, shown) {
            ('I', None) => {
                return Err(SqlError::new(
                    "22004",
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
            ('I', Some(text)) => quoted(&text),
            ('L', None) => "NULL".to_string(),
            ('L', Some(text)) => literal(&text),
            (_, text) => text.unwrap_or_default(),
        };
        push(&shown, &place, &mut out)?;
    }
    text(out)
}

/// The width from a value: null is no width.
fn width(kind: SqlType, value: ValueRef<'_>) -> Result<i64, SqlError> {
    let Some(text) = text_of(kind, value) else {
        return Ok(0);
    };
    let width = crate::text::decode_text(SqlType::Int4, &text)?;
    Ok(match width {
        Value::Int(width) => width as i64,
        _ => 0,
    })
}

/// Appends a text, padded with blanks to its width.
fn push(text: &str, place: &Place, out: &mut String) -> Result<(), SqlError> {
    let width = usize::try_from(place.width.unsigned_abs()).unwrap_or(usize::MAX);
    let missing = width.saturating_sub(text.chars().count());
    check_length(out.len().saturating_add(text.len()).saturating_add(missing))?;
    let blanks = std::iter::repeat_n(' ', missing);
    match place.is_left || place.width < 0 {
        true => {
            out.push_str(text);
            out.extend(blanks);
        }
        false => {
            out.extend(blanks);
            out.push_str(text);
        }
    }
    Ok(())
}
