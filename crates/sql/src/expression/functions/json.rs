//! Functions that build JSON.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::types::SqlType;
use crate::values::arrays::Array;
use crate::values::json::{moment, push_name, push_value};
use crate::values::json_text::{check_escapes, push_text};
use crate::values::json_tree::Json;
use crate::values::zones::SessionZone;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    array_to_json(ARRAY) -> JSON, to_json, "array as JSON", typed;
    array_to_json(ARRAY, BOOL) -> JSON, |a, with| to_lines(a, 2, with), "array as JSON; with `true` an element a line", typed;
    json_build_array() -> JSON, |_, _| text("[]"), "array of the arguments";
    json_build_array(ANY) -> JSON, array, "array of the arguments", variadic, on_null;
    json_build_object() -> JSON, |_, _| text("{}"), "object of names and values in turn";
    json_build_object(ANY) -> JSON, object, "object of names and values in turn", variadic, on_null;
    json_object(TEXTS) -> JSON, |a, _| written(&paired(a)?, " : "), "object of names and values in turn, or of rows of a name and a value, in an array";
    json_object(TEXTS, TEXTS) -> JSON, |a, _| written(&paired(a)?, " : "), "object of an array of names and one of values";
    json_strip_nulls(JSON) -> JSON, |a, _| without_nulls(a.text(0)), "without fields that are null";
    jsonb_build_array() -> JSONB, |_, _| text("[]"), "array of the arguments";
    jsonb_build_array(ANY) -> JSONB, |a, with| in_one_form(array(a, with)), "array of the arguments", variadic, on_null;
    jsonb_build_object() -> JSONB, |_, _| text("{}"), "object of names and values in turn";
    jsonb_build_object(ANY) -> JSONB, |a, with| in_one_form(written(&fields(a, "jsonb_build_object", with)?, ":")), "object of names and values in turn", variadic, on_null;
    jsonb_object(TEXTS) -> JSONB, |a, _| in_one_form(written(&paired(a)?, ":")), "object of names and values in turn, or of rows of a name and a value, in an array";
    jsonb_object(TEXTS, TEXTS) -> JSONB, |a, _| in_one_form(written(&paired(a)?, ":")), "object of an array of names and one of values";
    row_to_json(RECORD) -> JSON, row_to_json, "row as an object", stable;
    row_to_json(RECORD, BOOL) -> JSON, row_to_json, "row as an object; with `true` a field a line", stable;
    to_json(ELEMENT) -> JSON, to_json, "value as JSON";
    to_jsonb(ELEMENT) -> JSONB, |a, with| in_one_form(to_json(a, with)), "value as `jsonb`";
};

/// A name of a field that is none: an array or a document.
pub(in crate::expression) static NOT_A_NAME: Definition = Definition::new(
    "json_not_a_name",
    &[TEXT],
    TEXT,
    |_, _| {
        Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            "key value must be scalar, not array, composite, or json",
        ))
    },
    "",
);

/// The text of a moment in JSON.
pub(in crate::expression) static JSON_MOMENT: Definition = Definition::new(
    "json_moment",
    &[TEXT],
    TEXT,
    |a, _| text(moment(a.text(0))),
    "",
);

fn to_json(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let mut out = String::new();
    push_value(a.kind(0), a.value(1), zone(with).as_ref(), &mut out)?;
    text(out)
}

/// The session's time zone, without which moments are in UTC.
fn zone(with: &Environment<'_>) -> Option<SessionZone> {
    with.context.zone()
}

/// JSON, an element a line if an argument says so.
fn to_lines(a: Arguments<'_>, at: usize, with: &Environment<'_>) -> Answer {
    Ok(match (to_json(a, with)?, a.is_true(at)) {
        (Value::Text(json), true) => Value::Text(in_lines(&json)),
        (json, _) => json,
    })
}

/// A record as JSON.
fn row_to_json(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let mut out = String::new();
    push_value(SqlType::Record, a.value(0), zone(with).as_ref(), &mut out)?;
    text(match a.is_true(1) {
        true => in_lines(&out),
        false => out,
    })
}

/// An array of JSON with a line for each element.
fn in_lines(json: &str) -> String {
    let (mut out, mut depth, mut is_quoted, mut is_escaped) = (String::new(), 0, false, false);
    for letter in json.chars() {
        out.push(letter);
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth == 1 => out.push_str("\n "),
            _ => {}
        }
    }
    out
}

fn array(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let zone = zone(with);
    let mut out = String::from("[");
    for (number, (kind, value)) in a.typed(0).enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        push_value(kind, value, zone.as_ref(), &mut out)?;
    }
    out.push(']');
    text(out)
}

