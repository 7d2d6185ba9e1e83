//! Objects of the catalogue as clients see them: their number, which the binary format has, and behind it the name, which
//! the text format has. Within a statement the value is the number.

use crate::types::SqlType;
use sardonyx::schema::Value;

/// A value for a client.
pub(crate) fn named(number: u32, name: &str) -> Vec<u8> {
    [&number.to_be_bytes()[..], name.as_bytes()].concat()
}

/// The number and the name of such a value.
pub(crate) fn parts(value: &[u8]) -> (&[u8], &[u8]) {
    value
        .split_at_checked(size_of::<u32>())
        .unwrap_or((&[], value))
}

/// The number of such a value, as it is within a statement.
pub(crate) fn number(value: &[u8]) -> i128 {
    let number = parts(value).0;
    number
        .iter()
        .fold(0, |sum, byte| sum << 8 | i128::from(*byte))
}

/// Rows of columns of these types as other parts of a statement read them.
pub(crate) fn within(values: &mut [Value], kinds: &[SqlType]) {
    if !kinds.iter().any(|kind| kind.is_object()) {
        return;
    }
    for (value, kind) in values.iter_mut().zip(kinds.iter().cycle()) {
        if let Value::Bytes(shown) = value
            && kind.is_object()
        {
            *value = Value::Int(number(shown));
        }
    }
}
