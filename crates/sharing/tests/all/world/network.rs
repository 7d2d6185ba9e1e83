//! Messages between the nodes, with the pages that they carry; over a bad network in packets.

use super::{Event, Letter, Planted, Version, World, carried};
use sardonyx_sharing::protocol::channel::Packet;
use sardonyx_sharing::protocol::{Epoch, Input, Message, NodeId, PageId};

impl World {
    pub(super) fn send(&mut self, from: NodeId, to: NodeId, message: Message) {
        assert_ne!(from, to, "a message to oneself");
        if self.failed.contains_key(&to) || self.dead.contains(&to) {
            self.free_slot(from, &message);
            return;
        }
        let mut pages = Vec::new();
        for (page, psn) in message.carried_pages() {
            let frame = self
                .node(from)
                .frames
                .get(&page)
                .expect("a page to be sent is there");
            assert_eq!(
                frame.version.psn, psn,
                "{from:?} sends another version of {page:?}"
            );
            pages.push((page, frame.version));
        }
        assert_eq!(message.is_long(), !pages.is_empty());
        let sent_in = self.known_epoch(from);
        let message = match message {
            Message::Declare { part, since, .. }
                if self.logs.planted == Some(Planted::NotDeclared) =>
            {
                let locks = Vec::new();
                Message::Declare { part, since, locks }
            }
            other => other,
        };
        let Some(channels) = &mut self.channels else {
            let event = Event::Message {
                from,
                to,
                message,
                pages,
                sent_in,
            };
            return self.events.push(event);
        };
        let packet = channels
            .entry((from, to))
            .or_default()
            .send((message, pages, sent_in));
        self.events
            .extend(packet.map(|packet| Event::Packet { from, to, packet }));
    }

    /// Frees the slot of the page that an undelivered message announces.
    pub(super) fn free_slot(&mut self, from: NodeId, message: &Message) {
        if let Message::PageInGem {
            transaction, page, ..
        } = *message
        {
            self.slots.remove(&(from, transaction, page));
        }
    }

    pub(super) fn deliver(
        &mut self,
        from: NodeId,
        to: NodeId,
        message: Message,
        pages: &[(PageId, Version)],
        sent_in: Epoch,
    ) {
        let sent_in = match self.logs.planted {
            Some(Planted::OldEpochs) => Epoch(u32::MAX),
            _ => sent_in,
        };
        for (page, psn) in message.returned_pages() {
            let version = carried(pages, page);
            assert_eq!(version.psn, psn, "the release returns another version");
            let stored = self.machines.stored_at_commit();
            let frame = self.node(to).frames.get(&page);
            if frame.is_some_and(|frame| frame.version.psn > psn) {
                // It is late, and void.
                continue;
            }
            let frame = self.node(to).install(page, version);
            frame.dirty = !stored;
        }
        let outputs = self.handle(
            to,
            Input::Message {
                from,
                message,
                sent_in,
            },
        );
        self.perform(to, outputs, pages);
    }

    pub(super) fn receive(&mut self, from: NodeId, to: NodeId, packet: Packet<Letter>) {
        let channels = self.channels.as_mut().expect("packets need a bad network");
        let mut delivered = Vec::new();
        let channel = channels.entry((to, from)).or_default();
        let answer = channel.receive(packet, &mut delivered);
        for packet in answer.into_iter().chain(channel.follow()) {
            self.events.push(Event::Packet {
                from: to,
                to: from,
                packet,
            });
        }
        for (message, pages, sent_in) in delivered {
            if self.members.is_none() {
                self.deliver(from, to, message, &pages, sent_in);
                continue;
            }
            // It may be refused, or held.
            self.events.push(Event::Message {
                from,
                to,
                message,
                pages,
                sent_in,
            });
        }
    }

    /// The network loses or repeats what is at this place of the pool. Returns whether it could.
    pub fn lose(&mut self, place: usize) -> bool {
        let packet = matches!(self.events[place], Event::Packet { .. });
        if packet {
            self.events.remove(place);
        }
        packet
    }

    pub fn repeat(&mut self, place: usize) {
        if matches!(self.events[place], Event::Packet { .. }) {
            self.events.push(self.events[place].clone());
        }
    }

    /// Every node sends again what has not been acknowledged. Returns whether there was anything.
    pub fn time_out(&mut self) -> bool {
        let channels = self.channels.iter_mut().flatten();
        let both = channels.filter(|((from, to), _)| {
            let ends = [from, to];
            ends.iter().all(|node| !self.dead.contains(node))
        });
        let again = both.flat_map(|(&(from, to), channel)| {
            let packets = channel.timeout().into_iter();
            packets.map(move |packet| Event::Packet { from, to, packet })
        });
        let again: Vec<Event> = again.collect();
        let any = !again.is_empty();
        self.events.extend(again);
        any
    }
}
