//! Flights that run where they were parsed: short commands on data, while no other thread has the stage.
//!
//! ```text
//!   lines ──▶ admitted ──▶ turn ──▶ each a transaction, its answer behind the one before ──▶ durable ──▶ output
//! ```
//!
//! Requests of a batch own their commands and have their outcomes in a list, so that other threads can run them. Here
//! commands stay in the flight, and answers are written once. All other flights are planned: those with commands of the
//! connection, with commands that wait, call functions or may take long, and those of sessions that track keys.
//!
//! Invariants: the outcome is that of the same commands as requests. The output gets no answer before all that it can depend
//! on is durable (I1). Others wait while the flight has the turn: large answers are written behind it. A session has nothing
//! of a flight that is given up before it is durable.

use super::answers::{end_after, of_outcome, of_unknown_fate, write};
use super::counted::Counted;
use super::flight::{Flight, Rest, RestOf};
use super::{Answer, Continue, Session};
use crate::ahead::{self, Ahead};
use crate::channels::Sending;
use crate::command::line::Line;
use crate::command::{self, BLOCKING, CALLS, Command, MORE, subcommands};
use crate::data::Hashes;
use crate::failure::Failure;
use crate::reply::{Reply, Version};
use crate::request::{Asked, Bare, Call, Ran, Terms, What};
use crate::shared::Shared;
use crate::statistics::{End, Tally};
use bytes::BytesMut;
use sardonyx::low_level::Steps;
use sardonyx::procedures::{ProcedureError, TableSpace};
use sardonyx::{Error, Ticket, Transaction};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// A session keeps the memory of so many bytes of answers. It does so while its client is idle, too.
const BYTES_KEPT: usize = 2 << 10;
/// So many bytes of answers are written while the flight has the turn. Copying more would take long.
const WRITTEN_BYTES_MAX: usize = 64 << 10;

/// A flight that runs directly, or has run.
#[derive(Debug)]
pub(super) struct Direct {
    steps: Vec<Step>,
    answers: Answers,
    /// Messages to be given out with them.
    sendings: Vec<Sending>,
    /// The commands whose answers wait until the earlier ones are sent.
    rest: Vec<Rest>,
    tally: Tally,
    /// The number of answers that are errors.
    errors: u64,
    /// The number of steps with an answer, or a place in the rest. Steps behind one without are not answered.
    settled: usize,
}

/// Answers, until they may be sent.
#[derive(Debug, Default)]
struct Answers {
    written: BytesMut,
    /// The end of the last one that is whole.
    end: usize,
    /// Answers that are not written yet, each with its place among the written ones.
    later: Vec<(usize, Version, Reply)>,
}

#[derive(Debug)]
struct Step {
    command: &'static Command,
    hashes: OnceCell<Hashes>,
    /// `None` if its client wants no answer.
    version: Option<Version>,
}

/// The flight, while it has the turn.
struct Running<'s> {
    session: &'s mut Session,
    direct: &'s mut Direct,
    lines: &'s [Line],
    shared: &'s Shared,
    database: u8,
    now: i64,
}

impl Answers {
    /// Writes an answer; of a large one that its client wants the result is the version for [`Answers::write_later`].
    #[inline]
    fn write(&mut self, reply: &Reply, version: Option<Version>, own: Version) -> Option<Version> {
        if version.is_some() && self.end + reply.bytes() > WRITTEN_BYTES_MAX {
            return version;
        }
        write(reply, version, own, &mut self.written);
        self.end = self.written.len();
        None
    }

    #[cold]
    fn write_later(&mut self, reply: Reply, version: Version) {
        self.later.push((self.end, version, reply));
    }

    /// Forgets an answer that a panic left incomplete.
    fn forget_part(&mut self) {
        self.written.truncate(self.end);
    }

