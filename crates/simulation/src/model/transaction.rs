//! The life of a transaction on a node (GEM paper, section 3.2): a processing slot, begin, record
//! accesses, commit in two phases.
//!
//! A processor is held from one wait to the next: for the instructions, and during the accesses to
//! GEM that belong to them, which are synchronous. It is given back for disks, locks and other
//! nodes.

use super::accounts::{Accounts, Part};
use super::coherence;
use super::service::factor;
use super::system::{Node, System};
use super::waiting::Answer;
use crate::parameters::Update;
use crate::server::Permit;
use crate::signal::Signal;
use crate::time::{Span, Time};
use sardonyx_sharing::protocol::{
    Input, LockMode, Outcome, PageId, PageSource, Psn, TransactionId,
};
use sardonyx_workload::debit_credit_pages::HistoryEnd;
use sardonyx_workload::random::Random;
use sardonyx_workload::reference::{Access, PageReference};
use smallvec::SmallVec;
use std::rc::Rc;

/// A transaction as it arrives.
pub struct Job {
    pub arrival: Time,
    /// The node it was sent to.
    pub node: usize,
    /// Its record accesses, in order.
    pub references: References,
    /// The seed of its random numbers.
    pub seed: u64,
}

/// The use of one of a transaction's streams of random numbers.
#[derive(Clone, Copy)]
pub(super) enum Draws {
    PathLengths,
    /// The log disk's access time.
    Log,
    /// The disk's access time to read the page of this access.
    Read(u64),
    /// The disk's access time to force the page that it modified as this one.
    Force(u64),
}

/// The record accesses of a transaction: debit-credit's lie in place.
pub type References = SmallVec<[PageReference; 4]>;

/// The reason why an attempt ended early.
struct Deadlock;

pub(super) struct Running<'a> {
    pub(super) system: &'a Rc<System>,
    pub(super) node: &'a Node,
    id: TransactionId,
    pub(super) accounts: Accounts,
    pub(super) modified: SmallVec<[Modified; 4]>,
    latest: Option<u64>,
    pub(super) seed: u64,
    path_lengths: Random,
    /// The number of the access that it is at.
    pub(super) at: u64,
    /// Its own end of HISTORY, if that is locked.
    end: Option<HistoryEnd>,
}

/// A page that is needed, once its lock is granted.
#[derive(Clone, Copy)]
struct Fetch {
    page: u64,
    /// The newest version, and where it is.
    psn: Psn,
    source: PageSource,
    /// It is a new page of a sequential file.
    begins: bool,
    /// It is not the page of the access before.
    counts: bool,
}

/// A page that the transaction has modified; it is fixed in the buffer.
#[derive(Clone, Copy)]
pub(super) struct Modified {
    pub(super) page: u64,
    psn: Psn,
}

/// Runs a transaction from its arrival to its end.
pub async fn run(system: Rc<System>, job: Job) {
    let kernel = &system.kernel;
    let node = &system.nodes[job.node];
    system.tally.borrow_mut().arrived(kernel.now());
    let _slot = node.slots.acquire().await;
    let mut running = Running {
        system: &system,
        node,
        id: node.begin(),
        accounts: Accounts::default(),
        modified: SmallVec::new(),
        latest: None,
        seed: job.seed,
        path_lengths: stream(job.seed, Draws::PathLengths),
        at: 0,
        end: None,
    };
    running
        .accounts
        .book(Part::InputQueue, kernel.now() - job.arrival);
    loop {
        let before = running.accounts;
        if running.attempt(&job.references).await.is_ok() {
            break;
        }
        running.abort().await;
        let pause = Span::from_milliseconds(system.parameters.locking.restart_milliseconds);
        kernel.wait(pause).await;
        running.accounts.book(Part::Restarts, pause);
        running.accounts.restart(&before);
        running.id = node.begin();
    }
    if let Some(end) = running.end.take() {
        node.give_end(end);
    }
    let (now, accesses) = (kernel.now(), job.references.len());
    system
        .tally
        .borrow_mut()
        .completed(now, job.arrival, accesses, &running.accounts);
}

