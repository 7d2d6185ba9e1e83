//! Functions that build arrays, take them apart, and return their bounds.

use super::reading::{DIMENSIONS_MAX, too_many_dimensions};
use super::{Array, compared_as, element_text, element_value, elements, keys, written};
use crate::error::{SqlError, code};
use crate::types::SqlType;
use sardonyx::schema::{VALUE_BYTES_MAX, Value, ValueRef};
use sardonyx_rows::condition::compare;
use std::cmp::Ordering;

fn subscript_error(message: &str) -> SqlError {
    SqlError::new("2202E", message)
}

/// `ARRAY[…]`: an array of values of a type, or of arrays, with one dimension more.
///
/// # Errors
/// `2202E` if the arrays have different dimensions, `54000` if they have too many.
pub(crate) fn made<'v>(
    kind: SqlType,
    values: impl Iterator<Item = ValueRef<'v>>,
) -> Result<Value, SqlError> {
    match kind.element() {
        None => Ok(super::array_of(kind, values)),
        Some(_) => nested(
            values,
            "multidimensional arrays must have array expressions with matching dimensions",
        ),
    }
}

/// An array of the arrays that an aggregate, or a query, gives. The first that does not fit is refused.
///
/// # Errors
/// `2202E`; `22004` for a null.
pub(crate) fn accumulated<'v>(
    values: impl Iterator<Item = ValueRef<'v>> + Clone,
) -> Result<Value, SqlError> {
    let mismatch = "cannot accumulate arrays of different dimensionality";
    if matches!(values.clone().next(), Some(ValueRef::Text("{}"))) {
        return Err(SqlError::new("2202E", "cannot accumulate empty arrays"));
    }
    let is_null = |value: &ValueRef<'_>| *value == ValueRef::Null;
    if let Some(at) = values.clone().position(|value| is_null(&value)) {
        if at > 1 {
            nested(values.take(at), mismatch)?;
        }
        return Err(SqlError::new("22004", "cannot accumulate null arrays"));
    }
    nested(values, mismatch)
}

/// An array of arrays.
///
/// # Errors
/// As [`made`], with this message.
pub(crate) fn nested<'v>(
    values: impl Iterator<Item = ValueRef<'v>>,
    mismatch: &str,
) -> Result<Value, SqlError> {
    let mut whole = Array::default();
    let (mut count, mut inner) = (0, None);
    for value in values {
        let part = match value {
            ValueRef::Text(text) => Array::known(text),
            _ => Array::default(),
        };
        if inner.get_or_insert_with(|| part.bounds.clone()) != &part.bounds {
            return Err(subscript_error(mismatch));
        }
        whole.elements.extend(part.elements);
        count += 1;
    }
    let inner = inner.unwrap_or_default();
    if inner.len() >= DIMENSIONS_MAX {
        return Err(too_many_dimensions(inner.len() + 1));
    }
    if !whole.elements.is_empty() {
        whole.bounds = std::iter::once((1, count)).chain(inner).collect();
    }
    Ok(whole.value())
}

/// Concatenates two arrays. If their numbers of dimensions differ, one becomes a part of the other.
///
/// # Errors
/// `2202E` if they do not fit.
pub(crate) fn concatenated(left: Option<&str>, right: Option<&str>) -> Result<Value, SqlError> {
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) => (Array::known(left), Array::known(right)),
        (Some(one), None) | (None, Some(one)) => return Ok(Value::Text(one.to_string())),
        (None, None) => return Ok(Value::Null),
    };
    if left.bounds.is_empty() {
        return Ok(right.value());
    }
    if right.bounds.is_empty() {
        return Ok(left.value());
    }
    let (a, b) = (&left.bounds, &right.bounds);
    let bounds = match a.len() as i64 - b.len() as i64 {
        0 if a[1..] == b[1..] => {
            let mut bounds = left.bounds.clone();
            bounds[0].1 += b[0].1;
            bounds
        }
        1 if a[1..] == b[..] => {
            let mut bounds = left.bounds.clone();
            bounds[0].1 += 1;
            bounds
        }
        -1 if b[1..] == a[..] => {
            let mut bounds = right.bounds.clone();
            bounds[0].1 += 1;
            bounds
        }
        _ => return Err(subscript_error("cannot concatenate incompatible arrays")),
    };
    let elements = left.elements.into_iter().chain(right.elements).collect();
    Ok(Array { bounds, elements }.value())
}

