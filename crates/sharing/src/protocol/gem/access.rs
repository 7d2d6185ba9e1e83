//! A node's operations on entries: one at a time per entry, read, change, swap, and again if the swap fails; then the
//! effects of the result. Here the accesses are asked for and answered later; a shell that answers them at once has a
//! way of its own to these steps ([`synchronous`](super::synchronous)).

use super::GemLocking;
use super::operation::{Effects, Operation, Standing, Writing};
use crate::protocol::entry::LockOwner;
use crate::protocol::home::Authorisation;
use crate::protocol::mode::PAGE_LOCKS;
use crate::protocol::{Entry, LockMode, Message, NodeId, Output, PageId, Psn, TransactionId};
use sardonyx_lock::Answer;
use smallvec::SmallVec;

impl GemLocking {
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        page: PageId,
        operation: Operation,
        outputs: &mut Vec<Output>,
    ) {
        self.add(page, operation);
        if !self.synchronous {
            self.begin_next(page, outputs);
        }
    }

    /// An operation that comes after those that wait.
    #[inline]
    fn add(&mut self, page: PageId, operation: Operation) {
        match self.synchronous {
            true => self.arrived.push_back((page, operation)),
            false => self.work.get_or_default(page).waiting.push(operation),
        }
    }

    /// Begins the next operation on the entry that needs an access to it.
    pub(super) fn begin_next(&mut self, page: PageId, outputs: &mut Vec<Output>) {
        while let Some(work) = self.work.get_mut(page) {
            if work.current.is_some() {
                return;
            }
            if work.waiting.is_empty() {
                self.work.remove(page);
                return;
            }
            let operation = work.waiting.remove(0);
            if let Some(operation) = self.prepare(page, operation) {
                let known = self.remembered_for(page, &operation);
                if let Some(work) = self.work.get_mut(page) {
                    work.current = Some(operation);
                }
                return match known {
                    Some(entry) => self.entry_read(page, Box::new(entry), outputs),
                    None => self.read_entry(page, outputs),
                };
            }
        }
    }

    /// The entry as it was written last, for an operation that may begin with that.
    pub(super) fn remembered_for(&mut self, page: PageId, operation: &Operation) -> Option<Entry> {
        match operation {
            Operation::Replace(_) | Operation::WrittenBack(_) => self.remembered.remove(&page),
            _ => None,
        }
    }

    /// An entry was written, or not since it had been changed: what is to be remembered of it.
    #[inline]
    pub(super) fn remember(&mut self, page: PageId, written: Option<Entry>) {
        if let Some(entry) = written {
            self.remembered.insert(page, entry);
        } else if !self.remembered.is_empty() {
            self.remembered.remove(&page);
        }
    }

    /// The operation as it is when its turn comes; `None` if nothing is to be done.
    #[inline]
    pub(super) fn prepare(&mut self, page: PageId, operation: Operation) -> Option<Operation> {
        match operation {
            Operation::WriteTurn => {
                // A node that has the turn must pass it on if it has nothing to write, by the present entry.
                self.remembered.remove(&page);
                let replacing = self.replacing.remove(&page).map(Operation::Replace);
                let recovering = self.recovering.remove(&page).into_iter().flatten();
                let mut all = recovering.map(Operation::Recover).chain(replacing);
                let first = all.next();
                // The others find that one under way, and wait for their turn again.
                all.for_each(|other| self.add(page, other));
                first
            }
            Operation::Revoke | Operation::GiveUp => {
                if matches!(operation, Operation::Revoke) {
                    self.home.revoke(page);
                }
                self.home.may_give_up(page).then_some(Operation::GiveUp)
            }
            operation => Some(operation),
        }
    }

    pub(super) fn read_entry(&mut self, page: PageId, outputs: &mut Vec<Output>) {
        self.home.counters.entry_reads += 1;
        outputs.push(Output::ReadEntry { page });
    }

    pub(super) fn entry_read(
        &mut self,
        page: PageId,
        mut entry: Box<Entry>,
        outputs: &mut Vec<Output>,
    ) {
        let Some(work) = self.work.get_mut(page) else {
            return;
        };
        if std::mem::take(&mut work.reads_again) {
            return self.read_entry(page, outputs);
        }
        let Some(mut operation) = work.current.take() else {
            return;
        };
        let expected = entry.version;
        let mut effects = self.spare_effects.pop().unwrap_or_default();
        if self.attempt(page, &mut operation, &mut entry, &mut effects, outputs) {
            let owned = self.is_to_be_remembered(&entry);
            if let Some(work) = self.work.get_mut(page) {
                work.current = Some(operation);
                work.swapping = Some(effects);
                work.swapped = owned.then(|| entry.clone());
            }
            outputs.push(Output::SwapEntry {
                page,
                expected,
                entry,
            });
        } else {
            self.conclude(page, operation, effects, outputs);
            self.begin_next(page, outputs);
        }
    }

    /// True if a node keeps the entry that it has written.
    pub(super) fn is_to_be_remembered(&self, entry: &Entry) -> bool {
        self.options.remembered_entries && entry.owner == Some(self.home.node)
    }

    /// Does an operation on an entry as it was read. Returns whether the entry is now the one to be written back;
    /// if not, the operation is done.
    #[inline]
    pub(super) fn attempt(
        &mut self,
        page: PageId,
        operation: &mut Operation,
        entry: &mut Entry,
        effects: &mut Effects,
        outputs: &mut Vec<Output>,
    ) -> bool {
        let changed = self.perform(page, operation, entry, effects, outputs);
        effects.psn = entry.psn;
        effects.owner = entry.owner;
        effects.writer = entry.writing;
        effects.modes.clear();
        for &woken in &effects.woken {
            effects.modes.push(entry.held_by(woken));
        }
        if changed {
            entry.version += 1;
            self.home.counters.entry_swaps += 1;
        }
        changed
    }

    pub(super) fn entry_swapped(&mut self, page: PageId, swapped: bool, outputs: &mut Vec<Output>) {
        let Some(work) = self.work.get_mut(page) else {
            return;
        };
        let Some(effects) = work.swapping.take() else {
            return;
        };
        let written = work.swapped.take().filter(|_| swapped);
        let operation = work.current.take_if(|_| swapped);
        self.remember(page, written.map(|entry| *entry));
        if !swapped {
            self.home.counters.swap_failures += 1;
            self.take_back(effects);
            return self.read_entry(page, outputs);
        }
        if let Some(operation) = operation {
            self.conclude(page, operation, effects, outputs);
            self.begin_next(page, outputs);
        }
    }

    /// Keeps what followed from an operation for the next one.
    #[inline]
    pub(super) fn take_back(&mut self, mut effects: Box<Effects>) {
        effects.clear();
        self.spare_effects.push(effects);
    }

    /// Changes the entry in main memory. Returns whether it has to be written back.
    #[inline]
    pub(super) fn perform(
        &mut self,
        page: PageId,
        operation: &mut Operation,
        entry: &mut Entry,
        effects: &mut Effects,
        outputs: &mut Vec<Output>,
    ) -> bool {
        let node = self.home.node;
        match operation {
            Operation::Request(transaction, mode) => {
                let Some(standing) = self.standing(*transaction, page, *mode, outputs) else {
                    return false;
                };
                entry.request(node, *transaction, *mode, standing, effects);
                true
            }
            Operation::Release(transaction, outcome) => {
                entry.release(*transaction, *outcome, self.options.update, effects)
            }
            Operation::Cancel(transaction) => {
                entry.cancel(*transaction, effects);
                effects.cancelled
            }
            Operation::Replace(psn) => {
                entry.replace(node, *psn, &self.home.failed, effects);
                effects.writing != Some(Writing::Never) || effects.write_turn.is_some()
            }
            Operation::Recover(failed) => {
                let concerned = entry.concerns(*failed);
                if concerned {
                    entry.recover(node, &self.home.failed, effects);
                }
                concerned
            }
            Operation::Recovered(failed, psn) => {
                entry.recovered(node, *failed, *psn, &self.home.failed, effects);
                true
            }
            Operation::Recheck(transaction) => {
                let held = entry.queue.held(LockOwner::Transaction(*transaction));
                let lock = self.home.lock(*transaction, page);
                if lock.is_some_and(|lock| PAGE_LOCKS.covers(held, lock.mode.mode())) {
                    effects.woken.push(*transaction);
                }
                false
            }
            Operation::WrittenBack(psn) => {
                entry.written_back(node, *psn, &self.home.failed, effects);
                true
            }
            Operation::GiveUp => {
                entry.give_up(node, effects);
                true
            }
            Operation::Probe(probe, waiter) => {
                self.probe_entry(page, probe, *waiter, entry, outputs);
                false
            }
            Operation::WriteTurn | Operation::Revoke => false,
        }
    }

    /// The state of a request under the node's read authorisation; `None` if that grants it, or if the transaction has
    /// ended. The decision holds until the swap: a node that is about to give its authorisation up grants no more by
    /// it.
    #[inline]
    pub(super) fn standing(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        outputs: &mut Vec<Output>,
    ) -> Option<Standing> {
        let reads = self.home.lock(transaction, page)?.authorised;
        if mode == LockMode::Read {
            if self.home.read_authorised(transaction, page, outputs) {
                return None;
            }
            return Some(Standing {
                wants_authorisation: self.options.read_authorisation
                    && self.home.authorisation(page).is_none(),
                ..Standing::default()
            });
        }
        Some(Standing {
            wants_authorisation: false,
            reads,
            gives_up: self.home.revoke(page) && self.home.is_unused(page, Some(transaction)),
        })
    }

    /// The operation is done, and its result is in GEM.
    #[inline]
    pub(super) fn conclude(
        &mut self,
        page: PageId,
        operation: Operation,
        mut effects: Box<Effects>,
        outputs: &mut Vec<Output>,
    ) {
        if effects.gives_up {
            self.home.give_up(page);
        }
        match operation {
            Operation::Request(transaction, _) => {
                self.requested(transaction, page, &effects, outputs);
            }
            Operation::Release(transaction, _) => self.released(transaction, outputs),
            Operation::Cancel(transaction) if effects.cancelled => {
                self.home.lose(transaction, page, outputs);
            }
            Operation::Replace(psn) => match effects.writing {
                Some(Writing::Now) => outputs.push(Output::WriteBack { page, psn }),
                Some(Writing::Later) => {
                    let before = self
                        .replacing
                        .insert(page, psn)
                        .filter(|&before| before != psn);
                    outputs.extend(before.map(|psn| Output::Discard { page, psn }));
                }
                _ => outputs.push(Output::Discard { page, psn }),
            },
            Operation::Recheck(transaction) => {
                self.home
                    .refresh(transaction, page, effects.psn, effects.owner, outputs);
            }
            Operation::Recover(node) => match effects.writing {
                Some(Writing::Now) => outputs.push(Output::RecoverPage { page, node }),
                Some(_) => {
                    self.recovering.entry(page).or_default().push(node);
                    // The writer may have failed between the swap and now.
                    if effects
                        .writer
                        .is_some_and(|writer| self.home.failed.contains(&writer))
                    {
                        self.enqueue(page, Operation::WriteTurn, outputs);
                    }
                }
                None => outputs.push(Output::EntryRecovered { page, node }),
            },
            Operation::Recovered(node, _) => {
                outputs.push(Output::EntryRecovered { page, node });
            }
            _ => {}
        }
        if effects.concern_others() {
            self.tell_others(page, &mut effects, outputs);
        }
        self.take_back(effects);
    }

    pub(super) fn requested(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        effects: &Effects,
        outputs: &mut Vec<Output>,
    ) {
        let Some(answer) = effects.answer else { return };
        if effects.authorised {
            let authorisation = Authorisation {
                number: 0,
                psn: effects.psn,
                supplier: effects.owner.filter(|&owner| owner != self.home.node),
                readers: SmallVec::new(),
                revoked: false,
            };
            self.home.authorise(transaction, page, authorisation);
        }
        if effects.registered {
            self.home.stop_reading(transaction, page);
            if self.home.may_give_up(page) {
                self.enqueue(page, Operation::GiveUp, outputs);
            }
        }
        if answer == Answer::Waiting {
            self.home.counters.conflicts += 1;
            self.home.wait(transaction, page, outputs);
        } else {
            self.home
                .grant(transaction, page, effects.psn, effects.owner, outputs);
        }
    }

    pub(super) fn released(&mut self, transaction: TransactionId, outputs: &mut Vec<Output>) {
        // Few end at once, and the one that ended last is the likeliest.
        let mut ending = self.ending.iter_mut().enumerate().rev();
        if let Some((place, (_, entries))) = ending.find(|(_, (other, _))| *other == transaction) {
            *entries -= 1;
            if *entries == 0 {
                self.ending.swap_remove(place);
                outputs.push(Output::Ended { transaction });
            }
        }
    }

    /// A transaction of this node holds a lock for which it waited. If it waits for more than that, the news is old: a
    /// recovery has found it, and the transaction has continued.
    pub(super) fn woken(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        (psn, owner): (Psn, Option<NodeId>),
        outputs: &mut Vec<Output>,
    ) {
        if self
            .home
            .lock(transaction, page)
            .is_some_and(|lock| mode >= lock.mode)
        {
            // If it read under the authorisation, its lock is in the entry now. The news of its
            // request may still be on the way.
            self.home.stop_reading(transaction, page);
            if self.home.may_give_up(page) {
                self.enqueue(page, Operation::GiveUp, outputs);
            }
            self.home.grant(transaction, page, psn, owner, outputs);
        }
    }

    /// Tells those whom the operation has woken, whose authorisation must end, or who may write
    /// now.
    pub(super) fn tell_others(
        &mut self,
        page: PageId,
        effects: &mut Effects,
        outputs: &mut Vec<Output>,
    ) {
        let Effects { psn, owner, .. } = *effects;
        for (transaction, mode) in effects.woken.drain(..).zip(effects.modes.drain(..)) {
            if transaction.node() == self.home.node {
                self.woken(transaction, page, mode, (psn, owner), outputs);
            } else {
                let message = Message::Wake {
                    transaction,
                    page,
                    psn,
                    owner,
                    mode,
                };
                self.home.send(transaction.node(), message, outputs);
            }
        }
        for node in effects.revoke.drain(..) {
            if node == self.home.node {
                self.enqueue(page, Operation::Revoke, outputs);
                continue;
            }
            let message = Message::Revoke {
                page,
                authorisation: 0,
            };
            self.home.send(node, message, outputs);
        }
        if let Some(node) = effects.write_turn {
            if node == self.home.node {
                self.enqueue(page, Operation::WriteTurn, outputs);
            } else {
                self.home.send(node, Message::WriteTurn { page }, outputs);
            }
        }
    }
}
