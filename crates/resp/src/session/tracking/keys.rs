//! The keys that a session tracks, within the bounds: their number, the bytes of all clients' keys together, and the memory
//! of all sessions.
//!
//! At a bound the oldest keys of the session that reads one more are given up. If it is the bound of all clients, the client
//! whose keys take the most is asked to give up some, too: so none keeps the others from tracking.

use super::super::addresses::Addresses;
use crate::clients::Client;
use crate::pending::SMALL_BYTES;
use sardonyx_base::memory::{Budget, Share};
use std::sync::Arc;

/// A key counts for so many bytes besides its own: its entries here and in the hub.
pub(super) const KEY_BYTES: usize = 512;
/// A client that is asked for memory gives up keys of so many bytes at once.
const ASKED_BYTES: usize = 1 << 20;

/// The most that may be tracked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Keys of this client.
    pub keys: usize,
    /// Bytes of the keys of all clients.
    pub bytes: usize,
}

/// The addresses of keys that are tracked, and of those that were given up.
#[derive(Debug)]
pub(super) struct Keys {
    addresses: Addresses,
    /// Keys that were given up, to be reported to the client.
    pub given_up: Vec<Arc<[u8]>>,
    /// The part of what all clients track.
    tracked: Share,
    /// The part of the memory of all sessions.
    memory: Share,
    client: Arc<Client>,
}

impl Keys {
    pub fn new(client: &Arc<Client>, memory: &Arc<Budget>) -> Keys {
        Keys {
            addresses: Addresses::default(),
            given_up: Vec::new(),
            tracked: Share::of(client.clients().tracked().clone()).in_steps(1),
            memory: Share::of(memory.clone()),
            client: client.clone(),
        }
    }

    /// Adds an address. Returns false if it is there.
    pub fn add(&mut self, address: &Arc<[u8]>) -> bool {
        self.addresses.add(address)
    }

    pub fn remove(&mut self, address: &[u8]) -> Option<Arc<[u8]>> {
        self.addresses.remove(address)
    }

    pub fn take(&mut self) -> impl Iterator<Item = Arc<[u8]>> + use<> {
        self.addresses.take()
    }

    /// Gives up the oldest keys, as long as there are more than may be. Returns them: the session ends to listen to them.
    pub fn fit(&mut self, bounds: Bounds) -> Vec<Arc<[u8]>> {
        // The setting may have changed.
        self.client.clients().tracked().set_bytes_max(bounds.bytes);
        let mut left = Vec::new();
        while self.addresses.len() > bounds.keys || !self.has_memory() {
            let Some(address) = self.addresses.pop() else {
                break;
            };
            left.push(address);
        }
        self.given_up.extend_from_slice(&left);
        self.client.set_tracked(self.bytes());
        left
    }

    /// The same of a client that may be asked for memory by others.
    pub fn fit_asked(&mut self, bounds: Bounds) -> Vec<Arc<[u8]>> {
        let mut left = Vec::new();
        if self.client.take_asked() {
            let most = self.bytes().saturating_sub(ASKED_BYTES);
            while self.bytes() > most
                && let Some(address) = self.addresses.pop()
            {
                left.push(address);
            }
            self.given_up.extend_from_slice(&left);
        }
        left.extend(self.fit(bounds));
        left
    }

    fn bytes(&self) -> usize {
        self.addresses.bytes() + self.addresses.len() * KEY_BYTES
    }

    /// True if there is memory for the keys.
    fn has_memory(&mut self) -> bool {
        let bytes = self.bytes();
        self.tracked.give(bytes);
        self.memory.give(bytes);
        if self.tracked.cover(bytes).is_err() || self.client.clients().tracked().is_over() {
            self.client.clients().ask_for_room(self.client.id);
            return false;
        }
        bytes <= SMALL_BYTES || self.memory.cover(bytes).is_ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.client.set_tracked(0);
    }
}
