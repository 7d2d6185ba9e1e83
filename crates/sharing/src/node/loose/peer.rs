//! Another node, as a node's shell has it: the channel, which numbers messages, and the link that carries them.
//!
//! Invariant: a message that the channel took is sent now, follows when the link has room, or is sent again over a
//! new connection. A link that brings no acknowledgement for long gets one.

use super::coding::RECEIPT;
use super::frame::{Frame, FrameError};
use super::link::Link;
use crate::protocol::Epoch;
use crate::protocol::channel::{Channel, Packet};
use std::sync::Arc;

/// After so many messages they are acknowledged at once.
const UNACKNOWLEDGED_MAX: u32 = 128;

/// An encoded letter, and the epoch in which it was sent.
pub type Sent = (u8, Epoch, Arc<[u8]>);

/// Another node.
#[derive(Debug)]
pub struct Peer {
    channel: Channel<Sent>,
    pub link: Arc<Link>,
    /// Messages that it does not know to have come.
    unacknowledged: u32,
    /// Nothing was acknowledged since the last look.
    quiet: bool,
    /// Long looks in a row at which nothing had come, though something was awaited.
    unanswered: u32,
}

impl Peer {
    pub fn new(link: Arc<Link>) -> Self {
        Peer {
            channel: Channel::new(),
            link,
            unacknowledged: 0,
            quiet: false,
            unanswered: 0,
        }
    }

    /// Messages that it has not acknowledged.
    pub fn waiting(&self) -> usize {
        self.channel.waiting()
    }

    pub fn send(&mut self, sent: Sent) {
        if let Some(packet) = self.channel.send(sent) {
            self.unacknowledged = 0;
            self.link.send(&bytes_of([packet]));
        }
    }

    /// A connection was made anew: possibly lost messages are sent again.
    pub fn connected(&mut self) {
        self.link.send(&bytes_of(self.channel.timeout()));
    }

    /// A little time has passed: received messages are acknowledged. If `long`, so much that unacknowledged messages
    /// may be lost.
    pub fn tick(&mut self, long: bool) {
        if self.unacknowledged > 0 {
            self.receipt();
        }
        if long {
            if self.quiet && !self.channel.is_settled() {
                self.link.renew();
            }
            self.quiet = !self.channel.is_settled();
            self.unanswered = match self.quiet {
                true => self.unanswered.saturating_add(1),
                false => 0,
            };
        }
    }

    /// Long looks in a row at which nothing had come, though something was awaited.
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Takes a frame of the other node; returns its messages, in order.
    ///
    /// # Errors
    /// [`FrameError::Kind`].
    pub fn hear(&mut self, frame: Frame) -> Result<Vec<Sent>, FrameError> {
        let message = match (frame.kind, frame.number) {
            (RECEIPT, 0) => None,
            (kind, 0) => return Err(FrameError::Kind { kind }),
            (kind, number) => Some((number - 1, (kind, frame.epoch, frame.content.into()))),
        };
        let mut delivered = Vec::new();
        (self.quiet, self.unanswered) = (false, 0);
        let packet = Packet {
            message,
            received: frame.received,
        };
        if self.channel.receive(packet, &mut delivered).is_some() {
            self.unacknowledged += 1;
            if self.unacknowledged > UNACKNOWLEDGED_MAX {
                self.receipt();
            }
        }
        let following = self.channel.follow();
        if !following.is_empty() {
            self.link.send(&bytes_of(following));
        }
        Ok(delivered)
    }

    fn receipt(&mut self) {
        self.unacknowledged = 0;
        // An empty packet says how far the channel is.
        let received = self.channel.received();
        let frame = Frame {
            kind: RECEIPT,
            received,
            ..Frame::default()
        };
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.link.send(&bytes);
    }
}

fn bytes_of(packets: impl IntoIterator<Item = Packet<Sent>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Packet { message, received } in packets {
        if let Some((number, (kind, epoch, content))) = message {
            let frame = Frame {
                kind,
                epoch,
                number: number + 1,
                received,
                content: content.to_vec(),
            };
            frame.encode(&mut bytes);
        }
    }
    bytes
}
