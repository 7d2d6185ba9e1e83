//! Joins: the rows of one table, each with those of others that go with it. The others are read once, and found by a hash
//! of what they are joined by.
//!
//! Source: hash join, as in every textbook; left joins keep a row of the left side that has no other.

use super::access::{Access, choose};
use super::select_run::Memory;
use crate::aggregate::key_of;
use crate::error::SqlError;
use crate::expression::{Comparison, Environment, Expr, InputRow, Values};
use crate::relation::Relation;
use crate::source::{EachRow, Source};
use crate::virtual_tables::VirtualTable;
use sardonyx::schema::{Value, ValueRef};
use std::collections::HashMap;
use std::ops::Range;

/// A table of a join, before the ways to its rows are chosen.
#[derive(Debug)]
pub(crate) struct Joined {
    pub table: JoinedTable,
    /// Its columns' places in the whole row.
    pub places: Range<usize>,
    /// How it is joined to those before it: the condition, and whether their rows are kept without it.
    pub on: Option<Expr>,
    pub is_left: bool,
}

/// What is joined.
#[derive(Debug)]
pub(crate) enum JoinedTable {
    Relation(Box<Relation>),
    Virtual(VirtualTable),
}

/// A join, compiled.
#[derive(Debug)]
pub(crate) struct JoinPlan {
    first: Side,
    steps: Vec<Step>,
    width: usize,
}

#[derive(Debug)]
struct Side {
    way: Way,
    places: Range<usize>,
    /// Over the row of this table alone.
    filter: Option<Expr>,
}

#[derive(Debug)]
enum Way {
    Table(Access),
    Virtual(VirtualTable),
}

#[derive(Debug)]
struct Step {
    side: Side,
    is_left: bool,
    /// Equal values: of the row so far, and of this table's row.
    keys: Vec<(Expr, Expr)>,
    /// What else is to hold of the row with this table's.
    condition: Option<Expr>,
}

/// The parts of conditions that all are to hold.
fn parts_of(condition: Option<Expr>, parts: &mut Vec<Expr>) {
    match condition {
        Some(Expr::And(all)) => all.into_iter().for_each(|part| parts_of(Some(part), parts)),
        Some(one) => parts.push(one),
        None => {}
    }
}

fn all_of(mut parts: Vec<Expr>) -> Option<Expr> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Expr::And(parts)),
    }
}

/// Whether an expression reads columns at these places only.
fn is_within(expr: &Expr, places: &Range<usize>) -> bool {
    let mut within = true;
    expr.walk(&mut |part| match part {
        Expr::Column(place) => within &= places.contains(place),
        Expr::Call(function, _) if function.is_volatile() => within = false,
        _ => {}
    });
    within
}

/// Takes the parts out that read columns at these places only.
fn take_within(parts: &mut Vec<Expr>, places: &Range<usize>) -> Vec<Expr> {
    let (within, others) = std::mem::take(parts)
        .into_iter()
        .partition(|part| is_within(part, places));
    *parts = others;
    within
}

/// Compiles a join. Returns what is still to be tested of whole rows.
pub(crate) fn plan_join(
    tables: Vec<Joined>,
    condition: Option<Expr>,
) -> Option<(JoinPlan, Option<Expr>)> {
    let mut rest = Vec::new();
    parts_of(condition, &mut rest);
    let width = tables.last().map_or(0, |last| last.places.end);
    let mut tables = tables.into_iter();
    let first = tables.next()?;
    let local = take_within(&mut rest, &first.places);
    let first = side_of(first.table, first.places, local);
    let mut steps = Vec::new();
    for joined in tables {
        let before = 0..joined.places.start;
        let mut on = Vec::new();
        parts_of(joined.on, &mut on);
        if !joined.is_left {
            // What holds of inner rows holds where they are joined.
            let reach = 0..joined.places.end;
            on.append(&mut take_within(&mut rest, &reach));
        }
        let local = take_within(&mut on, &joined.places);
        let mut keys = Vec::new();
        let mut others = Vec::new();
        for part in on {
            match equal_sides(part, &before, &joined.places) {
                Ok(key) => keys.push(key),
                Err(part) => others.push(part),
            }
        }
        let shift = joined.places.start;
        keys.iter_mut()
            .for_each(|(_, own)| own.shift_columns(shift));
        steps.push(Step {
            side: side_of(joined.table, joined.places, local),
            is_left: joined.is_left,
            keys,
            condition: all_of(others),
        });
    }
    let plan = JoinPlan {
        first,
        steps,
        width,
    };
    Some((plan, all_of(rest)))
}

