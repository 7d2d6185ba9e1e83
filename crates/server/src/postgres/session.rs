//! A session of one of PostgreSQL's clients, as a machine without sockets: messages go in, the SQL layer runs what
//! arrived together, answers come out.
//!
//! ```text
//! bytes ─▶ receive ─▶ steps, and a reply for each thing to be said ─▶ sardonyx_sql::Session::run ─▶ answers in order
//! ```
//!
//! *A flight* is what arrived up to the last message that asks for answers (a query, Sync, Flush). It is run at once,
//! so a transaction that arrives in one flight is one serial call, and many connections share a commit group. What
//! arrived behind it waits for its own end.
//!
//! Some messages can be understood only when what stands before them has run: a statement on a table that an earlier
//! one creates, one of a cursor, the end of a portal whose rows are asked for. Then the flight ends before them
//! ([`Wants::Run`]), and they are read again; of a text with several statements, those that are left.
//!
//! Invariants: answers stand in the order of the messages; after an error everything up to the next Sync is skipped,
//! and the transaction is given up, whoever found the error; nothing is answered before it is durable; what is durable is
//! never told to have failed.
//!
//! - `statements`: what is prepared, bound and queued; - `answering`: what is run and said;
//! - `cursors`: `DECLARE`, `FETCH`, `MOVE` and `CLOSE`, which are of portals;
//! - `parts`: which answers may still end in an error.

mod answering;
mod cursors;
mod parts;
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

/// How many steps are run at once, if one of them ends what belongs together: more wait for the next run.
const FLIGHT_STEPS: usize = 4096;
/// The most bytes of messages that are run at once, whether or not what belongs together has come to its end, each counted
/// with [`MESSAGE_BYTES`].
const FLIGHT_BYTES_MAX: usize = 64 << 20;
/// What a message takes here besides its own bytes, about.
const MESSAGE_BYTES: usize = 256;
/// The most prepared statements and portals of a session, each.
const STATEMENTS_MAX: usize = 10_000;

/// A client's session.
pub struct Session {
    sql: sardonyx_sql::Session,
    /// Says when what this session does is to end.
    interrupt: Arc<Interrupt>,
    statements: HashMap<String, Option<Arc<Prepared>>>,
    portals: HashMap<String, Portal>,
    steps: Vec<Step>,
    replies: Vec<Reply>,
    /// How much of both the next run takes.
    complete: (usize, usize),
    /// How many bytes of messages were taken since the last run, and up to what is complete.
    bytes: usize,
    complete_bytes: usize,
    /// An error was found: up to the next Sync all is passed over.
    skipping: bool,
    copying: Option<Copying>,
    /// What is left of a query: statements of cursors, and those behind, which wait for those before them.
    rest_of_query: Option<std::vec::IntoIter<Arc<Prepared>>>,
    /// Rows of a portal that has run are still to be given, by one of the replies.
    has_ungiven: bool,
    /// One of the steps changes which statements have names.
    changes_names: bool,
    /// What has run since the last end of what belongs together.
    part: Part,
    /// The savepoints of the transaction, with the number that the next cursor had when each was set.
    savepoints: Vec<(String, u64)>,
    /// The number of cursors that were declared.
    cursors_declared: u64,
    /// How many ends of what belongs together were received.
    syncs: u64,
    ended: bool,
}

/// What a session wants next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wants {
    /// More bytes.
    Bytes,
    /// That it is run; then what it has received is to be looked at again.
    Run,
    /// The end of the connection, after it was run.
    End,
}

