//! Operations on one key.
//!
//! Each reads first, asks for its locks then, and writes last. So an operation that has to wait for a lock has nothing
//! to be undone.

use super::error::IndexError;
use super::locks::{EXIST, GAP, INDEX_KEYS, INSERT, MERGE, READ, UPDATE, inherit, object};
use super::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use super::{OrderedIndex, space};
use crate::operation::{Inverse, Operation, Recorded};
use crate::pages::{Area, Pages};
use sardonyx_storage::tree::{self, Intent, Place, find};
use std::borrow::Cow;

/// Gets the value of a key, `None` if it is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Get<'a> {
    /// Made by [`OrderedIndex::of`].
    pub index: OrderedIndex,
    /// Compared by its bytes.
    pub key: &'a [u8],
}

/// Adds an entry. [`IndexError::Duplicate`] if its key exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Insert<'a> {
    /// Made by [`OrderedIndex::of`].
    pub index: OrderedIndex,
    /// Compared by its bytes.
    pub key: &'a [u8],
    /// Kept as it is, without an order.
    pub value: &'a [u8],
}

/// Sets the value of a key, if it exists or not. Returns the former value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Put<'a> {
    /// Made by [`OrderedIndex::of`].
    pub index: OrderedIndex,
    /// Compared by its bytes.
    pub key: &'a [u8],
    /// Replaces the former value whole.
    pub value: &'a [u8],
}

/// Deletes the entry of a key. Gives back the value that it had, `None` if it was not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delete<'a> {
    /// Made by [`OrderedIndex::of`].
    pub index: OrderedIndex,
    /// Compared by its bytes.
    pub key: &'a [u8],
}

/// The inverse of the others: makes a key have a value, or none. It asks for no locks: only a
/// transaction that has changed the key may execute it, to undo that. When it puts a value back it
/// may need pages, as others may use the room of deleted entries; the operation that it undoes has
/// reserved them ([`crate::Pages::inverse_may_take`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restore<'a> {
    /// Made by [`OrderedIndex::of`].
    pub index: OrderedIndex,
    /// Compared by its bytes.
    pub key: Cow<'a, [u8]>,
    /// The value that it shall have; `None`: it shall not be there.
    pub value: Option<Cow<'a, [u8]>>,
}

/// Refuses a key or value that is too long.
fn check(key: &[u8], value: &[u8]) -> Result<(), IndexError> {
    let length = key.len();
    if length > KEY_BYTES_MAX {
        return Err(IndexError::KeyLength { length });
    }
    let length = value.len();
    if length > VALUE_BYTES_MAX {
        return Err(IndexError::ValueLength { length });
    }
    Ok(())
}

/// The place of a key, existing or not, in an index that has its first pages; the leaf locked to be
/// written.
fn find_to_write(pages: &mut dyn Pages, area: Area, key: &[u8]) -> Result<Place, IndexError> {
    space::prepare(pages, area)?;
    if let Some(place) = find(pages, area, key, Intent::Write)? {
        return Ok(place);
    }
    space::format(pages, area)?;
    let place = find(pages, area, key, Intent::Write)?;
    Ok(place.expect("an index that is made is there"))
}

/// The object of the first key from a place on, or of the index's end.
pub(super) fn next_object(
    pages: &dyn Pages,
    area: Area,
    place: Option<Place>,
) -> Result<u64, IndexError> {
    let settled = match place {
        Some(place) => place.settled(pages, area)?,
        None => None,
    };
    let Some(place) = settled else {
        return Ok(object(area, None));
    };
    Ok(object(area, place.entry(pages)?.map(|(key, _)| key)))
}

/// The inverse that makes a key have the value that it had.
fn restore(index: OrderedIndex, key: &[u8], value: Option<&Vec<u8>>) -> Inverse {
    let (key, value) = (
        Cow::Borrowed(key),
        value.map(|value| Cow::Borrowed(&value[..])),
    );
    Inverse::of(&Restore { index, key, value })
}

impl Operation for Get<'_> {
    type Output = Option<Vec<u8>>;
    type Error = IndexError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<Vec<u8>>, IndexError> {
        check(self.key, &[])?;
        let area = self.index.area;
        space::prepare(pages, area)?;
        let place = find(pages, area, self.key, Intent::Read)?;
        if let Some(place) = place.as_ref().filter(|place| place.found) {
            let value = place.entry(pages)?.map(|(_, value)| value.to_vec());
            pages.lock(&INDEX_KEYS, object(area, Some(self.key)), READ)?;
            return Ok(value);
        }
        let next = next_object(pages, area, place)?;
        pages.lock(&INDEX_KEYS, next, GAP)?;
        Ok(None)
    }
}

