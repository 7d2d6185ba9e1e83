//! Primary copy locking: concurrency and coherency control by messages (GEM paper, section 3.2).
//!
//! The database is divided among the nodes. The node with the *authority* for a page has its locks
//! and its version in main memory. Its own transactions lock the page without a message; those of
//! other nodes by a request, a grant and a release. All pages that a transaction has locked at one
//! authority go back by one release.
//!
//! *Coherency.* The request names the version in the sender's buffer, and the grant the newest one.
//! With NOFORCE the authority is also the *owner* of its pages: a modified page goes back to it
//! with the release, and from it to the next reader with the grant, so that no page costs a message
//! of its own. Only the authority writes the page to storage. If its buffer has no copy when a
//! grant is due, then because one has been written: a modified copy stays in the buffer until then.
//! So the grant can say that storage has the newest version.
//!
//! *Order.* Messages may overtake each other. A transaction has ended for its node as soon as its
//! release is sent (unless `acknowledge_release`), and another one of the node may ask for the page
//! before the release arrives: it waits in line behind the lock that is still there. A release that
//! overtakes a request of its own transaction (ended while it waited) leaves a note that the
//! request is void. The revocation of an authorisation that overtakes its grant is kept for it;
//! they are numbered, so that an old one is not taken for a new one.
//!
//! *Read optimisation* (an option). With a read lock that nobody waits for, the node is authorised
//! to grant further read locks on the page itself until a writer wants it. The authorisation
//! replaces the transaction's lock, so the readers' releases cost no message either. It stays when
//! the page leaves the buffer. With `authorised_without_copy` a reader then still uses it: it gets
//! the page from storage if it was there at the grant, or asks the authority. Otherwise it only
//! joins current readers of its node; if there are none, its request gives the authorisation up
//! and asks for a new one. Such a request stands in line behind the writers that wait.
//!
//! This protocol does not bear the loss of a node: every node is the authority for a part of the
//! database, and nobody takes its place. So the loss of one ends the system of machines; whatever
//! is started after it has new machines on all nodes.

mod authority;
mod granting;
mod search;

use super::home::{Asked, Authorisation, Ended, Home};
use super::probe::Probe;
use super::{
    Counters, ForeignMessage, Input, LockMode, Message, NodeId, Outcome, Output, PageId,
    PageSource, Protocol, Psn, TransactionId, UpdateStrategy, Versions,
};
use authority::{AuthorityTable, Woken};
use sardonyx_base::hash::IntegerMap;
use sardonyx_lock::Answer;
use smallvec::SmallVec;

/// Which node has the authority for a page. Every node must have the same answer, always.
pub trait Authority {
    /// The node for `page`.
    fn of(&self, page: PageId) -> NodeId;
}

impl<F: Fn(PageId) -> NodeId> Authority for F {
    fn of(&self, page: PageId) -> NodeId {
        self(page)
    }
}

/// How primary copy locking is to work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrimaryCopyOptions {
    /// When modified pages reach storage.
    pub update: UpdateStrategy,
    /// Whether nodes are authorised to grant read locks themselves.
    pub read_optimisation: bool,
    /// Whether a node grants under its authorisation also when its buffer has no copy of the page.
    /// If not, a reader that finds neither a copy nor a current reader of its node gives the
    /// authorisation up with its request, and gets a new one with the grant. So the authorisations
    /// that save messages are those of pages in the buffer (or being read). Those of other pages
    /// are not used, but stay until a reader asks again or a writer has them revoked.
    pub authorised_without_copy: bool,
    /// Whether a transaction has ended only when every authority has received its release.
    pub acknowledge_release: bool,
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
    /// Ended transactions, with the number of releases not yet acknowledged.
    ending: IntegerMap<TransactionId, usize>,
    /// Versions that are being written to storage, and those to be written after.
    writing: IntegerMap<PageId, Psn>,
    replacing: IntegerMap<PageId, Psn>,
    /// The latest revocation per page that came before its authorisation.
    early: IntegerMap<PageId, u64>,
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
                    self.ask_authority(transaction, page, mode, cached, outputs);
                }
            }
            Input::End {
                transaction,
                outcome,
            } => self.end(transaction, outcome, outputs),
            Input::Message { from, message } => return self.message(from, message, outputs),
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
            // There is no global lock table, and the loss of a node is not borne.
            Input::EntryRead { .. }
            | Input::EntrySwapped { .. }
            | Input::PagePut { .. }
            | Input::NodeFailed { .. }
            | Input::Recover { .. }
            | Input::PageRecovered { .. }
            | Input::NodeRecovered { .. } => {}
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
    }
}

impl<A: Authority> PrimaryCopy<A> {
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
        }
    }

    fn force(&self) -> bool {
        self.options.update == UpdateStrategy::Force
    }

    fn ask_authority(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        cached: Option<Psn>,
        outputs: &mut Vec<Output>,
    ) {
        let authority = self.authority.of(page);
        if authority == self.home.node {
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
        let mut unacknowledged = 0;
        let node = self.home.node;
        for &authority in authorities.iter().filter(|&&authority| authority != node) {
            self.send_release(authority, transaction, outcome, &ended, outputs);
            unacknowledged += usize::from(self.options.acknowledge_release);
        }
        if authorities.contains(&node) {
            self.release(transaction, outcome, &[], outputs);
        }
        if unacknowledged == 0 {
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
        message: Message,
        outputs: &mut Vec<Output>,
    ) -> Result<(), ForeignMessage> {
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
                self.release(transaction, outcome, &pending, outputs);
                if acknowledge {
                    self.home
                        .send(from, Message::Released { transaction }, outputs);
                }
            }
            Message::Released { transaction } => self.acknowledged(transaction, outputs),
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
                // the authority's table, though the news of that may still be on the way.
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

    /// The buffer's answer: for a transaction of this node that looks for the page, for a grant to
    /// another node, or for a transaction there that reads under its node's authorisation.
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

    fn acknowledged(&mut self, transaction: TransactionId, outputs: &mut Vec<Output>) {
        if let Some(unacknowledged) = self.ending.get_mut(&transaction) {
            *unacknowledged -= 1;
            if *unacknowledged == 0 {
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
        let newest = self.table.version(page) == psn && !self.table.is_stored(page);
        if !newest {
            outputs.push(Output::Discard { page, psn });
        } else if self.writing.contains_key(&page) {
            let before = self
                .replacing
                .insert(page, psn)
                .filter(|&before| before != psn);
            outputs.extend(before.map(|psn| Output::Discard { page, psn }));
        } else {
            self.writing.insert(page, psn);
            outputs.push(Output::WriteBack { page, psn });
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
