//! Replacing all pages of a database by others that mean the same: the storage's part of a compaction.
//!
//! The steps, and the state after a crash behind each:
//! 1. The database, which no other process has open, is checkpointed and its log ended in order: the database as it
//!    was.
//! 2. The new pages are written as a backup, whole and stable, into files whose names have the compaction's number.
//!    The manifest does not know them: the database as it was. The next opening removes them.
//! 3. The manifest is replaced by one that names them, and the group from which on the log changes their pages. That
//!    is the one step at which the database changes, and it is atomic. It also records that the log begins again with
//!    that group, at the start of a segment that may be short.
//! 4. The old backup and the old log are removed. The log's new first segment is made, with the mark of a log that
//!    ended in order. If a crash leaves a part of this undone, the next opening does it ([`finish`]).
//!
//! It uses no transactions that move rows. Those would need a log as large as the database, and a place for every row
//! beside the old one. The page store, backup and slots would have to shrink under readers. The size of a rewrite is
//! that of the remaining rows.
//!
//! Invariants: no earlier group is applied to the new pages, after any later damage. The new blocks name a complete
//! checkpoint before theirs that began at the same place. So a missing one is an error and never redone from older
//! log. Redo ignores the pages' records of such groups ([`Compacted::group`]). Rows of journals are not touched: they
//! are durable in the archive before the log goes (I6).

use super::Engine;
use super::compacted::{finish, remove_other_backups};
use crate::checkpoint::checkpointer::Resume;
use crate::checkpoint::shadow::Shadow;
use crate::checkpoint::slot::CompleteCheckpoint;
use crate::checkpoint::slot_map::SlotMap;
use crate::checkpoint::{BACKUP_DIRECTORY, CheckpointError, Checkpointer, Progress, StripeLayout};
use crate::disk::{Access, Create, Disk, DiskError, DiskLock};
use crate::log::segment::{LOG_DIRECTORY, first_segment_bytes};
use crate::log::{LogError, LogPosition};
use crate::manifest::{Compacted, Manifest, ManifestError};
use crate::store::{PageStore, StoreError};
use std::sync::Arc;

/// The number of the checkpoint that the new blocks have before their own, which they take for complete: it is nowhere
/// on disk.
const CHECKPOINT_BEFORE: u64 = 1;

/// The reason why the pages were not replaced. The database is unchanged. If only superfluous files could not be
/// removed, it is compacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A checkpoint failed: that of the database as it was, or the new backup.
    #[error(transparent)]
    Checkpoint(#[from] Arc<CheckpointError>),
    /// The manifest could not be replaced.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// There is no memory for a copy of the pages.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log is in a store, which has the groups that made the present pages, and hosts that follow them.
    #[error(
        "the log of this database is in a store, and its hosts would not know the new pages: a database whose log is in \
         a store cannot be compacted. Make a new one, and import the tables"
    )]
    InStore,
    /// There were as many compactions as can be counted.
    #[error("the database was compacted {number} times, which is as often as can be counted")]
    TooOften {
        /// The count in the manifest, its largest value.
        number: u32,
    },
}

/// A database whose log has ended in order and is checkpointed, and whose lock is held: its pages can be replaced.
#[derive(Debug)]
pub struct Ended {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    end: LogPosition,
    memory_bytes_max: u64,
    workers: usize,
    log_bytes_first: u64,
    _lock: Option<Box<dyn DiskLock>>,
}

impl Engine {
    /// Checks that the database can be compacted.
    ///
    /// # Errors
    /// [`CompactionError::InStore`].
    #[inline]
    pub fn check_compacts(&self) -> Result<(), CompactionError> {
        match self.options.remote.is_some() {
            true => Err(CompactionError::InStore),
            false => Ok(()),
        }
    }

    /// Bytes of the files of the log and the backup.
    ///
    /// # Errors
    /// The disk's.
    #[inline]
    pub fn file_bytes(&self) -> Result<u64, DiskError> {
        file_bytes(&*self.disk)
    }

    /// Bytes that the files of the log and the backup have, at most, after a compaction to so many bytes of pages.
    #[inline]
    pub fn file_bytes_compacted(&self, pages: u64) -> u64 {
        let manifest = &self.manifest;
        let log = first_segment_bytes(manifest.log_layout(), self.options.log_bytes_first);
        let stripes = u64::from(manifest.stripes);
        let blocks = pages.div_ceil(u64::from(manifest.block_bytes));
        let slots = (0..manifest.stripes).map(|stripe| {
            let blocks = blocks.saturating_sub(stripe.into()).div_ceil(stripes);
            // One is always free.
            blocks.max(1) + 1
        });
        let slot = StripeLayout::of(manifest, 0).slot_bytes();
        log + slots.sum::<u64>() * slot
    }

