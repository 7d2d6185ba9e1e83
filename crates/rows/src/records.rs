//! Records of a program's types in a transaction: the verbs that are made of a store's few operations, written once for all
//! stores of rows.
//!
//! - [`RecordRows`]: a transaction that has records, by their places;
//! - the verbs as functions of it, which the stores' transactions have under their names;
//! - [`RecordMut`]: a record taken out to be changed.
//!
//! All dispatch is static: a store's transaction has each verb as if it were its own.

use crate::error::TableError;
use crate::fields::values_of;
use crate::record::{Record, Table};
use crate::rows::Rows;
use crate::write::WriteRows;
use sardonyx_base::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A transaction that has records, by their places.
pub trait RecordRows: WriteRows {
    /// Checks that a handle is of this database.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`].
    fn check_handle<R: Record>(&self, table: Table<R>) -> Result<(), TableError>;

    /// The place of the record with this key.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`]; if this is no key of the table.
    fn place_of_record<R: Record>(
        &self,
        table: Table<R>,
        key: &R::Key<'_>,
    ) -> Result<Option<Self::Place>, TableError>;

    /// The place of the record with the key of this one, which is plain data.
    ///
    /// # Errors
    /// The errors of [`RecordRows::place_of_record`].
    fn place_like<R: Record>(
        &self,
        table: Table<R>,
        record: &R,
    ) -> Result<Option<Self::Place>, TableError>;

    /// A copy of the record at a place, at which there is one.
    ///
    /// # Errors
    /// The errors of reading it.
    fn record_at<R: Record>(&self, table: Table<R>, at: &Self::Place) -> Result<R, TableError>;

    /// Makes sure that a changed record can be stored.
    ///
    /// # Errors
    /// The transaction is too large, or there is no room.
    fn room_to_change<R: Record>(&mut self) -> Result<(), TableError>;

    /// Inserts a record.
    ///
    /// # Errors
    /// The errors of [`WriteRows::insert_row`].
    fn insert_record<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), TableError>;

    /// Stores a changed copy of the record at a place, at which there is one. There is room for it.
    ///
    /// # Errors
    /// The errors of [`WriteRows::update_row`].
    fn store_record<R: Record>(
        &mut self,
        table: Table<R>,
        at: Self::Place,
        record: &R,
    ) -> Result<(), TableError>;

    /// Deletes the record at a place, at which there is one.
    ///
    /// # Errors
    /// The errors of [`WriteRows::delete_row`].
    fn delete_record<R: Record>(
        &mut self,
        table: Table<R>,
        at: Self::Place,
    ) -> Result<(), TableError>;
}

/// Puts a record in the place of the one with its key, if there is one: then columns that are no fields get their defaults,
/// or stay as they are beside a plain record. Returns whether there was one.
///
/// # Errors
/// The errors of [`RecordRows::insert_record`], but for a duplicate of its key.
pub fn put<S: RecordRows, R: Record>(
    store: &mut S,
    table: Table<R>,
    record: &R,
) -> Result<bool, Error> {
    if R::PLAIN.is_none() {
        store.check_handle(table)?;
        let (schema, name) = store.described(table.number())?;
        let columns = R::columns_in(&schema, &name)?;
        return Rows::numbered(store, table.number())?.put_row(&values_of(&columns, record)?);
    }
    match store.place_like(table, record)? {
        Some(at) => {
            store.room_to_change::<R>()?;
            store.store_record(table, at, record)?;
            Ok(true)
        }
        None => {
            store.insert_record(table, record)?;
            Ok(false)
        }
    }
}

/// Changes a record in a copy of its own. Returns what `change` returns, or `None` if there is no such record.
///
/// # Errors
/// The error of `change`, and the errors of [`RecordRows::store_record`]. The record is then as before. So it is if `change`
/// panics.
#[inline]
pub fn try_update<S: RecordRows, R: Record, T, E: From<Error>>(
    store: &mut S,
    table: Table<R>,
    key: &R::Key<'_>,
    change: impl FnOnce(&mut R) -> Result<T, E>,
) -> Result<Option<T>, E> {
    let engine = |error: TableError| E::from(error.into());
    let Some(at) = store.place_of_record(table, key).map_err(engine)? else {
        return Ok(None);
    };
    store.room_to_change::<R>().map_err(engine)?;
    let mut changed = store.record_at(table, &at).map_err(engine)?;
    // Changed in a copy: the closure may panic half-way, and the caller may catch that and go on. Then the pages must
    // have no change that is not in the log.
    let value = change(&mut changed)?;
    store.store_record(table, at, &changed).map_err(engine)?;
    Ok(Some(value))
}

