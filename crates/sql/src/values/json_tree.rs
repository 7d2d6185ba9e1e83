//! JSON as a tree: how `jsonb` is written, ordered and searched, and parts of `json` are found.
//!
//! Numbers stand as their texts. Of `json`, parts are given as they were written; `jsonb` is written anew: names by their
//! length, then their bytes, the last of several with one name, one blank behind each comma and colon.
//!
//! Source: PostgreSQL 15, `jsonb_util.c` and `jsonfuncs.c`.

use super::arrays::order::{push_bytes, push_decimal};
use super::json::{check, push_text};
use crate::error::{SqlError, code};
use crate::text::decode_text;
use crate::types::SqlType;
use sardonyx::schema::Value;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    /// In the order of `jsonb`, each name once.
    Object(Vec<(String, Json)>),
}

/// The fields of an object as they are written.
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

/// Looks at a text that is JSON.
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
pub(crate) fn plain(text: &str) -> Option<String> {
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).ok(),
        Some(b'n') => None,
        _ => Some(text.to_string()),
    }
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    /// `22P02` if it is no JSON.
    pub fn read(text: &str) -> Result<Json, SqlError> {
        check(text)?;
        let json = Json::known(text);
        json.check_numbers()?;
        Ok(json)
    }

    /// Reads a text that is JSON.
    pub fn known(text: &str) -> Json {
        let text = text.trim_ascii();
        match level(text) {
            Level::Object(fields) => {
                let fields = fields.into_iter();
                Json::object(fields.map(|(name, value)| (name, Json::known(value.get()))))
            }
            Level::Array(items) => {
                Json::Array(items.iter().map(|item| Json::known(item.get())).collect())
            }
            Level::Scalar => match (text.as_bytes().first(), plain(text)) {
                (Some(b'"'), Some(text)) => Json::Text(text),
                (Some(b't'), _) => Json::Bool(true),
                (Some(b'f'), _) => Json::Bool(false),
                (_, Some(number)) => Json::Number(number),
                (_, None) => Json::Null,
            },
        }
    }

    /// An object of fields, of which the last of a name counts.
    pub fn object(fields: impl Iterator<Item = (String, Json)>) -> Json {
        let mut kept: Vec<(String, Json)> = fields.collect();
        kept.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        let mut once: Vec<(String, Json)> = Vec::with_capacity(kept.len());
        for field in kept {
            match once.last_mut() {
                Some(last) if last.0 == field.0 => *last = field,
                _ => once.push(field),
            }
        }
        Json::Object(once)
    }

    /// Writes numbers as `numeric` does.
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

    /// Appends it as `jsonb` is written.
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

    /// The value that an expression has.
    pub fn value(&self) -> Value {
        let mut text = String::new();
        self.push(&mut text);
        Value::Text(text)
    }

    /// True if it contains another one, as `@>` does.
    pub fn contains(&self, other: &Json) -> bool {
        match (self, other) {
            // An array has a scalar of its elements.
            (Json::Array(items), Json::Array(others)) => others
                .iter()
                .all(|other| items.iter().any(|item| item.has(other))),
            (Json::Array(items), other) if other.is_scalar() => {
                items.iter().any(|item| item.is_same(other))
            }
            _ => self.has(other),
        }
    }

    fn has(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Array(items), Json::Array(others)) => others
                .iter()
                .all(|other| items.iter().any(|item| item.has(other))),
            (Json::Object(fields), Json::Object(others)) => others.iter().all(|(name, other)| {
                let mut fields = fields.iter();
                fields.any(|(known, value)| known == name && value.has(other))
            }),
            (one, other) => one.is_scalar() && one.is_same(other),
        }
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    fn is_same(&self, other: &Json) -> bool {
        self.key() == other.key()
    }

    /// True if it has a name, as an object, or a text, as an array or by itself.
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

    /// The part at a step: a name of an object, or a number of an array, from the end if it is negative.
    pub fn step_mut(&mut self, step: &str) -> Option<&mut Json> {
        match self {
            Json::Object(fields) => {
                let found = fields.iter_mut().find(|(name, _)| name == step);
                found.map(|(_, value)| value)
            }
            Json::Array(items) => {
                let at = place(items.len(), step.parse().ok()?)?;
                items.get_mut(at)
            }
            _ => None,
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
                    key.extend((name.len() as u64).to_be_bytes());
                    key.extend(name.as_bytes());
                    value.push_key(key);
                }
            }
        }
    }
}

/// The place of an element's number, which counts from the end if it is negative.
pub(crate) fn place(length: usize, number: i64) -> Option<usize> {
    let at = match number < 0 {
        true => (length as i64).checked_add(number)?,
        false => number,
    };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// That something cannot be done with a value.
pub(crate) fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}
