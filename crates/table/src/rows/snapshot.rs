//! The rows of a table in a snapshot, by their columns' names.

use super::RowRef;
use super::key::{PlainKey, check_key};
use super::verbs::unknown_table;
use crate::error::TableError;
use crate::layout::PageLayout;
use crate::schema::{Schema, Value, ValueRef};
use crate::snapshot::{FrozenTable, SpaceSnapshot};
use crate::table::used_runs;
use sardonyx_base::error::Error;
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, PageSnapshot};
use std::collections::VecDeque;
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
    pub fn scan(&self) -> impl Iterator<Item = Result<RowRef<'a, PageSnapshot>, Error>> + use<'a> {
        let this = *self;
        let mut pages = used_runs(&this.table.extents, this.table.fresh).flatten();
        let mut waiting: VecDeque<Address> = VecDeque::new();
        let mut buffer = Vec::new();
        let mut ended = false;
        std::iter::from_fn(move || {
            while waiting.is_empty() && !ended {
                let page = PageId(pages.next()?);
                match this
                    .snapshot
                    .rows
                    .read(page.address(), PAGE_SIZE, &mut buffer)
                {
                    Ok(content) if PageLayout::has_rows(content) => {
                        let layout = this.table.layout_of(content);
                        waiting.extend(
                            layout
                                .occupied(content)
                                .map(|slot| layout.record(page, slot)),
                        );
                    }
                    Ok(_) => {}
                    Err(error) => {
                        ended = true;
                        return Some(Err(TableError::from(error).into()));
                    }
                }
            }
            let row = this.row(waiting.pop_front()?);
            if row.is_err() {
                ended = true;
                waiting.clear();
            }
            Some(row.map_err(Error::from))
        })
    }
}