/// Deletes a record. Returns false if there is no such record.
///
/// # Errors
/// The errors of [`RecordRows::delete_record`].
#[inline]
pub fn delete<S: RecordRows, R: Record>(
    store: &mut S,
    table: Table<R>,
    key: &R::Key<'_>,
) -> Result<bool, Error> {
    let Some(at) = store.place_of_record(table, key)? else {
        return Ok(false);
    };
    store.delete_record(table, at)?;
    Ok(true)
}

/// Deletes a record and returns it.
///
/// # Errors
/// The errors of [`RecordRows::delete_record`].
pub fn remove<S: RecordRows, R: Record>(
    store: &mut S,
    table: Table<R>,
    key: &R::Key<'_>,
) -> Result<Option<R>, Error> {
    let Some(at) = store.place_of_record(table, key)? else {
        return Ok(None);
    };
    let record = store.record_at(table, &at)?;
    store.delete_record(table, at)?;
    Ok(Some(record))
}

/// Deletes the records that `keep` does not want. Returns how many.
///
/// # Errors
/// The errors of [`RecordRows::delete_record`]: some records are deleted then.
pub fn retain<S: RecordRows, R: Record>(
    store: &mut S,
    table: Table<R>,
    mut keep: impl FnMut(&R) -> bool,
) -> Result<u64, Error> {
    store.check_handle(table)?;
    let (mut place, mut deleted) = (None, 0);
    while let Some(at) = store.row_behind(table.number(), place)? {
        place = Some(at.clone());
        if !keep(&store.record_at(table, &at)?) {
            store.delete_record(table, at)?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// A copy of a record, to change and [save](RecordMut::save); `None` if there is no such record.
///
/// # Errors
/// The errors of [`RecordRows::record_at`].
pub fn take_out<'t, S: RecordRows, R: Record>(
    store: &'t mut S,
    table: Table<R>,
    key: &R::Key<'_>,
) -> Result<Option<RecordMut<'t, S, R>>, Error> {
    match store.place_of_record(table, key)? {
        Some(at) => Ok(Some(RecordMut::of(store, table, at)?)),
        None => Ok(None),
    }
}

/// A copy of a record that is being changed. Unsaved changes are discarded.
#[must_use = "what is not saved is forgotten"]
pub struct RecordMut<'t, S: RecordRows, R: Record> {
    store: &'t mut S,
    table: Table<R>,
    at: S::Place,
    record: R,
}

impl<'t, S: RecordRows, R: Record> RecordMut<'t, S, R> {
    /// A copy of the record at a place, at which there is one.
    ///
    /// # Errors
    /// The errors of [`RecordRows::record_at`].
    #[doc(hidden)]
    pub fn of(store: &'t mut S, table: Table<R>, at: S::Place) -> Result<Self, Error> {
        Ok(RecordMut {
            record: store.record_at(table, &at)?,
            table,
            at,
            store,
        })
    }

    /// Stores the changed record. Only the differing bytes are stored and logged.
    ///
    /// # Errors
    /// The errors of the transaction's `update`. The record in the table is then as before.
    pub fn save(self) -> Result<(), Error> {
        let RecordMut {
            store,
            table,
            at,
            record,
        } = self;
        store.room_to_change::<R>()?;
        Ok(store.store_record(table, at, &record)?)
    }
}

impl<S: RecordRows, R: Record> Deref for RecordMut<'_, S, R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.record
    }
}

impl<S: RecordRows, R: Record> DerefMut for RecordMut<'_, S, R> {
    fn deref_mut(&mut self) -> &mut R {
        &mut self.record
    }
}

impl<S: RecordRows, R: Record + fmt::Debug> fmt::Debug for RecordMut<'_, S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}
