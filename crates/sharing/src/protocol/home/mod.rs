//! The common part of both protocols for the transactions of their own node. It has the locks that they hold or want,
//! and the node's read authorisations. For a transaction that has a page's lock it has the page's source.
//!
//! A grant names the page's newest version and the node that may have it in its buffer only (the *supplier*). If the
//! transaction's own node had that version when the lock was requested, it has it now ([`PageSource::Copy`]). The
//! shell kept it there, and a node needed the lock to make a newer one. Otherwise the supplier gets a message. If it
//! does not have the page any more, a write has reached storage: a modified copy leaves a buffer in no other way. So
//! "missing" means "on storage", and no entry needs to be read again.
//!
//! If the lock was waited for, another transaction of the same node may have brought the newest
//! version meanwhile; so the own buffer is asked first, which costs nothing.

mod authorisation;
mod hand_over;

pub(crate) use authorisation::Authorisation;
pub(crate) use hand_over::{HandOver, Pending};

use super::{Counters, LockMode, Message, NodeId, Output, PageId, PageSource, Psn, TransactionId};
use sardonyx_base::hash::{IntegerMap, IntegerSet};
use smallvec::SmallVec;

/// The progress of a transaction's lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockState {
    /// Asked for, no answer yet.
    Requested,
    /// Waits for another transaction.
    Waiting,
    /// Has the lock; the own buffer is asked for the page.
    Looking,
    /// Has the lock; the supplier is asked for the page.
    Fetching,
    /// Has the lock and was notified.
    Granted,
}

impl LockState {
    /// True if the lock is not granted yet.
    pub(crate) fn is_pending(self) -> bool {
        matches!(self, LockState::Requested | LockState::Waiting)
    }
}

/// A lock that a transaction of this node holds or wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    /// The mode held or wanted.
    pub mode: LockMode,
    pub state: LockState,
    /// The version in the buffer when the lock was requested.
    pub cached: Option<Psn>,
    /// The newest version, once it is known.
    pub psn: Psn,
    /// Another node that may have that version in its buffer only.
    pub supplier: Option<NodeId>,
    /// Held under the node's read authorisation, so unknown to the lock table.
    pub authorised: bool,
    /// Held for reading while it is wanted for writing.
    pub converts: bool,
}

/// The locks of an ended transaction.
pub(crate) type Ended = Vec<(PageId, Lock)>;

/// The state of a lock request before any lock table is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// It has been answered.
    Done,
    /// The lock table has to be asked.
    Open,
}

/// The transactions of one node.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub node: NodeId,
    pub counters: Counters,
    locks: IntegerMap<(TransactionId, PageId), Lock>,
    /// By transaction: its pages in order of their first request.
    pages: IntegerMap<TransactionId, SmallVec<[PageId; 4]>>,
    /// To be used again.
    spare_ended: Ended,
    authorisations: IntegerMap<PageId, Authorisation>,
    /// Nodes that have failed and are not recovered.
    pub failed: IntegerSet<NodeId>,
}

impl Home {
    pub fn new(node: NodeId) -> Self {
        Home {
            node,
            counters: Counters::default(),
            locks: IntegerMap::default(),
            pages: IntegerMap::default(),
            spare_ended: Ended::new(),
            authorisations: IntegerMap::default(),
            failed: IntegerSet::default(),
        }
    }

    pub fn send(&mut self, to: NodeId, message: Message, outputs: &mut Vec<Output>) {
        if message.is_long() {
            self.counters.long_messages += 1;
        } else {
            self.counters.short_messages += 1;
        }
        outputs.push(Output::Send { to, message });
    }

    /// Takes a lock request, and answers it if the lock is held already or the node is authorised;
    /// unless `authorised`, only if others read under the authorisation already.
    #[inline]
    pub fn ask(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        cached: Option<Psn>,
        authorised: bool,
        outputs: &mut Vec<Output>,
    ) -> Asked {
        self.counters.lock_requests += 1;
        let mut is_new = false;
        let lock = self.locks.entry((transaction, page)).or_insert_with(|| {
            is_new = true;
            Lock {
                mode,
                state: LockState::Requested,
                cached,
                psn: Psn::default(),
                supplier: None,
                authorised: false,
                converts: false,
            }
        });
        if !is_new {
            assert!(
                lock.state == LockState::Granted,
                "{transaction:?} asks for {page:?} while an earlier request for it is open"
            );
            lock.cached = cached;
            if lock.mode >= mode {
                self.counters.already_held += 1;
                self.locate(transaction, page, outputs);
                return Asked::Done;
            }
            lock.mode = mode;
            lock.converts = true;
            lock.state = LockState::Requested;
            return Asked::Open;
        }
        self.pages.entry(transaction).or_default().push(page);
        // A transaction that must not use an authorisation may join those that do.
        let usable = authorised || !self.is_unused(page, None);
        if mode == LockMode::Read && usable && self.read_authorised(transaction, page, outputs) {
            self.counters.authorised += 1;
            return Asked::Done;
        }
        Asked::Open
    }

