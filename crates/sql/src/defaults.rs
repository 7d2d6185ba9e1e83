//! Defaults of rows that programs insert without SQL. The engine asks for the columns that a row does not have
//! ([`ComputeDefaults`]), whichever program inserts it.
//!
//! Numbers of sequences are drawn as everywhere: they are used up at once, so sessions and programs never get the same
//! one.

use crate::begun::Begun;
use crate::catalogue::CATALOGUE;
use crate::database::Database;
use crate::declared::compiled_default;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Expr, StatementContext};
use crate::running::{now, seed};
use crate::settings::Settings;
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::stored;
use sardonyx::schema::{Declared, DeclaredDefault, Value};
use sardonyx_base::waiting;
use sardonyx_rows::constraints::{ComputeDefaults, DefaultFailure, Objects};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The user of such rows: the program itself.
const USER: &str = "sardonyx";
/// The most compiled expressions that are kept.
const COMPILED_MAX: usize = 1000;

/// A default by its text and type.
type Known = (String, u32, i32);

/// Computes the defaults of a database.
pub(crate) struct Computing {
    database: Weak<Database>,
    settings: Settings,
    compiled: Mutex<HashMap<Known, Arc<Expr>>>,
}

impl fmt::Debug for Computing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Computing").finish_non_exhaustive()
    }
}

impl Computing {
    /// Computes the defaults of a database, as long as it is open.
    pub fn of(database: &Arc<Database>) -> Computing {
        Computing {
            database: Arc::downgrade(database),
            settings: Settings::of_user(USER),
            compiled: Mutex::default(),
        }
    }

    fn expression(&self, text: &str, spec: TypeSpec) -> Result<Arc<Expr>, SqlError> {
        let known = (text.to_string(), spec.kind.oid(), spec.modifier);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(expression) = compiled.get(&known) {
            return Ok(expression.clone());
        }
        let expression = Arc::new(compiled_default(text, spec, &Arc::default())?);
        if compiled.len() >= COMPILED_MAX {
            compiled.clear();
        }
        compiled.insert(known, expression.clone());
        Ok(expression)
    }

    fn value(&self, declared: &Declared, with: &Environment<'_>) -> Result<Value, SqlError> {
        let Some(DeclaredDefault::Sql(text)) = &declared.default else {
            return Ok(Value::Null);
        };
        let spec = TypeSpec::new(
            SqlType::from_oid(declared.kind).unwrap_or(SqlType::Text),
            declared.modifier,
        );
        stored(self.expression(text, spec)?.constant(with)?, spec)
    }
}

impl ComputeDefaults for Computing {
    fn compute(
        &self,
        declared: &[&Declared],
        objects: &mut dyn Objects,
    ) -> Result<Vec<Value>, (usize, DefaultFailure)> {
        let failed = |at: usize, error: SqlError| {
            let failure = DefaultFailure {
                code: error.code,
                reason: error.message.clone(),
                interrupted: error.interruption(),
            };
            (at, failure)
        };
        let Some(database) = self.database.upgrade() else {
            let closed = SqlError::new(code::SHUTDOWN, "the database was closed for SQL");
            return Err(failed(0, closed));
        };
        let now = now();
        let context = StatementContext {
            database: Some(database.clone()),
            catalogue: &CATALOGUE,
            transaction: Begun::at(now),
            statement_started: now,
            user: USER.into(),
            settings: RefCell::new(self.settings.clone()),
            seed: seed(),
            made: Cell::new(0),
            draws: RefCell::default(),
            patterns: Default::default(),
            interrupt: waiting::current().unwrap_or_default(),
            looked_at: Cell::new(0),
            inbox: None,
            listed: None,
            waits: None,
            claims: None,
            waiting: RefCell::default(),
            rights: RefCell::default(),
        };
        let with = Environment::new(&[], &context);
        context
            .check_interrupted()
            .map_err(|error| failed(0, error))?;
        let mut values = Vec::with_capacity(declared.len());
        for (at, declared) in declared.iter().enumerate() {
            let value = self.value(declared, &with);
            values.push(value.map_err(|error| failed(at, error))?);
        }
        let mut draws = context.draws.into_inner();
        let usable = draws.make_usable(database.counters(), objects);
        usable.map_err(|error| failed(0, error))?;
        Ok(values)
    }
}
