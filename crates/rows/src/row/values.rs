//! Values of columns by their numbers, borrowed: of a [`RowWriter`](super::RowWriter), or of a caller that has them in an
//! array. A new row of common values is encoded from them in one pass, and nothing is allocated.

use super::fixed::set_null;
use crate::schema::{Column, Schema, Type, VALUE_BYTES_MAX, ValueRef};
use crate::values::{REFERENCE_BYTES, Reference};

/// Most rows have fewer texts and bytes that do not fit into their references.
const LONG_MAX: usize = 4;

/// Values for some columns of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowValues<'r, 'v>(pub(super) &'r [Option<ValueRef<'v>>]);

/// Texts and bytes of a row that do not fit into its fixed part: the offsets of their references, and the values.
#[derive(Clone, Copy, Default, Debug)]
pub struct LongValues<'v> {
    values: [(usize, &'v [u8]); LONG_MAX],
    count: usize,
}

impl<'v> LongValues<'v> {
    /// One more. False if there are too many.
    #[inline]
    pub fn push(&mut self, offset: usize, value: &'v [u8]) -> bool {
        match self.values.get_mut(self.count) {
            Some(place) => {
                *place = (offset, value);
                self.count += 1;
                true
            }
            None => false,
        }
    }

    /// The values.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'v [u8])> + '_ {
        self.values.iter().take(self.count).copied()
    }
}

impl<'r, 'v> RowValues<'r, 'v> {
    /// Values in the order of the columns; of those that are not set, none.
    #[inline]
    pub fn new(values: &'r [Option<ValueRef<'v>>]) -> Self {
        RowValues(values)
    }

    /// The value of a column, if it is set.
    #[inline]
    pub fn get(self, column: usize) -> Option<ValueRef<'v>> {
        self.0.get(column).copied().flatten()
    }

    /// The columns that are set, with their values.
    #[inline]
    pub fn set_columns(self) -> impl Iterator<Item = (usize, ValueRef<'v>)> + 'r {
        let values = self.0.iter().enumerate();
        values.filter_map(|(column, value)| Some((column, (*value)?)))
    }

    /// Writes a new row to its fixed part, which is zeroes, except for texts and bytes that do not fit there, which are
    /// returned. It does so in one pass if each column has a value of a common type that is stored as it is. Returns `None`
    /// otherwise: then [`RowWriter::complete`](super::RowWriter::complete), [`RowWriter::check`](super::RowWriter::check) and
    /// [`set_column`](super::set_column) convert the values, or say why that is not possible. The fixed part may have some
    /// columns then.
    ///
    /// # Panics
    /// If the fixed part is shorter than the schema's rows.
    #[inline]
    pub fn encode_common(self, schema: &Schema, fixed: &mut [u8]) -> Option<LongValues<'v>> {
        let mut long = LongValues::default();
        let mut columns = schema.columns.iter().enumerate();
        let is_common = schema.declared.is_empty()
            && self.0.len() <= schema.columns.len()
            && columns.all(|(number, column)| match self.get(number) {
                Some(value) => !column.dropped && encode_common(column, value, fixed, &mut long),
                None => column.dropped,
            });
        is_common.then_some(long)
    }
}

/// Writes a value of a common type to a fixed part that is zeroes, except for a text or bytes that do not fit there. Returns
/// false if it is of another type, or is to be converted or refused.
#[inline]
fn encode_common<'v>(
    column: &Column,
    value: ValueRef<'v>,
    fixed: &mut [u8],
    long: &mut LongValues<'v>,
) -> bool {
    let text = match (column.kind, value) {
        (Type::Bytes, ValueRef::Bytes(bytes)) => bytes,
        (Type::Text, ValueRef::Text(text)) => text.as_bytes(),
        (_, ValueRef::Null) => {
            set_null(fixed, column, true);
            return column.is_nullable();
        }
        (kind, value) => {
            let word = match (kind, value) {
                (Type::U64, ValueRef::Int(number)) => u64::try_from(number).map(u64::to_le_bytes),
                (Type::I64, ValueRef::Int(number)) => i64::try_from(number).map(i64::to_le_bytes),
                (Type::Timestamp, ValueRef::Timestamp(time)) => Ok(time.to_le_bytes()),
                (Type::F64, ValueRef::Float(float)) if !float.is_nan() => Ok(float.to_le_bytes()),
                _ => return false,
            };
            if let Ok(word) = &word {
                fixed[column.offset..][..word.len()].copy_from_slice(word);
            }
            return word.is_ok();
        }
    };
    match Reference::inline(text) {
        Some(reference) => {
            fixed[column.offset..][..REFERENCE_BYTES].copy_from_slice(&reference.0);
            true
        }
        None => text.len() <= VALUE_BYTES_MAX && long.push(column.offset, text),
    }
}

#[cfg(test)]
mod tests;
