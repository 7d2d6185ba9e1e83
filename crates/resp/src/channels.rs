//! Redis' channels in a [`Hub`]: channels, patterns and shard channels are names in one hub, distinguished by their
//! first byte.
//!
//! A message is sent to a name. Each listener of that name receives it, and so does each listener of a pattern that
//! the name matches, once for each pattern. The messages of a transaction are gathered, and posted when it commits
//! ([`Sending`]).

use crate::failure::Failure;
use crate::pattern::matches;
use crate::reply::Reply;
use crate::tracking::all_changed;
use sardonyx::Tables;
use sardonyx_base::channels::{Channels, Hub, Message, Posted, Posting, WAITING_BYTES_MAX};
use std::sync::{Arc, Weak};

/// The longest message, in bytes: two wait for a client that has not read the first.
pub(crate) const MESSAGE_BYTES_MAX: usize = WAITING_BYTES_MAX / 2 - (64 << 10);
/// The most bytes of the messages of a transaction.
const SENT_BYTES_MAX: usize = 64 << 20;
/// A message counts for so many bytes, besides its own.
const EACH_BYTES: usize = 256;

/// The first byte of the name to which a session that waits listens.
const SERVED: u8 = b'w';
/// The name to which monitoring sessions listen.
const MONITOR: &[u8] = b"m";

/// The kinds of names to which a client listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Channel,
    Pattern,
    Shard,
}

impl Kind {
    /// All of them, by their numbers.
    pub const ALL: [Kind; 3] = [Kind::Channel, Kind::Pattern, Kind::Shard];

    fn mark(self) -> u8 {
        match self {
            Kind::Channel => b'c',
            Kind::Pattern => b'p',
            Kind::Shard => b's',
        }
    }

    /// The name of the hub's channel.
    pub fn address(self, name: &[u8]) -> Arc<[u8]> {
        let mut address = Vec::with_capacity(name.len() + 1);
        address.push(self.mark());
        address.extend_from_slice(name);
        address.into()
    }

    /// The kind and the name of a channel of the hub.
    pub fn of(address: &[u8]) -> Option<(Kind, &[u8])> {
        let (mark, name) = address.split_first()?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.mark() == *mark)?;
        Some((kind, name))
    }
}

/// The hub's channel of monitoring sessions.
pub(crate) fn monitor_address() -> Arc<[u8]> {
    MONITOR.into()
}

/// The message that monitoring sessions receive.
pub(crate) fn shown(text: Vec<u8>) -> Arc<Message> {
    Arc::new(Message {
        channel: MONITOR.into(),
        matched: None,
        payload: text.into(),
        process: 0,
        is_owed: false,
    })
}

/// The hub's channel of a session that waits for elements; it carries the session's answers.
pub(crate) fn served_address(session: u64) -> Arc<[u8]> {
    let mut address = vec![SERVED];
    address.extend(session.to_be_bytes());
    address.into()
}

pub(crate) fn served(session: u64, place: u64) -> Arc<Message> {
    Arc::new(Message {
        channel: served_address(session)[..].into(),
        matched: None,
        payload: place.to_be_bytes().into(),
        process: 0,
        is_owed: true,
    })
}

/// The number of the place at which a session was served, if the message is of that kind.
pub(crate) fn served_place(message: &Message) -> Option<u64> {
    match message.channel.first() {
        Some(&SERVED) => message.payload[..].try_into().ok().map(u64::from_be_bytes),
        _ => None,
    }
}

/// The posting of messages, which does not keep the tables open.
pub(crate) fn posting(tables: Weak<Tables>) -> Arc<Posting> {
    let is_durable = move || {
        let tables = tables.upgrade()?;
        // With a turn of its own: the call that posted has ended then.
        let turn = tables.turn().ok()?;
        turn.all_durable().wait().ok()
    };
    let runs = |work: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name("messages".into());
        // Without a thread the next post finds one.
        drop(thread.spawn(work));
    };
    Posting::new(move || is_durable().is_some(), runs)
}

/// The names of a kind that have listeners.
pub(crate) fn names(hub: &Hub, kind: Kind, wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    hub.look(|channels| {
        let mark = [kind.mark()];
        let names = channels.beginning_with(&mark);
        let names = names.map(|(address, _)| &address[1..]);
        names
            .filter(|name| wanted(name))
            .map(<[u8]>::to_vec)
            .collect()
    })
}

/// Checks the content of a message.
///
/// # Errors
/// It is too large.
pub(crate) fn check_message(payload: &[u8]) -> Result<(), Failure> {
    match payload.len() > MESSAGE_BYTES_MAX {
        true => Err(Failure::Said(format!(
            "ERR a message has at most {MESSAGE_BYTES_MAX} bytes; this one has {}",
            payload.len()
        ))),
        false => Ok(()),
    }
}

/// The messages that are posted if one is sent to a channel, and how many hear them.
pub(crate) fn matching(
    hub: &Hub,
    kind: Kind,
    name: &[u8],
    payload: &[u8],
) -> (Vec<Arc<Message>>, usize) {
    hub.look(|channels| matching_in(channels, kind, name, payload))
}

