//! The rows of `kv`: which keys there are, of which kind, until when, and the values of strings.

use super::databases::KeyTables;
use super::layouts::KeyLayout;
use super::tables::{BY_ID, kv};
use super::{Data, Kind, Live, State, bytes, check_key, engine, whole};
use crate::event_classes::{EXPIRED, NEW};
use crate::failure::Failure;
use sardonyx::low_level::{Address, FixedRow};
use sardonyx::rows::{ReadRow, ReadRows, RowWriter};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::{ScanPlace, TableError, WriteRows};

/// The columns of a key's row, except a string's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Entry {
    /// The row's address; without a meaning before the row is written.
    pub at: Address,
    pub id: u64,
    pub kind: Kind,
    /// Elements; 0 of a string.
    pub length: u64,
    /// The position of a list's first element.
    pub first: i64,
    /// Milliseconds since 1970, if it expires.
    pub expires: Option<i64>,
}

/// The change of a key's expiry when the key is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// It has none.
    Never,
    /// The expiry stays as it was.
    Keep,
    /// The key expires at this time, in milliseconds since 1970.
    At(i64),
}

impl Entry {
    /// The columns of a row of `kv`.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn of(row: &impl ReadRow) -> Result<Entry, Failure> {
        let kind = match row.bytes_at(kv::KIND) {
            Some(name) => Kind::named(name),
            None => match engine(row.value_at(kv::KIND))? {
                ValueRef::Text(name) => Kind::named(name.as_bytes()),
                _ => None,
            },
        };
        let kind = kind.unwrap_or(Kind::Unknown);
        let expires = match engine(row.value_at(kv::EXPIRES))? {
            ValueRef::Timestamp(micros) => Some(micros.div_euclid(1000)),
            _ => None,
        };
        let mut entry = Entry {
            at: row.address().unwrap_or(Address(0)),
            id: number(row, kv::ID)?,
            kind,
            length: 0,
            first: 0,
            expires,
        };
        if kind != Kind::String {
            entry.length = number(row, kv::LENGTH)?;
            entry.first = number(row, kv::FIRST)? as i64;
        }
        Ok(entry)
    }

    /// True if the key has expired at `now`.
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}

