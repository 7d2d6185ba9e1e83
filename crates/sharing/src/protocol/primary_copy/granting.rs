//! A node's work as the authority: it answers requests, of its own transactions and of others', and
//! frees locks.

use super::authority::Woken;
use super::{Authority, DueGrant, PrimaryCopy};
use crate::protocol::{LockMode, Message, Outcome, Output, PageId, PageSource, TransactionId};
use sardonyx_lock::Answer;

impl<A: Authority> PrimaryCopy<A> {
    /// A transaction of another node asks for a lock.
    pub(super) fn requested(&mut self, request: Message, outputs: &mut Vec<Output>) {
        let Message::Request {
            transaction,
            page,
            mode,
            cached,
            reads,
            gives_up,
        } = request
        else {
            return;
        };
        let node = transaction.node();
        let mut woken = Woken::new();
        if self.table.is_overtaken(transaction, page) {
            if gives_up {
                self.table.give_up(node, page, &mut woken);
            }
            return self.wake(woken, outputs);
        }
        self.cached.insert((transaction, page), cached);
        // A writer that gives up first waits in line; a reader wants a new authorisation.
        let renews = gives_up && mode == LockMode::Read;
        if renews {
            self.table.give_up(node, page, &mut woken);
        }
        if mode == LockMode::Read
            && self.options.read_optimisation
            && let Some(number) = self.table.authorise(transaction, page)
        {
            self.grant_remote(transaction, page, Some(number), outputs);
            return self.wake(woken, outputs);
        }
        // A node that is not authorised any more has ended the transaction; its release is on the
        // way.
        if reads && self.table.is_authorised(node, page) {
            self.table.adopt(transaction, page);
            if !gives_up {
                self.home
                    .send(node, Message::Registered { transaction, page }, outputs);
            }
        }
        let answer = self.table.request(transaction, page, mode);
        if gives_up && !renews {
            self.table.give_up(node, page, &mut woken);
        }
        if answer != Answer::Waiting {
            self.grant(transaction, page, outputs);
        } else if !woken.contains(&(transaction, page)) {
            self.conflict(page, outputs);
        }
        self.wake(woken, outputs);
    }

    /// A request has to wait for another transaction, or for nodes that are authorised.
    pub(super) fn conflict(&mut self, page: PageId, outputs: &mut Vec<Output>) {
        self.home.counters.conflicts += 1;
        for (node, authorisation) in self.table.revoke(page) {
            let message = Message::Revoke {
                page,
                authorisation,
            };
            self.home.send(node, message, outputs);
        }
    }

    /// The transaction has its lock in this node's table.
    pub(super) fn grant(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        outputs: &mut Vec<Output>,
    ) {
        if transaction.node() == self.home.node {
            let psn = self.table.version(page);
            self.home.grant(transaction, page, psn, None, outputs);
        } else {
            self.grant_remote(transaction, page, None, outputs);
        }
    }

    pub(super) fn grant_remote(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        authorisation: Option<u64>,
        outputs: &mut Vec<Output>,
    ) {
        let psn = self.table.version(page);
        let due = DueGrant { psn, authorisation };
        let cached = self.cached.remove(&(transaction, page)).flatten();
        if cached == Some(psn) {
            self.send_grant(transaction, page, due, PageSource::Copy, outputs);
        } else if self.force() {
            self.send_grant(transaction, page, due, PageSource::Storage, outputs);
        } else {
            self.due.insert((transaction, page), due);
            outputs.push(Output::Supply { page, transaction });
        }
    }

    pub(super) fn send_grant(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        due: DueGrant,
        source: PageSource,
        outputs: &mut Vec<Output>,
    ) {
        let grant = Message::Grant {
            transaction,
            page,
            psn: due.psn,
            source,
            stored: self.table.is_stored(page),
            authorisation: due.authorisation,
        };
        self.home.send(transaction.node(), grant, outputs);
    }

    /// Frees the locks that an ended transaction has in this node's table.
    pub(super) fn release(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        pending: &[(PageId, LockMode)],
        outputs: &mut Vec<Output>,
    ) {
        let mut woken = Woken::new();
        for &(page, _) in pending {
            self.cached.remove(&(transaction, page));
        }
        let stored = self.force() || self.options.stored_at_commit;
        self.table
            .release(transaction, outcome, stored, pending, &mut woken);
        self.wake(woken, outputs);
    }

    pub(super) fn wake(&mut self, woken: Woken, outputs: &mut Vec<Output>) {
        for (transaction, page) in woken {
            self.grant(transaction, page, outputs);
        }
    }

    /// Takes back a victim's request, if it still waits.
    pub(super) fn cancel(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        outputs: &mut Vec<Output>,
    ) {
        let mut woken = Woken::new();
        if self.table.cancel(transaction, page, &mut woken) {
            self.cached.remove(&(transaction, page));
            if transaction.node() == self.home.node {
                self.home.lose(transaction, page, outputs);
            } else {
                let message = Message::Victim { transaction, page };
                self.home.send(transaction.node(), message, outputs);
            }
        }
        self.wake(woken, outputs);
    }
}
