//! Groups during aggregation: rows are assigned to groups by a hash of their keys, and added to the group's aggregates.
//!
//! Source: hash aggregation, as in every textbook.

use crate::aggregate::{Accumulator, Aggregate, Grouping};
use crate::error::SqlError;
use crate::expression::{Environment, Expr, are_same};
use crate::hashing::{HashTable, hash_of, hashed};
use crate::memory::{Memory, WRITTEN};
use crate::rows::{InputRow, put};
use sardonyx::schema::{Value, ValueRef};

/// The groups of the rows added so far.
pub(super) struct Groups<'g, 'm> {
    grouping: &'g Grouping,
    /// The number of the grouping and its keys, if there are several.
    set: Option<(usize, &'g [usize])>,
    /// The expressions that distinguish its groups.
    identified: Vec<&'g Expr>,
    /// The groups' numbers by the hashes of their identities.
    table: HashTable,
    /// The keys of all groups, one group after another.
    keys: Vec<Value>,
    /// The identities of all groups, if they differ from the first keys.
    identities: Vec<Value>,
    are_keys: bool,
    /// The aggregates of each group.
    accumulators: Vec<Accumulator>,
    /// The identity of the row that is being added.
    own: Vec<Value>,
    memory: Memory<'m>,
}

impl<'g, 'm> Groups<'g, 'm> {
    /// No groups yet, of each of the groupings.
    pub fn of(grouping: &'g Grouping, with: &Environment<'m>) -> Vec<Self> {
        match &grouping.sets {
            None => vec![Groups::of_set(grouping, None, with)],
            Some(of) => {
                let sets = of.sets.iter().enumerate();
                let sets = sets.map(|(number, set)| (number, set.as_slice()));
                sets.map(|set| Groups::of_set(grouping, Some(set), with))
                    .collect()
            }
        }
    }

