//! Conditions of SQL on stored rows: CHECK for the store below, and the conditions of searches.
//!
//! The store tests conditions in SQL by a function that the process registers once ([`enforce_checks`]). A condition
//! reads only the row's values, so it is tested without a session and without a database.

use crate::begun::Begun;
use crate::catalogue::CATALOGUE;
use crate::error::SqlError;
use crate::expression::{
    Environment, Expr, StatementContext, program_check, row_condition, stored_check,
};
use crate::indexed::ColumnValue;
use crate::rows::{InputRow, Values};
use sardonyx::schema::{Schema, Value, ValueRef};
use sardonyx_rows::condition::{CheckFailure, CompileSql, RowCheck, RowExpression, speak_sql};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Has this crate test conditions of tables in SQL, in the whole process. Opening a [`Database`](crate::Database) does
/// so, too.
pub fn enforce_checks() {
    speak_sql(CompileSql {
        check: |check| match stored_check(check) {
            Ok(expr) => Ok(Arc::new(RowFilter { expr })),
            Err(error) => Err(failure(&error)),
        },
        expression: |expression, declared, is_exact| match ColumnValue::of(
            expression, declared, is_exact,
        ) {
            Ok(value) => Ok(Arc::new(value)),
            Err(error) => Err(failure(&error)),
        },
        declare: |text, schema| program_check(text, schema).map_err(|error| failure(&error)),
    });
}

fn failure(error: &SqlError) -> CheckFailure {
    CheckFailure {
        code: error.code,
        reason: error.message.clone(),
        interrupted: error.interruption(),
    }
}

thread_local! {
    /// The context of conditions on this thread. It keeps the compiled regular expressions. It has no database, so the
    /// interrupt of the thread ends an evaluation ([`StatementContext::check_interrupted`]).
    static CONTEXT: StatementContext = StatementContext {
        database: None,
        catalogue: &CATALOGUE,
        transaction: Begun {
            moment: 0,
            number: 0,
        },
        statement_started: 0,
        user: Arc::default(),
        settings: RefCell::default(),
        seed: [0; 2],
        made: Cell::new(0),
        draws: RefCell::default(),
        patterns: Default::default(),
        interrupt: Arc::default(),
        looked_at: Cell::new(0),
        inbox: None,
        listed: None,
        waits: None,
        claims: None,
        waiting: RefCell::default(),
        rights: RefCell::default(),
    };
}

/// A row's values by the columns' numbers.
struct Given<'a>(&'a [ValueRef<'a>]);

impl InputRow for Given<'_> {
    fn value(&self, place: usize) -> Result<ValueRef<'_>, SqlError> {
        Ok(self.0.get(place).copied().unwrap_or_default())
    }
}

impl RowCheck for RowFilter {
    fn allows(&self, values: &[ValueRef<'_>]) -> Result<bool, CheckFailure> {
        let truth = truth(&self.expr, values).map_err(|error| failure(&error))?;
        Ok(truth != Some(false))
    }
}

impl RowExpression for ColumnValue {
    fn value(&self, values: &[ValueRef<'_>]) -> Result<Value, CheckFailure> {
        let computed = in_context(|with| self.of_row(&Given(values), with));
        computed.map_err(|error| failure(&error))
    }
}

/// The value of an expression over a row's values only, by the columns' numbers.
///
/// # Errors
/// A value that cannot be computed.
pub(crate) fn value_of_row(expr: &Expr, row: &[Value]) -> Result<Value, SqlError> {
    in_context(|with| Ok(expr.evaluate(&Values(row), with)?.into_value()))
}

/// Evaluates something on a row in the context of this thread. One row may take long, so each evaluation looks whether
/// the statement is to end.
fn in_context<T>(
    evaluate: impl FnOnce(&Environment<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    CONTEXT.with(|context| {
        context.check_interrupted()?;
        evaluate(&Environment::new(&[], context))
    })
}

fn truth(expr: &Expr, values: &[ValueRef<'_>]) -> Result<Option<bool>, SqlError> {
    in_context(|with| expr.truth(&Given(values), with))
}

/// A condition of a search for rows, or of a table: an expression of SQL on the columns of a schema.
#[derive(Debug)]
pub struct RowFilter {
    expr: Expr,
}

impl RowFilter {
    /// Reads a condition on rows of a schema.
    ///
    /// # Errors
    /// Invalid SQL; `42P17` for functions that give another value each time, `0A000` for queries.
    pub fn parse(text: &str, schema: &Schema) -> Result<RowFilter, SqlError> {
        let expr = row_condition(text, schema)?;
        Ok(RowFilter { expr })
    }

    /// The numbers of the columns that it reads.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = std::collections::BTreeSet::new();
        self.expr.walk(&mut |part| {
            if let Expr::Column(number) = part {
                columns.insert(*number);
            }
        });
        columns.into_iter().collect()
    }

    /// True if the condition is true for a row with these values, by the columns' numbers.
    ///
    /// # Errors
    /// A value that cannot be computed.
    pub fn holds(&self, values: &[ValueRef<'_>]) -> Result<bool, SqlError> {
        Ok(truth(&self.expr, values)? == Some(true))
    }
}
