//! Messages between the nodes, with the pages that they carry; over a bad network in packets.

use super::{Event, Letter, Version, World, carried};
use sardonyx_sharing::protocol::channel::Packet;
use sardonyx_sharing::protocol::{Input, Message, NodeId, PageId};

impl World {
    pub(super) fn send(&mut self, from: NodeId, to: NodeId, message: Message) {
        assert_ne!(from, to, "a message to oneself");
        if self.failed.contains_key(&to) {
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
        let Some(channels) = &mut self.channels else {
            let event = Event::Message {
                from,
                to,
                message,
                pages,
            };
            return self.events.push(event);
        };
        let packet = channels
            .entry((from, to))
            .or_default()
            .send((message, pages));
        self.events
            .extend(packet.map(|packet| Event::Packet { from, to, packet }));
    }

    /// Nobody will hear of the page that the message announces.
    fn free_slot(&mut self, from: NodeId, message: &Message) {
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
    ) {
        for (page, psn) in message.returned_pages() {
            let version = carried(pages, page);
            assert_eq!(version.psn, psn, "the release returns another version");
            let frame = self.node(to).install(page, version);
            frame.dirty = true;
        }
        let outputs = self.handle(to, Input::Message { from, message });
        self.perform(to, outputs, pages);
    }

    pub(super) fn receive(&mut self, from: NodeId, to: NodeId, packet: Packet<Letter>) {
        let channels = self.channels.as_mut().expect("packets need a bad network");
        let mut delivered = Vec::new();
        let answer = channels
            .entry((to, from))
            .or_default()
            .receive(packet, &mut delivered);
        if let Some(packet) = answer {
            self.events.push(Event::Packet {
                from: to,
                to: from,
                packet,
            });
        }
        for (message, pages) in delivered {
            self.deliver(from, to, message, &pages);
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
        let channels = self.channels.iter().flatten();
        let again = channels.flat_map(|(&(from, to), channel)| {
            let packets = channel.timeout().into_iter();
            packets.map(move |packet| Event::Packet { from, to, packet })
        });
        let again: Vec<Event> = again.collect();
        let any = !again.is_empty();
        self.events.extend(again);
        any
    }
}
