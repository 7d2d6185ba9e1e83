//! Rows in a transaction of any length: the state at its beginning, and its own changes beside it.
//!
//! It has a snapshot ([`SpaceSnapshot`]) and, for each table, the rows that it inserted, changed or deleted
//! ([`changed`]). Reads combine both. It is a store of rows as any other ([`ReadRows`](sardonyx_rows::ReadRows),
//! [`WriteRows`](sardonyx_rows::WriteRows)), so constraints are those of all stores. It holds no turn, no lock and no
//! thread. Its reads of the snapshot are noted ([`reads`]): keys, ranges, scans and counts.
//!
//! Tables that it [defines](defining) are its own until then: other transactions do not see them.
//!
//! At its end [`OpenRows::install`] runs as a transaction of the serial stage. It compares the reads with the current
//! state, row by row. If nothing differs, the transaction is as if all of it had run at that moment. Then it makes the
//! changes by the verbs of [`Transaction`](crate::Transaction).
//!
//! Invariants: every read of the snapshot is noted, but for those that the caller excepts (`ReadRows::unnoted`); a failed operation has no effect; memory is bounded
//! ([`OpenRows::with_bytes_max`]).
//!
//! Source: Mühe, Kemper, Neumann: Executing Long-Running Transactions in Synchronization-Free Main Memory Database Systems
//! (CIDR 2013), "tentative execution"; validated by values instead of versions, since a comparison costs nothing while no
//! transaction is open.

mod bytes;
mod changed;
mod compare;
mod constraints;
mod content;
mod defining;
mod index;
mod install;
mod keys;
mod known;
mod life;
mod planted;
mod range;
mod reads;
mod records;
mod redefining;
mod row;
mod scan;
mod tables;
#[cfg(test)]
mod tests;
mod verbs;

use crate::snapshot::SpaceSnapshot;
use crate::transaction::Transaction;
use changed::{Changed, Key, Own, entries_of};
pub use content::OwnRow;
use defining::{Definitions, UndoTable};
pub use index::OpenEntries;
pub use install::{LeftRows, OpenChanges};
pub(crate) use known::Known;
use life::Life;
pub use life::OpenTransactions;
use reads::Reads;
pub use row::OpenRow;
use sardonyx_base::error::Error;
use sardonyx_base::memory::Share;
use sardonyx_rows::constraints::{HeldReferences, Marks};
use sardonyx_rows::schema::Value;
use sardonyx_rows::{RowRef, Savepoint, TableError};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageSnapshot;
pub use scan::OpenScan;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use tables::OpenTables;

/// The default bound on an open transaction's memory, in bytes.
const BYTES_MAX: usize = 1 << 30;

/// The rows of all tables as an open transaction sees them.
#[derive(Debug)]
pub struct OpenRows {
    snapshot: Arc<SpaceSnapshot>,
    tables: OpenTables,
    /// Its definitions, if it made some: then the snapshot has them, and no other transaction has this snapshot.
    defined: Option<Box<Definitions>>,
    /// The previous content of each change, in their order.
    undo: Vec<Undo>,
    /// The number of changes at each mark.
    marks: Marks<usize>,
    held: HeldReferences,
    reads: RefCell<Reads>,
    /// Bytes of changes, and of the memory for undoing them.
    bytes: Cell<usize>,
    /// The bytes among them of keys that were read in order.
    bytes_of_keys: Cell<usize>,
    bytes_max: usize,
    /// True if the statement found no memory in one of the bounds.
    had_no_room: Cell<bool>,
    /// The rows that it has changed, and the most of them. Only transactions that define nothing have a bound: a definition
    /// that replaces or forgets rows gives none of them back.
    rows: usize,
    rows_max: usize,
    /// Memory from a shared budget.
    share: Option<RefCell<Share>>,
    /// The number of nested running operations.
    depth: usize,
    /// Its place among those that a program began by hand.
    life: Option<RefCell<Life>>,
}

/// The transaction's part of a table.
#[derive(Debug, Default)]
struct OpenTable {
    /// Found when it is first used.
    known: OnceCell<Arc<Known>>,
    changed: Option<Changed>,
    /// True if all of its rows are the transaction's own.
    is_own: bool,
    /// The keys of all rows of the snapshot, once they were read in order.
    keys: OnceCell<Vec<Key>>,
}

/// The state before a change.
#[derive(Debug)]
enum Undo {
    Row(UndoRow),
    Table(Box<UndoTable>),
}

