//! Columns of Arrow data, built value by value.

use super::types::{DIGITS, field_of};
use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder,
    StringBuilder,
};
use arrow_array::types::*;
use arrow_buffer::i256;
use sardonyx_rows::schema::{Column, Type, ValueRef};

/// A column that is being built.
#[derive(Debug)]
pub(super) enum ColumnBuilder {
    Bool(BooleanBuilder),
    I8(PrimitiveBuilder<Int8Type>),
    I16(PrimitiveBuilder<Int16Type>),
    I32(PrimitiveBuilder<Int32Type>),
    I64(PrimitiveBuilder<Int64Type>),
    U8(PrimitiveBuilder<UInt8Type>),
    U16(PrimitiveBuilder<UInt16Type>),
    U32(PrimitiveBuilder<UInt32Type>),
    U64(PrimitiveBuilder<UInt64Type>),
    Wide(PrimitiveBuilder<Decimal256Type>),
    F32(PrimitiveBuilder<Float32Type>),
    F64(PrimitiveBuilder<Float64Type>),
    Decimal(PrimitiveBuilder<Decimal128Type>),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Fixed(FixedSizeBinaryBuilder),
    Date(PrimitiveBuilder<Date32Type>),
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>),
}

/// The reason that a file cannot have a value.
const DIGITS_TOO_MANY: &str = "a decimal of more than 38 digits, the most that Arrow has";
const NOT_A_NUMBER: &str =
    "a decimal that is NaN or infinite: Arrow's are numbers; CSV and JSON have it";
const NOT_ITS_TYPE: &str = "the value is not of the column's type";

