//! The transaction: reads and changes records with exclusive access, keeps before-images until it
//! commits, and appends to the log only the byte ranges that changed.
//!
//! Dropping it without commit aborts, so a panic in user code that unwinds through it undoes it
//! (I8). An operation that fails has done nothing; the transaction may go on or be aborted.
//!
//! Source: TPK paper, section 2, "Transaction Execution" and Figure 2.

use crate::changes::ChangeKind;
use crate::index_store::IndexStore;
use crate::row::Row;
use crate::secondary::VacantKey;
use crate::space::{Prefetch, TableSpace, View};
use crate::table::{Place, TableState, make_index_room, page_bytes, remove_from_index};
use crate::undo::{Step, undo_steps};
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::constraints::{HeldReferences, check_changed_row, delete_row};
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse, word_at};
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::{
    Field, Journal, JournalRow, Plain, PlainLayout, RecordRows, TableError, plain_at, records,
};
use sardonyx_storage::catalogue::{Definition, Kind};
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::log::room::NoRoom;
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::page::{Address, PageId};
use std::fmt::Write;

mod beside;
mod columns;
mod constraints;
mod declaring;
mod generated;
mod index_beside;
mod indexes;
mod insertion;
mod keeping;
mod rows;
mod savepoint;
mod tables;
mod update;
mod values;
mod verbs;

pub use beside::{Beside, Redefined};
pub use index_beside::{IndexBeside, IndexChanges};
pub(crate) use keeping::{Keeping, kept_numbers};
pub use verbs::Walk;

/// Redo bytes kept in reserve for the catalogue's and the page's own changes by one operation.
const OVERHEAD_BYTES: usize = 512;

/// A running transaction: `tx` in the closure of a call of `run`.
///
/// | to | verbs |
/// | --- | --- |
/// | read | `get`, `scan`, `count`; by an index: `index`; by names of columns: `rows` |
/// | insert | `insert` a new record, `put` a new or another one |
/// | change | `update`, `try_update`; `get_mut` and `save` a copy |
/// | delete | `delete`, `remove` and return, `retain` some, `clear` all |
/// | find once, then change | `find`, `set`, `record_mut`, `delete_row`; `next` while walking |
/// | append to a journal | `append` |
/// | undo a part | `savepoint`, `rollback_to` |
/// | define | `create_table`, `add_column`, `create_index`, `drop_table` and others |
///
/// The other methods are for layers above the tables, such as SQL.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub(crate) space: &'a mut TableSpace,
    log: &'a mut GroupBuilder,
    finished: bool,
    /// References that are checked later.
    held: HeldReferences,
}

impl<'a> Transaction<'a> {
    #[inline]
    pub(crate) fn new(space: &'a mut TableSpace, log: &'a mut GroupBuilder) -> Self {
        let mut transaction = Transaction {
            space,
            log,
            finished: false,
            held: HeldReferences::default(),
        };
        // Only if the one before was leaked (`mem::forget`): it did not commit.
        if !transaction.space.undo.is_empty() || transaction.log.transaction_bytes() > 0 {
            transaction.undo();
        }
        transaction
    }

    /// Calls `each` with the records of these keys, in their order, up to the first error. Many of them are looked up
    /// together, so that their cache misses overlap.
    ///
    /// # Errors
    /// The error that `each` returns.
    #[inline]
    pub fn get_each<R: Plain, E>(
        &self,
        table: Table<R>,
        keys: impl IntoIterator<Item = R::Key>,
        mut each: impl FnMut(R::Key, Option<&R>) -> Result<(), E>,
    ) -> Result<(), E> {
        let bytes = self.space.store.bytes();
        self.find_each(table, keys, |key, row| {
            each(key, row.map(|row| plain_at(bytes, row.address)))
        })
    }

