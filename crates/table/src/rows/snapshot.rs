//! The rows of a table in a snapshot.

use super::key::{PlainKey, check_key, columns_key};
use crate::index_view::{Origin, TreeEntries, named};
use crate::secondary::Secondary;
use crate::snapshot::{FrozenTable, SpaceSnapshot};
use crate::table::used_runs;
use sardonyx_base::error::Error;
use sardonyx_rows::key::KeyShape;
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::read::{EachRow, ReadRows, ScanPlace, ScanRows};
use sardonyx_rows::schema::{Schema, Value};
use sardonyx_rows::{
    AnyRow, Found, Index, KeyValues, Relations, RowForm, RowRef, Rows, TableError,
};
use sardonyx_storage::catalogue::Definitions;
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, PageSnapshot, SnapshotEnded};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Keys up to this length are compared without memory of their own.
const SHORT_KEY_BYTES_MAX: usize = 32;

/// A table of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    pub snapshot: &'a SpaceSnapshot,
    pub state: &'a FrozenTable,
    pub name: &'a str,
}

impl SpaceSnapshot {
    /// The rows of the table with this name, to read by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    #[inline]
    pub fn rows(&self, table: &str) -> Result<Rows<&SpaceSnapshot>, Error> {
        Rows::named(self, table)
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    #[inline]
    pub fn rows_of(&self, number: u16) -> Result<Rows<&SpaceSnapshot>, Error> {
        Rows::numbered(self, number)
    }

    /// The number of pages that a table uses; 0 if there is no such table. Parts of them can be scanned separately,
    /// from [`ScanPlace::at_page`] until [`ScanRows::place`] is on the next part's first page.
    #[inline]
    pub fn pages_of(&self, number: u16) -> u64 {
        let state = self
            .tables
            .get(usize::from(number))
            .and_then(Option::as_ref);
        let runs = state.map(|table| used_runs(&table.extents, table.fresh));
        runs.into_iter()
            .flatten()
            .map(|run| run.end - run.start)
            .sum()
    }

    /// The schema of a table.
    #[inline]
    pub(crate) fn schema_of(&self, number: u16) -> Option<&Arc<Schema>> {
        let table = self.tables.get(usize::from(number))?.as_ref()?;
        Some(&table.schema)
    }

    #[inline]
    pub(crate) fn rows_in(&self, number: u16) -> Result<u64, TableError> {
        Ok(self.frozen(number)?.state.len)
    }

    /// The ordered indexes of a table.
    #[inline]
    pub(crate) fn secondary_of(&self, number: u16) -> Result<&[Secondary], TableError> {
        Ok(&self.frozen(number)?.state.secondary)
    }

    /// All rows of a table, from its first page on.
    #[inline]
    pub(crate) fn scan_of(&self, number: u16) -> Result<SnapshotScan<'_>, TableError> {
        SnapshotScan::new(self.frozen(number)?, ScanPlace::default())
    }

    #[inline]
    pub(crate) fn frozen(&self, number: u16) -> Result<Table<'_>, TableError> {
        let place = usize::from(number);
        match (self.definitions().get(place), self.tables.get(place)) {
            (Some(definition), Some(Some(state))) => Ok(Table {
                snapshot: self,
                state,
                name: &definition.name,
            }),
            _ => Err(TableError::UnknownHandle { number }),
        }
    }
}

impl<'a> ReadRows for &'a SpaceSnapshot {
    type Row<'r>
        = RowRef<'a, PageSnapshot>
    where
        Self: 'r;
    type Scan<'r>
        = SnapshotScan<'a>
    where
        Self: 'r;
    type Entries<'r>
        = TreeEntries<'a, PageSnapshot>
    where
        Self: 'r;

    #[inline]
    fn definitions(&self) -> &Definitions {
        SpaceSnapshot::definitions(self)
    }

    #[inline]
    fn relations(&self) -> &Relations {
        &self.relations
    }

    #[inline]
    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        Some(&self.frozen(table).ok()?.state.schema)
    }

    #[inline]
    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        Ok(self.frozen(table)?.state.len)
    }

    #[inline]
    fn rows_about(&self, table: u16) -> Option<u64> {
        self.rows_in(table).ok()
    }

    #[inline]
    fn bytes_about(&self, table: u16) -> Option<u64> {
        self.schema_of(table)?;
        Some(self.pages_of(table) * PAGE_SIZE as u64)
    }

    #[inline]
    fn get_row(
        &self,
        table: u16,
        key: &[Value],
    ) -> Result<Option<RowRef<'a, PageSnapshot>>, Error> {
        self.row_by_key(table, key)
    }

    fn row_by_key(
        &self,
        table: u16,
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<RowRef<'a, PageSnapshot>>, Error> {
        let table = self.frozen(table)?;
        let found = table.place_of(key)?;
        Ok(found.map(|at| table.found(at).row()).transpose()?)
    }

    #[inline]
    fn scan_rows(&self, table: u16, from: ScanPlace) -> Result<SnapshotScan<'a>, Error> {
        Ok(SnapshotScan::new(self.frozen(table)?, from)?)
    }

    #[inline]
    fn row_index(
        &self,
        table: u16,
        name: &str,
    ) -> Result<Index<TreeEntries<'a, PageSnapshot>>, Error> {
        Ok(self.frozen(table)?.index(name)?)
    }
}

