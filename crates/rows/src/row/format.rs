//! Rows as bytes of their own, beside any table space: for a way of running transactions that keeps rows elsewhere
//! than in pages of records, such as the entries of an index.
//!
//! The bytes are a row's fixed part, as it stands in a page, and behind it the texts and bytes that are too long for
//! their references, which name the place within the row. So a fixed part is the same in every way, and one row can
//! be moved without looking at it. Keys are bytes in the order of the values ([`crate::key`]).
//!
//! Invariant: the bytes that [`RowFormat::row`] gives out as a row are checked: its fixed part is there, and its
//! references point into it.

use super::{RowError, RowRef, RowWriter, same, set_column, shown};
use crate::condition::Check;
use crate::constraints::{conditions_of, meets};
use crate::error::{TableError, check_name};
use crate::fields::{KeyOf, values_of};
use crate::key::{BadKey, KeyBytes, KeyShape, KeyValues, SearchKey};
use crate::read::ReadRow;
use crate::record::{Found, Record};
use crate::schema::{PRIMARY, Schema, Value};
use crate::values::Reference;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{LiveWords, PageRead};
use std::convert::Infallible;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// The bytes of one row, as [`RowFormat`] has them: address 0 is its first byte.
#[derive(Debug, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct OneRow([u8]);

impl OneRow {
    fn of(bytes: &[u8]) -> &OneRow {
        // Any bytes are one, whatever their length.
        OneRow::ref_from_bytes(bytes).expect("bytes are aligned as bytes")
    }
}

impl PageRead for OneRow {
    type Error = Infallible;
    type Words<'a> = LiveWords<'a>;

    fn look<'a, T>(
        &'a self,
        at: Address,
        length: usize,
        look: impl FnMut(LiveWords<'a>) -> T,
    ) -> Result<T, Infallible> {
        self.0.look(at, length, look)
    }

    fn read_into(&self, at: Address, into: &mut [u8]) -> Result<(), Infallible> {
        self.0.read_into(at, into)
    }

    fn word(&self, at: Address) -> Result<u64, Infallible> {
        self.0.word(at)
    }

    fn read<'a>(
        &'a self,
        at: Address,
        length: usize,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Infallible> {
        self.0.read(at, length, buffer)
    }

    fn borrowed(&self, at: Address, length: usize) -> Option<&[u8]> {
        self.0.borrowed(at, length)
    }

    fn has_whole_values(&self) -> bool {
        true
    }
}

/// How the rows of a table are bytes of their own.
#[derive(Clone, Debug)]
pub struct RowFormat {
    table: Arc<str>,
    schema: Arc<Schema>,
    key: KeyShape,
    /// Those of the schema's other indexes.
    indexes: Arc<[KeyShape]>,
    conditions: Arc<[Check]>,
}

