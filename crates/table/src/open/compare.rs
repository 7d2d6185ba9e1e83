//! Comparing an open transaction's reads with the state at its end.
//!
//! Pages that did not change since the snapshot are skipped; others are compared row by row, by values. So two
//! transactions on one page do not conflict, and neither does a value that returned to its former one. That is
//! right for values outside of rows, too: each change of one changes the page of its row (`crate::changed_rows`).

use super::changed::Key;
use super::keys::Keys;
use super::planted::{self, Planted};
use super::reads::{Extent, RangeRead};
use super::{Known, OpenRows};
use crate::changed_rows::is_same;
use crate::index_view::named;
use crate::snapshot::FrozenTable;
use crate::table::{TableState, page_bytes};
use crate::transaction::Transaction;
use sardonyx_rows::key::{KeyBytes, KeyShape};
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::schema::{Value, ValueRef};
use sardonyx_rows::{Conflict, ConflictWith, RowRef, TableError};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, PageSnapshot};
use std::sync::Arc;

/// Beyond this number of keys of a table, or rows of an index, only those on changed pages are compared.
const MANY: usize = 500;
/// So many keys of changed rows are kept at once.
const KEYS_MAX: usize = if cfg!(test) { 1000 } else { 100_000 };

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
        let is_read = |table: u16| !self.is_created(table);
        for (table, keys) in reads.keys().filter(|(table, _)| is_read(*table)) {
            self.check_schema(table, tx)?;
            self.check_keys(table, keys, tx)?;
        }
        let of_others = |ranges: &Vec<&RangeRead>| {
            let compares = !planted::is(Planted::RangesBelieved);
            compares && ranges.iter().all(|range| is_read(range.table))
        };
        for ranges in reads.ranges_by_index().filter(of_others) {
            self.check_ranges(&ranges, tx)?;
        }
        for (table, extent) in reads.scans().filter(|(table, _)| is_read(*table)) {
            self.both(table, tx)?.check_scan(extent)?;
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
    fn check_keys(&self, table: u16, keys: &Keys, tx: &Transaction<'_>) -> Result<(), TableError> {
        let both = self.both(table, tx)?;
        if keys.len() <= MANY || !both.has_same_pages() {
            let mut keys = keys.iter();
            return keys.try_for_each(|(key, at)| both.check_key(key, at, tx));
        }
        let primary = &both.known.primary;
        let mut check = |key: &[u8]| match keys.get(key) {
            Some(at) => both.check_key(key, at, tx),
            None => Ok(()),
        };
        match self.each_changed_key(primary, table, keys.len(), tx, &mut check)? {
            true => Ok(()),
            false => keys.iter().try_for_each(|(key, _)| check(key)),
        }
    }

    /// Calls `each` with the keys that changed rows had, or have now. It ends early, and returns false, if that means
    /// more than `most` rows.
    #[inline]
    fn each_changed_key(
        &self,
        shape: &KeyShape,
        table: u16,
        most: usize,
        tx: &Transaction<'_>,
        each: &mut dyn FnMut(&[u8]) -> Result<(), TableError>,
    ) -> Result<bool, TableError> {
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

    /// Checks ranges of one index. If they have many rows together, only those are compared in which a changed row had
    /// its place, or has it now: the others are unchanged.
    #[inline]
    fn check_ranges(&self, ranges: &[&RangeRead], tx: &Transaction<'_>) -> Result<(), TableError> {
        let Some(first) = ranges.first() else {
            return Ok(());
        };
        let both = self.both(first.table, tx)?;
        let rows = ranges.iter().map(|range| range.rows());
        let rows = rows.fold(0, usize::saturating_add);
        let touched = match rows > MANY && both.has_same_pages() {
            true => self.touched(&both, first, ranges, rows, tx)?,
            false => None,
        };
        for (place, range) in ranges.iter().enumerate() {
            if touched.as_ref().is_none_or(|touched| touched[place]) {
                both.check_range(range, tx, self)?;
            }
        }
        Ok(())
    }

    /// The ranges of one index in which a changed row had its place, or has it now. `None` if that means more rows than
    /// the ranges have: comparing these takes no longer. `None`, too, if more rows have changed than one list holds, and
    /// the ranges are many: each would be searched in several lists.
    #[inline]
    fn touched(
        &self,
        both: &Both<'_>,
        first: &RangeRead,
        ranges: &[&RangeRead],
        rows: usize,
        tx: &Transaction<'_>,
    ) -> Result<Option<Vec<bool>>, TableError> {
        let index = named(&both.before.secondary, &both.known.name, &first.index)?;
        let most = match ranges.len() > MANY {
            true => rows.min(KEYS_MAX / 2),
            false => rows,
        };
        let mut touched = vec![false; ranges.len()];
        let mut look = |keys: &mut Vec<Key>| {
            #[cfg(test)]
            compared::KEYS.set(compared::KEYS.get().max(keys.len()));
            keys.sort_unstable();
            for (range, touched) in ranges.iter().zip(&mut touched) {
                *touched = *touched || range.span.has_one_of(keys);
            }
            keys.clear();
        };
        let mut keys = Vec::new();
        let shape = &index.what.shape;
        let is_all = self.each_changed_key(shape, first.table, most, tx, &mut |key| {
            keys.push(Key::from(key));
            if keys.len() >= KEYS_MAX {
                look(&mut keys);
            }
            Ok(())
        })?;
        look(&mut keys);
        Ok(is_all.then_some(touched))
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

    #[inline]
    fn check_range(
        &self,
        read: &RangeRead,
        tx: &Transaction<'_>,
        rows: &OpenRows,
    ) -> Result<(), TableError> {
        #[cfg(test)]
        compared::RANGES.set(compared::RANGES.get() + 1);
        let differs = || ConflictWith::Range {
            index: read.index.to_string(),
        };
        let (from, to) = read.span.edges();
        let index_before = named(&self.before.secondary, &self.known.name, &read.index)?;
        let index_now = named(&self.now.secondary, &self.known.name, &read.index)?;
        let (nodes_before, nodes_now) = (&*rows.snapshot.indexes, tx.space.indexes.bytes());
        let places_before = index_before.walk(nodes_before, self.pages_before, from, to)?;
        let places_now = index_now.walk(nodes_now, self.pages_now, from, to)?;
        let Some(extent) = read.extent else {
            let (first, last) = places_before;
            let before = index_before.tree.count(nodes_before, first, last);
            let (first, last) = places_now;
            let Ok(now) = index_now.tree.count(nodes_now, first, last);
            return match before.map_err(TableError::from)? == now {
                true => Ok(()),
                false => Err(self.conflict(differs())),
            };
        };
        for (from_back, count) in [(false, extent.front), (true, extent.back)] {
            let is_all = extent.all && !from_back;
            let mut before = index_before.cursor(places_before);
            let mut now = index_now.cursor(places_now);
            let mut looked_at = 0;
            while is_all || (looked_at < count && !extent.all) {
                looked_at += 1;
                let (then, there) = match from_back {
                    true => (
                        before.next_back(nodes_before, |_| {}),
                        now.next_back(nodes_now, |_| {}),
                    ),
                    false => (
                        before.next(nodes_before, |_| {}),
                        now.next(nodes_now, |_| {}),
                    ),
                };
                let Ok(there) = there;
                match (then.map_err(TableError::from)?, there) {
                    (None, None) => break,
                    (Some(then), Some(there)) if self.is_same(then, there)? => {}
                    _ => return Err(self.conflict(differs())),
                }
            }
        }
        Ok(())
    }

    /// Checks the rows of the first pages, or of all.
    #[inline]
    fn check_scan(&self, extent: Extent) -> Result<(), TableError> {
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