fn of_one_dimension(array: Option<&str>) -> Result<Array, SqlError> {
    let array = array.map(Array::known).unwrap_or_default();
    match array.bounds.len() > 1 {
        false => Ok(array),
        true => Err(SqlError::new(
            "22000",
            "argument must be empty or one-dimensional array",
        )),
    }
}

/// Appends an element.
///
/// # Errors
/// `22000` if it has several dimensions.
pub(crate) fn appended(
    array: Option<&str>,
    element: ValueRef<'_>,
    kind: SqlType,
) -> Result<Value, SqlError> {
    let mut array = of_one_dimension(array)?;
    array.elements.push(element_text(kind, element));
    match array.bounds.first_mut() {
        Some(bounds) => bounds.1 += 1,
        None => array.bounds.push((1, 1)),
    }
    Ok(array.value())
}

/// Prepends an element, which gets the first one's number.
///
/// # Errors
/// As [`appended`].
pub(crate) fn prepended(
    array: Option<&str>,
    element: ValueRef<'_>,
    kind: SqlType,
) -> Result<Value, SqlError> {
    let mut array = of_one_dimension(array)?;
    array.elements.insert(0, element_text(kind, element));
    match array.bounds.first_mut() {
        Some(bounds) => bounds.1 += 1,
        None => array.bounds.push((1, 1)),
    }
    Ok(array.value())
}

/// Removes the elements that are equal to a value.
///
/// # Errors
/// `0A000` if it has several dimensions.
pub(crate) fn removed(array: &str, value: ValueRef<'_>, kind: SqlType) -> Result<Value, SqlError> {
    let mut array = Array::known(array);
    if array.bounds.len() > 1 {
        return Err(SqlError::unsupported(
            "removing elements from multidimensional arrays is not supported",
        ));
    }
    let sought = compared_as(value.to_value(), kind)?;
    let mut keys = keys(&array.text(), kind)?.into_iter();
    array.elements.retain(|_| match (keys.next(), &sought) {
        (Some(key), Value::Null) => key != Value::Null,
        (Some(key), sought) => compare(key.as_ref(), sought.as_ref()) != Some(Ordering::Equal),
        (None, _) => true,
    });
    // The first number stays.
    match array.bounds.first_mut() {
        Some(bounds) if !array.elements.is_empty() => bounds.1 = array.elements.len(),
        _ => array.bounds.clear(),
    }
    Ok(array.value())
}

/// Replaces the elements that are equal to a value, in all dimensions.
///
/// # Errors
/// As [`keys`]; `54000` beyond the longest value.
pub(crate) fn replaced(
    array: &str,
    (value, by): (ValueRef<'_>, ValueRef<'_>),
    kind: SqlType,
) -> Result<Value, SqlError> {
    let mut whole = Array::known(array);
    let sought = compared_as(value.to_value(), kind)?;
    let by = element_text(kind, by);
    let keys = keys(array, kind)?.into_iter();
    let bytes_of = |element: &Option<String>| element.as_ref().map_or(0, String::len);
    let mut bytes = array.len();
    for (element, key) in whole.elements.iter_mut().zip(keys) {
        let is_it = match sought {
            Value::Null => element.is_none(),
            _ => compare(key.as_ref(), sought.as_ref()) == Some(Ordering::Equal),
        };
        if is_it {
            bytes = bytes.saturating_sub(bytes_of(element)) + bytes_of(&by);
            if bytes > VALUE_BYTES_MAX {
                return Err(SqlError::new(
                    code::PROGRAM_LIMIT,
                    format!("an array of {bytes} bytes is too long: {VALUE_BYTES_MAX} are allowed"),
                ));
            }
            element.clone_from(&by);
        }
    }
    Ok(whole.value())
}

/// The most elements of an array that is filled with one value.
const FILLED_MAX: i64 = 1 << 20;

