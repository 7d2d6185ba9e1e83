//! Reading the log back, and distinguishing its end from corruption.
//!
//! The log ends at the first group that is not whole (I4). Behind it there may be leftovers: whole groups that were in
//! flight together with the torn one and were never acknowledged. Their knowledge distinguishes them from corruption.
//! A later group that knew the broken one to be *durable* proves that it was whole once. That is an error naming file
//! and offset. Leftovers never chain onto later log. Each opening counts up the incarnation, and a group of an earlier
//! incarnation is not believed after one of a later.
//!
//! One case is not noticed here: the last group in flight at a crash, damaged after it became durable, with no later
//! group to prove it. For that reason a clean close appends an empty group. Recovery also knows a position from
//! elsewhere that the log reached at least, and compares.

mod before;

pub use before::group_before;

use super::group::{GROUP_ALIGNMENT, GROUP_HEADER_BYTES, GroupHeader};
use super::segment::{LOG_DIRECTORY, segment_file, segment_of_file, usable_bytes};
use super::{LogError, LogLayout, LogPosition, Lsn};
use crate::disk::{Access, AlignedBuffer, Create, Disk, DiskFile};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes read from the disk at once, unless a group is longer.
const READ_BYTES: usize = 4 << 20;

/// The reason for a group whose header is right and whose records are not.
const TORN: &str = "a torn group";

