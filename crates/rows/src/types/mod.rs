//! Plain types for fields of records that are no numbers: dates, times, decimals, UUIDs. They have the layout of their
//! types' columns, so every program reads them with their meaning.
//!
//! Each is printed and read (`Display`, `FromStr`) in the form of [`value_text`](crate::value_text). Arithmetic is checked:
//! a result that the type cannot hold is `None`, never another value. Dates and times convert to those of the crate `jiff`
//! with the feature of that name.

mod calendar;
mod decimal;
#[cfg(feature = "jiff")]
mod jiff;

pub use decimal::Decimal;

use crate::columns::{ColumnType, RecordColumn, column_types};
use crate::schema::{Type, Value};
use crate::value_text::{ValueTextError, parse_value};
use sardonyx_base::resident::Resident;
use std::fmt;
use std::str::FromStr;

macro_rules! plain_type {
    ($(#[$meta:meta])* $name:ident($type:ty)) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Resident)]
        #[repr(transparent)]
        pub struct $name(pub $type);
    };
}

plain_type!(
    /// A date: the number of days since 1970-01-01.
    Date(i32)
);
plain_type!(
    /// A time of the day: microseconds since midnight.
    Time(i64)
);
plain_type!(
    /// A point in time: microseconds since 1970-01-01 00:00 UTC.
    Timestamp(i64)
);
plain_type!(
    /// A UUID: its bytes in the order in which they are written.
    Uuid([u8; 16])
);

column_types!(
    Date => Type::Date, Time => Type::Time, Timestamp => Type::Timestamp, Uuid => Type::Uuid,
);

/// Prints and reads a type as the value of a column.
macro_rules! value_text {
    ($($name:ident, $variant:ident);+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Value::$variant(self.0).fmt(f)
            }
        }

        /// As it is printed, so that logs and failed assertions can be read.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ValueTextError;

            fn from_str(text: &str) -> Result<Self, ValueTextError> {
                match parse_value(text, Type::$variant)? {
                    Value::$variant(value) => Ok($name(value)),
                    _ => Err(ValueTextError::of_another_type(Type::$variant)),
                }
            }
        }
    )+};
}

value_text!(Date, Date; Time, Time; Timestamp, Timestamp; Uuid, Uuid);
