//! Values during the evaluation of expressions.

use sardonyx::schema::{Value, ValueRef};

/// A value: borrowed from a row or an expression, or computed.
#[derive(Clone, Debug)]
pub(crate) enum Datum<'a> {
    Borrowed(ValueRef<'a>),
    Owned(Value),
}

impl Datum<'_> {
    pub const NULL: Datum<'static> = Datum::Owned(Value::Null);

    #[inline]
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
        matches!(self.as_ref(), ValueRef::Null)
    }
}
