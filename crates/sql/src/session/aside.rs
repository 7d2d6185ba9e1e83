//! An open transaction that runs aside: on a snapshot with its own changes beside it ([`OpenRows`]), without the serial
//! stage. Its commit is one short call in the stage, which compares the rows that it read and makes its changes.
//!
//! A transaction moves aside after some statements ([`Database::set_aside_from`]), or at one that may take long. Before
//! that, to run a few statements again costs less than a snapshot. Its earlier statements are run once more there. The
//! session remembers all statements ([`History`](super::history::History)). If rows that the transaction read were
//! changed meanwhile, the stage runs the statements again and compares their results with the client's replies.
//! Transactions that call a procedure of the program, or define objects that only the stage can define, always run so.
//!
//! Definitions are made in its rows, a store of tables that only the transaction sees. Plans over them have versions of
//! the catalogue of their own ([`own_version`]).
//!
//! Invariant: while a transaction has its rows aside, all of its statements ran there.

use super::beside::{Came, Work};
use super::state::{OpenTransaction, Reading, TransactionState};
use super::unit::{self, Unit, UnitDone};
use super::{Session, spans};
use crate::class::Class;
use crate::constraints;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::names::of_public;
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Step, Tag};
use crate::signals::Effects;
use crate::violations::explained;
use crate::write_target::WriteTarget;
use sardonyx::low_level::LeftRows;
use sardonyx::rows::OpenRows;
use sardonyx::{Error, Snapshot, Ticket, Transaction};
use sardonyx_base::channels::Posted;
use sardonyx_base::waiting;
use sqlparser::ast::Statement;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tracing::{Instrument, Span};

/// The most bytes that a transaction keeps aside.
const BYTES_MAX: usize = 256 << 20;

/// The rows of an open transaction that runs aside, with their snapshot.
#[derive(Debug)]
pub(crate) struct Aside {
    pub rows: OpenRows,
    /// The state in which they began.
    snapshot: Snapshot,
    /// The version of the catalogue in its snapshot, and the group with which that is durable.
    pub version: u64,
    group: u64,
    pub effects: Effects,
}

/// The same as a session keeps it, shared by threads.
#[derive(Debug)]
pub(crate) struct Kept(Mutex<Aside>);

impl Kept {
    pub fn new(aside: Aside) -> Box<Kept> {
        Box::new(Kept(Mutex::new(aside)))
    }

