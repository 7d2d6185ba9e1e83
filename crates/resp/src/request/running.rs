//! Commands that run in a state of the tables: one, or those of an `EXEC`, on the terms of their session.
//!
//! Requests of a batch own their commands. Commands that run where they were parsed are borrowed. Both run here.

use super::{Step, Watched};
use crate::channels::Messages;
use crate::command::line::Line;
use crate::command::{COUNTED, Command, FAST, READ, SHORT};
use crate::data::{Data, Hashes, State};
use crate::failure::Failure;
use crate::functions::Caller;
use crate::number::integer;
use crate::pending::Pending;
use crate::reply::Reply;
use crate::shared::Shared;
use crate::slow::SLOWER_THAN;
use sardonyx::low_level::Committed;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// A command that copies its line takes a short time, if that has so many bytes at most.
pub(super) const SHORT_LINE_BYTES: usize = 4096;
/// A command with more bytes is not short: its parts are many, or large.
pub(super) const SHORT_BYTES: usize = 64 << 10;
/// A command that takes more elements is long: a pop of them takes microseconds for each.
const SHORT_ELEMENTS_MAX: i64 = 256;

/// The most keys that a session watches: each costs time in the serial stage, again at `EXEC`.
const WATCHED_KEYS_MAX: usize = 10_000;

/// A command on data, and its caller, where others have them.
#[derive(Clone, Copy)]
pub(crate) struct Bare<'r> {
    pub command: &'static Command,
    pub line: &'r Line,
    pub caller: Option<&'r Caller>,
}

/// The terms on which a session's transactions run.
pub(crate) struct Terms<'r> {
    pub shared: &'r Shared,
    /// The memory that the answers of the session take.
    pub pending: &'r Arc<Pending>,
    /// Milliseconds since 1970.
    pub now: i64,
    /// The most bytes of an answer.
    pub answer_bytes_max: usize,
    /// The session's number.
    pub client: u64,
    pub beside: Option<&'r Committed>,
}

/// The commands of a transaction: as [`What`](super::What), borrowed.
pub(crate) enum Asked<'r> {
    One(Bare<'r>, Option<&'r Hashes>),
    All(&'r [Step], Option<&'r Watched>),
    Watch(&'r Line, &'r Watched),
}

/// The outcome of a transaction.
pub(crate) struct Ran {
    pub reply: Reply,
    /// The messages that it sends.
    pub messages: Messages,
    /// The command that waits, if it is not the one that was sent.
    pub waits: Option<Line>,
    /// The database in which it ended.
    pub behind: u8,
}

impl Terms<'_> {
    /// As [`Terms::run`], unless the answers before must be sent first: `None`, and nothing has run.
    ///
    /// # Errors
    /// Why it is not done; it may store more, and there is no memory.
    #[inline]
    pub fn run_if_room<S: State>(
        &self,
        what: Asked<'_>,
        may_store: bool,
        at: (u64, u8),
        state: &mut S,
    ) -> Result<Option<Ran>, Failure> {
        if self.pending.is_full() {
            return Ok(None);
        }
        if may_store {
            self.pending.check()?;
        }
        self.run(what, at, state).map(Some)
    }

    /// Runs a transaction's commands, with a seed, in a database of a state of the tables.
    ///
    /// # Errors
    /// Why it is not done.
    #[inline]
    fn run<S: State>(
        &self,
        what: Asked<'_>,
        (seed, database): (u64, u8),
        state: &mut S,
    ) -> Result<Ran, Failure> {
        let pending = self.pending;
        let room = match self.beside {
            Some(_) => pending.counted_room(self.answer_bytes_max),
            None => pending.room(self.answer_bytes_max),
        };
        let room_of_served = OnceCell::new();
        let at = (self.now, seed);
        let mut data = Data::new(state, self.shared, at, &room, database);
        data.beside = self.beside;
        data.client = self.client;
        let ran = match what {
            Asked::One(call, hashes) => {
                data.hashed = hashes.map(|hashes| (call.line, hashes));
                call.run(&mut data)
            }
            Asked::All(steps, watched) => run_all(&mut data, steps, watched),
            Asked::Watch(line, watched) => watch(&mut data, line, watched),
        };
        if let Some(listed) = data.effects.there()
            && !listed.slow.is_empty()
        {
            pending.keep_slow(std::mem::take(&mut listed.slow));
        }
        if data.script_has_read {
            pending.note_script_read();
        }
        pending.add_work(data.state.changes(), data.gathered.get());
        let reply = ran?;
        let (mut listed, behind) = (data.effects.there(), data.database);
        let waits = listed.as_mut().and_then(|listed| listed.waits.take());
        if listed.is_some_and(|listed| !listed.filled.is_empty()) {
            let new = || pending.counted_room(self.answer_bytes_max);
            S::serve(&mut data, room_of_served.get_or_init(new))?;
        }
        let Data {
            mut effects,
            mut messages,
            ..
        } = data;
        drop(room);
        // If there is no memory for the answer, the request is undone.
        pending.take(reply.bytes())?;
        if let Some(listed) = effects.take() {
            listed.committed.into_iter().for_each(|act| act());
            for (claim, served) in listed.served {
                claim.answer(served, &mut messages);
            }
        }
        Ok(Ran {
            reply,
            messages,
            waits,
            behind,
        })
    }
}

