//! Whole values: a key's value as one [`Value`], and a value as a new key's, whose elements are rows as any others.
//!
//! Invariants: a value that was read and is put again is the same; reading takes room for all that is gathered.

use super::{
    Data, Elements, Entry, EntryId, Fields, Kind, Live, Pending, State, Stream, check_key,
};
use crate::failure::Failure;
use crate::rdb::{GroupValue, Id, PendingValue, StreamValue, Value};
use sardonyx::schema::VALUE_BYTES_MAX;

/// The refusal of an entry that is longer than a row's value.
const TOO_LARGE: Failure = Failure::Told("ERR Elements are too large to be stored");

/// Checks that all rows of a value can be stored.
///
/// # Errors
/// A name, or an entry of a stream, that is too long for a row.
pub(crate) fn check_storable(value: &Value) -> Result<(), Failure> {
    match value {
        Value::String(_) | Value::List(_) => Ok(()),
        Value::Set(members) => members.iter().try_for_each(|name| check_key(name)),
        Value::SortedSet(members) => members.iter().try_for_each(|(name, _)| check_key(name)),
        Value::Hash(fields) => fields.iter().try_for_each(|(name, _)| check_key(name)),
        Value::Stream(stream) => {
            for (_, parts) in &stream.entries {
                // No length of a part takes more bytes.
                const LENGTH_BYTES_MAX: usize = 10;
                let bytes: usize = parts.iter().map(|part| part.len() + LENGTH_BYTES_MAX).sum();
                if bytes > VALUE_BYTES_MAX {
                    return Err(TOO_LARGE);
                }
            }
            let groups = stream.groups.iter();
            let consumers = groups.clone().flat_map(|group| &group.consumers);
            let names = consumers.map(|(name, _)| name);
            names
                .chain(groups.map(|group| &group.name))
                .try_for_each(|name| check_key(name))
        }
    }
}

fn id_of(entry: EntryId) -> Id {
    (entry.ms, entry.seq)
}

fn entry_id((ms, seq): Id) -> EntryId {
    EntryId { ms, seq }
}

impl<S: State> Data<'_, S> {
    /// Reads a key's whole value.
    ///
    /// # Errors
    /// Its kind is unknown, or there is no room for it.
    pub fn whole_value(&mut self, key: &[u8], entry: &Entry) -> Result<Value, Failure> {
        let room = self.room;
        let value = match entry.kind {
            Kind::String => Value::String(self.string(key)?.unwrap_or_default()),
            Kind::Hash => Value::Hash(self.fields(entry)?),
            Kind::Set => Value::Set(self.names(entry)?),
            Kind::List => {
                let mut elements = Vec::new();
                self.walk_list(entry.id, entry.first, entry.end(), false, |_, element| {
                    elements.push(element.to_vec());
                    room.take(element.len())
                })?;
                Value::List(elements)
            }
            Kind::SortedSet => {
                let mut members = Vec::new();
                self.walk(entry, None, |row| {
                    let (member, score) = Elements::scored(row)?;
                    members.push((member.to_vec(), score));
                    Ok(room.take(member.len()))
                })?;
                Value::SortedSet(members)
            }
            Kind::Stream => Value::Stream(self.whole_stream(key)?),
            Kind::Unknown => return Err(Failure::WrongType),
        };
        room.check()?;
        Ok(value)
    }

    fn whole_stream(&mut self, key: &[u8]) -> Result<StreamValue, Failure> {
        let room = self.room;
        let Some(stream) = self.stream(key)? else {
            return Ok(StreamValue::default());
        };
        let mut value = StreamValue {
            last: id_of(stream.last),
            deleted: id_of(stream.deleted),
            added: stream.added,
            ..StreamValue::default()
        };
        let all = (EntryId::MIN, EntryId::MAX);
        self.walk_entries(stream.id(), all, false, &mut |id, packed| {
            let parts = Fields::unpack(packed).map(<[u8]>::to_vec).collect();
            value.entries.push((id_of(id), parts));
            room.take(packed.len())
        })?;
        for (name, group) in self.groups(stream.id())? {
            let consumers = self.consumers(group.number)?;
            let mut pending = Vec::new();
            self.walk_pending(group.number, None, all, false, &mut |there| {
                let place = consumers.binary_search_by(|(name, _)| name.cmp(&there.consumer));
                // A row of another program may name a consumer that is not there.
                if let Ok(consumer) = place {
                    pending.push(PendingValue {
                        id: id_of(there.entry),
                        consumer,
                        delivered: there.delivered,
                        deliveries: there.deliveries,
                    });
                }
                room.take(size_of::<PendingValue>())
            })?;
            value.groups.push(GroupValue {
                name,
                last: id_of(group.last),
                read: group.read,
                consumers,
                pending,
            });
        }
        Ok(value)
    }
}

