//! The elements of hashes, sets and sorted sets: rows under a key's id.

use super::columns::element::{ID, NAME};
use super::layouts::AtHint;
use super::places::Place;
use super::tables::{BY_SCORE, PRIMARY};
use super::{Data, Entry, Hashes, Kind, Live, State, Text, below, bytes, check_key, engine};
use crate::failure::Failure;
use sardonyx::low_level::Address;
use sardonyx::rows::{ReadRow, RowWriter};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::WriteRows;
use std::ops::Bound;

/// Of a key with so many elements, one is drawn by a walk.
const WALKED_MAX: u64 = 32;

/// To count a member of a sorted set takes as long as to gather so many bytes.
const COUNTED_BYTES: usize = 8;

/// The number of a column of hashes.
const VALUE: usize = 2;

/// A field, or a member with its score, and the other columns of its row.
pub(crate) struct Elements;

/// A field and its value.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// The beginning of a key of an index.
type Key<'v> = Vec<ValueRef<'v>>;

impl Elements {
    /// A hash's field and value.
    pub fn field(row: &(impl ReadRow + ?Sized)) -> Result<(&[u8], &[u8]), Failure> {
        Ok((
            bytes(engine(row.value_at(NAME))?),
            bytes(engine(row.value_at(VALUE))?),
        ))
    }

    /// A member's name.
    pub fn name(row: &(impl ReadRow + ?Sized)) -> Result<&[u8], Failure> {
        Ok(bytes(engine(row.value_at(NAME))?))
    }

    /// A sorted set's member and its score.
    pub fn scored(row: &(impl ReadRow + ?Sized)) -> Result<(&[u8], f64), Failure> {
        Ok((bytes(engine(row.value_at(NAME))?), score(row)?))
    }
}

fn score(row: &(impl ReadRow + ?Sized)) -> Result<f64, Failure> {
    match engine(row.value_at(VALUE))? {
        ValueRef::Float(score) => Ok(score),
        _ => Err(Failure::Told("ERR table kv_zset has a row without a score")),
    }
}

