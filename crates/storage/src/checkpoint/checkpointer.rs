//! The checkpointer of one stripe: a state machine that applies durable groups to DB' (the update phase)
//! and writes DB' out, block by block (the writeout phase). It has no thread and no clock. Its driver
//! decides the time of each step, and may apply groups between two block writes.
//!
//! Without DB' it follows the groups only, for the journals and to know which are durable. Before each block is written,
//! its driver has it copied from frozen pages (`Checkpointer::copy_block`).
//!
//! Invariants:
//! - **I2**: only groups that are durable may be given to [`Checkpointer::apply`].
//! - **I6**: [`Checkpointer::log_needed_from`] moves only when a checkpoint is complete: all of its blocks are
//!   durable, and so is the journal's archive up to there.
//! - After any failure nothing more is written, and the log is needed from the same place as before. But
//!   an error that left nothing half done ([`CheckpointError::may_be_tried_again`]) may be followed by
//!   the same step again. Such a step writes the same block to the same slot, which holds no newest
//!   version.
//!
//! Source: TPK paper, section 2, "Checkpointing" and "Recovery".

use super::install::{Installed, pass_over};
use super::shadow::{Applied, Shadow};
use super::slot::{CompleteCheckpoint, SLOT_HEADER_BYTES, SlotHeader};
use super::slot_map::SlotMap;
use super::source::{FrozenPages, SnapshotBlocks};
use super::{BackupFile, CheckpointError, StripeLayout};
use crate::disk::{AlignedBuffer, Disk};
use crate::journal::Archiver;
use crate::log::LogPosition;
use crate::log::group::GroupHeader;
use crate::log::pool::DurableGroup;
use crate::page::PAGE_SIZE;
use sardonyx_base::crc32c;
use std::sync::Arc;

/// The result of one step of the writeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// A block is durable.
    Wrote {
        /// The block's number in the stripe.
        block: u64,
        /// Blocks of the checkpoint still to be written.
        remaining: u64,
        /// Bytes written.
        bytes: u64,
    },
    /// The checkpoint is complete; the log is needed from [`Checkpointer::log_needed_from`] only.
    Complete {
        /// The checkpoint's number.
        checkpoint: u64,
        /// The stripe's length in this checkpoint, in blocks.
        blocks: u64,
    },
}

/// Counts of a checkpointer since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckpointStatistics {
    /// Commit groups applied.
    pub groups: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Writes installed in this stripe's DB'; 0 if it has none.
    pub writes: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes written to the backup, headers included.
    pub bytes: u64,
}

/// The place at which a checkpointer continues after recovery.
#[derive(Debug)]
pub(crate) struct Resume {
    /// The ring as recovery found it.
    pub ring: SlotMap,
    /// The last complete checkpoint.
    pub complete: CompleteCheckpoint,
    /// The largest checkpoint number on disk.
    pub last_number: u64,
    /// Up to where the log was applied to the shadow.
    pub position: LogPosition,
}

/// The source of the blocks.
#[derive(Debug)]
enum Source {
    Copy(Shadow),
    Snapshots(SnapshotBlocks),
}

#[derive(Clone, Copy, Debug)]
struct Writeout {
    number: u64,
    redo_start: LogPosition,
    blocks: u64,
    next_block: u64,
}

impl Writeout {
    /// True if the next block is the last one. It is written whole: by its end the database's length is known.
    fn is_at_last(&self) -> bool {
        self.next_block + 1 == self.blocks
    }
}

/// Makes the checkpoints of one stripe.
#[derive(Debug)]
pub struct Checkpointer {
    disk: Arc<dyn Disk>,
    layout: StripeLayout,
    source: Source,
    ring: SlotMap,
    /// Opened at the first write: recovery alone changes nothing.
    backup: Option<BackupFile>,
    archiver: Option<Archiver>,
    position: LogPosition,
    complete: CompleteCheckpoint,
    last_number: u64,
    writeout: Option<Writeout>,
    buffer: AlignedBuffer,
    poisoned: Option<String>,
    statistics: CheckpointStatistics,
}

