//! A closely coupled node that runs. A thread of its own hears the other nodes, looks after failed ones, and looks for
//! deadlocks.
//!
//! One more thread watches the processes of the other nodes. Its pidfd reports the end of a process at once, and its
//! advisory lock decides that it is dead ([`Segment::find_dead`](crate::lock_table::Segment::find_dead)).

use super::NodeError;
use super::close::Close;
use super::fencing::Fence;
use super::imposed::sleep;
use super::layout::{CLIENTS, Common};
use super::member::{Counted, Facts, Member, NodeStatistics, Running};
use super::opening::Here;
use super::ring::Frame;
use super::running;
use super::shell::Shell;
use super::tables::{JournalSource, LogRows, Seat, Seated};
use super::transaction::Transaction;
use crate::lock_table;
use crate::protocol::{NodeId, UpdateStrategy};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sardonyx_storage::journal::JournalPosition;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The longest sleep of the node's thread: while transactions wait, and while none does.
const BUSY: Duration = Duration::from_millis(2);
const IDLE: Duration = Duration::from_millis(20);

/// A transaction that has waited for so long may be in a deadlock.
const SUSPECT_AFTER: Duration = Duration::from_millis(4);

/// The interval at which the watch looks for processes.
const WATCH: Duration = Duration::from_millis(20);

/// The clients so far: each thread that commits is one.
static NEXT_CLIENT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CLIENT: usize = NEXT_CLIENT.fetch_add(1, Ordering::Relaxed) % CLIENTS;
}

/// The process' part for a closely coupled node.
#[derive(Debug)]
pub(super) struct CloseHere {
    shared: Arc<Here>,
    /// The node has stopped: no thread may begin to write to shared memory.
    stopped: AtomicBool,
    /// Threads that publish, write the log or apply redo in the node's name: as long as there is one, the node
    /// must not be taken for dead.
    writing: AtomicU64,
}

/// A node of a database that several share. Dropped, it leaves: its commits stay, its running transactions are undone,
/// and the others free its locks.
#[derive(Debug)]
pub struct Node {
    running: Running<Close>,
}

impl Node {
    pub(super) fn start(shared: Arc<Here>, entries: lock_table::Node) -> Result<Self, NodeError> {
        let options = &shared.options;
        let mut shell = Close::shell(
            shared.gem.clone(),
            entries,
            options.update,
            options.read_authorisation,
            options.buffer_pages,
        );
        // Before anything else, so that no dead node gets a request.
        shell.look_after_failures()?;
        let facts = Facts {
            pages: shared.gem.shape().pages as u64,
            database: shared.manifest.identity,
            transaction_bytes_max: shared.log.transaction_bytes_max(&shared.gem),
            imposed: options.imposed,
            observer: options.observer.clone(),
        };
        let process = shared.process;
        let here = CloseHere {
            shared,
            stopped: AtomicBool::new(false),
            writing: AtomicU64::new(0),
        };
        let member = Arc::new(Member::new(here, facts, shell, Arc::default(), process));
        let (hearing, watching) = (member.clone(), member.clone());
        let mut node = Node {
            running: Running::new(member),
        };
        node.running.start("node", move || hearing.serve())?;
        node.running.start("node-watch", move || watching.watch())?;
        Ok(node)
    }

    /// The node's place in the shared memory, which later nodes get again.
    pub fn slot(&self) -> usize {
        self.running.member.shell.lock().coupling.slot
    }

    /// Its name: one life of the slot.
    pub fn id(&self) -> NodeId {
        self.running.number()
    }

    /// Runs a transaction: when this returns without an error it has happened, and is on stable storage. A
    /// deadlock's victim is run again; so the closure must not have other effects.
    ///
    /// # Errors
    /// The closure's: the transaction is undone. [`NodeError::Log`]: the log has no room, or it failed and the
    /// transaction's outcome is unknown. [`NodeError::Stopped`].
    pub fn run<R, E: From<NodeError>>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        running::run(&*self.running.member, work)
    }

    /// True if it continues. If not it never does, and is to be dropped.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), NodeError> {
        let member = &*self.running.member;
        match member.here.stopped.load(Ordering::SeqCst) {
            true => member.shell.lock().check(),
            false => Ok(()),
        }
    }

    /// Counts since the node joined.
    pub fn statistics(&self) -> NodeStatistics {
        self.running.statistics()
    }

    fn leave(&mut self) -> Result<(), NodeError> {
        let mut shell = self.running.member.shell.lock();
        shell.check()?;
        shell.write_back(usize::MAX)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.running.is_left_to_parent() {
            return;
        }
        if let Err(error) = self.leave() {
            tracing::warn!(%error, "a node leaves without having written its pages back");
        }
        let (member, slot) = (self.running.member.clone(), self.slot());
        member.stopping.store(true, Ordering::SeqCst);
        let gem = &member.here.shared.gem;
        gem.wake(slot);
        self.running.join();
        // From here on it is as dead: the others free its locks.
        member.shell.lock().leave();
        gem.tell_failures();
    }
}

