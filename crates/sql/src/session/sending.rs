//! Units that are sent before the answers to earlier ones are there: statements that are a transaction each, and read nothing
//! of the session. So a client that sends many of them waits for the disk once.

use super::state::TransactionState;
use super::turns::{may_be_many, reads_alone, turn_for};
use super::unit::{Unit, UnitEnd};
use super::{Session, describing, spans};
use crate::error::SqlError;
use crate::result::{Outcome, Step, TransactionStatus};
use sardonyx::Ticket;
use sardonyx_base::channels::Posted;
use std::collections::VecDeque;
use tracing::{Instrument, Span};

/// The sent units without an answer.
#[derive(Default)]
pub(super) struct Sent {
    /// The number of their steps, without the ends, and the span of the wait.
    units: Vec<(usize, Result<Ticket<UnitEnd>, SqlError>, Span)>,
    /// True if the last one was too long for the stage: nothing is sent before it has run.
    is_too_long: bool,
}

impl Sent {
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// True if the last one is to run in another way.
    pub fn ends_too_long(&self) -> bool {
        self.is_too_long
    }
}

impl Session {
    /// True if the next steps, to their end, are a transaction by themselves. It can run before the steps sent earlier
    /// are answered.
    pub(super) fn is_by_itself(&self, steps: &VecDeque<Step>) -> bool {
        if !matches!(self.state.transaction, TransactionState::Idle)
            || (reads_alone(steps) && self.database.has_long_statement())
        {
            return false;
        }
        let mut any = false;
        for step in steps {
            match step {
                Step::Execute { statement, .. }
                    if statement.is_by_itself(&self.database)
                        && !describing::is_long(statement) =>
                {
                    any = true;
                }
                Step::Sync => return any,
                _ => return false,
            }
        }
        false
    }

    /// Sends such a transaction, to its end. False if it only reads, and is to read beside a long statement.
    pub(super) fn send(&mut self, steps: &mut VecDeque<Step>, sent: &mut Sent) -> bool {
        // Before the turn: while it is waited for, another session may note that the statement looks at few rows.
        let may_be_many = matches!(steps.front(), Some(step) if may_be_many(step))
            && matches!(steps.get(1), Some(Step::Sync));
        let tried_rows = match may_be_many {
            true => Some(self.database.tried_rows()),
            false => self.tried_in_bytes(steps),
        };
        if tried_rows.is_some() {
            // If it is too long, it has begun all the same.
            self.state.begin_statement();
        }
        let database = self.database.clone();
        let turn = match turn_for(&database, &self.state.interrupt, reads_alone(steps)) {
            Ok(Some(turn)) => Ok(turn),
            Ok(None) => return false,
            Err(error) => Err(error),
        };
        let mut unit = VecDeque::new();
        while let Some(step) = steps.pop_front() {
            match step {
                Step::Sync => break,
                step => unit.push_back(step),
            }
        }
        let count = unit.len();
        unit.push_back(Step::Sync);
        let ticket = turn.map(|turn| {
            let state = self.state.by_itself();
            let mut unit = Unit::new(self.database.clone(), state, unit);
            if let Some(rows) = tried_rows {
                unit.is_tried_with(rows);
            }
            unit.submit(turn)
        });
        sent.units.push((count, ticket, spans::durability()));
        // It has run. If it was too long, it runs in another way before the steps behind it.
        sent.is_too_long = tried_rows.is_some() && self.state.interrupt.take_rows_max();
        true
    }

    /// Waits for the sent units, and takes their answers. The steps of one that was too long come first again.
    pub(super) async fn answer(
        &mut self,
        sent: &mut Sent,
        outcomes: &mut Vec<Outcome>,
        steps: &mut VecDeque<Step>,
    ) {
        sent.is_too_long = false;
        for (count, ticket, span) in sent.units.drain(..) {
            let before = outcomes.len();
            let ran = match ticket {
                Ok(ticket) => ticket.instrument(span).await.map_err(SqlError::from),
                Err(error) => Err(error),
            };
            match ran {
                Ok(Err(mut done)) if done.is_too_long => {
                    (self.is_too_long, self.is_too_large) = (true, done.is_too_large);
                    self.state.again = std::mem::take(&mut done.state.again);
                    for step in done.rest.into_iter().rev() {
                        steps.push_front(step);
                    }
                    continue;
                }
                Ok(Ok(mut done) | Err(mut done)) => {
                    done.posted.take().into_iter().for_each(Posted::durable);
                    self.state.take_drawn(done.state);
                    outcomes.extend(done.outcomes);
                }
                Err(error) => outcomes.push(Outcome::Failed(error)),
            }
            while outcomes.len() < before + count {
                outcomes.push(Outcome::Skipped);
            }
            outcomes.push(Outcome::Synced(TransactionStatus::Idle));
        }
    }
}
