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
//! one creates. Then the flight ends before them ([`Wants::Run`]), and they are read again.
//!
//! Invariants: answers stand in the order of the messages; after an error everything up to the next Sync is skipped,
//! and the transaction is given up, whoever found the error; nothing is answered before it is durable.

use super::answer::{Answers, Scratch, Severity};
use super::copying::Copying;
use super::format;
use super::message::{
    Bind, Codes, Format, MESSAGE_BYTES_MAX, Message, MessageError, Target, split,
};
use super::portions::Portions;
use bytes::{Buf, BytesMut};
use sardonyx::schema::Value;
use sardonyx_sql::{
    Complete, CopyData, Outcome, Prepared, ResultColumn, SqlError, SqlType, Step, TransactionStatus,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The most steps that are run at once.
pub const FLIGHT_STEPS_MAX: usize = 4096;
/// The most prepared statements and portals of a session, each.
pub const STATEMENTS_MAX: usize = 10_000;
/// Answers are sent on when there are so many bytes of them.
pub const ANSWER_BYTES: usize = 256 << 10;

/// A client's session.
pub struct Session {
    sql: sardonyx_sql::Session,
    /// Set by who cancels what this session does.
    cancelled: Arc<AtomicBool>,
    statements: HashMap<String, Option<Arc<Prepared>>>,
    portals: HashMap<String, Portal>,
    steps: Vec<Step>,
    replies: Vec<Reply>,
    /// How much of both the next run takes.
    complete: (usize, usize),
    /// An error was found: up to the next Sync all is passed over.
    skipping: bool,
    copying: Option<Copying>,
    /// How many ends of what belongs together were received.
    syncs: u64,
    ended: bool,
}

/// A statement with its parameters.
#[derive(Debug)]
struct Portal {
    statement: Option<Arc<Prepared>>,
    parameters: Vec<Value>,
    formats: Formats,
    state: PortalState,
    /// Behind how many ends it was made: with the next one it is gone, unless a transaction is open.
    syncs: u64,
}

/// How far a portal is.
#[derive(Debug)]
enum PortalState {
    New,
    /// A step of the next flight runs it.
    Queued,
    /// What it has not given yet, and the protocol's word for what it did.
    Ran(Portions, String),
    /// It has given all.
    Done(String),
}

/// Formats of a result's columns, as the client wrote them.
#[derive(Clone, Debug, Default)]
struct Formats(Vec<u8>);

/// What is to be said, in order. Those that stand for a step take its outcome.
#[derive(Debug)]
enum Reply {
    Parsed,
    Bound,
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
    /// A step: the error that was found before.
    Failed,
    /// A step: the end of what belongs together, with its number.
    Ready(u64),
    /// Data is to be copied in.
    CopyIn(Arc<Prepared>),
}

#[derive(Debug)]
struct Execution {
    statement: Arc<Prepared>,
    formats: Formats,
    /// Of the simple protocol, which describes rows unasked.
    described: bool,
    /// The portal, if it has one, and how many rows were asked for.
    portal: Option<String>,
    rows_max: usize,
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

/// Sends what is written so far, and hears what a session is doing.
pub trait Send {
    /// Sends all of it, and leaves none.
    fn send(&mut self, output: &mut BytesMut) -> impl Future<Output = std::io::Result<()>>;

    /// These statements were run together, and it took so long.
    fn ran<'a>(&mut self, _statements: impl Iterator<Item = &'a str>, _took: Duration) {}

    /// The client is told an error.
    fn told(&mut self, _error: &SqlError) {}
}

impl Formats {
    fn codes(&self) -> Codes<'_, 2> {
        Codes::of(&self.0)
    }
}

impl Session {
    /// A new one.
    pub fn new(mut sql: sardonyx_sql::Session, cancelled: Arc<AtomicBool>) -> Self {
        sql.set_interrupted(cancelled.clone());
        Session {
            sql,
            cancelled,
            statements: HashMap::new(),
            portals: HashMap::new(),
            steps: Vec::new(),
            replies: Vec::new(),
            complete: (0, 0),
            skipping: false,
            copying: None,
            syncs: 0,
            ended: false,
        }
    }

    /// The session of the SQL layer.
    pub fn sql(&self) -> &sardonyx_sql::Session {
        &self.sql
    }

    /// How many steps the next run has.
    pub fn steps(&self) -> usize {
        self.complete.0
    }

