//! Notes of an open transaction's reads of its snapshot, which are compared with the state at its end.

use super::keys::Keys;
use sardonyx_rows::key::Span;
use sardonyx_storage::page::Address;
use std::collections::BTreeMap;

/// The reads of a transaction.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// By table: all tables that were used in any way.
    tables: BTreeMap<u16, OfTable>,
    /// Parts of indexes.
    ranges: Vec<RangeRead>,
}

/// Notes of a table, apart from those of index ranges.
#[derive(Debug, Default)]
struct OfTable {
    /// Keys that were looked up, whether there was a row or none.
    keys: Keys,
    /// The part of its rows that was scanned.
    scan: Option<Extent>,
    /// True if its rows were counted.
    counted: bool,
}

/// The extent of a read of rows in an order: so many of the first and of the last ones, or all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extent {
    pub front: u64,
    pub back: u64,
    /// In an index, the last row that was read from either end.
    pub front_at: Option<Address>,
    pub back_at: Option<Address>,
    /// True if the absence of more rows was read, too.
    pub all: bool,
}

impl Extent {
    /// The extent of all rows, of which there are so many.
    #[inline]
    pub fn of_all(rows: usize) -> Self {
        Extent {
            front: rows as u64,
            all: true,
            ..Extent::default()
        }
    }

    #[inline]
    fn add(&mut self, other: Extent) {
        if other.front > self.front {
            (self.front, self.front_at) = (other.front, other.front_at);
        }
        if other.back > self.back {
            (self.back, self.back_at) = (other.back, other.back_at);
        }
        self.all |= other.all;
    }
}

/// A part of an index that was read.
#[derive(Debug)]
pub(super) struct RangeRead {
    pub table: u16,
    pub index: Box<str>,
    pub span: Span,
    /// `None` if the rows were only counted.
    pub extent: Option<Extent>,
    /// The rows that were counted.
    counted: u64,
}

/// To count so many rows of an index takes as long as to compare one.
const COUNTED_ROWS: u64 = 32;

impl RangeRead {
    /// The number of rows that are compared for it, and one for the look at its beginning.
    #[inline]
    pub fn rows(&self) -> usize {
        let rows = match self.extent {
            Some(extent) => extent.front + extent.back,
            None => self.counted / COUNTED_ROWS,
        };
        usize::try_from(rows)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
    }
}

impl Reads {
    /// The place of a key's row, which was looked up before.
    #[inline]
    pub fn key(&self, table: u16, key: &[u8]) -> Option<Option<Address>> {
        self.tables.get(&table)?.keys.get(key)
    }

    /// Notes a key that was looked up for the first time.
    #[inline]
    pub fn note_key(&mut self, table: u16, key: &[u8], at: Option<Address>) {
        self.table(table).keys.insert(key, at);
    }

    /// Notes a part of an index before it is read. Returns its number, to note the extent of the read.
    #[inline]
    pub fn note_range(&mut self, table: u16, index: &str, span: &Span) -> usize {
        self.table(table);
        self.ranges.push(RangeRead {
            table,
            index: index.into(),
            span: span.clone(),
            extent: Some(Extent::default()),
            counted: 0,
        });
        self.ranges.len() - 1
    }

    /// Notes a count of the rows in a part of an index, which was so many.
    #[inline]
    pub fn note_count_of_range(&mut self, table: u16, index: &str, span: &Span, counted: u64) {
        self.table(table);
        self.ranges.push(RangeRead {
            table,
            index: index.into(),
            span: span.clone(),
            extent: None,
            counted,
        });
    }

    #[inline]
    pub fn note_extent(&mut self, range: usize, extent: Extent) {
        if let Some(RangeRead {
            extent: Some(there),
            ..
        }) = self.ranges.get_mut(range)
        {
            there.add(extent);
        }
    }

    #[inline]
    pub fn note_scan(&mut self, table: u16, extent: Extent) {
        let scan = &mut self.table(table).scan;
        scan.get_or_insert_default().add(extent);
    }

    /// Notes a count of a table's rows.
    #[inline]
    pub fn note_count(&mut self, table: u16) {
        self.table(table).counted = true;
    }

    /// Notes that a table was used.
    #[inline]
    fn table(&mut self, table: u16) -> &mut OfTable {
        self.tables.entry(table).or_default()
    }

    /// All tables that were used in any way, with the keys that were looked up.
    #[inline]
    pub fn keys(&self) -> impl Iterator<Item = (u16, &Keys)> {
        let tables = self.tables.iter();
        tables.map(|(table, read)| (*table, &read.keys))
    }

    #[cfg(test)]
    #[inline]
    pub fn ranges(&self) -> &[RangeRead] {
        &self.ranges
    }

    /// The parts of each index.
    #[inline]
    pub fn ranges_by_index(&self) -> impl Iterator<Item = Vec<&RangeRead>> {
        let mut indexes: BTreeMap<_, Vec<&RangeRead>> = BTreeMap::new();
        for range in &self.ranges {
            let of_index = indexes.entry((range.table, &*range.index));
            of_index.or_default().push(range);
        }
        indexes.into_values()
    }

    #[inline]
    pub fn scans(&self) -> impl Iterator<Item = (u16, Extent)> + '_ {
        let tables = self.tables.iter();
        tables.filter_map(|(table, read)| Some((*table, read.scan?)))
    }

    #[inline]
    pub fn counts(&self) -> impl Iterator<Item = u16> + '_ {
        let counted = self.tables.iter().filter(|(_, read)| read.counted);
        counted.map(|(table, _)| *table)
    }
}
