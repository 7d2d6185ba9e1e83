//! Set-returning functions in the list of `SELECT`, in `ORDER BY`, `DISTINCT ON` and `GROUP BY`. A query below gives
//! the rows with the columns that are read, and each row becomes as many as its longest function has values. Shorter
//! ones are continued with nulls. A function with others in its arguments is called in the rows that these give.
//!
//! Source: PostgreSQL's documentation, 38.5.9 (SQL functions returning sets), as of version 10.

use super::draft::{Draft, ExpandedDraft, FromNode, FromTable};
use super::output::Item;
use super::series::Given;
use super::tree::{Expansion, SeriesOf, SetCall};
use crate::error::SqlError;
use crate::expression::row_calls::{RowCalls, number_of};
use crate::expression::window::Windows;
use crate::expression::{Environment, Expr, Typed};
use crate::rows::{EachRow, Values};
use crate::source::Source;
use crate::types::SqlType;
use sardonyx::schema::Value;
use std::collections::BTreeSet;

/// A column of the query below; its type and its name are never used.
fn column(place: usize) -> Item {
    Item {
        typed: Typed::new(Expr::Column(place), SqlType::Void),
        name: String::new(),
        origin: None,
    }
}

/// The calls, each with its values by the places of the columns below.
fn placed(sets: RowCalls, place: &dyn Fn(&mut Expr)) -> Vec<SetCall> {
    let calls = sets.calls.into_iter().map(|mut call| {
        place(&mut call.expr);
        SetCall {
            of: SeriesOf::of(call.expr, call.kind),
            level: call.level,
        }
    });
    calls.collect()
}

impl Draft {
    /// Adds the set-returning functions and the window functions that were found in the output.
    pub fn with_calls(mut self, mut sets: RowCalls, windows: Windows) -> Draft {
        if sets.calls.is_empty() {
            return self.with_windows(windows);
        }
        let mut places = BTreeSet::new();
        let mut see = |expression: &mut Expr| {
            expression.walk(&mut |part| match part {
                Expr::Column(place) if number_of(*place).is_none() => {
                    places.insert(*place);
                }
                _ => {}
            });
        };
        self.each_output(&mut see);
        sets.calls.iter_mut().for_each(|call| see(&mut call.expr));
        let places: Vec<usize> = places.into_iter().collect();
        let place = |expression: &mut Expr| {
            expression.replace_columns(&|place| {
                Expr::Column(match number_of(place) {
                    Some(number) => places.len() + number,
                    None => places.binary_search(&place).unwrap_or(place),
                })
            });
        };
        self.each_output(&mut |expression| place(expression));
        let calls = placed(sets, &place);
        let width = places.len() + calls.len();
        let below = Draft {
            from: self.from.take(),
            table: self.table.clone(),
            scope: std::mem::take(&mut self.scope),
            condition: self.condition.take(),
            grouping: self.grouping.take(),
            having: self.having.take(),
            items: places.iter().copied().map(column).collect(),
            has_subqueries: self.has_subqueries,
            ..Draft::default()
        };
        let below = below.with_windows(windows);
        let expanded = FromTable::Expanded(Box::new(ExpandedDraft { below, calls }));
        Draft {
            from: Some(FromNode::Leaf(expanded, 0..width)),
            ..self
        }
    }

    /// Calls the set-returning functions of `GROUP BY` before the rows are grouped.
    pub fn group_expanded(&mut self, sets: RowCalls) {
        let Some(grouping) = self.grouping.as_mut().filter(|_| !sets.calls.is_empty()) else {
            return;
        };
        let columns = self.from.as_ref().map_or(0, FromNode::end);
        let place = |expression: &mut Expr| {
            expression.replace_columns(&|place| {
                Expr::Column(number_of(place).map_or(place, |number| columns + number))
            });
        };
        grouping.each_expression(&mut |expression| place(expression));
        let calls = placed(sets, &place);
        let width = columns + calls.len();
        let below = Draft {
            from: self.from.take(),
            table: self.table.clone(),
            scope: self.scope.clone(),
            condition: self.condition.take(),
            items: (0..columns).map(column).collect(),
            has_subqueries: self.has_subqueries,
            ..Draft::of_rows(FromTable::Rows(Vec::new()), "", Vec::new())
        };
        let expanded = FromTable::Expanded(Box::new(ExpandedDraft { below, calls }));
        self.from = Some(FromNode::Leaf(expanded, 0..width));
    }
}

impl FromNode {
    /// The place behind its last column.
    fn end(&self) -> usize {
        match self {
            FromNode::Leaf(_, places) => places.end,
            FromNode::Join(join) => join.left.end().max(join.right.end()),
        }
    }
}

impl ExpandedDraft {
    /// Chooses the access paths to its rows.
    pub fn finish(self) -> Expansion {
        Expansion {
            plan: self.below.finish(),
            calls: self.calls,
        }
    }
}

impl Expansion {
    /// Calls `each` with the rows.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let columns = self.plan.output.width();
        let mut extended = Vec::with_capacity(columns + self.calls.len());
        self.plan.rows(source, with, u64::MAX, &mut |row| {
            extended.clear();
            extended.append(row);
            extended.resize(columns + self.calls.len(), Value::Null);
            self.expand(0, &mut extended, with, each)
        })
    }

    /// Calls `each` with the rows that the calls of a level, and of those behind it, make of a row. Returns false if no
    /// more rows are wanted.
    fn expand(
        &self,
        level: usize,
        row: &mut [Value],
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<bool, SqlError> {
        let columns = self.plan.output.width();
        let calls = self.calls.iter().enumerate();
        let mut sides: Vec<(usize, Given)> = Vec::new();
        let mut memory = with.memory();
        for (number, call) in calls.filter(|(_, call)| call.level == level) {
            let values = call.of.values(&Values(row), with)?;
            memory.take_bytes(values.bytes())?;
            sides.push((columns + number, values));
        }
        if sides.is_empty() {
            return each(&Values(row));
        }
        loop {
            let mut is_row = false;
            for (place, side) in &mut sides {
                let value = side.next();
                is_row |= value.is_some();
                if let Some(own) = row.get_mut(*place) {
                    *own = value.unwrap_or(Value::Null);
                }
            }
            if !is_row {
                return Ok(true);
            }
            with.context.look_at_row()?;
            if !self.expand(level + 1, row, with, each)? {
                return Ok(false);
            }
        }
    }
}
