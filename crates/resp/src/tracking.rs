//! Keys that clients cache (`CLIENT TRACKING`): the messages by which their sessions learn that a key has changed.
//!
//! A session listens in the hub to an address for each key that its client has read, or for each prefix. Each command that
//! changes a key has an event (`Data::event`); while any client tracks, it is also a message to the key's listeners.
//! Like all messages it is sent when its transaction is durable, and not if that is undone.
//!
//! Invariants: a session listens to a key before its client reads it, and reads in its turn of the stage, never beside a
//! long transaction: so no change is missed. Messages that find no room in their transaction are replaced by one that
//! invalidates all keys.

use sardonyx_base::channels::Message;
use std::sync::Arc;

/// The channel on which clients of the second version of the protocol receive what is redirected to them.
pub(crate) const CHANNEL: &[u8] = b"__redis__:invalidate";

/// The first bytes of addresses: of a key, and of a prefix of keys.
const KEY: u8 = b't';
pub(crate) const PREFIX: u8 = b'b';
/// The address of all that track.
const ALL: &[u8] = b"a";

fn address(mark: u8, name: &[u8]) -> Arc<[u8]> {
    let mut address = Vec::with_capacity(name.len() + 1);
    address.push(mark);
    address.extend_from_slice(name);
    address.into()
}

/// The address of a key that was read.
pub(crate) fn key_address(key: &[u8]) -> Arc<[u8]> {
    address(KEY, key)
}

/// The address of all keys that begin so.
pub(crate) fn prefix_address(prefix: &[u8]) -> Arc<[u8]> {
    address(PREFIX, prefix)
}

/// The address of changes of all keys.
pub(crate) fn all_address() -> Arc<[u8]> {
    ALL.into()
}

/// The beginnings of the addresses of keys and of prefixes, to count them.
pub(crate) const MARKS: [&[u8]; 2] = [&[KEY], &[PREFIX]];

/// A message to a session that tracks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Invalid<'m> {
    /// A key has changed, by a command of a session.
    Key {
        key: &'m [u8],
        writer: u64,
        /// The prefix for which the session hears of it.
        prefix: Option<&'m [u8]>,
    },
    /// Any key may have changed.
    All,
}

/// The content of a message, if it is one of these.
pub(crate) fn invalid(message: &Message) -> Option<Invalid<'_>> {
    if &message.channel[..] == ALL {
        return Some(Invalid::All);
    }
    let (mark, name) = message.channel.split_first()?;
    let prefix = match *mark {
        KEY => None,
        PREFIX => Some(name),
        _ => return None,
    };
    let (writer, key) = message.payload.split_first_chunk::<8>()?;
    Some(Invalid::Key {
        key,
        writer: u64::from_be_bytes(*writer),
        prefix,
    })
}

/// The message that all keys may have changed.
pub(crate) fn all_changed() -> Arc<Message> {
    message(ALL, Arc::new([]))
}

/// A message to the listeners of an address.
pub(crate) fn message(channel: &[u8], payload: Arc<[u8]>) -> Arc<Message> {
    Arc::new(Message {
        channel: channel.into(),
        matched: None,
        payload,
        process: 0,
        is_owed: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_made() {
        let payload = |key: &[u8]| -> Arc<[u8]> { [&7_u64.to_be_bytes()[..], key].concat().into() };
        let of_key = message(&key_address(b"k"), payload(b"k"));
        let key = |prefix| {
            Some(Invalid::Key {
                key: b"k",
                writer: 7,
                prefix,
            })
        };
        assert_eq!(invalid(&of_key), key(None));
        let of_prefix = message(&prefix_address(b""), payload(b"k"));
        assert_eq!(invalid(&of_prefix), key(Some(b"")));
        assert_eq!(invalid(&all_changed()), Some(Invalid::All));
        // Other channels have other marks.
        for channel in [&b"ca"[..], b"m", b"w12345678", b"pa*", b"sa", b""] {
            assert_eq!(invalid(&message(channel, payload(b"k"))), None);
        }
    }
}
