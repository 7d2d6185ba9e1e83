//! Values as PostgreSQL's clients write and read them: as text, by the SQL layer's rules, or in each type's binary form.
//!
//! The binary forms are those of PostgreSQL's `send` and `recv` functions: numbers with the most significant byte first,
//! dates and times counted from 2000-01-01, `numeric` in digits to the base of 10,000.

use bytes::{BufMut, BytesMut};
use sardonyx::schema::Value;
use sardonyx_sql::{SqlError, SqlType, decode_text, encode_text};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
/// Microseconds between the two.
const EPOCH_MICROSECONDS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;
/// The most digits of a numeric that is read: as many as 128 bits have.
const NUMERIC_DIGITS_MAX: i32 = 38;

/// Writes a value that is not null as text. The scratch is memory that is used again.
pub fn write_text(kind: SqlType, value: &Value, scratch: &mut String, to: &mut BytesMut) {
    if let Value::Text(text) = value {
        to.put_slice(text.as_bytes());
        return;
    }
    scratch.clear();
    encode_text(kind, &value.as_ref(), scratch);
    to.put_slice(scratch.as_bytes());
}

/// Writes a value that is not null in its binary form. Where a type has none that is known here, its text is.
pub fn write_binary(kind: SqlType, value: &Value, scratch: &mut String, to: &mut BytesMut) {
    match (kind, value) {
        (SqlType::Bool, Value::Bool(value)) => to.put_u8(u8::from(*value)),
        (SqlType::Int2, Value::Int(value)) => to.put_i16(*value as i16),
        (SqlType::Int4, Value::Int(value)) => to.put_i32(*value as i32),
        (SqlType::Oid, Value::Int(value)) => to.put_u32(*value as u32),
        (SqlType::Int8, Value::Int(value)) => to.put_i64(*value as i64),
        (SqlType::Float4, Value::Float(value)) => to.put_f32(*value as f32),
        (SqlType::Float8, Value::Float(value)) => to.put_f64(*value),
        (SqlType::Numeric, Value::Decimal(units, scale)) => write_numeric(*units, *scale, to),
        (SqlType::Numeric, Value::Int(value)) => write_numeric(*value, 0, to),
        (SqlType::Bytea, Value::Bytes(bytes)) => to.put_slice(bytes),
        (SqlType::Date, Value::Date(days)) => to.put_i32(days.saturating_sub(EPOCH_DAYS)),
        (SqlType::Time, Value::Time(time)) => to.put_i64(*time),
        (SqlType::Timestamp | SqlType::Timestamptz, Value::Timestamp(time)) => {
            to.put_i64(time.saturating_sub(EPOCH_MICROSECONDS));
        }
        (SqlType::Uuid, Value::Uuid(bytes)) => to.put_slice(bytes),
        _ => write_text(kind, value, scratch, to),
    }
}

/// Reads a parameter that is not null, as text.
///
/// # Errors
/// It is no value of the type.
pub fn read_text(kind: SqlType, bytes: &[u8]) -> Result<Value, SqlError> {
    decode_text(kind, as_text(bytes)?)
}

/// Reads a parameter that is not null, in its binary form.
///
/// # Errors
/// It is no value of the type.
pub fn read_binary(kind: SqlType, bytes: &[u8]) -> Result<Value, SqlError> {
    let wrong = || {
        let bytes = bytes.len();
        SqlError::new(
            "22P03",
            format!(
                "{bytes} bytes are no binary form of the type {}",
                kind.name()
            ),
        )
    };
    Ok(match kind {
        SqlType::Bool => match bytes {
            [byte] => Value::Bool(*byte != 0),
            _ => return Err(wrong()),
        },
        SqlType::Int2 => Value::Int(i16::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into()),
        SqlType::Int4 => Value::Int(i32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into()),
        SqlType::Oid => Value::Int(u32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into()),
        SqlType::Int8 => Value::Int(i64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into()),
        SqlType::Float4 => {
            Value::Float(f32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?).into())
        }
        SqlType::Float8 => Value::Float(f64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?)),
        SqlType::Numeric => read_numeric(bytes).ok_or_else(wrong)?,
        SqlType::Bytea => Value::Bytes(bytes.to_vec()),
        SqlType::Date => {
            let days = i32::from_be_bytes(exactly(bytes).ok_or_else(wrong)?);
            Value::Date(days.checked_add(EPOCH_DAYS).ok_or_else(wrong)?)
        }
        SqlType::Time => Value::Time(i64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?)),
        SqlType::Timestamp | SqlType::Timestamptz => {
            let time = i64::from_be_bytes(exactly(bytes).ok_or_else(wrong)?);
            Value::Timestamp(time.checked_add(EPOCH_MICROSECONDS).ok_or_else(wrong)?)
        }
        SqlType::Uuid => Value::Uuid(exactly(bytes).ok_or_else(wrong)?),
        _ => return decode_text(kind, as_text(bytes)?),
    })
}

fn exactly<const BYTES: usize>(bytes: &[u8]) -> Option<[u8; BYTES]> {
    bytes.try_into().ok()
}

