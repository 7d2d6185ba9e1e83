//! Group commit: the builder that the execution stage fills.

use super::group::GROUP_HEADER_BYTES;
use super::record::{self, RECORD_HEAD_BYTES};
use crate::disk::AlignedBuffer;
use crate::page::Address;

/// The commit group that is being filled: records are appended as transactions run, and cut off
/// again when one aborts.
#[derive(Debug)]
pub struct GroupBuilder {
    /// Room for the header, then the records.
    buffer: AlignedBuffer,
    transactions: u32,
    /// Where the running transaction's records start.
    transaction_start: usize,
    /// Where the last record starts; its word gets the end mark.
    last_record: usize,
}

impl GroupBuilder {
    /// An empty group with room for so many bytes before it must grow.
    pub fn with_capacity(bytes: usize) -> Self {
        Self::from_buffer(AlignedBuffer::with_capacity(bytes))
    }

    /// An empty group in a reused buffer.
    pub fn from_buffer(mut buffer: AlignedBuffer) -> Self {
        buffer.clear();
        buffer.extend_zeroed(GROUP_HEADER_BYTES);
        GroupBuilder {
            buffer,
            transactions: 0,
            transaction_start: GROUP_HEADER_BYTES,
            last_record: GROUP_HEADER_BYTES,
        }
    }

    /// Appends the after-image of a byte range that lies within one page.
    ///
    /// # Panics
    /// In debug builds, if `bytes` is empty or crosses the page's end.
    #[inline]
    pub fn push_write(&mut self, address: Address, bytes: &[u8]) {
        self.push(record::write_head(address, bytes.len()), bytes);
    }

    /// Appends a journal row.
    ///
    /// # Panics
    /// In debug builds, if the row is empty or longer than a page.
    #[inline]
    pub fn push_journal(&mut self, journal: u16, row: &[u8]) {
        self.push(record::journal_head(journal, row.len()), row);
    }

    #[inline]
    fn push(&mut self, head: u64, bytes: &[u8]) {
        let padded = bytes.len().next_multiple_of(8);
        self.buffer.reserve(RECORD_HEAD_BYTES + padded);
        self.last_record = self.buffer.len();
        self.buffer.extend_from_slice(&head.to_le_bytes());
        self.buffer.extend_from_slice(bytes);
        self.buffer.extend_zeroed(self.last_record + RECORD_HEAD_BYTES + padded);
    }

    /// Ends the running transaction: its records now belong to the group. Returns whether it had
    /// any; one without records leaves no trace in the log.
    #[inline]
    pub fn end_transaction(&mut self) -> bool {
        if self.buffer.len() == self.transaction_start {
            return false;
        }
        // The word is little-endian, so the end mark is the top bit of its last byte.
        self.buffer[self.last_record + 7] |= (record::END_OF_TRANSACTION >> 56) as u8;
        self.transaction_start = self.buffer.len();
        self.transactions += 1;
        true
    }

    /// Cuts off the running transaction's records.
    pub fn abort_transaction(&mut self) {
        self.buffer.truncate(self.transaction_start);
    }

    /// Bytes of the running transaction's records so far.
    #[inline]
    pub fn transaction_bytes(&self) -> usize {
        self.buffer.len() - self.transaction_start
    }

    /// Transactions in the group.
    pub fn transactions(&self) -> u32 {
        self.transactions
    }

    /// Whether no transaction is in the group.
    pub fn is_empty(&self) -> bool {
        self.transactions == 0
    }

    /// The records so far.
    pub fn payload(&self) -> &[u8] {
        &self.buffer[GROUP_HEADER_BYTES..]
    }
}
