//! Values that an aggregate collects, and combines at its end: their order, and JSON of them.

use super::{Aggregate, AggregateKind};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::types::SqlType;
use crate::values::json;
use crate::values::json_tree::Json;
use crate::values::order_keys::order_key_of;
use sardonyx::schema::Value;
use sardonyx_rows::condition::compare;
use std::cmp::Ordering;

/// A value collected with others: its keys in the order, and the separator before it.
#[derive(Clone, Debug)]
pub(super) struct Collected {
    pub keys: Vec<Value>,
    pub value: Value,
    pub separator: Value,
}

/// Values as an array of JSON, or with their names as an object.
pub(super) fn json_together(
    of: &Aggregate,
    parts: &[&Collected],
    with: &Environment<'_>,
) -> Result<Value, SqlError> {
    let zone = with.context.zone();
    let has_parts =
        of.of.element().is_some() || matches!(of.of, SqlType::Record | SqlType::Composite(_));
    let is_object = of.kind == AggregateKind::JsonObject;
    let mut text = String::from(if is_object { "{ " } else { "[" });
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
            if !is_object && has_parts && part.value != Value::Null {
                text.push_str("\n ");
            }
        }
        if is_object {
            json::push_field(&part.separator, &mut text)?;
            text.push_str(" : ");
        }
        json::push_value(of.of, part.value.as_ref(), zone.as_ref(), &mut text)?;
    }
    text.push_str(if is_object { " }" } else { "]" });
    match of.result {
        SqlType::Jsonb => Json::read(&text)?.value(),
        _ => Ok(Value::Text(text)),
    }
}

/// Values in the order of the arguments: that of PostgreSQL, which finds equal ones by sorting.
pub(super) fn by_arguments<'p>(
    of: &Aggregate,
    parts: Vec<&'p Collected>,
) -> Result<Vec<&'p Collected>, SqlError> {
    let mut keyed = Vec::with_capacity(parts.len());
    for part in parts {
        let own = order_key_of(of.of, part.value.as_ref())?;
        let own = own.unwrap_or_else(|| part.value.clone());
        let other = part.separator.clone();
        keyed.push(match of.kind {
            AggregateKind::JsonObject => ([other, own], part),
            _ => ([own, other], part),
        });
    }
    let in_order = |(a, b): (&Value, &Value)| {
        let is_null = |key: &Value| *key == Value::Null;
        let order = compare(a.as_ref(), b.as_ref());
        order.unwrap_or_else(|| is_null(a).cmp(&is_null(b)))
    };
    keyed.sort_by(|(a, _), (b, _)| {
        let orders = a.iter().zip(b).map(in_order);
        orders.fold(Ordering::Equal, Ordering::then)
    });
    Ok(keyed.into_iter().map(|(_, part)| part).collect())
}
