//! Functions of parts of JSON, and of its operators: `json` gives its parts as they were written.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::values::arrays::{Array, elements, written};
use crate::values::json_text::check_escapes;
use crate::values::json_tree::{Json, Level, level, place, plain, wrong};
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    json_array_element(JSON, INT4) -> JSON, |a, _| Ok(whole(element(a)?)), "`json -> number`: element of an array, from 0";
    json_array_element_text(JSON, INT4) -> TEXT, |a, _| as_text(element(a)?), "`json ->> number`: element of an array as a text";
    json_array_elements(JSON) -> JSON, |a, _| all(a, false, "json_array_elements"), "rows of the elements of an array", rows;
    json_array_elements_text(JSON) -> TEXT, |a, _| all(a, true, "json_array_elements_text"), "rows of the elements of an array as texts", rows;
    json_array_length(JSON) -> INT4, |a, _| length(a), "number of elements of an array";
    json_object_field(JSON, TEXT) -> JSON, |a, _| Ok(whole(field(a)?)), "`json -> name`: field of an object";
    json_object_field_text(JSON, TEXT) -> TEXT, |a, _| as_text(field(a)?), "`json ->> name`: field of an object as a text";
    json_object_keys(JSON) -> TEXT, |a, _| names(a, "json_object_keys"), "rows of the names of an object", rows;
    json_typeof(JSON) -> TEXT, |a, _| text(Json::known(a.text(0))?.type_name()), "type of a value of JSON";
    jsonb_array_element(JSONB, INT4) -> JSONB, |a, _| Ok(whole(element_or_scalar(a)?)), "`jsonb -> number`: element of an array, from 0";
    jsonb_array_element_text(JSONB, INT4) -> TEXT, |a, _| as_text(element_or_scalar(a)?), "`jsonb ->> number`: element of an array as a text";
    jsonb_array_elements(JSONB) -> JSONB, |a, _| all(a, false, "jsonb_array_elements"), "rows of the elements of an array", rows;
    jsonb_array_elements_text(JSONB) -> TEXT, |a, _| all(a, true, "jsonb_array_elements_text"), "rows of the elements of an array as texts", rows;
    jsonb_array_length(JSONB) -> INT4, |a, _| length(a), "number of elements of an array";
    jsonb_concat(JSONB, JSONB) -> JSONB, |a, _| concatenated(json(a, 0)?, json(a, 1)?).value(), "operator of two bars: fields, or elements, of both";
    jsonb_contained(JSONB, JSONB) -> BOOL, |a, with| contains(json(a, 1)?, json(a, 0)?, with), "`jsonb <@ jsonb`: true if the second contains the first";
    jsonb_contains(JSONB, JSONB) -> BOOL, |a, with| contains(json(a, 0)?, json(a, 1)?, with), "`jsonb @> jsonb`: true if the first contains the second";
    jsonb_delete(JSONB, INT4) -> JSONB, |a, _| without_element(a), "`jsonb - number`: without an element of an array";
    jsonb_delete(JSONB, TEXT) -> JSONB, |a, _| without_names(a, &[a.text(1).to_string()]), "`jsonb - name`: without a field, or the elements that are a text";
    jsonb_delete(JSONB, TEXTS) -> JSONB, |a, _| { check_path(a, 1)?; without_names(a, &texts(a, 1)) }, "`jsonb - names`: without fields, or the elements that are one of these texts";
    jsonb_delete_path(JSONB, TEXTS) -> JSONB, |a, _| without_path(a), "`jsonb #- path`: without the part at a path";
    jsonb_exists(JSONB, TEXT) -> BOOL, |a, _| Ok(Value::Bool(json(a, 0)?.has_name(a.text(1)))), "`jsonb ? name`: true if it has the name, or the text as an element";
    jsonb_exists_all(JSONB, TEXTS) -> BOOL, |a, _| Ok(Value::Bool({ let json = json(a, 0)?; texts(a, 1).iter().all(|name| json.has_name(name)) })), "`jsonb ?& names`: true if it has all of them";
    jsonb_exists_any(JSONB, TEXTS) -> BOOL, |a, _| Ok(Value::Bool({ let json = json(a, 0)?; texts(a, 1).iter().any(|name| json.has_name(name)) })), "operator `?` with a bar: true if it has one of the names";
    jsonb_insert(JSONB, TEXTS, JSONB) -> JSONB, |a, _| inserted(a), "with a value before the element at a path, or as a new field";
    jsonb_insert(JSONB, TEXTS, JSONB, BOOL) -> JSONB, |a, _| inserted(a), "with a value at a path, behind the element there with `true`, or as a new field";
    jsonb_object_field(JSONB, TEXT) -> JSONB, |a, _| Ok(whole(field(a)?)), "`jsonb -> name`: field of an object";
    jsonb_object_field_text(JSONB, TEXT) -> TEXT, |a, _| as_text(field(a)?), "`jsonb ->> name`: field of an object as a text";
    jsonb_object_keys(JSONB) -> TEXT, |a, _| names(a, "jsonb_object_keys"), "rows of the names of an object", rows;
    jsonb_pretty(JSONB) -> TEXT, |a, _| pretty(a), "with a line for each part";
    jsonb_set(JSONB, TEXTS, JSONB) -> JSONB, |a, _| with_path(a, a.text(2), true), "with another value at a path, which is added at the end of it";
    jsonb_set(JSONB, TEXTS, JSONB, BOOL) -> JSONB, |a, _| with_path(a, a.text(2), a.is_true(3)), "with another value at a path, which is added with `true` only";
    jsonb_strip_nulls(JSONB) -> JSONB, |a, _| without_nulls(json(a, 0)?).value(), "without fields that are null";
    jsonb_typeof(JSONB) -> TEXT, |a, _| text(json(a, 0)?.type_name()), "type of a value of JSON";
};

