//! Small text files for people: lines of `key = value` in a fixed order, and a last one with the checksum of
//! those before.
//!
//! A text is accepted only if it is, byte for byte, the text that would be written for the same content. So
//! damage of any byte is noticed, and its place reported. A file is replaced whole by an atomic rename, so
//! that a crash at any step leaves the old text or the new one.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::disk::{Access, Create, Disk, DiskError};
use sardonyx_base::crc32c;
use std::fmt::Write;

/// Bytes that differ from every written text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file} is damaged at line {line} (offset {offset}): expected {expected}, found {found}")]
pub struct Misread {
    /// The damaged file, relative to the database's directory.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The start of the line, in bytes.
    pub offset: u64,
    /// The expected text.
    pub expected: String,
    /// The text found.
    pub found: String,
}

/// The text with its last line, the checksum of all before.
pub fn seal(mut text: String) -> String {
    let checksum = crc32c::crc32c(text.as_bytes());
    writeln!(text, "checksum = {checksum:08x}").expect("a string takes everything");
    text
}

/// Reads at most so many bytes of an existing file.
///
/// # Errors
/// The disk's; there is no such file.
pub fn read(disk: &dyn Disk, name: &str, bytes_max: usize) -> Result<Vec<u8>, DiskError> {
    let file = disk.open(name, Access::Buffered, Create::No)?;
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length.min(bytes_max)];
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Replaces a file in the disk's root, or writes the first one, durably, through one of the name `new`.
///
/// # Errors
/// The disk's. The file has the text of before, or this one.
pub fn replace(disk: &dyn Disk, name: &str, new: &str, text: &str) -> Result<(), DiskError> {
    if disk.list("")?.iter().any(|found| found == new) {
        disk.remove(new)?;
    }
    let file = disk.open(new, Access::Buffered, Create::New)?;
    file.write_at(0, text.as_bytes())?;
    file.sync()?;
    drop(file);
    disk.rename(new, name)?;
    disk.sync_directory("")
}

/// The lines of a text, with where they are.
#[derive(Debug)]
pub struct Lines<'a> {
    file: &'a str,
    text: &'a str,
    line: usize,
    offset: usize,
}

impl<'a> Lines<'a> {
    /// The lines of a file of this name.
    ///
    /// # Errors
    /// It is no text.
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Result<Self, Misread> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.valid_up_to();
                let (valid, rest) = bytes.split_at(at);
                let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
                let found = format!("byte {:#04x}", rest.first().copied().unwrap_or_default());
                let (expected, offset) = ("UTF-8 text".into(), at as u64);
                return Err(Misread {
                    file: file.into(),
                    line,
                    offset,
                    expected,
                    found,
                });
            }
        };
        Ok(Lines {
            file,
            text,
            line: 1,
            offset: 0,
        })
    }

    fn damaged(&self, expected: impl Into<String>, found: impl Into<String>) -> Misread {
        Misread {
            file: self.file.into(),
            line: self.line,
            offset: self.offset as u64,
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The line here, without its end, and its length with it.
    fn peek(&self) -> (&'a str, usize) {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        match rest.split_once('\n') {
            Some((line, _)) => (line, line.len() + 1),
            None => (rest, rest.len()),
        }
    }

    /// Refuses a text whose last line is not the checksum of those before.
    ///
    /// # Errors
    /// The place of the damage.
    pub fn check_checksum(&self) -> Result<(), Misread> {
        const KEY: &str = "checksum = ";
        let start = self.text.rfind(KEY).unwrap_or(self.text.len());
        let (before, found) = self.text.split_at(start);
        let lines = before.matches('\n').count();
        let here = Lines {
            file: self.file,
            text: self.text,
            line: lines + 1,
            offset: start,
        };
        let expected = format!("{KEY}{:08x}", crc32c::crc32c(before.as_bytes()));
        let found = found.strip_suffix('\n').unwrap_or(found);
        if found == expected {
            Ok(())
        } else {
            Err(here.damaged(expected, format!("{found:?}")))
        }
    }

    /// The value of the line here, which must have this key.
    ///
    /// # Errors
    /// It has another key, or another value.
    pub fn value<T>(&mut self, key: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Misread> {
        match self.text_of(key).and_then(parse) {
            Some(value) => {
                self.advance();
                Ok(value)
            }
            None => Err(self.without(key)),
        }
    }

    // The part that does not depend on the type of a value is compiled once.

    /// The value as text, if the line here has this key.
    fn text_of(&self, key: &str) -> Option<&'a str> {
        let (line, _) = self.peek();
        let (found, value) = line.split_once(" = ")?;
        (found == key).then_some(value)
    }

    fn advance(&mut self) {
        let (_, length) = self.peek();
        self.line += 1;
        self.offset += length;
    }

    fn without(&self, key: &str) -> Misread {
        let (line, _) = self.peek();
        self.damaged(format!("`{key} = <value>`"), format!("{line:?}"))
    }

    /// Takes the line with the version of the format, which must be this.
    ///
    /// # Errors
    /// It is another one.
    pub fn check_version(&mut self, version: u32) -> Result<(), Misread> {
        self.value("format_version", |text| {
            text.parse().ok().filter(|found: &u32| *found == version)
        })?;
        Ok(())
    }

    /// True if the line here has this key.
    pub fn has(&self, key: &str) -> bool {
        let (line, _) = self.peek();
        line.split_once(" = ")
            .is_some_and(|(found, _)| found == key)
    }

    /// Refuses a text that is not this one, byte for byte.
    ///
    /// # Errors
    /// The place of the difference.
    pub fn check_is(self, expected: &str) -> Result<(), Misread> {
        match self.text == expected {
            true => Ok(()),
            false => Err(self.first_difference(expected)),
        }
    }

    /// The error of a text with the right content in other bytes.
    fn first_difference(mut self, expected: &str) -> Misread {
        (self.line, self.offset) = (1, 0);
        for line in expected.lines() {
            let (found, length) = self.peek();
            if found != line {
                return self.damaged(format!("{line:?}"), format!("{found:?}"));
            }
            self.line += 1;
            self.offset += length;
        }
        let rest = self.text.get(self.offset..).unwrap_or_default();
        self.damaged("the end, after a line feed", format!("{rest:?}"))
    }
}
