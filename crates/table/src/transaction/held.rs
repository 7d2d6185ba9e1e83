//! References that are checked later than rows change: at the end of a statement, or of the transaction.
//!
//! A caller that [holds](Transaction::hold_references) references has their violations noted instead of refused. A note
//! has the reference and the values, not the rows: [`Transaction::check_held`] looks at the rows as they stand then, so a
//! note of rows that have gone, or came back, is harmless. A return to a mark takes the notes back, too.

use super::Transaction;
use super::references::check_interruption;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::row::identity;
use sardonyx_rows::schema::{ForeignKey, Value, ValueRef};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// A reference by its table and its name.
type Place = (u16, Arc<str>);
/// The values of a reference, by their bytes.
type Notes = BTreeMap<Vec<Vec<u8>>, Note>;

/// The part of a held reference that is checked now; the notes of the rest are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Due {
    /// That rows refer to rows that are there.
    pub now: bool,
    /// That no row refers to one that was deleted, also if another has its key now. Such notes are never kept.
    pub strict_delete: bool,
    /// The same of a row that got another key.
    pub strict_update: bool,
}

impl Due {
    /// Rows with the same key as those that are gone do.
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

/// Why values are looked at.
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

/// The notes of a transaction.
#[derive(Debug, Default)]
pub(super) struct HeldReferences {
    notes: Arc<BTreeMap<Place, Notes>>,
    /// The notes at each mark of the transaction.
    at_marks: Vec<Arc<BTreeMap<Place, Notes>>>,
}

impl Transaction<'_> {
    /// From now on, references that do not hold are noted, or refused at once again.
    pub fn hold_references(&mut self, holds: bool) {
        self.holds = holds;
    }

    /// The references with notes, in the order of their tables' numbers and their names.
    pub fn held_references(&self) -> Vec<HeldReference> {
        let held = self.held.iter().flat_map(|held| held.notes.keys());
        let held = held.map(|(table, name)| HeldReference {
            table: *table,
            name: Arc::clone(name),
        });
        held.collect()
    }

    /// Checks held references as the rows now stand, as far as they are due.
    ///
    /// # Errors
    /// [`Error::Refused`] ([`TableError::NoSuchReference`], [`TableError::Referenced`]) with the first values that violate
    /// one.
    pub fn check_held(&mut self, due: impl Fn(&HeldReference) -> Due) -> Result<(), Error> {
        for reference in self.held_references() {
            let due = due(&reference);
            let place = (reference.table, reference.name);
            self.check_notes(&place, due)?;
            let Some(held) = &mut self.held else {
                continue;
            };
            if due.now {
                Arc::make_mut(&mut held.notes).remove(&place);
            } else if let Some(notes) = Arc::make_mut(&mut held.notes).get_mut(&place) {
                notes.retain(|_, note| !due.of(note.why).0);
            }
        }
        Ok(())
    }

    pub(super) fn holds_references(&self) -> bool {
        self.holds
    }

    /// Notes values of a reference.
    pub(super) fn hold(&mut self, table: u16, name: &str, values: Vec<Value>, why: Why) {
        let columns = self.state(table).schema.foreign_keys.iter();
        let Some(reference) = columns.into_iter().find(|reference| reference.name == name) else {
            return;
        };
        let key = self.identities(table, reference, values.iter().map(Value::as_ref));
        let held = self.held.get_or_insert_default();
        let notes = Arc::make_mut(&mut held.notes);
        let notes = notes.entry((table, name.into())).or_default();
        let note = notes.entry(key).or_insert(Note {
            values,
            why: Why::default(),
        });
        note.why.0 |= why.0;
    }

    /// The bytes of values of a reference: the same for values that are the same.
    fn identities<'v>(
        &self,
        table: u16,
        reference: &ForeignKey,
        values: impl Iterator<Item = ValueRef<'v>>,
    ) -> Vec<Vec<u8>> {
        let schema = &self.state(table).schema;
        let columns = reference.columns.iter().zip(values);
        let bytes = columns.map(|(&column, value)| identity(schema.columns[column].kind, value));
        bytes.collect()
    }

    fn check_notes(&self, place: &Place, due: Due) -> Result<(), TableError> {
        let table = place.0;
        let Some(notes) = self.held.as_ref().and_then(|held| held.notes.get(place)) else {
            return Ok(());
        };
        let state = self.space.tables.get(usize::from(table));
        let mut keys = state.into_iter().flatten();
        let Some(reference) = keys.find_map(|state| {
            let mut keys = state.schema.foreign_keys.iter();
            keys.find(|key| *key.name == *place.1)
        }) else {
            return Ok(());
        };
        if !notes.values().any(|note| due.of(note.why).0) {
            return Ok(());
        }
        // The rows are looked at once for all notes, where no index finds them.
        let scanned = match self.has_index_of(table, reference) {
            true => None,
            false => Some(self.all_referring(table, reference, notes)?),
        };
        for (key, note) in notes {
            let values: Vec<_> = note.values.iter().map(Value::as_ref).collect();
            let (is_due, is_strict) = due.of(note.why);
            if !is_due || !is_strict && self.is_there(reference, &values)? {
                continue;
            }
            let refers = match &scanned {
                Some(scanned) => scanned.contains(key),
                None => !self.referring(table, reference, &values)?.is_empty(),
            };
            if refers {
                return Err(match note.why.has(Why(Why::DELETED.0 | Why::CHANGED.0)) {
                    true => self.referenced(table, reference, &values),
                    false => self.no_such_reference(table, reference, &values),
                });
            }
        }
        Ok(())
    }

    /// Of these values, those that rows of a table have in a reference.
    fn all_referring(
        &self,
        table: u16,
        reference: &ForeignKey,
        notes: &Notes,
    ) -> Result<HashSet<Vec<Vec<u8>>>, TableError> {
        let mut found = HashSet::new();
        for (number, row) in self
            .state(table)
            .records(self.space.store.bytes())
            .enumerate()
        {
            check_interruption(number)?;
            let row = self.row_ref(table, row)?;
            let columns = reference.columns.iter();
            let values = columns
                .map(|&column| row.get_at(column))
                .collect::<Result<Vec<_>, _>>()?;
            if values.contains(&ValueRef::Null) {
                continue;
            }
            let key = self.identities(table, reference, values.into_iter());
            if notes.contains_key(&key) {
                found.insert(key);
            }
        }
        Ok(found)
    }

    /// Keeps the notes of a mark.
    pub(super) fn mark_held(&mut self, mark: usize) {
        if let Some(held) = &mut self.held {
            held.at_marks.resize_with(mark, Arc::default);
            held.at_marks.push(Arc::clone(&held.notes));
        }
    }

    /// The notes are again as they were at a mark.
    pub(super) fn return_held(&mut self, mark: usize) {
        if let Some(held) = &mut self.held {
            // A mark from before the first note has none.
            held.notes = held.at_marks.get(mark).cloned().unwrap_or_default();
            held.at_marks.truncate(mark + 1);
        }
    }
}
