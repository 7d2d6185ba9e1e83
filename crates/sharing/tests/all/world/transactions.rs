//! The steps of transactions: they ask for locks, read and change pages, and end.

use super::{Event, Progress, Transaction, Version, World, carried};
use sardonyx_sharing::protocol::{
    Input, LockMode, NodeId, Outcome, PageId, PageSource, Psn, TransactionId, UpdateStrategy,
};
use std::collections::BTreeMap;

impl World {
    /// Begins a transaction that will do these steps.
    pub fn begin(&mut self, node: u16, steps: &[(u64, LockMode)]) -> TransactionId {
        let id = NodeId(node);
        let node = self.node(id);
        node.started += 1;
        let transaction = TransactionId::new(id, node.started);
        let steps = steps
            .iter()
            .rev()
            .map(|&(page, mode)| (PageId(page), mode))
            .collect();
        let begun = Transaction {
            steps,
            progress: Progress::Ready,
            pinned: None,
            held: BTreeMap::new(),
            read: BTreeMap::new(),
        };
        node.transactions.insert(transaction, begun);
        transaction
    }

    /// Lets a ready transaction ask for its next lock, or commit if it has had all.
    pub fn advance(&mut self, transaction: TransactionId) {
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        if state.progress != Progress::Ready {
            return;
        }
        let Some((page, mode)) = state.steps.pop() else {
            return self.commit(transaction);
        };
        state.progress = Progress::Locking(page, false);
        let frame = self.node(transaction.node()).frames.get_mut(&page);
        let cached = frame.map(|frame| {
            frame.pins += 1;
            frame.version.psn
        });
        if let Some(state) = self.transaction(transaction) {
            state.pinned = cached.map(|_| page);
        }
        let lock = Input::Lock {
            transaction,
            page,
            mode,
            cached,
        };
        self.tell(transaction.node(), lock);
    }

    pub(super) fn commit(&mut self, transaction: TransactionId) {
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        if state.written().is_empty() {
            if self.may_acknowledge(transaction) {
                self.check_reads(transaction);
                self.end(transaction, Outcome::Committed);
            }
            return;
        }
        state.progress = Progress::Logging;
        let node = transaction.node();
        self.node(node).committing.push(transaction);
        if !self.logs.slow {
            self.write_group(node);
        } else if self.node(node).committing.len() == 1 {
            self.events.push(Event::WriteGroup(node));
        }
    }

    /// The transaction's redo is durable: from now on it has happened, whatever fails.
    pub(super) fn durable(&mut self, transaction: TransactionId) {
        if self.machines.update() == UpdateStrategy::NoForce {
            return self.end(transaction, Outcome::Committed);
        }
        let state = self.transaction(transaction).expect("who commits lives");
        let written: Vec<PageId> = state.written();
        state.progress = Progress::Forcing(written.len() as u32);
        for page in written {
            self.events.push(Event::ForceStorage(transaction, page));
        }
    }

    /// Ends the transaction: the buffer has its versions, or they were never there.
    pub fn end(&mut self, transaction: TransactionId, outcome: Outcome) {
        let node = transaction.node();
        let stored = self.machines.stored_at_commit();
        let force = self.machines.update() == UpdateStrategy::Force || stored;
        self.unpin(transaction);
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        state.progress = Progress::Ending;
        for page in state.written() {
            let frame = self
                .node(node)
                .frames
                .get_mut(&page)
                .expect("a changed page stays");
            let (_, version) = frame.working.take().expect("a changed page is at work");
            if outcome == Outcome::Committed {
                frame.version = version;
                frame.dirty = !force;
            }
        }
        self.locks.retain(|&(_, holder), _| holder != transaction);
        self.committed += u64::from(outcome == Outcome::Committed);
        let end = Input::End {
            transaction,
            outcome,
        };
        self.tell(node, end);
    }