    /// The transaction has the lock (in a lock table or under the authorisation). Nothing happens if it was notified
    /// already or has ended.
    #[inline]
    pub fn grant(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        psn: Psn,
        supplier: Option<NodeId>,
        outputs: &mut Vec<Output>,
    ) {
        let Some(lock) = self.locks.get_mut(&(transaction, page)) else {
            return;
        };
        if !lock.state.is_pending() {
            return;
        }
        let waited = lock.state == LockState::Waiting;
        lock.converts = false;
        lock.psn = psn;
        lock.supplier = supplier.filter(|&supplier| supplier != self.node);
        if waited && lock.cached != Some(psn) {
            lock.state = LockState::Looking;
            outputs.push(Output::Supply { page, transaction });
        } else if let Some(supplier) = find(lock, (transaction, page), &mut self.counters, outputs)
        {
            self.fetch(transaction, page, supplier, outputs);
        }
    }

    /// The transaction has the lock, and the page came with it.
    pub fn grant_with_page(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        psn: Psn,
        supplier: Option<NodeId>,
        outputs: &mut Vec<Output>,
    ) {
        let Some(lock) = self.locks.get_mut(&(transaction, page)) else {
            return;
        };
        if lock.state.is_pending() {
            lock.converts = false;
            lock.psn = psn;
            lock.supplier = supplier;
            self.counters.invalidations += u64::from(lock.cached.is_some());
            self.tell(transaction, page, PageSource::Message, outputs);
        }
    }

    /// Answers another node's request for a page: in this version, or not in the buffer any more.
    pub fn supply(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        copy: Option<Psn>,
        outputs: &mut Vec<Output>,
    ) {
        let message = match copy {
            Some(psn) => Message::Page {
                transaction,
                page,
                psn,
            },
            None => Message::PageMissing { transaction, page },
        };
        self.send(transaction.node(), message, outputs);
    }

    /// The own buffer has this version: go on with a transaction that looks for it.
    pub fn looked(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        copy: Option<Psn>,
        outputs: &mut Vec<Output>,
    ) {
        let Some(lock) = self.locks.get_mut(&(transaction, page)) else {
            return;
        };
        if lock.state == LockState::Looking {
            lock.cached = copy;
            self.locate(transaction, page, outputs);
        }
    }

    /// Finds the page for a transaction that has the lock.
    pub fn locate(&mut self, transaction: TransactionId, page: PageId, outputs: &mut Vec<Output>) {
        let Some(lock) = self.locks.get_mut(&(transaction, page)) else {
            return;
        };
        if let Some(supplier) = find(lock, (transaction, page), &mut self.counters, outputs) {
            self.fetch(transaction, page, supplier, outputs);
        }
    }

    /// Asks the node that may have it for a page, which a transaction awaits from now on.
    fn fetch(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        supplier: NodeId,
        outputs: &mut Vec<Output>,
    ) {
        // If it has failed its recovery brings the page to storage, and has it looked for again. If it is this node,
        // which has got the authority for the page, the part goes on later (`resume`).
        if supplier != self.node && !self.failed.contains(&supplier) {
            self.counters.page_requests += 1;
            let message = Message::PageRequest { transaction, page };
            self.send(supplier, message, outputs);
        }
    }

    /// The supplier's answer: the page in this version from there, or that it is missing. Returns
    /// whether the transaction takes the page.
    pub fn fetched(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        found: Option<(Psn, PageSource)>,
        outputs: &mut Vec<Output>,
    ) -> bool {
        let Some(lock) = self.locks.get_mut(&(transaction, page)) else {
            return false;
        };
        if lock.state != LockState::Fetching {
            return false;
        }
        if let Some((psn, source)) = found
            && psn == lock.psn
        {
            self.tell(transaction, page, source, outputs);
            return true;
        }
        lock.supplier = None;
        if let Some(authorisation) = self.authorisations.get_mut(&page)
            && authorisation.psn == lock.psn
        {
            authorisation.supplier = None;
        }
        self.counters.page_misses += 1;
        self.tell(transaction, page, PageSource::Storage, outputs);
        false
    }

    /// Tells the shell that the lock is granted.
    pub fn tell(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        source: PageSource,
        outputs: &mut Vec<Output>,
    ) {
        if let Some(lock) = self.locks.get_mut(&(transaction, page)) {
            tell(lock, (transaction, page), source, outputs);
        }
    }

    /// The request has to wait; the shell is notified unless the grant has overtaken the news.
    pub fn wait(&mut self, transaction: TransactionId, page: PageId, outputs: &mut Vec<Output>) {
        if let Some(lock) = self.locks.get_mut(&(transaction, page))
            && lock.state == LockState::Requested
        {
            lock.state = LockState::Waiting;
            outputs.push(Output::Waiting { transaction, page });
        }
    }

