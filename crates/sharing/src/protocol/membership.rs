//! Membership: one node's knowledge of the set of nodes, and the way in which a node is shut out and recovered.
//!
//! The set, a [`View`], is one value in a *register* that all nodes share and change by Compare&Swap on its epoch. The
//! register is a place in GEM, or a key in a replicated store. So there is one sequence of views, and no agreement has
//! to be found here. A node that detects a failure of another, or suspects one, swaps in a view without it. Then the
//! *coordinator*, the member that joined first, takes care of it, in this order:
//!
//! 1. every member knows the view, and says so: from then on none takes a message from the node that was shut out;
//! 2. its log is closed by a group of the new epoch ([`super::fence`]), and its accesses to GEM and to storage have
//!    ended: its process has been killed, or its way to them cut;
//! 3. when that is so of every node that was shut out, their logs are redone and their locks are freed
//!    ([`Input::Recovered`] says when). One of them may be the coordinator before, and at work on another;
//! 4. a view says that it is recovered.
//!
//! If the coordinator fails, the next one begins from 1 with what the view says is left. A node that was shut out may
//! be alive, slow or stopped, and believe anything: after 2 it has no effect on others (I12). Clocks and leases decide
//! only whom one suspects, never what is safe.
//!
//! Two members that reach the register and not each other would wait for each other for ever. So who is not answered for
//! longer than a bound asks the register, too, and the first swap decides which of the two goes on. The one that is
//! shut out finds that out at the register, stops, and may come back under a new number.
//!
//! Invariants: a member's views follow each other by their epochs. A message is taken only from a member, and not
//! before its receiver knows the epoch in which it was sent. [`Output::Recover`] comes after all members refuse the
//! node's messages and its log is closed.
//!
//! Like the other machines it has no clock, thread or I/O: the shell does what an [`Output`] says and answers by an
//! [`Input`].

use super::{Assignment, Division, Epoch, NodeId};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// After so many times its bound the side with fewer members asks the register, too.
const OTHER_SIDE_ASKS: u32 = 3;

/// The nodes that take part, and those that have to be recovered, as the register has them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct View {
    /// Grows by one with each view.
    pub epoch: Epoch,
    /// The members, with the epoch in which each joined.
    pub members: BTreeMap<NodeId, Epoch>,
    /// The nodes that were shut out and are not recovered, with the first epoch without each.
    pub shut_out: BTreeMap<NodeId, Epoch>,
    /// The lock authority for pages (primary copy locking).
    pub assignment: Assignment,
}

impl View {
    /// The node that does the remaining work. A node that joins never takes it from another that is at work, whatever
    /// its number.
    pub fn coordinator(&self) -> Option<NodeId> {
        let first = self
            .members
            .iter()
            .min_by_key(|(node, joined)| (**joined, **node));
        first.map(|(&node, _)| node)
    }
}

/// The shell's inputs to a node's machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// The node is to become a member.
    Join,
    /// Look into the register: after a while, and when a message is to be held ([`Admission::Later`]).
    Look,
    /// The shell believes that this node has failed. It need not be true.
    Suspect(NodeId),
    /// This member does not answer this node, for so many times the shell's bound. It is unknown if the two are cut off
    /// from each other or the member has failed: the register decides which of them continues.
    Unanswered {
        /// The member.
        node: NodeId,
        /// So many times the bound.
        times: u32,
        /// All that do not answer now, this one among them.
        silent: BTreeSet<NodeId>,
    },
    /// The node is to take no part any more: it has ended its transactions. It is recovered as one that has failed.
    Leave,
    /// [`Output::ReadView`] is done.
    ViewRead(View),
    /// [`Output::SwapView`] is done; whether the register's epoch was the expected one.
    ViewSwapped(bool),
    /// A message of a member: this is the register's view, or was.
    Announced(View),
    /// A message of a member: it knows the view of this epoch.
    Acknowledged(NodeId, Epoch),
    /// [`Output::CloseLog`] is done.
    LogClosed(NodeId),
    /// [`Output::Recover`] is done: storage has what the node committed, and nothing is locked by it.
    Recovered(NodeId),
}

/// The requests of a node's machine to the shell.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// Read the register.
    ReadView,
    /// Replace the register's view if its epoch is still this.
    SwapView {
        /// The epoch to be replaced.
        expected: Epoch,
        /// The new view.
        view: View,
    },
    /// Send a node this view, as [`Input::Announced`].
    Announce(NodeId, View),
    /// Send a node word that this one knows the view of an epoch, as [`Input::Acknowledged`].
    Acknowledge(NodeId, Epoch),
    /// A node takes part from now on. Its log is merged from its beginning.
    Joined(NodeId),
    /// A node takes no part any more: notify the protocol ([`super::Input::NodeFailed`]).
    Left(NodeId),
    /// End the node's accesses to GEM and storage, and close its log by a group of this epoch. The node must acknowledge
    /// nothing more then, not even what it has only read: its lease has ended, or it has stopped.
    CloseLog(NodeId, Epoch),
    /// Recover the node: every entry of the global lock table ([`super::Input::Recover`]).
    Recover(NodeId),
    /// A node is recovered: notify the protocol ([`super::Input::NodeRecovered`]).
    Recovered(NodeId),
    /// This node takes no part any more: it ends, acknowledges nothing and sends nothing. Its uncommitted work is lost,
    /// and it may come back under a new number.
    ShutOut,
}

