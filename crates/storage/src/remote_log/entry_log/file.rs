//! `ENTRIES`: the facts of an entry log that are needed before it is read, as a text with a checksum.

use super::EntryLogError;
use crate::disk::{Disk, DiskError};
use crate::lines::{self, Lines, Misread, seal};
use crate::log::group::GROUP_ALIGNMENT;
use crate::log::{LogLayout, LogPosition, Lsn};

/// The file in the directory of an entry log.
pub const ENTRIES_FILE: &str = "ENTRIES";

const NEW_FILE: &str = "ENTRIES.new";

/// The form of the file.
const VERSION: u32 = 1;

/// The longest file that is read.
const BYTES_MAX: usize = 4 << 10;

/// The largest segment.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// The content of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EntriesFile {
    /// The log's own, random.
    pub identity: u64,
    pub segment_bytes: u64,
    /// The log reaches at least here.
    pub log_end: LogPosition,
}

impl EntriesFile {
    /// The file of a new log.
    pub fn new(identity: u64, segment_bytes: u64) -> Self {
        EntriesFile {
            identity,
            segment_bytes,
            log_end: LogPosition::START,
        }
    }

    pub fn layout(&self) -> LogLayout {
        LogLayout::new(self.identity, self.segment_bytes)
    }

    fn encode(&self) -> String {
        let end = self.log_end;
        seal(format!(
            "format_version = {VERSION}\n\
             identity = {:016x}\n\
             segment_bytes = {}\n\
             lsn = {}\n\
             group = {}\n\
             transactions = {}\n\
             incarnation = {}\n",
            self.identity,
            self.segment_bytes,
            end.lsn.0,
            end.group,
            end.transactions,
            end.incarnation,
        ))
    }

    fn decode(file: &str, bytes: &[u8]) -> Result<Self, Misread> {
        let number = |text: &str| text.parse::<u64>().ok();
        let is_segment = |bytes: &u64| {
            bytes.is_multiple_of(GROUP_ALIGNMENT as u64) && (1..=SEGMENT_BYTES_MAX).contains(bytes)
        };
        let mut lines = Lines::new(file, bytes)?;
        lines.check_checksum()?;
        lines.check_version(VERSION)?;
        let found = EntriesFile {
            identity: lines.value("identity", |text| u64::from_str_radix(text, 16).ok())?,
            segment_bytes: lines.value("segment_bytes", |text| number(text).filter(is_segment))?,
            log_end: LogPosition {
                lsn: Lsn(lines.value("lsn", number)?),
                group: lines.value("group", number)?,
                transactions: lines.value("transactions", number)?,
                incarnation: lines.value("incarnation", |text| text.parse().ok())?,
            },
        };
        lines.check_is(&found.encode())?;
        Ok(found)
    }

    /// The file of a directory, if there is one.
    pub fn read(disk: &dyn Disk) -> Result<Option<Self>, EntryLogError> {
        if !disk.list("")?.iter().any(|name| name == ENTRIES_FILE) {
            return Ok(None);
        }
        let bytes = lines::read(disk, ENTRIES_FILE, BYTES_MAX)?;
        let found = EntriesFile::decode(&disk.display_name(ENTRIES_FILE), &bytes);
        Ok(Some(found.map_err(EntryLogError::File)?))
    }

    /// Replaces the file, durably.
    pub fn write(&self, disk: &dyn Disk) -> Result<(), DiskError> {
        lines::replace(disk, ENTRIES_FILE, NEW_FILE, &self.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_back_and_any_other_byte_is_noticed() {
        let file = EntriesFile {
            log_end: LogPosition {
                lsn: Lsn(8192),
                group: 3,
                transactions: 2,
                incarnation: 4,
            },
            ..EntriesFile::new(7, 1 << 20)
        };
        let text = file.encode().into_bytes();
        assert_eq!(EntriesFile::decode("ENTRIES", &text).unwrap(), file);
        for at in 0..text.len() {
            let mut changed = text.clone();
            changed[at] ^= 1;
            EntriesFile::decode("ENTRIES", &changed).unwrap_err();
            EntriesFile::decode("ENTRIES", &text[..at]).unwrap_err();
        }
        let odd = EntriesFile::new(7, 1000).encode();
        EntriesFile::decode("ENTRIES", odd.as_bytes()).unwrap_err();
    }
}
