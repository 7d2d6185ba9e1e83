//! The requests of constraints to nodes' tables.

use super::super::catalogue::TableInfo;
use super::super::entries::{self, Keys};
use super::super::range::OwnedRow;
use super::NodeTables;
use super::write::Key;
use sardonyx_rows::TableError;
use sardonyx_rows::condition::Check;
use sardonyx_rows::constraints::{ComputeDefaults, ConstrainedRows, HeldReferences};
use sardonyx_rows::schema::{IndexDefinition, ValueRef};
use sardonyx_storage::tree::Intent;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// The number of keys read at a time.
const PIECE: usize = 256;

fn columns_of(index: &IndexDefinition) -> impl Iterator<Item = usize> + '_ {
    index.key.iter().map(|part| part.column)
}

/// The index, or that of the primary key (`None`), for which this is so.
fn index_where(
    info: &TableInfo,
    is_it: impl Fn(&IndexDefinition) -> bool,
) -> Option<Option<usize>> {
    let schema = info.format.schema();
    if is_it(&schema.primary) {
        return Some(None);
    }
    schema.indexes.iter().position(is_it).map(Some)
}

/// An index whose first columns are these, in their order.
fn index_beginning(info: &TableInfo, columns: &[usize]) -> Option<Option<usize>> {
    index_where(info, |index| {
        columns_of(index)
            .take(columns.len())
            .eq(columns.iter().copied())
    })
}

impl NodeTables<'_> {
    /// The keys of rows whose keys in an index begin with these values, at most so many. Values that the columns cannot have
    /// are none of a row.
    fn keys_with(
        &self,
        info: &TableInfo,
        index: Option<usize>,
        values: &[ValueRef<'_>],
        limit: usize,
    ) -> Result<Vec<Key>, TableError> {
        let Ok((lower, upper)) = info.format.keys_beginning(index, values, false) else {
            return Ok(Vec::new());
        };
        let keys = Keys { lower, upper };
        let tree = info.tree(index);
        let found = self.look(|view| match index {
            None => entries::keys(view, tree, &keys, limit),
            Some(_) => {
                let found = entries::scan(view, tree, &keys, limit, false)?;
                Ok(found.into_iter().map(|(_, key)| key).collect())
            }
        })?;
        Ok(found)
    }

    /// A piece of a table's keys: the first ones, or those behind a key. An empty one is the end.
    pub(super) fn keys_behind(&self, table: u16, key: Option<Key>) -> Result<Vec<Key>, TableError> {
        let root = self.info(table)?.root;
        let keys = Keys {
            lower: key.map_or(Bound::Unbounded, Bound::Excluded),
            upper: Bound::Unbounded,
        };
        Ok(self.look(|view| entries::keys(view, root, &keys, PIECE))?)
    }
}

impl ConstrainedRows for NodeTables<'_> {
    fn row_there(&self, table: u16, at: Key) -> Result<OwnedRow, TableError> {
        let info = self.info(table)?;
        let found = self.row_with_key(info, &at, Intent::Read)?;
        found.ok_or_else(|| TableError::StaleRow {
            table: info.format.table().to_string(),
        })
    }

    fn conditions(&mut self, table: u16) -> Result<Arc<[Check]>, TableError> {
        Ok(self.info(table)?.format.conditions().clone())
    }

    fn row_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Key>, TableError> {
        let info = self.info(table)?;
        let has = |index: &IndexDefinition| columns_of(index).eq(columns.iter().copied());
        match index_where(info, has) {
            Some(index) => Ok(self.keys_with(info, index, values, 1)?.pop()),
            None => Ok(None),
        }
    }

    fn has_index_of(&self, table: u16, columns: &[usize]) -> bool {
        let info = self.tables.info(table);
        info.is_some_and(|info| index_beginning(info, columns).is_some())
    }

    fn rows_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Vec<Key>>, TableError> {
        let info = self.info(table)?;
        match index_beginning(info, columns) {
            Some(index) => Ok(Some(self.keys_with(info, index, values, usize::MAX)?)),
            None => Ok(None),
        }
    }

    fn last_by_key(&self, table: u16) -> Result<Option<Key>, TableError> {
        let info = self.info(table)?;
        let all = Keys {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let found = self.look(|view| entries::scan(view, info.root, &all, 1, true))?;
        Ok(found.into_iter().next().map(|(key, _)| key))
    }

    fn computes_defaults(&self) -> Option<Arc<dyn ComputeDefaults>> {
        self.access.borrow().known()?.computes()
    }

    fn places(&self, table: u16) -> impl Iterator<Item = Result<Key, TableError>> {
        // The beginning of the next piece; `None`: no piece is left.
        let (mut ready, mut behind) = (VecDeque::new(), Some(None));
        std::iter::from_fn(move || {
            if ready.is_empty()
                && let Some(last) = behind.take()
            {
                match self.keys_behind(table, last) {
                    Ok(found) => ready = VecDeque::from(found),
                    Err(error) => return Some(Err(error)),
                }
                behind = ready.back().cloned().map(Some);
            }
            ready.pop_front().map(Ok)
        })
    }

    fn delete_alone(&mut self, table: u16, at: Key) -> Result<(), TableError> {
        let info = self.info(table)?.clone();
        self.change(|view| info.remove_row(view, &at))?;
        Ok(())
    }

    fn whole<T>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        NodeTables::whole(self, steps)
    }

    fn held(&self) -> &HeldReferences {
        &self.held
    }

    fn held_mut(&mut self) -> &mut HeldReferences {
        &mut self.held
    }
}
