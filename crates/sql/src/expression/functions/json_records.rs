//! JSON in columns: fields as rows of names and values, objects as rows of declared columns; parts at paths.
//!
//! A call in `FROM` has a function here for each of its columns, and each function gives the column's values.
//!
//! Source: PostgreSQL 15, `jsonfuncs.c`.

use super::definition::*;
use super::json_parts::{along, as_text, whole, with_path, without_path};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::text::{decode_text_in, text_of};
use crate::types::{SqlType, TypeSpec};
use crate::values::arrays::{Array, written};
use crate::values::cast::cast;
use crate::values::json_text::check_escapes;
use crate::values::json_tree::{Level, level, plain, wrong};
use sardonyx::schema::{Value, ValueRef};
use serde_json::value::RawValue;

pub(super) static TABLE: &[Definition] = functions! {
    json_extract_path(JSON, TEXT) -> JSON, |a, _| Ok(whole(part(a)?)), "`json #> path`: part at a path", variadic;
    json_extract_path_text(JSON, TEXT) -> TEXT, |a, _| as_text(part(a)?), "`json #>> path`: part at a path as a text", variadic;
    jsonb_extract_path(JSONB, TEXT) -> JSONB, |a, _| Ok(whole(part(a)?)), "`jsonb #> path`: part at a path", variadic;
    jsonb_extract_path_text(JSONB, TEXT) -> TEXT, |a, _| as_text(part(a)?), "`jsonb #>> path`: part at a path as a text", variadic;
    jsonb_set_lax(JSONB, TEXTS, JSONB) -> JSONB, set_lax, "as `jsonb_set`; a null is a null of JSON", on_null;
    jsonb_set_lax(JSONB, TEXTS, JSONB, BOOL) -> JSONB, set_lax, "as `jsonb_set`; a null is a null of JSON", on_null;
    jsonb_set_lax(JSONB, TEXTS, JSONB, BOOL, TEXT) -> JSONB, set_lax, "as `jsonb_set`; of a null: `use_json_null`, `delete_key`, `return_target` or `raise_exception`", on_null;
};

/// The names of the fields of an object, of a function of this name.
pub(crate) static EACH_NAME: Definition = Definition::new(
    "json_each_name",
    &[JSON, TEXT],
    TEXT,
    |a, _| each(a, |name, _| Ok(Some(name))),
    "",
)
.rows();

/// The values of the fields.
pub(crate) static EACH_VALUE: Definition = Definition::new(
    "json_each_value",
    &[JSON, TEXT],
    JSON,
    |a, _| each(a, |_, value| Ok(Some(value.get().to_string()))),
    "",
)
.rows();

/// The values of the fields as texts.
pub(crate) static EACH_TEXT: Definition = Definition::new(
    "json_each_text",
    &[JSON, TEXT],
    TEXT,
    |a, _| each(a, |_, value| plain(value.get())),
    "",
)
.rows();

/// The fields of one name, of an object or of the objects of an array, as values of a type: JSON, the function's name,
/// the field's, the number of the type, and its modifier.
pub(crate) static RECORD_COLUMN: Definition = Definition::new(
    "json_record_column",
    &[JSON, TEXT, TEXT, INT4, INT4],
    ELEMENT,
    column,
    "",
)
.stable()
.rows();

fn part(a: Arguments<'_>) -> Result<Option<String>, SqlError> {
    check_escapes(a.text(0))?;
    let steps: Vec<String> = (1..a.len()).map(|at| a.text(at).to_string()).collect();
    Ok(along(a.text(0), &steps))
}

fn each(
    a: Arguments<'_>,
    of: impl Fn(String, &RawValue) -> Result<Option<String>, SqlError>,
) -> Answer {
    check_escapes(a.text(0))?;
    let function = a.text(1);
    let fields = match level(a.text(0)) {
        Level::Object(fields) => fields,
        _ if function.starts_with("jsonb") => {
            return Err(wrong(format!("cannot call {function} on a non-object")));
        }
        Level::Array(_) => return Err(wrong("cannot deconstruct an array as an object")),
        Level::Scalar => return Err(wrong("cannot deconstruct a scalar")),
    };
    let parts = fields.into_iter().map(|(name, value)| of(name, value));
    let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
    text(written(parts.into_iter()))
}

