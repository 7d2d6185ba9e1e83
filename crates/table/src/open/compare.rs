//! Comparing an open transaction's reads with the state at its end.
//!
//! Pages that did not change since the snapshot are skipped; others are compared row by row, by values. So two
//! transactions on one page do not conflict, and neither does a value that returned to its former one. That is
//! right for values outside of rows, too: each change of one changes the page of its row (`crate::changed_rows`).
//!
//! The stage waits meanwhile. So many keys, and [ranges] with many rows, cost what others have changed, and not what was read.
//! A comparison of more than [`COMPARED_MAX`] rows is a conflict: the transaction runs again over a newer state, from which
//! fewer rows differ.

mod ranges;

use super::keys::Keys;
use super::planted::{self, Planted};
use super::reads::{Extent, RangeRead};
use super::{Known, OpenRows};
use crate::changed_rows::is_same;
use crate::snapshot::FrozenTable;
use crate::table::{TableState, page_bytes};
use crate::transaction::Transaction;
use sardonyx_rows::key::{KeyBytes, KeyShape};
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::schema::{Value, ValueRef};
use sardonyx_rows::{Conflict, ConflictWith, RowRef, TableError};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, PageSnapshot};
use std::cell::Cell;
use std::sync::Arc;

/// Beyond this number of keys of a table, or rows of an index, only those on changed pages are compared.
const MANY: usize = 500;
/// The most rows that one comparison looks at, where others have changed many: about half a second of the stage.
const COMPARED_MAX: usize = if cfg!(test) { 8000 } else { 500_000 };

/// The rows that a comparison may still look at.
struct Left(Cell<usize>);

impl Left {
    /// Takes so many; false if that is more than are left.
    #[inline]
    fn take(&self, rows: usize) -> bool {
        let left = self.0.get().checked_sub(rows);
        self.0.set(left.unwrap_or_default());
        left.is_some()
    }
}

/// A table then and now.
struct Both<'a> {
    known: &'a Known,
    before: &'a FrozenTable,
    pages_before: &'a PageSnapshot,
    now: &'a TableState,
    pages_now: &'a [u8],
}

impl OpenRows {
    /// Checks that everything that was read is unchanged.
    ///
    /// # Errors
    /// [`TableError::Conflict`] with the first difference; [`TableError::SnapshotEnded`]; [`TableError::OtherDatabase`].
    #[inline]
    pub(super) fn check_unchanged(&self, tx: &Transaction<'_>) -> Result<(), TableError> {
        if !tx.space.store.is_of(&self.snapshot.rows) {
            return Err(TableError::OtherDatabase);
        }
        self.check_definitions(tx)?;
        let reads = self.reads.borrow();
        let left = &Left(Cell::new(COMPARED_MAX));
        let is_read = |table: u16| !self.is_created(table);
        for (table, keys) in reads.keys().filter(|(table, _)| is_read(*table)) {
            self.check_schema(table, tx)?;
            self.check_keys(table, keys, left, tx)?;
        }
        let of_others = |ranges: &Vec<&RangeRead>| {
            let compares = !planted::is(Planted::RangesBelieved);
            compares && ranges.iter().all(|range| is_read(range.table))
        };
        for ranges in reads.ranges_by_index().filter(of_others) {
            self.check_ranges(&ranges, left, tx)?;
        }
        for (table, extent) in reads.scans().filter(|(table, _)| is_read(*table)) {
            self.both(table, tx)?.check_scan(extent, left)?;
        }
        for table in reads.counts().filter(|table| is_read(*table)) {
            let both = self.both(table, tx)?;
            if both.before.len != both.now.len() {
                return Err(both.conflict(ConflictWith::Count));
            }
        }
        Ok(())
    }

