//! Streams: their entries by id, and counters that include deleted entries.
//!
//! An entry is a row under the stream's id, found by its own. So adding one inserts its row and changes the key's. The
//! value of the key's row has the stream's last id, the number of entries added, and the greatest id deleted. The data
//! of consumers is in [`groups`] and [`pending`].
//!
//! Invariants: a stream may be empty, unlike other values; no entry has a greater id than the stream's last one.

mod entry_id;
mod fields;
mod groups;
mod pending;

pub(crate) use entry_id::EntryId;
pub(crate) use fields::Fields;
pub(crate) use groups::Group;
pub(crate) use pending::Pending;

use super::keys::Entry;
use super::tables::{PRIMARY, kv};
use super::{Data, Kind, Live, State, bytes, engine, whole};
use crate::failure::Failure;
use sardonyx::rows::{ReadRow, RowWriter};
use sardonyx::schema::{Value, ValueRef};

/// Numbers of the columns of `kv_stream`; that of an id's number is behind that of its time.
const MS: usize = 1;
const FIELDS: usize = 3;

/// Numbers of a stream's own in its key's value, each of 8 bytes.
const OWN: usize = 5;

impl EntryId {
    /// The id in the columns at a number and behind it.
    fn at(row: &(impl ReadRow + ?Sized), column: usize) -> Result<EntryId, Failure> {
        Ok(EntryId {
            ms: whole(engine(row.value_at(column))?) as u64,
            seq: whole(engine(row.value_at(column + 1))?) as u64,
        })
    }

    /// The values of these columns.
    fn set(self, row: &mut RowWriter<'_>, column: usize) {
        row.set(column, ValueRef::Int(self.ms.into()));
        row.set(column + 1, ValueRef::Int(self.seq.into()));
    }
}

/// A stream's key.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Stream {
    pub entry: Entry,
    /// True if the key has a row.
    is_there: bool,
    /// The greatest id that an entry has had, or that was set.
    pub last: EntryId,
    pub added: u64,
    /// The greatest id of an entry that was deleted by its id.
    pub deleted: EntryId,
}

impl Stream {
    fn of(entry: Entry, value: &[u8]) -> Stream {
        // A missing number is 0: another program wrote the row.
        let number = |at: usize| {
            let bytes = value.get(8 * at..8 * at + 8);
            bytes.map_or(0, |bytes| {
                bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
            })
        };
        let id = |at| EntryId {
            ms: number(at),
            seq: number(at + 1),
        };
        Stream {
            entry,
            is_there: true,
            last: id(0),
            added: number(2),
            deleted: id(3),
        }
    }

    /// The value of the key's row.
    fn value(&self) -> [u8; 8 * OWN] {
        let numbers = [
            self.last.ms,
            self.last.seq,
            self.added,
            self.deleted.ms,
            self.deleted.seq,
        ];
        let mut value = [0; 8 * OWN];
        for (place, number) in value.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        value
    }

    /// The id under which its entries are stored.
    pub fn id(&self) -> u64 {
        self.entry.id
    }

    /// The number of entries.
    pub fn length(&self) -> u64 {
        self.entry.length
    }
}

impl<S: State> Data<'_, S> {
    pub fn stream(&mut self, key: &[u8]) -> Result<Option<Stream>, Failure> {
        let Some(entry) = self.entry_of(key, Kind::Stream)? else {
            return Ok(None);
        };
        let row = self.row_of(key)?;
        row.map(|row| {
            let value = bytes(engine(row.value_at(kv::VALUE))?);
            Ok(Stream::of(entry, value))
        })
        .transpose()
    }

    /// Calls `each` with the entries of a stream from one id to another, both included, in their order or against it, until
    /// it returns false.
    pub fn walk_entries(
        &mut self,
        id: u64,
        (from, to): (EntryId, EntryId),
        reverse: bool,
        each: &mut dyn FnMut(EntryId, &[u8]) -> bool,
    ) -> Result<(), Failure> {
        if from > to {
            return Ok(());
        }
        let index = self.state.row_index(self.shared.numbers.stream, PRIMARY)?;
        let mut range = index.range_or_none((id, from.ms, from.seq)..=(id, to.ms, to.seq))?;
        loop {
            let row = if reverse {
                range.next_back()
            } else {
                range.next()
            };
            let Some(row) = row else { return Ok(()) };
            let row = row?;
            let fields = bytes(engine(row.value_at(FIELDS))?);
            if !each(EntryId::at(&row, MS)?, fields) {
                return Ok(());
            }
        }
    }

    /// True if the entry exists.
    pub fn has_entry(&mut self, id: u64, entry: EntryId) -> Result<bool, Failure> {
        let index = self.state.row_index(self.shared.numbers.stream, PRIMARY)?;
        Ok(index.get_by((id, entry.ms, entry.seq))?.is_some())
    }

    /// The id of the first entry, or of the last.
    fn edge(&mut self, stream: &Stream, reverse: bool) -> Result<Option<EntryId>, Failure> {
        let mut edge = None;
        let all = (EntryId::MIN, EntryId::MAX);
        self.walk_entries(stream.id(), all, reverse, &mut |id, _| {
            edge = Some(id);
            false
        })?;
        Ok(edge)
    }

    /// The id of a stream's first entry; the least one if it is empty.
    pub fn first_entry(&mut self, stream: &Stream) -> Result<EntryId, Failure> {
        Ok(self.edge(stream, false)?.unwrap_or(EntryId::MIN))
    }

    /// The id of a stream's last entry; the least one if it is empty.
    pub fn last_entry(&mut self, stream: &Stream) -> Result<EntryId, Failure> {
        Ok(self.edge(stream, true)?.unwrap_or(EntryId::MIN))
    }
}

