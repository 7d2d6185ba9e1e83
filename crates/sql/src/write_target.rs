//! The transaction in which a statement changes rows, in any store of rows. Statements on data know no other.

use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::rows::EachRow;
use crate::source::Source;
use sardonyx::low_level::{Due, HeldReference};
use sardonyx::rows::{OpenRows, RowWriter, Rows, Savepoint};
use sardonyx::schema::Value;
use sardonyx::{Error, Transaction};
use sardonyx_rows::constraints::{
    self, ConstrainedRows, Followers, Objects, check_new_row, objects,
};
use sardonyx_storage::page::Address;

/// Decides which held references are checked.
pub(crate) type DueOf<'d> = &'d dyn Fn(&HeldReference) -> Due;

/// A transaction that reads and changes tables.
pub(crate) trait WriteTarget: Source {
    /// Inserts a row. Columns that are not set get their defaults.
    ///
    /// # Errors
    /// An error of the engine.
    fn insert(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error>;

    /// Checks a new row, before the look for its key.
    ///
    /// # Errors
    /// An error of the engine about its values.
    fn check_new(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error>;

    /// Changes columns of the row at an address.
    ///
    /// # Errors
    /// An error of the engine; there is no such row any more.
    fn update_at(&mut self, number: u16, at: Address, row: &RowWriter<'_>) -> Result<(), Error>;

    /// Changes columns of the row with a key. Returns false if there is no such row.
    ///
    /// # Errors
    /// An error of the engine.
    fn update(&mut self, number: u16, key: &[Value], row: &RowWriter<'_>) -> Result<bool, Error>;

    /// Deletes the row with a key. Returns false if there is no such row.
    ///
    /// # Errors
    /// An error of the engine.
    fn delete(&mut self, number: u16, key: &[Value]) -> Result<bool, Error>;

    /// Deletes the row with a key. The rows that are deleted with it, or changed, [follow](WriteTarget::follow) it later.
    ///
    /// # Errors
    /// An error of the engine.
    fn delete_before_others(&mut self, number: u16, key: &[Value]) -> Result<Followers, Error>;

    /// Deletes or changes the rows that referred to a deleted one.
    ///
    /// # Errors
    /// An error of the engine.
    fn follow(&mut self, followers: Followers) -> Result<(), Error>;

    /// Deletes the row with a key, to put it back or replace it.
    ///
    /// # Errors
    /// An error of the engine.
    fn take(&mut self, number: u16, key: &[Value]) -> Result<bool, Error>;

    /// The row at an address, if there is one.
    ///
    /// # Errors
    /// The error of `each`; a row that cannot be read.
    fn at(&self, number: u16, at: Address, each: EachRow<'_>) -> Result<(), SqlError>;

    /// Marks the present point of the transaction.
    fn savepoint(&mut self) -> Savepoint;

    /// Undoes the changes since a savepoint.
    ///
    /// # Errors
    /// There is no such savepoint.
    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Error>;

    /// Forgets a savepoint, and later ones.
    ///
    /// # Errors
    /// There is no such savepoint.
    fn release(&mut self, savepoint: Savepoint) -> Result<(), Error>;

    /// Notes references that do not hold from now on, or refuses them at once again.
    fn hold_references(&mut self, holds: bool);

    /// The references with notes.
    fn held_references(&self) -> Vec<HeldReference>;

    /// Checks held references as far as they are due.
    ///
    /// # Errors
    /// The first values that violate one.
    fn check_held(&mut self, due: DueOf<'_>) -> Result<(), Error>;

    /// Calls `act` with SQL's objects beside the rows.
    fn objects(&mut self, act: &mut dyn FnMut(&mut dyn Objects));

    /// Calls `act` with this transaction on tables in main memory; false if it is another one.
    fn tables(&mut self, act: &mut dyn FnMut(&mut Transaction<'_>)) -> bool;

    /// Calls `act` with this transaction if it is an open one; false if it is another one.
    fn open_rows(&mut self, _act: &mut dyn FnMut(&mut OpenRows)) -> bool {
        false
    }

    /// The same transaction, if it can define tables.
    fn define(&mut self) -> Option<&mut dyn DefineTarget>;

    /// Rows found by their keys will be changed from now on, or no more: a store that locks rows locks them for a
    /// change at once.
    fn change_found(&mut self, _changes: bool) {}

    /// The version of the catalogue that the transaction sees, if its store has one.
    fn version(&self) -> Option<u64> {
        None
    }
}

/// [`WriteTarget::delete_before_others`] in any store of rows.
///
/// # Errors
/// The store's.
pub(crate) fn delete_before_others<S: ConstrainedRows>(
    store: &mut S,
    number: u16,
    key: &[Value],
) -> Result<Followers, Error> {
    let key: Vec<_> = key.iter().map(Value::as_ref).collect();
    Ok(match store.find_row(number, &key)? {
        Some(at) => constraints::delete_before_others(store, number, at)?,
        None => Followers::default(),
    })
}

/// Runs a function that needs a transaction on tables in main memory, such as a program's procedure.
///
/// # Errors
/// `0A000` if it is none; the error of `act`.
pub(crate) fn in_tables<R>(
    tx: &mut dyn WriteTarget,
    act: impl FnOnce(&mut Transaction<'_>) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    let (mut act, mut done) = (Some(act), None);
    tx.tables(&mut |tx| done = act.take().map(|act| act(tx)));
    done.unwrap_or_else(|| {
        Err(SqlError::unsupported(
            "this is not supported here: procedures of programs run on tables in main memory only",
        ))
    })
}

/// Calls a function with SQL's objects beside the rows.
///
/// # Errors
/// The error of `act`.
pub(crate) fn with_objects(
    tx: &mut dyn WriteTarget,
    act: impl FnOnce(&mut dyn Objects) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let (mut act, mut done) = (Some(act), None);
    tx.objects(&mut |objects| done = act.take().map(|act| act(objects)));
    done.unwrap_or(Ok(()))
}

impl WriteTarget for Transaction<'_> {
    fn insert(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error> {
        self.rows_of(number)?.insert_row(row)
    }

    fn check_new(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error> {
        Ok(check_new_row(self, number, row)?)
    }

    fn update_at(&mut self, number: u16, at: Address, row: &RowWriter<'_>) -> Result<(), Error> {
        self.rows_of(number)?.update_at(at, row)
    }

    fn update(&mut self, number: u16, key: &[Value], row: &RowWriter<'_>) -> Result<bool, Error> {
        self.rows_of(number)?.update_row(key, row)
    }

    fn delete(&mut self, number: u16, key: &[Value]) -> Result<bool, Error> {
        self.rows_of(number)?.delete(key)
    }

    fn delete_before_others(&mut self, number: u16, key: &[Value]) -> Result<Followers, Error> {
        delete_before_others(self, number, key)
    }

    fn follow(&mut self, followers: Followers) -> Result<(), Error> {
        Ok(constraints::follow(self, followers)?)
    }

    fn take(&mut self, number: u16, key: &[Value]) -> Result<bool, Error> {
        self.rows_of(number)?.take(key)
    }

    fn at(&self, number: u16, at: Address, each: EachRow<'_>) -> Result<(), SqlError> {
        if let Some(row) =
            sardonyx_rows::WriteRows::row_at(self, number, at).map_err(Error::from)?
        {
            each(&row)?;
        }
        Ok(())
    }

    fn savepoint(&mut self) -> Savepoint {
        Transaction::savepoint(self)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        Transaction::rollback_to(self, savepoint)
    }

    fn release(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        Transaction::release(self, savepoint)
    }

    fn hold_references(&mut self, holds: bool) {
        Transaction::hold_references(self, holds);
    }

    fn held_references(&self) -> Vec<HeldReference> {
        Transaction::held_references(self)
    }

    fn check_held(&mut self, due: DueOf<'_>) -> Result<(), Error> {
        Transaction::check_held(self, due)
    }

    fn objects(&mut self, act: &mut dyn FnMut(&mut dyn Objects)) {
        act(&mut objects(self));
    }

    fn tables(&mut self, act: &mut dyn FnMut(&mut Transaction<'_>)) -> bool {
        act(self);
        true
    }

    fn define(&mut self) -> Option<&mut dyn DefineTarget> {
        Some(self)
    }
}

impl WriteTarget for OpenRows {
    fn insert(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error> {
        Rows::numbered(self, number)?.insert_row(row)
    }

    fn check_new(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error> {
        Ok(check_new_row(self, number, row)?)
    }

    /// Its rows have no addresses.
    fn update_at(&mut self, _: u16, _: Address, _: &RowWriter<'_>) -> Result<(), Error> {
        Err(Error::Refused(
            "a row of an open transaction has no address".into(),
        ))
    }

    fn update(&mut self, number: u16, key: &[Value], row: &RowWriter<'_>) -> Result<bool, Error> {
        self.update_with_key(number, key, row)
    }

    fn delete(&mut self, number: u16, key: &[Value]) -> Result<bool, Error> {
        Rows::numbered(self, number)?.delete(key)
    }

    fn delete_before_others(&mut self, number: u16, key: &[Value]) -> Result<Followers, Error> {
        delete_before_others(self, number, key)
    }

    fn follow(&mut self, followers: Followers) -> Result<(), Error> {
        Ok(constraints::follow(self, followers)?)
    }

    fn take(&mut self, number: u16, key: &[Value]) -> Result<bool, Error> {
        Rows::numbered(self, number)?.take(key)
    }

    fn at(&self, _: u16, _: Address, _: EachRow<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn savepoint(&mut self) -> Savepoint {
        OpenRows::savepoint(self)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        OpenRows::rollback_to(self, savepoint)
    }

    fn release(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        OpenRows::release(self, savepoint)
    }

    fn hold_references(&mut self, holds: bool) {
        OpenRows::hold_references(self, holds);
    }

    fn held_references(&self) -> Vec<HeldReference> {
        OpenRows::held_references(self)
    }

    fn check_held(&mut self, due: DueOf<'_>) -> Result<(), Error> {
        Ok(OpenRows::check_held(self, due)?)
    }

    fn objects(&mut self, act: &mut dyn FnMut(&mut dyn Objects)) {
        act(&mut objects(self));
    }

    fn tables(&mut self, _: &mut dyn FnMut(&mut Transaction<'_>)) -> bool {
        false
    }

    fn open_rows(&mut self, act: &mut dyn FnMut(&mut OpenRows)) -> bool {
        act(self);
        true
    }

    fn define(&mut self) -> Option<&mut dyn DefineTarget> {
        Some(self)
    }
}
