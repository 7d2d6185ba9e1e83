//! One page's redo in a commit group: which version it makes, and the byte ranges that do.
//!
//! In the log that is a version record and the writes to the same page directly behind it, all of one transaction.
//! There may be no write: a transaction that had locked a page for writing has made a new version of it, whether it
//! changed bytes or not.

use super::RedoError;
use crate::protocol::{PageId, Psn};
use sardonyx_storage::log::record::{self, Body, Records};
use sardonyx_storage::page;
use std::ops::Range;

/// One page's redo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Redo<'a> {
    /// The changed page.
    pub page: PageId,
    /// The version that it makes.
    pub psn: Psn,
    /// The writes, encoded; all of this page.
    pub(super) writes: &'a [u8],
}

impl<'a> Redo<'a> {
    /// The byte ranges, in order: the offset in the page, and the new bytes.
    pub fn writes(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let records = Records::new(self.writes).filter_map(Result::ok);
        records.filter_map(|record| match record.body {
            Body::Write { address, bytes } => Some((address.offset_in_page(), bytes)),
            Body::Journal { .. } | Body::Version { .. } => None,
        })
    }
}

/// Appends one page's redo to a transaction's records. `storage::log::record::mark_end` is to be given the place that
/// this returns if it is the transaction's last: where the last record begins.
///
/// # Panics
/// In debug builds, if a byte range is empty or crosses the page's end.
pub fn append<'a>(
    records: &mut Vec<u8>,
    page: PageId,
    psn: Psn,
    writes: impl IntoIterator<Item = (usize, &'a [u8])>,
) -> usize {
    let page = page::PageId(page.0);
    let mut last = records.len();
    record::append_version(records, page, psn.0);
    for (offset, bytes) in writes {
        last = records.len();
        let address = page::Address(page.address().0 + offset as u64);
        record::append_write(records, address, bytes);
    }
    last
}

/// One page's redo in a payload that has been decoded.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub page: PageId,
    pub psn: Psn,
    /// The place of its writes in the payload.
    pub writes: Range<usize>,
}

/// Decodes a whole group's payload. Rows of journals are passed over: their order is that of their log.
pub(super) fn decode(payload: &[u8]) -> Result<Vec<Found>, RedoError> {
    let mut found: Vec<Found> = Vec::new();
    // The page whose version precedes, in the same transaction and with nothing between.
    let mut open: Option<PageId> = None;
    let mut records = Records::new(payload);
    loop {
        let offset = records.offset();
        let Some(record) = records.next() else {
            return Ok(found);
        };
        let record = record?;
        match record.body {
            Body::Version { page, psn } => {
                let (page, psn) = (PageId(page.0), Psn(psn));
                if psn == Psn::default() {
                    return Err(RedoError::First { page });
                }
                let writes = records.offset()..records.offset();
                found.push(Found { page, psn, writes });
                open = Some(page);
            }
            Body::Write { address, .. } => {
                let page = PageId(address.page().0);
                match (open == Some(page), found.last_mut()) {
                    (true, Some(last)) => last.writes.end = records.offset(),
                    _ => return Err(RedoError::Unversioned { page, offset }),
                }
            }
            Body::Journal { .. } => open = None,
        }
        if record.ends_transaction {
            open = None;
        }
    }
}
