//! A node that runs, of any coupling: its shell, the threads that use it, and those of its own.
//!
//! Each first use of a page, each change and each end of a transaction takes the shell's lock for a short time; nothing waits
//! with it. A thread that waits for other nodes looks a while, and then sleeps until the shell has changed.

use super::NodeError;
use super::coupling::Coupling;
use super::imposed::{ImposedTimes, sleep};
use super::observer::Observer;
use super::running::{AtLocal, Runs, wait_for_change};
use super::shell::Shell;
use super::tables::{JournalSource, Known};
use crate::protocol::{Counters, LockMode, NodeId, Outcome, PageId, TransactionId};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::{Condvar, Mutex, MutexGuard};
use sardonyx_base::sync::thread::{self, JoinHandle};
use sardonyx_storage::journal::JournalPosition;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// After so many looks a waiting thread sleeps.
const LOOKS: u32 = 2000;

/// The facts of a node and its database that are known when it begins.
#[derive(Debug)]
pub(in crate::node) struct Facts {
    /// Pages that there may be.
    pub pages: u64,
    /// The database's identity.
    pub database: u64,
    /// The most bytes of redo records of a transaction.
    pub transaction_bytes_max: usize,
    /// Times of devices that are not there.
    pub imposed: ImposedTimes,
    /// The observer of the pages that transactions refer to.
    pub observer: Option<Arc<dyn Observer>>,
}

