//! The kept rows of a join's side, found by a hash of the join's keys.

use super::tree::{JoinNode, JoinStep, Side};
use crate::error::SqlError;
use crate::expression::{Environment, Expr};
use crate::hashing::{HashTable, hash_of, hashed};
use crate::memory::bytes_of;
use crate::rows::{InputRow, Values, put};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::compare;

/// The rows of the right side of a join.
#[derive(Default)]
pub(super) struct Kept {
    /// Their values at the places that are read, row after row.
    pub values: Vec<Value>,
    pub width: usize,
    /// The computed keys of each row; keys that are columns are found among the values.
    pub computed: Vec<Value>,
    pub count: usize,
    /// The rows by the hash of their keys.
    pub table: HashTable,
}

/// The keys of a join, one of whose sides is kept.
pub(super) struct Keys<'k> {
    parts: Vec<KeyPart<'k>>,
    /// The number of values of the right side that are computed.
    computed: usize,
}

/// The sides of a join at run time: the one whose rows are kept in a hash table, and the one that is walked.
#[derive(Clone, Copy)]
pub(super) struct Sides<'s> {
    pub walked: &'s JoinNode,
    pub kept: &'s JoinNode,
    /// The places of the kept side that are read.
    pub places: &'s [usize],
    /// True if the left side is kept.
    pub are_exchanged: bool,
}

pub(super) struct KeyPart<'k> {
    pub left: &'k Expr,
    pub right: &'k Expr,
    /// The place of the kept side's key: among the values that are read, or among the computed ones.
    kept: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Read(usize),
    Computed(usize),
}

/// The hash of a row's values; `None` if one is null, which equals nothing.
pub(super) fn hash_of_values<'e>(
    values: impl Iterator<Item = &'e Expr>,
    row: &dyn InputRow,
    with: &Environment<'_>,
) -> Result<Option<u64>, SqlError> {
    let mut hash = 0;
    for value in values {
        let value = value.evaluate(row, with)?;
        match value.as_ref() {
            ValueRef::Null => return Ok(None),
            value => hash = hashed(hash, hash_of(value)),
        }
    }
    Ok(Some(hash))
}

impl<'k> Keys<'k> {
    pub fn of(step: &'k JoinStep, sides: Sides<'k>) -> Keys<'k> {
        let mut computed = 0;
        let parts = step.keys.iter().map(|(left, right)| {
            let (left, right) = match sides.are_exchanged {
                true => (right, left),
                false => (left, right),
            };
            let read = match right {
                Expr::Column(place) => sides.places.iter().position(|kept| kept == place),
                _ => None,
            };
            let kept = match read {
                Some(at) => Place::Read(at),
                None => {
                    computed += 1;
                    Place::Computed(computed - 1)
                }
            };
            KeyPart { left, right, kept }
        });
        Keys {
            parts: parts.collect(),
            computed,
        }
    }

    /// The hash of a row's values; `None` if one is null, which equals nothing.
    pub fn hash(
        &self,
        side: impl Fn(&KeyPart<'k>) -> &'k Expr,
        row: &[Value],
        with: &Environment<'_>,
    ) -> Result<Option<u64>, SqlError> {
        hash_of_values(self.parts.iter().map(side), &Values(row), with)
    }

    /// A side's keys as expressions over its own rows, which begin at a place.
    pub fn over(&self, side: impl Fn(&KeyPart<'k>) -> &'k Expr, start: usize) -> Vec<Expr> {
        let own = self.parts.iter().map(|part| {
            let mut own = side(part).clone();
            own.shift_columns(start);
            own
        });
        own.collect()
    }

    /// Keeps a row of the right side, which is one item with its keys over its own rows.
    pub fn keep_local(
        &self,
        local: &dyn InputRow,
        (side, own): (&Side, &[Expr]),
        places: &[usize],
        hash: Option<u64>,
        with: &Environment<'_>,
        kept: &mut Kept,
    ) -> Result<(), SqlError> {
        for (part, own) in self.parts.iter().zip(own) {
            if let Place::Computed(_) = part.kept {
                kept.computed.push(own.evaluate(local, with)?.into_value());
            }
        }
        for place in places {
            let value = side.value_of(local, *place - side.places.start)?;
            kept.values.push(value);
        }
        kept.add(hash);
        Ok(())
    }

    /// Keeps a row of the right side.
    pub fn keep(
        &self,
        row: &[Value],
        places: &[usize],
        hash: Option<u64>,
        with: &Environment<'_>,
        kept: &mut Kept,
    ) -> Result<(), SqlError> {
        let whole = Values(row);
        for part in &self.parts {
            if let Place::Computed(_) = part.kept {
                let value = part.right.evaluate(&whole, with)?;
                kept.computed.push(value.into_value());
            }
        }
        kept.values
            .extend(places.iter().map(|place| row[*place].clone()));
        kept.add(hash);
        Ok(())
    }

    /// True if the keys of a walked row equal those of a kept one.
    pub fn are_equal(
        &self,
        row: &[Value],
        kept: &Kept,
        at: usize,
        with: &Environment<'_>,
    ) -> Result<bool, SqlError> {
        for part in &self.parts {
            let right = match part.kept {
                Place::Read(place) => &kept.values[at * kept.width + place],
                Place::Computed(place) => &kept.computed[at * self.computed + place],
            };
            let is_equal = |left: ValueRef<'_>| {
                compare(left, right.as_ref()).is_some_and(|order| order.is_eq())
            };
            let holds = match part.left {
                Expr::Column(place) => is_equal(row[*place].as_ref()),
                left => is_equal(left.evaluate(&Values(row), with)?.as_ref()),
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Kept {
    /// Counts a row whose values are there.
    fn add(&mut self, hash: Option<u64>) {
        self.count += 1;
        // A row with nulls is kept, too, but equals no other.
        self.table.push(hash.unwrap_or_default());
    }

    /// The bytes of a row whose values begin at these places.
    pub fn bytes_from(&self, values: usize, computed: usize) -> usize {
        let values = bytes_of(&self.values[values..]) + bytes_of(&self.computed[computed..]);
        values + HashTable::PLACE_BYTES
    }

    /// Writes a row to its places.
    pub fn give(&self, at: usize, places: &[usize], row: &mut [Value]) {
        let from = at * self.width;
        let values = &self.values[from..from + self.width];
        for (place, value) in places.iter().zip(values) {
            put(value.as_ref(), &mut row[*place]);
        }
    }
}
