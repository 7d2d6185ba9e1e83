//! Joins, run: the right side is read once and kept, and the left side is walked. Matches are found by a hash of the
//! join's keys. If either side may be kept and the right one takes too much memory, the roles are exchanged.
//!
//! Source: hash join, as in every textbook. In right and full joins, matched rows of the right side are noted, and
//! unmatched ones are returned at the end.

use super::expected::{FOUND, left_of};
use super::join_columns::Read;
use super::join_keys::{Kept, Keys, Sides, hash_of_values};
use super::join_order::NO_ROWS;
use super::join_search::{SEEK_NOTED, cost_of_seeks};
use super::tree::{Input, JoinKind, JoinNode, JoinPlan, JoinStep, Side};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::memory::Memory;
use crate::rows::{EachRow, InputRow, Values, put};
use crate::source::Source;
use sardonyx::schema::Value;
use std::cell::Cell;

/// A callback for each row, which is changed in place.
type EachJoined<'e> = &'e mut dyn FnMut(&mut Vec<Value>) -> Result<bool, SqlError>;

impl JoinPlan {
    /// Calls `each` with the joined rows.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors; `53200` if the tables take too much memory.
    pub fn walk(
        &self,
        source: &dyn Source,
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
    /// Writes the input's rows into a row, one after the other. Returns true if more are wanted.
    fn walk(
        &self,
        source: &dyn Source,
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
    /// True if `count` seeks by an index, which find `found` rows each, are cheaper than a read of the table.
    fn is_sought_by(&self, count: usize, found: f64, source: &dyn Source) -> bool {
        let Input::Table(access) = &self.input else {
            return false;
        };
        // An approximation, since an exact count would read all rows.
        match source.rows_about(access.table) {
            Some(rows) if source.notes_reads() => count as f64 * SEEK_NOTED < rows as f64,
            Some(rows) => cost_of_seeks(count as f64, found) < rows as f64,
            // Nodes do not count the rows of their tables: few that ask read less than a table that is probably large.
            None => count as f64 <= NO_ROWS,
        }
    }

    fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        self.walk_if(source, with, row, &mut |_| Ok(true), each)
    }

    /// Walks the rows that meet a condition, which is tested before they are copied.
    fn walk_if(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        is_wanted: &mut dyn FnMut(&dyn InputRow) -> Result<bool, SqlError>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        let before = match self.input.asks_for_rows() {
            true => row.clone(),
            false => Vec::new(),
        };
        let mut more = true;
        self.walk_local(source, with, &before, &mut |local| {
            if !is_wanted(local)? {
                return Ok(true);
            }
            let own = &mut row[self.places.clone()];
            for column in &self.columns {
                match Some(*column) == self.presence {
                    true => own[*column] = Value::Bool(true),
                    false => put(local.value(*column)?, &mut own[*column]),
                }
            }
            more = each(row)?;
            Ok(more)
        })?;
        Ok(more)
    }

    /// Walks the rows of the item itself; `before` is the row of those before it, if it asks for one.
    fn walk_local(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        before: &[Value],
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        if let Input::Table(access) = &self.input {
            return access.walk_if(self.filter.as_ref(), source, with, each);
        }
        self.input
            .walk(source, with, &Values(before), &mut |local| {
                with.context.look_at_row()?;
                match &self.filter {
                    Some(filter) if !filter.holds(local, with)? => Ok(true),
                    _ => each(local),
                }
            })
    }

    /// The value of a column, if it is read.
    pub(super) fn value_of(&self, local: &dyn InputRow, column: usize) -> Result<Value, SqlError> {
        Ok(match column {
            column if Some(column) == self.presence => Value::Bool(true),
            // They are in the order of their places.
            column if self.columns.binary_search(&column).is_ok() => {
                local.value(column)?.to_value()
            }
            _ => Value::Null,
        })
    }
}

impl JoinStep {
    fn right_places(&self) -> std::ops::Range<usize> {
        self.right.places()
    }

    /// The sides, of which the right one is kept.
    fn sides(&self) -> Sides<'_> {
        Sides {
            walked: &self.left,
            kept: &self.right,
            places: &self.kept,
            are_exchanged: false,
        }
    }

    /// Reads one side and keeps it: the right one, or the left one if that is possible and the right one takes too much
    /// memory.
    fn kept_side<'s, 'm>(
        &'s self,
        source: &dyn Source,
        with: &Environment<'m>,
        row: &mut Vec<Value>,
    ) -> Result<(Sides<'s>, Keys<'s>, Kept, Memory<'m>), SqlError> {
        let sides = self.sides();
        let keys = Keys::of(self, sides);
        match (self.kept(&keys, sides, source, with, row), &self.other) {
            (Err(error), Some(other)) if error.code == code::OUT_OF_MEMORY => {
                let sides = Sides {
                    walked: sides.kept,
                    kept: sides.walked,
                    places: other,
                    are_exchanged: true,
                };
                let keys = Keys::of(self, sides);
                let (kept, memory) = self.kept(&keys, sides, source, with, row)?;
                Ok((sides, keys, kept, memory))
            }
            (kept, _) => {
                let (kept, memory) = kept?;
                Ok((sides, keys, kept, memory))
            }
        }
    }

