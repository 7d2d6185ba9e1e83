//! Rows that a statement inserts, collected beside the tables. Few are inserted in one call; many go into the table's
//! next content as they arrive. The statement reads tables in their state at its beginning, and its reads are noted.

use super::made::{Content, SLICE_BYTES};
use super::whole::{Stop, Whole};
use crate::database::CALL_SHARE;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::memory::Memory;
use crate::plan::write::whole as writer_of;
use crate::rows::EachRow;
use crate::scanned::Scanned;
use crate::source::{KeyRange, Source};
use crate::write_target::{DueOf, WriteTarget};
use sardonyx::low_level::{Address, HeldReference, Redefined};
use sardonyx::rows::{RowWriter, Savepoint, SpaceSnapshot};
use sardonyx::schema::{Schema, Value};
use sardonyx::{Error, Snapshot, Transaction};
use sardonyx_rows::constraints::{Followers, Objects};
use sardonyx_rows::{ScanPlace, TableError};
use sardonyx_storage::catalogue::Definitions;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most bytes of kept rows: more are many, as are more than one call may insert.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The target of a statement's rows.
#[derive(Debug)]
pub(super) struct Filling<'f> {
    pub whole: &'f Whole<'f>,
    /// The snapshot that the statement reads.
    snapshot: Snapshot,
    /// The number of rows of the table.
    there: u64,
    /// True if the table can have a next content.
    pub may_be_many: bool,
    /// The table, if a definition creates or empties it: it has no other rows.
    redefined: Option<&'f Redefined>,
    pub rows: Vec<Vec<Value>>,
    /// Memory for these rows.
    memory: Memory<'f>,
    pub count: u64,
    pub content: Option<Content>,
    /// The number of its table, if one was begun.
    pub begun: Option<u16>,
    read: RefCell<BTreeSet<u16>>,
    /// The reason for which the statement does not continue aside.
    pub stop: Option<Stop>,
}

impl<'f> Filling<'f> {
    pub fn new(whole: &'f Whole<'f>, snapshot: Snapshot, there: u64, may_be_many: bool) -> Self {
        Filling {
            whole,
            snapshot,
            there,
            may_be_many,
            redefined: None,
            rows: Vec::new(),
            memory: whole.with.memory(),
            count: 0,
            content: None,
            begun: None,
            read: RefCell::default(),
            stop: None,
        }
    }

    /// The rows of a table that a definition creates or empties.
    pub fn of_redefined(
        whole: &'f Whole<'f>,
        snapshot: Snapshot,
        redefined: &'f Redefined,
    ) -> Self {
        Filling {
            redefined: Some(redefined),
            ..Filling::new(whole, snapshot, 0, true)
        }
    }

    fn source(&self) -> &SpaceSnapshot {
        self.snapshot.space()
    }

    /// True for the table that has no rows but those that come. The snapshot may have another one of its number, or rows
    /// of it.
    fn is_empty(&self, number: u16) -> bool {
        self.redefined
            .is_some_and(|redefined| redefined.table() == number)
    }

    fn reads(&self, number: u16) -> &SpaceSnapshot {
        self.read.borrow_mut().insert(number);
        self.source()
    }

    /// Puts the rows into the next content, if they are many.
    fn flush_if_many(&mut self) -> Result<(), Stop> {
        let limits = self.whole.limits;
        let (rows, slice) = (self.rows.len() as u64, limits.slice);
        let most = KEPT_BYTES_MAX.min(limits.call_bytes / CALL_SHARE);
        let is_many = self.memory.bytes() > most;
        match &self.content {
            None if !is_many && !limits.makes_content(rows, self.there, true) => return Ok(()),
            None if !self.may_be_many => {
                return Err(Stop::Open);
            }
            None => {
                let beside = match self.redefined {
                    Some(redefined) => self.whole.begin_redefined(redefined)?,
                    None => self.whole.begin()?,
                };
                self.begun = Some(beside.table());
                let snapshot = match self.redefined {
                    Some(_) => self.snapshot.clone(),
                    None => {
                        let snapshot = self.whole.newest()?;
                        self.whole.fill_from(&beside, &snapshot)?;
                        snapshot
                    }
                };
                self.content = Some(Content { beside, snapshot });
            }
            Some(_) if self.rows.len() < slice && self.memory.bytes() < SLICE_BYTES => {
                return Ok(());
            }
            Some(_) => {}
        }
        self.flush()
    }

