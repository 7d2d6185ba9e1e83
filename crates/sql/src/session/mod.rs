//! A session: the statements of one client, and its transaction.
//!
//! - [`state`]: the session's state; [`history`]: the statements of an open transaction, to be run again;
//! - [`unit`]: a part of a flight that runs in one serial call;
//! - [`execute`]: one statement; [`describing`]: its description before it runs; [`telling`]: the digest of its answer;
//! - [`block`]: the statements of `DO`;
//! - [`idle`]: the rows of open transactions whose clients are silent;
//! - [`handling`]: steps that need no serial call; [`sending`]: units that are sent before earlier ones are answered;
//! - [`on_node`]: units on a node's tables;
//! - [`reading`]: statements that read a snapshot;
//! - [`following`]: the statements that are refused on tables that another program has open: a session only reads
//!   snapshots;
//! - [`control`]: beginning and end of transactions; [`parameters`]: `SET`, `SHOW` and `PREPARE`;
//! - [`waits`]: statements that wait, for advisory locks and by `pg_sleep`; [`locking`]: `LOCK TABLE`;
//! - [`activity`]: the session as others see it; [`ended`]: sessions that others or the server end; [`spans`]: spans for `tracing`.
//!
//! Transactions run one at a time, so an open one must not hold the stage while its client thinks. It is run by replay:
//! steps that arrived together run in one serial call. If they end the transaction, the call commits. If not,
//! everything is undone. The session remembers the statements with a digest of the client's answers. The next call runs
//! them again first and compares: a difference is `40001`. So the client's answers are those of a serial execution at
//! the commit. As long as a transaction has only read, it reads one snapshot, and nothing is run again. One of more
//! than a few statements moves [`aside`], where nothing is run again, either.

mod activity;
mod again;
mod aside;
mod beside;
mod block;
mod control;
mod describing;
mod ended;
mod execute;
mod following;
mod given;
mod handling;
mod history;
mod idle;
mod listing;
mod locking;
mod maintaining;
mod on_node;
mod parameters;
mod reading;
mod sending;
mod spans;
mod state;
mod telling;
mod turns;
mod unit;
mod waits;

pub use given::SessionOptions;
pub use spans::{SPANS_TARGET, TOLD_TEXT_BYTES_MAX, record_error};

use crate::activity::OwnEntry;
use crate::advisory::Locker;
use crate::database::Database;
use crate::error::SqlError;
use crate::prepared::Prepared;
use crate::result::{Notice, Outcome, Step, TransactionStatus};
use crate::rights::Rights;
use crate::text::decode_text_in;
use crate::types::SqlType;
use sardonyx::schema::Value;
use sardonyx::{Durability, Error};
use sardonyx_base::channels::{Inbox, Posted};
use sardonyx_base::memory::Budget;
use sardonyx_base::waiting::{self, Interrupt};
use sending::Sent;
use state::{Reading, SessionState, TransactionState};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;
use turns::{reads_alone, turn_for};
use unit::{Unit, UnitDone};

/// A client's session. Threads may send it to each other; it runs one flight at a time.
#[derive(Debug)]
pub struct Session {
    database: Arc<Database>,
    state: SessionState,
    rights: Arc<Rights>,
    first_notices: Vec<Notice>,
    /// True if it may have temporary tables: a statement that makes one has run, or failed.
    has_temporary: bool,
    locker: Locker,
    /// The session as others see it.
    entry: OwnEntry,
    /// True if the stage has tried the next steps, which were too long for it.
    is_too_long: bool,
    /// True if these are too long since their changes are more than one call may make.
    is_too_large: bool,
    /// The stage tries the next steps, up to so many rows, and up to the changes of one call.
    tried_rows: Option<u64>,
}

impl Drop for Session {
    /// Drops its advisory locks and its temporary tables. After an error the next opening of the database drops them.
    fn drop(&mut self) {
        self.locker.leave();
        if self.has_temporary {
            // It may wait for a long statement of another session.
            let _ = waiting::long(|| self.database.drop_temporary(&self.state.temporary));
        }
    }
}

