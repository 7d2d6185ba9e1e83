//! The log stage: where subtransactions and transactions end. One thread at a time has it.
//!
//! It appends *units* to the group being filled: what the log calls a transaction, kept whole or not
//! at all (I4). A unit carries the redo records of one or more subtransactions, their undo entries,
//! and ends of transactions. Since all of them stand in one unit, an undo entry is durable if and only
//! if its effect is, and nothing has to be forced before anything else.
//!
//! Whoever ends here still holds its page locks; so the order of units is an order in which the
//! subtransactions could have run one after another, and every prefix of the log is a state that
//! recovery can go on from: redo, then compensation of what has an undo entry.
//!
//! Source: paper 003, section 2.

use crate::changes::{Changed, merge};
use crate::error::DatabaseError;
use crate::frames::Frames;
use crate::pages::Page;
use crate::sphere::{Spheres, SubtransactionNumber, Taken};
use crate::statistics::Counters;
use crate::strategy::PageLog;
use crate::undo::area::{SlotNumber, UndoArea, WriteBytes};
use crate::undo::entry::{Entry, entry_bytes};
use crate::undo::format::Header;
use sardonyx_lock::hash::IntegerMap;
use sardonyx_storage::checkpoint::CheckpointStage;
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::commit::{GroupCommit, GroupSource};
use sardonyx_storage::log::filling::{Filling, Refusal};
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::log::writer::{GroupBuilder, SealedGroup};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_table::catalogue::{Catalogue, Write};
use std::sync::Arc;

/// Sequence numbers are reserved in the database so many at a time.
const SEQUENCES_RESERVED: u64 = 1 << 40;

/// The stage.
#[derive(Debug)]
pub(crate) struct Stage {
    pub frames: Arc<Frames>,
    pub filling: Filling,
    pub commit: Arc<GroupCommit>,
    pub checkpoint: Arc<CheckpointStage>,
    pub counters: Arc<Counters>,
    pub catalogue: Catalogue,
    pub page_log: PageLog,
    /// The undo area's number in the catalogue.
    pub undo_number: u16,
    pub undo: UndoArea,
    pub header: Header,
    /// The next sequence number.
    pub sequence: u64,
    /// By transaction: its slot in the undo area, if it has entries in the log.
    pub slots: IntegerMap<u64, SlotNumber>,
    pub spheres: Spheres<Member>,
    /// Pages with completed changes that are not in the log, by number.
    pub dirty: IntegerMap<u64, DirtyPage>,
    /// For the bytes of entries.
    pub scratch: Vec<u8>,
}

/// A page with completed changes that are not in the log yet (persistence spheres).
#[derive(Debug, Default)]
pub(crate) struct DirtyPage {
    /// What changed.
    ranges: Vec<Changed>,
    /// The page before the subtransaction that is at work on it now. What goes to the log meanwhile
    /// is this.
    before: Option<Box<Page>>,
}

/// A completed subtransaction in a sphere.
#[derive(Debug)]
pub(crate) struct Member {
    pub transaction: u64,
    pub kind: MemberKind,
}

/// What a subtransaction in a sphere was.
#[derive(Debug)]
pub(crate) enum MemberKind {
    /// An operation, with its inverse.
    Operation {
        sequence: u64,
        inverse: Option<(u32, Arc<[u8]>)>,
    },
    /// The compensation of the operation of this sequence number.
    Compensation { of: u64 },
}

/// Stores bytes in pages that only the stage touches, and logs them.
struct StoreAndLog<'a> {
    frames: &'a Frames,
    builder: &'a mut GroupBuilder,
}

impl WriteBytes for StoreAndLog<'_> {
    fn write(&mut self, page: PageId, offset: usize, bytes: &[u8]) {
        // SAFETY: right of the stage: only pages of the undo area and of the catalogue come here.
        let place = unsafe { self.frames.bytes_mut(page, offset..offset + bytes.len()) };
        place.copy_from_slice(bytes);
        let address = page.address().0 + offset as u64;
        self.builder
            .push_write(sardonyx_storage::page::Address(address), bytes);
    }
}

