//! JSON as a tree: `jsonb` is written, ordered and searched, and parts of `json` are found.
//!
//! Numbers are kept as their texts. Parts of `json` are given as they were written. `jsonb` is written anew: names are
//! sorted by length, then by bytes; the last of equal names counts; one blank follows each comma and colon.
//!
//! Source: PostgreSQL 15, `jsonb_util.c` and `jsonfuncs.c`.

use super::json_text::{DEPTH_MAX, check, check_escapes, push_text, too_deep};
use super::order_bytes::{push_bytes, push_decimal};
use crate::error::{SqlError, code};
use crate::text::decode_text;
use crate::types::SqlType;
use sardonyx::schema::Value;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::cmp::Ordering;
use std::fmt;

/// Checks if the statement has to end.
pub(crate) type Look<'l> = &'l dyn Fn() -> Result<(), SqlError>;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    /// The fields in the order of `jsonb`, each name once.
    Object(Vec<(String, Json)>),
}

/// The fields of an object in their original form.
pub(crate) struct Fields<'t>(pub Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Fields<'t> {
    fn deserialize<D: serde::Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'t> Visitor<'t> for Reader {
            type Value = Fields<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Fields<'t>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// The kind of a text of JSON, with its direct parts.
pub(crate) enum Level<'t> {
    Object(Vec<(String, &'t RawValue)>),
    Array(Vec<&'t RawValue>),
    Scalar,
}

/// Reads the first level of a JSON text.
pub(crate) fn level(text: &str) -> Level<'_> {
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'{') => match serde_json::from_str::<Fields<'_>>(text) {
            Ok(Fields(fields)) => Level::Object(fields),
            Err(_) => Level::Scalar,
        },
        Some(b'[') => serde_json::from_str(text).map_or(Level::Scalar, Level::Array),
        _ => Level::Scalar,
    }
}

/// The text of a scalar without its quotes; `None` for null.
///
/// # Errors
/// `22P02` and `22P05` for an escape that is no character of a text.
pub(crate) fn plain(text: &str) -> Result<Option<String>, SqlError> {
    let text = text.trim_ascii();
    Ok(match text.as_bytes().first() {
        Some(b'"') => {
            check_escapes(text)?;
            serde_json::from_str(text).ok()
        }
        Some(b'n') => None,
        _ => Some(text.to_string()),
    })
}