impl ColumnBuilder {
    /// Begins a column.
    pub fn new(column: &Column) -> Self {
        use ColumnBuilder::*;
        let data = field_of(column).data_type().clone();
        match column.kind {
            Type::Bool => Bool(BooleanBuilder::new()),
            Type::I8 => I8(PrimitiveBuilder::new()),
            Type::I16 => I16(PrimitiveBuilder::new()),
            Type::I32 => I32(PrimitiveBuilder::new()),
            Type::I64 => I64(PrimitiveBuilder::new()),
            Type::U8 => U8(PrimitiveBuilder::new()),
            Type::U16 => U16(PrimitiveBuilder::new()),
            Type::U32 => U32(PrimitiveBuilder::new()),
            Type::U64 => U64(PrimitiveBuilder::new()),
            Type::I128 | Type::U128 => Wide(PrimitiveBuilder::new().with_data_type(data)),
            Type::F32 => F32(PrimitiveBuilder::new()),
            Type::F64 => F64(PrimitiveBuilder::new()),
            Type::Decimal { .. } => Decimal(PrimitiveBuilder::new().with_data_type(data)),
            Type::Text => Text(StringBuilder::new()),
            Type::Date => Date(PrimitiveBuilder::new()),
            Type::Time => Time(PrimitiveBuilder::new()),
            Type::Timestamp => Timestamp(PrimitiveBuilder::new().with_data_type(data)),
            Type::Uuid => Fixed(FixedSizeBinaryBuilder::new(16)),
            Type::Plain { bytes, .. } => Fixed(FixedSizeBinaryBuilder::new(bytes as i32)),
            _ => Bytes(BinaryBuilder::new()),
        }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// The reason that the file cannot have it.
    pub fn append(&mut self, value: ValueRef<'_>) -> Result<(), &'static str> {
        use ColumnBuilder::*;
        macro_rules! integer {
            ($builder:expr, $number:expr) => {
                $builder.append_value($number.try_into().map_err(|_| NOT_ITS_TYPE)?)
            };
        }
        match (self, value) {
            (builder, ValueRef::Null) => builder.append_null(),
            (Bool(builder), ValueRef::Bool(value)) => builder.append_value(value),
            (I8(builder), ValueRef::Int(number)) => integer!(builder, number),
            (I16(builder), ValueRef::Int(number)) => integer!(builder, number),
            (I32(builder), ValueRef::Int(number)) => integer!(builder, number),
            (I64(builder), ValueRef::Int(number)) => integer!(builder, number),
            (U8(builder), ValueRef::Int(number)) => integer!(builder, number),
            (U16(builder), ValueRef::Int(number)) => integer!(builder, number),
            (U32(builder), ValueRef::Int(number)) => integer!(builder, number),
            (U64(builder), ValueRef::Int(number)) => integer!(builder, number),
            (Wide(builder), ValueRef::Int(number)) => builder.append_value(i256::from_i128(number)),
            (Wide(builder), ValueRef::U128(number)) => {
                builder.append_value(i256::from_parts(number, 0));
            }
            (F32(builder), ValueRef::Float(value)) => builder.append_value(value as f32),
            (F64(builder), ValueRef::Float(value)) => builder.append_value(value),
            (Decimal(builder), ValueRef::Decimal(units, _)) => {
                if units.unsigned_abs() >= 10_u128.pow(DIGITS.into()) {
                    return Err(DIGITS_TOO_MANY);
                }
                builder.append_value(units);
            }
            (Decimal(_), ValueRef::NonFinite(_)) => return Err(NOT_A_NUMBER),
            (Text(builder), ValueRef::Text(text)) => builder.append_value(text),
            (Bytes(builder), ValueRef::Bytes(bytes)) => builder.append_value(bytes),
            (Fixed(builder), ValueRef::Bytes(bytes)) => {
                builder.append_value(bytes).map_err(|_| NOT_ITS_TYPE)?;
            }
            (Fixed(builder), ValueRef::Uuid(bytes)) => {
                builder.append_value(bytes).map_err(|_| NOT_ITS_TYPE)?;
            }
            (Date(builder), ValueRef::Date(days)) => builder.append_value(days),
            (Time(builder), ValueRef::Time(time)) => builder.append_value(time),
            (Timestamp(builder), ValueRef::Timestamp(time)) => builder.append_value(time),
            _ => return Err(NOT_ITS_TYPE),
        }
        Ok(())
    }

    fn append_null(&mut self) {
        use ColumnBuilder::*;
        match self {
            Bool(builder) => builder.append_null(),
            I8(builder) => builder.append_null(),
            I16(builder) => builder.append_null(),
            I32(builder) => builder.append_null(),
            I64(builder) => builder.append_null(),
            U8(builder) => builder.append_null(),
            U16(builder) => builder.append_null(),
            U32(builder) => builder.append_null(),
            U64(builder) => builder.append_null(),
            Wide(builder) => builder.append_null(),
            F32(builder) => builder.append_null(),
            F64(builder) => builder.append_null(),
            Decimal(builder) => builder.append_null(),
            Text(builder) => builder.append_null(),
            Bytes(builder) => builder.append_null(),
            Fixed(builder) => builder.append_null(),
            Date(builder) => builder.append_null(),
            Time(builder) => builder.append_null(),
            Timestamp(builder) => builder.append_null(),
        }
    }

    /// The column of the values so far; another one begins.
    pub fn finish(&mut self) -> ArrayRef {
        use ColumnBuilder::*;
        let builder: &mut dyn ArrayBuilder = match self {
            Bool(builder) => builder,
            I8(builder) => builder,
            I16(builder) => builder,
            I32(builder) => builder,
            I64(builder) => builder,
            U8(builder) => builder,
            U16(builder) => builder,
            U32(builder) => builder,
            U64(builder) => builder,
            Wide(builder) => builder,
            F32(builder) => builder,
            F64(builder) => builder,
            Decimal(builder) => builder,
            Text(builder) => builder,
            Bytes(builder) => builder,
            Fixed(builder) => builder,
            Date(builder) => builder,
            Time(builder) => builder,
            Timestamp(builder) => builder,
        };
        builder.finish()
    }
}
