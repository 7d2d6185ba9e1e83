//! The manifest: the facts of a database that are needed before anything else of it can be read.
//!
//! A small text file for people, replaced whole by an atomic rename. So a crash at any step leaves the old one or the
//! new one. Its last line is a CRC-32C of the lines before. A manifest is only accepted if it is byte for byte the
//! text for its content, so damage of any byte is noticed. On a full disk [`crate::reserve`] gives it room.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::disk::{Disk, DiskError};
use crate::journal::Retention;
use crate::lines::{self, Lines, Misread, seal};
use crate::log::{LogBegin, LogLayout, LogPosition, Lsn};
use crate::page::PAGE_SIZE;
use crate::reserve;
use std::fmt::Write;
use std::io::ErrorKind;

/// The manifest's file.
pub const MANIFEST_FILE: &str = "MANIFEST";
const NEW_FILE: &str = "MANIFEST.new";

/// The newest format that this version reads. Since 4 there may be spanning groups in the log
/// ([`crate::log::group`]), which an older version would take for its end, and directories elsewhere
/// ([`crate::places`]). Since 5 the log may begin again at a compaction ([`Compacted::segment`]).
pub const FORMAT_VERSION: u32 = 5;

/// The format in which a manifest is written that has nothing of a later one.
const USUAL_VERSION: u32 = 4;

/// The longest manifest that is read, in bytes.
const BYTES_MAX: usize = 64 << 10;

/// The parts of a database.
///
/// ```
/// use sardonyx_storage::manifest::Manifest;
///
/// let manifest = Manifest::new(0x5eed);
/// let text = manifest.encode();
/// assert!(text.starts_with("format_version = 4\nidentity = 0000000000005eed\n"));
/// assert_eq!(Manifest::decode("MANIFEST", text.as_bytes()).unwrap(), manifest);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// The version of the format in which it was read. It is written in the oldest that an older version of
    /// the program reads correctly: 4, or 5 once the log began again.
    pub format_version: u32,
    /// The database's identity: random, given at creation. Every durable structure carries it.
    pub identity: u64,
    /// The page size for which the database was made.
    pub page_bytes: u32,
    /// Bytes of a log segment.
    pub segment_bytes: u64,
    /// Bytes of pages in a backup block; a multiple of the page size.
    pub block_bytes: u32,
    /// Stripes of the backup.
    pub stripes: u32,
    /// The number of times that the database was opened for writing. Counted up, durably, before the first group is
    /// appended.
    pub incarnation: u32,
    /// The amount of the journals' archive to keep.
    pub journal: Retention,
    /// The log reaches at least here: where it ended when the database was last opened for writing,
    /// or closed in order. So it is noticed if its newest segment is lost or replaced by an older one.
    /// The log's start in databases of format version 1.
    pub log_end: LogPosition,
    /// The mark of the directories elsewhere that have the log or the backup, if there are any: see
    /// [`crate::places`].
    pub places: Option<u64>,
    /// The last compaction, if there was one.
    pub compacted: Option<Compacted>,
}

/// A compaction: all pages were replaced at once, by a backup in files of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compacted {
    /// The number of compactions; the names of the backup's files have it.
    pub number: u32,
    /// The log's groups before this one changed pages that are not there any more. Of them only the rows of journals
    /// count.
    pub group: u64,
    /// The log began again at the start of this segment, with that group, and this segment may be short. `None`
    /// in format version 4: the log went on behind its last group.
    pub segment: Option<u64>,
}

/// The reason why there is no valid manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It does not exist.
    #[error("{file} is missing: this is not a database, or its creation was interrupted")]
    Absent {
        /// The file that should be there.
        file: String,
    },
    /// Its bytes are not the written ones.
    #[error(
        "{file} is damaged at line {line} (offset {offset}): expected {expected}, found {found}"
    )]
    Damaged {
        /// The manifest's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The start of the line, in bytes.
        offset: u64,
        /// The expected text.
        expected: String,
        /// The text found.
        found: String,
    },
    /// A newer version wrote it.
    #[error(
        "{file} has format version {found}, and this version reads up to {known}: open the \
         database with the version that wrote it, or a newer one"
    )]
    UnknownVersion {
        /// The manifest's name.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A value that no database can have.
    #[error("{what} cannot be {value}: {requirement}")]
    Value {
        /// The value's name.
        what: &'static str,
        /// The refused number.
        value: u64,
        /// The range or form that is allowed.
        requirement: &'static str,
    },
}