impl<S: State> Data<'_, S> {
    fn elements_table(&self, kind: Kind) -> u16 {
        self.table_of(kind).unwrap_or(self.shared.numbers.hash)
    }

    /// An element's row: at its last known address, or else found by the index.
    fn element(&self, kind: Kind, id: u64, name: &[u8]) -> Result<Option<S::Row<'_>>, Failure> {
        check_key(name)?;
        let (places, table) = (&self.shared.places, self.elements_table(kind));
        let place = self.place_of(id, name);
        if let Some(row) = self.hinted(place, table, id, name)? {
            return Ok(Some(row));
        }
        let row = self.state.row_index(table, PRIMARY)?.get_by((id, name))?;
        if let Some(row) = &row {
            self.state.note(places, place, table, row.address());
        }
        Ok(row)
    }

    /// The place of an element's hint: the one that was asked for ahead, if the command names the element.
    #[inline]
    fn place_of(&self, id: u64, name: &[u8]) -> Place {
        let known = |(line, hashes): (_, &Hashes)| hashes.element(line, id, name);
        let known = self.hashed.and_then(known);
        known.unwrap_or_else(|| self.shared.places.of(id, name))
    }

    /// An element's row, if it is at its last known address.
    #[inline]
    fn hinted(
        &self,
        place: Place,
        table: u16,
        id: u64,
        name: &[u8],
    ) -> Result<Option<S::Row<'_>>, Failure> {
        let row = self.state.hinted(&self.shared.places, place, table)?;
        let Some(row) = row else { return Ok(None) };
        let is_it = match (row.bytes_at(ID), row.bytes_at(NAME)) {
            // As the row has them.
            (Some(of), Some(there)) => of == id.to_le_bytes() && there == name,
            _ => {
                engine(row.value_at(ID))? == ValueRef::Int(id.into())
                    && Elements::name(&row)? == name
            }
        };
        Ok(is_it.then_some(row))
    }

    /// As [`Data::hinted`], the row's address alone, by the places of its columns.
    #[inline]
    pub(super) fn at_hint(&self, kind: Kind, place: Place, id: u64, name: &[u8]) -> AtHint {
        let table = self.elements_table(kind);
        let schema = self.state.row_schema(table)?;
        let layout = self.shared.layouts.elements(table, schema)?;
        let found = (self.state).fixed_hinted(&self.shared.places, place, table, &layout.schema)?;
        let Some(row) = found else { return Some(None) };
        Some(layout.is(&row, id, name)?.then(|| row.address()))
    }

    /// Looks at a field's value, if there is such a field.
    pub fn with_field<T>(
        &mut self,
        id: u64,
        field: &[u8],
        read: impl FnOnce(Text<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let row = self.element(Kind::Hash, id, field)?;
        row.map(|row| read(Text::Column(&row, VALUE, &self.gathered)))
            .transpose()
    }

    /// A field's value.
    pub fn field(&mut self, id: u64, field: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let Some(row) = self.element(Kind::Hash, id, field)? else {
            return Ok(None);
        };
        let value = bytes(engine(row.value_at(VALUE))?);
        self.room.take(value.len());
        self.room.check()?;
        Ok(Some(value.to_vec()))
    }

    /// True if there is such a field or member.
    pub fn has(&mut self, kind: Kind, id: u64, name: &[u8]) -> Result<bool, Failure> {
        Ok(self.element(kind, id, name)?.is_some())
    }

    pub fn score(&mut self, id: u64, member: &[u8]) -> Result<Option<f64>, Failure> {
        let row = self.element(Kind::SortedSet, id, member)?;
        row.map(|row| score(&row)).transpose()
    }

    /// Calls `each` with the elements of a key in the order of their names, behind one if it is given, until it returns
    /// false.
    pub fn walk(
        &mut self,
        entry: &Entry,
        after: Option<&[u8]>,
        mut each: impl FnMut(&dyn ReadRow) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let index = self
            .state
            .row_index(self.elements_table(entry.kind), PRIMARY)?;
        let id = ValueRef::Int(entry.id.into());
        let from: Bound<Key<'_>> = match after {
            None => Bound::Included(vec![id]),
            Some(name) => Bound::Excluded(vec![id, ValueRef::Bytes(name)]),
        };
        for row in index.range((from, Bound::Included(vec![id])))? {
            if !each(&row?)? {
                break;
            }
        }
        Ok(())
    }

    /// The names of all elements of a key, in their order.
    pub fn names(&mut self, entry: &Entry) -> Result<Vec<Vec<u8>>, Failure> {
        let (mut names, room) = (Vec::new(), self.room);
        self.walk(entry, None, |row| {
            let name = Elements::name(row)?;
            names.push(name.to_vec());
            Ok(room.take(name.len()))
        })?;
        Ok(names)
    }

    /// The fields and values of a hash, in the fields' order.
    pub fn fields(&mut self, entry: &Entry) -> Result<Vec<Pair>, Failure> {
        let (mut fields, room) = (Vec::new(), self.room);
        self.walk(entry, None, |row| {
            let (field, value) = Elements::field(row)?;
            fields.push((field.to_vec(), value.to_vec()));
            Ok(room.take(field.len() + value.len()))
        })?;
        Ok(fields)
    }

    /// Reads one of a key's elements, each as likely as the others. Costs about the same of few elements and of many.
    pub fn with_any<T>(
        &mut self,
        entry: &Entry,
        read: impl FnOnce(&dyn ReadRow) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let table = self.elements_table(entry.kind);
        let random = &mut self.random;
        let index = self.state.row_index(table, PRIMARY)?;
        if entry.length > WALKED_MAX
            && let Some(row) = index.draw(entry.id, &mut |bound| below(random, bound))?
        {
            return read(&row).map(Some);
        }
        let number = below(random, entry.length);
        let mut range = index.prefix(entry.id)?;
        let row = match number <= entry.length / 2 {
            true => range.nth(number as usize),
            false => range.nth_back((entry.length - 1 - number) as usize),
        };
        let Some(row) = row else { return Ok(None) };
        read(&row?).map(Some)
    }

    /// The name of one of a key's elements, each as likely as the others.
    pub fn any_name(&mut self, entry: &Entry) -> Result<Option<Vec<u8>>, Failure> {
        self.with_any(entry, |row| Ok(Elements::name(row)?.to_vec()))
    }

    /// Calls `each` with the members of a sorted set between two bounds in the order of scores, or against it, until it
    /// returns false. A bound is a score, or a score and a member; without one, the sorted set's end.
    pub fn walk_scores(
        &mut self,
        id: u64,
        bounds: (Bound<Key<'_>>, Bound<Key<'_>>),
        reverse: bool,
        each: &mut dyn FnMut(&[u8], f64) -> bool,
    ) -> Result<(), Failure> {
        self.walk_index(BY_SCORE, id, bounds, reverse, each)
    }

    /// The same in the order of members; a bound is a member.
    pub fn walk_members(
        &mut self,
        id: u64,
        bounds: (Bound<Key<'_>>, Bound<Key<'_>>),
        reverse: bool,
        each: &mut dyn FnMut(&[u8], f64) -> bool,
    ) -> Result<(), Failure> {
        self.walk_index(PRIMARY, id, bounds, reverse, each)
    }

    fn walk_index(
        &mut self,
        index: &str,
        id: u64,
        (from, to): (Bound<Key<'_>>, Bound<Key<'_>>),
        reverse: bool,
        each: &mut dyn FnMut(&[u8], f64) -> bool,
    ) -> Result<(), Failure> {
        let index = self.state.row_index(self.shared.numbers.zset, index)?;
        let mut range = index.range_or_none((of_id(id, from), of_id(id, to)))?;
        loop {
            let row = if reverse {
                range.next_back()
            } else {
                range.next()
            };
            let Some(row) = row else { return Ok(()) };
            let row = row?;
            let (member, score) = Elements::scored(&row)?;
            if !each(member, score) {
                return Ok(());
            }
        }
    }

    /// The number of members of a sorted set between two bounds in the order of scores.
    pub fn count_scores(
        &mut self,
        id: u64,
        (from, to): (Bound<Key<'_>>, Bound<Key<'_>>),
    ) -> Result<u64, Failure> {
        self.count_index(BY_SCORE, id, (from, to))
    }

    /// The same in the order of members.
    pub fn count_members(
        &mut self,
        id: u64,
        (from, to): (Bound<Key<'_>>, Bound<Key<'_>>),
    ) -> Result<u64, Failure> {
        self.count_index(PRIMARY, id, (from, to))
    }

    fn count_index(
        &mut self,
        index: &str,
        id: u64,
        (from, to): (Bound<Key<'_>>, Bound<Key<'_>>),
    ) -> Result<u64, Failure> {
        let index = self.state.row_index(self.shared.numbers.zset, index)?;
        let range = (of_id(id, from), of_id(id, to));
        let count = index.count_range_or_none(range)?;
        // Their leaves are passed.
        self.gather(count as usize * COUNTED_BYTES);
        Ok(count)
    }
}

