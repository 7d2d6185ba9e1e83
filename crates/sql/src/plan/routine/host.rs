//! The tables on which the body of a function runs, its planned statements, the values of a call, and its result.
//!
//! A body is part of a plan, and has plans: it knows them by [`Statement`] only, so plans are above functions.

use crate::column::ResultColumn;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::rows::Table;
use crate::source::Source;
use sardonyx::schema::Value;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// The plan of a statement in a body.
pub(crate) trait Statement: Any + Debug + Send + Sync {
    /// The columns of its rows; `None` if it returns none.
    fn columns(&self) -> Option<&Arc<[ResultColumn]>>;

    /// True if it changes rows.
    fn writes(&self) -> bool;

    /// Runs a query.
    ///
    /// # Errors
    /// The errors of the plan; `XX000` for a plan that changes rows.
    fn read(&self, source: &dyn Source, with: &Environment<'_>) -> Result<Table, SqlError>;
}

/// The tables on which a body runs.
pub(crate) trait Host {
    fn source(&self) -> &dyn Source;

    /// Makes the changes of a plan. Returns their number, and the rows of `RETURNING`.
    ///
    /// # Errors
    /// The errors of the plan; `0A000` where rows are only read.
    fn change(
        &mut self,
        plan: &dyn Statement,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError>;

    /// Runs steps whose changes are undone if they fail.
    ///
    /// # Errors
    /// Their error.
    fn attempt(
        &mut self,
        with: &Environment<'_>,
        steps: &mut dyn FnMut(&mut dyn Host) -> Result<(), SqlError>,
    ) -> Result<(), SqlError>;
}

/// Tables that are only read.
pub(crate) struct Reader<'s>(pub &'s dyn Source);

impl Host for Reader<'_> {
    fn source(&self) -> &dyn Source {
        self.0
    }

    fn change(&mut self, _: &dyn Statement, _: &Environment<'_>) -> Result<(u64, Table), SqlError> {
        Err(SqlError::unsupported(
            "a function that changes rows is not supported here",
        )
        .hint("Call it by SELECT without a table, or as the only item of FROM; a trigger changes other rows AFTER the change of its own."))
    }

    fn attempt(
        &mut self,
        _: &Environment<'_>,
        steps: &mut dyn FnMut(&mut dyn Host) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        steps(self)
    }
}

/// The values of a call.
#[derive(Clone, Copy)]
pub(crate) struct Given<'g> {
    pub parameters: &'g [Value],
    /// The new row and the old one of a trigger, and the values about it.
    pub rows: (Option<&'g [Value]>, Option<&'g [Value]>),
    pub about: &'g [Value],
}

impl<'g> Given<'g> {
    pub fn of(parameters: &'g [Value]) -> Given<'g> {
        Given {
            parameters,
            rows: (None, None),
            about: &[],
        }
    }
}

/// The result of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    Value(Value),
    Rows(Table),
    /// The row of a trigger; `None` to leave out the change.
    Row(Option<Vec<Value>>),
}
