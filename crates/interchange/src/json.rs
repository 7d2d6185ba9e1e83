//! JSON lines: an object in each. Values go from the text into a batch, by their columns' types. No tree of JSON is
//! built, and of numbers every digit is read.

use crate::batch::Batch;
use crate::columns::Columns;
use crate::error::Place;
use crate::lines::{Line, Lines};
use crate::{BadRow, InterchangeError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sardonyx_rows::schema::{Schema, Type, ValueRef};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Number, Value as Json};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, Write};

/// A file of JSON lines, being read.
pub(crate) struct JsonReader {
    lines: Lines<Box<dyn BufRead + Send>>,
    table: Columns,
    buffer: Vec<u8>,
    /// The columns of the last row, in its order: the next one's are mostly the same.
    order: Vec<usize>,
    /// The last line that has each column.
    said: Vec<u64>,
}

impl fmt::Debug for JsonReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("JsonReader");
        f.field("lines", &self.lines.count).finish_non_exhaustive()
    }
}

/// Reads the next line, without blank ones; `None` at the end.
pub(crate) fn read_line(
    lines: &mut Lines<impl BufRead>,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Line>> {
    loop {
        buffer.clear();
        match lines.next(buffer)? {
            Line::End => return Ok(None),
            Line::Whole if buffer.trim_ascii().is_empty() => {}
            line => return Ok(Some(line)),
        }
    }
}

impl JsonReader {
    /// Begins to read.
    pub fn new(source: Box<dyn BufRead + Send>, table: Columns) -> Self {
        JsonReader {
            lines: Lines::new(source),
            said: vec![0; table.schema.columns.len()],
            table,
            buffer: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Adds a row, good or bad. Returns true if there was one.
    pub fn read(&mut self, batch: &mut Batch) -> Result<bool, InterchangeError> {
        let line = read_line(&mut self.lines, &mut self.buffer)?;
        batch.position = self.lines.bytes;
        let place = Place::Line(self.lines.count);
        let whole = |reason: String| BadRow {
            place,
            column: None,
            reason,
        };
        match line {
            None => return Ok(false),
            Some(Line::TooLong) => {
                let reason = "the line is longer than lines may be";
                batch.end_bad_row(whole(reason.to_string()));
                return Ok(true);
            }
            Some(_) => {}
        }
        let mut bad = None;
        let row = Row {
            table: &self.table,
            line: self.lines.count,
            order: &mut self.order,
            said: &mut self.said,
            batch,
            bad: &mut bad,
        };
        let mut json = serde_json::Deserializer::from_slice(&self.buffer);
        let read = (&mut json).deserialize_map(row).and_then(|()| json.end());
        match (bad, read) {
            (Some((column, reason)), _) => batch.end_bad_row(BadRow {
                place,
                column: Some(column),
                reason,
            }),
            (None, Err(error)) => {
                let hint = match self.buffer.trim_ascii_start().first() {
                    Some(b'[') => " (one object in each line is expected, not a list of them)",
                    _ => "",
                };
                batch.end_bad_row(whole(format!("no JSON object: {error}{hint}")));
            }
            (None, Ok(())) => batch.end_row(place),
        }
        Ok(true)
    }
}

/// Reads an object as a row.
struct Row<'r> {
    table: &'r Columns,
    line: u64,
    order: &'r mut Vec<usize>,
    said: &'r mut [u64],
    batch: &'r mut Batch,
    /// The column that a value does not fit, and the reason, which ends the reading.
    bad: &'r mut Option<(String, String)>,
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut place = 0;
        loop {
            let schema = &self.table.schema;
            let name = Name {
                schema,
                guess: self.order.get(place).copied(),
            };
            let number = match map.next_key_seed(name)? {
                None => return Ok(()),
                Some(Ok(number)) => number,
                Some(Err(name)) => {
                    *self.bad = Some((name, "the table has no such column".to_string()));
                    return Err(A::Error::custom("no such column"));
                }
            };
            let column = &schema.columns[number];
            if std::mem::replace(&mut self.said[number], self.line) == self.line {
                *self.bad = Some((column.name.clone(), "the object has it twice".to_string()));
                return Err(A::Error::custom("a column twice"));
            }
            match self.order.get_mut(place) {
                Some(guess) => *guess = number,
                None => self.order.push(number),
            }
            place += 1;
            let json: &RawValue = map.next_value()?;
            if let Err(reason) = push(self.table, number, json.get(), self.batch) {
                *self.bad = Some((column.name.clone(), reason));
                return Err(A::Error::custom("a value that does not fit"));
            }
        }
    }
}

/// Reads a member's name as the number of a column; of an unknown one, the name.
struct Name<'r> {
    schema: &'r Schema,
    guess: Option<usize>,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Result<usize, String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Result<usize, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let is_guess = |guess: &usize| {
            let column = self.schema.columns.get(*guess);
            column.is_some_and(|column| column.name == name && !column.dropped)
        };
        let number = self.guess.filter(is_guess);
        let number = number.or_else(|| self.schema.column(name));
        Ok(number.ok_or_else(|| name.to_string()))
    }
}

