//! Functions of arrays, and those that stand for operators of arrays.

use super::definition::*;
use crate::expression::Comparison;
use crate::values::arrays;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    _pg_expandarray(ARRAY) -> ELEMENT, |a, _| text(a.text(0)), "rows of the elements `x` with their numbers `n`", rows;
    array_append(ARRAY, ELEMENT) -> ARRAY, |a, _| arrays::appended(a.given_text(0), a.value(1), a.kind(2)), "with an element behind the last", on_null;
    array_cat(ARRAY, ARRAY) -> ARRAY, |a, _| arrays::concatenated(a.given_text(0), a.given_text(1)), "one behind the other", on_null;
    array_dims(ARRAY) -> TEXT, |a, _| Ok(arrays::dimensions(a.text(0)).map_or(Value::Null, |(_, bounds)| Value::Text(bounds))), "bounds of the dimensions as a text";
    array_length(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::length_at(a.text(0), a.int(1))), "length of a dimension";
    array_lower(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::bound_at(a.text(0), a.int(1), false)), "first subscript of a dimension";
    array_ndims(ARRAY) -> INT4, |a, _| Ok(arrays::dimensions(a.text(0)).map_or(Value::Null, |(count, _)| Value::Int(count as i128))), "number of dimensions";
    array_position(ARRAY, ELEMENT) -> INT4, position, "subscript of the first element that is the value", on_null;
    array_prepend(ELEMENT, ARRAY) -> ARRAY, |a, _| arrays::prepended(a.given_text(0), a.value(1), a.kind(2)), "with an element before the first", on_null;
    array_remove(ARRAY, ELEMENT) -> ARRAY, removed, "without the elements that are the value", on_null;
    array_to_string(ARRAY, TEXT) -> TEXT, |a, _| Ok(arrays::joined(a.text(0), a.text(1), None)), "elements with a separator between them, without nulls";
    array_to_string(ARRAY, TEXT, TEXT) -> TEXT, joined, "elements with a separator between them, the last text for nulls", on_null;
    array_upper(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::bound_at(a.text(0), a.int(1), true)), "last subscript of a dimension";
    cardinality(ARRAY) -> INT4, |a, _| int(arrays::elements(a.text(0)).len()), "number of elements";
    generate_subscripts(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::subscripts(a.text(0), a.int(1))), "rows of the subscripts of a dimension", rows;
    string_to_array(TEXT, TEXT) -> TEXTS, |a, _| split(a), "parts of a text between separators", on_null;
    string_to_array(TEXT, TEXT, TEXT) -> TEXTS, |a, _| split(a), "parts of a text between separators; those that are the last text are null", on_null;
    unnest(ARRAY) -> ELEMENT, |a, _| text(a.text(0)), "rows of the elements", rows;
};

fn removed(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let array = a.given_text(0);
    array.map_or(Ok(Value::Null), |array| {
        arrays::removed(array, a.value(1), a.kind(2))
    })
}

fn position(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let array = a.given_text(0);
    array.map_or(Ok(Value::Null), |array| {
        arrays::position(array, a.value(1), a.kind(2))
    })
}

fn joined(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    Ok(match (a.given_text(0), a.given_text(1)) {
        (Some(array), Some(separator)) => arrays::joined(array, separator, a.given_text(2)),
        _ => Value::Null,
    })
}

fn split(a: Arguments<'_>) -> Answer {
    let of = |text| arrays::split(text, a.given_text(1), a.given_text(2));
    Ok(a.given_text(0).map_or(Value::Null, of))
}

/// `ARRAY[…]`: the number of the elements' type, and the elements.
pub(crate) static MADE: Definition = Definition::new(
    "array",
    &[INT4, ELEMENT],
    ARRAY,
    |a, _| arrays::made(a.kind(0), a.all().skip(1)),
    "",
)
.on_null();

/// An element by its subscripts, which stand behind the number of its type.
pub(crate) static ELEMENT_AT: Definition = Definition::new(
    "array_subscript",
    &[ARRAY, INT4, INT4],
    ELEMENT,
    |a, _| {
        let numbers = (2..a.len()).map(|at| a.given_int(at).unwrap_or(-1));
        let numbers: Vec<i64> = numbers.collect();
        arrays::element_at(a.text(0), &numbers, a.kind(1))
    },
    "",
);

/// The numbers of the elements, as an array.
pub(crate) static ORDINALS: Definition = Definition::new(
    "ordinals",
    &[ARRAY],
    INT4,
    |a, _| Ok(arrays::ordinals(a.text(0))),
    "",
)
.rows();

/// Bytes by which arrays are ordered and told apart; the number of the elements' type stands behind the array.
pub(crate) static KEY: Definition = Definition::new(
    "array_key",
    &[ARRAY, INT4],
    BYTEA,
    |a, _| arrays::order_key(a.text(0), a.kind(1)).map(Value::Bytes),
    "",
);

/// `ANY` and `ALL`: a value, an array, the number of the elements' type, a comparison, and true for `ALL`.
pub(crate) static COMPARED: Definition = Definition::new(
    "array_compare",
    &[ELEMENT, ARRAY, INT4, TEXT, BOOL],
    BOOL,
    |a, _| {
        let Some(array) = a.given_text(1) else {
            return Ok(Value::Null);
        };
        let comparison = a.given_text(3).and_then(Comparison::of_symbol);
        let against = arrays::Against {
            comparison: comparison.unwrap_or(Comparison::Equal),
            is_all: a.is_true(4),
        };
        against.truth(a.value(0), array, a.kind(2))
    },
    "",
)
.on_null();
