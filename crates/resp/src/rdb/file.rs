//! Files of keys as Redis saves them (`dump.rdb`): databases, keys with their times and values, libraries of functions.
//!
//! A file is read from its front, once, an item after the other. The end of an item is found first (`extent`), so that
//! it is read as a payload is, and an item that is too large to be read is skipped.
//!
//! Invariants: no file makes a reader panic; `ITEM_BYTES_MAX`, `DECODED_BYTES_MAX` and `ELEMENTS_MAX` bound its memory.
//! An error names a place in the file.
//!
//! Source: `rdb.h` and `rdb.c` of Redis 7.0, for the format alone.

use super::extent::{ITEM_BYTES_MAX, Source};
use super::input::{Input, Taken};
use super::lengths::Lengths;
use super::{LIBRARY, RdbError, TEXT_BYTES_MAX, VERSION_MAX, Value};
use std::io::{self, BufRead};

/// The first bytes; four digits of a version follow.
const MAGIC: &[u8; 5] = b"REDIS";
/// The first version whose files end with a checksum.
const SUMMED_SINCE: u16 = 5;
/// The most bytes of a value's texts, decompressed.
const DECODED_BYTES_MAX: usize = 1 << 30;
/// The most elements of a value.
const ELEMENTS_MAX: usize = 1 << 24;

/// Marks before items. A smaller number is the type of a key's value.
mod mark {
    pub const SLOT: u8 = 244;
    pub const EARLY_LIBRARY: u8 = 246;
    pub const MODULE: u8 = 247;
    pub const IDLE: u8 = 248;
    pub const FREQUENCY: u8 = 249;
    pub const FACT: u8 = 250;
    pub const SIZES: u8 = 251;
    pub const EXPIRES_MILLIS: u8 = 252;
    pub const EXPIRES_SECONDS: u8 = 253;
    pub const DATABASE: u8 = 254;
    pub const END: u8 = 255;
    /// The first one.
    pub const FIRST: u8 = SLOT;
}

/// Why bytes are no file of Redis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("byte {at} cannot be read")]
    Read {
        /// The offset in the file.
        at: u64,
        /// The reason.
        source: io::Error,
    },
    /// It ends too early.
    #[error("the file ends too early, at byte {at}")]
    Short {
        /// Its length.
        at: u64,
    },
    /// Its first bytes are others.
    #[error("no RDB file: it does not begin with REDIS and a version of four digits")]
    Magic,
    /// It is of a version that is not read here.
    #[error("RDB version {version} is not supported: versions 1 to {VERSION_MAX} are")]
    Version {
        /// The version of the format in the file's head.
        version: u16,
    },
    /// Something that the format does not have.
    #[error("{what}, at byte {at}: the file is damaged")]
    Malformed {
        /// Its name.
        what: &'static str,
        /// The offset in the file.
        at: u64,
    },
    /// A value that is not read here, such as a module's.
    #[error("a value of type {kind}, at byte {at}, is not supported")]
    Kind {
        /// The type's number.
        kind: u8,
        /// The offset in the file.
        at: u64,
    },
    /// An item that is not read here.
    #[error("{what}, at byte {at}, is not supported")]
    Refused {
        /// Its name.
        what: &'static str,
        /// The offset in the file.
        at: u64,
    },
    /// Its bytes have another checksum.
    #[error(
        "the checksum at byte {at} is {told:016x}, and that of the bytes before it {found:016x}: the file is damaged"
    )]
    Checksum {
        /// The offset of the checksum.
        at: u64,
        /// The checksum that the file has.
        told: u64,
        /// The checksum of its bytes.
        found: u64,
    },
    /// Any of these within a key's value.
    #[error("key \"{key}\" of database {database}: {error}")]
    OfKey {
        /// The key, with escapes.
        key: String,
        /// Its database.
        database: u64,
        /// The error.
        error: Box<FileError>,
    },
}

/// A part of a file.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Item {
    /// A key with its value and expiry.
    Key(KeyItem),
    /// A library of functions.
    Library(LibraryItem),
}