/// `json #> path`
pub(crate) static PATH: Definition = Definition::new(
    "json_extract_path",
    &[JSON, TEXTS],
    JSON,
    |a, _| Ok(whole(at_path(a)?)),
    "",
);

/// `json #>> path`
pub(crate) static PATH_TEXT: Definition = Definition::new(
    "json_extract_path_text",
    &[JSON, TEXTS],
    TEXT,
    |a, _| as_text(at_path(a)?),
    "",
);

/// Bytes by which values are compared.
pub(crate) static JSON_KEY: Definition = Definition::new(
    "jsonb_key",
    &[JSONB],
    BYTEA,
    |a, _| Ok(Value::Bytes(json(a, 0)?.key())),
    "",
);

fn json(a: Arguments<'_>, at: usize) -> Result<Json, SqlError> {
    Json::known(a.text(at))
}

/// Refuses a path that is an array of arrays.
///
/// # Errors
/// `2202E` if it is one.
fn check_path(a: Arguments<'_>, at: usize) -> Result<(), SqlError> {
    match Array::known(a.text(at)).bounds.len() {
        0 | 1 => Ok(()),
        _ => Err(SqlError::new("2202E", "wrong number of array subscripts")),
    }
}

/// A step of a path, by its position from 1.
///
/// # Errors
/// `22004` if it is null: only steps that are reached are read.
fn given(step: &Option<String>, position: usize) -> Result<&String, SqlError> {
    step.as_ref().ok_or_else(|| {
        let text = format!("path element at position {position} is null");
        SqlError::new(code::NULL_NOT_ALLOWED, text)
    })
}

/// The texts of an array that are not null.
fn texts(a: Arguments<'_>, at: usize) -> Vec<String> {
    elements(a.text(at)).into_iter().flatten().collect()
}

pub(super) fn whole(part: Option<String>) -> Value {
    part.map_or(Value::Null, Value::Text)
}

pub(super) fn as_text(part: Option<String>) -> Answer {
    match part {
        Some(part) => plain(&part).map(whole),
        None => Ok(Value::Null),
    }
}

fn step(text: &str, name: &str) -> Option<String> {
    match level(text) {
        Level::Object(fields) => {
            let mut fields = fields.iter().rev();
            let found = fields.find(|(known, _)| known == name);
            found.map(|(_, value)| value.get().to_string())
        }
        Level::Array(items) => {
            let at = place(items.len(), index(name)?)?;
            items.get(at).map(|item| item.get().to_string())
        }
        Level::Scalar => None,
    }
}

fn field(a: Arguments<'_>) -> Result<Option<String>, SqlError> {
    check_escapes(a.text(0))?;
    Ok(match level(a.text(0)) {
        Level::Object(_) => step(a.text(0), a.text(1)),
        _ => None,
    })
}

fn element(a: Arguments<'_>) -> Result<Option<String>, SqlError> {
    check_escapes(a.text(0))?;
    Ok(match level(a.text(0)) {
        Level::Array(items) => {
            let item = place(items.len(), a.int(1)).and_then(|at| items.get(at));
            item.map(|item| item.get().to_string())
        }
        _ => None,
    })
}

/// To PostgreSQL, a scalar of `jsonb` is an array of itself.
fn element_or_scalar(a: Arguments<'_>) -> Result<Option<String>, SqlError> {
    match (level(a.text(0)), a.int(1)) {
        (Level::Scalar, 0 | -1) => Ok(Some(a.text(0).to_string())),
        _ => element(a),
    }
}

