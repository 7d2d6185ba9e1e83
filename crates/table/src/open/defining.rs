//! Tables that an open transaction creates, changes, renames, empties and drops, as itself sees them.
//!
//! Its first definition gives it a snapshot of its own with the same pages, in which definitions can change. A table that it
//! created has no page there: all rows are the transaction's [own](Changed), with the entries of their indexes. A table of
//! others keeps its pages while its columns are added, dropped and renamed. If it gets an index, its rows are copied to the
//! transaction's own ones first: as many as the transaction has memory for.
//!
//! At the end, created tables are created in the stage with their last schemas, and their rows are inserted. This needs the
//! catalogue of the beginning. If others have defined something, or if this one has changed a table of others, the
//! transaction is a [conflict](Conflict), and its program runs its statements in the stage.
//!
//! Invariant: the transaction's number of a created table is the one that the stage gives it; else the call ends as a
//! conflict. So a number is right wherever the transaction has stored it.

use super::changed::Changed;
use super::{ENTRY_BYTES, Known, OVERHEAD_BYTES, OpenRows, Undo};
use crate::hash::KeyHash;
use crate::snapshot::{Defined, FrozenTable, SpaceSnapshot};
use crate::table::TableState;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::declare::{check_not_referenced, create_table};
use sardonyx_rows::schema::{IntoSchema, Schema};
use sardonyx_rows::{Conflict, ConflictWith, DefineRows, TableError, check_name};
use sardonyx_storage::catalogue::{Catalogue, Definition};
use std::sync::{Arc, OnceLock};

/// The definitions of an open transaction, beside those in its snapshot.
#[derive(Debug)]
pub(super) struct Definitions {
    /// The snapshot at the beginning.
    base: Arc<SpaceSnapshot>,
    /// The tables of others that were changed, once for each time.
    changed: Vec<u16>,
    /// The rows of a table for which a definition found no memory.
    refused: Option<u64>,
}

/// The state of a table before a definition.
#[derive(Debug)]
pub(super) struct UndoTable {
    number: u16,
    before: Defined,
    /// Its rows before, if they were replaced.
    rows: Option<Option<Changed>>,
    was_own: bool,
    /// The number of changes of others' tables then.
    changed: usize,
    /// Bytes taken for the new rows.
    bytes: usize,
    /// Bytes of `rows`.
    bytes_before: usize,
    /// Bytes taken for the other catalogue.
    bytes_of_catalogue: usize,
}

impl UndoTable {
    /// Bytes that are given back when it is forgotten.
    pub fn bytes_before(&self) -> usize {
        self.bytes_before + self.bytes_of_catalogue
    }
}

/// A table that is created at the end of the transaction.
#[derive(Debug)]
pub(super) struct CreatedTable {
    number: u16,
    definition: Definition,
    schema: Arc<Schema>,
}

/// The rows of a table after a definition.
pub(super) enum RowsAfter {
    Same,
    /// Other ones, with their bytes; all rows of the table, or those beside the snapshot's.
    Other {
        rows: Option<Changed>,
        bytes: usize,
        are_all: bool,
    },
}

impl RowsAfter {
    fn none() -> Self {
        RowsAfter::Other {
            rows: None,
            bytes: 0,
            are_all: true,
        }
    }
}

impl OpenRows {
    /// The snapshot at the beginning, without the transaction's definitions.
    pub(super) fn base(&self) -> &Arc<SpaceSnapshot> {
        match &self.defined {
            Some(defined) => &defined.base,
            None => &self.snapshot,
        }
    }

    /// True if it has defined something that is not undone.
    #[doc(hidden)]
    #[inline]
    pub fn has_definitions(&self) -> bool {
        self.defined.as_ref().is_some_and(|defined| {
            !defined.changed.is_empty() || self.snapshot.definitions() != defined.base.definitions()
        })
    }

    /// True if it has changed a table of others: then only the stage can make its definitions.
    #[doc(hidden)]
    pub fn has_changed_others(&self) -> bool {
        let defined = self.defined.as_ref();
        defined.is_some_and(|defined| !defined.changed.is_empty())
    }

    /// The rows of a table of others for which a definition found no memory. It is possible in the stage.
    #[doc(hidden)]
    pub fn refused_definition(&self) -> Option<u64> {
        self.defined.as_ref()?.refused
    }

