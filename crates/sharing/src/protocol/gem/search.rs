//! Searches for deadlocks under GEM locking: whom a transaction waits for is in the page's entry,
//! which its own node reads.

use super::GemLocking;
use super::operation::Operation;
use crate::protocol::entry::LockOwner;
use crate::protocol::mode::PAGE_LOCKS;
use crate::protocol::probe::{Cycle, Probe, Step};
use crate::protocol::{Entry, Message, NodeId, Output, PageId, TransactionId};

impl GemLocking {
    /// Goes on with a search as far as this node knows.
    pub(super) fn probe(&mut self, mut probe: Box<Probe>, outputs: &mut Vec<Output>) {
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

    pub(super) fn send_probe(&mut self, to: NodeId, probe: Box<Probe>, outputs: &mut Vec<Output>) {
        self.home.counters.probes += 1;
        self.home.send(to, Message::Probe(probe), outputs);
    }

    /// Does the step of a search that needs the entry.
    pub(super) fn probe_entry(
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

    pub(super) fn resolve(&mut self, cycle: Cycle, outputs: &mut Vec<Output>) {
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
