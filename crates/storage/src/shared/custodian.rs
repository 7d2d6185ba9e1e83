//! The custodian: the threads that have the [`Custody`] of a shared database, in the one process
//! that holds the custodian's lock. Every process has a candidate; when the custodian's process
//! ends or is killed, its lock goes, and one of the others takes over.
//!
//! While a successor recovers DB', no segment is prepared; the leaders go on for as long as those last
//! that were prepared ahead, and then wait. So `segment_bytes` bounds what can be written meanwhile.
//!
//! A custodian that *fails* says why in the shared state. If the disk failed, that is the end of
//! custody until the database is opened anew, as it is for every other way: after a failed sync
//! nobody knows what is stable of what can be read, and a successor would recover from just that.
//! If it found no room or no descriptor, and left nothing half done, it tries again itself.
//! If it was its own trouble (memory, or a panic), another process tries, but this one not again: so a cause that
//! is everybody's costs each process one recovery and no more. Transactions go on until the log is
//! full, and are then refused with that reason.
//!
//! Invariants: I6 and I9 (two custodians never write the backup: the lock goes only when the last
//! thread of the process that holds it is gone), I10.

use super::custody::{Custody, CustodyError, Preparing};
use super::opening::CUSTODIAN_FILE;
use super::{SharedLogError, SharedLogState};
use crate::disk::{Disk, DiskLock};
use crate::engine::StorageOptions;
use crate::log::supply::Supplied;
use crate::manifest::Manifest;
use crate::supervisor::{Supervisor, join};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::sync::thread::JoinHandle;
use sardonyx_base::user_code::message_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often what nobody waits for is made durable, at most.
const FLUSH_EVERY: Duration = Duration::from_millis(10);

/// How long a custodian sleeps that had nothing to do, unless it is woken.
const IDLE: Duration = Duration::from_millis(100);

/// How long it sleeps while a checkpoint is being taken that somebody waits for.
const SERVING: Duration = Duration::from_millis(1);

/// The memory that the processes share, as the storage sees it.
pub trait SharedMemory: Send + Sync {
    /// The log's state in it.
    fn log_state(&self) -> &SharedLogState;

    /// Makes durable what is published and nobody waits for; returns at once if there is nothing.
    /// Called every ten milliseconds while the log grows; after a quiet time it may be ten times
    /// that, unless whoever commits without waiting calls [`SharedLogState::notify`] once.
    /// Must not wait for room in the log: its caller is the one who makes it.
    ///
    /// # Errors
    /// Those of [`super::LogLeader::write_group`]. They are not looked at: it is called again.
    fn flush(&self) -> Result<(), SharedLogError>;
}

/// A process's candidate for custodian, and the custodian itself while it is.
#[derive(Debug)]
pub struct Custodian {
    office: Arc<Office>,
    supervisor: Arc<Supervisor>,
    thread: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Office {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    options: StorageOptions,
    shared: Arc<dyn SharedMemory>,
    stopping: AtomicBool,
}

impl std::fmt::Debug for Office {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Office");
        shown.field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl Custodian {
    /// Starts a candidate. `custody`: what the first opening recovered
    /// ([`super::FirstOpening::custody`]), so that the first custodian need not recover again; it is
    /// not used if another process was custodian meanwhile.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    pub fn start(
        disk: Arc<dyn Disk>,
        manifest: Manifest,
        options: &StorageOptions,
        shared: Arc<dyn SharedMemory>,
        custody: Option<Custody>,
    ) -> Custodian {
        let office = Arc::new(Office {
            disk,
            manifest,
            options: options.clone(),
            shared,
            stopping: AtomicBool::new(false),
        });
        let (at_work, told) = (office.clone(), office.clone());
        // Outside of its custody; what happens in it is told while its lock is held.
        let supervisor = Supervisor::new(move |error| {
            let state = told.shared.log_state();
            state.fail_custody(&error.to_string(), false);
        });
        let thread = supervisor.spawn("custodian", move || at_work.run(custody));
        Custodian {
            office,
            supervisor,
            thread: Some(thread),
        }
    }

    /// Stops, and lets another process take over. Waits for a block of the backup that is being
    /// written.
    pub fn stop(mut self) {
        self.stop_and_join();
    }

