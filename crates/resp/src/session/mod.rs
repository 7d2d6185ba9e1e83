//! A session: one connection's side of the protocol, without the connection.
//!
//! ```text
//!   received ──▶ take ──▶ Flight ──▶ run ──▶ ┬ of the connection: answered here     ┐
//!                                            └ on data: requests of ONE batch ──▶ … ┴──▶ answers, in order
//! ```
//!
//! Whoever owns the socket reads into a buffer, takes what commands are there, runs them, and sends what was written.
//! Nothing is written before the whole flight is on stable storage.
//!
//! Invariants: an answer for each command, in their order; a command on data is answered when it, and all it can have
//! read, is durable (I1); between `MULTI` and `EXEC` commands are kept up to a bound.

mod answers;
mod blocking;
mod connection;
mod information;
mod listening;
mod options;

pub(crate) use connection::COMMANDS;
#[cfg(feature = "lua")]
pub(crate) use information::{REDIS_VERSION, REDIS_VERSION_NUMBER, time};
pub(crate) use listening::LISTENING;
pub(crate) use options::system_time;
pub use options::{Authenticate, Authenticated, Clock, Permission, SessionOptions, SystemClock};

use crate::command::line::{Decoder, Line, ProtocolError};
use crate::command::words::is;
use crate::command::{
    self, ADMIN, ALONE, CALLS, Command, MESSAGES, NO_KEYS, OPEN, WRITE, popping, subcommands,
};
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::pending::{Pending, SMALL_BYTES};
use crate::reply::{Reply, Version};
use crate::request::{Answer, Call, Caller, Outcomes, Request, Watched, What};
use blocking::Waits;
use bytes::BytesMut;
use listening::Listens;
use sardonyx_base::memory::{Budget, Share};
use sardonyx_base::random::{Random, system_random};
use std::sync::Arc;

/// Whether a connection goes on after a flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continue {
    /// It does.
    More,
    /// Send what was written, then close it.
    Close,
}

/// Commands that were received together.
#[derive(Debug, Default)]
pub struct Flight {
    /// What is left of the flight before.
    rest: Vec<Rest>,
    lines: Vec<Line>,
}

/// A command of a flight that was answered in part.
#[derive(Debug)]
struct Rest {
    what: RestOf,
    version: Version,
}

#[derive(Debug)]
enum RestOf {
    Answered(Reply),
    Postponed(What),
}

impl Flight {
    /// How many commands there are.
    pub fn len(&self) -> usize {
        self.rest.len() + self.lines.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.lines.is_empty()
    }

    /// The name of its first command: one of ours, so that it tells nothing of what was sent.
    pub fn first_name(&self) -> &'static str {
        let first = self.lines.first();
        let command = first.and_then(|line| command::find(line.part(0)));
        command.map_or("unknown", |command| command.name)
    }

    /// The commands, in their order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

/// One connection's session.
#[derive(Debug)]
pub struct Session {
    keyspace: Arc<Keyspace>,
    options: SessionOptions,
    id: u64,
    decoder: Decoder,
    /// What was wrong behind the commands that were taken last.
    failed: Option<ProtocolError>,
    version: Version,
    name: Vec<u8>,
    /// The name and the version of the client's library.
    library: (Vec<u8>, Vec<u8>),
    /// When the session began, in milliseconds since 1970.
    since: i64,
    permission: Option<Permission>,
    /// Who calls functions.
    caller: Arc<Caller>,
    /// Between `MULTI` and `EXEC`.
    queue: Option<Queue>,
    watched: Option<Watched>,
    listens: Listens,
    waits: Waits,
    /// The memory of the last `EXEC`'s commands, until the session answers them.
    executed: Option<Share>,
    /// The memory of the answer to a client that waited, until it is sent.
    told: Option<Share>,
    random: Random,
    errors: u64,
    pending: Arc<Pending>,
    /// What is left of the last flight, and whether the connection ends behind it.
    rest: Vec<Rest>,
    end: Continue,
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
struct Queue {
    calls: Vec<Call>,
    bytes: usize,
    /// Their share of the memory of all sessions.
    share: Option<Share>,
    /// One of them was refused, so `EXEC` will be.
    refused: bool,
}

impl Queue {
    /// Keeps a command.
    ///
    /// # Errors
    /// That would be more than so many bytes, or there is no memory for it: `EXEC` will be refused.
    fn push(&mut self, call: Call, bytes_max: usize, memory: &Arc<Budget>) -> Result<(), Failure> {
        self.bytes = self
            .bytes
            .saturating_add(call.line.bytes() + size_of::<Call>());
        self.check(bytes_max, memory).inspect_err(|_| {
            self.refused = true;
            self.calls = Vec::new();
            self.share = None;
        })?;
        // What it was received into is not kept with it.
        self.calls.push(Call {
            line: call.line.by_itself(),
            ..call
        });
        Ok(())
    }

