//! Units of a session on a node's tables. Each is a transaction of the node, on a thread of its own: it waits for locks
//! of others and for stable storage.
//!
//! A transaction that a deadlock ended is run again here if it is a single statement; for others the client gets
//! `40001`.

use super::unit::{Unit, UnitDone, UnitEnd};
use super::{Session, describing};
use crate::class::Class;
use crate::error::{SqlError, code};
use crate::prepared::Prepared;
use crate::result::{Outcome, Step};
use crate::session::state::{OpenTransaction, TransactionState};
use crate::store::{NodeStore, TRIES};
use sardonyx::Error;
use sardonyx_base::waiting;
use std::collections::VecDeque;
use std::sync::Arc;

/// The result of a unit: its own end, unless the node did not run it or commit it.
type Ran = (Option<UnitEnd>, Result<bool, Error>);

impl Unit {
    /// Runs it as a transaction of a node.
    fn run_on(self: Box<Self>, node: &dyn NodeStore) -> Ran {
        let interrupt = self.state().interrupt.clone();
        let (mut unit, mut end) = (Some(self), None);
        let ran = waiting::interruptible(&interrupt, None, || {
            node.run(&mut |tx| {
                end = unit.take().map(|unit| unit.run(tx));
                matches!(end, Some(Ok(_)))
            })
        });
        (end, ran)
    }
}

/// True if a statement does the same when it is run again, and does not change its session.
fn is_data(statement: &Prepared) -> bool {
    matches!(
        statement.class(),
        Class::Read | Class::Write | Class::Define
    ) && !statement.sets_session()
}

/// The steps of a transaction by itself, as copies to be run again; `None` if some cannot be copied.
fn copies(steps: &VecDeque<Step>) -> Option<VecDeque<Step>> {
    let end = steps.iter().position(|step| matches!(step, Step::Sync))?;
    let copies = steps.range(..=end).map(|step| match step {
        Step::Execute { statement, .. } if !is_data(statement) => None,
        step => copied(step),
    });
    copies.collect()
}

/// A step to be run again; `None` if it has data.
fn copied(step: &Step) -> Option<Step> {
    match step {
        Step::Execute {
            statement,
            parameters,
            rows_max,
        } => Some(Step::Execute {
            statement: statement.clone(),
            parameters: parameters.clone(),
            rows_max: *rows_max,
        }),
        Step::Sync => Some(Step::Sync),
        Step::Copy { .. } | Step::Fail(_) => None,
    }
}

fn is_conflict(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(error) if error.code == code::SERIALIZATION_FAILURE)
}

