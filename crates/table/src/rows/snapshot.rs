//! The rows of a table in a snapshot, by their columns' names.

use super::key::{PlainKey, check_key};
use super::verbs::unknown_table;
use crate::snapshot::{FrozenTable, SpaceSnapshot};
use crate::table::used_runs;
use sardonyx_base::error::Error;
use sardonyx_rows::RowRef;
use sardonyx_rows::TableError;
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, PageSnapshot, SnapshotEnded};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The rows of a table in a snapshot: [`SpaceSnapshot::rows`].
#[derive(Clone, Copy, Debug)]
pub struct SnapshotRows<'a> {
    pub(super) snapshot: &'a SpaceSnapshot,
    pub(super) table: &'a FrozenTable,
    pub(super) name: &'a str,
    number: u16,
}

impl SpaceSnapshot {
    /// The rows of the table with this name, to read by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows(&self, table: &str) -> Result<SnapshotRows<'_>, Error> {
        let mut definitions = self.definitions().iter().zip(&self.tables).enumerate();
        let found = definitions.find(|(_, (definition, _))| definition.name == table);
        match found {
            Some((number, (definition, Some(state)))) => Ok(SnapshotRows {
                snapshot: self,
                table: state,
                name: &definition.name,
                number: number as u16,
            }),
            _ => Err(unknown_table(table)),
        }
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows_of(&self, number: u16) -> Result<SnapshotRows<'_>, Error> {
        let place = usize::from(number);
        match (self.definitions().get(place), self.tables.get(place)) {
            (Some(definition), Some(Some(state))) => Ok(SnapshotRows {
                snapshot: self,
                table: state,
                name: &definition.name,
                number,
            }),
            _ => Err(TableError::UnknownHandle { number }.into()),
        }
    }
}

impl<'a> SnapshotRows<'a> {
    /// What the rows are.
    pub fn schema(&self) -> &'a Arc<Schema> {
        &self.table.schema
    }

    /// The table's number in the catalogue.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.table.len
    }

    /// The row with this key: the values of the primary key's columns, in its order.
    ///
    /// # Errors
    /// [`Error::Refused`] if these are no values of the key's columns; [`Error::Limit`] if the snapshot was
    /// ended; [`Error::Damaged`].
    pub fn get(&self, key: &[Value]) -> Result<Option<RowRef<'a, PageSnapshot>>, Error> {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        let Some(plain) = PlainKey::encode(self.schema(), self.name, &key)? else {
            check_key(self.schema(), self.name, &key)?;
            let mut indexes = self.table.secondary.iter();
            let primary = &self.schema().primary;
            let index = indexes.find(|index| index.what.definition.name == primary.name);
            let index = index.expect("what is not hashed is ordered");
            let (nodes, rows) = (&*self.snapshot.indexes, &*self.snapshot.rows);
            let key = index.what.shape.of_values(&key);
            let key = key.map_err(|bad| index.bad_key(bad, self.name, Some(self.schema())))?;
            let found = index.find(nodes, rows, &key.bytes)?;
            return Ok(found.map(|at| self.row(at)).transpose()?);
        };
        let plain = plain.bytes();
        let (table, rows) = (self.table, &self.snapshot.rows);
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
        Ok(found.map(|at| self.row(at)).transpose()?)
    }

    fn row(&self, at: Address) -> Result<RowRef<'a, PageSnapshot>, TableError> {
        RowRef::new(&*self.snapshot.rows, self.schema(), self.name, at)
    }

    /// All rows, in no particular order. The first error is the last that is said.
    pub fn scan(&self) -> SnapshotScan<'a> {
        self.scan_from(ScanPlace::default())
    }

    /// How many pages the table uses: parts of them can be scanned by themselves, from
    /// [`ScanPlace::at_page`] to where [`SnapshotScan::place`] is on the next part's first page.
    pub fn pages(&self) -> u64 {
        let runs = used_runs(&self.table.extents, self.table.fresh);
        runs.map(|run| run.end - run.start).sum()
    }

    /// The rows from a place on, to which a scan had come: [`SnapshotScan::place`].
    pub fn scan_from(&self, place: ScanPlace) -> SnapshotScan<'a> {
        let runs = used_runs(&self.table.extents, self.table.fresh).collect();
        let mut scan = SnapshotScan {
            rows: *self,
            runs,
            place: ScanPlace {
                pages: place.pages,
                rows: 0,
            },
            waiting: VecDeque::new(),
            buffer: Vec::new(),
            ended: false,
        };
        // Those of the page that were given.
        for _ in 0..place.rows {
            scan.next_address();
        }
        scan
    }
}

/// How far a scan has come: pages that it is through with, and rows of the one that it is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScanPlace {
    pages: u64,
    rows: usize,
}

impl ScanPlace {
    /// The beginning of a page, by its number among the used ones.
    pub fn at_page(pages: u64) -> Self {
        ScanPlace { pages, rows: 0 }
    }

    /// The page of the row that was given last.
    pub fn page(self) -> u64 {
        self.pages
    }
}

/// The rows of a table in a snapshot, in no particular order: [`SnapshotRows::scan`]. An error is told once: it is the
/// end.
#[derive(Debug)]
pub struct SnapshotScan<'a> {
    rows: SnapshotRows<'a>,
    runs: VecDeque<Range<u64>>,
    place: ScanPlace,
    waiting: VecDeque<Address>,
    buffer: Vec<u8>,
    ended: bool,
}

impl<'a> SnapshotScan<'a> {
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
            if self.place.rows > 0 {
                self.place = ScanPlace {
                    pages: self.place.pages + 1,
                    rows: 0,
                };
            }
            let page = self.page(self.place.pages)?;
            let (table, pages) = (self.rows.table, &self.rows.snapshot.rows);
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
                self.place.pages += 1;
            }
        }
        let address = self.waiting.pop_front()?;
        self.place.rows += 1;
        Some(Ok(address))
    }
}

impl<'a> Iterator for SnapshotScan<'a> {
    type Item = Result<RowRef<'a, PageSnapshot>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let address = self.next_address()?;
        let address = address.map_err(TableError::from);
        let row = address.and_then(|address| self.rows.row(address));
        if row.is_err() {
            self.ended = true;
            self.waiting.clear();
        }
        Some(row.map_err(Error::from))
    }
}
