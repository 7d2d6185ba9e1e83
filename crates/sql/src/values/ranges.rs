//! Ranges of numbers, days and moments, as PostgreSQL reads and writes them. Columns store the bytes of [`Range`].
//!
//! A column of the engine refuses all other bytes, so a value read from one is a range.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/rangetypes.c`.

use super::zones::SessionZone;
use crate::error::{SqlError, code};
use crate::text::{decode_text_in, encode_text_in, shortened};
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::ranges::{Bound, Given, NotARange, Range, RangeOf};

/// The range of a value of a type; the empty one for an invalid value.
pub(crate) fn range<'v>(kind: SqlType, value: ValueRef<'v>) -> Range<'v> {
    let of = kind.range();
    let found = match (of, value) {
        (Some(of), ValueRef::Bytes(bytes)) => Range::decode(of, bytes),
        _ => None,
    };
    found.unwrap_or(Range::EMPTY)
}

/// The value of a bound, or null.
pub(crate) fn bound(kind: SqlType, bound: Bound<'_>) -> Value {
    let of = kind.range();
    let value = of.and_then(|of| bound.value(of));
    value.unwrap_or(Value::Null)
}

pub(crate) fn value(range: Range<'_>) -> Value {
    Value::Bytes(range.encode())
}

/// The range of a type with these bounds.
///
/// # Errors
/// `22000` if the bounds are the wrong way round; `22003` and `22008` if there is no value behind one.
pub(crate) fn made(kind: SqlType, lower: Given, upper: Given) -> Result<Value, SqlError> {
    let Some(of) = kind.range() else {
        return Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            "this is no range type",
        ));
    };
    let bytes = Range::of_bounds(of, lower, upper);
    bytes.map(Value::Bytes).map_err(|error| failed(of, error))
}

/// The error in PostgreSQL's words.
#[cold]
pub(crate) fn failed(of: RangeOf, error: NotARange) -> SqlError {
    match (error, of) {
        (NotARange::Beyond, RangeOf::Date) => {
            SqlError::new(code::DATETIME_OVERFLOW, "date out of range")
        }
        (NotARange::Beyond, RangeOf::Int8) => {
            SqlError::new(code::OUT_OF_RANGE, "bigint out of range")
        }
        (NotARange::Beyond, _) => SqlError::new(code::OUT_OF_RANGE, "integer out of range"),
        (NotARange::Value, _) => SqlError::new(code::OUT_OF_RANGE, error.to_string()),
        (NotARange::Order | NotARange::Union | NotARange::Difference, _) => {
            SqlError::new(code::DATA_EXCEPTION, error.to_string())
        }
    }
}

/// The flags of a constructor: true for each bound that the range has.
///
/// # Errors
/// `42601`.
pub(crate) fn flags(text: &str) -> Result<(bool, bool), SqlError> {
    Ok(match text {
        "[]" => (true, true),
        "[)" => (true, false),
        "(]" => (false, true),
        "()" => (false, false),
        _ => {
            let error = SqlError::syntax("invalid range bound flags");
            return Err(error.hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."));
        }
    })
}

/// Reads a range from PostgreSQL's text format, in a session's time zone.
///
/// # Errors
/// `22P02` if the text has not the form of one; those of its bounds' values; those of [`made`].
pub(crate) fn read(
    kind: SqlType,
    text: &str,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    let wrong = |why: &str| {
        let message = format!("malformed range literal: \"{}\"", shortened(text));
        SqlError::new(code::INVALID_TEXT, message).detail(why)
    };
    let mut rest = text.trim_start_matches(is_blank);
    if let Some((word, behind)) = rest.split_at_checked(5)
        && word.eq_ignore_ascii_case("empty")
    {
        return match behind.trim_start_matches(is_blank) {
            "" => Ok(value(Range::EMPTY)),
            _ => Err(wrong("Junk after \"empty\" key word.")),
        };
    }
    let is_lower_in = rest.starts_with('[');
    rest = rest
        .strip_prefix(['[', '('])
        .ok_or_else(|| wrong("Missing left parenthesis or bracket."))?;
    let ended = || wrong("Unexpected end of input.");
    let lower = read_bound(&mut rest).ok_or_else(ended)?;
    rest = rest
        .strip_prefix(',')
        .ok_or_else(|| wrong("Missing comma after lower bound."))?;
    let upper = read_bound(&mut rest).ok_or_else(ended)?;
    let is_upper_in = rest.starts_with(']');
    rest = rest
        .strip_prefix([']', ')'])
        .ok_or_else(|| wrong("Too many commas."))?;
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(wrong("Junk after right parenthesis or bracket."));
    }
    let element = kind.bound().unwrap_or(SqlType::Text);
    let given = |text: Option<String>, is_inclusive| -> Result<Given, SqlError> {
        let value = text.map(|text| decode_text_in(element, &text, zone));
        Ok(Given {
            value: value.transpose()?,
            is_inclusive,
        })
    };
    let (lower, upper) = (given(lower, is_lower_in)?, given(upper, is_upper_in)?);
    made(kind, lower, upper)
}