fn matching_in(
    channels: &Channels,
    kind: Kind,
    name: &[u8],
    payload: &[u8],
) -> (Vec<Arc<Message>>, usize) {
    let (mut messages, mut count) = (Vec::new(), 0);
    // Made for the first listener, and shared.
    let mut content: Option<[Arc<[u8]>; 2]> = None;
    let mut send = |channel: &[u8], is_pattern: bool, listeners: usize| {
        let [name, payload] = content.get_or_insert_with(|| [name.into(), payload.into()]);
        count += listeners;
        messages.push(Arc::new(Message {
            channel: channel.into(),
            matched: is_pattern.then(|| name.clone()),
            payload: payload.clone(),
            process: 0,
            is_owed: false,
        }));
    };
    let address = kind.address(name);
    match channels.listeners(&address) {
        0 => {}
        listeners => send(&address, false, listeners),
    }
    if kind == Kind::Channel {
        let patterns = [Kind::Pattern.mark()];
        for (pattern, listeners) in channels.beginning_with(&patterns) {
            if matches(&pattern[1..], name) {
                send(pattern, true, listeners);
            }
        }
    }
    (messages, count)
}

/// A message as the reply that its listener receives.
pub(crate) fn told(message: &Message) -> Option<Reply> {
    let bulk = |bytes: &[u8]| Reply::Bulk(bytes.to_vec());
    if &message.channel[..] == MONITOR {
        let text = String::from_utf8_lossy(&message.payload);
        return Some(Reply::Status(text.into_owned()));
    }
    let (kind, name) = Kind::of(&message.channel)?;
    let mut parts = match kind {
        Kind::Channel => vec![Reply::Text("message"), bulk(name)],
        Kind::Shard => vec![Reply::Text("smessage"), bulk(name)],
        Kind::Pattern => {
            let matched = message.matched.as_deref().unwrap_or_default();
            vec![Reply::Text("pmessage"), bulk(name), bulk(matched)]
        }
    };
    parts.push(bulk(&message.payload));
    Some(Reply::Push(parts))
}

/// Messages of a transaction that has not committed.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    messages: Vec<Arc<Message>>,
    bytes: usize,
    /// One of them invalidates all keys, as the others had no room.
    is_all_invalid: bool,
}

impl Messages {
    /// Adds those of one that is sent, of which each has a channel of its own, and all share the rest.
    ///
    /// # Errors
    /// There are others, and all of them would be too large.
    pub fn add(&mut self, messages: Vec<Arc<Message>>) -> Result<(), Failure> {
        let Some(last) = messages.last() else {
            return Ok(());
        };
        let channels = messages.iter().map(|message| message.channel.len());
        let more = last.bytes() + channels.map(|bytes| bytes + EACH_BYTES).sum::<usize>();
        // A single message takes less than its listeners' names do already: so other clients' patterns cannot make a
        // sender fail.
        if self.bytes > 0 && self.bytes.saturating_add(more) > SENT_BYTES_MAX {
            return Err(Failure::Said(format!(
                "ERR the messages of a transaction have at most {SENT_BYTES_MAX} bytes"
            )));
        }
        self.bytes += more;
        self.messages.extend(messages);
        Ok(())
    }

    /// Adds the messages of an event, as far as there is room: the change is made, and does not fail because of its
    /// listeners. A listener to which too much is sent is disconnected.
    pub fn add_event(&mut self, messages: Vec<Arc<Message>>) {
        let content = |message: &Message| message.bytes() - message.channel.len();
        let mut bytes = self.bytes + messages.first().map_or(0, |first| content(first));
        for message in messages {
            bytes += message.channel.len() + EACH_BYTES;
            if bytes > SENT_BYTES_MAX {
                break;
            }
            self.bytes = bytes;
            self.messages.push(message);
        }
    }

    /// Adds messages to sessions that track keys. Without room for them, one to all of these sessions replaces them: none
    /// of them is lost.
    pub fn add_invalid(&mut self, messages: Vec<Arc<Message>>) {
        for message in messages {
            let is_same = |last: &Arc<Message>| {
                last.channel == message.channel && last.payload == message.payload
            };
            // A command may have several events of a key.
            if self.is_all_invalid || self.messages.last().is_some_and(is_same) {
                continue;
            }
            let bytes = self.bytes.saturating_add(message.bytes() + EACH_BYTES);
            if bytes > SENT_BYTES_MAX {
                self.is_all_invalid = true;
                self.messages.push(all_changed());
                continue;
            }
            self.bytes = bytes;
            self.messages.push(message);
        }
    }

    /// Adds that a session was served while it waited at the place of this number.
    pub fn add_served(&mut self, session: u64, place: u64) {
        self.messages.push(served(session, place));
    }

    /// A mark behind those that there are.
    pub fn mark(&self) -> MessagesMark {
        MessagesMark(self.messages.len(), self.bytes, self.is_all_invalid)
    }

