//! Statements on many rows, run aside: other writers wait for one slice, or for one call on few rows. A call on more
//! rows changes a small part of its table ([`makes_content`](crate::BesideLimits)), and at most 100,000 rows. Reads do
//! not wait for a call on more rows than a slice.
//!
//! `UPDATE` and `DELETE` whose new row depends on the old one only ([`Rewriting`](crate::plan::rewriting::Rewriting))
//! look at a snapshot of their table first. If few rows are concerned ([`few`]), one short call changes them. If many
//! are ([`whole`]), the table's next content is made beside its present one in short calls, and one call replaces it.
//! In both cases, the call that commits looks again at rows that others changed since the snapshot. So the statement
//! behaves as if it had run there. Rows of `INSERT` and `COPY` are computed aside, and inserted in one call or put into
//! a next content ([`insert`]). Definitions ([`defining`]) fill an index in short calls ([`index`]), or look at a
//! table's rows in snapshots ([`checking`]). If they rewrite all rows, the next content is of the new schema
//! ([`redefining`]), or of a table that the statement creates or fills again ([`creating`]). All other statements that change rows run as an open transaction ([`open`]). So does a statement
//! with a row that cannot be stored: its error is the usual one. A `SELECT` of functions that change no rows only reads
//! a snapshot ([`calls`]).
//!
//! A statement begins again if its table's definition, or rows that an open transaction read, change meanwhile. It runs
//! in the stage after its last attempt ([`ATTEMPTS`]). It also does if there is no room for a second content, or if a
//! lack of memory ended the snapshot that it reads. Each attempt, and the stage, gets the numbers that earlier attempts
//! drew from sequences.

mod calls;
mod checking;
mod creating;
mod defining;
mod few;
mod filling;
mod index;
mod insert;
mod made;
mod open;
mod pace;
mod redefining;
mod rewrite;
mod whole;

use super::aside::Committing;
use super::execute::with_context;
use super::given::Given;
use super::state::TransactionState;
use super::telling::{attach, not_held};
use super::turns::tries;
use super::unit::SHORT_COPY_BYTES_MAX;
use super::{Session, spans};
use crate::begun::Begun;
use crate::class::Class;
use crate::define::{fills_table, works_on_rows};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::plan::{Plan, Planned};
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Step};
use crate::running::{now, seed};
use crate::sequences::Draws;
use crate::signals::Effects;
use made::Ran;
pub(super) use made::{Came, Work};
use sardonyx::Ticket;
use sardonyx_base::waiting;
use std::collections::VecDeque;
use tracing::Instrument;

/// The most attempts of a statement, if the table's definition changed, or rows that it read.
const ATTEMPTS: usize = 3;

/// The most statements on one table for which a statement waits, each time beginning again. Then it runs in the stage, so
/// that statements that follow each other do not keep it waiting for ever.
const WAITS: usize = 3;

/// True if a statement may run aside.
fn may_run_beside(statement: &Prepared) -> bool {
    match statement.class() {
        Class::Write if statement.is_copy_in() => true,
        // It would be run again for a row that others have changed meanwhile.
        Class::Write if statement.sets_session() || statement.notifies() => false,
        Class::Write => statement
            .last_plan()
            .is_some_and(|plan| plan.may_run_beside()),
        // Values of rows may notify, too.
        Class::Define if statement.sets_session() || statement.notifies() => false,
        // The commit itself would change the table.
        Class::Define if fills_table(statement.statement()) => !statement.ends_at_commit(),
        Class::Define => statement.statement().is_some_and(works_on_rows),
        _ => false,
    }
}

/// True if a statement that was undone, since its changes are too large for one call, may run aside, however few its rows are.
fn may_run_again(statement: &Prepared) -> bool {
    let changes_rows = |planned: &Planned| !matches!(planned.plan, Plan::Select(_));
    statement.class() == Class::Write
        && !(statement.sets_session() || statement.notifies())
        && statement
            .last_plan()
            .is_some_and(|planned| changes_rows(&planned))
}

