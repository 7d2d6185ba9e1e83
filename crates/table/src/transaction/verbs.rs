//! What programs say every day, made of the transaction's few operations: put, remove, take out to change,
//! walk over a table and change it meanwhile, keep some, clear.

use super::{OVERHEAD_BYTES, Transaction};
use crate::row::Row;
use crate::space::record_at;
use crate::table::Slot;
use sardonyx_base::error::Error;
use sardonyx_rows::record::{Record, Table};
use std::fmt;
use std::ops::{Deref, DerefMut};
use zerocopy::FromBytes;

impl<'a> Transaction<'a> {
    /// Puts a record into a table: in the place of the one with its key, if there is one, which is
    /// returned. Of that, only the words that differ are logged.
    ///
    /// # Errors
    /// Those of [`Transaction::insert`], but for a duplicate.
    pub fn put<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<Option<R>, Error> {
        let key = key_of(record);
        let before = self.get(table, &key).copied();
        match before {
            Some(_) => self
                .update(table, &key, |there| *there = *record)
                .map(drop)?,
            None => self.insert(table, record).map(drop)?,
        }
        Ok(before)
    }

    /// Deletes a record and returns it: [`Transaction::delete`] for those who want to see it.
    ///
    /// # Errors
    /// Those of [`Transaction::delete`].
    pub fn remove<R: Record>(&mut self, table: Table<R>, key: &R::Key) -> Result<Option<R>, Error> {
        let record = self.get(table, key).copied();
        self.delete(table, key)?;
        Ok(record)
    }

    /// A copy of a record, to change and [save](RecordMut::save); `None` if there is no such record.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's.
    pub fn get_mut<R: Record>(
        &mut self,
        table: Table<R>,
        key: &R::Key,
    ) -> Result<Option<RecordMut<'_, 'a, R>>, Error> {
        let Some(row) = self.find(table, key) else {
            self.check_handle(table)?;
            return Ok(None);
        };
        Ok(Some(self.taken_out(row)))
    }

    /// A copy of a row's record, to change and [save](RecordMut::save).
    ///
    /// # Errors
    /// [`Error::Refused`] if it was deleted since the row was found.
    pub fn record_mut<R: Record>(&mut self, row: Row<R>) -> Result<RecordMut<'_, 'a, R>, Error> {
        let address = self.space.resolve(row)?;
        Ok(self.taken_out(Row { address, ..row }))
    }

    fn taken_out<R: Record>(&mut self, row: Row<R>) -> RecordMut<'_, 'a, R> {
        RecordMut {
            record: *record_at(self.space.store.bytes(), row.address),
            row,
            transaction: self,
        }
    }

    /// Deletes a row's record.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was deleted already; [`Error::Limit`] if the transaction is too large.
    pub fn delete_row<R: Record>(&mut self, row: Row<R>) -> Result<(), Error> {
        let address = self.space.resolve(row)?;
        Ok(self.delete_at(row.table, address)?)
    }

    /// The next row of a walk over a table; `None` at its end.
    ///
    /// Between two calls the transaction may do anything. A record that it changes, or deletes, is met as it
    /// then is, or not at all; of those that it inserts meanwhile some are met.
    ///
    /// ```
    /// # use sardonyx_rows::{Record, Table, record};
    /// # use sardonyx_table::{Transaction, Walk};
    /// # use sardonyx_base::error::Error;
    /// # #[derive(Clone, Copy, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)]
    /// # #[repr(C)]
    /// # struct Account { id: u64, balance: i64 }
    /// # record!(Account { table: "accounts", key: id: u64 });
    /// fn pay_interest(tx: &mut Transaction<'_>, accounts: Table<Account>) -> Result<(), Error> {
    ///     let mut walk = Walk::over(accounts);
    ///     while let Some(row) = tx.next(&mut walk) {
    ///         let mut account = tx.record_mut(row)?;
    ///         account.balance += account.balance / 100;
    ///         account.save()?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn next<R: Record>(&self, walk: &mut Walk<R>) -> Option<Row<R>> {
        let bytes = self.space.store.bytes();
        let (address, behind) = self.space.state(walk.table)?.record_from(bytes, walk.at)?;
        walk.at = behind;
        let key = key_of(record_at::<R>(bytes, address));
        Some(Row::new(
            address,
            walk.table.number(),
            self.space.epoch,
            key,
        ))
    }

    /// Deletes the records of a table that `keep` does not want. Returns how many.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's; [`Error::Limit`] if the transaction is too
    /// large: some records are deleted then, and the transaction should be given up.
    pub fn retain<R: Record>(
        &mut self,
        table: Table<R>,
        mut keep: impl FnMut(&R) -> bool,
    ) -> Result<u64, Error> {
        self.check_handle(table)?;
        let mut walk = Walk::over(table);
        let mut deleted = 0;
        while let Some(row) = self.next(&mut walk) {
            if !keep(record_at(self.space.store.bytes(), row.address)) {
                self.delete_at(row.table, row.address)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Deletes all records of a table. Returns how many.
    ///
    /// # Errors
    /// Those of [`Transaction::retain`].
    pub fn clear<R: Record>(&mut self, table: Table<R>) -> Result<u64, Error> {
        self.retain(table, |_| false)
    }
}

/// How far a walk over a table has come: [`Transaction::next`].
pub struct Walk<R> {
    table: Table<R>,
    at: Slot,
}

impl<R> Walk<R> {
    /// A walk over all records of a table, in no particular order.
    pub fn over(table: Table<R>) -> Self {
        Walk {
            table,
            at: Slot::default(),
        }
    }
}

impl<R> fmt::Debug for Walk<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Walk over {:?} at {:?}", self.table, self.at)
    }
}

/// A copy of a record that is being changed. What is not saved is forgotten.
#[must_use = "what is not saved is forgotten"]
pub struct RecordMut<'t, 'a, R: Record> {
    transaction: &'t mut Transaction<'a>,
    row: Row<R>,
    record: R,
}

impl<R: Record> RecordMut<'_, '_, R> {
    /// Stores the record as it now is. Only the words that differ are logged.
    ///
    /// # Errors
    /// [`Error::Refused`] if its key was changed; [`Error::Limit`] if the transaction is too large. The
    /// record in the table is then as before.
    pub fn save(self) -> Result<(), Error> {
        let RecordMut {
            transaction,
            row,
            record,
        } = self;
        transaction.check_room(2 * size_of::<R>() + OVERHEAD_BYTES)?;
        transaction.store_changed(row, &record)
    }
}

impl<R: Record> Deref for RecordMut<'_, '_, R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.record
    }
}

impl<R: Record> DerefMut for RecordMut<'_, '_, R> {
    fn deref_mut(&mut self) -> &mut R {
        &mut self.record
    }
}

impl<R: Record + fmt::Debug> fmt::Debug for RecordMut<'_, '_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

/// The key of a record.
fn key_of<R: Record>(record: &R) -> R::Key {
    let key = &record.as_bytes()[R::KEY_OFFSET..][..size_of::<R::Key>()];
    R::Key::read_from_bytes(key).expect("the bytes of a key")
}
