//! A unit that the stage tries, because its statements usually look at few rows. If they walk over more rows than the stage
//! gives them, or change more bytes than one call may, all of it is undone, and runs in another way.
//!
//! Invariant: a unit that was tried in vain leaves its session, and its steps, as they were. So the try has a stand-in of the
//! open transaction, and a copy of all else in the session's state; both are put back as a whole. Locks of the transaction
//! are given back. A call that takes or gives back a session's lock cannot be undone: with it the unit stops to be a try, and
//! runs to its end ([`Interrupt::take_rows_max`](sardonyx_base::waiting::Interrupt::take_rows_max)).

use super::{End, Unit};
use crate::prepared::Prepared;
use crate::result::{Outcome, Step};
use crate::sequences::Done;
use crate::session::state::{OpenTransaction, SessionState, TransactionState};
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use std::sync::Arc;

/// The state before a tried unit, and its steps that have run.
pub(super) struct Tried {
    rows_max: u64,
    /// All but the transaction.
    before: SessionState,
    /// The open transaction, once its earlier statements have run again; `None` if none was open.
    open: Option<OpenTransaction>,
    /// The place to which the transaction's locks are given back.
    locks: usize,
    /// The numbers that a statement by itself drew: it draws them again beside its table.
    drawn: Done,
    ran: Vec<Step>,
}

/// True if a step walked over more rows than the stage gives it.
pub(super) fn is_too_long(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(error) if error.is_too_long())
}

/// True if a step changed more bytes than one call may.
fn is_too_large(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(error) if error.is_too_large())
}

impl Unit {
    /// The stage tries it, with at most so many rows.
    pub fn is_tried_with(&mut self, rows_max: u64) {
        self.tried = Some(Tried {
            rows_max,
            before: self.state.kept(),
            open: None,
            locks: self.state.claims.mark(),
            drawn: Done::default(),
            ran: Vec::new(),
        });
    }

    /// From here on, rows count: those of statements that run again do not.
    pub(super) fn begin_trial(&mut self) {
        let Some(tried) = &mut self.tried else {
            return;
        };
        self.state.interrupt.set_rows_max(tried.rows_max);
        if let TransactionState::Open(open) = &mut self.state.transaction {
            let stand_in = open.stand_in();
            tried.open = Some(std::mem::replace(open, stand_in));
        }
    }

    /// Keeps the numbers that a statement by itself has drawn.
    pub(super) fn has_drawn(&mut self, drawn: &Done) {
        if let Some(tried) = &mut self.tried
            && tried.open.is_none()
        {
            tried.drawn = drawn.clone();
        }
    }

    /// Keeps a step that has run.
    pub(super) fn has_tried(
        &mut self,
        statement: Arc<Prepared>,
        parameters: Vec<Value>,
        rows_max: u64,
    ) {
        if let Some(tried) = &mut self.tried {
            tried.ran.push(Step::Execute {
                statement,
                parameters,
                rows_max,
            });
        }
    }

    /// Runs its steps. If they are too long, it is as if it had not begun.
    pub(super) fn run_tried(&mut self, tx: &mut dyn WriteTarget) -> (End, bool) {
        let ended = self.run_steps(tx);
        let Some(tried) = self.tried.take() else {
            return ended;
        };
        let interrupt = &self.state.interrupt;
        if self.outcomes.last().is_some_and(is_too_large) && interrupt.has_rows_max() {
            // As one that walked over too many rows.
            interrupt.set_rows_max(0);
            self.is_too_large = true;
        }
        if self.is_too_large || self.outcomes.last().is_some_and(is_too_long) {
            self.take_back(tried);
            return (End::Undo, false);
        }
        self.state.interrupt.take_rows_max();
        // One that has failed waits for its end.
        if let TransactionState::Open(open) | TransactionState::Failed(open) =
            &mut self.state.transaction
            && let Some(before) = tried.open
        {
            *open = before;
        }
        ended
    }

    fn take_back(&mut self, tried: Tried) {
        self.is_too_long = true;
        self.state.claims.return_to(tried.locks);
        self.state = tried.before;
        // A transaction without `BEGIN` is over, as it was before.
        if let Some(open) = tried.open {
            self.state.transaction = TransactionState::Open(open);
        }
        self.state.again = tried.drawn;
        self.outcomes.clear();
        for step in tried.ran.into_iter().rev() {
            if let Step::Execute { statement, .. } = &step
                && let Some(planned) = statement.last_plan()
            {
                planned.was_short(false);
            }
            self.steps.push_front(step);
        }
    }
}