/// Whoever waits for room has nothing that could be sealed.
struct NothingFilling;

impl GroupSource for NothingFilling {
    fn try_seal(&self) -> Option<SealedGroup> {
        None
    }
}

impl Stage {
    /// Makes sure that a unit may be appended: the log is sound and has room.
    #[inline]
    pub fn admit(&mut self) -> Result<(), DatabaseError> {
        loop {
            let at = match self.filling.admit() {
                Ok(()) => return Ok(()),
                Err(Refusal::Log(error)) => return Err(error.into()),
                Err(Refusal::NoRoom(at)) => at,
            };
            // What waits in the group must not wait for room as well.
            self.filling.hand_over();
            let (next, last) = (self.filling.next(), self.filling.last_group());
            let (commit, checkpoint) = (&self.commit, &self.checkpoint);
            commit.room().wait_for_room(at, || {
                // A checkpoint has only what is durable; another client may be writing the rest.
                commit.wait(last, &NothingFilling)?;
                checkpoint.free_some(next).map_err(|error| LogError::Full {
                    reason: error.to_string().into(),
                })
            })?;
        }
    }

    /// Bytes that these changes take in the log.
    pub fn log_bytes(&self, changed: &[Changed]) -> usize {
        match self.page_log {
            PageLog::ByteRanges => changed.iter().map(|c| encoded_bytes(c.range.len())).sum(),
            PageLog::AfterImages => pages_of(changed) as usize * encoded_bytes(PAGE_SIZE),
        }
    }

    /// A sequence number that no other operation has.
    pub fn next_sequence(&mut self) -> u64 {
        if self.sequence == self.header.sequence_end {
            self.reserve_sequences();
        }
        self.sequence += 1;
        self.sequence - 1
    }

    /// Notes in the database that more sequence numbers may be used. The caller has been admitted.
    pub fn reserve_sequences(&mut self) {
        self.header.sequence_end += SEQUENCES_RESERVED;
        let (page, bytes) = (self.undo.page(0), self.header.encode());
        self.writer().write(page, 0, &bytes);
        self.end_unit(0, false);
    }

    pub fn writer(&mut self) -> impl WriteBytes {
        StoreAndLog {
            frames: &self.frames,
            builder: self.filling.builder(),
        }
    }

    /// Ends the unit. Returns the number of the group that it is in.
    pub fn end_unit(&mut self, pages: u64, forced: bool) -> u64 {
        if !self.filling.builder().end_transaction() {
            return self.filling.last_group();
        }
        self.counters.unit(pages, forced);
        self.filling.transaction_ended()
    }

    /// Makes an area have so many pages. Whoever asks and then fails leaves it so.
    pub fn grow(&mut self, number: u16, pages: u64) -> Result<(), DatabaseError> {
        let so_far: u64 = self.catalogue.extents_of(number).map(|e| e.pages).sum();
        if so_far >= pages {
            return Ok(());
        }
        self.admit()?;
        let mut catalogue = self.catalogue.clone();
        let (_, writes) = catalogue.extend(number, pages - so_far)?;
        self.frames.grow_to(catalogue.pages)?;
        self.catalogue = catalogue;
        self.store(&writes);
        self.end_unit(0, false);
        Ok(())
    }

    /// Declares an area.
    pub fn declare(&mut self, name: &str) -> Result<u16, DatabaseError> {
        self.admit()?;
        let mut catalogue = self.catalogue.clone();
        let (number, writes) = catalogue.declare_area(name)?;
        self.frames.grow_to(catalogue.pages)?;
        self.catalogue = catalogue;
        self.store(&writes);
        self.end_unit(0, false);
        Ok(number)
    }

