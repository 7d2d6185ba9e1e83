//! Entries of other hosts in one log of segments, for the process that keeps a store for them. Its directory has one
//! owner, so an entry costs one write that is stable when it returns.
//!
//! ```text
//! append(n, bytes) ┐                        ┌▶ the index: n ─▶ place      ─▶ Appended
//! append(m, bytes) ┼─▶ filling ─▶ one group ┤
//! append(k, bytes) ┘   (one leads)          └▶ log/0000000000000003.log
//! ```
//!
//! The log is of the kind that databases have ([`crate::log`]): checksummed groups, a reader that distinguishes a torn
//! end from damage, and a segment supply. Segments are filled with zeroes before their first use and used again. The
//! records in its groups are its own: entries that were put, numbers that were removed (`change`). Each group counts
//! as one transaction.
//!
//! - `change`: the records; `filling`: the group that takes them; `index`: the place of each entry; `file`: the file `ENTRIES`; `opening`: reading it all.
//!
//! Invariants:
//! - I1: a change is acknowledged, and an entry is read, only when its group and all before are stable;
//! - one number has one content: a change waits while another one of its number is on its way, and depends on the
//!   result of that;
//! - one group is on its way at a time, and the next one takes all changes that came meanwhile. So a crash leaves at most
//!   one group that is torn, at the end;
//! - I7: after a write or a sync that failed, a segment's too, or a panic, nothing is written any more. Read entries
//!   were stable before;
//! - I14: an entry is taken only if the log has room behind it for removals: for one of all entries of the oldest
//!   segment, or for as many small ones as a segment has blocks. So a full disk can be emptied by removals of many
//!   entries each. Of entries that came in one group and are removed singly, the last ones may find no room;
//! - segments are freed by a stable group that records it: at the next opening the log begins at or before that place;
//! - a segment is removed when the index has none of its entries any more, and no other thread waits for that. A read
//!   that finds its segment missing looks at the index again;
//! - I10: a group that fills has at most a segment, or one entry; the index has one place for each entry (`index`).

mod change;
mod error;
#[cfg(test)]
mod exploration;
mod file;
mod filling;
mod index;
mod opening;
mod planted;
#[cfg(test)]
mod tests;

pub use error::EntryLogError;
pub use file::ENTRIES_FILE;
pub use opening::OtherUse;

use super::received::ReceivedEntry;
use super::store::{Appended, Listed};
use crate::disk::{Disk, DiskLock};
use crate::drive::Drive;
use crate::log::group::{GROUP_ALIGNMENT, GroupHeader, PAYLOAD_BYTES_MAX, group_bytes_on_disk};
use crate::log::seal::{GroupBuilder, Sequencer};
use crate::log::segment::Segments;
use crate::log::supply::{FreesLog, SegmentSupply};
use crate::log::{LogError, LogLayout, LogPosition, Lsn, spanning};
use change::{
    Change, TRAILER_BYTES, push_put, push_remove, push_trailer, put_bytes, put_received,
    remove_bytes,
};
use file::EntriesFile;
use filling::{Filling, Outcome, Spares};
use index::Index;
use opening::Opened;
use planted::Planted;
use sardonyx_base::events;
use sardonyx_base::sync::{Condvar, Mutex, MutexGuard};
use sardonyx_base::user_code::message_of;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Segments without needed log that are kept to be used again.
const SUPERFLUOUS_KEPT: usize = 4;

/// Room that an entry leaves beside that for removals, for the marks of openings on a full disk.
const ROOM_FOR_MARKS: u64 = 16 * GROUP_ALIGNMENT as u64;

/// The most bytes of an entry: the length of a group has 32 bits.
pub const ENTRY_BYTES_MAX: u64 = PAYLOAD_BYTES_MAX - GROUP_ALIGNMENT as u64;

/// The form of an entry log that is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryLogOptions {
    /// Bytes of a segment of a log that is made now, a multiple of 4096. An entry that does not fit into one has several.
    pub segment_bytes: u64,
}

impl Default for EntryLogOptions {
    /// 16 MiB.
    fn default() -> Self {
        EntryLogOptions {
            segment_bytes: 16 << 20,
        }
    }
}

/// Entries under numbers, in a log that this process has for itself.
#[derive(Debug)]
pub struct EntryLog {
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    segments: Arc<Segments>,
    supply: SegmentSupply,
    state: Mutex<State>,
    changed: Condvar,
    /// The state of the thread that writes a group.
    writer: Mutex<Writer>,
    spares: Spares,
    _lock: Box<dyn DiskLock>,
}

#[derive(Debug)]
struct State {
    /// The stable entries.
    index: Index,
    filling: Filling,
    /// Numbers with a change that is filling, or on its way.
    changing: HashSet<u64>,
    is_writing: bool,
    poison: Option<EntryLogError>,
}

