//! JSON lines: an object in each. Values go straight from the text into a batch, as their columns' types say; no
//! tree of JSON is built.

use crate::batch::Batch;
use crate::error::Place;
use crate::{BadRow, InterchangeError, LINE_BYTES_MAX};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sardonyx_table::schema::{Column, Schema, Type, ValueRef};
use sardonyx_table::value_text::parse_value;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Number, Value as Json};
use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

/// A file of JSON lines, being read.
pub(crate) struct JsonReader {
    source: Box<dyn BufRead + Send>,
    schema: Arc<Schema>,
    buffer: Vec<u8>,
    /// Lines and bytes that were read.
    lines: u64,
    bytes: u64,
    /// The columns of the last row, in its order: the next one's are mostly the same.
    order: Vec<usize>,
    /// Of each column, the last line that has it.
    said: Vec<u64>,
}

impl fmt::Debug for JsonReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("JsonReader");
        f.field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// Reads the next line, without blank ones; whether there was one.
pub(crate) fn read_line(
    source: &mut (impl BufRead + ?Sized),
    buffer: &mut Vec<u8>,
    lines: &mut u64,
) -> Result<bool, InterchangeError> {
    loop {
        buffer.clear();
        let mut limited = Read::take(&mut *source, LINE_BYTES_MAX as u64 + 1);
        if limited.read_until(b'\n', buffer)? == 0 {
            return Ok(false);
        }
        *lines += 1;
        if buffer.len() > LINE_BYTES_MAX {
            return Err(InterchangeError::Line {
                line: *lines,
                reason: "the line is longer than lines may be",
            });
        }
        if !buffer.trim_ascii().is_empty() {
            return Ok(true);
        }
    }
}

impl JsonReader {
    /// Begins to read.
    pub fn new(source: Box<dyn BufRead + Send>, schema: Arc<Schema>) -> Self {
        JsonReader {
            source,
            said: vec![0; schema.columns.len()],
            schema,
            buffer: Vec::new(),
            lines: 0,
            bytes: 0,
            order: Vec::new(),
        }
    }

    /// Adds a row, or what is none; whether there was one.
    pub fn read(&mut self, batch: &mut Batch) -> Result<bool, InterchangeError> {
        if !read_line(&mut self.source, &mut self.buffer, &mut self.lines)? {
            return Ok(false);
        }
        self.bytes += self.buffer.len() as u64;
        batch.position = self.bytes;
        let mut bad = None;
        let row = Row {
            schema: &self.schema,
            line: self.lines,
            order: &mut self.order,
            said: &mut self.said,
            batch,
            bad: &mut bad,
        };
        let mut json = serde_json::Deserializer::from_slice(&self.buffer);
        let read = (&mut json).deserialize_map(row).and_then(|()| json.end());
        let place = Place::Line(self.lines);
        match (bad, read) {
            (Some((column, reason)), _) => batch.end_bad_row(BadRow {
                place,
                column: Some(column),
                reason,
            }),
            (None, Err(error)) => batch.end_bad_row(BadRow {
                place,
                column: None,
                reason: format!("no JSON object: {error}"),
            }),
            (None, Ok(())) => batch.end_row(place),
        }
        Ok(true)
    }
}

/// Reads an object as a row.
struct Row<'r> {
    schema: &'r Schema,
    line: u64,
    order: &'r mut Vec<usize>,
    said: &'r mut [u64],
    batch: &'r mut Batch,
    /// The column that a value does not fit, and why: what ends the reading.
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
            let name = Name {
                schema: self.schema,
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
            let column = &self.schema.columns[number];
            if std::mem::replace(&mut self.said[number], self.line) == self.line {
                *self.bad = Some((column.name.clone(), "the object has it twice".to_string()));
                return Err(A::Error::custom("a column twice"));
            }
            match self.order.get_mut(place) {
                Some(guess) => *guess = number,
                None => self.order.push(number),
            }
            place += 1;
            map.next_value_seed(OneValue {
                column,
                number,
                batch: self.batch,
                bad: self.bad,
            })?;
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

/// Reads a value of a column.
struct OneValue<'r> {
    column: &'r Column,
    number: usize,
    batch: &'r mut Batch,
    bad: &'r mut Option<(String, String)>,
}

impl OneValue<'_> {
    fn push<E>(self, value: ValueRef<'_>) -> Result<(), E> {
        self.batch.push(self.number, value);
        Ok(())
    }

    fn bad<E: serde::de::Error>(self, reason: String) -> Result<(), E> {
        *self.bad = Some((self.column.name.clone(), reason));
        Err(E::custom("a value that does not fit"))
    }

    /// What is of no use for the column's type.
    fn unfit<E: serde::de::Error>(self, what: &str) -> Result<(), E> {
        let reason = format!("not a value of type {}: {what}", self.column.kind);
        self.bad(reason)
    }

    /// What the text says.
    fn parse<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match parse_value(text, self.column.kind) {
            Ok(value) => self.push(value.as_ref()),
            Err(error) => self.bad(error.to_string()),
        }
    }

    fn integer<E: serde::de::Error>(self, number: i128) -> Result<(), E> {
        match (self.column.kind, self.column.kind.integer_range()) {
            (_, Some((low, high))) if (low..=high).contains(&number) => {
                self.push(ValueRef::Int(number))
            }
            // As JSON's floats, not as integers that have to be floats without loss.
            (Type::F32 | Type::F64, _) => self.push(ValueRef::Float(number as f64)),
            _ => self.number(&number.to_string()),
        }
    }

    /// A number for a column of no float, nor of integers that it is one of.
    fn number<E: serde::de::Error>(self, digits: &str) -> Result<(), E> {
        let kind = self.column.kind;
        match kind.integer_range().is_some() || matches!(kind, Type::U128 | Type::Decimal { .. }) {
            true => self.parse(digits),
            false => self.unfit("a number"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for OneValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {}", self.column.kind)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.push(ValueRef::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        match self.column.kind {
            Type::Bool => self.push(ValueRef::Bool(value)),
            _ => self.unfit("true or false"),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<(), E> {
        self.integer(number.into())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        self.integer(number.into())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<(), E> {
        match self.column.kind {
            Type::F32 | Type::F64 => self.push(ValueRef::Float(number)),
            _ => self.number(&number.to_string()),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match self.column.kind {
            Type::Text => self.push(ValueRef::Text(text)),
            Type::Bytes | Type::Plain { .. } => match STANDARD.decode(text) {
                Ok(bytes) => self.push(ValueRef::Bytes(&bytes)),
                Err(error) => self.unfit(&format!("no base64: {error}")),
            },
            Type::Bool => self.unfit(&format!("the text {text:?}")),
            _ => self.parse(text),
        }
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.unfit("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.unfit("an object")
    }
}

/// An object's members in their order.
pub(crate) struct Members(pub Vec<(String, Json)>);

impl<'de> serde::Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
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

/// Writes what [`value_to_json`] gives, and makes no text of its own of what is one, or has no quotes in it.
pub(crate) fn write_json(sink: &mut impl Write, value: ValueRef<'_>) -> io::Result<()> {
    match value {
        ValueRef::Text(text) => Ok(serde_json::to_writer(sink, text)?),
        ValueRef::Decimal(..) | ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::Timestamp(_) => {
            write!(sink, "\"{value}\"")
        }
        other => Ok(serde_json::to_writer(sink, &value_to_json(other))?),
    }
}
