//! The election of the process that drives the work behind a shared log, with its [`Driver`]: the one that
//! holds the driver's lock. Every process has a candidate; when the driver's process
//! ends or is killed, its lock goes, and one of the others takes over.
//!
//! While a successor recovers DB', no segment is prepared; the leaders go on until the prepared ones are used, and
//! then wait. So `segment_bytes` bounds the log of that time.
//!
//! A driver that *fails* publishes the reason in the shared state. If the disk failed, no other one starts until the
//! database is opened anew, as for every other way. After a failed sync it is unknown which readable data is stable,
//! and a successor would recover from just that. If it found no room or no descriptor, and
//! left nothing half done, it tries again itself. If it was its own fault (memory, or a panic), another
//! process tries, but this one not again. So a cause common to all costs each process one recovery and no
//! more. Transactions go on until the log is full, and are then refused with that reason.
//!
//! Invariants: I6 and I9 (two drivers never write the backup: the lock is released only when the last thread
//! of the process that holds it has ended), I10.

use super::driver::{Driver, DriverError};
use super::{ELECTION_FILE, StorageOptions};
use crate::disk::{Disk, DiskLock};
use crate::log::{LogState, SharedLogError};
use crate::manifest::Manifest;
use crate::supervisor::{Supervisor, Threads};
use sardonyx_base::events;
use sardonyx_base::user_code::message_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The shortest interval at which data that no caller waits for is made durable.
const FLUSH_EVERY: Duration = Duration::from_millis(10);

/// The sleep of an idle driver, unless it is woken.
const IDLE: Duration = Duration::from_millis(100);

/// Its sleep while a checkpoint is being taken for which a caller waits.
const SERVING: Duration = Duration::from_millis(1);

/// The memory that the processes share, as the storage sees it.
pub trait SharedMemory: Send + Sync {
    /// The log's state in it.
    fn log_state(&self) -> &LogState;

    /// Makes published data durable that no caller waits for; returns at once if none is published. Called every ten
    /// milliseconds while the log grows. After a quiet time it may be ten times that, unless a caller that commits
    /// without waiting calls [`LogState::notify`] once. Must not wait for room in the log: its caller makes that room.
    ///
    /// # Errors
    /// The errors of [`crate::log::LogLeader::write_group`]. They are ignored: it is called again.
    fn flush(&self) -> Result<(), SharedLogError>;
}

/// A process's candidate for driver, and the driver itself while it is.
#[derive(Debug)]
pub struct Election {
    candidate: Arc<Candidate>,
    threads: Threads,
}

/// The state that the threads share.
struct Candidate {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    options: StorageOptions,
    shared: Arc<dyn SharedMemory>,
    stopping: AtomicBool,
}

impl std::fmt::Debug for Candidate {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Candidate");
        shown.field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl Election {
    /// Starts a candidate. `driver`: the state that the first opening recovered ([`super::FirstOpening::driver`]), so
    /// that the first driver need not recover again. It is not used if another process was driver meanwhile.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    #[inline]
    pub fn start(
        disk: Arc<dyn Disk>,
        manifest: Manifest,
        options: &StorageOptions,
        shared: Arc<dyn SharedMemory>,
        driver: Option<Driver>,
    ) -> Election {
        let candidate = Arc::new(Candidate {
            disk,
            manifest,
            options: options.clone(),
            shared,
            stopping: AtomicBool::new(false),
        });
        let (at_work, told) = (candidate.clone(), candidate.clone());
        // Set while it is not the driver; its events are reported while its lock is held.
        let supervisor = Supervisor::new(move |error| {
            let state = told.shared.log_state();
            state.fail_driving(&error.to_string(), false);
        });
        let mut threads = Threads::new(supervisor);
        threads.spawn("driver", move || at_work.run(driver));
        Election { candidate, threads }
    }

    /// Stops, and lets another process take over. Waits for a block of the backup that is being
    /// written.
    #[inline]
    pub fn stop(mut self) {
        self.stop_and_join();
    }

    #[inline]
    fn stop_and_join(&mut self) {
        self.candidate.stopping.store(true, Ordering::SeqCst);
        self.candidate.shared.log_state().notify();
        // The memory's last handle may go on its own thread: it ends by itself then.
        self.threads.end(());
    }
}

impl Drop for Election {
    #[inline]
    fn drop(&mut self) {
        self.stop_and_join();
    }
}

impl Candidate {
    #[inline]
    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    #[inline]
    fn run(&self, driver: Option<Driver>) {
        let Some(lock) = self.enter() else {
            return;
        };
        let state = self.shared.log_state();
        // Another process may have been driver between our recovery and now: then the backup is not as we
        // know it.
        let driver = driver.filter(|_| state.drivers() == 0);
        state.begin_driving();
        // If it panics, that is published while the lock is held: the next driver clears it.
        let held = catch_unwind(AssertUnwindSafe(|| self.hold(driver)));
        let held = held.unwrap_or_else(|payload| Err(DriverError::panicked(message_of(payload))));
        if let Err(error) = held {
            events::error!(%error, "the driver stopped");
            state.fail_driving(&error.to_string(), !error.is_local());
        }
        state.end_driving();
        drop(lock);
        // A process that waits for the lock looks at it from time to time; this makes it soon.
        self.shared.log_state().notify();
    }

    /// Waits for the driver's lock; `None` if stopped meanwhile, or if there is to be no driver any more.
    #[inline]
    fn enter(&self) -> Option<Box<dyn DiskLock>> {
        let state = self.shared.log_state();
        let mut seen = state.changes();
        while !self.stopping() && !state.driving_has_ended() {
            match self.disk.lock(ELECTION_FILE) {
                // It may have ended while we took the lock.
                Ok(Some(_)) if state.driving_has_ended() => {}
                Ok(Some(lock)) => return Some(lock),
                Ok(None) => {}
                Err(error) => events::warn!(%error, "cannot take the driver's lock"),
            }
            seen = state.wait(seen, IDLE);
        }
        None
    }

    #[inline]
    fn hold(&self, driver: Option<Driver>) -> Result<(), DriverError> {
        let state = self.shared.log_state();
        let mut driver = match driver {
            Some(driver) => driver,
            None => Driver::take_over(&self.disk, &self.manifest, &self.options, state)?,
        };
        driver.start(&self.shared);
        let outcome = self.drive(&mut driver);
        // Before the lock goes: nothing of ours may write any more.
        driver.close();
        outcome
    }

    #[inline]
    fn drive(&self, driver: &mut Driver) -> Result<(), DriverError> {
        let state = self.shared.log_state();
        let mut seen = state.changes();
        let mut flushed = Instant::now();
        while !self.stopping() {
            let busy = match driver.step(state) {
                Err(error) if error.may_be_tried_again() => {
                    events::warn!(%error, "the driver tries again");
                    false
                }
                stepped => stepped?,
            };
            if flushed.elapsed() >= FLUSH_EVERY {
                // A caller that waits for it gets the error itself.
                if let Err(error) = self.shared.flush() {
                    events::debug!(%error, "nothing was flushed");
                }
                flushed = Instant::now();
            }
            let at_most = match (driver.is_serving(), busy) {
                (true, _) => SERVING,
                (false, true) => FLUSH_EVERY,
                (false, false) => IDLE,
            };
            seen = state.wait(seen, at_most);
        }
        Ok(())
    }
}
