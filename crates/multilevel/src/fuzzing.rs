//! The undo area's decoders for the fuzz targets (`fuzz/`); no part of the public API.

use sardonyx_storage::page::{PAGE_SIZE, PageId};

use crate::counter::Add;
use crate::operation::Recorded;
use crate::records::Restore;
use crate::undo::entry::{Entry, decode_all};
use crate::undo::format::{Header, decode_name, name_place, word};

/// Decodes the bytes as a slot's entries, as the area's head, as names, and as an inverse operation.
///
/// # Panics
/// If the decoded entries are longer than their bytes.
pub fn decode_undo(bytes: &[u8]) {
    if bytes.len() >= 8
        && let Ok((entries, end)) = decode_all(word(bytes, 0), bytes)
    {
        assert!(end <= bytes.len() && entries.len() * 24 <= end);
        for entry in entries {
            if let Entry::Undo { bytes, .. } = entry {
                _ = Add::decode(&bytes);
                _ = Restore::decode(&bytes);
            }
        }
    }
    _ = Add::decode(bytes);
    _ = Restore::decode(bytes);
    let mut page = [0; PAGE_SIZE];
    let length = bytes.len().min(PAGE_SIZE);
    page[..length].copy_from_slice(&bytes[..length]);
    _ = Header::decode(PageId(0), &page);
    for number in 0..32 {
        _ = decode_name(PageId(0), &page, name_place(number).1);
    }
}

/// Slots' entries, encoded.
pub fn undo_entries() -> Vec<Vec<u8>> {
    let entry = |sequence, bytes: Vec<u8>| Entry::Undo {
        sequence,
        operation: 1,
        bytes,
    };
    let mut slot = Vec::new();
    entry(1, vec![7; 20]).encode(5, &mut slot);
    entry(2, Vec::new()).encode(5, &mut slot);
    Entry::<Vec<u8>>::Cancelled { sequence: 2 }.encode(5, &mut slot);
    slot.extend([0; 8]);
    vec![slot]
}
