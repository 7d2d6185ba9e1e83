//! The state of a session: its parameters, its prepared statements, and the history of its open transaction.

mod open;

use super::control::{is_read_only, isolation};
use super::given::SessionOptions;
use super::history::History;
use crate::begun::Begun;
use crate::claiming::SessionClaims;
use crate::error::{SqlError, code};
use crate::idle_rows::{Deposit, Kept};
use crate::listed::Listed;
use crate::prepared::Prepared;
use crate::result::{Notice, Outcome, TransactionStatus};
use crate::running::now;
use crate::sequences::{Done, Drawn};
use crate::settings::Settings;
use crate::signals::{EffectsMark, Signals, SignalsMark};
use crate::waits::Waits;
use sardonyx::Snapshot;
use sardonyx::rows;
use sardonyx_base::channels::Inbox;
use sardonyx_base::waiting::Interrupt;
use sqlparser::ast::TransactionMode;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The most prepared statements with names.
pub(super) const NAMED_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct SessionState {
    pub user: Arc<str>,
    /// The name of the schema of its temporary tables, once it has some.
    pub temporary: Arc<str>,
    pub settings: Settings,
    pub transaction: TransactionState,
    /// The statements of `PREPARE`, and those that the protocol named. Each flight has a handle of them, not a copy.
    pub named: Option<Arc<HashMap<String, Arc<Prepared>>>>,
    /// The same, and the cursors, as the catalogue lists them.
    pub listed: Option<Arc<Listed>>,
    pub drawn: Drawn,
    /// The statement's draws from sequences when it ran aside. The stage gives it the same numbers.
    pub again: Done,
    /// Ends the running statement, at its time limit or on request.
    pub interrupt: Arc<Interrupt>,
    /// The inbox of its notifications.
    pub inbox: Option<Arc<Inbox>>,
    /// The signals of a committed transaction that has only read.
    pub due: Signals,
    /// Its way to advisory locks, while a statement runs that may wait for them.
    pub waits: Option<Arc<Waits>>,
    pub claims: SessionClaims,
}

/// The transaction of a session.
#[derive(Debug, Default)]
pub(crate) enum TransactionState {
    #[default]
    Idle,
    Open(OpenTransaction),
    Failed(OpenTransaction),
}

/// The tables that an open transaction reads.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// It has only read: one snapshot, taken at its first statement, with the version of the catalogue.
    Snapshot(Option<(Snapshot, u64)>),
    /// The live tables, since it has written: its statements are run again at each flight.
    Live,
}

#[derive(Debug)]
pub(crate) struct OpenTransaction {
    pub started: Begun,
    pub read_only: bool,
    /// True without `BEGIN`: it ends at the next [`Step::Sync`](crate::Step::Sync).
    pub is_implicit: bool,
    pub settings_before: Settings,
    /// The session's last numbers when it began.
    pub drawn_before: Drawn,
    pub reading: Reading,
    pub history: History,
    /// The savepoints with their names.
    pub savepoints: Vec<Savepoint>,
    /// True if it changed tables.
    pub defines: bool,
    /// Its rows, if it runs aside.
    pub aside: Option<Box<Kept>>,
    /// The same while its client sends nothing, if they are many.
    pub deposit: Option<Deposit>,
    /// True if others needed the memory of its rows: it is to be run again.
    pub is_reclaimed: bool,
    /// True if it is to run aside once more: others have changed rows that it read, and its statements take too long for the
    /// stage.
    pub is_again: bool,
    /// How often it was so.
    pub attempts: usize,
    /// True if it runs aside: its history may be dropped.
    pub is_aside: bool,
    /// True if its earlier statements are still to be run there.
    pub is_new_aside: bool,
    /// True if it did something that cannot run there: it stays in the stage.
    pub is_of_stage: bool,
    /// The signals of a transaction that only reads, in a snapshot.
    pub signals: Signals,
    /// The rows over which statements have walked since the last one that was remembered.
    pub walked: u64,
}

/// A savepoint of an open transaction.
#[derive(Debug)]
pub(crate) struct Savepoint {
    name: String,
    /// The place in the history at that time.
    pub place: usize,
    settings: Settings,
    /// The mark in the rows that the transaction has aside, and in its effects.
    pub aside: Option<(rows::Savepoint, EffectsMark)>,
    /// The mark in the signals of a transaction that only reads.
    signals: SignalsMark,
    /// The mark in the transaction's locks and claims.
    claims: usize,
}

impl Default for OpenTransaction {
    fn default() -> Self {
        OpenTransaction {
            started: Begun::default(),
            read_only: false,
            is_implicit: false,
            settings_before: Settings::default(),
            drawn_before: Drawn::default(),
            reading: Reading::Snapshot(None),
            history: History::default(),
            savepoints: Vec::new(),
            defines: false,
            aside: None,
            deposit: None,
            is_reclaimed: false,
            is_again: false,
            attempts: 0,
            is_aside: false,
            is_new_aside: false,
            is_of_stage: false,
            signals: Signals::default(),
            walked: 0,
        }
    }
}

