//! The part of the lock table for which one node has the authority: its pages' locks and versions.
//!
//! A read authorisation is a read lock that another node holds. So writers wait for it in line with all others,
//! without starvation. Pages without locks cost only their version's number, and nothing if they were never modified.

use crate::protocol::entry::LockOwner;
use crate::protocol::message::Declared;
use crate::protocol::mode::{PAGE_LOCKS, writes};
use crate::protocol::{LockMode, NodeId, Outcome, PageId, Psn, TransactionId};
use sardonyx_base::hash::{IntegerMap, IntegerSet};
use sardonyx_lock::{Answer, LockQueue};
use smallvec::SmallVec;

/// Transactions that have what they waited for, and on what.
pub(super) type Woken = SmallVec<[(TransactionId, PageId); 4]>;

/// A node that grants read locks on a page itself.
#[derive(Clone, Copy, Debug)]
struct Authorised {
    node: NodeId,
    number: u64,
    /// The transaction whose request brought it.
    first: TransactionId,
}

/// One page's locks.
#[derive(Clone, Debug, Default)]
struct Locks {
    queue: LockQueue<LockOwner>,
    authorised: SmallVec<[Authorised; 1]>,
    /// True if they have been asked to give them up.
    revoking: bool,
}

impl Locks {
    /// The holders and waiters; an owner that is both, twice.
    fn owners(&self) -> impl Iterator<Item = LockOwner> {
        let holders = self.queue.holders().iter().map(|holder| holder.owner);
        let waiters = self.queue.waiters().iter().map(|waiter| waiter.owner);
        holders.chain(waiters)
    }
}

/// Collects granted owners; only transactions ever wait.
struct Collector<'a>(PageId, &'a mut Woken);

impl Extend<LockOwner> for Collector<'_> {
    fn extend<I: IntoIterator<Item = LockOwner>>(&mut self, owners: I) {
        let page = self.0;
        self.1
            .extend(owners.into_iter().filter_map(|owner| match owner {
                LockOwner::Transaction(transaction) => Some((transaction, page)),
                LockOwner::Node(_) => None,
            }));
    }
}

/// One node's part of the lock table.
#[derive(Clone, Debug, Default)]
pub(super) struct AuthorityTable {
    locks: IntegerMap<PageId, Locks>,
    /// The newest committed version of each page that has been modified.
    versions: IntegerMap<PageId, Psn>,
    /// Pages whose newest version is not on storage (NOFORCE).
    unwritten: IntegerSet<PageId>,
    /// By transaction: the pages that it holds or awaits here.
    pages: IntegerMap<TransactionId, SmallVec<[PageId; 4]>>,
    /// Requests that their transaction's release has overtaken: to be ignored when they come.
    overtaken: IntegerSet<(TransactionId, PageId)>,
    authorisations: u64,
}

impl AuthorityTable {
    /// The page's newest committed version.
    pub fn version(&self, page: PageId) -> Psn {
        self.versions.get(&page).copied().unwrap_or_default()
    }

    /// True if storage has that version.
    pub fn is_stored(&self, page: PageId) -> bool {
        !self.unwritten.contains(&page)
    }

    /// A version has reached storage.
    pub fn stored(&mut self, page: PageId, psn: Psn) {
        if self.version(page) == psn {
            self.unwritten.remove(&page);
        }
    }

    /// True if this request comes after its transaction's end. Forgets it.
    pub fn is_overtaken(&mut self, transaction: TransactionId, page: PageId) -> bool {
        self.overtaken.remove(&(transaction, page))
    }

    /// Asks for a lock.
    pub fn request(&mut self, transaction: TransactionId, page: PageId, mode: LockMode) -> Answer {
        let queue = self.queue_of(transaction, page);
        queue.request(
            &PAGE_LOCKS,
            LockOwner::Transaction(transaction),
            mode.mode(),
        )
    }

