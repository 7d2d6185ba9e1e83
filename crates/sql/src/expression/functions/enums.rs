//! Functions of enum types. Their arguments only give the type, and may be null.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::types::{EnumType, SqlType};
use crate::values::arrays::array_of;
use sardonyx::schema::{Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    enum_first(ENUM) -> ENUM, |a, _| Ok(at_end(a, false)), "first label of the type", on_null;
    enum_last(ENUM) -> ENUM, |a, _| Ok(at_end(a, true)), "last label of the type", on_null;
    enum_range(ENUM) -> ENUMS, |a, _| Ok(range(a, ValueRef::Null, ValueRef::Null)), "all labels of the type", on_null;
    enum_range(ENUM, ENUM) -> ENUMS, |a, _| Ok(range(a, a.value(1), a.value(3))), "labels between two; null for no bound", on_null;
};

/// The error of a value outside a domain: the name of the domain, and that of the condition. The latter is empty if the
/// domain does not allow nulls.
pub(crate) static OUTSIDE_OF_DOMAIN: Definition = Definition::new(
    "domain_check",
    &[TEXT, TEXT],
    VOID,
    |a, _| {
        Err(match (a.text(0), a.text(1)) {
            (domain, "") => SqlError::new(
                code::NOT_NULL,
                format!("domain {domain} does not allow null values"),
            ),
            (domain, check) => SqlError::new(
                code::CHECK,
                format!("value for domain {domain} violates check constraint \"{check}\""),
            )
            .of_constraint(check),
        })
    },
    "",
)
.stable();

fn of(a: Arguments<'_>) -> Option<EnumType> {
    match a.kind(0) {
        SqlType::Enum(of) => Some(of),
        _ => None,
    }
}

fn at_end(a: Arguments<'_>, last: bool) -> Value {
    let labels = of(a).map_or(&[][..], |of| &of.definition().labels);
    let label = if last { labels.last() } else { labels.first() };
    label.map_or(Value::Null, |label| Value::Int(label.position.into()))
}

fn range(a: Arguments<'_>, low: ValueRef<'_>, high: ValueRef<'_>) -> Value {
    let Some(of) = of(a) else {
        return Value::Null;
    };
    let bound = |value, otherwise| match value {
        ValueRef::Int(position) => position,
        _ => otherwise,
    };
    let range = bound(low, i128::MIN)..=bound(high, i128::MAX);
    let positions = of.definition().labels.iter();
    let positions = positions.map(|label| i128::from(label.position));
    let within = positions.filter(|position| range.contains(position));
    array_of(SqlType::Enum(of), within.map(ValueRef::Int))
}
