//! The tables on which the body of a function runs, the values of a call, and its result.

use crate::error::SqlError;
use crate::expression::Environment;
use crate::plan::Plan;
use crate::rows::Table;
use crate::source::Source;
use sardonyx::schema::Value;

/// The tables on which a body runs.
pub(crate) trait Host {
    fn source(&self) -> &dyn Source;

    /// Makes the changes of a plan. Returns their number, and the rows of `RETURNING`.
    ///
    /// # Errors
    /// Those of the plan; `0A000` where rows are only read.
    fn change(&mut self, plan: &Plan, with: &Environment<'_>) -> Result<(u64, Table), SqlError>;

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

    fn change(&mut self, _: &Plan, _: &Environment<'_>) -> Result<(u64, Table), SqlError> {
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