fn at_path(a: Arguments<'_>) -> Result<Option<String>, SqlError> {
    check_escapes(a.text(0))?;
    let steps: Option<Vec<String>> = elements(a.text(1)).into_iter().collect();
    Ok(steps.and_then(|steps| along(a.text(0), &steps)))
}

/// The part at a path. Of fields with one name the last is taken that has the rest of the path.
pub(super) fn along(text: &str, path: &[String]) -> Option<String> {
    let Some((name, behind)) = path.split_first() else {
        return Some(text.to_string());
    };
    match level(text) {
        Level::Object(fields) => {
            let fields = fields.iter().rev().filter(|(known, _)| known == name);
            let mut parts = fields.map(|(_, value)| along(value.get(), behind));
            parts.find_map(|part| part)
        }
        _ => along(&step(text, name)?, behind),
    }
}

fn items<'t>(
    a: Arguments<'t>,
    function: &str,
) -> Result<Vec<&'t serde_json::value::RawValue>, SqlError> {
    let what = match level(a.text(0)) {
        Level::Array(items) => return Ok(items),
        Level::Object(_) if function.starts_with("jsonb") => "an object",
        Level::Object(_) => "a non-array",
        Level::Scalar => "a scalar",
    };
    Err(wrong(match function {
        "length" => format!("cannot get array length of {what}"),
        name if name.starts_with("jsonb") => format!("cannot extract elements from {what}"),
        name => format!("cannot call {name} on {what}"),
    }))
}

fn all(a: Arguments<'_>, are_texts: bool, function: &str) -> Answer {
    let items = items(a, function)?.into_iter();
    let parts = items.map(|item| match are_texts {
        true => plain(item.get()),
        false => Ok(Some(item.get().to_string())),
    });
    let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
    text(written(parts.into_iter()))
}

fn length(a: Arguments<'_>) -> Answer {
    int(items(a, "length")?.len())
}

fn names(a: Arguments<'_>, function: &str) -> Answer {
    check_escapes(a.text(0))?;
    match level(a.text(0)) {
        Level::Object(fields) => {
            let names = fields.into_iter().map(|(name, _)| Some(name));
            text(written(names))
        }
        Level::Array(_) => Err(wrong(format!("cannot call {function} on an array"))),
        Level::Scalar => Err(wrong(format!("cannot call {function} on a scalar"))),
    }
}

fn contains(one: Json, other: Json, with: &Environment<'_>) -> Answer {
    let look = || with.context.look_at_row();
    one.contains(&other, &look).map(Value::Bool)
}

fn concatenated(one: Json, other: Json) -> Json {
    match (one, other) {
        (Json::Object(mut fields), Json::Object(more)) => {
            fields.extend(more);
            Json::object(fields.into_iter())
        }
        (one, other) => {
            let items = |json| match json {
                Json::Array(items) => items,
                json => vec![json],
            };
            let mut all = items(one);
            all.extend(items(other));
            Json::Array(all)
        }
    }
}

fn without_names(a: Arguments<'_>, names: &[String]) -> Answer {
    let rest = match json(a, 0)? {
        Json::Object(mut fields) => {
            fields.retain(|(name, _)| !names.contains(name));
            Json::Object(fields)
        }
        Json::Array(mut items) => {
            items.retain(|item| !matches!(item, Json::Text(text) if names.contains(text)));
            Json::Array(items)
        }
        _ => return Err(wrong("cannot delete from scalar")),
    };
    rest.value()
}

fn without_element(a: Arguments<'_>) -> Answer {
    match json(a, 0)? {
        Json::Array(mut items) => {
            if let Some(at) = place(items.len(), a.int(1)) {
                items.remove(at);
            }
            Json::Array(items).value()
        }
        Json::Object(_) => Err(wrong("cannot delete from object using integer index")),
        _ => Err(wrong("cannot delete from scalar")),
    }
}

/// The number in a step into an array: PostgreSQL reads it as C does, with blanks before it.
fn index(step: &str) -> Option<i64> {
    let digits = step.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    digits.parse::<i32>().ok().map(i64::from)
}

/// The same in a path that is changed.
///
/// # Errors
/// `22P02` for a step that is no number.
fn number(step: &str, position: usize) -> Result<i64, SqlError> {
    index(step).ok_or_else(|| {
        SqlError::new(
            code::INVALID_TEXT,
            format!("path element at position {position} is not an integer: \"{step}\""),
        )
    })
}

