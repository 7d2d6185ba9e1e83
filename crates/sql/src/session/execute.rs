//! One statement on data, run over a state of the tables, or in a transaction.

use super::aside::own_version;
use super::given::Given;
use super::history::{Told, is_of_the_engine};
use super::parameters::plan_column;
use super::state::{OpenTransaction, SessionState, TransactionState};
use super::telling::{attach, count, not_held, portion_memory, remembered, told_of};
use crate::begun::Begun;
use crate::catalogue::CATALOGUE;
use crate::claims::TableId;
use crate::class::Class;
use crate::constraints::{in_statement, set_constraints};
use crate::copy;
use crate::database::Database;
use crate::define;
use crate::error::{SqlError, code};
use crate::expression::{Environment, StatementContext};
use crate::plan::Plan;
use crate::prepared::Prepared;
use crate::procedures;
use crate::result::{Complete, RowStream, Rows, Step, Tag};
use crate::rows::Table;
use crate::running::{Read, fire, now, run_plan, seed};
use crate::sequences::{Done, Draws};
use crate::settings::Settings;
use crate::signalling;
use crate::signals::Effects;
use crate::source::Source;
use crate::stream::SnapshotStream;
use crate::violations::explained;
use crate::write_target::{WriteTarget, with_objects};
use sardonyx::Snapshot;
use sardonyx::schema::Value;
use sqlparser::ast::Statement;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The rows of a long result that are sent first, without a limit of the client.
const PORTION_ROWS: u64 = 10_000;

/// The result of a statement, and the digest of it to remember.
pub(super) struct Ran {
    pub complete: Complete,
    pub told: Told,
}

/// The context of a statement.
fn context_of(
    database: &Arc<Database>,
    state: &SessionState,
    settings: Settings,
    given: &Given<'_>,
    draws: Draws,
) -> StatementContext {
    let only_reads = match &state.transaction {
        TransactionState::Open(open) => open.read_only,
        _ => settings.reads_only(),
    };
    StatementContext {
        database: Some(database.clone()),
        catalogue: &CATALOGUE,
        transaction: given.transaction,
        statement_started: given.statement_started,
        user: state.user.clone(),
        settings: RefCell::new(settings),
        seed: given.seed,
        made: Cell::new(0),
        draws: RefCell::new(draws),
        patterns: Default::default(),
        interrupt: state.interrupt.clone(),
        looked_at: Cell::new(0),
        inbox: state.inbox.clone(),
        listed: state.listed.clone(),
        waits: state.waits.clone(),
        claims: state.claims.claiming(
            only_reads,
            database.tables().is_some(),
            given.transaction.number,
        ),
        waiting: RefCell::default(),
        rights: RefCell::new(given.statement.rights()),
    }
}

/// The reason for which a statement that reads draws no numbers.
const READS_ONLY: &str = "a statement that only reads draws no numbers from sequences";

