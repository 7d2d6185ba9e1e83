//! The values of strings, whole or in part.
//!
//! A string of up to a page is read where it is. A longer one is in several cells, and gathering these takes long: a command
//! that needs the length or a part asks for that alone, and a part is changed in its own cells.
//!
//! Invariant: bytes that are gathered or passed are counted, since changes do not count them. So flights of such commands are
//! [divided](crate::pending).

use super::tables::kv;
use super::{Data, Entry, Expiry, Kind, Live, State, bytes, check_key, engine};
use crate::failure::Failure;
use sardonyx::rows::ReadRow;
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

/// Passing over bytes takes a small part of the time of gathering them: one word of each cell is read.
const PASSED_PER_GATHERED: usize = 32;
/// Strings up to this length are changed whole: they have few cells.
const WHOLE_BYTES_MAX: usize = 4 << 10;

/// A text, or bytes, of a row.
pub(crate) enum Text<'r> {
    /// Borrowed: nothing is to be gathered.
    Piece(&'r [u8]),
    /// A column of a row, and the count of bytes gathered.
    Column(&'r dyn ReadRow, usize, &'r Cell<usize>),
}

impl Text<'_> {
    pub fn len(&self) -> Result<usize, Failure> {
        match self {
            Text::Piece(bytes) => Ok(bytes.len()),
            Text::Column(row, column, _) => engine(row.length_at(*column)),
        }
    }

    #[inline]
    pub fn whole(&self) -> Result<&[u8], Failure> {
        match self {
            Text::Piece(bytes) => Ok(bytes),
            Text::Column(row, column, gathered) => {
                let bytes = bytes(engine(row.value_at(*column))?);
                add(gathered, bytes.len());
                Ok(bytes)
            }
        }
    }

    /// All of it; `None` if that is more than so many bytes.
    #[inline]
    pub fn up_to(&self, most: usize) -> Result<Option<&[u8]>, Failure> {
        match self.len()? <= most {
            true => self.whole().map(Some),
            false => Ok(None),
        }
    }

    /// Its first bytes: all, or so many.
    pub fn start(&self, most: usize) -> Result<Cow<'_, [u8]>, Failure> {
        Ok(match self.up_to(most)? {
            Some(whole) => Cow::Borrowed(whole),
            None => Cow::Owned(self.part(0..most)?),
        })
    }

    /// The bytes of a range, as far as it has them.
    pub fn part(&self, range: Range<usize>) -> Result<Vec<u8>, Failure> {
        match self {
            Text::Piece(bytes) => {
                let end = range.end.min(bytes.len());
                Ok(bytes[range.start.min(end)..end].to_vec())
            }
            Text::Column(row, column, gathered) => {
                let mut part = Vec::new();
                engine(row.part_at(*column, range.clone(), &mut part))?;
                let passed = range.start.min(self.len()?);
                add(gathered, passed / PASSED_PER_GATHERED + part.len());
                Ok(part)
            }
        }
    }
}

#[inline]
fn add(gathered: &Cell<usize>, bytes: usize) {
    gathered.set(gathered.get().saturating_add(bytes));
}

impl<S> Data<'_, S> {
    /// Counts bytes that a command has gathered.
    pub(super) fn gather(&self, bytes: usize) {
        add(&self.gathered, bytes);
    }
}

