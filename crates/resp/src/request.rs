//! The procedure that runs commands in the database: it is registered, and each of its requests is a transaction of
//! its own.
//!
//! A flight's commands are requests of one batch, so that they share a commit group; `MULTI … EXEC` is one request.
//! The keys' states at `WATCH` are filled in while the batch runs, so that `WATCH`, `MULTI` and `EXEC` may come in one
//! flight.
//!
//! Invariants: a command that is refused leaves nothing behind. Alone it is undone. Among others of an `EXEC`, it has
//! changed nothing if Redis' rules refuse it; if the engine refuses it, the whole `EXEC` is undone. Tests: `model`,
//! `golden/transactions.txt`.

mod running;

pub(crate) use running::{Asked, Bare, Ran, Terms};

use crate::ahead::{self, Ahead};
use crate::blocking::{Place, WaitingCall};
use crate::channels::{Messages, Sending};
use crate::command::line::Line;
use crate::command::{CALLS, COUNTED, Command, FAST, MORE, streams, waiting};
use crate::data::{Hashes, Seen, State};
use crate::failure::Failure;
use crate::functions::Caller;
use crate::pending::Pending;
use crate::reply::Reply;
use crate::shared::Shared;
use sardonyx::Transaction;
use sardonyx::low_level::Committed;
use sardonyx::procedures::{Procedure, ProcedureError, TableSpace};
use sardonyx::rows::SpaceSnapshot;
use sardonyx_base::channels::Posting;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// A transaction of at most so many short commands is short.
const SHORT_STEPS_MAX: usize = 64;

/// A command on data, and its caller.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub command: &'static Command,
    pub line: Line,
    /// The caller, if the command calls functions.
    pub caller: Option<Arc<Caller>>,
}

/// The keys' states at a session's `WATCH`, by the databases and the keys.
pub(crate) type Watched = Arc<Mutex<HashMap<(u8, Vec<u8>), Seen>>>;

/// A transaction that a session asks for.
#[derive(Debug)]
pub(crate) struct Request {
    pub what: What,
    /// The database in which it begins.
    pub database: Selected,
    /// Milliseconds since 1970.
    pub now: i64,
    pub seed: u64,
    /// The most bytes of its answer.
    pub answer_bytes_max: usize,
    /// The memory that the answers of its session take.
    pub pending: Arc<Pending>,
    /// The hashes of the command's keys, computed when their memory is [asked for](crate::ahead).
    pub hashes: OnceCell<Hashes>,
    /// The client's place in queues, if the command finds nothing. The session owns the place: a request may outlive
    /// its answer.
    pub place: Option<Weak<Place>>,
    /// The session's number.
    pub client: u64,
    /// It reads in its turn, although it might read beside a long transaction: the client tracks what it reads.
    pub in_turn: bool,
}

/// The database of a session.
#[derive(Clone, Debug)]
pub(crate) enum Selected {
    Is(u8),
    /// The database that an `EXEC` with a `SELECT` selects, once it has run.
    By(Arc<AtomicU8>),
}

impl Selected {
    /// Its number, for a request before which all others of the session have run.
    #[inline]
    pub fn get(&self) -> u8 {
        match self {
            Selected::Is(database) => *database,
            Selected::By(database) => database.load(Ordering::Relaxed),
        }
    }
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) enum Answer {
    Reply(Reply),
    /// The same for a command that sends messages, which are given out when it is durable.
    Sends(Reply, Box<Sending>),
    /// It found nothing: its client waits.
    Waits,
    /// It has not run: the answers before it are to be sent first.
    Postponed(Box<(What, Selected)>),
}

impl Answer {
    /// With messages that are posted now.
    fn sends(self, messages: Messages, posting: &Arc<Posting>) -> Answer {
        match self {
            Answer::Reply(reply) if !messages.is_empty() => {
                Answer::Sends(reply, Box::new(messages.post(posting)))
            }
            answer => answer,
        }
    }

    /// Gives out the answer's messages, once their transaction is durable.
    pub fn given_out(self, give_out: fn(Sending)) -> Answer {
        match self {
            Answer::Sends(reply, sending) => {
                give_out(*sending);
                Answer::Reply(reply)
            }
            answer => answer,
        }
    }
}

