//! Procedures of the program, which `CALL` runs as a part of its transaction.
//!
//! One that is written for a transaction of the serial stage has its interactive transaction run there from the call on. One
//! that is written for any store of rows ([`Procedure`]) runs in each kind of transaction on tables in main memory.

use crate::database::Database;
use crate::error::SqlError;
use crate::write_target::{WriteTarget, in_tables};
use sardonyx::Transaction;
use sardonyx::rows::{OpenRows, RecordRows};
use sardonyx::schema::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values for the one row that a procedure returns, or none.
type Returned = Result<Vec<Value>, SqlError>;

/// A procedure in a transaction of the serial stage, with the arguments of `CALL`.
type StageBody = Arc<dyn Fn(&mut Transaction<'_>, &[Value]) -> Returned + Send + Sync>;

/// The same in an open transaction.
type OpenBody = Arc<dyn Fn(&mut OpenRows, &[Value]) -> Returned + Send + Sync>;

/// A procedure of the program for any kind of transaction ([`Database::register_on_rows`]).
pub trait Procedure: Send + Sync + 'static {
    /// Runs it with the arguments of `CALL`. Returns values for its one row, or none. It runs again if the transaction
    /// does, so its only effects are those on rows. The same rows and arguments give the same result.
    ///
    /// # Errors
    /// Any: the statement fails.
    fn call<T: RecordRows>(&self, tx: &mut T, arguments: &[Value]) -> Result<Vec<Value>, SqlError>;
}

/// A registered procedure.
#[derive(Clone)]
pub(crate) struct Registered {
    pub in_stage: StageBody,
    /// `None` if it needs a transaction of the serial stage.
    open: Option<OpenBody>,
}

impl Registered {
    /// True if it runs in each transaction on tables in main memory.
    pub fn runs_aside(&self) -> bool {
        self.open.is_some()
    }

    /// Calls it.
    ///
    /// # Errors
    /// Its error; `0A000` if it does not run in this kind of transaction.
    pub fn call(&self, tx: &mut dyn WriteTarget, arguments: &[Value]) -> Returned {
        let mut done = None;
        if let Some(open) = &self.open {
            tx.open_rows(&mut |rows| done = Some(open(rows, arguments)));
        }
        done.unwrap_or_else(|| in_tables(tx, |tx| (self.in_stage)(tx, arguments)))
    }
}

/// The registered procedures of a database, by name.
#[derive(Default)]
pub(crate) struct RegisteredProcedures(Mutex<HashMap<String, Registered>>);

impl fmt::Debug for RegisteredProcedures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredProcedures")
            .finish_non_exhaustive()
    }
}

impl RegisteredProcedures {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Registered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database {
    /// Registers a procedure of the program, which `CALL name(…)` runs as a part of its transaction. It replaces an
    /// earlier one of this name, and precedes one that SQL created. A procedure that takes long calls
    /// [`check_interrupted`](crate::check_interrupted) from time to time.
    ///
    /// It gets a transaction of the serial stage. So each flight of an interactive transaction that has called it runs the
    /// earlier statements again, within a bound; [`Database::register_on_rows`] has no such cost.
    pub fn register_procedure(
        &self,
        name: &str,
        body: impl Fn(&mut Transaction<'_>, &[Value]) -> Result<Vec<Value>, SqlError>
        + Send
        + Sync
        + 'static,
    ) {
        let registered = Registered {
            in_stage: Arc::new(body),
            open: None,
        };
        self.registered_procedures()
            .lock()
            .insert(name.to_string(), registered);
    }

    /// Registers a procedure that is written for any kind of transaction, as [`Database::register_procedure`] does. An
    /// interactive transaction that calls it costs what its statements cost.
    ///
    /// ```
    /// use sardonyx::rows::{RecordRows, Rows};
    /// use sardonyx::schema::Value;
    /// use sardonyx_sql::{Database, Procedure, SqlError};
    ///
    /// struct Log;
    ///
    /// impl Procedure for Log {
    ///     fn call<T: RecordRows>(&self, tx: &mut T, given: &[Value]) -> Result<Vec<Value>, SqlError> {
    ///         let id = given.first().cloned().unwrap_or_default();
    ///         Rows::named(tx, "log")?.insert(&[("id", id)])?;
    ///         Ok(Vec::new())
    ///     }
    /// }
    ///
    /// # fn register(database: &Database) {
    /// database.register_on_rows("log", Log);
    /// # }
    /// ```
    pub fn register_on_rows(&self, name: &str, procedure: impl Procedure) {
        let procedure = Arc::new(procedure);
        let in_stage = procedure.clone();
        let registered = Registered {
            in_stage: Arc::new(move |tx: &mut Transaction<'_>, given: &[Value]| {
                in_stage.call(tx, given)
            }),
            open: Some(Arc::new(move |rows: &mut OpenRows, given: &[Value]| {
                procedure.call(rows, given)
            })),
        };
        self.registered_procedures()
            .lock()
            .insert(name.to_string(), registered);
    }

    /// The procedure that a program registered with this name.
    pub(crate) fn registered(&self, name: &str) -> Option<Registered> {
        self.registered_procedures().lock().get(name).cloned()
    }
}
