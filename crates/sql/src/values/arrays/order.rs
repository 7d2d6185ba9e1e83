//! The order of arrays, by bytes: element by element, nulls last, the shorter one first, then by dimensions, as in
//! PostgreSQL (`array_cmp`).

use super::Array;
use crate::error::SqlError;
use crate::text::decode_text;
use crate::types::SqlType;
use crate::values::hstore::Hstore;
use crate::values::intervals::Interval;
use crate::values::json_tree::Json;
use crate::values::records::{self, of_element};
use crate::values::search::Vector;
use sardonyx::schema::Value;

const END: u8 = 0;
const ELEMENT: u8 = 1;
const NULL: u8 = 2;

/// Bytes in the order of arrays of a type's elements.
///
/// # Errors
/// `22P02` if an element is none of the type.
pub(crate) fn order_key(text: &str, kind: SqlType) -> Result<Vec<u8>, SqlError> {
    let array = Array::known(text);
    let mut key = Vec::new();
    for element in &array.elements {
        match element {
            None => key.push(NULL),
            Some(text) => {
                key.push(ELEMENT);
                match kind {
                    SqlType::Jsonb => push_bytes(&Json::known(text)?.key(), &mut key),
                    SqlType::Tsvector => push_bytes(&Vector::known(text)?.key(), &mut key),
                    SqlType::Hstore => push_bytes(&Hstore::known(text)?.key(), &mut key),
                    SqlType::Interval => push_number(Interval::read(text)?.length(), &mut key),
                    SqlType::Record => {
                        push_bytes(&records::order_key(&of_element(text)?)?, &mut key)
                    }
                    _ => push(&decode_text(kind, text)?, &mut key),
                }
            }
        }
    }
    key.push(END);
    key.push(array.bounds.len() as u8);
    for (first, length) in &array.bounds {
        key.extend((*length as u64).to_be_bytes());
        push_number((*first).into(), &mut key);
    }
    Ok(key)
}

fn push_number(number: i128, key: &mut Vec<u8>) {
    key.extend((number as u128 ^ 1 << 127).to_be_bytes());
}

/// Appends a decimal.
pub(crate) fn push_decimal(units: i128, scale: u8, key: &mut Vec<u8>) {
    let power = 10_i128.checked_pow(scale.into()).unwrap_or(i128::MAX);
    push_number(units.div_euclid(power), key);
    let zeros = 10_u128.pow(38 - u32::from(scale).min(38));
    key.extend((units.rem_euclid(power) as u128 * zeros).to_be_bytes());
}

/// Appends a value that is no text of a form.
pub(crate) fn push(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::Bool(value) => key.push((*value).into()),
        Value::Int(value) => push_number(*value, key),
        Value::Decimal(units, scale) => push_decimal(*units, *scale, key),
        // The units are below, or above, all whole numbers.
        Value::NonFinite(value) => push_decimal(value.units(), 0, key),
        Value::Float(value) => {
            let value = match *value {
                0.0 => 0.0,
                number if number.is_nan() => f64::NAN,
                number => number,
            };
            let bits = value.to_bits();
            let ordered = match bits >> 63 {
                0 => bits | 1 << 63,
                _ => !bits,
            };
            key.extend(ordered.to_be_bytes());
        }
        Value::Date(days) => push_number((*days).into(), key),
        Value::Time(micros) | Value::Timestamp(micros) => push_number((*micros).into(), key),
        Value::Uuid(bytes) => key.extend(bytes),
        Value::Text(text) => push_bytes(text.as_bytes(), key),
        Value::Bytes(bytes) => push_bytes(bytes, key),
        _ => {}
    }
}

/// Appends bytes. Zeros inside are marked, so that the end sorts before all that may follow.
pub(crate) fn push_bytes(bytes: &[u8], key: &mut Vec<u8>) {
    for byte in bytes {
        key.push(*byte);
        if *byte == 0 {
            key.push(u8::MAX);
        }
    }
    key.extend([0, 0]);
}