impl Live<'_, '_> {
    /// Gives a key a value, where nothing is.
    ///
    /// # Errors
    /// A name that is too long for a row; the engine's.
    pub fn put_whole_value(
        &mut self,
        key: &[u8],
        value: &Value,
        expires: Option<i64>,
    ) -> Result<(), Failure> {
        let kind = match value {
            Value::String(_) => Kind::String,
            Value::List(_) => Kind::List,
            Value::Set(_) => Kind::Set,
            Value::SortedSet(_) => Kind::SortedSet,
            Value::Hash(_) => Kind::Hash,
            Value::Stream(value) => {
                let mut stream = self.create_stream(key)?;
                stream.entry.expires = expires;
                return self.put_in_stream(key, stream, value);
            }
        };
        let mut entry = Entry {
            expires,
            ..self.create(key, kind)?
        };
        self.put_elements(&mut entry, value)?;
        let text: &[u8] = match value {
            Value::String(string) => string,
            _ => &[],
        };
        self.insert_key(key, &entry, text)
    }

    /// Adds a part of a value to a key that has the parts before. The key and its elements' names are not compared.
    ///
    /// # Errors
    /// As [`Live::put_whole_value`]'s; that the key is none of this kind.
    pub fn extend_value(&mut self, key: &[u8], more: &Value) -> Result<(), Failure> {
        let gone = Failure::WrongType;
        if let Value::Stream(more) = more {
            let stream = self.stream_to_change(key)?.ok_or(gone)?;
            return self.put_in_stream(key, stream, more);
        }
        let before = self.entry_to_change(key)?.ok_or(gone)?;
        let mut after = before;
        self.put_elements(&mut after, more)?;
        self.resize(key, Some(&before), &after)
    }

    /// Adds elements, which are not there.
    fn put_elements(&mut self, entry: &mut Entry, value: &Value) -> Result<(), Failure> {
        match value {
            Value::List(elements) => {
                for element in elements {
                    self.insert_at(entry.id, entry.end(), element)?;
                    entry.length += 1;
                }
            }
            Value::Set(members) => {
                for member in members {
                    self.insert_member(entry.id, member)?;
                }
                entry.length += members.len() as u64;
            }
            Value::SortedSet(members) => {
                for (member, score) in members {
                    self.insert_score(entry.id, member, *score)?;
                }
                entry.length += members.len() as u64;
            }
            Value::Hash(fields) => {
                for (field, value) in fields {
                    self.put_field(entry.id, field, value)?;
                }
                entry.length += fields.len() as u64;
            }
            Value::String(_) | Value::Stream(_) => {}
        }
        Ok(())
    }

    /// Adds entries and groups to a stream, which has the value's counters then.
    fn put_in_stream(
        &mut self,
        key: &[u8],
        mut stream: Stream,
        value: &StreamValue,
    ) -> Result<(), Failure> {
        stream.entry.length += value.entries.len() as u64;
        stream.last = entry_id(value.last);
        stream.deleted = entry_id(value.deleted);
        stream.added = value.added;
        for (id, parts) in &value.entries {
            let fields = Fields::pack(parts.iter().map(Vec::as_slice));
            let fields = fields.ok_or(TOO_LARGE)?;
            self.insert_entry(&stream, entry_id(*id), &fields)?;
        }
        for group in &value.groups {
            let last = entry_id(group.last);
            let number = self.create_group(stream.id(), &group.name, last, group.read)?;
            for (name, seen) in &group.consumers {
                self.put_consumer(number, name, *seen)?;
            }
            for there in &group.pending {
                let Some((consumer, _)) = group.consumers.get(there.consumer) else {
                    continue;
                };
                let mut pending = Pending::new(entry_id(there.id), consumer, there.delivered);
                pending.deliveries = there.deliveries;
                self.keep_pending(number, &pending)?;
            }
        }
        self.keep_stream(key, &stream)
    }
}
