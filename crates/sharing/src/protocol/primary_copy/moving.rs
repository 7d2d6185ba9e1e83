//! Parts of the lock authority that move: to a node that joins, and from one that left or failed.
//!
//! A node that learns of an epoch in which a part has another authority declares its transactions' locks of that part
//! at once ([`Message::Declare`]). From then on it sends messages about those pages to the new authority only.
//! Messages about them of an epoch before are void, from any sender to any receiver at any time. A grant that was
//! under way is requested again, and a release is contained in the declaration, which lacks the lock.
//!
//! The new authority's part is *frozen*: what is said of its pages is kept, and done later, in the order in which it
//! came. First, each node that was a member before declares, and all failed ones are recovered, so that their logs are
//! closed. Then storage gets a request for the part ([`Output::RecoverPart`]). All redo that is durable then is
//! applied. From that the versions are known. A page with a declared lock has the version of that lock: no other
//! transaction can have changed it, and its holder may have meanwhile, but has not released it. Of any other page the
//! newest version is on storage, since its writer had ended before it declared. Then the part goes on.
//!
//! A part that stays where it is goes on at once. The locks in it of a failed node are freed when that is recovered. A
//! page that such a node had locked for writing has the version that storage has then.

use super::{Authority, PrimaryCopy};
use crate::protocol::assignment::Part;
use crate::protocol::home::{HandOver, Pending};
use crate::protocol::membership::View;
use crate::protocol::message::Declared;
use crate::protocol::{
    Assignment, Epoch, LockMode, Message, NodeId, Outcome, Output, PageId, Psn, TransactionId,
};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// The work to do when a part continues.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// A message of its pages.
    Message(NodeId, Epoch, Message),
    /// A transaction of this node wants a lock.
    Request(Pending),
    /// A transaction, of this or another node, has ended, with these requests that had no answer.
    Release(TransactionId, Outcome, SmallVec<[(PageId, LockMode); 1]>),
    /// This node's buffer wants to write a page.
    Replace(PageId, Psn),
}

/// A part whose new authority this node is, and that does not go on yet.
#[derive(Clone, Debug)]
pub(super) struct Frozen {
    since: Epoch,
    /// The nodes that have not declared.
    awaited: BTreeSet<NodeId>,
    declared: Vec<Declared>,
    kept: Vec<Kept>,
    /// Storage has been asked.
    asked: bool,
    /// It is to be asked once more, as a node was recovered meanwhile.
    again: bool,
}

impl<A: Authority> PrimaryCopy<A> {
    /// True if the page's part does not continue yet.
    pub(super) fn frozen(&mut self, page: PageId) -> Option<&mut Frozen> {
        if self.frozen.is_empty() {
            return None;
        }
        let part = self.authority.assignment()?.part_of(page);
        self.frozen.get_mut(&part)
    }

    /// Keeps something of a page whose part is frozen. Returns whether it is.
    pub(super) fn keep(&mut self, page: PageId, kept: impl FnOnce() -> Kept) -> bool {
        let frozen = self.frozen(page);
        frozen.map(|frozen| frozen.kept.push(kept())).is_some()
    }

    /// True if a message about a page in this epoch is void.
    pub(super) fn is_void(&self, page: PageId, sent_in: Epoch) -> bool {
        let part = self.authority.assignment().and_then(|all| all.part(page));
        part.is_some_and(|part| sent_in < part.since)
    }

    /// True if a message is to be taken now; else it is void, or kept.
    pub(super) fn is_to_be_heard(
        &mut self,
        from: NodeId,
        sent_in: Epoch,
        message: &Message,
    ) -> bool {
        if self.authority.assignment().is_none() {
            return true;
        }
        match *message {
            Message::Request { page, .. }
            | Message::PageRequest { page, .. }
            | Message::CancelWait { page, .. }
            | Message::Revoked { page } => {
                let is_here = self.authority.of(page) == self.home.node;
                is_here
                    && !self.is_void(page, sent_in)
                    && !self.keep(page, || Kept::Message(from, sent_in, message.clone()))
            }
            Message::Grant { page, .. }
            | Message::Page { page, .. }
            | Message::PageMissing { page, .. }
            | Message::Revoke { page, .. }
            | Message::Registered { page, .. }
            | Message::Victim { page, .. } => !self.is_void(page, sent_in),
            _ => true,
        }
    }

