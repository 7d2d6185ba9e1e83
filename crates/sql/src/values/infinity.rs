//! Infinite days and moments: the last and the first number of their types, which the engine stores and orders as any
//! other. A computation on these numbers must test for infinity first.

use sardonyx::schema::{Value, ValueRef};

/// True for an infinite day or moment.
pub(crate) fn is_infinite(value: ValueRef<'_>) -> bool {
    matches!(
        value,
        ValueRef::Date(i32::MAX | i32::MIN) | ValueRef::Timestamp(i64::MAX | i64::MIN)
    )
}

/// The first moment: the beginning of 24 November 4714 BC, as in PostgreSQL.
const FIRST_MICROS: i64 = -210_866_803_200_000_000;

/// A moment that was computed or read: not the last number, which means infinity, and none before the first moment.
pub(crate) fn finite(micros: i64) -> Option<i64> {
    (FIRST_MICROS..i64::MAX).contains(&micros).then_some(micros)
}

/// The infinite moment for an infinite day or moment.
pub(crate) fn infinite_moment(of: ValueRef<'_>) -> Value {
    match of {
        ValueRef::Date(i32::MAX) | ValueRef::Timestamp(i64::MAX) => Value::Timestamp(i64::MAX),
        _ => Value::Timestamp(i64::MIN),
    }
}
