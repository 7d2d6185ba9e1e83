//! Plain types for fields of records that are no numbers: dates, times, decimals, UUIDs. They stand in a record as
//! the columns of their types do, so every program reads them as what they are.

use crate::columns::{ColumnType, RecordColumn, column_types};
use crate::schema::Type;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

macro_rules! plain_type {
    ($(#[$meta:meta])* $name:ident($type:ty)) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default,
            FromBytes, IntoBytes, Immutable, KnownLayout,
        )]
        #[repr(transparent)]
        pub struct $name(pub $type);
    };
}

plain_type!(
    /// A day: how many days after 1970-01-01.
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

impl Timestamp {
    /// What the system's clock says. Times beyond 290,000 years are the first or last that there is.
    pub fn now() -> Self {
        SystemTime::now().into()
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Timestamp(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => micros(after),
            Err(before) => -micros(before.duration()),
        })
    }
}

/// A decimal number: units of `10^-SCALE`, such as cents for a scale of 2.
///
/// ```
/// use sardonyx_rows::types::Decimal;
/// let price = Decimal::<2>::from_units(1999); // 19.99
/// assert_eq!(price.units(), 1999);
/// assert!(price > Decimal::from_units(-5));
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct Decimal<const SCALE: u8>([u64; 2]);

impl<const SCALE: u8> Decimal<SCALE> {
    /// So many units.
    pub const fn from_units(units: i128) -> Self {
        let bits = units as u128;
        Decimal([(bits as u64).to_le(), ((bits >> 64) as u64).to_le()])
    }

    /// How many units.
    pub const fn units(self) -> i128 {
        let [low, high] = self.0;
        (u64::from_le(high) as u128 as i128) << 64 | u64::from_le(low) as i128
    }
}

impl<const SCALE: u8> PartialOrd for Decimal<SCALE> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<const SCALE: u8> Ord for Decimal<SCALE> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.units().cmp(&other.units())
    }
}

impl<const SCALE: u8> std::fmt::Debug for Decimal<SCALE> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}e-{SCALE}", self.units())
    }
}

impl<const SCALE: u8> ColumnType for Decimal<SCALE> {
    fn columns(name: &str, offset: usize, into: &mut Vec<RecordColumn>) {
        let (name, kind) = (name.to_string(), Type::Decimal { scale: SCALE });
        into.push(RecordColumn { name, kind, offset });
    }
}
