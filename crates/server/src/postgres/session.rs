//! A session of a PostgreSQL client, as a machine without sockets: messages go in, the SQL layer runs those that
//! arrived together, answers come out.
//!
//! ```text
//! bytes ─▶ receive ─▶ steps, and a reply for each thing to be said ─▶ sardonyx_sql::Session::run ─▶ answers in order
//! ```
//!
//! *A flight* is everything that arrived up to the last message that asks for answers (a query, Sync, Flush). It runs
//! at once. So a transaction that arrives in one flight is one serial call, and many connections share a commit group.
//! Messages after the flight wait for their own end.
//!
//! Some messages can be understood only after the earlier ones have run: a statement on a table that an earlier one
//! creates, a statement of a cursor, the end of a portal whose rows are requested. Then the flight ends before them
//! ([`Wants::Run`]), and they are read again. Of a text with several statements, the remaining ones wait.
//!
//! Invariants: answers have the order of the messages. After any error everything up to the next Sync is skipped, and
//! the transaction fails. An answer is sent only after its statement is durable. A durable statement is never reported
//! as failed.
//!
//! - `statements`: prepared statements, portals and the queue; - `answering`: running and answering;
//! - `cursors`: `DECLARE`, `FETCH`, `MOVE` and `CLOSE`, on portals;
//! - `parts`: the answers that may still end in an error.

mod answering;
mod cursors;
mod parts;
mod scrolling;
mod statements;
#[cfg(test)]
mod tests;

pub use answering::Send;

use super::copying::Copying;
use super::message::{MESSAGE_BYTES_MAX, Message, MessageError, Target, split};
use answering::{Execution, Reply};
use bytes::{Buf, BytesMut};
use cursors::Asked;
use parts::Part;
use sardonyx_sql::{Interrupt, Prepared, Share, SqlError, Step, TransactionStatus, code};
use statements::{Formats, Portal};
use std::collections::HashMap;
use std::sync::Arc;

/// The most steps that run at once, if one of them is a Sync: further ones wait for the next run.
const FLIGHT_STEPS: usize = 4096;
/// The most bytes of messages that run at once, each counted with [`MESSAGE_BYTES`], even before the Sync.
const FLIGHT_BYTES_MAX: usize = 64 << 20;
/// The approximate bytes that a message takes here besides its own.
const MESSAGE_BYTES: usize = 256;
/// The most prepared statements of a session, and the most portals.
const STATEMENTS_MAX: usize = 10_000;

/// A client's session.
pub struct Session {
    sql: sardonyx_sql::Session,
    /// Says when the session's work must end.
    interrupt: Arc<Interrupt>,
    statements: HashMap<String, Option<Arc<Prepared>>>,
    portals: HashMap<String, Portal>,
    steps: Vec<Step>,
    replies: Vec<Reply>,
    /// The number of each that the next run takes.
    complete: (usize, usize),
    /// The bytes of messages taken since the last run, and those up to the complete ones.
    bytes: usize,
    complete_bytes: usize,
    /// An error was found: everything up to the next Sync is skipped.
    skipping: bool,
    copying: Option<Copying>,
    /// The rest of a query: statements of cursors, and those after them, which wait for the earlier ones.
    rest_of_query: Option<std::vec::IntoIter<Arc<Prepared>>>,
    /// One of the replies still has rows of a portal that has run.
    has_ungiven: bool,
    /// One of the steps changes which statements have names.
    changes_names: bool,
    /// The statements that have run since the last Sync.
    part: Part,
    /// The savepoints of the transaction, each with the number of the next cursor when it was set.
    savepoints: Vec<(String, u64)>,
    /// The number of cursors that were declared.
    cursors_declared: u64,
    /// The number of Syncs that were received.
    syncs: u64,
    ended: bool,
    /// An error was written that ends it: nothing is written behind that.
    is_over: bool,
}

/// The next thing that a session needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wants {
    /// More bytes.
    Bytes,
    /// To run; then the received bytes are to be read again.
    Run,
    /// The end of the connection, after a run.
    End,
}

impl Session {
    /// Creates a session over one of the SQL layer.
    pub fn new(mut sql: sardonyx_sql::Session, interrupt: Arc<Interrupt>) -> Self {
        sql.set_interrupt(interrupt.clone());
        Session {
            sql,
            interrupt,
            statements: HashMap::new(),
            portals: HashMap::new(),
            steps: Vec::new(),
            replies: Vec::new(),
            complete: (0, 0),
            bytes: 0,
            complete_bytes: 0,
            skipping: false,
            copying: None,
            rest_of_query: None,
            has_ungiven: false,
            changes_names: false,
            part: Part::default(),
            savepoints: Vec::new(),
            cursors_declared: 0,
            syncs: 0,
            ended: false,
            is_over: false,
        }
    }

