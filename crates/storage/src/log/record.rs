//! Redo records: after-images of byte ranges inside one page, journal rows, and the versions of pages that
//! several nodes change.
//!
//! A record is one 8-byte word followed by its bytes, padded to a multiple of 8. The word holds the address (48 bits),
//! the length less one (12 bits) and the kind (3 bits). One bit marks a transaction's last record, so that a
//! transaction's boundary costs nothing. An update of an 8-byte field is 16 bytes of log.
//!
//! Invariant I3: records are after-images, so applying any suffix of the log again gives the same state. If several
//! nodes have logs of their own, the page's sequence number gives the order of its changes. A record of a page's new
//! version comes before the byte ranges that make it, and a reader of one log only passes over it. Source: TPK paper,
//! section 2 ("record logging"), refined to byte ranges; GEM paper, section 2 (page sequence numbers).

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::page::{Address, PAGE_SIZE, PageId};

/// The longest byte range or journal row that one record can carry.
pub const RECORD_BYTES_MAX: usize = PAGE_SIZE;

/// Bytes of a record's leading word.
pub const RECORD_HEAD_BYTES: usize = 8;

const ADDRESS_BITS: u32 = 48;
const LENGTH_BITS: u32 = 12;
const KIND_SHIFT: u32 = ADDRESS_BITS + LENGTH_BITS;
const END_SHIFT: u32 = 63;
const KIND_WRITE: u64 = 1;
const KIND_JOURNAL: u64 = 2;
const KIND_VERSION: u64 = 3;

/// The bit in a record's word that marks the last record of a transaction.
pub(super) const END_OF_TRANSACTION: u64 = 1 << END_SHIFT;

/// One decoded redo record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// The effect of the record.
    pub body: Body<'a>,
    /// True if it is the last of its transaction.
    pub ends_transaction: bool,
}

/// The effect of a redo record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body<'a> {
    /// Writes these bytes at this address. Never crosses a page's end.
    Write {
        /// The address of the first byte.
        address: Address,
        /// The after-image.
        bytes: &'a [u8],
    },
    /// This row was appended to this journal.
    Journal {
        /// The journal's number in the catalogue.
        journal: u16,
        /// The appended bytes.
        row: &'a [u8],
    },
    /// The transaction's writes to this page, which follow, make it this version. Redo of a single log has no use
    /// for it.
    Version {
        /// The page that the next records change.
        page: PageId,
        /// Its page sequence number (PSN) then.
        psn: u64,
    },
}

/// Bytes that a record with `length` bytes of data takes in the log.
#[inline]
pub const fn encoded_bytes(length: usize) -> usize {
    RECORD_HEAD_BYTES + length.next_multiple_of(8)
}

#[inline]
pub(super) fn write_head(address: Address, length: usize) -> u64 {
    debug_assert!(length >= 1 && address.offset_in_page() + length <= PAGE_SIZE);
    head(KIND_WRITE, address.0, length)
}

#[inline]
pub(super) fn journal_head(journal: u16, length: usize) -> u64 {
    debug_assert!((1..=RECORD_BYTES_MAX).contains(&length));
    head(KIND_JOURNAL, journal as u64, length)
}

#[inline]
pub(super) fn version_head(page: PageId) -> u64 {
    head(KIND_VERSION, page.address().0, size_of::<u64>())
}

#[inline]
fn head(kind: u64, address: u64, length: usize) -> u64 {
    address | ((length as u64 - 1) << ADDRESS_BITS) | (kind << KIND_SHIFT)
}

/// Appends the record of a write to a buffer of records that are not in a group yet.
///
/// # Panics
/// In debug builds, if `bytes` is empty or crosses the page's end.
#[inline]
pub fn append_write(records: &mut Vec<u8>, address: Address, bytes: &[u8]) {
    records.extend_from_slice(&write_head(address, bytes.len()).to_le_bytes());
    records.extend_from_slice(bytes);
    records.resize(records.len().next_multiple_of(8), 0);
}

/// Appends the record of a journal's row to such a buffer.
///
/// # Panics
/// In debug builds, if the row is empty or longer than [`RECORD_BYTES_MAX`].
#[inline]
pub fn append_journal(records: &mut Vec<u8>, journal: u16, row: &[u8]) {
    records.extend_from_slice(&journal_head(journal, row.len()).to_le_bytes());
    records.extend_from_slice(row);
    records.resize(records.len().next_multiple_of(8), 0);
}

