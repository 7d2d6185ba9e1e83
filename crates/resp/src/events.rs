//! Events of keys, for clients that listen to `__keyspace@0__:key` or `__keyevent@0__:event`.
//!
//! An event is a message of the transaction in which it happens: it is sent when that is durable, and not if that is
//! undone. It fails no command: beyond the bound of a transaction's messages, it is sent to fewer listeners, or to
//! none. By default there are none (`notify-keyspace-events`), and finding that out costs one read of a number.

use crate::channels::{Kind, matching};
use crate::data::{Data, State};
use crate::failure::Failure;

/// Classes of events, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Classes(pub u32);

/// The classes by their letters, in the order in which they are said.
const LETTERS: [(char, u32); 13] = [
    ('g', GENERIC.0),
    ('$', STRING.0),
    ('l', LIST.0),
    ('s', SET.0),
    ('h', HASH.0),
    ('z', SORTED_SET.0),
    ('x', EXPIRED.0),
    ('e', 1 << 7),
    ('t', STREAM.0),
    ('d', 1 << 9),
    ('n', NEW.0),
    ('K', BY_KEY.0),
    ('E', BY_EVENT.0),
];

pub(crate) const GENERIC: Classes = Classes(1);
pub(crate) const STRING: Classes = Classes(1 << 1);
pub(crate) const LIST: Classes = Classes(1 << 2);
pub(crate) const SET: Classes = Classes(1 << 3);
pub(crate) const HASH: Classes = Classes(1 << 4);
pub(crate) const SORTED_SET: Classes = Classes(1 << 5);
pub(crate) const EXPIRED: Classes = Classes(1 << 6);
pub(crate) const STREAM: Classes = Classes(1 << 8);
/// A key that is not there is read.
pub(crate) const MISSED: Classes = Classes(1 << 10);
/// A key comes.
pub(crate) const NEW: Classes = Classes(1 << 11);
const BY_KEY: Classes = Classes(1 << 12);
const BY_EVENT: Classes = Classes(1 << 13);
/// The classes that `A` means: all but missed keys and new keys.
const ALL: Classes = Classes((1 << 10) - 1);

impl Classes {
    #[inline]
    fn has(self, other: Classes) -> bool {
        self.0 & other.0 != 0
    }
}

/// The classes that a text says.
pub(crate) fn parse_classes(text: &str) -> Option<Classes> {
    let mut classes = 0;
    for letter in text.chars() {
        classes |= match letter {
            'A' => ALL.0,
            'm' => MISSED.0,
            letter => LETTERS.iter().find(|(known, _)| *known == letter)?.1,
        };
    }
    Some(Classes(classes))
}

impl std::fmt::Display for Classes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_all = self.0 & ALL.0 == ALL.0;
        if is_all {
            f.write_str("A")?;
        }
        for (letter, class) in LETTERS {
            // As Redis does: behind `A` no class is said again.
            let is_said = is_all && ![BY_KEY.0, BY_EVENT.0].contains(&class);
            if self.0 & class != 0 && !is_said {
                write!(f, "{letter}")?;
            }
        }
        match self.has(MISSED) {
            true => f.write_str("m"),
            false => Ok(()),
        }
    }
}

impl<S: State> Data<'_, S> {
    /// Sends an event of a key of the database.
    ///
    /// # Errors
    /// None: an event does not fail the change before it.
    #[inline]
    pub fn event(
        &mut self,
        class: Classes,
        event: &'static str,
        key: &[u8],
    ) -> Result<(), Failure> {
        let wanted = self.shared.settings.events();
        if wanted.has(class) {
            self.tell_event(wanted, event, key);
        }
        if self.shared.clients.are_tracking() && class != MISSED {
            self.invalidate(key);
        }
        Ok(())
    }

    /// The same for a change of a key's elements, which deletes the key with the last one.
    ///
    /// # Errors
    /// None: an event does not fail the change before it.
    #[inline]
    pub fn changed(
        &mut self,
        class: Classes,
        event: &'static str,
        key: &[u8],
        length: u64,
    ) -> Result<(), Failure> {
        self.event(class, event, key)?;
        match length {
            0 => self.event(GENERIC, "del", key),
            _ => Ok(()),
        }
    }

    /// Sends an event for a key that is missing, if the command only reads.
    ///
    /// # Errors
    /// None if the transaction changes anything: an event does not fail a change.
    #[inline]
    pub fn missed(&mut self, key: &[u8]) -> Result<(), Failure> {
        match self.only_reads {
            true => self.event(MISSED, "keymiss", key),
            false => Ok(()),
        }
    }

    #[cold]
    fn tell_event(&mut self, wanted: Classes, event: &str, key: &[u8]) {
        let hub = self.shared.posting.hub();
        let database = self.database;
        if wanted.has(BY_KEY) {
            let mut name = format!("__keyspace@{database}__:").into_bytes();
            name.extend_from_slice(key);
            let (messages, _) = matching(hub, Kind::Channel, &name, event.as_bytes());
            self.messages.add_event(messages);
        }
        if wanted.has(BY_EVENT) {
            let name = format!("__keyevent@{database}__:{event}");
            let (messages, _) = matching(hub, Kind::Channel, name.as_bytes(), key);
            self.messages.add_event(messages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_said_as_redis_says_them() {
        let said = |text| parse_classes(text).map(|classes| classes.to_string());
        for (given, wanted) in [
            ("", ""),
            ("KEA", "AKE"),
            ("g$lshzxetdKE", "AKE"),
            ("Kx", "xK"),
            ("AKEmn", "AKEm"),
            ("KEn", "nKE"),
            ("mA", "Am"),
            ("KE$lm", "$lKEm"),
        ] {
            assert_eq!(said(given).as_deref(), Some(wanted), "{given}");
        }
        assert_eq!(said("Q"), None);
    }
}
