//! The log's files: segments of one fixed length, written in LSN order and used again.
//!
//! Segment `k` is `log/<k>.log` and holds the log's bytes from `k * segment_bytes`. It is filled
//! with zeroes and synced before its first use, so that writing a group changes no metadata. A log of large groups gets
//! unwritten room instead, and so writes each byte once ([`Segments::expect_groups_of`]). When a
//! checkpoint has made a segment superfluous it is renamed to become a later one; its old groups
//! are harmless, because a group is only believed at the LSN it names (I5).
//!
//! A new database is small, so the file of its first segment begins with [`FIRST_BYTES`] and grows with
//! use, by doubling, to the full length. Later segments are prepared whole. A compaction begins the log
//! again in a later segment ([`super::LogBegin`]), which is short and grows in the same way.
//!
//! Invariants:
//! - the segments from the one that holds the oldest needed byte to the last prepared one are all there, without a
//!   gap, at full length: a missing or short one is an error when read. The segment in which the log began may be
//!   short, as long as there is no later one;
//! - groups are only written to prepared blocks, and behind the last one there is always a prepared block or more. So
//!   a first segment in which a group reaches beyond the file's end, or ends there, was cut;
//! - the needs of a transaction are prepared before it is executed, so that a full disk refuses transactions and never
//!   strands executed ones ([`super::supply`], [`super::room`]);
//! - remaining older log leads up to those without a gap, too. If a newer block is damaged, a recovery must go back
//!   further than was needed. It finds the log whole or finds that it was freed;
//! - there are never more than `segments_max` files (I10).

use super::group::GROUP_ALIGNMENT;
use super::{LogError, LogLayout, LogPosition, Lsn};
use crate::disk::{Access, AlignedBuffer, Create, Disk, DiskError, DiskFile};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The directory of the segments.
pub const LOG_DIRECTORY: &str = "log";

/// Bytes with which the first segment of a new database begins, unless a segment is smaller.
pub const FIRST_BYTES: u64 = 256 << 10;

/// Bytes that stay prepared behind the last group: for the empty group of a clean close, and the block
/// at the log's end after it.
pub const MARGIN_BYTES: u64 = 2 * GROUP_ALIGNMENT as u64;

/// Bytes of a group from which on it is written to room that was not written before: see [`Segments::expect_groups_of`].
const LARGE_GROUP_BYTES: u64 = 256 << 10;

/// Bytes of zeroes that are written at once.
const FILL_BYTES: u64 = 1 << 20;

/// The file that holds a segment.
pub fn segment_file(segment: u64) -> String {
    format!("{LOG_DIRECTORY}/{segment:016}.log")
}

/// The segment that a file in the log's directory holds.
pub fn segment_of_file(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// The existing segments.
///
/// # Errors
/// The disk's.
pub(crate) fn segments_present(disk: &dyn Disk) -> Result<BTreeSet<u64>, DiskError> {
    Ok(segments_of(&disk.list(LOG_DIRECTORY)?))
}

fn segments_of(names: &[String]) -> BTreeSet<u64> {
    let mut segments = BTreeSet::new();
    for segment in names.iter().filter_map(|name| segment_of_file(name)) {
        segments.insert(segment);
    }
    segments
}

/// The bytes of a segment file that hold log or are prepared for it. `None`: no segment of this log has
/// this length. `newest`: there is no later one.
pub fn usable_bytes(layout: LogLayout, segment: u64, file_bytes: u64, newest: bool) -> Option<u64> {
    match file_bytes {
        whole if whole == layout.segment_bytes => Some(whole),
        // A part of a block is from a growth that a crash ended.
        short if short < layout.segment_bytes && segment == layout.begins.segment && newest => {
            Some(short - short % GROUP_ALIGNMENT as u64)
        }
        _ => None,
    }
}

/// The segment files of an open log.
#[derive(Debug)]
pub struct Segments {
    /// Only the process that opened the log changes its files.
    process: Process,
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    segments_max: u64,
    first_bytes: u64,
    files: Mutex<Files>,
    /// Held for long; only threads that prepare wait for it.
    preparing: Mutex<()>,
    /// The LSN up to which segments are prepared.
    prepared_end: AtomicU64,
    /// New segments are not filled with zeroes: [`Segments::expect_groups_of`].
    is_unwritten: AtomicBool,
}

#[derive(Debug)]
struct Files {
    /// Prepared segments that may hold needed log.
    live: BTreeMap<u64, Arc<dyn DiskFile>>,
    /// Segments whose log is not needed any more; to be renamed, the oldest first, so that the rest leads up to the
    /// live ones without a gap.
    superfluous: BTreeSet<u64>,
    /// Readers, by their numbers, hold the log back from here on.
    pins: Vec<(u64, Lsn)>,
    next_pin: u64,
    /// The oldest byte needed, apart from pins.
    needed_from: Lsn,
}

/// The result of preparing a further segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prepared {
    /// The segment is prepared.
    Yes,
    /// All `segments_max` files hold log that is still needed.
    NoRoom,
}

