//! Primary copy locking: concurrency and coherency control by messages (GEM paper, section 3.2).
//!
//! The database is divided among the nodes. The node with the *authority* for a page has its locks
//! and its version in main memory. Its own transactions lock the page without a message; those of
//! other nodes by a request, a grant and a release. All pages that a transaction has locked at one
//! authority go back by one release.
//!
//! *Coherency.* The request names the version in the sender's buffer, and the grant the newest one. With NOFORCE the
//! authority is also the *owner* of its pages. A modified page returns to it with the release, and goes from it to the
//! next reader with the grant. So no page costs a message of its own. Only the authority writes the page to storage. If
//! its buffer has no copy when a grant is due, then because one has been written: a modified copy stays in the buffer
//! until then. So the grant can say that storage has the newest version.
//!
//! *Order.* Messages may overtake each other. A transaction has ended for its node as soon as its release is sent
//! (unless `acknowledge_release`). Another one of the node may request the page before the release arrives: it waits
//! in line behind the lock that still exists. A release that overtakes a request of its own transaction (ended while
//! it waited) leaves a note that the request is void. The revocation of an authorisation that overtakes its grant is
//! kept for it; they are numbered, so that an old one is not taken for a new one.
//!
//! *Read optimisation* (an option). With a read lock for which no transaction waits, the node may grant further read
//! locks on the page itself until a writer wants it. The authorisation replaces the transaction's lock, so the readers'
//! releases cost no message either. It stays when the page leaves the buffer. With `authorised_without_copy` a reader
//! then still uses it: it gets the page from storage if it was there at the grant, or asks the authority. Otherwise it
//! only joins current readers of its node; if there are none, its request gives the authorisation up and asks for a new
//! one. Such a request waits in line behind the waiting writers.
//!
//! *Loss and moves.* If the authority is an [`Assignment`], parts of it move when nodes join and leave, and the loss
//! of a node is borne: see `moving`. Storage must then be made by redo of all logs ([`crate::redo`]), and no node may
//! write pages. With an authority that is fixed the loss of a node ends the system of machines.

mod authority;
mod granting;
mod moving;
mod search;

use super::home::{Asked, Authorisation, Ended, Home, Pending};
use super::probe::Probe;
use super::{
    Assignment, Counters, Epoch, ForeignMessage, Input, LockMode, Message, NodeId, Outcome, Output,
    PageId, PageSource, Protocol, Psn, TransactionId, UpdateStrategy, Versions,
};
use authority::{AuthorityTable, Woken};
use moving::{Frozen, Kept};
use sardonyx_base::hash::IntegerMap;
use sardonyx_lock::Answer;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

/// The nodes with the authority for pages. Every node must have the same answer: always, or in the same epoch.
pub trait Authority {
    /// It grants all locks on `page`.
    fn of(&self, page: PageId) -> NodeId;

    /// The division of the authority, if it may move.
    fn assignment(&self) -> Option<&Assignment> {
        None
    }

    /// It is divided so from now on. Not called for one that may not move.
    fn assign(&mut self, _assignment: Assignment) {}
}

impl<F: Fn(PageId) -> NodeId> Authority for F {
    fn of(&self, page: PageId) -> NodeId {
        self(page)
    }
}

/// The options of primary copy locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrimaryCopyOptions {
    /// When modified pages reach storage.
    pub update: UpdateStrategy,
    /// True if nodes are authorised to grant read locks themselves.
    pub read_optimisation: bool,
    /// True if a node grants under its authorisation also when its buffer has no copy of the page. If false, a reader
    /// may find neither a copy nor a current reader of its node. Then it gives the authorisation up with its request,
    /// and gets a new one with the grant. So the authorisations that save messages are those of pages in the buffer
    /// (or being read). Authorisations of other pages are not used, but stay until a reader asks again or a writer has
    /// them revoked.
    pub authorised_without_copy: bool,
    /// True if a transaction has ended only when every authority has received its release.
    pub acknowledge_release: bool,
    /// True if storage has a version when its transaction commits, in spite of NOFORCE: a commit is durable at the
    /// place of the pages. Then pages still come with grants, but no copy has to stay, and none is written.
    pub stored_at_commit: bool,
}

/// A grant to another node that waits for the answer whether the own buffer has the page.
#[derive(Clone, Copy, Debug)]
struct DueGrant {
    psn: Psn,
    authorisation: Option<u64>,
}

