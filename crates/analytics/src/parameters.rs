//! Parameters of statements: their types as SQL says them, and their values.

use crate::error::told;
use crate::text::Text;
use crate::types::{DIGITS_MAX, FREE_SCALE, array_type, utc};
use datafusion::arrow::datatypes::TimeUnit;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{DataType, ExactNumberInfo, Ident, Statement, TimezoneInfo};
use sardonyx_sql::{AnalyticQuery, SqlError, SqlType, TypeSpec, Value, code};

/// The types of a statement's parameters, as far as they are known.
pub fn types(query: &AnalyticQuery, text: &Text) -> Vec<Option<SqlType>> {
    let count = text.parameters.max(query.types.len());
    let each = (0..count).map(|place| {
        let said = query.types.get(place).copied().flatten();
        said.or_else(|| text.cast.get(&(place + 1)).copied())
    });
    each.collect()
}

/// How a type is said in SQL.
fn named(kind: SqlType, value: Option<&Value>) -> DataType {
    let zoned = |zone| DataType::Timestamp(Some(6), zone);
    match kind {
        SqlType::Bool => DataType::Boolean,
        SqlType::Int2 => DataType::SmallInt(None),
        SqlType::Int4 => DataType::Integer(None),
        SqlType::Int8 | SqlType::Oid | SqlType::Regclass => DataType::BigInt(None),
        SqlType::Float4 => DataType::Real,
        SqlType::Float8 => DataType::DoublePrecision,
        SqlType::Numeric => {
            let scale = match value {
                Some(Value::Decimal(_, scale)) => i64::from(*scale),
                Some(Value::Int(_)) => 0,
                _ => i64::from(FREE_SCALE),
            };
            let info = ExactNumberInfo::PrecisionAndScale(DIGITS_MAX.into(), scale);
            DataType::Numeric(info)
        }
        SqlType::Bytea => DataType::Bytea,
        SqlType::Date => DataType::Date,
        SqlType::Time => DataType::Time(None, TimezoneInfo::None),
        SqlType::Timestamp => zoned(TimezoneInfo::None),
        SqlType::Timestamptz => zoned(TimezoneInfo::WithTimeZone),
        _ => DataType::Text,
    }
}

/// The statement with the types of its parameters said.
pub fn declared(statement: Statement, types: &[SqlType], values: &[Value]) -> Statement {
    if types.is_empty() {
        return statement;
    }
    let types = types.iter().enumerate();
    Statement::Prepare {
        name: Ident::new("statement"),
        data_types: types
            .map(|(place, kind)| named(*kind, values.get(place)))
            .collect(),
        statement: Box::new(statement),
    }
}

/// The values, as DataFusion has them.
///
/// # Errors
/// `08P01` if there are not as many as there are parameters.
pub fn values(types: &[SqlType], values: &[Value]) -> Result<Vec<ScalarValue>, SqlError> {
    if types.len() != values.len() {
        let text = format!(
            "the statement has {} parameters, and {} values are given",
            types.len(),
            values.len()
        );
        return Err(SqlError::new("08P01", text));
    }
    let both = types.iter().zip(values);
    both.map(|(kind, value)| scalar(*kind, value)).collect()
}

fn scalar(kind: SqlType, value: &Value) -> Result<ScalarValue, SqlError> {
    let wrong = || {
        let text = format!("a value of a parameter is no {}", kind.name());
        SqlError::new(code::DATATYPE_MISMATCH, text)
    };
    Ok(match (kind, value) {
        (SqlType::Time, Value::Null) => ScalarValue::Time64Nanosecond(None),
        (kind, Value::Null) => {
            let kind = array_type(TypeSpec::plain(kind));
            ScalarValue::try_from(&kind).map_err(|error| told(&error))?
        }
        (_, Value::Bool(value)) => ScalarValue::Boolean(Some(*value)),
        (SqlType::Numeric, Value::Int(value)) => {
            ScalarValue::Decimal128(Some(*value), DIGITS_MAX, 0)
        }
        (_, Value::Decimal(units, scale)) => {
            let scale = i8::try_from(*scale).map_err(|_| wrong())?;
            ScalarValue::Decimal128(Some(*units), DIGITS_MAX, scale)
        }
        (SqlType::Int2, Value::Int(value)) => {
            ScalarValue::Int16(Some(i16::try_from(*value).map_err(|_| wrong())?))
        }
        (SqlType::Int4, Value::Int(value)) => {
            ScalarValue::Int32(Some(i32::try_from(*value).map_err(|_| wrong())?))
        }
        (_, Value::Int(value)) => {
            ScalarValue::Int64(Some(i64::try_from(*value).map_err(|_| wrong())?))
        }
        (SqlType::Float4, Value::Float(value)) => ScalarValue::Float32(Some(*value as f32)),
        (_, Value::Float(value)) => ScalarValue::Float64(Some(*value)),
        (_, Value::Text(text)) => ScalarValue::Utf8View(Some(text.to_string())),
        (_, Value::Bytes(bytes)) => ScalarValue::Binary(Some(bytes.to_vec())),
        (_, Value::Date(days)) => ScalarValue::Date32(Some(*days)),
        (_, Value::Time(micros)) => ScalarValue::Time64Nanosecond(micros.checked_mul(1000)),
        (SqlType::Timestamp, Value::Timestamp(micros)) => {
            ScalarValue::TimestampMicrosecond(Some(*micros), None)
        }
        (_, Value::Timestamp(micros)) => ScalarValue::TimestampMicrosecond(Some(*micros), utc()),
        (_, Value::Uuid(bytes)) => ScalarValue::Utf8View(Some(crate::batch::uuid_text(bytes))),
        _ => return Err(wrong()),
    })
}

/// The type of a parameter that was found out, which clients know.
pub fn found(kind: &datafusion::arrow::datatypes::DataType) -> SqlType {
    use datafusion::arrow::datatypes::{DataType as Array, Field};
    match kind {
        Array::Timestamp(TimeUnit::Nanosecond | TimeUnit::Millisecond | TimeUnit::Second, None) => {
            SqlType::Timestamp
        }
        kind => {
            let spec = crate::types::spec_of(&Field::new("", kind.clone(), true));
            spec.map_or(SqlType::Text, |spec| spec.kind)
        }
    }
}
