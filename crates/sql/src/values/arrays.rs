//! Arrays: values are texts in PostgreSQL's form (`{a,b}`, or `1 2` for `int2vector`), read and written here. Columns
//! of tables store these texts.
//!
//! Invariant: the text of an array is the one that PostgreSQL writes for it, with its elements in the text of their
//! type. So equal arrays have equal texts. Arrays of records are the exception: their texts have the records' bytes.
//!
//! Source: PostgreSQL's documentation, 8.15 and 9.19.

mod functions;
pub(crate) mod order;
mod reading;

pub(crate) use functions::{accumulated, made};
pub(crate) use functions::{
    appended, bound_at, concatenated, dimensions, element_at, filled, length_at, ordinals,
    position, positions, prepended, removed, replaced, slice, split, subscripts, subscripts_back,
};
pub(crate) use order::order_key;
pub(crate) use reading::{DIMENSIONS_MAX, too_many_dimensions};

use super::Comparison;
use super::records;
use super::zones::SessionZone;
use crate::error::{SqlError, code};
use crate::text::{decode_text, decode_text_in, encode_text_in, text_of};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::compare;

/// An array that was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Array {
    /// For each dimension the number of its first element, and its length.
    pub bounds: Vec<(i64, usize)>,
    /// Row by row; `None` for a null.
    pub elements: Vec<Option<String>>,
}

impl Array {
    /// An array of one dimension.
    pub fn of(elements: Vec<Option<String>>) -> Array {
        let bounds = match elements.len() {
            0 => Vec::new(),
            length => vec![(1, length)],
        };
        Array { bounds, elements }
    }

    /// The array of a text in our own form, or of a vector.
    pub fn known(text: &str) -> Array {
        match text.starts_with(['{', '[']) {
            true => Array::read(text).unwrap_or_default(),
            false => {
                let words = text.split_whitespace();
                let mut array = Array::of(words.map(|word| Some(word.to_string())).collect());
                array.bounds.iter_mut().for_each(|(first, _)| *first = 0);
                array
            }
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.bounds.iter().any(|(first, _)| *first != 1) {
            for (first, length) in &self.bounds {
                text += &format!("[{first}:{}]", first + *length as i64 - 1);
            }
            text.push('=');
        }
        if self.bounds.is_empty() {
            text += "{}";
        }
        for (at, element) in self.elements.iter().enumerate() {
            // Braces and commas precede an element that is the first of its row, its plane and so on.
            let mut size = 1;
            let mut opened = 0;
            for (_, length) in self.bounds.iter().rev() {
                size *= *length;
                opened += usize::from(at.is_multiple_of(size));
            }
            if at > 0 {
                text += &"}".repeat(opened);
                text.push(',');
            }
            text += &"{".repeat(opened);
            push_element(element.as_deref(), &mut text);
        }
        text + &"}".repeat(self.bounds.len())
    }

    fn value(&self) -> Value {
        Value::Text(self.text())
    }
}

fn push_element(element: Option<&str>, text: &mut String) {
    let is_special = |c: char| reading::is_blank(c) || matches!(c, '{' | '}' | ',' | '"' | '\\');
    match element {
        None => text.push_str("NULL"),
        Some(element)
            if element.is_empty()
                || element.eq_ignore_ascii_case("null")
                || element.contains(is_special) =>
        {
            text.push('"');
            for character in element.chars() {
                if matches!(character, '"' | '\\') {
                    text.push('\\');
                }
                text.push(character);
            }
            text.push('"');
        }
        Some(element) => text.push_str(element),
    }
}

/// The text of a value as an element of an array; `None` for a null.
pub(crate) fn element_text(kind: SqlType, value: ValueRef<'_>) -> Option<String> {
    match (kind, value) {
        (SqlType::Record, ValueRef::Bytes(record)) => Some(records::element_text(record)),
        _ => text_of(kind, value),
    }
}

/// The value of an element.
///
/// # Errors
/// `22P02` if it is none of the type.
pub(crate) fn element_value(kind: SqlType, text: &str) -> Result<Value, SqlError> {
    match kind {
        SqlType::Record => records::of_element(text).map(Value::Bytes),
        _ => decode_text(kind, text),
    }
}

/// The type of arrays of values of a type, and of arrays of those.
pub(crate) fn array_kind(kind: SqlType) -> SqlType {
    match kind.element() {
        Some(_) => kind,
        None => kind.array(),
    }
}

/// The elements of an array's text, row by row; `None` for a null.
pub(crate) fn elements(text: &str) -> Vec<Option<String>> {
    Array::known(text).elements
}

/// The text of an array of one dimension.
pub(crate) fn written(elements: impl Iterator<Item = Option<String>>) -> String {
    Array::of(elements.collect()).text()
}

pub(crate) fn array_of<'v>(kind: SqlType, values: impl Iterator<Item = ValueRef<'v>>) -> Value {
    Value::Text(written(values.map(|value| element_text(kind, value))))
}

/// A vector of values of a type: `1 2`.
pub(crate) fn vector_of<'v>(kind: SqlType, values: impl Iterator<Item = ValueRef<'v>>) -> Value {
    let texts: Vec<String> = values.filter_map(|value| text_of(kind, value)).collect();
    Value::Text(texts.join(" "))
}

