//! Bytes in the order of values: the parts of the keys of arrays, records and `jsonb`.

use sardonyx::schema::Value;

/// Appends a value that is no text of a form.
pub(super) fn push(value: &Value, key: &mut Vec<u8>) {
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
pub(super) fn push_bytes(bytes: &[u8], key: &mut Vec<u8>) {
    for byte in bytes {
        key.push(*byte);
        if *byte == 0 {
            key.push(u8::MAX);
        }
    }
    key.extend([0, 0]);
}

/// Appends a decimal.
pub(super) fn push_decimal(units: i128, scale: u8, key: &mut Vec<u8>) {
    let power = 10_i128.checked_pow(scale.into()).unwrap_or(i128::MAX);
    push_number(units.div_euclid(power), key);
    let zeros = 10_u128.pow(38 - u32::from(scale).min(38));
    key.extend((units.rem_euclid(power) as u128 * zeros).to_be_bytes());
}

/// Appends a whole number as [`push_decimal`] does; those that are too large for it follow its largest one.
pub(super) fn push_large(number: u128, key: &mut Vec<u8>) {
    match i128::try_from(number) {
        Ok(number) => push_decimal(number, 0, key),
        Err(_) => {
            push_number(i128::MAX, key);
            key.extend(number.to_be_bytes());
        }
    }
}

/// Appends a whole number.
pub(super) fn push_number(number: i128, key: &mut Vec<u8>) {
    key.extend((number as u128 ^ 1 << 127).to_be_bytes());
}
