//! A client that waits for elements: until it is served, its time is over, or another client unblocks it.
//!
//! A served client is notified by a message, through the inbox of its session, when the transaction that served it is
//! durable. Until then it gives no other command. If the log fails, so that this is not known, the session ends.

use super::Session;
use crate::blocking::{Place, Served};
use crate::channels::served_address;
use crate::command::line::Line;
use crate::command::words::{Words, is};
use crate::command::{self, Command, WRITE, waiting};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::request::What;
use bytes::BytesMut;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A session's wait.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// The place of the command that runs, or that waits.
    place: Option<Arc<Place>>,
    /// Until when, in milliseconds since 1970.
    until: Option<i64>,
    is_waiting: bool,
    /// Its client wants no answer.
    is_silent: bool,
}

impl Session {
    /// A place for a command that may wait.
    pub(super) fn prepare_to_wait(&mut self, command: &Command, line: &Line, now: i64) {
        self.hear_of(served_address(self.id));
        let place = Place::new(self.id, &self.keyspace.shared().blocked);
        // The command reports errors in its words itself.
        let limit = waiting::time_limit(command, line).ok().flatten();
        self.waits = Waits {
            place: Some(place),
            until: limit.map(|limit| now.saturating_add_unsigned(limit)),
            is_waiting: false,
            is_silent: false,
        };
    }

    pub(super) fn place_of(&self, what: &What) -> Option<Weak<Place>> {
        match what {
            What::One(call) if waiting::may_wait(call.command, &call.line) => {
                self.waits.place.as_ref().map(Arc::downgrade)
            }
            _ => None,
        }
    }

    pub(super) fn begin_to_wait(&mut self, is_silent: bool) {
        self.waits.is_waiting = true;
        self.waits.is_silent = is_silent;
        self.client.waits(true);
    }

    /// True if the client waits for elements.
    pub fn waits_for_elements(&self) -> bool {
        self.waits.is_waiting
    }

    /// True if the client waits for elements, or if a command of it waits for the end of a pause.
    pub fn waits(&self) -> bool {
        self.waits_for_elements() || self.held.is_some()
    }

    /// True if a command is to wait for the end of a pause.
    pub(super) fn is_paused(&self, line: &Line) -> bool {
        let clients = &self.keyspace.shared().clients;
        clients
            .paused(|| self.options.clock.now())
            .is_some_and(|pause| !pause.only_writes || self.may_write(line))
    }

    /// True if a command waits for a pause that has ended.
    pub(super) fn pause_is_over(&self) -> bool {
        self.held.as_ref().is_some_and(|line| !self.is_paused(line))
    }

    fn may_write(&self, line: &Line) -> bool {
        // As in Redis: `PFCOUNT` may keep its estimate, and messages are for all.
        let writes = |command: &Command| {
            command.is(WRITE) || matches!(command.name, "publish" | "spublish" | "pfcount")
        };
        match command::find(line.part(0)) {
            Some(command) if command.name == "exec" => self.queue.as_ref().is_some_and(|queue| {
                let mut calls = queue.calls.iter();
                calls.any(|call| {
                    writes(call.command) && !self.is_reading_script(call.command, &call.line)
                })
            }),
            Some(command) => writes(command) && !self.is_reading_script(command, line),
            None => false,
        }
    }

    /// True if a script declares that it only reads.
    #[cfg(feature = "lua")]
    fn is_reading_script(&self, command: &Command, line: &Line) -> bool {
        let scripts = &self.keyspace.shared().scripts;
        match command.name {
            "eval" => crate::scripts::says_that_it_reads(line.part(1)),
            "evalsha" => scripts.only_reads(line.part(1)),
            _ => false,
        }
    }

    #[cfg(not(feature = "lua"))]
    fn is_reading_script(&self, _: &Command, _: &Line) -> bool {
        false
    }

    /// The rest of the client's time to wait: then call [`Session::time_out`]. `None` if it does not wait, or waits
    /// for ever.
    pub fn wait_limit(&self) -> Option<Duration> {
        // Most clients do not wait: the clock is not read for them.
        let (now, until) = match &self.held {
            None => {
                let until = self.waits.until.filter(|_| self.waits.is_waiting)?;
                (self.options.clock.now(), until)
            }
            Some(_) => {
                let now = self.options.clock.now();
                let pause = self.keyspace.shared().clients.paused(|| now);
                (now, pause.map_or(now, |pause| pause.until))
            }
        };
        let left = until.saturating_sub(now);
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    /// Writes that there is nothing, if the time of a client that waits is over. If it was served, or is being served, it
    /// waits until that is durable, or undone.
    pub fn time_out(&mut self, output: &mut BytesMut) {
        if !self.waits_for_elements() || self.wait_limit().is_none_or(|left| !left.is_zero()) {
            return;
        }
        self.waits.until = None;
        if self
            .waits
            .place
            .as_ref()
            .is_some_and(|place| place.time_out())
        {
            self.answer_late(&Reply::NullArray, output);
            self.waits = Waits::default();
            self.client.waits(false);
        }
    }

    /// Writes the answer of a client that was served while it waited at the place of this number.
    pub(super) fn tell_served(&mut self, place: u64, output: &mut BytesMut) {
        // A message for a place that the session has left is not for its present one.
        let place = (self.waits.place.as_ref()).filter(|own| own.number() == place);
        let Some(Served { reply, memory }) = place.and_then(|place| place.take()) else {
            return;
        };
        self.errors += u64::from(reply.is_error());
        self.answer_late(&reply, output);
        self.waits = Waits::default();
        self.client.waits(false);
        self.told = memory;
    }

    /// Writes the answer to a command that waited.
    fn answer_late(&mut self, reply: &Reply, output: &mut BytesMut) {
        if !self.waits.is_silent {
            reply.write(self.version, output);
        }
    }

    /// `CLIENT UNBLOCK`.
    pub(super) fn unblock(&self, line: &Line) -> Result<Reply, Failure> {
        let mut words = Words::from(line, 2);
        let id = words.integer()?;
        let reply = match words.next() {
            None => Reply::NullArray,
            Some(word) if words.left() == 0 && is(word, "timeout") => Reply::NullArray,
            Some(word) if words.left() == 0 && is(word, "error") => {
                Reply::Error("UNBLOCKED client unblocked via CLIENT UNBLOCK".into())
            }
            Some(_) if words.left() == 0 => {
                return Err(Failure::Told(
                    "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
                ));
            }
            Some(_) => {
                return Err(Failure::Told(
                    "ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.",
                ));
            }
        };
        let id = u64::try_from(id).unwrap_or(0);
        let blocked = &self.keyspace.shared().blocked;
        Ok(Reply::flag(blocked.unblock(id, reply)))
    }
}
