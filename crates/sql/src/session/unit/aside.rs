//! A unit whose transaction has its rows aside ([`aside`](crate::session::aside)): its steps run there, up to the end of the
//! transaction.

use super::{Next, Unit, UnitDone, begin_word};
use crate::class::Class;
use crate::result::{Outcome, Step};
use crate::session::aside::is_commit;
use crate::session::control;
use crate::session::state::TransactionState;
use crate::write_target::WriteTarget;
use sqlparser::ast::Statement;

/// The same step again, if it defines something.
fn definition_of(step: &Step) -> Option<Step> {
    match step {
        Step::Execute {
            statement,
            parameters,
            rows_max,
        } if statement.class() == Class::Define => Some(Step::Execute {
            statement: statement.clone(),
            parameters: parameters.clone(),
            rows_max: *rows_max,
        }),
        _ => None,
    }
}

impl Unit {
    /// Runs steps with the rows that the transaction has aside, up to its commit, which it leaves.
    pub fn run_aside(mut self: Box<Self>) -> Box<UnitDone> {
        let span = self.span.clone();
        let _inside = span.enter();
        let mut skips = false;
        let begun = self.with_aside(Unit::begin_aside);
        if let Some(Err(error)) = begun {
            if self.has_refused_definition() {
                return self.into_done(false);
            }
            // The rows have only a part of the transaction's changes.
            if let TransactionState::Open(open) = &mut self.state.transaction {
                open.leave_aside();
            }
            self.failed(error, self.first_ends());
            // Its outcome is that of the first step.
            if !matches!(self.steps.front(), Some(Step::Sync)) {
                let first = self.steps.pop_front();
                first.into_iter().for_each(|step| self.note_ran(step));
            }
            skips = true;
        }
        while !skips && let Some(step) = self.steps.pop_front() {
            let is_end = matches!(step, Step::Sync) && self.state.transaction.is_implicit();
            if is_end || is_commit(&step) {
                self.steps.push_front(step);
                break;
            }
            let again = definition_of(&step);
            skips = self.step_aside(step);
            if skips
                && let Some(step) = again
                && self.has_refused_definition()
            {
                self.take_back_failure();
                self.steps.push_front(step);
                return self.into_done(false);
            }
            if !matches!(self.state.transaction, TransactionState::Open(_)) {
                break;
            }
        }
        self.into_done(skips)
    }

    /// True if a definition has to run in the stage, since a table has too many rows. The transaction continues there.
    fn has_refused_definition(&mut self) -> bool {
        match &mut self.state.transaction {
            TransactionState::Open(open) | TransactionState::Failed(open) => {
                let aside = open.aside.as_mut();
                let is_refused =
                    aside.is_some_and(|aside| aside.get().rows.has_refused_definition());
                if is_refused {
                    open.leave_aside();
                    open.is_of_stage = true;
                }
                is_refused
            }
            TransactionState::Idle => false,
        }
    }

    /// Calls `act` with the rows that the transaction has aside, if it has some.
    fn with_aside<R>(
        &mut self,
        act: impl FnOnce(&mut Unit, &mut dyn WriteTarget) -> R,
    ) -> Option<R> {
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return None;
        };
        let mut aside = open.aside.take()?;
        open.is_aside = true;
        let there = aside.get();
        std::mem::swap(&mut self.effects, &mut there.effects);
        self.version = Some(there.version);
        let result = act(self, &mut there.rows);
        if let Some(version) = self.version.take() {
            there.version = version;
        }
        std::mem::swap(&mut self.effects, &mut there.effects);
        // A transaction that has failed may go back to a savepoint.
        if let TransactionState::Open(open) | TransactionState::Failed(open) =
            &mut self.state.transaction
        {
            open.aside = Some(aside);
        }
        Some(result)
    }

    /// The end of it, as far as it has run.
    pub(super) fn into_done(mut self: Box<Self>, skips: bool) -> Box<UnitDone> {
        Box::new(UnitDone {
            trial: self.ended_trial(),
            state: self.state,
            outcomes: self.outcomes,
            skips,
            rest: self.steps,
            posted: None,
        })
    }

    /// Takes back the failure of the last step, which continues elsewhere.
    fn take_back_failure(&mut self) {
        self.outcomes.pop();
        self.state.transaction = match std::mem::take(&mut self.state.transaction) {
            TransactionState::Failed(open) => TransactionState::Open(open),
            other => other,
        };
    }

    /// Runs a step with the rows that the transaction has aside. Returns true if it failed.
    fn step_aside(&mut self, step: Step) -> bool {
        let is_control = matches!(&step, Step::Execute { statement, .. }
            if statement.class() == Class::Control);
        if let (Step::Execute { statement, .. }, true) = (&step, is_control) {
            let outcome = match statement.statement() {
                // Of a flight that runs aside from its beginning.
                Some(Statement::StartTransaction { modes, begin, .. }) => {
                    Some(control::begun(&mut self.state, begin_word(*begin), modes))
                }
                _ => control::without_data(&mut self.state, statement),
            };
            let has_failed = matches!(outcome, Some(Outcome::Failed(_)));
            if has_failed {
                self.state.fail();
            }
            let state = &self.state;
            let outcome = outcome.map(|outcome| state.without_unwanted(outcome));
            self.outcomes.extend(outcome);
            self.note_ran(step);
            return has_failed;
        }
        match self.with_aside(|unit, rows| unit.step(rows, step, &mut false)) {
            Some(Next::Go) => false,
            Some(Next::End(_, skips)) => skips,
            None => true,
        }
    }
}