/// One of the streams of the transaction with this seed.
pub(super) fn stream(seed: u64, draws: Draws) -> Random {
    let (kind, number) = match draws {
        Draws::PathLengths => (0, 0),
        Draws::Log => (1, 0),
        Draws::Read(number) => (2, number),
        Draws::Force(number) => (3, number),
    };
    Random::new(seed ^ (number << 2 | kind))
}

impl Running<'_> {
    async fn attempt(&mut self, references: &[PageReference]) -> Result<(), Deadlock> {
        let node = &self.system.parameters.node;
        let permit = self.cpu().await;
        self.compute_about(node.begin_instructions).await;
        drop(permit);
        for (at, reference) in references.iter().enumerate() {
            self.at = at as u64;
            self.access(reference).await?;
        }
        self.commit(node.end_instructions).await;
        Ok(())
    }

    /// A record access: lock, page, instructions.
    async fn access(&mut self, reference: &PageReference) -> Result<(), Deadlock> {
        let mut permit = self.cpu().await;
        let partition = reference.page.partition;
        let mut page = reference.page.to_u64();
        let again = self.latest == Some(page) && reference.access != Access::Append;
        let mut grant = None;
        let mut begins = false;
        let locks = self.system.partitions[usize::from(partition)].locks;
        if reference.access == Access::Append {
            if locks && self.end.is_none() {
                self.end = self.node.take_end();
            }
            (page, begins) = match &mut self.end {
                Some(end) => {
                    let (page, begins) = end.append();
                    (page.to_u64(), begins)
                }
                None => self.node.append(),
            };
        }
        if locks {
            let mode = match reference.access {
                Access::Read => LockMode::Read,
                Access::Write | Access::Append => LockMode::Write,
            };
            let granted;
            (granted, permit) = self.lock(page, mode, permit).await?;
            grant = Some(granted);
        }
        let (psn, source) = grant.unwrap_or_else(|| {
            let copy = self.node.buffer.borrow().version(page);
            (copy.unwrap_or_default(), PageSource::Storage)
        });
        let fetch = Fetch {
            page,
            psn,
            source,
            begins,
            counts: !again,
        };
        permit = self.bring(fetch, permit).await;
        self.latest = Some(page);
        if source == PageSource::Copy {
            self.node.buffer.borrow_mut().unfix(page);
        }
        self.compute_about(self.system.parameters.node.access_instructions)
            .await;
        if reference.access.is_write() && !self.modified.iter().any(|one| one.page == page) {
            self.fix(page, psn);
        }
        drop(permit);
        Ok(())
    }

    fn fix(&mut self, page: u64, psn: Psn) {
        // Others may have replaced it while this transaction computed.
        let mut buffer = self.node.buffer.borrow_mut();
        let replaced = match buffer.version(page) {
            Some(_) => buffer.reuse(page),
            None => buffer.install(page, psn, false),
        };
        buffer.fix(page);
        drop(buffer);
        coherence::write_replaced(self.system, self.node, replaced);
        self.modified.push(Modified { page, psn });
    }

    /// Asks for a lock and waits for it.
    async fn lock(
        &mut self,
        page: u64,
        mode: LockMode,
        permit: Permit,
    ) -> Result<((Psn, PageSource), Permit), Deadlock> {
        let (system, node) = (self.system, self.node);
        let cached = node.version(page);
        if cached.is_some() {
            // It must still be there when the lock is granted.
            coherence::keep(system, node, page);
        }
        let began = system.kernel.now();
        node.waiting.borrow_mut().ask(self.id, began);
        let input = Input::Lock {
            transaction: self.id,
            page: PageId(page),
            mode,
            cached,
        };
        coherence::drive(system, node, input).await;
        self.accounts.book(Part::Gem, system.kernel.now() - began);
        let answer = node
            .waiting
            .borrow_mut()
            .answered_or(self.id, || Signal::new(&system.kernel));
        let (answer, permit) = match answer {
            Ok(answer) => (answer, permit),
            Err(signal) => {
                drop(permit);
                let answer = self.wait_for(signal).await;
                (answer, self.cpu().await)
            }
        };
        node.waiting.borrow_mut().done(self.id);
        if cached.is_some() {
            node.buffer.borrow_mut().unfix(page);
        }
        match answer {
            Answer::Granted { psn, source } => Ok(((psn, source), permit)),
            Answer::Victim => Err(Deadlock),
        }
    }

    /// Waits for a lock's answer and books the time: to other transactions, to other nodes.
    async fn wait_for(&mut self, signal: Signal<Answer>) -> Answer {
        let kernel = &self.system.kernel;
        let began = kernel.now();
        let answer = signal.wait().await;
        let now = kernel.now();
        let times = *self
            .node
            .waiting
            .borrow_mut()
            .times(self.id)
            .expect("it has asked");
        let blocked = match (
            coherence::blocked_elsewhere(self.system, self.id),
            times.blocked,
        ) {
            (Some(blocked), _) => blocked.min(now - began),
            (None, Some(since)) => {
                times.page_requested.unwrap_or(now).max(began) - since.max(began)
            }
            (None, None) => Span::ZERO,
        };
        self.accounts.book(Part::LockWait, blocked);
        self.accounts.book(Part::Messages, (now - began) - blocked);
        if let Some(since) = times.page_requested {
            let mut tally = self.system.tally.borrow_mut();
            tally.page_requests += 1;
            tally.page_request_sum += now - since;
        }
        answer
    }

    /// Brings the current version of a page into the buffer.
    async fn bring(&mut self, fetch: Fetch, permit: Permit) -> Permit {
        let Fetch {
            page,
            psn,
            source,
            begins,
            counts,
        } = fetch;
        let (system, node) = (self.system, self.node);
        let partition = (page >> 32) as usize;
        let copy = node.buffer.borrow().version(page);
        let fetched = node.fetching.borrow().contains_key(&page);
        let hit = copy == Some(psn) && !fetched && !begins;
        if counts {
            let mut tally = system.tally.borrow_mut();
            let tally = &mut tally.partitions[partition];
            tally.accesses += 1;
            tally.hits += u64::from(hit);
            tally.invalidations += u64::from(copy.is_some_and(|copy| copy < psn));
            let sent = matches!(source, PageSource::Message | PageSource::Gem(_));
            tally.from_nodes += u64::from(!hit && sent);
        }
        if hit || copy == Some(psn) {
            let replaced = node.buffer.borrow_mut().reuse(page);
            let permit = self.make_room(replaced, permit).await;
            return if fetched {
                self.join_fetch(page, permit).await
            } else {
                permit
            };
        }
        let replaced = node.buffer.borrow_mut().install(page, psn, false);
        let reads = match source {
            PageSource::Message | PageSource::Gem(_) => false,
            PageSource::Storage => !begins || system.parameters.node.new_page_reads,
            PageSource::Copy => unreachable!("a copy is kept from the grant on"),
        };
        if !reads {
            let permit = self.make_room(replaced, permit).await;
            if matches!(source, PageSource::Gem(_)) {
                self.page_of_gem().await;
            }
            return permit;
        }
        node.fetching.borrow_mut().insert(page, Vec::new());
        let permit = self.make_room(replaced, permit).await;
        let permit = self.read(page, permit).await;
        let others = node.fetching.borrow_mut().remove(&page);
        others
            .into_iter()
            .flatten()
            .for_each(|other| other.fire(()));
        permit
    }

    /// Another transaction of the node is reading the page: waits until it is read.
    async fn join_fetch(&mut self, page: u64, permit: Permit) -> Permit {
        let signal = Signal::new(&self.system.kernel);
        match self.node.fetching.borrow_mut().get_mut(&page) {
            Some(others) => others.push(signal.clone()),
            None => return permit,
        }
        drop(permit);
        let began = self.system.kernel.now();
        signal.wait().await;
        self.accounts
            .book(Part::Io, self.system.kernel.now() - began);
        self.cpu().await
    }

    /// A page has lost its frame to this transaction's: a process writes it if it was modified.
    async fn make_room(
        &mut self,
        replaced: Option<super::buffer::Replaced>,
        permit: Permit,
    ) -> Permit {
        let Some(written) = coherence::write_replaced(self.system, self.node, replaced) else {
            return permit;
        };
        drop(permit);
        let began = self.system.kernel.now();
        written.wait().await;
        self.accounts
            .book(Part::Io, self.system.kernel.now() - began);
        self.cpu().await
    }

    /// Commit: log and forced pages (phase 1), then locks (phase 2).
    async fn commit(&mut self, instructions: f64) {
        let system = self.system;
        let mut permit = self.cpu().await;
        self.compute_about(instructions).await;
        if !self.modified.is_empty() {
            self.node.log_pages.set(self.node.log_pages.get() + 1);
            let log_page = self.node.log_pages.get();
            permit = self
                .write(&self.node.log, log_page, Draws::Log, permit)
                .await;
            if system.parameters.update == Update::Force {
                permit = self.force(permit).await;
            }
        }
        for Modified { page, psn } in std::mem::take(&mut self.modified) {
            let mut buffer = self.node.buffer.borrow_mut();
            let locked = system.partitions[(page >> 32) as usize].locks;
            let ours = !locked || self.node.machine.borrow().writes_back(PageId(page));
            let modified = system.parameters.update == Update::Noforce && ours;
            let before = psn;
            let psn = if locked { psn.next() } else { psn };
            buffer.commit(page, psn, modified);
            buffer.unfix(page);
            drop(buffer);
            if locked {
                self.count_made_invalid(page, before);
            }
        }
        self.end(Outcome::Committed).await;
        drop(permit);
    }

    /// A new version of a page was committed: counts the other nodes' copies of the one before, which were valid so far.
    fn count_made_invalid(&self, page: u64, before: Psn) {
        let others = self.system.nodes.iter();
        let others = others.filter(|node| node.id != self.node.id);
        let valid = others.filter(|node| node.version(page) == Some(before));
        let mut tally = self.system.tally.borrow_mut();
        tally.partitions[(page >> 32) as usize].made_invalid += valid.count() as u64;
    }

    /// A deadlock's victim releases its locks and pages.
    async fn abort(&mut self) {
        for Modified { page, .. } in std::mem::take(&mut self.modified) {
            self.node.buffer.borrow_mut().unfix(page);
        }
        self.latest = None;
        self.system.tally.borrow_mut().deadlocks += 1;
        let permit = self.cpu().await;
        self.end(Outcome::Aborted).await;
        drop(permit);
    }

    async fn end(&mut self, outcome: Outcome) {
        let began = self.system.kernel.now();
        let transaction = self.id;
        coherence::drive(
            self.system,
            self.node,
            Input::End {
                transaction,
                outcome,
            },
        )
        .await;
        self.accounts
            .book(Part::Gem, self.system.kernel.now() - began);
    }

    /// Waits for a processor.
    pub(super) async fn cpu(&mut self) -> Permit {
        let permit = self.node.cpu.acquire().await;
        self.accounts.book(Part::CpuWait, permit.waited());
        permit
    }

    /// So many instructions on the processor that is held.
    pub(super) async fn compute(&mut self, instructions: f64) {
        let span = self.system.instructions(instructions);
        self.system.kernel.wait(span).await;
        self.accounts.book(Part::CpuService, span);
    }

    /// So many instructions on average.
    async fn compute_about(&mut self, instructions: f64) {
        let distribution = self.system.parameters.node.path_lengths;
        let factor = factor(distribution, &mut self.path_lengths);
        self.compute(instructions * factor).await;
    }
}
