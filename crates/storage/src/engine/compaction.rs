//! Replacing all pages of a database by others that mean the same: the storage's part of a compaction.
//!
//! The steps, and what a crash leaves after each:
//! 1. The database, which nobody else has open, is checkpointed and its log ended in order: the database as it was.
//! 2. The new pages are written as a backup, whole and stable, into files whose names have the compaction's number.
//!    The manifest does not know them: the database as it was. The next opening removes them.
//! 3. The manifest is replaced by one that names them, and the group from which on the log changes their pages. That
//!    is the one step at which the database changes, and it is atomic.
//! 4. The old backup and the log before its end are removed. What a crash leaves of them means nothing: the next
//!    opening removes the backup's files, and uses the log's again.
//!
//! Why no transactions that move rows: those would need a log as large as the database, a place for every row while the
//! old one is there, and a page store, backup and slots that shrink under readers. A rewrite is as large as what is left.
//!
//! Invariants: no group of before is applied to the new pages, whatever is damaged later: the new blocks say that a
//! complete checkpoint before theirs began at the same place, so a missing one is an error and never redone from older
//! log; and redo passes over the pages' records of such groups ([`Compacted::group`]). A standby that has not got there
//! is refused ([`crate::checkpoint::RemoteError::Compacted`]). Rows of journals are not touched: they are durable in
//! the archive before the log goes (I6).

use super::Engine;
use crate::checkpoint::checkpointer::Resume;
use crate::checkpoint::shadow::Shadow;
use crate::checkpoint::slot::CompleteCheckpoint;
use crate::checkpoint::slot_map::SlotMap;
use crate::checkpoint::{BACKUP_DIRECTORY, stripe_and_compaction_of_file};
use crate::checkpoint::{CheckpointError, Checkpointer, Progress, StripeLayout};
use crate::disk::{Access, Create, Disk, DiskError, DiskLock};
use crate::log::segment::{LOG_DIRECTORY, segment_file, segment_of_file};
use crate::log::{LogError, LogLayout, LogPosition};
use crate::manifest::{Compacted, Manifest, ManifestError};
use crate::store::{PageStore, StoreError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The number of the checkpoint that the new blocks have before their own, which they take for complete: there is none
/// of it on disk.
const CHECKPOINT_BEFORE: u64 = 1;

/// Why the pages were not replaced. The database is as it was, or, if only what it does not need any more could not be
/// removed, compacted.
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
    /// The checkpoints are a standby's.
    #[error(
        "the checkpoints of this database are taken at a standby, which would not know the new pages: compact it \
         without one, and give the standby a copy of the directory"
    )]
    AtStandby,
    /// The log is in a store, which has the groups that made the pages as they are, and hosts that follow them.
    #[error(
        "the log of this database is in a store, and its hosts would not know the new pages: a database whose log is in \
         a store cannot be compacted. Make a new one, and import the tables"
    )]
    InStore,
    /// There were as many compactions as can be counted.
    #[error("the database was compacted {number} times, which is as often as can be counted")]
    TooOften {
        /// How often.
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
    _lock: Option<Box<dyn DiskLock>>,
}

impl Engine {
    /// Ends the log in order, after a checkpoint of everything, and stops. The database stays locked, and the memory of
    /// its copy is given back.
    ///
    /// # Errors
    /// [`CompactionError::AtStandby`], [`CompactionError::InStore`]; what the log or the checkpoint says. The database is then closed.
    pub fn end(mut self) -> Result<Ended, CompactionError> {
        if self.checkpoint().is_at_standby() {
            return Err(CompactionError::AtStandby);
        }
        if self.options.remote.is_some() {
            return Err(CompactionError::InStore);
        }
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
            _lock: lock,
        })
    }
}

impl Ended {
    /// The most bytes that the pages may take.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max
    }

    /// Bytes of the files of the log and the backup.
    ///
    /// # Errors
    /// The disk's.
    pub fn file_bytes(&self) -> Result<u64, DiskError> {
        let mut bytes = 0;
        for directory in [LOG_DIRECTORY, BACKUP_DIRECTORY] {
            for name in self.disk.list(directory)? {
                let name = format!("{directory}/{name}");
                bytes += self.disk.open(&name, Access::Buffered, Create::No)?.len()?;
            }
        }
        Ok(bytes)
    }

    /// Replaces the pages by these. `progress` is told how many blocks of how many were written.
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
        // What a compaction left that did not come to its end.
        remove_other_backups(&*self.disk, &self.manifest)?;
        let manifest = Manifest {
            compacted: Some(Compacted {
                number,
                group: self.end.group,
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
        remove_log_before(&*self.disk, self.manifest.log_layout(), self.end)
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

/// Removes the stripes' files that are of another compaction than the manifest's last.
///
/// # Errors
/// The disk's.
pub(super) fn remove_other_backups(disk: &dyn Disk, manifest: &Manifest) -> Result<(), DiskError> {
    let current = manifest.compacted.map_or(0, |compacted| compacted.number);
    let is_other = |name: &String| {
        stripe_and_compaction_of_file(name).is_some_and(|(_, number)| number != current)
    };
    let mut names = disk.list(BACKUP_DIRECTORY)?;
    names.retain(is_other);
    if names.is_empty() {
        return Ok(());
    }
    for name in names {
        disk.remove(&format!("{BACKUP_DIRECTORY}/{name}"))?;
    }
    disk.sync_directory(BACKUP_DIRECTORY)
}

/// Removes the log's segments but that of its end, of which nobody needs anything: the oldest first, so that what is
/// left leads up to the end without a gap, then the prepared ones, the last first.
fn remove_log_before(
    disk: &dyn Disk,
    layout: LogLayout,
    end: LogPosition,
) -> Result<(), CompactionError> {
    let names = disk.list(LOG_DIRECTORY)?;
    let present: BTreeSet<u64> = names
        .iter()
        .filter_map(|name| segment_of_file(name))
        .collect();
    let last = layout.segment_of(end.lsn);
    // Where the end is a segment's start, the last group is in the one before.
    let first = match layout.offset_in_segment(end.lsn) {
        0 => last.saturating_sub(1),
        _ => last,
    };
    let prepared = present.range(last + 1..).rev();
    for segment in present.range(..first).chain(prepared) {
        disk.remove(&segment_file(*segment))?;
        disk.sync_directory(LOG_DIRECTORY)?;
    }
    Ok(())
}