/// A range of keys as bytes.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl RowFormat {
    /// Of the rows of this table.
    ///
    /// # Errors
    /// [`TableError::Schema`] if no table can have the schema; [`TableError::BeyondRows`] if it has what rows of
    /// their own do not have: references to other tables, columns that were added.
    pub fn new(table: &str, schema: Schema) -> Result<Self, TableError> {
        check_name(table)?;
        schema.definition(table).check()?;
        schema.check().map_err(|source| TableError::Schema {
            table: table.to_string(),
            source: Box::new(source),
        })?;
        let beyond = [
            (
                !schema.foreign_keys.is_empty(),
                "references to other tables",
            ),
            (!schema.earlier_shapes.is_empty(), "columns that were added"),
        ];
        if let Some((_, what)) = beyond.into_iter().find(|(has, _)| *has) {
            let table = table.to_string();
            return Err(TableError::BeyondRows { table, what });
        }
        Self::of(table, schema)
    }

    /// Of rows of a table that stand beside it for a while, on their way into it: all are of the newest shape, and its
    /// references are its own store's.
    ///
    /// # Errors
    /// [`TableError::Condition`] if a text of the schema is no condition on its rows.
    pub fn beside(table: &str, schema: &Schema) -> Result<Self, TableError> {
        let mut flat = schema.clone();
        flat.foreign_keys.clear();
        flat.earlier_shapes.clear();
        for column in &mut flat.columns {
            column.since_shape = 0;
        }
        Self::of(table, flat)
    }

    fn of(table: &str, schema: Schema) -> Result<Self, TableError> {
        let conditions = conditions_of(&schema)?;
        Ok(RowFormat {
            table: table.into(),
            key: KeyShape::new(&schema, &schema.primary),
            indexes: (schema.indexes.iter())
                .map(|index| KeyShape::new(&schema, index))
                .collect(),
            schema: Arc::new(schema),
            conditions,
        })
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// What the rows are.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// A row, to read.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are none; page 0 stands for the row.
    pub fn row<'a>(&'a self, bytes: &'a [u8]) -> Result<RowRef<'a, OneRow>, TableError> {
        let fixed = self.schema.row_bytes;
        let damaged = |offset, reason| TableError::DamagedTable {
            table: self.table.to_string(),
            page: 0,
            offset,
            reason,
        };
        if bytes.len() < fixed {
            return Err(damaged(
                bytes.len(),
                "a row that is shorter than its columns",
            ));
        }
        for column in self.schema.variable_columns() {
            let reference = Reference::at(bytes, column.offset);
            let Some(Address(at)) = reference.cell() else {
                continue;
            };
            let end = usize::try_from(at).ok();
            let end = end.and_then(|at| at.checked_add(reference.len()));
            if at < fixed as u64 || end.is_none_or(|end| end > bytes.len()) {
                return Err(damaged(column.offset, "a value outside of its row"));
            }
        }
        RowRef::new(OneRow::of(bytes), &self.schema, &self.table, Address(0))
    }

    /// The number of the column with this name.
    ///
    /// # Errors
    /// [`RowError::UnknownColumn`].
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
    /// [`RowError`]: an unknown column, or one that is given twice.
    pub fn named<'v>(&self, values: &'v [(&str, Value)]) -> Result<RowWriter<'v>, TableError> {
        Ok(RowWriter::named(&self.schema, &self.table, values)?)
    }

    /// A new row: of columns that are not set, their defaults.
    ///
    /// # Errors
    /// [`RowError`]: a value that does not fit its column, a column without one, a condition that is not met.
    pub fn new_row(&self, row: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        let mut row = row.clone();
        row.complete(&self.schema, &self.table)?;
        self.fill(vec![0; self.schema.row_bytes], &row)
    }

    /// A row that stands elsewhere, as bytes of its own. It was checked when it was stored there.
    ///
    /// # Errors
    /// What reading it says.
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
    /// Those of [`RowFormat::new_row`], and [`TableError::KeyChanged`].
    pub fn changed_row(&self, bytes: &[u8], change: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        let there = self.row(bytes)?;
        for part in &self.schema.primary.key {
            let kind = self.schema.columns[part.column].kind;
            let given = change.get(part.column);
            let now = there.get_at(part.column)?;
            if given.is_some_and(|given| !same(kind, now, given)) {
                return Err(self.key_changed());
            }
        }
        // Long values are put together anew, so that none is left that nothing names.
        let mut all = change.clone();
        all.fit(&self.schema, &self.table)?;
        for (number, column) in self.schema.live_columns() {
            if column.kind.is_variable() && change.get(number).is_none() {
                all.set(number, there.get_at(number)?);
            }
        }
        self.fill(bytes[..self.schema.row_bytes].to_vec(), &all)
    }

    /// The row of a record, whose columns are the table's ([`RowFormat::check_record`]).
    ///
    /// # Errors
    /// [`TableError::Row`]: a condition that is not met.
    pub fn record_row(&self, record: &[u8]) -> Result<Vec<u8>, TableError> {
        super::check_declared(&self.schema, &self.table, record)?;
        self.check_conditions(record)?;
        Ok(record.to_vec())
    }

    /// That an update changed the key.
    #[cold]
    pub fn key_changed(&self) -> TableError {
        let table = self.table.to_string();
        TableError::KeyChanged { table }
    }

    /// That there is a row with this key.
    #[cold]
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

    /// Stores what is set, and checks the conditions.
    fn fill(&self, fixed: Vec<u8>, row: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        row.check(&self.schema, &self.table)?;
        let filled = self.store(fixed, row)?;
        self.check_conditions(&filled)?;
        Ok(filled)
    }

    /// Stores what is set.
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

    fn check_conditions(&self, bytes: &[u8]) -> Result<(), TableError> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        let name = || self.table.to_string();
        let row = self.row(bytes)?;
        let value = |column| row.get_at(column);
        meets(&name, &self.schema, &self.conditions, value)
    }

    /// The key of a row, as bytes.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are no row.
    pub fn key_of(&self, bytes: &[u8]) -> Result<Vec<u8>, TableError> {
        self.row(bytes)?;
        self.key_of_checked(bytes)
    }

    fn key_of_checked(&self, bytes: &[u8]) -> Result<Vec<u8>, TableError> {
        let mut key = KeyBytes::default();
        self.key.of_row(OneRow::of(bytes), Address(0), &mut key)?;
        Ok(key.to_vec())
    }

    /// The number of the index of this name; `None`: that of the primary key.
    ///
    /// # Errors
    /// [`TableError::UnknownIndex`].
    pub fn index(&self, name: &str) -> Result<Option<usize>, TableError> {
        if name == PRIMARY {
            return Ok(None);
        }
        let mut indexes = self.schema.indexes.iter();
        match indexes.position(|index| index.name == name) {
            Some(number) => Ok(Some(number)),
            None => Err(TableError::UnknownIndex {
                table: self.table.to_string(),
                index: name.to_string(),
            }),
        }
    }

    /// What a row is known by in each of the schema's other indexes, in their order: bytes that no other row has, or
    /// may have if the index is unique. They begin with the index's key, and those of no other key do.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are no row.
    pub fn index_keys(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TableError> {
        self.row(bytes)?;
        let indexes = self.indexes.iter().zip(&self.schema.indexes);
        let keys = indexes.map(|(shape, definition)| {
            let mut key = KeyBytes::default();
            let has_null = shape.of_row(OneRow::of(bytes), Address(0), &mut key)?;
            let mut key = key.to_vec();
            // Rows with a null are never equal.
            if !definition.unique || has_null {
                key.extend(self.key_of_checked(bytes)?);
            }
            Ok::<_, TableError>(key)
        });
        keys.collect()
    }

    /// That there is a row with this one's key in a unique index.
    #[cold]
    pub fn duplicate_value(&self, index: usize, bytes: &[u8]) -> TableError {
        let mut key = KeyBytes::default();
        let shape = &self.indexes[index];
        let found = shape.of_row(OneRow::of(bytes), Address(0), &mut key);
        TableError::DuplicateValue {
            table: self.table.to_string(),
            index: self.schema.indexes[index].name.clone(),
            values: shape.values_of(&key).into(),
            key: found.map_or_else(|error| error.to_string(), |_| shape.text_of(&key)),
        }
    }

    /// The key of a record with this key, as bytes.
    ///
    /// # Errors
    /// None for records of the table ([`RowFormat::check_record`]).
    pub fn record_key<R: Record>(&self, key: &R::Key<'_>) -> Result<Vec<u8>, TableError> {
        let Some(plain) = R::PLAIN else {
            return self.key(&KeyOf::<R>(key));
        };
        let mut row = vec![0; self.schema.row_bytes];
        if let Some(place) = row.get_mut(plain.key()) {
            place.copy_from_slice(R::plain_key(key));
        }
        self.key_of_checked(&row)
    }

    /// A new row of a record.
    ///
    /// # Errors
    /// That a value does not fit its column, or the row a condition; if the handle is of another table.
    pub fn row_of_record<R: Record>(&self, record: &R) -> Result<Vec<u8>, TableError> {
        match R::PLAIN {
            Some(_) => self.record_row(record.plain_bytes()),
            None => {
                let columns = R::columns_in(&self.schema, &self.table)?;
                self.new_row(&values_of(&columns, record))
            }
        }
    }

    /// A row with the changes of its record. Columns that are no fields stay as they are.
    ///
    /// # Errors
    /// Those of [`RowFormat::row_of_record`].
    pub fn row_of_changed<R: Record>(
        &self,
        before: &[u8],
        record: &R,
    ) -> Result<Vec<u8>, TableError> {
        match R::PLAIN {
            Some(_) => self.record_row(record.plain_bytes()),
            None => {
                let columns = R::columns_in(&self.schema, &self.table)?;
                self.changed_row(before, &values_of(&columns, record))
            }
        }
    }

    /// The record of a row.
    ///
    /// # Errors
    /// That the row is damaged, or a value none of its field's type; if the handle is of another table.
    pub fn record_of<R: Record>(&self, bytes: &[u8]) -> Result<R, TableError> {
        let columns = R::columns_in(&self.schema, &self.table)?;
        match R::PLAIN {
            Some(plain) if bytes.len() == plain.bytes => {
                let found = Found {
                    pages: bytes,
                    schema: &self.schema,
                    table: &self.table,
                    at: Address(0),
                };
                R::copy_row(found, &columns)
            }
            _ => R::read_row(&columns, &self.row(bytes)?),
        }
    }

    /// The key with these values, as bytes.
    ///
    /// # Errors
    /// [`TableError::KeyValue`], [`TableError::KeyColumns`], [`TableError::KeyTooLong`], [`RowError::Count`].
    pub fn key(&self, values: &(impl KeyValues + ?Sized)) -> Result<Vec<u8>, TableError> {
        let key = self.search_key(None, values)?;
        if !key.is_whole {
            let mut given = 0;
            values.each(&mut |_| given += 1);
            let error = RowError::Count {
                table: self.table.to_string(),
                what: "key columns",
                wanted: self.key.width(),
                given,
            };
            return Err(error.into());
        }
        Ok(key.bytes.to_vec())
    }

    fn search_key(
        &self,
        index: Option<usize>,
        values: &(impl KeyValues + ?Sized),
    ) -> Result<SearchKey, TableError> {
        let (shape, name) = match index {
            None => (&self.key, PRIMARY),
            Some(number) => (&self.indexes[number], &*self.schema.indexes[number].name),
        };
        let found = shape.of_values(values);
        found.map_err(|bad: BadKey| {
            bad.into_error(&self.table, name, shape.width(), Some(&self.schema))
        })
    }

    /// The keys of a range of values in an index, or in that of the primary key (`None`), of all columns of the key or
    /// of the first ones: a bound of fewer stands for all keys that begin with them.
    ///
    /// # Errors
    /// As [`RowFormat::key`]; [`TableError::ReversedRange`].
    ///
    /// # Panics
    /// If there is no such index.
    pub fn key_range<K: KeyValues>(
        &self,
        index: Option<usize>,
        range: &impl RangeBounds<K>,
    ) -> Result<KeyRange, TableError> {
        let bytes = |bound: Bound<&K>| {
            let bytes =
                |values| Ok::<_, TableError>(self.search_key(index, values)?.bytes.to_vec());
            Ok::<_, TableError>(match bound {
                Bound::Included(values) => Bound::Included(bytes(values)?),
                Bound::Excluded(values) => Bound::Excluded(bytes(values)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        let (start, end) = (bytes(range.start_bound())?, bytes(range.end_bound())?);
        let is_same = match (&start, &end) {
            (
                Bound::Included(start) | Bound::Excluded(start),
                Bound::Included(end) | Bound::Excluded(end),
            ) => start == end,
            _ => false,
        };
        let lower = match start {
            Bound::Excluded(key) => match behind(key) {
                Some(key) => Bound::Included(key),
                // Behind the last key there can be: nothing.
                None => Bound::Excluded(vec![u8::MAX; crate::schema::KEY_BYTES_MAX + 64]),
            },
            other => other,
        };
        let upper = match end {
            Bound::Included(key) => match behind(key) {
                Some(key) => Bound::Excluded(key),
                None => Bound::Unbounded,
            },
            other => other,
        };
        match (&lower, &upper) {
            (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to))
                if from > to && !is_same =>
            {
                let index = index.map(|number| &self.schema.indexes[number].name);
                Err(TableError::ReversedRange {
                    table: self.table.to_string(),
                    index: index.unwrap_or(&self.schema.primary.name).clone(),
                })
            }
            _ => Ok((lower, upper)),
        }
    }

    /// Whether records of this type are the table's rows.
    ///
    /// # Errors
    /// [`TableError::SchemaDiffers`], with both sides.
    pub fn check_record<R: Record>(&self) -> Result<(), TableError> {
        crate::compare::check_record::<R>(&self.table, &self.schema)
    }
}

/// The first key behind all that begin with these bytes; `None` if there can be none.
fn behind(mut beginning: Vec<u8>) -> Option<Vec<u8>> {
    while beginning.last() == Some(&u8::MAX) {
        beginning.pop();
    }
    *beginning.last_mut()? += 1;
    Some(beginning)
}

#[cfg(test)]
mod tests;
