//! An open transaction that runs aside: on a snapshot with its own changes beside it ([`OpenRows`]), without the serial
//! stage. Its commit is one short call in the stage, which compares the rows that it read and makes its changes.
//!
//! A transaction moves aside after some statements ([`Database::set_aside_from`]), or at one that may take long. Before
//! that, to run a few statements again costs less than a snapshot. If its end is in the same flight, the stage tries it
//! first ([`super::unit`]). Its earlier statements are run once more aside. The session remembers all statements
//! ([`History`](super::history::History)). If rows that the transaction read were changed meanwhile, its statements run again,
//! and their results are compared with the client's replies: in the stage if they are short, otherwise aside, over the state
//! as it is then ([`leaving`]). Transactions that call a procedure of the program, or rewrite a table whose rows take too much
//! memory, always run again in the stage, within a bound ([`History::run_again`](super::history::History::run_again)).
//!
//! Definitions are made in its rows, a store of tables that only the transaction sees. Plans over them have versions of
//! the catalogue of their own ([`own_version`]).
//!
//! Invariant: while a transaction has its rows aside, all of its statements ran there.

mod leaving;
mod steps;

pub(super) use steps::is_commit;

use super::again::end_of;
use super::beside::{Came, Work};
use super::history::History;
use super::state::{OpenTransaction, Reading, TransactionState};
use super::unit::{self, Unit, UnitDone};
use super::{Session, spans};
use crate::constraints;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::idle_rows::{Aside, Kept};
use crate::memory::bytes_of;
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Step, Tag};
use crate::signals::Effects;
use crate::temporary;
use crate::violations::explained;
use crate::write_target::WriteTarget;
use sardonyx::errors::SnapshotEnded;
use sardonyx::low_level::LeftRows;
use sardonyx::{Error, Ticket, Transaction};
use sardonyx_base::channels::Posted;
use sardonyx_base::waiting;
use sardonyx_rows::TableError;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use steps::{Again, can_be_tried, defines, is_control, is_long_to_its_end, is_possible};
use tracing::{Instrument, Span};

/// A version of the catalogue that no other transaction sees, for plans over a transaction's own definitions.
pub(super) fn own_version() -> u64 {
    OWN_VERSIONS.fetch_add(1, Ordering::Relaxed)
}

/// The versions that others see are counted from 0.
static OWN_VERSIONS: AtomicU64 = AtomicU64::new(1 << 63);

impl Session {
    /// Bytes that the open transaction keeps aside.
    #[doc(hidden)]
    pub fn bytes_aside(&mut self) -> usize {
        self.withdraw();
        let bytes = match &mut self.state.transaction {
            TransactionState::Open(open) => {
                open.aside.as_mut().map(|aside| aside.get().rows.bytes())
            }
            _ => None,
        };
        self.deposit();
        bytes.unwrap_or_default()
    }