/// The object or array that has the last step of a path; none if it is absent.
fn holder<'j>(
    json: &'j mut Json,
    path: &[Option<String>],
) -> Result<Option<&'j mut Json>, SqlError> {
    let mut part = json;
    for (at, step) in path.iter().enumerate() {
        let step = given(step, at + 1)?;
        let found = match part {
            Json::Array(items) => {
                let at = place(items.len(), number(step, at + 1)?);
                at.and_then(|at| items.get_mut(at))
            }
            Json::Object(fields) => {
                let found = fields.iter_mut().find(|(name, _)| name == step);
                found.map(|(_, value)| value)
            }
            _ => None,
        };
        match found {
            Some(found) => part = found,
            None => return Ok(None),
        }
    }
    Ok(Some(part))
}

/// True for an object or an array without parts.
fn is_empty(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

pub(super) fn without_path(a: Arguments<'_>) -> Answer {
    check_path(a, 1)?;
    let mut json = json(a, 0)?;
    if !matches!(json, Json::Array(_) | Json::Object(_)) {
        return Err(wrong("cannot delete path in scalar"));
    }
    // Of what has no parts no path is read.
    if is_empty(&json) {
        return json.value();
    }
    let path = elements(a.text(1));
    if let Some((last, before)) = path.split_last() {
        let found = holder(&mut json, before)?;
        let last = if found.is_some() {
            given(last, path.len())?
        } else {
            ""
        };
        match found {
            Some(Json::Object(fields)) => fields.retain(|(name, _)| name != last),
            Some(Json::Array(items)) => {
                if let Some(at) = place(items.len(), number(last, path.len())?) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
    json.value()
}

/// The value, the path and the new value of a change at a path.
///
/// # Errors
/// `2202E` for a path of several dimensions, `22023` for a scalar.
fn changed_at(a: Arguments<'_>, new: &str) -> Result<(Json, Vec<Option<String>>, Json), SqlError> {
    check_path(a, 1)?;
    match json(a, 0)? {
        whole @ (Json::Array(_) | Json::Object(_)) => {
            Ok((whole, elements(a.text(1)), Json::known(new)?))
        }
        _ => Err(wrong("cannot set path in scalar")),
    }
}

/// Adds a field, whose name is new.
fn add(fields: &mut Vec<(String, Json)>, name: &str, value: Json) {
    fields.push((name.to_string(), value));
    let all = std::mem::take(fields);
    if let Json::Object(sorted) = Json::object(all.into_iter()) {
        *fields = sorted;
    }
}

/// With a new value at a path.
pub(super) fn with_path(a: Arguments<'_>, new: &str, adds: bool) -> Answer {
    let (mut whole, path, new) = changed_at(a, new)?;
    if !adds && is_empty(&whole) {
        return whole.value();
    }
    if let Some((last, before)) = path.split_last()
        && let Some(found) = holder(&mut whole, before)?
    {
        let last = given(last, path.len())?;
        match found {
            Json::Object(fields) => {
                let there = fields.iter_mut().find(|(name, _)| name == last);
                match there {
                    Some((_, value)) => *value = new,
                    None if adds => add(fields, last, new),
                    None => {}
                }
            }
            Json::Array(items) => {
                let number = number(last, path.len())?;
                match place(items.len(), number) {
                    Some(at) => items[at] = new,
                    None if adds && number < 0 => items.insert(0, new),
                    None if adds => items.push(new),
                    None => {}
                }
            }
            _ => {}
        }
    }
    whole.value()
}

fn inserted(a: Arguments<'_>) -> Answer {
    let (mut whole, path, new) = changed_at(a, a.text(2))?;
    if let Some((last, before)) = path.split_last()
        && let Some(found) = holder(&mut whole, before)?
    {
        let last = given(last, path.len())?;
        match found {
            Json::Object(fields) if fields.iter().any(|(name, _)| name == last) => {
                let hint = "Try using the function jsonb_set to replace key value.";
                return Err(wrong("cannot replace existing key").hint(hint));
            }
            Json::Object(fields) => add(fields, last, new),
            Json::Array(items) => {
                let number = number(last, path.len())?;
                let at = match place(items.len(), number) {
                    Some(at) => at + usize::from(a.is_true(3)),
                    None if number < 0 => 0,
                    None => items.len(),
                };
                items.insert(at, new);
            }
            _ => {}
        }
    }
    whole.value()
}

fn without_nulls(json: Json) -> Json {
    match json {
        Json::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| *value != Json::Null);
            let fields = fields.map(|(name, value)| (name, without_nulls(value)));
            Json::Object(fields.collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

fn pretty(a: Arguments<'_>) -> Answer {
    let mut out = String::new();
    json(a, 0)?.push_pretty(0, &mut out);
    text(out)
}