/// The state of a row before a change.
#[derive(Debug)]
struct UndoRow {
    table: u16,
    key: Key,
    before: Option<Own>,
    /// Bytes taken for `before`.
    bytes_before: usize,
    /// The number of rows added since.
    more: i64,
    /// Bytes of the change.
    bytes: usize,
}

/// Bytes that a row of the transaction's own takes, with its entries in indexes.
#[inline]
fn bytes_of_change(key: &[u8], own: &Own, entries: &[Vec<u8>]) -> usize {
    let entries = entries.iter().map(|entry| entry.len() + ENTRY_BYTES);
    own.bytes() + key.len() + OVERHEAD_BYTES + entries.sum::<usize>()
}

impl OpenRows {
    /// Begins with the state of a snapshot.
    #[inline]
    pub fn begin(snapshot: Arc<SpaceSnapshot>) -> Self {
        let tables = snapshot.definitions().len();
        OpenRows {
            tables: OpenTables::new(tables),
            defined: None,
            snapshot,
            undo: Vec::new(),
            marks: Marks::default(),
            held: HeldReferences::default(),
            reads: RefCell::default(),
            bytes: Cell::new(0),
            bytes_of_keys: Cell::new(0),
            bytes_max: BYTES_MAX,
            had_no_room: Cell::new(false),
            rows: 0,
            rows_max: usize::MAX,
            share: None,
            depth: 0,
            life: None,
        }
    }

    /// Counts it among those that a program began by hand: it may be ended with them.
    #[inline]
    pub fn begun_among(mut self, all: &Arc<OpenTransactions>) -> Self {
        self.bytes_max = all.bytes_of_one();
        self.rows_max = all.rows_of_one();
        self.life = Some(RefCell::new(all.begin()));
        self
    }

    /// Marks it as run by the serial stage, with the same bound on its own bytes: no other one ends it. Others wait for it in any
    /// case, so its rows have no bound.
    #[inline]
    pub fn begun_in_stage(mut self, all: &Arc<OpenTransactions>) -> Self {
        self.bytes_max = all.bytes_of_one();
        self.life = Some(RefCell::new(all.begin_in_stage()));
        self
    }

