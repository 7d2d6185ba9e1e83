//! The leader: writes commit groups for all processes. Each process has one; it is used by the
//! thread that holds the *writer lock* of the caller's shared memory.
//!
//! The remains of a leader that dies, and the reasons why the next one can go on:
//! - *Nothing, a part or all of its group is on disk, and the end has not moved.* Nothing of it was acknowledged. The
//!   next leader writes a group of the same number over it. The writer lock is passed on only when the dead thread's
//!   last system call is over, so the two never write at once.
//! - *The same, but the next leader has more records (or fewer). The group does not fit into its segment any more and
//!   has another place.* Then there would be two groups of one number, and a reader would believe the wrong one and
//!   find no successor. So each leader records the place before it writes ([`LogState::place`]). The next one erases
//!   the old group's header, durably, before it writes to another place.
//! - *All of it is on disk, and the end has moved, but no waiter was notified.* The end carries the caller's tail, so
//!   the next leader does not take these records again.
//!
//! A group always records that the one before is durable: it is begun after that one's end was published.
//!
//! A transaction that does not fit into a segment is written alone, as a spanning group ([`crate::log::group`]), from
//! the memory of its records.
//!
//! Invariants: I1; I4 (one place for a number); I5 (a file is written to only under the segment's number for which it
//! was opened, and only while the log's end is in it); I7.

use super::SharedLogError;
use super::state::{LogState, SharedEnd};
use crate::disk::{Access, AlignedBuffer, Create, Disk, DiskFile};
use crate::log::group::{
    GROUP_ALIGNMENT, GROUP_HEADER_BYTES, GroupHeader, PAYLOAD_BYTES_MAX, group_bytes_on_disk,
};
use crate::log::seal::{GroupBuilder, SealedGroup, Sequencer};
use crate::log::segment::{segment_file, usable_bytes};
use crate::log::{LogError, LogLayout, LogPosition, Lsn, spanning};
use crate::manifest::Manifest;
use sardonyx_base::events;
use sardonyx_base::process::Process;
use std::sync::Arc;

/// A buffer that a large group made longer is given back after it.
const BUFFER_BYTES_KEPT: usize = 8 << 20;

/// The room of a fresh buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes commit groups for all processes of a database.
#[derive(Debug)]
pub struct LogLeader {
    process: Process,
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    incarnation: u32,
    /// The last group's, for the next one.
    buffer: Option<AlignedBuffer>,
    /// The file of the segment that was last written to.
    file: Option<(u64, Box<dyn DiskFile>)>,
}

impl LogLeader {
    /// A leader for the opening of the database that has this incarnation.
    pub fn new(disk: Arc<dyn Disk>, manifest: &Manifest, incarnation: u32) -> Self {
        LogLeader {
            process: Process::current(),
            disk,
            layout: manifest.log_layout(),
            incarnation,
            buffer: None,
            file: None,
        }
    }

    /// Sizes of segments, and the log's beginning.
    pub fn layout(&self) -> LogLayout {
        self.layout
    }

    /// The most bytes of records that a group of several transactions can have: a little less than a
    /// segment, so that a group never fills one. The published but not yet durable records must also stay
    /// below this, or an admitted transaction might find no room ([`LogState::admits`]); unless they are one
    /// transaction's, which may be larger ([`LogState::admits_alone`]).
    pub fn group_bytes_max(&self) -> usize {
        let segment = usize::try_from(self.layout.segment_bytes).unwrap_or(usize::MAX);
        segment.min(u32::MAX as usize) - GROUP_ALIGNMENT - GROUP_HEADER_BYTES
    }

    /// The most bytes of records that one transaction may have if the log has so many bytes at most: beside
    /// it there is the segment in which the log ends before it, and the one in which it ends after it.
    pub fn transaction_bytes_max(&self, log_bytes_max: u64) -> u64 {
        let segments = log_bytes_max / self.layout.segment_bytes;
        let spanned = segments.saturating_sub(2) * self.layout.segment_bytes;
        let fits = spanned.saturating_sub(GROUP_HEADER_BYTES as u64) & !7;
        fits.min(PAYLOAD_BYTES_MAX)
            .max(self.group_bytes_max() as u64)
    }