/// One node's machine for primary copy locking.
#[derive(Clone, Debug)]
pub struct PrimaryCopy<A> {
    options: PrimaryCopyOptions,
    authority: A,
    home: Home,
    table: AuthorityTable,
    /// The versions in the buffers of other nodes whose transactions wait here.
    cached: IntegerMap<(TransactionId, PageId), Option<Psn>>,
    due: IntegerMap<(TransactionId, PageId), DueGrant>,
    /// Ended transactions, with those who have not acknowledged their releases.
    ending: IntegerMap<TransactionId, SmallVec<[NodeId; 2]>>,
    /// Versions that are being written to storage, and those to be written after.
    writing: IntegerMap<PageId, Psn>,
    replacing: IntegerMap<PageId, Psn>,
    /// The latest revocation per page that came before its authorisation.
    early: IntegerMap<PageId, u64>,
    /// Parts that this node has got and that do not go on yet.
    frozen: BTreeMap<u16, Frozen>,
}

impl<A: Authority> Protocol for PrimaryCopy<A> {
    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) -> Result<(), ForeignMessage> {
        match input {
            Input::Lock {
                transaction,
                page,
                mode,
                cached,
            } => {
                let authorised = cached.is_some() || self.options.authorised_without_copy;
                let asked = self
                    .home
                    .ask(transaction, page, mode, cached, authorised, outputs);
                if asked == Asked::Open {
                    let asked = Pending {
                        transaction,
                        page,
                        mode,
                        cached,
                    };
                    self.ask_authority(asked, outputs);
                }
            }
            Input::End {
                transaction,
                outcome,
            } => self.end(transaction, outcome, outputs),
            Input::Message {
                from,
                message,
                sent_in,
            } => return self.message(from, sent_in, message, outputs),
            Input::Supplied {
                page,
                transaction,
                copy,
            } => self.supplied(page, transaction, copy, outputs),
            Input::Replace { page, psn } => self.replace(page, psn, outputs),
            Input::WrittenBack { page, psn } => self.written_back(page, psn, outputs),
            Input::Suspect { transaction } => {
                if !self.home.awaited(transaction).is_empty() {
                    self.probe(Box::new(Probe::new(transaction)), outputs);
                }
            }
            Input::Assigned(view) => self.assigned(&view, outputs),
            Input::PartRecovered {
                part,
                since,
                versions,
            } => return self.part_recovered(part, since, &versions, outputs),
            Input::NodeFailed { node } => self.node_failed(node, outputs),
            Input::NodeRecovered { node } => self.node_recovered(node, outputs),
            Input::PageRecovered { page, node, psn } => {
                self.page_recovered(page, node, psn, outputs);
            }
            // Each authority frees what it has; there is no table beside.
            Input::Recover { page, node } => outputs.push(Output::EntryRecovered { page, node }),
            Input::EntryRead { .. } | Input::EntrySwapped { .. } | Input::PagePut { .. } => {}
        }
        Ok(())
    }

    fn counters(&self) -> &Counters {
        &self.home.counters
    }

    fn is_idle(&self) -> bool {
        self.home.is_idle()
            && self.table.is_idle()
            && self.cached.is_empty()
            && self.due.is_empty()
            && self.ending.is_empty()
            && self.writing.is_empty()
            && self.replacing.is_empty()
            && self.frozen.is_empty()
    }
}

impl<A: Authority> PrimaryCopy<A> {
    /// As they were given.
    pub fn options(&self) -> &PrimaryCopyOptions {
        &self.options
    }

    /// The machine of `node`.
    pub fn new(node: NodeId, authority: A, options: PrimaryCopyOptions) -> Self {
        PrimaryCopy {
            options,
            authority,
            home: Home::new(node),
            table: AuthorityTable::default(),
            cached: IntegerMap::default(),
            due: IntegerMap::default(),
            ending: IntegerMap::default(),
            writing: IntegerMap::default(),
            replacing: IntegerMap::default(),
            early: IntegerMap::default(),
            frozen: BTreeMap::new(),
        }
    }

    fn force(&self) -> bool {
        self.options.update == UpdateStrategy::Force
    }

    fn ask_authority(&mut self, asked: Pending, outputs: &mut Vec<Output>) {
        let Pending {
            transaction,
            page,
            mode,
            cached,
        } = asked;
        let authority = self.authority.of(page);
        if authority == self.home.node {
            if self.keep(page, || Kept::Request(asked)) {
                return self.home.wait(transaction, page, outputs);
            }
            self.home.counters.local += 1;
            return match self.table.request(transaction, page, mode) {
                Answer::Waiting => {
                    self.home.wait(transaction, page, outputs);
                    self.conflict(page, outputs);
                }
                _ => self.grant(transaction, page, outputs),
            };
        }
        self.home.counters.remote += 1;
        let reads = self
            .home
            .lock(transaction, page)
            .is_some_and(|lock| lock.authorised);
        let gives_up = self.home.is_unused(page, Some(transaction));
        if gives_up {
            self.home.stop_reading(transaction, page);
            self.home.give_up(page);
        }
        let request = Message::Request {
            transaction,
            page,
            mode,
            cached,
            reads,
            gives_up,
        };
        self.home.send(authority, request, outputs);
        self.home.wait(transaction, page, outputs);
    }