/// Runs a function with a statement's context; the session takes back its draws and settings.
pub(super) fn with_context<R>(
    database: &Arc<Database>,
    state: &mut SessionState,
    given: &Given<'_>,
    mut draws: Draws,
    body: impl FnOnce(&Environment<'_>) -> Result<R, SqlError>,
) -> (Result<R, SqlError>, Draws) {
    given.statement.look_in(state.settings.path());
    draws.session = std::mem::take(&mut state.drawn);
    let settings = std::mem::take(&mut state.settings);
    let context = context_of(database, state, settings, given, draws);
    let with = Environment::new(given.parameters, &context);
    let result = body(&with);
    context.count_last_rows();
    if let TransactionState::Open(open) = &mut state.transaction {
        open.walked += u64::from(context.looked_at.get());
    }
    state.claims.take_back(context.claims);
    state.settings = context.settings.into_inner();
    let mut draws = context.draws.into_inner();
    state.drawn = std::mem::take(&mut draws.session);
    (result, draws)
}

/// Checks that each parameter has a value.
pub(super) fn check_parameters(given: &Given<'_>) -> Result<(), SqlError> {
    let wanted = given.statement.parameters().len();
    if wanted == given.parameters.len() {
        return Ok(());
    }
    Err(SqlError::new(
        "08P01",
        format!(
            "the statement has {wanted} parameters, and {} values are given",
            given.parameters.len()
        ),
    ))
}

/// Runs a statement that reads over a snapshot.
///
/// # Errors
/// An error in the statement, or of computing.
pub(super) fn read(
    database: &Arc<Database>,
    state: &mut SessionState,
    step: &Step,
    version: u64,
    snapshot: &Snapshot,
) -> Result<Complete, SqlError> {
    let source = &&**snapshot.space();
    let Step::Execute {
        statement,
        parameters,
        rows_max,
    } = step
    else {
        return Err(SqlError::syntax("COPY FROM is sent with data"));
    };
    statement.look_in(state.settings.path());
    let now = now();
    let (started, digests) = match &state.transaction {
        // A statement of a transaction that only reads need not be run again.
        TransactionState::Open(open) => (open.started, !open.read_only),
        _ => (Begun::at(now), false),
    };
    let given = Given {
        statement,
        parameters,
        data: None,
        rows_max: *rows_max,
        transaction: started,
        statement_started: now,
        seed: seed(),
        digests,
    };
    let is_query = matches!(statement.statement(), Some(Statement::Query(_)));
    // The effects of a streamed statement would come after its answer.
    if is_query && !digests && !statement.sets_session() && !statement.notifies() {
        let streamed = streamed(database, state, &given, version, snapshot);
        if let Some(complete) = streamed.map_err(|error| statement.placed(error))? {
            return Ok(complete);
        }
    }
    let settings = digests.then(|| state.settings.clone());
    state.claims.begin(None, false);
    state.claims.base = Some(snapshot.clone());
    let draws = match &mut state.transaction {
        TransactionState::Open(open) if statement.only_signals() => {
            Draws::signalling(READS_ONLY, std::mem::take(&mut open.signals))
        }
        _ => Draws::refused(READS_ONLY),
    };
    let (result, draws) = with_context(database, state, &given, draws, |with| {
        let (mut complete, table) = reading(&given, version, source, with)?;
        count(&mut complete, table.as_ref(), database.memory())?;
        Ok((complete, table))
    });
    let warnings = not_held(&draws);
    state.claims.base = None;
    let claimed = state.claims.take_log();
    if let (TransactionState::Open(open), true) = (&mut state.transaction, statement.only_signals())
    {
        open.signals = draws.changes.signals;
    }
    if let (Some(settings), TransactionState::Open(open)) = (settings, &mut state.transaction) {
        let told = match &result {
            Ok((complete, table)) => Some(told_of(statement, complete, table.as_ref())),
            Err(error) if open.remembers_failures() && !is_of_the_engine(error) => {
                Some(Told::Failed(error.code))
            }
            Err(_) => None,
        };
        if let Some(told) = told {
            let drawn = Done::default();
            open.remember(remembered(
                statement,
                parameters,
                None,
                &given,
                settings,
                told,
                (drawn, claimed),
            ))?;
        }
    }
    let (mut complete, table) = result.map_err(|error| statement.placed(error))?;
    complete.notices.extend(warnings);
    attach(&mut complete, table, *rows_max, statement);
    Ok(complete)
}

/// The first rows of a statement whose rows are read in portions; `None` if they are not.
fn streamed(
    database: &Arc<Database>,
    state: &SessionState,
    given: &Given<'_>,
    version: u64,
    snapshot: &Snapshot,
) -> Result<Option<Complete>, SqlError> {
    // A result in portions has settings of its own, and would repeat the session's random numbers.
    if state.settings.is_seeded() {
        return Ok(None);
    }
    let source = &**snapshot.space();
    let planned = given.statement.planned(version, &source)?;
    // Its rows are claimed, or its calls made, before the first row is given. Calls may stand in views, too.
    if planned.locks_rows || planned.sets_session {
        return Ok(None);
    }
    let Some(columns) = planned.plan.columns().cloned() else {
        return Ok(None);
    };
    check_parameters(given)?;
    let mut draws = Draws::refused(READS_ONLY);
    draws.session.clone_from(&state.drawn);
    let settings = state.settings.clone();
    let context = context_of(database, state, settings, given, draws);
    let stream = SnapshotStream::of(snapshot.clone(), planned, given.parameters, context)?;
    let Some(mut stream) = stream else {
        return Ok(None);
    };
    let most = match given.rows_max {
        0 => PORTION_ROWS,
        most => most,
    };
    let mut values = Vec::new();
    let (count, more) = stream.next(most, &mut values)?;
    let mut complete = Complete::of(Tag::rows("SELECT", count));
    complete.memory = Some(portion_memory(&values, database.memory())?);
    let width = columns.len();
    complete.rows = Some(Rows {
        values,
        width,
        count,
        columns,
        more: more.then(|| RowStream::of_snapshot(stream, width)),
        zone: state.settings.zone().cloned().map(Box::new),
    });
    Ok(Some(complete))
}

pub(super) fn reading(
    given: &Given<'_>,
    version: u64,
    source: &dyn Source,
    with: &Environment<'_>,
) -> Result<Read, SqlError> {
    if given.statement.is_signal() {
        return Ok((signalling::run(given.statement, with)?, None));
    }
    match given.statement.statement() {
        Some(Statement::Copy { .. }) => {
            let (rows, data) = copy::to_client(given.statement, version, source, with)?;
            let mut complete = Complete::of(Tag::rows("COPY", rows));
            complete.copy_out = Some(Box::new(data));
            Ok((complete, None))
        }
        Some(Statement::Explain { .. }) => {
            let lines = crate::explain::explain(given.statement, version, source, with)?;
            let table = Table {
                rows: lines.len() as u64,
                values: lines.into_iter().map(Value::Text).collect(),
                width: 1,
            };
            let columns = Arc::from([plan_column(given.statement)]);
            Ok((Complete::of(Tag::plain("EXPLAIN")), Some((table, columns))))
        }
        _ => {
            let planned = given.statement.planned(version, source)?;
            check_parameters(given)?;
            match &planned.plan {
                Plan::Select(plan) => {
                    let table = plan.run(source, with)?;
                    let complete = Complete::of(Tag::rows("SELECT", table.rows));
                    Ok((complete, Some((table, plan.output.columns.clone()))))
                }
                _ => Err(SqlError::syntax("the statement does not only read")),
            }
        }
    }
}

/// The state that statements of one serial call share.
pub(super) struct Call<'c> {
    pub tx: &'c mut dyn WriteTarget,
    pub database: &'c Arc<Database>,
    /// The effects of the transaction besides its rows.
    pub effects: &'c mut Effects,
    /// The draws of the statement's run before. Afterwards those of this run, also if it failed.
    pub drawn: Done,
    /// The draws of the run before that this one did not repeat.
    pub undrawn: Done,
    /// The version of the catalogue of the tables; `None` if they are the newest. A definition changes it.
    pub version: Option<u64>,
}

