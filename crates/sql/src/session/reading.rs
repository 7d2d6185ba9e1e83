//! Statements that read a snapshot, and block no others: those of a transaction that has only read, and single ones
//! that look at many rows.
//!
//! Invariant: answers are durable. A snapshot may have changes that are not yet; so the session waits for them once,
//! before it reads.

use super::state::{OpenTransaction, Reading, TransactionState};
use super::{Session, describing, execute, spans, unit};
use crate::error::SqlError;
use crate::result::{Complete, Outcome, Step};
use sardonyx::Snapshot;
use sardonyx_base::waiting;
use std::collections::VecDeque;
use tracing::Instrument;

/// The most remembered reads of a transaction that may write: with more it moves aside.
const REMEMBERED_READS_MAX: usize = 1000;

impl Session {
    /// True if the next statement, which reads, does so in a snapshot. That is so in a transaction that has only read
    /// and whose next statements do not write. A single statement does if it looks at many rows; all do where tables
    /// are followed.
    pub(super) fn reads_snapshot(&self, steps: &VecDeque<Step>) -> bool {
        if self.database.node().is_some() {
            return false;
        }
        if self.database.followed().is_some() {
            return true;
        }
        match &self.state.transaction {
            TransactionState::Open(open) => match &open.reading {
                // A transaction with many reads is compared by the rows that it read, not by its answers.
                Reading::Snapshot(_) if open.history.len() >= REMEMBERED_READS_MAX => {
                    open.read_only
                }
                Reading::Snapshot(_) => open.read_only || !unit::writes_ahead(steps),
                Reading::Live => false,
            },
            TransactionState::Idle => {
                // The steps up to an end see one state. With later steps this one is a unit. If the end is still to
                // come, it is the first read of a transaction.
                let is_alone = matches!(steps.get(1), None | Some(Step::Sync));
                let is_long = |step: &Step| match step {
                    Step::Execute { statement, .. } => describing::is_long(statement),
                    _ => false,
                };
                // `BEGIN` behind it makes it the first read of a transaction that stays open: a unit would run it again at
                // each later flight.
                let begins = |step: &Step| match step {
                    Step::Execute { statement, .. } => statement.begins_transaction(),
                    _ => false,
                };
                let mut flight = steps.iter().take_while(|step| !matches!(step, Step::Sync));
                flight.any(begins) && !unit::writes_ahead(steps)
                    || is_alone
                        && (self.database.has_long_statement()
                            || steps.front().is_some_and(is_long))
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
                // Answers are durable: this waits for all changes that the snapshot has.
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
            } if describing::is_long(statement) && !statement.locks_rows() => {
                let step = Step::Execute {
                    statement: statement.clone(),
                    parameters: parameters.clone(),
                    rows_max: *rows_max,
                };
                self.read_elsewhere(step, version, snapshot).await
            }
            Step::Execute { statement, .. } if describing::is_long(statement) => {
                // Claimed rows are compared with states that need a turn of the stage. So it is no work for threads of low
                // priority.
                waiting::long(|| {
                    execute::read(&self.database, &mut self.state, step, version, &snapshot)
                })
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
