//! A unit: the steps of a flight that run in one serial call. It begins with the replay of an open transaction. It ends
//! where the transaction does, where a step fails, or with the flight.

mod controlling;
mod flight;
mod replay;
mod trying;
mod turns;

pub(super) use flight::{ends, locks_tables, writes_ahead};
pub(super) use turns::{
    SHORT_COPY_BYTES_MAX, SHORT_STATEMENTS_MAX, has_walked_far, is_long_again, is_long_step,
};

use super::control;
use super::ended::ends_all;
use super::execute::{Call, check_may_write};
use super::given::Given;
use super::history::{Told, is_of_the_engine};
use super::spans;
use super::state::{Reading, SessionState, TransactionState};
use super::telling::remembered;
use crate::begun::Begun;
use crate::class::Class;
use crate::constraints;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::maintenance::Maintenance;
use crate::prepared::Prepared;
use crate::result::{Complete, CopyData, Notice, Outcome, Step, Tag, TransactionStatus};
use crate::running::{now, seed};
use crate::signals::Effects;
use crate::source::Source;
use crate::temporary;
use crate::write_target::WriteTarget;
use flight::may_stay_open;
use sardonyx_base::channels::Posted;
use sardonyx_base::waiting;
use sqlparser::ast::Statement;
use std::collections::VecDeque;
use std::sync::Arc;
use tracing::Span;

/// Steps that run in one serial call.
pub(super) struct Unit {
    database: Arc<Database>,
    state: SessionState,
    steps: VecDeque<Step>,
    outcomes: Vec<Outcome>,
    /// True if the statements are remembered: the transaction may be open at the end.
    remembers: bool,
    effects: Effects,
    defined: bool,
    /// The span in which it was made: another thread may run it.
    span: Span,
    /// The version of the catalogue of rows that a transaction has aside.
    version: Option<u64>,
    /// The data of the last step, if that was a copy of data into a table of rows aside.
    copied: Option<Arc<CopyData>>,
    /// The steps that ran, if the stage tries it.
    tried: Option<trying::Tried>,
    /// True if it was too long for the stage, and is as if it had not begun.
    is_too_long: bool,
    /// True if that was since one call may change fewer bytes.
    is_too_large: bool,
}

/// The result of a unit.
#[derive(Debug)]
pub(super) struct UnitDone {
    pub state: SessionState,
    pub outcomes: Vec<Outcome>,
    /// True if a step failed, so that those to the next [`Step::Sync`] are skipped.
    pub skips: bool,
    /// The steps behind it.
    pub rest: VecDeque<Step>,
    /// Its notifications, if it has committed.
    pub posted: Option<Posted>,
    /// True if the stage has tried it in vain: it had no effect, and all of its steps are in the rest.
    pub is_too_long: bool,
    /// True if that was since one call may change fewer bytes.
    pub is_too_large: bool,
}

/// The end of a unit's serial call: it commits, or its changes are undone.
pub(super) type UnitEnd = Result<Box<UnitDone>, Box<UnitDone>>;

impl UnitDone {
    /// The result of a unit that the engine did not run, or whose fate it does not know. The first step gets the error,
    /// and those up to the next end are skipped.
    pub fn refused(error: SqlError, steps: Vec<bool>, status: TransactionStatus) -> UnitDone {
        let mut outcomes = Vec::with_capacity(steps.len());
        let mut error = Some(error);
        let mut skips = true;
        for is_sync in steps {
            outcomes.push(match (is_sync, error.take()) {
                (true, kept) => {
                    error = kept;
                    skips = false;
                    Outcome::Synced(status)
                }
                (false, Some(error)) => Outcome::Failed(error),
                (false, None) => Outcome::Skipped,
            });
        }
        UnitDone {
            state: SessionState::default(),
            outcomes,
            skips,
            rest: VecDeque::new(),
            posted: None,
            is_too_long: false,
            is_too_large: false,
        }
    }
}