impl Call<'_> {
    /// Runs a statement.
    ///
    /// # Errors
    /// An error in the statement, of computing or of storing.
    pub fn run(&mut self, state: &mut SessionState, given: &Given<'_>) -> Result<Ran, SqlError> {
        let database = self.database.clone();
        let result = match given.statement.block() {
            Some(block) => self.run_block(state, given, block),
            None => self.run_in(state, &database, given),
        };
        if let (Class::Define, Some(version)) = (given.statement.class(), &mut self.version) {
            *version = own_version();
        }
        result.map_err(|error| {
            let error = explained(&*self.tx, error);
            given.statement.placed(error)
        })
    }

    fn run_in(
        &mut self,
        state: &mut SessionState,
        database: &Arc<Database>,
        given: &Given<'_>,
    ) -> Result<Ran, SqlError> {
        if given.statement.stores() {
            database.memory().check()?;
        }
        if given.statement.makes_temporary() {
            // The settings of a failed statement are restored with its other effects.
            let schema = state.temporary.clone();
            state.settings.set_temporary(Some(schema));
        }
        given.statement.look_in(state.settings.path());
        let version = self
            .version
            .unwrap_or_else(|| database.version_in(&*self.tx));
        let mut warnings = Vec::new();
        let (mut complete, table) = match given.statement.class() {
            Class::Define if !define::computes_rows(given.statement.statement()) => {
                if self.version.is_none() {
                    database.catalogue_changed();
                }
                if let Some(command) = given.statement.rights_command() {
                    command.check_databases(state.settings.database())?;
                }
                let sequences = &mut self.effects.sequences;
                let Some(tx) = self.tx.define() else {
                    return Err(SqlError::unsupported(
                        "a transaction that runs aside defines nothing",
                    ));
                };
                if database.tables().is_some() {
                    let emptied = define::emptied(tx.view(), given.statement);
                    let emptied = emptied.iter();
                    let definitions = tx.view().definitions();
                    let emptied = emptied.map(|number| TableId::of(definitions, *number));
                    state.claims.empties(&emptied.collect::<Vec<_>>());
                }
                let user = &state.user;
                let complete = define::run(tx, database, given.statement, sequences, (user, None))?;
                tx.defined()?;
                if given.statement.ends_at_commit() {
                    state.settings.end_at_commit();
                }
                if self.version.is_none() {
                    database.catalogue_changed();
                }
                (complete, None)
            }
            Class::Read => {
                let source: &dyn Source = &*self.tx;
                let mut draws = Draws::refused(READS_ONLY);
                // It reads the sequences that the transaction has made.
                draws.changes.sequences = std::mem::take(&mut self.effects.sequences);
                let (result, draws) = with_context(database, state, given, draws, |with| {
                    reading(given, version, source, with)
                });
                warnings = not_held(&draws);
                self.effects.sequences = draws.changes.sequences;
                result?
            }
            _ => {
                let tx = &mut *self.tx;
                let before = std::mem::take(self.effects);
                let draws = Draws::again(std::mem::take(&mut self.drawn), before);
                let changes = matches!(
                    given.statement.statement(),
                    Some(Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_))
                );
                tx.change_found(changes);
                let (result, mut draws) = with_context(database, state, given, draws, |with| {
                    writing(tx, given, version, with)
                });
                self.tx.change_found(false);
                warnings = not_held(&draws);
                *self.effects = std::mem::take(&mut draws.changes);
                self.drawn = draws.take_drawn();
                self.undrawn = draws.into_again();
                let read = result?;
                let sequences = &mut self.effects.sequences;
                let drawn = &self.drawn;
                if !drawn.is_empty() {
                    with_objects(self.tx, |objects| {
                        sequences.make_usable(database.counters(), objects, drawn)
                    })?;
                }
                read
            }
        };
        complete.notices.extend(warnings);
        count(&mut complete, table.as_ref(), database.memory())?;
        let told = match given.digests {
            true => told_of(given.statement, &complete, table.as_ref()),
            false => Told::default(),
        };
        attach(&mut complete, table, given.rows_max, given.statement);
        Ok(Ran { complete, told })
    }
}

