//! Read authorisations, as the node that has them sees it: their readers, their use, and their return.
//!
//! The lock table has one read lock of the node instead of its readers'. So an authorisation is given up exactly once,
//! and only when its only reader is the transaction whose request gives it up. That request brings its read lock into
//! the table.

use super::Home;
use crate::protocol::probe::Step;
use crate::protocol::{NodeId, Output, PageId, Psn, TransactionId};
use smallvec::SmallVec;

/// The right of a node to grant read locks on a page itself.
#[derive(Clone, Debug)]
pub(crate) struct Authorisation {
    pub number: u64,
    pub psn: Psn,
    pub supplier: Option<NodeId>,
    /// This node's transactions that read under it.
    pub readers: SmallVec<[TransactionId; 2]>,
    /// It is to be given up as soon as it has no reader.
    pub revoked: bool,
}

impl Home {
    /// Grants a read request under the node's authorisation, if there is one that is not revoked.
    pub fn read_authorised(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        outputs: &mut Vec<Output>,
    ) -> bool {
        let Some(authorisation) = self.authorisations.get_mut(&page) else {
            return false;
        };
        if authorisation.revoked {
            return false;
        }
        let (psn, supplier) = (authorisation.psn, authorisation.supplier);
        if let Some(lock) = self.locks.get_mut(&(transaction, page)) {
            authorisation.readers.push(transaction);
            lock.authorised = true;
            self.grant(transaction, page, psn, supplier, outputs);
        }
        true
    }

    /// Takes an authorisation. The transaction whose request brought it, if it is still there,
    /// reads under it.
    pub fn authorise(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        authorisation: Authorisation,
    ) {
        self.counters.authorisations += 1;
        self.authorisations.insert(page, authorisation);
        if let Some(lock) = self.locks.get_mut(&(transaction, page))
            && let Some(authorisation) = self.authorisations.get_mut(&page)
        {
            lock.authorised = true;
            authorisation.readers.push(transaction);
        }
    }

    /// The node's authorisation for a page.
    pub fn authorisation(&self, page: PageId) -> Option<&Authorisation> {
        self.authorisations.get(&page)
    }

    /// The readers under the node's authorisation, as steps of a search.
    pub fn readers(&self, page: PageId) -> impl Iterator<Item = Step> {
        let authorisation = self.authorisations.get(&page).into_iter();
        let readers = authorisation.flat_map(|authorisation| &authorisation.readers);
        readers.map(|&reader| Step::Transaction(reader))
    }

    /// Grants no further lock under the authorisation, if there is one. Returns whether there is.
    pub fn revoke(&mut self, page: PageId) -> bool {
        let authorisation = self.authorisations.get_mut(&page);
        authorisation
            .map(|authorisation| authorisation.revoked = true)
            .is_some()
    }

    /// The transaction's read lock is in the lock table now, or released: it reads under the
    /// authorisation no more.
    pub fn stop_reading(&mut self, transaction: TransactionId, page: PageId) {
        if let Some(authorisation) = self.authorisations.get_mut(&page) {
            authorisation
                .readers
                .retain(|reader| *reader != transaction);
        }
        if let Some(lock) = self.locks.get_mut(&(transaction, page)) {
            lock.authorised = false;
        }
    }

    /// True if an authorisation has no reader (but `besides`).
    pub fn is_unused(&self, page: PageId, besides: Option<TransactionId>) -> bool {
        self.authorisations.get(&page).is_some_and(|authorisation| {
            authorisation
                .readers
                .iter()
                .all(|reader| Some(*reader) == besides)
        })
    }

    /// True if the authorisation is revoked and has no reader any more.
    pub fn may_give_up(&self, page: PageId) -> bool {
        self.is_unused(page, None) && self.authorisations[&page].revoked
    }

    /// Ends the authorisation.
    pub fn give_up(&mut self, page: PageId) {
        if self.authorisations.remove(&page).is_some() {
            self.counters.revocations += 1;
        }
    }
}
