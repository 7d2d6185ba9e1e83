//! Answers of a session: its steps run together, and the answer to each message is written in order.
//!
//! Rows are sent in portions while they are read, so no result is in memory as a whole.

use super::cursors::{Declared, Fetch};
use super::scrolling::Found;
use super::statements::{Formats, PortalState, unknown_portal};
use super::{Session, texts};
use crate::postgres::answer::{Answers, Scratch, Severity};
use crate::postgres::message::{Codes, Format};
use crate::postgres::portions::Portions;
use bytes::BytesMut;
use sardonyx_sql::{
    Complete, CopyData, CopyFormat, Interrupt, Outcome, Prepared, ResultColumn, SqlError,
    TransactionStatus,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes of answers after which they are sent.
const ANSWER_BYTES: usize = 256 << 10;

/// The answers to write, in order. Those of a step take its outcome.
#[derive(Debug)]
pub(super) enum Reply {
    /// A statement was prepared, and if it is accepted in a failed transaction.
    Parsed {
        may_run: bool,
    },
    Bound {
        may_run: bool,
    },
    Closed,
    Parameters(Arc<Prepared>),
    NoParameters,
    Columns(Option<Arc<Prepared>>, Formats),
    Empty,
    /// A step: rows and a tag.
    Executed(Execution),
    /// More rows of a portal that has run.
    More {
        portal: String,
        rows_max: usize,
    },
    /// A step: a cursor is declared.
    Declared(Declared),
    /// Rows of a cursor.
    Fetched(Fetch),
    CursorColumns(String, Formats),
    /// A statement that is no step was done.
    Complete(&'static str),
    /// A step: the error that was found before.
    Failed,
    /// A step: the end of what belongs together, with its number.
    Ready(u64),
    /// Data is to be copied in.
    CopyIn(Arc<Prepared>),
}

impl Reply {
    /// Returns true if a failed transaction refuses it.
    fn is_refused_in_failure(&self) -> bool {
        match self {
            Reply::Parsed { may_run } | Reply::Bound { may_run } => !may_run,
            Reply::Parameters(statement) | Reply::Columns(Some(statement), _) => {
                statement.columns().is_some()
            }
            Reply::CopyIn(_) | Reply::More { .. } | Reply::Fetched(_) => true,
            _ => false,
        }
    }
}

/// A statement that runs, and the form of its rows.
#[derive(Debug)]
pub(super) struct Execution {
    pub statement: Arc<Prepared>,
    pub formats: Formats,
    /// True for the simple protocol, which describes rows without a request.
    pub described: bool,
    /// The portal, if it has one, and the most rows to return.
    pub portal: Option<String>,
    pub rows_max: usize,
}

/// Sends the output written so far, and observes a session.
pub trait Send {
    /// Sends all of the output and leaves it empty.
    fn send(&mut self, output: &mut BytesMut) -> impl Future<Output = std::io::Result<()>>;

    /// Called after statements ran together, with the time that they took.
    fn ran<'a>(&mut self, _statements: impl Iterator<Item = &'a str>, _took: Duration) {}

    /// Called with each error that is sent to the client.
    fn told(&mut self, _error: &SqlError) {}
}

impl Session {
    /// Runs the complete steps and sends the answers; the last of them stay in the output.
    ///
    /// # Errors
    /// The client does not read them.
    pub async fn run(&mut self, output: &mut BytesMut, to: &mut impl Send) -> std::io::Result<()> {
        // A cancel request for an earlier statement does not cancel this one.
        self.interrupt.forget_request();
        let (steps, replies) = std::mem::take(&mut self.complete);
        self.bytes -= std::mem::take(&mut self.complete_bytes);
        let rest = self.steps.split_off(steps);
        let steps = std::mem::replace(&mut self.steps, rest);
        let changes_names = std::mem::take(&mut self.changes_names);
        let rest = self.replies.split_off(replies);
        let replies = std::mem::replace(&mut self.replies, rest);
        let gives_rows = |reply: &Reply| matches!(reply, Reply::More { .. } | Reply::Fetched(_));
        self.has_ungiven = self.replies.iter().any(gives_rows);
        let started = Instant::now();
        // True if the open transaction has failed, as far as answers were written.
        let mut is_in_failure = self.sql.status() == TransactionStatus::Failed;
        let outcomes = self.sql.run(steps).await;
        if changes_names {
            self.forget_deallocated();
        }
        let mut parts = self.part.may_fail(&replies, &outcomes).into_iter();
        let mut may_fail = parts.next().unwrap_or(false);
        let mut outcomes = outcomes.into_iter();
        to.ran(texts(&replies), started.elapsed());
        // After an error no answer is written up to the next Sync.
        let mut failed = false;
        for reply in replies {
            match reply {
                Reply::Executed(execution) => match outcomes.next() {
                    Some(Outcome::Done(complete)) if !failed => {
                        is_in_failure &= !execution.statement.ends_failure();
                        let sent = self.executed(execution, complete, may_fail, output, to);
                        let sent = sent.await?;
                        failed = self.refused(sent, parts.len() == 0, output, to);
                    }
                    Some(Outcome::Failed(error)) if !failed => {
                        failed = true;
                        self.tell(&error, output, to);
                    }
                    _ => failed = true,
                },
                Reply::Declared(declared) => {
                    let sent = self.declared(&declared.cursor, outcomes.next(), failed, output);
                    failed |= self.refused(sent, parts.len() == 0, output, to);
                }
                Reply::Failed => {
                    if let Some(Outcome::Failed(error)) = outcomes.next()
                        && !failed
                    {
                        self.tell(&error, output, to);
                    }
                    failed = true;
                }
                Reply::Ready(syncs) => {
                    let status = match outcomes.next() {
                        // The transaction may have failed when its rows were sent.
                        Some(Outcome::Synced(status)) if parts.len() > 0 => status,
                        Some(Outcome::Failed(error)) if !failed => {
                            self.tell(&error, output, to);
                            self.sql.status()
                        }
                        _ => self.sql.status(),
                    };
                    failed = false;
                    is_in_failure = status == TransactionStatus::Failed;
                    // After the answers to all statements that may have notified.
                    if parts.len() == 0 {
                        self.notify(output, to).await?;
                    }
                    may_fail = parts.next().unwrap_or(false);
                    self.ready(syncs, status, output);
                }
                _ if failed => {
                    // The data of a refused copy is skipped when it arrives.
                    if matches!(reply, Reply::CopyIn(_)) {
                        failed = self.refuse_copy();
                    }
                }
                reply if is_in_failure && reply.is_refused_in_failure() => {
                    failed = true;
                    self.tell(&SqlError::in_failed_transaction(), output, to);
                    if matches!(reply, Reply::CopyIn(_)) {
                        failed = self.refuse_copy();
                    }
                }
                Reply::More { portal, rows_max } => {
                    let sent = self.more(&portal, rows_max, may_fail, output, to);
                    let sent = sent.await?;
                    failed = self.refused(sent, parts.len() == 0, output, to);
                }
                Reply::Fetched(fetch) => {
                    let sent = self.fetched(fetch, may_fail, output, to).await?;
                    failed = self.refused(sent, parts.len() == 0, output, to);
                }
                Reply::CursorColumns(cursor, formats) => {
                    self.say_columns_of(&cursor, &formats, output);
                }
                reply => say(reply, output),
            }
            if self.is_over || failed && self.sql.is_terminated() {
                // The session is ended: nothing comes behind this error, and the client may send no more.
                break;
            }
        }
        // The statement's deadline ends with its answers.
        self.interrupt.set_deadline(None);
        // If a part failed before its end was received, its remaining messages are skipped.
        self.skipping |= failed;
        Ok(())
    }

    /// Refuses a copy, and with it the rest of its query. Returns true if the following messages are skipped up to a
    /// Sync that is still to come.
    fn refuse_copy(&mut self) -> bool {
        let is_of_query = self
            .copying
            .take()
            .is_some_and(|copying| copying.is_of_query());
        if is_of_query {
            self.sync();
        }
        !is_of_query
    }

    /// Writes an error.
    fn tell(&mut self, error: &SqlError, output: &mut BytesMut, to: &mut impl Send) {
        self.is_over |= error.ends_session();
        let severity = match error.ends_session() {
            true => Severity::Fatal,
            false => Severity::Error,
        };
        Answers(output).error(severity, error);
        to.told(error);
    }

    /// Returns true if an answer ended in an error. The error is sent, and fails the open transaction if the answer is
    /// of the last part; the other parts are over.
    fn refused(
        &mut self,
        sent: Sent,
        is_last: bool,
        output: &mut BytesMut,
        to: &mut impl Send,
    ) -> bool {
        let Sent::Failed(error) = sent else {
            return false;
        };
        self.tell(&error, output, to);
        if is_last {
            self.sql.fail();
        }
        true
    }

    /// Sends the session's notifications, unless it is in a transaction.
    ///
    /// # Errors
    /// The client does not read them.
    pub async fn notify(
        &mut self,
        output: &mut BytesMut,
        to: &mut impl Send,
    ) -> std::io::Result<()> {
        while self.sql.is_between() {
            let messages = self.sql.inbox().map(|inbox| inbox.take(ANSWER_BYTES));
            let Some(messages) = messages.filter(|messages| !messages.is_empty()) else {
                break;
            };
            let mut answers = Answers(output);
            messages.iter().for_each(|one| answers.notification(one));
            if output.len() >= ANSWER_BYTES {
                to.send(output).await?;
            }
        }
        Ok(())
    }

    fn ready(&mut self, syncs: u64, status: TransactionStatus, output: &mut BytesMut) {
        let mut answers = Answers(output);
        for (name, value) in self.sql.take_changed_parameters() {
            answers.parameter(&name, &value);
        }
        if status == TransactionStatus::Idle {
            self.portals
                .retain(|_, portal| portal.syncs > syncs || portal.is_kept());
        }
        answers.ready(status);
    }

    async fn executed(
        &mut self,
        execution: Execution,
        complete: Complete,
        may_fail: bool,
        output: &mut BytesMut,
        to: &mut impl Send,
    ) -> std::io::Result<Sent> {
        let Complete {
            tag,
            rows,
            notices,
            copy_out,
            memory,
        } = complete;
        let mut answers = Answers(output);
        notices.iter().for_each(|notice| answers.notice(notice));
        if let Some(data) = copy_out {
            return send_copy(&execution.statement, &data, &tag, output, to).await;
        }
        let Some(rows) = rows else {
            answers.complete(&tag);
            self.end_cursors(&execution.statement, tag.word);
            self.set_state(execution.portal, PortalState::Spent);
            return Ok(Sent::All(0));
        };
        let columns = rows.columns.clone();
        if execution.described {
            answers.columns(&columns, Codes::default());
        }
        let mut rows = Portions::of(rows, memory);
        let codes = execution.formats.codes();
        let (most, flag) = (execution.rows_max, may_fail.then_some(&*self.interrupt));
        let sent = send_rows(&columns, codes, &mut rows, most, flag, output, to).await?;
        let state = match &sent {
            // The limit is reached: the client asks for more rows, if there are any.
            Sent::All(count) if *count == execution.rows_max => {
                Answers(output).suspended();
                PortalState::Ran(rows, tag.word.to_string())
            }
            Sent::All(count) => {
                let mut answers = Answers(output);
                match tag.word {
                    // The number of rows sent: more may have come than the statement has counted.
                    "SELECT" => answers.complete(&format_args!("SELECT {count}")),
                    _ => answers.complete(&tag),
                }
                PortalState::Done(tag.word.to_string())
            }
            Sent::Some => {
                Answers(output).suspended();
                PortalState::Ran(rows, tag.word.to_string())
            }
            Sent::Failed(_) => PortalState::Done(tag.word.to_string()),
        };
        self.set_state(execution.portal, state);
        Ok(sent)
    }

    /// Sets the state of a portal that has run.
    fn set_state(&mut self, portal: Option<String>, state: PortalState) {
        if let Some(portal) = portal.and_then(|name| self.portals.get_mut(&name))
            && let PortalState::Queued = portal.state
        {
            portal.state = state;
        }
    }

    async fn more(
        &mut self,
        name: &str,
        rows_max: usize,
        may_fail: bool,
        output: &mut BytesMut,
        to: &mut impl Send,
    ) -> std::io::Result<Sent> {
        let Some(portal) = self.portals.get_mut(name) else {
            return Ok(Sent::Failed(unknown_portal(name)));
        };
        let statement = portal.statement.as_ref();
        // Rows that remain of a change were reported with the first of them.
        let only_reads = statement.is_some_and(|statement| statement.only_reads());
        let flag = (may_fail && only_reads).then_some(&*self.interrupt);
        let columns = statement.and_then(|one| one.columns()).unwrap_or_default();
        let codes = portal.formats.codes();
        let (rows, word) = match &mut portal.state {
            PortalState::Ran(rows, word) => (rows, word),
            PortalState::Done(word) => {
                Answers(output).complete(&counted(word, 0));
                return Ok(Sent::All(0));
            }
            PortalState::New | PortalState::Queued | PortalState::Spent => {
                return Ok(Sent::All(0));
            }
        };
        let sent = send_rows(columns, codes, rows, rows_max, flag, output, to).await?;
        match &sent {
            Sent::All(count) if *count == rows_max => Answers(output).suspended(),
            Sent::All(count) => Answers(output).complete(&counted(word, *count)),
            Sent::Some => Answers(output).suspended(),
            Sent::Failed(_) => portal.state = PortalState::Done(word.clone()),
        }
        Ok(sent)
    }
}

/// The word of a statement with the number of its rows, if it has one.
fn counted(word: &str, count: usize) -> String {
    match word {
        "INSERT" => format!("INSERT 0 {count}"),
        "SELECT" | "UPDATE" | "DELETE" | "FETCH" | "MOVE" => format!("{word} {count}"),
        _ => word.to_string(),
    }
}

/// Writes an answer that needs nothing of the session.
fn say(reply: Reply, output: &mut BytesMut) {
    let mut answers = Answers(output);
    match reply {
        Reply::Parsed { .. } => answers.parsed(),
        Reply::Bound { .. } => answers.bound(),
        Reply::Closed => answers.closed(),
        Reply::Empty => answers.empty(),
        Reply::Complete(word) => answers.complete(&word),
        Reply::NoParameters => answers.parameters(&[]),
        Reply::Parameters(statement) => answers.parameters(statement.parameters()),
        Reply::Columns(statement, formats) => {
            match statement.as_ref().and_then(|statement| statement.columns()) {
                Some(columns) => answers.columns(columns, formats.codes()),
                None => answers.no_data(),
            }
        }
        Reply::CopyIn(statement) => {
            answers.copy_in(statement.copy_columns(), format_of(statement.copy_format()));
        }
        Reply::Executed(_)
        | Reply::More { .. }
        | Reply::Declared(_)
        | Reply::Fetched(_)
        | Reply::CursorColumns(..)
        | Reply::Failed
        | Reply::Ready(_) => {}
    }
}

/// The result of sending rows.
pub(super) enum Sent {
    /// All remaining rows were sent: their number.
    All(usize),
    Some,
    Failed(SqlError),
}

/// Sends at most `most` rows. It stops if `interrupt`, where one is given, asks for it.
pub(super) async fn send_rows(
    columns: &[ResultColumn],
    formats: Codes<'_, 2>,
    rows: &mut Portions,
    most: usize,
    interrupt: Option<&Interrupt>,
    output: &mut BytesMut,
    to: &mut impl Send,
) -> std::io::Result<Sent> {
    let (mut left, mut scratch) = (most, Scratch::default());
    loop {
        if let Some(reason) = interrupt.and_then(Interrupt::take) {
            return Ok(Sent::Failed(SqlError::interrupted(reason)));
        }
        rows.ready().await;
        let portion = match rows.next(left) {
            Ok(portion) => portion,
            Err(error) => return Ok(Sent::Failed(error)),
        };
        let Some(portion) = portion else {
            return Ok(Sent::All(most - left));
        };
        left -= portion.count();
        let zone = portion.zone();
        for row in portion.rows() {
            if let Err(error) = Answers(output).row(columns, formats, row, zone, &mut scratch) {
                return Ok(Sent::Failed(error));
            }
            // Rows may be large.
            if output.len() >= ANSWER_BYTES {
                to.send(output).await?;
            }
        }
        if left == 0 {
            return Ok(match rows.is_done() {
                true => Sent::All(most),
                false => Sent::Some,
            });
        }
    }
}

/// Sends rows that stay, by their numbers.
pub(super) async fn send_kept(
    columns: &[ResultColumn],
    formats: Codes<'_, 2>,
    rows: &mut Portions,
    found: Found,
    output: &mut BytesMut,
    to: &mut impl Send,
) -> std::io::Result<Sent> {
    let mut scratch = Scratch::default();
    for number in found.numbers() {
        let row = rows.row(number);
        if let Err(error) = Answers(output).row(columns, formats, row, rows.zone(), &mut scratch) {
            return Ok(Sent::Failed(error));
        }
        if output.len() >= ANSWER_BYTES {
            to.send(output).await?;
        }
    }
    Ok(Sent::All(found.count()))
}

fn format_of(format: CopyFormat) -> Format {
    match format {
        CopyFormat::Binary => Format::Binary,
        CopyFormat::Text | CopyFormat::Csv => Format::Text,
    }
}

/// Sends the data that is copied out, a message for each row, as clients expect.
async fn send_copy(
    statement: &Prepared,
    data: &CopyData,
    tag: &impl std::fmt::Display,
    output: &mut BytesMut,
    to: &mut impl Send,
) -> std::io::Result<Sent> {
    let (columns, format) = (statement.copy_columns(), statement.copy_format());
    Answers(output).copy_out(columns, format_of(format));
    for piece in data.pieces(format, columns) {
        Answers(output).copy_data(piece);
        if output.len() >= ANSWER_BYTES {
            to.send(output).await?;
        }
    }
    let mut answers = Answers(output);
    answers.copy_done();
    answers.complete(tag);
    Ok(Sent::All(0))
}
