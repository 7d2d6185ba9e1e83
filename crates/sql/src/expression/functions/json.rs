//! Functions that build JSON.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::values::json::{push_name, push_value};
use crate::values::json_tree::Json;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    array_to_json(ARRAY) -> JSON, |a, _| to_json(a), "array as JSON", typed;
    array_to_json(ARRAY, BOOL) -> JSON, |a, _| Ok(match (to_json(a)?, a.is_true(2)) { (Value::Text(json), true) => Value::Text(in_lines(&json)), (json, _) => json }), "array as JSON; with `true` an element a line", typed;
    json_build_array() -> JSON, |_, _| text("[]"), "array of the arguments";
    json_build_array(ANY) -> JSON, |a, _| array(a), "array of the arguments", variadic, on_null;
    json_build_object() -> JSON, |_, _| text("{}"), "object of names and values in turn";
    json_build_object(ANY) -> JSON, |a, _| object(a), "object of names and values in turn", variadic, on_null;
    jsonb_build_array() -> JSONB, |_, _| text("[]"), "array of the arguments";
    jsonb_build_array(ANY) -> JSONB, |a, _| in_one_form(array(a)), "array of the arguments", variadic, on_null;
    jsonb_build_object() -> JSONB, |_, _| text("{}"), "object of names and values in turn";
    jsonb_build_object(ANY) -> JSONB, |a, _| in_one_form(written(&fields(a, "jsonb_build_object")?, ":")), "object of names and values in turn", variadic, on_null;
    to_json(ELEMENT) -> JSON, |a, _| to_json(a), "value as JSON";
    to_jsonb(ELEMENT) -> JSONB, |a, _| in_one_form(to_json(a)), "value as `jsonb`";
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
    |a, _| {
        let (moment, era) = match a.text(0).strip_suffix(" BC") {
            Some(moment) => (moment, " BC"),
            None => (a.text(0), ""),
        };
        let mut shown = moment.replacen(' ', "T", 1);
        // The minutes of the distance from UTC are always written.
        let is_short = |at: usize| shown.as_bytes().get(at).is_some_and(|c| b"+-".contains(c));
        if shown.len().checked_sub(3).is_some_and(is_short) {
            shown.push_str(":00");
        }
        text(shown + era)
    },
    "",
);

fn to_json(a: Arguments<'_>) -> Answer {
    let mut out = String::new();
    push_value(a.kind(0), a.value(1), &mut out)?;
    text(out)
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

fn array(a: Arguments<'_>) -> Answer {
    let mut out = String::from("[");
    for (number, (kind, value)) in a.typed(0).enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        push_value(kind, value, &mut out)?;
    }
    out.push(']');
    text(out)
}

/// The names and values of an object, as JSON.
fn fields(a: Arguments<'_>, of: &str) -> Result<Vec<(String, String)>, SqlError> {
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
        push_value(pair[1].0, pair[1].1, &mut value)?;
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

fn object(a: Arguments<'_>) -> Answer {
    written(&fields(a, "json_build_object")?, " : ")
}

/// JSON as `jsonb` is written.
fn in_one_form(json: Answer) -> Answer {
    match json? {
        Value::Text(json) => Json::read(&json)?.value(),
        other => Ok(other),
    }
}
