//! A value of a fixed width as the bytes of a row's fixed part, and back.

use super::RowError;
use super::error::{shown, shown_with_type};
use crate::error::TableError;
use crate::schema::{Column, NonFinite, NullBit, Schema, Type, VALUE_BYTES_MAX, ValueRef};
use crate::value_text::rescale;
use crate::values::{REFERENCE_BYTES, Reference};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The reason why a value is not one of a column's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// It is of another type.
    Type,
    /// It is of a type that would do.
    Range(&'static str),
    /// The first byte of a text that is not UTF-8.
    Utf8(usize),
    /// It is so long.
    Length(usize),
}

impl Unfit {
    /// Names the value that does not fit.
    #[cold]
    pub fn of(self, table: &str, column: &Column, value: ValueRef<'_>) -> RowError {
        let (table, kind) = (table.to_string(), column.kind);
        let (column, shown) = (column.name.clone(), shown(value));
        match self {
            Unfit::Type => RowError::WrongType {
                table,
                column,
                kind,
                value: shown_with_type(value),
            },
            Unfit::Range(reason) => RowError::OutOfRange {
                table,
                column,
                kind,
                value: shown,
                reason,
            },
            Unfit::Utf8(at) => RowError::NotUtf8 { table, column, at },
            Unfit::Length(bytes) => RowError::TooLong {
                table,
                column,
                bytes,
                limit: VALUE_BYTES_MAX,
            },
        }
    }
}

#[inline]
pub(crate) fn is_null(row: &[u8], column: &Column) -> bool {
    let is_set = |NullBit { byte, bit }| row[byte as usize] >> bit & 1 == 1;
    column.null.is_some_and(is_set)
}

/// Sets or clears the null bit of a column.
#[inline]
pub(crate) fn set_null(row: &mut [u8], column: &Column, is_null: bool) {
    if let Some(NullBit { byte, bit }) = column.null {
        let byte = &mut row[byte as usize];
        *byte = (*byte & !(1 << bit)) | (u8::from(is_null) << bit);
    }
}

/// Stores a value in a row's fixed part. `replace` returns the new reference of a text or bytes, given the present
/// one.
pub fn set_column(
    fixed: &mut [u8],
    table: &str,
    column: &Column,
    value: ValueRef<'_>,
    replace: impl FnOnce(Reference, &[u8]) -> Result<Reference, TableError>,
) -> Result<(), TableError> {
    let is_null = value == ValueRef::Null;
    set_null(fixed, column, is_null);
    let place = column.offset..column.offset + column.kind.bytes();
    let unfit = |unfit: Unfit| unfit.of(table, column, value);
    if column.kind.is_variable() {
        let bytes = match is_null {
            true => &[][..],
            false => variable_bytes(column.kind, value).map_err(unfit)?,
        };
        let after = replace(Reference::at(fixed, column.offset), bytes)?;
        debug_assert_eq!(place.len(), REFERENCE_BYTES);
        fixed[place].copy_from_slice(&after.0);
    } else if is_null {
        fixed[place].fill(0);
    } else {
        encode(column.kind, value, &mut fixed[place]).map_err(unfit)?;
    }
    Ok(())
}

/// Checks that the values of a record, which begins as a row's fixed part does, are of their columns' declared types.
///
/// # Errors
/// [`RowError::Declared`], [`RowError::Null`].
pub fn check_declared(schema: &Schema, table: &str, record: &[u8]) -> Result<(), RowError> {
    for declared in &schema.declared {
        let Some(column) = schema.columns.get(declared.column) else {
            continue;
        };
        let place = column.offset..column.offset + column.kind.bytes();
        let (false, Some(bytes)) = (column.kind.is_variable(), record.get(place)) else {
            continue;
        };
        let has_null_bit = |null: NullBit| record.len() > null.byte as usize;
        if column.null.is_some_and(has_null_bit) && is_null(record, column) {
            if declared.not_null {
                return Err(RowError::Null {
                    table: table.to_string(),
                    column: column.name.clone(),
                });
            }
            continue;
        }
        let value = decode(column.kind, bytes);
        // The computed value of a generated column fits, and a given one is not taken.
        let is_own = declared.generated().is_none();
        if is_own && declared.limit().fit(value) != Some(value) {
            return Err(RowError::declared(table, column, declared, value));
        }
    }
    Ok(())
}

