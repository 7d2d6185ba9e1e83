//! The rows of a table in a snapshot.

use super::index::RowIndex;
use super::key::{PlainKey, check_key};
use crate::index_view::{Reader, named};
use crate::secondary::Secondary;
use crate::snapshot::{FrozenTable, SpaceSnapshot};
use crate::table::used_runs;
use sardonyx_base::error::Error;
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::read::{ReadRows, ScanPlace, ScanRows};
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{RowRef, Rows, TableError};
use sardonyx_storage::catalogue::Definition;
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, PageSnapshot, SnapshotEnded};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A table of a snapshot.
#[derive(Clone, Copy, Debug)]
struct Table<'a> {
    snapshot: &'a SpaceSnapshot,
    state: &'a FrozenTable,
    name: &'a str,
}

impl SpaceSnapshot {
    /// The rows of the table with this name, to read by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows(&self, table: &str) -> Result<Rows<&SpaceSnapshot>, Error> {
        Rows::named(self, table)
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows_of(&self, number: u16) -> Result<Rows<&SpaceSnapshot>, Error> {
        Rows::numbered(self, number)
    }

    /// How many pages a table uses: parts of them can be scanned by themselves, from
    /// [`ScanPlace::at_page`] to where [`ScanRows::place`] is on the next part's first page. None if there is no such
    /// table.
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

    /// What the rows of a table are.
    pub(crate) fn schema_of(&self, number: u16) -> Option<&Arc<Schema>> {
        let table = self.tables.get(usize::from(number))?.as_ref()?;
        Some(&table.schema)
    }

    /// How many rows a table has.
    pub(crate) fn rows_in(&self, number: u16) -> Result<u64, TableError> {
        Ok(self.frozen(number)?.state.len)
    }

    /// The ordered indexes of a table.
    pub(crate) fn secondary_of(&self, number: u16) -> Result<&[Secondary], TableError> {
        Ok(&self.frozen(number)?.state.secondary)
    }

    /// The row whose key columns have these values.
    pub(crate) fn row_with_key(
        &self,
        number: u16,
        key: &[ValueRef<'_>],
    ) -> Result<Option<RowRef<'_, PageSnapshot>>, TableError> {
        self.frozen(number)?.get(key)
    }

    /// All rows of a table, from its first page on.
    pub(crate) fn scan_of(&self, number: u16) -> Result<SnapshotScan<'_>, TableError> {
        Ok(SnapshotScan::new(
            self.frozen(number)?,
            ScanPlace::default(),
        ))
    }

    fn frozen(&self, number: u16) -> Result<Table<'_>, TableError> {
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
    type Index<'r>
        = RowIndex<'a, PageSnapshot>
    where
        Self: 'r;

    fn definitions(&self) -> &[Definition] {
        SpaceSnapshot::definitions(self)
    }

    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        Some(&self.frozen(table).ok()?.state.schema)
    }

    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        Ok(self.frozen(table)?.state.len)
    }

    fn get_row(
        &self,
        table: u16,
        key: &[Value],
    ) -> Result<Option<RowRef<'a, PageSnapshot>>, Error> {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        Ok(self.frozen(table)?.get(&key)?)
    }

    fn scan_rows(&self, table: u16, from: ScanPlace) -> Result<SnapshotScan<'a>, Error> {
        Ok(SnapshotScan::new(self.frozen(table)?, from))
    }

    fn row_index(&self, table: u16, name: &str) -> Result<RowIndex<'a, PageSnapshot>, Error> {
        let table = self.frozen(table)?;
        Ok(RowIndex::of(Reader {
            nodes: &self.indexes,
            rows: &self.rows,
            index: named(&table.state.secondary, table.name, name)?,
            schema: &table.state.schema,
            table: table.name,
        }))
    }
}