/// An array, in its own form, as a vector.
///
/// # Errors
/// `22023` for an array that has nulls, or several dimensions.
pub(crate) fn as_vector(text: &str) -> Result<Value, SqlError> {
    let Array { bounds, elements } = Array::known(text);
    let texts: Option<Vec<String>> = elements.into_iter().collect();
    match texts {
        Some(texts) if bounds.len() < 2 => Ok(Value::Text(texts.join(" "))),
        _ => Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            "a vector has one dimension, and no nulls",
        )),
    }
}

/// Reads an array of elements of a type.
///
/// # Errors
/// `22P02` if the text is none; those of an element.
pub(crate) fn decode(text: &str, kind: SqlType) -> Result<Value, SqlError> {
    let array = Array::read(text)?;
    // A `"char"` keeps the first character only.
    let is_kept = kind.is_text() && kind != SqlType::OneChar;
    of_elements(array, |element| match is_kept {
        true => Ok(Some(element.to_string())),
        false => Ok(text_of(kind, decode_text(kind, element)?.as_ref())),
    })
}

/// Reads an array of days or moments in a session's time zone.
///
/// # Errors
/// As [`decode`].
pub(crate) fn decode_in(
    text: &str,
    kind: SqlType,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    of_elements(Array::read(text)?, |element| {
        Ok(text_of(kind, decode_text_in(kind, element, zone)?.as_ref()))
    })
}

/// An array of moments, or of ranges of them, for output in a session's time zone.
pub(crate) fn encoded_in(text: &str, kind: SqlType, zone: Option<&SessionZone>) -> String {
    let shown = of_elements(Array::known(text), |element| {
        let mut shown = String::new();
        encode_text_in(
            kind,
            &element_value(kind, element)?.as_ref(),
            zone,
            &mut shown,
        );
        Ok(Some(shown))
    });
    match shown {
        Ok(Value::Text(shown)) => shown,
        _ => text.to_string(),
    }
}

/// An array with its elements cast to another type.
///
/// # Errors
/// As [`super::cast::cast`].
pub(crate) fn cast(
    text: &str,
    from: SqlType,
    to: TypeSpec,
    explicit: bool,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    of_elements(Array::known(text), |element| {
        let value = element_value(from, element)?;
        let value = super::cast::cast_in(value.as_ref(), from, to, explicit, zone)?;
        Ok(element_text(to.kind, value.as_ref()))
    })
}

fn of_elements(
    mut array: Array,
    of: impl Fn(&str) -> Result<Option<String>, SqlError>,
) -> Result<Value, SqlError> {
    for element in &mut array.elements {
        if let Some(text) = element {
            *element = of(text)?;
        }
    }
    Ok(array.value())
}

/// The elements of an array as values of their type.
///
/// # Errors
/// `22P02` if one is none.
pub(crate) fn values(text: &str, kind: SqlType) -> Result<Vec<Value>, SqlError> {
    let elements = elements(text).into_iter();
    elements
        .map(|element| match element {
            Some(text) => element_value(kind, &text),
            None => Ok(Value::Null),
        })
        .collect()
}

/// The elements as values for comparisons.
///
/// # Errors
/// As [`values`]; `54001` for JSON that is nested too deep.
pub(crate) fn keys(text: &str, kind: SqlType) -> Result<Vec<Value>, SqlError> {
    let values = values(text, kind)?.into_iter();
    values.map(|value| compared_as(value, kind)).collect()
}

/// A value as expressions compare it.
///
/// # Errors
/// `54001` for JSON that is nested too deep.
pub(crate) fn compared_as(value: Value, kind: SqlType) -> Result<Value, SqlError> {
    let own = order::order_key_of(kind, value.as_ref())?;
    Ok(own.unwrap_or(value))
}

/// A comparison of a value with the elements of an array: with any of them, or with all.
pub(crate) struct Against {
    pub comparison: Comparison,
    pub is_all: bool,
}

impl Against {
    /// True if it holds; null if that is unknown.
    ///
    /// # Errors
    /// As [`keys`].
    pub fn truth(
        &self,
        value: ValueRef<'_>,
        array: &str,
        kind: SqlType,
    ) -> Result<Value, SqlError> {
        let mut found = Value::Bool(self.is_all);
        for element in keys(array, kind)? {
            match compare(value, element.as_ref()) {
                Some(order) if self.comparison.accepts(order) != self.is_all => {
                    return Ok(Value::Bool(!self.is_all));
                }
                Some(_) => {}
                None => found = Value::Null,
            }
        }
        Ok(found)
    }
}

/// The elements with a separator between them. Nulls are left out, or replaced.
pub(crate) fn joined(array: &str, separator: &str, null: Option<&str>) -> Value {
    let elements = elements(array).into_iter();
    let shown = elements.filter_map(|element| element.or_else(|| null.map(String::from)));
    Value::Text(shown.collect::<Vec<_>>().join(separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let cases: [&[Option<&str>]; 4] = [
            &[],
            &[Some("a"), None, Some("")],
            &[Some("a,b"), Some("\"\\ {x}"), Some("null")],
            &[Some("")],
        ];
        for case in cases {
            let owned = case.iter().map(|element| element.map(String::from));
            let owned: Vec<_> = owned.collect();
            assert_eq!(elements(&written(owned.iter().cloned())), owned);
        }
        assert_eq!(elements("1 22"), [Some("1".into()), Some("22".into())]);
        for text in [
            "{{a,b},{c,NULL}}",
            "[0:1]={1,2}",
            "[-1:0][1:1]={{x},{y}}",
            "{{{1}}}",
        ] {
            assert_eq!(Array::known(text).text(), text);
        }
    }
}
