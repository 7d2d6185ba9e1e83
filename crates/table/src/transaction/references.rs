//! References between tables, checked inside the transaction: a row refers to a row that is there, or to none; a row to
//! which others refer does not go, or they go with it, and it keeps the columns that they refer to.
//!
//! Who refers to a row is found by an index that begins with the reference's columns. Without one, all rows of the
//! table that refers are looked at.

use super::Transaction;
use super::held::Why;
use crate::rows::find_row;
use crate::table::TableState;
use sardonyx_base::error::Error;
use sardonyx_base::waiting;
use sardonyx_rows::TableError;
use sardonyx_rows::key::Edge;
use sardonyx_rows::row::{RowRef, same, shown};
use sardonyx_rows::schema::{
    ForeignKey, IndexDefinition, OnDelete, Schema, SchemaError, Value, ValueRef,
};
use sardonyx_storage::log::LogError;
use sardonyx_storage::page::Address;
use std::collections::BTreeSet;
use std::sync::Arc;

/// After so many rows of a table without a fitting index it is asked whether the statement is to end.
const ROWS_BETWEEN_LOOKS: usize = 4096;

/// Looks now and then whether the statement is to end, while rows are looked at one by one.
///
/// # Errors
/// Why it is to end.
pub(super) fn check_interruption(row: usize) -> Result<(), TableError> {
    if row.is_multiple_of(ROWS_BETWEEN_LOOKS)
        && let Some(reason) = waiting::interruption()
    {
        return Err(LogError::Interrupted(reason).into());
    }
    Ok(())
}

/// Notes of every table whether its rows are checked when they change, and whether others refer to it.
pub(crate) fn note_references(tables: &mut [Option<TableState>]) {
    let schemas = tables.iter().flatten().map(|state| &state.schema);
    let references = schemas.flat_map(|schema| &schema.foreign_keys);
    let referenced: BTreeSet<u16> = references.map(|reference| reference.table).collect();
    for (number, state) in tables.iter_mut().enumerate() {
        if let Some(state) = state {
            let schema = &state.schema;
            state.is_checked = !schema.foreign_keys.is_empty() || !schema.checks.is_empty();
            state.is_referenced = referenced.contains(&(number as u16));
        }
    }
}

fn has_columns(index: &IndexDefinition, columns: &[usize]) -> bool {
    let key = index.key.iter().map(|part| part.column);
    key.eq(columns.iter().copied())
}

/// True if the first columns of an index are those of a reference, in their order.
fn begins_with(index: &IndexDefinition, reference: &ForeignKey) -> bool {
    let key = index.key.iter().map(|part| part.column);
    key.take(reference.columns.len())
        .eq(reference.columns.iter().copied())
}

/// Values of a reference by which rows may refer to a row.
struct Referred {
    by: u16,
    schema: Arc<Schema>,
    /// Which of the references of the schema.
    at: usize,
    values: Vec<Value>,
}

impl Referred {
    fn reference(&self) -> &ForeignKey {
        &self.schema.foreign_keys[self.at]
    }
}

