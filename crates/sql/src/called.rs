//! Procedures that a program calls inside its own transaction, by name and with texts: `CALL` with untyped literals,
//! without a statement and a session.
//!
//! A number drawn from a sequence is used up at once, as everywhere. The bound up to which numbers may be used changes
//! when the transaction commits; the program reports the commit by [`CalledProcedure::committed`].
//!
//! Such a procedure has no session, so it neither listens nor notifies (`0A000`): no call here learns when the
//! transaction of the program is durable.

use crate::begun::Begun;
use crate::catalogue::CATALOGUE;
use crate::constraints::at_commit;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::expression::{Environment, StatementContext, literal_as};
use crate::procedures::{self, Compiled};
use crate::relation::{kind, object, objects};
use crate::result::{Complete, Rows, Tag};
use crate::rights::{Access, Rights};
use crate::sequences::{Draws, SequenceChanges};
use crate::settings::Settings;
use crate::source::Source;
use crate::violations::explained;
use sardonyx::Transaction;
use sardonyx::low_level::Committed;
use sardonyx::rows::{ReadRows, SpaceSnapshot};
use sardonyx::schema::Value;
use sardonyx_base::waiting;
use sardonyx_rows::constraints::objects as objects_of;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

/// The caller of procedures: a user with settings.
#[derive(Clone, Debug)]
pub struct Caller {
    user: Arc<str>,
    settings: Settings,
    rights: Arc<Rights>,
}

impl Caller {
    /// A user with rights: the right to call depends on the access to all tables.
    pub fn new(user: &str, rights: &Rights) -> Caller {
        Caller {
            user: user.into(),
            settings: Settings::of_user(user),
            rights: Arc::new(rights.clone()),
        }
    }

    fn check(&self) -> Result<(), SqlError> {
        match self.rights.elsewhere() >= Access::Write {
            true => Ok(()),
            false => Err(SqlError::new(
                code::INSUFFICIENT_PRIVILEGE,
                format!(
                    "permission denied: the user {:?} may not call procedures",
                    self.user
                ),
            )),
        }
    }
}

/// Statements name it so: `CALL`, or Redis' `FCALL`.
#[derive(Clone, Copy, Debug)]
pub struct ProcedureCall<'c> {
    /// Its name, as it is stored: in lower case, unless it was quoted.
    pub name: &'c str,
    /// The values of its parameters, as literals in quotes.
    pub arguments: &'c [&'c str],
    /// The user, its settings and its rights.
    pub caller: &'c Caller,
    /// True if a procedure that may write is refused.
    pub only_reads: bool,
    /// The value of `now()`, in microseconds since 1970.
    pub now: i64,
    /// The seed of random values.
    pub seed: [u64; 2],
}

/// The result of a procedure.
#[derive(Debug)]
pub struct CalledProcedure {
    /// The result of its last statement.
    pub complete: Complete,
    sequences: SequenceChanges,
}

impl CalledProcedure {
    /// True if [`CalledProcedure::committed`] does nothing.
    pub fn is_all(&self) -> bool {
        self.sequences.is_empty()
    }

    /// To be called when the transaction commits, in the serial stage.
    pub fn committed(self, database: &Database) {
        database.sequences_committed(self.sequences);
    }
}

impl Database {
    /// The names of the procedures that a state of the database has, in their order.
    ///
    /// # Errors
    /// The engine's.
    pub fn procedure_names(&self, source: &impl ReadRows) -> Result<Vec<String>, SqlError> {
        let procedures = objects(source, kind::PROCEDURE)?;
        Ok(procedures.into_iter().map(|(name, _)| name).collect())
    }

    /// Calls a procedure as a part of a transaction, which the caller undoes if it fails; `None` if there is none of
    /// this name. A registered procedure gets texts.
    ///
    /// # Errors
    /// `42501` if the caller may not; `25006` if it may write, and is to read only; `42883` if it has another number of
    /// parameters; an error in a value; `0A000` if it listens or notifies; the procedure's error. After the first three
    /// nothing has been done.
    pub fn call_procedure(
        self: &Arc<Self>,
        tx: &mut Transaction<'_>,
        call: &ProcedureCall<'_>,
    ) -> Result<Option<CalledProcedure>, SqlError> {
        let version = self.version();
        if let Some(body) = self.registered(call.name) {
            call.caller.check()?;
            if call.only_reads {
                return Err(writes(call.name));
            }
            let values = call.arguments.iter().map(|text| Value::from(*text));
            let returned = (body.in_stage)(tx, &values.collect::<Vec<_>>())?;
            let mut complete = Complete::of(Tag::plain("CALL"));
            complete.rows =
                procedures::row_of(returned).map(|(table, columns)| Rows::all(table, columns));
            let sequences = SequenceChanges::default();
            return Ok(Some(CalledProcedure {
                complete,
                sequences,
            }));
        }
        let Some(procedure) = self.procedure(call, version, &tx.view())? else {
            return Ok(None);
        };
        let values = values(&procedure, call.arguments)?;
        let draws = Draws::default();
        let context = StatementContext::of_program(self, call.caller, call.now, call.seed, draws);
        let with = Environment::new(&values, &context);
        let last = procedure.run(tx, call.name, version, &with);
        // Such a call has no statement whose end would check them.
        let last = last.and_then(|last| at_commit(tx).map(|()| last));
        let last = last.map_err(|error| explained(&tx.view(), error))?;
        let mut draws = context.draws.into_inner();
        draws.make_usable(self.counters(), &mut objects_of(tx))?;
        let sequences = draws.changes.sequences;
        let complete = match last {
            Some((mut complete, rows)) => {
                complete.rows = rows.map(|(table, columns)| Rows::all(table, columns));
                complete
            }
            None => Complete::of(Tag::plain("CALL")),
        };
        Ok(Some(CalledProcedure {
            complete,
            sequences,
        }))
    }

