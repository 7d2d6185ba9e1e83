//! Rows in a transaction that is open for as long as its owner likes: the state at its beginning, and beside it what it
//! has changed.
//!
//! It has a snapshot ([`SpaceSnapshot`]) and, for each table, the rows that it inserted, changed or deleted ([`changed`]);
//! reading is the one over the other. It is a store of rows as any other ([`ReadRows`](sardonyx_rows::ReadRows),
//! [`WriteRows`](sardonyx_rows::WriteRows)), so constraints are those of all stores. It holds no turn, no lock and no
//! thread. What it took from the snapshot is noted ([`reads`]): keys, ranges, scans and numbers.
//!
//! At its end [`OpenRows::install`] runs as a transaction of the serial stage. It compares what was read with what is
//! there now, row by row: what is the same is as if all of it had run at that moment. Then it makes the changes by the
//! verbs of [`Transaction`](crate::Transaction).
//!
//! Invariants: what is not noted was not read from the snapshot; an operation that fails has done nothing; memory is
//! bounded ([`OpenRows::with_bytes_max`]).
//!
//! Source: Mühe, Kemper, Neumann: Executing Long-Running Transactions in Synchronization-Free Main Memory Database Systems
//! (CIDR 2013), "tentative execution"; validated by values instead of versions, since a comparison costs nothing while no
//! transaction is open.

mod bytes;
mod changed;
mod compare;
mod constraints;
mod content;
mod index;
mod install;
mod life;
mod range;
mod reads;
mod records;
mod row;
mod scan;
#[cfg(test)]
mod tests;
mod verbs;

use crate::snapshot::SpaceSnapshot;
use crate::transaction::{Marked, Transaction};
use changed::{Changed, Key, Own, entries_of};
pub use content::OwnRow;
pub use index::OpenIndex;
pub use install::{LeftRows, OpenChanges};
use life::Life;
pub use life::OpenTransactions;
pub use range::OpenRange;
use reads::Reads;
pub use records::RecordIndex;
pub use row::OpenRow;
use sardonyx_base::error::Error;
use sardonyx_base::memory::Share;
use sardonyx_rows::condition::Check;
use sardonyx_rows::constraints::{HeldReferences, Marks, conditions_of};
use sardonyx_rows::key::KeyShape;
use sardonyx_rows::schema::{Schema, Value};
use sardonyx_rows::{RowFormat, RowRef, TableError};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageSnapshot;
pub use scan::OpenScan;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default bound on what an open transaction keeps, in bytes.
const BYTES_MAX: usize = 1 << 30;

/// The rows of all tables as an open transaction sees them.
#[derive(Debug)]
pub struct OpenRows {
    snapshot: Arc<SpaceSnapshot>,
    /// By number.
    tables: Box<[OpenTable]>,
    /// What was in the place of each change, in their order.
    undo: Vec<Undo>,
    /// How many changes there were at each mark.
    marks: Marks<usize>,
    held: HeldReferences,
    reads: RefCell<Reads>,
    /// Tables to which others refer.
    referenced: OnceCell<Box<[bool]>>,
    /// Bytes of changes, and of what undoing them needs.
    bytes: Cell<usize>,
    bytes_max: usize,
    /// Of memory that others share.
    share: Option<RefCell<Share>>,
    /// The number of operations that run, one in another.
    depth: usize,
    /// Which it is in the process.
    number: u64,
    /// Among those that a program began by hand.
    life: Option<RefCell<Life>>,
}

/// So that marks of one are never taken for those of another.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The transaction's part of a table.
#[derive(Debug, Default)]
struct OpenTable {
    /// Found when it is first used.
    known: OnceCell<Arc<Known>>,
    changed: Option<Changed>,
    /// The keys of all rows of the snapshot, once they were asked for in order.
    keys: OnceCell<Vec<Key>>,
}

/// The state before a change.
#[derive(Debug)]
struct Undo {
    table: u16,
    key: Key,
    before: Option<Own>,
    /// Bytes that were taken for `before`.
    bytes_before: usize,
    /// The number of rows that there are more since.
    more: i64,
    /// Bytes of the change.
    bytes: usize,
}

/// Bytes that a row of the transaction's own takes, with its entries in indexes.
fn bytes_of_change(key: &[u8], own: &Own, entries: &[Vec<u8>]) -> usize {
    let entries = entries.iter().map(|entry| entry.len() + ENTRY_BYTES);
    own.bytes() + key.len() + OVERHEAD_BYTES + entries.sum::<usize>()
}

/// What is needed of a table to read and to change its rows.
#[derive(Debug)]
pub(crate) struct Known {
    name: Arc<str>,
    schema: Arc<Schema>,
    /// The key of rows in the snapshot.
    primary: KeyShape,
    /// Of rows that the transaction has.
    format: RowFormat,
    conditions: Arc<[Check]>,
}

impl Known {
    fn of(name: &str, schema: &Arc<Schema>) -> Result<Self, TableError> {
        Ok(Known {
            name: name.into(),
            primary: KeyShape::new(schema, &schema.primary),
            format: RowFormat::beside(name, schema)?,
            conditions: conditions_of(schema)?,
            schema: Arc::clone(schema),
        })
    }
}

