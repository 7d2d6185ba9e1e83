//! GEM locking: concurrency and coherency control by a global lock table in shared memory (paper 001,
//! sections 2 and 3.2).
//!
//! Every lock request and release of a node is an operation on the page's [`Entry`]: read it (one
//! access), change it in main memory, write it back by Compare&Swap (one access); if another node was
//! faster, again. A node does one operation at a time on an entry, in order of arrival, so a release
//! is never before its request, and what one operation has learned the next one knows.
//!
//! *Concurrency.* Who gives back a lock grants it to those who waited, in the same swap. A woken
//! transaction of its own node is told directly, one of another node by a short message.
//!
//! *Coherency.* The entry's PSN tells at the grant whether the node's copy is the newest. With FORCE
//! the newest is always on storage. With NOFORCE the node that modified the page last is its owner;
//! others ask it by a message. When the owner has written the page out, it adapts the entry; who asks
//! it between, and finds the page gone from its buffer, reads it from storage.
//!
//! *Replacement.* Before a node writes a page out it marks the entry as being written, so that no
//! other node, which has modified the page since, writes at the same time: the slower one, with the
//! older version, might come last. A node that finds the mark remembers itself in the entry, and is
//! told when the write is done.
//!
//! *Read authorisation* (an option; the paper's refinement of section 2). When a read lock is granted
//! and nobody waits, the node instead of the transaction becomes its holder, and grants further read
//! locks on the page itself, with no access to GEM: its copy of the page cannot become invalid
//! meanwhile. A writer waits for such a node as for any reader; it tells the node once, which then
//! grants no more, and gives the lock back when its last reader has ended.

//! *Failure of a node.* Its locks and its ownership stay in the entries, and keep others from what only
//! its log knows. A survivor reads the log and goes over all entries: it marks one as being written,
//! brings the newest version to storage, and then frees what the failed node held. What the node may
//! have changed in the entry without telling anybody, the recovery tells again; after it every
//! survivor looks after its waiting transactions.

mod operation;

use super::entry::LockOwner;
use super::home::{Asked, Authorisation, Home};
use super::mode::PAGE_LOCKS;
use super::probe::{Cycle, Probe, Step};
use super::{
    Counters, Entry, Input, LockMode, Message, NodeId, Outcome, Output, PageId, Protocol, Psn,
    TransactionId, UpdateStrategy,
};
use operation::{Effects, Operation, Standing, Writing};
use sardonyx_lock::Answer;
use sardonyx_lock::hash::IntegerMap;
use smallvec::SmallVec;

/// How GEM locking is to work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GemOptions {
    /// When modified pages reach storage.
    pub update: UpdateStrategy,
    /// Whether nodes are authorised to grant read locks themselves.
    pub read_authorisation: bool,
}

/// The operations of this node on one entry.
#[derive(Clone, Debug, Default)]
struct Work {
    current: Option<Operation>,
    /// The entry is being swapped: what follows if it succeeds.
    swapping: Option<Effects>,
    waiting: SmallVec<[Operation; 2]>,
}

/// One node's machine for GEM locking.
#[derive(Clone, Debug)]
pub struct GemLocking {
    options: GemOptions,
    home: Home,
    work: IntegerMap<PageId, Work>,
    /// Ended transactions, with the number of entries still to be released.
    ending: IntegerMap<TransactionId, usize>,
    /// Versions whose write-back waits for another node's.
    replacing: IntegerMap<PageId, Psn>,
    /// Pages whose recovery waits for another write, with the failed nodes.
    recovering: IntegerMap<PageId, SmallVec<[NodeId; 1]>>,
}

impl Protocol for GemLocking {
    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) {
        match input {
            Input::Lock {
                transaction,
                page,
                mode,
                cached,
            } => {
                if self.home.ask(transaction, page, mode, cached, outputs) == Asked::Open {
                    self.home.counters.global += 1;
                    self.enqueue(page, Operation::Request(transaction, mode), outputs);
                }
            }
            Input::End {
                transaction,
                outcome,
            } => self.end(transaction, outcome, outputs),
            Input::Message { from, message } => self.message(from, message, outputs),
            Input::EntryRead { page, entry } => self.entry_read(page, entry, outputs),
            Input::EntrySwapped { page, swapped } => self.entry_swapped(page, swapped, outputs),
            Input::Supplied {
                page,
                transaction,
                copy,
            } => self.supplied(page, transaction, copy, outputs),
            Input::Replace { page, psn } => {
                self.enqueue(page, Operation::Replace(psn), outputs);
            }
            Input::WrittenBack { page, psn } => {
                self.enqueue(page, Operation::WrittenBack(psn), outputs);
            }
            Input::Suspect { transaction } => {
                if !self.home.awaited(transaction).is_empty() {
                    self.probe(Box::new(Probe::new(transaction)), outputs);
                }
            }
            Input::NodeFailed { node } => {
                self.home.failed.insert(node);
                self.try_writing(outputs);
            }
            Input::Recover { page, node } => {
                self.enqueue(page, Operation::Recover(node), outputs);
            }
            Input::PageRecovered { page, node, psn } => {
                self.enqueue(page, Operation::Recovered(node, psn), outputs);
            }
            Input::NodeRecovered { node } => self.node_recovered(node, outputs),
        }
    }

    fn counters(&self) -> &Counters {
        &self.home.counters
    }

    fn is_idle(&self) -> bool {
        self.home.is_idle()
            && self.work.is_empty()
            && self.ending.is_empty()
            && self.replacing.is_empty()
            && self.recovering.is_empty()
    }
}

