//! Making a directory of a database of pages as they were at the end of one group, and of that group: the seed of a
//! standby whose primary's log no longer reaches back to the beginning.
//!
//! The log begins with the group, at its own place, so that what follows is appended behind it and its history is
//! known; the backup is a checkpoint of the pages, and the archive begins there. The manifest is written last: until then
//! the directory has no database, and is marked as one on the way ([`SEEDING_FILE`]), so that what is left of an attempt
//! is not taken for a database that has lost its manifest, and is cleared by the next.
//!
//! Invariants: I2 (the group is in the log before a block of the backup has it), I6.

use super::{AppendError, OpenError, StorageOptions};
use crate::checkpoint::checkpointer::Resume;
use crate::checkpoint::shadow::Shadow;
use crate::checkpoint::slot::CompleteCheckpoint;
use crate::checkpoint::slot_map::SlotMap;
use crate::checkpoint::{CheckpointError, Checkpointer, Progress, StripeLayout};
use crate::disk::{Access, AlignedBuffer, Create, Disk};
use crate::journal::Archiver;
use crate::journal::archive::ArchiveEnd;
use crate::log::LogError;
use crate::log::seal::SealedGroup;
use crate::log::segment::Segments;
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::places;
use crate::recovery::RecoveryError;
use crate::remote_log::known::STORE_FILE;
use crate::store::PageStore;
use std::sync::Arc;

/// The file that says that a directory is being made of a seed, or of a base of a store.
pub const SEEDING_FILE: &str = "SEEDING";

/// Makes a database of this manifest of pages as they are after this group, as it stands on the primary's disk. The
/// caller holds the lock; there is no manifest.
///
/// # Errors
/// [`OpenError::ManifestLost`] if there are data that are not an attempt's; [`AppendError::NoGroup`], or
/// [`AppendError::Chain`] if the group is none of this database's; the disk's.
pub fn seed_database(
    home: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: &StorageOptions,
    pages: &PageStore,
    last_group: &[u8],
) -> Result<(), OpenError> {
    let group = checked(manifest, last_group)?;
    clear_unfinished_seed(home)?;
    places::refuse_data(home, &**home)?;
    mark(&**home)?;
    let (manifest, disk) = places::make(home, manifest, &options.directories)?;
    begin_log(&disk, &manifest, options, &group)?;
    back_up(&disk, &manifest, options, pages, &group)?;
    let header = group.header();
    let manifest = Manifest {
        incarnation: header.incarnation,
        log_end: header.next_position(),
        ..manifest
    };
    manifest.write(&*disk)?;
    forget_mark(&**home)
}

/// Removes what an attempt left that was ended before it was whole. Nothing, if there was none.
///
/// # Errors
/// The disk's.
pub fn clear_unfinished_seed(home: &Arc<dyn Disk>) -> Result<(), OpenError> {
    match is_marked(&**home)? {
        true => {
            places::clear_parts(home)?;
            forget_store(home)
        }
        false => Ok(()),
    }
}

/// Removes what is known of the store, if there is anything: durably, since no manifest that is made afterwards may be
/// found beside it.
pub(super) fn forget_store(home: &Arc<dyn Disk>) -> Result<(), OpenError> {
    if home.list("")?.iter().any(|left| left == STORE_FILE) {
        home.remove(STORE_FILE)?;
        home.sync_directory("")?;
    }
    Ok(())
}

/// Removes the manifest; the next opening makes the directory from the store, after a crash at any step, too.
pub(super) fn begin_anew(home: &dyn Disk) -> Result<(), OpenError> {
    mark(home)?;
    home.remove(MANIFEST_FILE)?;
    Ok(home.sync_directory("")?)
}

/// Says, durably, that what is in the directory is not a database: a whole one is somewhere else.
pub(super) fn mark(home: &dyn Disk) -> Result<(), OpenError> {
    home.open(SEEDING_FILE, Access::Buffered, Create::IfAbsent)?
        .sync()?;
    Ok(home.sync_directory("")?)
}

/// The directory has a database now: the mark is of no use any more.
pub(super) fn forget_mark(home: &dyn Disk) -> Result<(), OpenError> {
    if is_marked(home)? {
        home.remove(SEEDING_FILE)?;
        home.sync_directory("")?;
    }
    Ok(())
}

fn is_marked(home: &dyn Disk) -> Result<bool, OpenError> {
    Ok(home.list("")?.iter().any(|name| name == SEEDING_FILE))
}