    /// True if the next steps run aside. If so, the transaction has its rows there.
    ///
    /// # Errors
    /// An interruption of the wait for a snapshot; the engine's.
    pub(super) fn goes_aside(&mut self, steps: &VecDeque<Step>) -> Result<bool, SqlError> {
        let is_too_long = std::mem::take(&mut self.is_too_long);
        self.is_too_large = false;
        let database = &self.database;
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return Ok(false);
        };
        if open.is_implicit || database.aside_from() == usize::MAX {
            return Ok(false);
        }
        // Steps behind its commit are no part of it.
        let own = steps.iter().take_while(|step| !is_commit(step));
        let mut statements = own.filter_map(|step| match step {
            Step::Execute { statement, .. } | Step::Copy { statement, .. } => Some(statement),
            Step::Sync | Step::Fail(_) => None,
        });
        let is_possible = database.node().is_none()
            && statements.all(|statement| is_possible(statement, database));
        if let Some(aside) = &mut open.aside
            && is_possible
            && !aside.get().rows.snapshot().is_ended()
        {
            // Its commit would run all of it in the stage.
            let ends = steps.iter().all(is_control);
            if !ends && !open.history.is_whole() && aside.get().rows.has_changed_others() {
                return Err(too_long());
            }
            return Ok(true);
        }
        // The stage would have to run all of it again. The rows stay, so that the client can go back to a savepoint.
        if !open.history.is_whole() {
            return Err(open.cannot_go_on());
        }
        open.is_of_stage |= !is_possible;
        if open.aside.is_some() {
            open.leave_aside();
            open.is_again = is_possible && unit::is_long_again(&open.history, database);
            if !open.is_again {
                return Ok(false);
            }
        }
        let ends = steps.iter().any(is_commit);
        // Its statements run again, which may take long.
        let runs_far = unit::has_walked_far(&open.history, database) && !(ends && defines(steps));
        let needs_room = is_heavy(&open.history, steps, database);
        let is_again = is_too_long || open.is_reclaimed || open.is_again || runs_far || needs_room;
        let is_long = || match ends {
            true => is_long_to_its_end(steps, |step| unit::is_long_step(step, database)),
            false => {
                open.history.len() >= database.aside_from()
                    || steps.len() > unit::SHORT_STATEMENTS_MAX
                    || steps.iter().any(|step| unit::is_long_step(step, database))
            }
        };
        // One that reads a snapshot only needs no rows of its own. One that had some has changed rows before.
        let only_reads = open.read_only && !open.is_again;
        if open.is_of_stage || only_reads || !(is_again || is_long()) {
            return Ok(false);
        }
        let is_plain = open.savepoints.is_empty() && open.signals.is_empty() && !open.defines;
        if ends && !is_again && is_plain && can_be_tried(steps) && self.leave_session(steps)? {
            self.tried_rows = Some(self.database.tried_rows());
            return Ok(false);
        }
        let database = &self.database;
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return Ok(false);
        };
        // Its rows may be lost, or its snapshot ended, at each flight.
        let again_max = database.again_max();
        match steps.is_empty() {
            true => open.history.describe_again(again_max)?,
            false => open.history.run_again(again_max, end_of(steps, false))?,
        }
        let (snapshot, version, group) = match &open.reading {
            // The transaction has waited until the snapshot was durable.
            Reading::Snapshot(Some((snapshot, version))) => (snapshot.clone(), *version, 0),
            // The earlier statements are run again there, and compared.
            Reading::Snapshot(None) | Reading::Live => {
                let committed = database.committed(&self.state.interrupt)?;
                (committed.snapshot, committed.version, committed.group)
            }
        };
        let rows = snapshot
            .open()?
            .with_bytes_max(database.aside_bytes_max())
            .counted_in(database.memory().clone());
        open.is_new_aside = true;
        (open.is_reclaimed, open.is_again) = (false, false);
        open.reading = Reading::Live;
        open.aside = Some(Kept::new(Aside {
            rows,
            number: database.idle().next_number(),
            snapshot,
            version,
            group,
            effects: Effects::default(),
        }));
        Ok(true)
    }

    /// True if the plans of all statements say that they neither read nor set the session's state, and call no functions of
    /// users, also not by views and triggers. The statements of a text have no plans yet.
    ///
    /// # Errors
    /// An interruption of the planning.
    fn leave_session(&mut self, steps: &VecDeque<Step>) -> Result<bool, SqlError> {
        for step in steps.iter().filter(|step| !is_control(step)) {
            let Step::Execute { statement, .. } = step else {
                return Ok(false);
            };
            if statement.last_plan().is_none() {
                match self.describe(statement) {
                    Err(error) if error.is_interruption() => return Err(statement.placed(error)),
                    // The run says why.
                    Err(_) => return Ok(false),
                    Ok(()) => {}
                }
            }
            let plan = statement.last_plan();
            if plan.is_none_or(|plan| plan.asks_session || plan.locks_rows) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs steps aside, up to and including the commit of the transaction. Returns the rest of the steps.
    pub(super) async fn run_aside(&mut self, steps: &mut VecDeque<Step>) -> UnitDone {
        let mut done = self.run_to_commit(std::mem::take(steps));
        if done.skips || !done.rest.front().is_some_and(is_commit) {
            return *done;
        }
        if let Err(error) = self.commit_aside(&mut done).await {
            if done.rest.front().is_some_and(is_commit) {
                done.rest.pop_front();
            }
            self.state.end(false);
            done.outcomes.push(Outcome::Failed(error));
            done.skips = true;
        }
        *done
    }

    /// Runs steps aside, up to the commit of the transaction. Without steps, its earlier ones run if they have not.
    pub(super) fn run_to_commit(&mut self, steps: VecDeque<Step>) -> Box<UnitDone> {
        let kept = self.state.kept();
        let state = std::mem::replace(&mut self.state, kept);
        let only_again = steps.is_empty();
        let unit = Unit::new(self.database.clone(), state, steps);
        let interrupt = self.state.interrupt.clone();
        let is_long = only_again || unit.may_take_long_aside();
        let run = || waiting::interruptible(&interrupt, None, || unit.run_aside());
        let mut done = match is_long {
            true => waiting::long(run),
            false => run(),
        };
        std::mem::swap(&mut self.state, &mut done.state);
        done
    }

    /// Commits the transaction, which is the next step.
    ///
    /// # Errors
    /// The reason for which it failed, or for which its fate is unknown.
    async fn commit_aside(&mut self, done: &mut UnitDone) -> Result<(), SqlError> {
        let TransactionState::Open(OpenTransaction { aside, .. }) = &mut self.state.transaction
        else {
            return Ok(());
        };
        let Some(aside) = aside.take() else {
            return Ok(());
        };
        let Aside {
            mut rows,
            snapshot,
            version,
            group,
            mut effects,
            ..
        } = aside.take();
        let span = match done.rest.front() {
            Some(Step::Execute { statement, .. }) => spans::statement(statement),
            _ => Span::none(),
        };
        let database = self.database.clone();
        rows.begin_statement();
        let at_end = span.in_scope(|| {
            constraints::at_commit(&mut rows)?;
            match self.state.settings.ending_at_commit() {
                Some(schema) => {
                    let sequences = &mut effects.sequences;
                    temporary::at_commit(&mut rows, &database, schema, sequences).map(drop)
                }
                None => Ok(()),
            }
        });
        if let Err(error) = at_end {
            let needs_room = rows.had_no_room() && error.is_for_memory();
            return match &mut self.state.transaction {
                TransactionState::Open(open) if !open.history.is_whole() => Err(error),
                TransactionState::Open(open) if error.is_end() => {
                    open.begin_again(&database, error)
                }
                // The stage can do it.
                TransactionState::Open(open) if needs_room => {
                    open.leave_for_stage();
                    Ok(())
                }
                _ => Err(error),
            };
        }
        let committing = Committing::of(effects);
        let needs_stage = rows.has_changed_others();
        let installed = match (rows.has_changes(), done.rest.front()) {
            (true, Some(Step::Execute { statement, .. })) => {
                let work = Work { rows, snapshot };
                span.in_scope(|| self.install(statement, (work, version), &committing))
            }
            // It has read one state, which is durable with its group.
            _ => Ok(database.tables_in_memory("a snapshot")?.durable(group)),
        };
        let ended = match installed {
            // The wait for its durability.
            Ok(durable) => {
                let durable = durable.instrument(spans::durability()).await;
                durable.map_err(NotCommitted::from)
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => {
                committing.durable(&database);
                done.rest.pop_front();
                self.state.end(true);
                let committed = Complete::of(Tag::plain("COMMIT"));
                let committed = self.state.without_unwanted(Outcome::Done(committed));
                spans::ended(&span, &committed);
                done.outcomes.push(committed);
                Ok(())
            }
            // Without its rows aside, the transaction is run again with the rest, and compared.
            Err(why @ (NotCommitted::Changed | NotCommitted::Ended(_))) => {
                let (is_ended, error) = match why {
                    NotCommitted::Ended(error) => (true, error),
                    _ => (false, SqlError::not_serializable()),
                };
                match &mut self.state.transaction {
                    // Its definitions of others' tables are made nowhere else.
                    TransactionState::Open(open) if open.history.is_whole() && needs_stage => {
                        open.leave_for_stage();
                        Ok(())
                    }
                    TransactionState::Open(open) if open.history.is_whole() => {
                        open.begin_again(&database, error)
                    }
                    // Another attempt would not help.
                    _ if needs_stage && !is_ended => Err(too_long()),
                    _ => Err(error),
                }
            }
            Err(NotCommitted::Error(error)) => {
                let explained = database
                    .tables()
                    .map(|tables| tables.read(|view| Ok(explained(view, error.clone()))));
                Err(match explained {
                    Some(Ok(explained)) => explained,
                    _ => error,
                })
            }
        }
    }

    /// Makes the changes of a transaction that has run aside. The ticket resolves when they are durable.
    fn install(
        &mut self,
        statement: &Prepared,
        (work, version): (Work, u64),
        committing: &Committing,
    ) -> Result<Ticket<()>, NotCommitted> {
        let mut work = Some(work);
        let defines = work
            .as_ref()
            .is_some_and(|work| work.rows.has_definitions());
        // A thread steps aside only for changes that may take long.
        let is_large = work.as_ref().is_some_and(|work| self.may_be_large(work));
        if !defines && is_large {
            let mut came = self.commit_beside(statement, (&mut work, version), committing)?;
            // Its rows are as they were: it may still commit behind the statement for which it has waited.
            if matches!(came, Came::Waited) {
                came = self.commit_beside(statement, (&mut work, version), committing)?;
            }
            match came {
                Came::Done(durable) => return Ok(durable),
                Came::Again => return Err(NotCommitted::Changed),
                Came::Open | Came::InStage | Came::Waited => {}
            }
        }
        // If it failed while its changes were being made, it is run again.
        let Some(Work { rows, snapshot }) = work else {
            return Err(NotCommitted::Changed);
        };
        // The snapshot ends before pages change, so that none is copied for it.
        drop(snapshot);
        let database = &self.database;
        let mut turn = database.turn(&self.state.interrupt)?;
        let mut left = LeftRows::default();
        let install = |tx: &mut Transaction<'_>| {
            rows.install(tx, &mut left)?;
            committing.commit(database);
            Ok::<_, Error>(())
        };
        if !defines {
            let ((), durable) = turn.run_later(install)?;
            return Ok(durable);
        }
        let installed = waiting::long(|| {
            // Others read the state before.
            let begun = turn.set_out();
            turn.run_later(|tx| {
                database.catalogue_changed();
                let installed = install(tx);
                database.catalogue_changed();
                drop(begun);
                installed
            })
        });
        // Other sessions may have compiled plans for a catalogue that was undone.
        database.catalogue_changed();
        let ((), durable) = installed?;
        Ok(durable)
    }
}

/// True if the data of statements, with that of the next steps, may be too large for one call: aside, more is known of the
/// changes.
fn is_heavy(history: &History, steps: &VecDeque<Step>, database: &Database) -> bool {
    let bytes = |step: &Step| match step {
        Step::Execute { parameters, .. } => bytes_of(parameters),
        Step::Copy { data, .. } => data.0.len(),
        Step::Sync | Step::Fail(_) => 0,
    };
    let most = database.call_bytes() / 2;
    database.has_small_calls() && history.bytes() + steps.iter().map(bytes).sum::<usize>() > most
}

/// The effects of a transaction that ran aside, besides its rows. They count when the rows are installed.
pub(super) struct Committing {
    effects: Cell<Effects>,
    posted: Cell<Option<Posted>>,
}

impl Committing {
    fn of(effects: Effects) -> Committing {
        Committing {
            effects: Cell::new(effects),
            posted: Cell::default(),
        }
    }

    /// The last step of the call that commits.
    pub fn commit(&self, database: &Database) {
        let posted = database.effects_committed(self.effects.take());
        self.posted.set(posted);
    }

    /// Notes that the transaction is durable. One without changed rows has committed as a read.
    fn durable(&self, database: &Database) {
        if let Some(posted) = self.posted.take() {
            posted.durable();
        }
        if let Some(posted) = database.effects_committed(self.effects.take()) {
            posted.durable_alone();
        }
    }
}

/// The reason for which a transaction that has run aside is not committed.
enum NotCommitted {
    /// Rows that it read have changed.
    Changed,
    /// Its snapshot was ended.
    Ended(SqlError),
    Error(SqlError),
}

impl From<Error> for NotCommitted {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict(_) => NotCommitted::Changed,
            error => SqlError::from(error).into(),
        }
    }
}