/// The handling of a step that is no data.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a box would allocate for each step"
)]
enum Handled {
    Done(Outcome),
    /// This step and the following ones run as a unit.
    Unit,
}

impl Session {
    /// Begins a session.
    ///
    /// # Errors
    /// The errors that `SET` has for a parameter: `42704`, `22023`, `55P02`, `0A000`.
    pub fn new(database: Arc<Database>, options: SessionOptions) -> Result<Session, SqlError> {
        crate::running::install();
        let follows = database.followed().is_some();
        let (mut state, first_notices) = SessionState::new(&options, follows)?;
        state.inbox = Some(Arc::new(database.hub().enter(options.process)));
        state.temporary = database.next_temporary();
        let locker = database.advisory().enter(options.process);
        state.claims.locker = Some(locker.clone());
        let entry = activity::enter(&database, &options, &state, locker.number());
        Ok(Session {
            database,
            state,
            rights: Arc::new(options.rights),
            first_notices,
            has_temporary: false,
            locker,
            entry,
            is_too_long: false,
            is_too_large: false,
            tried_rows: None,
        })
    }

    /// The notices for its client at the beginning, such as that times are UTC for an unknown zone.
    pub fn first_notices(&self) -> &[Notice] {
        &self.first_notices
    }

    /// The time for which its client may be idle now, and the error that ends its connection then.
    pub fn idle_limit(&self) -> Option<(Duration, SqlError)> {
        let in_transaction = self.status() != TransactionStatus::Idle;
        let limit = self.state.settings.idle_limit(in_transaction)?;
        let (code, what) = match in_transaction {
            true => ("25P03", "idle-in-transaction"),
            false => ("57P05", "idle-session"),
        };
        let text = format!("terminating connection due to {what} timeout");
        Some((limit, SqlError::new(code, text)))
    }

    /// Statements check this while they walk rows, and while they wait for their turn. A request in it ends one of them
    /// with `57014`. The session sets its time limit, `statement_timeout`, when a statement begins. Rows that are read
    /// afterwards belong to the statement.
    pub fn set_interrupt(&mut self, interrupt: Arc<Interrupt>) {
        self.entry.set_interrupt(interrupt.clone());
        self.state.interrupt = interrupt;
    }

    /// The inbox of its notifications. The caller waits for them, and takes them when [`Session::is_between`] is true.
    pub fn inbox(&self) -> Option<&Arc<Inbox>> {
        self.state.inbox.as_ref()
    }

    /// True if no transaction is open, also none that its client did not begin.
    pub fn is_between(&self) -> bool {
        matches!(self.state.transaction, TransactionState::Idle)
    }

    /// The memory of all sessions of the database.
    pub fn memory(&self) -> &Arc<Budget> {
        self.database.memory()
    }

    /// Idle, in a transaction, or in a failed one.
    pub fn status(&self) -> TransactionStatus {
        self.state.transaction.status()
    }

    /// Fails the open transaction, if there is one: reading an answer further, after the statement had run, gave the
    /// client an error.
    pub fn fail(&mut self) {
        self.state.fail();
    }

    /// Checks that data may be copied in. A refusal reaches the client before it sends data.
    ///
    /// # Errors
    /// `25006` if the database is one that another program has open.
    pub fn check_copy_in(&self) -> Result<(), SqlError> {
        match self.database.followed() {
            Some(followed) => Err(followed.refused("COPY FROM")),
            None => Ok(()),
        }
    }

    /// Reads a value that a client sends as a text, in the session's time zone.
    ///
    /// # Errors
    /// As [`decode_text`](crate::decode_text).
    pub fn decode_text(&self, kind: SqlType, text: &str) -> Result<Value, SqlError> {
        let zone = self.state.settings.zone().cloned();
        let zone = zone.map(|zone| zone.at(crate::running::now()));
        decode_text_in(kind, text, zone.as_ref())
    }

