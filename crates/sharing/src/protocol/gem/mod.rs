//! GEM locking: concurrency and coherency control by a global lock table in shared memory
//! (GEM paper, sections 2 and 3.2).
//!
//! Every lock request and release of a node is an operation on the page's [`Entry`]. It reads the entry (one access),
//! changes it in main memory, and writes it back by Compare&Swap (one access); if another node was faster, again. A
//! node does one operation at a time on an entry, in order of arrival. So a release is never before its request, and
//! each operation knows the results of the one before.
//!
//! *Concurrency.* The node that releases a lock grants it to the waiting ones, in the same swap. A woken transaction of
//! its own node is notified directly, one of another node by a short message.
//!
//! *Coherency.* The entry's PSN tells at the grant whether the node's copy is the newest. With FORCE the newest is
//! always on storage. With NOFORCE the node that modified the page last is its owner. Others request it by a message,
//! and it sends the page in a long one. Or it sends it across GEM: it writes the page there and announces that by a
//! short one ([`PageTransfer`]). When the owner has written the page out, it adapts the entry. A node that requests the
//! page in between, and gets none from the owner's buffer, reads it from storage.
//!
//! *Replacement.* Before a node writes a page out it marks the entry as being written. So no other node, which has
//! modified the page since, writes at the same time: the slower one, with the older version, might come last. A node
//! that finds the mark notes itself in the entry, and is notified when the write is done.
//!
//! Mark and end of a write are two changes of the entry, four accesses. With *remembered entries* they are two: a node
//! keeps an entry that it has written as long as it owns the page. It swaps on that copy's version without reading GEM
//! again. The swap succeeds only if the entry has not changed since, and then a read would have given the copy. So
//! every entry goes through the same states in the same order, and the protection of storage is the same. If it fails
//! the entry is read, as after any failed swap.
//!
//! *Read authorisation* (an option; the GEM paper's refinement of section 2). When a read lock is granted and no
//! transaction waits, the node instead of the transaction becomes its holder. It grants further read locks on the page
//! itself, with no access to GEM: its copy of the page cannot become invalid meanwhile. A writer waits for such a node
//! as for any reader. It asks the node once, which then grants no more, and releases the lock when its last reader has
//! ended.
//!
//! *Failure of a node.* Its locks and its ownership stay in the entries, and keep others from what only its log knows.
//! A survivor reads the log and goes over all entries: it marks one as being written, brings the newest version to
//! storage, and then frees what the failed node held. The recovery sends the notifications again that the node may have
//! owed after a change of the entry. After it, every survivor looks after its waiting transactions. The failed node
//! never comes back under its old [`NodeId`]: late messages and entries still name that one.
//!
//! [`Entry`]: super::Entry

mod access;
mod operation;
mod search;
mod synchronous;
mod works;

use super::home::{Asked, Home};
use super::probe::Probe;
use super::{
    Counters, Entry, ForeignMessage, Input, Message, NodeId, Outcome, Output, PageId, PageSource,
    PageTransfer, Protocol, Psn, TransactionId, UpdateStrategy,
};
use operation::{Effects, Operation};
use sardonyx_base::hash::IntegerMap;
use smallvec::SmallVec;
use std::collections::VecDeque;
use works::Works;

/// The options of GEM locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GemOptions {
    /// When modified pages reach storage.
    pub update: UpdateStrategy,
    /// True if nodes are authorised to grant read locks themselves.
    pub read_authorisation: bool,
    /// The way of a page from its owner to another node.
    pub page_transfer: PageTransfer,
    /// True if a node keeps the entries of its own pages in main memory, and writes a page back without reading its
    /// entry from GEM.
    pub remembered_entries: bool,
}

/// One node's machine for GEM locking.
#[derive(Clone, Debug)]
pub struct GemLocking {
    options: GemOptions,
    home: Home,
    work: Works,
    /// The shell answers accesses at once, and these operations are to be done.
    synchronous: bool,
    arrived: VecDeque<(PageId, Operation)>,
    /// The entry at work, to be used again: then.
    spare_entry: Option<Box<Entry>>,
    /// The effects of an operation, to be used again: they are large, and each entry at work has some.
    #[allow(clippy::vec_box, reason = "they go from here to the works and back")]
    spare_effects: Vec<Box<Effects>>,
    /// Ended transactions, with the number of entries still to be released.
    ending: Vec<(TransactionId, usize)>,
    /// Entries of pages that this node owned when it last changed them, as it wrote them.
    remembered: IntegerMap<PageId, Entry>,
    /// Versions whose write-back waits for another node's.
    replacing: IntegerMap<PageId, Psn>,
    /// Pages whose recovery waits for another write, with the failed nodes.
    recovering: IntegerMap<PageId, SmallVec<[NodeId; 1]>>,
}