/// The names and values of an object, as JSON.
fn fields(
    a: Arguments<'_>,
    of: &str,
    with: &Environment<'_>,
) -> Result<Vec<(String, String)>, SqlError> {
    let zone = zone(with);
    let parts: Vec<_> = a.typed(0).collect();
    if !parts.len().is_multiple_of(2) {
        let text = "argument list must have even number of elements";
        let error = SqlError::new(code::INVALID_PARAMETER_VALUE, text);
        return Err(error.hint(format!(
            "The arguments of {of}() must consist of alternating keys and values."
        )));
    }
    let mut fields = Vec::with_capacity(parts.len() / 2);
    for (number, pair) in parts.chunks_exact(2).enumerate() {
        let (mut name, mut value) = (String::new(), String::new());
        push_name(pair[0].0, pair[0].1, 2 * number + 1, &mut name)?;
        push_value(pair[1].0, pair[1].1, zone.as_ref(), &mut value)?;
        fields.push((name, value));
    }
    Ok(fields)
}

fn written(fields: &[(String, String)], between: &str) -> Answer {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{name}{between}{value}"));
    let fields: Vec<_> = fields.collect();
    text(format!("{{{}}}", fields.join(", ")))
}

/// The names and values of an object, as JSON, from one array of both or an array of each.
fn paired(a: Arguments<'_>) -> Result<Vec<(String, String)>, SqlError> {
    let wrong = |text: &str| SqlError::new("2202E", text);
    let names = Array::known(a.text(0));
    let pairs: Vec<_> = match a.given_text(1) {
        Some(values) => {
            let values = Array::known(values);
            if names.bounds.len() > 1 || names.bounds.len() != values.bounds.len() {
                return Err(wrong("wrong number of array subscripts"));
            }
            if names.elements.len() != values.elements.len() {
                return Err(wrong("mismatched array dimensions"));
            }
            names.elements.into_iter().zip(values.elements).collect()
        }
        None => {
            match names.bounds.as_slice() {
                [] => {}
                [(_, length)] if length % 2 == 0 => {}
                [_] => return Err(wrong("array must have even number of elements")),
                [_, (_, 2)] => {}
                [_, _] => return Err(wrong("array must have two columns")),
                _ => return Err(wrong("wrong number of array subscripts")),
            }
            let mut elements = names.elements.into_iter();
            std::iter::from_fn(|| elements.next().zip(elements.next())).collect()
        }
    };
    let quoted = |text: &str| {
        let mut out = String::new();
        push_text(text, &mut out);
        out
    };
    let pairs = pairs.into_iter().map(|(name, value)| {
        let null = || {
            SqlError::new(
                code::NULL_NOT_ALLOWED,
                "null value not allowed for object key",
            )
        };
        let name = quoted(&name.ok_or_else(null)?);
        Ok((name, value.map_or("null".into(), |value| quoted(&value))))
    });
    pairs.collect()
}

/// JSON as it was written, without fields that are null and without blanks. It is read once, whatever its depth.
fn without_nulls(json: &str) -> Answer {
    check_escapes(json)?;
    // Of each open array and object: true for an object.
    let mut open: Vec<bool> = Vec::new();
    let (mut out, mut rest) = (String::with_capacity(json.len()), json);
    // The begin of the last name in `out`.
    let (mut is_name, mut field) = (false, 0);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => quoted_length(rest),
            '{' | '[' | '}' | ']' | ',' | ':' => 1,
            ' ' | '\t' | '\n' | '\r' => {
                rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
                continue;
            }
            _ => rest
                .find(|c: char| " \t\n\r,]}".contains(c))
                .unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        match first {
            '}' | ']' => {
                open.pop();
                is_name = false;
                out.push(first);
                continue;
            }
            ',' => {
                is_name = open.last() == Some(&true);
                continue;
            }
            ':' => {
                is_name = false;
                out.push(':');
                continue;
            }
            _ => {}
        }
        if token == "null" && open.last() == Some(&true) {
            out.truncate(field);
            continue;
        }
        if is_name {
            field = out.len();
        }
        // Texts end with a quote, so that these are an array or an object that was just opened.
        if (is_name || open.last() == Some(&false)) && !out.ends_with(['[', '{']) {
            out.push(',');
        }
        match first {
            '{' | '[' => {
                open.push(first == '{');
                is_name = first == '{';
                out.push(first);
            }
            '"' => match serde_json::from_str::<String>(token) {
                Ok(plain) => push_text(&plain, &mut out),
                Err(_) => out.push_str(token),
            },
            _ => out.push_str(token),
        }
    }
    text(out)
}

/// The length of the text in quotes at the start.
fn quoted_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn object(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    written(&fields(a, "json_build_object", with)?, " : ")
}

/// JSON as `jsonb` is written.
fn in_one_form(json: Answer) -> Answer {
    match json? {
        Value::Text(json) => Json::read(&json)?.value(),
        other => Ok(other),
    }
}