impl Operation for Insert<'_> {
    type Output = ();
    type Error = IndexError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), IndexError> {
        check(self.key, self.value)?;
        let area = self.index.area;
        let place = find_to_write(pages, area, self.key)?;
        if place.found {
            pages.lock(&INDEX_KEYS, object(area, Some(self.key)), READ)?;
            return Err(IndexError::Duplicate);
        }
        lock_new(pages, area, &place, self.key)?;
        tree::insert(pages, area, &place, self.key, self.value)
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        Some(restore(self.index, self.key, None))
    }
}

/// Locks a key that is not there, to insert it at its place.
fn lock_new(
    pages: &mut dyn Pages,
    area: Area,
    place: &Place,
    key: &[u8],
) -> Result<(), IndexError> {
    let next = next_object(pages, area, Some(place.clone()))?;
    let new = object(area, Some(key));
    pages.lock(&INDEX_KEYS, next, INSERT)?;
    pages.lock(&INDEX_KEYS, new, EXIST)?;
    Ok(inherit(pages, next, new)?)
}

impl Operation for Put<'_> {
    type Output = Option<Vec<u8>>;
    type Error = IndexError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<Vec<u8>>, IndexError> {
        check(self.key, self.value)?;
        let area = self.index.area;
        let place = find_to_write(pages, area, self.key)?;
        if !place.found {
            lock_new(pages, area, &place, self.key)?;
            tree::insert(pages, area, &place, self.key, self.value)?;
            return Ok(None);
        }
        let old = place.entry(pages)?.map(|(_, value)| value.to_vec());
        pages.lock(&INDEX_KEYS, object(area, Some(self.key)), UPDATE)?;
        if old.as_ref().is_some_and(|old| old.len() > self.value.len()) {
            pages.inverse_may_take(tree::pages_to_come_back(&place));
        }
        tree::replace(pages, area, &place, self.key, self.value)?;
        Ok(old)
    }

    fn inverse(&self, old: &Option<Vec<u8>>) -> Option<Inverse> {
        Some(restore(self.index, self.key, old.as_ref()))
    }
}

impl Operation for Delete<'_> {
    type Output = Option<Vec<u8>>;
    type Error = IndexError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<Vec<u8>>, IndexError> {
        check(self.key, &[])?;
        let area = self.index.area;
        space::prepare(pages, area)?;
        let place = find(pages, area, self.key, Intent::Write)?;
        let place = match place {
            Some(place) if place.found => place,
            place => {
                let next = next_object(pages, area, place)?;
                pages.lock(&INDEX_KEYS, next, GAP)?;
                return Ok(None);
            }
        };
        let old = place.entry(pages)?.map(|(_, value)| value.to_vec());
        let slot = place.slot + 1;
        let next = next_object(
            pages,
            area,
            Some(Place {
                slot,
                ..place.clone()
            }),
        )?;
        pages.lock(&INDEX_KEYS, object(area, Some(self.key)), EXIST)?;
        pages.lock(&INDEX_KEYS, next, MERGE)?;
        pages.inverse_may_take(tree::pages_to_come_back(&place));
        tree::remove(pages, area, &place)?;
        Ok(old)
    }

    fn inverse(&self, old: &Option<Vec<u8>>) -> Option<Inverse> {
        old.as_ref()
            .map(|old| restore(self.index, self.key, Some(old)))
    }
}

impl Operation for Restore<'_> {
    type Output = ();
    type Error = IndexError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), IndexError> {
        let (area, key) = (self.index.area, &self.key[..]);
        check(key, self.value.as_deref().unwrap_or_default())?;
        let place = find_to_write(pages, area, key)?;
        match &self.value {
            Some(value) if place.found => tree::replace(pages, area, &place, key, value),
            Some(value) => tree::insert(pages, area, &place, key, value),
            None if place.found => tree::remove(pages, area, &place),
            None => Ok(()),
        }
    }
}

impl Recorded for Restore<'_> {
    const NAME: &'static str = "ordered index: restore";

    /// Area (2 bytes), length of the key (2 bytes), the key, then 1 and the value, or 0.
    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.index.area.0.to_le_bytes());
        into.extend((self.key.len() as u16).to_le_bytes());
        into.extend_from_slice(&self.key);
        into.push(u8::from(self.value.is_some()));
        into.extend_from_slice(self.value.as_deref().unwrap_or_default());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, bytes) = bytes.split_first_chunk()?;
        let (length, bytes) = bytes.split_first_chunk()?;
        let (key, bytes) = bytes.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let (there, value) = bytes.split_first()?;
        let value = match there {
            0 if value.is_empty() => None,
            1 => Some(Cow::Owned(value.to_vec())),
            _ => return None,
        };
        let index = OrderedIndex::of(Area(u16::from_le_bytes(*area)));
        let key = Cow::Owned(key.to_vec());
        Some(Restore { index, key, value })
    }
}