impl Session {
    /// Runs the next step aside, if it is such a statement, and the last of its transaction: before it, only parameters
    /// were set. `None` if it has to run in the stage.
    pub(super) async fn run_beside(&mut self, steps: &VecDeque<Step>) -> Option<Outcome> {
        self.tried_rows = None;
        let (statement, parameters, data, rows_max) = match steps.front()? {
            Step::Execute {
                statement,
                parameters,
                rows_max,
            } => (statement, &parameters[..], None, *rows_max),
            Step::Copy { statement, data } if data.0.len() > SHORT_COPY_BYTES_MAX => {
                (statement, &[][..], Some(data), 0)
            }
            _ => return None,
        };
        if !matches!(steps.get(1), Some(Step::Sync)) {
            return None;
        }
        // Only tables in main memory have next contents.
        self.database.tables()?;
        let usually_reads = self.state.usually_reads();
        let ends_tables = self.state.settings.ending_at_commit().is_some();
        if !self.state.transaction.may_begin_to_write(usually_reads) || ends_tables {
            return None;
        }
        if statement.class() == Class::Write
            && !(statement.is_copy_in() || statement.sets_session() || statement.notifies())
            && statement.is_to_be_compiled()
            && statement.last_plan().is_none()
        {
            // One of several statements of a text. If it has no plan, the stage says why.
            match self.describe(statement) {
                Err(error) if error.is_interruption() => {
                    return Some(Outcome::Failed(statement.placed(error)));
                }
                _ => {}
            }
        }
        let is_idle = matches!(self.state.transaction, TransactionState::Idle);
        let may_go_beside =
            may_run_beside(statement) || self.is_too_large && may_run_again(statement);
        if !may_go_beside {
            self.tried_rows = self.tried_in_bytes(steps).filter(|_| is_idle);
            return None;
        }
        // For few rows the stage costs less.
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let is_too_large = std::mem::take(&mut self.is_too_large);
        if is_idle && !is_too_long && steps.front().is_some_and(tries) {
            self.tried_rows = Some(self.database.tried_rows());
            return None;
        }
        let started = now();
        let given = Given {
            statement,
            parameters,
            data,
            rows_max,
            transaction: Begun::at(started),
            statement_started: started,
            seed: seed(),
            digests: false,
        };
        let span = spans::statement(statement);
        let interrupt = self.state.interrupt.clone();
        let ran = waiting::long(|| {
            waiting::interruptible(&interrupt, None, || {
                span.in_scope(|| self.try_beside(&given, is_too_large))
            })
        });
        let outcome = match ran {
            // No interruption ends this wait: the statement is committed.
            Ok(Some((complete, durable))) => match durable.instrument(spans::durability()).await {
                Ok(()) => Outcome::Done(complete),
                Err(error) => Outcome::Failed(error.into()),
            },
            Ok(None) => {
                let may_come_back = is_idle && !is_too_large;
                self.tried_rows = self.tried_in_bytes(steps).filter(|_| may_come_back);
                return None;
            }
            Err(error) => Outcome::Failed(statement.placed(error)),
        };
        spans::ended(&span, &outcome);
        Some(outcome)
    }

    /// The rows up to which the stage tries a statement that may change more bytes than one call may: any number. Then it
    /// comes back, and runs aside. `None` if no statement is refused for that.
    pub(super) fn tried_in_bytes(&self, steps: &VecDeque<Step>) -> Option<u64> {
        let may_come_back = |step: &Step| match step {
            Step::Execute { statement, .. } => may_run_again(statement),
            // Its data would be lost.
            Step::Copy { .. } | Step::Sync | Step::Fail(_) => false,
        };
        let is_tried = self.database.has_small_calls()
            && matches!(steps.get(1), Some(Step::Sync))
            && steps.front().is_some_and(may_come_back);
        is_tried.then_some(u64::MAX)
    }

    /// True if a transaction that has run aside may have changed so many rows that next contents are made for them.
    pub(super) fn may_be_large(&self, work: &Work) -> bool {
        let few = self.database.few_rows();
        let mut changed = work.rows.changed_tables().into_iter();
        changed.any(|(_, rows)| rows as u64 > few) || work.rows.bytes() > self.database.call_bytes()
    }

