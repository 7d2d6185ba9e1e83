//! Operations on one record. Each locks its key first, when it holds no page.
//!
//! An inverse is made of the row's bytes, not of the record that the operation gives back: a row may have columns that
//! are no fields of it ([`Operation::execute_with_inverse`]).

use super::memory::TableMemory;
use super::rows::{Place, find, overwrite, put, row_at, take_out};
use super::{CHANGE, READ, RECORDS, ROW_BYTES_MAX, RecordError, Table};
use crate::operation::{Inverse, Operation, Recorded};
use crate::pages::{Area, Pages};
use sardonyx_lock::Mode;
use sardonyx_rows::fields::values_of;
use sardonyx_rows::{Found, PlainLayout, Record, TableError};
use sardonyx_storage::page::Address;
use std::borrow::Cow;
use std::sync::Arc;

/// Gets the record of a key; `None` if it does not exist.
#[derive(Clone, Copy, Debug)]
pub struct Get<'k, R: Record> {
    pub(super) table: Table<R>,
    pub(super) key: R::Key<'k>,
    pub(super) to_change: bool,
}

impl<R: Record> Get<'_, R> {
    /// Locks the key as if to change it. Two transactions that read a record and then change it are a
    /// deadlock otherwise, and one runs again.
    pub fn to_change(self) -> Self {
        Get {
            to_change: true,
            ..self
        }
    }
}

/// Adds a record. [`RecordError::Duplicate`] if its key exists.
#[derive(Clone, Copy, Debug)]
pub struct Insert<'r, R: Record> {
    pub(super) table: Table<R>,
    pub(super) record: &'r R,
}

/// Changes a record in place. Returns the former one; `None` if it does not exist.
#[derive(Clone, Copy, Debug)]
pub struct Update<'k, R: Record, F> {
    pub(super) table: Table<R>,
    pub(super) key: R::Key<'k>,
    pub(super) change: F,
}

/// Deletes a record. Returns it; `None` if it does not exist.
#[derive(Clone, Copy, Debug)]
pub struct Delete<'k, R: Record> {
    pub(super) table: Table<R>,
    pub(super) key: R::Key<'k>,
}

/// The inverse of the others: makes a key have a row, or none. It asks for no locks: only a
/// transaction that has changed the row may execute it, to undo that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restore<'a> {
    area: Area,
    /// The row's key.
    key: Cow<'a, [u8]>,
    /// The row's bytes, its texts and bytes included; `None`: there shall be none.
    row: Option<Cow<'a, [u8]>>,
}

/// A table's memory, if the handle is one of such records.
fn memory_of<R: Record>(
    pages: &dyn Pages,
    table: Table<R>,
) -> Result<Arc<TableMemory>, RecordError> {
    let number = table.number();
    let memory = pages
        .table(Area(number))
        .filter(|memory| memory.is_of::<R>());
    memory.ok_or(RecordError::NoTable { number })
}

/// Locks a key. Returns its number.
fn lock(
    pages: &mut dyn Pages,
    table: &TableMemory,
    key: &[u8],
    mode: Mode,
) -> Result<u64, RecordError> {
    let hash = table.hash(key);
    pages.lock_key(&RECORDS, hash, mode, mode == CHANGE)?;
    Ok(hash)
}

/// A key that is locked, and where its row is.
struct Sought<'k> {
    table: Arc<TableMemory>,
    key: Cow<'k, [u8]>,
    hash: u64,
    place: Option<Place>,
}

/// Locks a key in mode `lock_mode`, and looks for its row in pages that are locked in mode `page_mode`.
fn seek<'k, R: Record>(
    pages: &mut dyn Pages,
    table: Table<R>,
    key: &'k R::Key<'_>,
    lock_mode: Mode,
    page_mode: Mode,
) -> Result<Sought<'k>, RecordError> {
    let table = memory_of(pages, table)?;
    let key = table.key_of::<R>(key)?;
    let hash = lock(pages, &table, &key, lock_mode)?;
    let place = find(pages, &table, hash, &key, page_mode)?;
    Ok(Sought {
        table,
        key,
        hash,
        place,
    })
}

