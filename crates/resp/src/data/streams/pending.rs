//! Pending entries: those that a group has delivered to a consumer, which has not acknowledged them.
//!
//! Each is a row under the group's number by the entry's id. An index has them by their consumers.

use super::EntryId;
use super::groups::{millis, timestamp};
use crate::data::tables::{BY_CONSUMER, PRIMARY};
use crate::data::{Data, Live, State, bytes, check_key, engine, whole};
use crate::failure::Failure;
use sardonyx::low_level::Address;
use sardonyx::rows::{ReadRow, RowWriter};
use sardonyx::schema::ValueRef;

/// Numbers of the columns of `kv_pending`.
const ENTRY: usize = 1;
const CONSUMER: usize = 3;
const DELIVERED: usize = 4;
const DELIVERIES: usize = 5;

/// A pending entry.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pending {
    /// The address of its row, if it has one that can be changed.
    at: Option<Address>,
    pub entry: EntryId,
    pub consumer: Vec<u8>,
    /// When it was delivered last, in milliseconds since 1970.
    pub delivered: i64,
    pub deliveries: u64,
}

impl Pending {
    /// One that is delivered for the first time.
    pub fn new(entry: EntryId, consumer: &[u8], delivered: i64) -> Pending {
        Pending {
            at: None,
            entry,
            consumer: consumer.to_vec(),
            delivered,
            deliveries: 1,
        }
    }

    fn of(row: &impl ReadRow) -> Result<Pending, Failure> {
        Ok(Pending {
            at: row.address(),
            entry: EntryId::at(row, ENTRY)?,
            consumer: bytes(engine(row.value_at(CONSUMER))?).to_vec(),
            delivered: millis(engine(row.value_at(DELIVERED))?),
            deliveries: whole(engine(row.value_at(DELIVERIES))?) as u64,
        })
    }
}

impl<S: State> Data<'_, S> {
    pub fn pending(&mut self, group: u64, entry: EntryId) -> Result<Option<Pending>, Failure> {
        let index = self.state.row_index(self.shared.numbers.pending, PRIMARY)?;
        let row = index.get_by((group, entry.ms, entry.seq))?;
        row.map(|row| Pending::of(&row)).transpose()
    }

    /// Calls `each` with the pending entries of a group, or of one of its consumers. They are between two ids, both
    /// included, in their order or against it; `each` returns false to stop.
    pub fn walk_pending(
        &mut self,
        group: u64,
        consumer: Option<&[u8]>,
        (from, to): (EntryId, EntryId),
        reverse: bool,
        each: &mut dyn FnMut(Pending) -> bool,
    ) -> Result<(), Failure> {
        if from > to {
            return Ok(());
        }
        let table = self.shared.numbers.pending;
        let mut range = match consumer {
            None => {
                let index = self.state.row_index(table, PRIMARY)?;
                index.range_or_none((group, from.ms, from.seq)..=(group, to.ms, to.seq))?
            }
            Some(name) => {
                check_key(name)?;
                let index = self.state.row_index(table, BY_CONSUMER)?;
                let key = |entry: EntryId| (group, name, entry.ms, entry.seq);
                index.range_or_none(key(from)..=key(to))?
            }
        };
        loop {
            let row = if reverse {
                range.next_back()
            } else {
                range.next()
            };
            let Some(row) = row else { return Ok(()) };
            if !each(Pending::of(&row?)?) {
                return Ok(());
            }
        }
    }

    /// The number of pending entries of a group, or of one of its consumers.
    pub fn count_pending(&mut self, group: u64, consumer: Option<&[u8]>) -> Result<u64, Failure> {
        let table = self.shared.numbers.pending;
        let Some(name) = consumer else {
            let index = self.state.row_index(table, PRIMARY)?;
            return Ok(index.count_range((group,)..=(group,))?);
        };
        check_key(name)?;
        let index = self.state.row_index(table, BY_CONSUMER)?;
        Ok(index.count_range((group, name)..=(group, name))?)
    }
}

impl Live<'_, '_> {
    /// Inserts a pending entry's row, or changes the one that it has.
    pub fn keep_pending(&mut self, group: u64, pending: &Pending) -> Result<(), Failure> {
        let mut row = RowWriter::new(DELIVERIES + 1);
        row.set(CONSUMER, ValueRef::Bytes(&pending.consumer));
        row.set(DELIVERED, timestamp(pending.delivered));
        row.set(DELIVERIES, ValueRef::Int(pending.deliveries.into()));
        if pending.at.is_none() {
            row.set(0, ValueRef::Int(group.into()));
            pending.entry.set(&mut row, ENTRY);
        }
        let mut rows = self.state.rows_of(self.shared.numbers.pending)?;
        match pending.at {
            Some(at) => rows.update_at(at, &row)?,
            None => rows.insert_row(&row)?,
        }
        Ok(())
    }

    /// Deletes a pending entry.
    pub fn delete_pending(&mut self, pending: &Pending) -> Result<(), Failure> {
        let mut rows = self.state.rows_of(self.shared.numbers.pending)?;
        if let Some(at) = pending.at {
            rows.delete_at(at)?;
        }
        Ok(())
    }

    /// Deletes the pending entries of a consumer. Returns how many there were.
    pub(super) fn delete_pending_of(&mut self, group: u64, name: &[u8]) -> Result<u64, Failure> {
        check_key(name)?;
        let mut rows = self.state.rows_of(self.shared.numbers.pending)?;
        // Their places only: there may be many.
        let mut places = Vec::new();
        for row in rows.index(BY_CONSUMER)?.prefix((group, name))? {
            places.push(row?.address());
        }
        for at in &places {
            rows.delete_at(*at)?;
        }
        Ok(places.len() as u64)
    }
}