    fn stop_and_join(&mut self) {
        self.office.stopping.store(true, Ordering::SeqCst);
        self.office.shared.log_state().notify();
        // The memory's last handle may go on its own thread: it ends by itself then.
        let own = self.supervisor.is_own_thread();
        let thread = self.thread.take();
        self.supervisor.end(thread, own, join);
    }
}

impl Drop for Custodian {
    fn drop(&mut self) {
        self.stop_and_join();
    }
}

/// Ends the preparing thread, also if following panics.
struct Ending<'a> {
    done: &'a AtomicBool,
    state: &'a SharedLogState,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        self.state.notify();
    }
}

impl Office {
    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn run(&self, custody: Option<Custody>) {
        let Some(lock) = self.enter() else {
            return;
        };
        let state = self.shared.log_state();
        // Somebody may have been custodian between our recovery and now: then the backup is not as
        // we know it.
        let custody = custody.filter(|_| state.custodians() == 0);
        state.begin_custody();
        // If it panics, that is said while the lock is held: the next one forgets what it finds said.
        let held = catch_unwind(AssertUnwindSafe(|| self.hold(custody)));
        let held = held.unwrap_or_else(|payload| Err(CustodyError::panicked(message_of(payload))));
        if let Err(error) = held {
            tracing::error!(%error, "the custodian stopped");
            state.fail_custody(&error.to_string(), !error.is_local());
        }
        state.end_custody();
        drop(lock);
        // Whoever waits for the lock looks at it from time to time; this makes it soon.
        self.shared.log_state().notify();
    }

    /// Waits for the custodian's lock; `None` if stopped meanwhile, or if custody has ended.
    fn enter(&self) -> Option<Box<dyn DiskLock>> {
        let state = self.shared.log_state();
        let mut seen = state.changes();
        while !self.stopping() && !state.custody_has_ended() {
            match self.disk.lock(CUSTODIAN_FILE) {
                // It may have ended while we took the lock.
                Ok(Some(_)) if state.custody_has_ended() => {}
                Ok(Some(lock)) => return Some(lock),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "cannot take the custodian's lock"),
            }
            seen = state.wait(seen, IDLE);
        }
        None
    }

    fn hold(&self, custody: Option<Custody>) -> Result<(), CustodyError> {
        let state = self.shared.log_state();
        let mut custody = match custody {
            Some(custody) => custody,
            None => Custody::take_over(&self.disk, &self.manifest, &self.options, state)?,
        };
        custody.start();
        let preparing = custody.preparing();
        let done = AtomicBool::new(false);
        let died = Mutex::new(None);
        let outcome = std::thread::scope(|scope| {
            sardonyx_base::signals::spawn_scoped(scope, || {
                let prepare = AssertUnwindSafe(|| self.prepare(&preparing, &done));
                if let Err(payload) = catch_unwind(prepare) {
                    *died.lock() = Some(message_of(payload));
                    state.notify();
                }
            });
            let _ending = Ending { done: &done, state };
            self.follow(&mut custody, &died)
        });
        // Before the lock goes: nothing of ours may write any more.
        custody.close();
        outcome
    }

    /// `died`: what the preparing thread panicked with, if it did: nobody would make room any more.
    fn follow(
        &self,
        custody: &mut Custody,
        died: &Mutex<Option<String>>,
    ) -> Result<(), CustodyError> {
        let state = self.shared.log_state();
        let mut seen = state.changes();
        let mut flushed = Instant::now();
        while !self.stopping() {
            if let Some(message) = died.lock().take() {
                return Err(CustodyError::panicked(message));
            }
            let busy = match custody.tick(state) {
                Err(error) if error.may_be_tried_again() => {
                    tracing::warn!(%error, "the custodian tries again");
                    false
                }
                ticked => ticked?,
            };
            if flushed.elapsed() >= FLUSH_EVERY {
                // Whoever waits for it is told itself.
                if let Err(error) = self.shared.flush() {
                    tracing::debug!(%error, "nothing was flushed");
                }
                flushed = Instant::now();
            }
            let at_most = match (custody.is_serving(), busy) {
                (true, _) => SERVING,
                (false, true) => FLUSH_EVERY,
                (false, false) => IDLE,
            };
            seen = state.wait(seen, at_most);
        }
        Ok(())
    }

    /// Keeps segments prepared. The body of a thread: filling a file takes long.
    fn prepare(&self, preparing: &Preparing, done: &AtomicBool) {
        let state = self.shared.log_state();
        let mut seen = state.changes();
        while !done.load(Ordering::SeqCst) {
            match preparing.step(state) {
                Supplied::OneMore => {}
                Supplied::Enough => seen = state.wait(seen, IDLE),
                Supplied::Waits | Supplied::Refused => seen = state.wait(seen, FLUSH_EVERY),
            }
        }
    }
}