impl Live<'_, '_> {
    /// A stream, for a command that will change it.
    pub fn stream_to_change(&mut self, key: &[u8]) -> Result<Option<Stream>, Failure> {
        match self.entry_to_change_of(key, Kind::Stream)? {
            Some(_) => self.stream(key),
            None => Ok(None),
        }
    }

    /// A new stream, which gets its key by [`Live::keep_stream`].
    pub fn create_stream(&mut self, key: &[u8]) -> Result<Stream, Failure> {
        let entry = self.create(key, Kind::Stream)?;
        Ok(Stream {
            is_there: false,
            ..Stream::of(entry, &[])
        })
    }

    /// Writes the value of a stream's key.
    pub fn keep_stream(&mut self, key: &[u8], stream: &Stream) -> Result<(), Failure> {
        let value = stream.value();
        if !stream.is_there {
            return self.insert_key(key, &stream.entry, &value);
        }
        let length = ValueRef::Int(stream.length().into());
        let columns = [(kv::VALUE, ValueRef::Bytes(&value)), (kv::LENGTH, length)];
        self.update_key(&stream.entry, &columns)
    }

    /// Adds an entry, which is not there, with [packed](Fields::pack) fields.
    pub fn insert_entry(
        &mut self,
        stream: &Stream,
        entry: EntryId,
        fields: &[u8],
    ) -> Result<(), Failure> {
        let mut row = RowWriter::new(FIELDS + 1);
        row.set(0, ValueRef::Int(stream.id().into()));
        entry.set(&mut row, MS);
        row.set(FIELDS, ValueRef::Bytes(fields));
        let table = self.shared.numbers.stream;
        Ok(self.state.rows_of(table)?.insert_row(&row)?)
    }

    /// Deletes an entry. Returns whether it was there.
    pub fn delete_entry(&mut self, stream: &Stream, entry: EntryId) -> Result<bool, Failure> {
        let numbers = [stream.id(), entry.ms, entry.seq];
        let key = numbers.map(|number| Value::Int(number.into()));
        let table = self.shared.numbers.stream;
        Ok(self.state.rows_of(table)?.delete(&key)?)
    }

    /// Deletes rows of a stream that has no key any more: its entries, and then its groups. As many at most; returns how
    /// many.
    pub(super) fn delete_stream(&mut self, id: u64, most: usize) -> Result<usize, Failure> {
        let mut done = self.delete_rows(self.shared.numbers.stream, id, most)?;
        while done < most {
            let Some(group) = self.first_group(id)? else {
                break;
            };
            done += self.delete_group_rows(group.number, most - done)?;
            if done < most {
                self.delete_group_row(&group)?;
                done += 1;
            }
        }
        Ok(done)
    }

    /// Gives another id entries and groups like those of a stream.
    pub(super) fn copy_stream(&mut self, from: u64, to: u64) -> Result<(), Failure> {
        self.copy_rows(self.shared.numbers.stream, from, to)?;
        self.copy_groups(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streams_value_says_what_it_remembers() {
        let entry = Entry {
            at: sardonyx::low_level::Address(0),
            id: 3,
            kind: Kind::Stream,
            length: 0,
            first: 0,
            expires: None,
        };
        let stream = Stream {
            last: EntryId {
                ms: 1 << 60,
                seq: 2,
            },
            added: u64::MAX,
            deleted: EntryId { ms: 4, seq: 5 },
            ..Stream::of(entry, &[])
        };
        assert_eq!(Stream::of(entry, &stream.value()), stream);
        assert_eq!(Stream::of(entry, &[1, 2]).last, EntryId::MIN);
    }
}
