//! Steps with other threads and with children made by `fork`.

use super::program::insert;
use super::{Abuse, OF_CHILDREN};
use crate::common::Opened;
use crate::common::block_on;
use crate::fork::{Fork, end};
use sardonyx::{Durability, Error, Transaction};

/// Children and threads.
impl Abuse<'_> {
    fn child_is_refused(opened: &Opened) -> bool {
        let forked = |outcome| matches!(outcome, Err(Error::Forked(_)));
        let put = |tx: &mut Transaction<'_>| insert(opened, tx, OF_CHILDREN);
        forked(opened.database.run(put))
            && forked(
                opened
                    .database
                    .transaction()
                    .durability(Durability::Deferred)
                    .run(put),
            )
            && forked(opened.database.flush())
            && forked(opened.database.checkpoint())
    }

    /// A child that tries something, with all tickets, and ends in one of three ways.
    pub fn fork(&mut self) {
        let ending = self.random.below(3);
        let child = Fork::Library.child(|| {
            let mut well = Self::child_is_refused(&self.opened);
            for (_, ticket) in self.tickets.drain(..) {
                well &= matches!(ticket.wait(), Err(Error::Forked(_)));
            }
            for (_, ticket) in self.batches.drain(..) {
                well &= matches!(block_on(ticket), Err(Error::Forked(_)));
            }
            // SAFETY: nothing else uses it in this child, which ends without dropping it again.
            let own = unsafe { std::ptr::read(&raw const self.opened.database) };
            match ending {
                0 => drop(own),
                1 => well &= own.close().is_err(),
                _ => std::mem::forget(own),
            }
            well
        });
        // The parent goes on meanwhile.
        self.run_one();
        assert!(child.ends_content());
    }

    pub fn fork_inside(&mut self) {
        let id = self.witness.begins();
        let opened = self.opened.clone();
        let mut child = None;
        let outcome = opened.database.run(|tx| {
            child = Fork::Library.here();
            insert(&opened, tx, id)
        });
        match child {
            None => end(outcome.is_err() && Self::child_is_refused(&opened)),
            Some(child) => assert!(child.ends_content()),
        }
        self.told(id, outcome);
    }

    pub fn threads(&mut self) {
        let (count, each) = (1 + self.random.below(4), self.random.below(12));
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| {
                    for _ in 0..each {
                        let id = self.witness.begins();
                        let outcome = self.opened.database.run(|tx| insert(&self.opened, tx, id));
                        self.told(id, outcome);
                    }
                });
            }
        });
    }
}
