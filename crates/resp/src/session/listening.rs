//! `SUBSCRIBE` and its family: the channels to which the client listens, and the messages that it receives.
//!
//! A session listens from the moment on in which its command is planned, ahead of the flight's requests to the tables.
//! It sends messages behind the answers of a flight, and whenever it waits for the client ([`Session::tell`]).

use super::Session;
use super::addresses::Addresses;
use super::tracking::Told;
use crate::channels::{Kind, served_place, told};
use crate::command::line::Line;
use crate::command::of_session::LISTENING;
use crate::command::{Command, subcommands};
use crate::data::check_key;
use crate::failure::Failure;
use crate::reply::{Reply, Version};
use crate::tracking;
use bytes::BytesMut;
use sardonyx_base::channels::{Event, Inbox, Listening, Over, WAITING_BYTES_MAX};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The most channels and patterns that a client listens to.
const CHANNELS_MAX: usize = 10_000;
/// So many bytes of messages are written at once, and at least one message.
const TOLD_BYTES: usize = 256 << 10;

/// The channels to which a session listens.
#[derive(Debug, Default)]
pub(super) struct Listens {
    /// From the first time on.
    inbox: Option<Inbox>,
    /// Channels and patterns.
    names: Addresses,
    /// The number of each kind.
    counts: [usize; Kind::ALL.len()],
}

impl Listens {
    /// The place for messages, if the session has ever listened.
    pub fn inbox(&self) -> Option<&Inbox> {
        self.inbox.as_ref()
    }

    /// The number of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.counts[kind as usize]
    }

    /// Channels and patterns of all kinds together.
    pub fn all(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The numbers of all kinds.
    pub fn all_counts(&self) -> [usize; Kind::ALL.len()] {
        self.counts
    }

    /// The number that is answered: shard channels are counted by themselves.
    fn told(&self, kind: Kind) -> Reply {
        Reply::count(match kind {
            Kind::Shard => self.count(Kind::Shard),
            _ => self.count(Kind::Channel) + self.count(Kind::Pattern),
        })
    }

    /// The names of a kind, in the order in which the session began to listen to them.
    fn names(&self, kind: Kind) -> Vec<Vec<u8>> {
        let of_kind = self.names.iter().filter_map(|address| Kind::of(address));
        of_kind
            .filter(|(of, _)| *of == kind)
            .map(|(_, name)| name.to_vec())
            .collect()
    }
}

impl Session {
    /// Begins, or ends, to listen.
    pub(super) fn listen(&mut self, command: &Command, line: &Line) -> Result<Reply, Failure> {
        let (kind, begins, word) = match command.name {
            "subscribe" => (Kind::Channel, true, "subscribe"),
            "psubscribe" => (Kind::Pattern, true, "psubscribe"),
            "ssubscribe" => (Kind::Shard, true, "ssubscribe"),
            "unsubscribe" => (Kind::Channel, false, "unsubscribe"),
            "punsubscribe" => (Kind::Pattern, false, "punsubscribe"),
            _ => (Kind::Shard, false, "sunsubscribe"),
        };
        let names: Vec<Vec<u8>> = match line.len() {
            1 => self.listens.names(kind),
            _ => line.parts(1).map(<[u8]>::to_vec).collect(),
        };
        if begins {
            names.iter().try_for_each(|name| check_key(name))?;
            let more = self.listens.all() + names.len();
            // Names to which it listens already are counted again, as they are few, or the client asks again.
            if more > CHANNELS_MAX {
                return Err(Failure::Said(format!(
                    "ERR a client listens to at most {CHANNELS_MAX} channels and patterns"
                )));
            }
        }
        let answered = |name, listens: &Listens| {
            Reply::Push(vec![Reply::Text(word), name, listens.told(kind)])
        };
        if names.is_empty() {
            return Ok(answered(Reply::Null, &self.listens));
        }
        let mut replies = Vec::with_capacity(names.len());
        let mut left = Vec::new();
        for name in names {
            let address = kind.address(&name);
            let count = &mut self.listens.counts[kind as usize];
            if begins && self.listens.names.add(&address) {
                *count += 1;
                self.hear_of(address);
            } else if !begins && let Some(address) = self.listens.names.remove(&address) {
                *count = count.saturating_sub(1);
                left.push(address);
            }
            replies.push(answered(Reply::Bulk(name), &self.listens));
        }
        if let Some(inbox) = &self.listens.inbox {
            inbox.end(&left);
        }
        Ok(Reply::Several(replies))
    }