fn writing(
    tx: &mut dyn WriteTarget,
    given: &Given<'_>,
    version: u64,
    with: &Environment<'_>,
) -> Result<Read, SqlError> {
    if let Some(command) = given.statement.constraints() {
        set_constraints(tx, command, with)?;
        return Ok((Complete::of(Tag::plain("SET CONSTRAINTS")), None));
    }
    if given.statement.is_signal() {
        return Ok((signalling::run(given.statement, with)?, None));
    }
    match given.statement.statement() {
        Some(Statement::Copy { to: true, .. }) => {
            let (rows, data) = copy::to_client(given.statement, version, &*tx, with)?;
            let mut complete = Complete::of(Tag::rows("COPY", rows));
            complete.copy_out = Some(Box::new(data));
            Ok((complete, None))
        }
        Some(Statement::Copy { .. }) => {
            let data = given
                .data
                .ok_or_else(|| SqlError::new("08P01", "COPY FROM STDIN needs data"))?;
            let rows = in_statement(tx, with, |tx| {
                copy::from_client(tx, given.statement, version, data, with)
            })?;
            fire(tx, with)?;
            Ok((Complete::of(Tag::rows("COPY", rows)), None))
        }
        statement if define::computes_rows(statement) => {
            let database = with.context.database()?.clone();
            database.catalogue_changed();
            let complete = define::run_with(tx, &database, given.statement, with)?;
            database.catalogue_changed();
            if given.statement.ends_at_commit() {
                with.context.settings.borrow_mut().end_at_commit();
            }
            Ok((complete, None))
        }
        Some(Statement::Call(function)) => {
            check_parameters(given)?;
            procedures::call(tx, given.statement, function, version, with)
        }
        Some(Statement::Explain { .. }) => {
            let lines = crate::explain::analyze_write(tx, given.statement, version, with)?;
            let table = Table {
                rows: lines.len() as u64,
                values: lines.into_iter().map(Value::Text).collect(),
                width: 1,
            };
            let columns = Arc::from([plan_column(given.statement)]);
            Ok((Complete::of(Tag::plain("EXPLAIN")), Some((table, columns))))
        }
        _ => {
            let planned = given.statement.planned(version, &*tx)?;
            check_parameters(given)?;
            run_plan(tx, &planned.plan, with)
        }
    }
}

/// Refuses a statement that writes in a transaction that only reads.
pub(super) fn check_may_write(
    open: &OpenTransaction,
    statement: &Prepared,
) -> Result<(), SqlError> {
    let stores_none = statement.constraints().is_some() || statement.only_signals();
    let writes = matches!(statement.class(), Class::Write | Class::Define) && !stores_none;
    match open.read_only && writes {
        false => Ok(()),
        true => Err(SqlError::new(
            code::READ_ONLY_TRANSACTION,
            format!(
                "cannot execute {} in a read-only transaction",
                match statement.statement() {
                    Some(Statement::Insert(_)) => "INSERT",
                    Some(Statement::Update(_)) => "UPDATE",
                    Some(Statement::Delete(_)) => "DELETE",
                    Some(Statement::Merge(_)) => "MERGE",
                    Some(Statement::Copy { .. }) => "COPY FROM",
                    _ => "a statement that writes",
                }
            ),
        )),
    }
}
