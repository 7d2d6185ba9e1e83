//! The bytes of the undo area's pages; `docs/format.md` has the table.
//!
//! Page 0 of the area is its header, pages 1 to 8 hold the names of operations, every other is a page
//! of a slot. That has 8 bytes for its kind, 8 bytes with the next page's place in the area (0:
//! none), and the rest for entries.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::UndoDamage;
use crate::operation::NAME_BYTES_MAX;
use sardonyx_storage::page::{PAGE_SIZE, PageId};

/// The beginning of the header.
pub(crate) const MAGIC: [u8; 8] = *b"SdxUndo1";

/// The most operations that can be registered in one database.
pub(crate) const OPERATIONS_MAX: usize = 256;

/// Bytes of a name's place.
pub(crate) const NAME_PLACE_BYTES: usize = 128;

/// More than would be used in a century.
const SEQUENCE_MAX: u64 = u64::MAX / 2;

/// The place in the area of the first page of a slot.
pub(crate) const FIRST_SLOT_PAGE: u64 = 1 + (OPERATIONS_MAX * NAME_PLACE_BYTES / PAGE_SIZE) as u64;

/// Bytes of a slot's page before its entries.
pub(crate) const SLOT_HEAD_BYTES: usize = 16;

/// Bytes for entries in a slot's page.
pub(crate) const SLOT_ROOM_BYTES: usize = PAGE_SIZE - SLOT_HEAD_BYTES;

/// The first word of a page that continues a slot.
pub(crate) const CONTINUATION: u64 = u64::MAX;

const _: () = assert!(NAME_BYTES_MAX < NAME_PLACE_BYTES && FIRST_SLOT_PAGE == 9);

/// The header's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Header {
    /// Sequence numbers below this one may have been used.
    pub sequence_end: u64,
    /// Names of operations.
    pub names: u32,
}

pub(crate) const HEADER_BYTES: usize = 24;

impl Header {
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.sequence_end.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.names.to_le_bytes());
        bytes
    }

    pub fn decode(page: PageId, bytes: &[u8; PAGE_SIZE]) -> Result<Header, UndoDamage> {
        let damage = |offset, reason: &str| UndoDamage {
            page: page.0,
            offset,
            reason: reason.into(),
        };
        if bytes[..8] != MAGIC {
            return Err(damage(0, "the area's magic is not there"));
        }
        let names = u32::from_le_bytes(bytes[16..20].try_into().expect("4 bytes"));
        if names as usize > OPERATIONS_MAX {
            return Err(damage(16, "more names than there is room for"));
        }
        let sequence_end = word(bytes, 8);
        if sequence_end > SEQUENCE_MAX {
            return Err(damage(8, "more sequence numbers than any database uses"));
        }
        Ok(Header {
            sequence_end,
            names,
        })
    }
}

/// A little-endian word of 8 bytes.
#[expect(clippy::indexing_slicing, reason = "callers have looked at the length")]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// The place of an operation's name: the page's place in the area, and the offset.
pub(crate) fn name_place(number: usize) -> (u64, usize) {
    let at = number * NAME_PLACE_BYTES;
    (1 + (at / PAGE_SIZE) as u64, at % PAGE_SIZE)
}

/// A name with its length before it.
pub(crate) fn encode_name(name: &str) -> Vec<u8> {
    let mut bytes = vec![name.len() as u8];
    bytes.extend(name.as_bytes());
    bytes
}

/// Reads a name.
pub(crate) fn decode_name(
    page: PageId,
    bytes: &[u8; PAGE_SIZE],
    offset: usize,
) -> Result<String, UndoDamage> {
    let damage = |reason: &str| UndoDamage {
        page: page.0,
        offset,
        reason: reason.into(),
    };
    let Some((&length, rest)) = bytes.get(offset..).and_then(<[u8]>::split_first) else {
        return Err(damage("the name of an operation is behind its page"));
    };
    let length = usize::from(length);
    if length == 0 || length > NAME_BYTES_MAX {
        return Err(damage("the name of an operation has an impossible length"));
    }
    let name = std::str::from_utf8(rest.get(..length).unwrap_or_default());
    Ok(name
        .map_err(|_| damage("the name of an operation is not UTF-8"))?
        .to_string())
}
