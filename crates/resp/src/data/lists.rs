//! The elements of lists: rows at consecutive positions.
//!
//! An index of a list is a position, so that any element is found like the first. An insertion or removal inside a
//! list moves the elements of its shorter side by one.

use super::tables::PRIMARY;
use super::{Data, Entry, Live, State, bytes, engine, whole};
use crate::failure::Failure;
use sardonyx::rows::{ReadRow, RowWriter};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::TableError;
use sardonyx_rows::row::RowValues;

/// Numbers of the columns of `kv_list`.
const POSITION: usize = 1;
const VALUE: usize = 2;

impl Entry {
    /// Behind the last element's position.
    pub fn end(&self) -> i64 {
        self.first + self.length as i64
    }
}

impl<S: State> Data<'_, S> {
    /// The element at a position.
    pub fn at(&mut self, id: u64, position: i64) -> Result<Option<Vec<u8>>, Failure> {
        let index = self.state.row_index(self.shared.numbers.list, PRIMARY)?;
        let row = index.get_by((id, position))?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(bytes(engine(row.value_at(VALUE))?).to_vec()))
    }

    /// Calls `each` with the elements at positions from one up to another, this not included, in their order or against
    /// it, until it returns false.
    pub fn walk_list(
        &mut self,
        id: u64,
        from: i64,
        to: i64,
        reverse: bool,
        mut each: impl FnMut(i64, &[u8]) -> bool,
    ) -> Result<(), Failure> {
        if from >= to {
            return Ok(());
        }
        let index = self.state.row_index(self.shared.numbers.list, PRIMARY)?;
        let mut range = index.range_or_none((id, from)..(id, to))?;
        loop {
            let row = if reverse {
                range.next_back()
            } else {
                range.next()
            };
            let Some(row) = row else { return Ok(()) };
            let row = row?;
            let position = whole(engine(row.value_at(POSITION))?) as i64;
            if !each(position, bytes(engine(row.value_at(VALUE))?)) {
                return Ok(());
            }
        }
    }
}

impl Live<'_, '_> {
    /// Puts an element at a position outside of the list, or in a gap: a row is there only if another program put it.
    pub fn insert_at(&mut self, id: u64, position: i64, value: &[u8]) -> Result<(), Failure> {
        // No row is searched for first: the index meets one on the way to the place of the new one.
        let row = element_at(id, position, value);
        let table = self.shared.numbers.list;
        match self.state.insert_columns(table, None, &row) {
            Err(TableError::DuplicateKey { .. }) => self.put_at(id, position, value),
            inserted => engine(inserted),
        }
    }

    /// Puts an element at a position, in the place of the one that is there.
    pub fn put_at(&mut self, id: u64, position: i64, value: &[u8]) -> Result<(), Failure> {
        let row = element_at(id, position, value);
        let row = RowWriter::of_values(RowValues::new(&row));
        self.state
            .rows_of(self.shared.numbers.list)?
            .put_row(&row)?;
        Ok(())
    }

    /// Deletes the element at a position.
    pub fn delete_at(&mut self, id: u64, position: i64) -> Result<(), Failure> {
        let key = [Value::Int(id.into()), Value::Int(position.into())];
        self.state.rows_of(self.shared.numbers.list)?.delete(&key)?;
        Ok(())
    }

    /// Makes room before a position inside a list, by moving its shorter side; returns the free position.
    pub fn open_gap(&mut self, list: &mut Entry, before: i64) -> Result<i64, Failure> {
        let (front, back) = (before - list.first, list.end() - before);
        list.length += 1;
        if front <= back {
            for position in list.first..before {
                self.move_element(list.id, position, position - 1)?;
            }
            list.first -= 1;
            return Ok(before - 1);
        }
        for position in (before..list.end() - 1).rev() {
            self.move_element(list.id, position, position + 1)?;
        }
        Ok(before)
    }

    fn move_element(&mut self, id: u64, from: i64, to: i64) -> Result<(), Failure> {
        if let Some(value) = self.at(id, from)? {
            self.delete_at(id, from)?;
            self.insert_at(id, to, &value)?;
        }
        Ok(())
    }

    /// Deletes the elements at these positions, which ascend, and closes the gaps.
    pub fn delete_positions(&mut self, list: &mut Entry, gone: &[i64]) -> Result<(), Failure> {
        let (Some(&first), Some(&last)) = (gone.first(), gone.last()) else {
            return Ok(());
        };
        for position in gone {
            self.delete_at(list.id, *position)?;
        }
        let is_gone = |position: &i64| gone.binary_search(position).is_ok();
        if last - list.first < list.end() - 1 - first {
            // The elements before move up.
            let mut to = last;
            for position in (list.first..last).rev().filter(|at| !is_gone(at)) {
                self.move_element(list.id, position, to)?;
                to -= 1;
            }
            list.first += gone.len() as i64;
        } else {
            let staying = (first..list.end()).filter(|at| !is_gone(at));
            for (to, position) in (first..).zip(staying) {
                self.move_element(list.id, position, to)?;
            }
        }
        list.length -= gone.len() as u64;
        Ok(())
    }
}

/// The values of an element's columns.
fn element_at(id: u64, position: i64, value: &[u8]) -> [Option<ValueRef<'_>>; VALUE + 1] {
    [
        Some(ValueRef::Int(id.into())),
        Some(ValueRef::Int(position.into())),
        Some(ValueRef::Bytes(value)),
    ]
}
