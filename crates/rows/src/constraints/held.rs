//! References that are checked later than rows change: at the end of a statement, or of the transaction.
//!
//! A caller that [holds](HeldReferences::hold) references has their violations noted instead of refused. A note has
//! the reference and the values, not the rows. [`check_held`] reads the rows at its own time, so a note of rows that
//! were deleted, or inserted again, is harmless. A return to a mark takes the notes back, too.

use super::ConstrainedRows;
use super::references::{
    check_interruption, is_there, no_such_reference, referenced, referring, values_of,
};
use crate::error::TableError;
use crate::row::identity;
use crate::schema::{ForeignKey, Schema, Value, ValueRef};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// A reference by its table and its name.
type Place = (u16, Arc<str>);
/// The values of a reference, by their bytes.
type Notes = BTreeMap<Vec<Vec<u8>>, Note>;

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
    fn of(self, why: Why) -> (bool, bool) {
        let is_strict = self.strict_delete && why.has(Why::DELETED)
            || self.strict_update && why.has(Why::CHANGED);
        (self.now || is_strict, is_strict)
    }
}

/// A reference with notes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldReference {
    /// The number of the table that refers.
    pub table: u16,
    /// The name of the reference there.
    pub name: Arc<str>,
}

/// The reason why values are checked.
#[derive(Clone, Debug)]
struct Note {
    values: Vec<Value>,
    why: Why,
}

/// Bits, since several may be so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Why(u8);

impl Why {
    /// A row refers to a row that was not there.
    pub const REFERS: Why = Why(1);
    /// A row was deleted to which others may refer.
    pub const DELETED: Why = Why(2);
    /// A row got another key, to which others may refer.
    pub const CHANGED: Why = Why(4);

    fn has(self, other: Why) -> bool {
        self.0 & other.0 != 0
    }
}

/// References of a transaction that are checked later. Without notes nothing is allocated.
#[derive(Debug, Default)]
pub struct HeldReferences {
    /// References that do not hold are noted.
    holds: bool,
    /// Allocated with the first note.
    noted: Option<Box<Noted>>,
}

#[derive(Debug, Default)]
struct Noted {
    notes: Arc<BTreeMap<Place, Notes>>,
    /// The notes at each mark of the transaction.
    at_marks: Vec<Arc<BTreeMap<Place, Notes>>>,
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

    /// True if no reference has notes.
    pub fn is_empty(&self) -> bool {
        self.noted
            .as_ref()
            .is_none_or(|noted| noted.notes.is_empty())
    }

    /// The references with notes, in the order of their tables' numbers and their names.
    pub fn references(&self) -> Vec<HeldReference> {
        let noted = self.noted.iter().flat_map(|noted| noted.notes.keys());
        let noted = noted.map(|(table, name)| HeldReference {
            table: *table,
            name: Arc::clone(name),
        });
        noted.collect()
    }

    /// Keeps the notes of a mark of the transaction, by its number.
    pub fn mark(&mut self, mark: usize) {
        if let Some(noted) = &mut self.noted {
            noted.at_marks.resize_with(mark, Arc::default);
            noted.at_marks.push(Arc::clone(&noted.notes));
        }
    }

    /// The notes are again as they were at a mark.
    pub fn return_to(&mut self, mark: usize) {
        if let Some(noted) = &mut self.noted {
            // A mark from before the first note has none.
            noted.notes = noted.at_marks.get(mark).cloned().unwrap_or_default();
            noted.at_marks.truncate(mark + 1);
        }
    }

    fn notes_of(&self, place: &Place) -> Option<&Notes> {
        self.noted.as_ref()?.notes.get(place)
    }

    /// Forgets the notes of a reference that were due.
    fn checked(&mut self, place: &Place, due: Due) {
        let Some(noted) = &mut self.noted else {
            return;
        };
        if due.now {
            Arc::make_mut(&mut noted.notes).remove(place);
        } else if let Some(notes) = Arc::make_mut(&mut noted.notes).get_mut(place) {
            notes.retain(|_, note| !due.of(note.why).0);
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
        let key = identities(schema, reference, values.iter().map(Value::as_ref));
        let noted = self.noted.get_or_insert_default();
        let notes = Arc::make_mut(&mut noted.notes);
        let notes = notes.entry((table, (*reference.name).into())).or_default();
        let note = notes.entry(key).or_insert(Note {
            values,
            why: Why::default(),
        });
        note.why.0 |= why.0;
    }
}

/// Checks held references against the current rows, as far as they are due.
///
/// # Errors
/// [`TableError::NoSuchReference`], [`TableError::Referenced`], with the first values that violate one.
pub fn check_held<S: ConstrainedRows>(
    store: &mut S,
    due: impl Fn(&HeldReference) -> Due,
) -> Result<(), TableError> {
    for reference in store.held().references() {
        let due = due(&reference);
        let place = (reference.table, reference.name);
        check_notes(store, &place, due)?;
        store.held_mut().checked(&place, due);
    }
    Ok(())
}

/// The bytes of values of a reference: the same for values that are the same.
fn identities<'v>(
    schema: &Schema,
    reference: &ForeignKey,
    values: impl Iterator<Item = ValueRef<'v>>,
) -> Vec<Vec<u8>> {
    let columns = reference.columns.iter().zip(values);
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
    let Some(reference) = keys.find(|key| *key.name == *place.1) else {
        return Ok(());
    };
    if !notes.values().any(|note| due.of(note.why).0) {
        return Ok(());
    }
    // The rows are looked at once for all notes, where no index finds them.
    let scanned = match store.has_index_of(table, &reference.columns) {
        true => None,
        false => Some(all_referring(store, table, reference, notes)?),
    };
    for (key, note) in notes {
        let values: Vec<_> = note.values.iter().map(Value::as_ref).collect();
        let (is_due, is_strict) = due.of(note.why);
        if !is_due || !is_strict && is_there(store, reference, &values)? {
            continue;
        }
        let refers = match &scanned {
            Some(scanned) => scanned.contains(key),
            None => !referring(store, table, reference, &values)?.is_empty(),
        };
        if refers {
            return Err(match note.why.has(Why(Why::DELETED.0 | Why::CHANGED.0)) {
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
    notes: &Notes,
) -> Result<HashSet<Vec<Vec<u8>>>, TableError> {
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
        let key = identities(schema, reference, values.into_iter());
        if notes.contains_key(&key) {
            found.insert(key);
        }
    }
    Ok(found)
}
