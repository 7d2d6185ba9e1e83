//! Values of composite types: texts of PostgreSQL's form, `(1,"a b",)`, with moments in UTC. A value is read to its fields
//! by its type. A field that a text lacks is null: the type has got it later.
//!
//! Source: PostgreSQL 15, `record_in` in `src/backend/utils/adt/rowtypes.c`.

use super::cast::{Coercion, can_cast, cast, cast_in};
use super::records::{described, fields, made};
use super::zones::SessionZone;
use crate::error::{SqlError, code, shortened};
use crate::text::{decode_text, decode_text_in, push_fields, text_in};
use crate::types::{CompositeField, CompositeType, SqlType};
use sardonyx::schema::{VALUE_BYTES_MAX, Value, ValueRef};

/// Reads a text that a client gives, in a session's time zone.
///
/// # Errors
/// `22P02` if it is no row of the type; the errors of its fields.
pub(crate) fn read(
    of: CompositeType,
    text: &str,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    let malformed = |detail: &str| {
        let text = format!("malformed record literal: \"{}\"", shortened(text));
        SqlError::new(code::INVALID_TEXT, text).detail(detail)
    };
    let parts = parts(text).map_err(malformed)?;
    let columns = of.fields();
    // Without a field there is none in the parentheses, and one empty text.
    let is_empty = columns.is_empty() && parts == [None];
    if !is_empty && parts.len() != columns.len() {
        return Err(malformed(match parts.len() < columns.len() {
            true => "Too few columns.",
            false => "Too many columns.",
        }));
    }
    let mut values = Vec::with_capacity(columns.len());
    for (part, column) in parts.iter().zip(columns) {
        let Some(part) = part else {
            values.push(Value::Null);
            continue;
        };
        let value = decode_text_in(column.spec.kind, part, zone)?;
        values.push(fit(value, column)?);
    }
    written(of, &values)
}

/// A value of a field's type with its length, or its digits.
///
/// # Errors
/// `22001`, `22003` for a longer one.
pub(crate) fn fit(value: Value, column: &CompositeField) -> Result<Value, SqlError> {
    let to = column.spec;
    match to.modifier < 0 {
        true => Ok(value),
        false => cast(value.as_ref(), to.kind, to, false),
    }
}

/// The value of a type with these fields. Each level of rows may double the length of the innermost text, so each one is
/// checked.
///
/// # Errors
/// `54000` if it is longer than a value may be.
pub(crate) fn written(of: CompositeType, values: &[Value]) -> Result<Value, SqlError> {
    let fields = of.fields().iter().zip(values);
    let texts = fields.map(|(column, value)| text_in(column.spec.kind, value.as_ref(), None));
    let mut text = String::new();
    push_fields(texts, &mut text);
    match text.len() <= VALUE_BYTES_MAX {
        true => Ok(Value::Text(text)),
        false => Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!(
                "a row of {} bytes is too long: {VALUE_BYTES_MAX} are allowed",
                text.len()
            ),
        )),
    }
}

/// The values of the fields.
///
/// # Errors
/// `22P02` if a field is none of its type.
pub(crate) fn values(of: CompositeType, text: &str) -> Result<Vec<Value>, SqlError> {
    let mut parts = parts(text).unwrap_or_default().into_iter();
    let columns = of.fields().iter();
    columns
        .map(|column| match parts.next().flatten() {
            Some(part) => decode_text(column.spec.kind, &part),
            None => Ok(Value::Null),
        })
        .collect()
}

/// Appends a value as text, with moments in a session's time zone.
pub(crate) fn push(of: CompositeType, text: &str, zone: Option<&SessionZone>, out: &mut String) {
    let Ok(values) = values(of, text) else {
        out.push_str(text);
        return;
    };
    let fields = of.fields().iter().zip(&values);
    let texts = fields.map(|(column, value)| text_in(column.spec.kind, value.as_ref(), zone));
    push_fields(texts, out);
}

