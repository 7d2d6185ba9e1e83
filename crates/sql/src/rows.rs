//! Rows as plans and expressions read them: of a table, or computed values.

use crate::error::SqlError;
use sardonyx::low_level::Address;
use sardonyx::rows::ReadRow;
use sardonyx::schema::{Value, ValueRef};

/// A row whose columns are read by their places.
pub(crate) trait InputRow {
    /// The value at a place; null if there is none.
    fn value(&self, place: usize) -> Result<ValueRef<'_>, SqlError>;

    /// The address in its table, if it is a row of one.
    fn address(&self) -> Option<Address> {
        None
    }
}

impl<R: ReadRow> InputRow for R {
    fn value(&self, place: usize) -> Result<ValueRef<'_>, SqlError> {
        Ok(self.value_at(place)?)
    }

    fn address(&self) -> Option<Address> {
        ReadRow::address(self)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a>(pub &'a [Value]);

impl InputRow for Values<'_> {
    fn value(&self, place: usize) -> Result<ValueRef<'_>, SqlError> {
        Ok(self.0.get(place).map_or(ValueRef::Null, Value::as_ref))
    }
}

/// Replaces a value: a text reuses the memory of the one before.
pub(crate) fn put(value: ValueRef<'_>, place: &mut Value) {
    match (value, place) {
        (ValueRef::Text(text), Value::Text(there)) => {
            there.clear();
            there.push_str(text);
        }
        (ValueRef::Bytes(bytes), Value::Bytes(there)) => {
            there.clear();
            there.extend_from_slice(bytes);
        }
        (value, place) => *place = value.to_value(),
    }
}

/// The callback for each row: it returns true for more.
pub(crate) type EachRow<'e> = &'e mut dyn FnMut(&dyn InputRow) -> Result<bool, SqlError>;

/// Rows, one value after another.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table {
    pub values: Vec<Value>,
    pub width: usize,
    pub rows: u64,
}

impl Table {
    /// Calls `each` with the rows.
    ///
    /// # Errors
    /// The error of `each`.
    pub fn walk(&self, each: EachRow<'_>) -> Result<(), SqlError> {
        match self.width {
            0 => each_of((0..self.rows).map(|_| &[][..]), each),
            width => each_of(self.values.chunks(width), each),
        }
    }
}

/// Calls `each` with the given rows.
///
/// # Errors
/// The error of `each`.
pub(crate) fn each_of<'r>(
    rows: impl Iterator<Item = &'r [Value]>,
    each: EachRow<'_>,
) -> Result<(), SqlError> {
    for row in rows {
        if !each(&Values(row))? {
            break;
        }
    }
    Ok(())
}