#[derive(Debug)]
struct Writer {
    sequencer: Sequencer,
    /// The file with the stable end of the last mark.
    file: EntriesFile,
}

/// Only removals free log.
#[derive(Debug)]
struct Removals;

impl FreesLog for Removals {
    fn want(&self, _: LogPosition) -> bool {
        false
    }

    fn obstacle(&self) -> Option<Arc<str>> {
        None
    }
}

impl EntryLog {
    /// Opens the log of a directory, or makes one. Until it is dropped no other process can open it.
    ///
    /// # Errors
    /// Another process has it; it is damaged; the directory has something else; the disk's.
    pub fn open(disk: Arc<dyn Disk>, options: &EntryLogOptions) -> Result<Self, EntryLogError> {
        EntryLog::open_instead_of(&opening::NoOther, disk, options)
    }

    /// The same in a directory that may have another use, which excludes this one.
    ///
    /// # Errors
    /// As [`EntryLog::open`]; [`EntryLogError::OtherUse`]: then no log was made.
    pub fn open_instead_of(
        other: &dyn OtherUse,
        disk: Arc<dyn Disk>,
        options: &EntryLogOptions,
    ) -> Result<Self, EntryLogError> {
        let Opened {
            lock,
            file,
            index,
            segments,
            end,
            last_incarnation,
        } = opening::open(&disk, options, other)?;
        let layout = segments.layout();
        let supply = SegmentSupply::new(segments.clone(), Drive::Threads);
        supply.prepare_for_opening(end, 0)?;
        let sequencer = Sequencer::new(layout, last_incarnation + 1, end);
        let log = EntryLog {
            disk,
            layout,
            segments,
            supply,
            state: Mutex::new(State {
                index,
                filling: Filling::default(),
                changing: HashSet::new(),
                is_writing: false,
                poison: None,
            }),
            changed: Condvar::new(),
            writer: Mutex::new(Writer { sequencer, file }),
            spares: Spares::default(),
            _lock: lock,
        };
        // The first group of this opening, which proves that all before it is stable.
        log.mark()?;
        Ok(log)
    }

    /// Keeps segments prepared ahead until [`EntryLog::close`]. The body of a thread: without it, a caller that needs
    /// a segment prepares it.
    pub fn run_supply(&self) {
        self.supply.run(&Removals);
    }

    /// Creates an entry, if there is none of this number. It is stable when this returns.
    ///
    /// # Errors
    /// [`EntryLogError::NoRoom`]: nothing was done. Of all others the fate is unknown.
    pub fn append(&self, number: u64, bytes: &[u8]) -> Result<Appended, EntryLogError> {
        let Some(mut state) = self.admit(number, bytes.len())? else {
            return Ok(Appended::Conflict);
        };
        if state.filling.changes.is_empty() {
            state.filling.group = GroupBuilder::from_buffer(self.spares.take());
        }
        let change = push_put(&mut state.filling.group, number, bytes);
        self.put(state, change)
    }

    /// The same for an entry whose memory becomes that of a group, if it is the group's first one: it is not copied. The entry gets
    /// other memory for that.
    ///
    /// # Errors
    /// As [`EntryLog::append`].
    pub fn append_received(
        &self,
        number: u64,
        entry: &mut ReceivedEntry,
    ) -> Result<Appended, EntryLogError> {
        let Some(mut state) = self.admit(number, entry.bytes().len())? else {
            return Ok(Appended::Conflict);
        };
        let filling = &mut state.filling;
        let change = match filling.changes.is_empty() {
            true => {
                let (group, change) = put_received(number, entry, self.spares.take());
                filling.group = group;
                change
            }
            false => push_put(&mut filling.group, number, entry.bytes()),
        };
        self.put(state, change)
    }

