//! Functions of arrays, and of their operators.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Comparison;
use crate::text::text_of;
use crate::types::SqlType;
use crate::values::arithmetic::{decimal_of, shift, shift_in};
use crate::values::arrays;
use crate::values::equality_keys::key_of_row;
use crate::values::intervals::Interval;
use crate::values::order_keys::check_comparable;
use sardonyx::schema::{NonFinite, Value, ValueRef};
use sardonyx_rows::condition::compare;
use std::collections::HashSet;

pub(super) static TABLE: &[Definition] = functions! {
    _pg_expandarray(ARRAY) -> ELEMENT, |a, _| text(a.text(0)), "rows of the elements `x` with their numbers `n`", rows;
    array_append(ARRAY, ELEMENT) -> ARRAY, |a, _| arrays::appended(a.given_text(0), a.value(1), a.kind(2)), "with an element behind the last", on_null;
    array_cat(ARRAY, ARRAY) -> ARRAY, |a, _| arrays::concatenated(a.given_text(0), a.given_text(1)), "one behind the other", on_null;
    arraycontained(ARRAY, ARRAY) -> BOOL, |a, with| has_all(a, (1, 0), with), "`array <@ array`: true if the second has all elements of the first";
    arraycontains(ARRAY, ARRAY) -> BOOL, |a, with| has_all(a, (0, 1), with), "`array @> array`: true if the first has all elements of the second";
    arrayoverlap(ARRAY, ARRAY) -> BOOL, overlap, "`array && array`: true if an element is in both";
    array_dims(ARRAY) -> TEXT, |a, _| Ok(arrays::dimensions(a.text(0)).map_or(Value::Null, |(_, bounds)| Value::Text(bounds))), "bounds of the dimensions as a text";
    array_fill(ELEMENT, INTS) -> ARRAY, filled, "an array of a value, by the lengths of its dimensions", on_null;
    array_fill(ELEMENT, INTS, INTS) -> ARRAY, filled, "the same with the first subscripts of its dimensions", on_null;
    array_length(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::length_at(a.text(0), a.int(1))), "length of a dimension";
    array_lower(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::bound_at(a.text(0), a.int(1), false)), "first subscript of a dimension";
    array_ndims(ARRAY) -> INT4, |a, _| Ok(arrays::dimensions(a.text(0)).map_or(Value::Null, |(count, _)| Value::Int(count as i128))), "number of dimensions";
    array_position(ARRAY, ELEMENT) -> INT4, position, "subscript of the first element that is the value", on_null;
    array_position(ARRAY, ELEMENT, INT4) -> INT4, position_from, "the same, from a subscript on", on_null;
    array_positions(ARRAY, ELEMENT) -> INTS, positions, "subscripts of the elements that are the value", on_null;
    array_prepend(ELEMENT, ARRAY) -> ARRAY, |a, _| arrays::prepended(a.given_text(0), a.value(1), a.kind(2)), "with an element before the first", on_null;
    array_remove(ARRAY, ELEMENT) -> ARRAY, removed, "without the elements that are the value", on_null;
    array_replace(ARRAY, ELEMENT, ELEMENT) -> ARRAY, replaced, "with another value in the place of the elements that are a value", on_null;
    array_to_string(ARRAY, TEXT) -> TEXT, |a, _| Ok(arrays::joined(a.text(0), a.text(1), None)), "elements with a separator between them, without nulls";
    array_to_string(ARRAY, TEXT, TEXT) -> TEXT, joined, "elements with a separator between them, the last text for nulls", on_null;
    array_upper(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::bound_at(a.text(0), a.int(1), true)), "last subscript of a dimension";
    cardinality(ARRAY) -> INT4, |a, _| int(arrays::elements(a.text(0)).len()), "number of elements";
    generate_subscripts(ARRAY, INT4) -> INT4, |a, _| Ok(arrays::subscripts(a.text(0), a.int(1))), "rows of the subscripts of a dimension", rows;
    generate_subscripts(ARRAY, INT4, BOOL) -> INT4, |a, _| Ok(match a.value(2) { ValueRef::Bool(true) => arrays::subscripts_back(a.text(0), a.int(1)), _ => arrays::subscripts(a.text(0), a.int(1)) }), "rows of the subscripts of a dimension; with `true` from the last to the first", rows;
    generate_series(INT4, INT4) -> INT4, series, "rows of the numbers from one to another", rows;
    generate_series(INT4, INT4, INT4) -> INT4, series, "rows of the numbers from one to another by steps", rows;
    generate_series(INT8, INT8) -> INT8, series, "rows of the numbers from one to another", rows;
    generate_series(INT8, INT8, INT8) -> INT8, series, "rows of the numbers from one to another by steps", rows;
    generate_series(NUMERIC, NUMERIC) -> NUMERIC, decimal_series, "rows of the numbers from one to another", rows;
    generate_series(NUMERIC, NUMERIC, NUMERIC) -> NUMERIC, decimal_series, "rows of the numbers from one to another by steps", rows;
    generate_series(TIMESTAMP, TIMESTAMP, INTERVAL) -> TIMESTAMP, |a, with| moment_series(a, SqlType::Timestamp, with), "rows of the moments from one to another by steps", rows;
    generate_series(TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ, |a, with| moment_series(a, SqlType::Timestamptz, with), "rows of the moments from one to another by steps in the session's time zone", stable, rows;
    string_to_array(TEXT, TEXT) -> TEXTS, |a, _| split(a), "parts of a text between separators", on_null;
    string_to_array(TEXT, TEXT, TEXT) -> TEXTS, |a, _| split(a), "parts of a text between separators; those that are the last text are null", on_null;
    string_to_table(TEXT, TEXT) -> TEXT, |a, _| split(a), "rows of the parts of a text between separators", on_null, rows;
    string_to_table(TEXT, TEXT, TEXT) -> TEXT, |a, _| split(a), "rows of the parts of a text between separators; those that are the last text are null", on_null, rows;
    trim_array(ARRAY, INT4) -> ARRAY, shortened, "without so many elements at its end";
    unnest(ARRAY) -> ELEMENT, |a, _| text(a.text(0)), "rows of the elements", rows;
    width_bucket(ELEMENT, ARRAY) -> INT4, bucket, "number of elements, of an array in order, that the value is not below";
};

/// Keys of an argument's elements: equal elements have equal keys. A null equals nothing and has none.
fn element_keys(a: Arguments<'_>, at: usize) -> Result<Vec<Option<Vec<u8>>>, SqlError> {
    let element = a.kind(2);
    check_comparable(element, "equality")?;
    let values = arrays::keys(a.text(at), element)?.into_iter();
    let keys = values.map(|value| (value != Value::Null).then(|| key_of_row(&[value])));
    Ok(keys.collect())
}

/// True if one of two arrays has all elements of the other one.
fn has_all(
    a: Arguments<'_>,
    (one, other): (usize, usize),
    with: &crate::expression::Environment<'_>,
) -> Answer {
    let there: HashSet<_> = element_keys(a, one)?.into_iter().flatten().collect();
    for key in element_keys(a, other)? {
        with.context.look_at_row()?;
        if !key.is_some_and(|key| there.contains(&key)) {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn overlap(a: Arguments<'_>, with: &crate::expression::Environment<'_>) -> Answer {
    let there: HashSet<_> = element_keys(a, 0)?.into_iter().flatten().collect();
    for key in element_keys(a, 1)?.into_iter().flatten() {
        with.context.look_at_row()?;
        if there.contains(&key) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn removed(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let array = a.given_text(0);
    array.map_or(Ok(Value::Null), |array| {
        arrays::removed(array, a.value(1), a.kind(2))
    })
}

fn replaced(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let Some(array) = a.given_text(0) else {
        return Ok(Value::Null);
    };
    check_comparable(a.kind(3), "equality")?;
    arrays::replaced(array, (a.value(1), a.value(2)), a.kind(3))
}

fn filled(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    // The number of the value's type, the value, the lengths and the first subscripts.
    let null = a.given_text(2).is_none() || a.len() > 3 && a.given_text(3).is_none();
    if null {
        return Err(SqlError::new(
            code::NULL_NOT_ALLOWED,
            "dimension array or low bound array cannot be null",
        ));
    }
    let value = arrays::element_text(a.kind(0), a.value(1));
    arrays::filled(value, a.text(2), a.given_text(3))
}

fn shortened(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let (first, length) = arrays::Array::known(a.text(0))
        .bounds
        .first()
        .copied()
        .unwrap_or((1, 0));
    let cut = a.int(1);
    if !(0..=length as i64).contains(&cut) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(SqlError::new("2202E", message));
    }
    if length == 0 {
        return text(a.text(0));
    }
    let last = first.saturating_add(length as i64 - cut - 1);
    text(arrays::slice(a.text(0), &[None, Some(last)]))
}

fn position(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let array = a.given_text(0);
    array.map_or(Ok(Value::Null), |array| {
        arrays::position(array, a.value(1), a.kind(2), i64::MIN)
    })
}

/// The same from a subscript on.
fn position_from(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    match (a.given_text(0), a.given_int(3)) {
        (None, _) => Ok(Value::Null),
        (Some(text), None) => {
            let found = arrays::position(text, a.value(1), a.kind(2), i64::MIN)?;
            // A null position is an error only where elements are searched.
            let array = arrays::Array::known(text);
            let is_null = a.value(1) == ValueRef::Null;
            match array.elements.is_empty() || is_null && !array.elements.contains(&None) {
                true => Ok(found),
                false => Err(SqlError::new("22004", "initial position must not be null")),
            }
        }
        (Some(array), Some(from)) => arrays::position(array, a.value(1), a.kind(2), from),
    }
}

/// The array, the value, and the number of the type that both have.
fn bucket(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let (array, kind) = (a.text(0), a.kind(2));
    if arrays::Array::known(array).bounds.len() > 1 {
        let text = "thresholds must be one-dimensional array";
        return Err(SqlError::new("2202E", text));
    }
    let thresholds = arrays::keys(array, kind)?;
    if thresholds.contains(&Value::Null) {
        let text = "thresholds array must not contain NULLs";
        return Err(SqlError::new(code::NULL_NOT_ALLOWED, text));
    }
    if let SqlType::Json | SqlType::Jsonpath = kind {
        let text = format!(
            "could not identify a comparison function for type {}",
            kind.name()
        );
        return Err(SqlError::new(code::UNKNOWN_FUNCTION, text));
    }
    let value = arrays::compared_as(a.value(1).to_value(), kind)?;
    let is_within = |threshold: &Value| {
        compare(value.as_ref(), threshold.as_ref()).is_none_or(|order| order.is_ge())
    };
    int(thresholds.partition_point(is_within))
}

fn positions(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    let array = a.given_text(0);
    array.map_or(Ok(Value::Null), |array| {
        arrays::positions(array, a.value(1), a.kind(2))
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

/// The most bytes of a series, which is kept before its rows are given.
const SERIES_BYTES_MAX: usize = 16 << 20;

/// Appends a number to a series.
///
/// # Errors
/// `53200` if it takes too much memory.
fn append(series: &mut String, number: &str) -> Result<(), SqlError> {
    series.push(if series.is_empty() { '{' } else { ',' });
    series.push_str(number);
    match series.len() > SERIES_BYTES_MAX {
        true => Err(SqlError::new(
            code::OUT_OF_MEMORY,
            format!(
                "a series that is not of whole numbers in FROM has more than {} MiB",
                SERIES_BYTES_MAX >> 20
            ),
        )
        .hint("Call generate_series with whole numbers in FROM.")),
        false => Ok(()),
    }
}

/// The error of a series without an end.
pub(crate) fn no_step() -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

fn array_of(mut series: String) -> Answer {
    series.push_str(if series.is_empty() { "{}" } else { "}" });
    text(series)
}

fn series(a: Arguments<'_>, with: &crate::expression::Environment<'_>) -> Answer {
    let (mut now, to, step) = (a.int(0), a.int(1), a.given_int(2).unwrap_or(1));
    if step == 0 {
        return Err(no_step());
    }
    let mut numbers = String::new();
    while (step > 0 && now <= to) || (step < 0 && now >= to) {
        with.context.look_at_row()?;
        append(&mut numbers, &now.to_string())?;
        let Some(next) = now.checked_add(step) else {
            break;
        };
        now = next;
    }
    array_of(numbers)
}

fn decimal_series(a: Arguments<'_>, with: &crate::expression::Environment<'_>) -> Answer {
    for (at, name) in ["start value", "stop value", "step size"]
        .iter()
        .enumerate()
    {
        let reason = match a.value(at) {
            ValueRef::NonFinite(NonFinite::NaN) => "NaN",
            ValueRef::NonFinite(_) => "infinity",
            _ => continue,
        };
        let text = format!("{name} cannot be {reason}");
        return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
    }
    let of = |at| decimal_of(a.value(at)).unwrap_or((1, 0));
    let (from, to, step) = (of(0), of(1), of(2));
    // All numbers have the most digits of the three; the first is given unchanged.
    let scale = from.1.max(to.1).max(step.1);
    let units = |(units, digits): (i128, u8)| {
        let more = 10_i128.checked_pow(u32::from(scale - digits));
        let units = more.and_then(|more| units.checked_mul(more));
        units.ok_or_else(|| SqlError::new(code::OUT_OF_RANGE, "numeric field overflow"))
    };
    let (first, to, by) = (units(from)?, units(to)?, units(step)?);
    if by == 0 {
        return Err(no_step());
    }
    let (mut now, mut shown) = (first, from.1);
    let mut numbers = String::new();
    while (by > 0 && now <= to) || (by < 0 && now >= to) {
        with.context.look_at_row()?;
        let less = 10_i128.pow(u32::from(scale - shown));
        let mut number = String::new();
        let value = Value::Decimal(now / less, shown);
        crate::text::encode_text(SqlType::Numeric, &value.as_ref(), &mut number);
        append(&mut numbers, &number)?;
        shown = from.1.max(step.1);
        let Some(next) = now.checked_add(by) else {
            break;
        };
        now = next;
    }
    array_of(numbers)
}

fn moment_series(
    a: Arguments<'_>,
    kind: SqlType,
    with: &crate::expression::Environment<'_>,
) -> Answer {
    let step = Interval::known(a.text(2));
    let length = step.length();
    if length == 0 {
        return Err(no_step());
    }
    let (mut now, to) = (a.value(0).to_value(), a.value(1).to_value());
    let mut moments = String::new();
    loop {
        let order = compare(now.as_ref(), to.as_ref());
        let is_within = order.is_some_and(|order| match length > 0 {
            true => order.is_le(),
            false => order.is_ge(),
        });
        if !is_within {
            return array_of(moments);
        }
        with.context.look_at_row()?;
        let text = text_of(kind, now.as_ref()).unwrap_or_default();
        append(&mut moments, &format!("\"{text}\""))?;
        now = match kind {
            SqlType::Timestamptz => shift_in(now.as_ref(), &step, with.context.zone())?,
            kind => shift(now.as_ref(), &step, kind)?,
        };
    }
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

/// An element by its subscripts, which follow the number of its type.
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

/// Elements between bounds. After the array, each bound has a flag that it is given, and its number.
pub(crate) static SLICE: Definition = Definition::new(
    "array_slice",
    &[ARRAY, BOOL, INT4],
    ARRAY,
    |a, _| {
        let Some(array) = a.given_text(0) else {
            return Ok(Value::Null);
        };
        let mut bounds = Vec::new();
        for at in (1..a.len()).step_by(2) {
            let number = a.given_int(at + 1);
            if a.is_true(at) && number.is_none() {
                return Ok(Value::Null);
            }
            bounds.push(number);
        }
        text(arrays::slice(array, &bounds))
    },
    "",
)
.on_null();

/// The numbers of the elements, as an array.
pub(crate) static ORDINALS: Definition = Definition::new(
    "ordinals",
    &[ARRAY],
    INT4,
    |a, _| Ok(arrays::ordinals(a.text(0))),
    "",
)
.rows();

/// Bytes that order arrays, and are equal for equal ones. The number of the elements' type follows the array.
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
