//! The call of a function with the elements of an array as its last arguments: `VARIADIC`.

use super::all;
use super::definition::*;
use crate::expression::{Datum, Environment};
use crate::values::arrays;
use sardonyx::schema::{Value, ValueRef};
use std::sync::LazyLock;

static ALL: LazyLock<Vec<Function>> = LazyLock::new(|| all().collect());

/// The place of a function among all.
pub(in crate::expression) fn place_of(function: Function) -> usize {
    let found = ALL.iter().position(|known| *known == function);
    found.unwrap_or(usize::MAX)
}

/// The function's place, its arguments before the array, the number of the type of the elements, and the array.
pub(in crate::expression) static SPREAD: Definition =
    Definition::new("variadic", &[INT4, INT4, ARRAY], ANY, spread, "")
        .variadic()
        .stable()
        .on_null();

fn spread(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let place = usize::try_from(a.int(0)).unwrap_or(usize::MAX);
    let last = a.len().saturating_sub(1);
    let Some(function) = ALL.get(place) else {
        return Ok(Value::Null);
    };
    let elements = match a.value(last) {
        ValueRef::Text(array) => arrays::values(array, a.kind(last - 1))?,
        // `format` has no values then.
        _ if function.is("format") => Vec::new(),
        _ => return Ok(Value::Null),
    };
    let is_typed = function.0.arguments.last() == Some(&Kind::Any);
    let number = a.value(last - 1);
    let mut values: Vec<Datum<'_>> = Vec::with_capacity(last + 2 * elements.len());
    values.extend(a.all().take(last - 1).skip(1).map(Datum::Borrowed));
    for element in &elements {
        with.context.look_at_row()?;
        if is_typed {
            values.push(Datum::Borrowed(number));
        }
        values.push(Datum::Borrowed(element.as_ref()));
    }
    function.call(&values, with)
}