    /// Checks keys that were looked up. If they are many, only those of rows on changed pages are compared: rows of other
    /// pages are unchanged, and a key without a row has none there.
    #[inline]
    fn check_keys(
        &self,
        table: u16,
        keys: &Keys,
        left: &Left,
        tx: &Transaction<'_>,
    ) -> Result<(), TableError> {
        let both = self.both(table, tx)?;
        let is_many = keys.len() > MANY;
        if is_many && both.has_same_pages() {
            let primary = &both.known.primary;
            let mut check = |key: &[u8]| match keys.get(key) {
                Some(at) => both.check_key(key, at, tx),
                None => Ok(()),
            };
            let most = keys.len().min(left.0.get());
            if let Some(rows) = self.each_changed_key(primary, table, most, tx, &mut check)? {
                left.take(rows);
                return Ok(());
            }
        }
        if is_many && !left.take(keys.len()) {
            return Err(both.conflict(ConflictWith::Scan));
        }
        let mut keys = keys.iter();
        keys.try_for_each(|(key, at)| both.check_key(key, at, tx))
    }

    /// Calls `each` with the keys that changed rows had, or have now. Returns how many rows it has looked at. It ends early,
    /// with none, if these are more than `most`.
    #[inline]
    fn each_changed_key(
        &self,
        shape: &KeyShape,
        table: u16,
        most: usize,
        tx: &Transaction<'_>,
        each: &mut dyn FnMut(&[u8]) -> Result<(), TableError>,
    ) -> Result<Option<usize>, TableError> {
        let (before, now) = (&*self.snapshot.rows, tx.space.store.bytes());
        let view = tx.view();
        self.snapshot
            .changed_rows_within(table, view, most, |was, is| {
                if let Some(row) = was {
                    let mut key = KeyBytes::default();
                    shape.of_row(before, row.address(), &mut key)?;
                    each(&key)?;
                }
                if let Some(row) = is {
                    let mut key = KeyBytes::default();
                    shape.of_row(now, row.address(), &mut key)?;
                    each(&key)?;
                }
                Ok(())
            })
    }

    /// True if nothing has changed at a row's place.
    #[inline]
    pub(super) fn is_untouched(
        &self,
        table: u16,
        at: Address,
        tx: &Transaction<'_>,
    ) -> Result<bool, TableError> {
        Ok(self.both(table, tx)?.is_untouched(at))
    }

    #[inline]
    fn both<'a>(&'a self, table: u16, tx: &'a Transaction<'_>) -> Result<Both<'a>, TableError> {
        let unknown = || TableError::UnknownHandle { number: table };
        let place = usize::from(table);
        let before = self.snapshot.tables.get(place).and_then(Option::as_deref);
        let now = tx.space.tables.get(place).and_then(Option::as_ref);
        Ok(Both {
            known: self.known(table)?,
            before: before.ok_or_else(unknown)?,
            pages_before: &self.snapshot.rows,
            now: now.ok_or_else(unknown)?,
            pages_now: tx.space.store.bytes(),
        })
    }

    /// Checks that a table is unchanged, and that the same tables refer to it.
    #[inline]
    fn check_schema(&self, table: u16, tx: &Transaction<'_>) -> Result<(), TableError> {
        let schema_now = |number: u16| tx.space.schema(number);
        let schema_before = |number: u16| self.base().schema_of(number);
        let is_same = |number: u16| match (schema_before(number), schema_now(number)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now) || before == now,
            (before, now) => before.is_none() && now.is_none(),
        };
        let now = tx.space.tables.relations().referring(table);
        let mut referring = self.base().referring(table).iter().chain(now);
        if is_same(table) && referring.all(|number| is_same(*number)) {
            return Ok(());
        }
        let name = &*self.known(table)?.name;
        Err(Conflict::new(name, ConflictWith::Schema).into())
    }
}