    /// Drops those that were added since.
    pub fn return_to(&mut self, MessagesMark(count, bytes, is_all_invalid): MessagesMark) {
        self.messages.truncate(count);
        self.bytes = bytes;
        self.is_all_invalid = is_all_invalid;
    }

    /// True if there are no messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The transaction commits.
    pub fn post(self, posting: &Arc<Posting>) -> Sending {
        Sending(posting.post(self.messages.iter()))
    }
}

/// A mark in the messages of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessagesMark(usize, usize, bool);

/// Messages of a transaction that has committed, and may not be durable yet.
#[derive(Debug)]
pub(crate) struct Sending(Option<Posted>);

impl Sending {
    /// It is durable, and so are those before it.
    pub fn durable(self) {
        self.0.into_iter().for_each(Posted::durable);
    }

    /// The message is sent regardless of the ones before: its transaction has only read durable data.
    pub fn durable_alone(self) {
        self.0.into_iter().for_each(Posted::durable_alone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_base::channels::Listening;

    #[test]
    fn a_message_is_for_its_channel_and_for_each_pattern_that_matches() {
        let hub = Arc::new(Hub::default());
        let (one, other) = (hub.enter(1), hub.enter(2));
        for (kind, name) in [
            (Kind::Channel, "news"),
            (Kind::Pattern, "n*"),
            (Kind::Pattern, "?ews"),
            (Kind::Pattern, "x*"),
            (Kind::Shard, "news"),
        ] {
            one.listen(&Listening::To(kind.address(name.as_bytes())));
        }
        other.listen(&Listening::To(Kind::Pattern.address(b"n*")));
        let (messages, count) = matching(&hub, Kind::Channel, b"news", b"1");
        let channels: Vec<_> = messages
            .iter()
            .map(|message| String::from_utf8_lossy(&message.channel))
            .collect();
        assert_eq!(channels, ["cnews", "p?ews", "pn*"]);
        assert_eq!(count, 4);
        assert_eq!(matching(&hub, Kind::Shard, b"news", b"1").1, 1);
        assert_eq!(matching(&hub, Kind::Shard, b"n", b"1").1, 0);
        // It is there once, however many hear it.
        assert!(Arc::ptr_eq(&messages[0].payload, &messages[2].payload));
        assert_eq!(names(&hub, Kind::Pattern, |_| true).len(), 3);
    }

    #[test]
    fn messages_of_a_transaction_have_a_bound() {
        let hub = Arc::new(Hub::default());
        let one = hub.enter(1);
        one.listen(&Listening::To(Kind::Channel.address(b"a")));
        let mut messages = Messages::default();
        let payload = vec![0; MESSAGE_BYTES_MAX];
        check_message(&payload).unwrap();
        let refused = check_message(&[&payload[..], b"1"].concat()).unwrap_err();
        assert!(refused.to_string().contains("this one has"));
        let sent = || matching(&hub, Kind::Channel, b"a", &payload).0;
        let fit = SENT_BYTES_MAX / (sent()[0].bytes() + EACH_BYTES + 2);
        for _ in 0..fit {
            messages.add(sent()).unwrap();
        }
        let mark = messages.mark();
        let refused = messages.add(sent()).unwrap_err().to_string();
        assert!(refused.contains("at most 67108864"), "{refused}");
        // The names count, too: that of the channel once, that of each pattern.
        let patterns = [1999, 1998].map(|bytes| ["n".repeat(bytes), "*".into()].concat());
        let patterns = patterns.map(|pattern| Kind::Pattern.address(pattern.as_bytes()));
        for pattern in patterns {
            one.listen(&Listening::To(pattern));
        }
        let (long, count) = matching(&hub, Kind::Channel, &[b'n'; 3000], b"");
        let before = messages.bytes;
        assert_eq!((long.len(), count), (2, 2));
        assert!(messages.add(long).is_ok() && messages.bytes - before >= 7000);
        messages.return_to(mark);
        assert_eq!((messages.bytes, messages.messages.len()), (before, fit));
        // Alone it is sent, however much its listeners' names take.
        let mut alone = Messages::default();
        let heard: Vec<_> = (0..65)
            .map(|_| {
                Arc::new(Message {
                    channel: vec![b'p'; 1 << 20].into(),
                    matched: None,
                    payload: sent()[0].payload.clone(),
                    process: 0,
                    is_owed: false,
                })
            })
            .collect();
        assert!(alone.add(heard.clone()).is_ok() && alone.bytes > SENT_BYTES_MAX);
        assert!(alone.add(heard).is_err());
        // A message without listeners takes no memory.
        messages.add(Vec::new()).unwrap();
        // Events go as far as there is room.
        let count = messages.messages.len();
        messages.add_event(sent());
        assert_eq!(messages.messages.len(), count);
        let event = || matching(&hub, Kind::Channel, &[b'n'; 3000], b"").0;
        while messages.bytes + 7_000 < SENT_BYTES_MAX {
            messages.add_event(event());
        }
        let count = messages.messages.len();
        messages.add_event(event());
        assert!(messages.bytes <= SENT_BYTES_MAX && messages.messages.len() - count < 2);
    }
}