/// The end of a serial call.
enum End {
    Commit,
    Undo,
}

/// The way on after a step.
enum Next {
    Go,
    End(End, bool),
}

impl Unit {
    /// On the heap: it is passed on several times before it runs.
    pub fn new(database: Arc<Database>, state: SessionState, steps: VecDeque<Step>) -> Box<Unit> {
        let (is_open, may_return) = match &state.transaction {
            TransactionState::Open(open) => (true, open.remembers_failures()),
            _ => (false, false),
        };
        let remembers = may_return || may_stay_open(is_open, &steps);
        Box::new(Unit {
            database,
            state,
            steps,
            outcomes: Vec::new(),
            remembers,
            effects: Effects::default(),
            defined: false,
            span: spans::current(),
            version: None,
            copied: None,
            tried: None,
            is_too_long: false,
            is_too_large: false,
        })
    }

    /// Its statements are remembered in any case.
    pub(super) fn remember_all(&mut self) {
        self.remembers = true;
    }

    /// A unit without steps, for the replay of an open transaction.
    pub fn replaying(database: Arc<Database>, state: SessionState) -> Box<Unit> {
        Unit::new(database, state, VecDeque::new())
    }

    pub fn into_state(self: Box<Self>) -> SessionState {
        self.state
    }

    /// True if no step ends the transaction in which it begins, so that all of its changes are undone.
    pub fn stays_open(&self) -> bool {
        let ends = |step: &Step| match step {
            Step::Execute { statement, .. } => statement.ends_transaction(),
            _ => false,
        };
        let has_sync = || self.steps.iter().any(|step| matches!(step, Step::Sync));
        match &self.state.transaction {
            TransactionState::Open(open) if !open.is_implicit => !self.steps.iter().any(ends),
            TransactionState::Open(_) | TransactionState::Idle => {
                !has_sync() && !self.steps.iter().any(ends)
            }
            TransactionState::Failed(_) => false,
        }
    }

    /// For each step, true if it is an end.
    pub fn steps(&self) -> Vec<bool> {
        ends(&self.steps)
    }

    pub(super) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(super) fn state(&self) -> &SessionState {
        &self.state
    }

    pub(super) fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    pub(super) fn effects_mut(&mut self) -> &mut Effects {
        &mut self.effects
    }

