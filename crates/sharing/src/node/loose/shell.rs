//! A node without threads: the machines of primary copy locking and of who takes part, the buffer, and the channels to
//! the other nodes. Long work, such as a page from the page server or reading the register, is a job for others;
//! nothing here waits.
//!
//! Storage has every version as soon as it is committed, since a commit is durable where the pages are
//! ([`super::server`]). So no page is ever written, and no copy has to stay: copies are there so that others have the
//! page from them (NOFORCE; [`PrimaryCopyOptions::stored_at_commit`]).
//!
//! Invariants: what the protocol asks of its shell ([`crate::protocol`]); a message is taken only from a member, and
//! not before its epoch is known.

mod absence;

pub use absence::out_of_lease;

use super::coding::{self, Letter};
use super::frame::Frame;
use super::link::Link;
use super::peer::Peer;
use super::wire::Trust;
use crate::node::NodeError;
use crate::node::gem::PageBytes;
use crate::node::local::Local;
use crate::node::work::{Held, Progress};
use crate::protocol::division::PartPages;
use crate::protocol::membership::{self, Admission, Membership, View};
use crate::protocol::{
    Assignment, Division, Epoch, Input, LockMode, Message, NodeId, Outcome, Output, PageId,
    PageSource, PrimaryCopy, PrimaryCopyOptions, Protocol, Psn, TransactionId,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// With so many messages on their way to a node, which may be stopped, no search for a deadlock is sent there.
const PROBES_WAITING_MAX: usize = 256;

/// A request for the page server.
#[derive(Clone, Debug)]
pub enum Job {
    /// A page for a transaction that has its lock.
    Page(TransactionId, Held),
    RecoverPage(PageId, NodeId),
    RecoverPart {
        part: u16,
        since: Epoch,
        pages: PartPages,
    },
    CloseLog(NodeId, Epoch),
}

/// A request for the register.
#[derive(Clone, Debug)]
pub enum RegisterJob {
    Read,
    Swap(Epoch, View),
    /// A node has joined or left.
    Look,
}

/// A node without threads.
#[derive(Debug)]
pub struct Shell {
    pub local: Local,
    machine: PrimaryCopy<Assignment>,
    membership: Membership,
    peers: BTreeMap<NodeId, Peer>,
    trust: Trust,
    /// Links that have no thread yet.
    pub new_links: Vec<(NodeId, Arc<Link>)>,
    early: Vec<(NodeId, Epoch, Letter)>,
    inputs: VecDeque<Input>,
    /// Pages that came with the message that the machine gets.
    arrived: Vec<(PageId, Psn, Box<PageBytes>)>,
    jobs: Sender<Job>,
    register: Sender<RegisterJob>,
    stopped: Option<NodeError>,
    /// The error of the program that has stopped the node, unless the others have continued without it: the register
    /// is read for that.
    doubt: Option<NodeError>,
    /// Nodes that are there no more: they acknowledge nothing.
    absent: BTreeSet<NodeId>,
    /// Logs that are to be closed when their nodes are there no more.
    closing: BTreeMap<NodeId, Epoch>,
    /// Long looks after which a node that does not answer is unreachable.
    unreachable_after: u32,
}

impl Shell {
    pub fn new(
        local: Local,
        options: PrimaryCopyOptions,
        (division, place): (Division, Option<u16>),
        trust: Trust,
        jobs: Sender<Job>,
        register: Sender<RegisterJob>,
    ) -> Self {
        let node = local.node;
        Shell {
            local,
            machine: PrimaryCopy::new(node, Assignment::default(), options),
            membership: Membership::new(node).dividing(division, place),
            peers: BTreeMap::new(),
            trust,
            new_links: Vec::new(),
            early: Vec::new(),
            inputs: VecDeque::new(),
            arrived: Vec::new(),
            jobs,
            register,
            stopped: None,
            doubt: None,
            absent: BTreeSet::new(),
            closing: BTreeMap::new(),
            unreachable_after: u32::MAX,
        }
    }

    /// The same; a node that leaves so many long looks unanswered is unreachable.
    pub fn unreachable_after(self, looks: u32) -> Self {
        let unreachable_after = looks.max(1);
        Shell {
            unreachable_after,
            ..self
        }
    }

    pub fn node(&self) -> NodeId {
        self.local.node
    }

    pub fn machine(&self) -> &PrimaryCopy<Assignment> {
        &self.machine
    }

    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// True if the node continues.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self) -> Result<(), NodeError> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// The node goes on no more.
    pub fn stop(&mut self, reason: &NodeError) {
        if self.stopped.is_none() {
            tracing::info!(%reason, node = self.node().0, "a node has stopped");
            self.doubt = matches!(reason, NodeError::PageLost { .. }).then(|| reason.clone());
            // The thread that uses the register learns of it.
            let _ = self.register.send(RegisterJob::Look);
            self.stopped = Some(match reason {
                NodeError::Fenced(_) | NodeError::Stopped { .. } | NodeError::ShutOut { .. } => {
                    reason.clone()
                }
                NodeError::PageLost { page, psn, found } => NodeError::Stopped {
                    reason: format!(
                        "it has version {found} of page {page} instead of {psn}; the register is asked whether the others \
                         have gone on without it"
                    ),
                },
                other => NodeError::Stopped {
                    reason: other.to_string(),
                },
            });
        }
    }

    /// Tells the machine something, and does what it asks until it asks nothing more.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn feed(&mut self, input: Input) -> Result<(), NodeError> {
        self.check()?;
        self.inputs.push_back(input);
        let fed = self.feed_all();
        if let Err(error) = &fed {
            self.stop(error);
        }
        fed
    }

    fn feed_all(&mut self) -> Result<(), NodeError> {
        while let Some(input) = self.inputs.pop_front() {
            let supplied = match &input {
                Input::Supplied { page, copy, .. } => copy.map(|_| *page),
                _ => None,
            };
            let mut outputs = Vec::new();
            self.machine
                .handle(input, &mut outputs)
                .map_err(|error| NodeError::Refused {
                    reason: error.to_string(),
                })?;
            for output in outputs {
                self.perform(output)?;
            }
            if let Some(page) = supplied {
                self.local.unpin(page);
            }
        }
        Ok(())
    }

    fn perform(&mut self, output: Output) -> Result<(), NodeError> {
        match output {
            Output::Send { to, message } => self.send_message(to, message)?,
            Output::Granted {
                transaction,
                page,
                mode,
                psn,
                source,
            } => self.granted(transaction, Held { page, mode, psn }, source)?,
            Output::Waiting { transaction, .. } => {
                let waits = Progress::Locking { waits: true };
                self.local.note(transaction, waits);
            }
            Output::Victim { transaction } => {
                self.local.note(transaction, Progress::Victim);
            }
            Output::Supply { page, transaction } => {
                let copy = self.local.supply(page);
                self.inputs.push_back(Input::Supplied {
                    page,
                    transaction,
                    copy,
                });
            }
            Output::RecoverPage { page, node } => self.job(Job::RecoverPage(page, node)),
            Output::RecoverPart { part, since } => {
                let division = self.membership.view().assignment.division();
                let pages = division.pages_of(part);
                self.job(Job::RecoverPart { part, since, pages });
            }
            // There is no table beside, no GEM, and nothing to be written.
            Output::Ended { .. }
            | Output::WriteBack { .. }
            | Output::Discard { .. }
            | Output::EntryRecovered { .. }
            | Output::ReadEntry { .. }
            | Output::SwapEntry { .. }
            | Output::PutPage { .. }
            | Output::DropPage { .. } => {}
        }
        Ok(())
    }

    fn job(&self, job: Job) {
        // When the node ends, no thread may be left to do it.
        let _ = self.jobs.send(job);
    }

    fn granted(
        &mut self,
        transaction: TransactionId,
        held: Held,
        source: PageSource,
    ) -> Result<(), NodeError> {
        match source {
            PageSource::Copy => self.local.placed(transaction, held, None).map(drop)?,
            PageSource::Message => {
                let arrived = self.arrived.iter();
                let place = arrived
                    .clone()
                    .position(|(page, psn, _)| (*page, *psn) == (held.page, held.psn));
                let Some(place) = place else {
                    return Err(NodeError::PageLost {
                        page: held.page.0,
                        psn: held.psn.0,
                        found: 0,
                    });
                };
                let (_, _, bytes) = self.arrived.swap_remove(place);
                self.place(transaction, held, held.psn, &bytes)?;
            }
            PageSource::Storage | PageSource::Gem(_) => self.job(Job::Page(transaction, held)),
        }
        Ok(())
    }

    /// A page has come from storage for a transaction that has its lock.
    ///
    /// # Errors
    /// [`NodeError::PageLost`]: it is in another version. The node stops.
    pub fn fetched(
        &mut self,
        transaction: TransactionId,
        held: Held,
        psn: Psn,
        bytes: &PageBytes,
    ) -> Result<(), NodeError> {
        self.check()?;
        let waits = self.local.transactions.get(&transaction);
        if !waits.is_some_and(|work| matches!(work.progress, Progress::Locking { .. })) {
            return Ok(());
        }
        let placed = self.place(transaction, held, psn, bytes);
        let placed = placed.inspect_err(|error| self.stop(error))?;
        if let Some(work) = self.local.transactions.get_mut(&transaction) {
            work.fetched = placed;
        }
        Ok(())
    }

    fn place(
        &mut self,
        transaction: TransactionId,
        held: Held,
        psn: Psn,
        bytes: &PageBytes,
    ) -> Result<bool, NodeError> {
        let mut fill = |copy: &mut PageBytes| {
            *copy = *bytes;
            Ok(psn)
        };
        self.local.placed(transaction, held, Some(&mut fill))
    }

    /// Asks for a lock. The result, now or later, is in the transaction's progress.
    pub fn lock(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
    ) -> Result<(), NodeError> {
        match self.local.ask(transaction, page, mode) {
            Some(input) => self.feed(input),
            None => Ok(()),
        }
    }

    /// Ends a transaction; its locks are given back.
    pub fn end(&mut self, transaction: TransactionId, outcome: Outcome) -> Result<(), NodeError> {
        match self.local.end(transaction, outcome, false) {
            Some(input) => self.feed(input),
            None => Ok(()),
        }
    }

    /// Looks for deadlocks among those who wait: to be called again and again.
    pub fn suspect(&mut self) -> Result<(), NodeError> {
        for transaction in self.local.waiting() {
            self.feed(Input::Suspect { transaction })?;
        }
        Ok(())
    }

    fn send_message(&mut self, to: NodeId, message: Message) -> Result<(), NodeError> {
        if !self.membership.view().members.contains_key(&to) {
            // A failed node gets nothing more; the requests that it awaited are recovered.
            return Ok(());
        }
        // A search for a deadlock is begun again and again, and lost without harm.
        if matches!(message, Message::Probe(_))
            && self.peers.get(&to).map_or(0, Peer::waiting) > PROBES_WAITING_MAX
        {
            return Ok(());
        }
        let mut pages = Vec::new();
        for (page, psn) in message.carried_pages() {
            let copy = self.local.buffer.get(page).filter(|copy| copy.psn == psn);
            let copy = copy.ok_or(NodeError::PageLost {
                page: page.0,
                psn: psn.0,
                found: 0,
            })?;
            pages.push(copy.bytes.clone());
        }
        self.send(to, &Letter::Protocol(message, pages));
        Ok(())
    }

    fn peer(&mut self, node: NodeId) -> &mut Peer {
        let (own, trust, new_links) = (self.local.node, &self.trust, &mut self.new_links);
        self.peers.entry(node).or_insert_with(|| {
            let link = Arc::new(Link::new(own, node, trust.clone()));
            new_links.push((node, link.clone()));
            Peer::new(link)
        })
    }

    fn send(&mut self, to: NodeId, letter: &Letter) {
        let Some((kind, content)) = coding::encode(letter) else {
            return;
        };
        let epoch = self.membership.view().epoch;
        self.peer(to).send((kind, epoch, content.into()));
    }

    /// A connection to a node was made anew: what may not have come is sent again.
    pub fn connected(&mut self, node: NodeId) {
        if let Some(peer) = self.peers.get_mut(&node) {
            peer.connected();
        }
    }

    /// A little time has passed: what has come is acknowledged. If `long`, so much that what was not acknowledged may
    /// be lost.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn tick(&mut self, long: bool) -> Result<(), NodeError> {
        for peer in self.peers.values_mut() {
            peer.tick(long);
        }
        if !long {
            return Ok(());
        }
        let bound = self.unreachable_after;
        let peers = self.peers.iter();
        let peers = peers.map(|(&node, peer)| (node, peer.unanswered()));
        let all: Vec<(NodeId, u32)> = peers.filter(|(_, looks)| *looks > bound / 2).collect();
        let silent: BTreeSet<NodeId> = all.iter().map(|(node, _)| *node).collect();
        let due = all.into_iter().filter(|(_, looks)| looks % bound == 0);
        for (node, looks) in due {
            self.tell_membership(membership::Input::Unanswered {
                node,
                times: looks / bound,
                silent: silent.clone(),
            })?;
        }
        Ok(())
    }

    /// Checks that the node takes messages of this one.
    pub fn hears(&self, node: NodeId) -> Result<(), String> {
        match self.membership.view().shut_out.contains_key(&node) {
            true => Err("this node was shut out".into()),
            false => self.check().map_err(|error| error.to_string()),
        }
    }

    /// A frame has come from a node.
    ///
    /// # Errors
    /// [`NodeError::Frame`]: what that node says is not to be understood. Others: this one has stopped.
    pub fn hear(&mut self, from: NodeId, frame: Frame) -> Result<(), NodeError> {
        self.check()?;
        let delivered = self.peer(from).hear(frame)?;
        for (kind, epoch, content) in delivered {
            let content: &[u8] = &content;
            let frame = Frame {
                kind,
                epoch,
                content: content.to_vec(),
                ..Frame::default()
            };
            let letter = coding::decode(&frame)?;
            self.deliver(from, epoch, letter)?;
        }
        Ok(())
    }

    fn deliver(&mut self, from: NodeId, sent_in: Epoch, letter: Letter) -> Result<(), NodeError> {
        match letter {
            Letter::Announced(view) => self.tell_membership(membership::Input::Announced(view)),
            Letter::Acknowledged(epoch) => {
                self.tell_membership(membership::Input::Acknowledged(from, epoch))
            }
            Letter::Protocol(message, pages) => match self.membership.admit(from, sent_in) {
                Admission::Take => self.take(from, sent_in, message, pages),
                Admission::Refuse => Ok(()),
                Admission::Later => {
                    let letter = Letter::Protocol(message, pages);
                    self.early.push((from, sent_in, letter));
                    self.tell_membership(membership::Input::Look)
                }
            },
        }
    }

    fn take(
        &mut self,
        from: NodeId,
        sent_in: Epoch,
        message: Message,
        pages: Vec<Box<PageBytes>>,
    ) -> Result<(), NodeError> {
        let carried = message.carried_pages();
        let returned = !message.returned_pages().is_empty();
        for ((page, psn), bytes) in carried.into_iter().zip(pages) {
            match returned {
                true => self.local.take_back(page, psn, &bytes),
                false => self.arrived.push((page, psn, bytes)),
            }
        }
        let fed = self.feed(Input::Message {
            from,
            message,
            sent_in,
        });
        self.arrived.clear();
        fed
    }

    /// Tells the machine of who takes part something, and does what it asks.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn tell_membership(&mut self, input: membership::Input) -> Result<(), NodeError> {
        self.check()?;
        let before = self.membership.view().epoch;
        let mut outputs = Vec::new();
        self.membership.handle(input, &mut outputs);
        let is_newer = self.membership.view().epoch > before;
        if is_newer && self.membership.is_member() {
            let view = Box::new(self.membership.view().clone());
            self.feed(Input::Assigned(view))?;
        }
        for output in outputs {
            self.perform_membership(output)?;
        }
        if is_newer {
            for (from, sent_in, letter) in std::mem::take(&mut self.early) {
                self.deliver(from, sent_in, letter)?;
            }
        }
        Ok(())
    }

    fn perform_membership(&mut self, output: membership::Output) -> Result<(), NodeError> {
        use membership::Output;
        let at_register = |job| {
            let _ = self.register.send(job);
        };
        match output {
            Output::ReadView => at_register(RegisterJob::Read),
            Output::SwapView { expected, view } => at_register(RegisterJob::Swap(expected, view)),
            Output::Announce(to, view) => self.send(to, &Letter::Announced(view)),
            Output::Acknowledge(to, epoch) => self.send(to, &Letter::Acknowledged(epoch)),
            Output::Joined(node) => {
                at_register(RegisterJob::Look);
                if node != self.node() {
                    self.peer(node);
                }
            }
            Output::Left(node) => {
                if let Some(peer) = self.peers.remove(&node) {
                    peer.link.stop();
                }
                self.feed(Input::NodeFailed { node })?;
            }
            // Data that a present node has only read may be acknowledged, and must be the newest.
            Output::CloseLog(node, epoch) if !self.absent.contains(&node) => {
                self.closing.insert(node, epoch);
                at_register(RegisterJob::Look);
            }
            Output::CloseLog(node, epoch) => self.job(Job::CloseLog(node, epoch)),
            // Its log is closed where the pages are, so all that it committed is stored.
            Output::Recover(node) => {
                self.tell_membership(membership::Input::Recovered(node))?;
            }
            Output::Recovered(node) => self.feed(Input::NodeRecovered { node })?,
            Output::ShutOut => {
                let reason = "the others have gone on without it".into();
                self.stop(&NodeError::ShutOut { reason });
            }
        }
        Ok(())
    }

    /// The ways out end.
    pub fn stop_links(&mut self) {
        self.peers.values().for_each(|peer| peer.link.stop());
    }

    /// Sets the addresses of nodes.
    pub fn are_at(&self, places: &BTreeMap<NodeId, std::net::SocketAddr>) {
        for (node, peer) in &self.peers {
            if let Some(&place) = places.get(node) {
                peer.link.is_at(place);
            }
        }
    }
}