impl OpenRows {
    /// Begins with the state of a snapshot.
    pub fn begin(snapshot: Arc<SpaceSnapshot>) -> Self {
        let tables = snapshot.definitions().len();
        OpenRows {
            tables: (0..tables).map(|_| OpenTable::default()).collect(),
            snapshot,
            undo: Vec::new(),
            marks: Marks::default(),
            held: HeldReferences::default(),
            reads: RefCell::default(),
            referenced: OnceCell::new(),
            bytes: Cell::new(0),
            bytes_max: BYTES_MAX,
            share: None,
            depth: 0,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            life: None,
        }
    }

    /// Is one of those that a program began by hand: it may be ended with them.
    pub fn begun_among(mut self, all: &Arc<OpenTransactions>) -> Self {
        self.bytes_max = all.bytes_of_one();
        self.life = Some(RefCell::new(all.begin()));
        self
    }

    /// Is one that the serial stage runs, with the same bound on its own bytes: no other one ends it.
    pub fn begun_in_stage(mut self, all: &Arc<OpenTransactions>) -> Self {
        self.bytes_max = all.bytes_of_one();
        self.life = Some(RefCell::new(all.begin_in_stage()));
        self
    }

    /// Checks that it was not ended from without.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Closed`] and [`Error::Forked`], by a [`TransactionEnded`](sardonyx_rows::TransactionEnded).
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

    /// Whether it has changed anything.
    pub fn has_changes(&self) -> bool {
        let mut changed = (self.tables.iter()).filter_map(|table| table.changed.as_ref());
        changed.any(|changed| !changed.rows().is_empty())
    }

    /// Marks how far it has come, to [return](OpenRows::return_to) there.
    pub fn mark(&mut self) -> Marked {
        let number = self.marks.push(self.undo.len());
        self.held.mark(self.marks.len() - 1);
        Marked::numbered(number, self.number)
    }

    /// Undoes what was done since it marked a place. The mark stays; those that were made behind it do not.
    ///
    /// # Errors
    /// [`Error::Refused`] if it has no such mark, or not any more: then nothing is undone.
    pub fn return_to(&mut self, mark: Marked) -> Result<(), Error> {
        self.check_life()?;
        let (position, steps) = self.valid(mark)?;
        self.undo_to(steps);
        self.marks.truncate(position + 1);
        self.held.return_to(position);
        Ok(())
    }

    fn valid(&self, mark: Marked) -> Result<(usize, usize), TableError> {
        let number = mark.number(self.number);
        let found = number.and_then(|number| self.marks.find(number));
        found.ok_or(TableError::NoMark)
    }

    /// References that do not hold are noted from now on, or refused at once again.
    pub fn hold_references(&mut self, holds: bool) {
        self.held.hold(holds);
    }

    fn undo_to(&mut self, steps: usize) {
        while self.undo.len() > steps {
            let Some(undo) = self.undo.pop() else {
                return;
            };
            if let Some(table) = self.tables.get_mut(usize::from(undo.table))
                && let (Some(known), Some(changed)) = (table.known.get(), &mut table.changed)
            {
                changed.put_back(&known.format, undo.key, undo.before);
                changed.more -= undo.more;
            }
            self.give_bytes(undo.bytes);
        }
        self.give_to_others();
    }

    /// Forgets a mark, and those that were made behind it. What was done since stays. Without marks it forgets how to undo
    /// what was done, and gives that memory back.
    ///
    /// # Errors
    /// [`Error::Refused`] if it has no such mark, or not any more.
    pub fn release(&mut self, mark: Marked) -> Result<(), Error> {
        self.check_life()?;
        let (position, _) = self.valid(mark)?;
        self.marks.truncate(position);
        self.forget_undo();
        Ok(())
    }

    /// Forgets how to undo what was done, if no mark and no operation needs that any more.
    fn forget_undo(&mut self) {
        if self.depth > 0 || !self.marks.is_empty() {
            return;
        }
        while let Some(undo) = self.undo.pop() {
            self.give_bytes(undo.bytes_before);
        }
        self.give_to_others();
    }

