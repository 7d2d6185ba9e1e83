//! Arrays as far as PostgreSQL's clients need them to ask the catalogue: values are texts in PostgreSQL's form (`{a,b}`, or
//! `1 2` for `int2vector`), read and written here. No column of a table has them.
//!
//! Source: PostgreSQL's documentation, 8.15.6 (array input and output syntax).

use super::{Datum, Environment};
use crate::error::SqlError;
use crate::text::{decode_text, text_of};
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};

/// The elements of an array's text; `None` for a null.
pub(crate) fn elements(text: &str) -> Vec<Option<String>> {
    let Some(inner) = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'))
    else {
        return text
            .split_whitespace()
            .map(|word| Some(word.to_string()))
            .collect();
    };
    let mut found = Vec::new();
    let mut characters = inner.chars().peekable();
    while characters.peek().is_some() {
        let (mut element, mut is_quoted, mut inside) = (String::new(), false, false);
        while let Some(character) = characters.next() {
            match character {
                '"' => {
                    inside = !inside;
                    is_quoted = true;
                }
                '\\' => element.extend(characters.next()),
                ',' if !inside => {
                    if characters.peek().is_none() {
                        found.push(Some(element.clone()));
                        element.clear();
                    }
                    break;
                }
                other => element.push(other),
            }
        }
        let is_null = !is_quoted && element.eq_ignore_ascii_case("null");
        found.push((!is_null).then_some(element));
    }
    found
}

/// An array's text.
pub(crate) fn written(elements: impl Iterator<Item = Option<String>>) -> String {
    let plain = |text: &str| {
        let is_special = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ',' | '"' | '\\');
        !text.is_empty() && !text.eq_ignore_ascii_case("null") && !text.contains(is_special)
    };
    let elements = elements.map(|element| match element {
        None => "NULL".to_string(),
        Some(text) if plain(&text) => text,
        Some(text) => {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{text}\"")
        }
    });
    format!("{{{}}}", elements.collect::<Vec<_>>().join(","))
}

/// An array of values of a type.
pub(crate) fn array_of<'v>(kind: SqlType, values: impl Iterator<Item = ValueRef<'v>>) -> Value {
    Value::Text(written(values.map(|value| text_of(kind, value))))
}

/// A vector of values of a type: `1 2`.
pub(crate) fn vector_of<'v>(kind: SqlType, values: impl Iterator<Item = ValueRef<'v>>) -> Value {
    let texts: Vec<String> = values.filter_map(|value| text_of(kind, value)).collect();
    Value::Text(texts.join(" "))
}

/// The elements of an array as values of their type.
///
/// # Errors
/// `22P02` if one is none.
pub(crate) fn values(text: &str, kind: SqlType) -> Result<Vec<Value>, SqlError> {
    let elements = elements(text).into_iter();
    elements
        .map(|element| match element {
            Some(text) => decode_text(kind, &text),
            None => Ok(Value::Null),
        })
        .collect()
}

/// The elements with a separator between them; nulls are left out, or written as something else.
pub(super) fn joined(array: &str, separator: &str, null: Option<&str>) -> Value {
    let elements = elements(array).into_iter();
    let shown = elements.filter_map(|element| element.or_else(|| null.map(String::from)));
    Value::Text(shown.collect::<Vec<_>>().join(separator))
}

/// The first number that an array's elements have: those of vectors begin with 0.
fn first_number(array: &str) -> i64 {
    i64::from(array.starts_with('{'))
}

/// The numbers of an array's elements, as an array.
pub(super) fn subscripts(array: &str) -> Value {
    let first = first_number(array);
    let numbers = (first..).take(elements(array).len());
    Value::Text(written(numbers.map(|number| Some(number.to_string()))))
}

/// The numbers of an array's elements from 1, as an array.
pub(super) fn ordinals(array: &str) -> Value {
    let numbers = (1_usize..).take(elements(array).len());
    Value::Text(written(numbers.map(|number| Some(number.to_string()))))
}

/// The number of an array's last element; null if it has none.
pub(super) fn last_number(array: &str) -> Value {
    match elements(array).len() as i64 {
        0 => Value::Null,
        count => Value::Int((first_number(array) + count - 1).into()),
    }
}

/// The element of a number, as a value of its type; null if there is none.
///
/// # Errors
/// Those of [`values`].
pub(super) fn element_at(array: &str, number: i64, kind: SqlType) -> Result<Value, SqlError> {
    let place = usize::try_from(number - first_number(array));
    let element = place
        .ok()
        .and_then(|place| elements(array).into_iter().nth(place));
    match element.flatten() {
        Some(text) => decode_text(kind, &text),
        None => Ok(Value::Null),
    }
}

/// An object of JSON: names and values in turn.
pub(super) fn json_object(values: &[Datum<'_>], _: &Environment<'_>) -> Value {
    let mut object = serde_json::Map::new();
    for pair in values.chunks(2) {
        let [name, value] = pair else { break };
        let name = text_of(SqlType::Text, name.as_ref()).unwrap_or_default();
        let value = match value.as_ref() {
            ValueRef::Null => serde_json::Value::Null,
            ValueRef::Bool(value) => value.into(),
            ValueRef::Int(value) => match i64::try_from(value) {
                Ok(value) => value.into(),
                Err(_) => value.to_string().into(),
            },
            other => text_of(SqlType::Text, other).unwrap_or_default().into(),
        };
        object.insert(name, value);
    }
    Value::Text(serde_json::Value::Object(object).to_string())
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
    }
}