/// A key with its value.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyItem {
    /// The offset of its value's type in the file.
    pub at: u64,
    /// The number of the database that the file has it in.
    pub database: u64,
    /// The key's bytes.
    pub name: Vec<u8>,
    /// Milliseconds since 1970, if it expires.
    pub expires: Option<i64>,
    /// Its value; an error if that is too large to be read.
    pub value: Result<Value, RdbError>,
}

/// A library of functions.
#[derive(Clone, PartialEq, Debug)]
pub struct LibraryItem {
    /// Its offset in the file.
    pub at: u64,
    /// Its code; an error if that is too large to be read.
    pub code: Result<Vec<u8>, RdbError>,
}

/// A file of Redis that is read.
#[derive(Debug)]
pub struct RdbFile<R> {
    source: Source<R>,
    version: u16,
    /// The database of the next keys.
    database: u64,
    is_over: bool,
}

impl<R: BufRead> RdbFile<R> {
    /// Reads the file's head.
    ///
    /// # Errors
    /// [`FileError::Magic`], [`FileError::Version`]; the file cannot be read, or is too short.
    pub fn new(reader: R) -> Result<RdbFile<R>, FileError> {
        RdbFile::bounded(reader, ITEM_BYTES_MAX)
    }

    fn bounded(reader: R, item_bytes_max: usize) -> Result<RdbFile<R>, FileError> {
        let mut source = Source::new(reader, item_bytes_max);
        let magic: [u8; MAGIC.len()] = source.array()?;
        if magic != *MAGIC {
            return Err(FileError::Magic);
        }
        let digits: [u8; 4] = source.array()?;
        let text = std::str::from_utf8(&digits).ok();
        let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let version = text.and_then(|text| text.parse().ok());
        match version.ok_or(FileError::Magic)? {
            version @ 1..=VERSION_MAX => Ok(RdbFile {
                source,
                version,
                database: 0,
                is_over: false,
            }),
            version => Err(FileError::Version { version }),
        }
    }

    /// The number of bytes read.
    pub fn position(&self) -> u64 {
        self.source.at()
    }

    /// The next item; `None` behind the last one, when the file's checksum and end are right.
    ///
    /// # Errors
    /// The place at which the file is damaged, or has something that is not supported. Then the rest cannot be read.
    pub fn next_item(&mut self) -> Result<Option<Item>, FileError> {
        let (mut expires, mut is_of_key) = (None, false);
        while !self.is_over {
            self.source.begin();
            let at = self.source.at();
            let first = self.source.byte()?;
            if is_of_key && !matches!(first, ..mark::FIRST | mark::IDLE..=mark::FREQUENCY) {
                let what = "a time of a key without the key";
                return Err(FileError::Malformed { what, at });
            }
            match first {
                mark::EXPIRES_MILLIS => {
                    expires = Some(i64::from_le_bytes(self.source.array()?));
                    is_of_key = true;
                }
                mark::EXPIRES_SECONDS => {
                    let seconds = i32::from_le_bytes(self.source.array()?);
                    expires = Some(i64::from(seconds) * 1000);
                    is_of_key = true;
                }
                // Nothing is evicted, so that times of use have no meaning here.
                mark::IDLE => drop(self.source.length()?),
                mark::FREQUENCY => drop(self.source.byte()?),
                // The program that wrote it, and when.
                mark::FACT => {
                    self.source.text()?;
                    self.source.text()?;
                }
                // Hints of sizes.
                mark::SIZES => {
                    self.source.length()?;
                    self.source.length()?;
                }
                mark::SLOT => {
                    self.source.length()?;
                    self.source.length()?;
                    self.source.length()?;
                }
                mark::DATABASE => self.database = self.source.length()?,
                LIBRARY => return self.library(at).map(Some),
                mark::EARLY_LIBRARY => {
                    let what = "a function of a release candidate of Redis 7.0";
                    return Err(FileError::Refused { what, at });
                }
                mark::MODULE => {
                    let what = "data of a module of Redis";
                    return Err(FileError::Refused { what, at });
                }
                mark::END => self.end()?,
                kind => return self.key(at, kind, expires).map(Some),
            }
        }
        Ok(None)
    }