impl<S: State> Data<'_, S> {
    /// A key's row, and its value if it is a string, [by the places](Data::fixed_row) of its columns.
    #[inline]
    fn fixed_string(&self, key: &[u8]) -> Option<Option<(Entry, &[u8])>> {
        let Some((row, layout)) = self.fixed_row(key)? else {
            return Some(None);
        };
        let entry = layout.entry(&row)?;
        let value = match entry.kind {
            Kind::String => row.bytes(layout.value)?,
            _ => &[],
        };
        Some(Some((entry, value)))
    }

    /// Looks at a string, if there is one, which may be long.
    #[inline]
    pub fn with_text<T>(
        &mut self,
        key: &[u8],
        read: impl FnOnce(&Entry, Text<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        check_key(key)?;
        if let Some(found) = self.fixed_string(key) {
            let Some((entry, value)) = found.filter(|(entry, _)| !entry.is_expired(self.now))
            else {
                self.missed(key)?;
                return Ok(None);
            };
            return match entry.kind {
                Kind::String => read(&entry, Text::Piece(value)).map(Some),
                _ => Err(Failure::WrongType),
            };
        }
        let row = self.row_of(key)?;
        let there = row.map(|row| Ok::<_, Failure>((Entry::of(&row)?, row)));
        let there = there.transpose()?;
        let Some((entry, row)) = there.filter(|(entry, _)| !entry.is_expired(self.now)) else {
            self.missed(key)?;
            return Ok(None);
        };
        if entry.kind != Kind::String {
            return Err(Failure::WrongType);
        }
        read(&entry, Text::Column(&row, kv::VALUE, &self.gathered)).map(Some)
    }

    /// Looks at a whole string, if there is one.
    #[inline]
    pub fn with_string<T>(
        &mut self,
        key: &[u8],
        read: impl FnOnce(&Entry, &[u8]) -> T,
    ) -> Result<Option<T>, Failure> {
        self.with_text(key, |entry, text| Ok(read(entry, text.whole()?)))
    }

    pub fn string(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let room = self.room;
        let value = self.with_string(key, |_, value| {
            room.take(value.len()).then(|| value.to_vec())
        })?;
        room.check()?;
        Ok(value.flatten())
    }

    /// The length of a string; 0 if there is none.
    pub fn string_length(&mut self, key: &[u8]) -> Result<usize, Failure> {
        let length = self.with_text(key, |_, text| text.len())?;
        Ok(length.unwrap_or(0))
    }

    /// The bytes of a range of a string, as far as there is one that has them.
    pub fn string_part(&mut self, key: &[u8], range: Range<usize>) -> Result<Vec<u8>, Failure> {
        let part = self.with_text(key, |_, text| text.part(range))?;
        Ok(part.unwrap_or_default())
    }

    /// The value in a key's row: a string, or a stream's counters.
    pub fn value(&self, key: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(row) = self.row_of(key)? else {
            return Ok(Vec::new());
        };
        Ok(Text::Column(&row, kv::VALUE, &self.gathered)
            .whole()?
            .to_vec())
    }
}

impl Live<'_, '_> {
    /// Looks at a string, if there is one, for a command that will change it: an expired key is deleted.
    #[inline]
    pub fn text_to_change<T>(
        &mut self,
        key: &[u8],
        read: impl FnOnce(Text<'_>) -> Result<T, Failure>,
    ) -> Result<Option<(Entry, T)>, Failure> {
        check_key(key)?;
        let is_string = |entry: &Entry| entry.kind == Kind::String && !entry.is_expired(self.now);
        let entry = match self.fixed_string(key) {
            Some(None) => return Ok(None),
            Some(Some((entry, value))) => {
                if is_string(&entry) {
                    return Ok(Some((entry, read(Text::Piece(value))?)));
                }
                entry
            }
            None => {
                let Some(row) = self.row_of(key)? else {
                    return Ok(None);
                };
                let entry = Entry::of(&row)?;
                if is_string(&entry) {
                    let value = Text::Column(&row, kv::VALUE, &self.gathered);
                    return Ok(Some((entry, read(value)?)));
                }
                entry
            }
        };
        match entry.is_expired(self.now) {
            true => self.entry_to_change(key).map(|_| None),
            false => Err(Failure::WrongType),
        }
    }

    /// Overwrites bytes of a string from a place on; if the string ends before, zeroes come between. `before` is the result of
    /// [`Data::entry_to_change_of`], with the string's length. Returns its length after.
    pub fn overwrite(
        &mut self,
        key: &[u8],
        before: Option<(Entry, usize)>,
        (place, part): (usize, &[u8]),
    ) -> Result<usize, Failure> {
        let length = before.map_or(0, |(_, length)| length);
        let after = length.max(place + part.len());
        if let Some((entry, _)) = before {
            if after == length && part.is_empty() {
                return Ok(after);
            }
            if let Some(overwritten) = self.overwrite_long(&entry, length, (place, part)) {
                return overwritten.map(|()| after);
            }
        }
        let mut value = self.string(key)?.unwrap_or_default();
        value.resize(after, 0);
        value[place..][..part.len()].copy_from_slice(part);
        self.set_string(key, before.map(|(entry, _)| entry), &value, Expiry::Keep)?;
        Ok(after)
    }

    /// Overwrites bytes of a long string in its cells. `None` if that must be done otherwise.
    fn overwrite_long(
        &mut self,
        entry: &Entry,
        length: usize,
        part: (usize, &[u8]),
    ) -> Option<Result<(), Failure>> {
        if length <= WHOLE_BYTES_MAX {
            return None;
        }
        let column = (self.pair?.kv, kv::VALUE);
        // The row was found in this transaction, and has not moved since.
        let overwritten = self.state.overwrite_at(column, entry.at, part)?;
        self.gather(length / PASSED_PER_GATHERED);
        Some(engine(overwritten))
    }
}