fn as_text(bytes: &[u8]) -> Result<&str, SqlError> {
    std::str::from_utf8(bytes)
        .map_err(|_| SqlError::new("22021", "a parameter's text is not UTF-8".to_string()))
}

/// Four decimal digits at a time, the first at `weight`, as many behind the point as the scale says.
fn write_numeric(units: i128, scale: u8, to: &mut BytesMut) {
    let negative = units < 0;
    let fraction = usize::from(scale);
    // Shifted so that the point is between two digits to the base of 10,000.
    let padding = (4 - fraction % 4) % 4;
    let digits = units.unsigned_abs().to_string();
    let digits = format!("{digits}{}", "0".repeat(padding));
    let lead = (4 - digits.len() % 4) % 4;
    let digits = format!("{}{digits}", "0".repeat(lead));
    let behind = (fraction + padding) / 4;
    let mut groups: Vec<i16> = digits
        .as_bytes()
        .chunks(4)
        .map(|group| {
            group
                .iter()
                .fold(0, |sum, digit| sum * 10 + i16::from(digit - b'0'))
        })
        .collect();
    let mut weight = groups.len() as i16 - behind as i16 - 1;
    let zeroes = groups.iter().take_while(|group| **group == 0).count();
    groups.drain(..zeroes);
    weight -= zeroes as i16;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    to.put_i16(groups.len() as i16);
    to.put_i16(weight);
    to.put_u16(if negative { 0x4000 } else { 0 });
    to.put_u16(scale.into());
    groups.iter().for_each(|group| to.put_i16(*group));
}

fn read_numeric(bytes: &[u8]) -> Option<Value> {
    let (head, digits) = bytes.split_at_checked(8)?;
    let word = |at: usize| i16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign, scale) = (word(0), word(2), word(4) as u16, word(6));
    let scale = u8::try_from(scale)
        .ok()
        .filter(|scale| i32::from(*scale) <= NUMERIC_DIGITS_MAX)?;
    if digits.len() != usize::try_from(count).ok()? * 2 || !matches!(sign, 0 | 0x4000) {
        return None;
    }
    let mut units: i128 = 0;
    // Each group stands for itself times a power of ten, which the scale shifts.
    for (place, group) in digits.chunks(2).enumerate() {
        let group = i16::from_be_bytes([group[0], group[1]]);
        if !(0..10_000).contains(&group) {
            return None;
        }
        let place = i32::try_from(place).ok()?;
        let exponent = 4 * (i32::from(weight) - place) + i32::from(scale);
        let group = i128::from(group);
        let group = match u32::try_from(exponent) {
            Ok(exponent) if group == 0 && exponent > 38 => 0,
            Ok(exponent) => group.checked_mul(10i128.checked_pow(exponent)?)?,
            // Digits behind the scale: zeroes, as the sender says.
            Err(_) => {
                group
                    / 10i128
                        .checked_pow(exponent.unsigned_abs())
                        .unwrap_or(i128::MAX)
            }
        };
        units = units.checked_add(group)?;
    }
    let units = if sign == 0x4000 { -units } else { units };
    Some(Value::Decimal(units, scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numeric(units: i128, scale: u8) -> Vec<u8> {
        let mut bytes = BytesMut::new();
        write_numeric(units, scale, &mut bytes);
        bytes.to_vec()
    }

    #[test]
    fn a_numeric_as_postgresql_sends_it() {
        // select numeric_send(12345.678), (-0.5), 0, 10000
        let expected = [
            (12_345_678, 3, "0003000100000003000109291a7c"),
            (-5, 1, "0001ffff400000011388"),
            (0, 2, "0000000000000002"),
            (10_000, 0, "00010001000000000001"),
        ];
        for (units, scale, hex) in expected {
            let bytes = numeric(units, scale);
            let shown: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(shown, hex, "{units} {scale}");
        }
    }

    proptest! {
        #[test]
        fn a_numeric_is_read_as_it_was_written(units in -10i128.pow(30)..10i128.pow(30), scale in 0u8..30) {
            prop_assert_eq!(read_numeric(&numeric(units, scale)), Some(Value::Decimal(units, scale)));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let kinds = [
                SqlType::Bool, SqlType::Int2, SqlType::Int4, SqlType::Int8, SqlType::Float4, SqlType::Float8,
                SqlType::Numeric, SqlType::Text, SqlType::Bytea, SqlType::Date, SqlType::Time,
                SqlType::Timestamp, SqlType::Timestamptz, SqlType::Uuid, SqlType::Oid,
            ];
            for kind in kinds {
                if let Ok(value) = read_binary(kind, &bytes) {
                    let mut again = BytesMut::new();
                    write_binary(kind, &value, &mut String::new(), &mut again);
                    if kind != SqlType::Numeric && kind != SqlType::Bool && kind != SqlType::Float4 {
                        prop_assert_eq!(&again[..], &bytes[..], "{}", kind.name());
                    }
                }
                let _ = read_text(kind, &bytes);
            }
        }
    }
}