/// The outcomes of the requests of a batch, in their order.
pub(crate) type Outcomes = Vec<Result<Answer, ProcedureError<Failure>>>;

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// One command.
    One(Call),
    /// Several, if the watched keys are unchanged. The last field receives the database that they select.
    All(Vec<Step>, Option<Watched>, Option<Arc<AtomicU8>>),
    /// Looks at keys.
    Watch(Line, Watched),
}

/// A command among several.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// On data.
    Call(Call),
    /// A step of the connection, which has its answer.
    Answered(Reply),
    /// Goes to another database.
    Select(u8),
}

/// The procedure.
#[derive(Debug)]
pub(crate) struct Commands {
    shared: Arc<Shared>,
}

impl Commands {
    pub fn new(shared: Arc<Shared>) -> Self {
        Commands { shared }
    }

    /// The state that the commands of all sessions share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Procedure for Commands {
    type Arguments = Request;
    type Output = Answer;
    type Error = Failure;
    type Located = ();

    fn name(&self) -> &str {
        "redis"
    }

    fn prefetch_all(&self, batch: &[Request], space: &TableSpace) {
        let calls = batch.iter().filter_map(Ahead::of);
        ahead::ask(&self.shared, calls, space);
    }

    fn locate(&self, _: &Request, _: &TableSpace) {}

    fn execute(
        &self,
        request: &Request,
        (): (),
        transaction: &mut Transaction<'_>,
    ) -> Result<Answer, Failure> {
        let (answer, messages) = self.answer(request, transaction, None)?;
        Ok(answer.sends(messages, &self.shared.posting))
    }
}

impl Commands {
    /// Runs a request in a state of the tables. Returns the messages that it sends, too.
    ///
    /// # Errors
    /// Why it is not done.
    #[inline]
    fn answer<S: State>(
        &self,
        request: &Request,
        state: &mut S,
        beside: Option<&Committed>,
    ) -> Result<(Answer, Messages), Failure> {
        let database = request.database.get();
        if let What::All(_, _, Some(behind)) = &request.what {
            // Also if it is not run.
            behind.store(database, Ordering::Relaxed);
        }
        let what = match &request.what {
            What::One(call) => Asked::One(call.bare(), request.hashes.get()),
            What::All(steps, watched, _) => Asked::All(steps, watched.as_ref()),
            What::Watch(line, watched) => Asked::Watch(line, watched),
        };
        let terms = Terms {
            shared: &self.shared,
            pending: &request.pending,
            now: request.now,
            answer_bytes_max: request.answer_bytes_max,
            client: request.client,
            beside,
        };
        let (stores, at) = (request.what.stores(), (request.seed, database));
        let Some(ran) = terms.run_if_room(what, stores, at, state)? else {
            let postponed = Box::new((request.what.clone(), request.database.clone()));
            return Ok((Answer::Postponed(postponed), Messages::default()));
        };
        let Ran {
            reply,
            messages,
            waits,
            behind,
        } = ran;
        if let (What::All(_, _, Some(after)), Reply::Array(_)) = (&request.what, &reply) {
            after.store(behind, Ordering::Relaxed);
        }
        if let (What::One(call), Some(place)) = (&request.what, &request.place)
            && matches!(reply, Reply::Null | Reply::NullArray)
            && let Some(place) = place.upgrade()
        {
            let call = call.waiting(request, database, waits);
            self.shared.blocked.wait(call, &place);
            return Ok((Answer::Waits, messages));
        }
        Ok((Answer::Reply(reply), messages))
    }

    /// Runs requests that [only read](What::only_reads) in the state committed before a long transaction. Their
    /// messages are posted by [`Beside::sent`], if their answers count.
    pub fn answer_beside(&self, requests: &[Request], committed: &Committed) -> Beside {
        let mut space: &SpaceSnapshot = committed.snapshot.space();
        let answers = requests
            .iter()
            .map(|request| self.answer(request, &mut space, Some(committed)));
        Beside(answers.collect())
    }
}

/// The outcomes of requests that only read, beside a long transaction.
#[derive(Debug)]
pub(crate) struct Beside(Vec<Result<(Answer, Messages), Failure>>);