    /// Appends all to the output. Returns memory for others.
    #[inline]
    fn give(self, output: &mut BytesMut) -> BytesMut {
        let Answers {
            mut written, later, ..
        } = self;
        if later.is_empty() && output.is_empty() {
            std::mem::swap(output, &mut written);
            return written;
        }
        let mut from = 0;
        for (place, version, reply) in later {
            output.extend_from_slice(&written[from..place]);
            reply.write(version, output);
            from = place;
        }
        output.extend_from_slice(&written[from..]);
        written
    }
}

impl Session {
    /// Runs a flight of short commands on data. The ticket reports when all that its answers depend on is durable: then call
    /// [`Session::give_directly`]. `None` of other flights, and if another thread has the stage: nothing has run then.
    pub(super) fn run_directly(
        &mut self,
        flight: &Flight,
        now: i64,
    ) -> Option<(Ticket<()>, Direct)> {
        let is_simple = flight.rest.is_empty()
            && !flight.lines.is_empty()
            && self.rest.is_empty()
            && self.queue.is_none()
            && self.tracking.is_none()
            && !self.client.is_ended()
            && !self.pending.is_long()
            && !self.keyspace.shared().clients.are_watched();
        if !is_simple {
            return None;
        }
        // The first line tells of most flights if they run so. The others are admitted within the turn: if another thread has
        // it, they are admitted once, when they are planned.
        let first = self.runs_directly(flight.lines.first()?, None)?;
        let keyspace = Arc::clone(&self.keyspace);
        let turn = keyspace.free_turn()?;
        let mut steps = Vec::with_capacity(flight.lines.len());
        let mut command = first;
        for (number, line) in flight.lines.iter().enumerate() {
            if number > 0 {
                command = self.runs_directly(line, Some(command))?;
            }
            steps.push(Step {
                command,
                hashes: OnceCell::new(),
                version: None,
            });
        }
        for step in &mut steps {
            step.version = self.version_of_answer();
        }
        let mut direct = Direct {
            steps,
            answers: Answers {
                written: std::mem::take(&mut self.spare),
                ..Answers::default()
            },
            sendings: Vec::new(),
            rest: Vec::new(),
            tally: std::mem::take(&mut self.tally),
            errors: 0,
            settled: 0,
        };
        let ticket = turn.run_steps(&mut Running {
            database: self.database.get(),
            session: self,
            direct: &mut direct,
            lines: &flight.lines,
            shared: keyspace.shared(),
            now,
        });
        Some((ticket, direct))
    }

    /// The command of a line, if it runs in this way. The command of the line before was admitted.
    #[inline]
    fn runs_directly(
        &self,
        line: &Line,
        before: Option<&'static Command>,
    ) -> Option<&'static Command> {
        let command = match before {
            // Of a command with a key there is nothing more to ask: the session is as it was.
            Some(before) if before.keys.0 == 1 && command::is_of(before, line) => before,
            _ => self.admit(line).ok()?,
        };
        let bare = Bare {
            command,
            line,
            caller: None,
        };
        let is_direct = command.run.is_some() && !command.is(CALLS | BLOCKING) && bare.is_short();
        is_direct.then_some(command)
    }

    /// Appends the answers of a flight that [ran directly](Session::run_directly); after an error it is not known if its
    /// changes are durable.
    pub(super) fn give_directly(
        &mut self,
        direct: Direct,
        flight: &Flight,
        durable: Result<(), Error>,
        output: &mut BytesMut,
    ) {
        let mut memory = match durable {
            Ok(()) => {
                direct.sendings.into_iter().for_each(Sending::durable);
                let mut answers = direct.answers;
                if direct.settled < direct.steps.len() {
                    // A panic left a step without its answer, whose place the next one would take. Those before count.
                    answers.forget_part();
                    self.end = Continue::Close;
                } else {
                    self.rest = direct.rest;
                }
                self.tally = direct.tally;
                self.errors += direct.errors;
                answers.give(output)
            }
            Err(error) => {
                self.end = end_after(&error);
                for (step, line) in direct.steps.iter().zip(&flight.lines) {
                    let counted = Counted::Ran(subcommands::named(step.command, line));
                    let reply = of_unknown_fate(&error);
                    self.settle(&counted, &reply, step.version, output);
                }
                return;
            }
        };
        if memory.capacity() <= BYTES_KEPT {
            memory.clear();
            self.spare = memory;
        }
    }
}