    fn end(&mut self, transaction: TransactionId, outcome: Outcome, outputs: &mut Vec<Output>) {
        let ended = self.home.end(transaction);
        let mut authorities = SmallVec::<[NodeId; 4]>::new();
        for (page, lock) in &ended {
            if lock.authorised {
                self.give_up_if_due(*page, outputs);
            }
            let authority = self.authority.of(*page);
            let known_there = !lock.authorised || lock.state.is_pending();
            if known_there && !authorities.contains(&authority) {
                authorities.push(authority);
            }
        }
        let mut unacknowledged = SmallVec::new();
        let node = self.home.node;
        for &authority in authorities.iter().filter(|&&authority| authority != node) {
            self.send_release(authority, transaction, outcome, &ended, outputs);
            if self.options.acknowledge_release && !self.home.failed.contains(&authority) {
                unacknowledged.push(authority);
            }
        }
        if authorities.contains(&node) {
            self.released_now(transaction, outcome, &[], Epoch(u32::MAX));
            self.release(transaction, outcome, &[], outputs);
        }
        if unacknowledged.is_empty() {
            outputs.push(Output::Ended { transaction });
        } else {
            self.ending.insert(transaction, unacknowledged);
        }
    }

    fn send_release(
        &mut self,
        authority: NodeId,
        transaction: TransactionId,
        outcome: Outcome,
        ended: &Ended,
        outputs: &mut Vec<Output>,
    ) {
        let mut pages = Versions::new();
        let mut pending = SmallVec::new();
        for (page, lock) in ended
            .iter()
            .filter(|(page, _)| self.authority.of(*page) == authority)
        {
            let modified = lock.mode == LockMode::Write && outcome == Outcome::Committed;
            if lock.state.is_pending() {
                pending.push((*page, lock.mode));
            } else if modified && !self.force() {
                pages.push((*page, lock.psn.next()));
            }
        }
        let release = Message::Release {
            transaction,
            outcome,
            pages,
            pending,
            acknowledge: self.options.acknowledge_release,
        };
        self.home.send(authority, release, outputs);
    }

    fn message(
        &mut self,
        from: NodeId,
        sent_in: Epoch,
        message: Message,
        outputs: &mut Vec<Output>,
    ) -> Result<(), ForeignMessage> {
        if !self.is_to_be_heard(from, sent_in, &message) {
            return Ok(());
        }
        match message {
            Message::Request { .. } => self.requested(message, outputs),
            Message::Grant { .. } => self.granted(from, message, outputs),
            Message::Release {
                transaction,
                outcome,
                pending,
                acknowledge,
                ..
            } => {
                let pending = self.released_now(transaction, outcome, &pending, sent_in);
                self.release(transaction, outcome, &pending, outputs);
                if acknowledge {
                    self.home
                        .send(from, Message::Released { transaction }, outputs);
                }
            }
            Message::Released { transaction } => self.acknowledged(from, transaction, outputs),
            Message::Declare { part, since, locks } => {
                self.declared(from, part, since, locks, outputs);
            }
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
            Message::PageMissing { transaction, page } => {
                self.home.fetched(transaction, page, None, outputs);
            }
            Message::Revoke {
                page,
                authorisation,
            } => self.revoke(page, authorisation, outputs),
            Message::Revoked { page } => {
                let mut woken = Woken::new();
                self.table.give_up(from, page, &mut woken);
                self.wake(woken, outputs);
            }
            Message::Registered { transaction, page } => {
                self.home.stop_reading(transaction, page);
                self.give_up_if_due(page, outputs);
            }
            Message::Probe(probe) => self.probe(probe, outputs),
            Message::CancelWait { transaction, page } => self.cancel(transaction, page, outputs),
            Message::Victim { transaction, page } => {
                // If it waited to write what it reads under the authorisation, its read lock is in
                // the authority's table. The news of that may still be on the way.
                self.home.stop_reading(transaction, page);
                self.give_up_if_due(page, outputs);
                self.home.lose(transaction, page, outputs);
            }
            Message::PageInGem { .. } | Message::Wake { .. } | Message::WriteTurn { .. } => {
                return Err(ForeignMessage {
                    from,
                    message: Box::new(message),
                    protocol: "primary copy locking",
                });
            }
        }
        Ok(())
    }

