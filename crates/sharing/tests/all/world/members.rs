//! Nodes that determine the membership themselves, and shut each other out: dead ones, stopped ones, and ones that are
//! only slow. A node that was shut out goes on until something refuses it.
//!
//! The register, GEM, storage and the logs refuse a node when it is *cut*: when a survivor closes its log. What its
//! processors do meanwhile is not checked; what it acknowledges is (I12).

use super::{Divided, Event, Machine, Machines, Node, Planted, World};
use sardonyx_sharing::protocol::fence::Closer;
use sardonyx_sharing::protocol::membership::{Admission, Input, Membership, Output, View};
use sardonyx_sharing::protocol::{
    self, Assignment, Division, Epoch, NodeId, PageId, TransactionId,
};
use std::collections::BTreeMap;

/// Parts into which the lock authority is divided.
const PARTS: u16 = 6;

/// The register, and what each node knows of it.
#[derive(Clone, Debug)]
pub struct Members {
    pub register: View,
    machines: BTreeMap<NodeId, Membership>,
    /// Pages of the database.
    pages: usize,
    /// If the authority is divided by places: so many. A node that joins runs where one of the first ones ran.
    places: Option<u16>,
    /// The numbers of messages refused, of groups that found a fence, and of nodes ended by a message that they
    /// received.
    pub refused: u64,
    pub fenced: u64,
    pub shut_out: u64,
}

/// Something of who takes part that is under way.
#[derive(Clone, Debug)]
pub enum ViewEvent {
    Read,
    Swap(Epoch, View),
    /// An access to the register that is done, and its node does not know.
    Done(Input),
    /// A message.
    Tell(NodeId, Input),
    Close(NodeId, Epoch, Closer),
}

impl Members {
    /// All nodes are members, and know it.
    fn new(nodes: u16, pages: usize, division: Division) -> Self {
        let all = (0..nodes).map(NodeId);
        let places = (!division.runs().is_empty()).then_some(nodes);
        let members = all.clone().map(|node| (node, Epoch(1))).collect();
        let mut assignment = Assignment::new(division, NodeId(0), Epoch(1));
        for node in all.clone().filter(|_| places.is_some()) {
            assignment.runs_at(node, node.0);
        }
        assignment.rebalance(&members, Epoch(1));
        let register = View {
            epoch: Epoch(1),
            members,
            shut_out: BTreeMap::new(),
            assignment,
        };
        let member = |node| {
            let mut machine = Membership::new(node);
            machine.handle(Input::Announced(register.clone()), &mut Vec::new());
            (node, machine)
        };
        Members {
            machines: all.map(member).collect(),
            register,
            pages,
            places,
            refused: 0,
            fenced: 0,
            shut_out: 0,
        }
    }
}

impl World {
    /// From now on the nodes find out themselves who takes part. The lock authority is divided by places, or spread.
    pub fn let_nodes_find_out(&mut self, pages: usize, by_place: bool) {
        let all = (0..self.nodes.len() as u16).map(NodeId);
        let moves = matches!(self.machines, Machines::PrimaryCopy(_));
        let nodes = self.nodes.len();
        let division = match (moves, by_place) {
            (false, _) => Division::default(),
            (true, false) => Division::spread(PARTS),
            (true, true) => {
                let first = |place: usize| PageId((place * pages.max(nodes) / nodes) as u64);
                let runs: Vec<_> = (0..nodes)
                    .map(|place| (first(place), place as u16))
                    .collect();
                Division::by_place(pages as u64, &runs).expect("runs ascend from page 0 on")
            }
        };
        let members = Members::new(nodes as u16, pages, division);
        let view = members.register.clone();
        self.members = Some(members);
        for node in all.filter(|_| moves) {
            let divided = Divided::Moving(Assignment::default());
            self.node(node).machine = Machine::new(self.machines, node, divided);
            self.tell(node, protocol::Input::Assigned(Box::new(view.clone())));
        }
    }

    /// A new node joins.
    pub fn join(&mut self) {
        let node = NodeId(self.nodes.len() as u16);
        let divided = Divided::Moving(Assignment::default());
        let machine = Machine::new(self.machines, node, divided);
        self.nodes.push(Node::new(machine));
        self.logs.open(node);
        if let Some(all) = &mut self.members {
            let place = all.places.map(|places| node.0 % places);
            let machine = Membership::new(node).dividing(Division::default(), place);
            all.machines.insert(node, machine);
        }
        self.tell_membership(node, Input::Join);
    }

