//! What programs say every day, made of the transaction's few operations: put, remove, take out to change,
//! walk over a table and change it meanwhile, keep some, clear.

use super::Transaction;
use crate::row::Row;
use crate::table::Slot;
use sardonyx_base::error::Error;
use sardonyx_rows::fields::values_of;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::{Plain, plain_at};
use sardonyx_storage::page::Address;
use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use zerocopy::FromBytes;

impl<'a> Transaction<'a> {
    /// Puts a record into a table: in the place of the one with its key, if there is one; then columns that are no fields
    /// get their defaults. Only what differs is stored and logged. Returns whether there was one.
    ///
    /// # Errors
    /// Those of [`Transaction::insert`], but for a duplicate of its key.
    pub fn put<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<bool, Error> {
        let state = self.space.state_of(table)?;
        let Some(plain) = R::PLAIN else {
            let columns = R::columns_in(&state.schema, &state.name)?;
            let values = values_of(&columns, record);
            return self.rows_of(table.number())?.put_row(&values);
        };
        let bytes = record.plain_bytes();
        let (key, pages) = (&bytes[plain.key()], self.space.store.bytes());
        match state.find(&self.space.indexes, pages, state.hash.of(key), key) {
            Some(at) => {
                self.check_room_to_change::<R>()?;
                self.store_plain(table.number(), at, bytes)?;
                Ok(true)
            }
            None => self
                .insert_plain(table.number(), record)
                .map(|_| false)
                .map_err(Error::from),
        }
    }

    /// Deletes a record and returns it: [`Transaction::delete`] for those who want to see it.
    ///
    /// # Errors
    /// Those of [`Transaction::delete`].
    pub fn remove<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R>, Error> {
        let state = self.space.state_of(table)?;
        let Some(at) = self.space.place_of::<R>(state, &key)? else {
            return Ok(None);
        };
        let record = self.copy_at(table, at)?;
        self.delete_record(table, at)?;
        Ok(Some(record))
    }

    /// A copy of a record, to change and [save](RecordMut::save); `None` if there is no such record.
    ///
    /// # Errors
    /// Those of [`Transaction::get`].
    pub fn get_mut<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<RecordMut<'_, 'a, R>>, Error> {
        let state = self.space.state_of(table)?;
        match self.space.place_of::<R>(state, &key)? {
            Some(at) => Ok(Some(self.taken_out(table, at)?)),
            None => Ok(None),
        }
    }

    /// A copy of a row's record, to change and [save](RecordMut::save).
    ///
    /// # Errors
    /// [`Error::Refused`] if it was deleted since the row was found.
    pub fn record_mut<R: Plain>(&mut self, row: Row<R>) -> Result<RecordMut<'_, 'a, R>, Error> {
        let address = self.space.resolve(row)?;
        self.taken_out(Table::new(row.table), address)
    }

    fn taken_out<R: Record>(
        &mut self,
        table: Table<R>,
        at: Address,
    ) -> Result<RecordMut<'_, 'a, R>, Error> {
        Ok(RecordMut {
            record: self.copy_at(table, at)?,
            table,
            at,
            transaction: self,
        })
    }

    /// Deletes a row's record.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was deleted already; [`Error::Limit`] if the transaction is too large.
    pub fn delete_row<R: Plain>(&mut self, row: Row<R>) -> Result<(), Error> {
        let address = self.space.resolve(row)?;
        Ok(self.delete_at(row.table, address)?)
    }

    /// The next row of a walk over a table; `None` at its end.
    ///
    /// Between two calls the transaction may do anything. A record that it changes, or deletes, is met as it
    /// then is, or not at all; of those that it inserts meanwhile some are met.
    ///
    /// ```
    /// # use sardonyx_rows::{Table, record};
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
    pub fn next<R: Plain>(&self, walk: &mut Walk<R>) -> Option<Row<R>> {
        let bytes = self.space.store.bytes();
        let (address, behind) = self.space.state(walk.table)?.record_from(bytes, walk.at)?;
        walk.at = behind;
        let key = key_of(plain_at::<R>(bytes, address));
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
        let (mut at, mut deleted) = (Slot::default(), 0);
        loop {
            let state = self.space.state_of(table)?;
            let Some((address, behind)) = state.record_from(self.space.store.bytes(), at) else {
                return Ok(deleted);
            };
            at = behind;
            if !keep(self.space.record_of::<R>(state, address)?.borrow()) {
                self.delete_record(table, address)?;
                deleted += 1;
            }
        }
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
    table: Table<R>,
    at: Address,
    record: R,
}

impl<R: Record> RecordMut<'_, '_, R> {
    /// Stores the record as it now is. Only what differs is stored and logged.
    ///
    /// # Errors
    /// Those of [`Transaction::update`]. The record in the table is then as before.
    pub fn save(self) -> Result<(), Error> {
        let RecordMut {
            transaction,
            table,
            at,
            record,
        } = self;
        transaction.check_room_to_change::<R>()?;
        Ok(transaction.store_changed(table, at, &record)?)
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

/// The key of a plain record.
fn key_of<R: Plain>(record: &R) -> R::Key {
    let key = &record.as_bytes()[R::KEY_OFFSET..][..size_of::<R::Key>()];
    R::Key::read_from_bytes(key).expect("the bytes of a key")
}