impl<'a> Table<'a> {
    /// The place of the row with this key: the values of the primary key's columns, in its order.
    pub fn place_of(&self, key: &(impl KeyValues + ?Sized)) -> Result<Option<Address>, TableError> {
        let schema = &self.state.schema;
        if let Some(shape) = &self.state.hashed_key {
            return self.place_of_columns(shape, key);
        }
        let Some(plain) = PlainKey::encode(schema, self.name, key)? else {
            check_key(schema, self.name, key)?;
            let index = named(&self.state.secondary, self.name, &schema.primary.name)?;
            let (nodes, rows) = (&*self.snapshot.indexes, &*self.snapshot.rows);
            let key = index.what.shape.of_values(key);
            let key = key.map_err(|bad| index.bad_key(bad, self.name, Some(schema)))?;
            return index.find(nodes, rows, &key.bytes);
        };
        self.place_of_plain(plain.bytes())
    }

    /// The same of a key whose hashed bytes are made of its columns.
    fn place_of_columns(
        &self,
        shape: &KeyShape,
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<Address>, TableError> {
        let (table, rows) = (self.state, &*self.snapshot.rows);
        let key = columns_key(shape, &table.schema, self.name, key)?;
        let (nodes, hash) = (&*self.snapshot.indexes, table.hash.of(&key));
        let mut failed = Ok(());
        let found = table.shards.find(nodes, hash, |at| {
            let is_it = shape.shares(rows, at, &key);
            Ok(is_it.unwrap_or_else(|error| {
                failed = Err(error);
                // The search ends.
                true
            }))
        });
        failed?;
        Ok(found?)
    }

    /// The place of the row with this key, encoded as in the row.
    #[inline]
    pub fn place_of_plain(&self, plain: &[u8]) -> Result<Option<Address>, TableError> {
        let (table, rows) = (self.state, &self.snapshot.rows);
        let (mut short, mut buffer) = ([0; SHORT_KEY_BYTES_MAX], Vec::new());
        let mut found = None;
        let hash = table.hash.of(plain);
        table
            .shards
            .find(&*self.snapshot.indexes, hash, |at| {
                let there = Address(at.0 + table.key_offset as u64);
                let is_it = match short.get_mut(..plain.len()) {
                    Some(short) => {
                        rows.read_into(there, short)?;
                        *short == *plain
                    }
                    None => rows.read(there, plain.len(), &mut buffer)? == plain,
                };
                found = is_it.then_some(at).or(found);
                Ok(is_it)
            })
            .map_err(TableError::from)?;
        Ok(found)
    }

    /// An ordered index.
    pub fn index<T: RowForm<Found<'a, PageSnapshot>>>(
        &self,
        name: &str,
    ) -> Result<Index<TreeEntries<'a, PageSnapshot>, T>, TableError> {
        Index::new(TreeEntries {
            nodes: &*self.snapshot.indexes,
            rows: &*self.snapshot.rows,
            index: named(&self.state.secondary, self.name, name)?,
            schema: &self.state.schema,
            table: self.name,
            origin: Origin::default(),
        })
    }

    /// A row of it.
    #[inline]
    pub fn found(&self, at: Address) -> Found<'a, PageSnapshot> {
        Found {
            pages: &self.snapshot.rows,
            schema: &self.state.schema,
            table: self.name,
            at,
        }
    }
}

/// The rows of a table in a snapshot, in no particular order. The first error ends the scan.
pub struct SnapshotScan<'a, T: RowForm<Found<'a, PageSnapshot>> = AnyRow> {
    table: Table<'a>,
    columns: T::Columns,
    runs: VecDeque<Range<u64>>,
    place: ScanPlace,
    waiting: VecDeque<Address>,
    buffer: Vec<u8>,
    ended: bool,
}