    /// The same with the rows, to read and change them without looking them up again.
    ///
    /// # Errors
    /// The error that `each` returns.
    #[inline]
    pub fn find_each<R: Plain, E>(
        &self,
        table: Table<R>,
        keys: impl IntoIterator<Item = R::Key>,
        each: impl FnMut(R::Key, Option<Row<R>>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.space.locate_each(table, keys, each)
    }

    /// The row with this key, to read and change it without looking it up again.
    #[inline]
    pub fn find<R: Plain>(&self, table: Table<R>, key: R::Key) -> Option<Row<R>> {
        self.space.locate(table, key)
    }

    /// Prefetches the memory that [`Transaction::find`] and [`Transaction::record`] will read, as
    /// [`TableSpace::prefetch`] does. A transaction that gets many keys at once overlaps their cache misses so.
    #[inline]
    pub fn prefetch<R: Plain>(&self, what: Prefetch, table: Table<R>, key: R::Key) {
        self.space.prefetch(what, table, key);
    }

    /// The record of a row.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was deleted since the row was found.
    #[inline]
    pub fn record<R: Plain>(&self, row: Row<R>) -> Result<&R, Error> {
        let at = self.space.resolve(row)?;
        Ok(plain_at(self.space.store.bytes(), at))
    }

    /// The transaction's own view, with its changes, to read.
    #[inline]
    pub fn view(&self) -> View<'_> {
        self.space.view()
    }

    /// Sets one field of a record. The cheapest change: its bytes are all that is kept and logged.
    ///
    /// # Errors
    /// [`Error::Refused`] if the record was deleted, or the field is (part of) the key;
    /// [`Error::Limit`] if the transaction is too large.
    #[inline]
    pub fn set<R: Plain, T: Resident>(
        &mut self,
        row: Row<R>,
        field: Field<R, T>,
        value: T,
    ) -> Result<(), Error> {
        let at = self.space.resolve(row)?;
        let key = R::KEY_OFFSET..R::KEY_OFFSET + size_of::<R::Key>();
        if field.offset() < key.end && key.start < field.offset() + size_of::<T>() {
            return Err(key_changed(R::NAME));
        }
        self.check_room(encoded_bytes(size_of::<T>()))?;
        if self.has_ordered(row.table) {
            return Ok(self.set_indexed(row.table, at, field.offset(), value.as_bytes())?);
        }
        if size_of::<T>() > 0 {
            self.write(Address(at.0 + field.offset() as u64), value.as_bytes());
        }
        Ok(())
    }

