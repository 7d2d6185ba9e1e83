//! Rows of a snapshot, made into Arrow's arrays: a builder for each column that is wanted.

use crate::error::{external, internal};
use crate::types::{DIGITS_MAX, array_type, utc};
use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder,
    Float64Builder, Int16Builder, Int32Builder, Int64Builder, RecordBatch, RecordBatchOptions,
    StringViewBuilder, Time64NanosecondBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::error::Result;
use sardonyx_sql::{SqlError, TypeSpec, ValueRef, code};
use std::sync::Arc;

/// Rows of a batch.
pub const BATCH_ROWS: usize = 8192;

/// A column that is read: where it is in a row, and what it is.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its number in the engine's schema.
    pub number: usize,
    /// Its type.
    pub spec: TypeSpec,
}

enum Builder {
    Bool(BooleanBuilder),
    Int2(Int16Builder),
    Int4(Int32Builder),
    Int8(Int64Builder),
    Float4(Float32Builder),
    Float8(Float64Builder),
    Numeric(Decimal128Builder, u8),
    Text(StringViewBuilder),
    Bytea(BinaryBuilder),
    Date(Date32Builder),
    Time(Time64NanosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
}

/// A batch on its way.
pub struct BatchBuilder {
    schema: SchemaRef,
    columns: Vec<(usize, Builder)>,
    rows: usize,
}

impl Builder {
    fn of(spec: TypeSpec) -> Result<Builder> {
        let rows = BATCH_ROWS;
        let kind = array_type(spec);
        Ok(match &kind {
            DataType::Boolean => Builder::Bool(BooleanBuilder::with_capacity(rows)),
            DataType::Int16 => Builder::Int2(Int16Builder::with_capacity(rows)),
            DataType::Int32 => Builder::Int4(Int32Builder::with_capacity(rows)),
            DataType::Int64 => Builder::Int8(Int64Builder::with_capacity(rows)),
            DataType::Float32 => Builder::Float4(Float32Builder::with_capacity(rows)),
            DataType::Float64 => Builder::Float8(Float64Builder::with_capacity(rows)),
            DataType::Decimal128(_, scale) => {
                let builder = Decimal128Builder::with_capacity(rows).with_data_type(kind.clone());
                Builder::Numeric(builder, *scale as u8)
            }
            DataType::Utf8View => Builder::Text(StringViewBuilder::with_capacity(rows)),
            DataType::Binary => Builder::Bytea(BinaryBuilder::with_capacity(rows, 0)),
            DataType::Date32 => Builder::Date(Date32Builder::with_capacity(rows)),
            DataType::Time64(_) => Builder::Time(Time64NanosecondBuilder::with_capacity(rows)),
            DataType::Timestamp(_, zone) => {
                let builder = TimestampMicrosecondBuilder::with_capacity(rows);
                Builder::Timestamp(match zone {
                    Some(_) => builder.with_timezone_opt(utc()),
                    None => builder,
                })
            }
            other => return Err(internal(format!("there is no array of {other}"))),
        })
    }