impl Checkpointer {
    /// The checkpointer of a stripe of a database that has no backup yet; groups come from the
    /// log's start. `archiver`: for one stripe of the database (the first), if journals are kept.
    pub fn new(disk: Arc<dyn Disk>, shadow: Shadow, archiver: Option<Archiver>) -> Self {
        let resume = Resume {
            ring: SlotMap::new(),
            complete: CompleteCheckpoint::NONE,
            last_number: 0,
            position: LogPosition::START,
        };
        Self::resume(disk, shadow, archiver, resume)
    }

    /// A checkpointer that continues from the state that recovery found.
    pub(crate) fn resume(
        disk: Arc<dyn Disk>,
        shadow: Shadow,
        archiver: Option<Archiver>,
        resume: Resume,
    ) -> Self {
        Self::with(
            disk,
            shadow.layout(),
            Source::Copy(shadow),
            archiver,
            resume,
        )
    }

    /// The same without DB': the blocks are read from snapshots of the pages, of which there are so many now.
    pub(crate) fn resume_without_copy(
        disk: Arc<dyn Disk>,
        layout: StripeLayout,
        pages: u64,
        archiver: Option<Archiver>,
        resume: Resume,
    ) -> Self {
        let source = Source::Snapshots(SnapshotBlocks::new(layout, pages));
        Self::with(disk, layout, source, archiver, resume)
    }

    fn with(
        disk: Arc<dyn Disk>,
        layout: StripeLayout,
        source: Source,
        archiver: Option<Archiver>,
        resume: Resume,
    ) -> Self {
        let slot_bytes = usize::try_from(layout.slot_bytes()).expect("a slot fits into memory");
        Checkpointer {
            disk,
            layout,
            source,
            ring: resume.ring,
            backup: None,
            archiver,
            position: resume.position,
            complete: resume.complete,
            last_number: resume.last_number,
            writeout: None,
            buffer: AlignedBuffer::with_capacity(slot_bytes),
            poisoned: None,
            statistics: CheckpointStatistics::default(),
        }
    }

    /// Applies the next **durable** group to DB', and hands its journal rows to the archive, which
    /// [`Checkpointer::write_archive`] writes.
    ///
    /// # Errors
    /// [`CheckpointError::Gap`] unless it is the group at [`Checkpointer::position`]; the errors of growing DB'. All
    /// of them poison.
    pub fn apply(&mut self, header: &GroupHeader, payload: &[u8]) -> Result<(), CheckpointError> {
        self.check_poison()?;
        let result = self.apply_unchecked(header, Applied::Alone(payload));
        self.poison_on_error(result)
    }

    /// As [`Checkpointer::apply`], of a group that the checkpointers of all stripes get: each reads only its own
    /// records.
    ///
    /// # Errors
    /// As [`Checkpointer::apply`].
    pub fn apply_shared(&mut self, group: &DurableGroup) -> Result<(), CheckpointError> {
        self.check_poison()?;
        let result = self.apply_unchecked(group.header(), Applied::Shared(group));
        self.poison_on_error(result)
    }

    fn apply_unchecked(
        &mut self,
        header: &GroupHeader,
        applied: Applied<'_>,
    ) -> Result<(), CheckpointError> {
        if header.number != self.position.group {
            let (expected, found) = (self.position.group, header.number);
            return Err(CheckpointError::Gap { expected, found });
        }
        let installed = match (&mut self.source, &mut self.archiver) {
            (Source::Copy(shadow), None) => shadow.apply(applied, |_| {}),
            (Source::Copy(shadow), Some(archiver)) => {
                let mut group = archiver.group(header);
                shadow.apply(applied, |record| group.push(record))
            }
            (Source::Snapshots(_), None) => Ok(Installed {
                transactions: u64::from(header.transactions),
                ..Installed::default()
            }),
            (Source::Snapshots(_), Some(archiver)) => {
                let mut group = archiver.group(header);
                pass_over(applied.payload(), |record| group.push(record))
            }
        };
        let installed =
            installed.map_err(|error| CheckpointError::install(header.number, error))?;
        if let Some(archiver) = &mut self.archiver {
            archiver.end_group(header);
        }
        self.position = header.next_position();
        self.statistics.groups += 1;
        self.statistics.transactions += installed.transactions;
        self.statistics.writes += installed.writes;
        Ok(())
    }