impl Live<'_, '_> {
    /// A member's score, and the address of its row.
    pub fn score_at(&mut self, id: u64, member: &[u8]) -> Result<Option<(f64, Address)>, Failure> {
        let row = self.element(Kind::SortedSet, id, member)?;
        row.map(|row| Ok((score(&row)?, row.address()))).transpose()
    }

    /// A member's score, and the address of its row; `None` if there was no such member: then it has the given score now.
    pub fn score_or_insert(
        &mut self,
        id: u64,
        member: &[u8],
        new: f64,
    ) -> Result<Option<(f64, Address)>, Failure> {
        let new = Some(ValueRef::Float(unsigned_zero(new)));
        let (at, is_new) = self.insert_or_find(Kind::SortedSet, id, member, new)?;
        if is_new {
            return Ok(None);
        }
        let row = engine(self.state.row_at(self.shared.numbers.zset, at))?;
        row.map(|row| Ok((score(&row)?, at))).transpose()
    }

    /// Inserts an element unless there is one of its name. Returns the address of the row, and whether it is new. The
    /// index is searched once.
    fn insert_or_find(
        &mut self,
        kind: Kind,
        id: u64,
        name: &[u8],
        value: Option<ValueRef<'_>>,
    ) -> Result<(Address, bool), Failure> {
        check_key(name)?;
        let (shared, table) = (self.shared, self.elements_table(kind));
        let place = self.place_of(id, name);
        let there = match self.at_hint(kind, place, id, name) {
            Some(there) => there,
            None => (self.hinted(place, table, id, name)?).map(|row| row.address()),
        };
        if let Some(at) = there {
            return Ok((at, false));
        }
        let row = element_row(id, name, value);
        let (at, is_new) = self.state.insert_or_find_columns(table, columns_of(&row))?;
        self.state.note(&shared.places, place, table, Some(at));
        Ok((at, is_new))
    }

    fn element_at(&mut self, kind: Kind, id: u64, name: &[u8]) -> Result<Option<Address>, Failure> {
        Ok(self.element(kind, id, name)?.map(|row| row.address()))
    }

