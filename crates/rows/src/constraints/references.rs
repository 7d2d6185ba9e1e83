//! References between tables, checked inside the transaction. A row refers to an existing row, or to none. A row to
//! which others refer is not deleted, or they are deleted with it, and it keeps the columns that they refer to.
//!
//! The rows that refer to a row are found by the primary key, if it is of the reference's columns, or by an index that
//! begins with them. Without either, all rows of the referring table are read.

use super::ConstrainedRows;
use super::checks::meets;
use super::held::Why;
use super::keys::{find_shared, note_shared};
use crate::error::TableError;
use crate::read::ReadRow;
use crate::row::{same, shown};
use crate::schema::{ForeignKey, Schema, SchemaError, Type, Value, ValueRef};
use crate::value_text::rescale;
use sardonyx_base::waiting::{self, Reason};
use sardonyx_storage::log::LogError;
use std::sync::Arc;

/// After so many rows that are looked at one by one it is asked whether the statement is to end.
const ROWS_BETWEEN_LOOKS: usize = 256;

/// Looks now and then whether the statement is to end, while rows are looked at one by one.
///
/// # Errors
/// Why it is to end.
#[doc(hidden)]
pub fn check_interruption(row: usize) -> Result<(), TableError> {
    if !row.is_multiple_of(ROWS_BETWEEN_LOOKS) {
        return Ok(());
    }
    let walked = if row == 0 { 0 } else { ROWS_BETWEEN_LOOKS };
    match waiting::walked(walked as u64) {
        Some(reason) => Err(interrupted(reason)),
        None => Ok(()),
    }
}

/// The error of a statement that is to end for this reason.
#[cold]
pub(super) fn interrupted(reason: Reason) -> TableError {
    LogError::Interrupted(reason).into()
}

/// Values of a reference by which rows may refer to a row.
#[derive(Debug)]
pub(super) struct Referred {
    pub by: u16,
    pub schema: Arc<Schema>,
    /// The index of the reference in the schema.
    at: usize,
    pub values: Vec<Value>,
}

impl Referred {
    pub fn reference(&self) -> &ForeignKey {
        &self.schema.foreign_keys[self.at]
    }

    fn values(&self) -> Vec<ValueRef<'_>> {
        self.values.iter().map(Value::as_ref).collect()
    }

    /// Finds them in the table that has the reference.
    pub fn rows<S: ConstrainedRows>(&self, store: &S) -> Result<Vec<S::Place>, TableError> {
        referring(store, self.by, self.reference(), &self.values())
    }

    /// The error of a deletion or change that rows which refer so prevent.
    pub fn refused<S: ConstrainedRows>(&self, store: &S) -> TableError {
        referenced(store, self.by, self.reference(), &self.values())
    }
}

/// The values of columns of a row.
pub(super) fn values_of<'r>(
    row: &'r impl ReadRow,
    columns: &[usize],
) -> Result<Vec<ValueRef<'r>>, TableError> {
    columns.iter().map(|&column| row.value_at(column)).collect()
}

/// Checks a row in its current state: the table's conditions, and the rows that it refers to.
///
/// # Errors
/// [`RowError::Check`](crate::RowError::Check), [`TableError::NoSuchReference`]; the caller rolls back.
pub fn check_row<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
) -> Result<(), TableError> {
    check_conditions(store, table, at.clone())?;
    check_references(store, table, at)
}

/// The same of a row that was changed: references are checked whose columns changed, as `changes` says, or are generated.
/// Others need not hold: they may not be valid.
///
/// # Errors
/// As [`check_row`].
pub fn check_changed_row<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
    changes: &dyn Fn(usize) -> bool,
) -> Result<(), TableError> {
    check_conditions(store, table, at.clone())?;
    check_changed_references(store, table, at, changes)
}

/// Checks that a row, in its current state, meets the conditions of its table.
///
/// # Errors
/// The errors of [`meets`].
pub fn check_conditions<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
) -> Result<(), TableError> {
    let schema = match store.row_schema(table) {
        Some(schema) if !schema.checks.is_empty() => Arc::clone(schema),
        _ => return Ok(()),
    };
    // A definition rewrites rows that need not meet them.
    if store.held().skips_rows(table) {
        return Ok(());
    }
    let conditions = store.conditions(table)?;
    let row = store.row_there(table, at)?;
    let value = |column| row.value_at(column);
    meets(&|| store.name_of(table), &schema, &conditions, value)
}

