//! A directory's knowledge of a log in a store. The file `STORE` records a place in the store's log and one in the log
//! here: everything before the one is before the other.
//!
//! It may lag behind: the log behind the place is compared, group by group, when the directory is opened. So it is
//! written now and then, and the log here is kept from this place on. A process that opens the file's directory
//! without the store would free that log. So a directory with it is opened with its store, or not at all.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::position::{EntryPosition, Epoch};
use crate::disk::{Disk, DiskError};
use crate::lines::{self, Lines, Misread, seal};
use crate::log::{LogPosition, Lsn};

/// The file.
pub const STORE_FILE: &str = "STORE";
const NEW_FILE: &str = "STORE.new";

/// The beginning of the names of files with the newest register of a set of copies that hosts of this directory saw.
/// They are kept when a directory begins anew.
pub const COPIES_PREFIX: &str = "copies-";

/// The set of copies whose newest register is in a file of this name.
pub fn copies_set_of(name: &str) -> Option<u64> {
    let set = name.strip_prefix(COPIES_PREFIX)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_set = set.len() == 16 && set.bytes().all(is_digit);
    is_set.then(|| u64::from_str_radix(set, 16).ok()).flatten()
}

/// True of such a file, of its next state that is being written, and of the lock of its writers.
pub fn is_of_copies(name: &str) -> bool {
    let plain = name.strip_suffix(".new").or(name.strip_suffix(".lock"));
    copies_set_of(plain.unwrap_or(name)).is_some()
}

const VERSION: u32 = 1;
const BYTES_MAX: usize = 4096;

/// Two places with the same past: in the store's log, and in the one here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// The database's identity.
    pub identity: u64,
    /// In the store, between two entries.
    pub entry: EntryPosition,
    /// Here.
    pub log: LogPosition,
}

/// The reason why the file is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnownError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The text says which line differs.
    #[error("{0}; the directory can be made anew from the store: move it away, and open it again")]
    Damaged(String),
}

impl From<Misread> for KnownError {
    fn from(misread: Misread) -> Self {
        KnownError::Damaged(misread.to_string())
    }
}

impl Known {
    /// The place of a database's beginning.
    pub fn start(identity: u64) -> Known {
        Known {
            identity,
            entry: EntryPosition::START,
            log: LogPosition::START,
        }
    }

    /// Its lines, in the form of this file and of the head of a base.
    pub(crate) fn lines(&self) -> String {
        let (entry, log) = (self.entry, self.log);
        format!(
            "identity = {:016x}\n\
             entry = {}\n\
             epoch = {}\n\
             writer = {:016x}\n\
             entry_checksum = {:08x}\n\
             entry_time = {}\n\
             lsn = {}\n\
             group = {}\n\
             transactions = {}\n\
             incarnation = {}\n",
            self.identity,
            entry.next,
            entry.epoch,
            entry.writer,
            entry.checksum,
            entry.time,
            log.lsn.0,
            log.group,
            log.transactions,
            log.incarnation,
        )
    }

    /// Reads the lines of [`Known::lines`].
    pub(crate) fn take(lines: &mut Lines<'_>) -> Result<Known, Misread> {
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let number = |text: &str| text.parse::<u64>().ok();
        Ok(Known {
            identity: lines.value("identity", hexadecimal)?,
            entry: EntryPosition {
                next: lines.value("entry", |text| number(text).filter(|next| *next > 0))?,
                epoch: Epoch(lines.value("epoch", number)?),
                writer: lines.value("writer", hexadecimal)?,
                checksum: lines
                    .value("entry_checksum", |text| u32::from_str_radix(text, 16).ok())?,
                time: lines.value("entry_time", number)?,
            },
            log: LogPosition {
                lsn: Lsn(lines.value("lsn", number)?),
                group: lines.value("group", number)?,
                transactions: lines.value("transactions", number)?,
                incarnation: lines.value("incarnation", |text| text.parse().ok())?,
            },
        })
    }

    /// Its text.
    fn encode(&self) -> String {
        seal(format!("format_version = {VERSION}\n{}", self.lines()))
    }

    fn decode(file: &str, bytes: &[u8]) -> Result<Known, Misread> {
        let mut lines = Lines::new(file, bytes)?;
        lines.check_checksum()?;
        lines.check_version(VERSION)?;
        let known = Known::take(&mut lines)?;
        lines.check_is(&known.encode())?;
        Ok(known)
    }

    /// The content of the directory's file, if it has one.
    ///
    /// # Errors
    /// [`KnownError`].
    pub fn read(disk: &dyn Disk) -> Result<Option<Known>, KnownError> {
        if !disk.list("")?.iter().any(|name| name == STORE_FILE) {
            return Ok(None);
        }
        let bytes = lines::read(disk, STORE_FILE, BYTES_MAX)?;
        Ok(Some(Known::decode(&disk.display_name(STORE_FILE), &bytes)?))
    }

    /// Replaces the file, durably.
    ///
    /// # Errors
    /// The disk's; then the former file is there, or this one.
    pub fn write(&self, disk: &dyn Disk) -> Result<(), DiskError> {
        lines::replace(disk, STORE_FILE, NEW_FILE, &self.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_sets_have_exact_names() {
        assert_eq!(copies_set_of("copies-00000000000000ff"), Some(255));
        for other in [
            "copies-ff",
            "copies-00000000000000FF",
            "copies-00000000000000ff.bak",
            "copies-+0000000000000ff",
        ] {
            assert_eq!(copies_set_of(other), None, "{other}");
            assert!(!is_of_copies(other), "{other}");
        }
        for own in ["", ".new", ".lock"] {
            assert!(is_of_copies(&format!("copies-00000000000000ff{own}")));
        }
    }

    #[test]
    fn the_file_reads_back_and_any_other_byte_is_noticed() {
        let known = Known {
            identity: 7,
            entry: EntryPosition {
                next: 9,
                epoch: Epoch(2),
                writer: 5,
                checksum: 0xabcd,
                time: 12,
            },
            log: LogPosition {
                lsn: Lsn(8192),
                group: 3,
                transactions: 40,
                incarnation: 2,
            },
        };
        let text = known.encode().into_bytes();
        assert_eq!(Known::decode("STORE", &text).unwrap(), known);
        for at in 0..text.len() {
            let mut changed = text.clone();
            changed[at] ^= 1;
            assert!(Known::decode("STORE", &changed).is_err(), "byte {at}");
            assert!(Known::decode("STORE", &text[..at]).is_err(), "{at} bytes");
        }
        let start = Known::start(7);
        assert_eq!(
            Known::decode("STORE", start.encode().as_bytes()).unwrap(),
            start
        );
    }
}
