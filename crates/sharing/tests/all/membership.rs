//! The membership alone: nodes join, die, stop and suspect each other at random, and messages and accesses to the
//! register come late. Checked: a node is recovered only when every member refuses its messages and its log is closed.
//! One node recovers at a time. In the end all know the register's view, and every failed node is recovered.
//! `exploration` checks the effect on transactions.

use crate::world::random::Random;
use sardonyx_sharing::protocol::membership::{Admission, Input, Membership, Output, View};
use sardonyx_sharing::protocol::{Assignment, Epoch, NodeId};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
enum Event {
    Read(NodeId),
    Swap(NodeId, Epoch, View),
    Close(NodeId, NodeId),
    Recovery(NodeId, NodeId),
    /// An answer or a message on its way to a node.
    Tell(NodeId, Input),
}

#[derive(Default)]
struct Group {
    register: View,
    nodes: BTreeMap<NodeId, Membership>,
    dead: BTreeSet<NodeId>,
    stopped: BTreeSet<NodeId>,
    closed: BTreeSet<NodeId>,
    events: Vec<Event>,
    recovered: BTreeSet<NodeId>,
    ended: BTreeSet<NodeId>,
    planted: Option<Planted>,
}

/// Planted faults.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Planted {
    /// The coordinator does not wait until all members know a view.
    Impatient,
    /// It takes a log for closed that is not.
    Open,
}

impl Group {
    fn join(&mut self) {
        let node = NodeId(self.nodes.len() as u16);
        self.nodes.insert(node, Membership::new(node));
        self.tell(node, Input::Join);
    }

    fn running(&self) -> Vec<NodeId> {
        let idle = |node: &NodeId| {
            self.dead.contains(node) || self.stopped.contains(node) || self.ended.contains(node)
        };
        self.nodes
            .keys()
            .copied()
            .filter(|node| !idle(node))
            .collect()
    }

    fn members(&self) -> Vec<NodeId> {
        let members = |node: &NodeId| self.register.members.contains_key(node);
        self.running().into_iter().filter(members).collect()
    }

    fn tell(&mut self, node: NodeId, input: Input) {
        if self.dead.contains(&node) {
            return;
        }
        let mut outputs = Vec::new();
        let machine = self.nodes.get_mut(&node).expect("it is there");
        machine.handle(input, &mut outputs);
        for output in outputs {
            match output {
                Output::ReadView => self.events.push(Event::Read(node)),
                Output::SwapView { expected, view } => {
                    self.events.push(Event::Swap(node, expected, view));
                }
                Output::Announce(to, view) => {
                    self.events.push(Event::Tell(to, Input::Announced(view)));
                }
                Output::Acknowledge(to, epoch) => {
                    let word = Input::Acknowledged(node, epoch);
                    self.events.push(Event::Tell(to, word));
                }
                Output::CloseLog(failed, epoch) => {
                    assert!(epoch > Epoch(1));
                    self.events.push(Event::Close(node, failed));
                }
                Output::Recover(failed) => self.begin_recovery(node, failed),
                Output::ShutOut => {
                    assert!(!self.register.members.contains_key(&node));
                    self.ended.insert(node);
                }
                Output::Joined(_) | Output::Left(_) | Output::Recovered(_) => {}
            }
        }
    }

    fn begin_recovery(&mut self, by: NodeId, failed: NodeId) {
        // A node whose log is closed reaches nothing, whatever it begins.
        if self.closed.contains(&by) {
            return;
        }
        let mut members = self.register.members.keys();
        let refused = members.all(|member| {
            // One that joins at this moment may hold it until it knows its first view, which is a later one.
            let sent_in = self.nodes[&failed].view().epoch;
            self.nodes[member].admit(failed, sent_in) != Admission::Take
        });
        assert!(refused, "{failed:?} is heard while {by:?} recovers it");
        let another = self.events.iter().any(|event| {
            let Event::Recovery(other, _) = event else {
                return false;
            };
            *other != by && !self.closed.contains(other) && !self.dead.contains(other)
        });
        assert!(!another, "{by:?} and another recover at a time");
        let shut_out = &self.nodes[&by].view().shut_out;
        assert!(shut_out.keys().all(|node| self.closed.contains(node)));
        self.events.push(Event::Recovery(by, failed));
    }

