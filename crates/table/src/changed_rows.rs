//! The rows of a table that have changed since a snapshot, up to now or to a later snapshot.
//!
//! Pages that did not change since the snapshot are skipped. That relies on an invariant: every change of a row, even
//! of values outside of it alone, changes its page.

use crate::snapshot::SpaceSnapshot;
use crate::space::View;
use crate::table::used_runs;
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::row::same;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{Conflict, ConflictWith, RowRef, TableError};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, PageSnapshot};
use std::collections::BTreeMap;
use std::ops::Range;

/// To pass over so many pages that have not changed takes as long as to look at a row, about.
const PAGES_OF_ROW: usize = 64;

/// A state of a table.
struct Side<'a, P: ?Sized> {
    pages: &'a P,
    schema: &'a Schema,
    name: &'a str,
    life: u32,
    layout_of: &'a dyn Fn(&[u8]) -> PageLayout,
    runs: Vec<Range<u64>>,
}

impl<'a, P> Side<'a, P>
where
    P: PageRead + ?Sized,
    TableError: From<P::Error>,
{
    /// The rows of a page, by their slots.
    #[inline]
    fn rows(&self, page: PageId) -> Result<BTreeMap<u64, RowRef<'a, P>>, TableError> {
        let mut buffer = Vec::new();
        let content = self.pages.read(page.address(), PAGE_SIZE, &mut buffer)?;
        if !PageLayout::has_rows(content) {
            return Ok(BTreeMap::new());
        }
        let layout = (self.layout_of)(content);
        let mut rows = BTreeMap::new();
        for slot in layout.occupied(content) {
            let at = layout.record(page, slot);
            let row = RowRef::new(self.pages, self.schema, self.name, at)?;
            rows.insert(at.0, row);
        }
        Ok(rows)
    }

    #[inline]
    fn pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().cloned().flatten()
    }
}

impl SpaceSnapshot {
    /// Calls `each` with every row of a table that may have changed, as it was and as it is now. The table has the
    /// same columns.
    ///
    /// # Errors
    /// The error that `each` returns; [`TableError::Conflict`] if all rows were replaced at once; an error if there is
    /// no such table, or the snapshot was ended.
    pub fn changed_rows<E: From<TableError>>(
        &self,
        table: u16,
        now: View<'_>,
        each: impl FnMut(Option<RowRef<'_, PageSnapshot>>, Option<RowRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.changed_rows_within(table, now, usize::MAX, each)
            .map(drop)
    }

    /// The same, unless that is to look at more than `most` rows: then it ends before. Otherwise it returns how many rows it
    /// has looked at.
    ///
    /// # Errors
    /// As [`SpaceSnapshot::changed_rows`].
    pub(crate) fn changed_rows_within<E: From<TableError>>(
        &self,
        table: u16,
        now: View<'_>,
        most: usize,
        each: impl FnMut(Option<RowRef<'_, PageSnapshot>>, Option<RowRef<'_>>) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        let unknown = || TableError::UnknownHandle { number: table };
        let state = now.state_of(table).ok_or_else(unknown)?;
        let layout_of = |page: &[u8]| state.layout_of(page);
        let now = Side {
            pages: now.pages(),
            schema: &state.schema,
            name: &state.name,
            life: state.life,
            layout_of: &layout_of,
            runs: state.used_runs(),
        };
        self.compare(table, &now, most, is_same, each)
    }

    /// The same of a later snapshot.
    ///
    /// # Errors
    /// As [`SpaceSnapshot::changed_rows`].
    pub fn rows_changed_until<E: From<TableError>>(
        &self,
        table: u16,
        later: &SpaceSnapshot,
        each: impl FnMut(
            Option<RowRef<'_, PageSnapshot>>,
            Option<RowRef<'_, PageSnapshot>>,
        ) -> Result<(), E>,
    ) -> Result<(), E> {
        let there = later.frozen(table)?;
        let layout_of = |page: &[u8]| there.state.layout_of(page);
        let now = Side {
            pages: &*later.rows,
            schema: &there.state.schema,
            name: there.name,
            life: there.state.life,
            layout_of: &layout_of,
            runs: used_runs(&there.state.extents, there.state.fresh),
        };
        self.compare(table, &now, usize::MAX, is_same, each)
            .map(drop)
    }

    fn compare<P, E>(
        &self,
        table: u16,
        now: &Side<'_, P>,
        most: usize,
        is_same: impl Fn(&Schema, &RowRef<'_, PageSnapshot>, &RowRef<'_, P>) -> Result<bool, TableError>,
        mut each: impl FnMut(Option<RowRef<'_, PageSnapshot>>, Option<RowRef<'_, P>>) -> Result<(), E>,
    ) -> Result<Option<usize>, E>
    where
        P: PageRead + ?Sized,
        TableError: From<P::Error>,
        E: From<TableError>,
    {
        let there = self.frozen(table)?;
        let layout_of = |page: &[u8]| there.state.layout_of(page);
        let before = Side {
            pages: &*self.rows,
            schema: &there.state.schema,
            name: there.name,
            life: there.state.life,
            layout_of: &layout_of,
            runs: used_runs(&there.state.extents, there.state.fresh),
        };
        let other_content = || {
            let table = before.name.to_string();
            TableError::Conflict(Box::new(Conflict::new(table, ConflictWith::Scan)))
        };
        if before.life != now.life {
            return Err(other_content().into());
        }
        let mut pages_before = before.pages().peekable();
        let mut looked_at = 0;
        for (count, page) in now.pages().enumerate() {
            if looked_at + count / PAGES_OF_ROW > most {
                return Ok(None);
            }
            // The earlier pages are the first ones.
            let was_there = pages_before.next_if_eq(&page).is_some();
            let page = PageId(page);
            if was_there && self.rows.is_as_live(page) {
                continue;
            }
            let mut rows_before = match was_there {
                true => before.rows(page)?,
                false => BTreeMap::new(),
            };
            let rows_now = now.rows(page)?;
            looked_at += 1 + rows_before.len().max(rows_now.len());
            #[cfg(test)]
            walked::ROWS.set(walked::ROWS.get().max(looked_at));
            for (at, row) in rows_now {
                match rows_before.remove(&at) {
                    Some(was) if is_same(before.schema, &was, &row)? => {}
                    was => each(was, Some(row))?,
                }
            }
            for (_, was) in rows_before {
                each(Some(was), None)?;
            }
        }
        match pages_before.next() {
            None => Ok(Some(looked_at)),
            // Pages of a table only become more.
            Some(_) => Err(other_content().into()),
        }
    }
}

/// True if two rows have the same values in all columns.
pub(crate) fn is_same<A, B>(
    schema: &Schema,
    one: &RowRef<'_, A>,
    other: &RowRef<'_, B>,
) -> Result<bool, TableError>
where
    A: PageRead + ?Sized,
    B: PageRead + ?Sized,
    TableError: From<A::Error>,
    TableError: From<B::Error>,
{
    for (number, column) in schema.live_columns() {
        if !same(column.kind, one.get_at(number)?, other.get_at(number)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The most rows, and pages, that a test's comparisons have looked at.
#[cfg(test)]
pub(crate) mod walked {
    std::thread_local! {
        pub static ROWS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
}
