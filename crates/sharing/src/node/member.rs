//! A node that runs: its shell, the threads that use it, and one of its own. That one hears the other nodes, looks
//! after failed ones, and looks for deadlocks.
//!
//! One more thread watches the processes of the other nodes. Its pidfd reports the end of a process at once, and its
//! advisory lock decides that it is dead ([`Segment::find_dead`](crate::lock_table::Segment::find_dead)).

use super::NodeError;
use super::fencing::{Fence, Waiting};
use super::imposed::sleep;
use super::layout::{CLIENTS, Common};
use super::observer::Observer;
use super::opening::Here;
use super::running::{self, AtLocal, Runs};
use super::shell::Shell;
use super::tables::{JournalSource, Known, LogRows, Seat, Seated};
use super::transaction::Transaction;
use crate::lock_table;
use crate::protocol::{
    Counters, LockMode, NodeId, Outcome, PageId, Protocol, TransactionId, UpdateStrategy,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_base::sync::thread;
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

/// The state that the threads of a node share.
#[derive(Debug)]
pub(super) struct Member {
    pub here: Arc<Here>,
    /// The tables that it has read of.
    pub known: Known,
    pub shell: Mutex<Shell>,
    /// A transaction may have what it waited for.
    pub changed: Condvar,
    stopping: AtomicBool,
    /// The node has stopped: no thread may begin to write to shared memory.
    stopped: AtomicBool,
    /// Threads that publish, write the log or apply redo in the node's name: as long as there is one, the node
    /// must not be taken for dead.
    writing: AtomicU64,
    /// Threads that wait for other nodes, or for those that have failed to be recovered.
    pub waiting: AtomicU64,
    committed: AtomicU64,
    rerun: AtomicU64,
}

/// A node of a database that several share. Dropped, it leaves: what it has committed is there, what runs on it
/// is undone, and the others free what it held.
#[derive(Debug)]
pub struct Node {
    member: Arc<Member>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// Counts of a node.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NodeStatistics {
    /// Transactions that have changed something and are durable.
    pub committed: u64,
    /// Transactions that were run again, as they were chosen to end a deadlock.
    pub rerun: u64,
    /// Pages that were granted and that the buffer had in that version.
    pub hits: u64,
    /// Pages that were granted and had to be fetched: from another node, or from storage.
    pub misses: u64,
    /// The protocol's counts.
    pub protocol: Counters,
}

impl Node {
    pub(super) fn start(here: Arc<Here>, entries: lock_table::Node) -> Result<Self, NodeError> {
        let options = &here.options;
        let mut shell = Shell::new(
            here.gem.clone(),
            entries,
            options.update,
            options.read_authorisation,
            options.buffer_pages,
        );
        // Before anything else, so that no dead node gets a request.
        shell.look_after_failures()?;
        let member = Arc::new(Member {
            here,
            known: Known::default(),
            shell: Mutex::new(shell),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            writing: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            rerun: AtomicU64::new(0),
        });
        let mut node = Node {
            member: member.clone(),
            threads: Vec::new(),
        };
        let refused = NodeError::system("start a thread");
        let (hearing, watching) = (member.clone(), member);
        for (name, body) in [
            (
                "node",
                Box::new(move || hearing.serve()) as Box<dyn FnOnce() + Send>,
            ),
            ("node-watch", Box::new(move || watching.watch())),
        ] {
            let started = thread::Builder::new().name(name.into()).spawn(body);
            node.threads.push(started.map_err(&refused)?);
        }
        Ok(node)
    }

    /// Its slot.
    pub fn slot(&self) -> usize {
        self.member.shell.lock().slot
    }

    /// Its name: one life of the slot.
    pub fn id(&self) -> NodeId {
        self.member.shell.lock().node
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
        running::run(&*self.member, work)
    }

    /// True if it continues. If not it never does, and is to be dropped.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), NodeError> {
        match self.member.stopped.load(Ordering::SeqCst) {
            true => self.member.shell.lock().check(),
            false => Ok(()),
        }
    }

    /// Its statistics.
    pub fn statistics(&self) -> NodeStatistics {
        let shell = self.member.shell.lock();
        NodeStatistics {
            committed: self.member.committed.load(Ordering::Relaxed),
            rerun: self.member.rerun.load(Ordering::Relaxed),
            hits: shell.local.buffer.hits,
            misses: shell.local.buffer.misses,
            protocol: *shell.machine.counters(),
        }
    }

    fn leave(&mut self) -> Result<(), NodeError> {
        let mut shell = self.member.shell.lock();
        shell.check()?;
        shell.write_back(usize::MAX)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if !self.member.here.process.is_current() {
            self.threads.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.member.clone());
            return;
        }
        if let Err(error) = self.leave() {
            tracing::warn!(%error, "a node leaves without having written its pages back");
        }
        self.member.stopping.store(true, Ordering::SeqCst);
        let (gem, slot) = (self.member.here.gem.clone(), self.slot());
        gem.wake(slot);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        // From here on it is as dead: the others free what it held.
        self.member.shell.lock().leave();
        gem.tell_failures();
    }
}

/// A thread that writes to what all share, in the node's name.
struct Writing<'a>(&'a Member);