    /// Calls a procedure that only reads, in a state of the tables; `None` if there is none of this name.
    ///
    /// # Errors
    /// As [`Database::call_procedure`].
    pub fn read_procedure(
        self: &Arc<Self>,
        committed: &Committed,
        call: &ProcedureCall<'_>,
    ) -> Result<Option<Complete>, SqlError> {
        let source: &SpaceSnapshot = committed.snapshot.space();
        if self.registered(call.name).is_some() {
            call.caller.check()?;
            return Err(writes(call.name));
        }
        let Some(procedure) = self.procedure(call, committed.version, &source)? else {
            return Ok(None);
        };
        let values = values(&procedure, call.arguments)?;
        let draws = Draws::refused("a procedure that only reads draws no numbers");
        let context = StatementContext::of_program(self, call.caller, call.now, call.seed, draws);
        let with = Environment::new(&values, &context);
        let last = procedure.read(&source, call.name, committed.version, &with)?;
        Ok(Some(match last {
            Some((mut complete, rows)) => {
                complete.rows = rows.map(|(table, columns)| Rows::all(table, columns));
                complete
            }
            None => Complete::of(Tag::plain("CALL")),
        }))
    }

    /// True if a state of the tables has a procedure of this name.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn has_procedure(&self, source: &impl ReadRows, name: &str) -> Result<bool, SqlError> {
        let is_there =
            self.registered(name).is_some() || object(source, kind::PROCEDURE, name)?.is_some();
        Ok(is_there)
    }

    /// True if a call of a procedure may look at many rows, or write many.
    pub fn may_take_long(&self, procedure: &str) -> bool {
        procedures::may_take_long(procedure, self)
    }

    /// The procedure of a call that the caller may make.
    fn procedure(
        &self,
        call: &ProcedureCall<'_>,
        version: u64,
        source: &dyn Source,
    ) -> Result<Option<Arc<Compiled>>, SqlError> {
        let Some(procedure) = procedures::compiled(self, call.name, version, source)? else {
            return Ok(None);
        };
        call.caller.check()?;
        match call.only_reads && !procedure.only_reads() {
            true => Err(writes(call.name)),
            false => Ok(Some(procedure)),
        }
    }
}

impl StatementContext {
    /// The context of calls in a program's own transaction, without a session.
    pub(crate) fn of_program(
        database: &Arc<Database>,
        caller: &Caller,
        now: i64,
        seed: [u64; 2],
        draws: Draws,
    ) -> StatementContext {
        StatementContext {
            database: Some(database.clone()),
            catalogue: &CATALOGUE,
            transaction: Begun::at(now),
            statement_started: now,
            user: caller.user.clone(),
            settings: RefCell::new(caller.settings.clone()),
            seed,
            made: Cell::new(0),
            draws: RefCell::new(draws),
            patterns: Default::default(),
            interrupt: waiting::current().unwrap_or_default(),
            looked_at: Cell::new(0),
            inbox: None,
            listed: None,
            waits: None,
            claims: None,
            waiting: RefCell::default(),
            rights: RefCell::new(caller.rights.clone()),
        }
    }
}

/// The values of a procedure's parameters.
fn values(procedure: &Compiled, arguments: &[&str]) -> Result<Vec<Value>, SqlError> {
    procedure.check_count(arguments.len())?;
    let given = procedure.parameters().iter().zip(arguments);
    given.map(|(spec, text)| literal_as(text, *spec)).collect()
}

fn writes(name: impl fmt::Display) -> SqlError {
    SqlError::new(
        code::READ_ONLY_TRANSACTION,
        format!("procedure {name} may write"),
    )
}