    /// Checks that no bound, close or fork has ended it.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Closed`] and [`Error::Forked`], by a [`TransactionEnded`](sardonyx_rows::TransactionEnded).
    #[inline]
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.check_life()?)
    }

    #[inline]
    fn check_life(&self) -> Result<(), TableError> {
        match &self.life {
            Some(life) => life.borrow().check(),
            None => Ok(()),
        }
    }

    /// The state in which it began.
    pub fn snapshot(&self) -> &Arc<SpaceSnapshot> {
        &self.snapshot
    }

    /// True if it has changed anything.
    #[inline]
    pub fn has_changes(&self) -> bool {
        let mut changed = (self.tables.iter()).filter_map(|(_, table)| table.changed.as_ref());
        self.has_definitions() || changed.any(|changed| !changed.rows().is_empty())
    }

    /// Marks its present state, to [go back](OpenRows::rollback_to) to it.
    #[inline]
    pub fn savepoint(&mut self) -> Savepoint {
        let savepoint = self.marks.push(self.undo.len());
        self.held.mark(self.marks.len() - 1);
        savepoint
    }

    /// Undoes the changes since a savepoint. The savepoint stays; later ones are removed. Its reads meanwhile are compared
    /// at its commit all the same.
    ///
    /// # Errors
    /// [`Error::Refused`] if it has no such savepoint, or no longer: then nothing is undone.
    #[inline]
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        self.check_life()?;
        let (position, steps) = self.valid(savepoint)?;
        self.undo_to(steps);
        self.marks.truncate(position + 1);
        self.held.return_to(position);
        Ok(())
    }

    #[inline]
    fn valid(&self, savepoint: Savepoint) -> Result<(usize, usize), TableError> {
        self.marks.find(savepoint).ok_or(TableError::NoSavepoint)
    }

    /// References that do not hold are noted from now on, or refused at once again.
    pub fn hold_references(&mut self, holds: bool) {
        self.held.hold(holds);
    }

    #[inline]
    fn undo_to(&mut self, steps: usize) {
        while self.undo.len() > steps {
            let Some(undo) = self.undo.pop() else {
                return;
            };
            let undo = match undo {
                Undo::Row(undo) => undo,
                Undo::Table(undo) => {
                    self.undo_definition(*undo);
                    continue;
                }
            };
            self.rows -= usize::from(undo.before.is_none());
            if let Some(table) = self.tables.get_mut(undo.table)
                && let (Some(known), Some(changed)) = (table.known.get(), &mut table.changed)
            {
                changed.put_back(&known.format, undo.key, undo.before);
                changed.more -= undo.more;
                // Other rows may come under another schema, with other indexes.
                if changed.rows().is_empty() {
                    table.changed = None;
                }
            }
            self.give_bytes(undo.bytes);
        }
        self.give_to_others();
    }

    /// Removes a savepoint and later ones; the changes since stay. As long as a savepoint exists, the transaction keeps the
    /// previous content of each change.
    ///
    /// # Errors
    /// [`Error::Refused`] if it has no such savepoint, or no longer.
    #[inline]
    pub fn release(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        self.check_life()?;
        let (position, _) = self.valid(savepoint)?;
        self.marks.truncate(position);
        self.held.release(position);
        self.forget_undo();
        Ok(())
    }

    /// Drops the previous contents, if no mark and no operation needs them any more.
    #[inline]
    fn forget_undo(&mut self) {
        if self.depth > 0 || !self.marks.is_empty() {
            return;
        }
        while let Some(undo) = self.undo.pop() {
            self.give_bytes(match undo {
                Undo::Row(undo) => undo.bytes_before,
                Undo::Table(undo) => undo.bytes_before(),
            });
        }
        self.give_to_others();
    }

    #[inline]
    fn known(&self, table: u16) -> Result<&Arc<Known>, TableError> {
        self.check_life()?;
        let unknown = TableError::UnknownHandle { number: table };
        let Some(OpenTable { known: cell, .. }) = self.tables.get(table) else {
            return Err(unknown);
        };
        if let Some(known) = cell.get() {
            return Ok(known);
        }
        let frozen = self.snapshot.tables.get(usize::from(table));
        let frozen = frozen.and_then(Option::as_ref).ok_or(unknown)?;
        let known = match frozen.known.get() {
            Some(known) => Arc::clone(known),
            None => {
                let known = Arc::new(Known::of(&frozen.name, &frozen.schema)?);
                Arc::clone(frozen.known.get_or_init(|| known))
            }
        };
        Ok(cell.get_or_init(|| known))
    }

    #[inline]
    fn changed(&self, table: u16) -> Option<&Changed> {
        let changed = self.tables.get(table)?.changed.as_ref()?;
        (!changed.rows().is_empty()).then_some(changed)
    }

    /// The transaction's own state of a row; `None` if it is as in the snapshot.
    #[inline]
    fn own(&self, table: u16, key: &[u8]) -> Option<&Own> {
        self.changed(table)?.rows().get(key)
    }

    /// Replaces the row with this key by one of the transaction's own, or by none, and adds to the number of rows.
    #[inline]
    fn put_own(
        &mut self,
        table: u16,
        known: &Known,
        key: Key,
        own: Own,
        more: i64,
    ) -> Result<(), TableError> {
        let entries = entries_of(&known.format, Some(&own))?;
        let there = self.own(table, &key);
        let is_new = there.is_none();
        if is_new && self.rows >= self.rows_max {
            return Err(TableError::TooManyRows {
                limit: self.rows_max,
            });
        }
        let entries_before = entries_of(&known.format, there)?;
        let bytes_before = there.map_or(0, |own| bytes_of_change(&key, own, &entries_before));
        let bytes = bytes_of_change(&key, &own, &entries);
        self.take_bytes(bytes)?;
        let unknown = TableError::UnknownHandle { number: table };
        let open = self.tables.get_mut(table).ok_or(unknown)?;
        let changed = open
            .changed
            .get_or_insert_with(|| Changed::of(known.schema.indexes.len()));
        let before = changed.put(Arc::clone(&key), own, &entries_before, entries);
        changed.more += more;
        self.rows += usize::from(is_new);
        self.undo.push(Undo::Row(UndoRow {
            table,
            key,
            before,
            bytes_before,
            more,
            bytes,
        }));
        Ok(())
    }

    /// The place of the snapshot's row with this key, which is noted as read.
    #[inline]
    fn frozen_place(&self, table: u16, key: &[u8]) -> Result<Option<Address>, TableError> {
        self.frozen_place_by(table, key, || self.find_frozen(table, key))
    }

    /// The same; `find` finds it if it was not read before.
    fn frozen_place_by(
        &self,
        table: u16,
        key: &[u8],
        find: impl FnOnce() -> Result<Option<Address>, TableError>,
    ) -> Result<Option<Address>, TableError> {
        if self.is_own(table) {
            return Ok(None);
        }
        if let Some(noted) = self.reads.borrow().key(table, key) {
            return Ok(noted);
        }
        self.take_bytes(2 * key.len() + OVERHEAD_BYTES)?;
        let at = find()?;
        self.reads.borrow_mut().note_key(table, key, at);
        Ok(at)
    }

    /// The same, at the transaction's end: that is no read, and takes no bytes. Either the row was compared already, or
    /// the transaction has changed it, and others' changes of it are a conflict.
    #[inline]
    fn place_at_end(&self, table: u16, key: &[u8]) -> Result<Option<Address>, TableError> {
        match self.reads.borrow().key(table, key) {
            _ if self.is_own(table) => Ok(None),
            Some(noted) => Ok(noted),
            None => self.find_frozen(table, key),
        }
    }

    /// The place of the snapshot's row with this key.
    #[inline]
    fn find_frozen(&self, table: u16, key: &[u8]) -> Result<Option<Address>, TableError> {
        let values = self.known(table)?.primary.values_of(key);
        let values: Vec<_> = values.iter().map(Value::as_ref).collect();
        self.snapshot.frozen(table)?.place_of(&*values)
    }

    /// The row at a place of the snapshot.
    #[inline]
    fn frozen_row(&self, table: u16, at: Address) -> Result<RowRef<'_, PageSnapshot>, TableError> {
        self.snapshot.frozen(table)?.found(at).row()
    }

    /// The row of the snapshot with this key, which is noted as read.
    #[inline]
    fn read_frozen(
        &self,
        table: u16,
        key: &[u8],
    ) -> Result<Option<RowRef<'_, PageSnapshot>>, TableError> {
        let at = self.frozen_place(table, key)?;
        at.map(|at| self.frozen_row(table, at)).transpose()
    }

    /// The present row with this key.
    #[inline]
    fn row_with_key(&self, table: u16, key: &[u8]) -> Result<Option<OpenRow<'_>>, TableError> {
        let known = self.known(table)?;
        match self.own(table, key) {
            Some(Own::Row(bytes)) => Ok(Some(OpenRow::own(known.format.row(bytes)?))),
            Some(Own::Gone) => Ok(None),
            None => Ok(self.read_frozen(table, key)?.map(OpenRow::frozen)),
        }
    }

    /// The present bytes of the row with this key.
    #[inline]
    fn bytes_there(
        &self,
        table: u16,
        known: &Known,
        key: &[u8],
    ) -> Result<Option<Arc<[u8]>>, TableError> {
        match self.own(table, key) {
            Some(Own::Row(bytes)) => Ok(Some(Arc::clone(bytes))),
            Some(Own::Gone) => Ok(None),
            None => {
                let row = self.read_frozen(table, key)?.map(OpenRow::frozen);
                row.map(|row| row.to_bytes(&known.format)).transpose()
            }
        }
    }

    /// The present bytes of an existing row.
    #[inline]
    fn bytes_of(&self, table: u16, known: &Known, key: &[u8]) -> Result<Arc<[u8]>, TableError> {
        let there = self.bytes_there(table, known, key)?;
        there.ok_or_else(|| TableError::StaleRow {
            table: known.name.to_string(),
        })
    }

    /// True if no row of the snapshot is one of this table: it is one of the transaction's own.
    #[inline]
    fn is_own(&self, table: u16) -> bool {
        let table = self.tables.get(table);
        table.is_some_and(|table| table.is_own)
    }

    /// True if rows of any table refer to this one's.
    #[inline]
    fn is_referenced(&self, table: u16) -> bool {
        !self.snapshot.referring(table).is_empty()
    }
}

impl OpenRows {
    /// True in a child of the process that began it by hand.
    #[inline]
    fn is_in_child(&self) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| !life.borrow().is_here())
    }
}

impl Drop for OpenRows {
    #[inline]
    fn drop(&mut self) {
        if self.is_in_child() {
            // In a forked child the snapshot's locks may stay locked for ever.
            std::mem::forget(Arc::clone(&self.snapshot));
        }
    }
}

impl Transaction<'_> {
    /// The rows of an open transaction that begins in this one, which has done nothing yet. At its end it is
    /// [installed](OpenRows::install) in this one, and no conflict is possible.
    ///
    /// # Errors
    /// [`Error::Refused`] if this one has changed something; [`Error::Full`] if there is no address space for a snapshot.
    #[inline]
    pub fn open_rows(&mut self) -> Result<OpenRows, Error> {
        if !self.space.undo.is_empty() {
            return Err(TableError::BehindChanges.into());
        }
        Ok(OpenRows::begin(self.space.snapshot()?))
    }
}

/// Bytes that a change or a note takes beside its row and key.
const OVERHEAD_BYTES: usize = 96;
/// Bytes that an entry of an index takes beside its bytes.
const ENTRY_BYTES: usize = 48;