/// The record at a place.
pub(crate) fn read_record<R: Record>(
    pages: &dyn Pages,
    table: &TableMemory,
    (page, slot): Place,
    mode: Mode,
) -> Result<R, RecordError> {
    if R::PLAIN.is_none() {
        let row = row_at(pages, table, (page, slot), mode)?;
        return Ok(table.format().record_of(&row)?);
    }
    let bytes = match mode {
        READ => pages.read(page)?,
        _ => pages.read_to_write(page)?,
    };
    let at = (slot * table.layout().stride) as u64;
    plain_record(table, bytes, Address(at))
}

/// A record of plain data at a place of bytes.
fn plain_record<R: Record>(
    table: &TableMemory,
    bytes: &[u8],
    at: Address,
) -> Result<R, RecordError> {
    let format = table.format();
    let (schema, table) = (&**format.schema(), format.table());
    let found = Found {
        pages: bytes,
        schema,
        table,
        at,
    };
    Ok(R::copy_row(found, &R::columns_in(schema, table)?)?)
}

fn new_row<'r, R: Record>(
    table: &TableMemory,
    record: &'r R,
) -> Result<Cow<'r, [u8]>, RecordError> {
    if R::PLAIN.is_some() {
        return Ok(Cow::Borrowed(record.plain_bytes()));
    }
    let format = table.format();
    let columns = R::columns_in(format.schema(), format.table())?;
    let row = format.new_row(&values_of(&columns, record)?)?;
    check_length::<R>(&row)?;
    Ok(Cow::Owned(row))
}

fn changed_row<'r, R: Record>(
    table: &TableMemory,
    before: &[u8],
    record: &'r R,
) -> Result<Cow<'r, [u8]>, RecordError> {
    let key_changed = RecordError::KeyChanged { table: R::TABLE };
    if R::PLAIN.is_some() {
        let row = record.plain_bytes();
        return match table.key_of_row(row)? == table.key_of_row(before)? {
            true => Ok(Cow::Borrowed(row)),
            false => Err(key_changed),
        };
    }
    let format = table.format();
    let columns = R::columns_in(format.schema(), format.table())?;
    let row = match format.changed_row(before, &values_of(&columns, record)?) {
        Err(TableError::KeyChanged { .. }) => return Err(key_changed),
        changed => changed?,
    };
    check_length::<R>(&row)?;
    Ok(Cow::Owned(row))
}

fn check_length<R: Record>(row: &[u8]) -> Result<(), RecordError> {
    if row.len() <= ROW_BYTES_MAX {
        return Ok(());
    }
    Err(RecordError::TooLong {
        table: R::TABLE,
        bytes: row.len(),
        limit: ROW_BYTES_MAX,
    })
}

impl Restore<'_> {
    fn inverse<R>(table: Table<R>, key: &[u8], row: Option<&[u8]>) -> Inverse {
        Inverse::of(&Restore {
            area: Area(table.number()),
            key: Cow::Borrowed(key),
            row: row.map(Cow::Borrowed),
        })
    }
}

/// The layout of records whose bytes are all in the operation's output.
///
/// # Panics
/// If their rows may have more: without an inverse an abort would leave the change.
fn plain<R: Record>() -> PlainLayout {
    R::PLAIN.expect("records of plain data: what undoes an operation on others is given by `execute_with_inverse`")
}

/// The inverse that gives a key the record that it had, which is plain data.
fn plain_inverse<R: Record>(table: Table<R>, key: &R::Key<'_>, record: &R) -> Inverse {
    plain::<R>();
    Restore::inverse(table, R::plain_key(key), Some(record.plain_bytes()))
}

