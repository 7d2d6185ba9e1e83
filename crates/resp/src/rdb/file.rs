//! The records of an RDB file: keys with their times and values, and libraries of functions.
//!
//! A file begins with `REDIS` and its version, and ends with a mark and the checksum of all before it. Older files
//! have no checksum. Records that are not data are skipped: facts of the server, sizes, and times of use.
//!
//! The checksum is at the end: a reader of [`Records`] has read records before it is known.

use super::input::Input;
use super::{LIBRARY, RdbError, VERSION_MAX, Value, checksum, value};

/// Marks before records.
mod mark {
    pub const AUXILIARY: u8 = 250;
    pub const SIZES: u8 = 251;
    pub const TIME_MS: u8 = 252;
    pub const TIME: u8 = 253;
    pub const DATABASE: u8 = 254;
    pub const END: u8 = 255;
    pub const IDLE: u8 = 248;
    pub const FREQUENCY: u8 = 249;
}

const MAGIC: &[u8] = b"REDIS";
/// Digits of the version.
const VERSION_DIGITS: usize = 4;
/// Versions before this one have no checksum.
const VERSION_SUMMED: u16 = 5;

/// A record of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// A key.
    Key {
        /// The number of its database.
        database: u64,
        /// Its name.
        key: Vec<u8>,
        /// When it expires, in milliseconds since 1970.
        expires: Option<i64>,
        /// The key's value.
        value: Value,
    },
    /// The code of a library of functions.
    Library(Vec<u8>),
}

/// The records of a file, in their order. The last is an error if the checksum is wrong.
#[derive(Debug)]
pub struct Records<'b> {
    bytes: &'b [u8],
    input: Input<'b>,
    version: u16,
    database: u64,
    is_ended: bool,
}

impl<'b> Records<'b> {
    /// Begins to read a file's bytes.
    ///
    /// # Errors
    /// The bytes do not begin like an RDB file, or are of a newer Redis.
    pub fn new(bytes: &'b [u8]) -> Result<Self, RdbError> {
        let mut input = Input::new(bytes);
        let digits = match input.take(MAGIC.len())? == MAGIC {
            true => input.take(VERSION_DIGITS)?,
            false => return Err(input.wrong("no RDB file: it does not begin with REDIS")),
        };
        let version = std::str::from_utf8(digits).ok();
        let version = version.and_then(|digits| digits.parse::<u16>().ok());
        let version = version.ok_or_else(|| input.wrong("a version that is no number"))?;
        match (1..=VERSION_MAX).contains(&version) {
            true => Ok(Records {
                bytes,
                input,
                version,
                database: 0,
                is_ended: false,
            }),
            false => Err(RdbError::Footer { version }),
        }
    }

    fn record(&mut self) -> Result<Option<Record>, RdbError> {
        let input = &mut self.input;
        let mut expires = None;
        loop {
            input.renew();
            match input.byte()? {
                mark::AUXILIARY => {
                    input.text()?;
                    input.text()?;
                }
                mark::SIZES => {
                    input.length()?;
                    input.length()?;
                }
                mark::TIME_MS => expires = Some(i64::from_le_bytes(input.array()?)),
                mark::TIME => {
                    let seconds = i32::from_le_bytes(input.array()?);
                    expires = Some(i64::from(seconds) * 1000);
                }
                mark::IDLE => drop(input.length()?),
                mark::FREQUENCY => drop(input.byte()?),
                mark::DATABASE => self.database = input.length()?,
                LIBRARY => return Ok(Some(Record::Library(input.text()?))),
                mark::END => {
                    let end = input.at();
                    let sum = match self.version < VERSION_SUMMED {
                        true => 0,
                        false => u64::from_le_bytes(input.array()?),
                    };
                    // A Redis that is set so writes 0 and no checksum.
                    let is_right =
                        sum == 0 || self.bytes.get(..end).map(|all| checksum(0, all)) == Some(sum);
                    return match is_right {
                        true => Ok(None),
                        false => Err(RdbError::Footer {
                            version: self.version,
                        }),
                    };
                }
                kind => {
                    let key = input.text()?;
                    return Ok(Some(Record::Key {
                        database: self.database,
                        key,
                        expires,
                        value: value(input, kind)?,
                    }));
                }
            }
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, RdbError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let record = self.record().transpose();
        self.is_ended = !matches!(record, Some(Ok(_)));
        record
    }
}
