//! Messages between nodes across GEM (GEM paper, section 2: "all messages are exchanged across the GEM"). A ring
//! of words for each pair of nodes, which one writes and the other reads.
//!
//! A message exists from the store of the writer's position to that of the reader's. Each is one store, so a node that
//! dies has sent a message or has not. A message names the lives of both nodes: messages that a former life of the
//! reader's slot did not read are read and dropped by the next one. The others still read the messages of a node that
//! died.
//!
//! Bounds (I10): a ring has room for [`MAIL_RING`] words. The sender keeps messages that do not fit, in the
//! order of sending. They are never more than its transactions have under way.

use super::gem::{Gem, slot_of, step};
use super::layout::{MAIL_DATA, MAIL_HEAD, MAIL_RING, MAIL_TAIL, MESSAGE_WORDS_MAX};
use crate::protocol::NodeId;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A message in words, behind its sender and its receiver.
pub(super) type Letter = Vec<u64>;

/// The first word of a message: its length, and the nodes.
fn head(from: NodeId, to: NodeId, length: usize) -> u64 {
    (length as u64) << 32 | u64::from(from.0) << 16 | u64::from(to.0)
}

impl Gem {
    /// Puts a message into the mailbox. Returns whether there was room.
    fn post(&self, from: NodeId, to: NodeId, letter: &[u64]) -> bool {
        let at = self.shape().mailbox(slot_of(from), slot_of(to));
        let tail = self.word(at + MAIL_TAIL).load(Ordering::Relaxed);
        let read = self.word(at + MAIL_HEAD).load(Ordering::Acquire);
        let length = 1 + letter.len();
        if tail.wrapping_sub(read) as usize + length > MAIL_RING {
            return false;
        }
        let words = std::iter::once(head(from, to, letter.len())).chain(letter.iter().copied());
        for (n, word) in words.enumerate() {
            let place = (tail as usize).wrapping_add(n) % MAIL_RING;
            self.word(at + MAIL_DATA + place)
                .store(word, Ordering::Relaxed);
        }
        step();
        let tail = tail.wrapping_add(length as u64);
        self.word(at + MAIL_TAIL).store(tail, Ordering::SeqCst);
        step();
        self.announce_mail(slot_of(from), slot_of(to));
        true
    }

    /// Takes the next message that the node of a slot has for this one, if there is one; returns its sender.
    pub fn receive(&self, from: usize, to: NodeId, letter: &mut Letter) -> Option<NodeId> {
        let at = self.shape().mailbox(from, slot_of(to));
        loop {
            let tail = self.word(at + MAIL_TAIL).load(Ordering::Acquire);
            let read = self.word(at + MAIL_HEAD).load(Ordering::Relaxed);
            if read == tail {
                return None;
            }
            let word = |n: usize| {
                let place = (read as usize).wrapping_add(n) % MAIL_RING;
                self.word(at + MAIL_DATA + place).load(Ordering::Relaxed)
            };
            let said = word(0);
            let length = ((said >> 32) as usize).min(MESSAGE_WORDS_MAX);
            letter.clear();
            letter.extend((1..=length).map(word));
            let read = read.wrapping_add(1 + length as u64);
            step();
            self.word(at + MAIL_HEAD).store(read, Ordering::Release);
            if said as u16 == to.0 {
                return Some(NodeId((said >> 16) as u16));
            }
        }
    }
}

/// The messages of a node for which the mailboxes had no room.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(NodeId, Letter)>,
    /// Searches for deadlocks that were too long for a mailbox. They are begun again.
    pub dropped: u64,
}

impl Outbox {
    /// Sends a message, now or later.
    pub fn send(&mut self, gem: &Gem, from: NodeId, to: NodeId, letter: Letter) {
        if letter.len() > MESSAGE_WORDS_MAX {
            self.dropped += 1;
            return;
        }
        let first = self.waiting.iter().all(|(other, _)| *other != to);
        if !(first && gem.post(from, to, &letter)) {
            self.waiting.push_back((to, letter));
        }
    }

    /// Sends the messages for which there is room by now.
    pub fn flush(&mut self, gem: &Gem, from: NodeId) {
        let mut full = Vec::new();
        self.waiting.retain(|(to, letter)| {
            let posted = !full.contains(to) && gem.post(from, *to, letter);
            if !posted {
                full.push(*to);
            }
            !posted
        });
    }

    /// Forgets messages for a node that has failed.
    pub fn forget(&mut self, node: NodeId) {
        self.waiting.retain(|(to, _)| *to != node);
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
