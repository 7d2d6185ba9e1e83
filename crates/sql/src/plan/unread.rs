//! Unread columns of queries in `FROM`: they are not computed, so invalid values in them cause no error, as in
//! PostgreSQL. Volatile functions are still called, and columns that `DISTINCT`, `UNION` and similar clauses compare
//! are computed.

use super::draft::{Draft, FromNode, FromTable};
use crate::aggregate::{Aggregate, Grouping, Named};
use crate::expression::Expr;
use crate::expression::window::{Window, WindowCall, WindowFunction};
use sardonyx::schema::Value;
use std::collections::HashSet;

/// Places of columns that are read.
type Places = HashSet<usize>;

/// Notes the columns that an expression reads.
fn note(expression: &Expr, read: &mut Places) {
    expression.walk(&mut |part| {
        if let Expr::Column(place) | Expr::Before(place) = part {
            read.insert(*place);
        }
    });
}

impl Draft {
    /// Removes the columns that this query does not read from the queries in `FROM`.
    pub(super) fn leave_out_unread(&mut self) {
        let Some(from) = &self.from else {
            return;
        };
        if !from.has_queries() {
            return;
        }
        let mut read = Places::new();
        from.note(&mut read);
        self.condition.iter().for_each(|of| note(of, &mut read));
        match &self.grouping {
            Some(grouping) => grouping.note(&mut read),
            None => self.note_output(&mut read),
        }
        if let Some(from) = &mut self.from {
            from.keep(&read);
        }
    }

    /// Notes the columns that are read of the rows, or of the groups.
    fn note_output(&self, read: &mut Places) {
        let items = self.items.iter().map(|item| &item.typed.expr);
        let sort = self.sort.iter().map(|key| &key.expression);
        let all = items
            .chain(sort)
            .chain(&self.having)
            .chain(&self.distinct_on);
        all.for_each(|of| note(of, read));
    }

    /// For `EXISTS`: values, order and duplicates of the rows do not matter.
    pub(crate) fn only_exists(&mut self) {
        self.sort.clear();
        if self.limit.is_none() && self.offset.is_none() {
            self.is_distinct = false;
            self.distinct_on.clear();
            let is_of_keys = |grouping: &mut Grouping| {
                grouping.aggregates.is_empty() && !grouping.keys.is_empty()
            };
            if self.having.is_none() {
                self.grouping.take_if(is_of_keys);
            }
        }
        match self.grouping.is_none() && !self.is_distinct && self.distinct_on.is_empty() {
            true => self.items.clear(),
            false => self.keep(&|_| false),
        }
    }

    /// Removes the columns that are not read; the others keep their places.
    pub(super) fn keep(&mut self, is_read: &dyn Fn(usize) -> bool) {
        if self.is_distinct {
            return;
        }
        for (place, item) in self.items.iter_mut().enumerate() {
            if !is_read(place) && !item.typed.expr.is_volatile() {
                item.typed.expr = Expr::Literal(Value::Null);
            }
        }
        let mut read = Places::new();
        self.note_output(&mut read);
        if let Some(grouping) = &mut self.grouping {
            grouping.keep(&read);
        }
    }
}

impl Grouping {
    fn note(&self, read: &mut Places) {
        self.keys.iter().for_each(|key| note(&key.expr, read));
        self.identities.iter().for_each(|of| note(of, read));
        let parts = self.aggregates.iter().flat_map(Aggregate::parts);
        parts.for_each(|part| note(part, read));
    }

    /// Removes aggregates that are not read.
    fn keep(&mut self, read: &Places) {
        let first = self.keys.len();
        for (number, aggregate) in self.aggregates.iter_mut().enumerate() {
            if read.contains(&(first + number)) || aggregate.parts().any(Expr::is_volatile) {
                continue;
            }
            if let Ok(rows) = Aggregate::new(Named::COUNT, None, false, None) {
                *aggregate = rows;
            }
        }
    }
}

impl FromNode {
    /// True if it has a query whose columns may be removed.
    fn has_queries(&self) -> bool {
        match self {
            FromNode::Join(join) => join.left.has_queries() || join.right.has_queries(),
            FromNode::Leaf(table, _) => matches!(
                table,
                FromTable::Derived(_)
                    | FromTable::Lateral(..)
                    | FromTable::Sets(_)
                    | FromTable::Windowed(_)
                    | FromTable::Rows(_)
            ),
        }
    }

    fn note(&self, read: &mut Places) {
        match self {
            FromNode::Join(join) => {
                join.left.note(read);
                join.right.note(read);
                join.on.iter().for_each(|on| note(on, read));
            }
            FromNode::Leaf(FromTable::Lateral(_, arguments), _) => {
                arguments.iter().for_each(|of| note(of, read));
            }
            FromNode::Leaf(FromTable::Series(series), _) => {
                series.parts().into_iter().for_each(|of| note(of, read));
            }
            FromNode::Leaf(..) => {}
        }
    }

    fn keep(&mut self, read: &Places) {
        let (table, start) = match self {
            FromNode::Join(join) => {
                join.left.keep(read);
                join.right.keep(read);
                return;
            }
            FromNode::Leaf(table, places) => (table, places.start),
        };
        let is_read = |place: usize| read.contains(&(start + place));
        match table {
            FromTable::Derived(draft) | FromTable::Lateral(draft, _) => draft.keep(&is_read),
            FromTable::Sets(sets) if sets.is_append() => {
                sets.first.keep(&is_read);
                let rest = sets.rest.iter_mut();
                rest.for_each(|(_, draft)| draft.keep(&is_read));
            }
            FromTable::Windowed(windowed) => {
                let width = windowed.below.items.len();
                let mut below: Places = (0..width).filter(|place| is_read(*place)).collect();
                for (number, call) in windowed.calls.iter_mut().enumerate() {
                    if !is_read(width + number) {
                        *call = WindowCall {
                            function: WindowFunction::RowNumber,
                            arguments: Vec::new(),
                            window: Window::default(),
                        };
                    }
                    call.each_expression(&mut |part| note(part, &mut below));
                }
                windowed.below.keep(&|place| below.contains(&place));
            }
            // PostgreSQL computes all columns of several rows.
            FromTable::Rows(rows) => {
                if let [row] = rows.as_mut_slice() {
                    for (place, value) in row.iter_mut().enumerate() {
                        if !is_read(place) && !value.is_volatile() {
                            *value = Expr::Literal(Value::Null);
                        }
                    }
                }
            }
            _ => {}
        }
    }
}