    /// All rows go into the next content, if there is one.
    pub fn flush(&mut self) -> Result<(), Stop> {
        if let Some(content) = &self.content {
            let rows = std::mem::take(&mut self.rows);
            self.whole.insert_in_turns(&content.beside, rows)?;
            self.memory.give_back(self.memory.bytes());
        }
        Ok(())
    }

    /// Another way has to be taken.
    #[cold]
    fn stops(&mut self) -> Error {
        self.stop = Some(Stop::Open);
        only_inserts()
    }

    /// Ends the collection. Returns the notes of the reads, the kept rows, and the memory for these.
    pub fn into_parts(self) -> (HasRead<'f>, Vec<Vec<Value>>, Memory<'f>) {
        let has_read = HasRead {
            whole: self.whole,
            snapshot: self.snapshot,
            tables: self.read.into_inner(),
        };
        (has_read, self.rows, self.memory)
    }
}

/// The tables that a statement has read, and the state.
#[derive(Debug)]
pub(super) struct HasRead<'f> {
    whole: &'f Whole<'f>,
    snapshot: Snapshot,
    tables: BTreeSet<u16>,
}

impl HasRead<'_> {
    /// Checks that the tables read are unchanged. The state is not read any more.
    ///
    /// # Errors
    /// [`Error::Conflict`] if not.
    pub fn check(self, tx: &Transaction<'_>) -> Result<(), Stop> {
        let (before, differs) = (self.snapshot.space(), || self.whole.conflict());
        for table in &self.tables {
            before.changed_rows(*table, tx.view(), |_, _| Err(differs()))?;
        }
        Ok(())
    }
}

/// Inserts rows that were kept.
pub(super) fn insert_kept(
    whole: &Whole<'_>,
    rows: &[Vec<Value>],
    tx: &mut dyn WriteTarget,
) -> Result<(), SqlError> {
    for row in rows {
        tx.insert(whole.made.table(), &writer_of(&whole.schema, row))?;
    }
    Ok(())
}

impl Source for Filling<'_> {
    fn definitions(&self) -> &Definitions {
        self.source().definitions()
    }

    fn referring(&self, number: u16) -> Vec<u16> {
        self.source().referring(number)
    }

    fn indexed(&self, name: &str) -> Vec<u16> {
        self.source().indexed(name)
    }

    fn schema(&self, number: u16) -> Option<Arc<Schema>> {
        if self.is_empty(number) {
            return Some(self.whole.schema.clone());
        }
        Source::schema(&self.source(), number)
    }

    fn unnoted(&self, act: &mut dyn FnMut()) {
        act();
    }

    fn knows_counts(&self) -> bool {
        Source::knows_counts(&self.source())
    }

    fn rows_about(&self, number: u16) -> Option<u64> {
        if self.is_empty(number) {
            return Some(0);
        }
        Source::rows_about(&self.source(), number)
    }

    fn bytes_about(&self, number: u16) -> Option<u64> {
        Source::bytes_about(&self.source(), number)
    }

    fn notes_reads(&self) -> bool {
        Source::notes_reads(&self.source())
    }

    fn has_schema(&self, number: u16, schema: &Arc<Schema>) -> bool {
        if self.is_empty(number) {
            return *self.whole.schema == **schema;
        }
        Source::has_schema(&self.source(), number, schema)
    }

    fn count(&self, number: u16) -> Result<u64, SqlError> {
        if self.is_empty(number) {
            return Ok(0);
        }
        Source::count(&self.reads(number), number)
    }

    fn point(&self, number: u16, key: &[Value], each: EachRow<'_>) -> Result<(), SqlError> {
        if self.is_empty(number) {
            return Ok(());
        }
        Source::point(&self.reads(number), number, key, each)
    }

    fn scan_bytes(&self, number: u16, scanned: &mut Scanned<'_>) -> Result<(), SqlError> {
        if self.is_empty(number) {
            return Ok(());
        }
        Source::scan_bytes(&self.reads(number), number, scanned)
    }

    fn scan_from(
        &self,
        number: u16,
        place: &mut ScanPlace,
        each: EachRow<'_>,
    ) -> Result<bool, SqlError> {
        if self.is_empty(number) {
            return Ok(true);
        }
        Source::scan_from(&self.reads(number), number, place, each)
    }

    fn first(
        &self,
        number: u16,
        index: &str,
        key: &[Value],
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        if self.is_empty(number) {
            return Ok(());
        }
        Source::first(&self.reads(number), number, index, key, each)
    }

    fn range(
        &self,
        number: u16,
        index: &str,
        range: &KeyRange,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        if self.is_empty(number) {
            return Ok(());
        }
        Source::range(&self.reads(number), number, index, range, each)
    }

    fn count_range(&self, number: u16, index: &str, range: &KeyRange) -> Result<u64, SqlError> {
        if self.is_empty(number) {
            return Ok(0);
        }
        Source::count_range(&self.reads(number), number, index, range)
    }
}

