//! Reading a database's files without opening it: the backup's slots and the archive's chunks,
//! unchanged, damaged ones included. For people and tools; nothing is changed.

use crate::checkpoint::slot::{SLOT_HEADER_BYTES, SlotState};
use crate::checkpoint::{BackupFile, StripeLayout};
use crate::disk::{AlignedBuffer, Disk, DiskError};
use crate::journal::JournalError;
use crate::journal::archive::{ArchiveFile, ChunkState, files};

/// A slot of a stripe's file.
#[derive(Clone, Debug)]
pub struct SlotListing {
    /// The slot's number.
    pub slot: u64,
    /// Its start in the file, in bytes.
    pub offset: u64,
    /// Its header's state.
    pub state: SlotState,
    /// True if the block's checksum is right; `None` if it was not checked.
    pub data_is_valid: Option<bool>,
}

/// Lists a stripe's slots. `check_data`: read the blocks, too, and check them.
///
/// # Errors
/// The disk's. A stripe without a file has no slots.
#[inline]
pub fn slots(
    disk: &dyn Disk,
    layout: StripeLayout,
    check_data: bool,
) -> Result<Vec<SlotListing>, DiskError> {
    let Some(file) = BackupFile::open_for_reading(disk, layout)? else {
        return Ok(Vec::new());
    };
    let mut header = AlignedBuffer::with_capacity(SLOT_HEADER_BYTES);
    let mut data = AlignedBuffer::zeroed(layout.block_bytes as usize);
    let mut listings = Vec::new();
    for slot in 0..file.slots() {
        let state = file.read_header(slot, &mut header)?;
        let data_is_valid = match state {
            SlotState::Valid(header) if check_data => {
                let used = &mut data[..header.used_bytes as usize];
                file.read_data(slot, used)?;
                Some(header.data_is_valid(used))
            }
            _ => None,
        };
        listings.push(SlotListing {
            slot,
            offset: file.offset(slot),
            state,
            data_is_valid,
        });
    }
    Ok(listings)
}

/// A chunk of the journal's archive, or the bytes in its place.
#[derive(Clone, Debug)]
pub struct ChunkListing {
    /// The file's name.
    pub file: String,
    /// The file's number.
    pub file_number: u64,
    /// The start of the chunk, in bytes.
    pub offset: u64,
    /// The chunk, or the reason why it is none; a file's list ends with the first that is not [`ChunkState::Valid`].
    pub state: ChunkState,
}

/// Lists the archive's chunks file by file, each file up to its end or the first place without a
/// whole chunk.
#[inline]
pub fn chunks(disk: &dyn Disk, identity: u64) -> Result<Vec<ChunkListing>, JournalError> {
    let mut buffer = AlignedBuffer::with_capacity(SLOT_HEADER_BYTES);
    let mut listings = Vec::new();
    for file_number in files(disk)? {
        let file = ArchiveFile::open(disk, identity, file_number)?;
        let mut offset = 0;
        loop {
            let state = file.chunk_at(offset, &mut buffer)?;
            let file = file.display_name();
            listings.push(ChunkListing {
                file,
                file_number,
                offset,
                state,
            });
            let ChunkState::Valid(header) = state else {
                break;
            };
            offset += header.bytes_on_disk() as u64;
        }
    }
    Ok(listings)
}
