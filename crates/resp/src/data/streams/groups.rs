//! Groups of a stream's consumers: their read positions, and their consumers.
//!
//! A group has a number of its own from the keys' ids, under which its consumers and its pending entries are stored.
//! So the rest of a deleted group can be deleted later, and another group may have its name meanwhile.

use super::EntryId;
use crate::data::tables::PRIMARY;
use crate::data::{Data, Live, State, bytes, check_key, engine, whole};
use crate::failure::Failure;
use sardonyx::low_level::Address;
use sardonyx::rows::{ReadRow, RowWriter};
use sardonyx::schema::{Value, ValueRef};

/// Numbers of the columns of `kv_group`.
mod group {
    pub const ID: usize = 0;
    pub const NAME: usize = 1;
    pub const NUMBER: usize = 2;
    pub const LAST: usize = 3;
    pub const READ: usize = 5;
}

/// Numbers of the columns of `kv_consumer`.
mod consumer {
    pub const NAME: usize = 1;
    pub const SEEN: usize = 2;
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    at: Address,
    /// The number under which its consumers and pending entries are stored.
    pub number: u64,
    /// The last entry that was delivered.
    pub last: EntryId,
    /// The number of entries delivered; `None` if unknown.
    pub read: Option<i64>,
}

impl Group {
    fn of(row: &impl ReadRow) -> Result<Group, Failure> {
        let read = match engine(row.value_at(group::READ))? {
            ValueRef::Int(read) => Some(read as i64),
            _ => None,
        };
        Ok(Group {
            at: row.address().unwrap_or(Address(0)),
            number: whole(engine(row.value_at(group::NUMBER))?) as u64,
            last: EntryId::at(row, group::LAST)?,
            read,
        })
    }

    fn set(&self, row: &mut RowWriter<'_>) {
        self.last.set(row, group::LAST);
        let read = self.read.map(|read| ValueRef::Int(read.into()));
        row.set(group::READ, read.unwrap_or(ValueRef::Null));
    }
}

/// The time of a column, in milliseconds since 1970.
pub(super) fn millis(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Timestamp(micros) => micros.div_euclid(1000),
        _ => 0,
    }
}

pub(super) fn timestamp<'v>(millis: i64) -> ValueRef<'v> {
    ValueRef::Timestamp(millis.saturating_mul(1000))
}

impl<S: State> Data<'_, S> {
    pub fn group(&mut self, stream: u64, name: &[u8]) -> Result<Option<Group>, Failure> {
        check_key(name)?;
        let index = self.state.row_index(self.shared.numbers.group, PRIMARY)?;
        let row = index.get_by((stream, name))?;
        row.map(|row| Group::of(&row)).transpose()
    }

    /// All groups of a stream with their names, in their order.
    pub fn groups(&mut self, stream: u64) -> Result<Vec<(Vec<u8>, Group)>, Failure> {
        let (mut groups, room) = (Vec::new(), self.room);
        let index = self.state.row_index(self.shared.numbers.group, PRIMARY)?;
        for row in index.prefix(stream)? {
            let row = row?;
            let name = bytes(engine(row.value_at(group::NAME))?);
            groups.push((name.to_vec(), Group::of(&row)?));
            if !room.take(name.len() + size_of::<Group>()) {
                break;
            }
        }
        room.check()?;
        Ok(groups)
    }

    pub(super) fn first_group(&mut self, stream: u64) -> Result<Option<Group>, Failure> {
        let index = self.state.row_index(self.shared.numbers.group, PRIMARY)?;
        let row = index.prefix(stream)?.next();
        row.map(|row| Group::of(&row?)).transpose()
    }

    pub fn count_groups(&mut self, stream: u64) -> Result<u64, Failure> {
        let index = self.state.row_index(self.shared.numbers.group, PRIMARY)?;
        Ok(index.count_range((stream,)..=(stream,))?)
    }

    /// When a consumer of a group was seen last, in milliseconds since 1970; `None` if there is no such consumer.
    pub fn consumer(&mut self, group: u64, name: &[u8]) -> Result<Option<i64>, Failure> {
        check_key(name)?;
        let index = self
            .state
            .row_index(self.shared.numbers.consumer, PRIMARY)?;
        let row = index.get_by((group, name))?;
        row.map(|row| Ok(millis(engine(row.value_at(consumer::SEEN))?)))
            .transpose()
    }

    /// All consumers of a group, and when each was seen last, in the order of their names.
    pub fn consumers(&mut self, group: u64) -> Result<Vec<(Vec<u8>, i64)>, Failure> {
        let (mut consumers, room) = (Vec::new(), self.room);
        let index = self
            .state
            .row_index(self.shared.numbers.consumer, PRIMARY)?;
        for row in index.prefix(group)? {
            let row = row?;
            let name = bytes(engine(row.value_at(consumer::NAME))?);
            let seen = millis(engine(row.value_at(consumer::SEEN))?);
            consumers.push((name.to_vec(), seen));
            if !room.take(name.len()) {
                break;
            }
        }
        room.check()?;
        Ok(consumers)
    }

    pub fn count_consumers(&mut self, group: u64) -> Result<u64, Failure> {
        let index = self
            .state
            .row_index(self.shared.numbers.consumer, PRIMARY)?;
        Ok(index.count_range((group,)..=(group,))?)
    }
}