    fn push(&mut self, value: ValueRef<'_>) -> Result<()> {
        match (self, value) {
            (Builder::Bool(to), ValueRef::Bool(value)) => to.append_value(value),
            (Builder::Bool(to), ValueRef::Null) => to.append_null(),
            (Builder::Int2(to), ValueRef::Int(value)) => to.append_value(whole(value)?),
            (Builder::Int2(to), ValueRef::Null) => to.append_null(),
            (Builder::Int4(to), ValueRef::Int(value)) => to.append_value(whole(value)?),
            (Builder::Int4(to), ValueRef::Null) => to.append_null(),
            (Builder::Int8(to), ValueRef::Int(value)) => to.append_value(whole(value)?),
            (Builder::Int8(to), ValueRef::Null) => to.append_null(),
            (Builder::Float4(to), ValueRef::Float(value)) => to.append_value(value as f32),
            (Builder::Float4(to), ValueRef::Null) => to.append_null(),
            (Builder::Float8(to), ValueRef::Float(value)) => to.append_value(value),
            (Builder::Float8(to), ValueRef::Null) => to.append_null(),
            (Builder::Numeric(to, scale), ValueRef::Decimal(units, from)) => {
                to.append_value(rescaled(units, from, *scale)?);
            }
            (Builder::Numeric(to, scale), ValueRef::Int(value)) => {
                to.append_value(rescaled(value, 0, *scale)?);
            }
            (Builder::Numeric(to, scale), ValueRef::U128(value)) => {
                let value = i128::try_from(value).map_err(|_| too_large())?;
                to.append_value(rescaled(value, 0, *scale)?);
            }
            (Builder::Numeric(to, _), ValueRef::Null) => to.append_null(),
            (Builder::Text(to), ValueRef::Text(text)) => to.append_value(text),
            (Builder::Text(to), ValueRef::Uuid(bytes)) => to.append_value(uuid_text(bytes)),
            (Builder::Text(to), ValueRef::Null) => to.append_null(),
            (Builder::Bytea(to), ValueRef::Bytes(bytes)) => to.append_value(bytes),
            (Builder::Bytea(to), ValueRef::Null) => to.append_null(),
            (Builder::Date(to), ValueRef::Date(days)) => to.append_value(days),
            (Builder::Date(to), ValueRef::Null) => to.append_null(),
            (Builder::Time(to), ValueRef::Time(micros)) => {
                to.append_value(micros.saturating_mul(1000))
            }
            (Builder::Time(to), ValueRef::Null) => to.append_null(),
            (Builder::Timestamp(to), ValueRef::Timestamp(micros)) => to.append_value(micros),
            (Builder::Timestamp(to), ValueRef::Null) => to.append_null(),
            _ => return Err(internal("a value is not of its column's type")),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Bool(of) => Arc::new(of.finish()),
            Builder::Int2(of) => Arc::new(of.finish()),
            Builder::Int4(of) => Arc::new(of.finish()),
            Builder::Int8(of) => Arc::new(of.finish()),
            Builder::Float4(of) => Arc::new(of.finish()),
            Builder::Float8(of) => Arc::new(of.finish()),
            Builder::Numeric(of, _) => Arc::new(of.finish()),
            Builder::Text(of) => Arc::new(of.finish()),
            Builder::Bytea(of) => Arc::new(of.finish()),
            Builder::Date(of) => Arc::new(of.finish()),
            Builder::Time(of) => Arc::new(of.finish()),
            Builder::Timestamp(of) => Arc::new(of.finish()),
        }
    }
}

impl BatchBuilder {
    /// A builder of batches with these columns.
    ///
    /// # Errors
    /// A column has a type that no array has.
    pub fn new(schema: SchemaRef, columns: &[Wanted]) -> Result<Self> {
        let columns = columns.iter();
        let columns = columns.map(|wanted| Ok((wanted.number, Builder::of(wanted.spec)?)));
        Ok(BatchBuilder {
            schema,
            columns: columns.collect::<Result<_>>()?,
            rows: 0,
        })
    }

    /// Adds a row, whose values are told by their columns' numbers.
    ///
    /// # Errors
    /// A value cannot be read, or is beyond what its array takes.
    pub fn push<'r>(
        &mut self,
        value: impl Fn(usize) -> std::result::Result<ValueRef<'r>, SqlError>,
    ) -> Result<()> {
        for (number, builder) in &mut self.columns {
            builder.push(value(*number).map_err(external)?)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The batch of the rows that were added; the next one begins.
    ///
    /// # Errors
    /// None that is known.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays = self.columns.iter_mut();
        let arrays = arrays.map(|(_, builder)| builder.finish()).collect();
        let rows = std::mem::take(&mut self.rows);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            arrays,
            &options,
        )?)
    }
}

fn whole<T: TryFrom<i128>>(value: i128) -> Result<T> {
    T::try_from(value).map_err(|_| internal("a number is beyond its column's type"))
}

fn too_large() -> datafusion::error::DataFusionError {
    external(SqlError::new(
        code::OUT_OF_RANGE,
        format!("analytic reads know numbers of at most {DIGITS_MAX} digits"),
    ))
}

/// The same number with so many digits behind the point, of which there are not fewer.
fn rescaled(units: i128, from: u8, to: u8) -> Result<i128> {
    let power = to.checked_sub(from);
    let power = power.and_then(|power| 10_i128.checked_pow(power.into()));
    let units = power.and_then(|power| units.checked_mul(power));
    let units = units.filter(|units| units.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into()));
    units.ok_or_else(too_large)
}

/// A UUID as text.
pub fn uuid_text(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(digit.into(), 16));
        }
    }
    text
}