impl CloseHere {
    /// Begins to write to the shared memory, in the node's name.
    fn begin_writing<'a>(&'a self, member: &Member<Close>) -> Result<Counted<'a>, NodeError> {
        let writing = Counted::begin(&self.writing);
        match self.stopped.load(Ordering::SeqCst) {
            false => Ok(writing),
            true => member.shell.lock().check().map(|()| writing),
        }
    }

    /// See [`Coupling::make_durable`](super::coupling::Coupling::make_durable).
    pub fn make_durable(
        member: &Member<Close>,
        mut frame: Frame,
        ended: &mut bool,
    ) -> Result<(), NodeError> {
        let shared = &*member.here.shared;
        let (node, update) = {
            let shell = member.shell.lock();
            (shell.node(), shell.coupling.update)
        };
        frame.client = CLIENT.with(|client| *client);
        let _writing = member.here.begin_writing(member)?;
        let end = shared.log.publish(&shared.gem, node, &frame)?;
        *ended = true;
        shared.log.wait(&shared.gem, node, end)?;
        if update == UpdateStrategy::Force {
            shared.gem.apply(node, end)?;
            sleep(member.facts.imposed.page_write * frame.pages.len() as u32);
        }
        Ok(())
    }

    /// See [`Runs::journal_rows`](super::running::Runs::journal_rows).
    pub fn journal_rows(
        &self,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError> {
        let shared = &*self.shared;
        let before_group = shared.gem.log_state().end().position.group;
        let rows = LogRows::open(&shared.disk, &shared.manifest, journal, range, before_group)?;
        Ok(Box::new(rows))
    }
}

impl Seat for Node {
    fn member(&self) -> Seated<'_> {
        Seated(&*self.running.member)
    }
}

impl Member<Close> {
    /// The body of the node's thread.
    fn serve(&self) {
        let gem = &self.here.shared.gem;
        let slot = self.shell.lock().coupling.slot;
        let (mut failures, mut looked, mut busy) = (u64::MAX, Instant::now(), false);
        while !self.stopping() {
            let news = || gem.get(Common::Failures) != failures || self.stopping();
            gem.sleep(slot, if busy { BUSY } else { IDLE }, news);
            let serving = Counted::begin(&self.waiting);
            let mut shell = self.shell.lock();
            let now = gem.get(Common::Failures);
            let served = self.serve_once(&mut shell, now != failures, &mut looked);
            failures = now;
            busy = shell.local.transactions.values().any(|work| work.waits())
                || !shell.coupling.outbox.is_empty()
                || !shell.coupling.failed.is_empty();
            let goes_on = served.and_then(|()| shell.check());
            if let Err(error) = goes_on {
                shell.stop(&error);
                let node = shell.node();
                drop(shell);
                self.changed.notify_all();
                self.here.stopped.store(true, Ordering::SeqCst);
                while self.here.writing.load(Ordering::SeqCst) > 0 {
                    std::thread::sleep(BUSY);
                }
                // As dead: the others need its locks.
                gem.segment().table().fail(node);
                gem.tell_failures();
                return;
            }
            drop(shell);
            self.changed.notify_all();
            drop(serving);
        }
    }

    fn serve_once(
        &self,
        shell: &mut Shell<Close>,
        failures: bool,
        looked: &mut Instant,
    ) -> Result<(), NodeError> {
        shell.poll()?;
        if failures || !shell.coupling.failed.is_empty() {
            shell.look_after_failures()?;
            shell.recover(&self.here.shared.log)?;
            shell.finish_recovery()?;
        }
        if looked.elapsed() >= SUSPECT_AFTER {
            *looked = Instant::now();
            shell.suspect()?;
        }
        Ok(())
    }

    /// The body of the thread that watches the others' processes.
    fn watch(&self) {
        let gem = &self.here.shared.gem;
        let mut watched: Vec<(u32, OwnedFd)> = Vec::new();
        let mut known: Vec<NodeId> = Vec::new();
        let mut fence = Fence::new(self.here.shared.options.stopped_process_wait);
        while !self.stopping() {
            let own = std::process::id();
            let there: Vec<u32> = gem
                .living()
                .map(|slot| gem.segment().process_of(slot))
                .filter(|&process| process != own)
                .collect();
            watched.retain(|(process, _)| there.contains(process));
            for process in there {
                let pid = Pid::from_raw(process as i32);
                if let Some(pid) =
                    pid.filter(|_| watched.iter().all(|(other, _)| *other != process))
                    && let Ok(file) = pidfd_open(pid, PidfdFlags::empty())
                {
                    watched.push((process, file));
                }
            }
            let mut files: Vec<PollFd<'_>> = watched
                .iter()
                .map(|(_, file)| PollFd::new(file, PollFlags::IN))
                .collect();
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: WATCH.subsec_nanos().into(),
            };
            let _ = poll(&mut files, Some(&timeout));
            drop(files);
            let waits = self.waiting.load(Ordering::Relaxed) > 0
                || self.here.writing.load(Ordering::Relaxed) > 0
                || !known.is_empty();
            fence.look(&watched, waits);
            let dead = gem.segment().find_dead();
            if dead.iter().any(|node| !known.contains(node)) {
                gem.tell_failures();
            }
            known = dead;
        }
    }
}