/// The group of these bytes, if it is one of this database's.
fn checked(manifest: &Manifest, bytes: &[u8]) -> Result<SealedGroup, OpenError> {
    let mut buffer = AlignedBuffer::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    let group = SealedGroup::from_bytes(buffer).map_err(|_| AppendError::NoGroup {
        bytes: bytes.len(),
        expected: 1,
    })?;
    let header = *group.header();
    let follows = group.check_follows(manifest.log_layout(), header.position_before());
    follows.map_err(|reason| AppendError::Chain {
        number: header.number,
        expected: header.number,
        reason,
    })?;
    Ok(group)
}

/// A log that has this group alone.
fn begin_log(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: &StorageOptions,
    group: &SealedGroup,
) -> Result<(), OpenError> {
    let (layout, header) = (manifest.log_layout(), group.header());
    let most = options.segments_max(layout);
    let segments = Segments::open(disk.clone(), layout, header.lsn, most)?;
    segments.prepare_for_group(header.lsn, group.bytes().len() as u64)?;
    let file = segments.file(layout.segment_of(header.lsn))?;
    Ok(file.write_durable_at(layout.offset_in_segment(header.lsn), group.bytes())?)
}

/// A checkpoint of the pages, and an archive that begins with the group.
fn back_up(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: &StorageOptions,
    pages: &PageStore,
    group: &SealedGroup,
) -> Result<(), OpenError> {
    let before = group.header().position_before();
    let end = ArchiveEnd::empty_at(before);
    let mut archiver = Archiver::new(disk.clone(), manifest.identity, manifest.journal, end);
    for stripe in 0..manifest.stripes {
        let layout = StripeLayout::of(manifest, stripe);
        let shadow = Shadow::reserve(layout, options.memory_bytes_max);
        let mut shadow = shadow.map_err(RecoveryError::from)?;
        let copied = shadow.copy_from(pages, options.workers);
        copied.map_err(RecoveryError::from)?;
        let resume = Resume {
            ring: SlotMap::new(),
            complete: CompleteCheckpoint::NONE,
            last_number: 0,
            position: before,
        };
        let mut checkpointer = Checkpointer::resume(disk.clone(), shadow, archiver.take(), resume);
        // The pages have it already, and the archive its rows from here.
        checkpointer
            .apply(group.header(), group.payload())
            .map_err(failed)?;
        checkpointer.begin().map_err(failed)?;
        while let Progress::Wrote { .. } = checkpointer.write_next_block().map_err(failed)? {}
    }
    Ok(())
}

fn failed(error: CheckpointError) -> OpenError {
    LogError::Poisoned {
        cause: error.to_string().into(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::base::create_empty;
    use super::*;
    use crate::disk::{Faults, SimulatedDisk};
    use crate::log::segment::LOG_DIRECTORY;
    use crate::remote_log::known::Known;

    #[test]
    fn a_crash_while_a_directory_is_made_anew_leaves_no_manifest_beside_what_was_known_of_the_store()
     {
        let options = StorageOptions {
            segment_bytes: 64 << 10,
            ..StorageOptions::default()
        };
        let manifest = Manifest {
            segment_bytes: options.segment_bytes,
            ..Manifest::new(7)
        };
        let mut made = 0;
        for seed in 0..40 {
            for step in 1.. {
                let before = SimulatedDisk::new(seed, Faults::default());
                // It has had a log: to make that folder would sync the directory.
                before.create_directory(LOG_DIRECTORY).unwrap();
                Known::start(7).write(&before).unwrap();
                mark(&before).unwrap();
                let crashing = before.restart(Faults {
                    crash_at_step: Some(step),
                    ..Faults::default()
                });
                let home: Arc<dyn Disk> = Arc::new(crashing.clone());
                let outcome = create_empty(&home, &options, &manifest);
                let crashed = crashing.has_crashed();
                assert!(crashed || outcome.is_ok(), "{outcome:?}");
                let names = crashing.restart(Faults::default()).list("").unwrap();
                let has = |wanted| names.iter().any(|name| name == wanted);
                made += u64::from(has(MANIFEST_FILE) && crashed);
                let is_whole = !has(MANIFEST_FILE) || !has(STORE_FILE);
                assert!(is_whole, "seed {seed}, step {step}: {names:?}");
                if !crashed {
                    break;
                }
            }
        }
        assert!(made > 10, "{made}");
    }
}
