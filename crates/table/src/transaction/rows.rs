//! Rows by their columns inside a transaction. First values are checked against their columns' types. Then the fixed
//! part and the values outside it change by the means of all records. The changed row is checked, or restored.

use super::generated::with_values;
use super::{OVERHEAD_BYTES, Transaction};
use crate::changes::ChangeKind;
use crate::rows::find_row;
use crate::table::{TableState, page_bytes};
use crate::undo::Step;
use sardonyx_rows::TableError;
use sardonyx_rows::constraints::{
    check_changed_row, check_unreferenced, computed_defaults, delete_row,
};
use sardonyx_rows::layout::{PageKind, PageUse, word_at};
use sardonyx_rows::row::{RowRef, RowValues, RowWriter, same, set_column};
use sardonyx_rows::schema::{Schema, ValueRef};
use sardonyx_rows::values::Reference;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::{Address, PageId};
use std::sync::Arc;

/// Fixed parts up to this length are changed in a copy that takes no memory of its own.
pub(super) const SHORT_ROW_BYTES_MAX: usize = 256;

impl Transaction<'_> {
    /// A table's schema, and its name.
    #[inline]
    pub(crate) fn row_table(&self, number: u16) -> Result<(Arc<Schema>, Arc<str>), TableError> {
        let state = self.row_state(number)?;
        Ok((Arc::clone(&state.schema), Arc::clone(&state.name)))
    }

    #[inline]
    pub(crate) fn row_state(&self, number: u16) -> Result<&TableState, TableError> {
        match self.space.tables.get(usize::from(number)) {
            Some(Some(state)) => Ok(state),
            _ => Err(TableError::UnknownHandle { number }),
        }
    }

    /// The row whose key columns have these values.
    #[inline]
    pub(crate) fn row_with_key(
        &self,
        number: u16,
        key: &[ValueRef<'_>],
    ) -> Result<Option<Address>, TableError> {
        let state = self.row_state(number)?;
        let pages = self.space.store.bytes();
        find_row(&self.space.indexes, pages, state, &state.name, key)
    }

    /// The row at an address, at which there is one.
    #[inline]
    pub(crate) fn row_there(&self, number: u16, at: Address) -> Result<RowRef<'_>, TableError> {
        let state = self.row_state(number)?;
        RowRef::new(self.space.store.bytes(), &state.schema, &state.name, at)
    }

    #[inline]
    pub(crate) fn has_row_at(&self, number: u16, at: Address) -> Result<bool, TableError> {
        let state = self.row_state(number)?;
        let bytes = self.space.store.bytes();
        Ok(at.0 < bytes.len() as u64 && {
            let content = page_bytes(bytes, at.page());
            let layout = state.layout_of(content);
            let slot = layout.slot(at);
            let is_ours = |of: PageUse| {
                let has_rows = matches!(of.kind, PageKind::Rows { .. });
                let table = state.number_in_pages(number);
                of.table == table && of.life == state.life && has_rows
            };
            PageUse::of(content).is_some_and(is_ours)
                && slot < layout.records
                && layout.record(at.page(), slot) == at
                && layout.is_occupied(content, slot)
        })
    }

    /// Changes the columns that are set of the row at an address.
    #[inline]
    pub(crate) fn update_row_at(
        &mut self,
        number: u16,
        at: Address,
        row: &RowWriter<'_>,
    ) -> Result<(), TableError> {
        if self.is_alone(number, row)? {
            return self.update_alone(number, at, row);
        }
        let (schema, name) = self.row_table(number)?;
        let row = row.as_stored(&schema, &name)?;
        let generated = self.generated_of_changed(number, at, &row)?;
        let all;
        let row: &RowWriter<'_> = match generated.is_empty() {
            true => &row,
            false => {
                all = with_values(row.into_owned(), &generated);
                &all
            }
        };
        row.check(&schema, &name)?;
        self.check_key_stays(number, at, row)?;
        let there = self.row_there(number, at)?;
        let (shape, fixed) = (there.shape(), there.fixed().to_vec());
        let is_referenced = self.state(number).is_referenced;
        let mut changed: Vec<usize> = Vec::new();
        if is_referenced || !schema.foreign_keys.is_empty() {
            let changes = |(column, value): (usize, ValueRef<'_>)| {
                let kind = schema.columns[column].kind;
                let is_same = there.get_at(column).is_ok_and(|now| same(kind, now, value));
                (!is_same).then_some(column)
            };
            changed.extend(row.set_columns().filter_map(changes));
        }
        let changes = |column| changed.contains(&column);
        if is_referenced {
            check_unreferenced(self, number, at, &changes)?;
        }
        let since = |number: usize| schema.columns[number].since_shape;
        let moves = row.set_columns().any(|(number, _)| since(number) > shape);
        // Of the indexes whose keys may change, before any of the row's values does.
        let indexes = match moves {
            true => self.all_indexes(number),
            false => self.indexes_of_columns(number, |column| row.get(column).is_some()),
        };
        self.check_room(2 * fixed.len() + OVERHEAD_BYTES)?;
        self.count_change(number);
        let point = self.undo_point();
        let before = self.image(number, at)?;
        let changed = self.unindex_row(number, at, indexes).and_then(|()| {
            if moves {
                return self.move_row(number, (&schema, &name), at, row, &changes);
            }
            self.write_unindexed(number, at, indexes, row, fixed)?;
            self.index_row(number, at, indexes)?;
            if self.state(number).is_checked {
                check_changed_row(self, number, at, &changes)?;
            }
            Ok(at)
        });
        let kept = changed.and_then(|now| match &before {
            Some(before) => {
                let after = self.image(number, now)?;
                self.keep(number, ChangeKind::Updated, Some(before), after.as_deref())
            }
            None => Ok(()),
        });
        kept.inspect_err(|_| self.undo_to(point))
    }

    /// True if changing these columns of a row changes the columns alone: they are in no key, nothing is declared of the
    /// table's columns or depends on its rows, and each row has a place for them.
    #[inline]
    fn is_alone(&self, number: u16, row: &RowWriter<'_>) -> Result<bool, TableError> {
        let state = self.row_state(number)?;
        let mut columns = row.set_columns();
        Ok(state.changes_alone() && columns.all(|(column, _)| !state.has_in_key(column)))
    }

    /// Changes columns of a row that [change alone](Self::is_alone).
    #[inline]
    fn update_alone(
        &mut self,
        number: u16,
        at: Address,
        row: &RowWriter<'_>,
    ) -> Result<(), TableError> {
        let state = self.row_state(number)?;
        let (schema, name) = (Arc::clone(&state.schema), &state.name);
        row.check(&schema, name)?;
        let (mut short, mut long);
        let there = &self.space.store.bytes()[at.0 as usize..][..schema.row_bytes];
        // To change most rows takes no memory.
        let fixed: &mut [u8] = match schema.row_bytes <= SHORT_ROW_BYTES_MAX {
            true => {
                short = [0; SHORT_ROW_BYTES_MAX];
                &mut short[..schema.row_bytes]
            }
            false => {
                long = vec![0; schema.row_bytes];
                &mut long
            }
        };
        fixed.copy_from_slice(there);
        self.check_room(2 * fixed.len() + OVERHEAD_BYTES)?;
        self.count_change(number);
        let point = self.undo_point();
        let mut change = || {
            for (column, value) in row.set_columns() {
                let column = &schema.columns[column];
                // A name is of use to errors alone, and values were checked.
                set_column(fixed, "", column, value, |before, bytes| {
                    self.replace_value(number, before, bytes)
                })?;
            }
            self.check_room(2 * fixed.len() + OVERHEAD_BYTES)
        };
        if let Err(error) = change() {
            self.undo_to(point);
            return Err(error);
        }
        self.write_differences(at, fixed);
        self.touch(at);
        Ok(())
    }

    /// Writes the columns that are set of a row with this fixed part, which these indexes had.
    #[inline]
    pub(super) fn write_unindexed(
        &mut self,
        number: u16,
        at: Address,
        indexes: u32,
        row: &RowWriter<'_>,
        mut fixed: Vec<u8>,
    ) -> Result<(), TableError> {
        let (schema, name) = self.row_table(number)?;
        self.check_room(2 * fixed.len() + OVERHEAD_BYTES)?;
        self.fill(number, &schema, &name, row.values(), &mut fixed)?;
        self.check_room(2 * fixed.len() + OVERHEAD_BYTES)?;
        self.log_references(&schema, at, indexes, row, &fixed);
        self.write_differences(at, &fixed);
        self.touch(at);
        Ok(())
    }

    /// Has snapshots see that the page of a row changed, also if only values outside of it did: those that compare with
    /// one look at changed pages alone (`crate::changed_rows`, `crate::open`).
    #[inline]
    pub(super) fn touch(&mut self, at: Address) {
        if self.space.store.lacks(at.page()) {
            let word = word_at(self.space.store.bytes(), at.0 as usize);
            self.space.store.write(at, &word.to_le_bytes());
        }
    }

    /// Logs the references of long values that change in their cells and that an index may have. By this a follower of
    /// the log knows that the row has another key, although nothing else of it changes.
    #[inline]
    fn log_references(
        &mut self,
        schema: &Schema,
        at: Address,
        indexes: u32,
        row: &RowWriter<'_>,
        fixed: &[u8],
    ) {
        if indexes == 0 {
            return;
        }
        for (number, _) in row.set_columns() {
            let column = &schema.columns[number];
            if !column.kind.is_variable() {
                continue;
            }
            let after = Reference::at(fixed, column.offset);
            let place = at.0 as usize + column.offset;
            let is_same = Reference::at(self.space.store.bytes(), place) == after;
            if is_same && after.cell().is_some() {
                self.write(Address(place as u64), &after.0[..4]);
            }
        }
    }

    /// Changes a row by putting it into another place, which is returned. That is a page of the newest shape, or, if
    /// the index identifies rows by their whole content, one that is indexed anew.
    #[inline]
    fn move_row(
        &mut self,
        number: u16,
        (schema, name): (&Schema, &str),
        at: Address,
        row: &RowWriter<'_>,
        changes: &dyn Fn(usize) -> bool,
    ) -> Result<Address, TableError> {
        let there = self.row_there(number, at)?;
        let (shape, mut fixed) = (there.shape(), there.fixed().to_vec());
        fixed.resize(schema.row_bytes, 0);
        let mut all = added_after(schema, shape);
        row.set_columns().for_each(|(number, value)| {
            all.set(number, value);
        });
        // Its key stays.
        let hash = self.state(number).hash_at(self.space.store.bytes(), at);
        self.fill(number, schema, name, all.values(), &mut fixed)?;
        self.delete_unindexed(number, at)?;
        self.check_room(encoded_bytes(fixed.len()) + OVERHEAD_BYTES)?;
        self.place_bytes(number, &fixed, hash, None, changes)
    }

    /// Inserts a record of the first shape, whose key is new, into a table of several: the columns that were added get
    /// their defaults.
    #[cold]
    pub(super) fn insert_with_added(
        &mut self,
        number: u16,
        record: &[u8],
        hash: u64,
    ) -> Result<Address, TableError> {
        let (schema, name) = self.row_table(number)?;
        let mut fixed = record.to_vec();
        fixed.resize(schema.row_bytes, 0);
        let is_added = |column: usize| schema.columns[column].since_shape > 0;
        let computed = computed_defaults(self, number, &schema, &name, is_added)?;
        let mut added = RowWriter::new(schema.columns.len());
        for (column, value) in &computed {
            added.set(*column, value.as_ref());
        }
        added.complete_added(&schema, &name)?;
        let generated = self.generated_of_record(number, record, &added)?;
        let added = with_values(added, &generated);
        if !generated.is_empty() {
            self.check_declared(number, record)?;
        }
        added.check(&schema, &name)?;
        let point = self.undo_point();
        let inserted = self
            .fill(number, &schema, &name, added.values(), &mut fixed)
            .and_then(|()| {
                self.check_room(encoded_bytes(fixed.len()) + OVERHEAD_BYTES)?;
                self.insert_bytes(number, &fixed, hash, None)
            });
        inserted.inspect_err(|_| self.undo_to(point))
    }

    /// A row of any shape that begins with these bytes and otherwise equals the row at an address.
    #[cold]
    pub(super) fn row_beginning_with(
        &self,
        number: u16,
        at: Address,
        bytes: &[u8],
    ) -> Result<Vec<u8>, TableError> {
        let mut row = self.row_there(number, at)?.fixed().to_vec();
        row[..bytes.len()].copy_from_slice(bytes);
        Ok(row)
    }

    /// Deletes the row at an address, with its values outside of it.
    #[inline]
    pub(crate) fn delete_row_at(&mut self, number: u16, at: Address) -> Result<(), TableError> {
        match self.row_state(number)?.is_referenced {
            true => delete_row(self, number, at),
            false => self.delete_row_alone(number, at),
        }
    }

    /// The same of a row to which no row refers that stays.
    #[inline]
    pub(crate) fn delete_row_alone(&mut self, number: u16, at: Address) -> Result<(), TableError> {
        let schema = self.row_table(number)?.0;
        let there = self.row_there(number, at)?;
        let columns = schema.variable_columns();
        let references: Vec<_> = columns
            .filter(|column| column.since_shape <= there.shape())
            .map(|column| Reference::at(there.fixed(), column.offset))
            .filter(|reference| reference.cell().is_some())
            .collect();
        let point = self.undo_point();
        let before = self.image(number, at)?;
        let indexes = self.all_indexes(number);
        let deleted = self.unindex_row(number, at, indexes).and_then(|()| {
            for reference in references {
                self.free_value(number, reference)?;
            }
            self.delete_unindexed(number, at)?;
            match &before {
                Some(before) => self.keep(number, ChangeKind::Deleted, Some(before), None),
                None => Ok(()),
            }
        });
        deleted.inspect_err(|_| self.undo_to(point))
    }

    /// Makes a page of an earlier shape one of the newest once its last row is deleted, so that its places are used
    /// again. The operation has room for it.
    #[cold]
    pub(super) fn renew_if_empty(&mut self, table: u16, page: PageId) {
        let (bytes, state) = self.parts(table);
        let content = page_bytes(bytes, page);
        if state.layout_of(content).occupied(content).next().is_some() {
            return;
        }
        let (layout, fresh_before) = (state.layout, state.fresh);
        let page_use = PageUse {
            table: state.number_in_pages(table),
            life: state.life,
            kind: PageKind::Rows {
                shape: state.shape(),
            },
        };
        self.set_page_use(page, layout, page_use);
        // Lower addresses are used first.
        let places = (0..layout.records).rev();
        let free = &mut self.parts(table).1.free;
        free.extend(places.map(|slot| layout.record(page, slot)));
        self.space.undo.push(Step::PageTaken {
            table,
            places: layout.records as u32,
            fresh_before,
        });
    }

    /// Stores the columns that are set in a row's fixed part, and their values outside of it.
    #[inline]
    pub(super) fn fill(
        &mut self,
        number: u16,
        schema: &Schema,
        name: &str,
        values: RowValues<'_, '_>,
        fixed: &mut [u8],
    ) -> Result<(), TableError> {
        for (at, value) in values.set_columns() {
            set_column(fixed, name, &schema.columns[at], value, |before, bytes| {
                self.replace_value(number, before, bytes)
            })?;
        }
        Ok(())
    }

    /// Checks that a change leaves the key's columns as they are.
    #[inline]
    fn check_key_stays(
        &self,
        number: u16,
        at: Address,
        row: &RowWriter<'_>,
    ) -> Result<(), TableError> {
        let there = self.row_there(number, at)?;
        for part in &there.schema().primary.key {
            let Some(value) = row.get(part.column) else {
                continue;
            };
            let column = &there.schema().columns[part.column];
            if !same(column.kind, there.get_at(part.column)?, value) {
                let table = self.name(number);
                return Err(TableError::KeyChanged { table });
            }
        }
        Ok(())
    }

    #[inline]
    fn name(&self, number: u16) -> String {
        self.space.name(number)
    }
}

/// The defaults of the columns that rows of a shape do not have.
#[inline]
fn added_after(schema: &Schema, shape: u8) -> RowWriter<'_> {
    let mut added = RowWriter::new(schema.columns.len());
    for (number, column) in schema.live_columns() {
        if column.since_shape > shape {
            added.set(number, column.default.as_ref());
        }
    }
    added
}