impl SessionState {
    /// The state for a user, with the parameters with which a client begins, and notices for the client. `follows`:
    /// another program has the database open.
    ///
    /// # Errors
    /// The first parameter that cannot have its value.
    pub fn new(
        options: &SessionOptions,
        follows: bool,
    ) -> Result<(SessionState, Vec<Notice>), SqlError> {
        let mut settings = Settings::of_user(&options.user);
        if follows {
            settings.follow();
        }
        settings.connect_to(&options.database);
        let mut notices = Vec::new();
        for (name, value) in &options.parameters {
            match settings.begin_with(name, value) {
                // Drivers send the zone of their host without a request. They learn the valid one: it is reported.
                Err(error) if name.eq_ignore_ascii_case("TimeZone") => {
                    let text = format!("{}: the time zone is UTC", error.message);
                    notices.push(Notice::warning(error.code, &text));
                }
                done => done?,
            }
        }
        let state = SessionState {
            user: options.user.as_str().into(),
            settings,
            ..SessionState::default()
        };
        Ok((state, notices))
    }

    /// Keeps a prepared statement under a name.
    ///
    /// # Errors
    /// `42P05` if there is one of the name; `54000` beyond the bound.
    pub fn name_statement(&mut self, name: &str, statement: Arc<Prepared>) -> Result<(), SqlError> {
        self.check_new_name(name)?;
        self.keep_named(name, statement, false);
        Ok(())
    }

