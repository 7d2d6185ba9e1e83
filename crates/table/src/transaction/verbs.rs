//! Everyday verbs of programs, built on the transaction's few operations: put, remove, take out to change, walk over a
//! table and change it meanwhile, retain, clear.

use super::{OVERHEAD_BYTES, Transaction};
use crate::row::Row;
use crate::table::Slot;
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::fields::values_of;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::{Plain, RecordMut, RecordRows, TableError, plain_at, records};
use sardonyx_storage::page::Address;
use std::fmt;

impl Transaction<'_> {
    /// Puts a record into a table, in the place of the one with its key, if there is one. Then columns that are no fields
    /// get their defaults, or stay as they are beside a plain record. Only the differing bytes are stored and logged.
    /// Returns true if there was one.
    ///
    /// # Errors
    /// The errors of [`Transaction::insert`], but for a duplicate of its key.
    pub fn put<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<bool, Error> {
        records::put(self, table, record)
    }

    /// Deletes a record and returns it: [`Transaction::delete`] with the record.
    ///
    /// # Errors
    /// The errors of [`Transaction::delete`].
    pub fn remove<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R>, Error> {
        records::remove(self, table, &key)
    }

    /// A copy of a record, to change and [save](RecordMut::save); `None` if there is no such record.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`].
    pub fn get_mut<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<RecordMut<'_, Self, R>>, Error> {
        records::take_out(self, table, &key)
    }

    /// A copy of a row's record, to change and [save](RecordMut::save).
    ///
    /// # Errors
    /// [`Error::Refused`] if it was deleted since the row was found.
    pub fn record_mut<R: Plain>(&mut self, row: Row<R>) -> Result<RecordMut<'_, Self, R>, Error> {
        let address = self.space.resolve(row)?;
        RecordMut::of(self, Table::new(row.table), address)
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
    /// # use sardonyx_base::resident::Resident;
    /// # use sardonyx_rows::{Table, record};
    /// # use sardonyx_table::{Transaction, Walk};
    /// # use sardonyx_base::error::Error;
    /// # #[derive(Clone, Copy, Resident)]
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
        keep: impl FnMut(&R) -> bool,
    ) -> Result<u64, Error> {
        records::retain(self, table, keep)
    }

    /// Deletes all records of a table. Returns how many.
    ///
    /// # Errors
    /// The errors of [`Transaction::retain`].
    pub fn clear<R: Record>(&mut self, table: Table<R>) -> Result<u64, Error> {
        self.retain(table, |_| false)
    }
}

/// The place of a walk over a table: [`Transaction::next`].
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

impl RecordRows for Transaction<'_> {
    #[inline]
    fn check_handle<R: Record>(&self, table: Table<R>) -> Result<(), TableError> {
        self.space.state_of(table).map(drop)
    }

    #[inline]
    fn place_of_record<R: Record>(
        &self,
        table: Table<R>,
        key: &R::Key<'_>,
    ) -> Result<Option<Address>, TableError> {
        let state = self.space.state_of(table)?;
        self.space.place_of::<R>(state, key)
    }

    #[inline]
    fn place_like<R: Record>(
        &self,
        table: Table<R>,
        record: &R,
    ) -> Result<Option<Address>, TableError> {
        let state = self.space.state_of(table)?;
        let key = R::PLAIN.map(|plain| plain.key()).unwrap_or_default();
        let (key, pages) = (&record.plain_bytes()[key], self.space.store.bytes());
        Ok(state.find(&self.space.indexes, pages, state.hash.of(key), key))
    }

    #[inline]
    fn record_at<R: Record>(&self, table: Table<R>, at: &Address) -> Result<R, TableError> {
        let state = self.space.state_of(table)?;
        let columns = R::columns_in(&state.schema, &state.name)?;
        R::copy_row(self.view().found(state, *at), &columns)
    }

    #[inline]
    fn room_to_change<R: Record>(&mut self) -> Result<(), TableError> {
        match R::PLAIN {
            // All of it may differ, in as many runs as there are pairs of words.
            Some(plain) => self.check_room(2 * plain.bytes + OVERHEAD_BYTES),
            None => Ok(()),
        }
    }

    fn insert_record<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), TableError> {
        let number = table.number();
        let state = self.space.state_of(table)?;
        if R::PLAIN.is_none() {
            let columns = R::columns_in(&state.schema, &state.name)?;
            self.insert_row_of(number, values_of(&columns, record)?)?;
        } else {
            self.insert_plain(number, record)?;
        }
        Ok(())
    }

    fn store_record<R: Record>(
        &mut self,
        table: Table<R>,
        at: Address,
        changed: &R,
    ) -> Result<(), TableError> {
        let number = table.number();
        let Some(plain) = R::PLAIN else {
            let state = self.space.state_of(table)?;
            let columns = R::columns_in(&state.schema, &state.name)?;
            return self.update_row_at(number, at, &values_of(&columns, changed)?);
        };
        let after = changed.plain_bytes();
        let before = &self.space.store.bytes()[at.0 as usize..][..plain.bytes];
        if after[plain.key()] != before[plain.key()] {
            let table = R::TABLE.to_string();
            return Err(TableError::KeyChanged { table });
        }
        self.store_plain(number, at, after)
    }

    fn delete_record<R: Record>(&mut self, table: Table<R>, at: Address) -> Result<(), TableError> {
        match R::PLAIN {
            Some(_) => self.delete_at(table.number(), at),
            None => self.delete_row_at(table.number(), at),
        }
    }
}

fn key_of<R: Plain>(record: &R) -> R::Key {
    let key = &record.as_bytes()[R::KEY_OFFSET..][..size_of::<R::Key>()];
    R::Key::read_from_bytes(key).expect("the bytes of a key")
}