impl From<SqlError> for NotCommitted {
    fn from(error: SqlError) -> Self {
        match error.is_end() {
            true => NotCommitted::Ended(error),
            false => NotCommitted::Error(error),
        }
    }
}

/// The error of a transaction that is too long to continue in the stage.
#[cold]
fn too_long() -> SqlError {
    SqlError::new(
        code::TOO_COMPLEX,
        format!(
            "a transaction of more than {} statements cannot be run again: it defines nothing that needs the serial stage, \
             and calls no procedure of the program",
            super::history::REPLAYED_STATEMENTS_MAX
        ),
    )
    .hint("Define in a transaction of its own, or at the beginning; or use several transactions.")
}

impl OpenTransaction {
    /// The reason for which a transaction that cannot be run again does not go on.
    #[cold]
    fn cannot_go_on(&mut self) -> SqlError {
        let aside = self.aside.as_mut();
        match aside.map(|aside| aside.get().rows.snapshot().is_ended()) {
            Some(true) => Error::from(TableError::SnapshotEnded(SnapshotEnded)).into(),
            None if self.is_reclaimed => SqlError::ended(
                "the transaction was ended, and had no effect: others needed its memory, which is of `memory_max`, and it was the \
                 oldest of those whose clients sent nothing",
            ),
            _ => too_long(),
        }
    }
}