    pub fn get(&mut self) -> &mut Aside {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(self: Box<Kept>) -> Aside {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A version of the catalogue that no other transaction sees, for plans over a transaction's own definitions.
pub(super) fn own_version() -> u64 {
    OWN_VERSIONS.fetch_add(1, Ordering::Relaxed)
}

/// The versions that others see are counted from 0.
static OWN_VERSIONS: AtomicU64 = AtomicU64::new(1 << 63);

/// True if a statement can run aside. A table that the commit empties or drops needs the stage.
fn is_possible(statement: &Prepared, database: &Database) -> bool {
    match (statement.class(), statement.statement()) {
        (Class::Define, _) => !statement.ends_at_commit(),
        (_, Some(Statement::Call(function))) => {
            let name = of_public(&function.name);
            name.is_ok_and(|name| database.registered(&name).is_none())
        }
        _ => true,
    }
}

/// The same step again, if it defines something.
fn definition_of(step: &Step) -> Option<Step> {
    match step {
        Step::Execute {
            statement,
            parameters,
            rows_max,
        } if statement.class() == Class::Define => Some(Step::Execute {
            statement: statement.clone(),
            parameters: parameters.clone(),
            rows_max: *rows_max,
        }),
        _ => None,
    }
}

/// True if a step begins or ends a transaction or a part of one, or nothing.
fn is_control(step: &Step) -> bool {
    match step {
        Step::Execute { statement, .. } => statement.class() == Class::Control,
        Step::Copy { .. } => false,
        Step::Sync | Step::Fail(_) => true,
    }
}

/// True if a step is the commit of a transaction.
fn is_commit(step: &Step) -> bool {
    match step {
        Step::Execute { statement, .. } => {
            matches!(
                statement.statement(),
                Some(Statement::Commit { chain: false, .. })
            )
        }
        _ => false,
    }
}

impl Session {
    /// Bytes that the open transaction keeps aside.
    #[doc(hidden)]
    pub fn bytes_aside(&mut self) -> usize {
        match &mut self.state.transaction {
            TransactionState::Open(open) => {
                open.aside.as_mut().map(|aside| aside.get().rows.bytes())
            }
            _ => None,
        }
        .unwrap_or_default()
    }

    /// True if the next steps run aside. If so, the transaction has its rows there.
    ///
    /// # Errors
    /// An interruption of the wait for a snapshot; the engine's.
    pub(super) fn goes_aside(&mut self, steps: &VecDeque<Step>) -> Result<bool, SqlError> {
        let database = &self.database;
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return Ok(false);
        };
        if open.is_implicit || self.state.settings.ending_at_commit().is_some() {
            return Ok(false);
        }
        let mut statements = steps.iter().filter_map(|step| match step {
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
            return Err(too_long());
        }
        open.is_of_stage |= !is_possible;
        if open.aside.is_some() {
            open.leave_aside();
            return Ok(false);
        }
        let is_long = open.history.len() >= database.aside_from()
            || steps.len() > unit::SHORT_STATEMENTS_MAX
            || steps.iter().any(|step| unit::is_long_step(step, database));
        let ends = steps.iter().any(is_commit);
        if open.is_of_stage || !is_long || ends || open.read_only {
            return Ok(false);
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
            .with_bytes_max(BYTES_MAX)
            .counted_in(database.memory().clone());
        open.is_new_aside = true;
        open.reading = Reading::Live;
        open.aside = Some(Kept::new(Aside {
            rows,
            snapshot,
            version,
            group,
            effects: Effects::default(),
        }));
        Ok(true)
    }

    /// Runs steps aside, up to and including the commit of the transaction. Returns the rest of the steps.
    pub(super) async fn run_aside(&mut self, steps: &mut VecDeque<Step>) -> UnitDone {
        let kept = self.state.kept();
        let state = std::mem::replace(&mut self.state, kept);
        let unit = Unit::new(self.database.clone(), state, std::mem::take(steps));
        let interrupt = self.state.interrupt.clone();
        let is_long = unit.has_long_step();
        let run = || waiting::interruptible(&interrupt, None, || unit.run_aside());
        let mut done = match is_long {
            true => waiting::long(run),
            false => run(),
        };
        std::mem::swap(&mut self.state, &mut done.state);
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
            effects,
        } = aside.take();
        let committing = Committing::of(effects);
        let span = match done.rest.front() {
            Some(Step::Execute { statement, .. }) => spans::statement(statement),
            _ => Span::none(),
        };
        span.in_scope(|| constraints::at_commit(&mut rows))?;
        let database = self.database.clone();
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
            Err(NotCommitted::Changed) => match &mut self.state.transaction {
                TransactionState::Open(open) if open.history.is_whole() => {
                    open.leave_aside();
                    Ok(())
                }
                // Another attempt would not help.
                _ if needs_stage => Err(too_long()),
                _ => Err(SqlError::new(
                    code::SERIALIZATION_FAILURE,
                    "could not serialize access due to concurrent update",
                )
                .hint("The transaction might succeed if retried.")),
            },
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
    Error(SqlError),
}

impl From<Error> for NotCommitted {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict(_) => NotCommitted::Changed,
            error => NotCommitted::Error(error.into()),
        }
    }
}

impl From<SqlError> for NotCommitted {
    fn from(error: SqlError) -> Self {
        NotCommitted::Error(error)
    }
}

/// The error of a transaction that is too long to continue in the stage.
#[cold]
fn too_long() -> SqlError {
    SqlError::new(
        code::TOO_COMPLEX,
        format!(
            "a transaction of more than {} statements cannot be run again: it defines nothing that needs the serial stage, \
             calls no procedure of the program, and ends if its snapshot does",
            super::history::REPLAYED_STATEMENTS_MAX
        ),
    )
    .hint("Define in a transaction of its own, or at the beginning; or use several transactions.")
}

impl Unit {
    /// Runs steps with the rows that the transaction has aside, up to its commit, which it leaves.
    pub fn run_aside(mut self: Box<Self>) -> Box<UnitDone> {
        let span = self.span();
        let _inside = span.enter();
        let mut skips = false;
        let begun = self.with_aside(Unit::begin_aside);
        if let Some(Err(error)) = begun {
            if self.has_refused_definition() {
                return self.into_done(false);
            }
            // The rows have only a part of the transaction's changes.
            if let TransactionState::Open(open) = &mut self.state_mut().transaction {
                open.leave_aside();
            }
            self.fail_aside(error);
            skips = true;
        }
        while !skips && let Some(step) = self.next_step() {
            if is_commit(&step) || unit::locks_tables(&step) {
                self.give_back(step);
                break;
            }
            let again = definition_of(&step);
            skips = self.step_aside(step);
            if skips
                && let Some(step) = again
                && self.has_refused_definition()
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

    /// True if a definition has to run in the stage, since a table has too many rows. The transaction continues there.
    fn has_refused_definition(&mut self) -> bool {
        match &mut self.state_mut().transaction {
            TransactionState::Open(open) | TransactionState::Failed(open) => {
                let aside = open.aside.as_mut();
                let is_refused =
                    aside.is_some_and(|aside| aside.get().rows.has_refused_definition());
                if is_refused {
                    open.leave_aside();
                    open.is_of_stage = true;
                }
                is_refused
            }
            TransactionState::Idle => false,
        }
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
