//! Comparing the parts of indexes that were read.
//!
//! If they have few rows, these are walked then and now. If they have many, the places of changed rows are looked for in
//! them: a row whose place was or is in the part that was read makes a difference, wherever the part ends. So a part costs the
//! same whatever its length. A row that was removed and inserted again with the same values makes none.

use super::super::OpenRows;
use super::super::changed::Key;
use super::super::reads::{Extent, RangeRead};
use super::{Both, Left, MANY};
use crate::index_view::named;
use crate::secondary::Secondary;
use crate::transaction::Transaction;
use sardonyx_rows::key::KeyBytes;
use sardonyx_rows::schema::{Value, ValueRef};
use sardonyx_rows::{ConflictWith, TableError};
use sardonyx_storage::page::Address;

/// So many places of changed rows are kept at once.
const PLACES_MAX: usize = if cfg!(test) { 1000 } else { 100_000 };

/// The place of a changed row in an index: rows of one key are in the order of their addresses.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Moved {
    key: Key,
    at: Address,
    /// True if the row has it now, false if it had it.
    is_new: bool,
}

impl Moved {
    fn of(key: &[u8], at: Address, is_new: bool) -> Moved {
        Moved {
            key: Key::from(key),
            at,
            is_new,
        }
    }
}

impl OpenRows {
    /// Checks ranges of one index.
    #[inline]
    pub(super) fn check_ranges(
        &self,
        ranges: &[&RangeRead],
        left: &Left,
        tx: &Transaction<'_>,
    ) -> Result<(), TableError> {
        let Some(first) = ranges.first() else {
            return Ok(());
        };
        let both = self.both(first.table, tx)?;
        let rows = ranges.iter().map(|range| range.rows());
        let rows = rows.fold(0, usize::saturating_add);
        if rows > MANY {
            if both.has_same_pages() && self.are_untouched(&both, ranges, rows, left, tx)? {
                return Ok(());
            }
            if !left.take(rows) {
                return Err(both.differs(first));
            }
        }
        for range in ranges {
            both.check_range(range, tx, self)?;
        }
        Ok(())
    }

    /// Looks for the places of changed rows in ranges of one index, which have so many rows. False if that means more rows
    /// than the ranges have: comparing these takes no longer. False, too, if more rows have changed than one list holds,
    /// and the ranges are many: each would be searched in several lists.
    ///
    /// # Errors
    /// [`TableError::Conflict`] with the first difference.
    fn are_untouched(
        &self,
        both: &Both<'_>,
        ranges: &[&RangeRead],
        rows: usize,
        left: &Left,
        tx: &Transaction<'_>,
    ) -> Result<bool, TableError> {
        let index = named(&both.before.secondary, &both.known.name, &ranges[0].index)?;
        let most = match ranges.len() > MANY {
            true => rows.min(PLACES_MAX / 2),
            false => rows,
        };
        let counts = ranges.iter().any(|range| range.extent.is_none());
        let mut more = vec![0_i64; if counts { ranges.len() } else { 0 }];
        let mut look = |places: &mut Vec<Moved>| {
            #[cfg(test)]
            super::compared::KEYS.set(super::compared::KEYS.get().max(places.len()));
            places.sort_unstable();
            let sums = if counts { counted(places) } else { Vec::new() };
            for (number, range) in ranges.iter().enumerate() {
                let found = range.span.part_of(places.as_slice(), |moved| &moved.key);
                match range.extent {
                    _ if found.is_empty() => {}
                    None => more[number] += sums[found.end] - sums[found.start],
                    Some(extent) if both.reaches(extent, index, &places[found.clone()])? => {
                        return Err(both.differs(range));
                    }
                    Some(_) => {}
                }
            }
            places.clear();
            Ok::<_, TableError>(())
        };
        let mut places = Vec::new();
        let looked_at =
            self.each_moved(both, index, ranges[0].table, (most, left), tx, |moved| {
                places.push(moved);
                match places.len() < PLACES_MAX {
                    true => Ok(()),
                    false => look(&mut places),
                }
            })?;
        let Some(looked_at) = looked_at else {
            return Ok(false);
        };
        if !places.is_empty() {
            look(&mut places)?;
        }
        left.take(looked_at);
        match more.iter().position(|more| *more != 0) {
            None => Ok(true),
            Some(number) => Err(both.differs(ranges[number])),
        }
    }