impl Beside {
    /// The answers count: the messages are posted.
    pub fn sent(self, posting: &Arc<Posting>) -> Outcomes {
        let answers = self.0.into_iter().map(|answer| {
            let (answer, messages) = answer.map_err(ProcedureError::Aborted)?;
            Ok(answer.sends(messages, posting))
        });
        answers.collect()
    }
}

impl Request {
    /// True if it takes a short time, however much data there is.
    pub fn is_fast(&self) -> bool {
        self.what.is_fast() && !self.pending.is_long()
    }

    /// True if it has the stage for a short time, as far as its commands and their bytes tell, and those before it.
    pub fn is_short(&self) -> bool {
        self.what.is_short() && !self.pending.is_long()
    }
}

impl What {
    /// True if it can run beside a long transaction, since it changes nothing. The program's own functions need a
    /// transaction.
    pub fn only_reads(&self, shared: &Shared) -> bool {
        let reads = |call: &Call| call.only_reads(shared);
        match self {
            What::One(call) => reads(call),
            What::All(steps, ..) => steps.iter().all(|step| match step {
                Step::Call(call) => reads(call),
                Step::Answered(_) | Step::Select(_) => true,
            }),
            What::Watch(..) => true,
        }
    }

    /// True if it calls a function that may take long, or takes many elements: meanwhile, others read beside it.
    pub fn may_take_long(&self, shared: &Shared) -> bool {
        let may = |call: &Call| {
            call.command.is(CALLS | COUNTED)
                && (call.bare().takes_many() || call.may_take_long(shared))
        };
        match self {
            What::One(call) => may(call),
            What::All(steps, ..) => steps
                .iter()
                .any(|step| matches!(step, Step::Call(call) if may(call))),
            What::Watch(..) => false,
        }
    }

    /// As [`Request::is_fast`].
    fn is_fast(&self) -> bool {
        match self {
            What::One(call) => call.command.is(FAST),
            What::All(..) | What::Watch(..) => false,
        }
    }

    /// True if it has the stage for a short time, as far as its commands and their bytes tell.
    fn is_short(&self) -> bool {
        match self {
            What::One(call) => call.bare().is_short(),
            What::All(steps, ..) => {
                steps.len() <= SHORT_STEPS_MAX
                    && steps
                        .iter()
                        .all(|step| !matches!(step, Step::Call(call) if !call.bare().is_short()))
            }
            What::Watch(..) => true,
        }
    }

    /// True if it may increase the data stored.
    fn stores(&self) -> bool {
        let stores = |call: &Call| call.command.is(MORE);
        match self {
            What::One(call) => stores(call),
            What::All(steps, ..) => steps
                .iter()
                .any(|step| matches!(step, Step::Call(call) if stores(call))),
            What::Watch(..) => false,
        }
    }
}

impl Call {
    /// As [`What::only_reads`].
    pub fn only_reads(&self, shared: &Shared) -> bool {
        // A waiting command must see the entries behind its last read, so it reads in the writers' state.
        self.command.beside.is_some()
            && !(self.command.is(CALLS) && self.is_of_program(shared))
            && !waiting::may_wait(self.command, &self.line)
    }

    /// True if the program registered the function with the keyspace.
    fn is_of_program(&self, shared: &Shared) -> bool {
        shared.function(self.line.part(1)).is_some()
    }

    /// The same as it waits for its keys.
    fn waiting(&self, request: &Request, database: u8, line: Option<Line>) -> WaitingCall {
        let line = line.unwrap_or_else(|| self.line.clone().by_itself());
        WaitingCall {
            command: self.command,
            database,
            keys: waiting::waited_keys(self.command, &line),
            group: match self.command.name {
                "xreadgroup" => streams::group_of(&line).map(<[u8]>::to_vec),
                _ => None,
            },
            line,
            answer_bytes_max: request.answer_bytes_max,
            pending: request.pending.clone(),
        }
    }

    fn bare(&self) -> Bare<'_> {
        Bare {
            command: self.command,
            line: &self.line,
            caller: self.caller.as_deref(),
        }
    }

    fn may_take_long(&self, shared: &Shared) -> bool {
        let caller = self.caller.as_deref();
        let functions = caller.and_then(|caller| caller.functions.as_ref());
        functions.is_some_and(|functions| {
            functions.may_take_long(self.line.part(1)) && !self.is_of_program(shared)
        })
    }
}

#[cfg(test)]
mod tests;