    fn known(&self, table: u16) -> Result<&Arc<Known>, TableError> {
        self.check_life()?;
        let unknown = TableError::UnknownHandle { number: table };
        let Some(OpenTable { known: cell, .. }) = self.tables.get(usize::from(table)) else {
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

    fn changed(&self, table: u16) -> Option<&Changed> {
        let changed = self.tables.get(usize::from(table))?.changed.as_ref()?;
        (!changed.rows().is_empty()).then_some(changed)
    }

    /// What the transaction has of a row; `None` if it is as in the snapshot.
    fn own(&self, table: u16, key: &[u8]) -> Option<&Own> {
        self.changed(table)?.rows().get(key)
    }

    /// Puts a row of the transaction's own into the place of the one with its key, or takes that away: then there are so
    /// many rows more.
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
        let entries_before = entries_of(&known.format, there)?;
        let bytes_before = there.map_or(0, |own| bytes_of_change(&key, own, &entries_before));
        let bytes = bytes_of_change(&key, &own, &entries);
        self.take_bytes(bytes)?;
        let changed = &mut self.tables[usize::from(table)].changed;
        let changed = changed.get_or_insert_with(|| Changed::of(known.schema.indexes.len()));
        let before = changed.put(Arc::clone(&key), own, &entries_before, entries);
        changed.more += more;
        self.undo.push(Undo {
            table,
            key,
            before,
            bytes_before,
            more,
            bytes,
        });
        Ok(())
    }

    /// Where the row of the snapshot with this key stands, which is noted as read.
    fn frozen_place(&self, table: u16, key: &[u8]) -> Result<Option<Address>, TableError> {
        self.frozen_place_by(table, key, || self.find_frozen(table, key))
    }

    /// The same; `find` finds it if it was not asked for before.
    fn frozen_place_by(
        &self,
        table: u16,
        key: &[u8],
        find: impl FnOnce() -> Result<Option<Address>, TableError>,
    ) -> Result<Option<Address>, TableError> {
        if let Some(noted) = self.reads.borrow().key(table, key) {
            return Ok(noted);
        }
        self.take_bytes(2 * key.len() + OVERHEAD_BYTES)?;
        let at = find()?;
        self.reads.borrow_mut().note_key(table, key, at);
        Ok(at)
    }

    /// The same, at the transaction's end: that is no read, and takes no bytes. What was read is compared already, or the row
    /// is one that the transaction has changed, which is not changed over what others made of it meanwhile.
    fn place_at_end(&self, table: u16, key: &[u8]) -> Result<Option<Address>, TableError> {
        match self.reads.borrow().key(table, key) {
            Some(noted) => Ok(noted),
            None => self.find_frozen(table, key),
        }
    }

    /// Where the row of the snapshot with this key stands.
    fn find_frozen(&self, table: u16, key: &[u8]) -> Result<Option<Address>, TableError> {
        let values = self.known(table)?.primary.values_of(key);
        let values: Vec<_> = values.iter().map(Value::as_ref).collect();
        self.snapshot.frozen(table)?.place_of(&*values)
    }

    /// The row at a place of the snapshot.
    fn frozen_row(&self, table: u16, at: Address) -> Result<RowRef<'_, PageSnapshot>, TableError> {
        self.snapshot.frozen(table)?.found(at).row()
    }

    /// The row of the snapshot with this key, which is noted as read.
    fn read_frozen(
        &self,
        table: u16,
        key: &[u8],
    ) -> Result<Option<RowRef<'_, PageSnapshot>>, TableError> {
        let at = self.frozen_place(table, key)?;
        at.map(|at| self.frozen_row(table, at)).transpose()
    }

    /// The row with this key as it is now.
    fn row_with_key(&self, table: u16, key: &[u8]) -> Result<Option<OpenRow<'_>>, TableError> {
        let known = self.known(table)?;
        match self.own(table, key) {
            Some(Own::Row(bytes)) => Ok(Some(OpenRow::own(known.format.row(bytes)?))),
            Some(Own::Gone) => Ok(None),
            None => Ok(self.read_frozen(table, key)?.map(OpenRow::frozen)),
        }
    }

    /// The bytes of a row that is there, as they are now.
    fn bytes_of(&self, table: u16, known: &Known, key: &[u8]) -> Result<Arc<[u8]>, TableError> {
        if let Some(Own::Row(bytes)) = self.own(table, key) {
            return Ok(Arc::clone(bytes));
        }
        match self.row_with_key(table, key)? {
            Some(row) => Ok(row.to_bytes(&known.format)?),
            None => Err(TableError::StaleRow {
                table: known.name.to_string(),
            }),
        }
    }

    /// Whether rows of any table refer to this one's.
    fn is_referenced(&self, table: u16) -> bool {
        let all = self.referenced.get_or_init(|| {
            let tables = self.snapshot.definitions().len();
            let mut all = vec![false; tables].into_boxed_slice();
            let schemas = (0..tables as u16).filter_map(|number| self.snapshot.schema_of(number));
            for reference in schemas.flat_map(|schema| &schema.foreign_keys) {
                if let Some(is_referenced) = all.get_mut(usize::from(reference.table)) {
                    *is_referenced = true;
                }
            }
            all
        });
        all.get(usize::from(table))
            .is_some_and(|is_referenced| *is_referenced)
    }
}

impl OpenRows {
    /// True in a child of the process that began it by hand.
    fn is_in_child(&self) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| !life.borrow().is_here())
    }
}

impl Drop for OpenRows {
    fn drop(&mut self) {
        if self.is_in_child() {
            // In a forked child the snapshot's locks may be taken for ever.
            std::mem::forget(Arc::clone(&self.snapshot));
        }
    }
}

impl Transaction<'_> {
    /// The rows of an open transaction that begins in this one, which has done nothing yet: at its end it is
    /// [installed](OpenRows::install) in this one, and nothing can be in its way.
    ///
    /// # Errors
    /// [`Error::Refused`] if this one has changed something; [`Error::Full`] if there is no address space for a snapshot.
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