    /// Writes one commit group durably at the log's end, and moves the end. `records`: encoded redo records, whole
    /// when put together ([`crate::log::seal::GroupBuilder`] encodes them). `transactions` of them are marked as the
    /// last of theirs; one, if they do not fit into a segment. `tail`: the caller's position after these records,
    /// published together with the log's end.
    ///
    /// The caller holds the writer lock, and `records` follow [`SharedEnd::tail`] of [`LogState::end`], read under
    /// that lock.
    ///
    /// # Errors
    /// [`SharedLogError::NoRoom`] or [`SharedLogError::Full`] if the group's segment, or the one in
    /// which the log ends after it, is not prepared; [`SharedLogError::TooLarge`]; [`SharedLogError::OtherIncarnation`];
    /// [`SharedLogError::Log`] if its file cannot be opened, or in a forked child: in all of these nothing was written.
    /// [`SharedLogError::Poisoned`] if a write failed, now or before.
    #[inline]
    pub fn write_group(
        &mut self,
        state: &LogState,
        transactions: u32,
        records: &[&[u8]],
        tail: u64,
    ) -> Result<LogPosition, SharedLogError> {
        self.process.check().map_err(LogError::from)?;
        state.check()?;
        self.check_incarnation(state)?;
        let payload_bytes = records.iter().map(|piece| piece.len()).sum();
        self.check_length(payload_bytes, transactions)?;
        let next = state.end().position;
        // The segment of the log's end is always there, also when the group ends with its own:
        // recovery looks for it.
        let on_disk = group_bytes_on_disk(payload_bytes) as u64;
        let lsn = self.layout.place(next.lsn, on_disk);
        let spanned_bytes = self.layout.spanned_bytes(on_disk);
        if state.prepared_end().0 <= lsn.0 + spanned_bytes.max(on_disk) {
            return Err(state.refusal().unwrap_or(SharedLogError::NoRoom));
        }
        if spanned_bytes > 0 {
            let header = spanning::header(self.layout, self.incarnation, next, records);
            self.write_spanning(state, &header, records)?;
            let position = header.next_position();
            state.publish(SharedEnd { position, tail });
            return Ok(position);
        }
        let buffer = self.buffer.take();
        let buffer = buffer.unwrap_or_else(|| AlignedBuffer::with_capacity(BUFFER_BYTES));
        let mut builder = GroupBuilder::from_buffer(buffer);
        builder.push_encoded(records, transactions);
        let mut group = Sequencer::resume(self.layout, self.incarnation, next).seal(builder);
        group.finish(next.group - 1);
        let written = self.write(state, &group);
        let position = group.header().next_position();
        let buffer = group.into_buffer();
        self.buffer = (buffer.capacity() <= BUFFER_BYTES_KEPT).then_some(buffer);
        written?;
        state.publish(SharedEnd { position, tail });
        Ok(position)
    }

    /// Appends an empty group, which marks a clean close: damage of the last group before it is then distinct from the
    /// log's end. The caller holds the writer lock. Harmless if the log goes on.
    ///
    /// # Errors
    /// As [`LogLeader::write_group`].
    #[inline]
    pub fn write_end_mark(&mut self, state: &LogState) -> Result<LogPosition, SharedLogError> {
        let tail = state.end().tail;
        self.write_group(state, 0, &[], tail)
    }

    /// The address and the size of the buffer.
    #[cfg(test)]
    pub(crate) fn buffer_place(&self) -> Option<(*const u8, usize)> {
        let buffer = self.buffer.as_ref()?;
        Some((buffer.as_ptr(), buffer.capacity()))
    }

    fn check_incarnation(&self, state: &LogState) -> Result<(), SharedLogError> {
        let (expected, found) = (self.incarnation, state.incarnation());
        if expected == found {
            return Ok(());
        }
        Err(SharedLogError::OtherIncarnation { expected, found })
    }