/// The value as a record.
///
/// # Errors
/// As [`values`].
pub(crate) fn to_record(of: CompositeType, text: &str) -> Result<Value, SqlError> {
    let columns = of.fields().iter();
    let columns = columns.map(|column| (&*column.name, column.spec.kind));
    let values = values(of, text)?;
    made(&described(columns), values.iter().map(Value::as_ref))
}

/// A record as a value of the type.
///
/// # Errors
/// `42846` for another number of fields; the errors of the casts.
pub(crate) fn of_record(
    of: CompositeType,
    record: &[u8],
    explicit: bool,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    let (given, columns) = (fields(record)?, of.fields());
    if given.len() != columns.len() {
        let name = SqlType::Composite(of).name();
        let text = format!("cannot cast type record to {name}");
        return Err(SqlError::new(code::CANNOT_COERCE, text).detail(
            match given.len() < columns.len() {
                true => "Input has too few columns.",
                false => "Input has too many columns.",
            },
        ));
    }
    let mut values = Vec::with_capacity(columns.len());
    for (field, column) in given.iter().zip(columns) {
        values.push(converted(
            field.value,
            field.kind,
            column,
            (explicit, zone),
        )?);
    }
    written(of, &values)
}

fn converted(
    value: ValueRef<'_>,
    from: SqlType,
    column: &CompositeField,
    (explicit, zone): (bool, Option<&SessionZone>),
) -> Result<Value, SqlError> {
    let to = column.spec;
    if value == ValueRef::Null || from == to.kind && to.modifier < 0 {
        return Ok(value.to_value());
    }
    // A literal in a row is a text, and variables are assigned by their texts. Rows that a statement writes are checked when
    // it is planned.
    if from.is_text() && !to.kind.is_text() {
        let text = text_in(from, value, zone).unwrap_or_default();
        return fit(decode_text_in(to.kind, &text, zone)?, column);
    }
    if !can_cast(from, to.kind, Coercion::Explicit) {
        let text = format!("cannot cast type {} to {}", from.name(), to.kind.name());
        return Err(SqlError::new(code::CANNOT_COERCE, text));
    }
    cast_in(value, from, to, explicit, zone)
}

/// The texts of the fields; `None` for a null.
///
/// # Errors
/// PostgreSQL's detail, if the text has another form.
fn parts(text: &str) -> Result<Vec<Option<String>>, &'static str> {
    const END: &str = "Unexpected end of input.";
    let rest = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let inner = rest.strip_prefix('(').ok_or("Missing left parenthesis.")?;
    let mut letters = inner.chars().peekable();
    let mut parts = Vec::new();
    loop {
        let (mut part, mut is_there, mut is_quoted) = (String::new(), false, false);
        loop {
            let letter = letters.next().ok_or(END)?;
            match letter {
                ',' | ')' if !is_quoted => {
                    parts.push(is_there.then_some(part));
                    if letter == ',' {
                        break;
                    }
                    let is_blank = |c: char| c.is_ascii_whitespace();
                    return match letters.all(is_blank) {
                        true => Ok(parts),
                        false => Err("Junk after right parenthesis."),
                    };
                }
                '\\' => {
                    part.push(letters.next().ok_or(END)?);
                    is_there = true;
                }
                '"' if is_quoted && letters.peek() == Some(&'"') => {
                    part.push('"');
                    letters.next();
                }
                '"' => {
                    is_quoted = !is_quoted;
                    is_there = true;
                }
                letter => {
                    part.push(letter);
                    is_there = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_text_are_read_as_postgresql_reads_them() {
        let some = |text: &str| Some(text.to_string());
        assert_eq!(parts("(1,a)"), Ok(vec![some("1"), some("a")]));
        assert_eq!(parts(" (,\"\") "), Ok(vec![None, some("")]));
        assert_eq!(
            parts(r#"("a ""b\\",c\,d)"#),
            Ok(vec![some("a \"b\\"), some("c,d")])
        );
        assert_eq!(parts("()"), Ok(vec![None]));
        assert_eq!(parts("1,2)"), Err("Missing left parenthesis."));
        assert_eq!(parts("(1,2"), Err("Unexpected end of input."));
        assert_eq!(parts("(1)x"), Err("Junk after right parenthesis."));
    }
}
