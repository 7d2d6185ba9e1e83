//! The values of a column of Arrow data, one by one, as values of a table's column.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};
use sardonyx_rows::schema::{Type, ValueRef};

const DAY_MILLISECONDS: i64 = 86_400_000;

/// A column of some rows.
pub(super) struct ColumnValues<'a> {
    kind: Type,
    nulls: Option<NullBuffer>,
    /// The places of a dictionary's values.
    keys: Option<Vec<usize>>,
    values: Values<'a>,
}

/// The values, as in memory.
enum Values<'a> {
    Null,
    Bool(&'a BooleanArray),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F16(&'a [<Float16Type as ArrowPrimitiveType>::Native]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Decimal32(&'a [i32], i8),
    Decimal64(&'a [i64], i8),
    Decimal128(&'a [i128], i8),
    Decimal256(&'a [i256], i8),
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Bytes(&'a BinaryArray),
    LargeBytes(&'a LargeBinaryArray),
    BytesView(&'a BinaryViewArray),
    FixedBytes(&'a FixedSizeBinaryArray),
    Days(&'a [i32]),
    DayMilliseconds(&'a [i64]),
    Time32(&'a [i32], Unit),
    Time64(&'a [i64], Unit),
    Timestamp(&'a [i64], Unit),
}

/// A unit of time, in microseconds: so many, or that part of one.
#[derive(Clone, Copy)]
struct Unit {
    multiple: i64,
    divisor: i64,
}

impl Unit {
    fn of(unit: &TimeUnit) -> Self {
        let (multiple, divisor) = match unit {
            TimeUnit::Second => (1_000_000, 1),
            TimeUnit::Millisecond => (1_000, 1),
            TimeUnit::Microsecond => (1, 1),
            TimeUnit::Nanosecond => (1, 1_000),
        };
        Unit { multiple, divisor }
    }

    fn microseconds(self, time: i64) -> Result<i64, &'static str> {
        if time % self.divisor != 0 {
            return Err("parts of microseconds would be lost");
        }
        let time = (time / self.divisor).checked_mul(self.multiple);
        time.ok_or("out of range")
    }
}

impl<'a> ColumnValues<'a> {
    /// The values of an array whose type [fits](super::types::fits) the column's.
    pub fn new(array: &'a dyn Array, kind: Type) -> Self {
        let nulls = array.logical_nulls();
        let (keys, array) = match array.as_any_dictionary_opt() {
            Some(dictionary) if !dictionary.values().is_empty() => (
                Some(dictionary.normalized_keys()),
                dictionary.values().as_ref(),
            ),
            // Without values it has nulls only.
            Some(_) => {
                return ColumnValues {
                    kind,
                    nulls: None,
                    keys: None,
                    values: Values::Null,
                };
            }
            None => (None, array),
        };
        ColumnValues {
            kind,
            nulls,
            keys,
            values: Values::of(array),
        }
    }

    /// The value of a row.
    ///
    /// # Errors
    /// The reason why it is not of the column's type. Faults that only the table can detect are reported when the
    /// row is inserted.
    pub fn get(&self, row: usize) -> Result<ValueRef<'a>, &'static str> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(ValueRef::Null);
        }
        let row = self.keys.as_ref().map_or(row, |keys| keys[row]);
        let value = self.values.get(row)?;
        Ok(match (self.kind, value) {
            (_, ValueRef::Null) => ValueRef::Null,
            (Type::Decimal { .. }, value) => value,
            (Type::Uuid, ValueRef::Bytes(bytes)) => {
                ValueRef::Uuid(bytes.try_into().map_err(|_| "a UUID has 16 bytes")?)
            }
            (_, ValueRef::Decimal(number, 0) | ValueRef::Int(number)) => self.integer(number)?,
            (_, value) => value,
        })
    }

    fn integer(&self, number: i128) -> Result<ValueRef<'a>, &'static str> {
        let wrong = "out of range";
        match (self.kind, self.kind.integer_range()) {
            (Type::U128, _) => Ok(ValueRef::U128(number.try_into().map_err(|_| wrong)?)),
            (_, Some((low, high))) if !(low..=high).contains(&number) => Err(wrong),
            _ => Ok(ValueRef::Int(number)),
        }
    }
}

impl<'a> Values<'a> {
    fn of(array: &'a dyn Array) -> Self {
        macro_rules! slice {
            ($type:ty) => {
                array.as_primitive::<$type>().values()
            };
        }
        match array.data_type() {
            DataType::Boolean => Values::Bool(array.as_boolean()),
            DataType::Int8 => Values::I8(slice!(Int8Type)),
            DataType::Int16 => Values::I16(slice!(Int16Type)),
            DataType::Int32 => Values::I32(slice!(Int32Type)),
            DataType::Int64 => Values::I64(slice!(Int64Type)),
            DataType::UInt8 => Values::U8(slice!(UInt8Type)),
            DataType::UInt16 => Values::U16(slice!(UInt16Type)),
            DataType::UInt32 => Values::U32(slice!(UInt32Type)),
            DataType::UInt64 => Values::U64(slice!(UInt64Type)),
            DataType::Float16 => Values::F16(slice!(Float16Type)),
            DataType::Float32 => Values::F32(slice!(Float32Type)),
            DataType::Float64 => Values::F64(slice!(Float64Type)),
            DataType::Decimal32(_, scale) => Values::Decimal32(slice!(Decimal32Type), *scale),
            DataType::Decimal64(_, scale) => Values::Decimal64(slice!(Decimal64Type), *scale),
            DataType::Decimal128(_, scale) => Values::Decimal128(slice!(Decimal128Type), *scale),
            DataType::Decimal256(_, scale) => Values::Decimal256(slice!(Decimal256Type), *scale),
            DataType::Utf8 => Values::Text(array.as_string()),
            DataType::LargeUtf8 => Values::LargeText(array.as_string()),
            DataType::Utf8View => Values::TextView(array.as_string_view()),
            DataType::Binary => Values::Bytes(array.as_binary()),
            DataType::LargeBinary => Values::LargeBytes(array.as_binary()),
            DataType::BinaryView => Values::BytesView(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Values::FixedBytes(array.as_fixed_size_binary()),
            DataType::Date32 => Values::Days(slice!(Date32Type)),
            DataType::Date64 => Values::DayMilliseconds(slice!(Date64Type)),
            DataType::Time32(unit) => {
                let values = match unit {
                    TimeUnit::Second => slice!(Time32SecondType),
                    _ => slice!(Time32MillisecondType),
                };
                Values::Time32(values, Unit::of(unit))
            }
            DataType::Time64(unit) => {
                let values = match unit {
                    TimeUnit::Microsecond => slice!(Time64MicrosecondType),
                    _ => slice!(Time64NanosecondType),
                };
                Values::Time64(values, Unit::of(unit))
            }
            DataType::Timestamp(unit, _) => {
                let values = match unit {
                    TimeUnit::Second => slice!(TimestampSecondType),
                    TimeUnit::Millisecond => slice!(TimestampMillisecondType),
                    TimeUnit::Microsecond => slice!(TimestampMicrosecondType),
                    TimeUnit::Nanosecond => slice!(TimestampNanosecondType),
                };
                Values::Timestamp(values, Unit::of(unit))
            }
            // Of no other type is a column that fits one of a table's.
            _ => Values::Null,
        }
    }

    fn get(&self, row: usize) -> Result<ValueRef<'a>, &'static str> {
        Ok(match self {
            Values::Null => ValueRef::Null,
            Values::Bool(values) => ValueRef::Bool(values.value(row)),
            Values::I8(values) => ValueRef::Int(values[row].into()),
            Values::I16(values) => ValueRef::Int(values[row].into()),
            Values::I32(values) => ValueRef::Int(values[row].into()),
            Values::I64(values) => ValueRef::Int(values[row].into()),
            Values::U8(values) => ValueRef::Int(values[row].into()),
            Values::U16(values) => ValueRef::Int(values[row].into()),
            Values::U32(values) => ValueRef::Int(values[row].into()),
            Values::U64(values) => ValueRef::Int(values[row].into()),
            Values::F16(values) => ValueRef::Float(values[row].to_f64()),
            Values::F32(values) => ValueRef::Float(values[row].into()),
            Values::F64(values) => ValueRef::Float(values[row]),
            Values::Decimal32(values, scale) => decimal(values[row].into(), *scale)?,
            Values::Decimal64(values, scale) => decimal(values[row].into(), *scale)?,
            Values::Decimal128(values, scale) => decimal(values[row], *scale)?,
            Values::Decimal256(values, scale) => match (values[row].to_i128(), *scale) {
                (Some(units), scale) => decimal(units, scale)?,
                (None, 0) => match values[row].to_parts() {
                    (number, 0) => ValueRef::U128(number),
                    _ => return Err("more than 128 bits"),
                },
                _ => return Err("more than 128 bits"),
            },
            Values::Text(values) => ValueRef::Text(values.value(row)),
            Values::LargeText(values) => ValueRef::Text(values.value(row)),
            Values::TextView(values) => ValueRef::Text(values.value(row)),
            Values::Bytes(values) => ValueRef::Bytes(values.value(row)),
            Values::LargeBytes(values) => ValueRef::Bytes(values.value(row)),
            Values::BytesView(values) => ValueRef::Bytes(values.value(row)),
            Values::FixedBytes(values) => ValueRef::Bytes(values.value(row)),
            Values::Days(values) => ValueRef::Date(values[row]),
            Values::DayMilliseconds(values) => {
                let time = values[row];
                let days = i32::try_from(time / DAY_MILLISECONDS);
                match days {
                    Ok(days) if time % DAY_MILLISECONDS == 0 => ValueRef::Date(days),
                    Ok(_) => return Err("it is no whole day"),
                    Err(_) => return Err("out of range"),
                }
            }
            Values::Time32(values, unit) => ValueRef::Time(unit.microseconds(values[row].into())?),
            Values::Time64(values, unit) => ValueRef::Time(unit.microseconds(values[row])?),
            Values::Timestamp(values, unit) => ValueRef::Timestamp(unit.microseconds(values[row])?),
        })
    }
}

/// Units of `10^-scale`; of scales below 0 as whole numbers.
fn decimal<'a>(units: i128, scale: i8) -> Result<ValueRef<'a>, &'static str> {
    if let Ok(scale) = u8::try_from(scale) {
        return Ok(ValueRef::Decimal(units, scale));
    }
    let power = 10_i128.checked_pow(scale.unsigned_abs().into());
    let units = power.and_then(|power| units.checked_mul(power));
    Ok(ValueRef::Decimal(units.ok_or("too many digits")?, 0))
}