    /// Writes the journal rows that make a whole chunk of the archive; to be called after each group,
    /// or else they stay in memory until the checkpoint is complete.
    ///
    /// # Errors
    /// The errors of writing the archive. All poison but those that may be tried again.
    pub fn write_archive(&mut self) -> Result<(), CheckpointError> {
        self.check_poison()?;
        let result = match &mut self.archiver {
            Some(archiver) => archiver.write_waiting().map_err(CheckpointError::from),
            None => Ok(()),
        };
        self.poison_on_error(result)
    }

    /// Begins a checkpoint: its writeout starts with the present DB'. Writes nothing yet. Without DB', the blocks are
    /// those of the pages that were frozen last (`Checkpointer::see`).
    pub fn begin(&mut self) -> Result<(), CheckpointError> {
        self.check_poison()?;
        if let Some(writeout) = &self.writeout {
            return Err(CheckpointError::AlreadyWriting {
                number: writeout.number,
            });
        }
        self.last_number += 1;
        self.writeout = Some(Writeout {
            number: self.last_number,
            redo_start: self.position,
            // An empty stripe writes one empty block, so that its checkpoint can be seen on disk
            // and frees the log.
            blocks: self.blocks().max(1),
            next_block: 0,
        });
        Ok(())
    }

    /// Writes the next block of the checkpoint that was begun and returns when it is durable; after
    /// the last one, makes the journal's archive durable and completes the checkpoint. Groups may be
    /// applied between the calls.
    ///
    /// # Errors
    /// The disk's errors. All poison but those that may be tried again.
    pub fn write_next_block(&mut self) -> Result<Progress, CheckpointError> {
        self.check_poison()?;
        let Some(writeout) = self.writeout else {
            return Err(CheckpointError::NotWriting);
        };
        let result = if writeout.next_block < writeout.blocks {
            self.write_block(writeout)
        } else {
            self.finish(writeout)
        };
        self.poison_on_error(result)
    }

    fn write_block(&mut self, writeout: Writeout) -> Result<Progress, CheckpointError> {
        if self.backup.is_none() {
            self.backup = Some(BackupFile::open_for_writing(&*self.disk, self.layout)?);
        }
        let backup = self.backup.as_mut().expect("opened above");
        let block = writeout.next_block;
        let position = match &self.source {
            Source::Copy(shadow) => {
                self.buffer.clear();
                self.buffer.extend_zeroed(SLOT_HEADER_BYTES);
                self.buffer.extend_from_slice(match writeout.is_at_last() {
                    true => shadow.block(block),
                    false => shadow.used_part(block),
                });
                self.position
            }
            Source::Snapshots(blocks) => {
                // I2.
                let ready = blocks.ready().filter(|at| at.group <= self.position.group);
                ready.ok_or(CheckpointError::NotReady)?
            }
        };
        let data = &self.buffer[SLOT_HEADER_BYTES..];
        let header = SlotHeader {
            identity: self.layout.identity,
            stripe: self.layout.stripe,
            used_bytes: data.len() as u32,
            block,
            checkpoint: writeout.number,
            position,
            redo_start: writeout.redo_start,
            blocks: writeout.blocks,
            complete: self.complete,
            data_checksum: crc32c::crc32c(data),
        };
        header.encode(self.buffer.first_chunk_mut().expect("room for a header"));
        let slot = self.ring.begin_write(block);
        if let Err(error) = backup.write_slot(slot, &self.buffer, writeout.blocks + 1) {
            self.ring.abandon_write();
            return Err(error.into());
        }
        // Only now may the slot of the older version be used.
        self.ring.finish_write();
        if let Source::Snapshots(blocks) = &mut self.source {
            blocks.take_ready();
        }
        let bytes = self.buffer.len() as u64;
        self.statistics.blocks += 1;
        self.statistics.bytes += bytes;
        self.writeout = Some(Writeout {
            next_block: block + 1,
            ..writeout
        });
        Ok(Progress::Wrote {
            block,
            remaining: writeout.blocks - block - 1,
            bytes,
        })
    }

