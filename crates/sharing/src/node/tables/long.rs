//! Values in a tree: short ones in their leaf, long ones in a chain of pages of their own.
//!
//! The entry in the leaf begins with a byte: 0, and the value follows; 1, and the value's length and the first page
//! of its chain do (4 bytes each). A page of a chain:
//!
//! | bytes | |
//! | --- | --- |
//! | 0..4 | `ixl`, version: 1 |
//! | 4..8 | the next page; 0: none |
//! | 8..12 | bytes of the value here |
//! | 12..16 | zero |
//! | 16..4096 | these bytes |

use super::super::NodeError;
use super::space;
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::tree::{VALUE_BYTES_MAX, damaged};

const MAGIC: [u8; 4] = *b"ixl\x01";
const HEADER: usize = 16;
/// Bytes of a value in a page.
pub(super) const ROOM: usize = PAGE_SIZE - HEADER;
/// The longest value in a leaf.
pub(super) const IN_LEAF_MAX: usize = VALUE_BYTES_MAX - 1;

const IN_LEAF: u8 = 0;
const IN_CHAIN: u8 = 1;

/// The contents of an entry in a leaf.
pub(super) enum Place<'a> {
    InLeaf(&'a [u8]),
    InChain { length: usize, first: u32 },
}

/// Reads an entry in a leaf.
pub(super) fn place_of(leaf: PageId, entry: &[u8]) -> Result<Place<'_>, NodeError> {
    match entry.split_first() {
        Some((&IN_LEAF, value)) => Ok(Place::InLeaf(value)),
        Some((&IN_CHAIN, &[a, b, c, d, e, f, g, h])) => Ok(Place::InChain {
            length: u32::from_le_bytes([a, b, c, d]) as usize,
            first: u32::from_le_bytes([e, f, g, h]),
        }),
        _ => Err(damaged(
            leaf,
            4,
            "a value that is neither in its leaf nor in a chain",
        )
        .into()),
    }
}

/// Calls `each` with a chain's pages, and how much of the value is in each.
pub(super) fn walk(
    view: &View<'_>,
    (length, first): (usize, u32),
    mut each: impl FnMut(u32, &[u8]) -> Result<(), NodeError>,
) -> Result<(), NodeError> {
    let (mut left, mut page) = (length, first);
    while left > 0 {
        let id = PageId(page.into());
        if !(space::FIRST_PAGE..view.pages()).contains(&id.0) {
            return Err(damaged(id, 0, "no page that a value could have").into());
        }
        let bytes = view.page(id.0, LockMode::Read)?;
        if bytes[..4] != MAGIC {
            return Err(damaged(id, 0, "not a page of a long value").into());
        }
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        if word(12) != 0 {
            return Err(damaged(id, 12, "something where nothing is").into());
        }
        let here = word(8) as usize;
        if here != left.min(ROOM) {
            return Err(damaged(id, 8, "another part of a long value").into());
        }
        each(page, &bytes[HEADER..HEADER + here])?;
        left -= here;
        page = word(4);
    }
    Ok(())
}

/// A value, from its entry in a leaf.
pub(super) fn read(view: &View<'_>, leaf: PageId, entry: &[u8]) -> Result<Vec<u8>, NodeError> {
    match place_of(leaf, entry)? {
        Place::InLeaf(value) => Ok(value.to_vec()),
        Place::InChain { length, first } => {
            let mut value = Vec::new();
            walk(view, (length, first), |_, part| {
                value.extend_from_slice(part);
                Ok(())
            })?;
            Ok(value)
        }
    }
}

/// Stores the part of a value that does not fit into its leaf, and returns the leaf's entry.
pub(super) fn store(view: &mut View<'_>, value: &[u8]) -> Result<Vec<u8>, NodeError> {
    let mut entry = Vec::with_capacity(1 + value.len().min(IN_LEAF_MAX));
    if value.len() <= IN_LEAF_MAX {
        entry.push(IN_LEAF);
        entry.extend_from_slice(value);
        return Ok(entry);
    }
    let length = u32::try_from(value.len()).map_err(|_| NodeError::TransactionTooLarge {
        bytes: value.len(),
        bytes_max: u32::MAX as usize,
    })?;
    let mut next = 0_u32;
    // The last part first, so that each page names the next.
    for part in value.chunks(ROOM).rev() {
        let page = space::allocate(view)?;
        let bytes = view.change(page.into(), 0..HEADER + part.len())?;
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&next.to_le_bytes());
        bytes[8..12].copy_from_slice(&(part.len() as u32).to_le_bytes());
        bytes[12..HEADER].fill(0);
        bytes[HEADER..].copy_from_slice(part);
        next = page;
    }
    entry.push(IN_CHAIN);
    entry.extend_from_slice(&length.to_le_bytes());
    entry.extend_from_slice(&next.to_le_bytes());
    Ok(entry)
}

/// Gives back the pages that a value has beside its leaf.
pub(super) fn free(view: &mut View<'_>, leaf: PageId, entry: &[u8]) -> Result<(), NodeError> {
    if let Place::InChain { length, first } = place_of(leaf, entry)? {
        let mut pages = Vec::new();
        walk(view, (length, first), |page, _| {
            pages.push(page);
            Ok(())
        })?;
        for page in pages {
            space::free(view, page)?;
        }
    }
    Ok(())
}