    /// Reads a side once and keeps its rows.
    fn kept<'m>(
        &self,
        keys: &Keys<'_>,
        sides: Sides<'_>,
        source: &dyn Source,
        with: &Environment<'m>,
        row: &mut Vec<Value>,
    ) -> Result<(Kept, Memory<'m>), SqlError> {
        let mut memory = with.memory();
        let mut kept = Kept {
            width: sides.places.len(),
            ..Kept::default()
        };
        let keeps_all = matches!(self.kind, JoinKind::Right | JoinKind::Full);
        if let JoinNode::Side(side) = sides.kept
            && !side.input.asks_for_rows()
            && side.presence.is_none()
        {
            // Its rows need no place in the whole row.
            let own = keys.over(|part| part.right, side.places.start);
            side.walk_local(source, with, &[], &mut |local| {
                let hash = hash_of_values(own.iter(), local, with)?;
                if hash.is_some() || keeps_all {
                    let (values, computed) = (kept.values.len(), kept.computed.len());
                    keys.keep_local(local, (side, &own), sides.places, hash, with, &mut kept)?;
                    memory.take_bytes(kept.bytes_from(values, computed))?;
                }
                Ok(true)
            })?;
            return Ok((kept, memory));
        }
        sides.kept.walk(source, with, row, &mut |row| {
            let hash = keys.hash(|part| part.right, row, with)?;
            if hash.is_some() || keeps_all {
                let (values, computed) = (kept.values.len(), kept.computed.len());
                keys.keep(row, sides.places, hash, with, &mut kept)?;
                memory.take_bytes(kept.bytes_from(values, computed))?;
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

    /// The estimated number of rows that an index finds for a row of the right side, before their own condition is tested.
    fn found_by_seek(&self, side: &Side) -> f64 {
        let given = self.expected / self.right.expected().max(1.0);
        let found = given / left_of(1.0, side.filter.as_ref());
        match self.is_counted {
            true => found,
            // A guess of many must not have a large table read for few rows.
            false => found.min(FOUND),
        }
    }

    fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        let (sides, keys, kept, _memory) = self.kept_side(source, with, row)?;
        if let Some(side) = &self.sought
            && !sides.are_exchanged
            && side.is_sought_by(kept.count, self.found_by_seek(side), source)
        {
            return self.walk_sought(side, &kept, source, with, row, each);
        }
        let keeps_left = matches!(self.kind, JoinKind::Left | JoinKind::Full);
        let keeps_right = matches!(self.kind, JoinKind::Right | JoinKind::Full);
        // A row without a match is tested in place, and not copied.
        let probe = match sides.walked {
            JoinNode::Side(side) if !keeps_left && !self.keys.is_empty() => {
                Some(keys.over(|part| part.left, side.places.start))
            }
            _ => None,
        };
        let mut met = vec![false; if keeps_right { kept.count } else { 0 }];
        let hash_of_found = Cell::new(None);
        let mut goes_with_any = |local: &dyn InputRow| {
            let hash = match &probe {
                Some(probe) => hash_of_values(probe.iter(), local, with)?,
                None => None,
            };
            hash_of_found.set(hash);
            Ok(hash.is_some_and(|hash| kept.table.has(hash)))
        };
        let mut each_walked = |row: &mut Vec<Value>| {
            let mut any = false;
            let hash = match &probe {
                Some(_) => hash_of_found.get(),
                None => keys.hash(|part| part.left, row, with)?,
            };
            if let Some(hash) = hash {
                for at in kept.table.found(hash) {
                    with.context.look_at_row()?;
                    if !keys.are_equal(row, &kept, at, with)? {
                        continue;
                    }
                    kept.give(at, sides.places, row);
                    if !self.holds(row, with)? {
                        continue;
                    }
                    any = true;
                    if let Some(met) = met.get_mut(at) {
                        *met = true;
                    }
                    if !each(row)? {
                        return Ok(false);
                    }
                }
            }
            if any || !keeps_left {
                return Ok(true);
            }
            row[self.right_places()].fill(Value::Null);
            each(row)
        };
        let more = match sides.walked {
            JoinNode::Side(side) if probe.is_some() => {
                side.walk_if(source, with, row, &mut goes_with_any, &mut each_walked)
            }
            walked => walked.walk(source, with, row, &mut each_walked),
        }?;
        if !more || !keeps_right {
            return Ok(more);
        }
        row[self.left.places()].fill(Value::Null);
        for at in (0..kept.count).filter(|at| !met[*at]) {
            kept.give(at, &self.kept, row);
            if !each(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Finds the left side's rows by an index for each row of the right side, which has few rows and is kept.
    fn walk_sought(
        &self,
        side: &Side,
        kept: &Kept,
        source: &dyn Source,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        let mut read = Read::none(row.len());
        side.add_read(&mut read);
        let asked = read.places();
        let mut before = vec![Value::Null; row.len()];
        for at in 0..kept.count {
            with.context.look_at_row()?;
            kept.give(at, &self.kept, row);
            for place in &asked {
                put(row[*place].as_ref(), &mut before[*place]);
            }
            let inside = Environment {
                before: &before,
                ..*with
            };
            let more = side.walk(
                source,
                &inside,
                row,
                &mut |row| match self.holds(row, with)? {
                    true => each(row),
                    false => Ok(true),
                },
            )?;
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the right side for each row of the left one.
    fn walk_lateral(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        row: &mut Vec<Value>,
        each: EachJoined<'_>,
    ) -> Result<bool, SqlError> {
        let places = self.right_places();
        let mut read = Read::none(row.len());
        self.right.add_read(&mut read);
        let asked = read.places();
        let mut before = vec![Value::Null; row.len()];
        self.left.walk(source, with, row, &mut |row| {
            let mut any = false;
            for place in &asked {
                put(row[*place].as_ref(), &mut before[*place]);
            }
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

impl JoinNode {
    fn places(&self) -> std::ops::Range<usize> {
        match self {
            JoinNode::Side(side) => side.places.clone(),
            // The places of the two sides are adjacent, in whichever order they are joined.
            JoinNode::Join(step) => {
                let (left, right) = (step.left.places(), step.right.places());
                left.start.min(right.start)..left.end.max(right.end)
            }
        }
    }
}
