//! Exactly-once delivery, in order, over a network that loses, repeats and reorders.
//!
//! The protocols' machines need each message exactly once. A [`Channel`] is one node's end of its
//! connection with one other node. It numbers its messages, keeps each until the other end has
//! acknowledged it, and sends it again on [`Channel::timeout`]. It delivers received messages in
//! the order of the numbers, each once. Like the protocols it has no clock: the shell says when it
//! has waited long enough.
//!
//! Invariants: what is delivered is a prefix of what the other end has sent; a message is forgotten
//! by its sender only when it has been delivered. A channel does not outlive its node: what a
//! failed node had not received is lost with it.
//!
//! Bounds (I10): of the messages that are not acknowledged only the first [`WINDOW`] are sent, and
//! the receiver keeps as many that came too early. The others follow when there is room
//! ([`Channel::follow`]). The sender keeps all: its shell sees to it that there are not too many.
//!
//! ```
//! use sardonyx_sharing::protocol::channel::Channel;
//!
//! let (mut here, mut there) = (Channel::new(), Channel::new());
//! let lost = here.send("first");
//! let second = here.send("second").expect("there is room for it");
//! drop(lost);
//! let mut delivered = Vec::new();
//! there.receive(second, &mut delivered);
//! assert!(delivered.is_empty());
//! for packet in here.timeout() {
//!     there.receive(packet, &mut delivered);
//! }
//! assert_eq!(delivered, ["first", "second"]);
//! ```

use std::collections::{BTreeMap, VecDeque};

/// The number of messages under way to the other end.
pub const WINDOW: u64 = 1024;

/// A packet on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Packet<M> {
    /// A message and its number; none in a mere acknowledgement.
    pub message: Option<(u64, M)>,
    /// The sender has received every message with a lower number.
    pub received: u64,
}

/// One node's end of a connection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Channel<M> {
    /// The number of the first message in `unacknowledged`.
    first: u64,
    unacknowledged: VecDeque<M>,
    /// The number of the first message that was never sent.
    unsent: u64,
    /// The number of the next message to be delivered here.
    expected: u64,
    early: BTreeMap<u64, M>,
}

impl<M> Default for Channel<M> {
    fn default() -> Self {
        Channel {
            first: 0,
            unacknowledged: VecDeque::new(),
            unsent: 0,
            expected: 0,
            early: BTreeMap::new(),
        }
    }
}

impl<M: Clone> Channel<M> {
    /// An end that has sent and received nothing.
    pub fn new() -> Self {
        Channel::default()
    }

    /// Takes a message for the other end. Returns the packet to be sent now; none if [`WINDOW`]
    /// messages are under way: then it is for [`Channel::follow`].
    pub fn send(&mut self, message: M) -> Option<Packet<M>> {
        let ahead = self.unacknowledged.len() as u64;
        self.unacknowledged.push_back(message);
        let is_next = self.unsent == self.first + ahead;
        (is_next && ahead < WINDOW).then(|| {
            self.unsent += 1;
            self.packet(ahead)
        })
    }

    /// The messages that had no room and have now, to be sent: call it when something was received.
    pub fn follow(&mut self) -> Vec<Packet<M>> {
        let from = self.unsent.saturating_sub(self.first);
        self.unsent = self.unsent.max(self.first + self.under_way());
        (from..self.under_way())
            .map(|ahead| self.packet(ahead))
            .collect()
    }

    /// Messages that are not acknowledged, sent or not.
    pub fn waiting(&self) -> usize {
        self.unacknowledged.len()
    }

    fn under_way(&self) -> u64 {
        WINDOW.min(self.unacknowledged.len() as u64)
    }

    /// Takes a packet from the other end. Appends to `delivered` the messages whose turn it is.
    /// Returns the acknowledgement to be sent, if the packet had a message, be it an old one: then
    /// an earlier acknowledgement may have been lost.
    pub fn receive(&mut self, packet: Packet<M>, delivered: &mut Vec<M>) -> Option<Packet<M>> {
        while self.first < packet.received && self.unacknowledged.pop_front().is_some() {
            self.first += 1;
        }
        let (number, message) = packet.message?;
        if (self.expected..self.expected + WINDOW).contains(&number) {
            self.early.insert(number, message);
        }
        while let Some(message) = self.early.remove(&self.expected) {
            self.expected += 1;
            delivered.push(message);
        }
        Some(Packet {
            message: None,
            received: self.expected,
        })
    }

    /// Nothing has been heard for a while: the packets to be sent again.
    pub fn timeout(&mut self) -> Vec<Packet<M>> {
        self.unsent = self.unsent.max(self.first + self.under_way());
        (0..self.under_way())
            .map(|ahead| self.packet(ahead))
            .collect()
    }

    /// All messages of the other end with lower numbers have been received.
    pub fn received(&self) -> u64 {
        self.expected
    }

    /// True if the other end has received everything.
    pub fn is_settled(&self) -> bool {
        self.unacknowledged.is_empty()
    }

    /// The packet with this place among the messages that are not acknowledged.
    fn packet(&self, place: u64) -> Packet<M> {
        let message = self.unacknowledged[place as usize].clone();
        Packet {
            message: Some((self.first + place, message)),
            received: self.expected,
        }
    }
}
