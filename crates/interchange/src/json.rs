//! Values of columns as JSON, and back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sardonyx_table::schema::{Type, Value, ValueRef};
use sardonyx_table::value_text::parse_value;
use serde_json::{Number, Value as Json};

/// A value as JSON; see the crate.
pub fn value_to_json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Bool(value) => Json::Bool(value),
        ValueRef::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Json::from(value),
            (_, Ok(value)) => Json::from(value),
            _ => Json::String(value.to_string()),
        },
        ValueRef::U128(value) => match u64::try_from(value) {
            Ok(value) => Json::from(value),
            Err(_) => Json::String(value.to_string()),
        },
        ValueRef::Float(value) => match Number::from_f64(value) {
            Some(number) => Json::Number(number),
            None => Json::String(ValueRef::Float(value).to_string()),
        },
        ValueRef::Text(text) => Json::String(text.to_string()),
        ValueRef::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
        other => Json::String(other.to_string()),
    }
}

/// The value of a column that JSON says.
pub(crate) fn json_to_value(json: Json, kind: Type) -> Result<Value, String> {
    let read = |text: &str| parse_value(text, kind).map_err(|error| error.to_string());
    match (json, kind) {
        (Json::Null, _) => Ok(Value::Null),
        (Json::Bool(value), Type::Bool) => Ok(Value::Bool(value)),
        (Json::String(text), Type::Text) => Ok(Value::Text(text)),
        (Json::String(text), Type::Bytes | Type::Plain { .. }) => match STANDARD.decode(text) {
            Ok(bytes) => Ok(Value::Bytes(bytes)),
            Err(error) => Err(format!("not a value of type {kind}: no base64: {error}")),
        },
        (Json::String(text), Type::Bool) => {
            Err(format!("not a value of type bool: the text {text:?}"))
        }
        (Json::String(text), _) => read(&text),
        (Json::Number(number), Type::F64 | Type::F32) => match number.as_f64() {
            Some(value) => Ok(Value::Float(value)),
            None => read(&number.to_string()),
        },
        (
            Json::Number(number),
            Type::I8
            | Type::I16
            | Type::I32
            | Type::I64
            | Type::I128
            | Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::U128
            | Type::Decimal { .. },
        ) => read(&number.to_string()),
        (other, kind) => {
            let what = match other {
                Json::Array(_) => "a list",
                Json::Object(_) => "an object",
                Json::Bool(_) => "true or false",
                _ => "a number",
            };
            Err(format!("not a value of type {kind}: {what}"))
        }
    }
}