    /// Of the requests in a release those that concern this node's table now. Requests of frozen parts are kept, and
    /// with them that the transaction has ended: its locks there are declared, or will be.
    pub(super) fn released_now(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        pending: &[(PageId, LockMode)],
        sent_in: Epoch,
    ) -> SmallVec<[(PageId, LockMode); 1]> {
        let Some(assignment) = self.authority.assignment() else {
            return pending.into();
        };
        let node = self.home.node;
        let part = |page: &PageId| {
            let number = assignment.part_of(*page);
            let part = assignment.part(*page);
            let here = part.filter(|part| part.authority == node && part.since <= sent_in);
            here.map(|_| number)
        };
        for (number, frozen) in &mut self.frozen {
            if frozen.since <= sent_in {
                let of_part = pending
                    .iter()
                    .filter(|(page, _)| part(page) == Some(*number));
                let release = Kept::Release(transaction, outcome, of_part.copied().collect());
                frozen.kept.push(release);
            }
        }
        let now = |page: &PageId| part(page).is_some_and(|part| !self.frozen.contains_key(&part));
        let pending = pending.iter().filter(|(page, _)| now(page));
        pending.copied().collect()
    }

    /// The node knows this view from now on.
    pub(super) fn assigned(&mut self, view: &View, outputs: &mut Vec<Output>) {
        for &node in view.shut_out.keys() {
            self.node_failed(node, outputs);
        }
        let Some(before) = self.authority.assignment() else {
            return;
        };
        let after = &view.assignment;
        let moved: BTreeMap<u16, Part> = (0..)
            .zip(after.parts())
            .filter(|(number, part)| before.parts().get(usize::from(*number)) != Some(part))
            .map(|(number, part)| (number, *part))
            .collect();
        self.authority.assign(after.clone());
        for frozen in self.frozen.values_mut() {
            frozen
                .awaited
                .retain(|node| view.members.contains_key(node));
        }
        if moved.is_empty() {
            return self.ask_for_parts(outputs);
        }
        let is_moved = |page: PageId| moved.contains_key(&after.part_of(page));
        self.table.forget(is_moved);
        self.cached.retain(|(_, page), _| !is_moved(*page));
        self.due.retain(|(_, page), _| !is_moved(*page));
        self.early.retain(|page, _| !is_moved(*page));
        self.frozen.retain(|part, _| !moved.contains_key(part));
        let authority = |page| moved.get(&after.part_of(page)).map(|part| part.authority);
        let HandOver {
            held,
            pending,
            fetching,
        } = self.home.hand_over(authority);
        for (&number, part) in &moved {
            let of_part = held
                .iter()
                .filter(|lock| after.part_of(lock.page) == number);
            self.declare(number, *part, of_part.copied().collect(), view, outputs);
        }
        for asked in pending {
            self.ask_authority(asked, outputs);
        }
        for (transaction, page) in fetching {
            let authority = self.authority.of(page);
            if authority != self.home.node {
                let message = Message::PageRequest { transaction, page };
                self.home.send(authority, message, outputs);
            }
        }
        self.ask_for_parts(outputs);
    }

    /// Tells a part's new authority what this node's transactions hold of it.
    fn declare(
        &mut self,
        number: u16,
        part: Part,
        locks: Vec<Declared>,
        view: &View,
        outputs: &mut Vec<Output>,
    ) {
        let Part { authority, since } = part;
        let was_there =
            |node: &NodeId| view.members.get(node).is_some_and(|joined| *joined < since);
        if authority == self.home.node {
            let others = view.members.keys().filter(|node| **node != authority);
            let frozen = Frozen {
                since,
                awaited: others.copied().filter(was_there).collect(),
                declared: locks,
                kept: Vec::new(),
                asked: false,
                again: false,
            };
            self.frozen.insert(number, frozen);
        } else if was_there(&self.home.node) {
            let declaration = Message::Declare {
                part: number,
                since,
                locks,
            };
            self.home.send(authority, declaration, outputs);
        }
    }

    /// A node has declared what it holds.
    pub(super) fn declared(
        &mut self,
        from: NodeId,
        number: u16,
        since: Epoch,
        locks: Vec<Declared>,
        outputs: &mut Vec<Output>,
    ) {
        if let Some(frozen) = self.frozen.get_mut(&number)
            && frozen.since == since
            && frozen.awaited.remove(&from)
        {
            frozen.declared.extend(locks);
            self.ask_for_parts(outputs);
        }
    }

    /// A node has failed: it says nothing more. Its locks stay.
    pub(super) fn node_failed(&mut self, node: NodeId, outputs: &mut Vec<Output>) {
        self.home.failed.insert(node);
        let mut ended = Vec::new();
        for (&transaction, unacknowledged) in &mut self.ending {
            unacknowledged.retain(|authority| *authority != node);
            if unacknowledged.is_empty() {
                ended.push(transaction);
            }
        }
        ended.sort_unstable();
        for transaction in ended {
            self.ending.remove(&transaction);
            outputs.push(Output::Ended { transaction });
        }
        for frozen in self.frozen.values_mut() {
            frozen.awaited.remove(&node);
            frozen.kept.retain(|kept| match kept {
                Kept::Message(from, ..) => *from != node,
                Kept::Release(transaction, ..) => transaction.node() != node,
                Kept::Request(_) | Kept::Replace(..) => true,
            });
        }
    }

