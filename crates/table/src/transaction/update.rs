//! Records changed in copies of their own: a change that fails, or panics, has done nothing.

use super::{OVERHEAD_BYTES, Transaction};
use sardonyx_base::error::Error;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::{TableError, records};
use sardonyx_storage::page::Address;

impl Transaction<'_> {
    /// Changes a record in a copy of its own. Only the differing bytes are stored and logged, and columns that are no
    /// fields keep their values. Returns the result of `change`, or `None` if there is no such record.
    ///
    /// # Errors
    /// [`Error::Refused`] if the key was changed, a condition is not met, the handle is another database's, or its table
    /// has other columns by now; [`Error::Duplicate`] of a unique index; [`Error::Limit`] if the transaction is too large.
    /// The record is then as before. So it is if `change` panics.
    pub fn update<R: Record, T>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, Error> {
        let change = |record: &mut R| Ok::<_, Error>(change(record));
        self.try_update(table, key, change)
    }

    /// As [`Transaction::update`], with a change that may fail.
    ///
    /// # Errors
    /// The error that `change` returns, and the errors of [`Transaction::update`]. The record is then as before.
    pub fn try_update<R: Record, T, E: From<Error>>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
        change: impl FnOnce(&mut R) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        records::try_update(self, table, &key, change)
    }

    /// Stores the changed bytes of a row that is its fixed part alone, whose key has not changed, and to which no row refers.
    pub(crate) fn store_row(
        &mut self,
        number: u16,
        at: Address,
        after: &[u8],
    ) -> Result<(), TableError> {
        self.check_room(2 * after.len() + OVERHEAD_BYTES)?;
        self.store_plain(number, at, after)
    }

    /// Stores the changed bytes of a plain record, whose key has not changed.
    pub(super) fn store_plain(
        &mut self,
        number: u16,
        at: Address,
        after: &[u8],
    ) -> Result<(), TableError> {
        match self.has_ordered(number) {
            true => self.keeping(number, at, |tx| tx.store_unkept(number, at, after)),
            false => self.store_unkept(number, at, after),
        }
    }

    /// The same, whether changes are kept or not.
    fn store_unkept(&mut self, number: u16, at: Address, after: &[u8]) -> Result<(), TableError> {
        self.count_change(number);
        if self.has_ordered(number) {
            let row_of_shape;
            let after = match self.state(number).has_one_shape() {
                true => after,
                false => {
                    row_of_shape = self.row_beginning_with(number, at, after)?;
                    &row_of_shape
                }
            };
            self.check_declared(number, after)?;
            let before = &self.space.store.bytes()[at.0 as usize..][..after.len()];
            let differ = self.indexes_that_differ(number, before, after);
            let state = self.state(number);
            let is_more = state.is_checked || state.is_referenced || state.is_generated;
            if differ != 0 || is_more {
                let schema = state.schema.clone();
                let before = before.to_vec();
                let changes = |column: usize| {
                    let column = &schema.columns[column];
                    let place = column.offset..column.offset + column.kind.bytes();
                    before[place.clone()] != after[place]
                };
                let change = |this: &mut Self| this.write_differences(at, after);
                return self.change_indexed(number, at, differ, &changes, change);
            }
        }
        self.write_differences(at, after);
        Ok(())
    }
}