    fn finish(&mut self, writeout: Writeout) -> Result<Progress, CheckpointError> {
        if let Some(archiver) = &mut self.archiver {
            archiver.sync()?;
        }
        let Writeout {
            number,
            blocks,
            redo_start,
            ..
        } = writeout;
        self.complete = CompleteCheckpoint {
            number,
            blocks,
            redo_start,
        };
        self.writeout = None;
        self.statistics.checkpoints += 1;
        Ok(Progress::Complete {
            checkpoint: number,
            blocks,
        })
    }

    /// This checkpointer for another stage, if it has everything before `end` and nothing stopped it; one of an empty stripe
    /// is left in its place. A checkpoint that was begun is given up: its blocks are whole versions, as after a crash. `None`
    /// also without DB', which is what an opening takes over.
    pub(super) fn take(&mut self, end: LogPosition) -> Option<Checkpointer> {
        if self.poisoned.is_some() || self.position != end || self.shadow().is_none() {
            return None;
        }
        let empty = Shadow::reserve(self.layout, PAGE_SIZE as u64).ok()?;
        let mut taken = std::mem::replace(self, Self::new(self.disk.clone(), empty, None));
        taken.writeout = None;
        taken.statistics = CheckpointStatistics::default();
        Some(taken)
    }

    /// True if a checkpoint was begun and is not complete.
    pub fn is_writing(&self) -> bool {
        self.writeout.is_some()
    }

    /// The number of written blocks of the checkpoint being written, and of all its blocks.
    pub fn written(&self) -> (u64, u64) {
        self.writeout
            .map_or((0, 0), |writeout| (writeout.next_block, writeout.blocks))
    }

    /// The place from which this stripe needs the log (I6): the start of the last *complete* checkpoint, and not
    /// beyond the durable end of the journal's archive.
    pub fn log_needed_from(&self) -> LogPosition {
        let complete = self.complete.redo_start;
        match &self.archiver {
            Some(archiver) if archiver.durable_end().group < complete.group => {
                archiver.durable_end()
            }
            _ => complete,
        }
    }

    /// Up to where the log is applied to DB'.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// The newest one from which recovery can start.
    pub fn last_complete(&self) -> CompleteCheckpoint {
        self.complete
    }

    /// The stripe's layout.
    pub fn layout(&self) -> StripeLayout {
        self.layout
    }

    /// DB' of this stripe; `None` if its blocks are read from snapshots.
    pub fn shadow(&self) -> Option<&Shadow> {
        match &self.source {
            Source::Copy(shadow) => Some(shadow),
            Source::Snapshots(_) => None,
        }
    }

    /// Gives up DB': from here on blocks are read from snapshots.
    pub(crate) fn drop_copy(&mut self, pages: u64) {
        self.source = Source::Snapshots(SnapshotBlocks::new(self.layout, pages));
    }

    /// The number of the stripe's bytes: of DB', or as of the last snapshot.
    pub fn stored_bytes(&self) -> u64 {
        match &self.source {
            Source::Copy(shadow) => shadow.stored_bytes(),
            Source::Snapshots(blocks) => blocks.stored_bytes(),
        }
    }

    fn blocks(&self) -> u64 {
        match &self.source {
            Source::Copy(shadow) => shadow.blocks(),
            Source::Snapshots(blocks) => blocks.blocks(),
        }
    }