impl Both<'_> {
    #[cold]
    fn conflict(&self, with: ConflictWith) -> TableError {
        Conflict::new(&*self.known.name, with).into()
    }

    #[inline]
    fn row_before(&self, at: Address) -> Result<RowRef<'_, PageSnapshot>, TableError> {
        RowRef::new(self.pages_before, &self.before.schema, &self.known.name, at)
    }

    #[inline]
    fn row_now(&self, at: Address) -> Result<RowRef<'_>, TableError> {
        RowRef::new(self.pages_now, &self.now.schema, &self.now.name, at)
    }

    /// True if the table was not emptied, and has the same content.
    #[inline]
    fn has_same_pages(&self) -> bool {
        self.before.life == self.now.life
    }

    /// True if nothing has changed at a row's place, nor in its values elsewhere.
    #[inline]
    fn is_untouched(&self, at: Address) -> bool {
        // A table that was emptied leaves its pages as they are.
        self.before.life == self.now.life && self.pages_before.is_as_live(at.page())
    }

    /// True if the row at an address then equals the one at an address now.
    #[inline]
    fn is_same(&self, before: Address, now: Address) -> Result<bool, TableError> {
        if before == now && self.is_untouched(before) {
            return Ok(true);
        }
        let (before, now) = (self.row_before(before)?, self.row_now(now)?);
        is_same(&self.before.schema, &before, &now)
    }

    /// Checks a row at a place, or the absence of a row with this key.
    #[inline]
    fn check_key(
        &self,
        key: &[u8],
        before: Option<Address>,
        tx: &Transaction<'_>,
    ) -> Result<(), TableError> {
        // Its page says that it exists.
        if before.is_some_and(|at| self.is_untouched(at)) {
            return Ok(());
        }
        let values = self.known.primary.values_of(key);
        let key: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
        let (name, indexes) = (&self.now.name, &tx.space.indexes);
        let now = crate::rows::find_row(indexes, self.pages_now, self.now, name, &*key)?;
        let is_same = match (before, now) {
            (None, None) => true,
            (Some(before), Some(now)) => self.is_same(before, now)?,
            (None, Some(_)) => planted::is(Planted::AbsenceBelieved),
            (Some(_), None) => false,
        };
        match is_same {
            true => Ok(()),
            false => Err(self.conflict(ConflictWith::Row(values))),
        }
    }

    /// Checks the rows of the first pages, or of all.
    #[inline]
    fn check_scan(&self, extent: Extent, left: &Left) -> Result<(), TableError> {
        let runs_before = crate::table::used_runs(&self.before.extents, self.before.fresh);
        let mut runs_now = self.now.used_runs().into_iter().flatten();
        let (mut seen, mut buffer) = (0, Vec::new());
        for page in runs_before.into_iter().flatten() {
            if seen >= extent.front && !extent.all {
                return Ok(());
            }
            if runs_now.next() != Some(page) {
                return Err(self.conflict(ConflictWith::Scan));
            }
            let page = PageId(page);
            if extent.all && self.pages_before.is_as_live(page) {
                continue;
            }
            let before = self
                .pages_before
                .read(page.address(), PAGE_SIZE, &mut buffer)?;
            let slots_before = self.slots(before, true);
            seen += slots_before.len() as u64;
            if self.pages_before.is_as_live(page) {
                continue;
            }
            let layout = self.before.layout_of(before);
            if self.slots(page_bytes(self.pages_now, page), false) != slots_before {
                return Err(self.conflict(ConflictWith::Scan));
            }
            if !left.take(slots_before.len()) {
                return Err(self.conflict(ConflictWith::Scan));
            }
            for slot in slots_before {
                let at = layout.record(page, slot);
                if !self.is_same(at, at)? {
                    return Err(self.conflict(ConflictWith::Scan));
                }
            }
        }
        let mut more = runs_now.map(|page| page_bytes(self.pages_now, PageId(page)));
        match extent.all && more.any(|content| !self.slots(content, false).is_empty()) {
            true => Err(self.conflict(ConflictWith::Scan)),
            false => Ok(()),
        }
    }

    /// The slots with rows in a page; none if it is no page of rows.
    #[inline]
    fn slots(&self, content: &[u8], before: bool) -> Vec<usize> {
        if !PageLayout::has_rows(content) {
            return Vec::new();
        }
        let layout = match before {
            true => self.before.layout_of(content),
            false => self.now.layout_of(content),
        };
        layout.occupied(content).collect()
    }
}

/// The number of parts of indexes that a test's transactions have compared by walking over them, and the most keys of a
/// list.
#[cfg(test)]
pub(super) mod compared {
    std::thread_local! {
        pub static RANGES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
        pub static KEYS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
}