impl GemLocking {
    /// The machine of `node`.
    pub fn new(node: NodeId, options: GemOptions) -> Self {
        GemLocking {
            options,
            home: Home::new(node),
            work: IntegerMap::default(),
            ending: IntegerMap::default(),
            replacing: IntegerMap::default(),
            recovering: IntegerMap::default(),
        }
    }

    fn end(&mut self, transaction: TransactionId, outcome: Outcome, outputs: &mut Vec<Output>) {
        let mut entries = 0;
        for (page, lock) in self.home.end(transaction) {
            // A pending request of an authorised reader may be in the entry already, or be on the way.
            if !lock.authorised || lock.state.is_pending() {
                entries += 1;
                self.enqueue(page, Operation::Release(transaction, outcome), outputs);
            }
            if lock.authorised && self.home.may_give_up(page) {
                self.enqueue(page, Operation::GiveUp, outputs);
            }
        }
        if entries == 0 {
            outputs.push(Output::Ended { transaction });
        } else {
            self.ending.insert(transaction, entries);
        }
    }

    /// The failed node may have granted a lock, or ended a write for which this node waits, and died
    /// before it said so.
    fn node_recovered(&mut self, node: NodeId, outputs: &mut Vec<Output>) {
        for (transaction, page) in self.home.recovered(node) {
            self.enqueue(page, Operation::Recheck(transaction), outputs);
        }
        self.try_writing(outputs);
    }

    /// Tries again whatever waits for another node's write: that node may have failed.
    fn try_writing(&mut self, outputs: &mut Vec<Output>) {
        let pages = self.replacing.keys().chain(self.recovering.keys());
        let mut pages: SmallVec<[PageId; 8]> = pages.copied().collect();
        pages.sort_unstable();
        for page in pages {
            self.enqueue(page, Operation::WriteTurn, outputs);
        }
    }

    fn message(&mut self, from: NodeId, message: Message, outputs: &mut Vec<Output>) {
        match message {
            Message::Wake {
                transaction,
                page,
                psn,
                owner,
                mode,
            } => self.woken(transaction, page, mode, (psn, owner), outputs),
            Message::PageRequest { transaction, page } => {
                outputs.push(Output::Supply { page, transaction });
            }
            Message::Page {
                transaction,
                page,
                psn,
            } => self.home.fetched(transaction, page, Some(psn), outputs),
            Message::PageMissing { transaction, page } => {
                self.home.fetched(transaction, page, None, outputs);
            }
            Message::WriteTurn { page } => self.enqueue(page, Operation::WriteTurn, outputs),
            Message::Revoke { page, .. } => self.enqueue(page, Operation::Revoke, outputs),
            Message::Probe(probe) => self.probe(probe, outputs),
            Message::CancelWait { transaction, page } => {
                self.enqueue(page, Operation::Cancel(transaction), outputs);
            }
            other => panic!("{from:?} sent {other:?}, which is no message of GEM locking"),
        }
    }

    /// The buffer's answer: for a transaction of this node that looks for the page, or for one of
    /// another node that asked for it.
    fn supplied(
        &mut self,
        page: PageId,
        transaction: TransactionId,
        copy: Option<Psn>,
        outputs: &mut Vec<Output>,
    ) {
        if transaction.node() == self.home.node {
            return self.home.looked(transaction, page, copy, outputs);
        }
        let message = match copy {
            Some(psn) => Message::Page {
                transaction,
                page,
                psn,
            },
            None => Message::PageMissing { transaction, page },
        };
        self.home.send(transaction.node(), message, outputs);
    }

    fn enqueue(&mut self, page: PageId, operation: Operation, outputs: &mut Vec<Output>) {
        let work = self.work.entry(page).or_default();
        work.waiting.push(operation);
        self.begin_next(page, outputs);
    }