    /// Without DB': the database has so many pages now.
    pub(super) fn see(&mut self, pages: u64) {
        if let Source::Snapshots(blocks) = &mut self.source {
            blocks.see(pages);
        }
    }

    /// True if the next block must be copied before it can be written.
    pub(super) fn needs_copy(&self) -> bool {
        let Source::Snapshots(blocks) = &self.source else {
            return false;
        };
        let more = |writeout: Writeout| writeout.next_block < writeout.blocks;
        self.writeout.is_some_and(more) && blocks.ready().is_none()
    }

    /// True if the next block is to be copied while the pen is held.
    pub(super) fn copies_under_pen(&self) -> bool {
        matches!(&self.source, Source::Snapshots(blocks) if blocks.copies_under_pen())
    }

    /// The next block is to be copied while the pen is held.
    pub(super) fn copy_under_pen(&mut self) {
        if let Source::Snapshots(blocks) = &mut self.source {
            blocks.copy_under_pen();
        }
    }

    /// True if the next block was copied, and is to be written as soon as that may be.
    pub(super) fn has_copied(&self) -> bool {
        matches!(&self.source, Source::Snapshots(blocks) if blocks.ready().is_some())
    }

    /// True if the next block was copied, and the group behind it was not applied yet.
    pub(super) fn waits_for_group(&self) -> bool {
        let Source::Snapshots(blocks) = &self.source else {
            return false;
        };
        let is_later = |ready: LogPosition| ready.group > self.position.group;
        self.writeout.is_some() && blocks.ready().is_some_and(is_later)
    }

    /// Copies the next block from frozen pages. Returns false if their snapshot was ended.
    pub(super) fn copy_block(&mut self, frozen: &FrozenPages) -> bool {
        self.copy_by(|blocks, block, last, buffer| blocks.read(block, last, frozen, buffer))
    }

    /// Copies the next block from the live pages, as they are at this place of the log, while the pen is held.
    pub(super) fn copy_live(&mut self, pages: &[u8], position: LogPosition) -> bool {
        self.copy_by(|blocks, block, last, buffer| {
            blocks.read_live(block, last, (pages, position), buffer);
            true
        })
    }

    fn copy_by(
        &mut self,
        read: impl FnOnce(&mut SnapshotBlocks, u64, bool, &mut AlignedBuffer) -> bool,
    ) -> bool {
        let (Source::Snapshots(blocks), Some(writeout)) = (&mut self.source, self.writeout) else {
            return false;
        };
        self.buffer.clear();
        self.buffer.extend_zeroed(SLOT_HEADER_BYTES);
        let (block, last) = (writeout.next_block, writeout.is_at_last());
        read(blocks, block, last, &mut self.buffer)
    }

    /// The counts since this checkpointer was made.
    pub fn statistics(&self) -> CheckpointStatistics {
        self.statistics
    }

    /// Makes the archive's chunks and files small, so that tests see many of them.
    #[cfg(test)]
    pub(crate) fn limit_archive(&mut self, chunk_bytes: usize, file_bytes: u64) {
        let archiver = self.archiver.take();
        self.archiver = archiver.map(|archiver| archiver.with_limits(chunk_bytes, file_bytes));
    }

    fn check_poison(&self) -> Result<(), CheckpointError> {
        match &self.poisoned {
            None => Ok(()),
            Some(cause) => Err(CheckpointError::Poisoned {
                cause: cause.clone(),
            }),
        }
    }

    /// Poisons it: it panicked, and its progress is unknown. Returns the error to report.
    pub fn panicked(&mut self, message: &str) -> CheckpointError {
        let cause = format!("it panicked: {message}");
        self.poisoned = Some(cause.clone());
        CheckpointError::Poisoned { cause }
    }

    fn poison_on_error<T>(
        &mut self,
        result: Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        if let Err(error) = &result
            && !error.may_be_tried_again()
        {
            self.poisoned = Some(error.to_string());
        }
        result
    }
}