    /// The session of the SQL layer.
    pub fn sql(&self) -> &sardonyx_sql::Session {
        &self.sql
    }

    /// True if an error that ends it was written: the connection is to be closed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The error of a client that is lost while it copies data in: the copy and its transaction are given up.
    pub fn lost(&self) -> Option<SqlError> {
        let text = "unexpected EOF on client connection with an open transaction";
        let is_lost = self.copying.is_some();
        is_lost.then(|| SqlError::new(code::CONNECTION_FAILURE, text))
    }

    /// Returns true if the client may receive notifications: nothing that it began is without an end.
    pub fn is_idle(&self) -> bool {
        let is_done = self.replies.is_empty() && self.rest_of_query.is_none();
        let is_plain = !self.skipping && self.copying.is_none() && !self.part.has_begun();
        is_done && is_plain && self.sql.is_between()
    }

    /// The number of steps of the next run.
    pub fn steps(&self) -> usize {
        self.complete.0
    }

    /// Returns true if the next run only reads, outside of a transaction.
    pub fn only_reads(&self) -> bool {
        self.sql.status() == TransactionStatus::Idle
            && self.steps[..self.complete.0].iter().all(|step| match step {
                Step::Execute { statement, .. } => statement.only_reads(),
                Step::Copy { .. } => false,
                Step::Fail(_) | Step::Sync => true,
            })
    }

    /// The texts of the statements of the next run; statements of one text share it.
    pub fn statements(&self) -> impl Iterator<Item = &str> + Clone {
        texts(&self.replies[..self.complete.1])
    }