    fn check_length(&self, payload_bytes: usize, transactions: u32) -> Result<(), SharedLogError> {
        let bytes_max = match transactions {
            1 => PAYLOAD_BYTES_MAX as usize,
            _ => self.group_bytes_max(),
        };
        if payload_bytes <= bytes_max {
            return Ok(());
        }
        Err(SharedLogError::TooLarge {
            bytes: payload_bytes,
            bytes_max,
        })
    }

    /// Writes a group to its place, and ensures that it is in no other place.
    #[inline]
    fn write(&mut self, state: &LogState, group: &SealedGroup) -> Result<(), SharedLogError> {
        let (number, lsn) = (group.header().number, group.header().lsn);
        self.erase_elsewhere(state, number, lsn)?;
        self.open(self.layout.segment_of(lsn))?;
        state.place(number, lsn);
        self.poison_on_error(state, |leader| leader.write_durable(lsn, group.bytes()))
    }

    /// As [`LogLeader::write`], from the records' own memory.
    #[inline]
    fn write_spanning(
        &mut self,
        state: &LogState,
        header: &GroupHeader,
        records: &[&[u8]],
    ) -> Result<(), SharedLogError> {
        self.erase_elsewhere(state, header.number, header.lsn)?;
        let mut files = Vec::new();
        let parts = self.layout.parts(header.lsn, header.bytes_on_disk() as u64);
        for (segment, ..) in parts {
            self.open(segment)?;
            files.extend(self.file.take().map(|(_, file)| file.into()));
        }
        state.place(header.number, header.lsn);
        self.poison_on_error(state, |leader| {
            Ok(spanning::write_durable(
                leader.layout,
                &files,
                header,
                records,
            )?)
        })
    }

    /// A leader that died may have written the group to another place.
    #[inline]
    fn erase_elsewhere(
        &mut self,
        state: &LogState,
        number: u64,
        lsn: Lsn,
    ) -> Result<(), SharedLogError> {
        if let Some(elsewhere) = state.placed(number).filter(|placed| *placed != lsn) {
            self.open(self.layout.segment_of(elsewhere))?;
            self.poison_on_error(state, |leader| leader.erase(elsewhere))?;
        }
        Ok(())
    }

    /// Opens a segment's file unless it is the one that is open.
    #[inline]
    fn open(&mut self, segment: u64) -> Result<(), SharedLogError> {
        if self.file.as_ref().is_some_and(|(open, _)| *open == segment) {
            return Ok(());
        }
        let name = segment_file(segment);
        let file = self.disk.open(&name, Access::Direct, Create::No)?;
        let found_bytes = file.len()?;
        if usable_bytes(self.layout, segment, found_bytes, true).is_none() {
            return Err(SharedLogError::Log(LogError::SegmentLength {
                file: file.display_name(),
                found_bytes,
                expected_bytes: self.layout.segment_bytes,
            }));
        }
        self.file = Some((segment, file));
        Ok(())
    }

    /// Makes the group at a place no group.
    #[inline]
    fn erase(&self, lsn: Lsn) -> Result<(), SharedLogError> {
        self.write_durable(lsn, &AlignedBuffer::zeroed(GROUP_ALIGNMENT))
    }

    #[inline]
    fn write_durable(&self, lsn: Lsn, bytes: &[u8]) -> Result<(), SharedLogError> {
        let (segment, file) = self.file.as_ref().expect("opened before");
        debug_assert_eq!(*segment, self.layout.segment_of(lsn));
        Ok(file.write_durable_at(self.layout.offset_in_segment(lsn), bytes)?)
    }

    /// I7: after a failed write the content of the disk is unknown.
    fn poison_on_error(
        &self,
        state: &LogState,
        write: impl FnOnce(&Self) -> Result<(), SharedLogError>,
    ) -> Result<(), SharedLogError> {
        let Err(error) = write(self) else {
            return Ok(());
        };
        events::error!(%error, "the shared log is poisoned");
        state.poison(&error.to_string());
        state.check()
    }
}