    /// The nodes to be asked for their authorisations, as a request waits for them. Each is named
    /// once.
    pub fn revoke(&mut self, page: PageId) -> SmallVec<[(NodeId, u64); 2]> {
        match self.locks.get_mut(&page) {
            Some(locks) if !locks.revoking => {
                locks.revoking = !locks.authorised.is_empty();
                let authorised = locks.authorised.iter();
                authorised
                    .map(|authorised| (authorised.node, authorised.number))
                    .collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// Gives the transaction's node a read authorisation, if it has none and no transaction waits; returns its number.
    pub fn authorise(&mut self, transaction: TransactionId, page: PageId) -> Option<u64> {
        let node = transaction.node();
        let holds = self.is_authorised(node, page);
        let locks = self.locks.entry(page).or_default();
        let mut answer = Answer::Waiting;
        if !locks.revoking && !holds && locks.queue.waiters().is_empty() {
            let owner = LockOwner::Node(node);
            answer = locks
                .queue
                .request(&PAGE_LOCKS, owner, LockMode::Read.mode());
            if answer == Answer::Waiting {
                locks.queue.cancel(&PAGE_LOCKS, owner, &mut Vec::new());
            }
        }
        if answer != Answer::Granted {
            self.forget_if_free(page);
            return None;
        }
        self.authorisations += 1;
        locks.authorised.push(Authorised {
            node,
            number: self.authorisations,
            first: transaction,
        });
        Some(self.authorisations)
    }

    /// True if the node has a read authorisation.
    pub fn is_authorised(&self, node: NodeId, page: PageId) -> bool {
        let locks = self.locks.get(&page);
        locks.is_some_and(|locks| locks.authorised.iter().any(|other| other.node == node))
    }

    pub fn give_up(&mut self, node: NodeId, page: PageId, woken: &mut Woken) {
        let Some(locks) = self.locks.get_mut(&page) else {
            return;
        };
        locks.authorised.retain(|other| other.node != node);
        locks.revoking &= !locks.authorised.is_empty();
        let owner = LockOwner::Node(node);
        locks
            .queue
            .release(&PAGE_LOCKS, owner, &mut Collector(page, woken));
        self.forget_if_free(page);
    }

    /// Takes over the read lock of a transaction that reads under its node's authorisation.
    pub fn adopt(&mut self, transaction: TransactionId, page: PageId) {
        let queue = self.queue_of(transaction, page);
        queue.adopt(
            &PAGE_LOCKS,
            LockOwner::Transaction(transaction),
            LockMode::Read.mode(),
        );
    }

    /// Gives back all that an ended transaction holds or awaits here. If `stored` its new versions
    /// are on storage. `pending` are the requests to which its node has had no answer: those that
    /// have not come yet are void.
    pub fn release(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        stored: bool,
        pending: &[(PageId, LockMode)],
        woken: &mut Woken,
    ) {
        for &(page, mode) in pending {
            if !self.has_come(transaction, page, mode) {
                self.overtaken.insert((transaction, page));
            }
        }
        for page in self.pages.remove(&transaction).unwrap_or_default() {
            let Some(locks) = self.locks.get_mut(&page) else {
                continue;
            };
            let owner = LockOwner::Transaction(transaction);
            let held = locks
                .queue
                .release(&PAGE_LOCKS, owner, &mut Collector(page, woken));
            if outcome == Outcome::Committed && writes(held) {
                let version = self.version(page).next();
                self.versions.insert(page, version);
                if !stored {
                    self.unwritten.insert(page);
                }
            }
            self.forget_if_free(page);
        }
    }

    /// True if the request has reached this table.
    fn has_come(&self, transaction: TransactionId, page: PageId, mode: LockMode) -> bool {
        let owner = LockOwner::Transaction(transaction);
        self.locks.get(&page).is_some_and(|locks| {
            let mut first = locks.authorised.iter().map(|authorised| authorised.first);
            PAGE_LOCKS.covers(locks.queue.held(owner), mode.mode())
                || !locks.queue.awaited(owner).is_empty()
                || mode == LockMode::Read && first.any(|first| first == transaction)
        })
    }

    /// Takes back a victim's waiting request. Returns whether it waited.
    pub fn cancel(&mut self, transaction: TransactionId, page: PageId, woken: &mut Woken) -> bool {
        let Some(locks) = self.locks.get_mut(&page) else {
            return false;
        };
        let owner = LockOwner::Transaction(transaction);
        let waited = locks
            .queue
            .cancel(&PAGE_LOCKS, owner, &mut Collector(page, woken));
        if waited
            && locks.queue.held(owner).is_empty()
            && let Some(pages) = self.pages.get_mut(&transaction)
        {
            pages.retain(|other| *other != page);
            if pages.is_empty() {
                self.pages.remove(&transaction);
            }
        }
        self.forget_if_free(page);
        waited
    }

    /// The holders for whom the transaction waits at this page.
    pub fn blockers(&self, transaction: TransactionId, page: PageId) -> SmallVec<[LockOwner; 4]> {
        let owner = LockOwner::Transaction(transaction);
        let locks = self.locks.get(&page);
        locks.map_or_else(SmallVec::new, |locks| {
            locks.queue.blocking_holders(&PAGE_LOCKS, owner)
        })
    }

    /// Forgets all of these pages: another node has the authority for them.
    pub fn forget(&mut self, is_gone: impl Fn(PageId) -> bool) {
        self.locks.retain(|&page, _| !is_gone(page));
        self.versions.retain(|&page, _| !is_gone(page));
        self.unwritten.retain(|&page| !is_gone(page));
        self.overtaken.retain(|&(_, page)| !is_gone(page));
        self.pages.retain(|_, pages| {
            pages.retain(|page| !is_gone(*page));
            !pages.is_empty()
        });
    }

    /// Storage has this version, the newest, of a page of which nothing was known.
    pub fn learn(&mut self, page: PageId, psn: Psn) {
        self.versions.insert(page, psn);
    }

    /// Takes over a lock that was held under another authority; so its version is the newest, and on storage. Two that
    /// exclude each other cannot have been held: if nodes declare such, one of them errs, and the second is not taken.
    /// The storage then refuses the writes of that node, as their version is no longer the next.
    pub fn declared(&mut self, lock: &Declared) {
        let Declared {
            transaction,
            page,
            mode,
            psn,
        } = *lock;
        let queue = self.queue_of(transaction, page);
        let owner = LockOwner::Transaction(transaction);
        // The queue is still empty of waiters.
        if queue.try_request(&PAGE_LOCKS, owner, mode.mode()).is_some() {
            self.versions.insert(page, psn);
            return;
        }
        tracing::error!(
            ?transaction,
            page = page.0,
            "two nodes declare locks that exclude each other"
        );
        if let Some(pages) = self.pages.get_mut(&transaction) {
            pages.retain(|other| *other != page);
            if pages.is_empty() {
                self.pages.remove(&transaction);
            }
        }
    }

    /// The pages on which a node, or one of its transactions, holds or awaits anything, in order.
    pub fn pages_of(&self, node: NodeId) -> Vec<PageId> {
        let is_of = |locks: &Locks| locks.owners().any(|owner| owner.node() == node);
        let locks = self.locks.iter().filter(|(_, locks)| is_of(locks));
        let mut pages: Vec<PageId> = locks.map(|(&page, _)| page).collect();
        pages.sort_unstable();
        pages
    }

    /// True if a transaction of the node may change the page.
    pub fn is_write_locked_by(&self, node: NodeId, page: PageId) -> bool {
        let holders = self.locks.get(&page).map(|locks| locks.queue.holders());
        let mut holders = holders.into_iter().flatten();
        holders.any(|holder| holder.owner.node() == node && writes(holder.modes))
    }

    /// Storage has this version of a page that a failed node had locked for writing, and none is newer but the one
    /// known here.
    pub fn on_storage(&mut self, page: PageId, psn: Psn) {
        if psn >= self.version(page) {
            self.versions.insert(page, psn);
            self.unwritten.remove(&page);
        }
    }

    /// Frees a page from a failed node and its transactions.
    pub fn free(&mut self, page: PageId, node: NodeId, woken: &mut Woken) {
        let Some(locks) = self.locks.get_mut(&page) else {
            return;
        };
        locks.authorised.retain(|other| other.node != node);
        locks.revoking &= !locks.authorised.is_empty();
        let owners: SmallVec<[LockOwner; 4]> = locks
            .owners()
            .filter(|owner| owner.node() == node)
            .collect();
        for owner in owners {
            locks
                .queue
                .release(&PAGE_LOCKS, owner, &mut Collector(page, woken));
            if let LockOwner::Transaction(transaction) = owner
                && let Some(pages) = self.pages.get_mut(&transaction)
            {
                pages.retain(|other| *other != page);
                if pages.is_empty() {
                    self.pages.remove(&transaction);
                }
            }
        }
        self.overtaken
            .retain(|(transaction, _)| transaction.node() != node);
        woken.retain(|(transaction, _)| transaction.node() != node);
        self.forget_if_free(page);
    }

    /// True if no transaction holds or awaits anything here.
    pub fn is_idle(&self) -> bool {
        self.pages.is_empty()
    }

    /// The page's queue, with the page listed for the transaction.
    fn queue_of(&mut self, transaction: TransactionId, page: PageId) -> &mut LockQueue<LockOwner> {
        let queue = &mut self.locks.entry(page).or_default().queue;
        let owner = LockOwner::Transaction(transaction);
        if queue.held(owner).is_empty() && queue.awaited(owner).is_empty() {
            self.pages.entry(transaction).or_default().push(page);
        }
        queue
    }

    fn forget_if_free(&mut self, page: PageId) {
        if self
            .locks
            .get(&page)
            .is_some_and(|locks| locks.queue.is_free())
        {
            self.locks.remove(&page);
        }
    }
}
