//! Statements that read a snapshot, and hold nobody up: in a transaction that has only read, or by themselves if they look at
//! many rows.
//!
//! Invariant: what is told is durable. A snapshot may have what is not; so its reads wait, once, for all that it has.

use super::state::{OpenTransaction, Reading, TransactionState};
use super::{Session, describing, execute, spans, unit};
use crate::error::SqlError;
use crate::result::{Complete, Outcome, Step};
use sardonyx::Snapshot;
use std::collections::VecDeque;
use tracing::Instrument;

/// With so many reads before it, a transaction that may write goes aside.
const REMEMBERED_READS_MAX: usize = 1000;

impl Session {
    /// True if the next statement, which reads, does so in a snapshot: in a transaction that has only read and whose
    /// next statements do not write, by itself if it looks at many rows, and wherever tables are followed.
    pub(super) fn reads_snapshot(&self, steps: &VecDeque<Step>) -> bool {
        if self.database.node().is_some() {
            return false;
        }
        if self.database.followed().is_some() {
            return true;
        }
        match &self.state.transaction {
            TransactionState::Open(open) => match &open.reading {
                // One that has read much is compared by what it read, not by what it was told.
                Reading::Snapshot(_) if open.history.len() >= REMEMBERED_READS_MAX => {
                    open.read_only
                }
                Reading::Snapshot(_) => open.read_only || !unit::writes_ahead(steps),
                Reading::Live => false,
            },
            TransactionState::Idle => {
                // What belongs together is of one state: with what follows it is a unit, and what is still to come makes
                // this one the first read of a transaction.
                let is_alone = matches!(steps.get(1), None | Some(Step::Sync));
                let is_long = |step: &Step| match step {
                    Step::Execute { statement, .. } => describing::is_long(statement),
                    _ => false,
                };
                is_alone
                    && (self.database.has_long_statement() || steps.front().is_some_and(is_long))
            }
            TransactionState::Failed(_) => false,
        }
    }

    /// Reads a snapshot: that of the transaction, or a new one.
    pub(super) async fn read_snapshot(&mut self, step: &Step) -> Outcome {
        match self.try_read_snapshot(step).await {
            Ok(complete) => Outcome::Done(complete),
            Err(error) => Outcome::Failed(error),
        }
    }

    async fn try_read_snapshot(&mut self, step: &Step) -> Result<Complete, SqlError> {
        let there = match &self.state.transaction {
            TransactionState::Open(OpenTransaction {
                reading: Reading::Snapshot(Some(there)),
                ..
            }) => Some(there.clone()),
            _ => None,
        };
        let (snapshot, version) = match there {
            Some(there) => there,
            None => {
                let committed = self.database.committed(&self.state.interrupt)?;
                // What is told is durable: this waits for all that the snapshot has.
                let durable = self.database.durable(&committed);
                durable.instrument(spans::durability()).await?;
                let taken = (committed.snapshot, committed.version);
                if let TransactionState::Open(open) = &mut self.state.transaction {
                    open.reading = Reading::Snapshot(Some(taken.clone()));
                }
                taken
            }
        };
        match step {
            Step::Execute {
                statement,
                parameters,
                rows_max,
            } if describing::is_long(statement) => {
                let step = Step::Execute {
                    statement: statement.clone(),
                    parameters: parameters.clone(),
                    rows_max: *rows_max,
                };
                self.read_elsewhere(step, version, snapshot).await
            }
            _ => execute::read(&self.database, &mut self.state, step, version, &snapshot),
        }
    }

    /// Reads on another thread: this one serves other sessions meanwhile.
    async fn read_elsewhere(
        &mut self,
        step: Step,
        version: u64,
        snapshot: Snapshot,
    ) -> Result<Complete, SqlError> {
        let kept = self.state.kept();
        let is_idle = matches!(self.state.transaction, TransactionState::Idle);
        let implicit = self.state.transaction.before_implicit();
        let mut state = std::mem::replace(&mut self.state, kept);
        let database = self.database.clone();
        let read = self.database.readers().run(move || {
            let result = execute::read(&database, &mut state, &step, version, &snapshot);
            (state, result)
        });
        match read.await {
            Ok((state, result)) => {
                self.state = state;
                result
            }
            Err(lost) => {
                self.state.lost(is_idle, implicit);
                Err(lost)
            }
        }
    }
}