    /// Listens to a name that is not a client's channel.
    pub(super) fn hear_of(&mut self, address: Arc<[u8]>) {
        let enter = || self.keyspace.inbox();
        let inbox = self.listens.inbox.get_or_insert_with(enter);
        inbox.listen(&Listening::To(address));
    }

    /// Ends to listen to anything.
    pub(super) fn listen_to_none(&mut self) {
        self.listens = Listens::default();
    }

    /// The refusal of a command that a client may not give while it listens. With the first version of the protocol,
    /// the client could not distinguish the answer from a message.
    pub(super) fn check_listens(&self, command: &Command, line: &Line) -> Result<(), Failure> {
        if self.version == Version::Resp3 || self.listens.all() == 0 {
            return Ok(());
        }
        let is_allowed = matches!(command.name, "ping" | "quit" | "reset")
            || LISTENING.iter().any(|listens| listens.name == command.name);
        if is_allowed {
            return Ok(());
        }
        let name = subcommands::full_name(command, line);
        Err(Failure::Said(format!(
            "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
             context"
        )))
    }

    /// `PING` of a client that listens, and could not tell another answer from a message.
    pub(super) fn is_pinged_as_listener(&self) -> bool {
        self.version == Version::Resp2 && self.listens.all() > 0
    }

    /// Appends messages that wait for the client, up to a bound; there may be more ([`Session::poll_messages`]).
    pub fn tell(&mut self, output: &mut BytesMut) {
        self.tell_redirected(output);
        self.tell_messages(output);
        self.tell_given_up(output);
    }

    fn tell_messages(&mut self, output: &mut BytesMut) {
        let Some(inbox) = &self.listens.inbox else {
            return;
        };
        let mut invalid = Told::default();
        for message in inbox.take(TOLD_BYTES) {
            if let Some(found) = tracking::invalid(&message) {
                self.note_invalid(found, &mut invalid, output);
                continue;
            }
            self.tell_keys(&mut invalid, output);
            match told(&message) {
                Some(told) => told.write(self.version, output),
                None => {
                    if let Some(place) = served_place(&message) {
                        self.tell_served(place, output);
                    }
                }
            }
        }
        self.tell_keys(&mut invalid, output);
        self.hear_no_more_of(invalid.left);
    }

    /// True if the session listens to a channel.
    pub(super) fn listens_to(&self, channel: &[u8]) -> bool {
        let address = Kind::Channel.address(channel);
        self.listens.names.contains(&address)
    }

    /// Ready if messages wait for the client, if it need not wait with a command any more, or if it is ended
    /// ([`Session::refuse_over`]). If not, the task is woken then.
    pub fn poll_messages(&self, context: &Context<'_>) -> Poll<Event> {
        self.client.wait(context);
        if self.client.is_ended()
            || self.client.has_redirected()
            || self.client.is_asked()
            || self.pause_is_over()
        {
            return Poll::Ready(Event::Messages);
        }
        match &self.listens.inbox {
            Some(inbox) => inbox.poll(true, context),
            None => Poll::Pending,
        }
    }

    /// Writes the reason if the client is ended. Either more messages wait for it than are kept, or it is unknown if
    /// the elements that it was served are durable. Then close the connection.
    ///
    /// It is silently ended by `CLIENT KILL`.
    pub fn refuse_over(&self, output: &mut BytesMut) -> bool {
        if self.client.is_ended() {
            return true;
        }
        let text = match self.listens.inbox.as_ref().and_then(Inbox::over) {
            None => return false,
            Some(Over::Behind) => {
                format!("ERR more than {WAITING_BYTES_MAX} bytes of messages wait for the client")
            }
            Some(Over::Withdrawn) => {
                "ERR the client was served, but it is not known whether that is durable: the log failed, or was closed"
                    .to_string()
            }
        };
        Reply::Error(text).write(self.version, output);
        true
    }
}