impl Session {
    /// A new one.
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
        }
    }

    /// The session of the SQL layer.
    pub fn sql(&self) -> &sardonyx_sql::Session {
        &self.sql
    }

    /// The error of a client that is lost while it copies data in: the copy, and the transaction around it, are given up.
    pub fn lost(&self) -> Option<SqlError> {
        let text = "unexpected EOF on client connection with an open transaction";
        let is_lost = self.copying.is_some();
        is_lost.then(|| SqlError::new(code::CONNECTION_FAILURE, text))
    }

    /// Whether its client may be told what comes unasked: nothing that it began is without an end.
    pub fn is_idle(&self) -> bool {
        let is_done = self.replies.is_empty() && self.rest_of_query.is_none();
        let is_plain = !self.skipping && self.copying.is_none() && !self.part.has_begun();
        is_done && is_plain && self.sql.is_between()
    }

    /// How many steps the next run has.
    pub fn steps(&self) -> usize {
        self.complete.0
    }

    /// Whether the next run only reads, outside of a transaction.
    pub fn only_reads(&self) -> bool {
        self.sql.status() == TransactionStatus::Idle
            && self.steps[..self.complete.0].iter().all(|step| match step {
                Step::Execute { statement, .. } => statement.only_reads(),
                Step::Copy { .. } => false,
                Step::Fail(_) | Step::Sync => true,
            })
    }

    /// The statements that the next run runs, by their texts; those of one text have the same.
    pub fn statements(&self) -> impl Iterator<Item = &str> + Clone {
        texts(&self.replies[..self.complete.1])
    }

    /// Takes what can be understood from what was received.
    ///
    /// # Errors
    /// What follows a message that is none cannot be understood: the connection is to end.
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
                // First what stands before it.
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

    /// Takes a message of a kind, which counts so many bytes. False if what stands before it is to be run first.
    ///
    /// # Errors
    /// What follows it cannot be understood.
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
        // Behind an error what belongs together is not looked at, and data that is not asked for never is.
        if matches!(kind, b'd' | b'c' | b'f') || self.skipping && kind != b'S' {
            return;
        }
        self.fail(SqlError::new(error.code(), error.to_string()));
        if !is_extended {
            self.skipping = false;
            self.sync();
        }
    }

    /// Whether what was taken is to be run before more is. What belongs together is run together, as long as it is not too
    /// long to be kept.
    fn is_full(&self) -> bool {
        let is_ended = matches!(self.steps.last(), Some(Step::Sync));
        (self.steps.len() >= FLIGHT_STEPS && is_ended) || self.bytes >= FLIGHT_BYTES_MAX
    }

    /// All that was taken so far is to be run.
    fn completes(&mut self) {
        self.complete = (self.steps.len(), self.replies.len());
        self.complete_bytes = self.bytes;
    }

    /// Takes a message. False if what stands before it is to be run first.
    ///
    /// # Errors
    /// It has no place behind the greeting.
    fn take(&mut self, message: Message<'_>) -> Result<bool, MessageError> {
        match message {
            Message::Terminate => self.ended = true,
            Message::Sync => {
                self.skipping = false;
                self.sync();
            }
            // Unasked, behind a copy that failed: they were on their way.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
            Message::Password(_) => return Err(MessageError::Kind { kind: b'p' }),
            // Also after an error: drivers that prepare with Flush wait for it before they send Sync.
            Message::Flush => self.completes(),
            _ if self.skipping => {}
            Message::Query(text) => return Ok(self.query(text)),
            Message::Parse { name, query, types } => return Ok(self.parse(name, query, types)),
            // Whether it is there is known when what stands before it has run.
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
            // What is asked of the portal before is to be given first.
            Message::Bind(bind) if self.gives_rows_of(bind.portal) => return Ok(false),
            Message::Close(Target::Portal, name) if self.gives_rows_of(name) => return Ok(false),
            // It would not be closed if what stands before it failed.
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

    /// Fails with an error. False if it may be another when what stands before has run.
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

    /// Ends what belongs together.
    fn sync(&mut self) {
        self.steps.push(Step::Sync);
        self.replies.push(Reply::Ready(self.syncs));
        self.syncs += 1;
        self.completes();
    }

    /// An error was found before anything was run.
    fn fail(&mut self, error: SqlError) {
        self.steps.push(Step::Fail(error));
        self.replies.push(Reply::Failed);
        self.skipping = true;
    }

    /// Whether a statement that cannot be understood might be when what stands before it has run.
    fn has_unfinished(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Whether the next message may have no effect, since a part that it belongs to, or a transaction, fails before it.
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

    /// Whether one of the replies may give rows of a portal that has run before.
    fn gives_rows_of(&self, portal: &str) -> bool {
        self.has_ungiven && self.portals.contains_key(portal)
    }

    /// Whether a portal may be over when what was taken has run: the end of what it belongs to is among it.
    fn may_be_over(&self, portal: &str) -> bool {
        let is_of_before = |portal: &statements::Portal| portal.syncs != self.syncs;
        self.has_unfinished() && self.portals.get(portal).is_some_and(is_of_before)
    }

    /// Whether it is not known yet what cursors there are, and where they stand, when what was taken has run.
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

    /// Goes on with a query when what stood before has run, and if it has not failed.
    fn go_on_with_query(&mut self, rest: std::vec::IntoIter<Arc<Prepared>>) {
        match self.skipping {
            false => self.continue_query(rest),
            true => {
                self.skipping = false;
                self.sync();
            }
        }
    }

    /// Queues the statements of a simple query, up to one that copies data in, or one of a cursor that must wait for those
    /// before it.
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

    /// Takes a message while data is copied in. False if what stands before is to be run first: whether data is
    /// wanted at all.
    ///
    /// # Errors
    /// It has no place there.
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
            // They belong to what is over when the data is.
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
