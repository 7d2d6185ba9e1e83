//! Functions that build JSON.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::values::json::{push_name, push_value};

pub(super) static TABLE: &[Definition] = functions! {
    array_to_json(ARRAY) -> JSON, |a, _| to_json(a), "array as JSON", typed;
    json_build_array() -> JSON, |_, _| text("[]"), "array of the arguments";
    json_build_array(ANY) -> JSON, |a, _| array(a), "array of the arguments", variadic, on_null;
    json_build_object() -> JSON, |_, _| text("{}"), "object of names and values in turn";
    json_build_object(ANY) -> JSON, |a, _| object(a), "object of names and values in turn", variadic, on_null;
    jsonb_build_object() -> JSON, |_, _| text("{}"), "object of names and values in turn, ordered and without doubles";
    jsonb_build_object(ANY) -> JSON, |a, _| sorted_object(a), "object of names and values in turn, ordered and without doubles", variadic, on_null;
    to_json(ELEMENT) -> JSON, |a, _| to_json(a), "value as JSON";
};

fn to_json(a: Arguments<'_>) -> Answer {
    let mut out = String::new();
    push_value(a.kind(0), a.value(1), &mut out)?;
    text(out)
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

fn sorted_object(a: Arguments<'_>) -> Answer {
    let mut kept: Vec<(String, String)> = Vec::new();
    for field in fields(a, "jsonb_build_object")? {
        kept.retain(|(name, _)| *name != field.0);
        kept.push(field);
    }
    kept.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    written(&kept, ": ")
}