    fn happen(&mut self, place: usize) {
        let event = self.events.remove(place);
        let doer = match event {
            Event::Read(node)
            | Event::Swap(node, ..)
            | Event::Close(node, _)
            | Event::Recovery(node, _)
            | Event::Tell(node, _) => node,
        };
        if self.stopped.contains(&doer) {
            return self.events.push(event);
        }
        if self.dead.contains(&doer) {
            return;
        }
        let answer = match event {
            Event::Read(_) => Input::ViewRead(self.register.clone()),
            Event::Swap(_, expected, view) => {
                let swapped = self.register.epoch == expected;
                if swapped {
                    assert_eq!(view.epoch, expected.next());
                    self.register = view;
                }
                if self.planted == Some(Planted::Impatient) {
                    for member in self.register.members.clone().into_keys() {
                        self.tell(doer, Input::Acknowledged(member, expected.next()));
                    }
                }
                Input::ViewSwapped(swapped)
            }
            Event::Close(_, failed) => {
                if self.planted != Some(Planted::Open) {
                    self.closed.insert(failed);
                }
                Input::LogClosed(failed)
            }
            Event::Recovery(by, failed) => {
                if self.closed.contains(&by) {
                    return;
                }
                self.recovered.insert(failed);
                Input::Recovered(failed)
            }
            Event::Tell(to, input) => return self.tell(to, input),
        };
        self.events.push(Event::Tell(doer, answer));
    }
}

fn run(seed: u64, planted: Option<Planted>) -> (usize, usize) {
    let mut random = Random::new(seed);
    let mut group = Group {
        planted,
        ..Group::default()
    };
    group.join();
    group.join();
    for _ in 0..600 {
        let members = group.members();
        match random.below(60) {
            0 if group.nodes.len() < 8 => group.join(),
            1 if members.len() > 1 && random.percent(40) => {
                let victim = members[random.below(members.len())];
                group.dead.insert(victim);
            }
            2 if members.len() > 1 && random.percent(40) => {
                group.stopped.insert(members[random.below(members.len())]);
            }
            3 => group.stopped.clear(),
            4..8 => {
                let suspect = NodeId(random.below(group.nodes.len()) as u16);
                let idle = group.dead.contains(&suspect) || group.stopped.contains(&suspect);
                if let Some(by) = random.pick(&members)
                    && (idle || random.percent(10))
                {
                    group.tell(by, Input::Suspect(suspect));
                }
            }
            8 => {
                if let Some(node) = random.pick(&group.running()) {
                    group.tell(node, Input::Look);
                }
            }
            9 => {
                // The claim may be false, and in either direction.
                let other = NodeId(random.below(group.nodes.len()) as u16);
                if let Some(by) = random.pick(&members) {
                    let times = 1 + random.below(4) as u32;
                    group.tell(by, unanswered(other, times, &[other]));
                }
            }
            _ if !group.events.is_empty() => {
                let place = random.below(group.events.len());
                group.happen(place);
            }
            _ => {}
        }
    }
    come_to_rest(&mut group, &mut random);
    (group.recovered.len(), group.ended.len())
}

fn come_to_rest(group: &mut Group, random: &mut Random) {
    for _ in 0..200 {
        group.stopped.clear();
        for node in group.running() {
            group.tell(node, Input::Look);
            for dead in group.dead.clone() {
                group.tell(node, Input::Suspect(dead));
            }
        }
        while !group.events.is_empty() {
            let place = random.below(group.events.len());
            group.happen(place);
        }
    }
    let members = group.members();
    if members.is_empty() {
        return;
    }
    assert!(group.register.shut_out.is_empty(), "{:?}", group.register);
    assert_eq!(
        group.running(),
        members,
        "somebody does not know that it is out"
    );
    let all: Vec<NodeId> = group.register.members.keys().copied().collect();
    assert_eq!(all, members);
    for member in &members {
        assert_eq!(group.nodes[member].view(), &group.register);
    }
}

#[test]
fn nodes_agree_who_takes_part_and_recover_who_does_not() {
    let (mut recovered, mut ended) = (0, 0);
    for seed in 0..1000 {
        let (more_recovered, more_ended) = run(seed, None);
        recovered += more_recovered;
        ended += more_ended;
    }
    assert!(
        recovered > 1000 && ended > 333,
        "{recovered} recovered, {ended} ended"
    );
}

/// Nodes that are all members and know it.
fn members(nodes: u16) -> Group {
    let mut group = Group::default();
    for _ in 0..nodes {
        group.join();
        happen_all(&mut group);
    }
    group
}

fn unanswered(node: NodeId, times: u32, silent: &[NodeId]) -> Input {
    let silent = silent.iter().copied().collect();
    Input::Unanswered {
        node,
        times,
        silent,
    }
}

