//! Values while expressions are computed, and arguments of functions.

use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};

/// A value: borrowed from a row or an expression, or computed.
#[derive(Clone, Debug)]
pub(crate) enum Datum<'a> {
    Borrowed(ValueRef<'a>),
    Owned(Value),
}

impl Datum<'_> {
    pub const NULL: Datum<'static> = Datum::Owned(Value::Null);

    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Datum::Borrowed(value) => *value,
            Datum::Owned(value) => value.as_ref(),
        }
    }

    pub fn into_value(self) -> Value {
        match self {
            Datum::Borrowed(value) => value.to_value(),
            Datum::Owned(value) => value,
        }
    }

    pub fn is_null(&self) -> bool {
        self.as_ref() == ValueRef::Null
    }
}

/// The type whose number is an argument: it was put there when the call was compiled.
pub(super) fn kind_at(values: &[Datum<'_>], at: usize) -> SqlType {
    let oid = int_at(values, at).and_then(|oid| u32::try_from(oid).ok());
    oid.and_then(SqlType::from_oid).unwrap_or(SqlType::Text)
}

pub(super) fn text_at<'v>(values: &'v [Datum<'_>], at: usize) -> Option<&'v str> {
    match values.get(at).map(Datum::as_ref) {
        Some(ValueRef::Text(text)) => Some(text),
        _ => None,
    }
}

pub(super) fn int_at(values: &[Datum<'_>], at: usize) -> Option<i64> {
    match values.get(at).map(Datum::as_ref) {
        Some(ValueRef::Int(value)) => i64::try_from(value).ok(),
        _ => None,
    }
}