/// The treatment of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Yes.
    Take,
    /// Not before its receiver knows the epoch in which it was sent: keep it and [`Input::Look`].
    Later,
    /// Never: its sender was shut out.
    Refuse,
}

/// One node's machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Membership {
    node: NodeId,
    /// The first member's division of the lock authority.
    division: Division,
    /// The node's place, if its parts of the authority are to be there.
    place: Option<u16>,
    /// The newest view that it knows.
    view: View,
    standing: Standing,
    access: Access,
    /// The register is to be read once more.
    look: bool,
    suspected: BTreeSet<NodeId>,
    /// As coordinator: the newest epoch that each member knows.
    known: BTreeMap<NodeId, Epoch>,
    /// As coordinator: how far each node that was shut out is.
    progress: BTreeMap<NodeId, Progress>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Standing {
    Outside,
    Joining,
    Member,
    ShutOut,
}

/// The access under way at the register.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Access {
    None,
    Reading,
    Swapping(View),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Progress {
    Closing,
    Closed,
    Recovering,
    Recovered,
}

impl Membership {
    /// The machine of a node that takes no part yet.
    pub fn new(node: NodeId) -> Self {
        Membership {
            node,
            division: Division::default(),
            place: None,
            view: View::default(),
            standing: Standing::Outside,
            access: Access::None,
            look: false,
            suspected: BTreeSet::new(),
            known: BTreeMap::new(),
            progress: BTreeMap::new(),
        }
    }

    /// The same; if no other node takes part when it joins, it divides the lock authority so. It runs at this place, if
    /// it has one: what is at home there is its.
    #[must_use]
    pub fn dividing(self, division: Division, place: Option<u16>) -> Self {
        Membership {
            division,
            place,
            ..self
        }
    }

    /// The newest view that it knows. Each message that the node sends carries its epoch.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// True if the node takes part, as far as it knows.
    pub fn is_member(&self) -> bool {
        self.standing == Standing::Member
    }

    /// The treatment of a message.
    pub fn admit(&self, from: NodeId, sent_in: Epoch) -> Admission {
        if sent_in > self.view.epoch {
            Admission::Later
        } else if self.is_member() && self.view.members.contains_key(&from) {
            Admission::Take
        } else {
            Admission::Refuse
        }
    }