/// Bytes with which a log's first segment begins, if so many are asked for: whole blocks, at most a segment.
pub fn first_segment_bytes(layout: LogLayout, asked: u64) -> u64 {
    let bytes = asked.clamp(2 * MARGIN_BYTES, 1 << 30);
    let blocks = bytes.next_multiple_of(GROUP_ALIGNMENT as u64);
    blocks.min(layout.segment_bytes)
}

impl Segments {
    /// Opens the segments of a log that is needed from `needed_from` on. Files below that are taken
    /// for reuse.
    pub fn open(
        disk: Arc<dyn Disk>,
        layout: LogLayout,
        needed_from: Lsn,
        segments_max: u64,
    ) -> Result<Self, LogError> {
        disk.create_directory(LOG_DIRECTORY)?;
        let names = disk.list(LOG_DIRECTORY)?;
        let found = segments_of(&names);
        // An archive that got no rows since the last compaction ends before the log began again.
        let needed_from = needed_from.max(layout.begin());
        let first = layout.segment_of(needed_from);
        let mut files = Files {
            live: BTreeMap::new(),
            superfluous: BTreeSet::new(),
            pins: Vec::new(),
            next_pin: 0,
            needed_from,
        };
        let mut end = first;
        for segment in found {
            if segment < first {
                files.superfluous.insert(segment);
                continue;
            }
            if segment != end {
                return Err(LogError::MissingSegment {
                    file: disk.display_name(&segment_file(end)),
                    needed: layout.segment_start(end),
                });
            }
            let file = disk.open(&segment_file(segment), Access::Direct, Create::No)?;
            files.live.insert(segment, file.into());
            end += 1;
        }
        let mut prepared_end = layout.segment_start(end);
        let begins = layout.begins.segment;
        if end == begins + 1
            && let Some(file) = files.live.get(&begins)
        {
            // A length that is not possible is an error when the log is read.
            let usable = usable_bytes(layout, begins, file.len()?, true);
            prepared_end = Lsn(layout.begin().0 + usable.unwrap_or(layout.segment_bytes));
        }
        // Stale temporary files of an interrupted preparation.
        for name in names.iter().filter(|name| name.ends_with(".new")) {
            disk.remove(&format!("{LOG_DIRECTORY}/{name}"))?;
        }
        Ok(Segments {
            process: Process::current(),
            disk,
            layout,
            segments_max,
            first_bytes: FIRST_BYTES.min(layout.segment_bytes),
            files: Mutex::new(files),
            preparing: Mutex::new(()),
            prepared_end: AtomicU64::new(prepared_end.0),
            is_unwritten: AtomicBool::new(false),
        })
    }

    /// The first segment begins with so many bytes: see [`first_segment_bytes`].
    pub fn first_bytes(mut self, bytes: u64) -> Self {
        self.first_bytes = first_segment_bytes(self.layout, bytes);
        self
    }

    /// From now on, groups have about so many bytes. For large ones, new segments get room that reads as zeroes and is not
    /// written: it saves a write of each byte. The sync of a group in it also changes metadata, which costs a small group
    /// more than that write.
    pub fn expect_groups_of(&self, bytes: u64) {
        self.is_unwritten
            .store(bytes >= LARGE_GROUP_BYTES, Ordering::Relaxed);
    }

