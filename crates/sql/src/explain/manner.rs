//! The manner in which `EXPLAIN` writes: with `VERBOSE`, each part of a plan has a line of the values that it gives, columns are
//! named with their tables, and tables with their schemas.

use super::written::Names;
use crate::expression::{Expr, Scope, ScopeColumn};
use crate::names::quoted;
use crate::path::{local, written_whole};
use crate::plan::insert::InsertPlan;
use crate::plan::join_columns::Read;
use crate::plan::scopes::scope_of_columns;
use crate::plan::tree::{JoinNode, SelectPlan};
use crate::source::Source;

/// The tables that lines name, and the manner in which they are written.
#[derive(Clone, Copy)]
pub(super) struct Manner<'s> {
    pub source: &'s dyn Source,
    /// `VERBOSE`: each part says the columns that it gives, columns have their tables, and tables their schemas.
    pub is_verbose: bool,
}

impl Manner<'_> {
    pub fn names<'n>(self, scope: &'n Scope, outer: &'n [String]) -> Names<'n> {
        let names = Names::of(scope, outer);
        Names {
            is_qualified: names.is_qualified || self.is_verbose,
            ..names
        }
    }

    /// The name of a table that is kept under this one.
    pub fn table(self, kept: &str) -> String {
        match self.is_verbose {
            true => written_whole(kept),
            false => quoted(local(kept)),
        }
    }

    /// The line of the values that a part gives.
    pub fn output(self, names: &Names<'_>, values: &[Expr]) -> Option<String> {
        (self.is_verbose && !values.is_empty())
            .then(|| format!("  Output: {}", names.listed(values)))
    }

    /// The line of the columns that a part gives, by their places.
    pub fn columns(self, names: &Names<'_>, places: impl Iterator<Item = usize>) -> Option<String> {
        let named: Vec<Expr> = match self.is_verbose {
            true => places
                .filter(|place| names.has(*place))
                .map(Expr::Column)
                .collect(),
            false => Vec::new(),
        };
        self.output(names, &named)
    }
}

/// Puts a line behind the first one.
pub(super) fn put(lines: &mut Vec<String>, line: Option<String>) {
    if let Some(line) = line {
        lines.insert(lines.len().min(1), line);
    }
}

/// The columns of the table into which rows come, as `RETURNING` sees them.
pub(super) fn scope_of_insert(insert: &InsertPlan) -> Scope {
    let columns = insert
        .columns
        .iter()
        .map(|(column, _)| ScopeColumn::new(&column.name, column.spec, column.number));
    let mut table = scope_of_columns(local(&insert.table), Vec::new());
    table.columns.extend(columns);
    Scope {
        tables: vec![table],
    }
}

/// True if parts of a query stand above the source of its rows.
pub(super) fn has_parts_above(select: &SelectPlan) -> bool {
    select.grouping.is_some()
        || select.is_distinct
        || !select.distinct_on.is_empty()
        || !select.sort.is_empty()
        || !select.locks.is_empty()
        || select.limit.is_some()
        || select.offset.is_some()
}

/// The places of the source's columns that the parts above it read.
pub(super) fn read_above(select: &SelectPlan) -> Read {
    let tables = select.scope.tables.iter();
    let places = tables.flat_map(|table| table.columns.iter().map(|column| column.place + 1));
    let mut read = Read::none(places.max().unwrap_or_default());
    match &select.grouping {
        Some(grouping) => {
            grouping.keys.iter().for_each(|key| read.add(&key.expr));
            for aggregate in &grouping.aggregates {
                let parts = aggregate.argument.iter().chain(&aggregate.filter);
                parts.for_each(|part| read.add(part));
            }
        }
        None => {
            let items = select.output.expressions.iter().chain(&select.distinct_on);
            items.for_each(|item| read.add(item));
            let keys = select.sort.iter();
            keys.for_each(|key| read.add(&key.expression));
        }
    }
    read
}

/// The places of the columns that are read of a part of a join.
pub(super) fn places_of(node: &JoinNode) -> Vec<usize> {
    match node {
        JoinNode::Side(side) => {
            let start = side.places.start;
            side.columns.iter().map(|column| start + column).collect()
        }
        JoinNode::Join(step) => {
            let mut places = places_of(&step.left);
            places.extend(places_of(&step.right));
            places
        }
    }
}