    /// Takes what can be understood from what was received.
    ///
    /// # Errors
    /// What follows a message that is none cannot be understood: the connection is to end.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Wants, MessageError> {
        loop {
            if self.ended {
                self.complete = (self.steps.len(), self.replies.len());
                return Ok(Wants::End);
            }
            if self.steps.len() >= FLIGHT_STEPS_MAX {
                self.complete = (self.steps.len(), self.replies.len());
                return Ok(Wants::Run);
            }
            let Some((_, end)) = split(input, MESSAGE_BYTES_MAX)? else {
                break;
            };
            let message = Message::read(&input[..end])?;
            let taken = match self.copying.is_some() {
                true => self.take_copied(message),
                false => self.take(message),
            };
            if !taken {
                // First what stands before it.
                self.complete = (self.steps.len(), self.replies.len());
                return Ok(Wants::Run);
            }
            input.advance(end);
        }
        Ok(match self.complete.1 {
            0 => Wants::Bytes,
            _ => Wants::Run,
        })
    }

    /// Takes a message. False if what stands before it is to be run first.
    fn take(&mut self, message: Message<'_>) -> bool {
        match message {
            Message::Terminate => self.ended = true,
            Message::Sync => {
                self.skipping = false;
                self.sync();
            }
            // Unasked, behind a copy that failed: they were on their way.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
            Message::Password(_) => self.fail(protocol_violation("nobody asked for a password")),
            _ if self.skipping => {}
            Message::Flush => self.complete = (self.steps.len(), self.replies.len()),
            Message::Query(text) => return self.query(text),
            Message::Parse { name, query, types } => return self.parse(name, query, types),
            Message::Bind(bind) => {
                if let Err(error) = self.bind(&bind) {
                    self.fail(error);
                }
            }
            Message::Describe(target, name) => {
                if let Err(error) = self.describe(target, name) {
                    self.fail(error);
                }
            }
            Message::Execute { portal, rows_max } => return self.execute(portal, rows_max),
            Message::Close(target, name) => {
                match target {
                    Target::Statement => drop(self.statements.remove(name)),
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
        true
    }

    /// Ends what belongs together.
    fn sync(&mut self) {
        self.steps.push(Step::Sync);
        self.replies.push(Reply::Ready(self.syncs));
        self.syncs += 1;
        self.complete = (self.steps.len(), self.replies.len());
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

    /// Queues the statements of a simple query, up to one that copies data in.
    fn continue_query(&mut self, mut statements: std::vec::IntoIter<Arc<Prepared>>) {
        while let Some(statement) = statements.next() {
            if statement.is_empty() {
                self.replies.push(Reply::Empty);
                continue;
            }
            if statement.is_copy_in() {
                self.begin_copying(Copying::of_query(statement, statements));
                return;
            }
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

    fn begin_copying(&mut self, copying: Copying) {
        self.replies
            .push(Reply::CopyIn(copying.statement().clone()));
        self.copying = Some(copying);
        self.complete = (self.steps.len(), self.replies.len());
    }

    /// Takes a message while data is copied in. False if what stands before is to be run first: whether data is
    /// wanted at all.
    fn take_copied(&mut self, message: Message<'_>) -> bool {
        if !self.replies.is_empty() {
            return false;
        }
        let Some(copying) = &mut self.copying else {
            return true;
        };
        match message {
            Message::CopyData(data) => copying.push(data),
            // They belong to what is over when the data is.
            Message::Flush | Message::Sync => {}
            Message::CopyDone => self.end_copying(None),
            Message::CopyFail(reason) => {
                let text = format!("COPY from stdin failed: {reason}");
                self.end_copying(Some(SqlError::new("57014", text)));
            }
            Message::Terminate => {
                self.ended = true;
                self.copying = None;
            }
            _ => {
                let error = protocol_violation("another message while data is copied in");
                self.end_copying(Some(error));
            }
        }
        true
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
            match self.skipping {
                false => self.continue_query(rest),
                true => {
                    self.skipping = false;
                    self.sync();
                }
            }
        }
    }

    fn parse(&mut self, name: &str, query: &str, types: Codes<'_, 4>) -> bool {
        let types: Vec<Option<SqlType>> = types.iter().map(SqlType::from_oid).collect();
        let prepared = self.sql.prepare(query, &types).and_then(|mut found| {
            let statement = found.pop().filter(|statement| !statement.is_empty());
            match found.is_empty() {
                true => Ok(statement),
                false => Err(SqlError::new(
                    "42601",
                    "a prepared statement has one command, and this text has more".to_string(),
                )),
            }
        });
        let statement = match prepared {
            Ok(statement) => statement,
            Err(_) if self.has_unfinished() => return false,
            Err(error) => {
                self.fail(error);
                return true;
            }
        };
        if !name.is_empty() && self.statements.contains_key(name) {
            let text = format!("the prepared statement {name:?} exists already");
            self.fail(SqlError::new("42P05", text));
        } else if self.statements.len() >= STATEMENTS_MAX {
            self.fail(too_many("prepared statements"));
        } else {
            self.statements.insert(name.to_string(), statement);
            self.replies.push(Reply::Parsed);
        }
        true
    }

    fn statement(&self, name: &str) -> Result<&Option<Arc<Prepared>>, SqlError> {
        self.statements.get(name).ok_or_else(|| {
            let text = format!("the prepared statement {name:?} does not exist");
            SqlError::new("26000", text)
        })
    }

    fn bind(&mut self, bind: &Bind<'_>) -> Result<(), SqlError> {
        let statement = self.statement(bind.statement)?.clone();
        let types = statement.as_ref().map_or(&[][..], |one| one.parameters());
        if types.len() != bind.count() {
            let text = format!(
                "the statement has {} parameters, and {} are given",
                types.len(),
                bind.count()
            );
            return Err(SqlError::new("08P01", text));
        }
        let columns = statement.as_ref().and_then(|one| one.columns());
        let columns = columns.map_or(0, <[_]>::len);
        let formats = bind.result_formats;
        if formats.len() > 1 && formats.len() != columns {
            let text = format!("{} formats for {columns} columns", formats.len());
            return Err(SqlError::new("08P01", text));
        }
        let parameters = bind.parameters().zip(types).map(|((format, bytes), kind)| {
            let Some(bytes) = bytes else {
                return Ok(Value::Null);
            };
            match format {
                Format::Text => format::read_text(*kind, bytes),
                Format::Binary => format::read_binary(*kind, bytes),
            }
        });
        let portal = Portal {
            parameters: parameters.collect::<Result<_, _>>()?,
            statement,
            formats: Formats(formats.bytes().to_vec()),
            state: PortalState::New,
            syncs: self.syncs,
        };
        if !bind.portal.is_empty() && self.portals.contains_key(bind.portal) {
            let text = format!("the portal {:?} exists already", bind.portal);
            return Err(SqlError::new("42P03", text));
        }
        if self.portals.len() >= STATEMENTS_MAX {
            return Err(too_many("portals"));
        }
        match self.portals.get_mut(bind.portal) {
            Some(place) => *place = portal,
            None => drop(self.portals.insert(bind.portal.to_string(), portal)),
        }
        self.replies.push(Reply::Bound);
        Ok(())
    }

    fn describe(&mut self, target: Target, name: &str) -> Result<(), SqlError> {
        let (statement, formats) = match target {
            Target::Statement => {
                let statement = self.statement(name)?.clone();
                self.replies.push(match &statement {
                    Some(statement) => Reply::Parameters(statement.clone()),
                    None => Reply::NoParameters,
                });
                (statement, Formats::default())
            }
            Target::Portal => {
                let portal = self.portals.get(name).ok_or_else(|| unknown_portal(name))?;
                (portal.statement.clone(), portal.formats.clone())
            }
        };
        self.replies.push(Reply::Columns(statement, formats));
        Ok(())
    }

    /// Queues a portal's run. False if it was queued before, and how far that comes is to be seen first.
    fn execute(&mut self, name: &str, rows_max: u32) -> bool {
        let rows_max = match rows_max {
            0 => usize::MAX,
            most => most as usize,
        };
        let Some(portal) = self.portals.get_mut(name) else {
            self.fail(unknown_portal(name));
            return true;
        };
        match portal.state {
            PortalState::New => {}
            PortalState::Queued => return false,
            PortalState::Ran(..) | PortalState::Done(_) => {
                let portal = name.to_string();
                self.replies.push(Reply::More { portal, rows_max });
                return true;
            }
        }
        let Some(statement) = portal.statement.clone() else {
            self.replies.push(Reply::Empty);
            return true;
        };
        if statement.is_copy_in() {
            self.begin_copying(Copying::of_portal(statement));
            return true;
        }
        portal.state = PortalState::Queued;
        self.steps.push(Step::Execute {
            statement: statement.clone(),
            parameters: std::mem::take(&mut portal.parameters),
            rows_max: if rows_max == usize::MAX {
                0
            } else {
                rows_max as u64
            },
        });
        self.replies.push(Reply::Executed(Execution {
            statement,
            formats: portal.formats.clone(),
            described: false,
            portal: Some(name.to_string()),
            rows_max,
        }));
        true
    }

    /// Runs what is complete, and sends the answers, the last of which stay in the output.
    ///
    /// # Errors
    /// The client does not take them.
    pub async fn run(&mut self, output: &mut BytesMut, to: &mut impl Send) -> std::io::Result<()> {
        // Who cancelled what is over does not mean what begins.
        self.cancelled.store(false, Ordering::Relaxed);
        let (steps, replies) = std::mem::take(&mut self.complete);
        let rest = self.steps.split_off(steps);
        let steps = std::mem::replace(&mut self.steps, rest);
        let rest = self.replies.split_off(replies);
        let replies = std::mem::replace(&mut self.replies, rest);
        let started = Instant::now();
        let mut outcomes = self.sql.run(steps).await.into_iter();
        let statements = replies.iter().filter_map(|reply| match reply {
            Reply::Executed(execution) => Some(execution.statement.text()),
            _ => None,
        });
        to.ran(statements, started.elapsed());
        // What an outcome's failure lets be said no more, up to the next Sync.
        let mut failed = false;
        for reply in replies {
            match reply {
                Reply::Executed(execution) => match outcomes.next() {
                    Some(Outcome::Done(complete)) => {
                        self.executed(execution, complete, output, to).await?;
                    }
                    Some(Outcome::Failed(error)) => {
                        failed = true;
                        tell(&error, output, to);
                    }
                    _ => failed = true,
                },
                Reply::Failed => {
                    failed = true;
                    if let Some(Outcome::Failed(error)) = outcomes.next() {
                        tell(&error, output, to);
                    }
                }
                Reply::Ready(syncs) => {
                    failed = false;
                    if let Some(Outcome::Failed(error)) = outcomes.next() {
                        tell(&error, output, to);
                    }
                    self.ready(syncs, output);
                }
                _ if failed => {
                    // The data of a copy that is not wanted is passed over when it comes.
                    if matches!(reply, Reply::CopyIn(_)) {
                        self.refuse_copy();
                    }
                }
                Reply::CopyIn(statement) if self.sql.status() == TransactionStatus::Failed => {
                    drop(statement);
                    failed = true;
                    tell(&SqlError::in_failed_transaction(), output, to);
                    self.refuse_copy();
                }
                reply => self.say(reply, output, to).await?,
            }
        }
        // What was given up before the client saw an end of it is passed over up to its end.
        self.skipping |= failed;
        Ok(())
    }

    /// The copy that was to begin does not: what follows in its query neither.
    fn refuse_copy(&mut self) {
        if let Some(copying) = self.copying.take()
            && copying.is_of_query()
        {
            self.sync();
        }
    }

    async fn say(
        &mut self,
        reply: Reply,
        output: &mut BytesMut,
        to: &mut impl Send,
    ) -> std::io::Result<()> {
        let mut answers = Answers(output);
        match reply {
            Reply::Parsed => answers.parsed(),
            Reply::Bound => answers.bound(),
            Reply::Closed => answers.closed(),
            Reply::Empty => answers.empty(),
            Reply::NoParameters => answers.parameters(&[]),
            Reply::Parameters(statement) => answers.parameters(statement.parameters()),
            Reply::Columns(statement, formats) => {
                match statement.as_ref().and_then(|statement| statement.columns()) {
                    Some(columns) => answers.columns(columns, formats.codes()),
                    None => answers.no_data(),
                }
            }
            Reply::CopyIn(statement) => {
                answers.copy_in(statement.copy_columns(), Format::Text);
            }
            Reply::More { portal, rows_max } => {
                return self.more(&portal, rows_max, output, to).await;
            }
            Reply::Executed(_) | Reply::Failed | Reply::Ready(_) => {}
        }
        Ok(())
    }

    fn ready(&mut self, syncs: u64, output: &mut BytesMut) {
        let mut answers = Answers(output);
        for (name, value) in self.sql.take_changed_parameters() {
            answers.parameter(&name, &value);
        }
        let status = self.sql.status();
        if status == TransactionStatus::Idle {
            self.portals.retain(|_, portal| portal.syncs > syncs);
        }
        answers.ready(status);
    }

    async fn executed(
        &mut self,
        execution: Execution,
        complete: Complete,
        output: &mut BytesMut,
        to: &mut impl Send,
    ) -> std::io::Result<()> {
        let Complete {
            tag,
            rows,
            notices,
            copy_out,
        } = complete;
        let mut answers = Answers(output);
        notices.iter().for_each(|notice| answers.notice(notice));
        if let Some(data) = copy_out {
            let columns = execution.statement.copy_columns();
            return send_copy(columns, &data, &tag, output, to).await;
        }
        let Some(rows) = rows else {
            answers.complete(&tag);
            return Ok(());
        };
        let columns = rows.columns.clone();
        if execution.described {
            answers.columns(&columns, Codes::default());
        }
        let mut rows = Portions::of(rows);
        let codes = execution.formats.codes();
        let (most, flag) = (execution.rows_max, &self.cancelled);
        let sent = send_rows(&columns, codes, &mut rows, most, flag, output, to).await?;
        let state = match sent {
            Sent::All(count) => {
                let mut answers = Answers(output);
                match tag.word {
                    // As many as were sent: more may have come than the statement has counted.
                    "SELECT" => answers.complete(&format_args!("SELECT {count}")),
                    _ => answers.complete(&tag),
                }
                PortalState::Done(tag.word.to_string())
            }
            Sent::Some => {
                Answers(output).suspended();
                PortalState::Ran(rows, tag.word.to_string())
            }
            Sent::Failed(error) => {
                tell(&error, output, to);
                PortalState::Done(tag.word.to_string())
            }
        };
        if let Some(portal) = execution
            .portal
            .and_then(|name| self.portals.get_mut(&name))
            && let PortalState::Queued = portal.state
        {
            portal.state = state;
        }
        Ok(())
    }

    async fn more(
        &mut self,
        name: &str,
        rows_max: usize,
        output: &mut BytesMut,
        to: &mut impl Send,
    ) -> std::io::Result<()> {
        let Some(portal) = self.portals.get_mut(name) else {
            tell(&unknown_portal(name), output, to);
            return Ok(());
        };
        let columns = portal.statement.as_ref().and_then(|one| one.columns());
        let codes = portal.formats.codes();
        let columns = columns.unwrap_or_default();
        let (rows, word) = match &mut portal.state {
            PortalState::Ran(rows, word) => (rows, word),
            PortalState::Done(word) => {
                Answers(output).complete(&format_args!("{word} 0"));
                return Ok(());
            }
            PortalState::New | PortalState::Queued => return Ok(()),
        };
        match send_rows(columns, codes, rows, rows_max, &self.cancelled, output, to).await? {
            Sent::All(count) => Answers(output).complete(&format_args!("{word} {count}")),
            Sent::Some => Answers(output).suspended(),
            Sent::Failed(error) => tell(&error, output, to),
        }
        Ok(())
    }
}

/// Says an error.
fn tell(error: &SqlError, output: &mut BytesMut, to: &mut impl Send) {
    Answers(output).error(Severity::Error, error);
    to.told(error);
}

/// How far rows were sent.
enum Sent {
    /// All that there were: so many now.
    All(usize),
    Some,
    Failed(SqlError),
}

async fn send_rows(
    columns: &[ResultColumn],
    formats: Codes<'_, 2>,
    rows: &mut Portions,
    most: usize,
    cancelled: &AtomicBool,
    output: &mut BytesMut,
    to: &mut impl Send,
) -> std::io::Result<Sent> {
    let (mut left, mut scratch) = (most, Scratch::default());
    loop {
        if cancelled.swap(false, Ordering::Relaxed) {
            let text = "canceling statement due to user request";
            return Ok(Sent::Failed(SqlError::new("57014", text)));
        }
        rows.ready().await;
        let portion = match rows.next(left) {
            Ok(portion) => portion,
            Err(error) => return Ok(Sent::Failed(error)),
        };
        let Some(portion) = portion else {
            return Ok(Sent::All(most - left));
        };
        let mut answers = Answers(output);
        for row in portion.rows() {
            answers.row(columns, formats, row, &mut scratch);
        }
        left -= portion.count();
        if output.len() >= ANSWER_BYTES {
            to.send(output).await?;
        }
        if left == 0 {
            return Ok(match rows.is_done() {
                true => Sent::All(most),
                false => Sent::Some,
            });
        }
    }
}

/// Sends what is copied out, a message for each line, as clients expect of rows.
async fn send_copy(
    columns: usize,
    data: &CopyData,
    tag: &impl std::fmt::Display,
    output: &mut BytesMut,
    to: &mut impl Send,
) -> std::io::Result<()> {
    Answers(output).copy_out(columns, Format::Text);
    for line in data.0.split_inclusive(|&byte| byte == b'\n') {
        Answers(output).copy_data(line);
        if output.len() >= ANSWER_BYTES {
            to.send(output).await?;
        }
    }
    let mut answers = Answers(output);
    answers.copy_done();
    answers.complete(tag);
    Ok(())
}

fn unknown_portal(name: &str) -> SqlError {
    SqlError::new("34000", format!("the portal {name:?} does not exist"))
}

fn too_many(what: &str) -> SqlError {
    let text = format!("a session has at most {STATEMENTS_MAX} {what}: close some");
    SqlError::new("53400", text)
}

fn protocol_violation(text: &str) -> SqlError {
    SqlError::new("08P01", text.to_string())
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}
