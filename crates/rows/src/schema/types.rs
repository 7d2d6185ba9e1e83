//! The types of columns, and the layout of their values in a row.

use std::fmt;
use std::str::FromStr;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Type {
    /// A byte, 0 or 1.
    Bool,
    /// Signed integers, little-endian.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// 128 bits, aligned to 8 bytes.
    I128,
    /// Unsigned integers, little-endian.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// 128 bits, aligned to 8 bytes.
    U128,
    /// IEEE 754, 32 bits.
    F32,
    /// IEEE 754, 64 bits.
    F64,
    /// A signed integer of 128 bits, aligned to 8 bytes, that counts units of `10^-scale`.
    Decimal {
        /// Digits behind the point, 0 to 38.
        scale: u8,
    },
    /// UTF-8, at most [`VALUE_BYTES_MAX`](super::VALUE_BYTES_MAX) bytes.
    Text,
    /// Bytes, as many at most as a text has.
    Bytes,
    /// Days since 1970-01-01, as an `i32`.
    Date,
    /// Microseconds since midnight, as an `i64`.
    Time,
    /// Microseconds since 1970-01-01 00:00 UTC, as an `i64`.
    Timestamp,
    /// 16 bytes, aligned to 1.
    Uuid,
    /// Plain data of a program's own type, such as an array or a nested struct: bytes to all others.
    Plain {
        /// Its size, in bytes.
        bytes: u32,
        /// Its alignment: 1, 2, 4 or 8.
        align: u8,
        /// Distinguishes types of one size: a hash of the type's text.
        fingerprint: u64,
    },
}

impl Type {
    /// True if a column of it may refer to one of another type: values are compared as numbers of any width and scale.
    pub(crate) const fn may_refer_to(self, other: Type) -> bool {
        let is_decimal = matches!(self, Type::Decimal { .. });
        match other {
            Type::Decimal { .. } => self.is_whole() || is_decimal,
            other => self.is_whole() && other.is_whole(),
        }
    }

    /// True if its values are whole numbers, which compare with those of any width.
    pub(crate) const fn is_whole(self) -> bool {
        matches!(
            self,
            Type::I8
                | Type::I16
                | Type::I32
                | Type::I64
                | Type::U8
                | Type::U16
                | Type::U32
                | Type::U64
        )
    }

    /// Bytes that a value takes in a row's fixed part.
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            Type::Bool | Type::I8 | Type::U8 => 1,
            Type::I16 | Type::U16 => 2,
            Type::I32 | Type::U32 | Type::F32 | Type::Date => 4,
            Type::I64 | Type::U64 | Type::F64 | Type::Time | Type::Timestamp => 8,
            Type::I128 | Type::U128 | Type::Decimal { .. } | Type::Uuid => 16,
            Type::Text | Type::Bytes => 16,
            Type::Plain { bytes, .. } => bytes as usize,
        }
    }

    /// The alignment of a value in the row's fixed part.
    #[inline]
    pub const fn align(self) -> usize {
        match self {
            Type::Uuid => 1,
            Type::Plain { align, .. } => align as usize,
            other if other.bytes() > 8 => 8,
            other => other.bytes(),
        }
    }

    /// Returns true if values have any length; long ones are stored outside the fixed part.
    #[inline]
    pub const fn is_variable(self) -> bool {
        matches!(self, Type::Text | Type::Bytes)
    }

    /// The least and the greatest number of a type of integers; `None` for other types, and for `u128`, whose
    /// greatest is beyond an `i128`.
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Type::I8 => (i8::MIN as i128, i8::MAX as i128),
            Type::I16 => (i16::MIN as i128, i16::MAX as i128),
            Type::I32 => (i32::MIN as i128, i32::MAX as i128),
            Type::I64 => (i64::MIN as i128, i64::MAX as i128),
            Type::I128 => (i128::MIN, i128::MAX),
            Type::U8 => (0, u8::MAX as i128),
            Type::U16 => (0, u16::MAX as i128),
            Type::U32 => (0, u32::MAX as i128),
            Type::U64 => (0, u64::MAX as i128),
            _ => return None,
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Type::Bool => "bool",
            Type::I8 => "i8",
            Type::I16 => "i16",
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::I128 => "i128",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::U128 => "u128",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Decimal { scale } => return write!(f, "decimal({scale})"),
            Type::Text => "text",
            Type::Bytes => "bytes",
            Type::Date => "date",
            Type::Time => "time",
            Type::Timestamp => "timestamp",
            Type::Uuid => "uuid",
            Type::Plain { bytes, .. } => return write!(f, "plain({bytes})"),
        };
        f.pad(name)
    }
}

/// A text that names no type of columns.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is no type of a column: write bool, i8 to i128, u8 to u128, f32, f64, decimal(SCALE), text, bytes, date, \
     time, timestamp or uuid"
)]
pub struct UnknownType {
    /// As it was to be read as a type.
    pub text: String,
}

impl FromStr for Type {
    type Err = UnknownType;

    /// Reads the output of [`fmt::Display`], but for plain data, whose content only a program's own type knows.
    #[inline]
    fn from_str(text: &str) -> Result<Type, UnknownType> {
        Ok(match text {
            "bool" => Type::Bool,
            "i8" => Type::I8,
            "i16" => Type::I16,
            "i32" => Type::I32,
            "i64" => Type::I64,
            "i128" => Type::I128,
            "u8" => Type::U8,
            "u16" => Type::U16,
            "u32" => Type::U32,
            "u64" => Type::U64,
            "u128" => Type::U128,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "text" => Type::Text,
            "bytes" => Type::Bytes,
            "date" => Type::Date,
            "time" => Type::Time,
            "timestamp" => Type::Timestamp,
            "uuid" => Type::Uuid,
            _ => {
                let scale = text.strip_prefix("decimal(");
                let scale = scale.and_then(|rest| rest.strip_suffix(')')?.parse().ok());
                match scale {
                    Some(scale) if scale <= 38 => Type::Decimal { scale },
                    _ => {
                        let text = text.to_string();
                        return Err(UnknownType { text });
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_as_it_is_printed() {
        let names = "bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 text bytes date time timestamp uuid";
        for name in names.split(' ').chain(["decimal(0)", "decimal(38)"]) {
            assert_eq!(
                name.parse::<Type>().map(|kind| kind.to_string()),
                Ok(name.to_string())
            );
        }
        for wrong in [
            "",
            "int",
            "decimal",
            "decimal(39)",
            "decimal(-1)",
            "plain(4)",
            "decimal(2",
        ] {
            assert!(wrong.parse::<Type>().is_err(), "{wrong:?}");
        }
    }
}
