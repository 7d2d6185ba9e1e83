//! A session: one connection's side of the protocol, without the connection.
//!
//! ```text
//!   received ──▶ take ──▶ Flight ──▶ run ──▶ ┬ of the connection: answered here              ┐
//!                                            ├ on data: requests of one batch                ┼──▶ answers, in order
//!                                            └ only short ones on data: one turn (`direct`) ─┘
//! ```
//!
//! The owner of the socket reads into a buffer, takes the whole commands, runs them, and sends the output. Nothing is
//! written before the whole flight is on stable storage.
//!
//! Invariants: an answer for each command, in their order. A command on data is answered when it, and all it can have
//! read, is durable (I1). Between `MULTI` and `EXEC` commands are kept up to a bound. Tests: `arbitrary`, `durability`,
//! `bounds`.

mod addresses;
mod admission;
mod answers;
mod blocking;
mod clients;
mod command_about;
mod connection;
mod counted;
mod direct;
mod flight;
mod information;
mod listening;
mod monitor;
mod options;
mod queue;
mod settings;
mod slow;
mod tracking;

pub use flight::Flight;
#[cfg(feature = "lua")]
pub(crate) use information::{REDIS_VERSION, REDIS_VERSION_NUMBER, time};
#[cfg(feature = "lua")]
pub(crate) use monitor::monitored;
pub(crate) use options::system_time;
pub use options::{Authenticate, Authenticated, Clock, Permission, SessionOptions, SystemClock};

use crate::clients::{Client, CountedIn};
use crate::command::line::{Decoder, Line, ProtocolError};
use crate::command::{self, BLOCKING, CALLS, Command, Named, subcommands, waiting};
use crate::functions::Caller;
use crate::keyspace::Keyspace;
use crate::pending::Pending;
use crate::reply::{Reply, Version};
use crate::request::{Answer, Call, Request, Selected, Watched, What};
use crate::statistics::Tally;
use blocking::Waits;
use bytes::BytesMut;
use clients::Answers;
use counted::Counted;
use flight::{Rest, RestOf, may_wait, not_http, says_who};
use listening::Listens;
use queue::Queue;
use sardonyx_base::memory::Share;
use sardonyx_base::random::{Random, system_random};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

/// Room is made for at most so many commands of a flight that is like the last one.
const LINES_RESERVED_MAX: usize = 64;

/// The state of a connection after a flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continue {
    /// The connection stays open.
    More,
    /// Send the output, then close the connection.
    Close,
}

/// One connection's session.
#[derive(Debug)]
pub struct Session {
    keyspace: Arc<Keyspace>,
    options: SessionOptions,
    id: u64,
    decoder: Decoder,
    /// The error behind the commands that were taken last.
    failed: Option<ProtocolError>,
    version: Version,
    /// As others see it.
    client: Arc<Client>,
    permission: Option<Permission>,
    /// The client as a caller of functions.
    caller: Arc<Caller>,
    database: Selected,
    /// Between `MULTI` and `EXEC`.
    queue: Option<Queue>,
    watched: Option<Watched>,
    listens: Listens,
    /// While it is monitoring.
    monitoring: Option<CountedIn>,
    /// While it tracks keys.
    tracking: Option<Box<tracking::Tracking>>,
    answers: Answers,
    waits: Waits,
    /// A command that waits for the end of a pause.
    held: Option<Line>,
    /// Commands of the connection in the last `EXEC`, with their places, which are answered when it has run.
    deferred: Vec<(usize, Call)>,
    /// The memory of the last `EXEC`'s commands, until the session answers them.
    executed: Option<Share>,
    /// The memory of the answer to a client that waited, until it is sent.
    told: Option<Share>,
    /// The memory that answers of commands of the connection take, until they are sent.
    answered: answers::Taken,
    random: Random,
    errors: u64,
    /// The commands of the flight that is answered.
    tally: Tally,
    /// The commands of the `EXEC` that was planned last.
    executing: Vec<Named>,
    pending: Arc<Pending>,
    /// Room for answers that wait until they are durable.
    spare: BytesMut,
    /// The commands that the last flight had.
    flight_lines: usize,
    /// The rest of the last flight; and the state of the connection behind it.
    rest: Vec<Rest>,
    end: Continue,
}

