//! A unit in its turn of the serial stage, and the units that may take long.
//!
//! All other units wait for the end of a unit. A unit that is short by its plan runs at once. For one that may take
//! long, the thread steps aside for the tasks of others, and lets them read the state before it ([`Turn::set_out`]).

use super::{Unit, UnitDone, UnitEnd};
use crate::class::Class;
use crate::database::Database;
use crate::prepared::Prepared;
use crate::result::Step;
use crate::session::describing;
use crate::session::history::History;
use crate::session::state::TransactionState;
use sardonyx::low_level::{Begun, Turn};
use sardonyx::{Durability, Error, Ticket};
use sardonyx_base::waiting;
use sqlparser::ast::Statement;
use std::convert::Infallible;

/// This many statements, with those that are run again, take long together.
pub(in crate::session) const SHORT_STATEMENTS_MAX: usize = 500;
/// This much data takes long to copy.
pub(in crate::session) const SHORT_COPY_BYTES_MAX: usize = 64 << 10;

impl Unit {
    /// Runs it; the ticket resolves when it is durable.
    pub fn submit(self: Box<Self>, mut turn: Turn<'_>) -> Ticket<UnitEnd> {
        if !self.may_take_long() {
            return turn.submit(|tx| self.run(tx));
        }
        waiting::long(|| {
            let begun = turn.set_out();
            turn.submit(|tx| {
                let done = self.run(tx);
                drop(begun);
                done
            })
        })
    }

    /// Runs it, and undoes its changes.
    ///
    /// # Errors
    /// The engine did not run it.
    pub fn run_undone(self: Box<Self>, mut turn: Turn<'_>) -> Result<UnitEnd, Error> {
        if !self.may_take_long() {
            return self.run_and_undo(turn, None);
        }
        waiting::long(|| {
            let begun = turn.set_out();
            self.run_and_undo(turn, Some(begun))
        })
    }

    fn run_and_undo(
        self: Box<Self>,
        turn: Turn<'_>,
        begun: Option<Begun<'_>>,
    ) -> Result<UnitEnd, Error> {
        let undone = turn.run(Durability::Deferred, |tx| {
            let (Ok(done) | Err(done)) = self.run(tx);
            // It is dropped before others have the stage, and commit.
            drop(begun);
            Err::<Infallible, _>(UndoneUnit::Done(done))
        });
        match undone {
            Err(UndoneUnit::Done(done)) => Ok(Err(done)),
            Err(UndoneUnit::Engine(error)) => Err(error),
            Ok(never) => match never {},
        }
    }

    /// True if it may delay others for long: by its plans, and by its replay.
    fn may_take_long(&self) -> bool {
        let again = match &self.state.transaction {
            TransactionState::Open(open) => {
                if has_long_statement(&open.history, &self.database) {
                    return true;
                }
                open.history.len()
            }
            _ => 0,
        };
        again + self.steps.len() > SHORT_STATEMENTS_MAX || self.has_long_step()
    }

    /// True if it may take long aside, where the earlier statements run once.
    pub fn may_take_long_aside(&self) -> bool {
        match &self.state.transaction {
            TransactionState::Open(open) if open.is_new_aside => self.may_take_long(),
            _ => self.has_long_step(),
        }
    }

    /// True if its own steps may take long.
    pub fn has_long_step(&self) -> bool {
        let mut steps = self.steps.iter();
        self.steps.len() > SHORT_STATEMENTS_MAX
            || steps.any(|step| is_long_step(step, &self.database))
    }
}

/// True if the statements of a transaction have walked over too many rows, or are too many, to run all of them again in the
/// stage.
pub(in crate::session) fn has_walked_far(history: &History, database: &Database) -> bool {
    history.len() > SHORT_STATEMENTS_MAX || history.rows() >= database.tried_rows()
}

/// The same, also if one of them may walk over more rows the next time.
pub(in crate::session) fn is_long_again(history: &History, database: &Database) -> bool {
    has_walked_far(history, database) || has_long_statement(history, database)
}

/// True if a statement of a transaction may take long.
fn has_long_statement(history: &History, database: &Database) -> bool {
    let mut statements = history.statements();
    statements.any(|statement| is_long(statement, database))
}

/// True if a step may take long.
pub(in crate::session) fn is_long_step(step: &Step, database: &Database) -> bool {
    match step {
        Step::Execute { statement, .. } => is_long(statement, database),
        Step::Copy { data, .. } => data.0.len() > SHORT_COPY_BYTES_MAX,
        Step::Sync | Step::Fail(_) => false,
    }
}

/// True if a statement may look at many rows, or write many.
fn is_long(statement: &Prepared, database: &Database) -> bool {
    match statement.class() {
        Class::Empty | Class::Control | Class::Session | Class::Maintenance => false,
        Class::Define => true,
        Class::Read => describing::is_long(statement),
        Class::Write if statement.is_signal() => false,
        Class::Write => match statement.statement() {
            Some(Statement::Call(function)) => crate::procedures::is_long(function, database),
            // Its data is looked at.
            Some(Statement::Copy { to: false, .. }) => false,
            _ => statement.is_unplanned_or(|planned| !planned.is_short),
        },
    }
}

/// The end of a unit that is undone in any case.
#[derive(Debug, thiserror::Error)]
enum UndoneUnit {
    /// The unit ended as it should.
    #[error("undone on purpose")]
    Done(Box<UnitDone>),
    /// The engine did not run it.
    #[error(transparent)]
    Engine(#[from] Error),
}