/// A value in the form of JSON.
pub(crate) enum Token<'j> {
    Null,
    Bool(&'j str),
    Number(&'j str),
    Text(Cow<'j, str>),
    /// A text with a surrogate without its other half, which is no character.
    HalfPair,
    List,
    Object,
}

impl<'j> Token<'j> {
    /// The token of a text that is a value of JSON.
    pub fn of(json: &'j str) -> Token<'j> {
        match json.as_bytes().first() {
            Some(b'"') => match serde_json::from_str(json) {
                Ok(Unquoted(text)) => Token::Text(text),
                // It was read before as JSON.
                Err(_) => Token::HalfPair,
            },
            Some(b'n') => Token::Null,
            Some(b't' | b'f') => Token::Bool(json),
            Some(b'[') => Token::List,
            Some(b'{') => Token::Object,
            _ => Token::Number(json),
        }
    }
}

/// A text, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Unquoted<'j>(#[serde(borrow)] Cow<'j, str>);

/// Adds a value to the row that is read; or returns the reason why its column cannot have it.
fn push(table: &Columns, number: usize, json: &str, batch: &mut Batch) -> Result<(), String> {
    let kind = table.schema.columns[number].kind;
    let unfit = |what: &str| Err(format!("not a value of type {kind}: {what}"));
    let mut parse = |text: &str| {
        let value = (table.texts)(number, text)?;
        batch.push(number, value.as_ref());
        Ok(())
    };
    match (Token::of(json), kind) {
        (Token::Null, _) => batch.push(number, ValueRef::Null),
        (Token::Bool(word), Type::Bool | Type::Text) => return parse(word),
        (Token::Bool(_), _) => return unfit("true or false"),
        (Token::Number(digits), Type::Text | Type::F32 | Type::F64) => return parse(digits),
        (Token::Number(digits), Type::Decimal { .. } | Type::U128) => return parse(&plain(digits)),
        (Token::Number(digits), _) if kind.integer_range().is_some() => {
            return parse(&plain(digits));
        }
        (Token::Number(_), _) => return unfit("a number"),
        // As PostgreSQL has them in JSON: no base64 has a backslash.
        (Token::Text(text), Type::Bytes) if text.starts_with("\\x") => return parse(&text),
        (Token::Text(text), Type::Bytes | Type::Plain { .. }) => match STANDARD.decode(&*text) {
            Ok(bytes) => batch.push(number, ValueRef::Bytes(&bytes)),
            Err(error) => return unfit(&format!("no base64: {error}")),
        },
        (Token::Text(text), _) => return parse(&text),
        (Token::HalfPair, _) => return unfit("a text with half of a surrogate pair"),
        (Token::List, _) => return unfit("a list"),
        (Token::Object, _) => return unfit("an object"),
    }
    Ok(())
}

/// A number without an exponent, and without zeros behind the point; unchanged, if that would have too many digits.
fn plain(number: &str) -> Cow<'_, str> {
    /// More digits than any number of a column has.
    const DIGITS_MAX: i32 = 100;
    if !number.contains(['.', 'e', 'E']) {
        return Cow::Borrowed(number);
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let behind = behind.trim_end_matches('0');
    let shift = exponent.parse::<i32>().ok();
    let Some(shift) = shift.filter(|shift| shift.abs() <= DIGITS_MAX) else {
        return Cow::Borrowed(number);
    };
    let mut digits = format!("{before}{behind}");
    let point = before.len() as i32 + shift;
    if point <= 0 {
        digits.insert_str(0, &"0".repeat(1 + point.unsigned_abs() as usize));
    }
    let point = point.max(1) as usize;
    if digits.len() < point {
        digits.push_str(&"0".repeat(point - digits.len()));
    }
    let (before, behind) = digits.split_at_checked(point).unwrap_or((&digits, ""));
    let point = if behind.is_empty() { "" } else { "." };
    Cow::Owned(format!("{sign}{before}{point}{behind}"))
}

/// An object's members in their order.
pub(crate) struct Members<'j>(pub Vec<(Cow<'j, str>, &'j RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Unquoted(name), json)) = map.next_entry()? {
                    members.push((name, json));
                }
                Ok(Members(members))
            }
        }
        json.deserialize_map(Visit)
    }
}

/// A value as JSON; see the crate.
pub fn value_to_json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Bool(value) => Json::Bool(value),
        ValueRef::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Json::from(value),
            (_, Ok(value)) => Json::from(value),
            _ => Json::String(value.to_string()),
        },
        ValueRef::U128(value) => match u64::try_from(value) {
            Ok(value) => Json::from(value),
            Err(_) => Json::String(value.to_string()),
        },
        ValueRef::Float(value) => match Number::from_f64(value) {
            Some(number) => Json::Number(number),
            None => Json::String(ValueRef::Float(value).to_string()),
        },
        ValueRef::Text(text) => Json::String(text.to_string()),
        ValueRef::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
        other => Json::String(other.to_string()),
    }
}

/// Writes the result of [`value_to_json`], without making a text of it first if that is not needed.
pub(crate) fn write_json(sink: &mut impl Write, value: ValueRef<'_>) -> io::Result<()> {
    match value {
        ValueRef::Text(text) => Ok(serde_json::to_writer(sink, text)?),
        ValueRef::Decimal(..)
        | ValueRef::NonFinite(_)
        | ValueRef::Date(_)
        | ValueRef::Time(_)
        | ValueRef::Timestamp(_) => {
            write!(sink, "\"{value}\"")
        }
        other => Ok(serde_json::to_writer(sink, &value_to_json(other))?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_plain_with_all_their_digits() {
        for (number, digits) in [
            ("12", "12"),
            ("12.0", "12"),
            ("12.30", "12.3"),
            ("1e3", "1000"),
            ("-1.5E+2", "-150"),
            ("1.25e1", "12.5"),
            ("125e-2", "1.25"),
            ("-1e-3", "-0.001"),
            ("0.5e-1", "0.05"),
            ("12345678901234567890123.0", "12345678901234567890123"),
            ("1e999999999", "1e999999999"),
        ] {
            assert_eq!(plain(number), digits);
        }
    }
}