    /// Forgets the definition for which there was no memory.
    #[inline]
    pub(super) fn forget_refused(&mut self) {
        if let Some(defined) = &mut self.defined {
            defined.refused = None;
        }
    }

    /// Checks that it may define something: a client's transaction may, whose statements the stage can run instead.
    ///
    /// # Errors
    /// [`Error::Refused`] if a program began it by hand.
    #[inline]
    pub(super) fn check_defines(&self) -> Result<(), TableError> {
        match self.life {
            None => Ok(()),
            Some(_) => {
                let text = "an open transaction defines nothing: change the schema in a closure";
                Err(TableError::Engine(Error::Refused(text.into())))
            }
        }
    }

    #[inline]
    pub(super) fn is_created(&self, table: u16) -> bool {
        self.defined.is_some() && self.base().schema_of(table).is_none()
    }

    /// Checks at the end that the created tables can be created.
    ///
    /// # Errors
    /// [`TableError::Conflict`] if the catalogue is not the one of the beginning, or a table of others was changed.
    #[inline]
    pub(super) fn check_definitions(&self, tx: &Transaction<'_>) -> Result<(), TableError> {
        let Some(defined) = self.defined.as_ref().filter(|_| self.has_definitions()) else {
            return Ok(());
        };
        let (before, now) = (defined.base.definitions(), tx.space.definitions());
        let differs = before.first_difference(now);
        let changed = defined.changed.first().map(|number| usize::from(*number));
        match differs.or(changed) {
            None => Ok(()),
            Some(number) => {
                let there = now.get(number).or(before.get(number));
                let name = there.map_or("", |definition| &definition.name);
                Err(Conflict::new(name, ConflictWith::Schema).into())
            }
        }
    }

    #[inline]
    pub(super) fn created(&self) -> Vec<CreatedTable> {
        if self.defined.is_none() {
            return Vec::new();
        }
        let definitions = self.snapshot.definitions();
        let created = definitions.unshared(self.base().definitions());
        let created = created.into_iter().filter_map(|place| {
            let number = place as u16;
            let schema = self.snapshot.schema_of(number)?;
            self.is_created(number).then(|| CreatedTable {
                number,
                definition: definitions[place].clone(),
                schema: Arc::clone(schema),
            })
        });
        created.collect()
    }

    #[inline]
    fn definitions(&mut self) -> &mut Definitions {
        let base = Arc::clone(self.base());
        self.defined.get_or_insert_with(|| {
            Box::new(Definitions {
                base,
                changed: Vec::new(),
                refused: None,
            })
        })
    }

    /// Has another catalogue, and another table with this number or none.
    ///
    /// # Errors
    /// There is no memory for keeping the catalogue before. Nothing has changed then.
    #[inline]
    pub(super) fn set_definition(
        &mut self,
        number: u16,
        now: Defined,
        rows: RowsAfter,
    ) -> Result<(), TableError> {
        let bytes_of_catalogue = match Arc::ptr_eq(&now.catalogue, self.snapshot.catalogue()) {
            true => 0,
            false => now.catalogue.bytes(),
        };
        if let Err(error) = self.take_bytes(bytes_of_catalogue) {
            if let RowsAfter::Other { bytes, .. } = rows {
                self.give_bytes(bytes);
            }
            return Err(error);
        }
        let defined = self.definitions();
        let changed = defined.changed.len();
        if defined.base.schema_of(number).is_some() {
            defined.changed.push(number);
        }
        // Shared at first: then it is copied, without its pages.
        let before = Arc::make_mut(&mut self.snapshot).define(number, now);
        if usize::from(number) >= self.tables.len() {
            self.tables.resize(usize::from(number) + 1);
        }
        let mut undo = UndoTable {
            number,
            before,
            rows: None,
            was_own: false,
            changed,
            bytes: 0,
            bytes_before: 0,
            bytes_of_catalogue,
        };
        let table = self.tables.get_mut(number).expect("it has a place");
        undo.was_own = table.is_own;
        if let RowsAfter::Other {
            rows,
            bytes,
            are_all,
        } = rows
        {
            let before = std::mem::replace(&mut table.changed, rows);
            undo.bytes_before = before.as_ref().map_or(0, Changed::bytes);
            (undo.rows, undo.bytes) = (Some(before), bytes);
            table.is_own = are_all;
        }
        self.undo.push(Undo::Table(Box::new(undo)));
        self.forget_known(number);
        Ok(())
    }