    /// Shared by all sessions.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// The value of a parameter, as `SHOW` has it.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.state.settings.get(name).ok()
    }

    /// All parameters that are reported to clients, with their values: for the beginning of a connection.
    pub fn reported_parameters(&self) -> Vec<(String, String)> {
        self.state.settings.reported()
    }

    /// The reported parameters that changed since the last call.
    pub fn take_changed_parameters(&mut self) -> Vec<(String, String)> {
        self.state.settings.take_changed()
    }

    /// Prepares the statements of a text. A single one is compiled, too; several are compiled when they run, since one
    /// may make tables of the next. An empty text is one statement that does nothing.
    ///
    /// The columns of a single statement remain as described here. If a change of tables gives it others, running it
    /// fails (`0A000`), and the client prepares it again.
    ///
    /// A statement on a table that an earlier statement of the same flight makes cannot be prepared before that one has
    /// run.
    ///
    /// # Errors
    /// An error in the text.
    pub fn prepare(
        &mut self,
        text: &str,
        parameter_types: &[Option<SqlType>],
    ) -> Result<Vec<Arc<Prepared>>, SqlError> {
        let prepared = self.prepare_to_run(text, parameter_types)?;
        if let [one] = &prepared[..] {
            one.compiled().keep_columns();
        }
        Ok(prepared)
    }

    /// As [`Session::prepare`], for statements that are run at once: their columns are not kept.
    ///
    /// # Errors
    /// An error in the text.
    pub fn prepare_to_run(
        &mut self,
        text: &str,
        parameter_types: &[Option<SqlType>],
    ) -> Result<Vec<Arc<Prepared>>, SqlError> {
        self.withdraw();
        let prepared = self.prepare_with_rows(text, parameter_types);
        self.deposit();
        prepared
    }

    fn prepare_with_rows(
        &mut self,
        text: &str,
        parameter_types: &[Option<SqlType>],
    ) -> Result<Vec<Arc<Prepared>>, SqlError> {
        self.state.begin_statement();
        self.make_own_tables_again()?;
        let text = self.without_database(text)?;
        let prepared = describing::statements_of(&text, parameter_types, &self.rights)?;
        if let [one] = &prepared[..]
            && matches!(self.state.transaction, TransactionState::Failed(_))
            && !one.is_empty()
            && !one.ends_failure()
        {
            return Err(SqlError::in_failed_transaction());
        }
        for statement in &prepared {
            describing::check_access(&self.state.user, statement.compiled())?;
        }
        if let [one] = &prepared[..]
            && one.compiled().is_to_be_compiled()
        {
            let compiled = one.compiled();
            self.describe(compiled)
                .map_err(|error| compiled.placed(error))?;
            if !Arc::ptr_eq(one, compiled) {
                one.describe(compiled.parameters().to_vec(), None);
            }
        }
        Ok(prepared)
    }

    /// Compiles a statement, if that gives its parameters and columns.
    fn describe(&mut self, prepared: &Arc<Prepared>) -> Result<(), SqlError> {
        prepared.look_in(self.state.settings.path());
        if let Some(described) = describing::described(prepared, &self.state)? {
            let (parameters, columns) = described;
            prepared.describe(parameters, columns);
            return Ok(());
        }
        let database = &self.database;
        let node = database.node().cloned();
        let defines = matches!(&self.state.transaction,
            TransactionState::Open(open) if open.defines);
        if let (false, Some(node)) = (defines, &node) {
            return database.look_at_node(&**node, &self.state.interrupt, |source, version| {
                describing::plan_for(prepared, database, version, source)
            });
        }
        if let Some(node) = &node {
            self.describe_again()?;
            return self.describe_on_node(&**node, prepared);
        }
        if database.followed().is_some()
            && let TransactionState::Open(open) = &self.state.transaction
            && let Reading::Snapshot(Some((snapshot, version))) = &open.reading
        {
            // The tables may have changed by now; the transaction continues with those of its snapshot.
            let source = &**snapshot.space();
            return describing::plan_for(prepared, database, *version, &source);
        }
        if !defines {
            let reached = database.reach(Some(&self.state.interrupt))?;
            return describing::plan_reached(prepared, database, reached);
        }
        // The tables are those of the transaction.
        if let TransactionState::Open(open) = &mut self.state.transaction
            && let Some((version, rows)) = open.own_tables()
        {
            return describing::plan_for(prepared, database, version, rows);
        }
        self.describe_again()?;
        let database = self.database.clone();
        let turn = database.turn(&self.state.interrupt)?;
        let mut unit = Unit::replaying(database.clone(), std::mem::take(&mut self.state));
        let planned = turn.run(Durability::Deferred, |tx| {
            let planned = unit.replay_and(tx, |tx, database| {
                describing::plan_for(prepared, database, database.version(), &*tx)
            });
            Err::<(), Error>(Error::other(Undone(planned)))
        });
        self.state = unit.into_state();
        self.database.catalogue_changed();
        match planned.map_err(Error::downcast::<Undone>) {
            Err(Ok(Undone(planned))) => planned,
            Err(Err(error)) => Err(error.into()),
            Ok(()) => Ok(()),
        }
    }

    /// Runs the steps that a client sent together: one outcome for each step, when all of it is durable.
    ///
    /// A session whose future was dropped before it was ready has lost its transaction, and the statements prepared in
    /// it: drop it, too.
    pub async fn run(&mut self, flight: Vec<Step>) -> Vec<Outcome> {
        self.show_beginning(&flight);
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(flight.len());
        let mut steps = flight.into_iter().collect::<VecDeque<_>>();
        let mut skipping = false;
        let mut sent = Sent::default();
        self.has_temporary |= steps.iter().any(
            |step| matches!(step, Step::Execute { statement, .. } if statement.makes_temporary()),
        );
        self.withdraw();
        // One that was tried may have unwound.
        self.state.interrupt.take_rows_max();
        self.state.begin_statement();
        while !steps.is_empty() || !sent.is_empty() {
            if !skipping
                && !self.is_too_long
                && !sent.ends_too_long()
                && ended::ends_all(&self.state.interrupt).is_none()
                && self.database.tables().is_some()
                && self.is_by_itself(&steps)
                && self.send(&mut steps, &mut sent)
            {
                continue;
            }
            self.answer(&mut sent, &mut outcomes, &mut steps).await;
            self.refuse_if_ended(&mut steps, skipping, &mut outcomes);
            let Some(step) = steps.front() else {
                break;
            };
            if let Step::Sync = step
                && !self.state.transaction.is_implicit_and_writes()
            {
                self.state.end_implicit();
                self.signal_due();
                skipping = false;
                steps.pop_front();
                outcomes.push(Outcome::Synced(self.status()));
                continue;
            }
            if skipping {
                steps.pop_front();
                outcomes.push(Outcome::Skipped);
                continue;
            }
            if let Step::Execute { statement, .. } = step
                && statement.is_execute()
                && !matches!(self.state.transaction, TransactionState::Failed(_))
            {
                match steps
                    .pop_front()
                    .map(|step| resolve_execute(&mut self.state, &self.database, step))
                {
                    Some(Ok(step)) => steps.push_front(step),
                    Some(Err(error)) => {
                        self.state.fail();
                        skipping = true;
                        outcomes.push(Outcome::Failed(error));
                    }
                    None => {}
                }
                continue;
            }
            // A statement that was tried has begun.
            if !outcomes.is_empty() && !self.is_too_long {
                self.state.begin_statement();
            }
            self.end_locks();
            match self.handle(step, &steps).await {
                Handled::Done(outcome) => {
                    steps.pop_front();
                    self.signal_due();
                    let outcome = self.state.without_unwanted(outcome);
                    skipping = matches!(outcome, Outcome::Failed(_));
                    outcomes.push(outcome);
                }
                Handled::Unit => {
                    let Some(done) = self.run_unit(&mut steps).await else {
                        continue;
                    };
                    skipping = done.skips;
                    outcomes.extend(done.outcomes);
                    steps = done.rest;
                }
            }
        }
        self.end_locks();
        self.deposit();
        self.show_end();
        outcomes
    }

    /// Runs a unit, and what it was given back. `None` if the steps are as they were: a statement that only reads is to read
    /// beside a long statement, or the stage has tried statements that are too long for it.
    async fn run_unit(&mut self, steps: &mut VecDeque<Step>) -> Option<UnitDone> {
        let goes_aside = self.goes_aside(steps).and_then(|goes| {
            if !goes {
                self.run_again(steps)?;
            }
            Ok(goes)
        });
        match goes_aside {
            Ok(true) => return Some(self.run_aside(steps).await),
            Ok(false) => {}
            Err(error) => {
                self.tried_rows = None;
                match steps.front().is_some_and(aside::is_commit) {
                    true => self.state.end(false),
                    false => self.state.fail(),
                }
                let count = unit::ends(&std::mem::take(steps));
                return Some(UnitDone::refused(error, count, self.status()));
            }
        }
        let tried_rows = self.tried_rows.take();
        if let Some(node) = self.database.node().cloned() {
            return Some(self.run_on_node(node, steps).await);
        }
        let is_idle = matches!(self.state.transaction, TransactionState::Idle);
        let database = self.database.clone();
        let turn = match turn_for(
            &database,
            &self.state.interrupt,
            is_idle && reads_alone(steps),
        ) {
            Ok(Some(turn)) => turn,
            Ok(None) => return None,
            Err(error) => {
                self.state.fail();
                let count = unit::ends(&std::mem::take(steps));
                return Some(UnitDone::refused(error, count, self.status()));
            }
        };
        let implicit = self.state.transaction.before_implicit();
        // It stays if the engine does not give the state back.
        let kept = self.state.kept();
        let state = std::mem::replace(&mut self.state, kept);
        let mut unit = Unit::new(self.database.clone(), state, std::mem::take(steps));
        if let Some(rows) = tried_rows {
            unit.is_tried_with(rows);
        }
        let count = unit.steps();
        let ran = match unit.stays_open() {
            // Nothing is awaited: its reads count only once the transaction commits, which reads again and waits until
            // it is durable.
            true => unit.run_undone(turn),
            false => {
                let ticket = unit.submit(turn);
                ticket.instrument(spans::durability()).await
            }
        };
        Some(match ran {
            Ok(Ok(mut done) | Err(mut done)) => {
                std::mem::swap(&mut self.state, &mut done.state);
                done.posted.take().into_iter().for_each(Posted::durable);
                if done.is_too_long {
                    self.state.interrupt.take_rows_max();
                    (self.is_too_long, self.is_too_large) = (true, done.is_too_large);
                    *steps = done.rest;
                    return None;
                }
                *done
            }
            Err(error) => {
                // One that was tried may have unwound.
                self.state.interrupt.take_rows_max();
                // The fate of the unit is unknown, or it did not run at all.
                self.state.lost(is_idle, implicit);
                UnitDone::refused(error.into(), count, self.status())
            }
        })
    }
}

/// A step that runs a statement of `PREPARE`, as the step that runs that one.
///
/// # Errors
/// There is no such statement, or an error in its parameters.
fn resolve_execute(
    state: &mut SessionState,
    database: &Arc<Database>,
    step: Step,
) -> Result<Step, SqlError> {
    match &step {
        Step::Execute {
            statement,
            rows_max,
            ..
        } if statement.is_execute() => {
            let (statement, parameters) = describing::executed(state, database, statement)?;
            describing::check_access(&state.user, &statement)?;
            Ok(Step::Execute {
                statement,
                parameters,
                rows_max: *rows_max,
            })
        }
        _ => Ok(step),
    }
}

/// The end of a serial call whose changes are undone, with its result.
#[derive(Debug, thiserror::Error)]
#[error("undone on purpose")]
struct Undone(Result<(), SqlError>);