    /// Sizes of segments, and the log's beginning.
    pub fn layout(&self) -> LogLayout {
        self.layout
    }

    /// The process that opened the log.
    pub fn process(&self) -> Process {
        self.process
    }

    /// The LSN up to which segments are prepared.
    #[inline]
    pub fn prepared_end(&self) -> Lsn {
        Lsn(self.prepared_end.load(Ordering::Acquire))
    }

    /// Prepares more at the end: makes the first segment longer, as long as it is short; else renames a
    /// superfluous segment, or creates one.
    pub fn prepare_next(&self) -> Result<Prepared, LogError> {
        self.process.check()?;
        let _one_at_a_time = self.preparing.lock();
        let end = self.prepared_end();
        let next = self.layout.segment_of(end);
        let offset = self.layout.offset_in_segment(end);
        if offset > 0 {
            let length = self.length_after(offset);
            let file = self.file(next)?;
            zero(&*file, offset, length)?;
            self.extend(&*file, length)?;
            let start = self.layout.segment_start(next).0;
            self.prepared_end.store(start + length, Ordering::Release);
            return Ok(Prepared::Yes);
        }
        let mut length = self.layout.segment_bytes;
        let name = segment_file(next);
        let mut files = self.files.lock();
        if let Some(old) = files.superfluous.pop_first() {
            drop(files);
            if let Err(error) = self.disk.rename(&segment_file(old), &name) {
                // It is still there, and still to be used again.
                self.files.lock().superfluous.insert(old);
                return Err(error.into());
            }
        } else if files.live.len() as u64 >= self.segments_max {
            return Ok(Prepared::NoRoom);
        } else {
            // Filling a file takes long, and the writer of a group may ask for its file meanwhile.
            drop(files);
            if next == self.layout.begins.segment {
                length = self.first_bytes;
            }
            self.create(&name, length)?;
        }
        self.disk.sync_directory(LOG_DIRECTORY)?;
        let file = self.disk.open(&name, Access::Direct, Create::No)?;
        self.files.lock().live.insert(next, file.into());
        self.prepared_end.store(
            self.layout.segment_start(next).0 + length,
            Ordering::Release,
        );
        Ok(Prepared::Yes)
    }

    /// The length to which the first segment grows from this one: the next of those that doubling gives.
    fn length_after(&self, length: u64) -> u64 {
        let mut longer = self.first_bytes;
        while longer <= length {
            longer *= 2;
        }
        longer.min(self.layout.segment_bytes)
    }

    /// Returns true if the log is still in its first segment at `at`, and that began short: it grows with use.
    #[inline]
    pub fn grows(&self, at: Lsn) -> bool {
        self.layout.is_in_first(at) && self.first_bytes < self.layout.segment_bytes
    }

    /// Makes prepared space behind the log's end stable, before it is believed. A process that made the first segment
    /// longer may have been killed before the sync, or its sync failed. Only the newest space can be so, and only if
    /// no group is in it.
    pub fn confirm(&self, end: Lsn) -> Result<(), LogError> {
        let begin = self.layout.begin().0;
        let length = self.prepared_end().0.saturating_sub(begin);
        let end = end.0.saturating_sub(begin);
        let doubled = self.length_after(length / 2) == length;
        let is_proved = length > self.layout.segment_bytes
            || length <= self.first_bytes && self.length_after(0) == length
            || doubled && end >= length / 2;
        if is_proved || length == 0 {
            return Ok(());
        }
        let _one_at_a_time = self.preparing.lock();
        let from = (end + GROUP_ALIGNMENT as u64).max(length / 2);
        let from = from.next_multiple_of(GROUP_ALIGNMENT as u64);
        let file = self.file(self.layout.begins.segment)?;
        zero(&*file, from.min(length), length)?;
        Ok(file.preallocate(length)?)
    }