/// The sides of an equation between the rows before and those of a table, in this order.
fn equal_sides(
    part: Expr,
    before: &Range<usize>,
    own: &Range<usize>,
) -> Result<(Expr, Expr), Expr> {
    let Expr::Compare(Comparison::Equal, sides) = part else {
        return Err(part);
    };
    let (left, right) = *sides;
    if is_within(&left, before) && is_within(&right, own) {
        return Ok((left, right));
    }
    if is_within(&right, before) && is_within(&left, own) {
        return Ok((right, left));
    }
    Err(Expr::Compare(Comparison::Equal, Box::new((left, right))))
}

fn side_of(table: JoinedTable, places: Range<usize>, mut local: Vec<Expr>) -> Side {
    local
        .iter_mut()
        .for_each(|part| part.shift_columns(places.start));
    let condition = all_of(local);
    let (way, filter) = match table {
        JoinedTable::Relation(relation) => {
            let choice = choose(&relation, condition, None, false);
            (Way::Table(choice.access), choice.filter)
        }
        JoinedTable::Virtual(table) => (Way::Virtual(table), condition),
    };
    Side {
        way,
        places,
        filter,
    }
}

/// Rows of a table by the hash of what they are joined by.
type Hashed = HashMap<Vec<u8>, Vec<Vec<Value>>>;

impl Side {
    fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let mut filtered = |row: &dyn InputRow| match &self.filter {
            Some(filter) if !filter.holds(row, with)? => Ok(true),
            _ => each(row),
        };
        match &self.way {
            Way::Table(access) => access.walk(source, with, &mut filtered),
            Way::Virtual(table) => {
                for row in table.rows(source, with)? {
                    if !filtered(&Values(&row))? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    fn values(&self, row: &dyn InputRow) -> Result<Vec<Value>, SqlError> {
        super::write::whole_row(row, self.places.len())
    }
}

/// The key of a row; `None` if a part of it is null, which equals nothing.
fn key<'k>(
    parts: impl Iterator<Item = &'k Expr>,
    row: &dyn InputRow,
    with: &Environment<'_>,
) -> Result<Option<Vec<u8>>, SqlError> {
    let mut key = Vec::new();
    for part in parts {
        let value = part.evaluate(row, with)?;
        match value.as_ref() {
            ValueRef::Null => return Ok(None),
            // Equal numbers of different types have one key.
            ValueRef::Float(float) => {
                match crate::expression::arithmetic::decimal_of_float(float) {
                    Some(decimal) => key_of(decimal.as_ref(), &mut key),
                    None => key_of(value.as_ref(), &mut key),
                }
            }
            other => key_of(other, &mut key),
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
        let mut memory = Memory::default();
        let mut tables: Vec<Hashed> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let mut hashed = Hashed::new();
            step.side.walk(source, with, &mut |row| {
                if let Some(key) = key(step.keys.iter().map(|(_, own)| own), row, with)? {
                    let values = step.side.values(row)?;
                    memory.take(&values)?;
                    hashed.entry(key).or_default().push(values);
                }
                Ok(true)
            })?;
            tables.push(hashed);
        }
        self.first.walk(source, with, &mut |row| {
            let mut whole = self.first.values(row)?;
            whole.resize(self.width, Value::Null);
            self.join(0, &tables, &mut whole, with, each)
        })
    }

    /// Joins the tables from a step on to a row. Returns whether more rows are wanted.
    fn join(
        &self,
        at: usize,
        tables: &[Hashed],
        row: &mut Vec<Value>,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<bool, SqlError> {
        let Some(step) = self.steps.get(at) else {
            return each(&Values(row));
        };
        let places = step.side.places.clone();
        let key = key(
            step.keys.iter().map(|(before, _)| before),
            &Values(row),
            with,
        )?;
        let found = key.and_then(|key| tables[at].get(&key));
        let mut any = false;
        for values in found.into_iter().flatten() {
            row[places.clone()].clone_from_slice(values);
            if let Some(condition) = &step.condition
                && !condition.holds(&Values(row), with)?
            {
                continue;
            }
            any = true;
            if !self.join(at + 1, tables, row, with, each)? {
                return Ok(false);
            }
        }
        if any || !step.is_left {
            return Ok(true);
        }
        row[places].fill(Value::Null);
        self.join(at + 1, tables, row, with, each)
    }

    /// How it is run, for people: what is read, outermost first.
    pub fn sides(&self) -> Vec<(Option<&Access>, bool, bool)> {
        let is_filtered = |side: &Side| side.filter.is_some();
        let first = (self.first.access(), is_filtered(&self.first), false);
        let steps = self.steps.iter();
        let steps = steps.map(|step| (step.side.access(), is_filtered(&step.side), step.is_left));
        [first].into_iter().chain(steps).collect()
    }
}

impl Side {
    fn access(&self) -> Option<&Access> {
        match &self.way {
            Way::Table(access) => Some(access),
            Way::Virtual(_) => None,
        }
    }
}
