//! The log of units: the ends of subtransactions and transactions, under the pen ([`sardonyx_storage::pen`]).
//!
//! Its holder appends *units* to the group being filled: the log's transactions, kept whole or not at all (I4). A unit
//! carries the redo records of one or more subtransactions, their undo entries, and ends of transactions. All of them
//! are in one unit. So an undo entry is durable if and only if its effect is, and nothing has to be forced before
//! anything else.
//!
//! An ending subtransaction still holds its page locks. So the order of units is an order in which the subtransactions
//! could have run one after another. Every prefix of the log is a state from which recovery can continue: redo, then
//! compensation of the operations with undo entries.
//!
//! Source: DASDBS paper, section 2.

pub(crate) mod reserve;
pub(crate) mod spheres;

use crate::changes::Changed;
use crate::error::DatabaseError;
use crate::frames::Frames;
use crate::records::memory::TableMemory;
use crate::statistics::Counters;
use crate::strategy::PageLog;
use crate::undo::area::{SlotNumber, UndoArea, WriteBytes};
use crate::undo::entry::{Entry, entry_bytes};
use crate::undo::format::Header;
use crate::unit_log::reserve::{Growth, PageReserve};
use crate::unit_log::spheres::Unwritten;
use sardonyx_base::hash::IntegerMap;
use sardonyx_rows::schema::Schema;
use sardonyx_storage::catalogue::{Catalogue, Write};
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::log::room::NoRoom;
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::pen::{Appending, Held, LetGo, Pen};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// More than the records of a transaction's end take that changed nothing.
const END_WITHOUT_WORK_BYTES: usize = 4096;

/// More than the records of a value's place take beside the value: its head and its continuation, the mark that the
/// place is taken, and the page's new use.
const PLACE_BYTES: usize = 96;

/// Sequence numbers are reserved in the database so many at a time.
const SEQUENCES_RESERVED: u64 = 1 << 40;

/// The pen holder's knowledge of units: of the running transactions, and of the areas.
#[derive(Debug)]
pub(crate) struct Units {
    pub frames: Arc<Frames>,
    /// Nothing is appended any more.
    pub closed: bool,
    pub counters: Arc<Counters>,
    pub catalogue: Catalogue,
    /// The stored ones, by the numbers of their tables.
    pub schemas: BTreeMap<u16, Schema>,
    pub tables: IntegerMap<u16, Arc<TableMemory>>,
    pub page_log: PageLog,
    /// The undo area's number in the catalogue.
    pub undo_number: u16,
    pub undo: UndoArea,
    pub header: Header,
    /// The next sequence number.
    pub sequence: u64,
    /// By transaction: its slot in the undo area, if it has entries in the log.
    pub slots: IntegerMap<u64, SlotNumber>,
    pub unwritten: Unwritten,
    /// Pages that inverses of running transactions may take.
    pub reserve: PageReserve,
    /// For the bytes of entries.
    pub scratch: Vec<u8>,
}

/// The log of units, in the hands of the pen's holder.
#[derive(Debug)]
pub(crate) struct UnitLog<'p>(Held<'p, Units>);

/// Stores bytes in pages that only the pen's holder touches, and logs them.
struct StoreAndLog<'a> {
    frames: &'a Frames,
    log: Appending<'a>,
}

impl WriteBytes for StoreAndLog<'_> {
    fn write(&mut self, page: PageId, offset: usize, bytes: &[u8]) {
        // SAFETY: right of the pen. Only pages that no operation can name come here: of the undo area, of the
        // catalogue, of the engine's own tables, and of tables that are new.
        let place = unsafe { self.frames.bytes_mut(page, offset..offset + bytes.len()) };
        place.copy_from_slice(bytes);
        push(self.log.builder(), page, offset, bytes);
    }
}

impl Deref for UnitLog<'_> {
    type Target = Units;

    #[inline]
    fn deref(&self) -> &Units {
        &self.0
    }
}

impl DerefMut for UnitLog<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Units {
        &mut self.0
    }
}

impl<'p> UnitLog<'p> {
    /// Waits for the pen.
    ///
    /// # Errors
    /// As [`Pen::take`].
    #[inline]
    pub fn take(pen: &'p Pen<Units>) -> Result<Self, LogError> {
        Ok(UnitLog(pen.take()?))
    }

