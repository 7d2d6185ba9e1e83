//! Operations on one record. Each locks its key first, when it holds no page.

use super::memory::TableMemory;
use super::{CHANGE, READ, RECORDS, RecordError, Table};
use crate::operation::{Inverse, Operation, Recorded};
use crate::pages::{Area, Pages, Stop};
use sardonyx_lock::Mode;
use sardonyx_rows::Plain;
use sardonyx_storage::page::{Address, PageId};
use std::borrow::Cow;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// Gets the record of a key; `None` if there is none.
#[derive(Clone, Copy, Debug)]
pub struct Get<R: Plain> {
    pub(super) table: Table<R>,
    pub(super) key: R::Key,
    pub(super) to_change: bool,
}

impl<R: Plain> Get<R> {
    /// Locks the key as if to change it. Two transactions that read a record and then change it are a
    /// deadlock otherwise, and one runs again.
    pub fn to_change(self) -> Self {
        Get {
            to_change: true,
            ..self
        }
    }
}

/// Adds a record. [`RecordError::Duplicate`] if its key is there.
#[derive(Clone, Copy, Debug)]
pub struct Insert<R: Plain> {
    pub(super) table: Table<R>,
    pub(super) record: R,
}

/// Changes a record in place. Gives back what it was; `None` if there is none.
#[derive(Clone, Copy, Debug)]
pub struct Update<R: Plain, F> {
    pub(super) table: Table<R>,
    pub(super) key: R::Key,
    pub(super) change: F,
}

/// Deletes a record. Gives it back; `None` if there is none.
#[derive(Clone, Copy, Debug)]
pub struct Delete<R: Plain> {
    pub(super) table: Table<R>,
    pub(super) key: R::Key,
}

/// The inverse of the others: makes a key have a record, or none. It asks for no locks: only a
/// transaction that has changed the record may execute it, to undo that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restore<'a> {
    area: Area,
    key: Cow<'a, [u8]>,
    /// The record's bytes; `None`: there shall be none.
    record: Option<Cow<'a, [u8]>>,
}

/// A table's memory, if the handle is one of such records.
fn memory_of<R: Plain>(
    pages: &dyn Pages,
    table: Table<R>,
) -> Result<Arc<TableMemory>, RecordError> {
    let number = table.number();
    let memory = pages
        .table(Area(number))
        .filter(|memory| memory.is_of::<R>());
    memory.ok_or(RecordError::NoTable { number })
}

/// Locks a key. Returns what stands for it.
fn lock(
    pages: &mut dyn Pages,
    table: &TableMemory,
    key: &[u8],
    mode: Mode,
) -> Result<u64, RecordError> {
    let hash = table.hash(key);
    pages.lock_key(&RECORDS, hash, mode, mode == CHANGE)?;
    Ok(hash)
}

/// The bytes of a place, given its page's.
fn bytes_at<'p>(table: &TableMemory, page: &'p [u8], slot: usize) -> &'p [u8] {
    &page[slot * table.layout.stride..][..table.layout.stride]
}

/// Where the record of a key is; its page locked as `mode` means it.
fn find(
    pages: &dyn Pages,
    table: &TableMemory,
    hash: u64,
    key: &[u8],
    mode: Mode,
) -> Result<Option<(PageId, usize)>, RecordError> {
    let places = table.places(hash);
    table.check().map_err(Stop::from)?;
    for address in places {
        let (page, slot) = (address.page(), table.layout.slot(address));
        let bytes = match mode {
            READ => pages.read(page)?,
            _ => pages.read_to_write(page)?,
        };
        let there = table.layout.is_occupied(bytes, slot);
        if there && bytes_at(table, bytes, slot)[table.key.clone()] == *key {
            return Ok(Some((page, slot)));
        }
    }
    Ok(None)
}

/// The record at a place.
fn record_at<R: Plain>(
    pages: &dyn Pages,
    table: &TableMemory,
    (page, slot): (PageId, usize),
) -> Result<R, RecordError> {
    let bytes = bytes_at(table, pages.read(page)?, slot);
    Ok(R::read_from_bytes(bytes).expect("the stride is the record's size"))
}

/// Says that a place has a record, or none.
fn set_occupied(
    pages: &mut dyn Pages,
    table: &TableMemory,
    (page, slot): (PageId, usize),
    occupied: bool,
) -> Result<(), RecordError> {
    let (word, bit) = table.layout.occupancy(page, slot);
    let word = pages.write(page, word.offset_in_page()..word.offset_in_page() + 8)?;
    let bits = u64::from_le_bytes((&*word).try_into().expect("8 bytes"));
    let bits = if occupied { bits | bit } else { bits & !bit };
    word.copy_from_slice(&bits.to_le_bytes());
    Ok(())
}

/// Puts a record, whose key is not there, into a free place.
fn put(
    pages: &mut dyn Pages,
    table: &TableMemory,
    hash: u64,
    record: &[u8],
) -> Result<(), RecordError> {
    let (page, slot) = table.allocate(pages)?;
    let at = slot * table.layout.stride;
    let address: Address = table.layout.record(page, slot);
    let changed_before = pages.is_changed(page);
    let place = pages.write(page, at..at + record.len())?;
    let before = table.hash(&place[table.key.clone()]);
    place.copy_from_slice(record);
    set_occupied(pages, table, (page, slot), true)?;
    if !changed_before && before != hash {
        table.forget(before, address);
    }
    table.insert(hash, address);
    Ok(())
}

/// Takes a record out of its place.
fn take_out(
    pages: &mut dyn Pages,
    table: &TableMemory,
    place: (PageId, usize),
) -> Result<(), RecordError> {
    set_occupied(pages, table, place, false)?;
    table.has_room(place.0);
    Ok(())
}