/// Appends the record of a page's new version to such a buffer; the writes that make it follow.
#[inline]
pub fn append_version(records: &mut Vec<u8>, page: PageId, psn: u64) {
    records.extend_from_slice(&version_head(page).to_le_bytes());
    records.extend_from_slice(&psn.to_le_bytes());
}

/// Marks the record that starts at `at` as the last of its transaction.
#[expect(
    clippy::indexing_slicing,
    reason = "a record's start is the writer's own, never read"
)]
pub fn mark_end(records: &mut [u8], at: usize) {
    // The word is little-endian, so the mark is the top bit of its last byte.
    records[at + 7] |= (END_OF_TRANSACTION >> 56) as u8;
}

/// The error of a group's payload that cannot be decoded. The checksum was right, so its writer was at fault (or has a
/// newer format), not the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("record at payload offset {offset}: {reason}")]
pub struct RecordError {
    /// The offset of the record in the payload, in bytes.
    pub offset: usize,
    /// The violated rule of the format.
    pub reason: &'static str,
}

/// Iterates over the records of a group's payload.
///
/// ```
/// use sardonyx_storage::log::record::{Body, Records};
/// use sardonyx_storage::log::seal::GroupBuilder;
/// use sardonyx_storage::page::Address;
///
/// let mut group = GroupBuilder::with_capacity(4096);
/// group.push_write(Address(4096), &7u64.to_le_bytes());
/// group.end_transaction();
/// let record = Records::new(group.payload()).next().unwrap().unwrap();
/// assert_eq!(record.body, Body::Write { address: Address(4096), bytes: &[7, 0, 0, 0, 0, 0, 0, 0] });
/// assert!(record.ends_transaction);
/// ```
#[derive(Clone, Debug)]
pub struct Records<'a> {
    payload: &'a [u8],
    offset: usize,
}

impl<'a> Records<'a> {
    /// Starts at the payload's first record.
    pub fn new(payload: &'a [u8]) -> Self {
        Records { payload, offset: 0 }
    }

    /// The offset of the next record in the payload, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    #[cold]
    fn fail(&mut self, reason: &'static str) -> Option<Result<Record<'a>, RecordError>> {
        let offset = self.offset;
        self.offset = self.payload.len();
        Some(Err(RecordError { offset, reason }))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.payload.get(self.offset..).unwrap_or_default();
        if rest.is_empty() {
            return None;
        }
        let Some((word, rest)) = rest.split_first_chunk::<8>() else {
            return self.fail("shorter than a record's head");
        };
        let word = u64::from_le_bytes(*word);
        let length = ((word >> ADDRESS_BITS) as usize & (PAGE_SIZE - 1)) + 1;
        let Some(bytes) = rest.get(..length) else {
            return self.fail("longer than the rest of the payload");
        };
        let address = word & Address::MAX.0;
        let body = match (word >> KIND_SHIFT) & 7 {
            KIND_WRITE => {
                let address = Address(address);
                if address.offset_in_page() + length > PAGE_SIZE {
                    return self.fail("a byte range crosses a page's end");
                }
                Body::Write { address, bytes }
            }
            KIND_JOURNAL => match u16::try_from(address) {
                Ok(journal) => Body::Journal {
                    journal,
                    row: bytes,
                },
                Err(_) => return self.fail("a journal number above 65,535"),
            },
            KIND_VERSION => {
                let page = Address(address).page();
                let Ok(psn) = bytes.try_into().map(u64::from_le_bytes) else {
                    return self.fail("a page sequence number that has not 8 bytes");
                };
                if page.address().0 != address {
                    return self.fail("a version of something that is no page");
                }
                Body::Version { page, psn }
            }
            _ => return self.fail("unknown kind"),
        };
        if rest.len() < length.next_multiple_of(8) {
            return self.fail("padding is missing");
        }
        self.offset += encoded_bytes(length);
        Some(Ok(Record {
            body,
            ends_transaction: word & END_OF_TRANSACTION != 0,
        }))
    }
}