    /// Notes that the stage cannot make its definitions: its statements run again there.
    #[inline]
    pub(super) fn note_changed(&mut self, number: u16) {
        self.definitions().changed.push(number);
    }

    #[inline]
    pub(super) fn undo_definition(&mut self, undo: UndoTable) {
        let number = undo.number;
        Arc::make_mut(&mut self.snapshot).define(number, undo.before);
        if let Some(defined) = &mut self.defined {
            defined.changed.truncate(undo.changed);
        }
        if let Some(table) = self.tables.get_mut(number) {
            table.is_own = undo.was_own;
            if let Some(rows) = undo.rows {
                table.changed = rows;
            }
        }
        self.tables.resize(self.snapshot.definitions().len());
        self.give_bytes(undo.bytes + undo.bytes_of_catalogue);
        self.forget_known(number);
    }

    /// A table is another one.
    #[inline]
    fn forget_known(&mut self, number: u16) {
        if let Some(table) = self.tables.get_mut(number) {
            table.keys.take();
            table.known.take();
            let frozen = self.snapshot.tables.get(usize::from(number));
            // Undoing changes of rows needs it.
            if let Some(known) = frozen.and_then(|frozen| frozen.as_ref()?.known.get()) {
                let _ = table.known.set(Arc::clone(known));
            }
        }
    }

    /// Checks that it has memory for all rows of a table, before a definition copies or rewrites them.
    #[inline]
    pub(super) fn check_rows(&mut self, number: u16) -> Result<(), TableError> {
        if self.is_own(number) {
            return Ok(());
        }
        let known = Arc::clone(self.known(number)?);
        let entries = known.schema.indexes.len() * ENTRY_BYTES;
        let row = known.schema.row_bytes + OVERHEAD_BYTES + entries;
        let rows = usize::try_from(self.snapshot.rows_in(number)?).unwrap_or(usize::MAX);
        let bytes = rows.saturating_mul(row);
        let room = self.take_bytes(bytes).map(|()| self.give_bytes(bytes));
        self.note_refused(number, room)
    }

    /// Notes a definition for which there is no memory, since it copies or rewrites all rows of a table of others.
    pub(super) fn note_refused<T>(
        &mut self,
        number: u16,
        done: Result<T, TableError>,
    ) -> Result<T, TableError> {
        if let Err(error) = &done
            && is_for_memory(error)
            && self.base().schema_of(number).is_some()
        {
            let own = self
                .changed(number)
                .map_or(0, |own| own.rows().len() as u64);
            let rows = self.snapshot.rows_in(number)?.max(own);
            self.definitions().refused = Some(rows);
        }
        done
    }

    /// Empties a table at the end, if it had no rows at the begin: the transaction's own ones are forgotten, without a change of
    /// the table. The transaction may not go back to a mark any more, and its count of changed rows stays.
    ///
    /// # Errors
    /// There is no such table, or its snapshot was ended.
    #[doc(hidden)]
    pub fn forget_new_rows(&mut self, number: u16) -> Result<(), Error> {
        debug_assert_eq!(self.rows_max, usize::MAX, "it counts no rows");
        if self.is_own(number) || self.snapshot.rows_in(number)? == 0 {
            let table = self.tables.get_mut(number);
            if let Some(own) = table.and_then(|table| table.changed.take()) {
                self.give_bytes(own.bytes());
            }
        }
        Ok(())
    }

    /// Creates a table with this schema, if there is none. Returns its number.
    ///
    /// # Errors
    /// [`Error::Refused`] if no table can have it, there is something else of this name, or the name is one of the engine's
    /// own; [`Error::Limit`]. Nothing has changed then.
    pub fn create_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, Error> {
        check_name(name)?;
        self.check_defines()?;
        Ok(create_table(self, name, schema)?)
    }

    /// Adds a table without rows: its number. `schema` makes its schema.
    pub(super) fn add_table_of_rows(
        &mut self,
        name: &str,
        rows: &Schema,
        schema: impl FnOnce(&Self, u16) -> Result<Schema, TableError>,
    ) -> Result<u16, TableError> {
        let definition = rows.definition(name);
        let mut catalogue = Catalogue::clone(self.snapshot.catalogue());
        let (number, _) = catalogue.declare(definition.clone())?;
        let unknown = TableError::UnknownHandle { number };
        // No row is found by the hash: the table has none in pages.
        let state = TableState::new(&definition, KeyHash::from_seed(0))?.ok_or(unknown)?;
        let now = Defined {
            catalogue: Arc::new(catalogue),
            table: Some(Arc::new(FrozenTable::of(&state, None))),
        };
        self.set_definition(number, now, RowsAfter::none())?;
        let schema = schema(self, number)?;
        self.store_schema(number, schema).map_err(TableError::of)?;
        Ok(number)
    }

