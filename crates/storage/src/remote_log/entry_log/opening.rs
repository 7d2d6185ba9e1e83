//! Opening an entry log: its files, its entries, and the place where it continues.
//!
//! The log begins with the oldest segment that begins with a group of it: the files before that are remains of freed
//! log. The last group has the place from which the log is needed, so a lost beginning is noticed. The end may have
//! been seen and not be stable, so it is written again before anything is built on it, as recovery does it. The first
//! group of this opening proves that all before was durable (I4).

use super::change::decode;
use super::file::EntriesFile;
use super::index::Index;
use super::planted::{self, Planted};
use super::{ENTRIES_FILE, EntryLogError, EntryLogOptions};
use crate::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, DiskLock};
use crate::engine::LOCK_FILE;
use crate::log::group::GroupHeader;
use crate::log::reader::LogReader;
use crate::log::segment::{LOG_DIRECTORY, Segments, segment_file, segments_present};
use crate::log::{LogError, LogLayout, LogPosition, Lsn};
use crate::recovery::{make_names_stable, write_tail_again};
use sardonyx_base::random::system_random;
use std::sync::Arc;

/// A log as it was found.
#[derive(Debug)]
pub(super) struct Opened {
    pub lock: Box<dyn DiskLock>,
    pub file: EntriesFile,
    pub index: Index,
    pub segments: Arc<Segments>,
    /// Everything before is stable.
    pub end: LogPosition,
    pub last_incarnation: u32,
}

/// Another use of a directory, which excludes that of a log. Its processes look for the file `ENTRIES` when they
/// begin. They look again after they made the files that [`OtherUse::exclude`] looks for: so one of both sees the
/// other.
pub trait OtherUse {
    /// Fails if the directory is used so. Called before a log is made, and changes nothing of that use.
    ///
    /// # Errors
    /// The reason, and the remedy.
    fn check(&self) -> Result<(), String>;

    /// Ends that use if it has left nothing, and fails otherwise. Called when the file `ENTRIES` is there durably;
    /// `is_new` if nothing was written to the log yet.
    ///
    /// # Errors
    /// The reason, and the remedy. A log to which nothing was written is removed then.
    fn exclude(&self, is_new: bool) -> Result<(), String>;
}

/// A directory that has none.
pub(super) struct NoOther;

impl OtherUse for NoOther {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn exclude(&self, _: bool) -> Result<(), String> {
        Ok(())
    }
}

/// Opens the log of a directory; a new one if the directory is empty but for files of others beside it.
pub(super) fn open(
    disk: &Arc<dyn Disk>,
    options: &EntryLogOptions,
    other: &dyn OtherUse,
) -> Result<Opened, EntryLogError> {
    let lock = disk.lock(LOCK_FILE)?;
    let lock = lock.ok_or_else(|| EntryLogError::InUse {
        file: disk.display_name(LOCK_FILE),
        holders: disk.lock_holders(LOCK_FILE),
    })?;
    make_names_stable(&**disk).map_err(LogError::from)?;
    let file = match EntriesFile::read(&**disk)? {
        Some(file) => file,
        None => make(&**disk, options, other)?,
    };
    exclude(&**disk, &file, other)?;
    let layout = file.layout();
    let found = read(disk, layout)?;
    if found.end.group < file.log_end.group {
        let segment = layout.segment_of(found.end.lsn);
        return Err(EntryLogError::CutShort {
            file: disk.display_name(&segment_file(segment)),
            offset: layout.offset_in_segment(found.end.lsn),
            group: found.end.group,
            recorded: file.log_end.group,
            described: disk.display_name(ENTRIES_FILE),
        });
    }
    if let Some(last) = &found.last
        && !planted::is(Planted::TailBelieved)
    {
        write_tail_again(disk, layout, last.position_before(), found.end)?;
    }
    // Only up to the last group's place: the next opening may find that one as the last again.
    let segments = Segments::open(disk.clone(), layout, found.needed_from, u64::MAX)?;
    Ok(Opened {
        lock,
        file,
        index: found.index,
        segments: Arc::new(segments),
        end: found.end,
        last_incarnation: found.last_incarnation,
    })
}

/// The file of a new log, made durably.
fn make(
    disk: &dyn Disk,
    options: &EntryLogOptions,
    other: &dyn OtherUse,
) -> Result<EntriesFile, EntryLogError> {
    let there = disk.list(LOG_DIRECTORY)?;
    let others = disk.list("")?;
    let foreign = there.first().map(|name| format!("{LOG_DIRECTORY}/{name}"));
    let known = |name: &&String| *name == LOCK_FILE || name.starts_with(ENTRIES_FILE);
    let foreign = foreign.or_else(|| others.iter().find(|name| !known(name)).cloned());
    if let Some(name) = foreign {
        return Err(EntryLogError::Foreign {
            file: disk.display_name(&name),
        });
    }
    let checked = other.check();
    checked.map_err(|reason| EntryLogError::OtherUse { reason })?;
    let file = EntriesFile::new(system_random(), options.segment_bytes);
    file.write(disk)?;
    Ok(file)
}

