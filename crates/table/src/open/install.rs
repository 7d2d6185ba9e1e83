//! The end of an open transaction: its reads are compared and its changes made, as a transaction of the serial stage.

use super::changed::{Changed, Own};
use super::defining::{CreatedTable, create};
use super::life::Life;
use super::planted::{self, Planted};
use super::reads::Reads;
use super::{Known, OpenRows, OpenTables, Undo};
use crate::snapshot::SnapshotMemory;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_base::memory::Share;
use sardonyx_rows::constraints::Due;
use sardonyx_rows::row::same;
use sardonyx_rows::schema::{IndexDefinition, Value};
use sardonyx_rows::{ReadRow, RowWriter, TableError, WriteRows};
use sardonyx_storage::page::Address;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

/// Values of columns by their numbers.
type Values = Vec<(usize, Value)>;

/// The change of a row.
#[derive(Debug)]
struct Change {
    table: u16,
    /// The row with this key is deleted.
    taken: Option<Vec<Value>>,
    /// These columns of the row with this key change.
    updated: Option<(Vec<Value>, Values)>,
    /// This row is inserted.
    inserted: Option<Values>,
    /// The row at this place becomes these bytes.
    stored: Option<(Address, Arc<[u8]>)>,
}

impl Change {
    #[inline]
    fn of(table: u16) -> Self {
        Change {
            table,
            taken: None,
            updated: None,
            inserted: None,
            stored: None,
        }
    }
}

/// The memory of an open transaction that has ended. Freeing it takes time in proportion to its changes, so a thread that
/// no longer has the stage drops it.
#[derive(Debug, Default)]
#[must_use = "it is dropped outside of the stage"]
pub struct LeftRows {
    // Threads share tickets that have it, and none looks into it.
    _left: Mutex<Option<Left>>,
}

#[derive(Debug)]
struct Left {
    _snapshot: Option<SnapshotMemory>,
    _tables: OpenTables,
    _undo: Vec<Undo>,
    _reads: Reads,
    // Its bytes count until they are free.
    _life: Option<RefCell<Life>>,
    _share: Option<RefCell<Share>>,
}

/// The changes of an open transaction at its end, after the comparison.
#[derive(Debug)]
pub struct OpenChanges {
    tables: Vec<CreatedTable>,
    rows: Vec<Change>,
}

impl OpenChanges {
    /// Makes the changes, in the transaction in which the reads were compared.
    ///
    /// # Errors
    /// The errors of the changes.
    #[doc(hidden)]
    #[inline]
    pub fn make(self, tx: &mut Transaction<'_>) -> Result<(), Error> {
        create(self.tables, tx)?;
        tx.hold_references(true);
        let done = apply(&self.rows, tx);
        tx.hold_references(false);
        done?;
        match planted::is(Planted::ReferencesBelieved) {
            true => Ok(()),
            false => tx.check_held(|_| Due::NOW),
        }
    }
}

impl OpenRows {
    /// Ends it in a transaction that has done nothing yet: all of its changes are made, or none. Its reads are compared
    /// also if it changed nothing, since the transaction may continue with them. One that ends without a change needs no
    /// installing. Its memory is put into `left`.
    ///
    /// # Errors
    /// [`Error::Conflict`] if something that it read has changed: it had no effect, and can be run again.
    /// [`Error::Limit`] if its snapshot was ended, or the changes are too large; the errors of the changes.
    #[inline]
    pub fn install(self, tx: &mut Transaction<'_>, left: &mut LeftRows) -> Result<(), Error> {
        if planted::is(Planted::MadeFirst) {
            OpenChanges {
                tables: self.created(),
                rows: self.changes(tx, &[])?,
            }
            .make(tx)?;
            return Ok(self.check_unchanged(tx)?);
        }
        let changes = self.compared(tx, &[]);
        // Before pages change, so that none is copied for it.
        *left = self.let_go();
        changes?.make(tx)
    }

    /// Releases its snapshot. Only memory is left.
    #[doc(hidden)]
    #[inline]
    pub fn let_go(mut self) -> LeftRows {
        if self.is_in_child() {
            return LeftRows::default();
        }
        let snapshot = Arc::clone(self.base());
        if let Some(life) = &self.life {
            life.borrow_mut().finish();
        }
        let mut left = Left {
            _tables: std::mem::take(&mut self.tables),
            _undo: std::mem::take(&mut self.undo),
            _reads: self.reads.take(),
            _life: self.life.take(),
            _share: self.share.take(),
            _snapshot: None,
        };
        drop(self);
        left._snapshot = snapshot.let_go();
        LeftRows {
            _left: Mutex::new(Some(left)),
        }
    }

    /// Compares its reads with the state in a transaction. Returns its changes there, except those of the tables in
    /// `others`, which are made otherwise.
    ///
    /// # Errors
    /// As [`OpenRows::install`].
    #[doc(hidden)]
    #[inline]
    pub fn compared(&self, tx: &Transaction<'_>, others: &[u16]) -> Result<OpenChanges, Error> {
        self.check_life()?;
        self.check_unchanged(tx)?;
        Ok(OpenChanges {
            tables: self.created(),
            rows: self.changes(tx, others)?,
        })
    }

