//! Trials: units that may be run again from their beginning.
//!
//! A unit that may take long has the serial stage for an [`Allowance`]. If it has not ended by then, its changes are
//! undone, and the session runs the same steps aside ([`overrun`](crate::session::overrun)). It keeps the steps that have
//! run, and the numbers that they drew from sequences: the next run gets the same numbers.
//!
//! Invariant: the client gets the answers of one run.

use super::{Unit, UnitDone};
use crate::class::Class;
use crate::error::SqlError;
use crate::result::{Outcome, Step};
use crate::sequences::Done;
use crate::session::aside;
use crate::session::state::TransactionState;
use sardonyx_base::waiting::{self, Allowance, Reason};
use std::collections::VecDeque;

/// The part of a unit to be run again.
#[derive(Debug, Default)]
pub(in crate::session) struct Trial {
    /// The bound of its time in the serial stage, if it is there.
    allowance: Option<Allowance>,
    ran: Vec<Step>,
    drawn: Done,
}

impl Trial {
    /// In the serial stage, within an allowance.
    pub fn within(allowance: Allowance) -> Trial {
        Trial {
            allowance: Some(allowance),
            ..Trial::default()
        }
    }

    /// Notes the draws of a statement.
    pub fn note_drawn(&mut self, drawn: &Done) {
        self.drawn = std::mem::take(&mut self.drawn).followed_by(drawn.clone());
    }
}

impl Unit {
    /// The transaction before it, if the unit may be run aside from its beginning. Definitions and temporary tables with
    /// `ON COMMIT` need the stage, and so do procedures of the program. A transaction without `BEGIN` runs there if its end
    /// is to come.
    pub fn before_trial(&self) -> Option<TransactionState> {
        if self.state.settings.ending_at_commit().is_some() {
            return None;
        }
        let is_begun = match &self.state.transaction {
            TransactionState::Idle => false,
            TransactionState::Open(open) if open.may_run_again() => !open.is_implicit,
            TransactionState::Open(_) | TransactionState::Failed(_) => return None,
        };
        let mut ends_or_begins = is_begun;
        for step in &self.steps {
            match step {
                Step::Execute { statement, .. } | Step::Copy { statement, .. } => {
                    let defines = statement.class() == Class::Define && statement.block().is_none();
                    if defines || !aside::is_possible(statement, &self.database) {
                        return None;
                    }
                    ends_or_begins |= statement.begins_transaction();
                }
                Step::Sync => ends_or_begins = true,
                Step::Fail(_) => {}
            }
        }
        ends_or_begins.then(|| self.state.transaction.copied())
    }

    /// Has it keep its steps.
    pub fn begin_trial(&mut self, trial: Trial) {
        self.trial = Some(trial);
    }

    /// Gives it the draws of an earlier run.
    pub fn draw_again(&mut self, drawn: Done) {
        self.again = drawn;
    }

    pub(super) fn allowance(&self) -> Option<Allowance> {
        self.trial.as_ref()?.allowance
    }

    /// Keeps a step that has run.
    pub(super) fn note_ran(&mut self, step: Step) {
        if let Some(trial) = &mut self.trial {
            trial.ran.push(step);
        }
    }

    /// Looks at the allowance before the next statement: many short ones take long together.
    ///
    /// # Errors
    /// It is over.
    pub(super) fn check_allowance(&self) -> Result<(), SqlError> {
        let is_data = match self.steps.front() {
            Some(Step::Execute { statement, .. }) => {
                matches!(statement.class(), Class::Read | Class::Write)
                    || statement.block().is_some()
            }
            Some(Step::Copy { .. }) => true,
            Some(Step::Sync | Step::Fail(_)) | None => false,
        };
        match is_data && self.trial.is_some() && waiting::is_over() {
            true => Err(SqlError::interrupted(Reason::Over)),
            false => Ok(()),
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        let mut outcomes = self.outcomes.iter();
        outcomes.any(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    /// The unit without its outcomes, with all that it needs to be run again.
    pub(super) fn to_run_again(mut self: Box<Self>) -> Box<UnitDone> {
        self.outcomes.clear();
        self.into_done(false)
    }

    /// The trial at the end of the unit: its draws, then those of an earlier run that it did not reach.
    pub(super) fn ended_trial(&mut self) -> Option<Trial> {
        let mut trial = self.trial.take()?;
        trial.drawn = trial.drawn.followed_by(std::mem::take(&mut self.again));
        Some(trial)
    }
}

impl UnitDone {
    /// The steps of the unit, and its draws, to be run again.
    pub fn again(&mut self) -> (VecDeque<Step>, Done) {
        let rest = std::mem::take(&mut self.rest);
        match self.trial.take() {
            Some(trial) => (trial.ran.into_iter().chain(rest).collect(), trial.drawn),
            None => (rest, Done::default()),
        }
    }
}