/// Reads a text in one pass. It does not find all errors of an invalid text.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// Takes a character behind blanks, if it is the next one.
    fn takes(&mut self, character: char) -> bool {
        let rest = self.rest.trim_ascii_start();
        let behind = rest.strip_prefix(character);
        self.rest = behind.unwrap_or(rest);
        behind.is_some()
    }

    /// Takes the given number of bytes.
    fn take(&mut self, length: usize) -> Option<&'t str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// The text whose opening quote is the next character.
    fn text(&mut self) -> Option<String> {
        let bytes = self.rest.as_bytes();
        let mut end = 1;
        while *bytes.get(end)? != b'"' {
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        let quoted = self.take(end + 1)?;
        let between = quoted.get(1..end)?;
        if !between.contains('\\') {
            return Some(between.to_string());
        }
        // A string of `json` may have escapes that are no characters.
        let read = serde_json::from_str(quoted);
        Some(read.unwrap_or_else(|_| between.to_string()))
    }

    /// The next value, at a depth in others; `None` if it is invalid.
    fn value(&mut self, depth: usize) -> Result<Option<Json>, SqlError> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.rest = self.rest.trim_ascii_start();
        Ok(match self.rest.as_bytes().first() {
            Some(b'"') => self.text().map(Json::Text),
            Some(b'[') => return self.items(depth),
            Some(b'{') => return self.fields(depth),
            Some(b't') => self.take(4).map(|_| Json::Bool(true)),
            Some(b'f') => self.take(5).map(|_| Json::Bool(false)),
            Some(b'n') => self.take(4).map(|_| Json::Null),
            Some(_) => {
                let is_behind = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
                let end = self.rest.find(is_behind).unwrap_or(self.rest.len());
                let number = self.take(end).filter(|number| !number.is_empty());
                number.map(|number| Json::Number(number.to_string()))
            }
            None => None,
        })
    }

    fn items(&mut self, depth: usize) -> Result<Option<Json>, SqlError> {
        let mut items = Vec::new();
        self.takes('[');
        while !self.takes(']') {
            if !items.is_empty() && !self.takes(',') {
                return Ok(None);
            }
            match self.value(depth + 1)? {
                Some(item) => items.push(item),
                None => return Ok(None),
            }
        }
        Ok(Some(Json::Array(items)))
    }

    fn fields(&mut self, depth: usize) -> Result<Option<Json>, SqlError> {
        let mut fields = Vec::new();
        self.takes('{');
        while !self.takes('}') {
            if !fields.is_empty() && !self.takes(',') {
                return Ok(None);
            }
            self.rest = self.rest.trim_ascii_start();
            let name = match self.rest.starts_with('"') {
                true => self.text(),
                false => None,
            };
            let Some(name) = name.filter(|_| self.takes(':')) else {
                return Ok(None);
            };
            match self.value(depth + 1)? {
                Some(value) => fields.push((name, value)),
                None => return Ok(None),
            }
        }
        Ok(Some(Json::object(fields.into_iter())))
    }
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    /// `22P02` if it is no JSON; `22P05` for the character zero; `54001` if it is nested too deep.
    pub fn read(text: &str) -> Result<Json, SqlError> {
        check(text)?;
        check_escapes(text)?;
        let json = Json::known(text)?;
        json.check_numbers()?;
        Ok(json)
    }

    /// Reads a JSON text. An invalid one, which a program may have stored, is a number with this text.
    ///
    /// # Errors
    /// `54001` if it is nested too deep.
    pub fn known(text: &str) -> Result<Json, SqlError> {
        let mut reader = Reader { rest: text };
        let read = reader.value(0)?;
        let read = read.filter(|_| reader.rest.trim_ascii().is_empty());
        Ok(read.unwrap_or_else(|| Json::Number(text.trim_ascii().to_string())))
    }

    /// An object of fields: the last one of a name counts.
    pub fn object(fields: impl Iterator<Item = (String, Json)>) -> Json {
        let mut kept: Vec<(String, Json)> = fields.collect();
        kept.sort_by(|(a, _), (b, _)| order(a, b));
        let mut once: Vec<(String, Json)> = Vec::with_capacity(kept.len());
        for field in kept {
            match once.last_mut() {
                Some(last) if last.0 == field.0 => *last = field,
                _ => once.push(field),
            }
        }
        Json::Object(once)
    }

    /// Checks that numbers fit into `numeric`.
    fn check_numbers(&self) -> Result<(), SqlError> {
        match self {
            Json::Number(number) => decode_text(SqlType::Numeric, number).map(drop),
            Json::Array(items) => items.iter().try_for_each(Json::check_numbers),
            Json::Object(fields) => fields
                .iter()
                .try_for_each(|(_, value)| value.check_numbers()),
            _ => Ok(()),
        }
    }

    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::Text(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Appends it in the form of `jsonb`.
    pub fn push(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(number) => match decode_text(SqlType::Numeric, number) {
                Ok(value) => crate::text::encode_text(SqlType::Numeric, &value.as_ref(), out),
                Err(_) => out.push_str(number),
            },
            Json::Text(text) => push_text(text, out),
            Json::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    item.push(out);
                }
                out.push(']');
            }
            Json::Object(fields) => {
                out.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    push_text(name, out);
                    out.push_str(": ");
                    value.push(out);
                }
                out.push('}');
            }
        }
    }

    /// Appends it with a line for each part.
    pub fn push_pretty(&self, depth: usize, out: &mut String) {
        let line = |depth: usize, out: &mut String| {
            out.push('\n');
            out.extend(std::iter::repeat_n("    ", depth));
        };
        match self {
            Json::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(depth + 1, out);
                    item.push_pretty(depth + 1, out);
                }
                line(depth, out);
                out.push(']');
            }
            Json::Object(fields) => {
                out.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(depth + 1, out);
                    push_text(name, out);
                    out.push_str(": ");
                    value.push_pretty(depth + 1, out);
                }
                line(depth, out);
                out.push('}');
            }
            other => other.push(out),
        }
    }

    /// The depth of nested arrays and objects.
    fn depth(&self) -> usize {
        match self {
            Json::Array(items) => 1 + items.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(fields) => {
                1 + fields
                    .iter()
                    .map(|(_, part)| part.depth())
                    .max()
                    .unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// The value for an expression.
    ///
    /// # Errors
    /// `54001` if it is nested too deep, which one can be that was made of others.
    pub fn value(&self) -> Result<Value, SqlError> {
        if self.depth() > DEPTH_MAX {
            return Err(too_deep());
        }
        let mut text = String::new();
        self.push(&mut text);
        Ok(Value::Text(text))
    }

    /// True if it contains another one, as `@>` does. `look` is called for each comparison. Each element of one array
    /// is compared with each of the other.
    ///
    /// # Errors
    /// The error of `look`.
    pub fn contains(&self, other: &Json, look: Look<'_>) -> Result<bool, SqlError> {
        match (self, other) {
            // An array contains a scalar that is one of its elements.
            (Json::Array(items), other) if other.is_scalar() => has_one(items, other, look),
            _ => self.has(other, look),
        }
    }

    fn has(&self, other: &Json, look: Look<'_>) -> Result<bool, SqlError> {
        look()?;
        match (self, other) {
            (Json::Array(items), Json::Array(others)) => {
                for other in others {
                    if !has_one(items, other, look)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Json::Object(fields), Json::Object(others)) => {
                for (name, other) in others {
                    let found = fields.binary_search_by(|(known, _)| order(known, name));
                    let has = found.map(|at| fields[at].1.has(other, look));
                    if !has.unwrap_or(Ok(false))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (one, other) => Ok(one.is_scalar() && one.is_same(other)),
        }
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    fn is_same(&self, other: &Json) -> bool {
        self.key() == other.key()
    }

    /// True if it has a name, as an object, or a text, as an array or a scalar.
    pub fn has_name(&self, name: &str) -> bool {
        match self {
            Json::Object(fields) => fields.iter().any(|(known, _)| known == name),
            Json::Array(items) => {
                let is_it = |item: &Json| matches!(item, Json::Text(text) if text == name);
                items.iter().any(is_it)
            }
            Json::Text(text) => text == name,
            _ => false,
        }
    }

    /// Bytes by which values are compared.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        match self {
            // It is the least of all.
            Json::Array(items) if items.is_empty() => key.push(0),
            other => other.push_key(&mut key),
        }
        key
    }

    fn push_key(&self, key: &mut Vec<u8>) {
        match self {
            Json::Null => key.push(1),
            Json::Text(text) => {
                key.push(2);
                push_bytes(text.as_bytes(), key);
            }
            Json::Number(number) => {
                key.push(3);
                if let Ok(Value::Decimal(units, scale)) = decode_text(SqlType::Numeric, number) {
                    push_decimal(units, scale, key);
                }
            }
            Json::Bool(value) => key.extend([4, (*value).into()]),
            Json::Array(items) => {
                key.push(5);
                key.extend((items.len() as u64).to_be_bytes());
                items.iter().for_each(|item| item.push_key(key));
            }
            Json::Object(fields) => {
                key.push(6);
                key.extend((fields.len() as u64).to_be_bytes());
                for (name, value) in fields {
                    // Names are in the order of their lengths, but are compared as texts.
                    push_bytes(name.as_bytes(), key);
                    value.push_key(key);
                }
            }
        }
    }
}

/// The order of an object's names.
fn order(one: &str, other: &str) -> Ordering {
    let by_length = one.len().cmp(&other.len());
    by_length.then_with(|| one.cmp(other))
}

/// True if one of the elements has the value.
fn has_one(items: &[Json], other: &Json, look: Look<'_>) -> Result<bool, SqlError> {
    for item in items {
        if item.has(other, look)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The place of an element's number, which counts from the end if it is negative.
pub(crate) fn place(length: usize, number: i64) -> Option<usize> {
    let at = match number < 0 {
        true => (length as i64).checked_add(number)?,
        false => number,
    };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// The error of an operation that a value does not support.
pub(crate) fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}