impl Protocol for GemLocking {
    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) -> Result<(), ForeignMessage> {
        match input {
            Input::Lock {
                transaction,
                page,
                mode,
                cached,
            } => {
                if self
                    .home
                    .ask(transaction, page, mode, cached, true, outputs)
                    == Asked::Open
                {
                    self.home.counters.global += 1;
                    self.enqueue(page, Operation::Request(transaction, mode), outputs);
                }
            }
            Input::End {
                transaction,
                outcome,
            } => self.end(transaction, outcome, outputs),
            Input::Message { from, message, .. } => return self.message(from, message, outputs),
            Input::EntryRead { page, entry } => self.entry_read(page, entry, outputs),
            Input::EntrySwapped { page, swapped } => self.entry_swapped(page, swapped, outputs),
            Input::Supplied {
                page,
                transaction,
                copy,
            } => self.supplied(page, transaction, copy, outputs),
            Input::PagePut {
                page,
                psn,
                transaction,
            } => {
                let message = Message::PageInGem {
                    transaction,
                    page,
                    psn,
                };
                self.home.send(transaction.node(), message, outputs);
            }
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
            // No node has an authority.
            Input::Assigned(_) | Input::PartRecovered { .. } => {}
        }
        Ok(())
    }

    fn counters(&self) -> &Counters {
        &self.home.counters
    }

    fn is_idle(&self) -> bool {
        self.home.is_idle()
            && self.work.is_empty()
            && self.arrived.is_empty()
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
            work: Works::default(),
            synchronous: false,
            arrived: VecDeque::new(),
            spare_entry: None,
            spare_effects: Vec::new(),
            remembered: IntegerMap::default(),
            ending: Vec::new(),
            replacing: IntegerMap::default(),
            recovering: IntegerMap::default(),
        }
    }

    fn end(&mut self, transaction: TransactionId, outcome: Outcome, outputs: &mut Vec<Output>) {
        let mut entries = 0;
        let mut ended = self.home.end(transaction);
        for (page, lock) in ended.drain(..) {
            // A pending request of an authorised reader may be in the entry already, or be on the
            // way.
            if !lock.authorised || lock.state.is_pending() {
                entries += 1;
                self.enqueue(page, Operation::Release(transaction, outcome), outputs);
            }
            if lock.authorised && self.home.may_give_up(page) {
                self.enqueue(page, Operation::GiveUp, outputs);
            }
        }
        self.home.take_back(ended);
        if entries == 0 {
            outputs.push(Output::Ended { transaction });
        } else {
            self.ending.push((transaction, entries));
        }
    }

    /// The failed node may have granted a lock, or ended a write for which this node waits, and
    /// died before it said so.
    fn node_recovered(&mut self, node: NodeId, outputs: &mut Vec<Output>) {
        // An entry on its way may still name the node as the owner of a page.
        self.work.read_again();
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

    fn message(
        &mut self,
        from: NodeId,
        message: Message,
        outputs: &mut Vec<Output>,
    ) -> Result<(), ForeignMessage> {
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
            } => {
                let found = Some((psn, PageSource::Message));
                self.home.fetched(transaction, page, found, outputs);
            }
            Message::PageInGem {
                transaction,
                page,
                psn,
            } => {
                let found = Some((psn, PageSource::Gem(from)));
                if !self.home.fetched(transaction, page, found, outputs) {
                    outputs.push(Output::DropPage {
                        page,
                        transaction,
                        from,
                    });
                }
            }
            Message::PageMissing { transaction, page } => {
                self.home.fetched(transaction, page, None, outputs);
            }
            Message::WriteTurn { page } => self.enqueue(page, Operation::WriteTurn, outputs),
            Message::Revoke { page, .. } => self.enqueue(page, Operation::Revoke, outputs),
            Message::Probe(probe) => self.probe(probe, outputs),
            Message::CancelWait { transaction, page } => {
                self.enqueue(page, Operation::Cancel(transaction), outputs);
            }
            other => {
                return Err(ForeignMessage {
                    from,
                    message: Box::new(other),
                    protocol: "GEM locking",
                });
            }
        }
        Ok(())
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
        match copy {
            Some(psn) if self.options.page_transfer == PageTransfer::Gem => {
                outputs.push(Output::PutPage {
                    page,
                    psn,
                    transaction,
                });
            }
            _ => self.home.supply(transaction, page, copy, outputs),
        }
    }
}
