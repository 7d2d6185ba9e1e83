//! Events of keys, for clients that listen to `__keyspace@0__:key` or `__keyevent@0__:event`.
//!
//! An event is a message of the transaction in which it happens: it is sent when that is durable, and not if that is
//! undone. It fails no command: beyond the bound of a transaction's messages, it is sent to fewer listeners, or to
//! none. By default there are none (`notify-keyspace-events`), and finding that out costs one read of a number.

use crate::channels::{Kind, matching};
use crate::data::{Data, State};
use crate::event_classes::{BY_EVENT, BY_KEY, Classes, GENERIC, MISSED};
use crate::failure::Failure;
use crate::tracking::{PREFIX, all_changed, key_address, message};
use std::sync::Arc;

impl<S: State> Data<'_, S> {
    /// Reports a change of a key: to listeners of its class, and to clients that cache the key.
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

    /// Tells clients that cache a key that it changes.
    #[cold]
    pub fn invalidate(&mut self, key: &[u8]) {
        let writer = self.client.to_be_bytes();
        let messages = self.shared.posting.hub().look(|channels| {
            let own = key_address(key);
            let mut heard: Vec<&[u8]> = Vec::new();
            if channels.listeners(&own) > 0 {
                heard.push(&own);
            }
            let prefixes = channels.beginning_with(&[PREFIX]);
            let prefixes = prefixes.map(|(address, _)| address);
            heard.extend(prefixes.filter(|address| key.starts_with(&address[1..])));
            if heard.is_empty() {
                return Vec::new();
            }
            let payload: Arc<[u8]> = [&writer[..], key].concat().into();
            let messages = heard.into_iter();
            messages
                .map(|channel| message(channel, payload.clone()))
                .collect()
        });
        self.messages.add_invalid(messages);
    }

    /// Tells clients that cache keys that any may change.
    pub fn invalidate_all(&mut self) {
        if self.shared.clients.are_tracking() {
            self.messages.add_invalid(vec![all_changed()]);
        }
    }
}
