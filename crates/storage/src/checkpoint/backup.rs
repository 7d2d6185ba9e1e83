//! One stripe's file: slots of a header and a block, read and written whole.

use super::StripeLayout;
use super::slot::{SLOT_HEADER_BYTES, SlotHeader, SlotState};
use crate::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, DiskError, DiskFile};

/// The most bytes by which the file is extended ahead of the writes.
const EXTEND_BYTES: u64 = 64 << 20;

/// An open stripe file.
#[derive(Debug)]
pub(crate) struct BackupFile {
    layout: StripeLayout,
    file: Box<dyn DiskFile>,
    /// Whole slots in the file.
    slots: u64,
}

impl BackupFile {
    /// Opens the file to write to it, creating it if absent.
    ///
    /// A file that was there is stable, since recovery made it so ([`BackupFile::make_stable`]); one
    /// that is made now becomes so.
    pub fn open_for_writing(disk: &dyn Disk, layout: StripeLayout) -> Result<Self, DiskError> {
        disk.create_directory(super::BACKUP_DIRECTORY)?;
        let file = disk.open(&layout.file_name(), Access::Direct, Create::IfAbsent)?;
        file.sync()?;
        disk.sync_directory(super::BACKUP_DIRECTORY)?;
        let slots = file.len()? / layout.slot_bytes();
        Ok(BackupFile {
            layout,
            file,
            slots,
        })
    }

    /// Makes the file's contents stable, for a caller that will rely on them. A version is
    /// overwritten, and log freed, only because a newer version is *durable*. Its name is stable
    /// already.
    ///
    /// The last write may have failed, or its process may have been killed, and a sync need not help
    /// then. So the version that was `written_last` is written again, and the end of the file, so that
    /// its length is.
    pub fn make_stable(&self, written_last: Option<(SlotHeader, u64)>) -> Result<(), DiskError> {
        if self.slots > 0 {
            self.write_again(
                self.offset(self.slots) - DIRECT_ALIGNMENT as u64,
                DIRECT_ALIGNMENT,
            )?;
        }
        if let Some((header, slot)) = written_last {
            let bytes = SLOT_HEADER_BYTES + header.used_bytes as usize;
            self.write_again(self.offset(slot), bytes)?;
        }
        self.file.sync()
    }

    /// Writes the present bytes again: stable ones stay so meanwhile.
    fn write_again(&self, offset: u64, bytes: usize) -> Result<(), DiskError> {
        let mut found = AlignedBuffer::zeroed(bytes);
        let read = self.file.read_at(offset, &mut found)?;
        found.truncate(read / DIRECT_ALIGNMENT * DIRECT_ALIGNMENT);
        self.file.write_at(offset, &found)
    }

    /// Opens the file to read it; `None` if it does not exist.
    pub fn open_for_reading(
        disk: &dyn Disk,
        layout: StripeLayout,
    ) -> Result<Option<Self>, DiskError> {
        let name = layout.file_name();
        let in_directory = name.rsplit('/').next().expect("a name");
        if !disk
            .list(super::BACKUP_DIRECTORY)?
            .iter()
            .any(|found| found == in_directory)
        {
            return Ok(None);
        }
        let file = disk.open(&name, Access::Direct, Create::No)?;
        let slots = file.len()? / layout.slot_bytes();
        Ok(Some(BackupFile {
            layout,
            file,
            slots,
        }))
    }

    /// Whole slots in the file.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// The start of a slot in the file, in bytes.
    pub fn offset(&self, slot: u64) -> u64 {
        slot * self.layout.slot_bytes()
    }

    /// Writes a slot and returns when it is durable. The file is extended before, in large steps if
    /// the disk has room for them, but not beyond `slots_expected` unless this slot is. After an
    /// error that may be tried again ([`DiskError::may_be_tried_again`]) the slot may hold anything.
    pub fn write_slot(
        &mut self,
        slot: u64,
        bytes: &[u8],
        slots_expected: u64,
    ) -> Result<(), DiskError> {
        if slot >= self.slots {
            let step = (EXTEND_BYTES / self.layout.slot_bytes()).max(1);
            let slots = (self.slots + step).min(slots_expected).max(slot + 1);
            // A slot is large, so it is itself the first write there.
            let extended = self.file.allocate(self.offset(slots));
            self.slots = match extended {
                Err(error) if error.is_full() && slots > slot + 1 => {
                    self.file.allocate(self.offset(slot + 1))?;
                    slot + 1
                }
                extended => extended.map(|()| slots)?,
            };
        }
        self.file.write_durable_at(self.offset(slot), bytes)
    }

    /// Judges a slot by its header, read into `buffer`.
    pub fn read_header(
        &self,
        slot: u64,
        buffer: &mut AlignedBuffer,
    ) -> Result<SlotState, DiskError> {
        buffer.clear();
        buffer.extend_zeroed(SLOT_HEADER_BYTES);
        let read = self.file.read_at(self.offset(slot), buffer)?;
        buffer[read..].fill(0);
        Ok(SlotState::of(
            buffer.first_chunk().expect("a header's length"),
            &self.layout,
        ))
    }

    /// Reads the first bytes of a slot's block. A file cut short reads as zeroes, which the checksum then shows.
    pub fn read_data(&self, slot: u64, into: &mut [u8]) -> Result<(), DiskError> {
        if into.is_empty() {
            return Ok(());
        }
        let offset = self.offset(slot) + SLOT_HEADER_BYTES as u64;
        let read = self.file.read_at(offset, into)?;
        into[read..].fill(0);
        Ok(())
    }
}