impl Session {
    /// Runs a unit on a node.
    pub(super) async fn run_on_node(
        &mut self,
        node: Arc<dyn NodeStore>,
        steps: &mut VecDeque<Step>,
    ) -> UnitDone {
        if matches!(self.state.transaction, TransactionState::Idle) {
            for _ in 0..TRIES {
                let Some(copied) = copies(steps) else {
                    break;
                };
                let count = copied.len();
                let unit = Unit::new(self.database.clone(), self.state.kept(), copied);
                let (end, ran) = match self.on_thread(unit, &node).await {
                    Ok(ran) => ran,
                    Err(lost) => return self.refused(lost, count, steps),
                };
                let Some(Ok(mut done) | Err(mut done)) = end else {
                    let error = ran
                        .err()
                        .map_or_else(SqlError::not_serializable, SqlError::from);
                    return self.refused(error, count, steps);
                };
                let met =
                    matches!(ran, Err(Error::Conflict(_))) || done.outcomes.iter().any(is_conflict);
                if met {
                    continue;
                }
                if let Err(error) = ran {
                    return self.refused(error.into(), count, steps);
                }
                steps.drain(..count);
                let mut rest = std::mem::take(&mut done.rest);
                rest.append(steps);
                std::mem::swap(&mut self.state, &mut done.state);
                done.rest = rest;
                return *done;
            }
        }
        let is_block = match &self.state.transaction {
            TransactionState::Idle => false,
            TransactionState::Open(open) => !open.is_implicit,
            TransactionState::Failed(_) => true,
        };
        // The steps behind its end run in any case.
        let behind = |end: Option<usize>| end.map_or(steps.len(), |end| end + 1);
        let first_end = behind(steps.iter().position(|step| matches!(step, Step::Sync)));
        let end = behind(end_of_unit(steps, is_block));
        // If the unit is undone, these run as after any error.
        let again = steps.range(first_end..end).map(copied);
        let again = again.collect::<Option<Vec<Step>>>();
        let mut rest = steps.split_off(again.as_ref().map_or(first_end, |_| end));
        // This part stays if the node does not give the state back.
        let kept = self.state.kept();
        let state = std::mem::replace(&mut self.state, kept);
        let unit = Unit::new(self.database.clone(), state, std::mem::take(steps));
        let (mut count, ends_at_once) = (unit.steps(), unit.first_ends());
        let error = match self.on_thread(unit, &node).await {
            // A unit that was undone has its outcomes, too.
            Ok((Some(Ok(mut done)), Ok(_))) | Ok((Some(Err(mut done)), _)) => {
                std::mem::swap(&mut self.state, &mut done.state);
                done.rest.append(&mut rest);
                return *done;
            }
            Ok((_, Err(Error::Conflict(_)))) => SqlError::not_serializable(),
            Ok((_, Err(error))) => error.into(),
            Ok((None, Ok(_))) => SqlError::new(code::INTERNAL, "a unit was not run"),
            Err(error) => error,
        };
        // A `COMMIT` that fails has ended its transaction.
        self.state.transaction = match is_block && !ends_at_once {
            true => TransactionState::Failed(OpenTransaction::default()),
            false => TransactionState::Idle,
        };
        count.truncate(first_end);
        let mut refused = UnitDone::refused(error, count, self.status());
        refused.rest = again.into_iter().flatten().chain(rest).collect();
        refused
    }

    /// The outcomes of `count` steps, of which the last one is an end. It is unknown if they ran, and are durable.
    fn refused(&self, error: SqlError, count: usize, steps: &mut VecDeque<Step>) -> UnitDone {
        steps.drain(..count);
        let ends = (0..count).map(|step| step + 1 == count).collect();
        let mut refused = UnitDone::refused(error, ends, self.status());
        refused.state = self.state.kept();
        refused.rest = std::mem::take(steps);
        refused
    }

    async fn on_thread(&self, unit: Box<Unit>, node: &Arc<dyn NodeStore>) -> Result<Ran, SqlError> {
        let node = node.clone();
        let ran = self.database.workers().run(move || unit.run_on(&*node));
        ran.await
    }

    /// Compiles a statement over the tables of the session's open transaction.
    ///
    /// # Errors
    /// Invalid SQL; the reason for which the node stopped.
    pub(super) fn describe_on_node(
        &mut self,
        node: &dyn NodeStore,
        prepared: &Prepared,
    ) -> Result<(), SqlError> {
        let interrupt = self.state.interrupt.clone();
        let state = std::mem::take(&mut self.state);
        let mut unit = Unit::replaying(self.database.clone(), state);
        let mut planned = Ok(());
        // The whole transaction is run again.
        let ran = waiting::long(|| {
            waiting::interruptible(&interrupt, None, || {
                node.run(&mut |tx| {
                    planned = unit.replay_and(tx, |tx, database| {
                        let version = database.version_in(tx);
                        describing::plan_for(prepared, database, version, &*tx)
                    });
                    false
                })
            })
        });
        self.state = unit.into_state();
        self.database.catalogue_changed();
        match ran {
            Ok(_) => planned,
            Err(Error::Conflict(_)) => Err(SqlError::not_serializable()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The place of the first end outside a block: inside one, the next unit would run everything before it again.
fn end_of_unit(steps: &VecDeque<Step>, mut is_block: bool) -> Option<usize> {
    steps.iter().position(|step| {
        if let Step::Execute { statement, .. } = step {
            let begins = statement.begins_transaction();
            is_block = begins || is_block && !statement.ends_transaction();
        }
        matches!(step, Step::Sync) && !is_block
    })
}

#[cfg(all(test, feature = "nodes"))]
mod tests;