    /// Takes the messages that can be understood from the received bytes.
    ///
    /// # Errors
    /// Bytes after an invalid message cannot be understood: the connection must end.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Wants, MessageError> {
        loop {
            if let Some(rest) = self.rest_of_query.take() {
                if !self.replies.is_empty() {
                    self.rest_of_query = Some(rest);
                    self.completes();
                    return Ok(Wants::Run);
                }
                self.go_on_with_query(rest);
                continue;
            }
            if self.ended {
                self.completes();
                return Ok(Wants::End);
            }
            if self.is_full() {
                self.completes();
                return Ok(Wants::Run);
            }
            let taken = match split(input, MESSAGE_BYTES_MAX) {
                Ok(None) => break,
                Ok(Some((kind, end))) => {
                    let read = Message::read(&input[..end]);
                    self.take_one(kind, read, end + MESSAGE_BYTES)
                        .map(|taken| (taken, end))
                }
                Err(error) => Err(error),
            };
            match taken {
                Ok((true, end)) => input.advance(end),
                Err(error) if self.replies.is_empty() => return Err(error),
                // The earlier messages run first.
                Ok((false, _)) | Err(_) => {
                    self.completes();
                    return Ok(Wants::Run);
                }
            }
        }
        Ok(match self.complete.1 {
            0 => Wants::Bytes,
            _ => Wants::Run,
        })
    }

    /// Takes a message of a kind, counted as so many bytes. Returns false if the earlier ones must run first.
    ///
    /// # Errors
    /// The bytes after it cannot be understood.
    fn take_one(
        &mut self,
        kind: u8,
        message: Result<Message<'_>, MessageError>,
        bytes: usize,
    ) -> Result<bool, MessageError> {
        if self.copying.is_some() {
            return self.take_copied(kind, message);
        }
        let message = match message {
            Ok(message) => message,
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => {
                self.refuse_message(kind, &error);
                return Ok(true);
            }
        };
        self.bytes += bytes;
        let taken = self.take(message);
        if !matches!(taken, Ok(true)) {
            self.bytes -= bytes;
        }
        taken
    }

    /// Refuses a message whose end is known, but not its meaning.
    fn refuse_message(&mut self, kind: u8, error: &MessageError) {
        let is_extended = matches!(kind, b'P' | b'B' | b'D' | b'E' | b'C' | b'H');
        // After an error, messages up to the Sync are not read; copy data outside of a copy never is.
        if matches!(kind, b'd' | b'c' | b'f') || self.skipping && kind != b'S' {
            return;
        }
        self.fail(SqlError::new(error.code(), error.to_string()));
        if !is_extended {
            self.skipping = false;
            self.sync();
        }
    }

    /// Returns true if the taken messages must run before more are taken. Messages up to a Sync run together, unless
    /// they are too long to be kept.
    fn is_full(&self) -> bool {
        let is_ended = matches!(self.steps.last(), Some(Step::Sync));
        (self.steps.len() >= FLIGHT_STEPS && is_ended) || self.bytes >= FLIGHT_BYTES_MAX
    }

    /// Marks all that was taken so far as complete.
    fn completes(&mut self) {
        self.complete = (self.steps.len(), self.replies.len());
        self.complete_bytes = self.bytes;
    }

    /// Takes a message. Returns false if the earlier ones must run first.
    ///
    /// # Errors
    /// The message is not allowed after the greeting.
    fn take(&mut self, message: Message<'_>) -> Result<bool, MessageError> {
        match message {
            Message::Terminate => self.ended = true,
            Message::Sync => {
                self.skipping = false;
                self.sync();
            }
            // After a copy that failed: they were on their way.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
            Message::Password(_) => return Err(MessageError::Kind { kind: b'p' }),
            // Also after an error: drivers that prepare with Flush wait for it before they send Sync.
            Message::Flush => self.completes(),
            _ if self.skipping => {}
            Message::Query(text) => return Ok(self.query(text)),
            Message::Parse { name, query, types } => return Ok(self.parse(name, query, types)),
            // Its statement or portal is known when the earlier messages have run.
            Message::Bind(_)
            | Message::Describe(Target::Statement, _)
            | Message::Close(Target::Statement, _)
                if self.changes_names =>
            {
                return Ok(false);
            }
            Message::Describe(Target::Portal, name) | Message::Execute { portal: name, .. }
                if self.may_be_over(name) =>
            {
                return Ok(false);
            }
            // The rows requested of the earlier portal come first.
            Message::Bind(bind) if self.gives_rows_of(bind.portal) => return Ok(false),
            Message::Close(Target::Portal, name) if self.gives_rows_of(name) => return Ok(false),
            // It would not be closed if an earlier message failed.
            Message::Close(Target::Statement, _) if self.may_be_skipped() => return Ok(false),
            Message::Bind(bind) => {
                let bound = self.bind(&bind);
                return Ok(self.done_or_failed(bound));
            }
            Message::Describe(target, name) => {
                let described = self.describe(target, name);
                return Ok(self.done_or_failed(described));
            }
            Message::Execute { portal, rows_max } => return Ok(self.execute(portal, rows_max)),
            Message::Close(target, name) => {
                match target {
                    Target::Statement => {
                        self.statements.remove(name);
                        self.sql.forget_statement(name);
                    }
                    Target::Portal => drop(self.portals.remove(name)),
                }
                self.replies.push(Reply::Closed);
            }
            Message::FunctionCall => {
                let text = "functions are not called by number here: use SELECT";
                self.fail(SqlError::new("0A000", text.to_string()));
                self.skipping = false;
                self.sync();
            }
        }
        Ok(true)
    }

    /// Fails with an error. Returns false if the error may change when the earlier messages have run.
    fn done_or_failed(&mut self, done: Result<(), SqlError>) -> bool {
        match done {
            Ok(()) => true,
            Err(_) if self.has_unfinished() => false,
            Err(error) => {
                self.fail(error);
                true
            }
        }
    }

    /// Takes a Sync.
    fn sync(&mut self) {
        self.steps.push(Step::Sync);
        self.replies.push(Reply::Ready(self.syncs));
        self.syncs += 1;
        self.completes();
    }

    /// Queues an error that was found before any step ran.
    fn fail(&mut self, error: SqlError) {
        self.steps.push(Step::Fail(error));
        self.replies.push(Reply::Failed);
        self.skipping = true;
    }

    /// Returns true if a statement that is not understood might be when the earlier ones have run.
    fn has_unfinished(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns true if the next message may have no effect, since its part or transaction fails before it.
    fn may_be_skipped(&self) -> bool {
        let begins = |step: &Step| matches!(step, Step::Execute { statement, .. } if statement.begins_transaction());
        match self.steps.last() {
            None => false,
            Some(Step::Sync) => {
                self.sql.status() != TransactionStatus::Idle || self.steps.iter().any(begins)
            }
            Some(_) => true,
        }
    }

    /// Returns true if one of the replies may give rows of a portal that has run before.
    fn gives_rows_of(&self, portal: &str) -> bool {
        self.has_ungiven && self.portals.contains_key(portal)
    }

    /// Returns true if a portal may be over when the taken messages have run: a Sync is among them.
    fn may_be_over(&self, portal: &str) -> bool {
        let is_of_before = |portal: &statements::Portal| portal.syncs != self.syncs;
        self.has_unfinished() && self.portals.get(portal).is_some_and(is_of_before)
    }

    /// Returns true if the set of cursors and their positions are unknown until the taken messages have run.
    fn may_move_cursors(&self) -> bool {
        self.has_unfinished() || self.has_ungiven
    }

    fn query(&mut self, text: &str) -> bool {
        let statements = match self.sql.prepare_to_run(text, &[]) {
            Ok(statements) => statements,
            Err(_) if self.has_unfinished() => return false,
            Err(error) => {
                self.fail(error);
                self.skipping = false;
                self.sync();
                return true;
            }
        };
        self.continue_query(statements.into_iter());
        true
    }

    /// Continues a query when the earlier statements have run, unless they failed.
    fn go_on_with_query(&mut self, rest: std::vec::IntoIter<Arc<Prepared>>) {
        match self.skipping {
            false => self.continue_query(rest),
            true => {
                self.skipping = false;
                self.sync();
            }
        }
    }

    /// Queues the statements of a simple query. It stops at one that copies data in, or at one of a cursor that must
    /// wait for earlier ones.
    fn continue_query(&mut self, mut statements: std::vec::IntoIter<Arc<Prepared>>) {
        while let Some(next) = statements.as_slice().first() {
            if next.cursor().is_some() && self.may_move_cursors() {
                self.rest_of_query = Some(statements);
                return;
            }
            let Some(statement) = statements.next() else {
                break;
            };
            if statement.is_empty() {
                self.replies.push(Reply::Empty);
                continue;
            }
            if statement.is_copy_in() {
                if let Err(error) = self.sql.check_copy_in() {
                    self.fail(error);
                    self.skipping = false;
                    break;
                }
                self.begin_copying(Copying::of_query(statement, statements, self.memory()));
                return;
            }
            if let Some(command) = statement.cursor().cloned() {
                let asked = Asked {
                    formats: Formats::default(),
                    described: true,
                    parameters: Vec::new(),
                };
                if let Err(error) = self.of_cursor(command, asked) {
                    self.fail(error);
                    self.skipping = false;
                    break;
                }
                continue;
            }
            self.changes_names |= statement.changes_names();
            self.list_cursors();
            self.steps.push(Step::Execute {
                statement: statement.clone(),
                parameters: Vec::new(),
                rows_max: 0,
            });
            self.replies.push(Reply::Executed(Execution {
                statement,
                formats: Formats::default(),
                described: true,
                portal: None,
                rows_max: usize::MAX,
            }));
        }
        self.sync();
    }

    /// A share of the memory of all clients.
    pub(super) fn memory(&self) -> Share {
        Share::of(self.sql.memory().clone())
    }

    fn begin_copying(&mut self, copying: Copying) {
        self.replies
            .push(Reply::CopyIn(copying.statement().clone()));
        self.copying = Some(copying);
        self.completes();
    }

    /// Takes a message while data is copied in. Returns false if the earlier messages must run first: they decide if
    /// data is wanted at all.
    ///
    /// # Errors
    /// The message is not allowed in a copy.
    fn take_copied(
        &mut self,
        kind: u8,
        message: Result<Message<'_>, MessageError>,
    ) -> Result<bool, MessageError> {
        if !self.replies.is_empty() {
            return Ok(false);
        }
        let Some(copying) = &mut self.copying else {
            return Ok(true);
        };
        match message {
            Ok(Message::CopyData(data)) => {
                if let Err(error) = copying.push(data) {
                    self.end_copying(Some(error));
                }
            }
            // They belong to the copy that ends with the data.
            Ok(Message::Flush | Message::Sync) => {}
            Ok(Message::CopyDone) => self.end_copying(None),
            Ok(Message::CopyFail(reason)) => {
                let text = format!("COPY from stdin failed: {reason}");
                self.end_copying(Some(SqlError::new("57014", text)));
            }
            Err(error) if matches!(kind, b'c' | b'f') => {
                self.end_copying(Some(SqlError::new(error.code(), error.to_string())));
            }
            _ => return Err(MessageError::InCopy { kind }),
        }
        Ok(true)
    }

    fn end_copying(&mut self, failure: Option<SqlError>) {
        let Some(copying) = self.copying.take() else {
            return;
        };
        let (statement, data, rest) = copying.end();
        match failure {
            Some(error) => self.fail(error),
            None => {
                self.steps.push(Step::Copy {
                    statement: statement.clone(),
                    data,
                });
                self.replies.push(Reply::Executed(Execution {
                    statement,
                    formats: Formats::default(),
                    described: false,
                    portal: None,
                    rows_max: usize::MAX,
                }));
            }
        }
        if let Some(rest) = rest {
            self.go_on_with_query(rest);
        }
    }
}

/// The texts of the statements among these replies.
fn texts(replies: &[Reply]) -> impl Iterator<Item = &str> + Clone {
    replies.iter().filter_map(|reply| match reply {
        Reply::Executed(execution) => Some(execution.statement.text()),
        Reply::Declared(declared) => Some(declared.query.text()),
        _ => None,
    })
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}