    /// Prepared space of the first segment is known up to here only: the process that made it longer may have been
    /// killed before the sync. For a log that others go on writing to.
    pub fn believe_until(&self, known: Lsn) {
        let begin = self.layout.begin();
        let in_first = self.prepared_end().0 <= begin.0 + self.layout.segment_bytes;
        if in_first && known > begin && known < self.prepared_end() {
            self.prepared_end.store(known.0, Ordering::Release);
        }
    }

    /// Prepares the space for a group of so many bytes at `at`, and the space that is to stay prepared behind it.
    ///
    /// # Errors
    /// [`LogError::Full`] if there is no room for it; the disk's.
    pub fn prepare_for_group(&self, at: Lsn, bytes: u64) -> Result<(), LogError> {
        self.prepare_until(self.needed_behind(at, Lsn(at.0 + bytes)))
    }

    /// The end to which the log must be prepared for a group that ends at `end`, while it is being written at `at`:
    /// beyond the segment of `at` to the end of a whole one.
    pub(super) fn needed_behind(&self, at: Lsn, end: Lsn) -> Lsn {
        let needed = Lsn(end.0 + MARGIN_BYTES);
        let first_end = self.layout.segment_start(self.layout.segment_of(at) + 1);
        match needed > first_end {
            true => self
                .layout
                .segment_start(self.layout.segment_of(needed) + 1),
            false => needed,
        }
    }

    /// Prepares segments until the log is prepared to here.
    ///
    /// # Errors
    /// As [`Segments::prepare_for_group`].
    pub(super) fn prepare_until(&self, needed: Lsn) -> Result<(), LogError> {
        while self.prepared_end() < needed {
            match self.prepare_next() {
                Ok(Prepared::Yes) => {}
                Ok(Prepared::NoRoom) => return Err(self.at_limit()),
                Err(error) => return Err(error.or_full()),
            }
        }
        Ok(())
    }

    /// The error of a log that has no more room.
    pub(super) fn at_limit(&self) -> LogError {
        LogError::Full {
            reason: format!(
                "all {} segments of {} bytes hold log that is still needed; raise the log's limit",
                self.segments_max, self.layout.segment_bytes
            )
            .into(),
        }
    }

    fn create(&self, name: &str, length: u64) -> Result<(), LogError> {
        let new = format!("{name}.new");
        // The file of an attempt before cannot be continued: its sync may have failed, and then it is not known which
        // of its bytes are stable (I7).
        let found = self.disk.list(LOG_DIRECTORY)?;
        if found
            .iter()
            .any(|found| *new == format!("{LOG_DIRECTORY}/{found}"))
        {
            self.disk.remove(&new)?;
        }
        let file = self.disk.open(&new, Access::Direct, Create::New)?;
        if let Err(error) = self.extend(&*file, length) {
            drop(file);
            // Give the room back; the error that counts is the first one.
            let _ = self.disk.remove(&new);
            return Err(error.into());
        }
        drop(file);
        Ok(self.disk.rename(&new, name)?)
    }

    /// Makes a file longer by stable room.
    fn extend(&self, file: &dyn DiskFile, length: u64) -> Result<(), DiskError> {
        match self.is_unwritten.load(Ordering::Relaxed) {
            true => file.allocate(length),
            false => file.preallocate(length),
        }
    }

    /// The file of a prepared segment.
    pub fn file(&self, segment: u64) -> Result<Arc<dyn DiskFile>, LogError> {
        self.files
            .lock()
            .live
            .get(&segment)
            .cloned()
            .ok_or_else(|| LogError::MissingSegment {
                file: self.disk.display_name(&segment_file(segment)),
                needed: self.layout.segment_start(segment),
            })
    }

    /// Marks everything before `lsn` as not needed any more (I6). Going backwards has no effect. Returns the number of
    /// segments that became superfluous.
    pub fn free_before(&self, lsn: Lsn) -> usize {
        if !self.process.is_current() {
            return 0;
        }
        let mut files = self.files.lock();
        files.needed_from = files.needed_from.max(lsn);
        let oldest_pin = files.pins.iter().map(|(_, from)| *from).min();
        let oldest_pin = oldest_pin.unwrap_or(lsn);
        let first_needed = self.layout.segment_of(files.needed_from.min(oldest_pin));
        let kept = files.live.split_off(&first_needed);
        let freed = std::mem::replace(&mut files.live, kept);
        files.superfluous.extend(freed.keys());
        freed.len()
    }

