//! The bytes of a file, read from its front and kept up to a bound: the extent of each value is found by its lengths alone.
//!
//! Invariants: a length promises nothing, as memory grows with the bytes that were read; the checksum covers every byte
//! that was taken.

use super::file::FileError;
use super::lengths::{INT8, INT16, INT32, LZF, Lengths};
use super::{checksum, kind};
use std::io::{BufRead, ErrorKind};

/// An item of more bytes is not kept: only its end is found.
pub(super) const ITEM_BYTES_MAX: usize = 1 << 30;

/// The unread rest of a file.
#[derive(Debug)]
pub(super) struct Source<R> {
    reader: R,
    /// The number of bytes taken.
    at: u64,
    /// Their checksum.
    sum: u64,
    /// The bytes of the present item.
    kept: Vec<u8>,
    kept_max: usize,
    /// The item has more bytes than are kept.
    is_over: bool,
}

impl<R: BufRead> Lengths for Source<R> {
    type Error = FileError;

    fn byte(&mut self) -> Result<u8, FileError> {
        self.array().map(|[byte]| byte)
    }

    fn wrong(&self, what: &'static str) -> FileError {
        FileError::Malformed { what, at: self.at }
    }
}

impl<R: BufRead> Source<R> {
    pub fn new(reader: R, kept_max: usize) -> Source<R> {
        Source {
            reader,
            at: 0,
            sum: 0,
            kept: Vec::new(),
            kept_max,
            is_over: false,
        }
    }

    /// The number of bytes taken.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The checksum of the bytes taken.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Forgets the kept bytes.
    pub fn begin(&mut self) {
        self.kept.clear();
        self.is_over = false;
    }

    /// The number of bytes kept.
    pub fn kept_len(&self) -> usize {
        self.kept.len()
    }

    /// The kept bytes from a place on; `None` if they are not all.
    pub fn kept(&self, from: usize) -> Option<&[u8]> {
        self.kept.get(from..).filter(|_| !self.is_over)
    }

    /// True if the file has no more bytes.
    pub fn is_at_end(&mut self) -> Result<bool, FileError> {
        Ok(self.ready()?.is_empty())
    }

    /// Some of the next bytes; none at the end.
    fn ready(&mut self) -> Result<&[u8], FileError> {
        // An interrupted call is repeated by the reader's users alone.
        while let Err(source) = self.reader.fill_buf() {
            if source.kind() != ErrorKind::Interrupted {
                return Err(FileError::Read {
                    at: self.at,
                    source,
                });
            }
        }
        let at = self.at;
        // The buffer is filled: this reads nothing.
        let ready = self.reader.fill_buf();
        ready.map_err(|source| FileError::Read { at, source })
    }

    /// Takes so many bytes.
    pub fn skip(&mut self, mut count: u64) -> Result<(), FileError> {
        while count > 0 {
            self.ready()?;
            let ready = self.reader.fill_buf().unwrap_or_default();
            let taken = usize::try_from(count).map_or(ready.len(), |count| count.min(ready.len()));
            let bytes = ready.get(..taken).unwrap_or_default();
            if bytes.is_empty() {
                return Err(FileError::Short { at: self.at });
            }
            self.sum = checksum(self.sum, bytes);
            self.is_over |= self.kept.len().saturating_add(taken) > self.kept_max;
            if !self.is_over {
                self.kept.extend_from_slice(bytes);
            }
            self.reader.consume(taken);
            self.at += taken as u64;
            count -= taken as u64;
        }
        Ok(())
    }

    /// Takes so many bytes, one for each place.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let mut array = [0; N];
        for place in &mut array {
            let at = self.at;
            let first = self.ready()?.first().copied();
            *place = first.ok_or(FileError::Short { at })?;
            self.skip(1)?;
        }
        Ok(array)
    }

    /// Takes a text, in whatever form.
    pub fn text(&mut self) -> Result<(), FileError> {
        match self.length_or_form()? {
            (length, None) => self.skip(length),
            (_, Some(INT8)) => self.skip(1),
            (_, Some(INT16)) => self.skip(2),
            (_, Some(INT32)) => self.skip(4),
            (_, Some(LZF)) => {
                let packed = self.length()?;
                self.length()?;
                self.skip(packed)
            }
            (_, Some(_)) => Err(self.wrong("a text in no form")),
        }
    }

    fn texts(&mut self, count: u64) -> Result<(), FileError> {
        (0..count).try_for_each(|_| self.text())
    }

    /// Takes a value of a type.
    pub fn value(&mut self, kind: u8) -> Result<(), FileError> {
        match kind {
            kind::STRING
            | kind::HASH_ZIPMAP
            | kind::LIST_ZIPLIST
            | kind::SET_INTSET
            | kind::SORTED_SET_ZIPLIST
            | kind::HASH_ZIPLIST
            | kind::HASH_LISTPACK
            | kind::SORTED_SET_LISTPACK
            | kind::SET_LISTPACK => self.text(),
            kind::LIST | kind::SET | kind::QUICKLIST => {
                let count = self.length()?;
                self.texts(count)
            }
            kind::HASH => {
                let count = self.length()?;
                self.texts(count)?;
                self.texts(count)
            }
            kind::SORTED_SET_TEXT => {
                for _ in 0..self.length()? {
                    self.text()?;
                    match self.byte()? {
                        // Not a number, and the infinities.
                        253.. => {}
                        length => self.skip(length.into())?,
                    }
                }
                Ok(())
            }
            kind::SORTED_SET => {
                for _ in 0..self.length()? {
                    self.text()?;
                    self.skip(8)?;
                }
                Ok(())
            }
            kind::QUICKLIST_2 => {
                for _ in 0..self.length()? {
                    self.length()?;
                    self.text()?;
                }
                Ok(())
            }
            kind::STREAM | kind::STREAM_2 | kind::STREAM_3 => self.stream(kind),
            kind => Err(FileError::Kind { kind, at: self.at }),
        }
    }

    fn lengths(&mut self, count: usize) -> Result<(), FileError> {
        (0..count).try_for_each(|_| self.length().map(drop))
    }

    fn stream(&mut self, form: u8) -> Result<(), FileError> {
        const ID_BYTES: u64 = 16;
        let has_more = form != kind::STREAM;
        let listpacks = self.length()?;
        self.texts(listpacks)?;
        self.texts(listpacks)?;
        // The number of entries, the last id; the first, the greatest deleted, the number of added ones.
        self.lengths(if has_more { 8 } else { 3 })?;
        for _ in 0..self.length()? {
            self.text()?;
            self.lengths(if has_more { 3 } else { 2 })?;
            for _ in 0..self.length()? {
                self.skip(ID_BYTES + 8)?;
                self.length()?;
            }
            for _ in 0..self.length()? {
                self.text()?;
                self.skip(if form == kind::STREAM_3 { 16 } else { 8 })?;
                let pending = self.length()?;
                self.skip(pending.saturating_mul(ID_BYTES))?;
            }
        }
        Ok(())
    }
}