    /// No groups yet; without keys, one group without rows.
    fn of_set(
        grouping: &'g Grouping,
        set: Option<(usize, &'g [usize])>,
        with: &Environment<'m>,
    ) -> Self {
        let keys = grouping.keys.iter().map(|key| &key.expr);
        let identified: Vec<&Expr> = match set {
            None => grouping.identities.iter().collect(),
            Some((_, set)) => set
                .iter()
                .filter_map(|at| grouping.identities.get(*at))
                .collect(),
        };
        let mut groups = Groups {
            table: HashTable::default(),
            keys: Vec::new(),
            identities: Vec::new(),
            are_keys: set.is_none()
                && grouping
                    .identities
                    .iter()
                    .eq(keys.take(grouping.identities.len())),
            accumulators: Vec::new(),
            own: vec![Value::Null; identified.len()],
            memory: with.memory(),
            grouping,
            set,
            identified,
        };
        if groups.identified.is_empty() {
            groups.begin();
            if let (Some((number, _)), Some(of)) = (set, &grouping.sets) {
                groups.keys = vec![Value::Null; grouping.keys.len()];
                groups.keys[of.place] = Value::Int(number as i128);
            }
        }
        groups
    }

    fn begin(&mut self) {
        let fresh = self.grouping.aggregates.iter().map(Accumulator::new);
        self.accumulators.extend(fresh);
    }

    /// Adds a row. Always returns true: more rows are wanted.
    ///
    /// # Errors
    /// Evaluation errors; `53200` if the groups take too much memory.
    pub fn add(&mut self, row: &dyn InputRow, with: &Environment<'_>) -> Result<bool, SqlError> {
        let group = match self.is_one() {
            true => 0,
            false => self.group_of(row, with)?,
        };
        let aggregates = &self.grouping.aggregates;
        let first = group * aggregates.len();
        for (of, accumulator) in aggregates.iter().zip(&mut self.accumulators[first..]) {
            add(accumulator, of, row, with, &mut self.memory)?;
        }
        Ok(true)
    }

    /// True if all rows are of one group.
    pub fn is_one(&self) -> bool {
        self.identified.is_empty()
    }

    /// The number of groups.
    pub fn count(&self) -> usize {
        match self.is_one() {
            true => 1,
            false => self.table.count(),
        }
    }

    /// Counts memory that is kept beside the groups.
    ///
    /// # Errors
    /// `53200` if it is too much.
    pub fn take_bytes(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.memory.take_bytes(bytes)
    }

    /// Stops counting memory that was kept beside the groups.
    pub fn give_back(&mut self, bytes: usize) {
        self.memory.give_back(bytes);
    }

    /// The bytes counted.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Adds a row to one aggregate of its group.
    ///
    /// # Errors
    /// As [`Groups::add`].
    pub fn add_to(
        &mut self,
        group: usize,
        aggregate: usize,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let aggregates = &self.grouping.aggregates;
        let place = group * aggregates.len() + aggregate;
        let (of, accumulator) = (&aggregates[aggregate], &mut self.accumulators[place]);
        add(accumulator, of, row, with, &mut self.memory)
    }

    /// Adds rows to one aggregate of a group ([`Accumulator::add_many`]).
    ///
    /// # Errors
    /// A number out of range.
    pub fn add_many(
        &mut self,
        group: usize,
        aggregate: usize,
        count: i64,
        value: Option<ValueRef<'_>>,
    ) -> Result<(), SqlError> {
        let aggregates = &self.grouping.aggregates;
        let place = group * aggregates.len() + aggregate;
        self.accumulators[place].add_many(&aggregates[aggregate], count, value)
    }

    /// Returns the number of a row's group, which is created if it does not exist.
    ///
    /// # Errors
    /// As [`Groups::add`].
    pub fn group_of(
        &mut self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<usize, SqlError> {
        let mut hash = 0;
        for (of, own) in self.identified.iter().zip(&mut self.own) {
            let value = of.evaluate(row, with)?;
            hash = hashed(hash, hash_of(value.as_ref()));
            put(value.as_ref(), own);
        }
        let width = self.own.len();
        let (there, stride) = match self.are_keys {
            true => (&self.keys, self.grouping.keys.len()),
            false => (&self.identities, width),
        };
        let is_it = |group: &usize| {
            let mut pairs = there[group * stride..][..width].iter().zip(&self.own);
            pairs.all(|(there, own)| are_same(there.as_ref(), own.as_ref()))
        };
        let found = self.table.found(hash).find(is_it);
        match found {
            Some(group) => Ok(group),
            None => self.begin_for(row, hash, with),
        }
    }

    fn begin_for(
        &mut self,
        row: &dyn InputRow,
        hash: u64,
        with: &Environment<'_>,
    ) -> Result<usize, SqlError> {
        let group = self.table.count();
        let keys = self.keys.len();
        let mut rest = 0;
        match self.are_keys {
            true => {
                self.keys.extend(self.own.iter().cloned());
                rest = self.own.len();
            }
            false => {
                self.memory.take(&self.own)?;
                self.identities.extend(self.own.iter().cloned());
            }
        }
        for (at, key) in self.grouping.keys.iter().enumerate().skip(rest) {
            let value = match (self.set, &self.grouping.sets) {
                (Some((number, _)), Some(of)) if of.place == at => Value::Int(number as i128),
                // Columns that depend on keys of all groupings are behind the keys.
                (Some((_, set)), _)
                    if at < self.grouping.identities.len() && !set.contains(&at) =>
                {
                    Value::Null
                }
                _ => key.expr.evaluate(row, with)?.into_value(),
            };
            self.keys.push(value);
        }
        self.memory.take(&self.keys[keys..])?;
        self.memory.take_bytes(HashTable::PLACE_BYTES)?;
        self.table.push(hash);
        self.begin();
        Ok(group)
    }

    /// Calls `each` with the rows of the groups until it returns false: the keys, then the values of the aggregates.
    /// Returns false if it did.
    ///
    /// # Errors
    /// Errors of `each`; a value out of range; `53200` if the concatenated values take too much memory.
    pub fn give(
        mut self,
        with: &Environment<'_>,
        each: &mut dyn FnMut(&[Value]) -> Result<bool, SqlError>,
    ) -> Result<bool, SqlError> {
        let (width, aggregates) = (self.grouping.keys.len(), &self.grouping.aggregates);
        let count = self.count();
        let mut keys = self.keys.into_iter();
        let mut values = Vec::with_capacity(width + aggregates.len());
        for group in 0..count {
            values.clear();
            values.extend(keys.by_ref().take(width));
            let first = group * aggregates.len();
            for (of, accumulator) in aggregates.iter().zip(&self.accumulators[first..]) {
                // The accumulated values are written out.
                let bytes = accumulator.bytes().saturating_mul(WRITTEN);
                self.memory.reserve(bytes)?;
                values.push(accumulator.finish(of, with)?);
            }
            if !each(&values)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Adds a row to an aggregate, and counts the memory that the aggregate keeps.
#[inline]
fn add(
    accumulator: &mut Accumulator,
    of: &Aggregate,
    row: &dyn InputRow,
    with: &Environment<'_>,
    memory: &mut Memory<'_>,
) -> Result<(), SqlError> {
    let before = accumulator.bytes();
    accumulator.add(of, row, with)?;
    match accumulator.bytes() - before {
        0 => Ok(()),
        bytes => memory.take_bytes(bytes),
    }
}