impl<'a> Table<'a> {
    /// The row with this key: the values of the primary key's columns, in its order.
    fn get(&self, key: &[ValueRef<'_>]) -> Result<Option<RowRef<'a, PageSnapshot>>, TableError> {
        let schema = &self.state.schema;
        let Some(plain) = PlainKey::encode(schema, self.name, key)? else {
            check_key(schema, self.name, key)?;
            let mut indexes = self.state.secondary.iter();
            let index = indexes.find(|index| index.what.definition.name == schema.primary.name);
            let index = index.expect("what is not hashed is ordered");
            let (nodes, rows) = (&*self.snapshot.indexes, &*self.snapshot.rows);
            let key = index.what.shape.of_values(key);
            let key = key.map_err(|bad| index.bad_key(bad, self.name, Some(schema)))?;
            let found = index.find(nodes, rows, &key.bytes)?;
            return found.map(|at| self.row(at)).transpose();
        };
        let plain = plain.bytes();
        let (table, rows) = (self.state, &self.snapshot.rows);
        let mut buffer = Vec::new();
        let mut found = None;
        let hash = table.hash.of(plain);
        table
            .shards
            .find(&*self.snapshot.indexes, hash, |at| {
                let there = Address(at.0 + table.key_offset as u64);
                let is_it = rows.read(there, plain.len(), &mut buffer)? == plain;
                found = is_it.then_some(at).or(found);
                Ok(is_it)
            })
            .map_err(TableError::from)?;
        found.map(|at| self.row(at)).transpose()
    }

    fn row(&self, at: Address) -> Result<RowRef<'a, PageSnapshot>, TableError> {
        RowRef::new(&*self.snapshot.rows, &self.state.schema, self.name, at)
    }
}

/// The rows of a table in a snapshot, in no particular order. An error is told once: it is the
/// end.
#[derive(Debug)]
pub struct SnapshotScan<'a> {
    table: Table<'a>,
    runs: VecDeque<Range<u64>>,
    place: ScanPlace,
    waiting: VecDeque<Address>,
    buffer: Vec<u8>,
    ended: bool,
}

impl<'a> SnapshotScan<'a> {
    fn new(table: Table<'a>, from: ScanPlace) -> Self {
        let runs = used_runs(&table.state.extents, table.state.fresh).collect();
        let mut scan = SnapshotScan {
            table,
            runs,
            place: ScanPlace::at_page(from.page()),
            waiting: VecDeque::new(),
            buffer: Vec::new(),
            ended: false,
        };
        // Those of the page that were given.
        for _ in 0..from.rows() {
            scan.next_address();
        }
        scan
    }

    /// How far it has come, to go on from there with another scan of the same snapshot.
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

    fn next_address(&mut self) -> Option<Result<Address, SnapshotEnded>> {
        while self.waiting.is_empty() && !self.ended {
            if self.place.rows() > 0 {
                self.place = ScanPlace::at_page(self.place.page() + 1);
            }
            let page = self.page(self.place.page())?;
            let (table, pages) = (self.table.state, &self.table.snapshot.rows);
            match pages.read(page.address(), PAGE_SIZE, &mut self.buffer) {
                Ok(content) if PageLayout::has_rows(content) => {
                    let layout = table.layout_of(content);
                    let occupied = layout.occupied(content);
                    self.waiting
                        .extend(occupied.map(|slot| layout.record(page, slot)));
                }
                Ok(_) => {}
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
            if self.waiting.is_empty() {
                self.place = ScanPlace::at_page(self.place.page() + 1);
            }
        }
        let address = self.waiting.pop_front()?;
        self.place = ScanPlace::new(self.place.page(), self.place.rows() + 1);
        Some(Ok(address))
    }
}

impl<'a> SnapshotScan<'a> {
    /// The next row.
    pub(crate) fn next_row(&mut self) -> Result<Option<RowRef<'a, PageSnapshot>>, TableError> {
        let Some(address) = self.next_address() else {
            return Ok(None);
        };
        let address = address.map_err(TableError::from);
        let row = address.and_then(|address| self.table.row(address));
        if row.is_err() {
            self.ended = true;
            self.waiting.clear();
        }
        row.map(Some)
    }
}

impl<'a> Iterator for SnapshotScan<'a> {
    type Item = Result<RowRef<'a, PageSnapshot>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().map_err(Error::from).transpose()
    }
}

impl<'a> ScanRows for SnapshotScan<'a> {
    type Row = RowRef<'a, PageSnapshot>;

    fn place(&self) -> Option<ScanPlace> {
        Some(self.place)
    }
}