    /// Takes one event, and appends to `outputs` what the shell is to do.
    pub fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) {
        if self.standing == Standing::ShutOut {
            return;
        }
        match input {
            Input::Join if self.standing == Standing::Outside => {
                self.standing = Standing::Joining;
                self.look = true;
            }
            Input::Join => {}
            Input::Look => self.look = true,
            Input::Suspect(node) => {
                if self.view.members.contains_key(&node) && node != self.node {
                    self.suspected.insert(node);
                }
            }
            Input::Unanswered {
                node,
                times,
                silent,
            } => self.unanswered(node, times, &silent),
            Input::Leave => {
                if self.view.members.contains_key(&self.node) {
                    self.suspected.insert(self.node);
                }
            }
            Input::ViewRead(view) => {
                self.access = Access::None;
                self.adopt(view, outputs);
            }
            Input::ViewSwapped(swapped) => {
                if let Access::Swapping(view) = std::mem::replace(&mut self.access, Access::None) {
                    self.swapped(view, swapped, outputs);
                }
            }
            Input::Announced(view) => self.adopt(view, outputs),
            Input::Acknowledged(node, epoch) => {
                let known = self.known.entry(node).or_default();
                *known = epoch.max(*known);
            }
            Input::LogClosed(node) => {
                if self.progress.get(&node) == Some(&Progress::Closing) {
                    self.progress.insert(node, Progress::Closed);
                }
            }
            Input::Recovered(node) => {
                if self.progress.get(&node) == Some(&Progress::Recovering) {
                    self.progress.insert(node, Progress::Recovered);
                }
            }
        }
        self.coordinate(outputs);
        self.access(outputs);
    }

    /// A member does not answer. Both sides may find that out of each other. The side with more of the members asks the
    /// register first, and of two equal ones the one with the coordinator. So a node that comes back is not the one
    /// that shuts others out. The other side asks if nothing has happened after [`OTHER_SIDE_ASKS`] times the bound.
    fn unanswered(&mut self, node: NodeId, times: u32, silent: &BTreeSet<NodeId>) {
        let members = &self.view.members;
        if !self.is_member() || node == self.node || !members.contains_key(&node) {
            return;
        }
        let own_side = |node: &NodeId| !silent.contains(node);
        let ours = members.keys().filter(|node| own_side(node)).count();
        let asks_first = match (2 * ours).cmp(&members.len()) {
            Ordering::Greater => true,
            Ordering::Equal => self
                .view
                .coordinator()
                .is_some_and(|first| own_side(&first)),
            Ordering::Less => false,
        };
        if asks_first || times >= OTHER_SIDE_ASKS {
            self.suspected.insert(node);
        }
    }

    fn swapped(&mut self, view: View, swapped: bool, outputs: &mut Vec<Output>) {
        if !swapped {
            self.look = true;
            return;
        }
        let others = view.members.keys().filter(|node| **node != self.node);
        outputs.extend(others.map(|&node| Output::Announce(node, view.clone())));
        self.adopt(view, outputs);
    }

    /// Goes over to a newer view.
    fn adopt(&mut self, view: View, outputs: &mut Vec<Output>) {
        if view.epoch <= self.view.epoch {
            return;
        }
        let before = std::mem::replace(&mut self.view, view);
        if !self.view.members.contains_key(&self.node) {
            if self.standing == Standing::Member {
                self.standing = Standing::ShutOut;
                outputs.push(Output::ShutOut);
            }
            return;
        }
        self.standing = Standing::Member;
        let View {
            members, shut_out, ..
        } = &self.view;
        let left = before
            .members
            .keys()
            .filter(|node| !members.contains_key(node));
        outputs.extend(left.map(|&node| Output::Left(node)));
        // A node that joins learns of those, too, whose locks are still to be freed.
        let joined_late = shut_out.keys().filter(|node| {
            !before.members.contains_key(node) && !before.shut_out.contains_key(node)
        });
        outputs.extend(joined_late.map(|&node| Output::Left(node)));
        let out_before = before.members.keys().chain(before.shut_out.keys());
        let recovered =
            out_before.filter(|node| !members.contains_key(node) && !shut_out.contains_key(node));
        outputs.extend(recovered.map(|&node| Output::Recovered(node)));
        let joined = members
            .keys()
            .filter(|node| !before.members.contains_key(node));
        outputs.extend(joined.map(|&node| Output::Joined(node)));
        self.suspected.retain(|node| members.contains_key(node));
        // Word of a later view may have overtaken that view, from one who is no member in this.
        let epoch = self.view.epoch;
        self.known
            .retain(|node, known| members.contains_key(node) || *known > epoch);
        self.progress.retain(|node, _| shut_out.contains_key(node));
        match self.view.coordinator() {
            Some(coordinator) if coordinator != self.node => {
                outputs.push(Output::Acknowledge(coordinator, self.view.epoch));
            }
            _ => {
                self.known.insert(self.node, self.view.epoch);
            }
        }
    }

    /// Begins what is due for the nodes that were shut out, if that is this node's business.
    fn coordinate(&mut self, outputs: &mut Vec<Output>) {
        if !self.is_member() || self.view.coordinator() != Some(self.node) {
            return;
        }
        for (&node, &epoch) in &self.view.shut_out {
            let known = |member| self.known.get(member).is_some_and(|known| *known >= epoch);
            if !self.progress.contains_key(&node) && self.view.members.keys().all(known) {
                self.progress.insert(node, Progress::Closing);
                outputs.push(Output::CloseLog(node, self.view.epoch));
            }
        }
        let closed = |node| !matches!(self.progress.get(node), None | Some(Progress::Closing));
        if self.view.shut_out.keys().all(closed) {
            for (&node, progress) in &mut self.progress {
                if *progress == Progress::Closed {
                    *progress = Progress::Recovering;
                    outputs.push(Output::Recover(node));
                }
            }
        }
    }

    /// Reads the register or changes it, if there is reason to and no access is under way.
    fn access(&mut self, outputs: &mut Vec<Output>) {
        if self.access != Access::None || self.standing == Standing::ShutOut {
            return;
        }
        if std::mem::take(&mut self.look) {
            self.access = Access::Reading;
            outputs.push(Output::ReadView);
            return;
        }
        let mut view = self.view.clone();
        view.epoch = view.epoch.next();
        for node in &self.suspected {
            view.members.remove(node);
            view.shut_out.insert(*node, view.epoch);
        }
        let recovered = self.progress.iter();
        for (node, _) in recovered.filter(|(_, progress)| **progress == Progress::Recovered) {
            view.shut_out.remove(node);
        }
        if self.standing == Standing::Joining {
            if view.members.is_empty() && self.division.parts() > 0 {
                // All parts are new to the present node. So no part of another division is meant by what comes late.
                view.assignment = Assignment::new(self.division.clone(), self.node, view.epoch);
            }
            view.members.insert(self.node, view.epoch);
            if let Some(place) = self.place {
                view.assignment.runs_at(self.node, place);
            }
        }
        if (&view.members, &view.shut_out) == (&self.view.members, &self.view.shut_out) {
            return;
        }
        view.assignment.rebalance(&view.members, view.epoch);
        let expected = self.view.epoch;
        self.access = Access::Swapping(view.clone());
        outputs.push(Output::SwapView { expected, view });
    }
}
