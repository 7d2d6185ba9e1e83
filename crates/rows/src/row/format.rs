//! Rows as bytes of their own, beside any table space: for a way of running transactions that keeps rows elsewhere
//! than in pages of records, such as the entries of an index.
//!
//! The bytes are a row's fixed part, as in a page, and behind it the texts and bytes that are too long for their
//! references. Those references have the offset within the row. So a fixed part is the same in every way, and a row
//! can be moved without decoding it. Keys are bytes in the order of the values ([`crate::key`]).
//!
//! A row of before a column was added has the fixed part of its shape, and reads the default. No byte records the
//! shape of a row. Each shape has a longer fixed part than the one before ([`RowFormat::lengthened`]), and the first
//! of the values outside begins at its end.
//!
//! Invariant: the bytes that [`RowFormat::row`] returns as a row are checked: its fixed part is complete, and its
//! references point into the row.

use super::fixed::{decode, is_null};
use super::{RowRef, RowWriter, same, set_column, shown};
use crate::condition::Check;
use crate::constraints::{
    Generated, conditions_of, generated_of, generated_of_changed, generated_of_new,
    generated_values, meets,
};
use crate::error::{TableError, check_name};
use crate::key::KeyShape;
use crate::read::ReadRow;
use crate::schema::{Column, Schema, SchemaError, Type, Value, ValueRef};
use crate::values::Reference;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::WholeBytes;
use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

/// The bytes of one row, as [`RowFormat`] has them.
pub type OneRow = WholeBytes;

/// The format of a table's rows as bytes of their own.
#[derive(Clone, Debug)]
pub struct RowFormat {
    table: Arc<str>,
    schema: Arc<Schema>,
    key: KeyShape,
    /// The keys of the schema's other indexes.
    indexes: Arc<[KeyShape]>,
    conditions: Arc<[Check]>,
    generated: Arc<[Generated]>,
}