    /// Commits a transaction that has run aside, if it has changed many rows. They go into next contents of their
    /// tables, and one short call has the tables take these over. A commit in the stage is one call of the usual kind.
    ///
    /// # Errors
    /// The reason for which it failed.
    pub(super) fn commit_beside(
        &mut self,
        statement: &Prepared,
        of: (&mut Option<Work>, u64),
        committing: &Committing,
    ) -> Result<Came<Ticket<()>>, SqlError> {
        let database = self.database.clone();
        let interrupt = self.state.interrupt.clone();
        let started = now();
        let given = Given {
            statement,
            parameters: &[],
            data: None,
            rows_max: 0,
            transaction: Begun::at(started),
            statement_started: started,
            seed: seed(),
            digests: false,
        };
        let draws = Draws::refused("a commit draws no numbers from sequences");
        let commit = |with: &Environment<'_>| {
            open::commit_many(&database, of, with, &|_| {
                committing.commit(&database);
                Ok(())
            })
        };
        let state = &mut self.state;
        let (came, _) = waiting::long(|| {
            waiting::interruptible(&interrupt, None, || {
                with_context(&database, state, &given, draws, commit)
            })
        });
        came
    }

    fn try_beside(
        &mut self,
        given: &Given<'_>,
        is_too_large: bool,
    ) -> Result<Option<Ran<Complete>>, SqlError> {
        let database = self.database.clone();
        let mut limits = database.beside();
        if is_too_large {
            limits = limits.making_all();
        }
        let (mut attempts, mut waits, mut is_open) = (0, 0, false);
        let mut again = std::mem::take(&mut self.state.again);
        let mut notices = Vec::new();
        while attempts < ATTEMPTS {
            let state = &mut self.state;
            let came = match given.statement.class() {
                Class::Define if fills_table(given.statement.statement()) => {
                    let create =
                        |with: &Environment<'_>| creating::create(&database, &limits, given, with);
                    let before = given.statement.makes_temporary().then(|| {
                        let before = state.settings.clone();
                        state.settings.set_temporary(Some(state.temporary.clone()));
                        before
                    });
                    let draws = Draws::again(again, Effects::default());
                    let draws = draws.counted_in(database.memory().clone());
                    let (came, draws) = with_context(&database, state, given, draws, create);
                    notices = not_held(&draws);
                    again = draws.into_again();
                    if let Some(before) = before
                        && !matches!(came, Ok(Came::Done(_)))
                    {
                        state.settings.return_to(before);
                    }
                    came
                }
                Class::Define => {
                    let draws = Draws::refused("what defines something draws no numbers here");
                    let define = |with: &Environment<'_>| defining::define(&database, given, with);
                    with_context(&database, state, given, draws, define).0
                }
                _ => {
                    let begun = database.committed(&state.interrupt)?;
                    let read = begun.snapshot.life();
                    // Else the snapshot would be held while the changes are made.
                    let locks_rows = given.statement.locks_rows();
                    // Others leave out the rows that it changes, until its end.
                    state.claims.begin(None, true);
                    state.claims.base = locks_rows.then(|| begun.snapshot.clone());
                    let attempt = |with: &Environment<'_>| match given.statement.inserts() {
                        _ if is_open => open::run(&database, begun, &limits, given, with),
                        _ if given.statement.is_query() => {
                            calls::read(&database, begun, given, with)
                        }
                        true => insert::insert(&database, begun, &limits, given, with),
                        false => rewrite::rewrite(&database, begun, &limits, given, with),
                    };
                    let draws = Draws::again(again, Effects::default());
                    let draws = draws.counted_in(database.memory().clone());
                    let (came, draws) = with_context(&database, state, given, draws, attempt);
                    notices = not_held(&draws);
                    again = draws.into_again();
                    state.claims.base = None;
                    match came {
                        // Its snapshot was ended: the statement runs in the stage.
                        Err(error) if read.was_ended() && !error.is_interruption() => break,
                        came => came,
                    }
                }
            };
            let came = match came {
                // The call was undone: next contents are made in several.
                Err(error) if error.is_too_large() && !limits.makes_all => {
                    limits = limits.making_all();
                    continue;
                }
                came => came?,
            };
            match came {
                // It is committed: nothing can fail any more.
                Came::Done(((mut complete, table), durable)) => {
                    complete.notices.extend(notices);
                    attach(&mut complete, table, given.rows_max, given.statement);
                    return Ok(Some((complete, durable)));
                }
                Came::Again => attempts += 1,
                // Each wait is for another statement, which has ended.
                Came::Waited if waits < WAITS => waits += 1,
                Came::Open if !is_open => is_open = true,
                Came::Open | Came::InStage | Came::Waited => break,
            }
        }
        self.state.again = again;
        Ok(None)
    }
}