impl Transaction<'_> {
    /// Gives a table a reference to another, or to itself.
    ///
    /// # Errors
    /// [`Error::Refused`] if no unique index of the other table has just these columns, or a row refers to a row that is
    /// not there; [`Error::Limit`]. Nothing has changed then.
    pub fn add_reference(&mut self, table: u16, reference: ForeignKey) -> Result<(), Error> {
        let mut schema = self.schema_of(table)?;
        schema.foreign_keys.push(reference);
        self.store_schema(table, schema)
    }

    /// Takes a reference from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`]. Nothing has changed then.
    pub fn drop_reference(&mut self, table: u16, name: &str) -> Result<(), Error> {
        let mut schema = self.schema_of(table)?;
        schema
            .foreign_keys
            .retain(|reference| reference.name != name);
        self.store_schema(table, schema)
    }

    pub(super) fn row_ref(&self, table: u16, row: Address) -> Result<RowRef<'_>, TableError> {
        let state = self.state(table);
        RowRef::new(self.space.store.bytes(), &state.schema, &state.name, row)
    }

    /// Checks a row as it now stands: the table's conditions, and what it refers to.
    ///
    /// # Errors
    /// [`RowError::Check`](crate::RowError::Check), [`TableError::NoSuchReference`]; the caller rolls back.
    pub(crate) fn check_row(&mut self, table: u16, row: Address) -> Result<(), TableError> {
        self.check_conditions(table, row)?;
        self.check_references(table, row)
    }

    /// Checks that what a row refers to is there.
    ///
    /// # Errors
    /// [`TableError::NoSuchReference`].
    fn check_references(&mut self, table: u16, row: Address) -> Result<(), TableError> {
        let mut missing = Vec::new();
        let there = self.row_ref(table, row)?;
        for reference in &self.state(table).schema.foreign_keys {
            let columns = reference.columns.iter();
            let values = columns
                .map(|&column| there.get_at(column))
                .collect::<Result<Vec<_>, _>>()?;
            if values.contains(&ValueRef::Null) || self.is_there(reference, &values)? {
                continue;
            }
            if !self.holds_references() {
                return Err(self.no_such_reference(table, reference, &values));
            }
            let values: Vec<Value> = values.iter().map(|value| value.to_value()).collect();
            missing.push((reference.name.clone(), values));
        }
        for (name, values) in missing {
            self.hold(table, &name, values, Why::REFERS);
        }
        Ok(())
    }

    pub(super) fn no_such_reference(
        &self,
        table: u16,
        reference: &ForeignKey,
        values: &[ValueRef<'_>],
    ) -> TableError {
        TableError::NoSuchReference {
            table: self.space.name(table),
            foreign_key: reference.name.clone().into(),
            referenced: self.space.name(reference.table),
            key: text_of(values).into(),
            values: values.iter().map(|value| value.to_value()).collect(),
        }
    }

    /// Whether there is a row to which a reference with these values refers.
    pub(super) fn is_there(
        &self,
        reference: &ForeignKey,
        values: &[ValueRef<'_>],
    ) -> Result<bool, TableError> {
        let (nodes, rows) = (&self.space.indexes, self.space.store.bytes());
        let parent = self.state(reference.table);
        if has_columns(&parent.schema.primary, &reference.referenced) {
            // A value that the columns there cannot have is not there.
            let found = find_row(nodes, rows, parent, &parent.name, values);
            return Ok(found.ok().flatten().is_some());
        }
        let mut indexes = parent.secondary.iter();
        let index =
            indexes.find(|index| has_columns(&index.what.definition, &reference.referenced));
        let index = index.expect("checked when the schema was stored");
        match index.what.shape.of_values(values) {
            Ok(key) => Ok(index.find(nodes.bytes(), rows, &key.bytes)?.is_some()),
            Err(_) => Ok(false),
        }
    }

    /// True if an index finds the rows of a table by a reference.
    pub(super) fn has_index_of(&self, table: u16, reference: &ForeignKey) -> bool {
        let mut indexes = self.state(table).secondary.iter();
        indexes.any(|index| begins_with(&index.what.definition, reference))
    }

    /// The rows of a table that refer by a reference to a row with these values.
    pub(super) fn referring(
        &self,
        table: u16,
        reference: &ForeignKey,
        values: &[ValueRef<'_>],
    ) -> Result<Vec<Address>, TableError> {
        let (nodes, rows) = (self.space.indexes.bytes(), self.space.store.bytes());
        let state = self.state(table);
        let mut indexes = state.secondary.iter();
        let index = indexes.find(|index| begins_with(&index.what.definition, reference));
        if let Some(index) = index {
            let Ok(key) = index.what.shape.of_values(values) else {
                return Ok(Vec::new());
            };
            let edge = |behind| Edge {
                bytes: &key.bytes,
                behind,
            };
            let places = index.walk(nodes, rows, Some(edge(false)), Some(edge(true)))?;
            let mut cursor = index.cursor(places);
            let next = || {
                cursor
                    .next(nodes, |_| {})
                    .unwrap_or_else(|never| match never {})
            };
            return Ok(std::iter::from_fn(next).collect());
        }
        let mut found = Vec::new();
        for (number, row) in state.records(rows).enumerate() {
            check_interruption(number)?;
            let there = self.row_ref(table, row)?;
            let mut refers = true;
            for (&column, &value) in reference.columns.iter().zip(values) {
                let kind = state.schema.columns[column].kind;
                refers &= same(kind, there.get_at(column)?, value);
            }
            if refers {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// The references to a row by columns of it for which `concerns` says so, with its values there.
    fn referred(
        &self,
        table: u16,
        row: Address,
        concerns: impl Fn(usize) -> bool,
    ) -> Result<Vec<Referred>, TableError> {
        let there = self.row_ref(table, row)?;
        let mut found = Vec::new();
        for (number, state) in self.space.tables.iter().enumerate() {
            let Some(state) = state else {
                continue;
            };
            for (at, reference) in state.schema.foreign_keys.iter().enumerate() {
                if reference.table != table {
                    continue;
                }
                if !reference.referenced.iter().any(|&column| concerns(column)) {
                    continue;
                }
                let columns = reference.referenced.iter();
                let values = columns
                    .map(|&column| Ok(there.get_at(column)?.to_value()))
                    .collect::<Result<Vec<_>, TableError>>()?;
                if !values.contains(&Value::Null) {
                    found.push(Referred {
                        by: number as u16,
                        schema: Arc::clone(&state.schema),
                        at,
                        values,
                    });
                }
            }
        }
        Ok(found)
    }

    /// The rows that refer so.
    fn rows_of_referred(&self, referred: &Referred) -> Result<Vec<Address>, TableError> {
        let values: Vec<_> = referred.values.iter().map(Value::as_ref).collect();
        self.referring(referred.by, referred.reference(), &values)
    }

    /// Checks that no row refers to the columns of a row that are about to change, or notes the references.
    ///
    /// # Errors
    /// [`TableError::Referenced`].
    pub(crate) fn check_unreferenced(
        &mut self,
        table: u16,
        row: Address,
        changes: impl Fn(usize) -> bool,
    ) -> Result<(), TableError> {
        for referred in self.referred(table, row, changes)? {
            self.refuse_or_hold(referred, Why::CHANGED)?;
        }
        Ok(())
    }

    /// Notes a reference to a row that goes or changes, or refuses it if rows refer so.
    fn refuse_or_hold(&mut self, referred: Referred, why: Why) -> Result<(), TableError> {
        let holds = self.holds_references();
        // Without an index the rows are looked at once, when the notes are.
        let blindly = holds && !self.has_index_of(referred.by, referred.reference());
        if !blindly && self.rows_of_referred(&referred)?.is_empty() {
            return Ok(());
        }
        match holds {
            true => {
                self.hold(
                    referred.by,
                    &referred.reference().name,
                    referred.values.clone(),
                    why,
                );
                Ok(())
            }
            false => {
                let values: Vec<_> = referred.values.iter().map(Value::as_ref).collect();
                Err(self.referenced(referred.by, referred.reference(), &values))
            }
        }
    }

    /// Deletes a row that comes again, or that another replaces, in a statement: no row goes with it, and references to it
    /// are noted. The caller holds references.
    pub(crate) fn take_row_at(&mut self, table: u16, row: Address) -> Result<(), TableError> {
        if self.state(table).is_referenced {
            for referred in self.referred(table, row, |_| true)? {
                self.refuse_or_hold(referred, Why::CHANGED)?;
            }
        }
        self.delete_row_alone(table, row)
    }

    pub(super) fn referenced(
        &self,
        by: u16,
        reference: &ForeignKey,
        values: &[ValueRef<'_>],
    ) -> TableError {
        TableError::Referenced {
            table: self.space.name(by),
            foreign_key: reference.name.clone().into(),
            referenced: self.space.name(reference.table),
            key: text_of(values).into(),
            values: values.iter().map(|value| value.to_value()).collect(),
        }
    }

    /// Deletes a row and those that go with it; nothing if one of them must stay.
    #[cold]
    pub(crate) fn delete_with_referring(
        &mut self,
        table: u16,
        row: Address,
    ) -> Result<(), TableError> {
        let mut going = vec![(table, row)];
        let mut known = BTreeSet::from([(table, row)]);
        let mut staying = Vec::new();
        let mut at = 0;
        // Whoever refers to one that goes is found once, however they refer to each other.
        while let Some(&(table, row)) = going.get(at) {
            at += 1;
            for referred in self.referred(table, row, |_| true)? {
                match referred.reference().on_delete {
                    OnDelete::Restrict => staying.push(referred),
                    OnDelete::Cascade => {
                        for referring in self.rows_of_referred(&referred)? {
                            if known.insert((referred.by, referring)) {
                                going.push((referred.by, referring));
                            }
                        }
                    }
                }
            }
        }
        for referred in staying {
            if self.holds_references() {
                self.refuse_or_hold(referred, Why::DELETED)?;
                continue;
            }
            let rows = self.rows_of_referred(&referred)?;
            if rows.iter().any(|row| !known.contains(&(referred.by, *row))) {
                let values: Vec<_> = referred.values.iter().map(Value::as_ref).collect();
                return Err(self.referenced(referred.by, referred.reference(), &values));
            }
        }
        let savepoint = self.savepoint();
        let mut going = going.into_iter().rev();
        going
            .try_for_each(|(table, row)| self.delete_row_alone(table, row))
            .inspect_err(|_| self.roll_back_to(savepoint))
    }

    /// Checks that the references of all tables to and from this one, whose schema has just changed, can be followed.
    ///
    /// # Errors
    /// [`TableError::Schema`] that names what is missing.
    pub(crate) fn check_reference_indexes(&self, table: u16) -> Result<(), TableError> {
        for (number, state) in self.space.tables.iter().enumerate() {
            let Some(state) = state else {
                continue;
            };
            for reference in &state.schema.foreign_keys {
                if number != usize::from(table) && reference.table != table {
                    continue;
                }
                let parent = self.space.schema(reference.table);
                let checked = match parent {
                    Some(parent) => state.schema.check_reference(reference, parent),
                    None => Err(SchemaError::UnknownTable {
                        reference: reference.name.clone(),
                        table: self.space.name(reference.table),
                    }),
                };
                checked.map_err(|source| TableError::Schema {
                    table: state.name.to_string(),
                    source: Box::new(source),
                })?;
            }
        }
        Ok(())
    }

    /// Checks what all rows of a table refer to.
    ///
    /// # Errors
    /// [`TableError::NoSuchReference`].
    pub(crate) fn check_all_references(&mut self, table: u16) -> Result<(), TableError> {
        let rows = self.state(table).records(self.space.store.bytes());
        let rows: Vec<_> = rows.into_iter().collect();
        rows.into_iter()
            .try_for_each(|row| self.check_references(table, row))
    }
}

#[cold]
fn text_of(values: &[ValueRef<'_>]) -> String {
    let values: Vec<_> = values.iter().map(|value| shown(*value)).collect();
    format!("({})", values.join(", "))
}
