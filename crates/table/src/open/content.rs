//! An open transaction's rows, for making the next content of a table of them
//! ([`Transaction::begin_beside`](crate::Transaction::begin_beside)), since a call that installs many takes long.

use super::changed::{Changed, Own};
use super::{OpenRow, OpenRows};
use sardonyx_rows::TableError;
use sardonyx_rows::schema::ValueRef;

/// An open transaction's state of a row of its snapshot.
#[derive(Debug)]
pub enum OwnRow<'r> {
    /// Nothing: the row is as it was.
    Same,
    /// The present row.
    Row(OpenRow<'r>),
    /// The transaction has deleted it.
    Gone,
}

impl OpenRows {
    /// The tables in which it has changed rows, and the number of these rows.
    #[doc(hidden)]
    #[inline]
    pub fn changed_tables(&self) -> Vec<(u16, usize)> {
        let changed = self.tables.iter().filter_map(|(number, table)| {
            let rows = table.changed.as_ref()?.rows().len();
            Some((number, rows))
        });
        changed.filter(|(_, rows)| *rows > 0).collect()
    }

    /// Keys included: about what the log has of them.
    #[doc(hidden)]
    #[inline]
    pub fn changed_bytes(&self, table: u16) -> usize {
        let rows = self.changed(table).into_iter().flat_map(Changed::rows);
        rows.map(|(key, own)| key.len() + own.bytes()).sum()
    }

    /// True if the snapshot has none of the rows that it has changed in a table.
    ///
    /// # Errors
    /// There is no such table, or the snapshot was ended.
    #[doc(hidden)]
    #[inline]
    pub fn has_only_new(&self, table: u16) -> Result<bool, TableError> {
        for (key, _) in self.changed(table).into_iter().flat_map(Changed::rows) {
            if self.place_at_end(table, key)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The transaction's own state of the row with a key. That is no read of the snapshot.
    ///
    /// # Errors
    /// There is no such table, or these are no values of a key.
    #[doc(hidden)]
    #[inline]
    pub fn own_row(&self, table: u16, key: &[ValueRef<'_>]) -> Result<OwnRow<'_>, TableError> {
        let known = self.known(table)?;
        let key = known.format.key(key)?;
        Ok(match self.own(table, &key) {
            None => OwnRow::Same,
            Some(Own::Gone) => OwnRow::Gone,
            Some(Own::Row(bytes)) => OwnRow::Row(OpenRow::own(known.format.row(bytes)?)),
        })
    }

    /// Calls `each` with the rows of keys of which the snapshot has none.
    ///
    /// # Errors
    /// The errors of `each`; there is no such table; the snapshot was ended.
    #[doc(hidden)]
    pub fn inserted_rows<E: From<TableError>>(
        &self,
        table: u16,
        mut each: impl FnMut(OpenRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let known = self.known(table)?;
        let changed = self.changed(table).into_iter();
        for (key, own) in changed.flat_map(|changed| changed.rows()) {
            if let Own::Row(bytes) = own
                && self.place_at_end(table, key)?.is_none()
            {
                each(OpenRow::own(known.format.row(bytes)?))?;
            }
        }
        Ok(())
    }
}