/// The plan of a command that is not refused.
enum Planned {
    Answered(Reply),
    /// By the next outcome of the batch.
    Asked,
}

/// A command of a flight that runs.
struct Due {
    plan: Planned,
    /// `None` if its client wants no answer.
    version: Option<Version>,
    counted: Counted,
}

/// The first classification of a command.
enum Plan {
    Planned(Planned, Counted),
    /// One of the connection, which may have to be awaited.
    OfConnection(&'static Command, Line),
}

impl Session {
    /// A session of a new connection.
    pub fn new(keyspace: Arc<Keyspace>, options: SessionOptions) -> Session {
        let seed = options.seed.unwrap_or_else(system_random);
        let id = keyspace.next_session();
        let caller = caller(options::DEFAULT_USER, &options);
        let (since, address) = (options.clock.now(), options.address);
        let clients = &keyspace.shared().clients;
        Session {
            id,
            client: clients.enter(id, since, address, caller.clone()),
            decoder: Decoder::new(options.command_bytes_max),
            failed: None,
            version: Version::default(),
            permission: options.permission_without_password(),
            caller,
            database: Selected::Is(0),
            queue: None,
            watched: None,
            listens: Listens::default(),
            monitoring: None,
            tracking: None,
            answers: Answers::default(),
            waits: Waits::default(),
            held: None,
            deferred: Vec::new(),
            executed: None,
            told: None,
            answered: answers::Taken::default(),
            random: Random::new(seed),
            errors: 0,
            tally: Tally::default(),
            executing: Vec::new(),
            pending: Arc::new(Pending::new(
                options.flight_answer_bytes_max,
                options.memory.clone(),
            )),
            spare: BytesMut::new(),
            flight_lines: 0,
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

    /// Takes the whole commands from the front of the input, up to the bounds of [`SessionOptions`]. It stops behind a
    /// command that authenticates or may wait, and behind an `EXEC` with commands of the connection. An empty flight asks for more bytes. If the flight is full there may be more commands; run
    /// it and take again.
    ///
    /// A client that waits for elements is answered before more commands are taken: then the flight is empty. The
    /// flight is also empty while all clients are paused.
    ///
    /// If large answers of the flight before made some of its commands wait, those commands are the flight.
    ///
    /// # Errors
    /// The bytes are no command. The call before has taken the commands before them. Send [`ProtocolError`]'s text
    /// behind `-ERR `, as [`Session::refuse`] writes it, and close the connection.
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
        if self.held.is_none()
            && let Some(error) = self.failed.take()
        {
            return Err(error);
        }
        let command_bytes_max = self.command_bytes_max();
        self.decoder.set_command_bytes_max(command_bytes_max);
        let (mut flight, mut bytes) = self.take_common(input);
        while flight.lines.len() < self.options.flight_commands_max
            && bytes < self.options.flight_bytes_max
        {
            let next = match self.held.take() {
                Some(line) => Ok(Some(line)),
                None => self.decoder.next(input).and_then(not_http),
            };
            match next {
                Ok(Some(line)) => {
                    if self.is_paused(&line) {
                        self.held = Some(line);
                        self.client.waits(true);
                        break;
                    }
                    bytes += line.bytes();
                    // The commands behind are of an authenticated client then, or wait for the answer.
                    let is_last = !self.is_known() && says_who(&line)
                        || may_wait(&line)
                        || self.acts_behind(&line, &flight);
                    self.make_room(&mut flight);
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
        if !flight.is_empty() {
            self.flight_lines = flight.lines.len();
        }
        Ok(flight)
    }

    /// Takes whole commands on data from the front of the input, up to the first one of which more has to be asked, and their
    /// number of bytes. Most flights have no others.
    fn take_common(&mut self, input: &mut BytesMut) -> (Flight, usize) {
        let (mut flight, mut bytes) = (Flight::default(), 0);
        let clients = &self.keyspace.shared().clients;
        let is_asked = !self.is_known()
            || self.held.is_some()
            || clients.paused(|| self.options.clock.now()).is_some();
        if is_asked {
            return (flight, bytes);
        }
        let is_common = |name: &[u8]| {
            let command = command::find(name);
            command.is_some_and(|command| command.run.is_some() && !command.is(BLOCKING))
        };
        while flight.lines.len() < self.options.flight_commands_max
            && bytes < self.options.flight_bytes_max
            && let Some(line) = self.decoder.next_whole(input, is_common)
        {
            bytes += line.bytes();
            self.make_room(&mut flight);
            flight.lines.push(line);
        }
        (flight, bytes)
    }

    /// Makes room for the first command of a flight, and others: a client's flights are mostly alike.
    #[inline]
    fn make_room(&self, flight: &mut Flight) {
        if flight.lines.is_empty() {
            let room = self.flight_lines.clamp(1, LINES_RESERVED_MAX);
            flight.lines.reserve_exact(room);
        }
    }

    /// True if a line is an `EXEC` whose commands of the connection act when it has run: nothing is planned before.
    fn acts_behind(&self, line: &Line, flight: &Flight) -> bool {
        let acts = |command: &Command| {
            command.run.is_none()
                && !matches!(
                    command.name,
                    "multi" | "exec" | "discard" | "watch" | "select"
                )
        };
        let queued = self.queue.iter().flat_map(|queue| &queue.calls);
        line.part(0).eq_ignore_ascii_case(b"exec")
            && (queued.map(|call| call.command).any(acts)
                || flight
                    .lines
                    .iter()
                    .filter_map(|line| command::find(line.part(0)))
                    .any(acts))
    }

    /// True if the client is authenticated, or need not be.
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

    /// Turns the bound of unauthenticated clients into its own error.
    fn of_unknown(&self, error: ProtocolError) -> ProtocolError {
        match error {
            ProtocolError::Command { limit } if !self.is_known() => {
                ProtocolError::Unauthenticated { limit }
            }
            error => error,
        }
    }

    /// True if a flight only reads, so that it waits for no long transaction.
    pub fn only_reads(&self, flight: &Flight) -> bool {
        // A client that tracks keys reads them in its turn.
        if self.tracking.is_some() {
            return false;
        }
        let shared = self.keyspace.shared();
        let rest = flight.rest.iter().all(|rest| match &rest.what {
            RestOf::Answered(_) => true,
            RestOf::Postponed(what, _) => what.only_reads(shared),
        });
        let line_reads = |line: &Line| match command::of_line(line) {
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

    /// Writes the answer to bytes that are no command.
    pub fn refuse(&self, error: &ProtocolError, output: &mut BytesMut) {
        Reply::Error(format!("ERR {error}")).write(self.version, output);
    }

    /// True if the input cannot be a command, now that the ones before are answered: [`Session::take`] will fail, also
    /// without more bytes.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some() && self.held.is_none()
    }

    /// Runs a flight and appends the answers, in order, when all of it is durable. Send them, and take again.
    pub async fn run(&mut self, flight: Flight, output: &mut BytesMut) -> Continue {
        // The earlier answers are sent.
        self.pending.release();
        self.executed = None;
        self.told = None;
        self.answered.release(flight.rest.is_empty());
        let (now, flight_began) = (self.options.clock.now(), Instant::now());
        match self.run_directly(&flight, now) {
            Some((ticket, direct)) => {
                self.note_last(flight.lines.last(), now);
                let durable = ticket.await;
                self.give_directly(direct, &flight, durable, output);
            }
            None => self.run_planned(flight, now, output).await,
        }
        self.keep_slow();
        self.add_counts(flight_began, now);
        // The rest may have scripts that read.
        if !self.rest.is_empty() {
            return Continue::More;
        }
        if self.tracking.is_some() {
            let have_read = self.pending.take_script_read();
            self.settle_scripts(have_read);
        }
        self.tell(output);
        self.end
    }

    /// Runs a flight as requests of one batch.
    async fn run_planned(&mut self, flight: Flight, now: i64, output: &mut BytesMut) {
        let mut requests = Vec::with_capacity(flight.len());
        let mut planned = Vec::with_capacity(flight.len());
        for rest in flight.rest {
            let Rest {
                what,
                version,
                counted,
            } = rest;
            let plan = match what {
                RestOf::Answered(reply) => Planned::Answered(reply),
                RestOf::Postponed(what, database) => {
                    let request = self.request(what, now);
                    requests.push(Request {
                        database,
                        ..request
                    });
                    Planned::Asked
                }
            };
            planned.push(Due {
                plan,
                version,
                counted,
            });
        }
        let last = flight.lines.last().cloned();
        for line in flight.lines {
            let (plan, counted) = match self.plan(line, now, &mut requests) {
                Plan::Planned(plan, counted) => (plan, counted),
                Plan::OfConnection(command, line) => {
                    if command.name == "quit" {
                        self.end = Continue::Close;
                    }
                    let began = Instant::now();
                    let plan = self.of_connection(command, &line, now, &mut requests);
                    let plan = plan.await;
                    self.note_slow(command, &line, began);
                    let named = subcommands::named(command, &line);
                    let counted = match command.name {
                        "exec" => Counted::Exec(named, std::mem::take(&mut self.executing)),
                        _ => Counted::Ran(named),
                    };
                    (plan, counted)
                }
            };
            let version = self.version_of_answer();
            planned.push(Due {
                plan,
                version,
                counted,
            });
            if self.client.is_ended() {
                self.end = Continue::Close;
            }
            if self.end == Continue::Close {
                break;
            }
        }
        self.note_last(last.as_ref(), now);
        let mut outcomes = match requests.is_empty() {
            true => Ok(Vec::new()),
            false => self.keyspace.answer(requests, self.id).await,
        };
        if !self.deferred.is_empty() {
            self.answer_deferred(&mut outcomes, now).await;
        }
        self.write_answers(planned, outcomes, output);
    }

    /// Call this when the output is sent: its memory is free.
    pub fn sent(&mut self) {
        self.told = None;
        self.answered.release(self.rest.is_empty());
        self.pending.release();
    }

    /// The number of commands answered with errors since the last call.
    pub fn take_errors(&mut self) -> u64 {
        std::mem::take(&mut self.errors)
    }

    /// Plans a command.
    fn plan(&mut self, line: Line, now: i64, requests: &mut Vec<Request>) -> Plan {
        let answered = |reply, counted| Plan::Planned(Planned::Answered(reply), counted);
        let command = match self.admit(&line) {
            Ok(command) => command,
            Err(failure) => {
                return answered(self.refuse_queue(&line, &failure), Counted::refused(&line));
            }
        };
        let is_at_once = matches!(
            command.name,
            "multi" | "exec" | "discard" | "watch" | "quit" | "reset"
        );
        // The sender is the caller, also if the command runs later.
        let caller = command.is(CALLS).then(|| Arc::clone(&self.caller));
        let call = |line| Call {
            command,
            line,
            caller,
        };
        if let (Some(queue), false) = (&mut self.queue, is_at_once) {
            let limit = self.options.transaction_bytes_max;
            let named = subcommands::named(command, &line);
            return match queue.push(call(line), limit, &self.options.memory) {
                Ok(()) => answered(Reply::Simple("QUEUED"), Counted::Queued),
                Err(failure) => answered(
                    Reply::Error(failure.to_string()),
                    Counted::Refused(Some(named)),
                ),
            };
        }
        self.show(command, &line, now);
        if self.tracking.is_some() {
            self.track(command, &line);
            // As in Redis, a command of this name ends no choice.
            if !matches!(command.name, "client" | "multi" | "exec") {
                self.end_choice();
            }
        }
        if command.run.is_none() {
            return match self.answer_at_once(command, &line) {
                Some(reply) => answered(reply, Counted::Ran(subcommands::named(command, &line))),
                None => Plan::OfConnection(command, line),
            };
        }
        if waiting::may_wait(command, &line) {
            self.prepare_to_wait(command, &line, now);
        }
        let counted = Counted::Ran(subcommands::named(command, &line));
        let what = What::One(call(line));
        requests.push(self.request(what, now));
        Plan::Planned(Planned::Asked, counted)
    }

    fn request(&mut self, what: What, now: i64) -> Request {
        let seed = self.random.next();
        let place = self.place_of(&what);
        Request {
            what,
            database: self.database.clone(),
            now,
            seed,
            answer_bytes_max: self.options.answer_bytes_max,
            pending: self.pending.clone(),
            hashes: OnceCell::new(),
            place,
            client: self.id,
            in_turn: self.tracking.is_some(),
        }
    }
}

/// The caller for the calls of a user.
fn caller(user: &str, options: &SessionOptions) -> Arc<Caller> {
    Arc::new(Caller {
        user: user.to_string(),
        functions: options.functions.clone(),
    })
}
