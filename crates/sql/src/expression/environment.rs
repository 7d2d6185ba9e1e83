//! What expressions are evaluated with, besides a row.

use super::Lists;
use super::catalogue::Catalogue;
use super::kept::{Kept, Reading};
use super::patterns::Patterns;
use crate::database::Database;
use crate::error::SqlError;
use crate::memory::Memory;
use crate::sequences::Draws;
use crate::settings::Settings;
use crate::source::Source;
use crate::values::zones::SessionZone;
use crate::waits::Waits;
use sardonyx::schema::Value;
use sardonyx_base::channels::{Inbox, Listening};
use sardonyx_base::memory::Budget;
use sardonyx_base::waiting::Interrupt;
use std::cell::RefCell;
use std::sync::Arc;

/// What a statement is run with, besides its parameters.
#[derive(Debug)]
pub(crate) struct StatementContext {
    /// None where no database is asked: in conditions of tables.
    pub database: Option<Arc<Database>>,
    pub catalogue: &'static dyn Catalogue,
    /// When the transaction began, in microseconds since 1970.
    pub transaction_started: i64,
    /// When the statement began.
    pub statement_started: i64,
    pub user: Arc<str>,
    pub settings: RefCell<Settings>,
    /// What random values are made of.
    pub seed: [u64; 2],
    /// Random values that were made.
    pub made: std::cell::Cell<u64>,
    pub draws: RefCell<Draws>,
    /// Regular expressions that were compiled.
    pub patterns: Patterns,
    /// Says when the statement is to end.
    pub interrupt: Arc<Interrupt>,
    /// Rows that were looked at.
    pub looked_at: std::cell::Cell<u32>,
    /// Of the session, if there is one.
    pub inbox: Option<Arc<Inbox>>,
    /// Of the session, where a statement may wait for locks.
    pub waits: Option<Arc<Waits>>,
}

impl StatementContext {
    /// The database.
    ///
    /// # Errors
    /// `0A000` where none is asked.
    pub fn database(&self) -> Result<&Arc<Database>, SqlError> {
        let database = self.database.as_ref();
        database
            .ok_or_else(|| SqlError::unsupported("sequences and channels are not supported here"))
    }

    /// The session's time zone; UTC if there is none.
    pub fn zone(&self) -> Option<SessionZone> {
        self.settings.borrow().zone().cloned()
    }

    /// The number of the session, or else of the process.
    pub fn process(&self) -> u32 {
        let process = self.inbox.as_ref().map_or(0, |inbox| inbox.process());
        match process {
            0 => std::process::id(),
            process => process,
        }
    }

    /// The inbox of the session that runs a statement of channels. Where there is no session, no call waits until its
    /// transaction is durable and gives out what it notified of.
    fn inbox_for(&self, what: &str) -> Result<&Arc<Inbox>, SqlError> {
        self.inbox.as_ref().ok_or_else(|| {
            let text = format!("{what} is of a session: there is none here");
            SqlError::unsupported(text).hint("Run it, or CALL the procedure, as a client of SQL.")
        })
    }

    /// Notifies the sessions that listen to a channel, when the transaction commits.
    ///
    /// # Errors
    /// `0A000` where there is no session, or none is notified; those of
    /// [`Signals::notify`](crate::signals::Signals::notify).
    pub fn notify(&self, channel: &str, payload: &str) -> Result<(), SqlError> {
        self.database()?.tables_in_memory("NOTIFY")?;
        self.inbox_for("NOTIFY")?;
        let mut draws = self.draws.borrow_mut();
        let signals = draws.signals()?;
        signals.notify(channel, payload, self.process(), &self.memory())
    }

    /// Changes what the session listens to, when the transaction commits; `what` is the statement.
    ///
    /// # Errors
    /// `0A000` where there is no session, or none can listen; those of [`Signals::listen`](crate::signals::Signals::listen).
    pub fn listen(&self, change: Listening, what: &str) -> Result<(), SqlError> {
        self.database()?.tables_in_memory(what)?;
        let inbox = self.inbox_for(what)?;
        let mut draws = self.draws.borrow_mut();
        draws.signals()?.listen(inbox, change, &self.memory())
    }

    /// The memory of all sessions.
    fn memory(&self) -> Arc<Budget> {
        let database = self.database.as_ref();
        database.map_or_else(Arc::default, |database| database.memory().clone())
    }

    /// The number of rows that are looked at before the statement asks again if it is to end, and lets others run.
    const ROWS_BETWEEN: u32 = 256;

    /// Another row is looked at: whatever walks many rows says so of each.
    ///
    /// # Errors
    /// Why the statement is to end ([`SqlError::interrupted`]).
    #[inline]
    pub fn look_at_row(&self) -> Result<(), SqlError> {
        let looked_at = self.looked_at.get().wrapping_add(1);
        self.looked_at.set(looked_at);
        match looked_at % Self::ROWS_BETWEEN {
            1 => self.between_rows(),
            _ => Ok(()),
        }
    }

    /// Lets others run, and looks whether the statement is to end.
    ///
    /// # Errors
    /// Why it is.
    #[cold]
    pub fn between_rows(&self) -> Result<(), SqlError> {
        if let Some(database) = &self.database {
            database.let_others_run();
        }
        self.check_interrupted()
    }

    /// Looks whether the statement is to end.
    ///
    /// # Errors
    /// Why it is.
    pub fn check_interrupted(&self) -> Result<(), SqlError> {
        // One request ends one statement.
        match self.interrupt.take() {
            None => Ok(()),
            Some(reason) => Err(SqlError::interrupted(reason)),
        }
    }
}

/// What an expression is evaluated with, besides a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment<'a> {
    pub parameters: &'a [Value],
    pub context: &'a StatementContext,
    /// What subqueries are run over.
    pub reading: Option<Reading<'a>>,
    /// The values that the query asks for of the rows around it.
    pub outer: &'a [Value],
    /// The row to which another one is joined.
    pub before: &'a [Value],
    /// The sets of lists that were made for the statement.
    pub lists: Option<&'a Lists>,
}

impl<'a> Environment<'a> {
    /// What a statement is run with that asks for no tables yet.
    pub fn new(parameters: &'a [Value], context: &'a StatementContext) -> Self {
        Environment {
            parameters,
            context,
            reading: None,
            outer: &[],
            before: &[],
            lists: None,
        }
    }

    /// Memory for rows of the statement.
    pub fn memory(&self) -> Memory<'a> {
        let spent = self.reading.map(|reading| &reading.kept.spent);
        Memory::of(spent, self.context.memory())
    }

    /// The same for a statement that reads a state of the tables.
    pub fn over(&self, source: &'a dyn Source, kept: &'a Kept) -> Environment<'a> {
        Environment {
            reading: Some(Reading { source, kept }),
            lists: Some(&kept.lists),
            ..*self
        }
    }
}