impl From<Misread> for ManifestError {
    fn from(misread: Misread) -> Self {
        let Misread {
            file,
            line,
            offset,
            expected,
            found,
        } = misread;
        ManifestError::Damaged {
            file,
            line,
            offset,
            expected,
            found,
        }
    }
}

impl Manifest {
    /// A manifest with this identity and the defaults: segments of 64 MiB, blocks of 1 MiB, one
    /// stripe, all of the journals kept, not opened yet.
    pub fn new(identity: u64) -> Self {
        Manifest {
            format_version: USUAL_VERSION,
            identity,
            page_bytes: PAGE_SIZE as u32,
            segment_bytes: 64 << 20,
            block_bytes: 1 << 20,
            stripes: 1,
            incarnation: 0,
            journal: Retention::All,
            log_end: LogPosition::START,
            places: None,
            compacted: None,
        }
    }

    /// This one, of a database with directories elsewhere that have this mark.
    pub(crate) fn with_places(self, mark: u64) -> Manifest {
        Manifest {
            places: Some(mark),
            ..self
        }
    }

    /// The layout that the log needs.
    pub fn log_layout(&self) -> LogLayout {
        let compacted = self.compacted;
        let begins = compacted.and_then(|Compacted { group, segment, .. }| {
            let segment = segment?;
            Some(LogBegin { segment, group })
        });
        LogLayout {
            begins: begins.unwrap_or(LogBegin::START),
            ..LogLayout::new(self.identity, self.segment_bytes)
        }
    }

    /// True if the log is at the place at which the last compaction began it again. The manifest is the one that the
    /// compaction wrote, and nothing was written to the log since.
    pub(crate) fn is_log_fresh(&self) -> bool {
        let (layout, end) = (self.log_layout(), self.log_end);
        layout.begins.segment > 0 && (end.lsn, end.group) == (layout.begin(), layout.begins.group)
    }

    /// Checks that a database can have these values.
    pub fn check(&self) -> Result<(), ManifestError> {
        let page = PAGE_SIZE as u64;
        let check = |what, value: u64, good: bool, requirement| {
            if good {
                Ok(())
            } else {
                Err(ManifestError::Value {
                    what,
                    value,
                    requirement,
                })
            }
        };
        let (block, segment) = (u64::from(self.block_bytes), self.segment_bytes);
        check(
            "page_bytes",
            self.page_bytes.into(),
            u64::from(self.page_bytes) == page,
            "4096",
        )?;
        check(
            "block_bytes",
            block,
            block > 0 && block.is_multiple_of(page) && block <= 1 << 30,
            "a multiple of 4096, at most 1 GiB",
        )?;
        check(
            "segment_bytes",
            segment,
            segment > 0 && segment.is_multiple_of(page) && segment <= 1 << 30,
            "a multiple of 4096, at most 1 GiB",
        )?;
        check(
            "stripes",
            self.stripes.into(),
            (1..=999).contains(&self.stripes),
            "1 to 999",
        )
    }

    /// The manifest's text.
    pub fn encode(&self) -> String {
        let begins_again = self.compacted.is_some_and(|last| last.segment.is_some());
        self.encode_in(match begins_again {
            true => FORMAT_VERSION,
            false => USUAL_VERSION,
        })
    }

    /// The text in one of the format's versions.
    fn encode_in(&self, version: u32) -> String {
        let mut text = format!(
            "format_version = {version}\n\
             identity = {:016x}\n\
             page_bytes = {}\n\
             segment_bytes = {}\n\
             block_bytes = {}\n\
             stripes = {}\n\
             incarnation = {}\n\
             journal = {}\n",
            self.identity,
            self.page_bytes,
            self.segment_bytes,
            self.block_bytes,
            self.stripes,
            self.incarnation,
            self.journal,
        );
        if version >= 2 {
            let end = self.log_end;
            writeln!(
                text,
                "log_end = {} {} {} {}",
                end.lsn, end.group, end.transactions, end.incarnation
            )
            .expect("a string takes everything");
        }
        if let Some(mark) = self.places {
            writeln!(text, "places = {mark:016x}").expect("a string takes everything");
        }
        if let Some(compacted) = self.compacted {
            writeln!(text, "compacted = {compacted}").expect("a string takes everything");
        }
        seal(text)
    }