/// The record at a place, which will be changed, and its row's bytes: `None` if they are those of the record.
fn record_and_row<R: Record>(
    pages: &dyn Pages,
    table: &TableMemory,
    place: Place,
) -> Result<(R, Option<Vec<u8>>), RecordError> {
    if R::PLAIN.is_some() {
        return Ok((read_record(pages, table, place, CHANGE)?, None));
    }
    let row = row_at(pages, table, place, CHANGE)?;
    Ok((table.format().record_of(&row)?, Some(row)))
}

impl<R: Record> Insert<'_, R> {
    /// Does the work. `undo` is given the key and the row that it had, by which it is undone; it is so below, too. An
    /// inverse costs its bytes, so only those that keep it make one.
    fn carry_out<I>(
        &self,
        pages: &mut dyn Pages,
        undo: impl FnOnce(&[u8], Option<&[u8]>) -> I,
    ) -> Result<((), Option<I>), RecordError> {
        let table = memory_of(pages, self.table)?;
        let row = new_row(&table, self.record)?;
        let key = table.key_of_row(&row)?;
        let hash = lock(pages, &table, &key, CHANGE)?;
        if find(pages, &table, hash, &key, CHANGE)?.is_some() {
            let table = R::TABLE;
            return Err(RecordError::Duplicate { table });
        }
        put(pages, &table, hash, &row)?;
        Ok(((), Some(undo(&key, None))))
    }
}

impl<R: Record, F: Fn(&mut R)> Update<'_, R, F> {
    fn carry_out<I>(
        &self,
        pages: &mut dyn Pages,
        undo: impl FnOnce(&[u8], Option<&[u8]>) -> I,
    ) -> Result<(Option<R>, Option<I>), RecordError> {
        let sought = seek(pages, self.table, &self.key, CHANGE, CHANGE)?;
        let Some(place) = sought.place else {
            return Ok((None, None));
        };
        let Sought { table, key, .. } = sought;
        let (before, row) = record_and_row::<R>(pages, &table, place)?;
        let mut after = match &row {
            None => plain_record(&table, before.plain_bytes(), Address(0))?,
            Some(row) => table.format().record_of::<R>(row)?,
        };
        (self.change)(&mut after);
        let row = row.as_deref().unwrap_or_else(|| before.plain_bytes());
        let changed = changed_row(&table, row, &after)?;
        let may_take = overwrite(pages, &table, place, &changed)?;
        pages.inverse_may_take(may_take);
        let inverse = undo(&key, Some(row));
        Ok((Some(before), Some(inverse)))
    }
}

impl<R: Record> Delete<'_, R> {
    fn carry_out<I>(
        &self,
        pages: &mut dyn Pages,
        undo: impl FnOnce(&[u8], Option<&[u8]>) -> I,
    ) -> Result<(Option<R>, Option<I>), RecordError> {
        let sought = seek(pages, self.table, &self.key, CHANGE, CHANGE)?;
        let Some(place) = sought.place else {
            return Ok((None, None));
        };
        let Sought {
            table, key, hash, ..
        } = sought;
        let (record, row) = record_and_row::<R>(pages, &table, place)?;
        let may_take = take_out(pages, &table, hash, place)?;
        pages.inverse_may_take(may_take);
        let row = row.as_deref().unwrap_or_else(|| record.plain_bytes());
        let inverse = undo(&key, Some(row));
        Ok((Some(record), Some(inverse)))
    }
}

impl<R: Record> Operation for Get<'_, R> {
    type Output = Option<R>;
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<R>, RecordError> {
        let mode = if self.to_change { CHANGE } else { READ };
        let Sought { table, place, .. } = seek(pages, self.table, &self.key, mode, READ)?;
        let read = place.map(|place| read_record(pages, &table, place, READ));
        read.transpose()
    }
}

