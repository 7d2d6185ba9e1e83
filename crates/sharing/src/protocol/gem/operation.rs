//! The changes of an entry of the global lock table between reading and writing it back.
//!
//! An operation changes a copy of the entry in main memory and says what follows from it
//! ([`Effects`]); it follows only if the Compare&Swap succeeds. If not, the operation is done again
//! on the new entry.

use crate::protocol::entry::LockOwner;
use crate::protocol::mode::{PAGE_LOCKS, writes};
use crate::protocol::probe::Probe;
use crate::protocol::{Entry, LockMode, NodeId, Outcome, Psn, TransactionId, UpdateStrategy};
use sardonyx_base::hash::IntegerSet;
use sardonyx_lock::Answer;
use smallvec::SmallVec;

/// Something to be done to an entry.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// Ask for a lock.
    Request(TransactionId, LockMode),
    /// Give back what an ended transaction holds or awaits.
    Release(TransactionId, Outcome),
    /// Take back a victim's waiting request.
    Cancel(TransactionId),
    /// Announce that this version is to be written to storage.
    Replace(Psn),
    /// This version has been written to storage.
    WrittenBack(Psn),
    /// Another node's write is done, for which a write of this node waited.
    WriteTurn,
    /// Another node wants the read authorisation to end.
    Revoke,
    /// End the read authorisation, which is not used.
    GiveUp,
    /// See whether a grant or an owner has changed unheard, as its messenger has died.
    Recheck(TransactionId),
    /// Begin to free the page from a node that has failed.
    Recover(NodeId),
    /// The newest version that the failed node has committed, or an even newer one, is on storage.
    Recovered(NodeId, Psn),
    /// See for whom a transaction waits.
    Probe(Box<Probe>, TransactionId),
}

/// The result of a request to write the page to storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writing {
    /// It may begin.
    Now,
    /// After another write.
    Later,
    /// Never: there is a newer version, or storage has this one.
    Never,
}

/// The effects of the changed entry when it is in GEM.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    /// The answer, for a request.
    pub answer: Option<Answer>,
    /// The lock was given to the node, for its readers, instead of the transaction.
    pub authorised: bool,
    /// The entry has the node's authorisation no more.
    pub gives_up: bool,
    /// The transaction's read lock has moved from the authorisation to the entry.
    pub registered: bool,
    /// Transactions that have what they waited for.
    pub woken: SmallVec<[TransactionId; 2]>,
    /// The present mode of each of these.
    pub modes: SmallVec<[LockMode; 2]>,
    /// Nodes that are to give up their authorisations.
    pub revoke: SmallVec<[NodeId; 2]>,
    /// A node that may try again to write.
    pub write_turn: Option<NodeId>,
    /// The transaction waits no more, as a victim.
    pub cancelled: bool,
    /// The write, for a wish to write.
    pub writing: Option<Writing>,
    /// The node that writes it now.
    pub writer: Option<NodeId>,
    /// The page's newest version.
    pub psn: Psn,
    /// The node that may have it in its buffer only.
    pub owner: Option<NodeId>,
}

impl Effects {
    /// True if a node or transaction besides the requesting one must be notified.
    #[inline]
    pub(super) fn concern_others(&self) -> bool {
        !self.woken.is_empty() || !self.revoke.is_empty() || self.write_turn.is_some()
    }

    /// Nothing follows: as the default, in the same memory.
    #[inline]
    pub(super) fn clear(&mut self) {
        let Effects {
            answer,
            authorised,
            gives_up,
            registered,
            woken,
            modes,
            revoke,
            write_turn,
            cancelled,
            writing,
            writer,
            psn,
            owner,
        } = self;
        (*answer, *write_turn, *writing) = (None, None, None);
        (*authorised, *gives_up, *registered, *cancelled) = (false, false, false, false);
        (*writer, *owner, *psn) = (None, None, Psn::default());
        woken.clear();
        modes.clear();
        revoke.clear();
    }
}

/// The state of a request under the node's own read authorisation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// Ask for an authorisation if the entry allows it.
    pub wants_authorisation: bool,
    /// The transaction reads under the node's authorisation.
    pub reads: bool,
    /// The node gives its authorisation up by this.
    pub gives_up: bool,
}

/// Collects granted owners; only transactions ever wait.
struct Woken<'a>(&'a mut SmallVec<[TransactionId; 2]>);

