//! Types here and in Arrow: which array a column's values are in, and what a computed array is to PostgreSQL's clients.
//!
//! A type that Arrow has no word for (`char(n)`, `varchar(n)`, `uuid`, `oid`, …) goes along as metadata of the field, as
//! far as DataFusion hands it on: to columns that stay what they are.

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use sardonyx_sql::{SqlType, TypeSpec};
use std::collections::HashMap;
use std::sync::Arc;

/// The key of the metadata with PostgreSQL's number and modifier of the type.
const TYPE_KEY: &str = "postgresql.type";
/// The most digits of a `numeric`.
pub const DIGITS_MAX: u8 = 38;
/// Digits behind the point of a `numeric` without a scale.
pub const FREE_SCALE: i8 = 18;

/// Times with a zone, which is always this.
pub fn utc() -> Option<Arc<str>> {
    Some("UTC".into())
}

/// The array type of values of a type.
pub fn array_type(spec: TypeSpec) -> DataType {
    match spec.kind {
        SqlType::Bool => DataType::Boolean,
        SqlType::Int2 => DataType::Int16,
        SqlType::Int4 => DataType::Int32,
        SqlType::Int8 | SqlType::Oid | SqlType::Regclass => DataType::Int64,
        SqlType::Float4 => DataType::Float32,
        SqlType::Float8 => DataType::Float64,
        SqlType::Numeric => match spec.precision_and_scale() {
            Some((precision, scale)) => DataType::Decimal128(precision, scale as i8),
            None => DataType::Decimal128(DIGITS_MAX, FREE_SCALE),
        },
        SqlType::Bytea => DataType::Binary,
        SqlType::Date => DataType::Date32,
        // As DataFusion has literals and casts.
        SqlType::Time => DataType::Time64(TimeUnit::Nanosecond),
        SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        // A UUID's digits are ordered as its bytes are.
        _ => DataType::Utf8View,
    }
}

/// The field of a column.
pub fn field_of(name: &str, spec: TypeSpec, is_nullable: bool) -> Field {
    let said = format!("{}:{}", spec.kind.oid(), spec.modifier);
    Field::new(name, array_type(spec), is_nullable)
        .with_metadata(HashMap::from([(TYPE_KEY.to_string(), said)]))
}

/// The type that a field came with.
pub fn said_type(field: &Field) -> Option<TypeSpec> {
    let (oid, modifier) = field.metadata().get(TYPE_KEY)?.split_once(':')?;
    let spec = TypeSpec {
        kind: SqlType::from_oid(oid.parse().ok()?)?,
        modifier: modifier.parse().ok()?,
    };
    // Computing may have made something else of it, with its metadata.
    (array_type(spec) == *field.data_type()).then_some(spec)
}

/// What a field is to clients; `None` if they have no such type.
pub fn spec_of(field: &Field) -> Option<TypeSpec> {
    if let Some(spec) = said_type(field) {
        return Some(spec);
    }
    let kind = match field.data_type() {
        DataType::Boolean => SqlType::Bool,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => SqlType::Int2,
        DataType::UInt16 | DataType::Int32 => SqlType::Int4,
        // Numbers of rows, which fit.
        DataType::UInt32 | DataType::Int64 | DataType::UInt64 => SqlType::Int8,
        DataType::Float16 | DataType::Float32 => SqlType::Float4,
        DataType::Float64 => SqlType::Float8,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => SqlType::Numeric,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => SqlType::Text,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => SqlType::Bytea,
        DataType::Date32 | DataType::Date64 => SqlType::Date,
        DataType::Time32(_) | DataType::Time64(_) => SqlType::Time,
        DataType::Timestamp(_, None) => SqlType::Timestamp,
        DataType::Timestamp(_, Some(_)) => SqlType::Timestamptz,
        DataType::Dictionary(_, values) => {
            return spec_of(&Field::new("", values.as_ref().clone(), true));
        }
        _ => return None,
    };
    Some(TypeSpec::plain(kind))
}