/// An array of one value, by the lengths of its dimensions and the numbers of their first elements.
///
/// # Errors
/// `22004` for a null among the numbers, `2202E` for arrays of them that do not fit, `54000` beyond the bounds.
pub(crate) fn filled(
    value: Option<String>,
    lengths: &str,
    firsts: Option<&str>,
) -> Result<Value, SqlError> {
    let numbers = |text: &str, name: &str| {
        let array = Array::known(text);
        if array.bounds.len() > 1 {
            let detail = format!("{name} array must be one dimensional.");
            return Err(subscript_error("wrong number of array subscripts").detail(detail));
        }
        let null = || SqlError::new(code::NULL_NOT_ALLOWED, "dimension values cannot be null");
        let numbers = array.elements.into_iter();
        let numbers =
            numbers.map(|number| number.and_then(|text| text.parse().ok()).ok_or_else(null));
        numbers.collect::<Result<Vec<i64>, _>>()
    };
    let lengths = numbers(lengths, "Dimension")?;
    if lengths.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(lengths.len()));
    }
    let firsts = match firsts {
        Some(firsts) => numbers(firsts, "Dimension")?,
        None => vec![1; lengths.len()],
    };
    if firsts.len() != lengths.len() {
        let detail = "Low bound array has different size than dimensions array.";
        return Err(subscript_error("wrong number of array subscripts").detail(detail));
    }
    let too_many = |most: i64| {
        SqlError::new(
            code::PROGRAM_LIMIT,
            format!("array size exceeds the maximum allowed ({most})"),
        )
    };
    // That of PostgreSQL, which reports it also of negative lengths.
    const ELEMENTS_MAX: i64 = 134_217_727;
    let mut count = 1_i64;
    for length in &lengths {
        count = match count.checked_mul(*length) {
            Some(count @ 0..=ELEMENTS_MAX) if *length >= 0 => count,
            _ => return Err(too_many(ELEMENTS_MAX)),
        };
    }
    let of_value = value.as_ref().map_or(0, String::len) as i64;
    if count > FILLED_MAX || count.saturating_mul(of_value) > VALUE_BYTES_MAX as i64 {
        return Err(too_many(FILLED_MAX));
    }
    let mut whole = Array::default();
    if count > 0 && !lengths.is_empty() {
        for (first, length) in firsts.iter().zip(&lengths) {
            if first + length > i64::from(i32::MAX) {
                return Err(SqlError::new(
                    code::PROGRAM_LIMIT,
                    format!("array lower bound is too large: {first}"),
                ));
            }
            whole.bounds.push((*first, *length as usize));
        }
        whole.elements = vec![value; count as usize];
    }
    Ok(whole.value())
}

/// The number of the first element, from a number on, that is a value; null if none is.
///
/// # Errors
/// `0A000` if it has several dimensions.
pub(crate) fn position(
    array: &str,
    value: ValueRef<'_>,
    kind: SqlType,
    from: i64,
) -> Result<Value, SqlError> {
    let places = places(array, value, kind)?;
    Ok(places
        .iter()
        .find(|place| **place >= from)
        .map_or(Value::Null, |place| Value::Int((*place).into())))
}

/// The numbers of all elements that equal a value, as an array.
///
/// # Errors
/// As [`position`].
pub(crate) fn positions(
    array: &str,
    value: ValueRef<'_>,
    kind: SqlType,
) -> Result<Value, SqlError> {
    let places = places(array, value, kind)?.into_iter();
    let places = places.map(|place| Some(place.to_string())).collect();
    Ok(Array::of(places).value())
}

fn places(array: &str, value: ValueRef<'_>, kind: SqlType) -> Result<Vec<i64>, SqlError> {
    let known = Array::known(array);
    if known.bounds.len() > 1 {
        return Err(SqlError::unsupported(
            "searching for elements in multidimensional arrays is not supported",
        ));
    }
    let first = known.bounds.first().map_or(1, |(first, _)| *first);
    let sought = compared_as(value.to_value(), kind)?;
    let is_it = |element: &Value| match sought.as_ref() {
        ValueRef::Null => *element == Value::Null,
        value => compare(element.as_ref(), value).is_some_and(|order| order.is_eq()),
    };
    let keys = keys(array, kind)?.into_iter().enumerate();
    let found = keys.filter(|(_, element)| is_it(element));
    Ok(found.map(|(place, _)| first + place as i64).collect())
}

/// The parts of a text between separators, as an array; its characters with a null for the separator.
pub(crate) fn split(text: &str, separator: Option<&str>, null: Option<&str>) -> Value {
    let parts: Vec<String> = match separator {
        _ if text.is_empty() => Vec::new(),
        None => text.chars().map(String::from).collect(),
        Some("") => vec![text.to_string()],
        Some(separator) => text.split(separator).map(String::from).collect(),
    };
    let parts = parts.into_iter();
    Value::Text(written(
        parts.map(|part| (null != Some(&*part)).then_some(part)),
    ))
}