    /// Tells the machine that a transaction has waited for long.
    pub fn suspect(&mut self, transaction: TransactionId) {
        self.tell(transaction.node(), Input::Suspect { transaction });
    }

    pub(super) fn granted(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        psn: Psn,
        source: PageSource,
        pages: &[(PageId, Version)],
    ) {
        // A node that is cut off may believe that it holds a lock; no other shares that belief.
        let cut = self.failed.contains_key(&transaction.node());
        for (&(locked, other), &held) in self.locks.iter().filter(|_| !cut) {
            let admits = mode == LockMode::Read && held == LockMode::Read;
            assert!(
                locked != page || other == transaction || admits,
                "{transaction:?} and {other:?} hold {page:?}"
            );
        }
        let newest = self.newest(page);
        assert!(
            cut || psn == newest.psn,
            "{transaction:?} is granted an old version of {page:?}"
        );
        self.unpin(transaction);
        let state = self
            .transaction(transaction)
            .expect("who is granted a lock lives");
        assert!(matches!(state.progress, Progress::Locking(locking, _) if locking == page));
        state.progress = Progress::Reading(page);
        let held = state.held.entry(page).or_insert(mode);
        *held = mode.max(*held);
        let held = *held;
        if !cut {
            self.locks.insert((page, transaction), held);
        }
        match source {
            PageSource::Storage => self.events.push(Event::ReadStorage(transaction, page)),
            PageSource::Gem(from) => {
                self.events.push(Event::ReadGem(transaction, page, from));
            }
            PageSource::Copy => self.work(transaction, page),
            PageSource::Message => {
                let version = carried(pages, page);
                self.node(transaction.node()).install(page, version);
                self.work(transaction, page);
            }
        }
    }

    /// The transaction has its lock and the page: it reads, and changes it if it may.
    pub(super) fn work(&mut self, transaction: TransactionId, page: PageId) {
        let cut = self.failed.contains_key(&transaction.node());
        let newest = self.newest(page);
        let frame = self.node(transaction.node()).frames.get_mut(&page);
        let frame = frame.expect("the page that was granted is in the buffer");
        let version = frame.version;
        assert!(
            cut || version == newest,
            "{transaction:?} reads an old version of {page:?}"
        );
        let by = frame.working.map(|(by, _)| by);
        assert!(
            by.is_none_or(|by| by == transaction),
            "{transaction:?} reads what is not committed"
        );
        let state = self.transaction(transaction).expect("who works lives");
        state.progress = Progress::Ready;
        state.read.insert(page, version.psn);
        if state.held[&page] == LockMode::Write {
            let working = Some((transaction, version.after(transaction)));
            self.node(transaction.node())
                .frames
                .get_mut(&page)
                .expect("seen above")
                .working = working;
        }
    }

    pub(super) fn unpin(&mut self, transaction: TransactionId) {
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        let Some(page) = state.pinned.take() else {
            return;
        };
        let frame = self.node(transaction.node()).frames.get_mut(&page);
        frame.expect("a pinned page stays").pins -= 1;
    }

    /// The transactions that have been answered that they must wait, by age.
    pub fn waiting(&self) -> Vec<TransactionId> {
        let all = self.nodes.iter().flat_map(|node| &node.transactions);
        let all = all.filter(|(transaction, _)| !self.stopped.contains(&transaction.node()));
        let waiting = all.filter(|(_, state)| matches!(state.progress, Progress::Locking(_, true)));
        waiting.map(|(&transaction, _)| transaction).collect()
    }

    /// The transactions that can go on.
    pub fn ready(&self) -> Vec<TransactionId> {
        let all = self.nodes.iter().flat_map(|node| &node.transactions);
        let all = all.filter(|(transaction, _)| !self.stopped.contains(&transaction.node()));
        let ready = all.filter(|(_, state)| state.progress == Progress::Ready);
        ready.map(|(&transaction, _)| transaction).collect()
    }
}