    /// Calls `each` with the places in an index of rows that were changed, inserted or deleted. Returns how many rows it has
    /// looked at; none if these are more than `most`.
    fn each_moved(
        &self,
        both: &Both<'_>,
        index: &Secondary,
        table: u16,
        (most, left): (usize, &Left),
        tx: &Transaction<'_>,
        mut each: impl FnMut(Moved) -> Result<(), TableError>,
    ) -> Result<Option<usize>, TableError> {
        let (primary, shape) = (&both.known.primary, &index.what.shape);
        let (before, now) = (both.pages_before, both.pages_now);
        let most = most.min(left.0.get());
        let snapshot = &self.snapshot;
        snapshot.changed_rows_within(table, tx.view(), most, |was, is| {
            let (mut key_before, mut key_now) = (KeyBytes::default(), KeyBytes::default());
            if let Some(row) = &was {
                primary.of_row(before, row.address(), &mut key_before)?;
            }
            if let Some(row) = &is {
                primary.of_row(now, row.address(), &mut key_now)?;
            }
            // No other place has a row of this key.
            let is_one = was.is_some() && is.is_some() && *key_before == *key_now;
            if let Some(row) = &was {
                let at = row.address();
                let there = match is_one {
                    true => None,
                    false => both.place_now(&key_before, tx)?,
                };
                if !both.stays(Some(at), there)? {
                    let mut key = KeyBytes::default();
                    shape.of_row(before, at, &mut key)?;
                    each(Moved::of(&key, at, false))?;
                }
            }
            if let Some(row) = &is {
                let at = row.address();
                let there = match is_one {
                    true => None,
                    false => self.find_frozen(table, &key_now)?,
                };
                if !both.stays(there, Some(at))? {
                    let mut key = KeyBytes::default();
                    shape.of_row(now, at, &mut key)?;
                    each(Moved::of(&key, at, true))?;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
impl OpenRows {
    /// Walks over all ranges that were read.
    pub fn walk_ranges(&self, tx: &Transaction<'_>) -> Result<(), TableError> {
        for range in self.reads.borrow().ranges() {
            self.both(range.table, tx)?.check_range(range, tx, self)?;
        }
        Ok(())
    }
}

/// How many more rows there are now than before, up to each place.
fn counted(places: &[Moved]) -> Vec<i64> {
    let mut sums = Vec::with_capacity(places.len() + 1);
    let mut sum = 0;
    sums.push(sum);
    for moved in places {
        sum += if moved.is_new { 1 } else { -1 };
        sums.push(sum);
    }
    sums
}

impl Both<'_> {
    #[cold]
    fn differs(&self, range: &RangeRead) -> TableError {
        self.conflict(ConflictWith::Range {
            index: range.index.to_string(),
        })
    }

    /// True if one of these places in a range, which are in order, is in the part that was read.
    fn reaches(
        &self,
        extent: Extent,
        index: &Secondary,
        places: &[Moved],
    ) -> Result<bool, TableError> {
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return Ok(false);
        };
        if extent.all {
            return Ok(true);
        }
        // The rows up to the last that was read from an end, that one included.
        let key_of = |at: Address| {
            let mut key = KeyBytes::default();
            index.what.shape.of_row(self.pages_before, at, &mut key)?;
            Ok::<_, TableError>(key)
        };
        if let Some(at) = extent.front_at {
            let key = key_of(at)?;
            if (&*first.key, first.at) <= (&*key, at) {
                return Ok(true);
            }
        }
        if let Some(at) = extent.back_at {
            let key = key_of(at)?;
            if (&*last.key, last.at) >= (&*key, at) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if there is a row before and now, with the same values.
    fn stays(&self, before: Option<Address>, now: Option<Address>) -> Result<bool, TableError> {
        match (before, now) {
            (Some(before), Some(now)) => self.is_same(before, now),
            _ => Ok(false),
        }
    }

    /// The present place of the row with this primary key.
    fn place_now(&self, key: &[u8], tx: &Transaction<'_>) -> Result<Option<Address>, TableError> {
        let values = self.known.primary.values_of(key);
        let key: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
        let (name, indexes) = (&self.now.name, &tx.space.indexes);
        crate::rows::find_row(indexes, self.pages_now, self.now, name, &*key)
    }

    #[inline]
    fn check_range(
        &self,
        read: &RangeRead,
        tx: &Transaction<'_>,
        rows: &OpenRows,
    ) -> Result<(), TableError> {
        #[cfg(test)]
        super::compared::RANGES.set(super::compared::RANGES.get() + 1);
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
                false => Err(self.differs(read)),
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
                    _ => return Err(self.differs(read)),
                }
            }
        }
        Ok(())
    }
}
