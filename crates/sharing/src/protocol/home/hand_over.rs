//! The locks and requests of a node's transactions when the lock authority for some pages has moved (primary copy
//! locking). The locks are declared to the new authority, and awaited ones are requested once more.
//!
//! Authorisations end: who read under one has a lock of its own from then on. Authorisations end: a reader under one
//! has a lock of its own from then on. The place of a page that a transaction has locked and not yet got is no longer
//! known. The new authority is asked, and answers when the page is on storage.

use super::{Home, LockState};
use crate::protocol::message::Declared;
use crate::protocol::{LockMode, NodeId, Output, PageId, PageSource, Psn, TransactionId};

/// A request that has had no answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pending {
    pub transaction: TransactionId,
    pub page: PageId,
    pub mode: LockMode,
    pub cached: Option<Psn>,
}

/// All that this node's transactions have and want of pages that have moved, in a fixed order.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandOver {
    pub held: Vec<Declared>,
    pub pending: Vec<Pending>,
    /// The transactions whose pages were requested from the former authority.
    pub fetching: Vec<(TransactionId, PageId)>,
}

impl Home {
    /// The authority for some pages has moved: `to` names the new one.
    pub fn hand_over(&mut self, to: impl Fn(PageId) -> Option<NodeId>) -> HandOver {
        let authorised = self.authorisations.len();
        self.authorisations.retain(|&page, _| to(page).is_none());
        self.counters.revocations += (authorised - self.authorisations.len()) as u64;
        let mut all = HandOver::default();
        for (&(transaction, page), lock) in &mut self.locks {
            let Some(authority) = to(page) else {
                continue;
            };
            lock.authorised = false;
            let is_pending = lock.state.is_pending();
            if is_pending {
                all.pending.push(Pending {
                    transaction,
                    page,
                    mode: lock.mode,
                    cached: lock.cached,
                });
            } else {
                lock.supplier = Some(authority);
            }
            if lock.state == LockState::Fetching {
                all.fetching.push((transaction, page));
            }
            let mode = match is_pending {
                true if lock.converts => LockMode::Read,
                true => continue,
                false => lock.mode,
            };
            all.held.push(Declared {
                transaction,
                page,
                mode,
                psn: lock.psn,
            });
        }
        all.held.sort_unstable();
        all.pending.sort_unstable();
        all.fetching.sort_unstable();
        all
    }

    /// Storage has all pages of a part for which this node has got the authority: who waits for one finds it there.
    pub fn resume(&mut self, in_part: impl Fn(PageId) -> bool, outputs: &mut Vec<Output>) {
        let node = self.node;
        let mut fetching = Vec::new();
        for (&(transaction, page), lock) in &mut self.locks {
            if in_part(page) && lock.supplier == Some(node) {
                lock.supplier = None;
                if lock.state == LockState::Fetching {
                    fetching.push((transaction, page));
                }
            }
        }
        fetching.sort_unstable();
        for (transaction, page) in fetching {
            self.tell(transaction, page, PageSource::Storage, outputs);
        }
    }
}