    fn check(&mut self, bytes_max: usize, memory: &Arc<Budget>) -> Result<(), Failure> {
        if self.bytes > bytes_max {
            return Err(Failure::Said(format!(
                "ERR more than {bytes_max} bytes between MULTI and EXEC"
            )));
        }
        if self.bytes > SMALL_BYTES {
            let new = || Share::of(memory.clone());
            self.share.get_or_insert_with(new).cover(self.bytes)?;
        }
        Ok(())
    }
}

/// What becomes of a command.
enum Planned {
    Answered(Reply),
    /// By the next outcome of the batch.
    Asked,
}

/// What a command is at first sight.
enum Plan {
    Planned(Planned),
    /// One of the connection, for which somebody may have to be waited.
    OfConnection(&'static Command, Line),
}

impl Session {
    /// A session of a new connection.
    pub fn new(keyspace: Arc<Keyspace>, options: SessionOptions) -> Session {
        let seed = options.seed.unwrap_or_else(system_random);
        Session {
            id: keyspace.next_session(),
            decoder: Decoder::new(options.command_bytes_max),
            failed: None,
            version: Version::default(),
            name: Vec::new(),
            library: Default::default(),
            since: options.clock.now(),
            permission: options.permission_without_password(),
            caller: caller(options::DEFAULT_USER, &options),
            queue: None,
            watched: None,
            listens: Listens::default(),
            waits: Waits::default(),
            executed: None,
            told: None,
            random: Random::new(seed),
            errors: 0,
            pending: Arc::new(Pending::new(
                options.flight_answer_bytes_max,
                options.memory.clone(),
            )),
            rest: Vec::new(),
            end: Continue::More,
            keyspace,
            options,
        }
    }