/// A range of keys as bytes.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl RowFormat {
    /// The format of this table's rows.
    ///
    /// # Errors
    /// [`TableError::Schema`] if no table can have the schema.
    #[inline]
    pub fn new(table: &str, schema: Schema) -> Result<Self, TableError> {
        check_name(table)?;
        Self::of_any(table, schema)
    }

    /// The same of a table of the engine's own.
    ///
    /// # Errors
    /// The errors of [`RowFormat::new`], but for the name's.
    #[inline]
    pub fn of_any(table: &str, schema: Schema) -> Result<Self, TableError> {
        schema.definition(table).check()?;
        let checked = schema.check().and_then(|()| Self::check_shapes(&schema));
        checked.map_err(|source| TableError::Schema {
            table: table.to_string(),
            source: Box::new(source),
        })?;
        Self::of(table, schema)
    }

    /// The schema with each shape's rows longer than those of the shapes before: the length shows the shape. A table
    /// in main memory may have several shapes of one length, since its pages record their shape.
    ///
    /// # Errors
    /// [`SchemaError::RowTooLong`].
    #[inline]
    pub fn lengthened(mut schema: Schema) -> Result<Schema, SchemaError> {
        let shapes = schema.earlier_shapes.iter_mut();
        let (mut before, mut has_changed) = (0, false);
        for bytes in shapes.chain([&mut schema.row_bytes]) {
            if *bytes <= before {
                *bytes = before + 8;
                has_changed = true;
            }
            before = *bytes;
        }
        if has_changed {
            schema.check()?;
        }
        Ok(schema)
    }

    /// Checks that each shape has a length of its own.
    #[inline]
    fn check_shapes(schema: &Schema) -> Result<(), SchemaError> {
        let shapes = schema.earlier_shapes.iter().chain([&schema.row_bytes]);
        let Some(shape) = shapes.clone().zip(shapes.skip(1)).position(|(a, b)| a >= b) else {
            return Ok(());
        };
        let added = |column: &&Column| usize::from(column.since_shape) == shape + 1;
        let column = schema.columns.iter().find(added);
        Err(SchemaError::Place {
            column: column.map_or_else(String::new, |column| column.name.clone()),
            offset: column.map_or(0, |column| column.offset),
            reason: "makes rows no longer, and the length of a row shows its shape",
        })
    }

    /// The format of rows that are kept beside a table for a while, on their way into it. All are of the newest shape,
    /// and their references are checked by its own store.
    ///
    /// # Errors
    /// [`TableError::Condition`] if a text of the schema is no condition on its rows.
    pub fn beside(table: &str, schema: &Schema) -> Result<Self, TableError> {
        let mut flat = flat(schema);
        flat.foreign_keys.clear();
        Self::of(table, flat)
    }

    fn of(table: &str, schema: Schema) -> Result<Self, TableError> {
        let conditions = conditions_of(&schema)?;
        let generated = generated_of(&schema)?;
        // Keys are read of rows in the newest shape.
        let flat = flat(&schema);
        Ok(RowFormat {
            table: table.into(),
            key: KeyShape::new(&flat, &flat.primary),
            indexes: (flat.indexes.iter())
                .map(|index| KeyShape::new(&flat, index))
                .collect(),
            schema: Arc::new(schema),
            conditions,
            generated,
        })
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The same, shared.
    pub fn name(&self) -> &Arc<str> {
        &self.table
    }

    /// The conditions that rows meet.
    pub fn conditions(&self) -> &Arc<[Check]> {
        &self.conditions
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// True if a row is its fixed part alone.
    pub fn is_fixed(&self) -> bool {
        self.schema.variable_columns().next().is_none()
    }

    /// A row, to read.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are no row; it names page 0, since the row has no page.
    #[inline]
    pub fn row<'a>(&'a self, bytes: &'a [u8]) -> Result<RowRef<'a, OneRow>, TableError> {
        let shape = self.shape_of(bytes)?;
        let fixed = self.fixed_bytes(shape);
        for column in self.variable_columns(shape) {
            let reference = Reference::at(bytes, column.offset);
            let Some(Address(at)) = reference.cell() else {
                continue;
            };
            let end = usize::try_from(at).ok();
            let end = end.and_then(|at| at.checked_add(reference.len()));
            if at < fixed as u64 || end.is_none_or(|end| end > bytes.len()) {
                return Err(self.damaged(column.offset, "a value outside of its row"));
            }
        }
        let (pages, schema, table) = (OneRow::of(bytes), &self.schema, &self.table);
        Ok(RowRef::of_shape(
            pages,
            schema,
            table,
            shape,
            &bytes[..fixed],
        ))
    }

    #[cold]
    fn damaged(&self, offset: usize, reason: &'static str) -> TableError {
        TableError::DamagedTable {
            table: self.table.to_string(),
            page: 0,
            offset,
            reason,
        }
    }

    fn fixed_bytes(&self, shape: u8) -> usize {
        let bytes = self.schema.row_bytes_of_shape(shape);
        bytes.unwrap_or(self.schema.row_bytes)
    }

    /// The columns of text and bytes that rows of a shape have.
    fn variable_columns(&self, shape: u8) -> impl Iterator<Item = &Column> {
        let columns = self.schema.variable_columns();
        columns.filter(move |column| column.since_shape <= shape)
    }

    /// The shape of a row.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are too few for any.
    #[inline]
    fn shape_of(&self, bytes: &[u8]) -> Result<u8, TableError> {
        let shapes = &self.schema.earlier_shapes;
        for shape in 0..=shapes.len() as u8 {
            let fixed = self.fixed_bytes(shape);
            if bytes.len() < fixed {
                break;
            }
            if usize::from(shape) == shapes.len() {
                return Ok(shape);
            }
            // The end of the fixed part, of this shape or of a later one, whose fixed part is longer.
            let references = self.variable_columns(shape);
            let outside =
                references.filter_map(|column| Reference::at(bytes, column.offset).cell());
            if outside.map(|at| at.0).min().unwrap_or(bytes.len() as u64) == fixed as u64 {
                return Ok(shape);
            }
        }
        Err(self.damaged(bytes.len(), "a row that is shorter than its columns"))
    }

    /// The row in the newest shape.
    #[inline]
    fn newest<'b>(&self, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, TableError> {
        if self.schema.earlier_shapes.is_empty() {
            return Ok(Cow::Borrowed(bytes));
        }
        let row = self.row(bytes)?;
        match row.shape() == self.schema.shape() {
            true => Ok(Cow::Borrowed(bytes)),
            false => self.copy_of(&row).map(Cow::Owned),
        }
    }

    /// The value of the column with this number of a row that was checked ([`RowFormat::row`]); null if there is no
    /// such column, or it was dropped.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are no row.
    #[inline]
    pub fn value_at<'a>(
        &'a self,
        bytes: &'a [u8],
        number: usize,
    ) -> Result<ValueRef<'a>, TableError> {
        let column = match self.schema.columns.get(number) {
            Some(column) if !column.dropped => column,
            _ => return Ok(ValueRef::Null),
        };
        let place = column.offset..column.offset + column.kind.bytes();
        if column.since_shape > 0 && column.since_shape > self.shape_of(bytes)? {
            return Ok(column.default.as_ref());
        }
        let Some(there) = bytes.get(place) else {
            return Err(self.damaged(column.offset, "a row that is shorter than its columns"));
        };
        if is_null(bytes, column) {
            return Ok(ValueRef::Null);
        }
        if !column.kind.is_variable() {
            return Ok(decode(column.kind, there));
        }
        let reference = Reference::at(bytes, column.offset);
        let start = match reference.cell() {
            None => column.offset + 4,
            Some(at) => usize::try_from(at.0).unwrap_or(usize::MAX),
        };
        let value = start.checked_add(reference.len());
        let value = value.and_then(|end| bytes.get(start..end));
        let value =
            value.ok_or_else(|| self.damaged(column.offset, "a value outside of its row"))?;
        if column.kind == Type::Bytes {
            return Ok(ValueRef::Bytes(value));
        }
        let text = std::str::from_utf8(value);
        text.map(ValueRef::Text)
            .map_err(|_| self.damaged(column.offset, "a text is not UTF-8"))
    }

    /// The number of the column with this name.
    ///
    /// # Errors
    /// [`RowError::UnknownColumn`](super::RowError::UnknownColumn).
    #[inline]
    pub fn column(&self, name: &str) -> Result<usize, TableError> {
        Ok(super::writer::column_named(
            &self.schema,
            &self.table,
            name,
        )?)
    }

    /// The values of columns by name, on their way into a row.
    ///
    /// # Errors
    /// [`RowError`](crate::RowError): an unknown column, or one that is given twice.
    #[inline]
    pub fn named<'v>(&self, values: &'v [(&str, Value)]) -> Result<RowWriter<'v>, TableError> {
        Ok(RowWriter::named(&self.schema, &self.table, values)?)
    }

    /// A new row: of columns that are not set, their defaults.
    ///
    /// # Errors
    /// [`RowError`](crate::RowError): a value that does not fit its column, a column without one, a condition that is not met.
    #[inline]
    pub fn new_row(&self, row: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        self.meeting_conditions(self.unconditional_row(row)?)
    }

    /// The same, without evaluating the conditions.
    ///
    /// # Errors
    /// The errors of [`RowFormat::new_row`].
    #[inline]
    pub fn unconditional_row(&self, row: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        let mut row = row.clone();
        row.complete(&self.schema, &self.table)?;
        let generated = generated_of_new((&self.schema, &self.table), &self.generated, &row)?;
        let row = with_values(row, &generated);
        self.fill(vec![0; self.schema.row_bytes], &row)
    }

    /// A row of another store, as bytes of its own. It was checked when it was stored there.
    ///
    /// # Errors
    /// The errors of reading it.
    #[inline]
    pub fn copy_of(&self, row: &impl ReadRow) -> Result<Vec<u8>, TableError> {
        let mut all = RowWriter::new(self.schema.columns.len());
        for (number, _) in self.schema.live_columns() {
            all.set(number, row.value_at(number)?);
        }
        self.store(vec![0; self.schema.row_bytes], &all)
    }

    /// A row with other values in the columns that are set.
    ///
    /// # Errors
    /// The errors of [`RowFormat::new_row`], and [`TableError::KeyChanged`].
    #[inline]
    pub fn changed_row(&self, bytes: &[u8], change: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        self.meeting_conditions(self.unconditional_change(bytes, change)?)
    }

    /// The same, without evaluating the conditions.
    ///
    /// # Errors
    /// The errors of [`RowFormat::changed_row`].
    #[inline]
    pub fn unconditional_change(
        &self,
        bytes: &[u8],
        change: &RowWriter<'_>,
    ) -> Result<Vec<u8>, TableError> {
        let there = self.row(bytes)?;
        for part in &self.schema.primary.key {
            let kind = self.schema.columns[part.column].kind;
            let given = change.get(part.column);
            let now = there.get_at(part.column)?;
            if given.is_some_and(|given| !same(kind, now, given)) {
                return Err(self.key_changed());
            }
        }
        let mut all = change.clone();
        all.fit(&self.schema, &self.table)?;
        let lacks = |column: usize| self.schema.columns[column].since_shape > there.shape();
        let of = (&*self.schema, &*self.table);
        let generated = generated_of_changed(of, &self.generated, &there, &all, lacks)?;
        self.with_columns(&there, with_values(all, &generated))
    }

    /// A row, which was changed otherwise than by its columns' numbers, with the values of its generated columns.
    ///
    /// # Errors
    /// [`RowError::Ungenerated`](super::RowError::Ungenerated).
    #[inline]
    pub fn regenerated(&self, bytes: Vec<u8>) -> Result<Vec<u8>, TableError> {
        if self.generated.is_empty() {
            return Ok(bytes);
        }
        let there = self.row(&bytes)?;
        let of = (&*self.schema, &*self.table);
        let value = |column| there.get_at(column);
        let generated = generated_values(of, &self.generated, |_| true, value)?;
        self.with_columns(&there, with_values(RowWriter::default(), &generated))
    }

    /// A row with other values in the columns that are set, in the newest shape.
    #[inline]
    fn with_columns(
        &self,
        there: &RowRef<'_, OneRow>,
        change: RowWriter<'_>,
    ) -> Result<Vec<u8>, TableError> {
        // Long values are put together anew, so that none is left that nothing names.
        let mut all = change.clone();
        for (number, column) in self.schema.live_columns() {
            let is_kept = column.kind.is_variable() || column.since_shape > there.shape();
            if is_kept && change.get(number).is_none() {
                all.set(number, there.get_at(number)?);
            }
        }
        let mut fixed = there.fixed().to_vec();
        fixed.resize(self.schema.row_bytes, 0);
        for column in self.variable_columns(there.shape()) {
            if column.dropped {
                let place = column.offset..column.offset + column.kind.bytes();
                fixed[place].fill(0);
            }
        }
        self.fill(fixed, &all)
    }

    /// The error of an update that changes the key.
    #[cold]
    pub fn key_changed(&self) -> TableError {
        let table = self.table.to_string();
        TableError::KeyChanged { table }
    }

    /// The error of a row whose key exists already.
    #[cold]
    #[inline]
    pub fn duplicate(&self, row: &[u8]) -> TableError {
        let mut key = Vec::new();
        let mut values = Vec::new();
        if let Ok(row) = self.row(row) {
            for part in &self.schema.primary.key {
                let value = row.get_at(part.column);
                values.extend(value.as_ref().ok().map(|value| value.to_value()));
                key.push(value.map(shown).unwrap_or_default());
            }
        }
        TableError::DuplicateKey {
            table: self.table.to_string(),
            key: key.join(", "),
            values: values.into(),
        }
    }

    /// Stores the values that are set, if they fit.
    #[inline]
    fn fill(&self, fixed: Vec<u8>, row: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        row.check(&self.schema, &self.table)?;
        self.store(fixed, row)
    }

    #[inline]
    fn meeting_conditions(&self, row: Vec<u8>) -> Result<Vec<u8>, TableError> {
        self.check_conditions(&row)?;
        Ok(row)
    }

    /// Stores the values that are set.
    fn store(&self, mut fixed: Vec<u8>, row: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        let end = fixed.len();
        let mut values = Vec::new();
        for (number, value) in row.set_columns() {
            let column = &self.schema.columns[number];
            set_column(&mut fixed, &self.table, column, value, |_, bytes| {
                Ok(Reference::inline(bytes).unwrap_or_else(|| {
                    let at = Address((end + values.len()) as u64);
                    values.extend_from_slice(bytes);
                    Reference::outside(bytes, at)
                }))
            })?;
        }
        fixed.extend_from_slice(&values);
        Ok(fixed)
    }

    /// Checks that a row meets the table's conditions.
    ///
    /// # Errors
    /// The errors of [`meets`].
    #[inline]
    pub fn check_conditions(&self, bytes: &[u8]) -> Result<(), TableError> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        let name = || self.table.to_string();
        let row = self.row(bytes)?;
        let value = |column| row.get_at(column);
        meets(&name, &self.schema, &self.conditions, value)
    }
}

/// With values of columns by their numbers.
#[inline]
fn with_values<'v>(mut row: RowWriter<'v>, values: &'v [(usize, Value)]) -> RowWriter<'v> {
    for (column, value) in values {
        row.set(*column, value.as_ref());
    }
    row
}

/// The same schema of a table all of whose rows are of the newest shape.
fn flat(schema: &Schema) -> Schema {
    let mut flat = schema.clone();
    flat.earlier_shapes.clear();
    for column in &mut flat.columns {
        column.since_shape = 0;
    }
    flat
}

mod keys;
mod records;
#[cfg(test)]
mod tests;
