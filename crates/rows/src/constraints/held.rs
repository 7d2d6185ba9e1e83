//! References, and deferrable unique keys, that are checked later than rows change: at the end of a statement, or of the
//! transaction.
//!
//! A caller that [holds](HeldReferences::hold) references has their violations noted instead of refused. A note has
//! the reference, or the key, and the values, not the rows. [`check_held`] reads the rows at its own time, so a note of rows
//! that were deleted, or inserted again, is harmless. A return to a mark takes the notes back, too.

use super::ConstrainedRows;
use super::keys::{duplicate, rows_of_key};
use super::notes::{NoteKey, Notes, OfPlace, Place};
use super::references::{
    are_found, check_interruption, is_there, no_such_reference, referenced, referring, values_of,
};
use crate::error::TableError;
use crate::row::identity;
use crate::schema::{ForeignKey, IndexDefinition, Schema, Value, ValueRef};
use std::collections::HashSet;
use std::sync::Arc;

/// The part of a held reference that is checked now; the notes of the rest are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Due {
    /// True to check that rows refer to existing rows.
    pub now: bool,
    /// True to check that no row refers to one that was deleted, even if another has its key now. Such notes are never
    /// kept.
    pub strict_delete: bool,
    /// The same of a row that got another key.
    pub strict_update: bool,
}

impl Due {
    /// Other rows with the key of the deleted ones are accepted.
    pub const NOW: Due = Due {
        now: true,
        strict_delete: false,
        strict_update: false,
    };

    /// True first if a note is checked; second if a row with the same key does not satisfy it.
    pub(super) fn of(self, why: Why) -> (bool, bool) {
        let is_strict = self.strict_delete && why.has(Why::DELETED)
            || self.strict_update && why.has(Why::CHANGED);
        (self.now || is_strict, is_strict)
    }
}

/// A reference, or a deferrable unique key, with notes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldReference {
    /// The number of the table that refers, or has the key.
    pub table: u16,
    /// True of a unique key.
    pub is_key: bool,
    /// The name of the reference, or of the key's index, there.
    pub name: Arc<str>,
}

/// Why values are checked: bits, since several may be so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Why(u8);

impl Why {
    /// A row refers to a row that was not there.
    pub const REFERS: Why = Why(1);
    /// A row was deleted to which others may refer.
    pub const DELETED: Why = Why(2);
    /// A row got another key, to which others may refer.
    pub const CHANGED: Why = Why(4);
    /// Several rows had one key.
    pub const SHARED: Why = Why(8);

    pub fn has(self, other: Why) -> bool {
        self.0 & other.0 != 0
    }

    /// Both.
    pub fn with(self, other: Why) -> Why {
        Why(self.0 | other.0)
    }
}

/// References of a transaction that are checked later. Without notes nothing is allocated.
#[derive(Debug, Default)]
pub struct HeldReferences {
    /// References that do not hold are noted.
    holds: bool,
    /// The number of the transaction's marks.
    marks: usize,
    /// The table whose rows need not meet a constraint that it gets.
    skipped: Option<u16>,
    /// Allocated with the first note.
    noted: Option<Box<Notes>>,
}

impl HeldReferences {
    /// From now on, references that do not hold are noted, or refused at once again.
    pub fn hold(&mut self, holds: bool) {
        self.holds = holds;
    }

    /// True if references that do not hold are noted.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// From now on, until it is another one or none, the rows of a table are not looked at when it gets a constraint: they
    /// need not meet it.
    pub fn skip_rows(&mut self, table: Option<u16>) {
        self.skipped = table;
    }

    /// True if the rows of a table are not looked at.
    pub fn skips_rows(&self, table: u16) -> bool {
        self.skipped == Some(table)
    }

    /// True if no reference has notes.
    pub fn is_empty(&self) -> bool {
        self.noted.as_ref().is_none_or(|noted| noted.is_empty())
    }

    /// The references with notes, in the order of their tables' numbers and their names.
    #[inline]
    pub fn references(&self) -> Vec<HeldReference> {
        let noted = self.noted.iter().flat_map(|noted| noted.places());
        let noted = noted.map(|(table, is_key, name)| HeldReference {
            table: *table,
            is_key: *is_key,
            name: Arc::clone(name),
        });
        noted.collect()
    }

    /// Keeps the notes of a mark of the transaction, by its number. Later marks are forgotten.
    #[inline]
    pub fn mark(&mut self, mark: usize) {
        self.marks = mark + 1;
        if let Some(noted) = &mut self.noted {
            noted.mark(mark);
        }
    }

    /// The notes are again as they were at a mark. Later marks are forgotten.
    #[inline]
    pub fn return_to(&mut self, mark: usize) {
        self.marks = mark + 1;
        if let Some(noted) = &mut self.noted {
            noted.return_to(mark);
        }
    }

    /// Forgets a mark and later ones. The notes stay.
    #[inline]
    pub fn release(&mut self, mark: usize) {
        self.marks = mark;
        if let Some(noted) = &mut self.noted {
            noted.release(mark);
        }
    }

    #[inline]
    fn notes_of(&self, place: &Place) -> Option<&OfPlace> {
        self.noted.as_ref()?.of(place)
    }

    /// Forgets the notes of a reference that were due.
    #[inline]
    fn checked(&mut self, place: &Place, due: Due) {
        if let Some(noted) = &mut self.noted {
            noted.checked(place, due, self.marks > 0);
        }
    }

    /// Notes values of a reference of a table with a schema.
    pub(super) fn note(
        &mut self,
        table: u16,
        schema: &Schema,
        reference: &ForeignKey,
        values: Vec<Value>,
        why: Why,
    ) {
        let place = (table, false, (*reference.name).into());
        self.note_at(place, schema, &reference.columns, values, why);
    }