impl<'a> Writing<'a> {
    fn begin(member: &'a Member) -> Result<Self, NodeError> {
        member.writing.fetch_add(1, Ordering::SeqCst);
        let writing = Writing(member);
        match member.stopped.load(Ordering::SeqCst) {
            false => Ok(writing),
            true => member.shell.lock().check().map(|()| writing),
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.writing.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Runs for Member {
    fn begin(&self) -> Result<TransactionId, NodeError> {
        self.here.process.check()?;
        let mut shell = self.shell.lock();
        shell.check()?;
        Ok(shell.begin())
    }

    fn commit(&self, number: TransactionId, ended: &mut bool) -> Result<(), NodeError> {
        let here = &*self.here;
        let (frame, node, update) = {
            let mut shell = self.shell.lock();
            (shell.frame(number), shell.node, shell.update())
        };
        let Some(mut frame) = frame else {
            // The data that it has read is durable, since others keep their locks until then: only its locks are to be
            // released.
            return Ok(());
        };
        frame.client = CLIENT.with(|client| *client);
        let writing = Writing::begin(self)?;
        let end = here.log.publish(&here.gem, node, &frame)?;
        *ended = true;
        let durable = here
            .log
            .wait(&here.gem, node, end)
            .and_then(|()| match update {
                UpdateStrategy::Force => here.gem.apply(node, end).inspect(|()| {
                    let pages = frame.pages.len() as u32;
                    sleep(here.options.imposed.page_write * pages);
                }),
                UpdateStrategy::NoForce => Ok(()),
            });
        drop(writing);
        let mut shell = self.shell.lock();
        if let Err(error) = durable {
            // It has happened and may be lost: no transaction may continue from it here.
            shell.stop(error.clone());
            return Err(error);
        }
        shell.end(number, Outcome::Committed)?;
        drop(shell);
        self.changed.notify_all();
        self.committed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn undo(&self, number: TransactionId) {
        let mut shell = self.shell.lock();
        // If the node has stopped its locks are recovered by others.
        let _ = shell.end(number, Outcome::Aborted);
        drop(shell);
        self.changed.notify_all();
    }

    fn runs_again(&self) {
        self.rerun.fetch_add(1, Ordering::Relaxed);
    }

    fn with_page(
        &self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        then: AtLocal<'_>,
    ) -> Result<(), NodeError> {
        then(&mut self.lock_page(transaction, page, mode)?.local)
    }

    fn with_local(&self, then: AtLocal<'_>) -> Result<(), NodeError> {
        let mut shell = self.shell.lock();
        shell.check()?;
        then(&mut shell.local)
    }

    fn slot(&self) -> usize {
        self.shell.lock().slot
    }

    fn pages(&self) -> u64 {
        self.here.gem.shape().pages as u64
    }

    fn database(&self) -> u64 {
        self.here.manifest.identity
    }

    fn transaction_bytes_max(&self) -> usize {
        self.here.log.transaction_bytes_max(&self.here.gem)
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn observer(&self) -> Option<&dyn Observer> {
        self.here.options.observer.as_deref()
    }

    fn journal_rows(
        &self,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError> {
        self.here.process.check()?;
        let here = &*self.here;
        let before_group = here.gem.log_state().end().position.group;
        let rows = LogRows::open(&here.disk, &here.manifest, journal, range, before_group)?;
        Ok(Box::new(rows))
    }
}

impl Seat for Node {
    fn member(&self) -> Seated<'_> {
        Seated(&*self.member)
    }
}

impl Member {
    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// The body of the node's thread.
    fn serve(&self) {
        let gem = &self.here.gem;
        let slot = self.shell.lock().slot;
        let (mut failures, mut looked, mut busy) = (u64::MAX, Instant::now(), false);
        while !self.stopping() {
            let news = || gem.get(Common::Failures) != failures || self.stopping();
            gem.sleep(slot, if busy { BUSY } else { IDLE }, news);
            let serving = Waiting::begin(&self.waiting);
            let mut shell = self.shell.lock();
            let now = gem.get(Common::Failures);
            let served = self.serve_once(&mut shell, now != failures, &mut looked);
            failures = now;
            busy = shell.local.transactions.values().any(|work| work.waits())
                || !shell.outbox.is_empty()
                || !shell.failed.is_empty();
            let goes_on = served.and_then(|()| shell.check());
            if let Err(error) = goes_on {
                shell.stop(error);
                let node = shell.node;
                drop(shell);
                self.changed.notify_all();
                self.stopped.store(true, Ordering::SeqCst);
                while self.writing.load(Ordering::SeqCst) > 0 {
                    std::thread::sleep(BUSY);
                }
                // As dead: the others need what it holds.
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
        shell: &mut Shell,
        failures: bool,
        looked: &mut Instant,
    ) -> Result<(), NodeError> {
        shell.poll()?;
        if failures || !shell.failed.is_empty() {
            shell.look_after_failures()?;
            shell.recover(&self.here.log)?;
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
        let gem = &self.here.gem;
        let mut watched: Vec<(u32, OwnedFd)> = Vec::new();
        let mut known: Vec<NodeId> = Vec::new();
        let mut fence = Fence::new(self.here.options.stopped_process_wait);
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
                || self.writing.load(Ordering::Relaxed) > 0
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
