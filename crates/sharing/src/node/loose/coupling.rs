//! A loosely coupled node's part below its [shell](crate::node::shell): the machines of primary copy locking and of
//! the membership, and the channels to the other nodes. Long work, such as a page from the page server or reading the
//! register, is a job for other threads.
//!
//! Storage has every version as soon as it is committed, since a commit is durable where the pages are
//! ([`super::server`]). So no page is ever written, and no copy has to stay: copies are there so that others have the
//! page from them (NOFORCE; [`PrimaryCopyOptions::stored_at_commit`]).
//!
//! [`super::speaking`] has its words with other nodes. Invariants: those of the shell.

use super::coding::Letter;
use super::link::Link;
use super::member::LooseHere;
use super::peer::Peer;
use super::wire::Trust;
use crate::node::NodeError;
use crate::node::coupling::Coupling;
use crate::node::gem::PageBytes;
use crate::node::local::Local;
use crate::node::member::Member;
use crate::node::ring;
use crate::node::shell::Shell;
use crate::node::tables::{JournalSource, POOLS};
use crate::node::work::{Held, Progress};
use crate::protocol::division::PartPages;
use crate::protocol::membership::{Membership, View};
use crate::protocol::{
    Assignment, Counters, Division, Epoch, Input, NodeId, Output, PageId, PageSource, PrimaryCopy,
    PrimaryCopyOptions, Protocol, Psn, TransactionId,
};
use sardonyx_storage::journal::JournalPosition;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

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

/// A loosely coupled node's part of its shell.
#[derive(Debug)]
pub(in crate::node) struct Loose {
    machine: PrimaryCopy<Assignment>,
    pub membership: Membership,
    pub peers: BTreeMap<NodeId, Peer>,
    pub trust: Trust,
    /// Links that have no thread yet.
    pub new_links: Vec<(NodeId, Arc<Link>)>,
    pub early: Vec<(NodeId, Epoch, Letter)>,
    /// Pages that came with the message that the machine gets.
    pub arrived: Vec<(PageId, Psn, Box<PageBytes>)>,
    jobs: Sender<Job>,
    pub register: Sender<RegisterJob>,
    /// The error of the program that has stopped the node, unless the others have continued without it: the register
    /// is read for that.
    pub doubt: Option<NodeError>,
    /// Nodes that are there no more: they acknowledge nothing.
    pub absent: BTreeSet<NodeId>,
    /// Logs that are to be closed when their nodes are there no more.
    pub closing: BTreeMap<NodeId, Epoch>,
    /// Long looks after which a node that does not answer is unreachable.
    pub unreachable_after: u32,
}

impl Loose {
    pub fn shell(
        local: Local,
        options: PrimaryCopyOptions,
        (division, place): (Division, Option<u16>),
        trust: Trust,
        jobs: Sender<Job>,
        register: Sender<RegisterJob>,
    ) -> Shell<Loose> {
        let node = local.node;
        let loose = Loose {
            machine: PrimaryCopy::new(node, Assignment::default(), options),
            membership: Membership::new(node).dividing(division, place),
            peers: BTreeMap::new(),
            trust,
            new_links: Vec::new(),
            early: Vec::new(),
            arrived: Vec::new(),
            jobs,
            register,
            doubt: None,
            absent: BTreeSet::new(),
            closing: BTreeMap::new(),
            unreachable_after: u32::MAX,
        };
        Shell::new(local, loose)
    }

    pub fn job(&self, job: Job) {
        // When the node ends, no thread may be left to do it.
        let _ = self.jobs.send(job);
    }
}

impl Coupling for Loose {
    type Here = LooseHere;

    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) -> Result<(), NodeError> {
        self.machine
            .handle(input, outputs)
            .map_err(|error| NodeError::Refused {
                reason: error.to_string(),
            })
    }

    fn counters(&self) -> Counters {
        *self.machine.counters()
    }

    fn perform(shell: &mut Shell<Self>, output: Output) -> Result<(), NodeError> {
        let loose = &shell.coupling;
        match output {
            Output::Send { to, message } => shell.send_message(to, message)?,
            Output::RecoverPage { page, node } => loose.job(Job::RecoverPage(page, node)),
            Output::RecoverPart { part, since } => {
                let division = loose.membership.view().assignment.division();
                let pages = division.pages_of(part);
                loose.job(Job::RecoverPart { part, since, pages });
            }
            // There is no table beside, no GEM, and nothing to be written; or it is done for all couplings.
            Output::Granted { .. }
            | Output::Waiting { .. }
            | Output::Victim { .. }
            | Output::Supply { .. }
            | Output::Ended { .. }
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

    fn fetch(
        shell: &mut Shell<Self>,
        transaction: TransactionId,
        held: Held,
        source: PageSource,
    ) -> Result<(), NodeError> {
        if source != PageSource::Message {
            shell.coupling.job(Job::Page(transaction, held));
            return Ok(());
        }
        let arrived = &mut shell.coupling.arrived;
        let place = arrived
            .iter()
            .position(|(page, psn, _)| (*page, *psn) == (held.page, held.psn));
        let Some(place) = place else {
            return Err(NodeError::PageLost {
                page: held.page.0,
                psn: held.psn.0,
                found: 0,
            });
        };
        let (_, _, bytes) = arrived.swap_remove(place);
        shell.place(transaction, held, held.psn, &bytes).map(drop)
    }

    /// Storage has every version as soon as it is committed.
    fn keeps_unstored(&self) -> bool {
        false
    }

    fn stops(&mut self, node: NodeId, reason: &NodeError) -> NodeError {
        tracing::info!(%reason, node = node.0, "a node has stopped");
        self.doubt = matches!(reason, NodeError::PageLost { .. }).then(|| reason.clone());
        // The thread that uses the register learns of it.
        let _ = self.register.send(RegisterJob::Look);
        match reason {
            NodeError::PageLost { page, psn, found } => NodeError::Stopped {
                reason: format!(
                    "it has version {found} of page {page} instead of {psn}; the register is asked whether the others \
                     continue without it"
                ),
            },
            other => other.of_a_stopped_node(),
        }
    }

    /// The number of members of the view with a lower number. So each member of the view has a pool of its own, and
    /// the pools of former nodes are others'. Two nodes that know different views may have the same for a while; then
    /// they wait for each other's lock on its page, and nothing worse.
    fn pool(shell: &Shell<Self>) -> usize {
        let members = &shell.membership().view().members;
        members.range(..shell.node()).count() % POOLS
    }

    fn patience(here: &LooseHere) -> Option<Duration> {
        Some(here.options.lock_patience)
    }

    fn make_durable(
        member: &Member<Self>,
        frame: ring::Frame,
        ended: &mut bool,
    ) -> Result<(), NodeError> {
        LooseHere::make_durable(member, frame, ended)
    }

    fn check_read(member: &Member<Self>) -> Result<(), NodeError> {
        LooseHere::check_lease(member)
    }

    fn journal_rows(
        member: &Member<Self>,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError> {
        member.shell.lock().check()?;
        member.here.journal_rows(&member.stopping, journal, range)
    }
}

impl Shell<Loose> {
    /// The same; a node that leaves so many long looks unanswered is unreachable.
    pub fn unreachable_after(mut self, looks: u32) -> Self {
        self.coupling.unreachable_after = looks.max(1);
        self
    }

    pub fn membership(&self) -> &Membership {
        &self.coupling.membership
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
}
