//! Procedures that a program calls inside of its own transaction, by name and with texts: what `CALL` does with untyped
//! literals, without a statement and a session.
//!
//! What is drawn from sequences is gone at once, as everywhere; up to where numbers may be used counts once the transaction
//! has committed, which the program tells ([`CalledProcedure::committed`]).
//!
//! Such a procedure has no session, so it neither listens nor notifies (`0A000`): no call here learns when the program's
//! transaction is durable.

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

/// Who calls procedures.
#[derive(Clone, Debug)]
pub struct Caller {
    user: Arc<str>,
    settings: Settings,
    may_call: bool,
}

impl Caller {
    /// A user, with what that one may do: calling goes by what is allowed with all tables.
    pub fn new(user: &str, rights: &Rights) -> Caller {
        Caller {
            user: user.into(),
            settings: Settings::of_user(user),
            may_call: rights.elsewhere() >= Access::Write,
        }
    }

    fn check(&self) -> Result<(), SqlError> {
        match self.may_call {
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

/// A call of a procedure.
#[derive(Clone, Copy, Debug)]
pub struct ProcedureCall<'c> {
    /// Its name, as it is stored: in lower case, unless it was quoted.
    pub name: &'c str,
    /// The values of its parameters, as literals in quotes.
    pub arguments: &'c [&'c str],
    /// Who calls.
    pub caller: &'c Caller,
    /// It is to be refused if it may write.
    pub only_reads: bool,
    /// What `now()` is, in microseconds since 1970.
    pub now: i64,
    /// What random values are made of.
    pub seed: [u64; 2],
}

/// What a procedure did.
#[derive(Debug)]
pub struct CalledProcedure {
    /// What its last statement did.
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

    /// Calls a procedure as a part of a transaction, which is to be undone if it fails; `None` if there is none of this
    /// name. One that the program registered is given texts.
    ///
    /// # Errors
    /// `42501` if the caller may not; `25006` if it may write, and is to read only; `42883` if it has another number of
    /// parameters; what is wrong with a value; `0A000` if it listens or notifies; what the procedure returns. Of the first three nothing has been done.
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
            let returned = body(tx, &values.collect::<Vec<_>>())?;
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
        // A call so has no statement of its own at whose end it would be checked.
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

    /// True if there is a procedure of this name in a state of the tables.
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
    /// For what a program runs in its own transaction, without a session.
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
            transaction_started: now,
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
            waits: None,
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
