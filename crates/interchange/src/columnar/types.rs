//! Types of Arrow's columns, and Parquet's with them, as types of tables' columns, and back.
//!
//! The crate's documentation has the table.

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, TimeUnit};
use sardonyx_rows::schema::{Column, Type};
use std::collections::HashMap;

/// Digits of the widest decimals of 128 and of 256 bits that are written.
pub(super) const DIGITS: u8 = 38;
const INTEGER_DIGITS: u8 = 39;

/// The extension that marks 16 bytes as a UUID.
const UUID: &str = "arrow.uuid";

/// Names the one of a field's possible types that its column had.
const TYPE_KEY: &str = "sardonyx.type";

/// The form of a column in a file.
pub(super) fn field_of(column: &Column) -> Field {
    let data = match column.kind {
        Type::Bool => DataType::Boolean,
        Type::I8 => DataType::Int8,
        Type::I16 => DataType::Int16,
        Type::I32 => DataType::Int32,
        Type::I64 => DataType::Int64,
        Type::U8 => DataType::UInt8,
        Type::U16 => DataType::UInt16,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::I128 | Type::U128 => DataType::Decimal256(INTEGER_DIGITS, 0),
        Type::F32 => DataType::Float32,
        Type::F64 => DataType::Float64,
        Type::Decimal { scale } => DataType::Decimal128(DIGITS, scale as i8),
        Type::Text => DataType::Utf8,
        Type::Date => DataType::Date32,
        Type::Time => DataType::Time64(TimeUnit::Microsecond),
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Type::Uuid => DataType::FixedSizeBinary(16),
        Type::Plain { bytes, .. } => DataType::FixedSizeBinary(bytes as i32),
        // Bytes, and types younger than this.
        _ => DataType::Binary,
    };
    let mut metadata = HashMap::new();
    match column.kind {
        Type::I128 | Type::U128 => {
            metadata.insert(TYPE_KEY.to_string(), column.kind.to_string());
        }
        Type::Uuid => {
            metadata.insert(EXTENSION_TYPE_NAME_KEY.to_string(), UUID.to_string());
            metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_string(), String::new());
        }
        _ => {}
    }
    Field::new(&column.name, data, column.is_nullable()).with_metadata(metadata)
}

/// The type of a new column for a file's; `None` if no type fits.
pub(super) fn type_of(field: &Field) -> Option<Type> {
    let said = field.metadata().get(TYPE_KEY);
    Some(match values_of(field.data_type()) {
        DataType::Boolean => Type::Bool,
        DataType::Int8 => Type::I8,
        DataType::Int16 => Type::I16,
        DataType::Int32 => Type::I32,
        DataType::Int64 => Type::I64,
        DataType::UInt8 => Type::U8,
        DataType::UInt16 => Type::U16,
        DataType::UInt32 => Type::U32,
        DataType::UInt64 => Type::U64,
        DataType::Float16 | DataType::Float32 => Type::F32,
        DataType::Float64 => Type::F64,
        DataType::Decimal256(_, 0) if said.is_some_and(|said| said == "u128") => Type::U128,
        DataType::Decimal256(DIGITS.., 0) => Type::I128,
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Type::Decimal {
            scale: u8::try_from((*scale).max(0))
                .ok()
                .filter(|scale| *scale <= DIGITS)?,
        },
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => Type::Text,
        DataType::FixedSizeBinary(16)
            if field.extension_type_name().is_some_and(|name| name == UUID) =>
        {
            Type::Uuid
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Type::Bytes,
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Time32(_) | DataType::Time64(_) => Type::Time,
        DataType::Timestamp(..) => Type::Timestamp,
        _ => return None,
    })
}

/// True if values of a file's column can be some of a table's.
pub(super) fn fits(kind: Type, data: &DataType) -> bool {
    let data = values_of(data);
    let is_decimal = matches!(
        data,
        DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..)
    );
    let scale_0 = matches!(
        data,
        DataType::Decimal32(_, 0)
            | DataType::Decimal64(_, 0)
            | DataType::Decimal128(_, 0)
            | DataType::Decimal256(_, 0)
    );
    if *data == DataType::Null {
        return true;
    }
    match kind {
        Type::Bool => *data == DataType::Boolean,
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::I128 => data.is_integer() || scale_0,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::U128 => data.is_integer() || scale_0,
        Type::F32 | Type::F64 => data.is_floating() || data.is_integer(),
        Type::Decimal { .. } => is_decimal || data.is_integer(),
        Type::Text => matches!(
            data,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        ),
        Type::Bytes | Type::Plain { .. } => matches!(
            data,
            DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_)
        ),
        Type::Date => matches!(data, DataType::Date32 | DataType::Date64),
        Type::Time => matches!(data, DataType::Time32(_) | DataType::Time64(_)),
        Type::Timestamp => matches!(data, DataType::Timestamp(..)),
        Type::Uuid => *data == DataType::FixedSizeBinary(16),
        _ => false,
    }
}

/// The type of a dictionary's values; any other type itself.
fn values_of(data: &DataType) -> &DataType {
    match data {
        DataType::Dictionary(_, values) => values,
        data => data,
    }
}