    /// Notes values of a unique key that several rows have.
    pub(super) fn note_key(
        &mut self,
        table: u16,
        schema: &Schema,
        index: &IndexDefinition,
        values: Vec<Value>,
    ) {
        let place = (table, true, (*index.name).into());
        self.note_at(place, schema, &index.columns(), values, Why::SHARED);
    }

    /// True if values of a unique key are noted.
    pub(super) fn has_key(
        &self,
        table: u16,
        schema: &Schema,
        index: &IndexDefinition,
        values: &[ValueRef<'_>],
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let notes = self.notes_of(&(table, true, (*index.name).into()));
        let key = || identities(schema, &index.columns(), values.iter().copied());
        notes.is_some_and(|notes| notes.get(&key()).is_some())
    }

    fn note_at(
        &mut self,
        place: Place,
        schema: &Schema,
        columns: &[usize],
        values: Vec<Value>,
        why: Why,
    ) {
        let key = identities(schema, columns, values.iter().map(Value::as_ref));
        let noted = self.noted.get_or_insert_default();
        noted.note(place, key, values, why, self.marks > 0);
    }
}

/// Checks held references and keys against the current rows, as far as they are due.
///
/// # Errors
/// [`TableError::NoSuchReference`], [`TableError::Referenced`], [`TableError::DuplicateValue`], with the first values that
/// violate one.
pub fn check_held<S: ConstrainedRows>(
    store: &mut S,
    due: impl Fn(&HeldReference) -> Due,
) -> Result<(), TableError> {
    for reference in store.held().references() {
        let due = due(&reference);
        let place = (reference.table, reference.is_key, reference.name);
        match reference.is_key {
            true => check_keys(store, &place, due)?,
            false => check_notes(store, &place, due)?,
        }
        store.held_mut().checked(&place, due);
    }
    Ok(())
}

/// Checks that the noted keys of an index are of one row each.
fn check_keys<S: ConstrainedRows>(store: &S, place: &Place, due: Due) -> Result<(), TableError> {
    let table = place.0;
    // The table, or the key, may have been dropped since.
    let (Some(notes), Some(schema)) = (store.held().notes_of(place), store.row_schema(table))
    else {
        return Ok(());
    };
    let mut indexes = schema.indexes.iter();
    let index = indexes.find(|index| index.deferrable && *index.name == *place.2);
    let Some(index) = index.filter(|_| due.now) else {
        return Ok(());
    };
    for (number, (_, note)) in notes.due(due).enumerate() {
        check_interruption(number)?;
        let values: Vec<_> = note.values.iter().map(Value::as_ref).collect();
        if rows_of_key(store, table, index, &values)? > 1 {
            return Err(duplicate(store, table, index, &values));
        }
    }
    Ok(())
}

/// The bytes of values of columns: the same for values that are the same.
fn identities<'v>(
    schema: &Schema,
    columns: &[usize],
    values: impl Iterator<Item = ValueRef<'v>>,
) -> NoteKey {
    let columns = columns.iter().zip(values);
    let bytes = columns.map(|(&column, value)| identity(schema.columns[column].kind, value));
    bytes.collect()
}

fn check_notes<S: ConstrainedRows>(store: &S, place: &Place, due: Due) -> Result<(), TableError> {
    let table = place.0;
    let Some(notes) = store.held().notes_of(place) else {
        return Ok(());
    };
    // The table, or the reference, may have been dropped since.
    let Some(schema) = store.row_schema(table) else {
        return Ok(());
    };
    let mut keys = schema.foreign_keys.iter();
    let Some(reference) = keys.find(|key| *key.name == *place.2) else {
        return Ok(());
    };
    let are_found = are_found(store, table, schema, reference);
    // If neither a key nor an index finds the rows, and the referenced row of a note is absent, one scan looks at the rows for all notes.
    let mut scanned = None;
    for (number, (key, note)) in notes.due(due).enumerate() {
        check_interruption(number)?;
        let values: Vec<_> = note.values.iter().map(Value::as_ref).collect();
        let (_, is_strict) = due.of(note.why);
        if !is_strict && is_there(store, reference, &values)? {
            continue;
        }
        let refers = match (are_found, &mut scanned) {
            (true, _) => !referring(store, table, reference, &values)?.is_empty(),
            (false, Some(scanned)) => HashSet::contains(scanned, key),
            (false, scanned) => {
                let found = all_referring(store, table, reference, notes)?;
                scanned.insert(found).contains(key)
            }
        };
        if refers {
            return Err(match note.why.has(Why::DELETED.with(Why::CHANGED)) {
                true => referenced(store, table, reference, &values),
                false => no_such_reference(store, table, reference, &values),
            });
        }
    }
    Ok(())
}

/// The values, of these, that rows of a table have in a reference.
fn all_referring<S: ConstrainedRows>(
    store: &S,
    table: u16,
    reference: &ForeignKey,
    notes: &OfPlace,
) -> Result<HashSet<NoteKey>, TableError> {
    let mut found = HashSet::new();
    let Some(schema) = store.row_schema(table) else {
        return Ok(found);
    };
    for (number, at) in store.places(table).enumerate() {
        let at = at?;
        check_interruption(number)?;
        let row = store.row_there(table, at)?;
        let values = values_of(&row, &reference.columns)?;
        if values.contains(&ValueRef::Null) {
            continue;
        }
        let key = identities(schema, &reference.columns, values.into_iter());
        if notes.get(&key).is_some() {
            found.insert(key);
        }
    }
    Ok(found)
}
