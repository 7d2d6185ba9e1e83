//! Statements that wait: for advisory locks, by `pg_sleep`, and for the end of another session.
//!
//! They run outside of the serial stage, and no transaction runs them again. While they wait they keep no snapshot
//! ([`Waits`]). Locks and claims of a transaction are given back when it has ended, and its commit is durable.

use super::Session;
use super::execute::{reading, with_context};
use super::given::Given;
use super::spans;
use super::state::TransactionState;
use super::telling::{attach, not_held};
use crate::begun::Begun;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::result::{Complete, Notice, Outcome, Step};
use crate::running::{Read, now, seed};
use crate::sequences::Draws;
use crate::waits::{Awaited, Waits};
use std::collections::VecDeque;
use std::sync::Arc;

impl Session {
    /// Runs a statement that may wait.
    pub(super) fn wait(&mut self, step: &Step, steps: &VecDeque<Step>) -> Outcome {
        self.begin_if_more_follow(steps);
        let waits = Arc::new(Waits::of(self.locker.clone()));
        self.state.waits = Some(waits.clone());
        let ran = self.run_waiting(step, &waits);
        self.state.waits = None;
        match ran {
            Ok(complete) => Outcome::Done(complete),
            Err(error) => {
                self.state.fail();
                Outcome::Failed(error)
            }
        }
    }

    /// Evaluates the statement, and again after each wait: between two evaluations there is no snapshot.
    fn run_waiting(&mut self, step: &Step, waits: &Waits) -> Result<Complete, SqlError> {
        let Step::Execute {
            statement,
            parameters,
            rows_max,
        } = step
        else {
            return Err(SqlError::syntax("COPY FROM is sent with data"));
        };
        let _inside = spans::statement(statement).entered();
        let database = self.database.clone();
        if database.node().is_some() {
            return Err(SqlError::unsupported(
                "advisory locks and pg_sleep are not supported on nodes",
            ));
        }
        let now = now();
        let started = match &self.state.transaction {
            TransactionState::Open(open) => open.started,
            _ => Begun::at(now),
        };
        let given = Given {
            statement,
            parameters,
            data: None,
            rows_max: *rows_max,
            transaction: started,
            statement_started: now,
            seed: seed(),
            digests: false,
        };
        let interrupt = self.state.interrupt.clone();
        let look = || match interrupt.take() {
            None => Ok(()),
            Some(reason) => Err(SqlError::interrupted(reason)),
        };
        loop {
            let result = self.evaluate(&given);
            if let Some(awaited) = waits.awaited() {
                let of_lock = self.look_while_locking();
                let waited = match awaited.1 {
                    Awaited::Lock(..) => waits.wait_between(awaited, of_lock),
                    Awaited::Time(_) => {
                        self.entry.sleeps(true);
                        let waited = waits.wait_between(awaited, look);
                        self.entry.sleeps(false);
                        waited
                    }
                    Awaited::End(..) => waits.wait_between(awaited, look),
                };
                waited.map_err(|error| statement.placed(error))?;
                continue;
            }
            let ((mut complete, table), warnings) =
                result.map_err(|error| statement.placed(error))?;
            complete.notices.extend(warnings);
            attach(&mut complete, table, *rows_max, statement);
            return Ok(complete);
        }
    }

    /// Evaluates the statement once. The notices are of locks that the session did not have.
    fn evaluate(&mut self, given: &Given<'_>) -> Result<(Read, Vec<Notice>), SqlError> {
        let database = self.database.clone();
        let committed = database.committed(&self.state.interrupt)?;
        let source = &&**committed.snapshot.space();
        let draws = Draws::refused("a statement that waits draws no numbers from sequences");
        let read = |with: &Environment<'_>| reading(given, committed.version, source, with);
        let (result, draws) = with_context(&database, &mut self.state, given, draws, read);
        Ok((result?, not_held(&draws)))
    }

    /// Releases the locks and claims of a transaction that has ended. One that has failed keeps those from before its last
    /// savepoint, to which it may go back.
    pub(super) fn end_locks(&mut self) {
        match &self.state.transaction {
            TransactionState::Idle => self.locker.end_transaction(),
            TransactionState::Failed(open) => self.locker.return_to(open.kept_claims()),
            TransactionState::Open(_) => {}
        }
    }
}
