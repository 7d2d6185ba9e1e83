//! The ways out of rows aside: what has no memory there runs in the stage, within the bound on runs again.

use super::Again;
use crate::error::SqlError;
use crate::session::state::TransactionState;
use crate::session::unit::Unit;

impl Unit {
    /// True if a step that failed has to run in the stage.
    pub(super) fn leaves_for_stage(&mut self, again: &Again) -> bool {
        if again.defines() && self.leaves_for_definition() {
            return true;
        }
        match self.last_failure() {
            Some(error) if again.is_known() => self.leaves_for_room(&error),
            _ => false,
        }
    }

    /// True if the transaction has no memory for its rows aside, and a commit empties or drops tables of its session: such
    /// tables are used for many rows that are not to stay. The transaction continues in the stage, which keeps no copies.
    pub(super) fn leaves_for_room(&mut self, error: &SqlError) -> bool {
        if self.state().settings.ending_at_commit().is_none() || !error.is_for_memory() {
            return false;
        }
        match &mut self.state_mut().transaction {
            TransactionState::Open(open) | TransactionState::Failed(open) => {
                let aside = open.aside.as_mut();
                let leaves = open.history.is_whole()
                    && aside.is_some_and(|aside| aside.get().rows.had_no_room());
                if leaves {
                    open.leave_aside();
                    open.is_of_stage = true;
                }
                leaves
            }
            TransactionState::Idle => false,
        }
    }

    /// True if a definition has to run in the stage, since a table's rows take too much memory. The transaction continues
    /// there, and each run again walks over these rows.
    pub(super) fn leaves_for_definition(&mut self) -> bool {
        match &mut self.state_mut().transaction {
            TransactionState::Open(open) | TransactionState::Failed(open) => {
                let aside = open.aside.as_mut();
                let refused = aside.and_then(|aside| aside.get().rows.refused_definition());
                if let Some(rows) = refused {
                    open.leave_aside();
                    open.is_of_stage = true;
                    open.history.add_rows(rows);
                }
                refused.is_some()
            }
            TransactionState::Idle => false,
        }
    }
}