fn happen_all(group: &mut Group) {
    while !group.events.is_empty() {
        group.happen(0);
    }
}

#[test]
fn of_two_that_do_not_answer_each_other_the_register_lets_one_go_on() {
    let (older, younger) = (NodeId(0), NodeId(1));
    // Both ask at last, in either order; and the younger one alone, if nothing is awaited of it.
    for (asked, out) in [
        (&[(older, 1), (younger, 1)][..], younger),
        (&[(younger, 1), (older, 1)], younger),
        (&[(younger, 3), (older, 1)], older),
        (&[(younger, 1), (younger, 2), (younger, 3)], older),
    ] {
        let mut group = members(2);
        for &(by, times) in asked {
            let other = if by == older { younger } else { older };
            group.tell(by, unanswered(other, times, &[other]));
        }
        // The one whose swap comes second learns that it is out.
        happen_all(&mut group);
        for node in group.running() {
            group.tell(node, Input::Look);
        }
        happen_all(&mut group);
        assert_eq!(group.ended, [out].into(), "{asked:?}");
        assert_eq!(group.recovered, [out].into(), "{asked:?}");
        // It joins again, under a new number, as the younger of the two.
        group.join();
        happen_all(&mut group);
        let again = NodeId(2);
        assert!(group.members().contains(&again));
        let other = group.members()[0];
        group.tell(again, unanswered(other, 1, &[other]));
        assert!(group.events.is_empty(), "{:?}", group.events);
    }
}

#[test]
fn the_side_with_more_members_asks_first() {
    let asks = |nodes, by, times, silent: &[NodeId]| {
        let mut group = members(nodes);
        silent.iter().for_each(|&node| {
            group.tell(NodeId(by), unanswered(node, times, silent));
        });
        let swap = |event: &Event| matches!(event, Event::Swap(..));
        group.events.iter().any(swap)
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(NodeId);
    // One member, whichever it is, is cut off from the two others.
    assert!(!asks(3, 0, 1, &[b, c]) && !asks(3, 2, 2, &[a, b]));
    assert!(asks(3, 1, 1, &[a]) && asks(3, 0, 1, &[c]));
    // Of two equal sides, the one with the coordinator asks.
    assert!(asks(4, 1, 1, &[c, d]) && !asks(4, 2, 1, &[a, b]));
    // At last each asks: it may be that nothing is awaited of it.
    assert!(asks(3, 2, 3, &[a, b]) && asks(4, 2, 3, &[a, b]));
    // A node does not ask about itself, or about a node that is no member.
    assert!(!asks(2, 0, 3, &[a]) && !asks(2, 0, 3, &[d]));
}

#[test]
fn a_message_of_a_newer_epoch_is_held_and_one_of_a_stranger_refused() {
    let (a, b, stranger) = (NodeId(0), NodeId(1), NodeId(7));
    let mut machine = Membership::new(a);
    assert_eq!(machine.admit(b, Epoch(1)), Admission::Later);
    let view = View {
        epoch: Epoch(3),
        members: [(a, Epoch(1)), (b, Epoch(2))].into(),
        shut_out: BTreeMap::new(),
        assignment: Assignment::default(),
    };
    machine.handle(Input::Announced(view.clone()), &mut Vec::new());
    assert_eq!(machine.admit(b, Epoch(2)), Admission::Take);
    assert_eq!(machine.admit(b, Epoch(4)), Admission::Later);
    assert_eq!(machine.admit(stranger, Epoch(3)), Admission::Refuse);
    let mut outputs = Vec::new();
    machine.handle(Input::Suspect(b), &mut outputs);
    let without = View {
        epoch: Epoch(4),
        members: [(a, Epoch(1))].into(),
        shut_out: [(b, Epoch(4))].into(),
        assignment: Assignment::default(),
    };
    let swap = Output::SwapView {
        expected: Epoch(3),
        view: without,
    };
    assert_eq!(outputs, [swap]);
    outputs.clear();
    machine.handle(Input::ViewSwapped(true), &mut outputs);
    assert_eq!(outputs, [Output::Left(b), Output::CloseLog(b, Epoch(4))]);
    assert_eq!(machine.admit(b, Epoch(3)), Admission::Refuse);
}

#[test]
fn planted_errors_are_noticed() {
    for planted in [Planted::Impatient, Planted::Open] {
        let noticed = (0..200).any(|seed| {
            let run = || {
                run(seed, Some(planted));
            };
            std::panic::catch_unwind(run).is_err()
        });
        assert!(noticed, "{planted:?}");
    }
}
