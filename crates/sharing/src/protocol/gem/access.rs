//! How a node carries out its operations on entries: one at a time per entry, read, change, swap,
//! and again if the swap fails; then what follows from the result.

use super::GemLocking;
use super::operation::{Effects, Operation, Standing, Writing};
use crate::protocol::entry::LockOwner;
use crate::protocol::home::Authorisation;
use crate::protocol::mode::PAGE_LOCKS;
use crate::protocol::{Entry, LockMode, Message, NodeId, Output, PageId, Psn, TransactionId};
use sardonyx_lock::Answer;
use smallvec::SmallVec;

impl GemLocking {
    pub(super) fn enqueue(
        &mut self,
        page: PageId,
        operation: Operation,
        outputs: &mut Vec<Output>,
    ) {
        let work = self.work.entry(page).or_default();
        work.waiting.push(operation);
        self.begin_next(page, outputs);
    }

    /// Begins the next operation on the entry that needs an access to it.
    pub(super) fn begin_next(&mut self, page: PageId, outputs: &mut Vec<Output>) {
        while let Some(work) = self.work.get_mut(&page) {
            if work.current.is_some() {
                return;
            }
            if work.waiting.is_empty() {
                self.work.remove(&page);
                return;
            }
            let operation = work.waiting.remove(0);
            if let Some(operation) = self.prepare(page, operation) {
                let known = match operation {
                    Operation::Replace(_) | Operation::WrittenBack(_) => {
                        self.remembered.remove(&page)
                    }
                    _ => None,
                };
                if let Some(work) = self.work.get_mut(&page) {
                    work.current = Some(operation);
                }
                return match known {
                    Some(entry) => self.entry_read(page, entry, outputs),
                    None => self.read_entry(page, outputs),
                };
            }
        }
    }

    /// What an operation turns out to be when its turn comes; `None` if there is nothing to do.
    pub(super) fn prepare(&mut self, page: PageId, operation: Operation) -> Option<Operation> {
        match operation {
            Operation::WriteTurn => {
                let replacing = self.replacing.remove(&page).map(Operation::Replace);
                let recovering = self.recovering.remove(&page).into_iter().flatten();
                let mut all = recovering.map(Operation::Recover).chain(replacing);
                let first = all.next();
                // The others find that one under way, and wait for their turn again.
                let work = self.work.entry(page).or_default();
                work.waiting.extend(all);
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

    pub(super) fn entry_read(&mut self, page: PageId, mut entry: Entry, outputs: &mut Vec<Output>) {
        let Some(work) = self.work.get_mut(&page) else {
            return;
        };
        let Some(mut operation) = work.current.take() else {
            return;
        };
        let expected = entry.version;
        let mut effects = Effects::default();
        let changed = self.perform(page, &mut operation, &mut entry, &mut effects, outputs);
        effects.psn = entry.psn;
        effects.owner = entry.owner;
        effects.writer = entry.writing;
        effects.modes = effects
            .woken
            .iter()
            .map(|&woken| entry.held_by(woken))
            .collect();
        if changed {
            entry.version = expected + 1;
            let owned = self.options.remembered_entries && entry.owner == Some(self.home.node);
            if let Some(work) = self.work.get_mut(&page) {
                work.current = Some(operation);
                work.swapping = Some(effects);
                work.swapped = owned.then(|| entry.clone());
            }
            self.home.counters.entry_swaps += 1;
            outputs.push(Output::SwapEntry {
                page,
                expected,
                entry,
            });
        } else {
            self.conclude(page, operation, effects, outputs);
        }
    }

    pub(super) fn entry_swapped(&mut self, page: PageId, swapped: bool, outputs: &mut Vec<Output>) {
        let Some(work) = self.work.get_mut(&page) else {
            return;
        };
        let Some(effects) = work.swapping.take() else {
            return;
        };
        let written = work.swapped.take().filter(|_| swapped);
        match written {
            Some(entry) => self.remembered.insert(page, entry),
            None => self.remembered.remove(&page),
        };
        if !swapped {
            self.home.counters.swap_failures += 1;
            return self.read_entry(page, outputs);
        }
        if let Some(operation) = work.current.take() {
            self.conclude(page, operation, effects, outputs);
        }
    }

    /// Changes the entry in main memory. Returns whether it has to be written back.
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

    /// How a request stands with the node's read authorisation; `None` if that grants it, or if the
    /// transaction has ended. What is decided here holds until the swap: a node that is about to
    /// give its authorisation up grants no more by it.
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
    pub(super) fn conclude(
        &mut self,
        page: PageId,
        operation: Operation,
        effects: Effects,
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
        self.tell_others(page, effects, outputs);
        self.begin_next(page, outputs);
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
        if let Some(entries) = self.ending.get_mut(&transaction) {
            *entries -= 1;
            if *entries == 0 {
                self.ending.remove(&transaction);
                outputs.push(Output::Ended { transaction });
            }
        }
    }

    /// A transaction of this node holds a lock for which it waited. If it waits for more than that,
    /// the news is old: it was found out by a recovery, and the transaction has gone on.
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
            // If it read under the authorisation, its lock is in the entry now, though the news
            // that its request is there may still be on the way.
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
        effects: Effects,
        outputs: &mut Vec<Output>,
    ) {
        let Effects { psn, owner, .. } = effects;
        for (transaction, mode) in effects.woken.into_iter().zip(effects.modes) {
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
        for node in effects.revoke {
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