impl Live<'_, '_> {
    /// Adds a group, whose name is free. Returns its number.
    pub fn create_group(
        &mut self,
        stream: u64,
        name: &[u8],
        last: EntryId,
        read: Option<i64>,
    ) -> Result<u64, Failure> {
        check_key(name)?;
        let number = self.shared.next_id();
        let group = Group {
            at: Address(0),
            number,
            last,
            read,
        };
        self.insert_group(stream, name, &group)?;
        Ok(number)
    }

    fn insert_group(&mut self, stream: u64, name: &[u8], group: &Group) -> Result<(), Failure> {
        let mut row = RowWriter::new(group::READ + 1);
        row.set(group::ID, ValueRef::Int(stream.into()));
        row.set(group::NAME, ValueRef::Bytes(name));
        row.set(group::NUMBER, ValueRef::Int(group.number.into()));
        group.set(&mut row);
        let table = self.shared.numbers.group;
        Ok(self.state.rows_of(table)?.insert_row(&row)?)
    }

    /// Writes up to where a group has read.
    pub fn keep_group(&mut self, group: &Group) -> Result<(), Failure> {
        let mut row = RowWriter::new(group::READ + 1);
        group.set(&mut row);
        let table = self.shared.numbers.group;
        Ok(self.state.rows_of(table)?.update_at(group.at, &row)?)
    }

    pub(super) fn delete_group_row(&mut self, group: &Group) -> Result<(), Failure> {
        let table = self.shared.numbers.group;
        Ok(self.state.rows_of(table)?.delete_at(group.at)?)
    }

    /// Deletes a group: a bounded number of its rows at once, and the rest later.
    pub fn delete_group(&mut self, group: &Group) -> Result<(), Failure> {
        self.delete_group_row(group)?;
        self.remove_group_rows(group.number)
    }

    /// Deletes the rows of a deleted group: `most` rows at most. Returns their number.
    pub(in crate::data) fn delete_group_rows(
        &mut self,
        group: u64,
        most: usize,
    ) -> Result<usize, Failure> {
        let numbers = self.shared.numbers;
        let pending = self.delete_rows(numbers.pending, group, most)?;
        let consumers = self.delete_rows(numbers.consumer, group, most - pending)?;
        Ok(pending + consumers)
    }

    /// Adds a consumer. Returns whether it is new.
    pub fn create_consumer(&mut self, group: u64, name: &[u8]) -> Result<bool, Failure> {
        if self.consumer(group, name)?.is_some() {
            return Ok(false);
        }
        self.see_consumer(group, name)?;
        Ok(true)
    }

    /// A consumer is seen now; it is added if it is not there.
    pub fn see_consumer(&mut self, group: u64, name: &[u8]) -> Result<(), Failure> {
        self.put_consumer(group, name, self.now)
    }

    /// Writes when a consumer was seen, in milliseconds since 1970.
    pub fn put_consumer(&mut self, group: u64, name: &[u8], seen: i64) -> Result<(), Failure> {
        check_key(name)?;
        let mut row = RowWriter::new(consumer::SEEN + 1);
        row.set(0, ValueRef::Int(group.into()));
        row.set(consumer::NAME, ValueRef::Bytes(name));
        row.set(consumer::SEEN, timestamp(seen));
        let table = self.shared.numbers.consumer;
        self.state.rows_of(table)?.put_row(&row)?;
        Ok(())
    }

    /// Deletes a consumer with its pending entries. Returns how many it had.
    pub fn delete_consumer(&mut self, group: u64, name: &[u8]) -> Result<u64, Failure> {
        check_key(name)?;
        let key = [Value::Int(group.into()), Value::Bytes(name.to_vec())];
        let table = self.shared.numbers.consumer;
        match self.state.rows_of(table)?.delete(&key)? {
            true => self.delete_pending_of(group, name),
            false => Ok(0),
        }
    }

    /// Gives a stream groups like those of another.
    pub(super) fn copy_groups(&mut self, from: u64, to: u64) -> Result<(), Failure> {
        for (name, group) in self.groups(from)? {
            let number = self.shared.next_id();
            let numbers = self.shared.numbers;
            self.copy_rows(numbers.consumer, group.number, number)?;
            self.copy_rows(numbers.pending, group.number, number)?;
            self.insert_group(to, &name, &Group { number, ..group })?;
        }
        Ok(())
    }
}
