//! Aggregates that belong to an outer query, since they read columns of its rows only. The outer query computes them,
//! and the inner one asks for their values.
//!
//! Source: PostgreSQL's documentation, 4.2.7.

use super::compile::Compiler;
use super::trees::{parts_of_function, parts_of_tree};
use super::whole_rows::{of_whole_row, whole_rows};
use super::{Expr, Scope, Typed};
use crate::aggregate::{Aggregate, Named};
use crate::error::{SqlError, code};
use crate::expression::OuterColumn;
use crate::names::name_of;
use sardonyx::schema::Value;
use sqlparser::ast::{self, Expr as Tree};

/// The query that has a name.
#[derive(PartialEq, Eq)]
enum Found {
    Here,
    Around,
    Nowhere,
}

impl Compiler<'_> {
    /// The level of the outer query to which an aggregate belongs; `None` if it belongs here.
    pub fn level_of_aggregate(&self, function: &ast::Function) -> Option<usize> {
        let outer = &self.nested.as_ref()?.queries.around().outer;
        if outer.is_empty() {
            return None;
        }
        let mut level = None;
        let mut note = |is_it: &dyn Fn(&Scope) -> bool| match is_it(self.scope) {
            true => Found::Here,
            false => match outer.iter().rposition(|scope| is_it(scope)) {
                Some(found) => {
                    level = level.max(Some(found));
                    Found::Around
                }
                None => Found::Nowhere,
            },
        };
        // A whole row, of a name that no column has.
        let row = |name: &str| {
            let name = name.to_string();
            move |scope: &Scope| {
                let mut tables = scope.tables.iter();
                tables.any(|table| table.is_named(None, &name))
            }
        };
        for table in whole_rows(function) {
            if note(&row(&table)) == Found::Here {
                return None;
            }
        }
        let mut rest = parts_of_function(function);
        while let Some(tree) = rest.pop() {
            rest.extend(parts_of_tree(tree));
            let (table, name) = match tree {
                Tree::Identifier(name) => (None, name_of(name)),
                Tree::CompoundIdentifier(names) => match (of_whole_row(names), names.as_slice()) {
                    (Some([.., table]), _) => (None, name_of(table)),
                    (None, [.., table, name]) => (Some(name_of(table)), name_of(name)),
                    _ => continue,
                },
                _ => continue,
            };
            let column = |scope: &Scope| scope.find(table.as_deref(), &name).is_ok();
            let is_here = match (note(&column), &table) {
                (Found::Nowhere, None) => note(&row(&name)) == Found::Here,
                (found, _) => found == Found::Here,
            };
            if is_here {
                return None;
            }
        }
        level
    }

    /// The value of an aggregate that belongs to an outer query, if it does.
    ///
    /// # Errors
    /// An aggregate that cannot be compiled; `0A000` if it reads columns of several queries.
    pub(super) fn outer_aggregate(
        &mut self,
        named: Named,
        function: &ast::Function,
    ) -> Result<Option<Typed>, SqlError> {
        let Some(level) = self.level_of_aggregate(function) else {
            return Ok(None);
        };
        let Some(nested) = &mut self.nested else {
            return Ok(None);
        };
        let scope = nested.queries.around().outer[level].clone();
        let made = Compiler::new(&scope, self.parameters).aggregate_call(named, function);
        let aggregate = made.map_err(|error| match error.code {
            code::UNKNOWN_COLUMN | code::UNKNOWN_TABLE => SqlError::unsupported(
                "an aggregate of columns of several queries around this one is not supported",
            ),
            _ => error,
        })?;
        let spec = aggregate.result_spec();
        let expr = nested.queries.around_mut().ask(OuterColumn {
            level,
            expr: Expr::Literal(Value::Null),
            spec,
            aggregate: Some(Box::new(aggregate)),
        });
        Ok(Some(Typed { expr, spec }))
    }

    /// The place of an aggregate for which an inner query asks.
    pub(super) fn asked_aggregate(&mut self, aggregate: Aggregate) -> Result<Expr, SqlError> {
        if let Some(grouping) = &mut self.grouping {
            return Ok(grouping.add(aggregate).expr);
        }
        if let Some(nested) = &mut self.nested {
            nested.queries.around_mut().wants_groups = true;
        }
        Err(SqlError::new(
            code::GROUPING,
            "aggregate functions are not allowed here",
        ))
    }
}