/// C's blanks.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

/// Takes the text of a bound. There is no bound if nothing precedes the next comma, parenthesis or bracket. `None` if
/// the text ends before.
fn read_bound(rest: &mut &str) -> Option<Option<String>> {
    let is_end = |character: char| matches!(character, ',' | ')' | ']');
    if rest.starts_with(is_end) {
        return Some(None);
    }
    let (mut text, mut is_quoted) = (String::new(), false);
    loop {
        let mut characters = rest.chars();
        let character = characters.next()?;
        if !is_quoted && is_end(character) {
            return Some(Some(text));
        }
        match character {
            '\\' => text.push(characters.next()?),
            '"' if !is_quoted => is_quoted = true,
            '"' if characters.as_str().starts_with('"') => {
                characters.next();
                text.push('"');
            }
            '"' => is_quoted = false,
            other => text.push(other),
        }
        *rest = characters.as_str();
    }
}

/// Appends a range in PostgreSQL's text format, in a session's time zone.
pub(crate) fn push(kind: SqlType, bytes: &[u8], zone: Option<&SessionZone>, out: &mut String) {
    let Some((lower, upper)) = range(kind, ValueRef::Bytes(bytes)).bounds() else {
        *out += "empty";
        return;
    };
    out.push(if lower.is_inclusive() { '[' } else { '(' });
    push_bound(kind, lower, zone, out);
    out.push(',');
    push_bound(kind, upper, zone, out);
    out.push(if upper.is_inclusive() { ']' } else { ')' });
}

/// The texts of numbers, days and moments have blanks, but no quotes, commas or parentheses.
fn push_bound(kind: SqlType, of: Bound<'_>, zone: Option<&SessionZone>, out: &mut String) {
    let Some(element) = kind.bound() else {
        return;
    };
    let start = out.len();
    encode_text_in(element, &bound(kind, of).as_ref(), zone, out);
    if out.get(start..).is_some_and(|text| text.contains(' ')) {
        out.insert(start, '"');
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{decode_text, text_of};
    use proptest::prelude::*;

    fn kinds() -> impl Iterator<Item = SqlType> {
        SqlType::all().filter(|kind| kind.is_range())
    }

    #[test]
    fn types_have_the_numbers_by_which_the_engine_knows_them() {
        assert_eq!(kinds().count(), 6);
        for kind in kinds() {
            assert_eq!(RangeOf::of_kind(kind.oid()), kind.range());
            assert_eq!(kind.array().oid(), kind.oid() + 1);
            assert_eq!(kind.range().map(RangeOf::name), Some(kind.name()));
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_and_read_again(text in "[\\[(]?[-0-9., \"\\\\a]{0,9}[,]?[-0-9.,]{0,6}[\\])]?") {
            for kind in kinds() {
                let Ok(value) = decode_text(kind, &text) else {
                    continue;
                };
                let written = text_of(kind, value.as_ref()).unwrap_or_default();
                prop_assert_eq!(decode_text(kind, &written).ok(), Some(value), "{}", written);
            }
        }
    }
}