    /// Checks that a statement can be prepared with a name.
    ///
    /// # Errors
    /// As [`SessionState::name_statement`].
    pub fn check_new_name(&self, name: &str) -> Result<(), SqlError> {
        if self.named(name).is_some() {
            return Err(SqlError::new(
                code::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        let there = self.named.as_ref().map_or(0, |named| named.len());
        match there >= NAMED_MAX {
            false => Ok(()),
            true => Err(SqlError::new(
                code::PROGRAM_LIMIT,
                format!("a session has at most {NAMED_MAX} prepared statements"),
            )),
        }
    }

    /// The prepared statement of a name.
    pub fn named(&self, name: &str) -> Option<&Arc<Prepared>> {
        self.named.as_ref()?.get(name)
    }

    /// An answer without the messages that the client does not want.
    pub fn without_unwanted(&self, mut outcome: Outcome) -> Outcome {
        if let Outcome::Done(complete) = &mut outcome {
            let settings = &self.settings;
            complete
                .notices
                .retain(|notice| settings.wants_messages(notice.severity));
        }
        outcome
    }

    /// The part that stays if the engine does not give the state back: all but the transaction.
    pub fn kept(&self) -> SessionState {
        SessionState {
            user: self.user.clone(),
            temporary: self.temporary.clone(),
            settings: self.settings.clone(),
            transaction: TransactionState::Idle,
            named: self.named.clone(),
            listed: self.listed.clone(),
            drawn: self.drawn.clone(),
            again: Done::default(),
            interrupt: self.interrupt.clone(),
            inbox: self.inbox.clone(),
            due: Signals::default(),
            waits: None,
            claims: self.claims.fresh(),
        }
    }

    /// The part for a transaction by itself, which reads nothing of the session.
    pub fn by_itself(&self) -> SessionState {
        SessionState {
            user: self.user.clone(),
            temporary: self.temporary.clone(),
            settings: self.settings.clone(),
            transaction: TransactionState::Idle,
            named: None,
            listed: None,
            drawn: Drawn::default(),
            again: Done::default(),
            interrupt: self.interrupt.clone(),
            inbox: self.inbox.clone(),
            due: Signals::default(),
            waits: None,
            claims: self.claims.fresh(),
        }
    }

    /// Notes the draws of such a transaction.
    pub fn take_drawn(&mut self, of: SessionState) {
        if let Some(drawn) = &of.drawn.by_sequence {
            let drawn = drawn.iter().map(|(name, number)| (name.clone(), *number));
            Arc::make_mut(self.drawn.by_sequence.get_or_insert_default()).extend(drawn);
        }
        self.drawn.last = of.drawn.last.or(self.drawn.last);
    }

    /// Begins a statement: its time limit is counted from now.
    pub fn begin_statement(&mut self) {
        // The statement before drew these aside, and did not begin in the stage.
        self.again = Done::default();
        let limit = self.settings.statement_timeout();
        self.interrupt
            .set_deadline(limit.map(|limit| Instant::now() + limit));
    }

    /// Fails the open transaction, if there is one.
    pub fn fail(&mut self) {
        self.transaction = match std::mem::take(&mut self.transaction) {
            // It has no end of its own.
            TransactionState::Open(open) if open.is_implicit => {
                self.settings.return_to(open.settings_before);
                self.settings.end_transaction();
                TransactionState::Idle
            }
            TransactionState::Open(open) => TransactionState::Failed(open),
            other => other,
        };
    }

    /// Begins a transaction.
    pub fn begin(&mut self, read_only: bool) {
        self.transaction = TransactionState::Open(OpenTransaction {
            started: Begun::at(now()),
            read_only,
            settings_before: self.settings.clone(),
            drawn_before: self.drawn.clone(),
            ..OpenTransaction::default()
        });
    }

    /// Begins a transaction without `BEGIN`.
    pub fn begin_implicit(&mut self) {
        self.begin(self.usually_reads());
        if let TransactionState::Open(open) = &mut self.transaction {
            open.is_implicit = true;
        }
    }

    /// `BEGIN` after statements that no client ended: they belong to the transaction. False if a client has begun it.
    ///
    /// # Errors
    /// The modes come too late.
    pub fn go_on_as_begun(&mut self, modes: &[TransactionMode]) -> Result<bool, SqlError> {
        let TransactionState::Open(open) = &mut self.transaction else {
            return Ok(false);
        };
        if !open.is_implicit {
            return Ok(false);
        }
        open.set_read_only(is_read_only(modes, open.read_only))?;
        open.is_implicit = false;
        if let Some(level) = isolation(modes) {
            self.settings.isolate(level);
        }
        Ok(true)
    }

    /// The transaction is lost: its state did not come back. An implicit one had these parameters before; they are as
    /// they were then.
    pub fn lost(&mut self, is_idle: bool, implicit: Option<Settings>) {
        self.transaction = match is_idle || implicit.is_some() {
            false => TransactionState::Failed(OpenTransaction::default()),
            true => TransactionState::Idle,
        };
        if let Some(before) = implicit {
            self.settings.return_to(before);
            self.settings.end_transaction();
        }
    }

    /// Ends what belongs together without `BEGIN`: such a transaction, if one is open, which has only read, and what was set
    /// until then.
    pub fn end_implicit(&mut self) {
        if self.transaction.is_implicit() || matches!(self.transaction, TransactionState::Idle) {
            self.end(true);
        }
    }

    /// True if transactions only read by default.
    pub fn usually_reads(&self) -> bool {
        self.settings.reads_only()
    }

    /// Ends a transaction: its settings stay, or are restored.
    pub fn end(&mut self, keeps: bool) {
        let transaction = std::mem::take(&mut self.transaction);
        if let TransactionState::Open(open) | TransactionState::Failed(open) = transaction {
            match keeps {
                true => self.due.append(open.signals),
                false => self.settings.return_to(open.settings_before),
            }
        }
        self.settings.end_transaction();
    }
}

impl TransactionState {
    pub fn status(&self) -> TransactionStatus {
        match self {
            TransactionState::Idle => TransactionStatus::Idle,
            TransactionState::Open(open) if open.is_implicit => TransactionStatus::Idle,
            TransactionState::Open(_) => TransactionStatus::Open,
            TransactionState::Failed(_) => TransactionStatus::Failed,
        }
    }

    /// True if a client began the transaction, or a statement of it read or wrote. An implicit transaction that has only
    /// set parameters has not begun.
    pub fn has_begun(&self) -> bool {
        match self {
            TransactionState::Idle => false,
            TransactionState::Open(open) => {
                let has_read = !matches!(open.reading, Reading::Snapshot(None));
                !open.is_implicit || has_read || !open.history.is_empty()
            }
            TransactionState::Failed(_) => true,
        }
    }

    /// The parameters before an implicit transaction, if one is open.
    pub fn before_implicit(&self) -> Option<Settings> {
        match self {
            TransactionState::Open(open) if open.is_implicit => Some(open.settings_before.clone()),
            _ => None,
        }
    }

    /// True if no transaction is open, or an implicit one that has only set parameters, and statements may write.
    pub fn may_begin_to_write(&self, usually_reads: bool) -> bool {
        match self {
            TransactionState::Idle => !usually_reads,
            TransactionState::Open(open) => !self.has_begun() && !open.read_only,
            TransactionState::Failed(_) => false,
        }
    }

    /// True if an implicit transaction is open that did more than read one snapshot.
    pub fn is_implicit_and_writes(&self) -> bool {
        matches!(self, TransactionState::Open(open)
            if open.is_implicit && matches!(open.reading, Reading::Live))
    }

    /// True if an implicit transaction is open: some statements of its text have run.
    pub fn is_implicit(&self) -> bool {
        matches!(self, TransactionState::Open(open) if open.is_implicit)
    }
}
