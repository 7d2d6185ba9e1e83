//! Rows of a range of keys, in the keys' order and from both ends, read in pieces: so the memory does not grow with
//! the range. (The number of locks does.)

use super::super::NodeError;
use super::access::Access;
use super::catalogue::TableInfo;
use super::entries::{self, Entry, Keys};
use super::view::View;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{KeyRange, OneRow, RowRef, TableError};
use sardonyx_storage::tree::Intent;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Entries that are read at a time: few at first, in case that no more are wanted.
const PIECE_FIRST: usize = 16;
const PIECE_MAX: usize = 512;

/// A row with its own memory.
#[derive(Clone)]
pub struct OwnedRow {
    pub(super) info: Arc<TableInfo>,
    pub(super) bytes: Vec<u8>,
}

impl OwnedRow {
    /// Bytes that are a row.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`].
    pub(super) fn of(info: &Arc<TableInfo>, bytes: Vec<u8>) -> Result<OwnedRow, NodeError> {
        info.format.row(&bytes)?;
        let info = info.clone();
        Ok(OwnedRow { info, bytes })
    }

    /// Its columns.
    pub fn schema(&self) -> &Arc<Schema> {
        self.info.format.schema()
    }

    /// The value of the column with this name.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such column, or the row is damaged.
    pub fn get(&self, column: &str) -> Result<Value, NodeError> {
        let number = self.info.format.column(column)?;
        let row = self.info.format.row(&self.bytes)?;
        Ok(row.get_at(number)?.to_value())
    }

    /// The row, for its values one by one.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if it is damaged.
    pub fn row(&self) -> Result<RowRef<'_, OneRow>, NodeError> {
        Ok(self.info.format.row(&self.bytes)?)
    }

    /// The values of all columns, in order.
    ///
    /// # Errors
    /// As [`OwnedRow::get`].
    pub fn to_values(&self) -> Result<Vec<Value>, NodeError> {
        let row = self.info.format.row(&self.bytes)?;
        let columns = self.schema().live_columns();
        let values = columns.map(|(number, _)| row.get_at(number).map(ValueRef::to_value));
        Ok(values.collect::<Result<_, TableError>>()?)
    }
}

impl fmt::Debug for OwnedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnedRow of {:?}", self.info.format.table())
    }
}

/// The tree whose order the rows have.
#[derive(Clone, Copy, Debug)]
struct By {
    tree: u32,
    /// Its entries are rows; those of another index are rows' primary keys.
    is_primary: bool,
}

/// The position in a range of keys, from both ends.
pub struct Walk {
    info: Arc<TableInfo>,
    by: By,
    /// The keys not read yet.
    keys: Keys,
    piece: usize,
    front: VecDeque<Entry>,
    /// The last of the range first.
    back: VecDeque<Entry>,
    is_read: bool,
}

impl Walk {
    /// Over keys of an index of the schema; `None`: that of the primary key.
    pub(super) fn new(
        info: Arc<TableInfo>,
        index: Option<usize>,
        (lower, upper): KeyRange,
    ) -> Self {
        let by = By {
            tree: info.tree(index),
            is_primary: index.is_none(),
        };
        Walk {
            info,
            by,
            keys: Keys { lower, upper },
            piece: PIECE_FIRST,
            front: VecDeque::new(),
            back: VecDeque::new(),
            is_read: false,
        }
    }

    fn table(&self) -> &str {
        self.info.format.table()
    }

    /// Reads some more from an end.
    fn read(&mut self, access: &mut dyn Access, descends: bool) -> Result<(), NodeError> {
        let view = View::new(access);
        let found = entries::scan(&view, self.by.tree, &self.keys, self.piece, descends)?;
        drop(view);
        self.is_read = found.len() < self.piece;
        self.piece = (self.piece * 4).min(PIECE_MAX);
        if let Some((last, _)) = found.last() {
            let bound = Bound::Excluded(last.clone());
            match descends {
                false => self.keys.lower = bound,
                true => self.keys.upper = bound,
            }
        }
        match descends {
            false => self.front.extend(found),
            true => self.back.extend(found),
        }
        Ok(())
    }

    /// The next row from an end.
    pub(super) fn give(
        &mut self,
        access: &mut dyn Access,
        descends: bool,
    ) -> Option<Result<OwnedRow, NodeError>> {
        let own = if descends { &self.back } else { &self.front };
        if own.is_empty()
            && !self.is_read
            && let Err(error) = self.read(access, descends)
        {
            self.end();
            return Some(Err(error));
        }
        let (own, other) = match descends {
            false => (&mut self.front, &mut self.back),
            true => (&mut self.back, &mut self.front),
        };
        let (_, bytes) = own.pop_front().or_else(|| other.pop_back())?;
        let row = self.row(access, bytes);
        if row.is_err() {
            self.end();
        }
        Some(row)
    }

    /// Ends it.
    pub(super) fn end(&mut self) {
        self.is_read = true;
        self.front.clear();
        self.back.clear();
    }

    fn row(&mut self, access: &mut dyn Access, entry: Vec<u8>) -> Result<OwnedRow, NodeError> {
        let bytes = match self.by.is_primary {
            true => entry,
            false => {
                let view = View::new(access);
                let found = entries::get(&view, self.info.root, &entry, Intent::Read)?;
                found.ok_or_else(|| TableError::DamagedTable {
                    table: self.table().to_string(),
                    page: self.by.tree.into(),
                    offset: 0,
                    reason: "an index names a row that is not there",
                })?
            }
        };
        OwnedRow::of(&self.info, bytes)
    }
}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Walk of {:?}", self.table())
    }
}