    /// Inserts a record.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if there is one with this key, or with one of a unique index; [`Error::Refused`] if a condition
    /// is not met, the handle is another database's, or its table has other columns by now; [`Error::Limit`] if the
    /// transaction is too large, or the catalogue has no room for more pages; [`Error::Full`] if there is no memory for
    /// them.
    pub fn insert<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), Error> {
        Ok(self.insert_record(table, record)?)
    }

    /// Inserts a plain record; the row is to change it without looking it up.
    ///
    /// # Errors
    /// The errors of [`Transaction::insert`].
    pub fn insert_and_find<R: Plain>(
        &mut self,
        table: Table<R>,
        record: &R,
    ) -> Result<Row<R>, Error> {
        self.space.state_of(table)?;
        let number = table.number();
        let address = self.insert_plain(number, record)?;
        let key = R::Key::read_from_bytes(&record.as_bytes()[PlainLayout::of::<R>().key()]);
        let key = key.expect("the bytes of a key");
        Ok(Row::new(address, number, self.space.epoch, key))
    }

    fn insert_plain<R: Record>(&mut self, number: u16, record: &R) -> Result<Address, TableError> {
        let bytes = record.plain_bytes();
        self.check_room(encoded_bytes(bytes.len()) + OVERHEAD_BYTES)?;
        let key = &bytes[R::PLAIN.map(|plain| plain.key()).unwrap_or_default()];
        let state = self.state(number);
        let hash = state.hash.of(key);
        if state
            .find(&self.space.indexes, self.space.store.bytes(), hash, key)
            .is_some()
        {
            let table = R::TABLE.to_string();
            let key = hexadecimal(key);
            let values = Box::default();
            return Err(TableError::DuplicateKey { table, key, values });
        }
        if self.has_ordered(number) {
            if self.state(number).is_generated {
                return self.insert_with_added(number, bytes, hash);
            }
            self.check_declared(number, bytes)?;
        }
        match self.state(number).has_one_shape() {
            true => self.insert_bytes(number, bytes, hash, None),
            false => self.insert_with_added(number, bytes, hash),
        }
    }

    /// Puts a record, whose key is new, into a table. There is room for it. `vacant` is the place of its key in the
    /// first ordered index, if it was found before. Inlined, so that of a record type its length is known at compile time.
    #[inline(always)]
    fn insert_bytes(
        &mut self,
        number: u16,
        bytes: &[u8],
        hash: u64,
        vacant: Option<&VacantKey>,
    ) -> Result<Address, TableError> {
        if self.has_ordered(number) && self.state(number).feed.is_some() {
            return self.insert_kept(number, bytes, hash, vacant);
        }
        self.place_bytes(number, bytes, hash, vacant, &|_| true)
    }

    /// The same in a table whose changes are kept.
    #[cold]
    #[inline(never)]
    fn insert_kept(
        &mut self,
        number: u16,
        bytes: &[u8],
        hash: u64,
        vacant: Option<&VacantKey>,
    ) -> Result<Address, TableError> {
        self.whole(|tx| {
            let address = tx.place_bytes(number, bytes, hash, vacant, &|_| true)?;
            let after = tx.image(number, address)?;
            tx.keep(number, ChangeKind::Inserted, None, after.as_deref())?;
            Ok(address)
        })
    }

    /// The same, whether changes are kept or not. Of a row that was elsewhere, `changes` returns true for the columns that change.
    #[inline(always)]
    fn place_bytes(
        &mut self,
        number: u16,
        bytes: &[u8],
        hash: u64,
        vacant: Option<&VacantKey>,
        changes: &dyn Fn(usize) -> bool,
    ) -> Result<Address, TableError> {
        let savepoint = self.has_ordered(number).then(|| self.undo_point());
        if let Place::NeedsExtent = self.state(number).place() {
            self.extend(number)?;
        }
        let (bytes_now, indexes, state) = self.parts_and_indexes(number);
        make_index_room(state, indexes, bytes_now, hash).map_err(TableError::Store)?;
        let fresh_before = state.fresh;
        let (address, freed, first_of) = match state.place() {
            Place::Freed(address) => (address, true, None),
            Place::Fresh(address, first_of) => (address, false, first_of),
            Place::NeedsExtent => unreachable!("extended above"),
        };
        if let Some(page) = first_of {
            let (layout, life, shape) = (state.layout, state.life, state.shape());
            let kind = PageKind::Rows { shape };
            let page_use = PageUse {
                kind,
                ..PageUse::rows(state.number_in_pages(number), life)
            };
            self.space.store.back(page);
            self.set_page_use(page, layout, page_use);
        }
        self.write(address, bytes);
        match freed {
            true => self.set_occupied(number, address, true),
            false => {
                let layout = self.state(number).layout;
                self.set_occupied_in(layout, address.page(), fresh_before.slot, true);
            }
        }
        let (_, indexes, state) = self.parts_and_indexes(number);
        state.changes += 1;
        if freed {
            state.free.pop();
        } else {
            state.take_fresh();
        }
        if state.is_hashed {
            state.index.insert(indexes, hash, address);
        }
        self.space.undo.push(Step::Inserted {
            table: number,
            address,
            freed,
            fresh_before,
        });
        if let Some(savepoint) = savepoint {
            self.index_new_row(number, address, vacant)
                .and_then(|()| match self.state(number).is_checked {
                    true => check_changed_row(self, number, address, changes),
                    false => Ok(()),
                })
                .inspect_err(|_| self.undo_to(savepoint))?;
        }
        Ok(address)
    }

    /// Deletes a record. Returns false if there is no such record.
    ///
    /// # Errors
    /// [`Error::Limit`] if the transaction is too large; [`Error::Refused`] if rows refer to it, or the handle is another
    /// database's.
    pub fn delete<R: Record>(&mut self, table: Table<R>, key: R::Key<'_>) -> Result<bool, Error> {
        records::delete(self, table, &key)
    }

    /// Deletes the plain record at an address, at which there is one.
    fn delete_at(&mut self, number: u16, address: Address) -> Result<(), TableError> {
        self.check_room(OVERHEAD_BYTES)?;
        if !self.state(number).has_one_shape() {
            // An added column may have values outside of the row.
            return self.delete_row_at(number, address);
        }
        if self.has_ordered(number) {
            if self.state(number).feed.is_some() {
                return self.delete_row_at(number, address);
            }
            if self.state(number).is_referenced {
                return delete_row(self, number, address);
            }
            let indexes = self.all_indexes(number);
            self.unindex_row(number, address, indexes)?;
        }
        self.delete_unindexed(number, address)
    }

    /// Deletes the record at an address, which is in no ordered index any more.
    fn delete_unindexed(&mut self, number: u16, address: Address) -> Result<(), TableError> {
        self.check_room(OVERHEAD_BYTES)?;
        self.set_occupied(number, address, false);
        let (bytes, indexes, state) = self.parts_and_indexes(number);
        state.changes += 1;
        remove_from_index(state, indexes, bytes, address);
        let freed = state.is_of_newest_shape(page_bytes(bytes, address.page()));
        if freed {
            state.free.push(address);
        }
        self.space.epoch += 1;
        self.space.undo.push(Step::Deleted {
            table: number,
            address,
            freed,
        });
        if !freed {
            self.renew_if_empty(number, address.page());
        }
        Ok(())
    }

    /// Appends a row to a journal.
    ///
    /// # Errors
    /// [`Error::Limit`] if the row is too long, or the transaction too large, [`Error::Refused`] if the handle is
    /// another database's.
    #[inline]
    pub fn append<J: JournalRow>(&mut self, journal: Journal<J>, row: &J) -> Result<(), Error> {
        let number = journal.number();
        match self.space.catalogue.definitions.get(usize::from(number)) {
            Some(definition) if is_journal_of::<J>(definition) => {}
            _ => return Err(TableError::UnknownHandle { number }.into()),
        }
        let row = row.to_row()?;
        self.check_room(encoded_bytes(row.len()))?;
        self.space.keeping.bytes += row.len() as u64;
        self.log.push_journal(number, &row);
        Ok(())
    }

    /// Commits: the redo records now belong to the group being filled. Returns whether there were
    /// any.
    #[inline(always)]
    pub fn commit(mut self) -> bool {
        self.finished = true;
        if self.space.undo.keeps_memory() {
            self.release_replaced();
            self.free_dropped_indexes();
        }
        if !self.space.leaving.is_empty() {
            self.free_leaving();
        }
        if self.space.keeping.is_used() {
            self.space.keeping.end(true);
        }
        self.space.undo.clear();
        self.log.end_transaction()
    }

    /// Undoes everything.
    pub fn abort(self) {
        drop(self);
    }

    /// Every change of bytes: keeps the before-image, stores, logs. Inlined, so that for a field
    /// its length is known at compile time.
    #[inline(always)]
    fn write(&mut self, address: Address, bytes: &[u8]) {
        let TableSpace { store, undo, .. } = &mut *self.space;
        store.replace(address, bytes, |before| undo.push_bytes(address, before));
        self.log.push_write(address, bytes);
    }

    /// Writes the runs of 8-byte words that differ. Two runs with one equal word between them are
    /// written as one: a redo record's head costs as much as the word.
    fn write_differences(&mut self, at: Address, after: &[u8]) {
        let words = after.len() / 8;
        let mut word = 0;
        while word < words {
            let before = &self.space.store.bytes()[at.0 as usize..][..after.len()];
            let differs = |word: usize| before[word * 8..][..8] != after[word * 8..][..8];
            let Some(first) = (word..words).find(|&word| differs(word)) else {
                return;
            };
            let mut end = first + 1;
            while end < words && (differs(end) || (end + 1 < words && differs(end + 1))) {
                end += 1;
            }
            self.write(Address(at.0 + first as u64 * 8), &after[first * 8..end * 8]);
            word = end;
        }
    }

    fn set_occupied(&mut self, table: u16, record: Address, occupied: bool) {
        let content = page_bytes(self.space.store.bytes(), record.page());
        let layout = self.state(table).layout_of(content);
        self.set_occupied_in(layout, record.page(), layout.slot(record), occupied);
    }

    fn set_occupied_in(&mut self, layout: PageLayout, page: PageId, slot: usize, occupied: bool) {
        let (word_address, bit) = layout.occupancy(page, slot);
        let word = word_at(self.space.store.bytes(), word_address.0 as usize);
        let word = if occupied { word | bit } else { word & !bit };
        self.write(word_address, &word.to_le_bytes());
    }

    #[inline]
    pub(crate) fn check_room(&mut self, more: usize) -> Result<(), TableError> {
        match self.log.has_room(more) {
            true => Ok(()),
            false => self.make_room(more),
        }
    }

    #[cold]
    fn make_room(&mut self, more: usize) -> Result<(), TableError> {
        let limit = self.space.transaction_bytes_max;
        self.log
            .make_room(more, limit)
            .map_err(|error| match error {
                NoRoom::TooLarge { bytes } => TableError::TransactionTooLarge { bytes, limit },
                NoRoom::Log(error) => TableError::Log(error),
            })
    }

    pub(crate) fn state(&self, table: u16) -> &TableState {
        self.space.tables[usize::from(table)]
            .as_ref()
            .expect("the handle was checked")
    }

    pub(crate) fn count_change(&mut self, table: u16) {
        let state = self.space.tables.state_mut(table);
        state.expect("the handle was checked").changes += 1;
    }

    pub(crate) fn parts(&mut self, table: u16) -> (&[u8], &mut TableState) {
        let (bytes, _, state) = self.parts_and_indexes(table);
        (bytes, state)
    }

    pub(crate) fn parts_and_indexes(
        &mut self,
        table: u16,
    ) -> (&[u8], &mut IndexStore, &mut TableState) {
        let TableSpace {
            store,
            indexes,
            tables,
            ..
        } = &mut *self.space;
        (
            store.bytes(),
            indexes,
            tables.state_mut(table).expect("the handle was checked"),
        )
    }

    #[cold]
    fn undo(&mut self) {
        self.space.checked = None;
        self.log.abort_transaction();
        undo_steps(self.space, 0);
        self.space.undo.clear();
        if !self.space.leaving.is_empty() {
            self.free_leaving();
        }
        self.space.keeping.end(false);
    }
}

impl Drop for Transaction<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.finished {
            self.undo();
        }
    }
}

#[cold]
fn key_changed(table: &str) -> Error {
    let table = table.to_string();
    TableError::KeyChanged { table }.into()
}

fn is_journal_of<J: JournalRow>(definition: &Definition) -> bool {
    definition.kind == Kind::Journal
        && definition.record_bytes == J::PLAIN.unwrap_or(0)
        && definition.name == J::NAME
}

fn hexadecimal(key: &[u8]) -> String {
    key.iter().rev().fold(String::from("0x"), |mut text, byte| {
        // Little-endian, as numbers are read; a string takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