/// The value of a column of the first shape in a plain record, whose columns all have fixed widths; null if it has none.
pub fn value_in_record<'r>(schema: &Schema, record: &'r [u8], column: usize) -> ValueRef<'r> {
    let column = match schema.columns.get(column) {
        Some(column) if !column.dropped && !column.kind.is_variable() => column,
        _ => return ValueRef::Null,
    };
    let has_null_bit = |null: NullBit| record.len() > null.byte as usize;
    let place = column.offset..column.offset + column.kind.bytes();
    match record.get(place) {
        Some(_) if column.null.is_some_and(has_null_bit) && is_null(record, column) => {
            ValueRef::Null
        }
        Some(bytes) => decode(column.kind, bytes),
        None => ValueRef::Null,
    }
}

/// Decodes the bytes of a column of a fixed width. Null bits are not read.
///
/// # Panics
/// If `bytes` has another length than the type, or the type has none.
#[inline]
pub fn decode(kind: Type, bytes: &[u8]) -> ValueRef<'_> {
    macro_rules! number {
        ($type:ty) => {
            <$type>::from_le_bytes(bytes.try_into().expect("the type's width"))
        };
    }
    match kind {
        Type::Bool => ValueRef::Bool(bytes[0] != 0),
        Type::I8 => ValueRef::Int(number!(i8).into()),
        Type::I16 => ValueRef::Int(number!(i16).into()),
        Type::I32 => ValueRef::Int(number!(i32).into()),
        Type::I64 => ValueRef::Int(number!(i64).into()),
        Type::I128 => ValueRef::Int(number!(i128)),
        Type::U8 => ValueRef::Int(number!(u8).into()),
        Type::U16 => ValueRef::Int(number!(u16).into()),
        Type::U32 => ValueRef::Int(number!(u32).into()),
        Type::U64 => ValueRef::Int(number!(u64).into()),
        Type::U128 => ValueRef::U128(number!(u128)),
        Type::F32 => ValueRef::Float(number!(f32).into()),
        Type::F64 => ValueRef::Float(number!(f64)),
        Type::Decimal { scale } => ValueRef::decimal(number!(i128), scale),
        Type::Date => ValueRef::Date(number!(i32)),
        Type::Time => ValueRef::Time(number!(i64)),
        Type::Timestamp => ValueRef::Timestamp(number!(i64)),
        Type::Uuid => ValueRef::Uuid(bytes.try_into().expect("16 bytes")),
        Type::Plain { .. } => ValueRef::Bytes(bytes),
        Type::Text | Type::Bytes => unreachable!("they have no fixed width"),
    }
}

/// The bytes of a text or of bytes, if it fits a column of text or bytes.
#[inline]
pub fn variable_bytes<'v>(kind: Type, value: ValueRef<'v>) -> Result<&'v [u8], Unfit> {
    let bytes = match (kind, value) {
        (Type::Text, ValueRef::Text(text)) => text.as_bytes(),
        (Type::Text, ValueRef::Bytes(bytes)) => {
            std::str::from_utf8(bytes).map_err(|error| Unfit::Utf8(error.valid_up_to()))?;
            bytes
        }
        (Type::Bytes, ValueRef::Bytes(bytes)) => bytes,
        _ => return Err(Unfit::Type),
    };
    match bytes.len() <= VALUE_BYTES_MAX {
        true => Ok(bytes),
        false => Err(Unfit::Length(bytes.len())),
    }
}

