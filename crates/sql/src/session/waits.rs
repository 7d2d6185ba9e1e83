//! Statements that wait: for advisory locks, and by `pg_sleep`.
//!
//! They run once, outside of the serial stage, and no transaction runs them again: so what they took is taken once. They
//! read no tables. Locks of a transaction are given back when it has ended, and its commit is durable.

use super::Session;
use super::execute::{reading, table_numbers, with_context};
use super::given::Given;
use super::spans;
use super::state::TransactionState;
use super::telling::attach;
use crate::error::SqlError;
use crate::result::{Complete, Outcome, Step};
use crate::running::{now, seed};
use crate::sequences::Draws;
use std::collections::VecDeque;

impl Session {
    /// Runs a statement that may wait.
    pub(super) fn wait(&mut self, step: &Step, steps: &VecDeque<Step>) -> Outcome {
        if matches!(self.state.transaction, TransactionState::Idle)
            && !matches!(steps.get(1), Some(Step::Sync))
        {
            // More statements of this flight follow.
            self.state.begin_implicit();
        }
        self.has_locks = true;
        self.state.locker = Some(self.locker.clone());
        let ran = self.run_waiting(step);
        self.state.locker = None;
        match ran {
            Ok(complete) => Outcome::Done(complete),
            Err(error) => {
                self.state.fail();
                Outcome::Failed(error)
            }
        }
    }

    fn run_waiting(&mut self, step: &Step) -> Result<Complete, SqlError> {
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
        let committed = database.committed(&self.state.interrupt)?;
        let now = now();
        let started = match &self.state.transaction {
            TransactionState::Open(open) => open.started,
            _ => now,
        };
        let given = Given {
            statement,
            parameters,
            data: None,
            rows_max: *rows_max,
            transaction_started: started,
            statement_started: now,
            seed: seed(),
            digests: false,
        };
        let source = &&**committed.snapshot.space();
        let tables = table_numbers(statement, source);
        let draws = Draws::refused("a statement that waits draws no numbers from sequences");
        let (result, _) = with_context(&database, &mut self.state, &given, tables, draws, |with| {
            reading(&given, committed.version, source, with)
        });
        let (mut complete, table) = result.map_err(|error| statement.placed(error))?;
        attach(&mut complete, table, *rows_max, statement);
        Ok(complete)
    }

    /// Gives back the locks of a transaction that has ended.
    pub(super) fn end_locks(&mut self) {
        if self.has_locks && self.is_between() {
            self.locker.end_transaction();
            self.has_locks = false;
        }
    }
}