impl<'a, T: RowForm<Found<'a, PageSnapshot>>> SnapshotScan<'a, T> {
    #[inline]
    pub(crate) fn new(table: Table<'a>, from: ScanPlace) -> Result<Self, TableError> {
        let runs = used_runs(&table.state.extents, table.state.fresh);
        let mut scan = SnapshotScan {
            table,
            columns: T::columns_of(&table.state.schema, table.name)?,
            runs: runs.into(),
            place: ScanPlace::at_page(from.page()),
            waiting: VecDeque::new(),
            buffer: Vec::new(),
            ended: false,
        };
        // Rows of the page that the earlier scan returned.
        for _ in 0..from.rows() {
            scan.next_address();
        }
        Ok(scan)
    }

    /// The place to go on from with another scan of the same snapshot.
    pub fn place(&self) -> ScanPlace {
        self.place
    }

    /// The page with this number among the used ones.
    fn page(&self, number: u64) -> Option<PageId> {
        let mut before = 0;
        for run in &self.runs {
            let length = run.end - run.start;
            if number < before + length {
                return Some(PageId(run.start + number - before));
            }
            before += length;
        }
        None
    }

    /// Reads pages until rows of one wait. Returns false at the end.
    fn fill(&mut self) -> Result<bool, SnapshotEnded> {
        while self.waiting.is_empty() && !self.ended {
            if self.place.rows() > 0 {
                self.place = ScanPlace::at_page(self.place.page() + 1);
            }
            let Some(page) = self.page(self.place.page()) else {
                return Ok(false);
            };
            let (table, pages) = (self.table.state, &self.table.snapshot.rows);
            // A page of values is not copied.
            let content = match pages.word(PageLayout::table_word(page)) {
                Ok(word) if !PageLayout::is_of_rows(word) => Ok(&[][..]),
                Ok(_) => pages.read(page.address(), PAGE_SIZE, &mut self.buffer),
                Err(error) => Err(error),
            };
            match content {
                Ok(content) if !content.is_empty() => {
                    let layout = table.layout_of(content);
                    let occupied = layout.occupied(content);
                    self.waiting
                        .extend(occupied.map(|slot| layout.record(page, slot)));
                }
                Ok(_) => {}
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
            if self.waiting.is_empty() {
                self.place = ScanPlace::at_page(self.place.page() + 1);
            }
        }
        Ok(!self.waiting.is_empty())
    }

    #[inline]
    pub(crate) fn next_address(&mut self) -> Option<Result<Address, SnapshotEnded>> {
        if self.waiting.is_empty()
            && let Err(ended) = self.fill()
        {
            return Some(Err(ended));
        }
        let address = self.waiting.pop_front()?;
        self.place = ScanPlace::new(self.place.page(), self.place.rows() + 1);
        Some(Ok(address))
    }

    /// The rows of the next page, borrowed from the copy that the scan has, passed to `each` until it wants no more.
    /// Returns false then, `None` at the end.
    #[inline]
    pub(crate) fn next_page<E: From<Error>>(
        &mut self,
        each: &mut impl FnMut(RowRef<'_, PageSnapshot>) -> Result<bool, E>,
    ) -> Result<Option<bool>, E> {
        if !self.fill().map_err(TableError::from).map_err(Error::from)? {
            return Ok(None);
        }
        let Table {
            snapshot,
            state,
            name,
        } = self.table;
        let (pages, schema) = (&*snapshot.rows, &*state.schema);
        let mut given = 0;
        let mut more = Ok(true);
        for address in &self.waiting {
            given += 1;
            more = each(RowRef::in_page(pages, schema, name, *address, &self.buffer));
            if !matches!(more, Ok(true)) {
                break;
            }
        }
        self.waiting.drain(..given);
        self.place = ScanPlace::new(self.place.page(), self.place.rows() + given);
        more.map(Some)
    }
}

impl<'a, T: RowForm<Found<'a, PageSnapshot>>> SnapshotScan<'a, T> {
    #[inline]
    pub(crate) fn next_row(&mut self) -> Result<Option<T::Item>, TableError> {
        let Some(address) = self.next_address() else {
            return Ok(None);
        };
        let address = address.map_err(TableError::from);
        let row = address.and_then(|at| {
            let page = &self.buffer[..];
            T::give_of_page(self.table.found(at), page, &self.columns)
        });
        if row.is_err() {
            self.ended = true;
            self.waiting.clear();
        }
        row.map(Some)
    }
}

impl<'a, T: RowForm<Found<'a, PageSnapshot>>> Iterator for SnapshotScan<'a, T> {
    type Item = Result<T::Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().map_err(Error::from).transpose()
    }
}

impl<'a, T: RowForm<Found<'a, PageSnapshot>>> ScanRows for SnapshotScan<'a, T> {
    type Row = T::Item;

    fn place(&self) -> Option<ScanPlace> {
        Some(self.place)
    }

    fn walk<E: From<Error>>(&mut self, each: &mut impl EachRow<E>) -> Result<bool, E> {
        while let Some(more) = self.next_page(&mut |row| each.take(&row))? {
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<'a, T: RowForm<Found<'a, PageSnapshot>>> fmt::Debug for SnapshotScan<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SnapshotScan of {:?} at {:?}",
            self.table.name, self.place
        )
    }
}