impl<R: Record> Operation for Insert<'_, R> {
    type Output = ();
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), RecordError> {
        self.carry_out(pages, |_, _| ()).map(|((), _)| ())
    }

    fn execute_with_inverse(
        &self,
        pages: &mut dyn Pages,
    ) -> Result<((), Option<Inverse>), RecordError> {
        self.carry_out(pages, |key, row| Restore::inverse(self.table, key, row))
    }

    /// The inverse for a record of plain data.
    ///
    /// # Panics
    /// For other records: [`Operation::execute_with_inverse`] returns their inverse.
    fn inverse(&self, (): &()) -> Option<Inverse> {
        let key = &self.record.plain_bytes()[plain::<R>().key()];
        Some(Restore::inverse(self.table, key, None))
    }
}

impl<R: Record, F: Fn(&mut R)> Operation for Update<'_, R, F> {
    type Output = Option<R>;
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<R>, RecordError> {
        Ok(self.carry_out(pages, |_, _| ())?.0)
    }

    fn execute_with_inverse(
        &self,
        pages: &mut dyn Pages,
    ) -> Result<(Option<R>, Option<Inverse>), RecordError> {
        self.carry_out(pages, |key, row| Restore::inverse(self.table, key, row))
    }

    /// The inverse for a record of plain data.
    ///
    /// # Panics
    /// For other records: [`Operation::execute_with_inverse`] returns their inverse.
    fn inverse(&self, before: &Option<R>) -> Option<Inverse> {
        Some(plain_inverse(self.table, &self.key, before.as_ref()?))
    }
}

impl<R: Record> Operation for Delete<'_, R> {
    type Output = Option<R>;
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<R>, RecordError> {
        Ok(self.carry_out(pages, |_, _| ())?.0)
    }

    fn execute_with_inverse(
        &self,
        pages: &mut dyn Pages,
    ) -> Result<(Option<R>, Option<Inverse>), RecordError> {
        self.carry_out(pages, |key, row| Restore::inverse(self.table, key, row))
    }

    /// The inverse for a record of plain data.
    ///
    /// # Panics
    /// For other records: [`Operation::execute_with_inverse`] returns their inverse.
    fn inverse(&self, record: &Option<R>) -> Option<Inverse> {
        Some(plain_inverse(self.table, &self.key, record.as_ref()?))
    }
}

impl Operation for Restore<'_> {
    type Output = ();
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), RecordError> {
        let number = self.area.0;
        let table = pages.table(self.area);
        let table = table.ok_or(RecordError::NoTable { number })?;
        if !self.is_of(&table) {
            return Err(RecordError::Inverse { number });
        }
        let hash = table.hash(&self.key);
        let place = find(pages, &table, hash, &self.key, CHANGE)?;
        match (place, &self.row) {
            (Some(place), Some(row)) => overwrite(pages, &table, place, row).map(drop),
            (Some(place), None) => take_out(pages, &table, hash, place).map(drop),
            (None, Some(row)) => put(pages, &table, hash, row),
            (None, None) => Ok(()),
        }
    }
}

impl Restore<'_> {
    /// True if it is of the rows of a table.
    fn is_of(&self, table: &TableMemory) -> bool {
        if let Some(row) = self.row.as_deref() {
            let fits = match table.has_values() {
                true => table.format().row(row).is_ok(),
                false => row.len() == table.layout().stride,
            };
            return fits && table.key_of_row(row).is_ok_and(|key| key == self.key);
        }
        table.may_be_key(&self.key)
    }
}

impl Recorded for Restore<'_> {
    const NAME: &'static str = "sardonyx record restore";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend((self.key.len() as u16).to_le_bytes());
        into.extend(&*self.key);
        into.extend(self.row.as_deref().unwrap_or_default());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, bytes) = bytes.split_first_chunk()?;
        let (length, bytes) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (key, row) = bytes.split_at_checked(length)?;
        Some(Restore {
            area: Area(u16::from_le_bytes(*area)),
            key: Cow::Owned(key.to_vec()),
            // A row has its key in it, so it is never empty.
            row: (!row.is_empty()).then(|| Cow::Owned(row.to_vec())),
        })
    }
}
