//! Joins, run: the right side is read once, and found by a hash of what it is joined by; the left one is walked.
//!
//! Source: hash join, as in every textbook. Rows of the right side that are kept without others are noted as they are
//! found, and those that were not are given at the end.

use super::join::{JoinKind, JoinNode, JoinPlan, JoinStep, Side};
use super::select_run::Memory;
use crate::aggregate::equality_key;
use crate::error::SqlError;
use crate::expression::{Environment, Expr, Values};
use crate::source::{EachRow, Source};
use sardonyx::schema::{Value, ValueRef};
use std::collections::HashMap;

/// What is called for each row, which is changed in place.
type EachJoined<'e> = &'e mut dyn FnMut(&mut Vec<Value>) -> Result<bool, SqlError>;

/// The rows of the right side of a join.
struct Kept {
    /// Their values at the places of that side, row after row.
    values: Vec<Value>,
    width: usize,
    count: usize,
    /// By what they are joined by; those in which that is null are in none.
    places: HashMap<Vec<u8>, Vec<usize>>,
}

/// The key of a row; `None` if a part of it is null, which equals nothing.
fn key<'k>(
    parts: impl Iterator<Item = &'k Expr>,
    row: &[Value],
    with: &Environment<'_>,
) -> Result<Option<Vec<u8>>, SqlError> {
    let mut key = Vec::new();
    let row = Values(row);
    for part in parts {
        let value = part.evaluate(&row, with)?;
        match value.as_ref() {
            ValueRef::Null => return Ok(None),
            other => equality_key(other, &mut key),
        }
    }
    Ok(Some(key))
}

impl JoinPlan {
    /// Calls `each` with the joined rows.
    ///
    /// # Errors
    /// What `each` returns; what cannot be read or computed; `53200` if the tables take too much memory.
    pub fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let mut row = vec![Value::Null; self.width];
        let mut given = |row: &mut Vec<Value>| each(&Values(row));
        self.root.walk(source, with, &mut row, &mut given)?;
        Ok(())
    }
}

impl JoinNode {
    /// Writes its rows into a row, one after the other. Returns whether more are wanted.
    fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        match self {
            JoinNode::Side(side) => side.walk(source, with, row, each),
            JoinNode::Join(step) if step.is_lateral => step.walk_lateral(source, with, row, each),
            JoinNode::Join(step) => step.walk(source, with, row, each),
        }
    }
}

impl Side {
    fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        let before = match self.input.asks_for_rows() {
            true => row.clone(),
            false => Vec::new(),
        };
        let mut more = true;
        self.input
            .walk(source, with, &Values(&before), &mut |local| {
                with.context.look_at_row()?;
                if let Some(filter) = &self.filter
                    && !filter.holds(local, with)?
                {
                    return Ok(true);
                }
                for (column, value) in row[self.places.clone()].iter_mut().enumerate() {
                    *value = local.value(column)?.to_value();
                }
                more = each(row)?;
                Ok(more)
            })?;
        Ok(more)
    }
}

impl JoinStep {
    fn right_places(&self) -> std::ops::Range<usize> {
        self.right.places()
    }

    /// Reads the right side once.
    fn kept<'m>(
        &self,
        source: &Source<'_>,
        with: &Environment<'m>,
        row: &mut Vec<Value>,
    ) -> Result<(Kept, Memory<'m>), SqlError> {
        let places = self.right_places();
        let mut memory = Memory::of(with);
        let mut kept = Kept {
            values: Vec::new(),
            width: places.len(),
            count: 0,
            places: HashMap::new(),
        };
        let keeps_all = matches!(self.kind, JoinKind::Right | JoinKind::Full);
        self.right.walk(source, with, row, &mut |row| {
            let key = key(self.keys.iter().map(|(_, own)| own), row, with)?;
            if key.is_some() || keeps_all {
                let values = &row[places.clone()];
                memory.take(values)?;
                memory.take_bytes(size_of::<usize>())?;
                kept.values.extend_from_slice(values);
                kept.count += 1;
            }
            if let Some(key) = key {
                if !kept.places.contains_key(&key) {
                    memory.take_bytes(key.len() + 2 * size_of::<Vec<u8>>())?;
                }
                kept.places.entry(key).or_default().push(kept.count - 1);
            }
            Ok(true)
        })?;
        Ok((kept, memory))
    }

    fn holds(&self, row: &[Value], with: &Environment<'_>) -> Result<bool, SqlError> {
        match &self.condition {
            Some(condition) => condition.holds(&Values(row), with),
            None => Ok(true),
        }
    }

    fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        let places = self.right_places();
        let (kept, _memory) = self.kept(source, with, row)?;
        let keeps_left = matches!(self.kind, JoinKind::Left | JoinKind::Full);
        let keeps_right = matches!(self.kind, JoinKind::Right | JoinKind::Full);
        let mut met = vec![false; if keeps_right { kept.count } else { 0 }];
        let more = self.left.walk(source, with, row, &mut |row| {
            let key = key(self.keys.iter().map(|(before, _)| before), row, with)?;
            let found = key.and_then(|key| kept.places.get(&key));
            let mut any = false;
            for at in found.into_iter().flatten() {
                with.context.look_at_row()?;
                row[places.clone()].clone_from_slice(kept.row(*at));
                if !self.holds(row, with)? {
                    continue;
                }
                any = true;
                if let Some(met) = met.get_mut(*at) {
                    *met = true;
                }
                if !each(row)? {
                    return Ok(false);
                }
            }
            if any || !keeps_left {
                return Ok(true);
            }
            row[places.clone()].fill(Value::Null);
            each(row)
        })?;
        if !more || !keeps_right {
            return Ok(more);
        }
        row[self.left.places()].fill(Value::Null);
        for at in (0..kept.count).filter(|at| !met[*at]) {
            row[places.clone()].clone_from_slice(kept.row(at));
            if !each(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The right side is read for each row of the left one.
    fn walk_lateral(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        let places = self.right_places();
        self.left.walk(source, with, row, &mut |row| {
            let mut any = false;
            let before = row.clone();
            let inside = Environment {
                before: &before,
                ..*with
            };
            let more = self.right.walk(source, &inside, row, &mut |row| {
                if !self.holds(row, with)? {
                    return Ok(true);
                }
                any = true;
                each(row)
            })?;
            if any || !more || self.kind != JoinKind::Left {
                return Ok(more);
            }
            row[places.clone()].fill(Value::Null);
            each(row)
        })
    }
}

impl Kept {
    fn row(&self, at: usize) -> &[Value] {
        let from = at * self.width;
        self.values.get(from..from + self.width).unwrap_or_default()
    }
}

impl JoinNode {
    fn places(&self) -> std::ops::Range<usize> {
        match self {
            JoinNode::Side(side) => side.places.clone(),
            // Its sides stand beside each other, whichever is joined first.
            JoinNode::Join(step) => {
                let (left, right) = (step.left.places(), step.right.places());
                left.start.min(right.start)..left.end.max(right.end)
            }
        }
    }
}
