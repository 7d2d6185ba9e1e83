//! The next step of a flight, where it needs no serial call: what begins or ends a transaction, sets parameters, reads a
//! snapshot, waits, or changes many rows beside their table. All else is left to a unit ([`super::unit`]).

use super::state::{Reading, TransactionState};
use super::{Handled, Session, control, parameters, spans};
use crate::class::{Class, may_wait_itself};
use crate::error::SqlError;
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Step, Tag};
use crate::signals::Effects;
use sardonyx_base::channels::Posted;
use sqlparser::ast::Statement;
use std::collections::VecDeque;
use tracing::Instrument;

impl Session {
    /// Does what needs no serial call.
    pub(super) async fn handle(&mut self, step: &Step, steps: &VecDeque<Step>) -> Handled {
        if let Step::Fail(error) = step {
            self.state.fail();
            return Handled::Done(Outcome::Failed(error.clone()));
        }
        let (Step::Execute { statement, .. } | Step::Copy { statement, .. }) = step else {
            return Handled::Unit;
        };
        if let TransactionState::Failed(_) = self.state.transaction
            && !statement.ends_failure()
        {
            return Handled::Done(Outcome::Failed(SqlError::in_failed_transaction()));
        }
        if self.database.followed().is_some()
            && let Some(outcome) = self.handle_following(statement)
        {
            spans::ended(&spans::statement(statement), &outcome);
            return Handled::Done(outcome);
        }
        if statement.waits() && !self.ends_another_on_node(statement) {
            return Handled::Done(self.wait(step, steps));
        }
        if let Some(outcome) = self.lock_tables(statement) {
            spans::ended(&spans::statement(statement), &outcome);
            return Handled::Done(outcome);
        }
        match statement.class() {
            Class::Control => match control::without_data(&mut self.state, statement) {
                Some(outcome) => {
                    spans::ended(&spans::statement(statement), &outcome);
                    Handled::Done(outcome)
                }
                None => Handled::Unit,
            },
            Class::Empty => Handled::Done(Outcome::Done(Complete::of(Tag::plain("")))),
            Class::Maintenance => {
                let span = spans::statement(statement);
                let outcome = self.maintain(statement).instrument(span.clone()).await;
                spans::ended(&span, &outcome);
                Handled::Done(outcome)
            }
            Class::Session if self.prepares_over_definitions(statement) => Handled::Unit,
            Class::Session => {
                // On a node, a transaction holds locks from its begin on.
                if statement.sets() && self.database.node().is_none() {
                    // If one of the statements that belong together with it fails, the parameter is as before.
                    self.begin_if_more_follow(steps);
                }
                let span = spans::statement(statement);
                let outcome = span.in_scope(|| {
                    parameters::run(&mut self.state, (&self.database, None), statement)
                });
                spans::ended(&span, &outcome);
                Handled::Done(outcome)
            }
            Class::Read | Class::Write
                if self.signals_in_snapshot(statement)
                    || statement.class() == Class::Read && self.reads_snapshot(steps) =>
            {
                self.begin_if_more_follow(steps);
                let span = spans::statement(statement);
                let outcome = self.read_snapshot(step).instrument(span.clone()).await;
                spans::ended(&span, &outcome);
                if let Outcome::Failed(_) = outcome {
                    self.state.fail();
                }
                Handled::Done(outcome)
            }
            Class::Write | Class::Define => match self.run_beside(steps).await {
                Some(outcome) => {
                    if let Outcome::Failed(_) = outcome {
                        self.state.fail();
                    }
                    Handled::Done(outcome)
                }
                None => Handled::Unit,
            },
            _ => Handled::Unit,
        }
    }

    /// Begins an implicit transaction if none is open, and more statements of this flight follow.
    pub(super) fn begin_if_more_follow(&mut self, steps: &VecDeque<Step>) {
        if self.is_between() && !matches!(steps.get(1), Some(Step::Sync)) {
            self.state.begin_implicit();
        }
    }

    /// True if a statement prepares another one over definitions of the open transaction that are only in a serial call.
    fn prepares_over_definitions(&mut self, statement: &Prepared) -> bool {
        if !matches!(statement.statement(), Some(Statement::Prepare { .. }))
            || self.database.node().is_some()
        {
            return false;
        }
        match &mut self.state.transaction {
            TransactionState::Open(open) => open.defines && open.own_tables().is_none(),
            _ => false,
        }
    }

    /// True if a statement may only end another session, on a node: locks and sleeps are refused there.
    fn ends_another_on_node(&self, statement: &Prepared) -> bool {
        self.database.node().is_some() && !may_wait_itself(&statement.text().to_lowercase())
    }

    /// True if a statement notifies, or listens, in a transaction that only reads a snapshot: it has no serial call.
    fn signals_in_snapshot(&self, statement: &Prepared) -> bool {
        statement.only_signals()
            && self.database.node().is_none()
            && matches!(&self.state.transaction, TransactionState::Open(open)
                if open.read_only && !open.is_implicit && matches!(open.reading, Reading::Snapshot(_)))
    }

    /// The signals of a transaction that has only read count at its end.
    pub(super) fn signal_due(&mut self) {
        if !self.state.due.is_empty() {
            let signals = std::mem::take(&mut self.state.due);
            let effects = Effects {
                signals,
                ..Effects::default()
            };
            let posted = self.database.effects_committed(effects);
            posted.into_iter().for_each(Posted::durable_alone);
        }
    }
}