/// Checks that the rows that a row refers to exist, and that no other row has its deferrable keys.
///
/// # Errors
/// [`TableError::NoSuchReference`], [`TableError::DuplicateValue`].
pub fn check_references<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
) -> Result<(), TableError> {
    check_changed_references(store, table, at, &|_| true)
}

/// The same of a row that was changed, of references whose columns changed or are generated.
///
/// # Errors
/// As [`check_references`].
pub fn check_changed_references<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
    changes: &dyn Fn(usize) -> bool,
) -> Result<(), TableError> {
    let is_later = |schema: &Schema| {
        let mut indexes = schema.indexes.iter();
        !schema.foreign_keys.is_empty() || indexes.any(|index| index.deferrable)
    };
    let schema = match store.row_schema(table) {
        Some(schema) if is_later(schema) => Arc::clone(schema),
        _ => return Ok(()),
    };
    let mut missing = Vec::new();
    let there = store.row_there(table, at)?;
    let is_generated = |column| {
        let declared = schema.declared(column);
        declared.is_some_and(|declared| declared.generated().is_some())
    };
    // A definition rewrites rows that need not hold.
    let skips = store.held().skips_rows(table);
    let concerns = |column: &usize| !skips && (changes(*column) || is_generated(*column));
    let references = schema.foreign_keys.iter();
    let references = references.filter(|key| key.columns.iter().any(concerns));
    find_missing(store, table, references, &there, &mut missing)?;
    let shared = find_shared(store, table, &schema, &there)?;
    drop(there);
    note_missing(store, table, &schema, missing);
    note_shared(store, table, &schema, shared);
    Ok(())
}

/// Checks a given row's references that use a column selected by `concerns`.
///
/// # Errors
/// [`TableError::NoSuchReference`].
pub fn check_references_of<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    row: &impl ReadRow,
    concerns: impl Fn(usize) -> bool,
) -> Result<(), TableError> {
    let Some(schema) = store.row_schema(table).map(Arc::clone) else {
        return Ok(());
    };
    let references = schema.foreign_keys.iter();
    let references = references.filter(|key| key.columns.iter().any(|&column| concerns(column)));
    let mut missing = Vec::new();
    find_missing(store, table, references, row, &mut missing)?;
    note_missing(store, table, &schema, missing);
    Ok(())
}

/// The same for all rows of a table, of references that were not among those `before`.
///
/// # Errors
/// [`TableError::NoSuchReference`]; that the statement is to end.
pub fn check_added_references<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    before: &[ForeignKey],
) -> Result<(), TableError> {
    let Some(schema) = store.row_schema(table).map(Arc::clone) else {
        return Ok(());
    };
    let (references, is_there) = (&schema.foreign_keys, |key| {
        schema.foreign_keys.contains(key)
    });
    // One that only gets another name holds as before. One beside it is new: that one need not be valid.
    let gone: Vec<&ForeignKey> = before.iter().filter(|key| !is_there(key)).collect();
    let is_renamed = |added: &ForeignKey| {
        gone.iter().any(|gone| {
            (&gone.columns, gone.table, &gone.referenced)
                == (&added.columns, added.table, &added.referenced)
        })
    };
    let is_new = |key: &&ForeignKey| !before.contains(key) && !is_renamed(key);
    let added: Vec<&ForeignKey> = references.iter().filter(is_new).collect();
    if added.is_empty() || store.are_checked(table) {
        return Ok(());
    }
    let mut missing = Vec::new();
    for (number, at) in store.places(table).enumerate() {
        let at = at?;
        check_interruption(number)?;
        let there = store.row_there(table, at)?;
        find_missing(store, table, added.iter().copied(), &there, &mut missing)?;
    }
    note_missing(store, table, &schema, missing);
    Ok(())
}

/// A reference and its values, to which no row has the key.
type Missing<'k> = (&'k ForeignKey, Vec<Value>);