    /// Sets a field. Returns whether it is new.
    pub fn put_field(&mut self, id: u64, field: &[u8], value: &[u8]) -> Result<bool, Failure> {
        let value = ValueRef::Bytes(value);
        let (at, is_new) = self.insert_or_find(Kind::Hash, id, field, Some(value))?;
        if !is_new {
            // The row was found in this transaction.
            let table = self.shared.numbers.hash;
            engine(self.state.set_columns(table, at, &[(VALUE, value)]))?;
        }
        Ok(is_new)
    }

    /// Adds a member, which is not there.
    pub fn insert_member(&mut self, id: u64, member: &[u8]) -> Result<(), Failure> {
        check_key(member)?;
        let row = element_row(id, member, None);
        let table = self.shared.numbers.set;
        engine(self.state.insert_columns(table, None, columns_of(&row)))
    }

    /// Adds a member to a set. Returns whether it is new.
    pub fn add_member(&mut self, id: u64, member: &[u8]) -> Result<bool, Failure> {
        let (_, is_new) = self.insert_or_find(Kind::Set, id, member, None)?;
        Ok(is_new)
    }

    /// Adds a member with a score, which is not there.
    pub fn insert_score(&mut self, id: u64, member: &[u8], score: f64) -> Result<(), Failure> {
        check_key(member)?;
        let row = element_row(id, member, Some(ValueRef::Float(unsigned_zero(score))));
        let table = self.shared.numbers.zset;
        engine(self.state.insert_columns(table, None, columns_of(&row)))
    }

    /// Gives the member at an address another score.
    pub fn change_score(&mut self, at: Address, score: f64) -> Result<(), Failure> {
        let mut row = RowWriter::new(VALUE + 1);
        row.set(VALUE, ValueRef::Float(unsigned_zero(score)));
        Ok(self
            .state
            .rows_of(self.shared.numbers.zset)?
            .update_at(at, &row)?)
    }

    /// Deletes a field or member. Returns whether it was there.
    pub fn delete_element(&mut self, kind: Kind, id: u64, name: &[u8]) -> Result<bool, Failure> {
        let Some(at) = self.element_at(kind, id, name)? else {
            return Ok(false);
        };
        let table = self.elements_table(kind);
        self.state.rows_of(table)?.delete_at(at)?;
        Ok(true)
    }

    /// Gives another id elements like those of a key.
    pub fn copy_elements(&mut self, entry: &Entry, to: u64) -> Result<(), Failure> {
        match self.table_of(entry.kind) {
            _ if entry.kind == Kind::Stream => self.copy_stream(entry.id, to),
            Some(table) => self.copy_rows(table, entry.id, to),
            None => Ok(()),
        }
    }

    /// Gives another id rows of a table like those of one.
    pub(super) fn copy_rows(&mut self, table: u16, from: u64, to: u64) -> Result<(), Failure> {
        let mut rows = self.state.rows_of(table)?;
        let mut copies = Vec::new();
        for row in rows.index(PRIMARY)?.prefix(from)? {
            let mut values = row?.to_values()?;
            values[0] = Value::Int(to.into());
            copies.push(values);
        }
        copies
            .iter()
            .try_for_each(|values| rows.insert_values(values))?;
        Ok(())
    }
}

/// A bound among the keys that begin with an id.
fn of_id(id: u64, bound: Bound<Key<'_>>) -> Bound<Key<'_>> {
    let with_id = |mut key: Vec<_>| {
        key.insert(0, ValueRef::Int(id.into()));
        key
    };
    match bound {
        Bound::Unbounded => Bound::Included(with_id(Vec::new())),
        bound => bound.map(with_id),
    }
}

/// The values of an element's columns; the last one is there if the row has it.
type ElementRow<'v> = [Option<ValueRef<'v>>; VALUE + 1];

fn element_row<'v>(id: u64, name: &'v [u8], value: Option<ValueRef<'v>>) -> ElementRow<'v> {
    let id = ValueRef::Int(id.into());
    [Some(id), Some(ValueRef::Bytes(name)), value]
}

/// The columns of an element's table: members of sets have no value.
fn columns_of<'r, 'v>(row: &'r ElementRow<'v>) -> &'r [Option<ValueRef<'v>>] {
    match row[VALUE] {
        Some(_) => row,
        None => &row[..VALUE],
    }
}

/// A score whose zero has no sign, as Redis keeps small sets.
fn unsigned_zero(score: f64) -> f64 {
    // -0 + 0 is 0, and no other sum is another number.
    score + 0.0
}