/// Excludes the other use of the directory. The file of a log to which nothing was written gives way to it: with both, the
/// directory could not be used at all.
fn exclude(disk: &dyn Disk, file: &EntriesFile, other: &dyn OtherUse) -> Result<(), EntryLogError> {
    let is_new = file.log_end == LogPosition::START && disk.list(LOG_DIRECTORY)?.is_empty();
    let Err(reason) = other.exclude(is_new) else {
        return Ok(());
    };
    if is_new {
        disk.remove(ENTRIES_FILE)?;
        disk.sync_directory("")?;
    }
    Err(EntryLogError::OtherUse { reason })
}

/// The content of a log that was read.
struct Found {
    index: Index,
    end: LogPosition,
    last: Option<GroupHeader>,
    last_incarnation: u32,
    needed_from: Lsn,
}

fn read(disk: &Arc<dyn Disk>, layout: LogLayout) -> Result<Found, EntryLogError> {
    let mut found = Found {
        index: Index::new(layout),
        end: LogPosition::START,
        last: None,
        last_incarnation: 0,
        needed_from: layout.begin(),
    };
    let Some(start) = start(disk, layout)? else {
        return Ok(found);
    };
    let mut reader = LogReader::open(disk, layout, start)?;
    found.needed_from = start.lsn;
    while let Some((header, payload)) = reader.next_group()? {
        let broken = |reason: &str| inconsistent(&**disk, layout, &header, reason);
        let (changes, needed) = decode(payload).map_err(broken)?;
        for change in &changes {
            if !found.index.apply(&header, change) {
                let number = change.number();
                let reason = format!("it has an entry {number}, and so has a group before it");
                return Err(broken(&reason).into());
            }
        }
        (found.last, found.needed_from) = (Some(header), needed);
    }
    found.end = reader.position();
    found.last_incarnation = reader.last_incarnation();
    match found.needed_from < start.lsn {
        true => Err(beginning(&**disk, layout.segment_of(found.needed_from))),
        false => Ok(found),
    }
}

/// The beginning of a log: the start of the oldest segment with a group there. `None` if there is no segment.
fn start(disk: &Arc<dyn Disk>, layout: LogLayout) -> Result<Option<LogPosition>, EntryLogError> {
    let segments = segments_present(&**disk)?;
    if segments.first() == Some(&0) {
        return Ok(Some(LogPosition::START));
    }
    let mut block = AlignedBuffer::zeroed(DIRECT_ALIGNMENT);
    for segment in &segments {
        let file = disk.open(&segment_file(*segment), Access::Direct, Create::No)?;
        block.fill(0);
        file.read_at(0, &mut block)?;
        let here = layout.segment_start(*segment);
        let header = GroupHeader::decode(&block)
            .filter(|header| header.identity == layout.identity && header.lsn == here);
        if let Some(header) = header {
            return Ok(Some(header.position_before()));
        }
    }
    match segments.first() {
        Some(first) => Err(beginning(&**disk, *first)),
        None => Ok(None),
    }
}

fn beginning(disk: &dyn Disk, segment: u64) -> EntryLogError {
    EntryLogError::Beginning {
        file: disk.display_name(&segment_file(segment)),
    }
}

/// The error of a whole group whose records are invalid.
fn inconsistent(
    disk: &dyn Disk,
    layout: LogLayout,
    header: &GroupHeader,
    reason: &str,
) -> LogError {
    LogError::Inconsistent {
        file: disk.display_name(&segment_file(layout.segment_of(header.lsn))),
        offset: layout.offset_in_segment(header.lsn),
        number: header.number,
        reason: reason.into(),
    }
}

/// The bytes of an entry at its place, if the group there is whole.
pub(super) fn read_entry(
    disk: &Arc<dyn Disk>,
    layout: LogLayout,
    place: &super::index::Place,
) -> Result<Vec<u8>, EntryLogError> {
    // Each group is counted as one transaction.
    let from = LogPosition {
        lsn: place.lsn,
        group: place.group,
        transactions: place.group - 1,
        incarnation: 0,
    };
    let (at, bytes) = (place.at as usize, place.bytes as usize);
    let until = LogPosition {
        lsn: Lsn(place.lsn.0 + crate::log::group::group_bytes_on_disk(at + bytes) as u64),
        group: place.group + 1,
        ..from
    };
    let mut reader = LogReader::open(disk, layout, from)?;
    reader.set_checks_end(false);
    reader.set_until(until);
    let (header, payload) = reader.next_group()?.ok_or(LogError::Closed)?;
    let found = match header.lsn == place.lsn {
        true => payload.get(at..at + bytes),
        false => None,
    };
    match found {
        Some(bytes) => Ok(bytes.to_vec()),
        None => Err(inconsistent(&**disk, layout, &header, "it lacks an entry").into()),
    }
}
