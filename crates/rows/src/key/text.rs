//! Encoded keys as people read them, for errors.

use super::{KeyShape, NULL, Part, SHORT_ZERO};
use crate::row::shown;
use crate::schema::{Type, Value, ValueRef};

impl KeyShape {
    /// The values of a whole key, or of its first columns: `(1, "a")`.
    #[cold]
    pub fn text_of(&self, key: &[u8]) -> String {
        let mut rest = key;
        let mut values = Vec::new();
        for part in &self.parts {
            if rest.is_empty() {
                break;
            }
            values.push(match part.take(&mut rest) {
                Some(value) => shown(value.as_ref()),
                None => "?".to_string(),
            });
        }
        format!("({})", values.join(", "))
    }

    /// The values of a whole key; none if its bytes are not those of one.
    #[cold]
    pub fn values_of(&self, key: &[u8]) -> Vec<Value> {
        let mut rest = key;
        let parts = self.parts.iter();
        let values: Option<Vec<Value>> = parts.map(|part| part.take(&mut rest)).collect();
        values.unwrap_or_default()
    }
}

impl Part {
    /// Takes a value off the beginning of a key.
    fn take(&self, rest: &mut &[u8]) -> Option<Value> {
        let flip = if self.descending { 0xff } else { 0 };
        if self.null.is_some() {
            let (marker, behind) = rest.split_first()?;
            *rest = behind;
            if marker ^ flip == NULL {
                return Some(Value::Null);
            }
        }
        if self.kind.is_variable() {
            return self.take_variable(rest, flip);
        }
        if self.is_short {
            return take_short(rest, flip);
        }
        let (bytes, behind) = rest.split_at_checked(self.kind.bytes())?;
        *rest = behind;
        let bytes: Vec<u8> = bytes.iter().map(|byte| byte ^ flip).collect();
        let unsigned = || {
            bytes
                .iter()
                .fold(0u128, |all, &byte| all << 8 | u128::from(byte))
        };
        let signed = || {
            let unused = 128 - 8 * bytes.len() as u32;
            let flipped = unsigned() ^ (1 << (8 * bytes.len() - 1));
            (flipped << unused) as i128 >> unused
        };
        // The sign bit shows if all bits were flipped.
        let bits = |bits: u64, sign: u64| {
            if bits & sign != 0 {
                bits & !sign
            } else {
                !bits
            }
        };
        Some(match self.kind {
            Type::Bool => Value::Bool(bytes[0] != 0),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => Value::Int(unsigned() as i128),
            Type::U128 => Value::U128(unsigned()),
            Type::F32 => Value::Float(f64::from(f32::from_bits(
                bits(unsigned() as u64, 1 << 31) as u32
            ))),
            Type::F64 => Value::Float(f64::from_bits(bits(unsigned() as u64, 1 << 63))),
            Type::Decimal { scale } => ValueRef::decimal(signed(), scale).to_value(),
            Type::Date => Value::Date(signed() as i32),
            Type::Time => Value::Time(signed() as i64),
            Type::Timestamp => Value::Timestamp(signed() as i64),
            Type::Uuid => Value::Uuid(bytes.try_into().ok()?),
            Type::Plain { .. } => Value::Bytes(bytes),
            _ => Value::Int(signed()),
        })
    }

    fn take_variable(&self, rest: &mut &[u8], flip: u8) -> Option<Value> {
        let mut value = Vec::new();
        loop {
            let (&byte, behind) = rest.split_first()?;
            *rest = behind;
            if byte ^ flip != 0 {
                value.push(byte ^ flip);
                continue;
            }
            let (&byte, behind) = rest.split_first()?;
            *rest = behind;
            match byte ^ flip {
                0 => break,
                _ => value.push(0),
            }
        }
        match self.kind {
            Type::Text => String::from_utf8(value).ok().map(Value::Text),
            _ => Some(Value::Bytes(value)),
        }
    }
}

/// Takes an integer off that is shorter the nearer it is to zero.
fn take_short(rest: &mut &[u8], flip: u8) -> Option<Value> {
    let (first, behind) = rest.split_first()?;
    let first = first ^ flip;
    let (fill, needed) = match first.checked_sub(SHORT_ZERO) {
        Some(needed) => (0, needed),
        None => (-1, SHORT_ZERO - 1 - first),
    };
    let (bytes, behind) = behind.split_at_checked(usize::from(needed))?;
    *rest = behind;
    let append = |all: i128, byte: &u8| all << 8 | i128::from(byte ^ flip);
    Some(Value::Int(bytes.iter().fold(fill, append)))
}