    /// The buffer's answer. It is for a transaction of this node that looks for the page, or for another node: for a
    /// grant, or for a transaction that reads under its node's authorisation.
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
        if self.authority.assignment().is_some() {
            if self.authority.of(page) != self.home.node || self.frozen(page).is_some() {
                // It was asked for when this node had the authority, which has moved.
                return;
            }
            if copy != Some(self.table.version(page)) && !self.table.is_stored(page) {
                // The same, and it has come back since.
                return outputs.push(Output::Supply { page, transaction });
            }
        }
        if let Some(due) = self.due.remove(&(transaction, page)) {
            let source = if copy == Some(due.psn) {
                PageSource::Message
            } else {
                PageSource::Storage
            };
            return self.send_grant(transaction, page, due, source, outputs);
        }
        self.home.supply(transaction, page, copy, outputs);
    }

    /// The authority's answer to a transaction of this node.
    fn granted(&mut self, from: NodeId, grant: Message, outputs: &mut Vec<Output>) {
        let Message::Grant {
            transaction,
            page,
            psn,
            source,
            stored,
            authorisation,
        } = grant
        else {
            return;
        };
        let supplier = (!stored).then_some(from);
        if let Some(number) = authorisation {
            let early = self.early.get(&page).copied();
            if early.is_some_and(|early| early <= number) {
                self.early.remove(&page);
            }
            let authorisation = Authorisation {
                number,
                psn,
                supplier,
                readers: SmallVec::new(),
                revoked: early == Some(number),
            };
            self.home.authorise(transaction, page, authorisation);
            self.give_up_if_due(page, outputs);
        }
        match source {
            PageSource::Message => {
                self.home
                    .grant_with_page(transaction, page, psn, supplier, outputs);
            }
            PageSource::Copy | PageSource::Storage | PageSource::Gem(_) => {
                self.home.grant(transaction, page, psn, supplier, outputs);
            }
        }
    }

    fn acknowledged(
        &mut self,
        from: NodeId,
        transaction: TransactionId,
        outputs: &mut Vec<Output>,
    ) {
        if let Some(unacknowledged) = self.ending.get_mut(&transaction) {
            unacknowledged.retain(|authority| *authority != from);
            if unacknowledged.is_empty() {
                self.ending.remove(&transaction);
                outputs.push(Output::Ended { transaction });
            }
        }
    }

    /// The authority wants this node's authorisation back.
    fn revoke(&mut self, page: PageId, number: u64, outputs: &mut Vec<Output>) {
        match self.home.authorisation(page) {
            Some(present) if present.number == number => {
                self.home.revoke(page);
                self.give_up_if_due(page, outputs);
            }
            // It has crossed the request by which this node gave that one up.
            Some(present) if present.number > number => {}
            // Perhaps it has overtaken its grant.
            _ => {
                let early = self.early.entry(page).or_default();
                *early = number.max(*early);
            }
        }
    }

    fn give_up_if_due(&mut self, page: PageId, outputs: &mut Vec<Output>) {
        if self.home.may_give_up(page) {
            self.home.give_up(page);
            let authority = self.authority.of(page);
            self.home
                .send(authority, Message::Revoked { page }, outputs);
        }
    }

    /// Only the authority writes, one version after the other, and only the newest: in the table of
    /// any other node no version of the page is unwritten.
    fn replace(&mut self, page: PageId, psn: Psn, outputs: &mut Vec<Output>) {
        if self.keep(page, || Kept::Replace(page, psn)) {
            return;
        }
        let newest = self.table.version(page) == psn && !self.table.is_stored(page);
        if !newest {
            outputs.push(Output::Discard { page, psn });
            return;
        }
        match self.writing.entry(page) {
            Entry::Occupied(_) => {
                let before = self.replacing.insert(page, psn);
                let before = before.filter(|&before| before != psn);
                outputs.extend(before.map(|psn| Output::Discard { page, psn }));
            }
            Entry::Vacant(place) => {
                place.insert(psn);
                outputs.push(Output::WriteBack { page, psn });
            }
        }
    }

    fn written_back(&mut self, page: PageId, psn: Psn, outputs: &mut Vec<Output>) {
        self.writing.remove(&page);
        self.table.stored(page, psn);
        if let Some(psn) = self.replacing.remove(&page) {
            self.replace(page, psn, outputs);
        }
    }
}