fn set_lax(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    let treatment = if a.len() > 4 {
        a.given_text(4)
    } else {
        Some("use_json_null")
    };
    let is_missing = |at: usize| a.value(at) == ValueRef::Null;
    if is_missing(0) || is_missing(1) || a.len() > 3 && is_missing(3) {
        return Ok(Value::Null);
    }
    let known = [
        "raise_exception",
        "return_target",
        "delete_key",
        "use_json_null",
    ];
    let new = a.given_text(2);
    // The word has no meaning if there is a value; a null is refused in any case.
    let treatment = treatment.filter(|word| new.is_some() || known.contains(word));
    let treatment = treatment.ok_or_else(|| {
        let text = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
        SqlError::new(code::INVALID_PARAMETER_VALUE, text)
    })?;
    let adds = a.len() < 4 || a.is_true(3);
    match (new, treatment) {
        (Some(new), _) => with_path(a, new, adds),
        (None, "use_json_null") => with_path(a, "null", adds),
        (None, "return_target") => text(a.text(0)),
        (None, "delete_key") => without_path(a),
        (None, _) => Err(SqlError::new(
            code::NULL_NOT_ALLOWED,
            "JSON value must not be null",
        )
        .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
        .hint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")),
    }
}

fn column(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    check_escapes(a.text(0))?;
    let (function, name) = (a.text(1), a.text(2));
    let modifier = i32::try_from(a.int(4)).unwrap_or(-1);
    let field = Field {
        name,
        spec: TypeSpec::new(a.kind(3), modifier),
        is_jsonb: function.starts_with("jsonb"),
        with,
    };
    let mut values = Vec::new();
    if !function.ends_with("set") {
        values.push(field.of_object(a.text(0), "populate_composite")?);
        return text(written(values.into_iter()));
    }
    let items = match level(a.text(0)) {
        Level::Array(items) => items,
        Level::Object(_) if field.is_jsonb => {
            return Err(wrong(format!("cannot call {function} on a non-array")));
        }
        Level::Object(_) => return Err(wrong(format!("cannot call {function} on an object"))),
        Level::Scalar if field.is_jsonb => {
            return Err(wrong(format!("cannot call {function} on a non-array")));
        }
        Level::Scalar => return Err(wrong(format!("cannot call {function} on a scalar"))),
    };
    for item in items {
        with.context.look_at_row()?;
        match level(item.get()) {
            Level::Object(_) => values.push(field.of_object(item.get(), function)?),
            _ => {
                let text = format!("argument of {function} must be an array of objects");
                return Err(wrong(text));
            }
        }
    }
    text(written(values.into_iter()))
}

/// A column of a record.
struct Field<'a> {
    name: &'a str,
    spec: TypeSpec,
    is_jsonb: bool,
    with: &'a Environment<'a>,
}

impl Field<'_> {
    /// The text of the field's value in an object.
    fn of_object(&self, object: &str, function: &str) -> Result<Option<String>, SqlError> {
        let fields = match level(object) {
            Level::Object(fields) => fields,
            Level::Array(_) => return Err(wrong(format!("cannot call {function} on an array"))),
            Level::Scalar => return Err(wrong(format!("cannot call {function} on a scalar"))),
        };
        let mut fields = fields.iter().rev();
        let found = fields.find(|(name, _)| name == self.name);
        found.map_or(Ok(None), |(_, value)| self.of_value(value.get()))
    }

    fn of_value(&self, value: &str) -> Result<Option<String>, SqlError> {
        let is_null = value.trim_ascii() == "null";
        match (self.spec.kind.element(), level(value)) {
            _ if is_null => Ok(None),
            (Some(element), Level::Array(_)) => {
                let mut array = Array::default();
                self.take(
                    value,
                    TypeSpec::new(element, self.spec.modifier),
                    0,
                    &mut array,
                )?;
                if array.elements.is_empty() {
                    array.bounds.clear();
                }
                Ok(Some(array.text()))
            }
            // A text is read as an array of SQL is.
            (Some(_), Level::Scalar) if value.trim_ascii_start().starts_with('"') => {
                self.scalar(value, self.spec)
            }
            (Some(_), _) => {
                let error = SqlError::new(code::INVALID_TEXT, "expected JSON array");
                let name = self.name;
                Err(error.hint(format!("See the value of key \"{name}\".")))
            }
            (None, _) => self.scalar(value, self.spec),
        }
    }

    /// Takes the elements of an array of JSON, at a depth in others.
    fn take(
        &self,
        value: &str,
        element: TypeSpec,
        depth: usize,
        array: &mut Array,
    ) -> Result<(), SqlError> {
        let Level::Array(items) = level(value) else {
            return Err(self.not_alike());
        };
        match array.bounds.get(depth) {
            None if depth == array.bounds.len() && array.elements.is_empty() => {
                if depth == crate::values::arrays::DIMENSIONS_MAX {
                    return Err(crate::values::arrays::too_many_dimensions(depth + 1));
                }
                array.bounds.push((1, items.len()));
            }
            Some((_, length)) if *length == items.len() => {}
            _ => return Err(self.not_alike()),
        }
        for item in items {
            let is_array = matches!(level(item.get()), Level::Array(_));
            // The first element decides on the dimensions. Behind it an array is an element, in the last of them.
            let has_more = array.bounds.len() > depth + 1;
            if is_array && (has_more || array.elements.is_empty()) {
                self.take(item.get(), element, depth + 1, array)?;
                continue;
            }
            if has_more {
                return Err(self.not_alike());
            }
            let text = match item.get() {
                "null" => None,
                item => self.scalar(item, element)?,
            };
            array.elements.push(text);
        }
        Ok(())
    }

    #[cold]
    fn not_alike(&self) -> SqlError {
        let error = SqlError::new(code::INVALID_TEXT, "malformed JSON array");
        error.detail("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    /// The text of a value of a type, read from a value of JSON.
    fn scalar(&self, value: &str, spec: TypeSpec) -> Result<Option<String>, SqlError> {
        if matches!(spec.kind, SqlType::Json | SqlType::Jsonb) {
            let read = crate::text::decode_text(spec.kind, value)?;
            return Ok(text_of(spec.kind, read.as_ref()));
        }
        let Some(plain) = plain(value)? else {
            return Ok(None);
        };
        let zone = self.with.context.zone();
        let read = decode_text_in(spec.kind, &plain, zone.as_ref())?;
        let fits = cast(read.as_ref(), spec.kind, spec, false)?;
        Ok(text_of(spec.kind, fits.as_ref()))
    }
}