    /// True if all nodes know the register's view, and all its work is done.
    pub fn is_settled(&self) -> bool {
        self.members.as_ref().is_none_or(|all| {
            let mut nodes = self.running().into_iter();
            let View {
                members, shut_out, ..
            } = &all.register;
            let lives = |node| !self.dead.contains(node);
            let settled = shut_out.is_empty() && members.keys().all(lives);
            settled && nodes.all(|node| self.knows_all(node))
        })
    }

    /// Nodes that do something, and take part as far as they know.
    pub fn taking_part(&self) -> Vec<NodeId> {
        let mut running = self.running();
        if let Some(all) = &self.members {
            running.retain(|node| all.machines[node].is_member());
        }
        running
    }

    /// The members that do something.
    pub fn running_members(&self) -> Vec<NodeId> {
        let members = self
            .members
            .iter()
            .flat_map(|all| all.register.members.keys());
        let idle = |node: &NodeId| self.dead.contains(node) || self.stopped.contains(node);
        members.copied().filter(|node| !idle(node)).collect()
    }

    /// All nodes that do something, whether they take part or not.
    pub fn running(&self) -> Vec<NodeId> {
        let all = (0..self.nodes.len() as u16).map(NodeId);
        let idle = |node: &NodeId| self.dead.contains(node) || self.stopped.contains(node);
        all.filter(|node| !idle(node)).collect()
    }

    /// True if an event cannot happen now, as the node that would act is stopped.
    pub fn is_frozen(&self, event: &Event) -> bool {
        let to = match event {
            Event::Message { to, .. } | Event::View(_, ViewEvent::Tell(to, _)) => Some(to),
            _ => None,
        };
        let doer = to.copied().or(event.actor());
        doer.is_some_and(|node| self.stopped.contains(&node))
    }

    /// True if the node knows the register's view.
    pub fn knows_all(&self, node: NodeId) -> bool {
        let register = self.members.as_ref().map(|all| all.register.epoch);
        register == Some(self.known_epoch(node))
    }

    pub fn tell_membership(&mut self, node: NodeId, input: Input) {
        if self.verbose {
            println!("  {node:?} <- {input:?}");
        }
        let Some(all) = &mut self.members else { return };
        let machine = all.machines.get_mut(&node).expect("each has one");
        let mut outputs = Vec::new();
        let before = machine.view().epoch;
        machine.handle(input, &mut outputs);
        let pages = all.pages;
        if machine.view().epoch > before && machine.is_member() {
            let view = Box::new(machine.view().clone());
            self.tell(node, protocol::Input::Assigned(view));
        }
        for output in outputs {
            if self.verbose {
                println!("  {node:?} -> {output:?}");
            }
            if self.dead.contains(&node) {
                return;
            }
            let event = match output {
                Output::ReadView => ViewEvent::Read,
                Output::SwapView { expected, view } => ViewEvent::Swap(expected, view),
                Output::Announce(to, view) => ViewEvent::Tell(to, Input::Announced(view)),
                Output::Acknowledge(to, epoch) => {
                    ViewEvent::Tell(to, Input::Acknowledged(node, epoch))
                }
                Output::CloseLog(failed, epoch) => ViewEvent::Close(failed, epoch, Closer::new(1)),
                Output::Joined(_) => continue,
                Output::Left(failed) => {
                    self.tell(node, protocol::Input::NodeFailed { node: failed });
                    continue;
                }
                Output::Recover(_) if self.failed.contains_key(&node) => {
                    self.shut_out(node);
                    continue;
                }
                Output::Recover(failed) => {
                    self.recover_too(node, failed, pages);
                    continue;
                }
                Output::Recovered(failed) => {
                    self.tell(node, protocol::Input::NodeRecovered { node: failed });
                    continue;
                }
                Output::ShutOut => {
                    self.shut_out(node);
                    continue;
                }
            };
            self.events.push(Event::View(node, event));
        }
    }