    /// Reads a manifest's text; `file` is its name for error messages.
    pub fn decode(file: &str, bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let mut lines = Lines::new(file, bytes)?;
        lines.check_checksum()?;
        let version: u32 = lines.value("format_version", |text| text.parse().ok())?;
        if version > FORMAT_VERSION {
            let (found, known) = (version, FORMAT_VERSION);
            return Err(ManifestError::UnknownVersion {
                file: file.into(),
                found,
                known,
            });
        }
        let mut manifest = Manifest {
            format_version: version,
            identity: lines.value("identity", |text| u64::from_str_radix(text, 16).ok())?,
            page_bytes: lines.value("page_bytes", |text| text.parse().ok())?,
            segment_bytes: lines.value("segment_bytes", |text| text.parse().ok())?,
            block_bytes: lines.value("block_bytes", |text| text.parse().ok())?,
            stripes: lines.value("stripes", |text| text.parse().ok())?,
            incarnation: lines.value("incarnation", |text| text.parse().ok())?,
            journal: lines.value("journal", |text| text.parse().ok())?,
            log_end: match version {
                0 | 1 => LogPosition::START,
                _ => lines.value("log_end", parse_position)?,
            },
            places: match version >= 4 && lines.has("places") {
                true => Some(lines.value("places", |text| u64::from_str_radix(text, 16).ok())?),
                false => None,
            },
            compacted: None,
        };
        if version >= 4 && lines.has("compacted") {
            let parse = |text: &str| parse_compacted(text).filter(|last| manifest.could(last));
            manifest.compacted = Some(lines.value("compacted", parse)?);
        }
        lines.check_is(&manifest.encode_in(version))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// True if a database with the rest of this manifest could have been compacted so.
    fn could(&self, Compacted { group, segment, .. }: &Compacted) -> bool {
        let end = self.log_end;
        segment.is_none_or(|segment| {
            let begin = segment.checked_mul(self.segment_bytes);
            let reached = begin.is_some_and(|begin| begin <= end.lsn.0 && *group <= end.group);
            reached && self.format_version >= 5
        })
    }

    /// Reads the database's manifest.
    pub fn read(disk: &dyn Disk) -> Result<Manifest, ManifestError> {
        let name = disk.display_name(MANIFEST_FILE);
        let bytes = match lines::read(disk, MANIFEST_FILE, BYTES_MAX) {
            Err(error) if error.source.kind() == ErrorKind::NotFound => {
                return Err(ManifestError::Absent { file: name });
            }
            read => read?,
        };
        Manifest::decode(&name, &bytes)
    }

    /// Replaces the database's manifest, or writes its first one, durably. A crash at any step
    /// leaves the old one or this one. If the disk is full it takes the room that was kept for this,
    /// which is kept again afterwards, if there is any.
    pub fn write(&self, disk: &dyn Disk) -> Result<(), ManifestError> {
        self.check()?;
        match self.replace(disk) {
            Err(error) if error.is_full() && reserve::release(disk)? => self.replace(disk)?,
            replaced => replaced?,
        }
        Ok(reserve::keep(disk)?)
    }

    fn replace(&self, disk: &dyn Disk) -> Result<(), DiskError> {
        lines::replace(disk, MANIFEST_FILE, NEW_FILE, &self.encode())
    }
}

impl std::fmt::Display for Compacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.number, self.group)?;
        match self.segment {
            Some(segment) => write!(f, " {segment}"),
            None => Ok(()),
        }
    }
}

fn parse_compacted(text: &str) -> Option<Compacted> {
    let mut words = text.split(' ');
    let compacted = Compacted {
        number: words.next()?.parse().ok().filter(|number| *number > 0)?,
        group: words.next()?.parse().ok()?,
        segment: words.next().map(str::parse).transpose().ok()?,
    };
    words.next().is_none().then_some(compacted)
}

fn parse_position(text: &str) -> Option<LogPosition> {
    let mut words = text.split(' ');
    let mut number = || words.next()?.parse().ok();
    let position = LogPosition {
        lsn: Lsn(number()?),
        group: number()?,
        transactions: number()?,
        incarnation: number()?.try_into().ok()?,
    };
    words.next().is_none().then_some(position)
}

#[cfg(test)]
mod tests;
