//! References between tables, checked inside the transaction: a row refers to a row that is there, or to none; a row to
//! which others refer does not go, or they go with it, and it keeps the columns that they refer to.
//!
//! Who refers to a row is found by an index that begins with the reference's columns. Without one, all rows of the
//! table that refers are looked at.

use super::Transaction;
use crate::error::TableError;
use crate::key::Edge;
use crate::rows::{RowRef, find_row, same, shown};
use crate::schema::{ForeignKey, IndexDefinition, OnDelete, SchemaError, ValueRef};
use crate::table::TableState;
use sardonyx_base::error::Error;
use sardonyx_base::waiting;
use sardonyx_storage::log::LogError;
use sardonyx_storage::page::Address;
use std::collections::BTreeSet;

/// After so many rows of a table without a fitting index it is asked whether the statement is to end.
const ROWS_BETWEEN_LOOKS: usize = 4096;

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

    fn row_ref(&self, table: u16, row: Address) -> Result<RowRef<'_>, TableError> {
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
    fn check_references(&self, table: u16, row: Address) -> Result<(), TableError> {
        let there = self.row_ref(table, row)?;
        for reference in &self.state(table).schema.foreign_keys {
            let columns = reference.columns.iter();
            let values = columns
                .map(|&column| there.get_at(column))
                .collect::<Result<Vec<_>, _>>()?;
            if values.contains(&ValueRef::Null) || self.is_there(reference, &values)? {
                continue;
            }
            return Err(TableError::NoSuchReference {
                table: self.space.name(table),
                foreign_key: reference.name.clone(),
                referenced: self.space.name(reference.table),
                key: text_of(&values),
            });
        }
        Ok(())
    }

    /// Whether there is a row to which a reference with these values refers.
    fn is_there(
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

    /// The rows of a table that refer by a reference to a row with these values.
    fn referring(
        &self,
        table: u16,
        reference: &ForeignKey,
        values: &[ValueRef<'_>],
    ) -> Result<Vec<Address>, TableError> {
        let (nodes, rows) = (self.space.indexes.bytes(), self.space.store.bytes());
        let state = self.state(table);
        let begins = |index: &IndexDefinition| {
            let key = index.key.iter().map(|part| part.column);
            key.take(reference.columns.len())
                .eq(reference.columns.iter().copied())
        };
        let mut indexes = state.secondary.iter();
        if let Some(index) = indexes.find(|index| begins(&index.what.definition)) {
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
            if number % ROWS_BETWEEN_LOOKS == 0
                && let Some(reason) = waiting::interruption()
            {
                return Err(LogError::Interrupted(reason).into());
            }
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

    /// Calls `each` with the rows that refer to a row by columns of it for which `concerns` says so.
    fn each_referring(
        &self,
        table: u16,
        row: Address,
        concerns: impl Fn(usize) -> bool,
        mut each: impl FnMut(u16, &ForeignKey, Vec<Address>, &[ValueRef<'_>]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let there = self.row_ref(table, row)?;
        for (number, state) in self.space.tables.iter().enumerate() {
            let references = state.iter().flat_map(|state| &state.schema.foreign_keys);
            for reference in references.filter(|reference| reference.table == table) {
                if !reference.referenced.iter().any(|&column| concerns(column)) {
                    continue;
                }
                let columns = reference.referenced.iter();
                let values = columns
                    .map(|&column| there.get_at(column))
                    .collect::<Result<Vec<_>, _>>()?;
                if values.contains(&ValueRef::Null) {
                    continue;
                }
                let rows = self.referring(number as u16, reference, &values)?;
                each(number as u16, reference, rows, &values)?;
            }
        }
        Ok(())
    }

    /// Checks that no row refers to the columns of a row that are about to change.
    ///
    /// # Errors
    /// [`TableError::Referenced`].
    pub(crate) fn check_unreferenced(
        &self,
        table: u16,
        row: Address,
        changes: impl Fn(usize) -> bool,
    ) -> Result<(), TableError> {
        self.each_referring(
            table,
            row,
            changes,
            |by, reference, rows, values| match rows.is_empty() {
                true => Ok(()),
                false => Err(self.referenced(by, reference, values)),
            },
        )
    }

    fn referenced(&self, by: u16, reference: &ForeignKey, values: &[ValueRef<'_>]) -> TableError {
        TableError::Referenced {
            table: self.space.name(by),
            foreign_key: reference.name.clone(),
            referenced: self.space.name(reference.table),
            key: text_of(values),
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
            self.each_referring(
                table,
                row,
                |_| true,
                |by, reference, rows, values| {
                    for referring in rows {
                        match reference.on_delete {
                            OnDelete::Restrict => {
                                let error = self.referenced(by, reference, values);
                                staying.push(((by, referring), error));
                            }
                            OnDelete::Cascade => {
                                if known.insert((by, referring)) {
                                    going.push((by, referring));
                                }
                            }
                        }
                    }
                    Ok(())
                },
            )?;
        }
        if let Some((_, error)) = staying.into_iter().find(|(row, _)| !known.contains(row)) {
            return Err(error);
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
    pub(crate) fn check_all_references(&self, table: u16) -> Result<(), TableError> {
        let rows = self.state(table).records(self.space.store.bytes());
        rows.into_iter()
            .try_for_each(|row| self.check_references(table, row))
    }
}

#[cold]
fn text_of(values: &[ValueRef<'_>]) -> String {
    let values: Vec<_> = values.iter().map(|value| shown(*value)).collect();
    format!("({})", values.join(", "))
}