    /// The final change of each row.
    #[inline]
    fn changes(&self, tx: &Transaction<'_>, others: &[u16]) -> Result<Vec<Change>, TableError> {
        let mut changes = Vec::new();
        for (table, open) in self.tables.iter() {
            let changed = open.changed.as_ref();
            let is_wanted =
                |changed: &&Changed| !changed.rows().is_empty() && !others.contains(&table);
            let Some(changed) = changed.filter(is_wanted) else {
                continue;
            };
            let known = self.known(table)?;
            let stays = known.is_flat() && !self.is_referenced(table);
            for (key, own) in changed.rows() {
                let stored = match (stays, own) {
                    (true, Own::Row(bytes)) => self.stored(table, known, key, bytes, tx)?,
                    _ => None,
                };
                match stored {
                    Some(stored) => changes.push(stored),
                    None => changes.extend(self.change(table, known, key, own)?),
                }
            }
        }
        Ok(changes)
    }

    /// The change of a row at its old place, which needs no further lookup.
    #[inline]
    fn stored(
        &self,
        table: u16,
        known: &Known,
        key: &[u8],
        bytes: &Arc<[u8]>,
        tx: &Transaction<'_>,
    ) -> Result<Option<Change>, TableError> {
        let (Some(at), Some(place)) = (self.place_at_end(table, key)?, known.schema.plain_key())
        else {
            return Ok(None);
        };
        // Keys that are equal may be other bytes, by which the row is found.
        let before = self.frozen_row(table, at)?;
        if before.fixed()[place.clone()] != bytes[place] || !self.is_untouched(table, at, tx)? {
            return Ok(None);
        }
        let stored = Some((at, Arc::clone(bytes)));
        Ok(Some(Change {
            stored,
            ..Change::of(table)
        }))
    }

    #[inline]
    fn change(
        &self,
        table: u16,
        known: &Known,
        key: &[u8],
        own: &Own,
    ) -> Result<Option<Change>, TableError> {
        let before = self.place_at_end(table, key)?;
        let before = before.map(|at| self.frozen_row(table, at)).transpose()?;
        let key = known.primary.values_of(key);
        let mut change = Change::of(table);
        let (before, bytes) = match (before, own) {
            (None, Own::Gone) => return Ok(None),
            (Some(_), Own::Gone) => {
                change.taken = Some(key);
                return Ok(Some(change));
            }
            (before, Own::Row(bytes)) => (before, bytes),
        };
        let after = known.format.row(bytes)?;
        let all = || {
            let columns = known.schema.live_columns();
            let values = columns.map(|(number, _)| Ok((number, after.get_at(number)?.to_value())));
            values.collect::<Result<Values, TableError>>()
        };
        let Some(before) = before else {
            change.inserted = Some(all()?);
            return Ok(Some(change));
        };
        let mut changed = Values::new();
        for (number, column) in known.schema.live_columns() {
            let value = after.value_at(number)?;
            if !same(column.kind, before.get_at(number)?, value) {
                changed.push((number, value.to_value()));
            }
        }
        if changed.is_empty() {
            return Ok(None);
        }
        let indexes = known.schema.indexes.iter();
        let mut unique = indexes.filter(|index| index.tells_apart());
        let is_unique = unique.any(|index| {
            let mut parts = index.key.iter();
            parts.any(|part| changed.iter().any(|(number, _)| *number == part.column))
        });
        match is_unique {
            // Rows may exchange unique values.
            true => {
                change.taken = Some(key);
                change.inserted = Some(all()?);
            }
            false => change.updated = Some((key, changed)),
        }
        Ok(Some(change))
    }
}

impl Known {
    /// True if a row is changed by its bytes alone: all of it is in its place, and it cannot collide with another row.
    #[inline]
    fn is_flat(&self) -> bool {
        self.format.is_fixed()
            && self.schema.earlier_shapes.is_empty()
            && !self.schema.indexes.iter().any(IndexDefinition::tells_apart)
    }
}

/// Makes changes: deletions first, then insertions.
#[inline]
fn apply(changes: &[Change], tx: &mut Transaction<'_>) -> Result<(), Error> {
    for change in changes {
        if let Some(key) = &change.taken {
            tx.rows_of(change.table)?.take(key)?;
        }
    }
    for change in changes {
        if let Some((at, bytes)) = &change.stored {
            tx.store_row(change.table, *at, bytes)?;
        }
        if let Some((key, values)) = &change.updated {
            let key: Vec<_> = key.iter().map(Value::as_ref).collect();
            if let Some(at) = WriteRows::find_row(tx, change.table, &key)? {
                WriteRows::update_row(tx, change.table, at, &writer(values))?;
            }
        }
    }
    for change in changes {
        if let Some(values) = &change.inserted {
            WriteRows::insert_row(tx, change.table, writer(values))?;
        }
    }
    Ok(())
}

#[inline]
fn writer(values: &Values) -> RowWriter<'_> {
    let columns = values.iter().map(|(number, _)| number + 1).max();
    let mut writer = RowWriter::new(columns.unwrap_or_default());
    for (number, value) in values {
        writer.set(*number, value.as_ref());
    }
    writer
}