impl<S: State> Data<'_, S> {
    /// A key's row, whether its time has come or not.
    pub(super) fn row_of(&self, key: &[u8]) -> Result<Option<S::Row<'_>>, Failure> {
        check_key(key)?;
        match self.pair {
            Some(KeyTables { kv: table, .. }) => {
                self.state.key_row(table, self.hash_of(table, key), key)
            }
            None => Ok(None),
        }
    }

    /// A key's row, by the places of its columns. [`None`] if that is not known in this way.
    #[inline]
    pub(super) fn fixed_row(&self, key: &[u8]) -> Option<Option<(FixedRow<'_>, &KeyLayout)>> {
        let table = self.pair?.kv;
        let hash = self.hash_of(table, key)?;
        let schema = self.state.row_schema(table)?;
        let layout = self.shared.layouts.keys(table, schema)?;
        let found = self.state.fixed_key(table, hash, key, layout)?;
        Some(found.map(|row| (row, layout)))
    }

    #[inline]
    fn any_entry(&self, key: &[u8]) -> Result<Option<Entry>, Failure> {
        check_key(key)?;
        match self.fixed_row(key) {
            Some(None) => return Ok(None),
            Some(Some((row, layout))) => {
                if let Some(entry) = layout.entry(&row) {
                    return Ok(Some(entry));
                }
            }
            None => {}
        }
        self.row_of(key)?.map(|row| Entry::of(&row)).transpose()
    }

    /// A key's entry, if the key exists.
    pub fn entry(&mut self, key: &[u8]) -> Result<Option<Entry>, Failure> {
        let entry = self.any_entry(key)?;
        let entry = entry.filter(|entry| !entry.is_expired(self.now));
        if entry.is_none() {
            self.missed(key)?;
        }
        Ok(entry)
    }

    /// The same, of a kind.
    pub fn entry_of(&mut self, key: &[u8], kind: Kind) -> Result<Option<Entry>, Failure> {
        match self.entry(key)? {
            Some(entry) if entry.kind != kind => Err(Failure::WrongType),
            entry => Ok(entry),
        }
    }

    /// The number of keys, including expired keys that no command has met since.
    pub fn count(&mut self) -> Result<u64, Failure> {
        Ok(match self.pair {
            Some(pair) => self.state.count_rows(pair.kv)?,
            None => 0,
        })
    }

    /// Calls `each` with the keys whose ids are greater, in the order of ids, until it returns false; at most `most`.
    /// Returns the last id, or `None` if there are no more.
    pub fn walk_ids(
        &mut self,
        after: u64,
        most: usize,
        mut each: impl FnMut(&[u8], &Entry) -> bool,
    ) -> Result<Option<u64>, Failure> {
        let now = self.now;
        let (Some(pair), Some(from)) = (self.pair, after.checked_add(1)) else {
            return Ok(None);
        };
        let index = self.state.row_index(pair.kv, BY_ID)?;
        for (seen, row) in index.range(from..)?.enumerate() {
            let row = row?;
            let entry = Entry::of(&row)?;
            let wanted =
                entry.is_expired(now) || each(bytes(engine(row.value_at(kv::KEY))?), &entry);
            if !wanted || seen + 1 == most {
                return Ok(Some(entry.id));
            }
        }
        Ok(None)
    }

    /// All keys, in no particular order.
    pub fn walk_keys(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), Failure> {
        let now = self.now;
        let Some(pair) = self.pair else {
            return Ok(());
        };
        for row in self.state.scan_rows(pair.kv, ScanPlace::default())? {
            let row = row?;
            if !Entry::of(&row)?.is_expired(now) {
                each(bytes(engine(row.value_at(kv::KEY))?));
            }
        }
        Ok(())
    }

    /// The greatest id of the database's keys.
    fn newest_id(&self) -> Result<Option<u64>, Failure> {
        let Some(pair) = self.pair else {
            return Ok(None);
        };
        let index = self.state.row_index(pair.kv, BY_ID)?;
        let last = index.range(0_u64..)?.next_back();
        let Some(row) = last else { return Ok(None) };
        Ok(Some(Entry::of(&row?)?.id))
    }

    /// Some key, all about as likely if ids are about as dense.
    pub fn random_key(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(newest) = self.newest_id()? else {
            return Ok(None);
        };
        let oldest = self.walk_ids(0, 1, |_, _| true)?.unwrap_or(newest);
        let width = newest.saturating_sub(oldest).saturating_add(1);
        let start = oldest.saturating_sub(1) + self.below(width);
        for after in [start, 0] {
            let mut found = None;
            self.walk_ids(after, usize::MAX, |key, _| {
                found = Some(key.to_vec());
                false
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl Live<'_, '_> {
    /// A key's entry, for a command that will change it: an expired key is deleted.
    pub fn entry_to_change(&mut self, key: &[u8]) -> Result<Option<Entry>, Failure> {
        match self.any_entry(key)? {
            Some(entry) if entry.is_expired(self.now) => {
                self.remove(key, &entry)?;
                self.event(EXPIRED, "expired", key)?;
                Ok(None)
            }
            entry => Ok(entry),
        }
    }

    /// The same, of a kind.
    pub fn entry_to_change_of(&mut self, key: &[u8], kind: Kind) -> Result<Option<Entry>, Failure> {
        match self.entry_to_change(key)? {
            Some(entry) if entry.kind != kind => Err(Failure::WrongType),
            entry => Ok(entry),
        }
    }

    /// Sets a key to a string, replacing any value. `before` is the result of [`Data::entry_to_change`].
    pub fn set_string(
        &mut self,
        key: &[u8],
        before: Option<Entry>,
        value: &[u8],
        expiry: Expiry,
    ) -> Result<(), Failure> {
        let expires = match (expiry, before) {
            (Expiry::Keep, Some(before)) => before.expires,
            (Expiry::At(at), _) => Some(at),
            _ => None,
        };
        match before {
            Some(before) if before.kind == Kind::String => {
                let value = (kv::VALUE, ValueRef::Bytes(value));
                if before.expires == expires {
                    return self.update_key(&before, &[value]);
                }
                self.move_expiry(key, before.expires, expires)?;
                self.update_key(&before, &[value, (kv::EXPIRES, timestamp(expires))])
            }
            before => {
                let entry = Entry {
                    expires,
                    ..self.new_entry(Kind::String)
                };
                match before {
                    None => self.insert_key(key, &entry, value),
                    Some(before) => {
                        self.remove(key, &before)?;
                        self.insert_silently(key, &entry, value)
                    }
                }
            }
        }
    }

    fn new_entry(&self, kind: Kind) -> Entry {
        let id = self.shared.next_id();
        Entry {
            at: Address(0),
            id,
            kind,
            length: 0,
            first: 0,
            expires: None,
        }
    }

    /// A new key without elements yet, which gets its row by [`Data::insert_key`].
    pub fn create(&mut self, key: &[u8], kind: Kind) -> Result<Entry, Failure> {
        check_key(key)?;
        Ok(self.new_entry(kind))
    }

    /// Puts a row for a key that has none.
    pub fn insert_key(&mut self, key: &[u8], entry: &Entry, value: &[u8]) -> Result<(), Failure> {
        self.insert_silently(key, entry, value)?;
        self.event(NEW, "new", key)
    }

    /// Replaces a key; if `after` has no elements, the key is only removed.
    pub fn replace(
        &mut self,
        key: &[u8],
        before: Option<&Entry>,
        after: &Entry,
    ) -> Result<(), Failure> {
        if let Some(before) = before {
            self.remove(key, before)?;
        }
        match (after.length, before) {
            (0, _) => Ok(()),
            (_, None) => self.insert_key(key, after, &[]),
            (_, Some(_)) => self.insert_silently(key, after, &[]),
        }
    }

    /// As [`Data::insert_key`], without the event.
    fn insert_silently(&mut self, key: &[u8], entry: &Entry, value: &[u8]) -> Result<(), Failure> {
        check_key(key)?;
        let pair = self.pair_to_change()?;
        if let Some(at) = entry.expires {
            self.insert_expiry(at, key)?;
        }
        if matches!(entry.kind, Kind::List | Kind::SortedSet | Kind::Stream) {
            self.note_filled(key);
        }
        // No row has the key: the command has looked for it, or deleted its row.
        let hash = self.hash_of(pair.kv, key);
        if let Some(inserted) = self.insert_by_layout((pair.kv, hash), (key, entry, value)) {
            return engine(inserted);
        }
        let row = [
            ValueRef::Bytes(key),
            ValueRef::Int(entry.id.into()),
            ValueRef::Text(entry.kind.name()),
            ValueRef::Bytes(value),
            ValueRef::Int(entry.length.into()),
            ValueRef::Int(entry.first.into()),
            timestamp(entry.expires),
        ];
        engine(self.state.insert_columns(pair.kv, hash, &row.map(Some)))
    }

    #[inline]
    pub(super) fn insert_by_layout(
        &mut self,
        (table, hash): (u16, Option<u64>),
        row: (&[u8], &Entry, &[u8]),
    ) -> Option<Result<(), TableError>> {
        let schema = self.state.row_schema(table)?;
        let layout = self.shared.layouts.keys(table, schema)?;
        layout.insert(self.state, (table, hash?), row)
    }

    /// A key came for which clients may wait, or a stream went.
    pub fn note_filled(&mut self, key: &[u8]) {
        if !self.shared.blocked.is_empty() {
            self.effects.listed().filled.add(self.database, key);
        }
    }

    pub(super) fn update_key(
        &mut self,
        entry: &Entry,
        columns: &[(usize, ValueRef<'_>)],
    ) -> Result<(), Failure> {
        let pair = self.pair_to_change()?;
        // The row was found in this transaction, and has not moved since.
        engine(self.state.set_columns(pair.kv, entry.at, columns))
    }

    /// Sets the number of a key's elements after a change: with none the key is deleted, with the first it is created.
    /// `before` is the entry of its row, if it has one.
    pub fn resize(
        &mut self,
        key: &[u8],
        before: Option<&Entry>,
        after: &Entry,
    ) -> Result<(), Failure> {
        match before {
            None if after.length == 0 => Ok(()),
            None => self.insert_key(key, after, &[]),
            Some(before) if after.length == 0 => self.remove_row(key, before),
            Some(before) if (before.length, before.first) == (after.length, after.first) => Ok(()),
            Some(before) => {
                if let Some(set) = self.set_counts(before, after) {
                    return engine(set);
                }
                let length = (kv::LENGTH, ValueRef::Int(after.length.into()));
                let first = (kv::FIRST, ValueRef::Int(after.first.into()));
                match (before.length == after.length, before.first == after.first) {
                    (true, true) => Ok(()),
                    (false, true) => self.update_key(before, &[length]),
                    (true, false) => self.update_key(before, &[first]),
                    (false, false) => self.update_key(before, &[length, first]),
                }
            }
        }
    }

    #[inline]
    pub(super) fn set_counts(
        &mut self,
        before: &Entry,
        after: &Entry,
    ) -> Option<Result<(), TableError>> {
        let table = self.pair?.kv;
        let schema = self.state.row_schema(table)?;
        let layout = self.shared.layouts.keys(table, schema)?;
        layout.set_counts(self.state, table, (before, after))
    }

    /// Gives a key another time, or none.
    pub fn set_expiry(
        &mut self,
        key: &[u8],
        entry: &Entry,
        expires: Option<i64>,
    ) -> Result<(), Failure> {
        if entry.expires == expires {
            return Ok(());
        }
        self.move_expiry(key, entry.expires, expires)?;
        self.update_key(entry, &[(kv::EXPIRES, timestamp(expires))])
    }

    fn move_expiry(
        &mut self,
        key: &[u8],
        before: Option<i64>,
        after: Option<i64>,
    ) -> Result<(), Failure> {
        if let Some(at) = before {
            self.delete_expiry(at, key)?;
        }
        match after {
            Some(at) => self.insert_expiry(at, key),
            None => Ok(()),
        }
    }

    fn insert_expiry(&mut self, at: i64, key: &[u8]) -> Result<(), Failure> {
        let mut row = RowWriter::new(2);
        row.set(0, timestamp(Some(at)));
        row.set(1, ValueRef::Bytes(key));
        let pair = self.pair_to_change()?;
        Ok(self.state.rows_of(pair.expiry)?.insert_row(&row)?)
    }

    fn delete_expiry(&mut self, at: i64, key: &[u8]) -> Result<(), Failure> {
        let key = [Value::Timestamp(micros(at)), Value::Bytes(key.to_vec())];
        let pair = self.pair_to_change()?;
        self.state.rows_of(pair.expiry)?.delete(&key)?;
        Ok(())
    }

    /// Deletes a key's row and its time; its elements are another's business.
    pub fn remove_row(&mut self, key: &[u8], entry: &Entry) -> Result<(), Failure> {
        if let Some(at) = entry.expires {
            self.delete_expiry(at, key)?;
        }
        if entry.kind == Kind::Stream {
            self.note_filled(key);
        }
        let pair = self.pair_to_change()?;
        let mut rows = self.state.rows_of(pair.kv)?;
        Ok(rows.delete_at(entry.at)?)
    }

    /// Renames a key's value to a name in a database, which must be free.
    pub fn rename(
        &mut self,
        key: &[u8],
        entry: &Entry,
        to: &[u8],
        database: u8,
    ) -> Result<(), Failure> {
        check_key(to)?;
        let value = self.value(key)?;
        self.remove_row(key, entry)?;
        self.within(database, |data| data.insert_key(to, entry, &value))
    }
}

/// A number of 64 bits of a row.
#[inline]
fn number(row: &impl ReadRow, column: usize) -> Result<u64, Failure> {
    match row.bytes_at(column).and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => Ok(u64::from_le_bytes(bytes)),
        None => Ok(whole(engine(row.value_at(column))?) as u64),
    }
}

pub(super) fn micros(at: i64) -> i64 {
    at.saturating_mul(1000)
}

fn timestamp<'v>(at: Option<i64>) -> ValueRef<'v> {
    at.map_or(ValueRef::Null, |at| ValueRef::Timestamp(micros(at)))
}
