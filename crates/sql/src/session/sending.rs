//! Transactions that are by themselves, sent before earlier ones of the flight are answered.

use super::spans;
use super::state::TransactionState;
use super::unit::{Unit, UnitEnd};
use super::{Session, describing, reads_alone, turn_for};
use crate::error::SqlError;
use crate::result::{Outcome, Step, TransactionStatus};
use sardonyx::Ticket;
use sardonyx_base::channels::Posted;
use std::collections::VecDeque;
use tracing::{Instrument, Span};

/// The sent units without an answer: the number of their steps, without the ends, and the span of the wait.
#[derive(Default)]
pub(super) struct Sent(Vec<(usize, Result<Ticket<UnitEnd>, SqlError>, Span)>);

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
        let database = self.database.clone();
        let turn = match turn_for(&database, &self.state, reads_alone(steps)) {
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
            let unit = Unit::new(self.database.clone(), state, unit);
            unit.submit(turn)
        });
        sent.0.push((count, ticket, spans::durability()));
        true
    }

    /// Waits for the sent units, and takes their answers.
    pub(super) async fn answer(&mut self, sent: &mut Sent, outcomes: &mut Vec<Outcome>) {
        for (count, ticket, span) in sent.0.drain(..) {
            let before = outcomes.len();
            let ran = match ticket {
                Ok(ticket) => ticket.instrument(span).await.map_err(SqlError::from),
                Err(error) => Err(error),
            };
            match ran {
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
