//! Searches for deadlocks under primary copy locking: which page a transaction waits for is known
//! at its own node, and for whom at the authority.

use super::{Authority, PrimaryCopy};
use crate::protocol::entry::LockOwner;
use crate::protocol::probe::{Cycle, Probe, Step};
use crate::protocol::{Message, Output};

impl<A: Authority> PrimaryCopy<A> {
    /// Goes on with a search as far as this node knows.
    pub(super) fn probe(&mut self, mut probe: Box<Probe>, outputs: &mut Vec<Output>) {
        while let Some(step) = probe.next() {
            let place = match step {
                Step::Transaction(transaction) => transaction.node(),
                Step::Page(page, _) => self.authority.of(page),
                Step::Readers(_, node) => node,
            };
            if place != self.home.node {
                self.home.counters.probes += 1;
                return self.home.send(place, Message::Probe(probe), outputs);
            }
            let cycle = match step {
                Step::Transaction(transaction) => {
                    probe.waits(self.home.awaited(transaction));
                    None
                }
                Step::Page(page, waiter) => {
                    let blockers = self.table.blockers(waiter, page).into_iter();
                    probe.blocked(blockers.map(|owner| match owner {
                        LockOwner::Transaction(transaction) => Step::Transaction(transaction),
                        LockOwner::Node(node) => Step::Readers(page, node),
                    }))
                }
                Step::Readers(page, _) => probe.blocked(self.home.readers(page)),
            };
            if let Some(Cycle { victim, page }) = cycle {
                let authority = self.authority.of(page);
                if authority == self.home.node {
                    return self.cancel(victim, page, outputs);
                }
                let message = Message::CancelWait {
                    transaction: victim,
                    page,
                };
                return self.home.send(authority, message, outputs);
            }
        }
    }
}