    /// Releases the pen: the caller will write, and wait for, its appended records.
    #[inline]
    pub fn let_go_to_force(self) -> LetGo<'p> {
        self.0.let_go_to_force()
    }

    /// Makes sure that a unit with which something ends may be appended: the log is sound and has room. New work has
    /// asked [`UnitLog::admit_work`] before, which leaves a segment of the log for that (I14). In a log that is still
    /// small and was never made longer for work, no working operation can end. Little is to be appended, and also a
    /// full disk must not refuse it.
    #[inline]
    pub fn admit(&mut self) -> Result<(), DatabaseError> {
        self.admit_small(END_WITHOUT_WORK_BYTES, Admission::Whole)
    }

    /// Makes sure that a unit of a transaction that goes on may be appended.
    #[inline]
    pub fn admit_work(&mut self) -> Result<(), DatabaseError> {
        self.admit_as(Admission::Work)
    }

    /// Admits a unit of at most so many bytes of records that belongs to no transaction, or is begun when none runs.
    /// For that a small log is only made as long as needed. For a unit of a running transaction it is prepared as far
    /// as ends may need.
    pub fn admit_small(&mut self, bytes: usize, otherwise: Admission) -> Result<(), DatabaseError> {
        let at = self.0.appending().position().lsn;
        if !self.0.log().segments().grows(at) {
            return self.admit_as(otherwise);
        }
        self.admit_as(Admission::Measured)?;
        let limit = self.0.log().limits().transaction_bytes;
        match self.0.appending().builder().make_room(bytes, limit) {
            Ok(()) => Ok(()),
            Err(NoRoom::Log(error)) => Err(error.into()),
            Err(NoRoom::TooLarge { .. }) => self.admit_as(otherwise),
        }
    }

    #[inline]
    fn admit_as(&mut self, admission: Admission) -> Result<(), DatabaseError> {
        if self.closed {
            return Err(LogError::Closed.into());
        }
        Ok(self.0.appending().admit(admission)?)
    }

    /// Makes sure that a unit of an area's growth may be appended.
    pub fn admit_growth(&mut self, growth: Growth) -> Result<(), DatabaseError> {
        self.admit_as(growth.admission())
    }

    /// The most bytes of records that a unit may have for the changes of a subtransaction (in S1: of a transaction):
    /// half of the log's limit at once, so that the rest of the unit fits.
    pub fn change_bytes_max(&self) -> usize {
        self.0.log().limits().transaction_bytes / 2
    }

    /// Checks that these changes fit into a unit.
    pub fn check_size(&self, changed: &[Changed]) -> Result<(), DatabaseError> {
        let (bytes, limit) = (self.log_bytes(changed), self.change_bytes_max());
        if bytes > limit {
            return Err(DatabaseError::TooLarge { bytes, limit });
        }
        Ok(())
    }

    /// Bytes that these changes take in the log.
    pub fn log_bytes(&self, changed: &[Changed]) -> usize {
        match self.page_log {
            PageLog::ByteRanges => changed.iter().map(|c| encoded_bytes(c.range.len())).sum(),
            PageLog::AfterImages => pages_of(changed) as usize * encoded_bytes(PAGE_SIZE),
        }
    }

    /// The most bytes that an inverse adds in the log to the ranges or pages that its operation changed. The inverse
    /// has so many bytes and may take so many pages. That holds for places of records and their texts. Its unit must
    /// not be refused for its length (I14).
    pub fn put_back_bytes(&self, inverse: usize, pages: u64) -> usize {
        let pages = pages as usize;
        match self.page_log {
            PageLog::ByteRanges => inverse + pages * PLACE_BYTES,
            PageLog::AfterImages => pages * encoded_bytes(PAGE_SIZE),
        }
    }

    /// A sequence number that no other operation has, when so many, this one included, will be used
    /// before the next is asked for. It may end a unit.
    pub fn sequences(&mut self, count: u64) -> Result<u64, DatabaseError> {
        self.make_sequences_ready(count)?;
        self.sequence += 1;
        Ok(self.sequence - 1)
    }

    /// Makes sure that the next so many sequence numbers may be used. It may end a unit.
    pub fn make_sequences_ready(&mut self, count: u64) -> Result<(), DatabaseError> {
        if self.sequence + count > self.header.sequence_end {
            self.reserve_sequences()?;
        }
        Ok(())
    }

    fn reserve_sequences(&mut self) -> Result<(), DatabaseError> {
        self.admit()?;
        self.note_sequences();
        self.end_unit(0, false);
        Ok(())
    }

    /// Notes in the database, in the unit begun, that more sequence numbers may be used.
    pub fn note_sequences(&mut self) {
        self.header.sequence_end += SEQUENCES_RESERVED;
        let (page, bytes) = (self.undo.page(0), self.header.encode());
        self.writer().write(page, 0, &bytes);
    }

    pub fn writer(&mut self) -> impl WriteBytes {
        let (units, log) = self.0.split();
        StoreAndLog {
            frames: &units.frames,
            log,
        }
    }

    /// Ends the unit. Returns the number of the group that it is in.
    pub fn end_unit(&mut self, pages: u64, forced: bool) -> u64 {
        let (units, mut log) = self.0.split();
        if !log.builder().end_transaction() {
            return log.last_group();
        }
        units.counters.unit(pages, forced);
        log.transaction_ended()
    }

    /// Cuts off the appended part of the unit.
    pub fn abort_unit(&mut self) {
        self.0.appending().builder().abort_transaction();
    }

    /// Makes an area have so many pages. A caller that then fails leaves it so.
    pub fn grow(&mut self, number: u16, pages: u64, growth: Growth) -> Result<(), DatabaseError> {
        if let Some(table) = self.tables.get(&number).cloned() {
            return self.grow_table(&table, pages, growth);
        }
        let so_far: u64 = self.catalogue.extents_of(number).map(|e| e.pages).sum();
        if so_far >= pages {
            return Ok(());
        }
        let pages_max = self.frames.pages_max();
        let usual_max = self.reserve.pages_max(pages_max, Growth::OfWork);
        let mut catalogue = self.catalogue.clone();
        let (_, writes) = catalogue.extend_within(number, pages - so_far, usual_max)?;
        self.admit_small(bytes_of(&writes), growth.admission())?;
        if catalogue.pages > self.reserve.pages_max(pages_max, growth) {
            return Err(self.reserve.full(catalogue.pages, pages_max));
        }
        let more = catalogue.pages - self.catalogue.pages;
        let is_beyond_work = catalogue.pages > usual_max;
        self.change_catalogue(catalogue, &writes)?;
        if is_beyond_work {
            self.reserve.grown(growth, more);
        }
        Ok(())
    }

    /// Declares an area.
    pub fn declare(&mut self, name: &str) -> Result<u16, DatabaseError> {
        let mut catalogue = self.catalogue.clone();
        let (number, writes) = catalogue.declare_area(name)?;
        self.admit_declaration(&writes)?;
        self.change_catalogue(catalogue, &writes)?;
        Ok(number)
    }

    /// Makes sure that a unit may be appended that declares something.
    pub fn admit_declaration(&mut self, writes: &[Write]) -> Result<(), DatabaseError> {
        self.admit_small(bytes_of(writes), Admission::Whole)
    }

    /// Changes the catalogue by a unit of its own, which is admitted.
    pub fn change_catalogue(
        &mut self,
        catalogue: Catalogue,
        writes: &[Write],
    ) -> Result<(), DatabaseError> {
        self.frames.grow_to(catalogue.pages)?;
        self.catalogue = catalogue;
        self.store(writes);
        self.end_unit(0, false);
        Ok(())
    }

    /// Stores and logs changes of the catalogue.
    pub fn store(&mut self, writes: &[Write]) {
        let mut writer = self.writer();
        for Write { address, bytes } in writes {
            writer.write(address.page(), address.offset_in_page(), bytes);
        }
    }

    /// Makes sure that the undo area has so many places to spare, beside those that are promised.
    fn spare_places(&mut self, needed: usize) -> Result<(), DatabaseError> {
        let needed = self.unwritten.owed_places() + needed;
        let missing = needed.saturating_sub(self.undo.spare_places());
        if missing == 0 {
            return Ok(());
        }
        let had = self.undo.len();
        self.grow(self.undo_number, had + missing as u64, Growth::OfWork)?;
        let pages = self.catalogue.extents_of(self.undo_number);
        let pages = pages.flat_map(|e| (e.first_page.0..e.first_page.0 + e.pages).map(PageId));
        let new: Vec<_> = pages.skip(had as usize).collect();
        self.undo.grown(new);
        Ok(())
    }

    /// Appends an entry to the unit; room was made.
    fn append_entry<T: AsRef<[u8]>>(&mut self, transaction: u64, entry: &Entry<T>) {
        let (units, log) = self.0.split();
        let frames = &units.frames;
        let mut writer = StoreAndLog { frames, log };
        let slot = match units.slots.get(&transaction) {
            Some(&slot) => slot,
            None => {
                // The number of the slot's use. It is admitted and reserved like any other.
                let begin = units.sequence;
                units.sequence += 1;
                let slot = units.undo.acquire(begin, &mut writer);
                units.slots.insert(transaction, slot);
                slot
            }
        };
        units
            .undo
            .append(slot, entry, &mut units.scratch, &mut writer);
    }

    /// Appends to the unit that a transaction has ended, if the log knows it.
    fn append_end(&mut self, transaction: u64) {
        let (units, log) = self.0.split();
        if let Some(slot) = units.slots.remove(&transaction) {
            let frames = &units.frames;
            units.undo.release(slot, &mut StoreAndLog { frames, log });
        }
    }

    /// Appends the redo records of changes of pages that the caller has locked exclusively.
    fn append_changes(&mut self, changed: &[Changed]) -> u64 {
        let (units, mut log) = self.0.split();
        let builder = log.builder();
        let mut pages = 0;
        let mut last = None;
        for Changed { page, range } in changed {
            let new = last.replace(*page) != Some(*page);
            pages += u64::from(new);
            // SAFETY: right of a reader: the caller holds the page's exclusive lock.
            let bytes = unsafe { units.frames.page(*page) };
            match units.page_log {
                PageLog::ByteRanges => push(builder, *page, range.start, &bytes[range.clone()]),
                PageLog::AfterImages if new => push(builder, *page, 0, bytes),
                PageLog::AfterImages => {}
            }
        }
        pages
    }

    /// S2 and the ordered log: the end of a subtransaction, whose inverse may take so many pages. Returns its sequence
    /// number and group. The memory that the transaction's end needs is reserved then (I14): the chain of its slot has
    /// room to cancel all entries, and so are the pages.
    pub fn end_of_subtransaction(
        &mut self,
        transaction: u64,
        changed: &[Changed],
        inverse: Option<(u32, &[u8])>,
        inverse_pages: u64,
        forced: bool,
    ) -> Result<(u64, u64), DatabaseError> {
        self.admit_work()?;
        // The number of the operation, and that of the slot's use.
        let sequence = self.sequences(2)?;
        if let Some((_, bytes)) = inverse {
            let slot = self.slots.get(&transaction).copied();
            let needed = self.undo.needed_places(slot, 1, entry_bytes(bytes.len()));
            self.spare_places(needed)?;
        }
        self.check_reserve(inverse_pages)?;
        // Last: the entries before may have filled a group.
        self.admit()?;
        self.reserve.take(transaction, inverse_pages);
        let pages = self.append_changes(changed);
        if let Some((operation, bytes)) = inverse {
            let entry = Entry::Undo {
                sequence,
                operation,
                bytes,
            };
            self.append_entry(transaction, &entry);
        }
        Ok((sequence, self.end_unit(pages, forced)))
    }

    /// S2, the ordered log and recovery: the end of a compensation. If it is the `last` one of its
    /// transaction, that has ended.
    pub fn end_of_compensation(
        &mut self,
        transaction: u64,
        changed: &[Changed],
        of: u64,
        last: bool,
    ) -> Result<u64, DatabaseError> {
        self.admit()?;
        let pages = self.append_changes(changed);
        if last {
            self.append_end(transaction);
        } else if self.slots.contains_key(&transaction) {
            let entry = Entry::<[u8; 0]>::Cancelled { sequence: of };
            self.append_entry(transaction, &entry);
        }
        Ok(self.end_unit(pages, false))
    }

    /// S1: the end of a transaction; S2 and the ordered log: without changes. Returns the group that
    /// must be durable before the transaction is, if it wrote nothing, that of the newest change
    /// that it can have read; and whether it wrote.
    pub fn end_of_transaction(
        &mut self,
        transaction: u64,
        changed: &[Changed],
    ) -> Result<(u64, bool), DatabaseError> {
        if changed.is_empty() && !self.slots.contains_key(&transaction) {
            return Ok((self.0.last_group(), false));
        }
        self.admit()?;
        let pages = self.append_changes(changed);
        self.append_end(transaction);
        Ok((self.end_unit(pages, true), true))
    }

    /// The group that everything which was appended is in, or before it.
    pub fn last_group(&mut self) -> u64 {
        self.0.last_group()
    }

    /// True if the log knows a transaction.
    pub fn is_in_log(&self, transaction: u64) -> bool {
        self.slots.contains_key(&transaction)
    }
}

fn push(builder: &mut GroupBuilder, page: PageId, start: usize, bytes: &[u8]) {
    builder.push_write(Address(page.address().0 + start as u64), bytes);
}

/// Bytes that changes of the catalogue take in the log.
fn bytes_of(writes: &[Write]) -> usize {
    let bytes = writes.iter().map(|write| encoded_bytes(write.bytes.len()));
    bytes.sum()
}

/// The number of pages among sorted changes.
pub(crate) fn pages_of(changed: &[Changed]) -> u64 {
    let mut pages = 0;
    let mut last = None;
    for Changed { page, .. } in changed {
        pages += u64::from(last.replace(*page) != Some(*page));
    }
    pages
}