    /// Stores and logs changes of the catalogue.
    pub fn store(&mut self, writes: &[Write]) {
        let mut writer = self.writer();
        for Write { address, bytes } in writes {
            writer.write(address.page(), address.offset_in_page(), bytes);
        }
    }

    /// Makes sure that the undo area has so many places to spare.
    fn spare_places(&mut self, needed: usize) -> Result<(), DatabaseError> {
        let missing = needed.saturating_sub(self.undo.spare_places());
        if missing == 0 {
            return Ok(());
        }
        let had = self.undo.len();
        self.grow(self.undo_number, had + missing as u64)?;
        let pages = self.catalogue.extents_of(self.undo_number);
        let pages = pages.flat_map(|e| (e.first_page.0..e.first_page.0 + e.pages).map(PageId));
        let new: Vec<_> = pages.skip(had as usize).collect();
        self.undo.grown(new);
        Ok(())
    }

    /// Makes sure that a transaction can append entries and cancel them.
    fn room_for_entries(
        &mut self,
        transaction: u64,
        entries: usize,
        bytes: usize,
    ) -> Result<(), DatabaseError> {
        let slot = self.slots.get(&transaction).copied();
        let needed = self.undo.needed_places(slot, entries, bytes);
        self.spare_places(needed)
    }

    /// Appends an entry to the unit; room was made.
    fn append_entry<T: AsRef<[u8]>>(&mut self, transaction: u64, entry: &Entry<T>) {
        let slot = match self.slots.get(&transaction) {
            Some(&slot) => slot,
            None => {
                // The number of the slot's use. It is admitted and reserved like any other.
                let begin = self.sequence;
                self.sequence += 1;
                let mut writer = StoreAndLog {
                    frames: &self.frames,
                    builder: self.filling.builder(),
                };
                let slot = self.undo.acquire(begin, &mut writer);
                self.slots.insert(transaction, slot);
                slot
            }
        };
        let mut writer = StoreAndLog {
            frames: &self.frames,
            builder: self.filling.builder(),
        };
        self.undo
            .append(slot, entry, &mut self.scratch, &mut writer);
    }

    /// Appends to the unit that a transaction has ended, if the log knows it.
    fn append_end(&mut self, transaction: u64) {
        if let Some(slot) = self.slots.remove(&transaction) {
            let mut writer = StoreAndLog {
                frames: &self.frames,
                builder: self.filling.builder(),
            };
            self.undo.release(slot, &mut writer);
        }
    }

    /// Appends the redo records of changes of pages that the caller has locked exclusively.
    fn append_changes(&mut self, changed: &[Changed]) -> u64 {
        let builder = self.filling.builder();
        let mut pages = 0;
        let mut last = None;
        for Changed { page, range } in changed {
            let new = last.replace(*page) != Some(*page);
            pages += u64::from(new);
            // SAFETY: right of a reader: the caller holds the page's exclusive lock.
            let bytes = unsafe { self.frames.page(*page) };
            match self.page_log {
                PageLog::ByteRanges => push(builder, *page, range.start, &bytes[range.clone()]),
                PageLog::AfterImages if new => push(builder, *page, 0, bytes),
                PageLog::AfterImages => {}
            }
        }
        pages
    }

    /// S2 and the ordered log: the end of a subtransaction. Returns its sequence number and group.
    pub fn end_of_subtransaction(
        &mut self,
        transaction: u64,
        changed: &[Changed],
        inverse: Option<(u32, &[u8])>,
        forced: bool,
    ) -> Result<(u64, u64), DatabaseError> {
        self.admit()?;
        if let Some((_, bytes)) = inverse {
            self.room_for_entries(transaction, 1, entry_bytes(bytes.len()))?;
        }
        let sequence = self.sequences(2);
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

    /// A sequence number, when so many will be used in this unit.
    fn sequences(&mut self, count: u64) -> u64 {
        if self.sequence + count > self.header.sequence_end {
            self.reserve_sequences();
        }
        self.next_sequence()
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
            return Ok((self.filling.last_group(), false));
        }
        self.admit()?;
        let pages = self.append_changes(changed);
        self.append_end(transaction);
        Ok((self.end_unit(pages, true), true))
    }