impl Unit {
    /// Runs steps with the rows that the transaction has aside, up to its commit, which it leaves.
    pub fn run_aside(mut self: Box<Self>) -> Box<UnitDone> {
        let span = self.span();
        let _inside = span.enter();
        let mut skips = false;
        // The commit may have to run them again, also those of its own flight.
        self.remember_all();
        let begun = self.with_aside(Unit::begin_aside);
        if let Some(Err(error)) = begun {
            if self.leaves_for_definition() || self.leaves_for_room(&error) {
                return self.into_done(false);
            }
            // The rows have only a part of the transaction's changes.
            if let TransactionState::Open(open) = &mut self.state_mut().transaction {
                open.leave_aside();
            }
            self.fail_aside(error);
            return self.into_done(true);
        }
        while !skips && let Some(step) = self.next_step() {
            if is_commit(&step) || unit::locks_tables(&step) {
                self.give_back(step);
                break;
            }
            let ends_tables = self.state().settings.ending_at_commit().is_some();
            let again = Again::of(&step, ends_tables);
            skips = self.step_aside(step);
            if skips
                && self.leaves_for_stage(&again)
                && let Some(step) = again.step(self.copied())
            {
                self.take_back_failure();
                self.give_back(step);
                return self.into_done(false);
            }
            if !matches!(self.state().transaction, TransactionState::Open(_)) {
                break;
            }
        }
        self.into_done(skips)
    }

    /// Calls `act` with the rows that the transaction has aside, if it has some.
    pub(super) fn with_aside<R>(
        &mut self,
        act: impl FnOnce(&mut Unit, &mut dyn WriteTarget) -> R,
    ) -> Option<R> {
        let TransactionState::Open(open) = &mut self.state_mut().transaction else {
            return None;
        };
        let mut aside = open.aside.take()?;
        open.is_aside = true;
        let there = aside.get();
        there.rows.begin_statement();
        std::mem::swap(self.effects_mut(), &mut there.effects);
        self.set_version(Some(there.version));
        self.state_mut().claims.base = Some(there.snapshot.clone());
        let result = act(self, &mut there.rows);
        self.state_mut().claims.base = None;
        if let Some(version) = self.set_version(None) {
            there.version = version;
        }
        std::mem::swap(self.effects_mut(), &mut there.effects);
        // A transaction that has failed may go back to a savepoint.
        if let TransactionState::Open(open) | TransactionState::Failed(open) =
            &mut self.state_mut().transaction
        {
            open.aside = Some(aside);
        }
        Some(result)
    }
}
