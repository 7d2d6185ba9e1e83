//! Making data stable that recovery is going to believe, before anything is built on it: names, and the log's tail.
//! (The backup's newest slots and the archive's last chunks are made so by [`crate::checkpoint::BackupFile`] and
//! [`crate::journal::archive`], in the same way.)
//!
//! Its writer may have been killed before the sync. Or the sync failed: then the system still shows data that it could
//! not write, takes it for clean, and does nothing for it at the next sync. So data that nothing later proves durable
//! is *written* again:
//! - of the log, the groups that no later group, backup slot or archived chunk knew durable, and the
//!   block at the log's end: the absence of a group may also be only in the system's cache;
//! - of each stripe's backup, the slot that was written last: a slot is only written when the one
//!   before is durable;
//! - of the archive, the chunks that no later one knew durable.
//!
//! The present bytes are written again. So the stable part stays so while it is written, and all of this may be killed
//! anywhere and repeated. It costs a few small writes: the groups in flight at the end, and a block of each stripe.

use crate::checkpoint::BACKUP_DIRECTORY;
use crate::disk::{Access, AlignedBuffer, Create, Disk, DiskError};
use crate::journal::JOURNAL_DIRECTORY;
use crate::log::group::GROUP_ALIGNMENT;
use crate::log::reader::LogReader;
use crate::log::segment::{LOG_DIRECTORY, segment_file, segment_of_file};
use crate::log::{LogError, LogLayout, LogPosition};
use std::io;
use std::sync::Arc;

/// Makes the names in the database's directories stable: the manifest's, those of segments that were
/// renamed, of the backup's and the archive's files, and of the directories themselves.
pub(crate) fn make_names_stable(disk: &dyn Disk) -> Result<(), DiskError> {
    for directory in ["", LOG_DIRECTORY, BACKUP_DIRECTORY, JOURNAL_DIRECTORY] {
        match disk.sync_directory(directory) {
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Writes the groups from `first` to the log's end again, durably, and the block at the end.
pub(crate) fn write_tail_again(
    disk: &Arc<dyn Disk>,
    layout: LogLayout,
    first: LogPosition,
    end: LogPosition,
) -> Result<(), LogError> {
    let open = |segment| disk.open(&segment_file(segment), Access::Direct, Create::No);
    let mut reader = LogReader::open(disk, layout, first)?.until_group(end.group);
    let mut file = None;
    while let Some((header, _)) = reader.next_group()? {
        let mut rest = reader.last_group_bytes(&header);
        for (segment, offset, part) in layout.parts(header.lsn, rest.len() as u64) {
            let file = match &mut file {
                Some((number, file)) if *number == segment => file,
                other => &mut other.insert((segment, open(segment)?)).1,
            };
            let (now, later) = rest.split_at(part as usize);
            file.write_durable_at(offset, now)?;
            rest = later;
        }
    }
    let segment = layout.segment_of(end.lsn);
    let names = disk.list(LOG_DIRECTORY)?;
    if names
        .iter()
        .any(|name| segment_of_file(name) == Some(segment))
    {
        let (file, offset) = (open(segment)?, layout.offset_in_segment(end.lsn));
        let mut block = AlignedBuffer::zeroed(GROUP_ALIGNMENT);
        file.read_at(offset, &mut block)?;
        file.write_durable_at(offset, &block)?;
    }
    Ok(())
}