/// Writes a value, not null, to the place of a column of a fixed width.
///
/// Numbers are converted where nothing is lost: an integer is a float or a decimal of the same value, a
/// decimal gets the column's scale. A float of 64 bits is rounded to one of 32.
///
/// # Panics
/// If `place` has another length than the type, or the type has none.
pub fn encode(kind: Type, value: ValueRef<'_>, place: &mut [u8]) -> Result<(), Unfit> {
    macro_rules! integer {
        ($type:ty) => {{
            let number = match value {
                ValueRef::Int(number) => <$type>::try_from(number).ok(),
                ValueRef::U128(number) => <$type>::try_from(number).ok(),
                _ => return Err(Unfit::Type),
            };
            let number = number.ok_or(Unfit::Range("the type has no such number"))?;
            place.copy_from_slice(&number.to_le_bytes());
        }};
    }
    match kind {
        Type::Bool => match value {
            ValueRef::Bool(value) => place.copy_from_slice(&[u8::from(value)]),
            _ => return Err(Unfit::Type),
        },
        Type::I8 => integer!(i8),
        Type::I16 => integer!(i16),
        Type::I32 => integer!(i32),
        Type::I64 => integer!(i64),
        Type::I128 => integer!(i128),
        Type::U8 => integer!(u8),
        Type::U16 => integer!(u16),
        Type::U32 => integer!(u32),
        Type::U64 => integer!(u64),
        Type::U128 => integer!(u128),
        Type::F32 => {
            let wide = float(value)?;
            let narrow = wide as f32;
            if narrow.is_infinite() && wide.is_finite() {
                return Err(Unfit::Range("a float of 32 bits ends at 3.4e38"));
            }
            let lost = matches!(value, ValueRef::Int(_)) && f64::from(narrow) != wide;
            if lost {
                return Err(Unfit::Range("the type has no such number"));
            }
            place.copy_from_slice(&narrow.to_le_bytes());
        }
        Type::F64 => place.copy_from_slice(&float(value)?.to_le_bytes()),
        Type::Decimal { scale } => {
            let units = match value {
                ValueRef::Decimal(units, from) => rescale(units, from, scale),
                ValueRef::Int(number) => rescale(number, 0, scale),
                ValueRef::NonFinite(value) => {
                    place.copy_from_slice(&value.units().to_le_bytes());
                    return Ok(());
                }
                _ => return Err(Unfit::Type),
            };
            let units = units.map_err(Unfit::Range)?;
            if NonFinite::of_units(units).is_some() {
                return Err(Unfit::Range("too many digits"));
            }
            place.copy_from_slice(&units.to_le_bytes());
        }
        Type::Date => match value {
            ValueRef::Date(days) => place.copy_from_slice(&days.to_le_bytes()),
            _ => return Err(Unfit::Type),
        },
        Type::Time => match value {
            ValueRef::Time(time @ 0..DAY) => place.copy_from_slice(&time.to_le_bytes()),
            ValueRef::Time(_) => return Err(Unfit::Range("a day has 24 hours")),
            _ => return Err(Unfit::Type),
        },
        Type::Timestamp => match value {
            ValueRef::Timestamp(time) => place.copy_from_slice(&time.to_le_bytes()),
            _ => return Err(Unfit::Type),
        },
        Type::Uuid => match value {
            ValueRef::Uuid(bytes) => place.copy_from_slice(bytes),
            _ => return Err(Unfit::Type),
        },
        Type::Plain { .. } => match value {
            ValueRef::Bytes(bytes) if bytes.len() == place.len() => place.copy_from_slice(bytes),
            ValueRef::Bytes(_) => return Err(Unfit::Range("the type has another length")),
            _ => return Err(Unfit::Type),
        },
        Type::Text | Type::Bytes => unreachable!("they have no fixed width"),
    }
    Ok(())
}

/// A number as a float that is the same number.
fn float(value: ValueRef<'_>) -> Result<f64, Unfit> {
    match value {
        // There is one NaN, for every computation.
        ValueRef::Float(value) if value.is_nan() => Ok(f64::NAN),
        ValueRef::Float(value) => Ok(value),
        ValueRef::Int(number) => {
            let float = number as f64;
            // At 2^127 the way back would stop short and look like the same number.
            match float as i128 == number && float.abs() < 1e38 {
                true => Ok(float),
                false => Err(Unfit::Range("the type has no such number")),
            }
        }
        _ => Err(Unfit::Type),
    }
}

/// Returns true if a value in a row equals the one given, which may be of another representation.
pub fn same(kind: Type, there: ValueRef<'_>, given: ValueRef<'_>) -> bool {
    if kind.is_variable() {
        return variable_bytes(kind, there).ok() == variable_bytes(kind, given).ok();
    }
    let encoded = |value| {
        let mut bytes = vec![0; kind.bytes()];
        encode(kind, value, &mut bytes).ok().map(|()| bytes)
    };
    there == given || encoded(there) == encoded(given)
}

/// The bytes of a value of a type: the same for values that are the [`same`].
pub fn identity(kind: Type, value: ValueRef<'_>) -> Vec<u8> {
    if kind.is_variable() {
        let bytes = variable_bytes(kind, value);
        return bytes.map(<[u8]>::to_vec).unwrap_or_default();
    }
    let value = match value {
        // The negative zero is equal to the other.
        ValueRef::Float(value) => ValueRef::Float(value + 0.0),
        other => other,
    };
    let mut bytes = vec![0; kind.bytes()];
    match encode(kind, value, &mut bytes) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}
