//! Sets few columns of a row in place: a counter of a key, its value.
//!
//! A caller that knows a table's columns by their numbers sets one or two of a row. The general way makes a row of values,
//! checks it, changes a copy of the row's fixed part and compares that word by word. Here a value is encoded once and
//! written if it differs.
//!
//! Invariant: the outcome is that of [`Transaction::update_row_at`]. A row whose change is more than a change of these
//! columns' bytes takes that way.

use super::{OVERHEAD_BYTES, Transaction};
use crate::table::TableState;
use sardonyx_rows::TableError;
use sardonyx_rows::row::RowWriter;
use sardonyx_rows::row::fixed::{Unfit, encode, variable_bytes};
use sardonyx_rows::schema::{Schema, Type, VALUE_BYTES_MAX, ValueRef};
use sardonyx_rows::values::Reference;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::Address;
use std::sync::Arc;

/// The most bytes of a column of a fixed width that is set so.
const FIXED_BYTES_MAX: usize = 16;
/// The most bytes of columns that are written at once.
const RUN_BYTES_MAX: usize = 2 * FIXED_BYTES_MAX;

/// Columns of fixed widths that stand one behind the other in a row, to be written at once: each write costs a record's head
/// in the log, and a step to undo.
struct Run {
    at: Address,
    bytes: [u8; RUN_BYTES_MAX],
    length: usize,
}

impl Default for Run {
    fn default() -> Self {
        Run::at(Address(0))
    }
}

impl Run {
    /// One without columns yet.
    #[inline]
    fn at(at: Address) -> Self {
        Run {
            at,
            bytes: [0; RUN_BYTES_MAX],
            length: 0,
        }
    }

    /// True if a column of so many bytes at a place is the next one, and there is room for it.
    #[inline]
    fn has_room(&self, place: Address, bytes: usize) -> bool {
        self.at.0 + self.length as u64 == place.0 && self.length + bytes <= RUN_BYTES_MAX
    }
}