/// The state that the threads of a node share.
#[derive(Debug)]
pub(in crate::node) struct Member<C: Coupling> {
    pub here: C::Here,
    pub facts: Facts,
    /// The tables that it has read of.
    known: Known,
    pub shell: Mutex<Shell<C>>,
    /// The shell's.
    has_stopped: Arc<AtomicBool>,
    /// A transaction may have its lock or page.
    pub changed: Condvar,
    /// Its threads end.
    pub stopping: Arc<AtomicBool>,
    /// Threads that wait for other nodes, or for those that have failed to be recovered.
    pub waiting: AtomicU64,
    /// The process that it belongs to.
    pub process: Process,
    committed: AtomicU64,
    rerun: AtomicU64,
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

/// A count of threads, until this is dropped.
#[derive(Debug)]
pub(in crate::node) struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    pub fn begin(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Counted(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<C: Coupling> Member<C> {
    pub fn new(
        here: C::Here,
        facts: Facts,
        shell: Shell<C>,
        stopping: Arc<AtomicBool>,
        process: Process,
    ) -> Self {
        Member {
            here,
            facts,
            known: Known::default(),
            has_stopped: shell.has_stopped.clone(),
            shell: Mutex::new(shell),
            changed: Condvar::new(),
            stopping,
            waiting: AtomicU64::new(0),
            process,
            committed: AtomicU64::new(0),
            rerun: AtomicU64::new(0),
        }
    }

    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// The transaction has the lock and the page when this returns.
    fn lock_page(
        &self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
    ) -> Result<MutexGuard<'_, Shell<C>>, NodeError> {
        let pages = self.facts.pages;
        if page.0 >= pages {
            // Refused before any other node gets a request.
            let page = page.0;
            return Err(NodeError::NoPage { page, pages });
        }
        let mut shell = self.shell.lock();
        shell.check()?;
        shell.lock(transaction, page, mode)?;
        let (mut looks, mut until) = (0, None);
        loop {
            shell.check()?;
            if shell.local.has_answer(transaction)? {
                let imposed = self.facts.imposed.page_read;
                if !imposed.is_zero() && shell.local.was_fetched(transaction) {
                    MutexGuard::unlocked(&mut shell, || sleep(imposed));
                    shell.check()?;
                }
                return Ok(shell);
            }
            if looks < LOOKS {
                looks += 1;
                MutexGuard::unlocked(&mut shell, std::hint::spin_loop);
                if C::look(&mut shell)? {
                    self.changed.notify_all();
                }
                continue;
            }
            if let Some(patience) = C::patience(&self.here) {
                let now = Instant::now();
                if now >= *until.get_or_insert(now + patience) {
                    let seconds = patience.as_secs();
                    return Err(NodeError::TimedOut { seconds });
                }
            }
            let _waiting = Counted::begin(&self.waiting);
            wait_for_change(&self.changed, &mut shell, until)?;
        }
    }
}

impl<C: Coupling> Runs for Member<C> {
    fn check_runs(&self) -> Result<(), NodeError> {
        match self.has_stopped.load(Ordering::SeqCst) {
            true => self.shell.lock().check(),
            false => Ok(()),
        }
    }

    fn begin(&self) -> Result<TransactionId, NodeError> {
        self.process.check()?;
        let mut shell = self.shell.lock();
        shell.check()?;
        Ok(shell.begin())
    }

    fn commit(&self, number: TransactionId, ended: &mut bool) -> Result<(), NodeError> {
        let frame = self.shell.lock().local.frame(number);
        let Some(frame) = frame else {
            // The data that it has read is durable, since others keep their locks until then: only its locks are to be
            // released.
            return C::check_read(self);
        };
        let durable = C::make_durable(self, frame, ended);
        let mut shell = self.shell.lock();
        if let Err(error) = durable {
            if *ended {
                // It has happened and may be lost: no transaction may continue from it here.
                shell.stop(&error);
                drop(shell);
                self.changed.notify_all();
            }
            return Err(error);
        }
        shell.end(number, Outcome::Committed)?;
        drop(shell);
        self.changed.notify_all();
        self.committed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn undo(&self, number: TransactionId) {
        // If the node has stopped its locks are recovered by others.
        let _ = self.shell.lock().end(number, Outcome::Aborted);
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
        C::pool(&self.shell.lock())
    }

    fn pages(&self) -> u64 {
        self.facts.pages
    }

    fn database(&self) -> u64 {
        self.facts.database
    }

    fn transaction_bytes_max(&self) -> usize {
        self.facts.transaction_bytes_max
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn observer(&self) -> Option<&dyn Observer> {
        self.facts.observer.as_deref()
    }

    fn journal_rows(
        &self,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError> {
        self.process.check()?;
        C::journal_rows(self, journal, range)
    }
}

/// A member and its threads: a node of any coupling.
#[derive(Debug)]
pub(in crate::node) struct Running<C: Coupling> {
    pub member: Arc<Member<C>>,
    threads: Vec<JoinHandle<()>>,
}

impl<C: Coupling> Running<C> {
    pub fn new(member: Arc<Member<C>>) -> Self {
        Running {
            member,
            threads: Vec::new(),
        }
    }

    /// Starts a thread that ends when the member is [stopping](Member::stopping).
    ///
    /// # Errors
    /// [`NodeError::System`].
    pub fn start(
        &mut self,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), NodeError> {
        let started = thread::Builder::new().name(name.into()).spawn(body);
        self.threads
            .push(started.map_err(NodeError::system("start a thread"))?);
        Ok(())
    }

    /// The node's number, in this life.
    pub fn number(&self) -> NodeId {
        self.member.shell.lock().node()
    }

    /// The node's statistics.
    pub fn statistics(&self) -> NodeStatistics {
        let shell = self.member.shell.lock();
        NodeStatistics {
            committed: self.member.committed.load(Ordering::Relaxed),
            rerun: self.member.rerun.load(Ordering::Relaxed),
            hits: shell.local.buffer.hits,
            misses: shell.local.buffer.misses,
            protocol: shell.coupling.counters(),
        }
    }

    /// In a forked child nothing may be touched: threads and locks are the parent's. Returns true there.
    pub fn is_left_to_parent(&mut self) -> bool {
        let forked = !self.member.process.is_current();
        if forked {
            self.threads.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.member.clone());
        }
        forked
    }

    /// Waits for the threads, which were asked to end.
    pub fn join(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