    /// A failed node's log is closed, and all of it is in the logs that storage is made of: what it held is freed.
    pub(super) fn node_recovered(&mut self, node: NodeId, outputs: &mut Vec<Output>) {
        self.home.failed.remove(&node);
        for frozen in self.frozen.values_mut() {
            let declared = frozen.declared.len();
            frozen
                .declared
                .retain(|lock| lock.transaction.node() != node);
            frozen.again |= frozen.asked && frozen.declared.len() < declared;
        }
        self.cached.retain(|(by, _), _| by.node() != node);
        self.due.retain(|(by, _), _| by.node() != node);
        for page in self.table.pages_of(node) {
            match self.table.is_write_locked_by(node, page) {
                true => outputs.push(Output::RecoverPage { page, node }),
                false => self.free(page, node, outputs),
            }
        }
        self.ask_for_parts(outputs);
    }

    /// Storage has the newest version that a failed node has committed, of a page that it had locked for writing.
    pub(super) fn page_recovered(
        &mut self,
        page: PageId,
        node: NodeId,
        psn: Psn,
        outputs: &mut Vec<Output>,
    ) {
        if self.table.is_write_locked_by(node, page) {
            self.table.on_storage(page, psn);
            self.free(page, node, outputs);
        }
    }

    fn free(&mut self, page: PageId, node: NodeId, outputs: &mut Vec<Output>) {
        let mut woken = super::Woken::new();
        self.table.free(page, node, &mut woken);
        self.wake(woken, outputs);
    }

    /// Has those parts recovered that everybody has declared.
    fn ask_for_parts(&mut self, outputs: &mut Vec<Output>) {
        if !self.home.failed.is_empty() {
            return;
        }
        for (&part, frozen) in &mut self.frozen {
            if frozen.awaited.is_empty() && !frozen.asked {
                frozen.asked = true;
                let since = frozen.since;
                outputs.push(Output::RecoverPart { part, since });
            }
        }
    }

    /// Storage has all of a part: it goes on.
    pub(super) fn part_recovered(
        &mut self,
        number: u16,
        since: Epoch,
        versions: &[(PageId, Psn)],
        outputs: &mut Vec<Output>,
    ) -> Result<(), super::ForeignMessage> {
        let Some(frozen) = self.frozen.get_mut(&number) else {
            return Ok(());
        };
        if frozen.since != since || !frozen.asked {
            return Ok(());
        }
        if std::mem::take(&mut frozen.again) {
            frozen.asked = false;
            self.ask_for_parts(outputs);
            return Ok(());
        }
        let Some(Frozen { declared, kept, .. }) = self.frozen.remove(&number) else {
            return Ok(());
        };
        for &(page, psn) in versions {
            self.table.learn(page, psn);
        }
        for lock in declared {
            self.table.declared(&lock);
        }
        let assignment = self.authority.assignment().cloned().unwrap_or_default();
        self.home
            .resume(|page| assignment.part_of(page) == number, outputs);
        for kept in kept {
            self.go_on(kept, outputs)?;
        }
        Ok(())
    }

    fn go_on(
        &mut self,
        kept: Kept,
        outputs: &mut Vec<Output>,
    ) -> Result<(), super::ForeignMessage> {
        match kept {
            Kept::Message(from, sent_in, message) => {
                return self.message(from, sent_in, message, outputs);
            }
            Kept::Request(asked) => {
                let lock = self.home.lock(asked.transaction, asked.page);
                // It may have ended meanwhile.
                if lock.is_some_and(|lock| lock.state.is_pending()) {
                    self.ask_authority(asked, outputs);
                }
            }
            Kept::Release(transaction, outcome, pending) => {
                self.release(transaction, outcome, &pending, outputs);
            }
            Kept::Replace(page, psn) => self.replace(page, psn, outputs),
        }
        Ok(())
    }
}

impl Authority for Assignment {
    fn of(&self, page: PageId) -> NodeId {
        // Without parts, no node has the authority, and no node hears it.
        self.part(page)
            .map_or(NodeId(u16::MAX), |part| part.authority)
    }

    fn assignment(&self) -> Option<&Assignment> {
        Some(self)
    }

    fn assign(&mut self, assignment: Assignment) {
        *self = assignment;
    }
}