    pub(super) fn view_event(&mut self, node: NodeId, event: ViewEvent) {
        let Some(all) = &mut self.members else { return };
        let done = match event {
            ViewEvent::Read => Input::ViewRead(all.register.clone()),
            ViewEvent::Swap(expected, view) => {
                let swapped = all.register.epoch == expected;
                if swapped {
                    all.register = view;
                }
                Input::ViewSwapped(swapped)
            }
            ViewEvent::Done(input) => return self.tell_membership(node, input),
            ViewEvent::Tell(to, input) => {
                if !self.dead.contains(&to) {
                    self.tell_membership(to, input);
                }
                return;
            }
            ViewEvent::Close(failed, epoch, mut closer) => {
                let skipped = self.logs.planted == Some(Planted::NoFence);
                if !skipped && !self.close_log(failed, epoch, &mut closer) {
                    let again = ViewEvent::Close(failed, epoch, closer);
                    return self.events.push(Event::View(node, again));
                }
                self.cut(failed);
                Input::LogClosed(failed)
            }
        };
        let done = Event::View(node, ViewEvent::Done(done));
        self.events.push(done);
    }

    /// The newest epoch that a node knows.
    pub(super) fn known_epoch(&self, node: NodeId) -> Epoch {
        let machine = self.members.iter().find_map(|all| all.machines.get(&node));
        machine.map_or(Epoch(0), |machine| machine.view().epoch)
    }

    /// The fate of an event before it happens: a message may be refused or held, and a node that is cut off ends with
    /// its effects on others.
    pub(super) fn admitted(&mut self, event: Event) -> Option<Event> {
        let Some(all) = &mut self.members else {
            return Some(event);
        };
        if let Event::Message {
            from, to, sent_in, ..
        } = event
            && !self.dead.contains(&to)
        {
            match all.machines[&to].admit(from, sent_in) {
                Admission::Later => {
                    self.tell_membership(to, Input::Look);
                    self.events.push(event);
                    return None;
                }
                Admission::Refuse if self.logs.planted == Some(Planted::OldEpochs) => {
                    return Some(event);
                }
                Admission::Refuse => all.refused += 1,
                Admission::Take => return Some(event),
            }
        }
        if let Event::Message { from, message, .. } = event {
            self.free_slot(from, &message);
            return None;
        }
        let local = matches!(
            event,
            Event::EntryDone(..) | Event::Supply(..) | Event::View(..) | Event::Consume(_)
        );
        let log = matches!(event, Event::WriteGroup(_));
        match event.actor() {
            Some(node) if !local && !log && self.failed.contains_key(&node) => {
                self.shut_out(node);
                None
            }
            _ => Some(event),
        }
    }

    /// A node finds out that it takes no part any more, and ends.
    pub(super) fn shut_out(&mut self, node: NodeId) {
        let registered = self
            .members
            .as_ref()
            .map(|all| all.register.members.contains_key(&node));
        assert_eq!(registered, Some(false), "{node:?} ends without reason");
        if let Some(all) = &mut self.members {
            all.shut_out += 1;
            all.fenced += u64::from(self.logs.is_closed(node));
        }
        self.events
            .retain(|event| matches!(event, Event::Message { .. }) || event.actor() != Some(node));
        self.awaiting.retain(|event| event.actor() != Some(node));
        self.end_node(node);
    }

    /// True if the node may acknowledge a transaction that is in no log: it asks if its log is still open. (With a
    /// lease it would know for a while.)
    pub(super) fn may_acknowledge(&mut self, transaction: TransactionId) -> bool {
        let node = transaction.node();
        let cut = self.members.is_some() && self.failed.contains_key(&node);
        if cut && self.logs.planted != Some(Planted::NoLease) {
            self.shut_out(node);
            return false;
        }
        true
    }

    /// Checks that an acknowledged transaction has read committed values.
    pub(super) fn check_reads(&mut self, transaction: TransactionId) {
        let state = self.transaction(transaction).expect("who commits lives");
        for (page, psn) in state.read.clone() {
            assert_eq!(
                psn,
                self.newest(page).psn,
                "{transaction:?} has read an old {page:?}"
            );
        }
    }

    pub(super) fn check_members(&self) {
        let Some(all) = &self.members else { return };
        assert!(all.register.shut_out.is_empty(), "{:?}", all.register);
        for node in all.register.members.keys() {
            assert_eq!(all.machines[node].view(), &all.register);
        }
    }
}
