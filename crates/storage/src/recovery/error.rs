//! Why a database cannot be recovered.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::disk::DiskError;
use crate::journal::JournalError;
use crate::log::record::RecordError;
use crate::log::{LogError, Lsn};
use crate::store::StoreError;

/// A failed recovery. Nothing on disk was changed that a repeated recovery would not find again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log is damaged, or its disk failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The journal's archive is damaged, or its disk failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no memory for the pages, or not as much as they take.
    #[error("no memory for the database's pages: {0}")]
    Store(#[from] StoreError),
    /// A slot of the backup belongs to another database or stripe.
    #[error(
        "{file} at offset {offset} holds a block of another database or stripe, although it is \
         whole: was a file copied from elsewhere?"
    )]
    ForeignSlot {
        /// The stripe's file.
        file: String,
        /// The start of the slot, in bytes.
        offset: u64,
    },
    /// A block has no whole version that is new enough.
    #[error(
        "{file} has no whole version of block {block} of checkpoint {checkpoint} or later; {}",
        describe(damaged_offsets)
    )]
    MissingBlock {
        /// The stripe's file.
        file: String,
        /// The block's number in the stripe.
        block: u64,
        /// The last complete checkpoint, which had the block.
        checkpoint: u64,
        /// The starts of the file's damaged slots, in bytes. A crash tears at most one of them.
        damaged_offsets: Vec<u64>,
    },
    /// The log begins after the place from which it is needed.
    #[error(
        "{file} is missing: {needed_by} needs the log from LSN {needed} on; {}",
        describe(damaged_offsets)
    )]
    LogFreed {
        /// The segment that should be there.
        file: String,
        /// The user of it: a file of the backup, or of the journal's archive.
        needed_by: String,
        /// From where.
        needed: Lsn,
        /// The damaged places of that file, in bytes: their lost content would have made the older
        /// log superfluous.
        damaged_offsets: Vec<u64>,
    },
    /// The log ends before a backup block's position: log that was durable is missing.
    #[error(
        "the log ends at group {log_group}, but {file} has a block that includes all groups before \
         {backup_group}: durable log is missing"
    )]
    LogEndsEarly {
        /// The stripe's file.
        file: String,
        /// The group after the block's last.
        backup_group: u64,
        /// The group after the log's last.
        log_group: u64,
    },
    /// The log has fewer transactions than when the database was last opened or closed.
    #[error(
        "the log ends in {file} at offset {offset}, after {transactions} transactions, but {manifest} has a \
         record of {recorded_transactions}: durable log is missing; was a segment lost, or \
         replaced by an older one?"
    )]
    LogCutShort {
        /// The segment in which the log ends now.
        file: String,
        /// The place in it, in bytes.
        offset: u64,
        /// The transactions before its end, since the database was made.
        transactions: u64,
        manifest: String,
        recorded_transactions: u64,
    },
    /// A group's records cannot be decoded, although its checksum is right.
    #[error("group {group} at LSN {lsn}: {source}")]
    Record {
        /// The group's number.
        group: u64,
        /// Its start.
        lsn: Lsn,
        /// The fault.
        #[source]
        source: RecordError,
    },
}

fn describe(damaged_offsets: &[u64]) -> String {
    if damaged_offsets.is_empty() {
        return "no damage was found in its file".into();
    }
    let offsets: Vec<String> = damaged_offsets.iter().map(u64::to_string).collect();
    format!("its file is damaged at offset {}", offsets.join(", "))
}
