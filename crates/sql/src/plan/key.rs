//! Values as keys of indexes, converted to the column's type.

use crate::values::arithmetic::decimal_of;
use sardonyx::schema::{Type, Value, ValueRef};
use sardonyx_rows::value_text::rescale;

/// The equal value of a column's type; `None` if the value equals no value of that type.
pub(crate) fn key_value(value: Value, kind: Type) -> Option<Value> {
    if let Some((low, high)) = kind.integer_range() {
        let whole = whole_number(&value)?;
        return (low..=high).contains(&whole).then_some(Value::Int(whole));
    }
    match (kind, value) {
        (_, Value::Null) => None,
        (Type::U128, value) => match value {
            Value::U128(value) => Some(Value::U128(value)),
            other => u128::try_from(whole_number(&other)?).ok().map(Value::U128),
        },
        (Type::F64, value) => float_number(&value).map(Value::Float),
        (Type::F32, value) => {
            let wide = float_number(&value)?;
            let is_one = f64::from(wide as f32) == wide || wide.is_nan();
            is_one.then_some(Value::Float(wide))
        }
        (Type::Decimal { scale }, value) => {
            let value = match value {
                Value::Float(float) => crate::values::arithmetic::decimal_of_float(float)?,
                other => other,
            };
            if let Value::NonFinite(_) = value {
                return Some(value);
            }
            let (units, from) = decimal_of(value.as_ref())?;
            let units = rescale(units, from, scale).ok()?;
            match ValueRef::decimal(units, scale) {
                ValueRef::NonFinite(_) => None,
                number => Some(number.to_value()),
            }
        }
        (Type::Bool, value @ Value::Bool(_))
        | (Type::Text, value @ Value::Text(_))
        | (Type::Bytes | Type::Plain { .. }, value @ Value::Bytes(_))
        | (Type::Date, value @ Value::Date(_))
        | (Type::Time, value @ Value::Time(_))
        | (Type::Timestamp, value @ Value::Timestamp(_))
        | (Type::Uuid, value @ Value::Uuid(_)) => Some(value),
        _ => None,
    }
}

fn whole_number(value: &Value) -> Option<i128> {
    match *value {
        Value::Int(value) => Some(value),
        Value::U128(value) => i128::try_from(value).ok(),
        Value::Decimal(units, scale) => rescale(units, scale, 0).ok(),
        Value::Float(float) if float.trunc() == float && float.abs() < 2_f64.powi(126) => {
            Some(float as i128)
        }
        _ => None,
    }
}

/// The float that equals a number exactly.
fn float_number(value: &Value) -> Option<f64> {
    match *value {
        Value::Float(float) => Some(float),
        Value::Int(value) => {
            let float = value as f64;
            (float as i128 == value).then_some(float)
        }
        Value::Decimal(..) => value.to_string().parse().ok(),
        Value::NonFinite(value) => Some(value.to_float()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_column_can_have_is_found() {
        assert_eq!(key_value(Value::Int(5), Type::I16), Some(Value::Int(5)));
        assert_eq!(key_value(Value::Int(70_000), Type::I16), None);
        assert_eq!(
            key_value(Value::Decimal(50, 1), Type::I32),
            Some(Value::Int(5))
        );
        assert_eq!(key_value(Value::Decimal(51, 1), Type::I32), None);
        assert_eq!(key_value(Value::Float(2.5), Type::I32), None);
        assert_eq!(
            key_value(Value::Int(5), Type::Decimal { scale: 2 }),
            Some(Value::Decimal(500, 2))
        );
        assert_eq!(key_value(Value::Null, Type::Text), None);
    }
}
