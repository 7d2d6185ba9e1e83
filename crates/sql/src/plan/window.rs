//! Window functions: their values are computed from other rows of the result, before `DISTINCT`, `ORDER BY` and
//! `LIMIT`. The query is planned in two parts. The inner one returns the rows after `WHERE`, `GROUP BY` and `HAVING`,
//! with the columns that are read. The outer one appends the values of the window functions to these columns.
//!
//! While expressions are compiled, the number of columns is not known yet, so the values of window functions have
//! provisional places from [`FIRST`] on.
//!
//! Source: SQL:2016, part 2, 4.16 (windowed tables), 7.15 (window clause); PostgreSQL's documentation, 4.2.8 and 9.22.

use super::draft::{Draft, FromNode, FromTable, WindowedDraft};
use super::output::Item;
use super::scopes::scope_of_columns;
use super::tree::{WindowSort, Windowed};
use crate::expression::window::{FIRST, Windows};
use crate::expression::{Expr, Scope, SortKey, Typed};
use crate::types::{SqlType, TypeSpec};
use std::collections::BTreeSet;

impl WindowedDraft {
    /// Chooses the access paths to its rows.
    pub fn finish(self) -> Windowed {
        let (plan, calls) = (self.below.finish(), self.calls);
        let mut sorts: Vec<WindowSort> = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            let partition = call.window.partition.len();
            let same = call.window.partition.iter().map(|expression| SortKey {
                expression: expression.clone(),
                descending: false,
                nulls_first: false,
            });
            let keys: Vec<_> = same.chain(call.window.order.iter().cloned()).collect();
            let mut there = sorts.iter_mut();
            match there.find(|sort| sort.partition == partition && sort.keys == keys) {
                Some(sort) => sort.calls.push(number),
                None => sorts.push(WindowSort {
                    keys,
                    partition,
                    calls: vec![number],
                }),
            }
        }
        // As in PostgreSQL, rows without another order come in the order of the last window.
        sorts.sort_by_key(|sort| std::cmp::Reverse(sort.keys.len()));
        Windowed { plan, calls, sorts }
    }
}

impl Draft {
    /// Adds the window functions that were found in the draft, if any.
    pub fn with_windows(mut self, windows: Windows) -> Draft {
        let mut calls = windows.calls;
        if calls.is_empty() {
            return self;
        }
        let mut places = BTreeSet::new();
        let mut see = |expression: &mut Expr| {
            expression.walk(&mut |part| match part {
                Expr::Column(place) if *place < FIRST => {
                    places.insert(*place);
                }
                _ => {}
            });
        };
        self.each_output(&mut see);
        calls
            .iter_mut()
            .for_each(|call| call.each_expression(&mut see));
        let places: Vec<usize> = places.into_iter().collect();
        let mut place = |expression: &mut Expr| {
            expression.replace_columns(&|place| {
                Expr::Column(match place.checked_sub(FIRST) {
                    Some(number) => places.len() + number,
                    None => places.binary_search(&place).unwrap_or(place),
                })
            });
        };
        self.each_output(&mut place);
        calls
            .iter_mut()
            .for_each(|call| call.each_expression(&mut place));
        let items = places.iter().map(|place| Item {
            // The type and the name are never used.
            typed: Typed::new(Expr::Column(*place), SqlType::Void),
            name: String::new(),
            origin: None,
        });
        let width = places.len() + calls.len();
        let scope = self.windowed_scope(&places, calls.len());
        let below = Draft {
            from: self.from.take(),
            table: self.table.clone(),
            scope: std::mem::replace(&mut self.scope, scope),
            condition: self.condition.take(),
            grouping: self.grouping.take(),
            having: self.having.take(),
            items: items.collect(),
            has_subqueries: self.has_subqueries,
            ..Draft::default()
        };
        let windowed = FromTable::Windowed(Box::new(WindowedDraft { below, calls }));
        Draft {
            from: Some(FromNode::Leaf(windowed, 0..width)),
            ..self
        }
    }

    /// The names of columns at some places, followed by window functions.
    fn windowed_scope(&self, places: &[usize], calls: usize) -> Scope {
        let name = |place: &usize| {
            let tables = self.scope.tables.iter();
            let mut columns = tables.flat_map(|table| &table.columns);
            let column = columns.find(|column| column.place == *place);
            match column.filter(|_| self.grouping.is_none()) {
                Some(column) => column.name.clone(),
                None => format!("column{}", place + 1),
            }
        };
        let names = places.iter().map(name);
        let names = names.chain((0..calls).map(|number| format!("window{}", number + 1)));
        let columns = names.map(|name| (name, TypeSpec::plain(SqlType::Void)));
        Scope {
            tables: vec![scope_of_columns("window", columns.collect())],
        }
    }

    /// Calls `each` with every expression of the output, computed after `HAVING`.
    pub(super) fn each_output(&mut self, each: &mut dyn FnMut(&mut Expr)) {
        for item in &mut self.items {
            each(&mut item.typed.expr);
        }
        for key in &mut self.sort {
            each(&mut key.expression);
        }
        self.distinct_on.iter_mut().for_each(each);
    }
}