    /// Sets the version of the catalogue for plans, or the newest. Returns the one before.
    pub(super) fn set_version(&mut self, version: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.version, version)
    }

    pub(super) fn next_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    pub(super) fn give_back(&mut self, step: Step) {
        self.steps.push_front(step);
    }

    pub(super) fn into_done(self: Box<Self>, skips: bool) -> Box<UnitDone> {
        Box::new(UnitDone {
            state: self.state,
            outcomes: self.outcomes,
            skips,
            rest: self.steps,
            posted: None,
            is_too_long: false,
            is_too_large: false,
        })
    }

    /// Fails a transaction whose earlier statements could not run aside. The next step has the error: a commit ends the
    /// transaction.
    pub(super) fn fail_aside(&mut self, error: SqlError) {
        let is_end = self.first_ends();
        self.steps.pop_front();
        self.failed(error, is_end);
    }

    /// The error of the last step, if it failed.
    pub(super) fn last_failure(&self) -> Option<SqlError> {
        match self.outcomes.last() {
            Some(Outcome::Failed(error)) => Some(error.clone()),
            _ => None,
        }
    }

    /// The data of the last step, if that was a copy of data into a table of rows aside.
    pub(super) fn copied(&mut self) -> Option<Arc<CopyData>> {
        self.copied.take()
    }

    /// Takes back the failure of the last step, which continues elsewhere.
    pub(super) fn take_back_failure(&mut self) {
        self.outcomes.pop();
        self.state.transaction = match std::mem::take(&mut self.state.transaction) {
            TransactionState::Failed(open) => TransactionState::Open(open),
            other => other,
        };
    }

    /// Runs a step with the rows that the transaction has aside. Returns true if it failed.
    pub(super) fn step_aside(&mut self, step: Step) -> bool {
        let is_control = matches!(&step, Step::Execute { statement, .. }
            if statement.class() == Class::Control);
        if let (Step::Execute { statement, .. }, true) = (&step, is_control) {
            let outcome = control::without_data(&mut self.state, statement);
            let has_failed = matches!(outcome, Some(Outcome::Failed(_)));
            let state = &self.state;
            let outcome = outcome.map(|outcome| state.without_unwanted(outcome));
            self.outcomes.extend(outcome);
            return has_failed;
        }
        match self.with_aside(|unit, rows| unit.step(rows, step, &mut false)) {
            Some(Next::Go) => false,
            Some(Next::End(_, skips)) => skips,
            None => true,
        }
    }

    /// Runs it: `Err` if its changes are undone.
    pub fn run(mut self: Box<Self>, tx: &mut dyn WriteTarget) -> UnitEnd {
        let (end, skips) = {
            let span = self.span.clone();
            let _inside = span.enter();
            // Conditions of tables know the statement by its thread.
            let interrupt = self.state.interrupt.clone();
            waiting::interruptible(&interrupt, None, || self.run_tried(tx))
        };
        if self.defined {
            // Plans of undone definitions are invalid, too.
            self.database.catalogue_changed();
        }
        let commits = matches!(end, End::Commit);
        let posted = commits.then(|| {
            let mut effects = std::mem::take(&mut self.effects);
            let mut signals = std::mem::take(&mut self.state.due);
            signals.append(std::mem::take(&mut effects.signals));
            effects.signals = signals;
            self.database.effects_committed(effects)
        });
        let done = Box::new(UnitDone {
            state: self.state,
            outcomes: self.outcomes,
            skips,
            rest: self.steps,
            posted: posted.flatten(),
            is_too_long: self.is_too_long,
            is_too_large: self.is_too_large,
        });
        if commits { Ok(done) } else { Err(done) }
    }

    fn run_steps(&mut self, tx: &mut dyn WriteTarget) -> (End, bool) {
        if let Err(error) = self.replay(tx) {
            let is_end = self.first_ends();
            // A `Step::Sync` is an end all the same, but its outcome is the error of its commit.
            let is_sync = matches!(self.steps.pop_front(), Some(Step::Sync));
            self.outcomes.push(Outcome::Failed(error));
            match is_end {
                true => self.state.end(false),
                false => self.state.fail(),
            }
            return (End::Undo, !is_sync);
        }
        self.begin_trial();
        // Steps between two ends without `BEGIN` are a transaction, too.
        let is_implicit = matches!(self.state.transaction, TransactionState::Idle);
        if is_implicit {
            self.state.begin_implicit();
        }
        if let TransactionState::Open(open) = &mut self.state.transaction {
            open.reading = Reading::Live;
        }
        let mut implicit = is_implicit || self.state.transaction.is_implicit();
        loop {
            let Some(step) = self.steps.pop_front() else {
                // The rest of the transaction comes with the next flight.
                if let TransactionState::Open(open) = &mut self.state.transaction {
                    open.is_implicit = implicit;
                }
                return (End::Undo, false);
            };
            if !implicit && locks_tables(&step) {
                // It may wait, and not in the stage: the session runs it, and the rest after it.
                self.steps.push_front(step);
                if let TransactionState::Open(open) = &mut self.state.transaction {
                    open.is_implicit = false;
                }
                return (End::Undo, false);
            }
            match self.step(tx, step, &mut implicit) {
                Next::Go => {}
                Next::End(end, skips) => return (end, skips),
            }
        }
    }

    /// True if the first step ends the transaction in any case.
    pub fn first_ends(&self) -> bool {
        match self.steps.front() {
            Some(Step::Execute { statement, .. }) => {
                matches!(statement.statement(), Some(Statement::Commit { .. }))
            }
            _ => false,
        }
    }

    fn step(&mut self, tx: &mut dyn WriteTarget, step: Step, implicit: &mut bool) -> Next {
        // Statements that look at no rows do not look at the interrupt, either.
        if let Some(reason) = ends_all(&self.state.interrupt)
            && !matches!(step, Step::Sync)
        {
            return self.failed(SqlError::interrupted(reason), *implicit);
        }
        let step = match super::resolve_execute(&mut self.state, &self.database, step) {
            Ok(step) => step,
            Err(error) => return self.failed(error, *implicit),
        };
        let (statement, parameters, data, rows_max) = match step {
            Step::Sync => {
                if *implicit {
                    self.steps.push_front(Step::Sync);
                    if let Err(error) = self.at_commit(tx) {
                        return self.not_committed(error);
                    }
                    self.state.end(true);
                    return Next::End(End::Commit, false);
                }
                let status = self.state.transaction.status();
                self.outcomes.push(Outcome::Synced(status));
                return Next::Go;
            }
            Step::Execute {
                statement,
                parameters,
                rows_max,
            } => (statement, parameters, None, rows_max),
            Step::Copy { statement, data } => (statement, Vec::new(), Some(Arc::new(data)), 0),
            Step::Fail(error) => return self.failed(error, *implicit),
        };
        if !self.outcomes.is_empty() {
            self.state.begin_statement();
        }
        self.copied = data.clone().filter(|_| self.version.is_some());
        let span = spans::statement(&statement);
        let given = (&parameters[..], data, rows_max);
        let next = span.in_scope(|| self.statement(tx, &statement, given, implicit));
        if let Some(outcome) = self.outcomes.last()
            && !trying::is_too_long(outcome)
        {
            spans::ended(&span, outcome);
        }
        self.has_tried(statement, parameters, rows_max);
        next
    }

    /// Runs a statement, with its parameters, its data to copy in, and the most rows to return.
    fn statement(
        &mut self,
        tx: &mut dyn WriteTarget,
        statement: &Arc<Prepared>,
        (parameters, data, rows_max): (&[sardonyx::schema::Value], Option<Arc<CopyData>>, u64),
        implicit: &mut bool,
    ) -> Next {
        match statement.class() {
            Class::Control => self.control(tx, statement, implicit),
            Class::Empty => self.done(Complete::of(Tag::plain(""))),
            Class::Session => {
                // A node's tables have no version here.
                let version = self.version.unwrap_or_else(|| self.database.version());
                let tables =
                    (self.database.node().is_none()).then_some((version, &*tx as &dyn Source));
                let outcome =
                    super::parameters::run(&mut self.state, (&self.database, tables), statement);
                match outcome {
                    Outcome::Failed(error) => self.failed(error, *implicit),
                    outcome => {
                        self.outcomes.push(outcome);
                        Next::Go
                    }
                }
            }
            Class::Maintenance => {
                let Some(special) = statement.as_special() else {
                    return self.done(Complete::of(Tag::plain("")));
                };
                let checked = Maintenance::parse(special, statement.text()).and_then(|asked| {
                    asked.check_in_transaction()?;
                    asked.check(&*tx, self.state.settings.path())
                });
                match checked {
                    Ok(()) => self.done(Complete::of(Tag::plain(special.word()))),
                    Err(error) => self.failed(error, *implicit),
                }
            }
            Class::Define if !*implicit && statement.is_concurrent() => {
                let text = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
                let error = SqlError::new(code::ACTIVE_TRANSACTION, text);
                self.failed(error, *implicit)
            }
            Class::Read | Class::Write | Class::Define => {
                let is_alone = *implicit
                    && self.outcomes.is_empty()
                    && matches!(self.steps.front(), None | Some(Step::Sync));
                match self.data(tx, statement, parameters, data, rows_max) {
                    Ok(mut complete) => {
                        if is_alone && statement.constraints().is_some() {
                            let text = "SET CONSTRAINTS can only be used in transaction blocks";
                            let warning = Notice::warning(code::NO_TRANSACTION, text);
                            complete.notices.push(warning);
                        }
                        self.done(complete)
                    }
                    Err(error) => self.failed(error, *implicit),
                }
            }
        }
    }

    fn done(&mut self, complete: Complete) -> Next {
        let outcome = self.state.without_unwanted(Outcome::Done(complete));
        self.outcomes.push(outcome);
        Next::Go
    }

    /// Notes a failed step: an implicit transaction is over, another one waits for its end.
    fn failed(&mut self, error: SqlError, implicit: bool) -> Next {
        self.outcomes.push(Outcome::Failed(error));
        match implicit {
            true => self.state.end(false),
            false => self.state.fail(),
        }
        Next::End(End::Undo, true)
    }

    /// A deferred constraint of a transaction without `BEGIN` does not hold: its last statement fails.
    fn not_committed(&mut self, error: SqlError) -> Next {
        match self.outcomes.last_mut() {
            Some(last @ Outcome::Done(_)) => *last = Outcome::Failed(error),
            _ => self.outcomes.push(Outcome::Failed(error)),
        }
        self.state.end(false);
        Next::End(End::Undo, true)
    }

    /// Prepares a commit: checks deferred constraints, then empties or drops temporary tables.
    fn at_commit(&mut self, tx: &mut dyn WriteTarget) -> Result<(), SqlError> {
        constraints::at_commit(tx)?;
        if let Some(schema) = self.state.settings.ending_at_commit() {
            let sequences = &mut self.effects.sequences;
            self.defined |= temporary::at_commit(tx, &self.database, schema, sequences)?;
        }
        Ok(())
    }

    fn data(
        &mut self,
        tx: &mut dyn WriteTarget,
        statement: &Arc<Prepared>,
        parameters: &[sardonyx::schema::Value],
        data: Option<Arc<CopyData>>,
        rows_max: u64,
    ) -> Result<Complete, SqlError> {
        let started = match &self.state.transaction {
            TransactionState::Open(open) => {
                check_may_write(open, statement)?;
                open.started
            }
            _ => Begun::at(now()),
        };
        self.defined |= statement.class() == Class::Define;
        let given = Given {
            statement,
            parameters,
            data: data.as_deref(),
            rows_max,
            transaction: started,
            statement_started: now(),
            seed: seed(),
            digests: self.remembers,
        };
        let mut call = Call {
            tx,
            database: &self.database,
            effects: &mut self.effects,
            drawn: std::mem::take(&mut self.state.again),
            undrawn: Default::default(),
            version: self.version,
        };
        let settings = self.state.settings.clone();
        self.state.claims.begin(None, self.remembers);
        let ran = call.run(&mut self.state, &given);
        let Call { drawn, version, .. } = call;
        self.version = version;
        self.has_drawn(&drawn);
        let claimed = self.state.claims.take_log();
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => {
                if let TransactionState::Open(open) = &mut self.state.transaction
                    && self.remembers
                    && open.remembers_failures()
                    && !is_of_the_engine(&error)
                {
                    let told = Told::Failed(error.code);
                    open.remember(remembered(
                        statement,
                        parameters,
                        data.clone(),
                        &given,
                        settings,
                        told,
                        (drawn, claimed),
                    ))?;
                }
                return Err(error);
            }
        };
        if self.remembers
            && let TransactionState::Open(open) = &mut self.state.transaction
        {
            open.defines |= statement.class() == Class::Define;
            let one = remembered(
                statement,
                parameters,
                data.clone(),
                &given,
                settings,
                ran.told,
                (drawn, claimed),
            );
            open.remember(one)?;
        }
        Ok(ran.complete)
    }
}