    /// Waits until the group that fills takes an entry of this number and so many bytes. `None`: there is one of this number.
    fn admit(
        &self,
        number: u64,
        bytes: usize,
    ) -> Result<Option<MutexGuard<'_, State>>, EntryLogError> {
        if bytes as u64 > ENTRY_BYTES_MAX {
            let bytes = bytes as u64;
            return Err(EntryLogError::TooLarge { bytes });
        }
        let mut state = self.state.lock();
        loop {
            check(&state)?;
            // The change that is on its way decides; also, its result is stable then.
            if state.changing.contains(&number) {
                self.changed.wait(&mut state);
            } else if state.index.get(number).is_some() {
                return Ok(None);
            } else if state.filling.takes(self.layout, put_bytes(bytes), true) {
                return Ok(Some(state));
            } else {
                self.changed.wait(&mut state);
            }
        }
    }

    /// An entry is in the group that fills: waits until that is stable.
    fn put(
        &self,
        mut state: MutexGuard<'_, State>,
        change: Change,
    ) -> Result<Appended, EntryLogError> {
        state.changing.insert(change.number());
        state.filling.changes.push(change);
        self.commit(state).map(|()| Appended::Ok)
    }

    /// Removes entries; absent ones count as removed. That is stable when this returns.
    ///
    /// # Errors
    /// As [`EntryLog::append`]; all are removed, or none.
    pub fn remove(&self, numbers: &[u64]) -> Result<(), EntryLogError> {
        let mut state = self.state.lock();
        let there = loop {
            check(&state)?;
            if numbers.iter().any(|number| state.changing.contains(number)) {
                self.changed.wait(&mut state);
                continue;
            }
            let mut there: Vec<u64> = numbers.to_vec();
            there.retain(|number| state.index.get(*number).is_some());
            there.sort_unstable();
            there.dedup();
            if there.is_empty() {
                return Ok(());
            }
            if state
                .filling
                .takes(self.layout, remove_bytes(there.len()), false)
            {
                break there;
            }
            self.changed.wait(&mut state);
        };
        for number in there {
            let change = push_remove(&mut state.filling.group, number);
            state.filling.changes.push(change);
            state.changing.insert(number);
        }
        self.commit(state)
    }

    /// An entry's bytes, if there is one.
    ///
    /// # Errors
    /// It is damaged; the disk's.
    pub fn read(&self, number: u64) -> Result<Option<Vec<u8>>, EntryLogError> {
        let place = || self.state.lock().index.get(number);
        let (mut found, mut is_doubted) = (place(), false);
        while let Some(at) = found {
            let error = match opening::read_entry(&self.disk, self.layout, &at) {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) => error,
            };
            // Removed meanwhile, its segment may be missing or used again; or its file was growing.
            let now = place();
            if now == found && is_doubted {
                return Err(error);
            }
            is_doubted = now == found;
            found = now;
        }
        Ok(None)
    }

    /// Entries from this number on, by growing number; at most
    /// [`LIST_MOST`](crate::remote_log::store::LIST_MOST).
    pub fn list(&self, from: u64) -> Vec<Listed> {
        self.state.lock().index.list(from)
    }

    /// The error after which nothing is taken any more, if there was one.
    pub fn failure(&self) -> Option<EntryLogError> {
        self.state.lock().poison.clone()
    }

    /// Counts the entries that are present.
    pub fn count(&self) -> usize {
        self.state.lock().index.len()
    }

    /// Ends the supply of segments, and marks the log as ended in order: damage of its last group can then be distinguished
    /// from a torn end. Nothing may be appended afterwards.
    pub fn close(&self) {
        self.supply.close();
        if self.state.lock().poison.is_none()
            && let Err(error) = self.mark()
        {
            events::warn!(%error, "the log's end is not marked");
        }
    }

    /// Appends a group without changes, and records that the log is here.
    fn mark(&self) -> Result<(), EntryLogError> {
        let mut state = self.state.lock();
        while state.is_writing || !state.filling.changes.is_empty() {
            check(&state)?;
            self.changed.wait(&mut state);
        }
        check(&state)?;
        self.commit(state)?;
        let writer = self.writer.lock();
        match writer.file.write(&*self.disk) {
            // The earlier record holds, too.
            Err(error) if error.may_be_tried_again() => {
                events::warn!(%error, "the progress of the log is not recorded");
                Ok(())
            }
            written => Ok(written?),
        }
    }

    /// Waits until the group that fills is stable, and writes it if no other thread does.
    fn commit<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<(), EntryLogError> {
        let outcome = state.filling.outcome.clone();
        loop {
            if let Some(outcome) = outcome.get() {
                return outcome.clone();
            }
            match state.is_writing {
                true => self.changed.wait(&mut state),
                false => state = self.lead(state, &outcome),
            }
        }
    }

    /// Writes the group that fills, whose outcome is given, and frees superfluous log. A panic of this thread is like
    /// a write that failed: others wait for the outcome.
    fn lead<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        outcome: &Outcome,
    ) -> MutexGuard<'a, State> {
        let led = catch_unwind(AssertUnwindSafe(|| match self.write_filling(state) {
            Some(needed_from) => self.free(needed_from),
            None => Ok(()),
        }));
        let led = led.unwrap_or_else(|panic| Err(LogError::thread_died(&message_of(panic))));
        let mut state = self.state.lock();
        if let Err(error) = led {
            let error = poisoned(error);
            poison(&mut state, &error);
            // It has one if that came later; and then another thread may be writing.
            if outcome.set(Err(error)).is_ok() {
                state.is_writing = false;
            }
            self.changed.notify_all();
        }
        state
    }

    /// Writes the group that fills, and passes on its outcome. If it is stable, returns the place from which the log
    /// is needed.
    fn write_filling<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Option<Lsn> {
        state.is_writing = true;
        let mut writer = self.writer.lock();
        let filling = std::mem::take(&mut state.filling);
        let Filling {
            group,
            changes,
            outcome,
        } = filling;
        let mut needed_from = None;
        let written = match &state.poison {
            Some(error) => Err(error.clone()),
            None => {
                let on_disk = group_bytes_on_disk(group.payload().len() + TRAILER_BYTES) as u64;
                let lsn = self.layout.place(writer.sequencer.next().lsn, on_disk);
                let needed = state.index.needed_from(lsn, &changes);
                drop(state);
                let has_put = matches!(changes.first(), Some(Change::Put { .. }));
                let written = self.write(&mut writer, group, needed, has_put);
                state = self.state.lock();
                needed_from = written.is_ok().then_some(needed);
                written
            }
        };
        match &written {
            Ok(header) => {
                for change in &changes {
                    state.index.apply(header, change);
                }
            }
            Err(EntryLogError::NoRoom(_)) => {}
            Err(_) if planted::is(Planted::GoesOn) => {}
            Err(error) => poison(&mut state, error),
        }
        for change in &changes {
            state.changing.remove(&change.number());
        }
        // Before any thread is woken up that looks for it.
        let _ = outcome.set(written.map(drop));
        state.is_writing = false;
        self.changed.notify_all();
        needed_from
    }

    /// Writes a group durably.
    fn write(
        &self,
        writer: &mut Writer,
        mut group: GroupBuilder,
        needed_from: Lsn,
        has_put: bool,
    ) -> Result<GroupHeader, EntryLogError> {
        push_trailer(&mut group, needed_from);
        let kept = has_put.then_some(needed_from);
        if has_put {
            let on_disk = group_bytes_on_disk(group.payload().len());
            self.segments.expect_groups_of(on_disk as u64);
        }
        self.prepare(writer, group.payload().len(), kept)?;
        let mut sealed = writer.sequencer.seal(group);
        // One group is on its way at a time.
        sealed.finish(sealed.header().number - 1);
        let header = *sealed.header();
        if planted::is(Planted::FreedEarly) {
            self.free(needed_from).map_err(poisoned)?;
        }
        let syncs = !planted::is(Planted::NotSynced);
        let written = spanning::write_sealed(&self.segments, &sealed, syncs);
        self.spares.keep(sealed.into_buffer());
        written.map_err(poisoned)?;
        writer.file.log_end = header.next_position();
        self.supply.advance(writer.file.log_end);
        Ok(header)
    }

    /// Frees the log before this, which no stable group needs and no entry of the index is in. Other threads go on
    /// meanwhile.
    ///
    /// # Errors
    /// The disk's, but not want of room. After a sync that failed it is not known which segments are there (I7).
    fn free(&self, needed_from: Lsn) -> Result<(), LogError> {
        if self.segments.free_before(needed_from) == 0 {
            return Ok(());
        }
        match self.segments.remove_superfluous(SUPERFLUOUS_KEPT) {
            Err(error) if error.is_want_of_room() => {
                // Files too many, which the next one looks for again.
                events::warn!(%error, "segments that hold no entry are not removed");
                Ok(())
            }
            removed => removed,
        }
    }

    /// Prepares the room for a group with so many bytes of records. For one with entries, the place from which the log
    /// is kept is given. Then it also prepares room for removals of the entries of the oldest segment, as many as it
    /// has blocks, which then free that one.
    fn prepare(
        &self,
        writer: &Writer,
        payload_bytes: usize,
        kept_from: Option<Lsn>,
    ) -> Result<(), EntryLogError> {
        let (layout, end) = (self.layout, writer.sequencer.next().lsn);
        let on_disk = group_bytes_on_disk(payload_bytes) as u64;
        let lsn = layout.place(end, on_disk);
        let after = lsn.0 + layout.spanned_bytes(on_disk).max(on_disk);
        let mut needed = after - end.0;
        if let Some(kept_from) = kept_from {
            needed += layout.segment_bytes.min(after - kept_from.0) + ROOM_FOR_MARKS;
        }
        let prepared = self.supply.prepare_for_group(end, needed);
        prepared.map_err(|error| match error.is_want_of_room() {
            true => EntryLogError::NoRoom(error),
            false => poisoned(error),
        })
    }
}

fn check(state: &State) -> Result<(), EntryLogError> {
    state.poison.clone().map_or(Ok(()), Err)
}

/// Nothing is written any more (I7).
fn poison(state: &mut State, error: &EntryLogError) {
    if state.poison.is_none() {
        events::error!(%error, "the log of entries takes nothing more");
    }
    state.poison.get_or_insert(error.clone());
}

fn poisoned(cause: LogError) -> EntryLogError {
    EntryLogError::Poisoned {
        cause: cause.to_string().into(),
    }
}