    /// Ends the log in order, after a checkpoint of everything, and stops. The database stays locked, and the memory of
    /// its copy is given back.
    ///
    /// # Errors
    /// [`CompactionError::InStore`]; the errors of the log or the checkpoint. The database is then closed.
    #[inline]
    pub fn end(mut self) -> Result<Ended, CompactionError> {
        self.check_compacts()?;
        // The mark is in the checkpoint: the archive is to have every group.
        self.pen(()).mark_end()?;
        let end = self.commit.durable();
        self.checkpoint().take(end)?;
        self.record_end();
        let lock = self.lock.take();
        self.stop();
        Ok(Ended {
            disk: self.disk.clone(),
            manifest: self.manifest.clone(),
            end,
            memory_bytes_max: self.options.memory_bytes_max,
            workers: self.options.workers,
            log_bytes_first: self.options.log_bytes_first,
            _lock: lock,
        })
    }
}

impl Ended {
    /// The most bytes that the pages may take.
    #[inline]
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max
    }

    /// Bytes of the files of the log and the backup.
    ///
    /// # Errors
    /// The disk's.
    #[inline]
    pub fn file_bytes(&self) -> Result<u64, DiskError> {
        file_bytes(&*self.disk)
    }

    /// Replaces the pages by these. `progress` gets the numbers of written blocks and of all blocks.
    ///
    /// # Errors
    /// [`CompactionError`].
    pub fn replace(
        &mut self,
        pages: &PageStore,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(), CompactionError> {
        let before = self.manifest.compacted.map_or(0, |last| last.number);
        let number = before
            .checked_add(1)
            .ok_or(CompactionError::TooOften { number: before })?;
        // The remains of a compaction that did not come to its end.
        remove_other_backups(&*self.disk, &self.manifest)?;
        let layout = self.manifest.log_layout();
        let segment = layout.segment_of(self.end.lsn) + 1;
        self.end.lsn = layout.segment_start(segment);
        let manifest = Manifest {
            compacted: Some(Compacted {
                number,
                group: self.end.group,
                segment: Some(segment),
            }),
            log_end: self.end,
            ..self.manifest.clone()
        };
        let block_bytes = u64::from(manifest.block_bytes);
        let all = (pages.bytes().len() as u64).div_ceil(block_bytes);
        let mut done = 0;
        for stripe in 0..manifest.stripes {
            let layout = StripeLayout::of(&manifest, stripe);
            self.write_stripe(layout, pages, || {
                done += 1;
                progress(done.min(all), all);
            })?;
        }
        manifest.write(&*self.disk)?;
        self.manifest = manifest;
        remove_other_backups(&*self.disk, &self.manifest)?;
        Ok(finish(&self.disk, &self.manifest, self.log_bytes_first)?)
    }

    /// Writes a stripe's part of the pages as a complete checkpoint in a new file.
    fn write_stripe(
        &self,
        layout: StripeLayout,
        pages: &PageStore,
        mut wrote: impl FnMut(),
    ) -> Result<(), CompactionError> {
        let mut shadow = Shadow::reserve(layout, self.memory_bytes_max)?;
        shadow.copy_from(pages, self.workers)?;
        let complete = CompleteCheckpoint {
            number: CHECKPOINT_BEFORE,
            blocks: shadow.blocks().max(1),
            redo_start: self.end,
        };
        let resume = Resume {
            ring: SlotMap::new(),
            complete,
            last_number: CHECKPOINT_BEFORE,
            position: self.end,
        };
        let mut checkpointer = Checkpointer::resume(self.disk.clone(), shadow, None, resume);
        checkpointer.begin().map_err(Arc::new)?;
        while let Progress::Wrote { .. } = checkpointer.write_next_block().map_err(Arc::new)? {
            wrote();
        }
        Ok(())
    }
}

#[inline]
fn file_bytes(disk: &dyn Disk) -> Result<u64, DiskError> {
    let mut bytes = 0;
    for directory in [LOG_DIRECTORY, BACKUP_DIRECTORY] {
        for name in disk.list(directory)? {
            let name = format!("{directory}/{name}");
            bytes += disk.open(&name, Access::Buffered, Create::No)?.len()?;
        }
    }
    Ok(bytes)
}
