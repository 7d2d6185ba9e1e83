//! The log's files: segments of one fixed length, written in LSN order and used again.
//!
//! Segment `k` is `log/<k>.log` and holds the log's bytes from `k * segment_bytes`. It is filled
//! with zeroes and synced before its first use, so that writing a group changes no metadata. When a
//! checkpoint has made a segment superfluous it is renamed to become a later one; its old groups
//! are harmless, because a group is only believed at the LSN it names (I5).
//!
//! Invariants:
//! - the segments from the one that holds the oldest needed byte to the last prepared one are all
//!   there, without a gap, at full length: a missing or short one is an error when read;
//! - the segment *after* the one being written is prepared before a transaction is admitted, so a
//!   full disk refuses new transactions and never strands executed ones;
//! - what is there of older log leads up to those without a gap, too: whoever must go back further
//!   than was needed, because a newer block is damaged, finds the log whole or finds that it is gone;
//! - there are never more than `segments_max` files (I10).

use super::{LogError, LogLayout, Lsn};
use crate::disk::{Access, Create, Disk, DiskFile};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The directory of the segments.
pub const LOG_DIRECTORY: &str = "log";

/// The file that holds a segment.
pub fn segment_file(segment: u64) -> String {
    format!("{LOG_DIRECTORY}/{segment:016}.log")
}

/// The segment that a file in the log's directory holds.
pub fn segment_of_file(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// The segment files of an open log.
#[derive(Debug)]
pub struct Segments {
    /// Only the process that opened the log changes its files.
    process: Process,
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    segments_max: u64,
    files: Mutex<Files>,
    /// Held for long; nobody waits for it but who prepares, too.
    preparing: Mutex<()>,
    /// The LSN up to which segments are prepared.
    prepared_end: AtomicU64,
}

#[derive(Debug)]
struct Files {
    /// Prepared segments that may hold needed log.
    live: BTreeMap<u64, Arc<dyn DiskFile>>,
    /// Segments whose log nobody needs; to be renamed, the oldest first, so that what is left leads
    /// up to the live ones without a gap.
    superfluous: BTreeSet<u64>,
    /// Readers hold the log back from here on.
    pins: BTreeMap<u64, Lsn>,
    next_pin: u64,
    /// The oldest byte needed, apart from pins.
    needed_from: Lsn,
}

/// Whether a further segment could be prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prepared {
    /// It is there.
    Yes,
    /// All `segments_max` files hold log that is still needed.
    NoRoom,
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
        let found: BTreeSet<u64> = names
            .iter()
            .filter_map(|name| segment_of_file(name))
            .collect();
        let first = layout.segment_of(needed_from);
        let mut files = Files {
            live: BTreeMap::new(),
            superfluous: found.range(..first).copied().collect(),
            pins: BTreeMap::new(),
            next_pin: 0,
            needed_from,
        };
        let mut end = first;
        for &segment in found.range(first..) {
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
        // Stale temporary files of an interrupted preparation.
        for name in names.iter().filter(|name| name.ends_with(".new")) {
            disk.remove(&format!("{LOG_DIRECTORY}/{name}"))?;
        }
        Ok(Segments {
            process: Process::current(),
            disk,
            layout,
            segments_max,
            files: Mutex::new(files),
            preparing: Mutex::new(()),
            prepared_end: AtomicU64::new(layout.segment_start(end).0),
        })
    }

    /// What the log looks like.
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

    /// Prepares one more segment at the end: renames a superfluous one, or creates one.
    pub fn prepare_next(&self) -> Result<Prepared, LogError> {
        self.process.check()?;
        let _one_at_a_time = self.preparing.lock();
        let next = self.layout.segment_of(self.prepared_end());
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
            // Filling a file takes long, and whoever writes a group asks for its file meanwhile.
            drop(files);
            self.create(&name)?;
        }
        self.disk.sync_directory(LOG_DIRECTORY)?;
        let file = self.disk.open(&name, Access::Direct, Create::No)?;
        self.files.lock().live.insert(next, file.into());
        self.prepared_end
            .store(self.layout.segment_start(next + 1).0, Ordering::Release);
        Ok(Prepared::Yes)
    }

    fn create(&self, name: &str) -> Result<(), LogError> {
        let new = format!("{name}.new");
        // What an attempt before left is no beginning: its sync may have failed, and then it is not
        // known what of it is stable (I7).
        let found = self.disk.list(LOG_DIRECTORY)?;
        if found
            .iter()
            .any(|found| *new == format!("{LOG_DIRECTORY}/{found}"))
        {
            self.disk.remove(&new)?;
        }
        let file = self.disk.open(&new, Access::Direct, Create::New)?;
        if let Err(error) = file.preallocate(self.layout.segment_bytes) {
            drop(file);
            // Give the room back; the error that counts is the first one.
            let _ = self.disk.remove(&new);
            return Err(error.into());
        }
        drop(file);
        Ok(self.disk.rename(&new, name)?)
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

    /// Says that nothing before `lsn` is needed any more (I6). Going backwards has no effect.
    /// Returns the number of segments that became superfluous.
    pub fn free_before(&self, lsn: Lsn) -> usize {
        if !self.process.is_current() {
            return 0;
        }
        let mut files = self.files.lock();
        files.needed_from = files.needed_from.max(lsn);
        let oldest_pin = files.pins.values().copied().min().unwrap_or(lsn);
        let first_needed = self.layout.segment_of(files.needed_from.min(oldest_pin));
        let kept = files.live.split_off(&first_needed);
        let freed = std::mem::replace(&mut files.live, kept);
        files.superfluous.extend(freed.keys());
        freed.len()
    }

    /// Whether the log from `lsn` on is kept: nothing of it was freed.
    pub fn keeps(&self, lsn: Lsn) -> bool {
        let files = self.files.lock();
        let first = files.live.keys().next();
        first.is_some_and(|first| *first <= self.layout.segment_of(lsn))
    }

    /// Keeps the log from `lsn` on until the pin is dropped. `None` if it is freed already.
    pub fn pin(self: &Arc<Self>, lsn: Lsn) -> Option<LogPin> {
        let mut files = self.files.lock();
        let first = *files.live.keys().next()?;
        if self.layout.segment_of(lsn) < first {
            return None;
        }
        let number = files.next_pin;
        files.next_pin += 1;
        files.pins.insert(number, lsn);
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

/// Holds the log back for a reader that cannot do without it: a standby that catches up.
#[derive(Debug)]
pub struct LogPin {
    segments: Arc<Segments>,
    number: u64,
}

impl LogPin {
    /// Lets the log before `lsn` go.
    pub fn advance(&self, lsn: Lsn) {
        if !self.segments.process.is_current() {
            return;
        }
        let needed_from = {
            let mut files = self.segments.files.lock();
            files.pins.insert(self.number, lsn);
            files.needed_from
        };
        self.segments.free_before(needed_from);
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        if !self.segments.process.is_current() {
            return;
        }
        let needed_from = {
            let mut files = self.segments.files.lock();
            files.pins.remove(&self.number);
            files.needed_from
        };
        self.segments.free_before(needed_from);
    }
}