    /// S2/PS: before the first change of a page by a subtransaction, which has locked it exclusively.
    pub fn begin_to_write(&mut self, page: PageId) {
        if let Some(dirty) = self.dirty.get_mut(&page.0)
            && dirty.before.is_none()
        {
            // SAFETY: right of a reader: the caller holds the page's exclusive lock and has not
            // begun to write.
            dirty.before = Some(Box::new(*unsafe { self.frames.page(page) }));
        }
    }

    /// S2/PS: a subtransaction was undone; its pages are as before.
    pub fn writing_undone(&mut self, pages: impl IntoIterator<Item = PageId>) {
        for page in pages {
            if let Some(dirty) = self.dirty.get_mut(&page.0) {
                dirty.before = None;
            }
        }
    }

    /// S2/PS: the end of a subtransaction or compensation, whose pages are still locked. A sphere that
    /// grows beyond `pages_max` pages is appended at once.
    pub fn complete_in_sphere(
        &mut self,
        changed: &[Changed],
        read: &[PageId],
        joined: &[SubtransactionNumber],
        member: Member,
        pages_max: usize,
    ) -> Result<SubtransactionNumber, DatabaseError> {
        self.admit()?;
        let mut modified: Vec<PageId> = changed.iter().map(|c| c.page).collect();
        modified.dedup();
        let completed = self.spheres.complete(&modified, read, joined, member);
        for Changed { page, range } in changed {
            let dirty = self.dirty.entry(page.0).or_default();
            dirty.before = None;
            let (page, range) = (*page, range.clone());
            dirty.ranges.push(Changed { page, range });
            // Seldom, so that it costs little; often enough that it stays short.
            if dirty.ranges.len() % 64 == 0 {
                merge(&mut dirty.ranges);
            }
        }
        if completed.pages_in_sphere > pages_max {
            let taken = self.spheres.take([completed.number]);
            self.counters.add(|c| &c.spheres_background, 1);
            self.append_spheres(taken, None, false)?;
        }
        Ok(completed.number)
    }

    /// S2/PS: the end of a transaction, committed or compensated: its spheres in one unit. Returns the
    /// same as [`Stage::end_of_transaction`].
    pub fn end_in_spheres(
        &mut self,
        transaction: u64,
        of: impl IntoIterator<Item = SubtransactionNumber>,
        forced: bool,
    ) -> Result<(u64, bool), DatabaseError> {
        self.admit()?;
        let taken = self.spheres.take(of);
        if taken.is_empty() && !self.slots.contains_key(&transaction) {
            return Ok((self.filling.last_group(), false));
        }
        let group = self.append_spheres(taken, Some(transaction), forced)?;
        Ok((group, true))
    }

    /// S2/PS: appends all spheres that there are, of aborted transactions.
    pub fn write_all_spheres(&mut self) -> Result<(), DatabaseError> {
        while let Some(sphere) = self.spheres.largest() {
            self.admit()?;
            let taken = self.spheres.take([sphere.member]);
            self.append_spheres(taken, None, false)?;
        }
        Ok(())
    }

    /// Whether the log knows a transaction.
    pub fn is_in_log(&self, transaction: u64) -> bool {
        self.slots.contains_key(&transaction)
    }

