//! The inputs of expressions besides a row.

use super::Lists;
use super::catalogue::Catalogue;
use super::kept::{Kept, Reading};
use super::patterns::Patterns;
use crate::begun::Begun;
use crate::blocking;
use crate::claiming::Claiming;
use crate::database::Database;
use crate::error::SqlError;
use crate::listed::Listed;
use crate::memory::{Memory, Waiting};
use crate::messages::Message;
use crate::rights::{Access, Rights, Users};
use crate::scanned::Looks;
use crate::search_path::SearchPath;
use crate::sequences::Draws;
use crate::settings::Settings;
use crate::source::Source;
use crate::values::zones::SessionZone;
use crate::waits::Waits;
use sardonyx::schema::Value;
use sardonyx_base::channels::{Inbox, Listening};
use sardonyx_base::memory::Budget;
use sardonyx_base::waiting::{self, Interrupt, Reason};
use std::cell::RefCell;
use std::sync::Arc;

/// The inputs of a statement besides its parameters.
#[derive(Debug)]
pub(crate) struct StatementContext {
    /// `None` if no database is used: in conditions of tables.
    pub database: Option<Arc<Database>>,
    pub catalogue: &'static dyn Catalogue,
    /// When the transaction began, and its number.
    pub transaction: Begun,
    /// When the statement began.
    pub statement_started: i64,
    pub user: Arc<str>,
    pub settings: RefCell<Settings>,
    /// The seed of random values.
    pub seed: [u64; 2],
    /// The number of random values made.
    pub made: std::cell::Cell<u64>,
    pub draws: RefCell<Draws>,
    /// The compiled regular expressions.
    pub patterns: Patterns,
    /// Ends the statement, at its time limit or on request.
    pub interrupt: Arc<Interrupt>,
    /// Rows that were looked at.
    pub looked_at: std::cell::Cell<u32>,
    /// The inbox of the session, if there is one.
    pub inbox: Option<Arc<Inbox>>,
    /// The prepared statements and the cursors of the session, if it has had some.
    pub listed: Option<Arc<Listed>>,
    /// The locker of the session, for a statement that may wait for locks.
    pub waits: Option<Arc<Waits>>,
    /// The claims of the session's transaction; `None` without a session.
    pub claims: Option<Claiming>,
    /// The changes whose triggers run at the end of the statement (`crate::plan::triggers`).
    pub waiting: RefCell<Waiting>,
    /// The rights of the session, with its search path: those of functions that it calls. While a function with
    /// `SECURITY DEFINER` runs, they are those of the user that made it.
    pub rights: RefCell<Arc<Rights>>,
}

impl StatementContext {
    /// The database.
    ///
    /// # Errors
    /// `0A000` without one.
    pub fn database(&self) -> Result<&Arc<Database>, SqlError> {
        let database = self.database.as_ref();
        database
            .ok_or_else(|| SqlError::unsupported("sequences and channels are not supported here"))
    }

    /// The session's time zone, with the clock of the transaction; UTC if there is none.
    pub fn zone(&self) -> Option<SessionZone> {
        let zone = self.settings.borrow().zone().cloned();
        zone.map(|zone| zone.at(self.transaction.moment))
    }

    /// The path in which names of texts are looked up: the session's, or that of the function that runs.
    pub fn path(&self) -> Arc<SearchPath> {
        self.rights.borrow().path().clone()
    }

    /// The rights that a function has if this user calls it, in the search path of the session.
    pub fn rights_of(&self, user: &str) -> Arc<Rights> {
        let own = self.rights.borrow().clone();
        let users = self.database.as_ref().map(|database| database.users());
        let rights = match users.as_deref() {
            None | Some(Users::Unknown) => return own,
            Some(Users::Everyone) => Rights::default(),
            // One that is no user any more may do nothing.
            Some(Users::Known(known)) => match known.get(user) {
                Some(rights) => rights.clone(),
                None => Rights::from(Access::Nothing),
            },
        };
        Arc::new(rights.looking_in(own.path()))
    }

    /// The last number of a sequence and true, or the first one and false. A statement that is run again gets what it got
    /// before: numbers are drawn outside of transactions, also by its own.
    pub fn sequence_state(&self, name: &str) -> Option<(i64, bool)> {
        let database = self.database.as_ref()?;
        let read = || {
            let mut draws = self.draws.borrow_mut();
            draws.state_of(database.counters(), name)
        };
        match &self.claims {
            Some(claiming) => claiming.sequence_state(name, read),
            None => read(),
        }
    }

    /// The number of the session, or of the process without one.
    pub fn process(&self) -> u32 {
        let process = self.inbox.as_ref().map_or(0, |inbox| inbox.process());
        match process {
            0 => std::process::id(),
            process => process,
        }
    }

    /// The inbox of the session that runs a statement of channels. Without a session, no call waits until its
    /// transaction is durable to deliver its notifications.
    fn inbox_for(&self, what: &str) -> Result<&Arc<Inbox>, SqlError> {
        self.inbox.as_ref().ok_or_else(|| {
            let text = format!("{what} is of a session: there is none here");
            SqlError::unsupported(text).hint("Run it, or CALL the procedure, as a client of SQL.")
        })
    }

    /// Notifies the sessions that listen to a channel, when the transaction commits.
    ///
    /// # Errors
    /// `0A000` without a session, or if none is notified; the errors of
    /// [`Signals::notify`](crate::signals::Signals::notify).
    pub fn notify(&self, channel: &str, payload: &str) -> Result<(), SqlError> {
        self.database()?.tables_in_memory("NOTIFY")?;
        self.inbox_for("NOTIFY")?;
        let mut draws = self.draws.borrow_mut();
        let signals = draws.signals()?;
        signals.notify(channel, payload, self.process(), &self.memory())
    }