    /// Removes files that hold no needed log, the oldest first, but for so many that are used again.
    ///
    /// # Errors
    /// The disk's; the rest is removed by the next call.
    #[inline]
    pub fn remove_superfluous(&self, kept: usize) -> Result<(), LogError> {
        self.process.check()?;
        loop {
            // One file each: a thread that prepares a segment does not wait for all of them.
            let _one_at_a_time = self.preparing.lock();
            let mut files = self.files.lock();
            if files.superfluous.len() <= kept {
                return Ok(());
            }
            let Some(oldest) = files.superfluous.pop_first() else {
                return Ok(());
            };
            drop(files);
            let removed = self.disk.remove(&segment_file(oldest));
            if let Err(error) = removed {
                self.files.lock().superfluous.insert(oldest);
                return Err(error.into());
            }
            // Before the next one: the rest leads up to the live ones without a gap.
            self.disk.sync_directory(LOG_DIRECTORY)?;
        }
    }

    /// True if the log from a position on is kept: nothing of it was freed.
    #[inline]
    pub fn keeps(&self, from: LogPosition) -> bool {
        let lsn = self.layout.resumed(from).lsn;
        let files = self.files.lock();
        let first = files.live.keys().next();
        first.is_some_and(|first| *first <= self.layout.segment_of(lsn))
    }

    /// Keeps the log from `lsn` on until the pin is dropped. `None` if it is freed already.
    #[inline]
    pub fn pin(self: &Arc<Self>, lsn: Lsn) -> Option<LogPin> {
        let mut files = self.files.lock();
        let first = *files.live.keys().next()?;
        if self.layout.segment_of(lsn) < first {
            return None;
        }
        let number = files.next_pin;
        files.next_pin += 1;
        files.pins.push((number, lsn));
        Some(LogPin {
            segments: self.clone(),
            number,
        })
    }

    /// Files that hold needed log, and files in all.
    pub fn count(&self) -> (u64, u64) {
        let files = self.files.lock();
        (
            files.live.len() as u64,
            (files.live.len() + files.superfluous.len()) as u64,
        )
    }

    /// The largest number of files.
    pub fn segments_max(&self) -> u64 {
        self.segments_max
    }
}

/// Writes zeroes over a file's existing bytes from `from` to `to`, which the next sync makes stable. They may be of an attempt
/// before, whose sync failed (I7).
fn zero(file: &dyn DiskFile, from: u64, to: u64) -> Result<(), DiskError> {
    let there = file.len()?.next_multiple_of(GROUP_ALIGNMENT as u64).min(to);
    let mut at = from;
    let zeroes = AlignedBuffer::zeroed(FILL_BYTES.min(there.saturating_sub(from)) as usize);
    while at < there {
        let length = FILL_BYTES.min(there - at);
        file.write_at(at, &zeroes[..length as usize])?;
        at += length;
    }
    Ok(())
}

/// Holds the log back for a reader that cannot do without it: a copy in a store that catches up.
#[derive(Debug)]
pub struct LogPin {
    segments: Arc<Segments>,
    number: u64,
}

impl LogPin {
    /// Lets the log before `lsn` go.
    #[inline]
    pub fn advance(&self, lsn: Lsn) {
        if !self.segments.process.is_current() {
            return;
        }
        let needed_from = {
            let mut files = self.segments.files.lock();
            let mut pins = files.pins.iter_mut();
            if let Some((_, from)) = pins.find(|(number, _)| *number == self.number) {
                *from = lsn;
            }
            files.needed_from
        };
        self.segments.free_before(needed_from);
    }
}

impl Drop for LogPin {
    #[inline]
    fn drop(&mut self) {
        if !self.segments.process.is_current() {
            return;
        }
        let needed_from = {
            let mut files = self.segments.files.lock();
            files.pins.retain(|(number, _)| *number != self.number);
            files.needed_from
        };
        self.segments.free_before(needed_from);
    }
}