impl Running<'_> {
    /// The rest of the flight waits until the answers so far are sent.
    fn postpone(&mut self, number: usize) {
        let call = Call {
            command: self.direct.steps[number].command,
            line: self.lines[number].clone(),
            caller: None,
        };
        let database = self.session.database.clone();
        self.keep(number, RestOf::Postponed(What::One(call), database));
    }

    fn keep(&mut self, number: usize, what: RestOf) {
        if number != self.direct.settled {
            return;
        }
        let rest = Rest {
            what,
            version: self.direct.steps[number].version,
            counted: self.counted(number),
        };
        self.direct.rest.push(rest);
        self.direct.settled += 1;
    }

    #[inline]
    fn counted(&self, number: usize) -> Counted {
        let step = &self.direct.steps[number];
        Counted::Ran(subcommands::named(step.command, &self.lines[number]))
    }

    #[inline]
    fn answer(&mut self, number: usize, reply: Reply) {
        if !self.direct.rest.is_empty() {
            return self.keep(number, RestOf::Answered(reply));
        }
        let direct = &mut *self.direct;
        if number != direct.settled {
            return;
        }
        let step = &direct.steps[number];
        let later = (direct.answers).write(&reply, step.version, self.session.version);
        let named = subcommands::named(step.command, &self.lines[number]);
        match reply.is_error() {
            false => direct.tally.count(named, End::Answered),
            true => {
                Counted::Ran(named).tally(Some(&reply), &mut direct.tally);
                direct.errors += 1;
            }
        }
        direct.settled += 1;
        if let Some(version) = later {
            direct.answers.write_later(reply, version);
        }
    }
}

impl Steps for Running<'_> {
    type Error = Failure;

    fn count(&self) -> usize {
        self.lines.len()
    }

    fn prefetch(&mut self, steps: Range<usize>, space: &TableSpace) {
        let database = self.database;
        let lines = &self.lines[steps.clone()];
        let calls = self.direct.steps[steps].iter().zip(lines);
        let calls = calls.map(|(step, line)| Ahead {
            command: step.command,
            line,
            database,
            hashes: &step.hashes,
        });
        ahead::ask(self.shared, calls, space);
    }

    #[inline]
    fn run(&mut self, number: usize, transaction: &mut Transaction<'_>) -> Result<(), Failure> {
        let step = &self.direct.steps[number];
        let call = Bare {
            command: step.command,
            line: &self.lines[number],
            caller: None,
        };
        let terms = Terms {
            shared: self.shared,
            pending: &self.session.pending,
            now: self.now,
            answer_bytes_max: self.session.options.answer_bytes_max,
            client: self.session.id,
            beside: None,
        };
        let at = (self.session.random.next(), self.database);
        let (asked, stores) = (Asked::One(call, step.hashes.get()), step.command.is(MORE));
        let Some(ran) = terms.run_if_room(asked, stores, at, transaction)? else {
            self.postpone(number);
            return Ok(());
        };
        let Ran {
            reply, messages, ..
        } = ran;
        if !messages.is_empty() {
            let sending = messages.post(&self.shared.posting);
            self.direct.sendings.push(sending);
        }
        self.answer(number, reply);
        Ok(())
    }

    #[cold]
    fn failed(&mut self, number: usize, error: ProcedureError<Failure>) {
        self.direct.answers.forget_part();
        if let Answer::Reply(reply) = of_outcome(Some(Err(error))) {
            self.answer(number, reply);
        }
    }
}

#[cfg(test)]
mod tests;