    /// Appends spheres as one unit, with the entries of all transactions in it but the one that ends
    /// with it. A subtransaction whose compensation is in it too needs no entry.
    fn append_spheres(
        &mut self,
        taken: Taken<Member>,
        ending: Option<u64>,
        forced: bool,
    ) -> Result<u64, DatabaseError> {
        let entries = entries_of(&taken, ending);
        let mut needed = 0;
        for (transaction, entries) in &entries {
            let bytes = entries.iter().map(|entry| match entry {
                Entry::Undo { bytes, .. } => entry_bytes(bytes.len()),
                Entry::Cancelled { .. } => entry_bytes(0),
            });
            let slot = self.slots.get(transaction).copied();
            needed += self.undo.needed_places(slot, entries.len(), bytes.sum());
        }
        if self.sequence + entries.len() as u64 > self.header.sequence_end {
            self.reserve_sequences();
        }
        if let Err(error) = self.spare_places(needed) {
            // What was taken can neither be put back nor be written: nothing after it may be.
            self.commit.poison(LogError::Full {
                reason: error.to_string().into(),
            });
            return Err(error);
        }
        for page in &taken.pages {
            self.append_dirty(*page);
        }
        for (transaction, entries) in &entries {
            for entry in entries {
                self.append_entry(*transaction, entry);
            }
        }
        if let Some(transaction) = ending {
            self.append_end(transaction);
        }
        Ok(self.end_unit(taken.pages.len() as u64, forced))
    }

    /// Appends the completed changes of a page.
    fn append_dirty(&mut self, page: PageId) {
        let Some(mut dirty) = self.dirty.remove(&page.0) else {
            return;
        };
        let bytes: &Page = match &dirty.before {
            Some(before) => before,
            // SAFETY: right of the stage: nobody writes to the page now, or there were a
            // before-image, and whoever begins to write waits for the stage.
            None => unsafe { self.frames.page(page) },
        };
        let builder = self.filling.builder();
        match self.page_log {
            PageLog::AfterImages => push(builder, page, 0, bytes),
            PageLog::ByteRanges => {
                merge(&mut dirty.ranges);
                for Changed { range, .. } in &dirty.ranges {
                    push(builder, page, range.start, &bytes[range.clone()]);
                }
            }
        }
    }
}

type EntriesByTransaction = Vec<(u64, Vec<Entry<Arc<[u8]>>>)>;

/// The entries that have to be written with these subtransactions, by transaction in the order of
/// their first ends.
fn entries_of(taken: &Taken<Member>, ending: Option<u64>) -> EntriesByTransaction {
    let (mut done, mut compensated) = (Vec::new(), Vec::new());
    for (_, member) in &taken.subtransactions {
        match member.kind {
            MemberKind::Operation { sequence, .. } => done.push(sequence),
            MemberKind::Compensation { of } => compensated.push(of),
        }
    }
    done.sort_unstable();
    compensated.sort_unstable();
    let mut entries = EntriesByTransaction::new();
    for (_, member) in &taken.subtransactions {
        let transaction = member.transaction;
        let entry = match &member.kind {
            MemberKind::Operation {
                sequence,
                inverse: Some((operation, bytes)),
            } if compensated.binary_search(sequence).is_err() => Entry::Undo {
                sequence: *sequence,
                operation: *operation,
                bytes: bytes.clone(),
            },
            MemberKind::Compensation { of } if done.binary_search(of).is_err() => {
                Entry::Cancelled { sequence: *of }
            }
            _ => continue,
        };
        if Some(transaction) == ending {
            continue;
        }
        match entries.iter_mut().find(|(t, _)| *t == transaction) {
            Some((_, entries)) => entries.push(entry),
            None => entries.push((transaction, vec![entry])),
        }
    }
    entries
}

fn push(builder: &mut GroupBuilder, page: PageId, start: usize, bytes: &[u8]) {
    let address = sardonyx_storage::page::Address(page.address().0 + start as u64);
    builder.push_write(address, bytes);
}

/// How many pages are among sorted changes.
pub(crate) fn pages_of(changed: &[Changed]) -> u64 {
    let mut pages = 0;
    let mut last = None;
    for Changed { page, .. } in changed {
        pages += u64::from(last.replace(*page) != Some(*page));
    }
    pages
}
