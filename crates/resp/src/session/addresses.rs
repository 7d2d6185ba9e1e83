//! Addresses in the hub to which a session listens, in the order in which it began: channels and patterns, or keys that it
//! tracks. The session finds them here without a look into the hub, which all sessions share.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

#[derive(Default, Debug)]
pub(super) struct Addresses {
    places: HashMap<Arc<[u8]>, u64>,
    order: BTreeMap<u64, Arc<[u8]>>,
    next: u64,
    /// The length of all together.
    bytes: usize,
}

impl Addresses {
    /// Adds an address. Returns false if it is there.
    pub fn add(&mut self, address: &Arc<[u8]>) -> bool {
        if self.contains(address) {
            return false;
        }
        self.places.insert(address.clone(), self.next);
        self.order.insert(self.next, address.clone());
        self.next += 1;
        self.bytes += address.len();
        true
    }

    pub fn contains(&self, address: &[u8]) -> bool {
        self.places.contains_key(address)
    }

    pub fn remove(&mut self, address: &[u8]) -> Option<Arc<[u8]>> {
        let place = self.places.remove(address)?;
        self.bytes -= address.len();
        self.order.remove(&place)
    }

    /// Takes the oldest one.
    pub fn pop(&mut self) -> Option<Arc<[u8]>> {
        let (_, address) = self.order.pop_first()?;
        self.places.remove(&address);
        self.bytes -= address.len();
        Some(address)
    }

    pub fn take(&mut self) -> impl Iterator<Item = Arc<[u8]>> + use<> {
        let Addresses { order, .. } = std::mem::take(self);
        order.into_values()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.order.values()
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The length of all together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
