//! Functions of paths of SQL/JSON.

use super::definition::*;
use super::texts::check_length;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::expression::json_path::{Found, Status, Walk};
use crate::values::arrays::written;
use crate::values::json_tree::Json;
use crate::values::jsonpath::JsonPath;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    jsonb_path_exists(JSONB, JSONPATH) -> BOOL, |a, with| exists(a, with, false), "true if a path gives a value";
    jsonb_path_exists(JSONB, JSONPATH, JSONB) -> BOOL, |a, with| exists(a, with, false), "the same with values of the variables in the path";
    jsonb_path_exists(JSONB, JSONPATH, JSONB, BOOL) -> BOOL, |a, with| exists(a, with, false), "the same; with `true`, null instead of an error of the path";
    jsonb_path_exists_opr(JSONB, JSONPATH) -> BOOL, |a, with| exists(a, with, true), "`jsonb @? path`: true if the path gives a value; null for an error of the path";
    jsonb_path_match(JSONB, JSONPATH) -> BOOL, |a, with| matches(a, with, false), "truth of the condition that a path is";
    jsonb_path_match(JSONB, JSONPATH, JSONB) -> BOOL, |a, with| matches(a, with, false), "the same with values of the variables in the path";
    jsonb_path_match(JSONB, JSONPATH, JSONB, BOOL) -> BOOL, |a, with| matches(a, with, false), "the same; with `true`, null instead of an error of the path";
    jsonb_path_match_opr(JSONB, JSONPATH) -> BOOL, |a, with| matches(a, with, true), "`jsonb @@ path`: truth of the condition; null for an error of the path";
    jsonb_path_query(JSONB, JSONPATH) -> JSONB, rows, "rows of the values of a path", rows;
    jsonb_path_query(JSONB, JSONPATH, JSONB) -> JSONB, rows, "the same with values of the variables in the path", rows;
    jsonb_path_query(JSONB, JSONPATH, JSONB, BOOL) -> JSONB, rows, "the same; with `true`, without errors of the path", rows;
    jsonb_path_query_array(JSONB, JSONPATH) -> JSONB, array, "array of the values of a path";
    jsonb_path_query_array(JSONB, JSONPATH, JSONB) -> JSONB, array, "the same with values of the variables in the path";
    jsonb_path_query_array(JSONB, JSONPATH, JSONB, BOOL) -> JSONB, array, "the same; with `true`, without errors of the path";
    jsonb_path_query_first(JSONB, JSONPATH) -> JSONB, first, "first value of a path; null if it gives none";
    jsonb_path_query_first(JSONB, JSONPATH, JSONB) -> JSONB, first, "the same with values of the variables in the path";
    jsonb_path_query_first(JSONB, JSONPATH, JSONB, BOOL) -> JSONB, first, "the same; with `true`, without errors of the path";
};

/// A call: the value, the path, the variables if it has some, and true if errors of the path are not thrown.
struct Call {
    root: Json,
    path: JsonPath,
    variables: Option<Json>,
    is_silent: bool,
}

impl Call {
    fn of(a: Arguments<'_>, is_operator: bool) -> Result<Call, SqlError> {
        let variables = match (a.given_text(2), is_operator) {
            (Some(given), _) => Some(Json::known(given)?),
            (None, true) => None,
            (None, false) => Some(Json::Object(Vec::new())),
        };
        Ok(Call {
            root: Json::known(a.text(0))?,
            path: JsonPath::read(a.text(1))?,
            variables,
            is_silent: is_operator || a.is_true(3),
        })
    }

    fn find<'a>(
        &'a self,
        found: &mut Found<'a>,
        with: &'a Environment<'a>,
    ) -> Result<Status, SqlError> {
        let variables = self.variables.as_ref();
        Walk::find(
            &self.path,
            &self.root,
            variables,
            !self.is_silent,
            found,
            with,
        )
    }
}

fn exists(a: Arguments<'_>, with: &Environment<'_>, is_operator: bool) -> Answer {
    let call = Call::of(a, is_operator)?;
    Ok(match call.find(&mut Found::default(), with)? {
        Status::Failed => Value::Null,
        status => Value::Bool(status == Status::Found),
    })
}

fn matches(a: Arguments<'_>, with: &Environment<'_>, is_operator: bool) -> Answer {
    let call = Call::of(a, is_operator)?;
    let mut found = Found::all();
    call.find(&mut found, with)?;
    match found.items.as_slice() {
        [item] if let Json::Bool(truth) = item.json() => Ok(Value::Bool(*truth)),
        [item] if matches!(item.json(), Json::Null) => Ok(Value::Null),
        _ if call.is_silent => Ok(Value::Null),
        _ => Err(SqlError::new("22038", "single boolean result is expected")),
    }
}

fn rows(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let call = Call::of(a, false)?;
    let mut found = Found::all();
    call.find(&mut found, with)?;
    let mut texts = Vec::with_capacity(found.items.len());
    let mut bytes = 0;
    for item in &found.items {
        let mut text = String::new();
        item.json().push(&mut text);
        bytes += text.len();
        check_length(bytes)?;
        texts.push(Some(text));
    }
    text(written(texts.into_iter()))
}

fn array(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let call = Call::of(a, false)?;
    let mut found = Found::all();
    call.find(&mut found, with)?;
    let mut out = String::from("[");
    for (at, item) in found.items.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        item.json().push(&mut out);
        check_length(out.len())?;
    }
    out.push(']');
    // It may be nested one level deeper than the value.
    Json::known(&out)?.value()
}

fn first(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let call = Call::of(a, false)?;
    let mut found = Found::all();
    call.find(&mut found, with)?;
    match found.items.first() {
        Some(item) => item.json().value(),
        None => Ok(Value::Null),
    }
}