/// Finds the references of a row whose rows are missing, where these are noted.
///
/// # Errors
/// [`TableError::NoSuchReference`] where they are refused.
fn find_missing<'k, S: ConstrainedRows>(
    store: &S,
    table: u16,
    references: impl IntoIterator<Item = &'k ForeignKey>,
    row: &impl ReadRow,
    missing: &mut Vec<Missing<'k>>,
) -> Result<(), TableError> {
    for reference in references {
        if reference.unchecked.rows {
            continue;
        }
        let values = values_of(row, &reference.columns)?;
        if values.contains(&ValueRef::Null) || is_there(store, reference, &values)? {
            continue;
        }
        if !store.held().holds() {
            return Err(no_such_reference(store, table, reference, &values));
        }
        let values: Vec<Value> = values.iter().map(|value| value.to_value()).collect();
        missing.push((reference, values));
    }
    Ok(())
}

fn note_missing<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    schema: &Schema,
    missing: Vec<Missing<'_>>,
) {
    for (reference, values) in missing {
        let held = store.held_mut();
        held.note(table, schema, reference, values, Why::REFERS);
    }
}

pub(super) fn no_such_reference<S: ConstrainedRows>(
    store: &S,
    table: u16,
    reference: &ForeignKey,
    values: &[ValueRef<'_>],
) -> TableError {
    TableError::NoSuchReference {
        table: store.name_of(table),
        foreign_key: reference.name.clone().into(),
        referenced: store.name_of(reference.table),
        key: text_of(values).into(),
        values: values.iter().map(|value| value.to_value()).collect(),
    }
}

pub(super) fn referenced<S: ConstrainedRows>(
    store: &S,
    by: u16,
    reference: &ForeignKey,
    values: &[ValueRef<'_>],
) -> TableError {
    TableError::Referenced {
        table: store.name_of(by),
        foreign_key: reference.name.clone().into(),
        referenced: store.name_of(reference.table),
        key: text_of(values).into(),
        values: values.iter().map(|value| value.to_value()).collect(),
    }
}

/// True if the row exists to which a reference with these values refers.
pub(super) fn is_there<S: ConstrainedRows>(
    store: &S,
    reference: &ForeignKey,
    values: &[ValueRef<'_>],
) -> Result<bool, TableError> {
    let found = store.row_with(reference.table, &reference.referenced, values)?;
    Ok(found.is_some())
}

/// True if a reference's columns are the primary key, in its order: one row at most refers so.
fn is_primary_key(schema: &Schema, reference: &ForeignKey) -> bool {
    let key = schema.primary.key.iter().map(|part| part.column);
    key.eq(reference.columns.iter().copied())
}

/// True if the rows that refer by a reference are found without reading all rows of their table.
pub(super) fn are_found<S: ConstrainedRows>(
    store: &S,
    table: u16,
    schema: &Schema,
    reference: &ForeignKey,
) -> bool {
    is_primary_key(schema, reference) || store.has_index_of(table, &reference.columns)
}

/// The rows of a table that refer by a reference to a row with these values.
pub(super) fn referring<S: ConstrainedRows>(
    store: &S,
    table: u16,
    reference: &ForeignKey,
    values: &[ValueRef<'_>],
) -> Result<Vec<S::Place>, TableError> {
    let mut found = Vec::new();
    let Some(schema) = store.row_schema(table) else {
        return Ok(found);
    };
    if is_primary_key(schema, reference) {
        let row = store.row_with(table, &reference.columns, values)?;
        return Ok(row.into_iter().collect());
    }
    if let Some(found) = store.rows_with(table, &reference.columns, values)? {
        return Ok(found);
    }
    for (number, at) in store.places(table).enumerate() {
        let at = at?;
        check_interruption(number)?;
        let there = store.row_there(table, at.clone())?;
        let mut refers = true;
        for (&column, &value) in reference.columns.iter().zip(values) {
            let kind = schema.columns[column].kind;
            refers &= same(kind, there.value_at(column)?, value);
        }
        if refers {
            found.push(at);
        }
    }
    Ok(found)
}

/// The references to a row by columns of it for which `concerns` returns true, with its values there.
pub(super) fn referred<S: ConstrainedRows>(
    store: &S,
    table: u16,
    at: S::Place,
    concerns: &dyn Fn(usize) -> bool,
) -> Result<Vec<Referred>, TableError> {
    let there = store.row_there(table, at)?;
    let mut found = Vec::new();
    for by in store.referring(table) {
        let Some(schema) = store.row_schema(by) else {
            continue;
        };
        for (at, reference) in schema.foreign_keys.iter().enumerate() {
            let mut columns = reference.referenced.iter();
            let is_checked = reference.table == table && !reference.unchecked.referenced;
            if !is_checked || !columns.any(|&column| concerns(column)) {
                continue;
            }
            let values = values_of(&there, &reference.referenced)?;
            if values.contains(&ValueRef::Null) {
                continue;
            }
            let columns = reference.columns.iter();
            let columns = columns.map(|&column| schema.columns[column].kind);
            let values = columns
                .zip(values)
                .map(|(kind, value)| as_kind(kind, value));
            // A number that the columns cannot have is referred to by no row.
            if let Some(values) = values.collect() {
                found.push(Referred {
                    by,
                    schema: Arc::clone(schema),
                    at,
                    values,
                });
            }
        }
    }
    Ok(found)
}

/// The value of a referenced column as one of the column that refers to it; `None` if that cannot have it.
fn as_kind(kind: Type, value: ValueRef<'_>) -> Option<Value> {
    match (kind, value) {
        (Type::Decimal { scale }, ValueRef::Decimal(units, from)) => {
            let units = rescale(units, from, scale).ok()?;
            Some(Value::Decimal(units, scale))
        }
        (kind, ValueRef::Decimal(units, from)) if kind.is_whole() => {
            let units = rescale(units, from, 0).ok()?;
            Some(Value::Int(units))
        }
        (kind, ValueRef::NonFinite(_)) if kind.is_whole() => None,
        (_, value) => Some(value.to_value()),
    }
}

/// Checks that no row refers to the columns of a row that are about to change, or notes the references.
///
/// # Errors
/// [`TableError::Referenced`].
pub fn check_unreferenced<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
    changes: &dyn Fn(usize) -> bool,
) -> Result<(), TableError> {
    for referred in referred(store, table, at, changes)? {
        refuse_or_hold(store, &referred, Why::CHANGED)?;
    }
    Ok(())
}

/// Notes a reference to a row that goes or changes, or refuses it if rows refer so.
pub(super) fn refuse_or_hold<S: ConstrainedRows>(
    store: &mut S,
    referred: &Referred,
    why: Why,
) -> Result<(), TableError> {
    let holds = store.held().holds();
    let reference = referred.reference();
    // Without an index the rows are looked at once, when the notes are.
    let blindly = holds && !are_found(store, referred.by, &referred.schema, reference);
    if !blindly && referred.rows(store)?.is_empty() {
        return Ok(());
    }
    if !holds {
        return Err(referred.refused(store));
    }
    let (by, values) = (referred.by, referred.values.clone());
    let held = store.held_mut();
    held.note(by, &referred.schema, reference, values, why);
    Ok(())
}

/// Deletes a row that comes again, or that another replaces, in a statement: no row goes with it, and references to it
/// are noted. The caller holds references.
///
/// # Errors
/// [`TableError::Referenced`] if it does not; that the transaction is too large.
pub fn take_row<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
) -> Result<(), TableError> {
    check_unreferenced(store, table, at.clone(), &|_| true)?;
    store.delete_alone(table, at)
}

/// Checks that the references of all tables to and from this one, whose schema has just changed, can be followed.
///
/// # Errors
/// [`TableError::Schema`] that names the missing table, key or index.
pub fn check_schema<S: ConstrainedRows>(store: &S, table: u16) -> Result<(), TableError> {
    let mut numbers = store.referring(table);
    if let Err(behind) = numbers.binary_search(&table) {
        numbers.insert(behind, table);
    }
    for number in numbers {
        let Some(schema) = store.row_schema(number) else {
            continue;
        };
        for reference in &schema.foreign_keys {
            if number != table && reference.table != table {
                continue;
            }
            let checked = match store.row_schema(reference.table) {
                Some(parent) => schema.check_reference(reference, parent),
                None => Err(SchemaError::UnknownTable {
                    reference: reference.name.clone(),
                    table: store.name_of(reference.table),
                }),
            };
            checked.map_err(|source| TableError::Schema {
                table: store.name_of(number),
                source: Box::new(source),
            })?;
        }
    }
    Ok(())
}

#[cold]
pub(super) fn text_of(values: &[ValueRef<'_>]) -> String {
    let values: Vec<_> = values.iter().map(|value| shown(*value)).collect();
    format!("({})", values.join(", "))
}
