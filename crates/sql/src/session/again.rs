//! The bound on running the statements of an open transaction again, before they do. It makes the cost of each transaction
//! linear in its statements, wherever it runs ([`History::run_again`](super::history::History::run_again)).

use super::Session;
use super::history::Ends;
use super::state::TransactionState;
use super::unit::locks_tables;
use crate::error::SqlError;
use crate::result::Step;
use sqlparser::ast::Statement;
use std::collections::VecDeque;

impl Session {
    /// Counts a run of the open transaction's statements before these steps.
    ///
    /// # Errors
    /// `54001` if they have run again too often. The end of the transaction is not refused.
    pub(super) fn run_again(&mut self, steps: &VecDeque<Step>) -> Result<(), SqlError> {
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return Ok(());
        };
        let ends = end_of(steps, open.is_implicit);
        let again_max = self.database.again_max();
        open.history.run_again(again_max, ends)
    }

    /// Counts a run of the open transaction's statements for the types of the next one.
    ///
    /// # Errors
    /// `54001` if they have run again too often.
    pub(super) fn describe_again(&mut self) -> Result<(), SqlError> {
        let again_max = self.database.again_max();
        match &mut self.state.transaction {
            TransactionState::Open(open) => open.history.describe_again(again_max),
            _ => Ok(()),
        }
    }
}

/// The end of the transaction in the first unit of these steps.
pub(super) fn end_of(steps: &VecDeque<Step>, is_implicit: bool) -> Ends {
    for (place, step) in steps.iter().enumerate() {
        let ends = match step {
            Step::Execute { statement, .. } => statement.ends_transaction(),
            Step::Sync => is_implicit,
            Step::Copy { .. } | Step::Fail(_) => false,
        };
        match ends {
            true if place == 0 => return Ends::Now,
            true => return Ends::Later,
            // The next unit runs all of it once more.
            false if locks_tables(step) || goes_back(step) => return Ends::Not,
            false => {}
        }
    }
    Ends::Not
}

/// True if a step is `ROLLBACK TO`.
fn goes_back(step: &Step) -> bool {
    match step {
        Step::Execute { statement, .. } => matches!(
            statement.statement(),
            Some(Statement::Rollback {
                savepoint: Some(_),
                ..
            })
        ),
        Step::Copy { .. } | Step::Sync | Step::Fail(_) => false,
    }
}