impl<'r> Bare<'r> {
    /// True if it takes more than a few elements of a key.
    #[inline]
    pub fn takes_many(self) -> bool {
        self.command.is(COUNTED) && self.counts_many()
    }

    fn counts_many(self) -> bool {
        let (line, mut last) = (self.line, self.line.len() - 1);
        // `XAUTOCLAIM … COUNT count JUSTID`.
        if last > 6 && line.part(last).eq_ignore_ascii_case(b"justid") {
            last -= 1;
        }
        // `LPOP key count`, and `LMPOP 1 key LEFT COUNT count`.
        (last == 2 || line.part(last - 1).eq_ignore_ascii_case(b"count"))
            && integer(line.part(last)).is_ok_and(|count| count > SHORT_ELEMENTS_MAX)
    }

    /// True if it takes a short time, however much data there is, so that no clock is read for it.
    #[inline]
    fn is_fast(self) -> bool {
        self.command.is(FAST) && !self.takes_many()
            || self.command.is(SHORT) && self.line.bytes() <= SHORT_LINE_BYTES
    }

    /// As [`What::is_short`](super::What::is_short).
    #[inline]
    pub fn is_short(self) -> bool {
        self.is_fast() && self.line.bytes() <= SHORT_BYTES
    }

    #[inline]
    fn run<'t, S: State>(self, data: &mut Data<'t, S>) -> Result<Reply, Failure>
    where
        'r: 't,
    {
        data.caller = self.caller;
        data.only_reads = self.command.is(READ);
        let slower_than = data.shared.slow.slower_than();
        if slower_than < 0 || slower_than >= SLOWER_THAN && self.is_fast() {
            return self.run_now(data);
        }
        let began = Instant::now();
        let reply = self.run_now(data);
        let micros = i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX);
        if micros >= slower_than {
            data.effects
                .listed()
                .slow
                .push((self.line.clone().by_itself(), micros));
        }
        reply
    }

    #[inline]
    fn run_now<S: State>(self, data: &mut Data<'_, S>) -> Result<Reply, Failure> {
        let reply = S::run(data, self.command, self.line)?;
        data.room.check()?;
        Ok(reply)
    }
}

fn run_all<'t, S: State>(
    data: &mut Data<'t, S>,
    steps: &'t [Step],
    watched: Option<&Watched>,
) -> Result<Reply, Failure> {
    if let Some(watched) = watched {
        let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        for ((database, key), seen) in &*watched {
            if !data.within(*database, |data| data.is_as_seen(key, seen))? {
                return Ok(Reply::NullArray);
            }
        }
    }
    let mut replies = Vec::with_capacity(steps.len());
    for step in steps {
        let call = match step {
            Step::Call(call) => call,
            Step::Answered(reply) => {
                replies.push(reply.clone());
                continue;
            }
            Step::Select(database) => {
                data.select(*database);
                replies.push(Reply::Ok);
                continue;
            }
        };
        replies.push(match call.bare().run(data) {
            Ok(reply) => reply,
            Err(failure) if failure.undoes() => {
                return Err(Failure::Said(format!(
                    "EXECABORT Transaction discarded: {failure} (in '{}')",
                    call.command.name
                )));
            }
            // Its earlier messages are true: they report the expiry of keys that it has deleted.
            Err(failure) => Reply::Error(failure.to_string()),
        });
    }
    Ok(Reply::Array(replies))
}

fn watch<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    watched: &Watched,
) -> Result<Reply, Failure> {
    let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
    // Only the first state seen counts.
    let database = data.database;
    let is_new = |key: &&[u8]| !watched.contains_key(&(database, key.to_vec()));
    let new: BTreeSet<&[u8]> = line.parts(1).filter(is_new).collect();
    if watched.len() + new.len() > WATCHED_KEYS_MAX {
        return Err(Failure::Said(format!(
            "ERR more than {WATCHED_KEYS_MAX} keys are watched"
        )));
    }
    for key in new {
        let seen = data.seen(key)?;
        watched.insert((database, key.to_vec()), seen);
    }
    Ok(Reply::Ok)
}