impl Transaction<'_> {
    /// Sets columns of the row at an address, at which there is one.
    #[inline]
    pub(crate) fn set_columns_at(
        &mut self,
        number: u16,
        at: Address,
        columns: &[(usize, ValueRef<'_>)],
    ) -> Result<(), TableError> {
        let state = self.row_state(number)?;
        let is_alone = state.changes_alone()
            && (columns.iter()).all(|(column, value)| state.has_alone(*column, *value));
        if !is_alone {
            return self.update_row_at(number, at, &RowWriter::of(columns));
        }
        let each = encoded_bytes(FIXED_BYTES_MAX);
        self.check_room(columns.len() * each + OVERHEAD_BYTES)?;
        self.count_change(number);
        let point = self.undo_point();
        let mut run = Run::default();
        for (column, value) in columns {
            if let Err(error) = self.set_column_at(number, at, *column, *value, &mut run) {
                self.undo_to(point);
                return Err(error);
            }
        }
        self.write_run(&run);
        self.touch(at);
        Ok(())
    }

    /// Writes columns of fixed widths that are in no key, one behind the other at this place of the row at an address, at which
    /// there is one. [`None`] if the schema is not the table's, or more would change than these bytes; nothing has changed then.
    #[doc(hidden)]
    #[inline]
    pub fn set_fixed(
        &mut self,
        (number, schema): (u16, &Arc<Schema>),
        (at, place): (Address, usize),
        bytes: &[u8],
    ) -> Option<Result<(), TableError>> {
        let changes_alone = self.placed(number, schema)?.changes_alone();
        changes_alone.then(|| self.write_fixed(number, at, place, bytes))
    }

    #[inline]
    fn write_fixed(
        &mut self,
        number: u16,
        at: Address,
        place: usize,
        bytes: &[u8],
    ) -> Result<(), TableError> {
        self.check_room(encoded_bytes(bytes.len()) + OVERHEAD_BYTES)?;
        self.count_change(number);
        let place = Address(at.0 + place as u64);
        if self.space.store.bytes()[place.0 as usize..][..bytes.len()] != *bytes {
            self.write(place, bytes);
        }
        self.touch(at);
        Ok(())
    }

    /// Overwrites bytes of a long value in a column of the row at an address, at which there is one, from a place of the
    /// value on; if the value ends before, zeroes come between. Its other bytes are not read. [`None`] if the value is short,
    /// or more would change than its bytes; nothing has changed then.
    #[doc(hidden)]
    pub fn overwrite_at(
        &mut self,
        (number, column): (u16, usize),
        at: Address,
        (place, part): (usize, &[u8]),
    ) -> Option<Result<(), TableError>> {
        let state = self.row_state(number).ok()?;
        let is_alone = state.changes_alone() && state.has_alone(column, ValueRef::Bytes(part));
        let column = state.schema.columns.get(column)?;
        let fits = place.checked_add(part.len())? <= VALUE_BYTES_MAX && !part.is_empty();
        if !is_alone || column.kind != Type::Bytes || !fits {
            return None;
        }
        let there = Address(at.0 + column.offset as u64);
        let before = Reference::at(self.space.store.bytes(), there.0 as usize);
        before.cell()?;
        Some(self.overwrite_alone((number, at), (there, before), (place, part)))
    }

    fn overwrite_alone(
        &mut self,
        (number, at): (u16, Address),
        (there, before): (Address, Reference),
        part: (usize, &[u8]),
    ) -> Result<(), TableError> {
        let point = self.undo_point();
        let after = self.overwrite_value(number, before, part)?;
        if let Err(error) = self.check_room(encoded_bytes(before.0.len()) + OVERHEAD_BYTES) {
            self.undo_to(point);
            return Err(error);
        }
        self.count_change(number);
        if let Some(after) = after.filter(|after| *after != before) {
            self.write_differences(there, &after.0);
        }
        self.touch(at);
        Ok(())
    }

    /// Sets a column [in place](TableState::has_alone).
    #[inline]
    fn set_column_at(
        &mut self,
        number: u16,
        at: Address,
        column: usize,
        value: ValueRef<'_>,
        run: &mut Run,
    ) -> Result<(), TableError> {
        let (kind, offset) = {
            let column = &self.state(number).schema.columns[column];
            (column.kind, column.offset)
        };
        let place = Address(at.0 + offset as u64);
        if kind.is_variable() {
            let bytes = variable_bytes(kind, value);
            let bytes = bytes.map_err(|unfit| self.unfit(number, column, value, unfit))?;
            let before = Reference::at(self.space.store.bytes(), place.0 as usize);
            let after = self.replace_value(number, before, bytes)?;
            self.check_room(encoded_bytes(after.0.len()) + OVERHEAD_BYTES)?;
            if after != before {
                self.write_differences(place, &after.0);
            }
            return Ok(());
        }
        let bytes = kind.bytes();
        if !run.has_room(place, bytes) {
            self.write_run(run);
            *run = Run::at(place);
        }
        let encoded = &mut run.bytes[run.length..][..bytes];
        let fits = encode(kind, value, encoded);
        fits.map_err(|unfit| self.unfit(number, column, value, unfit))?;
        run.length += bytes;
        Ok(())
    }

    /// Writes the columns of a run, if one of them has another value.
    #[inline]
    fn write_run(&mut self, run: &Run) {
        let after = &run.bytes[..run.length];
        if self.space.store.bytes()[run.at.0 as usize..][..after.len()] != *after {
            self.write(run.at, after);
        }
    }

    #[cold]
    fn unfit(&self, number: u16, column: usize, value: ValueRef<'_>, unfit: Unfit) -> TableError {
        let state = self.state(number);
        let column = &state.schema.columns[column];
        unfit.of(&state.name, column, value).into()
    }
}

impl TableState {
    /// True if changing columns of a row that are in no key changes nothing else: nothing is declared of the table's
    /// columns or depends on its rows, and each row has a place for them.
    #[inline]
    pub(super) fn changes_alone(&self) -> bool {
        !(self.is_checked || self.is_referenced || self.is_declared)
            && self.feed.is_none()
            && self.has_one_shape()
    }

    /// True if a value that is not null can be set in place: it is short, never null, and in no key.
    #[inline]
    fn has_alone(&self, number: usize, value: ValueRef<'_>) -> bool {
        let Some(column) = self.schema.columns.get(number) else {
            return false;
        };
        let is_plain = !column.dropped && column.null.is_none() && value != ValueRef::Null;
        is_plain && column.kind.bytes() <= FIXED_BYTES_MAX && !self.has_in_key(number)
    }

    /// True if a column is in the primary key, or in an index's.
    #[inline]
    pub(super) fn has_in_key(&self, column: usize) -> bool {
        let mut secondary = self.secondary.iter();
        self.schema
            .primary
            .key
            .iter()
            .any(|part| part.column == column)
            || secondary.any(|index| {
                let mut key = index.what.definition.key.iter();
                key.any(|part| part.column == column)
            })
    }
}
