//! Removal of keys: rows deleted at once, and rows deleted a bounded number at a time afterwards.

use super::databases::KeyTables;
use super::tables::PRIMARY;
use super::{Data, Entry, Kind, Live, bytes, whole};
use crate::failure::Failure;
use sardonyx::rows::RowWriter;
use sardonyx::schema::{Value, ValueRef};

/// The most elements that are deleted together with their key.
const AT_ONCE_MAX: u64 = 64;

/// Elements are deleted with their key up to so many changes of its transaction: it may delete many keys.
const CHANGES_MAX: usize = 16 << 10;

/// The kind of the rows of a stream's group, in `kv_removed`.
const GROUP: &str = "group";

impl<S> Data<'_, S> {
    /// The table of a kind's elements.
    pub(super) fn table_of(&self, kind: Kind) -> Option<u16> {
        self.shared.numbers.table_of(kind)
    }
}

impl Live<'_, '_> {
    /// Deletes a key with its value.
    pub fn remove(&mut self, key: &[u8], entry: &Entry) -> Result<(), Failure> {
        self.remove_row(key, entry)?;
        if entry.kind == Kind::String {
            return Ok(());
        }
        if entry.kind == Kind::Unknown {
            // Whichever it had before.
            for kind in Kind::KNOWN {
                self.delete_elements(kind, entry.id, usize::MAX)?;
            }
            return Ok(());
        }
        if entry.length <= AT_ONCE_MAX && self.state.changes() < CHANGES_MAX {
            // A stream has rows besides its entries.
            let most = match entry.kind {
                Kind::Stream => 2 * AT_ONCE_MAX as usize,
                _ => usize::MAX,
            };
            if self.delete_elements(entry.kind, entry.id, most)? < most {
                return Ok(());
            }
        }
        self.leave_to_sweep(entry.id, entry.kind)
    }

    /// The elements of an id are deleted a bounded number at a time.
    pub(super) fn leave_to_sweep(&mut self, id: u64, kind: Kind) -> Result<(), Failure> {
        self.note_removed(id, kind.name())
    }

    /// Deletes the rows of a group whose own row is deleted: at once, or later if there are many.
    pub(super) fn remove_group_rows(&mut self, group: u64) -> Result<(), Failure> {
        let most = AT_ONCE_MAX as usize;
        match self.delete_group_rows(group, most)? < most {
            true => Ok(()),
            false => self.note_removed(group, GROUP),
        }
    }

    /// Notes that the rows under an id are to be deleted later.
    fn note_removed(&mut self, id: u64, kind: &str) -> Result<(), Failure> {
        let mut row = RowWriter::new(2);
        row.set(0, ValueRef::Int(id.into()));
        row.set(1, ValueRef::Text(kind));
        Ok(self
            .state
            .rows_of(self.shared.numbers.removed)?
            .insert_row(&row)?)
    }

    /// Deletes elements of an id that has no key any more, as many at most. Returns how many.
    fn delete_elements(&mut self, kind: Kind, id: u64, most: usize) -> Result<usize, Failure> {
        match self.table_of(kind) {
            _ if kind == Kind::Stream => self.delete_stream(id, most),
            Some(table) => self.delete_rows(table, id, most),
            None => Ok(0),
        }
    }

    /// Deletes rows of a table whose keys begin with an id, as many at most. Returns how many.
    pub(super) fn delete_rows(
        &mut self,
        table: u16,
        id: u64,
        most: usize,
    ) -> Result<usize, Failure> {
        let mut rows = self.state.rows_of(table)?;
        let mut places = Vec::new();
        for row in rows.index(PRIMARY)?.prefix(id)?.take(most) {
            places.push(row?.address());
        }
        for at in &places {
            rows.delete_at(*at)?;
        }
        Ok(places.len())
    }

    /// Deletes expired keys, and elements of deleted keys: `most` rows at most. Returns their number.
    pub fn sweep(&mut self, most: usize) -> Result<usize, Failure> {
        let mut done = 0;
        for (database, pair) in self.shared.databases.all(self.state) {
            self.select(database);
            done += self.sweep_expired(pair, most - done)?;
        }
        while done < most {
            let rows = self.state.rows_of(self.shared.numbers.removed)?;
            let Some(row) = rows.index(PRIMARY)?.all()?.next() else {
                break;
            };
            let row = row?;
            let id = whole(super::engine(row.get_at(0))?) as u64;
            let (kind, is_group) = match super::engine(row.get_at(1))? {
                ValueRef::Text(name) => (Kind::named(name.as_bytes()), name == GROUP),
                _ => (None, false),
            };
            drop(row);
            let deleted = match kind {
                Some(kind) => self.delete_elements(kind, id, most - done)?,
                None if is_group => self.delete_group_rows(id, most - done)?,
                None => 0,
            };
            done += deleted;
            if deleted == 0 || done < most {
                let mut rows = self.state.rows_of(self.shared.numbers.removed)?;
                rows.delete(&[Value::Int(id.into())])?;
            }
        }
        Ok(done)
    }

    /// Deletes expired keys of the database.
    ///
    /// Each row of `kv_expiry` that is met is deleted, also one left by SQL whose key is deleted or has another time.
    /// Otherwise the next sweep would meet that row first again, and would never reach the rows behind it.
    fn sweep_expired(&mut self, pair: KeyTables, most: usize) -> Result<usize, Failure> {
        let mut keys = Vec::new();
        let rows = self.state.rows_of(pair.expiry)?;
        let now = ValueRef::Timestamp(self.now.saturating_mul(1000));
        for row in rows.index(PRIMARY)?.range(..=now)?.take(most) {
            let row = row?;
            let at = super::engine(row.get_at(0))?.to_value();
            keys.push((at, bytes(super::engine(row.get_at(1))?).to_vec()));
        }
        let done = keys.len();
        for (at, key) in keys {
            self.entry_to_change(&key)?;
            let mut rows = self.state.rows_of(pair.expiry)?;
            // It went with its key, if that had this time.
            rows.delete(&[at, Value::Bytes(key)])?;
        }
        Ok(done)
    }
}