fn dimension(array: &str, number: i64) -> Option<(i64, usize)> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    Array::known(array).bounds.get(place).copied()
}

/// The number of elements of a dimension; null if there is none of that number.
pub(crate) fn length_at(array: &str, number: i64) -> Value {
    dimension(array, number).map_or(Value::Null, |(_, length)| Value::Int(length as i128))
}

/// The number of the first element of a dimension, or of the last; null if there is none of the number.
pub(crate) fn bound_at(array: &str, number: i64, is_upper: bool) -> Value {
    dimension(array, number).map_or(Value::Null, |(first, length)| {
        let more = if is_upper { length as i64 - 1 } else { 0 };
        Value::Int((first + more).into())
    })
}

/// The number of dimensions, and their bounds as a text; `None` if the array is empty.
pub(crate) fn dimensions(array: &str) -> Option<(usize, String)> {
    let bounds = Array::known(array).bounds;
    let mut text = String::new();
    for (first, length) in &bounds {
        text += &format!("[{first}:{}]", first + *length as i64 - 1);
    }
    (!bounds.is_empty()).then_some((bounds.len(), text))
}

/// The numbers of the elements of a dimension, as an array.
pub(crate) fn subscripts(array: &str, number: i64) -> Value {
    let (first, length) = dimension(array, number).unwrap_or((1, 0));
    let numbers = (first..).take(length);
    Value::Text(written(numbers.map(|number| Some(number.to_string()))))
}

/// The same from the last to the first.
pub(crate) fn subscripts_back(array: &str, number: i64) -> Value {
    let (first, length) = dimension(array, number).unwrap_or((1, 0));
    let numbers = (first..).take(length).collect::<Vec<_>>().into_iter().rev();
    Value::Text(written(numbers.map(|number| Some(number.to_string()))))
}

/// The numbers of an array's elements from 1, as an array.
pub(crate) fn ordinals(array: &str) -> Value {
    let numbers = (1_usize..).take(elements(array).len());
    Value::Text(written(numbers.map(|number| Some(number.to_string()))))
}

/// The element of these numbers, one for each dimension, as a value of its type; null if there is none.
///
/// # Errors
/// As [`values`].
pub(crate) fn element_at(array: &str, numbers: &[i64], kind: SqlType) -> Result<Value, SqlError> {
    let array = Array::known(array);
    if numbers.len() != array.bounds.len() {
        return Ok(Value::Null);
    }
    let mut place = 0;
    for (number, (first, length)) in numbers.iter().zip(&array.bounds) {
        match usize::try_from(number - first) {
            Ok(within) if within < *length => place = place * length + within,
            _ => return Ok(Value::Null),
        }
    }
    match array.elements.into_iter().nth(place).flatten() {
        Some(text) => element_value(kind, &text),
        None => Ok(Value::Null),
    }
}

/// The text of the elements between two bounds of each dimension, the lower one first; `None` is the array's bound.
/// Dimensions without bounds are taken whole. The first element of each is number 1.
///
/// The array is empty if a dimension has no element between its bounds, or if there are bounds for more dimensions than
/// it has.
pub(crate) fn slice(array: &str, bounds: &[Option<i64>]) -> String {
    let Array {
        bounds: there,
        elements,
    } = Array::known(array);
    let empty = || Array::of(Vec::new()).text();
    if bounds.len() / 2 > there.len() {
        return empty();
    }
    // The places of each dimension from its first element, and the elements of each of its places.
    let mut kept = Vec::with_capacity(there.len());
    for (at, (first, length)) in there.iter().enumerate() {
        let bound = |at: usize| bounds.get(at).copied().flatten();
        let last = first.saturating_add(*length as i64).saturating_sub(1);
        let lower = bound(2 * at).unwrap_or(*first).max(*first);
        let upper = bound(2 * at + 1).unwrap_or(last).min(last);
        if lower > upper {
            return empty();
        }
        kept.push((lower - first) as usize..(upper - first) as usize + 1);
    }
    let is_kept = |place: usize| {
        let mut rest = place;
        there.iter().zip(&kept).rev().all(|((_, length), kept)| {
            let within = rest % length;
            rest /= length;
            kept.contains(&within)
        })
    };
    let elements = elements.into_iter().enumerate();
    let elements = elements.filter_map(|(place, element)| is_kept(place).then_some(element));
    Array {
        bounds: kept.iter().map(|kept| (1, kept.len())).collect(),
        elements: elements.collect(),
    }
    .text()
}
