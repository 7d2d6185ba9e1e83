//! A loosely coupled node's messages to the others: those of the machine of primary copy locking, and of the
//! membership.
//!
//! Invariant: a message is taken only from a member, and not before its epoch is known.

use super::coding::{self, Letter};
use super::coupling::{Job, Loose, RegisterJob};
use super::frame::Frame;
use super::link::Link;
use super::peer::Peer;
use crate::node::NodeError;
use crate::node::gem::PageBytes;
use crate::node::shell::Shell;
use crate::protocol::membership::{self, Admission};
use crate::protocol::{Epoch, Input, Message, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// With so many messages on their way to a node, which may be stopped, no search for a deadlock is sent there.
const PROBES_WAITING_MAX: usize = 256;

impl Shell<Loose> {
    /// Sends a message of the machine, with the pages that it carries.
    ///
    /// # Errors
    /// [`NodeError::PageLost`].
    pub fn send_message(&mut self, to: NodeId, message: Message) -> Result<(), NodeError> {
        if !self.coupling.membership.view().members.contains_key(&to) {
            // A failed node gets nothing more; the requests that it awaited are recovered.
            return Ok(());
        }
        // A search for a deadlock is begun again and again, and lost without harm.
        if matches!(message, Message::Probe(_))
            && self.coupling.peers.get(&to).map_or(0, Peer::waiting) > PROBES_WAITING_MAX
        {
            return Ok(());
        }
        let mut pages = Vec::new();
        for (page, psn) in message.carried_pages() {
            let copy = self.local.buffer.get(page).filter(|copy| copy.psn == psn);
            let copy = copy.ok_or(NodeError::PageLost {
                page: page.0,
                psn: psn.0,
                found: 0,
            })?;
            pages.push(copy.bytes.clone());
        }
        self.send(to, &Letter::Protocol(message, pages));
        Ok(())
    }

    fn peer(&mut self, node: NodeId) -> &mut Peer {
        let own = self.local.node;
        let Loose {
            trust,
            new_links,
            peers,
            ..
        } = &mut self.coupling;
        peers.entry(node).or_insert_with(|| {
            let link = Arc::new(Link::new(own, node, trust.clone()));
            new_links.push((node, link.clone()));
            Peer::new(link)
        })
    }

    fn send(&mut self, to: NodeId, letter: &Letter) {
        let Some((kind, content)) = coding::encode(letter) else {
            return;
        };
        let epoch = self.coupling.membership.view().epoch;
        self.peer(to).send((kind, epoch, content.into()));
    }

    /// A connection to a node was made anew: possibly lost messages are sent again.
    pub fn connected(&mut self, node: NodeId) {
        if let Some(peer) = self.coupling.peers.get_mut(&node) {
            peer.connected();
        }
    }

    /// A little time has passed: received messages are acknowledged. If `long`, so much that unacknowledged messages
    /// may be lost.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn tick(&mut self, long: bool) -> Result<(), NodeError> {
        for peer in self.coupling.peers.values_mut() {
            peer.tick(long);
        }
        if !long {
            return Ok(());
        }
        let bound = self.coupling.unreachable_after;
        let peers = self.coupling.peers.iter();
        let peers = peers.map(|(&node, peer)| (node, peer.unanswered()));
        let all: Vec<(NodeId, u32)> = peers.filter(|(_, looks)| *looks > bound / 2).collect();
        let silent: BTreeSet<NodeId> = all.iter().map(|(node, _)| *node).collect();
        let due = all.into_iter().filter(|(_, looks)| looks % bound == 0);
        for (node, looks) in due {
            self.tell_membership(membership::Input::Unanswered {
                node,
                times: looks / bound,
                silent: silent.clone(),
            })?;
        }
        Ok(())
    }

    /// Checks that the node takes messages of this one.
    pub fn hears(&self, node: NodeId) -> Result<(), String> {
        match self.coupling.membership.view().shut_out.contains_key(&node) {
            true => Err("this node was shut out".into()),
            false => self.check().map_err(|error| error.to_string()),
        }
    }

    /// A frame has come from a node.
    ///
    /// # Errors
    /// [`NodeError::Frame`]: that node's message is not valid. Others: this one has stopped.
    pub fn hear(&mut self, from: NodeId, frame: Frame) -> Result<(), NodeError> {
        self.check()?;
        let delivered = self.peer(from).hear(frame)?;
        for (kind, epoch, content) in delivered {
            let content: &[u8] = &content;
            let frame = Frame {
                kind,
                epoch,
                content: content.to_vec(),
                ..Frame::default()
            };
            let letter = coding::decode(&frame)?;
            self.deliver(from, epoch, letter)?;
        }
        Ok(())
    }

    fn deliver(&mut self, from: NodeId, sent_in: Epoch, letter: Letter) -> Result<(), NodeError> {
        match letter {
            Letter::Announced(view) => self.tell_membership(membership::Input::Announced(view)),
            Letter::Acknowledged(epoch) => {
                self.tell_membership(membership::Input::Acknowledged(from, epoch))
            }
            Letter::Protocol(message, pages) => match self.coupling.membership.admit(from, sent_in)
            {
                Admission::Take => self.take(from, sent_in, message, pages),
                Admission::Refuse => Ok(()),
                Admission::Later => {
                    let letter = Letter::Protocol(message, pages);
                    self.coupling.early.push((from, sent_in, letter));
                    self.tell_membership(membership::Input::Look)
                }
            },
        }
    }

    fn take(
        &mut self,
        from: NodeId,
        sent_in: Epoch,
        message: Message,
        pages: Vec<Box<PageBytes>>,
    ) -> Result<(), NodeError> {
        let carried = message.carried_pages();
        let returned = !message.returned_pages().is_empty();
        for ((page, psn), bytes) in carried.into_iter().zip(pages) {
            match returned {
                true => self.local.take_back(page, psn, &bytes),
                false => self.coupling.arrived.push((page, psn, bytes)),
            }
        }
        let fed = self.feed(Input::Message {
            from,
            message,
            sent_in,
        });
        self.coupling.arrived.clear();
        fed
    }

    /// Gives the membership's machine an input, and performs its outputs.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn tell_membership(&mut self, input: membership::Input) -> Result<(), NodeError> {
        self.check()?;
        let before = self.coupling.membership.view().epoch;
        let mut outputs = Vec::new();
        self.coupling.membership.handle(input, &mut outputs);
        let is_newer = self.coupling.membership.view().epoch > before;
        if is_newer && self.coupling.membership.is_member() {
            let view = Box::new(self.coupling.membership.view().clone());
            self.feed(Input::Assigned(view))?;
        }
        for output in outputs {
            self.perform_membership(output)?;
        }
        if is_newer {
            for (from, sent_in, letter) in std::mem::take(&mut self.coupling.early) {
                self.deliver(from, sent_in, letter)?;
            }
        }
        Ok(())
    }

    fn perform_membership(&mut self, output: membership::Output) -> Result<(), NodeError> {
        use membership::Output;
        let at_register = |job| {
            let _ = self.coupling.register.send(job);
        };
        match output {
            Output::ReadView => at_register(RegisterJob::Read),
            Output::SwapView { expected, view } => at_register(RegisterJob::Swap(expected, view)),
            Output::Announce(to, view) => self.send(to, &Letter::Announced(view)),
            Output::Acknowledge(to, epoch) => self.send(to, &Letter::Acknowledged(epoch)),
            Output::Joined(node) => {
                at_register(RegisterJob::Look);
                if node != self.node() {
                    self.peer(node);
                }
            }
            Output::Left(node) => {
                if let Some(peer) = self.coupling.peers.remove(&node) {
                    peer.link.stop();
                }
                self.feed(Input::NodeFailed { node })?;
            }
            // Data that a present node has only read may be acknowledged, and must be the newest.
            Output::CloseLog(node, epoch) if !self.coupling.absent.contains(&node) => {
                self.coupling.closing.insert(node, epoch);
                at_register(RegisterJob::Look);
            }
            Output::CloseLog(node, epoch) => self.coupling.job(Job::CloseLog(node, epoch)),
            // Its log is closed where the pages are, so all that it committed is stored.
            Output::Recover(node) => {
                self.tell_membership(membership::Input::Recovered(node))?;
            }
            Output::Recovered(node) => self.feed(Input::NodeRecovered { node })?,
            Output::ShutOut => {
                let reason = "the others continue without it".into();
                self.stop(&NodeError::ShutOut { reason });
            }
        }
        Ok(())
    }

    /// The ways out end.
    pub fn stop_links(&mut self) {
        self.coupling
            .peers
            .values()
            .for_each(|peer| peer.link.stop());
    }

    /// Sets the addresses of nodes.
    pub fn are_at(&self, places: &BTreeMap<NodeId, std::net::SocketAddr>) {
        for (node, peer) in &self.coupling.peers {
            if let Some(&place) = places.get(node) {
                peer.link.is_at(place);
            }
        }
    }
}