    /// Changes the channels to which the session listens, when the transaction commits; `what` is the statement.
    ///
    /// # Errors
    /// `0A000` without a session, or if none can listen; the errors of
    /// [`Signals::listen`](crate::signals::Signals::listen).
    pub fn listen(&self, change: Listening, what: &str) -> Result<(), SqlError> {
        self.database()?.tables_in_memory(what)?;
        let inbox = self.inbox_for(what)?;
        let mut draws = self.draws.borrow_mut();
        draws.signals()?.listen(inbox, change, &self.memory())
    }

    /// Keeps a message for the client to the end of the statement.
    ///
    /// # Errors
    /// `54000` and `53200` for too many.
    pub fn tell(&self, message: Message) -> Result<(), SqlError> {
        let mut draws = self.draws.borrow_mut();
        draws.told.push(message, || self.memory())
    }

    /// Counts the bytes of a change that waits for its triggers.
    ///
    /// # Errors
    /// `53200` beyond the bound of a statement, or without memory for all sessions.
    pub fn check_waiting(&self, bytes: usize) -> Result<(), SqlError> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.count(bytes, || self.memory())
    }

    /// The memory of all sessions.
    fn memory(&self) -> Arc<Budget> {
        let database = self.database.as_ref();
        database.map_or_else(Arc::default, |database| database.memory().clone())
    }

    /// The number of rows between two checks if the statement has to end, at which others may run.
    const ROWS_BETWEEN: u32 = 256;

    /// Counts a row: each walk over many rows calls this for each of them.
    ///
    /// # Errors
    /// The reason for which the statement ends ([`SqlError::interrupted`]).
    #[inline]
    pub fn look_at_row(&self) -> Result<(), SqlError> {
        let looked_at = self.looked_at.get().wrapping_add(1);
        self.looked_at.set(looked_at);
        match looked_at % Self::ROWS_BETWEEN {
            1 if looked_at == 1 => self.between_rows(),
            1 => self.behind_rows(Self::ROWS_BETWEEN),
            _ => Ok(()),
        }
    }

    /// Counts the rows since the last check, at the end of the statement.
    pub fn count_last_rows(&self) {
        let rows = self.looked_at.get().saturating_sub(1) % Self::ROWS_BETWEEN;
        self.interrupt.count_rows(rows.into());
    }

    /// Lets others run, and checks if the statement has to end.
    ///
    /// # Errors
    /// The reason for the end.
    pub fn between_rows(&self) -> Result<(), SqlError> {
        self.behind_rows(0)
    }

    /// The same, behind so many rows.
    #[cold]
    fn behind_rows(&self, rows: u32) -> Result<(), SqlError> {
        if !blocking::let_others_run()
            && let Some(database) = &self.database
        {
            database.let_others_run();
        }
        self.check_behind(rows)
    }

    /// Checks if the statement has to end.
    ///
    /// # Errors
    /// The reason for the end.
    pub fn check_interrupted(&self) -> Result<(), SqlError> {
        self.check_behind(0)
    }

    fn check_behind(&self, rows: u32) -> Result<(), SqlError> {
        // One request ends one statement.
        let reason = match self.database {
            Some(_) => self.interrupt.walked(rows.into()),
            // Conditions of tables know the statement by its thread alone.
            None => waiting::walked(rows.into()),
        };
        match reason {
            None | Some(Reason::Elsewhere) => Ok(()),
            Some(reason) => Err(SqlError::interrupted(reason)),
        }
    }
}

impl Looks for StatementContext {
    #[inline]
    fn look(&self) -> Result<(), SqlError> {
        self.look_at_row()
    }
}

/// The inputs of an expression besides a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment<'a> {
    pub parameters: &'a [Value],
    pub context: &'a StatementContext,
    /// The tables that subqueries read.
    pub reading: Option<Reading<'a>>,
    /// The values of the rows around that the query asked for.
    pub outer: &'a [Value],
    /// The row to which another one is joined.
    pub before: &'a [Value],
    /// The sets of the statement's lists.
    pub lists: Option<&'a Lists>,
    /// The kept queries that all parts of a statement share, if it has several.
    pub of_parts: Option<&'a Kept>,
}

impl<'a> Environment<'a> {
    /// The inputs of a statement that reads no tables yet.
    pub fn new(parameters: &'a [Value], context: &'a StatementContext) -> Self {
        Environment {
            parameters,
            context,
            reading: None,
            outer: &[],
            before: &[],
            lists: None,
            of_parts: None,
        }
    }

    /// Reads the numbers of tables by name, for values that find one where no table is read.
    pub fn know_tables(&self, source: &dyn Source) {
        let draws = self.context.draws.borrow();
        let names = || self.context.catalogue.table_names(source);
        draws.tables.get_or_init(names);
    }

    /// The kept queries of a part of a statement: shared with the other parts, or its `own`.
    pub fn kept(&self, own: &'a Kept) -> &'a Kept {
        self.of_parts.unwrap_or(own)
    }

    /// Memory for rows of the statement.
    pub fn memory(&self) -> Memory<'a> {
        let kept = self.reading.map(|reading| reading.kept);
        let spent = kept.or(self.of_parts).map(|kept| &kept.spent);
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
