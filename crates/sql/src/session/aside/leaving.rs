//! The ways out of rows aside. What has no memory there runs in the stage, within the bound on runs again. What others have
//! changed meanwhile runs again: in the stage if it is short, otherwise aside.
//!
//! Invariant: statements that run again in the stage for such a difference have walked over at most [`STAGE_ROWS_MAX`] rows,
//! unless they define something that needs the stage.

use super::Again;
use crate::database::Database;
use crate::error::SqlError;
use crate::session::state::{OpenTransaction, TransactionState};
use crate::session::unit::{Unit, is_long_again};

/// The most runs of a transaction aside after the first, for rows that others have changed.
const ATTEMPTS: usize = 3;
/// The most rows over which the stage walks for one that others disturb each time: about a tenth of a second.
const STAGE_ROWS_MAX: u64 = 100_000;

impl OpenTransaction {
    /// Begins the transaction again at its commit, since others have changed rows that it read, or since its snapshot was
    /// ended by this error. If its statements take long, they run aside, over the state as it is then. If others disturb that
    /// each time, the stage runs statements that walk over few rows.
    ///
    /// # Errors
    /// `40001` if others disturb that each time, and the stage would be held for too long.
    pub(super) fn begin_again(
        &mut self,
        database: &Database,
        error: SqlError,
    ) -> Result<(), SqlError> {
        let is_long = is_long_again(&self.history, database);
        if is_long && self.attempts >= ATTEMPTS && self.history.rows() > STAGE_ROWS_MAX {
            return Err(error);
        }
        if !is_long || self.attempts >= ATTEMPTS {
            self.leave_for_stage();
            return Ok(());
        }
        self.leave_aside();
        self.is_again = true;
        self.attempts += 1;
        Ok(())
    }

    /// Goes on in the stage, and to its end.
    pub(super) fn leave_for_stage(&mut self) {
        self.leave_aside();
        self.is_of_stage = true;
    }
}

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
                    open.leave_for_stage();
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
                    open.leave_for_stage();
                    open.history.add_rows(rows);
                }
                refused.is_some()
            }
            TransactionState::Idle => false,
        }
    }
}
