//! Bytes that are the same for equal values only, for sets and groups of rows.

use super::arithmetic::without_zeros;
use sardonyx::schema::{Value, ValueRef};

/// The bytes that are equal for equal rows only.
pub(crate) fn key_of_row(row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    row.iter()
        .for_each(|value| key_of(value.as_ref(), &mut key));
    key
}

/// Bytes that are the same for equal values, for sets and groups.
pub(crate) fn key_of(value: ValueRef<'_>, key: &mut Vec<u8>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        key.push(tag);
        key.extend((bytes.len() as u32).to_le_bytes());
        key.extend(bytes);
    };
    match value {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Bool(value) => tagged(1, &[value.into()]),
        ValueRef::Int(value) => tagged(2, &value.to_le_bytes()),
        ValueRef::Decimal(units, scale) => {
            match without_zeros(units, scale) {
                // Whole numbers of all types are alike.
                (units, 0) => tagged(2, &units.to_le_bytes()),
                (units, scale) => {
                    let mut bytes = units.to_le_bytes().to_vec();
                    bytes.push(scale);
                    tagged(3, &bytes);
                }
            }
        }
        ValueRef::Float(value) => {
            // Both zeros are equal, and so are all NaNs.
            let bits = if value == 0.0 {
                0
            } else if value.is_nan() {
                f64::NAN.to_bits()
            } else {
                value.to_bits()
            };
            tagged(4, &bits.to_le_bytes());
        }
        ValueRef::U128(value) => match i128::try_from(value) {
            Ok(value) => tagged(2, &value.to_le_bytes()),
            Err(_) => tagged(5, &value.to_le_bytes()),
        },
        ValueRef::Text(text) => tagged(6, text.as_bytes()),
        ValueRef::Bytes(bytes) => tagged(7, bytes),
        ValueRef::Date(days) => tagged(8, &days.to_le_bytes()),
        ValueRef::Time(time) => tagged(9, &time.to_le_bytes()),
        ValueRef::Timestamp(time) => tagged(10, &time.to_le_bytes()),
        ValueRef::Uuid(uuid) => tagged(11, uuid),
        other => tagged(12, other.to_string().as_bytes()),
    }
}
