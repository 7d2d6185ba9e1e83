//! Arrays that were computed, as the values that clients are given.

use crate::error::{external, internal};
use crate::types::{DIGITS_MAX, FREE_SCALE, utc};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::error::Result;
use sardonyx_sql::{SqlError, SqlType, TypeSpec, Value, code, decode_text};

/// What an array is read as, for values of a type.
fn read_as(spec: TypeSpec, from: &DataType) -> DataType {
    match spec.kind {
        SqlType::Bool => DataType::Boolean,
        SqlType::Int2 => DataType::Int16,
        SqlType::Int4 => DataType::Int32,
        SqlType::Int8 => DataType::Int64,
        SqlType::Oid | SqlType::Regclass => DataType::UInt32,
        SqlType::Float4 => DataType::Float32,
        SqlType::Float8 => DataType::Float64,
        SqlType::Numeric => match (spec.precision_and_scale(), from) {
            (Some((precision, scale)), _) => DataType::Decimal128(precision, scale as i8),
            (None, DataType::Decimal128(precision, scale)) => {
                DataType::Decimal128(*precision, *scale)
            }
            (None, DataType::Decimal256(_, scale)) => DataType::Decimal128(DIGITS_MAX, *scale),
            (None, from) if from.is_integer() => DataType::Decimal128(DIGITS_MAX, 0),
            (None, _) => DataType::Decimal128(DIGITS_MAX, FREE_SCALE),
        },
        SqlType::Bytea => DataType::Binary,
        SqlType::Date => DataType::Date32,
        SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
        SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        _ => DataType::Utf8View,
    }
}

/// The array as one of another type; what does not fit is an error.
///
/// # Errors
/// A value does not fit.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    Ok(cast_with_options(array, to, &options)?)
}

/// The values of an array, of a type.
///
/// # Errors
/// A value does not fit.
pub fn values_of(array: &ArrayRef, spec: TypeSpec) -> Result<Vec<Value>> {
    let array = cast(array, &read_as(spec, array.data_type()))?;
    let rows = 0..array.len();
    let each = |value: &dyn Fn(usize) -> Result<Value>| -> Result<Vec<Value>> {
        rows.clone()
            .map(|row| match array.is_null(row) {
                true => Ok(Value::Null),
                false => value(row),
            })
            .collect()
    };
    let whole = |array: &ArrayRef| cast(array, &DataType::Int64);
    match (spec.kind, array.data_type()) {
        (_, DataType::Boolean) => {
            let array = array.as_boolean();
            each(&|row| Ok(Value::Bool(array.value(row))))
        }
        (_, DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::UInt32) => {
            let array = whole(&array)?;
            let array = array.as_primitive::<Int64Type>();
            each(&|row| Ok(Value::Int(array.value(row).into())))
        }
        (_, DataType::Float32 | DataType::Float64) => {
            let array = cast(&array, &DataType::Float64)?;
            let array = array.as_primitive::<Float64Type>();
            each(&|row| Ok(Value::Float(array.value(row))))
        }
        (_, DataType::Decimal128(_, scale)) => {
            let numbers = array.as_primitive::<Decimal128Type>();
            let is_free = spec.precision_and_scale().is_none();
            each(&|row| decimal(numbers.value(row), *scale, is_free))
        }
        (_, DataType::Binary) => {
            let array = array.as_binary::<i32>();
            each(&|row| Ok(Value::Bytes(array.value(row).into())))
        }
        (_, DataType::Date32) => {
            let array = array.as_primitive::<Date32Type>();
            each(&|row| Ok(Value::Date(array.value(row))))
        }
        (_, DataType::Time64(_)) => {
            let array = array.as_primitive::<Time64MicrosecondType>();
            each(&|row| Ok(Value::Time(array.value(row))))
        }
        (_, DataType::Timestamp(..)) => {
            let array = array.as_primitive::<TimestampMicrosecondType>();
            each(&|row| Ok(Value::Timestamp(array.value(row))))
        }
        (SqlType::Uuid, DataType::Utf8View) => {
            let array = array.as_string_view();
            each(&|row| decode_text(SqlType::Uuid, array.value(row)).map_err(external))
        }
        (SqlType::Char, DataType::Utf8View) => {
            let array = array.as_string_view();
            let length = spec.length().unwrap_or(0);
            each(&|row| Ok(Value::Text(format!("{:<length$}", array.value(row)))))
        }
        (_, DataType::Utf8View) => {
            let array = array.as_string_view();
            each(&|row| Ok(Value::Text(array.value(row).into())))
        }
        (_, other) => Err(internal(format!("there are no values of {other}"))),
    }
}

/// A number with as many digits behind the point as its type has, or it needs.
fn decimal(units: i128, scale: i8, is_free: bool) -> Result<Value> {
    if units.unsigned_abs() >= 10_u128.pow(DIGITS_MAX.into()) {
        let text = format!("a numeric has more than {DIGITS_MAX} digits");
        return Err(external(SqlError::new(code::OUT_OF_RANGE, text)));
    }
    let (mut units, mut scale) = (units, u8::try_from(scale).unwrap_or(0));
    if is_free && i16::from(scale) >= i16::from(FREE_SCALE) {
        while scale > 0 && units % 10 == 0 {
            units /= 10;
            scale -= 1;
        }
    }
    Ok(Value::Decimal(units, scale))
}
