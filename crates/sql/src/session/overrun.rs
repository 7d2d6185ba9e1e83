//! Units in the serial stage. One that may take long has it for an allowance ([`Trial`]). At its end, the changes are undone,
//! and the unit runs aside, as an open transaction from its beginning. Its commit is one short call
//! ([`aside`](super::aside)).
//!
//! So each statement that may take long is run in the stage first, since most of these are short. No list of statements
//! decides. The client sees one run: the others leave neither changes nor answers, and draw the same numbers.
//!
//! If rows that it read have changed at its commit, the unit begins again, since its client has no answer yet. After
//! [`ATTEMPTS`] attempts it has the stage for as long as it takes. So it does if it needs more memory than a transaction has
//! aside, or defines something.

use super::aside::{NotCommitted, is_commit};
use super::beside::ATTEMPTS;
use super::history::is_of_the_engine;
use super::state::{SessionState, TransactionState};
use super::turns::{reads_alone, turn_for};
use super::unit::{self, Trial, Unit, UnitDone};
use super::{Session, spans};
use crate::error::SqlError;
use crate::result::{Outcome, Step};
use crate::sequences::Done;
use sardonyx_base::channels::Posted;
use std::collections::VecDeque;
use tracing::Instrument;

/// The most bytes that a unit keeps aside.
const BYTES_MAX: usize = 1 << 30;

/// The end of an attempt.
enum Tried {
    Done(Box<UnitDone>),
    /// Rows that it read have changed.
    Changed(Box<UnitDone>),
    /// It cannot run aside.
    InStage(Box<UnitDone>),
}

impl Session {
    /// Runs a unit, and what it was given back. `None` if it is a statement that only reads, and is to read beside a long
    /// statement: the steps are as they were. `is_last`: it has the stage for as long as it takes.
    pub(super) async fn run_in_stage(
        &mut self,
        steps: &mut VecDeque<Step>,
        mut is_last: bool,
    ) -> Option<UnitDone> {
        let database = self.database.clone();
        loop {
            let is_idle = matches!(self.state.transaction, TransactionState::Idle);
            let only_reads = is_idle && reads_alone(steps);
            let turn = match turn_for(&database, &self.state.interrupt, only_reads) {
                Ok(Some(turn)) => turn,
                Ok(None) => return None,
                Err(error) => {
                    self.state.fail();
                    let count = unit::ends(&std::mem::take(steps));
                    return Some(UnitDone::refused(error, count, self.status()));
                }
            };
            let implicit = self.state.transaction.before_implicit();
            // The rest of the state stays if the engine does not give it back.
            let mut unit = self.unit_of(std::mem::take(steps));
            let count = unit.steps();
            let is_long = unit.may_take_long();
            let before = (is_long && !is_last).then(|| unit.before_trial()).flatten();
            if before.is_some() {
                unit.begin_trial(Trial::within(database.allowance()));
            }
            let ran = match unit.stays_open() {
                // Nothing is awaited: its reads count only once the transaction commits, which reads again and waits
                // until it is durable.
                true => unit.run_undone(turn, is_long),
                false => {
                    let ticket = unit.submit(turn, is_long);
                    ticket.instrument(spans::durability()).await
                }
            };
            let mut done = match ran {
                Ok(Ok(done) | Err(done)) => done,
                Err(error) => {
                    // The fate of the unit is unknown, or it did not run at all.
                    self.state.lost(is_idle, implicit);
                    return Some(UnitDone::refused(error.into(), count, self.status()));
                }
            };
            let Some(before) = before.filter(|_| done.trial.is_some()) else {
                std::mem::swap(&mut self.state, &mut done.state);
                done.posted.take().into_iter().for_each(Posted::durable);
                return Some(*done);
            };
            self.state.due = std::mem::take(&mut done.state.due);
            if let Some(done) = self.run_overrun(before, done.again(), steps).await {
                return Some(done);
            }
            is_last = true;
        }
    }

    /// Runs the steps of a unit aside, in a transaction that was so before it. `None` if the stage is to run them: then
    /// they are the next steps.
    async fn run_overrun(
        &mut self,
        before: TransactionState,
        (mut again, mut drawn): (VecDeque<Step>, Done),
        steps: &mut VecDeque<Step>,
    ) -> Option<UnitDone> {
        let kept = self.state.kept();
        for _ in 0..ATTEMPTS {
            self.begin_again(&kept, &before);
            if let Err(error) = self.go_aside() {
                self.state.fail();
                return Some(UnitDone::refused(error, unit::ends(&again), self.status()));
            }
            let mut unit = self.unit_of(again);
            unit.draw_again(drawn);
            unit.begin_trial(Trial::default());
            let (mut done, is_last) = match self.try_aside(unit).await {
                Tried::Done(done) => return Some(*done),
                Tried::Changed(done) => (done, false),
                Tried::InStage(done) => (done, true),
            };
            (again, drawn) = done.again();
            if is_last {
                break;
            }
        }
        self.begin_again(&kept, &before);
        self.state.again = drawn;
        *steps = again;
        None
    }

    /// The session as it was before the unit.
    fn begin_again(&mut self, kept: &SessionState, before: &TransactionState) {
        let due = std::mem::take(&mut self.state.due);
        self.state = kept.kept();
        self.state.due = due;
        self.state.transaction = before.copied();
    }

    /// Gives the transaction rows aside.
    fn go_aside(&mut self) -> Result<(), SqlError> {
        let state = self.database.committed(&self.state.interrupt)?;
        if let TransactionState::Idle = self.state.transaction {
            self.state.begin_implicit();
        }
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return Ok(());
        };
        let state = (state.snapshot, state.version, state.group);
        open.go_aside(&self.database, state, BYTES_MAX)
    }

    async fn try_aside(&mut self, unit: Box<Unit>) -> Tried {
        let mut done = self.run_unit_aside(unit);
        if self.needs_stage(&done) {
            return Tried::InStage(done);
        }
        let ends = match done.rest.front() {
            Some(Step::Sync) => self.state.transaction.is_implicit(),
            Some(step) => is_commit(step),
            None => false,
        };
        if done.skips || !ends {
            done.trial = None;
            return Tried::Done(done);
        }
        let has_changed_others = self.has_changed_others();
        match self.commit_aside(&mut done).await {
            Ok(()) => {}
            Err(NotCommitted::Changed) if has_changed_others => return Tried::InStage(done),
            Err(NotCommitted::Changed) => return Tried::Changed(done),
            Err(NotCommitted::Error(error)) => self.not_committed(&mut done, error),
        }
        done.trial = None;
        Tried::Done(done)
    }

    /// True if a unit could not run aside: for want of memory, as its snapshot was ended, or for a definition.
    fn needs_stage(&mut self, done: &UnitDone) -> bool {
        let is_of_stage = match &mut self.state.transaction {
            TransactionState::Open(open) => {
                let aside = open.aside.as_mut();
                let is_ended = aside.is_some_and(|aside| aside.get().rows.snapshot().is_ended());
                open.is_of_stage || is_ended
            }
            TransactionState::Idle | TransactionState::Failed(_) => false,
        };
        let mut outcomes = done.outcomes.iter();
        is_of_stage
            || outcomes.any(|outcome| match outcome {
                Outcome::Failed(error) => is_of_the_engine(error) && !error.is_interruption(),
                _ => false,
            })
    }
}
