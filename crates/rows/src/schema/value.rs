//! Values of columns: [`Value`] owns its content, [`ValueRef`] borrows it from a row.

use super::NonFinite;

/// A value of a column, or none.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A value of integers up to 64 bits, and of `i128`.
    Int(i128),
    /// The only type beyond the range of `i128`.
    U128(u128),
    /// A value of `f32` and `f64`.
    Float(f64),
    /// A value of a decimal: units of `10^-scale`.
    Decimal(i128, u8),
    /// A value of a decimal that is no number, or is infinite.
    NonFinite(NonFinite),
    /// In UTF-8.
    Text(String),
    /// A value of bytes, and of plain data.
    Bytes(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01 00:00 UTC.
    Timestamp(i64),
    /// A UUID's bytes, in the order in which they are written.
    Uuid([u8; 16]),
}

/// A [`Value`] with text and bytes borrowed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum ValueRef<'a> {
    /// No value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A value of integers up to 64 bits, and of `i128`.
    Int(i128),
    /// The only type beyond the range of `i128`.
    U128(u128),
    /// A value of `f32` and `f64`.
    Float(f64),
    /// A value of a decimal: units of `10^-scale`.
    Decimal(i128, u8),
    /// A value of a decimal that is no number, or is infinite.
    NonFinite(NonFinite),
    /// In UTF-8.
    Text(&'a str),
    /// A value of bytes, and of plain data.
    Bytes(&'a [u8]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01 00:00 UTC.
    Timestamp(i64),
    /// A UUID's bytes.
    Uuid(&'a [u8; 16]),
}

impl Value {
    /// Borrows it.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Bool(value) => ValueRef::Bool(*value),
            Value::Int(value) => ValueRef::Int(*value),
            Value::U128(value) => ValueRef::U128(*value),
            Value::Float(value) => ValueRef::Float(*value),
            Value::Decimal(units, scale) => ValueRef::Decimal(*units, *scale),
            Value::NonFinite(value) => ValueRef::NonFinite(*value),
            Value::Text(text) => ValueRef::Text(text),
            Value::Bytes(bytes) => ValueRef::Bytes(bytes),
            Value::Date(days) => ValueRef::Date(*days),
            Value::Time(time) => ValueRef::Time(*time),
            Value::Timestamp(time) => ValueRef::Timestamp(*time),
            Value::Uuid(bytes) => ValueRef::Uuid(bytes),
        }
    }
}

impl ValueRef<'_> {
    /// The value of a decimal's units in a column: a number, NaN or an infinity.
    #[inline]
    pub const fn decimal(units: i128, scale: u8) -> Self {
        match NonFinite::of_units(units) {
            None => ValueRef::Decimal(units, scale),
            Some(value) => ValueRef::NonFinite(value),
        }
    }

    /// Copies texts and bytes.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(value) => Value::Bool(value),
            ValueRef::Int(value) => Value::Int(value),
            ValueRef::U128(value) => Value::U128(value),
            ValueRef::Float(value) => Value::Float(value),
            ValueRef::Decimal(units, scale) => Value::Decimal(units, scale),
            ValueRef::NonFinite(value) => Value::NonFinite(value),
            ValueRef::Text(text) => Value::Text(text.to_string()),
            ValueRef::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            ValueRef::Date(days) => Value::Date(days),
            ValueRef::Time(time) => Value::Time(time),
            ValueRef::Timestamp(time) => Value::Timestamp(time),
            ValueRef::Uuid(bytes) => Value::Uuid(*bytes),
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::$variant(value.into())
            }
        }
    )*};
}

from!(
    bool => Bool, i8 => Int, i16 => Int, i32 => Int, i64 => Int, i128 => Int, u8 => Int, u16 => Int, u32 => Int,
    u64 => Int, u128 => U128, NonFinite => NonFinite, f32 => Float, f64 => Float, &str => Text, String => Text, &[u8] => Bytes, Vec<u8> => Bytes,
);

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, T::into)
    }
}