    #[inline]
    fn table_to_change(&self, name: &str) -> Result<u16, TableError> {
        check_name(name)?;
        self.check_defines()?;
        Ok(self.snapshot.catalogue().table_named(name)?)
    }

    /// Drops a table with all its rows.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the name is one of the engine's own, or another table refers to it.
    #[inline]
    pub fn drop_table(&mut self, name: &str) -> Result<(), Error> {
        let number = self.table_to_change(name)?;
        check_not_referenced(self, number)?;
        let mut catalogue = Catalogue::clone(self.snapshot.catalogue());
        catalogue.drop_table(number).map_err(TableError::from)?;
        let now = Defined {
            catalogue: Arc::new(catalogue),
            table: None,
        };
        self.set_definition(number, now, RowsAfter::none())?;
        self.forget_undo();
        Ok(())
    }

    /// Deletes all rows of a table at once.
    ///
    /// # Errors
    /// The errors of [`OpenRows::drop_table`].
    #[inline]
    pub fn truncate(&mut self, name: &str) -> Result<(), Error> {
        let number = self.table_to_change(name)?;
        check_not_referenced(self, number)?;
        let now = Defined {
            catalogue: Arc::clone(self.snapshot.catalogue()),
            table: Some(Arc::new(self.snapshot.frozen(number)?.state.emptied())),
        };
        self.set_definition(number, now, RowsAfter::none())?;
        self.forget_undo();
        Ok(())
    }

    /// Gives a table another name.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, something has the new name, or one of the names is the engine's own;
    /// [`Error::Limit`] if the name is too long.
    #[inline]
    pub fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error> {
        check_name(to)?;
        let number = self.table_to_change(name)?;
        let mut catalogue = Catalogue::clone(self.snapshot.catalogue());
        let renamed = catalogue.rename_table(number, to);
        renamed.map_err(TableError::from)?;
        let table = self.snapshot.frozen(number)?.state;
        let known = Arc::new(Known::of(to, &table.schema)?);
        let table = FrozenTable {
            name: to.into(),
            known: Arc::new(OnceLock::from(known)),
            ..table.clone()
        };
        let now = Defined {
            catalogue: Arc::new(catalogue),
            table: Some(Arc::new(table)),
        };
        self.set_definition(number, now, RowsAfter::Same)?;
        self.forget_undo();
        Ok(())
    }
}

/// True if an operation failed since its transaction keeps too much.
fn is_for_memory(error: &TableError) -> bool {
    match error {
        TableError::TransactionTooLarge { .. } => true,
        TableError::Engine(error) => matches!(error, Error::Full(_)),
        _ => false,
    }
}

/// Creates tables in the stage, in the transaction in which the definitions were compared.
///
/// Numbers of tables that it created and dropped again are passed over: for the moment, tables without rows have them.
#[inline]
pub(super) fn create(tables: Vec<CreatedTable>, tx: &mut Transaction<'_>) -> Result<(), Error> {
    let mut passed = Vec::new();
    for table in &tables {
        while tx.space.catalogue.next_number() < usize::from(table.number) {
            let definition = Definition {
                name: format!("sardonyx.passed.{}", passed.len()),
                ..table.definition.clone()
            };
            passed.push(tx.declare(definition)?);
        }
        if tx.declare(table.definition.clone())? != table.number {
            let name = &table.definition.name;
            return Err(TableError::from(Conflict::new(name, ConflictWith::Schema)).into());
        }
    }
    for number in passed {
        tx.drop_numbered(number)?;
    }
    let refers = |table: &CreatedTable| !table.schema.foreign_keys.is_empty();
    for table in &tables {
        let mut schema = Schema::clone(&table.schema);
        // The keys to which they refer may not be there yet.
        schema.foreign_keys.clear();
        tx.store_schema(table.number, schema)?;
    }
    for table in tables.iter().filter(|table| refers(table)) {
        tx.store_schema(table.number, Schema::clone(&table.schema))?;
    }
    Ok(())
}