    fn library(&mut self, at: u64) -> Result<Item, FileError> {
        let from = self.source.kept_len();
        self.source.text()?;
        let code = self.kept(from, at + 1, |input| input.text())?;
        Ok(Item::Library(LibraryItem { at, code }))
    }

    fn key(&mut self, at: u64, kind: u8, expires: Option<i64>) -> Result<Item, FileError> {
        let database = self.database;
        let (from, named_at) = (self.source.kept_len(), self.source.at());
        self.source.text()?;
        let name = self.kept(from, named_at, |input| input.text())?;
        let name = name.map_err(|_| FileError::Refused {
            what: "a key of too many bytes",
            at: named_at,
        })?;
        let of_key = |error| FileError::OfKey {
            key: shown(&name),
            database,
            error: Box::new(error),
        };
        let (from, value_at) = (self.source.kept_len(), self.source.at());
        self.source.value(kind).map_err(|error| match error {
            // The type is before the name.
            FileError::Kind { kind, .. } => of_key(FileError::Kind { kind, at }),
            error => of_key(error),
        })?;
        let value = self.kept(from, value_at, |input| super::value(input, kind));
        let value = value.map_err(of_key)?;
        Ok(Item::Key(KeyItem {
            at,
            database,
            name,
            expires,
            value,
        }))
    }

    /// Reads the item's kept bytes from a place on, which is at an offset of the file. The inner error is that they are
    /// too many.
    fn kept<T>(
        &self,
        from: usize,
        at: u64,
        read: impl FnOnce(&mut Input<'_>) -> Result<T, RdbError>,
    ) -> Result<Result<T, RdbError>, FileError> {
        let Some(bytes) = self.source.kept(from) else {
            return Ok(Err(RdbError::TooLarge));
        };
        let most = Taken {
            bytes: DECODED_BYTES_MAX,
            elements: ELEMENTS_MAX,
        };
        let mut input = Input::bounded(bytes, most);
        let read = read(&mut input);
        // Within a compressed text, an offset is one of the text: then the place is at most the item's end.
        let at = |offset: usize| (at + offset as u64).min(self.source.at());
        match read {
            Ok(value) if input.is_empty() => Ok(Ok(value)),
            Ok(_) => {
                let what = "bytes behind a value";
                let at = at(input.at());
                Err(FileError::Malformed { what, at })
            }
            Err(RdbError::TooLarge) => Ok(Err(RdbError::TooLarge)),
            Err(RdbError::Malformed { what, at: offset }) => Err(FileError::Malformed {
                what,
                at: at(offset),
            }),
            Err(RdbError::Kind(kind)) => Err(FileError::Kind { kind, at: at(0) }),
            Err(RdbError::Short(offset)) => Err(FileError::Malformed {
                what: "a value that ends within an element",
                at: at(offset),
            }),
            Err(RdbError::Footer { .. }) => Err(FileError::Malformed {
                what: "a value with a footer",
                at: at(0),
            }),
        }
    }

    /// Checks the end: the checksum, and that nothing follows.
    fn end(&mut self) -> Result<(), FileError> {
        self.is_over = true;
        if self.version >= SUMMED_SINCE {
            let (at, found) = (self.source.at(), self.source.sum());
            let told = u64::from_le_bytes(self.source.array()?);
            // A Redis that makes no checksums writes 0.
            if told != 0 && told != found {
                return Err(FileError::Checksum { at, told, found });
            }
        }
        match self.source.is_at_end()? {
            true => Ok(()),
            false => Err(self.source.wrong("bytes behind the end")),
        }
    }
}

/// A key as messages show it: at most 64 bytes, with escapes.
pub fn shown(key: &[u8]) -> String {
    const SHOWN_MAX: usize = 64;
    match key.get(..SHOWN_MAX) {
        Some(front) if key.len() > SHOWN_MAX => format!("{}...", front.escape_ascii()),
        _ => key.escape_ascii().to_string(),
    }
}

/// The reason why a value of a file is not read.
pub(crate) fn too_large() -> String {
    format!(
        "the value has more than {ELEMENTS_MAX} elements, {DECODED_BYTES_MAX} bytes, or {TEXT_BYTES_MAX} bytes in one text"
    )
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test's own bytes")]
#[path = "file_tests.rs"]
mod tests;
