//! The queries around an expression, as its compiler knows them: their columns, which it may ask for, and queries
//! inside of it, which others plan and run.
//!
//! A query's expressions ask for columns of the queries around it ([`Expr::Outer`]). The query keeps a list of them
//! ([`OuterColumn`]), and its caller gives their values.

use super::subquery::InnerQuery;
use super::subquery::Question;
use super::{Expr, Parameters, Scope, ScopeTable, whole_row};
use crate::aggregate::Aggregate;
use crate::error::{SqlError, code};
use crate::rights::Rights;
use crate::routines::RoutineDefinition;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use sqlparser::ast::Query;
use std::fmt::Debug;
use std::sync::Arc;

/// The queries around an expression.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Their scopes, the innermost last.
    pub outer: Vec<Arc<Scope>>,
    /// The columns that this query asks for of them: the numbers of [`Expr::Outer`].
    pub asked: Vec<OuterColumn>,
    /// True if a query inside asked for an aggregate of a query that is not grouped.
    pub wants_groups: bool,
    /// True if a function of a user is called.
    pub calls_users: bool,
    /// True if a function of a user that is called may notify sessions.
    pub notifies: bool,
    /// True if an expression reads or sets the session's state.
    pub asks_session: bool,
    /// True if an expression sets it, or takes or gives back the session's locks.
    pub sets_session: bool,
}

/// A value that a query asks for of a row of a query around it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OuterColumn {
    /// The number of the query around it, from the outermost.
    pub level: usize,
    /// Over the rows of that one.
    pub expr: Expr,
    pub spec: TypeSpec,
    /// The aggregate of that query's groups, if it is no column.
    pub aggregate: Option<Box<Aggregate>>,
}

impl Around {
    /// Asks for a column of a query around this one, and returns its number as an expression.
    pub fn ask(&mut self, column: OuterColumn) -> Expr {
        let found = self.asked.iter().position(|there| *there == column);
        Expr::Outer(found.unwrap_or_else(|| {
            self.asked.push(column);
            self.asked.len() - 1
        }))
    }

    /// The column of a name in the innermost query around this one that has it.
    ///
    /// # Errors
    /// `42702` if one has several.
    pub fn outer_column(
        &mut self,
        table: Option<&str>,
        name: &str,
    ) -> Result<Option<(Expr, TypeSpec)>, SqlError> {
        for level in (0..self.outer.len()).rev() {
            match self.outer[level].find(table, name) {
                Ok(column) => {
                    let (expr, spec) = (column.expr(), column.spec);
                    return Ok(Some(self.ask_column(level, expr, spec)));
                }
                Err(error) if is_missing(&error, table) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The same of a table that is named with its schema.
    ///
    /// # Errors
    /// `42703` if the table has no such column.
    pub fn outer_column_in(
        &mut self,
        schema: &str,
        table: &str,
        name: &str,
    ) -> Result<Option<(Expr, TypeSpec)>, SqlError> {
        for level in (0..self.outer.len()).rev() {
            // A table of that name in another schema hides none.
            let Ok(Some(found)) = self.outer[level].table_in(schema, table) else {
                continue;
            };
            let mut columns = found.columns.iter().chain(found.system.columns());
            let Some(column) = columns.find(|column| column.name == name) else {
                return self.outer[level].find(Some(table), name).map(|_| None);
            };
            let (expr, spec) = (column.expr(), column.spec);
            return Ok(Some(self.ask_column(level, expr, spec)));
        }
        Ok(None)
    }

    /// The row of the table of a name in the innermost query around this one that has it.
    pub fn outer_row(&mut self, schema: Option<&str>, name: &str) -> Option<(Expr, TypeSpec)> {
        for level in (0..self.outer.len()).rev() {
            let mut tables = self.outer[level].tables.iter();
            if let Some(table) = tables.find(|table| table.is_named(schema, name)) {
                let row = whole_row(table);
                return Some(self.ask_column(level, row.expr, row.spec));
            }
        }
        None
    }

    /// True if a name means a row of a query around this one: it is not a column's there, nor in one between them.
    pub fn has_row(&self, name: &str) -> bool {
        for scope in self.outer.iter().rev() {
            let is_it = |table: &ScopeTable| table.is_named(None, name) && !table.is_scalar;
            if scope.find(None, name).is_ok() {
                return false;
            }
            if scope.tables.iter().any(is_it) {
                return true;
            }
        }
        false
    }

    fn ask_column(&mut self, level: usize, expr: Expr, spec: TypeSpec) -> (Expr, TypeSpec) {
        let asked = self.ask(OuterColumn {
            level,
            expr,
            spec,
            aggregate: None,
        });
        (asked, spec)
    }
}

/// True if a name is unknown here, so that it may be one of a query around.
pub(crate) fn is_missing(error: &SqlError, table: Option<&str>) -> bool {
    match table {
        Some(_) => error.code == code::UNKNOWN_TABLE,
        None => error.code == code::UNKNOWN_COLUMN,
    }
}

/// A draft of a query, the columns that it asks for of the queries around it, and its number.
pub(crate) type DraftedQuery = (Box<dyn Drafted>, Vec<OuterColumn>, usize);

/// A function of a user for a plan.
#[derive(Debug)]
pub(crate) struct PlannedRoutine {
    pub query: Arc<dyn InnerQuery>,
    /// The number of the call in the statement.
    pub number: usize,
    /// In the order of the definition.
    pub parameters: Vec<SqlType>,
    /// The type of its value; `void` for rows, which have columns of their own.
    pub result: SqlType,
}

/// Plans the subqueries of expressions.
pub(crate) trait Queries: Debug {
    /// The queries around the expression.
    fn around(&self) -> &Around;

    /// The same, to note the columns that the expression asks for.
    fn around_mut(&mut self) -> &mut Around;

    /// The rights of the session.
    fn rights(&self) -> &Rights;

    /// A function of a user as a part of the statement.
    ///
    /// # Errors
    /// A type that is not known.
    fn routine(
        &mut self,
        source: &dyn Source,
        definition: &RoutineDefinition,
    ) -> Result<PlannedRoutine, SqlError>;

    /// Drafts a query inside this scope. Returns it with its number, and the columns that it asks for.
    ///
    /// # Errors
    /// Invalid SQL.
    fn draft(
        &mut self,
        source: &dyn Source,
        scope: &Scope,
        parameters: &mut Parameters,
        query: &Query,
    ) -> Result<DraftedQuery, SqlError>;
}

/// A query before its access paths are chosen.
pub(crate) trait Drafted: Debug {
    fn columns(&self) -> Vec<TypeSpec>;

    /// Plans the reads of its rows, for a question. `asks` is true if it asks for values of the row around it.
    fn planned(self: Box<Self>, question: &Question, asks: bool) -> Arc<dyn InnerQuery>;
}