/// Overwrites a record by one with the same key: the runs of words that differ.
fn overwrite(
    pages: &mut dyn Pages,
    table: &TableMemory,
    (page, slot): (PageId, usize),
    record: &[u8],
) -> Result<(), RecordError> {
    let at = slot * table.layout.stride;
    let before = pages.read_to_write(page)?;
    let differs = |word: &usize| before[at + word * 8..][..8] != record[word * 8..][..8];
    let words: Vec<usize> = (0..record.len() / 8).filter(differs).collect();
    // A word between two that differ costs less than a record of its own.
    for run in words.chunk_by(|word, next| next - word <= 2) {
        let (first, end) = (run[0] * 8, run[run.len() - 1] * 8 + 8);
        pages.write_bytes(page, at + first, &record[first..end])?;
    }
    Ok(())
}

/// The inverse that gives a key the record that it had.
fn restore<R: Plain>(table: Table<R>, key: &R::Key, record: Option<&R>) -> Inverse {
    Inverse::of(&Restore {
        area: Area(table.number()),
        key: Cow::Borrowed(key.as_bytes()),
        record: record.map(|record| Cow::Borrowed(record.as_bytes())),
    })
}

impl<R: Plain> Operation for Get<R> {
    type Output = Option<R>;
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<R>, RecordError> {
        let table = memory_of(pages, self.table)?;
        let key = self.key.as_bytes();
        let mode = if self.to_change { CHANGE } else { READ };
        let hash = lock(pages, &table, key, mode)?;
        match find(pages, &table, hash, key, READ)? {
            Some(place) => record_at(pages, &table, place).map(Some),
            None => Ok(None),
        }
    }
}

impl<R: Plain> Operation for Insert<R> {
    type Output = ();
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), RecordError> {
        let table = memory_of(pages, self.table)?;
        let bytes = self.record.as_bytes();
        let key = &bytes[table.key.clone()];
        let hash = lock(pages, &table, key, CHANGE)?;
        if find(pages, &table, hash, key, CHANGE)?.is_some() {
            let table = R::NAME;
            return Err(RecordError::Duplicate { table });
        }
        put(pages, &table, hash, bytes)
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        Some(restore(self.table, &key_of(&self.record), None))
    }
}

fn key_of<R: Plain>(record: &R) -> R::Key {
    use zerocopy::FromBytes;
    let key = &record.as_bytes()[R::KEY_OFFSET..][..size_of::<R::Key>()];
    R::Key::read_from_bytes(key).expect("the bytes of a key")
}

impl<R: Plain, F: Fn(&mut R)> Operation for Update<R, F> {
    type Output = Option<R>;
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<R>, RecordError> {
        let table = memory_of(pages, self.table)?;
        let key = self.key.as_bytes();
        let hash = lock(pages, &table, key, CHANGE)?;
        let Some(place) = find(pages, &table, hash, key, CHANGE)? else {
            return Ok(None);
        };
        let before: R = record_at(pages, &table, place)?;
        let mut after = before;
        (self.change)(&mut after);
        if after.as_bytes()[table.key.clone()] != *key {
            let table = R::NAME;
            return Err(RecordError::KeyChanged { table });
        }
        overwrite(pages, &table, place, after.as_bytes())?;
        Ok(Some(before))
    }

    fn inverse(&self, before: &Option<R>) -> Option<Inverse> {
        let before = before.as_ref()?;
        Some(restore(self.table, &self.key, Some(before)))
    }
}

impl<R: Plain> Operation for Delete<R> {
    type Output = Option<R>;
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Option<R>, RecordError> {
        let table = memory_of(pages, self.table)?;
        let key = self.key.as_bytes();
        let hash = lock(pages, &table, key, CHANGE)?;
        let Some(place) = find(pages, &table, hash, key, CHANGE)? else {
            return Ok(None);
        };
        let record = record_at(pages, &table, place)?;
        take_out(pages, &table, place)?;
        // Others may use its place until it comes back.
        pages.inverse_may_take(1);
        Ok(Some(record))
    }

    fn inverse(&self, record: &Option<R>) -> Option<Inverse> {
        let record = record.as_ref()?;
        Some(restore(self.table, &self.key, Some(record)))
    }
}

impl Operation for Restore<'_> {
    type Output = ();
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), RecordError> {
        let number = self.area.0;
        let table = pages.table(self.area);
        let table = table.ok_or(RecordError::NoTable { number })?;
        let fits = |record: &[u8]| {
            record.len() == table.layout.stride && record[table.key.clone()] == *self.key
        };
        if self.key.len() != table.key.len() || !self.record.as_deref().is_none_or(fits) {
            return Err(RecordError::Inverse { number });
        }
        let hash = table.hash(&self.key);
        let place = find(pages, &table, hash, &self.key, CHANGE)?;
        match (place, &self.record) {
            (Some(place), Some(record)) => overwrite(pages, &table, place, record),
            (Some(place), None) => take_out(pages, &table, place),
            (None, Some(record)) => put(pages, &table, hash, record),
            (None, None) => Ok(()),
        }
    }
}

impl Recorded for Restore<'_> {
    const NAME: &'static str = "sardonyx record restore";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend((self.key.len() as u16).to_le_bytes());
        into.extend(&*self.key);
        into.extend(self.record.as_deref().unwrap_or_default());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, bytes) = bytes.split_first_chunk()?;
        let (length, bytes) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (key, record) = bytes.split_at_checked(length)?;
        Some(Restore {
            area: Area(u16::from_le_bytes(*area)),
            key: Cow::Owned(key.to_vec()),
            // A record has its key in it, so it is never empty.
            record: (!record.is_empty()).then(|| Cow::Owned(record.to_vec())),
        })
    }
}