/// The place of damage, and its reason.
type Broken = (Lsn, &'static str);

/// Reads a log's groups in order, from a position to the log's end.
#[derive(Debug)]
pub struct LogReader {
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    position: LogPosition,
    last_incarnation: u32,
    /// Groups from this number on are not read, because they are not yet known durable.
    before_group: u64,
    /// Bytes from here on are not read from the disk, because they are still being written.
    before_lsn: Lsn,
    /// True if others write to the log, whose durable end is not known here.
    beside_writer: bool,
    /// False if the caller has the end checked by another reader afterwards.
    checks_end: bool,
    /// The place at which the log is known to end.
    known_end: Option<LogPosition>,
    file: Option<OpenSegment>,
    /// The bytes of the log from `window_start` on: of one segment, or of a spanning group.
    window: AlignedBuffer,
    window_start: Lsn,
    end_check_time: Duration,
}

/// A segment that is being read.
#[derive(Debug)]
struct OpenSegment {
    number: u64,
    file: Box<dyn DiskFile>,
    /// Its bytes that hold log or are prepared for it, when they were last looked at.
    usable_bytes: u64,
}

impl LogReader {
    /// Starts at a position.
    ///
    /// # Errors
    /// [`LogError::MissingSegment`] if the log no longer reaches back to it.
    pub fn open(
        disk: &Arc<dyn Disk>,
        layout: LogLayout,
        from: LogPosition,
    ) -> Result<LogReader, LogError> {
        let mut reader = LogReader::at_end(disk, layout, layout.resumed(from));
        let from = reader.position.lsn;
        reader.before_group = u64::MAX;
        reader.open_segment(layout.segment_of(from), from)?;
        Ok(reader)
    }

    /// For a log that ends at a position for which there is no segment yet: reads no group.
    #[inline]
    pub(crate) fn at_end(disk: &Arc<dyn Disk>, layout: LogLayout, end: LogPosition) -> LogReader {
        LogReader {
            disk: disk.clone(),
            layout,
            position: end,
            last_incarnation: end.incarnation,
            before_group: end.group,
            before_lsn: Lsn(u64::MAX),
            beside_writer: false,
            checks_end: true,
            known_end: None,
            file: None,
            window: AlignedBuffer::with_capacity(GROUP_ALIGNMENT),
            window_start: end.lsn,
            end_check_time: Duration::ZERO,
        }
    }

    /// For reading a log that another process writes to. A group in flight may be incomplete when it is read. It may
    /// be whole, and durable to a later group, when that one is found behind it. So apparent corruption is read once
    /// more. If the group is whole now, the log ended before it at the first read. Never for a log without a writer,
    /// where a second read finds nothing else.
    pub fn beside_writer(mut self) -> LogReader {
        self.beside_writer = true;
        self
    }

    /// Sets if the log's end is checked, for which all prepared bytes behind it are read. Only a caller that has the
    /// same log recovered next may leave that out: then the recovery checks it.
    pub(crate) fn set_checks_end(&mut self, checks_end: bool) {
        self.checks_end = checks_end;
    }

    /// The log is known to end here, by the caller that wrote it and has had it for itself since then: nothing behind it is
    /// looked at if it does. If the log ends elsewhere, its end is checked as ever.
    pub(crate) fn set_known_end(&mut self, known_end: Option<LogPosition>) {
        self.known_end = known_end;
    }

    /// Reads no group from `number` on: for reading the durable part of a log that is being
    /// written.
    pub fn until_group(mut self, number: u64) -> LogReader {
        self.before_group = number;
        self
    }

    /// Moves the bound of [`LogReader::until_group`].
    pub fn set_until_group(&mut self, number: u64) {
        self.before_group = number;
    }

    /// Like [`LogReader::set_until_group`], with the place of the durable log's end: no more is read from the disk
    /// than up to there, so that following a log costs its length.
    pub fn set_until(&mut self, durable: LogPosition) {
        self.before_group = durable.group;
        self.before_lsn = durable.lsn;
    }

    /// Returns true if there is a bound, because the log is being written.
    pub fn is_bounded(&self) -> bool {
        self.before_group != u64::MAX
    }

    /// The next whole group's header and records, or `None` at the log's end.
    ///
    /// # Errors
    /// The disk's errors, and those of a log that is damaged rather than at its end.
    pub fn next_group(&mut self) -> Result<Option<(GroupHeader, &[u8])>, LogError> {
        if self.position.group >= self.before_group {
            return Ok(None);
        }
        let Some(header) = self.find_next_fresh()? else {
            return Ok(None);
        };
        self.check_chain(&header)?;
        self.last_incarnation = header.incarnation;
        self.position = header.next_position();
        let start = (header.lsn.0 - self.window_start.0) as usize + GROUP_HEADER_BYTES;
        Ok(Some((
            header,
            &self.window[start..start + header.payload_bytes as usize],
        )))
    }

    /// The bytes on disk of the group that [`LogReader::next_group`] read last, with header and padding.
    pub fn last_group_bytes(&self, header: &GroupHeader) -> &[u8] {
        let start = (header.lsn.0 - self.window_start.0) as usize;
        &self.window[start..start + header.bytes_on_disk()]
    }

    /// The same, of a spanning group that [`LogReader::next_group`] read just now, for a caller that keeps it. It may
    /// be as large as memory allows, and then there is no memory for a copy.
    pub(super) fn take_spanning(&mut self, header: &GroupHeader) -> AlignedBuffer {
        debug_assert!(header.is_spanning() && self.window_start == header.lsn);
        self.window.truncate(header.bytes_on_disk());
        std::mem::replace(
            &mut self.window,
            AlignedBuffer::with_capacity(GROUP_ALIGNMENT),
        )
    }

    /// The place after the last group that was read.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// The incarnation of the last group that was read, or before the place where reading began.
    pub fn last_incarnation(&self) -> u32 {
        self.last_incarnation
    }

    /// The time that it took to check that the log may end at its end: everything behind is read.
    pub fn end_check_time(&self) -> Duration {
        self.end_check_time
    }

    /// Finds the next group. A log that is being written to (there is a bound) may have grown since the window was
    /// read. So a group that is not in the window is looked for once more on the disk.
    fn find_next_fresh(&mut self) -> Result<Option<GroupHeader>, LogError> {
        if !self.is_bounded() {
            return self.find_next();
        }
        if let Ok(Some(header)) = self.find_next() {
            return Ok(Some(header));
        }
        self.window.clear();
        match self.find_next()? {
            // The bound shows that the group is durable, so its absence is damage, not the end.
            None => Err(self.inconsistent("it was durable, and is missing".into())),
            found => Ok(found),
        }
    }

    /// Finds the group that is next in number; if it is not there, makes sure that the log may end here.
    fn find_next(&mut self) -> Result<Option<GroupHeader>, LogError> {
        let broken = match self.look_for_next()? {
            Ok(header) => return Ok(Some(header)),
            Err(_) if !self.checks_end || self.known_end == Some(self.position) => return Ok(None),
            Err(broken) => broken,
        };
        let started = Instant::now();
        let checked = self.check_nothing_durable_follows(self.position.lsn, broken);
        self.end_check_time += started.elapsed();
        if self.beside_writer && matches!(checked, Err(LogError::Corrupt { .. })) {
            self.window.clear();
            if self.look_for_next()?.is_ok() {
                return Ok(None);
            }
        }
        checked.map(|()| None)
    }

    /// The group that is next in number, here or at the next segment's start, or the damage and its place.
    fn look_for_next(&mut self) -> Result<Result<GroupHeader, Broken>, LogError> {
        let here = self.position.lsn;
        let mut broken = (here, "");
        broken.1 = match self.group_at(here)? {
            Ok(header) if header.number == self.position.group => return Ok(Ok(header)),
            Ok(_) => "a group of another number",
            Err(reason) => reason,
        };
        let offset = self.layout.offset_in_segment(here);
        if offset != 0 {
            // It may not have fitted into this segment.
            let next = self.layout.segment_start(self.layout.segment_of(here) + 1);
            if self.segment_exists(self.layout.segment_of(next))? {
                match self.group_at(next)? {
                    Ok(header)
                        if header.number == self.position.group
                            && self.layout.place(here, header.bytes_on_disk() as u64) == next =>
                    {
                        return Ok(Ok(header));
                    }
                    // A group that spans segments may be broken far from here.
                    Err(TORN) if broken.1 != TORN => broken = (next, TORN),
                    _ => {}
                }
            }
        }
        Ok(Err(broken))
    }

    /// The valid group at an LSN, or the damage there.
    fn group_at(&mut self, lsn: Lsn) -> Result<Result<GroupHeader, &'static str>, LogError> {
        self.load(lsn, GROUP_ALIGNMENT)?;
        let start = (lsn.0 - self.window_start.0) as usize;
        let Some(header) = GroupHeader::decode(&self.window[start..]) else {
            return Ok(Err("no valid group header"));
        };
        if header.identity != self.layout.identity {
            return Ok(Err("a group of another database"));
        }
        if header.lsn != lsn {
            return Ok(Err("an old group of a recycled segment"));
        }
        if header.incarnation < self.last_incarnation {
            return Ok(Err("a leftover of an earlier incarnation"));
        }
        let on_disk = header.bytes_on_disk() as u64;
        let offset = self.layout.offset_in_segment(lsn);
        let fits = match header.is_spanning() {
            false => on_disk <= self.layout.segment_bytes - offset,
            true => offset == 0 && header.spanned_bytes == self.layout.spanned_bytes(on_disk),
        };
        if !fits {
            return Ok(Err("a group longer than its segment"));
        }
        self.load(lsn, header.bytes_on_disk())?;
        let start = (lsn.0 - self.window_start.0) as usize + GROUP_HEADER_BYTES;
        if !header.payload_is_valid(&self.window[start..start + header.payload_bytes as usize]) {
            return Ok(Err(TORN));
        }
        Ok(Ok(header))
    }

    /// I4: the log may only end here if no later group knew this one to be durable. Such a group is in the rest of the
    /// segment; or, if the damaged one was its last, at the next one's start. That one is read whole, too. Of all
    /// others the start is read, where every segment that was ever written to has a group. The exception is a segment
    /// of a spanning group, behind which there is one at a segment's start again. So a long prepared log costs little
    /// to open.
    fn check_nothing_durable_follows(
        &mut self,
        end: Lsn,
        (place, reason): Broken,
    ) -> Result<(), LogError> {
        let number = self.position.group;
        let last = self.segment_numbers()?.into_iter().max();
        let read_whole_before = self.layout.segment_start(self.layout.segment_of(end) + 2);
        let mut lsn = Lsn(end.0 + GROUP_ALIGNMENT as u64);
        while Some(self.layout.segment_of(lsn)) <= last {
            let segment = self.layout.segment_of(lsn);
            // Behind a segment that is lost there may be more; behind the end of a short one there is
            // nothing to be read.
            if !self.segment_exists(segment)? || !self.is_usable(lsn, GROUP_ALIGNMENT)? {
                lsn = self.layout.segment_start(segment + 1);
                continue;
            }
            if let Ok(later) = self.group_at(lsn)?
                && later.number > number
                && later.durable_number >= number
            {
                let offset = self.layout.offset_in_segment(place);
                return Err(LogError::Corrupt {
                    file: self.display_name(place),
                    offset,
                    reason,
                    number,
                    proof_number: later.number,
                    proof_file: self.display_name(lsn),
                    proof_offset: self.layout.offset_in_segment(lsn),
                });
            }
            lsn = match lsn < read_whole_before {
                true => Lsn(lsn.0 + GROUP_ALIGNMENT as u64),
                false => self.layout.segment_start(segment + 1),
            };
        }
        Ok(())
    }

    fn check_chain(&self, header: &GroupHeader) -> Result<(), LogError> {
        if header.first_transaction != self.position.transactions {
            return Err(self.inconsistent(format!(
                "it records {} transactions before it, but there were {}",
                header.first_transaction, self.position.transactions
            )));
        }
        if header.durable_number >= header.number {
            return Err(self.inconsistent(format!(
                "it records that group {} was durable before it",
                header.durable_number
            )));
        }
        Ok(())
    }

    #[cold]
    fn inconsistent(&self, reason: String) -> LogError {
        LogError::Inconsistent {
            file: self.display_name(self.position.lsn),
            offset: self.layout.offset_in_segment(self.position.lsn),
            number: self.position.group,
            reason,
        }
    }

    fn display_name(&self, lsn: Lsn) -> String {
        self.disk
            .display_name(&segment_file(self.layout.segment_of(lsn)))
    }

    fn segment_exists(&self, segment: u64) -> Result<bool, LogError> {
        if self
            .file
            .as_ref()
            .is_some_and(|open| open.number == segment)
        {
            return Ok(true);
        }
        Ok(self.segment_numbers()?.contains(&segment))
    }

    fn segment_numbers(&self) -> Result<Vec<u64>, LogError> {
        let names = self.disk.list(LOG_DIRECTORY)?;
        Ok(names
            .iter()
            .filter_map(|name| segment_of_file(name))
            .collect())
    }

    fn open_segment(&mut self, segment: u64, needed: Lsn) -> Result<&OpenSegment, LogError> {
        if self.file.as_ref().is_none_or(|open| open.number != segment) {
            if !self.segment_exists(segment)? {
                let file = self.disk.display_name(&segment_file(segment));
                return Err(LogError::MissingSegment { file, needed });
            }
            let file = self
                .disk
                .open(&segment_file(segment), Access::Direct, Create::No)?;
            let usable_bytes = self.usable_bytes_of(segment, &*file)?;
            self.file = Some(OpenSegment {
                number: segment,
                file,
                usable_bytes,
            });
        }
        Ok(self.file.as_ref().expect("opened above"))
    }

    fn usable_bytes_of(&self, segment: u64, file: &dyn DiskFile) -> Result<u64, LogError> {
        let found_bytes = file.len()?;
        let expected_bytes = self.layout.segment_bytes;
        let newest = found_bytes == expected_bytes
            || self.segment_numbers()?.into_iter().all(|n| n <= segment);
        usable_bytes(self.layout, segment, found_bytes, newest).ok_or_else(|| {
            LogError::SegmentLength {
                file: file.display_name(),
                found_bytes,
                expected_bytes,
            }
        })
    }

    /// Returns true if so many bytes from `lsn` on are in the segment's file, which may have grown since it was
    /// opened.
    fn is_usable(&mut self, lsn: Lsn, bytes: usize) -> Result<bool, LogError> {
        let (segment, offset) = (
            self.layout.segment_of(lsn),
            self.layout.offset_in_segment(lsn),
        );
        let end = offset + bytes as u64;
        if end <= self.open_segment(segment, lsn)?.usable_bytes {
            return Ok(true);
        }
        let mut open = self.file.take().expect("opened above");
        open.usable_bytes = self.usable_bytes_of(segment, &*open.file)?;
        Ok(end <= self.file.insert(open).usable_bytes)
    }

    /// Loads `bytes` bytes from `lsn` on into the window. They lie within one segment, or begin one.
    ///
    /// # Errors
    /// [`LogError::SegmentCut`] if the file ends before: the next bytes of the log are always prepared.
    fn load(&mut self, lsn: Lsn, bytes: usize) -> Result<(), LogError> {
        let window_end = self.window_start.0 + self.window.len() as u64;
        if lsn >= self.window_start && lsn.0 + bytes as u64 <= window_end {
            return Ok(());
        }
        let offset = self.layout.offset_in_segment(lsn);
        if offset + bytes as u64 > self.layout.segment_bytes {
            return self.load_spanning(lsn, bytes);
        }
        if self.window.capacity() > 2 * READ_BYTES.max(self.layout.segment_bytes as usize) {
            // A spanning group made it as large as itself.
            self.window = AlignedBuffer::with_capacity(GROUP_ALIGNMENT);
        }
        let usable = self.is_usable(lsn, bytes)?;
        let open = self.file.as_ref().expect("opened above");
        if !usable {
            return Err(LogError::SegmentCut {
                file: open.file.display_name(),
                found_bytes: open.usable_bytes,
                needed_bytes: offset + bytes as u64,
            });
        }
        let room = (open.usable_bytes - offset) as usize;
        let written =
            usize::try_from(self.before_lsn.0.saturating_sub(lsn.0)).unwrap_or(usize::MAX);
        let length = bytes.max(READ_BYTES.min(written)).min(room);
        self.window.clear();
        self.window.extend_zeroed(length);
        self.window_start = lsn;
        let read = open.file.read_at(offset, &mut self.window)?;
        // The length was checked when the segment was opened; a file cut since then reads as zeroes
        // and is noticed as a broken group.
        self.window[read..].fill(0);
        Ok(())
    }

    /// As [`LogReader::load`], of bytes that are in several segments: they alone.
    fn load_spanning(&mut self, lsn: Lsn, bytes: usize) -> Result<(), LogError> {
        // Freed before it is made again: it may be as large as memory allows.
        self.window = AlignedBuffer::with_capacity(GROUP_ALIGNMENT);
        for (segment, offset, part) in self.layout.parts(lsn, bytes as u64) {
            self.open_segment(segment, lsn)?;
            if !self.is_usable(
                Lsn(self.layout.segment_start(segment).0 + offset),
                part as usize,
            )? {
                let open = self.file.as_ref().expect("opened above");
                return Err(LogError::SegmentCut {
                    file: open.file.display_name(),
                    found_bytes: open.usable_bytes,
                    needed_bytes: offset + part,
                });
            }
        }
        let mut window = AlignedBuffer::zeroed(bytes);
        let mut done = 0;
        for (segment, offset, part) in self.layout.parts(lsn, bytes as u64) {
            let into = &mut window[done..done + part as usize];
            // Bytes that a file lost since then stay zero, and are noticed as a broken group.
            self.open_segment(segment, lsn)?
                .file
                .read_at(offset, into)?;
            done += part as usize;
        }
        (self.window, self.window_start) = (window, lsn);
        Ok(())
    }
}