    /// Takes the pending request back, as a deadlock's victim. The transaction's earlier locks stay.
    pub fn lose(&mut self, transaction: TransactionId, page: PageId, outputs: &mut Vec<Output>) {
        let Some(lock) = self.locks.get_mut(&(transaction, page)) else {
            return;
        };
        if !lock.state.is_pending() {
            return;
        }
        if lock.converts {
            lock.converts = false;
            lock.mode = LockMode::Read;
            lock.state = LockState::Granted;
        } else {
            self.locks.remove(&(transaction, page));
            if let Some(pages) = self.pages.get_mut(&transaction) {
                pages.retain(|other| *other != page);
            }
        }
        self.counters.deadlocks += 1;
        outputs.push(Output::Victim { transaction });
    }

    /// A transaction's lock.
    pub fn lock(&self, transaction: TransactionId, page: PageId) -> Option<&Lock> {
        self.locks.get(&(transaction, page))
    }

    /// The pages whose locks a transaction wants and has not.
    pub fn awaited(&self, transaction: TransactionId) -> SmallVec<[PageId; 2]> {
        let pages = self.pages.get(&transaction).into_iter().flatten();
        let pending = |page: &&PageId| self.locks[&(transaction, **page)].state.is_pending();
        pages.filter(pending).copied().collect()
    }

    /// Forgets a transaction; returns what it had, in order of its requests.
    #[inline]
    pub fn end(&mut self, transaction: TransactionId) -> Ended {
        let mut ended = std::mem::take(&mut self.spare_ended);
        for page in self.pages.remove(&transaction).unwrap_or_default() {
            if let Some(lock) = self.locks.remove(&(transaction, page)) {
                if lock.authorised {
                    self.stop_reading(transaction, page);
                }
                ended.push((page, lock));
            }
        }
        ended
    }

    /// Takes the result of [`Home::end`] back, when it is not needed any more.
    pub fn take_back(&mut self, mut ended: Ended) {
        ended.clear();
        self.spare_ended = ended;
    }

    /// A failed node is recovered: what only it had is on storage. Returns the locks, in a fixed
    /// order, whose grant or page may have been lost with it.
    pub fn recovered(&mut self, node: NodeId) -> Vec<(TransactionId, PageId)> {
        self.failed.remove(&node);
        for authorisation in self.authorisations.values_mut() {
            authorisation.supplier = authorisation.supplier.filter(|&supplier| supplier != node);
        }
        let mut stranded = Vec::new();
        for (&key, lock) in &mut self.locks {
            let asked = lock.state == LockState::Fetching && lock.supplier == Some(node);
            if asked || lock.state.is_pending() {
                stranded.push(key);
            }
            lock.supplier = lock.supplier.filter(|&supplier| supplier != node);
        }
        stranded.sort_unstable();
        stranded
    }

    /// The place of version `psn` in the entry after a recovery: an answer that was under way when the recovery
    /// ended may have named the failed node.
    pub fn refresh(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        psn: Psn,
        owner: Option<NodeId>,
        outputs: &mut Vec<Output>,
    ) {
        let supplier = owner.filter(|&owner| owner != self.node);
        if let Some(authorisation) = self.authorisations.get_mut(&page)
            && authorisation.psn == psn
        {
            authorisation.supplier = supplier;
        }
        let Some(lock) = self.locks.get_mut(&(transaction, page)) else {
            return;
        };
        if lock.state.is_pending() || lock.psn != psn {
            return;
        }
        lock.supplier = supplier;
        if lock.state == LockState::Fetching && supplier.is_none() {
            self.tell(transaction, page, PageSource::Storage, outputs);
        }
    }

    /// True if no transaction holds or wants a lock here.
    pub fn is_idle(&self) -> bool {
        self.locks.is_empty()
    }
}

/// Tells the shell that the lock is granted.
#[inline]
fn tell(
    lock: &mut Lock,
    (transaction, page): (TransactionId, PageId),
    source: PageSource,
    outputs: &mut Vec<Output>,
) {
    lock.state = LockState::Granted;
    outputs.push(Output::Granted {
        transaction,
        page,
        mode: lock.mode,
        psn: lock.psn,
        source,
    });
}

/// Tells the shell where the page is, if that is here or on storage; else the node that may have it, which is to be
/// asked.
#[inline]
fn find(
    lock: &mut Lock,
    of: (TransactionId, PageId),
    counters: &mut Counters,
    outputs: &mut Vec<Output>,
) -> Option<NodeId> {
    if lock.cached == Some(lock.psn) {
        tell(lock, of, PageSource::Copy, outputs);
        return None;
    }
    counters.invalidations += u64::from(lock.cached.is_some());
    match lock.supplier {
        Some(_) => lock.state = LockState::Fetching,
        None => tell(lock, of, PageSource::Storage, outputs),
    }
    lock.supplier
}