impl Extend<LockOwner> for Woken<'_> {
    fn extend<I: IntoIterator<Item = LockOwner>>(&mut self, owners: I) {
        self.0
            .extend(owners.into_iter().filter_map(|owner| match owner {
                LockOwner::Transaction(transaction) => Some(transaction),
                LockOwner::Node(_) => None,
            }));
    }
}

impl Entry {
    /// The nodes that have a read authorisation.
    fn authorised(&self) -> impl Iterator<Item = NodeId> + '_ {
        let holders = self.queue.holders().iter();
        holders.filter_map(|holder| match holder.owner {
            LockOwner::Node(node) => Some(node),
            LockOwner::Transaction(_) => None,
        })
    }

    /// The strongest lock of a transaction that has one.
    pub(super) fn held_by(&self, transaction: TransactionId) -> LockMode {
        if writes(self.queue.held(LockOwner::Transaction(transaction))) {
            LockMode::Write
        } else {
            LockMode::Read
        }
    }

    /// Asks for a lock.
    pub(super) fn request(
        &mut self,
        node: NodeId,
        transaction: TransactionId,
        mode: LockMode,
        standing: Standing,
        effects: &mut Effects,
    ) {
        let owner = LockOwner::Transaction(transaction);
        if standing.wants_authorisation && !self.revoking && self.queue.waiters().is_empty() {
            let answer = self
                .queue
                .request(&PAGE_LOCKS, LockOwner::Node(node), mode.mode());
            if answer == Answer::Granted {
                (effects.answer, effects.authorised) = (Some(answer), true);
                return;
            }
            self.queue.cancel(
                &PAGE_LOCKS,
                LockOwner::Node(node),
                &mut Woken(&mut effects.woken),
            );
        }
        if standing.reads {
            self.queue.adopt(&PAGE_LOCKS, owner, LockMode::Read.mode());
            effects.registered = true;
        }
        let answer = self.queue.request(&PAGE_LOCKS, owner, mode.mode());
        if standing.gives_up {
            self.give_up(node, effects);
        }
        let granted = effects.woken.iter().position(|woken| *woken == transaction);
        if let Some(place) = granted {
            effects.woken.remove(place);
            effects.answer = Some(Answer::Granted);
        } else {
            effects.answer = Some(answer);
        }
        if effects.answer == Some(Answer::Waiting) && !self.revoking {
            effects.revoke.extend(self.authorised());
            self.revoking = !effects.revoke.is_empty();
            effects.revoke.retain(|other| *other != node);
        }
    }

    /// Gives back all that an ended transaction holds or awaits. A modified page has a new version,
    /// which with NOFORCE its node owns. Returns whether there was anything.
    pub(super) fn release(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        update: UpdateStrategy,
        effects: &mut Effects,
    ) -> bool {
        let owner = LockOwner::Transaction(transaction);
        let awaited = self.queue.awaited(owner);
        let held = self
            .queue
            .release(&PAGE_LOCKS, owner, &mut Woken(&mut effects.woken));
        if outcome == Outcome::Committed && writes(held) {
            self.psn = self.psn.next();
            self.owner = match update {
                UpdateStrategy::Force => None,
                UpdateStrategy::NoForce => Some(transaction.node()),
            };
        }
        !held.is_empty() || !awaited.is_empty()
    }

    /// Takes back what the transaction waits for, if it waits.
    pub(super) fn cancel(&mut self, transaction: TransactionId, effects: &mut Effects) {
        let owner = LockOwner::Transaction(transaction);
        effects.cancelled = self
            .queue
            .cancel(&PAGE_LOCKS, owner, &mut Woken(&mut effects.woken));
    }

    /// Ends the node's read authorisation.
    pub(super) fn give_up(&mut self, node: NodeId, effects: &mut Effects) {
        let owner = LockOwner::Node(node);
        self.queue
            .release(&PAGE_LOCKS, owner, &mut Woken(&mut effects.woken));
        let mut holders = self.queue.holders().iter();
        self.revoking &= holders.any(|holder| matches!(holder.owner, LockOwner::Node(_)));
        effects.gives_up = true;
    }

    /// The node wants to write its copy to storage. Only the owner of the newest version may, and only one node at
    /// a time. A write that began earlier and is slow would put its older version over the newer one. A node that
    /// has to wait is noted, and notified when the write is done.
    pub(super) fn replace(
        &mut self,
        node: NodeId,
        psn: Psn,
        dead: &IntegerSet<NodeId>,
        effects: &mut Effects,
    ) {
        self.next_writers.retain(|waiting| *waiting != node);
        let writing = if self.owner != Some(node) || self.psn != psn {
            Writing::Never
        } else if self.writing.is_some() {
            self.next_writers.push(node);
            Writing::Later
        } else {
            self.writing = Some(node);
            Writing::Now
        };
        if writing == Writing::Never {
            self.pass_turn(dead, effects);
        }
        effects.writing = Some(writing);
    }

    /// If no node writes, the next waiting one is notified. That one tries again, and if it turns out that it has
    /// nothing to write any more, passes its turn on.
    fn pass_turn(&mut self, dead: &IntegerSet<NodeId>, effects: &mut Effects) {
        self.next_writers.retain(|waiting| !dead.contains(waiting));
        if self.writing.is_none() && !self.next_writers.is_empty() {
            effects.write_turn = Some(self.next_writers.remove(0));
        }
    }

    /// The node has written its copy to storage. Unless a newer version exists, the page has no owner any more.
    pub(super) fn written_back(
        &mut self,
        node: NodeId,
        psn: Psn,
        dead: &IntegerSet<NodeId>,
        effects: &mut Effects,
    ) {
        if self.writing == Some(node) {
            self.writing = None;
            self.pass_turn(dead, effects);
        }
        if self.owner == Some(node) && self.psn == psn {
            self.owner = None;
        }
    }

    /// True if the failed node may have left something here: a lock, the newest version, a write.
    pub(super) fn concerns(&self, failed: NodeId) -> bool {
        self.owner == Some(failed)
            || self.writing == Some(failed)
            || self.next_writers.contains(&failed)
            || self.revoking
            || !self.next_writers.is_empty()
            || self.is_locked_by(failed)
    }

    /// `node` wants to bring the failed node's newest version to storage, as the page's only writer. Returns true
    /// if it may now; else it is notified when the present writer is done. `dead` are the nodes whose writes will
    /// never be done.
    pub(super) fn recover(
        &mut self,
        node: NodeId,
        dead: &IntegerSet<NodeId>,
        effects: &mut Effects,
    ) {
        self.next_writers.retain(|waiting| *waiting != node);
        let busy = self.writing.is_some_and(|writing| !dead.contains(&writing));
        effects.writing = Some(if busy {
            self.next_writers.push(node);
            Writing::Later
        } else {
            self.writing = Some(node);
            Writing::Now
        });
    }

    /// Storage has version `psn`, the newest that the failed node has committed, or a newer one: frees what that
    /// node held. Notifications that it may have owed are sent again.
    ///
    /// A version above the entry's is the failed node's if no other node has the page locked for writing. Else it
    /// is that one's, whose release makes it the entry's.
    ///
    /// # Panics
    /// If the failed node owned a newer version: then not all of its log was read.
    pub(super) fn recovered(
        &mut self,
        node: NodeId,
        failed: NodeId,
        psn: Psn,
        dead: &IntegerSet<NodeId>,
        effects: &mut Effects,
    ) {
        if psn >= self.psn {
            let mut holders = self.queue.holders().iter();
            if holders.all(|holder| holder.owner.node() == failed || !writes(holder.modes)) {
                self.psn = psn;
            }
            self.owner = None;
        }
        assert!(
            self.owner != Some(failed),
            "the newest version of a page of {failed:?} is lost"
        );
        let holders = self.queue.holders().iter().map(|holder| holder.owner);
        let waiters = self.queue.waiters().iter().map(|waiter| waiter.owner);
        let all = holders
            .chain(waiters)
            .filter(|owner| owner.node() == failed);
        for owner in all.collect::<SmallVec<[LockOwner; 4]>>() {
            self.queue
                .release(&PAGE_LOCKS, owner, &mut Woken(&mut effects.woken));
        }
        if self.writing == Some(node) {
            self.writing = None;
        }
        self.pass_turn(dead, effects);
        let authorised: SmallVec<[NodeId; 2]> = self.authorised().collect();
        self.revoking &= !authorised.is_empty();
        if self.revoking {
            effects.revoke = authorised;
        }
    }
}