    /// Begins the next operation on the entry that needs an access to it.
    fn begin_next(&mut self, page: PageId, outputs: &mut Vec<Output>) {
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
                if let Some(work) = self.work.get_mut(&page) {
                    work.current = Some(operation);
                }
                return self.read_entry(page, outputs);
            }
        }
    }

    /// What an operation turns out to be when its turn comes; `None` if there is nothing to do.
    fn prepare(&mut self, page: PageId, operation: Operation) -> Option<Operation> {
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

    fn read_entry(&mut self, page: PageId, outputs: &mut Vec<Output>) {
        self.home.counters.entry_reads += 1;
        outputs.push(Output::ReadEntry { page });
    }

    fn entry_read(&mut self, page: PageId, mut entry: Entry, outputs: &mut Vec<Output>) {
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
            if let Some(work) = self.work.get_mut(&page) {
                work.current = Some(operation);
                work.swapping = Some(effects);
            }
            entry.version = expected + 1;
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

    fn entry_swapped(&mut self, page: PageId, swapped: bool, outputs: &mut Vec<Output>) {
        let Some(work) = self.work.get_mut(&page) else {
            return;
        };
        let Some(effects) = work.swapping.take() else {
            return;
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
    fn perform(
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
    /// transaction has ended. What is decided here holds until the swap: a node that is about to give
    /// its authorisation up grants no more by it.
    fn standing(
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
    fn conclude(
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
                self.home.locate_again(transaction, page, outputs);
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

    fn requested(
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

    fn released(&mut self, transaction: TransactionId, outputs: &mut Vec<Output>) {
        if let Some(entries) = self.ending.get_mut(&transaction) {
            *entries -= 1;
            if *entries == 0 {
                self.ending.remove(&transaction);
                outputs.push(Output::Ended { transaction });
            }
        }
    }

    /// A transaction of this node holds a lock for which it waited. If it waits for more than that, the
    /// news is old: it was found out by a recovery, and the transaction has gone on.
    fn woken(
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
            self.home.grant(transaction, page, psn, owner, outputs);
        }
    }

    /// Tells those whom the operation has woken, whose authorisation must end, or who may write now.
    fn tell_others(&mut self, page: PageId, effects: Effects, outputs: &mut Vec<Output>) {
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

    /// Goes on with a search as far as this node knows.
    fn probe(&mut self, mut probe: Box<Probe>, outputs: &mut Vec<Output>) {
        while let Some(step) = probe.next() {
            match step {
                Step::Transaction(transaction) => {
                    if transaction.node() != self.home.node {
                        return self.send_probe(transaction.node(), probe, outputs);
                    }
                    probe.waits(self.home.awaited(transaction));
                }
                Step::Page(page, waiter) => {
                    return self.enqueue(page, Operation::Probe(probe, waiter), outputs);
                }
                Step::Readers(page, node) => {
                    if node != self.home.node {
                        return self.send_probe(node, probe, outputs);
                    }
                    if let Some(cycle) = probe.blocked(self.home.readers(page)) {
                        return self.resolve(cycle, outputs);
                    }
                }
            }
        }
    }

    fn send_probe(&mut self, to: NodeId, probe: Box<Probe>, outputs: &mut Vec<Output>) {
        self.home.counters.probes += 1;
        self.home.send(to, Message::Probe(probe), outputs);
    }

    /// Does the step of a search that needs the entry.
    fn probe_entry(
        &mut self,
        page: PageId,
        probe: &mut Box<Probe>,
        waiter: TransactionId,
        entry: &Entry,
        outputs: &mut Vec<Output>,
    ) {
        let waiter = LockOwner::Transaction(waiter);
        let blockers = entry.queue.blocking_holders(&PAGE_LOCKS, waiter);
        let blockers = blockers.into_iter().map(|blocker| match blocker {
            LockOwner::Transaction(transaction) => Step::Transaction(transaction),
            LockOwner::Node(node) => Step::Readers(page, node),
        });
        match probe.blocked(blockers) {
            Some(cycle) => self.resolve(cycle, outputs),
            None => self.probe(probe.clone(), outputs),
        }
    }

    fn resolve(&mut self, cycle: Cycle, outputs: &mut Vec<Output>) {
        let Cycle {
            victim: transaction,
            page,
        } = cycle;
        if transaction.node() == self.home.node {
            self.enqueue(page, Operation::Cancel(transaction), outputs);
        } else {
            let message = Message::CancelWait { transaction, page };
            self.home.send(transaction.node(), message, outputs);
        }
    }
}