/// The statement does more than insert: it runs as an open transaction.
#[cold]
fn only_inserts() -> Error {
    Error::Refused("rows are only inserted here".into())
}

impl WriteTarget for Filling<'_> {
    fn insert(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error> {
        if number != self.whole.made.table() {
            return Err(self.stops());
        }
        let mut values = vec![Value::Null; self.whole.schema.columns.len()];
        for (column, value) in row.set_columns() {
            values[column] = value.to_value();
        }
        let taken = self.memory.take(&values).map_err(Stop::Statement);
        self.rows.push(values);
        self.count += 1;
        match taken.and_then(|()| self.flush_if_many()) {
            Ok(()) => Ok(()),
            Err(stop) => {
                self.stop = Some(stop);
                Err(only_inserts())
            }
        }
    }

    fn check_new(&mut self, _: u16, _: &RowWriter<'_>) -> Result<(), Error> {
        Err(self.stops())
    }

    fn update_at(&mut self, _: u16, _: Address, _: &RowWriter<'_>) -> Result<(), Error> {
        Err(self.stops())
    }

    fn update(&mut self, _: u16, _: &[Value], _: &RowWriter<'_>) -> Result<bool, Error> {
        Err(self.stops())
    }

    fn delete(&mut self, _: u16, _: &[Value]) -> Result<bool, Error> {
        Err(self.stops())
    }

    fn delete_before_others(&mut self, _: u16, _: &[Value]) -> Result<Followers, Error> {
        Err(self.stops())
    }

    fn follow(&mut self, _: Followers) -> Result<(), Error> {
        Err(self.stops())
    }

    fn take(&mut self, _: u16, _: &[Value]) -> Result<bool, Error> {
        Err(self.stops())
    }

    fn at(&self, _: u16, _: Address, _: EachRow<'_>) -> Result<(), SqlError> {
        Err(only_inserts().into())
    }

    fn savepoint(&mut self) -> Savepoint {
        // A failed statement runs again as an open transaction: no step is undone here.
        Savepoint::NONE
    }

    fn rollback_to(&mut self, _: Savepoint) -> Result<(), Error> {
        Err(TableError::NoSavepoint.into())
    }

    fn release(&mut self, _: Savepoint) -> Result<(), Error> {
        Ok(())
    }

    fn hold_references(&mut self, _: bool) {}

    fn held_references(&self) -> Vec<HeldReference> {
        Vec::new()
    }

    fn check_held(&mut self, _: DueOf<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn objects(&mut self, _: &mut dyn FnMut(&mut dyn Objects)) {}

    fn tables(&mut self, _: &mut dyn FnMut(&mut Transaction<'_>)) -> bool {
        false
    }

    fn define(&mut self) -> Option<&mut dyn DefineTarget> {
        None
    }
}