    /// A number that no other session of the keyspace has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Takes the whole commands from the front of what was received: as many as are there, up to the bounds of
    /// [`SessionOptions`], and up to the one by which a client says who it is. An empty flight asks for more bytes. If the
    /// flight is full there may be more commands; run it and take again.
    ///
    /// A client that waits for elements is answered before more commands are taken: then the flight is empty.
    ///
    /// If the answers of the flight before were so large that a part of its commands waits for them to be sent, those are
    /// the flight.
    ///
    /// # Errors
    /// What is no command. Those before it were taken by the call before. Send
    /// [`ProtocolError`]'s text behind `-ERR `, as [`Session::refuse`] writes it, and close the connection.
    pub fn take(&mut self, input: &mut BytesMut) -> Result<Flight, ProtocolError> {
        if !self.rest.is_empty() {
            return Ok(Flight {
                rest: std::mem::take(&mut self.rest),
                lines: Vec::new(),
            });
        }
        if self.waits_for_elements() {
            return Ok(Flight::default());
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut flight = Flight::default();
        let mut bytes = 0;
        let command_bytes_max = self.command_bytes_max();
        self.decoder.set_command_bytes_max(command_bytes_max);
        while flight.lines.len() < self.options.flight_commands_max
            && bytes < self.options.flight_bytes_max
        {
            match self.decoder.next(input).and_then(not_http) {
                Ok(Some(line)) => {
                    bytes += line.bytes();
                    // What follows is of somebody who is known then, or waits for the answer.
                    let is_last = !self.is_known() && says_who(&line) || may_wait(&line);
                    flight.lines.push(line);
                    if is_last {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    let error = self.of_unknown(error);
                    if flight.is_empty() {
                        return Err(error);
                    }
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(flight)
    }

    /// Whether the client has said who it is, or need not.
    pub fn is_known(&self) -> bool {
        self.permission.is_some()
    }

    fn command_bytes_max(&self) -> usize {
        let all = self.options.command_bytes_max;
        match self.is_known() {
            true => all,
            false => all.min(self.options.unknown_bytes_max),
        }
    }

    /// Says of a bound that is another one for who is known that it is.
    fn of_unknown(&self, error: ProtocolError) -> ProtocolError {
        match error {
            ProtocolError::Command { limit } if !self.is_known() => {
                ProtocolError::Unauthenticated { limit }
            }
            error => error,
        }
    }

    /// Whether a flight only reads, so that it waits for no long transaction.
    pub fn only_reads(&self, flight: &Flight) -> bool {
        let shared = self.keyspace.shared();
        let rest = flight.rest.iter().all(|rest| match &rest.what {
            RestOf::Answered(_) => true,
            RestOf::Postponed(what) => what.only_reads(shared),
        });
        let line_reads = |line: &Line| match command::find(line.part(0)) {
            Some(command) if command.name == "exec" => self.queue.as_ref().is_none_or(|queue| {
                let mut calls = queue.calls.iter();
                calls.all(|call| call.only_reads(shared))
            }),
            Some(command) => {
                let call = |line| Call {
                    command,
                    line,
                    caller: None,
                };
                command.run.is_none()
                    || self.queue.is_some()
                    || call(line.clone()).only_reads(shared)
            }
            None => true,
        };
        rest && flight.lines.iter().all(line_reads)
    }

    /// Writes the answer to what was no command.
    pub fn refuse(&self, error: &ProtocolError, output: &mut BytesMut) {
        Reply::Error(format!("ERR {error}")).write(self.version, output);
    }

    /// Whether what is received cannot be a command, now that the ones before are answered: [`Session::take`] will say
    /// so, also without more bytes.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Runs a flight and appends the answers, in order, when all of it is durable. Send them, and take again.
    pub async fn run(&mut self, flight: Flight, output: &mut BytesMut) -> Continue {
        // What was answered before is sent.
        self.pending.release();
        self.executed = None;
        self.told = None;
        let now = self.options.clock.now();
        let mut requests = Vec::with_capacity(flight.len());
        let mut planned = Vec::with_capacity(flight.len());
        for Rest { what, version } in flight.rest {
            let plan = match what {
                RestOf::Answered(reply) => Planned::Answered(reply),
                RestOf::Postponed(what) => {
                    requests.push(self.request(what, now));
                    Planned::Asked
                }
            };
            planned.push((plan, version));
        }
        for line in flight.lines {
            let plan = match self.plan(line, now, &mut requests) {
                Plan::Planned(plan) => plan,
                Plan::OfConnection(command, line) => {
                    if command.name == "quit" {
                        self.end = Continue::Close;
                    }
                    let plan = self.of_connection(command, &line, now, &mut requests);
                    plan.await
                }
            };
            planned.push((plan, self.version));
            if self.end == Continue::Close {
                break;
            }
        }
        let outcomes = match requests.is_empty() {
            true => Ok(Vec::new()),
            false => self.keyspace.answer(requests, self.id).await,
        };
        self.write_answers(planned, outcomes, output);
        if !self.rest.is_empty() {
            return Continue::More;
        }
        self.tell(output);
        self.end
    }

    /// Writes the answers, up to the first command that is postponed, and keeps the rest.
    fn write_answers(
        &mut self,
        planned: Vec<(Planned, Version)>,
        outcomes: Result<Outcomes, sardonyx::Error>,
        output: &mut BytesMut,
    ) {
        let mut outcomes = outcomes.map(Vec::into_iter);
        for (plan, version) in planned {
            let answer = match plan {
                Planned::Answered(reply) => Answer::Reply(reply),
                Planned::Asked => match &mut outcomes {
                    Ok(outcomes) => answers::of_outcome(outcomes.next()),
                    Err(error) => {
                        self.end = answers::end_after(error);
                        Answer::Reply(answers::of_unknown_fate(error))
                    }
                },
            };
            let what = match answer {
                // It is the last of its flight.
                Answer::Waits => {
                    self.begin_to_wait();
                    continue;
                }
                Answer::Postponed(what) => RestOf::Postponed(*what),
                // Whose messages were given out.
                Answer::Sends(reply, _) | Answer::Reply(reply) if self.rest.is_empty() => {
                    self.errors += u64::from(reply.is_error());
                    reply.write(version, output);
                    continue;
                }
                Answer::Sends(reply, _) | Answer::Reply(reply) => RestOf::Answered(reply),
            };
            self.rest.push(Rest { what, version });
        }
    }

    /// What was written is sent: its memory is free.
    pub fn sent(&mut self) {
        self.told = None;
        self.pending.release();
    }

    /// How many commands were answered with errors since this was asked last.
    pub fn take_errors(&mut self) -> u64 {
        std::mem::take(&mut self.errors)
    }

    /// What becomes of a command.
    fn plan(&mut self, line: Line, now: i64, requests: &mut Vec<Request>) -> Plan {
        let answered = |reply| Plan::Planned(Planned::Answered(reply));
        let command = match self.admit(&line) {
            Ok(command) => command,
            Err(failure) => return answered(self.refuse_queue(&line, &failure)),
        };
        let is_at_once = matches!(
            command.name,
            "multi" | "exec" | "discard" | "watch" | "quit" | "reset"
        );
        // Who sends it calls, also if it is run later.
        let caller = command.is(CALLS).then(|| Arc::clone(&self.caller));
        let call = |line| Call {
            command,
            line,
            caller,
        };
        if let (Some(queue), false) = (&mut self.queue, is_at_once) {
            let limit = self.options.transaction_bytes_max;
            let reply = match queue.push(call(line), limit, &self.options.memory) {
                Ok(()) => Reply::Simple("QUEUED"),
                Err(failure) => Reply::Error(failure.to_string()),
            };
            return answered(reply);
        }
        if command.run.is_none() {
            return Plan::OfConnection(command, line);
        }
        if popping::may_wait(command, &line) {
            self.prepare_to_wait(command, &line, now);
        }
        let what = What::One(call(line));
        requests.push(self.request(what, now));
        Plan::Planned(Planned::Asked)
    }

    /// The answer to a command that is refused before it runs: the commands since `MULTI` will not run, either. A refused
    /// `EXEC` ends the transaction.
    fn refuse_queue(&mut self, line: &Line, failure: &Failure) -> Reply {
        let text = failure.to_string();
        let is_exec = command::find(line.part(0)).is_some_and(|found| found.name == "exec");
        match &mut self.queue {
            Some(_) if is_exec => {
                self.queue = None;
                self.watched = None;
                let reason = text.strip_prefix("ERR ").unwrap_or(&text);
                Reply::Error(format!(
                    "EXECABORT Transaction discarded because of: {reason}"
                ))
            }
            Some(queue) => {
                queue.refused = true;
                Reply::Error(text)
            }
            None => Reply::Error(text),
        }
    }

    fn request(&mut self, what: What, now: i64) -> Request {
        let seed = self.random.next();
        let place = self.place_of(&what);
        Request {
            what,
            now,
            seed,
            answer_bytes_max: self.options.answer_bytes_max,
            pending: self.pending.clone(),
            place,
        }
    }

    /// The command of a line, if it may be run.
    fn admit(&self, line: &Line) -> Result<&'static Command, Failure> {
        let Some(command) = command::find(line.part(0)) else {
            return Err(unknown(line));
        };
        if self.permission.is_none() && !command.is(OPEN) {
            return Err(Failure::Told("NOAUTH Authentication required."));
        }
        if !command.takes(line.len()) {
            return Err(command.wrong_arguments());
        }
        subcommands::check(command, line)?;
        let is_for_admin = is_for_admin(command, line);
        let is_allowed = match self.permission {
            Some(Permission::Nothing) => {
                let tells_of_keys = matches!(command.name, "info" | "function" | "lastsave");
                let is_of_connection =
                    command.run.is_none() && command.keys == NO_KEYS && !command.is(MESSAGES);
                is_of_connection && !tells_of_keys && !is_for_admin
            }
            // Who may only read begins no checkpoint, either.
            Some(Permission::Read) => {
                !(command.is(WRITE) || is_for_admin && command.name != "config")
            }
            Some(Permission::Write) | None => true,
        };
        if !is_allowed {
            let name = match command.is(ADMIN) {
                false if is_for_admin => subcommands::full_name(command, line),
                _ => command.name.to_string(),
            };
            return Err(Failure::Said(format!(
                "NOPERM User has no permissions to run the '{name}' command"
            )));
        }
        let changes = command.is(WRITE) || matches!(command.name, "save" | "bgsave");
        if changes && self.keyspace.only_reads() {
            return Err(Failure::Told(
                "READONLY You can't write against a read only replica.",
            ));
        }
        if command.is(MESSAGES) && self.keyspace.only_reads() {
            return Err(Failure::Told(
                "ERR messages are sent and heard at the server that has the database open: connect to that one",
            ));
        }
        if self.keyspace.only_reads() && popping::may_wait(command, line) {
            return Err(Failure::Told(
                "ERR a client waits at the server that has the database open: connect to that one, or read without BLOCK",
            ));
        }
        self.check_listens(command, line)?;
        if self.queue.is_some() && command.is(ALONE) {
            return Err(Failure::Told(
                "ERR Command not allowed inside a transaction",
            ));
        }
        Ok(command)
    }
}

/// What calls of a user are made with.
fn caller(user: &str, options: &SessionOptions) -> Arc<Caller> {
    Arc::new(Caller {
        user: user.to_string(),
        functions: options.functions.clone(),
    })
}

/// Whether a command may say who the client is.
fn says_who(line: &Line) -> bool {
    let command = command::find(line.part(0));
    command.is_some_and(|command| matches!(command.name, "auth" | "hello"))
}

/// Whether a command is for who looks after the server. As in Redis, `CLIENT UNBLOCK` is: it ends what another client waits
/// for.
fn is_for_admin(command: &Command, line: &Line) -> bool {
    command.is(ADMIN) || command.name == "client" && is(line.part(1), "unblock")
}

/// Whether a command may wait.
fn may_wait(line: &Line) -> bool {
    let command = command::find(line.part(0));
    command.is_some_and(|command| popping::may_wait(command, line))
}

/// Refuses the first line of an HTTP request with a body, and the header that every request has.
///
/// A web page of any site can make a browser send such a request to a port on the user's own machine, with commands as
/// its body. Redis ends the connection at the same two words.
fn not_http(line: Option<Line>) -> Result<Option<Line>, ProtocolError> {
    let is_http = |line: &Line| {
        let word = line.part(0);
        word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:")
    };
    match line {
        Some(line) if is_http(&line) => Err(ProtocolError::Http),
        line => Ok(line),
    }
}

/// What Redis says of a command that it does not have: so many bytes of its name, and of its arguments.
fn unknown(line: &Line) -> Failure {
    const SHOWN_MAX: usize = 128;
    let shown = |part: &[u8], most: usize| {
        String::from_utf8_lossy(&part[..part.len().min(most)]).into_owned()
    };
    let mut arguments = String::new();
    for part in line.parts(1) {
        let Some(most @ 1..) = SHOWN_MAX.checked_sub(arguments.len()) else {
            break;
        };
        arguments.push_str(&format!("'{}' ", shown(part, most)));
    }
    let name = shown(line.part(0), SHOWN_MAX);
    Failure::Said(format!(
        "ERR unknown command '{name}', with args beginning with: {arguments}"
    ))
}
