//! What the threads of a database share: pages, locks, the log stage, and waiting for the log.

use crate::areas::Areas;
use crate::error::DatabaseError;
use crate::frames::Frames;
use crate::pages::{Area, Stop};
use crate::registry::Numbered;
use crate::statistics::Counters;
use crate::strategy::Release;
use crate::unit_log::UnitLog;
use crate::unit_log::reserve::Growth;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use sardonyx_base::sync::{Mutex, MutexGuard};
use sardonyx_lock::Locks;
use sardonyx_storage::checkpoint::CheckpointStage;
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::seal::SealedGroup;
use sardonyx_storage::log::writer::{GroupSource, LogWriter};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub frames: Arc<Frames>,
    pub locks: Locks,
    stage: Mutex<UnitLog>,
    /// Somebody who had a place at the disk could not seal a group, since the stage was taken.
    turned_away: AtomicBool,
    areas: Mutex<Arc<Areas>>,
    pub operations: Numbered,
    pub counters: Arc<Counters>,
    pub commit: Arc<LogWriter>,
    pub checkpoint: Arc<CheckpointStage>,
    pub release: Release,
    threaded: bool,
    /// The log was closed in order.
    pub closed: AtomicBool,
    transactions: AtomicU64,
}

impl GroupSource for Shared {
    fn try_seal(&self) -> Option<SealedGroup> {
        if let Some(mut stage) = self.stage.try_lock() {
            return stage.filling.try_seal();
        }
        // Whoever has the stage is told to look, unless it has let go of it before it could know.
        self.turned_away.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.stage.try_lock()?.filling.try_seal()
    }
}

/// The stage, for threads that are started before it is there.
#[derive(Default)]
pub(crate) struct Later(pub OnceLock<Arc<Shared>>);

impl GroupSource for Later {
    fn try_seal(&self) -> Option<SealedGroup> {
        self.0.get()?.try_seal()
    }
}

/// The log stage while one thread has it. Letting go of it, that thread looks for a group to be
/// written, if somebody wanted to seal one meanwhile and could not: nobody else would.
pub(crate) struct HeldUnitLog<'d> {
    shared: &'d Shared,
    stage: Option<MutexGuard<'d, UnitLog>>,
}

impl HeldUnitLog<'_> {
    /// Lets go of the stage, to look for a group in any case.
    pub fn let_go(mut self) {
        self.stage = None;
        std::mem::forget(self);
    }
}

impl Deref for HeldUnitLog<'_> {
    type Target = UnitLog;

    #[inline]
    fn deref(&self) -> &UnitLog {
        self.stage.as_ref().expect("until it is let go of")
    }
}

impl DerefMut for HeldUnitLog<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut UnitLog {
        self.stage.as_mut().expect("until it is let go of")
    }
}

impl Drop for HeldUnitLog<'_> {
    #[inline]
    fn drop(&mut self) {
        self.stage = None;
        fence(Ordering::SeqCst);
        let turned_away = &self.shared.turned_away;
        if turned_away.load(Ordering::Relaxed) && turned_away.swap(false, Ordering::Relaxed) {
            self.shared.commit.after_execution(self.shared);
        }
    }
}

impl Shared {
    pub fn new(stage: UnitLog, operations: Numbered, release: Release, threaded: bool) -> Shared {
        Shared {
            frames: stage.frames.clone(),
            locks: Locks::new(),
            areas: Mutex::new(Arc::new(Areas::new(&stage.catalogue))),
            counters: stage.counters.clone(),
            commit: stage.commit.clone(),
            checkpoint: stage.checkpoint.clone(),
            stage: Mutex::new(stage),
            turned_away: AtomicBool::new(false),
            operations,
            release,
            threaded,
            closed: AtomicBool::new(false),
            transactions: AtomicU64::new(1),
        }
    }

    /// The log stage, in its turn.
    #[inline]
    pub fn stage(&self) -> HeldUnitLog<'_> {
        HeldUnitLog {
            shared: self,
            stage: Some(self.stage.lock()),
        }
    }

    pub fn areas(&self) -> Arc<Areas> {
        self.areas.lock().clone()
    }

    /// The catalogue has changed; the caller has the stage.
    pub fn publish_areas(&self, stage: &UnitLog) -> Arc<Areas> {
        let areas = Arc::new(Areas::new(&stage.catalogue));
        *self.areas.lock() = areas.clone();
        areas
    }

    /// Whether the log is sound (I7).
    #[inline]
    pub fn check(&self) -> Result<(), LogError> {
        match self.commit.check() {
            // By the close: nothing failed.
            Err(LogError::Poisoned { .. }) if self.closed.load(Ordering::Relaxed) => {
                Err(LogError::Closed)
            }
            checked => checked,
        }
    }

    pub fn next_transaction(&self) -> u64 {
        self.transactions.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether this is a child of the process that opened the database. Asked before any lock is taken:
    /// the child has those that other threads held, and nobody gives them back.
    #[inline]
    pub fn is_forked(&self) -> bool {
        !self.commit.process().is_current()
    }

    /// Refuses a forked child.
    pub fn check_process(&self) -> Result<(), DatabaseError> {
        Ok(self.commit.process().check()?)
    }

    /// Makes an area have at least so many pages.
    pub fn grow(&self, area: Area, pages: u64, growth: Growth) -> Result<Arc<Areas>, Stop> {
        self.check()?;
        let mut stage = self.stage();
        // Under the stage, so that nobody else grows it meanwhile.
        let areas = self.areas();
        if areas.pages_of(area)? >= pages {
            return Ok(areas);
        }
        let grown = stage.grow(area.0, pages, growth);
        grown.map_err(|error| Stop::Full {
            reason: error.to_string(),
        })?;
        Ok(self.publish_areas(&stage))
    }

    /// Lets go of the stage and waits until a group is durable.
    pub fn force(&self, mut stage: HeldUnitLog<'_>, group: u64) -> Result<(), LogError> {
        let sealed = stage.filling.seal_if_wanted();
        stage.let_go();
        self.force_sealed(sealed, group)
    }

    /// Waits until a group is durable, writing the one that the caller sealed.
    pub fn force_sealed(&self, sealed: Option<SealedGroup>, group: u64) -> Result<(), LogError> {
        if !self.commit.is_durable(group) {
            self.counters.add(|c| &c.forced, 1);
        }
        match sealed {
            Some(sealed) => self.commit.write_directly(sealed),
            None => self.commit.after_execution(self),
        }
        let outcome = self.commit.wait(group, self);
        if !self.threaded {
            self.checkpoint.pump();
        }
        outcome
    }

    /// Writes everything that has been appended to the log, and waits for it.
    pub fn flush(&self) -> Result<(), DatabaseError> {
        let mut stage = self.stage();
        let group = stage.filling.last_group();
        stage.filling.hand_over();
        stage.let_go();
        self.after_stage();
        self.commit.wait(group, self)?;
        Ok(())
    }

    /// After letting go of the stage without waiting for anything.
    pub fn after_stage(&self) {
        self.commit.after_execution(self);
        if !self.threaded {
            self.checkpoint.pump();
        }
    }
}
